/*
 * The service of a deployment as it is: its sets of tasks, which of them get traffic, and how. A set is a task set
 * (controller EXTERNAL), or the tasks that a service runs from one task definition (controller ECS). Made anew from
 * describe calls before each decision.
 */
#ifndef PIPELINE_SNAPSHOT_H
#define PIPELINE_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

enum set_role {
	SET_OLD,    /* the primary when the deployment began */
	SET_CANARY, /* of this deployment */
	SET_NEW,    /* the primary that the deployment makes */
	SET_OTHER,  /* of another owner: never touched */
};

struct snapshot_task {
	struct span id;
	bool is_healthy;         /* RUNNING, and healthy in every check that it has */
	bool is_registered;      /* by names: its instance is there and healthy */
	bool has_operation;      /* an operation on its instance is under way */
	int64_t deregistered_ms; /* when its instance was removed; 0: never */
	bool may_be_registered;  /* the answer to a registration was lost */
	/* In the primary target group: */
	enum target_state { TARGET_NONE, TARGET_STARTING, TARGET_HEALTHY, TARGET_DRAINING } target;
	bool is_target_removed; /* the deployment has deregistered it */
};

struct snapshot_set {
	enum set_role role;
	struct span arn;
	int64_t scale; /* percent of the desired count; 0 for a task definition that the service no longer runs */
	int64_t desired; /* tasks at that scale */
	bool is_primary;
	bool is_steady;     /* STEADY_STATE */
	int64_t settled_ms; /* wall time at which all tasks have run for a second; 0: now */
	bool is_deleting;   /* DRAINING */
	int64_t failed;     /* tasks that stopped before they were healthy */
	struct snapshot_task *tasks; /* that are to run */
	size_t task_count;
};

struct snapshot {
	int64_t now_ms;
	int64_t read_ms; /* when reading began: what is read may be from any moment since */
	int64_t desired;
	const struct snapshot_set *sets;
	size_t set_count;
	/* Instances that slipway registered for tasks that are gone. */
	const struct span *strays;
	size_t stray_count;
	/* Load balancers: */
	size_t rule_count;                      /* that forward to the pair of target groups */
	int64_t canary_weight;                  /* percent; -1: the rules differ */
	size_t primary_targets, canary_targets; /* healthy ones */
};

#endif
