/* Scenarios of deployments on virtual time, about the order of calls and what clients can reach at every moment. Those of
 * both variants run with task sets and with a second service. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "sim/pipeline/pipeline_simulation.h"

#define CANARY(services_, names_)                                                                  \
	{                                                                                          \
		.course = {.is_canary = true, .has_services = (services_), .has_names = (names_)}, \
		.desired = 2, .scale = 50, .percent = 33                                           \
	}
#define BLUE_GREEN(services_, names_)                                                              \
	{                                                                                          \
		.course = {.has_services = (services_), .has_names = (names_)}, .desired = 2,      \
		.scale = 100, .percent = 100                                                       \
	}

static struct pipeline_scenario_result play(struct pipeline_scenario scenario, const char *state)
{
	struct pipeline_scenario_result result;
	struct err err = {0};

	if (pipeline_simulation_play(&scenario, &result, &err) < 0)
		fail_msg("%s; calls: %s; moments: %s", err.message, result.calls, result.moments);
	if (strcmp(result.state, state) != 0)
		fail_msg("%s (%s) instead of %s; calls: %s", result.state, result.reason, state,
			result.calls);
	return result;
}

static unsigned count(const char *text, const char *part)
{
	unsigned found = 0;

	while ((text = strstr(text, part))) {
		found++;
		text += strlen(part);
	}
	return found;
}

/* The last of the first is before the first of the second; both are there. */
static void assert_before(const char *text, const char *first, const char *second)
{
	const char *at = strstr(text, first), *next;

	while (at && (next = strstr(at + 1, first)))
		at = next;
	if (!at || !strstr(text, second) || at > strstr(text, second))
		fail_msg("not '%s' before '%s': %s", first, second, text);
}

static void assert_begins(const char *text, const char *beginning)
{
	if (strncmp(text, beginning, strlen(beginning)) != 0)
		fail_msg("'%s' does not begin with '%s'", text, beginning);
}

static void assert_ends(const char *text, const char *end)
{
	if (strlen(text) < strlen(end) || strcmp(text + strlen(text) - strlen(end), end) != 0)
		fail_msg("'%s' does not end with '%s'", text, end);
}

/* ---- quick sync ---- */

static void test_quick_sync(void **state) /* scenarios 10 and 11 */
{
	struct pipeline_scenario scenario = CANARY(false, true);
	struct pipeline_scenario_result result;

	(void)state;
	scenario.stages = "";
	result = play(scenario, "SUCCESS");
	assert_before(result.calls, "CreateTaskSet p", "DeregisterInstance t");
	assert_before(result.calls, "DeregisterInstance t", "DeleteTaskSet t");
	assert_begins(result.moments, "t2; ");
	assert_ends(result.moments, "; p2");
	pipeline_scenario_result_free(&result);
	scenario.is_first = true;
	result = play(scenario, "SUCCESS");
	assert_string_equal(result.calls, "RegisterTaskDefinition, CreateService, CreateTaskSet t, "
					  "UpdateServicePrimaryTaskSet t");
	pipeline_scenario_result_free(&result);
}

static void test_recreation(void **state) /* scenario 12 */
{
	struct pipeline_scenario scenario = CANARY(false, false);
	struct pipeline_scenario_result result;

	(void)state;
	scenario.stages = "{'name':'ECS_SYNC','with':{'recreate':true}}";
	scenario.allows_interruption = true;
	result = play(scenario, "SUCCESS");
	assert_begins(result.calls,
		"RegisterTaskDefinition, UpdateService, CreateTaskSet p, UpdateService, ");
	pipeline_scenario_result_free(&result);
}

/* ---- canary ---- */

static void test_canary_by_names(void **state) /* scenarios 16, 17 and 19, both variants */
{
	(void)state;
	for (unsigned services = 0; services < 2; services++) {
		struct pipeline_scenario scenario = CANARY(services, true);
		struct pipeline_scenario_result result = play(scenario, "SUCCESS");

		/* The canary gets no traffic before the stage that routes some to it. */
		assert_begins(result.moments, "t2; t2c1; ");
		assert_ends(result.moments, "; p2");
		assert_non_null(strstr(result.moments, "c1p2; "));
		assert_null(strstr(result.moments, "c2"));
		pipeline_scenario_result_free(&result);
	}
}

