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

/* Changes of clusters of this server come in order: nothing old ever comes. */
#define OWN_TOMBSTONES_MAX 1000
#define REMOTE_TOMBSTONES_MAX 100000
#define TOMBSTONES_MS INT64_C(7200000)
#define STALE_PERIODS 3 /* without a complete listing, */
#define STALE_LISTINGS                                                                             \
	4 /* and as long as so many took: of large clusters they take longer than a period */

/* ---- changes ---- */

struct observe_changes_item {
	struct observe_changes_item *next;
	const struct observed_cluster *cluster_ref;
	struct span instance, group;
};

void observe_changes_init(struct observe_changes *changes, struct arena *arena)
{
	*changes = (struct observe_changes){.arena = arena, .last = &changes->first};
}

void observe_changes_add(struct observe_changes *changes,
	const struct observed_cluster *cluster_ref, struct span instance)
{
	observe_changes_add_task(changes, cluster_ref, instance, SPAN(""));
}

void observe_changes_add_task(struct observe_changes *changes,
	const struct observed_cluster *cluster_ref, struct span instance, struct span group)
{
	struct observe_changes_item *item;

	if (!cluster_ref->complete)
		return;
	item = arena_allocate(changes->arena, sizeof(*item));
	item->cluster_ref = cluster_ref;
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
						.cluster_ref = item->cluster_ref->name,
						.instance = item->instance,
						.group = item->group,
						.service = SPAN(""),
						.error = SPAN("")});
	observe_changes_init(changes, changes->arena);
}

/* ---- clusters ---- */

static bool is_own(const struct observed_cluster *cluster_ref)
{
	return cluster_ref->ref.target.length == 0;
}

/* The resource version that a replica has reached. */
static uint64_t reached(const struct observer *service, const struct observed_cluster *cluster_ref)
{
	uint64_t position = is_own(cluster_ref) ? source_own_position(service->own) : 0;

	if (!cluster_ref->complete)
		return 0;
	return position > cluster_ref->resource_version ? position : cluster_ref->resource_version;
}

/* Reports the waits for a resource version that is reached; or, all at once, the cluster, which includes them. */
static void report_waiting(struct observer *service, struct observed_cluster *cluster_ref,
	bool all_at_once, struct observe_changes *changes)
{
	uint64_t up_to = reached(service, cluster_ref);
	struct span group, instance;

	MAP_EACH (&cluster_ref->waiting, entry) {
		if ((uintptr_t)entry->value > up_to)
			continue;
		if (!all_at_once && span_split(entry->key, ' ', &group, &instance))
			observe_changes_add_task(changes, cluster_ref, instance, group);
		map_remove(&cluster_ref->waiting, entry->key);
	}
	if (all_at_once)
		observe_changes_add(changes, cluster_ref, SPAN(""));
}

void observed_cluster_advanced(struct observer *service, struct observed_cluster *cluster_ref,
	struct observe_changes *changes)
{
	report_waiting(service, cluster_ref, false, changes);
}

void observed_cluster_listed(struct observer *service, struct observed_cluster *cluster_ref,
	uint64_t resource_version, int64_t listed_ms, int64_t listed_us,
	struct observe_changes *changes)
{
	bool first = !cluster_ref->complete;

	cluster_ref->complete = true;
	cluster_ref->listings++;
	cluster_ref->resource_version = resource_version;
	cluster_ref->listed_ms = listed_ms;
	cluster_ref->listed_us = listed_us;
	cluster_ref->error[0] = '\0';
	if (cluster_ref->log)
		change_log_set_observed(cluster_ref->log, listed_ms);
	report_waiting(service, cluster_ref, first, changes);
}

static struct replica *new_replica(const struct observer *service,
	const struct observed_cluster *cluster_ref)
{
	struct replica_limits limits = {.stopped_max = OBSERVE_STOPPED_MAX,
		.stopped_ms = OBSERVE_STOPPED_MS,
		.tombstones_ms = TOMBSTONES_MS,
		.versions_are_ordered = is_own(cluster_ref),
		.group_prefix = service->config.group_prefix,
		.tombstones_max = is_own(cluster_ref) ? OWN_TOMBSTONES_MAX : REMOTE_TOMBSTONES_MAX};

	return replica_new(&limits);
}

