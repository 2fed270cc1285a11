/*
 * The planner of daemons: cases that have a name, every pair of instances, and random lives of fleets to
 * their end.
 */
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
#include "rollout/instances.h"

#define FLEET_MAX 8
#define C ROLLOUT_CURRENT
#define O ROLLOUT_OLD

static struct arena *arena;

static struct rollout_instance_plan plan_of(const struct rollout_instances *instances)
{
	struct rollout_instance_plan plan;

	arena_reset(arena);
	rollout_plan_instances(instances, arena, &plan);
	return plan;
}

/* ---- instances as text ----
 *
 * "cH" is an active matching instance with a healthy current task. c and o are versions; P, S, H, U are
 * classes; x is a stopping task; before them: "-" does not match, "d" draining, "D" draining with other
 * tasks left, "?" unreachable, "!" gone; behind them: "b" backoff, "r" no resources, "p" no placement.
 */

static void read_instance(const char *text, size_t length, struct rollout_instance *out)
{
	static const char classes[] = "PSHU";
	enum rollout_version version = C;

	*out = (struct rollout_instance){.matches = true};
	for (size_t i = 0; i < length; i++) {
		const char *class = strchr(classes, text[i]);

		if (class)
			out->tasks[version][class - classes]++;
		else if (text[i] == 'c' || text[i] == 'o')
			version = text[i] == 'c' ? C : O;
		else if (text[i] == 'x')
			out->stopping++;
		else if (text[i] == '-')
			out->matches = false;
		else if (text[i] == 'd' || text[i] == 'D')
			out->state = ROLLOUT_INSTANCE_DRAINING;
		else if (text[i] == '?')
			out->state = ROLLOUT_INSTANCE_UNREACHABLE;
		else if (text[i] == '!')
			out->state = ROLLOUT_INSTANCE_GONE;
		else if (text[i] == 'b')
			out->blocker = ROLLOUT_BACKOFF;
		else if (text[i] == 'r')
			out->blocker = ROLLOUT_RESOURCES;
		else if (text[i] == 'p')
			out->blocker = ROLLOUT_PLACEMENT;
		else if (text[i] != '.')
			fail_msg("'%c' in an instance", text[i]);
		out->others_left |= text[i] == 'D';
	}
}

/* Instances are separated by spaces; "." is one without tasks. */
static size_t read_fleet(const char *text, struct rollout_instance *out)
{
	size_t count = 0;

	while (*text) {
		size_t length = strcspn(text, " ");

		read_instance(text, length, &out[count++]);
		text += length;
		text += *text == ' ';
	}
	return count;
}

/* "+0" is a start on instance 0, "-1oH" a stop of an old healthy task on instance 1. */
static void write_actions(const struct rollout_instance_plan *plan, struct buffer *out)
{
	for (size_t i = 0; i < plan->action_count; i++) {
		const struct rollout_instance_action *action = &plan->actions[i];

		if (i > 0)
			buffer_add_char(out, ' ');
		if (action->type == ROLLOUT_START)
			buffer_format(out, "+%zu", action->instance);
		else
			buffer_format(out, "-%zu%c%c", action->instance,
				action->version == C ? 'c' : 'o', "PSHU"[action->class]);
	}
}

