/* TCP through the engine: shares, ends of streams, retries, draining, limits. */
#include "proxy/test_plane.h"

#include <sys/ioctl.h>

static int setup(void **state)
{
	return test_plane_setup(state, 1);
}

static int setup_two_workers(void **state)
{
	return test_plane_setup(state, 2);
}

static void start_backends(struct test_plane *plane, test_serve serve)
{
	test_backend_start(&plane->backends[0], 'A', serve);
	test_backend_start(&plane->backends[1], 'B', serve);
}

static unsigned count_canary(struct test_plane *plane, unsigned connections)
{
	unsigned canary = 0;

	for (unsigned i = 0; i < connections; i++) {
		char letter = test_ask(plane->port);

		assert_true(letter == 'A' || letter == 'B');
		canary += letter == 'B';
	}
	return canary;
}

static void check_counts(struct test_plane *plane)
{
	static const struct {
		uint32_t stable, canary;
		unsigned connections, wanted;
	} rows[] = {
		{99, 1, 1000, 10},
		{900000, 100000, 1000, 100},
		{50, 50, 1000, 500},
		{999, 1, 1000, 1},
		{100, 0, 300, 0},
		{0, 7, 300, 300},
	};

	start_backends(plane, test_serve_letter);
	test_plane_open(plane, PROXY_TCP, 1, 0);
	for (size_t i = 0; i < LENGTH(rows); i++) {
		test_set_weights(plane, rows[i].stable, rows[i].canary);
		assert_in_range(count_canary(plane, rows[i].connections),
			rows[i].wanted ? rows[i].wanted - (rows[i].wanted < rows[i].connections)
				       : 0,
			rows[i].wanted);
	}
}

static void test_counts_are_exact(void **state)
{
	check_counts(*state);
}

static void test_counts_are_exact_with_two_workers(void **state)
{
	check_counts(*state);
}

static void test_open_connections_stay_on_a_weight_change(void **state)
{
	struct test_plane *plane = *state;
	int clients[50];
	char letter;

	start_backends(plane, test_serve_echo);
	test_plane_open(plane, PROXY_TCP, 100, 0);
	for (size_t i = 0; i < LENGTH(clients); i++) {
		clients[i] = test_connect(plane->port);
		assert_true(clients[i] >= 0);
		assert_true(test_receive_all(clients[i], &letter, 1));
		assert_int_equal(letter, 'A');
	}
	test_set_weights(plane, 0, 100);
	for (size_t i = 0; i < 20; i++)
		assert_int_equal(test_ask(plane->port), 'B');
	for (size_t i = 0; i < LENGTH(clients); i++) {
		assert_true(test_send_all(clients[i], "x", 1));
		assert_true(test_receive_all(clients[i], &letter, 1));
		assert_int_equal(letter, 'x');
		close(clients[i]);
	}
	assert_int_equal(atomic_load(&plane->backends[0].served), LENGTH(clients));
	TEST_WAIT_UNTIL(test_web_counters(plane).active == 0);
	assert_int_equal(test_web_counters(plane).connections, LENGTH(clients) + 20);
	assert_int_equal(test_web_counters(plane).resets, 0);
}

/* Reads everything, and only then answers how much it was. */
static void serve_sum(struct test_backend *backend, int descriptor)
{
	char data[16384], answer[32];
	uint64_t total = 0;
	ssize_t got;

	(void)backend;
	while ((got = recv(descriptor, data, sizeof(data), 0)) > 0)
		total += (uint64_t)got;
	snprintf(answer, sizeof(answer), "%llu", (unsigned long long)total);
	test_send_all(descriptor, answer, strlen(answer));
}

static void test_half_close(void **state)
{
	struct test_plane *plane = *state;
	char data[100000] = {0}, answer[32] = {0};
	int client;

	start_backends(plane, serve_sum);
	test_plane_open(plane, PROXY_TLS, 1, 1);
	client = test_connect(plane->port);
	assert_true(test_send_all(client, data, sizeof(data)));
	shutdown(client, SHUT_WR);
	assert_true(test_receive_all(client, answer, 6));
	assert_string_equal(answer, "100000");
	assert_int_equal(recv(client, answer, 1, 0), 0);
	close(client);
}

static void serve_reset(struct test_backend *backend, int descriptor)
{
	const struct linger abrupt = {.l_onoff = 1};
	char byte;

	(void)backend;
	if (recv(descriptor, &byte, 1, 0) == 1 && byte == 'r')
		setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &abrupt, sizeof(abrupt));
	else if (recv(descriptor, &byte, 1, 0) < 0 && errno == ECONNRESET)
		atomic_fetch_add(&backend->sum, 1);
}

