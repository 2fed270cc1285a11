/* Following stores; environments, their instances and tasks. See the header. */
#include "sim/daemon/daemon_checker.h"

#include <stdio.h>

#include "control/claims.h"
#include "control/runner_simulated.h"
#include "delivery/cluster_ref.h"
#include "ecs/record/container_instance.h"
#include "environment/act/manager.h"
#include "sim/daemon/daemon_checker_internal.h"

#define CHANGES_AT_ONCE 64

const char *const daemon_property_names[DAEMON_PROPERTY_COUNT] = {
#define X(name, text, meaning) [DAEMON_PROPERTY_##name] = text,
	DAEMON_PROPERTIES(X)
#undef X
};

const char *const daemon_property_meanings[DAEMON_PROPERTY_COUNT] = {
#define X(name, text, meaning) [DAEMON_PROPERTY_##name] = meaning,
	DAEMON_PROPERTIES(X)
#undef X
};

/* ---- reports, and tolerance ---- */

void daemon_checker_count(struct daemon_checker *checker, enum daemon_property property)
{
	checker->counts[property]++;
}

void daemon_checker_report(struct daemon_checker *checker, enum daemon_property property,
	const char *format, ...)
{
	char rule[ERR_MESSAGE_MAX];
	va_list list;
	int length = snprintf(rule, sizeof(rule), "%s: ", daemon_property_names[property]);

	va_start(list, format);
	vsnprintf(rule + length, sizeof(rule) - (size_t)length, format, list);
	va_end(list);
	checker->config.broken(checker->config.context, rule);
}

static bool is_pause_felt(const struct daemon_checker *checker)
{
	return checker_now_us(checker) < checker->paused_till_us + checker->config.patience_us;
}

int64_t checker_since_us(const struct daemon_checker *checker)
{
	int64_t from_us = is_pause_felt(checker) ? checker->paused_us : checker_now_us(checker);

	return from_us - checker->config.patience_us;
}

int64_t checker_reported_us(const struct daemon_checker *checker)
{
	int64_t listings_us = checker->actual.remote_account ? 2 * checker->config.patience_us : 0;

	return checker_since_us(checker) - listings_us;
}

bool checker_is_late(const struct daemon_checker *checker,
	const struct actual_environment *environment, const struct actual_instance *instance)
{
	return checker_now_us(checker) < actual_member(environment, instance)->late_till_us;
}

void daemon_checker_paused(struct daemon_checker *checker, int64_t duration_us)
{
	int64_t now_us = checker_now_us(checker);

	if (!is_pause_felt(checker))
		checker->paused_us = now_us;
	if (checker->paused_till_us < now_us + duration_us)
		checker->paused_till_us = now_us + duration_us;
}

void checker_touch(struct daemon_checker *checker, struct actual_environment *environment)
{
	if (environment->touched)
		return;
	environment->touched = true;
	environment->next_touched = checker->touched;
	checker->touched = environment;
}

const struct actual_version *checker_version(struct daemon_checker *checker,
	const struct actual_environment *environment, const char *id)
{
	char key[ACTUAL_TEXT_MAX + ID_UUID_SIZE];

	snprintf(key, sizeof(key), "%s/%s", environment->key, id);
	return map_get(&checker->actual.versions, span_of(key));
}

/* ---- claims ---- */

/* The server in whose name something is written just now: "anna.2"; "": clients and machines have none. */
static void name_writer(const struct daemon_checker *checker, char out[ACTUAL_SERVER_MAX])
{
	const char *name = runner_simulated_current(checker->config.runner);

	snprintf(out, ACTUAL_SERVER_MAX, "%.*s", (int)strcspn(name, "/"), name);
}

/* Only the server that holds the claim of an environment writes it and its deployments. */
static void check_writer(struct daemon_checker *checker, struct span key)
{
	const struct actual_environment *environment = actual_environment(&checker->actual, key);
	char writer[ACTUAL_SERVER_MAX];

	name_writer(checker, writer);
	if (!environment || !strchr(writer, '.'))
		return;
	daemon_checker_count(checker, DAEMON_PROPERTY_S12);
	if (strcmp(writer, environment->holder) != 0)
		daemon_checker_report(checker, DAEMON_PROPERTY_S12,
			"%s writes of environment %s, which is %s's", writer, environment->name,
			environment->holder[0] ? environment->holder : "none");
}