void observed_cluster_reset(struct observer *service, struct observed_cluster *cluster_ref)
{
	replica_free(cluster_ref->replica);
	cluster_ref->replica = new_replica(service, cluster_ref);
	if (cluster_ref->log)
		change_log_restart(cluster_ref->log,
			(uint64_t)runner_wall_ms(service->runner) * 1000);
	observe_follow_replica(cluster_ref);
}

static struct observed_cluster *cluster_ref_new(const struct observer *service, struct span name)
{
	struct observed_cluster *cluster_ref = memory_allocate(sizeof(*cluster_ref) + name.length);
	bool is_valid;

	memcpy(cluster_ref->text, name.data, name.length);
	cluster_ref->name = (struct span){cluster_ref->text, name.length};
	is_valid = cluster_ref_parse(cluster_ref->name, &cluster_ref->ref);
	assert(is_valid);
	(void)is_valid;
	cluster_ref->replica = new_replica(service, cluster_ref);
	return cluster_ref;
}

static void cluster_ref_free(struct observed_cluster *cluster_ref)
{
	source_remote_free(cluster_ref->remote);
	replica_free(cluster_ref->replica);
	map_clear(&cluster_ref->waiting);
	observe_services_forget(cluster_ref);
	map_clear(&cluster_ref->services_needed);
	change_log_leave(cluster_ref->log);
	free(cluster_ref);
}

static int follow_remote(struct observer *service, struct observed_cluster *cluster_ref,
	struct err *err)
{
	int code;

	lock_take(&service->lock);
	bool too_many = service->remote_count >= OBSERVE_REMOTE_CLUSTERS_MAX;
	service->remote_count += !too_many;
	lock_release(&service->lock);
	if (too_many)
		return err_set(err, -E2BIG, "more than %d remote clusters are wanted",
			OBSERVE_REMOTE_CLUSTERS_MAX);
	code = source_remote_start(service, cluster_ref, err);
	if (code < 0) {
		lock_take(&service->lock);
		service->remote_count--;
		lock_release(&service->lock);
	}
	return code;
}

struct observed_cluster *observed_cluster_get(struct observer *service, struct span name)
{
	struct observed_cluster *cluster_ref = map_get(&service->cluster_refs, name);

	if (!cluster_ref) {
		cluster_ref = cluster_ref_new(service, name);
		map_put(&service->cluster_refs, name, cluster_ref);
	}
	return cluster_ref;
}

int observe_want(struct observer *service, struct span name, struct aws_target *target,
	int64_t poll_ms, struct err *err)
{
	struct observed_cluster *cluster_ref;
	struct err why = {0};
	bool was_watched;
	int code = 0;

	lock_take(&service->lock);
	cluster_ref = observed_cluster_get(service, name);
	cluster_ref->wants++;
	if (target)
		cluster_ref->client = target;
	if (poll_ms > 0)
		cluster_ref->poll_ms = poll_ms;
	was_watched = cluster_ref->watched;
	cluster_ref->watched = true;
	lock_release(&service->lock);
	if (was_watched)
		return 0;
	if (is_own(cluster_ref))
		source_own_wake(service->own);
	else
		code = follow_remote(service, cluster_ref, &why);
	if (code < 0) {
		lock_take(&service->lock);
		cluster_ref->wants--;
		cluster_ref->watched = false;
		snprintf(cluster_ref->error, sizeof(cluster_ref->error), "%s", why.message);
		lock_release(&service->lock);
		return err_set(err, code, "%s", why.message);
	}
	return 0;
}

void observe_release(struct observer *service, struct span name)
{
	struct observed_cluster *cluster_ref;

	lock_take(&service->lock);
	cluster_ref = map_get(&service->cluster_refs, name);
	assert(cluster_ref && cluster_ref->wants > 0);
	cluster_ref->wants--;
	lock_release(&service->lock);
}

/* Takes the lock, which the caller releases whatever the answer is. */
static struct observed_cluster *lock_place(struct observer *service, struct span name)
{
	lock_take(&service->lock);
	return map_get(&service->cluster_refs, name);
}

bool observe_is_complete(struct observer *service, struct span name)
{
	const struct observed_cluster *cluster_ref = lock_place(service, name);
	bool complete = cluster_ref && cluster_ref->complete;

	lock_release(&service->lock);
	return complete;
}

