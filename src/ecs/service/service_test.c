/* CreateService, UpdateService, DeleteService, DescribeServices, ListServices: rules and what is answered. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "aws/policy.h"
#include "ecs/service/service_revision.h"
#include "ecs/test_server.h"

#define ARN "arn:aws:ecs:eu-west-1:123456789012:"

static void prepare(struct test_server *server)
{
	test_call(server, "CreateCluster", "{}");
	for (int i = 0; i < 2; i++)
		test_call(server, "RegisterTaskDefinition",
			"{'family':'web','containerDefinitions':"
			"[{'name':'app','image':'busybox','memory':64}]}");
	test_call(server, "RegisterTaskDefinition",
		"{'family':'vpc','networkMode':'awsvpc','cpu':'256','memory':'512',"
		"'requiresCompatibilities':['FARGATE'],'containerDefinitions':"
		"[{'name':'app','image':'busybox'}]}");
}

static int setup(void **state)
{
	struct test_server *server = test_server_new();

	prepare(server);
	*state = server;
	return 0;
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, test_server_teardown)

static const struct json *member(struct test_server *server, const char *path)
{
	return json_path(server->answer, path);
}

static int64_t number(struct test_server *server, const char *path)
{
	int64_t value = INT64_MIN;

	json_integer(member(server, path), &value);
	return value;
}

/* A member of the first service of a DescribeServices answer, or of the one that was answered. */
static const struct json *of_service(struct test_server *server, const char *path)
{
	const struct json *service = json_get(server->answer, "service");

	if (!service)
		service = json_item(json_get(server->answer, "services"), 0);
	return json_path(service, path);
}

static const struct json *deployment(struct test_server *server, size_t index)
{
	return json_item(of_service(server, "deployments"), index);
}

static void assert_text(const struct json *value, const char *text)
{
	struct span found = json_text(value);

	if (!span_is(found, text))
		fail_msg("'%.*s' is not '%s'", SPAN_ARGS(found.data ? found : SPAN("nothing")),
			text);
}

static void describe(struct test_server *server, const char *name)
{
	test_call(server, "DescribeServices", "{'services':['%s']}", name);
	assert_int_equal(json_count(member(server, "failures")), 0);
}

/* ---- create ---- */

static void test_answers_what_was_asked_for(void **state)
{
	struct test_server *server = *state;
	const struct json *first;

	test_call(server, "CreateService",
		"{'serviceName':'shop','taskDefinition':'web','desiredCount':3,"
		"'tags':[{'key':'a','value':'b'}],'propagateTags':'SERVICE'}");
	assert_text(of_service(server, "serviceArn"), ARN "service/default/shop");
	assert_text(of_service(server, "clusterArn"), ARN "cluster/default");
	assert_text(of_service(server, "taskDefinition"), ARN "task-definition/web:2");
	assert_text(of_service(server, "status"), "ACTIVE");
	assert_text(of_service(server, "launchType"), "EC2");
	assert_text(of_service(server, "schedulingStrategy"), "REPLICA");
	assert_text(of_service(server, "deploymentController.type"), "ECS");
	assert_text(of_service(server, "propagateTags"), "SERVICE");
	assert_text(of_service(server, "createdBy"), "arn:aws:iam::123456789012:user/admin");
	assert_text(of_service(server, "availabilityZoneRebalancing"), "ENABLED");
	assert_int_equal(number(server, "service.desiredCount"), 3);
	assert_int_equal(number(server, "service.runningCount"), 0);
	assert_int_equal(number(server, "service.pendingCount"), 0);
	assert_int_equal(number(server, "service.deploymentConfiguration.maximumPercent"), 200);
	assert_int_equal(number(server, "service.deploymentConfiguration.minimumHealthyPercent"),
		100);
	assert_int_equal(json_count(of_service(server, "events")), 0);
	assert_int_equal(json_count(of_service(server, "tags")), 1);
	assert_int_equal(json_count(of_service(server, "deployments")), 1);
	first = deployment(server, 0);
	assert_text(json_get(first, "status"), "PRIMARY");
	assert_text(json_get(first, "rolloutState"), "IN_PROGRESS");
	assert_text(json_get(first, "taskDefinition"), ARN "task-definition/web:2");
	assert_true(span_starts_with(json_get_text(first, "id"), SPAN("ecs-svc/")));
	assert_int_equal(json_get_integer(first, "desiredCount", -1), 3);
	assert_int_equal(json_count(of_service(server, "currentServiceRevisions")), 1);
	describe(server, "shop");
	assert_null(of_service(server, "tags"));
	describe(server, ARN "service/default/shop");
	describe(server, ARN "service/shop");
}

