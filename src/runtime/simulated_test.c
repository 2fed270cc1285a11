/* The simulated runtime on threads and real time, and on fibers and virtual time: the same tests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/memory.h"
#include "control/runner_simulated.h"
#include "runtime/simulated/simulated.h"

#define PATIENCE_US INT64_C(60000000)
#define SERVERS 2

struct rig;

struct server {
	struct rig *rig;
	struct runtime *runtime;
	unsigned reported, reported_all; /* written on the world's thread, read when it is quiet */
};

struct rig {
	struct runner *runner;
	struct runner_event *event;
	struct simulated_world *world;
	struct server servers[SERVERS];
	struct arena *arena;
	unsigned started, ended, broken;
	enum runtime_stop last_stop;
	char last_program[256];
};

static void changed(void *context, struct span token)
{
	struct server *server = context;

	__atomic_add_fetch(token.length ? &server->reported : &server->reported_all, 1,
		__ATOMIC_SEQ_CST);
	runner_signal(server->rig->event);
}

static void program_started(void *context, const struct simulated_program *program)
{
	struct rig *rig = context;

	rig->started++;
	snprintf(rig->last_program, sizeof(rig->last_program), "%.*s %.*s %.*s:%d %.*s",
		SPAN_ARGS(program->token), SPAN_ARGS(program->instance), SPAN_ARGS(program->family),
		(int)program->revision, SPAN_ARGS(program->service));
}

static void program_ended(void *context, const struct simulated_program *program,
	enum runtime_stop stop)
{
	struct rig *rig = context;

	assert_true(program->token.length > 0);
	rig->ended++;
	rig->last_stop = stop;
}

static void rule_broken(void *context, const char *rule)
{
	struct rig *rig = context;

	assert_true(rule[0] != '\0');
	rig->broken++;
}

static void open_server(struct rig *rig, unsigned index)
{
	struct server *server = &rig->servers[index];
	struct runtime_simulated_config config = {
		.runner = rig->runner,
		.changed = changed,
		.context = server,
	};
	struct err err;

	server->rig = rig;
	assert_int_equal(runtime_simulated_open(rig->world, &config, &server->runtime, &err), 0);
}

static struct rig *rig_new(struct runner *runner)
{
	struct rig *rig = memory_allocate(sizeof(*rig));
	struct simulated_config config = {
		.instances = 2,
		.cpu = 2048,
		.memory = 4096,
		.remember_tokens = true,
		.observer = {program_started, program_ended, rule_broken, rig},
	};
	struct err err;

	rig->runner = runner;
	rig->event = runner_event_new(rig->runner, "changed");
	rig->arena = arena_new(0);
	assert_int_equal(simulated_world_new(rig->runner, &config, &rig->world, &err), 0);
	open_server(rig, 0);
	return rig;
}

static int set_up_threads(void **state)
{
	*state = rig_new(runner_threads_new(clock_system(), random_system()));
	return 0;
}

static int set_up_fibers(void **state)
{
	*state = rig_new(runner_simulated_new(1));
	return 0;
}

static int tear_down(void **state)
{
	struct rig *rig = *state;

	for (unsigned i = 0; i < SERVERS; i++)
		if (rig->servers[i].runtime)
			rig->servers[i].runtime->operations->close(rig->servers[i].runtime);
	simulated_world_free(rig->world);
	runner_event_free(rig->event);
	runner_stop(rig->runner);
	runner_join(rig->runner, NULL);
	runner_free(rig->runner);
	arena_free(rig->arena);
	free(rig);
	return 0;
}

static struct json *parse(struct rig *rig, const char *text)
{
	struct json *value;
	struct err err;

	if (json_parse(span_of(text), rig->arena, &value, &err) < 0)
		fail_msg("%s: %s", text, err.message);
	return value;
}

/* A spec of one container with these environment variables ("A=1 B=2") and further members. */
static struct json *spec_of(struct rig *rig, const char *environment, const char *more)
{
	_buffer_ struct buffer out = {0};
	_free_ char *text = memory_copy_string(environment);
	char *rest = NULL;
	bool first = true;

	buffer_add_string(&out,
		"{\"version\":1,\"family\":\"web\",\"revision\":3,\"service\":\"front\","
		"\"networkMode\":\"awsvpc\",\"containers\":[{\"name\":\"app\",\"image\":\"host\","
		"\"environment\":[");
	for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		char *equals = strchr(word, '=');

