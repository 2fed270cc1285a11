/* Operations of ECS agents; see the header. */
#include "ecs/instance/agent.h"

#include "aws/arn.h"
#include "aws/document.h"
#include "base/memory.h"
#include "ecs/record/cluster.h"
#include "ecs/record/container_instance.h"
#include "ecs/record/context.h"
#include "ecs/record/name.h"
#include "ecs/record/task.h"
#include "ecs/task/task_edit.h"
#include "ecs/task/task_observe.h"

#define REASON_MAX 1024
#define TEXT_MAX 255
#define ATTACHMENTS_MAX 100
#define BINDINGS_MAX 100
/* Attachments have no index: at most this many tasks of agents are scanned for one. */
#define ATTACHMENT_TASKS_MAX 1000

int agent_discover_poll_endpoint(struct aws_request *request)
{
	const struct ecs_context *context = request->context;
	struct span requested = json_get_text(request->input, "containerInstance");
	struct json *answer = json_new_object(request->arena);
	const struct store_object *cluster;

	/* The model has no ClusterNotFoundException for this operation. */
	if (cluster_find(request, json_get_text(request->input, "cluster"), &cluster) < 0) {
		struct span message = request->failure.message;

		return aws_fail_input(request, "cluster: %.*s", SPAN_ARGS(message));
	}
	if (requested.length > 0 && !container_instance_in(request, cluster, requested))
		return aws_fail(request, "ClientException",
			"containerInstance: '%.*s' is not registered in cluster '%.*s'",
			SPAN_ARGS(requested), SPAN_ARGS(cluster_facts(cluster)->name));
	if (!context || context->endpoint.length == 0)
		return aws_fail(request, "ClientException",
			"This server does not know the address at which agents reach it.");
	json_set_string(request->arena, answer, "endpoint", context->endpoint);
	json_set_string(request->arena, answer, "telemetryEndpoint", context->endpoint);
	json_set_string(request->arena, answer, "serviceConnectEndpoint", context->endpoint);
	json_write(answer, request->out);
	return 0;
}

/* ---- finding ---- */

/* Members that the model does not know are neither stored nor shown again. */
int agent_submit_prepare(struct aws_request *request)
{
	request->prepared = (void *)document_input(request);
	return 0;
}

static const struct json *said(const struct aws_request *request)
{
	return request->prepared;
}

static int open_task(struct aws_request *request, const struct store_object **ret_task,
	struct task_edit *ret_edit)
{
	struct span requested = json_get_text(said(request), "task"), name, in, id;
	const struct store_object *cluster, *task = NULL;

	if (cluster_find(request, json_get_text(said(request), "cluster"), &cluster) < 0)
		return -EPERM;
	if (requested.length == 0)
		return aws_fail_input(request, "task: is required");
	if (ecs_try_resolve(request->caller, "task", requested, &name)) {
		if (!span_split(name, '/', &in, &id))
			id = name;
		else if (!span_equal(in, cluster_facts(cluster)->name))
			return aws_fail_input(request,
				"Invalid identifier: Identifier is for cluster %.*s. Your cluster "
				"is %.*s",
				SPAN_ARGS(in), SPAN_ARGS(cluster_facts(cluster)->name));
		task = store_get(request->view, &task_kind,
			arena_format(request->arena, "%.*s/%.*s", SPAN_ARGS(cluster->key),
				SPAN_ARGS(id)));
	}
	if (!task)
		return aws_fail_input(request, "The referenced task was not found.");
	if (task_facts(task)->host.length > 0)
		return aws_fail(request, "ClientException",
			"task: '%.*s' is run by this server, which observes it itself; an agent "
			"has no say in it",
			SPAN_ARGS(task_facts(task)->id));
	if (task_edit_open(task, request->arena, ret_edit, &request->err) < 0)
		return aws_fail_store(request);
	ret_edit->now_ms = request->now_ms;
	request->resource = ecs_arn(request, "task", aws_name_of_key(task->key));
	*ret_task = task;
	return 0;
}

static int acknowledge(struct aws_request *request)
{
	buffer_add_string(request->out, "{\"acknowledgment\":\"ACCEPT\"}");
	return 0;
}

