/* Container instances: what agents announce, what follows from tasks, how instances leave service. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "ecs/record/attribute.h"
#include "ecs/record/container_instance.h"
#include "ecs/record/service_kind.h"
#include "ecs/record/task.h"
#include "ecs/task/task_edit.h"
#include "ecs/test_server.h"

#define CLUSTER "123456789012/eu-west-1/default"
#define RESOURCES                                                                                  \
	"'totalResources':[{'name':'CPU','type':'INTEGER','integerValue':2048},"                   \
	"{'name':'MEMORY','type':'INTEGER','integerValue':1024},"                                  \
	"{'name':'PORTS','type':'STRINGSET','stringSetValue':['22','51678']},"                     \
	"{'name':'PORTS_UDP','type':'STRINGSET','stringSetValue':[]}]"

/* The id in the last answer's containerInstance. */
static const char *answered_id(struct test_server *server)
{
	const char *arn = test_text(server, "containerInstance.containerInstanceArn");

	return memory_copy_string(strrchr(arn, '/') + 1);
}

struct saving {
	struct task_facts facts;
	const char *id;
	struct arena *arena;
};

static int save(struct store_transaction *transaction, void *context, struct err *err)
{
	struct saving *saving = context;
	struct task_edit edit = {.arena = saving->arena,
		.key = arena_format(saving->arena, CLUSTER "/%s", saving->id),
		.facts = saving->facts,
		.document = json_new_object(saving->arena),
		.revision = STORE_ANY};

	return task_save(transaction, &edit, err);
}

static void put_task(struct test_server *server, const char *id, struct task_facts facts)
{
	_arena_ struct arena *arena = arena_new(0);
	struct saving saving = {.facts = facts, .id = id, .arena = arena};
	struct err err;

	if (!facts.family.data)
		saving.facts.family = SPAN("app");
	if (!facts.group.data)
		saving.facts.group = SPAN("family:app");
	if (store_write_wait(server->store, save, &saving, NULL, &err) < 0)
		fail_msg("%s", err.message);
}

static const struct task_facts *stored_facts(const struct store_view *view, const char *id)
{
	char key[128];
	const struct store_object *task;

	snprintf(key, sizeof(key), CLUSTER "/%s", id);
	task = store_get(view, &task_kind, span_of(key));
	assert_non_null(task);
	return task_facts(task);
}

/* A resource of the last answer as text: "2048" or "22,80". */
static const char *resource(struct test_server *server, const struct json *list, const char *name)
{
	JSON_EACH_ITEM (list, item) {
		const struct json *set = json_get(item, "stringSetValue");
		struct span all = SPAN("");

		if (!span_is(json_get_text(item, "name"), name))
			continue;
		if (!set)
			return arena_format(server->arena, "%lld",
				(long long)json_get_integer(item, "integerValue", -1))
				.data;
		JSON_EACH_ITEM (set, port)
			all = arena_format(server->arena, "%.*s%s%.*s", SPAN_ARGS(all),
				all.length ? "," : "", SPAN_ARGS(json_text(port)));
		return all.data;
	}
	return "absent";
}

static const struct json *describe(struct test_server *server, const char *id, const char *include)
{
	test_call(server, "DescribeContainerInstances",
		"{'containerInstances':['%s'],'include':[%s]}", id, include);
	return json_item(json_get(server->answer, "containerInstances"), 0);
}

/* ---- registering ---- */

