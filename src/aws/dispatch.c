/*
 * A call is one allocation in the request's arena that travels through the steps
 *
 *     begin · find · parse · authorise · limit · validate · prepare · run · finish
 *
 * on the caller's thread, except that a write's run happens on the store's writer and its finish
 * where the store says that it is durable, and a blocking operation's on the thread it was given.
 * Whatever way it takes, finish is reached once: it decides the answer, counts, audits, and calls
 * done, after which nothing of the call is touched.
 */
#include "aws/dispatch.h"

#include <stdio.h>

#include "aws/arn.h"
#include "aws/counts.h"
#include "aws/policy.h"
#include "aws/query.h"
#include "aws/throttle.h"
#include "base/buffer.h"
#include "base/memory.h"

#define SERVICES_MAX 16
#define SHOWN_NAME_MAX 128 /* of a client's text in our messages */
#define RESULT_SUCCESS "success"

struct registered {
	const struct aws_service *service;
	void *context;
	struct aws_counts *counts; /* a row per operation, and one for those that do not exist */
	size_t rows, public_rows;  /* rows of internal operations follow */
};

struct aws_dispatcher {
	struct aws_dispatch_config config;
	struct aws_throttle *reads, *writes; /* NULL: no limit */
	struct registered services[SERVICES_MAX];
	size_t service_count;
};

struct call {
	struct aws_dispatcher *dispatcher;
	const struct registered *registered;
	const struct shape_operation *shape; /* NULL for services without shapes */
	struct aws_request request;
	struct aws_resources resources;
	struct span name; /* of the operation, as asked for */
	struct span body;
	struct query_form form; /* if is_form, in the place of body */
	bool is_form;
	const struct json *input; /* not NULL: in the place of body */
	struct span problem;      /* with input: why it will be refused, or SPAN_NONE */
	size_t row;               /* for counting */
	struct buffer out;
	int64_t started_us;
	aws_done_function done;
	void *done_context;
};

/* ---- making and filling a dispatcher ---- */

struct aws_dispatcher *aws_dispatcher_new(const struct aws_dispatch_config *config)
{
	struct aws_dispatcher *dispatcher = memory_allocate(sizeof(*dispatcher));

	dispatcher->config = *config;
	if (config->reads_per_second > 0)
		dispatcher->reads = aws_throttle_new(config->reads_per_second);
	if (config->writes_per_second > 0)
		dispatcher->writes = aws_throttle_new(config->writes_per_second);
	return dispatcher;
}

void aws_dispatcher_free(struct aws_dispatcher *dispatcher)
{
	if (!dispatcher)
		return;
	for (size_t i = 0; i < dispatcher->service_count; i++)
		aws_counts_free(dispatcher->services[i].counts);
	aws_throttle_free(dispatcher->reads);
	aws_throttle_free(dispatcher->writes);
	free(dispatcher);
}

void aws_dispatcher_register(struct aws_dispatcher *dispatcher, const struct aws_service *service,
	void *context)
{
	struct registered *registered = &dispatcher->services[dispatcher->service_count];

	if (dispatcher->service_count == SERVICES_MAX)
		abort(); /* a program with more services must raise the number */
	registered->service = service;
	registered->context = context;
	registered->public_rows =
		service->shapes ? service->shapes->operation_count : service->operation_count;
	registered->rows = registered->public_rows + service->internal_operation_count;
	registered->counts = aws_counts_new(registered->rows + 1);
	dispatcher->service_count++;
}

const struct aws_service *aws_dispatcher_find(const struct aws_dispatcher *dispatcher,
	struct span name)
{
	for (size_t i = 0; i < dispatcher->service_count; i++) {
		if (span_is(name, dispatcher->services[i].service->name))
			return dispatcher->services[i].service;
	}
	return NULL;
}

const struct aws_service *aws_dispatcher_find_target(const struct aws_dispatcher *dispatcher,
	struct span json_target)
{
	for (size_t i = 0; i < dispatcher->service_count; i++) {
		const struct aws_service *service = dispatcher->services[i].service;

		if (service->json_target && span_is(json_target, service->json_target))
			return service;
	}
	return NULL;
}

