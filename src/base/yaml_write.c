/*
 * Values to YAML as the Go library behind sigs.k8s.io/yaml writes them. That library writes JSON first,
 * reads it as YAML and writes the result, which is visible in a few places: characters that YAML may
 * not contain are errors, a next-line character (U+0085) is folded like a line break, and a float
 * without a fraction becomes an integer. YAML_STYLE_PRETTY is another version of the library, which
 * writes directly, breaks no long lines and indents sequences.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/float_text.h"
#include "base/memory.h"
#include "base/unicode.h"
#include "base/yaml.h"
#include "base/yaml_scalar.h"

#define INDENT 2
#define WIDTH 80             /* a space beyond this column becomes a line break */
#define SIMPLE_KEY_MAX 128   /* bytes; longer keys are written with "? " */
#define JSON_KEY_MAX 1024    /* characters of a key in JSON that the library reads back */
#define WRITE_DEPTH_MAX 1000 /* of values */

struct writer {
	struct buffer *out;
	struct err *err;
	enum yaml_style style;
	size_t column;
	bool line_start; /* nothing but a line break was written before */
};

/* The position of a node: at the start of the document, behind "key:", or behind "- ", "? ", ": ". */
enum position { AT_ROOT, BEHIND_KEY, BEHIND_INDICATOR };

static int write_node(struct writer *writer, const struct json *value, size_t indent,
	enum position position, unsigned depth);

/* Characters */

struct character {
	uint32_t code;
	size_t length; /* bytes */
};

/* Text is UTF-8 that was checked before; a broken end counts as one byte. */
static struct character character_at(struct span text, size_t at)
{
	const unsigned char *byte = (const unsigned char *)text.data + at;
	size_t length = byte[0] < 0x80 ? 1 : byte[0] < 0xe0 ? 2 : byte[0] < 0xf0 ? 3 : 4;
	uint32_t code = length == 1 ? byte[0] : byte[0] & (0xffu >> (length + 1));

	if (length > text.length - at)
		return (struct character){byte[0], 1};
	for (size_t i = 1; i < length; i++)
		code = code << 6 | (byte[i] & 0x3f);
	return (struct character){code, length};
}

static bool is_break(uint32_t code)
{
	return code == '\n' || code == '\r' || code == 0x85 || code == 0x2028 || code == 0x2029;
}

/* Those that the library writes without an escape; it knows nothing beyond the basic plane. */
static bool is_printable(uint32_t code)
{
	return code == '\n' || (code >= 0x20 && code <= 0x7e) || (code >= 0xa0 && code < 0xd800) ||
	       (code >= 0xe000 && code <= 0xfffd && code != 0xfeff);
}

static bool is_blank_at(struct span text, size_t at)
{
	return at < text.length && (text.data[at] == ' ' || text.data[at] == '\t');
}

static bool is_space_at(struct span text, size_t at)
{
	return at < text.length && text.data[at] == ' ';
}

/* Values that the library loses or rejects between JSON and YAML */

static bool json_may_contain(uint32_t code)
{
	return code < 0x7f || code == 0x85 || (code >= 0xa0 && code != 0xfffe && code != 0xffff);
}

static int check_characters(struct writer *writer, struct span text)
{
	struct character c;

	for (size_t i = 0; i < text.length; i += c.length) {
		c = character_at(text, i);
		if (!json_may_contain(c.code))
			return err_set(writer->err, -EINVAL,
				"character U+%04X cannot be written as YAML", c.code);
	}
	return 0;
}

/* The characters that encoding/json writes for a string, with its quotes. */
static size_t json_characters(struct span text)
{
	size_t count = 2;
	struct character c;

	for (size_t i = 0; i < text.length; i += c.length) {
		c = character_at(text, i);
		if (c.code == '"' || c.code == '\\' ||
			(c.code >= 8 && c.code <= 13 && c.code != 11))
			count += 2;
		else if (c.code < 0x20 || c.code == '<' || c.code == '>' || c.code == '&' ||
			 c.code == 0x2028 || c.code == 0x2029)
			count += 6;
		else
			count++;
	}
	return count;
}