static void what_an_agent_announces(void **state)
{
	struct test_server *server = *state;
	const struct json *shown;
	const char *id;

	test_call(server, "CreateCluster", "{}");
	test_call(server, "RegisterContainerInstance",
		"{" RESOURCES ",'versionInfo':{'agentVersion':'1.80.0'},"
		"'attributes':[{'name':'ecs.os-type','value':'linux'},{'name':'x','value':'1'},"
		"{'name':'x','value':'2'}],"
		"'instanceIdentityDocument':'{\\'instanceId\\':\\'i-1\\',\\'availabilityZone\\':"
		"\\'eu-west-1c\\'}'}");
	id = answered_id(server);
	shown = describe(server, id, "");
	assert_true(span_is(json_get_text(shown, "ec2InstanceId"), "i-1"));
	assert_true(span_is(json_get_text(shown, "status"), "ACTIVE"));
	assert_true(json_get_bool(shown, "agentConnected", false));
	assert_null(json_get(shown, "healthStatus"));
	/* Each attribute once, and the zone of the identity. */
	assert_int_equal(json_count(json_get(shown, "attributes")), 3);
	test_call(server, "ListAttributes",
		"{'targetType':'container-instance','attributeName':'ecs.availability-zone'}");
	assert_string_equal(test_text(server, "attributes"), "");
	assert_true(span_is(json_get_text(json_item(json_get(server->answer, "attributes"), 0),
				    "value"),
		"eu-west-1c"));
	test_call(server, "ListContainerInstances",
		"{'filter':'attribute:x == 2 and agentVersion >= 1.9 and ec2InstanceId == i-1'}");
	assert_int_equal(json_count(json_get(server->answer, "containerInstanceArns")), 1);
	free((void *)id);
}

static void an_agent_that_comes_back(void **state)
{
	struct test_server *server = *state;
	struct task_facts facts = {.desired = TASK_RUNNING, .last = TASK_RUNNING, .cpu = 100};
	const struct json *shown;
	const char *id;

	test_call(server, "CreateCluster", "{}");
	test_call(server, "RegisterContainerInstance", "{" RESOURCES ",'clientToken':'abc'}");
	id = answered_id(server);
	facts.instance = span_of(id);
	put_task(server, "t", facts);
	test_call(server, "PutAttributes",
		"{'attributes':[{'name':'rack','value':'7','targetId':'%s'}]}", id);
	/* The same token once more, and the ARN that it was given. */
	test_call(server, "RegisterContainerInstance", "{" RESOURCES ",'clientToken':'abc'}");
	assert_non_null(strstr(test_text(server, "containerInstance.containerInstanceArn"), id));
	test_call(server, "RegisterContainerInstance",
		"{" RESOURCES ",'clientToken':'abc','containerInstanceArn':"
		"'arn:aws:ecs:eu-west-1:123456789012:container-instance/default/%s'}",
		id);
	assert_non_null(strstr(test_text(server, "containerInstance.containerInstanceArn"), id));
	shown = describe(server, id, "");
	assert_int_equal(json_get_integer(shown, "runningTasksCount", 0), 1);
	assert_true(span_is(json_get_text(json_item(json_get(shown, "attributes"), 0), "name"),
		"rack"));
	test_call(server, "ListContainerInstances", "{}");
	assert_int_equal(json_count(json_get(server->answer, "containerInstanceArns")), 1);
	free((void *)id);
}

static void wrong_announcements(void **state)
{
	struct test_server *server = *state;

	test_call(server, "CreateCluster", "{}");
	test_refused(server, "RegisterContainerInstance", "InvalidParameterException", "PORTS",
		"{'totalResources':[{'name':'PORTS','stringSetValue':['http']}]}");
	test_refused(server, "RegisterContainerInstance", "InvalidParameterException",
		"CPU is less than 0", "{'totalResources':[{'name':'CPU','integerValue':-1}]}");
	test_refused(server, "RegisterContainerInstance", "InvalidParameterException",
		"agentVersion", "{'versionInfo':{'agentVersion':'a\\\\b'}}");
	test_refused(server, "RegisterContainerInstance", "InvalidParameterException",
		"instanceIdentityDocument", "{'instanceIdentityDocument':'no'}");
	test_refused(server, "RegisterContainerInstance", "InvalidParameterException", "attributes",
		"{'attributes':[{'name':'a;b'}]}");
	test_refused(server, "RegisterContainerInstance", "ClientException", "is not registered",
		"{'containerInstanceArn':'arn:aws:ecs:eu-west-1:123456789012:container-instance/"
		"default/x'}");
	test_call(server, "ListContainerInstances", "{}");
	assert_int_equal(json_count(json_get(server->answer, "containerInstanceArns")), 0);
}

