/*
 * The observer over remote clusters: a real server of ECS behind a target that fails as networks and
 * services do, on virtual time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "aws/call_target.h"
#include "base/map.h"
#include "control/runner_simulated.h"
#include "delivery/observe/observe.h"
#include "ecs/test_server.h"
#include "ecs/test_tasks.h"

#define TARGET "aws"
#define CLUSTER TARGET ":123456789012/eu-west-1/web"
#define CLUSTER_ARN TEST_ARN "cluster/web"
#define PERIOD_MS 10000
#define SECOND_US INT64_C(1000000)
#define MANY 120 /* instances: two pages */

struct bench;

enum fault {
	NO_FAULT,
	FAULT_REFUSED,   /* the service says no */
	FAULT_SILENT,    /* no answer comes */
	FAULT_FAILURE,   /* one of failures[], and not because it is missing */
	FAULT_LEFT_OUT,  /* one is not in the answer at all */
	FAULT_DROPPED,   /* one is on no page */
	FAULT_NO_PAGE,   /* an answer without what was asked for */
	FAULT_SAME_PAGE, /* a token that leads to itself */
	FAULT_NONSENSE,  /* an invalid document */
	FAULT_COUNT
};

struct fake {
	struct aws_target target;
	struct aws_target *inner;
	struct bench *bench;
	unsigned calls, lists;
	enum fault fault;
	const char *operation; /* that it strikes; NULL: any */
	unsigned after;        /* so many calls of it are spared */
	unsigned times;        /* it strikes */
	/* Between two calls. */
	void (*between)(struct bench *bench);
	unsigned between_after;
};

struct bench {
	struct runner *runner;
	struct test_server *server;
	struct observer *service;
	struct fake fake;
	struct runner_event *event;
	struct observe_cursor *cursor;
	struct map changes; /* "CLUSTER INSTANCE": how many were read */
	struct arena *arena;
	bool away; /* there is no such target */
	char ids[MANY][TEST_ID_SIZE];
	uint64_t resource_version;
	int events;
};

/* ---- faults ---- */

static struct json *without_last(struct arena *arena, const struct json *array)
{
	struct json *rest = json_new_array(arena);

	for (size_t i = 0; i + 1 < json_count(array); i++)
		json_append(arena, rest, json_item(array, i));
	return rest;
}

static const char *const lists[] = {
	"tasks", "containerInstances", "taskArns", "containerInstanceArns"};

/* Changes the one list that is in an answer. */
static struct json *spoil(struct fake *fake, enum fault fault, struct arena *arena,
	const struct json *answer)
{
	struct json *created = json_copy_object(arena, answer), *failures, *failure, *broken;
	const char *name = NULL;
	const struct json *list, *last;

	for (size_t i = 0; i < LENGTH(lists); i++)
		if (json_get(answer, lists[i]))
			name = lists[i];
	assert_non_null(name);
	list = json_get(answer, name);
	last = json_item(list, json_count(list) - 1);
	(void)fake;
	switch (fault) {
	case FAULT_FAILURE:
		failures = json_new_array(arena);
		failure = json_new_object(arena);
		json_set(arena, failure, "arn",
			json_get(last,
				strcmp(name, "tasks") == 0 ? "taskArn" : "containerInstanceArn"));
		json_set_string(arena, failure, "reason", SPAN("INTERNAL"));
		json_append(arena, failures, failure);
		json_set(arena, created, "failures", failures);
		json_set(arena, created, name, without_last(arena, list));
		break;
	case FAULT_LEFT_OUT:
	case FAULT_DROPPED: json_set(arena, created, name, without_last(arena, list)); break;
	case FAULT_NO_PAGE: json_unset(created, name); break;
	case FAULT_SAME_PAGE: json_set_string(arena, created, "nextToken", SPAN("again")); break;
	default:
		broken = json_copy_object(arena, last);
		json_unset(broken, "lastStatus");
		json_unset(broken, "attributes");
		json_set(arena, created, name, without_last(arena, list));
		json_append(arena, (struct json *)json_get(created, name), broken);
	}
	return created;
}

static bool strikes(struct fake *fake, const struct aws_call *call)
{
	if (fake->times == 0 || (fake->operation && strcmp(fake->operation, call->operation) != 0))
		return false;
	if (fake->after > 0) {
		fake->after--;
		return false;
	}
	fake->times--;
	return true;
}

static int fake_send(struct aws_target *target, const struct aws_call *call,
	struct json **ret_answer, struct aws_call_failure *failure, struct err *err)
{
	struct fake *fake = CONTAINER_OF(target, struct fake, target);
	void (*between)(struct bench *) = fake->between;
	bool strike = strikes(fake, call);
	int code;

