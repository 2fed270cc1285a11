/*
 * Which tasks count as healthy, on virtual time: the real manager, store and ECS, without programs. Without a health check
 * a task has to run for a moment before it counts, so that one that crashes at once completes nothing and
 * replaces no other.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "environment/test_manager.h"

#define INSTANCES 3
#define MOMENT_US (ROLLOUT_READY_MS * 1000 / 2)

static struct test_manager *new_bench(uint64_t seed)
{
	struct test_manager *bench = test_manager_new(seed);
	char id[TEST_ID_SIZE];

	test_call(bench->server, "CreateCluster", "{'clusterName':'default'}");
	for (int i = 0; i < INSTANCES; i++)
		test_instance(bench->server, "default", 4096, 4096, "", id);
	/* Two that nothing checks, and one with a health check. */
	for (int i = 0; i < 3; i++)
		test_call(bench->server, "RegisterTaskDefinition",
			"{'family':'log','containerDefinitions':[{'name':'a','image':'a',"
			"'memory':16%s}]}",
			i == 2 ? ",'healthCheck':{'command':['CMD','true']}" : "");
	return bench;
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
	test_manager_pass(bench, MOMENT_US);
}

static const char *status_of(struct test_manager *bench, const char *id)
{
	test_manager_ask(bench, "GetDeployment", "{'name':'log','deploymentId':'%s'}", id);
	return test_text(bench->server, "status");
}

/* Tasks of log:REVISION that are in this status, and shall run or not, get another; how many. */
static size_t move(struct test_manager *bench, int revision, bool wanted, enum task_status from,
	const char *to)
{
	_arena_ struct arena *arena = arena_new(0);
	_view_ struct store_view *view = store_view_open(bench->server->store);
	struct store_cursor cursor = {.view = view,
		.kind = &task_kind,
		.index = -1,
		.prefix = SPAN(TEST_ACCOUNT_KEY "/default/")};
	const struct store_object *task;
	size_t count = 0;

	while ((task = store_next(&cursor))) {
		const struct task_facts *facts = task_facts(task);
		char id[TEST_ID_SIZE];

		if (facts->last != from || facts->revision != revision ||
			(facts->desired == TASK_RUNNING) != wanted)
			continue;
		count++;
		test_id_of(arena_copy_span(arena, task->key).data, id);
		if (to)
			test_call(bench->server, "SubmitTaskStateChange",
				"{'cluster':'default','task':'%s','status':'%s'}", id, to);
	}
	return count;
}

static size_t count_running(struct test_manager *bench, int revision)
{
	return move(bench, revision, true, TASK_RUNNING, NULL);
}

/* Tasks that start run, and those that shall stop, stop, for so long. */
static void let_run(struct test_manager *bench, int revision, int seconds)
{
	for (int i = 0; i < 2 * seconds; i++) {
		for (int old = 1; old <= revision; old++)
			move(bench, old, false, TASK_RUNNING, "STOPPED");
		move(bench, revision, true, TASK_PENDING, "RUNNING");
		test_manager_pass(bench, MOMENT_US);
	}
}

static void test_a_moment_is_not_enough(void **state)
{
	struct test_manager *bench = new_bench(1);
	char id[64];

	(void)state;
	deploy(bench, false, 1, id);
	assert_int_equal(move(bench, 1, true, TASK_PENDING, "RUNNING"), INSTANCES);
	test_manager_pass(bench, MOMENT_US);
	assert_int_equal(count_running(bench, 1), INSTANCES);
	assert_string_equal(status_of(bench, id), "in-progress");
	/* No event reports that it continues to run: it is inspected again when its moment is over. */
	test_manager_pass(bench, 2 * MOMENT_US);
	assert_string_equal(status_of(bench, id), "completed");
	test_manager_free(bench);
}

static void test_what_crashes_at_once_completes_nothing(void **state)
{
	struct test_manager *bench = new_bench(2);
	char id[64];
	size_t crashes = 0;

	(void)state;
	deploy(bench, false, 1, id);
	for (int i = 0; i < 200; i++) {
		crashes += move(bench, 1, true, TASK_RUNNING, "STOPPED");
		move(bench, 1, true, TASK_PENDING, "RUNNING");
		test_manager_pass(bench, MOMENT_US);
		assert_string_not_equal(status_of(bench, id), "completed");
	}
	assert_true(crashes > INSTANCES);
	test_manager_free(bench);
}

