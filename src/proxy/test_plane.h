/*
 * Shared by the tests of the data plane: a plane whose workers are this very program, backends that
 * are threads, and clients. Everything is on the loopback with ports that the kernel chose; every
 * wait has a generous limit.
 */
#ifndef PROXY_TEST_PLANE_H
#define PROXY_TEST_PLANE_H

#include <arpa/inet.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>

#include <cmocka.h>

#include "base/memory.h"
#include "proxy/l4/l4.h"

#define TEST_DEADLINE_S 60
#define TEST_BACKENDS_MAX 4

static inline void test_pause(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
}

static inline int64_t test_now_ms(void)
{
	return clock_steady_us(clock_system()) / 1000;
}

#define TEST_WAIT_UNTIL(condition)                                                                 \
	do {                                                                                       \
		int64_t test_end_ = test_now_ms() + TEST_DEADLINE_S * 1000;                        \
		while (!(condition)) {                                                             \
			assert_true(test_now_ms() < test_end_);                                    \
			test_pause();                                                              \
		}                                                                                  \
	} while (0)

static inline union proxy_address test_loopback(unsigned port)
{
	union proxy_address address;

	assert_int_equal(proxy_address_parse("127.0.0.1", port, &address, NULL), 0);
	return address;
}

static inline void test_set_deadline(int descriptor)
{
	const struct timeval limit = {.tv_sec = TEST_DEADLINE_S};

	setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

/* ---- backends ---- */

struct test_backend;

/* Serves one connection on a thread of its own and returns; the descriptor is closed after it. */
typedef void (*test_serve)(struct test_backend *backend, int descriptor);

struct test_backend {
	char letter;
	int listening; /* TCP, or the datagram socket */
	unsigned port;
	pthread_t thread;
	test_serve serve; /* NULL: datagrams */
	atomic_bool stopping;
	atomic_uint served;          /* connections or datagrams */
	atomic_uint running;         /* threads */
	atomic_ullong sum, requests; /* for the tests' own use */
};

struct test_connection {
	struct test_backend *backend;
	int descriptor;
};

static void *test_connection_main(void *context)
{
	struct test_connection connection = *(struct test_connection *)context;

	free(context);
	connection.backend->serve(connection.backend, connection.descriptor);
	close(connection.descriptor);
	atomic_fetch_sub(&connection.backend->running, 1);
	return NULL;
}

static void *test_backend_main(void *context)
{
	struct test_backend *backend = context;

	for (;;) {
		int descriptor = accept4(backend->listening, NULL, NULL, SOCK_CLOEXEC);
		struct test_connection *connection;
		pthread_attr_t detached;
		pthread_t thread;

		if (descriptor < 0) {
			if (atomic_load(&backend->stopping))
				return NULL;
			continue;
		}
		test_set_deadline(descriptor);
		connection = memory_allocate(sizeof(*connection));
		*connection = (struct test_connection){backend, descriptor};
		atomic_fetch_add(&backend->served, 1);
		atomic_fetch_add(&backend->running, 1);
		pthread_attr_init(&detached);
		pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
		if (pthread_create(&thread, &detached, test_connection_main, connection) != 0)
			abort();
		pthread_attr_destroy(&detached);
	}
}

/* Sends its letter to one client after the other, without waiting for them to close. */
static void *test_quick_main(void *context)
{
	struct test_backend *backend = context;

	for (;;) {
		int descriptor = accept4(backend->listening, NULL, NULL, SOCK_CLOEXEC);

		if (descriptor < 0) {
			if (atomic_load(&backend->stopping))
				return NULL;
			continue;
		}
		atomic_fetch_add(&backend->served, 1);
		if (send(descriptor, &backend->letter, 1, MSG_NOSIGNAL) != 1)
			atomic_fetch_add(&backend->sum, 1);
		close(descriptor);
	}
}

#define TEST_MANY_ANSWERS 5

/* Answers every datagram with its letter and the payload; a payload of two bytes several times. */
static void *test_datagrams_main(void *context)
{
	struct test_backend *backend = context;

	for (;;) {
		char data[65536];
		union proxy_address from;
		socklen_t length = sizeof(from);
		ssize_t size = recvfrom(backend->listening, data + 1, sizeof(data) - 1, 0,
			&from.any, &length);

		if (atomic_load(&backend->stopping))
			return NULL;
		if (size < 0)
			continue;
		data[0] = backend->letter;
		atomic_fetch_add(&backend->served, 1);
		for (int i = 0; i < (size == 2 ? TEST_MANY_ANSWERS : 1); i++)
			sendto(backend->listening, data, (size_t)size + 1, 0, &from.any, length);
	}
}

/* Instead of a serve function: test_quick_main. */
static inline void test_serve_quick(struct test_backend *backend, int descriptor)
{
	(void)backend;
	(void)descriptor;
}

static inline void test_backend_start(struct test_backend *backend, char letter, test_serve serve)
{
	void *(*thread_main)(void *) = !serve                      ? test_datagrams_main
				       : serve == test_serve_quick ? test_quick_main
								   : test_backend_main;
	union proxy_address address = test_loopback(0);
	socklen_t length = sizeof(address);

	memset(backend, 0, sizeof(*backend));
	backend->letter = letter;
	backend->serve = serve;
	backend->listening = socket(AF_INET, (serve ? SOCK_STREAM : SOCK_DGRAM) | SOCK_CLOEXEC, 0);
	assert_true(backend->listening >= 0);
	if (!serve) {
		const struct timeval often = {.tv_usec = 50000};
		int buffer = 4 * 1024 * 1024;

		setsockopt(backend->listening, SOL_SOCKET, SO_RCVTIMEO, &often, sizeof(often));
		setsockopt(backend->listening, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer));
	}
	assert_int_equal(bind(backend->listening, &address.any, sizeof(address.v4)), 0);
	assert_int_equal(getsockname(backend->listening, &address.any, &length), 0);
	backend->port = proxy_address_port(&address);
	if (serve)
		assert_int_equal(listen(backend->listening, 1024), 0);
	assert_int_equal(pthread_create(&backend->thread, NULL, thread_main, backend), 0);
}

