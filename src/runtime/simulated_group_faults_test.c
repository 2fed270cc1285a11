/*
 * Groups of the simulated world with all faults, on virtual time: a small server that wants some
 * groups, changes them, crashes now and then, and remembers only what it stored. Even with lost,
 * late and repeated messages and deletions by others, without further faults exactly the desired
 * groups exist.
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
#define GROUPS 4
#define DAEMON 3 /* the group that is one */
#define INSTANCES 3
#define DESIRED_MAX 4
#define WILD_US INT64_C(600000000)
#define CRASH_WITHIN_US INT64_C(120000000)
#define CHANGE_WITHIN_US INT64_C(60000000)
#define CALM_US INT64_C(1800000000)
#define RECHECK_US INT64_C(20000000)

/* The desired state; survives crashes. */
struct wanted {
	bool is_wanted;
	unsigned version;
	int64_t desired;
};

struct server {
	struct runner *root, *runner;
	struct runner_event *event;
	struct simulated_world *world;
	struct runtime *runtime;
	struct json *spec;
	struct wanted wanted[GROUPS];
	struct map programs; /* tokens of those that run */
	unsigned broken;
	char rule[256];
};

static void changed(void *context, struct span id)
{
	(void)id;
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

	if (map_put(&server->programs, program->token, server))
		rule_broken(server, "a token runs twice");
	if (!program->group.length || !program->version.length)
		rule_broken(server, "a program is of no group");
}

static void program_ended(void *context, const struct simulated_program *program,
	enum runtime_stop stop)
{
	struct server *server = context;

	assert_non_null(map_remove(&server->programs, program->token));
	assert_int_not_equal(stop, RUNTIME_STOP_NONE);
}

/* ---- the server ---- */

static int tend_tasks(struct server *server, struct arena *arena)
{
	const struct runtime_operations *operations = server->runtime->operations;
	struct span *tokens;
	size_t count;
	int code = operations->list_tasks(server->runtime, arena, &tokens, &count, NULL);

	for (size_t i = 0; code == 0 && i < count; i++) {
		struct runtime_task *task;

		code = operations->get(server->runtime, tokens[i], arena, &task, NULL);
		if (code == 0 && task->phase == RUNTIME_STOPPED)
			code = operations->acknowledge(server->runtime, tokens[i], NULL);
		else if (code == 0 && task->phase == RUNTIME_RUNNING)
			code = operations->groups->open_gate(server->runtime, tokens[i], NULL);
		if (code == -ENOENT)
			code = 0;
	}
	return code;
}

static struct span name_of(unsigned index, struct arena *arena)
{
	return arena_format(arena, "group-%u", index);
}

static int apply(struct server *server, unsigned index, struct arena *arena)
{
	const struct wanted *wanted = &server->wanted[index];
	struct runtime_group group = {
		.id = name_of(index, arena),
		.version = arena_format(arena, "ecs-svc/%u", wanted->version),
		.daemon = index == DAEMON,
		.desired = wanted->desired,
		.minimum_healthy = 50,
		.maximum = 150,
		.spec = server->spec,
	};

	return server->runtime->operations->groups->apply(server->runtime, &group, NULL);
}

static int tend_group(struct server *server, unsigned index, struct arena *arena)
{
	const struct runtime_group_operations *groups = server->runtime->operations->groups;
	const struct wanted *wanted = &server->wanted[index];
	struct span name = name_of(index, arena);
	struct runtime_group_state *group;
	int code = groups->get(server->runtime, name, arena, &group, NULL);

	if (code == -ENOENT)
		return wanted->is_wanted ? apply(server, index, arena) : 0;
	if (code < 0 || group->ending)
		return code;
	if (!wanted->is_wanted)
		return groups->remove(server->runtime, name, NULL);
	if (span_equal(group->version, arena_format(arena, "ecs-svc/%u", wanted->version)) &&
		(index == DAEMON || group->desired == wanted->desired))
		return 0;
	return apply(server, index, arena);
}

static void serve(void *context)
{
	struct server *server = context;
	_arena_ struct arena *arena = arena_new(0);

	for (;;) {
		uint64_t seen = runner_event_count(server->event);

		arena_reset(arena);
		if (tend_tasks(server, arena) == -ECANCELED)
			return;
		for (unsigned i = 0; i < GROUPS; i++)
			if (tend_group(server, i, arena) == -ECANCELED)
				return;
		if (runner_wait(server->runner, server->event, seen,
			    runner_deadline_us(server->runner, RECHECK_US)) == -ECANCELED)
			return;
	}
}

static void server_begin(struct server *server)
{
	struct runtime_simulated_config config = {
		.changed = changed, .group_changed = changed, .context = server};
	struct err err;

	server->runner = runner_group_new(server->root, "server");
	server->event = runner_event_new(server->runner, "changed");
	config.runner = server->runner;
	assert_int_equal(runtime_simulated_open(server->world, &config, &server->runtime, &err), 0);
	assert_int_equal(runner_spawn(server->runner, "serve", serve, server, &err), 0);
}

static void server_end(struct server *server)
{
	runner_stop(server->runner);
	assert_int_equal(runner_join(server->runner, NULL), 0);
	server->runtime->operations->close(server->runtime);
	runner_event_free(server->event);
	runner_free(server->runner);
}

/* ---- changes and faults ---- */

static uint64_t draw(struct server *server, uint64_t below)
{
	return random_below(runner_random(server->root), below);
}

