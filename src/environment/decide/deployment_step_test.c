/* The steps of deployments that all types of environments share. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "environment/decide/deployment_step.h"
#include "environment/test_decide.h"

#define FAILED "{\"failedInstances\":[{\"instance\":\"i1\",\"reason\":\"BACKOFF\"}]}"
#define STATUS(name) ENVIRONMENT_DEPLOYMENT_##name
#define MONITOR ENVIRONMENT_DEPLOYMENT_TYPE_health_repair

/* Of the deployment in progress, if any: 1 of 4 instances are done, of 60 seconds `age_ms` have passed. */
struct running {
	bool exists;
	enum environment_deployment_type type;
	enum environment_deployment_status status;
	const char *reason;
	int64_t age_ms;
};

static const struct row {
	const char *name;
	bool is_pending; /* a deployment of a user is */
	struct running running;
	struct deployment_progress progress;
	const char *cause;
	enum deployment_step_type own;
	bool is_unhealthy;  /* by its counts; it was healthy so far */
	bool rolls_back;    /* the version asks for it */
	int64_t written_ms; /* since the progress was written last */
	/* The step. */
	enum deployment_step_type type;
	enum environment_deployment_status status;
	const char *reason;
	int64_t again_in_ms; /* 0: never */
	bool is_rolled_back;
} rows[] = {
	{.name = "nothing to do", .type = DEPLOYMENT_STEP_NONE},
	{.name = "its counts became unhealthy",
		.is_unhealthy = true,
		.type = DEPLOYMENT_STEP_HEALTH},
	{.name = "a step of its type comes before its health",
		.own = DEPLOYMENT_STEP_MONITOR,
		.is_unhealthy = true,
		.type = DEPLOYMENT_STEP_MONITOR},
	{.name = "no step of its type while there is a cause",
		.own = DEPLOYMENT_STEP_MONITOR,
		.cause = "CLUSTER_STALE",
		.type = DEPLOYMENT_STEP_NONE},
	{.name = "a pending deployment begins", .is_pending = true, .type = DEPLOYMENT_STEP_BEGIN},
	{.name = "also while there is a cause",
		.is_pending = true,
		.cause = "CLUSTER_STALE",
		.type = DEPLOYMENT_STEP_BEGIN},
	{.name = "and supersedes that of a monitor",
		.is_pending = true,
		.running = {true, MONITOR, STATUS(in_progress), "", 1000},
		.type = DEPLOYMENT_STEP_BEGIN},
	{.name = "but waits for that of a user",
		.is_pending = true,
		.running = {true, .status = STATUS(in_progress), .age_ms = 1000},
		.progress = {.status = STATUS(in_progress), .done = 1, .total = 4},
		.type = DEPLOYMENT_STEP_NONE,
		.again_in_ms = 59000},
	{.name = "one that is to be stopped is stopped, for the same reason",
		.running = {true, .status = STATUS(to_be_stopped), .reason = "STOPPED_BY_USER",
			.age_ms = 1000},
		.type = DEPLOYMENT_STEP_STOPPED,
		.reason = "STOPPED_BY_USER"},
	{.name = "completed",
		.running = {true, .status = STATUS(in_progress), .age_ms = 1000},
		.progress = {.is_over = true, .done = 4, .total = 4},
		.type = DEPLOYMENT_STEP_MOVE,
		.status = STATUS(completed)},
	{.name = "before that, tasks are adopted",
		.running = {true, .status = STATUS(in_progress), .age_ms = 1000},
		.progress = {.is_over = true, .needs_adoption = true, .done = 4, .total = 4},
		.type = DEPLOYMENT_STEP_ADOPT},
	{.name = "completed in the last moment",
		.running = {true, .status = STATUS(in_progress), .age_ms = 60000},
		.progress = {.is_over = true, .done = 4, .total = 4},
		.type = DEPLOYMENT_STEP_MOVE,
		.status = STATUS(completed)},
	{.name = "blocked, with a reason",
		.running = {true, .status = STATUS(in_progress), .age_ms = 1000},
		.progress = {.status = STATUS(blocked), .reason = SPAN("PLACEMENT"), .total = 4},
		.type = DEPLOYMENT_STEP_MOVE,
		.status = STATUS(blocked),
		.reason = "PLACEMENT",
		.again_in_ms = 59000},
	{.name = "blocked as before",
		.running = {true, .status = STATUS(blocked), .reason = "PLACEMENT", .age_ms = 1000},
		.progress = {.status = STATUS(blocked),
			.reason = SPAN("PLACEMENT"),
			.done = 1,
			.total = 4},
		.type = DEPLOYMENT_STEP_NONE,
		.status = STATUS(blocked),
		.reason = "PLACEMENT",
		.again_in_ms = 59000},
	{.name = "blocked for another reason",
		.running = {true, .status = STATUS(blocked), .reason = "PLACEMENT", .age_ms = 1000},
		.progress = {.status = STATUS(blocked), .reason = SPAN("HANGS"), .total = 4},
		.type = DEPLOYMENT_STEP_MOVE,
		.status = STATUS(blocked),
		.reason = "HANGS",
		.again_in_ms = 59000},
	{.name = "a failed start is repeated: the status stays until its outcome is known",
		.running = {true, .status = STATUS(unhealthy), .reason = "BACKOFF", .age_ms = 1000},
		.progress =
			{.status = STATUS(in_progress), .is_repeated = true, .done = 1, .total = 4},
		.type = DEPLOYMENT_STEP_NONE,
		.status = STATUS(unhealthy),
		.reason = "BACKOFF",
		.again_in_ms = 59000},
	{.name = "more instances are done",
		.running = {true, .status = STATUS(in_progress), .age_ms = 1000},
		.progress = {.status = STATUS(in_progress), .done = 2, .total = 4},
		.written_ms = 500,
		.type = DEPLOYMENT_STEP_PROGRESS,
		.again_in_ms = 59000},
	{.name = "which is not written too often",
		.running = {true, .status = STATUS(in_progress), .age_ms = 1000},
		.progress = {.status = STATUS(in_progress), .done = 2, .total = 4},
		.written_ms = 100,
		.type = DEPLOYMENT_STEP_NONE,
		.again_in_ms = 400},
	{.name = "other instances have failed",
		.running = {true, .status = STATUS(in_progress), .age_ms = 1000},
		.progress =
			{.status = STATUS(in_progress), .done = 1, .total = 4, .failed = SPAN("")},
		.written_ms = 500,
		.type = DEPLOYMENT_STEP_PROGRESS,
		.again_in_ms = 59000},
	{.name = "the same instances have failed",
		.running = {true, .status = STATUS(in_progress), .age_ms = 1000},
		.progress = {.status = STATUS(in_progress),
			.done = 1,
			.total = 4,
			.failed = SPAN(FAILED)},
		.written_ms = 500,
		.type = DEPLOYMENT_STEP_NONE,
		.again_in_ms = 59000},
	{.name = "fewer instances are done: the reported number does not fall",
		.running = {true, .status = STATUS(in_progress), .age_ms = 1000},
		.progress = {.status = STATUS(in_progress), .done = 0, .total = 4},
		.written_ms = 500,
		.type = DEPLOYMENT_STEP_NONE,
		.again_in_ms = 59000},
	{.name = "a step of its type while nothing else is due",
		.running = {true, .status = STATUS(in_progress), .age_ms = 1000},
		.progress = {.status = STATUS(in_progress), .done = 1, .total = 4},
		.own = DEPLOYMENT_STEP_CANARY,
		.type = DEPLOYMENT_STEP_CANARY,
		.again_in_ms = 59000},
	{.name = "timed out, for the reason of the last moment",
		.running = {true, .status = STATUS(in_progress), .age_ms = 60000},
		.progress = {.status = STATUS(blocked), .reason = SPAN("PLACEMENT"), .total = 4},
		.type = DEPLOYMENT_STEP_MOVE,
		.status = STATUS(timed_out),
		.reason = "PLACEMENT"},
	{.name = "timed out, with what it waits for",
		.running = {true, .status = STATUS(in_progress), .age_ms = 60000},
		.progress = {.status = STATUS(in_progress),
			.waits_for = SPAN("STARTING"),
			.total = 4},
		.type = DEPLOYMENT_STEP_MOVE,
		.status = STATUS(timed_out),
		.reason = "STARTING"},
	{.name = "timed out without a reason",
		.running = {true, .status = STATUS(in_progress), .age_ms = 60000},
		.progress = {.status = STATUS(in_progress), .done = 3, .total = 4},
		.type = DEPLOYMENT_STEP_MOVE,
		.status = STATUS(timed_out),
		.reason = "TIME_OVER: 3 of 4 are as wanted"},
	{.name = "timed out, and rolled back",
		.running = {true, .status = STATUS(in_progress), .age_ms = 60000},
		.progress = {.status = STATUS(blocked), .reason = SPAN("PLACEMENT"), .total = 4},
		.rolls_back = true,
		.type = DEPLOYMENT_STEP_MOVE,
		.status = STATUS(timed_out),
		.reason = "PLACEMENT",
		.is_rolled_back = true},
	{.name = "that of a monitor is not rolled back",
		.running = {true, MONITOR, STATUS(in_progress), "", 60000},
		.progress = {.status = STATUS(blocked), .reason = SPAN("PLACEMENT"), .total = 4},
		.rolls_back = true,
		.type = DEPLOYMENT_STEP_MOVE,
		.status = STATUS(timed_out),
		.reason = "PLACEMENT"},
	{.name = "one that has failed ends at once",
		.running = {true, .status = STATUS(in_progress), .age_ms = 1000},
		.progress = {.has_failed = true,
			.status = STATUS(in_progress),
			.reason = SPAN("ROLLOUT_FAILED"),
			.total = 4},
		.rolls_back = true,
		.type = DEPLOYMENT_STEP_MOVE,
		.status = STATUS(timed_out),
		.reason = "ROLLOUT_FAILED",
		.is_rolled_back = true},
	{.name = "a cause blocks",
		.running = {true, .status = STATUS(in_progress), .age_ms = 1000},
		.cause = "CLUSTER_STALE",
		.type = DEPLOYMENT_STEP_MOVE,
		.status = STATUS(blocked),
		.reason = "CLUSTER_STALE",
		.again_in_ms = 59000},
	{.name = "the same cause is not written again",
		.running = {true, .status = STATUS(blocked), .reason = "CLUSTER_STALE",
			.age_ms = 1000},
		.cause = "CLUSTER_STALE",
		.type = DEPLOYMENT_STEP_NONE,
		.status = STATUS(blocked),
		.reason = "CLUSTER_STALE",
		.again_in_ms = 59000},
	{.name = "it times out with a cause, too",
		.running = {true, .status = STATUS(blocked), .reason = "CLUSTER_STALE",
			.age_ms = 60000},
		.cause = "CLUSTER_STALE",
		.rolls_back = true,
		.type = DEPLOYMENT_STEP_MOVE,
		.status = STATUS(timed_out),
		.reason = "CLUSTER_STALE",
		.is_rolled_back = true},
};

