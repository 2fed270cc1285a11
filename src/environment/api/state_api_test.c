/* Operations that read the observed state: filters, pages, permissions; scenario 66. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "control/runner_simulated.h"
#include "delivery/observe/observe.h"
#include "ecs/test_server.h"
#include "ecs/test_tasks.h"
#include "environment/api/operations.h"

#define OWN ":123456789012/eu-west-1/web"
#define REMOTE "aws:999999999999/eu-west-1/far"
#define REMOTE_ARN "arn:aws:ecs:eu-west-1:999999999999:"

static const struct aws_operation operations[] = {
	{.name = "GetInstance", .mode = AWS_READ, .run = state_api_instance},
	{.name = "ListInstances", .mode = AWS_READ, .run = state_api_instances},
	{.name = "ListTasks", .mode = AWS_READ, .run = state_api_tasks},
	{.name = "PostEcsEvents", .mode = AWS_READ, .run = state_api_events},
};
static const struct aws_service slipway = {.name = "slipway",
	.shapes = &shape_slipway,
	.operations = operations,
	.operation_count = LENGTH(operations),
	.invalid_input = "InvalidParameterException"};

struct bench {
	struct runner *runner;
	struct test_server *server;
	struct daemon_context context;
	char ids[5][TEST_ID_SIZE];
	char tasks[4][TEST_ID_SIZE];
};

struct making {
	struct environment_facts environment;
	struct environment_version_facts version;
	struct environment_deployment_facts deployment;
};

static int make(struct store_transaction *transaction, void *context, struct err *err)
{
	struct making *making = context;
	struct arena *arena = store_transaction_arena(transaction);
	struct span key =
		environment_key(arena, making->environment.account, making->environment.name);
	int code = environment_put(transaction, &environment_kind, key, SPAN("{}"),
		&making->environment, STORE_ABSENT, err);

	if (code == 0)
		code = environment_put(transaction, &environment_version_kind,
			environment_child_key(arena, key, SPAN("v1")), SPAN("{}"), &making->version,
			STORE_ABSENT, err);
	if (code == 0)
		code = environment_put(transaction, &environment_deployment_kind,
			environment_child_key(arena, key, SPAN("d-1")), SPAN("{}"),
			&making->deployment, STORE_ABSENT, err);
	return code;
}

static void make_environment(struct bench *bench, const char *account, const char *name,
	const char *cluster_ref, const char *attributes)
{
	struct making making = {
		.environment = {.account = span_of(account),
			.name = span_of(name),
			.status = ENVIRONMENT_active,
			.latest = SPAN("v1"),
			.target = SPAN("v1"),
			.completed = SPAN(""),
			.in_progress = SPAN(""),
			.pending = SPAN(""),
			.cluster_refs = span_of(cluster_ref),
			.claims_on = SPAN("")},
		.version = {.id = SPAN("v1"),
			.number = 1,
			.cluster_ref = span_of(cluster_ref),
			.task_definition = SPAN("log:1"),
			.role = SPAN(""),
			.target = SPAN(""),
			.attributes = span_of(attributes),
			.token = SPAN(""),
			.token_hash = SPAN("")},
		.deployment = {.id = SPAN("d-1"),
			.number = 1,
			.version = SPAN("v1"),
			.reason = SPAN(""),
			.token = SPAN(""),
			.token_hash = SPAN("")},
	};
	struct err err = {0};

	if (store_write_wait(bench->server->store, make, &making, NULL, &err) < 0)
		fail_msg("%s", err.message);
}

static void start(struct bench *bench, size_t instance, const char *group, size_t task)
{
	test_call(bench->server, "StartTask",
		"{'cluster':'web','taskDefinition':'log','containerInstances':['%s'],"
		"'group':'%s','startedBy':'d-%zu'}",
		bench->ids[instance], group, task + 1);
	test_id_of(test_item(bench->server, "tasks", 0, "taskArn"), bench->tasks[task]);
}

static void has_crashed(struct task_facts *facts)
{
	test_has_stopped(facts);
	facts->stopping_ms = 0;
}

static void sleep_ms(struct bench *bench, int64_t milliseconds)
{
	runner_sleep_until(bench->runner, runner_deadline_us(bench->runner, milliseconds * 1000));
}

static int setup(void **state)
{
	struct bench *bench = memory_allocate(sizeof(*bench));
	struct test_server_options options = {
		.kinds = daemon_kinds, .kind_count = daemon_kind_count};
	struct observe_config config = {0}; /* no targets are configured */

	bench->runner = config.runner = runner_simulated_new(1);
	options.clock = runner_clock(bench->runner);
	bench->server = test_server_new_of(&options);
	config.store = bench->server->store;
	assert_int_equal(observe_new(&config, &bench->context.state, NULL), 0);
	aws_dispatcher_register(bench->server->dispatcher, &slipway, &bench->context);
	test_call(bench->server, "CreateCluster", "{'clusterName':'web'}");
	test_call(bench->server, "RegisterTaskDefinition",
		"{'family':'log','containerDefinitions':[{'name':'a','image':'a','memory':16}]}");
	for (size_t i = 0; i < LENGTH(bench->ids); i++)
		test_instance(bench->server, "web", 1000, 1000,
			i % 2 ? "{'name':'stack','value':'prod'},{'name':'gpu'}," : "",
			bench->ids[i]);
	test_call(bench->server, "UpdateContainerInstancesState",
		"{'cluster':'web','status':'DRAINING','containerInstances':['%s']}", bench->ids[4]);
	make_environment(bench, "123456789012", "log", OWN, ";stack=prod;");
	make_environment(bench, "222222222222", "log", OWN, "");
	make_environment(bench, "123456789012", "far", REMOTE, "");
	start(bench, 0, "env:log", 0);
	start(bench, 1, "env:log", 1);
	start(bench, 1, "batch", 2);
	start(bench, 2, "env:log", 3);
	test_change_task(bench->server, "web", bench->tasks[1], test_has_run);
	test_change_task(bench->server, "web", bench->tasks[3], has_crashed);
	assert_int_equal(observe_want(bench->context.state, cluster_ref_of(SPAN(OWN)), NULL, 0,
				 NULL),
		0);
	assert_int_equal(observe_want(bench->context.state, cluster_ref_of(SPAN(REMOTE)), NULL, 0,
				 NULL),
		0);
	sleep_ms(bench, 1000);
	*state = bench;
	return 0;
}

