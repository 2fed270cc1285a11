/*
 * The DNS resolver of one task: it relays the queries of the task's programs to slipway's DNS server, and names
 * that slipway does not own to the name servers of the machine. So tasks resolve Cloud Map names without any
 * configuration of the machine.
 *
 * It lives in the supervisor because that keeps running while the server restarts: a query that finds no server
 * is retried until the server answers again, at most RESOLVER_HOLD_US, which is less than the five seconds after
 * which clients give up. Positive answers of the machine's name servers are passed on at once meanwhile.
 *
 * Queries go out on sockets of the machine's network, whatever network the task has.
 */
#ifndef RUNTIME_PROCESS_SUPERVISOR_RESOLVER_H
#define RUNTIME_PROCESS_SUPERVISOR_RESOLVER_H

#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/err.h"

#define RESOLVER_QUERIES_MAX 64
#define RESOLVER_CONNECTIONS_MAX 16 /* of those queries, over TCP */
#define RESOLVER_MESSAGE_MAX ((size_t)65535)
#define RESOLVER_SERVERS_MAX 3 /* name servers of the machine; as many as libc uses */
#define RESOLVER_PORT 53
#define RESOLVER_HOLD_US INT64_C(4000000)
#define RESOLVER_RETRY_US INT64_C(100000)   /* while slipway's DNS server is down */
#define RESOLVER_REPEAT_US INT64_C(700000)  /* when it does not answer: a datagram was lost */
#define RESOLVER_SERVER_US INT64_C(1200000) /* for one name server of the machine */
#define RESOLVER_DESCRIPTORS_MAX (3 * RESOLVER_QUERIES_MAX + 2)
#define RESOLVER_CONFIGURATION "etc/resolv.conf" /* below the root of the machine */

/* One query to one server, over UDP or TCP as the client's. */
struct resolver_call {
	int socket; /* -1: none */
	bool tcp;
	size_t sent; /* of the query and its length, over TCP */
	struct buffer input;
};

enum resolver_owner {
	RESOLVER_OWNER_UNKNOWN, /* slipway has not answered yet */
	RESOLVER_OWNER_MACHINE, /* slipway does not own the name */
};

struct resolver_query {
	bool is_open;
	bool waits;     /* a whole query was received and not answered yet */
	int connection; /* over TCP; -1: over UDP, from `client` */
	struct sockaddr_storage client;
	socklen_t client_length;
	struct buffer input;  /* over TCP: not yet a whole query */
	struct buffer output; /* over TCP: the rest of the answer */
	struct buffer text;   /* the query */
	struct buffer
		held; /* a negative answer of the machine's name servers, until slipway has answered */
	enum resolver_owner owner;
	bool asked_machine;
	size_t server; /* of the machine's: the current one */
	size_t server_count;
	struct sockaddr_storage servers[RESOLVER_SERVERS_MAX];
	struct resolver_call slipway, machine;
	int64_t deadline_us;
	int64_t slipway_us; /* when to call slipway again; 0: not due */
	int64_t machine_us; /* when to call the next name server; 0: not due */
};

struct resolver {
	struct clock *clock;
	const char *address_file; /* with the address of slipway's DNS server: "127.0.0.1:4753" */
	int machine_root;         /* the machine's root folder */
	int machine_network;      /* its network namespace; -1: the task's is the same */
	int own_network;
	uint16_t server_port; /* of the machine's name servers; RESOLVER_PORT */
	int udp, tcp;         /* -1: not open */
	struct sockaddr_in address;
	struct resolver_query *queries; /* RESOLVER_QUERIES_MAX; NULL before the first one */
};

/* Before the process enters namespaces of its own. */
int resolver_init(struct resolver *resolver, const char *address_file, struct clock *clock,
	struct err *err);
/* In them. port 0: a free one, the same for UDP and TCP. */
int resolver_listen(struct resolver *resolver, const char *address, uint16_t port, bool own_network,
	struct err *err);
/* Writes the task's resolv.conf: the machine's, with this resolver as the only name server. */
void resolver_write_configuration(const struct resolver *resolver, const char *address,
	struct buffer *out);

size_t resolver_descriptors(const struct resolver *resolver, struct pollfd *polls, size_t max);
/* True if the event was of one of its descriptors. */
bool resolver_handle(struct resolver *resolver, const struct pollfd *event);
/* Does what is due. */
void resolver_step(struct resolver *resolver);
int64_t resolver_next_us(const struct resolver *resolver); /* INT64_MAX: never */
void resolver_close(struct resolver *resolver);

#endif
