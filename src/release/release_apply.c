/* See release_apply.h. */
#include "release/release_apply.h"

#include "base/memory.h"
#include "release/release_adjust.h"
#include "release/release_names.h"

#define TRIES 4                   /* of a write that a concurrent one has overtaken */
#define SYNC_US INT64_C(20000000) /* for the first list of a type */
#define UID_MAX 64

/* ---- memory ---- */

struct remembered {
	char uid[UID_MAX];
	uint64_t desired;        /* the object as it was to be */
	uint64_t content;        /* as it then was in the cluster */
	int64_t repairs_from_ms; /* wall time */
	unsigned repairs;        /* since then */
};

void release_memory_clear(struct release_memory *memory)
{
	MAP_EACH (&memory->objects, entry)
		free(entry->value);
	map_clear(&memory->objects);
}

static struct span memory_key(struct arena *arena, const struct release_object *object)
{
	return arena_format(arena, "%.*s %.*s %.*s", SPAN_ARGS(object->api_version),
		SPAN_ARGS(object->kind), SPAN_ARGS(object->name));
}

static struct remembered *recall(const struct release_memory *memory,
	const struct release_object *object)
{
	_arena_ struct arena *arena = arena_new(0);

	return map_get(&memory->objects, memory_key(arena, object));
}

static void remember(struct release_memory *memory, const struct release_object *object,
	uint64_t desired, const struct json *answer, bool repaired)
{
	_arena_ struct arena *arena = arena_new(0);
	const struct remembered *before = recall(memory, object);
	struct span uid = json_get_text(json_get(answer, "metadata"), "uid");
	struct remembered *remembered = memory_allocate(sizeof(*remembered));

	if (uid.length < UID_MAX && uid.data)
		memcpy(remembered->uid, uid.data, uid.length);
	if (before && before->desired == desired) {
		remembered->repairs_from_ms = before->repairs_from_ms;
		remembered->repairs = before->repairs + repaired;
	}
	remembered->desired = desired;
	remembered->content = release_content_hash(answer);
	free(map_put(&memory->objects, memory_key(arena, object), remembered));
}

static uint64_t hash_of(const struct json *value)
{
	_buffer_ struct buffer text = {0};

	json_write(value, &text);
	return span_hash(buffer_span(&text));
}

/* ---- ownership ---- */

static struct release_type type_of(const struct release_object *object)
{
	return (struct release_type){object->api_version, object->kind};
}

/* A PersistentVolumeClaim outlives its Release, and an owner without the object's own scope is not allowed: these have
 * an annotation instead of an owner reference. */
static bool has_owner_reference(const struct kube_kind *kind)
{
	return kind->namespaced && strcmp(kind->kind, "PersistentVolumeClaim") != 0;
}

static struct span owner_text(struct arena *arena, const struct release_snapshot *release)
{
	return arena_format(arena, "%.*s/%.*s", SPAN_ARGS(release->namespace),
		SPAN_ARGS(release->name));
}

static const struct json *add_owner(struct arena *arena, const struct release_snapshot *release,
	const struct kube_kind *kind, const struct json *object)
{
	struct object_owner owner = {.api_version = SPAN(RELEASE_API_VERSION),
		.kind = SPAN("Release"),
		.name = release->name,
		.uid = release->uid};

	if (has_owner_reference(kind))
		return object_with_owners(arena, object, &owner, 1);
	return release_with_metadata(arena, object, "annotations", RELEASE_OWNER_ANNOTATION,
		owner_text(arena, release));
}

static bool is_own(struct arena *arena, const struct release_snapshot *release,
	const struct kube_kind *kind, const struct json *live)
{
	const struct json *annotations = json_get(json_get(live, "metadata"), "annotations");

	if (has_owner_reference(kind))
		return object_is_owned(live, release->uid);
	return span_equal(json_get_text(annotations, RELEASE_OWNER_ANNOTATION),
		owner_text(arena, release));
}

static int check_owner(struct arena *arena, const struct release_snapshot *release,
	const struct release_object *object, const struct kube_kind *kind, const struct json *live,
	struct err *err)
{
	if (is_own(arena, release, kind, live))
		return 0;
	return err_set(err, -EPERM, "%.*s '%.*s' exists and does not belong to this Release",
		SPAN_ARGS(object->kind), SPAN_ARGS(object->name));
}

