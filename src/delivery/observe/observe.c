/*
 * The clusters and their replicas, under one lock. Changes are reported after the lock is released. Sources have threads of
 * their own; nothing here waits for them.
 */
#include "delivery/observe/observe.h"

#include <assert.h>
#include <stdio.h>

#include "base/memory.h"
#include "delivery/change_log.h"
#include "delivery/observe/observe_internal.h"

#define TOMBSTONES_MS INT64_C(7200000)

/* ---- changes ---- */

struct observe_changes_item {
	struct observe_changes_item *next;
	const struct observed_cluster *cluster;
	struct span instance, group;
};

void observe_changes_init(struct observe_changes *changes, struct arena *arena)
{
	*changes = (struct observe_changes){.arena = arena, .last = &changes->first};
}

void observe_changes_add(struct observe_changes *changes, const struct observed_cluster *cluster,
	struct span instance)
{
	observe_changes_add_task(changes, cluster, instance, SPAN(""));
}

void observe_changes_add_task(struct observe_changes *changes,
	const struct observed_cluster *cluster, struct span instance, struct span group)
{
	struct observe_changes_item *item;

	if (!cluster->complete)
		return;
	item = arena_allocate(changes->arena, sizeof(*item));
	item->cluster = cluster;
	item->instance = arena_copy_span(changes->arena, instance);
	item->group = arena_copy_span(changes->arena, group);
	*changes->last = item;
	changes->last = &item->next;
}

static enum observe_change_type type_of(const struct observe_changes_item *item)
{
	if (item->group.length > 0)
		return OBSERVE_CHANGE_TASK;
	return item->instance.length > 0 ? OBSERVE_CHANGE_INSTANCE : OBSERVE_CHANGE_CLUSTER;
}

void observe_changes_deliver(struct observer *service, struct observe_changes *changes)
{
	for (const struct observe_changes_item *item = changes->first; item; item = item->next)
		observe_report(service, &(struct observe_change){.type = type_of(item),
						.cluster = item->cluster->ref,
						.instance = item->instance,
						.group = item->group,
						.service = SPAN(""),
						.error = SPAN("")});
	observe_changes_init(changes, changes->arena);
}

/* ---- clusters ---- */

static const struct observed_cluster_operations *operations_of(struct cluster_ref ref)
{
	return cluster_ref_is_remote(ref) ? &source_remote_operations : &source_own_operations;
}

/* The resource version that a replica has reached. */
static uint64_t reached(const struct observer *service, const struct observed_cluster *cluster)
{
	uint64_t position = cluster->operations->position(service);

	if (!cluster->complete)
		return 0;
	return position > cluster->resource_version ? position : cluster->resource_version;
}

/* Reports the waits for a resource version that is reached; or, all at once, the cluster, which includes them. */
static void report_waiting(struct observer *service, struct observed_cluster *cluster,
	bool all_at_once, struct observe_changes *changes)
{
	uint64_t up_to = reached(service, cluster);
	struct span group, instance;

	MAP_EACH (&cluster->waiting, entry) {
		if ((uintptr_t)entry->value > up_to)
			continue;
		if (!all_at_once && span_split(entry->key, ' ', &group, &instance))
			observe_changes_add_task(changes, cluster, instance, group);
		map_remove(&cluster->waiting, entry->key);
	}
	if (all_at_once)
		observe_changes_add(changes, cluster, SPAN(""));
}

void observed_cluster_advanced(struct observer *service, struct observed_cluster *cluster,
	struct observe_changes *changes)
{
	report_waiting(service, cluster, false, changes);
}

void observed_cluster_listed(struct observer *service, struct observed_cluster *cluster,
	uint64_t resource_version, int64_t listed_ms, int64_t listed_us,
	struct observe_changes *changes)
{
	bool first = !cluster->complete;

	cluster->complete = true;
	cluster->listings++;
	cluster->resource_version = resource_version;
	cluster->listed_ms = listed_ms;
	cluster->listed_us = listed_us;
	cluster->error[0] = '\0';
	if (cluster->log)
		change_log_set_observed(cluster->log, listed_ms);
	report_waiting(service, cluster, first, changes);
}

