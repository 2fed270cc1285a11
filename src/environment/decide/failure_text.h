/*
 * Why tasks do not run, as text: the reason that ECS gave for the last one that ended. The text for one instance names
 * the task; the text for a whole deployment does not, so that it stays the same while the same failure repeats.
 */
#ifndef ENVIRONMENT_DECIDE_FAILURE_TEXT_H
#define ENVIRONMENT_DECIDE_FAILURE_TEXT_H

#include "environment/decide/env_instances.h"

/* For a task that has ended, or that its health check found unhealthy: "task ID stopped: Essential container in task exited
 * (exit code 3)"; not named: without the task. */
struct span failure_text_of_end(struct arena *arena, const struct observe_task *task, bool named);
/* For the last task on an instance; data NULL: nothing is known. */
struct span failure_text_of_instance(const struct instances *instances,
	const struct reconcile_input *input, const struct instance_entry *entry, bool named);
/* The last task of this deployment of an ECS service that has stopped; NULL: none is known. Reads each instance, up to a
 * thousand. */
const struct observe_task *failure_last_of_service(const struct reconcile_input *input,
	struct cluster_ref cluster, struct span service, struct span deployment);

/* "WORD: text", cut to a length and to characters that facts can hold; word may be "". */
struct span failure_reason(struct arena *arena, const char *word, struct span text);

#endif
