/* Calls about one object: each is a method, a path with its query, and a body. */
#include "base/memory.h"
#include "kube/client.h"
#include "kube/discovery.h"
#include "kube/request.h"

/* A call in the making. */
struct making {
	struct kube_client *client;
	struct kube_resource resource;
	const struct kube_options *options;
	struct buffer path;
};

static void making_clear(struct making *making)
{
	buffer_clear(&making->path);
}

static int make(struct making *making, struct kube_client *client, const struct kube_target *target,
	const struct kube_options *options, struct err *err)
{
	int code;

	*making = (struct making){
		.client = client, .options = options, .path = BUFFER_WITH_CAP(KUBE_PATH_MAX)};
	if (options && options->failure)
		*options->failure = (struct kube_failure){0};
	code = kube_discovery_find(client, target->kind, options, &making->resource, err);
	if (code == 0)
		code = kube_path_write(&making->resource, target, &making->path, err);
	return code;
}

/* The query parameters of every call that changes an object. */
static void add_change(struct making *making)
{
	bool own = making->options && making->options->field_manager;

	kube_query_add(&making->path, "fieldManager",
		span_of(own ? making->options->field_manager : making->client->field_manager));
	if (making->options && making->options->dry_run)
		kube_query_add(&making->path, "dryRun", SPAN("All"));
}

static int send(struct making *making, const char *method, const char *content_type,
	const struct json *body, bool fresh, struct arena *arena, struct json **ret_answer,
	struct err *err)
{
	struct kube_request request = {
		.method = method,
		.path = buffer_span(&making->path),
		.body = body ? json_to_text(body, arena) : SPAN_NONE,
		.content_type = content_type,
		.fresh = fresh,
		.options = making->options,
	};
	struct kube_failure own = {0};
	struct kube_options options = making->options ? *making->options : (struct kube_options){0};
	int code;

	code = kube_path_check(&making->path, err);
	if (code < 0)
		return code;
	if (!options.failure)
		options.failure = &own;
	request.options = &options;
	code = kube_request_json(making->client, &request, arena, ret_answer, err);
	/* An answer without a Status is not about an object: the version itself has gone. */
	if (code == -ENOENT && options.failure->reason[0] == '\0')
		kube_discovery_forget(making->client);
	return code;
}

/* The object with the version and kind that it is sent as. */
static const struct json *complete(const struct making *making, const struct json *object,
	struct arena *arena)
{
	struct json *whole;

	if (json_get(object, "apiVersion") && json_get(object, "kind"))
		return object;
	whole = json_new_object(arena);
	json_set_string(arena, whole, "apiVersion", span_of(making->resource.api_version));
	json_set_string(arena, whole, "kind", span_of(making->resource.kind->kind));
	for (size_t i = 0; json_is(object, JSON_OBJECT) && i < object->object.count; i++) {
		const struct json_member *member = &object->object.members[i];

		json_set(arena, whole, arena_copy(arena, member->name.data, member->name.length),
			member->value);
	}
	return whole;
}

int kube_get(struct kube_client *client, const struct kube_target *target,
	const struct kube_options *options, struct arena *arena, struct json **ret_object,
	struct err *err)
{
	CLEANUP(making_clear) struct making making = {0};
	int code;

	code = make(&making, client, target, options, err);
	if (code < 0)
		return code;
	return send(&making, "GET", NULL, NULL, false, arena, ret_object, err);
}

int kube_create(struct kube_client *client, const struct kube_target *target,
	const struct json *object, const struct kube_options *options, struct arena *arena,
	struct json **ret_object, struct err *err)
{
	struct kube_target where = *target;
	CLEANUP(making_clear) struct making making = {0};
	bool named = json_get_text(json_get(object, "metadata"), "name").length > 0;
	int code;

	/* Those of a subresource (a binding, an eviction) are made under the name of its object. */
	if (!target->subresource)
		where.name = SPAN_NONE;
	code = make(&making, client, &where, options, err);
	if (code < 0)
		return code;
	if (making.resource.namespaced && !target->namespace.data)
		return err_set(err, -EINVAL, "%s: needs a namespace to be made in",
			target->kind->kind);
	add_change(&making);
	return send(&making, "POST", NULL,
		target->subresource ? object : complete(&making, object, arena),
		!named && !target->subresource, arena, ret_object, err);
}

int kube_update(struct kube_client *client, const struct kube_target *target,
	const struct json *object, const struct kube_options *options, struct arena *arena,
	struct json **ret_object, struct err *err)
{
	CLEANUP(making_clear) struct making making = {0};
	int code;

	code = make(&making, client, target, options, err);
	if (code < 0)
		return code;
	add_change(&making);
	return send(&making, "PUT", NULL, complete(&making, object, arena), false, arena,
		ret_object, err);
}

