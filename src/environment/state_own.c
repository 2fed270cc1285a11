/*
 * The source for clusters of this server: one strand follows the store's change feed for all of them. A place is
 * listed from a view; changes up to that view's revision are not for it any more. When the feed has lost
 * something, all places are listed again, and the feed begins where that view ends.
 *
 * Revisions are versions here. A change of a cluster that nobody watches costs one lookup. The same feed brings
 * events that were posted to other servers (state_relay.c).
 */
#include "aws/key.h"
#include "base/memory.h"
#include "ecs/record/container_instance.h"
#include "ecs/record/task.h"
#include "environment/kinds.h"
#include "environment/state_document.h"
#include "environment/state_internal.h"

#define CHANGES_AT_ONCE 64
#define LISTED_AT_ONCE 256        /* objects, while the lock is held */
#define RETRY_US INT64_C(1000000) /* until a feed that could not be opened is tried again */
#define AWAIT_US INT64_C(1000)    /* views show a change a little before the feed has it */

static const struct store_kind *const watched[] = {
	&container_instance_kind, &task_kind, &environment_event_kind};

/* What a listing reads, in this order. Tasks that have stopped come in the order of their ends, so that the replica
 * has each of them at the front of its line, and drops the oldest if there are too many. */
static const struct pass {
	const struct store_kind *kind;
	int index;
} passes[] = {{&container_instance_kind, -1}, {&task_kind, -1}, {&task_kind, TASK_BY_STOPPED}};

struct state_own {
	struct state_service *service;
	struct runner_event *changed;
	/* Guarded by the service's lock: */
	uint64_t position; /* changes up to here were told */
	/* The strand's own: */
	struct store_feed *feed;
	struct arena *arena;
};

uint64_t state_own_position(const struct state_own *own)
{
	return own->position;
}

void state_own_wake(struct state_own *own)
{
	runner_signal(own->changed);
}

static void wake(void *context)
{
	runner_signal(context);
}

/* ---- what objects say ---- */

struct state_instance state_own_instance(const struct store_object *object, struct arena *arena)
{
	const struct container_instance_facts *facts = container_instance_facts(object);
	struct state_instance instance = {.id = facts->id,
		.arn = ecs_arn_of_key(arena, "container-instance", object->key),
		.host = facts->ec2_instance_id,
		.status = STATE_INSTANCE_OTHER,
		.connected = facts->connected,
		.attributes = facts->attributes,
		.version = object->revision};

	if (facts->status == CONTAINER_INSTANCE_DRAINING)
		instance.status = STATE_INSTANCE_DRAINING;
	else if (facts->status == CONTAINER_INSTANCE_ACTIVE && !facts->left)
		instance.status = STATE_INSTANCE_ACTIVE;
	return instance;
}

static enum state_task_status status_of(enum task_status status)
{
	static const enum state_task_status statuses[TASK_STATUS_COUNT] = {
		[TASK_PROVISIONING] = STATE_TASK_PROVISIONING,
		[TASK_PENDING] = STATE_TASK_PENDING,
		[TASK_ACTIVATING] = STATE_TASK_ACTIVATING,
		[TASK_RUNNING] = STATE_TASK_RUNNING,
		[TASK_DEACTIVATING] = STATE_TASK_DEACTIVATING,
		[TASK_STOPPING] = STATE_TASK_STOPPING,
		[TASK_DEPROVISIONING] = STATE_TASK_DEPROVISIONING,
		[TASK_STOPPED] = STATE_TASK_STOPPED,
		[TASK_DELETED] = STATE_TASK_STOPPED,
	};

	return statuses[status];
}

static enum state_health health_of(const struct task_facts *facts)
{
	static const enum state_health healths[TASK_HEALTH_COUNT] = {
		[TASK_HEALTH_UNKNOWN] = STATE_HEALTH_UNKNOWN,
		[TASK_HEALTH_HEALTHY] = STATE_HEALTHY,
		[TASK_HEALTH_UNHEALTHY] = STATE_UNHEALTHY,
	};

	return facts->checked ? healths[facts->health] : STATE_HEALTH_NONE;
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
	struct state_task *task)
{
	struct json *document;
	struct span code, reason;

	if (json_parse(object->api, arena, &document, NULL) < 0)
		return;
	code = json_get_text(document, "stopCode");
	reason = json_get_text(document, "stoppedReason");
	task->stop_code = code.data ? code : SPAN("");
	task->stopped_reason = reason.data ? reason : SPAN("");
	state_document_exit(document, task);
}

struct state_task state_own_task(const struct store_object *object, struct arena *arena)
{
	const struct task_facts *facts = task_facts(object);
	struct state_task task = {.arn = ecs_arn_of_key(arena, "task", object->key),
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

	if (task.last == STATE_TASK_STOPPED)
		read_end(object, arena, &task);
	return task;
}

/* ---- listing ---- */

/* Where a place is listed from. */
struct listing {
	struct state_own *own;
	struct state_cluster *cluster_ref;
	struct store_view *view;
	struct state_changes updates;
};

static void list_object(struct listing *listing, const struct store_object *object, bool in_order,
	struct moment now)
{
	struct cluster_state *replica = listing->cluster_ref->replica;
	struct arena *arena = listing->own->arena;

