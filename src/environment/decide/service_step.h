/*
 * The next step of a Service environment in one cluster: create, update or stop the rollout of its ECS service, and
 * how far its deployment is. Pure: what was observed in, decisions out. act/service.c carries them out.
 */
#ifndef ENVIRONMENT_DECIDE_SERVICE_STEP_H
#define ENVIRONMENT_DECIDE_SERVICE_STEP_H

#include "environment/decide/deployment_step.h"
#include "environment/decide/service_observed.h"

/* The ECS service of an environment in one cluster. */
struct service_state {
	struct deployment_memory *memory;
	const struct reconcile_input *observed;
	struct span name; /* of the environment */
	struct cluster_ref cluster;
	const struct environment_placement_facts *placement; /* NULL: no call was made yet */
	struct span reported;                                /* the text of the last refusal; "" */
	struct json *wanted;        /* the request of CreateService; NULL */
	struct service_observed is; /* as ECS describes it */
};

/* Whether the last recorded call was for the deployment in progress, or for none while there is none. */
bool service_is_same_ask(const struct service_state *state);
/* Whether the ECS service has to be created or updated now. */
bool service_needs_change(const struct service_state *state);
/* The ECS deployment that failed is the one from before our call. */
bool service_failed_before(const struct service_state *state);
/* ECS is rolling out a deployment of this service, and the service belongs to the environment. */
bool service_is_rolling_out(const struct service_state *state);
/* Whether the rollout of ECS is stopped before this deployment ends. */
bool service_must_halt(const struct service_state *state,
	const struct environment_deployment_facts *deployment);
/* Whether a deployment has ended whose rollout could not be stopped then, because the target was unavailable. */
bool service_has_leftover(const struct service_state *state);
/* How far the deployment in progress is. */
void service_report_progress(const struct service_state *state,
	struct deployment_progress *ret_progress);

#endif