/* Of three instances one may be down: it, and no other, is lost to a version that crashes at once. */
static void test_39_what_crashes_at_once_takes_one_instance(void **state)
{
	struct test_manager *bench = new_bench(3);
	char id[64];

	(void)state;
	deploy(bench, false, 1, id);
	let_run(bench, 1, 3);
	assert_string_equal(status_of(bench, id), "completed");
	deploy(bench, true, 2, id);
	for (int i = 0; i < 200; i++) {
		move(bench, 1, false, TASK_RUNNING, "STOPPED");
		move(bench, 2, true, TASK_RUNNING, "STOPPED");
		move(bench, 2, true, TASK_PENDING, "RUNNING");
		test_manager_pass(bench, MOMENT_US);
		assert_true(count_running(bench, 1) >= INSTANCES - 1);
	}
	assert_string_not_equal(status_of(bench, id), "completed");
	test_manager_free(bench);
}

static int64_t seconds_to_bake(struct test_manager *bench, const char *id)
{
	double until = 0;

	assert_string_equal(status_of(bench, id), "in-progress");
	assert_string_equal(test_text(bench->server, "canary.status"), "baking");
	assert_true(json_double(json_path(bench->server->answer, "canary.bakesUntil"), &until));
	return (int64_t)until - runner_wall_ms(bench->runner) / 1000;
}

/* A server that did not observe the canary all the time starts its bake time again, and reports until when. */
static void test_a_canary_bakes_anew_after_a_restart(void **state)
{
	struct test_manager *bench = new_bench(8);
	char id[64], version[64];

	(void)state;
	deploy(bench, false, 1, id);
	let_run(bench, 1, 3);
	test_manager_ask(bench, "UpdateEnvironment",
		"{'name':'log','taskDefinition':'log:2','deploymentConfiguration':{"
		"'canary':{'instances':1,'bakeSeconds':600}}}");
	snprintf(version, sizeof(version), "%s", test_text(bench->server, "environmentVersion"));
	test_manager_ask(bench, "StartDeployment", "{'name':'log','environmentVersion':'%s'}",
		version);
	snprintf(id, sizeof(id), "%s", test_text(bench->server, "deploymentId"));
	let_run(bench, 2, 10);
	assert_in_range(seconds_to_bake(bench, id), 590, 600);
	test_manager_pass(bench, 500 * SECOND_US);
	assert_in_range(seconds_to_bake(bench, id), 90, 100);
	test_manager_stop(bench);
	test_manager_start(bench);
	test_manager_pass(bench, 20 * SECOND_US);
	assert_in_range(seconds_to_bake(bench, id), 575, 600);
	assert_int_equal(count_running(bench, 2), 1);
	test_manager_pass(bench, 550 * SECOND_US);
	assert_int_equal(count_running(bench, 2), 1);
	let_run(bench, 2, 60);
	assert_string_equal(status_of(bench, id), "completed");
	test_manager_free(bench);
}

static void test_warm_up_of_a_version_is_kept(void **state)
{
	struct test_manager *bench = new_bench(4);
	char id[64], version[64];

	(void)state;
	test_manager_ask(bench, "CreateEnvironment",
		"{'name':'log','taskDefinition':'log:1','instanceGroup':{'cluster':'default'},"
		"'deploymentConfiguration':{'warmUpSeconds':30}}");
	snprintf(version, sizeof(version), "%s", test_text(bench->server, "environmentVersion"));
	test_manager_ask(bench, "StartDeployment", "{'name':'log','environmentVersion':'%s'}",
		version);
	snprintf(id, sizeof(id), "%s", test_text(bench->server, "deploymentId"));
	test_manager_pass(bench, MOMENT_US);
	move(bench, 1, true, TASK_PENDING, "RUNNING");
	test_manager_pass(bench, 29 * SECOND_US);
	assert_string_equal(status_of(bench, id), "in-progress");
	test_manager_pass(bench, 2 * SECOND_US);
	assert_string_equal(status_of(bench, id), "completed");
	test_manager_free(bench);
}

static void be_healthy(struct task_facts *facts)
{
	facts->health = TASK_HEALTH_HEALTHY;
}

static void be_unhealthy(struct task_facts *facts)
{
	facts->health = TASK_HEALTH_UNHEALTHY;
}

/* All tasks that run and shall run; how many. */
static size_t report_health(struct test_manager *bench, void (*health)(struct task_facts *facts))
{
	_arena_ struct arena *arena = arena_new(0);
	_view_ struct store_view *view = store_view_open(bench->server->store);
	struct store_cursor cursor = {
		.view = view, .kind = &task_kind, .index = -1, .prefix = TEST_TASKS};
	const struct store_object *task;
	size_t count = 0;

	while ((task = store_next(&cursor))) {
		char id[TEST_ID_SIZE];

		if (task_facts(task)->last != TASK_RUNNING ||
			task_facts(task)->desired != TASK_RUNNING)
			continue;
		count++;
		test_id_of(arena_copy_span(arena, task->key).data, id);
		test_change_task(bench->server, "default", id, health);
	}
	return count;
}

