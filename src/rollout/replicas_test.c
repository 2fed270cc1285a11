/*
 * The planner of services: what it does in cases that have a name; that no part of a plan breaks a
 * bound, for every small state; and that it comes to an end, for random lives of tasks.
 */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/random.h"
#include "rollout/replicas.h"

#define GROUPS 2
#define OLD 0
#define TARGET 1
#define CELLS (ROLLOUT_CLASS_COUNT * ROLLOUT_PLACE_COUNT)
#define PLACES_TO_COUNT (GROUPS * (CELLS + 1)) /* and stopping */

static struct arena *arena;

static struct rollout_replica_plan plan_of(const struct rollout_replicas *replicas)
{
	struct rollout_replica_plan plan;

	arena_reset(arena);
	rollout_plan_replicas(replicas, arena, &plan);
	return plan;
}

/* ---- cases that have a name ---- */

/* "old: healthy 4, target: pending 1 moves 1" is written as counts by name. */
struct cell_value {
	unsigned group;
	enum rollout_class class;
	enum rollout_place place;
	unsigned count, protected;
};

#define VALUES_MAX 6

struct named_case {
	const char *name;
	unsigned desired, least_percent, most_percent;
	struct cell_value values[VALUES_MAX]; /* count 0: end */
	unsigned stopping;
	unsigned blocked_to; /* starts_allowed when blocker is not none */
	enum rollout_blocker blocker;
	/* The expected plan. */
	unsigned starts;
	struct cell_value stops[VALUES_MAX];
	enum rollout_blocked blocked;
	bool complete, steady;
};

#define P ROLLOUT_PENDING
#define S ROLLOUT_STARTING
#define H ROLLOUT_HEALTHY
#define U ROLLOUT_UNHEALTHY
#define STAY ROLLOUT_STAYS
#define MOVE ROLLOUT_MOVES

