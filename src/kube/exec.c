/*
 * One thread per command carries bytes between the WebSocket and three socket pairs; the caller has
 * the other ends. Only this thread uses the connection; others signal it by fields under the lock
 * and an eventfd. Flow control: the thread does not read from the server until the caller has read
 * earlier output, nor the caller's input while the connection is full.
 *
 * Messages begin with a byte that names their channel. The error channel carries one message, a Status, when
 * the command has ended; then the server closes.
 */
#include "kube/exec.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/lock.h"
#include "kube/discovery.h"
#include "kube/request.h"
#include "kube/websocket.h"

#define PATH_MAX_BYTES ((size_t)64 * 1024)
#define TO_SERVER_MAX ((size_t)64 * 1024)  /* beyond it the input waits */
#define TO_CALLER_MAX ((size_t)256 * 1024) /* beyond it the server waits */
#define PIECE ((size_t)16 * 1024)
#define PING_MS 30000 /* so that no proxy takes an idle connection for a dead one */

enum channel {
	CHANNEL_INPUT = 0,
	CHANNEL_OUTPUT = 1,
	CHANNEL_ERROR = 2,
	CHANNEL_STATUS = 3,
	CHANNEL_RESIZE = 4,
	CHANNEL_CLOSE = 255, /* v5: its next byte names the channel that has ended */
};

/* One of the command's output streams on its way to the caller. */
struct stream {
	int descriptor; /* ours; -1: none, or its reader has closed it */
	struct buffer waiting;
};

struct kube_exec {
	struct kube_client *client;
	struct runner *group;
	struct runner_event *ended_event;
	struct http_upgrade *upgrade;
	bool can_close_input;
	bool terminal;
	int theirs[3]; /* until they are taken; -1 */

	/* The thread's. */
	struct websocket_reader reader;
	struct buffer to_server;
	bool is_deaf; /* the server takes nothing any more */
	int input;    /* -1: ended */
	struct stream streams[2];
	bool closed; /* by the server, or broken */
	bool has_result;

	int wake;         /* an eventfd */
	struct lock lock; /* for all below */
	bool killed;
	unsigned rows, columns; /* size to send; 0: none */
	bool ended;
	int exit_code;
	struct err problem; /* code 0: none */
};

/* ---- messages of the server ---- */

static void set_problem(struct kube_exec *exec, const struct err *problem)
{
	lock_take(&exec->lock);
	if (exec->problem.code == 0 && !exec->has_result)
		exec->problem = *problem;
	lock_release(&exec->lock);
}

/* "ExitCode" among the causes of the status. */
static bool find_exit_code(const struct json *status, int *ret_code)
{
	JSON_EACH_ITEM (json_path(status, "details.causes"), cause) {
		uint64_t code;

		if (span_is(json_get_text(cause, "reason"), "ExitCode") &&
			span_to_unsigned(json_get_text(cause, "message"), 255, &code)) {
			*ret_code = (int)code;
			return true;
		}
	}
	return false;
}

static void take_status(struct kube_exec *exec, struct span text)
{
	_arena_ struct arena *arena = arena_new(KUBE_REFUSAL_MAX * 32);
	struct json *status = NULL;
	struct err problem;
	int code = 0;

	if (json_parse(text, arena, &status, NULL) < 0) {
		err_set(&problem, -EPROTO, "exec: %.*s", SPAN_ARGS(text));
		set_problem(exec, &problem);
	} else if (span_is(json_get_text(status, "status"), "Success") ||
		   find_exit_code(status, &code)) {
		lock_take(&exec->lock);
		exec->exit_code = code;
		exec->problem.code = 0;
		lock_release(&exec->lock);
		exec->has_result = true;
	} else {
		kube_status_read_object(status, "exec", NULL, &problem);
		set_problem(exec, &problem);
	}
}

static void take_output(struct stream *stream, struct span data)
{
	if (stream->descriptor >= 0)
		buffer_add_span(&stream->waiting, data);
}

static void take_channel(struct kube_exec *exec, struct span message)
{
	struct span data = {message.data + 1, message.length - 1};

	switch ((unsigned char)message.data[0]) {
	case CHANNEL_OUTPUT: take_output(&exec->streams[0], data); break;
	case CHANNEL_ERROR: take_output(&exec->streams[1], data); break;
	case CHANNEL_STATUS:
		if (data.length > 0) /* channels are announced by empty messages */
			take_status(exec, data);
		break;
	default: break;
	}
}

