/*
 * The DNS resolver of a task, between real sockets: clients, slipway's DNS server and a name server of the machine,
 * both played by the test. Time is the test's.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/memory.h"
#include "runtime/process/supervisor/resolver.h"

#define ADDRESS "127.0.0.1"
#define PATIENCE_MS 60000

enum { NOERROR = 0, SERVFAIL = 2, NXDOMAIN = 3, REFUSED = 5 };

struct fixture {
	struct clock_manual clock;
	struct resolver resolver;
	char folder[64];
	char *address_file;
	int slipway, machine;               /* UDP sockets of the servers */
	int slipway_stream, machine_stream; /* TCP, on the same ports */
};

static int try_bind(int type, uint16_t *port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(*port)};
	socklen_t length = sizeof(address);
	_close_ int server = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	inet_pton(AF_INET, ADDRESS, &address.sin_addr);
	if (bind(server, (struct sockaddr *)&address, sizeof(address)) < 0 ||
		getsockname(server, (struct sockaddr *)&address, &length) < 0 ||
		(type == SOCK_STREAM && listen(server, 8) < 0))
		return -1;
	*port = ntohs(address.sin_port);
	return TAKE_FD(server);
}

/* On a port that is free for both. */
static uint16_t open_server(int *ret_datagrams, int *ret_stream)
{
	for (;;) {
		uint16_t port = 0;
		_close_ int datagrams = try_bind(SOCK_DGRAM, &port);

		assert_true(datagrams >= 0);
		*ret_stream = try_bind(SOCK_STREAM, &port);
		if (*ret_stream >= 0) {
			*ret_datagrams = TAKE_FD(datagrams);
			return port;
		}
	}
}

static void write_address(struct fixture *fixture, uint16_t port)
{
	_free_ char *text = memory_format(ADDRESS ":%u\n", (unsigned)port);

	assert_int_equal(file_replace(fixture->address_file, span_of(text), 0600, NULL), 0);
}

static void write_configuration(struct fixture *fixture, const char *text)
{
	_free_ char *path = memory_format("%s/etc/resolv.conf", fixture->folder);

	assert_int_equal(file_replace(path, span_of(text), 0644, NULL), 0);
}