static int teardown(void **state)
{
	struct bench *bench = *state;

	observe_free(bench->context.state);
	test_server_free(bench->server);
	runner_free(bench->runner);
	free(bench);
	return 0;
}

static const struct json *ask(struct bench *bench, const char *operation, const char *body)
{
	return test_call_to(bench->server, &slipway, operation, "%s", body);
}

static void refused(struct bench *bench, const char *operation, const char *type, const char *words,
	const char *body)
{
	_arena_ struct arena *arena = arena_new(0);
	struct span text = arena_format(arena, "%s", body), message;

	for (size_t i = 0; i < text.length; i++)
		if (text.data[i] == '\'')
			((char *)text.data)[i] = '"';
	test_send_to(bench->server, &slipway, operation, text);
	message = test_message(bench->server);
	if (strcmp(bench->server->error_type, type) != 0 ||
		!memmem(message.data, message.length, words, strlen(words)))
		fail_msg("%s %s: wanted %s with '%s', got %s: %.*s", operation, body, type, words,
			bench->server->error_type, SPAN_ARGS(message));
}

static void test_instances(void **state)
{
	static const struct {
		const char *body;
		size_t count;
	} rows[] = {
		{"{}", 5},
		{"{'cluster':'web'}", 5},
		{"{'cluster':'" TEST_ARN "cluster/web'}", 5},
		{"{'status':['active']}", 4},
		{"{'status':['Draining']}", 1},
		{"{'status':['ACTIVE','draining']}", 5},
		{"{'attributes':['stack=prod']}", 2},
		{"{'attributes':['stack']}", 2},
		{"{'attributes':['gpu']}", 2},
		{"{'attributes':['stack=dev']}", 0},
		{"{'attributes':['stack=prod','gpu'],'status':['ACTIVE'],'cluster':'web'}", 2},
		{"{'target':'aws'}", 0},
		{"{'target':'absent'}", 0},
	};
	struct bench *bench = *state;

	for (size_t i = 0; i < LENGTH(rows); i++) {
		ask(bench, "ListInstances", rows[i].body);
		if (test_count(bench->server, "instances") != rows[i].count)
			fail_msg("%s: %zu", rows[i].body, test_count(bench->server, "instances"));
	}
	refused(bench, "ListInstances", "InvalidParameterException", "no status 'RUNNING'",
		"{'status':['RUNNING']}");
	refused(bench, "ListInstances", "InvalidParameterException", "'=x'",
		"{'attributes':['=x']}");
	refused(bench, "ListInstances", "InvalidParameterException", "neither name nor ARN",
		"{'cluster':'a/b'}");
	refused(bench, "ListInstances", "InvalidParameterException", "neither name nor ARN",
		"{'cluster':'arn:aws:ecs:eu-west-1:1:task/x'}");
	refused(bench, "ListInstances", "ResourceNotFoundException", "'absent' is not watched",
		"{'cluster':'absent'}");
	refused(bench, "ListInstances", "ResourceNotFoundException", "is not watched",
		"{'cluster':'arn:aws:ecs:eu-west-1:222222222222:cluster/web'}");
	/* Nothing is known of it, and nothing is concluded from that. */
	refused(bench, "ListInstances", "ServiceUnavailableException",
		"not been listed yet: there is no target 'aws'",
		"{'cluster':'far','target':'aws'}");
}