static bool has_next_line(struct span text)
{
	return memmem(text.data, text.length, "\xc2\x85", 2) != NULL;
}

/* Behind a next-line character the library takes these for the end of the document. */
static bool has_document_marker(struct span text)
{
	for (size_t i = 0; i + 5 <= text.length; i++) {
		if (memcmp(text.data + i, "\xc2\x85", 2) == 0 &&
			(memcmp(text.data + i + 2, "---", 3) == 0 ||
				memcmp(text.data + i + 2, "...", 3) == 0) &&
			(is_blank_at(text, i + 5) ||
				(i + 7 <= text.length &&
					memcmp(text.data + i + 5, "\xc2\x85", 2) == 0)))
			return true;
	}
	return false;
}

/* Spaces around next-line characters go; one of these becomes a space, more become line breaks. */
static void fold_next_lines(struct span text, struct buffer *out)
{
	for (size_t i = 0; i < text.length;) {
		size_t start = i, breaks = 0;

		while (i < text.length) {
			if (text.length - i >= 2 && memcmp(text.data + i, "\xc2\x85", 2) == 0) {
				breaks++;
				i += 2;
			} else if (text.data[i] == ' ') {
				i++;
			} else {
				break;
			}
		}
		if (breaks == 0)
			buffer_add(out, text.data + start, i - start);
		else if (breaks == 1)
			buffer_add_char(out, ' ');
		for (size_t n = 1; n < breaks; n++)
			buffer_add_char(out, '\n');
		if (i < text.length)
			buffer_add_char(out, text.data[i++]);
	}
}

/* Output */

static void put(struct writer *writer, const char *data, size_t length)
{
	buffer_add(writer->out, data, length);
	writer->column++;
	writer->line_start = false;
}

static void put_text(struct writer *writer, const char *text)
{
	for (; *text; text++)
		put(writer, text, 1);
}

static void put_line_break(struct writer *writer, const char *data, size_t length)
{
	buffer_add(writer->out, data, length);
	writer->column = 0;
	writer->line_start = true;
}

static void pad(struct writer *writer, size_t indent)
{
	while (writer->column < indent)
		put(writer, " ", 1);
}

/* To the indentation on a fresh line; the current one is fresh behind a line break. */
static void new_line(struct writer *writer, size_t indent)
{
	if (!writer->line_start)
		put_line_break(writer, "\n", 1);
	pad(writer, indent);
}

/* Scalars */

enum scalar_style { PLAIN, SINGLE_QUOTED, DOUBLE_QUOTED, LITERAL };

/* The styles that the characters of a string allow. */
struct analysis {
	bool multiline;
	bool plain_allowed;
	bool single_quoted_allowed;
	bool literal_allowed;
};

static bool is_indicator(struct span text, size_t at, bool behind_blank)
{
	char c = text.data[at];
	bool before_blank = at + 1 >= text.length || is_blank_at(text, at + 1);

	if (at == 0 && strchr("#,[]{}&*!|>'\"%@`", c))
		return c != '\0';
	if (at == 0 && (c == '?' || c == '-'))
		return before_blank;
	if (c == ':')
		return before_blank;
	return c == '#' && behind_blank;
}

static struct analysis analyze(struct span text, enum yaml_style style)
{
	bool special = false, tabs = false, breaks = false, indicators;
	bool break_space = false, space_break = false;
	bool behind_space = false, behind_break = false, behind_blank = true;
	bool edges = false, trailing_space = false;
	struct character c;

	if (text.length == 0)
		return (struct analysis){false, true, true, false};
	indicators = span_starts_with(text, SPAN("---")) || span_starts_with(text, SPAN("..."));
	for (size_t i = 0; i < text.length; i += c.length) {
		bool edge, space, line_break;

		c = character_at(text, i);
		edge = i == 0 || i + c.length == text.length;
		space = c.code == ' ';
		line_break = is_break(c.code);
		indicators |= is_indicator(text, i, behind_blank);
		if (c.code == '\t' && style == YAML_STYLE_PRETTY)
			tabs = true;
		else
			special |= !is_printable(c.code);
		edges |= edge && (space || line_break);
		trailing_space |= space && i + c.length == text.length;
		breaks |= line_break;
		break_space |= space && behind_break;
		space_break |= line_break && behind_space;
		behind_space = space;
		behind_break = line_break;
		behind_blank = space || line_break || c.code == '\t' || c.code == '\0';
	}
	return (struct analysis){
		.multiline = breaks,
		.plain_allowed = !edges && !break_space && !space_break && !special && !tabs &&
				 !breaks && !indicators,
		.single_quoted_allowed = !break_space && !space_break && !special && !tabs,
		.literal_allowed = !trailing_space && !space_break && !special,
	};
}

