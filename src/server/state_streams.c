/*
 * GET /v1/stream/tasks and /v1/stream/instances: streams of changes (environment/api/state_stream.h). Each
 * has a thread, so their number is limited. The server waits for a client that does not read,
 * buffers nothing for it, and times out; the last line says so, and the position to resume from.
 */
#include "aws/rest.h"
#include "environment/api/state_stream.h"
#include "server/components.h"

#define BEHIND_MAX ((size_t)256 * 1024) /* that a client may be behind before we wait for it */
/* For a stalled client: shorter than the listener's, so that the last line can be sent. */
#define PATIENCE_US INT64_C(15000000)
#define POSITION_US INT64_C(15000000) /* between two lines when nothing changes */
#define POLL_US INT64_C(250000)       /* between two checks whether slipway stops */
#define END_US INT64_C(2000000)       /* that clients have to take the last line */
#define END_POLL_US INT64_C(10000)

struct streaming {
	struct server *server;
	struct http_exchange *exchange;
	struct state_stream *stream;
	struct runner_event
		*event; /* there is something to read, or the client took something or is gone */
	_Atomic bool gone;
};

static void discard(struct streaming *streaming)
{
	struct server *server = streaming->server;

	state_stream_free(streaming->stream);
	runner_event_free(streaming->event);
	free(streaming);
	server->state_streams--;
}

static void notify(struct http_exchange *exchange, enum http_stream_event event, void *context)
{
	struct streaming *streaming = context;

	(void)exchange;
	if (event == HTTP_STREAM_CLOSED) {
		discard(streaming);
		return;
	}
	if (event == HTTP_STREAM_GONE)
		streaming->gone = true;
	runner_signal(streaming->event);
}

static void wake(void *context)
{
	const struct streaming *streaming = context;

	runner_signal(streaming->event);
}

/* Waits until the client has read enough. Returns why the stream ends; NULL: it continues. */
static const char *wait_for_client(struct streaming *streaming)
{
	struct runner *runner = streaming->server->runner;
	int64_t deadline_us = runner_deadline_us(runner, PATIENCE_US);
	size_t queued = SIZE_MAX;

	for (;;) {
		uint64_t count = runner_event_count(streaming->event);
		size_t now = http_stream_queued(streaming->exchange);
		int code;

		if (now <= BEHIND_MAX || streaming->gone)
			return NULL;
		/* A client that reads anything, however little, is still connected. */
		if (now < queued)
			deadline_us = runner_deadline_us(runner, PATIENCE_US);
		queued = now;
		code = runner_wait(runner, streaming->event, count, deadline_us);
		if (code == -ETIMEDOUT)
			return "SLOW_CONSUMER";
		if (code == -ECANCELED)
			return "SHUTTING_DOWN";
	}
}

/* Until there may be something to read. */
static const char *wait_for_changes(struct streaming *streaming, uint64_t seen)
{
	struct runner *runner = streaming->server->runner;
	int64_t deadline_us = runner_deadline_us(runner, POSITION_US);
	_buffer_ struct buffer line = {0};
	int code = -ETIMEDOUT;

	while (code == -ETIMEDOUT && runner_now_us(runner) < deadline_us) {
		code = runner_wait(runner, streaming->event, seen,
			runner_deadline_us(runner, POLL_US));
		if (code == -ECANCELED || streaming->server->draining)
			return "SHUTTING_DOWN";
	}
	if (code == -ETIMEDOUT) {
		state_stream_report_position(streaming->stream, &line);
		if (http_stream_write(streaming->exchange, buffer_span(&line)) < 0)
			streaming->gone = true;
	}
	return NULL;
}

/* Why it ended. */
static const char *copy(struct streaming *streaming)
{
	const char *reason = NULL;

	while (!reason && !streaming->gone) {
		uint64_t seen = runner_event_count(streaming->event);
		_buffer_ struct buffer lines = {0};
		int code = state_stream_read(streaming->stream, &lines);

		if (lines.length > 0 &&
			http_stream_write(streaming->exchange, buffer_span(&lines)) < 0)
			return NULL;
		if (code < 0)
			return "TOO_OLD";
		reason = code == 0 ? wait_for_changes(streaming, seen) : wait_for_client(streaming);
	}
	return reason;
}

static void run(void *context)
{
	static const struct http_header type[] = {
		{SPAN("content-type"), SPAN("application/x-ndjson")}};
	struct streaming *streaming = context;
	_buffer_ struct buffer line = {0};
	const char *reason;

	http_stream_begin(streaming->exchange, 200, type, LENGTH(type), notify, streaming);
	reason = copy(streaming);
	if (reason && !streaming->gone) {
		state_stream_report_end(streaming->stream, reason, &line);
		http_stream_write(streaming->exchange, buffer_span(&line));
	}
	http_stream_end(streaming->exchange); /* after this, `streaming` may be gone */
}

static void refuse(struct server *server, int status, const char *type, const char *message,
	aws_done_function done, void *context)
{
	rest_refuse_request(server->dispatcher, status, type, span_of(message), done, context);
}

void state_streams_end(struct server *server)
{
	int64_t deadline_us;

	if (server->state_streams == 0)
		return;
	deadline_us = runner_deadline_us(server->runner, END_US);
	while (server->state_streams > 0 && runner_now_us(server->runner) < deadline_us)
		if (runner_sleep_until(server->runner,
			    runner_deadline_us(server->runner, END_POLL_US)) < 0)
			return;
}

bool state_streams_are(const char *operation)
{
	return strcmp(operation, "StreamTasks") == 0 || strcmp(operation, "StreamInstances") == 0;
}

void state_streams_begin(struct server *server, struct http_exchange *exchange,
	const char *operation, const struct aws_caller *caller, struct span input,
	aws_done_function done, void *context)
{
	struct arena *arena = http_exchange_request(exchange)->arena;
	struct streaming *streaming = memory_allocate(sizeof(*streaming));
	struct state_stream_config config = {.store = server->store,
		.state = server->environments.state,
		.caller = caller,
		.instances = strcmp(operation, "StreamInstances") == 0,
		.wake = wake,
		.context = streaming};
	struct json *parsed = NULL;
	struct err err = {0};
	int code;

	streaming->server = server;
	streaming->exchange = exchange;
	streaming->event = runner_event_new(server->runner, "a stream");
	if (server->state_streams++ >= SERVER_STATE_STREAMS_MAX) {
		discard(streaming);
		refuse(server, 429, "ThrottlingException",
			"So many streams are open already that there is no place for another", done,
			context);
		return;
	}
	json_parse(arena_copy_span(arena, input), arena, &parsed, NULL);
	config.input = parsed;
	code = state_stream_open(&config, &streaming->stream, &err);
	if (code == 0)
		code = runner_spawn(server->runner, "stream", run, streaming, NULL);
	if (code == 0)
		return;
	discard(streaming);
	if (code == -ESTALE)
		refuse(server, 410, "EntityVersionTooOldException", err.message, done, context);
	else if (code == -EAGAIN)
		refuse(server, 503, "ServiceUnavailableException", err.message, done, context);
	else
		refuse(server, 503, "ServiceUnavailableException", "slipway is stopping", done,
			context);
}
