/* See release_watch.h. */
#include "release/release_watch.h"

#include <stdio.h>

#include "base/lock.h"
#include "base/map.h"
#include "base/memory.h"
#include "release/release_manifest.h"
#include "release/release_names.h"

#define BY_RELEASE "release"
#define BY_TARGET "target"

static const struct kube_kind autoscalers = {
	"autoscaling", "HorizontalPodAutoscaler", "horizontalpodautoscalers", true, {"v1"}};

/* One type of objects; the kind comes first, because the informer's context is also release_live_reduce's. */
struct type_watch {
	struct kube_kind kind;
	struct release_watch *watch;
	struct kube_informer *informer;
	struct err failure; /* the last one; code 0: none. Under the watch's lock. */
};

struct release_watch {
	struct release_watch_config config;
	struct kube_informer *releases, *histories, *scalers;
	struct lock lock; /* for all below */
	struct map types; /* of struct type_watch, by "apiVersion kind" */
};

/* ---- indexes ---- */

static void add_pair(struct kube_index_keys *keys, struct span namespace, struct span name)
{
	char key[2 * KUBE_NAME_MAX + 2];
	int length = snprintf(key, sizeof(key), "%.*s/%.*s", SPAN_ARGS(namespace), SPAN_ARGS(name));

	if (length > 0 && (size_t)length < sizeof(key))
		kube_index_keys_add(keys, (struct span){key, (size_t)length});
}

static void index_history(const struct kube_object *object, struct kube_index_keys *keys)
{
	const struct release_known_history *history = object->data;

	add_pair(keys, object->namespace, history->release);
}

static void index_live(const struct kube_object *object, struct kube_index_keys *keys)
{
	const struct release_live *live = object->data;

	if (object->namespace.length > 0)
		add_pair(keys, object->namespace, live->release);
	else if (live->owner.length > 0)
		kube_index_keys_add(keys, live->owner);
}

struct scaler {
	struct span kind, name; /* of its target */
};

static struct span target_key(struct arena *arena, struct span namespace, struct span kind,
	struct span name)
{
	return arena_format(arena, "%.*s/%.*s/%.*s", SPAN_ARGS(namespace), SPAN_ARGS(kind),
		SPAN_ARGS(name));
}

static void index_scaler(const struct kube_object *object, struct kube_index_keys *keys)
{
	_arena_ struct arena *arena = arena_new(0);
	const struct scaler *scaler = object->data;

	kube_index_keys_add(keys, target_key(arena, object->namespace, scaler->kind, scaler->name));
}

/* ---- reducing ---- */

static bool starts_line(struct span line, const char *name, struct span *ret_value)
{
	struct span prefix = span_of(name);

	if (!span_starts_with(line, prefix))
		return false;
	*ret_value =
		span_trim((struct span){line.data + prefix.length, line.length - prefix.length});
	return true;
}

static bool has_type(const struct release_type *types, size_t count,
	const struct release_type *type)
{
	for (size_t i = 0; i < count; i++)
		if (span_equal(types[i].api_version, type->api_version) &&
			span_equal(types[i].kind, type->kind))
			return true;
	return false;
}

/* Members of an object begin in the first column, as release_manifest_write() writes them; parsing the whole manifest
 * for its types would cost more than everything else about a history. */
struct release_type *release_manifest_types(struct arena *arena, struct span text,
	size_t *ret_count)
{
	struct release_type *types = arena_allocate_array(arena, RELEASE_KINDS_MAX, sizeof(*types));
	struct release_type type = {SPAN(""), SPAN("")};
	struct span rest = text, line;
	size_t count = 0;

	while (span_next_part(&rest, '\n', &line)) {
		if (span_is(line, "---"))
			type = (struct release_type){SPAN(""), SPAN("")};
		else if (!starts_line(line, "apiVersion: ", &type.api_version) &&
			 !starts_line(line, "kind: ", &type.kind))
			continue;
		if (type.api_version.length > 0 && type.kind.length > 0 &&
			count < RELEASE_KINDS_MAX && !has_type(types, count, &type))
			types[count++] = type;
	}
	*ret_count = count;
	return types;
}