/* ---- resources and counts of tasks ---- */

static void counts_and_remaining_resources(void **state)
{
	struct test_server *server = *state;
	struct task_facts facts = {.desired = TASK_RUNNING, .last = TASK_RUNNING};
	const struct json *shown, *left;
	const char *id;

	test_call(server, "CreateCluster", "{}");
	test_call(server, "RegisterContainerInstance", "{" RESOURCES "}");
	id = answered_id(server);
	facts.instance = span_of(id);
	facts.cpu = 512;
	facts.memory = 256;
	facts.ports = SPAN("80/tcp,53/udp");
	put_task(server, "a", facts);
	facts.last = TASK_PENDING;
	facts.launch_type = TASK_LAUNCH_FARGATE;
	put_task(server, "b", facts);
	facts.last = facts.desired = TASK_STOPPED;
	put_task(server, "c", facts);
	shown = describe(server, id, "'CONTAINER_INSTANCE_HEALTH'");
	left = json_get(shown, "remainingResources");
	assert_string_equal(resource(server, left, "CPU"), "1024");
	assert_string_equal(resource(server, left, "MEMORY"), "512");
	assert_string_equal(resource(server, left, "PORTS"), "22,51678,80");
	assert_string_equal(resource(server, left, "PORTS_UDP"), "53");
	left = json_get(shown, "registeredResources");
	assert_string_equal(resource(server, left, "CPU"), "2048");
	assert_string_equal(resource(server, left, "PORTS"), "22,51678");
	assert_int_equal(json_get_integer(shown, "runningTasksCount", -1), 1);
	assert_int_equal(json_get_integer(shown, "pendingTasksCount", -1), 1);
	assert_true(span_is(json_get_text(json_get(shown, "healthStatus"), "overallStatus"),
		"INSUFFICIENT_DATA"));

	test_call(server, "DescribeClusters", "{'include':['STATISTICS']}");
	shown = json_item(json_get(server->answer, "clusters"), 0);
	assert_int_equal(json_get_integer(shown, "runningTasksCount", -1), 1);
	assert_int_equal(json_get_integer(shown, "pendingTasksCount", -1), 1);
	assert_int_equal(json_get_integer(shown, "registeredContainerInstancesCount", -1), 1);
	JSON_EACH_ITEM (json_get(shown, "statistics"), pair) {
		struct span name = json_get_text(pair, "name");
		bool one = span_is(name, "runningEC2TasksCount") ||
			   span_is(name, "pendingFargateTasksCount");

		assert_true(span_is(json_get_text(pair, "value"), one ? "1" : "0"));
	}
	assert_int_equal(json_count(json_get(shown, "statistics")), 12);
	test_refused(server, "DeleteCluster", "ClusterContainsTasksException", "Tasks are active",
		"{'cluster':'default'}");
	free((void *)id);
}

static void external_tasks_are_counted_apart(void **state)
{
	struct test_server *server = *state;
	struct task_facts facts = {
		.desired = TASK_RUNNING, .last = TASK_RUNNING, .launch_type = TASK_LAUNCH_EXTERNAL};
	const char *id;

	test_call(server, "CreateCluster", "{}");
	test_call(server, "RegisterContainerInstance",
		"{'attributes':[{'name':'ecs.capability.external'}]}");
	id = answered_id(server);
	facts.instance = span_of(id);
	put_task(server, "a", facts);
	test_call(server, "DescribeClusters", "{'include':['STATISTICS']}");
	JSON_EACH_ITEM (json_get(json_item(json_get(server->answer, "clusters"), 0), "statistics"),
		pair)
		assert_true(span_is(json_get_text(pair, "value"),
			span_is(json_get_text(pair, "name"), "runningExternalTasksCount") ? "1"
											  : "0"));
	free((void *)id);
}

/* ---- leaving service ---- */

