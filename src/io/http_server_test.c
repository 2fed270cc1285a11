/* The HTTP server over sockets: conversations, order, answers from other threads, drain. */
#include <poll.h>

#include "io/test_http_server.h"

static int open_default(void **state)
{
	*state = fixture_open((struct http_server_config){0});
	return 0;
}

static int open_two_loops(void **state)
{
	*state = fixture_open((struct http_server_config){.loops = 2});
	return 0;
}

static int close_fixture(void **state)
{
	fixture_close(*state);
	return 0;
}

/* ---- conversations ---- */

static void test_a_request_and_its_answer(void **state)
{
	_peer_ struct peer peer;
	_reply_ struct reply reply = {0};

	peer_open(&peer, *state);
	peer_send(&peer, "GET /info?a=b HTTP/1.1\r\nHost: x:1\r\n\r\n");
	peer_read(&peer, &reply);
	assert_int_equal(reply.status, 200);
	assert_false(reply.closes);
	assert_string_equal(reply.body.data, "GET|a=b|x:1|127.0.0.1|1|0");
	assert_non_null(strstr(reply.head.data, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"));
	assert_non_null(strstr(reply.head.data, "\r\nDate: "));
	assert_non_null(strstr(reply.head.data, " GMT\r\n"));
	/* The connection stays. */
	peer_send(&peer, TEST_GET("/hello"));
	peer_expect(&peer, 200, "hello\n");
	peer_send(&peer, TEST_GET("/none"));
	peer_expect(&peer, 404, "/none");
}

static void test_bodies(void **state)
{
	_peer_ struct peer peer;
	_free_ char *body = memory_allocate(3000001);

	memset(body, 'b', 3000000);
	peer_open(&peer, *state);
	peer_send(&peer, "POST /echo HTTP/1.1\r\n" TEST_HOST "Content-Length: 5\r\n\r\nhello");
	peer_expect(&peer, 200, "hello");
	peer_send(&peer, "POST /echo HTTP/1.1\r\n" TEST_HOST "Content-Length: 3000000\r\n\r\n");
	peer_send(&peer, body);
	peer_expect(&peer, 200, body);
	peer_send(&peer, "POST /echo HTTP/1.1\r\n" TEST_HOST
			 "Transfer-Encoding: chunked\r\n\r\n6\r\nchunk \r\n3\r\ned!\r\n0\r\n\r\n");
	peer_expect(&peer, 200, "chunk ed!");
	peer_send(&peer, TEST_GET("/echo"));
	peer_expect(&peer, 200, "");
}

static void test_head_and_no_content(void **state)
{
	_peer_ struct peer peer;
	_reply_ struct reply reply = {0};

	peer_open(&peer, *state);
	peer_send(&peer, "HEAD /hello HTTP/1.1\r\n" TEST_HOST "\r\n");
	peer_read_head(&peer, &reply);
	assert_int_equal(reply.status, 200);
	assert_non_null(strstr(reply.head.data, "\r\nContent-Length: 6\r\n"));
	peer_send(&peer, TEST_GET("/nothing"));
	peer_read_head(&peer, &reply);
	assert_int_equal(reply.status, 204);
	assert_null(strstr(reply.head.data, "Content-Length"));
	peer_send(&peer, TEST_GET("/hello"));
	peer_expect(&peer, 200, "hello\n");
}

static void test_close_is_honoured(void **state)
{
	_peer_ struct peer peer;
	_reply_ struct reply reply = {0};

	peer_open(&peer, *state);
	peer_send(&peer,
		"GET /hello HTTP/1.1\r\n" TEST_HOST "Connection: close\r\n\r\n" TEST_GET("/hello"));
	peer_read(&peer, &reply);
	assert_int_equal(reply.status, 200);
	assert_true(reply.closes);
	peer_expect_end(&peer);
	assert_int_equal(statistics(*state).requests_total, 1);
}

static void test_http_1_0(void **state)
{
	_peer_ struct peer peer;
	_reply_ struct reply reply = {0};

	peer_open(&peer, *state);
	peer_send(&peer, "GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
	peer_read(&peer, &reply);
	assert_non_null(strstr(reply.head.data, "\r\nConnection: keep-alive\r\n"));
	peer_send(&peer, "GET /hello HTTP/1.0\r\n\r\n");
	peer_read(&peer, &reply);
	assert_true(reply.closes);
	assert_string_equal(reply.body.data, "hello\n");
	peer_expect_end(&peer);
}

static void test_expect_continue(void **state)
{
	_peer_ struct peer peer;
	_reply_ struct reply reply = {0};

	peer_open(&peer, *state);
	peer_send(&peer, "POST /echo HTTP/1.1\r\n" TEST_HOST
			 "Expect: 100-continue\r\nContent-Length: 5\r\n\r\n");
	peer_read_head(&peer, &reply);
	assert_int_equal(reply.status, 100);
	peer_send(&peer, "hello");
	peer_expect(&peer, 200, "hello");
	/* A client that does not wait gets no 100. */
	peer_send(&peer, "POST /echo HTTP/1.1\r\n" TEST_HOST
			 "Expect: 100-continue\r\nContent-Length: 5\r\n\r\nhello");
	peer_expect(&peer, 200, "hello");
	peer_send(&peer,
		"POST /echo HTTP/1.1\r\n" TEST_HOST "Expect: gifts\r\nContent-Length: 5\r\n\r\n");
	peer_read(&peer, &reply);
	assert_int_equal(reply.status, 417);
	assert_true(reply.closes);
	peer_expect_end(&peer);
}

/* The word to go on must not overtake the answer of the request before. */
static void test_continue_keeps_its_place(void **state)
{
	struct fixture *fixture = *state;
	_peer_ struct peer peer;
	_reply_ struct reply reply = {0};

	peer_open(&peer, fixture);
	peer_send(&peer, TEST_GET("/later") "POST /echo HTTP/1.1\r\n" TEST_HOST
					    "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n");
	http_respond(stash_take(&fixture->stash), 200, NULL, 0, HTTP_BODY_STATIC(SPAN("first")));
	peer_expect(&peer, 200, "first");
	peer_read_head(&peer, &reply);
	assert_int_equal(reply.status, 100);
	peer_send(&peer, "hi");
	peer_expect(&peer, 200, "hi");
}

static void test_refusals_are_answered_and_final(void **state)
{
	static const struct {
		const char *request;
		int status;
	} cases[] = {
		{"GET / HTTP/1.1\r\n\r\n" TEST_GET("/hello"), 400},
		{"GET / HTTP/1.1\nHost: a\n\n" TEST_GET("/hello"), 400},
		{"BREW / HTTP/1.1\r\n" TEST_HOST "\r\n" TEST_GET("/hello"), 501},
		{"GET / HTTP/3.0\r\n" TEST_HOST "\r\n", 505},
		{"POST / HTTP/1.1\r\n" TEST_HOST "Content-Length: 99999999\r\n\r\n", 413},
		{"POST / HTTP/1.1\r\n" TEST_HOST
		 "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
			400},
	};

	for (size_t i = 0; i < LENGTH(cases); i++) {
		_peer_ struct peer peer;
		_reply_ struct reply reply = {0};

		peer_open(&peer, *state);
		peer_send(&peer, cases[i].request);
		peer_read(&peer, &reply);
		assert_int_equal(reply.status, cases[i].status);
		assert_true(reply.closes);
		assert_non_null(strstr(reply.head.data, "\r\nContent-Type: text/plain\r\n"));
		peer_expect_end(&peer);
	}
	assert_int_equal(statistics(*state).requests_total, 0);
	assert_int_equal(statistics(*state).requests_refused, LENGTH(cases));
}

/* A client in the middle of sending must get to read why it was refused. */
static void test_a_refusal_survives_unread_input(void **state)
{
	struct fixture *fixture = fixture_open((struct http_server_config){
		.limits = {.linger_ms = WAIT_SECONDS * 1000}});
	_free_ char *body = memory_allocate(1024 * 1024);

	(void)state;
	for (int round = 0; round < 10; round++) {
		_peer_ struct peer peer;
		_reply_ struct reply reply = {0};

		peer_open(&peer, fixture);
		peer_send(&peer,
			"POST / HTTP/1.1\r\n" TEST_HOST "Content-Length: 99999999\r\n\r\n");
		assert_true(peer_try_send(&peer, body, 1024 * 1024));
		peer_read(&peer, &reply);
		assert_int_equal(reply.status, 413);
		peer_expect_end(&peer);
	}
	fixture_close(fixture);
}

static void test_a_half_closed_client_is_answered(void **state)
{
	struct fixture *fixture = *state;
	_peer_ struct peer peer;

	peer_open(&peer, fixture);
	peer_send(&peer, TEST_GET("/later") TEST_GET("/hello"));
	shutdown(peer.descriptor, SHUT_WR);
	http_respond(stash_take(&fixture->stash), 200, NULL, 0, HTTP_BODY_STATIC(SPAN("first")));
	peer_expect(&peer, 200, "first");
	peer_expect(&peer, 200, "hello\n");
	peer_expect_end(&peer);
}

static void test_an_ipv6_address(void **state)
{
	struct http_server_config config = {.address = "::1"};
	struct sockaddr_in6 there = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	_peer_ struct peer peer = {.descriptor = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0)};
	struct fixture *fixture;

	(void)state;
	/* A machine without IPv6 cannot listen on it either, and says so. */
	if (peer.descriptor < 0 ||
		bind(peer.descriptor, (struct sockaddr *)&there, sizeof(there)) < 0) {
		struct http_server *server = NULL;
		struct err err = {0};

		assert_true(http_server_open(&config, &server, &err) < 0);
		assert_non_null(strstr(err.message, "::1"));
		return;
	}
	fixture = fixture_open(config);
	there.sin6_port = htons(http_server_port(fixture->server));
	assert_int_equal(connect(peer.descriptor, (struct sockaddr *)&there, sizeof(there)), 0);
	peer_send(&peer, TEST_GET("/info"));
	peer_expect(&peer, 200, "GET||test|::1|1|0");
	fixture_close(fixture);
}

static void test_what_cannot_be_opened(void **state)
{
	struct fixture *fixture = *state;
	struct http_server *server = NULL;
	struct err err = {0};
	struct http_server_config taken = {.port = http_server_port(fixture->server)};
	struct http_server_config nowhere = {.address = "not an address"};
	struct http_server_config no_file = {.certificate_file = "/nonexistent/certificate.pem"};

	assert_int_equal(http_server_open(&taken, &server, &err), -EADDRINUSE);
	assert_non_null(strstr(err.message, "127.0.0.1"));
	assert_int_equal(http_server_open(&nowhere, &server, &err), -EINVAL);
	assert_non_null(strstr(err.message, "not an address"));
	assert_true(http_server_open(&no_file, &server, &err) < 0);
	assert_non_null(strstr(err.message, "/nonexistent/certificate.pem"));
	assert_true(http_server_reload_tls(fixture->server, &err) < 0);
	assert_null(server);
}

/* ---- pipelining and other threads ---- */

static void test_pipelined_answers_keep_their_order(void **state)
{
	struct fixture *fixture = *state;
	_buffer_ struct buffer requests = {0};
	_peer_ struct peer peer;

	peer_open(&peer, fixture);
	for (int i = 0; i < 500; i++)
		buffer_format(&requests, "GET /%d HTTP/1.1\r\n" TEST_HOST "\r\n", i);
	peer_send(&peer, requests.data);
	for (int i = 0; i < 500; i++) {
		char path[16];

		snprintf(path, sizeof(path), "/%d", i);
		peer_expect(&peer, 404, path);
	}
}

static void *answer_backwards(void *context)
{
	struct fixture *fixture = context;

	/* 96 requests wait, of which never more than 16 are handed out at once. */
	for (int left = 96; left > 0; left -= HTTP_PIPELINED_MAX) {
		stash_wait(&fixture->stash, HTTP_PIPELINED_MAX);
		for (int i = 0; i < HTTP_PIPELINED_MAX; i++) {
			struct http_exchange *exchange = stash_take(&fixture->stash);

			http_respond_text(exchange, 200, NULL, 0,
				http_exchange_request(exchange)->path);
		}
	}
	return NULL;
}

static void test_late_answers_keep_their_order(void **state)
{
	struct fixture *fixture = *state;
	_buffer_ struct buffer requests = {0};
	_peer_ struct peer peer;
	pthread_t thread;

	pthread_create(&thread, NULL, answer_backwards, fixture);
	peer_open(&peer, fixture);
	for (int i = 0; i < 96; i++)
		buffer_format(&requests, "GET /later/%d HTTP/1.1\r\n" TEST_HOST "\r\n", i);
	peer_send(&peer, requests.data);
	for (int i = 0; i < 96; i++) {
		char path[16];

		snprintf(path, sizeof(path), "/later/%d", i);
		peer_expect(&peer, 200, path);
	}
	pthread_join(thread, NULL);
	assert_int_equal(fixture->stash.most, HTTP_PIPELINED_MAX);
}

static void test_many_answers_wake_a_loop_once(void **state)
{
	struct fixture *fixture = *state;
	struct peer peers[50];
	_peer_ struct peer busy;
	uint64_t before;

	for (size_t i = 0; i < LENGTH(peers); i++) {
		peer_open(&peers[i], fixture);
		peer_send(&peers[i], TEST_GET("/later"));
	}
	stash_wait(&fixture->stash, LENGTH(peers));
	/* Keep the loop busy, answer all, let it go. */
	pthread_mutex_lock(&fixture->gate);
	peer_open(&busy, fixture);
	peer_send(&busy, TEST_GET("/gate"));
	stash_wait(&fixture->stash, LENGTH(peers) + 1);
	assert_null(stash_take(&fixture->stash));
	before = statistics(fixture).wakeups_total;
	for (size_t i = 0; i < LENGTH(peers); i++)
		http_respond(stash_take(&fixture->stash), 200, NULL, 0,
			HTTP_BODY_STATIC(SPAN("late")));
	pthread_mutex_unlock(&fixture->gate);
	peer_expect(&busy, 200, "opened");
	for (size_t i = 0; i < LENGTH(peers); i++) {
		peer_expect(&peers[i], 200, "late");
		peer_close(&peers[i]);
	}
	assert_int_equal(statistics(fixture).wakeups_total, before + 1);
}

static atomic_int released;

static void count_release(void *context)
{
	assert_string_equal(context, "context");
	atomic_fetch_add(&released, 1);
}

static struct http_body counted_body(char *data, size_t length)
{
	return (struct http_body){{data, length}, count_release, "context"};
}

static void test_bodies_are_released_once(void **state)
{
	struct fixture *fixture = *state;
	_peer_ struct peer peer;
	_reply_ struct reply reply = {0};

	atomic_store(&released, 0);
	peer_open(&peer, fixture);
	peer_send(&peer, TEST_GET("/later"));
	http_respond(stash_take(&fixture->stash), 200, NULL, 0, counted_body("small", 5));
	peer_expect(&peer, 200, "small");
	WAIT_FOR(atomic_load(&released) == 1);
	peer_send(&peer, TEST_GET("/later"));
	http_respond(stash_take(&fixture->stash), 200, NULL, 0,
		counted_body(fixture->big, 10000000));
	peer_read(&peer, &reply);
	assert_int_equal(reply.body.length, 10000000);
	WAIT_FOR(atomic_load(&released) == 2);
	peer_send(&peer, "HEAD /later HTTP/1.1\r\n" TEST_HOST "\r\n");
	http_respond(stash_take(&fixture->stash), 200, NULL, 0, counted_body("unsent", 6));
	peer_read_head(&peer, &reply);
	assert_non_null(strstr(reply.head.data, "\r\nContent-Length: 6\r\n"));
	WAIT_FOR(atomic_load(&released) == 3);
	/* The client leaves before it is answered. */
	peer_send(&peer, TEST_GET("/later") TEST_GET("/later"));
	stash_wait(&fixture->stash, 2);
	shutdown(peer.descriptor, SHUT_RDWR);
	peer_close(&peer);
	http_respond(stash_take(&fixture->stash), 200, NULL, 0,
		counted_body(fixture->big, BIG_SIZE));
	http_respond(stash_take(&fixture->stash), 200, NULL, 0,
		counted_body(fixture->big, BIG_SIZE));
	WAIT_FOR(atomic_load(&released) == 5);
	WAIT_FOR(statistics(fixture).connections_open == 0);
	assert_int_equal(atomic_load(&released), 5);
}

struct answering_thread {
	pthread_t thread;
	struct fixture *fixture;
	atomic_bool *done;
};

static void *answer_until_done(void *context)
{
	struct answering_thread *answering = context;
	struct stash *stash = &answering->fixture->stash;

	while (!atomic_load(answering->done)) {
		struct http_exchange *exchange = NULL;

		pthread_mutex_lock(&stash->lock);
		if (stash->count > 0)
			exchange = stash->exchanges[--stash->count];
		pthread_mutex_unlock(&stash->lock);
		if (exchange)
			http_respond_text(exchange, 200, NULL, 0,
				http_exchange_request(exchange)->path);
		else
			doze();
	}
	return NULL;
}

/* Several threads answer, many clients ask, some of them leave without waiting. */
static void test_a_crowd(void **state)
{
	struct fixture *fixture = *state;
	struct answering_thread threads[3];
	struct peer peers[40];
	atomic_bool done = false;

	for (size_t i = 0; i < LENGTH(threads); i++) {
		threads[i] = (struct answering_thread){.fixture = fixture, .done = &done};
		pthread_create(&threads[i].thread, NULL, answer_until_done, &threads[i]);
	}
	for (int round = 0; round < 20; round++) {
		for (size_t i = 0; i < LENGTH(peers); i++) {
			peer_open(&peers[i], fixture);
			peer_send(&peers[i],
				TEST_GET("/later/1") TEST_GET("/hello") TEST_GET("/later/2"));
		}
		for (size_t i = 0; i < LENGTH(peers); i++) {
			if (i % 4 != 0) {
				peer_expect(&peers[i], 200, "/later/1");
				peer_expect(&peers[i], 200, "hello\n");
			}
			if (i % 2 != 0)
				peer_expect(&peers[i], 200, "/later/2");
			peer_close(&peers[i]);
		}
	}
	WAIT_FOR(statistics(fixture).connections_open == 0);
	WAIT_FOR(stash_count(&fixture->stash) == 0);
	atomic_store(&done, true);
	for (size_t i = 0; i < LENGTH(threads); i++)
		pthread_join(threads[i].thread, NULL);
	assert_int_equal(statistics(fixture).requests_refused, 0);
}

/* ---- drain ---- */

struct drain {
	pthread_t thread;
	struct http_server *server;
	unsigned deadline_ms;
};

static void *run_drain(void *context)
{
	struct drain *drain = context;

	http_server_drain(drain->server, drain->deadline_ms);
	return NULL;
}

static bool is_listening(uint16_t port)
{
	int descriptor = connect_from("127.0.0.1", port);

	if (descriptor >= 0)
		close(descriptor);
	return descriptor >= 0;
}

static void test_drain_answers_what_is_in_work(void **state)
{
	struct fixture *fixture = *state;
	struct drain drain = {.server = fixture->server, .deadline_ms = WAIT_SECONDS * 1000};
	struct peer idle[2]; /* dealt out in turn: one for each loop */
	_peer_ struct peer working;
	_peer_ struct peer sending;
	_reply_ struct reply reply = {0};

	for (size_t i = 0; i < LENGTH(idle); i++) {
		peer_open(&idle[i], fixture);
		peer_send(&idle[i], TEST_GET("/hello"));
		peer_expect(&idle[i], 200, "hello\n");
	}
	peer_open(&working, fixture);
	peer_send(&working, TEST_GET("/later/1") TEST_GET("/later/2"));
	stash_wait(&fixture->stash, 2);
	peer_open(&sending, fixture);
	peer_send(&sending, TEST_GET("/hello") "POST /echo HTTP/1.1\r\n" TEST_HOST
					       "Content-Length: 4\r\n\r\nha");
	peer_expect(&sending, 200, "hello\n");

	pthread_create(&drain.thread, NULL, run_drain, &drain);
	/* A loop that has closed its idle connection is draining. */
	for (size_t i = 0; i < LENGTH(idle); i++) {
		peer_expect_end(&idle[i]);
		peer_close(&idle[i]);
	}
	WAIT_FOR(!is_listening(http_server_port(fixture->server)));
	peer_send(&sending, "lf");
	peer_read(&sending, &reply);
	assert_string_equal(reply.body.data, "half");
	assert_true(reply.closes);
	peer_expect_end(&sending);
	peer_close(&sending);

	http_respond(stash_take(&fixture->stash), 200, NULL, 0, HTTP_BODY_STATIC(SPAN("two")));
	http_respond(stash_take(&fixture->stash), 200, NULL, 0, HTTP_BODY_STATIC(SPAN("one")));
	peer_read(&working, &reply);
	assert_string_equal(reply.body.data, "one");
	peer_read(&working, &reply);
	assert_string_equal(reply.body.data, "two");
	assert_true(reply.closes);
	peer_expect_end(&working);
	peer_close(&working);
	pthread_join(drain.thread, NULL);
	assert_int_equal(statistics(fixture).connections_open, 0);
}

/* While the loop that listens is busy, no other loop may close what a client would replace. */
static void test_drain_refuses_before_it_closes(void **state)
{
	struct fixture *fixture = *state;
	struct drain drain = {.server = fixture->server, .deadline_ms = WAIT_SECONDS * 1000};
	_peer_ struct peer busy; /* dealt out in turn: this one to the loop that listens */
	_peer_ struct peer idle;
	struct pollfd ended;
	int ready;

	peer_open(&busy, fixture);
	peer_open(&idle, fixture);
	peer_send(&idle, TEST_GET("/hello"));
	peer_expect(&idle, 200, "hello\n");
	pthread_mutex_lock(&fixture->gate);
	peer_send(&busy, TEST_GET("/gate"));
	stash_wait(&fixture->stash, 1);
	stash_take(&fixture->stash);
	pthread_create(&drain.thread, NULL, run_drain, &drain);
	ended = (struct pollfd){.fd = idle.descriptor, .events = POLLIN};
	ready = poll(&ended, 1, 200);
	pthread_mutex_unlock(&fixture->gate);
	assert_int_equal(ready, 0);
	peer_expect_end(&idle);
	assert_false(is_listening(http_server_port(fixture->server)));
	peer_expect(&busy, 200, "opened");
	pthread_join(drain.thread, NULL);
}

static void test_drain_has_a_deadline(void **state)
{
	struct fixture *fixture = *state;
	_peer_ struct peer peer;

	peer_open(&peer, fixture);
	peer_send(&peer, TEST_GET("/later"));
	stash_wait(&fixture->stash, 1);
	http_server_drain(fixture->server, 50);
	assert_int_equal(statistics(fixture).connections_open, 0);
	peer_expect_end(&peer);
	/* Too late, but it must be given back. */
	http_respond(stash_take(&fixture->stash), 200, NULL, 0, HTTP_BODY_STATIC(SPAN("late")));
}

struct late_answer {
	struct http_exchange *exchange;
	uint16_t port;
};

static void *answer_after_close(void *context)
{
	struct late_answer *late = context;
	struct http_exchange *exchange = late->exchange;

	WAIT_FOR(!is_listening(late->port));
	http_respond(exchange, 200, NULL, 0, HTTP_BODY_STATIC(SPAN("late")));
	return NULL;
}

static void test_close_waits_for_the_last_answer(void **state)
{
	struct fixture *fixture = fixture_open((struct http_server_config){.loops = 2});
	struct late_answer late = {.port = http_server_port(fixture->server)};
	_peer_ struct peer peer;
	pthread_t thread;

	(void)state;
	peer_open(&peer, fixture);
	peer_send(&peer, TEST_GET("/later"));
	late.exchange = stash_take(&fixture->stash);
	pthread_create(&thread, NULL, answer_after_close, &late);
	http_server_close(TAKE(fixture->server));
	pthread_join(thread, NULL);
	fixture_close(fixture);
}

static void test_opening_and_closing_in_a_row(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++) {
		struct fixture *fixture =
			fixture_open((struct http_server_config){.loops = 1 + (unsigned)i % 3});
		_peer_ struct peer peer;

		peer_open(&peer, fixture);
		if (i % 2)
			peer_send(&peer, TEST_GET("/hello"));
		fixture_close(fixture);
	}
}

static void test_status_texts(void **state)
{
	(void)state;
	assert_string_equal(http_status_text(200), "OK");
	assert_string_equal(http_status_text(503), "Service Unavailable");
	assert_string_equal(http_status_text(299), "Unknown");
	assert_string_equal(http_status_text(-1), "Unknown");
	assert_string_equal(http_status_text(100000), "Unknown");
}

#define WITH_SERVER(test) cmocka_unit_test_setup_teardown(test, open_default, close_fixture)
#define WITH_TWO_LOOPS(test) cmocka_unit_test_setup_teardown(test, open_two_loops, close_fixture)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_SERVER(test_a_request_and_its_answer),
		WITH_SERVER(test_bodies),
		WITH_SERVER(test_head_and_no_content),
		WITH_SERVER(test_close_is_honoured),
		WITH_SERVER(test_http_1_0),
		WITH_SERVER(test_expect_continue),
		WITH_SERVER(test_continue_keeps_its_place),
		WITH_SERVER(test_refusals_are_answered_and_final),
		cmocka_unit_test(test_a_refusal_survives_unread_input),
		WITH_SERVER(test_a_half_closed_client_is_answered),
		cmocka_unit_test(test_an_ipv6_address),
		WITH_SERVER(test_what_cannot_be_opened),
		WITH_SERVER(test_pipelined_answers_keep_their_order),
		WITH_SERVER(test_late_answers_keep_their_order),
		WITH_SERVER(test_many_answers_wake_a_loop_once),
		WITH_SERVER(test_bodies_are_released_once),
		WITH_SERVER(test_a_crowd),
		WITH_TWO_LOOPS(test_a_crowd),
		WITH_SERVER(test_drain_answers_what_is_in_work),
		WITH_TWO_LOOPS(test_drain_answers_what_is_in_work),
		WITH_TWO_LOOPS(test_drain_refuses_before_it_closes),
		WITH_TWO_LOOPS(test_drain_has_a_deadline),
		cmocka_unit_test(test_close_waits_for_the_last_answer),
		cmocka_unit_test(test_opening_and_closing_in_a_row),
		cmocka_unit_test(test_status_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
