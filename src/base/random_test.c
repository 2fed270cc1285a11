/* Random numbers: same seed, same numbers; ranges without gaps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/random.h"

static void test_same_seed_same_numbers(void **state)
{
	struct random_seeded a, b, c;
	unsigned char bytes[3][37];

	(void)state;
	random_seeded_init(&a, 5);
	random_seeded_init(&b, 5);
	random_seeded_init(&c, 6);
	for (int i = 0; i < 100; i++) {
		uint64_t number = random_u64(&a.random);

		assert_int_equal(number, random_u64(&b.random));
		assert_int_not_equal(number, random_u64(&c.random));
	}
	a.random.fill(&a.random, bytes[0], sizeof(bytes[0]));
	b.random.fill(&b.random, bytes[1], sizeof(bytes[1]));
	assert_memory_equal(bytes[0], bytes[1], sizeof(bytes[0]));
}

/* The reference numbers of xoshiro256** for the state 1, 2, 3, 4. */
static void test_is_xoshiro(void **state)
{
	static const uint64_t expected[] = {11520, 0, 1509978240, 1215971899390074240};
	struct random_seeded random;

	(void)state;
	random_seeded_init(&random, 0);
	for (uint64_t i = 0; i < 4; i++)
		random.state[i] = i + 1;
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(random_u64(&random.random), expected[i]);
}

static void test_ranges(void **state)
{
	struct random *sources[2];
	struct random_seeded seeded;

	(void)state;
	random_seeded_init(&seeded, 1);
	sources[0] = &seeded.random;
	sources[1] = random_system();
	for (size_t s = 0; s < 2; s++) {
		size_t seen[7] = {0};

		for (int i = 0; i < 7000; i++) {
			double unit = random_unit(sources[s]);

			assert_true(unit >= 0.0 && unit < 1.0);
			seen[random_below(sources[s], 7)]++;
		}
		/* Expected 1000 each with a deviation of 29: fifteen of them leave no room for chance. */
		for (size_t i = 0; i < 7; i++)
			assert_in_range(seen[i], 560, 1440);
		assert_int_equal(random_below(sources[s], 1), 0);
		assert_true(random_below(sources[s], UINT64_MAX) < UINT64_MAX);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_seed_same_numbers),
		cmocka_unit_test(test_is_xoshiro),
		cmocka_unit_test(test_ranges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
