/* Requests come in whole lines; what a connection may send and may leave unread is capped. */
#include "runtime/process/supervisor/control.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"
#include "base/memory.h"
#include "runtime/task/record.h"

#define BACKLOG 64

int control_open(struct control *control, struct task *task, struct err *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = RECORD_CONTROL_FILE};
	_close_ int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (listener < 0)
		return err_errno(err, "make the control socket");
	unlink(RECORD_CONTROL_FILE); /* of a supervisor that died before it ran anything */
	umask(077);
	if (bind(listener, (struct sockaddr *)&address, sizeof(address)) < 0 ||
		listen(listener, BACKLOG) < 0)
		return err_errno(err, "listen on the control socket");
	*control = (struct control){.task = task, .listener = TAKE_FD(listener)};
	for (size_t i = 0; i < PROTOCOL_CONNECTIONS_MAX; i++)
		control->connections[i].descriptor = -1;
	return 0;
}

static void close_received(struct connection *connection)
{
	for (size_t i = 0; i < connection->received_count; i++)
		close(connection->received[i]);
	connection->received_count = 0;
}

static void kill_guest(struct connection *connection)
{
	if (connection->monitor && !connection->killed) {
		connection->killed = true;
		kill(connection->monitor, LAUNCH_KILL);
	}
}

static void close_connection(struct connection *connection)
{
	close_received(connection);
	memory_close_descriptor(&connection->descriptor);
	memory_close_descriptor(&connection->report);
	buffer_clear(&connection->input);
	buffer_clear(&connection->output);
	if (connection->monitor) {
		connection->is_gone = true;
		kill_guest(connection);
		return;
	}
	*connection = (struct connection){.descriptor = -1, .report = -1};
}

static void flush(struct connection *connection)
{
	while (connection->descriptor >= 0 && connection->output.length > 0) {
		ssize_t sent = send(connection->descriptor, connection->output.data,
			connection->output.length, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0 && errno == EAGAIN)
			return;
		if (sent < 0) {
			close_connection(connection);
			return;
		}
		buffer_consume(&connection->output, (size_t)sent);
	}
}

static void add_state(struct control *control, struct connection *connection)
{
	buffer_format(&connection->output, "{\"version\":%d,\"state\":", PROTOCOL_VERSION);
	record_write(control->task->record, &connection->output);
	buffer_add_string(&connection->output, "}\n");
}

static void add_error(struct connection *connection, const char *message)
{
	buffer_format(&connection->output, "{\"version\":%d,\"error\":", PROTOCOL_VERSION);
	json_write_string(span_of(message), &connection->output);
	buffer_add_string(&connection->output, "}\n");
}

static void add_ok(struct connection *connection)
{
	buffer_format(&connection->output, "{\"version\":%d,\"ok\":true}\n", PROTOCOL_VERSION);
}

/* Requests. */

static void do_state(struct control *control, struct connection *connection,
	const struct json *request, struct arena *arena)
{
	(void)request;
	(void)arena;
	add_state(control, connection);
}

static void do_watch(struct control *control, struct connection *connection,
	const struct json *request, struct arena *arena)
{
	(void)request;
	(void)arena;
	connection->watches = true;
	add_state(control, connection);
}

static void do_stop(struct control *control, struct connection *connection,
	const struct json *request, struct arena *arena)
{
	struct span reason = json_get_text(request, "reason");

	(void)arena;
	if (!reason.data)
		reason = SPAN("");
	if (reason.length > PROTOCOL_REASON_MAX)
		reason.length = PROTOCOL_REASON_MAX;
	task_stop(control->task, RUNTIME_STOP_REQUESTED, reason);
	add_ok(connection);
}

