/*
 * The next step of an environment's deployments, decided on what was observed: begin the one that waits, complete, block,
 * time out or stop the one in progress, start one of a monitor. Pure: an input in, a step out. act/deployments.h writes
 * it, in a transaction that checks that the environment is still the one of the input.
 */
#ifndef ENVIRONMENT_DECIDE_DEPLOYMENT_STEP_H
#define ENVIRONMENT_DECIDE_DEPLOYMENT_STEP_H

#include "environment/decide/env_instances.h"

enum deployment_step_type {
	DEPLOYMENT_STEP_NONE,
	DEPLOYMENT_STEP_STOPPED, /* the one that was to be stopped */
	DEPLOYMENT_STEP_BEGIN,   /* the pending one of a user */
	DEPLOYMENT_STEP_MONITOR, /* a new one of a monitor, for instances without a task */
	DEPLOYMENT_STEP_MOVE,    /* the one in progress, to `status` */
	DEPLOYMENT_STEP_CANARY, /* the canary became healthy, unhealthy, or has finished its bake time */
	DEPLOYMENT_STEP_PROGRESS, /* only the numbers and the failed instances change */
	DEPLOYMENT_STEP_HEALTH,   /* the health of the environment changes with its counts */
	DEPLOYMENT_STEP_ADOPT,    /* placements of healthy tasks get the version of the tasks */
};

/* The state of the deployment in progress, for types of environments whose tasks ECS places. */
struct deployment_progress {
	bool is_over;
	bool has_failed; /* and cannot recover: the deployment ends at once */
	enum environment_deployment_status status;
	struct span reason;  /* "TASKS_FAIL: …"; "" */
	struct span failure; /* the text for `what`; "" */
	struct span what;    /* the service, or what else failed */
	int64_t done, total;
};

struct deployment_input {
	struct instances *instances;
	const struct reconcile_input *observed;
	const struct deployment_progress *progress; /* NULL: by the counts of the instances */
	struct span cause; /* why nothing can be decided about instances and tasks now; "" */
};

struct deployment_step {
	enum deployment_step_type type;
	enum environment_deployment_type monitor;
	enum environment_deployment_status status;
	struct span reason;
	struct span failed; /* text of the deployment's document: the failed instances */
	int64_t done, total;
	int64_t canary_ms;
	bool canary_proved;
	bool rolls_back;  /* if a version was completed before */
	int64_t again_ms; /* when to decide again if nothing changes; steady time; 0: never */
};

void deployment_decide(const struct deployment_input *input, struct deployment_step *ret_step);
/* When the time of a deployment is over; steady time. */
int64_t deployment_ends_ms(struct instances *instances, const struct reconcile_input *observed,
	const struct environment_deployment_facts *deployment);
/* The next instance whose task is of the target version while its placement has another one: a start was refused, or
 * undone by a rollback, before anything was stopped. NULL: there is none. *position: 0 to begin with. */
const struct instance_entry *deployment_next_adopted(const struct instances *instances,
	size_t *position);

#endif