	fake->calls++;
	fake->lists += strncmp(call->operation, "List", 4) == 0;
	if (between && fake->between_after-- == 0) {
		fake->between = NULL;
		between(fake->bench);
	}
	if (strike && fake->fault == FAULT_REFUSED)
		return aws_call_fail(call, 400, SPAN("ThrottlingException"), SPAN("Rate exceeded"),
			failure, err);
	if (strike && fake->fault == FAULT_SILENT)
		return err_set(err, -ETIMEDOUT, "no answer came");
	/* Tokens of a page that never ends are not the server's. */
	code = span_is(json_get_text(call->request, "nextToken"), "again")
		       ? aws_call_read_answer(call,
				 SPAN("{\"taskArns\":[],\"containerInstanceArns\":[],"
				      "\"nextToken\":\"again\"}"),
				 ret_answer, err)
		       : fake->inner->send(fake->inner, call, ret_answer, failure, err);
	if (code == 0 && strike && fake->fault != NO_FAULT)
		*ret_answer = spoil(fake, fake->fault, call->arena, *ret_answer);
	return code;
}

static void strike(struct bench *bench, enum fault fault, const char *operation, unsigned after,
	unsigned times)
{
	bench->fake.fault = fault;
	bench->fake.operation = operation;
	bench->fake.after = after;
	bench->fake.times = times;
}

/* ---- the bench ---- */

static unsigned reported(struct bench *bench, const char *instance)
{
	struct observe_change change;

	while (observe_cursor_next(bench->cursor, bench->arena, &change)) {
		struct span key = arena_format(bench->arena, "%.*s %.*s",
			SPAN_ARGS(change.cluster.text), SPAN_ARGS(change.instance));

		map_put(&bench->changes, key,
			(void *)((uintptr_t)map_get(&bench->changes, key) + 1));
	}
	return (unsigned)(uintptr_t)map_get(&bench->changes,
		arena_format(bench->arena, CLUSTER " %s", instance));
}

static void want(struct bench *bench, struct span cluster_ref)
{
	struct aws_target *target = bench->away ? NULL : &bench->fake.target;

	assert_int_equal(observe_want(bench->service, cluster_ref_of(cluster_ref), target, 0, NULL),
		0);
}

static struct bench *bench_new_on(struct runner *runner, int64_t poll_ms)
{
	struct bench *bench = memory_allocate(sizeof(*bench));
	struct observe_config config = {.group_prefix = SPAN("env:"), .poll_ms = poll_ms};

	bench->runner = runner;
	bench->server = test_server_new_on(runner_clock(bench->runner));
	bench->arena = arena_new(0);
	bench->fake = (struct fake){.target = {.runner = bench->runner, .send = fake_send},
		.bench = bench,
		.inner = aws_target_local(bench->server->dispatcher, bench->runner,
			&bench->server->caller)};
	config.runner = bench->runner;
	config.store = bench->server->store;
	assert_int_equal(observe_new(&config, &bench->service, NULL), 0);
	bench->event = runner_event_new(bench->runner, "changes");
	bench->cursor = observe_cursor_open(bench->service, bench->event);
	test_call(bench->server, "CreateCluster", "{'clusterName':'web'}");
	test_call(bench->server, "RegisterTaskDefinition",
		"{'family':'log','containerDefinitions':[{'name':'a','image':'a','memory':16}]}");
	test_call(bench->server, "RegisterTaskDefinition",
		"{'family':'well','containerDefinitions':[{'name':'a','image':'a','memory':16,"
		"'healthCheck':{'command':['CMD','true']}}]}");
	return bench;
}

static struct bench *bench_new(uint64_t seed)
{
	return bench_new_on(runner_simulated_new(seed), PERIOD_MS);
}

static void forget_changes(struct bench *bench)
{
	reported(bench, "");
	map_clear(&bench->changes);
}

static void bench_free(struct bench *bench)
{
	observe_cursor_close(bench->cursor);
	observe_free(bench->service);
	runner_event_free(bench->event);
	aws_target_free(bench->fake.inner);
	map_clear(&bench->changes);
	test_server_free(bench->server);
	arena_free(bench->arena);
	runner_free(bench->runner);
	free(bench);
}

static void sleep_ms(struct bench *bench, int64_t milliseconds)
{
	runner_sleep_until(bench->runner, runner_deadline_us(bench->runner, milliseconds * 1000));
}

static struct observe_info info(struct bench *bench)
{
	struct observe_info known;

	assert_true(observe_get_info(bench->service, cluster_ref_of(SPAN(CLUSTER)), &known));
	return known;
}

/* A listing that begins now or later, and ends. */
static void settle(struct bench *bench)
{
	uint64_t resource_version =
		observe_resource_version(bench->service, cluster_ref_of(SPAN(CLUSTER)));

	for (unsigned i = 0; i < 2000; i++) {
		if (observe_reaches(bench->service, cluster_ref_of(SPAN(CLUSTER)),
			    resource_version))
			return;
		sleep_ms(bench, 1000);
	}
	fail_msg("no listing was complete: %s", info(bench).error);
}

static struct observe_instance *get(struct bench *bench, const char *id)
{
	return observe_get_instance(bench->service, cluster_ref_of(SPAN(CLUSTER)), span_of(id),
		bench->arena);
}

static void start_task(struct bench *bench, const char *definition, const char *instance,
	char id[TEST_ID_SIZE])
{
	test_call(bench->server, "StartTask",
		"{'cluster':'web','taskDefinition':'%s','containerInstances':['%s'],"
		"'group':'env:log','startedBy':'d-1'}",
		definition, instance);
	test_id_of(test_item(bench->server, "tasks", 0, "taskArn"), id);
}