static void test_canary_registered_by_ecs(void **state) /* scenario 17, canaryRegistration ECS */
{
	(void)state;
	for (unsigned services = 0; services < 2; services++) {
		struct pipeline_scenario scenario = CANARY(services, true);
		struct pipeline_scenario_result result;

		scenario.is_canary_registered_by_ecs = true;
		result = play(scenario, "SUCCESS");
		/* It leaks for a moment, and is deregistered before the stage ends. */
		assert_begins(result.moments, "t2; t2c1; t2; t2c1; ");
		assert_ends(result.moments, "; p2");
		pipeline_scenario_result_free(&result);
	}
}

static void test_preview(void *
		*state) /* the canary has a name of its own before it gets traffic, both variants */
{
	(void)state;
	for (unsigned services = 0; services < 2; services++) {
		struct pipeline_scenario scenario = CANARY(services, true);
		struct pipeline_scenario_result result;

		scenario.has_preview = true;
		result = play(scenario, "SUCCESS");
		assert_begins(result.moments, "t2; t2c1; ");
		assert_ends(result.moments, "; p2");
		assert_int_equal(result.most_previewed, 1);
		pipeline_scenario_result_free(&result);
	}
}

static void test_at_least_one_task(void **state) /* scenario 19 */
{
	struct pipeline_scenario scenario = CANARY(false, true);
	struct pipeline_scenario_result result;

	(void)state;
	scenario.percent = 1;
	result = play(scenario, "SUCCESS");
	assert_begins(result.moments, "t2; t2c1; ");
	pipeline_scenario_result_free(&result);
}

static void test_register_before_deregister(void **state) /* scenario 20, both variants */
{
	(void)state;
	for (unsigned services = 0; services < 2; services++) {
		struct pipeline_scenario scenario = CANARY(services, true);
		struct pipeline_scenario_result result;

		scenario.desired = 3;
		scenario.scale = 100;
		scenario.percent = 75;
		result = play(scenario, "SUCCESS");
		assert_before(result.calls, "RegisterInstance c", "DeregisterInstance t");
		assert_begins(result.moments, "t3; t3c1; t3c2; t3c3; t2c3; t1c3; ");
		pipeline_scenario_result_free(&result);
	}
}

static void test_two_rollouts(void **state) /* scenario 22, both variants */
{
	(void)state;
	for (unsigned services = 0; services < 2; services++) {
		struct pipeline_scenario scenario = CANARY(services, true);
		struct pipeline_scenario_result result;

		scenario.stages = "{'name':'ECS_CANARY_ROLLOUT','with':{'scale':50}},"
				  "{'name':'ECS_CANARY_ROLLOUT','with':{'scale':100}},"
				  "{'name':'ECS_PRIMARY_ROLLOUT'},{'name':'ECS_CANARY_CLEAN'}";
		result = play(scenario, "SUCCESS");
		assert_int_equal(count(result.calls,
					 services ? "CreateService c" : "CreateTaskSet c"),
			1);
		assert_int_equal(count(result.calls,
					 services ? "UpdateService c" : "UpdateTaskSet c"),
			1);
		pipeline_scenario_result_free(&result);
	}
}

static void test_canary_survives_the_primary(void **state) /* scenario 25 */
{
	struct pipeline_scenario scenario = CANARY(false, false);
	struct pipeline_scenario_result result;

	(void)state;
	scenario.percent = 100;
	result = play(scenario, "SUCCESS");
	assert_before(result.calls, "UpdateServicePrimaryTaskSet p", "DeleteTaskSet c");
	assert_string_equal(result.moments, "100/0; 0/100; 100/0");
	pipeline_scenario_result_free(&result);
}

/* ---- blue/green ---- */

