/*
 * A runtime that keeps replicas itself, and checks every call of a server. Calls may
 * get lost, late or repeated behind this; what is asked for must be right at the moment of asking:
 *
 * - a group is applied only as its service or task set is wanted now: its PRIMARY deployment, its percentages,
 *   and as many tasks as are wanted, or more by those that are being replaced, within maximumPercent;
 * - a group is removed only when its service or task set is gone or going;
 * - a task of a service is never started by us;
 * - a task is asked to end only when that is written down, when its targets are gone and its name is forgotten;
 *   one that is not written down only if its group or its version is unknown;
 * - an end is acknowledged only when it is written down, or when its task does not exist;
 * - a gate is opened only when the task has become RUNNING, which is when load balancers find it healthy;
 * - instances are closed to new tasks when they are DRAINING, and open when they are ACTIVE.
 */
#ifndef SIM_SERVICE_WATCHED_RUNTIME_H
#define SIM_SERVICE_WATCHED_RUNTIME_H

#include "sim/service/service_checker.h"

/* Takes the inner one, and closes it when it is closed. */
struct runtime *watched_runtime_new(struct runtime *inner, struct runner *runner,
	struct service_checker *checker);

#endif
