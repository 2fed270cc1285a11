/*
 * libyaml's events to values, by a recursive descent over a bounded depth. libyaml checks the syntax
 * and the UTF-8; which plain scalars are numbers, booleans or null is decided here by YAML 1.2's core
 * schema, and numbers are rewritten as JSON has them ("+1" is 1, ".5" is 0.5, "0x10" is 16).
 *
 * A member's value has the line of its key, because that is the line a message about it should name.
 */
#include "base/yaml.h"

#include <yaml.h>

#include "base/json_collect.h"
#include "base/memory.h"

struct reader {
	yaml_parser_t parser;
	yaml_event_t event; /* the one being looked at */
	bool has_event;
	struct arena *arena;
	struct err *err;
	struct json_collector *collector;
};

static int read_node(struct reader *reader, uint32_t line, unsigned depth, struct json **ret_value);

static void reader_clear(struct reader *reader)
{
	if (reader->has_event)
		yaml_event_delete(&reader->event);
	yaml_parser_delete(&reader->parser);
}

static int fail_size(struct reader *reader)
{
	return err_set(reader->err, -E2BIG, "the YAML text needs more memory than it may have");
}

static uint32_t event_line(const struct reader *reader)
{
	return (uint32_t)reader->event.start_mark.line + 1;
}

static int fail(struct reader *reader, const char *reason)
{
	return err_set(reader->err, -EINVAL, "line %u: %s", event_line(reader), reason);
}

static int fail_syntax(struct reader *reader)
{
	const yaml_parser_t *parser = &reader->parser;
	const char *problem = parser->problem ? parser->problem : "not YAML";

	if (parser->error == YAML_MEMORY_ERROR)
		return fail_size(reader);
	if (parser->error == YAML_READER_ERROR) /* knows the byte only; the mark is near it */
		return err_set(reader->err, -EINVAL, "line %zu: %s (byte %zu)",
			parser->mark.line + 1, problem, parser->problem_offset);
	return err_set(reader->err, -EINVAL, "line %zu, column %zu: %s",
		parser->problem_mark.line + 1, parser->problem_mark.column + 1, problem);
}

static int next_event(struct reader *reader)
{
	if (reader->has_event)
		yaml_event_delete(&reader->event);
	reader->has_event = false;
	if (!yaml_parser_parse(&reader->parser, &reader->event))
		return fail_syntax(reader);
	reader->has_event = true;
	return 0;
}

/* Scalars */

enum scalar_kind { SCALAR_NULL, SCALAR_BOOL, SCALAR_INTEGER, SCALAR_FLOAT, SCALAR_TEXT };

static const struct core_tag {
	const char *name;
	enum scalar_kind kind;
} core_tags[] = {
	{YAML_NULL_TAG, SCALAR_NULL},
	{YAML_BOOL_TAG, SCALAR_BOOL},
	{YAML_INT_TAG, SCALAR_INTEGER},
	{YAML_FLOAT_TAG, SCALAR_FLOAT},
	{YAML_STR_TAG, SCALAR_TEXT},
	{"!", SCALAR_TEXT},
};

static bool is_one_of(struct span text, const char *const *words)
{
	for (; *words; words++) {
		if (span_is(text, *words))
			return true;
	}
	return false;
}

static bool is_null(struct span text)
{
	static const char *const words[] = {"", "~", "null", "Null", "NULL", NULL};

	return is_one_of(text, words);
}

static bool is_true(struct span text)
{
	static const char *const words[] = {"true", "True", "TRUE", NULL};

	return is_one_of(text, words);
}

static bool is_false(struct span text)
{
	static const char *const words[] = {"false", "False", "FALSE", NULL};

	return is_one_of(text, words);
}

/* Infinity and not-a-number, for which JSON has nothing. */
static bool is_not_finite(struct span text)
{
	static const char *const words[] = {".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF",
		"-.inf", "-.Inf", "-.INF", ".nan", ".NaN", ".NAN", NULL};

	return is_one_of(text, words);
}

static size_t count_digits(const char *at, const char *end)
{
	const char *start = at;

	while (at < end && *at >= '0' && *at <= '9')
		at++;
	return (size_t)(at - start);
}

/* The parts of [-+]? digits* (. digits*)? ([eE] [-+]? digits+)? */
struct number_parts {
	bool negative;
	bool has_point;
	struct span whole;
	struct span fraction;
	struct span exponent; /* with its sign; empty if there is none */
};

