/*
 * Services in a world where everything goes wrong, from one seed. Two servers with the real service
 * controller work on one store; one of them has machines of the simulated world, with the real task controller
 * and the real maintainer of instances. Clients create, update, scale, redeploy and delete services through the
 * real API, with definitions that work, are slow, crash, do not start or are unhealthy. Meanwhile servers
 * crash (also just before and after a commit) and are paused, commits fail, calls to the runtime get lost,
 * arrive late or twice, notices are lost, tasks die, instances die, drain and come back, and everything is
 * restarted from its file. Services are behind load balancers and have names; a plane that is a few draws of
 * chance makes their targets healthy, unhealthy and drained. Then the faults end, and every service must become
 * what was last asked for.
 *
 * What is checked all the time is in service_checker.h. Checked at the end: exactly the wanted tasks of the
 * newest definition run and are healthy, one deployment is left and is completed, nothing else runs, no exit
 * code is lost, and no acknowledged request is.
 *
 * With `groups` the world keeps replicas itself, as Kubernetes does, and groups are deleted behind everybody's
 * back, too. What is asked of it is checked at the moment of asking (watched_runtime.h).
 */
#ifndef SIM_SERVICE_SERVICE_SIMULATION_H
#define SIM_SERVICE_SERVICE_SIMULATION_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

/* Seeded bugs (base/seeded_bug.h): the simulation has to find each of them. */
#define SERVICE_BUGS(X)                                                                            \
	X(NONE, "none", "no deliberate bug")                                                       \
	X(IGNORE_MINIMUM, "ignore-minimum", "minimumHealthyPercent is taken for 0")                \
	X(IGNORE_MAXIMUM, "ignore-maximum", "maximumPercent is taken for 1000")                    \
	X(FORGET_STOP, "forget-stop", "tasks of older deployments are left running")               \
	X(COUNT_RUNNING, "count-running", "tasks that do not run yet are not counted")             \
	X(STALE_COUNTS, "stale-counts", "plans are made from the last view instead of head")       \
	X(REPEAT_EVENTS, "repeat-events", "a state of a service is reported in every pass")        \
	X(DOUBLE_START, "double-start", "a failed start is repeated with another token")           \
	X(LOSE_STOP, "lose-stop", "a failed stop is taken for done")                               \
	X(LOSE_EXIT, "lose-exit", "the runtime drops an exit before it is stored")                 \
	X(READ_AS_EMPTY, "read-as-empty", "a task that could not be read is taken for unknown")    \
	X(DEAF, "deaf", "changes lost by a slow feed are not listed again")                        \
	X(STOP_REGISTERED, "stop-registered", "a task is stopped before its traffic has left")     \
	X(REGISTER_EARLY, "register-early", "a task is registered before it is healthy")           \
	X(LOSE_DIRTY, "lose-dirty", "a key added during its pass is not queued again")             \
	X(APPLY_ONCE, "apply-once", "groups: an applied group is not applied again")               \
	X(REMOVE_ONCE, "remove-once", "groups: a failed removal is taken for done")                \
	X(OPEN_EARLY, "open-early", "groups: a gate is opened before traffic comes")               \
	X(END_UNKNOWN, "end-unknown", "groups: tasks that the runtime made are taken for orphans")
/* This one and those after it need a runtime that keeps replicas itself. */
#define SERVICE_BUG_GROUPS SERVICE_BUG_APPLY_ONCE
enum service_bug {
#define X(name, text, meaning) SERVICE_BUG_##name,
	SERVICE_BUGS(X)
#undef X
		SERVICE_BUG_COUNT
};
extern const char *const service_bug_names[SERVICE_BUG_COUNT];
extern const char *const service_bug_meanings[SERVICE_BUG_COUNT];

struct service_simulation {
	enum service_bug bug;
	/* The runtime keeps replicas itself, as Kubernetes does, and group_controller.h applies services to it. */
	bool groups;
	/* An existing folder for the store's file, which some seeds use; emptied again. NULL: memory only. */
	const char *folder;
	FILE *trace; /* NULL: none */
	bool trace_steps;
};

struct service_simulation_result {
	uint64_t hash; /* same seed, same program: same hash */
	uint64_t steps;
	int64_t virtual_us;
	uint64_t programs; /* that were started */
	unsigned requests, refused, crashes, pauses, overflows, failed_commits, restarts;
	unsigned lost_calls, late_calls, lost_notices, task_deaths, instance_deaths, late_programs;
	unsigned group_deletions;
};

/* 0, or -EBADMSG with the first rule that was broken, or another code when the simulation itself could not
 * run. The result is filled in both of the first two cases; it may be NULL. */
int service_simulation_run(uint64_t seed, const struct service_simulation *simulation,
	struct service_simulation_result *ret_result, struct err *err);

/* Scenarios of service_simulation_crash(). */
enum service_course {
	SERVICE_COURSE_ROLLS,      /* a new version takes the place of the old one */
	SERVICE_COURSE_ROLLS_BACK, /* a new version crashes, and the old one comes back */
	SERVICE_COURSE_DELETED,    /* all tasks stop, and it is INACTIVE */
	SERVICE_COURSE_COUNT
};

struct service_kill {
	enum service_course course;
	unsigned commit; /* from 1, counted from the client's request on; 0: no server is killed */
	bool after;      /* it became durable; else before */
	bool groups;     /* as above */
	const char *folder;
	FILE *trace; /* NULL: none */
};

/*
 * One course of things in which the server is killed at one commit and starts again from the file. No other
 * faults. *ret_commits is how many commits there were from the client's request on: when that is fewer than
 * kill->commit, no server was killed. *ret_end describes the end, the same for every commit; free it.
 */
int service_simulation_crash(const struct service_kill *kill, unsigned *ret_commits, char **ret_end,
	struct err *err);

#endif
