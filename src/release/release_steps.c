/* See release_steps.h. */
#include "release/release_steps.h"

#include "base/memory.h"
#include "release/release_adjust.h"
#include "release/release_names.h"
#include "release/release_status.h"
#include "release/render.h"

/* The name is the value of a label. */
#define NAME_MAX_LENGTH 63

static struct object_id release_id(const struct release_snapshot *release)
{
	return (struct object_id){.api_version = SPAN(RELEASE_API_VERSION),
		.kind = SPAN("Release"),
		.name = release->name,
		.namespace = release->namespace};
}

/* Writes a patch that has one member, "spec" or "status", onto the Release as it was read. */
static int patch_release(const struct object_calls *calls, const struct release_snapshot *release,
	const char *member, const struct json *value, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	struct json *patch = json_new_object(arena), *metadata = json_new_object(arena), *answer;
	struct object_id id = release_id(release);
	bool status = strcmp(member, "status") == 0;

	json_set_string(arena, metadata, "resourceVersion", release->resource_version);
	json_set(arena, patch, "metadata", metadata);
	json_set(arena, patch, member, value);
	return object_merge(calls, &id, status ? "status" : NULL, patch, arena, &answer, err);
}

/* ---- versions ---- */

static const struct json *make_history(struct arena *arena, const struct release_snapshot *release,
	int64_t version, struct span manifest)
{
	struct json *history = json_new_object(arena), *metadata = json_new_object(arena);
	struct json *labels = json_new_object(arena), *spec = json_new_object(arena);
	struct object_owner owner = {.api_version = SPAN(RELEASE_API_VERSION),
		.kind = SPAN("Release"),
		.name = release->name,
		.uid = release->uid,
		.controller = true};

	json_set_string(arena, labels, RELEASE_LABEL, release->name);
	json_set(arena, labels, RELEASE_VERSION_LABEL,
		json_new_format(arena, "%lld", (long long)version));
	json_set_string(arena, metadata, "name",
		release_history_name(arena, release->name, version));
	json_set_string(arena, metadata, "namespace", release->namespace);
	json_set(arena, metadata, "labels", labels);
	if (release->description.length > 0)
		json_set_string(arena, spec, "description", release->description);
	json_set_integer(arena, spec, "version", version);
	json_set_string(arena, spec, "template", release->source.template_text);
	/* Some API servers take an empty text for null, and reject it. */
	if (release->source.config.length > 0)
		json_set_string(arena, spec, "config", release->source.config);
	json_set(arena, spec, "naming", release->source.naming);
	json_set_string(arena, spec, "manifest", manifest);
	json_set_string(arena, history, "apiVersion", SPAN(RELEASE_API_VERSION));
	json_set_string(arena, history, "kind", SPAN("ReleaseHistory"));
	json_set(arena, history, "metadata", metadata);
	json_set(arena, history, "spec", spec);
	return object_with_owners(arena, history, &owner, 1);
}

static int render_version(const struct release_steps *steps, const struct release_snapshot *release,
	int64_t version, struct arena *arena, struct span *ret_text, struct err *err)
{
	struct release_render render = {.source = release->source,
		.name = release->name,
		.namespace = release->namespace,
		.version = version,
		.kube_version = steps->kube_version};
	struct release_manifest manifest;
	struct span text = SPAN("");
	int code = release_render_manifest(arena, &render, &manifest, err);

	if (code == 0)
		code = release_manifest_write(arena, &manifest, &text, err);
	if (code == 0)
		code = release_check_size(&release->source, text, err);
	if (code == 0)
		*ret_text = text;
	return code;
}