/* ---- applying ---- */

struct application {
	const struct release_applier *applier;
	const struct release_snapshot *release;
	struct release_memory *memory;
	bool first; /* of this version: Jobs that are gone are created */
	struct release_applied result;
};

static struct object_id id_of(const struct release_snapshot *release,
	const struct release_object *object)
{
	return (struct object_id){.api_version = object->api_version,
		.kind = object->kind,
		.name = object->name,
		.namespace = release->namespace};
}

static bool is_kind(const struct release_object *object, const char *group, const char *kind)
{
	return span_is(object->kind, kind) &&
	       span_is(release_api_group(object->api_version), group);
}

/* The object in the cluster is what was applied. */
static bool is_unchanged(struct application *application, const struct release_object *object,
	uint64_t desired)
{
	const struct remembered *remembered = recall(application->memory, object);
	struct release_type type = type_of(object);
	_kube_object_ const struct kube_object *seen = NULL;
	const struct release_live *live;

	if (!remembered || remembered->desired != desired)
		return false;
	seen = release_watch_object(application->applier->watch, &type,
		application->release->namespace, object->name);
	live = seen ? seen->data : NULL;
	return live && live->content == remembered->content && !live->deleting &&
	       span_is(seen->uid, remembered->uid);
}

static const struct json *with_precondition(struct arena *arena, const struct json *object,
	const struct json *live, bool version)
{
	const struct json *live_metadata = json_get(live, "metadata");
	struct json *copy = json_copy_object(arena, object);
	struct json *metadata = json_copy_object(arena, json_get(object, "metadata"));

	json_set(arena, metadata, "uid", json_get(live_metadata, "uid"));
	if (version)
		json_set(arena, metadata, "resourceVersion",
			json_get(live_metadata, "resourceVersion"));
	json_set(arena, copy, "metadata", metadata);
	return copy;
}

/* An autoscaler sets the object's replicas. A suspended workload has none. */
static bool is_scaled(const struct application *application, const struct release_object *object)
{
	struct release_type type = type_of(object);

	return release_has_replicas(object->json) && !application->release->suspend &&
	       release_watch_is_scaled(application->applier->watch, &type,
		       application->release->namespace, object->name);
}

/* With the values of the cluster where others control them, and only onto the object that was read. */
static const struct json *adjust(struct application *application, struct arena *arena,
	const struct release_object *object, const struct json *desired, const struct json *live)
{
	bool service = is_kind(object, "", "Service"), scaled = is_scaled(application, object);

	if (service && release_is_taken_over(live))
		desired = release_keep_traffic(arena, desired, live);
	if (scaled)
		desired = release_keep_replicas(arena, desired, live);
	return with_precondition(arena, desired, live, service || scaled);
}

/* A Job's template cannot be changed: the Job is deleted, and created when it is gone. */
static int replace_job(struct application *application, const struct release_object *object,
	const struct json *live, struct err *err)
{
	struct object_id id = id_of(application->release, object);

	application->result.pending = true;
	return object_delete(&application->applier->calls, &id,
		json_get_text(json_get(live, "metadata"), "uid"), err);
}

/* Apply leaves selectors and ports that another manager has set, too. */
static int correct_service(struct application *application, struct arena *arena,
	const struct release_object *object, const struct json *desired, struct json **answer,
	struct err *err)
{
	const struct json *corrected;

	if (!is_kind(object, "", "Service") || release_is_taken_over(*answer))
		return 0;
	corrected = release_correct_service(arena, desired, *answer);
	return corrected
		       ? object_update(&application->applier->calls, corrected, arena, answer, err)
		       : 0;
}

static int write_object(struct application *application, struct arena *arena,
	const struct release_object *object, const struct json *desired, const struct json *live,
	struct json **ret_answer, struct err *err)
{
	const struct object_calls *calls = &application->applier->calls;
	const struct json *adjusted =
		live ? adjust(application, arena, object, desired, live) : desired;
	int code = object_apply(calls, adjusted, application->release->namespace, arena, ret_answer,
		err);

	return code < 0 ? code
			: correct_service(application, arena, object, desired, ret_answer, err);
}

