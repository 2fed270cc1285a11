/* slipway chart template|lint: renders Helm charts. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "chart/glob.h"
#include "chart/render.h"
#include "chart/set_values.h"
#include "chart/values.h"
#include "cli/command.h"

/* Options that may be given several times, together. */
#define OPTIONS_MAX 256

enum value_option { VALUE_FILE, VALUE_SET_JSON, VALUE_SET, VALUE_SET_STRING, VALUE_SET_FILE };

struct value_source {
	enum value_option option;
	const char *text;
};

struct chart_arguments {
	const char *verb;
	const char *chart;
	struct value_source values[OPTIONS_MAX];
	size_t value_count;
	const char *show_only[OPTIONS_MAX];
	size_t show_only_count;
	struct span api_versions[OPTIONS_MAX];
	struct render_options options;
	bool include_crds;
	bool skip_tests;
	bool no_hooks;
};

/* ---- arguments ----------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	enum value_option option;
} value_options[] = {{"-f", VALUE_FILE}, {"--values", VALUE_FILE}, {"--set-json", VALUE_SET_JSON},
	{"--set", VALUE_SET}, {"--set-string", VALUE_SET_STRING}, {"--set-file", VALUE_SET_FILE}};

/* 1: taken; 0: not an option of this kind. */
static int take_value_option(struct chart_arguments *arguments, const char *name, const char *text)
{
	for (size_t i = 0; i < LENGTH(value_options); i++)
		if (strcmp(name, value_options[i].name) == 0) {
			if (arguments->value_count < OPTIONS_MAX)
				arguments->values[arguments->value_count++] =
					(struct value_source){value_options[i].option, text};
			return 1;
		}
	return 0;
}

static int take_option(struct chart_arguments *arguments, const char *name, const char *text)
{
	struct span list = span_of(text), part;

	if (take_value_option(arguments, name, text))
		return 1;
	if (strcmp(name, "--name") == 0)
		arguments->options.release_name = text;
	else if (strcmp(name, "--namespace") == 0 || strcmp(name, "-n") == 0)
		arguments->options.namespace = text;
	else if (strcmp(name, "--kube-version") == 0)
		arguments->options.kube_version = text;
	else if (strcmp(name, "--show-only") == 0 || strcmp(name, "-s") == 0) {
		if (arguments->show_only_count < OPTIONS_MAX)
			arguments->show_only[arguments->show_only_count++] = text;
	} else if (strcmp(name, "--api-versions") == 0 || strcmp(name, "-a") == 0) {
		while (span_next_part(&list, ',', &part))
			if (arguments->options.api_version_count < OPTIONS_MAX)
				arguments->api_versions[arguments->options.api_version_count++] =
					part;
	} else
		return 0;
	return 1;
}

static int take_switch(struct chart_arguments *arguments, const char *name)
{
	if (strcmp(name, "--include-crds") == 0)
		arguments->include_crds = true;
	else if (strcmp(name, "--is-upgrade") == 0)
		arguments->options.is_upgrade = true;
	else if (strcmp(name, "--skip-tests") == 0)
		arguments->skip_tests = true;
	else if (strcmp(name, "--no-hooks") == 0)
		arguments->no_hooks = true;
	else
		return 0;
	return 1;
}

static int read_arguments(const struct command *command, int count, char **words,
	struct chart_arguments *ret_arguments)
{
	for (int i = 0; i < count; i++) {
		char *word = words[i], *equals = strchr(word, '=');
		char name[64];

		if (word[0] != '-') {
			if (!ret_arguments->verb)
				ret_arguments->verb = word;
			else if (!ret_arguments->chart)
				ret_arguments->chart = word;
			else
				return command_misused(command, "unexpected argument '%s'", word);
			continue;
		}
		if (take_switch(ret_arguments, word))
			continue;
		if (equals && (size_t)(equals - word) < sizeof(name)) {
			snprintf(name, sizeof(name), "%.*s", (int)(equals - word), word);
			if (take_option(ret_arguments, name, equals + 1))
				continue;
		}
		if (i + 1 < count && take_option(ret_arguments, word, words[i + 1])) {
			i++;
			continue;
		}
		return command_misused(command, "unknown option '%s', or its value is missing",
			word);
	}
	if (!ret_arguments->verb || (strcmp(ret_arguments->verb, "template") != 0 &&
					    strcmp(ret_arguments->verb, "lint") != 0))
		return command_misused(command, "say template or lint");
	if (!ret_arguments->chart)
		return command_misused(command, "the chart is missing: a folder or a .tgz archive");
	ret_arguments->options.api_versions = ret_arguments->api_versions;
	return 0;
}

