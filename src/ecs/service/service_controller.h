/*
 * The service controller: creates and stops the tasks of services. One pass over a service is one
 * transaction: it reads head, plans (rollout/), creates tasks, requests stops, moves the states of
 * deployments, and adds events. It keeps no state outside the store, so a crash before the commit
 * undoes all of it and a crash after the commit nothing, and several servers can run at once.
 *
 * Its keys are those of services, and those of clusters ("ACCOUNT/REGION/CLUSTER") when an instance
 * has changed: then every service of the cluster gets a pass.
 */
#ifndef ECS_SERVICE_CONTROLLER_H
#define ECS_SERVICE_CONTROLLER_H

#include "control/controller.h"
#include "ecs/record/service_kind.h"
#include "rollout/rollout.h"

#define SERVICE_STARTS_MAX 100 /* in one transaction; the rest in the next pass */
#define SERVICE_STOPS_MAX 100
/* A task that could not be placed is retried after this time, and when an instance changes. */
#define SERVICE_PLACEMENT_RETRY_MS INT64_C(5000)
/* The same if it waits for daemons that are starting, or if daemons wait for preempted tasks. */
#define SERVICE_DAEMON_RETRY_MS INT64_C(500)
/* A task that has been healthy for this long is a success: failures before it no longer count. */
#define SERVICE_SETTLED_MS INT64_C(10000)
/* Without a health check a task counts for its deployment, which completes only then, after it has
 * run for this long; for SERVICE_SETTLED_MS when tasks of the deployment have failed, or when the
 * circuit breaker is enabled. */
#define SERVICE_READY_MS ROLLOUT_READY_MS
#define SERVICE_BREAKER_LEAST 3
#define SERVICE_BREAKER_MOST 200

extern const struct controller_row service_controller_row;

/* The row's context, or NULL. */
struct service_control {
	/* The runtime keeps replicas itself (group_controller.h): nothing is started here, and a task is stopped
	 * only to be replaced, because it is unhealthy or its instance drains. */
	bool groups;
	/* Reports for the log what a service's tasks or deployments ran into, and that it is over; NULL: no reports.
	 * From a worker, after the commit; must not block. */
	void (*log_transition)(void *context, bool bad, struct span text);
	void *log_context;
	/* For simulations: bugs that they must find. */
	bool bug_ignore_minimum; /* takes minimumHealthyPercent for 0 */
	bool bug_ignore_maximum; /* takes maximumPercent for 1000 */
	bool bug_forget_stop;    /* tasks of older deployments are left running */
	bool bug_count_running;  /* tasks that do not run yet are not counted */
	bool bug_stale_counts;   /* plans with the counts of the last view, not of head */
	bool bug_repeat_events;  /* adds an event for the state in every pass */
};

#endif
