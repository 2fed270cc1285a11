/*
 * Text to values: a recursive descent over a bounded depth. Every position is compared with the end
 * of the text before it is read: the text needs no NUL.
 *
 * Raw newlines are legal only between tokens, so counting them where spaces are skipped gives the
 * line of every value for nothing; columns are worked out when there is an error to report.
 */
#include "base/json.h"
#include "base/json_collect.h"
#include "base/json_scan.h"
#include "base/memory.h"

struct parser {
	const char *at;
	const char *end;
	const char *text;
	struct err *err;
	uint32_t line;
	unsigned depth;
	struct json_collector *collector;
};

static int parse_value(struct parser *parser, struct json **ret_value);

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Fails at a position in the text, which is named in the message by line and column. */
static int fail_at(struct parser *parser, const char *at, const char *reason)
{
	size_t line = 1, column = 1;

	for (const char *c = parser->text; c < at; c++) {
		if (*c == '\n') {
			line++;
			column = 1;
		} else if (((unsigned char)*c & 0xc0) != 0x80) {
			column++;
		}
	}
	return err_set(parser->err, -EINVAL, "line %zu, column %zu: %s", line, column, reason);
}

static int fail(struct parser *parser, const char *reason)
{
	return fail_at(parser, parser->at, reason);
}

static int fail_expected(struct parser *parser, const char *expected, const char *ended)
{
	return fail(parser, parser->at < parser->end ? expected : ended);
}

static int fail_size(struct parser *parser)
{
	return err_set(parser->err, -E2BIG, "the JSON text needs more memory than it may have");
}

static int fail_duplicate(struct parser *parser, struct span name)
{
	_buffer_ struct buffer reason = {0};
	const char *at = parser->at;

	/* A name without escapes is a part of the text and shows where it stands. */
	if (name.data > parser->text && name.data < parser->end)
		at = name.data - 1;
	buffer_add_string(&reason, "member ");
	json_collect_quote(name, &reason);
	buffer_add_string(&reason, " appears twice");
	return fail_at(parser, at, reason.data);
}

static inline void skip_spaces(struct parser *parser)
{
	const char *at = parser->at, *end = parser->end;

	for (; at < end; at++) {
		if ((unsigned char)*at > ' ')
			break;
		if (*at == '\n')
			parser->line++;
		else if (*at != ' ' && *at != '\t' && *at != '\r')
			break;
	}
	parser->at = at;
}

