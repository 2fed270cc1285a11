/*
 * Environments in a remote cluster, on virtual time: the real manager, the real remote ECS, and between them a target
 * that fails as networks and services do. With any fault, each due time of a schedule has one record, and as
 * many tasks as it says; there is one service, which is as the last deployment wants it in the end; and an instance
 * gets one task of a daemon.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ecs/record/service_kind.h"
#include "environment/decide/instance_action.h"
#include "environment/model/runs.h"
#include "environment/test_target.h"

#define MINUTE_MS INT64_C(60000)
#define SEEDS 20
#define TIMEOUT_US (AWS_TARGETS_WRITE_MS * INT64_C(1000))

/* Faults of a call. */
enum fault {
	NO_FAULT,
	FAULT_LOST,      /* it never arrives, and no answer comes */
	FAULT_SILENT,    /* it is done, and no answer comes */
	FAULT_GATEWAY,   /* it is done, and the answer is that something went wrong */
	FAULT_ERROR,     /* it is not done, and the answer is the same */
	FAULT_THROTTLED, /* refused, and the answer says so */
	FAULT_AWAY,      /* connection refused */
	FAULT_COUNT,
	FAULT_REFUSED, /* refused, with a reason that needs quoting */
	FAULT_LATE,    /* no answer comes, and it is done much later */
};

struct bench {
	struct test_manager *near;
	struct test_server *remote;
	enum fault fault;
	const char *operation; /* that it strikes; NULL: any */
	const char *desired;   /* only if its desiredStatus is this; NULL: whatever that is */
	unsigned times;        /* it strikes */
	int64_t late_us;       /* that FAULT_LATE takes */
	unsigned one_in;       /* 0: always; else by chance, whichever fault */
	unsigned runs;         /* calls of RunTask */
	unsigned creates;      /* of CreateService */
	unsigned changes;      /* of whatever changes something */
};

static enum fault next_fault(struct bench *bench, const struct aws_call *call)
{
	if (bench->times == 0 ||
		(bench->operation && strcmp(bench->operation, call->operation) != 0) ||
		(bench->desired &&
			!span_is(json_get_text(call->request, "desiredStatus"), bench->desired)))
		return NO_FAULT;
	if (bench->one_in == 0) {
		bench->times--;
		return bench->fault;
	}
	if (random_below(runner_random(bench->near->runner), bench->one_in) > 0)
		return NO_FAULT;
	return (enum fault)(1 + random_below(runner_random(bench->near->runner), FAULT_COUNT - 1));
}

static int wait_in_vain(struct bench *bench, struct err *err)
{
	runner_sleep_until(bench->near->runner,
		runner_deadline_us(bench->near->runner, TIMEOUT_US));
	return err_set(err, -ETIMEDOUT, "no answer came");
}

/* A call that is on its way. */
struct late {
	struct test_target *remote;
	char *operation, *request;
};

static void arrive(void *context)
{
	struct late *late = context;
	struct bench *bench = late->remote->context;
	struct runner *runner = bench->near->runner;
	_arena_ struct arena *arena = arena_new(0);
	struct json *request, *answer;

	runner_sleep_until(runner, runner_deadline_us(runner, bench->late_us));
	assert_int_equal(json_parse(span_of(late->request), arena, &request, NULL), 0);
	assert_int_equal(aws_call(late->remote->inner, "ecs", late->operation, request, arena,
				 &answer, NULL, NULL),
		0);
	free(late->operation);
	free(late->request);
	free(late);
}

static int send_late(struct test_target *remote, const struct aws_call *call, struct err *err)
{
	struct bench *bench = remote->context;
	struct span text = json_to_text(call->request, call->arena);
	struct late *late = memory_allocate(sizeof(*late));

	*late = (struct late){.remote = remote,
		.operation = memory_copy_string(call->operation),
		.request = memory_copy_string_n(text.data, text.length)};
	assert_int_equal(runner_spawn(bench->near->runner, "late", arrive, late, NULL), 0);
	return wait_in_vain(bench, err);
}

static int remote_send(struct aws_target *target, const struct aws_call *call,
	struct json **ret_answer, struct aws_call_failure *failure, struct err *err)
{
	struct test_target *remote = test_target_of(target);
	struct bench *bench = remote->context;
	enum fault fault = next_fault(bench, call);
	int code = 0;

