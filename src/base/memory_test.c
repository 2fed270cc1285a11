/* Allocation and ownership of locals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>

#include "base/memory.h"

static void test_allocation_is_zeroed(void **state)
{
	_free_ char *one = memory_allocate(100);
	_free_ int *many = memory_allocate_array(25, sizeof(int));
	_free_ void *none = memory_allocate(0);

	(void)state;
	for (size_t i = 0; i < 100; i++)
		assert_int_equal(one[i], 0);
	for (size_t i = 0; i < 25; i++)
		assert_int_equal(many[i], 0);
	assert_non_null(none);
}

static void test_copies(void **state)
{
	_free_ char *string = memory_copy_string("harbour");
	_free_ char *part = memory_copy_string_n("harbour", 4);
	_free_ char *empty = memory_copy_string_n(NULL, 0);
	_free_ char *bytes = memory_copy("a\0b", 3);
	_free_ char *formatted = memory_format("%s-%d", "pier", 7);

	(void)state;
	assert_string_equal(string, "harbour");
	assert_string_equal(part, "harb");
	assert_string_equal(empty, "");
	assert_memory_equal(bytes, "a\0b", 3);
	assert_string_equal(formatted, "pier-7");
	assert_null(memory_copy_string(NULL));
}

static void test_take_leaves_nothing_behind(void **state)
{
	char *text = memory_copy_string("x");
	_free_ char *taken = TAKE(text);
	int descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int kept;

	(void)state;
	assert_null(text);
	assert_string_equal(taken, "x");
	kept = TAKE_FD(descriptor);
	assert_int_equal(descriptor, -1);
	{
		_close_ int closing = kept;

		errno = EXDEV;
		assert_true(fcntl(closing, F_GETFD) >= 0);
		errno = EXDEV;
	}
	assert_int_equal(errno, EXDEV);
	assert_int_equal(fcntl(kept, F_GETFD), -1);
}

static void test_container_of(void **state)
{
	struct outer {
		int before;
		int inner;
	} outer;

	(void)state;
	assert_ptr_equal(CONTAINER_OF(&outer.inner, struct outer, inner), &outer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_allocation_is_zeroed),
		cmocka_unit_test(test_copies),
		cmocka_unit_test(test_take_leaves_nothing_behind),
		cmocka_unit_test(test_container_of),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