static void test_resets_pass_through(void **state)
{
	struct test_plane *plane = *state;
	const struct linger abrupt = {.l_onoff = 1};
	char byte;
	int client;

	start_backends(plane, serve_reset);
	test_plane_open(plane, PROXY_TCP, 1, 0);
	client = test_connect(plane->port);
	assert_true(test_send_all(client, "r", 1));
	assert_int_equal(recv(client, &byte, 1, 0), -1);
	assert_int_equal(errno, ECONNRESET);
	close(client);

	client = test_connect(plane->port);
	assert_true(test_send_all(client, "c", 1));
	TEST_WAIT_UNTIL(atomic_load(&plane->backends[0].served) == 2);
	setsockopt(client, SOL_SOCKET, SO_LINGER, &abrupt, sizeof(abrupt));
	/* Only once the byte has arrived: a reset would overtake it otherwise. */
	TEST_WAIT_UNTIL(test_web_counters(plane).bytes_in >= 2);
	close(client);
	TEST_WAIT_UNTIL(atomic_load(&plane->backends[0].sum) == 1);
	TEST_WAIT_UNTIL(test_web_counters(plane).resets == 2);
}

/* A client that does not read blocks the target; little is buffered in between. */
static void serve_flood(struct test_backend *backend, int descriptor)
{
	static const char data[65536];
	const struct timeval soon = {.tv_sec = 1};
	ssize_t sent;

	setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &soon, sizeof(soon));
	while ((sent = send(descriptor, data, sizeof(data), MSG_NOSIGNAL)) > 0)
		atomic_fetch_add(&backend->sum, (unsigned long long)sent);
	atomic_fetch_add(&backend->sum, 1); /* odd: it has stopped */
}

static void test_slow_peer_is_bounded(void **state)
{
	struct test_plane *plane = *state;
	int client;

	start_backends(plane, serve_flood);
	test_plane_open(plane, PROXY_TCP, 1, 0);
	client = test_connect(plane->port);
	TEST_WAIT_UNTIL(atomic_load(&plane->backends[0].sum) % 2 == 1);
	assert_true(atomic_load(&plane->backends[0].sum) < 64 * 1024 * 1024);
	close(client);
}

/* ---- targets ---- */

static void test_refusing_target_is_retried_in_its_group(void **state)
{
	struct test_plane *plane = *state;
	struct proxy_target targets[2];
	unsigned port;
	int refusing = test_refuse(&port);

	start_backends(plane, test_serve_letter);
	test_plane_open(plane, PROXY_TCP, 1, 0);
	targets[0] = targets[1] = plane->targets[0];
	targets[1].address = test_loopback(port);
	plane->groups[0].targets = targets;
	plane->groups[0].target_count = 2;
	test_apply(plane);
	for (int i = 0; i < 20; i++)
		assert_int_equal(test_ask(plane->port), 'A');
	assert_int_equal(test_web_counters(plane).connect_failures, 10);
	assert_int_equal(test_web_counters(plane).retries, 10);
	assert_int_equal(test_web_counters(plane).failed, 0);
	close(refusing);
}

static void test_next_group_only_if_asked_for(void **state)
{
	struct test_plane *plane = *state;
	char letters[3] = {0};
	unsigned port;
	int refusing = test_refuse(&port);

	start_backends(plane, test_serve_letter);
	test_plane_open(plane, PROXY_TCP, 1, 1);
	plane->targets[1].address = test_loopback(port);
	test_apply(plane);
	for (int i = 0; i < 2; i++)
		letters[i] = test_ask(plane->port);
	assert_true(letters[0] + letters[1] == 'A');
	assert_int_equal(test_web_counters(plane).failed, 1);
	plane->listener.options.retry_next_group = true;
	test_apply(plane);
	for (int i = 0; i < 20; i++)
		assert_int_equal(test_ask(plane->port), 'A');
	/* A weight of 0 is none, also then. */
	test_set_weights(plane, 0, 1);
	assert_int_equal(test_ask(plane->port), 0);
	assert_int_equal(test_web_counters(plane).failed, 2);
	close(refusing);
}