static void take_claim(struct daemon_checker *checker, struct span key,
	const struct store_object *after)
{
	void *epoch = after ? (void *)(uintptr_t)after->revision : NULL;
	struct span environment_key = {key.data + sizeof(MANAGER_CLAIM_PREFIX) - 1,
		key.length - sizeof(MANAGER_CLAIM_PREFIX) + 1};
	struct actual_environment *environment =
		span_starts_with(key, SPAN(MANAGER_CLAIM_PREFIX))
			? actual_environment(&checker->actual, environment_key)
			: NULL;

	/* A claim is only taken or released. Deleting it deletes the environment, too. */
	if (environment && after && map_get(&checker->actual.claims, key) != epoch) {
		const struct claim_facts *claim = after->facts;

		environment->claimed_us = checker_now_us(checker);
		environment->holder[0] = '\0';
		if (claim->server.length > 0)
			name_writer(checker, environment->holder);
	}
	if (after)
		map_put(&checker->actual.claims, key, epoch);
	else
		map_remove(&checker->actual.claims, key);
}

/* ---- environments ---- */

/* Its previous definition may belong to another environment in the same commit. */
static void release_definition(struct daemon_checker *checker,
	struct actual_environment *environment)
{
	struct map *running = &checker->actual.running;

	if (map_get(running, span_of(environment->runs)) == environment)
		map_remove(running, span_of(environment->runs));
	environment->runs[0] = '\0';
}

/* No two active daemon environments run the same task definition in a cluster, whatever their status says. It
 * is checked where another one had a version of the same before: a rollback may collide with the present owner. */
static void check_alone(struct daemon_checker *checker, struct actual_environment *environment)
{
	const struct actual_version *rules = environment->rules;
	const struct actual_environment *other;
	const struct actual_wanted *wanted;

	release_definition(checker, environment);
	if (!environment->exists || environment->type != ENVIRONMENT_TYPE_Daemon || !rules ||
		environment->status != ENVIRONMENT_active)
		return;
	snprintf(environment->runs, sizeof(environment->runs), "%s %s", rules->cluster_ref,
		rules->definition);
	wanted = map_get(&checker->actual.wanted, span_of(environment->runs));
	if (wanted && wanted->by_several)
		daemon_checker_count(checker, DAEMON_PROPERTY_S9);
	other = map_get(&checker->actual.running, span_of(environment->runs));
	if (other && other != environment)
		daemon_checker_report(checker, DAEMON_PROPERTY_S9,
			"environments %s and %s both run %s", environment->key, other->key,
			environment->runs);
	else
		map_put(&checker->actual.running, span_of(environment->runs), environment);
}

static void update_members(struct daemon_checker *checker, struct actual_environment *environment)
{
	MAP_EACH (&checker->actual.instances, entry)
		actual_update_member(environment, entry->value, checker_now_us(checker), true);
}

static void set_rules(struct daemon_checker *checker, struct actual_environment *environment,
	const struct environment_facts *facts)
{
	char key[ACTUAL_TEXT_MAX + ID_UUID_SIZE];
	const struct actual_version *rules;

	snprintf(key, sizeof(key), "%s/%.*s", environment->key, SPAN_ARGS(facts->target));
	rules = map_get(&checker->actual.versions, span_of(key));
	if (rules == environment->rules)
		return;
	environment->rules = rules;
	environment->rules_us = checker_now_us(checker);
	update_members(checker, environment);
	/* Instances that left before these were the rules may still be taken for present. */
	MAP_EACH (&checker->actual.instances, entry) {
		const struct actual_instance *instance = entry->value;

		if (environment->members_us < instance->changed_us)
			environment->members_us = instance->changed_us;
	}
}

static void take_environment(struct daemon_checker *checker, struct span key,
	const struct store_object *after)
{
	struct actual_environment *environment = actual_environment(&checker->actual, key);
	const struct environment_facts *facts = after ? environment_facts(after) : NULL;
	int64_t now_us = checker_now_us(checker);
	bool was_active =
		environment && environment->exists && environment->status != ENVIRONMENT_inactive;

	if (!environment)
		return;
	checker_touch(checker, environment);
	if (was_active)
		environment->active_us = now_us;
	if (!facts) {
		environment->exists = environment->has_failed = false;
		environment->rules = NULL;
		update_members(checker, environment);
		release_definition(checker, environment);
		MAP_EACH (&environment->deployments, entry)
			((struct actual_deployment *)entry->value)->exists = false;
		return;
	}
	if (environment->exists && facts->version_count < environment->version_count)
		daemon_checker_report(checker, DAEMON_PROPERTY_S8,
			"environment %s was made over another one", environment->key);
	environment->exists = true;
	environment->type = facts->type;
	environment->version_count = facts->version_count;
	if (environment->status != facts->status)
		environment->rules_us = now_us;
	environment->status = facts->status;
	environment->terminate = facts->terminate;
	CHECKER_COPY(environment->target, facts->target);
	CHECKER_COPY(environment->latest, facts->latest);
	CHECKER_COPY(environment->in_progress, facts->in_progress);
	CHECKER_COPY(environment->pending, facts->pending);
	CHECKER_COPY(environment->completed, facts->completed);
	release_definition(checker, environment);
	set_rules(checker, environment, facts);
}

