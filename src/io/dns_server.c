/*
 * Sockets, threads, and queries over UDP.
 *
 * A worker waits for its sockets and for the nearest deadline. UDP is read in batches: one system call
 * for up to BATCH queries and one for their answers, however fast they come.
 */
#include "io/dns_server.h"

#include <arpa/inet.h>
#include <signal.h>
#include <sys/eventfd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "io/dns_worker.h"

#define BATCH 64
#define BATCHES_AT_ONCE 16 /* then connections have their turn */
#define QUERY_MAX 2048     /* over UDP; longer ones are malformed for us */
#define EVENTS_AT_ONCE 64
#define LISTEN_BACKLOG 512
#define UDP_BUFFER (4 * 1024 * 1024)
#define FREE_PORT_TRIES 32 /* for one that is free for UDP and TCP */

struct dns_batch {
	struct mmsghdr in[BATCH];
	struct mmsghdr out[BATCH];
	struct iovec in_vectors[BATCH];
	struct iovec out_vectors[BATCH];
	struct sockaddr_storage peers[BATCH];
	uint8_t controls[BATCH][DNS_CONTROL_SIZE] __attribute__((aligned(8)));
	uint8_t queries[BATCH][QUERY_MAX];
	uint8_t replies[BATCH][DNS_UDP_MOST];
};

/* ---- addresses ---- */

static bool four_is_private(uint32_t address) /* in host order */
{
	return address >> 24 == 127 || address >> 24 == 10 || address >> 20 == 0xAC1 ||
	       address >> 16 == 0xC0A8 || address >> 16 == 0xA9FE ||
	       address >> 22 == (100u << 2 | 1); /* 100.64.0.0/10 */
}

/* True and the address in host order for IPv4, also inside IPv6. */
static bool four_of(const struct sockaddr_storage *address, uint32_t *ret_four)
{
	const struct in6_addr *six = &((const struct sockaddr_in6 *)address)->sin6_addr;

	if (address->ss_family == AF_INET) {
		*ret_four = ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr);
		return true;
	}
	if (!IN6_IS_ADDR_V4MAPPED(six))
		return false;
	*ret_four = (uint32_t)six->s6_addr[12] << 24 | (uint32_t)six->s6_addr[13] << 16 |
		    (uint32_t)six->s6_addr[14] << 8 | six->s6_addr[15];
	return true;
}

bool dns_address_is_loopback(const struct sockaddr_storage *address)
{
	uint32_t four;

	if (four_of(address, &four))
		return four >> 24 == 127;
	return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)address)->sin6_addr);
}

/* loopback, too */
static bool dns_address_is_private(const struct sockaddr_storage *address)
{
	const struct in6_addr *six = &((const struct sockaddr_in6 *)address)->sin6_addr;
	uint32_t four;

	if (four_of(address, &four))
		return four_is_private(four);
	return IN6_IS_ADDR_LOOPBACK(six) || IN6_IS_ADDR_LINKLOCAL(six) ||
	       (six->s6_addr[0] & 0xFE) == 0xFC;
}

bool dns_address_equal(const struct dns_address *a, const struct dns_address *b)
{
	if (a->storage.ss_family != b->storage.ss_family)
		return false;
	if (a->storage.ss_family == AF_INET)
		return ((const struct sockaddr_in *)&a->storage)->sin_addr.s_addr ==
		       ((const struct sockaddr_in *)&b->storage)->sin_addr.s_addr;
	return IN6_ARE_ADDR_EQUAL(&((const struct sockaddr_in6 *)&a->storage)->sin6_addr,
		&((const struct sockaddr_in6 *)&b->storage)->sin6_addr);
}

static uint16_t port_of(const struct dns_address *address)
{
	return ntohs(address->storage.ss_family == AF_INET
			     ? ((const struct sockaddr_in *)&address->storage)->sin_port
			     : ((const struct sockaddr_in6 *)&address->storage)->sin6_port);
}