static const struct named_case named_cases[] = {
	{"nothing wanted, nothing there", 0, 100, 200, .complete = true, .steady = true},
	{"as wanted", 3, 100, 200, {{TARGET, H, STAY, 3, 0}}, .complete = true, .steady = true},
	{"as wanted, something is still stopping", 3, 100, 200, {{TARGET, H, STAY, 3, 0}},
		.stopping = 1, .blocked = ROLLOUT_WAITS, .complete = true},
	{"a new service", 3, 100, 200, .starts = 3},
	{"a new service is on its way", 3, 100, 200,
		{{TARGET, P, STAY, 2, 0}, {TARGET, S, STAY, 1, 0}}, .blocked = ROLLOUT_WAITS},
	{"desired 0 stops all", 0, 100, 200,
		{{TARGET, H, STAY, 2, 0}, {TARGET, P, STAY, 1, 0}, {OLD, H, STAY, 1, 0}},
		.stops = {{TARGET, H, STAY, 2, 0}, {TARGET, P, STAY, 1, 0}, {OLD, H, STAY, 1, 0}}},
	{"desired 0 but protected", 0, 100, 200, {{TARGET, H, STAY, 2, 2}},
		.blocked = ROLLOUT_BLOCKED_PROTECTED},
	{"scaling out", 5, 100, 200, {{TARGET, H, STAY, 3, 0}}, .starts = 2},
	{"scaling in takes what is worth least", 2, 100, 200,
		{{TARGET, H, STAY, 2, 0}, {TARGET, H, MOVE, 1, 0}, {TARGET, U, STAY, 1, 0},
			{TARGET, P, STAY, 1, 0}, {TARGET, S, STAY, 1, 0}},
		.stops = {{TARGET, H, MOVE, 1, 0}, {TARGET, U, STAY, 1, 0}, {TARGET, P, STAY, 1, 0},
			{TARGET, S, STAY, 1, 0}}},
	{"scaling in spares the protected", 1, 0, 200, {{TARGET, H, STAY, 3, 2}},
		.stops = {{TARGET, H, STAY, 1, 0}}},
	{"rolling: start first", 4, 100, 200, {{OLD, H, STAY, 4, 0}}, .starts = 4},
	{"rolling: start as many as there is room for", 4, 100, 150, {{OLD, H, STAY, 4, 0}},
		.starts = 2},
	{"rolling: old ones go as new ones are healthy", 4, 100, 200,
		{{OLD, H, STAY, 4, 0}, {TARGET, H, STAY, 1, 0}, {TARGET, S, STAY, 3, 0}},
		.stops = {{OLD, H, STAY, 1, 0}}},
	{"rolling: new ones that only run do not count", 4, 100, 200,
		{{OLD, H, STAY, 4, 0}, {TARGET, S, STAY, 4, 0}}, .blocked = ROLLOUT_WAITS},
	{"rolling: stop first", 4, 50, 100, {{OLD, H, STAY, 4, 0}},
		.stops = {{OLD, H, STAY, 2, 0}}},
	{"rolling: stopping ones still take room", 4, 50, 100, {{OLD, H, STAY, 2, 0}},
		.stopping = 2, .blocked = ROLLOUT_WAITS},
	{"rolling: start when they are gone", 4, 50, 100, {{OLD, H, STAY, 2, 0}}, .starts = 2},
	{"rolling: no room at all", 4, 100, 100, {{OLD, H, STAY, 4, 0}},
		.blocked = ROLLOUT_BLOCKED_NO_ROOM},
	{"rolling one task: 150 percent of it is one", 1, 100, 150, {{OLD, H, STAY, 1, 0}},
		.blocked = ROLLOUT_BLOCKED_NO_ROOM},
	{"rolling: room by stopping what is not healthy", 2, 100, 100,
		{{OLD, H, STAY, 1, 0}, {OLD, U, STAY, 1, 0}}, .stops = {{OLD, U, STAY, 1, 0}}},
	{"rolling: old pending and unhealthy go at once", 4, 100, 200,
		{{OLD, H, STAY, 2, 0}, {OLD, P, STAY, 1, 0}, {OLD, U, STAY, 1, 0}}, .starts = 4,
		.stops = {{OLD, P, STAY, 1, 0}, {OLD, U, STAY, 1, 0}}},
	{"rolling: old ones in their grace period stay until covered", 2, 100, 200,
		{{OLD, S, STAY, 2, 0}}, .starts = 2},
	{"rolling: but not when they are in the way", 2, 100, 100, {{OLD, S, STAY, 2, 0}},
		.stops = {{OLD, S, STAY, 2, 0}}},
	{"rolling: the new version crashes", 4, 50, 200, {{OLD, H, STAY, 4, 0}}, .blocked_to = 0,
		.blocker = ROLLOUT_BACKOFF, .blocked = ROLLOUT_BLOCKED_BACKOFF},
	{"rolling: one try at a time costs one", 4, 50, 100, {{OLD, H, STAY, 4, 0}},
		.blocked_to = 1, .blocker = ROLLOUT_BACKOFF, .stops = {{OLD, H, STAY, 1, 0}}},
	{"rolling: a stop for it is under way", 4, 0, 100, {{OLD, H, STAY, 3, 0}}, .stopping = 1,
		.blocked_to = 1, .blocker = ROLLOUT_BACKOFF, .blocked = ROLLOUT_WAITS},
	{"rolling: a stop of the same plan is enough for it", 4, 0, 100,
		{{OLD, H, STAY, 3, 0}, {OLD, U, STAY, 1, 0}}, .blocked_to = 1,
		.blocker = ROLLOUT_BACKOFF, .stops = {{OLD, U, STAY, 1, 0}}},
	{"rolling: the cluster is full, stop first", 4, 50, 200, {{OLD, H, STAY, 4, 0}},
		.blocked_to = 0, .blocker = ROLLOUT_RESOURCES, .stops = {{OLD, H, STAY, 2, 0}}},
	{"rolling: the cluster is full and all are needed", 4, 100, 200, {{OLD, H, STAY, 4, 0}},
		.blocked_to = 0, .blocker = ROLLOUT_RESOURCES,
		.blocked = ROLLOUT_BLOCKED_RESOURCES},
	{"rolling: no instance matches, stopping would not help", 4, 50, 200,
		{{OLD, H, STAY, 4, 0}}, .blocked_to = 0, .blocker = ROLLOUT_PLACEMENT,
		.blocked = ROLLOUT_BLOCKED_PLACEMENT},
	{"rolling: old ones are protected", 2, 100, 200,
		{{OLD, H, STAY, 2, 2}, {TARGET, H, STAY, 2, 0}},
		.blocked = ROLLOUT_BLOCKED_PROTECTED},
	{"rolling: breached from outside, no healthy one is stopped", 4, 50, 100,
		{{OLD, H, STAY, 2, 0}, {TARGET, P, STAY, 2, 0}}, .blocked = ROLLOUT_WAITS},
	{"unhealthy: start first", 2, 100, 200, {{TARGET, H, STAY, 1, 0}, {TARGET, U, STAY, 1, 0}},
		.starts = 1},
	{"unhealthy: wait for the replacement", 2, 100, 200,
		{{TARGET, H, STAY, 1, 0}, {TARGET, U, STAY, 1, 0}, {TARGET, S, STAY, 1, 0}},
		.blocked = ROLLOUT_WAITS},
	{"unhealthy: replaced", 2, 100, 200, {{TARGET, H, STAY, 2, 0}, {TARGET, U, STAY, 1, 0}},
		.stops = {{TARGET, U, STAY, 1, 0}}},
	{"unhealthy: recovered while a replacement was on its way", 2, 100, 200,
		{{TARGET, H, STAY, 2, 0}, {TARGET, S, STAY, 1, 0}},
		.stops = {{TARGET, S, STAY, 1, 0}}},
	{"unhealthy: no room, stop first", 2, 100, 100,
		{{TARGET, H, STAY, 1, 0}, {TARGET, U, STAY, 1, 0}},
		.stops = {{TARGET, U, STAY, 1, 0}}},
	{"unhealthy: kept while nothing can be started", 2, 100, 100,
		{{TARGET, H, STAY, 1, 0}, {TARGET, U, STAY, 1, 0}}, .blocked_to = 0,
		.blocker = ROLLOUT_BACKOFF, .blocked = ROLLOUT_BLOCKED_BACKOFF},
	{"draining: start first", 4, 100, 200, {{TARGET, H, STAY, 2, 0}, {TARGET, H, MOVE, 2, 0}},
		.starts = 2},
	{"draining: stop first", 4, 50, 100, {{TARGET, H, STAY, 2, 0}, {TARGET, H, MOVE, 2, 0}},
		.stops = {{TARGET, H, MOVE, 2, 0}}},
	{"draining: no room", 4, 100, 100, {{TARGET, H, STAY, 2, 0}, {TARGET, H, MOVE, 2, 0}},
		.blocked = ROLLOUT_BLOCKED_NO_ROOM},
	{"draining: what has not begun is moved at once", 1, 100, 100, {{TARGET, P, MOVE, 1, 0}},
		.stops = {{TARGET, P, MOVE, 1, 0}}},
	{"draining: replaced", 4, 100, 200, {{TARGET, H, STAY, 4, 0}, {TARGET, H, MOVE, 2, 0}},
		.stops = {{TARGET, H, MOVE, 2, 0}}},
};

