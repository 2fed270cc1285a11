/* See render.h. */
#include "chart/render.h"

#include <stdlib.h>
#include <string.h>

#include "chart/capabilities.h"
#include "chart/metadata.h"
#include "chart/regex.h"
#include "chart/run.h"
#include "chart/schema.h"
#include "chart/semver.h"
#include "chart/text.h"
#include "chart/values.h"

/* A template file with the values of its chart. */
struct unit {
	struct span name;
	struct span text;
	struct span base_path;
	struct value_map *top;
	size_t depth; /* slashes in the name */
};

struct units {
	struct unit *items;
	size_t count, capacity;
};

struct renderer {
	struct arena *arena;
	const struct render_options *options;
	struct capabilities *capabilities;
	struct value release;
	struct units units;
};

/* For lint: notes an error and continues (0), or returns it. */
static int noted(const struct renderer *renderer, int code, const struct err *err)
{
	if (code >= 0 || !renderer->options->problems)
		return code;
	buffer_format(renderer->options->problems, "%s\n", err->message);
	return 0;
}

/* ---- checks before rendering --------------------------------------------------------------------- */

static int check_dependencies(struct arena *arena, const struct chart *chart, struct err *err)
{
	_buffer_ struct buffer missing = {0};

	(void)arena;
	for (size_t i = 0; i < chart->dependency_count; i++) {
		bool found = false;

		for (size_t j = 0; j < chart->chart_count; j++)
			found |= span_equal(chart->charts[j]->name, chart->dependencies[i].name);
		if (!found)
			buffer_format(&missing, "%s%.*s", missing.length ? ", " : "",
				SPAN_ARGS(chart->dependencies[i].name));
	}
	return missing.length ? err_set(err, -EINVAL,
					"found in Chart.yaml, but missing in charts/ directory: %s",
					missing.data)
			      : 0;
}

static int check_installable(const struct chart *chart, struct err *err)
{
	if (chart->type.length == 0 || span_is(chart->type, "application"))
		return 0;
	return err_set(err, -EINVAL, "%.*s charts are not installable", SPAN_ARGS(chart->type));
}

static int check_kube_version(const struct chart *chart, const struct capabilities *capabilities,
	struct err *err)
{
	struct semver version;
	struct span text = capabilities_version(capabilities);

	if (chart->kube_version.length == 0)
		return 0;
	if (!semver_parse(text, &version) || semver_check(chart->kube_version, &version) != 1)
		return err_set(err, -EINVAL,
			"chart requires kubeVersion: %.*s which is incompatible with Kubernetes "
			"%.*s",
			SPAN_ARGS(chart->kube_version), SPAN_ARGS(text));
	return 0;
}

static bool is_release_name(const char *name)
{
	size_t length = strlen(name);

	if (length == 0 || length > RENDER_RELEASE_NAME_MAX)
		return false;
	for (size_t i = 0; i < length; i++) {
		char c = name[i];
		bool inner = c == '-' || c == '.';
		bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');

		if (!plain && !inner)
			return false;
		if (inner && (i == 0 || i + 1 == length || name[i - 1] == '.' ||
				     (c == '.' && name[i - 1] == '-')))
			return false;
	}
	return true;
}

static int match_pattern(void *context, struct span pattern, struct span text, bool *ret_matches,
	struct err *err)
{
	char message[256];
	struct regex *regex = regex_new(pattern.data, pattern.length, message, sizeof(message));

	(void)context;
	if (!regex)
		return err_set(err, -EINVAL, "pattern \"%.*s\": %s", SPAN_ARGS(pattern), message);
	*ret_matches = regex_match(regex, text.data, text.length, 0, NULL, 0);
	regex_free(regex);
	return 0;
}

