/* Task sets: rules for EXTERNAL controllers, and their effects. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ecs/service/task_set.h"
#include "ecs/test_server.h"

#define ARN "arn:aws:ecs:eu-west-1:123456789012:"
#define IN_SHOP "'cluster':'default','service':'shop'"
#define ID_SIZE 64

static int setup(void **state)
{
	struct test_server *server = test_server_new();

	test_call(server, "CreateCluster", "{}");
	test_call(server, "RegisterTaskDefinition",
		"{'family':'web','containerDefinitions':"
		"[{'name':'app','image':'busybox','memory':64}]}");
	test_call(server, "CreateService",
		"{'serviceName':'shop','desiredCount':10,"
		"'deploymentController':{'type':'EXTERNAL'}}");
	*state = server;
	return 0;
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, test_server_teardown)

static int64_t number(const struct json *object, const char *path)
{
	int64_t value = INT64_MIN;

	json_integer(json_path(object, path), &value);
	return value;
}

static double real(const struct json *object, const char *path)
{
	double value = -1;

	json_double(json_path(object, path), &value);
	return value;
}

static void assert_text(const struct json *object, const char *path, const char *text)
{
	struct span found = json_text(json_path(object, path));

	if (!span_is(found, text))
		fail_msg("%s: '%.*s' is not '%s'", path,
			SPAN_ARGS(found.data ? found : SPAN("nothing")), text);
}

/* A set of this share; its id. */
static void make(struct test_server *server, const char *scale, char id[ID_SIZE])
{
	test_call(server, "CreateTaskSet",
		"{" IN_SHOP ",'taskDefinition':'web','scale':{'value':%s,'unit':'PERCENT'}}",
		scale);
	snprintf(id, ID_SIZE, "%s", test_text(server, "taskSet.id"));
}

static const struct json *inspect(struct test_server *server, const char *id)
{
	test_call(server, "DescribeTaskSets", "{" IN_SHOP ",'taskSets':['%s']}", id);
	assert_int_equal(json_count(json_get(server->answer, "failures")), 0);
	return json_item(json_get(server->answer, "taskSets"), 0);
}

static void test_a_new_set_is_active_and_has_its_share(void **state)
{
	struct test_server *server = *state;
	const struct json *set;

	test_call(server, "CreateTaskSet",
		"{" IN_SHOP ",'taskDefinition':'web','externalId':'blue',"
		"'scale':{'value':33.3,'unit':'PERCENT'},'tags':[{'key':'a','value':'b'}]}");
	set = json_get(server->answer, "taskSet");
	assert_text(set, "status", "ACTIVE");
	assert_text(set, "stabilityStatus", "STABILIZING");
	assert_text(set, "externalId", "blue");
	assert_text(set, "taskDefinition", ARN "task-definition/web:1");
	assert_text(set, "serviceArn", ARN "service/default/shop");
	assert_text(set, "clusterArn", ARN "cluster/default");
	assert_text(set, "launchType", "EC2");
	assert_int_equal(number(set, "computedDesiredCount"), 4);
	assert_int_equal(number(set, "runningCount"), 0);
	assert_int_equal(number(set, "pendingCount"), 0);
	assert_true(real(set, "scale.value") > 33.2 && real(set, "scale.value") < 33.4);
	assert_true(span_starts_with(json_get_text(set, "taskSetArn"),
		SPAN(ARN "task-set/default/shop/ecs-svc/")));
	assert_int_equal(json_count(json_get(set, "tags")), 1);
	test_call(server, "DescribeServices", "{'services':['shop']}");
	set = json_item(json_get(server->answer, "services"), 0);
	assert_int_equal(json_count(json_get(set, "taskSets")), 1);
	assert_int_equal(json_count(json_get(set, "deployments")), 0);
	assert_null(json_get(set, "taskDefinition"));
}