static const struct cell_value *find_value(const struct cell_value *values, unsigned group,
	enum rollout_class class, enum rollout_place place)
{
	for (size_t i = 0; i < VALUES_MAX && values[i].count; i++)
		if (values[i].group == group && values[i].class == class &&
			values[i].place == place)
			return &values[i];
	return NULL;
}

static void test_named_cases(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(named_cases); i++) {
		const struct named_case *one = &named_cases[i];
		struct rollout_replica_group groups[GROUPS] = {0};
		struct rollout_replicas replicas = {
			.desired = one->desired,
			.minimum_healthy_percent = one->least_percent,
			.maximum_percent = one->most_percent,
			.groups = groups,
			.group_count = GROUPS,
			.target = TARGET,
			.starts_allowed = one->blocker ? one->blocked_to : UINT_MAX,
			.blocker = one->blocker,
		};
		struct rollout_replica_plan plan;
		unsigned starts = 0, stops = 0, expected = 0;

		for (size_t j = 0; j < VALUES_MAX && one->values[j].count; j++) {
			const struct cell_value *value = &one->values[j];

			groups[value->group].tasks[value->class][value->place] =
				(struct rollout_cell){value->count, value->protected};
		}
		groups[OLD].stopping = one->stopping;
		plan = plan_of(&replicas);
		for (size_t j = 0; j < plan.action_count; j++) {
			const struct rollout_replica_action *action = &plan.actions[j];
			const struct cell_value *value;

			if (action->type == ROLLOUT_START) {
				assert_int_equal(action->group, TARGET);
				starts += action->count;
				continue;
			}
			value = find_value(one->stops, (unsigned)action->group, action->class,
				action->place);
			if (!value || value->count != action->count)
				fail_msg("%s: stops %u %s of group %zu, place %u", one->name,
					action->count, rollout_class_name(action->class),
					action->group, action->place);
			stops++;
		}
		for (size_t j = 0; j < VALUES_MAX && one->stops[j].count; j++)
			expected++;
		if (starts != one->starts || stops != expected || plan.blocked != one->blocked ||
			plan.complete != one->complete || plan.steady != one->steady)
			fail_msg("%s: %u starts, %u stops, '%s', complete %d, steady %d", one->name,
				starts, stops, rollout_blocked_name(plan.blocked), plan.complete,
				plan.steady);
	}
}