/* [-+]? digit [0-9_]* (: [0-5]? digit)+ (. [0-9_]*)?: numbers of base 60 in YAML 1.1. */
static bool is_base60(struct span text)
{
	const char *at = text.data, *end = at + text.length;
	bool parts = false;

	if (at < end && (*at == '-' || *at == '+'))
		at++;
	if (at == end || *at < '0' || *at > '9')
		return false;
	while (at < end && ((*at >= '0' && *at <= '9') || *at == '_'))
		at++;
	while (at < end && *at == ':') {
		size_t digits = 0;

		for (at++; at < end && digits < 2 && *at >= '0' && *at <= '9'; at++)
			digits++;
		if (digits == 0 || (digits == 2 && at[-2] > '5'))
			return false;
		parts = true;
	}
	if (parts && at < end && *at == '.') {
		for (at++; at < end && ((*at >= '0' && *at <= '9') || *at == '_'); at++)
			;
	}
	return parts && at == end;
}

static enum scalar_style choose_style(struct span text, const struct analysis *analysis,
	bool simple_key)
{
	if (memchr(text.data, '\n', text.length))
		return analysis->literal_allowed && !simple_key ? LITERAL : DOUBLE_QUOTED;
	if (yaml_scalar_resolve(text).kind != YAML_SCALAR_STRING || is_base60(text))
		return DOUBLE_QUOTED;
	if (simple_key && analysis->multiline)
		return DOUBLE_QUOTED;
	if (analysis->plain_allowed)
		return PLAIN;
	return analysis->single_quoted_allowed ? SINGLE_QUOTED : DOUBLE_QUOTED;
}

/* Whether the space at `at` is where a long line is broken. */
static bool breaks_here(const struct writer *writer, struct span text, size_t at, bool simple_key)
{
	return writer->style == YAML_STYLE_KUBERNETES && !simple_key && writer->column > WIDTH &&
	       at > 0 && at + 1 < text.length && text.data[at - 1] != ' ';
}

/* Plain and single-quoted. */
static void put_unescaped(struct writer *writer, struct span text, size_t indent, bool quoted,
	bool simple_key)
{
	bool behind_break = false;
	struct character c;

	for (size_t i = 0; i < text.length; i += c.length) {
		c = character_at(text, i);
		if (c.code == ' ' && breaks_here(writer, text, i, simple_key) &&
			!is_space_at(text, i + 1)) {
			new_line(writer, indent);
			continue;
		}
		if (is_break(c.code)) {
			put_line_break(writer, text.data + i, c.length);
			behind_break = true;
			continue;
		}
		if (behind_break)
			pad(writer, indent);
		behind_break = false;
		if (quoted && c.code == '\'')
			put(writer, "'", 1);
		put(writer, text.data + i, c.length);
	}
}

static void put_escape(struct writer *writer, uint32_t code)
{
	static const char letters[] = "0\0a\7b\10t\11n\12v\13f\14r\15e\33\"\"\\\\";
	char text[16];

	for (size_t i = 0; i + 1 < sizeof(letters); i += 2) {
		if ((uint32_t)letters[i + 1] == code) {
			snprintf(text, sizeof(text), "\\%c", letters[i]);
			put_text(writer, text);
			return;
		}
	}
	if (code == 0x85 || code == 0xa0 || code == 0x2028 || code == 0x2029)
		snprintf(text, sizeof(text), "\\%c",
			code == 0x85     ? 'N'
			: code == 0xa0   ? '_'
			: code == 0x2028 ? 'L'
					 : 'P');
	else if (code <= 0xff)
		snprintf(text, sizeof(text), "\\x%02X", code);
	else if (code <= 0xffff)
		snprintf(text, sizeof(text), "\\u%04X", code);
	else
		snprintf(text, sizeof(text), "\\U%08X", code);
	put_text(writer, text);
}

