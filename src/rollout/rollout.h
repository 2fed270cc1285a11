/*
 * Types shared by the planners of this folder. Planners are pure: they read counts, do no I/O, know
 * no time, and return the actions allowed now. The caller may do any part of a plan, in any order,
 * and plan again: the bounds hold at every moment in between.
 */
#ifndef ROLLOUT_ROLLOUT_H
#define ROLLOUT_ROLLOUT_H

#include <stdint.h>

/* For callers that classify tasks: a task without a health check counts as healthy after this time,
 * so that one that crashes at once replaces no other task and completes no rollout. */
#define ROLLOUT_READY_MS INT64_C(1000)

/* How far a task has come that was not asked to stop. Only healthy ones count for the lower bound; all of
 * them, and those that are stopping, count for the upper one. */
enum rollout_class {
	ROLLOUT_PENDING,   /* asked for (an intent is enough), does not run yet */
	ROLLOUT_STARTING,  /* runs; its health is not known yet, or it is in its grace period */
	ROLLOUT_HEALTHY,   /* runs and nothing speaks against it */
	ROLLOUT_UNHEALTHY, /* runs and is judged unhealthy: to be replaced */
	ROLLOUT_CLASS_COUNT
};

enum rollout_instance_state {
	ROLLOUT_INSTANCE_ACTIVE,
	ROLLOUT_INSTANCE_DRAINING,
	ROLLOUT_INSTANCE_UNREACHABLE, /* its agent is away: neither start nor stop */
	ROLLOUT_INSTANCE_GONE,        /* and its tasks with it */
};

enum rollout_action_type { ROLLOUT_START, ROLLOUT_STOP };

/* Why fewer tasks can be started now than are wanted. */
enum rollout_blocker {
	ROLLOUT_BLOCKER_NONE,
	ROLLOUT_BACKOFF,   /* they crash: wait */
	ROLLOUT_PLACEMENT, /* no instance matches: wait */
	ROLLOUT_RESOURCES, /* no instance has room or a free port: stopping another task may help */
	ROLLOUT_UNSTARTABLE, /* not at all: its definition is gone, say */
};

/* Why nothing is done although not all is as wanted. */
enum rollout_blocked {
	ROLLOUT_NOT_BLOCKED,
	ROLLOUT_WAITS,           /* for tasks to start, to become healthy or to stop */
	ROLLOUT_BLOCKED_BACKOFF, /* starts are not allowed now: see rollout_blocker */
	ROLLOUT_BLOCKED_PLACEMENT,
	ROLLOUT_BLOCKED_RESOURCES,
	ROLLOUT_BLOCKED_NO_ROOM,   /* the percentages allow neither a start nor a stop */
	ROLLOUT_BLOCKED_PROTECTED, /* only protected tasks are left to stop */
	ROLLOUT_BLOCKED_UNSTARTABLE,
};

const char *rollout_class_name(enum rollout_class class);       /* "pending" */
const char *rollout_blocked_name(enum rollout_blocked blocked); /* "no room", "" for not blocked */

/* ceil and floor of a percentage of a count. */
unsigned rollout_percent_up(unsigned count, unsigned percent);
unsigned rollout_percent_down(unsigned count, unsigned percent);

#endif
