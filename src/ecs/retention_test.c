/* Retention in a simulation, where an hour passes at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "aws/client_token.h"
#include "control/runner_simulated.h"
#include "ecs/controllers.h"
#include "ecs/record/service_kind.h"
#include "ecs/test_server.h"
#include "ecs/test_tasks.h"

#define MINUTE_US (INT64_C(60) * 1000 * 1000)
#define APP "'containerDefinitions':[{'name':'app','image':'i','memory':64}]"
#define CONTROLLERS_MAX 16

struct world {
	struct runner *runner;
	struct test_server *server;
	struct controller *controllers[CONTROLLERS_MAX];
};

static int setup(void **state)
{
	struct world *world = memory_allocate(sizeof(*world));

	world->runner = runner_simulated_new(1);
	world->server = test_server_new_on(runner_clock(world->runner));
	assert_true(ecs_controller_count <= CONTROLLERS_MAX);
	for (size_t i = 0; i < ecs_controller_count; i++)
		assert_int_equal(controller_start(&ecs_controllers[i],
					 &(struct controller_config){.runner = world->runner,
						 .store = world->server->store},
					 &world->controllers[i], NULL),
			0);
	*state = world;
	return 0;
}

static int teardown(void **state)
{
	struct world *world = *state;

	for (size_t i = 0; i < ecs_controller_count; i++)
		controller_stop(world->controllers[i]);
	runner_stop(world->runner);
	runner_join(world->runner, NULL);
	test_server_free(world->server);
	runner_free(world->runner);
	free(world);
	return 0;
}

static void minutes_pass(struct world *world, int64_t minutes)
{
	assert_int_equal(runner_sleep_until(world->runner,
				 runner_now_us(world->runner) + minutes * MINUTE_US),
		0);
}

/* "ACTIVE", "INACTIVE", or "" when it is not known any more. */
static const char *cluster_status(struct world *world)
{
	const struct json *answer =
		test_call(world->server, "DescribeClusters", "{'clusters':['c']}");

	struct span status = json_get_text(json_item(json_get(answer, "clusters"), 0), "status");

	return status.data ? arena_copy_span(world->server->arena, status).data : "";
}

static void a_deleted_cluster_stays_for_an_hour(void **state)
{
	struct world *world = *state;

	test_call(world->server, "CreateCluster", "{'clusterName':'c'}");
	minutes_pass(world, 120);
	assert_string_equal(cluster_status(world), "ACTIVE");
	test_call(world->server, "DeleteCluster", "{'cluster':'c'}");
	minutes_pass(world, 59);
	assert_string_equal(cluster_status(world), "INACTIVE");
	minutes_pass(world, 2);
	assert_string_equal(cluster_status(world), "");
	test_refused(world->server, "DeleteCluster", "ClusterNotFoundException",
		"Cluster not found", "{'cluster':'c'}");
}

static void a_cluster_that_began_anew_stays(void **state)
{
	struct world *world = *state;

	test_call(world->server, "CreateCluster", "{'clusterName':'c'}");
	test_call(world->server, "DeleteCluster", "{'cluster':'c'}");
	minutes_pass(world, 30);
	test_call(world->server, "CreateCluster", "{'clusterName':'c'}");
	minutes_pass(world, 120);
	assert_string_equal(cluster_status(world), "ACTIVE");
	/* The hour begins with the last deletion. */
	test_call(world->server, "DeleteCluster", "{'cluster':'c'}");
	minutes_pass(world, 40);
	test_call(world->server, "CreateCluster", "{'clusterName':'c'}");
	test_call(world->server, "DeleteCluster", "{'cluster':'c'}");
	minutes_pass(world, 40);
	assert_string_equal(cluster_status(world), "INACTIVE");
	minutes_pass(world, 21);
	assert_string_equal(cluster_status(world), "");
}

/* The service controller's write when the last task has stopped. */
static int end_service(struct store_transaction *transaction, void *context, struct err *err)
{
	const struct store_object *service = store_get(store_head(transaction), &service_kind,
		SPAN("123456789012/eu-west-1/default/s"));
	struct service_facts facts = *service_facts(service);

	facts.status = SERVICE_INACTIVE;
	facts.ended_ms = *(const int64_t *)context;
	return service_object_put_facts(transaction, service, &facts,
		store_transaction_arena(transaction), err);
}

