/* Streaming answers: chunks, order, clients that leave or are too slow, the reported events. */
#include "io/test_http_server.h"

struct events {
	atomic_int writable, gone, closed;
	atomic_bool end_when_gone;
};

static void note_event(struct http_exchange *exchange, enum http_stream_event event, void *context)
{
	struct events *events = context;

	switch (event) {
	case HTTP_STREAM_WRITABLE: atomic_fetch_add(&events->writable, 1); break;
	case HTTP_STREAM_GONE:
		assert_int_equal(atomic_load(&events->closed), 0);
		atomic_fetch_add(&events->gone, 1);
		if (atomic_load(&events->end_when_gone))
			http_stream_end(exchange);
		break;
	case HTTP_STREAM_CLOSED: atomic_fetch_add(&events->closed, 1); break;
	}
}

static int open_default(void **state)
{
	*state = fixture_open((struct http_server_config){
		.limits = {.stream_queue_max = 256 * 1024, .linger_ms = 100}});
	return 0;
}

static int close_fixture(void **state)
{
	assert_int_equal(statistics(*state).streams_open, 0);
	fixture_close(*state);
	return 0;
}

static const struct http_header event_stream[] = {
	{SPAN("Content-Type"), SPAN("text/event-stream")}};

/* Asks for a stream and begins it. */
static struct http_exchange *begin(struct fixture *fixture, struct peer *peer, const char *request,
	struct events *events)
{
	struct http_exchange *exchange;

	peer_open(peer, fixture);
	peer_send(peer, request);
	exchange = stash_take(&fixture->stash);
	http_stream_begin(exchange, 200, event_stream, 1, note_event, events);
	return exchange;
}

static void test_events_arrive_as_they_are_written(void **state)
{
	struct fixture *fixture = *state;
	struct events events = {0};
	_peer_ struct peer peer;
	_reply_ struct reply reply = {0};
	struct http_exchange *exchange = begin(fixture, &peer, TEST_GET("/later"), &events);

	/* The head comes before any data. */
	peer_read_head(&peer, &reply);
	assert_int_equal(reply.status, 200);
	assert_true(reply.chunked);
	assert_false(reply.closes);
	for (int i = 0; i < 10; i++) {
		char text[32];

		snprintf(text, sizeof(text), "data: %d\n\n", i);
		assert_int_equal(http_stream_write(exchange, span_of(text)), 0);
		buffer_reset(&reply.body);
		assert_true(peer_read_chunk(&peer, &reply.body));
		assert_string_equal(reply.body.data, text);
		WAIT_FOR(http_stream_queued(exchange) == 0);
	}
	WAIT_FOR(atomic_load(&events.writable) == 10);
	http_stream_end(exchange);
	assert_false(peer_read_chunk(&peer, &reply.body));
	WAIT_FOR(atomic_load(&events.closed) == 1);
	assert_int_equal(atomic_load(&events.gone), 0);
	/* The connection is as good as new. */
	peer_send(&peer, TEST_GET("/hello"));
	peer_expect(&peer, 200, "hello\n");
}

static void test_many_writes_arrive_in_order(void **state)
{
	struct fixture *fixture = *state;
	struct events events = {0};
	_buffer_ struct buffer expected = {0};
	_peer_ struct peer peer;
	_reply_ struct reply reply = {0};
	struct http_exchange *exchange =
		begin(fixture, &peer, TEST_GET("/later") TEST_GET("/hello"), &events);

	for (int i = 0; i < 10000; i++) {
		char text[32];

		snprintf(text, sizeof(text), "line %d\n", i);
		buffer_add_string(&expected, text);
		assert_int_equal(http_stream_write(exchange, span_of(text)), 0);
	}
	http_stream_end(exchange);
	peer_read(&peer, &reply);
	assert_string_equal(reply.body.data, expected.data);
	/* The answer to a later request follows it. */
	peer_expect(&peer, 200, "hello\n");
	WAIT_FOR(atomic_load(&events.closed) == 1);
}

static void test_a_stream_waits_for_its_turn(void **state)
{
	struct fixture *fixture = *state;
	struct events events = {0};
	_peer_ struct peer peer;
	_reply_ struct reply reply = {0};
	struct http_exchange *first, *second;

	peer_open(&peer, fixture);
	peer_send(&peer, TEST_GET("/later/1") TEST_GET("/later/2"));
	stash_wait(&fixture->stash, 2);
	second = stash_take(&fixture->stash);
	first = stash_take(&fixture->stash);
	http_stream_begin(second, 200, event_stream, 1, note_event, &events);
	assert_int_equal(http_stream_write(second, SPAN("streamed")), 0);
	http_stream_end(second);
	http_respond(first, 200, NULL, 0, HTTP_BODY_STATIC(SPAN("first")));
	peer_expect(&peer, 200, "first");
	peer_read(&peer, &reply);
	assert_string_equal(reply.body.data, "streamed");
	WAIT_FOR(atomic_load(&events.closed) == 1);
}

