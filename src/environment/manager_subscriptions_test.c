/*
 * Scenario 92: one event of an instance starts passes of its subscribers, however many other environments are in the
 * cluster: those that match, and those that did. A task of another owner starts none, unless the instance drains.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "environment/test_manager.h"

#define OTHERS 60 /* that no instance here matches */
#define INSTANCES 5

struct bench {
	struct test_manager *manager;
	char instances[INSTANCES][TEST_ID_SIZE];
};

static void create(struct bench *bench, const char *name, const char *attribute)
{
	char version[64];

	test_call(bench->manager->server, "RegisterTaskDefinition",
		"{'family':'%s','containerDefinitions':[{'name':'a','image':'a','memory':16}]}",
		name);
	test_manager_ask(bench->manager, "CreateEnvironment",
		"{'name':'%s','taskDefinition':'%s:1','instanceGroup':{'cluster':'default',"
		"'attributes':[%s]}}",
		name, name, attribute);
	snprintf(version, sizeof(version), "%s",
		test_text(bench->manager->server, "environmentVersion"));
	test_manager_ask(bench->manager, "StartDeployment",
		"{'name':'%s','environmentVersion':'%s'}", name, version);
}

/* Tasks do what they shall until nothing changes any more. */
static void settle(struct bench *bench)
{
	struct test_server *server = bench->manager->server;

	for (int i = 0; i < 20; i++) {
		_arena_ struct arena *arena = arena_new(0);
		_view_ struct store_view *view = store_view_open(server->store);
		struct store_cursor cursor = {
			.view = view, .kind = &task_kind, .index = -1, .prefix = TEST_TASKS};
		const struct store_object *task;

		while ((task = store_next(&cursor))) {
			bool wanted = task_facts(task)->desired == TASK_RUNNING;
			char id[TEST_ID_SIZE];

			if (task_facts(task)->last == (wanted ? TASK_RUNNING : TASK_STOPPED))
				continue;
			test_id_of(arena_copy_span(arena, task->key).data, id);
			test_call(server, "SubmitTaskStateChange",
				"{'cluster':'default','task':'%s','status':'%s'}", id,
				wanted ? "RUNNING" : "STOPPED");
		}
		test_manager_pass(bench->manager, SECOND_US / 2);
	}
}

static void set_up(struct bench *bench)
{
	char name[16], attribute[32];

	bench->manager = test_manager_new(1);
	test_call(bench->manager->server, "CreateCluster", "{'clusterName':'default'}");
	for (size_t i = 0; i < INSTANCES; i++)
		test_instance(bench->manager->server, "default", 4096, 4096,
			"{'name':'stack','value':'prod'},", bench->instances[i]);
	create(bench, "all", "");
	create(bench, "stack", "'stack=prod'");
	create(bench, "gpu", "'gpu'");
	for (int i = 0; i < OTHERS; i++) {
		snprintf(name, sizeof(name), "other-%d", i);
		snprintf(attribute, sizeof(attribute), "'stack=%d'", i);
		create(bench, name, attribute);
	}
	settle(bench);
}

static size_t count_running(struct bench *bench, const char *family)
{
	_view_ struct store_view *view = store_view_open(bench->manager->server->store);
	struct store_cursor cursor = {
		.view = view, .kind = &task_kind, .index = -1, .prefix = TEST_TASKS};
	const struct store_object *task;
	size_t count = 0;

	while ((task = store_next(&cursor)))
		count += task_facts(task)->last == TASK_RUNNING &&
			 span_is(task_facts(task)->family, family);
	return count;
}

static uint64_t count_passes(struct bench *bench)
{
	struct controller_statistics statistics;

	controller_statistics(manager_controller(bench->manager->manager), &statistics);
	return statistics.reconciles;
}

/* Looks until it has settled, within less time than that after which everybody looks again. */
static uint64_t checks_after(struct bench *bench, uint64_t before)
{
	settle(bench);
	return count_passes(bench) - before;
}

static void put_attribute(struct bench *bench, size_t instance, const char *operation,
	const char *attribute)
{
	test_call(bench->manager->server, operation,
		"{'cluster':'default','attributes':[{%s,'targetType':'container-instance',"
		"'targetId':'%s'}]}",
		attribute, bench->instances[instance]);
}

/* A task of no environment; the passes that it starts. */
static uint64_t run_foreign(struct bench *bench, size_t instance)
{
	uint64_t before = count_passes(bench);

	test_call(bench->manager->server, "StartTask",
		"{'cluster':'default','taskDefinition':'other-0:1','containerInstances':['%s']}",
		bench->instances[instance]);
	return checks_after(bench, before);
}

static void test_92_only_subscribers_start_a_pass(void **state)
{
	struct bench bench;
	uint64_t before;

	(void)state;
	set_up(&bench);
	assert_int_equal(count_running(&bench, "all"), INSTANCES);
	assert_int_equal(count_running(&bench, "stack"), INSTANCES);
	assert_int_equal(count_running(&bench, "gpu"), 0);
	/* It matches one more: that one starts its task, the two others look. Each look may lead to a few more. */
	before = count_passes(&bench);
	put_attribute(&bench, 0, "PutAttributes", "'name':'gpu','value':'large'");
	assert_in_range(checks_after(&bench, before), 1, OTHERS / 2);
	assert_int_equal(count_running(&bench, "gpu"), 1);
	/* It does not match any more: the task is stopped. */
	before = count_passes(&bench);
	put_attribute(&bench, 0, "DeleteAttributes", "'name':'gpu'");
	assert_in_range(checks_after(&bench, before), 1, OTHERS / 2);
	assert_int_equal(count_running(&bench, "gpu"), 0);
	before = count_passes(&bench);
	put_attribute(&bench, 1, "PutAttributes", "'name':'stack','value':'7'");
	assert_in_range(checks_after(&bench, before), 1, OTHERS / 2);
	assert_int_equal(count_running(&bench, "stack"), INSTANCES - 1);
	assert_int_equal(count_running(&bench, "other-7"), 1);
	test_manager_free(bench.manager);
}

static void test_92_tasks_of_others_start_no_pass(void **state)
{
	struct bench bench;
	uint64_t before;

	(void)state;
	set_up(&bench);
	assert_int_equal(run_foreign(&bench, 0), 0);
	/* But where one drains, daemons leave when they have: both of them. */
	test_call(bench.manager->server, "UpdateContainerInstancesState",
		"{'cluster':'default','containerInstances':['%s'],'status':'DRAINING'}",
		bench.instances[0]);
	settle(&bench);
	assert_int_equal(count_running(&bench, "all"), INSTANCES);
	before = count_passes(&bench);
	{
		_arena_ struct arena *arena = arena_new(0);
		_view_ struct store_view *view = store_view_open(bench.manager->server->store);
		struct store_cursor cursor = {
			.view = view, .kind = &task_kind, .index = -1, .prefix = TEST_TASKS};
		const struct store_object *task;
		char id[TEST_ID_SIZE];

		while ((task = store_next(&cursor)))
			if (span_is(task_facts(task)->family, "other-0")) {
				test_id_of(arena_copy_span(arena, task->key).data, id);
				test_change_task(bench.manager->server, "default", id,
					test_has_stopped);
			}
	}
	assert_in_range(checks_after(&bench, before), 1, OTHERS / 2);
	assert_int_equal(count_running(&bench, "all"), INSTANCES - 1);
	assert_int_equal(count_running(&bench, "stack"), INSTANCES - 1);
	test_manager_free(bench.manager);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_92_only_subscribers_start_a_pass),
		cmocka_unit_test(test_92_tasks_of_others_start_no_pass),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
