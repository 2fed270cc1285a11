/* Calls into this process: on threads, and in a simulation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>

#include "aws/call.h"
#include "aws/policy.h"
#include "base/buffer.h"
#include "base/memory.h"

static const struct store_kind cluster_kind = {.name = "cluster"};
static const struct store_kind *const kinds[] = {&cluster_kind};

static int run_create(struct aws_request *request)
{
	struct span name = json_get_text(request->input, "clusterName");

	if (store_get(request->view, &cluster_kind, name))
		return aws_fail(request, "ClientException", "Cluster '%.*s' exists.",
			SPAN_ARGS(name));
	if (store_put(request->transaction, &cluster_kind, name, SPAN("{}"), SPAN(""), STORE_ABSENT,
		    &request->err) < 0)
		return aws_fail_store(request);
	buffer_format(request->out, "{\"cluster\":{\"clusterName\":\"%.*s\",\"by\":\"%.*s\"}}",
		SPAN_ARGS(name), SPAN_ARGS(request->caller->user));
	return 0;
}

static int run_list(struct aws_request *request)
{
	buffer_format(request->out, "{\"count\":%d}",
		(int)store_count(request->view, &cluster_kind, -1, SPAN(""), false));
	return 0;
}

static const struct aws_operation operations[] = {
	{.name = "CreateCluster", .mode = AWS_WRITE, .run = run_create},
	{.name = "ListClusters", .mode = AWS_READ, .run = run_list},
};

static const struct aws_service service = {
	.name = "ecs",
	.shapes = &shape_ecs,
	.operations = operations,
	.operation_count = LENGTH(operations),
	.invalid_input = "InvalidParameterException",
};

struct fixture {
	struct store *store;
	struct aws_dispatcher *dispatcher;
	struct runner *runner;
	struct aws_target *target;
};

static void fixture_open(struct fixture *fixture, struct runner *runner)
{
	struct store_config config = {
		.url = "memory:",
		.kinds = kinds,
		.kind_count = LENGTH(kinds),
		.clock = runner_clock(runner),
		.inline_writes = runner_is_simulated(runner),
	};
	struct aws_dispatch_config dispatch = {
		.clock = runner_clock(runner), .random = runner_random(runner)};
	/* A caller that is gone when the call is made. */
	char user[] = "delivery";
	struct aws_caller caller = {.account = SPAN("123456789012"),
		.user = {user, strlen(user)},
		.access_key = SPAN(""),
		.region = SPAN("eu-west-1")};
	struct err err = {0};

	if (store_open(&config, &fixture->store, &err) < 0)
		fail_msg("%s", err.message);
	dispatch.store = fixture->store;
	fixture->runner = runner;
	fixture->dispatcher = aws_dispatcher_new(&dispatch);
	aws_dispatcher_register(fixture->dispatcher, &service, NULL);
	fixture->target = aws_target_local(fixture->dispatcher, runner, &caller);
	memset(user, 'x', sizeof(user));
}

static void fixture_close(struct fixture *fixture)
{
	aws_target_free(fixture->target);
	aws_dispatcher_free(fixture->dispatcher);
	store_close(fixture->store);
	runner_free(fixture->runner);
}

static int create(struct fixture *fixture, const char *name, struct arena *arena,
	struct json **ret_answer, struct aws_call_failure *failure, struct err *err)
{
	struct json *request = json_new_object(arena);

	json_set_string(arena, request, "clusterName", span_of(name));
	return aws_call(fixture->target, "ecs", "CreateCluster", request, arena, ret_answer,
		failure, err);
}

static void talk(struct fixture *fixture)
{
	_arena_ struct arena *arena = arena_new(0);
	struct json *answer = NULL;
	struct aws_call_failure failure;
	struct err err = {0};

	assert_int_equal(create(fixture, "a", arena, &answer, &failure, &err), 0);
	assert_true(span_is(json_text(json_path(answer, "cluster.clusterName")), "a"));
	assert_true(span_is(json_text(json_path(answer, "cluster.by")), "delivery"));
	assert_int_equal(failure.status, 0);

	answer = NULL;
	assert_int_equal(create(fixture, "a", arena, &answer, &failure, &err), -EREMOTEIO);
	assert_null(answer);
	assert_int_equal(failure.status, 400);
	assert_string_equal(failure.type, "ClientException");
	assert_string_equal(failure.message, "Cluster 'a' exists.");
	assert_string_equal(err.message,
		"ecs CreateCluster: ClientException (400): Cluster 'a' exists.");

	assert_int_equal(aws_call(fixture->target, "ecs", "ListClusters", NULL, arena, &answer,
				 NULL, NULL),
		0);
	assert_int_equal(json_get_integer(answer, "count", 0), 1);
	assert_int_equal(aws_call(fixture->target, "ecs", "Nothing", NULL, arena, &answer, &failure,
				 &err),
		-EREMOTEIO);
	assert_string_equal(failure.type, "UnknownOperationException");
	assert_int_equal(aws_call(fixture->target, "ec2", "Nothing", NULL, arena, &answer, &failure,
				 &err),
		-EINVAL);
	assert_string_equal(failure.type, "");
	aws_target_cancel(fixture->target); /* has no remote calls to end */
}