static int parse_hex4(struct parser *parser, uint32_t *ret_unit)
{
	uint32_t unit = 0;

	if (parser->end - parser->at < 4)
		return fail(parser, "\\u needs four hexadecimal digits");
	for (int i = 0; i < 4; i++) {
		char c = *parser->at;

		if (is_digit(c))
			unit = unit * 16 + (uint32_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			unit = unit * 16 + (uint32_t)(c - 'a' + 10);
		else if (c >= 'A' && c <= 'F')
			unit = unit * 16 + (uint32_t)(c - 'A' + 10);
		else
			return fail(parser, "\\u needs four hexadecimal digits");
		parser->at++;
	}
	*ret_unit = unit;
	return 0;
}

static size_t encode_utf8(uint32_t point, char *out)
{
	if (point < 0x80) {
		out[0] = (char)point;
		return 1;
	}
	if (point < 0x800) {
		out[0] = (char)(0xc0 | point >> 6);
		out[1] = (char)(0x80 | (point & 0x3f));
		return 2;
	}
	if (point < 0x10000) {
		out[0] = (char)(0xe0 | point >> 12);
		out[1] = (char)(0x80 | (point >> 6 & 0x3f));
		out[2] = (char)(0x80 | (point & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | point >> 18);
	out[1] = (char)(0x80 | (point >> 12 & 0x3f));
	out[2] = (char)(0x80 | (point >> 6 & 0x3f));
	out[3] = (char)(0x80 | (point & 0x3f));
	return 4;
}

/* After "\u": one unit, or the two of a surrogate pair. */
static int parse_unicode_escape(struct parser *parser, const char *escape, char *out,
	size_t *ret_length)
{
	uint32_t point, low;
	int code;

	code = parse_hex4(parser, &point);
	if (code < 0)
		return code;
	if (point >= 0xdc00 && point <= 0xdfff)
		return fail_at(parser, escape, "lone surrogate");
	if (point >= 0xd800 && point <= 0xdbff) {
		if (parser->end - parser->at < 2 || parser->at[0] != '\\' || parser->at[1] != 'u')
			return fail_at(parser, escape, "lone surrogate");
		parser->at += 2;
		code = parse_hex4(parser, &low);
		if (code < 0)
			return code;
		if (low < 0xdc00 || low > 0xdfff)
			return fail_at(parser, escape, "lone surrogate");
		point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
	}
	*ret_length = encode_utf8(point, out);
	return 0;
}

/* At a backslash; writes what it stands for to out. */
static int parse_escape(struct parser *parser, char *out, size_t *ret_length)
{
	static const char plain[256] = {
		['"'] = '"',
		['\\'] = '\\',
		['/'] = '/',
		['b'] = '\b',
		['f'] = '\f',
		['n'] = '\n',
		['r'] = '\r',
		['t'] = '\t',
	};
	const char *escape = parser->at;
	char c;

	if (parser->end - parser->at < 2) {
		parser->at = parser->end;
		return fail(parser, "the text ends inside a string");
	}
	c = parser->at[1];
	if (c == 'u') {
		parser->at += 2;
		return parse_unicode_escape(parser, escape, out, ret_length);
	}
	if (!plain[(unsigned char)c])
		return fail(parser, "unknown escape in a string");
	*out = plain[(unsigned char)c];
	*ret_length = 1;
	parser->at += 2;
	return 0;
}

/* Where the string that has an escape at parser->at ends, or the end of the text. */
static const char *find_closing_quote(const struct parser *parser)
{
	const char *at = parser->at;

	while (at < parser->end && *at != '"') {
		at += *at == '\\' && parser->end - at > 1 ? 2 : 1;
		at = json_skip_plain(at, parser->end);
	}
	return at;
}

/* The rest of a string from its first escape on: it has to be decoded into the arena. No escape is
 * shorter than what it stands for. */
static int parse_string_decoding(struct parser *parser, const char *start, struct span *ret_text)
{
	size_t most = (size_t)(find_closing_quote(parser) - start);
	char *decoded = arena_allocate_capped(parser->collector->arena, most);
	size_t length = (size_t)(parser->at - start);

	if (!decoded)
		return fail_size(parser);
	memcpy(decoded, start, length);
	while (parser->at < parser->end) {
		const char *at = parser->at;
		size_t run = 0;
		int code;

		if (*at == '"') {
			*ret_text = (struct span){decoded, length};
			parser->at++;
			return 0;
		}
		if (*at == '\\') {
			code = parse_escape(parser, decoded + length, &run);
			if (code < 0)
				return code;
			length += run;
			continue;
		}
		if ((unsigned char)*at < 0x20)
			return fail(parser, "control character in a string");
		run = (unsigned char)*at < 0x80 ? (size_t)(json_skip_plain(at, parser->end) - at)
						: json_utf8_length(at, parser->end);
		if (run == 0)
			return fail(parser, "bad UTF-8 in a string");
		memcpy(decoded + length, at, run);
		length += run;
		parser->at += run;
	}
	return fail(parser, "the text ends inside a string");
}

/* At the opening quote. A string without escapes stays where it is in the text. */
static inline int parse_string(struct parser *parser, struct span *ret_text)
{
	const char *start = parser->at + 1, *at = start;

	for (;;) {
		size_t length;

		at = json_skip_plain(at, parser->end);
		if (at < parser->end && *at == '"') {
			*ret_text = (struct span){start, (size_t)(at - start)};
			parser->at = at + 1;
			return 0;
		}
		parser->at = at;
		if (at == parser->end)
			return fail(parser, "the text ends inside a string");
		if (*at == '\\')
			return parse_string_decoding(parser, start, ret_text);
		if ((unsigned char)*at < 0x20)
			return fail(parser, "control character in a string");
		length = json_utf8_length(at, parser->end);
		if (length == 0)
			return fail(parser, "bad UTF-8 in a string");
		at += length;
	}
}

static int parse_digits(struct parser *parser, const char *reason)
{
	if (parser->at == parser->end || !is_digit(*parser->at))
		return fail(parser, reason);
	while (parser->at < parser->end && is_digit(*parser->at))
		parser->at++;
	return 0;
}

static int parse_number(struct parser *parser, struct span *ret_text)
{
	const char *start = parser->at;
	int code;

	if (*parser->at == '-')
		parser->at++;
	if (parser->at < parser->end && *parser->at == '0') {
		parser->at++;
		if (parser->at < parser->end && is_digit(*parser->at))
			return fail(parser, "a number must not begin with zero");
	} else {
		code = parse_digits(parser, "a number needs a digit here");
		if (code < 0)
			return code;
	}
	if (parser->at < parser->end && *parser->at == '.') {
		parser->at++;
		code = parse_digits(parser, "a number needs a digit after its point");
		if (code < 0)
			return code;
	}
	if (parser->at < parser->end && (*parser->at == 'e' || *parser->at == 'E')) {
		parser->at++;
		if (parser->at < parser->end && (*parser->at == '+' || *parser->at == '-'))
			parser->at++;
		code = parse_digits(parser, "a number needs a digit in its exponent");
		if (code < 0)
			return code;
	}
	*ret_text = (struct span){start, (size_t)(parser->at - start)};
	return 0;
}

static int parse_word(struct parser *parser, struct span word)
{
	if ((size_t)(parser->end - parser->at) < word.length ||
		memcmp(parser->at, word.data, word.length) != 0)
		return fail(parser, "expected a value");
	parser->at += word.length;
	return 0;
}

static int parse_array(struct parser *parser, struct json *array)
{
	size_t first = json_collect_open(parser->collector);

	parser->at++;
	skip_spaces(parser);
	if (parser->at < parser->end && *parser->at == ']') {
		parser->at++;
		return 0;
	}
	for (;;) {
		struct json *item;
		int code;

		code = parse_value(parser, &item);
		if (code < 0)
			return code;
		json_collect_add(parser->collector, SPAN_NONE, item);
		skip_spaces(parser);
		if (parser->at == parser->end || (*parser->at != ',' && *parser->at != ']'))
			return fail_expected(parser, "expected ',' or ']' after an item",
				"the text ends inside an array");
		if (*parser->at++ == ']')
			break;
		skip_spaces(parser);
	}
	if (json_collect_close_array(parser->collector, first, array) < 0)
		return fail_size(parser);
	return 0;
}

static int close_object(struct parser *parser, size_t first, struct json *object)
{
	const struct json_member *duplicate;
	int code;

	code = json_collect_close_object(parser->collector, first, object, &duplicate);
	if (code == -EEXIST)
		return fail_duplicate(parser, duplicate->name);
	return code < 0 ? fail_size(parser) : 0;
}

static int parse_object(struct parser *parser, struct json *object)
{
	size_t first = json_collect_open(parser->collector);

	parser->at++;
	skip_spaces(parser);
	if (parser->at < parser->end && *parser->at == '}') {
		parser->at++;
		return 0;
	}
	for (;;) {
		struct span name;
		struct json *value;
		int code;

		if (parser->at == parser->end || *parser->at != '"')
			return fail_expected(parser, "expected a member name in quotes",
				"the text ends inside an object");
		code = parse_string(parser, &name);
		if (code < 0)
			return code;
		skip_spaces(parser);
		if (parser->at == parser->end || *parser->at != ':')
			return fail_expected(parser, "expected ':' after a member name",
				"the text ends inside an object");
		parser->at++;
		skip_spaces(parser);
		code = parse_value(parser, &value);
		if (code < 0)
			return code;
		json_collect_add(parser->collector, name, value);
		skip_spaces(parser);
		if (parser->at == parser->end || (*parser->at != ',' && *parser->at != '}'))
			return fail_expected(parser, "expected ',' or '}' after a member",
				"the text ends inside an object");
		if (*parser->at++ == '}')
			return close_object(parser, first, object);
		skip_spaces(parser);
	}
}

static int parse_nested(struct parser *parser, struct json *value,
	int (*parse)(struct parser *parser, struct json *value))
{
	int code;

	if (parser->depth == JSON_DEPTH_MAX)
		return fail(parser, "nested too deeply");
	parser->depth++;
	code = parse(parser, value);
	parser->depth--;
	return code;
}

static int parse_value(struct parser *parser, struct json **ret_value)
{
	struct json *value = NULL;
	int code;

	if (parser->at == parser->end)
		return fail(parser, "the text ends where a value is expected");
	/* A value takes two bytes of text with its separator. */
	if (json_collect_new(parser->collector, (size_t)(parser->end - parser->at) / 2, &value) < 0)
		return fail_size(parser);
	value->line = parser->line;
	switch (*parser->at) {
	case '"':
		value->type = JSON_STRING;
		code = parse_string(parser, &value->text);
		break;
	case '{':
		value->type = JSON_OBJECT;
		code = parse_nested(parser, value, parse_object);
		break;
	case '[':
		value->type = JSON_ARRAY;
		code = parse_nested(parser, value, parse_array);
		break;
	case 't':
		value->type = JSON_TRUE;
		code = parse_word(parser, SPAN("true"));
		break;
	case 'f':
		value->type = JSON_FALSE;
		code = parse_word(parser, SPAN("false"));
		break;
	case 'n':
		value->type = JSON_NULL;
		code = parse_word(parser, SPAN("null"));
		break;
	default:
		if (*parser->at != '-' && !is_digit(*parser->at))
			return fail(parser, "expected a value");
		value->type = JSON_NUMBER;
		code = parse_number(parser, &value->text);
		break;
	}
	if (code < 0)
		return code;
	*ret_value = value;
	return 0;
}

static int parse_document(struct parser *parser, struct json **ret_value)
{
	struct json *value;
	int code;

	skip_spaces(parser);
	code = parse_value(parser, &value);
	if (code < 0)
		return code;
	skip_spaces(parser);
	if (parser->at < parser->end)
		return fail(parser, "text after the end of the value");
	*ret_value = value;
	return 0;
}

int json_parse(struct span text, struct arena *arena, struct json **ret_value, struct err *err)
{
	_json_collector_ struct json_collector collector;
	const char *start = text.data ? text.data : "";
	struct parser parser = {
		.at = start,
		.end = start + text.length,
		.text = start,
		.err = err,
		.line = 1,
		.collector = &collector,
	};

	json_collect_begin(&collector, arena);
	/* Lines, counts and table slots are 32 bits wide. */
	if (text.length > UINT32_MAX / 4)
		return fail_size(&parser);
	return parse_document(&parser, ret_value);
}
