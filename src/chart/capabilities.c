/* See capabilities.h. */
#include "chart/capabilities.h"

#include <stdio.h>
#include <string.h>

#include "chart/run.h"

/* The APIs that Helm 4.2's Kubernetes client knows, in its order. */
static const char *const known_versions[] = {"v1", "admissionregistration.k8s.io/v1",
	"admissionregistration.k8s.io/v1alpha1", "admissionregistration.k8s.io/v1beta1",
	"internal.apiserver.k8s.io/v1alpha1", "apps/v1", "apps/v1beta1", "apps/v1beta2",
	"authentication.k8s.io/v1", "authentication.k8s.io/v1alpha1",
	"authentication.k8s.io/v1beta1", "authorization.k8s.io/v1", "authorization.k8s.io/v1beta1",
	"autoscaling/v1", "autoscaling/v2", "batch/v1", "batch/v1beta1", "certificates.k8s.io/v1",
	"certificates.k8s.io/v1beta1", "certificates.k8s.io/v1alpha1",
	"coordination.k8s.io/v1alpha2", "coordination.k8s.io/v1beta1", "coordination.k8s.io/v1",
	"discovery.k8s.io/v1", "discovery.k8s.io/v1beta1", "events.k8s.io/v1",
	"events.k8s.io/v1beta1", "extensions/v1beta1", "flowcontrol.apiserver.k8s.io/v1",
	"flowcontrol.apiserver.k8s.io/v1beta1", "flowcontrol.apiserver.k8s.io/v1beta2",
	"flowcontrol.apiserver.k8s.io/v1beta3", "networking.k8s.io/v1", "networking.k8s.io/v1beta1",
	"node.k8s.io/v1", "node.k8s.io/v1alpha1", "node.k8s.io/v1beta1", "policy/v1",
	"policy/v1beta1", "rbac.authorization.k8s.io/v1", "rbac.authorization.k8s.io/v1beta1",
	"rbac.authorization.k8s.io/v1alpha1", "resource.k8s.io/v1", "resource.k8s.io/v1beta2",
	"resource.k8s.io/v1beta1", "resource.k8s.io/v1alpha3", "scheduling.k8s.io/v1alpha2",
	"scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1", "storage.k8s.io/v1beta1",
	"storage.k8s.io/v1", "storage.k8s.io/v1alpha1", "storagemigration.k8s.io/v1beta1",
	"apiextensions.k8s.io/v1beta1", "apiextensions.k8s.io/v1"};

/* A struct of texts: names as templates write them, and as JSON has them. */
struct fields {
	struct object object;
	size_t count;
	const char *const *names;
	const char *const *json_names;
	struct span values[6];
	struct span text; /* its printed form; data NULL: all fields */
};

static int fields_get(struct run *run, struct object *object, struct span name,
	const struct value *arguments, size_t count, struct value *ret_value)
{
	const struct fields *fields = (const struct fields *)object;

	(void)run;
	(void)arguments;
	(void)count;
	for (size_t i = 0; i < fields->count; i++)
		if (span_is(name, fields->names[i])) {
			*ret_value = value_string(fields->values[i]);
			return 0;
		}
	if (!fields->text.data)
		return 1;
	if (span_is(name, "String")) {
		*ret_value = value_string(fields->text);
		return 0;
	}
	if (span_is(name, "GitVersion")) {
		*ret_value = value_string(fields->values[0]);
		return 0;
	}
	return 1;
}

static void fields_print(const struct object *object, struct buffer *out)
{
	const struct fields *fields = (const struct fields *)object;

	if (fields->text.data) {
		buffer_add_span(out, fields->text);
		return;
	}
	buffer_add_char(out, '{');
	for (size_t i = 0; i < fields->count; i++) {
		if (i)
			buffer_add_char(out, ' ');
		buffer_add_span(out, fields->values[i]);
	}
	buffer_add_char(out, '}');
}

/* Go's %v of the struct, whose second field is not exported. */
static void kube_version_print_argument(const struct object *object, struct buffer *out)
{
	const struct fields *fields = (const struct fields *)object;

	buffer_format(out, "{%.*s %.*s %.*s %.*s}", SPAN_ARGS(fields->values[0]),
		SPAN_ARGS(fields->text), SPAN_ARGS(fields->values[1]),
		SPAN_ARGS(fields->values[2]));
}

static struct value fields_plain(struct arena *arena, const struct object *object)
{
	const struct fields *fields = (const struct fields *)object;
	struct value_map *map = value_map_new(arena, fields->count);

	for (size_t i = 0; i < fields->count; i++)
		value_map_put(arena, map, fields->json_names[i], value_string(fields->values[i]));
	return value_of_map(map);
}

/* As JSON has them, in the order of Go's fields. */
static const char *const kube_version_names[] = {"Version", "Major", "Minor", NULL};
static const char *const helm_version_names[] = {
	"version", "git_commit", "git_tree_state", "go_version", "kube_client_version", NULL};
static const char *const capabilities_names[] = {"KubeVersion", "APIVersions", "HelmVersion", NULL};

static const struct object_class kube_version_class = {"common.KubeVersion", "struct", fields_get,
	fields_print, fields_plain, false, kube_version_print_argument, kube_version_names};
static const struct object_class helm_version_class = {"version.BuildInfo", "struct", fields_get,
	fields_print, fields_plain, true, NULL, helm_version_names};

