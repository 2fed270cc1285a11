/*
 * GetTaskLogs: what a container has written, as it stands, and with "follow" what it writes from then on, until it
 * ends. Policies know it as slipway:GetTaskLogs on the task's ARN. Workers read the logs, because files and the
 * Kubernetes API can take a moment.
 */
#include "server/components.h"
#include "server/streams.h"

/* Where logs are read again from the beginning of a second, small pieces would read it many times. */
#define PIECE ((size_t)1024 * 1024)
#define POLL_US INT64_C(100000)
#define START_PATIENCE_US INT64_C(10000000)
#define WORKERS 8

struct reading {
	struct server *server;
	struct task_target target; /* own memory */
	bool follow, is_early;
	int64_t start_us; /* until when a task that has not started yet is waited for */
	uint64_t offset;
};

static void free_reading(void *source)
{
	struct reading *reading = source;

	free((char *)reading->target.token.data);
	free((char *)reading->target.container.data);
	free(reading);
}

/* True when the container has ended, or is no longer known. */
static bool has_ended(const struct reading *reading)
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

/* Can they be read? A client that follows a new task waits until it has started. */
static int open_logs(void *source, struct stream_turn *ret_turn, struct err *err)
{
	struct reading *reading = source;
	struct runtime *runtime = reading->server->runtime;
	_buffer_ struct buffer piece = {0};
	uint64_t offset;
	int code;

	if (!runtime->operations->read_logs)
		return err_set(err, -EOPNOTSUPP, "this runtime keeps no logs");
	code = runtime->operations->read_logs(runtime, reading->target.token,
		reading->target.container, 0, 1, &piece, &offset, err);
	if (code != -ENOENT)
		return code == -EAGAIN ? err_set(err, -EIO, "%s", err->message) : code;
	if (reading->follow && reading->is_early &&
		runner_now_us(reading->server->runner) < reading->start_us) {
		ret_turn->again_us = POLL_US;
		return err_set(err, -EAGAIN, "not started yet");
	}
	return err_set(err, -ENOENT,
		reading->is_early ? "task '%.*s' has not started yet"
				  : "the logs of task '%.*s' are not kept any more",
		SPAN_ARGS(reading->target.token));
}

static void refuse_logs(void *source, struct http_exchange *exchange, int code,
	const struct err *err)
{
	const struct reading *reading = source;

	task_target_refuse(reading->server, exchange, code, err);
}

static int read_logs(void *source, struct buffer *out, struct stream_turn *ret_turn)
{
	struct reading *reading = source;
	struct runtime *runtime = reading->server->runtime;
	bool ended = !reading->follow || has_ended(reading);
	uint64_t next = reading->offset;

	/* Everything was written before the end was seen. */
	if (runtime->operations->read_logs(runtime, reading->target.token,
		    reading->target.container, reading->offset, PIECE, out, &next, NULL) < 0)
		return -ESHUTDOWN;
	reading->offset = next;
	if (out->length == 0 && ended)
		return -ESHUTDOWN;
	ret_turn->more = out->length > 0;
	ret_turn->again_us = POLL_US;
	return 0;
}

static const struct stream_operations operations = {
	.content_type = "application/octet-stream",
	.open = open_logs,
	.refuse = refuse_logs,
	.read = read_logs,
	.free = free_reading,
};

/* From the operation to the transport. */
struct beginning {
	struct stream *stream;
	struct reading *reading;
};

static void begin(void *context, struct http_exchange *exchange)
{
	const struct beginning *beginning = context;

	stream_begin(beginning->stream, &operations, beginning->reading, exchange);
}

static struct span own(struct span text)
{
	return (struct span){memory_copy_string_n(text.data, text.length), text.length};
}

static int get_logs(struct aws_request *request)
{
	struct server *server = request->context;
	struct beginning *beginning = arena_allocate(request->arena, sizeof(*beginning));
	struct reading *reading;
	struct task_target target;

	if (task_target_find(request, &target) < 0 ||
		streams_reserve_for(server->log_streams, request, &beginning->stream) < 0)
		return -EPERM;
	reading = memory_allocate(sizeof(*reading));
	*reading = (struct reading){.server = server,
		.target = {.token = own(target.token), .container = own(target.container)},
		.follow = json_get_bool(request->input, "follow", false),
		.is_early =
			span_is(target.status, "PROVISIONING") || span_is(target.status, "PENDING"),
		.start_us = runner_deadline_us(server->runner, START_PATIENCE_US)};
	beginning->reading = reading;
	request->stream = (struct aws_stream){begin, beginning};
	return 0;
}

void task_logs_register(struct server *server)
{
	static const struct aws_operation operation = {.name = "GetTaskLogs",
		.mode = AWS_STREAM,
		.run = get_logs,
		.resources = task_target_name};

	rest_add_operations(server, &operation, 1, server);
}

int task_logs_open(struct server *server, struct err *err)
{
	struct streams_config config = {.runner = server->runner,
		.name = "streams of logs",
		.workers = WORKERS,
		.most = SERVER_STREAMS_MAX};

	return streams_open(&config, &server->log_streams, err);
}
