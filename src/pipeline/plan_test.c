/* The planner: strategy, stages, shares, changes and refusals, by the numbers of the scenarios. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/memory.h"
#include "pipeline/difference.h"
#include "pipeline/plan.h"

static struct arena *arena;

static int setup(void **state)
{
	(void)state;
	arena = arena_new(0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	arena_free(arena);
	return 0;
}

/* ---- a service as the scenarios have it ---- */

#define HEAD                                                                                       \
	"apiVersion: pipecd.dev/v1beta1\nkind: ECSApp\nspec:\n"                                    \
	"  input:\n    serviceDefinitionFile: s\n    accessType: SERVICE_DISCOVERY\n"
#define CANARY                                                                                     \
	"  pipeline:\n    stages:\n"                                                               \
	"      - {name: ECS_CANARY_ROLLOUT, with: {scale: 50}}\n"                                  \
	"      - {id: route, name: ECS_TRAFFIC_ROUTING, with: {canary: 33}}\n"                     \
	"      - {name: ECS_PRIMARY_ROLLOUT}\n"                                                    \
	"      - {name: ECS_TRAFFIC_ROUTING, with: {primary: 100}}\n"                              \
	"      - {name: ECS_CANARY_CLEAN}\n"
#define EXTERNAL_SERVICE                                                                           \
	"serviceName: abc\ncluster: c1\ndesiredCount: 2\ndeploymentController: {type: EXTERNAL}\n" \
	"serviceRegistries: [{registryArn: srv-1}]\n"
#define TASK_V2 "family: abc\ncpu: 256\ncontainerDefinitions: [{name: web, image: \"abc:v2\"}]\n"
#define LIVE_TASK_V1                                                                               \
	"{\"family\":\"abc\",\"revision\":7,\"cpu\":\"256\",\"status\":\"ACTIVE\",\"volumes\":[]," \
	"\"containerDefinitions\":[{\"name\":\"web\",\"image\":\"abc:v1\",\"essential\":true,"     \
	"\"cpu\":0,\"environment\":[]}]}"
#define LIVE_SERVICE                                                                               \
	"{\"serviceName\":\"abc\",\"clusterArn\":\"arn:c1\",\"desiredCount\":2,\"status\":"        \
	"\"ACTIVE\",\"deploymentController\":{\"type\":\"EXTERNAL\"}}"

static const struct json *parse(const char *text)
{
	struct json *value;

	assert_int_equal(json_parse(span_of(text), arena, &value, NULL), 0);
	return value;
}

/* Texts of the files; NULL: as the service above has them. */
struct world {
	const char *application, *task, *service;
	bool is_new, two_services, foreign_canary; /* two_services: controller ECS */
	enum plan_strategy forced;
	const char *commit;
};

static struct plan plan_of(struct world world)
{
	struct application *application;
	struct task_file task;
	struct service_file service;
	struct live_service live = {0};
	struct err err = {0};
	struct plan plan;

	if (application_load(SPAN("app.yaml"), span_of(world.application), arena, &application,
		    &err) < 0 ||
		definition_load_task(SPAN("t"), span_of(world.task ? world.task : TASK_V2), arena,
			&task, &err) < 0 ||
		definition_load_service(SPAN("s"),
			span_of(world.service ? world.service : EXTERNAL_SERVICE), arena, &service,
			&err) < 0)
		fail_msg("%s", err.message);
	if (!world.is_new)
		live = (struct live_service){.exists = true,
			.is_external = !world.two_services,
			.desired_count = 2,
			.service = parse(LIVE_SERVICE),
			.definition = parse(LIVE_TASK_V1),
			.has_foreign_canary = world.foreign_canary};
	plan_make(
		&(struct plan_input){
			.application = application,
			.task = &task,
			.service = application_is_standalone(application) ? NULL : &service,
			.live = &live,
			.forced = world.forced,
			.commit_message = world.commit ? span_of(world.commit) : SPAN(""),
		},
		arena, &plan);
	return plan;
}

static void assert_stages(const struct plan *plan, const char *expected)
{
	const struct plan_stage *stages = plan->stages.items;
	_buffer_ struct buffer text = {0};

	for (size_t i = 0; i < plan->stages.count; i++)
		buffer_format(&text, "%s%s%s", i > 0 ? " " : "",
			stages[i].is_hidden ? "hidden:" : "", stage_kind_name(stages[i].kind));
	assert_string_equal(text.data ? text.data : "", expected);
}

