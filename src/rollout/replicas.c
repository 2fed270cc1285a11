/*
 * Stops are taken from a copy of the counts, so that each step sees what the steps before it have left.
 * Starts are decided on the counts as they came: a stop of the same plan makes no room before it has
 * taken effect.
 */
#include "rollout/replicas.h"

#include <string.h>

#include "base/memory.h"

struct work {
	const struct rollout_replicas *in;
	struct rollout_replica_group *left; /* when all stops so far have taken effect */
	unsigned lower, upper;
	unsigned healthy;  /* left, of all groups */
	unsigned live;     /* as it came, stopping ones included */
	unsigned stopping; /* as it came */
	unsigned stops;    /* so far */
	unsigned deficit;  /* of the target */
	unsigned starts;
};

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* a - b, but not below 0. */
static unsigned beyond(unsigned a, unsigned b)
{
	return a > b ? a - b : 0;
}

static unsigned count_left(const struct work *work, size_t group, enum rollout_class class,
	enum rollout_place place)
{
	return work->left[group].tasks[class][place].count;
}

static unsigned target_left(const struct work *work, enum rollout_class class,
	enum rollout_place place)
{
	return count_left(work, work->in->target, class, place);
}

/* Stops up to `most` of these, as far as protection and the lower bound allow. Says how many. */
static unsigned stop(struct work *work, size_t group, enum rollout_class class,
	enum rollout_place place, unsigned most)
{
	struct rollout_cell *cell = &work->left[group].tasks[class][place];
	unsigned count = least(most, beyond(cell->count, cell->protected));

	if (class == ROLLOUT_HEALTHY) {
		count = least(count, beyond(work->healthy, work->lower));
		work->healthy -= count;
	}
	cell->count -= count;
	work->stops += count;
	return count;
}

/* Up to `most` of a class of all groups that are to go, oldest first. Says how many. */
static unsigned stop_old(struct work *work, enum rollout_class class, enum rollout_place place,
	unsigned most)
{
	unsigned rest = most;

	for (size_t i = 0; i < work->in->group_count; i++)
		if (i != work->in->target)
			rest -= stop(work, i, class, place, rest);
	return most - rest;
}

static unsigned count_old(const struct work *work, enum rollout_class class)
{
	unsigned count = 0;

	for (size_t i = 0; i < work->in->group_count; i++)
		if (i != work->in->target)
			count += count_left(work, i, class, ROLLOUT_STAYS) +
				 count_left(work, i, class, ROLLOUT_MOVES);
	return count;
}

/* ---- the steps ---- */

static void count_all(struct work *work)
{
	for (size_t i = 0; i < work->in->group_count; i++) {
		const struct rollout_replica_group *group = &work->in->groups[i];

		for (unsigned c = 0; c < ROLLOUT_CLASS_COUNT; c++)
			for (unsigned p = 0; p < ROLLOUT_PLACE_COUNT; p++)
				work->live += group->tasks[c][p].count;
		for (unsigned p = 0; p < ROLLOUT_PLACE_COUNT; p++)
			work->healthy += group->tasks[ROLLOUT_HEALTHY][p].count;
		work->stopping += group->stopping;
	}
	work->live += work->stopping;
}

/* Stops tasks that are of no use. */
static void stop_useless(struct work *work)
{
	static const enum rollout_class classes[] = {ROLLOUT_UNHEALTHY, ROLLOUT_PENDING};

	for (size_t i = 0; i < LENGTH(classes); i++) {
		stop_old(work, classes[i], ROLLOUT_MOVES, UINT32_MAX);
		stop_old(work, classes[i], ROLLOUT_STAYS, UINT32_MAX);
	}
	stop(work, work->in->target, ROLLOUT_PENDING, ROLLOUT_MOVES, UINT32_MAX);
}

/* Those of the target that are to be replaced stay only in place of replacements that are not healthy
 * yet. The least useful go first. */
