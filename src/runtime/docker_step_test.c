/*
 * Decisions about tasks, with containers that behave as a row says: each step is written as a line
 * of text and compared. Needs no Docker.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "base/memory.h"
#include "runtime/docker/step.h"

#define SECOND_NS ((int64_t)1000 * 1000 * 1000)
#define BEGIN_MS 1000000
#define ROUNDS_MAX 200

/* How a container behaves once started. */
struct behaviour {
	const char *name;
	int64_t runs_ms; /* 0: until SIGTERM */
	int exit_code;
	int64_t healthy_ms; /* after the start; 0: never */
	bool stubborn;      /* ends only by SIGKILL */
	bool out_of_memory;
};

struct world {
	struct arena *arena;
	struct docker_state state;
	struct docker_facts facts[DOCKER_FACTS_MAX];
	const struct behaviour *behaviours;
	int64_t now_ms;
	struct buffer trace;
	unsigned crashes; /* after every step the state is written and read again */
};

static const struct behaviour *behaviour_of(const struct world *world, size_t index)
{
	for (const struct behaviour *row = world->behaviours; row && row->name; row++)
		if (span_is(world->state.plan->containers[index].name, row->name))
			return row;
	return NULL;
}

static const char *name_of(const struct world *world, size_t index)
{
	return index < world->state.plan->container_count
		       ? world->state.plan->containers[index].name.data
		       : "network";
}

static void end_container(struct world *world, size_t index, int exit_code)
{
	world->facts[index].status = DOCKER_ENDED;
	world->facts[index].exit_code = exit_code;
	world->facts[index].ended_ns = world->now_ms * 1000 * 1000;
}

/* Applies all changes up to now. */
static void let_run(struct world *world)
{
	for (size_t i = 0; i < world->state.plan->container_count; i++) {
		const struct behaviour *behaviour = behaviour_of(world, i);
		struct docker_facts *facts = &world->facts[i];
		int64_t age_ms = world->now_ms - facts->started_ns / 1000000;

		if (facts->status != DOCKER_RUNNING || !behaviour)
			continue;
		if (behaviour->healthy_ms && age_ms >= behaviour->healthy_ms)
			facts->health = RUNTIME_HEALTHY;
		if (behaviour->runs_ms && age_ms >= behaviour->runs_ms) {
			end_container(world, i, behaviour->exit_code);
			facts->out_of_memory = behaviour->out_of_memory;
		}
	}
}

static void do_start(struct world *world, size_t index)
{
	struct docker_facts *facts = &world->facts[index];

	facts->status = DOCKER_RUNNING;
	facts->started_ns = world->now_ms * 1000 * 1000;
	facts->health = index < world->state.plan->container_count &&
					world->state.plan->containers[index].health
				? RUNTIME_HEALTH_UNKNOWN
				: RUNTIME_HEALTH_NONE;
	snprintf(facts->address, sizeof(facts->address), "10.0.0.9");
}

static void do_step(struct world *world, const struct docker_step *step)
{
	static const char *const names[] = {"wait", "prepare", "start", "signal", "kill", "over"};
	const struct behaviour *behaviour = step->container < world->state.plan->container_count
						    ? behaviour_of(world, step->container)
						    : NULL;

	buffer_format(&world->trace, "%s%s", world->trace.length ? " " : "", names[step->action]);
	if (step->action >= DOCKER_START && step->action <= DOCKER_KILL)
		buffer_format(&world->trace, ":%s", name_of(world, step->container));
	switch (step->action) {
	case DOCKER_PREPARE:
		for (size_t i = 0; i <= world->state.plan->container_count; i++) {
			world->facts[i].status = DOCKER_CREATED;
			snprintf(world->facts[i].id, sizeof(world->facts[i].id), "id-%zu", i);
		}
		world->state.begun = true;
		break;
	case DOCKER_START: do_start(world, step->container); break;
	case DOCKER_SIGNAL:
		if (!behaviour || !behaviour->stubborn)
			end_container(world, step->container, 143);
		break;
	case DOCKER_KILL: end_container(world, step->container, 137); break;
	case DOCKER_WAIT:
	case DOCKER_OVER: break;
	}
}

/* As after a crash of slipway: only the stored state is left. */
static void forget(struct world *world)
{
	_buffer_ struct buffer text = {0};
	struct arena *arena = arena_new(0);
	struct docker_state again;
	struct err err = {.message = ""};

	docker_state_write(&world->state, &text);
	if (docker_state_read(&again, world->state.plan, arena_copy_span(arena, buffer_span(&text)),
		    arena, &err) < 0)
		fail_msg("%s", err.message);
	arena_free(world->state.arena);
	world->state = again;
}

