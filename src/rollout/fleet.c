/*
 * Each instance is in exactly one list, by what it needs (fleet_need.h), and its part of the totals is
 * added when it comes and subtracted when it changes. The budget is judged on the totals before each single
 * action, and each action is taken as done at once, in the way that costs the budget most: so any part of
 * the actions keeps the bounds that all of them keep.
 */
#include "rollout/fleet.h"

#include <assert.h>

#include "base/memory.h"
#include "base/seeded_bug.h"
#include "rollout/fleet_need.h"
#include "rollout/index_set.h"

#define SLOTS_MIN 16u

struct slot {
	struct fleet_instance now;
	uint8_t need;
	bool added;
};

/* Totals that only the budget needs. */
struct totals {
	unsigned surging;       /* have two tasks, or are handed over while an older task serves */
	unsigned outdated_down; /* for FLEET_BUG_OLD_IS_FREE */
};

struct fleet {
	struct fleet_rules rules;
	struct slot *slots;
	uint32_t capacity;
	uint32_t count; /* slots that were ever given out */
	struct index_set free;
	struct index_set needs[FLEET_NEED_COUNT];
	struct fleet_counts counts;
	struct totals totals;
	unsigned trusted; /* healthy ones at the beginning of a plan, for FLEET_BUG_STALE_HEALTHY */
	unsigned events;  /* for FLEET_BUG_THREADS */
};

static const char *const cause_names[FLEET_CAUSE_COUNT] = {
	[FLEET_NO_CAUSE] = "",
	[FLEET_HELD] = "HELD",
	[FLEET_UNREACHABLE] = "UNREACHABLE",
	[FLEET_CANARY] = "CANARY",
	[FLEET_MINIMUM] = "MIN_HEALTHY",
	[FLEET_UNSATISFIABLE] = "MIN_HEALTHY_UNSATISFIABLE",
	[FLEET_STARTING] = "STARTING",
	[FLEET_STOPPING] = "STOPPING",
	[FLEET_HANGS] = "STOP_HANGS",
	[FLEET_BACKOFF] = "BACKOFF",
	[FLEET_PLACEMENT] = "PLACEMENT",
	[FLEET_RESOURCES] = "RESOURCES",
	[FLEET_UNSTARTABLE] = "UNSTARTABLE",
};

const char *fleet_cause_name(enum fleet_cause cause)
{
	return cause_names[cause];
}

/* ---- totals ---- */

static void count_wanted(struct fleet *fleet, const struct fleet_instance *now,
	const struct fleet_view *view, unsigned by)
{
	struct fleet_counts *counts = &fleet->counts;
	const unsigned *target = now->tasks[FLEET_TARGET], *old = now->tasks[FLEET_OLD];
	const unsigned *other = now->tasks[FLEET_OTHER];
	bool launching = target[ROLLOUT_PENDING] || target[ROLLOUT_STARTING] ||
			 old[ROLLOUT_PENDING] || old[ROLLOUT_STARTING] || other[ROLLOUT_PENDING] ||
			 other[ROLLOUT_STARTING];
	unsigned live = view->target + view->older;
	bool doubled = live + now->stopping > 1, handed = view->handed;

	counts->total += by;
	if (view->healthy)
		counts->active += by;
	else if (launching)
		counts->launching += by;
	else if (live)
		counts->unhealthy += by;
	else
		counts->missing += by;
	counts->outdated += view->older ? by : 0;
	counts->updated += live == 1 && view->target_healthy ? by : 0;
	counts->proved += handed && view->target_healthy ? by : 0;
	counts->unproved += handed && !view->target_healthy ? by : 0;
	counts->moving += handed && !view->healthy ? by : 0;
	counts->doubled += doubled ? by : 0;
	fleet->totals.surging +=
		doubled || (handed && view->older && !view->target_healthy) ? by : 0;
	fleet->totals.outdated_down += view->older && !view->healthy ? by : 0;
}