		buffer_format(&out, "%s{\"name\":\"%.*s\",\"value\":\"%s\"}", first ? "" : ",",
			(int)(equals - word), word, equals + 1);
		first = false;
	}
	buffer_format(&out, "]%s}]}", more);
	return parse(rig, arena_copy(rig->arena, out.data, out.length));
}

static int start(struct rig *rig, const char *token, const struct json *spec)
{
	struct runtime *runtime = rig->servers[0].runtime;
	struct err err = {0};
	int code =
		runtime->operations->start(runtime, span_of(token), SPAN("simulated"), spec, &err);

	assert_true(code == 0 || (code < 0 && err.message[0]));
	return code;
}

static int stop(struct rig *rig, const char *token)
{
	struct runtime *runtime = rig->servers[0].runtime;

	return runtime->operations->stop(runtime, span_of(token), SPAN("enough"), NULL);
}

static int acknowledge(struct rig *rig, const char *token)
{
	struct runtime *runtime = rig->servers[0].runtime;

	return runtime->operations->acknowledge(runtime, span_of(token), NULL);
}

static struct runtime_task *get(struct rig *rig, const char *token)
{
	struct runtime *runtime = rig->servers[0].runtime;
	struct runtime_task *task;
	struct err err;
	int code = runtime->operations->get(runtime, span_of(token), rig->arena, &task, &err);

	if (code < 0)
		assert_int_equal(code, -ENOENT);
	return code < 0 ? NULL : task;
}

/* Waits only for notices: a change without a notice is not found. */
static struct runtime_task *wait_for(struct rig *rig, const char *token, enum runtime_phase phase,
	enum runtime_health health)
{
	int64_t deadline_us = runner_deadline_us(rig->runner, PATIENCE_US);

	for (;;) {
		uint64_t seen = runner_event_count(rig->event);
		struct runtime_task *task = get(rig, token);

		assert_non_null(task);
		if (task->phase == phase && task->containers[0].health == health)
			return task;
		if (runner_wait(rig->runner, rig->event, seen, deadline_us) < 0)
			fail_msg("%s is in phase %d with health %d", token, task->phase,
				task->containers[0].health);
	}
}

static void wait_for_count(struct rig *rig, unsigned *count, unsigned least)
{
	int64_t deadline_us = runner_deadline_us(rig->runner, PATIENCE_US);

	for (;;) {
		uint64_t seen = runner_event_count(rig->event);

		if (__atomic_load_n(count, __ATOMIC_SEQ_CST) >= least)
			return;
		assert_int_equal(runner_wait(rig->runner, rig->event, seen, deadline_us), 0);
	}
}

/* ---- tests ---- */

static void test_life(void **state)
{
	struct rig *rig = *state;
	struct json *spec = spec_of(rig,
		"SIMULATED_START_MS=10 SIMULATED_HEALTH_MS=never "
		"SIMULATED_UNHEALTHY_AFTER_MS=20 SIMULATED_STOP_MS=10-20",
		",\"healthCheck\":{\"command\":[\"CMD\",\"true\"]}");
	struct runtime_task *task;

	assert_int_equal(start(rig, "a", spec), 0);
	task = wait_for(rig, "a", RUNTIME_RUNNING, RUNTIME_UNHEALTHY);
	assert_true(task->created_ms > 0 && task->started_ms >= task->created_ms);
	assert_int_equal(task->stopped_ms, 0);
	assert_string_equal(task->instance.data, "simulated");
	assert_string_equal(task->address.data, "10.0.0.1");
	assert_string_equal(task->mac.data, "02:00:00:00:00:01");
	assert_int_equal(acknowledge(rig, "a"), -EBUSY);
	assert_int_equal(stop(rig, "a"), 0);
	assert_int_equal(stop(rig, "a"), 0);
	task = wait_for(rig, "a", RUNTIME_STOPPED, RUNTIME_UNHEALTHY);
	assert_int_equal(task->stop, RUNTIME_STOP_REQUESTED);
	assert_string_equal(task->reason.data, "enough");
	assert_true(task->containers[0].has_exit_code);
	assert_int_equal(task->containers[0].exit_code, 143);
	assert_true(task->stopped_ms >= task->started_ms);
	assert_int_equal(stop(rig, "a"), 0);
	assert_int_equal(acknowledge(rig, "a"), 0);
	assert_null(get(rig, "a"));
	assert_int_equal(acknowledge(rig, "a"), -ENOENT);
	assert_int_equal(stop(rig, "a"), -ENOENT);
	assert_int_equal(rig->started, 1);
	assert_int_equal(rig->ended, 1);
	assert_int_equal(rig->broken, 0);
	assert_string_equal(rig->last_program, "a simulated web:3 front");
	assert_int_equal(start(rig, "a", spec), -EALREADY);
	assert_int_equal(rig->broken, 1);
}