static inline void test_backend_stop(struct test_backend *backend)
{
	if (!backend->port)
		return;
	atomic_store(&backend->stopping, true);
	shutdown(backend->listening, SHUT_RDWR);
	pthread_join(backend->thread, NULL);
	close(backend->listening);
	backend->port = 0;
	TEST_WAIT_UNTIL(atomic_load(&backend->running) == 0);
}

/* ---- clients ---- */

static inline int test_connect_address(const union proxy_address *address)
{
	int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(descriptor >= 0);
	test_set_deadline(descriptor);
	if (connect(descriptor, &address->any, sizeof(address->v4)) < 0) {
		close(descriptor);
		return -1;
	}
	return descriptor;
}

static inline int test_connect(unsigned port)
{
	union proxy_address address = test_loopback(port);

	return test_connect_address(&address);
}

/* A port that refuses connections as long as the descriptor is open, and that no other process gets
 * meanwhile. listen() makes it accept. */
static inline int test_refuse(unsigned *ret_port)
{
	union proxy_address address = test_loopback(0);
	socklen_t length = sizeof(address);
	int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(descriptor >= 0);
	assert_int_equal(bind(descriptor, &address.any, sizeof(address.v4)), 0);
	assert_int_equal(getsockname(descriptor, &address.any, &length), 0);
	*ret_port = proxy_address_port(&address);
	return descriptor;
}

/* The letter of the backend that answers a new connection; 0: none did. */
static inline char test_ask(unsigned port)
{
	int descriptor = test_connect(port);
	char letter = 0;

	if (descriptor < 0)
		return 0;
	if (recv(descriptor, &letter, 1, 0) != 1)
		letter = 0;
	close(descriptor);
	return letter;
}

static inline bool test_send_all(int descriptor, const void *data, size_t size)
{
	const char *at = data;

	while (size > 0) {
		ssize_t sent = send(descriptor, at, size, MSG_NOSIGNAL);

		if (sent <= 0)
			return false;
		at += sent;
		size -= (size_t)sent;
	}
	return true;
}

static inline bool test_receive_all(int descriptor, void *data, size_t size)
{
	char *at = data;

	while (size > 0) {
		ssize_t got = recv(descriptor, at, size, 0);

		if (got <= 0)
			return false;
		at += got;
		size -= (size_t)got;
	}
	return true;
}

/* Sends its letter, waits for the client to close. */
static inline void test_serve_letter(struct test_backend *backend, int descriptor)
{
	char rest[256];

	test_send_all(descriptor, &backend->letter, 1);
	while (recv(descriptor, rest, sizeof(rest), 0) > 0)
		;
}

/* Sends its letter, then echoes the client's bytes, until it closes. */
static inline void test_serve_echo(struct test_backend *backend, int descriptor)
{
	char data[16384];
	ssize_t got;

	test_send_all(descriptor, &backend->letter, 1);
	while ((got = recv(descriptor, data, sizeof(data), 0)) > 0) {
		if (!test_send_all(descriptor, data, (size_t)got))
			return;
	}
}