/* ---- values -------------------------------------------------------------------------------------- */

static int read_value_file(struct arena *arena, const char *path, struct value_map *values,
	struct err *err)
{
	_buffer_ struct buffer text = {0};
	struct value_map *read;
	int code = file_read(strcmp(path, "-") == 0 ? "/dev/stdin" : path, CHART_VALUES_MAX, &text,
		err);

	if (code < 0)
		return code;
	code = chart_read_values(arena, arena_copy_span(arena, buffer_span(&text)), &read, err);
	if (code < 0)
		return err_prefix(err, code, "%s", path);
	values_merge_maps(arena, values, read);
	return 0;
}

static int read_set_file(void *context, struct span path, struct arena *arena,
	struct span *ret_text, struct err *err)
{
	_buffer_ struct buffer text = {0};
	int code =
		file_read(arena_copy(arena, path.data, path.length), CHART_VALUES_MAX, &text, err);

	(void)context;
	if (code == 0)
		*ret_text = arena_copy_span(arena, buffer_span(&text));
	return code;
}

/* Numbers of files are float64, unlike those of --set: they have a line. */
static void set_lines(struct json *json)
{
	json->line = 1;
	for (uint32_t i = 0; json->type == JSON_ARRAY && i < json->array.count; i++)
		set_lines(json->array.items[i]);
	for (uint32_t i = 0; json->type == JSON_OBJECT && i < json->object.count; i++)
		set_lines(json->object.members[i].value);
}

static int apply_sets(struct arena *arena, const struct chart_arguments *arguments,
	struct value_map **values, struct err *err)
{
	static const enum set_kind kinds[] = {[VALUE_SET_JSON] = SET_JSON,
		[VALUE_SET] = SET_TYPED,
		[VALUE_SET_STRING] = SET_STRING,
		[VALUE_SET_FILE] = SET_FILE};
	const struct set_files files = {read_set_file, NULL};
	struct json *json;

	if (!value_to_json(arena, value_of_map(*values), &json))
		return err_set(err, -EINVAL, "values are nested too deeply");
	set_lines(json);
	json = set_values_copy(arena, json);
	for (int option = VALUE_SET_JSON; option <= VALUE_SET_FILE; option++)
		for (size_t i = 0; i < arguments->value_count; i++) {
			const struct value_source *source = &arguments->values[i];
			int code;

			if ((int)source->option != option)
				continue;
			code = set_values(json, kinds[option], span_of(source->text), &files, arena,
				err);
			if (code < 0)
				return err_prefix(err, code, "%s", source->text);
		}
	*values = value_from_json_set(arena, json).map;
	return 0;
}

/* Files first, then --set-json, --set, --set-string and --set-file, whatever their order. */
static int read_values(struct arena *arena, const struct chart_arguments *arguments,
	struct value_map **ret_values, struct err *err)
{
	struct value_map *values = value_map_new(arena, 8);
	bool sets = false;
	int code;

	for (size_t i = 0; i < arguments->value_count; i++) {
		sets |= arguments->values[i].option != VALUE_FILE;
		if (arguments->values[i].option != VALUE_FILE)
			continue;
		code = read_value_file(arena, arguments->values[i].text, values, err);
		if (code < 0)
			return code;
	}
	if (sets) {
		code = apply_sets(arena, arguments, &values, err);
		if (code < 0)
			return code;
	}
	*ret_values = values;
	return 0;
}

/* ---- output -------------------------------------------------------------------------------------- */

static void add_document(struct buffer *out, struct span path, struct span text)
{
	buffer_format(out, "---\n# Source: %.*s\n", SPAN_ARGS(path));
	buffer_add_span(out, text);
	buffer_add_char(out, '\n');
}

static bool is_left_out(const struct chart_arguments *arguments, const struct manifest *hook)
{
	return arguments->no_hooks || (arguments->skip_tests && manifest_is_test(hook));
}

