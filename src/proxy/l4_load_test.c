/* Under load: changing weights, workers that are killed or replaced, a supervisor that is gone. */
#include "proxy/test_plane.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>

extern char **environ;

#define CLIENTS 4
#define LONG_LIVED 50

static int setup(void **state)
{
	return test_plane_setup(state, 1);
}

static int setup_two_workers(void **state)
{
	return test_plane_setup(state, 2);
}

struct load {
	struct test_plane *plane;
	atomic_bool stop;
	atomic_uint answered, failed;
	pthread_t threads[CLIENTS];
};

static void *load_main(void *context)
{
	struct load *load = context;

	while (!atomic_load(&load->stop)) {
		char letter = test_ask(load->plane->port);

		atomic_fetch_add(letter == 'A' || letter == 'B' ? &load->answered : &load->failed,
			1);
	}
	return NULL;
}

static void load_start(struct load *load, struct test_plane *plane)
{
	memset(load, 0, sizeof(*load));
	load->plane = plane;
	for (size_t i = 0; i < CLIENTS; i++)
		assert_int_equal(pthread_create(&load->threads[i], NULL, load_main, load), 0);
}

static void load_stop(struct load *load)
{
	atomic_store(&load->stop, true);
	for (size_t i = 0; i < CLIENTS; i++)
		pthread_join(load->threads[i], NULL);
}

static void wait_for_more(struct load *load, unsigned more)
{
	unsigned before = atomic_load(&load->answered);

	TEST_WAIT_UNTIL(atomic_load(&load->answered) - before >= more);
}

static void start_backends(struct test_plane *plane)
{
	test_backend_start(&plane->backends[0], 'A', test_serve_echo);
	test_backend_start(&plane->backends[1], 'B', test_serve_echo);
}

static void open_long_lived(struct test_plane *plane, int clients[LONG_LIVED])
{
	for (size_t i = 0; i < LONG_LIVED; i++) {
		char letter;

		clients[i] = test_connect(plane->port);
		assert_true(clients[i] >= 0);
		assert_true(test_receive_all(clients[i], &letter, 1));
	}
}

static void check_long_lived(const int clients[LONG_LIVED])
{
	for (size_t i = 0; i < LONG_LIVED; i++) {
		char letter = 0;

		assert_true(test_send_all(clients[i], "z", 1));
		assert_true(test_receive_all(clients[i], &letter, 1));
		assert_int_equal(letter, 'z');
	}
}

static void close_long_lived(const int clients[LONG_LIVED])
{
	for (size_t i = 0; i < LONG_LIVED; i++)
		close(clients[i]);
}

static void test_weight_edits_lose_nothing(void **state)
{
	struct test_plane *plane = *state;
	pid_t before[L4_WORKERS_MAX], after[L4_WORKERS_MAX];
	int clients[LONG_LIVED];
	struct load load;

	start_backends(plane);
	test_plane_open(plane, PROXY_TCP, 90, 10);
	open_long_lived(plane, clients);
	assert_int_equal(l4_workers(plane->driver, before), 1);
	load_start(&load, plane);
	for (uint32_t i = 0; i < 50; i++) {
		test_set_weights(plane, 100 - i, i);
		if (i % 10 == 0)
			test_apply(plane);
		wait_for_more(&load, 5);
	}
	load_stop(&load);
	assert_int_equal(atomic_load(&load.failed), 0);
	check_long_lived(clients);
	close_long_lived(clients);
	assert_int_equal(test_web_counters(plane).resets, 0);
	/* The same process has done it all. */
	assert_int_equal(l4_workers(plane->driver, after), 1);
	assert_int_equal(after[0], before[0]);
}