static void set_port(struct dns_address *address, uint16_t port)
{
	if (address->storage.ss_family == AF_INET)
		((struct sockaddr_in *)&address->storage)->sin_port = htons(port);
	else
		((struct sockaddr_in6 *)&address->storage)->sin6_port = htons(port);
}

/* A literal address without a port. */
static bool parse_literal(const char *text, uint16_t port, struct dns_address *ret_address)
{
	struct sockaddr_in *four = (struct sockaddr_in *)&ret_address->storage;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)&ret_address->storage;

	memset(&ret_address->storage, 0, sizeof(ret_address->storage));
	if (inet_pton(AF_INET, text, &four->sin_addr) == 1) {
		four->sin_family = AF_INET;
		ret_address->size = sizeof(*four);
	} else if (inet_pton(AF_INET6, text, &six->sin6_addr) == 1) {
		six->sin6_family = AF_INET6;
		ret_address->size = sizeof(*six);
	} else {
		return false;
	}
	set_port(ret_address, port);
	return true;
}

/* "192.0.2.1", "192.0.2.1:5353", "2001:db8::1", "[2001:db8::1]:5353". */
static int parse_upstream(const char *text, struct dns_address *ret_address, struct err *err)
{
	char host[INET6_ADDRSTRLEN + 2];
	const char *colon = strrchr(text, ':');
	struct span address = span_of(text);
	uint64_t port = DNS_PORT;
	bool has_port = colon && (text[0] == '[' ? colon[-1] == ']' : strchr(text, ':') == colon);

	if (has_port) {
		address.length = (size_t)(colon - text);
		if (!span_to_unsigned(span_of(colon + 1), UINT16_MAX, &port) || port == 0)
			return err_set(err, -EINVAL, "upstream '%s': the port is not in 1..65535",
				text);
	}
	if (address.length >= 2 && address.data[0] == '[' &&
		address.data[address.length - 1] == ']') {
		address.data++;
		address.length -= 2;
	}
	if (address.length < sizeof(host)) {
		memcpy(host, address.data, address.length);
		host[address.length] = '\0';
		if (parse_literal(host, (uint16_t)port, ret_address))
			return 0;
	}
	return err_set(err, -EINVAL, "upstream '%s' is not an IP address with or without a port",
		text);
}

/* ---- watching ---- */

bool dns_worker_watch(struct dns_worker *worker, struct dns_watch *watch, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.ptr = watch};

	return epoll_ctl(worker->epoll, EPOLL_CTL_ADD, watch->descriptor, &event) == 0;
}

void dns_worker_rewatch(struct dns_worker *worker, struct dns_watch *watch, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.ptr = watch};

	epoll_ctl(worker->epoll, EPOLL_CTL_MOD, watch->descriptor, &event);
}

void dns_worker_discard(struct dns_worker *worker, struct dns_watch *watch)
{
	if (watch->descriptor >= 0)
		close(watch->descriptor);
	watch->descriptor = -1;
	watch->discarded_next = worker->discarded;
	worker->discarded = watch;
}

static void free_discarded(struct dns_worker *worker)
{
	while (worker->discarded) {
		struct dns_watch *watch = worker->discarded;

		worker->discarded = watch->discarded_next;
		free(watch);
	}
}

/* ---- queries over UDP ---- */

struct dns_transport dns_worker_transport(const struct dns_worker *worker,
	const struct sockaddr_storage *peer, bool tcp)
{
	const struct dns_server *server = worker->server;
	bool recursive = server->upstream_count > 0;

	return (struct dns_transport){
		.tcp = tcp,
		.recursive = recursive,
		.may_forward =
			recursive && (server->forward_for_all || dns_address_is_private(peer)),
		.udp_max = server->limits.udp_max,
		.payload_max = DNS_UDP_MAX,
	};
}

void dns_worker_count_reply(struct dns_worker *worker, const struct dns_result *result)
{
	struct dns_counters *counters = &worker->counters;

	if (result->truncated)
		dns_count(&counters->truncated, 1);
	dns_count(result->negative ? &counters->negative : &counters->answered, 1);
}

