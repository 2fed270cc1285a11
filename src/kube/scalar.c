/* Times and quantities as Kubernetes writes them. */
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "kube/object.h"

/* ---- time ---- */

struct cursor {
	const char *at, *end;
};

static bool take_number(struct cursor *cursor, size_t digits, int *ret_number)
{
	int number = 0;

	if ((size_t)(cursor->end - cursor->at) < digits)
		return false;
	for (size_t i = 0; i < digits; i++) {
		char c = *cursor->at++;

		if (c < '0' || c > '9')
			return false;
		number = number * 10 + (c - '0');
	}
	*ret_number = number;
	return true;
}

static bool take_character(struct cursor *cursor, const char *any_of)
{
	if (cursor->at == cursor->end || !*cursor->at || !strchr(any_of, *cursor->at))
		return false;
	cursor->at++;
	return true;
}

/* ".123456789" in whole milliseconds; nothing is 0. */
static bool take_fraction(struct cursor *cursor, int *ret_milliseconds)
{
	int milliseconds = 0, weight = 100;
	const char *first;

	*ret_milliseconds = 0;
	if (!take_character(cursor, "."))
		return true;
	first = cursor->at;
	for (; cursor->at < cursor->end && *cursor->at >= '0' && *cursor->at <= '9'; cursor->at++) {
		milliseconds += (*cursor->at - '0') * weight;
		weight /= 10;
	}
	*ret_milliseconds = milliseconds;
	return cursor->at > first;
}

/* "Z" or "+02:00" */
static bool take_offset(struct cursor *cursor, int *ret_seconds)
{
	int hours, minutes;
	bool west;

	*ret_seconds = 0;
	if (take_character(cursor, "Zz"))
		return true;
	west = cursor->at < cursor->end && *cursor->at == '-';
	if (!take_character(cursor, "+-") || !take_number(cursor, 2, &hours) ||
		!take_character(cursor, ":") || !take_number(cursor, 2, &minutes) || hours > 23 ||
		minutes > 59)
		return false;
	*ret_seconds = (hours * 60 + minutes) * (west ? -60 : 60);
	return true;
}

static bool is_date(const struct tm *date)
{
	static const int days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

	return date->tm_mon >= 0 && date->tm_mon < 12 && date->tm_mday >= 1 &&
	       date->tm_mday <= days[date->tm_mon] && date->tm_hour < 24 && date->tm_min < 60 &&
	       date->tm_sec <= 60;
}

int64_t kube_time_ms(const struct json *value)
{
	struct span text = json_text(value);
	struct tm date = {0};
	int milliseconds, offset;
	struct cursor cursor;
	time_t seconds;

	if (!text.data)
		return 0;
	cursor = (struct cursor){text.data, text.data + text.length};
	if (!take_number(&cursor, 4, &date.tm_year) || !take_character(&cursor, "-") ||
		!take_number(&cursor, 2, &date.tm_mon) || !take_character(&cursor, "-") ||
		!take_number(&cursor, 2, &date.tm_mday) || !take_character(&cursor, "Tt ") ||
		!take_number(&cursor, 2, &date.tm_hour) || !take_character(&cursor, ":") ||
		!take_number(&cursor, 2, &date.tm_min) || !take_character(&cursor, ":") ||
		!take_number(&cursor, 2, &date.tm_sec) || !take_fraction(&cursor, &milliseconds) ||
		!take_offset(&cursor, &offset) || cursor.at != cursor.end)
		return 0;
	date.tm_year -= 1900;
	date.tm_mon -= 1;
	if (!is_date(&date))
		return 0;
	seconds = timegm(&date);
	return ((int64_t)seconds - offset) * 1000 + milliseconds;
}

/* ---- quantities ---- */

