/*
 * Services on a runtime that keeps replicas itself: the real controllers of a server on the
 * simulated runtime, on virtual time. The server can stop and start again, with the same store.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "control/runner_simulated.h"
#include "ecs/instance/instance_maintainer.h"
#include "ecs/record/failure_count.h"
#include "ecs/service/group_controller.h"
#include "ecs/service/service_controller.h"
#include "ecs/service/service_group.h"
#include "ecs/task/task_controller.h"
#include "ecs/task/task_traffic.h"
#include "ecs/test_server.h"
#include "ecs/test_tasks.h"
#include "ecs/test_traffic.h"
#include "runtime/simulated/simulated.h"

#define HOST "there"
#define CLUSTER TEST_ACCOUNT_KEY "/default"
#define INSTANCES 3
#define PATIENCE_MS 600000
#define STEP_MS 10
#define STARTS_MAX 64

struct rig {
	struct runner *runner;
	struct ecs_context ecs;
	struct test_server *server;
	struct simulated_world *world;
	/* The server's state, NULL while it is down. */
	struct runner *host;
	struct runtime *runtime;
	struct task_controller *tasks;
	struct group_controller *groups;
	struct instance_maintainer *maintainer;
	struct controller *services, *traffic;
	struct service_control control;
	/* Actual state. */
	unsigned broken;
	size_t running; /* programs */
	size_t start_count;
	int64_t starts_ms[STARTS_MAX];
};

/* ---- actual state ---- */

static void program_started(void *context, const struct simulated_program *program)
{
	struct rig *rig = context;

	(void)program;
	rig->running++;
	if (rig->start_count < STARTS_MAX)
		rig->starts_ms[rig->start_count++] = runner_wall_ms(rig->runner);
}

static void program_ended(void *context, const struct simulated_program *program,
	enum runtime_stop stop)
{
	struct rig *rig = context;

	(void)program;
	(void)stop;
	rig->running--;
}

static void rule_broken(void *context, const char *rule)
{
	struct rig *rig = context;

	print_message("# broken: %s\n", rule);
	rig->broken++;
}

/* ---- a server ---- */

static void task_changed(void *context, struct span token)
{
	struct rig *rig = context;

	task_controller_changed(rig->tasks, token);
	if (token.length == 0 && rig->maintainer)
		instance_maintainer_refresh(rig->maintainer);
}

static void group_changed(void *context, struct span id)
{
	struct rig *rig = context;

	group_controller_changed(rig->groups, id);
}

static void boot(struct rig *rig)
{
	struct store *store = rig->server->store;
	struct runner *host = runner_group_new(rig->runner, "host");
	struct task_controller_config tasks = {
		.runner = host, .store = store, .host = SPAN(HOST), .adopt = service_group_adopt};
	struct group_controller_config groups = {.runner = host,
		.store = store,
		.host = SPAN(HOST),
		.account = SPAN("123456789012"),
		.region = SPAN("eu-west-1")};
	struct runtime_simulated_config runtime = {.runner = host,
		.changed = task_changed,
		.group_changed = group_changed,
		.context = rig};
	struct instance_maintainer_config maintainer = {.runner = host,
		.store = store,
		.random = &rig->server->random.random,
		.host = SPAN(HOST),
		.account = SPAN("123456789012"),
		.region = SPAN("eu-west-1"),
		.cluster = SPAN("default"),
		.every_cluster = true};
	struct controller_config services = {
		.runner = host, .store = store, .context = &rig->control};
	struct err err = {0};

	rig->host = host;
	rig->control.groups = true;
	rig->tasks = task_controller_new(&tasks);
	rig->groups = group_controller_new(&groups);
	if (runtime_simulated_open(rig->world, &runtime, &rig->runtime, &err) < 0)
		fail_msg("%s", err.message);
	maintainer.runtime = rig->runtime;
	if (instance_maintainer_start(&maintainer, &rig->maintainer, &err) < 0 ||
		task_controller_start(rig->tasks, rig->runtime, &err) < 0 ||
		group_controller_start(rig->groups, rig->runtime, &err) < 0 ||
		controller_start(&service_controller_row, &services, &rig->services, &err) < 0 ||
		controller_start(&task_traffic_controller_row, &services, &rig->traffic, &err) < 0)
		fail_msg("%s", err.message);
}

/* As if its process were killed. */
static void take_down(struct rig *rig)
{
	runner_stop(rig->host);
	controller_stop(TAKE(rig->services));
	controller_stop(TAKE(rig->traffic));
	group_controller_stop(rig->groups);
	task_controller_stop(rig->tasks);
	instance_maintainer_stop(TAKE(rig->maintainer));
	rig->runtime->operations->close(TAKE(rig->runtime));
	task_controller_free(TAKE(rig->tasks));
	group_controller_free(TAKE(rig->groups));
	runner_join(rig->host, NULL);
	runner_free(TAKE(rig->host));
}

