/*
 * One thread lists, watches and calls handlers; others only read the cache. The thread alone uses
 * its version, backoff and generation. The lock protects the cache, the counts and the two requests
 * (stop, list again); it is held for a few lines at a time and never while a handler runs.
 *
 * Generations. Every list begins a new generation and marks its objects with it. When the list is
 * complete, objects with an older generation no longer exist. A list that fails leaves its marks
 * and removes nothing.
 */
#include "kube/informer.h"

#include <assert.h>
#include <stdatomic.h>

#include "base/lock.h"
#include "base/memory.h"
#include "kube/cache.h"
#include "kube/list.h"
#include "kube/request.h"

/* A watch that ends sooner without having said anything counts as a failure: the next waits. */
#define WATCH_SHORT_US INT64_C(1000000)
/* A watch that is refused so often in a row is not retried before another list: a list
 * works even if the server rejects our version. */
#define WATCH_REFUSALS_MAX 5

struct kube_informer {
	struct kube_informer_config config;
	struct runner *group;
	struct runner_event *wake; /* the thread: a wish was made */
	struct runner_event *synced_event;
	struct http_client_cancel cancel; /* of what runs now */

	/* The thread's. */
	char version[KUBE_RESOURCE_VERSION_SIZE]; /* every change up to it was reported */
	uint64_t generation;
	int64_t list_backoff_ms, watch_backoff_ms; /* 0: nothing failed lately */
	unsigned watch_refusals;                   /* in a row */
	bool progress;                             /* the watch said something */
	int64_t resync_us;                         /* when next; RUNNER_FOREVER: never */
	struct kube_failure failure;
	bool reported_synced;

	struct lock lock; /* for all below */
	struct cache cache;
	struct kube_informer_statistics statistics;
	bool stopping;
	bool relist;
};

/* ---- small things ---- */

static void notify(struct kube_informer *informer, const struct kube_object *before,
	const struct kube_object *after)
{
	if (informer->config.changed)
		informer->config.changed(informer->config.context, before, after);
}

static void set_synced(struct kube_informer *informer, bool synced)
{
	lock_take(&informer->lock);
	informer->statistics.synced = synced;
	lock_release(&informer->lock);
	runner_signal(informer->synced_event);
}

static void count(struct kube_informer *informer, uint64_t *counter)
{
	lock_take(&informer->lock);
	(*counter)++;
	lock_release(&informer->lock);
}

static void report(struct kube_informer *informer, const struct err *err)
{
	if (informer->config.failed)
		informer->config.failed(informer->config.context, err);
}

/* ---- changes ---- */

static void remove_object(struct kube_informer *informer, struct span key)
{
	_kube_object_ const struct kube_object *before = NULL;

	lock_take(&informer->lock);
	before = cache_remove(&informer->cache, key);
	lock_release(&informer->lock);
	if (before)
		notify(informer, before, NULL);
}

static int fail_full(struct kube_informer *informer, struct err *err)
{
	set_synced(informer, false);
	return err_set(err, -E2BIG, "more %s than may be kept (%zu objects, %zu bytes)",
		informer->config.kind->plural, informer->config.objects_max,
		informer->config.bytes_max);
}

/* With the lock held. */
static bool has_room(const struct kube_informer *informer, const struct kube_object *before,
	const struct kube_object *object)
{
	size_t bytes = informer->cache.bytes + kube_object_size(object);

	if (before)
		bytes -= kube_object_size(before);
	return (before || cache_count(&informer->cache) < informer->config.objects_max) &&
	       bytes <= informer->config.bytes_max;
}

/* Takes an object over as it is now. Consumes the reference. */
static int put_object(struct kube_informer *informer, const struct kube_object *object,
	struct err *err)
{
	_kube_object_ const struct kube_object *before = NULL;
	bool same = false, full = false;

	lock_take(&informer->lock);
	before = cache_get(&informer->cache, object->key);
	if (before)
		kube_object_reference(before);
	lock_release(&informer->lock);
	/* A new object with the same name: the old one is gone, with or without an event. */
	if (before && !span_equal(before->uid, object->uid)) {
		remove_object(informer, object->key);
		kube_object_release(TAKE(before));
	}

	lock_take(&informer->lock);
	same = before && span_equal(before->resource_version, object->resource_version);
	full = !same && !has_room(informer, before, object);
	if (same)
		cache_touch(&informer->cache, object->key, informer->generation);
	else if (!full)
		kube_object_release(cache_put(&informer->cache, kube_object_reference(object),
			informer->generation));
	lock_release(&informer->lock);
	if (!same && !full)
		notify(informer, before, object);
	kube_object_release(object);
	return full ? fail_full(informer, err) : 0;
}

