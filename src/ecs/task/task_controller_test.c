/* The task controller on the simulated runtime, on virtual time: desired tasks run and observations
 * are stored, with failures and crashes in between. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "control/runner_simulated.h"
#include "ecs/definition/task_definition.h"
#include "ecs/record/container_instance.h"
#include "ecs/task/task_controller.h"
#include "ecs/task/task_create.h"
#include "ecs/task/task_edit.h"
#include "ecs/task/task_observe.h"
#include "ecs/task/task_retention.h"
#include "ecs/test_server.h"
#include "runtime/simulated/simulated.h"

#define SECOND_US INT64_C(1000000)
#define CLUSTER "123456789012/eu-west-1/default"
#define INSTANCE "11111111111111111111111111111111"
#define SEEDS 40

struct rig {
	struct runner *runner;
	struct test_server *server;
	struct simulated_world *world;
	struct runtime *runtime;
	struct runner *host; /* of the controller and its runtime: what a crash ends */
	struct task_controller *tasks;
	struct controller *retention;
	size_t ended_kept;
	unsigned broken;
	struct arena *arena;
};

static void rule_broken(void *context, const char *rule)
{
	struct rig *rig = context;

	fprintf(stderr, "broken: %s\n", rule);
	rig->broken++;
}

/* ---- a server, which can stop and start ---- */

static void begin(struct rig *rig)
{
	struct task_controller_config config = {
		.store = rig->server->store, .host = SPAN("here"), .ended_kept = rig->ended_kept};
	struct runtime_simulated_config runtime = {0};
	struct err err = {0};

	rig->host = runner_group_new(rig->runner, "host");
	config.runner = runtime.runner = rig->host;
	rig->tasks = task_controller_new(&config);
	runtime.changed = task_controller_changed;
	runtime.context = rig->tasks;
	if (runtime_simulated_open(rig->world, &runtime, &rig->runtime, &err) < 0 ||
		task_controller_start(rig->tasks, rig->runtime, &err) < 0)
		fail_msg("%s", err.message);
}

static void end(struct rig *rig)
{
	task_controller_stop(rig->tasks);
	rig->runtime->operations->close(rig->runtime);
	task_controller_free(TAKE(rig->tasks));
	rig->runtime = NULL;
	runner_stop(rig->host);
	runner_join(rig->host, NULL);
	runner_free(TAKE(rig->host));
}

/* Every wait returns at once, as if the process were killed. */
static void crash(struct rig *rig)
{
	runner_stop(rig->host);
	end(rig);
}

static int put_instance(struct store_transaction *transaction, void *context, struct err *err)
{
	struct rig *rig = context;
	struct container_instance_edit edit = {.arena = rig->arena,
		.key = SPAN(CLUSTER "/" INSTANCE),
		.facts = {.connected = true,
			.cpu = 1 << 20,
			.memory = 1 << 20,
			.ports = SPAN(""),
			.runtime = SPAN("here/simulated"),
			.agent_version = SPAN(""),
			.ec2_instance_id = SPAN("")},
		.document = json_new_object(rig->arena)};

	return container_instance_save(transaction, &edit, err);
}

static struct rig *rig_new(uint64_t seed)
{
	struct rig *rig = memory_allocate(sizeof(*rig));
	struct simulated_config config = {.instances = 1,
		.remember_tokens = true,
		.observer = {.broken = rule_broken, .context = rig}};
	struct err err = {0};

	rig->runner = runner_simulated_new(seed);
	rig->server = test_server_new_on(runner_clock(rig->runner));
	rig->arena = arena_new(0);
	if (simulated_world_new(rig->runner, &config, &rig->world, &err) < 0)
		fail_msg("%s", err.message);
	test_call(rig->server, "CreateCluster", "{}");
	if (store_write_wait(rig->server->store, put_instance, rig, NULL, &err) < 0)
		fail_msg("%s", err.message);
	return rig;
}

static void rig_free(struct rig *rig)
{
	if (rig->tasks)
		end(rig);
	controller_stop(rig->retention);
	simulated_world_free(rig->world);
	runner_stop(rig->runner);
	runner_join(rig->runner, NULL);
	test_server_free(rig->server);
	runner_free(rig->runner);
	arena_free(rig->arena);
	assert_int_equal(rig->broken, 0);
	free(rig);
}

