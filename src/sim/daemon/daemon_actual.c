/* See the header. */
#include "sim/daemon/daemon_actual.h"

#include <stdio.h>

#include "ecs/record/attribute.h"
#include "environment/model/matching.h"

static void free_values(struct map *map)
{
	MAP_EACH (map, entry)
		free(entry->value);
	map_clear(map);
}

void actual_clear(struct actual *actual)
{
	for (unsigned i = 0; i < actual->environment_count; i++) {
		free_values(&actual->environments[i]->deployments);
		free(actual->environments[i]);
	}
	free(TAKE(actual->environments));
	actual->environment_count = 0;
	map_clear(&actual->environments_by_key);
	map_clear(&actual->running);
	free_values(&actual->wanted);
	heap_free(&actual->agenda);
	free_values(&actual->versions);
	free_values(&actual->placements);
	MAP_EACH (&actual->instances, entry)
		free(((struct actual_instance *)entry->value)->members);
	free_values(&actual->instances);
	free_values(&actual->tasks);
	map_clear(&actual->claims);
}

struct actual_environment *actual_environment(struct actual *actual, struct span key)
{
	struct actual_environment *created = map_get(&actual->environments_by_key, key);

	if (created || actual->environment_count == ACTUAL_ENVIRONMENTS_MAX)
		return created;
	created = memory_allocate(sizeof(*created));
	created->index = actual->environment_count;
	created->active_us = -1;
	snprintf(created->key, sizeof(created->key), "%.*s", SPAN_ARGS(key));
	created->name = strchr(created->key, '/') + 1;
	actual->environments = memory_resize(actual->environments,
		(actual->environment_count + 1) * sizeof(struct actual_environment *));
	actual->environments[actual->environment_count++] = created;
	map_put(&actual->environments_by_key, key, created);
	return created;
}

struct actual_environment *actual_owner(struct actual *actual, struct span cluster_key,
	struct span group)
{
	size_t prefix = sizeof(ENVIRONMENT_GROUP_PREFIX) - 1;
	struct span account, rest;
	char key[ACTUAL_TEXT_MAX];

	if (!span_starts_with(group, SPAN(ENVIRONMENT_GROUP_PREFIX)) ||
		!span_split(cluster_key, '/', &account, &rest))
		return NULL;
	snprintf(key, sizeof(key), "%.*s/%.*s", SPAN_ARGS(account), (int)(group.length - prefix),
		group.data + prefix);
	return actual_environment(actual, span_of(key));
}

struct actual_instance *actual_instance(struct actual *actual, struct span key)
{
	struct actual_instance *instance = map_get(&actual->instances, key);
	bool remote;

	if (instance)
		return instance;
	instance = memory_allocate(sizeof(*instance));
	snprintf(instance->key, sizeof(instance->key), "%.*s", SPAN_ARGS(key));
	instance->id = strrchr(instance->key, '/') + 1;
	remote = actual->remote_account && span_starts_with(key, span_of(actual->remote_account));
	snprintf(instance->cluster_ref, sizeof(instance->cluster_ref), "%s:%.*s",
		remote ? actual->remote_target : "", (int)(instance->id - instance->key) - 1,
		instance->key);
	map_put(&actual->instances, key, instance);
	return instance;
}

/* ---- memberships ---- */

static const struct actual_membership never = {
	.entered_us = -1, .left_us = -1, .spare_us = -1, .lost_us = -1};

const struct actual_membership *actual_member(const struct actual_environment *environment,
	const struct actual_instance *instance)
{
	return environment->index < instance->member_count ? &instance->members[environment->index]
							   : &never;
}

static struct actual_membership *make_member(const struct actual_environment *environment,
	struct actual_instance *instance)
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

void actual_add_task(struct actual *actual, struct actual_task *task)
{
	struct actual_instance *instance = task->instance;

	task->number = ++actual->task_count;
	task->beside = instance->tasks;
	task->beside_link = &instance->tasks;
	if (task->beside)
		task->beside->beside_link = &task->beside;
	instance->tasks = task;
	if (task->environment) {
		struct actual_membership *member = make_member(task->environment, instance);

		task->next = member->tasks;
		member->tasks = task;
	}
}

void actual_drop_task(struct actual *actual, struct actual_task *task)
{
	*task->beside_link = task->beside;
	if (task->beside)
		task->beside->beside_link = task->beside_link;
	if (task->environment) {
		struct actual_task **link = &make_member(task->environment, task->instance)->tasks;

		while (*link != task)
			link = &(*link)->next;
		*link = task->next;
	}
	heap_remove(&actual->agenda, &task->life.item);
	map_remove(&actual->tasks, span_of(task->key));
	free(task);
}