	bench->runs += strcmp(call->operation, "RunTask") == 0;
	bench->creates += strcmp(call->operation, "CreateService") == 0;
	bench->changes += strncmp(call->operation, "List", 4) != 0 &&
			  strncmp(call->operation, "Describe", 8) != 0;
	if (fault == NO_FAULT || fault == FAULT_SILENT || fault == FAULT_GATEWAY)
		code = remote->inner->send(remote->inner, call, ret_answer, failure, err);
	switch (fault) {
	case FAULT_LOST:
	case FAULT_SILENT: return wait_in_vain(bench, err);
	case FAULT_GATEWAY:
	case FAULT_ERROR:
		return aws_call_fail(call, 504, SPAN("ServerException"), SPAN("went wrong"),
			failure, err);
	case FAULT_THROTTLED:
		return aws_call_fail(call, 400, SPAN("ThrottlingException"), SPAN("Rate exceeded"),
			failure, err);
	case FAULT_AWAY: return err_set(err, -ECONNREFUSED, "connection refused");
	case FAULT_REFUSED:
		return aws_call_fail(call, 400, SPAN("InvalidParameterException"),
			SPAN("'x' must match \"[a-z]\\w+\"\n"), failure, err);
	case FAULT_LATE: return send_late(remote, call, err);
	default: return code;
	}
}

static struct aws_target *make_target(void *context)
{
	struct bench *bench = context;

	return test_target_new(bench->near->runner, bench->remote, remote_send, bench);
}

static const struct aws_target_settings settings = TEST_REMOTE(5000);

static struct bench *bench_new(uint64_t seed)
{
	struct bench *bench = memory_allocate(sizeof(*bench));
	char id[TEST_ID_SIZE];

	bench->near = test_manager_new(seed);
	bench->remote = test_server_new_on(runner_clock(bench->near->runner));
	test_target_use(bench->near, &settings, make_target, bench);
	test_call(bench->remote, "CreateCluster", "{'clusterName':'default'}");
	test_instance(bench->remote, "default", 8192, 8192, "", id);
	test_call(bench->remote, "RegisterTaskDefinition",
		"{'family':'tidy','containerDefinitions':[{'name':'a','image':'a','memory':16}]}");
	return bench;
}

static void bench_free(struct bench *bench)
{
	if (bench->near->manager)
		test_manager_stop(bench->near);
	aws_targets_free(bench->near->targets);
	test_server_free(bench->remote);
	test_manager_free(bench->near);
	free(bench);
}

static void strike(struct bench *bench, enum fault fault, const char *operation, unsigned times)
{
	bench->fault = fault;
	bench->operation = operation;
	bench->times = times;
}

static void pass_s(struct bench *bench, int64_t seconds)
{
	test_manager_pass(bench->near, seconds * SECOND_US);
}

static void make(struct bench *bench, const char *more)
{
	char version[64];

	test_manager_ask(bench->near, "CreateEnvironment",
		"{'name':'tidy','environmentType':'Cron','taskDefinition':'tidy:1','target':'far',"
		"'instanceGroup':{'cluster':'default'},'deploymentConfiguration':{'schedule':"
		"'rate(1 minute)'%s}}",
		more);
	snprintf(version, sizeof(version), "%s",
		test_text(bench->near->server, "environmentVersion"));
	test_manager_ask(bench->near, "StartDeployment",
		"{'name':'tidy','environmentVersion':'%s'}", version);
	pass_s(bench, 1);
}

static void test_due_and_followed(void **state)
{
	struct bench *bench = bench_new(1);
	struct environment_run_facts runs[8];

	(void)state;
	make(bench, ",'desiredCount':2");
	pass_s(bench, 62);
	assert_int_equal(test_list_runs(bench->near->server, runs, LENGTH(runs)), 1);
	assert_int_equal(runs[0].status, ENVIRONMENT_RUN_started);
	assert_int_equal(test_count_tasks(bench->remote), 2);
	/* It continues: the next one is skipped. It ends: that is seen. */
	pass_s(bench, 60);
	assert_int_equal(test_list_runs(bench->near->server, runs, LENGTH(runs)), 2);
	assert_int_equal(runs[1].status, ENVIRONMENT_RUN_skipped);
	test_end_tasks(bench->remote);
	pass_s(bench, 12);
	test_list_runs(bench->near->server, runs, LENGTH(runs));
	assert_int_equal(runs[0].status, ENVIRONMENT_RUN_failed);
	pass_s(bench, 50);
	assert_int_equal(test_list_runs(bench->near->server, runs, LENGTH(runs)), 3);
	assert_int_equal(runs[2].status, ENVIRONMENT_RUN_started);
	assert_int_equal(test_count_tasks(bench->remote), 4);
	assert_int_equal(bench->runs, 2);
	bench_free(bench);
}

