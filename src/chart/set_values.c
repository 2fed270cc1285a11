/*
 * The grammar is Helm's, with its corners: the end of the text inside an index or behind "a[0]" ends the
 * argument without an error, an empty name sets nothing, and --set-json may continue behind a value
 * without a comma. Reading returns SET_END where Helm's functions return io.EOF.
 */
#include "chart/set_values.h"

#include <stdlib.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/yaml.h"

#define SET_END 1

struct setter {
	enum set_kind kind;
	struct span rest;
	const struct set_files *files;
	struct arena *arena;
	struct err *err;
};

static int set_key(struct setter *setter, struct json *object, unsigned nesting);

/* Copies that can be changed */

static struct json *copy_value(struct arena *arena, const struct json *value, unsigned depth)
{
	struct json *copy;

	if (depth > YAML_KUBERNETES_DEPTH_MAX)
		return json_new_null(arena);
	if (value->type == JSON_OBJECT) {
		copy = json_new_object(arena);
		copy->line = value->line;
		for (uint32_t i = 0; i < value->object.count; i++) {
			const struct json_member *member = &value->object.members[i];
			const char *name =
				arena_copy(arena, member->name.data, member->name.length);

			json_set(arena, copy, name, copy_value(arena, member->value, depth + 1));
		}
		return copy;
	}
	if (value->type == JSON_ARRAY) {
		copy = json_new_array(arena);
		copy->line = value->line;
		for (uint32_t i = 0; i < value->array.count; i++)
			json_append(arena, copy,
				copy_value(arena, value->array.items[i], depth + 1));
		return copy;
	}
	copy = arena_allocate(arena, sizeof(*copy));
	*copy = *value;
	return copy;
}

struct json *set_values_copy(struct arena *arena, const struct json *object)
{
	return copy_value(arena, object, 0);
}

/* The member as something that can be changed: everything here was made by copy_value() or below. */
static struct json *member_of(const struct json *object, struct span name)
{
	return (struct json *)json_get_span(object, name);
}

static void set_member(struct setter *setter, struct json *object, struct span name,
	struct json *value)
{
	if (name.length > 0)
		json_set(setter->arena, object, arena_copy(setter->arena, name.data, name.length),
			value);
}

/* Text until one of the stops, which is taken as well. Backslashes escape unless literal. Returns the
 * stop, or SET_END at the end of the argument (no stop is that character). */
static int take_until(struct setter *setter, const char *stops, struct span *ret_text)
{
	_buffer_ struct buffer text = {0};
	int stop = SET_END;

	while (setter->rest.length > 0) {
		char c = *setter->rest.data++;

		setter->rest.length--;
		if (c != '\0' && strchr(stops, c)) {
			stop = (unsigned char)c;
			break;
		}
		if (c == '\\' && setter->kind != SET_LITERAL) {
			if (setter->rest.length == 0)
				break;
			c = *setter->rest.data++;
			setter->rest.length--;
		}
		buffer_add_char(&text, c);
	}
	*ret_text = arena_copy_span(setter->arena, buffer_span(&text));
	return stop;
}

/* Values */

static bool is_integer(struct span text, int64_t *ret_integer)
{
	uint64_t magnitude;
	bool negative = text.length > 0 && text.data[0] == '-';
	bool has_sign = negative || (text.length > 0 && text.data[0] == '+');
	struct span digits = {text.data + has_sign, text.length - has_sign};

	if (text.length == 0 || (text.data[0] == '0' && text.length > 1) || digits.length == 0 ||
		!span_to_unsigned(digits, (uint64_t)INT64_MAX + negative, &magnitude))
		return false;
	*ret_integer = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
	return true;
}

static struct json *typed_value(struct setter *setter, struct span text)
{
	int64_t integer;

	if (span_equal_ignoring_case(text, SPAN("true")))
		return json_new_bool(setter->arena, true);
	if (span_equal_ignoring_case(text, SPAN("false")))
		return json_new_bool(setter->arena, false);
	if (span_equal_ignoring_case(text, SPAN("null")))
		return json_new_null(setter->arena);
	if (is_integer(text, &integer))
		return json_new_integer(setter->arena, integer);
	return json_new_string(setter->arena, text);
}

