/* The next step of the ECS service of a Service environment, and how far its deployment is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "environment/decide/service_step.h"
#include "environment/test_decide.h"

#define STATUS(name) ENVIRONMENT_DEPLOYMENT_##name
#define INTENT(name) ENVIRONMENT_INTENT_##name

static const struct row {
	const char *name;
	bool rolls; /* a deployment of a user is in progress, "d1" */
	/* How the service differs from one as wanted of which two of three tasks run. */
	bool is_absent, is_foreign, drains, runs_another, is_scaled, has_all;
	int rollout;
	const char *blocker;
	/* The last call: for this deployment, when the service had this ECS deployment; NULL: there was none. */
	const char *asked_for, *asked_at;
	bool is_refused;
	/* Expected. */
	bool needs_change, failed_before, is_rolling_out;
	bool is_over, has_failed;
	enum environment_deployment_status status;
	const char *reason, *failed;
	int64_t done;
} rows[] = {
	{.name = "no service yet",
		.rolls = true,
		.is_absent = true,
		.needs_change = true,
		.status = STATUS(in_progress)},
	{.name = "another task definition",
		.rolls = true,
		.runs_another = true,
		.needs_change = true,
		.is_rolling_out = true,
		.status = STATUS(in_progress)},
	{.name = "another desired count, during a deployment",
		.rolls = true,
		.is_scaled = true,
		.needs_change = true,
		.is_rolling_out = true,
		.status = STATUS(in_progress),
		.done = 2},
	{.name = "another desired count: a user has scaled it",
		.is_scaled = true,
		.rollout = SERVICE_ROLLOUT_COMPLETED,
		.status = STATUS(in_progress),
		.done = 2},
	{.name = "ECS rolls it out",
		.rolls = true,
		.rollout = SERVICE_ROLLOUT_IN_PROGRESS,
		.asked_for = "d1",
		.asked_at = "ecs-svc/1",
		.is_rolling_out = true,
		.status = STATUS(in_progress),
		.done = 2},
	{.name = "rolled out",
		.rolls = true,
		.rollout = SERVICE_ROLLOUT_COMPLETED,
		.has_all = true,
		.asked_for = "d1",
		.asked_at = "ecs-svc/1",
		.is_over = true,
		.status = STATUS(in_progress),
		.done = 3},
	{.name = "completed, but no place is found for a task more",
		.rolls = true,
		.rollout = SERVICE_ROLLOUT_COMPLETED,
		.has_all = true,
		.blocker = "PLACEMENT",
		.asked_for = "d1",
		.asked_at = "ecs-svc/1",
		.is_over = true,
		.status = STATUS(blocked),
		.reason = "PLACEMENT",
		.done = 3},
	{.name = "completed, but too few tasks run",
		.rolls = true,
		.rollout = SERVICE_ROLLOUT_COMPLETED,
		.asked_for = "d1",
		.asked_at = "ecs-svc/1",
		.status = STATUS(in_progress),
		.done = 2},
	{.name = "the rollout before has failed",
		.rolls = true,
		.rollout = SERVICE_ROLLOUT_FAILED,
		.asked_for = "d0",
		.asked_at = "ecs-svc/1",
		.needs_change = true,
		.failed_before = true,
		.status = STATUS(in_progress),
		.done = 2},
	{.name = "it failed before our call, which has not taken effect yet",
		.rolls = true,
		.rollout = SERVICE_ROLLOUT_FAILED,
		.asked_for = "d1",
		.asked_at = "ecs-svc/2",
		.needs_change = true,
		.failed_before = true,
		.status = STATUS(in_progress),
		.done = 2},
	{.name = "a service of this name that is not of the environment",
		.rolls = true,
		.is_foreign = true,
		.rollout = SERVICE_ROLLOUT_IN_PROGRESS,
		.status = STATUS(blocked),
		.reason = "SERVICE_NOT_OURS",
		.failed = "a service of this name exists that is not of this environment; it is "
			  "not changed"},
	{.name = "a service that is being deleted is not ours yet",
		.rolls = true,
		.drains = true,
		.rollout = SERVICE_ROLLOUT_COMPLETED,
		.status = STATUS(in_progress)},
	{.name = "the call was refused",
		.rolls = true,
		.is_absent = true,
		.asked_for = "d1",
		.asked_at = "",
		.is_refused = true,
		.needs_change = true,
		.status = STATUS(blocked),
		.reason = "REFUSED",
		.failed = "no such role"},
	{.name = "a refusal of an earlier deployment is not reported",
		.rolls = true,
		.is_absent = true,
		.asked_for = "d0",
		.asked_at = "",
		.is_refused = true,
		.needs_change = true,
		.status = STATUS(in_progress)},
	{.name = "ECS finds no place",
		.rolls = true,
		.blocker = "PLACEMENT",
		.asked_for = "d1",
		.asked_at = "ecs-svc/1",
		.is_rolling_out = true,
		.status = STATUS(blocked),
		.reason = "PLACEMENT",
		.done = 2},
};

static struct service_observed observed_of(const struct row *row)
{
	struct service_observed is = {.exists = !row->is_absent,
		.is_ours = !row->is_foreign,
		.drains = row->drains,
		.runs_it = !row->runs_another,
		.as_wanted = !row->runs_another && !row->is_scaled,
		.rollout = row->rollout,
		.deployment = SPAN("ecs-svc/2"),
		.deployment_arn = SPAN("arn:2"),
		.reported = SPAN(""),
		.desired = 3,
		.running = row->has_all ? 3 : 2,
		.updated = row->has_all ? 3 : 2,
		.blocker = row->blocker};