/* One or some calls go wrong: it is started all the same, and once. */
static void test_72_calls_that_go_wrong(void **state)
{
	(void)state;
	for (enum fault fault = NO_FAULT + 1; fault < FAULT_COUNT; fault++) {
		for (unsigned times = 1; times <= 3; times++) {
			struct bench *bench = bench_new(fault);
			struct environment_run_facts runs[8];

			make(bench, "");
			strike(bench, fault, "RunTask", times);
			pass_s(bench, 59 + 35);
			assert_int_equal(test_list_runs(bench->near->server, runs, LENGTH(runs)),
				1);
			assert_int_equal(runs[0].status, ENVIRONMENT_RUN_started);
			assert_int_equal(test_count_tasks(bench->remote), 1);
			assert_int_equal(bench->runs, times + 1);
			bench_free(bench);
		}
	}
}

/* It was done without an answer, and asking again is refused: that says nothing of the first one. */
static void test_72_refused_after_no_answer(void **state)
{
	static const enum fault silent[] = {FAULT_SILENT, FAULT_GATEWAY};
	static const enum fault refused[] = {FAULT_THROTTLED, FAULT_ERROR, FAULT_AWAY};

	(void)state;
	for (size_t i = 0; i < LENGTH(silent) * LENGTH(refused); i++) {
		struct bench *bench = bench_new(i);
		struct environment_run_facts runs[8];

		make(bench, "");
		strike(bench, silent[i % LENGTH(silent)], "RunTask", 1);
		while (bench->runs == 0)
			pass_s(bench, 1);
		strike(bench, refused[i / LENGTH(silent)], "RunTask", 2);
		while (bench->runs < 3)
			pass_s(bench, 1);
		pass_s(bench, 30);
		test_list_runs(bench->near->server, runs, LENGTH(runs));
		assert_int_equal(runs[0].status, ENVIRONMENT_RUN_started);
		assert_int_equal(test_count_tasks(bench->remote), 1);
		bench_free(bench);
	}
}

/* A run was started, the answer is lost, and the server is gone: its tasks are found when RunTask may not be repeated. */
static void test_72_found_again(void **state)
{
	struct bench *bench = bench_new(3);
	struct environment_run_facts runs[8];

	(void)state;
	make(bench, "");
	strike(bench, FAULT_SILENT, "RunTask", 1);
	pass_s(bench, 62);
	assert_int_equal(bench->runs, 1);
	strike(bench, FAULT_AWAY, NULL, UINT32_MAX);
	test_manager_stop(bench->near);
	test_manager_start(bench->near);
	pass_s(bench, 200);
	assert_true(test_list_runs(bench->near->server, runs, LENGTH(runs)) >= 3);
	assert_int_equal(runs[0].status, ENVIRONMENT_RUN_intended);
	assert_int_equal(runs[1].status, ENVIRONMENT_RUN_skipped);
	strike(bench, NO_FAULT, NULL, 0);
	pass_s(bench, 90);
	test_list_runs(bench->near->server, runs, LENGTH(runs));
	assert_int_equal(runs[0].status, ENVIRONMENT_RUN_started);
	assert_int_equal(test_count_tasks(bench->remote), 1);
	bench_free(bench);
}

