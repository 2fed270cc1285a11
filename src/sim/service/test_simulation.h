/*
 * The simulation of services over many seeds, for unit tests: the same rules hold whatever keeps the replicas.
 * Include it behind cmocka's header.
 */
#ifndef SIM_SERVICE_TEST_SIMULATION_H
#define SIM_SERVICE_TEST_SIMULATION_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/sanitized.h"
#include "sim/service/service_simulation.h"

#define SIMULATION_SEEDS (SANITIZED ? 60 : 1000)
#define SIMULATION_SEEDS_REPEATED 20

static char simulation_folder[64];

/* In memory if there is such a place: it is not the disk that is tested here. */
static inline int simulation_make_folder(void **state)
{
	(void)state;
	snprintf(simulation_folder, sizeof(simulation_folder), "%s/service-simulation-XXXXXX",
		access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp");
	return mkdtemp(simulation_folder) ? 0 : -1;
}

static inline int simulation_remove_folder(void **state)
{
	(void)state;
	return rmdir(simulation_folder); /* empty, or the simulation left something behind */
}

/* Every seed holds; what happened in all of them. */
static inline struct service_simulation_result simulation_run_seeds(bool groups)
{
	struct service_simulation simulation = {.folder = simulation_folder, .groups = groups};
	struct service_simulation_result sum = {0};

	for (uint64_t seed = 1; seed <= SIMULATION_SEEDS; seed++) {
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
		sum.group_deletions += result.group_deletions;
	}
	print_message("# programs %llu, requests %u, crashes %u, pauses %u, overflows %u, failed "
		      "commits %u, restarts %u, lost calls %u, late calls %u, lost notices %u, "
		      "task "
		      "deaths %u, instance deaths %u, late programs %u, group deletions %u\n",
		(unsigned long long)sum.programs, sum.requests, sum.crashes, sum.pauses,
		sum.overflows, sum.failed_commits, sum.restarts, sum.lost_calls, sum.late_calls,
		sum.lost_notices, sum.task_deaths, sum.instance_deaths, sum.late_programs,
		sum.group_deletions);
	/* A simulation without accidents would prove nothing. */
	assert_true(sum.programs > 0 && sum.crashes > 0 && sum.pauses > 0);
	assert_true(sum.overflows > 0 && sum.failed_commits > 0 && sum.restarts > 0);
	assert_true(sum.lost_calls > 0 && sum.late_calls > 0 && sum.lost_notices > 0);
	assert_true(sum.task_deaths > 0 && sum.instance_deaths > 0);
	return sum;
}

/* The same seed is the same run. */
static inline void simulation_repeat_seeds(bool groups)
{
	for (uint64_t seed = 1; seed <= SIMULATION_SEEDS_REPEATED; seed++) {
		struct service_simulation simulation = {
			.folder = simulation_folder, .groups = groups};
		struct service_simulation_result first, second;

		assert_int_equal(service_simulation_run(seed, &simulation, &first, NULL), 0);
		assert_int_equal(service_simulation_run(seed, &simulation, &second, NULL), 0);
		assert_memory_equal(&first, &second, sizeof(first));
	}
}

#endif
