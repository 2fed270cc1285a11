/* RunTask, StartTask and StopTask: errors, placement, and the documents of tasks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ecs/test_server.h"
#include "ecs/test_tasks.h"

#define APP "'containerDefinitions':[{'name':'app','image':'i','cpu':100,'memory':64}]"
#define TWO                                                                                        \
	"'containerDefinitions':[{'name':'app','image':'web','memoryReservation':32,'memory':64}," \
	"{'name':'log','image':'l','cpu':10,'memory':16,'essential':false}]"
#define FARGATE                                                                                    \
	"'networkMode':'awsvpc','requiresCompatibilities':['FARGATE'],'cpu':'256','memory':'512'," \
	"'containerDefinitions':[{'name':'app','image':'i'}]"
#define NETWORK "'networkConfiguration':{'awsvpcConfiguration':{'subnets':['subnet-1']}}"

static struct test_server *start(void **state, char instance[TEST_ID_SIZE])
{
	struct test_server *server = *state;

	test_call(server, "CreateCluster", "{}");
	test_instance(server, "default", 1000, 2000, "", instance);
	test_call(server, "RegisterTaskDefinition", "{'family':'web'," APP "}");
	test_call(server, "RegisterTaskDefinition", "{'family':'two'," TWO "}");
	test_call(server, "RegisterTaskDefinition", "{'family':'far'," FARGATE "}");
	return server;
}

static void a_task_is_shown_as_ecs_shows_it(void **state)
{
	char instance[TEST_ID_SIZE], id[TEST_ID_SIZE];
	struct test_server *server = start(state, instance);
	const struct json *task;
	char arn[256];

	test_run(server, id,
		"{'taskDefinition':'two','startedBy':'me','enableExecuteCommand':true,"
		"'tags':[{'key':'a','value':'b'}],'overrides':{'containerOverrides':["
		"{'name':'log','command':['x'],'memory':20,'environment':[{'name':'A','value':'1'}]"
		"}]}}");
	assert_int_equal(strlen(id), 32);
	task = json_item(json_get(server->answer, "tasks"), 0);
	snprintf(arn, sizeof(arn), TEST_ARN "task/default/%s", id);
	assert_string_equal(test_item(server, "tasks", 0, "taskArn"), arn);
	assert_string_equal(test_item(server, "tasks", 0, "clusterArn"),
		TEST_ARN "cluster/default");
	assert_string_equal(test_item(server, "tasks", 0, "taskDefinitionArn"),
		TEST_ARN "task-definition/two:1");
	snprintf(arn, sizeof(arn), TEST_ARN "container-instance/default/%s", instance);
	assert_string_equal(test_item(server, "tasks", 0, "containerInstanceArn"), arn);
	assert_string_equal(test_item(server, "tasks", 0, "lastStatus"), "PENDING");
	assert_string_equal(test_item(server, "tasks", 0, "desiredStatus"), "RUNNING");
	assert_string_equal(test_item(server, "tasks", 0, "healthStatus"), "UNKNOWN");
	assert_string_equal(test_item(server, "tasks", 0, "group"), "family:two");
	assert_string_equal(test_item(server, "tasks", 0, "startedBy"), "me");
	assert_string_equal(test_item(server, "tasks", 0, "launchType"), "EC2");
	assert_string_equal(test_item(server, "tasks", 0, "connectivity"), "CONNECTED");
	assert_string_equal(test_item(server, "tasks", 0, "availabilityZone"), "eu-west-1b");
	assert_string_equal(test_item(server, "tasks", 0, "cpu"), "10");
	assert_string_equal(test_item(server, "tasks", 0, "memory"), "52");
	assert_int_equal(json_get_integer(task, "version", 0), 1);
	assert_true(json_is(json_get(task, "createdAt"), JSON_NUMBER));
	assert_null(json_get(task, "platformVersion"));
	assert_int_equal(json_count(json_get(task, "attachments")), 0);
	assert_int_equal(json_count(json_get(task, "tags")), 1);
	assert_true(json_get_bool(task, "enableExecuteCommand", false));
	/* Containers, in the order of the definition. */
	task = json_get(task, "containers");
	assert_int_equal(json_count(task), 2);
	assert_true(span_is(json_get_text(json_item(task, 0), "name"), "app"));
	assert_true(span_is(json_get_text(json_item(task, 0), "image"), "web"));
	assert_true(span_is(json_get_text(json_item(task, 0), "cpu"), "0"));
	assert_true(span_is(json_get_text(json_item(task, 0), "memoryReservation"), "32"));
	assert_true(span_is(json_get_text(json_item(task, 1), "memory"), "20"));
	assert_true(span_is(json_get_text(json_item(task, 1), "lastStatus"), "PENDING"));
	assert_true(span_starts_with(json_get_text(json_item(task, 1), "containerArn"),
		SPAN(TEST_ARN "container/default/")));
	assert_int_equal(json_count(json_get(json_item(task, 0), "managedAgents")), 1);
	/* Every container has its place among the overrides. */
	task = json_path(json_item(json_get(server->answer, "tasks"), 0), "overrides");
	assert_int_equal(json_count(json_get(task, "containerOverrides")), 2);
	assert_true(span_is(json_get_text(json_item(json_get(task, "containerOverrides"), 0),
				    "name"),
		"app"));
	assert_int_equal(json_count(json_get(json_item(json_get(task, "containerOverrides"), 1),
				 "environment")),
		1);
	assert_true(json_is(json_get(task, "inferenceAcceleratorOverrides"), JSON_ARRAY));
}