/* With a health check, its result counts. */
static void test_a_health_check_is_believed_at_once(void **state)
{
	struct test_manager *bench = new_bench(5);
	char id[64];

	(void)state;
	deploy(bench, false, 3, id);
	move(bench, 3, true, TASK_PENDING, "RUNNING");
	assert_int_equal(report_health(bench, be_healthy), INSTANCES);
	test_manager_pass(bench, MOMENT_US);
	assert_string_equal(status_of(bench, id), "completed");
	test_manager_free(bench);
}

/* Tasks become unhealthy as soon as they run, for a minute; how many. */
static size_t become_unhealthy(struct test_manager *bench)
{
	size_t count = 0;

	for (int i = 0; i < 120; i++) {
		move(bench, 3, false, TASK_RUNNING, "STOPPED");
		move(bench, 3, true, TASK_PENDING, "RUNNING");
		count += report_health(bench, be_unhealthy);
		test_manager_pass(bench, MOMENT_US);
	}
	return count;
}

static void test_what_falls_ill_again_and_again_waits(void **state)
{
	struct test_manager *bench = new_bench(9);
	char id[64];

	(void)state;
	deploy(bench, false, 3, id);
	/* At once, and then after 1, 2, 4, 8 and 16 seconds of these sixty. */
	assert_in_range(become_unhealthy(bench), 6 * INSTANCES, 8 * INSTANCES);
	assert_string_equal(status_of(bench, id), "unhealthy");
	/* One server's count is another's. */
	test_manager_stop(bench);
	test_manager_start(bench);
	test_manager_pass(bench, 5 * SECOND_US);
	assert_int_equal(move(bench, 3, true, TASK_PENDING, NULL), 0);
	/* A task that was healthy for long is replaced at once. */
	test_manager_pass(bench, 60 * SECOND_US);
	assert_int_equal(move(bench, 3, true, TASK_PENDING, "RUNNING"), INSTANCES);
	report_health(bench, be_healthy);
	test_manager_pass(bench, ENV_INSTANCES_HEALTHY_MS * 1000);
	assert_string_equal(status_of(bench, id), "completed");
	assert_in_range(become_unhealthy(bench), 6 * INSTANCES, 8 * INSTANCES);
	test_manager_free(bench);
}

/* So many tasks of another owner start and stop. */
static void let_others_stop(struct test_manager *bench, size_t count)
{
	char id[TEST_ID_SIZE], instance[512];

	test_call(bench->server, "ListContainerInstances", "{'cluster':'default'}");
	snprintf(instance, sizeof(instance), "%s",
		test_texts(bench->server, "containerInstanceArns"));
	*strchr(instance, ' ') = '\0';
	test_call(bench->server, "RegisterTaskDefinition",
		"{'family':'other','containerDefinitions':[{'name':'a','image':'a','memory':16}]}");
	for (size_t i = 0; i < count; i++) {
		test_call(bench->server, "StartTask",
			"{'cluster':'default','taskDefinition':'other','containerInstances':['%s']"
			"}",
			instance);
		test_id_of(test_item(bench->server, "tasks", 0, "taskArn"), id);
		test_call(bench->server, "SubmitTaskStateChange",
			"{'cluster':'default','task':'%s','status':'STOPPED'}", id);
		if (i % 100 == 0)
			test_manager_pass(bench, 1000);
	}
}

/* Of tasks that have stopped not all are kept: that one crashed is not forgotten with it. */
static void test_others_do_not_end_its_backoff(void **state)
{
	struct test_manager *bench = new_bench(6);
	char id[64];

	(void)state;
	deploy(bench, false, 1, id);
	/* Until the next start has to wait for half a minute or more. */
	for (int i = 0; i < 100; i++) {
		move(bench, 1, true, TASK_PENDING, "RUNNING");
		move(bench, 1, true, TASK_RUNNING, "STOPPED");
		test_manager_pass(bench, MOMENT_US);
	}
	assert_int_equal(move(bench, 1, true, TASK_PENDING, NULL), 0);
	let_others_stop(bench, OBSERVE_STOPPED_MAX + 10);
	test_manager_pass(bench, 2 * SECOND_US);
	assert_int_equal(move(bench, 1, true, TASK_PENDING, NULL), 0);
	test_manager_pass(bench, 120 * SECOND_US);
	assert_int_equal(move(bench, 1, true, TASK_PENDING, NULL), INSTANCES);
	test_manager_free(bench);
}

