#include "rollout/fleet_need.h"

#include "base/memory.h"
#include "base/seeded_bug.h"

struct cell {
	enum fleet_version version;
	enum rollout_class class;
};

#define CELLS (FLEET_VERSION_COUNT * ROLLOUT_CLASS_COUNT)

/* From the task that is worth least. Health counts first, then the version, then how far it has come. */
#define BY_WORTH(third, second, first)                                                             \
	{                                                                                          \
		{third, ROLLOUT_UNHEALTHY}, {second, ROLLOUT_UNHEALTHY},                           \
			{first, ROLLOUT_UNHEALTHY}, {third, ROLLOUT_PENDING},                      \
			{third, ROLLOUT_STARTING}, {second, ROLLOUT_PENDING},                      \
			{second, ROLLOUT_STARTING}, {first, ROLLOUT_PENDING},                      \
			{first, ROLLOUT_STARTING}, {third, ROLLOUT_HEALTHY},                       \
			{second, ROLLOUT_HEALTHY}, {first, ROLLOUT_HEALTHY},                       \
	}

static const struct cell by_worth[CELLS] = BY_WORTH(FLEET_OTHER, FLEET_TARGET, FLEET_OLD);
static const struct cell by_worth_handed[CELLS] = BY_WORTH(FLEET_OTHER, FLEET_OLD, FLEET_TARGET);

static const enum fleet_cause of_blocker[] = {
	[ROLLOUT_BLOCKER_NONE] = FLEET_NO_CAUSE,
	[ROLLOUT_BACKOFF] = FLEET_BACKOFF,
	[ROLLOUT_PLACEMENT] = FLEET_PLACEMENT,
	[ROLLOUT_RESOURCES] = FLEET_RESOURCES,
	[ROLLOUT_UNSTARTABLE] = FLEET_UNSTARTABLE,
};

bool fleet_may_help(enum rollout_blocker blocker)
{
	return blocker == ROLLOUT_BLOCKER_NONE || blocker == ROLLOUT_RESOURCES;
}

static unsigned count_of(const struct fleet_instance *now, enum fleet_version version)
{
	const unsigned *tasks = now->tasks[version];

	return tasks[ROLLOUT_PENDING] + tasks[ROLLOUT_STARTING] + tasks[ROLLOUT_HEALTHY] +
	       tasks[ROLLOUT_UNHEALTHY];
}

struct fleet_view fleet_view(const struct fleet_rules *rules, const struct fleet_instance *now)
{
	bool blind = SEEDED_BUG(rules->bug == FLEET_BUG_BLIND) &&
		     now->state == ROLLOUT_INSTANCE_UNREACHABLE;
	bool active = now->state == ROLLOUT_INSTANCE_ACTIVE || blind;
	bool draining = now->state == ROLLOUT_INSTANCE_DRAINING;
	bool stays = now->matches && rules->mode != FLEET_REMOVES;
	struct fleet_view view = {
		.target = count_of(now, FLEET_TARGET),
		.older = count_of(now, FLEET_OLD) + count_of(now, FLEET_OTHER),
		.target_healthy = now->tasks[FLEET_TARGET][ROLLOUT_HEALTHY] > 0,
		.reached = active || draining,
		.wanted = active && stays,
		.keeps = draining && stays && now->others_left &&
			 !SEEDED_BUG(rules->bug == FLEET_BUG_FIRST_OUT),
	};

	view.healthy = view.target_healthy || now->tasks[FLEET_OLD][ROLLOUT_HEALTHY] ||
		       now->tasks[FLEET_OTHER][ROLLOUT_HEALTHY];
	view.handed = now->assigned == FLEET_ASSIGNED_TARGET ||
		      (view.target > 0 && (view.older == 0 || rules->replace_first));
	return view;
}

/* ---- surplus tasks ---- */

/* The older task serves until the one beside it does. */
static bool is_pair(const struct fleet_rules *rules, const struct fleet_instance *now,
	const struct fleet_view *view)
{
	const unsigned *target = now->tasks[FLEET_TARGET];

	return rules->replace_first && view->wanted && view->healthy && !view->target_healthy &&
	       (target[ROLLOUT_PENDING] || target[ROLLOUT_STARTING]);
}

/* The best one stays and, of a pair, the best one of the target version. */
static void choose_kept(const struct fleet_rules *rules, const struct fleet_instance *now,
	const struct fleet_view *view, const struct cell *order, bool kept[static CELLS])
{
	bool first = true, pair = is_pair(rules, now, view);

	if (!view->wanted && !view->keeps)
		return;
	if (SEEDED_BUG(rules->bug == FLEET_BUG_STOP_ALL) &&
		view->target + view->older + now->stopping > 1)
		return;
	for (size_t i = CELLS; i-- > 0 && (first || pair);) {
		bool target = order[i].version == FLEET_TARGET;

		if (!now->tasks[order[i].version][order[i].class] || (!first && !target))
			continue;
		kept[i] = true;
		pair = pair && !target;
		first = false;
	}
}

bool fleet_excess(const struct fleet_rules *rules, const struct fleet_instance *now,
	const struct fleet_view *view, enum fleet_version *ret_version,
	enum rollout_class *ret_class)
{
	/* Beyond the canary, what the rollout has brought is not taken back to be brought again. */
	bool arrived =
		view->target_healthy && rules->mode == FLEET_ROLLS && rules->canary_instances == 0;
	const struct cell *order = view->handed || arrived ? by_worth_handed : by_worth;
	bool kept[CELLS] = {0};

