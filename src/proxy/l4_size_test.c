/* The engine at size: shares over ten thousand connections, clients and datagrams, and floods,
 * which must stay within the limits. */
#include "proxy/test_plane.h"

#include <dirent.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/resource.h>

#define CLIENTS 4
#define SESSIONS_MAX 100

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

/* ---- shares ---- */

/* 0.1, 1, 10, 50, 100 and 0 percent, and of how many. */
static const struct share {
	uint32_t stable, canary;
	unsigned connections, clients, datagrams;
} shares[] = {
	{999, 1, 10000, 2000, 4000},
	{99, 1, 10000, 1000, 1000},
	{90, 10, 10000, 3000, 10000},
	{50, 50, 10000, 1000, 1000},
	{0, 100, 3000, 1000, 1000},
	{100, 0, 3000, 1000, 1000},
};

/* The sequence continues at its position, so a window may begin anywhere: one more or less. */
static void check_share(const struct share *share, unsigned count, unsigned canary)
{
	unsigned wanted = count * share->canary / (share->stable + share->canary);
	unsigned error = share->stable > 0 && share->canary > 0;

	if (canary + error < wanted || canary > wanted + error)
		fail_msg("%u:%u: %u of %u", share->stable, share->canary, canary, count);
}

/* ---- TCP ---- */

struct askers {
	unsigned port;
	atomic_int left;
	atomic_uint stable, canary, failed;
};

static void *ask_main(void *context)
{
	struct askers *askers = context;
	const struct linger abrupt = {.l_onoff = 1};

	while (atomic_fetch_sub(&askers->left, 1) > 0) {
		int client = test_connect(askers->port);
		char letter = 0;

		if (client < 0 || recv(client, &letter, 1, 0) != 1)
			letter = 0;
		/* Close with a reset: this many connections in TIME_WAIT would use up the ports. */
		if (client >= 0) {
			setsockopt(client, SOL_SOCKET, SO_LINGER, &abrupt, sizeof(abrupt));
			close(client);
		}
		atomic_fetch_add(letter == 'A'   ? &askers->stable
				 : letter == 'B' ? &askers->canary
						 : &askers->failed,
			1);
	}
	return NULL;
}

static void check_connections(struct test_plane *plane, const struct share *share)
{
	struct askers askers = {.port = plane->port, .left = (int)share->connections};
	pthread_t threads[CLIENTS];

	test_set_weights(plane, share->stable, share->canary);
	for (size_t i = 0; i < CLIENTS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, ask_main, &askers), 0);
	for (size_t i = 0; i < CLIENTS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(atomic_load(&askers.failed), 0);
	check_share(share, share->connections, atomic_load(&askers.canary));
	assert_int_equal(atomic_load(&askers.stable) + atomic_load(&askers.canary),
		share->connections);
}

static void test_connections_are_divided_exactly(void **state)
{
	struct test_plane *plane = *state;
	unsigned connections = 0;

	start_backends(plane, test_serve_quick);
	test_plane_open(plane, PROXY_TCP, 1, 0);
	for (size_t i = 0; i < LENGTH(shares); i++) {
		check_connections(plane, &shares[i]);
		connections += shares[i].connections;
	}
	TEST_WAIT_UNTIL(test_web_counters(plane).active == 0);
	assert_int_equal(test_web_counters(plane).connections, connections);
	assert_int_equal(test_web_counters(plane).failed, 0);
}

/* ---- UDP ---- */

/* Every client has an address of its own, so that none is taken for an earlier one. */
static int open_client(struct test_plane *plane, unsigned number)
{
	union proxy_address address = test_loopback(plane->port), own = test_loopback(0);
	int client = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_true(client >= 0);
	test_set_deadline(client);
	own.v4.sin_addr.s_addr = htonl(0x7f010001u + number);
	assert_int_equal(bind(client, &own.any, sizeof(own.v4)), 0);
	assert_int_equal(connect(client, &address.any, sizeof(address.v4)), 0);
	return client;
}

