/* UDP through the engine: sessions, single datagrams, changing weights, limits. */
#include "proxy/test_plane.h"

static int setup(void **state)
{
	return test_plane_setup(state, 1);
}

static void start_backends(struct test_plane *plane)
{
	test_backend_start(&plane->backends[0], 'A', NULL);
	test_backend_start(&plane->backends[1], 'B', NULL);
}

static int open_client(struct test_plane *plane)
{
	union proxy_address address = test_loopback(plane->port);
	int descriptor = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_true(descriptor >= 0);
	test_set_deadline(descriptor);
	assert_int_equal(connect(descriptor, &address.any, sizeof(address.v4)), 0);
	return descriptor;
}

/* Sends a number and returns the letter of the response to it. The loopback loses nothing while one
 * datagram is in flight at a time, so there is no retry. */
static char exchange(int client, uint32_t number)
{
	char answer[16];

	assert_int_equal(send(client, &number, sizeof(number), 0), sizeof(number));
	assert_int_equal(recv(client, answer, sizeof(answer), 0), 1 + sizeof(number));
	assert_memory_equal(answer + 1, &number, sizeof(number));
	return answer[0];
}

static void test_new_clients_are_divided_exactly(void **state)
{
	struct test_plane *plane = *state;
	unsigned canary = 0;

	start_backends(plane);
	plane->listener.options.udp_sessions_max = 64; /* and the oldest give way */
	test_plane_open(plane, PROXY_UDP, 90, 10);
	for (uint32_t i = 0; i < 1000; i++) {
		int client = open_client(plane);

		canary += exchange(client, i) == 'B';
		close(client);
	}
	/* A source port that is reused soon is the same client. */
	assert_in_range(canary, 95, 105);
	assert_true(test_web_counters(plane).active <= 64);
	assert_true(test_web_counters(plane).evictions > 0);
	/* The last response arrives before it is counted. */
	TEST_WAIT_UNTIL(test_web_counters(plane).datagrams_out == 1000);
	assert_int_equal(test_web_counters(plane).datagrams_in, 1000);
}

static void test_clients_that_live_are_divided_exactly(void **state)
{
	struct test_plane *plane = *state;
	int clients[200];
	char sides[200];
	unsigned canary = 0;

	start_backends(plane);
	test_plane_open(plane, PROXY_UDP, 90, 10);
	for (size_t i = 0; i < LENGTH(clients); i++) {
		clients[i] = open_client(plane);
		sides[i] = exchange(clients[i], (uint32_t)i);
		canary += sides[i] == 'B';
	}
	assert_int_equal(canary, 20);
	/* A client keeps its group, also when weights change. */
	test_set_weights(plane, 0, 100);
	for (size_t i = 0; i < LENGTH(clients); i++)
		assert_int_equal(exchange(clients[i], (uint32_t)i), sides[i]);
	for (size_t i = 0; i < LENGTH(clients); i++)
		close(clients[i]);
	assert_int_equal(test_web_counters(plane).active, LENGTH(clients));
}

static void test_single_datagrams_are_divided_exactly(void **state)
{
	struct test_plane *plane = *state;
	unsigned canary = 0;
	int client;

	start_backends(plane);
	plane->listener.options.udp_mode = PROXY_UDP_DATAGRAM;
	test_plane_open(plane, PROXY_UDP, 90, 10);
	client = open_client(plane);
	for (uint32_t i = 0; i < 2000; i++)
		canary += exchange(client, i) == 'B';
	assert_int_equal(canary, 200);
	assert_int_equal(test_web_counters(plane).active, 2);
	close(client);
}

static void test_weight_edits_lose_no_datagram(void **state)
{
	struct test_plane *plane = *state;
	unsigned canary = 0;
	int client;

	start_backends(plane);
	plane->listener.options.udp_mode = PROXY_UDP_DATAGRAM;
	test_plane_open(plane, PROXY_UDP, 90, 10);
	client = open_client(plane);
	for (uint32_t i = 0; i < 2000; i++) {
		if (i % 40 == 0)
			test_set_weights(plane, i % 80 ? 90 : 10, i % 80 ? 10 : 90);
		canary += exchange(client, i) == 'B';
	}
	assert_in_range(canary, 999, 1001);
	close(client);
}

/* Many datagrams in flight at once: batches, and every response arrives. The window is small enough
 * for every buffer on the way. */
static void test_many_datagrams_at_once(void **state)
{
	struct test_plane *plane = *state;
	enum { WINDOW = 64, ROUNDS = 50 };
	int client;

	start_backends(plane);
	test_plane_open(plane, PROXY_UDP, 1, 1);
	client = open_client(plane);
	for (int round = 0; round < ROUNDS; round++) {
		bool seen[WINDOW] = {false};

		for (uint32_t i = 0; i < WINDOW; i++)
			assert_int_equal(send(client, &i, sizeof(i), 0), sizeof(i));
		for (uint32_t i = 0; i < WINDOW; i++) {
			char answer[16];
			uint32_t number;

			assert_int_equal(recv(client, answer, sizeof(answer), 0), 5);
			memcpy(&number, answer + 1, 4);
			assert_true(number < WINDOW && !seen[number]);
			seen[number] = true;
		}
	}
	close(client);
}

