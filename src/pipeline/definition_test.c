/* Definition files as PipeCD reads them, and each way in which one is refused, with its line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/memory.h"
#include "pipeline/definition.h"

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

static struct task_file load_task(const char *text)
{
	struct task_file task;
	struct err err = {0};

	if (definition_load_task(SPAN("task.yaml"), span_of(text), arena, &task, &err) < 0)
		fail_msg("%s", err.message);
	return task;
}

static struct service_file load_service(const char *text)
{
	struct service_file service;
	struct err err = {0};

	if (definition_load_service(SPAN("service.yaml"), span_of(text), arena, &service, &err) < 0)
		fail_msg("%s", err.message);
	return service;
}

static void assert_task_refused(const char *text, const char *message)
{
	struct task_file task;
	struct err err = {0};

	assert_int_equal(definition_load_task(SPAN("task.yaml"), span_of(text), arena, &task, &err),
		-EINVAL);
	assert_string_equal(err.message, message);
}

static void assert_service_refused(const char *text, const char *message)
{
	struct service_file service;
	struct err err = {0};

	assert_int_equal(definition_load_service(SPAN("service.yaml"), span_of(text), arena,
				 &service, &err),
		-EINVAL);
	assert_string_equal(err.message, message);
}

static void assert_json(const struct json *value, const char *expected)
{
	assert_string_equal(json_to_text(value, arena).data, expected);
}

#define TASK "family: web\ncontainerDefinitions:\n  - {name: web, image: host}\n" /* three lines */
#define SERVICE "serviceName: web\n"

static void test_task(void **state)
{
	struct task_file task = load_task("Family: web\n"
					  "cpu: 256\n"
					  "memory: 512\n"
					  "pidMode: \"\"\n"
					  "ipcMode: null\n"
					  "tags: [{key: team, value: 7}]\n"
					  "revision: 3\n"
					  "status: ACTIVE\n"
					  "compatibilities: [EC2]\n"
					  "x-anchor: &env [{name: A, value: on}]\n"
					  "containerDefinitions:\n"
					  "  - Name: web\n"
					  "    image: nginx\n"
					  "    memory: 128\n"
					  "    Environment: *env\n"
					  "    dockerLabels: {Any: 1}\n");

	(void)state;
	assert_true(span_is(task.family, "web"));
	assert_int_equal(task.warnings.count, 0);
	assert_json(task.request,
		"{\"family\":\"web\",\"cpu\":\"256\",\"memory\":\"512\",\"tags\":[{\"key\":"
		"\"team\","
		"\"value\":\"7\"}],\"containerDefinitions\":[{\"name\":\"web\",\"image\":\"nginx\","
		"\"memory\":128,\"environment\":[{\"name\":\"A\",\"value\":\"true\"}],"
		"\"dockerLabels\":{\"Any\":\"1\"}}]}");
}

static void test_task_in_json(void **state)
{
	struct task_file task = load_task("{\"family\": \"web\", \"containerDefinitions\": "
					  "[{\"name\": \"a\", \"essential\": true}]}");

	(void)state;
	assert_json(task.request, "{\"family\":\"web\",\"containerDefinitions\":[{\"name\":\"a\","
				  "\"essential\":true}]}");
}

static void test_refused_tasks(void **state)
{
	(void)state;
	assert_task_refused(TASK "networkMod: awsvpc\n",
		"task.yaml:4: unknown key \"networkMod\"; did you mean \"networkMode\"?");
	assert_task_refused(TASK "    memory: much\n",
		"task.yaml: line 4, column 5: did not find expected '-' indicator");
	assert_task_refused("family: web\ncontainerDefinitions:\n  - name: a\n    memory: much\n",
		"task.yaml:4: containerDefinitions[0].memory: expected an integer, not a string");
	assert_task_refused(TASK "networkMode: awsvpx\n",
		"task.yaml:4: networkMode: unknown value \"awsvpx\"; did you mean \"awsvpc\"?");
	assert_task_refused("family: a\n", "task.yaml:1: containerDefinitions is missing or empty");
	assert_task_refused("containerDefinitions: [{name: a}]\n",
		"task.yaml:1: family is missing");
	assert_task_refused("[]\n", "task.yaml:1: expected a mapping, not an array");
}

