/*
 * Following a remote cluster: its replica reports what changes, its log keeps that for a while. Health is reported as
 * consumers see it, so learning whether a task definition has a health check is a change of its tasks, too.
 */
#include "base/memory.h"
#include "delivery/change_log.h"
#include "delivery/observe/observe_internal.h"
#include "delivery/observe/replica_change.h"

/* ---- changes ---- */

static const struct observe_task *settled(const struct observed_cluster *cluster,
	const struct observe_task *task, struct observe_task *copy)
{
	if (!task)
		return NULL;
	*copy = *task;
	observed_cluster_settle_health(cluster, copy);
	return copy;
}

static void replica_changed(void *context, const struct replica_change *change)
{
	const struct observed_cluster *cluster = context;
	struct observe_task before, after;
	struct replica_change reported = *change;

	reported.task_before = settled(cluster, change->task_before, &before);
	reported.task_after = settled(cluster, change->task_after, &after);
	change_log_add(cluster->log, replica_change_keep(&reported));
}

void observe_follow_replica(struct observed_cluster *cluster)
{
	replica_listen(cluster->replica, cluster->log ? replica_changed : NULL, cluster);
}

void observed_cluster_settled(struct observed_cluster *cluster, struct span task_definition)
{
	const struct observe_task *task;
	size_t position = 0;

	while (cluster->log && (task = replica_next_task(cluster->replica, &position))) {
		struct observe_task before = *task, after;
		struct replica_change change = {
			.task_before = &before, .task_after = settled(cluster, task, &after)};

		if (task->health != OBSERVE_HEALTH_UNKNOWN ||
			!span_equal(task->task_definition, task_definition))
			continue;
		before.health = OBSERVE_HEALTH_UNSURE;
		change_log_add(cluster->log, replica_change_keep(&change));
	}
}

/* ---- following ---- */

static void copy_tasks(const struct observed_cluster *cluster, struct arena *arena,
	struct observe_snapshot *snapshot)
{
	size_t most = replica_task_count(cluster->replica), position = 0;
	struct observe_task *tasks = arena_allocate_array(arena, most + 1, sizeof(*tasks));
	const struct observe_task *task;

	while ((task = replica_next_task(cluster->replica, &position))) {
		struct observe_task *copy = &tasks[snapshot->task_count++];

		*copy = *replica_get_task(cluster->replica, task->arn, arena);
		observed_cluster_settle_health(cluster, copy);
	}
	snapshot->tasks = tasks;
}

static void copy_instances(const struct observed_cluster *cluster, struct arena *arena,
	struct observe_snapshot *snapshot)
{
	size_t most = replica_instance_count(cluster->replica), position = 0;
	struct observe_instance *instances =
		arena_allocate_array(arena, most + 1, sizeof(*instances));
	const struct observe_instance *instance;

	while ((instance = replica_next_instance(cluster->replica, &position)))
		instances[snapshot->instance_count++] =
			*replica_get_instance(cluster->replica, instance->id, arena);
	snapshot->instances = instances;
}

/* Under the lock. */
static int follow(struct observer *service, struct observed_cluster *cluster,
	const uint64_t *position, void (*wake)(void *context), void *context, struct arena *arena,
	struct observe_snapshot *snapshot, struct change_log_reader **ret_reader)
{
	if (!cluster || !cluster->remote || !cluster->complete)
		return -EAGAIN;
	if (!cluster->log) {
		cluster->log = change_log_new(&replica_change_log_type,
			(uint64_t)runner_wall_ms(service->runner) * 1000);
		change_log_set_observed(cluster->log, cluster->listed_ms);
		observe_follow_replica(cluster);
	}
	*ret_reader = change_log_reader_open(cluster->log, position, wake, context);
	if (!*ret_reader)
		return -ESTALE;
	if (!position) {
		copy_tasks(cluster, arena, snapshot);
		copy_instances(cluster, arena, snapshot);
	}
	return 0;
}

int observe_follow(struct observer *service, struct cluster_ref ref, const uint64_t *position,
	void (*wake)(void *context), void *context, struct arena *arena,
	struct observe_snapshot *ret_snapshot, struct change_log_reader **ret_reader,
	struct err *err)
{
	int code;

	*ret_snapshot = (struct observe_snapshot){0};
	lock_take(&service->lock);
	code = follow(service, map_get(&service->clusters, ref.text), position, wake, context,
		arena, ret_snapshot, ret_reader);
	lock_release(&service->lock);
	if (code == -ESTALE)
		return err_set(err, -ESTALE,
			"entityVersion: %llu is too old, or not of this cluster; begin without it",
			(unsigned long long)*position);
	return code < 0 ? err_set(err, code, "cluster %.*s is not known now", SPAN_ARGS(ref.text))
			: 0;
}
