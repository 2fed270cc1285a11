/* See metadata.h. */
#include "chart/metadata.h"

#include <string.h>

#include "base/yaml.h"
#include "chart/semver.h"
#include "chart/text.h"

/* X(member of Chart.yaml, name in .Chart) for texts */
static const struct {
	const char *member;
	const char *name;
} text_members[] = {{"name", "Name"}, {"home", "Home"}, {"version", "Version"},
	{"description", "Description"}, {"icon", "Icon"}, {"apiVersion", "APIVersion"},
	{"condition", "Condition"}, {"tags", "Tags"}, {"appVersion", "AppVersion"},
	{"kubeVersion", "KubeVersion"}, {"type", "Type"}};

static int wrong_type(struct err *err, const struct json *json, const char *member,
	const char *wanted)
{
	return err_set(err, -EINVAL, "line %u: %s must be %s, not %s", json->line, member, wanted,
		json_type_name(json->type));
}

/* A scalar as text: numbers and booleans are taken as they read. */
static int read_text(struct arena *arena, const struct json *object, const char *member,
	struct span *ret_text, struct err *err)
{
	const struct json *json = json_get(object, member);

	(void)arena;
	*ret_text = SPAN("");
	if (json_is_absent(json))
		return 0;
	switch (json->type) {
	case JSON_STRING:
	case JSON_NUMBER: *ret_text = json->text; return 0;
	case JSON_TRUE: *ret_text = SPAN("true"); return 0;
	case JSON_FALSE: *ret_text = SPAN("false"); return 0;
	default: return wrong_type(err, json, member, "a string");
	}
}

/* Without control characters, and with plain spaces. */
static struct span sanitized(struct arena *arena, struct span text)
{
	_buffer_ struct buffer out = {0};
	size_t length;

	for (size_t i = 0; i < text.length; i += length) {
		uint32_t c = text_decode((struct span){text.data + i, text.length - i}, &length);

		if (text_is_space(c))
			buffer_add_char(&out, ' ');
		else if (text_is_printable(c))
			text_add(&out, c);
	}
	return arena_copy_span(arena, buffer_span(&out));
}

static int read_texts(struct arena *arena, const struct json *object, const char *member,
	struct value *ret_list, struct err *err)
{
	const struct json *json = json_get(object, member);
	struct value *items;

	*ret_list = value_list_over(arena, TYPE_LIST, NULL, 0);
	if (json_is_absent(json))
		return 0;
	if (json->type != JSON_ARRAY)
		return wrong_type(err, json, member, "a list of strings");
	*ret_list = value_new_list(arena, TYPE_LIST, json->array.count, &items);
	for (uint32_t i = 0; i < json->array.count; i++) {
		const struct json *item = json->array.items[i];

		if (item->type == JSON_ARRAY || item->type == JSON_OBJECT)
			return wrong_type(err, item, member, "a list of strings");
		items[i] = value_string(sanitized(arena,
			item->type == JSON_STRING || item->type == JSON_NUMBER ? item->text
			: item->type == JSON_TRUE                              ? SPAN("true")
			: item->type == JSON_FALSE                             ? SPAN("false")
									       : SPAN("")));
	}
	return 0;
}

static int read_annotations(struct arena *arena, const struct json *object,
	struct value_map *metadata, struct err *err)
{
	const struct json *json = json_get(object, "annotations");
	struct value_map *map = value_map_new(arena, 4);

	/* Without the key the map is nil, which toJson shows. */
	if (json_is_absent(json)) {
		value_map_put(arena, metadata, "Annotations", value_nil());
		return 0;
	}
	{
		if (json->type != JSON_OBJECT)
			return wrong_type(err, json, "annotations", "a map");
		for (uint32_t i = 0; i < json->object.count; i++) {
			const struct json *value = json->object.members[i].value;

			if (value->type == JSON_ARRAY || value->type == JSON_OBJECT)
				return wrong_type(err, value, "annotations", "a map of strings");
			value_map_set(arena, map, json->object.members[i].name,
				value_string(value->type == JSON_STRING ||
							     value->type == JSON_NUMBER
						     ? value->text
					     : value->type == JSON_TRUE  ? SPAN("true")
					     : value->type == JSON_FALSE ? SPAN("false")
									 : SPAN("")));
		}
	}
	value_map_put(arena, metadata, "Annotations", value_of_map(map));
	return 0;
}

static int read_maintainers(struct arena *arena, const struct json *object,
	struct value_map *metadata, struct err *err)
{
	static const char *const members[] = {"name", "email", "url"};
	static const char *const names[] = {"Name", "Email", "URL"};
	const struct json *json = json_get(object, "maintainers");
	struct value *items = NULL;
	struct value list = value_list_over(arena, TYPE_LIST, NULL, 0);