static const struct suffix {
	const char *text;
	int64_t multiplier; /* of thousandths; 0: the divisor counts */
	int64_t divisor;
} suffixes[] = {
	{"n", 0, 1000000},
	{"u", 0, 1000},
	{"m", 1, 1},
	{"", 1000, 1},
	{"k", INT64_C(1000) * 1000, 1},
	{"M", INT64_C(1000) * 1000 * 1000, 1},
	{"G", INT64_C(1000) * 1000 * 1000 * 1000, 1},
	{"T", INT64_C(1000) * 1000 * 1000 * 1000 * 1000, 1},
	{"P", INT64_C(1000) * 1000 * 1000 * 1000 * 1000 * 1000, 1},
	{"Ki", INT64_C(1000) << 10, 1},
	{"Mi", INT64_C(1000) << 20, 1},
	{"Gi", INT64_C(1000) << 30, 1},
	{"Ti", INT64_C(1000) << 40, 1},
	{"Pi", INT64_C(1000) << 50, 1},
};

static const struct suffix *find_suffix(struct span text)
{
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		if (span_is(text, suffixes[i].text))
			return &suffixes[i];
	}
	return NULL;
}

/* "e3", "E-2": a power of ten. */
static bool read_exponent(struct span text, int *ret_power)
{
	uint64_t power;
	bool negative;

	if (text.length < 2 || (text.data[0] != 'e' && text.data[0] != 'E'))
		return false;
	negative = text.data[1] == '-';
	text.data++;
	text.length--;
	if (text.data[0] == '-' || text.data[0] == '+') {
		text.data++;
		text.length--;
	}
	if (!span_to_unsigned(text, 18, &power))
		return false;
	*ret_power = negative ? -(int)power : (int)power;
	return true;
}

/* The digits as an integer, and how many of them stand behind the point. */
static bool read_digits(struct cursor *cursor, __int128 *ret_digits, int *ret_decimals)
{
	const char *first = cursor->at;
	__int128 digits = 0;
	int decimals = 0, count = 0;
	bool point = false;

	for (; cursor->at < cursor->end; cursor->at++) {
		char c = *cursor->at;

		if (c == '.' && !point) {
			point = true;
			continue;
		}
		if (c < '0' || c > '9')
			break;
		if (digits > (__int128)INT64_MAX || decimals >= 15)
			return false;
		digits = digits * 10 + (c - '0');
		decimals += point;
		count++;
	}
	*ret_digits = digits;
	*ret_decimals = decimals;
	return count > 0 && cursor->at > first;
}

/* value * 10^power, rounded away from zero, as Kubernetes rounds what is too fine. */
static bool shift(__int128 value, int power, __int128 *ret_value)
{
	for (; power > 0; power--) {
		if (value > (__int128)INT64_MAX * 1000000)
			return false;
		value *= 10;
	}
	for (; power < 0; power++)
		value = value / 10 + (value % 10 != 0);
	*ret_value = value;
	return true;
}

bool kube_quantity_milli(const struct json *value, int64_t *ret_milli)
{
	struct span text = json_is(value, JSON_NUMBER) ? value->text : json_text(value);
	const struct suffix *suffix;
	struct cursor cursor;
	bool negative = false;
	__int128 digits;
	int decimals, power = 0;
	struct span rest;

	if (text.length == 0)
		return false;
	cursor = (struct cursor){text.data, text.data + text.length};
	if (*cursor.at == '-' || *cursor.at == '+')
		negative = *cursor.at++ == '-';
	if (!read_digits(&cursor, &digits, &decimals))
		return false;
	rest = (struct span){cursor.at, (size_t)(cursor.end - cursor.at)};
	suffix = find_suffix(rest);
	if (!suffix && !read_exponent(rest, &power))
		return false;
	if (!suffix)
		suffix = find_suffix(SPAN(""));
	if (suffix->multiplier > 0 && digits > (__int128)INT64_MAX * 1000000 / suffix->multiplier)
		return false;
	if (suffix->multiplier > 0)
		digits *= suffix->multiplier;
	else
		digits = digits / suffix->divisor + (digits % suffix->divisor != 0);
	if (!shift(digits, power - decimals, &digits) || digits > INT64_MAX)
		return false;
	*ret_milli = negative ? -(int64_t)digits : (int64_t)digits;
	return true;
}