static void test_refuses_what_makes_no_service(void **state)
{
	struct test_server *server = *state;
	static const struct {
		const char *type, *words, *input;
	} cases[] = {
		{"InvalidParameterException", "serviceName",
			"{'serviceName':'a b','taskDefinition':'web','desiredCount':1}"},
		{"InvalidParameterException", "desiredCount",
			"{'serviceName':'a','taskDefinition':'web'}"},
		{"InvalidParameterException", "desiredCount",
			"{'serviceName':'a','taskDefinition':'web','desiredCount':-1}"},
		{"InvalidParameterException", "desiredCount",
			"{'serviceName':'a','taskDefinition':'web','desiredCount':100001}"},
		{"InvalidParameterException", "taskDefinition",
			"{'serviceName':'a','desiredCount':1}"},
		{"ClientException", "TaskDefinition not found",
			"{'serviceName':'a','taskDefinition':'missing','desiredCount':1}"},
		{"ClusterNotFoundException", "Cluster not found.",
			"{'cluster':'nowhere','serviceName':'a','taskDefinition':'web',"
			"'desiredCount':1}"},
		{"InvalidParameterException", "both a launch type and capacity provider",
			"{'serviceName':'a','taskDefinition':'web','desiredCount':1,"
			"'launchType':'EC2','capacityProviderStrategy':"
			"[{'capacityProvider':'FARGATE','weight':1}]}"},
		{"InvalidParameterException", "not found",
			"{'serviceName':'a','taskDefinition':'web','desiredCount':1,"
			"'capacityProviderStrategy':[{'capacityProvider':'mine','weight':1}]}"},
		{"InvalidParameterException", "does not support launch_type FARGATE",
			"{'serviceName':'a','taskDefinition':'web','desiredCount':1,"
			"'launchType':'FARGATE'}"},
		{"InvalidParameterException", "must be provided when networkMode 'awsvpc'",
			"{'serviceName':'a','taskDefinition':'vpc','desiredCount':1,"
			"'launchType':'FARGATE'}"},
		{"InvalidParameterException", "not valid for the given networkMode",
			"{'serviceName':'a','taskDefinition':'web','desiredCount':1,"
			"'networkConfiguration':{'awsvpcConfiguration':{'subnets':['s']}}}"},
		{"PlatformUnknownException", "9.9.9",
			"{'serviceName':'a','taskDefinition':'vpc','desiredCount':1,"
			"'launchType':'FARGATE','platformVersion':'9.9.9',"
			"'networkConfiguration':{'awsvpcConfiguration':{'subnets':['s']}}}"},
		{"InvalidParameterException", "platform version",
			"{'serviceName':'a','taskDefinition':'web','desiredCount':1,"
			"'platformVersion':'1.4.0'}"},
		{"InvalidParameterException", "target group",
			"{'serviceName':'a','taskDefinition':'web','desiredCount':1,"
			"'loadBalancers':[{'targetGroupArn':'arn:tg','containerName':'app',"
			"'containerPort':80}]}"},
		{"InvalidParameterException", "registry",
			"{'serviceName':'a','taskDefinition':'web','desiredCount':1,"
			"'serviceRegistries':[{'registryArn':'arn:r'}]}"},
		{"InvalidParameterException", "cannot be 100",
			"{'serviceName':'a','taskDefinition':'web','desiredCount':1,"
			"'deploymentConfiguration':{'maximumPercent':100}}"},
		{"InvalidParameterException", "minimumHealthyPercent",
			"{'serviceName':'a','taskDefinition':'web','desiredCount':1,"
			"'deploymentConfiguration':{'minimumHealthyPercent':101}}"},
		{"InvalidParameterException", "maximumPercent",
			"{'serviceName':'a','taskDefinition':'web','desiredCount':1,"
			"'deploymentConfiguration':{'maximumPercent':99}}"},
		{"InvalidParameterException", "alarm 'x'",
			"{'serviceName':'a','taskDefinition':'web','desiredCount':1,"
			"'deploymentConfiguration':{'alarms':{'alarmNames':['x'],'enable':true,"
			"'rollback':true}}}"},
		{"UnsupportedFeatureException", "BLUE_GREEN",
			"{'serviceName':'a','taskDefinition':'web','desiredCount':1,"
			"'deploymentConfiguration':{'strategy':'BLUE_GREEN'}}"},
		{"NamespaceNotFoundException", "ns",
			"{'serviceName':'a','taskDefinition':'web','desiredCount':1,"
			"'serviceConnectConfiguration':{'enabled':true,'namespace':'ns'}}"},
		{"InvalidParameterException", "load balancer",
			"{'serviceName':'a','taskDefinition':'web','desiredCount':1,"
			"'deploymentController':{'type':'CODE_DEPLOY'}}"},
		{"InvalidParameterException", "does not support a desired count",
			"{'serviceName':'a','taskDefinition':'web','desiredCount':1,"
			"'schedulingStrategy':'DAEMON'}"},
		{"InvalidParameterException", "does not support placement strategies",
			"{'serviceName':'a','taskDefinition':'web','schedulingStrategy':'DAEMON',"
			"'placementStrategy':[{'type':'random'}]}"},
		{"InvalidParameterException", "above 100 for maximumPercent",
			"{'serviceName':'a','taskDefinition':'web','schedulingStrategy':'DAEMON',"
			"'deploymentConfiguration':{'maximumPercent':200}}"},
		{"InvalidParameterException", "does not support the FARGATE launch type",
			"{'serviceName':'a','taskDefinition':'vpc','schedulingStrategy':'DAEMON',"
			"'launchType':'FARGATE',"
			"'networkConfiguration':{'awsvpcConfiguration':{'subnets':['s']}}}"},
		{"InvalidParameterException", "EXTERNAL deployment controller",
			"{'serviceName':'a','schedulingStrategy':'DAEMON',"
			"'deploymentController':{'type':'EXTERNAL'}}"},
		{"InvalidParameterException", "must be blank",
			"{'serviceName':'a','taskDefinition':'web','desiredCount':1,"
			"'deploymentController':{'type':'EXTERNAL'}}"},
		{"InvalidParameterException", "placementConstraints",
			"{'serviceName':'a','taskDefinition':'web','desiredCount':1,"
			"'placementConstraints':[{'type':'memberOf','expression':'((('}]}"},
		{"InvalidParameterException", "placementStrategy",
			"{'serviceName':'a','taskDefinition':'web','desiredCount':1,"
			"'placementStrategy':[{'type':'spread','field':'nonsense'}]}"},
		{"InvalidParameterException", "healthCheckGracePeriodSeconds",
			"{'serviceName':'a','taskDefinition':'web','desiredCount':1,"
			"'healthCheckGracePeriodSeconds':-1}"},
		{"InvalidParameterException", "role",
			"{'serviceName':'a','taskDefinition':'web','desiredCount':1,'role':'r'}"},
		{"InvalidParameterException", "clientToken",
			"{'serviceName':'a','taskDefinition':'web','desiredCount':1,"
			"'clientToken':'1234567890123456789012345678901234567'}"},
		{"InvalidParameterException", "aws:",
			"{'serviceName':'a','taskDefinition':'web','desiredCount':1,"
			"'tags':[{'key':'aws:x','value':'y'}]}"},
	};

	for (size_t i = 0; i < LENGTH(cases); i++)
		test_refused(server, "CreateService", cases[i].type, cases[i].words, "%s",
			cases[i].input);
	test_call(server, "ListServices", "{}");
	assert_int_equal(json_count(member(server, "serviceArns")), 0);
}