static void test_large_and_empty_datagrams(void **state)
{
	struct test_plane *plane = *state;
	static char data[65000], answer[65536];
	int client;

	start_backends(plane);
	test_plane_open(plane, PROXY_UDP, 1, 0);
	client = open_client(plane);
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (char)(i * 7);
	assert_int_equal(send(client, data, sizeof(data), 0), sizeof(data));
	assert_int_equal(recv(client, answer, sizeof(answer), 0), sizeof(data) + 1);
	assert_memory_equal(answer + 1, data, sizeof(data));
	assert_int_equal(send(client, "", 0, 0), 0);
	assert_int_equal(recv(client, answer, sizeof(answer), 0), 1);
	close(client);
}

static void test_idle_sessions_end(void **state)
{
	struct test_plane *plane = *state;
	int client;

	start_backends(plane);
	/* Longer than a target may take on a busy machine: a later response is lost. */
	plane->listener.options.udp_idle_timeout_ms = 12000;
	test_plane_open(plane, PROXY_UDP, 1, 0);
	client = open_client(plane);
	assert_int_equal(exchange(client, 1), 'A');
	test_set_weights(plane, 0, 1);
	TEST_WAIT_UNTIL(test_web_counters(plane).active == 0);
	assert_int_equal(test_web_counters(plane).idle_ends, 1);
	assert_int_equal(exchange(client, 2), 'B');
	close(client);
}

static void test_target_that_goes_down_gives_its_clients_to_others(void **state)
{
	struct test_plane *plane = *state;
	int client;

	start_backends(plane);
	plane->listener.options.retry_next_group = true;
	test_plane_open(plane, PROXY_UDP, 1, 1);
	client = open_client(plane);
	assert_int_equal(exchange(client, 1), 'A');
	plane->targets[0].state = PROXY_TARGET_DOWN;
	test_apply(plane);
	assert_int_equal(exchange(client, 2), 'B');
	close(client);
}

/* A later listener in the same slot of the shared memory does not know earlier clients. */
static void test_new_listener_does_not_know_clients_of_an_old_one(void **state)
{
	struct test_plane *plane = *state;
	struct proxy_listener other;
	union proxy_address address;
	int client;

	start_backends(plane);
	test_plane_open(plane, PROXY_UDP, 1, 0);
	client = open_client(plane);
	assert_int_equal(exchange(client, 1), 'A');
	/* Its groups stay in use. */
	other = plane->listener;
	other.name = "other";
	plane->state.listeners = &other;
	test_apply(plane);
	for (unsigned i = 2; i < 5; i++) {
		test_plane_open(plane, PROXY_UDP, 0, 1);
		address = test_loopback(plane->port);
		assert_int_equal(connect(client, &address.any, sizeof(address.v4)), 0);
		assert_int_equal(exchange(client, i), 'B');
		plane->state.listeners = &other;
		test_apply(plane);
	}
	close(client);
}

/* A response leaves from the address of the request, also if the listener has many. */
static void test_answers_leave_from_where_they_were_asked(void **state)
{
	struct test_plane *plane = *state;
	union proxy_address requested;
	int client;

	start_backends(plane);
	test_plane_open(plane, PROXY_UDP, 1, 0);
	assert_int_equal(proxy_address_parse("0.0.0.0", 0, &plane->listener.address, NULL), 0);
	test_apply(plane);
	{
		_arena_ struct arena *arena = arena_new(0);
		const struct proxy_listener_report *web;
		const struct proxy_group_report *canary;

		test_plane_report(plane, arena, &web, &canary);
		plane->port = proxy_address_port(&web->address);
	}
	assert_int_equal(proxy_address_parse("127.0.0.77", plane->port, &requested, NULL), 0);
	client = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	test_set_deadline(client);
	/* Connected: the kernel drops answers from any other address. */
	assert_int_equal(connect(client, &requested.any, sizeof(requested.v4)), 0);
	assert_int_equal(exchange(client, 1), 'A');
	close(client);
}

static void test_no_target(void **state)
{
	struct test_plane *plane = *state;
	int client;

	start_backends(plane);
	test_plane_open(plane, PROXY_UDP, 0, 0);
	client = open_client(plane);
	assert_int_equal(send(client, "x", 1, 0), 1);
	TEST_WAIT_UNTIL(test_web_counters(plane).failed == 1);
	test_set_weights(plane, 0, 1);
	assert_int_equal(exchange(client, 1), 'B');
	close(client);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, test_plane_teardown)

static const struct CMUnitTest tests[] = {
	TEST(test_new_clients_are_divided_exactly),
	TEST(test_clients_that_live_are_divided_exactly),
	TEST(test_single_datagrams_are_divided_exactly),
	TEST(test_weight_edits_lose_no_datagram),
	TEST(test_many_datagrams_at_once),
	TEST(test_large_and_empty_datagrams),
	TEST(test_idle_sessions_end),
	TEST(test_target_that_goes_down_gives_its_clients_to_others),
	TEST(test_new_listener_does_not_know_clients_of_an_old_one),
	TEST(test_answers_leave_from_where_they_were_asked),
	TEST(test_no_target),
};

TEST_PLANE_MAIN("proxy/l4 udp", tests)