static void stop_replaced(struct work *work)
{
	static const struct {
		enum rollout_class class;
		enum rollout_place place;
	} order[] = {
		{ROLLOUT_UNHEALTHY, ROLLOUT_MOVES},
		{ROLLOUT_STARTING, ROLLOUT_MOVES},
		{ROLLOUT_UNHEALTHY, ROLLOUT_STAYS},
		{ROLLOUT_HEALTHY, ROLLOUT_MOVES},
	};
	unsigned kept =
		beyond(work->in->desired, target_left(work, ROLLOUT_HEALTHY, ROLLOUT_STAYS));
	unsigned count = 0, rest;

	for (size_t i = 0; i < LENGTH(order); i++)
		count += target_left(work, order[i].class, order[i].place);
	rest = beyond(count, kept);
	for (size_t i = 0; i < LENGTH(order); i++)
		rest -= stop(work, work->in->target, order[i].class, order[i].place, rest);
}

static unsigned count_good(const struct work *work)
{
	return target_left(work, ROLLOUT_PENDING, ROLLOUT_STAYS) +
	       target_left(work, ROLLOUT_STARTING, ROLLOUT_STAYS) +
	       target_left(work, ROLLOUT_HEALTHY, ROLLOUT_STAYS);
}

static void scale_in(struct work *work)
{
	static const enum rollout_class order[] = {
		ROLLOUT_PENDING, ROLLOUT_STARTING, ROLLOUT_HEALTHY};
	unsigned rest = beyond(count_good(work), work->in->desired);

	for (size_t i = 0; i < LENGTH(order); i++)
		rest -= stop(work, work->in->target, order[i], ROLLOUT_STAYS, rest);
}

static void start(struct work *work)
{
	work->deficit = beyond(work->in->desired, count_good(work));
	work->starts = least(least(work->deficit, work->in->starts_allowed),
		beyond(work->upper, work->live));
}

/* Old tasks that serve, or soon may, make place as the target's become healthy. */
static void stop_covered(struct work *work)
{
	unsigned rest = beyond(work->healthy, work->in->desired);

	rest -= stop_old(work, ROLLOUT_HEALTHY, ROLLOUT_MOVES, rest);
	stop_old(work, ROLLOUT_HEALTHY, ROLLOUT_STAYS, rest);
	rest = beyond(count_old(work, ROLLOUT_STARTING), beyond(work->in->desired, work->healthy));
	rest -= stop_old(work, ROLLOUT_STARTING, ROLLOUT_MOVES, rest);
	stop_old(work, ROLLOUT_STARTING, ROLLOUT_STAYS, rest);
}

/* Starts that are wanted and find no room, neither now nor when all stops have taken effect: stop first. */
static void make_room(struct work *work)
{
	const struct rollout_replicas *in = work->in;
	unsigned wanted = work->deficit, room = beyond(work->upper, work->live), rest;

	if (in->blocker == ROLLOUT_RESOURCES)
		room = least(room, in->starts_allowed);
	else
		wanted = least(wanted, in->starts_allowed);
	rest = beyond(wanted, room + work->stopping + work->stops);
	rest -= stop(work, in->target, ROLLOUT_UNHEALTHY, ROLLOUT_MOVES, rest);
	rest -= stop(work, in->target, ROLLOUT_STARTING, ROLLOUT_MOVES, rest);
	rest -= stop(work, in->target, ROLLOUT_UNHEALTHY, ROLLOUT_STAYS, rest);
	rest -= stop_old(work, ROLLOUT_STARTING, ROLLOUT_MOVES, rest);
	rest -= stop_old(work, ROLLOUT_STARTING, ROLLOUT_STAYS, rest);
	rest -= stop_old(work, ROLLOUT_HEALTHY, ROLLOUT_MOVES, rest);
	rest -= stop_old(work, ROLLOUT_HEALTHY, ROLLOUT_STAYS, rest);
	stop(work, in->target, ROLLOUT_HEALTHY, ROLLOUT_MOVES, rest);
}

/* ---- the answer ---- */

static void add_actions(const struct work *work, struct arena *arena,
	struct rollout_replica_plan *plan)
{
	static const enum rollout_class order[ROLLOUT_CLASS_COUNT] = {
		ROLLOUT_UNHEALTHY, ROLLOUT_PENDING, ROLLOUT_STARTING, ROLLOUT_HEALTHY};
	const struct rollout_replicas *in = work->in;
	const size_t most = in->group_count * ROLLOUT_CLASS_COUNT * ROLLOUT_PLACE_COUNT + 1;