int kube_patch(struct kube_client *client, const struct kube_target *target,
	enum kube_patch_type type, const struct json *patch, const struct kube_options *options,
	struct arena *arena, struct json **ret_object, struct err *err)
{
	static const char *const types[] = {
		[KUBE_PATCH_MERGE] = "application/merge-patch+json",
		[KUBE_PATCH_JSON] = "application/json-patch+json",
		[KUBE_PATCH_STRATEGIC] = "application/strategic-merge-patch+json",
	};
	CLEANUP(making_clear) struct making making = {0};
	int code;

	code = make(&making, client, target, options, err);
	if (code < 0)
		return code;
	add_change(&making);
	return send(&making, "PATCH", types[type], patch, false, arena, ret_object, err);
}

int kube_apply(struct kube_client *client, const struct kube_target *target,
	const struct json *object, bool force, const struct kube_options *options,
	struct arena *arena, struct json **ret_object, struct err *err)
{
	CLEANUP(making_clear) struct making making = {0};
	int code;

	code = make(&making, client, target, options, err);
	if (code < 0)
		return code;
	add_change(&making);
	if (force)
		kube_query_add(&making.path, "force", SPAN("true"));
	/* Every JSON text is YAML. */
	return send(&making, "PATCH", "application/apply-patch+yaml",
		complete(&making, object, arena), false, arena, ret_object, err);
}

struct json *kube_deletion_write(const struct kube_deletion *deletion, struct arena *arena)
{
	static const char *const policies[] = {
		[KUBE_PROPAGATION_ORPHAN] = "Orphan",
		[KUBE_PROPAGATION_BACKGROUND] = "Background",
		[KUBE_PROPAGATION_FOREGROUND] = "Foreground",
	};
	struct json *object = json_new_object(arena), *conditions = json_new_object(arena);

	if (deletion->propagation != KUBE_PROPAGATION_DEFAULT)
		json_set_string(arena, object, "propagationPolicy",
			span_of(policies[deletion->propagation]));
	if (deletion->has_grace_period)
		json_set_integer(arena, object, "gracePeriodSeconds", deletion->grace_period_s);
	if (deletion->uid.data)
		json_set_string(arena, conditions, "uid", deletion->uid);
	if (deletion->resource_version.data)
		json_set_string(arena, conditions, "resourceVersion", deletion->resource_version);
	if (json_count(conditions) > 0)
		json_set(arena, object, "preconditions", conditions);
	return object;
}

int kube_delete(struct kube_client *client, const struct kube_target *target,
	const struct kube_deletion *deletion, const struct kube_options *options, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	CLEANUP(making_clear) struct making making = {0};
	struct json *body = NULL;
	int code;

	if (!target->name.data)
		return err_set(err, -EINVAL, "%s: which one is to be deleted is not said",
			target->kind->kind);
	code = make(&making, client, target, options, err);
	if (code < 0)
		return code;
	if (options && options->dry_run)
		kube_query_add(&making.path, "dryRun", SPAN("All"));
	if (deletion) {
		body = kube_deletion_write(deletion, arena);
		json_set_string(arena, body, "apiVersion", SPAN("v1"));
		json_set_string(arena, body, "kind", SPAN("DeleteOptions"));
	}
	return send(&making, "DELETE", NULL, body, false, arena, NULL, err);
}

int kube_scale(struct kube_client *client, const struct kube_target *target, int64_t replicas,
	const struct kube_options *options, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	struct kube_target scale = *target;
	struct json *patch = json_new_object(arena), *spec = json_new_object(arena), *answer;

	scale.subresource = "scale";
	json_set_integer(arena, spec, "replicas", replicas);
	json_set(arena, patch, "spec", spec);
	return kube_patch(client, &scale, KUBE_PATCH_MERGE, patch, options, arena, &answer, err);
}

int kube_raw(struct kube_client *client, const char *method, const char *path,
	const struct json *body, const struct kube_options *options, struct arena *arena,
	struct json **ret_answer, struct err *err)
{
	struct http_client_response *response;
	struct kube_request request = {
		.method = method,
		.path = span_of(path),
		.body = body ? json_to_text(body, arena) : SPAN_NONE,
		.accept = "application/json, */*",
		.options = options,
	};
	struct json *answer;
	int code;

	if (path[0] != '/')
		return err_set(err, -EINVAL, "a path must begin with a slash");
	code = kube_request_send(client, &request, arena, &response, err);
	if (code < 0)
		return code;
	if (json_parse(response->body, arena, &answer, NULL) < 0)
		answer = json_new_string(arena, response->body);
	*ret_answer = answer;
	return 0;
}