/* ---- placements ---- */

static struct actual_instance *instance_of(struct daemon_checker *checker,
	const struct environment_placement_facts *facts)
{
	char key[2 * ACTUAL_TEXT_MAX];
	struct cluster_ref ref;

	if (!cluster_ref_parse(facts->cluster_ref, &ref))
		return NULL;
	snprintf(key, sizeof(key), "%.*s/%.*s", SPAN_ARGS(ref.scope), SPAN_ARGS(facts->instance));
	return map_get(&checker->actual.instances, span_of(key));
}

static void take_placement(struct daemon_checker *checker, struct span key,
	const struct store_object *before, const struct store_object *after)
{
	struct actual_placement *placement = map_get(&checker->actual.placements, key), old = {0};
	const struct environment_placement_facts *facts =
		environment_placement_facts(after ? after : before);

	if (!after) {
		if (placement && placement->exists)
			checker_forgot(checker, placement, instance_of(checker, facts));
		if (placement)
			placement->exists = false;
		return;
	}
	if (!placement) {
		placement = memory_allocate(sizeof(*placement));
		map_put(&checker->actual.placements, key, placement);
	}
	old = *placement;
	placement->environment = actual_environment(&checker->actual, facts->environment);
	if (!placement->environment)
		return;
	placement->facts = *facts;
	placement->revision = after->revision;
	placement->exists = true;
	/* A rejected call had no effect. */
	placement->used = false;
	CHECKER_COPY(placement->version, facts->version);
	CHECKER_COPY(placement->deployment, facts->deployment);
	CHECKER_COPY(placement->task, facts->task);
	checker_decided(checker, placement, &old, instance_of(checker, facts));
}

/* ---- instances and tasks ---- */

static void take_instance(struct daemon_checker *checker, struct span key,
	const struct store_object *after)
{
	struct actual_instance *instance = actual_instance(&checker->actual, key);
	const struct container_instance_facts *facts =
		after ? container_instance_facts(after) : NULL;
	int64_t now_us = checker_now_us(checker);

	instance->exists = facts;
	instance->changed_us = now_us;
	if (facts) {
		instance->connected = facts->connected;
		instance->draining = facts->status == CONTAINER_INSTANCE_DRAINING;
		CHECKER_COPY(instance->attributes, facts->attributes);
	} else {
		instance->gone_us = now_us;
	}
	actual_update_members(&checker->actual, instance, now_us, false);
	for (struct actual_task *task = instance->tasks; task; task = task->beside)
		heap_put(&checker->actual.agenda, &task->life.item, 0);
}

static struct actual_task *make_task(struct daemon_checker *checker,
	const struct store_object *object)
{
	const struct task_facts *facts = task_facts(object);
	struct span cluster = task_cluster_key(object->key);
	struct actual_task *task = memory_allocate(sizeof(*task));
	char key[2 * ACTUAL_TEXT_MAX];
	struct span account, rest, region, name;

	CHECKER_COPY(task->key, object->key);
	snprintf(key, sizeof(key), "%.*s/%.*s", SPAN_ARGS(cluster), SPAN_ARGS(facts->instance));
	task->instance = actual_instance(&checker->actual, span_of(key));
	task->environment = actual_owner(&checker->actual, cluster, facts->group);
	if (task->environment && task->environment->type != ENVIRONMENT_TYPE_Daemon)
		task->environment = NULL;
	span_split(cluster, '/', &account, &rest);
	span_split(rest, '/', &region, &name);
	snprintf(task->arn, sizeof(task->arn), "arn:aws:ecs:%.*s:%.*s:task/%.*s/%.*s",
		SPAN_ARGS(region), SPAN_ARGS(account), SPAN_ARGS(name), SPAN_ARGS(facts->id));
	snprintf(task->definition, sizeof(task->definition),
		"arn:aws:ecs:%.*s:%.*s:task-definition/%.*s:%lld", SPAN_ARGS(region),
		SPAN_ARGS(account), SPAN_ARGS(facts->family), (long long)facts->revision);
	CHECKER_COPY(task->started_by, facts->started_by);
	task->checked = facts->checked;
	return task;
}

