/* Problems of a value, as lines of text. */
#include "chart/schema_apply.h"

#include <stdarg.h>
#include <stdio.h>

static void write_place(const struct place *place, struct buffer *out)
{
	if (!place)
		return;
	write_place(place->outer, out);
	buffer_add_char(out, '/');
	if (!place->name.data) {
		buffer_add_unsigned(out, place->index);
		return;
	}
	for (size_t i = 0; i < place->name.length; i++) {
		char c = place->name.data[i];

		if (c == '~' || c == '/')
			buffer_add_string(out, c == '~' ? "~0" : "~1");
		else
			buffer_add_char(out, c);
	}
}

void schema_begin_problem(struct application *a, const struct place *place)
{
	a->valid = false;
	for (unsigned i = 0; i < a->indent; i++)
		buffer_add_string(a->out, "  ");
	buffer_add_string(a->out, "- at '");
	write_place(place, a->out);
	buffer_add_string(a->out, "': ");
}

void schema_problem(struct application *a, const char *format, ...)
{
	char text[512];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	schema_begin_problem(a, a->place);
	buffer_add_string(a->out, text);
	buffer_add_char(a->out, '\n');
}

const char *schema_type_of(const struct json *value)
{
	switch (value->type) {
	case JSON_NULL: return "null";
	case JSON_FALSE:
	case JSON_TRUE: return "boolean";
	case JSON_NUMBER: return "number";
	case JSON_STRING: return "string";
	case JSON_ARRAY: return "array";
	case JSON_OBJECT: return "object";
	}
	return "";
}

void schema_add_value(struct buffer *out, const struct json *value)
{
	if (value->type == JSON_NULL)
		buffer_add_string(out, "<nil>");
	else if (value->type == JSON_STRING)
		buffer_format(out, "'%.*s'", SPAN_ARGS(value->text));
	else
		json_write(value, out);
}

void schema_add_names(struct buffer *out, const struct span *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		buffer_format(out, "%s'%.*s'", i > 0 ? ", " : "", SPAN_ARGS(names[i]));
}