/* Identifies equal answers: errors by their code, others by name and type. */
static uint64_t kind_of(const struct dns_result *result)
{
	struct dns_name name;

	if (result->verdict == DNS_REPLY && result->negative)
		return (uint64_t)result->rcode + 1;
	dns_name_copy_lower(&name, &result->query.question.name);
	return span_hash(dns_name_key(&name)) ^ result->query.question.type;
}

static enum dns_limit_verdict limit_reply(struct dns_worker *worker,
	const struct sockaddr_storage *peer, const struct dns_result *result)
{
	if (!worker->server->limit_loopback && dns_address_is_loopback(peer))
		return DNS_LIMIT_SEND;
	return dns_limit_take(worker->limit, (const struct sockaddr *)peer, kind_of(result),
		worker->now_us);
}

/* Answers into `reply`; returns the answer's length, 0: there is none (now). */
static size_t handle_datagram(struct dns_worker *worker, const struct msghdr *message,
	const void *data, size_t length, void *reply)
{
	const struct sockaddr_storage *peer = message->msg_name;
	struct dns_transport transport = dns_worker_transport(worker, peer, false);
	struct dns_client client;
	struct dns_result result;

	dns_count(&worker->counters.queries_udp, 1);
	dns_answer_query(&transport, worker->server->lookup, worker->server->context, data, length,
		&worker->answer, reply, DNS_UDP_MOST, &result);
	if (result.verdict == DNS_SILENCE) {
		dns_count(&worker->counters.ignored, 1);
		return 0;
	}
	switch (limit_reply(worker, peer, &result)) {
	case DNS_LIMIT_DROP: dns_count(&worker->counters.limited, 1); return 0;
	case DNS_LIMIT_SLIP:
		dns_count(&worker->counters.slipped, 1);
		return dns_write_bare(&transport, &result.query, DNS_RCODE_NOERROR, DNS_FLAG_TC,
			reply, DNS_UDP_MOST);
	case DNS_LIMIT_SEND: break;
	}
	if (result.verdict == DNS_FORWARD) {
		client.connection = NULL;
		client.peer.storage = *peer;
		client.peer.size = message->msg_namelen;
		client.control_length = message->msg_controllen;
		memcpy(client.control, message->msg_control, message->msg_controllen);
		if (dns_forward_start(worker, &client, &result))
			return 0;
		result.negative = true;
		result.length = dns_write_bare(&transport, &result.query, DNS_RCODE_SERVFAIL, 0,
			reply, DNS_UDP_MOST);
	}
	dns_worker_count_reply(worker, &result);
	return result.length;
}

/* The address that a client sent to becomes the one that the answer comes from; the kernel chooses the
 * interface. */
static void prepare_control(struct msghdr *message)
{
	for (struct cmsghdr *control = CMSG_FIRSTHDR(message); control;
		control = CMSG_NXTHDR(message, control)) {
		if (control->cmsg_level == IPPROTO_IP && control->cmsg_type == IP_PKTINFO)
			((struct in_pktinfo *)(void *)CMSG_DATA(control))->ipi_ifindex = 0;
		else if (control->cmsg_level == IPPROTO_IPV6 &&
			 control->cmsg_type == IPV6_PKTINFO) {
			struct in6_pktinfo *info = (void *)CMSG_DATA(control);

			if (!IN6_IS_ADDR_LINKLOCAL(&info->ipi6_addr))
				info->ipi6_ifindex = 0;
		}
	}
}

static void reset_batch(struct dns_batch *batch)
{
	for (size_t i = 0; i < BATCH; i++) {
		batch->in_vectors[i] = (struct iovec){batch->queries[i], QUERY_MAX};
		batch->in[i].msg_hdr = (struct msghdr){
			.msg_name = &batch->peers[i],
			.msg_namelen = sizeof(batch->peers[i]),
			.msg_iov = &batch->in_vectors[i],
			.msg_iovlen = 1,
			.msg_control = batch->controls[i],
			.msg_controllen = DNS_CONTROL_SIZE,
		};
	}
}