static void register_many(struct bench *bench, size_t count)
{
	for (size_t i = 0; i < count; i++)
		test_instance(bench->server, "web", 1000, 1000,
			i % 2 ? "{'name':'stack','value':'prod'}," : "", bench->ids[i]);
}

static void deregister(struct bench *bench, const char *id)
{
	test_call(bench->server, "DeregisterContainerInstance",
		"{'cluster':'web','containerInstance':'%s','force':true}", id);
}

static const struct observe_task *task_of(struct bench *bench, const char *id)
{
	return observe_get_task(bench->service, cluster_ref_of(SPAN(CLUSTER)),
		arena_format(bench->arena, TEST_ARN "task/web/%s", id), bench->arena);
}

/* ---- listing ---- */

static void test_listing(void **unused)
{
	struct bench *bench = bench_new(1);
	char first[TEST_ID_SIZE], second[TEST_ID_SIZE];
	struct span *ids;
	struct observe_info known;

	(void)unused;
	register_many(bench, MANY);
	start_task(bench, "log", bench->ids[3], first);
	want(bench, SPAN(CLUSTER));
	assert_false(observe_is_complete(bench->service, cluster_ref_of(SPAN(CLUSTER))));
	assert_true(info(bench).stale);
	settle(bench);
	known = info(bench);
	assert_true(known.complete && !known.stale && known.error[0] == '\0');
	assert_int_equal(known.instances, MANY);
	assert_true(reported(bench, "") > 0);
	assert_int_equal(observe_list_instances(bench->service, cluster_ref_of(SPAN(CLUSTER)),
				 bench->arena, &ids),
		MANY);
	for (size_t i = 0; i < MANY; i++) {
		const struct observe_instance *instance = get(bench, bench->ids[i]);

		assert_non_null(instance);
		assert_int_equal(instance->status, OBSERVE_INSTANCE_ACTIVE);
		assert_true(instance->connected);
		assert_int_equal(memmem(instance->attributes.data, instance->attributes.length,
					 ";stack=prod;", 12) != NULL,
			i % 2);
		assert_int_equal(instance->task_count, i == 3);
		assert_int_equal(reported(bench, bench->ids[i]), 0);
	}
	assert_true(span_is(get(bench, bench->ids[3])->tasks[0].started_by, "d-1"));
	assert_int_equal(get(bench, bench->ids[3])->tasks[0].last, OBSERVE_TASK_PENDING);

	/* Changes are reported, and nothing else is. */
	forget_changes(bench);
	test_change_task(bench->server, "web", first, test_has_run);
	start_task(bench, "log", bench->ids[5], second);
	deregister(bench, bench->ids[7]);
	test_call(bench->server, "PutAttributes",
		"{'cluster':'web','attributes':[{'name':'x','value':'y','targetId':'%s'}]}",
		bench->ids[9]);
	settle(bench);
	for (size_t i = 0; i < 12; i++)
		assert_int_equal(reported(bench, bench->ids[i]) > 0,
			i == 3 || i == 5 || i == 7 || i == 9);
	assert_null(get(bench, bench->ids[7]));
	assert_int_equal(task_of(bench, first)->last, OBSERVE_TASK_RUNNING);

	test_change_task(bench->server, "web", first, test_has_stopped);
	settle(bench);
	assert_int_equal(get(bench, bench->ids[3])->task_count, 0);
	assert_int_equal(task_of(bench, first)->last, OBSERVE_TASK_STOPPED);
	assert_non_null(observe_last_stopped(bench->service, cluster_ref_of(SPAN(CLUSTER)),
		span_of(bench->ids[3]), SPAN("env:log"), bench->arena));
	forget_changes(bench);
	settle(bench);
	assert_int_equal(reported(bench, bench->ids[3]) + reported(bench, bench->ids[5]), 0);
	bench_free(bench);
}

