/*
 * A program beside those of a container. The daemon makes it (POST /containers/ID/exec) and turns the
 * connection that starts it into its streams. With a terminal that connection is the terminal; without
 * one its outputs come in frames (stream.h), and a thread takes them apart.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "runtime/docker/docker_internal.h"
#include "runtime/docker/raw.h"
#include "runtime/docker/stream.h"

#define PIECE ((size_t)32 * 1024)
#define POLL_MS 1000 /* how often the thread checks whether the runtime closes */
#define ENDED_FIRST_US INT64_C(5000)
#define ENDED_MOST_US INT64_C(200000)
#define RESIZE_ATTEMPTS 10
#define RESIZE_AGAIN_US INT64_C(20000)
#define TREE_MAX 4096
#define PROC_FILE_MAX ((size_t)64 * 1024)

struct docker_guest {
	struct runtime_exec exec;
	struct docker_runtime *runtime;
	char *id;        /* of the exec */
	char *container; /* its id */
	/* Without a terminal: */
	int connection; /* to the daemon; open as long as the guest exists */
	int streams[3]; /* our ends of input, output and error */
	struct docker_stream frames;
	struct buffer pending[3]; /* for the daemon, and for output and error */
	struct runner_event *pumped;
	_Atomic bool done; /* the thread has ended */
};

/* ---- the thread that splits outputs ---- */

static int take_piece(void *context, enum docker_output output, struct span data, bool begins,
	bool ends)
{
	struct docker_guest *guest = context;

	(void)begins;
	(void)ends;
	if (output == DOCKER_STANDARD_OUTPUT)
		buffer_add_span(&guest->pending[1], data);
	else if (output != DOCKER_STANDARD_INPUT)
		buffer_add_span(&guest->pending[2], data);
	return 0;
}

/* Sends as much as possible. False when the reader is gone, which is no error of ours. */
static bool send_some(struct buffer *pending, int descriptor)
{
	while (pending->length > 0) {
		ssize_t sent = send(descriptor, pending->data, pending->length,
			MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return errno == EAGAIN;
		buffer_consume(pending, (size_t)sent);
	}
	return true;
}

static void flush_output(struct docker_guest *guest, size_t output)
{
	if (guest->streams[output] >= 0 &&
		!send_some(&guest->pending[output], guest->streams[output]))
		memory_close_descriptor(&guest->streams[output]);
	if (guest->streams[output] < 0)
		buffer_reset(&guest->pending[output]);
}

/* Input that a program does not read is dropped. Its output is still to be read from the same
 * connection, which therefore stays open: others may use it until the thread has ended. */
static void flush_input(struct docker_guest *guest)
{
	if (send_some(&guest->pending[0], guest->connection))
		return;
	buffer_reset(&guest->pending[0]);
	memory_close_descriptor(&guest->streams[0]);
}

/* From the caller to the daemon. */
static void read_input(struct docker_guest *guest)
{
	char piece[PIECE];
	ssize_t got = recv(guest->streams[0], piece, sizeof(piece), MSG_DONTWAIT);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got > 0) {
		buffer_add(&guest->pending[0], piece, (size_t)got);
		return;
	}
	memory_close_descriptor(&guest->streams[0]);
}

/* From the daemon. False at its end. */
static bool read_outputs(struct docker_guest *guest)
{
	char piece[PIECE];
	ssize_t got = recv(guest->connection, piece, sizeof(piece), MSG_DONTWAIT);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	return got > 0 && docker_stream_feed(&guest->frames, (struct span){piece, (size_t)got},
				  take_piece, guest, NULL) == 0;
}

static short wanted(const struct docker_guest *guest, size_t output)
{
	return guest->pending[output].length > 0 ? POLLOUT : 0;
}

