/*
 * How container instances leave service: UpdateContainerInstancesState (DRAINING and back),
 * DeregisterContainerInstance, UpdateContainerAgent.
 *
 * DRAINING is a desired state only: placement puts no more tasks on the instance, and services move
 * their tasks away within their percentages. Deregistering is refused while tasks are there, unless
 * forced; then tasks that this server runs are stopped, and tasks of an external agent become
 * STOPPED, because its reports are no longer accepted.
 */
#include "aws/document.h"
#include "ecs/record/cluster.h"
#include "ecs/record/container_instance.h"
#include "ecs/record/name.h"
#include "ecs/record/task.h"
#include "ecs/task/task_edit.h"
#include "ecs/task/task_observe.h"

#define UPDATE_MAX 10
/* Tasks that one forced deregistration stops: all of them change in one transaction. */
#define FORCED_MAX 1000
#define FORCED_REASON "Container instance deregistration forced by user"

static int find_instance(struct aws_request *request, const struct store_object **ret_instance)
{
	struct span requested = json_get_text(request->input, "containerInstance");
	const struct store_object *cluster, *instance;

	if (cluster_find(request, json_get_text(request->input, "cluster"), &cluster) < 0 ||
		container_instance_check_cluster(request, cluster, requested) < 0)
		return -EPERM;
	instance = container_instance_in(request, cluster, requested);
	if (!instance)
		return aws_fail_input(request,
			"containerInstance: '%.*s' was not found in cluster '%.*s'",
			SPAN_ARGS(requested), SPAN_ARGS(cluster_facts(cluster)->name));
	request->resource = ecs_arn(request, "container-instance", aws_name_of_key(instance->key));
	*ret_instance = instance;
	return 0;
}

/* ---- draining ---- */

static int change_status(struct aws_request *request, const struct store_object *instance,
	enum container_instance_status status)
{
	struct container_instance_edit edit;

	if (container_instance_facts(instance)->status == status)
		return 0;
	if (container_instance_edit_open(instance, request->arena, &edit, &request->err) < 0)
		return aws_fail_store(request);
	edit.facts.status = status;
	if (status == CONTAINER_INSTANCE_ACTIVE)
		edit.facts.active_ms = request->now_ms;
	if (container_instance_save(request->transaction, &edit, &request->err) < 0)
		return aws_fail_store(request);
	request->view = store_head(request->transaction);
	return 0;
}

int container_instance_update_state(struct aws_request *request)
{
	const struct json *requested = json_get(request->input, "containerInstances");
	struct span name = json_get_text(request->input, "status");
	struct json *instances = json_new_array(request->arena);
	struct json *failures = json_new_array(request->arena);
	enum container_instance_status status = 0;
	const struct store_object *cluster;

	while (status < CONTAINER_INSTANCE_STATUS_COUNT &&
		!span_is(name, container_instance_status_name(status)))
		status++;
	if (status == CONTAINER_INSTANCE_STATUS_COUNT)
		return aws_fail_input(request,
			"status: Container instance status should be one of [ACTIVE, DRAINING]");
	if (cluster_find(request, json_get_text(request->input, "cluster"), &cluster) < 0)
		return -EPERM;
	if (json_count(requested) == 0 || json_count(requested) > UPDATE_MAX)
		return aws_fail_input(request, "containerInstances: give 1 to %d of them",
			UPDATE_MAX);
	JSON_EACH_ITEM (requested, item) {
		const struct store_object *instance;

		if (container_instance_check_cluster(request, cluster, json_text(item)) < 0)
			return -EPERM;
		instance = container_instance_in(request, cluster, json_text(item));
		if (!instance) {
			json_append(request->arena, failures,
				container_instance_missing(request, cluster, json_text(item)));
			continue;
		}
		if (change_status(request, instance, status) < 0)
			return -EPERM;
		json_append(request->arena, instances,
			container_instance_document(request,
				store_get(request->view, &container_instance_kind, instance->key),
				true));
	}
	buffer_add_string(request->out, "{\"containerInstances\":");
	json_write(instances, request->out);
	buffer_add_string(request->out, ",\"failures\":");
	json_write(failures, request->out);
	buffer_add_char(request->out, '}');
	return 0;
}

