/*
 * The server that the client's tests talk to: sockets and threads, no HTTP code of ours, so that it
 * can misbehave at will. One thread a connection; it answers by the path alone. Whatever waits in it
 * waits for the test to open a gate, never for time to pass.
 */
#ifndef IO_TEST_HTTP_CLIENT_SERVER_H
#define IO_TEST_HTTP_CLIENT_SERVER_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/memory.h"

#define SERVER_CONNECTIONS_MAX 256
#define SERVER_PATIENCE_S 60

struct server_connection {
	struct server *server;
	pthread_t thread;
	int descriptor;
	SSL *tls;
	struct buffer input; /* read, not yet used */
};

struct server {
	int listener;
	int port;
	SSL_CTX *tls; /* or NULL */
	pthread_t thread;
	atomic_int accepted;

	pthread_mutex_t lock; /* for all below */
	pthread_cond_t changed;
	struct server_connection *connections[SERVER_CONNECTIONS_MAX];
	size_t connection_count;
	int requests; /* heads read completely */
	int gate;     /* how many steps of the waiting answers are allowed */
	bool stopping;
};

static inline void server_deadline(struct timespec *ret_deadline)
{
	clock_gettime(CLOCK_REALTIME, ret_deadline);
	ret_deadline->tv_sec += SERVER_PATIENCE_S;
}

/* ---- reading and writing ---- */