static void test_pages(void **state)
{
	struct bench *bench = *state;
	_arena_ struct arena *arena = arena_new(0);
	struct span token = SPAN_NONE, before = SPAN("");
	size_t found = 0, pages = 0;

	do {
		const struct json *answer = ask(bench, "ListInstances",
			token.data ? arena_format(arena, "{'maxResults':2,'nextToken':'%.*s'}",
					     SPAN_ARGS(token))
					     .data
				   : "{'maxResults':2}");

		pages++;
		JSON_EACH_ITEM (json_get(answer, "instances"), instance) {
			assert_true(span_compare(json_get_text(instance, "instance"), before) > 0);
			before = arena_copy_span(arena, json_get_text(instance, "instance"));
			found++;
		}
		token = json_get_text(answer, "nextToken");
		if (token.data)
			token = arena_copy_span(arena, token);
	} while (token.data);
	assert_int_equal(found, 5);
	assert_int_equal(pages, 3);
	ask(bench, "ListInstances", "{'maxResults':2}");
	refused(bench, "ListTasks", "InvalidParameterException", "nextToken",
		arena_format(arena, "{'nextToken':'%s'}", test_text(bench->server, "nextToken"))
			.data);
}

static void test_instance_document(void **state)
{
	struct bench *bench = *state;
	_arena_ struct arena *arena = arena_new(0);
	const struct json *answer;

	answer = ask(bench, "GetInstance",
		arena_format(arena, "{'cluster':'web','instance':'%s'}", bench->ids[1]).data);
	assert_true(span_is(json_get_text(answer, "status"), "ACTIVE"));
	assert_true(span_is(json_get_text(answer, "cluster"), "web"));
	assert_int_equal(json_get_integer(answer, "runningTasks", -1), 1);
	assert_int_equal(json_get_integer(answer, "pendingTasks", -1), 1);
	assert_int_equal(json_count(json_get(answer, "environments")), 1);
	assert_false(json_get_bool(answer, "stale", true));
	assert_true(json_get_integer(answer, "version", 0) > 0);
	ask(bench, "GetInstance",
		arena_format(arena,
			"{'cluster':'web','instance':'" TEST_ARN "container-instance/web/%s'}",
			bench->ids[0])
			.data);
	assert_int_equal(test_count(bench->server, "environments"), 0);
	refused(bench, "GetInstance", "ResourceNotFoundException", "no instance 'absent'",
		"{'cluster':'web','instance':'absent'}");
	assert_string_equal(test_text(bench->server, "resourceType"), "instance");
	refused(bench, "GetInstance", "ResourceNotFoundException", "not watched",
		"{'cluster':'absent','instance':'x'}");
}