static void test_killed_worker_loses_only_what_is_in_flight(void **state)
{
	struct test_plane *plane = *state;
	enum { KILLS = 20, KILL_PAUSE_MS = 110 };
	struct load load;

	start_backends(plane);
	test_plane_open(plane, PROXY_TCP, 90, 10);
	load_start(&load, plane);
	for (unsigned i = 0; i < KILLS; i++) {
		pid_t workers[L4_WORKERS_MAX];

		int64_t began = test_now_ms();

		wait_for_more(&load, 20);
		/* A worker that dies soon after each start is replaced with a growing delay. */
		TEST_WAIT_UNTIL(test_now_ms() - began > KILL_PAUSE_MS);
		TEST_WAIT_UNTIL(l4_workers(plane->driver, workers) == 1);
		kill(workers[0], SIGKILL);
	}
	wait_for_more(&load, 20);
	load_stop(&load);
	/* Each client has one connection at a time. */
	assert_true(atomic_load(&load.failed) <= KILLS * CLIENTS);
	TEST_WAIT_UNTIL(test_web_counters(plane).active == 0);
	/* The weights are unchanged. */
	for (int i = 0, canary = 0; i < 100; i++) {
		canary += test_ask(plane->port) == 'B';
		if (i == 99)
			assert_int_equal(canary, 10);
	}
}

static void test_new_worker_goes_on_in_the_sequence(void **state)
{
	struct test_plane *plane = *state;
	pid_t workers[L4_WORKERS_MAX];
	unsigned canary = 0;

	start_backends(plane);
	test_plane_open(plane, PROXY_TCP, 99, 1);
	for (unsigned i = 0; i < 200; i++) {
		if (i % 40 == 20) {
			/* Everything is answered, so no number is lost with the worker. */
			assert_int_equal(l4_workers(plane->driver, workers), 1);
			kill(workers[0], SIGKILL);
			TEST_WAIT_UNTIL(kill(workers[0], 0) < 0);
		}
		canary += test_ask(plane->port) == 'B';
	}
	assert_int_equal(canary, 2);
}

static void test_upgrade_loses_nothing(void **state)
{
	struct test_plane *plane = *state;
	pid_t before[L4_WORKERS_MAX], after[L4_WORKERS_MAX];
	int clients[LONG_LIVED];
	struct load load;
	struct err err = {.message = ""};
	size_t count;

	start_backends(plane);
	test_plane_open(plane, PROXY_TCP, 50, 50);
	open_long_lived(plane, clients);
	count = l4_workers(plane->driver, before);
	load_start(&load, plane);
	wait_for_more(&load, 20);
	if (l4_upgrade(plane->driver, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(l4_workers(plane->driver, after), count);
	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < count; k++)
			assert_int_not_equal(before[i], after[k]);
	}
	wait_for_more(&load, 50);
	load_stop(&load);
	assert_int_equal(atomic_load(&load.failed), 0);
	/* The old worker still has them, and exits with them. */
	check_long_lived(clients);
	close_long_lived(clients);
	for (size_t i = 0; i < count; i++)
		TEST_WAIT_UNTIL(kill(before[i], 0) < 0);
	TEST_WAIT_UNTIL(test_web_counters(plane).active == 0);
}

/* ---- datagrams ---- */

static int open_datagram_client(struct test_plane *plane)
{
	union proxy_address address = test_loopback(plane->port);
	int client = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	test_set_deadline(client);
	assert_int_equal(connect(client, &address.any, sizeof(address.v4)), 0);
	return client;
}

static char exchange(int client)
{
	char answer[8] = {0};

	assert_int_equal(send(client, "u", 1, 0), 1);
	assert_int_equal(recv(client, answer, sizeof(answer), 0), 2);
	return answer[0];
}

static void test_udp_clients_stay_when_workers_go(void **state)
{
	struct test_plane *plane = *state;
	pid_t workers[L4_WORKERS_MAX];
	struct err err = {.message = ""};
	int clients[LONG_LIVED];
	char sides[LONG_LIVED];

	test_backend_start(&plane->backends[0], 'A', NULL);
	test_backend_start(&plane->backends[1], 'B', NULL);
	test_plane_open(plane, PROXY_UDP, 50, 50);
	for (size_t i = 0; i < LONG_LIVED; i++) {
		clients[i] = open_datagram_client(plane);
		sides[i] = exchange(clients[i]);
	}
	test_set_weights(plane, 100, 0);
	if (l4_upgrade(plane->driver, &err) < 0)
		fail_msg("%s", err.message);
	for (size_t i = 0; i < LONG_LIVED; i++)
		assert_int_equal(exchange(clients[i]), sides[i]);
	assert_int_equal(l4_workers(plane->driver, workers), 1);
	kill(workers[0], SIGKILL);
	/* Until it has exited it may still take one, which is lost with it. */
	TEST_WAIT_UNTIL(kill(workers[0], 0) < 0);
	/* Nothing is lost: datagrams wait in the socket that the supervisor holds. */
	for (size_t i = 0; i < LONG_LIVED; i++)
		assert_int_equal(exchange(clients[i]), sides[i]);
	close_long_lived(clients);
}