const struct aws_service *aws_dispatcher_find_version(const struct aws_dispatcher *dispatcher,
	struct span version)
{
	for (size_t i = 0; i < dispatcher->service_count; i++) {
		const struct aws_service *service = dispatcher->services[i].service;

		if (query_is_protocol_of(service->shapes) &&
			span_is(version, service->shapes->version))
			return service;
	}
	return NULL;
}

void aws_dispatcher_new_id(const struct aws_dispatcher *dispatcher, char id[ID_UUID_SIZE])
{
	id_uuid(dispatcher->config.random, id);
}

/* ---- finish ---- */

static void write_failure(struct call *call)
{
	const struct aws_failure *failure = &call->request.failure;
	const struct json *extra = failure->extra;
	const char *message = aws_spelling_of(&call->request)->message;

	buffer_reset(&call->out);
	buffer_add_string(&call->out, "{\"__type\":");
	json_write_string(span_of(failure->type), &call->out);
	buffer_format(&call->out, ",\"%s\":", message ? message : "message");
	json_write_string(failure->message, &call->out);
	for (size_t i = 0; json_is(extra, JSON_OBJECT) && i < extra->object.count; i++) {
		buffer_add_char(&call->out, ',');
		json_write_string(extra->object.members[i].name, &call->out);
		buffer_add_char(&call->out, ':');
		json_write(extra->object.members[i].value, &call->out);
	}
	buffer_add_char(&call->out, '}');
}

static bool changes_something(const struct aws_operation *operation)
{
	return operation && (operation->mode == AWS_WRITE || operation->mode == AWS_BLOCKING ||
				    operation->changes);
}

static void report_audit(struct call *call, const struct aws_answer *answer, int64_t duration_us)
{
	const struct aws_dispatch_config *config = &call->dispatcher->config;
	struct aws_request *request = &call->request;
	struct aws_audit audit = {
		.time_ms = request->now_ms,
		.caller = request->caller,
		.service = request->service->name,
		.operation = call->name,
		.resource = request->resource,
		.error_type = answer->error_type,
		.status = answer->status,
		.request_id = request->id,
		.write = changes_something(request->operation),
		.hint = answer->error_type ? request->failure.hint : SPAN_NONE,
		.duration_us = duration_us,
	};

	if (!config->audit)
		return;
	if (!audit.resource.data)
		audit.resource = call->resources.count > 0 ? call->resources.arns[0] : SPAN("");
	config->audit(config->audit_context, &audit);
}

static void check_answer(struct call *call)
{
	struct aws_request *request = &call->request;
	struct shape_problem problem;
	struct json *answer;
	struct err err;

	if (json_parse(buffer_span(&call->out), request->arena, &answer, &err) < 0)
		aws_fail(request, "ServerException", "The answer to %.*s is not JSON: %s",
			SPAN_ARGS(call->name), err.message);
	else if (shape_validate_answer(request->service->shapes, call->shape, answer,
			 request->arena, &problem) < 0)
		aws_fail(request, "ServerException",
			"The answer to %.*s does not match the model: %.*s", SPAN_ARGS(call->name),
			SPAN_ARGS(problem.message));
}

static void finish(struct call *call)
{
	struct aws_request *request = &call->request;
	struct buffer out;
	struct aws_stream stream;
	struct aws_answer answer = {.status = 200, .request_id = request->id};
	int64_t duration_us = clock_steady_us(call->dispatcher->config.clock) - call->started_us;

	if (call->dispatcher->config.check_answers && call->shape && !request->failure.type &&
		!request->stream.begin && call->out.length > 0)
		check_answer(call);
	if (request->failure.type) {
		if (request->service->translate)
			request->service->translate(request->service, &request->failure);
		write_failure(call);
		answer.status = request->failure.status ? request->failure.status : 400;
		answer.error_type = request->failure.type;
		if (call->is_form)
			answer.status = query_error_status(request->service->shapes,
				span_of(answer.error_type), answer.status);
	} else if (request->stream.begin) {
		stream = request->stream;
		answer.stream = &stream;
	} else if (call->out.length == 0) {
		buffer_add_string(&call->out, "{}");
	}
	answer.body = buffer_span(&call->out);
	aws_counts_add(call->registered->counts, call->row,
		answer.error_type ? answer.error_type : RESULT_SUCCESS, duration_us);
	report_audit(call, &answer, duration_us);
	/* done may free the arena, and the call with it. */
	out = call->out;
	call->done(call->done_context, &answer);
	buffer_clear(&out);
}

