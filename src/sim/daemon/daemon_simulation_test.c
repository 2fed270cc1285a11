/* The simulation of daemon environments holds over many seeds, puts every property to the test, and repeats itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/sanitized.h"
#include "sim/daemon/daemon_simulation.h"

#define SEEDS (SANITIZED ? 15 : 100)
#define SEEDS_MAX 100
#define SEEDS_REPEATED 5
/* The full length is `slipway sim daemon --seed N --environments 500 --instances 200 --hours 24`. */
#define LONG_INSTANCES (SANITIZED ? 8 : 16)
#define LONG_HOURS 1
#define MANY_ENVIRONMENTS 40
#define MANY_INSTANCES (SANITIZED ? 4 : 16)

static char folder[64];

/* In memory if there is such a place: it is not the disk that is tested here. */
static int make_folder(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "%s/daemon-simulation-XXXXXX",
		access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	return rmdir(folder); /* empty, or the simulation left something behind */
}

static bool is_all_exercised(const struct daemon_simulation_result *sum)
{
	for (size_t i = 0; i < DAEMON_PROPERTY_COUNT; i++)
		if (sum->exercised[i] == 0)
			return false;
	return true;
}

/* One that was never put to the test proves nothing. */
static void require_exercised(const struct daemon_simulation_result *sum)
{
	for (size_t i = 0; i < DAEMON_PROPERTY_COUNT; i++) {
		print_message("# %s (%s): %" PRIu64 " times\n", daemon_property_names[i],
			daemon_property_meanings[i], sum->exercised[i]);
		if (sum->exercised[i] == 0)
			fail_msg("%s was never put to the test", daemon_property_names[i]);
	}
}

static void all_seeds_hold(void **state)
{
	struct daemon_simulation simulation = {.folder = folder};
	struct daemon_simulation_result sum = {0};

	(void)state;
	/* Few seeds may leave a rare property out: then more. */
	for (uint64_t seed = 1; seed <= SEEDS || (seed <= SEEDS_MAX && !is_all_exercised(&sum));
		seed++) {
		struct daemon_simulation_result result;
		struct err err = {0};

		if (daemon_simulation_run(seed, &simulation, &result, &err) < 0)
			fail_msg("%s", err.message);
		for (size_t i = 0; i < DAEMON_PROPERTY_COUNT; i++)
			sum.exercised[i] += result.exercised[i];
		sum.crashes += result.crashes;
		sum.pauses += result.pauses;
		sum.jumps += result.jumps;
		sum.failed_commits += result.failed_commits;
		sum.restarts += result.restarts;
		sum.repeats += result.repeats;
		sum.instance_changes += result.instance_changes;
		sum.task_deaths += result.task_deaths;
		sum.lost_calls += result.lost_calls;
		sum.late_calls += result.late_calls;
		sum.lost_events += result.lost_events;
		sum.unexpected_calls += result.unexpected_calls;
		sum.stale_reads += result.stale_reads;
		sum.malformed_events += result.malformed_events;
		sum.bursts += result.bursts;
		sum.silences += result.silences;
		sum.torn_commits += result.torn_commits;
	}
	print_message("# crashes %u, pauses %u, clocks set %u, failed commits %u, restarts %u, "
		      "repeats %u, "
		      "changes of "
		      "instances %u, deaths of tasks %u, lost calls %u, late calls %u, lost events "
		      "%u, unexpected calls %u, stale reads %u, malformed events %u, bursts %u, "
		      "silences %u, torn commits %u\n",
		sum.crashes, sum.pauses, sum.jumps, sum.failed_commits, sum.restarts, sum.repeats,
		sum.instance_changes, sum.task_deaths, sum.lost_calls, sum.late_calls,
		sum.lost_events, sum.unexpected_calls, sum.stale_reads, sum.malformed_events,
		sum.bursts, sum.silences, sum.torn_commits);
	assert_true(sum.crashes > 0 && sum.pauses > 0 && sum.jumps > 0 && sum.failed_commits > 0);
	assert_true(sum.restarts > 0 && sum.repeats > 0);
	assert_true(sum.instance_changes > 0 && sum.task_deaths > 0);
	assert_true(sum.lost_calls > 0);
	/* Rare ones are not in every few seeds. */
	assert_true(SANITIZED ||
		    (sum.late_calls > 0 && sum.unexpected_calls > 0 && sum.torn_commits > 0));
	assert_true(sum.stale_reads > 0);
	assert_true(sum.lost_events > 0 && sum.malformed_events > 0 && sum.bursts > 0);
	assert_true(sum.silences > 0);
	require_exercised(&sum);
}

