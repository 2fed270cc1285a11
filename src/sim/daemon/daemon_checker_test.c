/*
 * The checker of the simulation, on given histories: what it must report, and what no server could have known. The real
 * manager brings an environment to the middle of a rollout; then it is gone, and the test plays its part.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "environment/test_manager.h"
#include "sim/daemon/daemon_checker.h"

#define INSTANCES 4
#define PATIENCE_US (2 * SECOND_US)
#define PREFIX TEST_ACCOUNT_KEY "/default/"

struct bench {
	struct test_manager *manager;
	struct daemon_checker *checker;
	unsigned minimum; /* how often S3 was reported as broken */
};

static void note(void *context, const char *rule)
{
	struct bench *bench = context;

	bench->minimum += strncmp(rule, "S3:", 3) == 0;
}

static void be_healthy(struct task_facts *facts)
{
	facts->health = TASK_HEALTH_HEALTHY;
}

static void be_unhealthy(struct task_facts *facts)
{
	facts->health = TASK_HEALTH_UNHEALTHY;
}

/* The ids of tasks of log:REVISION that are wanted; how many. */
static size_t list_tasks(struct bench *bench, int revision, char ids[INSTANCES][TEST_ID_SIZE])
{
	_view_ struct store_view *view = store_view_open(bench->manager->server->store);
	struct store_cursor cursor = {
		.view = view, .kind = &task_kind, .index = -1, .prefix = SPAN(PREFIX)};
	const struct store_object *task;
	size_t count = 0;

	while ((task = store_next(&cursor)))
		if (task_facts(task)->revision == revision &&
			task_facts(task)->desired == TASK_RUNNING && count < INSTANCES)
			snprintf(ids[count++], TEST_ID_SIZE, "%.*s",
				SPAN_ARGS(task_facts(task)->id));
	return count;
}

static void deploy(struct bench *bench, const char *operation, int revision)
{
	struct test_manager *manager = bench->manager;
	char version[64];

	test_manager_ask(manager, operation,
		"{'name':'log','taskDefinition':'log:%d','instanceGroup':{'cluster':'default'},"
		"'deploymentConfiguration':{'minHealthyPercent':75,'replaceThenTerminate':true,"
		"'maxOverPercent':100}}",
		revision);
	snprintf(version, sizeof(version), "%s", test_text(manager->server, "environmentVersion"));
	test_manager_ask(manager, "StartDeployment", "{'name':'log','environmentVersion':'%s'}",
		version);
	test_manager_pass(manager, 5 * SECOND_US);
}

static void run_all(struct bench *bench, int revision)
{
	struct test_server *server = bench->manager->server;
	char ids[INSTANCES][TEST_ID_SIZE];

	assert_int_equal(list_tasks(bench, revision, ids), INSTANCES);
	for (size_t i = 0; i < INSTANCES; i++)
		test_call(server, "SubmitTaskStateChange",
			"{'cluster':'default','task':'%s','status':'RUNNING'}", ids[i]);
}

static void change_all(struct bench *bench, int revision, void (*change)(struct task_facts *facts))
{
	char ids[INSTANCES][TEST_ID_SIZE];
	size_t count = list_tasks(bench, revision, ids);

	for (size_t i = 0; i < count; i++)
		test_change_task(bench->manager->server, "default", ids[i], change);
}

/* Every instance has a healthy task of the first version and a healthy one of the second, and no server acts. */
static struct bench *bench_new(void)
{
	struct bench *bench = memory_allocate(sizeof(*bench));
	struct daemon_checker_config config = {
		.patience_us = PATIENCE_US, .broken = note, .context = bench};
	char id[TEST_ID_SIZE];