static void test_target_that_does_not_answer_is_given_up(void **state)
{
	struct test_plane *plane = *state;
	union proxy_address address = test_loopback(0);
	socklen_t length = sizeof(address);
	int silent = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int fillers[8];

	start_backends(plane, test_serve_letter);
	/* A full backlog: more connections stay unanswered. */
	assert_int_equal(bind(silent, &address.any, sizeof(address.v4)), 0);
	assert_int_equal(listen(silent, 0), 0);
	assert_int_equal(getsockname(silent, &address.any, &length), 0);
	for (size_t i = 0; i < LENGTH(fillers); i++) {
		fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		connect(fillers[i], &address.any, length);
	}
	/* Too long for the machine to be the one that does not answer. */
	plane->listener.options.connect_timeout_ms = 2000;
	plane->listener.options.retry_next_group = true;
	test_plane_open(plane, PROXY_TCP, 1, 1);
	plane->targets[1].address = address;
	test_apply(plane);
	for (int i = 0; i < 4; i++)
		assert_int_equal(test_ask(plane->port), 'A');
	assert_int_equal(test_web_counters(plane).connect_failures, 2);
	for (size_t i = 0; i < LENGTH(fillers); i++)
		close(fillers[i]);
	close(silent);
}

static void test_draining_target_keeps_connections_until_its_deadline(void **state)
{
	struct test_plane *plane = *state;
	int stays, goes;
	char letter;

	start_backends(plane, test_serve_echo);
	test_plane_open(plane, PROXY_TCP, 1, 1);
	stays = test_connect(plane->port);
	assert_true(test_receive_all(stays, &letter, 1));
	goes = test_connect(plane->port);
	assert_true(test_receive_all(goes, &letter, 1));
	plane->targets[letter == 'B'].state = PROXY_TARGET_DRAINING;
	test_apply(plane);
	/* No deadline yet: its connections stay, but it gets no new ones; its group has no other
	 * target. */
	assert_true(test_send_all(goes, "x", 1));
	assert_true(test_receive_all(goes, &letter, 1));
	assert_int_equal(letter, 'x');
	assert_int_equal(test_ask(plane->port) + test_ask(plane->port),
		plane->targets[0].state == PROXY_TARGET_ACTIVE ? 'A' : 'B');
	/* Active again, and draining with a deadline. */
	for (size_t i = 0; i < 2; i++) {
		if (plane->targets[i].state != PROXY_TARGET_DRAINING)
			continue;
		plane->targets[i].state = PROXY_TARGET_ACTIVE;
		test_apply(plane);
		plane->targets[i].state = PROXY_TARGET_DRAINING;
		plane->targets[i].drain_ms = 200;
		test_apply(plane);
	}
	assert_true(recv(goes, &letter, 1, 0) <= 0);
	assert_true(test_send_all(stays, "y", 1));
	assert_true(test_receive_all(stays, &letter, 1));
	assert_int_equal(letter, 'y');
	assert_int_equal(test_web_counters(plane).cut, 1);
	close(stays);
	close(goes);
}

static void test_target_that_goes_down_loses_connections(void **state)
{
	struct test_plane *plane = *state;
	char letter;
	int client;

	start_backends(plane, test_serve_echo);
	test_plane_open(plane, PROXY_TCP, 1, 0);
	client = test_connect(plane->port);
	assert_true(test_receive_all(client, &letter, 1));
	plane->targets[0].state = PROXY_TARGET_DOWN;
	test_apply(plane);
	assert_true(recv(client, &letter, 1, 0) <= 0);
	close(client);
	assert_int_equal(test_ask(plane->port), 0);
}

static void test_targets_take_turns(void **state)
{
	struct test_plane *plane = *state;
	struct proxy_target targets[2];
	unsigned canary = 0;

	start_backends(plane, test_serve_letter);
	test_plane_open(plane, PROXY_TCP, 1, 0);
	memcpy(targets, plane->targets, sizeof(targets));
	plane->groups[0].targets = targets;
	plane->groups[0].target_count = 2;
	test_apply(plane);
	for (int i = 0; i < 100; i++)
		canary += test_ask(plane->port) == 'B';
	assert_int_equal(canary, 50);
}

static void test_sticky_source(void **state)
{
	struct test_plane *plane = *state;
	char first;

	start_backends(plane, test_serve_letter);
	plane->listener.options.sticky_source = true;
	test_plane_open(plane, PROXY_TCP, 1, 1);
	first = test_ask(plane->port);
	assert_true(first == 'A' || first == 'B');
	for (int i = 0; i < 50; i++)
		assert_int_equal(test_ask(plane->port), first);
}

/* ---- options ---- */

