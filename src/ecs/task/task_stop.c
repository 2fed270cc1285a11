/* StopTask: sets the desired status STOPPED. The task's runtime or agent stops it. */
#include "ecs/record/cluster.h"
#include "ecs/task/task_api.h"
#include "ecs/task/task_edit.h"

#define REASON_MAX 1024 /* characters */

int task_stop_prepare(struct aws_request *request)
{
	struct span reason = json_get_text(request->input, "reason");
	size_t characters = 0;

	for (size_t i = 0; i < reason.length; i++)
		characters += ((unsigned char)reason.data[i] & 0xc0) != 0x80;
	if (characters > REASON_MAX)
		return aws_fail_input(request, "reason: has %zu characters, the limit is %d",
			characters, REASON_MAX);
	return 0;
}

int task_stop(struct aws_request *request)
{
	struct span reason = json_get_text(request->input, "reason");
	const struct store_object *cluster, *task;

	if (cluster_find(request, json_get_text(request->input, "cluster"), &cluster) < 0)
		return -EPERM;
	task = task_in(request, cluster, json_get_text(request->input, "task"));
	if (!task)
		return aws_fail_input(request, "The referenced task was not found.");
	if (task_want_stopped(request->transaction, task, "UserInitiated",
		    reason.length > 0 ? reason : SPAN("Task stopped by user"), request->now_ms,
		    request->arena, &request->err) < 0)
		return aws_fail_store(request);
	request->resource = task_arn(request, task);
	request->view = store_head(request->transaction);
	buffer_add_string(request->out, "{\"task\":");
	task_answer(request, store_get(request->view, &task_kind, task->key), true);
	buffer_add_char(request->out, '}');
	return 0;
}
