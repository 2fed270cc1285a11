/*
 * Passes that take longer than the time between two of them (scenario 79), on virtual time: the real managers, stores and
 * ECS. Each remote call takes seconds, so that a listing takes longer than its period; meanwhile five passes are requested
 * at once, repeatedly, of one server or of five. The number of calls is that of one pass at a time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "environment/test_hosts.h"
#include "environment/test_remote.h"

#define INSTANCES 12
#define STEP_US (SECOND_US / 2)
#define PASSES 5
#define TAKES_US (3 * SECOND_US)

struct outcome {
	uint64_t starts, stops, passes;
	size_t running, tasks;
	char status[32];
};

/* So long, with so many more looks every half second. */
static void pass(struct test_remote *bench, int revision, int passes, int64_t duration_us,
	struct outcome *outcome)
{
	for (int64_t passed = 0; passed < duration_us; passed += STEP_US) {
		for (int i = 0; i < passes; i++)
			controller_add(manager_controller(bench->near->manager),
				TEST_REMOTE_ENVIRONMENT);
		outcome->running = test_remote_move(bench, revision, &outcome->tasks);
		test_manager_pass(bench->near, STEP_US);
	}
}

/* log:1 and then log:2 are rolled out. */
static struct outcome roll_out(int passes)
{
	struct test_remote *bench = test_remote_new(79, INSTANCES);
	struct controller_statistics statistics;
	struct outcome outcome = {0};
	char id[64];

	bench->takes_us = TAKES_US;
	test_remote_deploy(bench, 1, id);
	pass(bench, 1, passes, 120 * SECOND_US, &outcome);
	assert_string_equal(test_remote_status(bench, id), "completed");
	assert_int_equal(outcome.running, INSTANCES);
	test_remote_deploy(bench, 2, id);
	pass(bench, 2, passes, 600 * SECOND_US, &outcome);
	snprintf(outcome.status, sizeof(outcome.status), "%s", test_remote_status(bench, id));
	controller_statistics(manager_controller(bench->near->manager), &statistics);
	outcome.starts = bench->starts;
	outcome.stops = bench->stops;
	outcome.passes = statistics.reconciles;
	/* And then it is quiet. */
	pass(bench, 2, passes, 60 * SECOND_US, &outcome);
	assert_int_equal(bench->starts + bench->stops, outcome.starts + outcome.stops);
	test_remote_free(bench);
	return outcome;
}

static void test_79_five_looks_at_once_are_as_one(void **state)
{
	struct outcome one = roll_out(0), five = roll_out(PASSES);

	(void)state;
	print_message("%llu looks and %llu, %llu starts, %llu stops\n",
		(unsigned long long)one.passes, (unsigned long long)five.passes,
		(unsigned long long)five.starts, (unsigned long long)five.stops);
	/* They really looked more often. */
	assert_true(five.passes > 2 * one.passes);
	assert_int_equal(five.starts, one.starts);
	assert_int_equal(five.stops, one.stops);
	assert_int_equal(one.stops, INSTANCES);
	assert_int_equal(five.tasks, 2 * INSTANCES);
	assert_int_equal(one.tasks, 2 * INSTANCES);
	assert_int_equal(five.running, INSTANCES);
	assert_string_equal(five.status, "completed");
	assert_string_equal(one.status, "completed");
}

/* log:1 and log:2 by so many servers, each of which gets requests for passes repeatedly. How many tasks were started. */
static uint64_t roll_out_here(size_t servers)
{
	static const char *const names[PASSES] = {"one", "two", "three", "four", "five"};
	struct test_hosts *bench = test_hosts_new(79);
	char version[64], id[64];
	uint64_t starts;

	test_hosts_furnish(bench, INSTANCES);
	for (size_t i = 1; i < servers; i++)
		test_host_start(bench, i, names[i]);
	for (int revision = 1; revision <= 2; revision++) {
		test_hosts_declare(bench, revision, version);
		test_hosts_start(bench, version, id);
		for (int i = 0; i < 60; i++) {
			for (size_t j = 0; j < servers; j++)
				controller_add(manager_controller(bench->hosts[j].manager),
					SPAN(TEST_ENVIRONMENT));
			test_hosts_run(bench, SECOND_US / 4);
		}
		assert_string_equal(test_hosts_status(bench, id), "completed");
		assert_int_equal(test_hosts_running(bench, revision), INSTANCES);
		assert_int_equal(test_hosts_most_starts(bench, revision), 1);
	}
	test_hosts_ended(bench);
	starts = bench->starts;
	test_hosts_free(bench);
	return starts;
}

static void test_74_79_five_servers_are_as_one(void **state)
{
	(void)state;
	assert_int_equal(roll_out_here(1), 2 * INSTANCES);
	assert_int_equal(roll_out_here(PASSES), 2 * INSTANCES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_79_five_looks_at_once_are_as_one),
		cmocka_unit_test(test_74_79_five_servers_are_as_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