void actual_expect_late(const struct actual_environment *environment,
	struct actual_instance *instance, int64_t till_us)
{
	struct actual_membership *member = make_member(environment, instance);

	if (member->late_till_us < till_us)
		member->late_till_us = till_us;
}

void actual_add_excess(struct actual *actual, struct actual_environment *environment,
	struct actual_instance *instance, int64_t now_us)
{
	if (actual->excess_count < ACTUAL_EXCESSES_MAX)
		actual->excesses[actual->excess_count++] =
			(struct actual_excess){environment, instance, now_us};
}

/* ---- judging ---- */

bool actual_stays(const struct actual_task *task)
{
	return task->wanted && task->last <= TASK_RUNNING;
}

bool actual_is_healthy(const struct actual_task *task, const struct actual_version *rules,
	int64_t now_us)
{
	return actual_stays(task) && task->last == TASK_RUNNING &&
	       (!task->checked || task->health == TASK_HEALTH_HEALTHY) &&
	       (!rules || task->started_us + rules->warm_up_ms * 1000 <= now_us);
}

bool actual_matches(const struct actual_version *version, const struct actual_instance *instance)
{
	struct span rest = span_of(version->attributes), part, name, value, found;

	if (strcmp(version->cluster_ref, instance->cluster_ref) != 0)
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

bool actual_is_member(const struct actual_environment *environment,
	const struct actual_instance *instance)
{
	return environment->rules && instance->exists && instance->connected &&
	       !instance->draining && actual_matches(environment->rules, instance);
}

unsigned actual_count_tasks(const struct actual_environment *environment,
	const struct actual_instance *instance, bool all)
{
	const struct actual_task *task = actual_member(environment, instance)->tasks;
	unsigned count = 0;

	for (; task; task = task->next)
		count += all || actual_stays(task);
	return count;
}

unsigned actual_count_healthy(const struct actual_environment *environment,
	const struct actual_instance *instance, int64_t now_us)
{
	const struct actual_task *task = actual_member(environment, instance)->tasks;
	unsigned count = 0;

	for (; task; task = task->next)
		count += actual_is_healthy(task, environment->rules, now_us);
	return count;
}

unsigned actual_required(const struct actual_version *rules, unsigned count)
{
	unsigned percent = rules->minimum_requested ? rules->minimum_healthy : 90;
	unsigned required = (count * percent + 99) / 100;

	if (!rules->minimum_requested && count > 0 && required > count - 1)
		required = count - 1;
	return required;
}

static void note_losses(struct actual_membership *member, bool in, unsigned healthy, int64_t now_us,
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

bool actual_was_healthy(const struct actual_environment *environment,
	const struct actual_instance *instance, int64_t duration_us, int64_t now_us)
{
	const struct actual_membership *member = actual_member(environment, instance);

	if (member->rules != environment->rules)
		return false;
	return (member->healthy_us > 0 && now_us - member->healthy_us >= duration_us) ||
	       (member->longest_us > 0 && member->longest_us >= duration_us);
}

static bool is_healthy(const struct actual_environment *environment,
	const struct actual_membership *member)
{
	for (const struct actual_task *task = member->tasks; environment->rules && task;
		task = task->next)
		if (actual_is_healthy(task, NULL, 0) &&
			strcmp(task->definition, environment->rules->definition) == 0)
			return true;
	return false;
}

static void note_healthy(const struct actual_environment *environment,
	struct actual_membership *member, int64_t now_us)
{
	bool healthy = is_healthy(environment, member);

	if (member->rules != environment->rules) {
		member->rules = environment->rules;
		member->healthy_us = member->longest_us = 0;
	}
	if (!healthy && member->healthy_us > 0 && now_us - member->healthy_us > member->longest_us)
		member->longest_us = now_us - member->healthy_us;
	if (!healthy || member->healthy_us == 0)
		member->healthy_us = healthy ? now_us : 0;
}

void actual_update_member(struct actual_environment *environment, struct actual_instance *instance,
	int64_t now_us, bool by_us)
{
	struct actual_membership *member = make_member(environment, instance);
	bool in = actual_is_member(environment, instance);
	/* However warm: nothing happens when that changes. */
	unsigned healthy = actual_count_healthy(environment, instance, INT64_MAX);

	if (in && !member->in)
		member->entered_us = now_us;
	if (!in && member->in)
		member->left_us = now_us;
	if (in != member->in)
		environment->members_us = now_us;
	note_losses(member, in, healthy, now_us, by_us);
	note_healthy(environment, member, now_us);
	member->in = in;
	member->healthy = healthy;
}

void actual_update_members(struct actual *actual, struct actual_instance *instance, int64_t now_us,
	bool by_us)
{
	for (unsigned i = 0; i < actual->environment_count; i++)
		actual_update_member(actual->environments[i], instance, now_us, by_us);
}
