/* Builds charts from files; see chart.h. Chart.yaml is read in metadata.c. */
#include "chart/chart.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/yaml.h"
#include "chart/archive.h"
#include "chart/metadata.h"
#include "chart/values.h"

void chart_files_add(struct arena *arena, struct chart_files *files, struct chart_file file)
{
	if (files->count == files->capacity) {
		size_t capacity = files->capacity ? files->capacity * 2 : 16;
		struct chart_file *larger = arena_allocate_array(arena, capacity, sizeof(*larger));

		if (files->count)
			memcpy(larger, files->items, files->count * sizeof(*larger));
		files->items = larger;
		files->capacity = capacity;
	}
	files->items[files->count++] = file;
}

void chart_add(struct arena *arena, struct chart *parent, struct chart *child)
{
	if (parent->chart_count == parent->chart_capacity) {
		size_t capacity = parent->chart_capacity ? parent->chart_capacity * 2 : 4;
		struct chart **larger = arena_allocate_array(arena, capacity, sizeof(*larger));

		if (parent->chart_count)
			memcpy(larger, parent->charts, parent->chart_count * sizeof(*larger));
		parent->charts = larger;
		parent->chart_capacity = capacity;
	}
	child->parent = parent;
	parent->charts[parent->chart_count++] = child;
}

struct span chart_path(struct arena *arena, const struct chart *chart)
{
	struct span parent;

	if (!chart->parent)
		return chart->name;
	parent = chart_path(arena, chart->parent);
	return arena_format(arena, "%.*s/charts/%.*s", SPAN_ARGS(parent), SPAN_ARGS(chart->name));
}

int chart_read_values(struct arena *arena, struct span text, struct value_map **ret_values,
	struct err *err)
{
	struct value_map *values = value_map_new(arena, 0);
	struct yaml_document document;
	struct span rest = text;
	uint32_t line = 1;
	int more;

	while ((more = yaml_next_document(&rest, &line, &document, err)) == 1) {
		struct json *json;
		struct value value;

		more = yaml_parse_kubernetes(document.text, document.line, arena, &json, err);
		if (more < 0)
			return more;
		if (json->type == JSON_NULL)
			continue;
		if (json->type != JSON_OBJECT)
			return err_set(err, -EINVAL, "line %u: values must be a map, not %s",
				json->line, json_type_name(json->type));
		value = value_from_json(arena, json);
		values_merge_maps(arena, values, value.map);
	}
	if (more < 0)
		return more;
	*ret_values = values;
	return 0;
}

/* ---- files --------------------------------------------------------------------------------------- */

static struct span without_byte_order_mark(struct span text)
{
	return span_starts_with(text, SPAN("\xEF\xBB\xBF"))
		       ? (struct span){text.data + 3, text.length - 3}
		       : text;
}

static int build(struct arena *arena, const struct chart_file_list *files, int depth,
	struct chart **ret_chart, struct err *err);

/* Files of one entry in charts/: a folder, or an archive. */
struct nested {
	struct span name;
	struct chart_files files;
};

struct nested_list {
	struct nested *items;
	size_t count;
};

static struct nested *find_nested(struct arena *arena, struct nested_list *list, struct span name)
{
	for (size_t i = 0; i < list->count; i++)
		if (span_equal(list->items[i].name, name))
			return &list->items[i];
	if (list->count == CHART_DEPENDENCIES_MAX)
		return NULL;
	if (!list->items)
		list->items =
			arena_allocate_array(arena, CHART_DEPENDENCIES_MAX, sizeof(*list->items));
	list->items[list->count].name = name;
	return &list->items[list->count++];
}

static int compare_nested(const void *a, const void *b)
{
	return span_compare(((const struct nested *)a)->name, ((const struct nested *)b)->name);
}

static int build_nested(struct arena *arena, const struct nested *nested, int depth,
	struct chart **ret_chart, struct err *err)
{
	struct chart_file_list list;
	struct chart_files inside = {0};
	int code;

	if (span_ends_with(nested->name, SPAN(".tgz"))) {
		if (nested->files.count != 1 ||
			!span_equal(nested->files.items[0].path, nested->name))
			return err_set(err, -EINVAL, "a folder has the name of an archive");
		code = archive_read_tgz(nested->files.items[0].data, arena, &list, err);
		return code < 0 ? code : build(arena, &list, depth + 1, ret_chart, err);
	}
	for (size_t i = 0; i < nested->files.count; i++) {
		struct span name = nested->files.items[i].path;

		/* Files directly in charts/ that are no archives are not charts. */
		if (name.length <= nested->name.length)
			continue;
		chart_files_add(arena, &inside,
			(struct chart_file){{name.data + nested->name.length + 1,
						    name.length - nested->name.length - 1},
				nested->files.items[i].data});
	}
	list = (struct chart_file_list){inside.items, inside.count};
	return build(arena, &list, depth + 1, ret_chart, err);
}

