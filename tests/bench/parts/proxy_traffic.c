/*
 * Traffic for tests/bench/proxy.py, all on the loopback. Ports are printed on standard output, and
 * everything ends with standard input.
 *
 *     proxy_traffic plane FOLDER NAME=PROTOCOL:PORT[,PORT]…
 *                                                      slipway's data plane with those listeners (tcp, udp,
 *                                                      http); the targets are groups a and b with weights
 *                                                      90 and 10. A line "NAME A B" sets weights.
 *     proxy_traffic serve bulk|udp|LETTER              a backend
 *     proxy_traffic bulk PORT SECONDS                  bytes per second from a bulk backend
 *     proxy_traffic udp PORT SECONDS WINDOW            answers per second, and how many were lost
 *     proxy_traffic hold PORT COUNT tcp|http           opens connections and keeps them
 *     proxy_traffic proxy-worker                       what the engine starts
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "base/memory.h"
#include "proxy/haproxy/haproxy.h"
#include "proxy/l4/l4.h"

#define CHUNK 65536
#define GROUP_NAMES 64

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "proxy_traffic: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double now(void)
{
	return (double)clock_steady_us(clock_system()) / 1e6;
}

static union proxy_address loopback(unsigned port)
{
	union proxy_address address;

	proxy_address_parse("127.0.0.1", port, &address, NULL);
	return address;
}

static void raise_file_limit(void)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static int connect_to(int type, unsigned port)
{
	union proxy_address address = loopback(port);
	int descriptor = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	if (descriptor < 0 || connect(descriptor, &address.any, sizeof(address.v4)) < 0)
		die("connect");
	return descriptor;
}

/* ---- backends ---- */

static int open_backend(int type)
{
	union proxy_address address = loopback(0);
	socklen_t length = sizeof(address);
	int buffer = 4 * 1024 * 1024;
	int descriptor = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	if (type == SOCK_DGRAM)
		setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer));
	if (descriptor < 0 || bind(descriptor, &address.any, sizeof(address.v4)) < 0 ||
		(type == SOCK_STREAM && listen(descriptor, 4096) < 0) ||
		getsockname(descriptor, &address.any, &length) < 0)
		die("listen");
	printf("port %u\n", proxy_address_port(&address));
	fflush(stdout);
	return descriptor;
}

/* One client after the other, as much as it takes. */
static void serve_bulk(int listening)
{
	static const char chunk[CHUNK];

	for (;;) {
		struct pollfd polled[] = {{.fd = listening, .events = POLLIN}, {.fd = 0}};
		int client;

		poll(polled, LENGTH(polled), -1);
		if (polled[1].revents)
			return;
		client = accept(listening, NULL, NULL);
		while (client >= 0 && send(client, chunk, sizeof(chunk), MSG_NOSIGNAL) > 0)
			;
		close(client);
	}
}

static void serve_datagrams(int descriptor)
{
	for (;;) {
		struct pollfd polled[] = {{.fd = descriptor, .events = POLLIN}, {.fd = 0}};
		union proxy_address from;
		socklen_t length;
		char data[2048];
		ssize_t size;

		poll(polled, LENGTH(polled), -1);
		if (polled[1].revents)
			return;
		do {
			length = sizeof(from);
			size = recvfrom(descriptor, data, sizeof(data), MSG_DONTWAIT, &from.any,
				&length);
			if (size >= 0)
				sendto(descriptor, data, (size_t)size, 0, &from.any, length);
		} while (size >= 0);
	}
}

/* Says its letter and keeps the connection until the client closes. */
static void serve_letter(int listening, char letter)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event event = {.events = EPOLLIN, .data.fd = listening};

	epoll_ctl(epoll, EPOLL_CTL_ADD, listening, &event);
	event.data.fd = 0;
	epoll_ctl(epoll, EPOLL_CTL_ADD, 0, &event);
	for (;;) {
		char data[256];

		if (epoll_wait(epoll, &event, 1, -1) < 1)
			continue;
		if (event.data.fd == 0)
			return;
		if (event.data.fd == listening) {
			int client = accept(listening, NULL, NULL);

			if (client < 0)
				continue;
			event.data.fd = client;
			epoll_ctl(epoll, EPOLL_CTL_ADD, client, &event);
			send(client, &letter, 1, MSG_NOSIGNAL);
		} else if (recv(event.data.fd, data, sizeof(data), MSG_DONTWAIT) <= 0) {
			close(event.data.fd);
		}
	}
}