static void test_exits(void **state)
{
	struct rig *rig = *state;
	struct runtime_task *task;

	/* By command, which wins over the environment. */
	assert_int_equal(start(rig, "a",
				 spec_of(rig, "SIMULATED_RUN_MS=never SIMULATED_EXIT_CODE=3",
					 ",\"command\":[\"run\",\"SIMULATED_RUN_MS=5\"]")),
		0);
	task = wait_for(rig, "a", RUNTIME_STOPPED, RUNTIME_HEALTH_NONE);
	assert_int_equal(task->stop, RUNTIME_STOP_ESSENTIAL);
	assert_int_equal(task->containers[0].exit_code, 3);
	assert_int_equal(rig->last_stop, RUNTIME_STOP_ESSENTIAL);

	assert_int_equal(start(rig, "b", spec_of(rig, "", "},{\"name\":\"side\"")), 0);
	wait_for(rig, "b", RUNTIME_RUNNING, RUNTIME_HEALTH_NONE);
	assert_int_equal(simulated_world_end_task(rig->world, SPAN("b"), 9, NULL), 0);
	task = wait_for(rig, "b", RUNTIME_STOPPED, RUNTIME_HEALTH_NONE);
	assert_int_equal(task->container_count, 2);
	assert_int_equal(task->containers[0].exit_code, 9);
	assert_int_equal(task->containers[1].exit_code, 143);
	assert_int_equal(simulated_world_end_task(rig->world, SPAN("b"), 9, NULL), -ENOENT);

	assert_int_equal(start(rig, "c",
				 spec_of(rig, "SIMULATED_START_MS=5 SIMULATED_FAIL_START=NoSuch",
					 "")),
		0);
	task = wait_for(rig, "c", RUNTIME_STOPPED, RUNTIME_HEALTH_NONE);
	assert_int_equal(task->stop, RUNTIME_STOP_FAILED_TO_START);
	assert_string_equal(task->reason.data, "NoSuch");
	assert_string_equal(task->containers[0].reason.data, "NoSuch");
	assert_false(task->containers[0].has_exit_code);
	assert_int_equal(rig->started, 2);

	/* Stopped before it ran: there is no exit code. */
	assert_int_equal(start(rig, "d", spec_of(rig, "SIMULATED_START_MS=600000", "")), 0);
	assert_int_equal(get(rig, "d")->phase, RUNTIME_PENDING);
	assert_int_equal(stop(rig, "d"), 0);
	task = get(rig, "d");
	assert_int_equal(task->phase, RUNTIME_STOPPED);
	assert_int_equal(task->stop, RUNTIME_STOP_REQUESTED);
	assert_false(task->containers[0].has_exit_code);

	/* Ignores SIGTERM: killed at its stop timeout. */
	assert_int_equal(start(rig, "e",
				 spec_of(rig, "SIMULATED_STOP_MS=never", ",\"stopTimeout\":1")),
		0);
	assert_int_equal(stop(rig, "e"), 0);
	assert_int_equal(get(rig, "e")->phase, RUNTIME_STOPPING);
	task = wait_for(rig, "e", RUNTIME_STOPPED, RUNTIME_HEALTH_NONE);
	assert_int_equal(task->containers[0].exit_code, 137);
}

