/* See json_text.h. */
#include "chart/json_text.h"

#include <math.h>

#include "chart/number.h"
#include "chart/text.h"

struct writer {
	struct buffer *out;
	struct arena *arena;
	enum json_text_style style;
	int depth;
};

static void write_character(struct writer *writer, uint32_t c)
{
	static const char names[] = "\bb\ff\nn\rr\tt\"\"\\\\";

	for (size_t i = 0; i < sizeof(names) - 1; i += 2)
		if ((uint32_t)names[i] == c) {
			buffer_add_char(writer->out, '\\');
			buffer_add_char(writer->out, names[i + 1]);
			return;
		}
	if (c < ' ' || c == 0x2028 || c == 0x2029 ||
		(writer->style != JSON_TEXT_RAW && (c == '<' || c == '>' || c == '&')))
		buffer_format(writer->out, "\\u%04x", c);
	else
		text_add(writer->out, c);
}

static void write_text(struct writer *writer, struct span text)
{
	size_t length, plain = 0;

	buffer_add_char(writer->out, '"');
	for (size_t i = 0; i < text.length; i += length) {
		unsigned char byte = (unsigned char)text.data[i];
		uint32_t c;

		length = 1;
		/* Runs of ordinary characters are copied at once. */
		if (byte < 0x80 && byte >= ' ' && byte != '"' && byte != '\\' && byte != '<' &&
			byte != '>' && byte != '&')
			continue;
		buffer_add(writer->out, text.data + plain, i - plain);
		c = text_decode((struct span){text.data + i, text.length - i}, &length);
		if (c == TEXT_BROKEN && length == 1)
			buffer_add_string(writer->out, "\\ufffd");
		else
			write_character(writer, c);
		plain = i + length;
	}
	buffer_add(writer->out, text.data + plain, text.length - plain);
	buffer_add_char(writer->out, '"');
}

static void new_line(struct writer *writer)
{
	if (writer->style != JSON_TEXT_PRETTY)
		return;
	buffer_add_char(writer->out, '\n');
	for (int i = 0; i < writer->depth; i++)
		buffer_add_string(writer->out, "  ");
}

static bool write_value(struct writer *writer, struct value value);

static bool write_list(struct writer *writer, const struct value_list *list)
{
	if (list->is_nil) {
		buffer_add_string(writer->out, "null");
		return true;
	}
	buffer_add_char(writer->out, '[');
	writer->depth++;
	for (uint32_t i = 0; i < list->count; i++) {
		if (i)
			buffer_add_char(writer->out, ',');
		new_line(writer);
		if (!write_value(writer, list->items[i]))
			return false;
	}
	writer->depth--;
	if (list->count)
		new_line(writer);
	buffer_add_char(writer->out, ']');
	return true;
}

static bool write_map(struct writer *writer, const struct value_map *map)
{
	buffer_add_char(writer->out, '{');
	writer->depth++;
	for (uint32_t i = 0; i < map->count; i++) {
		if (i)
			buffer_add_char(writer->out, ',');
		new_line(writer);
		write_text(writer, map->entries[i].key);
		buffer_add_string(writer->out, writer->style == JSON_TEXT_PRETTY ? ": " : ":");
		if (!write_value(writer, map->entries[i].value))
			return false;
	}
	writer->depth--;
	if (map->count)
		new_line(writer);
	buffer_add_char(writer->out, '}');
	return true;
}

/* With its names in the order of the class. */
static bool write_object(struct writer *writer, const struct object *object)
{
	struct value value = object->class->plain ? object->class->plain(writer->arena, object)
						  : value_of_map(value_map_new(writer->arena, 0));
	struct value_map ordered;
	const struct value *found;

	if (!object->class->order)
		return write_value(writer, value);
	ordered = (struct value_map){0, value.map->count,
		arena_allocate_array(writer->arena, value.map->count, sizeof(*ordered.entries))};
	for (const char *const *name = object->class->order; *name; name++) {
		found = value_map_find(value.map, span_of(*name));
		if (found)
			ordered.entries[ordered.count++] =
				(struct value_entry){span_of(*name), *found};
	}
	return write_map(writer, &ordered);
}

static bool write_value(struct writer *writer, struct value value)
{
	if (writer->depth > VALUE_DEPTH_MAX || writer->out->failed)
		return false;
	switch ((enum value_kind)value.kind) {
	case VALUE_NONE:
	case VALUE_NIL: buffer_add_string(writer->out, "null"); return true;
	case VALUE_BOOL:
		buffer_add_string(writer->out, value.boolean ? "true" : "false");
		return true;
	case VALUE_INTEGER: buffer_add_signed(writer->out, value.integer); return true;
	case VALUE_FLOAT:
		if (isnan(value.number) || isinf(value.number))
			return false;
		buffer_add_span(writer->out, value_float_to_json(writer->arena, value.number));
		return true;
	case VALUE_STRING: write_text(writer, value.text); return true;
	case VALUE_BYTES: write_text(writer, number_base64(writer->arena, value.text)); return true;
	case VALUE_LIST: return write_list(writer, value.list);
	case VALUE_MAP: return write_map(writer, value.map);
	case VALUE_OBJECT: return write_object(writer, value.object);
	}
	return false;
}

bool json_text_write(struct value value, enum json_text_style style, struct arena *arena,
	struct buffer *out)
{
	struct writer writer = {.out = out, .arena = arena, .style = style};

	return write_value(&writer, value);
}
