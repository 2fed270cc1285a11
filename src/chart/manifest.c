/* See manifest.h. */
#include "chart/manifest.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/yaml.h"
#include "chart/text.h"

static const char *const install_order[] = {"PriorityClass", "Namespace", "NetworkPolicy",
	"ResourceQuota", "LimitRange", "PodSecurityPolicy", "PodDisruptionBudget", "ServiceAccount",
	"Secret", "SecretList", "ConfigMap", "StorageClass", "PersistentVolume",
	"PersistentVolumeClaim", "CustomResourceDefinition", "ClusterRole", "ClusterRoleList",
	"ClusterRoleBinding", "ClusterRoleBindingList", "Role", "RoleList", "RoleBinding",
	"RoleBindingList", "Service", "DaemonSet", "Pod", "ReplicationController", "ReplicaSet",
	"Deployment", "HorizontalPodAutoscaler", "StatefulSet", "Job", "CronJob", "IngressClass",
	"Ingress", "APIService", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"};

static const char *const hook_events[] = {"pre-install", "post-install", "pre-delete",
	"post-delete", "pre-upgrade", "post-upgrade", "pre-rollback", "post-rollback", "test",
	"test-success"};

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

/* Where the next "---" at the begin of a line stands, or the end. Behind a separator and the space
 * that belongs to it, dashes are text. */
static size_t find_separator(struct span text, bool is_begin)
{
	for (size_t at = 0; at + 3 <= text.length; at++) {
		const char *dashes = memmem(text.data + at, text.length - at, "---", 3);

		if (!dashes)
			break;
		at = (size_t)(dashes - text.data);
		if (at == 0 ? is_begin : text.data[at - 1] == '\n')
			return at;
	}
	return text.length;
}

/* Cuts the next document off *rest, which begins as `text`, at lines of "---", without empty ones;
 * false at the end. */
static bool manifests_next_document(struct span text, struct span *rest, struct span *ret_document)
{
	while (rest->length) {
		size_t end = find_separator(*rest, rest->data == text.data), next = end;
		struct span document = {rest->data, end};

		if (end < rest->length) {
			next += 3;
			while (next < rest->length && is_space(rest->data[next]))
				next++;
			/* Space before a separator belongs to it; at the end of a file it stays. */
			while (document.length && is_space(document.data[document.length - 1]))
				document.length--;
		}
		while (document.length && is_space(document.data[0]))
			document = (struct span){document.data + 1, document.length - 1};
		*rest = (struct span){rest->data + next, rest->length - next};
		if (text_trim_space(document).length) {
			*ret_document = document;
			return true;
		}
	}
	return false;
}

static void add(struct arena *arena, struct manifests *list, struct manifest manifest)
{
	if (list->count == list->capacity) {
		size_t capacity = list->capacity ? list->capacity * 2 : 32;
		struct manifest *larger = arena_allocate_array(arena, capacity, sizeof(*larger));

		if (list->count)
			memcpy(larger, list->items, list->count * sizeof(*larger));
		list->items = larger;
		list->capacity = capacity;
	}
	list->items[list->count++] = manifest;
}

static bool next_event(struct span *hook, struct span *ret_event)
{
	struct span rest;

	if (!hook->data)
		return false;
	if (!span_split(*hook, ',', ret_event, &rest)) {
		*ret_event = *hook;
		rest = SPAN_NONE;
	}
	*ret_event = text_trim_space(*ret_event);
	*hook = rest;
	return true;
}

/* Whether all events of a hook are known. */
static bool is_known_hook(struct span hook)
{
	struct span event;

	while (next_event(&hook, &event)) {
		bool known = false;

		for (size_t i = 0; i < LENGTH(hook_events); i++)
			known |= span_equal_ignoring_case(event, span_of(hook_events[i]));
		if (!known)
			return false;
	}
	return true;
}

bool manifest_is_test(const struct manifest *hook)
{
	struct span events = hook->hook, event;

	while (next_event(&events, &event))
		if (span_equal_ignoring_case(event, SPAN("test")) ||
			span_equal_ignoring_case(event, SPAN("test-success")))
			return true;
	return false;
}

/* Texts of the head must be scalars, as Helm's struct of them has strings. */
static int read_head(struct manifest *manifest, struct err *err)
{
	const struct json *object = manifest->object;
	const struct json *metadata = json_get(object, "metadata");
	const struct json *annotations = json_get(metadata, "annotations");
	const struct json *hook;

	manifest->kind = manifest->name = SPAN("");
	manifest->hook = SPAN_NONE;
	if (object->type == JSON_NULL)
		return 0;
	if (object->type != JSON_OBJECT)
		return err_set(err, -EINVAL, "a document is %s, not a map",
			json_type_name(object->type));
	if (!json_is_absent(metadata) && metadata->type != JSON_OBJECT)
		return err_set(err, -EINVAL, "metadata is %s, not a map",
			json_type_name(metadata->type));
	if (!json_is_absent(annotations) && annotations->type != JSON_OBJECT)
		return err_set(err, -EINVAL, "metadata.annotations is %s, not a map",
			json_type_name(annotations->type));
	if (json_is(json_get(object, "kind"), JSON_ARRAY) ||
		json_is(json_get(object, "kind"), JSON_OBJECT))
		return err_set(err, -EINVAL, "kind is not a string");
	if (json_is(json_get(metadata, "name"), JSON_ARRAY) ||
		json_is(json_get(metadata, "name"), JSON_OBJECT))
		return err_set(err, -EINVAL, "metadata.name is not a string");
	for (uint32_t i = 0; json_is(annotations, JSON_OBJECT) && i < annotations->object.count;
		i++) {
		const struct json *value = annotations->object.members[i].value;

		if (value->type == JSON_ARRAY || value->type == JSON_OBJECT)
			return err_set(err, -EINVAL, "annotation %.*s is not a string",
				SPAN_ARGS(annotations->object.members[i].name));
	}
	if (json_is(json_get(object, "kind"), JSON_STRING))
		manifest->kind = json_get(object, "kind")->text;
	if (json_is(json_get(metadata, "name"), JSON_STRING))
		manifest->name = json_get(metadata, "name")->text;
	hook = json_get(annotations, "helm.sh/hook");
	if (hook)
		manifest->hook = hook->type == JSON_STRING ? hook->text : SPAN("");
	return 0;
}

static int compare_files(const void *a, const void *b)
{
	return span_compare(((const struct rendered_file *)a)->name,
		((const struct rendered_file *)b)->name);
}

struct sort_entry {
	struct manifest manifest;
	size_t rank, position;
};

static int compare_entries(const void *a, const void *b)
{
	const struct sort_entry *first = a, *second = b;

	if (first->rank != second->rank)
		return first->rank < second->rank ? -1 : 1;
	if (first->rank == LENGTH(install_order)) {
		int order = span_compare(first->manifest.kind, second->manifest.kind);

		if (order)
			return order;
	}
	return first->position < second->position ? -1 : 1;
}

static void sort_by_kind(struct manifests *list)
{
	_free_ struct sort_entry *entries = NULL;

	if (list->count < 2)
		return;
	entries = memory_allocate_array(list->count, sizeof(*entries));
	for (size_t i = 0; i < list->count; i++) {
		entries[i] = (struct sort_entry){list->items[i], LENGTH(install_order), i};
		for (size_t r = 0; r < LENGTH(install_order); r++)
			if (span_is(list->items[i].kind, install_order[r]))
				entries[i].rank = r;
	}
	qsort(entries, list->count, sizeof(*entries), compare_entries);
	for (size_t i = 0; i < list->count; i++)
		list->items[i] = entries[i].manifest;
}

/* The names of the charts that a template is in, from the outermost. */
static struct span chart_of(struct arena *arena, struct span path)
{
	_buffer_ struct buffer out = {0};
	struct span name, rest;

	while (span_split(path, '/', &name, &rest)) {
		buffer_format(&out, "%s%.*s", out.length ? "/" : "", SPAN_ARGS(name));
		if (!span_starts_with(rest, SPAN("charts/")))
			break;
		path = (struct span){rest.data + 7, rest.length - 7};
	}
	return arena_copy_span(arena, buffer_span(&out));
}

static int add_file(struct arena *arena, const struct rendered_file *file,
	struct manifests *manifests, struct manifests *hooks, struct err *err)
{
	struct span rest = file->text, document, chart = chart_of(arena, file->name);

	while (manifests_next_document(file->text, &rest, &document)) {
		struct manifest manifest = {.path = file->name, .chart = chart, .text = document};
		struct json *object;
		int code = yaml_parse_kubernetes(document, 1, arena, &object, err);

		if (code == 0) {
			manifest.object = object;
			code = read_head(&manifest, err);
		}
		if (code < 0)
			return err_prefix(err, code, "YAML parse error on %.*s",
				SPAN_ARGS(file->name));
		if (manifests->count + hooks->count >= MANIFESTS_MAX)
			return err_set(err, -E2BIG, "too many manifests (limit %d)", MANIFESTS_MAX);
		if (!manifest.hook.data)
			add(arena, manifests, manifest);
		else if (is_known_hook(manifest.hook))
			add(arena, hooks, manifest);
	}
	return 0;
}

int manifests_sort(struct arena *arena, struct rendered_file *files, size_t count,
	struct buffer *problems, struct manifests *ret_manifests, struct manifests *ret_hooks,
	struct err *err)
{
	struct manifests manifests = {0}, hooks = {0};

	if (count > 1)
		qsort(files, count, sizeof(*files), compare_files);
	for (size_t i = 0; i < count; i++) {
		int code = add_file(arena, &files[i], &manifests, &hooks, err);

		if (code < 0 && !problems)
			return code;
		if (code < 0)
			buffer_format(problems, "%s\n", err->message);
	}
	sort_by_kind(&manifests);
	sort_by_kind(&hooks);
	*ret_manifests = manifests;
	*ret_hooks = hooks;
	return 0;
}