static void serve_header(struct test_backend *backend, int descriptor)
{
	char data[28 + 4];

	if (!test_receive_all(descriptor, data, sizeof(data)))
		return;
	test_send_all(descriptor, data, sizeof(data));
	(void)backend;
}

static void test_proxy_header_goes_first(void **state)
{
	struct test_plane *plane = *state;
	union proxy_address self;
	socklen_t length = sizeof(self);
	unsigned char data[32];
	int client;

	start_backends(plane, serve_header);
	plane->listener.options.proxy_v2 = true;
	test_plane_open(plane, PROXY_TCP, 1, 1);
	client = test_connect(plane->port);
	assert_int_equal(getsockname(client, &self.any, &length), 0);
	assert_true(test_send_all(client, "ping", 4));
	assert_true(test_receive_all(client, data, sizeof(data)));
	assert_memory_equal(data, "\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\x7f\0\0\1\x7f\0\0\1", 24);
	assert_int_equal(data[24] << 8 | data[25], proxy_address_port(&self));
	assert_int_equal(data[26] << 8 | data[27], plane->port);
	assert_memory_equal(data + 28, "ping", 4);
	close(client);
}

static void test_idle_connections_end(void **state)
{
	struct test_plane *plane = *state;
	int64_t end = test_now_ms() + TEST_DEADLINE_S * 1000;
	unsigned ended = 0;
	bool heard;
	char letter;

	start_backends(plane, test_serve_echo);
	plane->listener.options.idle_timeout_ms = 1000;
	test_plane_open(plane, PROXY_TCP, 1, 1);
	do {
		int client = test_connect(plane->port);

		assert_true(test_now_ms() < end);
		assert_true(client >= 0);
		/* A slow target's connection ends as well, and another one is tried. */
		heard = test_receive_all(client, &letter, 1);
		assert_true(!heard || recv(client, &letter, 1, 0) <= 0);
		close(client);
		assert_int_equal(test_web_counters(plane).idle_ends, ++ended);
	} while (!heard);
}

static void test_connections_beyond_the_limit_are_refused(void **state)
{
	struct test_plane *plane = *state;
	int clients[3];
	char letter;

	start_backends(plane, test_serve_echo);
	plane->listener.options.max_connections = LENGTH(clients);
	test_plane_open(plane, PROXY_TCP, 1, 1);
	for (size_t i = 0; i < LENGTH(clients); i++) {
		clients[i] = test_connect(plane->port);
		assert_true(test_receive_all(clients[i], &letter, 1));
	}
	assert_int_equal(test_ask(plane->port), 0);
	assert_int_equal(test_web_counters(plane).refused, 1);
	close(clients[0]);
	TEST_WAIT_UNTIL(test_web_counters(plane).active == 2);
	assert_true(test_ask(plane->port) != 0);
	for (size_t i = 1; i < LENGTH(clients); i++)
		close(clients[i]);
}

/* ---- states ---- */

static void test_apply_again_keeps_everything(void **state)
{
	struct test_plane *plane = *state;
	char letter;
	int client;

	start_backends(plane, test_serve_echo);
	test_plane_open(plane, PROXY_TCP, 9, 1);
	client = test_connect(plane->port);
	assert_true(test_receive_all(client, &letter, 1));
	for (int i = 0; i < 8; i++) {
		test_apply(plane);
		assert_int_equal(test_ask(plane->port), 'A');
	}
	test_apply(plane);
	assert_int_equal(test_ask(plane->port), 'B'); /* the tenth */
	assert_true(test_send_all(client, "x", 1));
	assert_true(test_receive_all(client, &letter, 1));
	close(client);
	assert_int_equal(test_web_counters(plane).connections, 10);
}

/* An address of this process alone, so that no other process takes a port that is free for a
 * moment. */
static union proxy_address own_address(unsigned port)
{
	unsigned number = (unsigned)getpid();
	union proxy_address address = test_loopback(port);

	address.v4.sin_addr.s_addr = htonl(0x7f000000u | (number & 0x3fffff) << 1 | 0x800000u);
	return address;
}

static char ask_address(const union proxy_address *address)
{
	int client = test_connect_address(address);
	char letter = 0;

	assert_true(client >= 0);
	assert_true(test_receive_all(client, &letter, 1));
	close(client);
	return letter;
}

