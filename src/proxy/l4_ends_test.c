/* Ends of connections through the engine: bytes that were sent before an end or a reset are not
 * lost, however slowly they are read. */
#include "proxy/test_plane.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>

#define MUCH (4u * 1024 * 1024)
#define SOME (300u * 1024)
#define SMALL_BUFFER 8192

static int setup(void **state)
{
	return test_plane_setup(state, 1);
}

static void open_plane(struct test_plane *plane, test_serve serve)
{
	test_backend_start(&plane->backends[0], 'A', serve);
	test_backend_start(&plane->backends[1], 'B', serve);
	test_plane_open(plane, PROXY_TCP, 1, 0);
}

/* A client with a small receive buffer: unread bytes wait in the engine. */
static int connect_narrow(unsigned port)
{
	union proxy_address address = test_loopback(port);
	int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int small = SMALL_BUFFER;

	assert_true(descriptor >= 0);
	test_set_deadline(descriptor);
	setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	assert_int_equal(connect(descriptor, &address.any, sizeof(address.v4)), 0);
	return descriptor;
}

static uint8_t byte_at(size_t position)
{
	return (uint8_t)(position * 131 + (position >> 8));
}

static size_t send_pattern(int descriptor, size_t size)
{
	uint8_t data[4096];
	size_t sent = 0;

	while (sent < size) {
		size_t part = size - sent < sizeof(data) ? size - sent : sizeof(data);

		for (size_t i = 0; i < part; i++)
			data[i] = byte_at(sent + i);
		if (!test_send_all(descriptor, data, part))
			break;
		sent += part;
	}
	return sent;
}

/* Number of correct bytes; errno is 0 after an end, ECONNRESET after a reset. */
static size_t receive_pattern(int descriptor)
{
	uint8_t data[4096];
	size_t got = 0;
	ssize_t part;

	while ((part = recv(descriptor, data, sizeof(data), 0)) > 0) {
		for (ssize_t i = 0; i < part; i++) {
			if (data[i] != byte_at(got + (size_t)i))
				abort();
		}
		got += (size_t)part;
	}
	if (part == 0)
		errno = 0;
	return got;
}

static void close_abruptly(int descriptor)
{
	const struct linger abrupt = {.l_onoff = 1};
	int unsent = 1;

	/* The other side's kernel has the bytes; a reset discards the rest. */
	while (ioctl(descriptor, SIOCOUTQ, &unsent) == 0 && unsent > 0)
		test_pause();
	setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &abrupt, sizeof(abrupt));
	close(descriptor);
}

static void serve_much(struct test_backend *backend, int descriptor)
{
	atomic_fetch_add(&backend->sum, send_pattern(descriptor, MUCH));
}

static void test_all_is_there_when_the_target_closes(void **state)
{
	struct test_plane *plane = *state;
	int client;

	open_plane(plane, serve_much);
	client = connect_narrow(plane->port);
	TEST_WAIT_UNTIL(test_web_counters(plane).connections == 1);
	assert_int_equal(receive_pattern(client), MUCH);
	assert_int_equal(errno, 0);
	close(client);
	TEST_WAIT_UNTIL(test_web_counters(plane).active == 0);
	assert_int_equal(test_web_counters(plane).resets, 0);
}

/* Reads only when this is set: by then the client is gone. */
static atomic_bool may_read;

static void serve_reader(struct test_backend *backend, int descriptor)
{
	size_t got;

	while (!atomic_load(&may_read) && !atomic_load(&backend->stopping))
		test_pause();
	got = receive_pattern(descriptor);
	/* Odd: after a reset. */
	atomic_fetch_add(&backend->sum, got * 2 + (errno == ECONNRESET));
	atomic_fetch_add(&backend->served, 1);
}

static void test_all_is_there_when_the_client_closes(void **state)
{
	struct test_plane *plane = *state;
	int client;

	atomic_store(&may_read, false);
	open_plane(plane, serve_reader);
	client = test_connect(plane->port);
	assert_int_equal(send_pattern(client, SOME), SOME);
	close(client);
	atomic_store(&may_read, true);
	TEST_WAIT_UNTIL(atomic_load(&plane->backends[0].served) == 2);
	assert_int_equal(atomic_load(&plane->backends[0].sum), SOME * 2);
	TEST_WAIT_UNTIL(test_web_counters(plane).active == 0);
	assert_int_equal(test_web_counters(plane).resets, 0);
	assert_int_equal(test_web_counters(plane).bytes_in, SOME);
}

static void test_all_is_there_when_the_client_resets(void **state)
{
	struct test_plane *plane = *state;
	int client;

	atomic_store(&may_read, false);
	open_plane(plane, serve_reader);
	client = test_connect(plane->port);
	assert_int_equal(send_pattern(client, SOME), SOME);
	close_abruptly(client);
	TEST_WAIT_UNTIL(test_web_counters(plane).resets == 1);
	atomic_store(&may_read, true);
	TEST_WAIT_UNTIL(atomic_load(&plane->backends[0].served) == 2);
	assert_int_equal(atomic_load(&plane->backends[0].sum), SOME * 2 + 1);
	TEST_WAIT_UNTIL(test_web_counters(plane).active == 0);
}

/* Ends its own direction first, and then listens to the other. */
static void serve_half(struct test_backend *backend, int descriptor)
{
	send_pattern(descriptor, SOME);
	shutdown(descriptor, SHUT_WR);
	atomic_fetch_add(&backend->sum, receive_pattern(descriptor));
	atomic_fetch_add(&backend->served, 1);
}