static void test_an_empty_stream_and_head(void **state)
{
	struct fixture *fixture = *state;
	struct events events = {0};
	_peer_ struct peer peer;
	_reply_ struct reply reply = {0};
	struct http_exchange *exchange = begin(fixture, &peer, TEST_GET("/later"), &events);

	http_stream_end(exchange);
	peer_expect(&peer, 200, "");
	peer_send(&peer, "HEAD /later HTTP/1.1\r\n" TEST_HOST "\r\n" TEST_GET("/hello"));
	exchange = stash_take(&fixture->stash);
	http_stream_begin(exchange, 200, event_stream, 1, NULL, NULL);
	assert_int_equal(http_stream_write(exchange, SPAN("not for HEAD")), 0);
	http_stream_end(exchange);
	peer_read_head(&peer, &reply);
	assert_true(reply.chunked);
	peer_expect(&peer, 200, "hello\n");
	WAIT_FOR(atomic_load(&events.closed) == 1);
	WAIT_FOR(statistics(fixture).streams_open == 0);
}

static void test_http_1_0_ends_with_the_connection(void **state)
{
	struct fixture *fixture = *state;
	struct events events = {0};
	_peer_ struct peer peer;
	_reply_ struct reply reply = {0};
	struct http_exchange *exchange = begin(fixture, &peer,
		"GET /later HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", &events);

	assert_int_equal(http_stream_write(exchange, SPAN("to the end")), 0);
	http_stream_end(exchange);
	peer_read_head(&peer, &reply);
	assert_false(reply.chunked);
	assert_true(reply.closes);
	while (peer_receive(&peer))
		;
	assert_string_equal(peer.input.data, "to the end");
	WAIT_FOR(atomic_load(&events.closed) == 1);
	assert_int_equal(atomic_load(&events.gone), 0);
}

/* The end comes when everything before it has long left: there is nothing to write, but much to do. */
static void test_an_end_without_bytes(void **state)
{
	struct fixture *fixture = *state;
	struct events events = {0}, head_events = {0};
	_peer_ struct peer old, peer;
	_reply_ struct reply reply = {0};
	struct http_exchange *exchange =
		begin(fixture, &old, "GET /later HTTP/1.0\r\n\r\n", &events);

	assert_int_equal(http_stream_write(exchange, SPAN("to the end")), 0);
	peer_read_head(&old, &reply);
	while (old.input.length < strlen("to the end"))
		assert_true(peer_receive(&old));
	http_stream_end(exchange);
	assert_false(peer_receive(&old));
	assert_string_equal(old.input.data, "to the end");
	WAIT_FOR(atomic_load(&events.closed) == 1);
	/* The answer to HEAD has no last chunk either, and the next request waits behind it. */
	exchange = begin(fixture, &peer,
		"HEAD /later HTTP/1.1\r\n" TEST_HOST "\r\n" TEST_GET("/hello"), &head_events);
	peer_read_head(&peer, &reply);
	http_stream_end(exchange);
	peer_expect(&peer, 200, "hello\n");
	WAIT_FOR(atomic_load(&head_events.closed) == 1);
}

static void test_a_client_that_leaves(void **state)
{
	struct fixture *fixture = *state;

	for (int round = 0; round < 3; round++) {
		struct events events = {.end_when_gone = round == 1};
		_peer_ struct peer peer;
		_reply_ struct reply reply = {0};
		struct http_exchange *exchange = begin(fixture, &peer, TEST_GET("/later"), &events);

		peer_read_head(&peer, &reply);
		if (round == 2) /* half-closed: a stream cannot detect if the peer still reads */
			shutdown(peer.descriptor, SHUT_WR);
		else
			peer_close(&peer);
		WAIT_FOR(atomic_load(&events.gone) == 1);
		if (round != 1) {
			assert_int_equal(http_stream_write(exchange, SPAN("x")), -EPIPE);
			assert_int_equal(atomic_load(&events.closed), 0);
			http_stream_end(exchange);
		}
		WAIT_FOR(atomic_load(&events.closed) == 1);
		assert_int_equal(atomic_load(&events.gone), 1);
		WAIT_FOR(statistics(fixture).connections_open == 0);
	}
}

static void test_a_client_gone_before_the_stream_began(void **state)
{
	struct fixture *fixture = *state;
	struct events events = {0};
	_peer_ struct peer peer;
	struct http_exchange *exchange;

	peer_open(&peer, fixture);
	peer_send(&peer, TEST_GET("/later"));
	exchange = stash_take(&fixture->stash);
	peer_close(&peer);
	http_stream_begin(exchange, 200, event_stream, 1, note_event, &events);
	WAIT_FOR(atomic_load(&events.gone) == 1);
	http_stream_end(exchange);
	WAIT_FOR(atomic_load(&events.closed) == 1);
}