/* ---- deregistering ---- */

/* The agent is gone and no report will follow: the task is marked STOPPED without more detail. */
static int orphan(struct aws_request *request, const struct store_object *task)
{
	struct arena *arena = request->arena;
	struct task_edit edit;

	if (task_edit_open(task, arena, &edit, &request->err) < 0)
		return aws_fail_store(request);
	if (edit.facts.desired != TASK_STOPPED) {
		edit.facts.desired = TASK_STOPPED;
		edit.facts.stopping_ms = request->now_ms;
		json_set_string(arena, edit.document, "stopCode", SPAN("UserInitiated"));
		json_set_string(arena, edit.document, "stoppedReason", SPAN(FORCED_REASON));
	}
	task_observe_not_started(&edit, request->now_ms); /* all that follows from the end */
	if (task_save(request->transaction, &edit, &request->err) < 0)
		return aws_fail_store(request);
	return 0;
}

static int stop_tasks(struct aws_request *request, struct span live)
{
	struct store_cursor cursor = {.view = request->view,
		.kind = &task_kind,
		.index = TASK_BY_INSTANCE,
		.prefix = live};
	const struct store_object *tasks[FORCED_MAX], *task;
	size_t count = 0;

	/* A cursor is invalid after a change. */
	while ((task = store_next(&cursor))) {
		if (count == FORCED_MAX)
			return aws_fail_input(request,
				"containerInstance: more than %d tasks are on it; stop some of "
				"them first",
				FORCED_MAX);
		tasks[count++] = task;
	}
	for (size_t i = 0; i < count; i++) {
		if (task_facts(tasks[i])->host.length == 0) {
			if (orphan(request, tasks[i]) < 0)
				return -EPERM;
		} else if (task_want_stopped(request->transaction, tasks[i], "UserInitiated",
				   SPAN(FORCED_REASON), request->now_ms, request->arena,
				   &request->err) < 0) {
			return aws_fail_store(request);
		}
	}
	return 0;
}

int container_instance_deregister(struct aws_request *request)
{
	bool force = json_get_bool(request->input, "force", false);
	const struct store_object *instance;
	struct json *document;
	struct span live;

	if (find_instance(request, &instance) < 0)
		return -EPERM;
	live = arena_format(request->arena, "%.*s/live/", SPAN_ARGS(instance->key));
	if (!force && store_count(request->view, &task_kind, TASK_BY_INSTANCE, live, false) > 0)
		return aws_fail_input(request, "Found running tasks on the instance.");
	document = container_instance_document(request, instance, true);
	json_set_string(request->arena, document, "status", SPAN("INACTIVE"));
	json_set_bool(request->arena, document, "agentConnected", false);
	if (stop_tasks(request, live) < 0)
		return -EPERM;
	if (store_delete(request->transaction, &container_instance_kind, instance->key,
		    instance->revision, &request->err) < 0)
		return aws_fail_store(request);
	return container_instance_answer(request, document);
}

/* ---- agents ---- */

/* Slipway is the agent of its own instances and is updated by its operator; it has no versions of
 * other agents to offer. */
int container_instance_update_agent(struct aws_request *request)
{
	const struct store_object *instance;

	if (find_instance(request, &instance) < 0)
		return -EPERM;
	if (container_instance_facts(instance)->runtime.length > 0)
		return aws_fail(request, "NoUpdateAvailableException",
			"There is no update available for your container agent: this instance is "
			"run by slipway %s itself.",
			SLIPWAY_VERSION);
	return aws_fail(request, "NoUpdateAvailableException",
		"There is no update available for your container agent.");
}