/* Problems of a chart and its sub-charts, all of them. */
static int check_schemas(struct arena *arena, const struct chart *chart,
	const struct value_map *values, struct buffer *problems, struct err *err)
{
	const struct schema_patterns patterns = {match_pattern, NULL};
	struct json *schema, *json;
	size_t before = problems->length;
	bool valid = true;
	int code = 0;

	for (size_t i = 0; code == 0 && i < chart->chart_count; i++) {
		const struct value *found = value_map_find(values, chart->charts[i]->name);

		if (found && found->kind == VALUE_MAP)
			code = check_schemas(arena, chart->charts[i], found->map, problems, err);
	}
	if (code < 0 || !chart->schema.data)
		return code;
	if (!value_to_json(arena, value_of_map((struct value_map *)values), &json))
		return err_set(err, -EINVAL, "values are nested too deeply");
	code = json_parse(chart->schema, arena, &schema, err);
	buffer_format(problems, "%.*s:\n", SPAN_ARGS(chart->name));
	if (code == 0)
		code = schema_validate(schema, json, &patterns, arena, &valid, problems, err);
	if (code < 0)
		return err_prefix(err, code, "chart %.*s: values.schema.json",
			SPAN_ARGS(chart->name));
	if (valid)
		problems->length = before;
	return 0;
}

/* ---- objects for templates ----------------------------------------------------------------------- */

static struct value release_value(struct arena *arena, const struct render_options *options)
{
	struct value_map *map = value_map_new(arena, 6);

	value_map_put(arena, map, "Name",
		value_string(span_of(options->release_name ? options->release_name
							   : "release-name")));
	value_map_put(arena, map, "Namespace",
		value_string(span_of(options->namespace ? options->namespace : "default")));
	value_map_put(arena, map, "IsUpgrade", value_bool(options->is_upgrade));
	value_map_put(arena, map, "IsInstall", value_bool(!options->is_upgrade));
	value_map_put(arena, map, "Revision", value_int(options->revision ? options->revision : 1));
	value_map_put(arena, map, "Service", value_string(SPAN("Helm")));
	return value_of_map(map);
}

static struct value files_value(struct arena *arena, const struct chart *chart)
{
	struct value_map *map = value_map_new(arena, chart->files.count);
	struct value value = value_of_map(map);

	for (size_t i = 0; i < chart->files.count; i++)
		value_map_set(arena, map, chart->files.items[i].path,
			value_bytes(chart->files.items[i].data));
	value.type = TYPE_FILES;
	return value;
}

static bool is_partial(struct span name)
{
	const char *slash = memrchr(name.data, '/', name.length);
	const char *base = slash ? slash + 1 : name.data;

	return base < name.data + name.length && *base == '_';
}

static void add_unit(struct renderer *renderer, struct unit unit)
{
	struct units *units = &renderer->units;

	if (units->count == units->capacity) {
		size_t capacity = units->capacity ? units->capacity * 2 : 64;
		struct unit *larger =
			arena_allocate_array(renderer->arena, capacity, sizeof(*larger));

		if (units->count)
			memcpy(larger, units->items, units->count * sizeof(*larger));
		units->items = larger;
		units->capacity = capacity;
	}
	for (size_t i = 0; i < unit.name.length; i++)
		unit.depth += unit.name.data[i] == '/';
	units->items[units->count++] = unit;
}

/* The values of a chart and its sub-charts, and all their templates. */
static struct value_map *collect(struct renderer *renderer, const struct chart *chart,
	struct value_map *values)
{
	struct arena *arena = renderer->arena;
	struct value_map *top = value_map_new(arena, 8), *charts = value_map_new(arena, 4);
	struct value_map *metadata = value_map_copy(arena, chart->metadata);
	struct value all = value_of_map(values);
	struct span path = chart_path(arena, chart);
	struct span base_path = arena_format(arena, "%.*s/templates", SPAN_ARGS(path));

	all.type = TYPE_VALUES;
	value_map_put(arena, metadata, "Dependencies", metadata_dependencies(arena, chart));
	value_map_put(arena, metadata, "IsRoot", value_bool(!chart->parent));
	value_map_put(arena, top, "Chart", value_of_map(metadata));
	value_map_put(arena, top, "Files", files_value(arena, chart));
	value_map_put(arena, top, "Release", renderer->release);
	value_map_put(arena, top, "Capabilities", value_of_object(&renderer->capabilities->object));
	value_map_put(arena, top, "Values", all);
	value_map_put(arena, top, "Subcharts", value_of_map(charts));
	for (size_t i = 0; i < chart->chart_count; i++) {
		const struct chart *child = chart->charts[i];
		struct value *found = value_map_find(values, child->name);

		value_map_set(arena, charts, child->name,
			value_of_map(collect(renderer, child,
				found && found->kind == VALUE_MAP ? found->map
								  : value_map_new(arena, 0))));
	}
	for (size_t i = 0; i < chart->templates.count; i++) {
		const struct chart_file *file = &chart->templates.items[i];

		if (span_is(chart->type, "library") && !is_partial(file->path))
			continue;
		add_unit(renderer, (struct unit){arena_format(arena, "%.*s/%.*s", SPAN_ARGS(path),
							 SPAN_ARGS(file->path)),
					   file->data, base_path, top, 0});
	}
	return top;
}