static void test_tasks(void **state)
{
	static const struct {
		const char *body;
		size_t count;
	} rows[] = {
		{"{}", 4},
		{"{'status':['running']}", 1},
		{"{'status':['Pending','RUNNING']}", 3},
		{"{'status':['failed']}", 1},
		{"{'status':['FAILED','running']}", 2},
		{"{'startedBy':'d-1'}", 1},
		{"{'startedBy':'d-9'}", 0},
		{"{'environment':'log'}", 3},
		{"{'environment':'log','status':['PENDING']}", 1},
		{"{'environment':'mon'}", 0},
		{"{'cluster':'web','environment':'log','startedBy':'d-2','status':['running']}", 1},
	};
	struct bench *bench = *state;
	_arena_ struct arena *arena = arena_new(0);
	const struct json *task;

	for (size_t i = 0; i < LENGTH(rows); i++) {
		ask(bench, "ListTasks", rows[i].body);
		if (test_count(bench->server, "tasks") != rows[i].count)
			fail_msg("%s: %zu", rows[i].body, test_count(bench->server, "tasks"));
	}
	ask(bench, "ListTasks", arena_format(arena, "{'instance':'%s'}", bench->ids[1]).data);
	assert_int_equal(test_count(bench->server, "tasks"), 2);
	refused(bench, "ListTasks", "InvalidParameterException", "no status 'DANCING'",
		"{'status':['DANCING']}");

	task = json_item(json_get(ask(bench, "ListTasks", "{'startedBy':'d-1'}"), "tasks"), 0);
	assert_true(span_is(json_get_text(task, "task"), bench->tasks[0]));
	assert_true(span_is(json_get_text(task, "environment"), "log"));
	assert_true(span_is(json_get_text(task, "environmentVersion"), "v1"));
	assert_true(span_is(json_get_text(task, "health"), "launching"));
	assert_true(span_is(json_get_text(task, "instance"), bench->ids[0]));
	task = json_item(json_get(ask(bench, "ListTasks", "{'startedBy':'d-2'}"), "tasks"), 0);
	assert_true(span_is(json_get_text(task, "health"), "active"));
	assert_false(json_get(task, "environmentVersion"));
	task = json_item(json_get(ask(bench, "ListTasks", "{'status':['failed']}"), "tasks"), 0);
	assert_true(span_is(json_get_text(task, "task"), bench->tasks[3]));
	assert_true(json_get_bool(task, "failed", false));
}

/* ---- events, and permissions ---- */

#define EVENT                                                                                      \
	"{'detail-type':'ECS Container Instance State Change','time':'2026-11-16T12:00:00Z',"      \
	"'detail':{'clusterArn':'" REMOTE_ARN                                                      \
	"cluster/far','agentConnected':true,'attributes':[],"                                      \
	"'containerInstanceArn':'" REMOTE_ARN "container-instance/far/i1','status':'ACTIVE',"      \
	"'version':3}}"

static void test_events(void **state)
{
	struct bench *bench = *state;
	const struct json *answer = ask(bench, "PostEcsEvents",
		"{'target':'aws','events':[" EVENT "," EVENT ",{'detail-type':'other'},{}]}");

	assert_int_equal(json_get_integer(answer, "accepted", -1), 1);
	assert_int_equal(json_get_integer(answer, "ignored", -1), 2);
	assert_int_equal(json_count(json_get(answer, "failures")), 1);
	assert_int_equal(json_get_integer(json_item(json_get(answer, "failures"), 0), "index", -1),
		3);
	answer = ask(bench, "ListInstances", "{'target':'aws'}");
	assert_int_equal(json_count(json_get(answer, "instances")), 1);
	assert_true(json_get_bool(json_item(json_get(answer, "instances"), 0), "stale", false));
	assert_string_equal(test_item(bench->server, "instances", 0, "target"), "aws");
	/* Not for clusters of this server. */
	answer = ask(bench, "PostEcsEvents", "{'events':[" EVENT "]}");
	assert_int_equal(json_get_integer(answer, "accepted", -1), 0);
}

static void test_tenancy(void **state)
{
	struct bench *bench = *state;
	const struct json *answer;

	ask(bench, "PostEcsEvents", "{'target':'aws','events':[" EVENT "]}");
	bench->server->caller.account = SPAN("222222222222");
	assert_int_equal(json_count(json_get(ask(bench, "ListInstances", "{}"), "instances")), 0);
	assert_int_equal(json_count(json_get(ask(bench, "ListTasks", "{}"), "tasks")), 0);
	ask(bench, "ListInstances", "{'target':'aws'}");
	assert_int_equal(test_count(bench->server, "instances"), 0);
	refused(bench, "ListInstances", "ResourceNotFoundException", "not watched",
		"{'cluster':'far','target':'aws'}");
	refused(bench, "ListTasks", "ResourceNotFoundException", "not watched",
		"{'cluster':'" TEST_ARN "cluster/web'}");
	answer = ask(bench, "PostEcsEvents", "{'target':'aws','events':[" EVENT "]}");
	assert_int_equal(json_get_integer(answer, "ignored", -1), 1);
	bench->server->caller.account = SPAN("123456789012");
	bench->server->caller.region = SPAN("us-east-1");
	assert_int_equal(json_count(json_get(ask(bench, "ListTasks", "{}"), "tasks")), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_instances, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pages, setup, teardown),
		cmocka_unit_test_setup_teardown(test_instance_document, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tasks, setup, teardown),
		cmocka_unit_test_setup_teardown(test_events, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tenancy, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
