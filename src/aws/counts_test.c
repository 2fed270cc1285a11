#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <string.h>

#include "aws/counts.h"
#include "base/memory.h"

/* More kinds of result than a row has places for. */
static const char *const results[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l",
	"m", "n", "o", "p", "q", "r", "s", "t", "u", "v", "w", "x", "y", "z"};

struct sum {
	uint64_t calls, others, first;
	double seconds;
	size_t results;
};

static void add_up(void *context, const char *result, uint64_t calls, double seconds)
{
	struct sum *sum = context;

	sum->results++;
	sum->calls += calls;
	sum->seconds += seconds;
	if (strcmp(result, "other") == 0)
		sum->others = calls;
	if (strcmp(result, "a") == 0)
		sum->first = calls;
}

#define ROUNDS 1000

static void *count_often(void *context)
{
	for (int round = 0; round < ROUNDS; round++) {
		for (size_t i = 0; i < LENGTH(results); i++)
			aws_counts_add(context, 1, results[i], 1000);
	}
	return NULL;
}

static void nothing_is_lost_between_threads(void **state)
{
	struct aws_counts *counts = aws_counts_new(3);
	pthread_t threads[4];
	struct sum sum = {0};

	(void)state;
	for (size_t i = 0; i < LENGTH(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, count_often, counts), 0);
	for (size_t i = 0; i < LENGTH(threads); i++)
		pthread_join(threads[i], NULL);
	aws_counts_each(counts, 1, add_up, &sum);
	assert_int_equal(sum.calls, LENGTH(threads) * ROUNDS * LENGTH(results));
	assert_true(sum.seconds > sum.calls * 0.00099 && sum.seconds < sum.calls * 0.00101);
	assert_true(sum.results < LENGTH(results));
	/* A result with a place has all of its calls there. */
	assert_true(sum.first == LENGTH(threads) * ROUNDS || sum.first == 0);
	assert_int_equal(sum.others % (LENGTH(threads) * ROUNDS), 0);
	assert_true(sum.others > 0);

	sum = (struct sum){0};
	aws_counts_each(counts, 0, add_up, &sum);
	aws_counts_each(counts, 2, add_up, &sum);
	assert_int_equal(sum.results, 0);
	aws_counts_free(counts);
}

static void equal_names_are_one_result(void **state)
{
	struct aws_counts *counts = aws_counts_new(1);
	char copy[] = "ServerException";
	struct sum sum = {0};

	(void)state;
	aws_counts_add(counts, 0, "ServerException", 5);
	aws_counts_add(counts, 0, copy, -5); /* a clock that went back counts as nothing */
	aws_counts_each(counts, 0, add_up, &sum);
	assert_int_equal(sum.results, 1);
	assert_int_equal(sum.calls, 2);
	aws_counts_free(counts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_lost_between_threads),
		cmocka_unit_test(equal_names_are_one_result),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