/* An object that reduce rejects keeps its cached state: it exists and may become valid. */
static void refuse_object(struct kube_informer *informer, const struct json *json,
	const struct err *err)
{
	const struct json *metadata = json_get(json, "metadata");
	struct span namespace = json_get_text(metadata, "namespace");
	struct span name = json_get_text(metadata, "name");
	_buffer_ struct buffer key = {0};

	if (namespace.length > 0) {
		buffer_add_span(&key, namespace);
		buffer_add_char(&key, '/');
	}
	if (name.data)
		buffer_add_span(&key, name);
	lock_take(&informer->lock);
	informer->statistics.refused++;
	cache_touch(&informer->cache, buffer_span(&key), informer->generation);
	lock_release(&informer->lock);
	report(informer, err);
}

/* Deleted, or none of ours any more. One of another uid is not the one that is spoken of. */
static void forget_object(struct kube_informer *informer, const struct json *json)
{
	_kube_object_ const struct kube_object *object = NULL;
	const struct kube_object *known;
	bool is_it;

	if (kube_object_make(json, NULL, NULL, &object, NULL) < 0)
		return;
	lock_take(&informer->lock);
	known = cache_get(&informer->cache, object->key);
	is_it = known && span_equal(known->uid, object->uid);
	lock_release(&informer->lock);
	if (is_it)
		remove_object(informer, object->key);
}

static int take_object(struct kube_informer *informer, const struct json *json, struct err *err)
{
	const struct kube_informer_config *config = &informer->config;
	const struct kube_object *object;
	struct err problem = {0};
	int code;

	code = kube_object_make(json, config->reduce, config->context, &object, &problem);
	if (code == 0)
		return put_object(informer, object, err);
	if (code < 0)
		refuse_object(informer, json, &problem);
	else
		forget_object(informer, json);
	return 0;
}

static void resync(struct kube_informer *informer)
{
	_arena_ struct arena *arena = arena_new(0);
	_kube_object_list_ struct kube_object_list list = {0};

	informer->resync_us =
		runner_deadline_us(informer->group, informer->config.resync_ms * 1000);
	kube_informer_all(informer, arena, &list);
	for (size_t i = 0; i < list.count; i++)
		notify(informer, list.objects[i], list.objects[i]);
}

static void resync_if_due(struct kube_informer *informer)
{
	if (runner_now_us(informer->group) >= informer->resync_us)
		resync(informer);
}

/* ---- lists ---- */

static void begin_list(void *context)
{
	struct kube_informer *informer = context;

	informer->generation++;
}

static int take_item(void *context, const struct json *object, struct err *err)
{
	return take_object(context, object, err);
}

/* Removes what a complete list did not have. */
static void sweep(struct kube_informer *informer)
{
	const struct cache_entry *position = NULL;

	for (;;) {
		_kube_object_ const struct kube_object *gone = NULL;

		lock_take(&informer->lock);
		gone = cache_next_before(&informer->cache, &position, informer->generation);
		if (gone)
			kube_object_reference(gone);
		lock_release(&informer->lock);
		if (!gone)
			return;
		remove_object(informer, gone->key);
	}
}

static void finish_list(struct kube_informer *informer)
{
	sweep(informer);
	lock_take(&informer->lock);
	if (informer->statistics.lists++ > 0)
		informer->statistics.relists++;
	lock_release(&informer->lock);
	set_synced(informer, true);
	if (!informer->reported_synced && informer->config.synced)
		informer->config.synced(informer->config.context);
	informer->reported_synced = true;
}

/* ---- watches ---- */

static void hear(void *context, size_t bytes)
{
	struct kube_informer *informer = context;

	lock_take(&informer->lock);
	informer->statistics.bytes_received += bytes;
	informer->statistics.last_contact_ms = runner_wall_ms(informer->group);
	lock_release(&informer->lock);
}

/* Whether it was before. */
static bool set_watching(struct kube_informer *informer, bool watching)
{
	bool before;

	lock_take(&informer->lock);
	before = informer->statistics.watching;
	informer->statistics.watching = watching;
	if (watching)
		informer->statistics.watches++;
	lock_release(&informer->lock);
	return before;
}

static void opened(void *context)
{
	hear(context, 0);
	set_watching(context, true);
}

