/* DescribeTasks, ListTasks and the protection of tasks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ecs/test_server.h"
#include "ecs/test_tasks.h"

#define APP "'containerDefinitions':[{'name':'app','image':'i','cpu':1,'memory':6}]"
#define NETWORK "'networkConfiguration':{'awsvpcConfiguration':{'subnets':['subnet-1']}}"
#define FARGATE                                                                                    \
	"'networkMode':'awsvpc','requiresCompatibilities':['FARGATE'],'cpu':'256','memory':'512'," \
	"'containerDefinitions':[{'name':'app','image':'i'}]"

static struct test_server *start(void **state, char instance[TEST_ID_SIZE])
{
	struct test_server *server = *state;

	test_call(server, "CreateCluster", "{}");
	test_instance(server, "default", 100000, 100000, "", instance);
	test_call(server, "RegisterTaskDefinition", "{'family':'web'," APP "}");
	test_call(server, "RegisterTaskDefinition", "{'family':'web2'," APP "}");
	return server;
}

static int put_service(struct store_transaction *transaction, void *context, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	struct service_facts facts = {.status = SERVICE_ACTIVE, .launch_type = SPAN("EC2")};

	return service_object_put(transaction, &service_kind,
		arena_format(arena, TEST_ACCOUNT_KEY "/default/%s", (const char *)context),
		json_new_object(arena), &facts, NULL, STORE_ABSENT, arena, err);
}

/* The service alone: the test creates its tasks directly. */
static void make_service(struct test_server *server, const char *name)
{
	struct err err = {0};

	if (store_write_wait(server->store, put_service, (void *)name, NULL, &err) < 0)
		fail_msg("%s", err.message);
}

static void becomes_of_service(struct task_facts *facts)
{
	facts->service = SPAN("shop");
	facts->deployment = SPAN("ecs-svc/1234567890123456789");
}

static void wants_to_stop(struct task_facts *facts)
{
	facts->desired = TASK_STOPPED;
}

/* How many a ListTasks with these members gives on one page. */
static size_t listed(struct test_server *server, const char *members)
{
	test_call(server, "ListTasks", "{%s}", members);
	return test_count(server, "taskArns");
}

/* All pages of a ListTasks; every task once, in order. */
static size_t listed_by_pages(struct test_server *server, const char *members, size_t *ret_pages)
{
	char token[1024] = "", last[256] = "";
	size_t count = 0;

	*ret_pages = 0;
	do {
		test_call(server, "ListTasks", "{%s,'nextToken':'%s'}", members, token);
		for (size_t i = 0; i < test_count(server, "taskArns"); i++, count++) {
			struct span arn =
				json_text(json_item(json_get(server->answer, "taskArns"), i));

			assert_true(span_compare(span_of(last), arn) < 0);
			snprintf(last, sizeof(last), "%.*s", SPAN_ARGS(arn));
		}
		snprintf(token, sizeof(token), "%s", test_text(server, "nextToken"));
		++*ret_pages;
	} while (token[0]);
	return count;
}

static void described_are_those_that_are_there(void **state)
{
	char instance[TEST_ID_SIZE], id[TEST_ID_SIZE], other[TEST_ID_SIZE];
	struct test_server *server = start(state, instance);

	test_call(server, "CreateCluster", "{'clusterName':'b'}");
	test_instance(server, "b", 1000, 1000, "", instance);
	test_run(server, other, "{'cluster':'b','taskDefinition':'web'}");
	test_run(server, id, "{'taskDefinition':'web','tags':[{'key':'k','value':'v'}]}");
	test_call(server, "DescribeTasks",
		"{'tasks':['%s','" TEST_ARN "task/default/%s','" TEST_ARN
		"task/b/%s','%s','missing']}",
		id, id, other, other);
	assert_int_equal(test_count(server, "tasks"), 2);
	assert_null(json_get(json_item(json_get(server->answer, "tasks"), 0), "tags"));
	assert_int_equal(test_count(server, "failures"), 3);
	assert_string_equal(test_item(server, "failures", 0, "reason"), "MISSING");
	assert_string_equal(test_item(server, "failures", 2, "arn"),
		TEST_ARN "task/default/missing");
	test_call(server, "DescribeTasks", "{'tasks':['%s'],'include':['TAGS']}", id);
	assert_int_equal(json_count(json_get(json_item(json_get(server->answer, "tasks"), 0),
				 "tags")),
		1);
	test_call(server, "DescribeTasks", "{'cluster':'b','tasks':['%s']}", other);
	assert_int_equal(test_count(server, "tasks"), 1);
	test_refused(server, "DescribeTasks", "InvalidParameterException", "Tasks cannot be empty",
		"{'tasks':[]}");
	test_refused(server, "DescribeTasks", "ClusterNotFoundException", "Cluster not found",
		"{'cluster':'no','tasks':['%s']}", id);
}

