/* The task and container that a request of the REST API is about, and whether the caller may. */
#include "aws/policy.h"
#include "ecs/record/task.h"
#include "server/components.h"

static const struct store_object *find_task(const struct store_view *view, struct span configured,
	const struct aws_caller *caller, struct arena *arena)
{
	struct span mine = arena_format(arena, "%.*s/%.*s/", SPAN_ARGS(caller->account),
		SPAN_ARGS(caller->region));
	struct store_cursor cursor = {
		.view = view, .kind = &task_kind, .index = TASK_BY_ID, .exact = true};
	const struct store_object *task;

	/* The id is what stands behind the last slash of whatever names a task. */
	cursor.prefix = configured;
	for (size_t i = 0; i < configured.length; i++)
		if (configured.data[i] == '/')
			cursor.prefix =
				(struct span){configured.data + i + 1, configured.length - i - 1};
	task = store_next(&cursor);
	if (!task || !span_starts_with(task->key, mine))
		return NULL;
	if (cursor.prefix.length == configured.length ||
		span_equal(ecs_arn_of_key(arena, "task", task->key), configured) ||
		(task->key.length == mine.length + configured.length &&
			span_ends_with(task->key, configured)))
		return task;
	return NULL;
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

static bool choose_container(struct http_exchange *exchange, const struct json *document,
	struct span wanted, struct span *ret_container)
{
	struct arena *arena = http_exchange_request(exchange)->arena;
	const struct json *containers = json_get(document, "containers");

	if (!wanted.data && json_count(containers) == 1)
		wanted = json_get_text(json_item(containers, 0), "name");
	JSON_EACH_ITEM (containers, container)
		if (wanted.data && span_equal(json_get_text(container, "name"), wanted)) {
			*ret_container = wanted;
			return true;
		}
	if (wanted.data)
		rest_refuse(exchange, 404, "NotFound", "the task has no container '%.*s', but %.*s",
			SPAN_ARGS(wanted), SPAN_ARGS(container_names(arena, document)));
	else
		rest_refuse(exchange, 400, "InvalidRequest",
			"container: the task has several: %.*s",
			SPAN_ARGS(container_names(arena, document)));
	return false;
}

bool task_target_find(struct server *server, struct http_exchange *exchange,
	const struct aws_caller *caller, const char *operation, const char *action, bool write,
	const struct json *body, struct task_target *ret_target)
{
	struct arena *arena = http_exchange_request(exchange)->arena;
	struct span configured = json_get_text(body, "task"), arn;
	_view_ struct store_view *view = store_view_open(server->store);
	const struct store_object *task;
	struct json *document;

	if (!configured.data || configured.length == 0) {
		rest_refuse(exchange, 400, "InvalidRequest", "task: say which one");
		return false;
	}
	task = find_task(view, configured, caller, arena);
	/* A caller without access to a task does not learn whether it exists. */
	arn = task ? ecs_arn_of_key(arena, "task", task->key)
		   : arena_format(arena, "arn:aws:ecs:%.*s:%.*s:task/*", SPAN_ARGS(caller->region),
			     SPAN_ARGS(caller->account));
	if (caller->policy && !aws_policy_allows(caller->policy, span_of(action), &arn, 1)) {
		rest_record(server, caller, operation, write, arn, "AccessDenied", 403);
		rest_refuse(exchange, 403, "AccessDenied", "user '%.*s' may not do %s on %.*s",
			SPAN_ARGS(caller->user), action, SPAN_ARGS(task ? arn : configured));
		return false;
	}
	if (!task) {
		rest_refuse(exchange, 404, "NotFound", "there is no task '%.*s' in %.*s",
			SPAN_ARGS(configured), SPAN_ARGS(caller->region));
		return false;
	}
	if (!server->runtime || !span_equal(task_facts(task)->host, span_of(server->host))) {
		rest_refuse(exchange, 409, "NotHosted", "the task does not run in this server");
		return false;
	}
	if (json_parse(arena_copy_span(arena, task->api), arena, &document, NULL) < 0 ||
		!choose_container(exchange, document, json_get_text(body, "container"),
			&ret_target->container))
		return false;
	ret_target->token = arena_copy_span(arena, task_facts(task)->id);
	ret_target->arn = arn;
	ret_target->status = json_get_text(document, "lastStatus");
	return true;
}

void task_target_refuse(struct http_exchange *exchange, int code, const struct err *err)
{
	static const struct {
		int code;
		int status;
		const char *name;
	} meanings[] = {
		{-ENOENT, 404, "NotFound"},
		{-ESRCH, 409, "NotRunning"},
		{-EINVAL, 400, "InvalidRequest"},
		{-E2BIG, 400, "InvalidRequest"},
		{-EOPNOTSUPP, 501, "NotSupported"},
	};

	for (size_t i = 0; i < LENGTH(meanings); i++)
		if (meanings[i].code == code) {
			rest_refuse(exchange, meanings[i].status, meanings[i].name, "%s",
				err->message);
			return;
		}
	rest_refuse(exchange, 503, "RuntimeUnavailable", "%s", err->message);
}
