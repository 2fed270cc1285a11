/*
 * A line is built in memory and written with one write(2), so that lines of different threads do not
 * mix. What comes from clients is made harmless here: bytes that are not UTF-8 become '?', control
 * characters are escaped, long values are cut. A log that cannot be written (full disk, closed pipe)
 * is ignored: the server's work continues.
 */
#include "base/log.h"

#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/memory.h"

#define LOG_VALUE_MAX ((size_t)4096)
#define LOG_LINE_MAX ((size_t)64 * 1024)

struct log {
	int descriptor;
	enum log_level least;
	enum log_style style;
	struct clock *clock;
};

static const char *const level_names[] = {
	[LOG_DEBUG] = "debug",
	[LOG_INFO] = "info",
	[LOG_WARNING] = "warning",
	[LOG_ERROR] = "error",
};

struct log *log_new(int descriptor, enum log_level least, enum log_style style, struct clock *clock)
{
	struct log *log = memory_allocate(sizeof(*log));

	*log = (struct log){descriptor, least, style, clock};
	return log;
}

void log_free(struct log *log)
{
	free(log);
}

/* The length of the well-formed character at text, or 0. */
static size_t character_length(const unsigned char *text, size_t length)
{
	size_t want;
	uint32_t point;

	if (text[0] < 0x80)
		return 1;
	want = text[0] >= 0xF0 ? 4 : text[0] >= 0xE0 ? 3 : 2;
	if (text[0] < 0xC2 || text[0] > 0xF4 || want > length)
		return 0;
	point = text[0] & (0x7Fu >> want);
	for (size_t i = 1; i < want; i++) {
		if ((text[i] & 0xC0) != 0x80)
			return 0;
		point = point << 6 | (text[i] & 0x3Fu);
	}
	if ((want == 3 && point < 0x800) || (want == 4 && (point < 0x10000 || point > 0x10FFFF)) ||
		(point >= 0xD800 && point <= 0xDFFF))
		return 0;
	return want;
}

/* Writes valid UTF-8 of at most LOG_VALUE_MAX bytes into out and returns it. */
static struct span clean(const char *text, char out[LOG_VALUE_MAX])
{
	size_t left = strlen(text);
	size_t length = 0;

	while (left > 0) {
		size_t step = character_length((const unsigned char *)text, left);
		size_t part = step > 0 ? step : 1;

		if (length + part > LOG_VALUE_MAX)
			break;
		if (step > 0)
			memcpy(out + length, text, step);
		else
			out[length] = '?';
		length += part;
		text += part;
		left -= part;
	}
	return (struct span){out, length};
}

static bool is_plain(struct span text)
{
	for (size_t i = 0; i < text.length; i++) {
		unsigned char c = (unsigned char)text.data[i];

		if (c <= ' ' || c == '"' || c == '=' || c == '\\' || c == 0x7F)
			return false;
	}
	return text.length > 0;
}

/* A message for a terminal: spaces stay, what could move the cursor does not. */
static void add_message_text(struct buffer *line, struct span text)
{
	for (size_t i = 0; i < text.length; i++) {
		unsigned char c = (unsigned char)text.data[i];

		if (c == '\n')
			buffer_add_string(line, "\\n");
		else if (c < ' ' || c == 0x7F)
			buffer_format(line, "\\x%02x", c);
		else
			buffer_add_char(line, (char)c);
	}
}

static void begin_line(const struct log *log, enum log_level level, const char *message,
	struct buffer *line, char *scratch)
{
	char time[CLOCK_ISO_SIZE];
	struct span text = clean(message, scratch);

	clock_format_iso(clock_wall_ms(log->clock), time);
	if (log->style == LOG_STYLE_TEXT) {
		buffer_format(line, "%.8s %-7s ", time + strlen("2026-11-16T"), level_names[level]);
		add_message_text(line, text);
		return;
	}
	buffer_format(line, "{\"time\":\"%s\",\"level\":\"%s\",\"message\":", time,
		level_names[level]);
	json_write_string(text, line);
}

static void add_field(const struct log *log, const char *name, const char *value,
	struct buffer *line, char *scratch)
{
	struct span text = clean(value, scratch);

	if (log->style == LOG_STYLE_TEXT) {
		buffer_format(line, " %s=", name);
		if (is_plain(text))
			buffer_add_span(line, text);
		else
			json_write_string(text, line);
		return;
	}
	buffer_add_char(line, ',');
	json_write_string(span_of(name), line);
	buffer_add_char(line, ':');
	json_write_string(text, line);
}

void log_write(struct log *log, enum log_level level, const char *message, ...)
{
	_buffer_ struct buffer line = BUFFER_WITH_CAP(LOG_LINE_MAX);
	char scratch[LOG_VALUE_MAX];
	const char *name;
	ssize_t ignored;
	va_list list;

	if (!log || level < log->least)
		return;
	begin_line(log, level, message, &line, scratch);
	va_start(list, message);
	while ((name = va_arg(list, const char *))) {
		const char *value = va_arg(list, const char *);
		size_t length = line.length;

		add_field(log, name, value ? value : "", &line, scratch);
		/* A field that does not fit is left out whole, with the end of the line kept free. */
		if (buffer_failed(&line) || line.length > LOG_LINE_MAX - 2) {
			line.length = length;
			line.failed = false;
		}
	}
	va_end(list);
	buffer_add_string(&line, log->style == LOG_STYLE_TEXT ? "\n" : "}\n");
	ignored = write(log->descriptor, line.data, line.length);
	(void)ignored;
}

int log_level_parse(const char *name, enum log_level *ret_level)
{
	for (size_t i = 0; i < LENGTH(level_names); i++) {
		if (strcmp(name, level_names[i]) == 0) {
			*ret_level = (enum log_level)i;
			return 0;
		}
	}
	return -EINVAL;
}
