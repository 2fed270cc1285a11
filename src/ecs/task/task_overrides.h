/*
 * Overrides of RunTask and StartTask. Checked in two steps: rules that need no state first, then
 * rules that need the definition.
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
