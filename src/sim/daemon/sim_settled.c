/* Whether all is as it was asked for, in the end. */
#include <stdio.h>

#include "sim/daemon/sim_world.h"

/* A task that an environment of this name left behind when it was deleted, in a cluster that is none of ours. */
static bool is_left_behind(const struct actual_environment *environment,
	const struct actual_task *task)
{
	const struct actual_deployment *deployment =
		map_get(&environment->deployments, span_of(task->started_by));

	return (!deployment || !deployment->exists) &&
	       strcmp(environment->rules->cluster_ref, task->instance->cluster_ref) != 0;
}

/* Describes how one instance differs from the desired state; false: not at all. */
static bool describe_instance(const struct actual_environment *environment,
	const struct actual_instance *instance, int64_t now_us, char out[SIM_TEXT_MAX])
{
	bool member = actual_is_member(environment, instance), right = false;
	unsigned all = 0;

	/* A disconnected instance keeps its tasks until it comes back. */
	if (instance->exists && !instance->connected)
		return false;
	for (const struct actual_task *task = actual_member(environment, instance)->tasks; task;
		task = task->next) {
		all += !is_left_behind(environment, task);
		right |= actual_is_healthy(task, environment->rules, now_us) &&
			 strcmp(task->definition, environment->rules->definition) == 0;
	}
	if (member ? right && all == 1 : all == 0)
		return false;
	snprintf(out, SIM_TEXT_MAX, "instance %.12s has %u tasks of environment %s, %s",
		instance->id, all, environment->name,
		!member ? "and should have none"
		: right ? "and should have one"
			: "none as wanted");
	return true;
}

static bool describe_deployments(const struct actual_environment *environment,
	char out[SIM_TEXT_MAX])
{
	MAP_EACH (&environment->deployments, entry) {
		const struct actual_deployment *deployment = entry->value;

		if (!deployment->exists || environment_deployment_has_ended(deployment->status))
			continue;
		snprintf(out, SIM_TEXT_MAX, "a deployment of environment %s is %s",
			environment->name, environment_deployment_status_name(deployment->status));
		return true;
	}
	return false;
}

void sim_describe_unsettled(struct sim *sim, char out[SIM_TEXT_MAX])
{
	struct actual *actual = daemon_checker_actual(sim->checker);
	int64_t now_us = runner_now_us(sim->root);

	out[0] = '\0';
	for (unsigned i = 0; i < actual->environment_count; i++) {
		const struct actual_environment *environment = actual->environments[i];

		if (!environment->exists)
			continue;
		if (environment->status != ENVIRONMENT_active || !environment->rules) {
			snprintf(out, SIM_TEXT_MAX, "environment %s is %s", environment->name,
				environment_status_name(environment->status));
			return;
		}
		if (describe_deployments(environment, out))
			return;
		if (environment->type != ENVIRONMENT_TYPE_Daemon)
			continue;
		MAP_EACH (&actual->instances, entry)
			if (describe_instance(environment, entry->value, now_us, out))
				return;
	}
}
