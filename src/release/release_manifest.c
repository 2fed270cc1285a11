#include "release/release_manifest.h"

#include "base/map.h"
#include "base/memory.h"
#include "base/yaml.h"
#include "release/release_names.h"

/* Kinds in the order in which they are applied: what others need comes first. Kinds that are not here come last. */
static const char *const order[] = {"Namespace", "NetworkPolicy", "ResourceQuota", "LimitRange",
	"PodSecurityPolicy", "PodDisruptionBudget", "ServiceAccount", "Secret", "ConfigMap",
	"StorageClass", "PersistentVolume", "PersistentVolumeClaim", "CustomResourceDefinition",
	"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "Service", "DaemonSet", "Pod",
	"ReplicationController", "ReplicaSet", "Deployment", "HorizontalPodAutoscaler",
	"StatefulSet", "Job", "CronJob", "Ingress", "APIService"};

static size_t rank(struct span kind)
{
	size_t i = 0;

	while (i < LENGTH(order) && !span_is(kind, order[i]))
		i++;
	return i;
}

struct span release_api_group(struct span api_version)
{
	struct span group, version;

	return span_split(api_version, '/', &group, &version) ? group : SPAN("");
}

/* ---- text ---- */

int release_manifest_read(struct arena *arena, struct span text,
	struct release_manifest *ret_manifest, struct err *err)
{
	struct yaml_document *documents = NULL;
	struct release_object *objects;
	size_t count = 0, used = 0;
	int code = text.length > 0 ? yaml_parse_documents(text, arena, &documents, &count, err) : 0;

	if (code < 0)
		return err_prefix(err, code, "the stored manifest");
	objects = arena_allocate_array(arena, count + 1, sizeof(*objects));
	for (size_t i = 0; i < count; i++) {
		const struct json *object = documents[i].value;
		const struct json *metadata = json_get(object, "metadata");
		struct span path =
			json_get_text(json_get(metadata, "annotations"), RELEASE_PATH_ANNOTATION);

		if (!json_is(object, JSON_OBJECT))
			continue;
		objects[used++] = (struct release_object){
			.api_version = json_get_text(object, "apiVersion"),
			.kind = json_get_text(object, "kind"),
			.name = json_get_text(metadata, "name"),
			.path = path.data ? path : SPAN(""),
			.json = object,
		};
	}
	*ret_manifest = (struct release_manifest){objects, used};
	return 0;
}

int release_manifest_write(struct arena *arena, const struct release_manifest *manifest,
	struct span *ret_text, struct err *err)
{
	_buffer_ struct buffer out = {0};

	for (size_t i = 0; i < manifest->count; i++) {
		const struct release_object *object = &manifest->objects[i];
		int code;

		if (i > 0)
			buffer_add_string(&out, "---\n");
		code = yaml_write(object->json, YAML_STYLE_KUBERNETES, &out, err);
		if (code < 0)
			return err_prefix(err, code, "%.*s '%.*s'", SPAN_ARGS(object->kind),
				SPAN_ARGS(object->name));
	}
	*ret_text = arena_copy_span(arena, buffer_span(&out));
	return 0;
}

/* ---- making ---- */

struct json *release_with_metadata(struct arena *arena, const struct json *object, const char *map,
	const char *name, struct span value)
{
	struct json *copy = json_copy_object(arena, object);
	const struct json *metadata = json_get(object, "metadata"), *entries;
	struct json *new_metadata = json_is(metadata, JSON_OBJECT)
					    ? json_copy_object(arena, metadata)
					    : json_new_object(arena);
	struct json *new_entries;

	entries = json_get(metadata, map);
	new_entries = json_is(entries, JSON_OBJECT) ? json_copy_object(arena, entries)
						    : json_new_object(arena);
	json_set_string(arena, new_entries, name, value);
	json_set(arena, new_metadata, map, new_entries);
	json_set(arena, copy, "metadata", new_metadata);
	return copy;
}

