/*
 * Runs of Cron environments on virtual time: the real manager, store and ECS, without programs. Servers come and go in
 * the middle of everything, and still each due time has one record and at most one task.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "environment/model/runs.h"
#include "environment/test_manager.h"

#define MINUTE_MS INT64_C(60000)
#define SEEDS 20

static struct test_manager *new_bench(uint64_t seed)
{
	struct test_manager *bench = test_manager_new(seed);
	char id[TEST_ID_SIZE];

	test_call(bench->server, "CreateCluster", "{'clusterName':'default'}");
	test_instance(bench->server, "default", 4096, 4096, "", id);
	test_call(bench->server, "RegisterTaskDefinition",
		"{'family':'tidy','containerDefinitions':[{'name':'a','image':'a','memory':16}]}");
	return bench;
}

static void make(struct test_manager *bench, const char *schedule, const char *more)
{
	char version[64];

	test_manager_ask(bench, "CreateEnvironment",
		"{'name':'tidy','environmentType':'Cron','taskDefinition':'tidy:1',"
		"'instanceGroup':{'cluster':'default'},'deploymentConfiguration':{'schedule':'%s'%"
		"s}}",
		schedule, more);
	snprintf(version, sizeof(version), "%s", test_text(bench->server, "environmentVersion"));
	test_manager_ask(bench, "StartDeployment", "{'name':'tidy','environmentVersion':'%s'}",
		version);
	test_manager_pass(bench, SECOND_US);
}

static void test_due_and_never_twice(void **state)
{
	struct test_manager *bench = new_bench(1);
	struct environment_run_facts runs[8];

	(void)state;
	make(bench, "cron(* * * * ? *)", ",'desiredCount':2");
	test_manager_pass(bench, 61 * SECOND_US);
	assert_int_equal(test_list_runs(bench->server, runs, LENGTH(runs)), 1);
	assert_int_equal(runs[0].status, ENVIRONMENT_RUN_started);
	assert_int_equal(runs[0].due_ms % MINUTE_MS, 0);
	assert_int_equal(test_count_tasks(bench->server), 2);
	/* It continues: the next one is skipped. */
	test_manager_pass(bench, 60 * SECOND_US);
	assert_int_equal(test_list_runs(bench->server, runs, LENGTH(runs)), 2);
	assert_int_equal(runs[1].status, ENVIRONMENT_RUN_skipped);
	assert_int_equal(runs[1].due_ms, runs[0].due_ms + MINUTE_MS);
	assert_int_equal(test_count_tasks(bench->server), 2);
	/* It ends, and has failed: the exit codes of its containers are not known. */
	test_end_tasks(bench->server);
	test_manager_pass(bench, 10 * SECOND_US);
	test_list_runs(bench->server, runs, LENGTH(runs));
	assert_int_equal(runs[0].status, ENVIRONMENT_RUN_failed);
	test_manager_pass(bench, 50 * SECOND_US);
	assert_int_equal(test_list_runs(bench->server, runs, LENGTH(runs)), 3);
	assert_int_equal(runs[2].status, ENVIRONMENT_RUN_started);
	assert_int_equal(test_count_tasks(bench->server), 4);
	test_manager_free(bench);
}

static void test_missed_while_no_server_ran(void **state)
{
	struct test_manager *bench = new_bench(2);
	struct environment_run_facts runs[8];
	const struct json *schedule;

	(void)state;
	make(bench, "rate(1 minute)", "");
	test_manager_stop(bench);
	test_manager_pass(bench, (10 * 60 + 30) * SECOND_US);
	test_manager_start(bench);
	test_manager_pass(bench, 40 * SECOND_US);
	/* Nine are too late; the tenth is not; and it runs while the eleventh is due. */
	assert_true(test_list_runs(bench->server, runs, LENGTH(runs)) >= 2);
	assert_int_equal(runs[0].status, ENVIRONMENT_RUN_missed);
	assert_true(runs[0].count >= 9 && runs[0].count <= 10);
	assert_int_equal(runs[0].last_ms, runs[0].due_ms + (runs[0].count - 1) * MINUTE_MS);
	assert_int_equal(runs[1].due_ms, runs[0].last_ms + MINUTE_MS);
	assert_int_equal(runs[1].status, ENVIRONMENT_RUN_started);
	assert_int_equal(test_count_tasks(bench->server), 1);
	schedule = json_get(test_manager_ask(bench, "GetEnvironment", "{'name':'tidy'}"),
		"scheduleState");
	assert_true(json_get_integer(schedule, "missedRuns", 0) >= runs[0].count);
	assert_true(json_count(json_get(schedule, "runs")) >= 2);
	test_manager_free(bench);
}