static void define(struct rig *rig, const char *family, const char *command, bool checked)
{
	test_call(rig->server, "RegisterTaskDefinition",
		"{'family':'%s','containerDefinitions':[{'name':'app','image':'host','memory':64,"
		"'portMappings':[{'containerPort':80}],'command':[%s]%s}]}",
		family, command, checked ? ",'healthCheck':{'command':['CMD','true']}" : "");
}

/* Groups are reconciled after this many milliseconds. */
static int setup_with(void **state, uint64_t first_pass, uint64_t last_pass)
{
	struct rig *rig = memory_allocate(sizeof(*rig));
	struct simulated_config config = {.instances = INSTANCES,
		.remember_tokens = true,
		.observer = {.started = program_started,
			.ended = program_ended,
			.broken = rule_broken,
			.context = rig},
		.groups = true,
		.group_check = {first_pass, last_pass}};
	struct err err = {0};

	rig->runner = runner_simulated_new(1);
	rig->ecs = (struct ecs_context){.endpoint = SPAN(""), .scheduler = SPAN(HOST)};
	rig->server = test_server_new_with(runner_clock(rig->runner), &rig->ecs);
	if (simulated_world_new(rig->runner, &config, &rig->world, &err) < 0)
		fail_msg("%s", err.message);
	boot(rig);
	define(rig, "quick", "'SIMULATED_START_MS=50'", false);
	define(rig, "checked", "'SIMULATED_START_MS=50','SIMULATED_HEALTH_MS=300'", true);
	define(rig, "crashing", "'SIMULATED_RUN_MS=100','SIMULATED_EXIT_CODE=3'", false);
	define(rig, "unstartable", "'SIMULATED_START_MS=soon'", false);
	*state = rig;
	return 0;
}

static int setup(void **state)
{
	return setup_with(state, 5, 20);
}

static int setup_slow(void **state)
{
	return setup_with(state, 1500, 2000);
}

static int teardown(void **state)
{
	struct rig *rig = *state;

	if (rig->host)
		take_down(rig);
	simulated_world_free(rig->world);
	runner_stop(rig->runner);
	runner_join(rig->runner, NULL);
	test_server_free(rig->server);
	runner_free(rig->runner);
	assert_int_equal(rig->broken, 0);
	free(rig);
	return 0;
}

/* ---- looking ---- */

static void wait_ms(struct rig *rig, int64_t milliseconds)
{
	if (runner_sleep_until(rig->runner, runner_deadline_us(rig->runner, milliseconds * 1000)) <
		0)
		fail_msg("%s", runner_simulated_trouble(rig->runner));
}

