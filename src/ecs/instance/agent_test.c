/* Reports of ECS agents: statuses, exit codes, attachments; late, unknown and forbidden reports. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "ecs/record/service_kind.h"
#include "ecs/record/task.h"
#include "ecs/task/task_edit.h"
#include "ecs/test_server.h"

#define CLUSTER "123456789012/eu-west-1/default"
#define ARN "arn:aws:ecs:eu-west-1:123456789012:"

struct saving {
	struct task_facts facts;
	const char *id, *document;
	struct arena *arena;
};

static int save(struct store_transaction *transaction, void *context, struct err *err)
{
	struct saving *saving = context;
	struct task_edit edit = {.arena = saving->arena,
		.key = arena_format(saving->arena, CLUSTER "/%s", saving->id),
		.facts = saving->facts,
		.revision = STORE_ANY};
	struct json *document;
	int code = json_parse(span_of(saving->document), saving->arena, &document, err);

	if (code < 0)
		return code;
	edit.document = json_copy_object(saving->arena, document);
	return task_save(transaction, &edit, err);
}

static void put_task(struct test_server *server, const char *id, struct task_facts facts)
{
	_arena_ struct arena *arena = arena_new(0);
	struct saving saving = {.facts = facts, .id = id, .arena = arena};
	struct err err;

	saving.facts.family = SPAN("app");
	saving.facts.group = SPAN("family:app");
	saving.facts.instance = SPAN("i");
	saving.document = "{\"containers\":[{\"name\":\"app\",\"lastStatus\":\"PENDING\","
			  "\"networkBindings\":[],\"managedAgents\":[{\"name\":"
			  "\"ExecuteCommandAgent\",\"lastStatus\":\"PENDING\"}]},"
			  "{\"name\":\"side\",\"lastStatus\":\"PENDING\"}],"
			  "\"attachments\":[{\"id\":\"e1\",\"type\":\"ElasticNetworkInterface\","
			  "\"status\":\"PRECREATED\",\"details\":[]}]}";
	if (store_write_wait(server->store, save, &saving, NULL, &err) < 0)
		fail_msg("%s", err.message);
}

static void setup_task(struct test_server *server, enum task_status last)
{
	test_call(server, "CreateCluster", "{}");
	put_task(server, "t1",
		(struct task_facts){.desired = TASK_RUNNING, .last = last, .network = true});
}

/* The text at a path of the stored task; "" if there is none. */
static const char *reported(struct test_server *server, const char *path)
{
	_view_ struct store_view *view = store_view_open(server->store);
	const struct store_object *task = store_get(view, &task_kind, SPAN(CLUSTER "/t1"));
	struct json *document;
	struct span text;

	assert_non_null(task);
	assert_int_equal(json_parse(arena_copy_span(server->arena, task->api), server->arena,
				 &document, NULL),
		0);
	text = json_text(json_path(document, path));
	return text.data ? arena_copy_span(server->arena, text).data : "";
}

static const struct json *container(struct test_server *server, size_t place)
{
	_view_ struct store_view *view = store_view_open(server->store);
	struct json *document;

	assert_int_equal(json_parse(arena_copy_span(server->arena,
					    store_get(view, &task_kind, SPAN(CLUSTER "/t1"))->api),
				 server->arena, &document, NULL),
		0);
	return json_item(json_get(document, "containers"), place);
}

static struct task_facts facts_now(struct test_server *server)
{
	_view_ struct store_view *view = store_view_open(server->store);

	return *task_facts(store_get(view, &task_kind, SPAN(CLUSTER "/t1")));
}