static void a_task_with_its_own_network_is_provisioned_first(void **state)
{
	char instance[TEST_ID_SIZE], id[TEST_ID_SIZE];
	struct test_server *server = start(state, instance);
	const struct json *task, *interface;

	test_run(server, id, "{'taskDefinition':'far','launchType':'FARGATE'," NETWORK "}");
	task = json_item(json_get(server->answer, "tasks"), 0);
	assert_string_equal(test_item(server, "tasks", 0, "lastStatus"), "PROVISIONING");
	assert_string_equal(test_item(server, "tasks", 0, "launchType"), "FARGATE");
	assert_string_equal(test_item(server, "tasks", 0, "platformVersion"), "1.4.0");
	assert_string_equal(test_item(server, "tasks", 0, "platformFamily"), "Linux");
	assert_string_equal(test_item(server, "tasks", 0, "cpu"), "256");
	assert_null(json_get(task, "containerInstanceArn"));
	assert_int_equal(json_get_integer(json_get(task, "ephemeralStorage"), "sizeInGiB", 0), 20);
	interface = json_item(json_get(task, "attachments"), 0);
	assert_true(span_is(json_get_text(interface, "type"), "ElasticNetworkInterface"));
	assert_true(span_is(json_get_text(interface, "status"), "PRECREATED"));
	assert_true(span_is(json_get_text(json_item(json_get(interface, "details"), 0), "value"),
		"subnet-1"));
	assert_null(json_get(json_item(json_get(task, "containers"), 0), "networkBindings"));
	/* An awsvpc definition on EC2 has an interface too. */
	test_run(server, id, "{'taskDefinition':'far'," NETWORK "}");
	assert_string_equal(test_item(server, "tasks", 0, "lastStatus"), "PROVISIONING");
	assert_string_equal(test_item(server, "tasks", 0, "launchType"), "EC2");
}