static int set_up(void **state)
{
	struct fixture *fixture = memory_allocate(sizeof(*fixture));
	_free_ char *etc = NULL;
	struct err err;

	strcpy(fixture->folder, "/tmp/slipway-resolver-XXXXXX");
	assert_non_null(mkdtemp(fixture->folder));
	etc = memory_format("%s/etc", fixture->folder);
	assert_int_equal(mkdir(etc, 0755), 0);
	fixture->address_file = memory_format("%s/.dns", fixture->folder);
	clock_manual_init(&fixture->clock, 1000);
	clock_manual_advance_ms(&fixture->clock, 1000);
	assert_int_equal(resolver_init(&fixture->resolver, fixture->address_file,
				 &fixture->clock.clock, &err),
		0);
	close(fixture->resolver.machine_root);
	fixture->resolver.machine_root = open(fixture->folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	write_address(fixture, open_server(&fixture->slipway, &fixture->slipway_stream));
	fixture->resolver.server_port = open_server(&fixture->machine, &fixture->machine_stream);
	write_configuration(fixture,
		"# by hand\nsearch corp.example\n\tnameserver\t" ADDRESS "\noptions edns0\n");
	assert_int_equal(resolver_listen(&fixture->resolver, ADDRESS, 0, false, &err), 0);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;
	_free_ char *command = memory_format("rm -rf %s", fixture->folder);

	resolver_close(&fixture->resolver);
	memory_close_descriptor(&fixture->slipway);
	memory_close_descriptor(&fixture->machine);
	memory_close_descriptor(&fixture->slipway_stream);
	memory_close_descriptor(&fixture->machine_stream);
	free(fixture->address_file);
	assert_int_equal(system(command), 0);
	free(fixture);
	return 0;
}

/* One turn of the supervisor's loop; waits for an event if there is nothing to do. */
static void turn(struct fixture *fixture)
{
	struct pollfd polls[RESOLVER_DESCRIPTORS_MAX];
	size_t count = resolver_descriptors(&fixture->resolver, polls, LENGTH(polls));

	poll(polls, count, 5);
	for (size_t i = 0; i < count; i++)
		if (polls[i].revents)
			assert_true(resolver_handle(&fixture->resolver, &polls[i]));
	resolver_step(&fixture->resolver);
}

/* Turns until a socket of the test has something to read. */
static void turn_until_readable(struct fixture *fixture, int descriptor)
{
	struct pollfd poll_one = {.fd = descriptor, .events = POLLIN};

	for (int waited = 0; poll(&poll_one, 1, 0) == 0; waited += 5) {
		assert_true(waited < PATIENCE_MS);
		turn(fixture);
	}
}

static void assert_silent(struct fixture *fixture, int descriptor)
{
	struct pollfd poll_one = {.fd = descriptor, .events = POLLIN};

	for (int i = 0; i < 4; i++)
		turn(fixture);
	assert_int_equal(poll(&poll_one, 1, 0), 0);
}

/* A query for the A record of "a.b". */
static const char question[] = "\x01"
			       "a\x01"
			       "b\0\0\x01\0\x01";

static size_t write_message(char *out, uint8_t id, bool answer, int rcode, int records)
{
	memset(out, 0, 12);
	out[1] = (char)id;
	out[2] = answer ? (char)0x81 : 0x01;
	out[3] = (char)rcode;
	out[5] = 1;
	out[7] = (char)records;
	memcpy(out + 12, question, sizeof(question) - 1);
	return 12 + sizeof(question) - 1;
}

static int connect_client(struct fixture *fixture, int type)
{
	int client = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(client, (struct sockaddr *)&fixture->resolver.address,
				 sizeof(fixture->resolver.address)),
		0);
	return client;
}

static void send_query(int client, uint8_t id)
{
	char text[64];
	size_t length = write_message(text, id, false, 0, 0);

	assert_int_equal(send(client, text, length, 0), length);
}

/* A server receives a query and answers it. */
static void serve(struct fixture *fixture, int server, uint8_t id, int rcode, int records)
{
	struct sockaddr_in from;
	socklen_t length = sizeof(from);
	char text[64];

	turn_until_readable(fixture, server);
	assert_true(recvfrom(server, text, sizeof(text), 0, (struct sockaddr *)&from, &length) >
		    12);
	assert_int_equal(text[1], id);
	assert_int_equal(text[2] & 0x80, 0);
	assert_true(sendto(server, text, write_message(text, id, true, rcode, records), 0,
			    (struct sockaddr *)&from, length) > 0);
}

static void assert_answer(struct fixture *fixture, int client, uint8_t id, int rcode, int records)
{
	char text[64];

	turn_until_readable(fixture, client);
	assert_true(recv(client, text, sizeof(text), 0) >= 12);
	assert_int_equal(text[1], id);
	assert_int_equal(text[2] & 0x80, 0x80);
	assert_int_equal(text[3] & 0x0f, rcode);
	assert_int_equal(text[7], records);
}

static void test_a_name_of_slipway(void **state)
{
	struct fixture *fixture = *state;
	_close_ int client = connect_client(fixture, SOCK_DGRAM);

	send_query(client, 7);
	serve(fixture, fixture->slipway, 7, NOERROR, 1);
	assert_answer(fixture, client, 7, NOERROR, 1);
	send_query(client, 8);
	serve(fixture, fixture->slipway, 8, NXDOMAIN, 0);
	assert_answer(fixture, client, 8, NXDOMAIN, 0);
	assert_silent(fixture, fixture->machine);
	assert_int_equal(resolver_next_us(&fixture->resolver), INT64_MAX);
}

