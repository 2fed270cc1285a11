/* The simulation of services holds over many seeds, and repeats itself. */
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
#include "ecs/simulation/service_simulation.h"

/* The sanitizers make everything several times slower. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SLOW 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SLOW 1
#endif
#endif
#ifdef SLOW
#define SEEDS 60
#else
#define SEEDS 1000
#endif
#define SEEDS_REPEATED 20

static char folder[64];

/* In memory if there is such a place: it is not the disk that is tested here. */
static int make_folder(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "%s/service-simulation-XXXXXX",
		access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	return rmdir(folder); /* empty, or the simulation left something behind */
}

static void all_seeds_hold(void **state)
{
	struct service_simulation simulation = {.folder = folder};
	struct service_simulation_result sum = {0};

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct service_simulation_result result;
		struct err err = {0};

		if (service_simulation_run(seed, &simulation, &result, &err) < 0)
			fail_msg("%s", err.message);
		sum.programs += result.programs;
		sum.requests += result.requests;
		sum.crashes += result.crashes;
		sum.pauses += result.pauses;
		sum.overflows += result.overflows;
		sum.failed_commits += result.failed_commits;
		sum.restarts += result.restarts;
		sum.lost_calls += result.lost_calls;
		sum.late_calls += result.late_calls;
		sum.lost_notices += result.lost_notices;
		sum.task_deaths += result.task_deaths;
		sum.instance_deaths += result.instance_deaths;
		sum.late_programs += result.late_programs;
	}
	print_message("# programs %llu, requests %u, crashes %u, pauses %u, overflows %u, failed "
		      "commits %u, restarts %u, lost calls %u, late calls %u, lost notices %u, "
		      "task "
		      "deaths %u, instance deaths %u, late programs %u\n",
		(unsigned long long)sum.programs, sum.requests, sum.crashes, sum.pauses,
		sum.overflows, sum.failed_commits, sum.restarts, sum.lost_calls, sum.late_calls,
		sum.lost_notices, sum.task_deaths, sum.instance_deaths, sum.late_programs);
	/* A simulation without accidents would prove nothing. */
	assert_true(sum.programs > 0 && sum.crashes > 0 && sum.pauses > 0);
	assert_true(sum.overflows > 0 && sum.failed_commits > 0 && sum.restarts > 0);
	assert_true(sum.lost_calls > 0 && sum.late_calls > 0 && sum.lost_notices > 0);
	assert_true(sum.task_deaths > 0 && sum.instance_deaths > 0);
}

static void a_seed_repeats_itself(void **state)
{
	struct service_simulation simulation = {.folder = folder};

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS_REPEATED; seed++) {
		struct service_simulation_result first, second;

		assert_int_equal(service_simulation_run(seed, &simulation, &first, NULL), 0);
		assert_int_equal(service_simulation_run(seed, &simulation, &second, NULL), 0);
		assert_memory_equal(&first, &second, sizeof(first));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_seed_repeats_itself),
		cmocka_unit_test(all_seeds_hold),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
