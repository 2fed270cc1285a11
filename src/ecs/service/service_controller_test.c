/*
 * The service controller alone: real requests, virtual time, and tests that change tasks as
 * runtimes would.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "control/runner_simulated.h"
#include "control/write.h"
#include "ecs/record/container_instance.h"
#include "ecs/record/failure_count.h"
#include "ecs/service/service_controller.h"
#include "ecs/task/task_edit.h"
#include "ecs/test_server.h"

#define SECOND_US INT64_C(1000000)
#define CLUSTER "123456789012/eu-west-1/default"
#define TASKS_MAX 512

struct world {
	struct runner *runner;
	struct test_server *server;
	struct controller *controller;
};

static void wait_ms(struct world *world, int64_t milliseconds)
{
	assert_int_equal(runner_sleep_until(world->runner,
				 runner_deadline_us(world->runner, milliseconds * 1000)),
		0);
}

/* Until the controller is idle, and running tasks are past SERVICE_READY_MS. */
static void settle(struct world *world)
{
	wait_ms(world, SERVICE_READY_MS + 200);
	assert_true(controller_is_idle(world->controller));
}

static int setup(void **state)
{
	struct world *world = memory_allocate(sizeof(*world));

	world->runner = runner_simulated_new(1);
	world->server = test_server_new_on(runner_clock(world->runner));
	assert_int_equal(controller_start(&service_controller_row,
				 &(struct controller_config){
					 .runner = world->runner, .store = world->server->store},
				 &world->controller, NULL),
		0);
	test_call(world->server, "CreateCluster", "{}");
	*state = world;
	return 0;
}

static int teardown(void **state)
{
	struct world *world = *state;

	controller_stop(world->controller);
	runner_stop(world->runner);
	runner_join(world->runner, NULL);
	test_server_free(world->server);
	runner_free(world->runner);
	free(world);
	return 0;
}

static void define(struct world *world, const char *family, const char *more)
{
	test_call(world->server, "RegisterTaskDefinition",
		"{'family':'%s','containerDefinitions':[{'name':'app','image':'host','memory':64,"
		"'command':['true']%s}]}",
		family, more);
}

#define CHECKED ",'healthCheck':{'command':['CMD','true']}"

/* The id of a new instance with this much memory. */
static const char *add_instance(struct world *world, int memory)
{
	static char id[64];
	const char *arn;

	test_call(world->server, "RegisterContainerInstance",
		"{'attributes':[{'name':'ecs.capability.container-health-check'},"
		"{'name':'ecs.capability.task-eni'}],'totalResources':"
		"[{'name':'CPU','type':'INTEGER','integerValue':4096},"
		"{'name':'MEMORY','type':'INTEGER','integerValue':%d}]}",
		memory);
	arn = test_text(world->server, "containerInstance.containerInstanceArn");
	snprintf(id, sizeof(id), "%s", strrchr(arn, '/') + 1);
	return id;
}

/* ---- tasks by hand ---- */

enum fate { RUNS, CRASHES, IS_HEALTHY, IS_UNHEALTHY, STOPS, IS_LOST };

struct blow {
	struct world *world;
	struct span key;
	enum fate fate;
};

static int write_fate(struct store_transaction *transaction, void *context, struct err *err)
{
	struct blow *blow = context;
	_arena_ struct arena *arena = arena_new(0);
	const struct store_object *task = store_get(store_head(transaction), &task_kind, blow->key);
	int64_t now_ms = runner_wall_ms(blow->world->runner);
	struct task_edit edit;
	int code = task_edit_open(task, arena, &edit, err);

	if (code < 0)
		return code;
	if (edit.facts.started_ms == 0 && blow->fate != STOPS) {
		edit.facts.last = TASK_RUNNING;
		edit.facts.started_ms = now_ms;
	}
	if (blow->fate == IS_HEALTHY)
		edit.facts.health = TASK_HEALTH_HEALTHY;
	if (blow->fate == IS_UNHEALTHY)
		edit.facts.health = TASK_HEALTH_UNHEALTHY;
	if (blow->fate == CRASHES || blow->fate == STOPS || blow->fate == IS_LOST) {
		edit.facts.lost = blow->fate == IS_LOST;
		edit.facts.failed = edit.facts.desired != TASK_STOPPED;
		edit.facts.desired = edit.facts.last = TASK_STOPPED;
		edit.facts.stopped_ms = now_ms;
	}
	return task_save(transaction, &edit, err);
}

static void strike(struct world *world, struct span key, enum fate fate)
{
	struct blow blow = {world, key, fate};
	struct err err = {0};

	if (control_write(world->runner, world->server->store, write_fate, &blow, NULL, &err) < 0)
		fail_msg("%s", err.message);
}

/* Tasks of the service in a class (or all that live: letter 0), or of one deployment, by key. */
static size_t tasks_of(struct world *world, const char *service, char letter, char keys[][128])
{
	_view_ struct store_view *view = store_view_open(world->server->store);
	_free_ char *prefix = memory_format(CLUSTER "/%s/live/", service);
	struct store_cursor cursor = {.view = view,
		.kind = &task_kind,
		.index = TASK_BY_SERVICE,
		.prefix = span_of(prefix)};
	const struct store_object *task;
	size_t count = 0;

	while ((task = store_next(&cursor))) {
		if (letter && task_class_letters[task_class_of(task_facts(task))] != letter)
			continue;
		assert_true(count < TASKS_MAX);
		if (keys)
			snprintf(keys[count], sizeof(keys[count]), "%.*s", SPAN_ARGS(task->key));
		count++;
	}
	return count;
}

static size_t count_of(struct world *world, const char *service, char letter)
{
	return tasks_of(world, service, letter, NULL);
}

/* Changes tasks as a healthy runtime would: desired RUNNING runs, desired STOPPED stops. */
static void play(struct world *world, const char *service, enum fate fate)
{
	static char keys[TASKS_MAX][128];
	size_t count = tasks_of(world, service, 'p', keys);

	for (size_t i = 0; i < count; i++)
		strike(world, span_of(keys[i]), fate);
	count = tasks_of(world, service, 'x', keys);
	for (size_t i = 0; i < count; i++)
		strike(world, span_of(keys[i]), STOPS);
	settle(world);
}

