/* Values to texts of other formats and back: YAML, JSON, TOML, base64, base32. */
#include <stdio.h>

#include "base/yaml.h"
#include "chart/encoding.h"
#include "chart/function.h"
#include "chart/json_text.h"
#include "chart/number.h"
#include "chart/text.h"
#include "chart/toml.h"

/* ---- YAML ---------------------------------------------------------------------------------------- */

/* 1: the value cannot be written. */
static int write_yaml(struct run *run, struct value value, enum yaml_style style,
	struct value *ret_value)
{
	_buffer_ struct buffer out = function_buffer(run);
	struct json *json;
	struct err err;
	bool fits = style == YAML_STYLE_PRETTY ? value_to_json_pretty(run->arena, value, &json)
					       : value_to_json(run->arena, value, &json);

	if (!fits)
		return 1;
	if (run_reserve(run, 0) < 0)
		return -EINVAL;
	if (yaml_write(json, style, &out, &err) < 0)
		return 1;
	if (out.length && out.data[out.length - 1] == '\n')
		out.length--;
	return function_return(run, &out, ret_value);
}

static int convert_to_yaml(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	int code = write_yaml(run, arguments[0], YAML_STYLE_KUBERNETES, ret_value);

	(void)count;
	if (code == 1)
		*ret_value = value_string(SPAN(""));
	return code < 0 ? code : 0;
}

static int convert_to_yaml_pretty(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	int code = write_yaml(run, arguments[0], YAML_STYLE_PRETTY, ret_value);

	(void)count;
	if (code == 1)
		*ret_value = value_string(SPAN(""));
	return code < 0 ? code : 0;
}

static int convert_must_to_yaml(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	int code = write_yaml(run, arguments[0], YAML_STYLE_KUBERNETES, ret_value);

	(void)count;
	return code == 1 ? run_fail(run, "mustToYaml: value cannot be written as YAML") : code;
}

static struct value error_map(struct run *run, const char *message)
{
	struct value_map *map = value_map_new(run->arena, 1);

	value_map_put(run->arena, map, "Error",
		value_string(arena_format(run->arena, "%s", message)));
	return value_of_map(map);
}

static struct value error_list(struct run *run, const char *message)
{
	struct value *items, list = value_new_list(run->arena, TYPE_LIST, 1, &items);

	items[0] = value_string(arena_format(run->arena, "%s", message));
	return list;
}

/* encoding/json's word for a type. */
static const char *json_word(const struct json *json)
{
	switch (json->type) {
	case JSON_FALSE:
	case JSON_TRUE: return "bool";
	case JSON_NUMBER: return "number";
	case JSON_STRING: return "string";
	case JSON_ARRAY: return "array";
	default: return "object";
	}
}

/* The parsed text as a map or list; anything else is the error that Go would report. */
static struct value typed(struct run *run, const struct json *json, enum json_type wanted,
	const char *before)
{
	char message[256];

	if (json->type == JSON_NULL)
		return wanted == JSON_OBJECT ? value_of_map(value_map_new(run->arena, 0))
					     : value_list_over(run->arena, TYPE_LIST, NULL, 0);
	if (json->type == wanted)
		return value_from_json(run->arena, json);
	snprintf(message, sizeof(message), "%sjson: cannot unmarshal %s into Go value of type %s",
		before, json_word(json),
		wanted == JSON_OBJECT ? "map[string]interface {}" : "[]interface {}");
	return wanted == JSON_OBJECT ? error_map(run, message) : error_list(run, message);
}

static int parse_yaml(struct run *run, struct span text, enum json_type wanted,
	struct value *ret_value)
{
	struct json *json;
	struct err err;

	if (yaml_parse_kubernetes(text, 1, run->arena, &json, &err) < 0)
		*ret_value = wanted == JSON_OBJECT ? error_map(run, err.message)
						   : error_list(run, err.message);
	else
		*ret_value =
			typed(run, json, wanted, "error unmarshaling JSON: while decoding JSON: ");
	return run_reserve(run, 0);
}

static int convert_from_yaml(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)count;
	return parse_yaml(run, arguments[0].text, JSON_OBJECT, ret_value);
}

static int convert_from_yaml_array(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)count;
	return parse_yaml(run, arguments[0].text, JSON_ARRAY, ret_value);
}

/* ---- JSON ---------------------------------------------------------------------------------------- */

static int write_json(struct run *run, const struct value *arguments, enum json_text_style style,
	bool must, struct value *ret_value)
{
	_buffer_ struct buffer out = function_buffer(run);

	if (!json_text_write(arguments[0], style, run->arena, &out)) {
		if (must)
			return run_fail(run, "value cannot be written as JSON");
		*ret_value = value_string(SPAN(""));
		return 0;
	}
	return function_return(run, &out, ret_value);
}

#define JSON_FUNCTION(name, style, must)                                                           \
	static int name(struct run *run, const struct value *arguments, size_t count,              \
		struct value *ret_value)                                                           \
	{                                                                                          \
		(void)count;                                                                       \
		return write_json(run, arguments, style, must, ret_value);                         \
	}

