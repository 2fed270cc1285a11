/*
 * Shared parts of the HTTP server's tests: a server with a handler that knows a few paths, a stash
 * for exchanges that are answered later, and a client that is nothing but a socket. Waits end with
 * the condition, or with a failure after a minute.
 */
#ifndef IO_TEST_HTTP_SERVER_H
#define IO_TEST_HTTP_SERVER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "io/http_server.h"

#define WAIT_SECONDS 60
#define BIG_SIZE ((size_t)64 * 1024 * 1024) /* more than the kernel buffers on the way */

/* ---- exchanges kept by the handler ---- */

struct stash {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct http_exchange *exchanges[1024];
	size_t count;
	size_t most; /* ever at once */
};

static inline void stash_put(struct stash *stash, struct http_exchange *exchange)
{
	pthread_mutex_lock(&stash->lock);
	assert_true(stash->count < LENGTH(stash->exchanges));
	stash->exchanges[stash->count++] = exchange;
	if (stash->count > stash->most)
		stash->most = stash->count;
	pthread_cond_broadcast(&stash->changed);
	pthread_mutex_unlock(&stash->lock);
}

static inline struct timespec wait_deadline(void)
{
	struct timespec deadline;

	clock_gettime(CLOCK_REALTIME, &deadline);
	deadline.tv_sec += WAIT_SECONDS;
	return deadline;
}

/* Waits until `count` are there. */
static inline void stash_wait(struct stash *stash, size_t count)
{
	struct timespec deadline = wait_deadline();
	int code = 0;

	pthread_mutex_lock(&stash->lock);
	while (stash->count < count && code == 0)
		code = pthread_cond_timedwait(&stash->changed, &stash->lock, &deadline);
	pthread_mutex_unlock(&stash->lock);
	assert_int_equal(code, 0);
}

static inline size_t stash_count(struct stash *stash)
{
	size_t count;

	pthread_mutex_lock(&stash->lock);
	count = stash->count;
	pthread_mutex_unlock(&stash->lock);
	return count;
}

/* The newest; waits for one. */
static inline struct http_exchange *stash_take(struct stash *stash)
{
	struct http_exchange *exchange;

	stash_wait(stash, 1);
	pthread_mutex_lock(&stash->lock);
	exchange = stash->exchanges[--stash->count];
	pthread_mutex_unlock(&stash->lock);
	return exchange;
}

/* ---- the server ---- */

struct fixture {
	struct http_server *server;
	struct stash stash;
	char *big;
	pthread_mutex_t gate; /* "/gate" waits for it, on the loop's thread */
};

static inline void fixture_handle(struct http_exchange *exchange,
	const struct http_request *request, void *context)
{
	const struct http_header type[] = {{SPAN("Content-Type"), SPAN("text/plain")}};
	struct fixture *fixture = context;

	if (span_is(request->path, "/hello")) {
		http_respond(exchange, 200, type, 1, HTTP_BODY_STATIC(SPAN("hello\n")));
	} else if (span_is(request->path, "/echo")) {
		http_respond(exchange, 200, type, 1, HTTP_BODY_STATIC(request->body));
	} else if (span_is(request->path, "/big")) {
		http_respond(exchange, 200, type, 1,
			HTTP_BODY_STATIC(((struct span){fixture->big, BIG_SIZE})));
	} else if (span_is(request->path, "/nothing")) {
		http_respond(exchange, 204, NULL, 0, HTTP_BODY_NONE);
	} else if (span_is(request->path, "/info")) {
		struct span text = arena_format(request->arena, "%.*s|%.*s|%.*s|%.*s|%d|%d",
			SPAN_ARGS(request->method), SPAN_ARGS(request->query),
			SPAN_ARGS(request->host), SPAN_ARGS(request->peer),
			request->peer_is_loopback, request->secure);

		http_respond(exchange, 200, type, 1, HTTP_BODY_STATIC(text));
	} else if (span_is(request->path, "/gate")) {
		stash_put(&fixture->stash, NULL);
		pthread_mutex_lock(&fixture->gate);
		pthread_mutex_unlock(&fixture->gate);
		http_respond(exchange, 200, type, 1, HTTP_BODY_STATIC(SPAN("opened")));
	} else if (span_starts_with(request->path, SPAN("/later"))) {
		stash_put(&fixture->stash, exchange);
	} else {
		http_respond_text(exchange, 404, type, 1, request->path);
	}
}