static int take_version(struct kube_informer *informer, const struct json *object, struct err *err)
{
	struct span version = json_get_text(json_get(object, "metadata"), "resourceVersion");

	if (version.length == 0 || version.length >= sizeof(informer->version))
		return err_set(err, -EPROTO, "an event's object has no resourceVersion");
	memcpy(informer->version, version.data, version.length);
	informer->version[version.length] = '\0';
	return 0;
}

static int take_added(struct kube_informer *informer, const struct json *object, struct err *err)
{
	return take_object(informer, object, err);
}

static int take_deleted(struct kube_informer *informer, const struct json *object, struct err *err)
{
	(void)err;
	forget_object(informer, object);
	return 0;
}

static const struct event_type {
	const char *name;
	int (*take)(struct kube_informer *informer, const struct json *object, struct err *err);
} event_types[] = {
	{"MODIFIED", take_added}, /* whether we know it is for us to say */
	{"ADDED", take_added},
	{"DELETED", take_deleted},
	{"BOOKMARK", NULL},
};

static int take_event(void *context, const struct json *event, struct err *err)
{
	struct kube_informer *informer = context;
	struct kube_informer_statistics *statistics = &informer->statistics;
	struct span name = json_get_text(event, "type");
	const struct json *object = json_get(event, "object");
	const struct event_type *type = NULL;
	int code = 0;

	if (span_is(name, "ERROR"))
		return kube_status_read_object(object, "watch", &informer->failure, err);
	for (size_t i = 0; i < LENGTH(event_types) && !type; i++)
		type = span_is(name, event_types[i].name) ? &event_types[i] : NULL;
	if (!type)
		return err_set(err, -EPROTO, "an event of type '%.*s'", (int)name.length,
			name.data ? name.data : "");
	lock_take(&informer->lock);
	if (type->take) {
		statistics->events++;
		statistics->last_event_ms = runner_wall_ms(informer->group);
	} else {
		statistics->bookmarks++;
	}
	lock_release(&informer->lock);
	informer->progress = true;
	if (type->take)
		code = type->take(informer, object, err);
	if (code == 0)
		code = take_version(informer, object, err);
	if (code == 0)
		resync_if_due(informer);
	return code;
}

/* ---- requests ---- */

/* Before each thing that can be cancelled. False when there is nothing more to do. */
static bool take_desired(struct kube_informer *informer, bool *list)
{
	bool stopping;

	lock_take(&informer->lock);
	stopping = informer->stopping;
	if (informer->relist)
		*list = true;
	informer->relist = false;
	if (!stopping)
		atomic_store(&informer->cancel.requested, false);
	lock_release(&informer->lock);
	return !stopping && !runner_is_stopped(informer->group);
}

static bool has_desired(struct kube_informer *informer)
{
	bool desired;

	lock_take(&informer->lock);
	desired = informer->stopping || informer->relist;
	lock_release(&informer->lock);
	return desired;
}

/* ---- the thread ---- */

/* Somewhere in the second half of a time that doubles, and not before the server wants to be asked. */
static void back_off(struct kube_informer *informer, int64_t *backoff_ms)
{
	const struct kube_informer_config *config = &informer->config;
	int64_t delay_us, deadline_us;

	*backoff_ms = *backoff_ms ? *backoff_ms * 2 : config->backoff_first_ms;
	if (*backoff_ms > config->backoff_most_ms)
		*backoff_ms = config->backoff_most_ms;
	delay_us = *backoff_ms * 500 + (int64_t)random_below(runner_random(informer->group),
					       (uint64_t)*backoff_ms * 500 + 1);
	if (delay_us < informer->failure.retry_after_ms * 1000)
		delay_us = informer->failure.retry_after_ms * 1000;
	deadline_us = runner_deadline_us(informer->group, delay_us);
	for (;;) {
		uint64_t seen = runner_event_count(informer->wake);

		if (has_desired(informer) ||
			runner_wait(informer->group, informer->wake, seen, deadline_us) < 0)
			return;
	}
}

static void note_failure(struct kube_informer *informer, int code, const struct err *err)
{
	if (code == -ECANCELED)
		return;
	if (code == -ESTALE)
		count(informer, &informer->statistics.expired);
	else
		count(informer, &informer->statistics.errors);
	report(informer, err);
}

/* True if there is a complete list now. */
static bool list(struct kube_informer *informer, struct kube_following *following)
{
	struct err err = {0};
	int code;

	informer->failure = (struct kube_failure){0};
	following->object = take_item;
	code = kube_following_list(following, informer->version, &err);
	if (code == 0) {
		informer->list_backoff_ms = 0;
		finish_list(informer);
		return true;
	}
	note_failure(informer, code, &err);
	if (code != -ECANCELED)
		back_off(informer, &informer->list_backoff_ms);
	return false;
}