static const struct refusal {
	const char *operation, *type, *words, *input;
} refusals[] = {
	{"RunTask", "ClusterNotFoundException", "Cluster not found",
		"'cluster':'no','taskDefinition':'web'"},
	{"RunTask", "ClientException", "TaskDefinition not found.", "'taskDefinition':'no'"},
	{"RunTask", "ClientException", "TaskDefinition not found.", "'taskDefinition':'web:9'"},
	{"RunTask", "InvalidParameterException", "TaskDefinition is inactive",
		"'taskDefinition':'old:1'"},
	{"RunTask", "InvalidParameterException", "count", "'taskDefinition':'web','count':0"},
	{"RunTask", "InvalidParameterException", "count", "'taskDefinition':'web','count':11"},
	{"RunTask", "InvalidParameterException",
		"Override for container named no is not a container",
		"'taskDefinition':'web','overrides':{'containerOverrides':[{'name':'no'}]}"},
	{"RunTask", "InvalidParameterException", "has no name",
		"'taskDefinition':'web','overrides':{'containerOverrides':[{'cpu':1}]}"},
	{"RunTask", "InvalidParameterException", "given twice",
		"'taskDefinition':'web','overrides':{'containerOverrides':[{'name':'app'},"
		"{'name':'app'}]}"},
	{"RunTask", "InvalidParameterException", "'cpu' must not be negative",
		"'taskDefinition':'web','overrides':{'containerOverrides':[{'name':'app','cpu':-1}]"
		"}"},
	{"RunTask", "InvalidParameterException", "4 MiB at least",
		"'taskDefinition':'web','overrides':{'containerOverrides':[{'name':'app','memory':"
		"3}]}"},
	{"RunTask", "InvalidParameterException", "'memory' setting",
		"'taskDefinition':'web','overrides':{'memory':'much'}"},
	{"RunTask", "InvalidParameterException", "more than the task's 'memory' of 32",
		"'taskDefinition':'web','overrides':{'memory':'32'}"},
	{"RunTask", "InvalidParameterException", "No Fargate configuration exists",
		"'taskDefinition':'far','launchType':'FARGATE','overrides':{'cpu':'300'}," NETWORK},
	{"RunTask", "InvalidParameterException", "only for tasks on Fargate",
		"'taskDefinition':'web','overrides':{'ephemeralStorage':{'sizeInGiB':30}}"},
	{"RunTask", "InvalidParameterException", "Remove one",
		"'taskDefinition':'web','launchType':'EC2','capacityProviderStrategy':"
		"[{'capacityProvider':'FARGATE','weight':1}]"},
	{"RunTask", "InvalidParameterException", "does not support launch_type FARGATE",
		"'taskDefinition':'web','launchType':'FARGATE'"},
	{"RunTask", "InvalidParameterException", "Network Configuration must be provided",
		"'taskDefinition':'far','launchType':'FARGATE'"},
	{"RunTask", "InvalidParameterException", "Network Configuration is not valid",
		"'taskDefinition':'web'," NETWORK},
	{"RunTask", "InvalidParameterException", "subnets can not be empty",
		"'taskDefinition':'far','networkConfiguration':{'awsvpcConfiguration':{'subnets':[]"
		"}}"},
	{"RunTask", "PlatformUnknownException", "does not exist",
		"'taskDefinition':'far','launchType':'FARGATE','platformVersion':'9'," NETWORK},
	{"RunTask", "PlatformTaskDefinitionIncompatibilityException", "ephemeralStorage",
		"'taskDefinition':'far','launchType':'FARGATE','platformVersion':'1.3.0'," NETWORK
		",'overrides':{'ephemeralStorage':{'sizeInGiB':30}}"},
	{"RunTask", "InvalidParameterException", "platform version must be null",
		"'taskDefinition':'web','platformVersion':'1.4.0'"},
	{"RunTask", "InvalidParameterException", "Placement constraints are not supported",
		"'taskDefinition':'far','launchType':'FARGATE'," NETWORK
		",'placementConstraints':[{'type':'distinctInstance'}]"},
	{"RunTask", "InvalidParameterException", "namespace",
		"'taskDefinition':'web','group':'service:web'"},
	{"RunTask", "InvalidParameterException", "group: quotes",
		"'taskDefinition':'web','group':'a\\u0022b'"},
	{"RunTask", "InvalidParameterException", "startedBy: quotes",
		"'taskDefinition':'web','startedBy':'a\\nb'"},
	{"RunTask", "InvalidParameterException", "propagateTags",
		"'taskDefinition':'web','propagateTags':'SERVICE'"},
	{"RunTask", "InvalidParameterException",
		"aws:", "'taskDefinition':'web','tags':[{'key':'aws:x','value':'y'}]"},
	{"RunTask", "InvalidParameterException", "clientToken",
		"'taskDefinition':'web','clientToken':'a b'"},
	{"RunTask", "UnsupportedFeatureException", "volumeConfigurations",
		"'taskDefinition':'web','volumeConfigurations':[{'name':'v'}]"},
	{"StartTask", "InvalidParameterException", "containerInstances",
		"'taskDefinition':'web','containerInstances':[]"},
	{"StartTask", "ClientException", "TaskDefinition not found.",
		"'taskDefinition':'no','containerInstances':['x']"},
	{"StartTask", "UnsupportedFeatureException", "volumeConfigurations",
		"'taskDefinition':'web','containerInstances':['x'],'volumeConfigurations':"
		"[{'name':'v'}]"},
	{"StopTask", "InvalidParameterException", "The referenced task was not found.",
		"'task':'0123456789abcdef0123456789abcdef'"},
	{"StopTask", "ClusterNotFoundException", "Cluster not found", "'cluster':'no','task':'x'"},
};