static void at_most_a_hundred_are_described(void **state)
{
	char instance[TEST_ID_SIZE], id[TEST_ID_SIZE];
	struct test_server *server = start(state, instance);
	_buffer_ struct buffer list = {0};

	test_run(server, id, "{'taskDefinition':'web'}");
	for (int i = 0; i < 100; i++)
		buffer_format(&list, "%s'%s'", i ? "," : "", id);
	test_call(server, "DescribeTasks", "{'tasks':[%s]}", list.data);
	assert_int_equal(test_count(server, "tasks"), 100);
	test_refused(server, "DescribeTasks", "InvalidParameterException", "tasks",
		"{'tasks':[%s,'one more']}", list.data);
}

static void every_filter_filters(void **state)
{
	char a[TEST_ID_SIZE], b[TEST_ID_SIZE], id[TEST_ID_SIZE], members[512];
	struct test_server *server = start(state, a);

	test_call(server, "RegisterTaskDefinition", "{'family':'far'," FARGATE "}");
	test_run(server, id, "{'taskDefinition':'web','startedBy':'me/1','count':2}");
	test_run(server, id, "{'taskDefinition':'web2','startedBy':'me','count':3}");
	test_run(server, id, "{'taskDefinition':'far','launchType':'FARGATE'," NETWORK "}");
	test_instance(server, "default", 1000, 1000, "", b);
	test_call(server, "StartTask", "{'taskDefinition':'web','containerInstances':['%s']}", b);
	test_id_of(test_item(server, "tasks", 0, "taskArn"), id);
	make_service(server, "shop");
	make_service(server, "shopping");
	test_change_task(server, "default", id, becomes_of_service);
	assert_int_equal(listed(server, ""), 7);
	assert_int_equal(listed(server, "'cluster':'default'"), 7);
	assert_int_equal(listed(server, "'family':'web'"), 3);
	assert_int_equal(listed(server, "'family':'we'"), 0);
	assert_int_equal(listed(server, "'startedBy':'me'"), 3);
	assert_int_equal(listed(server, "'startedBy':'me/1'"), 2);
	assert_int_equal(listed(server, "'startedBy':'me/1','desiredStatus':'STOPPED'"), 0);
	assert_int_equal(listed(server, "'launchType':'FARGATE'"), 1);
	assert_int_equal(listed(server, "'launchType':'EC2'"), 6);
	assert_int_equal(listed(server, "'launchType':'EXTERNAL'"), 0);
	assert_int_equal(listed(server, "'serviceName':'shop'"), 1);
	assert_int_equal(listed(server, "'serviceName':'" TEST_ARN "service/default/shop'"), 1);
	assert_int_equal(listed(server, "'serviceName':'shopping'"), 0);
	assert_int_equal(listed(server, "'serviceName':'shop','family':'web2'"), 0);
	assert_int_equal(listed(server, "'serviceName':'shop','launchType':'EC2'"), 1);
	snprintf(members, sizeof(members), "'containerInstance':'%s'", b);
	assert_int_equal(listed(server, members), 1);
	snprintf(members, sizeof(members),
		"'containerInstance':'" TEST_ARN "container-instance/default/%s'", a);
	assert_int_equal(listed(server, members), 6);
	/* Desired STOPPED: no longer among RUNNING ones, whether it has stopped or not. */
	test_change_task(server, "default", id, wants_to_stop);
	assert_int_equal(listed(server, "'serviceName':'shop'"), 0);
	assert_int_equal(listed(server, "'serviceName':'shop','desiredStatus':'STOPPED'"), 1);
	assert_int_equal(listed(server, "'family':'web'"), 2);
	snprintf(members, sizeof(members), "'containerInstance':'%s'", b);
	assert_int_equal(listed(server, members), 0);
	snprintf(members, sizeof(members), "'desiredStatus':'STOPPED','containerInstance':'%s'", b);
	assert_int_equal(listed(server, members), 1);
	test_change_task(server, "default", id, test_has_stopped);
	assert_int_equal(listed(server, "'serviceName':'shop','desiredStatus':'STOPPED'"), 1);
	assert_int_equal(listed(server, members), 1);
	assert_int_equal(listed(server, "'desiredStatus':'STOPPED'"), 1);
	assert_int_equal(listed(server, "'desiredStatus':'STOPPED','family':'web'"), 1);
	assert_int_equal(listed(server, "'desiredStatus':'PENDING'"), 0);
}

