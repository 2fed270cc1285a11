/* Why tasks do not run, in words; see the source. */
#ifndef ENVIRONMENT_FAILURE_TEXT_H
#define ENVIRONMENT_FAILURE_TEXT_H

#include "environment/manager_internal.h"

/* Of a task that has ended, or that its health check finds ill: "task ID stopped: Essential container in task exited (exit
 * code 3)"; not named: without the task. */
struct span failure_text_of_end(struct arena *arena, const struct observe_task *task, bool named);
/* Of what was last on the instance of a member; data NULL: nothing is known. */
struct span failure_text_of_instance(const struct manager_pass *pass,
	const struct instance_entry *member, bool named);
/* The last task of this deployment of an ECS service that has stopped; NULL: none is known. Costs a look at each
 * instance, up to a thousand. */
const struct observe_task *manager_last_of_service(const struct manager_pass *pass,
	struct span cluster_ref, struct span service, struct span deployment);

#endif
