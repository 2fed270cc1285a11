/*
 * Runs a program in a container for a remote client.
 *
 *     ExecuteCommand          POST /v1/exec {"task","container"?,"command":[…],"terminal"?,"rows"?,"columns"?}
 *
 * answers with a stream of frames until the program has ended. A frame is one letter, the length of
 * the data in four bytes (big-endian), and the data:
 *
 *     's'  the session's id, first          'x'  the exit code as text, last
 *     'o'  from its standard output         '!'  why there is none, instead
 *     'e'  from its standard error
 *
 *     SendCommandInput        POST /v1/exec/SESSION/input   the body goes to its standard input; 429: retry later
 *     EndCommandInput         POST /v1/exec/SESSION/end     there is no more input
 *     ResizeCommandTerminal   POST /v1/exec/SESSION/size    {"rows","columns"} of the terminal
 *
 * must be signed with the same key. When the stream's client disconnects, the program is killed.
 * Policies know ExecuteCommand as ecs:ExecuteCommand on the task's ARN.
 *
 * Each program has a thread, which alone uses its descriptors; requests leave input in the session,
 * under the server's lock, and wake it.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/eventfd.h>

#include "server/components.h"

#define COMMAND_MAX 1000
#define INPUT_MAX ((size_t)1024 * 1024) /* that a program has not read yet */
#define BEHIND_MAX ((size_t)256 * 1024)
#define PIECE ((size_t)32 * 1024)
#define ROWS_MAX 1000

struct session {
	struct server *server;
	struct http_exchange *exchange;
	struct task_target target;
	const struct json *command;
	bool terminal;
	char id[ID_HEX_SIZE];
	struct span access_key; /* of the client that began it, in the request's arena */
	struct runtime_exec *exec;
	int wake; /* eventfd: input, a new size, the client has taken something or is gone */
	_Atomic bool gone;
	/* Guarded by the server's lock: */
	struct buffer input;
	bool input_ends;
	unsigned rows, columns; /* 0: not to be changed */
};

static void wake(struct session *session)
{
	uint64_t one = 1;

	if (write(session->wake, &one, sizeof(one)) < 0)
		return; /* it is full: awake already */
}

static void free_session(struct session *session)
{
	struct server *server = session->server;

	memory_close_descriptor(&session->wake);
	buffer_clear(&session->input);
	free(session);
	server->programs--;
}

static void notify(struct http_exchange *exchange, enum http_stream_event event, void *context)
{
	struct session *session = context;

	(void)exchange;
	if (event == HTTP_STREAM_CLOSED) {
		free_session(session);
		return;
	}
	if (event == HTTP_STREAM_GONE)
		session->gone = true;
	wake(session);
}

/* ---- the program's side ---- */

static int send_frame(struct session *session, char kind, struct span data)
{
	_buffer_ struct buffer frame = {0};
	unsigned char head[5] = {(unsigned char)kind, (unsigned char)(data.length >> 24),
		(unsigned char)(data.length >> 16), (unsigned char)(data.length >> 8),
		(unsigned char)data.length};

	buffer_add(&frame, head, sizeof(head));
	buffer_add(&frame, data.data, data.length);
	return http_stream_write(session->exchange, buffer_span(&frame));
}

/* Copies what there is to the client. False when no more will come. */
static bool copy_output(struct session *session, int descriptor, char kind)
{
	char piece[PIECE];
	ssize_t got = read(descriptor, piece, sizeof(piece));

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	/* A terminal whose last program is gone says EIO. */
	return got > 0 && send_frame(session, kind, (struct span){piece, (size_t)got}) == 0;
}

/* Writes input that the program accepts; closes its input after the last byte. */
static void copy_input(struct session *session, int *input)
{
	struct server *server = session->server;
	struct runtime_exec *exec = session->exec;
	unsigned rows, columns;

	lock_take(&server->exec_lock);
	rows = session->rows;
	columns = session->columns;
	session->rows = session->columns = 0;
	if (*input >= 0 && session->input.length > 0) {
		ssize_t put = write(*input, session->input.data, session->input.length);

		if (put < 0 && errno != EAGAIN && errno != EINTR)
			put = (ssize_t)session->input.length; /* the program closed its input */
		if (put > 0) {
			memmove(session->input.data, session->input.data + put,
				session->input.length - (size_t)put);
			session->input.length -= (size_t)put;
		}
	}
	if (*input >= 0 && session->input_ends && session->input.length == 0) {
		if (session->terminal)
			session->input_ends = write(*input, "\4", 1) < 0;
		else
			memory_close_descriptor(input);
	}
	lock_release(&server->exec_lock);
	if (rows > 0 && exec->resize)
		exec->resize(exec, rows, columns);
}