static void test_refused(void **state)
{
	static const char *const environments[] = {
		"SIMULATED_START_MS=never",
		"SIMULATED_START_MS=x",
		"SIMULATED_RUN_MS=-1",
		"SIMULATED_RUN_MS=5-3",
		"SIMULATED_RUN_MS=99999999999",
		"SIMULATED_EXIT_CODE=256",
		"SIMULATED_HEALTH_MS=",
	};
	static const char *const specs[] = {
		"{}",
		"{\"version\":2,\"containers\":[{\"name\":\"a\"}]}",
		"{\"version\":1,\"containers\":[]}",
		"{\"version\":1,\"containers\":[{}]}",
		"{\"version\":1,\"containers\":[{\"name\":\"\"}]}",
		"{\"version\":1,\"containers\":[{\"name\":\"a\",\"stopTimeout\":-1}]}",
		"{\"version\":1,\"containers\":[{\"name\":\"a\",\"portMappings\":[{}]}]}",
		("{\"version\":1,\"containers\":[{\"name\":\"a\",\"portMappings\":[{"
		 "\"containerPort\":1,\"hostPort\":65536}]}]}"),
	};
	struct rig *rig = *state;
	struct runtime *runtime = rig->servers[0].runtime;
	char long_token[RUNTIME_TOKEN_MAX + 2];
	struct simulated_counts counts;

	for (size_t i = 0; i < LENGTH(environments); i++)
		assert_int_equal(start(rig, "a", spec_of(rig, environments[i], "")), -EINVAL);
	for (size_t i = 0; i < LENGTH(specs); i++)
		assert_int_equal(start(rig, "a", parse(rig, specs[i])), -EINVAL);
	memset(long_token, 'x', sizeof(long_token) - 1);
	long_token[sizeof(long_token) - 1] = '\0';
	assert_int_equal(start(rig, long_token, spec_of(rig, "", "")), -EINVAL);
	assert_int_equal(start(rig, "", spec_of(rig, "", "")), -EINVAL);
	assert_int_equal(runtime->operations->start(runtime, SPAN("a"), SPAN("nowhere"),
				 spec_of(rig, "", ""), NULL),
		-EINVAL);
	simulated_world_counts(rig->world, &counts);
	assert_int_equal(counts.tasks, 0);
	assert_int_equal(counts.programs, 0);
}

static void test_outlives_servers(void **state)
{
	struct rig *rig = *state;
	struct json *spec = spec_of(rig, "SIMULATED_START_MS=5", "");
	struct runtime *runtime;
	struct span *tokens;
	size_t count;

	open_server(rig, 1);
	assert_int_equal(start(rig, "a", spec), 0);
	assert_int_equal(start(rig, "a", spec), 0);
	wait_for(rig, "a", RUNTIME_RUNNING, RUNTIME_HEALTH_NONE);
	wait_for_count(rig, &rig->servers[1].reported, 1);
	for (unsigned i = 0; i < SERVERS; i++) {
		runtime = TAKE(rig->servers[i].runtime);
		runtime->operations->close(runtime);
	}
	assert_int_equal(simulated_world_end_task(rig->world, SPAN("a"), 7, NULL), 0);
	open_server(rig, 0);
	assert_int_equal(start(rig, "b", spec), 0);
	runtime = rig->servers[0].runtime;
	assert_int_equal(runtime->operations->list_tasks(runtime, rig->arena, &tokens, &count,
				 NULL),
		0);
	assert_int_equal(count, 2);
	assert_string_equal(tokens[0].data, "a");
	assert_string_equal(tokens[1].data, "b");
	assert_int_equal(get(rig, "a")->containers[0].exit_code, 7);
	wait_for(rig, "b", RUNTIME_RUNNING, RUNTIME_HEALTH_NONE);
	assert_int_equal(rig->started, 2);
	assert_int_equal(rig->broken, 0);
}

static size_t count_instances(struct rig *rig)
{
	struct runtime *runtime = rig->servers[0].runtime;
	struct runtime_instance *instances;
	size_t count;

	assert_int_equal(runtime->operations->list_instances(runtime, rig->arena, &instances,
				 &count, NULL),
		0);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(instances[i].cpu, 2048);
		assert_int_equal(instances[i].memory, 4096);
		assert_true(json_array_count(instances[i].attributes) > 0);
	}
	return count;
}

