/*
 * Fleets in a small world of instances and tasks with versions and names of their own: the scenarios of
 * daemon environments that concern the planner, by their numbers, and random lives with everything that can
 * happen. After each single start and stop the world itself is looked at, not what the planner believes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/random.h"
#include "rollout/fleet.h"

#define PLACES_MAX 12
#define TASKS_MAX 8
#define VERSIONS_MAX 8
#define ACTIONS_MAX 64
#define BACKOFF_TICKS 3
#define SETTLE_TICKS 200

struct world_task {
	unsigned id, version;
	enum rollout_class class;
	bool stopping;
};

struct place {
	enum rollout_instance_state state;
	bool matches, others_left, awaited;
	bool stops_hang;   /* a task asked to stop here stays */
	unsigned assigned; /* a version, or 0 */
	unsigned reported; /* its value at the last fleet_set() */
	unsigned backoff[VERSIONS_MAX];
	struct world_task tasks[TASKS_MAX];
	size_t task_count;
};

struct world {
	struct fleet *fleet;
	struct fleet_rules rules;
	struct place places[PLACES_MAX];
	size_t count;
	unsigned target, last_id;
	bool crashes[VERSIONS_MAX];           /* its tasks die before they are healthy */
	bool never_healthy[VERSIONS_MAX];     /* or stay as they are */
	unsigned starts[VERSIONS_MAX], stops; /* so far */
	/* Since the last look. */
	unsigned least_healthy, most_doubled, most_on_one;
	struct random_seeded *random; /* carries out only a part */
};

/* ---- looking ---- */

static bool is_wanted(const struct place *place)
{
	return place->state == ROLLOUT_INSTANCE_ACTIVE && place->matches;
}

static bool has_healthy(const struct place *place)
{
	for (size_t i = 0; i < place->task_count; i++)
		if (place->tasks[i].class == ROLLOUT_HEALTHY && !place->tasks[i].stopping)
			return true;
	return false;
}

static unsigned count_live(const struct place *place)
{
	unsigned live = 0;

	for (size_t i = 0; i < place->task_count; i++)
		live += !place->tasks[i].stopping;
	return live;
}

static unsigned count_healthy(const struct world *world)
{
	unsigned healthy = 0;

	for (size_t i = 0; i < world->count; i++)
		healthy += is_wanted(&world->places[i]) && has_healthy(&world->places[i]);
	return healthy;
}

static unsigned count_wanted(const struct world *world)
{
	unsigned wanted = 0;

	for (size_t i = 0; i < world->count; i++)
		wanted += is_wanted(&world->places[i]);
	return wanted;
}

/* Tasks of a version that run and are not asked to stop. */
static unsigned count_version(const struct world *world, unsigned version)
{
	unsigned found = 0;

	for (size_t i = 0; i < world->count; i++)
		for (size_t j = 0; j < world->places[i].task_count; j++)
			found += world->places[i].tasks[j].version == version &&
				 !world->places[i].tasks[j].stopping;
	return found;
}

static unsigned required(const struct world *world)
{
	unsigned wanted = count_wanted(world);
	unsigned percent =
		world->rules.minimum_requested ? world->rules.minimum_healthy_percent : 90;
	unsigned least = (wanted * percent + 99) / 100;

	return !world->rules.minimum_requested && wanted && least == wanted ? wanted - 1 : least;
}

static void view(struct world *world)
{
	unsigned healthy = count_healthy(world), doubled = 0;

	for (size_t i = 0; i < world->count; i++) {
		unsigned tasks = (unsigned)world->places[i].task_count;

		doubled += count_live(&world->places[i]) > 1;
		if (tasks > world->most_on_one)
			world->most_on_one = tasks;
	}
	if (healthy < world->least_healthy)
		world->least_healthy = healthy;
	if (doubled > world->most_doubled)
		world->most_doubled = doubled;
}

static void recheck_all(struct world *world)
{
	world->least_healthy = UINT32_MAX;
	world->most_doubled = world->most_on_one = 0;
	view(world);
}

