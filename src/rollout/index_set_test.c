#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/random.h"
#include "rollout/index_set.h"

static void test_empty(void **state)
{
	struct index_set set = {0};

	(void)state;
	assert_int_equal(index_set_next(&set, 0), INDEX_SET_NONE);
	assert_false(index_set_has(&set, 7));
	index_set_remove(&set, 7);
	index_set_clear(&set);
}

/* Numbers around the borders of words of each level. */
static void test_borders(void **state)
{
	static const uint32_t numbers[] = {
		0, 1, 63, 64, 65, 4095, 4096, 4097, 262143, 262144, 262145, INDEX_SET_MAX - 1};
	struct index_set set = {0};

	(void)state;
	index_set_reserve(&set, INDEX_SET_MAX);
	for (size_t i = 0; i < LENGTH(numbers); i++) {
		index_set_add(&set, numbers[i]);
		index_set_add(&set, numbers[i]);
		assert_int_equal(index_set_next(&set, 0), numbers[i]);
		assert_int_equal(index_set_next(&set, numbers[i]), numbers[i]);
		assert_int_equal(index_set_next(&set, numbers[i] + 1), INDEX_SET_NONE);
		index_set_remove(&set, numbers[i]);
		assert_int_equal(set.count, 0);
	}
	for (size_t i = 0; i < LENGTH(numbers); i++)
		index_set_add(&set, numbers[i]);
	for (size_t i = 1; i < LENGTH(numbers); i++)
		assert_int_equal(index_set_next(&set, numbers[i - 1] + 1), numbers[i]);
	index_set_clear(&set);
}

#define NUMBERS 9000

/* Beside a plain array, growing on the way. */
static void test_random(void **state)
{
	static bool plain[NUMBERS];
	struct random_seeded random;
	struct index_set set = {0};
	uint32_t capacity = 10;

	(void)state;
	random_seeded_init(&random, 1);
	index_set_reserve(&set, capacity);
	for (unsigned step = 0; step < 60000; step++) {
		uint32_t index = (uint32_t)random_below(&random.random, capacity);
		uint32_t from = (uint32_t)random_below(&random.random, capacity), next = from;

		if (step % 100 == 99 && capacity < NUMBERS)
			index_set_reserve(&set, capacity += 15);
		plain[index] = random_below(&random.random, 5) == 0;
		if (plain[index])
			index_set_add(&set, index);
		else
			index_set_remove(&set, index);
		while (next < NUMBERS && !plain[next])
			next++;
		assert_int_equal(index_set_next(&set, from),
			next < NUMBERS ? next : INDEX_SET_NONE);
		assert_int_equal(index_set_has(&set, from), plain[from]);
	}
	index_set_clear(&set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_borders),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