/* by: 1, or -1 to take it back. */
static void count(struct fleet *fleet, const struct fleet_instance *now, unsigned by)
{
	struct fleet_counts *counts = &fleet->counts;
	struct fleet_view view = fleet_view(&fleet->rules, now);
	bool unreachable = now->state == ROLLOUT_INSTANCE_UNREACHABLE && now->matches;
	unsigned live = view.target + view.older;

	if (view.wanted)
		count_wanted(fleet, now, &view, by);
	counts->unreachable += unreachable ? by : 0;
	counts->awaited += unreachable && now->awaited ? by : 0;
	/* An instance that is no longer awaited is no canary: another one is chosen. */
	counts->handed_over +=
		view.handed && (view.wanted || (unreachable && now->awaited)) ? by : 0;
	counts->draining +=
		now->state == ROLLOUT_INSTANCE_DRAINING && live + now->stopping > 0 ? by : 0;
	counts->unwanted += view.reached && !view.wanted && !view.keeps && live > 0 ? by : 0;
	counts->stopping += view.reached && now->stopping > 0 ? by : 0;
}

static void set_bounds(struct fleet *fleet)
{
	const struct fleet_rules *rules = &fleet->rules;
	struct fleet_counts *counts = &fleet->counts;
	unsigned total = counts->total + counts->awaited;
	unsigned percent = rules->minimum_requested ? rules->minimum_healthy_percent
						    : FLEET_MINIMUM_HEALTHY_DEFAULT;
	unsigned required = rollout_percent_up(total, percent);

	if (required > total)
		required = total;
	if (!rules->minimum_requested && required == total && total > 0)
		required--;
	counts->required = required;
	counts->allowed_down = total - required;
	counts->surge = 0;
	if (rules->replace_first)
		counts->surge = rollout_percent_down(counts->total, rules->maximum_over_percent);
}

/* ---- instances ---- */

/* Takes an instance out of the totals and lists, and puts it in again. */
static void leave(struct fleet *fleet, uint32_t index)
{
	struct slot *slot = &fleet->slots[index];

	count(fleet, &slot->now, -1u);
	index_set_remove(&fleet->needs[slot->need], index);
}

static void enter(struct fleet *fleet, uint32_t index)
{
	struct slot *slot = &fleet->slots[index];

	count(fleet, &slot->now, 1);
	slot->need = (uint8_t)fleet_need(&fleet->rules, &slot->now);
	if (slot->need != FLEET_NO_CAUSE)
		index_set_add(&fleet->needs[slot->need], index);
	set_bounds(fleet);
}

struct fleet *fleet_new(void)
{
	return memory_allocate(sizeof(struct fleet));
}

void fleet_free(struct fleet *fleet)
{
	if (!fleet)
		return;
	for (size_t i = 0; i < FLEET_NEED_COUNT; i++)
		index_set_clear(&fleet->needs[i]);
	index_set_clear(&fleet->free);
	free(fleet->slots);
	free(fleet);
}

static bool is_same(const struct fleet_rules *a, const struct fleet_rules *b)
{
	return a->mode == b->mode && a->minimum_requested == b->minimum_requested &&
	       a->minimum_healthy_percent == b->minimum_healthy_percent &&
	       a->replace_first == b->replace_first &&
	       a->maximum_over_percent == b->maximum_over_percent &&
	       a->canary_instances == b->canary_instances && a->bug == b->bug;
}

void fleet_configure(struct fleet *fleet, const struct fleet_rules *rules)
{
	if (is_same(&fleet->rules, rules))
		return;
	for (uint32_t i = 0; i < fleet->count; i++)
		leave(fleet, i);
	fleet->rules = *rules;
	for (uint32_t i = 0; i < fleet->count; i++)
		enter(fleet, i);
	set_bounds(fleet);
}

static void grow(struct fleet *fleet)
{
	fleet->capacity = fleet->capacity ? fleet->capacity * 2 : SLOTS_MIN;
	fleet->slots = memory_resize(fleet->slots, fleet->capacity * sizeof(*fleet->slots));
	for (size_t i = 0; i < FLEET_NEED_COUNT; i++)
		index_set_reserve(&fleet->needs[i], fleet->capacity);
	index_set_reserve(&fleet->free, fleet->capacity);
}