static const struct {
	const char *name;
	unsigned least_percent, most_percent;
	const char *fleet, *actions;
	enum rollout_blocked blocked;
	bool complete, steady;
} named_cases[] = {
	{"no instances", 0, 100, "", "", .complete = true, .steady = true},
	{"a first deployment", 0, 100, ". .", "+0 +1", 0, false, false},
	{"all up to date", 0, 100, "cH cH", "", .complete = true, .steady = true},
	{"on their way", 0, 100, "cP cS cH", "", .blocked = ROLLOUT_WAITS},
	{"a new instance", 100, 100, "cH .", "+1", 0, false, false},
	{"a dead task is not started while another one stops", 0, 100, "x cH", "",
		.blocked = ROLLOUT_WAITS},
	{"an instance that matches no longer", 100, 100, "-cH cH", "-0cH", 0, false, false},
	{"stopped everywhere", 100, 100, "-cH -oP", "-0cH -1oP", 0, false, false},
	{"draining: last out", 100, 100, "DcH cH", "", .complete = true, .steady = true},
	{"draining: the others are gone", 100, 100, "dcH cH", "-0cH", 0, false, false},
	{"draining: gets none", 100, 100, "D cH", "", .complete = true, .steady = true},
	{"draining: no update on the way out", 0, 100, "DoH cH", "", .complete = true,
		.steady = true},
	{"unreachable: left alone", 0, 100, "?oH cH", "", .complete = true, .steady = true},
	{"gone", 0, 100, "!oH cH", "", .complete = true, .steady = true},
	{"update: stop first", 60, 100, "oH oH oH oH oH", "-0oH -1oH", 0, false, false},
	{"update: the batch is under way", 60, 100, "x cS oH oH oH", "", .blocked = ROLLOUT_WAITS},
	{"update: start when stopped", 60, 100, ". cS oH oH oH", "+0", 0, false, false},
	{"update: one is back, the next goes", 60, 100, "cH cS oH oH oH", "-2oH", 0, false, false},
	{"update: new instances first and they count", 60, 100, "cH cH oH oH oH . . .", "+5 +6 +7",
		0, false, false},
	{"update: breached from outside", 60, 100, ". . . oH oH", "+0 +1 +2", 0, false, false},
	{"update: all at once at 0", 0, 100, "oH oH oH", "-0oH -1oH -2oH", 0, false, false},
	{"update: what is not healthy is free", 100, 100, "oP oU oS oH", "-0oP -1oU -2oS", 0, false,
		false},
	{"update: no room at all", 100, 100, "oH oH", "", .blocked = ROLLOUT_BLOCKED_NO_ROOM},
	{"update: a bad version stops at its batch", 60, 100, ".b .b oH oH oH", "",
		.blocked = ROLLOUT_BLOCKED_BACKOFF},
	{"update: a bad version does not take the healthy one that it cannot replace", 0, 100,
		"oHb oHp", "", .blocked = ROLLOUT_BLOCKED_BACKOFF},
	{"update: a second one within the warm-up takes no more", 60, 100, "oS oP oH oH oH",
		"-0oS -1oP", 0, false, false},
	{"update: a hanging stop uses one unit", 60, 100, "x cH oH oH oH", "-2oH", 0, false, false},
	{"start first: as many as may be doubled", 100, 140, "oH oH oH oH oH", "+0 +1", 0, false,
		false},
	{"start first: wait for health", 100, 140, "oHcS oHcP oH oH oH", "",
		.blocked = ROLLOUT_WAITS},
	{"start first: healthy, the old one goes", 100, 140, "oHcH oHcP oH oH oH", "-0oH", 0, false,
		false},
	{"start first: a stopping one still counts", 100, 140, "xcH oHcP oH oH oH", "",
		.blocked = ROLLOUT_WAITS},
	{"start first: no resources for two, so stop first", 50, 200, "oHr oHr", "-0oH", 0, false,
		false},
	{"start first: no resources for two, and all needed", 100, 200, "oHr oHr", "",
		.blocked = ROLLOUT_BLOCKED_RESOURCES},
	{"start first: half of one is none", 0, 150, "oH", "-0oH", 0, false, false},
	{"unhealthy: stop, then start", 100, 100, "cU cH", "-0cU", 0, false, false},
	{"unhealthy: kept while none can be started", 100, 100, "cUb cH", "",
		.blocked = ROLLOUT_BLOCKED_BACKOFF},
	{"two of a kind: exactly the excess goes", 100, 100, "cHP cHH", "-0cP -1cH", 0, false,
		false},
	{"a late start beside the old one", 0, 100, "oHcP", "-0oH", 0, false, false},
	{"a late start beside the old one that is needed", 100, 100, "oHcP", "",
		.blocked = ROLLOUT_WAITS},
};

static void test_named_cases(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(named_cases); i++) {
		struct rollout_instance fleet[FLEET_MAX];
		struct rollout_instances instances = {
			.instances = fleet,
			.count = read_fleet(named_cases[i].fleet, fleet),
			.minimum_healthy_percent = named_cases[i].least_percent,
			.maximum_percent = named_cases[i].most_percent,
		};
		struct rollout_instance_plan plan = plan_of(&instances);
		_buffer_ struct buffer actions = {0};

		write_actions(&plan, &actions);
		if (!span_is(buffer_span(&actions), named_cases[i].actions) ||
			plan.blocked != named_cases[i].blocked ||
			plan.complete != named_cases[i].complete ||
			plan.steady != named_cases[i].steady)
			fail_msg("%s: '%s', '%s', complete %d, steady %d", named_cases[i].name,
				actions.data ? actions.data : "",
				rollout_blocked_name(plan.blocked), plan.complete, plan.steady);
	}
}

/* ---- properties of every plan ---- */