/* Ansible's ecs_service sends role: "" whenever its user named none. */
static void test_an_empty_role_is_no_role(void **state)
{
	struct test_server *server = *state;

	test_call(server, "CreateService",
		"{'serviceName':'a','taskDefinition':'web','desiredCount':1,'role':'',"
		"'clientToken':'','loadBalancers':[]}");
	assert_text(of_service(server, "serviceName"), "a");
	assert_null(of_service(server, "roleArn"));
}

static void test_an_inactive_definition_makes_no_service(void **state)
{
	struct test_server *server = *state;

	test_call(server, "DeregisterTaskDefinition", "{'taskDefinition':'web:1'}");
	test_refused(server, "CreateService", "ClientException", "inactive",
		"{'serviceName':'a','taskDefinition':'web:1','desiredCount':1}");
}

static void test_fargate_services_have_a_platform(void **state)
{
	struct test_server *server = *state;

	test_call(server, "CreateService",
		"{'serviceName':'a','taskDefinition':'vpc','desiredCount':1,'launchType':'FARGATE',"
		"'networkConfiguration':{'awsvpcConfiguration':{'subnets':['s'],"
		"'assignPublicIp':'ENABLED'}}}");
	assert_text(of_service(server, "platformVersion"), "LATEST");
	assert_text(of_service(server, "platformFamily"), "Linux");
	assert_text(json_get(deployment(server, 0), "launchType"), "FARGATE");
	assert_text(of_service(server, "networkConfiguration.awsvpcConfiguration.assignPublicIp"),
		"ENABLED");
	assert_non_null(of_service(server, "roleArn"));
}

