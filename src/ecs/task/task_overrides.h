/*
 * Overrides of RunTask and StartTask: what a task has other than its definition says. Checked in two steps:
 * what can be wrong by itself before there is any state, what must fit the definition when that is known.
 */
#ifndef ECS_TASK_OVERRIDES_H
#define ECS_TASK_OVERRIDES_H

#include "ecs/task/task_create.h"

#define TASK_OVERRIDES_MAX 8192 /* bytes, as JSON */

/* overrides: a TaskOverride or NULL. Fails the request. */
int task_overrides_check(struct aws_request *request, const struct json *overrides);
/* Containers exist, and what they reserve fits into the task; needs: with the overrides applied. */
int task_overrides_fit(struct aws_request *request, const struct json *definition,
	const struct json *overrides, const struct task_needs *needs, bool fargate);

#endif
