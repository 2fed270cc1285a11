/* The simulation holds over many seeds, repeats itself, and finds every deliberate bug. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/sanitized.h"
#include "sim/toy/toy_simulation.h"

#define SEEDS (SANITIZED ? 60 : 300)
#define SEEDS_TO_FIND_A_BUG 200

static char folder[64];

/* In memory if there is such a place: it is not the disk that is tested here. */
static int make_folder(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "%s/toy-simulation-XXXXXX",
		access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	return rmdir(folder); /* empty, or the simulation left something behind */
}

static void test_all_seeds_hold(void **state)
{
	struct toy_simulation simulation = {.folder = folder};
	struct toy_simulation_result sum = {0};

	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct toy_simulation_result result;
		struct err err = {0};

		if (toy_simulation_run(seed, &simulation, &result, &err) < 0)
			fail_msg("%s", err.message);
		sum.crashes += result.crashes;
		sum.pauses += result.pauses;
		sum.lost_leases += result.lost_leases;
		sum.lost_claims += result.lost_claims;
		sum.overflows += result.overflows;
		sum.failed_commits += result.failed_commits;
		sum.restarts += result.restarts;
		sum.lost_answers += result.lost_answers;
		sum.duplicates += result.duplicates;
		sum.deaths += result.deaths;
		sum.refused_writes += result.refused_writes;
		sum.takeovers += result.takeovers;
	}
	print_message("# crashes %u, pauses %u, lost leases %u, lost claims %u, overflows %u, "
		      "failed commits %u, restarts %u, lost answers %u, duplicates %u, deaths %u, "
		      "refused writes %u, takeovers %u\n",
		sum.crashes, sum.pauses, sum.lost_leases, sum.lost_claims, sum.overflows,
		sum.failed_commits, sum.restarts, sum.lost_answers, sum.duplicates, sum.deaths,
		sum.refused_writes, sum.takeovers);
	/* A simulation without accidents would prove nothing. */
	assert_true(sum.crashes > 0 && sum.pauses > 0 && sum.lost_leases > 0);
	assert_true(sum.lost_claims > 0 && sum.overflows > 0 && sum.failed_commits > 0);
	assert_true(sum.restarts > 0 && sum.lost_answers > 0 && sum.duplicates > 0);
	assert_true(sum.deaths > 0 && sum.refused_writes > 0 && sum.takeovers > 0);
}

static void test_a_seed_repeats_itself(void **state)
{
	struct toy_simulation simulation = {.folder = folder};

	(void)state;
	for (uint64_t seed = 0; seed < SEEDS / 6; seed++) {
		struct toy_simulation_result first, second, other;

		assert_int_equal(toy_simulation_run(seed, &simulation, &first, NULL), 0);
		assert_int_equal(toy_simulation_run(seed, &simulation, &second, NULL), 0);
		assert_memory_equal(&first, &second, sizeof(first));
		assert_int_equal(toy_simulation_run(seed + 1, &simulation, &other, NULL), 0);
		assert_int_not_equal(first.hash, other.hash);
	}
}

static void test_a_trace_does_not_change_the_run(void **state)
{
	struct toy_simulation quiet = {0}, traced = {.trace_steps = true};
	struct toy_simulation_result first, second;
	char *text = NULL;
	size_t size = 0;

	(void)state;
	traced.trace = open_memstream(&text, &size);
	assert_non_null(traced.trace);
	assert_int_equal(toy_simulation_run(7, &quiet, &first, NULL), 0);
	assert_int_equal(toy_simulation_run(7, &traced, &second, NULL), 0);
	fclose(traced.trace);
	assert_int_equal(first.hash, second.hash);
	assert_non_null(strstr(text, "anna.1: boots"));
	assert_non_null(strstr(text, "the faults are over"));
	free(text);
}

/* Each bug is found, and a broken run is repeatable, too, so that it can be debugged. */
static void test_every_bug_is_found(void **state)
{
	(void)state;
	for (enum toy_bug bug = TOY_BUG_NONE + 1; bug < TOY_BUG_COUNT; bug++) {
		struct toy_simulation simulation = {.bug = bug};
		struct toy_simulation_result first, second;
		struct err err = {0}, again = {0};
		uint64_t seed;
		int code = 0;

		for (seed = 0; seed < SEEDS_TO_FIND_A_BUG && code == 0; seed++)
			code = toy_simulation_run(seed, &simulation, &first, &err);
		if (code != -EBADMSG)
			fail_msg("%s (%s) was not found in %d seeds: %d %s", toy_bug_names[bug],
				toy_bug_meanings[bug], SEEDS_TO_FIND_A_BUG, code, err.message);
		print_message("# %s: %s\n", toy_bug_names[bug], err.message);
		assert_int_equal(toy_simulation_run(seed - 1, &simulation, &second, &again),
			-EBADMSG);
		assert_string_equal(err.message, again.message);
		assert_int_equal(first.hash, second.hash);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_seeds_hold),
		cmocka_unit_test(test_a_seed_repeats_itself),
		cmocka_unit_test(test_a_trace_does_not_change_the_run),
		cmocka_unit_test(test_every_bug_is_found),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