	if (!json_is_absent(json)) {
		if (json->type != JSON_ARRAY)
			return wrong_type(err, json, "maintainers", "a list");
		list = value_new_list(arena, TYPE_LIST, json->array.count, &items);
		for (uint32_t i = 0; i < json->array.count; i++) {
			const struct json *item = json->array.items[i];
			struct value_map *map = value_map_new(arena, 3);

			if (item->type == JSON_NULL)
				return err_set(err, -EINVAL,
					"maintainers must not contain empty or null nodes");
			if (item->type != JSON_OBJECT)
				return wrong_type(err, item, "maintainers", "a list of maps");
			for (size_t m = 0; m < 3; m++) {
				struct span text;
				int code = read_text(arena, item, members[m], &text, err);

				if (code < 0)
					return code;
				value_map_put(arena, map, names[m],
					value_string(sanitized(arena, text)));
			}
			items[i] = value_of_map(map);
		}
	}
	value_map_put(arena, metadata, "Maintainers", list);
	return 0;
}

/* ---- dependencies -------------------------------------------------------------------------------- */

static bool is_alias(struct span alias)
{
	for (size_t i = 0; i < alias.length; i++) {
		char c = alias.data[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
			    c == '_' || c == '-'))
			return false;
	}
	return true;
}

static int read_dependency(struct arena *arena, const struct json *json,
	struct chart_dependency *dependency, struct err *err)
{
	const struct json *import_values = json_get(json, "import-values");
	int code;

	if (json->type == JSON_NULL)
		return err_set(err, -EINVAL, "dependencies must not contain empty or null nodes");
	if (json->type != JSON_OBJECT)
		return wrong_type(err, json, "dependencies", "a list of maps");
	code = read_text(arena, json, "name", &dependency->name, err);
	if (code == 0)
		code = read_text(arena, json, "version", &dependency->version, err);
	if (code == 0)
		code = read_text(arena, json, "repository", &dependency->repository, err);
	if (code == 0)
		code = read_text(arena, json, "condition", &dependency->condition, err);
	if (code == 0)
		code = read_text(arena, json, "alias", &dependency->alias, err);
	if (code == 0)
		code = read_texts(arena, json, "tags", &dependency->tags, err);
	if (code < 0)
		return code;
	if (!json_is_absent(import_values) && import_values->type != JSON_ARRAY)
		return wrong_type(err, import_values, "import-values", "a list");
	dependency->import_values = json_is_absent(import_values)
					    ? value_list_over(arena, TYPE_LIST, NULL, 0)
					    : value_from_json(arena, import_values);
	dependency->enabled = json_is_true(json_get(json, "enabled"));
	if (!is_alias(dependency->alias))
		return err_set(err, -EINVAL, "dependency \"%.*s\" has an invalid alias",
			SPAN_ARGS(dependency->name));
	return 0;
}

static struct span name_or_alias(const struct chart_dependency *dependency)
{
	return dependency->alias.length ? dependency->alias : dependency->name;
}

static int read_dependencies(struct arena *arena, const struct json *object, struct chart *chart,
	struct err *err)
{
	const struct json *json = json_get(object, "dependencies");

	if (json_is_absent(json))
		return 0;
	if (json->type != JSON_ARRAY)
		return wrong_type(err, json, "dependencies", "a list");
	if (json->array.count > CHART_DEPENDENCIES_MAX)
		return err_set(err, -E2BIG, "too many dependencies (limit %d)",
			CHART_DEPENDENCIES_MAX);
	chart->has_dependencies = true;
	chart->dependency_count = json->array.count;
	chart->dependencies = arena_allocate_array(arena, (size_t)json->array.count + 1,
		sizeof(*chart->dependencies));
	for (uint32_t i = 0; i < json->array.count; i++) {
		int code =
			read_dependency(arena, json->array.items[i], &chart->dependencies[i], err);

		if (code < 0)
			return code;
		for (uint32_t j = 0; j < i; j++)
			if (span_equal(name_or_alias(&chart->dependencies[i]),
				    name_or_alias(&chart->dependencies[j])))
				return err_set(err, -EINVAL,
					"more than one dependency with name or alias \"%.*s\"",
					SPAN_ARGS(name_or_alias(&chart->dependencies[i])));
	}
	return 0;
}

struct value metadata_dependencies(struct arena *arena, const struct chart *chart)
{
	struct value *items;
	struct value list = value_new_list(arena, TYPE_LIST, chart->dependency_count, &items);

	for (size_t i = 0; i < chart->dependency_count; i++) {
		const struct chart_dependency *dependency = &chart->dependencies[i];
		struct value_map *map = value_map_new(arena, 8);

		value_map_put(arena, map, "Name", value_string(dependency->name));
		value_map_put(arena, map, "Version", value_string(dependency->version));
		value_map_put(arena, map, "Repository", value_string(dependency->repository));
		value_map_put(arena, map, "Condition", value_string(dependency->condition));
		value_map_put(arena, map, "Tags", dependency->tags);
		value_map_put(arena, map, "Enabled", value_bool(dependency->enabled));
		value_map_put(arena, map, "ImportValues", dependency->import_values);
		value_map_put(arena, map, "Alias", value_string(dependency->alias));
		items[i] = value_of_map(map);
	}
	return list;
}

