/* Calls into this process, and what both kinds of target share. */
#include "aws/call.h"

#include <stdio.h>

#include "aws/call_target.h"
#include "base/memory.h"

/* ---- shared ---- */

int aws_call_read_answer(const struct aws_call *call, struct span body, struct json **ret_answer,
	struct err *err)
{
	struct json *answer;
	int code;

	if (body.length == 0) {
		*ret_answer = json_new_object(call->arena);
		return 0;
	}
	code = json_parse(body, call->arena, &answer, err);
	if (code == 0 && json_is(answer, JSON_OBJECT)) {
		*ret_answer = answer;
		return 0;
	}
	if (code == 0)
		err_set(err, -EPROTO, "it is %s", json_type_name(answer->type));
	err_prefix(err, -EPROTO, "%s %s: the answer is not a JSON object", call->service,
		call->operation);
	if (err)
		err->code = -EPROTO;
	return -EPROTO;
}

/* "namespace#Type:uri" has a type in the middle. */
static struct span bare_type(struct span type)
{
	struct span before, after;

	if (span_split(type, ':', &before, &after))
		type = before;
	while (span_split(type, '#', &before, &after))
		type = after;
	return type;
}

int aws_call_fail(const struct aws_call *call, int status, struct span type, struct span message,
	struct aws_call_failure *failure, struct err *err)
{
	if (!type.data)
		type = SPAN("UnknownError");
	if (!message.data)
		message = SPAN("");
	failure->status = status;
	snprintf(failure->type, sizeof(failure->type), "%.*s", SPAN_ARGS(type));
	snprintf(failure->message, sizeof(failure->message), "%.*s", SPAN_ARGS(message));
	return err_set(err, -EREMOTEIO, "%s %s: %s (%d)%s%s", call->service, call->operation,
		failure->type, status, failure->message[0] ? ": " : "", failure->message);
}

int aws_call_read_failure(const struct aws_call *call, int status, struct span type_header,
	struct span body, struct aws_call_failure *failure, struct err *err)
{
	_arena_ struct arena *scratch = arena_new(0);
	struct json *document = NULL;
	struct span type, message;

	if (json_parse(body, scratch, &document, NULL) < 0)
		document = NULL;
	type = json_get_text(document, "__type");
	if (!type.data)
		type = type_header.data ? type_header : json_get_text(document, "code");
	if (type.data)
		type = bare_type(type);
	message = json_get_text(document, "message");
	if (!message.data)
		message = json_get_text(document, "Message");
	return aws_call_fail(call, status, type, message, failure, err);
}

int aws_call(struct aws_target *target, const char *service, const char *operation,
	const struct json *request, struct arena *arena, struct json **ret_answer,
	struct aws_call_failure *failure, struct err *err)
{
	return aws_call_fenced(target, NULL, service, operation, request, arena, ret_answer,
		failure, err);
}

int aws_call_fenced(struct aws_target *target, const struct aws_fence *fence, const char *service,
	const char *operation, const struct json *request, struct arena *arena,
	struct json **ret_answer, struct aws_call_failure *failure, struct err *err)
{
	const struct aws_call call = {.service = service,
		.operation = operation,
		.request = request,
		.arena = arena,
		.fence = fence};
	struct aws_call_failure ignored;

	if (!failure)
		failure = &ignored;
	*failure = (struct aws_call_failure){0};
	return target->send(target, &call, ret_answer, failure, err);
}

int aws_target_prepare(struct aws_target *target, struct err *err)
{
	return target->prepare ? target->prepare(target, err) : 0;
}

bool aws_call_was_not_sent(int code)
{
	return code == -ECONNREFUSED || code == -EHOSTUNREACH || code == -EACCES || code == -EINVAL;
}

void aws_target_cancel(struct aws_target *target)
{
	if (target->cancel)
		target->cancel(target);
}

