/* Guarantees of the handlers: order, limits, one consistent view per transaction. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ecs/definition/task_definition.h"
#include "ecs/record/cluster.h"
#include "ecs/record/container_instance.h"
#include "ecs/test_server.h"

#define APP "'containerDefinitions':[{'name':'app','image':'i','memory':64}]"

static void every_row_is_in_the_model(void **state)
{
	(void)state;
	for (size_t i = 0; i < ecs_service.operation_count; i++) {
		const struct aws_operation *operation = &ecs_service.operations[i];

		assert_non_null(shape_find_operation(&shape_ecs, span_of(operation->name)));
		assert_non_null(operation->run);
		if (i > 0)
			assert_true(strcmp(operation[-1].name, operation->name) < 0);
	}
}

/* Each of a request's changes must see those before it. */
static void changes_of_one_request_see_each_other(void **state)
{
	struct test_server *server = *state;
	const struct json *answer;
	char instance[256];

	test_call(server, "CreateCluster", "{}");
	test_call(server, "RegisterContainerInstance", "{}");
	snprintf(instance, sizeof(instance), "%s",
		test_text(server, "containerInstance.containerInstanceArn"));
	test_call(server, "PutAttributes",
		"{'attributes':[{'name':'a','value':'1','targetId':'%s'},"
		"{'name':'b','value':'2','targetId':'%s'},{'name':'a','value':'3','targetId':'%s'}]"
		"}",
		instance, instance, instance);
	answer = test_call(server, "DescribeContainerInstances", "{'containerInstances':['%s']}",
		instance);
	answer = json_item(json_get(answer, "containerInstances"), 0);
	assert_int_equal(json_count(json_get(answer, "attributes")), 2);
	assert_int_equal(json_get_integer(answer, "version", 0), 4);
	/* Ten is the limit, within one request too, and then nothing of it is kept. */
	test_call(server, "PutAttributes",
		"{'attributes':[{'name':'c','targetId':'%s'},{'name':'d','targetId':'%s'},"
		"{'name':'e','targetId':'%s'},{'name':'f','targetId':'%s'},"
		"{'name':'g','targetId':'%s'},{'name':'h','targetId':'%s'},"
		"{'name':'i','targetId':'%s'}]}",
		instance, instance, instance, instance, instance, instance, instance);
	test_refused(server, "PutAttributes", "AttributeLimitExceededException", "10",
		"{'attributes':[{'name':'j','targetId':'%s'},{'name':'k','targetId':'%s'}]}",
		instance, instance);
	answer = test_call(server, "ListAttributes", "{'targetType':'container-instance'}");
	assert_int_equal(json_count(json_get(answer, "attributes")), 9);

	test_call(server, "RegisterTaskDefinition", "{'family':'f'," APP "}");
	test_call(server, "DeregisterTaskDefinition", "{'taskDefinition':'f:1'}");
	answer = test_call(server, "DeleteTaskDefinitions", "{'taskDefinitions':['f:1','f:1']}");
	assert_int_equal(json_count(json_get(answer, "taskDefinitions")), 2);
	assert_int_equal(json_count(json_get(answer, "failures")), 0);
}

static void a_refused_request_changes_nothing(void **state)
{
	struct test_server *server = *state;
	struct store_statistics before, after;

	test_call(server, "CreateCluster", "{'clusterName':'a'}");
	test_call(server, "RegisterContainerInstance", "{'cluster':'a'}");
	store_statistics(server->store, &before);
	test_refused(server, "DeleteCluster", "ClusterContainsContainerInstancesException",
		"Container Instances", "{'cluster':'a'}");
	test_refused(server, "CreateCluster", "InvalidParameterException", "inconsistent",
		"{'clusterName':'a','capacityProviders':['FARGATE']}");
	test_refused(server, "RegisterTaskDefinition", "InvalidParameterException",
		"aws:", "{'family':'f'," APP ",'tags':[{'key':'aws:a','value':'b'}]}");
	test_refused(server, "TagResource", "ResourceNotFoundException", "not found",
		"{'resourceArn':'arn:aws:ecs:eu-west-1:123456789012:task-definition/f:1',"
		"'tags':[{'key':'a','value':'b'}]}");
	test_refused(server, "ListTagsForResource", "InvalidParameterException", "not found",
		"{'resourceArn':'arn:aws:ecs:eu-west-1:123456789012:task-definition/f:1'}");
	store_statistics(server->store, &after);
	assert_int_equal(before.revision, after.revision);
	assert_int_equal(before.objects, after.objects);
}

