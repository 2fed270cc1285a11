/*
 * The next step of an environment's deployments, the same for all types of environments: begin the one that waits,
 * complete, block, time out or stop the one in progress. Pure: an input in, a step out. act/deployments.c writes it, in a
 * transaction that checks that the environment is still the one of the input.
 *
 * How far the deployment in progress is, each type of environment determines by itself: daemon_deployment.h,
 * service_step.h; the deployment of a Cron is over at once.
 */
#ifndef ENVIRONMENT_DECIDE_DEPLOYMENT_STEP_H
#define ENVIRONMENT_DECIDE_DEPLOYMENT_STEP_H

#include "environment/decide/reconcile_input.h"

enum deployment_step_type {
	DEPLOYMENT_STEP_NONE,
	DEPLOYMENT_STEP_STOPPED,  /* it was stopped, as requested */
	DEPLOYMENT_STEP_BEGIN,    /* the pending one of a user */
	DEPLOYMENT_STEP_MOVE,     /* the one in progress, to `status` */
	DEPLOYMENT_STEP_PROGRESS, /* only the numbers and the failed instances change */
	DEPLOYMENT_STEP_HEALTH,   /* the health of the environment changes with its counts */
	/* Of a Daemon: */
	DEPLOYMENT_STEP_MONITOR, /* a new one of a monitor, for instances without a task */
	DEPLOYMENT_STEP_CANARY, /* the canary became healthy, unhealthy, or has finished its bake time */
	DEPLOYMENT_STEP_ADOPT, /* placements of healthy tasks get the version of the tasks */
};

/* Kept in memory of the deployment in progress. */
struct deployment_memory {
	struct recorded_moment began;
	int64_t progress_ms; /* when its progress was written last; steady time */
};

/* The state of the deployment in progress. */
struct deployment_progress {
	bool is_over;
	bool needs_adoption; /* before it is completed: a step of type ADOPT */
	bool has_failed;     /* and cannot recover: the deployment ends at once */
	bool is_repeated; /* a failed start: until its outcome is known, the deployment keeps its status */
	enum environment_deployment_status status;
	struct span reason;    /* "TASKS_FAIL: …"; "" */
	struct span waits_for; /* the reason if it times out without one; "" */
	struct span
		failed; /* text of the deployment's document, as deployment_failed(); data NULL: as it is recorded */
	int64_t done, total;
};

struct deployment_step {
	enum deployment_step_type type;
	enum environment_deployment_type monitor;
	enum environment_deployment_status status;
	struct span reason;
	bool has_progress;  /* the next three are known, and written with a MOVE */
	struct span failed; /* text of the deployment's document: the failed instances */
	int64_t done, total;
	int64_t canary_ms;
	bool canary_proved;
	bool rolls_back;  /* if a version was completed before */
	int64_t again_ms; /* when to decide again if nothing changes; steady time; 0: never */
};

struct deployment_input {
	struct deployment_memory *memory;
	const struct reconcile_input *observed;
	const struct deployment_progress *progress; /* NULL: there is a cause */
	const struct deployment_step
		*own;      /* of the environment's type, if no other is due; NULL: none */
	struct span cause; /* why nothing can be decided about instances and tasks now; "" */
	bool is_unhealthy; /* by the counts of the environment */
};

void deployment_decide(const struct deployment_input *input, struct deployment_step *ret_step);
/* The deployment in progress; NULL: there is none. */
const struct environment_deployment_facts *deployment_in_progress(const struct reconcile_input
		*observed);
/* When the time of a deployment is over; steady time. */
int64_t deployment_ends_ms(struct deployment_memory *memory, const struct reconcile_input *observed,
	const struct environment_deployment_facts *deployment);
/* {"failedInstances": [{"instance": what, "reason": reason}]}; "" without a reason. */
struct span deployment_failed(struct arena *arena, struct span what, struct span reason);

#endif
