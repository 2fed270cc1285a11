/* Operations: kept for an hour, bounded in number, and a table that has all of the model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cloudmap/test_server.h"
#include "control/runner_simulated.h"

#define MINUTE_US (INT64_C(60) * 1000 * 1000)
#define OPERATIONS_MAX 10000

struct world {
	struct runner *runner;
	struct test_server *server;
	struct controller *controller;
};

static int setup(void **state)
{
	struct world *world = memory_allocate(sizeof(*world));

	world->runner = runner_simulated_new(1);
	world->server = test_server_new_on(runner_clock(world->runner));
	assert_int_equal(cloudmap_controller_count, 1);
	assert_int_equal(controller_start(&cloudmap_controllers[0],
				 &(struct controller_config){
					 .runner = world->runner, .store = world->server->store},
				 &world->controller, NULL),
		0);
	*state = world;
	return 0;
}

static int teardown(void **state)
{
	struct world *world = *state;

	controller_stop(world->controller);
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

static uint64_t count(struct test_server *server)
{
	_view_ struct store_view *view = store_view_open(server->store);

	return store_count(view, &cloudmap_operation_kind, -1, SPAN(""), false);
}

static void operations_are_forgotten_after_an_hour(void **state)
{
	struct world *world = *state;
	char id[64];

	test_call(world->server, "CreateHttpNamespace", "{'Name':'a'}");
	snprintf(id, sizeof(id), "%s", test_text(world->server, "OperationId"));
	minutes_pass(world, 30);
	test_call(world->server, "CreateHttpNamespace", "{'Name':'b'}");
	world->server->caller.region = SPAN("us-east-1");
	test_call(world->server, "CreateHttpNamespace", "{'Name':'a'}");
	world->server->caller.region = SPAN("eu-west-1");
	minutes_pass(world, 29);
	test_call(world->server, "GetOperation", "{'OperationId':'%s'}", id);
	assert_string_equal(test_text(world->server, "Operation.Status"), "SUCCESS");
	minutes_pass(world, 2);
	test_refused(world->server, "GetOperation", "OperationNotFound", id, "{'OperationId':'%s'}",
		id);
	assert_int_equal(count(world->server), 2);
	minutes_pass(world, 30);
	assert_int_equal(count(world->server), 0);
	/* Their effects remain. */
	test_call(world->server, "ListNamespaces", "{}");
	assert_int_equal(json_count(json_get(world->server->answer, "Namespaces")), 2);
}

/* Beyond the limit the oldest one goes; those of another region do not count. */
static void operations_have_a_limit(void **state)
{
	struct test_server *server = *state;
	char first[64], service[32];

	test_make_service(server, true, "", service);
	test_call(server, "ListOperations", "{}");
	snprintf(first, sizeof(first), "%s",
		arena_copy_span(server->arena,
			json_get_text(json_item(json_get(server->answer, "Operations"), 0), "Id"))
			.data);
	clock_manual_advance_ms(&server->clock, 1000);
	for (size_t i = 0; i < OPERATIONS_MAX - 1; i++)
		test_call(server, "RegisterInstance",
			"{'ServiceId':'%s','InstanceId':'i','Attributes':{}}", service);
	assert_int_equal(count(server), OPERATIONS_MAX);
	server->caller.region = SPAN("us-east-1");
	test_call(server, "CreateHttpNamespace", "{'Name':'a'}");
	server->caller.region = SPAN("eu-west-1");
	test_call(server, "GetOperation", "{'OperationId':'%s'}", first);
	test_call(server, "DeregisterInstance", "{'ServiceId':'%s','InstanceId':'i'}", service);
	test_refused(server, "GetOperation", "OperationNotFound", first, "{'OperationId':'%s'}",
		first);
	assert_int_equal(count(server), OPERATIONS_MAX + 1);
}

static void the_table_has_all_of_the_model_in_order(void **state)
{
	(void)state;
	assert_int_equal(cloudmap_service.operation_count, shape_servicediscovery.operation_count);
	for (size_t i = 0; i < cloudmap_service.operation_count; i++) {
		assert_string_equal(cloudmap_service.operations[i].name,
			shape_text(&shape_servicediscovery,
				shape_servicediscovery.operations[i].name)
				.data);
		assert_non_null(cloudmap_service.operations[i].run);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(operations_are_forgotten_after_an_hour, setup,
			teardown),
		TEST_WITH_SERVER(operations_have_a_limit),
		cmocka_unit_test(the_table_has_all_of_the_model_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
