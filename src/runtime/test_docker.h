/*
 * A daemon with faults for tests: it has as much of Docker's API as the runtime uses, keeps
 * containers in memory, and fails on request: connections cut, responses of 500, a stream of events
 * that ends, images that cannot be pulled. One thread per connection. An exec writes the configured
 * number of bytes, reads nothing, and ends.
 */
#ifndef RUNTIME_TEST_DOCKER_H
#define RUNTIME_TEST_DOCKER_H

#include <arpa/inet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/map.h"
#include "base/memory.h"

#define FAKE_CONTAINERS_MAX 64
#define FAKE_CONNECTIONS_MAX 4096

struct fake_container {
	char name[256];
	struct arena *arena;
	const struct json *body; /* of create */
	bool started, running;
	int exit_code;
	unsigned starts, signals;
	int64_t number; /* for its times */
};

struct fake_daemon {
	char path[108];
	int listener;
	pthread_t thread;
	pthread_t threads[FAKE_CONNECTIONS_MAX];
	size_t thread_count;
	pthread_mutex_t lock; /* for all below */
	pthread_cond_t changed;
	int descriptors[FAKE_CONNECTIONS_MAX];
	bool stopping;
	struct fake_container containers[FAKE_CONTAINERS_MAX];
	size_t container_count;
	unsigned requests, creations, removals, event_streams;
	uint64_t events; /* sent so far */
	char last_token[128];
	const char *version; /* "1.41" */
	unsigned cut_every;  /* one of this many requests is cut before it is handled; 0: none */
	unsigned cut_behind; /* or after it is handled, before the response */
	const char *cut;     /* requests with this in their line get no response */
	const char *refuse;  /* requests with this in their line get a 500 */
	const char *refuse_text;
	bool lose_events; /* the stream of events sends nothing */
	unsigned cuts;    /* of the stream of events so far */
	bool cut_events;  /* and ends at once */
	size_t says;      /* bytes that an exec writes */
	unsigned said;    /* execs that have written everything */
};

struct fake_connection {
	struct fake_daemon *daemon;
	int descriptor;
	size_t index;
};

/* ---- answers; the lock is held ---- */

static inline struct fake_container *fake_find(struct fake_daemon *daemon, const char *name)
{
	for (size_t i = 0; i < daemon->container_count; i++)
		if (daemon->containers[i].name[0] && strcmp(daemon->containers[i].name, name) == 0)
			return &daemon->containers[i];
	return NULL;
}

static inline void fake_inspect(const struct fake_container *container, struct buffer *out)
{
	const char *status = !container->started  ? "created"
			     : container->running ? "running"
						  : "exited";

	buffer_format(out,
		"{\"Id\":\"id-%s\",\"State\":{\"Status\":\"%s\",\"ExitCode\":%d,\"StartedAt\":"
		"\"%s\",\"FinishedAt\":\"2026-01-01T00:%02d:01Z\"},\"Config\":",
		container->name, status, container->exit_code,
		container->started ? "2026-01-01T00:00:00Z" : "0001-01-01T00:00:00Z",
		(int)(container->starts % 60));
	json_write(container->body, out);
	buffer_add_string(out, ",\"NetworkSettings\":{}}");
}

static inline void fake_report(struct fake_daemon *daemon, const struct fake_container *container)
{
	struct span token =
		json_text(json_get(json_get(container->body, "Labels"), "slipway.task"));

	snprintf(daemon->last_token, sizeof(daemon->last_token), "%.*s",
		token.data ? (int)token.length : 0, token.data ? token.data : "");
	daemon->events++;
	pthread_cond_broadcast(&daemon->changed);
}

static inline int fake_create(struct fake_daemon *daemon, const char *name, struct span body)
{
	struct fake_container *container = &daemon->containers[daemon->container_count];
	struct json *value;

	if (fake_find(daemon, name))
		return 409;
	if (daemon->container_count == FAKE_CONTAINERS_MAX)
		return 500;
	container->arena = arena_new(0);
	if (json_parse(arena_copy_span(container->arena, body), container->arena, &value, NULL) <
		0) {
		arena_free(container->arena);
		return 400;
	}
	snprintf(container->name, sizeof(container->name), "%s", name);
	container->body = value;
	daemon->container_count++;
	daemon->creations++;
	return 201;
}