static int take_message(void *context, enum websocket_type type, struct span payload,
	struct err *err)
{
	struct kube_exec *exec = context;

	(void)err;
	switch (type) {
	case WEBSOCKET_PING:
		websocket_write(&exec->to_server, WEBSOCKET_PONG, payload,
			runner_random(exec->group));
		break;
	case WEBSOCKET_CLOSE:
		websocket_write(&exec->to_server, WEBSOCKET_CLOSE, payload,
			runner_random(exec->group));
		exec->closed = true;
		break;
	case WEBSOCKET_TEXT:
	case WEBSOCKET_BINARY:
		if (payload.length > 0)
			take_channel(exec, payload);
		break;
	default: break;
	}
	return 0;
}

/* ---- carrying ---- */

static void send_channel(struct kube_exec *exec, unsigned char channel, struct span data)
{
	_buffer_ struct buffer message = {0};

	buffer_add_char(&message, (char)channel);
	buffer_add_span(&message, data);
	websocket_write(&exec->to_server, WEBSOCKET_BINARY, buffer_span(&message),
		runner_random(exec->group));
}

/* With a terminal the same pair carries the output, and stays. */
static void drop_input(struct kube_exec *exec)
{
	if (exec->input != exec->streams[0].descriptor)
		memory_close_descriptor(&exec->input);
	exec->input = -1;
}

/* The end of a terminal's input is a byte of the input: to close the channel would end the output, too. */
static void end_input(struct kube_exec *exec)
{
	drop_input(exec);
	if (exec->terminal)
		send_channel(exec, CHANNEL_INPUT, SPAN("\x04"));
	else if (exec->can_close_input)
		send_channel(exec, CHANNEL_CLOSE, (struct span){"\0", 1});
}

static void carry_input(struct kube_exec *exec)
{
	char data[PIECE];
	ssize_t n = recv(exec->input, data, sizeof(data), 0);

	if (n > 0)
		send_channel(exec, CHANNEL_INPUT, (struct span){data, (size_t)n});
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		end_input(exec);
}

static void carry_output(struct kube_exec *exec, struct stream *stream)
{
	ssize_t n = send(stream->descriptor, stream->waiting.data, stream->waiting.length,
		MSG_NOSIGNAL);

	if (n >= 0) {
		buffer_consume(&stream->waiting, (size_t)n);
	} else if (errno != EAGAIN && errno != EINTR) {
		/* The reader has closed it; the command continues. */
		if (exec->input == stream->descriptor)
			exec->input = -1;
		memory_close_descriptor(&stream->descriptor);
		buffer_clear(&stream->waiting);
	}
}

static size_t most_waiting(const struct kube_exec *exec)
{
	size_t first = exec->streams[0].waiting.length, second = exec->streams[1].waiting.length;

	return first > second ? first : second;
}

static void break_off(struct kube_exec *exec, int code, const char *reason)
{
	struct err problem;

	exec->closed = true;
	err_set(&problem, code, "exec: %s", reason);
	set_problem(exec, &problem);
}

static void receive(struct kube_exec *exec)
{
	char data[PIECE];
	struct err problem;

	while (!exec->closed && most_waiting(exec) < TO_CALLER_MAX) {
		ssize_t n = http_upgrade_receive(exec->upgrade, data, sizeof(data));

		if (n == 0)
			return;
		if (n < 0) {
			break_off(exec, -ECONNRESET, "the connection ended before the command did");
		} else if (websocket_read(&exec->reader, (struct span){data, (size_t)n}, &problem) <
			   0) {
			exec->closed = true;
			set_problem(exec, &problem);
		}
	}
}

static void send_waiting(struct kube_exec *exec)
{
	if (exec->is_deaf)
		buffer_reset(&exec->to_server);
	while (exec->to_server.length > 0) {
		ssize_t n = http_upgrade_send(exec->upgrade, exec->to_server.data,
			exec->to_server.length);

		if (n == 0)
			return;
		if (n < 0) {
			/* The command may have ended without reading its input to the end: how
			 * it ended has been received then, and is read before the connection's
			 * end. */
			exec->is_deaf = true;
			drop_input(exec);
			buffer_reset(&exec->to_server);
			return;
		}
		buffer_consume(&exec->to_server, (size_t)n);
	}
}

