/* The state of one instance in a pass: between the files of env_instances.h. */
#ifndef ENVIRONMENT_DECIDE_INSTANCE_ENTRY_H
#define ENVIRONMENT_DECIDE_INSTANCE_ENTRY_H

#include "environment/decide/env_instances.h"

/* An instance as inspected. */
struct env_instances_observed {
	struct fleet_instance now;
	const struct observe_instance *instance; /* NULL: it is gone */
	enum instance_failure trouble;
	bool is_unsure;   /* as in struct instance_entry */
	bool concerns_us; /* it matches, or there is or was something of ours */
};

/* instance_entry.c: settles what was asked for, too, and says in the entry when it must be looked at again. */
void env_instances_observe(const struct instances *instances, const struct reconcile_input *input,
	struct instance_entry *entry, struct env_instances_observed *ret_seen);
void env_instances_forget_expectation(struct instance_entry *entry);
bool env_instances_owns(const struct instances *instances, const struct reconcile_input *input,
	const struct observe_task *task);
bool env_instances_is_healthy(const struct reconcile_input *input, const struct observe_task *task);

#endif
