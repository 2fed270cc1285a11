/* See object_calls.h. */
#include "release/object_calls.h"

#include "base/base64.h"
#include "base/buffer.h"
#include "base/memory.h"
#include "release/naming_edit.h"

struct object_id object_id_of(const struct json *object, struct span namespace)
{
	const struct json *metadata = json_get(object, "metadata");
	struct span own = json_get_text(metadata, "namespace");

	return (struct object_id){
		.api_version = json_get_text(object, "apiVersion"),
		.kind = json_get_text(object, "kind"),
		.name = json_get_text(metadata, "name"),
		.namespace = own.length > 0 ? own : namespace,
	};
}

int object_target(const struct object_calls *calls, const struct object_id *id,
	struct kube_target *ret_target, struct err *err)
{
	const struct kube_kind *kind = NULL;
	int code = kube_kind_find(calls->client, id->api_version, id->kind, &kind, err);

	if (code < 0)
		return code;
	*ret_target = (struct kube_target){
		.kind = kind,
		.namespace = kind->namespaced ? id->namespace : SPAN_NONE,
		.name = id->name,
	};
	return 0;
}

static struct kube_options make_options(const struct object_calls *calls)
{
	return (struct kube_options){
		.field_manager = calls->field_manager,
		.cancel = calls->cancel,
	};
}

/* A write's options; the last step before it is sent. */
static int begin_write(const struct object_calls *calls, struct kube_options *ret_options,
	struct err *err)
{
	struct kube_options options = make_options(calls);

	if (calls->lease && !kube_lease_is_held(calls->lease))
		return err_set(err, -ECANCELED, "the lease is not held");
	if (calls->lease)
		options.timeout_ms = kube_lease_margin_ms(calls->lease);
	*ret_options = options;
	return 0;
}

int object_get(const struct object_calls *calls, const struct object_id *id, struct arena *arena,
	struct json **ret_object, struct err *err)
{
	struct kube_options options = make_options(calls);
	struct kube_target target;
	int code = object_target(calls, id, &target, err);

	return code < 0 ? code : kube_get(calls->client, &target, &options, arena, ret_object, err);
}

static const struct json *add_protocol(struct arena *arena, const struct json *port, void *context)
{
	struct json *copy;

	(void)context;
	if (!json_is(port, JSON_OBJECT) || json_get(port, "protocol"))
		return port;
	copy = json_copy_object(arena, port);
	json_set_string(arena, copy, "protocol", SPAN("TCP"));
	return copy;
}

/* Ports are known by number and protocol, and Kubernetes before 1.21 does not apply one without its protocol. */
static const struct json *complete_ports(struct arena *arena, const struct json *object)
{
	static const char *const paths[] = {
		"spec.containers[].ports[]",
		"spec.initContainers[].ports[]",
		"spec.template.spec.containers[].ports[]",
		"spec.template.spec.initContainers[].ports[]",
		"spec.jobTemplate.spec.template.spec.containers[].ports[]",
		"spec.jobTemplate.spec.template.spec.initContainers[].ports[]",
	};

	if (span_is(json_get_text(object, "kind"), "Service") &&
		span_is(json_get_text(object, "apiVersion"), "v1"))
		return naming_edit(arena, object, "spec.ports[]", add_protocol, NULL);
	for (size_t i = 0; i < LENGTH(paths); i++)
		object = naming_edit(arena, object, paths[i], add_protocol, NULL);
	return object;
}

/* stringData is a field that can only be written: apply would own nothing of the data, so that keys which leave the
 * manifest stayed in the Secret. */
static const struct json *encode_secret(struct arena *arena, const struct json *secret)
{
	const struct json *texts = json_get(secret, "stringData"), *data = json_get(secret, "data");
	struct json *copy, *encoded;

	if (!json_is(texts, JSON_OBJECT))
		return secret;
	copy = json_copy_object(arena, secret);
	encoded =
		json_is(data, JSON_OBJECT) ? json_copy_object(arena, data) : json_new_object(arena);
	for (size_t i = 0; i < json_count(texts); i++) {
		const struct json_member *member = &texts->object.members[i];
		_buffer_ struct buffer text = {0};

		/* The API server says which member is no text. */
		if (!json_is(member->value, JSON_STRING))
			return secret;
		base64_encode(member->value->text, &text);
		json_set_string(arena, encoded,
			arena_copy(arena, member->name.data, member->name.length),
			text.data ? buffer_span(&text) : SPAN(""));
	}
	json_unset(copy, "stringData");
	json_set(arena, copy, "data", encoded);
	return copy;
}

static const struct json *complete(struct arena *arena, const struct json *object)
{
	if (span_is(json_get_text(object, "kind"), "Secret") &&
		span_is(json_get_text(object, "apiVersion"), "v1"))
		return encode_secret(arena, object);
	return complete_ports(arena, object);
}

int object_apply(const struct object_calls *calls, const struct json *object, struct span namespace,
	struct arena *arena, struct json **ret_object, struct err *err)
{
	struct object_id id = object_id_of(object, namespace);
	struct kube_options options;
	struct kube_target target;
	int code = object_target(calls, &id, &target, err);