/* Each fault in each call: nothing is concluded from it, it is reported, and the observer recovers. */
static void test_faults(void **unused)
{
	static const struct {
		enum fault fault;
		const char *operation;
		unsigned after;
	} rows[] = {
		{FAULT_REFUSED, "ListContainerInstances", 0},
		{FAULT_REFUSED, "ListContainerInstances", 1},
		{FAULT_SILENT, "DescribeContainerInstances", 1},
		{FAULT_FAILURE, "DescribeContainerInstances", 0},
		{FAULT_LEFT_OUT, "DescribeContainerInstances", 1},
		{FAULT_NO_PAGE, "DescribeContainerInstances", 0},
		{FAULT_NO_PAGE, "ListContainerInstances", 1},
		{FAULT_SAME_PAGE, "ListContainerInstances", 1},
		{FAULT_NONSENSE, "DescribeContainerInstances", 1},
		{FAULT_REFUSED, "ListTasks", 0},
		{FAULT_SILENT, "ListTasks", 1},
		{FAULT_NO_PAGE, "ListTasks", 0},
		{FAULT_SAME_PAGE, "ListTasks", 1},
		{FAULT_SILENT, "DescribeTasks", 0},
		{FAULT_FAILURE, "DescribeTasks", 0},
		{FAULT_LEFT_OUT, "DescribeTasks", 0},
		{FAULT_NONSENSE, "DescribeTasks", 0},
	};

	(void)unused;
	for (size_t i = 0; i < LENGTH(rows); i++)
		for (unsigned known = 0; known < 2; known++) {
			struct bench *bench = bench_new(i + 1);
			char task[TEST_ID_SIZE];
			uint64_t before = 0;

			register_many(bench, MANY);
			start_task(bench, "log", bench->ids[0], task);
			if (known) {
				want(bench, SPAN(CLUSTER));
				settle(bench);
				before = info(bench).listings;
			}
			strike(bench, rows[i].fault, rows[i].operation, rows[i].after, 1);
			want(bench, SPAN(CLUSTER));
			while (bench->fake.times > 0 || info(bench).error[0] == '\0') {
				sleep_ms(bench, 200);
				if (known)
					assert_int_equal(info(bench).instances, MANY);
			}
			assert_int_equal(info(bench).complete, known);
			assert_true(info(bench).listings >= before);
			if (known)
				assert_non_null(task_of(bench, task));
			settle(bench);
			assert_string_equal(info(bench).error, "");
			assert_int_equal(info(bench).instances, MANY);
			assert_int_equal(get(bench, bench->ids[0])->task_count, 1);
			bench_free(bench);
		}
}

/* A list that changes between two pages leaves something out: it is asked for by name. */
static void test_dropped(void **unused)
{
	struct bench *bench = bench_new(5);
	char task[TEST_ID_SIZE];

	(void)unused;
	register_many(bench, MANY);
	start_task(bench, "log", bench->ids[0], task);
	want(bench, SPAN(CLUSTER));
	settle(bench);
	forget_changes(bench);
	for (unsigned i = 0; i < 4; i++) {
		uint64_t listings = info(bench).listings;

		strike(bench, FAULT_DROPPED, i % 2 ? "ListTasks" : "ListContainerInstances", i == 2,
			1);
		settle(bench);
		assert_int_equal(bench->fake.times, 0);
		assert_true(info(bench).listings > listings);
		assert_int_equal(info(bench).instances, MANY);
		assert_int_equal(get(bench, bench->ids[0])->task_count, 1);
	}
	for (size_t i = 0; i < MANY; i++)
		assert_int_equal(reported(bench, bench->ids[i]), 0);
	bench_free(bench);
}

static void take_resource_version(struct bench *bench)
{
	bench->resource_version =
		observe_resource_version(bench->service, cluster_ref_of(SPAN(CLUSTER)));
	register_many(bench, 1);
}

/* A mark that is taken while a listing is under way is reached by the next one. */
static void test_marks(void **unused)
{
	struct bench *bench = bench_new(6);
	uint64_t listings;

	(void)unused;
	register_many(bench, MANY);
	want(bench, SPAN(CLUSTER));
	settle(bench);
	listings = info(bench).listings;
	bench->fake.between_after = 2;
	bench->fake.between = take_resource_version;
	while (info(bench).listings == listings)
		sleep_ms(bench, 100);
	assert_true(bench->resource_version > 0);
	assert_false(observe_reaches_for(bench->service, cluster_ref_of(SPAN(CLUSTER)), SPAN("i"),
		SPAN(""), bench->resource_version));
	forget_changes(bench);
	while (info(bench).listings == listings + 1) {
		assert_int_equal(reported(bench, "i"), 0);
		sleep_ms(bench, 100);
	}
	assert_int_equal(reported(bench, "i"), 1);
	assert_int_equal(reported(bench, ""), 0);
	assert_true(observe_reaches(bench->service, cluster_ref_of(SPAN(CLUSTER)),
		bench->resource_version));
	assert_non_null(get(bench, bench->ids[0]));
	bench_free(bench);
}

/* Errors for a long time: listed less and less often, reported as stale, and then caught up. */
static void test_outage(void **unused)
{
	struct bench *bench = bench_new(7);
	unsigned calls, quiet;

	(void)unused;
	register_many(bench, 2);
	want(bench, SPAN(CLUSTER));
	settle(bench);
	calls = bench->fake.calls;
	sleep_ms(bench, 600000);
	quiet = bench->fake.calls - calls;
	strike(bench, FAULT_SILENT, NULL, 0, UINT32_MAX);
	calls = bench->fake.calls;
	sleep_ms(bench, 45000);
	assert_true(info(bench).stale && info(bench).complete);
	assert_string_equal(info(bench).error, "no answer came");
	sleep_ms(bench, 555000);
	assert_in_range(bench->fake.calls - calls, 3, 12);
	assert_true(quiet > 10 * (bench->fake.calls - calls));
	assert_int_equal(info(bench).instances, 2);
	deregister(bench, bench->ids[1]);
	strike(bench, NO_FAULT, NULL, 0, 0);
	settle(bench);
	assert_false(info(bench).stale);
	assert_int_equal(info(bench).instances, 1);
	/* No target is given for it; later one is. */
	observe_release(bench->service, cluster_ref_of(SPAN(CLUSTER)));
	sleep_ms(bench, 60000);
	bench->away = true;
	want(bench, SPAN(CLUSTER));
	sleep_ms(bench, 60000);
	assert_true(info(bench).stale);
	assert_string_equal(info(bench).error, "there is no target 'aws'");
	bench->away = false;
	want(bench, SPAN(CLUSTER));
	settle(bench);
	bench_free(bench);
}