static struct replica *new_replica(const struct observer *service,
	const struct observed_cluster *cluster)
{
	struct replica_limits limits = {.stopped_max = OBSERVE_STOPPED_MAX,
		.stopped_ms = OBSERVE_STOPPED_MS,
		.tombstones_ms = TOMBSTONES_MS,
		.versions_are_ordered = cluster->operations->versions_are_revisions,
		.group_prefix = service->config.group_prefix,
		.tombstones_max = cluster->operations->tombstones_max};

	return replica_new(&limits);
}

void observed_cluster_reset(struct observer *service, struct observed_cluster *cluster)
{
	replica_free(cluster->replica);
	cluster->replica = new_replica(service, cluster);
	if (cluster->log)
		change_log_restart(cluster->log, (uint64_t)runner_wall_ms(service->runner) * 1000);
	observe_follow_replica(cluster);
}

static struct observed_cluster *new_cluster(const struct observer *service, struct cluster_ref ref)
{
	struct observed_cluster *cluster = memory_allocate(sizeof(*cluster) + ref.text.length);

	memcpy(cluster->text, ref.text.data, ref.text.length);
	cluster->ref = cluster_ref_of((struct span){cluster->text, ref.text.length});
	assert(cluster->ref.cluster.length > 0);
	cluster->operations = operations_of(cluster->ref);
	cluster->replica = new_replica(service, cluster);
	return cluster;
}

static void free_cluster(struct observed_cluster *cluster)
{
	source_remote_free(cluster->remote);
	replica_free(cluster->replica);
	map_clear(&cluster->waiting);
	observe_services_forget(cluster);
	map_clear(&cluster->services_needed);
	change_log_leave(cluster->log);
	free(cluster);
}

struct observed_cluster *observed_cluster_get(struct observer *service, struct cluster_ref ref)
{
	struct observed_cluster *cluster = map_get(&service->clusters, ref.text);

	if (!cluster) {
		cluster = new_cluster(service, ref);
		map_put(&service->clusters, ref.text, cluster);
	}
	return cluster;
}

int observe_want(struct observer *service, struct cluster_ref ref, struct aws_target *target,
	int64_t poll_ms, struct err *err)
{
	struct observed_cluster *cluster;
	struct err why = {0};
	bool was_watched;
	int code;

	lock_take(&service->lock);
	cluster = observed_cluster_get(service, ref);
	cluster->wants++;
	if (target)
		cluster->client = target;
	if (poll_ms > 0)
		cluster->poll_ms = poll_ms;
	was_watched = cluster->watched;
	cluster->watched = true;
	lock_release(&service->lock);
	if (was_watched)
		return 0;
	code = cluster->operations->follow(service, cluster, &why);
	if (code < 0) {
		lock_take(&service->lock);
		cluster->wants--;
		cluster->watched = false;
		snprintf(cluster->error, sizeof(cluster->error), "%s", why.message);
		lock_release(&service->lock);
		return err_set(err, code, "%s", why.message);
	}
	return 0;
}

void observe_release(struct observer *service, struct cluster_ref ref)
{
	struct observed_cluster *cluster;

	lock_take(&service->lock);
	cluster = map_get(&service->clusters, ref.text);
	assert(cluster && cluster->wants > 0);
	cluster->wants--;
	lock_release(&service->lock);
}

/* Takes the lock, which the caller releases whatever the answer is. */
static struct observed_cluster *lock_cluster(struct observer *service, struct cluster_ref ref)
{
	lock_take(&service->lock);
	return map_get(&service->clusters, ref.text);
}

bool observe_is_complete(struct observer *service, struct cluster_ref ref)
{
	const struct observed_cluster *cluster = lock_cluster(service, ref);
	bool complete = cluster && cluster->complete;

	lock_release(&service->lock);
	return complete;
}

uint64_t observe_resource_version(struct observer *service, struct cluster_ref ref)
{
	return operations_of(ref)->resource_version(service);
}