static int save_and_acknowledge(struct aws_request *request, struct task_edit *edit,
	const struct store_object *task)
{
	if (task_edit_differs(edit, task) &&
		task_save(request->transaction, edit, &request->err) < 0)
		return aws_fail_store(request);
	return acknowledge(request);
}

/* Texts that an agent may report, each with its limit. */
static int check_text(struct aws_request *request, const struct json *from, const char *name,
	size_t most)
{
	if (json_get_text(from, name).length > most)
		return aws_fail_input(request, "%s: is longer than %zu characters", name, most);
	return 0;
}

static int read_status(struct aws_request *request, const struct json *from,
	enum task_status *ret_status, bool *ret_requested)
{
	struct span name = json_get_text(from, "status");

	*ret_requested = name.length > 0;
	if (*ret_requested && !task_status_read(name, ret_status))
		return aws_fail_input(request, "status: '%.*s' is not a status of a task",
			(int)(name.length > TEXT_MAX ? TEXT_MAX : name.length), name.data);
	return 0;
}

/* ---- containers ---- */

/* The stored container merged with the agent's report; NULL: no report for it. */
static struct json *reported_container(struct arena *arena, const struct json *stored,
	const struct json *reported, enum task_status status, bool has_status)
{
	static const char *const copied[] = {
		"imageDigest", "runtimeId", "exitCode", "reason", "networkBindings"};
	struct json *container = json_copy_object(arena, stored);
	enum task_status last = TASK_PROVISIONING;

	task_status_read(json_get_text(stored, "lastStatus"), &last);
	if (has_status && status > last)
		json_set_string(arena, container, "lastStatus", span_of(task_status_name(status)));
	for (size_t i = 0; i < LENGTH(copied); i++) {
		const struct json *value = json_get(reported, copied[i]);

		if (!json_is_absent(value) &&
			!(json_is(value, JSON_STRING) && json_text(value).length == 0))
			json_set(arena, container, copied[i], value);
	}
	return container;
}

static int report_container(struct aws_request *request, struct task_edit *edit,
	const struct json *reported)
{
	struct span name = json_get_text(reported, "containerName");
	struct json *containers = json_new_array(request->arena);
	enum task_status status;
	bool has_status;

	if (check_text(request, reported, "imageDigest", TEXT_MAX) < 0 ||
		check_text(request, reported, "runtimeId", TEXT_MAX) < 0 ||
		check_text(request, reported, "reason", REASON_MAX) < 0 ||
		read_status(request, reported, &status, &has_status) < 0)
		return -EPERM;
	if (json_count(json_get(reported, "networkBindings")) > BINDINGS_MAX)
		return aws_fail_input(request, "networkBindings: the limit is %d of them",
			BINDINGS_MAX);
	/* An agent has containers of its own in a task (pause); those are not the task's. */
	JSON_EACH_ITEM (json_get(edit->document, "containers"), stored)
		json_append(request->arena, containers,
			span_equal(json_get_text(stored, "name"), name)
				? reported_container(request->arena, stored, reported, status,
					  has_status)
				: stored);
	json_set(request->arena, edit->document, "containers", containers);
	return 0;
}

/* The agent inside a container that serves ExecuteCommand. */
static void report_managed_agent(struct aws_request *request, struct task_edit *edit,
	const struct json *reported)
{
	struct arena *arena = request->arena;
	struct json *containers = json_new_array(arena);

	JSON_EACH_ITEM (json_get(edit->document, "containers"), stored) {
		struct json *container = json_copy_object(arena, stored);
		struct json *agents = json_new_array(arena);

		json_append(arena, containers, container);
		if (!span_equal(json_get_text(stored, "name"),
			    json_get_text(reported, "containerName")))
			continue;
		JSON_EACH_ITEM (json_get(stored, "managedAgents"), old) {
			struct json *agent = json_copy_object(arena, old);

			if (span_equal(json_get_text(old, "name"),
				    json_get_text(reported, "managedAgentName"))) {
				json_set_string(arena, agent, "lastStatus",
					json_get_text(reported, "status"));
				json_set(arena, agent, "reason", json_get(reported, "reason"));
			}
			json_append(arena, agents, agent);
		}
		if (json_count(agents) > 0)
			json_set(arena, container, "managedAgents", agents);
	}
	json_set(arena, edit->document, "containers", containers);
}

