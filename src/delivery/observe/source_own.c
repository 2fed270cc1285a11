/*
 * The source for clusters of this server: one thread follows the store's change feed for all of them. A cluster is listed
 * from a view, which includes the changes up to its revision. When the feed has lost changes, all clusters are listed
 * again, and the feed continues where that view ends.
 *
 * Revisions are versions here. A change of a cluster that is not wanted costs one lookup. The same feed brings events that
 * were posted to other servers (relay.c).
 */
#include "delivery/observe/source_own.h"
#include "aws/key.h"
#include "base/memory.h"
#include "delivery/observe/document.h"
#include "delivery/observe/observe_internal.h"
#include "ecs/record/container_instance.h"
#include "ecs/record/task.h"

#define CHANGES_AT_ONCE 64
#define LISTED_AT_ONCE 256        /* objects, while the lock is held */
#define RETRY_US INT64_C(1000000) /* until a feed that could not be opened is tried again */
#define AWAIT_US INT64_C(1000)    /* views show a change a little before the feed has it */

static const struct store_kind *const watched[] = {
	&container_instance_kind, &task_kind, &observe_event_kind};

/* Objects that a listing reads, in this order. Tasks that have stopped come in the order of their ends, so that the replica
 * has each of them at the front of its line, and drops the oldest if there are too many. */
static const struct pass {
	const struct store_kind *kind;
	int index;
} passes[] = {{&container_instance_kind, -1}, {&task_kind, -1}, {&task_kind, TASK_BY_STOPPED}};

struct source_own {
	struct observer *service;
	struct runner_event *changed;
	/* Guarded by the service's lock: */
	uint64_t position; /* changes up to here were reported */
	/* Of the thread alone: */
	struct store_feed *feed;
	struct arena *arena;
};

/* ---- clusters of this server ---- */

static int follow_cluster(struct observer *service, struct observed_cluster *cluster,
	struct err *err)
{
	(void)cluster, (void)err;
	runner_signal(service->own->changed);
	return 0;
}

static uint64_t resource_version(const struct observer *service)
{
	_view_ struct store_view *view = store_view_open(service->config.store);

	return store_view_revision(view);
}

static uint64_t position(const struct observer *service)
{
	return service->own->position;
}

/* The feed may have been at rest: nothing that concerns the cluster has happened. */
static void wait_for(struct observer *service, bool first)
{
	(void)first;
	runner_signal(service->own->changed);
}

static int64_t observed_ms(const struct observer *service, const struct observed_cluster *cluster)
{
	(void)cluster;
	return runner_wall_ms(service->runner);
}

static bool is_late(const struct observed_cluster *cluster, int64_t since_us, int64_t now_us)
{
	(void)cluster, (void)since_us, (void)now_us;
	return false;
}

static enum observe_health unknown_health(const struct observed_cluster *cluster,
	struct span task_definition)
{
	(void)cluster, (void)task_definition;
	return OBSERVE_HEALTH_UNKNOWN;
}

const struct observed_cluster_operations source_own_operations = {
	.versions_are_revisions = true,
	.tombstones_max = 1000, /* changes come in order: nothing old ever comes */
	.follow = follow_cluster,
	.resource_version = resource_version,
	.position = position,
	.wait = wait_for,
	.observed_ms = observed_ms,
	.is_late = is_late,
	.unknown_health = unknown_health,
};

static void wake(void *context)
{
	runner_signal(context);
}

/* ---- reading objects ---- */

struct observe_instance source_own_instance(const struct store_object *object, struct arena *arena)
{
	const struct container_instance_facts *facts = container_instance_facts(object);
	struct observe_instance instance = {.id = facts->id,
		.arn = ecs_arn_of_key(arena, "container-instance", object->key),
		.host = facts->ec2_instance_id,
		.status = OBSERVE_INSTANCE_OTHER,
		.connected = facts->connected,
		.attributes = facts->attributes,
		.version = object->revision};

	if (facts->status == CONTAINER_INSTANCE_DRAINING)
		instance.status = OBSERVE_INSTANCE_DRAINING;
	else if (facts->status == CONTAINER_INSTANCE_ACTIVE && !facts->left)
		instance.status = OBSERVE_INSTANCE_ACTIVE;
	return instance;
}

static enum observe_task_status status_of(enum task_status status)
{
	static const enum observe_task_status statuses[TASK_STATUS_COUNT] = {
		[TASK_PROVISIONING] = OBSERVE_TASK_PROVISIONING,
		[TASK_PENDING] = OBSERVE_TASK_PENDING,
		[TASK_ACTIVATING] = OBSERVE_TASK_ACTIVATING,
		[TASK_RUNNING] = OBSERVE_TASK_RUNNING,
		[TASK_DEACTIVATING] = OBSERVE_TASK_DEACTIVATING,
		[TASK_STOPPING] = OBSERVE_TASK_STOPPING,
		[TASK_DEPROVISIONING] = OBSERVE_TASK_DEPROVISIONING,
		[TASK_STOPPED] = OBSERVE_TASK_STOPPED,
		[TASK_DELETED] = OBSERVE_TASK_STOPPED,
	};