static void test_instances(void **state)
{
	struct rig *rig = *state;
	struct json *spec = spec_of(rig, "", "");
	struct runtime_task *task;
	unsigned reported_all;

	assert_int_equal(count_instances(rig), 2);
	assert_int_equal(start(rig, "a", spec), 0);
	reported_all = __atomic_load_n(&rig->servers[0].reported_all, __ATOMIC_SEQ_CST);
	assert_int_equal(simulated_world_kill_instance(rig->world, SPAN("simulated"), NULL), 0);
	wait_for_count(rig, &rig->servers[0].reported_all, reported_all + 1);
	assert_int_equal(count_instances(rig), 1);
	task = get(rig, "a");
	assert_int_equal(task->phase, RUNTIME_STOPPED);
	assert_int_equal(task->stop, RUNTIME_STOP_LOST);
	assert_false(task->containers[0].has_exit_code);
	assert_int_equal(start(rig, "b", spec), -EHOSTDOWN);
	assert_int_equal(simulated_world_revive_instance(rig->world, SPAN("simulated"), NULL), 0);
	assert_int_equal(count_instances(rig), 2);
	assert_int_equal(start(rig, "b", spec), 0);
	assert_int_equal(simulated_world_add_instance(rig->world, NULL), 0);
	assert_int_equal(count_instances(rig), 3);
	assert_int_equal(simulated_world_kill_instance(rig->world, SPAN("nowhere"), NULL), -ENOENT);
	assert_int_equal(simulated_world_kill_instance(rig->world, SPAN("simulated-3"), NULL), 0);
	assert_int_equal(count_instances(rig), 2);
	assert_int_equal(get(rig, "b")->phase, RUNTIME_RUNNING);
}

static void test_details(void **state)
{
	struct rig *rig = *state;
	struct runtime *runtime = rig->servers[0].runtime;
	_buffer_ struct buffer log = {0};
	struct runtime_task *task;
	struct runtime_exec *exec;
	uint64_t offset;
	struct err err;
	const char *ports = ",\"portMappings\":[{\"containerPort\":80},{\"containerPort\":53,"
			    "\"hostPort\":5353,\"protocol\":\"udp\"}]";

	assert_int_equal(start(rig, "own", spec_of(rig, "", ports)), 0);
	task = get(rig, "own");
	assert_int_equal(task->containers[0].binding_count, 2);
	assert_int_equal(task->containers[0].bindings[0].host_port, 80);
	assert_string_equal(task->containers[0].bindings[0].address.data, task->address.data);
	assert_true(task->containers[0].bindings[1].udp);

	assert_int_equal(
		start(rig, "shared",
			parse(rig, "{\"version\":1,\"networkMode\":\"bridge\",\"containers\":[{"
				   "\"name\":\"a\",\"portMappings\":[{\"containerPort\":80},"
				   "{\"containerPort\":81,\"hostPort\":8081}]}]}")),
		0);
	task = get(rig, "shared");
	assert_int_equal(task->address.length, 0);
	assert_true(task->containers[0].bindings[0].host_port >= 32768);
	assert_int_equal(task->containers[0].bindings[1].host_port, 8081);
	assert_string_equal(task->containers[0].bindings[0].address.data, "10.255.0.0");

	assert_int_equal(runtime->operations->read_logs(runtime, SPAN("own"), SPAN("app"), 0, 1000,
				 &log, NULL, &offset, &err),
		0);
	assert_non_null(strstr(log.data, "'app' runs\n"));
	assert_int_equal(offset, log.length);
	assert_int_equal(runtime->operations->read_logs(runtime, SPAN("own"), SPAN("app"), offset,
				 1000, &log, NULL, &offset, &err),
		0);
	assert_int_equal(offset, log.length);
	assert_int_equal(runtime->operations->read_logs(runtime, SPAN("own"), SPAN("no"), 0, 1000,
				 &log, NULL, &offset, &err),
		-ENOENT);
	assert_int_equal(runtime->operations->exec(runtime, SPAN("own"), SPAN("app"), NULL, false,
				 &exec, &err),
		-ENOTSUP);
}

static void test_health(void **state)
{
	struct rig *rig = *state;

	assert_int_equal(start(rig, "a",
				 spec_of(rig, "SIMULATED_HEALTH_MS=never",
					 ",\"healthCheck\":{\"command\":[\"CMD\",\"true\"]}")),
		0);
	wait_for(rig, "a", RUNTIME_RUNNING, RUNTIME_HEALTH_UNKNOWN);
	assert_int_equal(simulated_world_set_health(rig->world, SPAN("a"), true, NULL), 0);
	wait_for(rig, "a", RUNTIME_RUNNING, RUNTIME_HEALTHY);
	assert_int_equal(simulated_world_set_health(rig->world, SPAN("a"), false, NULL), 0);
	wait_for(rig, "a", RUNTIME_RUNNING, RUNTIME_UNHEALTHY);
	assert_int_equal(simulated_world_set_health(rig->world, SPAN("b"), false, NULL), -ENOENT);
	assert_int_equal(start(rig, "b",
				 spec_of(rig, "SIMULATED_HEALTH_MS=10",
					 ",\"healthCheck\":{\"command\":[\"CMD\",\"true\"]}")),
		0);
	wait_for(rig, "b", RUNTIME_RUNNING, RUNTIME_HEALTHY);
}

