/*
 * The next actions on single instances: the fleet (rollout/fleet.h) chooses the instances and the order; for each action
 * this decides the placement to write, the version to start or the task to stop, and in the name of which role. Pure:
 * an input in, actions out. act/start_stop.c carries them out.
 */
#ifndef ENVIRONMENT_DECIDE_INSTANCE_ACTION_H
#define ENVIRONMENT_DECIDE_INSTANCE_ACTION_H

#include "environment/decide/env_instances.h"

#define INSTANCE_ACTIONS_MAX                                                                       \
	30 /* of one pass: few, because other environments wait for the writer */

struct instance_action_input {
	struct instances *instances;
	const struct reconcile_input *observed;
	int64_t epoch; /* of the claim under which the placements are written */
};

struct instance_action {
	struct fleet_action action;
	struct instance_entry *entry;
	struct environment_placement_facts before; /* the recorded placement; zero: there is none */
	struct environment_placement_facts placement;    /* to write */
	const struct environment_version_facts *version; /* to start; NULL for a stop */
	struct span instance_arn, task;                  /* where to start; what to stop */
	struct span reason; /* of the stop, as it becomes the task's stoppedReason */
	struct span role;   /* of the call; "": none */
	bool is_dropped;    /* there is nothing to do any more */
};

/* The next actions, at most one of each instance; how many. */
size_t instance_actions_decide(const struct instance_action_input *input,
	struct instance_action actions[static INSTANCE_ACTIONS_MAX]);

#endif
