/* See time.h. */
#include "chart/time.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "chart/layout.h"

#define ZONE_FOLDER "/usr/share/zoneinfo/"
#define ZONE_FILE_MAX ((size_t)1024 * 1024)
#define ZONE_NAME_LENGTH_MAX 64
#define DAY_SECONDS 86400

static const char *const months[] = {"January", "February", "March", "April", "May", "June", "July",
	"August", "September", "October", "November", "December"};
static const char *const weekdays[] = {
	"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};

/* ---- calendar ------------------------------------------------------------------------------------ */

struct zone_time time_in_utc(int64_t seconds, int32_t nanoseconds)
{
	return (struct zone_time){.seconds = seconds, .nanoseconds = nanoseconds, .zone = "UTC"};
}

static int64_t floor_divide(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

/* Days since 1970 of a date; March is the first month, so that leap days come last. */
static int64_t days_of(int64_t year, int64_t month, int64_t day)
{
	int64_t carried = floor_divide(month - 1, 12);
	int64_t shifted, era, year_of_era, day_of_year;

	year += carried;
	month -= carried * 12;
	year -= month <= 2;
	shifted = month > 2 ? month - 3 : month + 9;
	era = floor_divide(year, 400);
	year_of_era = year - era * 400;
	day_of_year = (153 * shifted + 2) / 5 + day - 1;
	return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 +
	       day_of_year - 719468;
}

int64_t time_from_civil(int64_t year, int64_t month, int64_t day, int64_t hour, int64_t minute,
	int64_t second)
{
	return days_of(year, month, day) * DAY_SECONDS + hour * 3600 + minute * 60 + second;
}

struct civil_time time_civil(const struct zone_time *time)
{
	int64_t local = time->seconds + time->offset;
	int64_t days = floor_divide(local, DAY_SECONDS), rest = local - days * DAY_SECONDS;
	int64_t shifted = days + 719468, era = floor_divide(shifted, 146097);
	int64_t day_of_era = shifted - era * 146097;
	int64_t year_of_era =
		(day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
	int64_t day_of_year =
		day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	int64_t month = (5 * day_of_year + 2) / 153;
	struct civil_time civil;

	civil.day = (int)(day_of_year - (153 * month + 2) / 5 + 1);
	civil.month = (int)(month < 10 ? month + 3 : month - 9);
	civil.year = year_of_era + era * 400 + (civil.month <= 2);
	civil.hour = (int)(rest / 3600);
	civil.minute = (int)(rest / 60 % 60);
	civil.second = (int)(rest % 60);
	civil.weekday = (int)(((days + 4) % 7 + 7) % 7);
	civil.year_day = (int)(days - days_of(civil.year, 1, 1)) + 1;
	return civil;
}

/* ---- zones --------------------------------------------------------------------------------------- */

static int64_t big_endian(const unsigned char *data, int bytes)
{
	uint64_t value = bytes == 8 || !(data[0] & 0x80) ? 0 : ~(uint64_t)0;

	for (int i = 0; i < bytes; i++)
		value = value << 8 | data[i];
	return (int64_t)value;
}

/* The part of a zone file behind a header: counts of what follows. */
struct zone_counts {
	uint32_t utc_marks, standard_marks, leaps, transitions, types, letters;
};

static size_t section_size(const struct zone_counts *counts, size_t time_size)
{
	return counts->transitions * time_size + counts->transitions + (size_t)counts->types * 6 +
	       counts->letters + counts->leaps * (time_size + 4) + counts->standard_marks +
	       counts->utc_marks;
}

static bool read_counts(struct span data, size_t at, struct zone_counts *ret_counts)
{
	const unsigned char *bytes = (const unsigned char *)data.data + at + 20;

	if (at + 44 > data.length || memcmp(data.data + at, "TZif", 4) != 0)
		return false;
	ret_counts->utc_marks = (uint32_t)big_endian(bytes, 4);
	ret_counts->standard_marks = (uint32_t)big_endian(bytes + 4, 4);
	ret_counts->leaps = (uint32_t)big_endian(bytes + 8, 4);
	ret_counts->transitions = (uint32_t)big_endian(bytes + 12, 4);
	ret_counts->types = (uint32_t)big_endian(bytes + 16, 4);
	ret_counts->letters = (uint32_t)big_endian(bytes + 20, 4);
	return true;
}

/* Finds offset and name of a moment in the data of a zone file (version 2 and later). */
static bool apply_zone(struct span data, struct zone_time *time)
{
	struct zone_counts counts;
	size_t at, type = 0, name;
	const unsigned char *times, *types, *entry;

	if (!read_counts(data, 0, &counts))
		return false;
	at = 44 + section_size(&counts, 4);
	if (!read_counts(data, at, &counts) || counts.types == 0 ||
		at + 44 + section_size(&counts, 8) > data.length)
		return false;
	times = (const unsigned char *)data.data + at + 44;
	types = times + (size_t)counts.transitions * 8 + counts.transitions;
	for (uint32_t i = 0; i < counts.transitions; i++)
		if (big_endian(times + (size_t)i * 8, 8) <= time->seconds)
			type = times[(size_t)counts.transitions * 8 + i];
	if (type >= counts.types)
		return false;
	entry = types + type * 6;
	time->offset = (int32_t)big_endian(entry, 4);
	name = entry[5];
	if (name >= counts.letters)
		return false;
	snprintf(time->zone, sizeof(time->zone), "%.*s", (int)(counts.letters - name),
		(const char *)types + (size_t)counts.types * 6 + name);
	return true;
}

bool time_move_to_zone(struct zone_time *time, struct span zone)
{
	_buffer_ struct buffer data = {0};
	char path[sizeof(ZONE_FOLDER) + ZONE_NAME_LENGTH_MAX];
	struct zone_time moved = *time;

	if (zone.length == 0 || span_is(zone, "UTC") || span_is(zone, "Local")) {
		*time = time_in_utc(time->seconds, time->nanoseconds);
		return true;
	}
	if (zone.length > ZONE_NAME_LENGTH_MAX || zone.data[0] == '/' || zone.data[0] == '\\' ||
		memmem(zone.data, zone.length, "..", 2) || memchr(zone.data, '\0', zone.length))
		return false;
	snprintf(path, sizeof(path), ZONE_FOLDER "%.*s", SPAN_ARGS(zone));
	if (file_read(path, ZONE_FILE_MAX, &data, NULL) < 0 ||
		!apply_zone(buffer_span(&data), &moved))
		return false;
	*time = moved;
	return true;
}

/* ---- writing ------------------------------------------------------------------------------------- */

static void add_offset(struct span layout, int32_t offset, struct buffer *out)
{
	int size = abs(offset);

	if (layout.data[0] == 'Z' && offset == 0) {
		buffer_add_char(out, 'Z');
		return;
	}
	buffer_format(out, "%c%02d", offset < 0 ? '-' : '+', size / 3600);
	if (layout.length > 3)
		buffer_format(out, "%s%02d", layout.data[3] == ':' ? ":" : "", size / 60 % 60);
	if (layout.length > 6)
		buffer_format(out, "%s%02d", layout.data[3] == ':' ? ":" : "", size % 60);
}

static void add_fraction(struct span layout, int32_t nanoseconds, struct buffer *out)
{
	char digits[16];
	size_t count = layout.length - 1;

	snprintf(digits, sizeof(digits), "%09d", nanoseconds);
	if (count > 9)
		count = 9;
	if (layout.data[1] == '9') {
		while (count > 0 && digits[count - 1] == '0')
			count--;
		if (count == 0)
			return;
	}
	buffer_add_char(out, layout.data[0]);
	buffer_add(out, digits, count);
}

static void add_part(const struct zone_time *time, const struct civil_time *civil,
	struct layout_token token, struct buffer *out)
{
	int hour_12 = civil->hour % 12 ? civil->hour % 12 : 12;

	switch (token.part) {
	case LAYOUT_END: break;
	case LAYOUT_LONG_MONTH: buffer_add_string(out, months[civil->month - 1]); break;
	case LAYOUT_MONTH: buffer_add(out, months[civil->month - 1], 3); break;
	case LAYOUT_NUMBER_MONTH: buffer_format(out, "%d", civil->month); break;
	case LAYOUT_ZERO_MONTH: buffer_format(out, "%02d", civil->month); break;
	case LAYOUT_LONG_WEEKDAY: buffer_add_string(out, weekdays[civil->weekday]); break;
	case LAYOUT_WEEKDAY: buffer_add(out, weekdays[civil->weekday], 3); break;
	case LAYOUT_DAY: buffer_format(out, "%d", civil->day); break;
	case LAYOUT_UNDER_DAY: buffer_format(out, "%2d", civil->day); break;
	case LAYOUT_ZERO_DAY: buffer_format(out, "%02d", civil->day); break;
	case LAYOUT_UNDER_YEAR_DAY: buffer_format(out, "%3d", civil->year_day); break;
	case LAYOUT_ZERO_YEAR_DAY: buffer_format(out, "%03d", civil->year_day); break;
	case LAYOUT_HOUR: buffer_format(out, "%02d", civil->hour); break;
	case LAYOUT_HOUR_12: buffer_format(out, "%d", hour_12); break;
	case LAYOUT_ZERO_HOUR_12: buffer_format(out, "%02d", hour_12); break;
	case LAYOUT_MINUTE: buffer_format(out, "%d", civil->minute); break;
	case LAYOUT_ZERO_MINUTE: buffer_format(out, "%02d", civil->minute); break;
	case LAYOUT_SECOND: buffer_format(out, "%d", civil->second); break;
	case LAYOUT_ZERO_SECOND: buffer_format(out, "%02d", civil->second); break;
	case LAYOUT_LONG_YEAR:
		buffer_format(out, civil->year < 0 ? "-%04lld" : "%04lld",
			llabs((long long)civil->year));
		break;
	case LAYOUT_YEAR:
		buffer_format(out, "%02d", (int)(llabs((long long)civil->year) % 100));
		break;
	case LAYOUT_PM: buffer_add_string(out, civil->hour >= 12 ? "PM" : "AM"); break;
	case LAYOUT_LOWER_PM: buffer_add_string(out, civil->hour >= 12 ? "pm" : "am"); break;
	case LAYOUT_ZONE_NAME: buffer_add_string(out, time->zone); break;
	case LAYOUT_OFFSET: add_offset(token.text, time->offset, out); break;
	case LAYOUT_FRACTION: add_fraction(token.text, time->nanoseconds, out); break;
	}
}

void time_format(const struct zone_time *time, struct span layout, struct buffer *out)
{
	struct civil_time civil = time_civil(time);
	struct layout_token token;

	do {
		token = layout_next(&layout);
		buffer_add_span(out, token.before);
		add_part(time, &civil, token, out);
	} while (token.part != LAYOUT_END);
}

/* ---- durations ----------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	int64_t nanoseconds;
} units[] = {{"ns", 1}, {"us", 1000}, {"\xC2\xB5s", 1000}, {"\xCE\xBCs", 1000}, {"ms", 1000000},
	{"s", 1000000000LL}, {"m", 60000000000LL}, {"h", 3600000000000LL}};

/* A number with a fraction and a unit. */
static bool take_unit(struct span *text, int64_t *total)
{
	int64_t whole = 0, fraction = 0, scale = 1;
	size_t i = 0;
	bool any = false;

	for (; i < text->length && text->data[i] >= '0' && text->data[i] <= '9'; i++, any = true)
		if (__builtin_mul_overflow(whole, 10, &whole) ||
			__builtin_add_overflow(whole, text->data[i] - '0', &whole))
			return false;
	if (i < text->length && text->data[i] == '.')
		for (i++; i < text->length && text->data[i] >= '0' && text->data[i] <= '9';
			i++, any = true)
			if (scale < 1000000000000LL) {
				fraction = fraction * 10 + (text->data[i] - '0');
				scale *= 10;
			}
	if (!any)
		return false;
	*text = (struct span){text->data + i, text->length - i};
	for (size_t u = 0; u < LENGTH(units); u++) {
		struct span name = span_of(units[u].name);
		char next;
		int64_t part;

		if (!span_starts_with(*text, name))
			continue;
		next = text->length > name.length ? text->data[name.length] : '0';
		if (next != '.' && !(next >= '0' && next <= '9'))
			continue;
		if (__builtin_mul_overflow(whole, units[u].nanoseconds, &part) ||
			__builtin_add_overflow(*total, part, total) ||
			__builtin_add_overflow(*total,
				(int64_t)((double)fraction *
					  ((double)units[u].nanoseconds / (double)scale)),
				total))
			return false;
		*text = (struct span){text->data + name.length, text->length - name.length};
		return true;
	}
	return false;
}

bool duration_parse(struct span text, int64_t *ret_nanoseconds)
{
	bool negative = text.length && text.data[0] == '-';
	int64_t total = 0;

	if (text.length && (text.data[0] == '-' || text.data[0] == '+'))
		text = (struct span){text.data + 1, text.length - 1};
	if (span_is(text, "0")) {
		*ret_nanoseconds = 0;
		return true;
	}
	if (text.length == 0)
		return false;
	while (text.length)
		if (!take_unit(&text, &total))
			return false;
	*ret_nanoseconds = negative ? -total : total;
	return true;
}

static void add_scaled(uint64_t value, uint64_t unit, struct buffer *out)
{
	uint64_t fraction = value % unit;

	buffer_add_unsigned(out, value / unit);
	if (fraction == 0)
		return;
	buffer_add_char(out, '.');
	while (fraction > 0) {
		unit /= 10;
		/* cppcheck-suppress zerodivcond ; a fraction is less than its unit */
		buffer_add_char(out, (char)('0' + fraction / unit));
		fraction %= unit;
	}
}

void duration_format(int64_t nanoseconds, struct buffer *out)
{
	uint64_t left = nanoseconds < 0 ? 0 - (uint64_t)nanoseconds : (uint64_t)nanoseconds;
	uint64_t minutes;

	if (nanoseconds < 0)
		buffer_add_char(out, '-');
	if (left == 0) {
		buffer_add_string(out, "0s");
		return;
	}
	if (left < 1000000000) {
		uint64_t unit = left < 1000 ? 1 : left < 1000000 ? 1000 : 1000000;

		add_scaled(left, unit, out);
		buffer_add_string(out, unit == 1 ? "ns" : unit == 1000 ? "\xC2\xB5s" : "ms");
		return;
	}
	minutes = left / 60000000000ULL;
	if (minutes >= 60)
		buffer_format(out, "%lluh", (unsigned long long)(minutes / 60));
	if (minutes)
		buffer_format(out, "%llum", (unsigned long long)(minutes % 60));
	add_scaled(left % 60000000000ULL, 1000000000ULL, out);
	buffer_add_char(out, 's');
}