uint64_t observe_resource_version(struct observer *service, struct span name)
{
	if (!cluster_ref_is_remote(name)) {
		_view_ struct store_view *view = store_view_open(service->config.store);

		return store_view_revision(view);
	}
	/* A listing that begins at this millisecond or later begins after now. */
	return (uint64_t)(runner_now_us(service->runner) / 1000) + 1;
}

uint64_t observe_seen(struct observer *service, struct span name)
{
	struct observed_cluster *cluster_ref = lock_place(service, name);
	uint64_t seen = cluster_ref && is_own(cluster_ref) ? reached(service, cluster_ref) : 0;

	lock_release(&service->lock);
	return seen;
}

bool observe_reaches(struct observer *service, struct span name, uint64_t resource_version)
{
	return observe_reaches_for(service, name, SPAN(""), SPAN(""), resource_version);
}

bool observe_reaches_for(struct observer *service, struct span name, struct span instance,
	struct span group, uint64_t resource_version)
{
	_buffer_ struct buffer which = {0};
	struct observed_cluster *cluster_ref = lock_place(service, name);
	bool reaches = cluster_ref && cluster_ref->complete &&
		       reached(service, cluster_ref) >= resource_version;
	bool wait = cluster_ref && !reaches, first = false;

	if (wait)
		buffer_format(&which, "%.*s %.*s", SPAN_ARGS(group), SPAN_ARGS(instance));
	if (wait &&
		(uintptr_t)map_get(&cluster_ref->waiting, buffer_span(&which)) < resource_version) {
		map_put(&cluster_ref->waiting, buffer_span(&which),
			(void *)(uintptr_t)resource_version);
		first = true;
	}
	lock_release(&service->lock);
	/* The feed may have been at rest: nothing that concerns it has happened. */
	if (wait && !cluster_ref_is_remote(name))
		source_own_wake(service->own);
	else if (first)
		runner_signal(service->wanted);
	return reaches;
}

bool observed_cluster_is_late(const struct observed_cluster *cluster_ref, int64_t since_us,
	int64_t now_us)
{
	return !cluster_ref->remote ||
	       now_us - since_us > STALE_PERIODS * source_remote_period_us(cluster_ref->remote) +
					   STALE_LISTINGS * cluster_ref->took_us;
}

/* The replica of a remote cluster is older than it should be. */
static bool is_stale(const struct observed_cluster *cluster_ref, int64_t now_us)
{
	return !cluster_ref->complete ||
	       observed_cluster_is_late(cluster_ref, cluster_ref->listed_us, now_us);
}

bool observe_get_info(struct observer *service, struct span name, struct observe_info *ret_info)
{
	const struct observed_cluster *cluster_ref = lock_place(service, name);
	int64_t now_us = runner_now_us(service->runner);

	if (cluster_ref) {
		*ret_info = (struct observe_info){.complete = cluster_ref->complete,
			.instances = replica_instance_count(cluster_ref->replica),
			.tasks = replica_task_count(cluster_ref->replica),
			.listings = cluster_ref->listings,
			.observed_ms = cluster_ref->listed_ms};
		if (cluster_ref->complete && is_own(cluster_ref))
			ret_info->observed_ms = runner_wall_ms(service->runner);
		else
			ret_info->stale = is_stale(cluster_ref, now_us);
		memcpy(ret_info->error, cluster_ref->error, sizeof(ret_info->error));
	}
	lock_release(&service->lock);
	return cluster_ref;
}

size_t observe_list_clusters(struct observer *service, struct arena *arena,
	struct span **ret_cluster_refs)
{
	size_t count = 0;

	lock_take(&service->lock);
	*ret_cluster_refs = arena_allocate_array(arena, service->cluster_refs.count + 1,
		sizeof(**ret_cluster_refs));
	MAP_EACH (&service->cluster_refs, entry)
		if (((const struct observed_cluster *)entry->value)->watched)
			(*ret_cluster_refs)[count++] = arena_copy_span(arena, entry->key);
	lock_release(&service->lock);
	return count;
}

/* ---- reading ---- */

void observed_cluster_settle_health(const struct observed_cluster *cluster_ref,
	struct observe_task *task)
{
	if (task && cluster_ref->remote && task->health == OBSERVE_HEALTH_UNKNOWN)
		task->health = source_remote_health(cluster_ref->remote, task->task_definition);
}