static int set_up(void **state)
{
	*state = rig_new(1);
	return 0;
}

static int tear_down(void **state)
{
	rig_free(*state);
	return 0;
}

/* ---- tasks ---- */

struct creation {
	struct rig *rig;
	const char *family;
	struct span key;
};

static int create(struct store_transaction *transaction, void *context, struct err *err)
{
	struct creation *creation = context;
	struct rig *rig = creation->rig;
	const struct store_view *head = store_head(transaction);
	struct task_needs needs;
	struct json *document;
	struct task_request request = {.arena = rig->arena,
		.random = &rig->server->random.random,
		.now_ms = runner_wall_ms(rig->runner),
		.cluster_key = SPAN(CLUSTER),
		.definition = store_get(head, &task_definition_kind,
			arena_format(rig->arena, "123456789012/eu-west-1/%s 0000000001",
				creation->family)),
		.instance = store_get(head, &container_instance_kind, SPAN(CLUSTER "/" INSTANCE)),
		.group = SPAN("family:web"),
		.started_by = SPAN(""),
		.service = SPAN(""),
		.deployment = SPAN(""),
		.reference = SPAN(""),
		.capacity_provider = SPAN(""),
		.platform_version = SPAN(""),
		.enable_execute_command = true};
	int code = json_parse(request.definition->api, rig->arena, &document, err);

	if (code == 0)
		code = task_needs_read(document, NULL, rig->arena, &needs, err);
	request.definition_document = document;
	request.needs = &needs;
	return code < 0 ? code : task_create(transaction, &request, &creation->key, err);
}

static struct span run_task(struct rig *rig, const char *family)
{
	struct creation creation = {.rig = rig, .family = family};
	struct err err = {0};

	if (store_write_wait(rig->server->store, create, &creation, NULL, &err) < 0)
		fail_msg("%s", err.message);
	return creation.key;
}

/* A definition whose one task behaves as these items of its command say. */
static void define(struct rig *rig, const char *family, const char *command)
{
	test_call(rig->server, "RegisterTaskDefinition",
		"{'family':'%s','networkMode':'bridge','containerDefinitions':[{'name':'app',"
		"'image':'host','memory':16,'command':[%s]}]}",
		family, command);
}

static int want_stopped(struct store_transaction *transaction, void *context, struct err *err)
{
	struct creation *creation = context;

	return task_want_stopped(transaction,
		store_get(store_head(transaction), &task_kind, creation->key), "UserInitiated",
		SPAN("enough of its health checks"), runner_wall_ms(creation->rig->runner),
		creation->rig->arena, err);
}

static void stop_task(struct rig *rig, struct span key)
{
	struct creation creation = {.rig = rig, .key = key};
	struct err err = {0};

	if (store_write_wait(rig->server->store, want_stopped, &creation, NULL, &err) < 0)
		fail_msg("%s", err.message);
}

static int delete_task(struct store_transaction *transaction, void *context, struct err *err)
{
	struct creation *creation = context;

	return store_delete(transaction, &task_kind, creation->key, STORE_ANY, err);
}

static void seconds_pass(struct rig *rig, int64_t seconds)
{
	int code =
		runner_sleep_until(rig->runner, runner_now_us(rig->runner) + seconds * SECOND_US);

	if (code < 0)
		fail_msg("%d: %s", code, runner_simulated_trouble(rig->runner));
}

/* The document of a task, NULL if there is none; lives as long as the rig. */
static const struct json *pass(struct rig *rig, struct span key, struct task_facts *ret_facts)
{
	_view_ struct store_view *view = store_view_open(rig->server->store);
	const struct store_object *task = store_get(view, &task_kind, key);
	struct json *document;

	if (!task)
		return NULL;
	assert_int_equal(json_parse(arena_copy_span(rig->arena, task->api), rig->arena, &document,
				 NULL),
		0);
	*ret_facts = *task_facts(task);
	return document;
}

static const char *text_of(struct rig *rig, const struct json *object, const char *name)
{
	struct span text = json_get_text(object, name);

	return text.data ? arena_copy_span(rig->arena, text).data : "";
}