/* ECS says UNKNOWN of tasks that nothing checks: their definitions decide. */
static void test_health(void **unused)
{
	struct bench *bench = bench_new(8);
	char plain[TEST_ID_SIZE], healthy[TEST_ID_SIZE];

	(void)unused;
	register_many(bench, 1);
	start_task(bench, "log", bench->ids[0], plain);
	start_task(bench, "well", bench->ids[0], healthy);
	strike(bench, FAULT_REFUSED, "DescribeTaskDefinition", 0, 1);
	want(bench, SPAN(CLUSTER));
	while (!observe_is_complete(bench->service, cluster_ref_of(SPAN(CLUSTER))) ||
		bench->fake.times > 0)
		sleep_ms(bench, 10);
	assert_int_equal(task_of(bench, plain)->health, OBSERVE_HEALTH_UNSURE);
	settle(bench);
	sleep_ms(bench, 1000);
	assert_int_equal(task_of(bench, plain)->health, OBSERVE_HEALTH_NONE);
	assert_int_equal(task_of(bench, healthy)->health, OBSERVE_HEALTH_UNKNOWN);
	assert_int_equal(get(bench, bench->ids[0])->task_count, 2);
	bench_free(bench);
}

/* ---- events ---- */

static int post_text(struct bench *bench, const char *target, struct span text, struct err *err)
{
	struct json *event;

	for (size_t i = 0; i < text.length; i++)
		if (text.data[i] == '\'')
			((char *)text.data)[i] = '"';
	assert_int_equal(json_parse(text, bench->arena, &event, NULL), 0);
	return observe_post_event(bench->service, span_of(target), event, err);
}

static struct span time_text(struct bench *bench)
{
	char text[CLOCK_ISO_SIZE];

	clock_format_iso(runner_wall_ms(bench->runner), text);
	return arena_copy_span(bench->arena, span_of(text));
}

static int post_task_of(struct bench *bench, struct span time, const char *id, const char *status,
	int version)
{
	struct err err = {0};
	int code = post_text(bench, TARGET,
		arena_format(bench->arena,
			"{'version':'0','detail-type':'ECS Task State Change','source':'aws.ecs',"
			"'time':'%.*s','detail':{'clusterArn':'" CLUSTER_ARN "',"
			"'taskArn':'" TEST_ARN "task/web/%s',"
			"'containerInstanceArn':'" TEST_ARN "container-instance/web/i1',"
			"'taskDefinitionArn':'" TEST_ARN "task-definition/log:1',"
			"'createdAt':'2026-11-16T12:00:00.5Z','group':'env:log','startedBy':'d-1',"
			"'lastStatus':'%s','desiredStatus':'RUNNING','version':%d}}",
			SPAN_ARGS(time), id, status, version),
		&err);

	if (code < 0)
		fail_msg("%s", err.message);
	return code;
}

static int post_task(struct bench *bench, const char *id, const char *status, int version)
{
	return post_task_of(bench, time_text(bench), id, status, version);
}

static int post_instance_of(struct bench *bench, struct span time, const char *id,
	const char *status, int version)
{
	struct err err = {0};
	int code = post_text(bench, TARGET,
		arena_format(bench->arena,
			"{'detail-type':'ECS Container Instance State Change','time':'%.*s',"
			"'detail':{'clusterArn':'" CLUSTER_ARN "','agentConnected':true,"
			"'attributes':[{'name':'stack','value':'prod'},{'name':'gpu'}],"
			"'containerInstanceArn':'" TEST_ARN "container-instance/web/%s',"
			"'ec2InstanceId':'i-1','status':'%s','version':%d}}",
			SPAN_ARGS(time), id, status, version),
		&err);

	if (code < 0)
		fail_msg("%s", err.message);
	return code;
}

static int post_instance(struct bench *bench, const char *id, const char *status, int version)
{
	return post_instance_of(bench, time_text(bench), id, status, version);
}