static void agent_reports_a_whole_task_life(void **state)
{
	struct test_server *server = *state;
	const struct json *app;

	setup_task(server, TASK_PROVISIONING);
	/* The interface first, as agents do with awsvpc. */
	test_call(server, "SubmitTaskStateChange",
		"{'task':'" ARN "task/default/t1','attachments':[{'attachmentArn':'" ARN
		"attachment/e1','status':'ATTACHED'}]}");
	assert_string_equal(test_text(server, "acknowledgment"), "ACCEPT");
	assert_int_equal(facts_now(server).last, TASK_PENDING);
	test_call(server, "SubmitTaskStateChange",
		"{'cluster':'default','task':'t1','status':'RUNNING','reason':'',"
		"'pullStartedAt':1700000000.5,'containers':[{'containerName':'app',"
		"'runtimeId':'r1','status':'RUNNING','unknown':1,'networkBindings':[{'bindIP':"
		"'0.0.0.0','containerPort':80,'hostPort':32768,'protocol':'tcp'}]},"
		"{'containerName':'~internal~ecs~pause','status':'RUNNING'}],"
		"'managedAgents':[{'containerName':'app','managedAgentName':"
		"'ExecuteCommandAgent','status':'RUNNING'}]}");
	assert_int_equal(facts_now(server).last, TASK_RUNNING);
	assert_int_equal(facts_now(server).started_ms, TEST_SERVER_NOW_MS);
	app = container(server, 0);
	assert_true(span_is(json_get_text(app, "runtimeId"), "r1"));
	assert_true(span_is(json_get_text(app, "lastStatus"), "RUNNING"));
	assert_null(json_get(app, "unknown"));
	assert_int_equal(json_get_integer(json_item(json_get(app, "networkBindings"), 0),
				 "hostPort", 0),
		32768);
	assert_true(span_is(json_get_text(json_item(json_get(app, "managedAgents"), 0),
				    "lastStatus"),
		"RUNNING"));
	test_call(server, "SubmitContainerStateChange",
		"{'task':'t1','containerName':'app','status':'STOPPED','exitCode':3,"
		"'reason':'it fell over'}");
	app = container(server, 0);
	assert_true(span_is(json_get_text(app, "lastStatus"), "STOPPED"));
	assert_int_equal(json_get_integer(app, "exitCode", -1), 3);
	assert_int_equal(facts_now(server).last, TASK_RUNNING);
	test_call(server, "SubmitTaskStateChange",
		"{'task':'t1','status':'STOPPED','reason':'Essential container in task exited',"
		"'executionStoppedAt':1700000001}");
	assert_int_equal(facts_now(server).last, TASK_STOPPED);
	assert_int_equal(facts_now(server).desired, TASK_STOPPED);
	assert_true(facts_now(server).failed);
	assert_string_equal(reported(server, "stopCode"), "EssentialContainerExited");
	assert_string_equal(reported(server, "stoppedReason"),
		"Essential container in task exited");
	assert_int_equal(json_get_integer(container(server, 0), "exitCode", -1), 3);
	assert_true(span_is(json_get_text(container(server, 1), "lastStatus"), "STOPPED"));
}

static void what_is_late_changes_nothing(void **state)
{
	struct test_server *server = *state;
	uint64_t revision;

	setup_task(server, TASK_RUNNING);
	test_call(server, "SubmitTaskStateChange", "{'task':'t1','status':'PENDING'}");
	assert_int_equal(facts_now(server).last, TASK_RUNNING);
	test_call(server, "SubmitTaskStateChange", "{'task':'t1','status':'STOPPED'}");
	{
		_view_ struct store_view *view = store_view_open(server->store);

		revision = store_view_revision(view);
	}
	test_call(server, "SubmitTaskStateChange",
		"{'task':'t1','status':'RUNNING','reason':'again'}");
	{
		_view_ struct store_view *view = store_view_open(server->store);

		assert_int_equal(store_view_revision(view), revision);
	}
	assert_int_equal(facts_now(server).last, TASK_STOPPED);
}

static void first_stop_reason_is_kept(void **state)
{
	struct test_server *server = *state;

	test_call(server, "CreateCluster", "{}");
	put_task(server, "t1",
		(struct task_facts){.desired = TASK_STOPPED,
			.last = TASK_RUNNING,
			.started_ms = 1,
			.stopping_ms = 5});
	test_call(server, "SubmitTaskStateChange",
		"{'task':'t1','status':'STOPPED','reason':'killed'}");
	assert_string_equal(reported(server, "stoppedReason"), "");
	assert_false(facts_now(server).failed);
	assert_int_equal(facts_now(server).stopping_ms, 5);
}