/* ---- updating the fleet ---- */

static enum fleet_version version_at(const struct world *world, const struct place *place,
	unsigned version)
{
	if (version == world->target)
		return FLEET_TARGET;
	return version == place->reported ? FLEET_OLD : FLEET_OTHER;
}

static void report(struct world *world, size_t index)
{
	struct place *place = &world->places[index];
	struct fleet_instance now = {
		.state = place->state,
		.matches = place->matches,
		.others_left = place->others_left,
		.awaited = place->awaited,
		.hangs = place->stops_hang,
		.assigned = place->assigned == world->target ? FLEET_ASSIGNED_TARGET
			    : place->assigned                ? FLEET_ASSIGNED_OLD
							     : FLEET_ASSIGNED_NONE,
		.blocker = place->backoff[world->target] ? ROLLOUT_BACKOFF : ROLLOUT_BLOCKER_NONE,
		.old_blocker = place->assigned && place->backoff[place->assigned]
				       ? ROLLOUT_BACKOFF
				       : ROLLOUT_BLOCKER_NONE,
	};

	place->reported = place->assigned;
	for (size_t i = 0; i < place->task_count; i++) {
		const struct world_task *task = &place->tasks[i];

		if (task->stopping)
			now.stopping++;
		else
			now.tasks[version_at(world, place, task->version)][task->class]++;
	}
	fleet_set(world->fleet, (uint32_t)index, &now);
}

static void report_all(struct world *world)
{
	for (size_t i = 0; i < world->count; i++)
		report(world, i);
}

/* ---- carrying out ---- */

static void add_task(struct world *world, size_t index, unsigned version, enum rollout_class class)
{
	struct place *place = &world->places[index];

	assert_true(place->task_count < TASKS_MAX);
	place->tasks[place->task_count++] = (struct world_task){
		.id = ++world->last_id,
		.version = version,
		.class = class,
	};
}

static void remove_task(struct place *place, size_t at)
{
	place->tasks[at] = place->tasks[--place->task_count];
}

static unsigned checked_minimum, checked_surge; /* how often these had something to say */

/* S1, S2, S4, S5 and S3, on the world as it is. */
static void check_start(const struct world *world, const struct place *place)
{
	assert_true(is_wanted(place));
	if (world->rules.replace_first && place->task_count > 0) {
		unsigned doubled = 1;

		for (size_t i = 0; i < world->count; i++)
			doubled +=
				is_wanted(&world->places[i]) && count_live(&world->places[i]) > 1;
		assert_int_equal(place->task_count, 1);
		assert_true(doubled <=
			    count_wanted(world) * world->rules.maximum_over_percent / 100);
		checked_surge++;
	} else
		assert_int_equal(place->task_count, 0);
}

static void check_stop(const struct world *world, const struct place *place,
	const struct world_task *task)
{
	assert_true(place->state == ROLLOUT_INSTANCE_ACTIVE ||
		    place->state == ROLLOUT_INSTANCE_DRAINING);
	if (is_wanted(place) && task->class == ROLLOUT_HEALTHY &&
		world->rules.mode != FLEET_REMOVES) {
		unsigned others = 0;

		for (size_t i = 0; i < place->task_count; i++)
			others += &place->tasks[i] != task && !place->tasks[i].stopping &&
				  place->tasks[i].class == ROLLOUT_HEALTHY;
		if (!others) {
			assert_true(count_healthy(world) >= required(world) + 1);
			checked_minimum++;
		}
	}
	if (place->state == ROLLOUT_INSTANCE_DRAINING && place->matches && place->others_left &&
		world->rules.mode != FLEET_REMOVES)
		assert_true(count_live(place) > 1);
}