static const struct json *first_container(const struct json *document)
{
	return json_item(json_get(document, "containers"), 0);
}

static struct span token_of(struct span key)
{
	return (struct span){key.data + strlen(CLUSTER) + 1, key.length - strlen(CLUSTER) - 1};
}

static bool is_known(struct rig *rig, struct span key)
{
	_arena_ struct arena *arena = arena_new(0);
	struct runtime_task *seen;

	return rig->runtime->operations->get(rig->runtime, token_of(key), arena, &seen, NULL) == 0;
}

static size_t programs(struct rig *rig)
{
	struct simulated_counts counts;

	simulated_world_counts(rig->world, &counts);
	return counts.programs;
}

/* ---- tests ---- */

/* The states of a task with a network of its own, for each report of a runtime. */
static void the_ladder_is_gone_down(void **state)
{
	static const struct {
		enum runtime_phase task, container;
		enum task_status status;
	} steps[] = {
		{RUNTIME_PENDING, RUNTIME_PENDING, TASK_PENDING},
		{RUNTIME_RUNNING, RUNTIME_RUNNING, TASK_RUNNING},
		{RUNTIME_PENDING, RUNTIME_PENDING, TASK_RUNNING}, /* never up again */
		{RUNTIME_STOPPING, RUNTIME_RUNNING, TASK_STOPPING},
		{RUNTIME_STOPPING, RUNTIME_STOPPED, TASK_DEPROVISIONING},
		{RUNTIME_STOPPED, RUNTIME_STOPPED, TASK_STOPPED},
		{RUNTIME_RUNNING, RUNTIME_RUNNING, TASK_STOPPED},
	};
	struct rig *rig = *state;
	struct task_edit edit = {.arena = rig->arena,
		.facts = {.network = true, .desired = TASK_RUNNING, .last = TASK_PROVISIONING},
		.document = json_new_object(rig->arena)};
	struct runtime_task seen = {.token = SPAN("t"),
		.stop = RUNTIME_STOP_REQUESTED,
		.reason = SPAN(""),
		.address = SPAN(""),
		.mac = SPAN(""),
		.notes = SPAN(""),
		.container_count = 1,
		.containers = {{.name = SPAN("app"), .runtime_id = SPAN(""), .reason = SPAN("")}}};

	for (size_t i = 0; i < LENGTH(steps); i++) {
		seen.phase = steps[i].task;
		seen.containers[0].phase = steps[i].container;
		task_observe(&edit, &seen, NULL, 1000 + (int64_t)i);
		assert_int_equal(edit.facts.last, steps[i].status);
	}
	/* Without a network of its own there is nothing to take away. */
	edit.facts.network = false;
	edit.facts.last = TASK_RUNNING;
	seen.phase = RUNTIME_STOPPING;
	seen.containers[0].phase = RUNTIME_STOPPED;
	task_observe(&edit, &seen, NULL, 2000);
	assert_int_equal(edit.facts.last, TASK_STOPPING);
}

/* Servers that share a store have a runtime each: one leaves the tasks of the others alone. */
static int move_to_another_host(struct store_transaction *transaction, void *context,
	struct err *err)
{
	struct rig *rig = context;
	const struct store_object *instance = store_get(store_head(transaction),
		&container_instance_kind, SPAN(CLUSTER "/" INSTANCE));
	struct container_instance_edit edit;
	int code = container_instance_edit_open(instance, rig->arena, &edit, err);

	edit.facts.runtime = SPAN("remote/simulated");
	return code < 0 ? code : container_instance_save(transaction, &edit, err);
}

static void tasks_of_another_host_are_left_alone(void **state)
{
	struct rig *rig = *state;
	struct task_facts facts;
	struct err err = {0};
	struct span theirs, ours;

	define(rig, "web", "");
	ours = run_task(rig, "web");
	assert_int_equal(store_write_wait(rig->server->store, move_to_another_host, rig, NULL,
				 &err),
		0);
	theirs = run_task(rig, "web");
	begin(rig);
	seconds_pass(rig, 10);
	assert_int_equal(programs(rig), 1);
	assert_true(is_known(rig, ours) && !is_known(rig, theirs));
	pass(rig, ours, &facts);
	assert_int_equal(facts.last, TASK_RUNNING);
	pass(rig, theirs, &facts);
	assert_int_equal(facts.last, TASK_PENDING);
}