static int forget_task(struct store_transaction *transaction, void *context, struct err *err)
{
	const struct span *key = context;

	return store_delete(transaction, &task_kind, *key, STORE_ANY, err);
}

/* Of what has stopped nothing is left; how many were. */
static size_t forget_stopped(struct test_manager *bench)
{
	_arena_ struct arena *arena = arena_new(0);
	_view_ struct store_view *view = store_view_open(bench->server->store);
	struct store_cursor cursor = {
		.view = view, .kind = &task_kind, .index = -1, .prefix = TEST_TASKS};
	const struct store_object *task;
	size_t count = 0;

	while ((task = store_next(&cursor))) {
		struct span key = arena_copy_span(arena, task->key);

		if (task_facts(task)->last != TASK_STOPPED)
			continue;
		count++;
		assert_int_equal(store_write_wait(bench->server->store, forget_task, &key, NULL,
					 NULL),
			0);
	}
	return count;
}

/* A clock that is ahead lets records of tasks go as soon as they stop: they are waited for all the same. */
static void test_crashes_without_a_trace(void **state)
{
	struct test_manager *bench = new_bench(8);
	size_t crashes = 0;
	char id[64];

	(void)state;
	deploy(bench, false, 1, id);
	for (int i = 0; i < 120; i++) {
		move(bench, 1, true, TASK_PENDING, "RUNNING");
		move(bench, 1, true, TASK_RUNNING, "STOPPED");
		crashes += forget_stopped(bench);
		test_manager_pass(bench, MOMENT_US);
	}
	/* At once, and then after 1, 2, 4, 8 and 16 seconds of these sixty. */
	assert_in_range(crashes, 6 * INSTANCES, 8 * INSTANCES);
	test_manager_free(bench);
}

/* The clock on the wall is set by an hour while tasks run, crash and are waited for: nothing takes longer, nothing is over
 * sooner. */
static void test_clocks_that_are_set(void **state)
{
	static const int64_t by_ms[] = {-3600000, 3600000};

	(void)state;
	for (size_t i = 0; i < LENGTH(by_ms); i++) {
		struct test_manager *bench = new_bench(7);
		char id[64];

		deploy(bench, false, 1, id);
		move(bench, 1, true, TASK_PENDING, "RUNNING");
		runner_simulated_set_wall(bench->runner, by_ms[i]);
		test_manager_pass(bench, MOMENT_US);
		assert_string_equal(status_of(bench, id), "in-progress");
		test_manager_pass(bench, 2 * MOMENT_US);
		assert_string_equal(status_of(bench, id), "completed");
		/* A task that ends is started again; one that crashes, later each time. */
		for (int crash = 0; crash < 4; crash++) {
			assert_int_equal(move(bench, 1, true, TASK_RUNNING, "STOPPED"), INSTANCES);
			test_manager_pass(bench, MOMENT_US / 2);
			runner_simulated_set_wall(bench->runner, crash % 2 ? by_ms[i] : 0);
			assert_int_equal(move(bench, 1, true, TASK_PENDING, NULL),
				crash < 1 ? INSTANCES : 0);
			test_manager_pass(bench, 5 * SECOND_US);
			assert_int_equal(move(bench, 1, true, TASK_PENDING, "RUNNING"), INSTANCES);
			test_manager_pass(bench, MOMENT_US / 2);
		}
		/* And the next version is neither late nor out of time. */
		deploy(bench, true, 2, id);
		test_manager_pass(bench, 60 * SECOND_US);
		runner_simulated_set_wall(bench->runner, by_ms[i]);
		test_manager_pass(bench, 60 * SECOND_US);
		assert_string_equal(status_of(bench, id), "in-progress");
		let_run(bench, 2, 20);
		assert_string_equal(status_of(bench, id), "completed");
		test_manager_free(bench);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_moment_is_not_enough),
		cmocka_unit_test(test_what_crashes_at_once_completes_nothing),
		cmocka_unit_test(test_39_what_crashes_at_once_takes_one_instance),
		cmocka_unit_test(test_warm_up_of_a_version_is_kept),
		cmocka_unit_test(test_a_canary_bakes_anew_after_a_restart),
		cmocka_unit_test(test_a_health_check_is_believed_at_once),
		cmocka_unit_test(test_what_falls_ill_again_and_again_waits),
		cmocka_unit_test(test_others_do_not_end_its_backoff),
		cmocka_unit_test(test_crashes_without_a_trace),
		cmocka_unit_test(test_clocks_that_are_set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
