/*
 * Which tasks of a REPLICA service to start and to stop next: a rolling deployment, scaling, replacing of
 * unhealthy tasks and moving away from draining instances are one rule. It works on counts, so its cost
 * depends on the number of groups (deployments) and not on that of tasks.
 *
 * The target group is to have `desired` tasks in the end, all others none. In between:
 *   - no start while the tasks of all groups, stopping ones included, are as many as the upper bound,
 *     floor(desired * maximum percent / 100), at least desired;
 *   - no stop of a healthy task while the healthy ones of all groups are as few as the lower bound,
 *     ceil(desired * minimum healthy percent / 100), at most desired.
 * Both are judged for the worst order in which actions of one plan can take effect.
 *
 * Replacing starts first where the upper bound leaves room, and stops first where it does not and the lower
 * one does. Tasks that do not count as healthy go before those that do.
 *
 * A task set of an EXTERNAL service is scaled on its own: plan each alone, with one group and
 * computedDesiredCount as desired; the percentages then bound only the moving and replacing of its tasks.
 */
#ifndef ROLLOUT_REPLICAS_H
#define ROLLOUT_REPLICAS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "rollout/rollout.h"

/* Tasks of one class. Protected ones (scale-in protection) are among the count and are never stopped;
 * whether protection holds for unhealthy tasks is the caller's choice. */
struct rollout_cell {
	unsigned count;
	unsigned protected;
};

enum rollout_place {
	ROLLOUT_STAYS,
	ROLLOUT_MOVES, /* on a draining instance: must be replaced on another one */
	ROLLOUT_PLACE_COUNT
};

struct rollout_replica_group {
	struct rollout_cell tasks[ROLLOUT_CLASS_COUNT][ROLLOUT_PLACE_COUNT];
	unsigned stopping; /* asked to stop, still there */
};

struct rollout_replicas {
	unsigned desired;
	unsigned minimum_healthy_percent;
	unsigned maximum_percent;
	const struct rollout_replica_group *groups; /* oldest first */
	size_t group_count;
	size_t target; /* index of the group that replaces the others (PRIMARY) */
	/* How many of the target may be started now; UINT_MAX if there is no limit. When less than
	 * needed, blocker has the reason. */
	unsigned starts_allowed;
	enum rollout_blocker blocker;
};

struct rollout_replica_action {
	enum rollout_action_type type;
	size_t group;
	unsigned count;
	/* Stops: which tasks. Protected ones of the cell are not meant. */
	enum rollout_class class;
	enum rollout_place place;
};

struct rollout_replica_plan {
	struct rollout_replica_action *actions; /* the least important task is stopped first */
	size_t action_count;
	enum rollout_blocked blocked; /* only when there are no actions */
	unsigned lower, upper;        /* the bounds */
	bool complete; /* desired healthy tasks of the target, where they may stay, and no other task
			  except stopping ones */
	bool steady;   /* complete, and nothing is stopping */
};

/* The actions live in the arena. */
void rollout_plan_replicas(const struct rollout_replicas *replicas, struct arena *arena,
	struct rollout_replica_plan *ret_plan);

#endif