/* ---- attachments ---- */

/* The part after "attachment/" of an ARN, or the id itself. */
static struct span attachment_id(struct span requested)
{
	struct span before, after = requested;

	while (span_split(after, '/', &before, &after))
		;
	return after;
}

/* Changes the attachment of this id; false if the task has none. */
static bool report_attachment(struct task_edit *edit, struct span id, struct span status)
{
	struct arena *arena = edit->arena;
	struct json *list = json_new_array(arena);
	bool found = false;

	JSON_EACH_ITEM (json_get(edit->document, "attachments"), stored) {
		struct json *attachment = json_copy_object(arena, stored);

		if (span_equal(json_get_text(stored, "id"), id)) {
			json_set_string(arena, attachment, "status", status);
			found = true;
		}
		json_append(arena, list, attachment);
	}
	if (found)
		json_set(arena, edit->document, "attachments", list);
	if (found && span_is(status, "ATTACHED") && edit->facts.last < TASK_PENDING)
		edit->facts.last = TASK_PENDING;
	return found;
}

static int check_attachments(struct aws_request *request)
{
	static const char *const statuses[] = {
		"PRECREATED",
		"CREATED",
		"ATTACHING",
		"ATTACHED",
		"DETACHING",
		"DETACHED",
		"DELETED",
		"FAILED",
	};
	const struct json *requested = json_get(said(request), "attachments");

	if (json_count(requested) > ATTACHMENTS_MAX)
		return aws_fail_input(request, "attachments: the limit is %d of them",
			ATTACHMENTS_MAX);
	JSON_EACH_ITEM (requested, attachment) {
		struct span status = json_get_text(attachment, "status");
		bool known = false;

		for (size_t i = 0; i < LENGTH(statuses); i++)
			known |= span_is(status, statuses[i]);
		if (!known)
			return aws_fail_input(request,
				"attachments: '%.*s' is not a status of an attachment",
				(int)(status.length > TEXT_MAX ? TEXT_MAX : status.length),
				status.data ? status.data : "");
	}
	return 0;
}

/* ---- tasks ---- */

static void copy_time(struct aws_request *request, struct task_edit *edit, const char *name)
{
	double seconds;

	if (json_double(json_get(said(request), name), &seconds) && seconds > 0)
		json_set(request->arena, edit->document, name, json_get(said(request), name));
}

static void task_runs(struct aws_request *request, struct task_edit *edit)
{
	if (edit->facts.started_ms == 0)
		edit->facts.started_ms = request->now_ms;
	/* RUNNING follows once the task is registered for traffic: task_save() sets it. */
	edit->facts.last = task_awaits_traffic(&edit->facts) ? TASK_ACTIVATING : TASK_RUNNING;
}

static void task_ends(struct aws_request *request, struct task_edit *edit, struct span reason)
{
	bool ran = edit->facts.started_ms != 0;

	/* A stop that was requested already keeps its reason. */
	if (edit->facts.desired != TASK_STOPPED) {
		edit->facts.desired = TASK_STOPPED;
		edit->facts.stopping_ms = request->now_ms;
		edit->facts.failed = true;
		json_set_string(request->arena, edit->document, "stopCode",
			ran ? SPAN(TASK_STOP_CODE_ESSENTIAL)
			    : SPAN(TASK_STOP_CODE_FAILED_TO_START));
		json_set_string(request->arena, edit->document, "stoppedReason",
			reason.length ? reason
			: ran         ? SPAN("Essential container in task exited")
				      : SPAN("Task failed to start"));
	}
	if (!json_get(edit->document, "executionStoppedAt"))
		json_set_time(request->arena, edit->document, "executionStoppedAt",
			request->now_ms);
	task_observe_not_started(edit, request->now_ms); /* all that follows from the end */
}