static char exchange(int client, uint32_t number)
{
	char answer[16];

	assert_int_equal(send(client, &number, sizeof(number), 0), sizeof(number));
	assert_int_equal(recv(client, answer, sizeof(answer), 0), 1 + sizeof(number));
	assert_memory_equal(answer + 1, &number, sizeof(number));
	return answer[0];
}

/* The number of clients that got the canary. */
static unsigned ask_as_clients(struct test_plane *plane, unsigned first, unsigned count)
{
	unsigned canary = 0;

	for (unsigned i = first; i < first + count; i++) {
		int client = open_client(plane, i);
		char side = exchange(client, i);

		canary += side == 'B';
		/* It keeps its target. */
		if (i % 10 == 0)
			assert_int_equal(exchange(client, i), side);
		if (i % 100 == 0)
			assert_true(test_web_counters(plane).active <= SESSIONS_MAX);
		close(client);
	}
	return canary;
}

static void test_clients_are_divided_exactly(void **state)
{
	struct test_plane *plane = *state;
	unsigned clients = 0;

	start_backends(plane, NULL);
	plane->listener.options.udp_sessions_max = SESSIONS_MAX;
	test_plane_open(plane, PROXY_UDP, 1, 0);
	for (size_t i = 0; i < LENGTH(shares); i++) {
		test_set_weights(plane, shares[i].stable, shares[i].canary);
		check_share(&shares[i], shares[i].clients,
			ask_as_clients(plane, clients, shares[i].clients));
		clients += shares[i].clients;
	}
	/* The table is bounded: the sessions that were idle for longest were evicted. */
	assert_int_equal(test_web_counters(plane).active, SESSIONS_MAX);
	assert_int_equal(test_web_counters(plane).connections, clients);
	assert_int_equal(test_web_counters(plane).evictions, clients - SESSIONS_MAX);
	assert_int_equal(test_web_counters(plane).failed, 0);
}

static void test_all_answers_to_one_datagram_arrive(void **state)
{
	struct test_plane *plane = *state;

	start_backends(plane, NULL);
	test_plane_open(plane, PROXY_UDP, 50, 50);
	for (unsigned i = 0; i < 20; i++) {
		int client = open_client(plane, i);
		char answer[8], first = 0;

		assert_int_equal(send(client, "mm", 2, 0), 2);
		for (int k = 0; k < TEST_MANY_ANSWERS; k++) {
			assert_int_equal(recv(client, answer, sizeof(answer), 0), 3);
			assert_memory_equal(answer + 1, "mm", 2);
			assert_true(k == 0 || answer[0] == first);
			first = answer[0];
		}
		close(client);
	}
}

/* All from one client. */
static void test_datagrams_are_divided_exactly(void **state)
{
	struct test_plane *plane = *state;
	unsigned datagrams = 0;
	int client;

	start_backends(plane, NULL);
	plane->listener.options.udp_mode = PROXY_UDP_DATAGRAM;
	test_plane_open(plane, PROXY_UDP, 1, 0);
	client = open_client(plane, 0);
	for (size_t i = 0; i < LENGTH(shares); i++) {
		unsigned canary = 0;

		test_set_weights(plane, shares[i].stable, shares[i].canary);
		for (uint32_t k = 0; k < shares[i].datagrams; k++)
			canary += exchange(client, k) == 'B';
		check_share(&shares[i], shares[i].datagrams, canary);
		datagrams += shares[i].datagrams;
	}
	close(client);
	/* The last response arrives before it is counted. */
	TEST_WAIT_UNTIL(test_web_counters(plane).datagrams_out == datagrams);
	assert_int_equal(test_web_counters(plane).datagrams_in, datagrams);
	assert_int_equal(test_web_counters(plane).failed, 0);
}

