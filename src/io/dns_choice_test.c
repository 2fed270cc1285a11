/* Shares are exact and choices fair. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "io/dns_choice.h"

/* ---- multivalue ---- */

static void test_at_most_eight_healthy(void **state)
{
	struct dns_candidate candidates[40] = {0};
	struct random_seeded random;
	size_t chosen[DNS_MULTIVALUE_MAX];

	(void)state;
	random_seeded_init(&random, 1);
	assert_int_equal(dns_choose_multivalue(&random.random, candidates, 0, chosen), 0);
	for (size_t count = 1; count <= LENGTH(candidates); count++) {
		for (unsigned round = 0; round < 200; round++) {
			size_t healthy = 0, got;

			for (size_t i = 0; i < count; i++) {
				candidates[i].healthy = random_below(&random.random, 3) > 0;
				healthy += candidates[i].healthy;
			}
			got = dns_choose_multivalue(&random.random, candidates, count, chosen);
			if (healthy == 0)
				assert_int_equal(got, count < 8 ? count : 8);
			else
				assert_int_equal(got, healthy < 8 ? healthy : 8);
			for (size_t i = 0; i < got; i++) {
				assert_true(chosen[i] < count);
				assert_true(healthy == 0 || candidates[chosen[i]].healthy);
				for (size_t j = 0; j < i; j++)
					assert_int_not_equal(chosen[i], chosen[j]);
			}
		}
	}
}

/* Every one of 12 is in each place of the answer equally often: 60,000 answers of 8 put each at each
 * place 5,000 times, give or take a few standard deviations (68). The seed is fixed. */
static void test_multivalue_is_fair(void **state)
{
	struct dns_candidate candidates[12];
	unsigned counts[12][DNS_MULTIVALUE_MAX] = {0};
	struct random_seeded random;
	size_t chosen[DNS_MULTIVALUE_MAX];

	(void)state;
	random_seeded_init(&random, 2);
	for (size_t i = 0; i < 12; i++)
		candidates[i] = (struct dns_candidate){1, true};
	for (unsigned round = 0; round < 60000; round++) {
		assert_int_equal(dns_choose_multivalue(&random.random, candidates, 12, chosen), 8);
		for (size_t place = 0; place < 8; place++)
			counts[chosen[place]][place]++;
	}
	for (size_t i = 0; i < 12; i++) {
		for (size_t place = 0; place < 8; place++)
			assert_in_range(counts[i][place], 4700, 5300);
	}
}

/* ---- weighted ---- */

/* After every answer each count is within one of its share, and exact after `total` answers. */
static void check_shares(const struct dns_candidate *candidates, size_t count,
	const unsigned *weights, uint64_t seed)
{
	struct dns_weighted weighted = {0};
	struct random_seeded random;
	int64_t *requested = memory_allocate_array(count, sizeof(requested[0]));
	int64_t total = 0;

	random_seeded_init(&random, seed);
	for (size_t i = 0; i < count; i++)
		total += weights[i];
	dns_weighted_set(&weighted, candidates, count);
	for (int64_t n = 1; n <= 3 * total; n++) {
		size_t chosen = dns_weighted_next(&weighted, &random.random);

		assert_true(chosen < count);
		requested[chosen]++;
		for (size_t i = 0; i < count; i++) {
			int64_t error = requested[i] * total - n * weights[i];

			assert_true(error > -total && error < total);
			if (n % total == 0)
				assert_int_equal(error, 0);
		}
	}
	free(requested);
	dns_weighted_clear(&weighted);
}

static void test_shares_are_exact(void **state)
{
	static const unsigned rows[][6] = {{1}, {1000}, {999, 1}, {990, 10}, {900, 100}, {500, 500},
		{1000, 0}, {700, 299, 1}, {1, 1, 1}, {3, 5, 7, 11}, {1, 1, 1, 997}, {334, 333, 333},
		{10, 20, 30, 40}, {1000, 1000, 1000, 1000, 1000, 1}};

	(void)state;
	for (size_t row = 0; row < LENGTH(rows); row++) {
		struct dns_candidate candidates[6];

		for (size_t i = 0; i < 6; i++)
			candidates[i] = (struct dns_candidate){(uint16_t)rows[row][i], true};
		for (uint64_t seed = 0; seed < 5; seed++)
			check_shares(candidates, 6, rows[row], seed);
	}
}

