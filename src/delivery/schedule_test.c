/* When schedules are due: the calendar against the C library's, tables of expressions, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <time.h>

#include "base/memory.h"
#include "delivery/schedule.h"

#define SECOND_MS INT64_C(1000)

/* "2024-02-29 12:00" */
static int64_t moment(const char *text)
{
	struct tm date = {0};

	assert_int_equal(sscanf(text, "%d-%d-%d %d:%d", &date.tm_year, &date.tm_mon, &date.tm_mday,
				 &date.tm_hour, &date.tm_min),
		5);
	date.tm_year -= 1900;
	date.tm_mon -= 1;
	return (int64_t)timegm(&date) * SECOND_MS;
}

static void report(int64_t at_ms, char text[32])
{
	time_t seconds = (time_t)(at_ms / SECOND_MS);
	struct tm date;

	if (at_ms < 0) {
		snprintf(text, 32, "never");
		return;
	}
	gmtime_r(&seconds, &date);
	strftime(text, 32, "%Y-%m-%d %H:%M", &date);
}

static struct schedule parse(const char *text)
{
	struct schedule schedule;
	struct err err = {0};

	if (schedule_parse(span_of(text), &schedule, &err) < 0)
		fail_msg("%s: %s", text, err.message);
	return schedule;
}

static const struct due {
	const char *expression, *after;
	const char *due[4]; /* one after the other */
} dues[] = {
	{"cron(* * * * ? *)", "2026-11-17 05:02",
		{"2026-11-17 05:03", "2026-11-17 05:04", "2026-11-17 05:05"}},
	{"cron(0 10 * * ? *)", "2026-11-17 10:00", {"2026-11-18 10:00", "2026-11-19 10:00"}},
	{"cron(15 12 * * ? *)", "2026-12-31 23:59", {"2027-01-01 12:15"}},
	{"cron(0/15 * * * ? *)", "2026-01-01 00:07",
		{"2026-01-01 00:15", "2026-01-01 00:30", "2026-01-01 00:45", "2026-01-01 01:00"}},
	{"cron(5/20 8-9 * * ? *)", "2026-01-01 08:44",
		{"2026-01-01 08:45", "2026-01-01 09:05", "2026-01-01 09:25", "2026-01-01 09:45"}},
	{"cron(*/25 0 * * ? *)", "2026-01-01 00:00",
		{"2026-01-01 00:25", "2026-01-01 00:50", "2026-01-02 00:00"}},
	{"cron(10-30/10 6 * * ? *)", "2026-01-01 00:00",
		{"2026-01-01 06:10", "2026-01-01 06:20", "2026-01-01 06:30", "2026-01-02 06:10"}},
	{"cron(0 18 ? * MON-FRI *)", "2026-11-20 18:00", {"2026-11-23 18:00", "2026-11-24 18:00"}},
	{"cron(0 18 ? * 2-6 *)", "2026-11-20 18:00", {"2026-11-23 18:00"}},
	{"cron(0 0 ? * sun,Wed *)", "2026-11-17 00:00",
		{"2026-11-18 00:00", "2026-11-22 00:00", "2026-11-25 00:00"}},
	{"cron(0 8 1 * ? *)", "2026-11-01 08:00", {"2026-12-01 08:00", "2027-01-01 08:00"}},
	{"cron(0 8 31 * ? *)", "2026-01-31 08:00", {"2026-03-31 08:00", "2026-05-31 08:00"}},
	/* leap years, also those of centuries */
	{"cron(0 0 29 2 ? *)", "2026-01-01 00:00", {"2028-02-29 00:00", "2032-02-29 00:00"}},
	{"cron(0 0 29 FEB ? *)", "2096-03-01 00:00", {"2104-02-29 00:00"}},
	{"cron(0 0 29 2 ? 2000)", "1999-01-01 00:00", {"2000-02-29 00:00", "never"}},
	{"cron(0 0 30 2 ? *)", "2026-01-01 00:00", {"never"}},
	/* L */
	{"cron(0 0 L * ? *)", "2024-01-31 00:00",
		{"2024-02-29 00:00", "2024-03-31 00:00", "2024-04-30 00:00"}},
	{"cron(0 0 L 2 ? *)", "2025-01-01 00:00", {"2025-02-28 00:00", "2026-02-28 00:00"}},
	{"cron(0 0 ? * L *)", "2026-11-17 00:00", {"2026-11-21 00:00", "2026-11-28 00:00"}},
	{"cron(0 0 ? * 6L *)", "2026-11-17 00:00", {"2026-11-27 00:00", "2026-12-25 00:00"}},
	{"cron(0 0 ? 2 SUNL *)", "2026-01-01 00:00", {"2026-02-22 00:00", "2027-02-28 00:00"}},
	/* W: within the month; the 1st of August 2026 is a Saturday, the 31st of May a Sunday */
	{"cron(0 9 15W * ? *)", "2026-08-01 00:00", {"2026-08-14 09:00", "2026-09-15 09:00"}},
	{"cron(0 9 1W 8 ? *)", "2026-01-01 00:00", {"2026-08-03 09:00"}},
	{"cron(0 9 31W 5 ? *)", "2026-01-01 00:00", {"2026-05-29 09:00"}},
	{"cron(0 9 31W * ? *)", "2026-03-31 09:00", {"2026-05-29 09:00"}},
	{"cron(0 9 LW * ? *)", "2026-01-01 00:00",
		{"2026-01-30 09:00", "2026-02-27 09:00", "2026-03-31 09:00"}},
	/* # */
	{"cron(0 0 ? * 3#2 *)", "2026-11-17 00:00", {"2026-12-08 00:00", "2027-01-12 00:00"}},
	{"cron(0 0 ? * FRI#5 *)", "2026-02-01 00:00", {"2026-05-29 00:00", "2026-07-31 00:00"}},
	/* lists of everything, and years */
	{"cron(0 0 1,15,L 1-3,12 ? *)", "2026-02-15 00:00",
		{"2026-02-28 00:00", "2026-03-01 00:00", "2026-03-15 00:00", "2026-03-31 00:00"}},
	{"cron(0 0 1 1 ? 2030-2040/5)", "2026-01-01 00:00",
		{"2030-01-01 00:00", "2035-01-01 00:00", "2040-01-01 00:00", "never"}},
	{"cron(59 23 31 12 ? 2199)", "2026-01-01 00:00", {"2199-12-31 23:59", "never"}},
	{"cron(0 0 1 1 ? 2020)", "2026-01-01 00:00", {"never"}},
};

