/*
 * Operations that stream changes: each engine has a table of them (delivery/stream.h), and here a stream of theirs becomes
 * the source of an answer (server/streams.h).
 */
#include "base/memory.h"
#include "delivery/stream.h"
#include "environment/api/operations.h"
#include "flow/api.h"
#include "pipeline/api.h"
#include "server/components.h"
#include "server/streams.h"

#define POSITION_US INT64_C(15000000) /* between two lines when nothing changes */
#define WORKERS 2

struct changes {
	struct runner *runner;
	struct delivery_stream *stream;
	int64_t line_us; /* of the last line */
};

static int read_changes(void *source, struct buffer *out, struct stream_turn *ret_turn)
{
	struct changes *changes = source;
	int64_t now = runner_now_us(changes->runner);
	int code = delivery_stream_read(changes->stream, out);

	if (code < 0)
		return code;
	ret_turn->more = code > 0;
	if (out->length == 0 && now >= changes->line_us + POSITION_US)
		delivery_stream_write_position(changes->stream, out);
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

	delivery_stream_write_end(changes->stream, names[reason], out);
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

	delivery_stream_free(changes->stream);
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

static int stream_changes(struct aws_request *request)
{
	const struct change_operation *row = request->context;
	struct server *server = row->server;
	struct beginning *beginning = arena_allocate(request->arena, sizeof(*beginning));
	struct delivery_stream *stream;
	int code;

	request->context = row->context;
	code = streams_reserve_for(server->change_streams, request, &beginning->stream);
	if (code < 0)
		return code;
	code = row->operation->open(request, (struct delivery_stream_wake){wake, beginning->stream},
		&stream);
	if (code < 0) {
		stream_release(beginning->stream);
		return code;
	}
	beginning->changes = memory_allocate(sizeof(*beginning->changes));
	*beginning->changes = (struct changes){.runner = server->runner,
		.stream = stream,
		.line_us = runner_now_us(server->runner)};
	request->stream = (struct aws_stream){begin, beginning};
	return 0;
}

static void add_operations(struct server *server, const struct delivery_stream_operation *rows,
	size_t count, void *context)
{
	if (server->change_operation_count + count > LENGTH(server->change_operations))
		abort(); /* a program with more operations must raise the number */
	for (size_t i = 0; i < count; i++) {
		struct change_operation *row =
			&server->change_operations[server->change_operation_count++];
		const struct aws_operation operation = {
			.name = rows[i].name, .mode = AWS_STREAM, .run = stream_changes};

		*row = (struct change_operation){server, &rows[i], context};
		rest_add_operations(server, &operation, 1, row);
	}
}

void change_streams_register(struct server *server)
{
	add_operations(server, environment_streams, environment_stream_count,
		&server->environments);
	add_operations(server, pipeline_streams, pipeline_stream_count, &server->applications);
	add_operations(server, flow_streams, flow_stream_count, &server->flow_streams);
}

int change_streams_open(struct server *server, struct err *err)
{
	struct streams_config config = {.runner = server->runner,
		.name = "streams of changes",
		.workers = WORKERS,
		.most = SERVER_STREAMS_MAX};

	return streams_open(&config, &server->change_streams, err);
}