static struct observe_instance *settle(const struct observed_cluster *cluster_ref,
	struct observe_instance *instance)
{
	for (size_t i = 0; instance && i < instance->task_count; i++)
		observed_cluster_settle_health(cluster_ref,
			(struct observe_task *)&instance->tasks[i]);
	return instance;
}

struct observe_instance *observe_get_instance(struct observer *service, struct span name,
	struct span id, struct arena *arena)
{
	const struct observed_cluster *cluster_ref = lock_place(service, name);
	struct observe_instance *instance =
		cluster_ref
			? settle(cluster_ref, replica_get_instance(cluster_ref->replica, id, arena))
			: NULL;

	lock_release(&service->lock);
	return instance;
}

struct observe_instance *observe_get_instance_for(struct observer *service, struct span name,
	struct span id, struct span group, struct arena *arena)
{
	const struct observed_cluster *cluster_ref = lock_place(service, name);
	struct observe_instance *instance =
		cluster_ref ? settle(cluster_ref, replica_get_instance_for(cluster_ref->replica, id,
							  group, arena))
			    : NULL;

	lock_release(&service->lock);
	return instance;
}

size_t observe_list_instances(struct observer *service, struct span name, struct arena *arena,
	struct span **ret_ids)
{
	const struct observed_cluster *cluster_ref = lock_place(service, name);
	size_t count = 0;

	if (cluster_ref)
		count = replica_list(cluster_ref->replica, arena, ret_ids);
	else
		*ret_ids = NULL;
	lock_release(&service->lock);
	return count;
}

struct observe_task *observe_get_task(struct observer *service, struct span name, struct span arn,
	struct arena *arena)
{
	const struct observed_cluster *cluster_ref = lock_place(service, name);
	struct observe_task *task =
		cluster_ref ? replica_get_task(cluster_ref->replica, arn, arena) : NULL;

	observed_cluster_settle_health(cluster_ref, task);
	lock_release(&service->lock);
	return task;
}

struct observe_task *observe_last_stopped(struct observer *service, struct span name,
	struct span instance, struct span group, struct arena *arena)
{
	const struct observed_cluster *cluster_ref = lock_place(service, name);
	struct observe_task *task =
		cluster_ref ? replica_last_stopped(cluster_ref->replica, instance, group, arena)
			    : NULL;

	observed_cluster_settle_health(cluster_ref, task);
	lock_release(&service->lock);
	return task;
}

/* ---- selecting ---- */

size_t observe_select_instances(struct observer *service, struct span name,
	const struct observe_instance_query *query, struct span after, size_t most,
	struct arena *arena, struct observe_instance **ret_instances)
{
	struct observe_instance *instances =
		arena_allocate_array(arena, most + 1, sizeof(*instances));
	size_t count = 0, filled = 0;

	do {
		const struct observed_cluster *cluster_ref = lock_place(service, name);

		if (cluster_ref)
			filled += replica_select_instances(cluster_ref->replica, query, &after,
				most - filled, arena, instances + filled);
		for (; count < filled; count++)
			settle(cluster_ref, &instances[count]);
		lock_release(&service->lock);
		if (!cluster_ref)
			break;
	} while (after.data);
	*ret_instances = instances;
	return count;
}

size_t observe_select_tasks(struct observer *service, struct span name,
	const struct observe_task_query *query, struct span after, size_t most, struct arena *arena,
	struct observe_task **ret_tasks)
{
	struct observe_task *tasks = arena_allocate_array(arena, most + 1, sizeof(*tasks));
	size_t count = 0, filled = 0;

	do {
		const struct observed_cluster *cluster_ref = lock_place(service, name);

		if (cluster_ref)
			filled += replica_select_tasks(cluster_ref->replica, query, &after,
				most - filled, arena, tasks + filled);
		for (; count < filled; count++)
			observed_cluster_settle_health(cluster_ref, &tasks[count]);
		lock_release(&service->lock);
		if (!cluster_ref)
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
	MAP_EACH (&service->cluster_refs, entry)
		cluster_ref_free(entry->value);
	map_clear(&service->cluster_refs);
	source_own_free(service->own);
	relay_free(service->relay);
	runner_event_free(service->wanted);
	runner_free(service->runner);
	lock_destroy(&service->lock);
	lock_destroy(&service->cursors_lock);
	free(service);
}