/* Accounts and regions are isolated, even with equal names. */
static void nothing_of_others_is_in_reach(void **state)
{
	struct test_server *server = *state;

	test_call(server, "CreateCluster", "{'clusterName':'a'}");
	test_call(server, "RegisterTaskDefinition", "{'family':'f'," APP "}");
	server->caller.account = SPAN("210987654321");
	test_call(server, "ListClusters", "{}");
	assert_string_equal(test_texts(server, "clusterArns"), "");
	test_call(server, "ListTaskDefinitionFamilies", "{}");
	assert_string_equal(test_texts(server, "families"), "");
	test_refused(server, "DescribeTaskDefinition", "ClientException", "Unable to describe",
		"{'taskDefinition':'f'}");
	test_refused(server, "DeleteCluster", "InvalidParameterException", "another account",
		"{'cluster':'arn:aws:ecs:eu-west-1:123456789012:cluster/a'}");
	test_refused(server, "DeleteCluster", "ClusterNotFoundException", "Cluster not found",
		"{'cluster':'../../123456789012/eu-west-1/a'}");
	server->caller = (struct aws_caller){.account = SPAN("123456789012"),
		.user = SPAN("admin"),
		.region = SPAN("cn-north-1")};
	test_call(server, "CreateCluster", "{'clusterName':'a'}");
	assert_string_equal(test_text(server, "cluster.clusterArn"),
		"arn:aws-cn:ecs:cn-north-1:123456789012:cluster/a");
}

/* ---- lists ---- */

static void pages_have_no_gaps(void **state)
{
	struct test_server *server = *state;
	char token[512] = "";
	int seen = 0, pages = 0;

	for (int i = 0; i < 25; i++)
		test_call(server, "CreateCluster", "{'clusterName':'c%02d'}", i);
	do {
		const struct json *answer = test_call(server, "ListClusters",
			"{'maxResults':4,'nextToken':'%s'}", token);

		JSON_EACH_ITEM (json_get(answer, "clusterArns"), arn) {
			char expected[128];

			snprintf(expected, sizeof(expected),
				"arn:aws:ecs:eu-west-1:123456789012:cluster/c%02d", seen++);
			assert_true(span_is(json_text(arn), expected));
		}
		snprintf(token, sizeof(token), "%s", test_text(server, "nextToken"));
		pages++;
		/* Changes before the position shift no page. */
		test_call(server, "CreateCluster", "{'clusterName':'b%d'}", pages);
		test_call(server, "DeleteCluster", "{'cluster':'c00'}");
	} while (token[0]);
	assert_int_equal(seen, 25);
	assert_int_equal(pages, 7);
}

/* A request scans a bounded number of families, even if none of them matches. */
static void families_in_bounded_steps(void **state)
{
	struct test_server *server = *state;
	char token[512] = "";
	size_t found = 0, pages = 0;

	for (int i = 0; i < 2500; i++) {
		test_call(server, "RegisterTaskDefinition", "{'family':'f%04d'," APP "}", i);
		test_call(server, "DeregisterTaskDefinition", "{'taskDefinition':'f%04d:1'}", i);
		if (i != 1200)
			test_call(server, "RegisterTaskDefinition", "{'family':'f%04d'," APP "}",
				i);
	}
	do {
		const struct json *answer = test_call(server, "ListTaskDefinitionFamilies",
			"{'status':'INACTIVE','nextToken':'%s'}", token);

		found += json_count(json_get(answer, "families"));
		if (json_count(json_get(answer, "families")) > 0)
			assert_string_equal(test_texts(server, "families"), "f1200");
		snprintf(token, sizeof(token), "%s", test_text(server, "nextToken"));
		pages++;
	} while (token[0]);
	assert_int_equal(found, 1);
	assert_int_equal(pages, 3);
	/* A full page comes at once when families are wanted. */
	assert_int_equal(json_count(json_get(test_call(server, "ListTaskDefinitionFamilies",
						     "{'familyPrefix':'f2'}"),
				 "families")),
		100);
}

static void instances_in_bounded_steps(void **state)
{
	struct test_server *server = *state;
	char token[512] = "";
	size_t found = 0, pages = 0;

	test_call(server, "CreateCluster", "{}");
	for (int i = 0; i < 2500; i++)
		test_call(server, "RegisterContainerInstance",
			"{'attributes':[{'name':'odd','value':'%s'}]}", i == 1700 ? "yes" : "no");
	do {
		const struct json *answer = test_call(server, "ListContainerInstances",
			"{'filter':'attribute:odd == yes','nextToken':'%s'}", token);

		found += json_count(json_get(answer, "containerInstanceArns"));
		snprintf(token, sizeof(token), "%s", test_text(server, "nextToken"));
		pages++;
	} while (token[0]);
	assert_int_equal(found, 1);
	assert_int_equal(pages, 3);
	assert_int_equal(json_count(json_get(test_call(server, "ListContainerInstances", "{}"),
				 "containerInstanceArns")),
		100);
}