static void test_due(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(dues); i++) {
		struct schedule schedule = parse(dues[i].expression);
		int64_t at = moment(dues[i].after);

		for (size_t j = 0; j < LENGTH(dues[i].due) && dues[i].due[j]; j++) {
			char text[32];

			at = schedule_next(&schedule, at, 0);
			report(at, text);
			if (strcmp(text, dues[i].due[j]) != 0)
				fail_msg("%s: %s, not %s", dues[i].expression, text,
					dues[i].due[j]);
		}
	}
}

/* Also between whole minutes. */
static void test_due_is_behind(void **state)
{
	struct schedule schedule = parse("cron(* * * * ? *)");
	int64_t minute = moment("2026-11-17 05:03");

	(void)state;
	assert_int_equal(schedule_next(&schedule, minute - 1, 0), minute);
	assert_int_equal(schedule_next(&schedule, minute, 0), minute + 60000);
	assert_int_equal(schedule_next(&schedule, minute + 59999, 0), minute + 60000);
	assert_int_equal(schedule_next(&schedule, -5, 0), 60000);
}

static void test_rates(void **state)
{
	static const struct {
		const char *expression;
		int64_t period_s;
	} rates[] = {{"rate(1 minute)", 60}, {"rate(5 minutes)", 300}, {"rate(1 hour)", 3600},
		{"rate(12 hours)", 43200}, {"rate(1 day)", 86400}, {"rate(7 days)", 604800}};
	int64_t anchor = moment("2026-11-17 05:03") + 1234;

	(void)state;
	for (size_t i = 0; i < LENGTH(rates); i++) {
		struct schedule schedule = parse(rates[i].expression);
		int64_t period = rates[i].period_s * SECOND_MS;

		assert_int_equal(schedule_next(&schedule, anchor, anchor), anchor + period);
		assert_int_equal(schedule_next(&schedule, anchor - 7, anchor), anchor + period);
		assert_int_equal(schedule_next(&schedule, anchor + period - 1, anchor),
			anchor + period);
		assert_int_equal(schedule_next(&schedule, anchor + period, anchor),
			anchor + 2 * period);
		assert_int_equal(schedule_next(&schedule, anchor + 10 * period + 1, anchor),
			anchor + 11 * period);
	}
}

