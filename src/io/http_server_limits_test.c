/* Limits of the HTTP server and clients that are slow on purpose. */
#include "io/test_http_server.h"

static struct fixture *open_with(struct http_limits limits)
{
	return fixture_open((struct http_server_config){.limits = limits});
}

/* Sends and expects a refusal with that status, and the end. */
static void expect_refusal(struct peer *peer, int status)
{
	_reply_ struct reply reply = {0};

	peer_read(peer, &reply);
	assert_int_equal(reply.status, status);
	assert_true(reply.closes);
	peer_expect_end(peer);
}

static void test_sizes(void **state)
{
	struct fixture *fixture = open_with((struct http_limits){
		.head_max = 500, .target_max = 100, .header_count_max = 3, .body_max = 10});
	static const struct {
		const char *request;
		int status;
	} cases[] = {
		{"POST /echo HTTP/1.1\r\n" TEST_HOST "Content-Length: 11\r\n\r\n", 413},
		{"POST /echo HTTP/1.1\r\n" TEST_HOST "Transfer-Encoding: chunked\r\n\r\nb\r\n",
			413},
		{"GET /hello HTTP/1.1\r\n" TEST_HOST "A:\r\nB:\r\nC:\r\n\r\n", 431},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		_peer_ struct peer peer;

		peer_open(&peer, fixture);
		peer_send(&peer, cases[i].request);
		expect_refusal(&peer, cases[i].status);
	}
	{
		char target[200], value[600];
		_free_ char *long_target = NULL;
		_free_ char *long_head = NULL;
		_peer_ struct peer first;
		_peer_ struct peer second;

		memset(target, 't', sizeof(target));
		memset(value, 'v', sizeof(value));
		long_target = memory_format("GET /%.200s HTTP/1.1\r\n" TEST_HOST "\r\n", target);
		long_head =
			memory_format("GET / HTTP/1.1\r\n" TEST_HOST "X: %.600s\r\n\r\n", value);
		peer_open(&first, fixture);
		peer_send(&first, long_target);
		expect_refusal(&first, 414);
		peer_open(&second, fixture);
		peer_send(&second, long_head);
		expect_refusal(&second, 431);
	}
	{
		_peer_ struct peer peer;

		peer_open(&peer, fixture);
		peer_send(&peer, "POST /echo HTTP/1.1\r\n" TEST_HOST
				 "A:\r\nContent-Length: 10\r\n\r\n0123456789");
		peer_expect(&peer, 200, "0123456789");
	}
	fixture_close(fixture);
}

static void test_connections(void **state)
{
	struct fixture *fixture = open_with((struct http_limits){.connections_max = 2});
	_peer_ struct peer one;
	_peer_ struct peer two;
	_peer_ struct peer three;
	_peer_ struct peer four;

	(void)state;
	peer_open(&one, fixture);
	peer_open(&two, fixture);
	peer_open(&three, fixture);
	expect_refusal(&three, 503);
	assert_int_equal(statistics(fixture).connections_refused, 1);
	peer_send(&one, TEST_GET("/hello"));
	peer_expect(&one, 200, "hello\n");
	peer_close(&one);
	WAIT_FOR(statistics(fixture).connections_open == 1);
	peer_open(&four, fixture);
	peer_send(&four, TEST_GET("/hello"));
	peer_expect(&four, 200, "hello\n");
	peer_send(&two, TEST_GET("/hello"));
	peer_expect(&two, 200, "hello\n");
	fixture_close(fixture);
}

static void test_connections_per_address(void **state)
{
	struct fixture *fixture = fixture_open((struct http_server_config){
		.loops = 2,
		.limit_loopback = true,
		.limits = {.connections_per_address = 2},
	});
	uint16_t port = http_server_port(fixture->server);
	_peer_ struct peer one;
	_peer_ struct peer two;
	_peer_ struct peer three;
	_peer_ struct peer other = {.descriptor = connect_from("127.0.0.2", port)};

	(void)state;
	peer_open(&one, fixture);
	peer_open(&two, fixture);
	peer_open(&three, fixture);
	expect_refusal(&three, 503);
	peer_send(&other, TEST_GET("/info"));
	peer_expect(&other, 200, "GET||test|127.0.0.2|1|0");
	/* Sockets may still be on their way to their loop. */
	WAIT_FOR(statistics(fixture).connections_open == 3);
	peer_close(&one);
	WAIT_FOR(statistics(fixture).connections_open == 2);
	peer_open(&one, fixture);
	peer_send(&one, TEST_GET("/hello"));
	peer_expect(&one, 200, "hello\n");
	fixture_close(fixture);
}