/* ---- the plane ---- */

struct test_plane {
	struct runner *runner;
	struct proxy_driver *driver; /* owned by the proxy */
	struct proxy *proxy;
	struct test_backend backends[TEST_BACKENDS_MAX];
	/* One listener "web" with the groups "stable" and "canary" of one target each. */
	struct proxy_target targets[2];
	struct proxy_group groups[2];
	struct proxy_route routes[2];
	struct proxy_listener listener;
	struct proxy_state state;
	unsigned port;
};

static inline int test_plane_setup(void **state, unsigned workers)
{
	struct test_plane *plane = memory_allocate(sizeof(*plane));
	struct l4_options options = {.workers = workers};
	struct err err;

	signal(SIGPIPE, SIG_IGN);
	plane->runner = runner_threads_new(clock_system(), random_system());
	if (l4_new(plane->runner, &options, &plane->driver, &err) < 0 ||
		proxy_new(&plane->driver, 1, &plane->proxy, &err) < 0) {
		fprintf(stderr, "%s\n", err.message);
		return -1;
	}
	*state = plane;
	return 0;
}

static inline int test_plane_teardown(void **state)
{
	struct test_plane *plane = *state;

	proxy_free(plane->proxy);
	runner_stop(plane->runner);
	runner_join(plane->runner, NULL);
	runner_free(plane->runner);
	for (size_t i = 0; i < TEST_BACKENDS_MAX; i++)
		test_backend_stop(&plane->backends[i]);
	free(plane);
	return 0;
}

static inline void test_apply(struct test_plane *plane)
{
	struct err err = {.message = ""};

	if (proxy_apply(plane->proxy, &plane->state, &err) < 0)
		fail_msg("%s", err.message);
}

static inline void test_plane_report(struct test_plane *plane, struct arena *arena,
	const struct proxy_listener_report **ret_web, const struct proxy_group_report **ret_canary)
{
	struct proxy_report report;

	proxy_report(plane->proxy, arena, &report);
	*ret_web = proxy_report_listener(&report, "web");
	*ret_canary = proxy_report_group(&report, "canary");
	assert_non_null(*ret_web);
	assert_non_null(*ret_canary);
}

static inline struct proxy_counters test_web_counters(struct test_plane *plane)
{
	_arena_ struct arena *arena = arena_new(0);
	const struct proxy_listener_report *web;
	const struct proxy_group_report *canary;

	test_plane_report(plane, arena, &web, &canary);
	return web->counters;
}

/* Fills in the state for backends 0 and 1, which run, and applies it. */
static inline void test_plane_open(struct test_plane *plane, enum proxy_protocol protocol,
	uint32_t stable, uint32_t canary)
{
	_arena_ struct arena *arena = arena_new(0);
	const struct proxy_listener_report *web;
	const struct proxy_group_report *group;

	for (size_t i = 0; i < 2; i++) {
		plane->targets[i].address = test_loopback(plane->backends[i].port);
		plane->groups[i].name = plane->routes[i].group = i ? "canary" : "stable";
		plane->groups[i].targets = &plane->targets[i];
		plane->groups[i].target_count = 1;
		plane->routes[i].weight = i ? canary : stable;
	}
	plane->listener.name = "web";
	plane->listener.protocol = protocol;
	plane->listener.address = test_loopback(0);
	plane->listener.routes = plane->routes;
	plane->listener.route_count = 2;
	plane->state = (struct proxy_state){.groups = plane->groups,
		.group_count = 2,
		.listeners = &plane->listener,
		.listener_count = 1};
	test_apply(plane);
	test_plane_report(plane, arena, &web, &group);
	plane->port = proxy_address_port(&web->address);
	assert_true(plane->port > 0);
}

static inline void test_set_weights(struct test_plane *plane, uint32_t stable, uint32_t canary)
{
	struct err err = {.message = ""};

	plane->routes[0].weight = stable;
	plane->routes[1].weight = canary;
	if (proxy_set_weights(plane->proxy, "web", plane->routes, 2, &err) < 0)
		fail_msg("%s", err.message);
}

/* The program is its own worker. */
#define TEST_PLANE_MAIN(name, tests)                                                               \
	int main(int argc, char **argv)                                                            \
	{                                                                                          \
		if (argc == 2 && strcmp(argv[1], "proxy-worker") == 0)                             \
			return proxy_worker_main(argc, argv);                                      \
		return cmocka_run_group_tests_name(name, tests, NULL, NULL);                       \
	}

#endif