/* 12000 datagrams with 50 changes of weights among them; a few dozen are always in flight. Every
 * single one is answered exactly once. */
static void test_weight_edits_under_load_lose_no_datagram(void **state)
{
	struct test_plane *plane = *state;
	enum { EDITS = 50, BETWEEN = 240, TOTAL = EDITS * BETWEEN, WINDOW = 48 };
	static bool seen[TOTAL];
	uint32_t sent = 0, answered = 0, canary = 0, edits = 0, answered_before = 0;
	int client;

	memset(seen, 0, sizeof(seen));
	start_backends(plane, NULL);
	plane->listener.options.udp_mode = PROXY_UDP_DATAGRAM;
	test_plane_open(plane, PROXY_UDP, 90, 10);
	client = open_client(plane, 0);
	while (answered < TOTAL) {
		char answer[16];
		uint32_t number;

		while (sent < TOTAL && sent - answered < WINDOW) {
			if (sent % BETWEEN == 0) {
				/* Both weights were in use, and some are in flight right now. */
				assert_true(edits == 0 ||
					    answered - answered_before >= BETWEEN - WINDOW);
				assert_true(edits == 0 || sent > answered);
				answered_before = answered;
				test_set_weights(plane, edits % 2 ? 90 : 10, edits % 2 ? 10 : 90);
				edits++;
			}
			assert_int_equal(send(client, &sent, sizeof(sent), 0), sizeof(sent));
			sent++;
		}
		assert_int_equal(recv(client, answer, sizeof(answer), 0), 1 + sizeof(number));
		memcpy(&number, answer + 1, sizeof(number));
		assert_true(number < TOTAL && !seen[number]);
		seen[number] = true;
		answered++;
		canary += answer[0] == 'B';
	}
	assert_int_equal(edits, EDITS);
	for (uint32_t i = 0; i < TOTAL; i++)
		assert_true(seen[i]);
	TEST_WAIT_UNTIL(test_web_counters(plane).datagrams_out == TOTAL);
	assert_int_equal(test_web_counters(plane).datagrams_in, TOTAL);
	assert_int_equal(test_web_counters(plane).failed, 0);
	/* Half of the time a tenth, half of the time nine. Those in flight at a change may be of
	 * either. */
	assert_in_range(canary, TOTAL / 2 - EDITS * WINDOW, TOTAL / 2 + EDITS * WINDOW);
	close(client);
}

/* ---- floods ---- */

static unsigned count_descriptors(pid_t pid)
{
	char path[64];
	DIR *folder;
	unsigned count = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	folder = opendir(path);
	assert_non_null(folder);
	while (readdir(folder))
		count++;
	closedir(folder);
	return count - 2; /* "." and ".." */
}

static size_t resident_kilobytes(pid_t pid)
{
	char path[64], line[256];
	size_t kilobytes = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		if (strncmp(line, "VmRSS:", 6) == 0)
			kilobytes = strtoul(line + 6, NULL, 10);
	}
	fclose(file);
	return kilobytes;
}

static int connect_silently(unsigned port)
{
	union proxy_address address = test_loopback(port);
	int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_true(client >= 0);
	if (connect(client, &address.any, sizeof(address.v4)) < 0)
		assert_int_equal(errno, EINPROGRESS);
	return client;
}

