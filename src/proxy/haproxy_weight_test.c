/* HTTP: requests are divided exactly, and weights move under load without a loss. */
#include "proxy/test_http.h"

#define THREADS 4
#define CONNECTIONS 16 /* of each */

/* ---- load ---- */

/* Threads that ask in turn on connections that they keep. */
struct load {
	unsigned port;
	unsigned each; /* requests of each thread; 0: until stop */
	atomic_bool stop;
	atomic_uint answered, by_b, failed, closed;
	pthread_t threads[THREADS];
};

static void *load_main(void *context)
{
	struct load *load = context;
	struct http_answer *answer = memory_allocate(sizeof(*answer));
	int clients[CONNECTIONS];

	for (size_t i = 0; i < CONNECTIONS; i++)
		clients[i] = test_connect(load->port);
	for (unsigned i = 0; load->each ? i < load->each : !atomic_load(&load->stop); i++) {
		http_ask(clients[i % CONNECTIONS], "GET", "/", "", answer);
		atomic_fetch_add(answer->status == 200 ? &load->answered : &load->failed, 1);
		atomic_fetch_add(&load->by_b, answer->letter == 'B');
		atomic_fetch_add(&load->closed, answer->status == 0 || answer->closes);
	}
	for (size_t i = 0; i < CONNECTIONS; i++)
		close(clients[i]);
	free(answer);
	return NULL;
}

static void load_start(struct load *load, unsigned port, unsigned each)
{
	memset(load, 0, sizeof(*load));
	load->port = port;
	load->each = each;
	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&load->threads[i], NULL, load_main, load), 0);
}

static void load_stop(struct load *load)
{
	atomic_store(&load->stop, true);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(load->threads[i], NULL);
	assert_int_equal(atomic_load(&load->failed), 0);
	assert_int_equal(atomic_load(&load->closed), 0);
}

static void wait_for_more(struct load *load, unsigned more)
{
	unsigned before = atomic_load(&load->answered);

	TEST_WAIT_UNTIL(atomic_load(&load->answered) - before >= more);
}

/* ---- tests ---- */

static int setup_eight_threads(void **state)
{
	struct haproxy_options options = {.threads = 8, .spare_groups = 8};

	return http_setup_with(state, &options);
}

/* 0.1, 1, 10, 50, 100 and 0 percent, and an odd number, over 64 connections. */
static void test_shares_are_exact(void **state)
{
	static const struct {
		uint32_t stable, canary;
		unsigned requested;
	} rows[] = {
		{999, 1, 10000},
		{99, 1, 10000},
		{9, 1, 2000},
		{50, 50, 2000},
		{0, 100, 1000},
		{100, 0, 1000},
		{700, 999, 2000},
	};
	struct test_plane *plane = *state;

	http_start_backends(plane, 2);
	assert_int_equal(haproxy_process(plane->driver), 0);
	test_plane_open(plane, PROXY_HTTP, 1, 1);
	for (size_t i = 0; i < LENGTH(rows); i++) {
		double sum = rows[i].stable + rows[i].canary;
		struct load load;
		double error;

		test_set_weights(plane, rows[i].stable, rows[i].canary);
		load_start(&load, plane->port, rows[i].requested / THREADS);
		load_stop(&load);
		assert_int_equal(atomic_load(&load.answered), rows[i].requested);
		error = atomic_load(&load.by_b) - rows[i].requested * rows[i].canary / sum;
		if (error <= -1 || error >= 1)
			fail_msg("%u:%u: %u of %u", rows[i].stable, rows[i].canary,
				atomic_load(&load.by_b), rows[i].requested);
	}
}

/* Every run of requests, not only all of them. */
static void test_every_window_is_exact(void **state)
{
	struct test_plane *plane = *state;
	int64_t drift = 0, least = 0, most = 0;
	int client;

	http_start_backends(plane, 2);
	test_plane_open(plane, PROXY_HTTP, 61, 39);
	client = test_connect(plane->port);
	for (int i = 0; i < 500; i++) {
		char letter = http_get(client, "/");

		assert_true(letter == 'A' || letter == 'B');
		drift += (letter == 'B' ? 100 : 0) - 39;
		least = drift < least ? drift : least;
		most = drift > most ? drift : most;
		assert_true(most - least < 100);
	}
	close(client);
}

