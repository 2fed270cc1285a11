/*
 * Whole applications as PipeCD's documentation and examples have them, one of each kind for ECS, written anew: application
 * file, task definition and service definition load together, as `bundle_load` reads them from Git.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/memory.h"
#include "pipeline/bundle.h"

#define GROUP(name)                                                                                \
	"        targetGroupArn: "                                                                 \
	"arn:aws:elasticloadbalancing:ap-northeast-1:111122223333:targetgroup/" name "/0123\n"     \
	"        containerName: web\n"                                                             \
	"        containerPort: 80\n"
#define HEAD(name)                                                                                 \
	"apiVersion: pipecd.dev/v1beta1\nkind: ECSApp\nspec:\n  name: " name                       \
	"\n  labels:\n    env: example\n    team: shop\n"
#define INPUT                                                                                      \
	"  input:\n    serviceDefinitionFile: servicedef.yaml\n"                                   \
	"    taskDefinitionFile: taskdef.yaml\n"
#define BALANCED INPUT "    targetGroups:\n      primary:\n" GROUP("blue")
#define PAIR BALANCED "      canary:\n" GROUP("green")

static const char task[] = "family: nginx-shop\n"
			   "executionRoleArn: arn:aws:iam::111122223333:role/ecsTaskExecutionRole\n"
			   "containerDefinitions:\n"
			   "  - command: null\n"
			   "    cpu: 100\n"
			   "    image: 111122223333.dkr.ecr.ap-northeast-1.amazonaws.com/nginx:1\n"
			   "    memory: 100\n"
			   "    mountPoints: []\n"
			   "    name: web\n"
			   "    portMappings:\n"
			   "      - containerPort: 80\n"
			   "requiresCompatibilities:\n"
			   "  - FARGATE\n"
			   "networkMode: awsvpc\n"
			   "memory: 512\n"
			   "cpu: 256\n"
			   "pidMode: \"\"\n"
			   "volumes: []\n";

static const char service[] = "cluster: arn:aws:ecs:ap-northeast-1:111122223333:cluster/shop\n"
			      "serviceName: nginx\n"
			      "desiredCount: 2\n"
			      "role: arn:aws:iam::111122223333:role/ecsTaskExecutionRole\n"
			      "deploymentConfiguration:\n"
			      "  maximumPercent: 200\n"
			      "  minimumHealthyPercent: 0\n"
			      "schedulingStrategy: REPLICA\n"
			      "deploymentController:\n"
			      "  type: EXTERNAL\n"
			      "enableECSManagedTags: true\n"
			      "propagateTags: SERVICE\n"
			      "launchType: FARGATE\n"
			      "networkConfiguration:\n"
			      "  awsvpcConfiguration:\n"
			      "    assignPublicIp: ENABLED\n"
			      "    securityGroups: [sg-1]\n"
			      "    subnets: [subnet-1, subnet-2]\n";

#define REGISTRIES                                                                                 \
	"serviceRegistries:\n"                                                                     \
	"  - registryArn: "                                                                        \
	"arn:aws:servicediscovery:ap-northeast-1:111122223333:service/srv-1\n"

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

static struct bundle load(const char *application, const char *service_text)
{
	struct json *files = json_new_object(arena);
	struct bundle bundle;
	struct err err = {0};

	json_set_string(arena, files, "app.pipecd.yaml", span_of(application));
	json_set_string(arena, files, "taskdef.yaml", span_of(task));
	if (service_text)
		json_set_string(arena, files, "servicedef.yaml", span_of(service_text));
	if (bundle_load(files, SPAN("app.pipecd.yaml"), arena, &bundle, &err) < 0)
		fail_msg("%s", err.message);
	return bundle;
}

static void assert_kinds(const struct application *application, const char *expected)
{
	const struct stage *stages = application_stages(application);
	_buffer_ struct buffer kinds = {0};

	for (size_t i = 0; i < application->stages.count; i++)
		buffer_format(&kinds, "%s%s", i > 0 ? " " : "", stage_kind_name(stages[i].kind));
	assert_string_equal(kinds.data ? kinds.data : "", expected);
}

static void assert_deployable(const struct bundle *bundle)
{
	const struct application *application = bundle->application;

	if (application->undeployable.text.data)
		fail_msg("%s", application->undeployable.text.data);
	assert_true(span_is(json_get_text(bundle->task.request, "cpu"), "256"));
	assert_null(json_get(bundle->task.request, "pidMode"));
}

static void test_quick_sync(void **state)
{
	struct bundle bundle = load(HEAD("simple") BALANCED, service);

	(void)state;
	assert_deployable(&bundle);
	assert_kinds(bundle.application, "");
	assert_true(bundle.service.is_external);
	assert_int_equal(bundle.service.desired_count, 2);
}

static void test_canary(void **state)
{
	struct bundle bundle =
		load(HEAD("canary") PAIR "  pipeline:\n"
					 "    stages:\n"
					 "      # Half of them are new, and get nothing yet\n"
					 "      - name: ECS_CANARY_ROLLOUT\n"
					 "        with:\n"
					 "          scale: 10%\n"
					 "      - name: ECS_TRAFFIC_ROUTING\n"
					 "        with:\n"
					 "          canary: 20\n"
					 "      - name: WAIT\n"
					 "        with:\n"
					 "          duration: 150s\n"
					 "      - name: ECS_PRIMARY_ROLLOUT\n"
					 "      - name: ECS_TRAFFIC_ROUTING\n"
					 "        with:\n"
					 "          primary: 100\n"
					 "      - name: ECS_CANARY_CLEAN\n",
			service);
	const struct stage *stages = application_stages(bundle.application);

	(void)state;
	assert_deployable(&bundle);
	assert_kinds(bundle.application,
		"ECS_CANARY_ROLLOUT ECS_TRAFFIC_ROUTING WAIT ECS_PRIMARY_ROLLOUT "
		"ECS_TRAFFIC_ROUTING ECS_CANARY_CLEAN");
	assert_int_equal(stages[0].options.scale, 10);
	assert_int_equal(stages[2].options.duration_ms, 150000);
}

static void test_blue_green(void **state)
{
	struct bundle bundle = load(HEAD("bluegreen") PAIR "  pipeline:\n"
							   "    stages:\n"
							   "      - name: ECS_CANARY_ROLLOUT\n"
							   "        with:\n"
							   "          scale: 100\n"
							   "      - name: ECS_TRAFFIC_ROUTING\n"
							   "        with:\n"
							   "          canary: 100\n"
							   "      - name: WAIT_APPROVAL\n"
							   "        with:\n"
							   "          approvers:\n"
							   "            - ann\n"
							   "      - name: ECS_PRIMARY_ROLLOUT\n"
							   "      - name: ECS_TRAFFIC_ROUTING\n"
							   "        with:\n"
							   "          primary: 100\n"
							   "      - name: ECS_CANARY_CLEAN\n"
							   "  planner:\n"
							   "    alwaysUsePipeline: true\n"
							   "  trigger:\n"
							   "    onOutOfSync:\n"
							   "      disabled: false\n",
		service);

	(void)state;
	assert_deployable(&bundle);
	assert_true(bundle.application->always_use_pipeline);
	assert_true(bundle.application->trigger.on_out_of_sync);
	assert_int_equal(bundle.application->stages.count, 6);
}

static void test_rule_selector(void **state)
{
	struct bundle bundle = load(HEAD("selected") PAIR
		"    listenerRuleSelector:\n"
		"      listenerRuleArn: "
		"arn:aws:elasticloadbalancing:ap-northeast-1:1:listener-rule/"
		"app/shop/1/2/3\n",
		service);

	(void)state;
	assert_deployable(&bundle);
	assert_true(span_is(bundle.application->input.listener_rule_arn,
		"arn:aws:elasticloadbalancing:ap-northeast-1:1:listener-rule/app/shop/1/2/3"));
}

static void test_service_discovery(void **state)
{
	_buffer_ struct buffer text = {0};
	struct bundle bundle;

	(void)state;
	buffer_format(&text, "%s" REGISTRIES, service);
	bundle = load(HEAD("servicediscovery-simple") INPUT "    accessType: SERVICE_DISCOVERY\n",
		text.data);
	assert_deployable(&bundle);
	assert_int_equal(bundle.application->input.access, ACCESS_SERVICE_DISCOVERY);
	assert_true(span_is(bundle.service.registry_arn,
		"arn:aws:servicediscovery:ap-northeast-1:111122223333:service/srv-1"));
	/* Without a routing stage: PipeCD's canary gets traffic from ECS. */
	bundle = load(HEAD("servicediscovery-canary") INPUT "    accessType: SERVICE_DISCOVERY \n"
							    "  pipeline:\n"
							    "    stages:\n"
							    "      - name: ECS_CANARY_ROLLOUT\n"
							    "        with:\n"
							    "          scale: 100\n"
							    "      - name: WAIT\n"
							    "        with:\n"
							    "          duration: 150s\n"
							    "      - name: ECS_PRIMARY_ROLLOUT\n"
							    "      - name: ECS_CANARY_CLEAN\n",
		text.data);
	assert_deployable(&bundle);
	assert_kinds(bundle.application,
		"ECS_CANARY_ROLLOUT WAIT ECS_PRIMARY_ROLLOUT ECS_CANARY_CLEAN");
}

