/* The choice of registered tasks: the cases of the specification, and all small ones against a search of all choices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "pipeline/share.h"

#define TASKS_MAX 7

static void test_named_choices(void **state)
{
	static const struct {
		int64_t primary, canary, desired, percent;
		struct share expected;
	} cases[] = {
		{2, 1, 2, 33, {2, 1}}, {2, 2, 2, 50, {2, 2}}, {2, 2, 2, 20, {2, 1}},
		{10, 3, 10, 10, {9, 1}}, {10, 3, 10, 20, {8, 2}}, {4, 1, 4, 5, {4, 1}},
		{20, 1, 20, 5, {19, 1}}, {3, 3, 3, 75, {1, 3}}, /* scenario 20 */
		{2, 1, 2, 1, {2, 1}},                           /* scenario 19: at least one task */
		{2, 1, 2, 0, {2, 0}}, {2, 2, 2, 100, {0, 2}},
		{2, 0, 2, 50, {2, 0}},                        /* no canary can take traffic */
		{0, 2, 2, 50, {0, 2}}, {1, 1, 5, 50, {1, 1}}, /* fewer tasks than desired */
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct share share = share_choose(cases[i].primary, cases[i].canary,
			cases[i].desired, cases[i].percent);

		assert_int_equal(share.primary, cases[i].expected.primary);
		assert_int_equal(share.canary, cases[i].expected.canary);
	}
}

/* By floating point, in another way than the code under test. */
static double error_of(int64_t p, int64_t c, int64_t percent)
{
	double error = 100.0 * (double)c / (double)(p + c) - (double)percent;

	return error < 0 ? -error : error;
}

static struct share search(int64_t primary, int64_t canary, int64_t desired, int64_t percent)
{
	int64_t least = primary + canary < desired ? primary + canary : desired;
	struct share best = {0, 0};
	double best_error = 101;

	for (int64_t p = 1; p <= primary; p++) {
		for (int64_t c = 1; c <= canary; c++) {
			double error = error_of(p, c, percent);
			bool same = error < best_error + 1e-9 && error > best_error - 1e-9;

			if (p + c < least)
				continue;
			if (same ? p + c > best.primary + best.canary : error < best_error) {
				best = (struct share){p, c};
				best_error = error;
			}
		}
	}
	return best;
}

static void test_all_small_choices(void **state)
{
	(void)state;
	for (int64_t p = 1; p <= TASKS_MAX; p++)
		for (int64_t c = 1; c <= TASKS_MAX; c++)
			for (int64_t desired = 1; desired <= TASKS_MAX * 2; desired++)
				for (int64_t percent = 1; percent < 100; percent++) {
					struct share share = share_choose(p, c, desired, percent);
					struct share best = search(p, c, desired, percent);

					assert_true(share.primary >= 1 && share.primary <= p);
					assert_true(share.canary >= 1 && share.canary <= c);
					assert_true(error_of(share.primary, share.canary,
							    percent) <=
						    error_of(best.primary, best.canary, percent) +
							    1e-9);
					assert_int_equal(share.primary + share.canary,
						best.primary + best.canary);
				}
}

static void test_scaled(void **state)
{
	(void)state;
	assert_int_equal(share_scaled(2, 50), 1);
	assert_int_equal(share_scaled(3, 50), 2);
	assert_int_equal(share_scaled(1, 1), 1);
	assert_int_equal(share_scaled(0, 100), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_named_choices),
		cmocka_unit_test(test_all_small_choices),
		cmocka_unit_test(test_scaled),
	};

	return cmocka_run_group_tests_name("share", tests, NULL, NULL);
}