int agent_submit_task(struct aws_request *request)
{
	struct span reason = json_get_text(said(request), "reason");
	const struct store_object *task;
	struct task_edit edit;
	enum task_status status = TASK_PROVISIONING;
	bool has_status;

	if (open_task(request, &task, &edit) < 0 ||
		read_status(request, said(request), &status, &has_status) < 0 ||
		check_text(request, said(request), "reason", REASON_MAX) < 0 ||
		check_attachments(request) < 0)
		return -EPERM;
	if (edit.facts.last >= TASK_STOPPED)
		return acknowledge(request);
	JSON_EACH_ITEM (json_get(said(request), "containers"), reported)
		if (report_container(request, &edit, reported) < 0)
			return -EPERM;
	JSON_EACH_ITEM (json_get(said(request), "managedAgents"), reported)
		report_managed_agent(request, &edit, reported);
	JSON_EACH_ITEM (json_get(said(request), "attachments"), reported)
		report_attachment(&edit, attachment_id(json_get_text(reported, "attachmentArn")),
			json_get_text(reported, "status"));
	copy_time(request, &edit, "pullStartedAt");
	copy_time(request, &edit, "pullStoppedAt");
	copy_time(request, &edit, "executionStoppedAt");
	if (has_status && status >= TASK_STOPPED)
		task_ends(request, &edit, reason);
	else if (has_status && status == TASK_RUNNING && edit.facts.last < TASK_RUNNING)
		task_runs(request, &edit);
	else if (has_status && status > edit.facts.last)
		edit.facts.last = status;
	return save_and_acknowledge(request, &edit, task);
}

int agent_submit_container(struct aws_request *request)
{
	const struct store_object *task;
	struct task_edit edit;

	if (open_task(request, &task, &edit) < 0)
		return -EPERM;
	if (json_get_text(said(request), "containerName").length == 0)
		return aws_fail_input(request, "containerName: is required");
	if (report_container(request, &edit, said(request)) < 0)
		return -EPERM;
	return save_and_acknowledge(request, &edit, task);
}

/* Tasks that wait for a network interface that their agent reports. */
static const struct store_object *find_attachment(struct aws_request *request,
	const struct store_object *cluster, struct span id, struct task_edit *ret_edit)
{
	struct store_cursor cursor = {.view = request->view,
		.kind = &task_kind,
		.index = TASK_BY_DESIRED,
		.prefix = arena_format(request->arena, "%.*s/RUNNING", SPAN_ARGS(cluster->key)),
		.exact = true};
	const struct store_object *task;
	size_t checked = 0;

	while ((task = store_next(&cursor)) && checked < ATTACHMENT_TASKS_MAX) {
		const struct task_facts *facts = task_facts(task);

		if (facts->host.length > 0 || !facts->network ||
			!memmem(task->api.data, task->api.length, id.data, id.length))
			continue;
		checked++;
		if (task_edit_open(task, request->arena, ret_edit, &request->err) < 0)
			continue;
		JSON_EACH_ITEM (json_get(ret_edit->document, "attachments"), attachment)
			if (span_equal(json_get_text(attachment, "id"), id))
				return task;
	}
	return NULL;
}

int agent_submit_attachments(struct aws_request *request)
{
	const struct store_object *cluster, *task;
	struct task_edit edit;

	if (cluster_find(request, json_get_text(said(request), "cluster"), &cluster) < 0 ||
		check_attachments(request) < 0)
		return -EPERM;
	JSON_EACH_ITEM (json_get(said(request), "attachments"), reported) {
		struct span arn = json_get_text(reported, "attachmentArn");
		struct span id = attachment_id(arn);

		task = id.length > 0 ? find_attachment(request, cluster, id, &edit) : NULL;
		if (!task)
			return aws_fail_input(request,
				"attachments: no task of an agent in cluster '%.*s' has the "
				"attachment '%.*s'",
				SPAN_ARGS(cluster_facts(cluster)->name), SPAN_ARGS(arn));
		report_attachment(&edit, id, json_get_text(reported, "status"));
		if (task_edit_differs(&edit, task) &&
			task_save(request->transaction, &edit, &request->err) < 0)
			return aws_fail_store(request);
		request->view = store_head(request->transaction);
	}
	return acknowledge(request);
}