/* An answer that cannot be sent is not sent: the client asks again. */
static void send_batch(struct dns_worker *worker, unsigned count)
{
	struct mmsghdr *out = worker->batch->out;
	unsigned done = 0;

	while (done < count) {
		int sent = sendmmsg(worker->udp.descriptor, out + done, count - done, MSG_DONTWAIT);

		if (sent > 0) {
			done += (unsigned)sent;
		} else if (errno != EINTR) {
			dns_count(&worker->counters.unsent, 1);
			done++;
		}
	}
}

/* Whether there may be more. */
static bool handle_batch(struct dns_worker *worker)
{
	struct dns_batch *batch = worker->batch;
	unsigned replies = 0;
	int count;

	for (unsigned i = 0; i < BATCH; i++) {
		batch->in[i].msg_hdr.msg_namelen = sizeof(batch->peers[i]);
		batch->in[i].msg_hdr.msg_controllen = DNS_CONTROL_SIZE;
	}
	count = recvmmsg(worker->udp.descriptor, batch->in, BATCH, MSG_DONTWAIT, NULL);
	for (int i = 0; i < count; i++) {
		struct msghdr *message = &batch->in[i].msg_hdr;
		size_t length;

		prepare_control(message);
		length = handle_datagram(worker, message, batch->queries[i], batch->in[i].msg_len,
			batch->replies[replies]);
		if (length == 0)
			continue;
		batch->out_vectors[replies] = (struct iovec){batch->replies[replies], length};
		batch->out[replies].msg_hdr = *message;
		batch->out[replies].msg_hdr.msg_iov = &batch->out_vectors[replies];
		batch->out[replies].msg_hdr.msg_flags = 0;
		replies++;
	}
	send_batch(worker, replies);
	return count == BATCH;
}

static void on_udp(struct dns_worker *worker, struct dns_watch *watch, uint32_t events)
{
	(void)watch;
	(void)events;
	for (unsigned i = 0; i < BATCHES_AT_ONCE; i++) {
		if (!handle_batch(worker))
			return;
	}
}