static inline struct fixture *fixture_open(struct http_server_config config)
{
	struct fixture *fixture = memory_allocate(sizeof(*fixture));
	struct err err = {0};

	pthread_mutex_init(&fixture->stash.lock, NULL);
	pthread_cond_init(&fixture->stash.changed, NULL);
	pthread_mutex_init(&fixture->gate, NULL);
	fixture->big = memory_allocate(BIG_SIZE);
	config.handler = fixture_handle;
	config.context = fixture;
	if (http_server_open(&config, &fixture->server, &err) < 0)
		fail_msg("%s", err.message);
	return fixture;
}

/* Exchanges that a failed test left unanswered must not keep the server from closing. */
static inline void fixture_close(struct fixture *fixture)
{
	if (fixture->server)
		http_server_drain(fixture->server, 0);
	while (stash_count(&fixture->stash) > 0) {
		struct http_exchange *exchange = stash_take(&fixture->stash);

		if (exchange)
			http_respond(exchange, 500, NULL, 0, HTTP_BODY_NONE);
	}
	http_server_close(fixture->server);
	pthread_mutex_destroy(&fixture->stash.lock);
	pthread_cond_destroy(&fixture->stash.changed);
	pthread_mutex_destroy(&fixture->gate);
	free(fixture->big);
	free(fixture);
}

static inline struct http_statistics statistics(const struct fixture *fixture)
{
	struct http_statistics now;

	http_server_statistics(fixture->server, &now);
	return now;
}