static bool split_number(struct span text, struct number_parts *ret_parts)
{
	struct number_parts parts = {.fraction = SPAN(""), .exponent = SPAN("")};
	const char *at = text.data, *end = text.data + text.length;

	if (at < end && (*at == '-' || *at == '+'))
		parts.negative = *at++ == '-';
	parts.whole = (struct span){at, count_digits(at, end)};
	at += parts.whole.length;
	if (at < end && *at == '.') {
		parts.has_point = true;
		at++;
		parts.fraction = (struct span){at, count_digits(at, end)};
		at += parts.fraction.length;
	}
	if (parts.whole.length + parts.fraction.length == 0)
		return false;
	if (at < end && (*at == 'e' || *at == 'E')) {
		const char *start = ++at;
		size_t digits;

		at += at < end && (*at == '-' || *at == '+');
		digits = count_digits(at, end);
		if (digits == 0)
			return false;
		at += digits;
		parts.exponent = (struct span){start, (size_t)(at - start)};
	}
	if (at != end)
		return false;
	*ret_parts = parts;
	return true;
}

static bool is_integer(const struct number_parts *parts)
{
	return !parts->has_point && parts->exponent.length == 0;
}

/* "0x1f" and "0o17": base 16 or 8, or 0 if it is neither. */
static unsigned prefixed_base(struct span text)
{
	bool hex = span_starts_with(text, SPAN("0x"));

	if ((!hex && !span_starts_with(text, SPAN("0o"))) || text.length == 2)
		return 0;
	for (size_t i = 2; i < text.length; i++) {
		char c = text.data[i];
		bool octal = c >= '0' && c <= '7';
		bool digit =
			(c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');

		if (hex ? !digit : !octal)
			return 0;
	}
	return hex ? 16 : 8;
}

static int copy_text(struct reader *reader, struct span text, struct span *ret_text)
{
	char *copy;

	if (text.length == 0) {
		*ret_text = SPAN("");
		return 0;
	}
	copy = arena_allocate_capped(reader->arena, text.length);
	if (!copy)
		return fail_size(reader);
	memcpy(copy, text.data, text.length);
	*ret_text = (struct span){copy, text.length};
	return 0;
}

static int set_number(struct reader *reader, struct span text, struct json *value)
{
	value->type = JSON_NUMBER;
	return copy_text(reader, text, &value->text);
}

static int read_prefixed(struct reader *reader, struct span text, unsigned base, struct json *value)
{
	_buffer_ struct buffer out = {0};
	uint64_t number = 0;

	for (size_t i = 2; i < text.length; i++) {
		char c = text.data[i];
		unsigned digit = c <= '9' ? (unsigned)(c - '0') : (unsigned)((c | 0x20) - 'a' + 10);

		if (number > (UINT64_MAX - digit) / base)
			return fail(reader, "number too large");
		number = number * base + digit;
	}
	buffer_add_unsigned(&out, number);
	return set_number(reader, buffer_span(&out), value);
}

static int read_decimal(struct reader *reader, const struct number_parts *parts, struct json *value)
{
	_buffer_ struct buffer out = {0};
	struct span whole = parts->whole;

	while (whole.length > 1 && whole.data[0] == '0') {
		whole.data++;
		whole.length--;
	}
	if (parts->negative)
		buffer_add_char(&out, '-');
	buffer_add_span(&out, whole.length > 0 ? whole : SPAN("0"));
	if (parts->fraction.length > 0) {
		buffer_add_char(&out, '.');
		buffer_add_span(&out, parts->fraction);
	}
	if (parts->exponent.length > 0) {
		buffer_add_char(&out, 'e');
		buffer_add_span(&out, parts->exponent);
	}
	return set_number(reader, buffer_span(&out), value);
}

/* The kind of a plain scalar without a tag. */
static enum scalar_kind resolve(struct span text)
{
	struct number_parts parts;

	if (is_null(text))
		return SCALAR_NULL;
	if (is_true(text) || is_false(text))
		return SCALAR_BOOL;
	if (prefixed_base(text) != 0)
		return SCALAR_INTEGER;
	if (split_number(text, &parts))
		return is_integer(&parts) ? SCALAR_INTEGER : SCALAR_FLOAT;
	return is_not_finite(text) ? SCALAR_FLOAT : SCALAR_TEXT;
}

static int read_number(struct reader *reader, struct span text, bool integer, struct json *value)
{
	struct number_parts parts;
	unsigned base = prefixed_base(text);

	if (base != 0)
		return read_prefixed(reader, text, base, value);
	if (is_not_finite(text))
		return fail(reader, "infinity and not-a-number have no place here");
	if (!split_number(text, &parts) || (integer && !is_integer(&parts)))
		return fail(reader, integer ? "not an integer" : "not a number");
	return read_decimal(reader, &parts, value);
}

static int scalar_kind(struct reader *reader, enum scalar_kind *ret_kind)
{
	const char *tag = (const char *)reader->event.data.scalar.tag;
	struct span text = {
		(const char *)reader->event.data.scalar.value, reader->event.data.scalar.length};

	if (!tag) {
		bool plain = reader->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;

		*ret_kind = plain ? resolve(text) : SCALAR_TEXT;
		return 0;
	}
	for (size_t i = 0; i < LENGTH(core_tags); i++) {
		if (strcmp(tag, core_tags[i].name) == 0) {
			*ret_kind = core_tags[i].kind;
			return 0;
		}
	}
	return fail(reader, "this tag is not supported");
}

static int read_scalar(struct reader *reader, struct json *value)
{
	struct span text = {
		(const char *)reader->event.data.scalar.value, reader->event.data.scalar.length};
	enum scalar_kind kind = SCALAR_TEXT;
	int code;

	code = scalar_kind(reader, &kind);
	if (code < 0)
		return code;
	switch (kind) {
	case SCALAR_NULL:
		if (!is_null(text))
			return fail(reader, "not null");
		value->type = JSON_NULL;
		return 0;
	case SCALAR_BOOL:
		if (!is_true(text) && !is_false(text))
			return fail(reader, "not a boolean");
		value->type = is_true(text) ? JSON_TRUE : JSON_FALSE;
		return 0;
	case SCALAR_INTEGER: return read_number(reader, text, true, value);
	case SCALAR_FLOAT: return read_number(reader, text, false, value);
	case SCALAR_TEXT: break;
	}
	value->type = JSON_STRING;
	return copy_text(reader, text, &value->text);
}

/* Collections */

static int check_tag(struct reader *reader, const yaml_char_t *tag, const char *core)
{
	if (!tag || strcmp((const char *)tag, core) == 0 || strcmp((const char *)tag, "!") == 0)
		return 0;
	return fail(reader, "this tag is not supported");
}

static int check_anchor(struct reader *reader, const yaml_char_t *anchor)
{
	return anchor ? fail(reader, "anchors and aliases are not supported") : 0;
}

static int read_sequence(struct reader *reader, unsigned depth, struct json *array)
{
	size_t first = json_collect_open(reader->collector);
	int code;

	array->type = JSON_ARRAY;
	for (;;) {
		struct json *item;

		code = next_event(reader);
		if (code < 0)
			return code;
		if (reader->event.type == YAML_SEQUENCE_END_EVENT)
			break;
		code = read_node(reader, event_line(reader), depth, &item);
		if (code < 0)
			return code;
		json_collect_add(reader->collector, SPAN_NONE, item);
	}
	if (json_collect_close_array(reader->collector, first, array) < 0)
		return fail_size(reader);
	return 0;
}

static int read_key(struct reader *reader, struct span *ret_name)
{
	const yaml_event_t *event = &reader->event;
	int code;

	if (event->type == YAML_ALIAS_EVENT)
		return fail(reader, "anchors and aliases are not supported");
	if (event->type != YAML_SCALAR_EVENT)
		return fail(reader, "a key must be a scalar");
	code = check_anchor(reader, event->data.scalar.anchor);
	if (code < 0)
		return code;
	code = check_tag(reader, event->data.scalar.tag, YAML_STR_TAG);
	if (code < 0)
		return code;
	return copy_text(reader,
		(struct span){(const char *)event->data.scalar.value, event->data.scalar.length},
		ret_name);
}

static int close_mapping(struct reader *reader, size_t first, struct json *object)
{
	_buffer_ struct buffer quoted = {0};
	const struct json_member *duplicate;
	int code;

	code = json_collect_close_object(reader->collector, first, object, &duplicate);
	if (code == -EEXIST) {
		json_collect_quote(duplicate->name, &quoted);
		return err_set(reader->err, -EINVAL, "line %u: key %s appears twice",
			duplicate->value->line, quoted.data);
	}
	return code < 0 ? fail_size(reader) : 0;
}

static int read_mapping(struct reader *reader, unsigned depth, struct json *object)
{
	size_t first = json_collect_open(reader->collector);
	int code;

	object->type = JSON_OBJECT;
	for (;;) {
		struct json *value;
		struct span name;
		uint32_t line;

		code = next_event(reader);
		if (code < 0)
			return code;
		if (reader->event.type == YAML_MAPPING_END_EVENT)
			return close_mapping(reader, first, object);
		line = event_line(reader);
		code = read_key(reader, &name);
		if (code < 0)
			return code;
		code = next_event(reader);
		if (code < 0)
			return code;
		code = read_node(reader, line, depth, &value);
		if (code < 0)
			return code;
		json_collect_add(reader->collector, name, value);
	}
}

/* The node that begins with the event at hand. */
static int read_node(struct reader *reader, uint32_t line, unsigned depth, struct json **ret_value)
{
	const yaml_event_t *event = &reader->event;
	bool nested =
		event->type == YAML_SEQUENCE_START_EVENT || event->type == YAML_MAPPING_START_EVENT;
	struct json *value;
	int code;

	if (nested && depth == JSON_DEPTH_MAX)
		return fail(reader, "nested too deeply");
	if (json_collect_new(reader->collector, JSON_COLLECT_NODES, &value) < 0)
		return fail_size(reader);
	value->line = line;
	switch (event->type) {
	case YAML_SCALAR_EVENT:
		code = check_anchor(reader, event->data.scalar.anchor);
		if (code == 0)
			code = read_scalar(reader, value);
		break;
	case YAML_SEQUENCE_START_EVENT:
		code = check_anchor(reader, event->data.sequence_start.anchor);
		if (code == 0)
			code = check_tag(reader, event->data.sequence_start.tag, YAML_SEQ_TAG);
		if (code == 0)
			code = read_sequence(reader, depth + 1, value);
		break;
	case YAML_MAPPING_START_EVENT:
		code = check_anchor(reader, event->data.mapping_start.anchor);
		if (code == 0)
			code = check_tag(reader, event->data.mapping_start.tag, YAML_MAP_TAG);
		if (code == 0)
			code = read_mapping(reader, depth + 1, value);
		break;
	default: /* an alias: nothing else can stand here */
		return fail(reader, "anchors and aliases are not supported");
	}
	if (code < 0)
		return code;
	*ret_value = value;
	return 0;
}

static int read_stream(struct reader *reader, struct json **ret_value)
{
	struct json *value;
	int code;

	code = next_event(reader); /* the stream's start */
	if (code < 0)
		return code;
	code = next_event(reader);
	if (code < 0)
		return code;
	if (reader->event.type == YAML_STREAM_END_EVENT) {
		if (json_collect_new(reader->collector, 0, &value) < 0)
			return fail_size(reader);
		value->line = 1;
		*ret_value = value;
		return 0;
	}
	code = next_event(reader); /* behind the document's start */
	if (code < 0)
		return code;
	code = read_node(reader, event_line(reader), 0, &value);
	if (code < 0)
		return code;
	code = next_event(reader); /* the document's end */
	if (code < 0)
		return code;
	code = next_event(reader);
	if (code < 0)
		return code;
	if (reader->event.type != YAML_STREAM_END_EVENT)
		return fail(reader, "only one document may be in a text");
	*ret_value = value;
	return 0;
}

int yaml_parse(struct span text, struct arena *arena, struct json **ret_value, struct err *err)
{
	_json_collector_ struct json_collector collector;
	CLEANUP(reader_clear)
	struct reader reader = {
		.arena = arena,
		.err = err,
		.collector = &collector,
	};

	json_collect_begin(&collector, arena);
	if (!yaml_parser_initialize(&reader.parser))
		return fail_size(&reader);
	if (text.length > YAML_TEXT_MAX)
		return err_set(err, -E2BIG, "longer than %d bytes", YAML_TEXT_MAX);
	yaml_parser_set_encoding(&reader.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&reader.parser,
		(const unsigned char *)(text.data ? text.data : ""), text.length);
	return read_stream(&reader, ret_value);
}