static inline bool server_write(struct server_connection *connection, const void *data,
	size_t length)
{
	const char *at = data;

	while (length > 0) {
		ssize_t n = connection->tls
				    ? SSL_write(connection->tls, at,
					      length > INT32_MAX ? INT32_MAX : (int)length)
				    : send(connection->descriptor, at, length, MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		at += n;
		length -= (size_t)n;
	}
	return true;
}

static inline bool server_write_text(struct server_connection *connection, const char *text)
{
	return server_write(connection, text, strlen(text));
}

static inline bool server_read_more(struct server_connection *connection)
{
	char data[4096];
	ssize_t n = connection->tls ? SSL_read(connection->tls, data, sizeof(data))
				    : recv(connection->descriptor, data, sizeof(data), 0);

	if (n <= 0)
		return false;
	buffer_add(&connection->input, data, (size_t)n);
	return true;
}

/* The next request: head with its empty line, then the body by its Content-Length. */
static inline bool server_read_request(struct server_connection *connection, struct buffer *head,
	struct buffer *body)
{
	const char *end, *length_header;
	size_t head_length, body_length = 0;

	while (!connection->input.data || !(end = strstr(connection->input.data, "\r\n\r\n"))) {
		if (!server_read_more(connection))
			return false;
	}
	head_length = (size_t)(end - connection->input.data) + 4;
	buffer_reset(head);
	buffer_add(head, connection->input.data, head_length);
	buffer_consume(&connection->input, head_length);
	length_header = strcasestr(head->data, "\r\ncontent-length:");
	if (length_header)
		body_length = strtoul(length_header + 17, NULL, 10);
	while (connection->input.length < body_length) {
		if (!server_read_more(connection))
			return false;
	}
	buffer_reset(body);
	if (body_length > 0)
		buffer_add(body, connection->input.data, body_length);
	buffer_consume(&connection->input, body_length);
	pthread_mutex_lock(&connection->server->lock);
	connection->server->requests++;
	pthread_cond_broadcast(&connection->server->changed);
	pthread_mutex_unlock(&connection->server->lock);
	return true;
}

/* ---- answers ---- */

/* Waits until the gate allows that many steps; false if the server stops instead. */
static inline bool server_wait_gate(struct server *server, int steps)
{
	bool open;

	pthread_mutex_lock(&server->lock);
	while (server->gate < steps && !server->stopping)
		pthread_cond_wait(&server->changed, &server->lock);
	open = server->gate >= steps;
	pthread_mutex_unlock(&server->lock);
	return open;
}

static inline bool answer(struct server_connection *connection, struct span body)
{
	_buffer_ struct buffer out = {0};

	buffer_format(&out, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\nX-Test:  A b \r\n\r\n",
		body.length);
	buffer_add_span(&out, body);
	return server_write(connection, out.data, out.length);
}

static inline bool answer_chunk(struct server_connection *connection, struct span data)
{
	_buffer_ struct buffer out = {0};

	buffer_format(&out, "%zx\r\n", data.length);
	buffer_add_span(&out, data);
	buffer_add_string(&out, "\r\n");
	return server_write(connection, out.data, out.length);
}

#define CHUNKED_HEAD "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Stream: yes\r\n\r\n"

/* Byte i of a long answer is a letter that depends on its position. */
static inline char server_letter(size_t index)
{
	return (char)('a' + index % 23);
}

static inline bool answer_bytes(struct server_connection *connection, size_t count, bool chunked)
{
	_free_ char *bytes = memory_allocate(count + 1);

	for (size_t i = 0; i < count; i++)
		bytes[i] = server_letter(i);
	if (!chunked)
		return answer(connection, (struct span){bytes, count});
	if (!server_write_text(connection, CHUNKED_HEAD))
		return false;
	for (size_t at = 0; at < count; at += 10000) {
		size_t length = count - at < 10000 ? count - at : 10000;

		if (!answer_chunk(connection, (struct span){bytes + at, length}))
			return false;
	}
	return server_write_text(connection, "0\r\n\r\n");
}

/* "tick N", each when the gate allows it; three of them. */
static inline bool answer_ticks(struct server_connection *connection)
{
	if (!server_write_text(connection, CHUNKED_HEAD))
		return false;
	for (int i = 1; i <= 3; i++) {
		char tick[16];

		snprintf(tick, sizeof(tick), "tick %d\n", i);
		if (!server_wait_gate(connection->server, i) ||
			!answer_chunk(connection, span_of(tick)))
			return false;
	}
	return server_write_text(connection, "0\r\n\r\n");
}

static inline bool answer_long_head(struct server_connection *connection)
{
	_buffer_ struct buffer out = {0};

	buffer_add_string(&out, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n");
	for (int i = 0; i < 2000; i++)
		buffer_format(&out, "X-%d: ........................................\r\n", i);
	buffer_add_string(&out, "\r\n");
	return server_write(connection, out.data, out.length);
}

static inline bool answer_subject(struct server_connection *connection)
{
	X509 *certificate = connection->tls ? SSL_get_peer_certificate(connection->tls) : NULL;
	char name[128] = "anonymous";

	if (certificate)
		X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name,
			sizeof(name));
	X509_free(certificate);
	return answer(connection, span_of(name));
}

/* Answers that are always the same text; false behind it: close the connection then. */
static const struct server_fixed {
	const char *path;
	const char *text;
	bool keep;
} server_fixed[] = {
	{"/hello",
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Test:  A b \r\nx-test: "
		"second\r\nX-Empty:\r\n\r\nhello",
		true},
	{"/missing", "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone", true},
	{"/empty", "HTTP/1.1 204 No Content\r\n\r\n", true},
	{"/redirect", "HTTP/1.1 302 Found\r\nLocation: /hello\r\nContent-Length: 0\r\n\r\n", true},
	{"/interim",
		"HTTP/1.1 100 Continue\r\nX-Interim: 1\r\n\r\nHTTP/1.1 201 "
		"Created\r\nContent-Length: 2\r\n\r\nok",
		true},
	{"/trailers",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Trailer: "
		"1\r\n\r\n",
		true},
	{"/until-close", "HTTP/1.1 200 OK\r\n\r\nall of it", false},
	{"/close-after", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", false},
	{"/cut", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this", false},
	{"/cut-chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nonly\r\n",
		false},
	{"/nothing", "", false},
	{"/garbage", "this is not HTTP\r\n\r\n", false},
	{"/bad-status", "HTTP/1.1 abc\r\n\r\n", false},
};

/* False: close the connection. */
static inline bool server_answer(struct server_connection *connection, const struct buffer *head,
	const struct buffer *body)
{
	_buffer_ struct buffer echo = {0};
	char method[16] = "", target[128] = "";
	size_t count = 0;

	sscanf(head->data, "%15s %127s", method, target);
	for (size_t i = 0; i < LENGTH(server_fixed); i++) {
		if (strcmp(target, server_fixed[i].path) == 0)
			return server_write_text(connection, server_fixed[i].text) &&
			       server_fixed[i].keep;
	}
	if (strcmp(method, "HEAD") == 0)
		return server_write_text(connection,
			"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
	if (strcmp(target, "/ticks") == 0)
		return answer_ticks(connection);
	if (strcmp(target, "/hang") == 0)
		return server_wait_gate(connection->server, 1) && answer(connection, SPAN("late"));
	if (strcmp(target, "/silent") == 0)
		return server_write_text(connection, CHUNKED_HEAD) &&
		       server_wait_gate(connection->server, 1);
	if (strcmp(target, "/long-head") == 0)
		return answer_long_head(connection);
	if (strcmp(target, "/subject") == 0)
		return answer_subject(connection);
	if (sscanf(target, "/bytes/%zu", &count) == 1)
		return answer_bytes(connection, count, false);
	if (sscanf(target, "/chunked/%zu", &count) == 1)
		return answer_bytes(connection, count, true);
	/* Anything else comes back as it came. */
	buffer_add_span(&echo, buffer_span(head));
	buffer_add_span(&echo, buffer_span(body));
	return answer(connection, buffer_span(&echo));
}

/* ---- threads ---- */

static inline void *server_run_connection(void *context)
{
	struct server_connection *connection = context;
	_buffer_ struct buffer head = {0}, body = {0};
	bool good = true;

	if (connection->server->tls) {
		connection->tls = SSL_new(connection->server->tls);
		SSL_set_fd(connection->tls, connection->descriptor);
		good = SSL_accept(connection->tls) == 1;
	}
	while (good && server_read_request(connection, &head, &body))
		good = server_answer(connection, &head, &body);
	if (connection->tls && good)
		SSL_shutdown(connection->tls);
	/* The descriptor itself is closed at the end, lest its number be another's meanwhile. */
	shutdown(connection->descriptor, SHUT_RDWR);
	return NULL;
}

static inline void *server_run(void *context)
{
	struct server *server = context;

	for (;;) {
		struct server_connection *connection;
		int descriptor = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC);

		if (descriptor < 0 && errno == EINTR)
			continue;
		if (descriptor < 0)
			return NULL;
		connection = memory_allocate(sizeof(*connection));
		connection->server = server;
		connection->descriptor = descriptor;
		atomic_fetch_add(&server->accepted, 1);
		pthread_mutex_lock(&server->lock);
		if (server->connection_count == SERVER_CONNECTIONS_MAX)
			abort();
		server->connections[server->connection_count++] = connection;
		pthread_create(&connection->thread, NULL, server_run_connection, connection);
		pthread_mutex_unlock(&server->lock);
	}
}

/* Signals are for the test's own thread, so that one that the client causes is noticed there. */
static inline void server_start_thread(struct server *server)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_create(&server->thread, NULL, server_run, server);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* On a port of 127.0.0.1, or on a socket at a path. */
static inline struct server *server_new(const char *path, SSL_CTX *tls)
{
	struct server *server = memory_allocate(sizeof(*server));
	struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_un local = {.sun_family = AF_UNIX};
	socklen_t length = sizeof(any);
	int code;

	server->tls = tls;
	pthread_mutex_init(&server->lock, NULL);
	pthread_cond_init(&server->changed, NULL);
	server->listener = socket(path ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (path) {
		snprintf(local.sun_path, sizeof(local.sun_path), "%s", path);
		code = bind(server->listener, (struct sockaddr *)&local, sizeof(local));
	} else {
		code = bind(server->listener, (struct sockaddr *)&any, sizeof(any));
	}
	if (code != 0 || listen(server->listener, SERVER_CONNECTIONS_MAX) != 0)
		abort();
	if (!path) {
		getsockname(server->listener, (struct sockaddr *)&any, &length);
		server->port = ntohs(any.sin_port);
	}
	server_start_thread(server);
	return server;
}

static inline void server_free(struct server *server)
{
	shutdown(server->listener, SHUT_RDWR);
	pthread_join(server->thread, NULL);
	pthread_mutex_lock(&server->lock);
	server->stopping = true;
	pthread_cond_broadcast(&server->changed);
	for (size_t i = 0; i < server->connection_count; i++)
		shutdown(server->connections[i]->descriptor, SHUT_RDWR);
	pthread_mutex_unlock(&server->lock);
	for (size_t i = 0; i < server->connection_count; i++) {
		struct server_connection *connection = server->connections[i];

		pthread_join(connection->thread, NULL);
		SSL_free(connection->tls);
		close(connection->descriptor);
		buffer_clear(&connection->input);
		free(connection);
	}
	close(server->listener);
	SSL_CTX_free(server->tls);
	pthread_cond_destroy(&server->changed);
	pthread_mutex_destroy(&server->lock);
	free(server);
}

static inline void server_free_pointer(struct server **server)
{
	server_free(*server);
}
#define _server_ CLEANUP(server_free_pointer)

/* ---- actions of tests ---- */

static inline void server_open_gate(struct server *server, int steps)
{
	pthread_mutex_lock(&server->lock);
	server->gate += steps;
	pthread_cond_broadcast(&server->changed);
	pthread_mutex_unlock(&server->lock);
}

/* False if that many requests do not come within a minute. */
static inline bool server_wait_requests(struct server *server, int count)
{
	struct timespec deadline;
	bool enough;

	server_deadline(&deadline);
	pthread_mutex_lock(&server->lock);
	while (server->requests < count &&
		pthread_cond_timedwait(&server->changed, &server->lock, &deadline) == 0)
		;
	enough = server->requests >= count;
	pthread_mutex_unlock(&server->lock);
	return enough;
}

#endif