static int reduce_history(void *context, const struct json *object, struct kube_keep *keep,
	const void **ret_data, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	struct release_known_history *history = kube_keep_memory(keep, sizeof(*history));
	const struct json *metadata = json_get(object, "metadata"),
			  *spec = json_get(object, "spec");
	const struct json *owners = json_get(metadata, "ownerReferences");
	struct span release = json_get_text(json_get(metadata, "labels"), RELEASE_LABEL);
	struct span manifest = json_get_text(spec, "manifest");
	size_t count = 0, i = 0;
	struct release_type *types =
		release_manifest_types(arena, manifest.data ? manifest : SPAN(""), &count);
	struct release_type *kept;
	struct span *uids;

	(void)context;
	(void)err;
	if (release.length == 0)
		return KUBE_REDUCE_IGNORE;
	history->release = kube_keep_text(keep, release);
	history->version = json_get_integer(spec, "version", 0);
	history->owner_count = json_array_count(owners) < RELEASE_OWNERS_MAX
				       ? json_array_count(owners)
				       : RELEASE_OWNERS_MAX;
	uids = kube_keep_array(keep, history->owner_count, sizeof(*uids));
	JSON_EACH_ITEM (owners, owner)
		if (i < history->owner_count)
			uids[i++] = kube_keep_text(keep, json_get_text(owner, "uid"));
	history->owner_uids = uids;
	kept = kube_keep_array(keep, count, sizeof(*kept));
	for (i = 0; i < count; i++)
		kept[i] = (struct release_type){kube_keep_text(keep, types[i].api_version),
			kube_keep_text(keep, types[i].kind)};
	history->types = kept;
	history->type_count = count;
	*ret_data = history;
	return 0;
}

static int reduce_scaler(void *context, const struct json *object, struct kube_keep *keep,
	const void **ret_data, struct err *err)
{
	struct scaler *scaler = kube_keep_memory(keep, sizeof(*scaler));
	const struct json *target = json_path(object, "spec.scaleTargetRef");

	(void)context;
	(void)err;
	if (json_get_text(target, "name").length == 0 || json_get_text(target, "kind").length == 0)
		return KUBE_REDUCE_IGNORE;
	scaler->kind = kube_keep_text(keep, json_get_text(target, "kind"));
	scaler->name = kube_keep_text(keep, json_get_text(target, "name"));
	*ret_data = scaler;
	return 0;
}

/* ---- changes ---- */

static void release_changed(void *context, const struct kube_object *before,
	const struct kube_object *after)
{
	struct release_watch *watch = context;
	const struct kube_object *object = after ? after : before;

	watch->config.changed(watch->config.context, object->namespace, object->name);
}

static void history_changed(void *context, const struct kube_object *before,
	const struct kube_object *after)
{
	struct release_watch *watch = context;
	const struct kube_object *object = after ? after : before;
	const struct release_known_history *history = object->data;

	watch->config.changed(watch->config.context, object->namespace, history->release);
}

static void note_live(struct release_watch *watch, const struct kube_object *object)
{
	const struct release_live *live = object ? object->data : NULL;
	struct span namespace, name;

	if (!live)
		return;
	if (object->namespace.length > 0)
		watch->config.changed(watch->config.context, object->namespace, live->release);
	else if (span_split(live->owner, '/', &namespace, &name))
		watch->config.changed(watch->config.context, namespace, name);
}

static void live_changed(void *context, const struct kube_object *before,
	const struct kube_object *after)
{
	struct type_watch *type = context;

	note_live(type->watch, before);
	note_live(type->watch, after);
}

/* The Release of a workload that gets an autoscaler or loses it. */
static void note_target(struct release_watch *watch, const struct kube_object *object)
{
	const struct scaler *scaler = object ? object->data : NULL;
	const struct type_watch *types[RELEASE_KINDS_MAX];
	size_t count = 0;

	if (!scaler)
		return;
	lock_take(&watch->lock);
	MAP_EACH (&watch->types, entry) {
		const struct type_watch *type = entry->value;

		if (count < LENGTH(types) && span_is(scaler->kind, type->kind.kind))
			types[count++] = type;
	}
	lock_release(&watch->lock);
	for (size_t i = 0; i < count; i++) {
		_kube_object_ const struct kube_object *target =
			kube_informer_get(types[i]->informer, object->namespace, scaler->name);

		note_live(watch, target);
	}
}