static void wrong_filters_are_refused(void **state)
{
	char instance[TEST_ID_SIZE];
	struct test_server *server = start(state, instance);

	test_refused(server, "ListTasks", "ServiceNotFoundException", "Service not found",
		"{'serviceName':'no'}");
	test_refused(server, "ListTasks", "ClusterNotFoundException", "Cluster not found",
		"{'cluster':'no'}");
	test_refused(server, "ListTasks", "InvalidParameterException", "only filter",
		"{'startedBy':'me','family':'web'}");
	test_refused(server, "ListTasks", "InvalidParameterException", "is not of cluster",
		"{'containerInstance':'" TEST_ARN "container-instance/other/x'}");
	test_refused(server, "ListTasks", "InvalidParameterException", "maxResults",
		"{'maxResults':0}");
	test_refused(server, "ListTasks", "InvalidParameterException", "nextToken",
		"{'nextToken':'x'}");
	test_refused(server, "ListTasks", "InvalidParameterException", "desiredStatus",
		"{'desiredStatus':'GONE'}");
}

static void pages_have_every_task_once(void **state)
{
	char instance[TEST_ID_SIZE], id[TEST_ID_SIZE], token[1024], members[256];
	struct test_server *server = start(state, instance);
	size_t pages;

	make_service(server, "shop");
	for (int i = 0; i < 27; i++) {
		test_run(server, id, "{'taskDefinition':'web','count':10}");
		if (i % 2)
			test_change_task(server, "default", id, becomes_of_service);
		if (i % 4 == 1)
			test_change_task(server, "default", id, test_has_run);
	}
	assert_int_equal(listed(server, ""), 100);
	assert_int_equal(listed_by_pages(server, "'family':'web'", &pages), 270);
	assert_int_equal(pages, 3);
	assert_int_equal(listed_by_pages(server, "'maxResults':99", &pages), 270);
	assert_int_equal(listed_by_pages(server, "'serviceName':'shop','maxResults':4", &pages),
		13);
	assert_int_equal(pages, 4);
	assert_int_equal(listed_by_pages(server, "'serviceName':'shop','maxResults':13", &pages),
		13);
	assert_int_equal(pages, 1);
	snprintf(members, sizeof(members), "'launchType':'EC2','maxResults':100,'family':'web'");
	assert_int_equal(listed_by_pages(server, members, &pages), 270);
	/* A token is of its filters. */
	test_call(server, "ListTasks", "{'maxResults':5}");
	snprintf(token, sizeof(token), "%s", test_text(server, "nextToken"));
	test_refused(server, "ListTasks", "InvalidParameterException", "nextToken",
		"{'maxResults':5,'family':'web','nextToken':'%s'}", token);
}

/* A state that changes between two pages neither hides a task nor shows it twice. */
static void a_page_is_not_disturbed_by_changes(void **state)
{
	char instance[TEST_ID_SIZE], ids[20][TEST_ID_SIZE], token[1024];
	struct test_server *server = start(state, instance);
	size_t count;

	make_service(server, "shop");
	for (size_t i = 0; i < LENGTH(ids); i++) {
		test_run(server, ids[i], "{'taskDefinition':'web'}");
		test_change_task(server, "default", ids[i], becomes_of_service);
	}
	test_call(server, "ListTasks", "{'serviceName':'shop','maxResults':10}");
	count = test_count(server, "taskArns");
	snprintf(token, sizeof(token), "%s", test_text(server, "nextToken"));
	for (size_t i = 0; i < LENGTH(ids); i++)
		test_change_task(server, "default", ids[i], test_has_run);
	test_call(server, "ListTasks", "{'serviceName':'shop','maxResults':10,'nextToken':'%s'}",
		token);
	assert_int_equal(count + test_count(server, "taskArns"), 20);
	assert_string_equal(test_text(server, "nextToken"), "");
}