	if (!work->starts && !work->stops)
		return;
	plan->actions = arena_allocate_array(arena, most, sizeof(*plan->actions));
	if (work->starts)
		plan->actions[plan->action_count++] = (struct rollout_replica_action){
			.type = ROLLOUT_START,
			.group = in->target,
			.count = work->starts,
		};
	for (size_t c = 0; c < LENGTH(order); c++)
		for (size_t i = 0; i < in->group_count; i++)
			for (unsigned p = ROLLOUT_PLACE_COUNT; p-- > 0;) {
				unsigned count = in->groups[i].tasks[order[c]][p].count -
						 count_left(work, i, order[c], p);

				if (count)
					plan->actions[plan->action_count++] =
						(struct rollout_replica_action){
							.type = ROLLOUT_STOP,
							.group = i,
							.count = count,
							.class = order[c],
							.place = p,
						};
			}
}

/* The plan is empty: finds the tasks in motion and the blocker. */
static enum rollout_blocked find_reason(const struct work *work)
{
	static const enum rollout_blocked of_blocker[] = {
		[ROLLOUT_BLOCKER_NONE] = ROLLOUT_BLOCKED_BACKOFF,
		[ROLLOUT_BACKOFF] = ROLLOUT_BLOCKED_BACKOFF,
		[ROLLOUT_PLACEMENT] = ROLLOUT_BLOCKED_PLACEMENT,
		[ROLLOUT_RESOURCES] = ROLLOUT_BLOCKED_RESOURCES,
		[ROLLOUT_UNSTARTABLE] = ROLLOUT_BLOCKED_UNSTARTABLE,
	};
	bool moves = work->stopping > 0, protected = false;

	if (work->deficit && !work->in->starts_allowed)
		return of_blocker[work->in->blocker];
	for (size_t i = 0; i < work->in->group_count; i++)
		for (unsigned c = 0; c < ROLLOUT_CLASS_COUNT; c++)
			for (unsigned p = 0; p < ROLLOUT_PLACE_COUNT; p++) {
				const struct rollout_cell *cell = &work->left[i].tasks[c][p];

				if (cell->protected)
				protected = true;
				if (cell->count > cell->protected &&
					(c == ROLLOUT_PENDING || c == ROLLOUT_STARTING))
					moves = true;
			}
	if (moves)
		return ROLLOUT_WAITS;
	return protected ? ROLLOUT_BLOCKED_PROTECTED : ROLLOUT_BLOCKED_NO_ROOM;
}

void rollout_plan_replicas(const struct rollout_replicas *replicas, struct arena *arena,
	struct rollout_replica_plan *ret_plan)
{
	struct rollout_replica_plan plan = {0};
	struct work work = {
		.in = replicas,
		.lower = least(replicas->desired,
			rollout_percent_up(replicas->desired, replicas->minimum_healthy_percent)),
		.upper = rollout_percent_down(replicas->desired, replicas->maximum_percent),
	};
	unsigned healthy;

	if (work.upper < replicas->desired)
		work.upper = replicas->desired;
	work.left = arena_allocate_array(arena, replicas->group_count, sizeof(*work.left));
	memcpy(work.left, replicas->groups, replicas->group_count * sizeof(*work.left));
	count_all(&work);
	stop_useless(&work);
	stop_replaced(&work);
	scale_in(&work);
	start(&work);
	stop_covered(&work);
	make_room(&work);

	plan.lower = work.lower;
	plan.upper = work.upper;
	add_actions(&work, arena, &plan);
	healthy = target_left(&work, ROLLOUT_HEALTHY, ROLLOUT_STAYS);
	plan.complete = plan.action_count == 0 && healthy == replicas->desired &&
			work.live - work.stopping == healthy;
	plan.steady = plan.complete && work.stopping == 0;
	if (plan.action_count == 0 && !plan.steady)
		plan.blocked = plan.complete ? ROLLOUT_WAITS : find_reason(&work);
	*ret_plan = plan;
}