static bool is_our_stop(const struct store_object *object, struct span *ret_reason)
{
	static const char member[] = "\"stoppedReason\":\"";
	const char *found = memmem(object->api.data, object->api.length, member, strlen(member));
	const char *end;

	if (!found)
		return false;
	found += strlen(member);
	end = memchr(found, '"', (size_t)(object->api.data + object->api.length - found));
	*ret_reason = (struct span){found, end ? (size_t)(end - found) : 0};
	return span_starts_with(*ret_reason, SPAN("Environment "));
}

static void take_task(struct daemon_checker *checker, struct span key,
	const struct store_object *after)
{
	struct actual_task *task = map_get(&checker->actual.tasks, key);
	const struct task_facts *facts = after ? task_facts(after) : NULL;
	struct actual_environment *environment;
	struct actual_instance *instance;
	bool was_wanted, by_us = false;
	struct span reason = SPAN_NONE;

	if (!task && (!facts || facts->last >= TASK_STOPPED))
		return;
	if (!task) {
		task = make_task(checker, after);
		map_put(&checker->actual.tasks, key, task);
		if (task->environment)
			checker_started(checker, task);
		task->wanted = true;
		actual_add_task(&checker->actual, task);
	}
	environment = task->environment;
	instance = task->instance;
	heap_put(&checker->actual.agenda, &task->life.item, 0);
	was_wanted = task->wanted;
	if (facts) {
		task->wanted = facts->desired == TASK_RUNNING;
		task->last = facts->last;
		task->health = facts->health;
		if (facts->started_ms > 0 && task->started_us == 0)
			task->started_us = checker_now_us(checker);
		by_us = was_wanted && !task->wanted && is_our_stop(after, &reason);
	}
	if (by_us)
		checker_stopped(checker, task, reason);
	if (!facts || facts->last >= TASK_STOPPED)
		actual_drop_task(&checker->actual, task);
	/* A task stopped by a late call was stopped by no current decision. */
	if (environment)
		actual_update_member(environment, instance, checker_now_us(checker),
			by_us && !checker_is_late(checker, environment, instance));
}

/* ---- following ---- */

/* The order in which new objects are read where the feed gave no order. */
static const struct store_kind *const kinds[] = {&environment_version_kind,
	&environment_deployment_kind, &environment_kind, &claim_kind, &container_instance_kind,
	&environment_placement_kind, &task_kind};

static void take(struct daemon_checker *checker, const struct store_kind *kind, struct span key,
	const struct store_object *before, const struct store_object *after)
{
	if (kind == &environment_version_kind)
		checker_take_version(checker, key, after);
	else if (kind == &environment_deployment_kind)
		checker_take_deployment(checker, key, after);
	else if (kind == &environment_kind)
		take_environment(checker, key, after);
	else if (kind == &claim_kind)
		take_claim(checker, key, after);
	else if (kind == &environment_placement_kind)
		take_placement(checker, key, before, after);
	else if (kind == &container_instance_kind)
		take_instance(checker, key, after);
	else if (kind == &task_kind)
		take_task(checker, key, after);
}

static void end_commit(struct daemon_checker *checker)
{
	while (checker->touched) {
		struct actual_environment *environment = checker->touched;

		checker->touched = environment->next_touched;
		environment->touched = false;
		checker_check_deployments(checker, environment);
		check_alone(checker, environment);
	}
	if (checker->changed)
		checker->changed(checker->changed_context);
}

static void pass(void *context)
{
	struct daemon_checker *checker = context;

	for (size_t i = 0; i < checker->store_count; i++) {
		struct store_change changes[CHANGES_AT_ONCE];
		int count;

		if (!checker->feeds[i])
			continue;
		while ((count = store_feed_next(checker->feeds[i], changes, CHANGES_AT_ONCE)) > 0)
			for (int j = 0; j < count; j++) {
				const struct store_object *object =
					changes[j].after ? changes[j].after : changes[j].before;

				if (changes[j].kind == &environment_kind)
					check_writer(checker, object->key);
				if (changes[j].kind == &environment_deployment_kind)
					check_writer(checker,
						environment_of_child_key(object->key));
				take(checker, changes[j].kind, object->key, changes[j].before,
					changes[j].after);
				store_change_release(&changes[j]);
			}
		if (count < 0)
			checker->config.broken(checker->config.context,
				"the checker itself lost its place");
	}
	end_commit(checker);
}

