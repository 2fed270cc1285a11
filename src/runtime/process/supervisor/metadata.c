/* HTTP of the metadata endpoint: only the request line matters, and every answer ends the
 * connection. */
#include "runtime/process/supervisor/metadata.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory.h"
#include "runtime/process/supervisor/task.h"

#define BACKLOG 16
#define PATH_START "/v4/"

int metadata_open(struct metadata *metadata, struct task *task, const char *address, uint16_t port,
	struct err *err)
{
	struct sockaddr_in where = {.sin_family = AF_INET, .sin_port = htons(port)};
	socklen_t length = sizeof(where);
	_close_ int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	char text[INET_ADDRSTRLEN];

	if (listener < 0)
		return err_errno(err, "make a socket");
	if (inet_pton(AF_INET, address[0] ? address : "127.0.0.1", &where.sin_addr) != 1)
		return err_set(err, -EINVAL, "'%s' is no address", address);
	if (bind(listener, (struct sockaddr *)&where, sizeof(where)) < 0 ||
		listen(listener, BACKLOG) < 0 ||
		getsockname(listener, (struct sockaddr *)&where, &length) < 0)
		return err_errno(err, "listen on %s", address);
	inet_ntop(AF_INET, &where.sin_addr, text, sizeof(text));
	metadata->task = task;
	metadata->listener = TAKE_FD(listener);
	snprintf(metadata->base, sizeof(metadata->base), "http://%s:%u" PATH_START, text,
		(unsigned)ntohs(where.sin_port));
	for (size_t i = 0; i < METADATA_CONNECTIONS_MAX; i++)
		metadata->connections[i].descriptor = -1;
	return 0;
}

struct span metadata_uri_of(const struct metadata *metadata, struct span container_id,
	struct arena *arena)
{
	return arena_format(arena, "%s%.*s", metadata->base, SPAN_ARGS(container_id));
}

static void let_go(struct metadata_connection *connection)
{
	memory_close_descriptor(&connection->descriptor);
	buffer_clear(&connection->input);
	buffer_clear(&connection->output);
	*connection = (struct metadata_connection){.descriptor = -1};
}

static void flush(struct metadata_connection *connection)
{
	while (connection->output.length > 0) {
		ssize_t sent = send(connection->descriptor, connection->output.data,
			connection->output.length, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0 && errno == EAGAIN)
			return;
		if (sent < 0)
			break;
		buffer_consume(&connection->output, (size_t)sent);
	}
	/* Late bytes of the client must not make the kernel reset the connection before the answer
	 * is read. */
	shutdown(connection->descriptor, SHUT_WR);
	buffer_clear(&connection->output);
}

static void reply(struct metadata_connection *connection, const char *status, struct span body)
{
	buffer_format(&connection->output,
		"HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n"
		"Connection: close\r\n\r\n%.*s",
		status, body.length, SPAN_ARGS(body));
	connection->answered = true;
	flush(connection);
}

static void reply_error(struct metadata_connection *connection, const char *status)
{
	_buffer_ struct buffer body = {0};

	json_write_string(span_of(status), &body);
	reply(connection, status, buffer_span(&body));
}

static struct container *find_by_id(struct task *task, struct span id)
{
	for (size_t i = 0; i < task->container_count; i++)
		if (span_equal(task->containers[i].record->runtime_id, id))
			return &task->containers[i];
	return NULL;
}

static void answer_path(struct metadata *metadata, struct metadata_connection *connection,
	struct span path)
{
	_buffer_ struct buffer body = {0};
	struct span id, rest = SPAN_NONE, query;
	struct container *container;

	span_split(path, '?', &path, &query);
	if (!span_starts_with(path, SPAN(PATH_START))) {
		reply_error(connection, "404 Not Found");
		return;
	}
	path.data += strlen(PATH_START);
	path.length -= strlen(PATH_START);
	id = path;
	span_split(path, '/', &id, &rest);
	container = find_by_id(metadata->task, id);
	if (!container) {
		reply_error(connection, "404 Not Found");
		return;
	}
	if (rest.length == 0)
		metadata_write_container(container, &body);
	else if (span_is(rest, "task") || span_is(rest, "taskWithTags"))
		metadata_write_task(metadata->task, &body);
	else if (span_is(rest, "stats"))
		metadata_write_stats(container, &body);
	else if (span_is(rest, "task/stats"))
		metadata_write_task_stats(metadata->task, &body);
	if (body.length == 0)
		reply_error(connection, "404 Not Found");
	else
		reply(connection, "200 OK", buffer_span(&body));
}