/* The call takes effect when it may not be repeated any more, after a listing that did not find it: until then the run is not failed. */
static void test_72_a_call_that_arrives_late(void **state)
{
	struct bench *bench = bench_new(6);
	struct environment_run_facts runs[8];

	(void)state;
	make(bench, "");
	bench->late_us = 75 * SECOND_US;
	strike(bench, FAULT_LATE, "RunTask", 1);
	pass_s(bench, 60);
	assert_int_equal(bench->runs, 1);
	strike(bench, FAULT_AWAY, NULL, UINT32_MAX);
	pass_s(bench, 62);
	strike(bench, NO_FAULT, NULL, 0);
	pass_s(bench, 8);
	test_list_runs(bench->near->server, runs, LENGTH(runs));
	assert_int_equal(runs[0].status, ENVIRONMENT_RUN_intended);
	assert_int_equal(test_count_tasks(bench->remote), 0);
	pass_s(bench, 20);
	test_list_runs(bench->near->server, runs, LENGTH(runs));
	assert_int_equal(runs[0].status, ENVIRONMENT_RUN_started);
	pass_s(bench, 60);
	assert_int_equal(test_count_tasks(bench->remote), 1);
	bench_free(bench);
}

/* The cluster is unavailable when it is due: the run is not started later, and reported when that is certain. */
/* ---- daemons ---- */

/* The environment "tidy" is deployed, in this version; `more`: members beside those that all have. */
static void deploy_daemon(struct bench *bench, const char *operation, const char *more)
{
	char version[64];

	test_manager_ask(bench->near, operation, "{'name':'tidy',%s}", more);
	snprintf(version, sizeof(version), "%s",
		test_text(bench->near->server, "environmentVersion"));
	test_manager_ask(bench->near, "StartDeployment",
		"{'name':'tidy','environmentVersion':'%s'}", version);
}

static void be_healthy(struct task_facts *facts)
{
	test_has_run(facts);
	facts->health = TASK_HEALTH_HEALTHY;
}

static void be_unhealthy(struct task_facts *facts)
{
	facts->health = TASK_HEALTH_UNHEALTHY;
}

/* Every remote task that has not stopped. */
static size_t change_tasks(struct bench *bench, void (*change)(struct task_facts *facts))
{
	_arena_ struct arena *arena = arena_new(0);
	_view_ struct store_view *view = store_view_open(bench->remote->store);
	struct store_cursor cursor = {
		.view = view, .kind = &task_kind, .index = -1, .prefix = TEST_TASKS};
	const struct store_object *task;
	char id[TEST_ID_SIZE];
	size_t count = 0;

	while ((task = store_next(&cursor))) {
		if (task_facts(task)->last == TASK_STOPPED)
			continue;
		test_id_of(arena_copy_span(arena, task->key).data, id);
		test_change_task(bench->remote, "default", id, change);
		count++;
	}
	return count;
}

static const char *status_of(struct bench *bench)
{
	test_manager_ask(bench->near, "GetEnvironment", "{'name':'tidy'}");
	return json_path(bench->near->server->answer, "activeDeployment.status")
		       ? test_text(bench->near->server, "activeDeployment.status")
		       : "ended";
}

#define REMOTE_DAEMON                                                                              \
	"'environmentType':'Daemon','taskDefinition':'tidy:1','target':'far',"                     \
	"'instanceGroup':{'cluster':'default'}"

/* Rolled out in the remote cluster, to so many instances; this server has one, and this family to move there. */
static void run_there(struct bench *bench, const char *family, size_t count)
{
	char id[TEST_ID_SIZE];

	test_call(bench->near->server, "CreateCluster", "{'clusterName':'default'}");
	test_instance(bench->near->server, "default", 1024, 1024, "", id);
	test_call(bench->near->server, "RegisterTaskDefinition",
		"{'family':'%s','containerDefinitions':[{'name':'a','image':'a','memory':16}]}",
		family);
	deploy_daemon(bench, "CreateEnvironment", REMOTE_DAEMON);
	pass_s(bench, 20);
	assert_int_equal(change_tasks(bench, test_has_run), count);
	pass_s(bench, 20);
	assert_string_equal(status_of(bench), "ended");
}