static int serve(const char *what)
{
	if (strcmp(what, "bulk") == 0)
		serve_bulk(open_backend(SOCK_STREAM));
	else if (strcmp(what, "udp") == 0)
		serve_datagrams(open_backend(SOCK_DGRAM));
	else
		serve_letter(open_backend(SOCK_STREAM), what[0]);
	return 0;
}

/* ---- clients ---- */

static int bulk(unsigned port, double seconds)
{
	static char data[CHUNK * 4];
	int descriptor = connect_to(SOCK_STREAM, port);
	double began = now();
	uint64_t total = 0;
	ssize_t got;

	while ((got = recv(descriptor, data, sizeof(data), 0)) > 0) {
		total += (uint64_t)got;
		if (now() - began >= seconds)
			break;
	}
	printf("%.0f %llu\n", (double)total / (now() - began), (unsigned long long)total);
	return 0;
}

static int udp(unsigned port, double seconds, unsigned window)
{
	const struct timeval soon = {.tv_usec = 200000};
	int descriptor = connect_to(SOCK_DGRAM, port);
	double began = now();
	uint64_t sent = 0, answered = 0;
	unsigned under_way = 0;

	setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof(soon));
	while (now() - began < seconds) {
		char data[64] = {0};

		for (; under_way < window; under_way++)
			sent += send(descriptor, data, sizeof(data), 0) > 0;
		if (recv(descriptor, data, sizeof(data), 0) > 0) {
			answered++;
			under_way--;
		} else {
			under_way = 0; /* lost */
		}
	}
	seconds = now() - began;
	for (char data[64]; answered < sent && recv(descriptor, data, sizeof(data), 0) > 0;)
		answered++;
	printf("%.0f %llu %llu\n", (double)answered / seconds,
		(unsigned long long)(sent - answered), (unsigned long long)answered);
	return 0;
}

/* With HTTP, each has had its answer and waits for the next request. */
static int hold(unsigned port, unsigned count, bool http)
{
	static const char request[] = "GET / HTTP/1.1\r\nHost: bench\r\n\r\n";
	char byte, answer[4096];

	for (unsigned i = 0; i < count; i++) {
		int descriptor = connect_to(SOCK_STREAM, port);

		if (http && (send(descriptor, request, sizeof(request) - 1, 0) < 0 ||
				    recv(descriptor, answer, sizeof(answer), 0) < 12))
			die("a request was not answered");
		if (!http && recv(descriptor, &byte, 1, 0) != 1)
			die("a connection was not answered");
	}
	printf("held\n");
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	return 0;
}

/* ---- the plane ---- */

struct listener_part {
	char names[2][GROUP_NAMES];
	struct proxy_target targets[2];
	struct proxy_route routes[2];
};

static void parse_listener(char *text, struct listener_part *part, struct proxy_group *groups,
	struct proxy_listener *listener)
{
	char *protocol = strchr(text, '='), *ports;

	ports = protocol ? strchr(protocol, ':') : NULL;
	if (!ports) {
		errno = EINVAL;
		die(text);
	}
	*protocol++ = *ports++ = '\0';
	listener->name = text;
	listener->protocol = strcmp(protocol, "udp") == 0    ? PROXY_UDP
			     : strcmp(protocol, "http") == 0 ? PROXY_HTTP
							     : PROXY_TCP;
	listener->address = loopback(0);
	listener->routes = part->routes;
	for (size_t i = 0; i < 2; i++) {
		snprintf(part->names[i], sizeof(part->names[i]), "%.32s-%c", text, i ? 'b' : 'a');
		part->targets[i].address = loopback((unsigned)strtoul(ports, &ports, 10));
		groups[i] = (struct proxy_group){
			.name = part->names[i], .targets = &part->targets[i], .target_count = 1};
		part->routes[i] = (struct proxy_route){part->names[i], i ? 10 : 90};
		listener->route_count++;
		if (*ports++ != ',')
			break;
	}
	if (listener->protocol == PROXY_HTTP)
		listener->http.otherwise = (struct proxy_action){.kind = PROXY_FORWARD,
			.routes = part->routes,
			.route_count = listener->route_count};
}