	return row->is_absent ? (struct service_observed){.reported = SPAN("")} : is;
}

static void check_failed(const struct test_decide *test, const struct row *row, struct span failed)
{
	struct span expected =
		row->failed ? deployment_failed(test->arena, SPAN("env-web"), span_of(row->failed))
			    : SPAN("");

	if (!span_equal(failed, expected))
		fail_msg("%s: failed %.*s", row->name, SPAN_ARGS(failed));
}

static void check(const struct row *row)
{
	struct test_decide test;
	struct deployment_memory memory = {0};
	struct deployment_progress progress;
	const struct environment_placement_facts placement = {
		.deployment = span_of(row->asked_for ? row->asked_for : ""),
		.task = span_of(row->asked_at ? row->asked_at : ""),
		.intent = INTENT(start),
		.until_ms = row->is_refused ? TEST_NOW_MS + 1000 : 0};
	struct service_state service = {.memory = &memory,
		.name = SPAN("web"),
		.cluster = cluster_ref_of(SPAN(TEST_CLUSTER)),
		.placement = row->asked_for ? &placement : NULL,
		.reported = row->is_refused ? SPAN("no such role") : SPAN(""),
		.is = observed_of(row)};

	test_decide_begin(&test);
	test.facts.in_progress = row->rolls ? SPAN("d1") : SPAN("");
	service.observed = test_decide_input(&test);
	test.input.rolls = row->rolls;
	service.wanted = json_new_object(test.arena);
	json_set_integer(test.arena, service.wanted, "desiredCount", 3);
	service_report_progress(&service, &progress);
	if (service_needs_change(&service) != row->needs_change)
		fail_msg("%s: needs a change: %d", row->name, !row->needs_change);
	if (service_failed_before(&service) != row->failed_before)
		fail_msg("%s: failed before: %d", row->name, !row->failed_before);
	if (service_is_rolling_out(&service) != row->is_rolling_out)
		fail_msg("%s: rolling out: %d", row->name, !row->is_rolling_out);
	if (progress.is_over != row->is_over || progress.has_failed != row->has_failed)
		fail_msg("%s: over: %d, failed: %d", row->name, progress.is_over,
			progress.has_failed);
	if (progress.status != row->status)
		fail_msg("%s: status %d", row->name, (int)progress.status);
	if (!span_is(progress.reason, row->reason ? row->reason : ""))
		fail_msg("%s: reason '%.*s'", row->name, SPAN_ARGS(progress.reason));
	if (progress.done != row->done || progress.total != 3)
		fail_msg("%s: %lld of %lld", row->name, (long long)progress.done,
			(long long)progress.total);
	check_failed(&test, row, progress.failed);
	test_decide_end(&test);
}

static void test_services(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++)
		check(&rows[i]);
}

static void test_rollouts_that_are_stopped(void **state)
{
	static const struct {
		const char *name;
		enum environment_deployment_status status;
		const char *reason;
		int64_t age_ms;
		bool must_halt;
	} table[] = {
		{"in progress", STATUS(in_progress), "", 59999, false},
		{"its time is over", STATUS(in_progress), "", 60000, true},
		{"stopped by a user", STATUS(to_be_stopped), "STOPPED_BY_USER", 1000, true},
		{"superseded: the rollout continues with the next version", STATUS(to_be_stopped),
			"SUPERSEDED", 1000, false},
	};
	struct test_decide test;

	(void)state;
	test_decide_begin(&test);
	test_decide_input(&test);
	for (size_t i = 0; i < LENGTH(table); i++) {
		struct deployment_memory memory = {0};
		const struct service_state service = {.memory = &memory, .observed = &test.input};
		const struct environment_deployment_facts deployment = {.status = table[i].status,
			.reason = span_of(table[i].reason),
			.started_ms = TEST_NOW_MS - table[i].age_ms};

		if (service_must_halt(&service, &deployment) != table[i].must_halt)
			fail_msg("%s: must halt: %d", table[i].name, !table[i].must_halt);
	}
	test_decide_end(&test);
}

/* The target of a deployment was unavailable when it ended: its rollout is stopped afterwards. */
static void test_leftover_rollouts(void **state)
{
	static const struct {
		const char *name;
		enum environment_deployment_status status;
		enum environment_intent intent;
		const char *in_progress, *pending;
		bool is_leftover;
	} table[] = {
		{"stopped", STATUS(stopped), INTENT(start), "", "", true},
		{"timed out", STATUS(timed_out), INTENT(start), "", "", true},
		{"completed", STATUS(completed), INTENT(start), "", "", false},
		{"stopped, and recorded", STATUS(stopped), INTENT(stop), "", "", false},
		{"another one is in progress", STATUS(stopped), INTENT(start), "d2", "", false},
		{"another one is pending", STATUS(stopped), INTENT(start), "", "d2", false},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(table); i++) {
		struct test_decide test;
		const struct environment_placement_facts placement = {
			.deployment = SPAN("d1"), .intent = table[i].intent};
		struct service_state service = {.placement = &placement};

		test_decide_begin(&test);
		test.facts.in_progress = span_of(table[i].in_progress);
		test.facts.pending = span_of(table[i].pending);
		test_decide_put_deployment(&test, "d1",
			(struct environment_deployment_facts){.status = table[i].status}, "");
		service.observed = test_decide_input(&test);
		if (service_has_leftover(&service) != table[i].is_leftover)
			fail_msg("%s: leftover: %d", table[i].name, !table[i].is_leftover);
		test_decide_end(&test);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_services),
		cmocka_unit_test(test_rollouts_that_are_stopped),
		cmocka_unit_test(test_leftover_rollouts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
