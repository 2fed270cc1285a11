/* Due times and runs of Cron environments. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "environment/decide/cron_step.h"
#include "environment/test_decide.h"

#define MINUTE_MS INT64_C(60000)
#define RUN(name) ENVIRONMENT_RUN_##name

static struct store_object run_object(const struct environment_run_facts *facts)
{
	return (struct store_object){.kind = &environment_run_kind, .facts = facts};
}

/* ---- the run in progress ---- */

static const struct open_row {
	const char *name;
	enum environment_run_status status;
	enum environment_status environment;
	int64_t due_in_ms, intended_in_ms, until_in_ms; /* from now */
	enum cron_open_step step;
} open_rows[] = {
	{"a started run is followed", RUN(started), ENVIRONMENT_active, -MINUTE_MS, -MINUTE_MS, 0,
		CRON_OPEN_FOLLOW},
	{"also when the environment is being deleted", RUN(started), ENVIRONMENT_deleting,
		-MINUTE_MS, -MINUTE_MS, 0, CRON_OPEN_FOLLOW},
	{"an intended one is launched", RUN(intended), ENVIRONMENT_active, 0, 0, 0,
		CRON_OPEN_LAUNCH},
	{"again after the delay", RUN(intended), ENVIRONMENT_active, -3000, -3000, 0,
		CRON_OPEN_LAUNCH},
	{"not before", RUN(intended), ENVIRONMENT_active, -1000, -1000, 1000, CRON_OPEN_WAIT},
	{"a delay that is too long comes from a clock that was set back", RUN(intended),
		ENVIRONMENT_active, 0, 0, CRON_RETRY_MOST_MS + 1, CRON_OPEN_LAUNCH},
	{"a minute late it may still begin", RUN(intended), ENVIRONMENT_active, -MINUTE_MS,
		-MINUTE_MS, 0, CRON_OPEN_LAUNCH},
	{"later its outcome is looked up", RUN(intended), ENVIRONMENT_active, -MINUTE_MS - 1,
		-MINUTE_MS, 0, CRON_OPEN_RESOLVE},
	{"or when its token may have expired", RUN(intended), ENVIRONMENT_active, 0,
		-10 * MINUTE_MS, 0, CRON_OPEN_RESOLVE},
	{"or when the environment starts nothing any more", RUN(intended), ENVIRONMENT_deleting, 0,
		0, 0, CRON_OPEN_RESOLVE},
};

static void test_open_runs(void **state)
{
	struct test_decide test;

	(void)state;
	test_decide_begin(&test);
	test_decide_input(&test);
	for (size_t i = 0; i < LENGTH(open_rows); i++) {
		const struct open_row *row = &open_rows[i];
		const struct environment_run_facts facts = {.status = row->status,
			.due_ms = TEST_NOW_MS + row->due_in_ms,
			.intended_ms = TEST_NOW_MS + row->intended_in_ms,
			.until_ms = TEST_NOW_MS + row->until_in_ms};
		const struct store_object open = run_object(&facts);
		const struct cron_input input = {.observed = &test.input, .open = &open};
		enum cron_open_step step;

		test.facts.status = row->environment;
		step = cron_decide_open(&input);
		if (step != row->step)
			fail_msg("%s: step %d, expected %d", row->name, (int)step, (int)row->step);
	}
	test_decide_end(&test);
}

/* ECS answers that there is no room: another token each time, later each time, and in the end the run has failed. */
static void test_refusals(void **state)
{
	struct environment_run_facts run = {.status = RUN(intended), .due_ms = TEST_NOW_MS};
	int64_t now_ms = TEST_NOW_MS, before_ms = 0;
	int64_t attempts = 0;

	(void)state;
	while (run.status == RUN(intended)) {
		cron_refuse(&run, now_ms);
		assert_int_equal(run.attempt, ++attempts);
		assert_true(run.until_ms - now_ms >= before_ms);
		assert_true(run.until_ms - now_ms <= CRON_RETRY_MOST_MS);
		before_ms = run.until_ms - now_ms;
		if (run.status == RUN(intended))
			now_ms = run.until_ms;
	}
	assert_int_equal(run.status, RUN(failed));
	assert_int_equal(run.ended_ms, now_ms);
	assert_true(now_ms <= TEST_NOW_MS + CRON_LATE_MS);
	assert_true(attempts > 3);
}

static void test_repeated_calls(void **state)
{
	static const struct {
		int64_t since_ms, delay_ms;
	} rows[] = {{0, 2000}, {3000, 2000}, {10000, 5000}, {60000, CRON_RETRY_MOST_MS}};

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		const struct environment_run_facts run = {
			.intended_ms = TEST_NOW_MS - rows[i].since_ms};

		assert_int_equal(cron_repeat_ms(&run, TEST_NOW_MS) - TEST_NOW_MS, rows[i].delay_ms);
	}
}

