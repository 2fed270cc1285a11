/*
 * Values to text. What is written is always JSON, whatever bytes a built string holds: bytes that are
 * not UTF-8 become U+FFFD.
 */
#include "base/json.h"
#include "base/json_scan.h"

#define PRETTY_STEP 2

static void write_special(unsigned char c, struct buffer *out)
{
	static const char short_forms[256] = {
		['"'] = '"',
		['\\'] = '\\',
		['\b'] = 'b',
		['\f'] = 'f',
		['\n'] = 'n',
		['\r'] = 'r',
		['\t'] = 't',
	};
	static const char digits[] = "0123456789abcdef";

	if (short_forms[c]) {
		char escape[] = {'\\', short_forms[c]};

		buffer_add(out, escape, sizeof(escape));
	} else {
		char escape[] = {'\\', 'u', '0', '0', digits[c >> 4], digits[c & 15]};

		buffer_add(out, escape, sizeof(escape));
	}
}

/* The part of a string from its first byte that is not plain. */
static void write_rest(const char *at, const char *end, struct buffer *out)
{
	while (at < end) {
		const char *plain = json_skip_plain(at, end);
		size_t length;

		buffer_add(out, at, (size_t)(plain - at));
		at = plain;
		if (at == end)
			break;
		if ((unsigned char)*at < 0x80) {
			write_special((unsigned char)*at++, out);
			continue;
		}
		length = json_utf8_length(at, end);
		if (length > 0)
			buffer_add(out, at, length);
		else
			buffer_add_string(out, "\xef\xbf\xbd");
		at += length > 0 ? length : 1;
	}
}

void json_write_string(struct span text, struct buffer *out)
{
	const char *start = text.data ? text.data : "", *end = start + text.length;
	const char *plain = json_skip_plain(start, end);
	size_t length = (size_t)(plain - start);
	char *room = buffer_reserve(out, length + 2);

	if (!room)
		return;
	*room++ = '"';
	memcpy(room, start, length);
	room[length] = '"';
	out->length += length + 1;
	if (plain < end) {
		write_rest(plain, end, out);
		buffer_add_char(out, '"');
	} else {
		out->data[++out->length] = '\0';
	}
}

struct layout {
	bool pretty;
	unsigned indent;
};

static void write_break(const struct layout *layout, struct buffer *out)
{
	char *room;

	if (!layout->pretty)
		return;
	room = buffer_reserve(out, layout->indent + 1);
	if (!room)
		return;
	room[0] = '\n';
	memset(room + 1, ' ', layout->indent);
	out->length += layout->indent + 1;
	out->data[out->length] = '\0';
}

static void write_value(const struct json *value, struct layout layout, struct buffer *out);

static void write_array(const struct json *array, struct layout layout, struct buffer *out)
{
	struct layout inner = {layout.pretty, layout.indent + PRETTY_STEP};

	buffer_add_char(out, '[');
	for (uint32_t i = 0; i < array->array.count; i++) {
		if (i > 0)
			buffer_add_char(out, ',');
		write_break(&inner, out);
		write_value(array->array.items[i], inner, out);
	}
	if (array->array.count > 0)
		write_break(&layout, out);
	buffer_add_char(out, ']');
}

static void write_object(const struct json *object, struct layout layout, struct buffer *out)
{
	struct layout inner = {layout.pretty, layout.indent + PRETTY_STEP};

	buffer_add_char(out, '{');
	for (uint32_t i = 0; i < object->object.count; i++) {
		if (i > 0)
			buffer_add_char(out, ',');
		write_break(&inner, out);
		json_write_string(object->object.members[i].name, out);
		buffer_add(out, ": ", layout.pretty ? 2 : 1);
		write_value(object->object.members[i].value, inner, out);
	}
	if (object->object.count > 0)
		write_break(&layout, out);
	buffer_add_char(out, '}');
}

static void write_value(const struct json *value, struct layout layout, struct buffer *out)
{
	switch (value ? value->type : JSON_NULL) {
	case JSON_NULL: buffer_add(out, "null", 4); break;
	case JSON_FALSE: buffer_add(out, "false", 5); break;
	case JSON_TRUE: buffer_add(out, "true", 4); break;
	case JSON_NUMBER: buffer_add_span(out, value->text); break;
	case JSON_STRING: json_write_string(value->text, out); break;
	case JSON_ARRAY: write_array(value, layout, out); break;
	case JSON_OBJECT: write_object(value, layout, out); break;
	}
}

void json_write(const struct json *value, struct buffer *out)
{
	write_value(value, (struct layout){.pretty = false}, out);
}

void json_write_pretty(const struct json *value, struct buffer *out)
{
	write_value(value, (struct layout){.pretty = true}, out);
}

struct span json_to_text(const struct json *value, struct arena *arena)
{
	_buffer_ struct buffer out = {0};

	json_write(value, &out);
	return arena_copy_span(arena, buffer_span(&out));
}