static void draining_and_back(void **state)
{
	struct test_server *server = *state;
	const char *a, *b;

	test_call(server, "CreateCluster", "{}");
	test_call(server, "RegisterContainerInstance", "{" RESOURCES "}");
	a = answered_id(server);
	test_call(server, "RegisterContainerInstance", "{" RESOURCES "}");
	b = answered_id(server);
	test_call(server, "UpdateContainerInstancesState",
		"{'containerInstances':['%s','missing'],'status':'DRAINING'}", a);
	assert_int_equal(json_count(json_get(server->answer, "containerInstances")), 1);
	assert_true(span_is(json_get_text(json_item(json_get(server->answer, "containerInstances"),
						  0),
				    "status"),
		"DRAINING"));
	assert_true(span_is(json_get_text(json_item(json_get(server->answer, "failures"), 0),
				    "reason"),
		"MISSING"));
	test_call(server, "ListContainerInstances", "{'status':'DRAINING'}");
	assert_non_null(strstr(test_texts(server, "containerInstanceArns"), a));
	assert_null(strstr(test_texts(server, "containerInstanceArns"), b));
	test_call(server, "ListContainerInstances", "{'status':'ACTIVE'}");
	assert_non_null(strstr(test_texts(server, "containerInstanceArns"), b));
	assert_null(strstr(test_texts(server, "containerInstanceArns"), a));
	test_call(server, "ListContainerInstances", "{}");
	assert_int_equal(json_count(json_get(server->answer, "containerInstanceArns")), 2);
	test_call(server, "UpdateContainerInstancesState",
		"{'containerInstances':['%s'],'status':'ACTIVE'}", a);
	test_call(server, "ListContainerInstances", "{'status':'DRAINING'}");
	assert_int_equal(json_count(json_get(server->answer, "containerInstanceArns")), 0);
	test_refused(server, "UpdateContainerInstancesState", "InvalidParameterException",
		"one of [ACTIVE, DRAINING]",
		"{'containerInstances':['%s'],'status':'DEREGISTERING'}", a);
	test_refused(server, "UpdateContainerInstancesState", "InvalidParameterException",
		"give 1 to 10", "{'containerInstances':[],'status':'DRAINING'}");
	test_refused(server, "UpdateContainerInstancesState", "InvalidParameterException",
		"Identifier is for cluster other",
		"{'containerInstances':['arn:aws:ecs:eu-west-1:123456789012:container-instance/"
		"other/x'],'status':'DRAINING'}");
	free((void *)a);
	free((void *)b);
}

static void pages_of_one_status(void **state)
{
	struct test_server *server = *state;
	size_t seen = 0;
	char token[1024] = "";

	test_call(server, "CreateCluster", "{}");
	for (int i = 0; i < 7; i++) {
		const char *id;

		test_call(server, "RegisterContainerInstance", "{}");
		id = answered_id(server);
		if (i % 2 == 0)
			test_call(server, "UpdateContainerInstancesState",
				"{'containerInstances':['%s'],'status':'DRAINING'}", id);
		free((void *)id);
	}
	do {
		test_call(server, "ListContainerInstances",
			"{'status':'DRAINING','maxResults':3%s%s%s}",
			token[0] ? ",'nextToken':'" : "", token, token[0] ? "'" : "");
		seen += json_count(json_get(server->answer, "containerInstanceArns"));
		snprintf(token, sizeof(token), "%s", test_text(server, "nextToken"));
	} while (token[0]);
	assert_int_equal(seen, 4);
}