static int make_value(struct setter *setter, struct span text, struct json **ret_value)
{
	struct span content;
	int code;

	if (setter->kind == SET_TYPED) {
		*ret_value = typed_value(setter, text);
		return 0;
	}
	if (setter->kind == SET_FILE) {
		code = setter->files->read(setter->files->context, text, setter->arena, &content,
			setter->err);
		if (code < 0)
			return code;
		text = content;
	}
	*ret_value = json_new_string(setter->arena, text);
	return 0;
}

/* {a,b,c} behind its brace. */
static int read_list(struct setter *setter, struct json **ret_value)
{
	struct json *list = json_new_array(setter->arena);

	for (;;) {
		struct json *item;
		struct span text;
		int stop = take_until(setter, ",}", &text), code;

		if (stop == SET_END)
			return err_set(setter->err, -EINVAL, "list must terminate with '}'");
		code = make_value(setter, text, &item);
		if (code < 0)
			return code;
		json_append(setter->arena, list, item);
		if (stop == '}')
			break;
	}
	if (setter->rest.length > 0 && setter->rest.data[0] == ',') {
		setter->rest.data++;
		setter->rest.length--;
	}
	*ret_value = list;
	return 0;
}

/* Spaces up to a comma or the end (true, both taken), or up to something else (false). */
static bool skip_empty(struct setter *setter)
{
	while (setter->rest.length > 0) {
		char c = setter->rest.data[0];

		if (c != ',' && c != ' ' && (c < '\t' || c > '\r'))
			return false;
		setter->rest.data++;
		setter->rest.length--;
		if (c == ',')
			return true;
	}
	return true;
}

static size_t skip_characters(struct span text, size_t at, const char *set)
{
	while (at < text.length && text.data[at] != '\0' && strchr(set, text.data[at]))
		at++;
	return at;
}

/* The length of a number or a word, which may be followed by anything. */
static size_t json_scalar_length(struct span text)
{
	static const struct span words[] = {{"true", 4}, {"false", 5}, {"null", 4}};
	size_t at = skip_characters(text, text.data[0] == '-', "0123456789");

	for (size_t i = 0; i < LENGTH(words); i++) {
		if (span_starts_with(text, words[i]))
			return words[i].length;
	}
	if (at < text.length && text.data[at] == '.')
		at = skip_characters(text, at + 1, "0123456789");
	if (at > 0 && at < text.length && (text.data[at] == 'e' || text.data[at] == 'E')) {
		at += 1 + (at + 1 < text.length && strchr("+-", text.data[at + 1]));
		at = skip_characters(text, at, "0123456789");
	}
	return at > 0 ? at : 1;
}

/* The length of the JSON value at the start of text; counts brackets and quotes only. */
static size_t json_length(struct span text)
{
	size_t depth = 0;
	bool quoted = false;

	if (!strchr("\"[{", text.data[0]) || text.data[0] == '\0')
		return json_scalar_length(text);
	for (size_t i = 0; i < text.length; i++) {
		char c = text.data[i];

		if (quoted) {
			i += c == '\\' && i + 1 < text.length;
			quoted = c != '"';
		} else if (c == '"') {
			quoted = true;
			continue;
		} else if (c == '[' || c == '{') {
			depth++;
			continue;
		} else if ((c == ']' || c == '}') && depth > 0) {
			depth--;
		}
		if (!quoted && depth == 0)
			return i + 1;
	}
	return text.length;
}

static int read_json(struct setter *setter, struct json **ret_value)
{
	struct span text;
	struct json *value;
	int code;

	if (skip_empty(setter)) {
		*ret_value = json_new_null(setter->arena);
		return 0;
	}
	text = (struct span){setter->rest.data, json_length(setter->rest)};
	code = json_parse(arena_copy_span(setter->arena, text), setter->arena, &value, setter->err);
	if (code < 0)
		return code;
	setter->rest.data += text.length;
	setter->rest.length -= text.length;
	skip_empty(setter);
	*ret_value = set_values_copy(setter->arena, value);
	return 0;
}