#define MANY_CLIENTS 900 /* so many that some share an entry of the table of clients */

static void test_many_udp_clients_stay_when_workers_go(void **state)
{
	struct test_plane *plane = *state;
	struct err err = {.message = ""};
	int clients[MANY_CLIENTS];
	char sides[MANY_CLIENTS];

	test_backend_start(&plane->backends[0], 'A', NULL);
	test_backend_start(&plane->backends[1], 'B', NULL);
	test_plane_open(plane, PROXY_UDP, 50, 50);
	for (size_t i = 0; i < MANY_CLIENTS; i++) {
		clients[i] = open_datagram_client(plane);
		sides[i] = exchange(clients[i]);
	}
	test_set_weights(plane, 100, 0);
	if (l4_upgrade(plane->driver, &err) < 0)
		fail_msg("%s", err.message);
	for (size_t i = 0; i < MANY_CLIENTS; i++)
		assert_int_equal(exchange(clients[i]), sides[i]);
	for (size_t i = 0; i < MANY_CLIENTS; i++)
		close(clients[i]);
}

#define UNDER_WAY 16

/* A client whose datagrams have numbers. They keep their order, so one that was overtaken by a later one's
 * answer is lost. */
struct numbers {
	int client;
	uint32_t sent, answered, lost;
	uint32_t oldest; /* that may still be answered */
	uint32_t more;   /* that were sent because nothing came */
};

static void numbers_send(struct numbers *numbers)
{
	uint32_t number = numbers->sent++;

	assert_int_equal(send(numbers->client, &number, sizeof(number), 0), sizeof(number));
}

/* Sends as many as the window allows, and takes the response to one of them. When all were lost
 * none arrives: one more is sent then, which finds that out. */
static void numbers_step(struct numbers *numbers)
{
	enum { PATIENCE_MS = 200 };
	struct pollfd polled = {.fd = numbers->client, .events = POLLIN};
	char answer[8];
	uint32_t number;

	while (numbers->sent - numbers->oldest < UNDER_WAY)
		numbers_send(numbers);
	if (poll(&polled, 1, PATIENCE_MS) == 0) {
		numbers->more++;
		numbers_send(numbers);
		return;
	}
	assert_int_equal(recv(numbers->client, answer, sizeof(answer), 0), 1 + sizeof(number));
	memcpy(&number, answer + 1, sizeof(number));
	assert_true(number >= numbers->oldest && number < numbers->sent);
	numbers->lost += number - numbers->oldest;
	numbers->oldest = number + 1;
	numbers->answered++;
}

static void numbers_answer(struct numbers *numbers, uint32_t more)
{
	uint32_t goal = numbers->answered + more;
	int64_t end = test_now_ms() + TEST_DEADLINE_S * 1000;

	while (numbers->answered < goal) {
		assert_true(test_now_ms() < end);
		numbers_step(numbers);
	}
}

static void test_killed_worker_loses_only_datagrams_in_flight(void **state)
{
	struct test_plane *plane = *state;
	enum { KILLS = 20, KILL_PAUSE_MS = 110 };
	struct numbers numbers = {0};

	test_backend_start(&plane->backends[0], 'A', NULL);
	test_backend_start(&plane->backends[1], 'B', NULL);
	test_plane_open(plane, PROXY_UDP, 50, 50);
	numbers.client = open_datagram_client(plane);
	for (unsigned i = 0; i < KILLS; i++) {
		pid_t workers[L4_WORKERS_MAX];
		int64_t began = test_now_ms();

		/* A worker that dies soon after each start is replaced with a growing delay. */
		while (test_now_ms() - began <= KILL_PAUSE_MS)
			numbers_answer(&numbers, 20);
		TEST_WAIT_UNTIL(l4_workers(plane->driver, workers) == 1);
		kill(workers[0], SIGKILL);
	}
	numbers_answer(&numbers, 100);
	assert_true(numbers.lost <= KILLS * UNDER_WAY + numbers.more);
	close(numbers.client);
}