static void sleep_for(struct server *server, int64_t duration_us)
{
	assert_int_equal(runner_sleep_until(server->root,
				 runner_deadline_us(server->root, duration_us)),
		0);
}

static void change_mind(struct server *server)
{
	struct wanted *wanted = &server->wanted[draw(server, GROUPS)];

	switch (draw(server, 3)) {
	case 0: wanted->is_wanted = !wanted->is_wanted; break;
	case 1: wanted->version++; break;
	default: wanted->desired = (int64_t)draw(server, DESIRED_MAX + 1); break;
	}
	runner_signal(server->event);
}

static void be_wild(struct server *server)
{
	int64_t until_us = runner_deadline_us(server->root, WILD_US);

	while (runner_now_us(server->root) < until_us) {
		int64_t crash_us = runner_deadline_us(server->root,
			(int64_t)draw(server, (uint64_t)CRASH_WITHIN_US));

		server_begin(server);
		while (runner_now_us(server->root) < crash_us) {
			change_mind(server);
			sleep_for(server, (int64_t)draw(server, (uint64_t)CHANGE_WITHIN_US));
		}
		server_end(server);
	}
}

/* At the end, with the server running and without faults. */
static void check_all(struct server *server, uint64_t seed)
{
	const struct runtime_group_operations *groups = server->runtime->operations->groups;
	_arena_ struct arena *arena = arena_new(0);
	struct simulated_counts counts;
	int64_t tasks = 0;
	size_t there = 0;

	for (unsigned i = 0; i < GROUPS; i++) {
		const struct wanted *wanted = &server->wanted[i];
		struct runtime_group_state *group;
		int code = groups->get(server->runtime, name_of(i, arena), arena, &group, NULL);
		int64_t desired = i == DAEMON ? INSTANCES : wanted->desired;

		if ((code == 0) != wanted->is_wanted)
			fail_msg("seed %" PRIu64 ": group %u: %d", seed, i, code);
		if (code < 0)
			continue;
		there++;
		tasks += desired;
		if (!group->settled || group->ending || group->failed ||
			group->current != desired || group->ready != desired ||
			group->updated != desired || group->version_count != 1)
			fail_msg("seed %" PRIu64 ": group %u has %" PRId64 " tasks, %" PRId64
				 " of them ready and %" PRId64 " new, not %" PRId64,
				seed, i, group->current, group->ready, group->updated, desired);
		assert_true(group->event_count <= RUNTIME_EVENTS_MAX);
	}
	simulated_world_counts(server->world, &counts);
	if ((int64_t)counts.tasks != tasks || (int64_t)counts.programs != tasks ||
		(int64_t)server->programs.count != tasks || counts.groups != there)
		fail_msg("seed %" PRIu64 ": %zu tasks, %zu programs and %zu groups are there", seed,
			counts.tasks, counts.programs, counts.groups);
	if (server->broken)
		fail_msg("seed %" PRIu64 ": %s", seed, server->rule);
}

/* Returns the hash of the whole run. */
static uint64_t run_seed(uint64_t seed, struct simulated_counts *sum)
{
	static const char spec[] =
		"{\"version\":1,\"family\":\"web\",\"revision\":1,\"gated\":true,\"holdSeconds\":2,"
		"\"containers\":[{\"name\":\"a\",\"command\":[\"SIMULATED_START_MS=10-3000\","
		"\"SIMULATED_STOP_MS=10-5000\",\"SIMULATED_PLACE_MS=0-500\"]}]}";
	_arena_ struct arena *arena = arena_new(0);
	struct server server = {.root = runner_simulated_new(seed)};
	struct simulated_config config = {
		.instances = INSTANCES,
		.faults = &simulated_faults_rough,
		.observer = {program_started, program_ended, rule_broken, &server},
		.groups = true,
		.group_check = {0, 100},
	};
	struct simulated_counts counts;
	uint64_t hash;
	struct err err;

	assert_int_equal(json_parse(span_of(spec), arena, &server.spec, &err), 0);
	assert_int_equal(simulated_world_new(server.root, &config, &server.world, &err), 0);
	be_wild(&server);
	simulated_world_calm_down(server.world);
	server_begin(&server);
	sleep_for(&server, CALM_US);
	check_all(&server, seed);
	simulated_world_counts(server.world, &counts);
	sum->starts += counts.starts;
	sum->group_deletions += counts.group_deletions;
	sum->late_calls += counts.late_calls;
	for (unsigned i = 0; i < GROUPS; i++)
		server.wanted[i].is_wanted = false;
	runner_signal(server.event);
	sleep_for(&server, CALM_US);
	check_all(&server, seed);
	server_end(&server);
	hash = runner_simulated_hash(server.root);
	simulated_world_free(server.world);
	runner_stop(server.root);
	runner_join(server.root, NULL);
	runner_free(server.root);
	map_clear(&server.programs);
	return hash;
}

static void test_comes_to_what_is_wanted(void **state)
{
	struct simulated_counts sum = {0};

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		run_seed(seed, &sum);
	assert_true(sum.starts > (uint64_t)SEEDS * GROUPS * 3);
	assert_true(sum.group_deletions > SEEDS);
	assert_true(sum.late_calls > SEEDS);
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
		cmocka_unit_test(test_comes_to_what_is_wanted),
		cmocka_unit_test(test_same_seed_same_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