static void carry_out(struct world *world, const struct fleet_action *action)
{
	struct place *place = &world->places[action->instance];
	unsigned version = action->version == FLEET_TARGET ? world->target : place->reported;

	if (action->type == ROLLOUT_START) {
		check_start(world, place);
		if (action->hands_over)
			place->assigned = world->target;
		add_task(world, action->instance, version, ROLLOUT_PENDING);
		world->starts[version]++;
		return;
	}
	for (size_t i = 0; i < place->task_count; i++) {
		struct world_task *task = &place->tasks[i];

		if (task->stopping || task->class != action->class ||
			version_at(world, place, task->version) != action->version)
			continue;
		check_stop(world, place, task);
		task->stopping = true;
		world->stops++;
		if (action->hands_over)
			place->assigned = world->target;
		return;
	}
	fail_msg("stops what is not there");
}

/* Plans and does it, in any order when there is chance; returns how many actions there were. */
static size_t act(struct world *world)
{
	struct fleet_action actions[ACTIONS_MAX];
	size_t built = fleet_next(world->fleet, actions, ACTIONS_MAX);

	for (size_t i = 0; i < built; i++) {
		size_t at = i;

		if (world->random) {
			struct fleet_action other;

			at += random_below(&world->random->random, built - i);
			other = actions[i];
			actions[i] = actions[at];
			actions[at] = other;
			if (random_below(&world->random->random, 4) == 0)
				continue;
		}
		carry_out(world, &actions[i]);
		view(world);
	}
	return built;
}

/* ---- time ---- */

static void live_place(struct world *world, struct place *place)
{
	for (unsigned v = 0; v < VERSIONS_MAX; v++)
		if (place->backoff[v])
			place->backoff[v]--;
	if (place->state == ROLLOUT_INSTANCE_UNREACHABLE)
		return;
	for (size_t i = place->task_count; i-- > 0;) {
		struct world_task *task = &place->tasks[i];

		if (task->stopping) {
			if (!place->stops_hang)
				remove_task(place, i);
		} else if (task->class == ROLLOUT_PENDING) {
			task->class = ROLLOUT_STARTING;
		} else if (task->class == ROLLOUT_STARTING && world->crashes[task->version]) {
			place->backoff[task->version] = BACKOFF_TICKS;
			remove_task(place, i);
		} else if (task->class == ROLLOUT_STARTING &&
			   !world->never_healthy[task->version]) {
			task->class = ROLLOUT_HEALTHY;
		}
	}
}

static size_t tick(struct world *world)
{
	size_t built;

	report_all(world);
	built = act(world);
	for (size_t i = 0; i < world->count; i++)
		live_place(world, &world->places[i]);
	view(world);
	return built;
}

static void ticks(struct world *world, unsigned count)
{
	while (count-- > 0)
		tick(world);
}

/* Until there is nothing to do and it is said to be steady; then there is nothing to do any more. */
static void settle(struct world *world)
{
	for (unsigned i = 0; i < SETTLE_TICKS; i++) {
		tick(world);
		report_all(world);
		if (!fleet_steady(world->fleet))
			continue;
		for (unsigned rest = 0; rest < 5; rest++)
			assert_int_equal(tick(world), 0);
		assert_int_equal(fleet_blocked(world->fleet).cause, FLEET_NO_CAUSE);
		return;
	}
	fail_msg("does not settle: %s", fleet_cause_name(fleet_blocked(world->fleet).cause));
}

/* ---- making worlds ---- */

static void add_place(struct world *world)
{
	assert_int_equal(fleet_add(world->fleet), world->count);
	world->places[world->count++] = (struct place){.matches = true};
}

static void deploy(struct world *world, unsigned version)
{
	world->target = version;
	world->rules.mode = FLEET_ROLLS;
	fleet_configure(world->fleet, &world->rules);
}

/* All have a healthy task of version 1. */
static struct world world_of(size_t count, struct fleet_rules rules)
{
	struct world world = {.fleet = fleet_new(), .rules = rules};

	for (size_t i = 0; i < count; i++)
		add_place(&world);
	deploy(&world, 1);
	settle(&world);
	assert_int_equal(count_version(&world, 1), count);
	recheck_all(&world);
	return world;
}