/* Scenarios 62 and 64, from outside. */
static void test_events(void **unused)
{
	struct bench *bench = bench_new(9);
	const struct observe_instance *instance;

	(void)unused;
	assert_int_equal(post_task(bench, "t1", "RUNNING", 5), 0); /* no consumer wants it */
	want(bench, SPAN(CLUSTER));
	settle(bench);
	forget_changes(bench);
	assert_int_equal(post_instance(bench, "i1", "ACTIVE", 2), 1);
	assert_int_equal(post_task(bench, "t1", "RUNNING", 5), 1);
	assert_int_equal(reported(bench, "i1"), 2);
	assert_int_equal(post_task(bench, "t1", "PENDING", 4), 0);
	assert_int_equal(post_task(bench, "t1", "RUNNING", 5), 0);
	assert_int_equal(reported(bench, "i1"), 2);
	instance = get(bench, "i1");
	assert_true(span_is(instance->attributes, ";stack=prod;gpu=;"));
	assert_true(span_is(instance->host, "i-1"));
	assert_int_equal(instance->task_count, 1);
	assert_int_equal(instance->tasks[0].last, OBSERVE_TASK_RUNNING);
	assert_int_equal(instance->tasks[0].created_ms, INT64_C(1794830400500));
	assert_int_equal(instance->tasks[0].health, OBSERVE_HEALTH_UNSURE);

	/* The server has never heard of either: a listing shows that, and late events do not bring them back. */
	settle(bench);
	assert_null(get(bench, "i1"));
	assert_null(task_of(bench, "t1"));
	assert_int_equal(post_task(bench, "t1", "RUNNING", 7), 0);
	assert_int_equal(post_instance(bench, "i1", "ACTIVE", 3), 0);
	assert_null(get(bench, "i1"));

	assert_int_equal(post_instance(bench, "i2", "DRAINING", 3), 1);
	assert_int_equal(get(bench, "i2")->status, OBSERVE_INSTANCE_DRAINING);
	assert_int_equal(post_instance(bench, "i2", "INACTIVE", 4), 1);
	assert_null(get(bench, "i2"));
	assert_int_equal(post_instance(bench, "i2", "ACTIVE", 3), 0);
	assert_null(get(bench, "i2"));
	bench_free(bench);
}

static void test_events_refused(void **unused)
{
	static const char *const task =
		"'taskArn':'t','taskDefinitionArn':'d','lastStatus':'RUNNING',"
		"'desiredStatus':'RUNNING','clusterArn':'" CLUSTER_ARN "'";
	static const struct {
		const char *target, *event;
		const char *words; /* NULL: it is ignored */
	} rows[] = {
		{TARGET, "[]", "detail-type is missing"},
		{TARGET, "{'detail-type':7}", "detail-type is missing"},
		{TARGET, "{'detail-type':'ECS Service Action','detail':{}}",
			"resources: names no service of a cluster"},
		{TARGET, "{'detail-type':'ECS Managed Agent State Change','detail':{}}", NULL},
		{TARGET, "{'detail-type':'ECS Task State Change'}", "detail is missing"},
		{TARGET, "{'detail-type':'ECS Task State Change','detail':{}}", "time is missing"},
		{TARGET, "{'detail-type':'ECS Task State Change','detail':{},'time':'noon'}",
			"time is missing"},
		{TARGET, "{'detail-type':'ECS Task State Change','detail':{},'time':%T}",
			"detail: taskArn is missing"},
		{TARGET, "{'detail-type':'ECS Task State Change','time':%T,'detail':{%D}}",
			"detail: version is missing"},
		{TARGET,
			"{'detail-type':'ECS Task State Change','time':%T,"
			"'detail':{%D,'version':-1}}",
			"detail: version is not a number that counts up"},
		{TARGET,
			"{'detail-type':'ECS Task State Change','time':%T,"
			"'detail':{%D,'version':1,'createdAt':'x'}}",
			"detail: createdAt is not a time"},
		{TARGET,
			"{'detail-type':'ECS Task State Change','time':%T,'detail':{'taskArn':'t',"
			"'taskDefinitionArn':'d','lastStatus':'DANCING','desiredStatus':'RUNNING',"
			"'version':1}}",
			"detail: lastStatus 'DANCING' is not known"},
		{TARGET,
			"{'detail-type':'ECS Task State Change','time':%T,'detail':{'taskArn':'t',"
			"'taskDefinitionArn':'d','lastStatus':'RUNNING','desiredStatus':'RUNNING',"
			"'version':1,'clusterArn':'web'}}",
			"detail: clusterArn is not the ARN of a cluster"},
		{TARGET,
			"{'detail-type':'ECS Container Instance State Change','time':%T,"
			"'detail':{'containerInstanceArn':'a/b','status':'ACTIVE','version':1,"
			"'clusterArn':'" CLUSTER_ARN "'}}",
			"detail: attributes is missing"},
		{TARGET,
			"{'detail-type':'ECS Container Instance State Change','time':%T,"
			"'detail':{'containerInstanceArn':'a/b','status':'ACTIVE','version':1,"
			"'attributes':[{'value':'x'}],'clusterArn':'" CLUSTER_ARN "'}}",
			"detail: an attribute has no name"},
		/* Of another target, of another cluster, of this server. */
		{"other",
			"{'detail-type':'ECS Task State "
			"Change','time':%T,'detail':{%D,'version':1}}",
			NULL},
		{"", "{'detail-type':'ECS Task State Change','time':%T,'detail':{%D,'version':1}}",
			NULL},
	};
	struct bench *bench = bench_new(10);

	(void)unused;
	want(bench, SPAN(CLUSTER));
	want(bench, SPAN(":123456789012/eu-west-1/web"));
	settle(bench);
	for (size_t i = 0; i < LENGTH(rows); i++) {
		_buffer_ struct buffer text = {0};
		struct err err = {0};
		int code;

		for (const char *at = rows[i].event; *at; at++)
			if (strncmp(at, "%T", 2) == 0) {
				buffer_format(&text, "'%.*s'", SPAN_ARGS(time_text(bench)));
				at++;
			} else if (strncmp(at, "%D", 2) == 0) {
				buffer_add_string(&text, task);
				at++;
			} else {
				buffer_add_char(&text, *at);
			}
		code = post_text(bench, rows[i].target,
			arena_copy_span(bench->arena, buffer_span(&text)), &err);
		assert_int_equal(code, rows[i].words ? -EINVAL : 0);
		if (rows[i].words && !strstr(err.message, rows[i].words))
			fail_msg("%zu: '%s' is not in '%s'", i, rows[i].words, err.message);
	}
	assert_int_equal(info(bench).tasks, 0);
	bench_free(bench);
}