static void a_deleted_service_stays_for_an_hour(void **state)
{
	struct world *world = *state;
	int64_t now_ms;

	test_call(world->server, "CreateCluster", "{}");
	test_call(world->server, "RegisterTaskDefinition", "{'family':'f'," APP "}");
	test_call(world->server, "CreateService",
		"{'serviceName':'s','taskDefinition':'f','desiredCount':0}");
	test_call(world->server, "DeleteService", "{'service':'s'}");
	minutes_pass(world, 120);
	now_ms = runner_wall_ms(world->runner);
	assert_int_equal(store_write_wait(world->server->store, end_service, &now_ms, NULL, NULL),
		0);
	minutes_pass(world, 59);
	test_call(world->server, "DescribeServices", "{'services':['s']}");
	assert_int_equal(json_count(json_get(world->server->answer, "services")), 1);
	minutes_pass(world, 2);
	test_call(world->server, "DescribeServices", "{'services':['s']}");
	assert_int_equal(json_count(json_get(world->server->answer, "services")), 0);
	{
		_view_ struct store_view *view = store_view_open(world->server->store);

		assert_int_equal(store_count(view, &service_deployment_kind, -1, SPAN(""), false),
			0);
		assert_int_equal(store_count(view, &service_revision_kind, -1, SPAN(""), false), 0);
	}
}

static void deleted_revisions_go_and_others_stay(void **state)
{
	struct world *world = *state;

	for (int i = 0; i < 3; i++)
		test_call(world->server, "RegisterTaskDefinition", "{'family':'f'," APP "}");
	for (int i = 2; i <= 3; i++)
		test_call(world->server, "DeregisterTaskDefinition", "{'taskDefinition':'f:%d'}",
			i);
	test_call(world->server, "DeleteTaskDefinitions", "{'taskDefinitions':['f:3']}");
	minutes_pass(world, 1);
	test_refused(world->server, "DescribeTaskDefinition", "ClientException",
		"Unable to describe", "{'taskDefinition':'f:3'}");
	minutes_pass(world, 60 * 24);
	test_call(world->server, "DescribeTaskDefinition", "{'taskDefinition':'f:1'}");
	test_call(world->server, "DescribeTaskDefinition", "{'taskDefinition':'f:2'}");
	assert_string_equal(test_text(world->server, "taskDefinition.status"), "INACTIVE");
}

static void a_deleted_revision_stays_while_a_task_runs_by_it(void **state)
{
	struct world *world = *state;
	char instance[TEST_ID_SIZE], id[TEST_ID_SIZE];

	test_call(world->server, "CreateCluster", "{}");
	test_instance(world->server, "default", 1000, 1000, "", instance);
	for (int i = 0; i < 2; i++)
		test_call(world->server, "RegisterTaskDefinition", "{'family':'f'," APP "}");
	test_run(world->server, id, "{'taskDefinition':'f:1'}");
	for (int i = 1; i <= 2; i++)
		test_call(world->server, "DeregisterTaskDefinition", "{'taskDefinition':'f:%d'}",
			i);
	test_call(world->server, "DeleteTaskDefinitions", "{'taskDefinitions':['f:1','f:2']}");
	minutes_pass(world, 60);
	test_call(world->server, "DescribeTaskDefinition", "{'taskDefinition':'f:1'}");
	assert_string_equal(test_text(world->server, "taskDefinition.status"),
		"DELETE_IN_PROGRESS");
	test_refused(world->server, "DescribeTaskDefinition", "ClientException",
		"Unable to describe", "{'taskDefinition':'f:2'}");
	test_change_task(world->server, "default", id, test_has_stopped);
	minutes_pass(world, 1);
	test_refused(world->server, "DescribeTaskDefinition", "ClientException",
		"Unable to describe", "{'taskDefinition':'f:1'}");
}

static uint64_t token_count(struct world *world)
{
	_view_ struct store_view *view = store_view_open(world->server->store);

	return store_count(view, &client_token_kind, -1, SPAN(""), false);
}

static void a_client_token_stays_for_a_day(void **state)
{
	struct world *world = *state;
	char instance[TEST_ID_SIZE], id[TEST_ID_SIZE];

	test_call(world->server, "CreateCluster", "{}");
	test_instance(world->server, "default", 100000, 100000, "", instance);
	test_call(world->server, "RegisterTaskDefinition", "{'family':'f'," APP "}");
	for (int i = 0; i < 600; i++)
		test_run(world->server, id, "{'taskDefinition':'f','clientToken':'early-%d'}", i);
	minutes_pass(world, 60);
	test_run(world->server, id, "{'taskDefinition':'f','clientToken':'late'}");
	minutes_pass(world, 60 * 23 - 1);
	assert_int_equal(token_count(world), 601);
	minutes_pass(world, 2);
	assert_int_equal(token_count(world), 1);
	minutes_pass(world, 60);
	assert_int_equal(token_count(world), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_deleted_cluster_stays_for_an_hour, setup,
			teardown),
		cmocka_unit_test_setup_teardown(a_cluster_that_began_anew_stays, setup, teardown),
		cmocka_unit_test_setup_teardown(a_deleted_service_stays_for_an_hour, setup,
			teardown),
		cmocka_unit_test_setup_teardown(deleted_revisions_go_and_others_stay, setup,
			teardown),
		cmocka_unit_test_setup_teardown(a_deleted_revision_stays_while_a_task_runs_by_it,
			setup, teardown),
		cmocka_unit_test_setup_teardown(a_client_token_stays_for_a_day, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