static bool has_input(struct session *session)
{
	bool has;

	lock_take(&session->server->exec_lock);
	has = session->input.length > 0;
	lock_release(&session->server->exec_lock);
	return has;
}

static void set_nonblocking(int descriptor)
{
	int flags = fcntl(descriptor, F_GETFL);

	if (flags >= 0)
		fcntl(descriptor, F_SETFL, flags | O_NONBLOCK);
}

/* Until the program's output ends, or the client is gone. */
static void converse(struct session *session)
{
	struct runtime_exec *exec = session->exec;
	int input = exec->input;
	/* Order of polls: output, error, wake, input. A descriptor of -1 is left out. */
	struct pollfd polls[4] = {{.fd = exec->output}, {.fd = exec->error},
		{.fd = session->wake, .events = POLLIN}, {.fd = -1, .events = POLLOUT}};
	uint64_t count;

	set_nonblocking(exec->output);
	set_nonblocking(input);
	if (exec->error >= 0)
		set_nonblocking(exec->error);
	while (!session->gone && (polls[0].fd >= 0 || polls[1].fd >= 0)) {
		bool behind = http_stream_queued(session->exchange) > BEHIND_MAX;

		polls[0].events = polls[1].events = behind ? 0 : POLLIN;
		polls[3].fd = input >= 0 && has_input(session) ? input : -1;
		/* While the client is behind, poll would report a hang-up again and again. */
		if (poll(behind ? polls + 2 : polls, behind ? 2 : 4, -1) < 0 && errno != EINTR)
			break;
		if (polls[2].revents && read(session->wake, &count, sizeof(count)) < 0 &&
			errno != EAGAIN)
			break;
		copy_input(session, &input);
		if (behind)
			continue;
		if (polls[0].revents && !copy_output(session, exec->output, 'o'))
			polls[0].fd = -1;
		if (polls[1].revents && !copy_output(session, exec->error, 'e'))
			polls[1].fd = -1;
	}
	if (session->gone && exec->kill)
		exec->kill(exec);
	if (input >= 0 && input != exec->output)
		close(input);
	close(exec->output);
	if (exec->error >= 0)
		close(exec->error);
}

static void finish(struct session *session)
{
	struct server *server = session->server;
	struct err err = {0};
	char text[16];
	int exit_code;

	if (session->exec->wait(session->exec, &exit_code, &err) < 0) {
		send_frame(session, '!', span_of(err.message));
	} else {
		snprintf(text, sizeof(text), "%d", exit_code);
		send_frame(session, 'x', span_of(text));
	}
	lock_take(&server->exec_lock);
	map_remove(&server->exec_sessions, span_of(session->id));
	lock_release(&server->exec_lock);
	http_stream_end(session->exchange); /* after this, the session may be gone */
}

static void run(void *context)
{
	static const struct http_header type[] = {
		{SPAN("content-type"), SPAN("application/octet-stream")}};
	struct session *session = context;
	struct server *server = session->server;
	struct runtime *runtime = server->runtime;
	struct err err = {0};
	int code;

	if (runtime->operations->exec)
		code = runtime->operations->exec(runtime, session->target.token,
			session->target.container, session->command, session->terminal,
			&session->exec, &err);
	else
		code = err_set(&err, -EOPNOTSUPP, "this runtime cannot run programs in tasks");
	if (code < 0) {
		task_target_refuse(server, session->exchange, code, &err);
		free_session(session);
		return;
	}
	lock_take(&server->exec_lock);
	map_put(&server->exec_sessions, span_of(session->id), session);
	lock_release(&server->exec_lock);
	http_stream_begin(session->exchange, 200, type, 1, notify, session);
	send_frame(session, 's', span_of(session->id));
	wake(session);
	converse(session);
	finish(session);
}

/* ---- operations ---- */

static bool read_size(struct aws_request *request, unsigned *ret_rows, unsigned *ret_columns)
{
	int64_t rows = json_get_integer(request->input, "rows", 0);
	int64_t columns = json_get_integer(request->input, "columns", 0);

	if (rows < 0 || rows > ROWS_MAX || columns < 0 || columns > ROWS_MAX) {
		aws_fail_input(request, "rows and columns: must be numbers from 1 to %d", ROWS_MAX);
		return false;
	}
	*ret_rows = columns > 0 ? (unsigned)rows : 0;
	*ret_columns = (unsigned)columns;
	return true;
}