static void post_meanwhile(struct bench *bench)
{
	bench->events += post_instance(bench, "i1", "ACTIVE", 1);
	bench->events += post_task(bench, "t1", "RUNNING", 1);
}

/* An event that arrives during a listing is newer than that listing. */
static void test_event_while_listing(void **unused)
{
	struct bench *bench = bench_new(11);
	uint64_t listings;

	(void)unused;
	register_many(bench, MANY);
	want(bench, SPAN(CLUSTER));
	settle(bench);
	listings = info(bench).listings;
	bench->fake.between_after = 3;
	bench->fake.between = post_meanwhile;
	while (info(bench).listings == listings)
		sleep_ms(bench, 50);
	assert_int_equal(bench->events, 2);
	assert_non_null(get(bench, "i1"));
	assert_int_equal(get(bench, "i1")->task_count, 1);
	settle(bench);
	assert_null(get(bench, "i1"));
	bench_free(bench);
}

/* Scenario 68: events go on while nothing can be listed, and a tombstone that is forgotten is no door. */
static void test_late_events(void **unused)
{
	struct bench *bench = bench_new(12);
	struct span long_ago;
	struct err err = {0};

	(void)unused;
	want(bench, SPAN(CLUSTER));
	settle(bench);
	strike(bench, FAULT_REFUSED, NULL, 0, UINT32_MAX);
	assert_int_equal(post_instance(bench, "i1", "ACTIVE", 1), 1);
	long_ago = time_text(bench);
	sleep_ms(bench, 600000);
	assert_int_equal(post_instance(bench, "i1", "INACTIVE", 2), 1);
	sleep_ms(bench, INT64_C(3) * 3600000);
	assert_int_equal(post_instance(bench, "i2", "ACTIVE", 1), 1);
	assert_int_equal(post_text(bench, TARGET,
				 arena_format(bench->arena,
					 "{'detail-type':'ECS Container Instance State Change',"
					 "'time':'%.*s','detail':{'clusterArn':'" CLUSTER_ARN "',"
					 "'attributes':[],'status':'ACTIVE','version':1,"
					 "'containerInstanceArn':'x/i1'}}",
					 SPAN_ARGS(long_ago)),
				 &err),
		0);
	assert_null(get(bench, "i1"));
	assert_non_null(get(bench, "i2"));
	bench_free(bench);
}

/* Scenario 64 for a new observer: an event from before a listing, of an object that the listing did not find, may be
 * about one that is gone. It is not trusted; the next listing comes soon and decides. */
static void test_64_events_from_before_a_listing(void **unused)
{
	struct bench *bench = bench_new(13);
	struct span before = time_text(bench), known_since;
	int64_t listed_us;
	uint64_t listings;

	(void)unused;
	register_many(bench, 1);
	sleep_ms(bench, 1000);
	want(bench, SPAN(CLUSTER));
	settle(bench);
	sleep_ms(bench, 1000);
	listings = info(bench).listings;
	assert_int_equal(post_instance_of(bench, before, "i1", "ACTIVE", 1), 0);
	assert_int_equal(post_task_of(bench, before, "t1", "RUNNING", 1), 0);
	assert_null(get(bench, "i1"));
	assert_null(task_of(bench, "t1"));
	listed_us = runner_now_us(bench->runner);
	while (info(bench).listings == listings)
		sleep_ms(bench, 50);
	assert_true(runner_now_us(bench->runner) - listed_us < PERIOD_MS * INT64_C(1000) / 2);
	/* A task that is gone leaves a tombstone, and the version of a known one counts, however long the event took. */
	assert_int_equal(post_instance_of(bench, before, "i2", "INACTIVE", 7), 0);
	assert_int_equal(post_instance(bench, "i2", "ACTIVE", 6), 0);
	known_since = time_text(bench);
	assert_int_equal(post_instance(bench, "i3", "ACTIVE", 1), 1);
	sleep_ms(bench, 10);
	assert_int_equal(post_instance_of(bench, known_since, "i3", "DRAINING", 2), 1);
	bench_free(bench);
}

/* ---- everything at once ---- */

#define LASTING 10 /* instances that stay; the others come and go */