static void play_until_quiet(struct world *world, const char *service)
{
	for (unsigned i = 0; i < 50; i++) {
		settle(world);
		if (count_of(world, service, 'p') + count_of(world, service, 'x') == 0)
			return;
		play(world, service, RUNS);
	}
	fail_msg("service %s does not come to rest", service);
}

/* The same with the circuit breaker, which needs tasks to run for a while. */
static void play_until_proven(struct world *world, const char *service)
{
	for (unsigned i = 0; i < 4; i++) {
		play_until_quiet(world, service);
		wait_ms(world, SERVICE_SETTLED_MS);
	}
	play_until_quiet(world, service);
}

/* ---- services ---- */

static const struct json *described(struct world *world, const char *service)
{
	return json_item(json_get(test_call(world->server, "DescribeServices",
					  "{'services':['%s']}", service),
				 "services"),
		0);
}

static int64_t number_of(struct world *world, const char *service, const char *name)
{
	return json_get_integer(described(world, service), name, -1);
}

static const char *deployment_text(struct world *world, const char *service, size_t which,
	const char *name)
{
	struct span text =
		json_get_text(json_item(json_get(described(world, service), "deployments"), which),
			name);

	return text.data ? arena_copy_span(world->server->arena, text).data : "";
}

static size_t deployments(struct world *world, const char *service)
{
	return json_count(json_get(described(world, service), "deployments"));
}

static void assert_stable(struct world *world, const char *service, int64_t desired)
{
	assert_int_equal(deployments(world, service), 1);
	assert_int_equal(number_of(world, service, "runningCount"), desired);
	assert_int_equal(number_of(world, service, "desiredCount"), desired);
	assert_int_equal(number_of(world, service, "pendingCount"), 0);
}

/* How many events of the service contain this text. */
static size_t reported(struct world *world, const char *service, const char *words)
{
	const struct json *events = json_get(described(world, service), "events");
	size_t count = 0;

	JSON_EACH_ITEM (events, event) {
		struct span message = json_get_text(event, "message");

		count += memmem(message.data, message.length, words, strlen(words)) != NULL;
	}
	return count;
}

static void create(struct world *world, const char *service, const char *family, int desired,
	const char *more)
{
	test_call(world->server, "CreateService",
		"{'serviceName':'%s','taskDefinition':'%s','desiredCount':%d%s}", service, family,
		desired, more);
	settle(world);
}

#define PERCENT(minimum, maximum)                                                                  \
	",'deploymentConfiguration':{'minimumHealthyPercent':" #minimum                            \
	",'maximumPercent':" #maximum "}"
#define BREAKER(rollback)                                                                          \
	",'deploymentConfiguration':{'deploymentCircuitBreaker':{'enable':true,'rollback'"         \
	":" #rollback "}}"

static void update(struct world *world, const char *service, const char *more)
{
	_free_ char *body = memory_format("{'service':'%s'%s}", service, more);

	test_call(world->server, "UpdateService", "%s", body);
	settle(world);
}

/* ---- tests ---- */

static void a_service_gets_its_tasks(void **state)
{
	struct world *world = *state;

	define(world, "web", "");
	add_instance(world, 4096);
	create(world, "web", "web", 3, "");
	assert_int_equal(count_of(world, "web", 'p'), 3);
	assert_int_equal(number_of(world, "web", "pendingCount"), 3);
	assert_int_equal(reported(world, "web", "(service web) has started 3 tasks: (task "), 1);
	assert_int_equal(reported(world, "web", "steady"), 0);
	assert_string_equal(deployment_text(world, "web", 0, "rolloutState"), "IN_PROGRESS");
	play(world, "web", RUNS);
	assert_stable(world, "web", 3);
	assert_string_equal(deployment_text(world, "web", 0, "rolloutState"), "COMPLETED");
	assert_string_equal(deployment_text(world, "web", 0, "status"), "PRIMARY");
	assert_int_equal(reported(world, "web", "(service web) has reached a steady state."), 1);
	assert_int_equal(reported(world, "web", "(service web) (deployment ecs-svc/"), 1);
	assert_int_equal(reported(world, "web", ") deployment completed."), 1);
	wait_ms(world, 60000);
	assert_int_equal(reported(world, "web", "steady"), 1);
}

static void a_rolling_deployment_starts_before_it_stops(void **state)
{
	struct world *world = *state;
	static char keys[TASKS_MAX][128];

	define(world, "web", "");
	define(world, "web", "");
	add_instance(world, 4096);
	create(world, "web", "web:1", 4, PERCENT(100, 150));
	play_until_quiet(world, "web");
	update(world, "web", ",'taskDefinition':'web:2'");
	assert_int_equal(deployments(world, "web"), 2);
	assert_string_equal(deployment_text(world, "web", 0, "status"), "PRIMARY");
	assert_string_equal(deployment_text(world, "web", 1, "status"), "ACTIVE");
	assert_int_equal(count_of(world, "web", 'p'), 2);
	assert_int_equal(count_of(world, "web", 'h'), 4);
	assert_int_equal(tasks_of(world, "web", 'p', keys), 2);
	strike(world, span_of(keys[0]), RUNS);
	settle(world);
	assert_int_equal(count_of(world, "web", 'x'), 1);
	assert_int_equal(count_of(world, "web", 'h'), 4);
	play_until_quiet(world, "web");
	assert_stable(world, "web", 4);
	assert_true(reported(world, "web", "has stopped 1 running tasks: (task ") > 0);
	assert_int_equal(reported(world, "web", "deployment completed."), 2);
	assert_int_equal(reported(world, "web", "steady"), 2);
}

static void a_deployment_without_room_stops_first(void **state)
{
	struct world *world = *state;

	define(world, "web", "");
	add_instance(world, 4096);
	create(world, "web", "web", 4, PERCENT(50, 100));
	play_until_quiet(world, "web");
	update(world, "web", ",'forceNewDeployment':true");
	assert_int_equal(count_of(world, "web", 'x'), 2);
	assert_int_equal(count_of(world, "web", 'p'), 0);
	play_until_quiet(world, "web");
	assert_stable(world, "web", 4);
}

