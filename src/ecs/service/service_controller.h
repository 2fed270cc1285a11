/*
 * The service controller: makes of what clients want of a service the tasks that shall run. What it does
 * about one service is one transaction: it looks at head, plans (rollout/), creates tasks, wants others to
 * stop, moves the states of deployments, and tells it in events. Nothing of it is remembered elsewhere, so a
 * crash before the commit undoes all of it and one behind the commit undoes nothing, and several servers can
 * try at once.
 *
 * Its keys are those of services, and those of clusters ("ACCOUNT/REGION/CLUSTER") when an instance has
 * changed: then every service of the cluster is looked at.
 */
#ifndef ECS_SERVICE_CONTROLLER_H
#define ECS_SERVICE_CONTROLLER_H

#include "control/controller.h"
#include "ecs/record/service_kind.h"
#include "rollout/rollout.h"

#define SERVICE_STARTS_MAX 100 /* of one transaction; then it comes again */
#define SERVICE_STOPS_MAX 100
/* A task that could not be placed is tried again after so long, and when an instance changes. */
#define SERVICE_PLACEMENT_RETRY_MS INT64_C(5000)
/* The same if it waits for daemons, which are on their way, or if daemons wait for others to leave. */
#define SERVICE_DAEMON_RETRY_MS INT64_C(500)
/* A task that has run well for so long is a success: failures before it are forgotten. */
#define SERVICE_SETTLED_MS INT64_C(10000)
/* Without a health check a task counts for its deployment, which completes only then, when it has run for so long; for
 * SERVICE_SETTLED_MS when tasks of the deployment have failed, or when a circuit breaker watches over it. */
#define SERVICE_READY_MS ROLLOUT_READY_MS
#define SERVICE_BREAKER_LEAST 3
#define SERVICE_BREAKER_MOST 200

extern const struct controller_row service_controller_row;

/* The row's context, or NULL. */
struct service_control {
	/* The runtime keeps replicas itself (group_controller.h): nothing is started here, and a task is stopped
	 * only to be replaced, because it is unhealthy or its instance drains. */
	bool groups;
	/* For simulations: bugs that they must find. */
	bool bug_ignore_minimum; /* takes minimumHealthyPercent for 0 */
	bool bug_ignore_maximum; /* takes maximumPercent for 1000 */
	bool bug_forget_stop;    /* tasks of older deployments are left running */
	bool bug_count_running;  /* tasks that do not run yet are not counted */
	bool bug_stale_counts;   /* plans with what the last view showed, not head */
	bool bug_repeat_events;  /* tells a state at every look */
};

#endif