/* ---- every small state ---- */

struct totals {
	unsigned live, healthy, in_motion, protected;
};

static struct totals totals_of(const struct rollout_replica_group *groups)
{
	struct totals totals = {0};

	for (unsigned i = 0; i < GROUPS; i++) {
		for (unsigned c = 0; c < ROLLOUT_CLASS_COUNT; c++)
			for (unsigned p = 0; p < ROLLOUT_PLACE_COUNT; p++) {
				const struct rollout_cell *cell = &groups[i].tasks[c][p];

				totals.live += cell->count;
				totals.protected += cell->protected;
				if (c == H)
					totals.healthy += cell->count;
				if (c == P || c == S)
					totals.in_motion += cell->count;
			}
		totals.live += groups[i].stopping;
		totals.in_motion += groups[i].stopping;
	}
	return totals;
}

static void fail_with_state(const struct rollout_replicas *replicas, const char *rule)
{
	_buffer_ struct buffer out = {0};

	buffer_format(&out, "%s: desired %u, %u-%u %%, starts allowed %u, blocker %d;", rule,
		replicas->desired, replicas->minimum_healthy_percent, replicas->maximum_percent,
		replicas->starts_allowed, replicas->blocker);
	for (unsigned i = 0; i < GROUPS; i++) {
		buffer_add_string(&out, i == replicas->target ? " target" : " old");
		for (unsigned c = 0; c < ROLLOUT_CLASS_COUNT; c++)
			for (unsigned p = 0; p < ROLLOUT_PLACE_COUNT; p++) {
				const struct rollout_cell *cell = &replicas->groups[i].tasks[c][p];

				if (cell->count)
					buffer_format(&out, " %s%s %u (%u)", rollout_class_name(c),
						p ? " moving" : "", cell->count, cell->protected);
			}
		buffer_format(&out, " stopping %u;", replicas->groups[i].stopping);
	}
	fail_msg("%s", out.data);
}

static void require(const struct rollout_replicas *replicas, bool holds, const char *rule)
{
	if (!holds)
		fail_with_state(replicas, rule);
}

/* Any subset of the actions, in any order: at its worst moment the subset has had its starts before its
 * stops for the upper bound, and its stops before its starts for the lower one. */
static void check_subset(const struct rollout_replicas *replicas,
	const struct rollout_replica_plan *plan, unsigned subset, const struct totals *before)
{
	unsigned starts = 0, healthy_stops = 0;

	for (size_t i = 0; i < plan->action_count; i++) {
		const struct rollout_replica_action *action = &plan->actions[i];

		if (!(subset & 1U << i))
			continue;
		if (action->type == ROLLOUT_START)
			starts += action->count;
		else if (action->class == H)
			healthy_stops += action->count;
	}
	require(replicas, !starts || before->live + starts <= plan->upper, "above the upper bound");
	require(replicas, !healthy_stops || before->healthy >= healthy_stops + plan->lower,
		"below the lower bound");
}