static void test_default_strategy_of_the_cluster_counts(void **state)
{
	struct test_server *server = *state;

	test_call(server, "CreateCluster",
		"{'clusterName':'far','capacityProviders':['FARGATE','FARGATE_SPOT'],"
		"'defaultCapacityProviderStrategy':[{'capacityProvider':'FARGATE','weight':1}]}");
	test_call(server, "CreateService",
		"{'cluster':'far','serviceName':'a','taskDefinition':'vpc','desiredCount':1,"
		"'networkConfiguration':{'awsvpcConfiguration':{'subnets':['s']}}}");
	assert_null(of_service(server, "launchType"));
	assert_int_equal(json_count(of_service(server, "capacityProviderStrategy")), 1);
	test_refused(server, "UpdateService", "InvalidParameterException", "force a new deployment",
		"{'cluster':'far','service':'a','capacityProviderStrategy':"
		"[{'capacityProvider':'FARGATE_SPOT','weight':1}]}");
	test_call(server, "UpdateService",
		"{'cluster':'far','service':'a','forceNewDeployment':true,"
		"'capacityProviderStrategy':[{'capacityProvider':'FARGATE_SPOT','weight':1}]}");
	assert_int_equal(json_count(of_service(server, "deployments")), 2);
	test_call(server, "UpdateService",
		"{'cluster':'far','service':'a','forceNewDeployment':true,"
		"'capacityProviderStrategy':[]}");
	assert_text(of_service(server, "launchType"), "FARGATE");
	assert_null(of_service(server, "capacityProviderStrategy"));
	test_refused(server, "CreateService", "InvalidParameterException", "DAEMON",
		"{'cluster':'far','serviceName':'d','taskDefinition':'vpc',"
		"'schedulingStrategy':'DAEMON',"
		"'networkConfiguration':{'awsvpcConfiguration':{'subnets':['s']}}}");
}

static void test_daemons_have_other_defaults(void **state)
{
	struct test_server *server = *state;

	test_call(server, "CreateService",
		"{'serviceName':'d','taskDefinition':'web','schedulingStrategy':'DAEMON'}");
	assert_int_equal(number(server, "service.desiredCount"), 0);
	assert_int_equal(number(server, "service.deploymentConfiguration.maximumPercent"), 100);
	assert_int_equal(number(server, "service.deploymentConfiguration.minimumHealthyPercent"),
		0);
	assert_text(of_service(server, "availabilityZoneRebalancing"), "DISABLED");
	test_refused(server, "UpdateService", "InvalidParameterException",
		"does not support a desired count", "{'service':'d','desiredCount':2}");
	test_call(server, "DeleteService", "{'service':'d'}");
	assert_text(of_service(server, "status"), "DRAINING");
}