/* However many tasks are in a cluster that is only to be left, and away: the new one gets its own. */
static void test_46_a_cluster_to_leave_is_away(void **state)
{
	const size_t many = 2 * INSTANCE_ACTIONS_MAX;
	struct bench *bench = bench_new(8);
	char id[TEST_ID_SIZE];

	(void)state;
	for (size_t i = 1; i < many; i++)
		test_instance(bench->remote, "default", 1024, 1024, "", id);
	run_there(bench, "tidy", many);
	strike(bench, FAULT_AWAY, NULL, UINT32_MAX);
	pass_s(bench, 60);
	deploy_daemon(bench, "UpdateEnvironment",
		"'taskDefinition':'tidy:1','target':'local','instanceGroup':{'cluster':'default'}");
	pass_s(bench, 20);
	assert_int_equal(test_count_tasks(bench->near->server), 1);
	assert_int_equal(change_tasks(bench, test_has_run), many);
	/* It is back: they go. */
	strike(bench, NO_FAULT, NULL, 0);
	pass_s(bench, 60);
	assert_int_equal(test_count_tasks(bench->near->server), 1);
	test_end_tasks(bench->remote);
	pass_s(bench, 20);
	assert_int_equal(test_count_tasks(bench->remote), many);
	bench_free(bench);
}

/* It runs in the remote cluster; a server without any observation of it, with this fault, moves it to its own cluster. */
static void move_here(struct bench *bench, enum fault fault, const char *operation,
	const char *desired)
{
	run_there(bench, "neat", 1);
	strike(bench, fault, operation, UINT32_MAX);
	bench->desired = desired;
	test_manager_stop(bench->near);
	test_manager_start(bench->near);
	pass_s(bench, 20);
	deploy_daemon(bench, "UpdateEnvironment",
		"'taskDefinition':'neat:1','target':'local','instanceGroup':{'cluster':'default'},"
		"'deploymentConfiguration':{'timeoutSeconds':300}");
	pass_s(bench, 20);
}

/* Its tasks were observed by a listing that did not end, and nothing more is known of them: the others wait. */
static void test_46_a_cluster_to_leave_is_half_known(void **state)
{
	struct bench *bench = bench_new(11);

	(void)state;
	move_here(bench, FAULT_AWAY, "ListTasks", "STOPPED");
	assert_int_equal(test_count_tasks(bench->near->server), 1);
	pass_s(bench, 300);
	assert_string_equal(status_of(bench), "ended");
	assert_int_equal(change_tasks(bench, test_has_run), 1);
	bench_free(bench);
}

/* Whether the old tasks are healthy is never observed. The deployment reports that, and can time out. */
static void test_44_health_is_never_observed(void **state)
{
	struct bench *bench = bench_new(12);

	(void)state;
	move_here(bench, FAULT_THROTTLED, "DescribeTaskDefinition", NULL);
	assert_string_equal(status_of(bench), "in-progress");
	pass_s(bench, 100);
	assert_string_equal(status_of(bench), "blocked");
	assert_non_null(strstr(test_text(bench->near->server, "activeDeployment.statusReason"),
		"not known yet whether their tasks are healthy"));
	pass_s(bench, 300);
	assert_string_equal(status_of(bench), "ended");
	assert_int_equal(test_count_tasks(bench->near->server), 0);
	/* It is observed at last. */
	strike(bench, NO_FAULT, NULL, 0);
	pass_s(bench, 30);
	assert_int_equal(test_count_tasks(bench->near->server), 1);
	bench_free(bench);
}

/* A remote cluster has tasks that are on no instance: they are ignored. */
static void test_92_a_task_on_no_instance(void **state)
{
	static const char event[] =
		"{'detail-type':'ECS Task State Change','time':'2030-01-01T00:00:00Z','detail':{"
		"'clusterArn':'arn:aws:ecs:eu-west-1:123456789012:cluster/default','taskArn':"
		"'arn:aws:ecs:eu-west-1:123456789012:task/default/"
		"11111111111111111111111111111111',"
		"'taskDefinitionArn':'arn:aws:ecs:eu-west-1:123456789012:task-definition/web:1',"
		"'group':'service:web','lastStatus':'RUNNING','desiredStatus':'RUNNING',"
		"'createdAt':'2030-01-01T00:00:00Z','version':3}}";
	struct bench *bench = bench_new(10);
	struct controller_statistics before, after;
	struct err err = {0};
	int code;
	_arena_ struct arena *arena = arena_new(0);
	_free_ char *text = memory_copy_string(event);
	struct json *parsed;

	(void)state;
	for (char *c = text; *c; c++)
		*c = *c == '\'' ? '"' : *c;
	deploy_daemon(bench, "CreateEnvironment", REMOTE_DAEMON);
	pass_s(bench, 20);
	change_tasks(bench, test_has_run);
	pass_s(bench, 20);
	assert_int_equal(json_parse(span_of(text), arena, &parsed, NULL), 0);
	controller_statistics(manager_controller(bench->near->manager), &before);
	code = observe_post_event(manager_state(bench->near->manager), SPAN("far"), parsed, &err);
	if (code != 1)
		fail_msg("%d: %s", code, err.message);
	test_manager_pass(bench->near, SECOND_US / 2);
	controller_statistics(manager_controller(bench->near->manager), &after);
	assert_int_equal(after.reconciles, before.reconciles);
	bench_free(bench);
}