/* The value behind "=". SET_END with an empty string if there is nothing behind it. */
static int read_value(struct setter *setter, struct json **ret_value)
{
	struct span text;

	if (setter->kind == SET_JSON)
		return read_json(setter, ret_value);
	if (setter->kind == SET_LITERAL) {
		*ret_value = json_new_string(setter->arena, setter->rest);
		setter->rest = SPAN("");
		return 0;
	}
	if (setter->rest.length == 0) {
		*ret_value = json_new_string(setter->arena, SPAN(""));
		return SET_END;
	}
	if (setter->rest.data[0] == '{') {
		setter->rest.data++;
		setter->rest.length--;
		return read_list(setter, ret_value);
	}
	take_until(setter, ",", &text);
	return make_value(setter, text, ret_value);
}

/* Lists */

static int read_index(struct setter *setter, size_t *ret_index)
{
	struct span text;
	int64_t index;
	char *end;

	if (take_until(setter, "]", &text) == SET_END)
		return SET_END;
	errno = 0;
	index = text.length > 0 && (text.data[0] == '-' || text.data[0] == '+' ||
					   (text.data[0] >= '0' && text.data[0] <= '9'))
			? strtoll(text.data, &end, 10)
			: (errno = EINVAL);
	if (errno != 0 || end != text.data + text.length)
		return err_set(setter->err, -EINVAL, "error parsing index: '%.*s' is not a number",
			SPAN_ARGS(text));
	if (index < 0)
		return err_set(setter->err, -EINVAL, "negative %lld index not allowed",
			(long long)index);
	*ret_index = (size_t)index;
	return 0;
}

static int put_item(struct setter *setter, struct json *list, size_t index, struct json *value)
{
	if (index > SET_INDEX_MAX)
		return err_set(setter->err, -E2BIG,
			"index of %zu is greater than maximum supported index of %d", index,
			SET_INDEX_MAX);
	while (list->array.count <= index)
		json_append(setter->arena, list, json_new_null(setter->arena));
	list->array.items[index] = value;
	return 0;
}

static int fail_type(struct setter *setter, const struct json *value, const char *wanted)
{
	return err_set(setter->err, -EINVAL, "unable to parse key: the value is %s, not %s",
		json_type_name(value->type), wanted);
}

static int set_item(struct setter *setter, struct json *list, size_t index, unsigned nesting);

static int set_item_of_item(struct setter *setter, struct json *list, size_t index,
	unsigned nesting)
{
	struct json *old = (struct json *)json_item(list, index), *inner;
	size_t next;
	int code;

	code = read_index(setter, &next);
	if (code != 0)
		return code;
	if (old && old->type != JSON_NULL && old->type != JSON_ARRAY)
		return fail_type(setter, old, "a list");
	inner = json_is(old, JSON_ARRAY) ? old : json_new_array(setter->arena);
	code = set_item(setter, inner, next, nesting);
	return code != 0 ? code : put_item(setter, list, index, inner);
}

static int set_member_of_item(struct setter *setter, struct json *list, size_t index,
	unsigned nesting)
{
	struct json *inner = (struct json *)json_item(list, index);
	int code;

	if (!json_is(inner, JSON_OBJECT)) {
		inner = json_new_object(setter->arena);
		if (index < list->array.count)
			list->array.items[index] = inner;
	}
	code = set_key(setter, inner, nesting);
	return code != 0 ? code : put_item(setter, list, index, inner);
}

/* Sets the element after "name[index]". */
static int set_item(struct setter *setter, struct json *list, size_t index, unsigned nesting)
{
	struct json *value;
	struct span text;
	int stop = take_until(setter, "[.=", &text), code;

	if (text.length > 0)
		return err_set(setter->err, -EINVAL,
			"unexpected data at end of array index: \"%.*s\"", SPAN_ARGS(text));
	switch (stop) {
	case '=':
		code = read_value(setter, &value);
		return code < 0 ? code : put_item(setter, list, index, value);
	case '[': return set_item_of_item(setter, list, index, nesting);
	case '.': return set_member_of_item(setter, list, index, nesting);
	}
	return SET_END;
}

