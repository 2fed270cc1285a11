/*
 * Managers of environments for unit tests, on virtual time: the real manager, store and operations of ECS and slipway,
 * without programs. Include it behind cmocka's header.
 */
#ifndef ENVIRONMENT_TEST_MANAGER_H
#define ENVIRONMENT_TEST_MANAGER_H

#include "control/runner_simulated.h"
#include "ecs/test_server.h"
#include "ecs/test_tasks.h"
#include "environment/act/manager.h"
#include "environment/api/operations.h"
#include "environment/model/runs.h"

#define SECOND_US INT64_C(1000000)

struct test_manager {
	struct runner *runner;
	struct test_server *server;
	struct claims *claims;
	struct manager *manager;
	struct daemon_context context;
	struct aws_service service;
	struct runner_event *tick;
	struct aws_targets *targets; /* remote; NULL: none */
};

static inline void test_manager_start(struct test_manager *bench)
{
	struct claims_config claims = {
		.runner = bench->runner, .store = bench->server->store, .server = "one"};
	struct manager_config manager = {.runner = bench->runner,
		.store = bench->server->store,
		.dispatcher = bench->server->dispatcher,
		.targets = bench->targets};
	struct err err = {0};

	if (claims_start(&claims, &bench->claims, &err) < 0)
		fail_msg("%s", err.message);
	manager.claims = bench->claims;
	if (manager_start(&manager, &bench->manager, &err) < 0)
		fail_msg("%s", err.message);
	bench->context.count = manager_count;
	bench->context.count_context = bench->manager;
	bench->context.state = manager_state(bench->manager);
	bench->context.targets = bench->targets;
}

/* As a crash: the lease is not given up. */
static inline void test_manager_stop(struct test_manager *bench)
{
	manager_stop(bench->manager);
	claims_stop(bench->claims);
	bench->manager = NULL;
	bench->claims = NULL;
	bench->context = (struct daemon_context){0};
}

static inline struct test_manager *test_manager_new(uint64_t seed)
{
	struct test_manager *bench = memory_allocate(sizeof(*bench));
	const struct store_kind *kinds[16];
	struct test_server_options options = {.kinds = kinds};

	bench->runner = runner_simulated_new(seed);
	for (size_t i = 0; i < daemon_kind_count; i++)
		kinds[options.kind_count++] = daemon_kinds[i];
	kinds[options.kind_count++] = &server_kind;
	kinds[options.kind_count++] = &claim_kind;
	options.clock = runner_clock(bench->runner);
	bench->server = test_server_new_of(&options);
	bench->tick = runner_event_new(bench->runner, "tick");
	bench->service = (struct aws_service){.name = "slipway",
		.shapes = &shape_slipway,
		.operations = daemon_operations,
		.operation_count = daemon_operation_count,
		.invalid_input = "InvalidParameterException"};
	aws_dispatcher_register(bench->server->dispatcher, &bench->service, &bench->context);
	test_manager_start(bench);
	return bench;
}

static inline void test_manager_free(struct test_manager *bench)
{
	if (bench->manager)
		test_manager_stop(bench);
	runner_event_free(bench->tick);
	test_server_free(bench->server);
	runner_free(bench->runner);
	free(bench);
}

static inline void test_manager_pass(struct test_manager *bench, int64_t duration_us)
{
	runner_wait(bench->runner, bench->tick, runner_event_count(bench->tick),
		runner_deadline_us(bench->runner, duration_us));
}

__attribute__((format(printf, 3, 4))) static inline const struct json *
test_manager_ask(struct test_manager *bench, const char *operation, const char *format, ...)
{
	_arena_ struct arena *arena = arena_new(0);
	va_list list;

	va_start(list, format);
	test_send_to(bench->server, &bench->service, operation, test_body(arena, format, list));
	va_end(list);
	if (bench->server->error_type[0])
		fail_msg("%s: %s: %.*s", operation, bench->server->error_type,
			SPAN_ARGS(test_message(bench->server)));
	return bench->server->answer;
}

/* ---- schedules ---- */

/* All records of the environment "tidy", the oldest first; how many. */
static inline size_t test_list_runs(struct test_server *server, struct environment_run_facts *runs,
	size_t most)
{
	_view_ struct store_view *view = store_view_open(server->store);
	struct store_cursor cursor = {.view = view,
		.kind = &environment_run_kind,
		.index = -1,
		.prefix = SPAN("123456789012/tidy/")};
	const struct store_object *run;
	size_t count = 0;

	while ((run = store_next(&cursor)) && count < most)
		runs[count++] = *environment_run_facts(run); /* its texts are not for reading */
	return count;
}

#define TEST_TASKS SPAN("123456789012/eu-west-1/default/")

static inline size_t test_count_tasks(struct test_server *server)
{
	_view_ struct store_view *view = store_view_open(server->store);

	return store_count(view, &task_kind, -1, TEST_TASKS, false);
}

/* Every task that has not stopped stops now, without an exit code. */
static inline void test_end_tasks(struct test_server *server)
{
	_arena_ struct arena *arena = arena_new(0);
	_view_ struct store_view *view = store_view_open(server->store);
	struct store_cursor cursor = {
		.view = view, .kind = &task_kind, .index = -1, .prefix = TEST_TASKS};
	const struct store_object *task;
	char id[TEST_ID_SIZE];

	while ((task = store_next(&cursor))) {
		if (task_facts(task)->last == TASK_STOPPED)
			continue;
		test_id_of(arena_copy_span(arena, task->key).data, id);
		test_change_task(server, "default", id, test_has_stopped);
	}
}

#endif
