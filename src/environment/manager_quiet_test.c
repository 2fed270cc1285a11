/*
 * Without work ECS is not called, on virtual time: the real manager, store and ECS, and the dispatcher's own
 * count of calls. Numbers are those of scenarios.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ecs/record/container_instance.h"
#include "environment/test_manager.h"

#define INSTANCES 3
#define MOMENT_US (SECOND_US / 2)
#define LONG_US (600 * SECOND_US)

struct quiet {
	struct test_manager *bench;
	char instances[INSTANCES][TEST_ID_SIZE];
};

static struct quiet *new_quiet(int instances)
{
	struct quiet *quiet = memory_allocate(sizeof(*quiet));

	quiet->bench = test_manager_new(1);
	test_call(quiet->bench->server, "CreateCluster", "{'clusterName':'default'}");
	for (int i = 0; i < instances; i++)
		test_instance(quiet->bench->server, "default", 4096, 4096, "", quiet->instances[i]);
	test_call(quiet->bench->server, "RegisterTaskDefinition",
		"{'family':'log','containerDefinitions':[{'name':'a','image':'a','memory':16}]}");
	return quiet;
}

static void free_quiet(struct quiet *quiet)
{
	test_manager_free(quiet->bench);
	free(quiet);
}

/* ---- calls ---- */

struct calls {
	uint64_t start, stop;
};

static void add_calls(void *context, const char *service, const char *operation, const char *result,
	uint64_t count, double seconds)
{
	struct calls *calls = context;

	(void)result;
	(void)seconds;
	if (strcmp(service, "ecs") == 0 && strcmp(operation, "StartTask") == 0)
		calls->start += count;
	if (strcmp(service, "ecs") == 0 && strcmp(operation, "StopTask") == 0)
		calls->stop += count;
}

/* Successful or not. */
static struct calls calls_of(struct quiet *quiet)
{
	struct calls calls = {0};

	aws_dispatcher_each_count(quiet->bench->server->dispatcher, add_calls, &calls);
	return calls;
}

static void assert_calls(struct quiet *quiet, uint64_t start, uint64_t stop)
{
	struct calls calls = calls_of(quiet);

	assert_int_equal(calls.start, start);
	assert_int_equal(calls.stop, stop);
}

/* ---- tasks ---- */

/* The task that shall run on an instance, "" if there is none; fails if there are two. */
static void task_on(struct quiet *quiet, const char *instance, char id[TEST_ID_SIZE])
{
	_arena_ struct arena *arena = arena_new(0);
	_view_ struct store_view *view = store_view_open(quiet->bench->server->store);
	struct store_cursor cursor = {
		.view = view, .kind = &task_kind, .index = -1, .prefix = TEST_TASKS};
	const struct store_object *task;

	id[0] = '\0';
	while ((task = store_next(&cursor)))
		if (span_is(task_facts(task)->instance, instance) &&
			task_facts(task)->desired == TASK_RUNNING) {
			assert_string_equal(id, "");
			test_id_of(arena_copy_span(arena, task->key).data, id);
		}
}

static void log_transition(struct quiet *quiet, const char *instance, const char *status)
{
	char id[TEST_ID_SIZE];

	task_on(quiet, instance, id);
	assert_string_not_equal(id, "");
	test_call(quiet->bench->server, "SubmitTaskStateChange",
		"{'cluster':'default','task':'%s','status':'%s'}", id, status);
}

static void deploy(struct quiet *quiet, char id[64])
{
	char version[64];

	test_manager_ask(quiet->bench, "CreateEnvironment",
		"{'name':'log','taskDefinition':'log:1','instanceGroup':{'cluster':'default'}}");
	snprintf(version, sizeof(version), "%s",
		test_text(quiet->bench->server, "environmentVersion"));
	test_manager_ask(quiet->bench, "StartDeployment",
		"{'name':'log','environmentVersion':'%s'}", version);
	snprintf(id, 64, "%s", test_text(quiet->bench->server, "deploymentId"));
	test_manager_pass(quiet->bench, 2 * SECOND_US);
}

static void assert_status(struct quiet *quiet, const char *id, const char *status)
{
	test_manager_ask(quiet->bench, "GetDeployment", "{'name':'log','deploymentId':'%s'}", id);
	assert_string_equal(test_text(quiet->bench->server, "status"), status);
}

static int64_t count_of(struct quiet *quiet, const char *name)
{
	const struct json *answer =
		test_manager_ask(quiet->bench, "GetEnvironment", "{'name':'log'}");

	return json_get_integer(json_get(answer, "counts"), name, -1);
}