static void test_a_name_of_the_machine(void **state)
{
	struct fixture *fixture = *state;
	_close_ int client = connect_client(fixture, SOCK_DGRAM);

	send_query(client, 1);
	serve(fixture, fixture->slipway, 1, REFUSED, 0);
	serve(fixture, fixture->machine, 1, NXDOMAIN, 0);
	assert_answer(fixture, client, 1, NXDOMAIN, 0);
	/* Without a DNS server of slipway. */
	assert_int_equal(unlink(fixture->address_file), 0);
	send_query(client, 2);
	serve(fixture, fixture->machine, 2, NOERROR, 2);
	assert_answer(fixture, client, 2, NOERROR, 2);
}

static void test_the_next_name_server(void **state)
{
	struct fixture *fixture = *state;
	_close_ int client = connect_client(fixture, SOCK_DGRAM);

	/* The first one does not answer, the second one refuses datagrams. */
	write_configuration(fixture,
		"nameserver " ADDRESS "\nnameserver 127.0.0.2\nnameserver " ADDRESS);
	send_query(client, 1);
	serve(fixture, fixture->slipway, 1, REFUSED, 0);
	turn_until_readable(fixture, fixture->machine);
	clock_manual_advance_ms(&fixture->clock, RESOLVER_SERVER_US / 1000);
	assert_true(recv(fixture->machine, (char[64]){0}, 64, 0) > 12);
	serve(fixture, fixture->machine, 1, NOERROR, 1);
	assert_answer(fixture, client, 1, NOERROR, 1);
	/* None is left. */
	write_configuration(fixture, "nameserver 127.0.0.2\n");
	send_query(client, 2);
	serve(fixture, fixture->slipway, 2, REFUSED, 0);
	assert_answer(fixture, client, 2, SERVFAIL, 0);
}

static void test_a_restart_of_slipway(void **state)
{
	struct fixture *fixture = *state;
	_close_ int client = connect_client(fixture, SOCK_DGRAM);

	memory_close_descriptor(&fixture->slipway);
	send_query(client, 1);
	/* The machine does not know the name; slipway may. */
	serve(fixture, fixture->machine, 1, NXDOMAIN, 0);
	assert_silent(fixture, client);
	clock_manual_advance_ms(&fixture->clock, RESOLVER_RETRY_US / 1000);
	assert_silent(fixture, client);
	memory_close_descriptor(&fixture->slipway_stream);
	write_address(fixture, open_server(&fixture->slipway, &fixture->slipway_stream));
	clock_manual_advance_ms(&fixture->clock, RESOLVER_RETRY_US / 1000);
	serve(fixture, fixture->slipway, 1, NOERROR, 1);
	assert_answer(fixture, client, 1, NOERROR, 1);
}

static void test_slipway_is_down(void **state)
{
	struct fixture *fixture = *state;
	_close_ int client = connect_client(fixture, SOCK_DGRAM);

	memory_close_descriptor(&fixture->slipway);
	send_query(client, 1);
	serve(fixture, fixture->machine, 1, NOERROR, 1);
	assert_answer(fixture, client, 1, NOERROR, 1);
	send_query(client, 2);
	serve(fixture, fixture->machine, 2, NXDOMAIN, 0);
	assert_silent(fixture, client);
	clock_manual_advance_ms(&fixture->clock, RESOLVER_HOLD_US / 1000);
	assert_answer(fixture, client, 2, NXDOMAIN, 0);
	write_configuration(fixture, "");
	send_query(client, 3);
	assert_silent(fixture, client);
	clock_manual_advance_ms(&fixture->clock, RESOLVER_HOLD_US / 1000);
	assert_answer(fixture, client, 3, SERVFAIL, 0);
}

static void test_a_lost_datagram(void **state)
{
	struct fixture *fixture = *state;
	_close_ int client = connect_client(fixture, SOCK_DGRAM);

	send_query(client, 1);
	turn_until_readable(fixture, fixture->slipway);
	assert_true(recv(fixture->slipway, (char[64]){0}, 64, 0) > 12);
	assert_silent(fixture, fixture->slipway);
	clock_manual_advance_ms(&fixture->clock, RESOLVER_REPEAT_US / 1000);
	serve(fixture, fixture->slipway, 1, NOERROR, 1);
	assert_answer(fixture, client, 1, NOERROR, 1);
}