/* One try; -EAGAIN: the object has changed meanwhile. */
static int apply_once(struct application *application, struct arena *arena,
	const struct release_object *object, const struct json *desired, uint64_t hash,
	struct err *err)
{
	const struct release_snapshot *release = application->release;
	const struct object_calls *calls = &application->applier->calls;
	const struct remembered *remembered = recall(application->memory, object);
	struct object_id id = id_of(release, object);
	struct json *live = NULL, *answer = NULL;
	struct kube_target target;
	int code = object_target(calls, &id, &target, err);

	if (code == 0)
		code = object_get(calls, &id, arena, &live, err);
	if (code < 0 && code != -ENOENT)
		return code;
	if (code == -ENOENT) {
		live = NULL;
		if (object_target(calls, &id, &target, err) < 0)
			return code;
		if (is_kind(object, "batch", "Job") && !application->first)
			return 0;
	}
	if (live && check_owner(arena, release, object, target.kind, live, err) < 0)
		return -EPERM;
	if (json_get_text(json_get(live, "metadata"), "deletionTimestamp").length > 0) {
		application->result.pending = true;
		return 0;
	}
	if (live && remembered && remembered->desired == hash &&
		remembered->content == release_content_hash(live))
		return 0;
	code = write_object(application, arena, object,
		add_owner(arena, release, target.kind, desired), live, &answer, err);
	if (code == -EINVAL && live && is_kind(object, "batch", "Job"))
		return replace_job(application, object, live, err);
	if (code == 0)
		remember(application->memory, object, hash, answer,
			live && release_content_hash(live) != release_content_hash(answer));
	return code;
}

/* Another client and this controller must not overwrite each other in a loop. */
static bool may_repair(struct application *application, const struct release_object *object,
	uint64_t desired)
{
	int64_t now_ms = runner_wall_ms(application->applier->runner), until_ms;
	struct remembered *remembered = recall(application->memory, object);

	if (!remembered || remembered->desired != desired)
		return true;
	until_ms = remembered->repairs_from_ms + RELEASE_REPAIRS_MS;
	if (now_ms < remembered->repairs_from_ms || now_ms >= until_ms) {
		remembered->repairs_from_ms = now_ms;
		remembered->repairs = 0;
	} else if (remembered->repairs >= RELEASE_REPAIRS_MAX) {
		if (application->result.again_ms == 0 || until_ms < application->result.again_ms)
			application->result.again_ms = until_ms;
		return false;
	}
	return true;
}

static int apply_object(struct application *application, const struct release_object *object,
	struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	const struct json *desired = application->release->suspend
					     ? release_suspend_object(arena, object->json)
					     : object->json;
	/* Without its autoscaler an object is applied again, with the manifest's replicas. */
	uint64_t hash = hash_of(desired) + is_scaled(application, object);
	int code = -EAGAIN;

	if (is_unchanged(application, object, hash) || !may_repair(application, object, hash))
		return 0;
	for (unsigned i = 0; i < TRIES && code == -EAGAIN; i++)
		code = apply_once(application, arena, object, desired, hash, err);
	if (code < 0 && code != -EPERM && code != -ECANCELED)
		return err_prefix(err, code, "%.*s '%.*s'", SPAN_ARGS(object->kind),
			SPAN_ARGS(object->name));
	return code;
}

/* Nothing of a version is applied if an object of it belongs to others. */
static int check_owners(struct application *application, const struct release_manifest *manifest,
	struct err *err)
{
	const struct object_calls *calls = &application->applier->calls;

	for (size_t i = 0; i < manifest->count; i++) {
		_arena_ struct arena *arena = arena_new(0);
		const struct release_object *object = &manifest->objects[i];
		struct object_id id = id_of(application->release, object);
		struct kube_target target;
		struct json *live;
		int code = object_target(calls, &id, &target, err);

		if (code == 0)
			code = object_get(calls, &id, arena, &live, err);
		if (code == 0)
			code = check_owner(arena, application->release, object, target.kind, live,
				err);
		/* Also a kind that an object before it in the manifest defines. */
		if (code < 0 && code != -ENOENT)
			return code;
	}
	return 0;
}