static void what_is_wrong_changes_nothing(void **state)
{
	char instance[TEST_ID_SIZE], text[9000];
	struct test_server *server = start(state, instance);
	struct store_statistics before, after;

	test_call(server, "RegisterTaskDefinition", "{'family':'old'," APP "}");
	test_call(server, "DeregisterTaskDefinition", "{'taskDefinition':'old:1'}");
	store_statistics(server->store, &before);
	for (size_t i = 0; i < LENGTH(refusals); i++)
		test_refused(server, refusals[i].operation, refusals[i].type, refusals[i].words,
			"{%s}", refusals[i].input);
	memset(text, 'x', sizeof(text));
	text[8300] = '\0';
	test_refused(server, "RunTask", "InvalidParameterException", "8192",
		"{'taskDefinition':'web','overrides':{'containerOverrides':[{'name':'app',"
		"'command':['%s']}]}}",
		text);
	text[129] = '\0';
	test_refused(server, "RunTask", "InvalidParameterException", "startedBy",
		"{'taskDefinition':'web','startedBy':'%s'}", text);
	test_refused(server, "RunTask", "InvalidParameterException", "clientToken",
		"{'taskDefinition':'web','clientToken':'%s'}", text);
	memset(text, 'x', sizeof(text));
	text[1025] = '\0';
	test_refused(server, "StopTask", "InvalidParameterException", "reason",
		"{'task':'x','reason':'%s'}", text);
	store_statistics(server->store, &after);
	assert_int_equal(before.revision, after.revision);
}

static void an_empty_cluster_has_no_place(void **state)
{
	struct test_server *server = *state;

	test_call(server, "CreateCluster", "{}");
	test_call(server, "RegisterTaskDefinition", "{'family':'web'," APP "}");
	test_refused(server, "RunTask", "InvalidParameterException",
		"No Container Instances were found in your cluster.", "{'taskDefinition':'web'}");
}

static void what_found_a_place_is_answered_even_if_more_did_not(void **state)
{
	char instance[TEST_ID_SIZE], id[TEST_ID_SIZE], arn[256];
	struct test_server *server = start(state, instance);

	/* Room for ten by CPU. */
	test_run(server, id, "{'taskDefinition':'web','count':7}");
	assert_int_equal(test_count(server, "tasks"), 7);
	assert_int_equal(test_count(server, "failures"), 0);
	test_run(server, id, "{'taskDefinition':'web','count':5}");
	assert_int_equal(test_count(server, "tasks"), 3);
	assert_int_equal(test_count(server, "failures"), 2);
	assert_string_equal(test_item(server, "failures", 1, "reason"), "RESOURCE:CPU");
	snprintf(arn, sizeof(arn), TEST_ARN "container-instance/default/%s", instance);
	assert_string_equal(test_item(server, "failures", 0, "arn"), arn);
	test_call(server, "RunTask", "{'taskDefinition':'web'}");
	assert_int_equal(test_count(server, "tasks"), 0);
	assert_int_equal(test_count(server, "failures"), 1);
	test_call(server, "StartTask", "{'taskDefinition':'web','containerInstances':['%s']}",
		instance);
	assert_string_equal(test_item(server, "failures", 0, "reason"), "RESOURCE:CPU");
	/* One that has stopped makes room. */
	test_change_task(server, "default", id, test_has_stopped);
	test_run(server, id, "{'taskDefinition':'web'}");
}

