/*
 * An API server that misbehaves as a test wants it: a script of requests that must come in this order and
 * what is answered to each, over plain sockets, with no HTTP code of ours. What comes behind the script's
 * end is never answered.
 */
#ifndef KUBE_TEST_SERVER_H
#define KUBE_TEST_SERVER_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "kube/client.h"

#define TEST_CONNECTIONS_MAX 256
#define TEST_PATIENCE_S 60

enum test_then {
	TEST_END,  /* the body is complete */
	TEST_CUT,  /* the connection breaks */
	TEST_HANG, /* the body does not end, and nothing comes */
	TEST_WAIT, /* the same until the test says go on, then it is complete */
};

struct test_step {
	const char *request; /* its first line begins so: "GET /api/v1/pods?limit=" */
	int status;          /* 0: the connection breaks instead of an answer */
	const char *body;    /* NULL: "" */
	enum test_then then;
	const char *headers; /* "Retry-After: 1\r\n"; or NULL */
	const char *has;     /* somewhere in the head; or NULL */
	const char *sent;    /* somewhere in the request's body; or NULL */
	size_t filler;       /* so many spaces before the body */
	unsigned late_ms;    /* so much later it is answered */
};
#define STEP(expected, answered, text, ...)                                                        \
	{                                                                                          \
		.request = expected, .status = answered, .body = text, ##__VA_ARGS__               \
	}

struct test_connection {
	struct test_server *server;
	pthread_t thread;
	int descriptor;
};

struct test_server {
	int listener, port;
	pthread_t thread;
	const struct test_step *steps;
	size_t step_count;

	pthread_mutex_t lock; /* for all below */
	pthread_cond_t changed;
	struct test_connection connections[TEST_CONNECTIONS_MAX];
	size_t connection_count;
	size_t step; /* the next one */
	size_t more; /* requests beyond the script */
	size_t gates;
	bool stopping;
	char complaint[512];
};

/* ---- one request ---- */

static inline bool test_write(int descriptor, const char *data, size_t length)
{
	while (length > 0) {
		ssize_t n = send(descriptor, data, length, MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		data += n;
		length -= (size_t)n;
	}
	return true;
}

static inline bool test_read_request(int descriptor, struct buffer *in, struct buffer *head,
	struct buffer *body)
{
	const char *end, *length_header;
	size_t length = 0, head_length;
	char data[4096];
	ssize_t n;

	while (!in->data || !(end = strstr(in->data, "\r\n\r\n"))) {
		n = recv(descriptor, data, sizeof(data), 0);
		if (n <= 0)
			return false;
		buffer_add(in, data, (size_t)n);
	}
	head_length = (size_t)(end - in->data) + 4;
	buffer_reset(head);
	buffer_add(head, in->data, head_length);
	buffer_consume(in, head_length);
	length_header = strcasestr(head->data, "\r\ncontent-length:");
	if (length_header)
		length = strtoul(length_header + 17, NULL, 10);
	while (in->length < length) {
		n = recv(descriptor, data, sizeof(data), 0);
		if (n <= 0)
			return false;
		buffer_add(in, data, (size_t)n);
	}
	buffer_reset(body);
	buffer_add(body, in->data ? in->data : "", length);
	buffer_consume(in, length);
	return true;
}

/* The step that this request is, or NULL. */
static inline const struct test_step *test_take_step(struct test_server *server,
	const struct buffer *head, const struct buffer *body)
{
	const struct test_step *step = NULL;

	pthread_mutex_lock(&server->lock);
	if (server->step < server->step_count) {
		step = &server->steps[server->step];
		if ((strncmp(head->data, step->request, strlen(step->request)) != 0 ||
			    (step->has && !strstr(head->data, step->has)) ||
			    (step->sent && !strstr(body->data, step->sent))) &&
			!server->complaint[0])
			snprintf(server->complaint, sizeof(server->complaint),
				"step %zu is %s, not %.200s %.100s", server->step, step->request,
				head->data, body->data);
		server->step++;
	} else {
		server->more++;
	}
	pthread_cond_broadcast(&server->changed);
	pthread_mutex_unlock(&server->lock);
	return step;
}

static inline bool test_wait_gate(struct test_server *server)
{
	bool open;

	pthread_mutex_lock(&server->lock);
	while (server->gates == 0 && !server->stopping)
		pthread_cond_wait(&server->changed, &server->lock);
	open = server->gates > 0;
	if (open)
		server->gates--;
	pthread_mutex_unlock(&server->lock);
	return open;
}

/* False: close the connection. */
static inline bool test_answer(struct test_server *server, int descriptor,
	const struct test_step *step)
{
	const char *body = step->body ? step->body : "";
	_buffer_ struct buffer out = {0};

	if (step->late_ms > 0)
		poll(NULL, 0, (int)step->late_ms);
	if (step->status == 0)
		return false;
	buffer_format(&out, "HTTP/1.1 %d Said\r\nTransfer-Encoding: chunked\r\n%s\r\n",
		step->status, step->headers ? step->headers : "");
	if (step->filler > 0)
		buffer_format(&out, "%zx\r\n%*s\r\n", step->filler, (int)step->filler, "");
	if (body[0])
		buffer_format(&out, "%zx\r\n%s\r\n", strlen(body), body);
	if (step->then == TEST_END)
		buffer_add_string(&out, "0\r\n\r\n");
	if (!test_write(descriptor, out.data, out.length) || step->then == TEST_CUT)
		return false;
	if (step->then == TEST_END)
		return true;
	if (step->then == TEST_WAIT)
		return test_wait_gate(server) && test_write(descriptor, "0\r\n\r\n", 5);
	recv(descriptor, (char[1]){0}, 1, 0); /* until the client goes */
	return false;
}

/* ---- threads ---- */

static inline void *test_run_connection(void *context)
{
	struct test_connection *connection = context;
	_buffer_ struct buffer in = {0}, head = {0}, body = {0};
	bool good = true;

	while (good && test_read_request(connection->descriptor, &in, &head, &body)) {
		const struct test_step *step = test_take_step(connection->server, &head, &body);

		if (step)
			good = test_answer(connection->server, connection->descriptor, step);
		else
			recv(connection->descriptor, (char[1]){0}, 1, 0);
	}
	shutdown(connection->descriptor, SHUT_RDWR);
	return NULL;
}

static inline void *test_run_server(void *context)
{
	struct test_server *server = context;

	for (;;) {
		int descriptor = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC);
		struct test_connection *connection;

		if (descriptor < 0)
			return NULL;
		pthread_mutex_lock(&server->lock);
		if (server->connection_count == TEST_CONNECTIONS_MAX)
			abort();
		connection = &server->connections[server->connection_count++];
		*connection = (struct test_connection){.server = server, .descriptor = descriptor};
		pthread_create(&connection->thread, NULL, test_run_connection, connection);
		pthread_mutex_unlock(&server->lock);
	}
}

