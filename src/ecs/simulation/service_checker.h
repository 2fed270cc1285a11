/*
 * The one who checks. It follows every change of the store in order and is told of every program that starts
 * and ends in the simulated world, and tells of the first rule that is broken:
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
 * - no service is written over and over again.
 *
 * What it compares with is the moment of the decision, so that a client who changes the numbers while tasks
 * are on their way breaks no rule.
 */
#ifndef ECS_SIMULATION_SERVICE_CHECKER_H
#define ECS_SIMULATION_SERVICE_CHECKER_H

#include "ecs/service_kind.h"
#include "runtime/simulated/simulated.h"

struct service_checker;

struct service_checker *service_checker_new(struct runner *runner, bool nothing_dies,
	void (*broken)(void *context, const char *rule), void *context);
void service_checker_free(struct service_checker *checker); /* NULL is fine */

/* Follows a store from now on, until it is closed. */
int service_checker_follow(struct service_checker *checker, struct store *store, struct err *err);
void service_checker_unfollow(struct service_checker *checker);
/* Looks at what has changed since. */
void service_checker_look(struct service_checker *checker);
/* For the world's configuration. */
struct simulated_observer service_checker_observer(struct service_checker *checker);
/* A start of a task that was given up arrived late: such programs are still to be stopped. */
unsigned service_checker_late_programs(const struct service_checker *checker);
/* Whether the program of this token runs now. */
bool service_checker_runs(const struct service_checker *checker, struct span token);
/* Every exit that was seen is in its task. */
void service_checker_check_exits(struct service_checker *checker);

#endif
