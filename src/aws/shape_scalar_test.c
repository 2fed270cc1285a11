#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "aws/shape_scalar.h"
#include "base/memory.h"

static void scalars_are_read(void **state)
{
	static const struct {
		enum shape_type type;
		const char *text;
		const char *json; /* NULL: refused */
	} table[] = {
		{SHAPE_STRING, " a ", "\" a \""},
		{SHAPE_INTEGER, "0", "0"},
		{SHAPE_INTEGER, "-12", "-12"},
		{SHAPE_LONG, "9223372036854775807", "9223372036854775807"},
		{SHAPE_LONG, "9223372036854775808", NULL},
		{SHAPE_INTEGER, "007", NULL},
		{SHAPE_INTEGER, "+1", NULL},
		{SHAPE_INTEGER, "1.0", NULL},
		{SHAPE_INTEGER, "1 ", NULL},
		{SHAPE_INTEGER, "[1]", NULL},
		{SHAPE_INTEGER, "true", NULL},
		{SHAPE_DOUBLE, "1e3", "1e3"},
		{SHAPE_FLOAT, "-0.5", "-0.5"},
		{SHAPE_DOUBLE, ".5", NULL},
		{SHAPE_DOUBLE, "1e999", NULL},
		{SHAPE_BOOLEAN, "true", "true"},
		{SHAPE_BOOLEAN, "false", "false"},
		{SHAPE_BOOLEAN, "True", NULL},
		{SHAPE_BOOLEAN, "", NULL},
		{SHAPE_BLOB, "aGk=", "\"aGk=\""},
		{SHAPE_TIMESTAMP, "1970-01-01T00:00:00Z", "0.000"},
		{SHAPE_TIMESTAMP, "1970-01-01T00:00:00.5+01:00", "-3599.500"},
		{SHAPE_TIMESTAMP, "1969-12-31T23:59:59Z", NULL}, /* nothing is that old */
		{SHAPE_TIMESTAMP, "2024-02-29T12:00:00.123456789Z", "1709208000.123"},
		{SHAPE_TIMESTAMP, "2024-02-29T12:00:00.1-05:30", "1709227800.100"},
		{SHAPE_TIMESTAMP, "1709208000", "1709208000"},
		{SHAPE_TIMESTAMP, "2023-02-29T12:00:00Z", NULL},
		{SHAPE_TIMESTAMP, "2024-02-29T24:00:00Z", NULL},
		{SHAPE_TIMESTAMP, "2024-02-29T12:00:00", NULL},
		{SHAPE_TIMESTAMP, "2024-02-29T12:00:00.Z", NULL},
		{SHAPE_TIMESTAMP, "2024-02-29T12:00:00Zx", NULL},
		{SHAPE_TIMESTAMP, "2024-02-29T12:00:00+24:00", NULL},
		{SHAPE_TIMESTAMP, "2024-02-29 12:00:00Z", NULL},
		{SHAPE_TIMESTAMP, "", NULL},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(table); i++) {
		_arena_ struct arena *arena = arena_new(0);
		const struct shape shape = {.type = (uint8_t)table[i].type};
		struct json value;
		const char *expected =
			shape_scalar_read(&shape, span_of(table[i].text), arena, &value);

		if (!table[i].json)
			assert_non_null(expected);
		else if (expected || !span_is(json_to_text(&value, arena), table[i].json))
			fail_msg("'%s' is not %s", table[i].text,
				expected ? expected : table[i].json);
	}
}

static void times_are_written(void **state)
{
	static const struct {
		const char *seconds, *text;
	} table[] = {
		{"0", "1970-01-01T00:00:00.000Z"}, {"1709208000.123", "2024-02-29T12:00:00.123Z"},
		{"1709208000.9996", "2024-02-29T12:00:01.000Z"},
		{"-0.5", "1969-12-31T23:59:59.500Z"},
		{"1e300", "1e300"}, /* no time, but a handler's number all the same */
	};
	const struct shape shape = {.type = SHAPE_TIMESTAMP};

	(void)state;
	for (size_t i = 0; i < LENGTH(table); i++) {
		_buffer_ struct buffer scratch = {0};
		const struct json value = {.type = JSON_NUMBER, .text = span_of(table[i].seconds)};

		assert_true(span_is(shape_scalar_text(&shape, &value, &scratch), table[i].text));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scalars_are_read),
		cmocka_unit_test(times_are_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