/* Long, but not beyond the next resync: the end of the watch is when it happens if nothing else does. */
static unsigned choose_watch_seconds(struct kube_informer *informer)
{
	unsigned least = informer->config.watch_s;
	uint64_t seconds = least + random_below(runner_random(informer->group), least + 1);
	int64_t left_us = informer->resync_us - runner_now_us(informer->group);

	if (informer->resync_us != RUNNER_FOREVER && left_us / 1000000 + 1 < (int64_t)seconds)
		seconds = left_us > 0 ? (uint64_t)(left_us / 1000000 + 1) : 1;
	return (unsigned)seconds;
}

/* True if a watch that ended with this code requires a new list. */
static bool needs_list(struct kube_informer *informer, int code)
{
	/* Refused, not merely cut: the server was there and did not like what it was asked. */
	if (code < 0 && informer->failure.status != 0)
		informer->watch_refusals++;
	return code == -ESTALE || code == -EPROTO || code == -EFBIG || code == -E2BIG ||
	       code == -ENOENT || informer->watch_refusals >= WATCH_REFUSALS_MAX;
}

/* True if it is to be listed again. */
static bool watch(struct kube_informer *informer, struct kube_following *following)
{
	int64_t started_us = runner_now_us(informer->group);
	struct err err = {0};
	bool lasted, was_open;
	int code;

	informer->failure = (struct kube_failure){0};
	informer->progress = false;
	following->object = take_event;
	code = kube_following_watch(following, informer->version, choose_watch_seconds(informer),
		&err);
	was_open = set_watching(informer, false);
	/* A server that is slow to refuse has refused all the same. */
	lasted = informer->progress ||
		 (was_open && runner_now_us(informer->group) - started_us >= WATCH_SHORT_US);
	if (lasted) {
		informer->watch_backoff_ms = 0;
		informer->watch_refusals = 0;
	}
	/* No event, or the server is gone: opening another watch shows which. */
	if (code == -ETIMEDOUT && was_open) {
		count(informer, &informer->statistics.silent);
		return false;
	}
	if (code < 0)
		note_failure(informer, code, &err);
	if (code != -ECANCELED && !(lasted && (code == 0 || code == -ESTALE)))
		back_off(informer, &informer->watch_backoff_ms);
	return needs_list(informer, code);
}

static void run(void *context)
{
	struct kube_informer *informer = context;
	const struct kube_informer_config *config = &informer->config;
	struct kube_options options = {.failure = &informer->failure, .cancel = &informer->cancel};
	struct kube_following following = {
		.client = config->client,
		.kind = config->kind,
		.namespace = config->namespace,
		.selection = &config->selection,
		.options = &options,
		.object_max = config->line_max,
		.page_size = config->page_size,
		.idle_ms = config->idle_ms,
		.heard = hear,
		.opened = opened,
		.begin = begin_list,
		.context = informer,
	};
	bool must_list = true;

	while (take_desired(informer, &must_list)) {
		if (must_list)
			must_list = !list(informer, &following);
		else
			must_list = watch(informer, &following);
		resync_if_due(informer);
	}
}

/* ---- an informer's life ---- */

static void copy_config(struct kube_informer *informer, const struct kube_informer_config *config)
{
	struct kube_informer_config *own = &informer->config;

	*own = *config;
	if (config->namespace.data)
		own->namespace = (struct span){
			memory_copy_string_n(config->namespace.data, config->namespace.length),
			config->namespace.length};
	own->selection.labels = memory_copy_string(config->selection.labels);
	own->selection.fields = memory_copy_string(config->selection.fields);
	own->indexes = NULL;
	own->objects_max = config->objects_max ? config->objects_max : KUBE_INFORMER_OBJECTS_MAX;
	own->bytes_max = config->bytes_max ? config->bytes_max : KUBE_INFORMER_BYTES_MAX;
	own->line_max = config->line_max ? config->line_max : KUBE_INFORMER_LINE_MAX;
	own->page_size = config->page_size ? config->page_size : KUBE_PAGE_SIZE;
	own->watch_s = config->watch_s ? config->watch_s : KUBE_INFORMER_WATCH_S;
	own->idle_ms = config->idle_ms ? config->idle_ms : KUBE_INFORMER_IDLE_MS;
	own->backoff_first_ms = config->backoff_first_ms ? config->backoff_first_ms
							 : KUBE_INFORMER_BACKOFF_FIRST_MS;
	own->backoff_most_ms =
		config->backoff_most_ms ? config->backoff_most_ms : KUBE_INFORMER_BACKOFF_MOST_MS;
}

