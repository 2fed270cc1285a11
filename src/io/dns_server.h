/*
 * The DNS server: UDP and TCP on one port, several threads, under limits.
 *
 * What it says is decided in dns_answer.h; here are sockets. Each thread has a UDP socket of its own
 * (the kernel deals the clients out) and reads and sends in batches; TCP connections belong to the thread
 * that accepted them, may have many queries in flight, and are answered as the answers are ready.
 *
 * Against misuse: answers over UDP are small (limits.udp_max) or truncated; the same answer to the same
 * network is limited in rate; ANY is answered minimally; zones are not transferred; connections are
 * limited in number, by address and in time without a whole query. Names that are not ours are refused,
 * or, if upstreams are given, asked there for clients with private addresses.
 */
#ifndef IO_DNS_SERVER_H
#define IO_DNS_SERVER_H

#include "io/dns_answer.h"

#define DNS_SERVER_THREADS_MAX 64
#define DNS_UPSTREAMS_MAX 4
#define DNS_PORT 53

/* Zero means the default named beside it. */
struct dns_server_limits {
	uint16_t udp_max;                 /* DNS_UDP_MAX: bytes of an answer; 512..DNS_UDP_MOST */
	unsigned rate;                    /* DNS_RATE: answers; see dns_limit.h */
	unsigned slip;                    /* DNS_SLIP */
	unsigned prefix4;                 /* DNS_PREFIX4 */
	unsigned prefix6;                 /* DNS_PREFIX6 */
	unsigned connections_max;         /* DNS_CONNECTIONS_MAX; the one idle longest makes room */
	unsigned connections_per_address; /* DNS_CONNECTIONS_PER_ADDRESS */
	unsigned idle_ms;                 /* DNS_IDLE_MS: of a connection without a whole query */
	unsigned forwarded_max;           /* DNS_FORWARDED_MAX: queries that wait for an upstream */
	unsigned forward_ms;              /* DNS_FORWARD_MS: patience with one try */
};

#define DNS_UDP_MAX 1232 /* goes through every network without fragments */
#define DNS_UDP_MOST 4096
#define DNS_RATE 1000
#define DNS_SLIP 2
#define DNS_PREFIX4 24
#define DNS_PREFIX6 56
#define DNS_CONNECTIONS_MAX 1024
#define DNS_CONNECTIONS_PER_ADDRESS 128
#define DNS_IDLE_MS 10000
#define DNS_FORWARDED_MAX 1024
#define DNS_FORWARD_MS 1500

struct dns_server_config {
	const char
		*address; /* NULL: "127.0.0.1"; a literal IPv4 or IPv6 address; "::" takes both */
	uint16_t port;    /* 0: a free one; see dns_server_port() */
	unsigned threads; /* 0: one; the limits are divided among them */
	dns_lookup lookup;
	void *context;
	bool limit_loopback; /* rate and connections_per_address hold for loopback, too */
	/* Addresses of resolvers, "192.0.2.1", "192.0.2.1:5353", "[2001:db8::1]:53". */
	const char *const *upstreams;
	size_t upstream_count; /* 0: names that are not ours are refused */
	bool forward_for_all;  /* not only for clients with private addresses */
	struct dns_server_limits limits;
};

struct dns_server;

/* Listens and starts the threads: lookup may be called before it returns. */
int dns_server_open(const struct dns_server_config *config, struct dns_server **ret_server,
	struct err *err);
uint16_t dns_server_port(const struct dns_server *server);
/* Ends the threads, cuts connections, and frees. lookup is not called any more after it. NULL is fine. */
void dns_server_close(struct dns_server *server);

/* One row a number: name, whether it only grows, and what it counts. */
#define DNS_STATISTICS(X)                                                                          \
	X(queries_udp, true, "Queries over UDP")                                                   \
	X(queries_tcp, true, "Queries over TCP")                                                   \
	X(ignored, true, "Messages that were no query")                                            \
	X(answered, true, "Queries answered with records")                                         \
	X(negative, true, "Queries answered without records, or with an error")                    \
	X(truncated, true, "Answers that were too long for UDP")                                   \
	X(limited, true, "Answers withheld by the rate limit")                                     \
	X(slipped, true, "Answers replaced by a truncated one by the rate limit")                  \
	X(unsent, true, "Answers that the kernel did not take")                                    \
	X(connections_open, false, "Connections open now")                                         \
	X(connections_total, true, "Connections accepted")                                         \
	X(connections_refused, true, "Connections refused or cut by a limit")                      \
	X(connections_expired, true, "Connections ended for want of a whole query")                \
	X(forwarded, true, "Queries sent to an upstream")                                          \
	X(forwards_failed, true, "Queries that no upstream answered")

struct dns_statistics {
#define DNS_STATISTIC_FIELD(name, grows, help) uint64_t name;
	DNS_STATISTICS(DNS_STATISTIC_FIELD)
#undef DNS_STATISTIC_FIELD
};

void dns_server_statistics(const struct dns_server *server, struct dns_statistics *ret_statistics);

#endif