/* Takes requests of other threads. False: the thread ends. */
static bool take_desired(struct kube_exec *exec)
{
	unsigned rows, columns;
	uint64_t times;
	bool killed;
	char size[64];

	if (read(exec->wake, &times, sizeof(times)) < 0 && errno != EAGAIN)
		return false;
	lock_take(&exec->lock);
	killed = exec->killed;
	rows = exec->rows;
	columns = exec->columns;
	exec->rows = exec->columns = 0;
	lock_release(&exec->lock);
	if (rows > 0 || columns > 0) {
		snprintf(size, sizeof(size), "{\"Width\":%u,\"Height\":%u}", columns, rows);
		send_channel(exec, CHANNEL_RESIZE, span_of(size));
	}
	return !killed && !runner_is_stopped(exec->group);
}

enum { POLL_WAKE, POLL_SERVER, POLL_INPUT, POLL_STREAMS, POLL_COUNT = POLL_STREAMS + 2 };

static void wait_for_something(struct kube_exec *exec, struct pollfd polled[POLL_COUNT])
{
	bool room = most_waiting(exec) < TO_CALLER_MAX;
	int n;

	for (int i = 0; i < POLL_COUNT; i++)
		polled[i] = (struct pollfd){.fd = -1};
	polled[POLL_WAKE] = (struct pollfd){exec->wake, POLLIN, 0};
	polled[POLL_SERVER].fd = http_upgrade_descriptor(exec->upgrade);
	polled[POLL_SERVER].events =
		(short)((room ? POLLIN : 0) | (exec->to_server.length > 0 ? POLLOUT : 0));
	if (polled[POLL_SERVER].events ==
		0) /* nor its end, which poll() would report again and again */
		polled[POLL_SERVER].fd = -1;
	if (exec->to_server.length < TO_SERVER_MAX)
		polled[POLL_INPUT] = (struct pollfd){exec->input, POLLIN, 0};
	for (int i = 0; i < 2; i++) {
		if (exec->streams[i].waiting.length > 0)
			polled[POLL_STREAMS + i] =
				(struct pollfd){exec->streams[i].descriptor, POLLOUT, 0};
	}
	n = poll(polled, POLL_COUNT, PING_MS);
	if (n == 0)
		websocket_write(&exec->to_server, WEBSOCKET_PING, SPAN("slipway"),
			runner_random(exec->group));
}

/* The caller gets all received bytes, even after the connection has ended. */
static void give_the_rest(struct kube_exec *exec)
{
	struct pollfd polled[POLL_COUNT];

	drop_input(exec);
	while (most_waiting(exec) > 0 && take_desired(exec)) {
		for (int i = 0; i < POLL_COUNT; i++)
			polled[i] = (struct pollfd){.fd = -1};
		polled[POLL_WAKE] = (struct pollfd){exec->wake, POLLIN, 0};
		for (int i = 0; i < 2; i++) {
			if (exec->streams[i].waiting.length > 0)
				polled[POLL_STREAMS + i] =
					(struct pollfd){exec->streams[i].descriptor, POLLOUT, 0};
		}
		poll(polled, POLL_COUNT, -1);
		for (int i = 0; i < 2; i++) {
			if (polled[POLL_STREAMS + i].revents)
				carry_output(exec, &exec->streams[i]);
		}
	}
}

static void carry(void *context)
{
	struct kube_exec *exec = context;
	struct pollfd polled[POLL_COUNT];
	bool go_on = true;

	receive(exec); /* bytes that came with the answer are not in the socket any more */
	while (go_on && !exec->closed) {
		send_waiting(exec);
		wait_for_something(exec, polled);
		go_on = take_desired(exec);
		if (polled[POLL_INPUT].revents && exec->input >= 0)
			carry_input(exec);
		for (int i = 0; i < 2; i++) {
			if (polled[POLL_STREAMS + i].revents && exec->streams[i].descriptor >= 0)
				carry_output(exec, &exec->streams[i]);
		}
		receive(exec);
	}
	if (!go_on)
		break_off(exec, -ECANCELED, "ended from here");
	else
		send_waiting(exec); /* the answer to its goodbye */
	give_the_rest(exec);
	if (!exec->has_result)
		break_off(exec, -ECONNRESET, "the connection ended before the command did");
	for (int i = 0; i < 2; i++)
		memory_close_descriptor(&exec->streams[i].descriptor);
	lock_take(&exec->lock);
	exec->ended = true;
	lock_release(&exec->lock);
	runner_signal(exec->ended_event);
}

/* ---- starting ---- */