static void overrides_change_what_is_reserved(void **state)
{
	char instance[TEST_ID_SIZE], id[TEST_ID_SIZE];
	struct test_server *server = start(state, instance);

	test_run(server, id,
		"{'taskDefinition':'web','overrides':{'containerOverrides':[{'name':'app',"
		"'cpu':900}]}}");
	assert_string_equal(test_item(server, "tasks", 0, "cpu"), "900");
	test_call(server, "RunTask", "{'taskDefinition':'web','count':2}");
	assert_int_equal(test_count(server, "tasks"), 1);
	assert_int_equal(test_count(server, "failures"), 1);
	test_call(server, "DescribeContainerInstances", "{'containerInstances':['%s']}", instance);
	assert_int_equal(json_get_integer(json_item(json_get(server->answer, "containerInstances"),
						  0),
				 "pendingTasksCount", -1),
		2);
}

static void tags_come_from_request_definition_and_cluster(void **state)
{
	char instance[TEST_ID_SIZE], id[TEST_ID_SIZE];
	struct test_server *server = start(state, instance);

	test_call(server, "RegisterTaskDefinition",
		"{'family':'tagged'," APP
		",'tags':[{'key':'a','value':'1'},{'key':'b','value':'2'}]}");
	test_run(server, id, "{'taskDefinition':'tagged'}");
	assert_int_equal(json_count(json_get(json_item(json_get(server->answer, "tasks"), 0),
				 "tags")),
		0);
	test_run(server, id,
		"{'taskDefinition':'tagged','propagateTags':'TASK_DEFINITION','"
		"enableECSManagedTags':true,"
		"'tags':[{'key':'b','value':'3'}]}");
	test_call(server, "ListTagsForResource", "{'resourceArn':'" TEST_ARN "task/default/%s'}",
		id);
	assert_int_equal(test_count(server, "tags"), 3);
	assert_string_equal(test_item(server, "tags", 1, "value"), "3");
	assert_string_equal(test_item(server, "tags", 2, "key"), "aws:ecs:clusterName");
	assert_string_equal(test_item(server, "tags", 2, "value"), "default");
	test_call(server, "TagResource",
		"{'resourceArn':'" TEST_ARN "task/default/%s','tags':[{'key':'c','value':'4'}]}",
		id);
	test_call(server, "UntagResource",
		"{'resourceArn':'" TEST_ARN "task/default/%s','tagKeys':['a']}", id);
	test_call(server, "DescribeTasks", "{'tasks':['%s'],'include':['TAGS']}", id);
	assert_int_equal(json_count(json_get(json_item(json_get(server->answer, "tasks"), 0),
				 "tags")),
		3);
	/* Tags changed, and nothing else did. */
	assert_string_equal(test_item(server, "tasks", 0, "lastStatus"), "PENDING");
	test_refused(server, "TagResource", "ResourceNotFoundException", "not found",
		"{'resourceArn':'" TEST_ARN "task/default/0','tags':[{'key':'c','value':'4'}]}");
}

static void a_token_makes_a_request_run_once(void **state)
{
	char instance[TEST_ID_SIZE], first[TEST_ID_SIZE], again[TEST_ID_SIZE];
	struct test_server *server = start(state, instance);
	const struct json *ids;

	test_run(server, first, "{'taskDefinition':'web','count':2,'clientToken':'t/1'}");
	assert_int_equal(test_count(server, "tasks"), 2);
	/* In any order of members; null is as absent. */
	test_run(server, again,
		"{'clientToken':'t/1','count':2,'startedBy':null,'taskDefinition':'web'}");
	assert_string_equal(first, again);
	assert_int_equal(test_count(server, "tasks"), 2);
	test_refused(server, "RunTask", "ConflictException", "t/1",
		"{'taskDefinition':'web','count':3,'clientToken':'t/1'}");
	ids = json_get(server->answer, "resourceIds");
	assert_int_equal(json_count(ids), 2);
	assert_true(span_ends_with(json_text(json_item(ids, 0)), span_of(first)));
	/* Another token, another cluster: other tasks. */
	test_run(server, again, "{'taskDefinition':'web','count':2,'clientToken':'t/2'}");
	assert_string_not_equal(first, again);
	test_call(server, "CreateCluster", "{'clusterName':'b'}");
	test_instance(server, "b", 1000, 1000, "", instance);
	test_run(server, again, "{'cluster':'b','taskDefinition':'web','clientToken':'t/1'}");
	/* A day later it is free. */
	clock_manual_advance_ms(&server->clock, INT64_C(24) * 3600 * 1000);
	test_run(server, again, "{'taskDefinition':'web','count':3,'clientToken':'t/1'}");
	assert_string_not_equal(first, again);
	assert_int_equal(test_count(server, "tasks"), 3);
}

