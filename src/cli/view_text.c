/* See the header. */
#include "cli/view_text.h"

static bool is_continuation(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

void view_add_line(struct arena *arena, struct buffer *text, size_t width, const char *format, ...)
{
	struct span line;
	size_t columns = 0;
	va_list list;

	va_start(list, format);
	line = arena_format_list(arena, format, list);
	va_end(list);
	while (line.length > 0 && line.data[line.length - 1] == ' ')
		line.length--;
	for (size_t i = 0; i < line.length; i++) {
		columns += !is_continuation(line.data[i]);
		if (columns > width)
			break;
		buffer_add_char(text, (unsigned char)line.data[i] < ' ' ? ' ' : line.data[i]);
	}
	buffer_add_char(text, '\n');
}

size_t view_columns(struct span text)
{
	size_t columns = 0;

	for (size_t i = 0; i < text.length; i++)
		columns += !is_continuation(text.data[i]);
	return columns;
}

struct span view_duration(struct arena *arena, double seconds)
{
	long whole = seconds > 0 ? (long)seconds : 0;

	if (whole < 60)
		return arena_format(arena, "%lds", whole);
	if (whole < 3600)
		return arena_format(arena, "%ldm %02lds", whole / 60, whole % 60);
	return arena_format(arena, "%ldh %02ldm", whole / 3600, whole / 60 % 60);
}