static struct world world_at(size_t count, unsigned percent)
{
	return world_of(count, (struct fleet_rules){.minimum_requested = true,
				       .minimum_healthy_percent = percent});
}

static void kill_tasks(struct world *world, size_t index)
{
	world->places[index].task_count = 0;
}

static void keep_only(struct world *world)
{
	world->rules.mode = FLEET_KEEPS;
	fleet_configure(world->fleet, &world->rules);
}

static bool reports(const struct world *world, size_t index, enum fleet_cause cause)
{
	struct fleet_reason reasons[PLACES_MAX];
	size_t count = fleet_reasons(world->fleet, reasons, PLACES_MAX);

	for (size_t i = 0; i < count; i++)
		if (reasons[i].instance == index && reasons[i].cause == cause)
			return true;
	return false;
}

/* ---- scenarios ---- */

static void test_13_14_first_deployment_and_nothing_after(void **state)
{
	struct world world = world_at(2, 100);

	(void)state;
	assert_int_equal(world.starts[1], 2);
	assert_int_equal(world.stops, 0);
	fleet_free(world.fleet);
}

static void test_16_empty_cluster_is_complete(void **state)
{
	struct world world = world_at(0, 60);

	(void)state;
	assert_true(fleet_complete(world.fleet));
	assert_int_equal(fleet_counts(world.fleet)->total, 0);
	fleet_free(world.fleet);
}

static void test_26_attributes_change_live(void **state)
{
	struct world world = world_at(2, 100);

	(void)state;
	keep_only(&world);
	world.places[0].matches = false;
	settle(&world);
	assert_int_equal(world.places[0].task_count, 0);
	assert_int_equal(world.places[1].task_count, 1);
	world.places[0].matches = true;
	settle(&world);
	assert_int_equal(count_version(&world, 1), 2);
	assert_int_equal(world.stops, 1);
	fleet_free(world.fleet);
}

static void test_29_draining_last_out(void **state)
{
	struct world world = world_at(2, 0);

	(void)state;
	keep_only(&world);
	world.places[0].state = ROLLOUT_INSTANCE_DRAINING;
	world.places[0].others_left = true;
	settle(&world);
	assert_int_equal(world.places[0].task_count, 1);
	assert_int_equal(fleet_counts(world.fleet)->draining, 1);
	/* Back before the others have left: nothing happened. */
	world.places[0].state = ROLLOUT_INSTANCE_ACTIVE;
	settle(&world);
	assert_int_equal(world.stops, 0);
	/* A deployment neither replaces nor starts there. */
	world.places[0].state = ROLLOUT_INSTANCE_DRAINING;
	deploy(&world, 2);
	settle(&world);
	assert_int_equal(world.places[0].tasks[0].version, 1);
	world.places[0].others_left = false;
	settle(&world);
	assert_int_equal(world.places[0].task_count, 0);
	assert_int_equal(count_version(&world, 2), 1);
	fleet_free(world.fleet);
}

static void test_30_disconnected_is_left_alone(void **state)
{
	struct world world = world_at(3, 50);
	unsigned id = world.places[1].tasks[0].id;

	(void)state;
	keep_only(&world);
	world.places[1].state = ROLLOUT_INSTANCE_UNREACHABLE;
	settle(&world);
	assert_int_equal(fleet_counts(world.fleet)->unreachable, 1);
	assert_true(reports(&world, 1, FLEET_UNREACHABLE));
	world.places[1].state = ROLLOUT_INSTANCE_ACTIVE;
	settle(&world);
	assert_int_equal(world.places[1].tasks[0].id, id);
	assert_int_equal(world.starts[1], 3);
	assert_int_equal(world.stops, 0);
	fleet_free(world.fleet);
}

