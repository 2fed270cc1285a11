/* Reads times by Go's layouts; see time.h. */
#include <ctype.h>
#include <string.h>

#include "chart/layout.h"
#include "chart/time.h"

static const char *const months[] = {"January", "February", "March", "April", "May", "June", "July",
	"August", "September", "October", "November", "December"};
static const char *const weekdays[] = {
	"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};

struct reading {
	struct span text;
	int64_t year;
	int month, day, hour, minute, second, year_day;
	int32_t nanoseconds, offset;
	bool afternoon, forenoon, has_offset;
	char zone[TIME_NAME_MAX];
};

static void advance(struct reading *reading, size_t length)
{
	reading->text = (struct span){reading->text.data + length, reading->text.length - length};
}

/* Between `least` and `most` digits. */
static bool take_number(struct reading *reading, size_t least, size_t most, int *ret_number)
{
	int number = 0;
	size_t length = 0;

	while (length < most && length < reading->text.length &&
		isdigit((unsigned char)reading->text.data[length]))
		number = number * 10 + (reading->text.data[length++] - '0');
	if (length < least)
		return false;
	advance(reading, length);
	*ret_number = number;
	return true;
}

static bool take_name(struct reading *reading, const char *const *names, int count, bool whole,
	int *ret_index)
{
	for (int i = 0; i < count; i++) {
		size_t length = whole ? strlen(names[i]) : 3;

		if (reading->text.length >= length &&
			span_equal_ignoring_case((struct span){reading->text.data, length},
				(struct span){names[i], length})) {
			advance(reading, length);
			*ret_index = i;
			return true;
		}
	}
	return false;
}

static bool take_offset(struct reading *reading, struct span layout)
{
	int hours, minutes = 0, seconds = 0;
	bool colons = layout.length > 3 && layout.data[3] == ':';
	char sign;

	if (reading->text.length == 0)
		return false;
	sign = reading->text.data[0];
	if (layout.data[0] == 'Z' && sign == 'Z') {
		advance(reading, 1);
		reading->has_offset = true;
		strcpy(reading->zone, "UTC");
		return true;
	}
	if (sign != '+' && sign != '-')
		return false;
	advance(reading, 1);
	if (!take_number(reading, 2, 2, &hours))
		return false;
	for (int part = 0; part < (layout.length > 6 ? 2 : layout.length > 3 ? 1 : 0); part++) {
		if (colons) {
			if (reading->text.length == 0 || reading->text.data[0] != ':')
				return false;
			advance(reading, 1);
		}
		if (!take_number(reading, 2, 2, part ? &seconds : &minutes))
			return false;
	}
	if (hours > 24 || minutes >= 60 || seconds >= 60)
		return false;
	reading->offset = (hours * 3600 + minutes * 60 + seconds) * (sign == '-' ? -1 : 1);
	reading->has_offset = true;
	return true;
}

/* UTC, MST, GMT+3, or an offset such as +03. */
static bool take_zone_name(struct reading *reading)
{
	size_t length = 0;

	while (length < reading->text.length && isupper((unsigned char)reading->text.data[length]))
		length++;
	if (length < 3 || length > 5)
		return false;
	memcpy(reading->zone, reading->text.data, length);
	reading->zone[length] = '\0';
	advance(reading, length);
	return true;
}

static bool take_fraction(struct reading *reading, size_t digits)
{
	int number = 0;
	size_t length = 1;

	if (reading->text.length < 2 ||
		(reading->text.data[0] != '.' && reading->text.data[0] != ','))
		return false;
	while (length < reading->text.length &&
		isdigit((unsigned char)reading->text.data[length]) &&
		(!digits || length <= digits)) {
		if (length <= 9)
			number = number * 10 + (reading->text.data[length] - '0');
		length++;
	}
	if (length == 1 || (digits && length != digits + 1))
		return false;
	for (size_t i = length; i <= 9; i++)
		number *= 10;
	reading->nanoseconds = number;
	advance(reading, length);
	return true;
}

static bool take_day(struct reading *reading, enum layout_part part)
{
	if (part == LAYOUT_UNDER_DAY && reading->text.length && reading->text.data[0] == ' ')
		advance(reading, 1);
	return take_number(reading, part == LAYOUT_ZERO_DAY ? 2 : 1, 2, &reading->day);
}

/* Seconds may carry a fraction that the layout does not name. */
static bool take_second(struct reading *reading, size_t least, struct span layout)
{
	if (!take_number(reading, least, 2, &reading->second) || reading->second >= 60)
		return false;
	if (reading->text.length >= 2 && reading->text.data[0] == '.' &&
		isdigit((unsigned char)reading->text.data[1]) &&
		!(layout.length && layout.data[0] == '.'))
		return take_fraction(reading, 0);
	return true;
}

static bool take_year(struct reading *reading, bool is_long)
{
	int year;

	if (!take_number(reading, is_long ? 4 : 2, is_long ? 4 : 2, &year))
		return false;
	reading->year = is_long ? year : year + (year >= 69 ? 1900 : 2000);
	return true;
}

static bool take_half(struct reading *reading, bool lower)
{
	if (reading->text.length < 2 || reading->text.data[1] != (lower ? 'm' : 'M'))
		return false;
	reading->afternoon = reading->text.data[0] == (lower ? 'p' : 'P');
	reading->forenoon = reading->text.data[0] == (lower ? 'a' : 'A');
	advance(reading, 2);
	return reading->afternoon || reading->forenoon;
}

static bool take_part(struct reading *reading, struct layout_token token, struct span layout)
{
	int index;

	switch (token.part) {
	case LAYOUT_END: return true;
	case LAYOUT_LONG_MONTH:
	case LAYOUT_MONTH:
		if (!take_name(reading, months, 12, token.part == LAYOUT_LONG_MONTH, &index))
			return false;
		reading->month = index + 1;
		return true;
	case LAYOUT_NUMBER_MONTH:
	case LAYOUT_ZERO_MONTH:
		return take_number(reading, token.part == LAYOUT_ZERO_MONTH ? 2 : 1, 2,
			       &reading->month) &&
		       reading->month >= 1 && reading->month <= 12;
	case LAYOUT_LONG_WEEKDAY: return take_name(reading, weekdays, 7, true, &index);
	case LAYOUT_WEEKDAY: return take_name(reading, weekdays, 7, false, &index);
	case LAYOUT_DAY:
	case LAYOUT_UNDER_DAY:
	case LAYOUT_ZERO_DAY: return take_day(reading, token.part);
	case LAYOUT_UNDER_YEAR_DAY:
	case LAYOUT_ZERO_YEAR_DAY:
		while (token.part == LAYOUT_UNDER_YEAR_DAY && reading->text.length &&
			reading->text.data[0] == ' ')
			advance(reading, 1);
		return take_number(reading, 1, 3, &reading->year_day);
	case LAYOUT_HOUR: return take_number(reading, 2, 2, &reading->hour) && reading->hour < 24;
	case LAYOUT_HOUR_12:
	case LAYOUT_ZERO_HOUR_12:
		return take_number(reading, token.part == LAYOUT_HOUR_12 ? 1 : 2, 2,
			       &reading->hour) &&
		       reading->hour <= 12;
	case LAYOUT_MINUTE:
	case LAYOUT_ZERO_MINUTE:
		return take_number(reading, token.part == LAYOUT_MINUTE ? 1 : 2, 2,
			       &reading->minute) &&
		       reading->minute < 60;
	case LAYOUT_SECOND: return take_second(reading, 1, layout);
	case LAYOUT_ZERO_SECOND: return take_second(reading, 2, layout);
	case LAYOUT_LONG_YEAR:
	case LAYOUT_YEAR: return take_year(reading, token.part == LAYOUT_LONG_YEAR);
	case LAYOUT_PM: return take_half(reading, false);
	case LAYOUT_LOWER_PM: return take_half(reading, true);
	case LAYOUT_ZONE_NAME: return take_zone_name(reading);
	case LAYOUT_OFFSET: return take_offset(reading, token.text);
	case LAYOUT_FRACTION:
		if (token.text.data[1] == '9')
			return reading->text.length == 0 ||
			       (reading->text.data[0] != '.' && reading->text.data[0] != ',') ||
			       take_fraction(reading, 0);
		return take_fraction(reading, token.text.length - 1);
	}
	return false;
}

static int days_in(int month, int64_t year)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return month == 2 && leap ? 29 : days[month - 1];
}