static int add_nested(struct arena *arena, struct chart *chart, struct nested_list *list, int depth,
	struct err *err)
{
	if (list->count > 1)
		qsort(list->items, list->count, sizeof(*list->items), compare_nested);
	for (size_t i = 0; i < list->count; i++) {
		struct nested *nested = &list->items[i];
		struct chart *child;
		int code;

		if (nested->name.length == 0 || nested->name.data[0] == '_' ||
			nested->name.data[0] == '.')
			continue;
		if (nested->files.count == 1 &&
			span_equal(nested->files.items[0].path, nested->name) &&
			!span_ends_with(nested->name, SPAN(".tgz")))
			continue;
		code = build_nested(arena, nested, depth, &child, err);
		if (code < 0)
			return err_prefix(err, code, "chart %.*s: charts/%.*s",
				SPAN_ARGS(chart->name), SPAN_ARGS(nested->name));
		chart_add(arena, chart, child);
	}
	return 0;
}

/* Puts a file where it belongs. */
static int sort_file(struct arena *arena, struct chart *chart, struct chart_file file,
	struct nested_list *nested, struct err *err)
{
	struct span name = file.path, inside, first, rest;
	int code;

	if (span_is(name, "Chart.yaml") || span_is(name, "Chart.lock"))
		return 0;
	if (span_is(name, "values.yaml")) {
		code = chart_read_values(arena, file.data, &chart->values, err);
		return code < 0 ? err_prefix(err, code, "chart %.*s: values.yaml",
					  SPAN_ARGS(chart->name))
				: 0;
	}
	if (span_is(name, "values.schema.json")) {
		chart->schema = file.data;
		return 0;
	}
	if (span_is(name, "requirements.yaml") || span_is(name, "requirements.lock")) {
		if (span_is(chart->api_version, "v1"))
			chart_files_add(arena, &chart->files, file);
		return 0;
	}
	if (span_starts_with(name, SPAN("templates/"))) {
		chart_files_add(arena, &chart->templates, file);
		return 0;
	}
	if (!span_starts_with(name, SPAN("charts/")) || span_ends_with(name, SPAN(".prov"))) {
		chart_files_add(arena, &chart->files, file);
		return 0;
	}
	inside = (struct span){name.data + 7, name.length - 7};
	if (span_split(inside, '/', &first, &rest)) {
		(void)rest;
	} else {
		first = inside;
	}
	struct nested *entry = find_nested(arena, nested, first);

	if (!entry)
		return err_set(err, -E2BIG, "chart %.*s: too many charts in charts/ (limit %d)",
			SPAN_ARGS(chart->name), CHART_DEPENDENCIES_MAX);
	chart_files_add(arena, &entry->files, (struct chart_file){inside, file.data});
	return 0;
}

static int build(struct arena *arena, const struct chart_file_list *files, int depth,
	struct chart **ret_chart, struct err *err)
{
	struct chart *chart = arena_allocate(arena, sizeof(*chart));
	struct nested_list nested = {0};
	int code;

	if (depth > CHART_DEPTH_MAX)
		return err_set(err, -E2BIG, "charts nested too deeply (limit %d)", CHART_DEPTH_MAX);
	if (files->count > CHART_FILES_MAX)
		return err_set(err, -E2BIG, "too many files (limit %d)", CHART_FILES_MAX);
	chart->values = value_map_new(arena, 0);
	code = metadata_read(arena, files, chart, err);
	if (code < 0)
		return code;
	for (size_t i = 0; i < files->count; i++) {
		struct chart_file file = files->files[i];

		file.data = without_byte_order_mark(file.data);
		code = sort_file(arena, chart, file, &nested, err);
		if (code < 0)
			return code;
	}
	code = add_nested(arena, chart, &nested, depth, err);
	if (code == 0)
		*ret_chart = chart;
	return code;
}

int chart_build(struct arena *arena, const struct chart_file_list *files, struct chart **ret_chart,
	struct err *err)
{
	return build(arena, files, 0, ret_chart, err);
}

int chart_open(struct arena *arena, const char *path, struct chart **ret_chart, struct err *err)
{
	struct chart_file_list files;
	int code = archive_load(path, arena, &files, err);

	if (code == 0)
		code = chart_build(arena, &files, ret_chart, err);
	return code < 0 ? err_prefix(err, code, "load chart %s", path) : 0;
}