	if (object->kind == &task_kind) {
		if (!in_order && status_of(task_facts(object)->last) == STATE_TASK_STOPPED)
			return; /* its turn comes */
		struct state_task task = state_own_task(object, arena);

		if (cluster_state_list_task(replica, &task, now))
			state_changes_add_task(&listing->updates, listing->cluster_ref,
				task.instance, task.group);
	} else {
		struct state_instance instance = state_own_instance(object, arena);

		if (cluster_state_list_instance(replica, &instance, now))
			state_changes_add(&listing->updates, listing->cluster_ref, instance.id);
	}
}

/* Some objects; false when there are no more. */
static bool list_some(struct listing *listing, struct store_cursor *cursor)
{
	struct state_service *service = listing->own->service;
	struct moment now = runner_moment(service->runner);
	const struct store_object *object = NULL;

	lock_take(&service->lock);
	for (size_t i = 0; i < LISTED_AT_ONCE && (object = store_next(cursor)); i++)
		list_object(listing, object, cursor->index >= 0, now);
	lock_release(&service->lock);
	state_changes_deliver(service, &listing->updates);
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

	state_changes_add(&listing->updates, listing->cluster_ref, instance);
}

static void end_listing(struct listing *listing)
{
	struct state_service *service = listing->own->service;
	uint64_t revision = store_view_revision(listing->view);
	struct moment now = runner_moment(service->runner);

	lock_take(&service->lock);
	cluster_state_list_end(listing->cluster_ref->replica, revision, now, note_removed, listing);
	state_cluster_listed(service, listing->cluster_ref, revision, now.wall_ms,
		runner_now_us(service->runner), &listing->updates);
	lock_release(&service->lock);
	state_changes_deliver(service, &listing->updates);
	arena_reset(listing->own->arena);
}

static int list_cluster_ref(struct state_own *own, struct state_cluster *cluster_ref,
	struct store_view *view)
{
	struct listing listing = {.own = own, .cluster_ref = cluster_ref, .view = view};
	_arena_ struct arena *arena = arena_new(0);
	struct span prefix = arena_format(arena, "%.*s/", SPAN_ARGS(cluster_ref->scope));
	int code = 0;

	state_changes_init(&listing.updates, own->arena);
	lock_take(&own->service->lock);
	cluster_state_list_begin(cluster_ref->replica);
	lock_release(&own->service->lock);
	for (size_t i = 0; i < LENGTH(passes) && code == 0; i++)
		code = list_pass(&listing, &passes[i], prefix);
	if (code == 0) {
		end_listing(&listing);
		return 0;
	}
	lock_take(&own->service->lock);
	cluster_state_list_abort(cluster_ref->replica);
	lock_release(&own->service->lock);
	return code;
}

/* The next place of this server, at or after *position; `fresh`: of those that were never listed. */
static struct state_cluster *next_cluster_ref(struct state_own *own, size_t *position, bool fresh)
{
	struct state_cluster *cluster_ref = NULL;
	struct map_entry *entry;

	lock_take(&own->service->lock);
	while (!cluster_ref && (entry = map_next(&own->service->cluster_refs, position))) {
		cluster_ref = entry->value;
		if (cluster_ref->target.length > 0 || (fresh && cluster_ref->complete))
			cluster_ref = NULL;
	}
	lock_release(&own->service->lock);
	return cluster_ref;
}

static int list_cluster_refs(struct state_own *own, struct store_view *view, bool fresh)
{
	struct state_cluster *cluster_ref;
	size_t position = 0;
	int code = 0;

	while (code == 0 && (cluster_ref = next_cluster_ref(own, &position, fresh)))
		code = list_cluster_ref(own, cluster_ref, view);
	return code;
}

static int list_fresh_cluster_refs(struct state_own *own)
{
	size_t position = 0;

	if (!next_cluster_ref(own, &position, true))
		return 0;
	_view_ struct store_view *view = store_view_open(own->service->config.store);

	return list_cluster_refs(own, view, true);
}

/* ---- following ---- */

static void note_position(struct state_own *own, uint64_t position)
{
	lock_take(&own->service->lock);
	if (position > own->position)
		own->position = position;
	lock_release(&own->service->lock);
}

/* Lists everything and follows from there on. */
static int open_feed(struct state_own *own)
{
	_view_ struct store_view *view = store_view_open(own->service->config.store);
	uint64_t revision = store_view_revision(view);
	int code = list_cluster_refs(own, view, false);

	if (code == 0)
		code = store_feed_open(own->service->config.store, revision, wake, own->changed,
			&own->feed, NULL);
	if (code < 0)
		return code;
	store_feed_narrow(own->feed, watched, LENGTH(watched));
	note_position(own, revision);
	return 0;
}

static struct state_cluster *cluster_ref_of(struct state_own *own, struct span key)
{
	struct span scope = task_cluster_key(key);
	char name[STORE_KEY_MAX + 1];

