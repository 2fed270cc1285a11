/*
 * Queries for names that are not ours, at upstream resolvers.
 *
 * Each try has a socket of its own, connected to the upstream: the kernel gives it a port of its choice
 * and drops packets from other sources, and the id is random. An answer must repeat id and
 * question; the try ignores others and keeps waiting. A truncated answer is requested again by TCP.
 * Without an answer in time, or with one that says that the upstream cannot help, the next one is tried;
 * each has TRIES_PER_UPSTREAM chances.
 */
#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "io/dns_worker.h"

#define TRIES_PER_UPSTREAM 2
#define LENGTH_SIZE 2
#define QUERY_SIZE (DNS_HEADER_SIZE + DNS_NAME_MAX + 4 + DNS_OPT_SIZE)

struct dns_pending {
	struct dns_watch watch; /* the socket of the try */
	struct dns_worker *worker;
	struct dns_pending *previous, *next;
	struct dns_client client;
	struct dns_query query;
	struct dns_chain *chain; /* NULL: the question itself is asked */
	struct dns_question question;
	int64_t deadline_us;
	unsigned tries;
	unsigned upstream;
	bool tcp;
	bool finished;
	uint8_t message[LENGTH_SIZE + QUERY_SIZE]; /* as sent by TCP: behind its length */
	size_t message_length;                     /* without that */
	size_t sent;
	uint8_t *received; /* by TCP, with the length */
	size_t received_length;
};

/* ---- the line ---- */

static void leave_line(struct dns_pending *pending)
{
	struct dns_worker *worker = pending->worker;

	if (pending->previous)
		pending->previous->next = pending->next;
	else
		worker->pending_first = pending->next;
	if (pending->next)
		pending->next->previous = pending->previous;
	else
		worker->pending_last = pending->previous;
}

/* All tries have the same patience: the line is in the order of deadlines. */
static void join_line(struct dns_pending *pending)
{
	struct dns_worker *worker = pending->worker;

	pending->deadline_us = worker->now_us + (int64_t)worker->server->limits.forward_ms * 1000;
	pending->previous = worker->pending_last;
	pending->next = NULL;
	if (worker->pending_last)
		worker->pending_last->next = pending;
	else
		worker->pending_first = pending;
	worker->pending_last = pending;
}

static void discard(struct dns_pending *pending)
{
	leave_line(pending);
	pending->finished = true;
	pending->worker->pending_count--;
	free(pending->chain);
	free(pending->received);
	dns_worker_discard(pending->worker, &pending->watch);
}

static void deliver(struct dns_pending *pending, const void *data, size_t length)
{
	struct dns_worker *worker = pending->worker;
	struct dns_client client = pending->client;

	discard(pending);
	if (client.connection)
		dns_tcp_reply(client.connection, data, length);
	else if (client.peer.size > 0)
		dns_worker_send_udp(worker, &client.peer, client.control, client.control_length,
			data, length);
}

static struct dns_transport transport_of(const struct dns_pending *pending)
{
	return dns_worker_transport(pending->worker, &pending->client.peer.storage,
		pending->client.connection != NULL);
}

static void give_up(struct dns_pending *pending)
{
	struct dns_worker *worker = pending->worker;
	struct dns_transport transport = transport_of(pending);
	size_t length = dns_write_bare(&transport, &pending->query, DNS_RCODE_SERVFAIL, 0,
		worker->reply, sizeof(worker->reply));

	dns_count(&worker->counters.forwards_failed, 1);
	deliver(pending, worker->reply, length);
}

/* ---- tries ---- */

/* Without the watch, which stays where it is in memory: events for it may be on their way, and
 * `descriptor` shows whether it is still theirs. */
static void close_try(struct dns_pending *pending)
{
	if (pending->watch.descriptor >= 0)
		close(pending->watch.descriptor);
	pending->watch.descriptor = -1;
	free(pending->received);
	pending->received = NULL;
	pending->received_length = 0;
	pending->sent = 0;
}