/* Deep names first, so that a parent's templates replace those of its sub-charts. */
static int compare_units(const void *a, const void *b)
{
	const struct unit *first = a, *second = b;

	if (first->depth != second->depth)
		return first->depth > second->depth ? -1 : 1;
	return -span_compare(first->name, second->name);
}

/* ---- rendering ----------------------------------------------------------------------------------- */

static struct span without_marks(struct arena *arena, struct span text)
{
	_buffer_ struct buffer out = {0};
	const struct span mark = SPAN("<no value>");
	int64_t found = text_find(text, mark, 0);
	size_t from = 0;

	if (found < 0)
		return text;
	for (; found >= 0; found = text_find(text, mark, from)) {
		buffer_add(&out, text.data + from, (size_t)found - from);
		from = (size_t)found + mark.length;
	}
	buffer_add(&out, text.data + from, text.length - from);
	return arena_copy_span(arena, buffer_span(&out));
}

static int run_unit(struct run *run, const struct unit *unit, struct span *ret_text)
{
	struct value_map *template = value_map_new(run->arena, 2);
	struct value value = value_of_map(template), dot = value_of_map(unit->top);
	int code;

	value.type = dot.type = TYPE_VALUES;
	value_map_put(run->arena, template, "Name", value_string(unit->name));
	value_map_put(run->arena, template, "BasePath", value_string(unit->base_path));
	value_map_put(run->arena, unit->top, "Template", value);
	/* Helm hands the map over without its type's methods being lost. */
	code = run_to_text(run, template_find(run->set, unit->name), dot, ret_text);
	if (code == 0)
		*ret_text = without_marks(run->arena, *ret_text);
	return code;
}

static int run_units(struct renderer *renderer, struct run *run, const struct chart *chart,
	struct rendered *rendered, struct err *err)
{
	struct units *units = &renderer->units;
	struct span notes_name =
		arena_format(renderer->arena, "%.*s/templates/NOTES.txt", SPAN_ARGS(chart->name));
	int code;

	if (units->count > 1)
		qsort(units->items, units->count, sizeof(*units->items), compare_units);
	for (size_t i = 0; i < units->count; i++) {
		code = template_parse(run->set, renderer->arena, units->items[i].name,
			units->items[i].text, err);
		if (noted(renderer, code, err) < 0)
			return code;
	}
	rendered->files =
		arena_allocate_array(renderer->arena, units->count + 1, sizeof(*rendered->files));
	for (size_t i = 0; i < units->count; i++) {
		const struct unit *unit = &units->items[i];
		struct span text;

		if (is_partial(unit->name) || !template_find(run->set, unit->name))
			continue;
		code = run_unit(run, unit, &text);
		if (code < 0) {
			*err = run->err;
			if (noted(renderer, code, err) < 0)
				return code;
			run->failed = false;
			run->frame = NULL;
			run->out.failed = false;
			buffer_reset(&run->out);
			continue;
		}
		if (span_equal(unit->name, notes_name))
			rendered->notes = text;
		if (!span_ends_with(unit->name, SPAN("NOTES.txt")))
			rendered->files[rendered->file_count++] =
				(struct rendered_file){unit->name, text};
	}
	return 0;
}