/* Names */

static int set_list(struct setter *setter, struct json *object, struct span name, unsigned nesting)
{
	struct json *list = member_of(object, name);
	size_t index;
	int code;

	code = read_index(setter, &index);
	if (code != 0)
		return code;
	if (list && list->type != JSON_ARRAY)
		return fail_type(setter, list, "a list");
	if (!list)
		list = json_new_array(setter->arena);
	code = set_item(setter, list, index, nesting);
	set_member(setter, object, name, list);
	return code;
}

static int set_nested(struct setter *setter, struct json *object, struct span name,
	unsigned nesting)
{
	struct json *inner = member_of(object, name);
	int code;

	if (nesting + 1 > SET_NESTING_MAX)
		return err_set(setter->err, -E2BIG,
			"value name nested level is greater than maximum supported nested level of "
			"%d",
			SET_NESTING_MAX);
	if (inner && inner->type != JSON_OBJECT)
		return fail_type(setter, inner, "a map");
	if (!inner)
		inner = json_new_object(setter->arena);
	code = set_key(setter, inner, nesting + 1);
	if (code == 0 && json_count(inner) == 0)
		return err_set(setter->err, -EINVAL, "key map \"%.*s\" has no value",
			SPAN_ARGS(name));
	if (json_count(inner) > 0)
		set_member(setter, object, name, inner);
	return code;
}

/* name=value, name[0]=value or name.name=value; SET_END if the argument ended before. */
static int set_key(struct setter *setter, struct json *object, unsigned nesting)
{
	struct json *value;
	struct span name;
	int code;

	switch (take_until(setter, setter->kind == SET_LITERAL ? "=[." : "=[,.", &name)) {
	case '[': return set_list(setter, object, name, nesting);
	case '.': return set_nested(setter, object, name, nesting);
	case ',':
		return err_set(setter->err, -EINVAL,
			"key \"%.*s\" has no value (cannot end with ,)", SPAN_ARGS(name));
	case '=':
		code = read_value(setter, &value);
		if (code >= 0)
			set_member(setter, object, name, value);
		return code;
	}
	if (name.length == 0)
		return SET_END;
	return err_set(setter->err, -EINVAL, "key \"%.*s\" has no value", SPAN_ARGS(name));
}

/* Members of b replace those of a; maps are merged. */
static void merge(struct arena *arena, struct json *a, const struct json *b)
{
	for (uint32_t i = 0; i < b->object.count; i++) {
		const struct json_member *member = &b->object.members[i];
		struct json *old = member_of(a, member->name);

		if (json_is(old, JSON_OBJECT) && member->value->type == JSON_OBJECT)
			merge(arena, old, member->value);
		else
			json_set(arena, a,
				arena_copy(arena, member->name.data, member->name.length),
				member->value);
	}
}

static int merge_json(struct json *values, struct span argument, struct arena *arena,
	struct err *err)
{
	struct json *object;
	int code;

	code = json_parse(arena_copy_span(arena, argument), arena, &object, err);
	if (code < 0)
		return code;
	merge(arena, values, set_values_copy(arena, object));
	return 0;
}

int set_values(struct json *values, enum set_kind kind, struct span argument,
	const struct set_files *files, struct arena *arena, struct err *err)
{
	struct setter setter = {
		.kind = kind,
		.rest = argument,
		.files = files,
		.arena = arena,
		.err = err,
	};
	struct span trimmed = argument;
	int code;

	while (trimmed.length > 0 && strchr(" \t\r\n\v\f", trimmed.data[0])) {
		trimmed.data++;
		trimmed.length--;
	}
	if (kind == SET_JSON && span_starts_with(trimmed, SPAN("{")))
		return merge_json(values, trimmed, arena, err);
	do
		code = set_key(&setter, values, 0);
	while (code == 0);
	return code == SET_END ? 0 : code;
}
