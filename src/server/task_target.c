/* The task and container that an operation of slipway's own API concerns. */
#include "ecs/record/task.h"
#include "server/components.h"

static const struct store_object *find_task(const struct store_view *view, struct span wanted,
	const struct aws_caller *caller, struct arena *arena)
{
	struct span mine = arena_format(arena, "%.*s/%.*s/", SPAN_ARGS(caller->account),
		SPAN_ARGS(caller->region));
	struct store_cursor cursor = {
		.view = view, .kind = &task_kind, .index = TASK_BY_ID, .exact = true};
	const struct store_object *task;

	if (wanted.length == 0)
		return NULL;
	/* The id is what stands behind the last slash of every name of a task. */
	cursor.prefix = wanted;
	for (size_t i = 0; i < wanted.length; i++)
		if (wanted.data[i] == '/')
			cursor.prefix = (struct span){wanted.data + i + 1, wanted.length - i - 1};
	task = store_next(&cursor);
	if (!task || !span_starts_with(task->key, mine))
		return NULL;
	if (cursor.prefix.length == wanted.length ||
		span_equal(ecs_arn_of_key(arena, "task", task->key), wanted) ||
		(task->key.length == mine.length + wanted.length &&
			span_ends_with(task->key, wanted)))
		return task;
	return NULL;
}

/* A caller without access to a task does not learn whether it exists. */
void task_target_name(struct aws_request *request, struct aws_resources *resources)
{
	const struct server *server = request->context;
	const struct aws_caller *caller = request->caller;
	_view_ struct store_view *view = store_view_open(server->store);
	const struct store_object *task =
		find_task(view, json_get_text(request->input, "task"), caller, request->arena);

	resources->arns[resources->count++] =
		task ? ecs_arn_of_key(request->arena, "task", task->key)
		     : arena_format(request->arena, "arn:aws:ecs:%.*s:%.*s:task/*",
			       SPAN_ARGS(caller->region), SPAN_ARGS(caller->account));
}

/* "app, beside" */
static struct span container_names(struct arena *arena, const struct json *document)
{
	struct span names = SPAN("");

	JSON_EACH_ITEM (json_get(document, "containers"), container)
		names = arena_format(arena, "%.*s%s%.*s", SPAN_ARGS(names),
			names.length ? ", " : "", SPAN_ARGS(json_get_text(container, "name")));
	return names;
}

static int choose_container(struct aws_request *request, const struct json *document,
	struct span *ret_container)
{
	const struct json *containers = json_get(document, "containers");
	struct span wanted = json_get_text(request->input, "container");

	if (!wanted.data && json_count(containers) == 1)
		wanted = json_get_text(json_item(containers, 0), "name");
	JSON_EACH_ITEM (containers, container)
		if (wanted.data && span_equal(json_get_text(container, "name"), wanted)) {
			*ret_container = arena_copy_span(request->arena, wanted);
			return 0;
		}
	if (wanted.data)
		return aws_fail(request, "ResourceNotFoundException",
			"container '%.*s' not found in the task, which has: %.*s",
			SPAN_ARGS(wanted), SPAN_ARGS(container_names(request->arena, document)));
	return aws_fail_input(request, "container: the task has several: %.*s",
		SPAN_ARGS(container_names(request->arena, document)));
}

int task_target_find(struct aws_request *request, struct task_target *ret_target)
{
	const struct server *server = request->context;
	struct span wanted = json_get_text(request->input, "task");
	const struct store_object *task =
		find_task(request->view, wanted, request->caller, request->arena);
	struct task_target target;
	struct json *document;

	if (!task)
		return aws_fail(request, "ResourceNotFoundException",
			"task '%.*s' not found in %.*s", SPAN_ARGS(wanted),
			SPAN_ARGS(request->caller->region));
	if (!server->runtime || !span_equal(task_facts(task)->host, span_of(server->host)))
		return aws_fail(request, "TaskNotReachableException",
			"task '%.*s' does not run on this server", SPAN_ARGS(wanted));
	if (json_parse(arena_copy_span(request->arena, task->api), request->arena, &document,
		    &request->err) < 0)
		return aws_fail_store(request);
	if (choose_container(request, document, &target.container) < 0)
		return -EPERM;
	target.token = arena_copy_span(request->arena, task_facts(task)->id);
	target.status = json_get_text(document, "lastStatus");
	*ret_target = target;
	return 0;
}

void task_target_refuse(struct server *server, struct http_exchange *exchange, int code,
	const struct err *err)
{
	static const struct {
		int code;
		int status;
		const char *name;
	} meanings[] = {
		{-ENOENT, 404, "ResourceNotFoundException"},
		{-ESRCH, 409, "TaskNotReachableException"},
		{-EINVAL, 400, "InvalidParameterException"},
		{-E2BIG, 400, "InvalidParameterException"},
		{-EOPNOTSUPP, 400, "UnsupportedFeatureException"},
	};
	int status = 503;
	const char *name = "ServiceUnavailableException";

	for (size_t i = 0; i < LENGTH(meanings); i++)
		if (meanings[i].code == code) {
			status = meanings[i].status;
			name = meanings[i].name;
		}
	rest_wire_refuse(server, exchange, status, name, span_of(err->message));
}

int streams_reserve_for(struct streams *streams, struct aws_request *request,
	struct stream **ret_stream)
{
	bool stopping;

	*ret_stream = stream_reserve(streams, &stopping);
	if (*ret_stream)
		return 0;
	if (!stopping)
		return aws_fail(request, "ThrottlingException", "too many open streams (limit %d)",
			SERVER_STREAMS_MAX);
	aws_fail(request, "ServerException", "slipway is stopping");
	request->failure.transient = true;
	return -EPERM;
}
