/* See methods.h. Files are a map from name to bytes. */
#include "chart/methods.h"

#include "base/yaml.h"
#include "chart/glob.h"
#include "chart/number.h"
#include "chart/values.h"

static int need_text(struct run *run, struct span name, const struct value *arguments, size_t count)
{
	if (count == 1 && arguments[0].kind == VALUE_STRING)
		return 0;
	return run_fail(run, "%.*s: expected one string", SPAN_ARGS(name));
}

static int need_nothing(struct run *run, struct span name, size_t count)
{
	return count ? run_fail(run, "%.*s takes no arguments", SPAN_ARGS(name)) : 0;
}

static int write_yaml(struct run *run, struct value value, bool trims, struct value *ret_value)
{
	_buffer_ struct buffer out = BUFFER_WITH_CAP(RUN_MEMORY_MAX);
	struct json *json;
	struct err err;

	if (!value_to_json(run->arena, value, &json))
		return run_fail(run, "value cannot be written as YAML");
	if (yaml_write(json, YAML_STYLE_KUBERNETES, &out, &err) < 0)
		return run_fail(run, "%s", err.message);
	if (trims && out.length && out.data[out.length - 1] == '\n')
		out.length--;
	*ret_value = value_string(arena_copy_span(run->arena, buffer_span(&out)));
	return run_reserve(run, 0);
}

/* ---- files --------------------------------------------------------------------------------------- */

static int files_glob(struct run *run, const struct value_map *files, struct span pattern,
	struct value *ret_value)
{
	struct value_map *matching = value_map_new(run->arena, 8);
	struct value result = value_of_map(matching);
	const struct glob *glob = glob_new(run->arena, pattern);

	for (uint32_t i = 0; i < files->count; i++)
		if (!glob || glob_matches(glob, files->entries[i].key))
			value_map_set(run->arena, matching, files->entries[i].key,
				files->entries[i].value);
	result.type = TYPE_FILES;
	*ret_value = result;
	return 0;
}

static struct span base_name(struct span path)
{
	for (size_t i = path.length; i > 0; i--)
		if (path.data[i - 1] == '/')
			return (struct span){path.data + i, path.length - i};
	return path;
}

/* All files by their last name, as text or base64. */
static int files_as(struct run *run, const struct value_map *files, bool base64,
	struct value *ret_value)
{
	struct value_map *map = value_map_new(run->arena, files->count);

	for (uint32_t i = 0; i < files->count; i++) {
		struct span data = files->entries[i].value.text;

		value_map_set(run->arena, map, base_name(files->entries[i].key),
			value_string(base64 ? number_base64(run->arena, data) : data));
	}
	return write_yaml(run, value_of_map(map), true, ret_value);
}

static int files_lines(struct run *run, struct span text, struct value *ret_value)
{
	struct value *items;
	size_t count = 1;
	struct span line;

	for (size_t i = 0; i < text.length; i++)
		count += text.data[i] == '\n';
	/* A line break at the end does not begin another line. */
	if (text.length && text.data[text.length - 1] == '\n')
		count--;
	*ret_value = value_new_list(run->arena, TYPE_STRINGS, count, &items);
	for (size_t i = 0; i < count; i++) {
		const char *end = memchr(text.data, '\n', text.length);

		line = (struct span){text.data, end ? (size_t)(end - text.data) : text.length};
		items[i] = value_string(line);
		if (end)
			text = (struct span){end + 1, text.length - line.length - 1};
	}
	return 0;
}

static int files_call(struct run *run, const struct value_map *files, struct span name,
	const struct value *arguments, size_t count, struct value *ret_value)
{
	bool is_get = span_is(name, "Get"), is_bytes = span_is(name, "GetBytes");
	const struct value *found;
	int code;

	if (is_get || is_bytes || span_is(name, "Lines") || span_is(name, "Glob")) {
		code = need_text(run, name, arguments, count);
		if (code < 0)
			return code;
		if (span_is(name, "Glob"))
			return files_glob(run, files, arguments[0].text, ret_value);
		found = value_map_find(files, arguments[0].text);
		if (span_is(name, "Lines")) {
			*ret_value = value_list_over(run->arena, TYPE_STRINGS, NULL, 0);
			return found ? files_lines(run, found->text, ret_value) : 0;
		}
		*ret_value = is_get ? value_string(found ? found->text : SPAN(""))
				    : value_bytes(found ? found->text : SPAN(""));
		return 0;
	}
	if (span_is(name, "AsConfig") || span_is(name, "AsSecrets")) {
		code = need_nothing(run, name, count);
		return code < 0 ? code
				: files_as(run, files, span_is(name, "AsSecrets"), ret_value);
	}
	return 1;
}

/* ---- values and versions ------------------------------------------------------------------------- */

static int values_call(struct run *run, struct value values, struct span name,
	const struct value *arguments, size_t count, struct value *ret_value)
{
	struct value_map *table;
	int code;

	if (span_is(name, "AsMap")) {
		code = need_nothing(run, name, count);
		*ret_value = value_of_map(values.map);
		return code;
	}
	if (span_is(name, "YAML")) {
		code = need_nothing(run, name, count);
		return code < 0 ? code : write_yaml(run, values, false, ret_value);
	}
	if (span_is(name, "Table")) {
		code = need_text(run, name, arguments, count);
		if (code < 0)
			return code;
		table = arguments[0].text.length ? values_table(values.map, arguments[0].text)
						 : NULL;
		if (!table)
			return run_fail(run, "\"%.*s\" is not a table",
				SPAN_ARGS(arguments[0].text));
		*ret_value = value_of_map(table);
		ret_value->type = TYPE_VALUES;
		return 0;
	}
	if (span_is(name, "PathValue")) {
		code = need_text(run, name, arguments, count);
		if (code == 0 && !values_find_path(values.map, arguments[0].text, ret_value))
			code = run_fail(run, "\"%.*s\" is not a value",
				SPAN_ARGS(arguments[0].text));
		return code;
	}
	return 1;
}

static int versions_call(struct run *run, const struct value_list *versions, struct span name,
	const struct value *arguments, size_t count, struct value *ret_value)
{
	bool found = false;
	int code;

	if (!span_is(name, "Has"))
		return 1;
	code = need_text(run, name, arguments, count);
	if (code < 0)
		return code;
	for (uint32_t i = 0; i < versions->count && !found; i++)
		found = span_equal(versions->items[i].text, arguments[0].text);
	*ret_value = value_bool(found);
	return 0;
}

int method_call(struct run *run, struct value receiver, struct span name,
	const struct value *arguments, size_t count, struct value *ret_value)
{
	switch ((enum value_type)receiver.type) {
	case TYPE_FILES: return files_call(run, receiver.map, name, arguments, count, ret_value);
	case TYPE_VALUES: return values_call(run, receiver, name, arguments, count, ret_value);
	case TYPE_VERSION_SET:
		return versions_call(run, receiver.list, name, arguments, count, ret_value);
	default: return 1;
	}
}