static void what_is_wanted_runs(void **state)
{
	struct rig *rig = *state;
	struct task_facts facts;
	const struct json *document;
	struct span key;

	define(rig, "web", "'serve'");
	begin(rig);
	key = run_task(rig, "web");
	seconds_pass(rig, 1);
	document = pass(rig, key, &facts);
	assert_int_equal(facts.last, TASK_RUNNING);
	assert_true(facts.started_ms >= facts.created_ms);
	assert_string_equal(text_of(rig, document, "lastStatus"), "RUNNING");
	assert_string_equal(text_of(rig, document, "connectivity"), "CONNECTED");
	assert_non_null(json_get(document, "pullStoppedAt"));
	assert_string_equal(text_of(rig, first_container(document), "lastStatus"), "RUNNING");
	assert_true(text_of(rig, first_container(document), "runtimeId")[0] != '\0');
	assert_int_equal(programs(rig), 1);
	/* Nothing more is written when nothing changes. */
	assert_int_equal(json_get_integer(document, "version", 0), 2);
	seconds_pass(rig, 3600);
	assert_int_equal(json_get_integer(pass(rig, key, &facts), "version", 0), 2);
}

static void first_stop_reason_is_kept(void **state)
{
	struct rig *rig = *state;
	struct task_facts facts;
	const struct json *document;
	struct span key;

	define(rig, "web", "'SIMULATED_STOP_MS=5000'");
	begin(rig);
	key = run_task(rig, "web");
	seconds_pass(rig, 1);
	stop_task(rig, key);
	seconds_pass(rig, 2);
	document = pass(rig, key, &facts);
	assert_int_equal(facts.last, TASK_STOPPING);
	assert_string_equal(text_of(rig, first_container(document), "lastStatus"), "RUNNING");
	seconds_pass(rig, 10);
	document = pass(rig, key, &facts);
	assert_int_equal(facts.last, TASK_STOPPED);
	assert_false(facts.failed);
	assert_true(facts.acknowledged);
	assert_string_equal(text_of(rig, document, "stopCode"), "UserInitiated");
	assert_string_equal(text_of(rig, document, "stoppedReason"), "enough of its health checks");
	assert_non_null(json_get(document, "executionStoppedAt"));
	assert_non_null(json_get(document, "stoppedAt"));
	assert_int_equal(json_get_integer(first_container(document), "exitCode", -1), 143);
	/* ExecuteCommand has no agent here. */
	assert_string_equal(text_of(rig,
				    json_item(json_get(first_container(document), "managedAgents"),
					    0),
				    "lastStatus"),
		"STOPPED");
	assert_int_equal(programs(rig), 0);
}

static void an_essential_exit_is_a_failure(void **state)
{
	struct rig *rig = *state;
	struct task_facts facts;
	const struct json *document;
	struct span key;

	define(rig, "job", "'SIMULATED_RUN_MS=2000','SIMULATED_EXIT_CODE=7'");
	begin(rig);
	key = run_task(rig, "job");
	seconds_pass(rig, 10);
	document = pass(rig, key, &facts);
	assert_int_equal(facts.last, TASK_STOPPED);
	assert_int_equal(facts.desired, TASK_STOPPED);
	assert_true(facts.failed);
	assert_true(facts.started_ms > 0);
	assert_string_equal(text_of(rig, document, "stopCode"), "EssentialContainerExited");
	assert_string_equal(text_of(rig, document, "stoppedReason"),
		"Essential container in task exited");
	assert_int_equal(json_get_integer(first_container(document), "exitCode", -1), 7);
	assert_string_equal(text_of(rig, first_container(document), "lastStatus"), "STOPPED");
}