/* The reason of a remote refusal is reported, with any characters, and nothing else waits for it. */
static void test_20_refused_in_any_words(void **state)
{
	struct bench *bench = bench_new(9);

	(void)state;
	for (int i = 0; i < 2; i++)
		test_call(bench->remote, "RegisterTaskDefinition",
			"{'family':'checked','containerDefinitions':[{'name':'a','image':'a',"
			"'memory':16,'healthCheck':{'command':['CMD','true']}}]}");
	deploy_daemon(bench, "CreateEnvironment",
		"'environmentType':'Daemon','taskDefinition':'checked:1','target':'far',"
		"'instanceGroup':{'cluster':'default'},"
		"'deploymentConfiguration':{'replaceThenTerminate':true}");
	pass_s(bench, 20);
	assert_int_equal(change_tasks(bench, be_healthy), 1);
	pass_s(bench, 20);
	assert_string_equal(status_of(bench), "ended");
	strike(bench, FAULT_REFUSED, "StartTask", UINT32_MAX);
	deploy_daemon(bench, "UpdateEnvironment", "'taskDefinition':'checked:2'");
	pass_s(bench, 20);
	assert_string_equal(status_of(bench), "blocked");
	assert_int_equal(change_tasks(bench, be_unhealthy), 1);
	pass_s(bench, 10);
	assert_string_equal(status_of(bench), "unhealthy");
	assert_non_null(strstr(test_text(bench->near->server, "activeDeployment.statusReason"),
		"must match '[a-z]'w+'"));
	bench_free(bench);
}

/* The server that made the call is gone when it arrives; by the clock of the next one that was long ago. */
static void test_72_a_call_on_its_way_when_clocks_differ(void **state)
{
	struct bench *bench = bench_new(7);

	(void)state;
	bench->late_us = 2 * TIMEOUT_US;
	strike(bench, FAULT_LATE, "StartTask", 1);
	deploy_daemon(bench, "CreateEnvironment", REMOTE_DAEMON);
	while (bench->changes == 0)
		test_manager_pass(bench->near, SECOND_US / 10);
	test_manager_stop(bench->near);
	assert_int_equal(test_count_tasks(bench->remote), 0);
	runner_simulated_set_wall(bench->near->runner, 60 * MINUTE_MS);
	test_manager_start(bench->near);
	pass_s(bench, 60);
	assert_int_equal(test_count_tasks(bench->remote), 1);
	assert_int_equal(bench->changes, 1);
	bench_free(bench);
}

static void test_83_away_when_due(void **state)
{
	struct bench *bench = bench_new(4);
	static struct environment_run_facts runs[16];
	const struct json *reported;
	size_t count;

	(void)state;
	make(bench, "");
	pass_s(bench, 10);
	strike(bench, FAULT_AWAY, NULL, UINT32_MAX);
	pass_s(bench, 300);
	assert_int_equal(bench->runs, 0); /* nothing is asked for where nothing is known */
	reported = test_manager_ask(bench->near, "GetEnvironment", "{'name':'tidy'}");
	assert_true(json_get_bool(reported, "stale", false));
	strike(bench, NO_FAULT, NULL, 0);
	pass_s(bench, 130);
	count = test_list_runs(bench->near->server, runs, LENGTH(runs));
	assert_true(count >= 6);
	assert_int_equal(runs[0].status, ENVIRONMENT_RUN_failed);
	assert_int_equal(runs[0].started_ms, 0);
	for (size_t i = 1; i < 4; i++)
		assert_int_equal(runs[i].status, ENVIRONMENT_RUN_skipped);
	assert_int_equal(test_count_tasks(bench->remote), 1);
	assert_int_equal(bench->runs, 1);
	bench_free(bench);
}

