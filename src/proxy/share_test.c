/* Exactness of shares: over every window, from several threads, across changes. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "proxy/share.h"

#define MILLION 1000000

static void set_two(struct share *share, uint32_t first, uint32_t second)
{
	const struct share_route routes[] = {{0, first}, {1, second}};

	share_set(share, routes, LENGTH(routes));
}

/* Draws and asserts that every window of each of the lengths has floor or ceil of the share. */
static void check_windows(uint32_t weight, uint32_t sum, size_t draws)
{
	static const size_t lengths[] = {1, 2, 7, 10, 64, 99, 100, 1000, 1001, 4096};
	_free_ struct share *share = memory_allocate(sizeof(*share));
	_free_ uint32_t *before = memory_allocate_array(draws + 1, sizeof(*before));

	set_two(share, sum - weight, weight);
	for (size_t i = 0; i < draws; i++)
		before[i + 1] = before[i] + (share_draw(share) == 1);
	for (size_t k = 0; k < LENGTH(lengths); k++) {
		size_t length = lengths[k];
		uint64_t least = (uint64_t)length * weight / sum;
		uint64_t most = ((uint64_t)length * weight + sum - 1) / sum;

		for (size_t i = 0; i + length <= draws; i++) {
			assert_true(before[i + length] - before[i] >= least);
			assert_true(before[i + length] - before[i] <= most);
		}
	}
}

static void test_every_window_is_exact(void **state)
{
	(void)state;
	check_windows(1000, MILLION, 20000);  /* 0.1 % */
	check_windows(10000, MILLION, 20000); /* 1 % */
	check_windows(100000, MILLION, 20000);
	check_windows(500000, MILLION, 20000);
	check_windows(0, MILLION, 20000);
	check_windows(MILLION, MILLION, 20000);
	check_windows(1, 3, 20000);
	check_windows(617, 1000, 20000);
	check_windows(999, 1998, 20000);
	check_windows(1, MILLION, 20000);
}

static void test_larger_share_goes_first(void **state)
{
	_free_ struct share *share = memory_allocate(sizeof(*share));

	(void)state;
	set_two(share, 90, 10);
	for (int i = 0; i < 9; i++)
		assert_int_equal(share_draw(share), 0);
	assert_int_equal(share_draw(share), 1);
}

static void test_no_weight_no_route(void **state)
{
	_free_ struct share *share = memory_allocate(sizeof(*share));

	(void)state;
	assert_int_equal(share_draw(share), SHARE_NONE);
	assert_int_equal(share_of_hash(share, 12345), SHARE_NONE);
	set_two(share, 0, 0);
	assert_int_equal(share_draw(share), SHARE_NONE);
	assert_int_equal(share_of_hash(share, 12345), SHARE_NONE);
	set_two(share, 0, 1);
	assert_int_equal(share_draw(share), 1);
	assert_int_equal(share_of_hash(share, UINT64_MAX), 1);
}

static void test_many_routes_are_off_by_one_at_most(void **state)
{
	static const uint32_t weights[] = {500, 0, 251, 120, 64, 33, 17, 9, 5, 1};
	_free_ struct share *share = memory_allocate(sizeof(*share));
	struct share_route routes[LENGTH(weights)];
	uint32_t counts[LENGTH(weights)] = {0}, sum = 0;

	(void)state;
	for (size_t i = 0; i < LENGTH(weights); i++) {
		routes[i] = (struct share_route){(uint32_t)i, weights[i]};
		sum += weights[i];
	}
	assert_int_equal(sum, 1000);
	share_set(share, routes, LENGTH(routes));
	for (uint32_t n = 1; n <= 10000; n++) {
		uint32_t route = share_draw(share);

		assert_true(route < LENGTH(weights));
		counts[route]++;
		for (size_t i = 0; i < LENGTH(weights); i++) {
			uint64_t wanted = (uint64_t)n * weights[i];

			assert_true((counts[i] + 2) * UINT64_C(1000) > wanted);
			assert_true(counts[i] * UINT64_C(1000) < wanted + 2000);
		}
	}
	for (size_t i = 0; i < LENGTH(weights); i++)
		assert_int_equal(counts[i], weights[i] * 10);
}

/* 50 times 40 draws at 1 % with a change in between: 20, not 0. */
static void test_changes_do_not_starve_a_small_share(void **state)
{
	_free_ struct share *share = memory_allocate(sizeof(*share));
	unsigned count = 0;

	(void)state;
	for (int change = 0; change < 50; change++) {
		set_two(share, 99, 1);
		for (int i = 0; i < 40; i++)
			count += share_draw(share) == 1;
		set_two(share, 990000, 10000); /* the same in finer units */
		set_two(share, 100, 0);
	}
	assert_in_range(count, 19, 21);
}

static void test_setting_the_same_changes_nothing(void **state)
{
	_free_ struct share *share = memory_allocate(sizeof(*share));
	uint64_t ticket;

	(void)state;
	set_two(share, 99, 1);
	share_draw(share);
	ticket = atomic_load(&share->ticket);
	set_two(share, 99, 1);
	assert_true(atomic_load(&share->ticket) == ticket);
}