void dns_worker_send_udp(struct dns_worker *worker, struct dns_address *peer, void *control,
	size_t control_length, const void *data, size_t length)
{
	struct iovec vector = {(void *)(uintptr_t)data, length};
	struct msghdr message = {
		.msg_name = &peer->storage,
		.msg_namelen = peer->size,
		.msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = control_length > 0 ? control : NULL,
		.msg_controllen = control_length,
	};

	if (sendmsg(worker->udp.descriptor, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		dns_count(&worker->counters.unsent, 1);
}

/* ---- the thread ---- */

static void on_wake(struct dns_worker *worker, struct dns_watch *watch, uint32_t events)
{
	/* Woken only to end: the loop looks at `stopping`. */
	(void)worker;
	(void)watch;
	(void)events;
}

/* Milliseconds until something is to be done without an event, -1: never. */
static int patience(const struct dns_worker *worker)
{
	int64_t tcp = dns_tcp_deadline(worker);
	int64_t forward = dns_forward_deadline(worker);
	int64_t deadline = tcp < forward ? tcp : forward;

	if (deadline == INT64_MAX)
		return -1;
	if (deadline <= worker->now_us)
		return 0;
	return (int)((deadline - worker->now_us) / 1000) + 1;
}

static void run_worker(void *context)
{
	struct dns_worker *worker = context;
	struct epoll_event events[EVENTS_AT_ONCE];

	worker->now_us = clock_steady_us(clock_system());
	while (!atomic_load(&worker->server->stopping)) {
		int count = epoll_wait(worker->epoll, events, EVENTS_AT_ONCE, patience(worker));

		worker->now_us = clock_steady_us(clock_system());
		for (int i = 0; i < count; i++) {
			struct dns_watch *watch = events[i].data.ptr;

			if (watch->descriptor >= 0)
				watch->ready(worker, watch, events[i].events);
		}
		dns_tcp_expire(worker);
		dns_forward_expire(worker);
		free_discarded(worker);
	}
	dns_tcp_close_all(worker);
	dns_forward_close_all(worker);
	free_discarded(worker);
}

/* Signals are for the program's main thread. */
static int start_worker(struct dns_worker *worker, struct err *err)
{
	sigset_t all, before;
	int code;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	code = uv_thread_create(&worker->thread, run_worker, worker);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (code < 0)
		return err_set(err, code, "start a thread: %s", uv_strerror(code));
	worker->started = true;
	return 0;
}

/* ---- opening ---- */

static int listen_error(const struct dns_server *server, const char *protocol, struct err *err)
{
	char text[INET6_ADDRSTRLEN] = "";
	int number = errno;

	if (server->address.storage.ss_family == AF_INET)
		inet_ntop(AF_INET,
			&((const struct sockaddr_in *)&server->address.storage)->sin_addr, text,
			sizeof(text));
	else
		inet_ntop(AF_INET6,
			&((const struct sockaddr_in6 *)&server->address.storage)->sin6_addr, text,
			sizeof(text));
	return err_system(err, number, "listen for DNS on %s port %u (%s)", text,
		port_of(&server->address), protocol);
}

static int new_socket(const struct dns_server *server, int type)
{
	int family = server->address.storage.ss_family;
	int descriptor = socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int zero = 0;

	if (descriptor >= 0 && family == AF_INET6)
		setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
	return descriptor;
}

/* The first socket is bound without sharing, so that a port in use is an error; sharing is switched on
 * behind that, for the sockets of the other workers. */
static int open_udp(struct dns_server *server, bool first, int *ret_descriptor, struct err *err)
{
	_close_ int descriptor = new_socket(server, SOCK_DGRAM);
	int one = 1, size = UDP_BUFFER;

	if (descriptor < 0 ||
		(!first &&
			setsockopt(descriptor, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one)) < 0) ||
		bind(descriptor, (struct sockaddr *)&server->address.storage,
			server->address.size) < 0 ||
		(first && server->worker_count > 1 &&
			setsockopt(descriptor, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one)) < 0))
		return listen_error(server, "UDP", err);
	/* As much as the system allows. */
	setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	if (server->any_address) {
		if (server->address.storage.ss_family == AF_INET)
			setsockopt(descriptor, IPPROTO_IP, IP_PKTINFO, &one, sizeof(one));
		else
			setsockopt(descriptor, IPPROTO_IPV6, IPV6_RECVPKTINFO, &one, sizeof(one));
	}
	*ret_descriptor = TAKE_FD(descriptor);
	return 0;
}

static int open_tcp(struct dns_server *server, int *ret_descriptor, struct err *err)
{
	_close_ int descriptor = new_socket(server, SOCK_STREAM);
	int one = 1;

	if (descriptor < 0 ||
		setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) < 0 ||
		bind(descriptor, (struct sockaddr *)&server->address.storage,
			server->address.size) < 0 ||
		listen(descriptor, LISTEN_BACKLOG) < 0)
		return listen_error(server, "TCP", err);
	*ret_descriptor = TAKE_FD(descriptor);
	return 0;
}

/* The first UDP socket and the TCP one. Without a port given, ports that the kernel gives for UDP are
 * tried until one is free for TCP as well. */
static int open_pair(struct dns_server *server, struct err *err)
{
	bool any_port = port_of(&server->address) == 0;
	int code = -EADDRINUSE;

	for (unsigned i = 0; i < (any_port ? FREE_PORT_TRIES : 1); i++) {
		_close_ int udp = -1;

		if (any_port)
			set_port(&server->address, 0);
		code = open_udp(server, true, &udp, err);
		if (code < 0)
			return code;
		server->address.size = sizeof(server->address.storage);
		if (getsockname(udp, (struct sockaddr *)&server->address.storage,
			    &server->address.size) < 0)
			return listen_error(server, "UDP", err);
		code = open_tcp(server, &server->listener, err);
		if (code == 0) {
			server->workers[0].udp.descriptor = TAKE_FD(udp);
			server->port = port_of(&server->address);
			return 0;
		}
		if (code != -EADDRINUSE)
			return code;
	}
	return code;
}