static void serve_stream(struct fixture *fixture, int server, uint8_t id, int rcode, int records)
{
	_close_ int connection = -1;
	char text[64];
	size_t length = write_message(text + 2, id, false, 0, 0);

	turn_until_readable(fixture, server);
	connection = accept(server, NULL, NULL);
	for (size_t received = 0; received < length + 2;) {
		ssize_t got;

		turn_until_readable(fixture, connection);
		got = recv(connection, text + received, length + 2 - received, 0);
		assert_true(got > 0);
		received += (size_t)got;
	}
	assert_int_equal(text[3], id);
	length = write_message(text + 2, id, true, rcode, records);
	text[0] = 0;
	text[1] = (char)length;
	/* In two pieces. */
	assert_int_equal(send(connection, text, 5, 0), 5);
	turn(fixture);
	assert_int_equal(send(connection, text + 5, length - 3, 0), length - 3);
	turn(fixture);
}

static void assert_stream_answer(struct fixture *fixture, int client, uint8_t id, int rcode)
{
	char text[64];
	size_t length = write_message(text, id, false, 0, 0) + 2;

	turn_until_readable(fixture, client);
	assert_int_equal(recv(client, text, length, MSG_WAITALL), length);
	assert_int_equal(text[3], id);
	assert_int_equal(text[5] & 0x0f, rcode);
}

static void test_streams(void **state)
{
	struct fixture *fixture = *state;
	_close_ int client = connect_client(fixture, SOCK_STREAM);
	char text[128];
	size_t length = write_message(text + 2, 1, false, 0, 0), whole = length + 2;

	text[0] = 0;
	text[1] = (char)length;
	memcpy(text + whole, text, whole);
	text[whole + 3] = 2;
	/* Two queries at once: the second one is answered after the first one. */
	assert_int_equal(send(client, text, 2 * whole, 0), 2 * whole);
	serve_stream(fixture, fixture->slipway_stream, 1, NOERROR, 1);
	assert_stream_answer(fixture, client, 1, NOERROR);
	serve_stream(fixture, fixture->slipway_stream, 2, REFUSED, 0);
	serve_stream(fixture, fixture->machine_stream, 2, NXDOMAIN, 0);
	assert_stream_answer(fixture, client, 2, NXDOMAIN);
}

static void test_limits(void **state)
{
	struct fixture *fixture = *state;
	_close_ int client = connect_client(fixture, SOCK_DGRAM);
	size_t received = 0;

	for (int i = 0; i < RESOLVER_QUERIES_MAX + 8; i++) {
		send_query(client, (uint8_t)i);
		turn(fixture);
	}
	for (struct pollfd one = {.fd = fixture->slipway, .events = POLLIN}; poll(&one, 1, 0) > 0;
		received++)
		assert_true(recv(fixture->slipway, (char[64]){0}, 64, 0) > 12);
	assert_int_equal(received, RESOLVER_QUERIES_MAX);
	/* No queries: too short, and an answer. */
	assert_int_equal(send(client, "abc", 3, 0), 3);
	turn(fixture);
	clock_manual_advance_ms(&fixture->clock, RESOLVER_HOLD_US / 1000);
	turn(fixture);
	assert_int_equal(resolver_next_us(&fixture->resolver), INT64_MAX);
}

static void test_the_configuration(void **state)
{
	struct fixture *fixture = *state;
	_buffer_ struct buffer text = {0};

	resolver_write_configuration(&fixture->resolver, "127.0.0.9", &text);
	assert_string_equal(text.data,
		"nameserver 127.0.0.9\n# by hand\nsearch corp.example\noptions edns0\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_name_of_slipway, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_name_of_the_machine, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_the_next_name_server, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_restart_of_slipway, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_slipway_is_down, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_lost_datagram, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_streams, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_limits, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_the_configuration, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
