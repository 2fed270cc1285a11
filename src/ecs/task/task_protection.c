/*
 * GetTaskProtection and UpdateTaskProtection: a task of a service that is protected is not stopped by the
 * service until the time is over. Only tasks of services can be; a time that is over counts as none.
 */
#include "ecs/record/cluster.h"
#include "ecs/record/name.h"
#include "ecs/task/task_api.h"
#include "ecs/task/task_edit.h"

#define GET_MAX 100
#define UPDATE_MAX 10
#define MINUTES_MOST 2880
#define MINUTES_USUAL 120
#define MINUTE_MS INT64_C(60000)

static const struct json *not_valid(struct aws_request *request, const struct store_object *task)
{
	struct json *failure = json_new_object(request->arena);
	bool service = task_facts(task)->service.length > 0;

	json_set_string(request->arena, failure, "arn", task_arn(request, task));
	json_set_string(request->arena, failure, "reason", SPAN("TASK_NOT_VALID"));
	json_set_string(request->arena, failure, "detail",
		service ? SPAN("The task is stopping or has stopped.")
			: SPAN("The task is not part of a service."));
	return failure;
}

static const struct json *shown(struct aws_request *request, const struct store_object *task)
{
	struct json *protected = json_new_object(request->arena);
	int64_t until = task_facts(task)->protected_until_ms;
	bool enabled = until > request->now_ms;

	json_set_string(request->arena, protected, "taskArn", task_arn(request, task));
	json_set_bool(request->arena, protected, "protectionEnabled", enabled);
	if (enabled)
		json_set_time(request->arena, protected, "expirationDate", until);
	return protected;
}

static int answer(struct aws_request *request, const struct json *tasks,
	const struct json *failures)
{
	buffer_add_string(request->out, "{\"protectedTasks\":");
	json_write(tasks, request->out);
	buffer_add_string(request->out, ",\"failures\":");
	json_write(failures, request->out);
	buffer_add_char(request->out, '}');
	return 0;
}

static int check_count(struct aws_request *request, size_t most)
{
	size_t count = json_count(json_get(request->input, "tasks"));

	if (count == 0 || count > most)
		return aws_fail_input(request, "tasks: give 1 to %zu of them", most);
	return 0;
}

/* The task, or NULL with the failure recorded. */
static const struct store_object *find(struct aws_request *request,
	const struct store_object *cluster, struct span requested, bool to_change,
	struct json *failures)
{
	const struct store_object *task = task_in(request, cluster, requested);

	if (!task) {
		json_append(request->arena, failures,
			ecs_failure_missing(request,
				task_arn_requested(request, cluster, requested)));
		return NULL;
	}
	if (task_facts(task)->service.length == 0 ||
		(to_change && task_facts(task)->desired == TASK_STOPPED)) {
		json_append(request->arena, failures, not_valid(request, task));
		return NULL;
	}
	return task;
}

int task_protection_get(struct aws_request *request)
{
	struct json *tasks = json_new_array(request->arena);
	struct json *failures = json_new_array(request->arena);
	const struct store_object *cluster;

	if (check_count(request, GET_MAX) < 0 ||
		cluster_find(request, json_get_text(request->input, "cluster"), &cluster) < 0)
		return -EPERM;
	JSON_EACH_ITEM (json_get(request->input, "tasks"), item) {
		const struct store_object *task =
			find(request, cluster, json_text(item), false, failures);

		if (task)
			json_append(request->arena, tasks, shown(request, task));
	}
	return answer(request, tasks, failures);
}

int task_protection_update_prepare(struct aws_request *request)
{
	int64_t minutes = json_get_integer(request->input, "expiresInMinutes", MINUTES_USUAL);

	if (minutes < 1 || minutes > MINUTES_MOST)
		return aws_fail_input(request, "expiresInMinutes: must be between 1 and %d",
			MINUTES_MOST);
	return check_count(request, UPDATE_MAX);
}

static int protect(struct aws_request *request, const struct store_object *task, int64_t until)
{
	struct task_edit edit;

	if (task_edit_open(task, request->arena, &edit, &request->err) < 0)
		return aws_fail_store(request);
	edit.facts.protected_until_ms = until;
	if (task_save(request->transaction, &edit, &request->err) < 0)
		return aws_fail_store(request);
	return 0;
}

int task_protection_update(struct aws_request *request)
{
	int64_t minutes = json_get_integer(request->input, "expiresInMinutes", MINUTES_USUAL);
	bool enable = json_get_bool(request->input, "protectionEnabled", false);
	struct json *tasks = json_new_array(request->arena);
	struct json *failures = json_new_array(request->arena);
	const struct store_object *cluster;

	if (cluster_find(request, json_get_text(request->input, "cluster"), &cluster) < 0)
		return -EPERM;
	JSON_EACH_ITEM (json_get(request->input, "tasks"), item) {
		const struct store_object *task =
			find(request, cluster, json_text(item), true, failures);

		if (!task)
			continue;
		if (protect(request, task, enable ? request->now_ms + minutes * MINUTE_MS : 0) < 0)
			return -EPERM;
		request->view = store_head(request->transaction);
		json_append(request->arena, tasks,
			shown(request, store_get(request->view, &task_kind, task->key)));
	}
	return answer(request, tasks, failures);
}