static int write_path(const struct kube_exec_request *request, struct buffer *path, struct err *err)
{
	const struct kube_target target = {&kube_pods, request->namespace, request->pod, "exec"};
	struct kube_resource resource = {.kind = &kube_pods, .path = "/api/v1", .namespaced = true};
	int code;

	code = kube_path_write(&resource, &target, path, err);
	if (code < 0)
		return code;
	kube_query_add(path, "container", request->container);
	for (size_t i = 0; i < request->command_count; i++)
		kube_query_add(path, "command", request->command[i]);
	kube_query_add(path, "stdin", request->input ? SPAN("true") : SPAN("false"));
	kube_query_add(path, "stdout", SPAN("true"));
	kube_query_add(path, "stderr", request->terminal ? SPAN("false") : SPAN("true"));
	kube_query_add(path, "tty", request->terminal ? SPAN("true") : SPAN("false"));
	if (buffer_failed(path))
		return err_set(err, -EINVAL, "exec: the command is too long");
	return 0;
}

static int check_answer(const struct http_client_response *response, const char *key,
	struct kube_exec *exec, struct err *err)
{
	struct span protocol = http_client_header(response, "sec-websocket-protocol");
	char accept[WEBSOCKET_ACCEPT_SIZE];

	websocket_accept(key, accept);
	if (!span_equal(http_client_header(response, "sec-websocket-accept"), span_of(accept)))
		return err_set(err, -EPROTO, "exec: the server does not speak WebSocket");
	exec->can_close_input = span_is(protocol, "v5.channel.k8s.io");
	if (!exec->can_close_input && !span_is(protocol, "v4.channel.k8s.io"))
		return err_set(err, -EPROTO, "exec: the server speaks the protocol '%.*s'",
			(int)protocol.length, protocol.data ? protocol.data : "");
	return 0;
}

static int connect_exec(struct kube_exec *exec, const struct kube_exec_request *request,
	struct err *err)
{
	_buffer_ struct buffer path = BUFFER_WITH_CAP(PATH_MAX_BYTES);
	_arena_ struct arena *arena = arena_new(0);
	char key[WEBSOCKET_KEY_SIZE];
	const struct http_header headers[KUBE_REQUEST_HEADERS_MAX] = {
		{SPAN("Upgrade"), SPAN("websocket")},
		{SPAN("Sec-WebSocket-Version"), SPAN("13")},
		{SPAN("Sec-WebSocket-Key"), {key, WEBSOCKET_KEY_SIZE - 1}},
		{SPAN("Sec-WebSocket-Protocol"), SPAN("v5.channel.k8s.io, v4.channel.k8s.io")},
	};
	struct kube_options options = {.cancel = request->cancel};
	struct kube_request call = {
		.accept = "*/*", /* a kubelet refuses to give an exec as JSON */
		.options = &options,
		.headers = headers,
		.header_count = LENGTH(headers),
	};
	struct http_client_response *response;
	int code;

	code = write_path(request, &path, err);
	if (code < 0)
		return code;
	call.path = buffer_span(&path);
	websocket_make_key(runner_random(exec->client->runner), key);
	code = kube_request_upgrade(exec->client, &call, arena, &response, &exec->upgrade, err);
	return code < 0 ? code : check_answer(response, key, exec, err);
}

/* ours does not block, theirs does. */
static int make_pair(int *ret_ours, int *ret_theirs, struct err *err)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_errno(err, "exec: socketpair");
	fcntl(pair[0], F_SETFL, O_NONBLOCK);
	*ret_ours = pair[0];
	*ret_theirs = pair[1];
	return 0;
}

static int make_streams(struct kube_exec *exec, const struct kube_exec_request *request,
	struct err *err)
{
	int code;

	exec->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (exec->wake < 0)
		return err_errno(err, "exec: eventfd");
	code = make_pair(&exec->streams[0].descriptor, &exec->theirs[1], err);
	if (code == 0 && !request->terminal)
		code = make_pair(&exec->streams[1].descriptor, &exec->theirs[2], err);
	if (code < 0 || !request->input)
		return code;
	if (!request->terminal)
		return make_pair(&exec->input, &exec->theirs[0], err);
	exec->input = exec->streams[0].descriptor;
	exec->theirs[0] = exec->theirs[1];
	return 0;
}

static struct kube_exec *exec_new(struct kube_client *client)
{
	struct kube_exec *exec = memory_allocate(sizeof(*exec));