static void a_task_that_cannot_start_says_why(void **state)
{
	struct rig *rig = *state;
	struct task_facts facts;
	const struct json *document;
	struct span key, unnamed, secret;

	define(rig, "bad", "'SIMULATED_FAIL_START=CannotPullContainerError: there is none'");
	define(rig, "unnamed", "'SIMULATED_EXIT_CODE=SomeError: 7'");
	test_call(rig->server, "RegisterTaskDefinition",
		"{'family':'secret','executionRoleArn':'arn:aws:iam::123456789012:role/r',"
		"'containerDefinitions':[{'name':'app','image':'host','memory':16,"
		"'secrets':[{'name':'A','valueFrom':'password'}]}]}");
	begin(rig);
	key = run_task(rig, "bad");
	unnamed = run_task(rig, "unnamed");
	secret = run_task(rig, "secret");
	seconds_pass(rig, 5);
	document = pass(rig, key, &facts);
	assert_int_equal(facts.last, TASK_STOPPED);
	assert_true(facts.failed);
	assert_int_equal(facts.started_ms, 0);
	assert_string_equal(text_of(rig, document, "stopCode"), "TaskFailedToStart");
	assert_string_equal(text_of(rig, document, "stoppedReason"),
		"CannotPullContainerError: there is none");
	/* Text of a user in the message is not the name of an error. */
	document = pass(rig, unnamed, &facts);
	assert_string_equal(text_of(rig, document, "stoppedReason"),
		"CannotStartContainerError: container 'app': SIMULATED_EXIT_CODE 'SomeError: 7' is "
		"not a number from 0 to 255");
	document = pass(rig, secret, &facts);
	assert_int_equal(facts.last, TASK_STOPPED);
	assert_string_equal(text_of(rig, document, "stopCode"), "TaskFailedToStart");
	assert_non_null(strstr(text_of(rig, document, "stoppedReason"),
		"ResourceInitializationError: unable to pull secrets"));
	assert_string_equal(text_of(rig, first_container(document), "lastStatus"), "STOPPED");
	assert_false(is_known(rig, secret));
}

static void a_stop_before_the_start_starts_nothing(void **state)
{
	struct rig *rig = *state;
	struct simulated_counts counts;
	struct task_facts facts;
	const struct json *document;
	struct span key;

	define(rig, "web", "'serve'");
	key = run_task(rig, "web");
	stop_task(rig, key);
	begin(rig);
	seconds_pass(rig, 1);
	document = pass(rig, key, &facts);
	assert_int_equal(facts.last, TASK_STOPPED);
	assert_false(facts.failed);
	assert_string_equal(text_of(rig, document, "stopCode"), "UserInitiated");
	assert_null(json_get(document, "startedAt"));
	simulated_world_counts(rig->world, &counts);
	assert_int_equal(counts.starts, 0);
}

static void health_is_that_of_essential_containers(void **state)
{
	struct rig *rig = *state;
	struct task_facts facts;
	struct span key;

	test_call(rig->server, "RegisterTaskDefinition",
		"{'family':'web','containerDefinitions':["
		"{'name':'app','image':'host','memory':16,'command':['SIMULATED_HEALTH_MS=5000'],"
		"'healthCheck':{'command':['CMD','true']}}]}");
	begin(rig);
	key = run_task(rig, "web");
	seconds_pass(rig, 2);
	pass(rig, key, &facts);
	assert_int_equal(facts.last, TASK_RUNNING);
	assert_int_equal(facts.health, TASK_HEALTH_UNKNOWN);
	seconds_pass(rig, 10);
	assert_string_equal(text_of(rig, pass(rig, key, &facts), "healthStatus"), "HEALTHY");
	assert_int_equal(simulated_world_set_health(rig->world, token_of(key), false, NULL), 0);
	seconds_pass(rig, 1);
	assert_string_equal(text_of(rig, first_container(pass(rig, key, &facts)), "healthStatus"),
		"UNHEALTHY");
	assert_int_equal(facts.health, TASK_HEALTH_UNHEALTHY);
	assert_int_equal(facts.last, TASK_RUNNING);
}