/* Until the task has ended, or no step is left. stop_at_ms: time of a stop request; 0: none. */
static void play(struct world *world, int64_t stop_at_ms)
{
	for (unsigned i = 0; i < ROUNDS_MAX; i++) {
		struct docker_step step;

		let_run(world);
		if (stop_at_ms && world->now_ms >= BEGIN_MS + stop_at_ms)
			docker_stop(&world->state, RUNTIME_STOP_REQUESTED, SPAN("enough"));
		docker_observe(&world->state, world->facts, world->now_ms);
		step = docker_next(&world->state, world->facts, world->now_ms);
		if (step.action != DOCKER_WAIT)
			do_step(world, &step);
		if (world->crashes)
			forget(world);
		if (step.action == DOCKER_OVER)
			return;
		if (step.action == DOCKER_WAIT) {
			if (world->now_ms > BEGIN_MS + 1000 * 1000)
				return;
			/* Advances in steps that are fine enough for the rows. */
			world->now_ms += 100;
			if (step.at_ms == INT64_MAX && i > ROUNDS_MAX - 10)
				return;
		}
	}
}

static void open_world(struct world *world, const char *spec_text,
	const struct behaviour *behaviours, unsigned crashes)
{
	struct err err = {.message = ""};
	struct json *spec;
	struct plan *plan = NULL;

	*world = (struct world){.arena = arena_new(0),
		.behaviours = behaviours,
		.now_ms = BEGIN_MS,
		.crashes = crashes};
	if (json_parse(span_of(spec_text), world->arena, &spec, &err) < 0 ||
		plan_parse_spec(spec, PLAN_IMAGE_ANY, world->arena, &plan, &err) < 0)
		fail_msg("%s", err.message);
	for (size_t i = 0; i < plan->container_count; i++)
		plan->containers[i].name = span_of(arena_copy(world->arena,
			plan->containers[i].name.data, plan->containers[i].name.length));
	docker_state_init(&world->state, plan, arena_new(0));
	for (size_t i = 0; i < DOCKER_FACTS_MAX; i++)
		world->facts[i].status = DOCKER_ABSENT;
}

static void close_world(struct world *world)
{
	buffer_clear(&world->trace);
	arena_free(world->state.arena);
	arena_free(world->arena);
}

#define SPEC(network, containers)                                                                  \
	"{\"version\":1,\"networkMode\":\"" network "\",\"containers\":[" containers "]}"
#define C(name, more) "{\"name\":\"" name "\",\"image\":\"i\",\"stopTimeout\":2" more "}"
#define SIDE ",\"essential\":false"
#define AFTER(name, condition)                                                                     \
	",\"dependsOn\":[{\"containerName\":\"" name "\",\"condition\":\"" condition "\"}]"
#define CHECKED ",\"healthCheck\":{\"command\":[\"CMD\",\"x\"],\"interval\":5}"

