/*
 * ExecuteCommand opens a session of AWS Systems Manager, which slipway has not: it fails with the
 * error that ECS has for unreachable tasks, and names the alternative.
 */
#include "ecs/record/cluster.h"
#include "ecs/task/task_api.h"

int task_execute(struct aws_request *request)
{
	const struct store_object *cluster, *task;

	if (cluster_find(request, json_get_text(request->input, "cluster"), &cluster) < 0)
		return -EPERM;
	task = task_in(request, cluster, json_get_text(request->input, "task"));
	if (!task)
		return aws_fail_input(request, "The referenced task was not found.");
	if (task_facts(task)->last != TASK_RUNNING)
		return aws_fail_input(request, "The task is not running: its status is %s.",
			task_status_name(task_facts(task)->last));
	return aws_fail(request, "TargetNotConnectedException",
		"slipway has no Session Manager. Use: slipway exec %.*s -- COMMAND",
		SPAN_ARGS(task_facts(task)->id));
}
