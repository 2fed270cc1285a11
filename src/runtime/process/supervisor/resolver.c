/*
 * Each query has sockets of its own to the servers: ports that cannot be guessed, errors that belong to one query,
 * and no table of identifiers.
 */
#include "runtime/process/supervisor/resolver.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "runtime/process/supervisor/resolver_internal.h"

#define BACKLOG 16
#define PORT_ATTEMPTS 64

/* ---- queries ---- */

static void end_query(struct resolver_query *query)
{
	resolver_end_call(&query->slipway);
	resolver_end_call(&query->machine);
	buffer_clear(&query->text);
	buffer_clear(&query->held);
	query->waits = false;
	query->slipway_us = query->machine_us = 0;
}

static void close_query(struct resolver_query *query)
{
	end_query(query);
	memory_close_descriptor(&query->connection);
	buffer_clear(&query->input);
	buffer_clear(&query->output);
	query->is_open = false;
}

static void flush(struct resolver_query *query)
{
	while (query->output.length > 0) {
		ssize_t sent = send(query->connection, query->output.data, query->output.length,
			MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0 && errno == EAGAIN)
			return;
		if (sent < 0) {
			close_query(query);
			return;
		}
		buffer_consume(&query->output, (size_t)sent);
	}
}

static void answer(struct resolver *resolver, struct resolver_query *query,
	const struct buffer *message)
{
	char length[2] = {(char)(message->length >> 8), (char)message->length};

	if (query->connection < 0) {
		/* A client that has gone is no concern of the others. */
		ssize_t sent = sendto(resolver->udp, message->data, message->length,
			MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&query->client,
			query->client_length);

		(void)sent;
		close_query(query);
		return;
	}
	buffer_add(&query->output, length, sizeof(length));
	buffer_add_span(&query->output, buffer_span(message));
	query->deadline_us = clock_steady_us(resolver->clock) + RESOLVER_HOLD_US;
	end_query(query);
	flush(query);
}

/* The best that is known: a negative answer of the machine's name servers, or none. */
static void give_up(struct resolver *resolver, struct resolver_query *query)
{
	_buffer_ struct buffer failure = {0};

	if (query->held.length > 0) {
		struct buffer held = query->held;

		query->held = (struct buffer){0};
		answer(resolver, query, &held);
		buffer_clear(&held);
		return;
	}
	resolver_make_failure(&query->text, &failure);
	answer(resolver, query, &failure);
}

/* Calls the current name server of the machine, or the next one that can be called. */
static void call_machine(struct resolver *resolver, struct resolver_query *query)
{
	query->asked_machine = true;
	query->machine_us = 0;
	for (; query->server < query->server_count; query->server++)
		if (resolver_start_call(resolver, &query->machine, query,
			    &query->servers[query->server]) == 0) {
			query->machine_us = clock_steady_us(resolver->clock) + RESOLVER_SERVER_US;
			return;
		}
	resolver_end_call(&query->machine);
	if (query->owner == RESOLVER_OWNER_MACHINE)
		give_up(resolver, query);
}

static void machine_failed(struct resolver *resolver, struct resolver_query *query)
{
	query->server++;
	call_machine(resolver, query);
}

static void machine_answered(struct resolver *resolver, struct resolver_query *query)
{
	struct buffer message = query->machine.input;

	query->machine.input = (struct buffer){0};
	resolver_end_call(&query->machine);
	query->machine_us = 0;
	if (query->owner == RESOLVER_OWNER_MACHINE || resolver_is_positive(&message)) {
		answer(resolver, query, &message);
		buffer_clear(&message);
	} else {
		/* The name may be one of slipway's, whose server is down. */
		buffer_clear(&query->held);
		query->held = message;
	}
}

/* Until slipway answers, the name may be one of the machine's. */
static void slipway_failed(struct resolver *resolver, struct resolver_query *query)
{
	resolver_end_call(&query->slipway);
	query->slipway_us = clock_steady_us(resolver->clock) + RESOLVER_RETRY_US;
	if (!query->asked_machine)
		call_machine(resolver, query);
}