/* ---- many at once ---- */

#define THREADS 4
#define TASKS_OF_THREAD 2000

struct worker {
	struct rig *rig;
	struct json *spec;
	unsigned index;
	unsigned wrong;
};

static void work(void *context)
{
	struct worker *worker = context;
	struct runtime *runtime = worker->rig->servers[0].runtime;
	const struct runtime_operations *operations = runtime->operations;
	_arena_ struct arena *arena = arena_new(0);

	for (unsigned round = 0; round < 3; round++)
		for (unsigned i = 0; i < TASKS_OF_THREAD; i++) {
			char text[32];
			struct runtime_task *task;
			struct span token;
			int code = 0;

			snprintf(text, sizeof(text), "%u-%u", worker->index, i);
			token = span_of(text);
			arena_reset(arena);
			if (round == 0)
				code = operations->start(runtime, token, SPAN("simulated-2"),
					worker->spec, NULL);
			else if (round == 1 && i % 2 == 0)
				code = operations->stop(runtime, token, SPAN(""), NULL);
			else if (round == 2)
				code = operations->get(runtime, token, arena, &task, NULL);
			if (code < 0)
				worker->wrong++;
		}
}

static void test_many(void **state)
{
	struct rig *rig = *state;
	struct runner *group = runner_group_new(rig->runner, "workers");
	struct worker workers[THREADS];
	struct json *spec = spec_of(rig, "SIMULATED_START_MS=0-20 SIMULATED_STOP_MS=0-20", "");
	int64_t deadline_us = runner_deadline_us(rig->runner, PATIENCE_US);
	struct simulated_counts counts;
	struct err err;

	for (unsigned i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){.rig = rig, .spec = spec, .index = i};
		assert_int_equal(runner_spawn(group, "worker", work, &workers[i], &err), 0);
	}
	assert_int_equal(runner_join(group, &err), 0);
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(workers[i].wrong, 0);
	for (;;) {
		uint64_t seen = runner_event_count(rig->event);

		simulated_world_counts(rig->world, &counts);
		if (counts.programs == THREADS * TASKS_OF_THREAD / 2 &&
			counts.starts - counts.ends == counts.programs)
			break;
		assert_int_equal(runner_wait(rig->runner, rig->event, seen, deadline_us), 0);
	}
	assert_int_equal(counts.tasks, THREADS * TASKS_OF_THREAD);
	runner_free(group);
}

/* Notices are under way whenever a runtime is closed. */
static void test_closing_while_reported(void **state)
{
	struct rig *rig = *state;
	struct json *spec = spec_of(rig, "SIMULATED_START_MS=0-2 SIMULATED_RUN_MS=0-2", "");

	for (unsigned i = 0; i < 300; i++) {
		struct runtime *runtime;
		char token[16];

		open_server(rig, 1);
		for (unsigned j = 0; j < 5; j++) {
			snprintf(token, sizeof(token), "%u-%u", i, j);
			assert_int_equal(start(rig, token, spec), 0);
		}
		if (i % 3 == 0)
			wait_for(rig, token, RUNTIME_STOPPED, RUNTIME_HEALTH_NONE);
		runtime = TAKE(rig->servers[1].runtime);
		runtime->operations->close(runtime);
	}
}

#define BOTH(test)                                                                                 \
	{#test " on threads", test, set_up_threads, tear_down, NULL},                              \
	{                                                                                          \
#test " on fibers", test, set_up_fibers, tear_down, NULL                           \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(test_life),
		BOTH(test_exits),
		BOTH(test_refused),
		BOTH(test_outlives_servers),
		BOTH(test_instances),
		BOTH(test_details),
		BOTH(test_health),
		BOTH(test_many),
		BOTH(test_closing_while_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