static void percentages_that_allow_nothing_are_reported(void **state)
{
	struct world *world = *state;

	define(world, "web", "");
	add_instance(world, 4096);
	create(world, "web", "web", 1, PERCENT(50, 100));
	play_until_quiet(world, "web");
	update(world, "web", ",'forceNewDeployment':true");
	wait_ms(world, 600000);
	assert_int_equal(count_of(world, "web", 0), 1);
	assert_int_equal(reported(world, "web",
				 "was unable to stop or start tasks during a deployment because of "
				 "the service deployment configuration."),
		1);
	update(world, "web", PERCENT(0, 100));
	play_until_quiet(world, "web");
	assert_stable(world, "web", 1);
}

static void a_service_can_be_scaled_to_nothing_and_back(void **state)
{
	struct world *world = *state;

	define(world, "web", "");
	add_instance(world, 4096);
	create(world, "web", "web", 3, "");
	play_until_quiet(world, "web");
	update(world, "web", ",'desiredCount':0");
	assert_int_equal(count_of(world, "web", 'x'), 3);
	play_until_quiet(world, "web");
	assert_stable(world, "web", 0);
	assert_true(span_is(json_get_text(described(world, "web"), "status"), "ACTIVE"));
	assert_int_equal(reported(world, "web", "steady"), 2);
	update(world, "web", ",'desiredCount':2");
	play_until_quiet(world, "web");
	assert_stable(world, "web", 2);
	assert_int_equal(reported(world, "web", "deployment completed."), 1);
}

/* More than fit into one transaction. */
static void many_tasks_come_and_go_in_portions(void **state)
{
	struct world *world = *state;

	define(world, "web", "");
	for (unsigned i = 0; i < 5; i++)
		add_instance(world, 64 * 60);
	create(world, "web", "web", 250, "");
	assert_int_equal(count_of(world, "web", 'p'), 250);
	play_until_quiet(world, "web");
	assert_stable(world, "web", 250);
	update(world, "web", ",'desiredCount':20");
	assert_int_equal(count_of(world, "web", 'x'), 230);
	play_until_quiet(world, "web");
	assert_stable(world, "web", 20);
}

static size_t tasks_on(struct world *world, const char *instance, const char *service)
{
	_view_ struct store_view *view = store_view_open(world->server->store);
	_free_ char *prefix = memory_format(CLUSTER "/%s/live/%s", instance, service);

	return store_count(view, &task_kind, TASK_BY_INSTANCE, span_of(prefix), true);
}

static void scaling_in_evens_out(void **state)
{
	struct world *world = *state;
	char first[64], second[64];

	define(world, "web", "");
	snprintf(first, sizeof(first), "%s", add_instance(world, 4096));
	create(world, "web", "web", 4, "");
	play_until_quiet(world, "web");
	snprintf(second, sizeof(second), "%s", add_instance(world, 64 * 2));
	/* The first instance is full with other things, so that two go to the second. */
	test_call(world->server, "RegisterTaskDefinition",
		"{'family':'big','containerDefinitions':[{'name':'app','image':'host',"
		"'memory':3840}]}");
	test_call(world->server, "RunTask", "{'taskDefinition':'big'}");
	update(world, "web", ",'desiredCount':6");
	play_until_quiet(world, "web");
	assert_int_equal(tasks_on(world, first, "web"), 4);
	assert_int_equal(tasks_on(world, second, "web"), 2);
	update(world, "web", ",'desiredCount':4");
	play_until_quiet(world, "web");
	assert_int_equal(tasks_on(world, first, "web"), 2);
	assert_int_equal(tasks_on(world, second, "web"), 2);
}

static void crash_loops_wait_longer_each_time(void **state)
{
	struct world *world = *state;
	int64_t waits[8], since_ms;
	size_t count = 0;

	define(world, "web", "");
	add_instance(world, 4096);
	create(world, "web", "web", 1, "");
	play(world, "web", CRASHES); /* the first is free */
	assert_int_equal(count_of(world, "web", 'p'), 1);
	while (count < LENGTH(waits)) {
		play(world, "web", CRASHES);
		since_ms = runner_wall_ms(world->runner);
		for (unsigned i = 0; i < 4000 && count_of(world, "web", 'p') == 0; i++)
			wait_ms(world, 100);
		waits[count++] = runner_wall_ms(world->runner) - since_ms;
	}
	for (size_t i = 1; i < count; i++)
		assert_true(waits[i] > waits[i - 1]);
	assert_true(waits[count - 1] > 60000 && waits[count - 1] <= 300000);
	assert_int_equal(reported(world, "web",
				 "is unable to consistently start tasks successfully"),
		1);
	assert_string_equal(deployment_text(world, "web", 0, "rolloutState"), "IN_PROGRESS");
	/* One that stays ends it. */
	play(world, "web", RUNS);
	assert_stable(world, "web", 1);
	wait_ms(world, SERVICE_SETTLED_MS + 1000);
	assert_int_equal(json_get_integer(json_item(json_get(described(world, "web"),
							    "deployments"),
						  0),
				 "failedTasks", -1),
		0);
	for (unsigned i = 0; i < 2; i++) {
		static char keys[TASKS_MAX][128];

		assert_int_equal(tasks_of(world, "web", 'h', keys), 1);
		strike(world, span_of(keys[0]), CRASHES);
		settle(world);
		assert_int_equal(count_of(world, "web", 'p'), 1);
		play(world, "web", RUNS);
		wait_ms(world, SERVICE_SETTLED_MS + 1000);
	}
}

/* Ten tasks that crash together are one round. */
static void a_large_service_does_not_wait_longer_than_a_small_one(void **state)
{
	struct world *world = *state;

	define(world, "web", "");
	add_instance(world, 4096);
	create(world, "web", "web", 10, "");
	play(world, "web", CRASHES);
	wait_ms(world, SERVICE_BACKOFF_FIRST_MS);
	assert_int_equal(count_of(world, "web", 'p'), 10);
}