static void put_double_quoted(struct writer *writer, struct span text, size_t indent,
	bool simple_key)
{
	/* The library escapes all of a string that begins with a byte order mark. */
	bool all = span_starts_with(text, SPAN("\xef\xbb\xbf"));
	struct character c;

	put(writer, "\"", 1);
	for (size_t i = 0; i < text.length; i += c.length) {
		c = character_at(text, i);
		if (all || !is_printable(c.code) || is_break(c.code) || c.code == '"' ||
			c.code == '\\') {
			put_escape(writer, c.code);
			continue;
		}
		if (c.code == ' ' && breaks_here(writer, text, i, simple_key)) {
			new_line(writer, indent);
			if (is_space_at(text, i + 1))
				put(writer, "\\", 1);
			continue;
		}
		put(writer, text.data + i, c.length);
	}
	put(writer, "\"", 1);
}

static void put_literal(struct writer *writer, struct span text, size_t indent)
{
	struct character c = character_at(text, 0);
	size_t breaks = 0; /* at the end */
	bool fresh = true;

	put(writer, "|", 1);
	if (c.code == ' ' || is_break(c.code))
		put(writer, "2", 1);
	for (size_t i = 0; i < text.length; i += c.length) {
		c = character_at(text, i);
		breaks = is_break(c.code) ? breaks + 1 : 0;
	}
	if (breaks == 0)
		put(writer, "-", 1);
	else if (breaks > 1 || text.length == c.length)
		put(writer, "+", 1);
	put_line_break(writer, "\n", 1);
	for (size_t i = 0; i < text.length; i += c.length) {
		c = character_at(text, i);
		if (is_break(c.code)) {
			put_line_break(writer, text.data + i, c.length);
			fresh = true;
			continue;
		}
		if (fresh)
			pad(writer, indent);
		fresh = false;
		put(writer, text.data + i, c.length);
	}
}

static void put_string(struct writer *writer, struct span text, const struct analysis *analysis,
	size_t indent, bool simple_key)
{
	switch (choose_style(text, analysis, simple_key)) {
	case PLAIN: put_unescaped(writer, text, indent, false, simple_key); break;
	case SINGLE_QUOTED:
		put(writer, "'", 1);
		put_unescaped(writer, text, indent, true, simple_key);
		put(writer, "'", 1);
		break;
	case DOUBLE_QUOTED: put_double_quoted(writer, text, indent, simple_key); break;
	case LITERAL: put_literal(writer, text, indent); break;
	}
}

/* indent: that of continued lines. */
static int write_string(struct writer *writer, struct span text, size_t indent)
{
	_buffer_ struct buffer folded = {0};
	struct analysis analysis;

	if (writer->style == YAML_STYLE_KUBERNETES) {
		int code = check_characters(writer, text);

		if (code < 0)
			return code;
		if (has_next_line(text)) {
			if (has_document_marker(text))
				return err_set(writer->err, -EINVAL,
					"a document marker behind the character U+0085 cannot be "
					"written as YAML");
			fold_next_lines(text, &folded);
			text = buffer_span(&folded);
		}
	}
	analysis = analyze(text, writer->style);
	put_string(writer, text, &analysis, indent, false);
	return 0;
}

static bool is_integer_text(struct span text)
{
	for (size_t i = 0; i < text.length; i++) {
		if (strchr(".eEnNiI", text.data[i]))
			return false;
	}
	return true;
}