	name[0] = ':';
	memcpy(name + 1, scope.data, scope.length);
	return map_get(&own->service->cluster_refs, (struct span){name, scope.length + 1});
}

static void apply_instance(struct state_own *own, struct state_cluster *cluster_ref,
	const struct store_change *change, struct state_changes *updates, struct moment now)
{
	const struct store_object *object = change->after ? change->after : change->before;
	struct state_instance instance = state_own_instance(object, own->arena);

	if (change->after ? cluster_state_put_instance(cluster_ref->replica, &instance, now)
			  : cluster_state_remove_instance(cluster_ref->replica, instance.id,
				    change->revision, now))
		state_changes_add(updates, cluster_ref, instance.id);
}

static void apply_task(struct state_own *own, struct state_cluster *cluster_ref,
	const struct store_change *change, struct state_changes *updates, struct moment now)
{
	const struct store_object *object = change->after ? change->after : change->before;
	struct state_task task = state_own_task(object, own->arena);

	if (change->after ? cluster_state_put_task(cluster_ref->replica, &task, now)
			  : cluster_state_remove_task(cluster_ref->replica, task.arn,
				    change->revision, now, NULL, NULL))
		state_changes_add_task(updates, cluster_ref, task.instance, task.group);
	/* Its runtime has chosen another instance for it. */
	if (change->after && change->before &&
		!span_equal(task_facts(change->before)->instance, task.instance))
		state_changes_add_task(updates, cluster_ref, task_facts(change->before)->instance,
			task.group);
}

static void apply(struct state_own *own, const struct store_change *change,
	struct state_changes *updates, struct moment now)
{
	struct state_cluster *cluster_ref;

	if (change->kind != &task_kind && change->kind != &container_instance_kind)
		return;
	cluster_ref = cluster_ref_of(own, change->after ? change->after->key : change->before->key);
	/* One that was not listed yet will be, from a later view than this change. */
	if (!cluster_ref || !cluster_ref->complete ||
		change->revision <= cluster_ref->resource_version)
		return;
	if (change->kind == &task_kind)
		apply_task(own, cluster_ref, change, updates, now);
	else
		apply_instance(own, cluster_ref, change, updates, now);
}

static uint64_t store_revision(struct state_own *own)
{
	_view_ struct store_view *view = store_view_open(own->service->config.store);

	return store_view_revision(view);
}

static bool someone_waits(const struct state_cluster *cluster_ref, uint64_t revision)
{
	MAP_EACH (&cluster_ref->waiting, entry)
		if ((uintptr_t)entry->value <= revision)
			return true;
	return false;
}

/* True if somebody still waits for a mark that the store has reached. */
static bool notify_waiters(struct state_own *own, struct state_changes *updates)
{
	struct state_service *service = own->service;
	uint64_t revision = store_revision(own);
	bool waits = false;

	lock_take(&service->lock);
	MAP_EACH (&service->cluster_refs, entry) {
		struct state_cluster *cluster_ref = entry->value;

		if (cluster_ref->target.length > 0)
			continue;
		state_cluster_advanced(service, cluster_ref, updates);
		waits = waits || someone_waits(cluster_ref, revision);
	}
	lock_release(&service->lock);
	state_changes_deliver(service, updates);
	return waits;
}

/* What is told here of clusters elsewhere. */
static void take_events(struct state_own *own, const struct store_change *changes, int count)
{
	for (int i = 0; i < count; i++)
		if (changes[i].kind == &environment_event_kind && changes[i].after)
			state_relay_take(own->service, changes[i].after);
}

static int drain_feed(struct state_own *own)
{
	struct state_service *service = own->service;
	struct store_change changes[CHANGES_AT_ONCE];
	struct state_changes updates;
	int count;

	state_changes_init(&updates, own->arena);
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
		state_changes_deliver(service, &updates);
		arena_reset(own->arena);
		/* A feed that never runs dry must not keep us from stopping, nor others from being listed. */
		if (runner_yield(service->runner) < 0)
			return -ECANCELED;
		if (list_fresh_cluster_refs(own) < 0)
			return -ECANCELED;
	}
	return count;
}

static int catch_up(struct state_own *own, bool *ret_waits)
{
	struct state_changes updates;
	int code = own->feed ? list_fresh_cluster_refs(own) : open_feed(own);

	if (code == 0)
		code = drain_feed(own);
	if (code < 0)
		return code;
	state_changes_init(&updates, own->arena);
	*ret_waits = notify_waiters(own, &updates);
	arena_reset(own->arena);
	return 0;
}

static void follow(void *context)
{
	struct state_own *own = context;
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

int state_own_new(struct state_service *service, struct state_own **ret_own, struct err *err)
{
	struct state_own *own = memory_allocate(sizeof(*own));
	int code;

	own->service = service;
	own->arena = arena_new(0);
	own->changed = runner_event_new(service->runner, "own clusters");
	code = runner_spawn(service->runner, "own clusters", follow, own, err);
	if (code < 0) {
		state_own_free(own);
		return code;
	}
	*ret_own = own;
	return 0;
}

void state_own_free(struct state_own *own)
{
	if (!own)
		return;
	runner_event_free(own->changed);
	arena_free(own->arena);
	free(own);
}