static unsigned count_of(const struct rollout_instance *instance)
{
	unsigned count = 0;

	for (unsigned v = 0; v < ROLLOUT_VERSION_COUNT; v++)
		for (unsigned c = 0; c < ROLLOUT_CLASS_COUNT; c++)
			count += instance->tasks[v][c];
	return count;
}

static bool is_wanted(const struct rollout_instance *instance)
{
	return instance->state == ROLLOUT_INSTANCE_ACTIVE && instance->matches;
}

static bool is_healthy(const struct rollout_instance *instance)
{
	return instance->tasks[C][ROLLOUT_HEALTHY] || instance->tasks[O][ROLLOUT_HEALTHY];
}

static void fail_with_fleet(const struct rollout_instances *instances, const char *rule)
{
	static const char *const states[] = {"", "d", "?", "!"};
	_buffer_ struct buffer out = {0};

	for (size_t i = 0; i < instances->count; i++) {
		const struct rollout_instance *instance = &instances->instances[i];

		buffer_format(&out, " %s%s", instance->matches ? "" : "-", states[instance->state]);
		for (unsigned v = 0; v < ROLLOUT_VERSION_COUNT; v++)
			for (unsigned c = 0; c < ROLLOUT_CLASS_COUNT; c++)
				for (unsigned n = instance->tasks[v][c]; n > 0; n--)
					buffer_format(&out, "%c%c", "co"[v], "PSHU"[c]);
		for (unsigned n = instance->stopping; n > 0; n--)
			buffer_add_char(&out, 'x');
		buffer_add_char(&out, ".bpr"[instance->blocker]);
	}
	fail_msg("%s: %u-%u %%:%s", rule, instances->minimum_healthy_percent,
		instances->maximum_percent, out.data ? out.data : "");
}

static void require(const struct rollout_instances *instances, bool holds, const char *rule)
{
	if (!holds)
		fail_with_fleet(instances, rule);
}

static void check_plan(const struct rollout_instances *instances,
	const struct rollout_instance_plan *plan)
{
	struct rollout_instance stopped[FLEET_MAX];
	unsigned starts[FLEET_MAX] = {0};
	unsigned wanted = 0, healthy = 0, healthy_after = 0, doubled = 0, doubled_after = 0;
	unsigned in_motion = 0, blocked = 0, surging = 0;
	bool as_wanted = true;

	memcpy(stopped, instances->instances, instances->count * sizeof(stopped[0]));
	for (size_t i = 0; i < plan->action_count; i++) {
		const struct rollout_instance_action *action = &plan->actions[i];
		struct rollout_instance *instance = &stopped[action->instance];

		require(instances,
			instance->state == ROLLOUT_INSTANCE_ACTIVE ||
				instance->state == ROLLOUT_INSTANCE_DRAINING,
			"acts on an unreachable instance");
		if (action->type == ROLLOUT_START) {
			require(instances, is_wanted(instance), "starts where none is wanted");
			require(instances, instance->blocker == ROLLOUT_BLOCKER_NONE,
				"starts where it cannot");
			require(instances,
				count_of(&instances->instances[action->instance]) == 0 ||
					!instances->instances[action->instance].stopping,
				"starts a third one");
			starts[action->instance]++;
		} else {
			require(instances, instance->tasks[action->version][action->class] > 0,
				"stops what is not there");
			instance->tasks[action->version][action->class]--;
		}
	}
	for (size_t i = 0; i < instances->count; i++) {
		const struct rollout_instance *instance = &instances->instances[i];
		unsigned tasks = count_of(instance) + instance->stopping;

		require(instances, starts[i] <= 1, "starts twice");
		if (is_wanted(instance)) {
			wanted++;
			healthy += is_healthy(instance);
			healthy_after += is_healthy(&stopped[i]); /* starts have had no effect */
			doubled += tasks > 1;
			doubled_after += tasks + starts[i] > 1; /* stops have had none */
			surging += starts[i] && tasks > 0;
			blocked += instance->blocker != ROLLOUT_BLOCKER_NONE;
			as_wanted &= tasks == 1 && instance->tasks[C][ROLLOUT_HEALTHY] == 1;
			in_motion += instance->stopping + instance->tasks[C][ROLLOUT_PENDING] +
				     instance->tasks[C][ROLLOUT_STARTING];
		} else if (instance->state == ROLLOUT_INSTANCE_DRAINING && instance->matches &&
			   instance->others_left) {
			require(instances, count_of(&stopped[i]) == count_of(instance),
				"stops before the others have left");
			as_wanted &= !instance->stopping;
			in_motion += instance->stopping;
		} else if (instance->state == ROLLOUT_INSTANCE_ACTIVE ||
			   instance->state == ROLLOUT_INSTANCE_DRAINING) {
			require(instances, count_of(&stopped[i]) == 0, "keeps what is not wanted");
			as_wanted &= tasks == 0;
			in_motion += instance->stopping;
		}
	}
	require(instances, plan->wanted == wanted && plan->healthy == healthy, "counts wrongly");
	require(instances,
		plan->lower == rollout_percent_up(wanted, instances->minimum_healthy_percent),
		"counts the lower bound wrongly");
	require(instances, healthy_after == healthy || healthy_after >= plan->lower,
		"below the lower bound");
	require(instances, !surging || doubled_after <= plan->surge, "too many have two tasks");
	require(instances, instances->maximum_percent > 100 || doubled_after == doubled,
		"two tasks on one instance");
	require(instances, plan->steady == as_wanted,
		"steady when not as wanted, or not when it is");
	require(instances,
		(plan->blocked != ROLLOUT_NOT_BLOCKED) == (!plan->action_count && !plan->steady),
		"blocked without need, or still without a reason");
	require(instances, plan->blocked != ROLLOUT_WAITS || in_motion, "waits for nothing");
	require(instances,
		plan->blocked != ROLLOUT_BLOCKED_NO_ROOM ||
			(healthy == wanted && plan->lower == wanted && !plan->surge),
		"there is room");
	require(instances,
		(plan->blocked != ROLLOUT_BLOCKED_BACKOFF &&
			plan->blocked != ROLLOUT_BLOCKED_RESOURCES &&
			plan->blocked != ROLLOUT_BLOCKED_PLACEMENT) ||
			blocked,
		"not blocked");
}