static void write_number(struct writer *writer, const struct json *value)
{
	char text[FLOAT_TEXT_SIZE];
	struct yaml_scalar scalar;
	double number;

	if (writer->style == YAML_STYLE_PRETTY && !is_integer_text(value->text)) {
		json_double(value, &number);
		float_text_shortest(number, text);
		put_text(writer, text);
		return;
	}
	scalar = yaml_scalar_resolve(value->text);
	if (scalar.kind == YAML_SCALAR_FLOAT && isfinite(scalar.number) &&
		writer->style == YAML_STYLE_KUBERNETES) {
		float_text_json(scalar.number, text);
		scalar = yaml_scalar_resolve(span_of(text));
	}
	if (scalar.kind == YAML_SCALAR_INTEGER)
		snprintf(text, sizeof(text), "%lld", (long long)scalar.integer);
	else if (scalar.kind == YAML_SCALAR_UNSIGNED)
		snprintf(text, sizeof(text), "%llu", (unsigned long long)scalar.natural);
	else
		float_text_shortest(scalar.number, text);
	put_text(writer, text);
}

/* Order of keys */

static bool is_digit(uint32_t code)
{
	return code >= '0' && code <= '9';
}

/* The number whose digits begin at `at`, which overflows as Go's int64 does; *ret_end is behind it. */
static int64_t number_at(struct span text, size_t at, int64_t start, size_t *ret_end)
{
	uint64_t number = (uint64_t)start;

	for (; at < text.length && is_digit((unsigned char)text.data[at]); at++)
		number = number * 10 + (uint64_t)(text.data[at] - '0');
	*ret_end = at;
	return (int64_t)number;
}

/* Both are equal before `at`. */
static bool follows_other_digit_than_zero(struct span text, size_t at)
{
	while (at > 0 && is_digit((unsigned char)text.data[at - 1])) {
		if (text.data[--at] != '0')
			return true;
	}
	return false;
}

static int compare_where_different(struct span a, struct span b, size_t at, enum yaml_style style)
{
	struct character ca = character_at(a, at), cb = character_at(b, at);
	bool letter_a = unicode_is_letter(ca.code), letter_b = unicode_is_letter(cb.code);
	int64_t start = 0, number_a, number_b;
	size_t end_a, end_b;

	if (letter_a && letter_b)
		return ca.code < cb.code ? -1 : 1;
	if (letter_a || letter_b) {
		bool behind_digit = style == YAML_STYLE_PRETTY && at > 0 &&
				    is_digit((unsigned char)a.data[at - 1]);

		return (behind_digit ? letter_a : letter_b) ? -1 : 1;
	}
	if ((ca.code == '0' || cb.code == '0') && follows_other_digit_than_zero(a, at))
		start = 1;
	number_a = number_at(a, at, start, &end_a);
	number_b = number_at(b, at, start, &end_b);
	if (number_a != number_b)
		return number_a < number_b ? -1 : 1;
	if (end_a != end_b)
		return end_a < end_b ? -1 : 1;
	return ca.code < cb.code ? -1 : 1;
}

static int compare_names(struct span a, struct span b, enum yaml_style style)
{
	for (size_t i = 0; i < a.length && i < b.length;) {
		struct character ca = character_at(a, i), cb = character_at(b, i);

		if (ca.code != cb.code)
			return compare_where_different(a, b, i, style);
		i += ca.length;
	}
	return a.length < b.length ? -1 : a.length > b.length;
}

static int compare_members(const void *a, const void *b, void *style)
{
	const struct json_member *const *first = a, *const *second = b;

	return compare_names((*first)->name, (*second)->name, *(enum yaml_style *)style);
}

/* Collections */

static int write_key(struct writer *writer, struct span name, size_t indent, bool *ret_simple)
{
	struct analysis analysis;

	if (writer->style == YAML_STYLE_KUBERNETES && json_characters(name) > JSON_KEY_MAX)
		return err_set(writer->err, -EINVAL,
			"a key of more than %d characters cannot be written as YAML", JSON_KEY_MAX);
	if (writer->style == YAML_STYLE_KUBERNETES && has_next_line(name))
		return err_set(writer->err, -EINVAL,
			"a key with the character U+0085 cannot be written as YAML");
	analysis = analyze(name, writer->style);
	if (!analysis.multiline && name.length <= SIMPLE_KEY_MAX) {
		int code =
			writer->style == YAML_STYLE_KUBERNETES ? check_characters(writer, name) : 0;

		if (code < 0)
			return code;
		put_string(writer, name, &analysis, indent + INDENT, true);
		put(writer, ":", 1);
		*ret_simple = true;
		return 0;
	}
	put_text(writer, "? ");
	*ret_simple = false;
	return write_string(writer, name, indent + INDENT);
}

