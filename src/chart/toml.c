/*
 * A recursive descent over TOML 1.0, with the additions that the Go library in Helm accepts: \e and \x in
 * strings, line breaks and a comma at the end in inline tables. Tables whose header was read have its
 * line; line 0 means that a table is only implied by the name of another and may get its header yet.
 * Arrays with a line are arrays of tables.
 */
#include "chart/toml.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/float_text.h"
#include "base/memory.h"
#include "base/yaml_scalar.h"

struct reader {
	const char *at, *end;
	uint32_t line;
	struct arena *arena;
	struct err *err;
	unsigned depth;
};

static int read_value(struct reader *reader, struct json **ret_value);

__attribute__((format(printf, 2, 3))) static int fail(struct reader *reader, const char *format,
	...)
{
	char reason[ERR_MESSAGE_MAX / 2];
	va_list list;

	va_start(list, format);
	vsnprintf(reason, sizeof(reason), format, list);
	va_end(list);
	return err_set(reader->err, -EINVAL, "toml: line %u: %s", reader->line, reason);
}

static char peek(const struct reader *reader)
{
	return reader->at < reader->end ? *reader->at : '\0';
}

static bool take(struct reader *reader, char c)
{
	if (reader->at == reader->end || *reader->at != c)
		return false;
	reader->line += c == '\n';
	reader->at++;
	return true;
}

static bool starts_with(const struct reader *reader, const char *text)
{
	size_t length = strlen(text);

	return (size_t)(reader->end - reader->at) >= length &&
	       memcmp(reader->at, text, length) == 0;
}

static void skip_blanks(struct reader *reader)
{
	while (peek(reader) == ' ' || peek(reader) == '\t')
		reader->at++;
}

/* A comment, up to its line break. */
static int skip_comment(struct reader *reader)
{
	if (peek(reader) != '#')
		return 0;
	while (reader->at < reader->end && *reader->at != '\n') {
		unsigned char c = (unsigned char)*reader->at;
		bool line_end = c == '\r' && reader->at + 1 < reader->end && reader->at[1] == '\n';

		if ((c < 0x20 && c != '\t' && !line_end) || c == 0x7f)
			return fail(reader, "control characters are not allowed in comments");
		reader->at++;
	}
	return 0;
}

static bool take_line_break(struct reader *reader)
{
	if (starts_with(reader, "\r\n"))
		reader->at++;
	return take(reader, '\n');
}

/* Blanks, comments and line breaks. */
static int skip_space(struct reader *reader)
{
	do {
		int code;

		skip_blanks(reader);
		code = skip_comment(reader);
		if (code < 0)
			return code;
	} while (take_line_break(reader));
	return 0;
}

/* Strings */

static void add_utf8(struct buffer *out, uint32_t code)
{
	if (code < 0x80) {
		buffer_add_char(out, (char)code);
	} else if (code < 0x800) {
		buffer_add_char(out, (char)(0xc0 | code >> 6));
		buffer_add_char(out, (char)(0x80 | (code & 0x3f)));
	} else if (code < 0x10000) {
		buffer_add_char(out, (char)(0xe0 | code >> 12));
		buffer_add_char(out, (char)(0x80 | (code >> 6 & 0x3f)));
		buffer_add_char(out, (char)(0x80 | (code & 0x3f)));
	} else {
		buffer_add_char(out, (char)(0xf0 | code >> 18));
		buffer_add_char(out, (char)(0x80 | (code >> 12 & 0x3f)));
		buffer_add_char(out, (char)(0x80 | (code >> 6 & 0x3f)));
		buffer_add_char(out, (char)(0x80 | (code & 0x3f)));
	}
}