/* The same seed is the same run. */
static void a_seed_repeats_itself(void **state)
{
	struct daemon_simulation simulation = {.folder = folder};

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS_REPEATED; seed++) {
		struct daemon_simulation_result first, second;

		assert_int_equal(daemon_simulation_run(seed, &simulation, &first, NULL), 0);
		assert_int_equal(daemon_simulation_run(seed, &simulation, &second, NULL), 0);
		assert_memory_equal(&first, &second, sizeof(first));
	}
}

/* Many environments on the same instances, local and remote. All of them exist in the end. */
static void test_84_many_environments(void **state)
{
	static const uint64_t seeds[] = {1, 2, 9}; /* clusters of the last one are remote */
	struct daemon_simulation simulation = {
		.folder = folder, .environments = MANY_ENVIRONMENTS, .instances = MANY_INSTANCES};

	(void)state;
	for (size_t i = 0; i < LENGTH(seeds); i++) {
		struct daemon_simulation_result result;
		struct err err = {0};

		if (daemon_simulation_run(seeds[i], &simulation, &result, &err) < 0)
			fail_msg("%s", err.message);
		print_message("# seed %" PRIu64 ": hash %016" PRIx64 ", %" PRIu64
			      " steps in %.0f virtual seconds\n",
			seeds[i], result.hash, result.steps, (double)result.virtual_us / 1e6);
		assert_int_equal(result.exercised[DAEMON_PROPERTY_L1], 1);
		/* Each was rolled out at least once. */
		assert_true(result.exercised[DAEMON_PROPERTY_S7] >= MANY_ENVIRONMENTS);
	}
}

/* A larger fleet for longer than stopped tasks are retained, local and remote; then a hundred full passes
 * without a call. Its errors can be reproduced. */
static void test_84_long_chaos(void **state)
{
	static const uint64_t seeds[] = {1, 3}; /* clusters of the second one are remote */
	struct daemon_simulation simulation = {
		.folder = folder, .instances = LONG_INSTANCES, .hours = LONG_HOURS};

	(void)state;
	for (size_t i = 0; i < LENGTH(seeds); i++) {
		struct daemon_simulation_result first, second;
		struct err err = {0};

		if (daemon_simulation_run(seeds[i], &simulation, &first, &err) < 0)
			fail_msg("%s", err.message);
		print_message("# seed %" PRIu64 ": hash %016" PRIx64 ", %" PRIu64
			      " steps in %.0f virtual seconds\n",
			seeds[i], first.hash, first.steps, (double)first.virtual_us / 1e6);
		assert_true(first.virtual_us > LONG_HOURS * INT64_C(3600000000));
		assert_int_equal(first.exercised[DAEMON_PROPERTY_L1], 1);
		assert_int_equal(daemon_simulation_run(seeds[i], &simulation, &second, NULL), 0);
		assert_int_equal(first.hash, second.hash);
		assert_memory_equal(&first, &second, sizeof(first));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_seed_repeats_itself),
		cmocka_unit_test(test_84_long_chaos),
		cmocka_unit_test(test_84_many_environments),
		cmocka_unit_test(all_seeds_hold),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