/* Without a health check the only evidence is that it ran for a moment. */
static void a_version_that_crashes_replaces_no_task(void **state)
{
	static char keys[TASKS_MAX][128];
	struct world *world = *state;

	define(world, "web", "");
	define(world, "web", "");
	add_instance(world, 4096);
	create(world, "web", "web:1", 3, "");
	play_until_quiet(world, "web");
	update(world, "web", ",'taskDefinition':'web:2'");
	for (unsigned round = 0; round < 8; round++) {
		size_t count = tasks_of(world, "web", 'p', keys);

		for (size_t i = 0; i < count; i++)
			strike(world, span_of(keys[i]), RUNS);
		wait_ms(world, round == 0 ? SERVICE_READY_MS / 2 : SERVICE_SETTLED_MS / 2);
		for (size_t i = 0; i < count; i++)
			strike(world, span_of(keys[i]), CRASHES);
		wait_ms(world, 2000 << round);
		assert_int_equal(count_of(world, "web", 'h'), 3);
		assert_int_equal(count_of(world, "web", 'x'), 0);
	}
}

static void the_breaker_stops_a_deployment_that_fails(void **state)
{
	struct world *world = *state;

	define(world, "web", "");
	define(world, "web", "");
	add_instance(world, 4096);
	create(world, "web", "web:1", 2, BREAKER(false));
	play_until_proven(world, "web");
	update(world, "web", ",'taskDefinition':'web:2'");
	for (unsigned i = 0; i < 5; i++) {
		play(world, "web", CRASHES);
		wait_ms(world, 5000);
	}
	assert_string_equal(deployment_text(world, "web", 0, "rolloutState"), "FAILED");
	assert_string_equal(deployment_text(world, "web", 0, "rolloutStateReason"),
		"ECS deployment circuit breaker: tasks failed to start.");
	assert_int_equal(reported(world, "web", ") deployment failed: tasks failed to start."), 1);
	/* The old tasks stay, and no more starts. */
	assert_int_equal(deployments(world, "web"), 2);
	assert_int_equal(count_of(world, "web", 'h'), 2);
	wait_ms(world, 600000);
	assert_int_equal(count_of(world, "web", 'p'), 0);
	assert_int_equal(count_of(world, "web", 'h'), 2);
	/* Scaling in still works, and so does the next deployment. */
	update(world, "web", ",'desiredCount':1");
	play_until_proven(world, "web");
	assert_int_equal(count_of(world, "web", 'h'), 1);
	update(world, "web", ",'taskDefinition':'web:1'");
	play_until_proven(world, "web");
	assert_stable(world, "web", 1);
}

static void the_breaker_rolls_back(void **state)
{
	struct world *world = *state;

	define(world, "web", "");
	define(world, "web", "");
	add_instance(world, 4096);
	create(world, "web", "web:1", 2, BREAKER(true));
	play_until_proven(world, "web");
	update(world, "web", ",'taskDefinition':'web:2'");
	for (unsigned i = 0; i < 20 && !reported(world, "web", "rolling back to deployment"); i++) {
		play(world, "web", CRASHES);
		wait_ms(world, 1000);
	}
	assert_int_equal(reported(world, "web", "rolling back to deployment ecs-svc/"), 1);
	play_until_proven(world, "web");
	assert_stable(world, "web", 2);
	assert_non_null(strstr(deployment_text(world, "web", 0, "taskDefinition"), "web:1"));
	assert_true(span_ends_with(json_get_text(described(world, "web"), "taskDefinition"),
		SPAN("/web:1")));
	assert_string_equal(deployment_text(world, "web", 0, "rolloutState"), "COMPLETED");
	test_call(world->server, "ListServiceDeployments", "{'service':'web'}");
	assert_string_equal(test_text(world->server, "nextToken"), "");
	{
		const struct json *list = json_get(world->server->answer, "serviceDeployments");
		size_t found = 0;

		JSON_EACH_ITEM (list, item)
			found += span_is(json_get_text(item, "status"), "ROLLBACK_SUCCESSFUL");
		assert_int_equal(found, 1);
	}
}

/* Strikes all tasks of a class. */
static size_t strike_all(struct world *world, const char *service, char letter, enum fate fate)
{
	static char keys[TASKS_MAX][128];
	size_t count = tasks_of(world, service, letter, keys);

	for (size_t i = 0; i < count; i++)
		strike(world, span_of(keys[i]), fate);
	return count;
}

static void strike_deployment(struct world *world, const char *service, size_t which,
	enum fate fate)
{
	static char keys[TASKS_MAX][128];
	size_t count = tasks_of(world, service, 'h', keys);
	const char *id = deployment_text(world, service, which, "id");

	for (size_t i = 0; i < count; i++) {
		_view_ struct store_view *view = store_view_open(world->server->store);
		const struct store_object *task = store_get(view, &task_kind, span_of(keys[i]));

		if (span_is(task_facts(task)->deployment, id))
			strike(world, span_of(keys[i]), fate);
	}
}

/* It runs for longer than a moment before it crashes. */
static void the_breaker_sees_a_version_that_crashes_late(void **state)
{
	struct world *world = *state;

	define(world, "web", "");
	define(world, "web", "");
	add_instance(world, 4096);
	create(world, "web", "web:1", 3, BREAKER(true));
	play_until_proven(world, "web");
	assert_string_equal(deployment_text(world, "web", 0, "rolloutState"), "COMPLETED");
	update(world, "web", ",'taskDefinition':'web:2'");
	assert_int_equal(strike_all(world, "web", 'p', RUNS), 3);
	wait_ms(world, 3000);
	assert_int_equal(deployments(world, "web"), 2);
	assert_string_equal(deployment_text(world, "web", 0, "rolloutState"), "IN_PROGRESS");
	assert_int_equal(count_of(world, "web", 'h'), 6);
	assert_int_equal(count_of(world, "web", 'x'), 0);
	strike_deployment(world, "web", 0, CRASHES);
	settle(world);
	assert_int_equal(reported(world, "web", "rolling back to deployment ecs-svc/"), 1);
	play_until_proven(world, "web");
	assert_stable(world, "web", 3);
	assert_non_null(strstr(deployment_text(world, "web", 0, "taskDefinition"), "web:1"));
	assert_string_equal(deployment_text(world, "web", 0, "rolloutState"), "COMPLETED");
}

/* One task of the version that is rolled back runs for a moment, and counts for nothing: the older
 * tasks stay until others have replaced them. */