static void test_unknown_key_far_from_any(void **state)
{
	struct task_file task = load_task(TASK "ownersOfThis: [a]\n");
	const struct field_note *warnings = task.warnings.items;

	(void)state;
	assert_int_equal(task.warnings.count, 1);
	assert_int_equal(warnings[0].line, 4);
	assert_string_equal(warnings[0].text.data,
		"key \"ownersOfThis\" is not part of the ECS API and has no effect");
}

static void test_service(void **state)
{
	struct service_file service =
		load_service("clusterArn: arn:aws:ecs:x:1:cluster/main\n"
			     "serviceName: web\n"
			     "desiredCount: 2\n"
			     "roleArn: arn:role\n"
			     "runningCount: 7\n"
			     "enableecsmanagedtags: true\n"
			     "deploymentController: {type: EXTERNAL}\n"
			     "loadBalancers: []\n"
			     "capacityProviderStrategy: [{capacityProvider: spot, weight: 1}]\n"
			     "serviceRegistries: [{registryArn: arn:registry}]\n");

	(void)state;
	assert_true(span_is(service.name, "web"));
	assert_true(span_is(service.cluster, "arn:aws:ecs:x:1:cluster/main"));
	assert_true(span_is(service.registry_arn, "arn:registry"));
	assert_true(service.is_external);
	assert_int_equal(service.desired_count, 2);
	assert_json(service.request,
		"{\"serviceName\":\"web\",\"desiredCount\":2,\"enableECSManagedTags\":true,"
		"\"deploymentController\":{\"type\":\"EXTERNAL\"},\"loadBalancers\":[],"
		"\"capacityProviderStrategy\":[{\"capacityProvider\":\"spot\",\"weight\":1}],"
		"\"serviceRegistries\":[{\"registryArn\":\"arn:registry\"}],"
		"\"cluster\":\"arn:aws:ecs:x:1:cluster/main\",\"role\":\"arn:role\"}");
}

static void test_service_without_count_and_controller(void **state)
{
	struct service_file service = load_service(SERVICE "cluster: main\ndesiredCount: 0\n");

	(void)state;
	assert_false(service.is_external);
	assert_int_equal(service.desired_count, DESIRED_COUNT_UNCHANGED);
	assert_true(span_is(service.cluster, "main"));
}

/* scenario 15: the controller is refused before any call */
static void test_refused_services(void **state)
{
	(void)state;
	assert_service_refused(SERVICE "deploymentController:\n  type: CODE_DEPLOY\n",
		"service.yaml:2: deployment controller CODE_DEPLOY is not supported (ECS or "
		"EXTERNAL)");
	assert_service_refused(SERVICE "loadBalancers: [{containerName: a}]\n",
		"service.yaml:2: loadBalancers belongs into spec.input.targetGroups of the "
		"application file");
	assert_service_refused(SERVICE "taskDefinition: web\n",
		"service.yaml:2: taskDefinition comes from spec.input.taskDefinitionFile of the "
		"application file");
	assert_service_refused("cluster: main\n", "service.yaml:1: serviceName is missing");
	assert_service_refused(SERVICE "desiredCount: -1\n",
		"service.yaml:2: desiredCount is negative");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_task),
		cmocka_unit_test(test_task_in_json),
		cmocka_unit_test(test_refused_tasks),
		cmocka_unit_test(test_unknown_key_far_from_any),
		cmocka_unit_test(test_service),
		cmocka_unit_test(test_service_without_count_and_controller),
		cmocka_unit_test(test_refused_services),
	};

	return cmocka_run_group_tests_name("definition", tests, setup, teardown);
}