bool time_parse(struct span layout, struct span text, struct zone_time *ret_time)
{
	struct reading reading = {.text = text, .month = 1, .day = 1};
	struct layout_token token;

	do {
		token = layout_next(&layout);
		if (!span_starts_with(reading.text, token.before))
			return false;
		advance(&reading, token.before.length);
		if (!take_part(&reading, token, layout))
			return false;
	} while (token.part != LAYOUT_END);
	if (reading.text.length || reading.day < 1 ||
		reading.day > days_in(reading.month, reading.year))
		return false;
	if (reading.afternoon && reading.hour < 12)
		reading.hour += 12;
	else if (reading.forenoon && reading.hour == 12)
		reading.hour = 0;
	*ret_time = time_in_utc(time_from_civil(reading.year, reading.year_day ? 1 : reading.month,
					reading.year_day ? reading.year_day : reading.day,
					reading.hour, reading.minute, reading.second) -
					reading.offset,
		reading.nanoseconds);
	if (reading.has_offset && reading.offset) {
		ret_time->offset = reading.offset;
		memcpy(ret_time->zone, reading.zone, sizeof(reading.zone));
	} else if (reading.zone[0]) {
		memcpy(ret_time->zone, reading.zone, sizeof(reading.zone));
	}
	return true;
}
