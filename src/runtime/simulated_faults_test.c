/*
 * The simulated world with all faults, on virtual time: a small server that wants some tasks to run
 * and end, crashes now and then, and remembers only what it stored. Even with lost, late and
 * repeated messages no token runs twice, and without further faults all tasks reach their end.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/map.h"
#include "base/memory.h"
#include "control/runner_simulated.h"
#include "runtime/simulated/simulated.h"

#define SEEDS 300
#define SLOTS 5
#define ATTEMPTS 6
#define INSTANCES 3
#define WILD_US INT64_C(600000000)
#define CRASH_WITHIN_US INT64_C(120000000)
#define CALM_US INT64_C(3600000000)
#define RECHECK_US INT64_C(30000000)

/* The server's stored state of one slot; survives its crashes. */
struct slot {
	struct server *server;
	unsigned index, attempt;
	bool ends; /* it has seen the end of this attempt: from here on it only acknowledges */
	unsigned seen_ends;
};

struct server {
	struct runner *root, *runner;
	struct runner_event *event;
	struct simulated_world *world;
	struct runtime *runtime;
	struct json *spec;
	struct slot slots[SLOTS];
	struct map runs; /* by token; was there ever a program of it */
	unsigned running, broken;
	char rule[256];
};

static void changed(void *context, struct span token)
{
	(void)token;
	runner_signal(((struct server *)context)->event);
}

static void rule_broken(void *context, const char *rule)
{
	struct server *server = context;

	server->broken++;
	snprintf(server->rule, sizeof(server->rule), "%s", rule);
}

static void program_started(void *context, const struct simulated_program *program)
{
	struct server *server = context;

	server->running++;
	if (map_put(&server->runs, program->token, server))
		rule_broken(server, "a token runs twice");
}

static void program_ended(void *context, const struct simulated_program *program,
	enum runtime_stop stop)
{
	struct server *server = context;

	server->running--;
	assert_true(map_has(&server->runs, program->token));
	assert_int_not_equal(stop, RUNTIME_STOP_NONE);
}

/* One step for a slot: 0 when something was done, else why not. */
static int step(struct slot *slot, struct span token, struct arena *arena)
{
	struct server *server = slot->server;
	struct runtime *runtime = server->runtime;
	const struct runtime_operations *operations = runtime->operations;
	unsigned instance = (slot->index + slot->attempt) % INSTANCES + 1;
	struct runtime_task *task;
	int code;

	if (slot->ends) {
		code = operations->acknowledge(runtime, token, NULL);
		if (code < 0 && code != -ENOENT)
			return code;
		slot->ends = false;
		slot->attempt++;
		return 0;
	}
	code = operations->get(runtime, token, arena, &task, NULL);
	if (code == -ENOENT)
		return operations->start(runtime, token,
			instance == 1 ? SPAN("simulated")
				      : arena_format(arena, "simulated-%u", instance),
			server->spec, NULL);
	if (code < 0)
		return code;
	if (task->phase == RUNTIME_STOPPED) {
		slot->seen_ends++;
		slot->ends = true;
		return 0;
	}
	if (task->phase == RUNTIME_RUNNING && slot->attempt % 2)
		return operations->stop(runtime, token, SPAN("enough"), NULL);
	return -EAGAIN;
}

static void keep_slot(void *context)
{
	struct slot *slot = context;
	struct server *server = slot->server;
	struct runner *runner = server->runner;
	_arena_ struct arena *arena = arena_new(0);

	while (slot->attempt < ATTEMPTS) {
		uint64_t seen = runner_event_count(server->event);
		char token[32];
		int code;

		snprintf(token, sizeof(token), "slot-%u-%u", slot->index, slot->attempt);
		arena_reset(arena);
		code = step(slot, span_of(token), arena);
		if (code == 0)
			continue;
		if (code == -ECANCELED ||
			runner_wait(runner, server->event, seen,
				runner_deadline_us(runner, RECHECK_US)) == -ECANCELED)
			return;
	}
}

static void server_begin(struct server *server)
{
	struct runtime_simulated_config config = {.changed = changed, .context = server};
	struct err err;

	server->runner = runner_group_new(server->root, "server");
	server->event = runner_event_new(server->runner, "changed");
	config.runner = server->runner;
	assert_int_equal(runtime_simulated_open(server->world, &config, &server->runtime, &err), 0);
	for (unsigned i = 0; i < SLOTS; i++)
		assert_int_equal(runner_spawn(server->runner, "slot", keep_slot, &server->slots[i],
					 &err),
			0);
}

static void server_end(struct server *server)
{
	runner_stop(server->runner);
	assert_int_equal(runner_join(server->runner, NULL), 0);
	server->runtime->operations->close(server->runtime);
	runner_event_free(server->event);
	runner_free(server->runner);
}

