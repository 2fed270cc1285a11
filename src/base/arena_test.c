/* Arenas: alignment, zeroes, caps, reuse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdalign.h>
#include <string.h>

#include "base/arena.h"
#include "base/memory.h"
#include "base/random.h"

static void test_memory_is_zeroed_aligned_and_apart(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct random_seeded random;

	(void)state;
	random_seeded_init(&random, 1);
	for (int round = 0; round < 3; round++) {
		unsigned char *parts[500];
		size_t sizes[500];

		for (size_t i = 0; i < LENGTH(parts); i++) {
			sizes[i] = random_below(&random.random, i % 50 ? 300 : 20000);
			parts[i] = arena_allocate(arena, sizes[i]);
			assert_int_equal((uintptr_t)parts[i] % alignof(max_align_t), 0);
			for (size_t b = 0; b < sizes[i]; b++)
				assert_int_equal(parts[i][b], 0);
			memset(parts[i], (int)(i & 0xFF), sizes[i]);
		}
		for (size_t i = 0; i < LENGTH(parts); i++) {
			for (size_t b = 0; b < sizes[i]; b++)
				assert_int_equal(parts[i][b], i & 0xFF);
		}
		assert_true(arena_used(arena) > 0);
		arena_reset(arena);
		assert_int_equal(arena_used(arena), 0);
	}
}

static void test_cap(void **state)
{
	_arena_ struct arena *arena = arena_new(1000);
	size_t got = 0;

	(void)state;
	assert_null(arena_allocate_capped(arena, 1001));
	assert_null(arena_allocate_capped(arena, SIZE_MAX));
	assert_null(arena_allocate_capped(arena, SIZE_MAX / 2));
	while (arena_allocate_capped(arena, 100))
		got++;
	assert_in_range(got, 8, 10);
	assert_true(arena_used(arena) <= 1000);
	arena_reset(arena);
	assert_non_null(arena_allocate_capped(arena, 900));
}

static void test_text(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	char long_text[1000];
	struct span formatted;

	(void)state;
	assert_string_equal(arena_copy(arena, "abc", 2), "ab");
	assert_string_equal(arena_copy_string(arena, "abc"), "abc");
	assert_null(arena_copy_string(arena, NULL));
	assert_null(arena_copy_span(arena, SPAN_NONE).data);
	assert_true(span_is(arena_copy_span(arena, SPAN("xyz")), "xyz"));
	formatted = arena_format(arena, "%s/%d", "task", 3);
	assert_true(span_is(formatted, "task/3"));
	assert_int_equal(formatted.data[formatted.length], 0);
	memset(long_text, 'q', sizeof(long_text) - 1);
	long_text[sizeof(long_text) - 1] = '\0';
	formatted = arena_format(arena, "<%s>", long_text);
	assert_int_equal(formatted.length, sizeof(long_text) + 1);
	assert_int_equal(formatted.data[formatted.length - 1], '>');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory_is_zeroed_aligned_and_apart),
		cmocka_unit_test(test_cap),
		cmocka_unit_test(test_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
