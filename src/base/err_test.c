/* Errors: messages, prefixes, and cutting between characters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/err.h"

static void test_set_fills_code_and_message(void **state)
{
	struct err err = {0};

	(void)state;
	assert_int_equal(err_set(&err, -EINVAL, "field '%s' is %d", "cpu", 7), -EINVAL);
	assert_int_equal(err.code, -EINVAL);
	assert_string_equal(err.message, "field 'cpu' is 7");
	assert_int_equal(err_set(NULL, -EPERM, "no listener"), -EPERM);
}

static void test_errno_appends_the_reason(void **state)
{
	struct err err;

	(void)state;
	errno = ENOENT;
	assert_int_equal(err_errno(&err, "open '%s'", "x"), -ENOENT);
	assert_string_equal(err.message, "open 'x': No such file or directory");
	assert_int_equal(err_system(&err, EACCES, "read"), -EACCES);
	assert_string_equal(err.message, "read: Permission denied");
	errno = ENOSPC;
	assert_int_equal(err_errno(NULL, "write"), -ENOSPC);
}

static void test_prefix_reads_from_the_outside_in(void **state)
{
	struct err err;

	(void)state;
	err_set(&err, -EINVAL, "no image");
	assert_int_equal(err_prefix(&err, -EINVAL, "container '%s'", "app"), -EINVAL);
	assert_int_equal(err_prefix(&err, -EINVAL, "register"), -EINVAL);
	assert_string_equal(err.message, "register: container 'app': no image");
	assert_int_equal(err_prefix(NULL, -EPERM, "register"), -EPERM);
}

static void test_a_long_message_is_cut_between_characters(void **state)
{
	static const char *const characters[] = {"x", "\u00e9", "\u20ac", "\U0001F6A2"};

	(void)state;
	for (size_t c = 0; c < 4; c++) {
		size_t step = strlen(characters[c]);

		/* Every alignment of the cut against the character. */
		for (size_t shift = 0; shift < 4; shift++) {
			char text[3 * ERR_MESSAGE_MAX] = "";
			struct err err;
			size_t length;

			memset(text, '.', shift);
			for (size_t at = shift; at + step < sizeof(text); at += step)
				memcpy(text + at, characters[c], step);
			err_set(&err, -E2BIG, "%s", text);
			length = strlen(err.message);
			assert_true(length < ERR_MESSAGE_MAX && length + step >= ERR_MESSAGE_MAX);
			assert_int_equal((length - shift) % step, 0);
			assert_memory_equal(err.message, text, length);
			err_prefix(&err, -E2BIG, "outside");
			length = strlen(err.message);
			assert_true(length < ERR_MESSAGE_MAX);
			assert_int_equal((length - shift - strlen("outside: ")) % step, 0);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_set_fills_code_and_message),
		cmocka_unit_test(test_errno_appends_the_reason),
		cmocka_unit_test(test_prefix_reads_from_the_outside_in),
		cmocka_unit_test(test_a_long_message_is_cut_between_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