static void collect_crds(struct arena *arena, const struct chart *chart, struct chart_files *crds)
{
	struct span path = chart_path(arena, chart);

	for (size_t i = 0; i < chart->files.count; i++) {
		const struct chart_file *file = &chart->files.items[i];
		const char *dot = memrchr(file->path.data, '.', file->path.length);
		struct span extension =
			dot ? (struct span){dot,
				      file->path.length - (size_t)(dot - file->path.data)}
			    : SPAN("");

		if (!span_starts_with(file->path, SPAN("crds/")) ||
			(!span_equal_ignoring_case(extension, SPAN(".yaml")) &&
				!span_equal_ignoring_case(extension, SPAN(".yml")) &&
				!span_equal_ignoring_case(extension, SPAN(".json"))))
			continue;
		chart_files_add(arena, crds,
			(struct chart_file){arena_format(arena, "%.*s/%.*s", SPAN_ARGS(path),
						    SPAN_ARGS(file->path)),
				file->data});
	}
	for (size_t i = 0; i < chart->chart_count; i++)
		collect_crds(arena, chart->charts[i], crds);
}

static int render_templates(struct renderer *renderer, const struct chart *chart,
	struct value_map *values, struct rendered *rendered, struct err *err)
{
	const struct render_options *options = renderer->options;
	struct template_set set = {0};
	struct run run = {.arena = renderer->arena,
		.set = &set,
		.clock = options->clock ? options->clock : clock_system(),
		.random = options->random ? options->random : random_system(),
		.out = BUFFER_WITH_CAP(RUN_OUTPUT_MAX),
		.lenient = options->lenient,
		.lookup = options->lookup,
		.lookup_data = options->lookup_data};
	int code;

	collect(renderer, chart, values);
	code = run_units(renderer, &run, chart, rendered, err);
	rendered->lint_notes = arena_copy_span(renderer->arena, buffer_span(&run.notes));
	buffer_clear(&run.notes);
	buffer_clear(&run.out);
	run_free_expressions(&run);
	template_set_clear(&set);
	return code;
}

static int prepare(struct renderer *renderer, struct chart *chart, const struct value_map *given,
	struct value_map **ret_values, struct err *err)
{
	const struct render_options *options = renderer->options;
	struct arena *arena = renderer->arena;
	_buffer_ struct buffer problems = BUFFER_WITH_CAP(ERR_MESSAGE_MAX * 8);
	int code = noted(renderer, check_installable(chart, err), err);

	if (code == 0 && options->release_name && !is_release_name(options->release_name))
		code = err_set(err, -EINVAL, "invalid release name \"%s\"", options->release_name);
	if (code == 0)
		code = noted(renderer, check_dependencies(arena, chart, err), err);
	if (code == 0)
		code = values_process_dependencies(arena, chart, given, err);
	if (code == 0)
		code = capabilities_new(arena, options->kube_version, options->api_versions,
			options->api_version_count, &renderer->capabilities, err);
	if (code == 0)
		code = values_coalesce(arena, chart, given, ret_values, err);
	if (code < 0)
		return code;
	if (!options->skip_schema) {
		code = check_schemas(arena, chart, *ret_values, &problems, err);
		if (code == 0 && problems.length)
			code = err_set(err, -EINVAL,
				"values don't meet the schema of these charts:\n%s", problems.data);
		code = noted(renderer, code, err);
		if (code < 0)
			return code;
	}
	if (options->any_kubernetes)
		return 0;
	return noted(renderer, check_kube_version(chart, renderer->capabilities, err), err);
}

int render_chart(struct arena *arena, struct chart *chart, const struct value_map *values,
	const struct render_options *options, struct rendered *ret_rendered, struct err *err)
{
	struct renderer renderer = {.arena = arena, .options = options};
	struct rendered rendered = {.notes = SPAN("")};
	const struct value_map *given = values ? values : value_map_new(arena, 0);
	struct value_map *all;
	int code = prepare(&renderer, chart, given, &all, err);

	if (code < 0)
		return code;
	renderer.release = release_value(arena, options);
	code = render_templates(&renderer, chart, all, &rendered, err);
	if (code < 0)
		return code;
	collect_crds(arena, chart, &rendered.crds);
	code = manifests_sort(arena, rendered.files, rendered.file_count, options->problems,
		&rendered.manifests, &rendered.hooks, err);
	if (code == 0)
		*ret_rendered = rendered;
	return code;
}
