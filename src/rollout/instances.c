/*
 * Each instance is decided alone; what they share is the budget: how many healthy ones may still be given
 * up, and on how many a second task may still be started. Both are counted on what came in and only go
 * down, so any part of the plan keeps them.
 */
#include "rollout/instances.h"

#include "base/memory.h"

struct work {
	const struct rollout_instances *in;
	struct rollout_instance_plan plan;
	size_t capacity;
	unsigned spare;  /* healthy instances beyond the lower bound */
	unsigned surges; /* second tasks that may still be started */
	bool stopping;
	bool incomplete;
};

/* From the one that is worth least. */
static const enum rollout_class by_worth[ROLLOUT_CLASS_COUNT] = {
	ROLLOUT_UNHEALTHY, ROLLOUT_PENDING, ROLLOUT_STARTING, ROLLOUT_HEALTHY};

static unsigned count_of(const struct rollout_instance *instance, enum rollout_version version)
{
	unsigned count = 0;

	for (unsigned c = 0; c < ROLLOUT_CLASS_COUNT; c++)
		count += instance->tasks[version][c];
	return count;
}

static bool has_healthy(const struct rollout_instance *instance, enum rollout_version version)
{
	return instance->tasks[version][ROLLOUT_HEALTHY] > 0;
}

static bool is_wanted(const struct rollout_instance *instance)
{
	return instance->state == ROLLOUT_INSTANCE_ACTIVE && instance->matches;
}

static void add(struct work *work, struct arena *arena, struct rollout_instance_action action)
{
	struct rollout_instance_plan *plan = &work->plan;

	if (plan->action_count == work->capacity) {
		struct rollout_instance_action *more;

		work->capacity = work->capacity ? work->capacity * 2 : 16;
		more = arena_allocate_array(arena, work->capacity, sizeof(*more));
		if (plan->action_count)
			memcpy(more, plan->actions, plan->action_count * sizeof(*more));
		plan->actions = more;
	}
	plan->actions[plan->action_count++] = action;
}

static void start(struct work *work, struct arena *arena, size_t index)
{
	add(work, arena,
		(struct rollout_instance_action){
			.type = ROLLOUT_START,
			.instance = index,
			.version = ROLLOUT_CURRENT,
		});
}

/* All tasks of a version but the best `kept` ones. */
static void stop_all_but(struct work *work, struct arena *arena, size_t index,
	enum rollout_version version, unsigned kept)
{
	const struct rollout_instance *instance = &work->in->instances[index];
	unsigned count = count_of(instance, version);

	for (size_t c = 0; c < LENGTH(by_worth); c++)
		for (unsigned i = instance->tasks[version][by_worth[c]]; i > 0 && count > kept;
			i--, count--)
			add(work, arena,
				(struct rollout_instance_action){
					.type = ROLLOUT_STOP,
					.instance = index,
					.version = version,
					.class = by_worth[c],
				});
}

/* ---- one instance ---- */

/* It has no task of the current version, and one of an old. */
static void replace(struct work *work, struct arena *arena, size_t index)
{
	const struct rollout_instance *instance = &work->in->instances[index];
	bool may_help =
		instance->blocker == ROLLOUT_BLOCKER_NONE || instance->blocker == ROLLOUT_RESOURCES;

	if (!may_help)
		return; /* the old one is better than none */
	if (!has_healthy(instance, ROLLOUT_OLD)) {
		stop_all_but(work, arena, index, ROLLOUT_OLD, 0);
	} else if (work->plan.surge && instance->blocker == ROLLOUT_BLOCKER_NONE) {
		if (!work->surges || instance->stopping)
			return;
		work->surges--;
		start(work, arena, index);
	} else if (work->spare) {
		work->spare--;
		stop_all_but(work, arena, index, ROLLOUT_OLD, 0);
	}
}

/* It has one task of the current version. */
static void finish(struct work *work, struct arena *arena, size_t index)
{
	const struct rollout_instance *instance = &work->in->instances[index];

	if (instance->tasks[ROLLOUT_CURRENT][ROLLOUT_UNHEALTHY]) {
		/* It is started again when it is gone. */
		if (instance->blocker == ROLLOUT_BLOCKER_NONE)
			stop_all_but(work, arena, index, ROLLOUT_CURRENT, 0);
		return;
	}
	if (has_healthy(instance, ROLLOUT_CURRENT) || !has_healthy(instance, ROLLOUT_OLD)) {
		stop_all_but(work, arena, index, ROLLOUT_OLD, 0);
	} else if (!work->plan.surge && work->spare) {
		/* Two tasks instead of one: the result of a late start. */
		work->spare--;
		stop_all_but(work, arena, index, ROLLOUT_OLD, 0);
	}
}

static void plan_wanted(struct work *work, struct arena *arena, size_t index)
{
	const struct rollout_instance *instance = &work->in->instances[index];
	unsigned current = count_of(instance, ROLLOUT_CURRENT);
	unsigned old = count_of(instance, ROLLOUT_OLD);

	if (current > 1)
		stop_all_but(work, arena, index, ROLLOUT_CURRENT, 1);
	else if (old > 1)
		stop_all_but(work, arena, index, ROLLOUT_OLD, 1);
	else if (current == 1)
		finish(work, arena, index);
	else if (old == 1)
		replace(work, arena, index);
	else if (!instance->stopping && instance->blocker == ROLLOUT_BLOCKER_NONE)
		start(work, arena, index);
	if (current != 1 || old > 0 || !has_healthy(instance, ROLLOUT_CURRENT))
		work->incomplete = true;
}

