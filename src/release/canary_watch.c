/* See canary_watch.h. */
#include "release/canary_watch.h"

#include <stdlib.h>

#include "base/memory.h"
#include "release/canary_objects.h"
#include "release/canary_services.h"
#include "release/release_live.h"
#include "release/release_names.h"

#define BY_RELEASE "release"
#define BY_CREATOR "creator"
#define BY_TARGET "target"
#define BY_HOLDER "holder"
#define WATCHES_MAX 8

/* Of an object of any kind. */
struct kept {
	struct span creator; /* RELEASE_CREATED_BY_LABEL */
	struct span holder;  /* of a Service that is taken over */
	struct span release; /* of a CanaryRelease: its Release */
	struct span target;  /* of an autoscaler: its workload's name */
	struct span target_kind;
	bool ready; /* of a pod */
	bool deleting;
	uint64_t content; /* without status */
};

static const struct kube_kind autoscaler_kind = {
	"autoscaling", "HorizontalPodAutoscaler", "horizontalpodautoscalers", true, {"v1"}};

struct watched {
	struct canary_watch *watch;
	const struct kube_kind *kind;
	struct kube_informer *informer;
};

struct canary_watch {
	struct canary_watch_config config;
	struct watched watched[WATCHES_MAX];
	size_t count;
	struct kube_informer *canaries, *pods, *autoscalers, *services;
};

/* ---- reduction ---- */

static bool is_ready(const struct json *object)
{
	JSON_EACH_ITEM (json_path(object, "status.conditions"), condition)
		if (span_is(json_get_text(condition, "type"), "Ready"))
			return span_is(json_get_text(condition, "status"), "True");
	return false;
}

static struct span keep_text(struct kube_keep *keep, struct span text)
{
	return kube_keep_text(keep, text.data ? text : SPAN(""));
}

static int reduce(void *context, const struct json *object, struct kube_keep *keep,
	const void **ret_data, struct err *err)
{
	const struct json *metadata = json_get(object, "metadata");
	const struct json *target = json_path(object, "spec.scaleTargetRef");
	struct kept *kept = kube_keep_memory(keep, sizeof(*kept));

	(void)context;
	(void)err;
	kept->creator = keep_text(keep,
		json_get_text(json_get(metadata, "labels"), RELEASE_CREATED_BY_LABEL));
	kept->holder = keep_text(keep, canary_service_holder(object));
	kept->release = keep_text(keep, json_get_text(json_get(object, "spec"), "release"));
	kept->target = keep_text(keep, json_get_text(target, "name"));
	kept->target_kind = keep_text(keep, json_get_text(target, "kind"));
	kept->ready = is_ready(object);
	kept->deleting = !json_is_absent(json_get(metadata, "deletionTimestamp"));
	kept->content = release_content_hash(object);
	*ret_data = kept;
	return 0;
}

/* Of all Services those of canaries. */
static int reduce_service(void *context, const struct json *object, struct kube_keep *keep,
	const void **ret_data, struct err *err)
{
	const struct kept *kept;
	int code = reduce(context, object, keep, ret_data, err);

	kept = *ret_data;
	return code == 0 && kept->creator.length == 0 && kept->holder.length == 0
		       ? KUBE_REDUCE_IGNORE
		       : code;
}

static void keys_release(const struct kube_object *object, struct kube_index_keys *keys)
{
	kube_index_keys_add(keys, ((const struct kept *)object->data)->release);
}

static void keys_creator(const struct kube_object *object, struct kube_index_keys *keys)
{
	kube_index_keys_add(keys, ((const struct kept *)object->data)->creator);
}

static void keys_target(const struct kube_object *object, struct kube_index_keys *keys)
{
	kube_index_keys_add(keys, ((const struct kept *)object->data)->target);
}

static void keys_holder(const struct kube_object *object, struct kube_index_keys *keys)
{
	kube_index_keys_add(keys, ((const struct kept *)object->data)->holder);
}

/* ---- changes ---- */

