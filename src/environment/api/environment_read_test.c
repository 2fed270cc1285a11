/* Listing environments: whatever they are asked for by, those that are not meant are not looked at. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ecs/test_server.h"
#include "environment/api/operations.h"

#define ACCOUNT "123456789012"
#define OTHERS 1500 /* more than one page looks at: a scan would answer an empty page and a token */
#define MEANT "zz"  /* behind all others */

static const struct aws_operation operations[] = {
	{.name = "ListEnvironments", .mode = AWS_READ, .run = environment_list},
};
static const struct aws_service slipway = {.name = "slipway",
	.shapes = &shape_slipway,
	.operations = operations,
	.operation_count = LENGTH(operations),
	.invalid_input = "InvalidParameterException"};

static void count(void *context, struct span environment_key, struct environment_counts *ret_counts)
{
	(void)context;
	if (span_ends_with(environment_key, SPAN("/" MEANT)))
		ret_counts->active = ret_counts->unhealthy = 1;
}

static int put(struct store_transaction *transaction, struct span name,
	const struct environment_facts *facts, struct err *err)
{
	return environment_put(transaction, &environment_kind,
		environment_key(store_transaction_arena(transaction), SPAN(ACCOUNT), name),
		SPAN(""), facts, STORE_ABSENT, err);
}

static int make(struct store_transaction *transaction, void *context, struct err *err)
{
	struct environment_facts other = {.status = ENVIRONMENT_inactive,
		.cluster_refs = SPAN("there:" ACCOUNT "/eu-west-1/web"),
		.attributes = SPAN(";gpu=large;stack=test;")};
	struct environment_facts meant = {.type = ENVIRONMENT_TYPE_Cron,
		.status = ENVIRONMENT_active,
		.cluster_refs = SPAN(":" ACCOUNT "/eu-west-1/batch aws:999999999999/us-east-1/far "
				     "aws:" ACCOUNT "/eu-west-1/edge"),
		.attributes = SPAN(";gpu;stack=prod;"),
		.unhealthy = true};
	struct arena *arena = store_transaction_arena(transaction);
	int code = put(transaction, SPAN(MEANT), &meant, err);

	(void)context;
	for (int i = 0; code == 0 && i < OTHERS; i++)
		code = put(transaction, arena_format(arena, "a%04d", i), &other, err);
	return code;
}

static struct test_server *new_server(struct daemon_context *context)
{
	struct test_server_options options = {
		.kinds = daemon_kinds, .kind_count = daemon_kind_count};
	struct test_server *server = test_server_new_of(&options);
	struct err err = {0};

	aws_dispatcher_register(server->dispatcher, &slipway, context);
	if (store_write_wait(server->store, make, NULL, NULL, &err) < 0)
		fail_msg("%s", err.message);
	return server;
}

static void test_each_filter_is_an_index(void **state)
{
	static const char *const bodies[] = {
		"{'namePrefix':'z'}",
		/* A cluster by its name or ARN, own or remote, in any region and of any account. */
		"{'cluster':'batch'}",
		"{'cluster':'far'}",
		"{'cluster':'edge'}",
		"{'cluster':'arn:aws:ecs:eu-west-1:" ACCOUNT ":cluster/batch'}",
		"{'cluster':'arn:aws:ecs:us-east-1:999999999999:cluster/far'}",
		"{'cluster':'arn:aws:ecs:eu-west-1:" ACCOUNT ":cluster/edge'}",
		"{'target':'aws'}",
		"{'target':'local'}",
		"{'target':'aws','cluster':'far'}",
		"{'target':'aws','cluster':'arn:aws:ecs:eu-west-1:" ACCOUNT ":cluster/edge'}",
		"{'target':'local','cluster':'batch'}",
		"{'target':'local','namePrefix':'z','status':'active'}",
		"{'attributes':['gpu']}",
		"{'attributes':['stack=prod']}",
		"{'attributes':['stack=prod','gpu']}",
		"{'attributes':['gpu'],'cluster':'batch','health':'unhealthy','status':'active'}",
		"{'status':'active'}",
		"{'health':'unhealthy'}",
		"{'type':'Cron'}",
	};
	struct daemon_context context = {.count = count};
	struct test_server *server = new_server(&context);

	(void)state;
	for (size_t i = 0; i < LENGTH(bodies); i++) {
		const struct json *answer =
			test_call_to(server, &slipway, "ListEnvironments", "%s", bodies[i]);
		const struct json *list = json_get(answer, "environments");

		if (json_count(list) != 1 || json_get(answer, "nextToken") ||
			!span_is(json_get_text(json_item(list, 0), "name"), MEANT))
			fail_msg("%s: %zu environments%s", bodies[i], json_count(list),
				json_get(answer, "nextToken") ? " and a token" : "");
	}
	test_server_free(server);
}

/* Name, account, region and target are those of one cluster; what finds nothing finds it at once. */
static void test_a_cluster_is_of_its_own_place(void **state)
{
	static const char *const bodies[] = {
		"{'target':'local','cluster':'far'}",
		"{'target':'aws','cluster':'batch'}",
		"{'target':'aws','cluster':'arn:aws:ecs:eu-west-1:" ACCOUNT ":cluster/batch'}",
		"{'target':'aw'}",
		"{'target':'aws:999999999999'}",
		"{'cluster':'fa'}",
		"{'cluster':'us-east-1/far'}",
		"{'cluster':'999999999999/us-east-1/far'}",
		"{'cluster':'arn:aws:ecs:us-east-1:" ACCOUNT ":cluster/far'}",
		"{'cluster':'arn:aws:ecs:eu-west-1:999999999999:cluster/far'}",
		"{'cluster':'arn:aws:ecs:us-east-1:999999999999:service/far'}",
		"{'cluster':'arn:aws:sqs:us-east-1:999999999999:cluster/far'}",
		"{'cluster':'arn:aws-cn:ecs:us-east-1:999999999999:cluster/far'}",
		"{'cluster':'arn:aws:ecs'}",
	};
	struct daemon_context context = {.count = count};
	struct test_server *server = new_server(&context);

	(void)state;
	for (size_t i = 0; i < LENGTH(bodies); i++) {
		const struct json *answer =
			test_call_to(server, &slipway, "ListEnvironments", "%s", bodies[i]);

		if (json_count(json_get(answer, "environments")) != 0 ||
			json_get(answer, "nextToken"))
			fail_msg("%s: %zu environments%s", bodies[i],
				json_count(json_get(answer, "environments")),
				json_get(answer, "nextToken") ? " and a token" : "");
	}
	test_server_free(server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_filter_is_an_index),
		cmocka_unit_test(test_a_cluster_is_of_its_own_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
