/*
 * The data plane: listeners that carry traffic to the targets of weighted groups. One interface, a
 * driver per family of protocols:
 *
 *     l4        tcp, udp, tls (passed through unread): slipway's own engine, proxy/l4/l4.h
 *     haproxy   http, https: per request
 *
 * Desired state. proxy_apply() takes the whole of it and is idempotent: what is the same stays
 * untouched (sockets, connections, counters, the place in the sequence of shares), what is new is
 * opened, what is missing is closed. A state that is wrong in any place changes nothing, and the
 * message names the listener or the group. When it returns 0 the state is in effect: new connections
 * follow it, ports of removed listeners are free again.
 *
 * Shares. The weights of a listener's groups say how connections (requests, datagrams) are divided;
 * only their ratios count. Division is exact, not random: with two groups every run of N connections
 * has floor(N*w) or ceil(N*w) of a group, whatever the number of workers; with more groups at most one
 * beyond. 0 is exactly none. New weights take effect for all groups of a listener at one moment, no
 * connection sees a mixture, and the sequence goes on where it was: frequent changes do not starve a
 * small share. Connections that are open stay where they are.
 *
 * Targets. Only active ones get new connections. Draining ones keep theirs until their deadline; a
 * target that is down or no longer in its group loses them at once. The plane knows nothing about
 * health: proxy/probe.h finds out, and the caller sets states (and decides, for instance, to call all
 * targets active when none is healthy).
 *
 * Calls are made from any thread, one at a time per proxy is enough: they exclude each other.
 */
#ifndef PROXY_PROXY_H
#define PROXY_PROXY_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/memory.h"

#define PROXY_NAME_MAX 255            /* bytes of a listener's or group's name */
#define PROXY_LISTENERS_MAX 1024      /* of one driver */
#define PROXY_GROUPS_MAX 2048         /* of one driver */
#define PROXY_ROUTES_MAX 16           /* groups of one listener */
#define PROXY_GROUP_TARGETS_MAX 1000  /* targets of one group */
#define PROXY_TARGETS_MAX 32768       /* of one driver */
#define PROXY_WEIGHT_MAX 1000000      /* of one group in one listener */
#define PROXY_TIMEOUT_MAX_MS 86400000 /* a day, for every time below */
#define PROXY_RETRIES_MAX 4
#define PROXY_CONNECTIONS_MAX 1000000
#define PROXY_UDP_SESSIONS_MAX 262144

/* name, what it is called in messages and APIs */
#define PROXY_PROTOCOLS(X)                                                                         \
	X(TCP, "tcp")                                                                              \
	X(UDP, "udp")                                                                              \
	X(TLS, "tls") /* passed through: the target's own certificate is what clients see */       \
	X(HTTP, "http")                                                                            \
	X(HTTPS, "https")

#define PROXY_TARGET_STATES(X)                                                                     \
	X(ACTIVE, "active")                                                                        \
	X(DRAINING, "draining")                                                                    \
	X(DOWN, "down")

#define PROXY_ENUM_(name, text) PROXY_##name,
enum proxy_protocol { PROXY_PROTOCOLS(PROXY_ENUM_) PROXY_PROTOCOL_COUNT };
#undef PROXY_ENUM_
#define PROXY_ENUM_(name, text) PROXY_TARGET_##name,
enum proxy_target_state { PROXY_TARGET_STATES(PROXY_ENUM_) PROXY_TARGET_STATE_COUNT };
#undef PROXY_ENUM_

const char *proxy_protocol_name(enum proxy_protocol protocol);
const char *proxy_target_state_name(enum proxy_target_state state);

/* An address with port, IPv4 or IPv6. */
union proxy_address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* "127.0.0.1" or "::1", numbers only: -EINVAL otherwise. */
int proxy_address_parse(const char *host, unsigned port, union proxy_address *ret_address,
	struct err *err);
unsigned proxy_address_port(const union proxy_address *address);
socklen_t proxy_address_length(const union proxy_address *address);
bool proxy_address_equal(const union proxy_address *a, const union proxy_address *b);
#define PROXY_ADDRESS_TEXT_SIZE (INET6_ADDRSTRLEN + 8)
/* "127.0.0.1:80", "[::1]:80" */
void proxy_address_format(const union proxy_address *address, char out[PROXY_ADDRESS_TEXT_SIZE]);

struct proxy_target {
	union proxy_address address;
	enum proxy_target_state state;
	/* For draining: how long from the apply that first says so until what is left is cut off; 0:
	 * when it likes to end. A draining target that is applied again keeps its first deadline. */
	uint32_t drain_ms;
};

struct proxy_group {
	const char *name; /* unique in the state */
	const struct proxy_target *targets;
	size_t target_count;
};

struct proxy_route {
	const char *group;
	uint32_t weight; /* 0 to PROXY_WEIGHT_MAX */
};

enum proxy_udp_mode {
	PROXY_UDP_SESSION,  /* a client (address and port) stays on its target until it is idle */
	PROXY_UDP_DATAGRAM, /* every datagram is given out anew; answers find their client */
};