static bool is_same_placement(const struct actual_placement *known,
	const struct store_object *object)
{
	const struct environment_placement_facts *facts = environment_placement_facts(object);

	return known && known->exists && known->facts.intent == facts->intent &&
	       known->facts.intent_ms == facts->intent_ms &&
	       known->facts.until_ms == facts->until_ms && span_is(facts->version, known->version);
}

/* Reads all objects of a kind, present and gone. The last commit before a restart was not in the feed. */
static void take_in(struct daemon_checker *checker, const struct store_view *view,
	const struct store_kind *kind)
{
	struct store_cursor cursor = {.view = view, .kind = kind, .index = -1, .prefix = SPAN("")};
	const struct store_object *object;

	while ((object = store_next(&cursor)))
		if (kind != &environment_placement_kind ||
			!is_same_placement(map_get(&checker->actual.placements, object->key),
				object))
			take(checker, kind, object->key, NULL, object);
}

/* Objects that are gone without a change in the feed: at most those deleted by one commit. */
static void take_out(struct daemon_checker *checker, const struct store_view *view)
{
	for (unsigned i = 0; i < checker->actual.environment_count; i++)
		if (checker->actual.environments[i]->exists &&
			!store_get(view, &environment_kind,
				span_of(checker->actual.environments[i]->key)))
			take(checker, &environment_kind,
				span_of(checker->actual.environments[i]->key), NULL, NULL);
	MAP_EACH (&checker->actual.placements, entry)
		if (!store_get(view, &environment_placement_kind, entry->key))
			((struct actual_placement *)entry->value)->exists = false;
}

/* Which of the stores has it. */
static bool is_of(const struct daemon_checker *checker, struct span key, size_t store)
{
	const char *remote = checker->actual.remote_account;

	return (remote && span_starts_with(key, span_of(remote))) == (store > 0);
}

static void take_out_backend(struct daemon_checker *checker, const struct store_view *view,
	size_t store)
{
	_map_ struct map gone = {0};

	MAP_EACH (&checker->actual.tasks, entry)
		if (is_of(checker, entry->key, store) && !store_get(view, &task_kind, entry->key))
			map_put(&gone, entry->key, checker);
	MAP_EACH (&gone, entry)
		take(checker, &task_kind, entry->key, NULL, NULL);
	MAP_EACH (&checker->actual.instances, entry)
		if (is_of(checker, entry->key, store) &&
			((struct actual_instance *)entry->value)->exists &&
			!store_get(view, &container_instance_kind, entry->key))
			take(checker, &container_instance_kind, entry->key, NULL, NULL);
}

int daemon_checker_follow(struct daemon_checker *checker, struct store *store, struct err *err)
{
	_view_ struct store_view *view = store_view_open(store);
	size_t index = checker->store_count;
	int code = store_feed_open(store, store_view_revision(view), pass, checker,
		&checker->feeds[index], err);

	if (code < 0)
		return code;
	checker->store_count++;
	checker->stores[index] = store;
	for (size_t i = 0; i < LENGTH(kinds); i++)
		take_in(checker, view, kinds[i]);
	if (index == 0)
		take_out(checker, view);
	take_out_backend(checker, view, index);
	end_commit(checker);
	return 0;
}

void daemon_checker_unfollow(struct daemon_checker *checker)
{
	for (size_t i = 0; i < checker->store_count; i++)
		store_feed_close(TAKE(checker->feeds[i]));
	checker->store_count = 0;
}

/* ---- beginning and end ---- */

struct daemon_checker *daemon_checker_new(const struct daemon_checker_config *config)
{
	struct daemon_checker *checker = memory_allocate(sizeof(*checker));

	checker->config = *config;
	checker->paused_till_us = -config->patience_us - 1;
	return checker;
}

void daemon_checker_free(struct daemon_checker *checker)
{
	if (!checker)
		return;
	daemon_checker_unfollow(checker);
	actual_clear(&checker->actual);
	MAP_EACH (&checker->starts, entry)
		free(entry->value);
	map_clear(&checker->starts);
	free(checker);
}

struct actual *daemon_checker_actual(struct daemon_checker *checker)
{
	return &checker->actual;
}

const uint64_t *daemon_checker_counts(const struct daemon_checker *checker)
{
	return checker->counts;
}

uint64_t daemon_checker_actions(const struct daemon_checker *checker)
{
	return checker->actions;
}

void daemon_checker_on_change(struct daemon_checker *checker, void (*changed)(void *context),
	void *context)
{
	checker->changed = changed;
	checker->changed_context = context;
}