static void destroy(struct kube_informer *informer)
{
	runner_event_free(informer->wake);
	runner_event_free(informer->synced_event);
	runner_free(informer->group);
	cache_clear(&informer->cache);
	lock_destroy(&informer->lock);
	free((char *)informer->config.namespace.data);
	free((char *)informer->config.selection.labels);
	free((char *)informer->config.selection.fields);
	free(informer);
}

int kube_informer_start(const struct kube_informer_config *config,
	struct kube_informer **ret_informer, struct err *err)
{
	struct kube_informer *informer;
	int code;

	runner_assert_may_block(config->runner);
	assert(config->index_count <= KUBE_INFORMER_INDEXES_MAX);
	informer = memory_allocate(sizeof(*informer));
	copy_config(informer, config);
	lock_init(&informer->lock);
	cache_init(&informer->cache, config->indexes, config->index_count);
	informer->group = runner_group_new(config->runner, config->kind->plural);
	informer->wake = runner_event_new(informer->group, "informer requests");
	informer->synced_event = runner_event_new(informer->group, "informer synced");
	informer->resync_us = RUNNER_FOREVER;
	if (config->resync_ms > 0)
		informer->resync_us = runner_deadline_us(informer->group, config->resync_ms * 1000);
	code = runner_spawn(informer->group, config->kind->plural, run, informer, err);
	if (code < 0) {
		destroy(informer);
		return code;
	}
	*ret_informer = informer;
	return 0;
}

void kube_informer_stop(struct kube_informer *informer)
{
	if (!informer)
		return;
	lock_take(&informer->lock);
	informer->stopping = true;
	lock_release(&informer->lock);
	http_client_cancel(informer->config.client->http, &informer->cancel);
	runner_stop(informer->group);
	runner_join(informer->group, NULL);
	destroy(informer);
}

void kube_informer_relist(struct kube_informer *informer)
{
	lock_take(&informer->lock);
	informer->relist = true;
	lock_release(&informer->lock);
	http_client_cancel(informer->config.client->http, &informer->cancel);
	runner_signal(informer->wake);
}

bool kube_informer_is_synced(struct kube_informer *informer)
{
	bool synced;

	lock_take(&informer->lock);
	synced = informer->statistics.synced;
	lock_release(&informer->lock);
	return synced;
}

int kube_informer_wait_synced(struct kube_informer *informer, int64_t deadline_us)
{
	for (;;) {
		uint64_t seen = runner_event_count(informer->synced_event);
		int code;

		if (kube_informer_is_synced(informer))
			return 0;
		code = runner_wait(informer->config.runner, informer->synced_event, seen,
			deadline_us);
		if (code < 0 && !kube_informer_is_synced(informer))
			return code;
	}
}

/* ---- reading ---- */

const struct kube_object *kube_informer_get(struct kube_informer *informer, struct span namespace,
	struct span name)
{
	char key[2 * KUBE_NAME_MAX + 2];
	size_t length = 0;
	const struct kube_object *object;

	if (namespace.length > KUBE_NAME_MAX || name.length > KUBE_NAME_MAX)
		return NULL;
	if (namespace.length > 0) {
		memcpy(key, namespace.data, namespace.length);
		length = namespace.length;
		key[length++] = '/';
	}
	memcpy(key + length, name.data, name.length);
	length += name.length;
	lock_take(&informer->lock);
	object = cache_get(&informer->cache, (struct span){key, length});
	if (object)
		kube_object_reference(object);
	lock_release(&informer->lock);
	return object;
}

void kube_informer_find(struct kube_informer *informer, const char *index, struct span key,
	struct arena *arena, struct kube_object_list *ret_list)
{
	lock_take(&informer->lock);
	cache_find(&informer->cache, index, key, arena, ret_list);
	lock_release(&informer->lock);
}

void kube_informer_all(struct kube_informer *informer, struct arena *arena,
	struct kube_object_list *ret_list)
{
	lock_take(&informer->lock);
	cache_all(&informer->cache, arena, ret_list);
	lock_release(&informer->lock);
}

void kube_informer_statistics(struct kube_informer *informer,
	struct kube_informer_statistics *ret_statistics)
{
	lock_take(&informer->lock);
	*ret_statistics = informer->statistics;
	ret_statistics->objects = cache_count(&informer->cache);
	ret_statistics->bytes = informer->cache.bytes;
	lock_release(&informer->lock);
}