static int read_code(struct reader *reader, size_t digits, struct buffer *out)
{
	uint32_t code = 0;

	for (size_t i = 0; i < digits; i++) {
		char c = peek(reader);

		if (!((c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')))
			return fail(reader, "expected %zu hexadecimal digits in an escape", digits);
		code = code << 4 | (uint32_t)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
		reader->at++;
	}
	if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return fail(reader, "escaped character U+%04X is not valid UTF-8", code);
	add_utf8(out, code);
	return 0;
}

/* A line that ends in a backslash continues with the next text. */
static bool skip_continuation(struct reader *reader)
{
	const char *start = reader->at;

	skip_blanks(reader);
	if (!take_line_break(reader)) {
		reader->at = start;
		return false;
	}
	do
		skip_blanks(reader);
	while (take_line_break(reader));
	return true;
}

static int read_escape(struct reader *reader, bool multiline, struct buffer *out)
{
	static const char letters[] = "b\bt\tn\nf\fr\re\33\"\"\\\\";
	char c = peek(reader);

	if (multiline && skip_continuation(reader))
		return 0;
	reader->at += reader->at < reader->end;
	if (c == 'u' || c == 'U' || c == 'x')
		return read_code(reader, c == 'x' ? 2 : c == 'u' ? 4 : 8, out);
	for (size_t i = 0; i + 1 < sizeof(letters); i += 2) {
		if (letters[i] == c) {
			buffer_add_char(out, letters[i + 1]);
			return 0;
		}
	}
	return fail(reader, "invalid escape in string '\\%c'", c);
}

static int read_string_body(struct reader *reader, char quote, bool multiline, struct buffer *out)
{
	for (;;) {
		unsigned char c;
		int code;

		if (reader->at == reader->end)
			return fail(reader, "unexpected EOF; expected '%c'", quote);
		c = (unsigned char)*reader->at;
		if (c == (unsigned char)quote) {
			char three[] = {quote, quote, quote, '\0'};

			if (!multiline) {
				reader->at++;
				return 0;
			}
			if (starts_with(reader, three)) {
				reader->at += 3;
				/* Up to two quotes may stand before the closing ones. */
				for (int i = 0; i < 2 && peek(reader) == quote; i++) {
					buffer_add_char(out, quote);
					reader->at++;
				}
				return 0;
			}
		}
		if (multiline && take_line_break(reader)) {
			buffer_add_char(out, '\n');
			continue;
		}
		if ((c < 0x20 && c != '\t') || c == 0x7f)
			return fail(reader, "strings cannot contain %s",
				c == '\n' ? "newlines" : "control characters");
		reader->at++;
		if (c == '\\' && quote == '"') {
			code = read_escape(reader, multiline, out);
			if (code < 0)
				return code;
			continue;
		}
		buffer_add_char(out, (char)c);
	}
}

/* At its opening quote. */
static int read_string(struct reader *reader, bool multiline_allowed, struct span *ret_text)
{
	_buffer_ struct buffer text = {0};
	char quote = *reader->at;
	char three[] = {quote, quote, quote, '\0'};
	bool multiline = multiline_allowed && starts_with(reader, three);
	int code;

	reader->at += multiline ? 3 : 1;
	if (multiline)
		take_line_break(reader);
	code = read_string_body(reader, quote, multiline, &text);
	if (code < 0)
		return code;
	*ret_text = arena_copy_span(reader->arena, buffer_span(&text));
	return 0;
}

/* Numbers, dates, words */

static bool is_word_character(char c)
{
	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_' ||
	       c == '-' || c == '+' || c == '.' || c == ':';
}

static bool underscores_are_right(struct span text)
{
	for (size_t i = 0; i < text.length; i++) {
		if (text.data[i] == '_' &&
			(i == 0 || i + 1 == text.length || text.data[i - 1] == '_' ||
				!strchr("0123456789abcdefABCDEF", text.data[i - 1]) ||
				!strchr("0123456789abcdefABCDEF", text.data[i + 1])))
			return false;
	}
	return true;
}

/* Digits, a fraction with digits on both sides, an exponent; no zeros in front. */
static bool is_decimal(struct span text, bool *ret_float)
{
	const char *at = text.data, *end = at + text.length, *start;
	bool is_float = false;

	at += at < end && (*at == '+' || *at == '-');
	start = at;
	while (at < end && *at >= '0' && *at <= '9')
		at++;
	if (at == start || (*start == '0' && at - start > 1))
		return false;
	if (at < end && *at == '.') {
		start = ++at;
		while (at < end && *at >= '0' && *at <= '9')
			at++;
		if (at == start)
			return false;
		is_float = true;
	}
	if (at < end && (*at == 'e' || *at == 'E')) {
		at++;
		at += at < end && (*at == '+' || *at == '-');
		start = at;
		while (at < end && *at >= '0' && *at <= '9')
			at++;
		if (at == start)
			return false;
		is_float = true;
	}
	*ret_float = is_float;
	return at == end;
}

static int set_float(struct reader *reader, double number, struct json *value)
{
	char text[FLOAT_TEXT_SIZE];

	if (!isfinite(number))
		return fail(reader, "infinity and not-a-number have no form in JSON");
	float_text_shortest(number, text);
	value->type = JSON_NUMBER;
	value->text = arena_format(reader->arena, "%s%s", text,
		strchr(text, '.') || strchr(text, 'e') ? "" : ".0");
	return 0;
}

static bool is_prefixed(struct span text)
{
	return text.length > 2 && text.data[0] == '0' && strchr("xob", text.data[1]) != NULL;
}

static int read_number(struct reader *reader, struct span word, struct json *value)
{
	_buffer_ struct buffer plain = {0};
	struct yaml_scalar scalar;
	bool is_float = false;

	if (!underscores_are_right(word))
		return fail(reader,
			"Invalid number \"%.*s\": underscores must be surrounded by digits",
			SPAN_ARGS(word));
	for (size_t i = 0; i < word.length; i++) {
		if (word.data[i] != '_')
			buffer_add_char(&plain, word.data[i]);
	}
	if (!is_prefixed(buffer_span(&plain)) && !is_decimal(buffer_span(&plain), &is_float))
		return fail(reader, "Invalid value \"%.*s\"", SPAN_ARGS(word));
	if (is_float)
		return set_float(reader, strtod(plain.data, NULL), value);
	scalar = yaml_scalar_resolve(buffer_span(&plain));
	if (scalar.kind == YAML_SCALAR_UNSIGNED || scalar.kind == YAML_SCALAR_FLOAT)
		return fail(reader, "%.*s is out of range for int64", SPAN_ARGS(word));
	if (scalar.kind != YAML_SCALAR_INTEGER)
		return fail(reader, "Invalid value \"%.*s\"", SPAN_ARGS(word));
	value->type = JSON_NUMBER;
	value->text = arena_format(reader->arena, "%lld", (long long)scalar.integer);
	return 0;
}

static bool is_date_at(struct span text)
{
	return text.length >= 10 && text.data[4] == '-' && text.data[7] == '-' &&
	       yaml_scalar_is_timestamp((struct span){text.data, 10});
}

/* A date, a time, or both, as RFC 3339 in UTC where no zone is given. */
static bool read_time(struct reader *reader, struct span word, struct json *value)
{
	struct span text = word;

	if (word.length >= 8 && word.data[2] == ':')
		text = arena_format(reader->arena, "0000-01-01T%.*s", SPAN_ARGS(word));
	else if (!is_date_at(word))
		return false;
	if (text.length == 10)
		text = arena_format(reader->arena, "%.*sT00:00:00", SPAN_ARGS(text));
	if (text.length < 19 || !strchr("Tt ", text.data[10]))
		return false;
	text = arena_format(reader->arena, "%.10sT%.*s", text.data, (int)text.length - 11,
		text.data + 11);
	if (span_ends_with(text, SPAN("z")))
		((char *)text.data)[text.length - 1] = 'Z';
	if (!yaml_scalar_is_timestamp(text))
		text = arena_format(reader->arena, "%.*sZ", SPAN_ARGS(text));
	if (!yaml_scalar_is_timestamp(text))
		return false;
	value->type = JSON_STRING;
	value->text = text;
	return true;
}

static int read_word(struct reader *reader, struct json *value)
{
	struct span word = {reader->at, 0};

	while (reader->at < reader->end && is_word_character(*reader->at))
		reader->at++;
	word.length = (size_t)(reader->at - word.data);
	/* A space may stand between a date and a time. */
	if (word.length == 10 && is_date_at(word) && reader->end - reader->at >= 9 &&
		*reader->at == ' ' && reader->at[1] >= '0' && reader->at[1] <= '9') {
		reader->at++;
		while (reader->at < reader->end && is_word_character(*reader->at))
			reader->at++;
		word.length = (size_t)(reader->at - word.data);
	}
	if (word.length == 0)
		return reader->at == reader->end
			       ? fail(reader, "unexpected EOF; expected value")
			       : fail(reader, "expected value but found '%c' instead", *reader->at);
	if (span_is(word, "true") || span_is(word, "false")) {
		value->type = span_is(word, "true") ? JSON_TRUE : JSON_FALSE;
		return 0;
	}
	if (span_ends_with(word, SPAN("inf")) || span_ends_with(word, SPAN("nan")))
		return set_float(reader, INFINITY, value);
	if (read_time(reader, word, value))
		return 0;
	return read_number(reader, word, value);
}

/* Keys */

static int read_key_part(struct reader *reader, struct span *ret_name)
{
	struct span name = {reader->at, 0};

	if (peek(reader) == '"' || peek(reader) == '\'')
		return read_string(reader, false, ret_name);
	while (reader->at < reader->end && is_word_character(*reader->at) &&
		!strchr("+.:", *reader->at))
		reader->at++;
	name.length = (size_t)(reader->at - name.data);
	if (name.length == 0)
		return reader->at == reader->end
			       ? fail(reader, "unexpected EOF; expected a key")
			       : fail(reader, "invalid bare key character '%c'", *reader->at);
	*ret_name = name;
	return 0;
}

static struct json *new_table(struct reader *reader, uint32_t line)
{
	struct json *table = json_new_object(reader->arena);

	table->line = line;
	return table;
}

static void add_member(struct reader *reader, struct json *table, struct span name,
	struct json *value)
{
	json_set(reader->arena, table, arena_copy(reader->arena, name.data, name.length), value);
}

/* The table that a name inside another refers to: made if absent, the last one of an array. */
static int enter_table(struct reader *reader, struct json **table, struct span name)
{
	struct json *inner = (struct json *)json_get_span(*table, name);

	if (!inner) {
		inner = new_table(reader, 0);
		add_member(reader, *table, name, inner);
	}
	if (inner->type == JSON_ARRAY && inner->line > 0 && inner->array.count > 0)
		inner = inner->array.items[inner->array.count - 1];
	if (inner->type != JSON_OBJECT)
		return fail(reader, "Key '%.*s' has already been defined.", SPAN_ARGS(name));
	*table = inner;
	return 0;
}

/* Names joined by dots: enters the tables of all but the last, which *ret_name gets. */
static int read_key(struct reader *reader, struct json **table, struct span *ret_name)
{
	unsigned depth = 0;
	int code;

	for (;;) {
		struct span name;

		skip_blanks(reader);
		code = read_key_part(reader, &name);
		if (code < 0)
			return code;
		skip_blanks(reader);
		if (!take(reader, '.')) {
			*ret_name = name;
			return 0;
		}
		if (++depth > TOML_DEPTH_MAX)
			return fail(reader, "nested too deeply (limit %d)", TOML_DEPTH_MAX);
		code = enter_table(reader, table, name);
		if (code < 0)
			return code;
	}
}

static int read_member(struct reader *reader, struct json *table)
{
	struct json *value;
	struct span name;
	int code;

	code = read_key(reader, &table, &name);
	if (code < 0)
		return code;
	if (!take(reader, '='))
		return reader->at == reader->end
			       ? fail(reader, "unexpected EOF; expected key separator '='")
			       : fail(reader, "expected '.' or '=', but got '%c' instead",
					 *reader->at);
	skip_blanks(reader);
	code = read_value(reader, &value);
	if (code < 0)
		return code;
	if (json_get_span(table, name))
		return fail(reader, "Key '%.*s' has already been defined.", SPAN_ARGS(name));
	add_member(reader, table, name, value);
	return 0;
}

/* Values */

static int read_array(struct reader *reader, struct json *array)
{
	for (;;) {
		struct json *item;
		int code;

		code = skip_space(reader);
		if (code < 0)
			return code;
		if (take(reader, ']'))
			return 0;
		code = read_value(reader, &item);
		if (code < 0)
			return code;
		json_append(reader->arena, array, item);
		code = skip_space(reader);
		if (code < 0)
			return code;
		if (!take(reader, ',') && peek(reader) != ']')
			return fail(reader, "expected a comma (',') or array terminator (']')");
	}
}

static int read_inline_table(struct reader *reader, struct json *table)
{
	for (;;) {
		int code;

		code = skip_space(reader);
		if (code < 0)
			return code;
		if (take(reader, '}'))
			return 0;
		code = read_member(reader, table);
		if (code < 0)
			return code;
		code = skip_space(reader);
		if (code < 0)
			return code;
		if (!take(reader, ',') && peek(reader) != '}')
			return fail(reader, "expected a comma or an inline table terminator '}'");
	}
}

static int read_nested(struct reader *reader, struct json **ret_value)
{
	bool array = *reader->at++ == '[';
	struct json *value =
		array ? json_new_array(reader->arena) : new_table(reader, reader->line);
	int code;

	if (++reader->depth > TOML_DEPTH_MAX)
		return fail(reader, "nested too deeply (limit %d)", TOML_DEPTH_MAX);
	code = array ? read_array(reader, value) : read_inline_table(reader, value);
	reader->depth--;
	if (code < 0)
		return code;
	if (!array)
		value->line = 0; /* a header may still add to it */
	*ret_value = value;
	return 0;
}

static int read_value(struct reader *reader, struct json **ret_value)
{
	struct json *value;
	int code;

	if (peek(reader) == '[' || peek(reader) == '{')
		return read_nested(reader, ret_value);
	value = json_new_null(reader->arena);
	if (peek(reader) == '"' || peek(reader) == '\'') {
		value->type = JSON_STRING;
		code = read_string(reader, true, &value->text);
	} else {
		code = read_word(reader, value);
	}
	if (code < 0)
		return code;
	*ret_value = value;
	return 0;
}

/* Headers */

static int add_table(struct reader *reader, struct json *outer, struct span name,
	struct json **ret_table)
{
	struct json *table = (struct json *)json_get_span(outer, name);

	if (table && (table->type != JSON_OBJECT || table->line > 0))
		return fail(reader, "Key '%.*s' has already been defined.", SPAN_ARGS(name));
	if (!table) {
		table = new_table(reader, 0);
		add_member(reader, outer, name, table);
	}
	table->line = reader->line;
	*ret_table = table;
	return 0;
}

static int add_table_to_list(struct reader *reader, struct json *outer, struct span name,
	struct json **ret_table)
{
	struct json *list = (struct json *)json_get_span(outer, name);

	if (list && (list->type != JSON_ARRAY || list->line == 0))
		return fail(reader, "Key '%.*s' was already created and cannot be used as an array",
			SPAN_ARGS(name));
	if (!list) {
		list = json_new_array(reader->arena);
		list->line = reader->line;
		add_member(reader, outer, name, list);
	}
	*ret_table = new_table(reader, reader->line);
	json_append(reader->arena, list, *ret_table);
	return 0;
}

static int read_header(struct reader *reader, struct json *root, struct json **ret_table)
{
	bool list = starts_with(reader, "[[");
	struct json *outer = root;
	struct span name;
	int code;

	reader->at += list ? 2 : 1;
	code = read_key(reader, &outer, &name);
	if (code < 0)
		return code;
	if (!starts_with(reader, list ? "]]" : "]"))
		return fail(reader, "expected '.' or ']' to end table name");
	reader->at += list ? 2 : 1;
	return list ? add_table_to_list(reader, outer, name, ret_table)
		    : add_table(reader, outer, name, ret_table);
}

int toml_parse(struct span text, struct arena *arena, struct json **ret_value, struct err *err)
{
	struct reader reader = {
		.at = text.data,
		.end = text.data + text.length,
		.line = 1,
		.arena = arena,
		.err = err,
	};
	struct json *root = json_new_object(arena), *table = root;
	int code;

	if (text.length > TOML_TEXT_MAX)
		return err_set(err, -E2BIG, "toml: longer than %d bytes", TOML_TEXT_MAX);
	if (starts_with(&reader, "\xef\xbb\xbf"))
		reader.at += 3;
	for (;;) {
		code = skip_space(&reader);
		if (code < 0)
			return code;
		if (reader.at == reader.end)
			break;
		code = peek(&reader) == '[' ? read_header(&reader, root, &table)
					    : read_member(&reader, table);
		if (code < 0)
			return code;
		skip_blanks(&reader);
		code = skip_comment(&reader);
		if (code < 0)
			return code;
		if (reader.at < reader.end && !take_line_break(&reader))
			return fail(&reader,
				"expected a top-level item to end with a newline, comment, or EOF, "
				"but got '%c' instead",
				*reader.at);
	}
	*ret_value = root;
	return 0;
}