static void test_loopback_is_exempt(void **state)
{
	struct fixture *fixture = open_with((struct http_limits){.connections_per_address = 1});
	struct peer peers[5];

	(void)state;
	for (size_t i = 0; i < LENGTH(peers); i++)
		peer_open(&peers[i], fixture);
	for (size_t i = 0; i < LENGTH(peers); i++) {
		peer_send(&peers[i], TEST_GET("/hello"));
		peer_expect(&peers[i], 200, "hello\n");
		peer_close(&peers[i]);
	}
	fixture_close(fixture);
}

static void test_an_idle_client_is_closed(void **state)
{
	struct fixture *fixture = open_with((struct http_limits){.idle_ms = 50});
	_peer_ struct peer silent;

	(void)state;
	peer_open(&silent, fixture);
	peer_expect_end(&silent);
	fixture_close(fixture);
}

/* Asks for something that is answered later. False if this took so long that the connection was closed
 * as an idle one. */
static bool ask_in_time(struct fixture *fixture, struct peer *peer)
{
	uint64_t before = statistics(fixture).connections_total;

	peer_open(peer, fixture);
	peer_try_send(peer, TEST_GET("/later"), strlen(TEST_GET("/later")));
	WAIT_FOR(stash_count(&fixture->stash) == 1 ||
		 (statistics(fixture).connections_total > before &&
			 statistics(fixture).connections_open == 0));
	return stash_count(&fixture->stash) == 1;
}

static void test_a_request_in_work_is_not_idle(void **state)
{
	struct fixture *fixture = open_with((struct http_limits){.idle_ms = 200});
	_peer_ struct peer working;
	_peer_ struct peer silent;

	(void)state;
	while (!ask_in_time(fixture, &working))
		peer_close(&working);
	/* One that came later is closed before; so the time for idle ones is over. */
	peer_open(&silent, fixture);
	peer_expect_end(&silent);
	http_respond(stash_take(&fixture->stash), 200, NULL, 0, HTTP_BODY_STATIC(SPAN("late")));
	peer_expect(&working, 200, "late");
	fixture_close(fixture);
}

static void test_a_slow_head(void **state)
{
	struct fixture *fixture = open_with((struct http_limits){.head_ms = 50});
	_peer_ struct peer peer;
	_peer_ struct peer drip;

	(void)state;
	peer_open(&peer, fixture);
	peer_send(&peer, "GET /hello HTTP/1.1\r\nHos");
	expect_refusal(&peer, 408);
	/* Dripping does not help: the clock runs from the first byte. */
	peer_open(&drip, fixture);
	for (int i = 0; i < 100000 && statistics(fixture).timeouts_total < 2; i++) {
		if (!peer_try_send(&drip, i ? "x" : "G", 1))
			break;
		doze();
	}
	WAIT_FOR(statistics(fixture).timeouts_total == 2);
	fixture_close(fixture);
}

static void test_a_slow_body(void **state)
{
	struct fixture *fixture =
		open_with((struct http_limits){.body_ms = 50, .body_rate = 1000000000});
	_peer_ struct peer peer;
	_peer_ struct peer chunked;

	(void)state;
	peer_open(&peer, fixture);
	peer_send(&peer, "POST /echo HTTP/1.1\r\n" TEST_HOST "Content-Length: 100\r\n\r\nslow");
	expect_refusal(&peer, 408);
	peer_open(&chunked, fixture);
	peer_send(&chunked, "POST /echo HTTP/1.1\r\n" TEST_HOST
			    "Transfer-Encoding: chunked\r\n\r\n4\r\nslow\r\n");
	expect_refusal(&chunked, 408);
	assert_int_equal(statistics(fixture).timeouts_total, 2);
	fixture_close(fixture);
}

/* A timeout is answered in its turn, behind the requests before it. */
static void test_a_timeout_keeps_its_place(void **state)
{
	struct fixture *fixture = open_with((struct http_limits){.head_ms = 50});
	_peer_ struct peer peer;

	(void)state;
	peer_open(&peer, fixture);
	peer_send(&peer, TEST_GET("/later") "GET /slow");
	WAIT_FOR(statistics(fixture).timeouts_total == 1);
	http_respond(stash_take(&fixture->stash), 200, NULL, 0, HTTP_BODY_STATIC(SPAN("first")));
	peer_expect(&peer, 200, "first");
	expect_refusal(&peer, 408);
	fixture_close(fixture);
}