static void test_target_ends_its_direction_first(void **state)
{
	struct test_plane *plane = *state;
	int client;

	open_plane(plane, serve_half);
	client = connect_narrow(plane->port);
	assert_int_equal(receive_pattern(client), SOME);
	assert_int_equal(errno, 0);
	assert_int_equal(send_pattern(client, MUCH), MUCH);
	close(client);
	TEST_WAIT_UNTIL(atomic_load(&plane->backends[0].served) == 2);
	assert_int_equal(atomic_load(&plane->backends[0].sum), MUCH);
	assert_int_equal(test_web_counters(plane).resets, 0);
}

/* Responds before it has read the request, and closes: that is a reset, with the response before
 * it. */
static void serve_early_answer(struct test_backend *backend, int descriptor)
{
	char byte;

	if (recv(descriptor, &byte, 1, 0) != 1)
		return;
	atomic_fetch_add(&backend->sum, send_pattern(descriptor, SOME));
	close_abruptly(dup(descriptor));
	shutdown(descriptor, SHUT_RDWR);
}

static void *send_forever_main(void *context)
{
	int descriptor = *(int *)context;

	send_pattern(descriptor, SIZE_MAX / 2);
	return NULL;
}

static void test_early_answer_arrives_while_the_client_still_sends(void **state)
{
	struct test_plane *plane = *state;
	pthread_t sender;
	int client;

	open_plane(plane, serve_early_answer);
	for (int round = 0; round < 3; round++) {
		client = connect_narrow(plane->port);
		assert_int_equal(pthread_create(&sender, NULL, send_forever_main, &client), 0);
		assert_int_equal(receive_pattern(client), SOME);
		/* The first caller gets the reset: this one or the sender. */
		assert_true(errno == ECONNRESET || errno == 0);
		pthread_join(sender, NULL);
		close(client);
	}
	TEST_WAIT_UNTIL(test_web_counters(plane).active == 0);
	assert_int_equal(test_web_counters(plane).resets, 3);
}

/* ---- bulk: received bytes equal sent bytes ---- */

static void fill_text(uint64_t *words, size_t count, uint64_t position)
{
	for (size_t i = 0; i < count; i++)
		words[i] = (position + i) * UINT64_C(0x9e3779b97f4a7c15);
}

#define BULK_UP (256u * 1024 * 1024)
#define BULK_DOWN (1024u * 1024 * 1024)
#define BULK_WORDS 8192

static bool send_bulk(int descriptor, size_t size)
{
	static _Thread_local uint64_t words[BULK_WORDS];

	for (size_t at = 0; at < size / 8; at += BULK_WORDS) {
		fill_text(words, BULK_WORDS, at);
		if (!test_send_all(descriptor, words, sizeof(words)))
			return false;
	}
	return shutdown(descriptor, SHUT_WR) == 0;
}

static bool receive_bulk(int descriptor, size_t size)
{
	static _Thread_local uint64_t words[BULK_WORDS], wanted[BULK_WORDS];

	for (size_t at = 0; at < size / 8; at += BULK_WORDS) {
		if (!test_receive_all(descriptor, words, sizeof(words)))
			return false;
		fill_text(wanted, BULK_WORDS, at);
		if (memcmp(words, wanted, sizeof(words)) != 0)
			return false;
	}
	return recv(descriptor, words, 1, 0) == 0;
}

static void *send_up_main(void *context)
{
	return send_bulk(*(int *)context, BULK_UP) ? context : NULL;
}

static void *send_down_main(void *context)
{
	return send_bulk(*(int *)context, BULK_DOWN) ? context : NULL;
}

static void serve_bulk(struct test_backend *backend, int descriptor)
{
	pthread_t sender;
	void *sent;

	if (pthread_create(&sender, NULL, send_down_main, &descriptor) != 0)
		abort();
	if (receive_bulk(descriptor, BULK_UP))
		atomic_fetch_add(&backend->sum, 1);
	pthread_join(sender, &sent);
	if (sent)
		atomic_fetch_add(&backend->sum, 1);
}

static void test_bulk_is_the_same_both_ways(void **state)
{
	struct test_plane *plane = *state;
	struct proxy_counters counters;
	pthread_t sender;
	void *sent;
	int client;

	open_plane(plane, serve_bulk);
	client = test_connect(plane->port);
	assert_int_equal(pthread_create(&sender, NULL, send_up_main, &client), 0);
	assert_true(receive_bulk(client, BULK_DOWN));
	pthread_join(sender, &sent);
	assert_non_null(sent);
	close(client);
	TEST_WAIT_UNTIL(atomic_load(&plane->backends[0].sum) == 2);
	TEST_WAIT_UNTIL(test_web_counters(plane).active == 0);
	counters = test_web_counters(plane);
	assert_int_equal(counters.bytes_in, BULK_UP);
	assert_int_equal(counters.bytes_out, BULK_DOWN);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, test_plane_teardown)

static const struct CMUnitTest tests[] = {
	TEST(test_all_is_there_when_the_target_closes),
	TEST(test_all_is_there_when_the_client_closes),
	TEST(test_all_is_there_when_the_client_resets),
	TEST(test_target_ends_its_direction_first),
	TEST(test_early_answer_arrives_while_the_client_still_sends),
	TEST(test_bulk_is_the_same_both_ways),
};

TEST_PLANE_MAIN("proxy/l4 ends", tests)