static int capabilities_get(struct run *run, struct object *object, struct span name,
	const struct value *arguments, size_t count, struct value *ret_value)
{
	const struct capabilities *capabilities = (const struct capabilities *)object;

	(void)run;
	(void)arguments;
	(void)count;
	if (span_is(name, "KubeVersion"))
		*ret_value = value_of_object(capabilities->kube_version);
	else if (span_is(name, "APIVersions"))
		*ret_value = capabilities->api_versions;
	else if (span_is(name, "HelmVersion"))
		*ret_value = value_of_object(capabilities->helm_version);
	else
		return 1;
	return 0;
}

static struct value capabilities_plain(struct arena *arena, const struct object *object)
{
	const struct capabilities *capabilities = (const struct capabilities *)object;
	struct value_map *map = value_map_new(arena, 3);

	value_map_put(arena, map, "KubeVersion", value_of_object(capabilities->kube_version));
	value_map_put(arena, map, "APIVersions", capabilities->api_versions);
	value_map_put(arena, map, "HelmVersion", value_of_object(capabilities->helm_version));
	return value_of_map(map);
}

static void capabilities_print(const struct object *object, struct buffer *out)
{
	const struct capabilities *capabilities = (const struct capabilities *)object;

	buffer_add_string(out, "&{");
	fields_print(capabilities->kube_version, out);
	buffer_add_char(out, '}');
}

static const struct object_class capabilities_class = {"*common.Capabilities", "ptr",
	capabilities_get, capabilities_print, capabilities_plain, true, NULL, capabilities_names};

/* major.minor[.patch…]: numbers joined by dots at the front, other text behind them. */
static bool split_version(struct span text, uint64_t parts[3], size_t *ret_count)
{
	size_t position = text.length && text.data[0] == 'v', count = 0;

	while (count < 3) {
		uint64_t number = 0;
		size_t begin = position;

		while (position < text.length && text.data[position] >= '0' &&
			text.data[position] <= '9' && number < UINT32_MAX)
			number = number * 10 + (uint64_t)(text.data[position++] - '0');
		if (position == begin || (text.data[begin] == '0' && position > begin + 1))
			return false;
		parts[count++] = number;
		if (position >= text.length || text.data[position] != '.' || count == 3)
			break;
		position++;
	}
	*ret_count = count;
	return count >= 2;
}

struct span capabilities_version(const struct capabilities *capabilities)
{
	return ((const struct fields *)capabilities->kube_version)->text;
}

static int make_kube_version(struct arena *arena, const char *text, struct object **ret_object,
	struct err *err)
{
	struct fields *fields = arena_allocate(arena, sizeof(*fields));
	uint64_t parts[3] = {0};
	size_t count;

	if (!split_version(span_of(text), parts, &count))
		return err_set(err, -EINVAL, "invalid Kubernetes version '%s'", text);
	*fields = (struct fields){.object = {&kube_version_class},
		.count = 3,
		.names = kube_version_names,
		.json_names = kube_version_names};
	fields->values[0] = arena_format(arena, "%s%s", text[0] == 'v' ? "" : "v", text);
	fields->values[1] = arena_format(arena, "%llu", (unsigned long long)parts[0]);
	fields->values[2] = arena_format(arena, "%llu", (unsigned long long)parts[1]);
	fields->text =
		count == 3 ? arena_format(arena, "v%llu.%llu.%llu", (unsigned long long)parts[0],
				     (unsigned long long)parts[1], (unsigned long long)parts[2])
			   : arena_format(arena, "v%llu.%llu", (unsigned long long)parts[0],
				     (unsigned long long)parts[1]);
	*ret_object = &fields->object;
	return 0;
}

static struct object *make_helm_version(struct arena *arena)
{
	static const char *const names[] = {
		"Version", "GitCommit", "GitTreeState", "GoVersion", "KubeClientVersion"};
	struct fields *fields = arena_allocate(arena, sizeof(*fields));

	*fields = (struct fields){.object = {&helm_version_class},
		.count = 5,
		.names = names,
		.json_names = helm_version_names,
		.values = {SPAN(CAPABILITIES_HELM_VERSION),
			SPAN("43e8b7feece8beb0fcba47059ec9b522fd929a64"), SPAN("clean"),
			SPAN("go1.26.5"), SPAN("v1.36")}};
	return &fields->object;
}

int capabilities_new(struct arena *arena, const char *kube_version, const struct span *api_versions,
	size_t count, struct capabilities **ret_capabilities, struct err *err)
{
	struct capabilities *capabilities = arena_allocate(arena, sizeof(*capabilities));
	struct value *items;
	int code;

	if (count > CAPABILITIES_API_VERSIONS_MAX)
		return err_set(err, -E2BIG, "too many API versions (limit %d)",
			CAPABILITIES_API_VERSIONS_MAX);
	capabilities->object.class = &capabilities_class;
	code = make_kube_version(arena, kube_version ? kube_version : CAPABILITIES_KUBE_VERSION,
		&capabilities->kube_version, err);
	if (code < 0)
		return code;
	capabilities->helm_version = make_helm_version(arena);
	capabilities->api_versions =
		value_new_list(arena, TYPE_VERSION_SET, LENGTH(known_versions) + count, &items);
	for (size_t i = 0; i < LENGTH(known_versions); i++)
		items[i] = value_string(span_of(known_versions[i]));
	for (size_t i = 0; i < count; i++)
		items[LENGTH(known_versions) + i] = value_string(api_versions[i]);
	*ret_capabilities = capabilities;
	return 0;
}