static inline void fake_end(struct fake_daemon *daemon, struct fake_container *container, int code)
{
	if (!container->running)
		return;
	container->running = false;
	container->exit_code = code;
	fake_report(daemon, container);
}

static inline int fake_act(struct fake_daemon *daemon, struct fake_container *container,
	const char *verb, struct buffer *out)
{
	if (strcmp(verb, "json") == 0) {
		fake_inspect(container, out);
		return 200;
	}
	if (strncmp(verb, "start", 5) == 0) {
		if (container->running)
			return 304;
		container->started = container->running = true;
		container->starts++;
		fake_report(daemon, container);
		return 204;
	}
	if (strncmp(verb, "kill", 4) == 0) {
		container->signals++;
		fake_end(daemon, container, strstr(verb, "SIGKILL") ? 137 : 143);
		return 204;
	}
	return 404;
}

static inline void fake_list(struct fake_daemon *daemon, struct buffer *out)
{
	const char *comma = "";

	buffer_add_char(out, '[');
	for (size_t i = 0; i < daemon->container_count; i++) {
		if (!daemon->containers[i].name[0])
			continue;
		buffer_format(out, "%s{\"Id\":\"%s\",\"Labels\":", comma,
			daemon->containers[i].name);
		json_write(json_get(daemon->containers[i].body, "Labels"), out);
		buffer_add_char(out, '}');
		comma = ",";
	}
	buffer_add_char(out, ']');
}

static inline int fake_remove(struct fake_daemon *daemon, const char *name)
{
	struct fake_container *container = fake_find(daemon, name);

	if (!container)
		return 404;
	container->name[0] = '\0';
	daemon->removals++;
	return 204;
}

/* line: "POST /v1.41/containers/NAME/start HTTP/1.1" */
static inline int fake_answer(struct fake_daemon *daemon, char *line, struct span body,
	struct buffer *out)
{
	char method[16], path[1800], name[256], verb[256];
	struct fake_container *container;

	if (sscanf(line, "%15s /v1.%*[0-9]%1799s", method, path) != 2 &&
		sscanf(line, "%15s %1799s", method, path) != 2)
		return 400;
	if (strcmp(path, "/version") == 0) {
		buffer_format(out, "{\"ApiVersion\":\"%s\",\"MinAPIVersion\":\"1.12\"}",
			daemon->version);
		return 200;
	}
	if (strcmp(path, "/info") == 0) {
		buffer_add_string(out, "{\"NCPU\":2,\"MemTotal\":4294967296,\"Name\":\"fake\"}");
		return 200;
	}
	if (strncmp(path, "/containers/json", 16) == 0) {
		fake_list(daemon, out);
		return 200;
	}
	if (sscanf(path, "/containers/create?name=%255s", name) == 1) {
		buffer_add_string(out, "{\"Id\":\"x\"}");
		return fake_create(daemon, name, body);
	}
	if (strncmp(path, "/images/missing", 15) == 0)
		return 404;
	if (strncmp(path, "/images/create", 14) == 0) {
		buffer_add_string(out, "{\"status\":\"Pulling\"}\r\n{\"errorDetail\":{\"message\":"
				       "\"not found\"},\"error\":\"not found\"}\r\n");
		return 200;
	}
	if (strncmp(path, "/images/", 8) == 0) {
		buffer_add_string(out, "{}");
		return 200;
	}
	if (strcmp(method, "DELETE") == 0 && sscanf(path, "/containers/%255[^?]", name) == 1)
		return fake_remove(daemon, name);
	if (strncmp(path, "/exec/", 6) == 0) {
		buffer_add_string(out, "{\"Running\":false,\"ExitCode\":0}");
		return 200;
	}
	if (sscanf(path, "/containers/%255[^/]/%255s", name, verb) == 2 &&
		strcmp(verb, "exec") == 0) {
		buffer_add_string(out, "{\"Id\":\"x\"}");
		return 201;
	}
	if (sscanf(path, "/containers/%255[^/]/%255s", name, verb) == 2) {
		container = fake_find(daemon, name);
		return container ? fake_act(daemon, container, verb, out) : 404;
	}
	return 404;
}

