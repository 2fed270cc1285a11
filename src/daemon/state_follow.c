/*
 * Following a place elsewhere: its replica tells what changes, its log keeps that for a while. Health is told as others see
 * it, so that learning whether a definition has a check is a change of its tasks, too.
 */
#include "base/memory.h"
#include "daemon/state_internal.h"
#include "daemon/state_log.h"

/* ---- what changes ---- */

static const struct state_task *settled(const struct state_place *place,
	const struct state_task *task, struct state_task *copy)
{
	if (!task)
		return NULL;
	*copy = *task;
	state_place_settle_health(place, copy);
	return copy;
}

static void replica_changed(void *context, const struct cluster_state_change *change)
{
	const struct state_place *place = context;
	struct state_task before, after;
	struct cluster_state_change told = *change;

	told.task_before = settled(place, change->task_before, &before);
	told.task_after = settled(place, change->task_after, &after);
	state_log_add(place->log, &told);
}

void state_follow_replica(struct state_place *place)
{
	cluster_state_listen(place->replica, place->log ? replica_changed : NULL, place);
}

void state_place_settled(struct state_place *place, struct span task_definition)
{
	const struct state_task *task;
	size_t position = 0;

	while (place->log && (task = cluster_state_next_task(place->replica, &position))) {
		struct state_task before = *task, after;
		struct cluster_state_change change = {
			.task_before = &before, .task_after = settled(place, task, &after)};

		if (task->health != STATE_HEALTH_UNKNOWN ||
			!span_equal(task->task_definition, task_definition))
			continue;
		before.health = STATE_HEALTH_UNSURE;
		state_log_add(place->log, &change);
	}
}

/* ---- following ---- */

static void copy_tasks(const struct state_place *place, struct arena *arena,
	struct state_snapshot *snapshot)
{
	size_t most = cluster_state_task_count(place->replica), position = 0;
	struct state_task *tasks = arena_allocate_array(arena, most + 1, sizeof(*tasks));
	const struct state_task *task;

	while ((task = cluster_state_next_task(place->replica, &position))) {
		struct state_task *copy = &tasks[snapshot->task_count++];

		*copy = *cluster_state_get_task(place->replica, task->arn, arena);
		state_place_settle_health(place, copy);
	}
	snapshot->tasks = tasks;
}

static void copy_instances(const struct state_place *place, struct arena *arena,
	struct state_snapshot *snapshot)
{
	size_t most = cluster_state_instance_count(place->replica), position = 0;
	struct state_instance *instances =
		arena_allocate_array(arena, most + 1, sizeof(*instances));
	const struct state_instance *instance;

	while ((instance = cluster_state_next_instance(place->replica, &position)))
		instances[snapshot->instance_count++] =
			*cluster_state_get_instance(place->replica, instance->id, arena);
	snapshot->instances = instances;
}

/* Under the lock. */
static int follow(struct state_service *service, struct state_place *place,
	const uint64_t *position, void (*wake)(void *context), void *context, struct arena *arena,
	struct state_snapshot *snapshot, struct state_tail **ret_tail)
{
	if (!place || !place->remote || !place->complete)
		return -EAGAIN;
	if (!place->log) {
		place->log = state_log_new((uint64_t)runner_wall_ms(service->runner) * 1000);
		state_log_set_observed(place->log, place->listed_ms);
		state_follow_replica(place);
	}
	*ret_tail = state_tail_open(place->log, position, wake, context);
	if (!*ret_tail)
		return -ESTALE;
	if (!position) {
		copy_tasks(place, arena, snapshot);
		copy_instances(place, arena, snapshot);
	}
	return 0;
}

int state_follow(struct state_service *service, struct span place, const uint64_t *position,
	void (*wake)(void *context), void *context, struct arena *arena,
	struct state_snapshot *ret_snapshot, struct state_tail **ret_tail, struct err *err)
{
	int code;

	*ret_snapshot = (struct state_snapshot){0};
	lock_take(&service->lock);
	code = follow(service, map_get(&service->places, place), position, wake, context, arena,
		ret_snapshot, ret_tail);
	lock_release(&service->lock);
	if (code == -ESTALE)
		return err_set(err, -ESTALE,
			"entityVersion: %llu is too old, or not of this cluster; begin without it",
			(unsigned long long)*position);
	return code < 0 ? err_set(err, code, "cluster %.*s is not known now", SPAN_ARGS(place)) : 0;
}