/* ---- every pair ---- */

static const unsigned least_percents[] = {0, 50, 100};
static const unsigned most_percents[] = {100, 150, 200};

static const struct rollout_instance places[] = {
	{.state = ROLLOUT_INSTANCE_ACTIVE, .matches = true},
	{.state = ROLLOUT_INSTANCE_ACTIVE, .matches = false},
	{.state = ROLLOUT_INSTANCE_DRAINING, .matches = true, .others_left = true},
	{.state = ROLLOUT_INSTANCE_DRAINING, .matches = true, .others_left = false},
	{.state = ROLLOUT_INSTANCE_UNREACHABLE, .matches = true},
	{.state = ROLLOUT_INSTANCE_GONE, .matches = true},
};

#define KINDS (LENGTH(places) * 4 * 5 * 5 * 2)

/* The number as digits of different bases; false for those that make no difference. */
static bool instance_of_number(size_t number, struct rollout_instance *out)
{
	size_t place = number % LENGTH(places);
	size_t blocker = number / LENGTH(places) % 4;
	size_t current = number / LENGTH(places) / 4 % 5;
	size_t old = number / LENGTH(places) / 4 / 5 % 5;

	*out = places[place];
	out->blocker = (enum rollout_blocker)blocker;
	out->stopping = (unsigned)(number / LENGTH(places) / 4 / 5 / 5);
	if (current)
		out->tasks[C][current - 1] = 1;
	if (old)
		out->tasks[O][old - 1] = 1;
	return is_wanted(out) || (blocker == 0 && old <= 1);
}

static void test_every_pair(void **state)
{
	struct rollout_instance *all = memory_allocate_array(KINDS, sizeof(*all));
	size_t count = 0;

	(void)state;
	for (size_t i = 0; i < KINDS; i++)
		if (instance_of_number(i, &all[count]))
			count++;
	assert_true(count > 200);
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < count; j++)
			for (size_t k = 0; k < LENGTH(least_percents) * LENGTH(most_percents);
				k++) {
				struct rollout_instance pair[] = {all[i], all[j]};
				struct rollout_instances instances = {
					.instances = pair,
					.count = LENGTH(pair),
					.minimum_healthy_percent =
						least_percents[k % LENGTH(least_percents)],
					.maximum_percent =
						most_percents[k / LENGTH(least_percents)],
				};
				struct rollout_instance_plan plan = plan_of(&instances);

				check_plan(&instances, &plan);
			}
	free(all);
}

/* ---- it comes to an end ---- */

#define SEEDS 5000
#define WILD_STEPS 60
#define CALM_STEPS 400

static unsigned draw(struct random_seeded *random, unsigned limit)
{
	return (unsigned)random_below(&random->random, limit);
}