static void write_documents(const struct chart_arguments *arguments,
	const struct rendered *rendered, struct buffer *out)
{
	for (size_t i = 0; arguments->include_crds && i < rendered->crds.count; i++)
		add_document(out, rendered->crds.items[i].path, rendered->crds.items[i].data);
	for (size_t i = 0; i < rendered->manifests.count; i++)
		add_document(out, rendered->manifests.items[i].path,
			rendered->manifests.items[i].text);
	/* Without space at its end, but always with a line break. */
	while (out->length && strchr(" \t\r\n", out->data[out->length - 1]))
		out->length--;
	buffer_add_char(out, '\n');
	for (size_t i = 0; i < rendered->hooks.count; i++)
		if (!is_left_out(arguments, &rendered->hooks.items[i]))
			add_document(out, rendered->hooks.items[i].path,
				rendered->hooks.items[i].text);
}

/* Whether a template's path, without the chart's name, fits the pattern of --show-only. */
static bool is_shown(const struct glob *pattern, struct span path)
{
	struct span chart, inside;

	return pattern && span_split(path, '/', &chart, &inside) && glob_matches(pattern, inside);
}

static size_t write_shown(const struct glob *pattern, const struct chart_arguments *arguments,
	const struct rendered *rendered, struct buffer *out)
{
	size_t count = 0;

	for (size_t i = 0; arguments->include_crds && i < rendered->crds.count; i++)
		if (is_shown(pattern, rendered->crds.items[i].path)) {
			add_document(out, rendered->crds.items[i].path,
				rendered->crds.items[i].data);
			count++;
		}
	for (size_t i = 0; i < rendered->manifests.count; i++)
		if (is_shown(pattern, rendered->manifests.items[i].path)) {
			add_document(out, rendered->manifests.items[i].path,
				rendered->manifests.items[i].text);
			count++;
		}
	for (size_t i = 0; i < rendered->hooks.count; i++)
		if (!is_left_out(arguments, &rendered->hooks.items[i]) &&
			is_shown(pattern, rendered->hooks.items[i].path)) {
			add_document(out, rendered->hooks.items[i].path,
				rendered->hooks.items[i].text);
			count++;
		}
	return count;
}

static int print_template(const struct chart_arguments *arguments)
{
	_arena_ struct arena *arena = arena_new(0);
	_buffer_ struct buffer out = {0};
	struct chart *chart;
	struct value_map *values;
	struct rendered rendered;
	struct err err;

	if (chart_open(arena, arguments->chart, &chart, &err) < 0 ||
		read_values(arena, arguments, &values, &err) < 0 ||
		render_chart(arena, chart, values, &arguments->options, &rendered, &err) < 0)
		return command_failed("%s", err.message);
	if (arguments->show_only_count == 0)
		write_documents(arguments, &rendered, &out);
	for (size_t i = 0; i < arguments->show_only_count; i++)
		if (write_shown(glob_new(arena, span_of(arguments->show_only[i])), arguments,
			    &rendered, &out) == 0)
			return command_failed("could not find template %s in chart",
				arguments->show_only[i]);
	if (out.length && fwrite(out.data, 1, out.length, stdout) != out.length)
		return command_failed("write to standard output failed");
	return EXIT_OK;
}

static int lint(const struct chart_arguments *arguments)
{
	_arena_ struct arena *arena = arena_new(0);
	_buffer_ struct buffer problems = {0};
	struct render_options options = arguments->options;
	struct chart *chart;
	struct value_map *values;
	struct rendered rendered;
	struct err err;

	options.problems = &problems;
	if (chart_open(arena, arguments->chart, &chart, &err) < 0 ||
		read_values(arena, arguments, &values, &err) < 0 ||
		render_chart(arena, chart, values, &options, &rendered, &err) < 0)
		buffer_format(&problems, "%s\n", err.message);
	if (problems.length == 0) {
		printf("%s: no problems\n", arguments->chart);
		return EXIT_OK;
	}
	fputs(problems.data, stdout);
	return command_failed("%s has problems", arguments->chart);
}

int chart_run(const struct command *command, int count, char **words)
{
	_free_ struct chart_arguments *arguments = memory_allocate(sizeof(*arguments));
	int code = read_arguments(command, count, words, arguments);

	if (code != 0)
		return code;
	return strcmp(arguments->verb, "lint") == 0 ? lint(arguments) : print_template(arguments);
}