uint64_t observe_seen(struct observer *service, struct cluster_ref ref)
{
	struct observed_cluster *cluster = lock_cluster(service, ref);
	uint64_t seen = cluster && cluster->operations->versions_are_revisions
				? reached(service, cluster)
				: 0;

	lock_release(&service->lock);
	return seen;
}

bool observe_reaches(struct observer *service, struct cluster_ref ref, uint64_t resource_version)
{
	return observe_reaches_for(service, ref, SPAN(""), SPAN(""), resource_version);
}

bool observe_reaches_for(struct observer *service, struct cluster_ref ref, struct span instance,
	struct span group, uint64_t resource_version)
{
	_buffer_ struct buffer which = {0};
	struct observed_cluster *cluster = lock_cluster(service, ref);
	bool reaches =
		cluster && cluster->complete && reached(service, cluster) >= resource_version;
	bool wait = cluster && !reaches, first = false;

	if (wait)
		buffer_format(&which, "%.*s %.*s", SPAN_ARGS(group), SPAN_ARGS(instance));
	if (wait && (uintptr_t)map_get(&cluster->waiting, buffer_span(&which)) < resource_version) {
		map_put(&cluster->waiting, buffer_span(&which),
			(void *)(uintptr_t)resource_version);
		first = true;
	}
	lock_release(&service->lock);
	if (wait)
		cluster->operations->wait(service, first);
	return reaches;
}

bool observe_get_info(struct observer *service, struct cluster_ref ref,
	struct observe_info *ret_info)
{
	const struct observed_cluster *cluster = lock_cluster(service, ref);
	int64_t now_us = runner_now_us(service->runner);

	if (cluster) {
		*ret_info = (struct observe_info){.complete = cluster->complete,
			.instances = replica_instance_count(cluster->replica),
			.tasks = replica_task_count(cluster->replica),
			.listings = cluster->listings,
			.observed_ms = cluster->complete
					       ? cluster->operations->observed_ms(service, cluster)
					       : 0,
			.stale = !cluster->complete ||
				 cluster->operations->is_late(cluster, cluster->listed_us, now_us)};
		memcpy(ret_info->error, cluster->error, sizeof(ret_info->error));
	}
	lock_release(&service->lock);
	return cluster;
}

size_t observe_list_clusters(struct observer *service, struct arena *arena,
	struct cluster_ref **ret_clusters)
{
	size_t count = 0;

	lock_take(&service->lock);
	*ret_clusters =
		arena_allocate_array(arena, service->clusters.count + 1, sizeof(**ret_clusters));
	MAP_EACH (&service->clusters, entry)
		if (((const struct observed_cluster *)entry->value)->watched)
			(*ret_clusters)[count++] =
				cluster_ref_of(arena_copy_span(arena, entry->key));
	lock_release(&service->lock);
	return count;
}

/* ---- reading ---- */

void observed_cluster_settle_health(const struct observed_cluster *cluster,
	struct observe_task *task)
{
	if (task && task->health == OBSERVE_HEALTH_UNKNOWN)
		task->health = cluster->operations->unknown_health(cluster, task->task_definition);
}

static struct observe_instance *settle(const struct observed_cluster *cluster,
	struct observe_instance *instance)
{
	for (size_t i = 0; instance && i < instance->task_count; i++)
		observed_cluster_settle_health(cluster, (struct observe_task *)&instance->tasks[i]);
	return instance;
}

struct observe_instance *observe_get_instance(struct observer *service, struct cluster_ref ref,
	struct span id, struct arena *arena)
{
	const struct observed_cluster *cluster = lock_cluster(service, ref);
	struct observe_instance *instance =
		cluster ? settle(cluster, replica_get_instance(cluster->replica, id, arena)) : NULL;

	lock_release(&service->lock);
	return instance;
}

struct observe_instance *observe_get_instance_for(struct observer *service, struct cluster_ref ref,
	struct span id, struct span group, struct arena *arena)
{
	const struct observed_cluster *cluster = lock_cluster(service, ref);
	struct observe_instance *instance =
		cluster ? settle(cluster,
				  replica_get_instance_for(cluster->replica, id, group, arena))
			: NULL;