	return statuses[status];
}

static enum observe_health health_of(const struct task_facts *facts)
{
	static const enum observe_health healths[TASK_HEALTH_COUNT] = {
		[TASK_HEALTH_UNKNOWN] = OBSERVE_HEALTH_UNKNOWN,
		[TASK_HEALTH_HEALTHY] = OBSERVE_HEALTHY,
		[TASK_HEALTH_UNHEALTHY] = OBSERVE_UNHEALTHY,
	};

	return facts->checked ? healths[facts->health] : OBSERVE_HEALTH_NONE;
}

static struct span definition_arn(const struct store_object *object, struct arena *arena)
{
	const struct task_facts *facts = task_facts(object);
	struct span key = object->key, name = aws_name_of_key(key);

	return ecs_arn_of_key(arena, "task-definition",
		arena_format(arena, "%.*s%.*s:%lld", (int)(name.data - key.data), key.data,
			SPAN_ARGS(facts->family), (long long)facts->revision));
}

/* Why it stopped stands in its document only. */
static void read_end(const struct store_object *object, struct arena *arena,
	struct observe_task *task)
{
	struct json *document;
	struct span code, reason;

	if (json_parse(object->api, arena, &document, NULL) < 0)
		return;
	code = json_get_text(document, "stopCode");
	reason = json_get_text(document, "stoppedReason");
	task->stop_code = code.data ? code : SPAN("");
	task->stopped_reason = reason.data ? reason : SPAN("");
	observe_document_exit(document, task);
}

struct observe_task source_own_task(const struct store_object *object, struct arena *arena)
{
	const struct task_facts *facts = task_facts(object);
	struct observe_task task = {.arn = ecs_arn_of_key(arena, "task", object->key),
		.instance = facts->instance,
		.group = facts->group,
		.started_by = facts->started_by,
		.task_definition = definition_arn(object, arena),
		.last = status_of(facts->last),
		.wanted = facts->desired == TASK_RUNNING,
		.health = health_of(facts),
		.created_ms = facts->created_ms,
		.started_ms = facts->started_ms,
		.stopped_ms = facts->stopped_ms,
		.stop_code = SPAN(""),
		.stopped_reason = SPAN(""),
		.version = object->revision};

	if (task.last == OBSERVE_TASK_STOPPED)
		read_end(object, arena, &task);
	return task;
}

/* ---- listing ---- */

/* One listing of a cluster. */
struct listing {
	struct source_own *own;
	struct observed_cluster *cluster;
	struct store_view *view;
	struct observe_changes updates;
};

static void list_object(struct listing *listing, const struct store_object *object, bool in_order,
	struct moment now)
{
	struct replica *replica = listing->cluster->replica;
	struct arena *arena = listing->own->arena;

	if (object->kind == &task_kind) {
		if (!in_order && status_of(task_facts(object)->last) == OBSERVE_TASK_STOPPED)
			return; /* its turn comes */
		struct observe_task task = source_own_task(object, arena);

		if (replica_list_task(replica, &task, now))
			observe_changes_add_task(&listing->updates, listing->cluster, task.instance,
				task.group);
	} else {
		struct observe_instance instance = source_own_instance(object, arena);

		if (replica_list_instance(replica, &instance, now))
			observe_changes_add(&listing->updates, listing->cluster, instance.id);
	}
}

/* Some objects; false when there are no more. */
static bool list_some(struct listing *listing, struct store_cursor *cursor)
{
	struct observer *service = listing->own->service;
	struct moment now = runner_moment(service->runner);
	const struct store_object *object = NULL;

	lock_take(&service->lock);
	for (size_t i = 0; i < LISTED_AT_ONCE && (object = store_next(cursor)); i++)
		list_object(listing, object, cursor->index >= 0, now);
	lock_release(&service->lock);
	observe_changes_deliver(service, &listing->updates);
	arena_reset(listing->own->arena);
	return object;
}

static int list_pass(struct listing *listing, const struct pass *pass, struct span prefix)
{
	struct store_cursor cursor = {
		.view = listing->view, .kind = pass->kind, .index = pass->index, .prefix = prefix};

	while (list_some(listing, &cursor))
		if (runner_yield(listing->own->service->runner) < 0)
			return -ECANCELED;
	return 0;
}

static void note_removed(void *context, struct span instance)
{
	struct listing *listing = context;

	observe_changes_add(&listing->updates, listing->cluster, instance);
}