static void test_standalone_task(void **state)
{
	struct bundle bundle =
		load(HEAD("standalone") "  input:\n"
					"    taskDefinitionFile: taskdef.yaml\n"
					"    clusterArn: "
					"arn:aws:ecs:ap-northeast-1:111122223333:cluster/shop\n"
					"    launchType: FARGATE\n"
					"    awsvpcConfiguration:\n"
					"      assignPublicIp: ENABLED\n"
					"      subnets:\n"
					"        - subnet-1\n"
					"        - subnet-2\n"
					"      securityGroups:\n"
					"        - sg-1\n"
					"  description: |\n"
					"    A task without a service.\\\n"
					"    See the [documentation](https://example.com).\n",
			NULL);

	(void)state;
	assert_deployable(&bundle);
	assert_true(application_is_standalone(bundle.application));
	assert_false(bundle.has_service);
	assert_int_equal(bundle.application->input.subnets.count, 2);
}

/* Their secrets would be deployed as they stand in the file. */
static void test_encrypted_secrets(void **state)
{
	struct bundle bundle = load(HEAD("secrets") BALANCED "  encryption:\n"
							     "    encryptedSecrets:\n"
							     "      foo: {DATA}\n"
							     "    decryptionTargets:\n"
							     "      - servicedef.yaml\n",
		service);

	(void)state;
	assert_non_null(bundle.application->undeployable.text.data);
	bundle = load(HEAD("attachment") BALANCED "  attachment:\n"
						  "    sources:\n"
						  "      config: config.yaml\n"
						  "    targets:\n"
						  "      - taskdef.yaml\n",
		service);
	assert_non_null(bundle.application->undeployable.text.data);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_quick_sync, setup, teardown),
		cmocka_unit_test_setup_teardown(test_canary, setup, teardown),
		cmocka_unit_test_setup_teardown(test_blue_green, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rule_selector, setup, teardown),
		cmocka_unit_test_setup_teardown(test_service_discovery, setup, teardown),
		cmocka_unit_test_setup_teardown(test_standalone_task, setup, teardown),
		cmocka_unit_test_setup_teardown(test_encrypted_secrets, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