static void assert_reason(const struct plan *plan, enum plan_strategy strategy, const char *reason)
{
	assert_int_equal(plan->strategy, strategy);
	assert_string_equal(plan->reason.data, reason);
}

static void assert_accepted(const struct plan *plan)
{
	if (plan->refusal.data)
		fail_msg("%s", plan->refusal.data);
}

static void assert_refused(struct world world, const char *reason)
{
	struct plan plan = plan_of(world);

	assert_non_null(plan.refusal.data);
	assert_string_equal(plan.refusal.data, reason);
}

#define PIPELINE_STAGES                                                                            \
	"ECS_CANARY_ROLLOUT ECS_TRAFFIC_ROUTING ECS_PRIMARY_ROLLOUT ECS_TRAFFIC_ROUTING "          \
	"ECS_CANARY_CLEAN hidden:ROLLBACK"

/* ---- strategy ---- */

/* scenario 1 */
static void test_first_deployment(void **state)
{
	struct plan plan = plan_of((struct world){.application = HEAD CANARY, .is_new = true});

	(void)state;
	assert_accepted(&plan);
	assert_reason(&plan, PLAN_QUICK_SYNC, "first deployment");
	assert_true(plan.is_first);
	assert_stages(&plan, "ECS_SYNC hidden:ROLLBACK");
}

/* scenario 2 */
static void test_no_pipeline(void **state)
{
	struct plan plan = plan_of((struct world){.application = HEAD});

	(void)state;
	assert_reason(&plan, PLAN_QUICK_SYNC, "no pipeline");
	assert_stages(&plan, "ECS_SYNC hidden:ROLLBACK");
}

/* scenario 3 */
static void test_image_change(void **state)
{
	struct plan plan = plan_of((struct world){.application = HEAD CANARY});

	(void)state;
	assert_accepted(&plan);
	assert_reason(&plan, PLAN_PIPELINE, "image of container web changes from abc:v1 to abc:v2");
	assert_stages(&plan, PIPELINE_STAGES);
}

/* scenario 4 */
static void test_no_image_change(void **state)
{
	static const char task[] = "family: abc\ncpu: 512\ncontainerDefinitions: [{name: web, "
				   "image: \"abc:v1\"}]\n";
	struct plan plan = plan_of((struct world){.application = HEAD CANARY, .task = task});
	const struct difference *changes = plan.changes.items;

	(void)state;
	assert_reason(&plan, PLAN_QUICK_SYNC, "no image changes");
	assert_int_equal(plan.changes.count, 1);
	assert_string_equal(changes[0].path.data, "cpu");
	assert_string_equal(json_to_text(changes[0].before, arena).data, "\"256\"");
	assert_string_equal(json_to_text(changes[0].after, arena).data, "\"512\"");
	plan = plan_of((struct world){
		.application = HEAD "  planner: {alwaysUsePipeline: true}\n" CANARY, .task = task});
	assert_reason(&plan, PLAN_PIPELINE, "alwaysUsePipeline is set");
}

static void test_commit_matcher(void **state)
{
	static const char application[] =
		HEAD "  commitMatcher: {quickSync: \"^fix:\", pipeline: \"^feat\"}\n" CANARY;
	struct plan plan =
		plan_of((struct world){.application = application, .commit = "fix: typo"});

	(void)state;
	assert_reason(&plan, PLAN_QUICK_SYNC, "the commit matches commitMatcher.quickSync");
	plan = plan_of((struct world){.application = application, .commit = "feat: more"});
	assert_reason(&plan, PLAN_PIPELINE, "the commit matches commitMatcher.pipeline");
	assert_refused((struct world){.application =
					      HEAD "  commitMatcher: {pipeline: \"(\"}\n" CANARY},
		"commitMatcher.pipeline is not a regular expression: missing ): (");
}

/* scenario 6 */
static void test_forced(void **state)
{
	struct plan plan =
		plan_of((struct world){.application = HEAD CANARY, .forced = PLAN_QUICK_SYNC});

	(void)state;
	assert_accepted(&plan);
	assert_stages(&plan, "ECS_SYNC hidden:ROLLBACK");
	assert_refused((struct world){.application = HEAD, .forced = PLAN_PIPELINE},
		"the application has no pipeline");
	assert_refused((struct world){.application = HEAD CANARY,
			       .is_new = true,
			       .forced = PLAN_PIPELINE},
		"first deployment: there is no primary to compare with; use quick sync");
}