static void scaler_changed(void *context, const struct kube_object *before,
	const struct kube_object *after)
{
	struct release_watch *watch = context;

	const struct scaler *was = before ? before->data : NULL, *is = after ? after->data : NULL;

	/* Autoscalers report their status often; only their targets matter. */
	if (was && is && span_equal(was->kind, is->kind) && span_equal(was->name, is->name))
		return;
	note_target(watch, before);
	note_target(watch, after);
}

static void releases_failed(void *context, const struct err *err)
{
	struct release_watch *watch = context;

	if (watch->config.failed)
		watch->config.failed(watch->config.context, "releases", err);
}

static void type_failed(void *context, const struct err *err)
{
	struct type_watch *type = context;
	struct release_watch *watch = type->watch;

	lock_take(&watch->lock);
	type->failure = *err;
	lock_release(&watch->lock);
	if (watch->config.failed)
		watch->config.failed(watch->config.context, type->kind.plural, err);
}

/* ---- opening and closing ---- */

static int start_informer(struct release_watch *watch, const struct kube_kind *kind,
	kube_reduce reduce, const struct kube_index *index,
	void (*changed)(void *context, const struct kube_object *before,
		const struct kube_object *after),
	struct kube_informer **ret_informer, struct err *err)
{
	struct kube_informer_config config = {.client = watch->config.client,
		.runner = watch->config.runner,
		.kind = kind,
		.namespace = watch->config.namespace,
		.reduce = reduce,
		.indexes = index,
		.index_count = index ? 1 : 0,
		.changed = changed,
		.failed = releases_failed,
		.context = watch};

	return kube_informer_start(&config, ret_informer, err);
}

int release_watch_start(const struct release_watch_config *config, struct release_watch **ret_watch,
	struct err *err)
{
	static const struct kube_index by_release = {BY_RELEASE, index_history};
	static const struct kube_index by_target = {BY_TARGET, index_scaler};
	struct release_watch *watch = memory_allocate(sizeof(*watch));
	int code;

	watch->config = *config;
	lock_init(&watch->lock);
	code = start_informer(watch, &release_kind, NULL, NULL, release_changed, &watch->releases,
		err);
	if (code == 0)
		code = start_informer(watch, &release_history_kind, reduce_history, &by_release,
			history_changed, &watch->histories, err);
	if (code == 0)
		code = start_informer(watch, &autoscalers, reduce_scaler, &by_target,
			scaler_changed, &watch->scalers, err);
	if (code < 0) {
		release_watch_stop(watch);
		return code;
	}
	*ret_watch = watch;
	return 0;
}

void release_watch_stop(struct release_watch *watch)
{
	if (!watch)
		return;
	kube_informer_stop(watch->releases);
	kube_informer_stop(watch->histories);
	kube_informer_stop(watch->scalers);
	MAP_EACH (&watch->types, entry) {
		struct type_watch *type = entry->value;

		kube_informer_stop(type->informer);
		free(type);
	}
	map_clear(&watch->types);
	lock_destroy(&watch->lock);
	free(watch);
}

bool release_watch_is_synced(struct release_watch *watch)
{
	return kube_informer_is_synced(watch->releases) &&
	       kube_informer_is_synced(watch->histories) && kube_informer_is_synced(watch->scalers);
}

void release_watch_all(struct release_watch *watch)
{
	_arena_ struct arena *arena = arena_new(0);
	_kube_object_list_ struct kube_object_list list = {0};

	kube_informer_all(watch->releases, arena, &list);
	for (size_t i = 0; i < list.count; i++)
		watch->config.changed(watch->config.context, list.objects[i]->namespace,
			list.objects[i]->name);
}

void release_watch_histories(struct release_watch *watch, struct span namespace,
	struct span release, struct arena *arena, struct kube_object_list *ret_list)
{
	struct span key =
		arena_format(arena, "%.*s/%.*s", SPAN_ARGS(namespace), SPAN_ARGS(release));

	kube_informer_find(watch->histories, BY_RELEASE, key, arena, ret_list);
}

/* ---- types ---- */

static struct span type_key(struct arena *arena, const struct release_type *type)
{
	return arena_format(arena, "%.*s %.*s", SPAN_ARGS(type->api_version),
		SPAN_ARGS(type->kind));
}