static void check_plan(const struct rollout_replicas *replicas,
	const struct rollout_replica_plan *plan)
{
	struct totals before = totals_of(replicas->groups);
	const struct rollout_replica_group *target = &replicas->groups[replicas->target];
	unsigned starts = 0;
	bool as_wanted = before.live == replicas->desired &&
			 target->tasks[H][STAY].count == replicas->desired;

	for (size_t i = 0; i < plan->action_count; i++) {
		const struct rollout_replica_action *action = &plan->actions[i];

		require(replicas, action->count > 0, "an action without count");
		if (action->type == ROLLOUT_START) {
			require(replicas, action->group == replicas->target,
				"a start that is not of the target");
			starts += action->count;
		} else {
			const struct rollout_cell *cell =
				&replicas->groups[action->group]
					 .tasks[action->class][action->place];

			require(replicas, action->count <= cell->count - cell->protected,
				"stops what is not there or is protected");
		}
		for (size_t j = 0; j < i; j++)
			require(replicas,
				action->type != plan->actions[j].type ||
					action->group != plan->actions[j].group ||
					action->class != plan->actions[j].class ||
					action->place != plan->actions[j].place,
				"two actions for one cell");
	}
	require(replicas, starts <= replicas->starts_allowed, "more starts than allowed");
	require(replicas, starts <= replicas->desired, "more starts than desired");
	require(replicas, plan->action_count <= 16, "more actions than this test looks at");
	for (unsigned subset = 1; subset < 1U << plan->action_count; subset++)
		check_subset(replicas, plan, subset, &before);

	require(replicas, plan->steady == as_wanted,
		"steady when not as wanted, or not when it is");
	require(replicas, !plan->steady || plan->complete, "steady and not complete");
	require(replicas, !plan->complete || plan->action_count == 0, "complete with actions");
	require(replicas,
		(plan->blocked != ROLLOUT_NOT_BLOCKED) ==
			(plan->action_count == 0 && !plan->steady),
		"blocked without need, or still without a reason");
	if (plan->action_count || plan->steady)
		return;
	/* Still: the reason must be true. */
	switch (plan->blocked) {
	case ROLLOUT_WAITS: require(replicas, before.in_motion > 0, "waits for nothing"); break;
	case ROLLOUT_BLOCKED_NO_ROOM:
		require(replicas,
			plan->lower == plan->upper && before.live == before.healthy &&
				before.live >= plan->upper,
			"there is room");
		break;
	case ROLLOUT_BLOCKED_PROTECTED:
		require(replicas, before.protected > 0, "nothing is protected");
		break;
	default:
		require(replicas, replicas->starts_allowed == 0 && replicas->blocker,
			"not blocked");
	}
}

static const struct {
	unsigned allowed;
	enum rollout_blocker blocker;
} blockers[] = {
	{UINT_MAX, ROLLOUT_BLOCKER_NONE},
	{0, ROLLOUT_BACKOFF},
	{1, ROLLOUT_BACKOFF},
	{0, ROLLOUT_RESOURCES},
	{1, ROLLOUT_RESOURCES},
	{0, ROLLOUT_PLACEMENT},
};

static uint64_t plans_checked;

static void check_state(struct rollout_replica_group groups[GROUPS])
{
	static const unsigned percents[] = {0, 50, 100, 150, 200};
	struct rollout_replicas replicas = {
		.groups = groups, .group_count = GROUPS, .target = TARGET};

	for (replicas.desired = 0; replicas.desired <= 4; replicas.desired++)
		for (size_t least = 0; least < LENGTH(percents); least++)
			for (size_t most = 0; most < LENGTH(percents); most++)
				for (size_t i = 0; i < LENGTH(blockers); i++) {
					struct rollout_replica_plan plan;

					replicas.minimum_healthy_percent = percents[least];
					replicas.maximum_percent = percents[most];
					replicas.starts_allowed = blockers[i].allowed;
					replicas.blocker = blockers[i].blocker;
					plan = plan_of(&replicas);
					check_plan(&replicas, &plan);
					plans_checked++;
				}
}

/* Distributes `rest` tasks over the places from `place` on, in every way. */
static void each_state(struct rollout_replica_group groups[GROUPS], unsigned place, unsigned rest)
{
	unsigned cell = place % (CELLS + 1);
	struct rollout_replica_group *group;
	unsigned *count;

	if (place == PLACES_TO_COUNT) {
		check_state(groups);
		return;
	}
	group = &groups[place / (CELLS + 1)];
	count = cell == CELLS
			? &group->stopping
			: &group->tasks[cell / ROLLOUT_PLACE_COUNT][cell % ROLLOUT_PLACE_COUNT]
				   .count;
	for (*count = 0; *count <= rest; (*count)++)
		each_state(groups, place + 1, rest - *count);
	*count = 0;
}

