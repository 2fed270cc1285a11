/*
 * Invariants of a rollout of a simulated group from version to version, on virtual time, with
 * random numbers from seeds: never more tasks than the maximum, never fewer ready ones than the
 * minimum, and in the end exactly the desired ones.
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

#define SEEDS 60
#define VERSIONS 5
#define INSTANCES_MAX 5
#define DESIRED_MAX 9
#define POLL_EVERY_US 1000
#define PATIENCE_US INT64_C(600000000)

struct roll {
	struct runner *runner;
	struct simulated_world *world;
	struct runtime *runtime;
	struct runtime_group desired;
	struct map open;  /* tokens whose gate is open */
	struct map gated; /* versions */
	struct arena *kept, *arena;
	int64_t least_ready, most;
	int64_t most_seen, least_seen;
	uint64_t seed;
};

static int64_t draw(struct roll *roll, int64_t least, int64_t most)
{
	return least +
	       (int64_t)random_below(runner_random(roll->runner), (uint64_t)(most - least) + 1);
}

/* ---- bounds, by hand ---- */

static void test_bounds(void **state)
{
	static const struct {
		int64_t desired, minimum_healthy, maximum, least_ready, most;
	} cases[] = {
		{0, 100, 200, 0, 0},
		{0, 100, 100, 0, 0},
		{1, 100, 200, 1, 2},
		{1, 50, 100, 1, 2}, /* neither leaves room: one more */
		{1, 0, 100, 0, 1},
		{4, 100, 200, 4, 8},
		{4, 50, 100, 2, 4},
		{4, 100, 100, 4, 5},
		{4, 100, 110, 4, 5},
		{3, 50, 150, 2, 4},
		{3, 34, 166, 2, 4},
		{10, 75, 125, 8, 12},
		{10, 200, 50, 10, 11},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		int64_t least_ready, most;

		simulated_group_bounds(cases[i].desired, cases[i].minimum_healthy, cases[i].maximum,
			&least_ready, &most);
		assert_int_equal(least_ready, cases[i].least_ready);
		assert_int_equal(most, cases[i].most);
	}
}

/* ---- a world with one group ---- */

static void begin(struct roll *roll, uint64_t seed)
{
	struct runtime_simulated_config runtime = {0};
	struct simulated_config config = {.groups = true, .group_check = {0, 3}};
	struct err err;

	*roll = (struct roll){.runner = runner_simulated_new(seed), .seed = seed};
	roll->kept = arena_new(0);
	roll->arena = arena_new(0);
	config.instances = (unsigned)draw(roll, 1, INSTANCES_MAX);
	runtime.runner = roll->runner;
	assert_int_equal(simulated_world_new(roll->runner, &config, &roll->world, &err), 0);
	assert_int_equal(runtime_simulated_open(roll->world, &runtime, &roll->runtime, &err), 0);
}

static uint64_t end(struct roll *roll)
{
	uint64_t hash = runner_simulated_hash(roll->runner);

	roll->runtime->operations->close(roll->runtime);
	simulated_world_free(roll->world);
	runner_stop(roll->runner);
	runner_join(roll->runner, NULL);
	runner_free(roll->runner);
	map_clear(&roll->open);
	map_clear(&roll->gated);
	arena_free(roll->kept);
	arena_free(roll->arena);
	return hash;
}

static void apply(struct roll *roll, unsigned version)
{
	struct arena *arena = roll->kept;
	bool gated = draw(roll, 0, 1);
	struct json *spec;
	struct err err;
	struct span text = arena_format(arena,
		"{\"version\":1,\"family\":\"web\",\"revision\":%u,\"networkMode\":\"awsvpc\","
		"\"gated\":%s,\"holdSeconds\":%d,\"containers\":[{\"name\":\"a\",%s\"command\":["
		"\"SIMULATED_START_MS=0-%d\",\"SIMULATED_HEALTH_MS=0-%d\","
		"\"SIMULATED_PLACE_MS=0-%d\",\"SIMULATED_STOP_MS=0-%d\"]}]}",
		version, gated ? "true" : "false", (int)draw(roll, 0, 2),
		draw(roll, 0, 1) ? "\"healthCheck\":{}," : "", (int)draw(roll, 0, 50),
		(int)draw(roll, 0, 50), (int)draw(roll, 0, 20), (int)draw(roll, 0, 50));

	assert_int_equal(json_parse(text, arena, &spec, &err), 0);
	roll->desired.id = SPAN("group");
	roll->desired.version = arena_format(arena, "ecs-svc/%u", version);
	roll->desired.spec = spec;
	if (gated)
		map_put(&roll->gated, roll->desired.version, roll);
	if (roll->runtime->operations->groups->apply(roll->runtime, &roll->desired, &err) < 0)
		fail_msg("%s", err.message);
}

