/* The tasks of an environment in the observed state, by its type: those of its group, or of its ECS service. */
#ifndef ENVIRONMENT_API_ENVIRONMENT_TASKS_H
#define ENVIRONMENT_API_ENVIRONMENT_TASKS_H

#include "environment/api/operations.h"

/* The task group of the account's environment of this name; "env:NAME" also when there is none any more. In the arena. */
struct span environment_tasks_group(const struct aws_request *request, struct span name,
	struct arena *arena);
/* The environment that a task belongs to, by its group; NULL. */
const struct store_object *environment_of_task(const struct aws_request *request,
	const struct observe_task *task);
/* The version with this task definition among those that matter now; "". */
struct span environment_version_of_definition(struct aws_request *request,
	const struct store_object *environment, struct span task_definition);

/* Calls `visit` for each of its tasks that is to stay, in all of its clusters that are known. */
typedef void (*environment_tasks_visit)(void *context, struct cluster_ref cluster,
	const struct observe_task *task);
void environment_tasks_walk(struct aws_request *request, const struct store_object *environment,
	environment_tasks_visit visit, void *context);

/* currentState of GetEnvironment. With maxResults in the input also the tasks, of one page; *ret_token "" after the last.
 * Fails the request. */
int environment_tasks_state(struct aws_request *request, const struct store_object *environment,
	struct json **ret_state, struct span *ret_token);

#endif