/* ---- numbers of revisions ---- */

static void numbers_are_never_used_twice(void **state)
{
	struct test_server *server = *state;

	for (int i = 1; i <= 12; i++) {
		test_call(server, "RegisterTaskDefinition", "{'family':'f'," APP "}");
		assert_int_equal(json_get_integer(json_get(server->answer, "taskDefinition"),
					 "revision", 0),
			i);
	}
	/* Ten comes behind nine. */
	test_call(server, "ListTaskDefinitions",
		"{'familyPrefix':'f','sort':'DESC','maxResults':4}");
	assert_string_equal(test_texts(server, "taskDefinitionArns"),
		"arn:aws:ecs:eu-west-1:123456789012:task-definition/f:12 "
		"arn:aws:ecs:eu-west-1:123456789012:task-definition/f:11 "
		"arn:aws:ecs:eu-west-1:123456789012:task-definition/f:10 "
		"arn:aws:ecs:eu-west-1:123456789012:task-definition/f:9");
	test_call(server, "DeregisterTaskDefinition", "{'taskDefinition':'f:12'}");
	test_call(server, "DeleteTaskDefinitions", "{'taskDefinitions':['f:12']}");
	test_refused(server, "DeregisterTaskDefinition", "InvalidParameterException",
		"is being deleted", "{'taskDefinition':'f:12'}");
	test_call(server, "DescribeTaskDefinition", "{'taskDefinition':'f'}");
	assert_int_equal(json_get_integer(json_get(server->answer, "taskDefinition"), "revision",
				 0),
		11);
	test_call(server, "RegisterTaskDefinition", "{'family':'f'," APP "}");
	assert_int_equal(json_get_integer(json_get(server->answer, "taskDefinition"), "revision",
				 0),
		13);
	test_refused(server, "DeregisterTaskDefinition", "InvalidParameterException",
		"Invalid revision number. Number: x", "{'taskDefinition':'f:x'}");
}

static void times_come_from_the_clock(void **state)
{
	struct test_server *server = *state;
	_buffer_ struct buffer text = {0};

	test_call(server, "RegisterTaskDefinition", "{'family':'f'," APP "}");
	clock_manual_advance_ms(&server->clock, 1500);
	test_call(server, "DeregisterTaskDefinition", "{'taskDefinition':'f:1'}");
	json_write(json_path(server->answer, "taskDefinition.registeredAt"), &text);
	buffer_add_char(&text, ' ');
	json_write(json_path(server->answer, "taskDefinition.deregisteredAt"), &text);
	assert_true(span_is(buffer_span(&text), "1700000000.123 1700000001.623"));
}

/* A document has a limit of its own, so that a hundred of them fit into an answer. */
static void documents_are_limited(void **state)
{
	struct test_server *server = *state;
	_arena_ struct arena *arena = arena_new(0);
	char *prefix = arena_allocate(arena, 200001);

	memset(prefix, 'p', 200000);
	test_refused(server, "CreateCluster", "InvalidParameterException", "the limit is 131072",
		"{'configuration':{'executeCommandConfiguration':{'logging':'OVERRIDE',"
		"'logConfiguration':{'s3BucketName':'b','s3KeyPrefix':'%s'}}}}",
		prefix);
	test_call(server, "CreateCluster", "{}");
	test_refused(server, "RegisterContainerInstance", "InvalidParameterException",
		"the limit is 131072",
		"{'totalResources':[{'name':'GPU','stringSetValue':['%s']}]}", prefix);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_is_in_the_model),
		TEST_WITH_SERVER(changes_of_one_request_see_each_other),
		TEST_WITH_SERVER(a_refused_request_changes_nothing),
		TEST_WITH_SERVER(nothing_of_others_is_in_reach),
		TEST_WITH_SERVER(pages_have_no_gaps),
		TEST_WITH_SERVER(families_in_bounded_steps),
		TEST_WITH_SERVER(instances_in_bounded_steps),
		TEST_WITH_SERVER(numbers_are_never_used_twice),
		TEST_WITH_SERVER(times_come_from_the_clock),
		TEST_WITH_SERVER(documents_are_limited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
