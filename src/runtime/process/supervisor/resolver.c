/*
 * Each query has sockets of its own to the servers: ports that cannot be guessed, errors that belong to one query,
 * and no table of identifiers.
 */
#include "runtime/process/supervisor/resolver.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/memory.h"

#define HEADER 12 /* bytes of a DNS message before its question */
#define RCODE_SERVFAIL 2
#define RCODE_REFUSED 5
#define CONFIGURATION_MAX ((size_t)64 * 1024)
#define ADDRESS_TEXT_MAX 80
#define BACKLOG 16
#define PORT_ATTEMPTS 64

/* ---- messages ---- */

static int rcode_of(const struct buffer *message)
{
	return message->data[3] & 0x0f;
}

static bool is_positive(const struct buffer *answer)
{
	return rcode_of(answer) == 0 && (answer->data[6] || answer->data[7]);
}

/* The answer to this query, as far as its header says. */
static bool is_answer(const struct buffer *query, const struct buffer *answer)
{
	return answer->length >= HEADER && memcmp(query->data, answer->data, 2) == 0 &&
	       (answer->data[2] & 0x80);
}

/* Where the question of a query ends; its whole length if it is malformed. */
static size_t question_end(const struct buffer *query)
{
	size_t end = HEADER;

	while (end < query->length && query->data[end])
		end += (size_t)(uint8_t)query->data[end] + 1;
	end += 1 + 4; /* the root, type and class */
	return end <= query->length ? end : query->length;
}

/* An answer without records: the question of the query with another header. */
static void make_failure(const struct buffer *query, struct buffer *out)
{
	static const char no_records[6] = {0};

	buffer_add(out, query->data, question_end(query));
	out->data[2] = (char)(out->data[2] | 0x80);
	out->data[3] = (char)(0x80 | RCODE_SERVFAIL);
	memcpy(out->data + 6, no_records, sizeof(no_records));
}

/* ---- addresses ---- */

static socklen_t length_of(const struct sockaddr_storage *address)
{
	return address->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					      : sizeof(struct sockaddr_in);
}

static bool parse_address(const char *text, uint16_t port, struct sockaddr_storage *ret_address)
{
	struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(port)};

	memset(ret_address, 0, sizeof(*ret_address));
	if (inet_pton(AF_INET, text, &four.sin_addr) == 1)
		memcpy(ret_address, &four, sizeof(four));
	else if (inet_pton(AF_INET6, text, &six.sin6_addr) == 1)
		memcpy(ret_address, &six, sizeof(six));
	else
		return false;
	return true;
}

/* The server writes the file at every start; a server without DNS removes it. */
static bool read_slipway(const struct resolver *resolver, struct sockaddr_storage *ret_address)
{
	_close_ int file = open(resolver->address_file, O_RDONLY | O_CLOEXEC);
	char text[ADDRESS_TEXT_MAX], *colon, *host = text;
	ssize_t got = file < 0 ? -1 : read(file, text, sizeof(text) - 1);
	int port;

	if (got <= 0)
		return false;
	text[got] = '\0';
	colon = strrchr(text, ':');
	if (!colon)
		return false;
	port = atoi(colon + 1);
	*colon = '\0';
	if (host[0] == '[' && colon[-1] == ']') {
		colon[-1] = '\0';
		host++;
	}
	return port > 0 && port <= UINT16_MAX && parse_address(host, (uint16_t)port, ret_address);
}