static void test_random_weights_are_exact(void **state)
{
	struct random_seeded random;

	(void)state;
	random_seeded_init(&random, 3);
	for (unsigned round = 0; round < 60; round++) {
		struct dns_candidate candidates[30];
		unsigned weights[30];
		size_t count = 1 + random_below(&random.random, LENGTH(candidates));
		bool any = false;

		for (size_t i = 0; i < count; i++) {
			weights[i] = (unsigned)random_below(&random.random, 40);
			candidates[i] = (struct dns_candidate){(uint16_t)weights[i], true};
			any = any || weights[i] > 0;
		}
		if (any)
			check_shares(candidates, count, weights, round);
	}
}

static void test_which_instances_count(void **state)
{
	static const struct {
		struct dns_candidate candidates[3];
		unsigned weights[3];
	} rows[] = {
		/* the unhealthy one is passed over */
		{{{5, true}, {90, false}, {5, true}}, {1, 0, 1}},
		/* all unhealthy count as all healthy */
		{{{1, false}, {2, false}, {3, false}}, {1, 2, 3}},
		/* 0 is never given */
		{{{0, true}, {2, true}, {3, true}}, {0, 2, 3}},
		/* all 0: the same share */
		{{{0, true}, {0, true}, {0, true}}, {1, 1, 1}},
		/* of the healthy all have 0: theirs is the traffic */
		{{{0, true}, {9, false}, {0, true}}, {1, 0, 1}},
		{{{0, false}, {0, false}, {0, false}}, {1, 1, 1}},
		/* beyond the most */
		{{{65535, true}, {1000, true}, {0, true}}, {1, 1, 0}},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++)
		check_shares(rows[i].candidates, 3, rows[i].weights, i);
}

static void test_no_candidates(void **state)
{
	struct dns_weighted weighted = {0};

	(void)state;
	assert_int_equal(dns_weighted_next(&weighted, random_system()), DNS_CHOICE_NONE);
	dns_weighted_set(&weighted, NULL, 0);
	assert_int_equal(dns_weighted_next(&weighted, random_system()), DNS_CHOICE_NONE);
	dns_weighted_clear(&weighted);
}

/* Setting the same again, as for every answer, does not disturb the count; a change begins anew. */
static void test_set_again(void **state)
{
	struct dns_candidate candidates[] = {{900, true}, {100, true}};
	struct dns_weighted weighted = {0};
	struct random_seeded random;
	unsigned requested[2] = {0};

	(void)state;
	random_seeded_init(&random, 4);
	for (unsigned n = 0; n < 1000; n++) {
		dns_weighted_set(&weighted, candidates, 2);
		requested[dns_weighted_next(&weighted, &random.random)]++;
	}
	assert_int_equal(requested[1], 100);
	candidates[1].weight = 0;
	dns_weighted_set(&weighted, candidates, 2);
	for (unsigned n = 0; n < 1000; n++)
		assert_int_equal(dns_weighted_next(&weighted, &random.random), 0);
	dns_weighted_clear(&weighted);
}

/* With a change before each answer the first turn decides alone: it must be fair, too. 10,000 draws
 * with the share 0.1 are 1,000 +- 30. The seed is fixed. */
static void test_weights_that_change_all_the_time(void **state)
{
	struct dns_weighted weighted = {0};
	struct random_seeded random;
	unsigned requested[2] = {0};

	(void)state;
	random_seeded_init(&random, 5);
	for (unsigned n = 0; n < 10000; n++) {
		struct dns_candidate candidates[] = {
			{n % 2 ? 900 : 90, true}, {n % 2 ? 100 : 10, true}};

		dns_weighted_set(&weighted, candidates, 2);
		requested[dns_weighted_next(&weighted, &random.random)]++;
	}
	assert_in_range(requested[1], 880, 1120);
	dns_weighted_clear(&weighted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_at_most_eight_healthy),
		cmocka_unit_test(test_multivalue_is_fair),
		cmocka_unit_test(test_shares_are_exact),
		cmocka_unit_test(test_random_weights_are_exact),
		cmocka_unit_test(test_which_instances_count),
		cmocka_unit_test(test_no_candidates),
		cmocka_unit_test(test_set_again),
		cmocka_unit_test(test_weights_that_change_all_the_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