uint32_t fleet_add(struct fleet *fleet)
{
	uint32_t index = index_set_next(&fleet->free, 0);

	if (index == INDEX_SET_NONE) {
		if (fleet->count == FLEET_INSTANCES_MAX)
			return FLEET_NO_INSTANCE;
		if (fleet->count == fleet->capacity)
			grow(fleet);
		index = fleet->count++;
	}
	index_set_remove(&fleet->free, index);
	fleet->slots[index] = (struct slot){
		.now.state = ROLLOUT_INSTANCE_GONE,
		.added = true,
	};
	return index;
}

void fleet_remove(struct fleet *fleet, uint32_t index)
{
	static const struct fleet_instance gone = {.state = ROLLOUT_INSTANCE_GONE};

	fleet_set(fleet, index, &gone);
	fleet->slots[index].added = false;
	index_set_add(&fleet->free, index);
}

void fleet_set(struct fleet *fleet, uint32_t index, const struct fleet_instance *now)
{
	assert(index < fleet->count && fleet->slots[index].added);
	leave(fleet, index);
	fleet->slots[index].now = *now;
	enter(fleet, index);
	fleet->events++;
}

const struct fleet_instance *fleet_get(const struct fleet *fleet, uint32_t index)
{
	assert(index < fleet->count && fleet->slots[index].added);
	return &fleet->slots[index].now;
}

const struct fleet_counts *fleet_counts(const struct fleet *fleet)
{
	return &fleet->counts;
}

/* ---- the budget ---- */

/* Whether one more healthy task may go. */
static bool has_spare(const struct fleet *fleet)
{
	const struct fleet_counts *counts = &fleet->counts;

	if (SEEDED_BUG(fleet->rules.bug == FLEET_BUG_STALE_HEALTHY))
		return fleet->trusted > counts->required;
	if (SEEDED_BUG(fleet->rules.bug == FLEET_BUG_OLD_IS_FREE))
		return counts->active + fleet->totals.outdated_down > counts->required;
	if (SEEDED_BUG(fleet->rules.bug == FLEET_BUG_THREADS))
		return counts->active + fleet->events > counts->required;
	return counts->active > counts->required;
}

static bool is_canary_full(const struct fleet *fleet)
{
	return fleet->rules.canary_instances &&
	       fleet->counts.handed_over >= fleet->rules.canary_instances &&
	       !SEEDED_BUG(fleet->rules.bug == FLEET_BUG_NO_CANARY);
}

/* Whether one more instance may be handed over. */
static bool has_room(const struct fleet *fleet)
{
	const struct fleet_counts *counts = &fleet->counts;
	unsigned pace = counts->allowed_down > counts->surge ? counts->allowed_down : counts->surge;

	if (fleet->rules.mode != FLEET_ROLLS || is_canary_full(fleet))
		return false;
	return counts->moving < (pace ? pace : 1) ||
	       SEEDED_BUG(fleet->rules.bug == FLEET_BUG_NO_PACE);
}

static bool may_double(const struct fleet *fleet, unsigned used)
{
	return used < fleet->counts.surge || SEEDED_BUG(fleet->rules.bug == FLEET_BUG_DOUBLE);
}

/* Whether those with this need may be served now: the same for all of them. */
static bool is_allowed(const struct fleet *fleet, unsigned need)
{
	switch (need) {
	case FLEET_NEED_HAND_DOWN: return has_room(fleet);
	case FLEET_NEED_GIVE_UP: return has_spare(fleet);
	case FLEET_NEED_DOUBLE:
		return fleet->counts.surge ? may_double(fleet, fleet->counts.doubled)
					   : has_spare(fleet);
	case FLEET_NEED_SURGE:
		return has_room(fleet) &&
		       (fleet->counts.surge ? may_double(fleet, fleet->totals.surging)
					    : has_spare(fleet));
	case FLEET_NEED_REPLACE: return has_room(fleet) && has_spare(fleet);
	default: return true;
	}
}

