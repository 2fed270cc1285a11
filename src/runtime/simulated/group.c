/*
 * A simulated group. Calls only record the desired state; a little later a pass handles its
 * replicas (replicas.c, daemon.c), as after each change of one of them. Reports show the state at
 * the last pass.
 *
 * A version exists as long as the group lists it or a task is of it, and a group as long as it
 * exists, has such versions or must be reported. A replica is a task that counts: its end was not
 * announced, and if it ended by itself, that was not acknowledged yet.
 */
#include <inttypes.h>
#include <stdio.h>

#include "runtime/simulated/world.h"

#define DEADLINE_MS (INT64_C(600) * 1000)
#define TOKEN_DIGITS 32
/* Of the finalizer of MurmurHash3. */
#define MIX_1 UINT64_C(0xff51afd7ed558ccd)
#define MIX_2 UINT64_C(0xc4ceb9fe1a85ec53)

static void free_if_gone(struct simulated_group *group)
{
	struct simulated_world *world = group->world;

	if (group->exists || group->references > 0 || group->is_changed)
		return;
	simulated_timers_unset(&world->timers, &group->pass);
	simulated_desired_clear(world, &group->desired);
	for (size_t i = 0; i < group->event_count; i++)
		free(group->events[i].text);
	free((char *)group->id.data);
	free(group);
}

void simulated_group_reported(struct simulated_group *group)
{
	group->is_changed = false;
	free_if_gone(group);
}

void simulated_desired_clear(struct simulated_world *world, struct simulated_desired *desired)
{
	if (desired->script)
		simulated_script_release(world, desired->script);
	free(desired->version);
	*desired = (struct simulated_desired){0};
}

/* ---- versions and their tasks ---- */

void simulated_version_release(struct simulated_version *version)
{
	struct simulated_group *group = version->group;

	if (--version->references > 0)
		return;
	simulated_script_release(group->world, version->script);
	free((char *)version->name.data);
	free(version);
	group->references--;
	free_if_gone(group);
}

static struct simulated_version *version_of(const struct simulated_group *group, struct span name)
{
	struct simulated_version *version = group->versions;

	while (version && !span_equal(version->name, name))
		version = version->next;
	return version;
}

static void list_first(struct simulated_group *group, struct simulated_version *version)
{
	version->next = group->versions;
	group->versions = version;
}

static void unlist(struct simulated_group *group, const struct simulated_version *version)
{
	struct simulated_version **place = &group->versions;

	while (*place != version)
		place = &(*place)->next;
	*place = version->next;
}

/* The desired version becomes the newest. */
static void take_up_version(struct simulated_group *group)
{
	struct span name = span_of(group->desired.version);
	struct simulated_version *version = version_of(group, name);

	if (version && version == group->versions)
		return;
	if (version) {
		unlist(group, version);
	} else {
		version = memory_allocate(sizeof(*version));
		version->group = group;
		version->name = span_of(memory_copy_string(group->desired.version));
		version->script = group->desired.script;
		version->script->references++;
		version->created_ms = runner_wall_ms(group->world->runner);
		version->references = 1;
		group->references++;
	}
	list_first(group, version);
	group->complete = false;
	group->progress_us = runner_now_us(group->world->runner);
}

/* Older ones that are empty. */
static void drop_versions(struct simulated_group *group, bool all)
{
	struct simulated_version *version = group->versions, *next;

	for (; version; version = next) {
		next = version->next;
		if (!all &&
			(version == group->versions || version->desired > 0 || version->replicas))
			continue;
		unlist(group, version);
		simulated_version_release(version);
	}
}

/* 32 hex digits that say when it was made; the second half makes them differ between worlds. */
static void make_token(struct simulated_world *world, char out[TOKEN_DIGITS + 1])
{
	uint64_t number = world->number + 1, mixed = world->name_key ^ number;

	mixed = (mixed ^ mixed >> 33) * MIX_1;
	mixed = (mixed ^ mixed >> 33) * MIX_2;
	mixed ^= mixed >> 33;
	snprintf(out, TOKEN_DIGITS + 1, "%016" PRIx64 "%016" PRIx64, number, mixed);
}

void simulated_version_start_task(struct simulated_version *version,
	struct simulated_instance *instance)
{
	struct simulated_group *group = version->group;
	char token[TOKEN_DIGITS + 1];

	make_token(group->world, token);
	runner_trace(group->world->runner, "%s is made for %s", token, version->name.data);
	simulated_group_event(group, false, "SuccessfulCreate: Created pod: %s", token);
	version->script->references++;
	simulated_task_begin(group->world, span_of(token), instance, version->script, version);
}

void simulated_version_add(struct simulated_version *version, struct simulated_task *task)
{
	task->version = version;
	version->references++;
	version->group->live++;
	task->next_replica = version->replicas;
	task->previous_replica = &version->replicas;
	if (task->next_replica)
		task->next_replica->previous_replica = &task->next_replica;
	version->replicas = task;
}