static void end_listing(struct listing *listing)
{
	struct observer *service = listing->own->service;
	uint64_t revision = store_view_revision(listing->view);
	struct moment now = runner_moment(service->runner);

	lock_take(&service->lock);
	replica_list_end(listing->cluster->replica, revision, now, note_removed, listing);
	observed_cluster_listed(service, listing->cluster, revision, now.wall_ms,
		runner_now_us(service->runner), &listing->updates);
	lock_release(&service->lock);
	observe_changes_deliver(service, &listing->updates);
	arena_reset(listing->own->arena);
}

static int list_cluster(struct source_own *own, struct observed_cluster *cluster,
	struct store_view *view)
{
	struct listing listing = {.own = own, .cluster = cluster, .view = view};
	_arena_ struct arena *arena = arena_new(0);
	struct span prefix = arena_format(arena, "%.*s/", SPAN_ARGS(cluster->ref.scope));
	int code = 0;

	observe_changes_init(&listing.updates, own->arena);
	lock_take(&own->service->lock);
	replica_list_begin(cluster->replica);
	lock_release(&own->service->lock);
	for (size_t i = 0; i < LENGTH(passes) && code == 0; i++)
		code = list_pass(&listing, &passes[i], prefix);
	if (code == 0) {
		end_listing(&listing);
		return 0;
	}
	lock_take(&own->service->lock);
	replica_list_abort(cluster->replica);
	lock_release(&own->service->lock);
	return code;
}

/* The next cluster of this server, at or after *position; `fresh`: of those that were never listed. */
static struct observed_cluster *next_cluster(struct source_own *own, size_t *position, bool fresh)
{
	struct observed_cluster *cluster = NULL;
	struct map_entry *entry;

	lock_take(&own->service->lock);
	while (!cluster && (entry = map_next(&own->service->clusters, position))) {
		cluster = entry->value;
		if (cluster_ref_is_remote(cluster->ref) || (fresh && cluster->complete))
			cluster = NULL;
	}
	lock_release(&own->service->lock);
	return cluster;
}

static int list_clusters(struct source_own *own, struct store_view *view, bool fresh)
{
	struct observed_cluster *cluster;
	size_t position = 0;
	int code = 0;

	while (code == 0 && (cluster = next_cluster(own, &position, fresh)))
		code = list_cluster(own, cluster, view);
	return code;
}

static int list_fresh_clusters(struct source_own *own)
{
	size_t position = 0;

	if (!next_cluster(own, &position, true))
		return 0;
	_view_ struct store_view *view = store_view_open(own->service->config.store);

	return list_clusters(own, view, true);
}

/* ---- following ---- */

static void note_position(struct source_own *own, uint64_t position)
{
	lock_take(&own->service->lock);
	if (position > own->position)
		own->position = position;
	lock_release(&own->service->lock);
}

/* Lists everything and follows from there on. */
static int open_feed(struct source_own *own)
{
	_view_ struct store_view *view = store_view_open(own->service->config.store);
	uint64_t revision = store_view_revision(view);
	int code = list_clusters(own, view, false);

	if (code == 0)
		code = store_feed_open(own->service->config.store, revision, wake, own->changed,
			&own->feed, NULL);
	if (code < 0)
		return code;
	store_feed_narrow(own->feed, watched, LENGTH(watched));
	note_position(own, revision);
	return 0;
}

static struct observed_cluster *find_cluster(struct source_own *own, struct span key)
{
	return map_get(&own->service->clusters,
		cluster_ref_of_key(own->arena, task_cluster_key(key)).text);
}

static void apply_instance(struct source_own *own, struct observed_cluster *cluster,
	const struct store_change *change, struct observe_changes *updates, struct moment now)
{
	const struct store_object *object = change->after ? change->after : change->before;
	struct observe_instance instance = source_own_instance(object, own->arena);

	if (change->after ? replica_put_instance(cluster->replica, &instance, now)
			  : replica_remove_instance(cluster->replica, instance.id, change->revision,
				    now))
		observe_changes_add(updates, cluster, instance.id);
}

static void apply_task(struct source_own *own, struct observed_cluster *cluster,
	const struct store_change *change, struct observe_changes *updates, struct moment now)
{
	const struct store_object *object = change->after ? change->after : change->before;
	struct observe_task task = source_own_task(object, own->arena);

	if (change->after ? replica_put_task(cluster->replica, &task, now)
			  : replica_remove_task(cluster->replica, task.arn, change->revision, now,
				    NULL, NULL))
		observe_changes_add_task(updates, cluster, task.instance, task.group);
	/* Its runtime has chosen another instance for it. */
	if (change->after && change->before &&
		!span_equal(task_facts(change->before)->instance, task.instance))
		observe_changes_add_task(updates, cluster, task_facts(change->before)->instance,
			task.group);
}

static void apply(struct source_own *own, const struct store_change *change,
	struct observe_changes *updates, struct moment now)
{
	struct observed_cluster *cluster;