/* The most urgent need that may be met, or FLEET_NEED_COUNT. */
static unsigned choose(const struct fleet *fleet)
{
	unsigned need = FLEET_NEED_REMOVE;

	while (need < FLEET_NEED_COUNT && !(fleet->needs[need].count && is_allowed(fleet, need)))
		need++;
	return need;
}

/* ---- acting ---- */

static struct fleet_action start(uint32_t index, enum fleet_version version, bool hands_over)
{
	return (struct fleet_action){
		.type = ROLLOUT_START,
		.instance = index,
		.version = version,
		.hands_over = hands_over,
	};
}

/* Of the only task that is there. */
static struct fleet_action stop(const struct fleet *fleet, uint32_t index, bool hands_over)
{
	const struct fleet_instance *now = &fleet->slots[index].now;
	struct fleet_action action = {
		.type = ROLLOUT_STOP,
		.instance = index,
		.hands_over = hands_over,
	};

	for (unsigned i = 0; i < FLEET_VERSION_COUNT * ROLLOUT_CLASS_COUNT; i++)
		if (now->tasks[i / ROLLOUT_CLASS_COUNT][i % ROLLOUT_CLASS_COUNT]) {
			action.version = (enum fleet_version)(i / ROLLOUT_CLASS_COUNT);
			action.class = (enum rollout_class)(i % ROLLOUT_CLASS_COUNT);
			break;
		}
	return action;
}

/* When only tasks of the target version stay, the instance belongs to it. */
static struct fleet_action stop_excess(const struct fleet *fleet, uint32_t index)
{
	const struct fleet_instance *now = &fleet->slots[index].now;
	struct fleet_view view = fleet_view(&fleet->rules, now);
	struct fleet_action action = {.type = ROLLOUT_STOP, .instance = index};

	fleet_excess(&fleet->rules, now, &view, &action.version, &action.class);
	action.hands_over = view.wanted && view.target > 0 && view.older == 1 &&
			    action.version != FLEET_TARGET &&
			    now->assigned != FLEET_ASSIGNED_TARGET;
	return action;
}

static struct fleet_action meet(const struct fleet *fleet, unsigned need, uint32_t index)
{
	const struct fleet_instance *now = &fleet->slots[index].now;
	bool room = has_room(fleet), doubles = fleet->counts.surge > 0;
	bool empty = fleet_view(&fleet->rules, now).older == 0;

	switch (need) {
	case FLEET_NEED_REMOVE: return stop_excess(fleet, index);
	case FLEET_NEED_START:
		return start(index, FLEET_TARGET, now->assigned != FLEET_ASSIGNED_TARGET);
	case FLEET_NEED_RESTART:
		if (room && now->blocker == ROLLOUT_BLOCKER_NONE)
			return start(index, FLEET_TARGET, true);
		return start(index, FLEET_OLD, false);
	case FLEET_NEED_REPAIR_OLD: return stop(fleet, index, room && fleet_may_help(now->blocker));
	case FLEET_NEED_HAND_DOWN:
		return empty ? start(index, FLEET_TARGET, true) : stop(fleet, index, true);
	case FLEET_NEED_DOUBLE:
		return doubles ? start(index, FLEET_TARGET, false) : stop(fleet, index, false);
	case FLEET_NEED_SURGE:
		return doubles ? start(index, FLEET_TARGET, true) : stop(fleet, index, true);
	case FLEET_NEED_REPLACE: return stop(fleet, index, true);
	default: /* FLEET_NEED_REPAIR, FLEET_NEED_GIVE_UP */ return stop(fleet, index, false);
	}
}

static void take_as_done(struct fleet *fleet, const struct fleet_action *action)
{
	struct fleet_instance *now = &fleet->slots[action->instance].now;

	leave(fleet, action->instance);
	if (action->hands_over) {
		now->assigned = FLEET_ASSIGNED_TARGET;
		now->old_blocker = ROLLOUT_BLOCKER_NONE;
	}
	if (action->type == ROLLOUT_START) {
		now->tasks[action->version][ROLLOUT_PENDING]++;
	} else {
		now->tasks[action->version][action->class]--;
		now->stopping++;
	}
	enter(fleet, action->instance);
}

