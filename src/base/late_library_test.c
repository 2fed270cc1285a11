#include "base/late_library.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <zlib.h>

#include <cmocka.h>

#include "base/memory.h"

#define FUNCTIONS(X)                                                                               \
	X(uLong, crc32, (uLong before, const Bytef *data, uInt length), (before, data, length))

FUNCTIONS(LATE_LIBRARY_POINTER)
static const struct late_function functions[] = {FUNCTIONS(LATE_LIBRARY_ENTRY)};

static void a_function_can_be_called_after_the_load(void **state)
{
	struct late_library library = {
		"libz.so.1", functions, LENGTH(functions), LOCK_INITIALIZER, NULL};
	struct err err;

	(void)state;
	assert_int_equal(late_library_load(&library, &err), 0);
	assert_int_equal(late_library_load(&library, &err), 0);
	assert_int_equal(loaded_crc32(0, (const Bytef *)"123456789", 9), 0xcbf43926);
}

static void a_missing_library_is_an_error_with_its_name(void **state)
{
	struct late_library library = {
		"libmissing.so.7", functions, LENGTH(functions), LOCK_INITIALIZER, NULL};
	struct err err = {0};

	(void)state;
	assert_int_equal(late_library_load(&library, &err), -ENOENT);
	assert_non_null(strstr(err.message, "libmissing.so.7"));
}

static void a_missing_function_is_an_error_with_both_names(void **state)
{
	static void *address;
	const struct late_function missing[] = {{"crc33", &address}};
	struct late_library library = {"libz.so.1", missing, 1, LOCK_INITIALIZER, NULL};
	struct err err = {0};

	(void)state;
	assert_int_equal(late_library_load(&library, &err), -ENOENT);
	assert_string_equal(err.message, "library libz.so.1 has no function crc33");
	assert_null(address);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_can_be_called_after_the_load),
		cmocka_unit_test(a_missing_library_is_an_error_with_its_name),
		cmocka_unit_test(a_missing_function_is_an_error_with_both_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
