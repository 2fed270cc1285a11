/* One query to one name server, over UDP or TCP, on a socket of the machine's network. */
#include "runtime/process/supervisor/resolver_internal.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"

#define RCODE_SERVFAIL 2

/* ---- messages ---- */

int resolver_rcode(const struct buffer *message)
{
	return message->data[3] & 0x0f;
}

bool resolver_is_positive(const struct buffer *answer)
{
	return resolver_rcode(answer) == 0 && (answer->data[6] || answer->data[7]);
}

/* The answer to this query, as far as its header says. */
static bool is_answer(const struct buffer *query, const struct buffer *answer)
{
	return answer->length >= RESOLVER_HEADER && memcmp(query->data, answer->data, 2) == 0 &&
	       (answer->data[2] & 0x80);
}

/* Where the question of a query ends; its whole length if it is malformed. */
static size_t question_end(const struct buffer *query)
{
	size_t end = RESOLVER_HEADER;

	while (end < query->length && query->data[end])
		end += (size_t)(uint8_t)query->data[end] + 1;
	end += 1 + 4; /* the root, type and class */
	return end <= query->length ? end : query->length;
}

void resolver_make_failure(const struct buffer *query, struct buffer *out)
{
	static const char no_records[6] = {0};

	buffer_add(out, query->data, question_end(query));
	out->data[2] = (char)(out->data[2] | 0x80);
	out->data[3] = (char)(0x80 | RCODE_SERVFAIL);
	memcpy(out->data + 6, no_records, sizeof(no_records));
}

/* ---- calls to servers ---- */

/* A socket belongs to the network in which it was made. */
static int machine_socket(const struct resolver *resolver, int family, int type)
{
	int socket_of_machine;

	if (resolver->machine_network >= 0 && setns(resolver->machine_network, CLONE_NEWNET) < 0)
		return -1;
	socket_of_machine = socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	/* Programs that start later inherit the network of this process: better no task than a task in
	 * the network of the machine. */
	if (resolver->machine_network >= 0 && setns(resolver->own_network, CLONE_NEWNET) < 0)
		abort();
	return socket_of_machine;
}

void resolver_end_call(struct resolver_call *call)
{
	memory_close_descriptor(&call->socket);
	buffer_clear(&call->input);
	call->sent = 0;
}

int resolver_send_query(struct resolver_call *call, const struct buffer *query)
{
	uint8_t length[2] = {(uint8_t)(query->length >> 8), (uint8_t)query->length};
	size_t whole = sizeof(length) + query->length;

	if (!call->tcp)
		return send(call->socket, query->data, query->length, MSG_NOSIGNAL) < 0 ? -errno
											: 0;
	while (call->sent < whole) {
		const void *rest = call->sent < sizeof(length)
					   ? (const void *)(length + call->sent)
					   : query->data + call->sent - sizeof(length);
		size_t most = call->sent < sizeof(length) ? sizeof(length) - call->sent
							  : whole - call->sent;
		ssize_t sent = send(call->socket, rest, most, MSG_NOSIGNAL);

		if (sent < 0)
			return errno == EAGAIN || errno == EINTR || errno == ENOTCONN ? 0 : -errno;
		call->sent += (size_t)sent;
	}
	return 0;
}

int resolver_start_call(const struct resolver *resolver, struct resolver_call *call,
	const struct resolver_query *query, const struct sockaddr_storage *server)
{
	resolver_end_call(call);
	call->tcp = query->connection >= 0;
	call->input = BUFFER_WITH_CAP(RESOLVER_MESSAGE_MAX + 2);
	call->socket =
		machine_socket(resolver, server->ss_family, call->tcp ? SOCK_STREAM : SOCK_DGRAM);
	if (call->socket < 0)
		return -errno;
	if (connect(call->socket, (const struct sockaddr *)server,
		    resolver_address_length(server)) < 0 &&
		errno != EINPROGRESS)
		return -errno;
	return call->tcp ? 0 : resolver_send_query(call, &query->text);
}

int resolver_read_answer(struct resolver_call *call, const struct buffer *query)
{
	for (;;) {
		char *room = buffer_reserve(&call->input, call->tcp ? 4096 : RESOLVER_MESSAGE_MAX);
		size_t most = call->tcp ? 4096 : RESOLVER_MESSAGE_MAX, length;
		ssize_t got = room ? recv(call->socket, room, most, 0) : -1;

		if (!room)
			return -EMSGSIZE;
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return errno == EAGAIN ? 0 : -errno;
		if (got == 0 && call->tcp)
			return -ECONNRESET;
		call->input.length += (size_t)got;
		if (!call->tcp) {
			if (is_answer(query, &call->input))
				return 1;
			buffer_reset(&call->input);
			continue;
		}
		if (call->input.length < 2)
			continue;
		length = (size_t)(uint8_t)call->input.data[0] << 8 | (uint8_t)call->input.data[1];
		if (call->input.length < length + 2)
			continue;
		buffer_consume(&call->input, 2);
		call->input.length = length;
		return is_answer(query, &call->input) ? 1 : -EBADMSG;
	}
}