static int check_part(const struct json *object, struct span namespace, struct err *err)
{
	const struct json *metadata = json_get(object, "metadata");
	struct span kind = json_get_text(object, "kind"), name = json_get_text(metadata, "name");
	struct span own = json_get_text(metadata, "namespace");

	if (!json_is(object, JSON_OBJECT))
		return err_set(err, -EINVAL, "a manifest is %s, not an object",
			json_type_name(object->type));
	if (kind.length == 0 || json_get_text(object, "apiVersion").length == 0)
		return err_set(err, -EINVAL, "an object has no apiVersion or no kind");
	if (name.length == 0)
		return err_set(err, -EINVAL, "%.*s: metadata.name is missing", SPAN_ARGS(kind));
	if (own.length > 0 && !span_equal(own, namespace))
		return err_set(err, -EINVAL,
			"%.*s '%.*s' is in namespace '%.*s'; objects of a Release are in its own "
			"namespace, "
			"'%.*s'",
			SPAN_ARGS(kind), SPAN_ARGS(name), SPAN_ARGS(own), SPAN_ARGS(namespace));
	return 0;
}

static struct release_object make_object(struct arena *arena, const struct release_part *part,
	struct span release)
{
	struct json *json =
		release_with_metadata(arena, part->object, "labels", RELEASE_LABEL, release);
	struct json *metadata;

	if (part->path.length > 0)
		json = release_with_metadata(arena, json, "annotations", RELEASE_PATH_ANNOTATION,
			part->path);
	/* The namespace is given when it is applied: only then it is known which kinds have one. */
	metadata = json_copy_object(arena, json_get(json, "metadata"));
	json_unset(metadata, "namespace");
	json_set(arena, json, "metadata", metadata);
	json_unset(json, "status");
	return (struct release_object){
		.api_version = json_get_text(json, "apiVersion"),
		.kind = json_get_text(json, "kind"),
		.name = json_get_text(metadata, "name"),
		.path = part->path.data ? part->path : SPAN(""),
		.json = json,
	};
}

int release_manifest_make(struct arena *arena, const struct release_part *parts, size_t count,
	struct span release, struct span namespace, struct release_manifest *ret_manifest,
	struct err *err)
{
	_map_ struct map seen = {0};
	struct release_object *objects, *sorted;
	size_t used = 0;

	if (count > RELEASE_OBJECTS_MAX)
		return err_set(err, -E2BIG, "more than %d objects", RELEASE_OBJECTS_MAX);
	objects = arena_allocate_array(arena, count + 1, sizeof(*objects));
	sorted = arena_allocate_array(arena, count + 1, sizeof(*sorted));
	for (size_t i = 0; i < count; i++) {
		struct release_object *object = &objects[i];
		struct span key;
		int code = check_part(parts[i].object, namespace, err);

		if (code < 0)
			return code;
		*object = make_object(arena, &parts[i], release);
		key = arena_format(arena, "%.*s/%.*s/%.*s",
			SPAN_ARGS(release_api_group(object->api_version)), SPAN_ARGS(object->kind),
			SPAN_ARGS(object->name));
		if (map_has(&seen, key))
			return err_set(err, -EINVAL, "%.*s '%.*s' is there twice",
				SPAN_ARGS(object->kind), SPAN_ARGS(object->name));
		map_put(&seen, key, object);
	}
	/* Stable: objects of one kind stay in the order of the template. */
	for (size_t place = 0; place <= LENGTH(order); place++)
		for (size_t i = 0; i < count; i++)
			if (rank(objects[i].kind) == place)
				sorted[used++] = objects[i];
	*ret_manifest = (struct release_manifest){sorted, used};
	return 0;
}

const struct release_object *release_manifest_find(const struct release_manifest *manifest,
	struct span api_version, struct span kind, struct span name)
{
	struct span group = release_api_group(api_version);

	for (size_t i = 0; i < manifest->count; i++) {
		const struct release_object *object = &manifest->objects[i];

		if (span_equal(object->kind, kind) && span_equal(object->name, name) &&
			span_equal(release_api_group(object->api_version), group))
			return object;
	}
	return NULL;
}