static inline struct test_server *test_server_new(const struct test_step *steps, size_t count)
{
	struct test_server *server = memory_allocate(sizeof(*server));
	struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(any);

	server->steps = steps;
	server->step_count = count;
	pthread_mutex_init(&server->lock, NULL);
	pthread_cond_init(&server->changed, NULL);
	server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(server->listener, (struct sockaddr *)&any, sizeof(any)) != 0 ||
		listen(server->listener, TEST_CONNECTIONS_MAX) != 0)
		abort();
	getsockname(server->listener, (struct sockaddr *)&any, &length);
	server->port = ntohs(any.sin_port);
	pthread_create(&server->thread, NULL, test_run_server, server);
	return server;
}

static inline void test_server_free(struct test_server *server)
{
	shutdown(server->listener, SHUT_RDWR);
	pthread_join(server->thread, NULL);
	pthread_mutex_lock(&server->lock);
	server->stopping = true;
	pthread_cond_broadcast(&server->changed);
	for (size_t i = 0; i < server->connection_count; i++)
		shutdown(server->connections[i].descriptor, SHUT_RDWR);
	pthread_mutex_unlock(&server->lock);
	for (size_t i = 0; i < server->connection_count; i++) {
		pthread_join(server->connections[i].thread, NULL);
		close(server->connections[i].descriptor);
	}
	close(server->listener);
	pthread_cond_destroy(&server->changed);
	pthread_mutex_destroy(&server->lock);
	free(server);
}

static inline void test_server_go_on(struct test_server *server)
{
	pthread_mutex_lock(&server->lock);
	server->gates++;
	pthread_cond_broadcast(&server->changed);
	pthread_mutex_unlock(&server->lock);
}

/* ---- a client of it ---- */

struct test_world {
	struct arena *arena;
	struct test_server *server;
	struct runner *runner;
	struct http_client *http;
	struct kube_access access;
	struct kube_client *client;
};

static inline void test_world_begin(struct test_world *world, const struct test_step *steps,
	size_t count)
{
	struct kube_client_config config = {.timeout_ms = TEST_PATIENCE_S * 1000};

	*world = (struct test_world){.arena = arena_new(0)};
	world->server = test_server_new(steps, count);
	world->runner = runner_threads_new(clock_system(), random_system());
	assert_int_equal(http_client_new(&world->http, NULL), 0);
	world->access = (struct kube_access){
		.server = arena_format(world->arena, "http://127.0.0.1:%d", world->server->port),
		.token = {.text = SPAN("secret")},
		.default_namespace = SPAN("default"),
	};
	config.http = world->http;
	config.runner = world->runner;
	config.access = &world->access;
	assert_int_equal(kube_client_new(&config, &world->client, NULL), 0);
}

static inline void test_world_end(struct test_world *world)
{
	char complaint[sizeof(world->server->complaint)];
	size_t left;

	kube_client_free(world->client);
	http_client_free(world->http);
	runner_stop(world->runner);
	runner_join(world->runner, NULL);
	runner_free(world->runner);
	memcpy(complaint, world->server->complaint, sizeof(complaint));
	left = world->server->step_count - world->server->step;
	test_server_free(world->server);
	arena_free(world->arena);
	if (complaint[0])
		fail_msg("%s", complaint);
	if (left > 0)
		fail_msg("%zu steps of the script were never asked for", left);
}

#endif