/* Zero is a default everywhere. */
struct proxy_options {
	uint32_t connect_timeout_ms; /* 0: 5000; for each try */
	uint32_t retries;            /* further targets to try while nothing was sent; 0: 2 */
	bool no_retries;
	/* When no target of the drawn group answers, try the next group with a weight above 0. */
	bool retry_next_group;
	uint32_t idle_timeout_ms; /* no byte either way for so long ends a connection; 0: 350 s */
	uint32_t
		max_connections; /* at once, over all workers; more are refused; 0: the driver's limit */
	bool proxy_v2;           /* a PROXY protocol v2 header goes to the target first */
	/* The same client address gets the same group and target while weights and targets are the same;
	 * shares are then those of a hash of the clients, not exact. */
	bool sticky_source;
	enum proxy_udp_mode udp_mode;
	uint32_t udp_idle_timeout_ms; /* 0: 120 s */
	uint32_t udp_sessions_max;    /* the one idle for longest gives way; 0: 16384 */
};

struct proxy_listener {
	const char *name; /* unique in the state */
	enum proxy_protocol protocol;
	/* Port 0: any free one, kept as long as a listener of this name and address is applied. */
	union proxy_address address;
	const struct proxy_route *routes; /* in order; a group at most once */
	size_t route_count;
	struct proxy_options options;
};

struct proxy_state {
	const struct proxy_group *groups;
	size_t group_count;
	const struct proxy_listener *listeners;
	size_t listener_count;
};

/* What a driver counts, since the listener, group or target was first applied. Counters survive
 * weight changes and workers. A connection is a TCP connection, a UDP session or an HTTP request. */
struct proxy_counters {
	uint64_t connections;      /* given to a target that accepted */
	uint64_t active;           /* open now */
	uint64_t bytes_in;         /* from clients */
	uint64_t bytes_out;        /* to clients */
	uint64_t datagrams_in;     /* UDP only */
	uint64_t datagrams_out;    /* UDP only */
	uint64_t connect_failures; /* tries that a target refused or left unanswered */
	uint64_t retries;          /* tries after such a failure */
	uint64_t failed;           /* clients turned away: no target was left to try */
	uint64_t refused;          /* clients turned away by a limit */
	uint64_t resets;           /* ended by a reset from either side */
	uint64_t idle_ends;        /* ended by an idle limit */
	uint64_t evictions;        /* UDP sessions that gave way */
	uint64_t cut;              /* ended by a drain deadline, or with their target */
};

struct proxy_target_report {
	union proxy_address address;
	enum proxy_target_state state;
	struct proxy_counters counters;
};

struct proxy_group_report {
	const char *name;
	struct proxy_counters counters; /* over all listeners */
	struct proxy_target_report *targets;
	size_t target_count;
};

struct proxy_route_report {
	const char *group;
	uint32_t weight;
	struct proxy_counters counters; /* of this group by this listener */
};

struct proxy_listener_report {
	const char *name;
	enum proxy_protocol protocol;
	union proxy_address address; /* with the real port */
	struct proxy_counters counters;
	struct proxy_route_report *routes;
	size_t route_count;
};

struct proxy_report {
	struct proxy_listener_report *listeners; /* in the order of the state */
	size_t listener_count;
	struct proxy_group_report *groups;
	size_t group_count;
	uint64_t worker_starts; /* the first ones included */
};

/* What a driver fills in. It is given states that proxy_apply() has checked and that hold only
 * listeners of its protocols and the groups these use. */
struct proxy_driver {
	const char *name;
	unsigned protocols; /* bits 1 << enum proxy_protocol */
	int (*apply)(struct proxy_driver *driver, const struct proxy_state *state, struct err *err);
	/* routes: as many as the listener has, in its order. */
	int (*set_weights)(struct proxy_driver *driver, const char *listener,
		const struct proxy_route *routes, size_t route_count, struct err *err);
	/* Adds its listeners and groups, in memory of the arena. */
	void (*report)(struct proxy_driver *driver, struct arena *arena,
		struct proxy_report *report);
	void (*free)(struct proxy_driver *driver);
};

struct proxy;

/* Takes the drivers over, also when it fails. No two serve the same protocol. */
int proxy_new(struct proxy_driver *const *drivers, size_t driver_count, struct proxy **ret_proxy,
	struct err *err);
/* Closes the listeners; what is open ends. NULL is fine. */
void proxy_free(struct proxy *proxy);
void proxy_free_pointer(struct proxy **proxy);
#define _proxy_ CLEANUP(proxy_free_pointer)

/* -EINVAL the state is wrong (with -EEXIST for two of one name, -ENOENT for a group that is not
 * there, -E2BIG for a limit passed), -ENOTSUP no driver has the protocol, -EADDRINUSE and the like
 * from binding: with these, nothing has changed. -ETIMEDOUT: workers do not answer; the state holds for
 * those that will. */
int proxy_apply(struct proxy *proxy, const struct proxy_state *state, struct err *err);

/* The fast way for a listener that is applied: the weights of all its groups, in any order, at one
 * moment. -ENOENT if there is no such listener, -EINVAL if routes are not exactly its groups. */
int proxy_set_weights(struct proxy *proxy, const char *listener, const struct proxy_route *routes,
	size_t route_count, struct err *err);

/* Everything, in memory of the arena. */
void proxy_report(struct proxy *proxy, struct arena *arena, struct proxy_report *ret_report);
/* NULL if there is none of that name. */
const struct proxy_listener_report *proxy_report_listener(const struct proxy_report *report,
	const char *name);
const struct proxy_group_report *proxy_report_group(const struct proxy_report *report,
	const char *name);

/* A state is right or it is not: what proxy_apply() checks before any driver is asked. */
int proxy_state_check(const struct proxy_state *state, struct err *err);

#endif