static void test_shares_are_rounded_up(void **state)
{
	struct test_server *server = *state;
	static const struct {
		const char *scale;
		int64_t computed;
	} cases[] = {{"0", 0}, {"100", 10}, {"0.01", 1}, {"30", 3}, {"30.1", 4}, {"99.9", 10}};
	char id[ID_SIZE];

	make(server, "0", id);
	for (size_t i = 0; i < LENGTH(cases); i++) {
		test_call(server, "UpdateTaskSet",
			"{" IN_SHOP ",'taskSet':'%s','scale':{'value':%s,'unit':'PERCENT'}}", id,
			cases[i].scale);
		assert_int_equal(number(server->answer, "taskSet.computedDesiredCount"),
			cases[i].computed);
	}
	test_call(server, "UpdateService", "{'service':'shop','desiredCount':3}");
	assert_int_equal(number(inspect(server, id), "computedDesiredCount"), 3);
	test_call(server, "UpdateTaskSet",
		"{" IN_SHOP ",'taskSet':'%s','scale':{'value':50,'unit':'PERCENT'}}", id);
	assert_int_equal(number(server->answer, "taskSet.computedDesiredCount"), 2);
	test_refused(server, "UpdateTaskSet", "InvalidParameterException", "between 0 and 100",
		"{" IN_SHOP ",'taskSet':'%s','scale':{'value':100.5,'unit':'PERCENT'}}", id);
	test_refused(server, "UpdateTaskSet", "InvalidParameterException", "between 0 and 100",
		"{" IN_SHOP ",'taskSet':'%s','scale':{'value':-1,'unit':'PERCENT'}}", id);
	test_refused(server, "UpdateTaskSet", "TaskSetNotFoundException", "ecs-svc/1",
		"{" IN_SHOP ",'taskSet':'ecs-svc/1','scale':{'value':1,'unit':'PERCENT'}}");
}

static void test_one_set_is_primary_and_the_service_looks_like_it(void **state)
{
	struct test_server *server = *state;
	const struct json *service;
	char blue[ID_SIZE], green[ID_SIZE];

	make(server, "100", blue);
	make(server, "0", green);
	test_call(server, "UpdateServicePrimaryTaskSet", "{" IN_SHOP ",'primaryTaskSet':'%s'}",
		blue);
	assert_text(server->answer, "taskSet.status", "PRIMARY");
	test_call(server, "UpdateServicePrimaryTaskSet",
		"{" IN_SHOP ",'primaryTaskSet':'" ARN "task-set/default/shop/%s'}", green);
	assert_text(inspect(server, blue), "status", "ACTIVE");
	assert_text(inspect(server, green), "status", "PRIMARY");
	test_call(server, "DescribeServices", "{'services':['shop']}");
	service = json_item(json_get(server->answer, "services"), 0);
	assert_text(service, "taskDefinition", ARN "task-definition/web:1");
	assert_text(service, "launchType", "EC2");
	test_refused(server, "UpdateServicePrimaryTaskSet", "TaskSetNotFoundException", "missing",
		"{" IN_SHOP ",'primaryTaskSet':'missing'}");
}

static void test_a_set_with_tasks_is_not_deleted_by_accident(void **state)
{
	struct test_server *server = *state;
	char id[ID_SIZE], other[ID_SIZE];

	make(server, "50", id);
	make(server, "0", other);
	test_refused(server, "DeleteTaskSet", "InvalidParameterException", "scaled above 0",
		"{" IN_SHOP ",'taskSet':'%s'}", id);
	test_call(server, "DeleteTaskSet", "{" IN_SHOP ",'taskSet':'%s','force':true}", id);
	assert_text(server->answer, "taskSet.status", "DRAINING");
	assert_int_equal(number(server->answer, "taskSet.computedDesiredCount"), 0);
	test_refused(server, "UpdateTaskSet", "InvalidParameterException", "DRAINING",
		"{" IN_SHOP ",'taskSet':'%s','scale':{'value':1,'unit':'PERCENT'}}", id);
	test_refused(server, "UpdateServicePrimaryTaskSet", "InvalidParameterException", "DRAINING",
		"{" IN_SHOP ",'primaryTaskSet':'%s'}", id);
	test_call(server, "DeleteTaskSet", "{" IN_SHOP ",'taskSet':'%s'}", other);
	assert_text(server->answer, "taskSet.status", "DRAINING");
	/* A larger service does not wake it. */
	test_call(server, "UpdateService", "{'service':'shop','desiredCount':40}");
	assert_int_equal(number(inspect(server, id), "computedDesiredCount"), 0);
	test_refused(server, "DeleteTaskSet", "TaskSetNotFoundException", "ecs-svc/1",
		"{" IN_SHOP ",'taskSet':'ecs-svc/1'}");
}

static void test_five_sets_are_enough(void **state)
{
	struct test_server *server = *state;
	char id[ID_SIZE];

	for (int i = 0; i < TASK_SETS_MAX; i++)
		make(server, "10", id);
	test_refused(server, "CreateTaskSet", "InvalidParameterException",
		"exceeds the maximum limit", "{" IN_SHOP ",'taskDefinition':'web'}");
	test_call(server, "DescribeTaskSets", "{" IN_SHOP "}");
	assert_int_equal(json_count(json_get(server->answer, "taskSets")), TASK_SETS_MAX);
}