static void test_every_small_state(void **state)
{
	struct rollout_replica_group groups[GROUPS] = {0};

	(void)state;
	each_state(groups, 0, 4);
	assert_true(plans_checked > 5000000);
}

static unsigned draw(struct random_seeded *random, unsigned limit)
{
	return (unsigned)random_below(&random->random, limit);
}

/* Larger states, with protection, drawn by chance. */
static void test_larger_states(void **state)
{
	struct random_seeded random;

	(void)state;
	random_seeded_init(&random, 7);
	for (unsigned round = 0; round < 300000; round++) {
		struct rollout_replica_group groups[GROUPS] = {0};
		size_t blocker = draw(&random, LENGTH(blockers));
		struct rollout_replicas replicas = {
			.desired = draw(&random, 12),
			.minimum_healthy_percent = draw(&random, 101),
			.maximum_percent = 100 + draw(&random, 101),
			.groups = groups,
			.group_count = GROUPS,
			.target = draw(&random, GROUPS),
			.starts_allowed = blockers[blocker].allowed,
			.blocker = blockers[blocker].blocker,
		};
		struct rollout_replica_plan plan;

		for (unsigned i = 0; i < GROUPS; i++) {
			for (unsigned c = 0; c < ROLLOUT_CLASS_COUNT; c++)
				for (unsigned p = 0; p < ROLLOUT_PLACE_COUNT; p++) {
					struct rollout_cell *cell = &groups[i].tasks[c][p];

					if (draw(&random, 3) == 0)
						cell->count = draw(&random, 6);
					if (draw(&random, 5) == 0)
						cell->protected = draw(&random, cell->count + 1);
				}
			if (draw(&random, 3) == 0)
				groups[i].stopping = draw(&random, 3);
		}
		plan = plan_of(&replicas);
		check_plan(&replicas, &plan);
	}
}

/* ---- it comes to an end ---- */

#define SEEDS 5000
#define WILD_STEPS 60
#define CALM_STEPS 400

/* How lives go on: most good, some bad while the world is wild. */
static void live_on(struct random_seeded *random, struct rollout_replica_group *group, bool wild)
{
	struct rollout_replica_group next = {.stopping = 0};

	for (unsigned i = 0; i < group->stopping; i++)
		if (draw(random, 3) == 0)
			next.stopping++;
	for (unsigned c = 0; c < ROLLOUT_CLASS_COUNT; c++)
		for (unsigned p = 0; p < ROLLOUT_PLACE_COUNT; p++)
			for (unsigned i = 0; i < group->tasks[c][p].count; i++) {
				unsigned to_class = c, to_place = p;

				if (wild && draw(random, 30) == 0)
					continue; /* dies */
				if (wild && draw(random, 40) == 0)
					to_place = MOVE;
				if ((c == P || c == S) && draw(random, 2))
					to_class = c + 1;
				if (wild && c != P && draw(random, 15) == 0)
					to_class = U;
				if (wild && c == U && draw(random, 4) == 0)
					to_class = H;
				next.tasks[to_class][to_place].count++;
			}
	/* Protection comes and goes; it ends when the world is calm. */
	if (wild)
		for (unsigned p = 0; p < ROLLOUT_PLACE_COUNT; p++)
			next.tasks[H][p].protected =
				draw(random, 3) == 0 ? draw(random, next.tasks[H][p].count + 1) : 0;
	*group = next;
}

/* Some or all of it is done. */
static void carry_out(struct random_seeded *random, struct rollout_replica_group *groups,
	const struct rollout_replica_plan *plan, bool wild)
{
	for (size_t i = 0; i < plan->action_count; i++) {
		const struct rollout_replica_action *action = &plan->actions[i];
		unsigned count = wild ? draw(random, action->count + 1) : action->count;
		struct rollout_replica_group *group = &groups[action->group];

		if (action->type == ROLLOUT_START) {
			group->tasks[P][STAY].count += count;
		} else {
			group->tasks[action->class][action->place].count -= count;
			group->stopping += count;
		}
	}
}

