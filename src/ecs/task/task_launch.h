/*
 * Shared by RunTask and StartTask: the same members with the same rules, the same task_request for
 * task_create(), the same answer {"tasks":[…],"failures":[…]}. Tasks that were placed are answered
 * even when others were not.
 */
#ifndef ECS_TASK_LAUNCH_H
#define ECS_TASK_LAUNCH_H

#include "aws/client_token.h"
#include "ecs/placement/placement.h"
#include "ecs/task/launch_options.h"
#include "ecs/task/task_create.h"

#define TASK_LAUNCH_MAX 10 /* tasks of one request */

/* The checked input, as far as it needs no state. */
struct task_launch_input {
	const struct json *requested; /* the input without nulls and unknown members */
	const struct json *overrides;
	struct client_token token;
	struct span group; /* "": that of the family */
	struct span started_by, reference;
	bool propagate; /* the definition's tags too */
	bool managed_tags;
	bool execute_command;
};

/* For `prepare`; the token is left to RunTask. Fails the request. */
int task_launch_prepare(struct aws_request *request, size_t started_by_most,
	struct task_launch_input *ret_input);

struct task_launch {
	const struct task_launch_input *input;
	const struct store_object *cluster;
	struct task_needs needs;
	struct launch_options options;
	struct task_request request; /* all but the instance and the capacity provider */
	struct span keys[TASK_LAUNCH_MAX];
	size_t count;
	struct json *failures;
};

/* Finds the definition and fills the task_request; `given` has the members of
 * launch_options_read(). */
int task_launch_begin(struct aws_request *request, const struct task_launch_input *input,
	const struct store_object *cluster, const struct json *requested,
	struct task_launch *launch);
/* For the launch's needs; free it. Fails the request. */
int task_launch_placement(struct aws_request *request, const struct task_launch *launch,
	const struct json *constraints, const struct json *strategy,
	struct placement **ret_placement);
/* Creates one task on an instance. Fails the request. */
int task_launch_on(struct aws_request *request, struct task_launch *launch,
	const struct store_object *instance);
/* Adds an existing task, once. */
void task_launch_add(struct task_launch *launch, struct span key);
/* arn: data NULL for a failure without a resource. */
void task_launch_failed(struct aws_request *request, struct task_launch *launch, struct span arn,
	struct span reason);
int task_launch_answer(struct aws_request *request, const struct task_launch *launch);

#endif