static void test_numbers_beyond_32_bits(void **state)
{
	_free_ struct share *share = memory_allocate(sizeof(*share));
	uint64_t starts[] = {UINT64_C(1) << 40, (UINT64_C(1) << 43) - 7, UINT64_C(1) << 47};

	(void)state;
	for (size_t k = 0; k < LENGTH(starts); k++) {
		unsigned count = 0;

		set_two(share, MILLION - 1000 - (uint32_t)k, 1000 + (uint32_t)k);
		atomic_fetch_add(&share->ticket, starts[k]);
		for (int i = 0; i < 10000; i++)
			count += share_draw(share) == 1;
		assert_in_range(count, 10, 11);
	}
}

static void test_hashes_move_to_the_one_that_grows(void **state)
{
	_free_ struct share *share = memory_allocate(sizeof(*share));
	_free_ uint8_t *was = memory_allocate(10000);
	unsigned before = 0, after = 0;

	(void)state;
	set_two(share, 90, 10);
	for (uint64_t i = 0; i < 10000; i++) {
		was[i] = share_of_hash(share, i * UINT64_C(0x9e3779b97f4a7c15)) == 1;
		before += was[i];
	}
	set_two(share, 80, 20);
	for (uint64_t i = 0; i < 10000; i++) {
		bool is = share_of_hash(share, i * UINT64_C(0x9e3779b97f4a7c15)) == 1;

		assert_true(is || !was[i]);
		after += is;
	}
	assert_in_range(before, 900, 1100);
	assert_in_range(after, 1800, 2200);
}

/* ---- threads ---- */

#define THREADS 4
#define DRAWS 25000

struct drawing {
	pthread_t thread;
	struct share *share;
	uint32_t counts[2];
	uint32_t none;
	atomic_bool *stop;
	uint64_t draws;
};

static void *draw_many(void *context)
{
	struct drawing *drawing = context;

	for (int i = 0; i < DRAWS; i++) {
		uint32_t route = share_draw(drawing->share);

		if (route < 2)
			drawing->counts[route]++;
		else
			drawing->none++;
	}
	return NULL;
}

static void test_threads_divide_one_sequence(void **state)
{
	static const uint32_t weights[] = {0, 1000, 10000, 100000, 500000, MILLION};

	(void)state;
	for (size_t k = 0; k < LENGTH(weights); k++) {
		_free_ struct share *share = memory_allocate(sizeof(*share));
		struct drawing drawings[THREADS] = {0};
		uint64_t count = 0;

		set_two(share, MILLION - weights[k], weights[k]);
		for (size_t i = 0; i < THREADS; i++) {
			drawings[i].share = share;
			assert_int_equal(pthread_create(&drawings[i].thread, NULL, draw_many,
						 &drawings[i]),
				0);
		}
		for (size_t i = 0; i < THREADS; i++) {
			pthread_join(drawings[i].thread, NULL);
			assert_int_equal(drawings[i].none, 0);
			count += drawings[i].counts[1];
		}
		assert_int_equal(count, (uint64_t)THREADS * DRAWS * weights[k] / MILLION);
	}
}

static void *draw_until_reported(void *context)
{
	struct drawing *drawing = context;

	while (!atomic_load(drawing->stop)) {
		uint32_t route = share_draw(drawing->share);

		/* Keys come in pairs: even ones have everything, odd ones nothing. A mixture of two
		 * tables would let an odd one through. */
		if (route == SHARE_NONE || route % 2 == 1)
			drawing->none++;
		drawing->draws++;
	}
	return NULL;
}

static void test_a_draw_never_mixes_two_tables(void **state)
{
	_free_ struct share *share = memory_allocate(sizeof(*share));
	struct drawing drawings[THREADS] = {0};
	const struct share_route tables[][2] = {
		{{0, 100}, {1, 0}},
		{{3, 0}, {2, 100}},
		{{4, MILLION}, {5, 0}},
	};
	atomic_bool stop = false;

	(void)state;
	share_set(share, tables[0], 2);
	for (size_t i = 0; i < THREADS; i++) {
		drawings[i].share = share;
		drawings[i].stop = &stop;
		assert_int_equal(pthread_create(&drawings[i].thread, NULL, draw_until_reported,
					 &drawings[i]),
			0);
	}
	for (int i = 0; i < 20000; i++)
		share_set(share, tables[i % LENGTH(tables)], 2);
	atomic_store(&stop, true);
	for (size_t i = 0; i < THREADS; i++) {
		pthread_join(drawings[i].thread, NULL);
		assert_int_equal(drawings[i].none, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_window_is_exact),
		cmocka_unit_test(test_larger_share_goes_first),
		cmocka_unit_test(test_no_weight_no_route),
		cmocka_unit_test(test_many_routes_are_off_by_one_at_most),
		cmocka_unit_test(test_changes_do_not_starve_a_small_share),
		cmocka_unit_test(test_setting_the_same_changes_nothing),
		cmocka_unit_test(test_numbers_beyond_32_bits),
		cmocka_unit_test(test_hashes_move_to_the_one_that_grows),
		cmocka_unit_test(test_threads_divide_one_sequence),
		cmocka_unit_test(test_a_draw_never_mixes_two_tables),
	};

	return cmocka_run_group_tests_name("proxy/share", tests, NULL, NULL);
}