static void write_query(struct dns_pending *pending)
{
	struct dns_writer writer;
	uint16_t id = (uint16_t)random_u64(random_system());
	struct dns_header header = {.id = id,
		.flags = (uint16_t)(DNS_FLAG_RD | (pending->query.header.flags & DNS_FLAG_CD)),
		.counts = {[DNS_SECTION_QUESTION] = 1, [DNS_SECTION_ADDITIONAL] = 1}};

	dns_writer_init(&writer, pending->message + LENGTH_SIZE, QUERY_SIZE);
	dns_write_header(&writer, id, 0);
	dns_write_question(&writer, &pending->question);
	dns_write_opt(&writer, DNS_UDP_MAX, 0, pending->query.dnssec_ok);
	dns_writer_set_header(&writer, &header);
	pending->message_length = writer.length;
	pending->message[0] = (uint8_t)(writer.length >> 8);
	pending->message[1] = (uint8_t)writer.length;
}

static bool open_try(struct dns_pending *pending, bool tcp)
{
	const struct dns_worker *worker = pending->worker;
	const struct dns_address *upstream = &worker->server->upstreams[pending->upstream];
	int type = (tcp ? SOCK_STREAM : SOCK_DGRAM) | SOCK_NONBLOCK | SOCK_CLOEXEC;

	close_try(pending);
	pending->tcp = tcp;
	write_query(pending);
	pending->watch.descriptor = socket(upstream->storage.ss_family, type, 0);
	if (pending->watch.descriptor < 0)
		return false;
	if (connect(pending->watch.descriptor, (const struct sockaddr *)&upstream->storage,
		    upstream->size) < 0 &&
		errno != EINPROGRESS)
		return false;
	if (!tcp && send(pending->watch.descriptor, pending->message + LENGTH_SIZE,
			    pending->message_length, MSG_NOSIGNAL) < 0)
		return false;
	return dns_worker_watch(pending->worker, &pending->watch, tcp ? EPOLLOUT : EPOLLIN);
}

/* The next chance, at the next upstream. False: there is none. */
static bool try_next(struct dns_pending *pending)
{
	size_t upstreams = pending->worker->server->upstream_count;

	while (pending->tries < TRIES_PER_UPSTREAM * upstreams) {
		pending->upstream = pending->tries++ % (unsigned)upstreams;
		if (open_try(pending, false))
			return true;
	}
	close_try(pending);
	return false;
}

static void advance(struct dns_pending *pending)
{
	leave_line(pending);
	join_line(pending);
	if (!try_next(pending))
		give_up(pending);
}

/* ---- answers ---- */

/* Whether this is the answer to what was asked; then its header is set. */
static bool is_answer(const struct dns_pending *pending, const uint8_t *data, size_t length,
	struct dns_header *ret_header)
{
	struct dns_reader reader = {data, length, 0};
	struct dns_question question;

	return dns_read_header(&reader, ret_header) &&
	       memcmp(data, pending->message + LENGTH_SIZE, sizeof(uint16_t)) == 0 &&
	       ret_header->flags & DNS_FLAG_QR && !(ret_header->flags & DNS_FLAG_OPCODE) &&
	       ret_header->counts[DNS_SECTION_QUESTION] == 1 &&
	       dns_read_question(&reader, &question) && question.type == pending->question.type &&
	       question.class == pending->question.class &&
	       dns_name_equal(&question.name, &pending->question.name);
}

static bool is_helpless(const struct dns_header *header)
{
	unsigned rcode = header->flags & DNS_FLAG_RCODE;

	return rcode != DNS_RCODE_NOERROR && rcode != DNS_RCODE_NXDOMAIN;
}

static void take_answer(struct dns_pending *pending, const struct dns_header *header,
	const uint8_t *data, size_t length)
{
	struct dns_worker *worker = pending->worker;
	struct dns_transport transport = transport_of(pending);
	size_t upstreams = worker->server->upstream_count;

	if (is_helpless(header) && pending->tries < TRIES_PER_UPSTREAM * upstreams) {
		advance(pending);
		return;
	}
	length = dns_write_forwarded(&transport, &pending->query, pending->chain, data, length,
		worker->reply, sizeof(worker->reply));
	if (length == 0)
		advance(pending);
	else
		deliver(pending, worker->reply, length);
}