/* Objects that left the manifest are no longer remembered: they may be deleted. */
static void forget_others(struct release_memory *memory, const struct release_manifest *manifest)
{
	_arena_ struct arena *arena = arena_new(0);
	_map_ struct map kept = {0};

	for (size_t i = 0; i < manifest->count; i++)
		map_put(&kept, memory_key(arena, &manifest->objects[i]), memory);
	MAP_EACH (&memory->objects, entry)
		if (!map_has(&kept, entry->key))
			free(map_remove(&memory->objects, entry->key));
}

int release_apply(const struct release_applier *applier, const struct release_snapshot *release,
	const struct release_manifest *manifest, struct release_memory *memory,
	struct release_applied *ret_applied, struct err *err)
{
	struct application application = {.applier = applier,
		.release = release,
		.memory = memory,
		.first = release->version != release->applied_version};
	int code = application.first ? check_owners(&application, manifest, err) : 0;

	for (size_t i = 0; i < manifest->count && code == 0; i++)
		code = apply_object(&application, &manifest->objects[i], err);
	if (code < 0)
		return code;
	forget_others(memory, manifest);
	*ret_applied = application.result;
	return 0;
}

/* ---- observing ---- */

static void observe(const struct release_applier *applier, const struct release_snapshot *release,
	const struct release_object *object, const struct release_memory *memory,
	struct arena *arena, struct release_observation *ret_observation)
{
	const struct remembered *remembered = recall(memory, object);
	struct release_type type = type_of(object);
	_kube_object_ const struct kube_object *seen =
		release_watch_object(applier->watch, &type, release->namespace, object->name);
	const struct release_live *live = seen ? seen->data : NULL;

	if (!live && is_kind(object, "batch", "Job") &&
		release->version == release->applied_version) {
		*ret_observation =
			(struct release_observation){.message = SPAN("")}; /* it is over */
		return;
	}
	if (!live || !remembered || live->content != remembered->content) {
		*ret_observation = (struct release_observation){.phase = RELEASE_PHASE_PROGRESSING,
			.message = SPAN("the change was not observed yet")};
		return;
	}
	*ret_observation = (struct release_observation){.phase = live->phase,
		.message = arena_copy_span(arena, live->message),
		.pods = live->pods,
		.updated_pods = live->updated_pods,
		.ready_pods = live->ready_pods};
}

int release_observe(const struct release_applier *applier, const struct release_snapshot *release,
	const struct release_manifest *manifest, const struct release_memory *memory,
	struct arena *arena, struct release_observation **ret_observations, struct err *err)
{
	struct release_observation *observations =
		arena_allocate_array(arena, manifest->count + 1, sizeof(*observations));
	int64_t deadline_us = runner_deadline_us(applier->runner, SYNC_US);

	for (size_t i = 0; i < manifest->count; i++) {
		struct release_type type = type_of(&manifest->objects[i]);
		int code = release_watch_type(applier->watch, &type, deadline_us, err);

		if (code < 0)
			return code;
		observe(applier, release, &manifest->objects[i], memory, arena, &observations[i]);
	}
	*ret_observations = observations;
	return 0;
}

/* ---- garbage collection ---- */

static bool is_remembered_uid(const struct release_memory *memory, struct span uid)
{
	MAP_EACH (&memory->objects, entry) {
		const struct remembered *remembered = entry->value;

		if (span_is(uid, remembered->uid))
			return true;
	}
	return false;
}

/* Owned by the Release and by nothing else. */
static bool is_sole_owner(const struct release_snapshot *release, const struct kube_object *object)
{
	const struct release_live *live = object->data;
	_arena_ struct arena *arena = arena_new(0);

	if (object->namespace.length == 0)
		return span_equal(live->owner, owner_text(arena, release));
	return live->owner_count == 1 && span_equal(live->owner_uids[0], release->uid);
}

static int delete_object(const struct release_applier *applier, const struct release_type *type,
	const struct kube_object *object, struct err *err)
{
	struct object_id id = {.api_version = type->api_version,
		.kind = type->kind,
		.name = object->name,
		.namespace = object->namespace};
	int code = object_delete(&applier->calls, &id, object->uid, err);

	/* Another object has the name by now: that one's watch will report it. */
	if (code == -EAGAIN)
		return 0;
	return code < 0 ? err_prefix(err, code, "delete %.*s '%.*s'", SPAN_ARGS(type->kind),
				  SPAN_ARGS(object->name))
			: 0;
}