void aws_target_free(struct aws_target *target)
{
	struct arena *arena;

	if (!target)
		return;
	if (target->close)
		target->close(target);
	arena = target->arena; /* in which the target is */
	arena_free(arena);
}

/* ---- this process ---- */

struct local_target {
	struct aws_target target;
	struct aws_dispatcher *dispatcher;
	struct aws_caller caller;
};

struct local_call {
	struct runner_event *done;
	struct arena *arena; /* the caller's, which waits */
	int status;
	bool failed;
	struct span body;
};

/* On whatever thread the answer comes. After the signal nothing of the call is touched. */
static void take_answer(void *context, const struct aws_answer *answer)
{
	struct local_call *local = context;

	local->status = answer->status;
	local->failed = answer->error_type;
	local->body = arena_copy_span(local->arena, answer->body);
	runner_signal(local->done);
}

static int send_local(struct aws_target *target, const struct aws_call *call,
	struct json **ret_answer, struct aws_call_failure *failure, struct err *err)
{
	struct local_target *local = CONTAINER_OF(target, struct local_target, target);
	_arena_ struct arena *scratch = arena_new(0);
	const struct aws_service *service =
		aws_dispatcher_find(local->dispatcher, span_of(call->service));
	struct local_call waiting = {.arena = call->arena};
	struct aws_caller caller = local->caller;
	int code = runner_yield(target->runner);

	if (code < 0)
		return err_set(err, code, "%s %s: stopped before the call", call->service,
			call->operation);
	if (!service)
		return err_set(err, -EINVAL, "%s %s: there is no such service", call->service,
			call->operation);
	caller.fence = call->fence;
	waiting.done = runner_event_new(target->runner, "a call");
	aws_dispatch(local->dispatcher, service, span_of(call->operation), &caller,
		call->request ? json_to_text(call->request, scratch) : SPAN("{}"), scratch,
		take_answer, &waiting);
	/* A stop does not end this wait: the operation uses our memory until it has answered. */
	while (runner_event_count(waiting.done) == 0)
		runner_wait_certain(target->runner, waiting.done, 0);
	runner_event_free(waiting.done);
	/* In simulation a crash may hit here: it has happened, and the caller never learns it. */
	code = runner_yield(target->runner);
	if (code < 0)
		return err_set(err, code, "%s %s: stopped during the call", call->service,
			call->operation);
	if (waiting.failed)
		return aws_call_read_failure(call, waiting.status, SPAN_NONE, waiting.body, failure,
			err);
	return aws_call_read_answer(call, waiting.body, ret_answer, err);
}

struct aws_target *aws_target_local(struct aws_dispatcher *dispatcher, struct runner *runner,
	const struct aws_caller *caller)
{
	struct arena *arena = arena_new(0);
	struct local_target *local = arena_allocate(arena, sizeof(*local));

	local->target = (struct aws_target){.runner = runner, .arena = arena, .send = send_local};
	local->dispatcher = dispatcher;
	local->caller = (struct aws_caller){
		.account = arena_copy_span(arena, caller->account),
		.user = arena_copy_span(arena, caller->user),
		.access_key = arena_copy_span(arena, caller->access_key),
		.region = arena_copy_span(arena, caller->region),
		.policy = caller->policy,
		.is_internal = true,
	};
	return &local->target;
}

bool aws_call_was_throttled(const struct aws_call_failure *failure)
{
	static const char *const types[] = {"Throttling", "ThrottlingException",
		"ThrottledException", "RequestThrottled", "RequestThrottledException",
		"RequestLimitExceeded", "TooManyRequestsException", "PriorRequestNotComplete",
		"ProvisionedThroughputExceededException", "BandwidthLimitExceeded", "SlowDown"};

	if (failure->status == 429)
		return true;
	for (size_t i = 0; i < LENGTH(types); i++)
		if (strcmp(failure->type, types[i]) == 0)
			return true;
	return false;
}