static void test_names_are_taken_once(void **state)
{
	struct test_server *server = *state;
	static const char *const input = "{'serviceName':'a','taskDefinition':'web',"
					 "'desiredCount':%d,'clientToken':'%s'}";

	test_call(server, "CreateService", input, 1, "t1");
	test_call(server, "CreateService", input, 1, "t1");
	assert_int_equal(json_count(of_service(server, "deployments")), 1);
	test_refused(server, "CreateService", "InvalidParameterException", "not idempotent", input,
		2, "t1");
	test_refused(server, "CreateService", "InvalidParameterException", "not idempotent", input,
		1, "t2");
	test_refused(server, "CreateService", "InvalidParameterException", "not idempotent",
		"{'serviceName':'a','taskDefinition':'web','desiredCount':1}");
	test_call(server, "DeleteService", "{'service':'a','force':true}");
	test_refused(server, "CreateService", "InvalidParameterException", "still Draining", input,
		1, "t1");
}

/* ---- update ---- */

static void test_a_new_count_is_no_new_deployment(void **state)
{
	struct test_server *server = *state;

	test_call(server, "CreateService",
		"{'serviceName':'a','taskDefinition':'web','desiredCount':1}");
	test_call(server, "UpdateService",
		"{'service':'a','desiredCount':5,'deploymentConfiguration':"
		"{'minimumHealthyPercent':50,'deploymentCircuitBreaker':"
		"{'enable':true,'rollback':true}},'enableExecuteCommand':true,"
		"'propagateTags':'TASK_DEFINITION','healthCheckGracePeriodSeconds':7,"
		"'placementConstraints':[{'type':'distinctInstance'}]}");
	assert_int_equal(json_count(of_service(server, "deployments")), 1);
	assert_int_equal(number(server, "service.desiredCount"), 5);
	assert_int_equal(number(server, "service.healthCheckGracePeriodSeconds"), 7);
	assert_int_equal(number(server, "service.deploymentConfiguration.minimumHealthyPercent"),
		50);
	assert_int_equal(number(server, "service.deploymentConfiguration.maximumPercent"), 200);
	assert_true(json_is_true(of_service(server, "enableExecuteCommand")));
	assert_int_equal(json_count(of_service(server, "placementConstraints")), 1);
	test_call(server, "UpdateService", "{'service':'a','taskDefinition':'web:2'}");
	assert_int_equal(json_count(of_service(server, "deployments")), 1);
	test_call(server, "UpdateService", "{'service':'a','placementConstraints':[]}");
	assert_int_equal(json_count(of_service(server, "placementConstraints")), 0);
}

static void test_another_definition_is_a_new_deployment(void **state)
{
	struct test_server *server = *state;
	struct span first;

	test_call(server, "CreateService",
		"{'serviceName':'a','taskDefinition':'web:1','desiredCount':1}");
	first = json_get_text(deployment(server, 0), "id");
	clock_manual_advance_ms(&server->clock, 1000);
	test_call(server, "UpdateService", "{'service':'a','taskDefinition':'web'}");
	assert_int_equal(json_count(of_service(server, "deployments")), 2);
	assert_text(json_get(deployment(server, 0), "status"), "PRIMARY");
	assert_text(json_get(deployment(server, 0), "taskDefinition"), ARN "task-definition/web:2");
	assert_text(json_get(deployment(server, 1), "status"), "ACTIVE");
	assert_text(json_get(deployment(server, 1), "taskDefinition"), ARN "task-definition/web:1");
	assert_text(of_service(server, "taskDefinition"), ARN "task-definition/web:2");
	assert_int_equal(json_count(of_service(server, "currentServiceRevisions")), 2);
	test_call(server, "UpdateService", "{'service':'a','forceNewDeployment':true}");
	assert_int_equal(json_count(of_service(server, "deployments")), 3);
	assert_true(first.length > 0);
}

static void test_a_definition_in_use_may_be_inactive(void **state)
{
	struct test_server *server = *state;

	test_call(server, "CreateService",
		"{'serviceName':'a','taskDefinition':'web:1','desiredCount':1}");
	test_call(server, "DeregisterTaskDefinition", "{'taskDefinition':'web:1'}");
	test_call(server, "UpdateService", "{'service':'a','desiredCount':2}");
	test_call(server, "UpdateService", "{'service':'a','forceNewDeployment':true}");
	test_refused(server, "UpdateService", "ClientException", "inactive",
		"{'service':'a','taskDefinition':'web:1'}");
}