JSON_FUNCTION(convert_to_json, JSON_TEXT_PLAIN, false)
JSON_FUNCTION(convert_must_to_json, JSON_TEXT_PLAIN, true)
JSON_FUNCTION(convert_to_pretty_json, JSON_TEXT_PRETTY, false)
JSON_FUNCTION(convert_must_to_pretty_json, JSON_TEXT_PRETTY, true)
JSON_FUNCTION(convert_to_raw_json, JSON_TEXT_RAW, true)

static int parse_json(struct run *run, struct span text, enum json_type wanted,
	struct value *ret_value)
{
	struct json *json;
	struct err err;

	if (json_parse(text, run->arena, &json, &err) < 0)
		*ret_value = wanted == JSON_OBJECT ? error_map(run, err.message)
						   : error_list(run, err.message);
	else
		*ret_value = typed(run, json, wanted, "");
	return run_reserve(run, 0);
}

static int convert_from_json(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)count;
	return parse_json(run, arguments[0].text, JSON_OBJECT, ret_value);
}

static int convert_from_json_array(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)count;
	return parse_json(run, arguments[0].text, JSON_ARRAY, ret_value);
}

static int convert_must_from_json(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	struct json *json;
	struct err err;

	(void)count;
	if (json_parse(arguments[0].text, run->arena, &json, &err) < 0)
		return run_fail(run, "mustFromJson: %s", err.message);
	*ret_value = value_from_json(run->arena, json);
	return run_reserve(run, 0);
}

/* ---- TOML ---------------------------------------------------------------------------------------- */

static int convert_to_toml(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	_buffer_ struct buffer out = function_buffer(run);
	struct json *json;
	struct err err;

	(void)count;
	if (value_is_absent(arguments[0]))
		return run_fail(run, "toToml: nothing to write as TOML");
	if (!value_to_json_for_toml(run->arena, arguments[0], &json)) {
		*ret_value = value_string(SPAN(""));
		return 0;
	}
	if (toml_write(json, &out, &err) < 0) {
		*ret_value = value_string(arena_format(run->arena, "%s", err.message));
		return 0;
	}
	return function_return(run, &out, ret_value);
}

static int convert_must_to_toml(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	_buffer_ struct buffer out = function_buffer(run);
	struct json *json;
	struct err err;

	(void)count;
	if (value_is_absent(arguments[0]))
		return run_fail(run, "mustToToml: nothing to write as TOML");
	if (!value_to_json_for_toml(run->arena, arguments[0], &json))
		return run_fail(run, "mustToToml: value cannot be written as TOML");
	if (toml_write(json, &out, &err) < 0)
		return run_fail(run, "mustToToml: %s", err.message);
	return function_return(run, &out, ret_value);
}

static int convert_from_toml(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	struct json *json;
	struct err err;

	(void)count;
	if (toml_parse(arguments[0].text, run->arena, &json, &err) < 0)
		*ret_value = error_map(run, err.message);
	else
		*ret_value = value_from_json_integers(run->arena, json);
	return run_reserve(run, 0);
}

/* ---- bytes --------------------------------------------------------------------------------------- */

static int convert_b64enc(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)count;
	*ret_value = value_string(number_base64(run->arena, arguments[0].text));
	return run_reserve(run, 0);
}

static int convert_b32enc(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)count;
	*ret_value = value_string(encoding_base32(run->arena, arguments[0].text));
	return run_reserve(run, 0);
}

/* Text that cannot be decoded becomes Go's message. */
static int decode(struct run *run, struct span text, bool base32, struct value *ret_value)
{
	struct span bytes;
	size_t bad;

	if (!encoding_decode(run->arena, text, base32, &bytes, &bad))
		bytes = arena_format(run->arena, "illegal base%d data at input byte %zu",
			base32 ? 32 : 64, bad);
	*ret_value = value_string(bytes);
	return run_reserve(run, 0);
}

static int convert_b64dec(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)count;
	return decode(run, arguments[0].text, false, ret_value);
}

static int convert_b32dec(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)count;
	return decode(run, arguments[0].text, true, ret_value);
}

static const struct function rows[] = {
	{"b32dec", "s", convert_b32dec, false},
	{"b32enc", "s", convert_b32enc, false},
	{"b64dec", "s", convert_b64dec, false},
	{"b64enc", "s", convert_b64enc, false},
	{"fromJson", "s", convert_from_json, false},
	{"fromJsonArray", "s", convert_from_json_array, false},
	{"fromToml", "s", convert_from_toml, false},
	{"fromYaml", "s", convert_from_yaml, false},
	{"fromYamlArray", "s", convert_from_yaml_array, false},
	{"mustFromJson", "s", convert_must_from_json, false},
	{"mustToJson", "a", convert_must_to_json, false},
	{"mustToPrettyJson", "a", convert_must_to_pretty_json, false},
	{"mustToRawJson", "a", convert_to_raw_json, false},
	{"mustToToml", "a", convert_must_to_toml, false},
	{"mustToYaml", "a", convert_must_to_yaml, false},
	{"toJson", "a", convert_to_json, false},
	{"toPrettyJson", "a", convert_to_pretty_json, false},
	{"toRawJson", "a", convert_to_raw_json, false},
	{"toToml", "a", convert_to_toml, false},
	{"toYaml", "a", convert_to_yaml, false},
	{"toYamlPretty", "a", convert_to_yaml_pretty, false},
};

const struct function_table functions_convert = {rows, LENGTH(rows)};
