/* A version that differs from the one before in its network alone is rolled out all the same; one that says the same in
 * other words, or only chooses other instances, replaces nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "environment/test_manager.h"

#define INSTANCES 3

static struct test_manager *new_bench(void)
{
	struct test_manager *bench = test_manager_new(1);
	char id[TEST_ID_SIZE];

	test_call(bench->server, "CreateCluster", "{'clusterName':'default'}");
	for (int i = 0; i < INSTANCES; i++)
		test_instance(bench->server, "default", 4096, 4096, "", id);
	test_call(bench->server, "RegisterTaskDefinition",
		"{'family':'log','networkMode':'awsvpc','containerDefinitions':[{'name':'a',"
		"'image':'a','memory':16}]}");
	return bench;
}

/* Tasks do what they shall, for a minute. */
static void let_run(struct test_manager *bench)
{
	for (int i = 0; i < 60; i++) {
		_arena_ struct arena *arena = arena_new(0);
		_view_ struct store_view *view = store_view_open(bench->server->store);
		struct store_cursor cursor = {
			.view = view, .kind = &task_kind, .index = -1, .prefix = TEST_TASKS};
		const struct store_object *task;

		while ((task = store_next(&cursor))) {
			const struct task_facts *facts = task_facts(task);
			bool wanted = facts->desired == TASK_RUNNING;
			char id[TEST_ID_SIZE];

			if (facts->last == (wanted ? TASK_RUNNING : TASK_STOPPED))
				continue;
			test_id_of(arena_copy_span(arena, task->key).data, id);
			test_call(bench->server, "SubmitTaskStateChange",
				"{'cluster':'default','task':'%s','status':'%s'}", id,
				wanted ? "RUNNING" : "STOPPED");
		}
		test_manager_pass(bench, SECOND_US);
	}
}

/* rest: the other members of the request. How many tasks there ever were when it is completed. */
static size_t deploy(struct test_manager *bench, const char *operation, const char *subnets,
	const char *rest)
{
	char version[64], id[64];

	test_manager_ask(bench, operation,
		"{'name':'log','taskDefinition':'log:1','instanceGroup':{'cluster':'default'},"
		"'networkConfiguration':{'awsvpcConfiguration':{'subnets':[%s]%s}}}",
		subnets, rest);
	snprintf(version, sizeof(version), "%s", test_text(bench->server, "environmentVersion"));
	test_manager_ask(bench, "StartDeployment", "{'name':'log','environmentVersion':'%s'}",
		version);
	snprintf(id, sizeof(id), "%s", test_text(bench->server, "deploymentId"));
	let_run(bench);
	test_manager_ask(bench, "GetDeployment", "{'name':'log','deploymentId':'%s'}", id);
	assert_string_equal(test_text(bench->server, "status"), "completed");
	return test_count_tasks(bench->server);
}

/* Of the tasks that run, those with a network interface in this subnet. */
static size_t count_in(struct test_manager *bench, const char *subnet)
{
	_view_ struct store_view *view = store_view_open(bench->server->store);
	struct store_cursor cursor = {
		.view = view, .kind = &task_kind, .index = -1, .prefix = TEST_TASKS};
	const struct store_object *task;
	size_t count = 0;

	while ((task = store_next(&cursor)))
		count += task_facts(task)->last == TASK_RUNNING &&
			 memmem(task->api.data, task->api.length, subnet, strlen(subnet)) != NULL;
	return count;
}

static void test_another_network_is_rolled_out(void **state)
{
	struct test_manager *bench = new_bench();

	(void)state;
	assert_int_equal(deploy(bench, "CreateEnvironment", "'subnet-1'", ""), INSTANCES);
	assert_int_equal(count_in(bench, "subnet-1"), INSTANCES);
	assert_int_equal(deploy(bench, "UpdateEnvironment", "'subnet-2'", ""), 2 * INSTANCES);
	assert_int_equal(count_in(bench, "subnet-1"), 0);
	assert_int_equal(count_in(bench, "subnet-2"), INSTANCES);
	assert_int_equal(deploy(bench, "UpdateEnvironment", "'subnet-2'",
				 ",'securityGroups':['sg-1','sg-2']"),
		3 * INSTANCES);
	test_manager_free(bench);
}

static void test_the_same_network_replaces_nothing(void **state)
{
	struct test_manager *bench = new_bench();

	(void)state;
	assert_int_equal(deploy(bench, "CreateEnvironment", "'subnet-1','subnet-2'",
				 ",'securityGroups':['sg-1','sg-2']"),
		INSTANCES);
	assert_int_equal(deploy(bench, "UpdateEnvironment", "'subnet-2','subnet-1'",
				 ",'securityGroups':['sg-2','sg-1'],'assignPublicIp':'DISABLED'"),
		INSTANCES);
	test_manager_free(bench);
}

/* A version without networkMode awsvpc inherits no network, with which nothing could be started; nor may it be given one. */
static void test_a_network_goes_with_its_definition(void **state)
{
	struct test_manager *bench = new_bench();
	char version[64];

	(void)state;
	test_call(bench->server, "RegisterTaskDefinition",
		"{'family':'plain','networkMode':'bridge','containerDefinitions':[{'name':'a',"
		"'image':'a','memory':16}]}");
	assert_int_equal(deploy(bench, "CreateEnvironment", "'subnet-1'", ""), INSTANCES);
	test_manager_ask(bench, "UpdateEnvironment", "{'name':'log','taskDefinition':'plain:1'}");
	snprintf(version, sizeof(version), "%s", test_text(bench->server, "environmentVersion"));
	test_manager_ask(bench, "StartDeployment", "{'name':'log','environmentVersion':'%s'}",
		version);
	let_run(bench);
	assert_int_equal(test_count_tasks(bench->server), 2 * INSTANCES);
	assert_int_equal(count_in(bench, "plain:1"), INSTANCES);
	{
		_arena_ struct arena *arena = arena_new(0);

		test_send_to(bench->server, &bench->service, "UpdateEnvironment",
			arena_copy_span(arena,
				SPAN("{\"name\":\"log\",\"taskDefinition\":\"plain:1\","
				     "\"networkConfiguration\":{\"awsvpcConfiguration\":"
				     "{\"subnets\":[\"subnet-1\"]}}}")));
	}
	assert_string_equal(bench->server->error_type, "InvalidParameterException");
	assert_non_null(strstr(arena_copy_span(bench->server->arena, test_message(bench->server))
				       .data,
		"networkConfiguration: "));
	test_manager_free(bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_another_network_is_rolled_out),
		cmocka_unit_test(test_the_same_network_replaces_nothing),
		cmocka_unit_test(test_a_network_goes_with_its_definition),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
