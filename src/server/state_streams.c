/* StreamTasks and StreamInstances: streams of changes (environment/api/state_stream.h) as the source of a stream. */
#include "environment/api/operations.h"
#include "environment/api/state_stream.h"
#include "server/components.h"
#include "server/streams.h"

#define POSITION_US INT64_C(15000000) /* between two lines when nothing changes */
#define WORKERS 2

struct changes {
	struct runner *runner;
	struct state_stream *stream;
	int64_t line_us; /* of the last line */
};

static int read_changes(void *source, struct buffer *out, struct stream_turn *ret_turn)
{
	struct changes *changes = source;
	int64_t now = runner_now_us(changes->runner);
	int code = state_stream_read(changes->stream, out);

	if (code < 0)
		return code;
	ret_turn->more = code > 0;
	if (out->length == 0 && now >= changes->line_us + POSITION_US)
		state_stream_report_position(changes->stream, out);
	if (out->length > 0)
		changes->line_us = now;
	ret_turn->again_us = changes->line_us + POSITION_US - now;
	return 0;
}

static void end_changes(void *source, enum stream_end reason, struct buffer *out)
{
	static const char *const names[] = {
		[STREAM_END_COMPLETE] = "SHUTTING_DOWN",
		[STREAM_END_FAILED] = "TOO_OLD",
		[STREAM_END_SLOW_CONSUMER] = "SLOW_CONSUMER",
		[STREAM_END_SHUTTING_DOWN] = "SHUTTING_DOWN",
	};
	const struct changes *changes = source;

	state_stream_report_end(changes->stream, names[reason], out);
}

static void refuse_changes(void *source, struct http_exchange *exchange, int code,
	const struct err *err)
{
	(void)source, (void)code;
	rest_refuse(exchange, 503, "ServiceUnavailableException", "%s", err->message);
}

static void free_changes(void *source)
{
	struct changes *changes = source;

	state_stream_free(changes->stream);
	free(changes);
}

static const struct stream_operations operations = {
	.content_type = "application/x-ndjson",
	.read = read_changes,
	.refuse = refuse_changes,
	.end = end_changes,
	.free = free_changes,
};

static void wake(void *context)
{
	stream_wake(context);
}

/* From the operation to the transport. */
struct beginning {
	struct stream *stream;
	struct changes *changes;
};

static void begin(void *context, struct http_exchange *exchange)
{
	const struct beginning *beginning = context;

	stream_begin(beginning->stream, &operations, beginning->changes, exchange);
}

static int fail_open(struct aws_request *request, int code, const struct err *err)
{
	if (code == -ESTALE)
		return aws_fail(request, "EntityVersionTooOldException", "%s", err->message);
	aws_fail(request, "ServerException", "%s", err->message);
	request->failure.transient = true;
	return -EPERM;
}

/* The handler of environments answers with what the input means; a stream begins with that. */
static int stream_changes(struct aws_request *request)
{
	struct server *server = request->context;
	struct beginning *beginning = arena_allocate(request->arena, sizeof(*beginning));
	struct state_stream_config config = {.store = server->store,
		.state = server->environments.state,
		.caller = request->caller,
		.instances = strcmp(request->operation->name, "StreamInstances") == 0,
		.wake = wake};
	struct json *input = NULL;
	struct err err = {0};
	int code;

	request->context = &server->environments;
	if (state_stream_check(request) < 0)
		return -EPERM;
	json_parse(arena_copy_span(request->arena, buffer_span(request->out)), request->arena,
		&input, NULL);
	buffer_reset(request->out);
	config.input = input;
	code = streams_reserve_for(server->change_streams, request, &beginning->stream);
	if (code < 0)
		return code;
	config.context = beginning->stream;
	beginning->changes = memory_allocate(sizeof(*beginning->changes));
	beginning->changes->runner = server->runner;
	beginning->changes->line_us = runner_now_us(server->runner);
	code = state_stream_open(&config, &beginning->changes->stream, &err);
	if (code < 0) {
		free(beginning->changes);
		stream_release(beginning->stream);
		return fail_open(request, code, &err);
	}
	request->stream = (struct aws_stream){begin, beginning};
	return 0;
}

static const struct aws_operation rows[] = {
	{.name = "StreamInstances", .mode = AWS_STREAM, .run = stream_changes},
	{.name = "StreamTasks", .mode = AWS_STREAM, .run = stream_changes},
};

void state_streams_register(struct server *server)
{
	rest_add_operations(server, rows, LENGTH(rows), server);
}

int state_streams_open(struct server *server, struct err *err)
{
	struct streams_config config = {.runner = server->runner,
		.name = "streams of changes",
		.workers = WORKERS,
		.most = SERVER_STREAMS_MAX};

	return streams_open(&config, &server->change_streams, err);
}