static const struct {
	const char *what;
	const char *spec;
	const struct behaviour behaviours[4];
	int64_t stop_at_ms;
	const char *trace;
	enum runtime_stop stop;
	const char *reason;
} rows[] = {
	{"a program that ends", SPEC("bridge", C("a", "")), {{"a", 500, 3, 0, 0, 0}}, 0,
		"prepare start:a over", RUNTIME_STOP_ESSENTIAL,
		"Essential container in task exited"},
	{"a task that is stopped", SPEC("bridge", C("a", "")), {{0}}, 500,
		"prepare start:a signal:a over", RUNTIME_STOP_REQUESTED, "enough"},
	{"one that does not mind", SPEC("bridge", C("a", "")), {{"a", 0, 0, 0, true, 0}}, 500,
		"prepare start:a signal:a kill:a over", RUNTIME_STOP_REQUESTED, "enough"},
	{"stopped before it began", SPEC("bridge", C("a", "")), {{0}}, -1, "over",
		RUNTIME_STOP_REQUESTED, "enough"},
	{"an essential end takes the others along", SPEC("bridge", C("a", "") "," C("b", "")),
		{{"a", 500, 1, 0, 0, 0}}, 0, "prepare start:a start:b signal:b over",
		RUNTIME_STOP_ESSENTIAL, "Essential container in task exited"},
	{"others go on when a side ends", SPEC("bridge", C("a", "") "," C("b", SIDE)),
		{{"b", 500, 1, 0, 0, 0}}, 2000, "prepare start:a start:b signal:a over",
		RUNTIME_STOP_REQUESTED, "enough"},
	{"a start after another", SPEC("bridge", C("a", AFTER("b", "START")) "," C("b", "")), {{0}},
		500, "prepare start:b start:a signal:a signal:b over", RUNTIME_STOP_REQUESTED,
		"enough"},
	{"a success", SPEC("bridge", C("a", AFTER("b", "SUCCESS")) "," C("b", SIDE)),
		{{"b", 500, 0, 0, 0, 0}}, 2000, "prepare start:b start:a signal:a over",
		RUNTIME_STOP_REQUESTED, "enough"},
	{"a success that was none", SPEC("bridge", C("a", AFTER("b", "SUCCESS")) "," C("b", SIDE)),
		{{"b", 500, 2, 0, 0, 0}}, 0, "prepare start:b over", RUNTIME_STOP_FAILED_TO_START,
		"DependencyError: container 'b' did not succeed"},
	{"a completion", SPEC("bridge", C("a", AFTER("b", "COMPLETE")) "," C("b", SIDE)),
		{{"b", 500, 2, 0, 0, 0}}, 2000, "prepare start:b start:a signal:a over",
		RUNTIME_STOP_REQUESTED, "enough"},
	{"health", SPEC("bridge", C("a", AFTER("b", "HEALTHY")) "," C("b", CHECKED)),
		{{"b", 0, 0, 700, 0, 0}}, 2000, "prepare start:b start:a signal:a signal:b over",
		RUNTIME_STOP_REQUESTED, "enough"},
	{"health check that times out",
		SPEC("bridge",
			C("a", AFTER("b", "HEALTHY")) "," C("b", CHECKED ",\"startTimeout\":1")),
		{{"b", 0, 0, 5000, 0, 0}}, 0, "prepare start:b signal:b over",
		RUNTIME_STOP_FAILED_TO_START,
		"DependencyError: container 'b' did not become healthy within its start timeout"},
	{"a network of its own", SPEC("awsvpc", C("a", "")), {{"a", 500, 0, 0, 0, 0}}, 0,
		"prepare start:network start:a kill:network over", RUNTIME_STOP_ESSENTIAL,
		"Essential container in task exited"},
	{"one that runs long enough is started again",
		SPEC("bridge", C("a", "") "," C("b", SIDE ",\"restartPolicy\":{\"enabled\":true,"
							  "\"restartAttemptPeriod\":1}")),
		{{"b", 1500, 7, 0, 0, 0}}, 4000,
		"prepare start:a start:b start:b start:b signal:a signal:b over",
		RUNTIME_STOP_REQUESTED, "enough"},
	{"one that ends too soon is not",
		SPEC("bridge", C("a", "") "," C("b", SIDE ",\"restartPolicy\":{\"enabled\":true,"
							  "\"restartAttemptPeriod\":2}")),
		{{"b", 1500, 7, 0, 0, 0}}, 4000, "prepare start:a start:b signal:a over",
		RUNTIME_STOP_REQUESTED, "enough"},
	{"nor one whose code is ignored",
		SPEC("bridge",
			C("a", "") "," C("b", SIDE
				",\"restartPolicy\":{\"enabled\":true,\"restartAttemptPeriod\":1,"
				"\"ignoredExitCodes\":[7]}")),
		{{"b", 1500, 7, 0, 0, 0}}, 4000, "prepare start:a start:b signal:a over",
		RUNTIME_STOP_REQUESTED, "enough"},
	{"what others depend on goes after them",
		SPEC("bridge",
			C("a", "") "," C("b", AFTER("a", "START")) "," C("c", AFTER("b", "START"))),
		{{"a", 500, 0, 0, 0, 0}}, 0,
		"prepare start:a start:b start:c signal:c signal:b over", RUNTIME_STOP_ESSENTIAL,
		"Essential container in task exited"},
};

static void play_row(size_t index, unsigned crashes)
{
	struct world world;
	struct runtime_task *record;

	open_world(&world, rows[index].spec, rows[index].behaviours, crashes);
	play(&world, rows[index].stop_at_ms);
	record = world.state.record;
	if (strcmp(buffer_span(&world.trace).data, rows[index].trace) != 0 ||
		record->phase != RUNTIME_STOPPED || record->stop != rows[index].stop ||
		!span_is(record->reason, rows[index].reason))
		fail_msg("%s%s:\n  did      %s\n  expected %s\n  stop %d, phase %d: %.*s",
			rows[index].what, crashes ? ", with crashes" : "",
			buffer_span(&world.trace).data, rows[index].trace, record->stop,
			record->phase, SPAN_ARGS(record->reason));
	close_world(&world);
}

