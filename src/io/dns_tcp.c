/*
 * DNS over TCP (RFC 7766): messages behind their length, many in flight, any order of answers.
 *
 * A connection's time runs from its last whole query: bytes that trickle in do not prolong it. While
 * answers wait to be taken, nothing more is read.
 */
#include <errno.h>
#include <netinet/tcp.h>

#include "base/buffer.h"
#include "io/dns_worker.h"

#define ACCEPTS_AT_ONCE 64
#define ACCEPT_PAUSE_US 100000
#define READ_SIZE ((size_t)16 * 1024)
#define READS_AT_ONCE 4
#define LENGTH_SIZE 2
#define INPUT_MAX (LENGTH_SIZE + DNS_MESSAGE_MAX + READ_SIZE)
#define OUTPUT_FULL ((size_t)128 * 1024) /* no query is looked at with this much unsent */
#define IN_FLIGHT_MAX 64                 /* queries of one connection at upstreams */

struct dns_connection {
	struct dns_watch watch;
	struct dns_worker *worker;
	struct dns_connection *previous, *next;
	struct dns_address peer;
	int64_t active_us;
	struct buffer in;
	struct buffer out;
	size_t out_sent;
	unsigned in_flight;
	uint32_t events;
	bool ended; /* the client sends no more */
	bool closed;
};

/* ---- the line of connections ---- */

static void leave_line(struct dns_connection *connection)
{
	struct dns_worker *worker = connection->worker;

	if (connection->previous)
		connection->previous->next = connection->next;
	else
		worker->first = connection->next;
	if (connection->next)
		connection->next->previous = connection->previous;
	else
		worker->last = connection->previous;
}

static void join_line(struct dns_connection *connection)
{
	struct dns_worker *worker = connection->worker;

	connection->active_us = worker->now_us;
	connection->previous = worker->last;
	connection->next = NULL;
	if (worker->last)
		worker->last->next = connection;
	else
		worker->first = connection;
	worker->last = connection;
}

static void close_connection(struct dns_connection *connection)
{
	struct dns_worker *worker = connection->worker;

	if (connection->closed)
		return;
	connection->closed = true;
	if (connection->in_flight > 0)
		dns_forward_forget(worker, connection);
	leave_line(connection);
	worker->connection_count--;
	dns_count(&worker->counters.connections_open, -1);
	buffer_clear(&connection->in);
	buffer_clear(&connection->out);
	dns_worker_discard(worker, &connection->watch);
}

/* ---- answers ---- */

static size_t unsent(const struct dns_connection *connection)
{
	return connection->out.length - connection->out_sent;
}

static void queue(struct dns_connection *connection, const void *data, size_t length)
{
	const uint8_t prefix[LENGTH_SIZE] = {(uint8_t)(length >> 8), (uint8_t)length};

	buffer_add(&connection->out, prefix, sizeof(prefix));
	buffer_add(&connection->out, data, length);
}

static void answer_query(struct dns_connection *connection, const char *data, size_t length)
{
	struct dns_worker *worker = connection->worker;
	struct dns_transport transport =
		dns_worker_transport(worker, &connection->peer.storage, true);
	struct dns_client client = {.connection = connection};
	struct dns_result result;

	dns_count(&worker->counters.queries_tcp, 1);
	dns_answer_query(&transport, worker->server->lookup, worker->server->context, data, length,
		&worker->answer, worker->reply, sizeof(worker->reply), &result);
	if (result.verdict == DNS_SILENCE) {
		dns_count(&worker->counters.ignored, 1);
		return;
	}
	if (result.verdict == DNS_FORWARD) {
		if (dns_forward_start(worker, &client, &result)) {
			connection->in_flight++;
			return;
		}
		result.length = dns_write_bare(&transport, &result.query, DNS_RCODE_SERVFAIL, 0,
			worker->reply, sizeof(worker->reply));
	}
	dns_worker_count_reply(worker, &result);
	queue(connection, worker->reply, result.length);
}