static void test_runs_that_settle(void **state)
{
	const struct environment_run_facts run = {
		.due_ms = TEST_NOW_MS, .intended_ms = TEST_NOW_MS + 1000};
	static const struct {
		bool is_remote;
		int64_t settled_in_ms;
	} rows[] = {{false, 1000 + MINUTE_MS}, {true, 2 * MINUTE_MS + 5000}};

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		int64_t settled_ms, at_ms = TEST_NOW_MS + rows[i].settled_in_ms;

		assert_false(cron_is_settled(&run, rows[i].is_remote, at_ms - 1, &settled_ms));
		assert_int_equal(settled_ms, at_ms);
		assert_true(cron_is_settled(&run, rows[i].is_remote, at_ms, &settled_ms));
	}
}

/* ---- due times ---- */

static const struct due_row {
	const char *name;
	enum environment_status status;
	int64_t active_in_ms; /* since when it is active, from now; due each five minutes after that */
	bool is_open;         /* a run is in progress */
	bool is_due;
	int64_t due_in_ms; /* from now: of the run, or the next one */
	enum environment_run_status run;
	int64_t count;
	const char *api;
} due_rows[] = {
	{"the next due time", ENVIRONMENT_active, -MINUTE_MS, false, false, 4 * MINUTE_MS, 0, 0,
		""},
	{"due now", ENVIRONMENT_active, -5 * MINUTE_MS, false, true, 0, RUN(intended), 3, ""},
	{"a minute late", ENVIRONMENT_active, -6 * MINUTE_MS, false, true, -MINUTE_MS,
		RUN(intended), 3, ""},
	{"too late", ENVIRONMENT_active, -6 * MINUTE_MS - 1000, false, true, -MINUTE_MS - 1000,
		RUN(missed), 1, "{\"reason\":\"NOT_RUNNING: no server was running\"}"},
	{"three are too late: one record", ENVIRONMENT_active, -17 * MINUTE_MS, false, true,
		-12 * MINUTE_MS, RUN(missed), 3,
		"{\"reason\":\"NOT_RUNNING: no server was running\"}"},
	{"during another run", ENVIRONMENT_active, -5 * MINUTE_MS, true, true, 0, RUN(skipped), 0,
		"{\"reason\":\"STILL_RUNNING: the run of 1699999940\"}"},
	{"while it is deleted", ENVIRONMENT_deleting, -5 * MINUTE_MS, false, false, 0, 0, 0, ""},
};

static void check_due(const struct due_row *row)
{
	const struct environment_run_facts running = {
		.status = RUN(started), .due_ms = TEST_NOW_MS - MINUTE_MS};
	const struct store_object open = run_object(&running);
	struct cron_input input = {.open = row->is_open ? &open : NULL, .epoch = 7};
	struct test_decide test;
	struct cron_due due;
	struct err err = {0};

	test_decide_begin(&test);
	test.facts.type = ENVIRONMENT_TYPE_Cron;
	test.facts.status = row->status;
	test.facts.active_ms = TEST_NOW_MS + row->active_in_ms;
	test_decide_put_deployment(&test, "d1",
		(struct environment_deployment_facts){.status = ENVIRONMENT_DEPLOYMENT_completed,
			.started_ms = TEST_NOW_MS - MINUTE_MS},
		"");
	test.target.api = SPAN("{\"deploymentConfiguration\":{\"schedule\":\"rate(5 minutes)\","
			       "\"desiredCount\":3}}");
	input.observed = test_decide_input(&test);
	if (cron_decide_due(&input, &due, &err) < 0)
		fail_msg("%s: %s", row->name, err.message);
	if (due.is_due != row->is_due)
		fail_msg("%s: due: %d", row->name, due.is_due);
	if (row->due_in_ms && due.next_ms != TEST_NOW_MS + row->due_in_ms)
		fail_msg("%s: next in %lld ms", row->name, (long long)(due.next_ms - TEST_NOW_MS));
	if (due.is_due &&
		(due.run.status != row->run || due.run.count != row->count ||
			due.run.due_ms != TEST_NOW_MS + row->due_in_ms || due.run.epoch != 7 ||
			!span_is(due.run.deployment, "d1") || !span_is(due.run.version, "v1")))
		fail_msg("%s: run of status %d, count %lld, due in %lld ms, of %.*s", row->name,
			(int)due.run.status, (long long)due.run.count,
			(long long)(due.run.due_ms - TEST_NOW_MS), SPAN_ARGS(due.run.deployment));
	if (!span_is(due.api, row->api))
		fail_msg("%s: text %.*s", row->name, SPAN_ARGS(due.api));
	test_decide_end(&test);
}

static void test_due_times(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(due_rows); i++)
		check_due(&due_rows[i]);
}

static void test_a_schedule_that_cannot_be_read(void **state)
{
	struct cron_input input = {.open = NULL};
	struct test_decide test;
	struct cron_due due;
	struct err err = {0};

	(void)state;
	test_decide_begin(&test);
	test.target.api = SPAN("{\"deploymentConfiguration\":{}}");
	input.observed = test_decide_input(&test);
	assert_int_equal(cron_decide_due(&input, &due, &err), -EINVAL);
	assert_string_equal(err.message, "the version has no schedule");
	test_decide_end(&test);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_open_runs),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_repeated_calls),
		cmocka_unit_test(test_runs_that_settle),
		cmocka_unit_test(test_due_times),
		cmocka_unit_test(test_a_schedule_that_cannot_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
