/*
 * The checker. It follows every change of the store in order, and every program that starts
 * and ends in the simulated world, and reports the first rule that is broken:
 *
 * - no task of a REPLICA service is created when that makes more than maximumPercent allows, and never do
 *   more programs run than the largest number that was allowed since;
 * - no healthy task is stopped by its service when that leaves fewer than minimumHealthyPercent wants; where
 *   nothing dies by itself, the programs that run are never fewer either;
 * - no healthy task of a DAEMON service is stopped on an instance where it shall run when that leaves too few
 *   instances with one, and no instance runs two programs of a service that is to have one;
 * - a program starts only for a task that is written down, once, and is ended only if that is written down;
 * - a task is RUNNING only when its program has started, STOPPED only when it does not run, and never goes
 *   back; the exit code of a program that ended by itself is in its task;
 * - a task is registered with a target group or a name only while its program runs and when it is healthy, and
 *   no program is asked to end before its targets are gone and its name is forgotten;
 * - no service is written over and over again.
 *
 * Where the runtime keeps replicas itself, the runtime decides which tasks start and stop, within its
 * bounds: then programs of groups may start before their task is stored and end without a
 * decision, and what holds instead is what watched_runtime.h says.
 *
 * The rules hold at the moment of the decision, so that a client that changes the numbers while tasks
 * are on their way breaks no rule.
 */
#ifndef SIM_SERVICE_SERVICE_CHECKER_H
#define SIM_SERVICE_SERVICE_CHECKER_H

#include "ecs/record/service_kind.h"
#include "runtime/simulated/simulated.h"

struct service_checker;

struct service_checker_config {
	struct runner *runner;
	bool nothing_dies;
	bool groups; /* the runtime keeps replicas itself */
	void (*broken)(void *context, const char *rule);
	void *context;
};

struct service_checker *service_checker_new(const struct service_checker_config *config);
void service_checker_free(struct service_checker *checker); /* NULL is fine */

/* Follows a store from now on, until it is closed. */
int service_checker_follow(struct service_checker *checker, struct store *store, struct err *err);
void service_checker_unfollow(struct service_checker *checker);
/* Looks at what has changed since. */
void service_checker_check(struct service_checker *checker);
/* For the world's configuration. */
struct simulated_observer service_checker_observer(struct service_checker *checker);
/* A start of a task that was given up arrived late: such programs are still to be stopped. */
unsigned service_checker_late_programs(const struct service_checker *checker);
/* Whether the program of this token runs now. */
bool service_checker_runs(const struct service_checker *checker, struct span token);
/* Every exit that was seen is in its task. */
void service_checker_check_exits(struct service_checker *checker);

/* ---- for watched_runtime.c ---- */

/* A rule is broken. */
void service_checker_report(struct service_checker *checker, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The store it follows; NULL while everything is restarted. */
struct store *service_checker_store(const struct service_checker *checker);
/* When clients have forgotten the name of the task, as far as one was taken out; 0. */
int64_t service_checker_forgotten_ms(const struct service_checker *checker, struct span token);
/* The service and the version that a program was started for as one of a group; "" if it was not. */
void service_checker_find_group(const struct service_checker *checker, struct span token,
	struct span *ret_group, struct span *ret_version);

#endif