static bool keeps(const struct rollout_instance *instance)
{
	return instance->state == ROLLOUT_INSTANCE_DRAINING && instance->matches &&
	       instance->others_left;
}

static bool is_reached(const struct rollout_instance *instance)
{
	return instance->state == ROLLOUT_INSTANCE_ACTIVE ||
	       instance->state == ROLLOUT_INSTANCE_DRAINING;
}

static void plan_one(struct work *work, struct arena *arena, size_t index)
{
	const struct rollout_instance *instance = &work->in->instances[index];

	if (!is_reached(instance))
		return;
	if (instance->stopping)
		work->stopping = true;
	if (is_wanted(instance)) {
		plan_wanted(work, arena, index);
	} else if (!keeps(instance)) {
		stop_all_but(work, arena, index, ROLLOUT_OLD, 0);
		stop_all_but(work, arena, index, ROLLOUT_CURRENT, 0);
	}
}

/* ---- all of them ---- */

static void count_all(struct work *work)
{
	const struct rollout_instances *in = work->in;
	struct rollout_instance_plan *plan = &work->plan;
	unsigned doubled = 0;

	for (size_t i = 0; i < in->count; i++) {
		const struct rollout_instance *instance = &in->instances[i];

		if (!is_wanted(instance))
			continue;
		plan->wanted++;
		if (has_healthy(instance, ROLLOUT_CURRENT) || has_healthy(instance, ROLLOUT_OLD))
			plan->healthy++;
		if (has_healthy(instance, ROLLOUT_CURRENT))
			plan->updated++;
		if (count_of(instance, ROLLOUT_CURRENT) + count_of(instance, ROLLOUT_OLD) +
				instance->stopping >
			1)
			doubled++;
	}
	plan->lower = rollout_percent_up(plan->wanted, in->minimum_healthy_percent);
	if (plan->lower > plan->wanted)
		plan->lower = plan->wanted;
	if (in->maximum_percent > 100)
		plan->surge = rollout_percent_down(plan->wanted, in->maximum_percent - 100);
	work->spare = plan->healthy > plan->lower ? plan->healthy - plan->lower : 0;
	work->surges = plan->surge > doubled ? plan->surge - doubled : 0;
}

static enum rollout_blocked reason_of(const struct rollout_instance *instance)
{
	static const enum rollout_blocked of_blocker[] = {
		[ROLLOUT_BACKOFF] = ROLLOUT_BLOCKED_BACKOFF,
		[ROLLOUT_PLACEMENT] = ROLLOUT_BLOCKED_PLACEMENT,
		[ROLLOUT_RESOURCES] = ROLLOUT_BLOCKED_RESOURCES,
		[ROLLOUT_UNSTARTABLE] = ROLLOUT_BLOCKED_UNSTARTABLE,
	};
	const unsigned *current = instance->tasks[ROLLOUT_CURRENT];

	if (!is_wanted(instance))
		return instance->stopping && is_reached(instance) ? ROLLOUT_WAITS
								  : ROLLOUT_NOT_BLOCKED;
	if (instance->stopping || current[ROLLOUT_PENDING] || current[ROLLOUT_STARTING])
		return ROLLOUT_WAITS;
	if (has_healthy(instance, ROLLOUT_CURRENT))
		return ROLLOUT_NOT_BLOCKED;
	return instance->blocker ? of_blocker[instance->blocker] : ROLLOUT_BLOCKED_NO_ROOM;
}

/* An instance that waits for room waits for those that are blocked or in motion. */
static void find_reason(struct work *work)
{
	static const unsigned weights[] = {
		[ROLLOUT_NOT_BLOCKED] = 0,
		[ROLLOUT_BLOCKED_NO_ROOM] = 1,
		[ROLLOUT_WAITS] = 2,
		[ROLLOUT_BLOCKED_PLACEMENT] = 3,
		[ROLLOUT_BLOCKED_RESOURCES] = 3,
		[ROLLOUT_BLOCKED_BACKOFF] = 3,
		[ROLLOUT_BLOCKED_UNSTARTABLE] = 3,
	};

	for (size_t i = 0; i < work->in->count; i++) {
		enum rollout_blocked reason = reason_of(&work->in->instances[i]);

		if (weights[reason] <= weights[work->plan.blocked])
			continue;
		work->plan.blocked = reason;
		work->plan.blocked_instance = i;
	}
}

void rollout_plan_instances(const struct rollout_instances *instances, struct arena *arena,
	struct rollout_instance_plan *ret_plan)
{
	struct work work = {.in = instances};

	count_all(&work);
	for (size_t i = 0; i < instances->count; i++)
		plan_one(&work, arena, i);
	work.plan.complete = work.plan.action_count == 0 && !work.incomplete;
	work.plan.steady = work.plan.complete && !work.stopping;
	if (work.plan.action_count == 0 && !work.plan.steady)
		find_reason(&work);
	*ret_plan = work.plan;
}