/* L8: neither do those that are away stop the others; while one waits for them, they count as down. */
static void test_30_unreachable_stops_no_task(void **state)
{
	struct world world = world_at(5, 80);

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		world.places[i].state = ROLLOUT_INSTANCE_UNREACHABLE;
		world.places[i].awaited = true;
	}
	deploy(&world, 2);
	ticks(&world, 5);
	assert_int_equal(world.stops, 0);
	assert_int_equal(fleet_blocked(world.fleet).cause, FLEET_MINIMUM);
	world.places[0].awaited = world.places[1].awaited = false;
	world.rules.minimum_healthy_percent = 60;
	deploy(&world, 2);
	settle(&world);
	assert_int_equal(count_version(&world, 2), 3);
	assert_int_equal(count_version(&world, 1), 2);
	fleet_free(world.fleet);
}

static void test_34_terminate_then_replace(void **state)
{
	struct world world = world_at(5, 60);

	(void)state;
	deploy(&world, 2);
	settle(&world);
	assert_int_equal(world.least_healthy, 3);
	assert_int_equal(world.most_on_one, 1);
	assert_int_equal(count_version(&world, 2), 5);
	assert_int_equal(world.stops, 5);
	fleet_free(world.fleet);
}

static void test_35_scale_up_in_the_middle(void **state)
{
	struct world world = world_at(5, 60);
	unsigned stops;

	(void)state;
	deploy(&world, 2);
	while (count_version(&world, 2) < 2 || count_healthy(&world) < 5)
		ticks(&world, 1);
	stops = world.stops;
	for (unsigned i = 0; i < 3; i++)
		add_place(&world);
	tick(&world);
	for (size_t i = 5; i < 8; i++)
		assert_int_equal(world.places[i].tasks[0].version, 2);
	/* Five of eight are healthy, which is what 60 percent need. */
	assert_int_equal(world.stops, stops);
	recheck_all(&world);
	settle(&world);
	assert_int_equal(world.least_healthy, 5);
	assert_int_equal(count_version(&world, 2), 8);
	fleet_free(world.fleet);
}

static void test_37_all_healthy_needs_a_second_task(void **state)
{
	struct world world = world_at(5, 100);

	(void)state;
	deploy(&world, 2);
	ticks(&world, 10);
	assert_int_equal(world.stops, 0);
	assert_int_equal(fleet_blocked(world.fleet).cause, FLEET_UNSATISFIABLE);
	world.rules.replace_first = true;
	world.rules.maximum_over_percent = 40;
	deploy(&world, 2);
	settle(&world);
	assert_int_equal(world.least_healthy, 5);
	assert_int_equal(world.most_doubled, 2);
	assert_int_equal(world.most_on_one, 2);
	assert_int_equal(count_version(&world, 2), 5);
	fleet_free(world.fleet);
}

static void test_37_default_never_blocks(void **state)
{
	(void)state;
	for (size_t count = 1; count <= PLACES_MAX; count++) {
		struct world world = world_of(count, (struct fleet_rules){0});

		deploy(&world, 2);
		settle(&world);
		assert_int_equal(count_version(&world, 2), count);
		assert_true(world.least_healthy + 2 >= count);
		fleet_free(world.fleet);
	}
}

static void test_38_breached_from_outside(void **state)
{
	struct world world = world_at(5, 60);

	(void)state;
	deploy(&world, 2);
	tick(&world);
	assert_int_equal(world.stops, 2);
	for (size_t i = 2; i < 5; i++)
		kill_tasks(&world, i);
	while (count_healthy(&world) < 3) {
		tick(&world);
		assert_int_equal(world.stops, 2);
	}
	recheck_all(&world);
	settle(&world);
	assert_true(world.least_healthy >= 3);
	assert_int_equal(count_version(&world, 2), 5);
	fleet_free(world.fleet);
}

static void test_39_new_version_never_healthy(void **state)
{
	(void)state;
	for (unsigned crashes = 0; crashes < 2; crashes++) {
		struct world world = world_at(5, 60);

		world.crashes[2] = crashes;
		world.never_healthy[2] = !crashes;
		deploy(&world, 2);
		ticks(&world, 60);
		assert_int_equal(world.least_healthy, 3);
		assert_int_equal(count_version(&world, 1), 3);
		assert_int_equal(world.stops, 2);
		/* S16: not more often than the backoff lets it. */
		assert_true(world.starts[2] <= 2 * 60 / BACKOFF_TICKS);
		fleet_free(world.fleet);
	}
}