static void test_refused_updates_change_nothing(void **state)
{
	struct test_server *server = *state;

	test_refused(server, "UpdateService", "ServiceNotFoundException", "missing",
		"{'service':'missing'}");
	test_call(server, "CreateService",
		"{'serviceName':'a','taskDefinition':'web','desiredCount':1}");
	test_refused(server, "UpdateService", "InvalidParameterException", "desiredCount",
		"{'service':'a','desiredCount':-3,'taskDefinition':'web:1'}");
	test_refused(server, "UpdateService", "InvalidParameterException", "cannot be 100",
		"{'service':'a','desiredCount':3,'deploymentConfiguration':"
		"{'maximumPercent':100}}");
	test_refused(server, "UpdateService", "InvalidParameterException", "deploymentController",
		"{'service':'a','deploymentController':{'type':'EXTERNAL'}}");
	test_refused(server, "UpdateService", "InvalidParameterException", "networkMode",
		"{'service':'a','taskDefinition':'vpc'}");
	test_refused(server, "UpdateService", "ClusterNotFoundException", "Cluster not found.",
		"{'cluster':'nowhere','service':'a'}");
	describe(server, "a");
	assert_int_equal(json_get_integer(json_item(member(server, "services"), 0), "desiredCount",
				 -1),
		1);
	assert_int_equal(json_count(of_service(server, "deployments")), 1);
	test_call(server, "DeleteService", "{'service':'a','force':true}");
	test_refused(server, "UpdateService", "ServiceNotActiveException", "not ACTIVE",
		"{'service':'a','desiredCount':1}");
}

/* ---- delete ---- */

static void test_a_running_service_is_not_deleted_by_accident(void **state)
{
	struct test_server *server = *state;

	test_refused(server, "DeleteService", "ServiceNotFoundException", "missing",
		"{'service':'missing'}");
	test_call(server, "CreateService",
		"{'serviceName':'a','taskDefinition':'web','desiredCount':1}");
	test_refused(server, "DeleteService", "InvalidParameterException", "scaled above 0",
		"{'service':'a'}");
	test_call(server, "UpdateService", "{'service':'a','desiredCount':0}");
	assert_text(of_service(server, "status"), "ACTIVE");
	test_call(server, "DeleteService", "{'service':'" ARN "service/default/a'}");
	assert_text(of_service(server, "status"), "DRAINING");
	test_call(server, "DeleteService", "{'service':'a'}");
	assert_text(of_service(server, "status"), "DRAINING");
}

/* ---- describe and list ---- */

static void test_missing_services_are_failures(void **state)
{
	struct test_server *server = *state;

	test_call(server, "CreateCluster", "{'clusterName':'other'}");
	test_call(server, "CreateService",
		"{'cluster':'other','serviceName':'a','taskDefinition':'web','desiredCount':1}");
	test_call(server, "DescribeServices", "{'services':['a','" ARN "service/other/a']}");
	assert_int_equal(json_count(member(server, "services")), 0);
	assert_int_equal(json_count(member(server, "failures")), 2);
	assert_text(json_get(json_item(member(server, "failures"), 0), "arn"), ARN "service/a");
	assert_text(json_get(json_item(member(server, "failures"), 0), "reason"), "MISSING");
	test_call(server, "DescribeServices",
		"{'cluster':'other','services':['a','" ARN "service/other/a']}");
	assert_int_equal(json_count(member(server, "services")), 2);
	test_refused(server, "DescribeServices", "InvalidParameterException", "empty",
		"{'services':[]}");
	test_refused(server, "DescribeServices", "InvalidParameterException", "at most 10 items",
		"{'services':['1','2','3','4','5','6','7','8','9','10','11']}");
	test_refused(server, "DescribeServices", "ClusterNotFoundException", "Cluster not found.",
		"{'cluster':'nowhere','services':['a']}");
}

