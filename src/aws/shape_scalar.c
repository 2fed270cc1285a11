/* Scalars as text; see shape_scalar.h. */
#include "aws/shape_scalar.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"

#define TIME_SIZE 32
#define SECONDS_MAX 253402300799.0 /* the end of the year 9999 */

bool shape_is_scalar(const struct shape *shape)
{
	return shape->type != SHAPE_LIST && shape->type != SHAPE_MAP &&
	       shape->type != SHAPE_STRUCTURE;
}

/* ---- reading ---- */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* A number as JSON writes it; no spaces around it, which json_parse would allow. */
static bool read_number(struct span text, struct arena *arena, struct json *value)
{
	struct json *number;

	if (text.length == 0 || !(is_digit(text.data[0]) || text.data[0] == '-') ||
		!is_digit(text.data[text.length - 1]))
		return false;
	if (json_parse(text, arena, &number, NULL) < 0 || number->type != JSON_NUMBER)
		return false;
	*value = *number;
	return true;
}

static const char *read_string(struct span text, struct arena *arena, struct json *value)
{
	(void)arena;
	*value = (struct json){.type = JSON_STRING, .text = text};
	return NULL;
}

static const char *read_integer(struct span text, struct arena *arena, struct json *value)
{
	int64_t ignored;

	if (!read_number(text, arena, value) || !json_integer(value, &ignored))
		return "an integer";
	return NULL;
}

static const char *read_double(struct span text, struct arena *arena, struct json *value)
{
	double ignored;

	if (!read_number(text, arena, value) || !json_double(value, &ignored))
		return "a number";
	return NULL;
}

static const char *read_boolean(struct span text, struct arena *arena, struct json *value)
{
	(void)arena;
	if (!span_is(text, "true") && !span_is(text, "false"))
		return "true or false";
	*value = (struct json){.type = span_is(text, "true") ? JSON_TRUE : JSON_FALSE};
	return NULL;
}

/* Takes ".123456" off the front; what is below a millisecond is dropped. */
static bool take_fraction(struct span *rest, int64_t *ret_ms)
{
	int64_t unit = 100;
	size_t i;

	*ret_ms = 0;
	if (rest->length == 0 || rest->data[0] != '.')
		return true;
	for (i = 1; i < rest->length && is_digit(rest->data[i]); i++) {
		*ret_ms += (rest->data[i] - '0') * unit;
		unit /= 10;
	}
	rest->data += i;
	rest->length -= i;
	return i > 1;
}

/* "Z", "+01:00" or "-01:00", and nothing behind it. */
static bool read_offset(struct span text, int64_t *ret_ms)
{
	uint64_t hours, minutes;

	*ret_ms = 0;
	if (span_is(text, "Z"))
		return true;
	if (text.length != strlen("+01:00") || (text.data[0] != '+' && text.data[0] != '-') ||
		text.data[3] != ':' ||
		!span_to_unsigned((struct span){text.data + 1, 2}, 23, &hours) ||
		!span_to_unsigned((struct span){text.data + 4, 2}, 59, &minutes))
		return false;
	*ret_ms = (int64_t)(hours * 60 + minutes) * 60000 * (text.data[0] == '-' ? -1 : 1);
	return true;
}

/* The form without punctuation is one that base/clock.h reads. */
static bool read_iso(struct span text, int64_t *ret_ms)
{
	static const char pattern[] = "dddd-dd-ddTdd:dd:dd";
	int64_t seconds_ms, fraction_ms, offset_ms;
	char basic[sizeof(pattern) + 1];
	size_t length = 0;
	struct span rest;

	if (text.length < strlen(pattern))
		return false;
	for (size_t i = 0; pattern[i]; i++) {
		if (pattern[i] == 'd' ? !is_digit(text.data[i]) : text.data[i] != pattern[i])
			return false;
		if (pattern[i] == 'd' || pattern[i] == 'T')
			basic[length++] = text.data[i];
	}
	basic[length++] = 'Z';
	rest = (struct span){text.data + strlen(pattern), text.length - strlen(pattern)};
	seconds_ms = clock_parse_basic(basic, length);
	if (seconds_ms == -1 || !take_fraction(&rest, &fraction_ms) ||
		!read_offset(rest, &offset_ms))
		return false;
	*ret_ms = seconds_ms + fraction_ms - offset_ms;
	return true;
}

/* Seconds with milliseconds, as JSON has times. */
static const char *read_time(struct span text, struct arena *arena, struct json *value)
{
	int64_t milliseconds;
	uint64_t magnitude;
	char *room;

	if (read_number(text, arena, value))
		return NULL;
	if (!read_iso(text, &milliseconds))
		return "a time, such as 2026-11-16T12:00:00Z";
	room = arena_allocate_capped(arena, TIME_SIZE);
	if (!room)
		return "less text in one request";
	magnitude = (uint64_t)(milliseconds < 0 ? -milliseconds : milliseconds);
	snprintf(room, TIME_SIZE, "%s%" PRIu64 ".%03" PRIu64, milliseconds < 0 ? "-" : "",
		magnitude / 1000, magnitude % 1000);
	*value = (struct json){.type = JSON_NUMBER, .text = span_of(room)};
	return NULL;
}

const char *shape_scalar_read(const struct shape *shape, struct span text, struct arena *arena,
	struct json *value)
{
	static const char *(*const readers[])(struct span, struct arena *, struct json *) = {
		[SHAPE_STRING] = read_string,
		[SHAPE_INTEGER] = read_integer,
		[SHAPE_LONG] = read_integer,
		[SHAPE_FLOAT] = read_double,
		[SHAPE_DOUBLE] = read_double,
		[SHAPE_BOOLEAN] = read_boolean,
		[SHAPE_TIMESTAMP] = read_time,
		[SHAPE_BLOB] = read_string,
		[SHAPE_DOCUMENT] = read_string,
	};

	return readers[shape->type](text, arena, value);
}

/* ---- writing ---- */

static struct span time_text(const struct json *value, struct buffer *scratch)
{
	char *room;
	double seconds;

	if (!json_double(value, &seconds) || seconds > SECONDS_MAX || seconds < -SECONDS_MAX)
		return value->text;
	buffer_reset(scratch);
	room = buffer_reserve(scratch, CLOCK_ISO_SIZE);
	clock_format_iso((int64_t)(seconds * 1000 + (seconds < 0 ? -0.5 : 0.5)), room);
	scratch->length = strlen(room);
	return buffer_span(scratch);
}

struct span shape_scalar_text(const struct shape *shape, const struct json *value,
	struct buffer *scratch)
{
	switch (value->type) {
	case JSON_TRUE: return SPAN("true");
	case JSON_FALSE: return SPAN("false");
	case JSON_STRING: return value->text;
	case JSON_NUMBER:
		return shape->type == SHAPE_TIMESTAMP ? time_text(value, scratch) : value->text;
	default: return SPAN_NONE;
	}
}
