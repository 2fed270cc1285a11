/*
 * A task that does not stop, on virtual time: the real manager, store and ECS, without programs. It takes one of those
 * that may be down, the others go on without it, and after two minutes its instance is named.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "environment/decide/env_instances.h"
#include "environment/test_manager.h"

#define INSTANCES 5
#define STEP_US (SECOND_US / 2)

/* Tasks that start run, and those that shall stop, stop, but for one; for so long. How many run in the end. */
static size_t let_run(struct test_manager *bench, const char *stuck, int64_t duration_us)
{
	size_t running = 0;

	for (int64_t passed = 0; passed < duration_us; passed += STEP_US) {
		_arena_ struct arena *arena = arena_new(0);
		_view_ struct store_view *view = store_view_open(bench->server->store);
		struct store_cursor cursor = {.view = view,
			.kind = &task_kind,
			.index = -1,
			.prefix = SPAN(TEST_ACCOUNT_KEY "/default/")};
		const struct store_object *task;

		running = 0;
		while ((task = store_next(&cursor))) {
			const struct task_facts *facts = task_facts(task);
			const char *status = NULL;
			char id[TEST_ID_SIZE];

			test_id_of(arena_copy_span(arena, task->key).data, id);
			running += facts->last == TASK_RUNNING && facts->desired == TASK_RUNNING;
			if (facts->last == TASK_RUNNING && facts->desired != TASK_RUNNING &&
				strcmp(id, stuck) != 0)
				status = "STOPPED";
			else if (facts->last == TASK_PENDING && facts->desired == TASK_RUNNING)
				status = "RUNNING";
			if (status)
				test_call(bench->server, "SubmitTaskStateChange",
					"{'cluster':'default','task':'%s','status':'%s'}", id,
					status);
		}
		/* Three of five stay well: what is new has to run for a second before it counts. */
		assert_true(running == 0 || running >= INSTANCES * 60 / 100);
		test_manager_pass(bench, STEP_US);
	}
	return running;
}

/* Of log:REVISION, as an update if there is one already. */
static void deploy(struct test_manager *bench, bool update, int revision, char id[64])
{
	char version[64];

	test_manager_ask(bench, update ? "UpdateEnvironment" : "CreateEnvironment",
		"{'name':'log','taskDefinition':'log:%d','instanceGroup':{'cluster':'default'},"
		"'deploymentConfiguration':{'minHealthyPercent':60}}",
		revision);
	snprintf(version, sizeof(version), "%s", test_text(bench->server, "environmentVersion"));
	test_manager_ask(bench, "StartDeployment", "{'name':'log','environmentVersion':'%s'}",
		version);
	snprintf(id, 64, "%s", test_text(bench->server, "deploymentId"));
}

static int64_t ask_for(struct test_manager *bench, const char *id)
{
	test_manager_ask(bench, "GetDeployment", "{'name':'log','deploymentId':'%s'}", id);
	return json_get_integer(bench->server->answer, "completed", -1);
}

static void test_43_a_task_that_does_not_stop_is_named(void **state)
{
	struct test_manager *bench = test_manager_new(43);
	char id[64], instance[TEST_ID_SIZE], stuck[TEST_ID_SIZE];

	(void)state;
	test_call(bench->server, "CreateCluster", "{'clusterName':'default'}");
	for (int i = 0; i < INSTANCES; i++)
		test_instance(bench->server, "default", 4096, 4096, "", instance);
	for (int i = 0; i < 2; i++)
		test_call(bench->server, "RegisterTaskDefinition",
			"{'family':'log','containerDefinitions':[{'name':'a','image':'a',"
			"'memory':16}]}");
	deploy(bench, false, 1, id);
	assert_int_equal(let_run(bench, "", 5 * SECOND_US), INSTANCES);
	assert_int_equal(ask_for(bench, id), INSTANCES);
	assert_string_equal(test_text(bench->server, "status"), "completed");
	test_call(bench->server, "ListTasks", "{'cluster':'default','containerInstance':'%s'}",
		instance);
	test_id_of(test_texts(bench->server, "taskArns"), stuck);

	deploy(bench, true, 2, id);
	assert_int_equal(let_run(bench, stuck, 60 * SECOND_US), INSTANCES - 1);
	assert_int_equal(ask_for(bench, id), INSTANCES - 1);
	assert_string_equal(test_text(bench->server, "status"), "in-progress");
	/* It takes too long. */
	let_run(bench, stuck, ENV_INSTANCES_HANGS_MS * 1000);
	assert_int_equal(ask_for(bench, id), INSTANCES - 1);
	assert_string_equal(test_text(bench->server, "status"), "blocked");
	assert_string_equal(test_text(bench->server, "statusReason"), "STOP_HANGS");
	assert_int_equal(json_count(json_get(bench->server->answer, "failedInstances")), 1);
	assert_string_equal(test_item(bench->server, "failedInstances", 0, "instance"), instance);
	/* And goes by itself. */
	assert_int_equal(let_run(bench, "", 5 * SECOND_US), INSTANCES);
	assert_int_equal(ask_for(bench, id), INSTANCES);
	assert_string_equal(test_text(bench->server, "status"), "completed");
	assert_null(json_get(bench->server->answer, "failedInstances"));
	test_manager_free(bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_43_a_task_that_does_not_stop_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