static void one_that_never_ran(void **state)
{
	struct test_server *server = *state;

	setup_task(server, TASK_PENDING);
	test_call(server, "SubmitTaskStateChange",
		"{'task':'t1','status':'STOPPED','reason':'CannotPullContainerError: no such "
		"image'}");
	assert_string_equal(reported(server, "stopCode"), "TaskFailedToStart");
	assert_string_equal(reported(server, "stoppedReason"),
		"CannotPullContainerError: no such image");
}

static void attachments_alone(void **state)
{
	struct test_server *server = *state;

	setup_task(server, TASK_PROVISIONING);
	test_call(server, "SubmitAttachmentStateChanges",
		"{'attachments':[{'attachmentArn':'" ARN "attachment/e1','status':'ATTACHED'}]}");
	assert_int_equal(facts_now(server).last, TASK_PENDING);
	test_refused(server, "SubmitAttachmentStateChanges", "InvalidParameterException",
		"has the attachment",
		"{'attachments':[{'attachmentArn':'" ARN "attachment/e2','status':'ATTACHED'}]}");
	test_refused(server, "SubmitAttachmentStateChanges", "InvalidParameterException",
		"not a status of an attachment",
		"{'attachments':[{'attachmentArn':'" ARN "attachment/e1','status':'GLUED'}]}");
}

static void what_is_refused(void **state)
{
	struct test_server *server = *state;

	setup_task(server, TASK_PENDING);
	put_task(server, "ours",
		(struct task_facts){
			.desired = TASK_RUNNING, .last = TASK_RUNNING, .host = SPAN("here")});
	test_refused(server, "SubmitTaskStateChange", "InvalidParameterException",
		"The referenced task was not found.", "{'task':'missing','status':'RUNNING'}");
	test_refused(server, "SubmitTaskStateChange", "InvalidParameterException",
		"task: is required", "{'status':'RUNNING'}");
	test_refused(server, "SubmitTaskStateChange", "InvalidParameterException",
		"'FLYING' is not a status", "{'task':'t1','status':'FLYING'}");
	test_refused(server, "SubmitTaskStateChange", "ClusterNotFoundException",
		"Cluster not found.", "{'cluster':'missing','task':'t1','status':'RUNNING'}");
	test_refused(server, "SubmitTaskStateChange", "ClientException", "run by this server",
		"{'task':'ours','status':'STOPPED'}");
	test_refused(server, "SubmitContainerStateChange", "ClientException", "run by this server",
		"{'task':'ours','containerName':'app','status':'STOPPED'}");
	test_refused(server, "SubmitContainerStateChange", "InvalidParameterException",
		"containerName: is required", "{'task':'t1','status':'STOPPED'}");
	assert_int_equal(facts_now(server).last, TASK_PENDING);
}

static void the_poll_endpoint(void **state)
{
	static struct ecs_context context = {.endpoint = SPAN("http://127.0.0.1:4566")};
	struct test_server *server = *state;

	test_refused(server, "DiscoverPollEndpoint", "InvalidParameterException",
		"Cluster not found", "{}");
	test_call(server, "CreateCluster", "{}");
	test_refused(server, "DiscoverPollEndpoint", "ClientException", "does not know", "{}");
	aws_dispatcher_free(server->dispatcher);
	server->dispatcher =
		aws_dispatcher_new(&(struct aws_dispatch_config){.store = server->store,
			.clock = &server->clock.clock,
			.random = &server->random.random});
	aws_dispatcher_register(server->dispatcher, &ecs_service, &context);
	test_call(server, "DiscoverPollEndpoint", "{}");
	assert_string_equal(test_text(server, "endpoint"), "http://127.0.0.1:4566");
	assert_string_equal(test_text(server, "telemetryEndpoint"), "http://127.0.0.1:4566");
	test_refused(server, "DiscoverPollEndpoint", "ClientException", "is not registered",
		"{'containerInstance':'missing'}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_WITH_SERVER(agent_reports_a_whole_task_life),
		TEST_WITH_SERVER(what_is_late_changes_nothing),
		TEST_WITH_SERVER(first_stop_reason_is_kept),
		TEST_WITH_SERVER(one_that_never_ran),
		TEST_WITH_SERVER(attachments_alone),
		TEST_WITH_SERVER(what_is_refused),
		TEST_WITH_SERVER(the_poll_endpoint),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