/* Symbolic links lead to files of the machine, not of the task's mount namespace. */
static void read_configuration(const struct resolver *resolver, struct buffer *out)
{
	struct open_how how = {
		.flags = O_RDONLY | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	_close_ int file = (int)syscall(SYS_openat2, resolver->machine_root, RESOLVER_CONFIGURATION,
		&how, sizeof(how));

	while (file >= 0) {
		char *room = buffer_reserve(out, 4096);
		ssize_t got = room ? read(file, room, 4096) : 0;

		if (got <= 0)
			return;
		out->length += (size_t)got;
	}
}

/* The next line; false at the end. */
static bool next_line(struct span *rest, struct span *ret_line)
{
	if (rest->length == 0)
		return false;
	if (!span_split(*rest, '\n', ret_line, rest)) {
		*ret_line = *rest;
		*rest = SPAN_NONE;
	}
	return true;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static struct span take_word(struct span *rest)
{
	struct span word;

	while (rest->length > 0 && is_blank(rest->data[0]))
		*rest = (struct span){rest->data + 1, rest->length - 1};
	word = (struct span){rest->data, 0};
	while (rest->length > 0 && !is_blank(rest->data[0])) {
		*rest = (struct span){rest->data + 1, rest->length - 1};
		word.length++;
	}
	return word;
}

static bool is_name_server(struct span line, struct span *ret_address)
{
	if (!span_is(take_word(&line), "nameserver"))
		return false;
	*ret_address = take_word(&line);
	return true;
}

static size_t list_servers(const struct resolver *resolver,
	struct sockaddr_storage servers[RESOLVER_SERVERS_MAX])
{
	_buffer_ struct buffer text = BUFFER_WITH_CAP(CONFIGURATION_MAX);
	struct span rest, line, address;
	size_t count = 0;

	read_configuration(resolver, &text);
	rest = buffer_span(&text);
	while (count < RESOLVER_SERVERS_MAX && next_line(&rest, &line)) {
		char host[ADDRESS_TEXT_MAX];

		if (!is_name_server(line, &address))
			continue;
		snprintf(host, sizeof(host), "%.*s", SPAN_ARGS(address));
		if (parse_address(host, resolver->server_port, &servers[count]))
			count++;
	}
	return count;
}

void resolver_write_configuration(const struct resolver *resolver, const char *address,
	struct buffer *out)
{
	_buffer_ struct buffer text = BUFFER_WITH_CAP(CONFIGURATION_MAX);
	struct span rest, line, server;

	read_configuration(resolver, &text);
	rest = buffer_span(&text);
	buffer_format(out, "nameserver %s\n", address);
	while (next_line(&rest, &line))
		if (!is_name_server(line, &server) && span_trim(line).length > 0)
			buffer_format(out, "%.*s\n", SPAN_ARGS(line));
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

static void end_call(struct resolver_call *call)
{
	memory_close_descriptor(&call->socket);
	buffer_clear(&call->input);
	call->sent = 0;
}

/* Over TCP, two bytes with the length come before the message. Returns a negative code when the server cannot be
 * reached. */
static int send_query(struct resolver_call *call, const struct buffer *query)
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

static int start_call(const struct resolver *resolver, struct resolver_call *call,
	const struct resolver_query *query, const struct sockaddr_storage *server)
{
	end_call(call);
	call->tcp = query->connection >= 0;
	call->input = BUFFER_WITH_CAP(RESOLVER_MESSAGE_MAX + 2);
	call->socket =
		machine_socket(resolver, server->ss_family, call->tcp ? SOCK_STREAM : SOCK_DGRAM);
	if (call->socket < 0)
		return -errno;
	if (connect(call->socket, (const struct sockaddr *)server, length_of(server)) < 0 &&
		errno != EINPROGRESS)
		return -errno;
	return call->tcp ? 0 : send_query(call, &query->text);
}

/* Returns 1 and the answer in call->input, 0 if it is not complete yet, or a negative code when the server failed. */
static int read_answer(struct resolver_call *call, const struct buffer *query)
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

/* ---- queries ---- */

static void end_query(struct resolver_query *query)
{
	end_call(&query->slipway);
	end_call(&query->machine);
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
	make_failure(&query->text, &failure);
	answer(resolver, query, &failure);
}

/* Calls the current name server of the machine, or the next one that can be called. */
static void call_machine(struct resolver *resolver, struct resolver_query *query)
{
	query->asked_machine = true;
	query->machine_us = 0;
	for (; query->server < query->server_count; query->server++)
		if (start_call(resolver, &query->machine, query, &query->servers[query->server]) ==
			0) {
			query->machine_us = clock_steady_us(resolver->clock) + RESOLVER_SERVER_US;
			return;
		}
	end_call(&query->machine);
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
	end_call(&query->machine);
	query->machine_us = 0;
	if (query->owner == RESOLVER_OWNER_MACHINE || is_positive(&message)) {
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
	end_call(&query->slipway);
	query->slipway_us = clock_steady_us(resolver->clock) + RESOLVER_RETRY_US;
	if (!query->asked_machine)
		call_machine(resolver, query);
}

static void not_slipways(struct resolver *resolver, struct resolver_query *query)
{
	query->owner = RESOLVER_OWNER_MACHINE;
	query->slipway_us = 0;
	end_call(&query->slipway);
	if (query->held.length > 0)
		give_up(resolver, query);
	else if (!query->asked_machine || query->machine.socket < 0)
		call_machine(resolver, query);
}

static void call_slipway(struct resolver *resolver, struct resolver_query *query)
{
	struct sockaddr_storage server;

	if (!read_slipway(resolver, &server)) {
		not_slipways(resolver, query);
		return;
	}
	if (start_call(resolver, &query->slipway, query, &server) < 0)
		slipway_failed(resolver, query);
	else
		query->slipway_us = clock_steady_us(resolver->clock) + RESOLVER_REPEAT_US;
}

static void slipway_answered(struct resolver *resolver, struct resolver_query *query)
{
	struct buffer message = query->slipway.input;

	query->slipway.input = (struct buffer){0};
	if (rcode_of(&message) == RCODE_REFUSED && query->server_count > 0)
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
	query->server_count = list_servers(resolver, query->servers);
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

	if (got < HEADER || data[2] & 0x80)
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
	if (length < HEADER) {
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

/* Sends what is left of the query, or reads the answer; as read_answer(). */
static int continue_call(struct resolver_call *call, const struct resolver_query *query)
{
	int error = 0;
	socklen_t length = sizeof(error);

	if (events_of(call, query) == POLLIN)
		return read_answer(call, &query->text);
	if (getsockopt(call->socket, SOL_SOCKET, SO_ERROR, &error, &length) < 0 || error != 0)
		return error ? -error : -EIO;
	return send_query(call, &query->text);
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