/* ---- a consistent look at all tasks ---- */

struct counts {
	int64_t count, ready, updated; /* of tasks that were not requested to stop */
	int64_t on_one_instance;
};

static bool is_ready(struct roll *roll, const struct runtime_task *task)
{
	enum runtime_health health = task->containers[0].health;

	return task->phase == RUNTIME_RUNNING &&
	       (health == RUNTIME_HEALTH_NONE || health == RUNTIME_HEALTHY) &&
	       (map_has(&roll->open, task->token) || !map_has(&roll->gated, task->version));
}

static struct counts pass(struct roll *roll)
{
	const struct runtime_operations *operations = roll->runtime->operations;
	struct counts counts = {0};
	struct map instances = {0};
	struct span *tokens;
	size_t count;

	arena_reset(roll->arena);
	assert_int_equal(operations->list_tasks(roll->runtime, roll->arena, &tokens, &count, NULL),
		0);
	for (size_t i = 0; i < count; i++) {
		struct runtime_task *task;

		assert_int_equal(operations->get(roll->runtime, tokens[i], roll->arena, &task,
					 NULL),
			0);
		if (task->phase == RUNTIME_STOPPED)
			operations->acknowledge(roll->runtime, task->token, NULL);
		if (task->phase < RUNTIME_STOPPED && map_put(&instances, task->instance, roll))
			counts.on_one_instance++;
		if (task->phase >= RUNTIME_STOPPING)
			continue;
		counts.count++;
		counts.ready += is_ready(roll, task);
		counts.updated += span_equal(task->version, roll->desired.version);
	}
	map_clear(&instances);
	return counts;
}

/* Opens the gates of some. */
static void open_gates(struct roll *roll)
{
	const struct runtime_operations *operations = roll->runtime->operations;
	struct span *tokens;
	size_t count;

	assert_int_equal(operations->list_tasks(roll->runtime, roll->arena, &tokens, &count, NULL),
		0);
	for (size_t i = 0; i < count; i++) {
		if (map_has(&roll->open, tokens[i]) || draw(roll, 0, 9) > 0)
			continue;
		assert_int_equal(operations->groups->open_gate(roll->runtime, tokens[i], NULL), 0);
		map_put(&roll->open, tokens[i], roll);
	}
}

static bool is_done(struct roll *roll, const struct counts *counts, int64_t desired)
{
	struct runtime_group_state *group;

	assert_int_equal(roll->runtime->operations->groups->get(roll->runtime, roll->desired.id,
				 roll->arena, &group, NULL),
		0);
	return group->settled && counts->count == desired && counts->updated == desired &&
	       counts->ready == desired && group->current == desired && group->ready == desired &&
	       group->updated == desired && group->version_count == 1;
}

/* Until the desired state is reached; `strictly`: the bounds hold all the time. */
static void run_until_done(struct roll *roll, int64_t desired, bool strictly)
{
	int64_t until_us = runner_deadline_us(roll->runner, PATIENCE_US);

	for (;;) {
		struct counts counts = pass(roll);

		if (strictly && (counts.count > roll->most || counts.ready < roll->least_ready))
			fail_msg("seed %" PRIu64 ": %" PRId64 " tasks, %" PRId64
				 " of them ready, not %" PRId64 " to %" PRId64,
				roll->seed, counts.count, counts.ready, roll->least_ready,
				roll->most);
		if (roll->most_seen < counts.count)
			roll->most_seen = counts.count;
		if (roll->least_seen > counts.ready)
			roll->least_seen = counts.ready;
		if (is_done(roll, &counts, desired))
			return;
		open_gates(roll);
		if (runner_now_us(roll->runner) > until_us)
			fail_msg("seed %" PRIu64 ": never done", roll->seed);
		assert_int_equal(runner_sleep_until(roll->runner,
					 runner_deadline_us(roll->runner, POLL_EVERY_US)),
			0);
	}
}

/* ---- properties ---- */