/* Due times at which it was inactive are not recorded. */
static void test_inactive_is_silent(void **state)
{
	struct test_manager *bench = new_bench(3);
	struct environment_run_facts runs[8];

	(void)state;
	make(bench, "rate(1 minute)", "");
	test_manager_ask(bench, "UpdateEnvironment", "{'name':'tidy','status':'inactive'}");
	test_manager_pass(bench, 10 * 60 * SECOND_US);
	assert_int_equal(test_list_runs(bench->server, runs, LENGTH(runs)), 0);
	test_manager_ask(bench, "UpdateEnvironment", "{'name':'tidy','status':'active'}");
	test_manager_pass(bench, 59 * SECOND_US);
	assert_int_equal(test_list_runs(bench->server, runs, LENGTH(runs)), 0);
	test_manager_pass(bench, 2 * SECOND_US);
	assert_int_equal(test_list_runs(bench->server, runs, LENGTH(runs)), 1);
	assert_int_equal(runs[0].status, ENVIRONMENT_RUN_started);
	test_manager_free(bench);
}

/* No room: it is tried again for a minute, then given up. */
static void test_refused_runs_are_given_up(void **state)
{
	struct test_manager *bench = new_bench(4);
	struct environment_run_facts runs[8];

	(void)state;
	test_call(bench->server, "RegisterTaskDefinition",
		"{'family':'tidy','containerDefinitions':[{'name':'a','image':'a','memory':5000}]"
		"}");
	test_manager_ask(bench, "CreateEnvironment",
		"{'name':'tidy','environmentType':'Cron','taskDefinition':'tidy:2',"
		"'instanceGroup':{'cluster':'default'},"
		"'deploymentConfiguration':{'schedule':'rate(5 minutes)'}}");
	test_manager_ask(bench, "StartDeployment", "{'name':'tidy','environmentVersion':'%s'}",
		arena_copy_span(bench->server->arena,
			span_of(test_text(bench->server, "environmentVersion")))
			.data);
	test_manager_pass(bench, (5 * 60 + 2) * SECOND_US);
	assert_int_equal(test_list_runs(bench->server, runs, LENGTH(runs)), 1);
	assert_int_equal(runs[0].status, ENVIRONMENT_RUN_intended);
	assert_true(runs[0].attempt > 0);
	test_manager_pass(bench, 70 * SECOND_US);
	assert_int_equal(test_list_runs(bench->server, runs, LENGTH(runs)), 1);
	assert_int_equal(runs[0].status, ENVIRONMENT_RUN_failed);
	assert_int_equal(test_count_tasks(bench->server), 0);
	test_manager_free(bench);
}

static void test_history_is_bounded(void **state)
{
	struct test_manager *bench = new_bench(5);
	static struct environment_run_facts runs[2 * CRON_RUNS_KEPT];

	(void)state;
	make(bench, "rate(1 minute)", "");
	for (int i = 0; i < CRON_RUNS_KEPT + 20; i++)
		test_manager_pass(bench, 60 * SECOND_US);
	assert_int_equal(test_list_runs(bench->server, runs, LENGTH(runs)), CRON_RUNS_KEPT);
	/* A run in progress is never dropped. */
	assert_int_equal(runs[0].status, ENVIRONMENT_RUN_started);
	assert_int_equal(test_count_tasks(bench->server), 1);
	test_manager_free(bench);
}

/* Servers that die at any moment: one record and at most one task for each due time. */
static void test_70_crashes_at_any_moment(void **state)
{
	size_t started = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct test_manager *bench = new_bench(seed);
		struct random *random = runner_random(bench->runner);
		static struct environment_run_facts runs[CRON_RUNS_KEPT];
		size_t count, begun = 0;

		make(bench, "rate(1 minute)", "");
		for (int i = 0; i < 40; i++) {
			test_manager_pass(bench, (int64_t)random_below(random, 40 * SECOND_US));
			test_manager_stop(bench);
			test_manager_pass(bench, (int64_t)random_below(random, 15 * SECOND_US));
			test_manager_start(bench);
			if (i % 2)
				test_end_tasks(bench->server);
		}
		test_manager_pass(bench, 120 * SECOND_US);
		count = test_list_runs(bench->server, runs, LENGTH(runs));
		assert_true(count > 10);
		for (size_t i = 0; i < count; i++) {
			int64_t before = i == 0 ? 0
					 : runs[i - 1].status == ENVIRONMENT_RUN_missed
						 ? runs[i - 1].last_ms
						 : runs[i - 1].due_ms;

			if (i > 0)
				assert_int_equal(runs[i].due_ms, before + MINUTE_MS);
			begun += runs[i].started_ms > 0;
		}
		assert_int_equal(test_count_tasks(bench->server), begun);
		started += begun;
		test_manager_free(bench);
	}
	assert_true(started > SEEDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_due_and_never_twice),
		cmocka_unit_test(test_missed_while_no_server_ran),
		cmocka_unit_test(test_inactive_is_silent),
		cmocka_unit_test(test_refused_runs_are_given_up),
		cmocka_unit_test(test_history_is_bounded),
		cmocka_unit_test(test_70_crashes_at_any_moment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