static void only_tasks_of_services_are_protected(void **state)
{
	char instance[TEST_ID_SIZE], own[TEST_ID_SIZE], id[TEST_ID_SIZE];
	struct test_server *server = start(state, instance);
	double until = 0;

	test_run(server, own, "{'taskDefinition':'web'}");
	test_run(server, id, "{'taskDefinition':'web'}");
	test_change_task(server, "default", id, becomes_of_service);
	test_call(server, "UpdateTaskProtection",
		"{'cluster':'default','tasks':['%s','%s','missing'],'protectionEnabled':true}", id,
		own);
	assert_int_equal(test_count(server, "protectedTasks"), 1);
	assert_int_equal(test_count(server, "failures"), 2);
	assert_string_equal(test_item(server, "failures", 0, "reason"), "TASK_NOT_VALID");
	assert_string_equal(test_item(server, "failures", 1, "reason"), "MISSING");
	json_double(json_get(json_item(json_get(server->answer, "protectedTasks"), 0),
			    "expirationDate"),
		&until);
	assert_int_equal((int64_t)(until * 1000 + 0.5), TEST_SERVER_NOW_MS + 120 * 60000);
	test_call(server, "GetTaskProtection", "{'cluster':'default','tasks':['%s','%s']}", id,
		own);
	assert_true(json_get_bool(json_item(json_get(server->answer, "protectedTasks"), 0),
		"protectionEnabled", false));
	assert_int_equal(test_count(server, "failures"), 1);
	/* Protection that has expired is not shown. */
	clock_manual_advance_ms(&server->clock, INT64_C(121) * 60000);
	test_call(server, "GetTaskProtection", "{'cluster':'default','tasks':['%s']}", id);
	assert_false(json_get_bool(json_item(json_get(server->answer, "protectedTasks"), 0),
		"protectionEnabled", true));
	assert_null(json_get(json_item(json_get(server->answer, "protectedTasks"), 0),
		"expirationDate"));
	test_call(server, "UpdateTaskProtection",
		"{'cluster':'default','tasks':['%s'],'protectionEnabled':true,'expiresInMinutes':"
		"2880}",
		id);
	test_call(server, "UpdateTaskProtection",
		"{'cluster':'default','tasks':['%s'],'protectionEnabled':false}", id);
	assert_false(json_get_bool(json_item(json_get(server->answer, "protectedTasks"), 0),
		"protectionEnabled", true));
	test_change_task(server, "default", id, test_has_stopped);
	test_call(server, "UpdateTaskProtection",
		"{'cluster':'default','tasks':['%s'],'protectionEnabled':true}", id);
	assert_string_equal(test_item(server, "failures", 0, "reason"), "TASK_NOT_VALID");
}

static void wrong_protection_is_refused(void **state)
{
	char instance[TEST_ID_SIZE];
	struct test_server *server = start(state, instance);
	static const char *const minutes[] = {"0", "-1", "2881"};

	for (size_t i = 0; i < LENGTH(minutes); i++)
		test_refused(server, "UpdateTaskProtection", "InvalidParameterException",
			"expiresInMinutes",
			"{'cluster':'default','tasks':['x'],'protectionEnabled':true,"
			"'expiresInMinutes':%s}",
			minutes[i]);
	test_refused(server, "UpdateTaskProtection", "InvalidParameterException", "tasks",
		"{'cluster':'default','tasks':[],'protectionEnabled':true}");
	test_refused(server, "UpdateTaskProtection", "InvalidParameterException", "tasks",
		"{'cluster':'default','tasks':['1','2','3','4','5','6','7','8','9','10','11'],"
		"'protectionEnabled':true}");
	test_refused(server, "GetTaskProtection", "ClusterNotFoundException", "Cluster not found",
		"{'cluster':'no','tasks':['x']}");
}

static void services_have_tags(void **state)
{
	char instance[TEST_ID_SIZE];
	struct test_server *server = start(state, instance);

	make_service(server, "shop");
	test_call(server, "TagResource",
		"{'resourceArn':'" TEST_ARN
		"service/default/shop','tags':[{'key':'a','value':'b'}]}");
	test_call(server, "ListTagsForResource",
		"{'resourceArn':'" TEST_ARN "service/default/shop'}");
	assert_string_equal(test_item(server, "tags", 0, "value"), "b");
	test_refused(server, "TagResource", "ResourceNotFoundException", "not found",
		"{'resourceArn':'" TEST_ARN "task-set/default/shop/ecs-svc/1','tags':"
		"[{'key':'a','value':'b'}]}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_WITH_SERVER(described_are_those_that_are_there),
		TEST_WITH_SERVER(at_most_a_hundred_are_described),
		TEST_WITH_SERVER(every_filter_filters),
		TEST_WITH_SERVER(wrong_filters_are_refused),
		TEST_WITH_SERVER(pages_have_every_task_once),
		TEST_WITH_SERVER(a_page_is_not_disturbed_by_changes),
		TEST_WITH_SERVER(only_tasks_of_services_are_protected),
		TEST_WITH_SERVER(wrong_protection_is_refused),
		TEST_WITH_SERVER(services_have_tags),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