static void not_slipways(struct resolver *resolver, struct resolver_query *query)
{
	query->owner = RESOLVER_OWNER_MACHINE;
	query->slipway_us = 0;
	resolver_end_call(&query->slipway);
	if (query->held.length > 0)
		give_up(resolver, query);
	else if (!query->asked_machine || query->machine.socket < 0)
		call_machine(resolver, query);
}

static void call_slipway(struct resolver *resolver, struct resolver_query *query)
{
	struct sockaddr_storage server;

	if (!resolver_read_slipway(resolver, &server)) {
		not_slipways(resolver, query);
		return;
	}
	if (resolver_start_call(resolver, &query->slipway, query, &server) < 0)
		slipway_failed(resolver, query);
	else
		query->slipway_us = clock_steady_us(resolver->clock) + RESOLVER_REPEAT_US;
}

static void slipway_answered(struct resolver *resolver, struct resolver_query *query)
{
	struct buffer message = query->slipway.input;

	query->slipway.input = (struct buffer){0};
	if (resolver_rcode(&message) == RESOLVER_REFUSED && query->server_count > 0)
		not_slipways(resolver, query);
	else
		answer(resolver, query, &message);
	buffer_clear(&message);
}

static void begin_query(struct resolver *resolver, struct resolver_query *query)
{
	query->waits = true;
	query->owner = RESOLVER_OWNER_UNKNOWN;
	query->asked_machine = false;
	query->server = 0;
	query->server_count = resolver_list_servers(resolver, query->servers);
	query->deadline_us = clock_steady_us(resolver->clock) + RESOLVER_HOLD_US;
	call_slipway(resolver, query);
}

/* ---- clients ---- */

static struct resolver_query *open_query(struct resolver *resolver, int connection)
{
	size_t connections = 0;
	struct resolver_query *found = NULL;

	if (!resolver->queries)
		resolver->queries =
			memory_allocate_array(RESOLVER_QUERIES_MAX, sizeof(*resolver->queries));
	for (size_t i = 0; i < RESOLVER_QUERIES_MAX; i++) {
		if (!resolver->queries[i].is_open)
			found = &resolver->queries[i];
		else if (resolver->queries[i].connection >= 0)
			connections++;
	}
	if (!found || (connection >= 0 && connections == RESOLVER_CONNECTIONS_MAX))
		return NULL;
	*found = (struct resolver_query){
		.is_open = true,
		.connection = connection,
		.slipway.socket = -1,
		.machine.socket = -1,
		.text = BUFFER_WITH_CAP(RESOLVER_MESSAGE_MAX),
		.input = BUFFER_WITH_CAP(RESOLVER_MESSAGE_MAX + 2),
		.deadline_us = clock_steady_us(resolver->clock) + RESOLVER_HOLD_US,
	};
	return found;
}

/* A client repeats a query whose datagram it finds lost. */
static void receive_datagram(struct resolver *resolver)
{
	static char data[RESOLVER_MESSAGE_MAX];
	struct sockaddr_storage client = {0};
	socklen_t length = sizeof(client);
	ssize_t got = recvfrom(resolver->udp, data, sizeof(data), MSG_DONTWAIT,
		(struct sockaddr *)&client, &length);
	struct resolver_query *query;

	if (got < RESOLVER_HEADER || data[2] & 0x80)
		return;
	query = open_query(resolver, -1);
	if (!query)
		return;
	query->client = client;
	query->client_length = length;
	buffer_add(&query->text, data, (size_t)got);
	begin_query(resolver, query);
}

static void accept_connection(struct resolver *resolver)
{
	_close_ int connection = accept4(resolver->tcp, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (connection >= 0 && open_query(resolver, connection))
		TAKE_FD(connection);
}

static void receive_stream(struct resolver_query *query)
{
	char *room = buffer_reserve(&query->input, 4096);
	ssize_t got = room ? recv(query->connection, room, 4096, 0) : 0;

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0)
		close_query(query);
	else
		query->input.length += (size_t)got;
}