/* ---- Chart.yaml ---------------------------------------------------------------------------------- */

static const struct chart_file *find(const struct chart_file_list *files, const char *name)
{
	for (size_t i = 0; i < files->count; i++)
		if (span_is(files->files[i].path, name))
			return &files->files[i];
	return NULL;
}

static int check(const struct chart *chart, struct err *err)
{
	struct semver version;

	if (chart->name.length == 0)
		return err_set(err, -EINVAL, "Chart.yaml: name is required");
	if (memchr(chart->name.data, '/', chart->name.length) || span_is(chart->name, ".."))
		return err_set(err, -EINVAL, "Chart.yaml: name \"%.*s\" is invalid",
			SPAN_ARGS(chart->name));
	if (chart->version.length == 0)
		return err_set(err, -EINVAL, "chart %.*s: Chart.yaml: version is required",
			SPAN_ARGS(chart->name));
	if (!semver_parse(chart->version, &version))
		return err_set(err, -EINVAL, "chart %.*s: Chart.yaml: version \"%.*s\" is invalid",
			SPAN_ARGS(chart->name), SPAN_ARGS(chart->version));
	if (chart->type.length && !span_is(chart->type, "application") &&
		!span_is(chart->type, "library"))
		return err_set(err, -EINVAL,
			"chart %.*s: Chart.yaml: type must be application or library",
			SPAN_ARGS(chart->name));
	return 0;
}

static int parse_object(struct arena *arena, struct span text, struct json **ret_json,
	struct err *err)
{
	int code = yaml_parse_kubernetes(text, 1, arena, ret_json, err);

	if (code < 0)
		return code;
	if ((*ret_json)->type == JSON_NULL)
		*ret_json = json_new_object(arena);
	if ((*ret_json)->type != JSON_OBJECT)
		return err_set(err, -EINVAL, "line %u: must be a map, not %s", (*ret_json)->line,
			json_type_name((*ret_json)->type));
	return 0;
}

static int read_object(struct arena *arena, const struct json *object, struct chart *chart,
	struct err *err)
{
	const struct json *deprecated = json_get(object, "deprecated");
	struct value list;
	int code;

	for (size_t i = 0; i < LENGTH(text_members); i++) {
		struct span text;

		code = read_text(arena, object, text_members[i].member, &text, err);
		if (code < 0)
			return code;
		value_map_put(arena, chart->metadata, text_members[i].name,
			value_string(sanitized(arena, text)));
	}
	if (!json_is_absent(deprecated) && deprecated->type != JSON_TRUE &&
		deprecated->type != JSON_FALSE)
		return wrong_type(err, deprecated, "deprecated", "true or false");
	value_map_put(arena, chart->metadata, "Deprecated", value_bool(json_is_true(deprecated)));
	code = read_texts(arena, object, "sources", &list, err);
	if (code < 0)
		return code;
	value_map_put(arena, chart->metadata, "Sources", list);
	code = read_texts(arena, object, "keywords", &list, err);
	if (code < 0)
		return code;
	value_map_put(arena, chart->metadata, "Keywords", list);
	code = read_annotations(arena, object, chart->metadata, err);
	if (code == 0)
		code = read_maintainers(arena, object, chart->metadata, err);
	return code < 0 ? code : read_dependencies(arena, object, chart, err);
}

int metadata_read(struct arena *arena, const struct chart_file_list *files, struct chart *chart,
	struct err *err)
{
	const struct chart_file *file = find(files, "Chart.yaml");
	const struct chart_file *requirements = find(files, "requirements.yaml");
	struct json *object;
	int code;

	if (!file)
		return err_set(err, -EINVAL, "Chart.yaml file is missing");
	chart->metadata = value_map_new(arena, 20);
	code = parse_object(arena, file->data, &object, err);
	if (code == 0)
		code = read_object(arena, object, chart, err);
	if (code < 0)
		return err_prefix(err, code, "Chart.yaml");
	chart->name = value_map_get(chart->metadata, "Name").text;
	chart->version = value_map_get(chart->metadata, "Version").text;
	chart->type = value_map_get(chart->metadata, "Type").text;
	chart->kube_version = value_map_get(chart->metadata, "KubeVersion").text;
	chart->api_version = value_map_get(chart->metadata, "APIVersion").text;
	if (chart->api_version.length == 0) {
		chart->api_version = SPAN("v1");
		value_map_put(arena, chart->metadata, "APIVersion", value_string(SPAN("v1")));
	}
	code = check(chart, err);
	if (code < 0)
		return code;
	if (requirements) {
		code = parse_object(arena, requirements->data, &object, err);
		if (code == 0)
			code = read_dependencies(arena, object, chart, err);
		if (code < 0)
			return err_prefix(err, code, "chart %.*s: requirements.yaml",
				SPAN_ARGS(chart->name));
	}
	return 0;
}