static void test_three_groups(void **state)
{
	static const uint32_t weights[] = {999, 500, 2};
	struct test_plane *plane = *state;
	struct proxy_target targets[3];
	struct proxy_group groups[3];
	struct proxy_route routes[3];
	unsigned counts[3] = {0};
	int client;

	http_start_backends(plane, 3);
	test_plane_open(plane, PROXY_HTTP, 1, 1);
	memset(targets, 0, sizeof(targets));
	memset(groups, 0, sizeof(groups));
	for (size_t i = 0; i < 3; i++) {
		static const char *const names[] = {"stable", "canary", "third"};

		targets[i].address = test_loopback(plane->backends[i].port);
		groups[i].name = routes[i].group = names[i];
		groups[i].targets = &targets[i];
		groups[i].target_count = 1;
		routes[i].weight = weights[i];
	}
	plane->state.groups = groups;
	plane->state.group_count = 3;
	plane->listener.routes = routes;
	plane->listener.route_count = 3;
	test_apply(plane);
	client = test_connect(plane->port);
	for (unsigned requested = 1; requested <= 1501; requested++) {
		char letter = http_get(client, "/");

		assert_true(letter >= 'A' && letter <= 'C');
		counts[letter - 'A']++;
		for (size_t i = 0; i < 3; i++) {
			double error = counts[i] - requested * (weights[i] / 1501.0);

			assert_true(error > -2 && error < 2);
		}
	}
	assert_int_equal(counts[0], 999);
	assert_int_equal(counts[1], 500);
	assert_int_equal(counts[2], 2);
	close(client);
}

static void test_fifty_changes_lose_nothing(void **state)
{
	struct test_plane *plane = *state;
	struct load load;
	pid_t process;

	http_start_backends(plane, 2);
	test_plane_open(plane, PROXY_HTTP, 90, 10);
	process = haproxy_process(plane->driver);
	load_start(&load, plane->port, 0);
	for (uint32_t i = 0; i < 50; i++) {
		if (i % 2)
			test_set_weights(plane, 100 - i, i);
		plane->routes[0].weight = 3 * i;
		if (i % 2 == 0)
			test_apply(plane);
		wait_for_more(&load, 10);
	}
	load_stop(&load);
	assert_int_equal(haproxy_process(plane->driver), process);
}

static void test_a_change_is_in_force_when_it_returns(void **state)
{
	struct test_plane *plane = *state;
	int clients[8];
	struct load load;

	http_start_backends(plane, 2);
	test_plane_open(plane, PROXY_HTTP, 100, 0);
	for (size_t i = 0; i < LENGTH(clients); i++)
		clients[i] = test_connect(plane->port);
	load_start(&load, plane->port, 0);
	for (unsigned turn = 0; turn < 20; turn++) {
		char wanted = turn % 2 ? 'A' : 'B';

		test_set_weights(plane, wanted == 'A' ? 100 : 0, wanted == 'B' ? 7 : 0);
		for (size_t i = 0; i < LENGTH(clients); i++)
			assert_int_equal(http_get(clients[i], "/"), wanted);
	}
	load_stop(&load);
	for (size_t i = 0; i < LENGTH(clients); i++)
		close(clients[i]);
}

/* A share of 1 in 100 comes up once in 100 also if the weights change every 40. */
static void test_changes_do_not_starve_a_small_share(void **state)
{
	struct test_plane *plane = *state;
	unsigned counts[2] = {0};
	int client;

	http_start_backends(plane, 2);
	test_plane_open(plane, PROXY_HTTP, 99, 1);
	client = test_connect(plane->port);
	for (unsigned turn = 0; turn < 25; turn++) {
		for (unsigned i = 0; i < 40; i++)
			counts[http_get(client, "/") == 'B']++;
		test_set_weights(plane, turn % 2 ? 99 : 198, turn % 2 ? 1 : 2);
	}
	assert_true(counts[1] >= 9 && counts[1] <= 11);
	close(client);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_shares_are_exact, setup_eight_threads,
			http_teardown),
		cmocka_unit_test_setup_teardown(test_every_window_is_exact, http_setup,
			http_teardown),
		cmocka_unit_test_setup_teardown(test_three_groups, http_setup, http_teardown),
		cmocka_unit_test_setup_teardown(test_fifty_changes_lose_nothing, http_setup,
			http_teardown),
		cmocka_unit_test_setup_teardown(test_a_change_is_in_force_when_it_returns,
			http_setup, http_teardown),
		cmocka_unit_test_setup_teardown(test_changes_do_not_starve_a_small_share,
			http_setup, http_teardown),
	};

	return cmocka_run_group_tests_name("proxy/haproxy_weight", tests, NULL, NULL);
}