static void test_blue_green_by_names(void **state) /* scenario 27, both variants */
{
	(void)state;
	for (unsigned services = 0; services < 2; services++) {
		struct pipeline_scenario scenario = BLUE_GREEN(services, true);
		struct pipeline_scenario_result result = play(scenario, "SUCCESS");

		assert_begins(result.moments, "t2; t2c1; t2c2; t1c2; c2; ");
		assert_ends(result.moments, "; p2");
		if (!services)
			assert_before(result.calls, "CreateTaskSet p", "DeleteTaskSet t");
		pipeline_scenario_result_free(&result);
	}
}

/* ---- failures ---- */

static void test_unhealthy_canary(void **state) /* scenarios 30 and 42, both variants */
{
	(void)state;
	for (unsigned services = 0; services < 2; services++) {
		struct pipeline_scenario scenario = CANARY(services, true);
		struct pipeline_scenario_result result;

		scenario.is_broken = true;
		scenario.stages =
			"{'name':'ECS_CANARY_ROLLOUT','timeout':'30s','with':{'scale':50}}";
		result = play(scenario, "FAILURE");
		assert_non_null(strstr(result.reason, "Timed out while executing stage stage-"));
		assert_string_equal(result.moments, "t2");
		assert_ends(result.calls, services ? "DeleteService c" : "DeleteTaskSet c");
		pipeline_scenario_result_free(&result);
	}
}

static void test_rollback_after_routing(void **state) /* scenarios 31 and 32, both variants */
{
	(void)state;
	for (unsigned number = 0; number < 4; number++) {
		struct pipeline_scenario scenario = CANARY(number & 1, number & 2);
		struct pipeline_scenario_result result;

		scenario.course.fails_at = 2;
		result = play(scenario, "FAILURE");
		/* The old tasks were never stopped: nothing was started for them. */
		assert_null(strstr(result.calls, "CreateTaskSet t"));
		assert_null(strstr(result.calls, "UpdateService,"));
		assert_string_equal(result.moments,
			scenario.course.has_names ? "t2; t2c1; t2" : "100/0; 67/33; 100/0");
		pipeline_scenario_result_free(&result);
	}
}

static void test_rollback_after_the_cut_over(void **state) /* scenario 33, both variants */
{
	(void)state;
	for (unsigned services = 0; services < 2; services++) {
		struct pipeline_scenario scenario = BLUE_GREEN(services, true);
		struct pipeline_scenario_result result;

		scenario.course.fails_at = 2;
		result = play(scenario, "FAILURE");
		assert_before(result.calls, "RegisterInstance t", "DeregisterInstance c");
		assert_ends(result.moments, "; c2; t1c2; t2c2; t2c1; t2");
		pipeline_scenario_result_free(&result);
	}
}

static void test_rollback_with_an_empty_primary_group(void **state) /* scenario 35, both variants */
{
	(void)state;
	for (unsigned services = 0; services < 2; services++) {
		struct pipeline_scenario scenario = BLUE_GREEN(services, false);
		struct pipeline_scenario_result result;

		/* I1 is broken by a weight for a group without healthy targets. */
		scenario.course.fails_at = 2;
		scenario.sick_for_ms = 90000;
		result = play(scenario, "FAILURE");
		assert_string_equal(result.moments, "100/0; 0/100; 100/0");
		pipeline_scenario_result_free(&result);
	}
}

static void test_first_deployment_fails(void **state) /* scenario 36 */
{
	(void)state;
	for (unsigned services = 0; services < 2; services++) {
		struct pipeline_scenario scenario = CANARY(services, true);
		struct pipeline_scenario_result result;

		scenario.is_first = scenario.is_broken = true;
		scenario.stages = "";
		result = play(scenario, "FAILURE");
		assert_ends(result.reason, "first deployment, nothing to roll back to");
		assert_ends(result.calls, "DeleteService");
		pipeline_scenario_result_free(&result);
	}
}