static void test_40_second_bad_update_eats_no_more(void **state)
{
	struct world world = world_at(5, 60);

	(void)state;
	for (unsigned version = 2; version < 6; version++) {
		world.crashes[version] = version % 2 == 0;
		world.never_healthy[version] = version % 2;
		deploy(&world, version);
		ticks(&world, 20);
		assert_int_equal(count_version(&world, 1), 3);
	}
	assert_int_equal(world.least_healthy, 3);
	/* And a good one goes through. */
	deploy(&world, 6);
	settle(&world);
	assert_int_equal(world.least_healthy, 3);
	assert_int_equal(count_version(&world, 6), 5);
	fleet_free(world.fleet);
}

static void test_41_two_updates_within_the_warm_up(void **state)
{
	for (unsigned after = 1; after < 6; after++) {
		struct world world = world_at(5, 60);

		(void)state;
		deploy(&world, 2);
		ticks(&world, after);
		deploy(&world, 3);
		settle(&world);
		assert_int_equal(world.least_healthy, 3);
		assert_int_equal(world.most_on_one, 1);
		assert_int_equal(count_version(&world, 3), 5);
		fleet_free(world.fleet);
	}
}

static void test_43_a_stuck_instance_does_not_stop_the_fleet(void **state)
{
	struct world world = world_at(5, 60);

	(void)state;
	world.places[1].stops_hang = true;
	deploy(&world, 2);
	ticks(&world, 60);
	assert_int_equal(count_version(&world, 2), 4);
	assert_int_equal(world.least_healthy, 3);
	assert_int_equal(fleet_blocked(world.fleet).cause, FLEET_HANGS);
	assert_int_equal(fleet_blocked(world.fleet).instance, 1);
	world.places[1].stops_hang = false;
	settle(&world);
	assert_int_equal(count_version(&world, 2), 5);
	fleet_free(world.fleet);
}

/* The version has another name and the same tasks: the caller gives them out as the target's. */
static void test_45_only_the_instance_group_changed(void **state)
{
	struct world world = world_at(4, 60);
	unsigned ids[4];

	(void)state;
	for (size_t i = 0; i < 4; i++)
		ids[i] = world.places[i].tasks[0].id;
	add_place(&world);
	world.places[0].matches = false;
	deploy(&world, 1);
	settle(&world);
	assert_int_equal(world.places[0].task_count, 0);
	for (size_t i = 1; i < 4; i++)
		assert_int_equal(world.places[i].tasks[0].id, ids[i]);
	assert_int_equal(world.places[4].task_count, 1);
	assert_int_equal(world.stops, 1);
	fleet_free(world.fleet);
}

static void test_48_old_task_dies_before_its_batch(void **state)
{
	struct world world = world_at(5, 60);

	(void)state;
	world.never_healthy[2] = true;
	deploy(&world, 2);
	ticks(&world, 5);
	kill_tasks(&world, 4);
	tick(&world);
	assert_int_equal(world.places[4].task_count, 1);
	assert_int_equal(world.places[4].tasks[0].version, 1);
	ticks(&world, 20);
	assert_int_equal(count_version(&world, 1), 3);
	/* Its turn comes when the batch before is healthy. */
	world.never_healthy[2] = false;
	settle(&world);
	assert_int_equal(count_version(&world, 2), 5);
	fleet_free(world.fleet);
}

static void test_48_an_old_version_that_fails_is_handed_over(void **state)
{
	struct world world = world_at(5, 60);

	(void)state;
	world.crashes[1] = true;
	for (size_t i = 0; i < 5; i++)
		kill_tasks(&world, i);
	keep_only(&world);
	ticks(&world, 3);
	deploy(&world, 2);
	settle(&world);
	assert_int_equal(count_version(&world, 2), 5);
	fleet_free(world.fleet);
}