/* Answers the whole queries that are there, as far as there is room. False: the client does not speak
 * DNS. */
static bool answer_queries(struct dns_connection *connection)
{
	size_t used = 0;
	bool sane = true;

	while (unsent(connection) < OUTPUT_FULL && connection->in_flight < IN_FLIGHT_MAX) {
		const uint8_t *data = (const uint8_t *)connection->in.data + used;
		size_t there = connection->in.length - used;
		size_t length;

		if (there < LENGTH_SIZE)
			break;
		length = (size_t)data[0] << 8 | data[1];
		sane = length >= DNS_HEADER_SIZE;
		if (!sane || there - LENGTH_SIZE < length)
			break;
		answer_query(connection, (const char *)data + LENGTH_SIZE, length);
		used += LENGTH_SIZE + length;
	}
	if (used > 0) {
		buffer_consume(&connection->in, used);
		leave_line(connection);
		join_line(connection);
	}
	return sane;
}

/* False: the connection is broken. */
static bool flush(struct dns_connection *connection)
{
	while (unsent(connection) > 0) {
		ssize_t sent = send(connection->watch.descriptor,
			connection->out.data + connection->out_sent, unsent(connection),
			MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return errno == EAGAIN;
		connection->out_sent += (size_t)sent;
	}
	buffer_reset(&connection->out);
	connection->out_sent = 0;
	return true;
}

/* False: the connection is broken. */
static bool fill(struct dns_connection *connection)
{
	for (unsigned i = 0; i < READS_AT_ONCE && !connection->ended; i++) {
		ssize_t got;

		if (connection->in.length > INPUT_MAX - READ_SIZE)
			return true; /* there is a whole query: it is answered first */
		got = recv(connection->watch.descriptor, buffer_reserve(&connection->in, READ_SIZE),
			READ_SIZE, MSG_DONTWAIT);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return errno == EAGAIN;
		if (got == 0)
			connection->ended = true;
		connection->in.length += (size_t)got;
		if ((size_t)got < READ_SIZE)
			return true;
	}
	return true;
}

static bool may_read(const struct dns_connection *connection)
{
	return !connection->ended && unsent(connection) < OUTPUT_FULL &&
	       connection->in_flight < IN_FLIGHT_MAX;
}

/* Answers, sends, and waits for what can happen next; the connection may be closed behind it. */
static void proceed(struct dns_connection *connection)
{
	uint32_t events;
	size_t before;
	bool sane;

	do {
		if (!flush(connection)) {
			close_connection(connection);
			return;
		}
		before = connection->in.length;
		sane = answer_queries(connection);
	} while (sane && connection->in.length < before);
	if (!sane) {
		flush(connection);
		close_connection(connection);
		return;
	}
	if (connection->ended && unsent(connection) == 0 && connection->in_flight == 0) {
		close_connection(connection);
		return;
	}
	events = (may_read(connection) ? EPOLLIN : 0u) | (unsent(connection) > 0 ? EPOLLOUT : 0u);
	if (events != connection->events)
		dns_worker_rewatch(connection->worker, &connection->watch, events);
	connection->events = events;
}

static void on_ready(struct dns_worker *worker, struct dns_watch *watch, uint32_t events)
{
	struct dns_connection *connection = CONTAINER_OF(watch, struct dns_connection, watch);

	(void)worker;
	if (connection->closed)
		return;
	if (events & EPOLLERR ||
		(events & (EPOLLIN | EPOLLHUP) && may_read(connection) && !fill(connection)))
		close_connection(connection);
	else if (events & EPOLLHUP && !may_read(connection))
		close_connection(connection); /* no peer is left to receive unsent data */
	else
		proceed(connection);
}

void dns_tcp_reply(struct dns_connection *connection, const void *data, size_t length)
{
	connection->in_flight--;
	queue(connection, data, length);
	proceed(connection);
}

/* ---- accepting ---- */

static bool address_has_room(struct dns_worker *worker, const struct dns_address *peer)
{
	const struct dns_server *server = worker->server;
	unsigned count = 0;

	if (!server->limit_loopback && dns_address_is_loopback(&peer->storage))
		return true;
	for (struct dns_connection *other = worker->first; other; other = other->next)
		count += dns_address_equal(&other->peer, peer);
	return count < server->limits.connections_per_address;
}

/* The connection whose last query is longest ago and that waits for nothing makes room. */
static bool make_room(struct dns_worker *worker)
{
	if (worker->connection_count < worker->server->limits.connections_max)
		return true;
	for (struct dns_connection *idle = worker->first; idle; idle = idle->next) {
		if (idle->in_flight == 0 && unsent(idle) == 0) {
			dns_count(&worker->counters.connections_refused, 1);
			close_connection(idle);
			return true;
		}
	}
	return false;
}

static void open_connection(struct dns_worker *worker, int descriptor,
	const struct dns_address *peer)
{
	struct dns_connection *connection;
	int one = 1;

	if (!address_has_room(worker, peer) || !make_room(worker)) {
		dns_count(&worker->counters.connections_refused, 1);
		close(descriptor);
		return;
	}
	setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	connection = memory_allocate(sizeof(*connection));
	connection->watch.ready = on_ready;
	connection->watch.descriptor = descriptor;
	connection->worker = worker;
	connection->peer = *peer;
	connection->in = BUFFER_WITH_CAP(INPUT_MAX);
	connection->events = EPOLLIN;
	if (!dns_worker_watch(worker, &connection->watch, EPOLLIN)) {
		dns_worker_discard(worker, &connection->watch);
		return;
	}
	worker->connection_count++;
	join_line(connection);
	dns_count(&worker->counters.connections_open, 1);
	dns_count(&worker->counters.connections_total, 1);
}

/* Without descriptors a listening socket would stay ready: it is left alone for a while. */
static void pause_accepting(struct dns_worker *worker)
{
	worker->accepting = false;
	worker->accept_again_us = worker->now_us + ACCEPT_PAUSE_US;
	epoll_ctl(worker->epoll, EPOLL_CTL_DEL, worker->listener.descriptor, NULL);
}

void dns_tcp_accept(struct dns_worker *worker, struct dns_watch *watch, uint32_t events)
{
	(void)events;
	for (unsigned i = 0; i < ACCEPTS_AT_ONCE; i++) {
		struct dns_address peer = {.size = sizeof(peer.storage)};
		int descriptor = accept4(watch->descriptor, (struct sockaddr *)&peer.storage,
			&peer.size, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (descriptor >= 0) {
			open_connection(worker, descriptor, &peer);
			continue;
		}
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
			pause_accepting(worker);
			return;
		}
		if (errno == EAGAIN)
			return;
	}
}

/* ---- time ---- */

static int64_t expires_us(const struct dns_connection *connection)
{
	return connection->active_us + (int64_t)connection->worker->server->limits.idle_ms * 1000;
}

int64_t dns_tcp_deadline(const struct dns_worker *worker)
{
	int64_t deadline = worker->first ? expires_us(worker->first) : INT64_MAX;

	if (!worker->accepting && worker->accept_again_us < deadline)
		deadline = worker->accept_again_us;
	return deadline;
}

void dns_tcp_expire(struct dns_worker *worker)
{
	while (worker->first && expires_us(worker->first) <= worker->now_us) {
		dns_count(&worker->counters.connections_expired, 1);
		close_connection(worker->first);
	}
	if (!worker->accepting && worker->accept_again_us <= worker->now_us)
		worker->accepting =
			dns_worker_watch(worker, &worker->listener, EPOLLIN | EPOLLEXCLUSIVE);
}

void dns_tcp_close_all(struct dns_worker *worker)
{
	while (worker->first)
		close_connection(worker->first);
}