/* ---- connections ---- */

static inline bool fake_send(int descriptor, struct span text)
{
	while (text.length > 0) {
		ssize_t sent = send(descriptor, text.data, text.length, MSG_NOSIGNAL);

		if (sent <= 0)
			return false;
		text.data += sent;
		text.length -= (size_t)sent;
	}
	return true;
}

static inline void fake_stream_events(struct fake_daemon *daemon, int descriptor)
{
	uint64_t reported;
	unsigned cuts;

	fake_send(descriptor, SPAN("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"));
	pthread_mutex_lock(&daemon->lock);
	reported = daemon->events;
	cuts = daemon->cuts;
	daemon->event_streams++;
	pthread_cond_broadcast(&daemon->changed);
	while (!daemon->stopping && !daemon->cut_events && cuts == daemon->cuts) {
		_buffer_ struct buffer line = {0};

		if (reported == daemon->events || daemon->lose_events) {
			reported = daemon->events;
			pthread_cond_wait(&daemon->changed, &daemon->lock);
			continue;
		}
		reported = daemon->events;
		buffer_format(&line,
			"{\"Type\":\"container\",\"Action\":\"die\",\"Actor\":{\"Attributes\":{"
			"\"slipway.task\":\"%s\"}}}\n",
			daemon->last_token);
		pthread_mutex_unlock(&daemon->lock);
		fake_send(descriptor, buffer_span(&line));
		pthread_mutex_lock(&daemon->lock);
	}
	pthread_mutex_unlock(&daemon->lock);
}

/* One frame of standard output; see runtime/docker/stream.h. */
static inline void fake_stream_program(struct fake_daemon *daemon, int descriptor)
{
	_buffer_ struct buffer out = {0};
	uint32_t length = htonl((uint32_t)daemon->says);

	buffer_add_string(&out, "HTTP/1.1 101 UPGRADED\r\n\r\n");
	buffer_add(&out, "\1\0\0", 4);
	buffer_add(&out, (const char *)&length, sizeof(length));
	for (size_t i = 0; i < daemon->says; i++)
		buffer_add_char(&out, (char)('a' + i % 26));
	fake_send(descriptor, buffer_span(&out));
	pthread_mutex_lock(&daemon->lock);
	daemon->said++;
	pthread_mutex_unlock(&daemon->lock);
}

static inline bool fake_receive(int descriptor, struct buffer *input, size_t wanted)
{
	char data[4096];

	while (input->length < wanted ||
		(wanted == 0 && !(input->data && strstr(input->data, "\r\n\r\n")))) {
		ssize_t got = recv(descriptor, data, sizeof(data), 0);

		if (got <= 0)
			return false;
		buffer_add(input, data, (size_t)got);
	}
	return true;
}

/* False: the connection is to be cut. */
static inline bool fake_handle(struct fake_daemon *daemon, int descriptor, char *head,
	struct span body)
{
	_buffer_ struct buffer out = {0}, answer = {0};
	bool before, behind;
	int status;

	pthread_mutex_lock(&daemon->lock);
	daemon->requests++;
	before = (daemon->cut_every && daemon->requests % daemon->cut_every == 0) ||
		 (daemon->cut && strstr(head, daemon->cut));
	behind = daemon->cut_behind && daemon->requests % daemon->cut_behind == 0;
	if (before) {
		pthread_mutex_unlock(&daemon->lock);
		return false;
	}
	if (strstr(head, "/events?")) {
		pthread_mutex_unlock(&daemon->lock);
		fake_stream_events(daemon, descriptor);
		return false;
	}
	if (strstr(head, "/exec/") && strstr(head, "/start ")) {
		pthread_mutex_unlock(&daemon->lock);
		fake_stream_program(daemon, descriptor);
		return false;
	}
	if (daemon->refuse && strstr(head, daemon->refuse)) {
		status = 500;
		buffer_format(&out, "{\"message\":\"%s\"}",
			daemon->refuse_text ? daemon->refuse_text : "it is broken");
	} else {
		status = fake_answer(daemon, head, body, &out);
	}
	pthread_mutex_unlock(&daemon->lock);
	if (behind)
		return false;
	if (status == 204 || status == 304)
		buffer_format(&answer, "HTTP/1.1 %d X\r\n\r\n", status);
	else
		buffer_format(&answer, "HTTP/1.1 %d X\r\nContent-Length: %zu\r\n\r\n%s", status,
			out.length, out.length ? out.data : "");
	return fake_send(descriptor, buffer_span(&answer));
}