static bool is_garbage(const struct release_snapshot *release,
	const struct release_manifest *manifest, const struct release_memory *memory,
	const struct release_type *type, const struct kube_object *object)
{
	const struct release_live *live = object->data;

	return !live->deleting && is_sole_owner(release, object) &&
	       !release_manifest_find(manifest, type->api_version, type->kind, object->name) &&
	       /* The same object under another API group. */
	       !is_remembered_uid(memory, object->uid);
}

/* Also finds the latest time until which pods drain. */
static int collect_type(const struct release_applier *applier,
	const struct release_snapshot *release, const struct release_manifest *manifest,
	const struct release_memory *memory, const struct release_type *type, bool deletes,
	int64_t *drain_until_ms, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	_kube_object_list_ struct kube_object_list list = {0};
	int code = 0;

	release_watch_objects(applier->watch, type, release->namespace, release->name, arena,
		&list);
	for (size_t i = 0; i < list.count && code == 0; i++) {
		const struct release_live *live = list.objects[i]->data;

		if (live->drain_until_ms > *drain_until_ms)
			*drain_until_ms = live->drain_until_ms;
		if (deletes && is_garbage(release, manifest, memory, type, list.objects[i]))
			code = delete_object(applier, type, list.objects[i], err);
	}
	return code;
}

int release_collect(const struct release_applier *applier, const struct release_snapshot *release,
	const struct release_manifest *manifest, const struct release_memory *memory,
	const struct release_type *types, size_t type_count, int64_t *ret_again_ms, struct err *err)
{
	int64_t deadline_us = runner_deadline_us(applier->runner, SYNC_US), drain_until_ms = 0;
	int code = 0;

	for (size_t i = 0; i < type_count && code == 0; i++) {
		code = release_watch_type(applier->watch, &types[i], deadline_us, err);
		/* A kind that the server no longer has, has no objects. */
		if (code == -ENOENT)
			code = 0;
		if (code == 0)
			code = collect_type(applier, release, manifest, memory, &types[i], false,
				&drain_until_ms, err);
	}
	*ret_again_ms = 0;
	if (code == 0 && drain_until_ms > runner_wall_ms(applier->runner)) {
		*ret_again_ms = drain_until_ms;
		return 0;
	}
	for (size_t i = 0; i < type_count && code == 0; i++)
		code = collect_type(applier, release, manifest, memory, &types[i], true,
			&drain_until_ms, err);
	return code;
}

/* ---- objects without a namespace ---- */

int release_has_cluster_objects(const struct release_applier *applier,
	const struct release_manifest *manifest, bool *ret_has, struct err *err)
{
	bool has = false;

	for (size_t i = 0; i < manifest->count && !has; i++) {
		const struct kube_kind *kind = NULL;
		int code = kube_kind_find(applier->calls.client, manifest->objects[i].api_version,
			manifest->objects[i].kind, &kind, err);

		if (code < 0 && code != -ENOENT)
			return code;
		has = code == 0 && !kind->namespaced;
	}
	*ret_has = has;
	return 0;
}

int release_delete_cluster_objects(const struct release_applier *applier,
	const struct release_snapshot *release, const struct release_type *types, size_t type_count,
	bool *ret_left, struct err *err)
{
	int64_t deadline_us = runner_deadline_us(applier->runner, SYNC_US);

	*ret_left = false;
	for (size_t i = 0; i < type_count; i++) {
		_arena_ struct arena *arena = arena_new(0);
		_kube_object_list_ struct kube_object_list list = {0};
		int code = release_watch_type(applier->watch, &types[i], deadline_us, err);

		if (code == -ENOENT)
			continue;
		if (code < 0)
			return code;
		if (release_watch_is_namespaced(applier->watch, &types[i]))
			continue;
		release_watch_objects(applier->watch, &types[i], release->namespace, release->name,
			arena, &list);
		for (size_t j = 0; j < list.count; j++) {
			const struct release_live *live = list.objects[j]->data;

			*ret_left = true;
			if (!live->deleting)
				code = delete_object(applier, &types[i], list.objects[j], err);
			if (code < 0)
				return code;
		}
	}
	return 0;
}