	if (change->kind != &task_kind && change->kind != &container_instance_kind)
		return;
	cluster = find_cluster(own, change->after ? change->after->key : change->before->key);
	/* One that was not listed yet will be, from a later view than this change. */
	if (!cluster || !cluster->complete || change->revision <= cluster->resource_version)
		return;
	if (change->kind == &task_kind)
		apply_task(own, cluster, change, updates, now);
	else
		apply_instance(own, cluster, change, updates, now);
}

static uint64_t store_revision(struct source_own *own)
{
	_view_ struct store_view *view = store_view_open(own->service->config.store);

	return store_view_revision(view);
}

static bool someone_waits(const struct observed_cluster *cluster, uint64_t revision)
{
	MAP_EACH (&cluster->waiting, entry)
		if ((uintptr_t)entry->value <= revision)
			return true;
	return false;
}

/* True if a consumer still waits for a resource version that the store has reached. */
static bool notify_waiters(struct source_own *own, struct observe_changes *updates)
{
	struct observer *service = own->service;
	uint64_t revision = store_revision(own);
	bool waits = false;

	lock_take(&service->lock);
	MAP_EACH (&service->clusters, entry) {
		struct observed_cluster *cluster = entry->value;

		if (cluster_ref_is_remote(cluster->ref))
			continue;
		observed_cluster_advanced(service, cluster, updates);
		waits = waits || someone_waits(cluster, revision);
	}
	lock_release(&service->lock);
	observe_changes_deliver(service, updates);
	return waits;
}

/* Events of remote clusters from other servers. */
static void take_events(struct source_own *own, const struct store_change *changes, int count)
{
	for (int i = 0; i < count; i++)
		if (changes[i].kind == &observe_event_kind && changes[i].after)
			relay_take(own->service, changes[i].after);
}

static int drain_feed(struct source_own *own)
{
	struct observer *service = own->service;
	struct store_change changes[CHANGES_AT_ONCE];
	struct observe_changes updates;
	int count;

	observe_changes_init(&updates, own->arena);
	while ((count = store_feed_next(own->feed, changes, LENGTH(changes))) > 0) {
		struct moment now = runner_moment(service->runner);

		lock_take(&service->lock);
		for (int i = 0; i < count; i++)
			apply(own, &changes[i], &updates, now);
		own->position = changes[count - 1].revision;
		lock_release(&service->lock);
		take_events(own, changes, count);
		for (int i = 0; i < count; i++)
			store_change_release(&changes[i]);
		observe_changes_deliver(service, &updates);
		arena_reset(own->arena);
		/* A feed that never runs dry must not keep us from stopping, nor others from being listed. */
		if (runner_yield(service->runner) < 0)
			return -ECANCELED;
		if (list_fresh_clusters(own) < 0)
			return -ECANCELED;
	}
	return count;
}

static int catch_up(struct source_own *own, bool *ret_waits)
{
	struct observe_changes updates;
	int code = own->feed ? list_fresh_clusters(own) : open_feed(own);

	if (code == 0)
		code = drain_feed(own);
	if (code < 0)
		return code;
	observe_changes_init(&updates, own->arena);
	*ret_waits = notify_waiters(own, &updates);
	arena_reset(own->arena);
	return 0;
}

static void follow(void *context)
{
	struct source_own *own = context;
	struct runner *runner = own->service->runner;

	for (;;) {
		uint64_t seen = runner_event_count(own->changed);
		int64_t until_us = RUNNER_FOREVER;
		bool waits = false;
		int code = runner_yield(runner);

		if (code == 0)
			code = catch_up(own, &waits);
		if (code == -ECANCELED)
			break;
		if (code == -EOVERFLOW) {
			store_feed_close(own->feed);
			own->feed = NULL;
			runner_trace(runner, "state: feed overflow");
			continue;
		}
		if (code < 0)
			until_us = runner_deadline_us(runner, RETRY_US);
		else if (waits)
			until_us = runner_deadline_us(runner, AWAIT_US);
		if (runner_wait(runner, own->changed, seen, until_us) == -ECANCELED)
			break;
	}
	store_feed_close(own->feed);
	own->feed = NULL;
}

int source_own_new(struct observer *service, struct source_own **ret_own, struct err *err)
{
	struct source_own *own = memory_allocate(sizeof(*own));
	int code;

	own->service = service;
	own->arena = arena_new(0);
	own->changed = runner_event_new(service->runner, "own clusters");
	code = runner_spawn(service->runner, "own clusters", follow, own, err);
	if (code < 0) {
		source_own_free(own);
		return code;
	}
	*ret_own = own;
	return 0;
}

void source_own_free(struct source_own *own)
{
	if (!own)
		return;
	runner_event_free(own->changed);
	arena_free(own->arena);
	free(own);
}