static void changes_while_the_server_was_down_are_reported(void **state)
{
	struct rig *rig = *state;
	struct task_facts facts;
	const struct json *document;
	struct span job, web, lost;

	define(rig, "job", "'SIMULATED_RUN_MS=60000','SIMULATED_EXIT_CODE=3'");
	define(rig, "web", "'serve'");
	begin(rig);
	job = run_task(rig, "job");
	web = run_task(rig, "web");
	lost = run_task(rig, "web");
	seconds_pass(rig, 1);
	assert_int_equal(simulated_world_end_task(rig->world, token_of(lost), 1, NULL), 0);
	crash(rig);
	seconds_pass(rig, 120);
	/* A runtime that forgets a task without an acknowledge. */
	assert_int_equal(runtime_simulated_open(rig->world,
				 &(struct runtime_simulated_config){.runner = rig->runner},
				 &rig->runtime, NULL),
		0);
	assert_int_equal(rig->runtime->operations->acknowledge(rig->runtime, token_of(lost), NULL),
		0);
	rig->runtime->operations->close(rig->runtime);
	begin(rig);
	seconds_pass(rig, 1);
	document = pass(rig, job, &facts);
	assert_int_equal(facts.last, TASK_STOPPED);
	assert_int_equal(json_get_integer(first_container(document), "exitCode", -1), 3);
	pass(rig, web, &facts);
	assert_int_equal(facts.last, TASK_RUNNING);
	document = pass(rig, lost, &facts);
	assert_int_equal(facts.last, TASK_STOPPED);
	assert_true(facts.failed);
	assert_non_null(strstr(text_of(rig, document, "stoppedReason"), "lost"));
	assert_null(json_get(first_container(document), "exitCode"));
	assert_int_equal(programs(rig), 1);
}

static void what_no_task_wants_is_ended(void **state)
{
	struct rig *rig = *state;
	struct creation deletion = {.rig = rig};
	struct simulated_counts counts;

	define(rig, "web", "'serve'");
	begin(rig);
	deletion.key = run_task(rig, "web");
	run_task(rig, "web");
	seconds_pass(rig, 1);
	assert_int_equal(programs(rig), 2);
	assert_int_equal(store_write_wait(rig->server->store, delete_task, &deletion, NULL, NULL),
		0);
	seconds_pass(rig, 1);
	assert_int_equal(programs(rig), 1);
	assert_false(is_known(rig, deletion.key));
	/* And a task that is deleted while the server is down. */
	deletion.key = run_task(rig, "web");
	seconds_pass(rig, 1);
	crash(rig);
	assert_int_equal(store_write_wait(rig->server->store, delete_task, &deletion, NULL, NULL),
		0);
	seconds_pass(rig, 1);
	assert_int_equal(programs(rig), 2);
	begin(rig);
	seconds_pass(rig, 1);
	assert_int_equal(programs(rig), 1);
	simulated_world_counts(rig->world, &counts);
	assert_int_equal(counts.tasks, 1);
}

static void the_last_ends_are_kept_for_their_logs(void **state)
{
	struct rig *rig = *state;
	struct span keys[5];

	rig->ended_kept = 2;
	define(rig, "job", "'SIMULATED_RUN_MS=100'");
	begin(rig);
	for (size_t i = 0; i < LENGTH(keys); i++) {
		keys[i] = run_task(rig, "job");
		seconds_pass(rig, 1);
	}
	for (size_t i = 0; i < LENGTH(keys); i++)
		assert_int_equal(is_known(rig, keys[i]), i >= 3);
	/* The same after a restart, though the keys are in another order. */
	end(rig);
	rig->ended_kept = 1;
	begin(rig);
	seconds_pass(rig, 1);
	for (size_t i = 0; i < LENGTH(keys); i++)
		assert_int_equal(is_known(rig, keys[i]), i >= 4);
}

/* ---- retention ---- */

static void retain(struct rig *rig, const struct task_retention_limits *limits)
{
	struct controller_config config = {
		.runner = rig->runner, .store = rig->server->store, .context = (void *)limits};

	assert_int_equal(controller_start(&task_retention_row, &config, &rig->retention, NULL), 0);
}

static void stopped_tasks_stay_for_an_hour(void **state)
{
	struct rig *rig = *state;
	struct task_facts facts;
	struct span job, web;

	define(rig, "job", "'SIMULATED_RUN_MS=100'");
	define(rig, "web", "'serve'");
	retain(rig, NULL);
	begin(rig);
	job = run_task(rig, "job");
	web = run_task(rig, "web");
	seconds_pass(rig, 3590);
	assert_non_null(pass(rig, job, &facts));
	assert_true(is_known(rig, job));
	seconds_pass(rig, 20);
	assert_null(pass(rig, job, &facts));
	assert_false(is_known(rig, job));
	assert_non_null(pass(rig, web, &facts));
}

