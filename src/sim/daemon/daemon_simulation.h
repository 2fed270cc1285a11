/*
 * Daemon environments in a world where everything goes wrong, from one seed. Two servers with the real managers,
 * claims and state service work on one store. Clients of two accounts create, update, deploy, roll back, stop and
 * delete environments through the real API, with definitions that work, are slow, crash, hang or are unhealthy.
 * Instances join, leave, drain, disconnect, come back under another id and change their attributes; tasks start,
 * die, become unhealthy and stop slowly. Servers crash (also just before and after a commit) and are paused for
 * longer than a lease, commits fail, clients ask twice with one token, and everything is restarted from its file,
 * the end of which may be torn.
 * In some runs the clusters are remote: calls fail, are throttled, get lost before and after they were done, are
 * answered in part or from an older state, outlive their caller or its timeout, and events are lost,
 * repeated, late, out of order, malformed, and many at once, or nothing is heard of them for minutes.
 * Then the faults end, and every environment must become what was last asked for, and stay so without another call.
 *
 * What is checked all the time is in daemon_checker.h; how often each property was put to the test is counted.
 */
#ifndef SIM_DAEMON_DAEMON_SIMULATION_H
#define SIM_DAEMON_DAEMON_SIMULATION_H

#include <stdio.h>

#include "environment/model/bug.h"
#include "sim/daemon/daemon_checker.h"

struct daemon_simulation {
	enum daemon_bug bug;
	unsigned instances;    /* at most, of the largest cluster; 0: a few */
	unsigned environments; /* that there can be; 0: a few */
	unsigned hours;        /* of virtual time with faults; 0: some minutes */
	/* An existing folder for the store's file, which some seeds use; emptied again. NULL: memory only. */
	const char *folder;
	FILE *trace; /* NULL: none */
	bool trace_steps;
	FILE *progress; /* a line for each hour of a long run; NULL: none */
};

struct daemon_simulation_result {
	uint64_t hash; /* same seed, same program: same hash */
	uint64_t steps;
	int64_t virtual_us;
	uint64_t starts, stops; /* of tasks */
	unsigned requests, refused, crashes, pauses, jumps, failed_commits, restarts, repeats;
	unsigned instance_changes, task_deaths, lost_calls, late_calls, lost_events;
	unsigned unexpected_calls, stale_reads, malformed_events, bursts, silences, torn_commits;
	uint64_t exercised[DAEMON_PROPERTY_COUNT];
};

/* 0, or -EBADMSG with the first property that was broken, or another code when the simulation itself could not run.
 * The result is filled in both of the first two cases; it may be NULL. */
int daemon_simulation_run(uint64_t seed, const struct daemon_simulation *simulation,
	struct daemon_simulation_result *ret_result, struct err *err);

/* Scenarios of daemon_simulation_crash(), from docs/environments.md. */
#define DAEMON_COURSES(X)                                                                          \
	X(STARTS, "13: one task for each of two instances")                                        \
	X(ROLLS, "34: another version on five instances, three of them healthy all the time")      \
	X(STOPS, "52: a rollout is stopped in the middle")                                         \
	X(ROLLS_BACK, "55: the version before comes back")                                         \
	X(DELETED, "57: deleting is refused while it rolls out, and done when that was stopped")   \
	X(JOINED, "22: two instances join two others")                                             \
	X(REPAIRED, "24: a task dies, and another one takes its place")                            \
	X(SURGES, "37: another version on five instances, where the new task starts first")        \
	X(CANARY, "70: another version on five instances, after a canary")                         \
	X(FAILS, "39: a version that does not work, after which the one before comes back")        \
	X(MOVES, "46: three instances of one cluster instead of two of another one")               \
	X(DRAINED, "29: one of three instances drains, and comes back")                            \
	X(REMOTE_STARTS, "70: one task for each of two remote instances")                          \
	X(REMOTE_ROLLS, "70: another version on five remote instances")                            \
	X(REMOTE_DELETED, "70: a remote environment is deleted with its tasks")                    \
	X(SERVICE_STARTS, "70: a service of three tasks")                                          \
	X(SERVICE_ROLLS, "70: another version of it")                                              \
	X(SERVICE_ROLLS_BACK, "70: the version of the service before comes back")                  \
	X(SERVICE_DELETED, "70: the service goes with its environment")                            \
	X(CRON_RUNS, "70: a schedule of a run a minute, until there were three")
enum daemon_course {
#define X(name, meaning) DAEMON_COURSE_##name,
	DAEMON_COURSES(X)
#undef X
		DAEMON_COURSE_COUNT
};
extern const char *const daemon_course_meanings[DAEMON_COURSE_COUNT];

struct daemon_kill {
	enum daemon_course course;
	unsigned
		point; /* a commit, from 1, counted from the client's first request on; 0: nothing stops */
	/* It became durable; else before. A call of ECS is a commit, too: done, or not; a remote call is a point of its
	 * own: not sent, or done without an answer. A received answer is before the next commit. */
	bool after;
	const char *folder;
	FILE *trace; /* NULL: none */
};

/*
 * One course of things in which everything stops at one point and starts again from the file; no other faults.
 * *ret_points is how many there were: when that is fewer than kill->point, nothing was stopped. *ret_end describes
 * the end, the same for every point; free it.
 */
int daemon_simulation_crash(const struct daemon_kill *kill, unsigned *ret_points, char **ret_end,
	struct err *err);

#endif