static void test_rollback_fails(void **state) /* scenario 38 */
{
	struct pipeline_scenario scenario = CANARY(false, true);
	struct pipeline_scenario_result result;

	(void)state;
	scenario.course.fails_at = 3;
	scenario.refused = "UpdateServicePrimaryTaskSet";
	scenario.refused_times = 1;
	result = play(scenario, "FAILURE");
	assert_non_null(strstr(result.reason, "the rollback failed: UpdateServicePrimaryTaskSet"));
	pipeline_scenario_result_free(&result);
	scenario.retries_rollback = true;
	result = play(scenario, "FAILURE");
	assert_ends(result.moments, "; t2");
	assert_int_equal(count(result.calls, "CreateTaskSet t"), 1);
	pipeline_scenario_result_free(&result);
}

static void test_cancel(void **state) /* scenario 39, both variants */
{
	(void)state;
	for (unsigned number = 0; number < 4; number++) {
		struct pipeline_scenario scenario = CANARY(number & 1, true);
		struct pipeline_scenario_result result;

		scenario.stages = "{'name':'ECS_CANARY_ROLLOUT','with':{'scale':50}},"
				  "{'name':'ECS_TRAFFIC_ROUTING','with':{'canary':33}},"
				  "{'name':'WAIT','with':{'duration':'1h'}}";
		scenario.cancels_after_ms = 120000;
		scenario.rolls_back = number & 2;
		result = play(scenario, "CANCELLED");
		assert_string_equal(result.moments,
			scenario.rolls_back ? "t2; t2c1; t2" : "t2; t2c1");
		if (!scenario.rolls_back)
			assert_ends(result.calls, "RegisterInstance c");
		pipeline_scenario_result_free(&result);
	}
}

static void test_scaled_by_others(void *
		*state) /* a desired count that others change is respected, both variants */
{
	(void)state;
	for (unsigned number = 0; number < 4; number++) {
		struct pipeline_scenario scenario = CANARY(number & 1, true);
		struct pipeline_scenario_result result;

		scenario.course.fails_at = number & 2 ? 3 : 0;
		scenario.scales_after_ms = 12000;
		scenario.scaled = 4;
		result = play(scenario, number & 2 ? "FAILURE" : "SUCCESS");
		assert_ends(result.moments, number & 2 ? "t4" : "p4");
		pipeline_scenario_result_free(&result);
	}
}

static void test_leftover_canary(void *
		*state) /* of a deployment that was cancelled without rollback, both variants */
{
	(void)state;
	for (unsigned number = 0; number < 4; number++) {
		struct pipeline_scenario scenario = CANARY(number & 1, number & 2);
		struct pipeline_scenario_result result;

		scenario.stages = "{'name':'ECS_CANARY_ROLLOUT','with':{'scale':50}},"
				  "{'name':'ECS_TRAFFIC_ROUTING','with':{'canary':33}},"
				  "{'name':'WAIT','with':{'duration':'1h'}}";
		scenario.cancels_after_ms = 120000;
		scenario.deploys_again = true;
		result = play(scenario, "SUCCESS");
		assert_int_equal(count(result.calls,
					 number & 1 ? "DeleteService c" : "DeleteTaskSet c"),
			2);
		pipeline_scenario_result_free(&result);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quick_sync),
		cmocka_unit_test(test_recreation),
		cmocka_unit_test(test_canary_by_names),
		cmocka_unit_test(test_canary_registered_by_ecs),
		cmocka_unit_test(test_preview),
		cmocka_unit_test(test_at_least_one_task),
		cmocka_unit_test(test_register_before_deregister),
		cmocka_unit_test(test_two_rollouts),
		cmocka_unit_test(test_canary_survives_the_primary),
		cmocka_unit_test(test_blue_green_by_names),
		cmocka_unit_test(test_unhealthy_canary),
		cmocka_unit_test(test_rollback_after_routing),
		cmocka_unit_test(test_rollback_after_the_cut_over),
		cmocka_unit_test(test_rollback_with_an_empty_primary_group),
		cmocka_unit_test(test_first_deployment_fails),
		cmocka_unit_test(test_rollback_fails),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_scaled_by_others),
		cmocka_unit_test(test_leftover_canary),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