static void test_the_same_token_makes_one_set(void **state)
{
	struct test_server *server = *state;
	static const char *const input =
		"{" IN_SHOP ",'taskDefinition':'web','externalId':'%s','clientToken':'t'}";
	char id[ID_SIZE];

	test_call(server, "CreateTaskSet", input, "x");
	snprintf(id, sizeof(id), "%s", test_text(server, "taskSet.id"));
	test_call(server, "CreateTaskSet", input, "x");
	assert_string_equal(test_text(server, "taskSet.id"), id);
	test_refused(server, "CreateTaskSet", "InvalidParameterException", "not idempotent", input,
		"y");
	test_call(server, "DescribeTaskSets", "{" IN_SHOP "}");
	assert_int_equal(json_count(json_get(server->answer, "taskSets")), 1);
}

static void test_bad_sets_are_refused(void **state)
{
	struct test_server *server = *state;

	test_call(server, "CreateService",
		"{'serviceName':'plain','taskDefinition':'web','desiredCount':0}");
	test_refused(server, "CreateTaskSet", "InvalidParameterException",
		"external deployment controllers",
		"{'cluster':'default','service':'plain','taskDefinition':'web'}");
	test_refused(server, "DescribeTaskSets", "InvalidParameterException",
		"external deployment controllers", "{'cluster':'default','service':'plain'}");
	test_refused(server, "CreateTaskSet", "ServiceNotFoundException", "missing",
		"{'cluster':'default','service':'missing','taskDefinition':'web'}");
	test_refused(server, "CreateTaskSet", "ClusterNotFoundException", "Cluster not found.",
		"{'cluster':'nowhere','service':'shop','taskDefinition':'web'}");
	test_refused(server, "CreateTaskSet", "ClientException", "not found",
		"{" IN_SHOP ",'taskDefinition':'missing'}");
	test_refused(server, "CreateTaskSet", "InvalidParameterException", "between 0 and 100",
		"{" IN_SHOP ",'taskDefinition':'web','scale':{'value':101,'unit':'PERCENT'}}");
	test_refused(server, "CreateTaskSet", "InvalidParameterException", "networkMode",
		"{" IN_SHOP ",'taskDefinition':'web','networkConfiguration':"
		"{'awsvpcConfiguration':{'subnets':['s']}}}");
	test_refused(server, "CreateTaskSet", "InvalidParameterException", "target group",
		"{" IN_SHOP
		",'taskDefinition':'web','loadBalancers':[{'targetGroupArn':'arn:x'}]}");
	test_refused(server, "CreateTaskSet", "InvalidParameterException", "one at most",
		"{" IN_SHOP ",'taskDefinition':'web','loadBalancers':[{'targetGroupArn':'arn:x'},"
		"{'targetGroupArn':'arn:y'}]}");
	test_call(server, "DescribeTaskSets", "{" IN_SHOP ",'taskSets':['ecs-svc/1']}");
	assert_int_equal(json_count(json_get(server->answer, "failures")), 1);
	assert_text(json_item(json_get(server->answer, "failures"), 0), "arn",
		ARN "task-set/default/shop/ecs-svc/1");
	test_refused(server, "UpdateService", "InvalidParameterException", "CreateTaskSet",
		"{'service':'shop','taskDefinition':'web'}");
	test_refused(server, "UpdateService", "InvalidParameterException", "CreateTaskSet",
		"{'service':'shop','forceNewDeployment':true}");
}

static void test_a_service_goes_with_its_sets(void **state)
{
	struct test_server *server = *state;
	char id[ID_SIZE];

	make(server, "50", id);
	test_call(server, "UpdateService", "{'service':'shop','desiredCount':0}");
	test_refused(server, "DeleteService", "InvalidParameterException", "task sets",
		"{'service':'shop'}");
	test_call(server, "DeleteService", "{'service':'shop','force':true}");
	assert_text(json_item(json_path(server->answer, "service.taskSets"), 0), "status",
		"DRAINING");
	test_refused(server, "CreateTaskSet", "ServiceNotActiveException", "not ACTIVE",
		"{" IN_SHOP ",'taskDefinition':'web'}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_new_set_is_active_and_has_its_share),
		TEST(test_shares_are_rounded_up),
		TEST(test_one_set_is_primary_and_the_service_looks_like_it),
		TEST(test_a_set_with_tasks_is_not_deleted_by_accident),
		TEST(test_five_sets_are_enough),
		TEST(test_the_same_token_makes_one_set),
		TEST(test_bad_sets_are_refused),
		TEST(test_a_service_goes_with_its_sets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