static int open_worker(struct dns_server *server, struct dns_worker *worker, struct err *err)
{
	const struct dns_limit_config limit = {
		.rate = server->limits.rate,
		.slip = server->limits.slip,
		.prefix4 = server->limits.prefix4,
		.prefix6 = server->limits.prefix6,
	};
	int code;

	if (worker->udp.descriptor < 0) {
		code = open_udp(server, false, &worker->udp.descriptor, err);
		if (code < 0)
			return code;
	}
	worker->epoll = epoll_create1(EPOLL_CLOEXEC);
	worker->wake.descriptor = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	worker->listener.descriptor = server->listener;
	worker->wake.ready = on_wake;
	worker->udp.ready = on_udp;
	worker->listener.ready = dns_tcp_accept;
	worker->accepting = true;
	if (worker->epoll < 0 || worker->wake.descriptor < 0 ||
		!dns_worker_watch(worker, &worker->wake, EPOLLIN) ||
		!dns_worker_watch(worker, &worker->udp, EPOLLIN) ||
		!dns_worker_watch(worker, &worker->listener, EPOLLIN | EPOLLEXCLUSIVE))
		return err_errno(err, "watch the sockets of a DNS server");
	random_seeded_init(&worker->random, random_u64(random_system()));
	worker->answer.random = &worker->random.random;
	worker->limit = dns_limit_new(&limit, random_u64(random_system()));
	worker->batch = memory_allocate(sizeof(*worker->batch));
	reset_batch(worker->batch);
	return 0;
}

static void close_worker(struct dns_worker *worker)
{
	if (worker->udp.descriptor >= 0)
		close(worker->udp.descriptor);
	if (worker->wake.descriptor >= 0)
		close(worker->wake.descriptor);
	if (worker->epoll >= 0)
		close(worker->epoll);
	dns_limit_free(worker->limit);
	free(worker->batch);
}

static void fill_defaults(struct dns_server_limits *limits)
{
#define DEFAULT(field, value)                                                                      \
	if (limits->field == 0)                                                                    \
	limits->field = (value)
	DEFAULT(udp_max, DNS_UDP_MAX);
	DEFAULT(rate, DNS_RATE);
	DEFAULT(slip, DNS_SLIP);
	DEFAULT(prefix4, DNS_PREFIX4);
	DEFAULT(prefix6, DNS_PREFIX6);
	DEFAULT(connections_max, DNS_CONNECTIONS_MAX);
	DEFAULT(connections_per_address, DNS_CONNECTIONS_PER_ADDRESS);
	DEFAULT(idle_ms, DNS_IDLE_MS);
	DEFAULT(forwarded_max, DNS_FORWARDED_MAX);
	DEFAULT(forward_ms, DNS_FORWARD_MS);
#undef DEFAULT
}

static unsigned part(unsigned whole, unsigned threads)
{
	return (whole + threads - 1) / threads;
}

/* A server that forwards to itself would do so until its limits stop it. A port that the kernel
 * chooses cannot be configured as an upstream. */
static int check_upstreams(const struct dns_server *server, const struct dns_server_config *config,
	struct err *err)
{
	for (size_t i = 0; i < server->upstream_count; i++) {
		const struct dns_address *upstream = &server->upstreams[i];
		bool same = dns_address_equal(upstream, &server->address) ||
			    (server->any_address && dns_address_is_loopback(&upstream->storage));

		if (same && port_of(upstream) == config->port)
			return err_set(err, -EINVAL, "upstream '%s' is this server itself",
				config->upstreams[i]);
	}
	return 0;
}

static int configure(struct dns_server *server, const struct dns_server_config *config,
	struct err *err)
{
	const char *address = config->address ? config->address : "127.0.0.1";
	struct dns_server_limits *limits = &server->limits;
	int code;