/* One round. False when there is no more to come. */
static bool pump_once(struct docker_guest *guest, bool *input_ended)
{
	bool behind = guest->pending[1].length > 0 || guest->pending[2].length > 0;
	short events = (short)((behind ? 0 : POLLIN) | wanted(guest, 0));
	struct pollfd polls[4] = {
		/* poll() reports its end even without requested events, again and again. */
		{.fd = events ? guest->connection : -1, .events = events},
		{.fd = guest->pending[0].length == 0 ? guest->streams[0] : -1, .events = POLLIN},
		{.fd = wanted(guest, 1) ? guest->streams[1] : -1, .events = POLLOUT},
		{.fd = wanted(guest, 2) ? guest->streams[2] : -1, .events = POLLOUT},
	};

	if (poll(polls, LENGTH(polls), POLL_MS) < 0)
		return errno == EINTR;
	if (polls[1].revents)
		read_input(guest);
	flush_input(guest);
	if (guest->streams[0] < 0 && guest->pending[0].length == 0 && !*input_ended) {
		*input_ended = true;
		shutdown(guest->connection, SHUT_WR);
	}
	if (!behind && polls[0].revents & (POLLIN | POLLHUP | POLLERR) && !read_outputs(guest))
		return false;
	flush_output(guest, 1);
	flush_output(guest, 2);
	return true;
}

/* Sends the rest, as long as there is a reader. */
static void pump_rest(struct docker_guest *guest)
{
	for (size_t i = 1; i <= 2; i++)
		while (guest->pending[i].length > 0 && guest->streams[i] >= 0 &&
			!runner_is_stopped(guest->runtime->runner)) {
			struct pollfd one = {.fd = guest->streams[i], .events = POLLOUT};

			poll(&one, 1, POLL_MS);
			flush_output(guest, i);
		}
}

static void pump(void *context)
{
	struct docker_guest *guest = context;
	bool input_ended = false;

	while (!runner_is_stopped(guest->runtime->runner) && pump_once(guest, &input_ended))
		continue;
	pump_rest(guest);
	for (size_t i = 0; i < LENGTH(guest->streams); i++)
		memory_close_descriptor(&guest->streams[i]);
	guest->done = true;
	runner_signal(guest->pumped);
}

/* ---- calls of the caller ---- */

static void free_guest(struct docker_guest *guest)
{
	memory_close_descriptor(&guest->connection);
	for (size_t i = 0; i < LENGTH(guest->streams); i++) {
		memory_close_descriptor(&guest->streams[i]);
		buffer_clear(&guest->pending[i]);
	}
	runner_event_free(guest->pumped);
	free(guest->id);
	free(guest->container);
	free(guest);
}

static int wait_for_thread(struct docker_guest *guest)
{
	while (guest->pumped) {
		uint64_t seen = runner_event_count(guest->pumped);

		if (guest->done)
			return 0;
		/* It ends when the runtime closes, too, and uses memory that is freed below. */
		runner_wait_certain(guest->runtime->runner, guest->pumped, seen);
	}
	return 0;
}

static int inspect(struct docker_guest *guest, struct arena *arena, struct json **ret_exec,
	struct err *err)
{
	return docker_call(&guest->runtime->api, NULL, arena, ret_exec, err, "/exec/%s/json",
		guest->id);
}

/* Polls until it has ended. */
static int wait_for_end(struct docker_guest *guest, int *ret_exit_code, struct err *err)
{
	struct runner *runner = guest->runtime->runner;
	int64_t delay_us = ENDED_FIRST_US;

	for (;;) {
		_arena_ struct arena *arena = arena_new(0);
		struct json *exec;
		int64_t exit_code;
		int code = inspect(guest, arena, &exec, err);

		if (code == 0 && !json_get_bool(exec, "Running", false) &&
			json_integer(json_get(exec, "ExitCode"), &exit_code)) {
			*ret_exit_code = (int)exit_code;
			return 0;
		}
		if (code < 0 && code != -EAGAIN && code != -EREMOTEIO)
			return code;
		if (runner_sleep_until(runner, runner_deadline_us(runner, delay_us)) < 0)
			return err_set(err, -ECANCELED, "slipway ends");
		if (delay_us < ENDED_MOST_US)
			delay_us *= 2;
	}
}