static void test_a_client_that_is_too_slow(void **state)
{
	struct fixture *fixture = *state;
	struct events events = {0};
	_peer_ struct peer peer;
	_free_ char *text = memory_allocate(64 * 1024);
	struct http_exchange *exchange = begin(fixture, &peer, TEST_GET("/later"), &events);
	int code = 0;

	/* The kernel's buffers are finite, and so is the queue; the client does not read. */
	for (int i = 0; i < 1000000 && code == 0; i++) {
		code = http_stream_write(exchange, (struct span){text, 64 * 1024});
		assert_true(http_stream_queued(exchange) <= 256 * 1024);
		if (http_stream_queued(exchange) > 128 * 1024)
			doze();
	}
	assert_int_equal(code, -ENOBUFS);
	assert_int_equal(http_stream_write(exchange, SPAN("x")), -EPIPE);
	WAIT_FOR(atomic_load(&events.gone) == 1);
	WAIT_FOR(statistics(fixture).connections_open == 0);
	http_stream_end(exchange);
	WAIT_FOR(atomic_load(&events.closed) == 1);
}

static void test_drain_ends_streams(void **state)
{
	struct fixture *fixture = *state;
	struct events events = {.end_when_gone = true};
	_peer_ struct peer peer;
	_reply_ struct reply reply = {0};
	struct http_exchange *exchange = begin(fixture, &peer, TEST_GET("/later"), &events);
	struct timespec before, after;

	assert_int_equal(http_stream_write(exchange, SPAN("last words")), 0);
	peer_read_head(&peer, &reply);
	assert_true(peer_read_chunk(&peer, &reply.body));
	/* The client does not close; the server does not wait for it longer than it lingers. */
	clock_gettime(CLOCK_MONOTONIC, &before);
	http_server_drain(fixture->server, WAIT_SECONDS * 1000);
	clock_gettime(CLOCK_MONOTONIC, &after);
	assert_true(after.tv_sec - before.tv_sec < WAIT_SECONDS / 2);
	assert_false(peer_read_chunk(&peer, &reply.body));
	assert_string_equal(reply.body.data, "last words");
	peer_expect_end(&peer);
	WAIT_FOR(atomic_load(&events.closed) == 1);
	assert_int_equal(atomic_load(&events.gone), 1);
}

struct writing_thread {
	pthread_t thread;
	struct http_exchange *exchange;
};

static void *write_until_gone(void *context)
{
	struct writing_thread *writing = context;
	int code = 0;

	while (code == 0) {
		code = http_stream_write(writing->exchange, SPAN("data: tick\n\n"));
		if (http_stream_queued(writing->exchange) > 1024)
			doze();
	}
	http_stream_end(writing->exchange);
	return NULL;
}

/* Writers on threads of their own, clients that leave in the middle. */
static void test_a_crowd_of_streams(void **state)
{
	struct fixture *fixture = *state;

	for (int round = 0; round < 10; round++) {
		struct writing_thread threads[8];
		struct peer peers[8];
		struct events events[8] = {0};

		for (size_t i = 0; i < LENGTH(threads); i++) {
			threads[i].exchange =
				begin(fixture, &peers[i], TEST_GET("/later"), &events[i]);
			pthread_create(&threads[i].thread, NULL, write_until_gone, &threads[i]);
		}
		for (size_t i = 0; i < LENGTH(peers); i++) {
			_reply_ struct reply reply = {0};

			peer_read_head(&peers[i], &reply);
			assert_true(peer_read_chunk(&peers[i], &reply.body));
			assert_memory_equal(reply.body.data, "data: tick\n\n", 12);
			peer_close(&peers[i]);
		}
		for (size_t i = 0; i < LENGTH(threads); i++)
			pthread_join(threads[i].thread, NULL);
		for (size_t i = 0; i < LENGTH(events); i++)
			WAIT_FOR(atomic_load(&events[i].closed) == 1);
	}
}

#define WITH_SERVER(test) cmocka_unit_test_setup_teardown(test, open_default, close_fixture)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_SERVER(test_events_arrive_as_they_are_written),
		WITH_SERVER(test_many_writes_arrive_in_order),
		WITH_SERVER(test_a_stream_waits_for_its_turn),
		WITH_SERVER(test_an_empty_stream_and_head),
		WITH_SERVER(test_http_1_0_ends_with_the_connection),
		WITH_SERVER(test_an_end_without_bytes),
		WITH_SERVER(test_a_client_that_leaves),
		WITH_SERVER(test_a_client_gone_before_the_stream_began),
		WITH_SERVER(test_a_client_that_is_too_slow),
		WITH_SERVER(test_drain_ends_streams),
		WITH_SERVER(test_a_crowd_of_streams),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