static void test_deleted_with_its_tasks(void **state)
{
	struct bench *bench = bench_new(5);

	(void)state;
	make(bench, "");
	pass_s(bench, 62);
	assert_int_equal(test_count_tasks(bench->remote), 1);
	strike(bench, FAULT_SILENT, "StopTask", 1);
	test_manager_ask(bench->near, "UpdateEnvironment", "{'name':'tidy','status':'inactive'}");
	test_manager_ask(bench->near, "DeleteEnvironment", "{'name':'tidy','terminateTasks':true}");
	pass_s(bench, 10);
	/* It was stopped, and its end is awaited. */
	test_manager_ask(bench->near, "GetEnvironment", "{'name':'tidy'}");
	test_end_tasks(bench->remote);
	pass_s(bench, 20);
	test_send_to(bench->near->server, &bench->near->service, "GetEnvironment",
		SPAN("{\"name\":\"tidy\"}"));
	assert_string_equal(bench->near->server->error_type, "ResourceNotFoundException");
	bench_free(bench);
}

/* Servers that die at any moment, and calls that go wrong by chance: one record for each due time, and one task for each
 * that says it was started. */
static void test_70_crashes_at_any_moment(void **state)
{
	size_t started = 0, failed = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct bench *bench = bench_new(seed);
		struct random *random = runner_random(bench->near->runner);
		static struct environment_run_facts runs[CRON_RUNS_KEPT];
		size_t count, begun = 0;

		make(bench, "");
		strike(bench, NO_FAULT, NULL, 1);
		bench->one_in = 8;
		for (int i = 0; i < 40; i++) {
			test_manager_pass(bench->near,
				(int64_t)random_below(random, 50 * SECOND_US));
			test_manager_stop(bench->near);
			test_manager_pass(bench->near,
				(int64_t)random_below(random, 15 * SECOND_US));
			test_manager_start(bench->near);
			if (i % 2)
				test_end_tasks(bench->remote);
		}
		strike(bench, NO_FAULT, NULL, 0);
		pass_s(bench, 300);
		count = test_list_runs(bench->near->server, runs, LENGTH(runs));
		assert_true(count > 10);
		for (size_t i = 0; i < count; i++) {
			int64_t before = i == 0 ? 0
					 : runs[i - 1].status == ENVIRONMENT_RUN_missed
						 ? runs[i - 1].last_ms
						 : runs[i - 1].due_ms;

			if (i > 0)
				assert_int_equal(runs[i].due_ms, before + MINUTE_MS);
			begun += runs[i].started_ms > 0;
			failed +=
				runs[i].status == ENVIRONMENT_RUN_failed && runs[i].started_ms == 0;
		}
		assert_int_equal(test_count_tasks(bench->remote), begun);
		started += begun;
		bench_free(bench);
	}
	print_message("%zu runs were started, %zu were not\n", started, failed);
	assert_true(started > 3 * SEEDS);
}

/* ---- Service ---- */

/* The services that are there: how many, and what the last one is to have. */
static size_t count_services(struct bench *bench, int64_t *ret_desired)
{
	_view_ struct store_view *view = store_view_open(bench->remote->store);
	struct store_cursor cursor = {.view = view,
		.kind = &service_kind,
		.index = -1,
		.prefix = SPAN("123456789012/eu-west-1/default/")};
	const struct store_object *service;
	size_t count = 0;

	while ((service = store_next(&cursor)))
		if (service_facts(service)->status == SERVICE_ACTIVE) {
			*ret_desired = service_facts(service)->desired;
			count++;
		}
	return count;
}

/* Nothing runs there, so no rollout ever ends by itself. */
static void stop_rollout(struct bench *bench)
{
	const struct json *environment =
		test_manager_ask(bench->near, "GetEnvironment", "{'name':'web'}");
	struct span id = json_text(json_path(environment, "activeDeployment.deploymentId")),
		    status = json_text(json_path(environment, "activeDeployment.status"));
	char text[64];

	if (!id.data || span_is(status, "to-be-stopped"))
		return;
	snprintf(text, sizeof(text), "%.*s", SPAN_ARGS(id));
	test_manager_ask(bench->near, "StopDeployment", "{'name':'web','deploymentId':'%s'}", text);
}