static int start_guest(struct control *control, struct connection *connection,
	const struct json *request, struct arena *arena, struct err *err)
{
	const struct json *command = json_get(request, "command");
	struct container *container = task_find(control->task, json_get_text(request, "container"));
	bool terminal = json_get_bool(request, "terminal", false);
	char **arguments =
		arena_allocate_array(arena, json_array_count(command) + 1, sizeof(*arguments));
	size_t count = 0, wanted = terminal ? 1 : 3;
	struct launch launch;
	int code;

	if (connection->container)
		return err_set(err, -EINVAL, "this connection has had its exec");
	/* Keep connections free for watch and stop. */
	if (control->task->guests >= PROTOCOL_GUESTS_MAX)
		return err_set(err, -EBUSY, "%d programs of exec run already", PROTOCOL_GUESTS_MAX);
	if (!container || container->step != CONTAINER_RUNNING)
		return err_set(err, -ENOENT, "the container does not run");
	if (connection->received_count != wanted)
		return err_set(err, -EINVAL, "exec came with %zu descriptors instead of %zu",
			connection->received_count, wanted);
	JSON_EACH_ITEM (command, item) {
		struct span text = json_text(item);

		if (!text.data || memchr(text.data, '\0', text.length))
			return err_set(err, -EINVAL, "command is not a list of strings");
		arguments[count++] = arena_copy(arena, text.data, text.length);
	}
	if (count == 0)
		return err_set(err, -EINVAL, "command is empty");
	launch = task_launch_of(container);
	launch.arguments = arguments;
	launch.terminal = terminal;
	launch.input = connection->received[0];
	launch.output = connection->received[terminal ? 0 : 1];
	launch.error = connection->received[terminal ? 0 : 2];
	code = launch_start(&launch, &connection->monitor, &connection->report, err);
	if (code < 0)
		return code;
	connection->container = container;
	connection->reported[0] = '\0';
	connection->killed = false;
	control->task->guests++;
	return 0;
}

static void do_exec(struct control *control, struct connection *connection,
	const struct json *request, struct arena *arena)
{
	struct err err;

	if (start_guest(control, connection, request, arena, &err) < 0)
		add_error(connection, err.message);
	else
		add_ok(connection);
	close_received(connection);
}

static const struct {
	const char *name;
	void (*run)(struct control *control, struct connection *connection,
		const struct json *request, struct arena *arena);
} requests[] = {
	{"state", do_state},
	{"watch", do_watch},
	{"stop", do_stop},
	{"exec", do_exec},
};

static void answer(struct control *control, struct connection *connection, struct span line)
{
	_arena_ struct arena *arena = arena_new(PROTOCOL_REQUEST_MAX * 16);
	struct json *request;
	struct err err;
	struct span name;

	if (json_parse(line, arena, &request, &err) < 0) {
		add_error(connection, err.message);
		return;
	}
	if (json_get_integer(request, "version", 0) != PROTOCOL_VERSION) {
		add_error(connection, "this supervisor speaks version 1");
		return;
	}
	name = json_get_text(request, "do");
	for (size_t i = 0; i < LENGTH(requests); i++)
		if (span_is(name, requests[i].name)) {
			requests[i].run(control, connection, request, arena);
			return;
		}
	add_error(connection, "unknown request");
}

/* Connections. */

static void take_descriptors(struct connection *connection, struct msghdr *message)
{
	for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header;
		header = CMSG_NXTHDR(message, header)) {
		size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < count; i++) {
			int descriptor;

			memcpy(&descriptor, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
			if (connection->received_count < PROTOCOL_DESCRIPTORS_MAX)
				connection->received[connection->received_count++] = descriptor;
			else
				close(descriptor);
		}
	}
}

/* False at the end. */
static bool receive(struct connection *connection)
{
	char control_space[CMSG_SPACE(PROTOCOL_DESCRIPTORS_MAX * sizeof(int))];
	char data[4096];
	struct iovec vector = {.iov_base = data, .iov_len = sizeof(data)};

	for (;;) {
		struct msghdr message = {
			.msg_iov = &vector,
			.msg_iovlen = 1,
			.msg_control = control_space,
			.msg_controllen = sizeof(control_space),
		};
		ssize_t got =
			recvmsg(connection->descriptor, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == EAGAIN)
			return true;
		if (got <= 0)
			return false;
		take_descriptors(connection, &message);
		buffer_add(&connection->input, data, (size_t)got);
		if (buffer_failed(&connection->input))
			return false;
	}
}

static void handle_connection(struct control *control, struct connection *connection)
{
	bool alive = receive(connection);
	char *newline;

	while (connection->input.length > 0 &&
		(newline = memchr(connection->input.data, '\n', connection->input.length))) {
		size_t length = (size_t)(newline - connection->input.data);

		answer(control, connection, (struct span){connection->input.data, length});
		buffer_consume(&connection->input, length + 1);
	}
	if (!alive || buffer_failed(&connection->output))
		close_connection(connection);
	else
		flush(connection);
}

