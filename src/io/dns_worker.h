/*
 * Inside the DNS server: a thread with its sockets, and the ownership rules.
 *
 * Everything of a worker belongs to its thread; the server is read only once the threads run. Whatever
 * is watched begins with a struct dns_watch. What is closed while events are handed out is freed only
 * behind the last of them (dns_worker_discard).
 */
#ifndef IO_DNS_WORKER_H
#define IO_DNS_WORKER_H

#include <netinet/in.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <uv.h>

#include "io/dns_limit.h"
#include "io/dns_server.h"

struct dns_counters {
#define DNS_COUNTER_FIELD(name, grows, help) _Atomic uint64_t name;
	DNS_STATISTICS(DNS_COUNTER_FIELD)
#undef DNS_COUNTER_FIELD
};

/* Only the worker's own thread writes its counters, so a plain add on an atomic is enough. */
static inline void dns_count(_Atomic uint64_t *counter, int64_t more)
{
	atomic_store_explicit(counter,
		atomic_load_explicit(counter, memory_order_relaxed) + (uint64_t)more,
		memory_order_relaxed);
}

struct dns_address {
	struct sockaddr_storage storage;
	socklen_t size;
};

#define DNS_CONTROL_SIZE 64 /* for the address that a client sent to */

struct dns_worker;

struct dns_watch {
	void (*ready)(struct dns_worker *worker, struct dns_watch *watch, uint32_t events);
	int descriptor;
	struct dns_watch *discarded_next;
};

struct dns_connection;
struct dns_pending;
struct dns_batch;

struct dns_worker {
	struct dns_server *server;
	unsigned number;
	int epoll;
	struct dns_watch wake;
	struct dns_watch udp;
	struct dns_watch listener; /* the same socket in all workers */
	bool accepting;
	int64_t accept_again_us; /* without descriptors left, when not accepting */
	uv_thread_t thread;
	bool started;
	int64_t now_us;
	struct dns_answer answer;
	struct random_seeded random;
	struct dns_limit *limit;
	struct dns_batch *batch;
	struct dns_counters counters;
	struct dns_watch *discarded;
	/* Connections, the one whose last whole query is longest ago first. */
	struct dns_connection *first, *last;
	unsigned connection_count;
	/* Queries at upstreams, the one whose try began first is first. */
	struct dns_pending *pending_first, *pending_last;
	unsigned pending_count;
	uint8_t reply[DNS_MESSAGE_MAX]; /* of TCP and forwarded queries */
};

struct dns_server {
	dns_lookup lookup;
	void *context;
	bool limit_loopback;
	bool forward_for_all;
	struct dns_server_limits limits; /* of one worker */
	struct dns_address upstreams[DNS_UPSTREAMS_MAX];
	size_t upstream_count;
	struct dns_address address;
	bool any_address; /* answers must name the address that was asked */
	int listener;
	uint16_t port;
	_Atomic bool stopping;
	unsigned worker_count;
	struct dns_worker *workers;
};

/* ---- dns_server.c ---- */

bool dns_worker_watch(struct dns_worker *worker, struct dns_watch *watch, uint32_t events);
void dns_worker_rewatch(struct dns_worker *worker, struct dns_watch *watch, uint32_t events);
/* Closes the descriptor and frees the memory that begins with the watch, later. */
void dns_worker_discard(struct dns_worker *worker, struct dns_watch *watch);
struct dns_transport dns_worker_transport(const struct dns_worker *worker,
	const struct sockaddr_storage *peer, bool tcp);
bool dns_address_equal(const struct dns_address *a, const struct dns_address *b); /* not ports */
bool dns_address_is_loopback(const struct sockaddr_storage *address);
/* For answers that come late. */
void dns_worker_send_udp(struct dns_worker *worker, struct dns_address *peer, void *control,
	size_t control_length, const void *data, size_t length);
void dns_worker_count_reply(struct dns_worker *worker, const struct dns_result *result);

/* ---- dns_tcp.c ---- */

void dns_tcp_accept(struct dns_worker *worker, struct dns_watch *watch, uint32_t events);
/* A late answer to a query of this connection. */
void dns_tcp_reply(struct dns_connection *connection, const void *data, size_t length);
/* The next moment that dns_tcp_expire has something to do, or INT64_MAX. */
int64_t dns_tcp_deadline(const struct dns_worker *worker);
void dns_tcp_expire(struct dns_worker *worker);
void dns_tcp_close_all(struct dns_worker *worker);

/* ---- dns_forward.c ---- */

/* The client that gets the upstream's answer. */
struct dns_client {
	struct dns_connection *connection; /* NULL: UDP */
	struct dns_address peer;
	uint8_t control[DNS_CONTROL_SIZE];
	size_t control_length;
};

/* Asks upstream. False: there are too many in flight, or no socket; the caller answers SERVFAIL. */
bool dns_forward_start(struct dns_worker *worker, const struct dns_client *client,
	const struct dns_result *result);
/* The connection is gone: its answers are not wanted any more. */
void dns_forward_forget(struct dns_worker *worker, const struct dns_connection *connection);
int64_t dns_forward_deadline(const struct dns_worker *worker);
void dns_forward_expire(struct dns_worker *worker);
void dns_forward_close_all(struct dns_worker *worker);

#endif