static void test_steps(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++)
		play_row(i, 0);
}

/* The steps are the same when slipway is killed after each. */
static void test_steps_of_one_that_forgets(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++)
		play_row(i, 1);
}

static void test_a_signal_that_is_lost_is_sent_again(void **state)
{
	struct world world;
	struct docker_step step;

	(void)state;
	open_world(&world, SPEC("bridge", C("a", "")), NULL, 0);
	play(&world, 0);
	docker_stop(&world.state, RUNTIME_STOP_REQUESTED, SPAN("enough"));
	step = docker_next(&world.state, world.facts, world.now_ms);
	assert_int_equal(step.action, DOCKER_SIGNAL);
	docker_signal_lost(&world.state, step.container);
	step = docker_next(&world.state, world.facts, world.now_ms);
	assert_int_equal(step.action, DOCKER_SIGNAL);
	step = docker_next(&world.state, world.facts, world.now_ms);
	assert_int_equal(step.action, DOCKER_WAIT);
	close_world(&world);
}

static void test_reports(void **state)
{
	static const struct behaviour hungry[] = {{"a", 500, 137, 0, 0, true}, {0}};
	struct world world;
	struct runtime_container *container;

	(void)state;
	open_world(&world, SPEC("awsvpc", C("a", "")), hungry, 0);
	play(&world, 0);
	container = &world.state.record->containers[0];
	assert_true(span_is(world.state.record->address, "10.0.0.9"));
	assert_true(span_is(container->runtime_id, "id-0"));
	assert_true(span_is(container->reason,
		"OutOfMemoryError: Container killed due to memory usage"));
	assert_true(container->has_exit_code);
	assert_int_equal(container->exit_code, 137);
	assert_int_equal(container->started_ms, BEGIN_MS);
	assert_int_equal(container->stopped_ms, BEGIN_MS + 500);
	close_world(&world);
}

static void test_a_container_that_a_client_removes(void **state)
{
	struct world world;
	struct docker_step step;

	(void)state;
	open_world(&world, SPEC("bridge", C("a", "")), NULL, 0);
	world.state.begun = true;
	docker_observe(&world.state, world.facts, BEGIN_MS);
	step = docker_next(&world.state, world.facts, BEGIN_MS);
	assert_int_equal(step.action, DOCKER_OVER);
	assert_int_equal(world.state.record->phase, RUNTIME_STOPPED);
	assert_false(world.state.record->containers[0].has_exit_code);
	close_world(&world);
}

static void test_what_cannot_be_started(void **state)
{
	struct world world;

	(void)state;
	open_world(&world, SPEC("bridge", C("a", "") "," C("b", SIDE)), NULL, 0);
	docker_fail(&world.state, 1, "CannotPullContainerError", "no", BEGIN_MS);
	assert_int_equal(world.state.record->phase, RUNTIME_PENDING); /* it is not essential */
	docker_fail(&world.state, 0, "CannotPullContainerError", "no", BEGIN_MS);
	assert_int_equal(world.state.record->phase, RUNTIME_STOPPING);
	assert_int_equal(world.state.record->stop, RUNTIME_STOP_FAILED_TO_START);
	assert_true(span_is(world.state.record->reason, "CannotPullContainerError: no"));
	close_world(&world);
}

static void test_states_that_are_none(void **state)
{
	static const char *const texts[] = {"", "{}", "[]", "{\"version\":2}",
		"{\"version\":1,\"record\":{}}", "{\"version\":1,\"begun\":true}"};
	struct world world;
	struct docker_state read;

	(void)state;
	open_world(&world, SPEC("bridge", C("a", "")), NULL, 0);
	for (size_t i = 0; i < LENGTH(texts); i++)
		assert_int_equal(docker_state_read(&read, world.state.plan, span_of(texts[i]),
					 world.arena, NULL),
			-EINVAL);
	close_world(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_steps_of_one_that_forgets),
		cmocka_unit_test(test_a_signal_that_is_lost_is_sent_again),
		cmocka_unit_test(test_reports),
		cmocka_unit_test(test_a_container_that_a_client_removes),
		cmocka_unit_test(test_what_cannot_be_started),
		cmocka_unit_test(test_states_that_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