/* How many entities an answer of the state service lists. */
static size_t listed(struct quiet *quiet, const char *operation, const char *list,
	const char *filter)
{
	test_manager_ask(quiet->bench, operation, "{'cluster':'default'%s}", filter);
	return test_count(quiet->bench->server, list);
}

/* ---- 14 ---- */

/* An attribute of each instance changes, which starts a pass. */
static void put_attributes(struct quiet *quiet, size_t instances, int value)
{
	for (size_t i = 0; i < instances; i++)
		test_call(quiet->bench->server, "PutAttributes",
			"{'cluster':'default','attributes':[{'name':'n','value':'%d',"
			"'targetType':'container-instance','targetId':'%s'}]}",
			value, quiet->instances[i]);
	test_manager_pass(quiet->bench, MOMENT_US);
}

static void test_14_what_starts_and_what_runs_is_left_alone(void **state)
{
	struct quiet *quiet = new_quiet(2);
	char id[64], first[TEST_ID_SIZE], second[TEST_ID_SIZE], now[TEST_ID_SIZE];
	struct calls before;

	(void)state;
	deploy(quiet, id);
	log_transition(quiet, quiet->instances[1], "RUNNING");
	test_manager_pass(quiet->bench, 5 * SECOND_US);
	task_on(quiet, quiet->instances[0], first);
	task_on(quiet, quiet->instances[1], second);
	before = calls_of(quiet);
	assert_true(before.start > 0);
	assert_int_equal(before.stop, 0);
	/* Every cause of a pass: a change of the instances, its time, and a server that starts again. */
	for (int i = 0; i < 10; i++)
		put_attributes(quiet, 2, i);
	test_manager_pass(quiet->bench, 60 * SECOND_US);
	test_manager_stop(quiet->bench);
	test_manager_start(quiet->bench);
	test_manager_pass(quiet->bench, 120 * SECOND_US);
	put_attributes(quiet, 2, 11);
	assert_calls(quiet, before.start, before.stop);
	assert_int_equal(count_of(quiet, "launching"), 1);
	assert_int_equal(count_of(quiet, "active"), 1);
	assert_int_equal(test_count_tasks(quiet->bench->server), 2);
	task_on(quiet, quiet->instances[0], now);
	assert_string_equal(now, first);
	task_on(quiet, quiet->instances[1], now);
	assert_string_equal(now, second);
	/* It did look all the time: what stops is started again. */
	log_transition(quiet, quiet->instances[1], "STOPPED");
	test_manager_pass(quiet->bench, 2 * SECOND_US);
	assert_calls(quiet, before.start + 1, before.stop);
	free_quiet(quiet);
}

/* ---- 23, 27 ---- */

static void leave(struct quiet *quiet, const char *instance)
{
	test_call(quiet->bench->server, "DeregisterContainerInstance",
		"{'cluster':'default','containerInstance':'%s','force':true}", instance);
	test_manager_pass(quiet->bench, 2 * SECOND_US);
}

static void test_23_27_no_call_for_an_instance_that_is_gone(void **state)
{
	struct quiet *quiet = new_quiet(INSTANCES);
	struct calls before;
	char id[64];

	(void)state;
	deploy(quiet, id);
	for (int i = 0; i < INSTANCES; i++)
		log_transition(quiet, quiet->instances[i], "RUNNING");
	test_manager_pass(quiet->bench, 5 * SECOND_US);
	assert_status(quiet, id, "completed");
	assert_int_equal(listed(quiet, "ListTasks", "tasks", ",'status':['RUNNING']"), INSTANCES);
	assert_int_equal(listed(quiet, "ListInstances", "instances", ""), INSTANCES);
	before = calls_of(quiet);
	leave(quiet, quiet->instances[0]);
	test_manager_pass(quiet->bench, LONG_US);
	assert_calls(quiet, before.start, before.stop);
	assert_int_equal(count_of(quiet, "total"), INSTANCES - 1);
	assert_int_equal(listed(quiet, "ListTasks", "tasks", ",'status':['RUNNING']"),
		INSTANCES - 1);
	assert_int_equal(listed(quiet, "ListInstances", "instances", ""), INSTANCES - 1);
	for (int i = 1; i < INSTANCES; i++)
		leave(quiet, quiet->instances[i]);
	test_manager_pass(quiet->bench, LONG_US);
	assert_calls(quiet, before.start, before.stop);
	assert_int_equal(count_of(quiet, "total"), 0);
	assert_int_equal(listed(quiet, "ListInstances", "instances", ""), 0);
	assert_int_equal(listed(quiet, "ListTasks", "tasks", ",'status':['RUNNING']"), 0);
	free_quiet(quiet);
}

