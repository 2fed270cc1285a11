/* The reservation of a daemon environment follows its target version, its cluster and its end, also when the server that put
 * it is gone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ecs/record/reservation.h"
#include "environment/test_manager.h"

#define SCOPE "123456789012/eu-west-1/"

/* No instance: deployments are completed at once. */
static struct test_manager *new_bench(void)
{
	struct test_manager *bench = test_manager_new(1);

	test_call(bench->server, "CreateCluster", "{'clusterName':'default'}");
	test_call(bench->server, "CreateCluster", "{'clusterName':'other'}");
	test_call(bench->server, "RegisterTaskDefinition",
		"{'family':'log','containerDefinitions':[{'name':'a','image':'a','memory':16}]}");
	return bench;
}

static void deploy(struct test_manager *bench, const char *operation, const char *settings)
{
	char version[64];

	test_manager_ask(bench, operation, "{'name':'log','taskDefinition':'log:1',%s}", settings);
	snprintf(version, sizeof(version), "%s", test_text(bench->server, "environmentVersion"));
	test_manager_ask(bench, "StartDeployment", "{'name':'log','environmentVersion':'%s'}",
		version);
	test_manager_pass(bench, 5 * SECOND_US);
}

/* "CLUSTER:REVISION:PRIORITY" of each reservation. */
static const char *reservations(struct test_manager *bench, struct arena *arena)
{
	_view_ struct store_view *view = store_view_open(bench->server->store);
	struct store_cursor cursor = {.view = view, .kind = &reservation_kind, .index = -1};
	const struct store_object *object;
	struct span list = SPAN("");

	while ((object = store_next(&cursor))) {
		const struct reservation_facts *facts = reservation_facts(object);

		assert_true(span_starts_with(facts->cluster, SPAN(SCOPE)));
		assert_true(span_is(facts->group, "env:log"));
		list = arena_format(arena, "%.*s%.*s:%lld:%lld;", SPAN_ARGS(list),
			(int)(facts->cluster.length - strlen(SCOPE)),
			facts->cluster.data + strlen(SCOPE), (long long)facts->revision,
			(long long)facts->priority);
	}
	return arena_format(arena, "%.*s", SPAN_ARGS(list)).data;
}

static void assert_reservations(struct test_manager *bench, const char *wanted)
{
	_arena_ struct arena *arena = arena_new(0);

	assert_string_equal(reservations(bench, arena), wanted);
}

static void it_follows_the_target_version(void **state)
{
	struct test_manager *bench = new_bench();

	(void)state;
	test_manager_ask(bench, "CreateEnvironment",
		"{'name':'log','taskDefinition':'log:1','instanceGroup':{'cluster':'default'}}");
	test_manager_pass(bench, SECOND_US);
	assert_reservations(bench, ""); /* there is no deployment yet */
	deploy(bench, "UpdateEnvironment", "'instanceGroup':{'cluster':'default'},'priority':3");
	assert_reservations(bench, "default:1:3;");
	deploy(bench, "UpdateEnvironment", "'instanceGroup':{'cluster':'default'},'priority':4");
	assert_reservations(bench, "default:1:4;");
	deploy(bench, "UpdateEnvironment", "'instanceGroup':{'cluster':'other'}");
	assert_reservations(bench, "other:1:4;");
	test_manager_free(bench);
}

static void it_ends_with_the_environment(void **state)
{
	struct test_manager *bench = new_bench();

	(void)state;
	deploy(bench, "CreateEnvironment", "'instanceGroup':{'cluster':'default'}");
	assert_reservations(bench, "default:1:0;");
	test_manager_ask(bench, "DeleteEnvironment", "{'name':'log'}");
	test_manager_pass(bench, 5 * SECOND_US);
	assert_reservations(bench, "");
	test_manager_free(bench);
}

static int remove_it(struct store_transaction *transaction, void *context, struct err *err)
{
	(void)context;
	return store_delete(transaction, &reservation_kind, SPAN(SCOPE "default/env:log"),
		STORE_ANY, err);
}

/* As if the server before had ended between its record and the call. */
static void a_server_that_takes_over_puts_it_again(void **state)
{
	struct test_manager *bench = new_bench();
	struct err err = {0};

	(void)state;
	deploy(bench, "CreateEnvironment", "'instanceGroup':{'cluster':'default'}");
	test_manager_stop(bench);
	if (store_write_wait(bench->server->store, remove_it, NULL, NULL, &err) < 0)
		fail_msg("%s", err.message);
	test_manager_start(bench);
	test_manager_pass(bench, 60 * SECOND_US);
	assert_reservations(bench, "default:1:0;");
	test_manager_free(bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_follows_the_target_version),
		cmocka_unit_test(it_ends_with_the_environment),
		cmocka_unit_test(a_server_that_takes_over_puts_it_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
