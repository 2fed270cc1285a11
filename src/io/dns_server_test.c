/* The server over real sockets: UDP, TCP, limits, and upstreams that help, lie, or are silent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "io/dns_server.h"
#include "io/test_dns_zone.h"

#define PATIENCE_MS 60000
#define REPLY_MAX 65535

struct fixture {
	struct test_zone zone;
	struct dns_server_config config;
	struct dns_server *server;
	uint8_t reply[REPLY_MAX];
	size_t length;
	struct dns_header header;
};

static int set_up(void **state)
{
	struct fixture *fixture = memory_allocate(sizeof(*fixture));

	test_zone_open(&fixture->zone);
	fixture->config.lookup = test_zone_lookup;
	fixture->config.context = &fixture->zone;
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	dns_server_close(fixture->server);
	test_zone_close(&fixture->zone);
	free(fixture);
	return 0;
}

static void open_server(struct fixture *fixture)
{
	struct err err;

	if (dns_server_open(&fixture->config, &fixture->server, &err) < 0)
		fail_msg("%s", err.message);
}

static struct dns_statistics statistics(const struct fixture *fixture)
{
	struct dns_statistics counted;

	dns_server_statistics(fixture->server, &counted);
	return counted;
}

/* ---- clients ---- */

static struct sockaddr_in local(uint16_t port)
{
	return (struct sockaddr_in){.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static int connected(int type, uint16_t port)
{
	struct sockaddr_in address = local(port);
	int descriptor = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	assert_true(descriptor >= 0);
	assert_int_equal(connect(descriptor, (struct sockaddr *)&address, sizeof(address)), 0);
	return descriptor;
}

static int to_server(const struct fixture *fixture, int type)
{
	return connected(type, dns_server_port(fixture->server));
}

static size_t write_query(uint8_t *out, uint16_t id, const char *name, uint16_t type,
	uint16_t edns_size)
{
	struct dns_question question = {.type = type, .class = DNS_CLASS_IN};
	struct dns_header header = {id, DNS_FLAG_RD, {1, 0, 0, edns_size > 0}};
	struct dns_writer writer;

	test_parse(name, &question.name);
	dns_writer_init(&writer, out, 512);
	dns_write_header(&writer, 0, 0);
	dns_write_question(&writer, &question);
	if (edns_size > 0)
		dns_write_opt(&writer, edns_size, 0, false);
	dns_writer_set_header(&writer, &header);
	return writer.length;
}

static bool readable(int descriptor, int patience_ms)
{
	struct pollfd polled = {.fd = descriptor, .events = POLLIN};

	return poll(&polled, 1, patience_ms) == 1;
}

static void parse_reply(struct fixture *fixture)
{
	struct dns_reader reader = {fixture->reply, fixture->length, 0};

	assert_true(dns_read_header(&reader, &fixture->header));
}

static void receive_udp(struct fixture *fixture, int descriptor)
{
	ssize_t got;

	assert_true(readable(descriptor, PATIENCE_MS));
	got = recv(descriptor, fixture->reply, sizeof(fixture->reply), 0);
	assert_true(got > 0);
	fixture->length = (size_t)got;
	parse_reply(fixture);
}

static void ask_udp(struct fixture *fixture, const char *name, uint16_t type, uint16_t edns_size)
{
	_close_ int descriptor = to_server(fixture, SOCK_DGRAM);
	uint8_t query[512];
	size_t length = write_query(query, 77, name, type, edns_size);

	assert_int_equal(send(descriptor, query, length, 0), length);
	receive_udp(fixture, descriptor);
	assert_int_equal(fixture->header.id, 77);
}

static void read_whole(int descriptor, uint8_t *out, size_t length)
{
	while (length > 0) {
		ssize_t got;

		assert_true(readable(descriptor, PATIENCE_MS));
		got = recv(descriptor, out, length, 0);
		assert_true(got > 0);
		out += got;
		length -= (size_t)got;
	}
}

static void receive_tcp(struct fixture *fixture, int descriptor)
{
	uint8_t prefix[2];

	read_whole(descriptor, prefix, 2);
	fixture->length = (size_t)prefix[0] << 8 | prefix[1];
	read_whole(descriptor, fixture->reply, fixture->length);
	parse_reply(fixture);
}

static size_t write_framed(uint8_t *out, uint16_t id, const char *name, uint16_t type)
{
	size_t length = write_query(out + 2, id, name, type, 0);

	out[0] = (uint8_t)(length >> 8);
	out[1] = (uint8_t)length;
	return length + 2;
}

static void send_tcp(int descriptor, uint16_t id, const char *name, uint16_t type)
{
	uint8_t query[514];
	size_t length = write_framed(query, id, name, type);

	assert_int_equal(send(descriptor, query, length, MSG_NOSIGNAL), length);
}

/* The server closes the connection (a reset counts). */
static bool is_closed_by_server(int descriptor)
{
	uint8_t byte;

	return readable(descriptor, PATIENCE_MS) && recv(descriptor, &byte, 1, 0) <= 0;
}

static unsigned rcode(const struct fixture *fixture)
{
	return fixture->header.flags & DNS_FLAG_RCODE;
}

/* ---- plain service ---- */

static void test_udp_and_tcp(void **state)
{
	struct fixture *fixture = *state;
	_close_ int tcp = -1;

	open_server(fixture);
	ask_udp(fixture, "web.example.test", DNS_TYPE_A, 0);
	assert_int_equal(fixture->header.counts[1], 2);
	ask_udp(fixture, "nothing.example.test", DNS_TYPE_A, 0);
	assert_int_equal(rcode(fixture), DNS_RCODE_NXDOMAIN);
	ask_udp(fixture, "unrelated.test", DNS_TYPE_A, 0);
	assert_int_equal(rcode(fixture), DNS_RCODE_REFUSED);
	ask_udp(fixture, "big.example.test", DNS_TYPE_A, 4096);
	assert_true(fixture->header.flags & DNS_FLAG_TC);
	tcp = to_server(fixture, SOCK_STREAM);
	send_tcp(tcp, 5, "big.example.test", DNS_TYPE_A);
	receive_tcp(fixture, tcp);
	assert_int_equal(fixture->header.id, 5);
	assert_int_equal(fixture->header.counts[1], TEST_BIG_COUNT);
	assert_int_equal(statistics(fixture).queries_udp, 4);
	assert_int_equal(statistics(fixture).queries_tcp, 1);
	assert_int_equal(statistics(fixture).truncated, 1);
}

static void test_ipv6_and_any_address(void **state)
{
	static const char *const addresses[] = {"0.0.0.0", "::1", "::"};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < LENGTH(addresses); i++) {
		struct sockaddr_in6 six = {
			.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
		uint8_t query[512];
		size_t length = write_query(query, 9, "web.example.test", DNS_TYPE_A, 0);
		_close_ int descriptor = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		struct err err;

		fixture->config.address = addresses[i];
		if (descriptor < 0 && i > 0)
			return; /* a machine without IPv6 */
		if (dns_server_open(&fixture->config, &fixture->server, &err) < 0) {
			assert_int_equal(err.code, -EADDRNOTAVAIL);
			return;
		}
		if (i != 1) {
			ask_udp(fixture, "web.example.test", DNS_TYPE_A, 0);
			assert_int_equal(fixture->header.counts[1], 2);
		}
		if (i != 0) {
			six.sin6_port = htons(dns_server_port(fixture->server));
			assert_int_equal(connect(descriptor, (struct sockaddr *)&six, sizeof(six)),
				0);
			assert_int_equal(send(descriptor, query, length, 0), length);
			receive_udp(fixture, descriptor);
			assert_int_equal(fixture->header.counts[1], 2);
		}
		dns_server_close(fixture->server);
		fixture->server = NULL;
	}
}

/* Many clients, all answered, whichever thread has them. Each has at most one query under way, so that
 * no buffer can run over. */
static void test_threads(void **state)
{
	struct fixture *fixture = *state;
	int clients[64];
	struct dns_statistics counted;

	fixture->config.threads = 4;
	open_server(fixture);
	for (size_t i = 0; i < LENGTH(clients); i++)
		clients[i] = to_server(fixture, i % 4 == 3 ? SOCK_STREAM : SOCK_DGRAM);
	for (unsigned round = 0; round < 30; round++) {
		for (size_t i = 0; i < LENGTH(clients); i++) {
			uint8_t query[514];
			size_t length =
				write_framed(query, (uint16_t)i, "web.example.test", DNS_TYPE_A);
			size_t skip = i % 4 == 3 ? 0 : 2;

			assert_int_equal(send(clients[i], query + skip, length - skip, 0),
				length - skip);
		}
		for (size_t i = 0; i < LENGTH(clients); i++) {
			if (i % 4 == 3)
				receive_tcp(fixture, clients[i]);
			else
				receive_udp(fixture, clients[i]);
			assert_int_equal(fixture->header.id, i);
			assert_int_equal(fixture->header.counts[1], 2);
		}
	}
	counted = statistics(fixture);
	assert_int_equal(counted.queries_udp, 48 * 30);
	assert_int_equal(counted.queries_tcp, 16 * 30);
	assert_int_equal(counted.answered, 64 * 30);
	assert_int_equal(counted.connections_open, 16);
	for (size_t i = 0; i < LENGTH(clients); i++)
		close(clients[i]);
}

/* Exactly the weights, although four threads answer. */
static void test_weights_over_threads(void **state)
{
	struct fixture *fixture = *state;
	unsigned requested[3] = {0};

	fixture->config.threads = 4;
	open_server(fixture);
	for (unsigned i = 0; i < 1000; i++) {
		ask_udp(fixture, "weighted.example.test", DNS_TYPE_A, 0);
		assert_in_range(fixture->reply[fixture->length - 1], 0, 2);
		requested[fixture->reply[fixture->length - 1]]++;
	}
	assert_int_equal(requested[0], 700);
	assert_int_equal(requested[1], 299);
	assert_int_equal(requested[2], 1);
}

/* ---- TCP ---- */

static void test_pipelining_in_pieces(void **state)
{
	struct fixture *fixture = *state;
	_close_ int tcp = -1;
	uint8_t queries[200 * 64];
	size_t length = 0;

	open_server(fixture);
	tcp = to_server(fixture, SOCK_STREAM);
	for (uint16_t i = 0; i < 200; i++)
		length += write_framed(queries + length, i, "web.example.test", DNS_TYPE_A);
	for (size_t at = 0, part = 1; at < length; at += part, part = part % 97 + 1) {
		if (part > length - at)
			part = length - at;
		assert_int_equal(send(tcp, queries + at, part, MSG_NOSIGNAL), part);
	}
	/* The client says that it is done; all answers come, then the end. */
	shutdown(tcp, SHUT_WR);
	for (uint16_t i = 0; i < 200; i++) {
		receive_tcp(fixture, tcp);
		assert_int_equal(fixture->header.id, i);
	}
	assert_true(is_closed_by_server(tcp));
}

/* A client that asks a lot and takes nothing is not read further, and loses nothing. */
static void test_answers_that_wait(void **state)
{
	struct fixture *fixture = *state;
	_close_ int tcp = -1;
	uint8_t query[514];
	size_t length = write_framed(query, 1, "big.example.test", DNS_TYPE_A);
	size_t at = 0;
	unsigned sent = 0;
	int small = 4096;

	fixture->config.limits.idle_ms = PATIENCE_MS;
	open_server(fixture);
	tcp = to_server(fixture, SOCK_STREAM);
	setsockopt(tcp, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	/* Until the kernel takes no more for a while: the server has stopped to read. */
	while (sent < 200000) {
		struct pollfd polled = {.fd = tcp, .events = POLLOUT};
		ssize_t got;

		if (poll(&polled, 1, 300) == 0)
			break;
		got = send(tcp, query + at, length - at, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (got < 0)
			continue;
		at += (size_t)got;
		if (at == length) {
			at = 0;
			sent++;
		}
	}
	assert_in_range(sent, 1, 199999);
	for (unsigned i = 0; i < sent; i++) {
		receive_tcp(fixture, tcp);
		assert_int_equal(fixture->header.counts[1], TEST_BIG_COUNT);
	}
}

static void test_what_is_not_dns_is_cut(void **state)
{
	static const char *const texts[] = {"\0\0", "\0\5hello", "\0\13GET / HTTP/"};
	struct fixture *fixture = *state;

	open_server(fixture);
	for (size_t i = 0; i < LENGTH(texts); i++) {
		_close_ int tcp = to_server(fixture, SOCK_STREAM);
		size_t length = 2 + (size_t)(uint8_t)texts[i][1];

		assert_int_equal(send(tcp, texts[i], length, MSG_NOSIGNAL), length);
		assert_true(is_closed_by_server(tcp));
	}
}

/* Bytes that trickle in do not prolong a connection; whole queries do. */
static void test_slow_clients_are_cut(void **state)
{
	struct fixture *fixture = *state;
	_close_ int idle = -1, trickling = -1;
	uint8_t query[514];
	bool closed = false;

	fixture->config.limits.idle_ms = 300;
	open_server(fixture);
	idle = to_server(fixture, SOCK_STREAM);
	trickling = to_server(fixture, SOCK_STREAM);
	write_framed(query, 1, "web.example.test", DNS_TYPE_A);
	for (size_t i = 0; i < 30 && !closed; i++) {
		if (send(trickling, query + i, 1, MSG_NOSIGNAL) < 0)
			break;
		closed = readable(trickling, 50);
	}
	assert_true(is_closed_by_server(trickling));
	assert_true(is_closed_by_server(idle));
	assert_int_equal(statistics(fixture).connections_expired, 2);
}

/* Nor does a client stay that never takes its answers. */
static void test_clients_that_take_nothing_are_cut(void **state)
{
	struct fixture *fixture = *state;
	_close_ int tcp = -1;
	uint8_t query[514];
	size_t length = write_framed(query, 1, "big.example.test", DNS_TYPE_A);

	fixture->config.limits.idle_ms = 300;
	open_server(fixture);
	tcp = to_server(fixture, SOCK_STREAM);
	/* Until the connection is reset. */
	while (send(tcp, query, length, MSG_NOSIGNAL) > 0)
		;
	while (statistics(fixture).connections_open > 0)
		usleep(1000);
	assert_int_equal(statistics(fixture).connections_expired, 1);
}

static void test_connections_are_limited(void **state)
{
	struct fixture *fixture = *state;
	int clients[8];

	fixture->config.limits.connections_max = 4;
	fixture->config.limits.idle_ms = PATIENCE_MS;
	open_server(fixture);
	for (size_t i = 0; i < LENGTH(clients); i++) {
		clients[i] = to_server(fixture, SOCK_STREAM);
		send_tcp(clients[i], 1, "web.example.test", DNS_TYPE_A);
		receive_tcp(fixture, clients[i]);
		/* The first client stays busy: others make room. */
		send_tcp(clients[0], 2, "web.example.test", DNS_TYPE_A);
		receive_tcp(fixture, clients[0]);
	}
	for (size_t i = 1; i < 5; i++)
		assert_true(is_closed_by_server(clients[i]));
	assert_int_equal(statistics(fixture).connections_open, 4);
	assert_int_equal(statistics(fixture).connections_refused, 4);
	for (size_t i = 0; i < LENGTH(clients); i++)
		close(clients[i]);
}

static void test_connections_of_one_address_are_limited(void **state)
{
	struct fixture *fixture = *state;
	_close_ int first = -1, second = -1, third = -1;

	fixture->config.limits.connections_per_address = 2;
	fixture->config.limits.idle_ms = PATIENCE_MS;
	fixture->config.limit_loopback = true;
	open_server(fixture);
	first = to_server(fixture, SOCK_STREAM);
	second = to_server(fixture, SOCK_STREAM);
	send_tcp(second, 1, "web.example.test", DNS_TYPE_A);
	receive_tcp(fixture, second);
	third = to_server(fixture, SOCK_STREAM);
	assert_true(is_closed_by_server(third));
	send_tcp(first, 1, "web.example.test", DNS_TYPE_A);
	receive_tcp(fixture, first);
}

/* ---- rates ---- */

static void test_answers_are_limited_in_rate(void **state)
{
	struct fixture *fixture = *state;
	_close_ int udp = -1, tcp = -1;
	uint8_t query[512];
	size_t length = write_query(query, 1, "web.example.test", DNS_TYPE_A, 0);
	struct dns_statistics counted = {0};
	unsigned requested = 0;

	fixture->config.limits.rate = 1;
	fixture->config.limit_loopback = true;
	open_server(fixture);
	udp = to_server(fixture, SOCK_DGRAM);
	while (counted.slipped < 3) {
		assert_int_equal(send(udp, query, length, 0), length);
		requested++;
		do {
			usleep(500);
			counted = statistics(fixture);
		} while (counted.answered + counted.limited + counted.slipped < requested);
	}
	/* At least the first was whole; slips are bare and truncated. */
	assert_true(counted.answered >= 1);
	for (unsigned i = 0; i < counted.answered + counted.slipped; i++) {
		bool truncated;

		receive_udp(fixture, udp);
		truncated = fixture->header.flags & DNS_FLAG_TC;
		assert_int_equal(fixture->header.counts[1], truncated ? 0 : 2);
		assert_true(!truncated || fixture->length == length);
	}
	/* TCP is not limited: its source addresses are not forged. */
	tcp = to_server(fixture, SOCK_STREAM);
	for (unsigned i = 0; i < 100; i++) {
		send_tcp(tcp, 1, "web.example.test", DNS_TYPE_A);
		receive_tcp(fixture, tcp);
		assert_int_equal(fixture->header.counts[1], 2);
	}
}

static void test_loopback_is_not_limited(void **state)
{
	struct fixture *fixture = *state;

	fixture->config.limits.rate = 5;
	open_server(fixture);
	for (unsigned i = 0; i < 50; i++) {
		ask_udp(fixture, "web.example.test", DNS_TYPE_A, 0);
		assert_int_equal(fixture->header.counts[1], 2);
	}
}

/* ---- upstreams ---- */

static enum dns_outcome lookup_unrelated(void *context, const struct dns_name *name, uint16_t type,
	struct dns_answer *answer)
{
	struct dns_name zone;
	unsigned count = name->bytes[1] == 'b' ? 100 : 1; /* big, www */

	(void)context;
	(void)type;
	test_parse("unrelated.test", &zone);
	if (!dns_name_is_below(name, &zone))
		return DNS_NOT_OURS;
	if (name->bytes[1] == 'n')
		return DNS_NO_SUCH_NAME;
	for (unsigned i = 0; i < count; i++)
		dns_answer_add_a(answer, DNS_SECTION_ANSWER, NULL, 60,
			(uint8_t[]){198, 51, 100, (uint8_t)(i + 1)});
	return DNS_FOUND;
}

static struct dns_server *open_upstream(char ret_address[32])
{
	const struct dns_server_config config = {.lookup = lookup_unrelated};
	struct dns_server *upstream;
	struct err err;

	if (dns_server_open(&config, &upstream, &err) < 0)
		fail_msg("%s", err.message);
	snprintf(ret_address, 32, "127.0.0.1:%u", dns_server_port(upstream));
	return upstream;
}

/* A UDP socket that the test answers with, or does not. */
static int open_mute(char ret_address[32])
{
	struct sockaddr_in address = local(0);
	socklen_t size = sizeof(address);
	int descriptor = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(descriptor, (struct sockaddr *)&address, size), 0);
	assert_int_equal(getsockname(descriptor, (struct sockaddr *)&address, &size), 0);
	snprintf(ret_address, 32, "127.0.0.1:%u", ntohs(address.sin_port));
	return descriptor;
}

static void test_forwarding(void **state)
{
	struct fixture *fixture = *state;
	char address[32];
	struct dns_server *upstream = open_upstream(address);
	const char *const upstreams[] = {address};
	_close_ int tcp = -1;

	fixture->config.upstreams = upstreams;
	fixture->config.upstream_count = 1;
	fixture->config.limits.forward_ms = PATIENCE_MS;
	fixture->config.limits.idle_ms = PATIENCE_MS;
	open_server(fixture);
	ask_udp(fixture, "wWw.unrelated.test", DNS_TYPE_A, 0);
	assert_int_equal(fixture->header.counts[1], 1);
	assert_int_equal(fixture->header.counts[3], 0);
	assert_true(fixture->header.flags & DNS_FLAG_RA);
	assert_int_equal(fixture->header.flags & DNS_FLAG_AA, 0);
	assert_memory_equal(fixture->reply + 12, "\3wWw\11unrelated", 14);
	assert_memory_equal(fixture->reply + fixture->length - 4, "\306\63\144\1", 4);
	/* Negative. */
	ask_udp(fixture, "nothing.unrelated.test", DNS_TYPE_A, 1232);
	assert_int_equal(rcode(fixture), DNS_RCODE_NXDOMAIN);
	assert_int_equal(fixture->header.counts[3], 1);
	/* An alias that leaves our zone. */
	ask_udp(fixture, "outside.example.test", DNS_TYPE_A, 1232);
	assert_int_equal(fixture->header.counts[1], 2);
	/* Truncated upstream: fetched by TCP there, truncated for UDP, whole for TCP. */
	ask_udp(fixture, "big.unrelated.test", DNS_TYPE_A, 1232);
	assert_true(fixture->header.flags & DNS_FLAG_TC);
	assert_int_equal(fixture->header.counts[1], 0);
	tcp = to_server(fixture, SOCK_STREAM);
	send_tcp(tcp, 3, "big.unrelated.test", DNS_TYPE_A);
	receive_tcp(fixture, tcp);
	assert_int_equal(fixture->header.id, 3);
	assert_int_equal(fixture->header.counts[1], 100);
	/* Many at once on one connection, in whatever order. */
	for (uint16_t i = 0; i < 150; i++)
		send_tcp(tcp, i, i % 2 ? "www.unrelated.test" : "web.example.test", DNS_TYPE_A);
	for (unsigned i = 0, sum = 0; i < 150; i++) {
		receive_tcp(fixture, tcp);
		assert_int_equal(fixture->header.counts[1], fixture->header.id % 2 ? 1 : 2);
		sum += fixture->header.id;
		assert_true(i < 149 || sum == 149 * 150 / 2);
	}
	/* A client that goes with queries under way. */
	send_tcp(tcp, 1, "big.unrelated.test", DNS_TYPE_A);
	close(TAKE_FD(tcp));
	ask_udp(fixture, "www.unrelated.test", DNS_TYPE_A, 0);
	assert_int_equal(fixture->header.counts[1], 1);
	assert_int_equal(statistics(fixture).forwards_failed, 0);
	dns_server_close(upstream);
}

static void test_the_next_upstream_helps(void **state)
{
	struct fixture *fixture = *state;
	char mute_address[32], closed_address[32], address[32];
	struct dns_server *upstream = open_upstream(address);
	_close_ int mute = open_mute(mute_address);
	const char *const upstreams[] = {closed_address, mute_address, address};
	int64_t until_us = clock_steady_us(clock_system()) + PATIENCE_MS * INT64_C(1000);

	assert_true(mute >= 0);
	close(open_mute(closed_address)); /* no server listens any more */
	fixture->config.upstreams = upstreams;
	fixture->config.upstream_count = 3;
	fixture->config.limits.forward_ms = 2000;
	open_server(fixture);
	/* On a slow machine the last one may be too late as well: then one asks again. */
	do {
		assert_true(clock_steady_us(clock_system()) < until_us);
		ask_udp(fixture, "www.unrelated.test", DNS_TYPE_A, 0);
	} while (rcode(fixture) == DNS_RCODE_SERVFAIL);
	assert_int_equal(fixture->header.counts[1], 1);
	/* A name that the upstream refuses is refused, after all were asked. */
	ask_udp(fixture, "www.third.test", DNS_TYPE_A, 0);
	assert_int_equal(fixture->header.counts[1], 0);
	assert_int_not_equal(rcode(fixture), 0);
	dns_server_close(upstream);
}

static void test_no_upstream_helps(void **state)
{
	struct fixture *fixture = *state;
	char mute_address[32];
	_close_ int mute = open_mute(mute_address);
	const char *const upstreams[] = {mute_address};

	fixture->config.upstreams = upstreams;
	assert_true(mute >= 0);
	fixture->config.upstream_count = 1;
	fixture->config.limits.forward_ms = 100;
	fixture->config.limits.forwarded_max = 2;
	open_server(fixture);
	ask_udp(fixture, "www.unrelated.test", DNS_TYPE_A, 0);
	assert_int_equal(rcode(fixture), DNS_RCODE_SERVFAIL);
	assert_int_equal(statistics(fixture).forwards_failed, 1);
}

static void test_forwarded_queries_are_limited(void **state)
{
	struct fixture *fixture = *state;
	char mute_address[32];
	_close_ int mute = open_mute(mute_address);
	_close_ int first = -1;
	const char *const upstreams[] = {mute_address};
	uint8_t query[512];
	size_t length = write_query(query, 1, "www.unrelated.test", DNS_TYPE_A, 0);

	fixture->config.upstreams = upstreams;
	fixture->config.upstream_count = 1;
	fixture->config.limits.forward_ms = PATIENCE_MS;
	fixture->config.limits.forwarded_max = 1;
	open_server(fixture);
	first = to_server(fixture, SOCK_DGRAM);
	assert_int_equal(send(first, query, length, 0), length);
	assert_true(readable(mute, PATIENCE_MS));
	ask_udp(fixture, "www.unrelated.test", DNS_TYPE_A, 0);
	assert_int_equal(rcode(fixture), DNS_RCODE_SERVFAIL);
	/* Our own names do not wait for upstreams. */
	ask_udp(fixture, "web.example.test", DNS_TYPE_A, 0);
	assert_int_equal(fixture->header.counts[1], 2);
}

/* Answers with another id or question, and other messages, are passed over. */
static void test_forged_answers_are_passed_over(void **state)
{
	struct fixture *fixture = *state;
	char mute_address[32];
	_close_ int mute = open_mute(mute_address);
	_close_ int client = -1;
	const char *const upstreams[] = {mute_address};
	uint8_t query[512], forged[512];
	size_t length = write_query(query, 1, "www.unrelated.test", DNS_TYPE_A, 0);
	struct sockaddr_in from;
	socklen_t size = sizeof(from);
	ssize_t got;

	fixture->config.upstreams = upstreams;
	fixture->config.upstream_count = 1;
	fixture->config.limits.forward_ms = PATIENCE_MS;
	open_server(fixture);
	client = to_server(fixture, SOCK_DGRAM);
	assert_int_equal(send(client, query, length, 0), length);
	assert_true(readable(mute, PATIENCE_MS));
	got = recvfrom(mute, query, sizeof(query), 0, (struct sockaddr *)&from, &size);
	assert_true(got > DNS_HEADER_SIZE);
	/* Its source port is not ours to know, and its id is not the client's but by chance. */
	assert_int_not_equal(ntohs(from.sin_port), dns_server_port(fixture->server));
	for (unsigned i = 0; i < 6; i++) {
		memcpy(forged, query, (size_t)got);
		forged[2] |= 0x80;
		if (i == 0)
			forged[0] ^= 1;
		else if (i == 1)
			forged[13] = 'x';
		else if (i == 2)
			forged[2] &= 0x7F;
		else if (i == 3)
			forged[5] = 0;
		else if (i == 5)
			forged[3] |= DNS_RCODE_NXDOMAIN; /* the true one */
		size = i == 4 ? 5 : (socklen_t)got;
		assert_int_equal(sendto(mute, forged, size, 0, (struct sockaddr *)&from,
					 sizeof(from)),
			size);
	}
	receive_udp(fixture, client);
	assert_int_equal(rcode(fixture), DNS_RCODE_NXDOMAIN);
	assert_int_equal(fixture->header.id, 1);
}

/* ---- opening ---- */

static void test_what_cannot_be_opened(void **state)
{
	static const char *const bad_upstreams[] = {"", "resolver", "192.0.2.1:0",
		"192.0.2.1:65536", "192.0.2.1:x", "[::1]:", "[::1", "1.2.3.4.5"};
	struct fixture *fixture = *state;
	struct dns_server_config config = fixture->config;
	struct dns_server *second = NULL;
	char self[32];
	const char *const itself = self;
	uint16_t port;
	struct err err;

	config.threads = 3;
	fixture->config.threads = 3;
	open_server(fixture);
	config.port = port = dns_server_port(fixture->server);
	assert_int_equal(dns_server_open(&config, &second, &err), -EADDRINUSE);
	assert_non_null(strstr(err.message, "listen for DNS on 127.0.0.1 port "));
	config.port = 0;
	config.address = "nowhere";
	assert_int_equal(dns_server_open(&config, &second, &err), -EINVAL);
	config.address = NULL;
	config.limits.udp_max = 100;
	assert_int_equal(dns_server_open(&config, &second, &err), -EINVAL);
	config.limits.udp_max = 0;
	config.upstream_count = 1;
	for (size_t i = 0; i < LENGTH(bad_upstreams); i++) {
		config.upstreams = &bad_upstreams[i];
		assert_int_equal(dns_server_open(&config, &second, &err), -EINVAL);
		assert_non_null(strstr(err.message, "upstream '"));
	}
	snprintf(self, sizeof(self), "127.0.0.1:%u", port);
	config.upstreams = &itself;
	config.port = port;
	assert_int_equal(dns_server_open(&config, &second, &err), -EINVAL);
	assert_non_null(strstr(err.message, "is this server itself"));
	config.address = "0.0.0.0";
	assert_int_equal(dns_server_open(&config, &second, &err), -EINVAL);
	config.upstream_count = DNS_UPSTREAMS_MAX + 1;
	assert_int_equal(dns_server_open(&config, &second, &err), -EINVAL);
	assert_null(second);
	dns_server_close(NULL);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_udp_and_tcp),
		CASE(test_ipv6_and_any_address),
		CASE(test_threads),
		CASE(test_weights_over_threads),
		CASE(test_pipelining_in_pieces),
		CASE(test_answers_that_wait),
		CASE(test_what_is_not_dns_is_cut),
		CASE(test_slow_clients_are_cut),
		CASE(test_clients_that_take_nothing_are_cut),
		CASE(test_connections_are_limited),
		CASE(test_connections_of_one_address_are_limited),
		CASE(test_answers_are_limited_in_rate),
		CASE(test_loopback_is_not_limited),
		CASE(test_forwarding),
		CASE(test_the_next_upstream_helps),
		CASE(test_no_upstream_helps),
		CASE(test_forwarded_queries_are_limited),
		CASE(test_forged_answers_are_passed_over),
		CASE(test_what_cannot_be_opened),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