	lock_release(&service->lock);
	return instance;
}

size_t observe_list_instances(struct observer *service, struct cluster_ref ref, struct arena *arena,
	struct span **ret_ids)
{
	const struct observed_cluster *cluster = lock_cluster(service, ref);
	size_t count = 0;

	if (cluster)
		count = replica_list(cluster->replica, arena, ret_ids);
	else
		*ret_ids = NULL;
	lock_release(&service->lock);
	return count;
}

struct observe_task *observe_get_task(struct observer *service, struct cluster_ref ref,
	struct span arn, struct arena *arena)
{
	const struct observed_cluster *cluster = lock_cluster(service, ref);
	struct observe_task *task = cluster ? replica_get_task(cluster->replica, arn, arena) : NULL;

	observed_cluster_settle_health(cluster, task);
	lock_release(&service->lock);
	return task;
}

struct observe_task *observe_last_stopped(struct observer *service, struct cluster_ref ref,
	struct span instance, struct span group, struct arena *arena)
{
	const struct observed_cluster *cluster = lock_cluster(service, ref);
	struct observe_task *task =
		cluster ? replica_last_stopped(cluster->replica, instance, group, arena) : NULL;

	observed_cluster_settle_health(cluster, task);
	lock_release(&service->lock);
	return task;
}

/* ---- selecting ---- */

size_t observe_select_instances(struct observer *service, struct cluster_ref ref,
	const struct observe_instance_query *query, struct span after, size_t most,
	struct arena *arena, struct observe_instance **ret_instances)
{
	struct observe_instance *instances =
		arena_allocate_array(arena, most + 1, sizeof(*instances));
	size_t count = 0, filled = 0;

	do {
		const struct observed_cluster *cluster = lock_cluster(service, ref);

		if (cluster)
			filled += replica_select_instances(cluster->replica, query, &after,
				most - filled, arena, instances + filled);
		for (; count < filled; count++)
			settle(cluster, &instances[count]);
		lock_release(&service->lock);
		if (!cluster)
			break;
	} while (after.data);
	*ret_instances = instances;
	return count;
}

size_t observe_select_tasks(struct observer *service, struct cluster_ref ref,
	const struct observe_task_query *query, struct span after, size_t most, struct arena *arena,
	struct observe_task **ret_tasks)
{
	struct observe_task *tasks = arena_allocate_array(arena, most + 1, sizeof(*tasks));
	size_t count = 0, filled = 0;

	do {
		const struct observed_cluster *cluster = lock_cluster(service, ref);

		if (cluster)
			filled += replica_select_tasks(cluster->replica, query, &after,
				most - filled, arena, tasks + filled);
		for (; count < filled; count++)
			observed_cluster_settle_health(cluster, &tasks[count]);
		lock_release(&service->lock);
		if (!cluster)
			break;
	} while (after.data);
	*ret_tasks = tasks;
	return count;
}

/* ---- beginning and end ---- */

int observe_new(const struct observe_config *config, struct observer **ret_service, struct err *err)
{
	struct observer *service = memory_allocate(sizeof(*service));
	int code;

	service->config = *config;
	service->runner = runner_group_new(config->runner, "state");
	service->wanted = runner_event_new(service->runner, "a listing");
	lock_init(&service->lock);
	lock_init(&service->cursors_lock);
	code = config->server ? relay_new(service, config->server, &service->relay, err) : 0;
	if (code == 0)
		code = source_own_new(service, &service->own, err);
	if (code < 0) {
		observe_free(service);
		return err_prefix(err, code, "start to observe clusters");
	}
	*ret_service = service;
	return 0;
}

void observe_free(struct observer *service)
{
	if (!service)
		return;
	runner_stop(service->runner);
	runner_join(service->runner, NULL);
	MAP_EACH (&service->clusters, entry)
		free_cluster(entry->value);
	map_clear(&service->clusters);
	source_own_free(service->own);
	relay_free(service->relay);
	runner_event_free(service->wanted);
	runner_free(service->runner);
	lock_destroy(&service->lock);
	lock_destroy(&service->cursors_lock);
	free(service);
}