static struct connection *add_connection(struct control *control, int descriptor)
{
	for (size_t i = 0; i < PROTOCOL_CONNECTIONS_MAX; i++) {
		struct connection *connection = &control->connections[i];

		if (connection->descriptor >= 0 || connection->is_gone)
			continue;
		*connection = (struct connection){
			.descriptor = descriptor,
			.report = -1,
			.input = BUFFER_WITH_CAP(PROTOCOL_REQUEST_MAX),
			.output = BUFFER_WITH_CAP(PROTOCOL_ANSWER_MAX),
		};
		return connection;
	}
	return NULL;
}

static void accept_one(struct control *control)
{
	_close_ int descriptor =
		accept4(control->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (descriptor >= 0 && add_connection(control, descriptor))
		TAKE_FD(descriptor);
}

void control_take_channel(struct control *control, int descriptor)
{
	struct connection *connection;

	if (fcntl(descriptor, F_GETFD) < 0)
		return;
	connection = add_connection(control, descriptor);
	connection->watches = true;
	add_state(control, connection);
	flush(connection);
}

size_t control_descriptors(struct control *control, struct pollfd *polls, size_t max)
{
	size_t count = 0;

	polls[count++] = (struct pollfd){.fd = control->listener, .events = POLLIN};
	for (size_t i = 0; i < PROTOCOL_CONNECTIONS_MAX && count < max; i++) {
		const struct connection *connection = &control->connections[i];

		if (connection->descriptor >= 0)
			polls[count++] = (struct pollfd){
				.fd = connection->descriptor,
				.events = (short)(POLLIN |
						  (connection->output.length > 0 ? POLLOUT : 0)),
			};
		if (connection->descriptor >= 0 && connection->report >= 0 && count < max)
			polls[count++] =
				(struct pollfd){.fd = connection->report, .events = POLLIN};
	}
	return count;
}

void control_handle(struct control *control, const struct pollfd *event)
{
	if (event->fd == control->listener) {
		accept_one(control);
		return;
	}
	for (size_t i = 0; i < PROTOCOL_CONNECTIONS_MAX; i++) {
		struct connection *connection = &control->connections[i];

		if (connection->descriptor >= 0 && connection->report == event->fd) {
			task_take_report(control->task, &connection->report, connection->reported);
			return;
		}
		if (connection->descriptor != event->fd)
			continue;
		if (event->revents & POLLOUT)
			flush(connection);
		if (connection->descriptor >= 0 && (event->revents & ~POLLOUT))
			handle_connection(control, connection);
		if (connection->is_behind && connection->descriptor >= 0 &&
			connection->output.length == 0) {
			connection->is_behind = false;
			add_state(control, connection);
			flush(connection);
		}
		return;
	}
}

static void report_guest_end(struct connection *connection, int status)
{
	if (connection->report >= 0)
		task_take_report(connection->container->task, &connection->report,
			connection->reported);
	if (connection->reported[0]) {
		add_error(connection, connection->reported);
		return;
	}
	buffer_format(&connection->output, "{\"version\":%d,\"exitCode\":%d}\n", PROTOCOL_VERSION,
		WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

bool control_monitor_ended(struct control *control, pid_t monitor, int status)
{
	for (size_t i = 0; i < PROTOCOL_CONNECTIONS_MAX; i++) {
		struct connection *connection = &control->connections[i];

		if (connection->monitor != monitor)
			continue;
		connection->monitor = 0;
		control->task->guests--;
		if (connection->is_gone) {
			close_connection(connection);
			return true;
		}
		report_guest_end(connection, status);
		memory_close_descriptor(&connection->report);
		flush(connection);
		return true;
	}
	return false;
}

size_t control_maintainers(const struct control *control, pid_t *maintainers, size_t max)
{
	size_t count = 0;

	for (size_t i = 0; i < PROTOCOL_CONNECTIONS_MAX && count < max; i++)
		if (control->connections[i].monitor)
			maintainers[count++] = control->connections[i].monitor;
	return count;
}

void control_step(struct control *control)
{
	for (size_t i = 0; i < PROTOCOL_CONNECTIONS_MAX; i++) {
		struct connection *connection = &control->connections[i];

		if (connection->monitor && !connection->container->monitor)
			kill_guest(connection);
	}
}

void control_notify_watchers(struct control *control)
{
	for (size_t i = 0; i < PROTOCOL_CONNECTIONS_MAX; i++) {
		struct connection *connection = &control->connections[i];

		if (connection->descriptor < 0 || !connection->watches)
			continue;
		if (connection->output.length > 0) {
			connection->is_behind = true;
			continue;
		}
		add_state(control, connection);
		flush(connection);
	}
}