static void test_lists_have_pages_and_filters(void **state)
{
	struct test_server *server = *state;
	size_t seen = 0;
	char token[512] = "";

	for (int i = 0; i < 12; i++)
		test_call(server, "CreateService",
			"{'serviceName':'s%02d','taskDefinition':'web','desiredCount':0}", i);
	test_call(server, "CreateService",
		"{'serviceName':'d','taskDefinition':'web','schedulingStrategy':'DAEMON'}");
	test_call(server, "ListServices", "{}");
	assert_int_equal(json_count(member(server, "serviceArns")), 10);
	test_call(server, "ListServices", "{'maxResults':5}");
	for (;;) {
		seen += json_count(member(server, "serviceArns"));
		snprintf(token, sizeof(token), "%s", test_text(server, "nextToken"));
		if (!token[0])
			break;
		test_call(server, "ListServices", "{'maxResults':5,'nextToken':'%s'}", token);
	}
	assert_int_equal(seen, 13);
	test_call(server, "ListServices", "{'schedulingStrategy':'DAEMON'}");
	assert_string_equal(test_texts(server, "serviceArns"), ARN "service/default/d");
	test_call(server, "ListServices", "{'launchType':'FARGATE'}");
	assert_int_equal(json_count(member(server, "serviceArns")), 0);
	test_call(server, "ListServices", "{'launchType':'EC2','maxResults':100}");
	assert_int_equal(json_count(member(server, "serviceArns")), 13);
	test_refused(server, "ListServices", "ClusterNotFoundException", "Cluster not found.",
		"{'cluster':'nowhere'}");
	test_refused(server, "ListServices", "InvalidParameterException", "maxResults",
		"{'maxResults':101}");
	test_refused(server, "ListServicesByNamespace", "NamespaceNotFoundException", "ns",
		"{'namespace':'ns'}");
}

/* ---- events of tasks, and the end of a service ---- */

static int end_service(struct store_transaction *transaction, void *context, struct err *err)
{
	const struct store_object *service = store_get(store_head(transaction), &service_kind,
		SPAN("123456789012/eu-west-1/default/a"));
	struct service_facts facts = *service_facts(service);
	_arena_ struct arena *arena = arena_new(0);

	(void)context;
	facts.status = SERVICE_INACTIVE;
	facts.ended_ms = TEST_SERVER_NOW_MS;
	return service_object_put_facts(transaction, service, &facts, arena, err);
}

static int add_event(struct store_transaction *transaction, void *context, struct err *err)
{
	struct test_server *server = context;
	_arena_ struct arena *arena = arena_new(0);

	return service_event_add(transaction, SPAN("123456789012/eu-west-1/default/a"),
		&server->random.random, TEST_SERVER_NOW_MS, arena, err, "number %llu.",
		(unsigned long long)store_next_revision(transaction));
}

static void write_now(struct test_server *server, store_write_function function)
{
	struct err err = {0};

	if (store_write_wait(server->store, function, server, NULL, &err) < 0)
		fail_msg("%s", err.message);
}

static void test_inactive_services_make_room(void **state)
{
	struct test_server *server = *state;

	test_call(server, "CreateService",
		"{'serviceName':'a','taskDefinition':'web','desiredCount':1,'clientToken':'t'}");
	for (int i = 0; i < SERVICE_EVENTS_MAX + 5; i++)
		write_now(server, add_event);
	describe(server, "a");
	assert_int_equal(json_count(of_service(server, "events")), SERVICE_EVENTS_MAX);
	assert_true(span_starts_with(json_get_text(json_item(of_service(server, "events"), 0),
					     "message"),
		SPAN("(service a) number ")));
	write_now(server, end_service);
	describe(server, "a");
	assert_text(of_service(server, "status"), "INACTIVE");
	test_call(server, "ListServices", "{}");
	assert_int_equal(json_count(member(server, "serviceArns")), 0);
	test_refused(server, "DeleteService", "ServiceNotFoundException", "a", "{'service':'a'}");
	test_refused(server, "UpdateService", "ServiceNotActiveException", "not ACTIVE",
		"{'service':'a','desiredCount':1}");
	test_call(server, "CreateService",
		"{'serviceName':'a','taskDefinition':'web','desiredCount':1,'clientToken':'t'}");
	assert_text(of_service(server, "status"), "ACTIVE");
	assert_int_equal(json_count(of_service(server, "events")), 0);
	assert_int_equal(json_count(of_service(server, "deployments")), 1);
}