static int write_member(struct writer *writer, const struct json_member *member, size_t indent,
	unsigned depth)
{
	bool simple;
	int code;

	code = write_key(writer, member->name, indent, &simple);
	if (code < 0)
		return code;
	if (simple)
		return write_node(writer, member->value, indent, BEHIND_KEY, depth);
	new_line(writer, indent);
	put_text(writer, ": ");
	return write_node(writer, member->value, indent, BEHIND_INDICATOR, depth);
}

static int write_mapping(struct writer *writer, const struct json *object, size_t indent,
	bool first_on_line, unsigned depth)
{
	_free_ const struct json_member **members =
		memory_allocate_array(object->object.count, sizeof(*members));

	for (uint32_t i = 0; i < object->object.count; i++)
		members[i] = &object->object.members[i];
	qsort_r(members, object->object.count, sizeof(*members), compare_members, &writer->style);
	for (uint32_t i = 0; i < object->object.count; i++) {
		int code;

		if (i > 0 || first_on_line)
			new_line(writer, indent);
		code = write_member(writer, members[i], indent, depth);
		if (code < 0)
			return code;
	}
	return 0;
}

static int write_sequence(struct writer *writer, const struct json *array, size_t indent,
	bool first_on_line, unsigned depth)
{
	for (uint32_t i = 0; i < array->array.count; i++) {
		int code;

		if (i > 0 || first_on_line)
			new_line(writer, indent);
		put_text(writer, "- ");
		code = write_node(writer, array->array.items[i], indent, BEHIND_INDICATOR, depth);
		if (code < 0)
			return code;
	}
	return 0;
}

static int write_collection(struct writer *writer, const struct json *value, size_t indent,
	enum position position, unsigned depth)
{
	bool on_line = position == BEHIND_KEY, mapping = value->type == JSON_OBJECT;

	if (depth == WRITE_DEPTH_MAX)
		return err_set(writer->err, -E2BIG, "nested too deeply (limit %d)",
			WRITE_DEPTH_MAX);
	if (position == BEHIND_INDICATOR ||
		(on_line && (mapping || writer->style == YAML_STYLE_PRETTY)))
		indent += INDENT;
	return mapping ? write_mapping(writer, value, indent, on_line, depth + 1)
		       : write_sequence(writer, value, indent, on_line, depth + 1);
}

/* indent: that of the mapping or sequence which contains the node. */
static int write_node(struct writer *writer, const struct json *value, size_t indent,
	enum position position, unsigned depth)
{
	if ((value->type == JSON_OBJECT || value->type == JSON_ARRAY) && json_count(value) > 0)
		return write_collection(writer, value, indent, position, depth);
	if (position == BEHIND_KEY)
		put(writer, " ", 1);
	switch (value->type) {
	case JSON_NULL: put_text(writer, "null"); return 0;
	case JSON_FALSE: put_text(writer, "false"); return 0;
	case JSON_TRUE: put_text(writer, "true"); return 0;
	case JSON_NUMBER: write_number(writer, value); return 0;
	case JSON_STRING: return write_string(writer, value->text, indent + INDENT);
	case JSON_ARRAY: put_text(writer, "[]"); return 0;
	case JSON_OBJECT: put_text(writer, "{}"); return 0;
	}
	return 0;
}

int yaml_write(const struct json *value, enum yaml_style style, struct buffer *out, struct err *err)
{
	struct writer writer = {.out = out, .err = err, .style = style, .line_start = true};
	int code;

	code = write_node(&writer, value, 0, AT_ROOT, 0);
	if (code < 0)
		return code;
	if (!writer.line_start)
		put_line_break(&writer, "\n", 1);
	if (buffer_failed(out))
		return err_set(err, -E2BIG, "the YAML text is longer than %zu bytes", out->cap);
	return 0;
}