/* ---- run ---- */

/* Runs the handler. A code without a failure becomes one, and after a failure the run has not succeeded. */
static int run_handler(struct call *call)
{
	struct aws_request *request = &call->request;
	int code = request->operation->run(request);

	if (code < 0 && !request->failure.type)
		return aws_fail(request, "ServerException",
			"%.*s failed inside of slipway (%s). Nothing was changed; this is a fault "
			"of slipway, please report it.",
			SPAN_ARGS(call->name), strerror(-code));
	/* The changes of a handler that failed the request are not kept. */
	if (request->failure.type)
		return -EPERM;
	if (buffer_failed(&call->out))
		return aws_fail(request, "ServerException",
			"The answer to %.*s is larger than %d MB; ask for less at once.",
			SPAN_ARGS(call->name), AWS_ANSWER_MAX / (1024 * 1024));
	return 0;
}

static void run_read(struct call *call)
{
	struct store_view *view = store_view_open(call->dispatcher->config.store);

	call->request.view = view;
	run_handler(call);
	/* The rest of the request may point into the view: close it after the answer is sent. */
	finish(call);
	store_view_close(view);
}

static int pass_fence(struct call *call)
{
	struct aws_request *request = &call->request;
	const struct aws_fence *fence = request->caller->fence;
	struct err err = {0};

	if (!fence || fence->require(fence->context, request->transaction, &err) == 0)
		return 0;
	return aws_fail(request, "ServerException", "%.*s rejected: claim lost: %s",
		SPAN_ARGS(call->name), err.message);
}

/* On the writer. May come again for the same call, when the group it was in had to be undone. */
static int run_write(struct store_transaction *transaction, void *context, struct err *err)
{
	struct call *call = context;
	struct aws_request *request = &call->request;

	request->transaction = transaction;
	request->view = store_head(transaction);
	request->failure = (struct aws_failure){0};
	request->resource = SPAN_NONE;
	buffer_reset(&call->out);
	if (pass_fence(call) == 0 && run_handler(call) == 0)
		return 0;
	return err_set(err, -EPERM, "%.*s", SPAN_ARGS(request->failure.message));
}

static void fail_write(struct call *call, int code, const char *reason)
{
	static const struct {
		int code;
		const char *advice;
	} table[] = {
		{-EAGAIN, "Too many changes are waiting to be written. Nothing was changed; try "
			  "again in a moment"},
		{-ECANCELED, "slipway is shutting down. Nothing was changed; try again"},
		{-EIO, "The change could not be made durable and was not kept. Try again; if it "
		       "stays so, look at the disk or the database of the store"},
	};
	const char *advice = table[LENGTH(table) - 1].advice;

	for (size_t i = 0; i < LENGTH(table); i++) {
		if (table[i].code == code)
			advice = table[i].advice;
	}
	aws_fail(&call->request, "ServerException", "%s%s%s", advice, reason[0] ? ": " : ".",
		reason);
	call->request.failure.transient = true;
}

static void write_done(void *context, int code, uint64_t revision, const struct err *err)
{
	struct call *call = context;

	(void)revision;
	/* Without a failure of the handler it was the store that failed. */
	if (code < 0 && !call->request.failure.type)
		fail_write(call, code, err ? err->message : "");
	finish(call);
}

static void run_blocking(void *context)
{
	struct call *call = context;

	run_handler(call);
	finish(call);
}

static void start_write(struct call *call)
{
	struct err err = {0};
	int code = store_write(call->dispatcher->config.store, run_write, write_done, call, &err);

	if (code == 0)
		return; /* the writer owns the call now */
	fail_write(call, code, err.message);
	finish(call);
}