static void sleep_for(struct runner *runner, int64_t duration_us)
{
	assert_int_equal(runner_sleep_until(runner, runner_deadline_us(runner, duration_us)), 0);
}

static void add_counts(struct simulated_counts *sum, const struct simulated_counts *counts)
{
	sum->starts += counts->starts;
	sum->failed_calls += counts->failed_calls;
	sum->lost_answers += counts->lost_answers;
	sum->late_calls += counts->late_calls;
	sum->repeated_calls += counts->repeated_calls;
	sum->failed_reads += counts->failed_reads;
	sum->lost_notices += counts->lost_notices;
	sum->repeated_notices += counts->repeated_notices;
	sum->slow_starts += counts->slow_starts;
	sum->task_deaths += counts->task_deaths;
	sum->instance_deaths += counts->instance_deaths;
}

/* Returns the hash of the whole run. */
static uint64_t run_seed(uint64_t seed, struct simulated_counts *sum)
{
	static const char spec[] =
		"{\"version\":1,\"family\":\"web\",\"revision\":1,\"containers\":[{\"name\":\"a\","
		"\"environment\":[{\"name\":\"SIMULATED_START_MS\",\"value\":\"10-3000\"},"
		"{\"name\":\"SIMULATED_RUN_MS\",\"value\":\"1000-60000\"},"
		"{\"name\":\"SIMULATED_STOP_MS\",\"value\":\"10-5000\"}]}]}";
	_arena_ struct arena *arena = arena_new(0);
	struct server server = {.root = runner_simulated_new(seed)};
	struct simulated_config config = {
		.instances = INSTANCES,
		.faults = &simulated_faults_rough,
		.observer = {program_started, program_ended, rule_broken, &server},
	};
	struct simulated_counts counts;
	int64_t wild_until_us;
	uint64_t hash;
	struct err err;

	assert_int_equal(json_parse(span_of(spec), arena, &server.spec, &err), 0);
	assert_int_equal(simulated_world_new(server.root, &config, &server.world, &err), 0);
	for (unsigned i = 0; i < SLOTS; i++)
		server.slots[i] = (struct slot){.server = &server, .index = i};
	wild_until_us = runner_deadline_us(server.root, WILD_US);
	while (runner_now_us(server.root) < wild_until_us) {
		server_begin(&server);
		sleep_for(server.root, (int64_t)random_below(runner_random(server.root),
					       (uint64_t)CRASH_WITHIN_US));
		server_end(&server);
	}
	simulated_world_calm_down(server.world);
	server_begin(&server);
	sleep_for(server.root, CALM_US);
	server_end(&server);
	simulated_world_counts(server.world, &counts);
	add_counts(sum, &counts);
	if (server.broken)
		fail_msg("seed %" PRIu64 ": %s", seed, server.rule);
	for (unsigned i = 0; i < SLOTS; i++)
		if (server.slots[i].attempt != ATTEMPTS || server.slots[i].seen_ends != ATTEMPTS)
			fail_msg("seed %" PRIu64 ": slot %u is at attempt %u and saw %u ends", seed,
				i, server.slots[i].attempt, server.slots[i].seen_ends);
	if (counts.tasks || counts.programs || server.running || counts.starts != counts.ends)
		fail_msg("seed %" PRIu64 ": %zu tasks and %zu programs are left", seed,
			counts.tasks, counts.programs);
	hash = runner_simulated_hash(server.root);
	simulated_world_free(server.world);
	runner_stop(server.root);
	runner_join(server.root, NULL);
	runner_free(server.root);
	map_clear(&server.runs);
	return hash;
}

static void test_comes_to_an_end(void **state)
{
	struct simulated_counts sum = {0};

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		run_seed(seed, &sum);
	/* Every fault happened, many times. */
	assert_true(sum.starts > SEEDS * SLOTS * 3);
	assert_true(sum.failed_calls > SEEDS);
	assert_true(sum.lost_answers > SEEDS);
	assert_true(sum.late_calls > SEEDS);
	assert_true(sum.repeated_calls > SEEDS);
	assert_true(sum.failed_reads > SEEDS);
	assert_true(sum.lost_notices > SEEDS);
	assert_true(sum.repeated_notices > SEEDS);
	assert_true(sum.slow_starts > SEEDS);
	assert_true(sum.task_deaths > SEEDS);
	assert_true(sum.instance_deaths > SEEDS);
}

static void test_same_seed_same_run(void **state)
{
	struct simulated_counts sum = {0};

	(void)state;
	for (uint64_t seed = 1; seed <= 5; seed++)
		assert_true(run_seed(seed, &sum) == run_seed(seed, &sum));
	assert_true(run_seed(1, &sum) != run_seed(2, &sum));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_comes_to_an_end),
		cmocka_unit_test(test_same_seed_same_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