static void test_52_stopped_is_silent(void **state)
{
	struct world world = world_at(10, 70);

	(void)state;
	deploy(&world, 2);
	while (count_version(&world, 2) < 3)
		tick(&world);
	ticks(&world, 1);
	world.rules.mode = FLEET_SILENT;
	fleet_configure(world.fleet, &world.rules);
	add_place(&world);
	kill_tasks(&world, 9);
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(tick(&world), 0);
	/* Started again, it continues. */
	deploy(&world, 2);
	settle(&world);
	assert_int_equal(count_version(&world, 2), 11);
	fleet_free(world.fleet);
}

static void test_deleting_with_tasks(void **state)
{
	struct world world = world_at(3, 100);

	(void)state;
	world.places[2].state = ROLLOUT_INSTANCE_DRAINING;
	world.places[2].others_left = true;
	world.rules.mode = FLEET_REMOVES;
	fleet_configure(world.fleet, &world.rules);
	settle(&world);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(world.places[i].task_count, 0);
	fleet_free(world.fleet);
}

static void test_canary_first_and_alone(void **state)
{
	struct world world = world_at(6, 50);

	(void)state;
	world.rules.canary_instances = 2;
	deploy(&world, 2);
	ticks(&world, 20);
	assert_int_equal(count_version(&world, 2), 2);
	assert_int_equal(count_version(&world, 1), 4);
	assert_int_equal(fleet_blocked(world.fleet).cause, FLEET_CANARY);
	kill_tasks(&world, 5);
	ticks(&world, 5);
	assert_int_equal(world.places[5].tasks[0].version, 1);
	world.rules.canary_instances = 0;
	deploy(&world, 2);
	settle(&world);
	assert_int_equal(count_version(&world, 2), 6);
	fleet_free(world.fleet);
}

static void test_excess_is_stopped_and_no_more(void **state)
{
	struct world world = world_at(2, 100);
	unsigned id = world.places[0].tasks[0].id;

	(void)state;
	keep_only(&world);
	add_task(&world, 0, 1, ROLLOUT_PENDING); /* a start that came late */
	settle(&world);
	assert_int_equal(world.places[0].task_count, 1);
	assert_int_equal(world.places[0].tasks[0].id, id);
	assert_int_equal(world.stops, 1);
	fleet_free(world.fleet);
}

/* ---- everything at once ---- */

#define SEEDS 1500
#define WILD_TICKS 80

static unsigned draw(struct random_seeded *random, unsigned limit)
{
	return (unsigned)random_below(&random->random, limit);
}

static void happen_at(struct world *world, struct random_seeded *random, size_t index)
{
	struct place *place = &world->places[index];

	if (draw(random, 30) == 0)
		kill_tasks(world, index);
	if (draw(random, 30) == 0 && place->task_count)
		place->tasks[draw(random, (unsigned)place->task_count)].class = ROLLOUT_UNHEALTHY;
	if (draw(random, 60) == 0 && place->task_count < 3 && place->state != ROLLOUT_INSTANCE_GONE)
		add_task(world, index, 1 + draw(random, world->target), ROLLOUT_PENDING);
	if (draw(random, 25) == 0)
		place->stops_hang = draw(random, 2);
	if (draw(random, 25) == 0)
		place->backoff[draw(random, VERSIONS_MAX)] = draw(random, 6);
	if (draw(random, 25) == 0)
		place->matches = draw(random, 4) > 0;
	if (draw(random, 25) == 0) {
		place->state = draw(random, 2) ? ROLLOUT_INSTANCE_ACTIVE : draw(random, 4);
		place->others_left = draw(random, 2);
		place->awaited = draw(random, 2);
		if (place->state == ROLLOUT_INSTANCE_GONE)
			*place = (struct place){.state = ROLLOUT_INSTANCE_GONE};
	}
}

