/* Buffers: appends, caps that stay failed, consuming and handing over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buffer.h"

static void test_appends(void **state)
{
	_buffer_ struct buffer buffer = {0};

	(void)state;
	assert_true(span_is(buffer_span(&buffer), ""));
	buffer_add_string(&buffer, "a");
	buffer_add_char(&buffer, ' ');
	buffer_add_unsigned(&buffer, 0);
	buffer_add_char(&buffer, ' ');
	buffer_add_unsigned(&buffer, UINT64_MAX);
	buffer_add_char(&buffer, ' ');
	buffer_add_signed(&buffer, INT64_MIN);
	buffer_add_char(&buffer, ' ');
	buffer_add_signed(&buffer, 42);
	buffer_add_hex(&buffer, "\x00\xff\x1a", 3);
	buffer_add_span(&buffer, SPAN_NONE);
	buffer_format(&buffer, "%0300d", 7);
	assert_false(buffer_failed(&buffer));
	assert_int_equal(buffer.length, strlen(buffer.data));
	assert_memory_equal(buffer.data,
		"a 0 18446744073709551615 -9223372036854775808 4200ff1a0000", 58);
	assert_int_equal(buffer.data[buffer.length - 1], '7');
}

static void test_cap_stays_failed(void **state)
{
	_buffer_ struct buffer buffer = BUFFER_WITH_CAP(10);

	(void)state;
	buffer_add_string(&buffer, "1234567890");
	assert_false(buffer_failed(&buffer));
	buffer_add_char(&buffer, 'x');
	assert_true(buffer_failed(&buffer));
	assert_string_equal(buffer.data, "1234567890");
	buffer_consume(&buffer, 5);
	buffer_add_char(&buffer, 'x');
	assert_string_equal(buffer.data, "67890");
	buffer_format(&buffer, "%d", 1);
	buffer_add_hex(&buffer, "a", 1);
	assert_null(buffer_reserve(&buffer, 1));
	assert_string_equal(buffer.data, "67890");
	buffer_reset(&buffer);
	buffer_add_char(&buffer, 'x');
	assert_string_equal(buffer.data, "x");
	buffer_format(&buffer, "%0300d", 1);
	assert_true(buffer_failed(&buffer));
	buffer_clear(&buffer);
	assert_int_equal(buffer.cap, 10);
	assert_false(buffer_failed(&buffer));
}

static void test_consume(void **state)
{
	_buffer_ struct buffer buffer = {0};

	(void)state;
	buffer_consume(&buffer, 3);
	buffer_add_string(&buffer, "abcdef");
	buffer_consume(&buffer, 0);
	buffer_consume(&buffer, 2);
	assert_string_equal(buffer.data, "cdef");
	buffer_consume(&buffer, 4);
	assert_string_equal(buffer.data, "");
	buffer_add_string(&buffer, "z");
	buffer_consume(&buffer, 100);
	assert_int_equal(buffer.length, 0);
}

static void test_take(void **state)
{
	_buffer_ struct buffer buffer = {0};
	_free_ char *empty = NULL;
	_free_ char *text = NULL;
	size_t length = 99;

	(void)state;
	empty = buffer_take(&buffer, &length);
	assert_string_equal(empty, "");
	assert_int_equal(length, 0);
	buffer_add(&buffer, "a\0b", 3);
	text = buffer_take(&buffer, &length);
	assert_int_equal(length, 3);
	assert_memory_equal(text, "a\0b", 4);
	assert_null(buffer.data);
}

static void test_growth_over_many_sizes(void **state)
{
	_buffer_ struct buffer buffer = {0};
	size_t length = 0;

	(void)state;
	for (size_t i = 0; i < 2000; i++) {
		char *end = buffer_reserve(&buffer, i % 97);

		memset(end, (int)('a' + i % 26), i % 97);
		buffer.length += i % 97;
		buffer.data[buffer.length] = '\0';
		length += i % 97;
	}
	assert_int_equal(buffer.length, length);
	assert_int_equal(strlen(buffer.data), length);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_appends),
		cmocka_unit_test(test_cap_stays_failed),
		cmocka_unit_test(test_consume),
		cmocka_unit_test(test_take),
		cmocka_unit_test(test_growth_over_many_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
