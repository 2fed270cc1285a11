/* Notices of environments for webhooks: one for each change, in the transaction of the change. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "environment/model/notices.h"
#include "environment/test_manager.h"

#define KEY "123456789012/log"

static const char *const ends[] = {"deployment.completed", "health"};
static const char *const accounts[] = {"123456789012"};
static const struct webhook hooks[] = {
	{.name = "all", .url = "http://127.0.0.1:1/"},
	{.name = "ends", .url = "http://127.0.0.1:1/", .events = ends, .event_count = 2},
	{.name = "ours",
		.url = "http://127.0.0.1:1/",
		.accounts = accounts,
		.account_count = LENGTH(accounts)},
};
static const struct webhook_set set = {hooks, LENGTH(hooks)};

static int report_health(struct store_transaction *transaction, void *context, struct err *err)
{
	const struct store_object *object =
		store_get(store_head(transaction), &environment_kind, SPAN(KEY));
	struct environment_facts facts = *environment_facts(object);
	int code;

	(void)context;
	facts.unhealthy = !facts.unhealthy;
	code = environment_notice_health(transaction, &set, SPAN(KEY), &facts, 1, err);
	return code < 0 ? code
			: environment_put(transaction, &environment_kind, SPAN(KEY), object->api,
				  &facts, object->revision, err);
}

static size_t count_notices(struct test_manager *bench, const char *prefix)
{
	_view_ struct store_view *view = store_view_open(bench->server->store);

	return store_count(view, &notice_kind, -1, span_of(prefix), false);
}

static void test_notices_of_health_are_limited(void **state)
{
	struct test_manager *bench = test_manager_new(1);
	struct store_cursor cursor = {.kind = &notice_kind, .index = -1};
	struct json *body;
	const struct store_object *notice;
	int64_t before = 0, sequence;
	size_t count = 0;

	(void)state;
	test_call(bench->server, "CreateCluster", "{'clusterName':'default'}");
	test_call(bench->server, "RegisterTaskDefinition",
		"{'family':'log','containerDefinitions':[{'name':'a','image':'a','memory':16}]}");
	test_manager_ask(bench, "CreateEnvironment",
		"{'name':'log','taskDefinition':'log:1','instanceGroup':{'cluster':'default'}}");
	for (int i = 0; i < NOTICES_MAX + 7; i++)
		assert_int_equal(store_write_wait(bench->server->store, report_health, NULL, NULL,
					 NULL),
			0);
	assert_int_equal(count_notices(bench, "all/" KEY "/"), NOTICES_MAX);
	assert_int_equal(count_notices(bench, "ends/" KEY "/"), NOTICES_MAX);
	{
		_view_ struct store_view *view = store_view_open(bench->server->store);
		_arena_ struct arena *arena = arena_new(0);

		cursor.view = view;
		cursor.prefix = SPAN("all/" KEY "/");
		while ((notice = store_next(&cursor))) {
			assert_int_equal(json_parse(notice->api, arena, &body, NULL), 0);
			sequence = json_get_integer(body, "sequence", 0);
			assert_true(sequence > before);
			before = sequence;
			count++;
		}
		/* The last one has the number of dropped notices. */
		assert_int_equal(json_get_integer(body, "dropped", 0), 7);
		assert_int_equal(before, NOTICES_MAX + 7);
	}
	assert_int_equal(count, NOTICES_MAX);
	test_manager_free(bench);
}

/* Every status of a deployment, in the transaction that changes it. */
static void test_each_status_of_a_deployment_is_reported(void **state)
{
	struct test_manager *bench = test_manager_new(2);
	char version[64];

	(void)state;
	bench->context.webhooks = &set;
	test_call(bench->server, "CreateCluster", "{'clusterName':'default'}");
	test_call(bench->server, "RegisterTaskDefinition",
		"{'family':'log','containerDefinitions':[{'name':'a','image':'a','memory':16}]}");
	test_manager_ask(bench, "CreateEnvironment",
		"{'name':'log','taskDefinition':'log:1','instanceGroup':{'cluster':'default'}}");
	snprintf(version, sizeof(version), "%s", test_text(bench->server, "environmentVersion"));
	assert_int_equal(count_notices(bench, ""), 0);
	test_manager_ask(bench, "StartDeployment", "{'name':'log','environmentVersion':'%s'}",
		version);
	assert_int_equal(count_notices(bench, "all/"), 1);
	assert_int_equal(count_notices(bench, "ours/"), 1);
	assert_int_equal(count_notices(bench, "ends/"), 0);
	test_manager_ask(bench, "UpdateEnvironment", "{'name':'log','taskDefinition':'log:1'}");
	assert_int_equal(count_notices(bench, "all/"), 2);
	test_manager_free(bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_notices_of_health_are_limited),
		cmocka_unit_test(test_each_status_of_a_deployment_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