static void happen(struct world *world, struct random_seeded *random)
{
	for (size_t i = 0; i < world->count; i++)
		happen_at(world, random, i);
	if (draw(random, 15) == 0 && world->count < PLACES_MAX)
		add_place(world);
	if (draw(random, 12) == 0 && world->target + 1 < VERSIONS_MAX) {
		deploy(world, world->target + 1);
		world->crashes[world->target] = draw(random, 4) == 0;
		world->never_healthy[world->target] = draw(random, 4) == 0;
	}
	if (draw(random, 20) == 0) {
		world->rules.mode = (enum fleet_mode)draw(random, FLEET_REMOVES);
		fleet_configure(world->fleet, &world->rules);
	}
}

static void calm(struct world *world)
{
	world->random = NULL;
	world->rules.canary_instances = 0;
	world->rules.minimum_requested = false; /* which always leaves room */
	memset(world->crashes, 0, sizeof(world->crashes));
	memset(world->never_healthy, 0, sizeof(world->never_healthy));
	for (size_t i = 0; i < world->count; i++)
		world->places[i].stops_hang = world->places[i].awaited = false;
	deploy(world, world->target);
}

static void live_one_seed(uint64_t seed)
{
	struct random_seeded random;
	struct world world;

	random_seeded_init(&random, seed);
	world = world_of(1 + draw(&random, 8),
		(struct fleet_rules){
			.minimum_requested = draw(&random, 2),
			.minimum_healthy_percent = 25 * draw(&random, 4),
			.replace_first = draw(&random, 2),
			.maximum_over_percent = 25 * draw(&random, 5),
			.canary_instances = draw(&random, 3),
		});
	world.random = &random;
	for (unsigned i = 0; i < WILD_TICKS; i++) {
		happen(&world, &random);
		report_all(&world);
		act(&world); /* the fleet still counts skipped actions as done */
		act(&world);
		for (size_t j = 0; j < world.count; j++)
			live_place(&world, &world.places[j]);
	}
	calm(&world);
	settle(&world);
	for (size_t i = 0; i < world.count; i++) {
		const struct place *place = &world.places[i];

		if (place->state == ROLLOUT_INSTANCE_ACTIVE)
			assert_int_equal(place->task_count, place->matches);
		if (is_wanted(place))
			assert_int_equal(place->tasks[0].version, world.target);
	}
	fleet_free(world.fleet);
}

static void test_wild_lives_come_to_their_end(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		live_one_seed(seed);
	print_message("%u stops of needed healthy tasks, %u second tasks\n", checked_minimum,
		checked_surge);
	assert_true(checked_minimum > SEEDS && checked_surge > SEEDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_13_14_first_deployment_and_nothing_after),
		cmocka_unit_test(test_16_empty_cluster_is_complete),
		cmocka_unit_test(test_26_attributes_change_live),
		cmocka_unit_test(test_29_draining_last_out),
		cmocka_unit_test(test_30_disconnected_is_left_alone),
		cmocka_unit_test(test_30_unreachable_stops_no_task),
		cmocka_unit_test(test_34_terminate_then_replace),
		cmocka_unit_test(test_35_scale_up_in_the_middle),
		cmocka_unit_test(test_37_all_healthy_needs_a_second_task),
		cmocka_unit_test(test_37_default_never_blocks),
		cmocka_unit_test(test_38_breached_from_outside),
		cmocka_unit_test(test_39_new_version_never_healthy),
		cmocka_unit_test(test_40_second_bad_update_eats_no_more),
		cmocka_unit_test(test_41_two_updates_within_the_warm_up),
		cmocka_unit_test(test_43_a_stuck_instance_does_not_stop_the_fleet),
		cmocka_unit_test(test_45_only_the_instance_group_changed),
		cmocka_unit_test(test_48_old_task_dies_before_its_batch),
		cmocka_unit_test(test_48_an_old_version_that_fails_is_handed_over),
		cmocka_unit_test(test_52_stopped_is_silent),
		cmocka_unit_test(test_deleting_with_tasks),
		cmocka_unit_test(test_canary_first_and_alone),
		cmocka_unit_test(test_excess_is_stopped_and_no_more),
		cmocka_unit_test(test_wild_lives_come_to_their_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