static struct type_watch *find_type(struct release_watch *watch, const struct release_type *type)
{
	_arena_ struct arena *arena = arena_new(0);
	struct span key = type_key(arena, type);
	struct type_watch *found;

	lock_take(&watch->lock);
	found = map_get(&watch->types, key);
	lock_release(&watch->lock);
	return found;
}

static int start_type(struct release_watch *watch, const struct release_type *type,
	struct type_watch **ret_started, struct err *err)
{
	static const struct kube_index by_release = {BY_RELEASE, index_live};
	_arena_ struct arena *arena = arena_new(0);
	struct kube_informer_config config = {.client = watch->config.client,
		.runner = watch->config.runner,
		.selection.labels = RELEASE_LABEL,
		.reduce = release_live_reduce,
		.indexes = &by_release,
		.index_count = 1,
		.changed = live_changed,
		.failed = type_failed};
	const struct kube_kind *kind = NULL;
	struct type_watch *started, *before;
	bool full;
	int code = kube_kind_find(watch->config.client, type->api_version, type->kind, &kind, err);

	if (code < 0)
		return code;
	started = memory_allocate(sizeof(*started));
	started->kind = *kind;
	started->watch = watch;
	config.kind = &started->kind;
	config.namespace = kind->namespaced ? watch->config.namespace : SPAN_NONE;
	config.context = started;
	code = kube_informer_start(&config, &started->informer, err);
	if (code < 0) {
		free(started);
		return code;
	}
	lock_take(&watch->lock);
	before = map_get(&watch->types, type_key(arena, type));
	full = !before && watch->types.count >= RELEASE_KINDS_MAX;
	if (!before && !full)
		map_put(&watch->types, type_key(arena, type), started);
	lock_release(&watch->lock);
	if (before || full) {
		kube_informer_stop(started->informer);
		free(started);
	}
	if (full)
		return err_set(err, -E2BIG, "too many kinds of objects in Releases (limit %d)",
			RELEASE_KINDS_MAX);
	*ret_started = before ? before : started;
	return 0;
}

int release_watch_type(struct release_watch *watch, const struct release_type *type,
	int64_t deadline_us, struct err *err)
{
	struct type_watch *found = find_type(watch, type);
	int code = found ? 0 : start_type(watch, type, &found, err);
	struct err failure;

	if (code < 0)
		return code;
	code = kube_informer_wait_synced(found->informer, deadline_us);
	if (code == 0)
		return 0;
	lock_take(&watch->lock);
	failure = found->failure;
	lock_release(&watch->lock);
	if (failure.code < 0)
		return err_set(err, code, "watch %s: %s", found->kind.plural, failure.message);
	return err_set(err, code, "%s of the cluster are not known yet", found->kind.plural);
}

const struct kube_object *release_watch_object(struct release_watch *watch,
	const struct release_type *type, struct span namespace, struct span name)
{
	struct type_watch *found = find_type(watch, type);

	if (!found)
		return NULL;
	return kube_informer_get(found->informer, found->kind.namespaced ? namespace : SPAN(""),
		name);
}

void release_watch_objects(struct release_watch *watch, const struct release_type *type,
	struct span namespace, struct span release, struct arena *arena,
	struct kube_object_list *ret_list)
{
	struct type_watch *found = find_type(watch, type);

	*ret_list = (struct kube_object_list){0};
	if (found)
		kube_informer_find(found->informer, BY_RELEASE,
			arena_format(arena, "%.*s/%.*s", SPAN_ARGS(namespace), SPAN_ARGS(release)),
			arena, ret_list);
}

bool release_watch_is_namespaced(struct release_watch *watch, const struct release_type *type)
{
	struct type_watch *found = find_type(watch, type);

	return !found || found->kind.namespaced;
}

bool release_watch_is_scaled(struct release_watch *watch, const struct release_type *type,
	struct span namespace, struct span name)
{
	_arena_ struct arena *arena = arena_new(0);
	_kube_object_list_ struct kube_object_list list = {0};

	kube_informer_find(watch->scalers, BY_TARGET,
		target_key(arena, namespace, type->kind, name), arena, &list);
	return list.count > 0;
}