	bench->manager = test_manager_new(1);
	config.runner = bench->manager->runner;
	bench->checker = daemon_checker_new(&config);
	assert_int_equal(daemon_checker_follow(bench->checker, bench->manager->server->store, NULL),
		0);
	test_call(bench->manager->server, "CreateCluster", "{'clusterName':'default'}");
	for (int i = 0; i < INSTANCES; i++)
		test_instance(bench->manager->server, "default", 4096, 4096, "", id);
	for (int i = 0; i < 2; i++)
		test_call(bench->manager->server, "RegisterTaskDefinition",
			"{'family':'log','containerDefinitions':[{'name':'a','image':'a',"
			"'memory':16,'healthCheck':{'command':['CMD','true']}}]}");
	deploy(bench, "CreateEnvironment", 1);
	run_all(bench, 1);
	change_all(bench, 1, be_healthy);
	test_manager_pass(bench->manager, 5 * SECOND_US);
	deploy(bench, "UpdateEnvironment", 2);
	run_all(bench, 2);
	test_manager_pass(bench->manager, 5 * SECOND_US);
	test_manager_stop(bench->manager);
	change_all(bench, 2, be_healthy);
	test_manager_pass(bench->manager, 5 * SECOND_US);
	return bench;
}

static void bench_free(struct bench *bench)
{
	daemon_checker_free(bench->checker);
	test_manager_free(bench->manager);
	free(bench);
}

/* Stops so many of the first version, as the environment's manager. */
static void stop_some(struct bench *bench, size_t count)
{
	char ids[INSTANCES][TEST_ID_SIZE];

	assert_int_equal(list_tasks(bench, 1, ids), INSTANCES);
	for (size_t i = 0; i < count; i++)
		test_call(bench->manager->server, "StopTask",
			"{'cluster':'default','task':'%s','reason':'Environment log: x'}", ids[i]);
}

static uint64_t exercised(const struct bench *bench)
{
	return daemon_checker_counts(bench->checker)[DAEMON_PROPERTY_S3];
}

/* The task beside it is healthy: it is not needed. */
static void test_beside_a_healthy_one(void **state)
{
	struct bench *bench = bench_new();

	(void)state;
	stop_some(bench, INSTANCES);
	assert_int_equal(bench->minimum, 0);
	assert_int_equal(exercised(bench), 0);
	bench_free(bench);
}

/* The deciding server cannot have known that the new ones just became unhealthy; nor at its next decision. */
static void test_beside_one_that_just_became_unhealthy(void **state)
{
	struct bench *bench = bench_new();

	(void)state;
	change_all(bench, 2, be_unhealthy);
	test_manager_pass(bench->manager, PATIENCE_US / 2);
	stop_some(bench, INSTANCES);
	assert_int_equal(bench->minimum, 0);
	bench_free(bench);
}

/* The same behind a pause: what happened in it is seen when it is over. */
static void test_beside_one_that_fell_ill_in_a_pause(void **state)
{
	struct bench *bench = bench_new();

	(void)state;
	daemon_checker_paused(bench->checker, 5 * SECOND_US);
	change_all(bench, 2, be_unhealthy);
	test_manager_pass(bench->manager, 5 * SECOND_US + PATIENCE_US / 2);
	stop_some(bench, INSTANCES);
	assert_int_equal(bench->minimum, 0);
	test_manager_pass(bench->manager, PATIENCE_US);
	bench_free(bench);
}

/* Now he must have known: one of four may be without, and no second one. */
static void test_beside_one_that_was_ill_before(void **state)
{
	struct bench *bench = bench_new();

	(void)state;
	change_all(bench, 2, be_unhealthy);
	test_manager_pass(bench->manager, PATIENCE_US + SECOND_US);
	stop_some(bench, 1);
	assert_int_equal(bench->minimum, 0);
	assert_int_equal(exercised(bench), 1);
	bench_free(bench);
	bench = bench_new();
	change_all(bench, 2, be_unhealthy);
	test_manager_pass(bench->manager, PATIENCE_US + SECOND_US);
	stop_some(bench, 3);
	assert_int_equal(bench->minimum, 2);
	assert_int_equal(exercised(bench), 3);
	bench_free(bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_beside_a_healthy_one),
		cmocka_unit_test(test_beside_one_that_just_became_unhealthy),
		cmocka_unit_test(test_beside_one_that_fell_ill_in_a_pause),
		cmocka_unit_test(test_beside_one_that_was_ill_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
