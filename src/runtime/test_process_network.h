/*
 * For tests of the addresses of tasks: the test program is a server, too (its main() calls serve()
 * when it is started as PROGRAM serve PORT TEXT, or as PROGRAM serve-own PORT TEXT for one that
 * binds to $SLIPWAY_ADDRESS), and a client.
 */
#ifndef RUNTIME_TEST_PROCESS_NETWORK_H
#define RUNTIME_TEST_PROCESS_NETWORK_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "base/random.h"
#include "runtime/test_process.h"

/* This program as a server: answers every connection with a text. */
static inline int serve(const char *kind, const char *port, const char *text)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
	int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	if (strcmp(kind, "serve-own") == 0)
		inet_pton(AF_INET, getenv("SLIPWAY_ADDRESS"), &address.sin_addr);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(listener, (struct sockaddr *)&address, sizeof(address)) < 0 ||
		listen(listener, 16) < 0) {
		perror("serve");
		return 1;
	}
	for (;;) {
		int connection = accept(listener, NULL, NULL);

		if (connection < 0 || write(connection, text, strlen(text)) < 0)
			return 2;
		close(connection);
	}
}

/* The answer of a server at the address; "" when there is none. */
static inline struct span ask(struct fixture *fixture, struct span where, uint16_t port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
	_close_ int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct timeval patience = {.tv_sec = 20};
	char text[256];
	ssize_t got;

	snprintf(text, sizeof(text), "%.*s", SPAN_ARGS(where));
	assert_int_equal(inet_pton(AF_INET, text, &address.sin_addr), 1);
	setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (connect(connection, (struct sockaddr *)&address, sizeof(address)) < 0)
		return SPAN("");
	got = read(connection, text, sizeof(text));
	return arena_copy_span(fixture->arena, (struct span){text, got > 0 ? (size_t)got : 0});
}

static inline struct span start_server_of_kind(struct fixture *fixture, const char *kind,
	const char *network, uint16_t port, const char *text)
{
	char self[256] = "";

	assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	return start(fixture,
		spec_in(fixture, network,
			arena_format(fixture->arena,
				"{'name':'app','image':'host','command':['%s','%s','%u','%s'],"
				"'portMappings':[{'containerPort':%u}],'stopTimeout':2}",
				self, kind, (unsigned)port, text, (unsigned)port)
				.data));
}

static inline struct span start_server(struct fixture *fixture, const char *network, uint16_t port,
	const char *text)
{
	return start_server_of_kind(fixture, "serve", network, port, text);
}

/* Below the range of ephemeral ports, so that no other process gets it meanwhile. */
static inline uint16_t free_port(void)
{
	for (;;) {
		uint16_t port = (uint16_t)(20000 + random_below(random_system(), 12000));
		struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
		_close_ int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (bind(descriptor, (struct sockaddr *)&address, sizeof(address)) == 0)
			return port;
	}
}

#endif