static int wait_for_guest(struct runtime_exec *exec, int *ret_exit_code, struct err *err)
{
	struct docker_guest *guest = CONTAINER_OF(exec, struct docker_guest, exec);
	int code = wait_for_thread(guest);

	if (code == 0)
		code = wait_for_end(guest, ret_exit_code, err);
	free_guest(guest);
	return code;
}

/* A program that has only just been started may have no terminal yet. */
static void resize_guest(struct runtime_exec *exec, unsigned rows, unsigned columns)
{
	struct docker_guest *guest = CONTAINER_OF(exec, struct docker_guest, exec);
	struct docker_request request = {.method = "POST"};
	struct runner *runner = guest->runtime->runner;

	for (unsigned i = 0; i < RESIZE_ATTEMPTS; i++) {
		_arena_ struct arena *arena = arena_new(0);

		if (docker_call(&guest->runtime->api, &request, arena, NULL, NULL,
			    "/exec/%s/resize?h=%u&w=%u", guest->id, rows, columns) == 0 ||
			runner_sleep_until(runner, runner_deadline_us(runner, RESIZE_AGAIN_US)) < 0)
			return;
	}
}

/* ---- ending one ---- */

/* Is the process one of the container's? Its control group carries the container's id; a reused
 * process id does not. */
static bool belongs_to(pid_t pid, const char *container)
{
	char path[64];
	_buffer_ struct buffer text = {0};

	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	return file_read(path, PROC_FILE_MAX, &text, NULL) == 0 && text.length > 0 &&
	       strstr(text.data, container);
}

/* Adds the children of a process to the list. */
static void add_children(pid_t pid, pid_t *tree, size_t *count)
{
	char path[64], *at, *end;
	_buffer_ struct buffer text = {0};

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	if (file_read(path, PROC_FILE_MAX, &text, NULL) < 0 || text.length == 0)
		return;
	for (at = text.data; *count < TREE_MAX; at = end) {
		long child = strtol(at, &end, 10);

		if (end == at || child <= 1)
			return;
		tree[(*count)++] = (pid_t)child;
	}
}

/* Docker has no call for this, so the program is killed as a process of this machine, with all its
 * children. If it runs on another machine, it only sees the end of its input and may continue. */
static void kill_guest(struct runtime_exec *exec)
{
	struct docker_guest *guest = CONTAINER_OF(exec, struct docker_guest, exec);
	_arena_ struct arena *arena = arena_new(0);
	pid_t *tree = arena_allocate_array(arena, TREE_MAX, sizeof(*tree));
	size_t count = 0;
	struct json *found;
	int64_t pid;

	if (inspect(guest, arena, &found, NULL) == 0 && json_get_bool(found, "Running", false) &&
		json_integer(json_get(found, "Pid"), &pid) && pid > 1 && pid <= INT32_MAX)
		tree[count++] = (pid_t)pid;
	for (size_t i = 0; i < count; i++)
		add_children(tree[i], tree, &count);
	for (size_t i = 0; i < count; i++)
		if (belongs_to(tree[i], guest->container))
			kill(tree[i], SIGKILL);
	if (guest->connection >= 0)
		shutdown(guest->connection, SHUT_RDWR);
}

/* ---- beginning ---- */