/* One query after another: the next one begins when the one before is answered. */
static void take_query(struct resolver *resolver, struct resolver_query *query)
{
	size_t length;

	if (query->connection < 0 || query->waits || query->output.length > 0 ||
		query->input.length < 2)
		return;
	length = (size_t)(uint8_t)query->input.data[0] << 8 | (uint8_t)query->input.data[1];
	if (length < RESOLVER_HEADER) {
		close_query(query);
		return;
	}
	if (query->input.length < length + 2)
		return;
	query->text = BUFFER_WITH_CAP(RESOLVER_MESSAGE_MAX);
	buffer_add(&query->text, query->input.data + 2, length);
	buffer_consume(&query->input, length + 2);
	begin_query(resolver, query);
}

/* ---- the whole ---- */

int resolver_init(struct resolver *resolver, const char *address_file, struct clock *clock,
	struct err *err)
{
	*resolver = (struct resolver){
		.clock = clock,
		.address_file = address_file,
		.machine_root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC),
		.machine_network = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC),
		.own_network = -1,
		.server_port = RESOLVER_PORT,
		.udp = -1,
		.tcp = -1,
	};
	return resolver->machine_root < 0 ? err_errno(err, "open /") : 0;
}

static int listen_on(struct resolver *resolver, int type, int *ret_socket)
{
	socklen_t length = sizeof(resolver->address);
	_close_ int made = socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int one = 1;

	/* Connections that ended a moment ago do not count. */
	if (type == SOCK_STREAM)
		setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (made < 0 ||
		bind(made, (struct sockaddr *)&resolver->address, sizeof(resolver->address)) < 0 ||
		getsockname(made, (struct sockaddr *)&resolver->address, &length) < 0 ||
		(type == SOCK_STREAM && listen(made, BACKLOG) < 0))
		return -errno;
	*ret_socket = TAKE_FD(made);
	return 0;
}

/* The kernel chooses a port that is free for datagrams; a connection may have it. */
static int listen_twice(struct resolver *resolver, uint16_t port)
{
	int code = -EADDRINUSE;

	for (unsigned i = 0; i < PORT_ATTEMPTS && code == -EADDRINUSE; i++) {
		memory_close_descriptor(&resolver->udp);
		resolver->address.sin_port = htons(port);
		code = listen_on(resolver, SOCK_DGRAM, &resolver->udp);
		if (code == 0)
			code = listen_on(resolver, SOCK_STREAM, &resolver->tcp);
		if (port != 0)
			break;
	}
	if (code < 0)
		memory_close_descriptor(&resolver->udp);
	return code;
}

int resolver_listen(struct resolver *resolver, const char *address, uint16_t port, bool own_network,
	struct err *err)
{
	int code;

	resolver->address = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port)};
	if (inet_pton(AF_INET, address, &resolver->address.sin_addr) != 1)
		return err_set(err, -EINVAL, "'%s' is no address", address);
	if (own_network)
		resolver->own_network = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	else
		memory_close_descriptor(&resolver->machine_network);
	if (own_network && (resolver->own_network < 0 || resolver->machine_network < 0))
		return err_set(err, -EOPNOTSUPP, "no access to the network of the machine");
	code = listen_twice(resolver, port);
	return code < 0 ? err_system(err, -code, "listen on %s:%u", address, (unsigned)port) : 0;
}

static bool resolver_is_open(const struct resolver *resolver)
{
	return resolver->udp >= 0;
}

static size_t add(struct pollfd *polls, size_t count, size_t max, int descriptor, int events)
{
	if (descriptor >= 0 && count < max)
		polls[count++] = (struct pollfd){.fd = descriptor, .events = (short)events};
	return count;
}

static int events_of(const struct resolver_call *call, const struct resolver_query *query)
{
	return call->tcp && call->sent < query->text.length + 2 ? POLLOUT : POLLIN;
}

size_t resolver_descriptors(const struct resolver *resolver, struct pollfd *polls, size_t max)
{
	size_t count = 0;

	if (!resolver_is_open(resolver))
		return 0;
	count = add(polls, count, max, resolver->udp, POLLIN);
	count = add(polls, count, max, resolver->tcp, POLLIN);
	for (size_t i = 0; resolver->queries && i < RESOLVER_QUERIES_MAX; i++) {
		const struct resolver_query *query = &resolver->queries[i];

		if (!query->is_open)
			continue;
		if (!query->waits)
			count = add(polls, count, max, query->connection,
				query->output.length > 0 ? POLLOUT : POLLIN);
		count = add(polls, count, max, query->slipway.socket,
			events_of(&query->slipway, query));
		count = add(polls, count, max, query->machine.socket,
			events_of(&query->machine, query));
	}
	return count;
}