int release_write_version(const struct release_steps *steps, const struct release_snapshot *release,
	int64_t version, struct arena *arena, struct release_failure *ret_failure, struct err *err)
{
	struct err failure = {0};
	struct span text = SPAN("");
	struct json *answer;
	int code = release->name.length > NAME_MAX_LENGTH
			   ? err_set(&failure, -ENAMETOOLONG,
				     "the name is longer than %d characters", NAME_MAX_LENGTH)
			   : render_version(steps, release, version, arena, &text, &failure);

	*ret_failure = (struct release_failure){NULL, SPAN("")};
	if (code < 0) {
		ret_failure->reason = code == -EFBIG          ? "TooLarge"
				      : code == -ENAMETOOLONG ? "InvalidName"
							      : "RenderFailed";
		ret_failure->message = arena_copy_span(arena, span_of(failure.message));
		return 0;
	}
	code = object_create(steps->calls, make_history(arena, release, version, text), SPAN_NONE,
		arena, &answer, err);
	return code == -EEXIST ? err_set(err, -EAGAIN, "a history of version %lld exists",
					 (long long)version)
			       : code;
}

int release_read_history(const struct object_calls *calls, const struct release_snapshot *release,
	int64_t version, struct arena *arena, struct release_history *ret_history, struct err *err)
{
	struct release_histories histories;
	struct json *object, *items = json_new_array(arena);
	struct object_id id = {.api_version = SPAN(RELEASE_API_VERSION),
		.kind = SPAN("ReleaseHistory"),
		.name = release_history_name(arena, release->name, version),
		.namespace = release->namespace};
	int code = object_get(calls, &id, arena, &object, err);

	if (code < 0)
		return code;
	json_append(arena, items, object);
	release_histories_read(arena, items, release, &histories);
	if (histories.count != 1 || histories.items[0].version != version)
		return err_set(err, -ENOENT, "ReleaseHistory '%.*s' is not one of version %lld",
			SPAN_ARGS(id.name), (long long)version);
	*ret_history = histories.items[0];
	return 0;
}

int release_record_version(const struct release_steps *steps,
	const struct release_snapshot *release, const struct release_history *history,
	int64_t newest_version, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);

	return release_write_status(steps->calls, release,
		release_status_record(arena, release, history, newest_version, steps->now_ms), err);
}

int release_restore_source(const struct release_steps *steps,
	const struct release_snapshot *release, const struct release_history *history,
	struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	struct json *spec = json_new_object(arena), *rollback = json_new_object(arena);

	json_set_string(arena, spec, "template", history->source.template_text);
	json_set(arena, spec, "config",
		history->source.config.length > 0 ? json_new_string(arena, history->source.config)
						  : json_new_null(arena));
	/* A merge patch would keep names that the version does not have. */
	json_set(arena, spec, "naming",
		release_merge_patch(arena, release->source.naming,
			history->source.naming ? history->source.naming : json_new_null(arena)));
	json_set_integer(arena, rollback, "version", history->version);
	json_set(arena, spec, "rollbackTo", rollback);
	return patch_release(steps->calls, release, "spec", spec, err);
}

int release_clear_rollback(const struct release_steps *steps,
	const struct release_snapshot *release, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	struct json *spec = json_new_object(arena);

	json_set(arena, spec, "rollbackTo", json_new_null(arena));
	return patch_release(steps->calls, release, "spec", spec, err);
}

int release_write_status(const struct object_calls *calls, const struct release_snapshot *release,
	const struct json *status, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	const struct json *patch = release_merge_patch(arena, release->status, status);

	return patch ? patch_release(calls, release, "status", patch, err) : 0;
}

int release_set_finalizer(const struct object_calls *calls, const struct release_snapshot *release,
	const struct json *object, bool present, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	struct json *finalizers = json_new_array(arena), *metadata = json_new_object(arena);
	struct json *patch = json_new_object(arena), *answer;
	struct object_id id = release_id(release);
	bool found = false;

	JSON_EACH_ITEM (json_get(json_get(object, "metadata"), "finalizers"), item) {
		if (span_is(json_text(item), RELEASE_FINALIZER))
			found = true;
		else
			json_append(arena, finalizers, item);
	}
	if (found == present)
		return 0;
	if (present)
		json_append(arena, finalizers, json_new_string(arena, SPAN(RELEASE_FINALIZER)));
	json_set_string(arena, metadata, "resourceVersion", release->resource_version);
	json_set(arena, metadata, "finalizers", finalizers);
	json_set(arena, patch, "metadata", metadata);
	return object_merge(calls, &id, NULL, patch, arena, &answer, err);
}
