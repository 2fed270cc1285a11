/*
 * GetTaskLogs: what a container has written, as it stands, and with "follow" what it writes from then on, until it
 * ends; "tail" and since leave out earlier lines, and "timestamps" puts the time before each. Policies know it as slipway:GetTaskLogs on the task's ARN. Workers read the logs, because files and the
 * Kubernetes API can take a moment.
 */
#include "server/components.h"
#include "server/streams.h"

/* Where logs are read again from the beginning of a second, small pieces would read it many times. */
#define PIECE ((size_t)1024 * 1024)
#define POLL_US INT64_C(100000)
#define START_PATIENCE_US INT64_C(10000000)
#define WORKERS 8

#define TAIL_BYTES_MAX                                                                             \
	((size_t)16 * 1024 * 1024) /* of the last lines, however many were asked for */

struct reading {
	struct server *server;
	struct task_target target; /* own memory */
	bool follow, is_early;
	bool timestamps;
	int64_t since_ms;   /* 0: all */
	bool tails;         /* the end of what there is has not been reached yet */
	size_t tail;        /* lines */
	struct buffer last; /* that may be those lines */
	/* The line that the last piece did not end. */
	bool in_line, takes_line;
	int64_t start_us; /* until when a task that has not started yet is waited for */
	uint64_t offset;
};

static void free_reading(void *source)
{
	struct reading *reading = source;

	free((char *)reading->target.token.data);
	free((char *)reading->target.container.data);
	buffer_clear(&reading->last);
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
		reading->target.container, 0, 1, &piece, NULL, &offset, err);
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

/* When the text at this place was written; 0: not known. */
static int64_t time_at(const struct runtime_log_times *times, size_t place)
{
	int64_t ms = 0;

	for (size_t i = 0; i < times->count && times->items[i].at <= place; i++)
		ms = times->items[i].ms;
	return ms;
}

/* A line whose time is not known is never left out. */
static void begin_line(struct reading *reading, int64_t ms, struct buffer *out)
{
	char time[CLOCK_ISO_SIZE] = "-";

	reading->takes_line = ms == 0 || ms >= reading->since_ms;
	if (!reading->takes_line || !reading->timestamps)
		return;
	if (ms > 0)
		clock_format_iso(ms, time);
	buffer_format(out, "%s ", time);
}

/* Copies the lines that are asked for. */
static void select_lines(struct reading *reading, struct span piece,
	struct runtime_log_times *times, struct buffer *out)
{
	size_t place = 0;

	while (place < piece.length) {
		const char *newline = memchr(piece.data + place, '\n', piece.length - place);
		size_t end = newline ? (size_t)(newline - piece.data) + 1 : piece.length;
		size_t passed = 0;

		if (!reading->in_line)
			begin_line(reading, time_at(times, place), out);
		if (reading->takes_line)
			buffer_add(out, piece.data + place, end - place);
		reading->in_line = !newline;
		place = end;
		/* Times are in order: those that no later line has are passed. */
		while (passed + 1 < times->count && times->items[passed + 1].at <= place)
			passed++;
		times->items += passed;
		times->count -= passed;
	}
}

/* Keeps the last lines only. */
static void cut_to_tail(struct reading *reading)
{
	const char *text = reading->last.data;
	size_t begin = reading->last.length, lines = 0;

	/* A newline at the end does not begin another line. */
	while (begin > 0 && reading->last.length - begin < TAIL_BYTES_MAX) {
		if (text[begin - 1] == '\n' && begin < reading->last.length &&
			++lines == reading->tail)
			break;
		begin--;
	}
	if (reading->tail == 0)
		begin = reading->last.length;
	buffer_consume(&reading->last, begin);
}

static int read_piece(struct reading *reading, struct buffer *out, bool *ret_empty)
{
	struct runtime *runtime = reading->server->runtime;
	bool selects = reading->timestamps || reading->since_ms > 0;
	struct runtime_log_times times = {0};
	_buffer_ struct buffer piece = {0};
	struct buffer *to = selects ? &piece : out;
	size_t before = to->length;
	uint64_t next = reading->offset;
	struct runtime_log_time *items;
	int code = runtime->operations->read_logs(runtime, reading->target.token,
		reading->target.container, reading->offset, PIECE, to, selects ? &times : NULL,
		&next, NULL);

	items = times.items;
	*ret_empty = to->length == before;
	if (code == 0 && selects)
		select_lines(reading, buffer_span(&piece), &times, out);
	times.items = items;
	runtime_log_times_clear(&times);
	reading->offset = next;
	return code;
}

static int read_logs(void *source, struct buffer *out, struct stream_turn *ret_turn)
{
	struct reading *reading = source;
	bool ended = !reading->follow || has_ended(reading), empty;

	/* Everything was written before the end was seen. */
	if (read_piece(reading, reading->tails ? &reading->last : out, &empty) < 0)
		return -ESHUTDOWN;
	if (reading->tails)
		cut_to_tail(reading);
	if (reading->tails && empty) {
		reading->tails = false;
		buffer_add_span(out, buffer_span(&reading->last));
		buffer_clear(&reading->last);
		empty = out->length == 0;
	}
	if (empty && ended)
		return -ESHUTDOWN;
	ret_turn->more = !empty;
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

/* Of both, the later one. */
static int64_t since_of(const struct aws_request *request, int64_t seconds)
{
	struct server *server = request->context;
	int64_t ms = seconds > 0 ? runner_wall_ms(server->runner) - seconds * 1000 : 0;
	double time = 0;

	json_double(json_get(request->input, "sinceTime"), &time);
	return time * 1000 > (double)ms ? (int64_t)(time * 1000) : ms;
}

static int get_logs(struct aws_request *request)
{
	struct server *server = request->context;
	struct beginning *beginning = arena_allocate(request->arena, sizeof(*beginning));
	int64_t seconds = json_get_integer(request->input, "sinceSeconds", 0);
	struct reading *reading;
	struct task_target target;

	if (task_target_find(request, &target) < 0 ||
		streams_reserve_for(server->log_streams, request, &beginning->stream) < 0)
		return -EPERM;
	reading = memory_allocate(sizeof(*reading));
	*reading = (struct reading){.server = server,
		.target = {.token = own(target.token), .container = own(target.container)},
		.follow = json_get_bool(request->input, "follow", false),
		.timestamps = json_get_bool(request->input, "timestamps", false),
		.since_ms = since_of(request, seconds),
		.tails = !json_is_absent(json_get(request->input, "tail")),
		.tail = (size_t)json_get_integer(request->input, "tail", 0),
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