/* The target becomes old, merged with the old group. */
static void update(struct rollout_replica_group *groups)
{
	for (unsigned c = 0; c < ROLLOUT_CLASS_COUNT; c++)
		for (unsigned p = 0; p < ROLLOUT_PLACE_COUNT; p++) {
			groups[OLD].tasks[c][p].count += groups[TARGET].tasks[c][p].count;
			groups[OLD].tasks[c][p].protected += groups[TARGET].tasks[c][p].protected;
		}
	groups[OLD].stopping += groups[TARGET].stopping;
	groups[TARGET] = (struct rollout_replica_group){0};
}

static void live_one_seed(uint64_t seed, unsigned *ret_no_room, unsigned *ret_steady)
{
	struct random_seeded random;
	struct rollout_replica_group groups[GROUPS] = {0};
	struct rollout_replicas replicas = {
		.groups = groups, .group_count = GROUPS, .target = TARGET};
	struct rollout_replica_plan plan;

	random_seeded_init(&random, seed);
	replicas.minimum_healthy_percent = draw(&random, 5) * 25;
	replicas.maximum_percent = 100 + draw(&random, 5) * 25;
	replicas.desired = draw(&random, 9);
	for (unsigned step = 0; step < WILD_STEPS + CALM_STEPS; step++) {
		bool wild = step < WILD_STEPS;
		size_t blocker =
			wild && draw(&random, 4) == 0 ? draw(&random, LENGTH(blockers)) : 0;

		if (wild && draw(&random, 20) == 0)
			replicas.desired = draw(&random, 9);
		if (wild && draw(&random, 20) == 0)
			update(groups);
		replicas.starts_allowed = blockers[blocker].allowed;
		replicas.blocker = blockers[blocker].blocker;
		plan = plan_of(&replicas);
		check_plan(&replicas, &plan);
		if (!wild && plan.steady) {
			(*ret_steady)++;
			return;
		}
		if (!wild && plan.blocked == ROLLOUT_BLOCKED_NO_ROOM) {
			(*ret_no_room)++;
			return;
		}
		carry_out(&random, groups, &plan, wild);
		live_on(&random, &groups[OLD], wild);
		live_on(&random, &groups[TARGET], wild);
	}
	printf("seed %llu: '%s'\n", (unsigned long long)seed, rollout_blocked_name(plan.blocked));
	fail_with_state(&replicas, "comes to no end");
}

static void test_comes_to_an_end(void **state)
{
	unsigned no_room = 0, steady = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		live_one_seed(seed, &no_room, &steady);
	/* Not by having nothing to do: both ends are met often. */
	assert_true(no_room > SEEDS / 100);
	assert_true(steady > SEEDS / 2);
}

/* ---- many groups, many tasks ---- */

static void test_many(void **state)
{
	enum { COUNT = 100 };
	struct rollout_replica_group groups[COUNT] = {0};
	struct rollout_replicas replicas = {
		.desired = 100000,
		.minimum_healthy_percent = 100,
		.maximum_percent = 200,
		.groups = groups,
		.group_count = COUNT,
		.target = COUNT - 1,
		.starts_allowed = UINT_MAX,
	};
	struct rollout_replica_plan plan;
	unsigned stops = 0;

	(void)state;
	for (unsigned i = 0; i < COUNT - 1; i++)
		groups[i].tasks[H][STAY].count = 1000;
	groups[COUNT - 1].tasks[H][STAY].count = 1500;
	plan = plan_of(&replicas);
	assert_int_equal(plan.lower, 100000);
	assert_int_equal(plan.upper, 200000);
	assert_int_equal(plan.actions[0].type, ROLLOUT_START);
	assert_int_equal(plan.actions[0].count, 98500);
	for (size_t i = 1; i < plan.action_count; i++) {
		assert_int_equal(plan.actions[i].group, 0); /* the oldest */
		stops += plan.actions[i].count;
	}
	assert_int_equal(stops, 500);
}

static int set_up(void **state)
{
	(void)state;
	arena = arena_new(0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	arena_free(arena);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_named_cases),
		cmocka_unit_test(test_every_small_state),
		cmocka_unit_test(test_larger_states),
		cmocka_unit_test(test_comes_to_an_end),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