static inline void *fake_serve(void *context)
{
	struct fake_connection *connection = context;
	_buffer_ struct buffer input = {0};
	bool goes_on = true;

	while (goes_on && fake_receive(connection->descriptor, &input, 0)) {
		size_t head = (size_t)(strstr(input.data, "\r\n\r\n") - input.data) + 4;
		const char *length = strcasestr(input.data, "\r\ncontent-length:");
		size_t body =
			length && length < input.data + head ? strtoul(length + 17, NULL, 10) : 0;
		_free_ char *text = NULL;

		if (!fake_receive(connection->descriptor, &input, head + body))
			break;
		text = memory_copy_string_n(input.data, head);
		goes_on = fake_handle(connection->daemon, connection->descriptor, text,
			(struct span){input.data + head, body});
		buffer_consume(&input, head + body);
	}
	pthread_mutex_lock(&connection->daemon->lock);
	connection->daemon->descriptors[connection->index] = -1;
	pthread_mutex_unlock(&connection->daemon->lock);
	close(connection->descriptor);
	free(connection);
	return NULL;
}

static inline void *fake_accept(void *context)
{
	struct fake_daemon *daemon = context;

	while (daemon->thread_count < FAKE_CONNECTIONS_MAX) {
		struct fake_connection *connection;
		int descriptor = accept4(daemon->listener, NULL, NULL, SOCK_CLOEXEC);

		if (descriptor < 0)
			break;
		connection = memory_allocate(sizeof(*connection));
		*connection = (struct fake_connection){daemon, descriptor, daemon->thread_count};
		pthread_mutex_lock(&daemon->lock);
		daemon->descriptors[daemon->thread_count] = descriptor;
		pthread_mutex_unlock(&daemon->lock);
		if (pthread_create(&daemon->threads[daemon->thread_count], NULL, fake_serve,
			    connection) != 0)
			abort();
		daemon->thread_count++;
	}
	return NULL;
}

static inline void fake_open(struct fake_daemon *daemon, const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	*daemon = (struct fake_daemon){.version = "1.41"};
	snprintf(daemon->path, sizeof(daemon->path), "%s", path);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	pthread_mutex_init(&daemon->lock, NULL);
	pthread_cond_init(&daemon->changed, NULL);
	daemon->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(daemon->listener, (struct sockaddr *)&address, sizeof(address)) < 0 ||
		listen(daemon->listener, 128) < 0 ||
		pthread_create(&daemon->thread, NULL, fake_accept, daemon) != 0)
		abort();
}

static inline void fake_close(struct fake_daemon *daemon)
{
	shutdown(daemon->listener, SHUT_RDWR);
	pthread_join(daemon->thread, NULL);
	close(daemon->listener);
	pthread_mutex_lock(&daemon->lock);
	daemon->stopping = true;
	pthread_cond_broadcast(&daemon->changed);
	for (size_t i = 0; i < daemon->thread_count; i++)
		if (daemon->descriptors[i] > 0)
			shutdown(daemon->descriptors[i], SHUT_RDWR);
	pthread_mutex_unlock(&daemon->lock);
	for (size_t i = 0; i < daemon->thread_count; i++)
		pthread_join(daemon->threads[i], NULL);
	for (size_t i = 0; i < daemon->container_count; i++)
		arena_free(daemon->containers[i].arena);
	unlink(daemon->path);
	pthread_mutex_destroy(&daemon->lock);
	pthread_cond_destroy(&daemon->changed);
}

#endif