	exec->client = client;
	exec->wake = exec->input = -1;
	exec->streams[0].descriptor = exec->streams[1].descriptor = -1;
	for (int i = 0; i < 3; i++)
		exec->theirs[i] = -1;
	exec->reader.message = take_message;
	exec->reader.context = exec;
	exec->group = runner_group_new(client->runner, "exec");
	exec->ended_event = runner_event_new(exec->group, "exec ended");
	lock_init(&exec->lock);
	return exec;
}

void kube_exec_free(struct kube_exec *exec)
{
	if (!exec)
		return;
	if (exec->wake >= 0)
		kube_exec_kill(exec);
	runner_stop(exec->group);
	runner_join(exec->group, NULL);
	runner_event_free(exec->ended_event);
	runner_free(exec->group);
	http_upgrade_free(exec->upgrade);
	websocket_reader_clear(&exec->reader);
	buffer_clear(&exec->to_server);
	drop_input(exec);
	if (exec->theirs[0] == exec->theirs[1])
		exec->theirs[0] = -1;
	for (int i = 0; i < 2; i++) {
		memory_close_descriptor(&exec->streams[i].descriptor);
		buffer_clear(&exec->streams[i].waiting);
	}
	for (int i = 0; i < 3; i++)
		memory_close_descriptor(&exec->theirs[i]);
	memory_close_descriptor(&exec->wake);
	lock_destroy(&exec->lock);
	free(exec);
}

static void free_pointer(struct kube_exec **exec)
{
	kube_exec_free(*exec);
}

int kube_exec_start(struct kube_client *client, const struct kube_exec_request *request,
	struct kube_exec **ret_exec, struct err *err)
{
	CLEANUP(free_pointer) struct kube_exec *exec = NULL;
	int code;

	if (request->command_count == 0 || request->command_count > KUBE_EXEC_WORDS_MAX)
		return err_set(err, -EINVAL, "exec: a command has 1 to %d words",
			KUBE_EXEC_WORDS_MAX);
	exec = exec_new(client);
	exec->terminal = request->terminal;
	code = connect_exec(exec, request, err);
	if (code == 0)
		code = make_streams(exec, request, err);
	if (code == 0)
		code = runner_spawn(exec->group, "exec", carry, exec, err);
	if (code < 0)
		return code;
	*ret_exec = TAKE(exec);
	return 0;
}

/* ---- operations ---- */

void kube_exec_take_descriptors(struct kube_exec *exec, int *ret_input, int *ret_output,
	int *ret_error)
{
	*ret_input = TAKE_FD(exec->theirs[0]);
	*ret_output = TAKE_FD(exec->theirs[1]);
	*ret_error = TAKE_FD(exec->theirs[2]);
}

bool kube_exec_can_close_input(const struct kube_exec *exec)
{
	return exec->can_close_input;
}

static void wake(struct kube_exec *exec)
{
	uint64_t one = 1;

	if (write(exec->wake, &one, sizeof(one)) < 0)
		return; /* it is awake already */
}

void kube_exec_resize(struct kube_exec *exec, unsigned rows, unsigned columns)
{
	lock_take(&exec->lock);
	exec->rows = rows;
	exec->columns = columns;
	lock_release(&exec->lock);
	wake(exec);
}

void kube_exec_kill(struct kube_exec *exec)
{
	lock_take(&exec->lock);
	exec->killed = true;
	lock_release(&exec->lock);
	wake(exec);
}

static bool inspect_end(struct kube_exec *exec, int *ret_exit_code, struct err *ret_problem)
{
	bool ended;

	lock_take(&exec->lock);
	ended = exec->ended;
	*ret_exit_code = exec->exit_code;
	*ret_problem = exec->problem;
	lock_release(&exec->lock);
	return ended;
}

int kube_exec_wait(struct kube_exec *exec, int *ret_exit_code, struct err *err)
{
	struct err problem;
	int exit_code, code;

	for (;;) {
		uint64_t seen = runner_event_count(exec->ended_event);

		if (inspect_end(exec, &exit_code, &problem))
			break;
		code = runner_wait(exec->client->runner, exec->ended_event, seen, RUNNER_FOREVER);
		if (code == -ECANCELED)
			return err_set(err, -ECANCELED, "exec: cancelled");
	}
	if (problem.code < 0)
		return err_set(err, problem.code, "%s", problem.message);
	*ret_exit_code = exit_code;
	return 0;
}