	*limits = config->limits;
	fill_defaults(limits);
	if (limits->udp_max < DNS_UDP_PLAIN_MAX || limits->udp_max > DNS_UDP_MOST)
		return err_set(err, -EINVAL, "answers over UDP must be of %d to %d bytes, not %u",
			DNS_UDP_PLAIN_MAX, DNS_UDP_MOST, limits->udp_max);
	if (limits->prefix4 > 32 || limits->prefix6 > 64)
		return err_set(err, -EINVAL,
			"network prefixes must have at most 32 bits for IPv4 and 64 for IPv6");
	limits->rate = part(limits->rate, server->worker_count);
	limits->connections_max = part(limits->connections_max, server->worker_count);
	limits->connections_per_address =
		part(limits->connections_per_address, server->worker_count);
	limits->forwarded_max = part(limits->forwarded_max, server->worker_count);
	server->limit_loopback = config->limit_loopback;
	server->forward_for_all = config->forward_for_all;
	server->lookup = config->lookup;
	server->context = config->context;
	if (!parse_literal(address, config->port, &server->address))
		return err_set(err, -EINVAL, "listen for DNS on '%s': not an IP address", address);
	server->any_address = strcmp(address, "0.0.0.0") == 0 || strcmp(address, "::") == 0;
	if (config->upstream_count > DNS_UPSTREAMS_MAX)
		return err_set(err, -EINVAL, "at most %d upstreams can be given",
			DNS_UPSTREAMS_MAX);
	for (size_t i = 0; i < config->upstream_count; i++) {
		code = parse_upstream(config->upstreams[i], &server->upstreams[i], err);
		if (code < 0)
			return code;
	}
	server->upstream_count = config->upstream_count;
	return check_upstreams(server, config, err);
}

int dns_server_open(const struct dns_server_config *config, struct dns_server **ret_server,
	struct err *err)
{
	struct dns_server *server = memory_allocate(sizeof(*server));
	unsigned count = config->threads ? config->threads : 1;
	int code;

	if (count > DNS_SERVER_THREADS_MAX)
		count = DNS_SERVER_THREADS_MAX;
	server->listener = -1;
	server->workers = memory_allocate_array(count, sizeof(server->workers[0]));
	server->worker_count = count;
	for (unsigned i = 0; i < count; i++) {
		struct dns_worker *worker = &server->workers[i];

		worker->server = server;
		worker->number = i;
		worker->epoll = worker->udp.descriptor = worker->wake.descriptor = -1;
	}
	code = configure(server, config, err);
	if (code == 0)
		code = open_pair(server, err);
	for (unsigned i = 0; i < count && code == 0; i++)
		code = open_worker(server, &server->workers[i], err);
	for (unsigned i = 0; i < count && code == 0; i++)
		code = start_worker(&server->workers[i], err);
	if (code < 0) {
		dns_server_close(server);
		return code;
	}
	*ret_server = server;
	return 0;
}

uint16_t dns_server_port(const struct dns_server *server)
{
	return server->port;
}

void dns_server_close(struct dns_server *server)
{
	const uint64_t one = 1;

	if (!server)
		return;
	atomic_store(&server->stopping, true);
	for (unsigned i = 0; i < server->worker_count; i++) {
		struct dns_worker *worker = &server->workers[i];
		ssize_t ignored;

		if (!worker->started)
			continue;
		ignored = write(worker->wake.descriptor, &one, sizeof(one));
		(void)ignored;
		uv_thread_join(&worker->thread);
	}
	for (unsigned i = 0; i < server->worker_count; i++)
		close_worker(&server->workers[i]);
	if (server->listener >= 0)
		close(server->listener);
	free(server->workers);
	free(server);
}

void dns_server_statistics(const struct dns_server *server, struct dns_statistics *ret_statistics)
{
	*ret_statistics = (struct dns_statistics){0};
	for (unsigned i = 0; i < server->worker_count; i++) {
		const struct dns_counters *counters = &server->workers[i].counters;

#define ADD(name, grows, help)                                                                     \
	ret_statistics->name +=                                                                    \
		atomic_load_explicit((_Atomic uint64_t *)&counters->name, memory_order_relaxed);
		DNS_STATISTICS(ADD)
#undef ADD
	}
}