static void of_too_many_stopped_tasks_the_oldest_go(void **state)
{
	static const struct task_retention_limits limits = {
		.age_ms = TASK_RETENTION_MS, .count = 3};
	struct rig *rig = *state;
	struct task_facts facts;
	struct span keys[6];

	define(rig, "job", "'SIMULATED_RUN_MS=100'");
	retain(rig, &limits);
	begin(rig);
	for (size_t i = 0; i < LENGTH(keys); i++) {
		keys[i] = run_task(rig, "job");
		seconds_pass(rig, 1);
	}
	for (size_t i = 0; i < LENGTH(keys); i++)
		assert_int_equal(pass(rig, keys[i], &facts) != NULL, i >= 3);
}

/* ---- all faults at once ---- */

#define ROUGH_TASKS 12
#define ROUGH_ROUNDS 40

/* Tasks come and go, the server crashes, the runtime fails and loses notices; at the end exactly
 * the desired tasks run, each once. */
static void rough_run(uint64_t seed)
{
	struct rig *rig = rig_new(seed);
	struct random *random = runner_random(rig->runner);
	struct span keys[ROUGH_TASKS];
	bool wanted[ROUGH_TASKS];
	struct simulated_counts counts;
	struct task_facts facts;
	size_t count = 0, running = 0;

	define(rig, "web", "'SIMULATED_START_MS=0-3000','SIMULATED_STOP_MS=0-3000'");
	define(rig, "job", "'SIMULATED_RUN_MS=0-20000','SIMULATED_EXIT_CODE=9'");
	simulated_world_set_faults(rig->world, &simulated_faults_rough);
	begin(rig);
	for (int round = 0; round < ROUGH_ROUNDS; round++) {
		uint64_t chance = random_below(random, 10);
		size_t index = count ? (size_t)random_below(random, count) : 0;

		if (chance < 4 && count < ROUGH_TASKS) {
			wanted[count] = random_below(random, 2);
			keys[count] = run_task(rig, wanted[count] ? "web" : "job");
			count++;
		} else if (chance < 6 && count > 0 && wanted[index]) {
			wanted[index] = false;
			stop_task(rig, keys[index]);
		} else if (chance < 8) {
			crash(rig);
			seconds_pass(rig, (int64_t)random_below(random, 3));
			begin(rig);
		}
		assert_int_equal(runner_sleep_until(rig->runner,
					 runner_now_us(rig->runner) +
						 (int64_t)random_below(random, 2000000)),
			0);
	}
	simulated_world_calm_down(rig->world);
	seconds_pass(rig, 1200);
	for (size_t i = 0; i < count; i++) {
		const struct json *document = pass(rig, keys[i], &facts);

		/* A desired task may have died of a fault, and then it says so. */
		if (facts.last == TASK_RUNNING) {
			assert_true(wanted[i]);
			running++;
			continue;
		}
		assert_int_equal(facts.last, TASK_STOPPED);
		assert_true(text_of(rig, document, "stopCode")[0] != '\0');
		if (wanted[i])
			assert_true(facts.failed);
	}
	simulated_world_counts(rig->world, &counts);
	assert_int_equal(counts.programs, running);
	rig_free(rig);
}

static void nothing_is_lost_or_doubled_when_everything_fails(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		rough_run(seed);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_ladder_is_gone_down),
		TEST(what_is_wanted_runs),
		TEST(tasks_of_another_host_are_left_alone),
		TEST(first_stop_reason_is_kept),
		TEST(an_essential_exit_is_a_failure),
		TEST(a_task_that_cannot_start_says_why),
		TEST(a_stop_before_the_start_starts_nothing),
		TEST(health_is_that_of_essential_containers),
		TEST(changes_while_the_server_was_down_are_reported),
		TEST(what_no_task_wants_is_ended),
		TEST(the_last_ends_are_kept_for_their_logs),
		TEST(stopped_tasks_stay_for_an_hour),
		TEST(of_too_many_stopped_tasks_the_oldest_go),
		cmocka_unit_test(nothing_is_lost_or_doubled_when_everything_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