/* Every day of the calendar, against the library's: by day of month and by weekday. */
static void test_calendar(void **state)
{
	struct schedule every = parse("cron(0 0 * * ? *)"), mondays = parse("cron(0 0 ? * MON *)");
	int64_t at = 0, day_ms = 86400 * SECOND_MS, last = moment("2199-12-31 00:00");
	int64_t monday = schedule_next(&mondays, 0, 0);

	(void)state;
	while (at < last) {
		time_t seconds = (time_t)((at + day_ms) / SECOND_MS);
		struct tm date;

		assert_int_equal(schedule_next(&every, at, 0), at + day_ms);
		at += day_ms;
		gmtime_r(&seconds, &date);
		if (date.tm_wday != 1)
			continue;
		assert_int_equal(at, monday);
		monday = schedule_next(&mondays, at, 0);
	}
	assert_int_equal(schedule_next(&every, at, 0), -1);
}

static void test_refused(void **state)
{
	static const struct {
		const char *expression, *part;
	} refused[] = {
		{"", "cron"},
		{"every day", "cron"},
		{"cron(0 0 * * ? *", "cron"},
		{"cron()", "six fields"},
		{"cron(0 0 * * ?)", "six fields"},
		{"cron(0 0 * * ? * *)", "six fields"},
		{"cron(60 0 * * ? *)", "minutes '60'"},
		{"cron(-1 0 * * ? *)", "minutes"},
		{"cron(a 0 * * ? *)", "minutes 'a'"},
		{"cron(? 0 * * ? *)", "minutes '?'"},
		{"cron(0 24 * * ? *)", "hours '24'"},
		{"cron(0 0 0 * ? *)", "day-of-month '0'"},
		{"cron(0 0 32 * ? *)", "day-of-month '32'"},
		{"cron(0 0 32W * ? *)", "day-of-month '32'"},
		{"cron(0 0 W * ? *)", "day-of-month 'W'"},
		{"cron(0 0 1 13 ? *)", "month '13'"},
		{"cron(0 0 1 JANUARY ? *)", "JAN to DEC"},
		{"cron(0 0 ? * 8 *)", "day-of-week '8'"},
		{"cron(0 0 ? * 0 *)", "day-of-week '0'"},
		{"cron(0 0 ? * 3#6 *)", "day-of-week '3#6'"},
		{"cron(0 0 ? * 3#0 *)", "day-of-week '3#0'"},
		{"cron(0 0 ? * 9L *)", "day-of-week '9'"},
		{"cron(0 0 1 1 ? 1969)", "year '1969'"},
		{"cron(0 0 1 1 ? 2200)", "year '2200'"},
		{"cron(0 0 * * * *)", "exactly one"},
		{"cron(0 0 ? * ? *)", "exactly one"},
		{"cron(0 0 1 * 2 *)", "exactly one"},
		{"cron(0/0 0 * * ? *)", "minutes '0/0'"},
		{"cron(0/x 0 * * ? *)", "minutes '0/x'"},
		{"cron(30-10 0 * * ? *)", "minutes '30-10'"},
		{"cron(1,,2 0 * * ? *)", "minutes"},
		{"cron(1, 0 * * ? *)", "minutes"},
		{"rate()", "rate"},
		{"rate(5)", "rate"},
		{"rate(0 minutes)", "rate '0'"},
		{"rate(-1 minutes)", "rate"},
		{"rate(1 minutes)", "minute, hour or day"},
		{"rate(5 minute)", "minutes, hours or days"},
		{"rate(5 weeks)", "unit 'weeks'"},
		{"rate(99999999999999999999 days)", "rate"},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(refused); i++) {
		struct schedule schedule;
		struct err err = {0};

		assert_int_equal(schedule_parse(span_of(refused[i].expression), &schedule, &err),
			-EINVAL);
		if (!strstr(err.message, refused[i].part))
			fail_msg("%s: '%s' does not name '%s'", refused[i].expression, err.message,
				refused[i].part);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_due),
		cmocka_unit_test(test_due_is_behind),
		cmocka_unit_test(test_rates),
		cmocka_unit_test(test_calendar),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