static int plane(const char *folder, int count, char **texts)
{
	struct listener_part *parts = memory_allocate_array((size_t)count, sizeof(*parts));
	struct proxy_group *groups = memory_allocate_array((size_t)count * 2, sizeof(*groups));
	struct proxy_listener *listeners = memory_allocate_array((size_t)count, sizeof(*listeners));
	struct proxy_state state = {
		.groups = groups, .listeners = listeners, .listener_count = (size_t)count};
	struct l4_options options = {.workers = 1};
	struct haproxy_options http_options = {.folder = folder, .threads = 1};
	struct arena *arena = arena_new(0);
	struct proxy_report report;
	struct proxy_driver *drivers[2];
	struct proxy *proxy;
	struct runner *runner = runner_threads_new(clock_system(), random_system());
	pid_t workers[L4_WORKERS_MAX];
	char line[256], name[64];
	unsigned a, b;
	struct err err;

	for (int i = 0; i < count; i++) {
		parse_listener(texts[i], &parts[i], groups + state.group_count, &listeners[i]);
		state.group_count += listeners[i].route_count;
	}
	if (l4_new(runner, &options, &drivers[0], &err) < 0 ||
		haproxy_new(runner, &http_options, &drivers[1], &err) < 0 ||
		proxy_new(drivers, LENGTH(drivers), &proxy, &err) < 0 ||
		proxy_apply(proxy, &state, &err) < 0) {
		fprintf(stderr, "proxy_traffic: %s\n", err.message);
		return 1;
	}
	proxy_report(proxy, arena, &report);
	for (size_t i = 0; i < report.listener_count; i++)
		printf("%s=%u ", report.listeners[i].name,
			proxy_address_port(&report.listeners[i].address));
	printf("worker=%d haproxy=%d\n", l4_workers(drivers[0], workers) ? (int)workers[0] : 0,
		(int)haproxy_process(drivers[1]));
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		struct proxy_route routes[2];
		double began = now();

		if (sscanf(line, "%63s %u %u", name, &a, &b) != 3)
			continue;
		for (int i = 0; i < count; i++) {
			if (strcmp(texts[i], name) != 0)
				continue;
			memcpy(routes, parts[i].routes, sizeof(routes));
			routes[0].weight = a;
			routes[1].weight = b;
			if (proxy_set_weights(proxy, name, routes, listeners[i].route_count, &err) <
				0)
				fprintf(stderr, "proxy_traffic: %s\n", err.message);
		}
		printf("set in %.1f us\n", (now() - began) * 1e6);
		fflush(stdout);
	}
	proxy_free(proxy);
	runner_stop(runner);
	runner_join(runner, NULL);
	runner_free(runner);
	arena_free(arena);
	free(parts);
	free(groups);
	free(listeners);
	return 0;
}

int main(int argc, char **argv)
{
	raise_file_limit();
	signal(SIGPIPE, SIG_IGN);
	if (argc == 2 && strcmp(argv[1], "proxy-worker") == 0)
		return proxy_worker_main(argc, argv);
	if (argc > 3 && strcmp(argv[1], "plane") == 0)
		return plane(argv[2], argc - 3, argv + 3);
	if (argc == 3 && strcmp(argv[1], "serve") == 0)
		return serve(argv[2]);
	if (argc == 4 && strcmp(argv[1], "bulk") == 0)
		return bulk((unsigned)atoi(argv[2]), atof(argv[3]));
	if (argc == 5 && strcmp(argv[1], "udp") == 0)
		return udp((unsigned)atoi(argv[2]), atof(argv[3]), (unsigned)atoi(argv[4]));
	if (argc == 5 && strcmp(argv[1], "hold") == 0)
		return hold((unsigned)atoi(argv[2]), (unsigned)atoi(argv[3]),
			strcmp(argv[4], "http") == 0);
	fprintf(stderr, "usage: see the head of proxy_traffic.c\n");
	return 2;
}