size_t fleet_next(struct fleet *fleet, struct fleet_action *actions, size_t max)
{
	size_t built = 0;

	fleet->trusted = fleet->counts.active;
	while (built < max) {
		unsigned need = choose(fleet);

		if (need == FLEET_NEED_COUNT)
			break;
		actions[built] = meet(fleet, need, index_set_next(&fleet->needs[need], 0));
		take_as_done(fleet, &actions[built++]);
	}
	return built;
}

/* ---- how it stands ---- */

bool fleet_complete(const struct fleet *fleet)
{
	const struct fleet_counts *counts = &fleet->counts;

	return counts->updated == counts->total && counts->unwanted == 0;
}

bool fleet_steady(const struct fleet *fleet)
{
	return fleet_complete(fleet) && fleet->counts.stopping == 0;
}

/* Why a need is not met. */
static enum fleet_cause cause_of_need(const struct fleet *fleet, unsigned need, uint32_t index)
{
	const struct fleet_counts *counts = &fleet->counts;
	bool handed = need == FLEET_NEED_GIVE_UP || need == FLEET_NEED_DOUBLE;

	if (is_allowed(fleet, need))
		return FLEET_NO_CAUSE;
	if (!handed && is_canary_full(fleet))
		return FLEET_CANARY;
	if (counts->allowed_down > 0 || need == FLEET_NEED_HAND_DOWN)
		return FLEET_MINIMUM;
	if (counts->surge == 0)
		return FLEET_UNSATISFIABLE;
	return fleet->slots[index].now.blocker == ROLLOUT_RESOURCES ? FLEET_RESOURCES
								    : FLEET_MINIMUM;
}

/* The cause of one. */
static enum fleet_cause fleet_cause(const struct fleet *fleet, uint32_t index)
{
	unsigned need = fleet->slots[index].need;

	return need < FLEET_CAUSE_COUNT ? (enum fleet_cause)need
					: cause_of_need(fleet, need, index);
}

struct fleet_reason fleet_blocked(const struct fleet *fleet)
{
	struct fleet_reason reason = {FLEET_NO_INSTANCE, FLEET_NO_CAUSE};

	if (choose(fleet) != FLEET_NEED_COUNT || fleet_steady(fleet))
		return reason;
	for (unsigned need = FLEET_NO_CAUSE + 1; need < FLEET_NEED_COUNT; need++) {
		uint32_t first = index_set_next(&fleet->needs[need], 0);
		enum fleet_cause cause;

		if (first == INDEX_SET_NONE)
			continue;
		cause = fleet_cause(fleet, first);
		if (cause > reason.cause)
			reason = (struct fleet_reason){first, cause};
	}
	return reason;
}

static size_t report(const struct fleet *fleet, unsigned need, struct fleet_reason *reasons,
	size_t max)
{
	const struct index_set *set = &fleet->needs[need];
	uint32_t index = index_set_next(set, 0);
	size_t built = 0;

	for (; index != INDEX_SET_NONE && built < max; index = index_set_next(set, index + 1)) {
		enum fleet_cause cause = fleet_cause(fleet, index);

		if (cause == FLEET_NO_CAUSE)
			break; /* these may be served now, all of them */
		reasons[built++] = (struct fleet_reason){index, cause};
	}
	return built;
}

size_t fleet_reasons(const struct fleet *fleet, struct fleet_reason *reasons, size_t max)
{
	size_t built = 0;

	/* Blocked instances and those in motion, those that wait for them, and the others. */
	for (unsigned need = FLEET_CAUSE_COUNT; need-- > FLEET_UNSATISFIABLE + 1;)
		built += report(fleet, need, reasons + built, max - built);
	for (unsigned need = FLEET_CAUSE_COUNT; need < FLEET_NEED_COUNT; need++)
		built += report(fleet, need, reasons + built, max - built);
	for (unsigned need = FLEET_UNSATISFIABLE + 1; need-- > FLEET_NO_CAUSE + 1;)
		built += report(fleet, need, reasons + built, max - built);
	return built;
}
