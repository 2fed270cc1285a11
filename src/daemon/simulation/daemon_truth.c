/* See the header. */
#include "daemon/simulation/daemon_truth.h"

#include <stdio.h>

#include "daemon/matching.h"
#include "ecs/attribute.h"

static void free_values(struct map *map)
{
	MAP_EACH (map, entry)
		free(entry->value);
	map_clear(map);
}

void truth_clear(struct truth *truth)
{
	for (unsigned i = 0; i < truth->environment_count; i++) {
		free_values(&truth->environments[i]->deployments);
		free(truth->environments[i]);
	}
	free(TAKE(truth->environments));
	truth->environment_count = 0;
	map_clear(&truth->environments_by_key);
	map_clear(&truth->running);
	free_values(&truth->wanted);
	heap_free(&truth->agenda);
	free_values(&truth->versions);
	free_values(&truth->placements);
	MAP_EACH (&truth->instances, entry)
		free(((struct truth_instance *)entry->value)->members);
	free_values(&truth->instances);
	free_values(&truth->tasks);
	map_clear(&truth->claims);
}

struct truth_environment *truth_environment(struct truth *truth, struct span key)
{
	struct truth_environment *made = map_get(&truth->environments_by_key, key);

	if (made || truth->environment_count == TRUTH_ENVIRONMENTS_MAX)
		return made;
	made = memory_allocate(sizeof(*made));
	made->index = truth->environment_count;
	made->active_us = -1;
	snprintf(made->key, sizeof(made->key), "%.*s", SPAN_ARGS(key));
	made->name = strchr(made->key, '/') + 1;
	truth->environments = memory_resize(truth->environments,
		(truth->environment_count + 1) * sizeof(struct truth_environment *));
	truth->environments[truth->environment_count++] = made;
	map_put(&truth->environments_by_key, key, made);
	return made;
}

struct truth_environment *truth_owner(struct truth *truth, struct span cluster_key,
	struct span group)
{
	size_t prefix = sizeof(ENVIRONMENT_GROUP_PREFIX) - 1;
	struct span account, rest;
	char key[TRUTH_TEXT_MAX];

	if (!span_starts_with(group, SPAN(ENVIRONMENT_GROUP_PREFIX)) ||
		!span_split(cluster_key, '/', &account, &rest))
		return NULL;
	snprintf(key, sizeof(key), "%.*s/%.*s", SPAN_ARGS(account), (int)(group.length - prefix),
		group.data + prefix);
	return truth_environment(truth, span_of(key));
}

struct truth_instance *truth_instance(struct truth *truth, struct span key)
{
	struct truth_instance *instance = map_get(&truth->instances, key);
	bool far;

	if (instance)
		return instance;
	instance = memory_allocate(sizeof(*instance));
	snprintf(instance->key, sizeof(instance->key), "%.*s", SPAN_ARGS(key));
	instance->id = strrchr(instance->key, '/') + 1;
	far = truth->far_account && span_starts_with(key, span_of(truth->far_account));
	snprintf(instance->place, sizeof(instance->place), "%s:%.*s", far ? truth->far_target : "",
		(int)(instance->id - instance->key) - 1, instance->key);
	map_put(&truth->instances, key, instance);
	return instance;
}

/* ---- memberships ---- */

static const struct truth_membership never = {
	.entered_us = -1, .left_us = -1, .spare_us = -1, .lost_us = -1};

const struct truth_membership *truth_member(const struct truth_environment *environment,
	const struct truth_instance *instance)
{
	return environment->index < instance->member_count ? &instance->members[environment->index]
							   : &never;
}

static struct truth_membership *make_member(const struct truth_environment *environment,
	struct truth_instance *instance)
{
	unsigned count = instance->member_count;

	if (environment->index >= count) {
		count = 2 * (environment->index + 1);
		instance->members =
			memory_resize(instance->members, count * sizeof(*instance->members));
		for (unsigned i = instance->member_count; i < count; i++)
			instance->members[i] = never;
		instance->member_count = count;
	}
	return &instance->members[environment->index];
}

void truth_add_task(struct truth *truth, struct truth_task *task)
{
	struct truth_instance *instance = task->instance;

	task->number = ++truth->task_count;
	task->beside = instance->tasks;
	task->beside_link = &instance->tasks;
	if (task->beside)
		task->beside->beside_link = &task->beside;
	instance->tasks = task;
	if (task->environment) {
		struct truth_membership *member = make_member(task->environment, instance);

		task->next = member->tasks;
		member->tasks = task;
	}
}

void truth_drop_task(struct truth *truth, struct truth_task *task)
{
	*task->beside_link = task->beside;
	if (task->beside)
		task->beside->beside_link = task->beside_link;
	if (task->environment) {
		struct truth_task **link = &make_member(task->environment, task->instance)->tasks;

		while (*link != task)
			link = &(*link)->next;
		*link = task->next;
	}
	heap_remove(&truth->agenda, &task->life.item);
	map_remove(&truth->tasks, span_of(task->key));
	free(task);
}

void truth_expect_late(const struct truth_environment *environment, struct truth_instance *instance,
	int64_t till_us)
{
	struct truth_membership *member = make_member(environment, instance);

	if (member->late_till_us < till_us)
		member->late_till_us = till_us;
}

