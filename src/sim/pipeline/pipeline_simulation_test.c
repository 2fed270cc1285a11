/* Deployments hold their invariants over many seeds, and a seed repeats itself. Scenario 40: a kill at any call. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/sanitized.h"
#include "sim/pipeline/pipeline_simulation.h"

#define SEEDS (SANITIZED ? 15 : 150)
#define SEEDS_MAX 150
#define SEEDS_REPEATED 5

static bool has_all_accidents(const struct pipeline_simulation_result *sum)
{
	return sum->crashes > 0 && sum->throttled > 0 && sum->failed > 0 && sum->lost > 0 &&
	       sum->unanswered > 0 && sum->late > 0 && sum->pending > 0 &&
	       sum->failed_operations > 0 && sum->partial > 0 && sum->task_deaths > 0 &&
	       sum->succeeded > 0 && sum->rolled_back > 0 && sum->cancelled > 0;
}

static void all_seeds_hold(void **state)
{
	struct pipeline_simulation_result sum = {0};

	(void)state;
	/* Few seeds may leave a rare accident out: then more. */
	for (uint64_t seed = 1; seed <= SEEDS || (seed <= SEEDS_MAX && !has_all_accidents(&sum));
		seed++) {
		struct pipeline_simulation simulation = {0};
		struct pipeline_simulation_result result;
		struct err err = {0};

		if (pipeline_simulation_run(seed, &simulation, &result, &err) < 0)
			fail_msg("%s", err.message);
		sum.calls += result.calls;
		sum.crashes += result.crashes;
		sum.throttled += result.throttled;
		sum.failed += result.failed;
		sum.lost += result.lost;
		sum.unanswered += result.unanswered;
		sum.late += result.late;
		sum.pending += result.pending;
		sum.failed_operations += result.failed_operations;
		sum.partial += result.partial;
		sum.task_deaths += result.task_deaths;
		sum.succeeded += result.succeeded;
		sum.rolled_back += result.rolled_back;
		sum.cancelled += result.cancelled;
	}
	print_message("# calls %u, crashes %u, throttled %u, failed %u, lost %u, unanswered %u, "
		      "late %u, "
		      "pending %u, failed operations %u, partial %u, task deaths %u; succeeded "
		      "%u, rolled back %u, cancelled %u\n",
		sum.calls, sum.crashes, sum.throttled, sum.failed, sum.lost, sum.unanswered,
		sum.late, sum.pending, sum.failed_operations, sum.partial, sum.task_deaths,
		sum.succeeded, sum.rolled_back, sum.cancelled);
	/* A simulation without accidents would prove nothing. */
	assert_true(has_all_accidents(&sum));
}

static void a_seed_repeats_itself(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS_REPEATED; seed++) {
		struct pipeline_simulation simulation = {0};
		struct pipeline_simulation_result first, second;

		assert_int_equal(pipeline_simulation_run(seed, &simulation, &first, NULL), 0);
		assert_int_equal(pipeline_simulation_run(seed, &simulation, &second, NULL), 0);
		assert_memory_equal(&first, &second, sizeof(first));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_seed_repeats_itself),
		cmocka_unit_test(all_seeds_hold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