static void live_on(struct random_seeded *random, struct rollout_instance *instance, bool wild)
{
	struct rollout_instance next = *instance;

	memset(next.tasks, 0, sizeof(next.tasks));
	next.stopping = 0;
	for (unsigned i = 0; i < instance->stopping; i++)
		next.stopping += draw(random, 3) == 0;
	for (unsigned v = 0; v < ROLLOUT_VERSION_COUNT; v++)
		for (unsigned c = 0; c < ROLLOUT_CLASS_COUNT; c++)
			for (unsigned i = 0; i < instance->tasks[v][c]; i++) {
				unsigned to = c;

				if (wild && draw(random, 30) == 0)
					continue; /* dies */
				if ((c == ROLLOUT_PENDING || c == ROLLOUT_STARTING) &&
					draw(random, 2))
					to = c + 1;
				if (wild && c != ROLLOUT_PENDING && draw(random, 20) == 0)
					to = ROLLOUT_UNHEALTHY;
				next.tasks[v][to]++;
			}
	next.blocker = wild && draw(random, 5) == 0 ? draw(random, 4) : ROLLOUT_BLOCKER_NONE;
	if (wild && draw(random, 20) == 0)
		next.matches = draw(random, 3) > 0;
	if (wild && draw(random, 20) == 0)
		next.state = draw(random, 3) > 0 ? ROLLOUT_INSTANCE_ACTIVE : draw(random, 4);
	if (draw(random, 10) == 0)
		next.others_left = wild && draw(random, 2);
	if (wild && draw(random, 60) == 0)
		next.tasks[C][ROLLOUT_PENDING]++; /* a late start */
	if (next.state == ROLLOUT_INSTANCE_GONE) {
		memset(next.tasks, 0, sizeof(next.tasks));
		next.stopping = 0;
	}
	*instance = next;
}

static void carry_out(struct random_seeded *random, struct rollout_instance *fleet,
	const struct rollout_instance_plan *plan, bool wild)
{
	for (size_t i = 0; i < plan->action_count; i++) {
		const struct rollout_instance_action *action = &plan->actions[i];
		struct rollout_instance *instance = &fleet[action->instance];

		if (wild && draw(random, 3) == 0)
			continue;
		if (action->type == ROLLOUT_START) {
			instance->tasks[C][ROLLOUT_PENDING]++;
		} else {
			instance->tasks[action->version][action->class]--;
			instance->stopping++;
		}
	}
}

static void update(struct rollout_instance *instance)
{
	for (unsigned c = 0; c < ROLLOUT_CLASS_COUNT; c++) {
		instance->tasks[O][c] += instance->tasks[C][c];
		instance->tasks[C][c] = 0;
	}
}

static void live_one_seed(uint64_t seed, unsigned *ret_no_room, unsigned *ret_steady)
{
	struct random_seeded random;
	struct rollout_instance fleet[FLEET_MAX] = {0};
	struct rollout_instances instances = {.instances = fleet};
	struct rollout_instance_plan plan;

	random_seeded_init(&random, seed);
	instances.count = 1 + draw(&random, FLEET_MAX);
	instances.minimum_healthy_percent = draw(&random, 5) * 25;
	instances.maximum_percent = 100 + (draw(&random, 2) ? draw(&random, 5) * 25 : 0);
	for (size_t i = 0; i < instances.count; i++)
		fleet[i].matches = true;
	for (unsigned step = 0; step < WILD_STEPS + CALM_STEPS; step++) {
		bool wild = step < WILD_STEPS;

		if (wild && draw(&random, 20) == 0)
			for (size_t i = 0; i < instances.count; i++)
				update(&fleet[i]);
		plan = plan_of(&instances);
		check_plan(&instances, &plan);
		if (!wild && plan.steady) {
			(*ret_steady)++;
			return;
		}
		if (!wild && plan.blocked == ROLLOUT_BLOCKED_NO_ROOM) {
			(*ret_no_room)++;
			return;
		}
		carry_out(&random, fleet, &plan, wild);
		for (size_t i = 0; i < instances.count; i++)
			live_on(&random, &fleet[i], wild);
	}
	printf("seed %llu: '%s'\n", (unsigned long long)seed, rollout_blocked_name(plan.blocked));
	fail_with_fleet(&instances, "comes to no end");
}

static void test_comes_to_an_end(void **state)
{
	unsigned no_room = 0, steady = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		live_one_seed(seed, &no_room, &steady);
	assert_true(no_room > SEEDS / 100);
	assert_true(steady > SEEDS / 2);
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
		cmocka_unit_test(test_every_pair),
		cmocka_unit_test(test_comes_to_an_end),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