static void report_all(struct canary_watch *watch, struct span namespace, enum canary_change change)
{
	_arena_ struct arena *arena = arena_new(0);
	_kube_object_list_ struct kube_object_list list = {0};

	kube_informer_all(watch->canaries, arena, &list);
	for (size_t i = 0; i < list.count; i++)
		if (!namespace.data || span_equal(list.objects[i]->namespace, namespace))
			watch->config.changed(watch->config.context, list.objects[i]->namespace,
				list.objects[i]->name, change);
}

/* The label is "NAMESPACE.NAME", or a part of it where that is too long. */
static void report_creator(struct canary_watch *watch, struct span namespace, struct span creator,
	enum canary_change change)
{
	struct span prefix = namespace, name = creator;

	if (creator.length > prefix.length + 1 && span_starts_with(creator, prefix) &&
		creator.data[prefix.length] == '.') {
		name.data += prefix.length + 1;
		name.length -= prefix.length + 1;
		watch->config.changed(watch->config.context, namespace, name, change);
	} else {
		report_all(watch, namespace, change);
	}
}

static void report_release(struct canary_watch *watch, const struct kube_object *release)
{
	_arena_ struct arena *arena = arena_new(0);
	_kube_object_list_ struct kube_object_list list = {0};

	kube_informer_find(watch->canaries, BY_RELEASE, release->name, arena, &list);
	for (size_t i = 0; i < list.count; i++)
		if (span_equal(list.objects[i]->namespace, release->namespace))
			watch->config.changed(watch->config.context, list.objects[i]->namespace,
				list.objects[i]->name, CANARY_CHANGED_ITSELF);
}

static void object_changed(void *context, const struct kube_object *before,
	const struct kube_object *after)
{
	struct watched *watched = context;
	struct canary_watch *watch = watched->watch;
	const struct kube_object *object = after ? after : before;
	const struct kept *kept = object->data, *previous = before ? before->data : NULL;

	if (watched->kind == &release_canary_kind) {
		watch->config.changed(watch->config.context, object->namespace, object->name,
			CANARY_CHANGED_ITSELF);
		return;
	}
	if (watched->kind == &release_kind) {
		report_release(watch, object);
		return;
	}
	if (watched->kind == &autoscaler_kind)
		return;
	if (watched->kind == &kube_pods) {
		report_creator(watch, object->namespace, kept->creator, CANARY_CHANGED_PODS);
		return;
	}
	if (before && after && previous->content == kept->content &&
		previous->deleting == kept->deleting)
		return;
	if (kept->holder.length > 0)
		watch->config.changed(watch->config.context, object->namespace, kept->holder,
			CANARY_CHANGED_OBJECTS);
	if (kept->creator.length > 0)
		report_creator(watch, object->namespace, kept->creator, CANARY_CHANGED_OBJECTS);
}

static void failed(void *context, const struct err *err)
{
	struct watched *watched = context;

	if (watched->watch->config.failed)
		watched->watch->config.failed(watched->watch->config.context, watched->kind->plural,
			err);
}

/* ---- start and stop ---- */

static int start(struct canary_watch *watch, const struct kube_kind *kind, const char *labels,
	const struct kube_index *index, struct kube_informer **ret_informer, struct err *err)
{
	struct watched *watched = &watch->watched[watch->count];
	const struct kube_informer_config config = {
		.client = watch->config.client,
		.runner = watch->config.runner,
		.kind = kind,
		.namespace = watch->config.namespace,
		.selection = {.labels = labels},
		.reduce = kind == &kube_services ? reduce_service : reduce,
		.indexes = index,
		.index_count = index != NULL,
		.changed = object_changed,
		.failed = failed,
		.context = watched,
		.resync_ms = kind == &release_canary_kind ? watch->config.resync_ms : 0,
	};
	int code;

	*watched = (struct watched){watch, kind, NULL};
	code = kube_informer_start(&config, &watched->informer, err);
	if (code < 0)
		return code;
	watch->count++;
	if (ret_informer)
		*ret_informer = watched->informer;
	return 0;
}

int canary_watch_start(const struct canary_watch_config *config, struct canary_watch **ret_watch,
	struct err *err)
{
	static const struct kube_index by_release = {BY_RELEASE, keys_release};
	static const struct kube_index by_creator = {BY_CREATOR, keys_creator};
	static const struct kube_index by_target = {BY_TARGET, keys_target};
	static const struct kube_index by_holder = {BY_HOLDER, keys_holder};
	struct canary_watch *watch = memory_allocate(sizeof(*watch));
	int code;