void simulated_version_let_go(struct simulated_task *task)
{
	if (!task->previous_replica)
		return;
	*task->previous_replica = task->next_replica;
	if (task->next_replica)
		task->next_replica->previous_replica = task->previous_replica;
	task->next_replica = NULL;
	task->previous_replica = NULL;
	simulated_group_touch(task->version->group);
}

void simulated_version_stop_task(struct simulated_task *task, struct span reason)
{
	struct simulated_group *group = task->version->group;

	simulated_group_event(group, false, "SuccessfulDelete: Deleted pod: %s", task->token);
	simulated_version_let_go(task);
	simulated_task_ask_to_stop(group->world, task, reason);
}

static bool has_health_check(const struct script *script)
{
	for (size_t i = 0; i < script->container_count; i++)
		if (script->containers[i].has_health_check)
			return true;
	return false;
}

bool simulated_task_is_ready(const struct simulated_task *task)
{
	return task->phase == RUNTIME_RUNNING && (!task->script->gated || task->gate_open) &&
	       (task->health == RUNTIME_HEALTHY || !has_health_check(task->script));
}

static int64_t available_us(const struct simulated_task *task)
{
	return task->ready_us + task->version->group->desired.settle_seconds * 1000000;
}

bool simulated_task_is_available(const struct simulated_task *task)
{
	return simulated_task_is_ready(task) && task->ready_us > 0 &&
	       available_us(task) <= runner_now_us(task->version->group->world->runner);
}

void simulated_version_count(const struct simulated_version *version, int64_t *ret_current,
	int64_t *ret_ready, int64_t *ret_available)
{
	int64_t current = 0, ready = 0, available = 0;

	for (const struct simulated_task *task = version->replicas; task;
		task = task->next_replica) {
		current++;
		ready += simulated_task_is_ready(task);
		available += simulated_task_is_available(task);
	}
	*ret_current = current;
	*ret_ready = ready;
	*ret_available = available;
}

/* ---- passes ---- */

void simulated_group_touch(struct simulated_group *group)
{
	struct simulated_world *world = group->world;

	if (!group->exists || group->check_is_near)
		return;
	group->check_is_near = true;
	simulated_world_set_timer(world, &group->pass,
		simulated_world_draw_moment(world, &world->config.group_check));
}

void simulated_groups_instances_changed(struct simulated_world *world)
{
	MAP_EACH (&world->groups, entry)
		if (((struct simulated_group *)entry->value)->desired.daemon)
			simulated_group_touch(entry->value);
	simulated_place_changed(world);
}

/* Since when its tasks are ready. Returns when the next of them settles; 0: all have. */
static int64_t note_ready(struct simulated_group *group)
{
	int64_t now_us = runner_now_us(group->world->runner), next_us = 0;

	for (struct simulated_version *version = group->versions; version; version = version->next)
		for (struct simulated_task *task = version->replicas; task;
			task = task->next_replica) {
			if (!simulated_task_is_ready(task)) {
				task->ready_us = 0;
				continue;
			}
			if (task->ready_us == 0)
				task->ready_us = now_us;
			if (available_us(task) > now_us &&
				(next_us == 0 || available_us(task) < next_us))
				next_us = available_us(task);
		}
	return next_us;
}

/* Records the state. Returns whether it differs from before. */
static bool count(struct simulated_group *group)
{
	int64_t current = 0, ready = 0, updated = 0, available = 0;
	bool differs;

	for (struct simulated_version *version = group->versions; version;
		version = version->next) {
		int64_t its_available;

		simulated_version_count(version, &version->reported_current,
			&version->reported_ready, &its_available);
		available += its_available;
		current += version->reported_current;
		ready += version->reported_ready;
		if (version == group->versions)
			updated = version->reported_current;
	}
	differs = current != group->reported_current || ready != group->reported_ready ||
		  updated != group->reported_updated;
	group->reported_current = current;
	group->reported_ready = ready;
	group->reported_available = available;
	group->reported_updated = updated;
	group->reported_desired =
		group->desired.daemon ? group->versions->desired : group->desired.desired;
	return differs;
}

/* As a Deployment does, until its newest version was rolled out once. */
static void judge_progress(struct simulated_group *group, bool progressed)
{
	struct simulated_world *world = group->world;
	int64_t now_us = runner_now_us(world->runner);
	int64_t limit_ms = world->config.group_deadline_ms;
	int64_t deadline_us;

	if (group->reported_current == group->reported_desired &&
		group->reported_updated == group->reported_desired &&
		group->reported_ready == group->reported_desired)
		group->complete = true;
	if (progressed || group->complete) {
		group->progress_us = now_us;
		group->failed = false;
	}
	if (group->complete || group->failed || group->desired.daemon)
		return;
	deadline_us = group->progress_us + (limit_ms ? limit_ms : DEADLINE_MS) * 1000;
	if (deadline_us <= now_us)
		group->failed = true;
	else if (!group->check_is_near)
		simulated_timers_set(&world->timers, &group->pass, deadline_us);
}