static void test_removed_listener_frees_its_port_and_keeps_connections(void **state)
{
	struct test_plane *plane = *state;
	_arena_ struct arena *arena = arena_new(0);
	const struct proxy_listener_report *web;
	const struct proxy_group_report *canary;
	union proxy_address address;
	char letter;
	int client;

	start_backends(plane, test_serve_echo);
	test_plane_open(plane, PROXY_TCP, 1, 0);
	plane->listener.address = own_address(0);
	test_apply(plane);
	test_plane_report(plane, arena, &web, &canary);
	address = web->address;
	client = test_connect_address(&address);
	assert_true(client >= 0);
	assert_true(test_receive_all(client, &letter, 1));
	/* Another listener uses the same groups, so the targets stay. */
	plane->listener.name = "other";
	test_apply(plane);
	assert_int_equal(test_connect_address(&address), -1);
	assert_true(test_send_all(client, "x", 1));
	assert_true(test_receive_all(client, &letter, 1));
	assert_int_equal(letter, 'x');
	close(client);
	/* Under its new name on the old port. */
	plane->listener.address = address;
	test_apply(plane);
	assert_int_equal(ask_address(&address), 'A');
	/* And back: the socket goes from one to the other. */
	plane->listener.name = "web";
	test_apply(plane);
	assert_int_equal(ask_address(&address), 'A');
}

static void test_bad_states_change_nothing(void **state)
{
	struct test_plane *plane = *state;
	_arena_ struct arena *arena = arena_new(0);
	const struct proxy_listener_report *web;
	const struct proxy_group_report *canary;
	struct proxy_listener listeners[2];
	char bind_text[128], address_text[PROXY_ADDRESS_TEXT_SIZE];
	struct err err = {.message = ""};

	start_backends(plane, test_serve_letter);
	test_plane_open(plane, PROXY_TCP, 1, 0);
	plane->listener.address = own_address(0);
	test_apply(plane);
	test_plane_report(plane, arena, &web, &canary);
	proxy_address_format(&web->address, address_text);
	snprintf(bind_text, sizeof(bind_text), "listener 'taken': bind tcp %s", address_text);
	listeners[0] = listeners[1] = plane->listener;
	listeners[0].address = web->address; /* taken by the one that is there */
	listeners[0].name = "taken";
	plane->state.listeners = listeners;
	plane->state.listener_count = 2;
	plane->routes[0].weight = 0;
	assert_int_equal(proxy_apply(plane->proxy, &plane->state, &err), -EADDRINUSE);
	assert_non_null(strstr(err.message, bind_text));
	assert_int_equal(ask_address(&web->address), 'A');
	listeners[0].protocol = PROXY_HTTP;
	assert_int_equal(proxy_apply(plane->proxy, &plane->state, &err), -ENOTSUP);
	assert_string_equal(err.message, "listener 'taken': nothing here serves http");
	listeners[0].protocol = PROXY_UDP; /* UDP ports are others */
	assert_int_equal(proxy_apply(plane->proxy, &plane->state, &err), 0);
	assert_int_equal(proxy_set_weights(plane->proxy, "missing", plane->routes, 2, &err),
		-ENOENT);
	assert_int_equal(proxy_set_weights(plane->proxy, "web", plane->routes, 1, &err), -EINVAL);
	plane->routes[1].group = "stable";
	assert_int_equal(proxy_set_weights(plane->proxy, "web", plane->routes, 2, &err), -EINVAL);
	assert_string_equal(err.message, "listener 'web': no weight for group 'canary'");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, test_plane_teardown)

static const struct CMUnitTest tests[] = {
	TEST(test_counts_are_exact),
	cmocka_unit_test_setup_teardown(test_counts_are_exact_with_two_workers, setup_two_workers,
		test_plane_teardown),
	TEST(test_open_connections_stay_on_a_weight_change),
	TEST(test_half_close),
	TEST(test_resets_pass_through),
	TEST(test_slow_peer_is_bounded),
	TEST(test_refusing_target_is_retried_in_its_group),
	TEST(test_next_group_only_if_asked_for),
	TEST(test_target_that_does_not_answer_is_given_up),
	TEST(test_draining_target_keeps_connections_until_its_deadline),
	TEST(test_target_that_goes_down_loses_connections),
	TEST(test_targets_take_turns),
	TEST(test_sticky_source),
	TEST(test_proxy_header_goes_first),
	TEST(test_idle_connections_end),
	TEST(test_connections_beyond_the_limit_are_refused),
	TEST(test_apply_again_keeps_everything),
	TEST(test_removed_listener_frees_its_port_and_keeps_connections),
	TEST(test_bad_states_change_nothing),
};

TEST_PLANE_MAIN("proxy/l4 tcp", tests)