/* scenario 37 */
static void test_without_rollback(void **state)
{
	struct plan plan = plan_of((struct world){.application = HEAD "    autoRollback: false\n"});

	(void)state;
	assert_stages(&plan, "ECS_SYNC");
}

static void test_standalone(void **state)
{
	static const char application[] = "apiVersion: pipecd.dev/v1beta1\nkind: ECSApp\nspec:\n  "
					  "input: {taskDefinitionFile: t}\n";
	struct plan plan = plan_of((struct world){.application = application, .is_new = true});

	(void)state;
	assert_accepted(&plan);
	assert_false(plan.is_first);
	assert_stages(&plan, "ECS_SYNC hidden:ROLLBACK");
}

/* ---- shares ---- */

#define ROUTE_TO(percent, scale, more)                                                             \
	HEAD more "  pipeline:\n    stages:\n"                                                     \
		  "      - {name: ECS_CANARY_ROLLOUT, with: {scale: " scale "}}\n"                 \
		  "      - {id: route, name: ECS_TRAFFIC_ROUTING, with: {canary: " percent "}}\n"  \
		  "      - {name: ECS_CANARY_CLEAN}\n"

/* scenario 9 */
static void test_reachable_share(void **state)
{
	struct plan plan = plan_of((struct world){.application = ROUTE_TO("10", "50", "")});
	const struct plan_stage *stages = plan.stages.items;

	(void)state;
	assert_accepted(&plan);
	assert_string_equal(stages[1].note.data,
		"wanted 10%, reachable 33.3% (2 primary + 1 canary)");
	assert_int_equal(plan.warnings.count, 1);
	assert_non_null(strstr(((const struct span *)plan.warnings.items)->data,
		"long-lived connections (gRPC"));
	assert_refused((struct world){.application = ROUTE_TO("10", "50",
					      "    serviceDiscovery: {tolerance: 5}\n")},
		"stage route: wanted 10%, reachable 33.3% (2 primary + 1 canary); the tolerance is "
		"5%");
	plan = plan_of((struct world){
		.application = ROUTE_TO("33", "50", "    serviceDiscovery: {tolerance: 5}\n")});
	assert_accepted(&plan);
}

/* scenario 29 */
static void test_capacity(void **state)
{
	struct plan plan = plan_of((struct world){.application = ROUTE_TO("100", "50", "")});
	const struct span *warnings = plan.warnings.items;

	(void)state;
	assert_accepted(&plan);
	assert_int_equal(plan.warnings.count, 1);
	assert_string_equal(warnings[0].data,
		"stage route: serving capacity falls to 1 of 2 tasks");
	assert_refused((struct world){.application = ROUTE_TO("100", "50",
					      "    serviceDiscovery: {capacityFloor: 100}\n")},
		"stage route: 1 of 2 tasks would serve, fewer than the capacity floor of 100%");
}

static void test_routing_without_a_canary(void **state)
{
	(void)state;
	assert_refused((struct world){.application = HEAD
				      "  pipeline:\n    stages:\n"
				      "      - {name: ECS_TRAFFIC_ROUTING, with: {canary: 10}}\n"},
		"stage stage-1 sends 10% to a canary that no stage before it started");
}

static void test_smaller_canary(void **state)
{
	(void)state;
	assert_refused((struct world){.application = HEAD
				      "  pipeline:\n    stages:\n"
				      "      - {name: ECS_CANARY_ROLLOUT, with: {scale: 50}}\n"
				      "      - {name: ECS_CANARY_ROLLOUT, with: {scale: 20}}\n"},
		"stage stage-2 makes the canary smaller: 20% after 50%");
}

/* ---- refusals ---- */