static void going_back_counts_on_nothing_that_fails(void **state)
{
	struct world *world = *state;
	static char keys[TASKS_MAX][128];
	char first[64];
	size_t count, left = 0;

	define(world, "web", "");
	define(world, "web", "");
	add_instance(world, 4096);
	create(world, "web", "web:1", 2, BREAKER(true));
	play_until_proven(world, "web");
	snprintf(first, sizeof(first), "%s", deployment_text(world, "web", 0, "id"));
	update(world, "web", ",'taskDefinition':'web:2'");
	assert_int_equal(tasks_of(world, "web", 'p', keys), 2);
	strike(world, span_of(keys[0]), RUNS);
	for (unsigned i = 0; i < 8 && !reported(world, "web", "deployment failed"); i++) {
		play(world, "web", CRASHES);
		wait_ms(world, 900);
	}
	assert_int_equal(reported(world, "web", "rolling back to deployment ecs-svc/"), 1);
	count = tasks_of(world, "web", 'h', keys);
	for (size_t i = 0; i < count; i++) {
		_view_ struct store_view *view = store_view_open(world->server->store);
		const struct store_object *task = store_get(view, &task_kind, span_of(keys[i]));

		left += span_is(task_facts(task)->deployment, first);
	}
	assert_int_equal(left, 2);
	play_until_proven(world, "web");
	assert_stable(world, "web", 2);
	assert_non_null(strstr(deployment_text(world, "web", 0, "taskDefinition"), "web:1"));
	assert_string_equal(deployment_text(world, "web", 0, "rolloutState"), "COMPLETED");
}

/* A version that runs well but is not proven yet is better than none. */
static void the_breaker_rolls_back_to_what_runs(void **state)
{
	struct world *world = *state;

	define(world, "web", "");
	define(world, "web", "");
	add_instance(world, 4096);
	create(world, "web", "web:1", 2, BREAKER(true));
	play_until_quiet(world, "web");
	assert_stable(world, "web", 2);
	assert_string_equal(deployment_text(world, "web", 0, "rolloutState"), "IN_PROGRESS");
	update(world, "web", ",'taskDefinition':'web:2'");
	for (unsigned i = 0; i < 20 && !reported(world, "web", "deployment failed"); i++) {
		play(world, "web", CRASHES);
		wait_ms(world, 500);
	}
	assert_int_equal(reported(world, "web", "rolling back to deployment ecs-svc/"), 1);
	play_until_proven(world, "web");
	assert_stable(world, "web", 2);
	assert_non_null(strstr(deployment_text(world, "web", 0, "taskDefinition"), "web:1"));
	assert_string_equal(deployment_text(world, "web", 0, "rolloutState"), "COMPLETED");
}

static void a_first_deployment_completes_when_it_is_proven(void **state)
{
	struct world *world = *state;

	define(world, "web", "");
	add_instance(world, 4096);
	create(world, "web", "web", 3, BREAKER(true));
	assert_int_equal(strike_all(world, "web", 'p', RUNS), 3);
	wait_ms(world, 3000);
	/* A client that waits for a stable service does not wait for the proof. */
	assert_stable(world, "web", 3);
	assert_string_equal(deployment_text(world, "web", 0, "rolloutState"), "IN_PROGRESS");
	assert_int_equal(reported(world, "web", "steady"), 0);
	strike_all(world, "web", 'h', CRASHES);
	settle(world);
	assert_string_equal(deployment_text(world, "web", 0, "rolloutState"), "FAILED");
	assert_int_equal(reported(world, "web", ") deployment failed: tasks failed to start."), 1);
	wait_ms(world, 600000);
	/* The deployment has failed, and nothing more starts: there is no other event. */
	assert_int_equal(reported(world, "web", "unable to consistently"), 0);
	assert_int_equal(reported(world, "web", "completed"), 0);
	update(world, "web", ",'forceNewDeployment':true");
	play_until_quiet(world, "web");
	assert_string_equal(deployment_text(world, "web", 0, "rolloutState"), "IN_PROGRESS");
	wait_ms(world, SERVICE_SETTLED_MS);
	assert_string_equal(deployment_text(world, "web", 0, "rolloutState"), "COMPLETED");
	assert_int_equal(reported(world, "web", "steady"), 1);
}

static void a_daemon_completes_when_it_is_proven(void **state)
{
	struct world *world = *state;

	define(world, "agent", "");
	for (unsigned i = 0; i < 3; i++)
		add_instance(world, 4096);
	test_call(world->server, "CreateService",
		"{'serviceName':'agent','taskDefinition':'agent','schedulingStrategy':'DAEMON'"
		"%s}",
		BREAKER(false));
	settle(world);
	assert_int_equal(strike_all(world, "agent", 'p', RUNS), 3);
	wait_ms(world, 3000);
	assert_stable(world, "agent", 3);
	assert_string_equal(deployment_text(world, "agent", 0, "rolloutState"), "IN_PROGRESS");
	strike_all(world, "agent", 'h', CRASHES);
	settle(world);
	assert_string_equal(deployment_text(world, "agent", 0, "rolloutState"), "FAILED");
	assert_int_equal(reported(world, "agent", "steady"), 0);
}

/* Kubernetes rounds starts down to whole seconds and reports ends late: a task is proven later then. */
static void a_start_in_whole_seconds_is_proven_later(void **state)
{
	struct world *world = *state;

	define(world, "agent", "");
	add_instance(world, 4096);
	test_call(world->server, "CreateService",
		"{'serviceName':'agent','taskDefinition':'agent','schedulingStrategy':'DAEMON'}");
	settle(world);
	wait_ms(world, 1000 - (unsigned)(runner_wall_ms(world->runner) % 1000));
	assert_int_equal(strike_all(world, "agent", 'p', RUNS), 1);
	wait_ms(world, SERVICE_READY_MS + 1900);
	assert_string_equal(deployment_text(world, "agent", 0, "rolloutState"), "IN_PROGRESS");
	wait_ms(world, 200);
	assert_string_equal(deployment_text(world, "agent", 0, "rolloutState"), "COMPLETED");
}