	watch->config = *config;
	code = start(watch, &release_canary_kind, NULL, &by_release, &watch->canaries, err);
	if (code == 0)
		code = start(watch, &kube_pods, CANARY_PROXY_SELECTOR, &by_creator, &watch->pods,
			err);
	if (code == 0)
		code = start(watch, &autoscaler_kind, NULL, &by_target, &watch->autoscalers, err);
	if (code == 0)
		code = start(watch, &release_kind, NULL, NULL, NULL, err);
	if (code == 0)
		code = start(watch, &kube_services, NULL, &by_holder, &watch->services, err);
	if (code == 0)
		code = start(watch, &kube_deployments, RELEASE_CREATED_BY_LABEL, NULL, NULL, err);
	if (code < 0) {
		canary_watch_stop(watch);
		return code;
	}
	*ret_watch = watch;
	return 0;
}

void canary_watch_stop(struct canary_watch *watch)
{
	if (!watch)
		return;
	/* Handlers of the others read the first one. */
	for (size_t i = watch->count; i-- > 0;)
		kube_informer_stop(watch->watched[i].informer);
	free(watch);
}

bool canary_watch_is_synced(struct canary_watch *watch)
{
	for (size_t i = 0; i < watch->count; i++)
		if (!kube_informer_is_synced(watch->watched[i].informer))
			return false;
	return true;
}

void canary_watch_all(struct canary_watch *watch)
{
	_arena_ struct arena *arena = arena_new(0);
	_kube_object_list_ struct kube_object_list list = {0};

	report_all(watch, SPAN_NONE, CANARY_CHANGED_OBJECTS);
	kube_informer_all(watch->services, arena, &list);
	for (size_t i = 0; i < list.count; i++) {
		const struct kept *kept = list.objects[i]->data;

		if (kept->holder.length > 0)
			watch->config.changed(watch->config.context, list.objects[i]->namespace,
				kept->holder, CANARY_CHANGED_OBJECTS);
	}
}

bool canary_watch_is_scaled(struct canary_watch *watch, struct span namespace, struct span kind,
	struct span name)
{
	_arena_ struct arena *arena = arena_new(0);
	_kube_object_list_ struct kube_object_list list = {0};

	kube_informer_find(watch->autoscalers, BY_TARGET, name, arena, &list);
	for (size_t i = 0; i < list.count; i++)
		if (span_equal(list.objects[i]->namespace, namespace) &&
			span_equal(((const struct kept *)list.objects[i]->data)->target_kind, kind))
			return true;
	return false;
}

struct span *canary_watch_held(struct canary_watch *watch, struct arena *arena,
	struct span namespace, struct span canary, size_t *ret_count)
{
	_kube_object_list_ struct kube_object_list list = {0};
	struct span *names;
	size_t count = 0;

	kube_informer_find(watch->services, BY_HOLDER, canary, arena, &list);
	names = arena_allocate_array(arena, list.count + 1, sizeof(*names));
	for (size_t i = 0; i < list.count; i++)
		if (span_equal(list.objects[i]->namespace, namespace))
			names[count++] = arena_copy_span(arena, list.objects[i]->name);
	*ret_count = count;
	return names;
}

struct canary_pod *canary_watch_pods(struct canary_watch *watch, struct arena *arena,
	struct span namespace, struct span canary, size_t *ret_count)
{
	_kube_object_list_ struct kube_object_list list = {0};
	struct canary_pod *pods;
	size_t count = 0;

	kube_informer_find(watch->pods, BY_CREATOR, canary_created_by(arena, namespace, canary),
		arena, &list);
	pods = arena_allocate_array(arena, list.count + 1, sizeof(*pods));
	for (size_t i = 0; i < list.count; i++) {
		const struct kept *kept = list.objects[i]->data;

		if (!kept->deleting && span_equal(list.objects[i]->namespace, namespace))
			pods[count++] = (struct canary_pod){
				arena_copy_span(arena, list.objects[i]->name), kept->ready};
	}
	*ret_count = count;
	return pods;
}