static void on_udp(struct dns_pending *pending)
{
	uint8_t data[DNS_UDP_MOST];
	struct dns_header header;
	ssize_t length = recv(pending->watch.descriptor, data, sizeof(data), MSG_DONTWAIT);

	if (length < 0) {
		if (errno != EAGAIN && errno != EINTR)
			advance(pending); /* the upstream is unreachable */
		return;
	}
	if (!is_answer(pending, data, (size_t)length, &header))
		return;
	if (!(header.flags & DNS_FLAG_TC)) {
		take_answer(pending, &header, data, (size_t)length);
		return;
	}
	leave_line(pending);
	join_line(pending);
	if (!open_try(pending, true))
		advance(pending);
}

static void send_tcp(struct dns_pending *pending)
{
	size_t length = LENGTH_SIZE + pending->message_length;
	ssize_t sent = send(pending->watch.descriptor, pending->message + pending->sent,
		length - pending->sent, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (sent < 0) {
		if (errno != EAGAIN && errno != EINTR)
			advance(pending);
		return;
	}
	pending->sent += (size_t)sent;
	if (pending->sent < length)
		return;
	pending->received = memory_allocate(LENGTH_SIZE + DNS_MESSAGE_MAX);
	dns_worker_rewatch(pending->worker, &pending->watch, EPOLLIN);
}

static void receive_tcp(struct dns_pending *pending)
{
	struct dns_header header;
	size_t length;
	ssize_t got = recv(pending->watch.descriptor, pending->received + pending->received_length,
		LENGTH_SIZE + DNS_MESSAGE_MAX - pending->received_length, MSG_DONTWAIT);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		advance(pending);
		return;
	}
	pending->received_length += (size_t)got;
	if (pending->received_length < LENGTH_SIZE)
		return;
	length = (size_t)pending->received[0] << 8 | pending->received[1];
	if (pending->received_length < LENGTH_SIZE + length)
		return;
	if (is_answer(pending, pending->received + LENGTH_SIZE, length, &header))
		take_answer(pending, &header, pending->received + LENGTH_SIZE, length);
	else
		advance(pending);
}

static void on_ready(struct dns_worker *worker, struct dns_watch *watch, uint32_t events)
{
	struct dns_pending *pending = CONTAINER_OF(watch, struct dns_pending, watch);

	(void)worker;
	(void)events; /* errors show when the socket is used */
	if (pending->finished)
		return;
	if (!pending->tcp)
		on_udp(pending);
	else if (!pending->received)
		send_tcp(pending);
	else
		receive_tcp(pending);
}

/* ---- requests of the worker ---- */

bool dns_forward_start(struct dns_worker *worker, const struct dns_client *client,
	const struct dns_result *result)
{
	struct dns_pending *pending;

	if (worker->pending_count >= worker->server->limits.forwarded_max)
		return false;
	pending = memory_allocate(sizeof(*pending));
	pending->watch.ready = on_ready;
	pending->watch.descriptor = -1;
	pending->worker = worker;
	pending->client = *client;
	pending->query = result->query;
	pending->question = result->query.question;
	pending->question.name = result->forward_name;
	if (worker->answer.record_count > 0) {
		pending->chain = memory_allocate(sizeof(*pending->chain));
		dns_chain_of(&worker->answer, pending->chain);
	}
	worker->pending_count++;
	join_line(pending);
	if (!try_next(pending)) {
		discard(pending);
		return false;
	}
	dns_count(&worker->counters.forwarded, 1);
	return true;
}

void dns_forward_forget(struct dns_worker *worker, const struct dns_connection *connection)
{
	struct dns_pending *next;

	for (struct dns_pending *pending = worker->pending_first; pending; pending = next) {
		next = pending->next;
		if (pending->client.connection == connection)
			discard(pending);
	}
}

int64_t dns_forward_deadline(const struct dns_worker *worker)
{
	return worker->pending_first ? worker->pending_first->deadline_us : INT64_MAX;
}

void dns_forward_expire(struct dns_worker *worker)
{
	while (worker->pending_first && worker->pending_first->deadline_us <= worker->now_us)
		advance(worker->pending_first);
}

void dns_forward_close_all(struct dns_worker *worker)
{
	while (worker->pending_first)
		discard(worker->pending_first);
}
