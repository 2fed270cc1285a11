/* See the header. */
#include "runtime/kubernetes/objects.h"

#include "base/base64.h"
#include "base/memory.h"
#include "runtime/kubernetes/names.h"
#include "runtime/kubernetes/rolling.h"

static struct json *new_metadata(struct arena *arena, struct span namespace, struct span name,
	const struct json *labels, const struct json *annotations)
{
	struct json *metadata = json_new_object(arena);

	json_set_string(arena, metadata, "name", name);
	if (namespace.length > 0)
		json_set_string(arena, metadata, "namespace", namespace);
	json_set(arena, metadata, "labels", labels);
	json_set(arena, metadata, "annotations", annotations);
	return metadata;
}

static struct json *new_document(struct arena *arena, const struct json *metadata,
	const struct json *spec)
{
	struct json *document = json_new_object(arena);

	json_set(arena, document, "metadata", metadata);
	json_set(arena, document, "spec", spec);
	return document;
}

static struct json *finalizers(struct arena *arena)
{
	struct json *list = json_new_array(arena);

	json_append(arena, list, json_new_string(arena, SPAN(KUBERNETES_FINALIZER)));
	return list;
}

struct json *kubernetes_namespace_document(struct arena *arena, struct span name, struct span host,
	struct span cluster_arn)
{
	struct json *annotations = json_new_object(arena);

	json_set_string(arena, annotations, KUBERNETES_HOST, host);
	json_set_string(arena, annotations, KUBERNETES_CLUSTER, cluster_arn);
	return new_document(arena,
		new_metadata(arena, SPAN(""), name, kubernetes_labels(arena, host), annotations),
		NULL);
}

struct json *kubernetes_pod_document(struct arena *arena, struct span namespace, struct span name,
	const struct kubernetes_template *template)
{
	struct json *metadata =
		new_metadata(arena, namespace, name, template->labels, template->annotations);

	json_set(arena, metadata, "finalizers", finalizers(arena));
	return new_document(arena, metadata, template->spec);
}

/* ---- groups ---- */

static const char *const selecting[] = {
	KUBERNETES_LABEL_MANAGED, KUBERNETES_LABEL_OWNER, KUBERNETES_LABEL_GROUP};
static const char *const identifying[] = {
	KUBERNETES_HOST, KUBERNETES_CLUSTER, KUBERNETES_GROUP, KUBERNETES_VERSION};

static struct json *pick(struct arena *arena, const struct json *from, const char *const *names,
	size_t count)
{
	struct json *built = json_new_object(arena);

	for (size_t i = 0; i < count; i++)
		json_set(arena, built, names[i], json_get(from, names[i]));
	return built;
}

static void set_numbers(struct arena *arena, struct json *spec, const struct runtime_group *group,
	int64_t nodes)
{
	/* The ready time of a pod is stored in whole seconds, so it could seem a second older. */
	json_set_integer(arena, spec, "minReadySeconds",
		group->settle_seconds > 0 ? group->settle_seconds + 1 : 0);
	if (group->daemon) {
		json_set(arena, spec, "updateStrategy",
			kubernetes_rolling_write_daemon(arena, group->minimum_healthy, nodes));
		return;
	}
	json_set_integer(arena, spec, "replicas", group->desired);
	json_set(arena, spec, "strategy",
		kubernetes_rolling_write(arena, kubernetes_rolling_of(group->desired,
							group->minimum_healthy, group->maximum)));
}

struct json *kubernetes_group_document(struct arena *arena, struct span namespace, struct span name,
	const struct runtime_group *group, const struct kubernetes_template *template,
	struct span secrets, int64_t nodes)
{
	struct json *labels = pick(arena, template->labels, selecting, LENGTH(selecting));
	struct json *spec = json_new_object(arena), *selector = json_new_object(arena);
	struct json *inner = json_new_object(arena);
	struct json *annotations =
		pick(arena, template->annotations, identifying, LENGTH(identifying));

	json_set(arena, inner, "labels", template->labels);
	json_set(arena, inner, "annotations", template->annotations);
	json_set(arena, inner, "finalizers", finalizers(arena));
	json_set(arena, selector, "matchLabels", labels);
	set_numbers(arena, spec, group, nodes);
	json_set_integer(arena, spec, "revisionHistoryLimit", KUBERNETES_REVISIONS_KEPT);
	json_set(arena, spec, "selector", selector);
	json_set(arena, spec, "template", new_document(arena, inner, template->spec));
	if (secrets.data)
		json_set_string(arena, annotations, KUBERNETES_SECRET, secrets);
	return new_document(arena,
		new_metadata(arena, namespace, name, template->labels, annotations), spec);
}