static void strike_by_chance(struct bench *bench, struct random *random)
{
	static const char *const operations[] = {"ListContainerInstances",
		"DescribeContainerInstances", "ListTasks", "DescribeTasks"};
	enum fault fault = (enum fault)random_below(random, FAULT_COUNT);
	size_t operation = random_below(random, LENGTH(operations));

	/* Lists have no documents to spoil, and descriptions no pages. */
	if (operation % 2 == 0 &&
		(fault == FAULT_NONSENSE || fault == FAULT_FAILURE || fault == FAULT_LEFT_OUT))
		fault = FAULT_DROPPED;
	if (operation % 2 == 1 && (fault == FAULT_DROPPED || fault == FAULT_SAME_PAGE))
		fault = FAULT_SILENT;
	strike(bench, fault, operations[operation], (unsigned)random_below(random, 3),
		1 + (unsigned)random_below(random, 2));
}

static void churn_once(struct bench *bench, struct random *random)
{
	size_t at = LASTING + random_below(random, LASTING);
	char task[TEST_ID_SIZE];

	switch (random_below(random, 4)) {
	case 0:
		if (bench->ids[at][0])
			deregister(bench, bench->ids[at]);
		bench->ids[at][0] = '\0';
		break;
	case 1:
		if (!bench->ids[at][0])
			test_instance(bench->server, "web", 1000, 1000, "", bench->ids[at]);
		break;
	case 2:
		start_task(bench, "log", bench->ids[random_below(random, LASTING)], task);
		if (random_below(random, 2))
			test_change_task(bench->server, "web", task, test_has_stopped);
		break;
	default: strike_by_chance(bench, random);
	}
}

static void compare(struct bench *bench)
{
	_view_ struct store_view *view = store_view_open(bench->server->store);
	struct store_cursor cursor = {.view = view, .kind = &task_kind, .index = -1};
	const struct store_object *object;
	size_t count = 0;

	while ((object = store_next(&cursor))) {
		const struct observe_task *task =
			task_of(bench, arena_copy_span(bench->arena, task_facts(object)->id).data);

		count++;
		assert_non_null(task);
		assert_int_equal(task->last == OBSERVE_TASK_STOPPED,
			task_facts(object)->last == TASK_STOPPED);
	}
	assert_int_equal(info(bench).tasks, count);
	count = 0;
	for (size_t i = 0; i < 2 * LASTING; i++) {
		count += bench->ids[i][0] != '\0';
		if (bench->ids[i][0])
			assert_non_null(get(bench, bench->ids[i]));
	}
	assert_int_equal(info(bench).instances, count);
}

static void test_chaos(void **unused)
{
	(void)unused;
	for (uint64_t seed = 1; seed <= 25; seed++) {
		struct bench *bench = bench_new(seed);
		struct random_seeded random;

		random_seeded_init(&random, seed);
		register_many(bench, LASTING);
		want(bench, SPAN(CLUSTER));
		settle(bench);
		for (unsigned step = 0; step < 100; step++) {
			churn_once(bench, &random.random);
			sleep_ms(bench, (int64_t)random_below(&random.random, PERIOD_MS));
			/* S17: an object that existed all the time was known all the time. */
			for (size_t i = 0; i < LASTING; i++)
				if (!get(bench, bench->ids[i]))
					fail_msg("seed %llu, step %u: an instance was lost",
						(unsigned long long)seed, step);
		}
		strike(bench, NO_FAULT, NULL, 0, 0);
		settle(bench);
		compare(bench);
		bench_free(bench);
	}
}

/* Listings, events and readers at the same time, on threads. */
static void test_threads(void **unused)
{
	struct bench *bench = bench_new_on(runner_threads_new(clock_system(), random_system()), 5);
	uint64_t listings;
	int version = 0;

	(void)unused;
	register_many(bench, MANY);
	want(bench, SPAN(CLUSTER));
	while (!observe_is_complete(bench->service, cluster_ref_of(SPAN(CLUSTER))))
		sleep_ms(bench, 1);
	for (listings = info(bench).listings; info(bench).listings < listings + 5;) {
		version++;
		post_instance(bench, "i1", version % 3 ? "ACTIVE" : "DRAINING", version);
		post_task(bench, "t1", "RUNNING", version);
		for (size_t i = 0; i < MANY; i++)
			assert_non_null(get(bench, bench->ids[i]));
		observe_reaches_for(bench->service, cluster_ref_of(SPAN(CLUSTER)), SPAN("i1"),
			SPAN(""),
			observe_resource_version(bench->service, cluster_ref_of(SPAN(CLUSTER))));
		arena_reset(bench->arena);
	}
	assert_true(reported(bench, "i1") > 0);
	bench_free(bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_listing),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_dropped),
		cmocka_unit_test(test_marks),
		cmocka_unit_test(test_outage),
		cmocka_unit_test(test_health),
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_events_refused),
		cmocka_unit_test(test_event_while_listing),
		cmocka_unit_test(test_late_events),
		cmocka_unit_test(test_64_events_from_before_a_listing),
		cmocka_unit_test(test_chaos),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