static void calls_this_process_on_threads(void **state)
{
	struct fixture fixture;

	(void)state;
	fixture_open(&fixture, runner_threads_new(clock_system(), random_system()));
	talk(&fixture);
	fixture_close(&fixture);
}

struct gate {
	bool closed;
	unsigned requested;
};

static int pass_gate(void *context, struct store_transaction *transaction, struct err *err)
{
	struct gate *gate = context;

	assert_non_null(transaction);
	gate->requested++;
	return gate->closed ? err_set(err, -ESTALE, "the gate is closed") : 0;
}

static int create_fenced(struct fixture *fixture, const char *name, struct gate *gate,
	struct arena *arena, struct aws_call_failure *failure)
{
	const struct aws_fence fence = {.require = pass_gate, .context = gate};
	struct json *request = json_new_object(arena), *answer;

	json_set_string(arena, request, "clusterName", span_of(name));
	return aws_call_fenced(fixture->target, &fence, "ecs", "CreateCluster", request, arena,
		&answer, failure, NULL);
}

/* A write's fence is checked in its transaction: all of the write is done, or nothing. */
static void a_fence_is_passed_or_nothing_is_done(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct fixture fixture;
	struct gate gate = {0};
	struct aws_call_failure failure;
	struct json *answer;

	(void)state;
	fixture_open(&fixture, runner_threads_new(clock_system(), random_system()));
	assert_int_equal(create_fenced(&fixture, "a", &gate, arena, &failure), 0);
	assert_int_equal(gate.requested, 1);
	gate.closed = true;
	assert_int_equal(create_fenced(&fixture, "b", &gate, arena, &failure), -EREMOTEIO);
	assert_string_equal(failure.type, "ServerException");
	assert_non_null(strstr(failure.message, "the gate is closed"));
	assert_int_equal(gate.requested, 2);
	/* A call without a fence does not check it. */
	assert_int_equal(aws_call(fixture.target, "ecs", "ListClusters", NULL, arena, &answer, NULL,
				 NULL),
		0);
	assert_int_equal(json_get_integer(answer, "count", 0), 1);
	fixture_close(&fixture);
}

static void talk_spawned(void *context)
{
	talk(context);
}

static void calls_this_process_in_a_simulation(void **state)
{
	struct fixture fixture;
	struct err err = {0};

	(void)state;
	fixture_open(&fixture, runner_simulated_new(5));
	assert_int_equal(runner_spawn(fixture.runner, "talk", talk_spawned, &fixture, &err), 0);
	if (runner_join(fixture.runner, &err) < 0)
		fail_msg("%s", err.message);
	fixture_close(&fixture);
}

static void a_stopped_runner_makes_no_calls(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct fixture fixture;
	struct json *answer = NULL;
	struct aws_call_failure failure;
	struct err err = {0};

	(void)state;
	fixture_open(&fixture, runner_threads_new(clock_system(), random_system()));
	runner_stop(fixture.runner);
	assert_int_equal(create(&fixture, "a", arena, &answer, &failure, &err), -ECANCELED);
	assert_null(answer);
	assert_int_equal(failure.status, 0);
	fixture_close(&fixture);
}

#define WORKERS 4
#define CALLS 50

struct worker {
	struct fixture *fixture;
	int number;
	int built;
};

static void call_often(void *context)
{
	struct worker *worker = context;

	for (int i = 0; i < CALLS; i++) {
		_arena_ struct arena *arena = arena_new(0);
		struct json *answer;
		char name[32];

		/* All want the same names: each is made once. */
		snprintf(name, sizeof(name), "c%d", (i + worker->number * 7) % CALLS);
		worker->built += create(worker->fixture, name, arena, &answer, NULL, NULL) == 0;
	}
}

static void many_callers_at_once(void **state)
{
	struct fixture fixture;
	struct worker workers[WORKERS];
	int built = 0;

	(void)state;
	fixture_open(&fixture, runner_threads_new(clock_system(), random_system()));
	for (int i = 0; i < WORKERS; i++) {
		workers[i] = (struct worker){.fixture = &fixture, .number = i};
		assert_int_equal(runner_spawn(fixture.runner, "worker", call_often, &workers[i],
					 NULL),
			0);
	}
	assert_int_equal(runner_join(fixture.runner, NULL), 0);
	for (int i = 0; i < WORKERS; i++)
		built += workers[i].built;
	assert_int_equal(built, CALLS);
	fixture_close(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_this_process_on_threads),
		cmocka_unit_test(a_fence_is_passed_or_nothing_is_done),
		cmocka_unit_test(calls_this_process_in_a_simulation),
		cmocka_unit_test(a_stopped_runner_makes_no_calls),
		cmocka_unit_test(many_callers_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