/* Without a breaker: a service whose tasks crash again and again is not steady in between. */
static void a_crash_loop_is_never_steady(void **state)
{
	struct world *world = *state;

	define(world, "web", "");
	add_instance(world, 4096);
	create(world, "web", "web", 1, "");
	for (unsigned round = 0; round < 6; round++) {
		strike_all(world, "web", 'p', RUNS);
		wait_ms(world, round == 0 ? SERVICE_READY_MS / 2 : 3000);
		strike_all(world, "web", 'h', CRASHES);
		wait_ms(world, 2000 << round);
	}
	assert_int_equal(reported(world, "web", "steady"), 0);
	play(world, "web", RUNS);
	wait_ms(world, SERVICE_SETTLED_MS);
	assert_int_equal(reported(world, "web", "steady"), 1);
	assert_string_equal(deployment_text(world, "web", 0, "rolloutState"), "COMPLETED");
}

/* There are no older tasks and no breaker: running for a moment is still no success. */
static void a_first_version_that_crashes_completes_nothing(void **state)
{
	static const char *const strategies[] = {
		"'desiredCount':2", "'schedulingStrategy':'DAEMON'"};
	struct world *world = *state;

	define(world, "web", "");
	add_instance(world, 4096);
	add_instance(world, 4096);
	for (size_t i = 0; i < LENGTH(strategies); i++) {
		char name[16];

		snprintf(name, sizeof(name), "web%zu", i);
		test_call(world->server, "CreateService",
			"{'serviceName':'%s','taskDefinition':'web',%s}", name, strategies[i]);
		settle(world);
		for (unsigned round = 0; round < 6; round++) {
			assert_int_equal(strike_all(world, name, 'p', RUNS), 2);
			wait_ms(world, SERVICE_READY_MS / 2);
			assert_string_equal(deployment_text(world, name, 0, "rolloutState"),
				"IN_PROGRESS");
			assert_int_equal(strike_all(world, name, 'h', CRASHES), 2);
			wait_ms(world, 1000 + (SERVICE_BACKOFF_FIRST_MS << round));
			assert_string_equal(deployment_text(world, name, 0, "rolloutState"),
				"IN_PROGRESS");
		}
		play(world, name, RUNS);
		wait_ms(world, SERVICE_SETTLED_MS);
		assert_string_equal(deployment_text(world, name, 0, "rolloutState"), "COMPLETED");
	}
}

/* Tasks lost with their instance do not count against the deployment. */
static void tasks_lost_with_their_instance_do_not_trip_the_breaker(void **state)
{
	struct world *world = *state;

	define(world, "web", "");
	add_instance(world, 4096);
	create(world, "web", "web", 4, BREAKER(true));
	strike_all(world, "web", 'p', RUNS);
	wait_ms(world, 3000);
	assert_int_equal(strike_all(world, "web", 'h', IS_LOST), 4);
	wait_ms(world, 2000);
	assert_string_equal(deployment_text(world, "web", 0, "rolloutState"), "IN_PROGRESS");
	assert_int_equal(json_get_integer(json_item(json_get(described(world, "web"),
							    "deployments"),
						  0),
				 "failedTasks", -1),
		0);
	assert_int_equal(count_of(world, "web", 'p'), 4);
	/* But what is lost again and again is not started without a pause. */
	for (unsigned i = 1; i < 4; i++) {
		strike_all(world, "web", 'p', RUNS);
		strike_all(world, "web", 'h', IS_LOST);
		wait_ms(world, (SERVICE_BACKOFF_FIRST_MS << i) - 500);
		assert_int_equal(count_of(world, "web", 0), 0);
		wait_ms(world, 1000);
		assert_int_equal(count_of(world, "web", 'p'), 4);
	}
	play_until_quiet(world, "web");
	wait_ms(world, SERVICE_SETTLED_MS);
	assert_stable(world, "web", 4);
	assert_string_equal(deployment_text(world, "web", 0, "rolloutState"), "COMPLETED");
}

static void a_client_can_stop_a_deployment(void **state)
{
	struct world *world = *state;
	char arn[256];

	define(world, "web", "");
	define(world, "web", "");
	add_instance(world, 4096);
	create(world, "web", "web:1", 2, "");
	play_until_quiet(world, "web");
	update(world, "web", ",'taskDefinition':'web:2'");
	test_call(world->server, "ListServiceDeployments", "{'service':'web'}");
	snprintf(arn, sizeof(arn), "%.*s",
		SPAN_ARGS(json_get_text(json_item(json_get(world->server->answer,
							  "serviceDeployments"),
						0),
			"serviceDeploymentArn")));
	test_call(world->server, "StopServiceDeployment",
		"{'serviceDeploymentArn':'%s','stopType':'ROLLBACK'}", arn);
	settle(world);
	assert_int_equal(reported(world, "web", "rolling back to deployment ecs-svc/"), 1);
	play_until_quiet(world, "web");
	assert_stable(world, "web", 2);
	assert_true(span_ends_with(json_get_text(described(world, "web"), "taskDefinition"),
		SPAN("/web:1")));
}

static void unhealthy_tasks_are_replaced_after_their_grace_period(void **state)
{
	struct world *world = *state;
	static char keys[TASKS_MAX][128];
	const struct store_object *task;

	define(world, "web", CHECKED);
	add_instance(world, 4096);
	create(world, "web", "web", 2, "");
	play(world, "web", RUNS);
	assert_int_equal(count_of(world, "web", 's'), 2);
	assert_int_equal(reported(world, "web", "steady"), 0);
	assert_int_equal(tasks_of(world, "web", 's', keys), 2);
	strike(world, span_of(keys[0]), IS_HEALTHY);
	strike(world, span_of(keys[1]), IS_HEALTHY);
	settle(world);
	assert_int_equal(reported(world, "web", "steady"), 1);
	wait_ms(world, 20000);
	strike(world, span_of(keys[1]), IS_UNHEALTHY);
	settle(world);
	assert_int_equal(count_of(world, "web", 'p'), 1);
	assert_int_equal(count_of(world, "web", 'u') + count_of(world, "web", 'x'), 1);
	assert_int_equal(tasks_of(world, "web", 'p', keys), 1);
	strike(world, span_of(keys[0]), IS_HEALTHY);
	settle(world);
	assert_int_equal(tasks_of(world, "web", 'x', keys), 1);
	{
		_view_ struct store_view *view = store_view_open(world->server->store);

		task = store_get(view, &task_kind, span_of(keys[0]));
		assert_non_null(memmem(task->api.data, task->api.length,
			"Task failed container health checks", 35));
	}
	{
		_free_ char *words =
			memory_format("(service web) (task %s) failed container health checks.",
				strrchr(keys[0], '/') + 1);

		assert_int_equal(reported(world, "web", words), 1);
	}
	play_until_quiet(world, "web");
	assert_int_equal(count_of(world, "web", 'h'), 2);
}

