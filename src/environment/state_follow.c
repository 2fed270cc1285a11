/*
 * Following a place elsewhere: its replica tells what changes, its log keeps that for a while. Health is told as others see
 * it, so that learning whether a definition has a check is a change of its tasks, too.
 */
#include "base/memory.h"
#include "environment/state_internal.h"
#include "environment/state_log.h"

/* ---- what changes ---- */

static const struct state_task *settled(const struct state_cluster *cluster_ref,
	const struct state_task *task, struct state_task *copy)
{
	if (!task)
		return NULL;
	*copy = *task;
	state_cluster_settle_health(cluster_ref, copy);
	return copy;
}

static void replica_changed(void *context, const struct cluster_state_change *change)
{
	const struct state_cluster *cluster_ref = context;
	struct state_task before, after;
	struct cluster_state_change reported = *change;

	reported.task_before = settled(cluster_ref, change->task_before, &before);
	reported.task_after = settled(cluster_ref, change->task_after, &after);
	state_log_add(cluster_ref->log, &reported);
}

void state_follow_replica(struct state_cluster *cluster_ref)
{
	cluster_state_listen(cluster_ref->replica, cluster_ref->log ? replica_changed : NULL,
		cluster_ref);
}

void state_cluster_settled(struct state_cluster *cluster_ref, struct span task_definition)
{
	const struct state_task *task;
	size_t position = 0;

	while (cluster_ref->log &&
		(task = cluster_state_next_task(cluster_ref->replica, &position))) {
		struct state_task before = *task, after;
		struct cluster_state_change change = {
			.task_before = &before, .task_after = settled(cluster_ref, task, &after)};

		if (task->health != STATE_HEALTH_UNKNOWN ||
			!span_equal(task->task_definition, task_definition))
			continue;
		before.health = STATE_HEALTH_UNSURE;
		state_log_add(cluster_ref->log, &change);
	}
}

/* ---- following ---- */

static void copy_tasks(const struct state_cluster *cluster_ref, struct arena *arena,
	struct state_snapshot *snapshot)
{
	size_t most = cluster_state_task_count(cluster_ref->replica), position = 0;
	struct state_task *tasks = arena_allocate_array(arena, most + 1, sizeof(*tasks));
	const struct state_task *task;

	while ((task = cluster_state_next_task(cluster_ref->replica, &position))) {
		struct state_task *copy = &tasks[snapshot->task_count++];

		*copy = *cluster_state_get_task(cluster_ref->replica, task->arn, arena);
		state_cluster_settle_health(cluster_ref, copy);
	}
	snapshot->tasks = tasks;
}

static void copy_instances(const struct state_cluster *cluster_ref, struct arena *arena,
	struct state_snapshot *snapshot)
{
	size_t most = cluster_state_instance_count(cluster_ref->replica), position = 0;
	struct state_instance *instances =
		arena_allocate_array(arena, most + 1, sizeof(*instances));
	const struct state_instance *instance;

	while ((instance = cluster_state_next_instance(cluster_ref->replica, &position)))
		instances[snapshot->instance_count++] =
			*cluster_state_get_instance(cluster_ref->replica, instance->id, arena);
	snapshot->instances = instances;
}

/* Under the lock. */
static int follow(struct state_service *service, struct state_cluster *cluster_ref,
	const uint64_t *position, void (*wake)(void *context), void *context, struct arena *arena,
	struct state_snapshot *snapshot, struct state_tail **ret_tail)
{
	if (!cluster_ref || !cluster_ref->remote || !cluster_ref->complete)
		return -EAGAIN;
	if (!cluster_ref->log) {
		cluster_ref->log = state_log_new((uint64_t)runner_wall_ms(service->runner) * 1000);
		state_log_set_observed(cluster_ref->log, cluster_ref->listed_ms);
		state_follow_replica(cluster_ref);
	}
	*ret_tail = state_tail_open(cluster_ref->log, position, wake, context);
	if (!*ret_tail)
		return -ESTALE;
	if (!position) {
		copy_tasks(cluster_ref, arena, snapshot);
		copy_instances(cluster_ref, arena, snapshot);
	}
	return 0;
}

int state_follow(struct state_service *service, struct span cluster_ref, const uint64_t *position,
	void (*wake)(void *context), void *context, struct arena *arena,
	struct state_snapshot *ret_snapshot, struct state_tail **ret_tail, struct err *err)
{
	int code;

	*ret_snapshot = (struct state_snapshot){0};
	lock_take(&service->lock);
	code = follow(service, map_get(&service->cluster_refs, cluster_ref), position, wake,
		context, arena, ret_snapshot, ret_tail);
	lock_release(&service->lock);
	if (code == -ESTALE)
		return err_set(err, -ESTALE,
			"entityVersion: %llu is too old, or not of this cluster; begin without it",
			(unsigned long long)*position);
	return code < 0
		       ? err_set(err, code, "cluster %.*s is not known now", SPAN_ARGS(cluster_ref))
		       : 0;
}