static bool check_command(struct aws_request *request)
{
	const struct json *command = json_get(request->input, "command");
	bool fits = json_is(command, JSON_ARRAY) && json_count(command) > 0 &&
		    json_count(command) <= COMMAND_MAX;

	JSON_EACH_ITEM (command, word)
		fits &= json_is(word, JSON_STRING) &&
			(word != json_item(command, 0) || json_text(word).length > 0);
	if (!fits)
		aws_fail_input(request,
			"command: must be a list of 1 to %d texts, a program and its arguments",
			COMMAND_MAX);
	return fits;
}

static void begin(void *context, struct http_exchange *exchange)
{
	struct session *session = context;
	struct server *server = session->server;

	session->exchange = exchange;
	if (runner_spawn(server->runner, "exec", run, session, NULL) == 0)
		return;
	free_session(session);
	rest_wire_refuse(server, exchange, 503, "ServiceUnavailableException",
		SPAN("slipway is stopping"));
}

static int execute_command(struct aws_request *request)
{
	struct server *server = request->context;
	struct task_target target;
	struct session *session;
	unsigned rows, columns;

	if (task_target_find(request, &target) < 0 || !check_command(request) ||
		!read_size(request, &rows, &columns))
		return -EPERM;
	if (server->programs++ >= SERVER_PROGRAMS_MAX) {
		server->programs--;
		return aws_fail(request, "ThrottlingException",
			"too many programs run in tasks for clients (limit %d)",
			SERVER_PROGRAMS_MAX);
	}
	session = memory_allocate(sizeof(*session));
	session->server = server;
	session->target = target;
	session->command = json_get(request->input, "command");
	session->terminal = json_get_bool(request->input, "terminal", false);
	session->rows = rows;
	session->columns = columns;
	session->access_key = request->caller->access_key;
	session->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	id_hex(server->random, session->id);
	if (session->wake < 0) {
		err_errno(&request->err, "make an event descriptor");
		free_session(session);
		return aws_fail_store(request);
	}
	request->stream = (struct aws_stream){begin, session};
	return 0;
}

/* The lock is held. -EAGAIN: later. */
static int take_input(struct session *session, struct span input)
{
	if (session->input_ends)
		return 0;
	if (session->input.length > 0 && session->input.length + input.length > INPUT_MAX)
		return -EAGAIN;
	buffer_add(&session->input, input.data, input.length);
	return 0;
}

static int continue_command(struct aws_request *request)
{
	struct server *server = request->context;
	const char *operation = request->operation->name;
	struct span id = json_get_text(request->input, "session");
	unsigned rows = 0, columns = 0;
	struct session *session;
	int code = 0;

	if (strcmp(operation, "ResizeCommandTerminal") == 0 && !read_size(request, &rows, &columns))
		return -EPERM;
	lock_take(&server->exec_lock);
	session = map_get(&server->exec_sessions, id);
	if (!session || !span_equal(session->access_key, request->caller->access_key)) {
		code = -ENOENT;
	} else if (strcmp(operation, "SendCommandInput") == 0) {
		code = take_input(session, json_get_text(request->input, "input"));
	} else if (strcmp(operation, "EndCommandInput") == 0) {
		session->input_ends = true;
	} else {
		session->rows = rows;
		session->columns = columns;
	}
	if (code == 0)
		wake(session);
	lock_release(&server->exec_lock);
	if (code == -ENOENT)
		return aws_fail(request, "ResourceNotFoundException", "session '%.*s' not found",
			SPAN_ARGS(id));
	if (code == -EAGAIN)
		return aws_fail(request, "ThrottlingException",
			"the program does not read its input yet");
	return 0;
}

static const struct aws_operation operations[] = {
	{.name = "EndCommandInput",
		.mode = AWS_READ,
		.run = continue_command,
		.needs_no_permission = true},
	{.name = "ExecuteCommand",
		.mode = AWS_STREAM,
		.run = execute_command,
		.resources = task_target_name,
		.action = "ecs:ExecuteCommand",
		.changes = true},
	{.name = "ResizeCommandTerminal",
		.mode = AWS_READ,
		.run = continue_command,
		.needs_no_permission = true},
	{.name = "SendCommandInput",
		.mode = AWS_READ,
		.run = continue_command,
		.needs_no_permission = true},
};

void task_exec_register(struct server *server)
{
	rest_add_operations(server, operations, LENGTH(operations), server);
}
