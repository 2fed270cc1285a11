/* Tasks that are run once: applications without a service, and ECS_RUN_TASK; see stage_run.h. */
#include "base/memory.h"
#include "pipeline/stage_run.h"

/* ---- requests ---- */

static void set_network(const struct deployment_pass *pass, struct json *request)
{
	const struct application_input *input = &pass->bundle.application->input;
	struct arena *arena = pass->arena;
	struct json *network = json_new_object(arena), *settings = json_new_object(arena);
	const struct {
		const char *member;
		const struct field_list *list;
	} lists[] = {{"subnets", &input->subnets}, {"securityGroups", &input->security_groups}};

	json_set_string(arena, request, "launchType", input->launch_type);
	if (input->subnets.count == 0)
		return;
	for (size_t i = 0; i < LENGTH(lists); i++) {
		struct json *list = json_new_array(arena);

		for (size_t j = 0; j < lists[i].list->count; j++)
			json_append(arena, list,
				json_new_string(arena, ((struct span *)lists[i].list->items)[j]));
		if (lists[i].list->count > 0)
			json_set(arena, settings, lists[i].member, list);
	}
	if (input->assign_public_ip.length > 0)
		json_set_string(arena, settings, "assignPublicIp", input->assign_public_ip);
	json_set(arena, network, "awsvpcConfiguration", settings);
	json_set(arena, request, "networkConfiguration", network);
}

/* Tasks of a stage run where those of the service do. */
static void set_launch(const struct deployment_pass *pass, const struct task_file *task,
	struct json *request)
{
	static const char *const members[] = {"networkConfiguration", "launchType",
		"capacityProviderStrategy", "platformVersion"};
	bool has_address = span_is(json_get_text(task->request, "networkMode"), "awsvpc");

	if (!pass->bundle.has_service) {
		set_network(pass, request);
		return;
	}
	for (size_t i = 0; i < LENGTH(members); i++) {
		const struct json *value = json_get(pass->bundle.service.request, members[i]);

		if (value && (i > 0 || has_address))
			json_set(pass->arena, request, members[i], value);
	}
}

static struct json *run_request(const struct deployment_pass *pass, const struct task_file *task,
	struct span role)
{
	struct json *request = json_new_object(pass->arena);

	json_set_string(pass->arena, request, "cluster", pass->cluster);
	json_set_string(pass->arena, request, "taskDefinition",
		calls_find_done(pass, "RegisterTaskDefinition", role)->record.answer);
	set_launch(pass, task, request);
	return request;
}

/* Sends RunTask. *ret_step GOES_ON: it was answered, or its result is not known. */
static int run(struct deployment_pass *pass, struct span stage, struct pending_call *call,
	struct stage_step *ret_step, struct err *err)
{
	struct outcall_result result;
	const struct json *failure;
	int code = calls_send(pass, stage, call, &result, err);

	if (code < 0)
		return code;
	failure = json_item(json_get(result.answer, "failures"), 0);
	if (result.outcome == OUTCALL_REFUSED && !result.is_unavailable)
		stage_fail(ret_step,
			arena_format(pass->arena, "RunTask: %.*s", SPAN_ARGS(result.reason)));
	else if (failure)
		stage_fail(ret_step, arena_format(pass->arena, "RunTask started no task: %.*s",
					     SPAN_ARGS(json_get_text(failure, "reason"))));
	return 0;
}

/* ---- standalone tasks ---- */

int stage_run_standalone(struct deployment_pass *pass, struct span stage,
	struct stage_step *ret_step, struct err *err)
{
	struct pending_call call = {.service = ECS,
		.operation = "RunTask",
		.role = SPAN(""),
		.target = SPAN(""),
		.token_member = "clientToken",
		.attributes = SPAN("")};

	if (!pass->bundle.application->input.run_standalone_task ||
		calls_find_done(pass, "RunTask", SPAN(""))) {
		ret_step->progress = STAGE_DONE;
		return 0;
	}
	call.request = run_request(pass, &pass->bundle.task, SPAN(""));
	return run(pass, stage, &call, ret_step, err);
}

/* ---- ECS_RUN_TASK ---- */

/* The definition of the stage, or that of the application, with the role of its registration. */
static int find_definition(struct deployment_pass *pass, const struct stage_record *stage,
	const struct stage_options *options, struct task_file *ret_task, struct span *ret_role,
	struct err *err)
{
	struct span path = options->task_definition_file, text;

	if (path.length == 0) {
		*ret_task = pass->bundle.task;
		*ret_role = SPAN("");
		return 0;
	}
	text = json_text(json_get_span(pass->source.files, path));
	*ret_role = stage->id;
	return definition_load_task(path, text.data ? text : SPAN(""), pass->arena, ret_task, err);
}

static void set_overrides(const struct deployment_pass *pass, const struct task_file *task,
	const struct stage_options *options, struct json *request)
{
	struct arena *arena = pass->arena;
	struct json *overrides = json_new_object(arena), *list = json_new_array(arena),
		    *container = json_new_object(arena), *command = json_new_array(arena);
	const struct json *first = json_item(json_get(task->request, "containerDefinitions"), 0);

	if (options->command.count == 0)
		return;
	for (size_t i = 0; i < options->command.count; i++)
		json_append(arena, command,
			json_new_string(arena, ((struct span *)options->command.items)[i]));
	json_set_string(arena, container, "name",
		options->container.length > 0 ? options->container : json_get_text(first, "name"));
	json_set(arena, container, "command", command);
	json_append(arena, list, container);
	json_set(arena, overrides, "containerOverrides", list);
	json_set(arena, request, "overrides", overrides);
}