static void start_blocking(struct call *call)
{
	const struct aws_dispatch_config *config = &call->dispatcher->config;

	if (config->run_blocking &&
		config->run_blocking(config->run_blocking_context, run_blocking, call) == 0)
		return;
	aws_fail(&call->request, "ServerException",
		"No thread is free to run %.*s. Nothing was changed; try again in a moment.",
		SPAN_ARGS(call->name));
	call->request.failure.transient = true;
	finish(call);
}

/* ---- the steps before ---- */

static struct span shown(struct span text)
{
	if (text.length > SHOWN_NAME_MAX)
		text.length = SHOWN_NAME_MAX;
	return text;
}

static const struct aws_operation *find_operation(const struct aws_operation *operations,
	size_t count, struct span name)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		int order = span_compare(name, span_of(operations[middle].name));

		if (order == 0)
			return &operations[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

/* For slipway's own calls only; false: there is none of the name. */
static bool find_internal(struct call *call)
{
	struct aws_request *request = &call->request;
	const struct aws_service *service = request->service;
	const struct aws_operation *operation = find_operation(service->internal_operations,
		service->internal_operation_count, call->name);

	if (!operation || !request->caller->is_internal)
		return false;
	request->operation = operation;
	call->row =
		call->registered->public_rows + (size_t)(operation - service->internal_operations);
	return true;
}

/* An operation that the model knows and the service does not is one that is not built. */
static int step_find(struct call *call)
{
	static const struct aws_operation unbuilt = {.name = "", .mode = AWS_UNBUILT};
	struct aws_request *request = &call->request;
	const struct aws_service *service = request->service;
	const struct aws_operation *operation =
		find_operation(service->operations, service->operation_count, call->name);

	if (find_internal(call))
		return 0;
	if (service->shapes)
		call->shape = shape_find_operation(service->shapes, call->name);
	request->operation = operation ? operation : &unbuilt;
	if (request->operation->context)
		request->context = request->operation->context;
	if (call->shape)
		call->row = (size_t)(call->shape - service->shapes->operations);
	else if (operation && !service->shapes)
		call->row = (size_t)(operation - service->operations);
	if (call->shape || (operation && !service->shapes))
		return 0;
	return aws_fail(request, "UnknownOperationException", "%s has no operation '%.*s'.",
		service->name, SPAN_ARGS(shown(call->name)));
}

static int parse_form(struct call *call)
{
	struct aws_request *request = &call->request;
	struct json *input;
	struct err err;

	if (query_read_input(request->service->shapes, call->shape, &call->form, request->arena,
		    &input, &err) < 0)
		return aws_fail(request, "SerializationException", "%s", err.message);
	request->input = input;
	return 0;
}

static int step_parse(struct call *call)
{
	struct aws_request *request = &call->request;
	struct json *input;
	struct err err;

	if (call->is_form)
		return parse_form(call);
	if (call->input) {
		request->input = call->input;
		return 0;
	}
	if (call->body.length > AWS_REQUEST_BODY_MAX) {
		aws_fail(request, "RequestEntityTooLargeException",
			"The request is longer than %d bytes.", AWS_REQUEST_BODY_MAX);
		request->failure.status = 413;
		return -EPERM;
	}
	if (call->body.length == 0)
		input = json_new_object(request->arena);
	else if (json_parse(call->body, request->arena, &input, &err) < 0)
		return aws_fail(request, "SerializationException", "%s", err.message);
	if (!json_is(input, JSON_OBJECT))
		return aws_fail(request, "SerializationException",
			"The request must be a JSON object, not %s.", json_type_name(input->type));
	request->input = input;
	return 0;
}

static int deny(struct call *call, struct span action, struct span resource, bool explicit)
{
	const struct aws_caller *caller = call->request.caller;
	struct span partition = aws_partition_of(caller->region);
	char reason[256];

	if (explicit)
		snprintf(reason, sizeof(reason),
			"with an explicit deny in an identity-based policy");
	else
		snprintf(reason, sizeof(reason),
			"because no identity-based policy allows the %.*s action",
			SPAN_ARGS(action));
	return aws_fail(&call->request, "AccessDeniedException",
		"User: arn:%.*s:iam::%.*s:user/%.*s is not authorized to perform: %.*s on "
		"resource: %.*s %s",
		SPAN_ARGS(partition), SPAN_ARGS(caller->account), SPAN_ARGS(caller->user),
		SPAN_ARGS(action), SPAN_ARGS(resource), reason);
}

static int step_authorise(struct call *call)
{
	struct aws_request *request = &call->request;
	const struct aws_policy *policy = request->caller->policy;
	struct aws_resources *resources = &call->resources;
	static const struct span any = {"*", 1};
	const struct span *arns = resources->arns;
	size_t count;
	struct span action;

	if (request->operation->resources)
		request->operation->resources(request, resources);
	if (!policy || request->operation->needs_no_permission)
		return 0;
	action = request->operation->action
			 ? span_of(request->operation->action)
			 : arena_format(request->arena, "%s:%.*s", request->service->name,
				   SPAN_ARGS(call->name));
	if (resources->overflow)
		return aws_policy_allows_everything(policy, action)
			       ? 0
			       : deny(call, action, any, false);
	count = resources->count;
	if (count == 0) {
		arns = &any;
		count = 1;
	}
	for (size_t i = 0; i < count; i++) {
		enum aws_decision decision = aws_policy_decide(policy, action, arns[i]);

		if (decision != AWS_ALLOWED)
			return deny(call, action, arns[i], decision == AWS_DENIED);
	}
	return 0;
}

/* slipway's own calls for an account are neither throttled nor counted against its users. */
static int step_limit(struct call *call)
{
	const struct aws_service *service = call->registered->service;
	const struct aws_dispatcher *dispatcher = call->dispatcher;
	bool changes = changes_something(call->request.operation);
	struct aws_throttle *const throttles[] = {changes ? service->writes : service->reads,
		changes ? dispatcher->writes : dispatcher->reads};

	for (size_t i = 0; i < LENGTH(throttles) && !call->request.caller->is_internal; i++)
		if (throttles[i] && !aws_throttle_take(throttles[i], call->request.caller->account,
					    call->started_us))
			return aws_fail(&call->request, "ThrottlingException", "Rate exceeded");
	return 0;
}

static int step_validate(struct call *call)
{
	struct aws_request *request = &call->request;
	struct shape_problem problem;

	if (call->problem.data)
		return aws_fail_input(request, "%.*s", SPAN_ARGS(call->problem));
	if (request->operation->mode == AWS_UNBUILT)
		return aws_fail(request, "UnsupportedFeatureException",
			"slipway does not support %.*s yet.", SPAN_ARGS(call->name));
	if (request->operation->mode == AWS_STREAM && request->caller->is_internal)
		return aws_fail(request, "UnsupportedFeatureException",
			"%.*s is a stream, which only HTTP clients can read.",
			SPAN_ARGS(call->name));
	if (!call->shape || shape_validate(request->service->shapes, call->shape, request->input,
				    request->arena, &problem) == 0)
		return 0;
	return aws_fail(request, problem.error, "%.*s", SPAN_ARGS(problem.message));
}

static int step_prepare(struct call *call)
{
	struct aws_request *request = &call->request;
	int code = 0;

	if (request->operation->prepare)
		code = request->operation->prepare(request);
	if (code < 0 && !request->failure.type)
		aws_fail(request, "ServerException",
			"%.*s failed inside of slipway (%s). Nothing was changed; this is a fault "
			"of slipway, please report it.",
			SPAN_ARGS(call->name), strerror(-code));
	return request->failure.type ? -EPERM : 0;
}

static const struct registered *find_registered(const struct aws_dispatcher *dispatcher,
	const struct aws_service *service)
{
	for (size_t i = 0; i < dispatcher->service_count; i++) {
		if (dispatcher->services[i].service == service)
			return &dispatcher->services[i];
	}
	abort(); /* callers have the service from aws_dispatcher_find */
}

static struct call *begin(struct aws_dispatcher *dispatcher, const struct aws_service *service,
	struct span operation, const struct aws_caller *caller, struct arena *arena,
	aws_done_function done, void *context)
{
	const struct aws_dispatch_config *config = &dispatcher->config;
	struct call *call = arena_allocate(arena, sizeof(*call));
	struct aws_request *request = &call->request;

	call->dispatcher = dispatcher;
	call->registered = find_registered(dispatcher, service);
	call->row = call->registered->rows;
	call->name = operation;
	call->done = done;
	call->done_context = context;
	call->started_us = clock_steady_us(config->clock);
	call->out = BUFFER_WITH_CAP(AWS_ANSWER_MAX);
	request->service = service;
	request->caller = caller;
	request->arena = arena;
	request->random = config->random;
	request->now_ms = clock_wall_ms(config->clock);
	request->context = call->registered->context;
	request->out = &call->out;
	id_uuid(config->random, request->id);
	return call;
}

static void go(struct call *call)
{
	static int (*const steps[])(struct call * call) = {
		step_find, step_parse, step_authorise, step_limit, step_validate, step_prepare};

	for (size_t i = 0; i < LENGTH(steps); i++) {
		if (steps[i](call) < 0) {
			finish(call);
			return;
		}
	}
	switch (call->request.operation->mode) {
	case AWS_READ:
	case AWS_STREAM: run_read(call); break;
	case AWS_WRITE: start_write(call); break;
	case AWS_BLOCKING: start_blocking(call); break;
	case AWS_UNBUILT: abort(); /* step_validate has answered */
	}
}

void aws_dispatch(struct aws_dispatcher *dispatcher, const struct aws_service *service,
	struct span operation, const struct aws_caller *caller, struct span body,
	struct arena *arena, aws_done_function done, void *context)
{
	struct call *call = begin(dispatcher, service, operation, caller, arena, done, context);

	call->body = body;
	go(call);
}

void aws_dispatch_input(struct aws_dispatcher *dispatcher, const struct aws_service *service,
	struct span operation, const struct aws_caller *caller, const struct json *input,
	struct span problem, struct arena *arena, aws_done_function done, void *context)
{
	struct call *call = begin(dispatcher, service, operation, caller, arena, done, context);

	call->input = input;
	call->problem = problem;
	go(call);
}

void aws_dispatch_form(struct aws_dispatcher *dispatcher, const struct aws_service *service,
	struct span operation, const struct aws_caller *caller, const struct query_form *form,
	struct arena *arena, aws_done_function done, void *context)
{
	struct call *call = begin(dispatcher, service, operation, caller, arena, done, context);

	call->form = *form;
	call->is_form = true;
	go(call);
}

/* ---- counts ---- */

struct counting {
	void (*each)(void *context, const char *service, const char *operation, const char *result,
		uint64_t calls, double seconds);
	void *context;
	const char *service, *operation;
};

static void report_count(void *context, const char *result, uint64_t calls, double seconds)
{
	const struct counting *counting = context;

	counting->each(counting->context, counting->service, counting->operation, result, calls,
		seconds);
}

void aws_dispatcher_each_count(struct aws_dispatcher *dispatcher,
	void (*each)(void *context, const char *service, const char *operation, const char *result,
		uint64_t calls, double seconds),
	void *context)
{
	for (size_t i = 0; i < dispatcher->service_count; i++) {
		const struct registered *registered = &dispatcher->services[i];
		const struct aws_service *service = registered->service;
		struct counting counting = {
			.each = each, .context = context, .service = service->name};

		for (size_t row = 0; row <= registered->rows; row++) {
			if (row == registered->rows)
				counting.operation = "unknown";
			else if (row >= registered->public_rows)
				counting.operation =
					service->internal_operations[row - registered->public_rows]
						.name;
			else if (service->shapes)
				counting.operation = shape_text(service->shapes,
					service->shapes->operations[row].name)
							     .data;
			else
				counting.operation = service->operations[row].name;
			aws_counts_each(registered->counts, row, report_count, &counting);
		}
	}
}