/* ---- policies ---- */

static void denied(struct test_server *server, const char *operation, const char *input)
{
	test_refused(server, operation, "AccessDeniedException", "not authorized", "%s", input);
}

static void test_policies_speak_of_services(void **state)
{
	struct test_server *server = *state;
	_arena_ struct arena *arena = arena_new(0);
	const struct aws_policy *policy;
	char input[512];
	static const struct {
		const char *operation;
		const char *format; /* with the name of a service, in one of four ways */
	} cases[] = {
		{"CreateService", "{'serviceName':'%s','desiredCount':1,"
				  "'deploymentController':{'type':'EXTERNAL'}}"},
		{"UpdateService", "{'service':'%s','desiredCount':2}"},
		{"DescribeServices", "{'services':['%s']}"},
		{"UpdateService", "{'service':'" ARN "service/%s','cluster':'default'}"},
		{"UpdateService", "{'service':'" ARN "service/default/%s','cluster':'" ARN
				  "cluster/default'}"},
		{"CreateTaskSet", "{'service':'%s','cluster':'default','taskDefinition':'web'}"},
		{"DescribeTaskSets", "{'service':'%s','cluster':'default'}"},
		{"DescribeTaskSets", "{'service':'" ARN "service/default/%s','cluster':'" ARN
				     "cluster/default','taskSets':['ecs-svc/1']}"},
		{"ListServiceDeployments", "{'service':'%s'}"},
		{"DescribeServiceDeployments",
			"{'serviceDeploymentArns':['" ARN "service-deployment/default/%s/1']}"},
		{"DescribeServiceRevisions",
			"{'serviceRevisionArns':['" ARN "service-revision/default/%s/1']}"},
		{"DeleteService", "{'service':'%s','force':true}"},
	};
	struct err err = {0};

	if (aws_policy_parse(SPAN("{\"Version\":\"2012-10-17\",\"Statement\":[{\"Effect\":"
				  "\"Allow\","
				  "\"Action\":\"ecs:*\",\"Resource\":["
				  "\"arn:aws:ecs:*:*:service/default/mine\","
				  "\"arn:aws:ecs:*:*:task-set/default/mine/*\","
				  "\"arn:aws:ecs:*:*:service-deployment/default/mine/*\","
				  "\"arn:aws:ecs:*:*:service-revision/default/mine/*\"]}]}"),
		    arena, &policy, &err) < 0)
		fail_msg("%s", err.message);
	server->caller.policy = policy;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		snprintf(input, sizeof(input), cases[i].format, "yours");
		denied(server, cases[i].operation, input);
		snprintf(input, sizeof(input), cases[i].format, "mine");
		test_call(server, cases[i].operation, "%s", input);
	}
	denied(server, "ListServices", "{}");
	denied(server, "DescribeServices", "{'services':['mine','yours']}");
	denied(server, "UpdateService", "{'cluster':'other','service':'mine'}");
	denied(server, "ListServicesByNamespace", "{'namespace':'ns'}");
	server->caller.policy = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_answers_what_was_asked_for),
		TEST(test_refuses_what_makes_no_service),
		TEST(test_an_empty_role_is_no_role),
		TEST(test_an_inactive_definition_makes_no_service),
		TEST(test_fargate_services_have_a_platform),
		TEST(test_default_strategy_of_the_cluster_counts),
		TEST(test_daemons_have_other_defaults),
		TEST(test_names_are_taken_once),
		TEST(test_a_new_count_is_no_new_deployment),
		TEST(test_another_definition_is_a_new_deployment),
		TEST(test_a_definition_in_use_may_be_inactive),
		TEST(test_refused_updates_change_nothing),
		TEST(test_a_running_service_is_not_deleted_by_accident),
		TEST(test_missing_services_are_failures),
		TEST(test_lists_have_pages_and_filters),
		TEST(test_inactive_services_make_room),
		TEST(test_policies_speak_of_services),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
