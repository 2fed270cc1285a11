/*
 * Which tasks of a daemon to start and to stop next: one task on each instance that is active and
 * matches. An instance that joins gets its task at once; one that matches no longer loses it; a draining
 * one keeps it until all other tasks have left (last out) and gets none.
 *
 * A new version goes from instance to instance:
 *   - stop, then start (maximum percent 100): an instance never has two tasks, and a healthy old task is
 *     stopped only while more than ceil(N * minimum healthy percent / 100) instances have a healthy task;
 *   - start, then stop (above 100): at most floor(N * (maximum percent - 100) / 100) instances have two tasks;
 *     where a second one cannot be started for lack of resources, stop comes first if the minimum allows.
 * N is the number of active matching instances that can be reached. What is down for other reasons and
 * stops that hang use up the same budget, so a bad version or a second update never takes more instances
 * out of service than one update may. An instance that cannot be reached is left as it is.
 */
#ifndef ROLLOUT_INSTANCES_H
#define ROLLOUT_INSTANCES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "rollout/rollout.h"

enum rollout_version { ROLLOUT_CURRENT, ROLLOUT_OLD, ROLLOUT_VERSION_COUNT };

struct rollout_instance {
	enum rollout_instance_state state;
	bool matches;     /* false everywhere when the daemon is to be gone */
	bool others_left; /* draining: tasks other than daemons' are still here */
	/* Whether a task of the current version cannot be started here now, and why. */
	enum rollout_blocker blocker;
	unsigned tasks[ROLLOUT_VERSION_COUNT][ROLLOUT_CLASS_COUNT];
	unsigned stopping;
};

struct rollout_instances {
	const struct rollout_instance *instances;
	size_t count;
	unsigned minimum_healthy_percent; /* 0..100 */
	unsigned maximum_percent;         /* 100..200; less is taken as 100 */
};

/* One task on one instance: a start is of the current version. */
struct rollout_instance_action {
	enum rollout_action_type type;
	size_t instance;
	enum rollout_version version;
	enum rollout_class class; /* stops only */
};

struct rollout_instance_plan {
	struct rollout_instance_action *actions;
	size_t action_count;
	enum rollout_blocked blocked; /* only when there are no actions */
	size_t blocked_instance;      /* the first that is blocked for that reason */
	unsigned wanted;              /* N */
	unsigned healthy;             /* of those, with a healthy task of any version */
	unsigned updated;             /* of those, with a healthy task of the current version */
	unsigned lower;               /* healthy ones that must stay */
	unsigned surge;               /* instances that may have two tasks */
	bool complete; /* every one of N has a healthy current task and, but for stopping ones, no other; none
			  where none is wanted */
	bool steady; /* complete, and nothing is stopping */
};

/* The actions live in the arena. */
void rollout_plan_instances(const struct rollout_instances *instances, struct arena *arena,
	struct rollout_instance_plan *ret_plan);

#endif