static void deregistering(void **state)
{
	struct test_server *server = *state;
	struct task_facts facts = {.desired = TASK_RUNNING, .last = TASK_RUNNING};
	_view_ struct store_view *view = NULL;
	const struct task_facts *stored;
	const char *id;

	test_call(server, "CreateCluster", "{}");
	test_call(server, "RegisterContainerInstance", "{" RESOURCES "}");
	id = answered_id(server);
	facts.instance = span_of(id);
	put_task(server, "agents", facts);
	facts.host = SPAN("here");
	put_task(server, "ours", facts);
	test_refused(server, "DeregisterContainerInstance", "InvalidParameterException",
		"Found running tasks on the instance.", "{'containerInstance':'%s'}", id);
	test_call(server, "DeregisterContainerInstance", "{'containerInstance':'%s','force':true}",
		id);
	assert_string_equal(test_text(server, "containerInstance.status"), "INACTIVE");
	assert_false(json_is_true(json_path(server->answer, "containerInstance.agentConnected")));
	view = store_view_open(server->store);
	/* The runtime stops the task of our own instance; the agent of the other one reports no
	 * more. */
	stored = stored_facts(view, "ours");
	assert_int_equal(stored->desired, TASK_STOPPED);
	assert_int_equal(stored->last, TASK_RUNNING);
	assert_int_equal(stored->stopping_ms, TEST_SERVER_NOW_MS);
	stored = stored_facts(view, "agents");
	assert_int_equal(stored->desired, TASK_STOPPED);
	assert_int_equal(stored->last, TASK_STOPPED);
	assert_int_equal(stored->stopped_ms, TEST_SERVER_NOW_MS);
	assert_false(stored->failed);
	test_call(server, "DescribeContainerInstances", "{'containerInstances':['%s']}", id);
	assert_int_equal(json_count(json_get(server->answer, "containerInstances")), 0);
	test_refused(server, "DeregisterContainerInstance", "InvalidParameterException",
		"was not found", "{'containerInstance':'%s','force':true}", id);
	free((void *)id);
}

static void agents_are_not_updated(void **state)
{
	struct test_server *server = *state;
	const char *id;

	test_call(server, "CreateCluster", "{}");
	test_call(server, "RegisterContainerInstance", "{}");
	id = answered_id(server);
	test_refused(server, "UpdateContainerAgent", "NoUpdateAvailableException", "no update",
		"{'containerInstance':'%s'}", id);
	test_refused(server, "UpdateContainerAgent", "InvalidParameterException", "was not found",
		"{'containerInstance':'missing'}");
	free((void *)id);
}

/* ---- packed attributes ---- */

static void packed_attributes(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct json *list;
	struct span packed, value;

	(void)state;
	assert_int_equal(json_parse(SPAN("[{\"name\":\"ab\",\"value\":\"b\"},{\"name\":\"b\"},"
					 "{\"name\":\"c\\\\d\",\"value\":\"x\\\\y\"}]"),
				 arena, &list, NULL),
		0);
	packed = attribute_pack(arena, list);
	assert_true(span_is(packed, ";ab=b;b=;c|d=x|y;"));
	assert_true(attribute_packed_find(packed, SPAN("b"), &value));
	assert_int_equal(value.length, 0);
	assert_true(attribute_packed_find(packed, SPAN("ab"), &value));
	assert_true(span_is(value, "b"));
	assert_true(attribute_packed_find(packed, attribute_packed_text(arena, SPAN("c\\d")),
		&value));
	assert_true(span_equal(value, attribute_packed_text(arena, SPAN("x\\y"))));
	assert_false(attribute_packed_find(packed, SPAN("a"), &value));
	assert_false(attribute_packed_find(packed, SPAN("d"), &value));
	assert_false(attribute_packed_find(packed, SPAN(""), &value));
	assert_false(attribute_packed_find(SPAN(""), SPAN("a"), &value));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_WITH_SERVER(what_an_agent_announces),
		TEST_WITH_SERVER(an_agent_that_comes_back),
		TEST_WITH_SERVER(wrong_announcements),
		TEST_WITH_SERVER(counts_and_remaining_resources),
		TEST_WITH_SERVER(external_tasks_are_counted_apart),
		TEST_WITH_SERVER(draining_and_back),
		TEST_WITH_SERVER(pages_of_one_status),
		TEST_WITH_SERVER(deregistering),
		TEST_WITH_SERVER(agents_are_not_updated),
		cmocka_unit_test(packed_attributes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
