/* The system's clock and the manual one, and the two ways slipway writes a time. */
#include "base/clock.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static int64_t system_wall_ms(struct clock *clock)
{
	struct timespec now;

	(void)clock;
	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int64_t system_steady_us(struct clock *clock)
{
	struct timespec now;

	(void)clock;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

struct clock *clock_system(void)
{
	static struct clock system_clock = {system_wall_ms, system_steady_us};

	return &system_clock;
}

static int64_t manual_wall_ms(struct clock *clock)
{
	return ((struct clock_manual *)clock)->wall_now_ms;
}

static int64_t manual_steady_us(struct clock *clock)
{
	return ((struct clock_manual *)clock)->steady_now_us;
}

void clock_manual_init(struct clock_manual *manual, int64_t wall_ms)
{
	*manual = (struct clock_manual){
		.clock = {manual_wall_ms, manual_steady_us},
		.wall_now_ms = wall_ms,
	};
}

void clock_manual_advance_ms(struct clock_manual *manual, int64_t milliseconds)
{
	manual->wall_now_ms += milliseconds;
	manual->steady_now_us += milliseconds * 1000;
}

struct civil {
	unsigned year, month, day, hour, minute, second, millisecond;
};

#define YEAR_0000_MS INT64_C(-62167219200000)
#define YEAR_9999_MS INT64_C(253402300799999)
#define DAY_MS INT64_C(86400000)

/* Proleptic Gregorian calendar, counted in eras of 400 years that start on the first of March. Times
 * outside of the years 0 to 9999 are shown as the nearest one inside. */
static struct civil civil_of(int64_t wall_ms)
{
	int64_t days;
	unsigned day_ms, era, day_of_era, year_of_era, day_of_year, month_from_march;
	struct civil civil;

	if (wall_ms < YEAR_0000_MS)
		wall_ms = YEAR_0000_MS;
	if (wall_ms > YEAR_9999_MS)
		wall_ms = YEAR_9999_MS;
	days = (wall_ms - YEAR_0000_MS) / DAY_MS; /* since 0000-01-01 */
	day_ms = (unsigned)((wall_ms - YEAR_0000_MS) % DAY_MS);
	days += 146097 - 60; /* since the first of March, 400 years before the year 0 */
	era = (unsigned)(days / 146097);
	day_of_era = (unsigned)(days % 146097);
	year_of_era =
		(day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
	day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	month_from_march = (5 * day_of_year + 2) / 153;
	civil.day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
	civil.month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
	civil.year = era * 400 + year_of_era + (civil.month <= 2) - 400;
	civil.hour = day_ms / 3600000;
	civil.minute = day_ms / 60000 % 60;
	civil.second = day_ms / 1000 % 60;
	civil.millisecond = day_ms % 1000;
	return civil;
}

void clock_format_iso(int64_t wall_ms, char out[CLOCK_ISO_SIZE])
{
	struct civil civil = civil_of(wall_ms);

	snprintf(out, CLOCK_ISO_SIZE, "%04u-%02u-%02uT%02u:%02u:%02u.%03uZ", civil.year % 10000,
		civil.month % 100, civil.day % 100, civil.hour % 100, civil.minute % 100,
		civil.second % 100, civil.millisecond % 1000);
}

void clock_format_basic(int64_t wall_ms, char out[CLOCK_ISO_SIZE])
{
	struct civil civil = civil_of(wall_ms);

	snprintf(out, CLOCK_ISO_SIZE, "%04u%02u%02uT%02u%02u%02uZ", civil.year % 10000,
		civil.month % 100, civil.day % 100, civil.hour % 100, civil.minute % 100,
		civil.second % 100);
}

/* The number that `count` digits make, or -1. */
static int digits(const char *text, size_t count)
{
	int value = 0;

	for (size_t i = 0; i < count; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -1;
		value = value * 10 + (text[i] - '0');
	}
	return value;
}

static int days_of_month(int year, int month)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	int leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

	return days[month - 1] + (month == 2 && leap);
}

int64_t clock_parse_basic(const char *text, size_t length)
{
	int year, month, day, hour, minute, second;
	int64_t from_march, days;

	if (length != strlen("20261116T120000Z") || text[8] != 'T' || text[15] != 'Z')
		return -1;
	year = digits(text, 4);
	month = digits(text + 4, 2);
	day = digits(text + 6, 2);
	hour = digits(text + 9, 2);
	minute = digits(text + 11, 2);
	second = digits(text + 13, 2);
	if (year < 1970 || month < 1 || month > 12 || day < 1 || day > days_of_month(year, month) ||
		hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59)
		return -1;
	from_march = month > 2 ? month - 3 : month + 9;
	if (month <= 2)
		year--;
	days = INT64_C(365) * year + year / 4 - year / 100 + year / 400 +
	       (153 * from_march + 2) / 5 + day - 1 - 719468;
	return ((days * 24 + hour) * 60 + minute) * 60000 + second * INT64_C(1000);
}
