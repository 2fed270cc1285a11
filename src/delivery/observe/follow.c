/*
 * Following a remote cluster: its replica reports what changes, its log keeps that for a while. Health is reported as
 * consumers see it, so learning whether a task definition has a health check is a change of its tasks, too.
 */
#include "base/memory.h"
#include "delivery/change_log.h"
#include "delivery/observe/observe_internal.h"
#include "delivery/observe/replica_change.h"

/* ---- what changes ---- */

static const struct observe_task *settled(const struct observed_cluster *cluster_ref,
	const struct observe_task *task, struct observe_task *copy)
{
	if (!task)
		return NULL;
	*copy = *task;
	observed_cluster_settle_health(cluster_ref, copy);
	return copy;
}

static void replica_changed(void *context, const struct replica_change *change)
{
	const struct observed_cluster *cluster_ref = context;
	struct observe_task before, after;
	struct replica_change reported = *change;

	reported.task_before = settled(cluster_ref, change->task_before, &before);
	reported.task_after = settled(cluster_ref, change->task_after, &after);
	change_log_add(cluster_ref->log, replica_change_keep(&reported));
}

void observe_follow_replica(struct observed_cluster *cluster_ref)
{
	replica_listen(cluster_ref->replica, cluster_ref->log ? replica_changed : NULL,
		cluster_ref);
}

void observed_cluster_settled(struct observed_cluster *cluster_ref, struct span task_definition)
{
	const struct observe_task *task;
	size_t position = 0;

	while (cluster_ref->log && (task = replica_next_task(cluster_ref->replica, &position))) {
		struct observe_task before = *task, after;
		struct replica_change change = {
			.task_before = &before, .task_after = settled(cluster_ref, task, &after)};

		if (task->health != OBSERVE_HEALTH_UNKNOWN ||
			!span_equal(task->task_definition, task_definition))
			continue;
		before.health = OBSERVE_HEALTH_UNSURE;
		change_log_add(cluster_ref->log, replica_change_keep(&change));
	}
}

/* ---- following ---- */

static void copy_tasks(const struct observed_cluster *cluster_ref, struct arena *arena,
	struct observe_snapshot *snapshot)
{
	size_t most = replica_task_count(cluster_ref->replica), position = 0;
	struct observe_task *tasks = arena_allocate_array(arena, most + 1, sizeof(*tasks));
	const struct observe_task *task;

	while ((task = replica_next_task(cluster_ref->replica, &position))) {
		struct observe_task *copy = &tasks[snapshot->task_count++];

		*copy = *replica_get_task(cluster_ref->replica, task->arn, arena);
		observed_cluster_settle_health(cluster_ref, copy);
	}
	snapshot->tasks = tasks;
}

static void copy_instances(const struct observed_cluster *cluster_ref, struct arena *arena,
	struct observe_snapshot *snapshot)
{
	size_t most = replica_instance_count(cluster_ref->replica), position = 0;
	struct observe_instance *instances =
		arena_allocate_array(arena, most + 1, sizeof(*instances));
	const struct observe_instance *instance;

	while ((instance = replica_next_instance(cluster_ref->replica, &position)))
		instances[snapshot->instance_count++] =
			*replica_get_instance(cluster_ref->replica, instance->id, arena);
	snapshot->instances = instances;
}

/* Under the lock. */
static int follow(struct observer *service, struct observed_cluster *cluster_ref,
	const uint64_t *position, void (*wake)(void *context), void *context, struct arena *arena,
	struct observe_snapshot *snapshot, struct change_log_reader **ret_reader)
{
	if (!cluster_ref || !cluster_ref->remote || !cluster_ref->complete)
		return -EAGAIN;
	if (!cluster_ref->log) {
		cluster_ref->log = change_log_new(&replica_change_log_type,
			(uint64_t)runner_wall_ms(service->runner) * 1000);
		change_log_set_observed(cluster_ref->log, cluster_ref->listed_ms);
		observe_follow_replica(cluster_ref);
	}
	*ret_reader = change_log_reader_open(cluster_ref->log, position, wake, context);
	if (!*ret_reader)
		return -ESTALE;
	if (!position) {
		copy_tasks(cluster_ref, arena, snapshot);
		copy_instances(cluster_ref, arena, snapshot);
	}
	return 0;
}

int observe_follow(struct observer *service, struct span cluster_ref, const uint64_t *position,
	void (*wake)(void *context), void *context, struct arena *arena,
	struct observe_snapshot *ret_snapshot, struct change_log_reader **ret_reader,
	struct err *err)
{
	int code;

	*ret_snapshot = (struct observe_snapshot){0};
	lock_take(&service->lock);
	code = follow(service, map_get(&service->cluster_refs, cluster_ref), position, wake,
		context, arena, ret_snapshot, ret_reader);
	lock_release(&service->lock);
	if (code == -ESTALE)
		return err_set(err, -ESTALE,
			"entityVersion: %llu is too old, or not of this cluster; begin without it",
			(unsigned long long)*position);
	return code < 0
		       ? err_set(err, code, "cluster %.*s is not known now", SPAN_ARGS(cluster_ref))
		       : 0;
}