static void answer(struct metadata *metadata, struct metadata_connection *connection)
{
	struct span line = buffer_span(&connection->input), method, rest, path, version;

	line.length = (size_t)((char *)memchr(line.data, '\n', line.length) - line.data);
	if (line.length > 0 && line.data[line.length - 1] == '\r')
		line.length--;
	if (!span_split(line, ' ', &method, &rest) || !span_split(rest, ' ', &path, &version) ||
		!span_starts_with(version, SPAN("HTTP/1."))) {
		reply_error(connection, "400 Bad Request");
		return;
	}
	if (!span_is(method, "GET")) {
		reply_error(connection, "405 Method Not Allowed");
		return;
	}
	answer_path(metadata, connection, path);
}

static bool is_whole(const struct buffer *input)
{
	return input->length > 0 && (memmem(input->data, input->length, "\r\n\r\n", 4) ||
					    memmem(input->data, input->length, "\n\n", 2));
}

static void receive(struct metadata *metadata, struct metadata_connection *connection)
{
	char data[2048];
	ssize_t got = recv(connection->descriptor, data, sizeof(data), MSG_DONTWAIT);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		let_go(connection);
		return;
	}
	if (connection->answered)
		return; /* too late for any answer */
	buffer_add(&connection->input, data, (size_t)got);
	if (buffer_failed(&connection->input))
		reply_error(connection, "431 Request Header Fields Too Large");
	else if (is_whole(&connection->input))
		answer(metadata, connection);
}

static void accept_one(struct metadata *metadata)
{
	_close_ int descriptor =
		accept4(metadata->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	for (size_t i = 0; descriptor >= 0 && i < METADATA_CONNECTIONS_MAX; i++) {
		struct metadata_connection *connection = &metadata->connections[i];

		if (connection->descriptor >= 0)
			continue;
		*connection = (struct metadata_connection){
			.descriptor = TAKE_FD(descriptor),
			.input = BUFFER_WITH_CAP(METADATA_REQUEST_MAX),
			.deadline_us =
				clock_steady_us(metadata->task->clock) + METADATA_PATIENCE_US,
		};
		return;
	}
}

size_t metadata_descriptors(const struct metadata *metadata, struct pollfd *polls, size_t max)
{
	size_t count = 0, open = 0;

	if (metadata->listener < 0)
		return 0;
	for (size_t i = 0; i < METADATA_CONNECTIONS_MAX && count < max; i++) {
		const struct metadata_connection *connection = &metadata->connections[i];

		if (connection->descriptor < 0)
			continue;
		open++;
		polls[count++] = (struct pollfd){
			.fd = connection->descriptor,
			.events = (short)(connection->output.length > 0 ? POLLOUT : POLLIN),
		};
	}
	/* When all connections are in use, new clients wait in the kernel's queue. */
	if (open < METADATA_CONNECTIONS_MAX && count < max)
		polls[count++] = (struct pollfd){.fd = metadata->listener, .events = POLLIN};
	return count;
}

bool metadata_handle(struct metadata *metadata, const struct pollfd *event)
{
	if (metadata->listener < 0)
		return false;
	if (event->fd == metadata->listener) {
		accept_one(metadata);
		return true;
	}
	for (size_t i = 0; i < METADATA_CONNECTIONS_MAX; i++) {
		struct metadata_connection *connection = &metadata->connections[i];

		if (connection->descriptor != event->fd)
			continue;
		if (connection->output.length > 0 && !(event->revents & (POLLERR | POLLHUP)))
			flush(connection);
		else if (connection->output.length > 0)
			let_go(connection);
		else
			receive(metadata, connection);
		return true;
	}
	return false;
}

void metadata_step(struct metadata *metadata)
{
	for (size_t i = 0; metadata->listener >= 0 && i < METADATA_CONNECTIONS_MAX; i++) {
		struct metadata_connection *connection = &metadata->connections[i];

		if (connection->descriptor >= 0 &&
			clock_steady_us(metadata->task->clock) >= connection->deadline_us)
			let_go(connection);
	}
}

int64_t metadata_next_us(const struct metadata *metadata)
{
	int64_t next = TASK_NEVER;

	for (size_t i = 0; metadata->listener >= 0 && i < METADATA_CONNECTIONS_MAX; i++) {
		const struct metadata_connection *connection = &metadata->connections[i];

		if (connection->descriptor >= 0 && connection->deadline_us < next)
			next = connection->deadline_us;
	}
	return next;
}