/* Waits for a condition; fails the test after PATIENCE_MS. */
#define WAIT_UNTIL(rig, condition)                                                                 \
	do {                                                                                       \
		int64_t until_ms = runner_wall_ms((rig)->runner) + PATIENCE_MS;                    \
                                                                                                   \
		while (!(condition)) {                                                             \
			if (runner_wall_ms((rig)->runner) > until_ms)                              \
				fail_msg("line %d: never %s", __LINE__, #condition);               \
			wait_ms(rig, STEP_MS);                                                     \
		}                                                                                  \
	} while (0)

static size_t count_groups(struct rig *rig)
{
	struct simulated_counts counts;

	simulated_world_counts(rig->world, &counts);
	return counts.groups;
}

static const struct json *described(struct rig *rig, const char *service)
{
	return json_item(json_get(test_call(rig->server, "DescribeServices", "{'services':['%s']}",
					  service),
				 "services"),
		0);
}

/* As many tasks as wanted run, of one deployment, which is completed. */
static bool is_stable(struct rig *rig, const char *service, int64_t count)
{
	const struct json *shown = described(rig, service);
	const struct json *deployments = json_get(shown, "deployments");

	return json_count(deployments) == 1 &&
	       json_get_integer(shown, "runningCount", -1) == count &&
	       json_get_integer(shown, "pendingCount", -1) == 0 &&
	       span_is(json_get_text(json_item(deployments, 0), "rolloutState"), "COMPLETED") &&
	       rig->running == (size_t)count;
}

/* How many events of the service contain this text. */
static size_t reported(struct rig *rig, const char *service, const char *words)
{
	const struct json *events = json_get(described(rig, service), "events");
	size_t count = 0;

	JSON_EACH_ITEM (events, event) {
		struct span message = json_get_text(event, "message");

		count += memmem(message.data, message.length, words, strlen(words)) != NULL;
	}
	return count;
}

/* Tasks of the service that are in a class and live; letter 0: in any. The id of one of them. */
static size_t count_tasks(struct rig *rig, const char *service, char letter, char id[TEST_ID_SIZE])
{
	_view_ struct store_view *view = store_view_open(rig->server->store);
	char prefix[128];
	struct store_cursor cursor = {.view = view, .kind = &task_kind, .index = TASK_BY_SERVICE};
	const struct store_object *task;
	size_t count = 0;

	snprintf(prefix, sizeof(prefix), CLUSTER "/%s/live/", service);
	cursor.prefix = span_of(prefix);
	while ((task = store_next(&cursor)))
		if (!letter || task_class_letters[task_class_of(task_facts(task))] == letter) {
			count++;
			if (id)
				snprintf(id, TEST_ID_SIZE, "%.*s", SPAN_ARGS(task_facts(task)->id));
		}
	return count;
}

static const char *task_text(struct rig *rig, const char *id, const char *name)
{
	test_call(rig->server, "DescribeTasks", "{'tasks':['%s']}", id);
	return test_item(rig->server, "tasks", 0, name);
}

static size_t count_on(struct rig *rig, const char *instance)
{
	_view_ struct store_view *view = store_view_open(rig->server->store);
	char prefix[160];

	snprintf(prefix, sizeof(prefix), CLUSTER "/%s/live/", instance);
	return store_count(view, &task_kind, TASK_BY_INSTANCE, span_of(prefix), false);
}

/* The id of one of the instances of a cluster, until the next call. */
static const char *instance_in(struct rig *rig, const char *cluster, size_t index)
{
	struct span arn;

	test_call(rig->server, "ListContainerInstances", "{'cluster':'%s'}", cluster);
	arn = json_text(json_item(json_get(rig->server->answer, "containerInstanceArns"), index));
	return arn.data ? strrchr(arena_copy_span(rig->server->arena, arn).data, '/') + 1 : "";
}

static const char *instance_of(struct rig *rig, size_t index)
{
	return instance_in(rig, "default", index);
}

static void set_instance(struct rig *rig, const char *instance, const char *status)
{
	test_call(rig->server, "UpdateContainerInstancesState",
		"{'containerInstances':['%s'],'status':'%s'}", instance, status);
}

/* ---- groups of services ---- */

static void a_service_is_a_group_as_long_as_it_is(void **state)
{
	struct rig *rig = *state;
	char id[TEST_ID_SIZE];

	test_call(rig->server, "CreateService",
		"{'serviceName':'web','taskDefinition':'quick','desiredCount':3}");
	WAIT_UNTIL(rig, is_stable(rig, "web", 3));
	assert_int_equal(count_groups(rig), 1);
	assert_int_equal(reported(rig, "web", "has started 3 tasks"), 1);
	count_tasks(rig, "web", 'h', id);
	assert_string_equal(task_text(rig, id, "lastStatus"), "RUNNING");
	assert_true(task_text(rig, id, "containerInstanceArn")[0]);
	test_call(rig->server, "UpdateService", "{'service':'web','desiredCount':5}");
	WAIT_UNTIL(rig, is_stable(rig, "web", 5));
	test_call(rig->server, "UpdateService",
		"{'service':'web','desiredCount':2,'taskDefinition':'checked'}");
	WAIT_UNTIL(rig, is_stable(rig, "web", 2));
	assert_int_equal(rig->start_count, 7);
	/* No task has failed when a runtime ends tasks for their service. */
	assert_string_equal(task_text(rig, id, "stopCode"), "ServiceSchedulerInitiated");
	assert_int_equal(json_get_integer(json_item(json_get(described(rig, "web"), "deployments"),
						  0),
				 "failedTasks", -1),
		0);
	test_call(rig->server, "DeleteService", "{'service':'web','force':true}");
	WAIT_UNTIL(rig, count_groups(rig) == 0 && rig->running == 0);
	WAIT_UNTIL(rig, span_is(json_get_text(described(rig, "web"), "status"), "INACTIVE"));
	/* And again under the same name. */
	test_call(rig->server, "CreateService",
		"{'serviceName':'web','taskDefinition':'quick','desiredCount':1}");
	WAIT_UNTIL(rig, is_stable(rig, "web", 1));
}

static int64_t count_available(struct rig *rig, const char *service)
{
	_arena_ struct arena *arena = arena_new(0);
	struct runtime_group_state *group;
	struct err err = {0};

	if (rig->runtime->operations->groups->get(rig->runtime,
		    arena_format(arena, CLUSTER "/%s", service), arena, &group, &err) < 0)
		fail_msg("%s", err.message);
	return group->available;
}

/* A runtime removes unavailable tasks first: a client that rolls back as soon as a version is
 * completed must not lose all of it. */
static void completed_is_what_the_runtime_counts_on(void **state)
{
	static const char *const definitions[] = {"quick", "checked", "quick"};
	struct rig *rig = *state;

	test_call(rig->server, "CreateService",
		"{'serviceName':'web','taskDefinition':'quick','desiredCount':3}");
	for (size_t i = 0; i < LENGTH(definitions); i++) {
		test_call(rig->server, "UpdateService",
			"{'service':'web','forceNewDeployment':true,'taskDefinition':'%s'}",
			definitions[i]);
		WAIT_UNTIL(rig, is_stable(rig, "web", 3));
		assert_int_equal(count_available(rig, "web"), 3);
	}
}

static void a_daemon_is_on_every_instance(void **state)
{
	struct rig *rig = *state;

	test_call(rig->server, "CreateService",
		"{'serviceName':'agent','taskDefinition':'quick','schedulingStrategy':'DAEMON'}");
	WAIT_UNTIL(rig, is_stable(rig, "agent", INSTANCES));
	for (size_t i = 0; i < INSTANCES; i++)
		assert_int_equal(count_on(rig, instance_of(rig, i)), 1);
	assert_int_equal(simulated_world_add_instance(rig->world, NULL), 0);
	WAIT_UNTIL(rig, is_stable(rig, "agent", INSTANCES + 1));
	test_call(rig->server, "UpdateService", "{'service':'agent','taskDefinition':'checked'}");
	WAIT_UNTIL(rig, is_stable(rig, "agent", INSTANCES + 1));
	assert_int_equal(count_groups(rig), 1);
}

static void task_sets_come_and_go(void **state)
{
	struct rig *rig = *state;
	char set[96];

	test_call(rig->server, "CreateService",
		"{'serviceName':'shop','desiredCount':4,"
		"'deploymentController':{'type':'EXTERNAL'}}");
	wait_ms(rig, 1000);
	assert_int_equal(count_groups(rig), 0);
	test_call(rig->server, "CreateTaskSet",
		"{'cluster':'default','service':'shop','taskDefinition':'quick',"
		"'scale':{'value':50,'unit':'PERCENT'}}");
	snprintf(set, sizeof(set), "%s", test_text(rig->server, "taskSet.id"));
	WAIT_UNTIL(rig, count_tasks(rig, "shop", 'h', NULL) == 2);
	test_call(rig->server, "CreateTaskSet",
		"{'cluster':'default','service':'shop','taskDefinition':'checked',"
		"'scale':{'value':25,'unit':'PERCENT'}}");
	WAIT_UNTIL(rig, count_tasks(rig, "shop", 'h', NULL) == 3);
	assert_int_equal(count_groups(rig), 2);
	/* Its service is scaled, and so are they. */
	test_call(rig->server, "UpdateService", "{'service':'shop','desiredCount':8}");
	WAIT_UNTIL(rig, count_tasks(rig, "shop", 'h', NULL) == 6);
	test_call(rig->server, "DeleteTaskSet",
		"{'cluster':'default','service':'shop','taskSet':'%s','force':true}", set);
	WAIT_UNTIL(rig, count_groups(rig) == 1 && rig->running == 2);
	test_call(rig->server, "DeleteService", "{'service':'shop','force':true}");
	WAIT_UNTIL(rig, count_groups(rig) == 0 && rig->running == 0);
}

static void what_is_deleted_behind_our_back_is_made_again(void **state)
{
	struct rig *rig = *state;

	test_call(rig->server, "CreateService",
		"{'serviceName':'web','taskDefinition':'quick','desiredCount':2}");
	WAIT_UNTIL(rig, is_stable(rig, "web", 2));
	assert_int_equal(simulated_world_delete_group(rig->world, SPAN(CLUSTER "/web"), NULL), 0);
	WAIT_UNTIL(rig, rig->start_count == 4 && is_stable(rig, "web", 2));
	/* While the server is down: then the group is not in the runtime's listing. */
	take_down(rig);
	assert_int_equal(simulated_world_delete_group(rig->world, SPAN(CLUSTER "/web"), NULL), 0);
	wait_ms(rig, 5000);
	boot(rig);
	WAIT_UNTIL(rig, rig->start_count == 6 && is_stable(rig, "web", 2));
}

static void a_lost_notice_of_a_deletion_is_made_good(void **state)
{
	static const struct simulated_faults deaf = {.notice_lost_one_in = 1}, none;
	struct rig *rig = *state;

	test_call(rig->server, "CreateService",
		"{'serviceName':'web','taskDefinition':'quick','desiredCount':1}");
	WAIT_UNTIL(rig, is_stable(rig, "web", 1));
	simulated_world_set_faults(rig->world, &deaf);
	assert_int_equal(simulated_world_delete_group(rig->world, SPAN(CLUSTER "/web"), NULL), 0);
	wait_ms(rig, 1000);
	simulated_world_set_faults(rig->world, &none);
	wait_ms(rig, GROUP_CONTROLLER_RELIST_MS);
	WAIT_UNTIL(rig, rig->start_count == 2 && is_stable(rig, "web", 1));
}

/* ---- instances ---- */

static void an_instance_that_drains_is_left_without_a_gap(void **state)
{
	struct rig *rig = *state;
	char drained[TEST_ID_SIZE];
	size_t most = 0;

	test_call(rig->server, "CreateService",
		"{'serviceName':'web','taskDefinition':'checked','desiredCount':6,"
		"'deploymentConfiguration':{'minimumHealthyPercent':100,'maximumPercent':134}}");
	WAIT_UNTIL(rig, is_stable(rig, "web", 6));
	snprintf(drained, sizeof(drained), "%s", instance_of(rig, 0));
	assert_true(count_on(rig, drained) > 0);
	set_instance(rig, drained, "DRAINING");
	while (count_on(rig, drained) > 0 || !is_stable(rig, "web", 6)) {
		size_t healthy = count_tasks(rig, "web", 'h', NULL);
		size_t wanted =
			count_tasks(rig, "web", 0, NULL) - count_tasks(rig, "web", 'x', NULL);

		assert_true(healthy >= 6);
		most = wanted > most ? wanted : most;
		wait_ms(rig, STEP_MS);
	}
	assert_true(most > 6 && most <= 8);
	/* It takes tasks again. */
	set_instance(rig, drained, "ACTIVE");
	wait_ms(rig, 1000);
	test_call(rig->server, "UpdateService", "{'service':'web','desiredCount':9}");
	WAIT_UNTIL(rig, is_stable(rig, "web", 9));
	assert_int_equal(count_on(rig, drained), 3);
}

/* Within minimumHealthyPercent, if there may not be more. */
static void an_instance_drains_where_there_is_no_room_for_more(void **state)
{
	struct rig *rig = *state;
	char drained[TEST_ID_SIZE];

	test_call(rig->server, "CreateService",
		"{'serviceName':'web','taskDefinition':'checked','desiredCount':6,"
		"'deploymentConfiguration':{'minimumHealthyPercent':66,'maximumPercent':100}}");
	WAIT_UNTIL(rig, is_stable(rig, "web", 6));
	snprintf(drained, sizeof(drained), "%s", instance_of(rig, 0));
	set_instance(rig, drained, "DRAINING");
	while (count_on(rig, drained) > 0 || !is_stable(rig, "web", 6)) {
		assert_true(count_tasks(rig, "web", 'h', NULL) >= 4);
		assert_true(count_tasks(rig, "web", 0, NULL) - count_tasks(rig, "web", 'x', NULL) <=
			    6);
		wait_ms(rig, STEP_MS);
	}
}

/* A machine is an instance of every cluster, and is closed if it drains in one. */
static void it_is_closed_as_long_as_it_drains_anywhere(void **state)
{
	struct rig *rig = *state;
	char there[TEST_ID_SIZE];

	test_call(rig->server, "CreateCluster", "{'clusterName':'other'}");
	WAIT_UNTIL(rig, instance_in(rig, "other", INSTANCES - 1)[0]);
	snprintf(there, sizeof(there), "%s", instance_in(rig, "other", 0));
	test_call(rig->server, "UpdateContainerInstancesState",
		"{'cluster':'other','containerInstances':['%s'],'status':'DRAINING'}", there);
	wait_ms(rig, 1000);
	/* Said again of all of them, in whatever order. */
	take_down(rig);
	boot(rig);
	wait_ms(rig, 1000);
	test_call(rig->server, "CreateService",
		"{'serviceName':'agent','taskDefinition':'quick','schedulingStrategy':'DAEMON'}");
	wait_ms(rig, 5000);
	assert_int_equal(rig->running, INSTANCES - 1);
	test_call(rig->server, "UpdateContainerInstancesState",
		"{'cluster':'other','containerInstances':['%s'],'status':'ACTIVE'}", there);
	WAIT_UNTIL(rig, is_stable(rig, "agent", INSTANCES));
}

/* ---- tasks that fail ---- */

static void a_crashing_task_comes_again_ever_later(void **state)
{
	struct rig *rig = *state;

	test_call(rig->server, "CreateService",
		"{'serviceName':'web','taskDefinition':'crashing','desiredCount':1}");
	WAIT_UNTIL(rig, rig->start_count == 6);
	/* At once after the first crash, then after 1, 2, 4 and 8 s, and what starting takes. */
	for (size_t i = 1; i < rig->start_count; i++) {
		int64_t wait = rig->starts_ms[i] - rig->starts_ms[i - 1];
		int64_t least = i == 1 ? 0 : SERVICE_BACKOFF_FIRST_MS << (i - 2);

		print_message("# %lld ms\n", (long long)wait);
		assert_true(wait >= least && wait < least + 500);
	}
	WAIT_UNTIL(rig, reported(rig, "web", "is unable to consistently start tasks") == 1);
	/* Also when the server was away in between. */
	take_down(rig);
	wait_ms(rig, 30000);
	assert_int_equal(rig->start_count, 6);
	boot(rig);
	WAIT_UNTIL(rig, rig->start_count > 6);
}

static void a_deployment_that_failed_starts_no_more_tasks(void **state)
{
	struct rig *rig = *state;
	size_t starts;

	test_call(rig->server, "CreateService",
		"{'serviceName':'web','taskDefinition':'crashing','desiredCount':1,"
		"'deploymentConfiguration':{'deploymentCircuitBreaker':{'enable':true,"
		"'rollback':false}}}");
	WAIT_UNTIL(rig,
		span_is(json_get_text(json_item(json_get(described(rig, "web"), "deployments"), 0),
				"rolloutState"),
			"FAILED"));
	wait_ms(rig, 1000);
	starts = rig->start_count;
	wait_ms(rig, 600000);
	assert_int_equal(rig->start_count, starts);
	/* Until a client changes the service. */
	test_call(rig->server, "UpdateService", "{'service':'web','taskDefinition':'quick'}");
	WAIT_UNTIL(rig, is_stable(rig, "web", 1));
}

static void what_is_unhealthy_is_replaced_first(void **state)
{
	struct rig *rig = *state;
	char id[TEST_ID_SIZE];
	bool more = false;

	test_call(rig->server, "CreateService",
		"{'serviceName':'web','taskDefinition':'checked','desiredCount':3}");
	WAIT_UNTIL(rig, is_stable(rig, "web", 3));
	count_tasks(rig, "web", 'h', id);
	assert_int_equal(simulated_world_set_health(rig->world, span_of(id), false, NULL), 0);
	WAIT_UNTIL(rig, (more |= count_tasks(rig, "web", 0, NULL) == 4,
				strcmp(task_text(rig, id, "lastStatus"), "STOPPED") == 0));
	assert_true(more);
	assert_string_equal(task_text(rig, id, "stoppedReason"),
		"Task failed container health checks");
	WAIT_UNTIL(rig, is_stable(rig, "web", 3));
}

/* ---- traffic ---- */

static void create_front(struct rig *rig, const char *group, int count)
{
	test_call(rig->server, "CreateService",
		"{'serviceName':'front','taskDefinition':'quick','desiredCount':%d,"
		"'deploymentConfiguration':{'minimumHealthyPercent':100,'maximumPercent':200},"
		"'loadBalancers':[{'targetGroupArn':'%s','containerName':'app',"
		"'containerPort':80}]}",
		count, group);
}

static void tend(struct rig *rig, enum elb_target_state state)
{
	test_tend_targets(rig->server, state, runner_wall_ms(rig->runner));
}

/* A new version takes the place of the old one only when load balancers find it healthy. */
static void gates_open_when_traffic_comes(void **state)
{
	struct rig *rig = *state;
	char group[TEST_ARN_SIZE], old[TEST_ID_SIZE];

	test_target_group(rig->server, group);
	create_front(rig, group, 2);
	WAIT_UNTIL(rig, rig->running == 2);
	wait_ms(rig, 5000);
	tend(rig, ELB_TARGET_HEALTHY);
	WAIT_UNTIL(rig, is_stable(rig, "front", 2));
	count_tasks(rig, "front", 'h', old);
	test_call(rig->server, "UpdateService", "{'service':'front','taskDefinition':'checked'}");
	WAIT_UNTIL(rig, rig->running == 4);
	/* They run and are healthy, but get no traffic yet. */
	wait_ms(rig, 60000);
	assert_int_equal(count_tasks(rig, "front", 's', NULL), 2);
	assert_string_equal(task_text(rig, old, "desiredStatus"), "RUNNING");
	tend(rig, ELB_TARGET_HEALTHY);
	WAIT_UNTIL(rig, strcmp(task_text(rig, old, "desiredStatus"), "STOPPED") == 0);
	/* The old tasks are held as long as clients may connect. */
	wait_ms(rig, 60000);
	assert_int_equal(rig->running, 4);
	assert_string_equal(task_text(rig, old, "lastStatus"), "DEACTIVATING");
	tend(rig, ELB_TARGET_HEALTHY);
	WAIT_UNTIL(rig, is_stable(rig, "front", 2));
	assert_string_equal(task_text(rig, old, "stopCode"), "ServiceSchedulerInitiated");
}

/* Its target group was deleted: the group stays as it is, and the error is reported once. */
static void a_missing_target_group_is_reported_once(void **state)
{
	struct rig *rig = *state;
	char group[TEST_ARN_SIZE], id[TEST_ID_SIZE];
	size_t starts;

	test_target_group(rig->server, group);
	create_front(rig, group, 2);
	WAIT_UNTIL(rig, rig->running == 2);
	wait_ms(rig, 1000);
	tend(rig, ELB_TARGET_HEALTHY);
	WAIT_UNTIL(rig, is_stable(rig, "front", 2));
	test_delete_target_group(rig->server, group);
	test_call(rig->server, "UpdateService", "{'service':'front','desiredCount':3}");
	WAIT_UNTIL(rig,
		reported(rig, "front", "was unable to place a task because its target group") == 1);
	count_tasks(rig, "front", 'h', id);
	assert_int_equal(simulated_world_end_task(rig->world, span_of(id), 1, NULL), 0);
	starts = rig->start_count;
	take_down(rig);
	boot(rig);
	wait_ms(rig, 120000);
	assert_true(rig->start_count <= starts + 1);
	assert_int_equal(reported(rig, "front",
				 "was unable to place a task because its target group"),
		1);
	test_call(rig->server, "UpdateService", "{'service':'front','loadBalancers':[]}");
	WAIT_UNTIL(rig, is_stable(rig, "front", 3));
}

/* ---- events ---- */

/* Events with this text that are newer than the one with this id. */
static size_t reported_since(struct rig *rig, const char *service, const char *id,
	const char *words)
{
	const struct json *events = json_get(described(rig, service), "events");
	size_t count = 0;

	JSON_EACH_ITEM (events, event) {
		struct span message = json_get_text(event, "message");

		if (span_is(json_get_text(event, "id"), id))
			return count;
		count += memmem(message.data, message.length, words, strlen(words)) != NULL;
	}
	return count;
}

static void events_of_the_runtime_are_reported_once(void **state)
{
	struct rig *rig = *state;
	char newest[TEST_ID_SIZE];

	/* More memory than any node has: the simulated world reports it in Kubernetes' text. */
	test_call(rig->server, "RegisterTaskDefinition",
		"{'family':'huge','containerDefinitions':[{'name':'app','image':'host',"
		"'memory':100000000}]}");
	test_call(rig->server, "CreateService",
		"{'serviceName':'web','taskDefinition':'huge','desiredCount':1}");
	WAIT_UNTIL(rig, reported(rig, "web",
				"FailedScheduling: 0/3 nodes are available: 3 "
				"Insufficient memory.") == 1);
	for (unsigned i = 0; i < 3; i++) {
		take_down(rig);
		boot(rig);
		wait_ms(rig, 400000);
		assert_int_equal(reported(rig, "web", "FailedScheduling"), 1);
		assert_int_equal(reported(rig, "web", "SuccessfulCreate"), 1);
	}
	/* Events that were dropped from the store are not reported again. */
	for (int i = 0; i < SERVICE_EVENTS_MAX; i++) {
		test_call(rig->server, "UpdateService", "{'service':'web','desiredCount':%d}",
			2 - i % 2);
		wait_ms(rig, 2000);
	}
	test_call(rig->server, "UpdateService", "{'service':'web','desiredCount':0}");
	wait_ms(rig, 20000);
	assert_int_equal(json_count(json_get(described(rig, "web"), "events")), SERVICE_EVENTS_MAX);
	snprintf(newest, sizeof(newest), "%.*s",
		SPAN_ARGS(json_get_text(json_item(json_get(described(rig, "web"), "events"), 0),
			"id")));
	take_down(rig);
	boot(rig);
	wait_ms(rig, 20000);
	/* Each of these happened once: "SuccessfulCreate: Created pod: …". */
	assert_int_equal(reported_since(rig, "web", newest, "Successful"), 0);
}

static void rejected_groups_are_reported_once(void **state)
{
	static const struct {
		const char *family;
		bool occupied;
		const char *words;
	} cases[] = {
		{"unstartable", false, "SIMULATED_START_MS"},
		{"quick", true, "something else has its place"},
	};
	struct rig *rig = *state;

	for (size_t i = 0; i < LENGTH(cases); i++) {
		char name[16], id[64];

		snprintf(name, sizeof(name), "s%zu", i);
		snprintf(id, sizeof(id), CLUSTER "/%s", name);
		if (cases[i].occupied)
			simulated_world_occupy_group(rig->world, span_of(id), true);
		test_call(rig->server, "CreateService",
			"{'serviceName':'%s','taskDefinition':'%s','desiredCount':1}", name,
			cases[i].family);
		WAIT_UNTIL(rig, reported(rig, name, cases[i].words) == 1);
		take_down(rig);
		boot(rig);
		test_call(rig->server, "UpdateService", "{'service':'%s','desiredCount':2}", name);
		wait_ms(rig, 2 * GROUP_CONTROLLER_RELIST_MS);
		assert_int_equal(reported(rig, name, cases[i].words), 1);
		/* It is retried when something changes, or at the next poll. */
		simulated_world_occupy_group(rig->world, span_of(id), false);
		test_call(rig->server, "UpdateService",
			"{'service':'%s','desiredCount':1,'taskDefinition':'quick'}", name);
		WAIT_UNTIL(rig, is_stable(rig, name, 1));
		test_call(rig->server, "DeleteService", "{'service':'%s','force':true}", name);
		WAIT_UNTIL(rig, rig->running == 0);
	}
}

/* ---- tasks of their own, and what clients do to those of services ---- */

static void a_task_without_instance_is_placed_by_the_runtime(void **state)
{
	struct rig *rig = *state;
	char id[TEST_ID_SIZE];
	const struct json *task;

	test_run(rig->server, id, "{'taskDefinition':'quick'}");
	assert_string_equal(test_item(rig->server, "tasks", 0, "containerInstanceArn"), "");
	WAIT_UNTIL(rig, strcmp(task_text(rig, id, "lastStatus"), "RUNNING") == 0);
	assert_true(strstr(task_text(rig, id, "containerInstanceArn"), "container-instance/"));
	test_call(rig->server, "StopTask", "{'task':'%s','reason':'enough'}", id);
	WAIT_UNTIL(rig, strcmp(task_text(rig, id, "lastStatus"), "STOPPED") == 0);
	assert_string_equal(task_text(rig, id, "stoppedReason"), "enough");
	task = json_item(json_get(rig->server->answer, "tasks"), 0);
	assert_int_equal(json_get_integer(json_item(json_get(task, "containers"), 0), "exitCode",
				 -1),
		143);
	wait_ms(rig, 5000);
	assert_int_equal(rig->start_count, 1);
}

static void a_stopped_task_of_a_service_is_replaced(void **state)
{
	struct rig *rig = *state;
	char id[TEST_ID_SIZE];

	test_call(rig->server, "CreateService",
		"{'serviceName':'web','taskDefinition':'quick','desiredCount':2}");
	WAIT_UNTIL(rig, is_stable(rig, "web", 2));
	count_tasks(rig, "web", 'h', id);
	test_call(rig->server, "StopTask", "{'task':'%s','reason':'enough'}", id);
	WAIT_UNTIL(rig, rig->start_count == 3 && is_stable(rig, "web", 2));
	assert_string_equal(task_text(rig, id, "stoppedReason"), "enough");
	assert_string_equal(task_text(rig, id, "stopCode"), "UserInitiated");
	wait_ms(rig, 5000);
	assert_int_equal(rig->start_count, 3);
}

/* The exit of a task is stored before its runtime may replace it, even across a restart. */
static void an_exit_is_not_lost_while_the_server_is_down(void **state)
{
	struct rig *rig = *state;
	char id[TEST_ID_SIZE];
	const struct json *task;

	test_call(rig->server, "CreateService",
		"{'serviceName':'web','taskDefinition':'quick','desiredCount':1}");
	WAIT_UNTIL(rig, is_stable(rig, "web", 1));
	count_tasks(rig, "web", 'h', id);
	take_down(rig);
	assert_int_equal(simulated_world_end_task(rig->world, span_of(id), 42, NULL), 0);
	wait_ms(rig, 60000);
	assert_int_equal(rig->running, 0);
	boot(rig);
	WAIT_UNTIL(rig, is_stable(rig, "web", 1));
	assert_string_equal(task_text(rig, id, "stopCode"), "EssentialContainerExited");
	task = json_item(json_get(rig->server->answer, "tasks"), 0);
	assert_int_equal(json_get_integer(json_item(json_get(task, "containers"), 0), "exitCode",
				 -1),
		42);
}

/* Created for a service, and deleted before it ran, like a pending pod that a user deletes. */
static void a_task_that_is_gone_before_it_ran_is_over(void **state)
{
	struct rig *rig = *state;
	char id[TEST_ID_SIZE];

	test_call(rig->server, "RegisterTaskDefinition",
		"{'family':'huge','containerDefinitions':[{'name':'app','image':'host',"
		"'memory':100000000}]}");
	test_call(rig->server, "CreateService",
		"{'serviceName':'web','taskDefinition':'huge','desiredCount':1}");
	WAIT_UNTIL(rig, count_tasks(rig, "web", 'p', id) == 1);
	wait_ms(rig, 1000);
	take_down(rig);
	{
		struct runtime_simulated_config config = {.runner = rig->runner};
		struct runtime *other;

		assert_int_equal(runtime_simulated_open(rig->world, &config, &other, NULL), 0);
		assert_int_equal(other->operations->stop(other, span_of(id), SPAN(""), NULL), 0);
		assert_int_equal(other->operations->acknowledge(other, span_of(id), NULL), 0);
		other->operations->close(other);
	}
	wait_ms(rig, 1000);
	boot(rig);
	WAIT_UNTIL(rig, strcmp(task_text(rig, id, "lastStatus"), "STOPPED") == 0);
	assert_string_equal(task_text(rig, id, "desiredStatus"), "STOPPED");
	assert_string_equal(task_text(rig, id, "stopCode"), "ServiceSchedulerInitiated");
	WAIT_UNTIL(rig, count_tasks(rig, "web", 'p', NULL) == 1);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_service_is_a_group_as_long_as_it_is),
		cmocka_unit_test_setup_teardown(completed_is_what_the_runtime_counts_on, setup_slow,
			teardown),
		TEST(a_daemon_is_on_every_instance),
		TEST(task_sets_come_and_go),
		TEST(what_is_deleted_behind_our_back_is_made_again),
		TEST(a_lost_notice_of_a_deletion_is_made_good),
		TEST(an_instance_that_drains_is_left_without_a_gap),
		TEST(an_instance_drains_where_there_is_no_room_for_more),
		TEST(it_is_closed_as_long_as_it_drains_anywhere),
		TEST(a_crashing_task_comes_again_ever_later),
		TEST(a_deployment_that_failed_starts_no_more_tasks),
		TEST(what_is_unhealthy_is_replaced_first),
		TEST(gates_open_when_traffic_comes),
		TEST(a_missing_target_group_is_reported_once),
		TEST(events_of_the_runtime_are_reported_once),
		TEST(rejected_groups_are_reported_once),
		TEST(a_task_without_instance_is_placed_by_the_runtime),
		TEST(a_stopped_task_of_a_service_is_replaced),
		TEST(an_exit_is_not_lost_while_the_server_is_down),
		TEST(a_task_that_is_gone_before_it_ran_is_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