static void test_refusals(void **state)
{
	(void)state;
	assert_refused((struct world){.application = HEAD,
			       .service = "serviceName: abc\ndeploymentController: {type: "
					  "EXTERNAL}\n"},
		"accessType SERVICE_DISCOVERY needs serviceRegistries in the service definition");
	assert_refused((struct world){.application = HEAD,
			       .service =
				       "serviceName: abc\n"
				       "serviceRegistries: [{registryArn: a}, {registryArn: b}]\n"},
		"ECS accepts one service registry, and the service definition has 2");
	assert_refused((struct world){.application = HEAD,
			       .service = EXTERNAL_SERVICE "schedulingStrategy: DAEMON\n"},
		"ECS does not accept scheduling strategy DAEMON with controller EXTERNAL");
	assert_refused((struct world){.application = HEAD,
			       .service = "serviceName: abc\n"
					  "serviceRegistries: [{registryArn: a}]\n"},
		"service abc has deployment controller EXTERNAL, the service definition ECS; a "
		"controller cannot be changed");
	assert_refused((struct world){.application = HEAD "  encryption: {}\n"},
		"app.yaml:7: spec.encryption: encrypted secrets are not supported");
}

static void test_two_services(void **state)
{
	struct world world = {.application = HEAD CANARY,
		.two_services = true,
		.service = "serviceName: abc\nserviceRegistries: [{registryArn: a}]\n"};
	struct plan plan = plan_of(world);

	(void)state;
	assert_accepted(&plan);
	assert_stages(&plan, PIPELINE_STAGES);
	assert_int_equal(plan.warnings.count,
		2); /* AWS does not wait for the TTL; connections stay */
	world.application = HEAD "    keepOldPrimary: 5m\n" CANARY;
	plan = plan_of(world);
	assert_int_equal(plan.warnings.count, 3);
	world.foreign_canary = true;
	assert_refused(world, "service abc-canary exists and does not belong to this application");
}

/* ---- changes ---- */

static void test_changes(void **state)
{
	struct plan plan = plan_of((struct world){.application = HEAD,
		.task = "family: abc\ncpu: 256\ncontainerDefinitions:\n"
			"  - {name: web, image: \"abc:v1\", environment: [{name: A, value: b}]}\n"
			"  - {name: side, image: s}\n",
		.service = "serviceName: abc\ncluster: c1\ndesiredCount: 3\n"
			   "deploymentController: {type: EXTERNAL}\n"
			   "serviceRegistries: [{registryArn: srv-1}]\n"});
	const struct difference *changes = plan.changes.items;

	(void)state;
	assert_int_equal(plan.changes.count, 3);
	assert_string_equal(changes[0].path.data, "containerDefinitions[web].environment[A]");
	assert_null(changes[0].before);
	assert_string_equal(changes[1].path.data, "containerDefinitions[side]");
	assert_string_equal(changes[2].path.data, "desiredCount");
}

static void test_no_changes(void **state)
{
	struct plan plan = plan_of((struct world){.application = HEAD,
		.task = "family: abc\ncpu: 256\ncontainerDefinitions: [{name: web, image: "
			"\"abc:v1\"}]\n"});

	(void)state;
	assert_int_equal(plan.changes.count, 0);
}

static void test_removed_members(void **state)
{
	struct field_list list = {0};
	const struct difference *changes;

	(void)state;
	difference_find(parse("{\"a\":1,\"b\":[{\"name\":\"x\"},{\"name\":\"y\"}],\"c\":false}"),
		parse("{\"b\":[{\"name\":\"y\"}]}"), false, arena, &list);
	changes = list.items;
	assert_int_equal(list.count, 2);
	assert_string_equal(changes[0].path.data, "b[x]");
	assert_null(changes[0].after);
	assert_string_equal(changes[1].path.data, "a");
	list = (struct field_list){0};
	difference_find(parse("{\"a\":1}"), parse("{}"), true, arena, &list);
	assert_int_equal(list.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_deployment),
		cmocka_unit_test(test_no_pipeline),
		cmocka_unit_test(test_image_change),
		cmocka_unit_test(test_no_image_change),
		cmocka_unit_test(test_commit_matcher),
		cmocka_unit_test(test_forced),
		cmocka_unit_test(test_without_rollback),
		cmocka_unit_test(test_standalone),
		cmocka_unit_test(test_reachable_share),
		cmocka_unit_test(test_capacity),
		cmocka_unit_test(test_routing_without_a_canary),
		cmocka_unit_test(test_smaller_canary),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_two_services),
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_no_changes),
		cmocka_unit_test(test_removed_members),
	};

	return cmocka_run_group_tests_name("plan", tests, setup, teardown);
}