	if (code == 0)
		code = begin_write(calls, &options, err);
	return code < 0 ? code
			: kube_apply(calls->client, &target, complete(arena, object), true,
				  &options, arena, ret_object, err);
}

int object_update(const struct object_calls *calls, const struct json *object, struct arena *arena,
	struct json **ret_object, struct err *err)
{
	struct object_id id = object_id_of(object, SPAN_NONE);
	struct kube_options options;
	struct kube_target target;
	int code;

	if (json_get_text(json_get(object, "metadata"), "resourceVersion").length == 0)
		return err_set(err, -EINVAL, "%.*s '%.*s': an update needs a resourceVersion",
			(int)id.kind.length, id.kind.data ? id.kind.data : "", (int)id.name.length,
			id.name.data ? id.name.data : "");
	code = object_target(calls, &id, &target, err);
	if (code == 0)
		code = begin_write(calls, &options, err);
	return code < 0 ? code
			: kube_update(calls->client, &target, object, &options, arena, ret_object,
				  err);
}

int object_merge(const struct object_calls *calls, const struct object_id *id,
	const char *subresource, const struct json *patch, struct arena *arena,
	struct json **ret_object, struct err *err)
{
	struct kube_options options;
	struct kube_target target;
	int code = object_target(calls, id, &target, err);

	if (code == 0)
		code = begin_write(calls, &options, err);
	if (code < 0)
		return code;
	target.subresource = subresource;
	return kube_patch(calls->client, &target, KUBE_PATCH_MERGE, patch, &options, arena,
		ret_object, err);
}

int object_create(const struct object_calls *calls, const struct json *object,
	struct span namespace, struct arena *arena, struct json **ret_object, struct err *err)
{
	struct object_id id = object_id_of(object, namespace);
	struct kube_options options;
	struct kube_target target;
	int code = object_target(calls, &id, &target, err);

	if (code == 0)
		code = begin_write(calls, &options, err);
	return code < 0 ? code
			: kube_create(calls->client, &target, object, &options, arena, ret_object,
				  err);
}

int object_delete(const struct object_calls *calls, const struct object_id *id, struct span uid,
	struct err *err)
{
	struct kube_deletion deletion = {.propagation = KUBE_PROPAGATION_BACKGROUND, .uid = uid};
	struct kube_options options;
	struct kube_target target;
	int code = object_target(calls, id, &target, err);

	if (code == 0)
		code = begin_write(calls, &options, err);
	if (code == 0)
		code = kube_delete(calls->client, &target, &deletion, &options, err);
	return code == -ENOENT ? 0 : code;
}

/* ---- ownership ---- */

bool object_is_owned(const struct json *object, struct span uid)
{
	const struct json *owners = json_get(json_get(object, "metadata"), "ownerReferences");

	JSON_EACH_ITEM (owners, owner)
		if (span_equal(json_get_text(owner, "uid"), uid))
			return true;
	return false;
}

struct json *object_with_owners(struct arena *arena, const struct json *object,
	const struct object_owner *owners, size_t count)
{
	struct json *copy = json_copy_object(arena, object), *references = json_new_array(arena);
	const struct json *metadata = json_get(object, "metadata");
	struct json *changed = json_is(metadata, JSON_OBJECT) ? json_copy_object(arena, metadata)
							      : json_new_object(arena);

	for (size_t i = 0; i < count; i++) {
		struct json *reference = json_new_object(arena);

		json_set_string(arena, reference, "apiVersion", owners[i].api_version);
		json_set_string(arena, reference, "kind", owners[i].kind);
		json_set_string(arena, reference, "name", owners[i].name);
		json_set_string(arena, reference, "uid", owners[i].uid);
		if (owners[i].controller)
			json_set_bool(arena, reference, "controller", true);
		json_append(arena, references, reference);
	}
	json_set(arena, changed, "ownerReferences", references);
	json_set(arena, copy, "metadata", changed);
	return copy;
}

/* With the uid an apply changes this object only, not one that was created with its name meanwhile. */
static const struct json *with_uid(struct arena *arena, const struct json *object, struct span uid)
{
	struct json *copy = json_copy_object(arena, object);
	struct json *metadata = json_copy_object(arena, json_get(object, "metadata"));

	json_set_string(arena, metadata, "uid", uid);
	json_set(arena, copy, "metadata", metadata);
	return copy;
}

int object_apply_owned(const struct object_calls *calls, const struct json *object,
	struct span namespace, struct span owner_uid, struct arena *arena, struct json **ret_object,
	struct err *err)
{
	struct object_id id = object_id_of(object, namespace);
	struct json *found;
	int code = object_get(calls, &id, arena, &found, err);

	if (code < 0 && code != -ENOENT)
		return code;
	if (code == 0 && !object_is_owned(found, owner_uid))
		return err_set(err, -EPERM, "%.*s '%.*s' exists and belongs to others",
			SPAN_ARGS(id.kind), SPAN_ARGS(id.name));
	if (code == 0)
		object = with_uid(arena, object, json_get_text(json_get(found, "metadata"), "uid"));
	return object_apply(calls, object, namespace, arena, ret_object, err);
}
