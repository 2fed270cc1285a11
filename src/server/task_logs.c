/*
 * POST /v1/logs {"task","container"?,"follow"?}: what a container has written, as it stands, and with
 * "follow" what it writes from then on, until it ends. Policies know it as slipway:GetTaskLogs on the
 * task's ARN. Each has a thread: files are read.
 */
#include "server/components.h"

/* Where logs are read again from the beginning of a second, small pieces would read it many times. */
#define PIECE ((size_t)1024 * 1024)
#define BEHIND_MAX ((size_t)256 * 1024) /* that a client may be behind before we wait for it */
#define POLL_US INT64_C(100000)
#define START_PATIENCE_US INT64_C(10000000)

struct reading {
	struct server *server;
	struct http_exchange *exchange;
	struct task_target target;
	bool follow;
	struct runner_event *event; /* the client has taken something, or is gone */
	_Atomic bool gone;
};

static void notify(struct http_exchange *exchange, enum http_stream_event event, void *context)
{
	struct reading *reading = context;
	struct server *server = reading->server;

	(void)exchange;
	if (event == HTTP_STREAM_CLOSED) {
		runner_event_free(reading->event);
		free(reading);
		server->task_streams--;
		return;
	}
	if (event == HTTP_STREAM_GONE)
		reading->gone = true;
	runner_signal(reading->event);
}

/* True when the container has ended, or is no longer known. */
static bool has_ended(struct reading *reading)
{
	_arena_ struct arena *arena = arena_new(0);
	struct runtime *runtime = reading->server->runtime;
	struct runtime_task *seen;
	int code = runtime->operations->get(runtime, reading->target.token, arena, &seen, NULL);

	if (code < 0)
		return code == -ENOENT;
	for (size_t i = 0; i < seen->container_count; i++)
		if (span_equal(seen->containers[i].name, reading->target.container))
			return seen->containers[i].phase == RUNTIME_STOPPED &&
			       (seen->phase == RUNTIME_STOPPED || seen->phase == RUNTIME_STOPPING ||
				       seen->containers[i].restarts == 0);
	return true;
}

/* False when there is no client to continue for. */
static bool wait_for_client(struct reading *reading, int64_t deadline_us, bool drained)
{
	struct runner *runner = reading->server->runner;

	for (;;) {
		uint64_t count = runner_event_count(reading->event);

		if (reading->gone)
			return false;
		if (drained && http_stream_queued(reading->exchange) <= BEHIND_MAX)
			return true;
		switch (runner_wait(runner, reading->event, count, deadline_us)) {
		case 0: break;
		case -ETIMEDOUT: return !reading->gone;
		default: return false;
		}
	}
}

static void copy(struct reading *reading)
{
	struct server *server = reading->server;
	struct runtime *runtime = server->runtime;
	uint64_t offset = 0;
	bool more = true;

	while (more) {
		_buffer_ struct buffer piece = {0};
		bool ended = !reading->follow || has_ended(reading);
		uint64_t next = offset;

		/* The end of what was looked at before is the end. */
		if (runtime->operations->read_logs(runtime, reading->target.token,
			    reading->target.container, offset, PIECE, &piece, &next, NULL) < 0)
			return;
		offset = next;
		if (piece.length == 0 && ended)
			return;
		if (piece.length == 0)
			more = wait_for_client(reading, runner_deadline_us(server->runner, POLL_US),
				false);
		else if (http_stream_write(reading->exchange, buffer_span(&piece)) < 0)
			return;
		else
			more = wait_for_client(reading, RUNNER_FOREVER, true);
	}
}

static bool is_early(const struct reading *reading)
{
	return span_is(reading->target.status, "PROVISIONING") ||
	       span_is(reading->target.status, "PENDING");
}

/* Can they be read? A client that follows a new task waits until it is there. */
static int pass(struct reading *reading, struct err *err)
{
	struct server *server = reading->server;
	struct runtime *runtime = server->runtime;
	int64_t deadline = runner_deadline_us(server->runner, START_PATIENCE_US);

	for (;;) {
		_buffer_ struct buffer piece = {0};
		uint64_t offset;
		int code = runtime->operations->read_logs(runtime, reading->target.token,
			reading->target.container, 0, 1, &piece, &offset, err);

		if (code != -ENOENT || !reading->follow || !is_early(reading) ||
			runner_now_us(server->runner) >= deadline ||
			runner_sleep_until(server->runner,
				runner_deadline_us(server->runner, POLL_US)) < 0)
			return code;
	}
}

static void read_logs(void *context)
{
	static const struct http_header type[] = {
		{SPAN("content-type"), SPAN("application/octet-stream")}};
	struct reading *reading = context;
	struct runtime *runtime = reading->server->runtime;
	struct err err = {0};
	int code = runtime->operations->read_logs ? pass(reading, &err) : -EOPNOTSUPP;

	if (code < 0) {
		struct server *server = reading->server;

		if (code == -EOPNOTSUPP)
			err_set(&err, code, "this runtime keeps no logs");
		if (code == -ENOENT)
			err_set(&err, code,
				is_early(reading) ? "task '%.*s' has not started yet"
						  : "the logs of task '%.*s' are not kept any more",
				SPAN_ARGS(reading->target.token));
		task_target_refuse(reading->exchange, code, &err);
		runner_event_free(reading->event);
		free(reading);
		server->task_streams--;
		return;
	}
	http_stream_begin(reading->exchange, 200, type, 1, notify, reading);
	copy(reading);
	http_stream_end(reading->exchange); /* after this, `reading` may be gone */
}

void task_logs_read(struct server *server, struct http_exchange *exchange,
	const struct http_request *request)
{
	static const struct span known[] = {SPAN("task"), SPAN("container"), SPAN("follow")};
	const struct aws_caller *caller = rest_identify(server, exchange, request);
	struct task_target target;
	struct reading *reading;
	struct json *body;

	if (!caller || !rest_read_body(exchange, request, known, LENGTH(known), &body) ||
		!task_target_find(server, exchange, caller, "GetTaskLogs", "slipway:GetTaskLogs",
			false, body, &target))
		return;
	if (server->task_streams++ >= SERVER_TASK_STREAMS_MAX) {
		server->task_streams--;
		rest_refuse(exchange, 429, "TooManyRequests",
			"logs and programs of tasks are followed by %d clients already",
			SERVER_TASK_STREAMS_MAX);
		return;
	}
	rest_record(server, caller, "GetTaskLogs", false, target.arn, NULL, 200);
	reading = memory_allocate(sizeof(*reading));
	reading->server = server;
	reading->exchange = exchange;
	reading->target = target;
	reading->follow = json_get_bool(body, "follow", false);
	reading->event = runner_event_new(server->runner, "a reader of logs");
	if (runner_spawn(server->runner, "logs", read_logs, reading, NULL) < 0) {
		runner_event_free(reading->event);
		free(reading);
		server->task_streams--;
		rest_refuse(exchange, 503, "Draining", "slipway is stopping");
	}
}