static void a_token_of_a_request_without_success_is_free(void **state)
{
	char instance[TEST_ID_SIZE], id[TEST_ID_SIZE];
	struct test_server *server = start(state, instance);

	test_call(server, "RunTask",
		"{'taskDefinition':'web','clientToken':'t','overrides':{'containerOverrides':["
		"{'name':'app','cpu':2000}]}}");
	assert_int_equal(test_count(server, "tasks"), 0);
	test_run(server, id, "{'taskDefinition':'web','clientToken':'t'}");
}

static void providers_share_by_base_and_weight(void **state)
{
	char instance[TEST_ID_SIZE], id[TEST_ID_SIZE];
	struct test_server *server = *state;
	size_t spot = 0;

	test_call(server, "CreateCluster", "{'capacityProviders':['FARGATE','FARGATE_SPOT']}");
	test_instance(server, "default", 10000, 10000, "", instance);
	test_call(server, "RegisterTaskDefinition", "{'family':'far'," FARGATE "}");
	test_run(server, id,
		"{'taskDefinition':'far','count':10," NETWORK ",'capacityProviderStrategy':["
		"{'capacityProvider':'FARGATE','base':2,'weight':1},"
		"{'capacityProvider':'FARGATE_SPOT','weight':3}]}");
	for (size_t i = 0; i < 10; i++) {
		assert_string_equal(test_item(server, "tasks", i, "launchType"), "FARGATE");
		spot += strcmp(test_item(server, "tasks", i, "capacityProviderName"),
				"FARGATE_SPOT") == 0;
	}
	assert_int_equal(spot, 6);
	test_refused(server, "RunTask", "InvalidParameterException", "not found",
		"{'taskDefinition':'far'," NETWORK ",'capacityProviderStrategy':["
		"{'capacityProvider':'mine','weight':1}]}");
}

static void start_task_uses_the_given_instances(void **state)
{
	char a[TEST_ID_SIZE], b[TEST_ID_SIZE], arn[256];
	struct test_server *server = start(state, a);

	test_instance(server, "default", 1000, 1000, "", b);
	test_call(server, "StartTask",
		"{'taskDefinition':'web','containerInstances':['%s','" TEST_ARN
		"container-instance/default/%s','missing']}",
		b, a);
	assert_int_equal(test_count(server, "tasks"), 2);
	snprintf(arn, sizeof(arn), TEST_ARN "container-instance/default/%s", b);
	assert_string_equal(test_item(server, "tasks", 0, "containerInstanceArn"), arn);
	assert_int_equal(test_count(server, "failures"), 1);
	assert_string_equal(test_item(server, "failures", 0, "reason"), "MISSING");
	assert_string_equal(test_item(server, "failures", 0, "arn"),
		TEST_ARN "container-instance/default/missing");
}

static void a_reference_starts_one_task_on_an_instance(void **state)
{
	char a[TEST_ID_SIZE], b[TEST_ID_SIZE], first[TEST_ID_SIZE], again[TEST_ID_SIZE];
	struct test_server *server = start(state, a);

	test_instance(server, "default", 1000, 1000, "", b);
	test_call(server, "StartTask",
		"{'taskDefinition':'web','containerInstances':['%s'],'referenceId':'job/7'}", a);
	test_id_of(test_item(server, "tasks", 0, "taskArn"), first);
	/* The same one, also if the instance is named twice; the other instance gets its own. */
	test_call(server, "StartTask",
		"{'taskDefinition':'web','containerInstances':['%s','%s','%s'],'referenceId':'job/"
		"7'}",
		a, b, a);
	assert_int_equal(test_count(server, "tasks"), 2);
	test_id_of(test_item(server, "tasks", 0, "taskArn"), again);
	assert_string_equal(first, again);
	/* References are of live tasks: a stopping one is replaced. */
	test_call(server, "StopTask", "{'task':'%s'}", first);
	test_call(server, "StartTask",
		"{'taskDefinition':'web','containerInstances':['%s'],'referenceId':'job/7'}", a);
	test_id_of(test_item(server, "tasks", 0, "taskArn"), again);
	assert_string_not_equal(first, again);
	/* Without one, each request starts a task. */
	test_call(server, "StartTask", "{'taskDefinition':'web','containerInstances':['%s']}", a);
	test_id_of(test_item(server, "tasks", 0, "taskArn"), first);
	assert_string_not_equal(first, again);
}