static void test_flood_beyond_the_limit_is_refused(void **state)
{
	struct test_plane *plane = *state;
	enum { MOST = 100, FLOOD = 400, ROUNDS = 5 };
	int clients[FLOOD];
	pid_t workers[L4_WORKERS_MAX];
	unsigned descriptors;
	size_t before;

	start_backends(plane, test_serve_letter);
	plane->listener.options.max_connections = MOST;
	test_plane_open(plane, PROXY_TCP, 1, 0);
	assert_int_equal(test_ask(plane->port), 'A');
	TEST_WAIT_UNTIL(test_web_counters(plane).active == 0);
	assert_int_equal(l4_workers(plane->driver, workers), 1);
	descriptors = count_descriptors(workers[0]);
	before = resident_kilobytes(workers[0]);
	for (unsigned round = 1; round <= ROUNDS; round++) {
		for (size_t i = 0; i < FLOOD; i++)
			clients[i] = connect_silently(plane->port);
		TEST_WAIT_UNTIL(test_web_counters(plane).refused ==
				(uint64_t)(FLOOD - MOST) * round);
		assert_int_equal(test_web_counters(plane).active, MOST);
		assert_true(count_descriptors(workers[0]) <= descriptors + 2 * MOST + 8);
		for (size_t i = 0; i < FLOOD; i++)
			close(clients[i]);
		TEST_WAIT_UNTIL(test_web_counters(plane).active == 0);
	}
	assert_int_equal(test_ask(plane->port), 'A');
	TEST_WAIT_UNTIL(count_descriptors(workers[0]) == descriptors);
	assert_true(resident_kilobytes(workers[0]) < before + 4096);
}

/* Clients that send nothing, with a target that sends nothing either. */
static void serve_nothing(struct test_backend *backend, int descriptor)
{
	char rest[256];

	(void)backend;
	while (recv(descriptor, rest, sizeof(rest), 0) > 0)
		;
}

/* As many bytes as there is room for. */
static void serve_endlessly(struct test_backend *backend, int descriptor)
{
	static const char data[65536];

	(void)backend;
	while (send(descriptor, data, sizeof(data), MSG_NOSIGNAL) > 0)
		;
}

static void check_silent_clients(struct test_plane *plane, test_serve serve)
{
	enum { FLOOD = 60 };
	static char rest[1 << 20];
	int clients[FLOOD];

	start_backends(plane, serve);
	plane->listener.options.idle_timeout_ms = 200;
	test_plane_open(plane, PROXY_TCP, 1, 0);
	for (size_t i = 0; i < FLOOD; i++)
		clients[i] = connect_silently(plane->port);
	/* They do not read either. */
	TEST_WAIT_UNTIL(test_web_counters(plane).idle_ends == FLOOD);
	TEST_WAIT_UNTIL(test_web_counters(plane).active == 0);
	for (size_t i = 0; i < FLOOD; i++) {
		struct pollfd polled = {.fd = clients[i], .events = POLLIN};

		assert_int_equal(poll(&polled, 1, TEST_DEADLINE_S * 1000), 1);
		while (recv(clients[i], rest, sizeof(rest), MSG_DONTWAIT) > 0)
			;
		assert_true(errno == ECONNRESET || errno == EAGAIN);
		close(clients[i]);
	}
}

static void test_silent_clients_are_ended(void **state)
{
	check_silent_clients(*state, serve_nothing);
}

static void test_clients_that_do_not_read_are_ended(void **state)
{
	check_silent_clients(*state, serve_endlessly);
}

/* A worker with few descriptors leaves connections in the backlog until others end; none is
 * refused. */