static int make(struct docker_runtime *runtime, struct span container, const struct json *command,
	bool terminal, struct arena *arena, struct span *ret_id, struct err *err)
{
	struct json *body = json_new_object(arena), *built;
	struct docker_request request = {.method = "POST"};
	int code;

	json_set_bool(arena, body, "AttachStdin", true);
	json_set_bool(arena, body, "AttachStdout", true);
	json_set_bool(arena, body, "AttachStderr", true);
	json_set_bool(arena, body, "Tty", terminal);
	json_set(arena, body, "Cmd", command);
	request.body = json_to_text(body, arena);
	code = docker_call(&runtime->api, &request, arena, &built, err, "/containers/%.*s/exec",
		SPAN_ARGS(container));
	if (code < 0)
		return code;
	*ret_id = json_get_text(built, "Id");
	return ret_id->data ? 0 : err_set(err, -EPROTO, "the daemon named no program");
}

static int connect_streams(struct docker_runtime *runtime, struct span id, bool terminal,
	int *ret_connection, struct err *err)
{
	_close_ int connection = -1;
	_buffer_ struct buffer request = {0};
	const char *body =
		terminal ? "{\"Detach\":false,\"Tty\":true}" : "{\"Detach\":false,\"Tty\":false}";
	struct timeval forever = {0};
	char prefix[16];
	int status, code;

	docker_api_prefix(&runtime->api, prefix);
	buffer_format(&request,
		"POST %s/exec/%.*s/start HTTP/1.1\r\nHost: docker\r\nContent-Type: "
		"application/json\r\n"
		"Connection: Upgrade\r\nUpgrade: tcp\r\nContent-Length: %zu\r\n\r\n%s",
		prefix, SPAN_ARGS(id), strlen(body), body);
	code = docker_raw_open(runtime->api.socket, buffer_span(&request), true, &connection, err);
	if (code == 0)
		code = docker_raw_receive_head(connection, &status, err);
	if (code < 0)
		return code;
	if (status != 101 && status != 200)
		return err_set(err, -EREMOTEIO,
			"the daemon does not start the program: it "
			"answered %d",
			status);
	setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &forever, sizeof(forever));
	setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &forever, sizeof(forever));
	*ret_connection = TAKE_FD(connection);
	return 0;
}

/* The caller gets other ends of pairs of sockets: writing to them never raises a signal. */
static int split_streams(struct docker_guest *guest, struct err *err)
{
	int *theirs[] = {&guest->exec.input, &guest->exec.output, &guest->exec.error};

	for (size_t i = 0; i < LENGTH(theirs); i++) {
		int ends[2];

		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
			return err_errno(err, "make a pair of sockets");
		guest->streams[i] = ends[0];
		*theirs[i] = ends[1];
	}
	guest->pumped = runner_event_new(guest->runtime->runner, "outputs of a program");
	return runner_spawn(guest->runtime->runner, "outputs", pump, guest, err);
}

int docker_exec(struct docker_runtime *runtime, struct span container, const struct json *command,
	bool terminal, struct runtime_exec **ret_exec, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	struct docker_guest *guest;
	struct span id;
	int connection, code = make(runtime, container, command, terminal, arena, &id, err);

	if (code == 0)
		code = connect_streams(runtime, id, terminal, &connection, err);
	if (code < 0)
		return code;
	guest = memory_allocate(sizeof(*guest));
	guest->runtime = runtime;
	guest->id = memory_copy_string_n(id.data, id.length);
	guest->container = memory_copy_string_n(container.data, container.length);
	guest->connection = guest->streams[0] = guest->streams[1] = guest->streams[2] = -1;
	guest->exec = (struct runtime_exec){.input = -1,
		.output = -1,
		.error = -1,
		.wait = wait_for_guest,
		.resize = resize_guest,
		.kill = kill_guest};
	if (terminal) {
		guest->exec.input = guest->exec.output = connection;
	} else {
		guest->connection = connection;
		code = split_streams(guest, err);
	}
	if (code < 0) {
		memory_close_descriptor(&guest->exec.input);
		memory_close_descriptor(&guest->exec.output);
		memory_close_descriptor(&guest->exec.error);
		free_guest(guest);
		return code;
	}
	*ret_exec = &guest->exec;
	return 0;
}