static void stopping_is_wanted_once(void **state)
{
	char instance[TEST_ID_SIZE], id[TEST_ID_SIZE];
	struct test_server *server = start(state, instance);

	test_run(server, id, "{'taskDefinition':'web'}");
	test_change_task(server, "default", id, test_has_run);
	test_call(server, "StopTask", "{'task':'" TEST_ARN "task/default/%s'}", id);
	assert_string_equal(test_text(server, "task.desiredStatus"), "STOPPED");
	assert_string_equal(test_text(server, "task.lastStatus"), "RUNNING");
	assert_string_equal(test_text(server, "task.stopCode"), "UserInitiated");
	assert_string_equal(test_text(server, "task.stoppedReason"), "Task stopped by user");
	assert_true(json_is(json_path(server->answer, "task.stoppingAt"), JSON_NUMBER));
	test_call(server, "StopTask", "{'task':'%s','reason':'again'}", id);
	assert_string_equal(test_text(server, "task.stoppedReason"), "Task stopped by user");
	test_change_task(server, "default", id, test_has_stopped);
	test_call(server, "StopTask", "{'task':'%s','reason':'too late'}", id);
	assert_string_equal(test_text(server, "task.lastStatus"), "STOPPED");
	test_run(server, id, "{'taskDefinition':'web'}");
	test_call(server, "StopTask", "{'task':'%s','reason':'enough \\u0022now\\u0022'}", id);
	assert_string_equal(test_text(server, "task.stoppedReason"), "enough \"now\"");
	/* One of another cluster is not found. */
	test_call(server, "CreateCluster", "{'clusterName':'b'}");
	test_refused(server, "StopTask", "InvalidParameterException", "was not found",
		"{'cluster':'b','task':'" TEST_ARN "task/default/%s'}", id);
}

/* Their ARNs begin otherwise; what a task shows is what other requests take. */
static void other_partitions_have_other_arns(void **state)
{
	char instance[TEST_ID_SIZE], id[TEST_ID_SIZE], arn[256];
	struct test_server *server = *state;

	server->caller.region = SPAN("cn-north-1");
	start(state, instance);
	test_run(server, id, "{'taskDefinition':'web'}");
	snprintf(arn, sizeof(arn), "%s", test_item(server, "tasks", 0, "taskArn"));
	assert_int_equal(strncmp(arn, "arn:aws-cn:ecs:cn-north-1:", 26), 0);
	test_call(server, "StartTask", "{'taskDefinition':'web','containerInstances':['%s']}",
		test_item(server, "tasks", 0, "containerInstanceArn"));
	assert_int_equal(test_count(server, "failures"), 0);
	test_call(server, "StopTask", "{'task':'%s'}", arn);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_WITH_SERVER(a_task_is_shown_as_ecs_shows_it),
		TEST_WITH_SERVER(a_task_with_its_own_network_is_provisioned_first),
		TEST_WITH_SERVER(what_is_wrong_changes_nothing),
		TEST_WITH_SERVER(an_empty_cluster_has_no_place),
		TEST_WITH_SERVER(what_found_a_place_is_answered_even_if_more_did_not),
		TEST_WITH_SERVER(overrides_change_what_is_reserved),
		TEST_WITH_SERVER(tags_come_from_request_definition_and_cluster),
		TEST_WITH_SERVER(a_token_makes_a_request_run_once),
		TEST_WITH_SERVER(a_token_of_a_request_without_success_is_free),
		TEST_WITH_SERVER(providers_share_by_base_and_weight),
		TEST_WITH_SERVER(start_task_uses_the_given_instances),
		TEST_WITH_SERVER(a_reference_starts_one_task_on_an_instance),
		TEST_WITH_SERVER(stopping_is_wanted_once),
		TEST_WITH_SERVER(other_partitions_have_other_arns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