static void test_a_client_that_does_not_read(void **state)
{
	struct fixture *fixture = open_with((struct http_limits){.write_stall_ms = 100});
	_peer_ struct peer peer;
	_peer_ struct peer other;

	(void)state;
	peer_open(&peer, fixture);
	peer_send(&peer, TEST_GET("/big") TEST_GET("/big") TEST_GET("/hello"));
	WAIT_FOR(statistics(fixture).timeouts_total == 1);
	WAIT_FOR(statistics(fixture).connections_open == 0);
	/* Others are served as ever. */
	peer_open(&other, fixture);
	peer_send(&other, TEST_GET("/hello"));
	peer_expect(&other, 200, "hello\n");
	fixture_close(fixture);
}

static void test_a_large_answer_arrives_whole(void **state)
{
	struct fixture *fixture = open_with((struct http_limits){0});
	_peer_ struct peer peer;
	_reply_ struct reply reply = {0};

	(void)state;
	for (size_t i = 0; i < BIG_SIZE; i += 4096)
		fixture->big[i] = (char)('a' + i / 4096 % 26);
	peer_open(&peer, fixture);
	peer_send(&peer, TEST_GET("/big") TEST_GET("/hello"));
	/* Read by hand: the body is compared in place. */
	peer_read_head(&peer, &reply);
	for (size_t at = 0; at < BIG_SIZE;) {
		size_t part;

		if (peer.input.length == 0)
			assert_true(peer_receive(&peer));
		part = peer.input.length < BIG_SIZE - at ? peer.input.length : BIG_SIZE - at;
		assert_memory_equal(peer.input.data, fixture->big + at, part);
		buffer_consume(&peer.input, part);
		at += part;
	}
	peer_expect(&peer, 200, "hello\n");
	fixture_close(fixture);
}

/* Endless requests from a client that reads no answers: memory must stay within the line's limit,
 * which shows as the server not taking more. */
static void test_pipelining_without_reading(void **state)
{
	struct fixture *fixture =
		open_with((struct http_limits){.write_stall_ms = WAIT_SECONDS * 1000});
	_buffer_ struct buffer requests = {0};
	_peer_ struct peer peer;
	uint64_t handled = 0;

	(void)state;
	for (int i = 0; i < 100; i++)
		buffer_add_string(&requests, TEST_GET("/big"));
	peer_open(&peer, fixture);
	peer_send(&peer, requests.data);
	WAIT_FOR((handled = statistics(fixture).requests_total) == HTTP_PIPELINED_MAX);
	for (int i = 0; i < 50; i++) {
		doze();
		assert_true(statistics(fixture).requests_total <= HTTP_PIPELINED_MAX);
	}
	fixture_close(fixture);
}

static void test_linger_has_an_end(void **state)
{
	struct fixture *fixture = open_with((struct http_limits){.linger_ms = 50});
	_peer_ struct peer peer;
	_reply_ struct reply reply = {0};

	(void)state;
	peer_open(&peer, fixture);
	peer_send(&peer, "GET /hello HTTP/1.1\r\n" TEST_HOST "Connection: close\r\n\r\n");
	peer_read(&peer, &reply);
	peer_expect_end(&peer);
	/* The client keeps its side open; the server lets go. */
	WAIT_FOR(statistics(fixture).connections_open == 0);
	fixture_close(fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_connections),
		cmocka_unit_test(test_connections_per_address),
		cmocka_unit_test(test_loopback_is_exempt),
		cmocka_unit_test(test_an_idle_client_is_closed),
		cmocka_unit_test(test_a_request_in_work_is_not_idle),
		cmocka_unit_test(test_a_slow_head),
		cmocka_unit_test(test_a_slow_body),
		cmocka_unit_test(test_a_timeout_keeps_its_place),
		cmocka_unit_test(test_a_client_that_does_not_read),
		cmocka_unit_test(test_a_large_answer_arrives_whole),
		cmocka_unit_test(test_pipelining_without_reading),
		cmocka_unit_test(test_linger_has_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