/* ---- without a supervisor ---- */

/* This program once more, with a plane of its own: it writes the port to standard output and is
 * killed. Its worker inherits the output. */
static int other_server_main(const char *backend_port)
{
	struct test_plane plane = {0};
	struct l4_options options = {.workers = 1};

	plane.runner = runner_threads_new(clock_system(), random_system());
	plane.backends[0].port = plane.backends[1].port = (unsigned)atoi(backend_port);
	if (l4_new(plane.runner, &options, &plane.driver, NULL) < 0 ||
		proxy_new(&plane.driver, 1, &plane.proxy, NULL) < 0)
		return 1;
	test_plane_open(&plane, PROXY_TCP, 1, 0);
	if (write(STDOUT_FILENO, &plane.port, sizeof(plane.port)) != sizeof(plane.port))
		return 1;
	for (;;)
		pause();
}

static pid_t start_other_server(unsigned backend_port, int output)
{
	char port[16];
	char *arguments[] = {"other-server", "other-server", port, NULL};
	posix_spawn_file_actions_t actions;
	pid_t pid;

	snprintf(port, sizeof(port), "%u", backend_port);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
	assert_int_equal(posix_spawn(&pid, "/proc/self/exe", &actions, NULL, arguments, environ),
		0);
	posix_spawn_file_actions_destroy(&actions);
	return pid;
}

static void test_worker_outlives_its_supervisor_for_what_is_open(void **state)
{
	struct test_plane *plane = *state;
	int reported[2];
	unsigned port = 0;
	pid_t server;
	char letter;
	int client;

	start_backends(plane);
	assert_int_equal(pipe2(reported, O_CLOEXEC), 0);
	server = start_other_server(plane->backends[0].port, reported[1]);
	close(reported[1]);
	assert_int_equal(read(reported[0], &port, sizeof(port)), sizeof(port));
	client = test_connect(port);
	assert_true(test_receive_all(client, &letter, 1));
	kill(server, SIGKILL);
	assert_int_equal(waitpid(server, NULL, 0), server);
	/* The port is free soon, open connections continue, and no process is left at the end. */
	TEST_WAIT_UNTIL(({
		int other = test_connect(port);

		if (other >= 0)
			close(other);
		other < 0;
	}));
	assert_true(test_send_all(client, "x", 1));
	assert_true(test_receive_all(client, &letter, 1));
	assert_int_equal(letter, 'x');
	close(client);
	/* The worker has the pipe's end as long as it lives. */
	assert_int_equal(read(reported[0], &letter, 1), 0);
	close(reported[0]);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, test_plane_teardown)

static const struct CMUnitTest tests[] = {
	TEST(test_weight_edits_lose_nothing),
	cmocka_unit_test_setup_teardown(test_upgrade_loses_nothing, setup_two_workers,
		test_plane_teardown),
	TEST(test_killed_worker_loses_only_what_is_in_flight),
	TEST(test_new_worker_goes_on_in_the_sequence),
	TEST(test_udp_clients_stay_when_workers_go),
	TEST(test_many_udp_clients_stay_when_workers_go),
	TEST(test_killed_worker_loses_only_datagrams_in_flight),
	TEST(test_worker_outlives_its_supervisor_for_what_is_open),
};

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "proxy-worker") == 0)
		return proxy_worker_main(argc, argv);
	if (argc == 3 && strcmp(argv[1], "other-server") == 0)
		return other_server_main(argv[2]);
	return cmocka_run_group_tests_name("proxy/l4 load", tests, NULL, NULL);
}