/* Another version, with so many tasks, and its deployment. */
static void roll_out(struct bench *bench, int count)
{
	char version[64];

	test_manager_ask(bench->near, "UpdateEnvironment",
		"{'name':'web','taskDefinition':'tidy:1','deploymentConfiguration':"
		"{'desiredCount':%d}}",
		count);
	snprintf(version, sizeof(version), "%s",
		test_text(bench->near->server, "environmentVersion"));
	test_manager_ask(bench->near, "StartDeployment", "{'name':'web','environmentVersion':'%s'}",
		version);
}

static void test_70_a_service_in_a_storm(void **state)
{
	size_t repeated = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct bench *bench = bench_new(seed);
		struct random *random = runner_random(bench->near->runner);
		int64_t desired = 0;

		test_manager_ask(bench->near, "CreateEnvironment",
			"{'name':'web','environmentType':'Service','taskDefinition':'tidy:1',"
			"'target':'far','instanceGroup':{'cluster':'default'}}");
		strike(bench, NO_FAULT, NULL, 1);
		bench->one_in = 4;
		for (int i = 1; i <= 20; i++) {
			if (i % 4 == 2)
				stop_rollout(bench);
			if (i % 4 == 0)
				roll_out(bench, i);
			test_manager_pass(bench->near,
				(int64_t)random_below(random, 20 * SECOND_US));
			test_manager_stop(bench->near);
			test_manager_start(bench->near);
			assert_true(count_services(bench, &desired) <= 1);
		}
		strike(bench, NO_FAULT, NULL, 0);
		stop_rollout(bench);
		pass_s(bench, 120);
		roll_out(bench, 21);
		pass_s(bench, 60);
		assert_int_equal(count_services(bench, &desired), 1);
		assert_int_equal(desired, 21);
		repeated += bench->creates > 1;
		/* And then there are no more calls. */
		bench->changes = 0;
		pass_s(bench, 120);
		assert_int_equal(bench->changes, 0);
		bench_free(bench);
	}
	assert_true(repeated > 0);
}

/* Nothing is decided on a stale state of a service, though the cluster answers other calls. */
static void test_a_service_that_may_not_be_described(void **state)
{
	struct bench *bench = bench_new(1);
	const struct json *reported;
	int64_t desired;

	(void)state;
	test_manager_ask(bench->near, "CreateEnvironment",
		"{'name':'web','environmentType':'Service','taskDefinition':'tidy:1',"
		"'target':'far','instanceGroup':{'cluster':'default'}}");
	strike(bench, FAULT_ERROR, "DescribeServices", UINT32_MAX);
	roll_out(bench, 2);
	pass_s(bench, 60);
	assert_int_equal(bench->changes, 0);
	assert_int_equal(count_services(bench, &desired), 0);
	reported = test_manager_ask(bench->near, "GetEnvironment", "{'name':'web'}");
	assert_true(json_get_bool(reported, "stale", false));
	assert_true(span_is(json_text(json_path(reported, "activeDeployment.status")), "blocked"));
	assert_true(span_starts_with(json_text(json_path(reported,
					     "activeDeployment.statusReason")),
		SPAN("CLUSTER_UNKNOWN")));
	strike(bench, NO_FAULT, NULL, 0);
	pass_s(bench, 30);
	assert_int_equal(count_services(bench, &desired), 1);
	assert_int_equal(desired, 2);
	bench_free(bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_due_and_followed),
		cmocka_unit_test(test_72_calls_that_go_wrong),
		cmocka_unit_test(test_72_refused_after_no_answer),
		cmocka_unit_test(test_72_found_again),
		cmocka_unit_test(test_72_a_call_that_arrives_late),
		cmocka_unit_test(test_72_a_call_on_its_way_when_clocks_differ),
		cmocka_unit_test(test_46_a_cluster_to_leave_is_away),
		cmocka_unit_test(test_46_a_cluster_to_leave_is_half_known),
		cmocka_unit_test(test_44_health_is_never_observed),
		cmocka_unit_test(test_20_refused_in_any_words),
		cmocka_unit_test(test_92_a_task_on_no_instance),
		cmocka_unit_test(test_83_away_when_due),
		cmocka_unit_test(test_deleted_with_its_tasks),
		cmocka_unit_test(test_70_crashes_at_any_moment),
		cmocka_unit_test(test_70_a_service_in_a_storm),
		cmocka_unit_test(test_a_service_that_may_not_be_described),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