static void stop_all(struct simulated_group *group, const char *reason)
{
	for (struct simulated_version *version = group->versions; version; version = version->next)
		while (version->replicas)
			simulated_version_stop_task(version->replicas, span_of(reason));
}

static void vanish(struct simulated_group *group)
{
	struct simulated_world *world = group->world;

	runner_trace(world->runner, "group %s is gone", group->id.data);
	map_remove(&world->groups, group->id);
	simulated_timers_unset(&world->timers, &group->pass);
	/* and so it exists until the end of this function */
	simulated_world_group_changed(world, group);
	group->exists = false;
	drop_versions(group, true);
}

static void pass(struct simulated_world *world, struct timer *timer)
{
	struct simulated_group *group = CONTAINER_OF(timer, struct simulated_group, pass);
	bool was_settled = group->settled;
	int64_t next_us;

	group->check_is_near = false;
	if (group->ending) {
		stop_all(group, "Its group was removed");
		if (group->live == 0) {
			vanish(group);
			return;
		}
		count(group);
		simulated_world_group_changed(world, group);
		return;
	}
	take_up_version(group);
	next_us = note_ready(group);
	if (group->desired.daemon)
		simulated_daemon_step(group);
	else
		simulated_replicas_step(group);
	drop_versions(group, false);
	group->settled = true;
	judge_progress(group, count(group) || !was_settled);
	/* Earlier than a deadline, which that pass handles. */
	if (next_us > 0 && !group->check_is_near)
		simulated_timers_set(&world->timers, &group->pass, next_us);
	simulated_world_group_changed(world, group);
}

/* ---- calls ---- */

static bool is_same_desired(const struct simulated_desired *a, const struct simulated_desired *b)
{
	return a->version && strcmp(a->version, b->version) == 0 && a->desired == b->desired &&
	       a->minimum_healthy == b->minimum_healthy && a->maximum == b->maximum &&
	       a->settle_seconds == b->settle_seconds;
}

static struct simulated_group *group_new(struct simulated_world *world, struct span id)
{
	struct simulated_group *group = memory_allocate(sizeof(*group));

	group->world = world;
	group->id = (struct span){memory_copy_string_n(id.data, id.length), id.length};
	group->pass.due = pass;
	group->exists = true;
	map_put(&world->groups, id, group);
	return group;
}

/* All tasks of a version are made from one spec. */
static void check_spec(const struct simulated_group *group, const struct simulated_desired *desired)
{
	const struct simulated_version *version = version_of(group, span_of(desired->version));

	if ((version && version->script != desired->script) ||
		(group->desired.version && strcmp(group->desired.version, desired->version) == 0 &&
			group->desired.script != desired->script))
		simulated_world_broken(group->world,
			"version '%s' of group '%s' was applied with another spec",
			desired->version, group->id.data);
}

int simulated_group_apply(struct simulated_world *world, struct span id,
	struct simulated_desired *desired, struct err *err)
{
	struct simulated_group *group = map_get(&world->groups, id);
	const char *refused = NULL;
	int code = 0;

	if (map_has(&world->occupied, id)) {
		code = -EEXIST;
		refused = "something else has its place";
	} else if (group && group->ending) {
		code = -EBUSY;
		refused = "it is being removed";
	} else if (group && group->desired.daemon != desired->daemon) {
		code = -EINVAL;
		refused = "replicas cannot become daemons, nor daemons replicas";
	}
	if (code < 0) {
		simulated_desired_clear(world, desired);
		return err_set(err, code, "group '%.*s': %s", SPAN_ARGS(id), refused);
	}
	if (!group)
		group = group_new(world, id);
	check_spec(group, desired);
	if (is_same_desired(&group->desired, desired)) {
		simulated_desired_clear(world, desired);
		return 0;
	}
	runner_trace(world->runner, "group %s: %" PRId64 " of %s", group->id.data, desired->desired,
		desired->version);
	simulated_desired_clear(world, &group->desired);
	group->desired = *desired;
	*desired = (struct simulated_desired){0};
	group->settled = false;
	simulated_group_touch(group);
	simulated_world_group_changed(world, group);
	return 0;
}

void simulated_group_remove(struct simulated_group *group)
{
	if (group->ending)
		return;
	group->ending = true;
	runner_trace(group->world->runner, "group %s ends", group->id.data);
	simulated_group_touch(group);
	simulated_world_group_changed(group->world, group);
}

void simulated_group_delete(struct simulated_group *group)
{
	stop_all(group, "Its group was deleted");
	vanish(group);
}

void simulated_groups_free(struct simulated_world *world)
{
	struct simulated_group *group;

	while ((group = world->groups_changed)) {
		world->groups_changed = group->next_changed;
		simulated_group_reported(group);
	}
	MAP_EACH (&world->groups, entry) {
		group = entry->value;
		/* Held by this until its versions are gone. */
		group->is_changed = true;
		group->exists = false;
		drop_versions(group, true);
		simulated_group_reported(group);
	}
	map_clear(&world->groups);
	map_clear(&world->occupied);
}