/* Sends what is left of the query, or reads the answer; as resolver_read_answer(). */
static int continue_call(struct resolver_call *call, const struct resolver_query *query)
{
	int error = 0;
	socklen_t length = sizeof(error);

	if (events_of(call, query) == POLLIN)
		return resolver_read_answer(call, &query->text);
	if (getsockopt(call->socket, SOL_SOCKET, SO_ERROR, &error, &length) < 0 || error != 0)
		return error ? -error : -EIO;
	return resolver_send_query(call, &query->text);
}

static void handle_query(struct resolver *resolver, struct resolver_query *query, int descriptor)
{
	int code;

	if (descriptor == query->connection) {
		if (query->output.length > 0)
			flush(query);
		else
			receive_stream(query);
	} else if (descriptor == query->slipway.socket) {
		code = continue_call(&query->slipway, query);
		if (code < 0)
			slipway_failed(resolver, query);
		else if (code > 0)
			slipway_answered(resolver, query);
	} else {
		code = continue_call(&query->machine, query);
		if (code < 0)
			machine_failed(resolver, query);
		else if (code > 0)
			machine_answered(resolver, query);
	}
}

bool resolver_handle(struct resolver *resolver, const struct pollfd *event)
{
	if (!resolver_is_open(resolver))
		return false;
	if (event->fd == resolver->udp) {
		receive_datagram(resolver);
		return true;
	}
	if (event->fd == resolver->tcp) {
		accept_connection(resolver);
		return true;
	}
	for (size_t i = 0; resolver->queries && i < RESOLVER_QUERIES_MAX; i++) {
		struct resolver_query *query = &resolver->queries[i];

		if (query->is_open &&
			(event->fd == query->connection || event->fd == query->slipway.socket ||
				event->fd == query->machine.socket)) {
			handle_query(resolver, query, event->fd);
			return true;
		}
	}
	return false;
}

static bool is_due(int64_t at_us, int64_t now)
{
	return at_us != 0 && now >= at_us;
}

void resolver_step(struct resolver *resolver)
{
	int64_t now = resolver->queries ? clock_steady_us(resolver->clock) : 0;

	for (size_t i = 0; resolver->queries && i < RESOLVER_QUERIES_MAX; i++) {
		struct resolver_query *query = &resolver->queries[i];

		if (!query->is_open)
			continue;
		if (now >= query->deadline_us) {
			if (query->waits)
				give_up(resolver, query);
			else
				close_query(query);
			continue;
		}
		if (is_due(query->slipway_us, now))
			call_slipway(resolver, query);
		if (query->is_open && query->waits && is_due(query->machine_us, now))
			machine_failed(resolver, query);
		if (query->is_open)
			take_query(resolver, query);
	}
}

static void keep_earlier(int64_t *next, int64_t at_us)
{
	if (at_us != 0 && at_us < *next)
		*next = at_us;
}

int64_t resolver_next_us(const struct resolver *resolver)
{
	int64_t next = INT64_MAX;

	for (size_t i = 0; resolver->queries && i < RESOLVER_QUERIES_MAX; i++) {
		const struct resolver_query *query = &resolver->queries[i];

		if (!query->is_open)
			continue;
		keep_earlier(&next, query->deadline_us);
		keep_earlier(&next, query->slipway_us);
		keep_earlier(&next, query->machine_us);
	}
	return next;
}

void resolver_close(struct resolver *resolver)
{
	for (size_t i = 0; resolver->queries && i < RESOLVER_QUERIES_MAX; i++)
		if (resolver->queries[i].is_open)
			close_query(&resolver->queries[i]);
	free(TAKE(resolver->queries));
	memory_close_descriptor(&resolver->udp);
	memory_close_descriptor(&resolver->tcp);
	memory_close_descriptor(&resolver->machine_root);
	memory_close_descriptor(&resolver->machine_network);
	memory_close_descriptor(&resolver->own_network);
}