static void test_worker_without_descriptors_waits(void **state)
{
	char program[512] = {0};
	const char *const command[] = {
		"/bin/sh", "-c", "ulimit -n 120 && exec \"$0\" proxy-worker", program, NULL};
	struct l4_options options = {.workers = 1, .worker_command = command};
	struct test_plane *plane = memory_allocate(sizeof(*plane));
	enum { FLOOD = 120 };
	int clients[FLOOD];
	pid_t workers[L4_WORKERS_MAX];
	unsigned answered = 0;

	(void)state;
	assert_true(readlink("/proc/self/exe", program, sizeof(program) - 1) > 0);
	plane->runner = runner_threads_new(clock_system(), random_system());
	assert_int_equal(l4_new(plane->runner, &options, &plane->driver, NULL), 0);
	assert_int_equal(proxy_new(&plane->driver, 1, &plane->proxy, NULL), 0);
	start_backends(plane, test_serve_letter);
	test_plane_open(plane, PROXY_TCP, 1, 0);
	for (size_t i = 0; i < FLOOD; i++)
		clients[i] = connect_silently(plane->port);
	/* 60 of the 120 files are for connections, two for each. */
	TEST_WAIT_UNTIL(test_web_counters(plane).active == 30);
	assert_int_equal(l4_workers(plane->driver, workers), 1);
	assert_true(count_descriptors(workers[0]) <= 120);
	for (size_t i = 0; i < FLOOD; i++) {
		struct pollfd polled = {.fd = clients[i], .events = POLLIN};
		char letter = 0;

		assert_int_equal(poll(&polled, 1, TEST_DEADLINE_S * 1000), 1);
		answered += recv(clients[i], &letter, 1, 0) == 1 && letter == 'A';
		close(clients[i]);
	}
	assert_int_equal(answered, FLOOD);
	assert_int_equal(test_web_counters(plane).failed, 0);
	assert_int_equal(test_web_counters(plane).refused, 0);
	{
		void *rest = plane;

		test_plane_teardown(&rest);
	}
}

/* ---- workers exist only with listeners ---- */

static void test_workers_come_and_go_with_listeners(void **state)
{
	struct test_plane *plane = *state;
	pid_t first[L4_WORKERS_MAX], second[L4_WORKERS_MAX];
	ssize_t received;
	int client;
	char letter;

	start_backends(plane, test_serve_echo);
	assert_int_equal(l4_workers(plane->driver, first), 0);
	assert_int_equal(l4_upgrade(plane->driver, NULL), 0);
	test_plane_open(plane, PROXY_TCP, 1, 0);
	assert_int_equal(l4_workers(plane->driver, first), 2);
	client = test_connect(plane->port);
	assert_true(test_receive_all(client, &letter, 1));
	/* A group that no listener uses keeps its connections, in workers that accept nothing... */
	plane->state.listener_count = 0;
	test_apply(plane);
	assert_int_equal(l4_workers(plane->driver, second), 0);
	assert_true(test_send_all(client, "z", 1));
	assert_true(test_receive_all(client, &letter, 1));
	assert_int_equal(letter, 'z');
	/* ...until it is gone, too. */
	plane->state.group_count = 0;
	test_apply(plane);
	received = recv(client, &letter, 1, 0);
	assert_true(received == 0 || (received < 0 && errno == ECONNRESET));
	close(client);
	plane->state.group_count = 2;
	plane->state.listener_count = 1;
	test_plane_open(plane, PROXY_TCP, 0, 1);
	assert_int_equal(l4_workers(plane->driver, second), 2);
	assert_int_equal(test_ask(plane->port), 'B');
	for (size_t i = 0; i < 2; i++)
		TEST_WAIT_UNTIL(kill(first[i], 0) < 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, test_plane_teardown)
#define TEST_TWO(function)                                                                         \
	cmocka_unit_test_setup_teardown(function, setup_two_workers, test_plane_teardown)

static const struct CMUnitTest tests[] = {
	TEST_TWO(test_connections_are_divided_exactly),
	TEST(test_clients_are_divided_exactly),
	TEST(test_all_answers_to_one_datagram_arrive),
	TEST(test_datagrams_are_divided_exactly),
	TEST(test_weight_edits_under_load_lose_no_datagram),
	TEST(test_flood_beyond_the_limit_is_refused),
	TEST(test_silent_clients_are_ended),
	TEST(test_clients_that_do_not_read_are_ended),
	cmocka_unit_test(test_worker_without_descriptors_waits),
	TEST_TWO(test_workers_come_and_go_with_listeners),
};

int main(int argc, char **argv)
{
	struct rlimit limit;

	if (argc == 2 && strcmp(argv[1], "proxy-worker") == 0)
		return proxy_worker_main(argc, argv);
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	return cmocka_run_group_tests_name("proxy/l4 at size", tests, NULL, NULL);
}
