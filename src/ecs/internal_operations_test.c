/* Operations that only slipway's own calls reach: reservations, and the choice of tasks to preempt. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ecs/internal_operations.h"
#include "ecs/record/reservation.h"
#include "ecs/test_server.h"

#define WATCH "'cluster':'default','group':'env:watch'"
#define DEFINITION "'taskDefinition':'arn:aws:ecs:eu-west-1:123456789012:task-definition/watch:3'"
#define KEY "123456789012/eu-west-1/default/env:watch"

static int setup(void **state)
{
	struct test_server *server = test_server_new();

	server->caller.is_internal = true;
	*state = server;
	return 0;
}

static struct reservation_facts reservation(struct test_server *server)
{
	_view_ struct store_view *view = store_view_open(server->store);
	const struct store_object *object = store_get(view, &reservation_kind, SPAN(KEY));

	assert_non_null(object);
	return *reservation_facts(object);
}

static void assert_not_reserved(struct test_server *server)
{
	_view_ struct store_view *view = store_view_open(server->store);

	assert_null(store_get(view, &reservation_kind, SPAN(KEY)));
}

static uint64_t revision_of(struct test_server *server)
{
	_view_ struct store_view *view = store_view_open(server->store);

	return store_view_revision(view);
}

static void assert_invalid(struct test_server *server, const char *operation, const char *body,
	const char *message)
{
	_arena_ struct arena *arena = arena_new(0);
	struct span text = arena_copy_span(arena, span_of(body));

	for (size_t i = 0; i < text.length; i++)
		if (text.data[i] == '\'')
			((char *)text.data)[i] = '"';
	test_send(server, operation, text);
	assert_string_equal(server->error_type, "InvalidParameterException");
	assert_true(span_equal(test_message(server), span_of(message)));
}

static void put_and_deleted(void **state)
{
	struct test_server *server = *state;
	struct reservation_facts facts;

	test_call(server, "PutReservation",
		"{" WATCH "," DEFINITION ",'attributes':';rack=r1;','priority':7}");
	facts = reservation(server);
	assert_true(span_is(facts.family, "watch"));
	assert_int_equal(facts.revision, 3);
	assert_true(span_is(facts.attributes, ";rack=r1;"));
	assert_int_equal(facts.priority, 7);
	assert_int_equal(facts.since_ms, TEST_SERVER_NOW_MS);
	test_call(server, "DeleteReservation", "{" WATCH "}");
	assert_not_reserved(server);
	/* A repeated call has the same result. */
	test_call(server, "DeleteReservation", "{" WATCH "}");
}

/* Its instances have waited for it already, unless they are other ones. */
static void keeps_its_wait_with_its_attributes(void **state)
{
	struct test_server *server = *state;

	test_call(server, "PutReservation", "{" WATCH "," DEFINITION ",'attributes':';a;'}");
	clock_manual_advance_ms(&server->clock, 5000);
	test_call(server, "PutReservation",
		"{" WATCH "," DEFINITION ",'attributes':';a;','priority':1}");
	assert_int_equal(reservation(server).priority, 1);
	assert_int_equal(reservation(server).since_ms, TEST_SERVER_NOW_MS);
	test_call(server, "PutReservation", "{" WATCH "," DEFINITION ",'attributes':';b;'}");
	assert_int_equal(reservation(server).since_ms, TEST_SERVER_NOW_MS + 5000);
}

static void the_same_again_writes_nothing(void **state)
{
	struct test_server *server = *state;
	uint64_t revision;

	test_call(server, "PutReservation", "{" WATCH "," DEFINITION "}");
	revision = revision_of(server);
	test_call(server, "PutReservation", "{" WATCH "," DEFINITION "}");
	assert_int_equal(revision_of(server), revision);
}

/* placement_test.c has which tasks are chosen. */
static void preempted_tasks_are_listed(void **state)
{
	struct test_server *server = *state;
	const struct json *answer;
	char instance[256], task[256];

	test_call(server, "CreateCluster", "{}");
	test_call(server, "RegisterTaskDefinition",
		"{'family':'app','containerDefinitions':[{'name':'a','image':'host','memory':400}]"
		"}");
	for (int i = 0; i < 3; i++)
		test_call(server, "RegisterTaskDefinition",
			"{'family':'watch','containerDefinitions':[{'name':'w','image':'host',"
			"'memory':64}]}");
	test_call(server, "RegisterContainerInstance",
		"{'totalResources':[{'name':'CPU','type':'INTEGER','integerValue':1024},"
		"{'name':'MEMORY','type':'INTEGER','integerValue':450}]}");
	snprintf(instance, sizeof(instance), "%s",
		strrchr(test_text(server, "containerInstance.containerInstanceArn"), '/') + 1);
	test_call(server, "StartTask", "{'taskDefinition':'app','containerInstances':['%s']}",
		instance);
	answer = json_item(json_get(server->answer, "tasks"), 0);
	snprintf(task, sizeof(task), "%.*s", SPAN_ARGS(json_get_text(answer, "taskArn")));
	test_call(server, "PutReservation", "{" WATCH "," DEFINITION "}");
	answer = test_call(server, "ChoosePreemptedTasks", "{" WATCH ",'containerInstance':'%s'}",
		instance);
	assert_int_equal(json_count(json_get(answer, "tasks")), 0); /* it has no priority */
	test_call(server, "PutReservation", "{" WATCH "," DEFINITION ",'priority':1}");
	answer = test_call(server, "ChoosePreemptedTasks", "{" WATCH ",'containerInstance':'%s'}",
		instance);
	assert_int_equal(json_count(json_get(answer, "tasks")), 1);
	assert_true(span_is(json_text(json_item(json_get(answer, "tasks"), 0)),
		strrchr(task, '/') + 1));
}

static void bad_input_is_named(void **state)
{
	struct test_server *server = *state;

	assert_invalid(server, "PutReservation", "{'group':'g'}", "cluster: is required");
	assert_invalid(server, "DeleteReservation", "{'cluster':'c'}", "group: is required");
	assert_invalid(server, "PutReservation", "{" WATCH "}", "taskDefinition: is required");
	assert_invalid(server, "PutReservation", "{" WATCH ",'taskDefinition':'arn:x/watch'}",
		"taskDefinition: 'arn:x/watch' is not the ARN of a task definition");
	assert_invalid(server, "ChoosePreemptedTasks", "{" WATCH "}",
		"containerInstance: is required");
	assert_not_reserved(server);
}

/* As of any name that no operation has; and nothing has happened. */
static void clients_cannot_reach_them(void **state)
{
	struct test_server *server = *state;

	server->caller.is_internal = false;
	for (size_t i = 0; i < ECS_INTERNAL_OPERATION_COUNT; i++) {
		test_send(server, ecs_internal_operations[i].name,
			SPAN("{\"cluster\":\"default\",\"group\":\"env:watch\","
			     "\"taskDefinition\":\"arn:aws:ecs:r:1:task-definition/watch:3\","
			     "\"containerInstance\":\"i\"}"));
		assert_string_equal(server->error_type, "UnknownOperationException");
		if (i > 0)
			assert_true(strcmp(ecs_internal_operations[i - 1].name,
					    ecs_internal_operations[i].name) < 0);
	}
	assert_not_reserved(server);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, test_server_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(put_and_deleted),
		TEST(keeps_its_wait_with_its_attributes),
		TEST(the_same_again_writes_nothing),
		TEST(preempted_tasks_are_listed),
		TEST(bad_input_is_named),
		TEST(clients_cannot_reach_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