/* ---- 30 ---- */

struct connection {
	struct span key;
	bool connected;
};

static int write_connection(struct store_transaction *transaction, void *context, struct err *err)
{
	const struct connection *connection = context;
	struct container_instance_edit builder;
	int code = container_instance_edit_open(store_get(store_head(transaction),
							&container_instance_kind, connection->key),
		store_transaction_arena(transaction), &builder, err);

	if (code < 0)
		return code;
	builder.facts.connected = connection->connected;
	return container_instance_save(transaction, &builder, err);
}

static void connect_agent(struct quiet *quiet, const char *instance, bool connected)
{
	_arena_ struct arena *arena = arena_new(0);
	struct connection connection = {
		arena_format(arena, TEST_ACCOUNT_KEY "/default/%s", instance), connected};
	struct err err = {0};

	if (store_write_wait(quiet->bench->server->store, write_connection, &connection, NULL,
		    &err) < 0)
		fail_msg("%s", err.message);
	test_manager_pass(quiet->bench, MOMENT_US);
}

/* For longer than anybody waits for it, and with another one away that never had a task. */
static void test_30_an_instance_that_is_away_is_left_as_it_is(void **state)
{
	struct quiet *quiet = new_quiet(INSTANCES);
	char id[64], before[TEST_ID_SIZE], now[TEST_ID_SIZE];
	struct calls calls;

	(void)state;
	connect_agent(quiet, quiet->instances[2], false);
	deploy(quiet, id);
	for (int i = 0; i < 2; i++)
		log_transition(quiet, quiet->instances[i], "RUNNING");
	test_manager_pass(quiet->bench, 5 * SECOND_US);
	task_on(quiet, quiet->instances[0], before);
	calls = calls_of(quiet);
	connect_agent(quiet, quiet->instances[0], false);
	test_manager_pass(quiet->bench, LONG_US);
	assert_calls(quiet, calls.start, calls.stop);
	task_on(quiet, quiet->instances[0], now);
	assert_string_equal(now, before);
	task_on(quiet, quiet->instances[2], now);
	assert_string_equal(now, "");
	assert_int_equal(count_of(quiet, "total"), 1);
	assert_int_equal(count_of(quiet, "active"), 1);
	assert_int_equal(count_of(quiet, "unreachable"), 2);
	test_manager_ask(quiet->bench, "DiffEnvironment", "{'name':'log'}");
	assert_int_equal(test_count(quiet->bench->server, "unreachable"), 2);
	/* Back: the one keeps its task, and the other one gets its first. */
	connect_agent(quiet, quiet->instances[0], true);
	test_manager_pass(quiet->bench, LONG_US);
	assert_calls(quiet, calls.start, calls.stop);
	assert_int_equal(count_of(quiet, "active"), 2);
	assert_int_equal(count_of(quiet, "unreachable"), 1);
	task_on(quiet, quiet->instances[0], now);
	assert_string_equal(now, before);
	connect_agent(quiet, quiet->instances[2], true);
	test_manager_pass(quiet->bench, 2 * SECOND_US);
	assert_calls(quiet, calls.start + 1, calls.stop);
	free_quiet(quiet);
}

/* It joins and leaves all the time: that causes no call. */
static void test_30_an_agent_that_comes_and_goes_costs_nothing(void **state)
{
	struct quiet *quiet = new_quiet(INSTANCES);
	char id[64], before[TEST_ID_SIZE], now[TEST_ID_SIZE];
	struct calls calls;

	(void)state;
	deploy(quiet, id);
	for (int i = 0; i < INSTANCES; i++)
		log_transition(quiet, quiet->instances[i], "RUNNING");
	test_manager_pass(quiet->bench, 5 * SECOND_US);
	task_on(quiet, quiet->instances[0], before);
	calls = calls_of(quiet);
	for (int i = 0; i < 40; i++) {
		connect_agent(quiet, quiet->instances[0], i % 2);
		test_manager_pass(quiet->bench, (i % 5) * 20 * SECOND_US);
	}
	assert_calls(quiet, calls.start, calls.stop);
	task_on(quiet, quiet->instances[0], now);
	assert_string_equal(now, before);
	assert_int_equal(count_of(quiet, "active"), INSTANCES);
	free_quiet(quiet);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_14_what_starts_and_what_runs_is_left_alone),
		cmocka_unit_test(test_23_27_no_call_for_an_instance_that_is_gone),
		cmocka_unit_test(test_30_an_instance_that_is_away_is_left_as_it_is),
		cmocka_unit_test(test_30_an_agent_that_comes_and_goes_costs_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