void truth_add_excess(struct truth *truth, struct truth_environment *environment,
	struct truth_instance *instance, int64_t now_us)
{
	if (truth->excess_count < TRUTH_EXCESSES_MAX)
		truth->excesses[truth->excess_count++] =
			(struct truth_excess){environment, instance, now_us};
}

/* ---- judging ---- */

bool truth_stays(const struct truth_task *task)
{
	return task->wanted && task->last <= TASK_RUNNING;
}

bool truth_is_healthy(const struct truth_task *task, const struct truth_version *rules,
	int64_t now_us)
{
	return truth_stays(task) && task->last == TASK_RUNNING &&
	       (!task->checked || task->health == TASK_HEALTH_HEALTHY) &&
	       (!rules || task->started_us + rules->warm_up_ms * 1000 <= now_us);
}

bool truth_matches(const struct truth_version *version, const struct truth_instance *instance)
{
	struct span rest = span_of(version->attributes), part, name, value, found;

	if (strcmp(version->place, instance->place) != 0)
		return false;
	while (span_next_part(&rest, ';', &part)) {
		bool has_value = span_split(part, '=', &name, &value);

		if (part.length == 0)
			continue;
		if (!attribute_packed_find(span_of(instance->attributes), has_value ? name : part,
			    &found) ||
			(has_value && !span_equal(found, value)))
			return false;
	}
	return true;
}

bool truth_is_member(const struct truth_environment *environment,
	const struct truth_instance *instance)
{
	return environment->rules && instance->exists && instance->connected &&
	       !instance->draining && truth_matches(environment->rules, instance);
}

unsigned truth_count_tasks(const struct truth_environment *environment,
	const struct truth_instance *instance, bool all)
{
	const struct truth_task *task = truth_member(environment, instance)->tasks;
	unsigned count = 0;

	for (; task; task = task->next)
		count += all || truth_stays(task);
	return count;
}

unsigned truth_count_healthy(const struct truth_environment *environment,
	const struct truth_instance *instance, int64_t now_us)
{
	const struct truth_task *task = truth_member(environment, instance)->tasks;
	unsigned count = 0;

	for (; task; task = task->next)
		count += truth_is_healthy(task, environment->rules, now_us);
	return count;
}

unsigned truth_required(const struct truth_version *rules, unsigned count)
{
	unsigned percent = rules->minimum_given ? rules->minimum_healthy : 90;
	unsigned required = (count * percent + 99) / 100;

	if (!rules->minimum_given && count > 0 && required > count - 1)
		required = count - 1;
	return required;
}

static void note_losses(struct truth_membership *member, bool in, unsigned healthy, int64_t now_us,
	bool by_us)
{
	if (!member->in || member->healthy == 0)
		return;
	if (healthy > 0 && healthy < member->healthy && !by_us)
		member->spare_us = now_us;
	if (in && healthy > 0)
		return;
	if (!by_us)
		member->lost_us = now_us;
	else if (member->lost_us < member->spare_us)
		member->lost_us = member->spare_us;
}

bool truth_was_well(const struct truth_environment *environment,
	const struct truth_instance *instance, int64_t duration_us, int64_t now_us)
{
	const struct truth_membership *member = truth_member(environment, instance);

	if (member->rules != environment->rules)
		return false;
	return (member->well_us > 0 && now_us - member->well_us >= duration_us) ||
	       (member->longest_us > 0 && member->longest_us >= duration_us);
}

static bool is_well(const struct truth_environment *environment,
	const struct truth_membership *member)
{
	for (const struct truth_task *task = member->tasks; environment->rules && task;
		task = task->next)
		if (truth_is_healthy(task, NULL, 0) &&
			strcmp(task->definition, environment->rules->definition) == 0)
			return true;
	return false;
}

static void note_well(const struct truth_environment *environment, struct truth_membership *member,
	int64_t now_us)
{
	bool well = is_well(environment, member);

	if (member->rules != environment->rules) {
		member->rules = environment->rules;
		member->well_us = member->longest_us = 0;
	}
	if (!well && member->well_us > 0 && now_us - member->well_us > member->longest_us)
		member->longest_us = now_us - member->well_us;
	if (!well || member->well_us == 0)
		member->well_us = well ? now_us : 0;
}

void truth_update_member(struct truth_environment *environment, struct truth_instance *instance,
	int64_t now_us, bool by_us)
{
	struct truth_membership *member = make_member(environment, instance);
	bool in = truth_is_member(environment, instance);
	/* However warm: nothing happens when that changes. */
	unsigned healthy = truth_count_healthy(environment, instance, INT64_MAX);

	if (in && !member->in)
		member->entered_us = now_us;
	if (!in && member->in)
		member->left_us = now_us;
	if (in != member->in)
		environment->members_us = now_us;
	note_losses(member, in, healthy, now_us, by_us);
	note_well(environment, member, now_us);
	member->in = in;
	member->healthy = healthy;
}

void truth_update_members(struct truth *truth, struct truth_instance *instance, int64_t now_us,
	bool by_us)
{
	for (unsigned i = 0; i < truth->environment_count; i++)
		truth_update_member(truth->environments[i], instance, now_us, by_us);
}