static void the_grace_period_excuses(void **state)
{
	struct world *world = *state;
	static char keys[TASKS_MAX][128];

	define(world, "web", CHECKED);
	add_instance(world, 4096);
	create(world, "web", "web", 1, ",'healthCheckGracePeriodSeconds':60");
	assert_int_equal(tasks_of(world, "web", 'p', keys), 1);
	strike(world, span_of(keys[0]), IS_UNHEALTHY);
	wait_ms(world, 50000);
	assert_int_equal(count_of(world, "web", 'u'), 1);
	assert_int_equal(count_of(world, "web", 0), 1);
	wait_ms(world, 15000);
	assert_int_equal(count_of(world, "web", 'p'), 1);
}

static void unplaced_tasks_are_reported_once_and_retried(void **state)
{
	struct world *world = *state;

	define(world, "web", "");
	create(world, "web", "web", 2, "");
	wait_ms(world, 60000);
	assert_int_equal(reported(world, "web",
				 "(service web) was unable to place a task because no container "
				 "instance met all of its requirements."),
		1);
	add_instance(world, 64);
	settle(world);
	assert_int_equal(count_of(world, "web", 'p'), 1);
	wait_ms(world, 60000);
	assert_int_equal(reported(world, "web", "insufficient memory"), 1);
	add_instance(world, 64);
	play_until_quiet(world, "web");
	assert_stable(world, "web", 2);
}

static void a_deleted_service_drains(void **state)
{
	struct world *world = *state;

	define(world, "web", "");
	add_instance(world, 4096);
	create(world, "web", "web", 3, "");
	play_until_quiet(world, "web");
	test_call(world->server, "DeleteService", "{'service':'web','force':true}");
	settle(world);
	assert_int_equal(count_of(world, "web", 'x'), 3);
	assert_true(span_is(json_get_text(described(world, "web"), "status"), "DRAINING"));
	play(world, "web", RUNS);
	assert_int_equal(count_of(world, "web", 0), 0);
	assert_true(span_is(json_get_text(described(world, "web"), "status"), "INACTIVE"));
}

static void set_status(struct world *world, const char *instance, const char *status)
{
	test_call(world->server, "UpdateContainerInstancesState",
		"{'containerInstances':['%s'],'status':'%s'}", instance, status);
	settle(world);
}

static void tasks_leave_a_draining_instance(void **state)
{
	struct world *world = *state;
	char first[64], second[64];

	define(world, "web", "");
	snprintf(first, sizeof(first), "%s", add_instance(world, 4096));
	create(world, "web", "web", 2, "");
	play_until_quiet(world, "web");
	snprintf(second, sizeof(second), "%s", add_instance(world, 4096));
	set_status(world, first, "DRAINING");
	/* Others first, then the old ones go. */
	assert_int_equal(count_of(world, "web", 'h'), 2);
	assert_int_equal(tasks_on(world, second, "web"), 2);
	play_until_quiet(world, "web");
	assert_int_equal(tasks_on(world, first, "web"), 0);
	assert_int_equal(tasks_on(world, second, "web"), 2);
	assert_stable(world, "web", 2);
}

static void protected_tasks_stay_until_their_time(void **state)
{
	struct world *world = *state;
	static char keys[TASKS_MAX][128];

	define(world, "web", "");
	add_instance(world, 4096);
	create(world, "web", "web", 2, "");
	play_until_quiet(world, "web");
	assert_int_equal(tasks_of(world, "web", 'h', keys), 2);
	test_call(world->server, "UpdateTaskProtection",
		"{'cluster':'default','tasks':['%s'],'protectionEnabled':true,"
		"'expiresInMinutes':10}",
		strrchr(keys[1], '/') + 1);
	update(world, "web", ",'desiredCount':0");
	play_until_quiet(world, "web");
	assert_int_equal(count_of(world, "web", 'h'), 1);
	wait_ms(world, 9 * 60000);
	assert_int_equal(count_of(world, "web", 'h'), 1);
	wait_ms(world, 2 * 60000);
	assert_int_equal(count_of(world, "web", 'h'), 0);
}

static void daemons_are_on_every_instance(void **state)
{
	struct world *world = *state;
	char first[64];

	define(world, "agent", "");
	snprintf(first, sizeof(first), "%s", add_instance(world, 4096));
	add_instance(world, 4096);
	test_call(world->server, "CreateService",
		"{'serviceName':'agent','taskDefinition':'agent','schedulingStrategy':'DAEMON'}");
	play_until_quiet(world, "agent");
	assert_stable(world, "agent", 2);
	assert_int_equal(tasks_on(world, first, "agent"), 1);
	add_instance(world, 4096);
	play_until_quiet(world, "agent");
	assert_stable(world, "agent", 3);
	update(world, "agent", ",'forceNewDeployment':true");
	play_until_quiet(world, "agent");
	assert_stable(world, "agent", 3);
	assert_int_equal(reported(world, "agent", "deployment completed."), 2);
	set_status(world, first, "DRAINING");
	play_until_quiet(world, "agent");
	assert_int_equal(tasks_on(world, first, "agent"), 0);
	assert_stable(world, "agent", 2);
}

/* Also when the last of the others belongs to another service, whose end does not concern them. */
static void daemons_leave_a_draining_instance_last(void **state)
{
	struct world *world = *state;
	char first[64];

	define(world, "agent", "");
	define(world, "web", "");
	snprintf(first, sizeof(first), "%s", add_instance(world, 4096));
	test_call(world->server, "CreateService",
		"{'serviceName':'agent','taskDefinition':'agent','schedulingStrategy':'DAEMON'}");
	play_until_quiet(world, "agent");
	create(world, "web", "web", 2, "");
	play_until_quiet(world, "web");
	assert_int_equal(tasks_on(world, first, "web"), 2);
	add_instance(world, 4096);
	play_until_quiet(world, "agent");
	set_status(world, first, "DRAINING");
	wait_ms(world, 60000);
	assert_int_equal(tasks_on(world, first, "agent"), 1);
	play_until_quiet(world, "web");
	assert_int_equal(tasks_on(world, first, "web"), 0);
	play_until_quiet(world, "agent");
	assert_int_equal(tasks_on(world, first, "agent"), 0);
	assert_stable(world, "agent", 1);
}