/* "container app: exit code 3"; "": every container that matters ended with 0. */
static struct span failure_of(const struct deployment_pass *pass,
	const struct stage_options *options, const struct json *task)
{
	struct span reason = json_get_text(task, "stoppedReason");

	JSON_EACH_ITEM (json_get(task, "containers"), container) {
		struct span name = json_get_text(container, "name"),
			    why = json_get_text(container, "reason");
		int64_t code = json_get_integer(container, "exitCode", -1);

		if (options->container.length > 0 && !span_equal(name, options->container))
			continue;
		if (code > 0)
			return arena_format(pass->arena, "container %.*s: exit code %d",
				SPAN_ARGS(name), (int)code);
		if (code < 0)
			return arena_format(pass->arena, "container %.*s has no exit code: %.*s",
				SPAN_ARGS(name),
				SPAN_ARGS(why.length > 0      ? why
					  : reason.length > 0 ? reason
							      : SPAN("it did not start")));
	}
	return SPAN("");
}

static int describe_task(struct deployment_pass *pass, struct span arn,
	const struct json **ret_task, struct err *err)
{
	struct json *request = json_new_object(pass->arena), *tasks = json_new_array(pass->arena),
		    *answer = NULL;
	int code;

	json_append(pass->arena, tasks, json_new_string(pass->arena, arn));
	json_set_string(pass->arena, request, "cluster", pass->cluster);
	json_set(pass->arena, request, "tasks", tasks);
	code = pass_read(pass, ECS, "DescribeTasks", request, &answer, err);
	*ret_task = json_item(json_get(answer, "tasks"), 0);
	return code;
}

static int follow_task(struct deployment_pass *pass, const struct stage_record *stage,
	const struct stage_options *options, struct span arn, struct stage_step *ret_step,
	struct err *err)
{
	const struct json *task = NULL;
	struct span failure;
	int code = describe_task(pass, arn, &task, err);

	if (code < 0)
		return code;
	if (!task) {
		stage_fail(ret_step, arena_format(pass->arena,
					     "task %.*s is gone, and its exit code is not known",
					     SPAN_ARGS(arn)));
		return 0;
	}
	if (!span_is(json_get_text(task, "lastStatus"), "STOPPED")) {
		ret_step->reason = arena_format(pass->arena, "the task is %.*s",
			SPAN_ARGS(json_get_text(task, "lastStatus")));
		code = stage_wait(pass, stage, ret_step, err);
		ret_step->wake_ms = pass->now_ms + pass->poll_ms;
		return code;
	}
	failure = failure_of(pass, options, task);
	if (failure.length > 0)
		stage_fail(ret_step, failure);
	else
		ret_step->progress = STAGE_DONE;
	return 0;
}

int stage_run_task(struct deployment_pass *pass, struct stage_record *stage,
	const struct stage_options *options, struct stage_step *ret_step, struct err *err)
{
	struct pending_call call = {.service = ECS,
		.operation = "RunTask",
		.role = stage->id,
		.target = SPAN(""),
		.token_member = "clientToken",
		.answer_path = "tasks.taskArn",
		.attributes = SPAN("")};
	const struct journalled_call *started = calls_find_done(pass, call.operation, stage->id);
	struct task_file task;
	enum carried carried;
	struct span role, reason;
	int code;

	if (started)
		return follow_task(pass, stage, options, started->record.answer, ret_step, err);
	code = find_definition(pass, stage, options, &task, &role, err);
	if (code >= 0)
		code = carry_out_definition(pass, stage->id, &task, role, &carried, &reason, err);
	if (code < 0)
		return code;
	if (carried == CARRIED_FAILED) {
		stage_fail(ret_step, reason);
		return 0;
	}
	ret_step->wake_ms = pass->again_ms;
	if (carried == CARRIED_SENT)
		return 0;
	call.request = run_request(pass, &task, role);
	set_overrides(pass, &task, options, call.request);
	return run(pass, stage->id, &call, ret_step, err);
}

int stage_end_task(struct deployment_pass *pass, const struct stage_record *stage, struct err *err)
{
	static const char *const gone[] = {"InvalidParameterException", NULL};
	const struct journalled_call *started = calls_find_done(pass, "RunTask", stage->id);
	struct pending_call call = {.service = ECS,
		.operation = "StopTask",
		.role = stage->id,
		.request = json_new_object(pass->arena),
		.done_errors = gone,
		.attributes = SPAN("")};
	const struct json *task = NULL;
	struct outcall_result result;
	int code;

	if (!started || calls_find_done(pass, "StopTask", stage->id))
		return 0;
	call.target = started->record.answer;
	code = describe_task(pass, call.target, &task, err);
	if (code < 0 || !task || span_is(json_get_text(task, "lastStatus"), "STOPPED"))
		return code;
	json_set_string(pass->arena, call.request, "cluster", pass->cluster);
	json_set_string(pass->arena, call.request, "task", call.target);
	json_set_string(pass->arena, call.request, "reason", SPAN("the stage has ended"));
	return calls_send(pass, stage->id, &call, &result, err);
}
