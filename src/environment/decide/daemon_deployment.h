/*
 * The next step of the deployments of a Daemon environment: how far the one in progress is, by the fleet of its instances;
 * its canary; and deployments of monitors, for instances without a task. deployment_step.h has what all types of
 * environments share. Pure.
 */
#ifndef ENVIRONMENT_DECIDE_DAEMON_DEPLOYMENT_H
#define ENVIRONMENT_DECIDE_DAEMON_DEPLOYMENT_H

#include "environment/decide/deployment_step.h"
#include "environment/decide/env_instances.h"

struct daemon_deployment_input {
	struct instances *instances;
	struct deployment_memory *memory;
	const struct reconcile_input *observed;
	struct span cause;
	bool is_unhealthy; /* as in struct deployment_input */
};

void daemon_deployment_decide(const struct daemon_deployment_input *input,
	struct deployment_step *ret_step);
/* The next instance whose task is of the target version while its placement has another one: a start was refused, or
 * undone by a rollback, before anything was stopped. NULL: there is none. *position: 0 to begin with. */
const struct instance_entry *daemon_deployment_next_adopted(const struct instances *instances,
	size_t *position);

#endif