static void task_sets_have_their_share(void **state)
{
	struct world *world = *state;
	char blue[256], green[256];

	define(world, "web", "");
	add_instance(world, 4096);
	test_call(world->server, "CreateService",
		"{'serviceName':'web','desiredCount':4,'deploymentController':{'type':'EXTERNAL'}"
		"}");
	test_call(world->server, "CreateTaskSet",
		"{'cluster':'default','service':'web','taskDefinition':'web',"
		"'scale':{'value':100,'unit':'PERCENT'}}");
	snprintf(blue, sizeof(blue), "%s", test_text(world->server, "taskSet.id"));
	assert_string_equal(test_text(world->server, "taskSet.stabilityStatus"), "STABILIZING");
	settle(world);
	assert_int_equal(count_of(world, "web", 'p'), 4);
	play_until_quiet(world, "web");
	test_call(world->server, "CreateTaskSet",
		"{'cluster':'default','service':'web','taskDefinition':'web',"
		"'scale':{'value':50,'unit':'PERCENT'}}");
	snprintf(green, sizeof(green), "%s", test_text(world->server, "taskSet.id"));
	play_until_quiet(world, "web");
	assert_int_equal(count_of(world, "web", 'h'), 6);
	test_call(world->server, "DescribeTaskSets",
		"{'cluster':'default','service':'web','taskSets':['%s']}", green);
	assert_true(span_is(json_get_text(json_item(json_get(world->server->answer, "taskSets"), 0),
				    "stabilityStatus"),
		"STEADY_STATE"));
	test_call(world->server, "DeleteTaskSet",
		"{'cluster':'default','service':'web','taskSet':'%s','force':true}", blue);
	play_until_quiet(world, "web");
	assert_int_equal(count_of(world, "web", 'h'), 2);
	test_call(world->server, "DescribeTaskSets", "{'cluster':'default','service':'web'}");
	assert_int_equal(json_count(json_get(world->server->answer, "taskSets")), 1);
}

static size_t tasks_of_provider(struct world *world, const char *service, const char *provider)
{
	static char keys[TASKS_MAX][128];
	size_t count = tasks_of(world, service, 0, keys), found = 0;
	_view_ struct store_view *view = store_view_open(world->server->store);

	for (size_t i = 0; i < count; i++) {
		const struct store_object *task = store_get(view, &task_kind, span_of(keys[i]));
		_free_ char *words = memory_format("\"capacityProviderName\":\"%s\"", provider);

		found += memmem(task->api.data, task->api.length, words, strlen(words)) != NULL;
	}
	return found;
}

/* Counted over all tasks of the deployment, whenever they were started. */
static void providers_share_by_base_and_weight(void **state)
{
	struct world *world = *state;

	test_call(world->server, "PutClusterCapacityProviders",
		"{'cluster':'default','capacityProviders':['FARGATE','FARGATE_SPOT'],"
		"'defaultCapacityProviderStrategy':[]}");
	test_call(world->server, "RegisterTaskDefinition",
		"{'family':'far','networkMode':'awsvpc','requiresCompatibilities':['FARGATE'],"
		"'cpu':'256','memory':'512','containerDefinitions':[{'name':'app',"
		"'image':'host'}]}");
	add_instance(world, 65536);
	create(world, "web", "far", 1,
		",'networkConfiguration':{'awsvpcConfiguration':{'subnets':['subnet-1']}},"
		"'capacityProviderStrategy':[{'capacityProvider':'FARGATE','base':2,'weight':1},"
		"{'capacityProvider':'FARGATE_SPOT','weight':3}]");
	assert_int_equal(tasks_of_provider(world, "web", "FARGATE"), 1);
	update(world, "web", ",'desiredCount':2");
	assert_int_equal(tasks_of_provider(world, "web", "FARGATE"), 2);
	for (unsigned i = 3; i <= 10; i++) {
		_free_ char *more = memory_format(",'desiredCount':%u", i);

		update(world, "web", more);
	}
	assert_int_equal(tasks_of_provider(world, "web", "FARGATE"), 4);
	assert_int_equal(tasks_of_provider(world, "web", "FARGATE_SPOT"), 6);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_service_gets_its_tasks),
		TEST(a_rolling_deployment_starts_before_it_stops),
		TEST(a_deployment_without_room_stops_first),
		TEST(percentages_that_allow_nothing_are_reported),
		TEST(a_service_can_be_scaled_to_nothing_and_back),
		TEST(many_tasks_come_and_go_in_portions),
		TEST(scaling_in_evens_out),
		TEST(crash_loops_wait_longer_each_time),
		TEST(a_large_service_does_not_wait_longer_than_a_small_one),
		TEST(a_version_that_crashes_replaces_no_task),
		TEST(the_breaker_stops_a_deployment_that_fails),
		TEST(the_breaker_rolls_back),
		TEST(the_breaker_sees_a_version_that_crashes_late),
		TEST(the_breaker_rolls_back_to_what_runs),
		TEST(going_back_counts_on_nothing_that_fails),
		TEST(a_first_deployment_completes_when_it_is_proven),
		TEST(a_start_in_whole_seconds_is_proven_later),
		TEST(a_daemon_completes_when_it_is_proven),
		TEST(a_crash_loop_is_never_steady),
		TEST(a_first_version_that_crashes_completes_nothing),
		TEST(tasks_lost_with_their_instance_do_not_trip_the_breaker),
		TEST(a_client_can_stop_a_deployment),
		TEST(unhealthy_tasks_are_replaced_after_their_grace_period),
		TEST(the_grace_period_excuses),
		TEST(unplaced_tasks_are_reported_once_and_retried),
		TEST(a_deleted_service_drains),
		TEST(tasks_leave_a_draining_instance),
		TEST(protected_tasks_stay_until_their_time),
		TEST(daemons_are_on_every_instance),
		TEST(daemons_leave_a_draining_instance_last),
		TEST(task_sets_have_their_share),
		TEST(providers_share_by_base_and_weight),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