	if (view->target + view->older == 0)
		return false;
	choose_kept(rules, now, view, order, kept);
	for (size_t i = 0; i < CELLS; i++) {
		if (now->tasks[order[i].version][order[i].class] <= kept[i])
			continue;
		*ret_version = order[i].version;
		*ret_class = order[i].class;
		return true;
	}
	return false;
}

/* ---- one of N ---- */

static unsigned need_stopped(const struct fleet_instance *now)
{
	return now->hangs ? FLEET_HANGS : FLEET_STOPPING;
}

static unsigned need_or(bool possible, unsigned need, enum rollout_blocker blocker)
{
	return possible ? need : (unsigned)of_blocker[blocker];
}

static unsigned need_of_empty(const struct fleet_rules *rules, const struct fleet_instance *now)
{
	bool startable = now->blocker == ROLLOUT_BLOCKER_NONE;

	if (now->stopping && !SEEDED_BUG(rules->bug == FLEET_BUG_HASTY_START))
		return need_stopped(now);
	if (now->assigned != FLEET_ASSIGNED_OLD)
		return need_or(startable, FLEET_NEED_START, now->blocker);
	if (now->old_blocker == ROLLOUT_BLOCKER_NONE)
		return FLEET_NEED_RESTART;
	if (rules->mode == FLEET_ROLLS && startable)
		return FLEET_NEED_HAND_DOWN;
	if (now->old_blocker == ROLLOUT_UNSTARTABLE)
		return need_or(startable && rules->mode == FLEET_KEEPS, FLEET_NEED_START,
			startable ? now->old_blocker : now->blocker);
	return of_blocker[now->old_blocker];
}

/* It has one task, of the target version. */
static unsigned need_of_target(const struct fleet_instance *now)
{
	const unsigned *tasks = now->tasks[FLEET_TARGET];

	if (tasks[ROLLOUT_HEALTHY])
		return now->stopping ? need_stopped(now) : FLEET_NO_CAUSE;
	if (tasks[ROLLOUT_UNHEALTHY])
		return need_or(fleet_may_help(now->blocker), FLEET_NEED_REPAIR, now->blocker);
	return FLEET_STARTING;
}

/* It has one task, an unhealthy one of an older version. */
static unsigned need_of_unhealthy(const struct fleet_rules *rules, const struct fleet_instance *now)
{
	bool replaceable = fleet_may_help(now->blocker);
	bool rolls = rules->mode == FLEET_ROLLS;

	if (now->assigned == FLEET_ASSIGNED_OLD && fleet_may_help(now->old_blocker))
		return FLEET_NEED_REPAIR_OLD;
	if (now->assigned == FLEET_ASSIGNED_TARGET)
		return need_or(replaceable, FLEET_NEED_REPAIR, now->blocker);
	if (rolls)
		return need_or(replaceable, FLEET_NEED_HAND_DOWN, now->blocker);
	if (now->assigned == FLEET_ASSIGNED_OLD && now->old_blocker != ROLLOUT_UNSTARTABLE)
		return of_blocker[now->old_blocker];
	return need_or(replaceable, FLEET_NEED_REPAIR, now->blocker);
}

/* It has one task, of an older version. */
static unsigned need_of_older(const struct fleet_rules *rules, const struct fleet_instance *now,
	const struct fleet_view *view)
{
	bool handed = now->assigned == FLEET_ASSIGNED_TARGET;

	if (now->tasks[FLEET_OLD][ROLLOUT_UNHEALTHY] || now->tasks[FLEET_OTHER][ROLLOUT_UNHEALTHY])
		return need_of_unhealthy(rules, now);
	if (!view->healthy) {
		/* Not for room either: it may have been started because the target had none. */
		if (rules->mode != FLEET_ROLLS || now->blocker != ROLLOUT_BLOCKER_NONE)
			return FLEET_STARTING;
		return handed ? FLEET_NEED_REPAIR : FLEET_NEED_HAND_DOWN;
	}
	if (rules->mode != FLEET_ROLLS)
		return now->stopping ? need_stopped(now) : FLEET_HELD;
	if (!fleet_may_help(now->blocker))
		return of_blocker[now->blocker]; /* the old one is better than none */
	if (!rules->replace_first || now->blocker != ROLLOUT_BLOCKER_NONE)
		return handed ? FLEET_NEED_GIVE_UP : FLEET_NEED_REPLACE;
	if (now->stopping)
		return need_stopped(now);
	return handed ? FLEET_NEED_DOUBLE : FLEET_NEED_SURGE;
}

unsigned fleet_need(const struct fleet_rules *rules, const struct fleet_instance *now)
{
	struct fleet_view view = fleet_view(rules, now);
	enum fleet_version version;
	enum rollout_class class;

	if (rules->mode == FLEET_SILENT)
		return FLEET_NO_CAUSE;
	if (!view.reached)
		return now->state == ROLLOUT_INSTANCE_UNREACHABLE &&
				       (now->matches || view.target || view.older)
			       ? FLEET_UNREACHABLE
			       : FLEET_NO_CAUSE;
	if (fleet_excess(rules, now, &view, &version, &class))
		return FLEET_NEED_REMOVE;
	if (!view.wanted)
		return now->stopping ? need_stopped(now) : FLEET_NO_CAUSE;
	if (view.target + view.older == 0)
		return need_of_empty(rules, now);
	if (view.target + view.older > 1)
		return FLEET_STARTING; /* a pair */
	return view.target ? need_of_target(now) : need_of_older(rules, now, &view);
}