static inline void doze(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* Waits until an expression holds. */
#define WAIT_FOR(condition)                                                                        \
	do {                                                                                       \
		struct timespec begin_, now_;                                                      \
		clock_gettime(CLOCK_MONOTONIC, &begin_);                                           \
		while (!(condition)) {                                                             \
			doze();                                                                    \
			clock_gettime(CLOCK_MONOTONIC, &now_);                                     \
			if (now_.tv_sec - begin_.tv_sec > WAIT_SECONDS)                            \
				fail_msg("waited in vain for: %s", #condition);                    \
		}                                                                                  \
	} while (0)

/* ---- the client ---- */

struct peer {
	int descriptor;
	struct buffer input; /* received and not yet looked at */
};

struct reply {
	int status;
	bool closes;
	bool chunked;
	struct buffer head;
	struct buffer body;
};

#define _reply_ CLEANUP(reply_clear)

static inline void reply_clear(struct reply *reply)
{
	buffer_clear(&reply->head);
	buffer_clear(&reply->body);
	*reply = (struct reply){0};
}

static inline struct sockaddr_in address_of(const char *host, uint16_t port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};

	inet_pton(AF_INET, host, &address.sin_addr);
	return address;
}

/* From an address of the loopback net; -1 if the server does not listen. */
static inline int connect_from(const char *host, uint16_t port)
{
	struct timeval patience = {.tv_sec = WAIT_SECONDS};
	struct sockaddr_in here = address_of(host, 0);
	struct sockaddr_in there = address_of("127.0.0.1", port);
	int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(descriptor >= 0);
	setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	assert_int_equal(bind(descriptor, (struct sockaddr *)&here, sizeof(here)), 0);
	if (connect(descriptor, (struct sockaddr *)&there, sizeof(there)) == 0)
		return descriptor;
	close(descriptor);
	return -1;
}

static inline void peer_open(struct peer *peer, const struct fixture *fixture)
{
	*peer = (struct peer){
		.descriptor = connect_from("127.0.0.1", http_server_port(fixture->server))};
	assert_true(peer->descriptor >= 0);
}

static inline void peer_close(struct peer *peer)
{
	memory_close_descriptor(&peer->descriptor);
	buffer_clear(&peer->input);
}

#define _peer_ CLEANUP(peer_cleanup)
static inline void peer_cleanup(struct peer *peer)
{
	if (peer->descriptor > 0)
		peer_close(peer);
}

/* False if the server does not take all of it any more. */
static inline bool peer_try_send(struct peer *peer, const void *data, size_t length)
{
	const char *at = data;

	while (length > 0) {
		ssize_t sent = send(peer->descriptor, at, length, MSG_NOSIGNAL);

		if (sent <= 0)
			return false;
		at += sent;
		length -= (size_t)sent;
	}
	return true;
}

static inline void peer_send(struct peer *peer, const char *text)
{
	assert_true(peer_try_send(peer, text, strlen(text)));
}

/* Receives something more; false at the end. */
static inline bool peer_receive(struct peer *peer)
{
	char *end = buffer_reserve(&peer->input, 65536);
	ssize_t got = recv(peer->descriptor, end, 65536, 0);

	if (got < 0)
		fail_msg("receive: %s", strerror(errno));
	peer->input.length += (size_t)got;
	peer->input.data[peer->input.length] = '\0';
	return got > 0;
}

/* The server has closed in an orderly way and sent nothing that was not read. */
static inline void peer_expect_end(struct peer *peer)
{
	assert_int_equal(peer->input.length, 0);
	assert_false(peer_receive(peer));
}

/* Moves the first `length` bytes of the input to `out`, receiving them if needed. */
static inline void peer_take(struct peer *peer, size_t length, struct buffer *out)
{
	while (length > 0) {
		size_t part = peer->input.length < length ? peer->input.length : length;

		if (part == 0) {
			assert_true(peer_receive(peer));
			continue;
		}
		buffer_add(out, peer->input.data, part);
		buffer_consume(&peer->input, part);
		length -= part;
	}
}

/* Moves the input through the first CR LF to `out`. */
static inline void peer_take_line(struct peer *peer, struct buffer *out)
{
	const char *end;

	while (peer->input.length == 0 || !(end = strstr(peer->input.data, "\r\n")))
		assert_true(peer_receive(peer));
	peer_take(peer, (size_t)(end - peer->input.data) + 2, out);
}

static inline void peer_read_head(struct peer *peer, struct reply *reply)
{
	size_t line;

	reply_clear(reply);
	do {
		line = reply->head.length;
		peer_take_line(peer, &reply->head);
	} while (reply->head.length - line > 2);
	assert_int_equal(sscanf(reply->head.data, "HTTP/1.1 %d ", &reply->status), 1);
	reply->closes = strstr(reply->head.data, "\r\nConnection: close\r\n");
	reply->chunked = strstr(reply->head.data, "\r\nTransfer-Encoding: chunked\r\n");
}

/* One chunk of data; false for the last one. */
static inline bool peer_read_chunk(struct peer *peer, struct buffer *out)
{
	_buffer_ struct buffer line = {0};
	_buffer_ struct buffer end = {0};
	size_t size = 0;

	peer_take_line(peer, &line);
	assert_int_equal(sscanf(line.data, "%zx\r\n", &size), 1);
	peer_take(peer, size, out);
	peer_take_line(peer, &end);
	assert_string_equal(end.data, "\r\n");
	return size > 0;
}

static inline void peer_read(struct peer *peer, struct reply *reply)
{
	const char *length;

	peer_read_head(peer, reply);
	if (reply->chunked) {
		while (peer_read_chunk(peer, &reply->body))
			;
		return;
	}
	length = strstr(reply->head.data, "\r\nContent-Length: ");
	if (length)
		peer_take(peer, strtoul(length + strlen("\r\nContent-Length: "), NULL, 10),
			&reply->body);
}

/* Reads a reply and compares its status and body. */
static inline void peer_expect(struct peer *peer, int status, const char *body)
{
	_reply_ struct reply reply = {0};

	peer_read(peer, &reply);
	assert_int_equal(reply.status, status);
	assert_string_equal(buffer_span(&reply.body).data, body);
}

#define TEST_HOST "Host: test\r\n"
#define TEST_GET(path) "GET " path " HTTP/1.1\r\n" TEST_HOST "\r\n"

#endif
