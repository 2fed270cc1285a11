/* Names of histories. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "release/release_names.h"

static void test_history_name(void **state)
{
	_arena_ struct arena *arena = arena_new(0);

	(void)state;
	assert_true(span_is(release_history_name(arena, SPAN("web"), 1), "web-v1"));
	assert_true(span_is(release_history_name(arena, SPAN("web-v1"), 12), "web-v1-v12"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_history_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