static uint64_t run_replicas(uint64_t seed, unsigned *used_surge, unsigned *used_minimum)
{
	struct roll roll;

	begin(&roll, seed);
	roll.desired.desired = draw(&roll, 0, DESIRED_MAX);
	roll.desired.minimum_healthy = draw(&roll, 0, 4) * 25;
	roll.desired.maximum = 100 + draw(&roll, 0, 4) * 25;
	simulated_group_bounds(roll.desired.desired, roll.desired.minimum_healthy,
		roll.desired.maximum, &roll.least_ready, &roll.most);
	apply(&roll, 0);
	run_until_done(&roll, roll.desired.desired, false);
	for (unsigned version = 1; version <= VERSIONS; version++) {
		roll.most_seen = 0;
		roll.least_seen = INT64_MAX;
		apply(&roll, version);
		/* Sometimes before the last one was rolled out. */
		if (draw(&roll, 0, 2) > 0)
			run_until_done(&roll, roll.desired.desired, true);
		*used_surge += roll.most_seen == roll.most && roll.most > roll.desired.desired;
		*used_minimum += roll.least_seen == roll.least_ready &&
				 roll.least_ready < roll.desired.desired;
	}
	run_until_done(&roll, roll.desired.desired, true);
	return end(&roll);
}

static void test_rolls_within_bounds(void **state)
{
	unsigned used_surge = 0, used_minimum = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		run_replicas(seed, &used_surge, &used_minimum);
	/* It is as fast as it may be, too. */
	assert_true(used_surge > SEEDS / 2);
	assert_true(used_minimum > SEEDS / 2);
}

/* Scaling during a rollout: the upper bound of the larger number holds, and the rollout
 * completes. */
static void test_scales_while_rolling(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct roll roll;

		begin(&roll, seed);
		roll.desired.minimum_healthy = draw(&roll, 0, 4) * 25;
		roll.desired.maximum = 100 + draw(&roll, 0, 4) * 25;
		for (unsigned version = 0; version <= VERSIONS; version++) {
			int64_t least_ready;

			roll.desired.desired = draw(&roll, 0, DESIRED_MAX);
			apply(&roll, version);
			for (int64_t rounds = draw(&roll, 0, 100); rounds > 0; rounds--) {
				pass(&roll);
				open_gates(&roll);
				runner_sleep_until(roll.runner,
					runner_deadline_us(roll.runner, POLL_EVERY_US));
			}
			if (draw(&roll, 0, 1))
				continue;
			roll.desired.desired = draw(&roll, 0, DESIRED_MAX);
			assert_int_equal(roll.runtime->operations->groups->apply(roll.runtime,
						 &roll.desired, NULL),
				0);
			simulated_group_bounds(DESIRED_MAX, roll.desired.minimum_healthy,
				roll.desired.maximum, &least_ready, &roll.most);
			roll.least_ready = 0;
			run_until_done(&roll, roll.desired.desired, true);
		}
		run_until_done(&roll, roll.desired.desired, false);
		end(&roll);
	}
}

static void test_daemons_within_bounds(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct runtime_instance *instances;
		struct roll roll;
		size_t count;

		begin(&roll, seed);
		roll.desired.daemon = true;
		roll.desired.minimum_healthy = draw(&roll, 0, 4) * 25;
		roll.desired.maximum = 100;
		assert_int_equal(roll.runtime->operations->list_instances(roll.runtime, roll.kept,
					 &instances, &count, NULL),
			0);
		apply(&roll, 0);
		run_until_done(&roll, (int64_t)count, false);
		roll.most = (int64_t)count;
		roll.least_ready = (roll.most * roll.desired.minimum_healthy + 99) / 100;
		if (roll.least_ready == roll.most)
			roll.least_ready--;
		for (unsigned version = 1; version <= VERSIONS; version++) {
			apply(&roll, version);
			run_until_done(&roll, roll.most, true);
			assert_int_equal(pass(&roll).on_one_instance, 0);
		}
		end(&roll);
	}
}

static void test_same_seed_same_run(void **state)
{
	unsigned used = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++)
		assert_true(run_replicas(seed, &used, &used) == run_replicas(seed, &used, &used));
	assert_true(run_replicas(1, &used, &used) != run_replicas(2, &used, &used));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_rolls_within_bounds),
		cmocka_unit_test(test_scales_while_rolling),
		cmocka_unit_test(test_daemons_within_bounds),
		cmocka_unit_test(test_same_seed_same_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