static void add_operation(struct arena *arena, struct json *list, const char *what,
	struct span path, const struct json *value)
{
	struct json *operation = json_new_object(arena);

	json_set_string(arena, operation, "op", span_of(what));
	json_set_string(arena, operation, "path", path);
	json_set(arena, operation, "value", value);
	json_append(arena, list, operation);
}

/* Keys of labels and annotations have slashes, and never a tilde. */
static void add_members(struct arena *arena, struct json *list, const char *path,
	const struct json *object)
{
	for (size_t i = 0; i < json_count(object); i++) {
		const struct json_member *member = &object->object.members[i];
		_buffer_ struct buffer key = {0};

		for (size_t place = 0; place < member->name.length; place++)
			if (member->name.data[place] == '/')
				buffer_add_string(&key, "~1");
			else
				buffer_add_char(&key, member->name.data[place]);
		add_operation(arena, list, "add",
			arena_format(arena, "%s/%.*s", path, SPAN_ARGS(buffer_span(&key))),
			member->value);
	}
}

struct json *kubernetes_group_replacement(struct arena *arena, const struct json *document,
	struct span uid)
{
	struct json *list = json_new_array(arena);

	add_operation(arena, list, "replace", SPAN("/metadata/uid"), json_new_string(arena, uid));
	add_members(arena, list, "/metadata/labels", json_path(document, "metadata.labels"));
	add_members(arena, list, "/metadata/annotations",
		json_path(document, "metadata.annotations"));
	add_operation(arena, list, "replace", SPAN("/spec"), json_get(document, "spec"));
	return list;
}

struct json *kubernetes_group_secrets(struct arena *arena, struct span secrets, struct span uid)
{
	struct json *patch = json_new_object(arena), *metadata = json_new_object(arena);
	struct json *annotations = json_new_object(arena);

	json_set_string(arena, annotations, KUBERNETES_SECRET, secrets);
	json_set_string(arena, metadata, "uid", uid);
	json_set(arena, metadata, "annotations", annotations);
	json_set(arena, patch, "metadata", metadata);
	return patch;
}

struct json *kubernetes_group_numbers(struct arena *arena, const struct runtime_group *group,
	int64_t nodes)
{
	struct json *spec = json_new_object(arena), *patch = json_new_object(arena);

	set_numbers(arena, spec, group, nodes);
	json_set(arena, patch, "spec", spec);
	return patch;
}

/* ---- secrets ---- */

static struct json *write_owner(struct arena *arena, const struct kubernetes_owner *owner)
{
	struct json *reference = json_new_object(arena), *list = json_new_array(arena);

	json_set_string(arena, reference, "apiVersion", span_of(owner->api_version));
	json_set_string(arena, reference, "kind", span_of(owner->kind));
	json_set_string(arena, reference, "name", owner->name);
	json_set_string(arena, reference, "uid", owner->uid);
	json_append(arena, list, reference);
	return list;
}

/* As "data": server-side apply does not own keys that come as "stringData". */
static struct json *encode(struct arena *arena, const struct json *texts)
{
	struct json *built = json_new_object(arena);

	for (size_t i = 0; i < json_count(texts); i++) {
		const struct json_member *member = &texts->object.members[i];
		_buffer_ struct buffer text = {0};

		base64_encode(json_text(member->value), &text);
		json_set_string(arena, built,
			arena_copy(arena, member->name.data, member->name.length),
			buffer_span(&text));
	}
	return built;
}

struct json *kubernetes_owner_patch(struct arena *arena, const struct kubernetes_owner *owner,
	struct span uid)
{
	struct json *patch = json_new_object(arena), *metadata = json_new_object(arena);

	json_set_string(arena, metadata, "uid", uid);
	json_set(arena, metadata, "ownerReferences", write_owner(arena, owner));
	json_set(arena, patch, "metadata", metadata);
	return patch;
}

struct json *kubernetes_secret_document(struct arena *arena, struct span namespace,
	struct span name, const struct kubernetes_template *template,
	const struct kubernetes_owner *owner)
{
	static const char *const named[] = {KUBERNETES_HOST, KUBERNETES_CLUSTER, KUBERNETES_GROUP,
		KUBERNETES_VERSION, KUBERNETES_TASK};
	struct json *metadata = new_metadata(arena, namespace, name, template->labels,
		pick(arena, template->annotations, named, LENGTH(named)));
	struct json *document;

	if (owner)
		json_set(arena, metadata, "ownerReferences", write_owner(arena, owner));
	document = new_document(arena, metadata, NULL);
	json_set(arena, document, "data", encode(arena, template->secrets));
	return document;
}