static void check(const struct row *row)
{
	struct test_decide test;
	struct deployment_memory memory = {.progress_ms = TEST_STEADY_MS - row->written_ms};
	struct deployment_step own = {.type = row->own}, step;
	struct deployment_input input = {.memory = &memory,
		.progress = row->cause ? NULL : &row->progress,
		.own = &own,
		.cause = span_of(row->cause ? row->cause : ""),
		.is_unhealthy = row->is_unhealthy};
	bool has_written_failed = row->progress.failed.data;

	test_decide_begin(&test);
	test.facts.pending = row->is_pending ? SPAN("d2") : SPAN("");
	test.facts.in_progress = row->running.exists ? SPAN("d1") : SPAN("");
	test.version.on_failure =
		row->rolls_back ? ENVIRONMENT_ON_FAILURE_rollback : ENVIRONMENT_ON_FAILURE_stop;
	if (row->running.exists)
		test_decide_put_deployment(&test, "d1",
			(struct environment_deployment_facts){.type = row->running.type,
				.status = row->running.status,
				.reason = span_of(row->running.reason ? row->running.reason : ""),
				.started_ms = TEST_NOW_MS - row->running.age_ms,
				.done = 1,
				.total = 4},
			has_written_failed ? FAILED : "");
	input.observed = test_decide_input(&test);
	deployment_decide(&input, &step);
	if (step.type != row->type)
		fail_msg("%s: step %d, expected %d", row->name, (int)step.type, (int)row->type);
	if (step.type == DEPLOYMENT_STEP_MOVE && step.status != row->status)
		fail_msg("%s: status %d, expected %d", row->name, (int)step.status,
			(int)row->status);
	if (!span_is(step.reason, row->reason ? row->reason : ""))
		fail_msg("%s: reason '%.*s'", row->name, SPAN_ARGS(step.reason));
	if (step.again_ms != (row->again_in_ms ? TEST_STEADY_MS + row->again_in_ms : 0))
		fail_msg("%s: again in %lld ms", row->name,
			(long long)(step.again_ms - TEST_STEADY_MS));
	if (step.rolls_back != row->is_rolled_back)
		fail_msg("%s: rolls back: %d", row->name, step.rolls_back);
	if (step.has_progress != !row->cause)
		fail_msg("%s: has progress: %d", row->name, step.has_progress);
	test_decide_end(&test);
}

static void test_steps(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++)
		check(&rows[i]);
}

/* The end of a deployment is computed once: a clock that is set back does not move it. */
static void test_the_end_does_not_move_with_the_clock(void **state)
{
	struct test_decide test;
	struct deployment_memory memory = {0};
	struct environment_deployment_facts deployment = {.started_ms = TEST_NOW_MS - 10000};
	int64_t ends_ms;

	(void)state;
	test_decide_begin(&test);
	test_decide_input(&test);
	ends_ms = deployment_ends_ms(&memory, &test.input, &deployment);
	assert_int_equal(ends_ms, TEST_STEADY_MS + 50000);
	test.input.now_ms -= 3600000;
	test.input.steady_ms += 1000;
	assert_int_equal(deployment_ends_ms(&memory, &test.input, &deployment), ends_ms);
	/* Another one begins. By a clock that is ahead, it began in the future: it has its whole time. */
	deployment.started_ms = TEST_NOW_MS;
	assert_int_equal(deployment_ends_ms(&memory, &test.input, &deployment),
		test.input.steady_ms + 60000);
	test_decide_end(&test);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_the_end_does_not_move_with_the_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
