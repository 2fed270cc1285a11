/*
 * Operations on tasks: RunTask, StartTask, StopTask, DescribeTasks, ListTasks, ExecuteCommand and the
 * protection of tasks; and what they share, which is finding a task and answering one.
 */
#ifndef ECS_TASK_API_H
#define ECS_TASK_API_H

#include "ecs/record/task.h"

/* The task that `given` (id or ARN) names within a cluster; NULL if there is none, or if it is of
 * another cluster. */
const struct store_object *task_in(struct aws_request *request, const struct store_object *cluster,
	struct span requested);
/* The ARN for a client's id or ARN, whether there is such a task or not; for failures. */
struct span task_arn_requested(struct aws_request *request, const struct store_object *cluster,
	struct span requested);
struct span task_arn(struct aws_request *request, const struct store_object *task);
/* Writes a task into the answer: the stored text as it is, with "tags" when they are wanted. */
void task_answer(struct aws_request *request, const struct store_object *task, bool tags);

int task_run_prepare(struct aws_request *request);
int task_run(struct aws_request *request);
int task_start_prepare(struct aws_request *request);
int task_start(struct aws_request *request);
int task_stop_prepare(struct aws_request *request);
int task_stop(struct aws_request *request);
int task_describe(struct aws_request *request);
int task_execute(struct aws_request *request);
int task_list(struct aws_request *request);
int task_protection_get(struct aws_request *request);
int task_protection_update_prepare(struct aws_request *request);
int task_protection_update(struct aws_request *request);
/* `task` and `tasks` of the input; for authorisation. */
void task_resources(struct aws_request *request, struct aws_resources *resources);

#endif
