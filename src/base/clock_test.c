/* Clocks, and the calendar checked against the C library's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/random.h"

static void test_system_clock_moves_forward(void **state)
{
	struct clock *clock = clock_system();
	int64_t before = clock_steady_us(clock);

	(void)state;
	assert_true(clock_wall_ms(clock) > INT64_C(1600000000000));
	for (int i = 0; i < 1000; i++) {
		int64_t now = clock_steady_us(clock);

		assert_true(now >= before);
		before = now;
	}
}

static void test_manual_clock_stands_still(void **state)
{
	struct clock_manual manual;

	(void)state;
	clock_manual_init(&manual, 1000);
	assert_int_equal(clock_wall_ms(&manual.clock), 1000);
	assert_int_equal(clock_steady_us(&manual.clock), 0);
	clock_manual_advance_ms(&manual, 250);
	assert_int_equal(clock_wall_ms(&manual.clock), 1250);
	assert_int_equal(clock_steady_us(&manual.clock), 250000);
}

static void test_known_times(void **state)
{
	char text[CLOCK_ISO_SIZE];

	(void)state;
	clock_format_iso(0, text);
	assert_string_equal(text, "1970-01-01T00:00:00.000Z");
	clock_format_iso(-1, text);
	assert_string_equal(text, "1969-12-31T23:59:59.999Z");
	clock_format_iso(INT64_C(1709210096123), text);
	assert_string_equal(text, "2024-02-29T12:34:56.123Z");
	clock_format_basic(INT64_C(1709210096123), text);
	assert_string_equal(text, "20240229T123456Z");
	clock_format_iso(INT64_MIN, text);
	assert_string_equal(text, "0000-01-01T00:00:00.000Z");
	clock_format_iso(INT64_MAX, text);
	assert_string_equal(text, "9999-12-31T23:59:59.999Z");
}

static void test_calendar_agrees_with_the_c_library(void **state)
{
	struct random_seeded random;

	(void)state;
	random_seeded_init(&random, 7);
	for (int i = 0; i < 20000; i++) {
		time_t seconds = (time_t)random_below(&random.random, UINT64_C(253402300800));
		char expected[CLOCK_ISO_SIZE];
		char text[CLOCK_ISO_SIZE];
		struct tm parts;

		gmtime_r(&seconds, &parts);
		strftime(expected, sizeof(expected), "%Y%m%dT%H%M%SZ", &parts);
		clock_format_basic((int64_t)seconds * 1000 + 999, text);
		assert_string_equal(text, expected);
		assert_int_equal(clock_parse_basic(text, strlen(text)), (int64_t)seconds * 1000);
	}
}

static void test_what_is_not_a_basic_time(void **state)
{
	static const char *const wrong[] = {"", "20261116T120000", "20261116t120000Z",
		"20261116T120000z", "20261316T120000Z", "20260016T120000Z", "20260230T120000Z",
		"20230229T120000Z", "20261100T120000Z", "20261116T240000Z", "20261116T126000Z",
		"20261116T120060Z", "2026111 T120000Z", "-0261116T120000Z", "19691231T235959Z",
		"20261116T120000ZZ", "2026-11-16T12:00"};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(clock_parse_basic(wrong[i], strlen(wrong[i])), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_system_clock_moves_forward),
		cmocka_unit_test(test_manual_clock_stands_still),
		cmocka_unit_test(test_known_times),
		cmocka_unit_test(test_calendar_agrees_with_the_c_library),
		cmocka_unit_test(test_what_is_not_a_basic_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
