/*
 * The data plane: listeners that carry traffic to the targets of weighted groups. One interface, a
 * driver per family of protocols:
 *
 *     l4        tcp, udp, tls (passed through unread): slipway's own engine, proxy/l4/l4.h
 *     haproxy   http, https: per request, with rules; tls that ends here (tls-end): per connection
 *
 * Desired state. proxy_apply() takes the whole of it and is idempotent: unchanged objects stay
 * untouched (sockets, connections, counters, the position in the sequence of shares), new ones are
 * opened, missing ones are closed. An invalid state changes nothing, and its fault names the
 * listener or the group, as the message does. When it returns 0 the state is in effect: new connections follow it, ports
 * of removed listeners are free again.
 *
 * Shares. The weights of a listener's groups divide its connections (requests, datagrams); only
 * their ratios count. Division is exact, not random: with two groups every run of N connections has
 * floor(N*w) or ceil(N*w) of a group, whatever the number of workers; with more groups at most one
 * beyond. 0 is exactly none. New weights take effect for all groups of a listener at one moment, no
 * connection sees a mixture, and the sequence continues at its position: frequent changes do not
 * starve a small share. Open connections stay where they are.
 *
 * Targets. Only active ones get new connections. Draining ones keep theirs until their deadline; a
 * target that is down or no longer in its group loses them at once (over HTTP, one that leaves
 * while it drains keeps them, too). A group that no listener uses any more keeps its connections as
 * long as it is in the state. The plane knows nothing about health: proxy/probe.h checks it, and
 * the caller sets states (and decides, for instance, to call all targets active when none is
 * healthy).
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
#define PROXY_RULES_MAX 200       /* of one listener, the default not counted */
#define PROXY_CONDITIONS_MAX 16   /* of one rule */
#define PROXY_VALUES_MAX 32       /* of one rule's conditions together */
#define PROXY_VALUE_TEXT_MAX 256  /* bytes of one of them, or of a redirect's part */
#define PROXY_BODY_MAX 1024       /* of a fixed answer */
#define PROXY_CERTIFICATES_MAX 26 /* of one listener */
#define PROXY_CERTIFICATE_TEXT_MAX 65536
#define PROXY_STICKY_MAX_S 604800 /* a week */

/* name, its name in messages and APIs */
#define PROXY_PROTOCOLS(X)                                                                         \
	X(TCP, "tcp")                                                                              \
	X(UDP, "udp")                                                                              \
	X(TLS, "tls") /* passed through: clients see the target's own certificate */               \
	X(HTTP, "http")                                                                            \
	X(HTTPS, "https")                                                                          \
	X(TLS_END, "tls-end") /* TLS ends here, the bytes inside go on as TCP */

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
	/* For draining: the time from the first apply with that state until open connections are
	 * cut off; 0: no limit. A draining target that is applied again keeps its first
	 * deadline. */
	uint32_t drain_ms;
};

/* How requests of a group are divided among its active targets. */
enum proxy_balance {
	PROXY_ROUND_ROBIN,
	PROXY_LEAST_REQUESTS, /* to the one with the fewest open ones */
	PROXY_RANDOM,
};

/* How a client finds its target again (http and https). */
enum proxy_sticky {
	PROXY_STICKY_NONE,
	PROXY_STICKY_COOKIE, /* one of ours ("AWSALB"), for sticky_s */
	PROXY_STICKY_APP_COOKIE, /* while the application's own cookie (sticky_name) lives, at most sticky_s */
};

/* Zero is a default everywhere but for name and targets. A driver ignores members for other
 * drivers. */
struct proxy_group {
	const char *name; /* unique in the state */
	const struct proxy_target *targets;
	size_t target_count;
	/* http, https and tls-end only, from here on */
	enum proxy_balance balance;
	bool tls;   /* targets speak TLS; their certificates are not verified */
	bool http2; /* targets speak HTTP/2 from the first byte; http only, without tls */
	enum proxy_sticky sticky;
	uint32_t sticky_s;
	const char *sticky_name;
	/* A target that becomes active beside one with its full share gets its own only after this
	 * time, rising evenly; while no target has its full share, new ones start with it. All
	 * drivers. */
	uint32_t slow_start_ms;
};

struct proxy_route {
	const char *group;
	uint32_t weight; /* 0 to PROXY_WEIGHT_MAX */
};

enum proxy_udp_mode {
	PROXY_UDP_SESSION,  /* a client (address and port) keeps its target until it is idle */
	PROXY_UDP_DATAGRAM, /* every datagram is drawn anew; responses find their client */
};

/* Zero is a default everywhere. */
struct proxy_options {
	uint32_t connect_timeout_ms; /* 0: 5000; for each try */
	uint32_t retries;            /* further targets to try while nothing was sent; 0: 2 */
	bool no_retries;
	/* When no target of the drawn group answers, try the next group with a weight above 0. */
	bool retry_next_group;
	/* a connection without a byte either way for this long ends; 0: 350 s */
	uint32_t idle_timeout_ms;
	uint32_t
		max_connections; /* at once, over all workers; more are refused; 0: the driver's limit */
	bool proxy_v2;           /* a PROXY protocol v2 header goes to the target first */
	/* The same client address gets the same group and target while weights and targets are the
	 * same; shares are then those of the clients' hashes, not exact. */
	bool sticky_source;
	enum proxy_udp_mode udp_mode;
	uint32_t udp_idle_timeout_ms; /* 0: 120 s */
	uint32_t udp_sessions_max;    /* a new one evicts the one idle for longest; 0: 16384 */
};

/* ---- rules: http and https only ---- */

enum proxy_condition_kind {
	PROXY_IF_HOST,   /* values: patterns, compared without regard to case */
	PROXY_IF_PATH,   /* patterns */
	PROXY_IF_METHOD, /* exact */
	PROXY_IF_HEADER, /* name: of the field; values: patterns, without regard to case */
	PROXY_IF_QUERY, /* patterns; a value with a key must be a pair, one without any key or value */
	PROXY_IF_SOURCE,  /* "192.0.2.0/24": the address of the connection, not of a header */
	PROXY_IF_VERSION, /* "1" or "2": of HTTP, as the client speaks it */
};

/* In patterns, "*" stands for any characters and "?" for one; all else is literal. */
struct proxy_value {
	const char *key; /* PROXY_IF_QUERY only; NULL: none */
	const char *value;
};

/* True if any of its values matches. */
struct proxy_condition {
	enum proxy_condition_kind kind;
	const char *name;
	const struct proxy_value *values;
	size_t value_count;
};

enum proxy_action_kind { PROXY_FORWARD, PROXY_REDIRECT, PROXY_FIXED };

struct proxy_action {
	enum proxy_action_kind kind;
	/* forward */
	const struct proxy_route *routes; /* in order; a group at most once */
	size_t route_count;
	uint32_t
		sticky_s; /* a client stays with the group first drawn for so long ("AWSALBTG"); 0: no */
	/* redirect: 301 or 302; parts may name #{protocol}, #{host}, #{port}, #{path}, #{query} */
	/* fixed: 200 to 599 */
	int status;
	const char *protocol, *host, *port, *path, *query; /* NULL: as in the request */
	const char *content_type;                          /* NULL: none */
	const char *body;                                  /* NULL: empty */
};

/* The first rule whose conditions are all true acts. */
struct proxy_rule {
	const char *name; /* unique in the listener */
	const struct proxy_condition *conditions;
	size_t condition_count;
	struct proxy_action action;
};

/* The first is for clients without a host name, or with one that no certificate has. */
struct proxy_certificate {
	const char *name; /* for messages */
	const char *pem;  /* chain and private key */
};

/* Handling of X-Forwarded-For. */
enum proxy_forwarded { PROXY_FORWARDED_APPEND, PROXY_FORWARDED_PRESERVE, PROXY_FORWARDED_REMOVE };

/* TLS versions and ciphers that clients may agree on. Versions are the second number: 2 is TLS 1.2. */
struct proxy_tls {
	unsigned char min;
	unsigned char max;   /* 0: TLS 1.2 and 1.3 with good ciphers, whatever else is here */
	const char *ciphers; /* "A:B", best first, up to TLS 1.2; NULL: good ones */
};

struct proxy_http {
	const struct proxy_rule *rules; /* in order of priority */
	size_t rule_count;
	struct proxy_action otherwise;                /* used instead of the listener's routes */
	const struct proxy_certificate *certificates; /* https and tls-end: at least one */
	size_t certificate_count;
	struct proxy_tls tls;
	bool no_http2; /* https: HTTP/2 is offered unless this is set */
	enum proxy_forwarded forwarded;
	bool forwarded_port;       /* X-Forwarded-For has the client's port too */
	bool drop_invalid_headers; /* fields whose names are not [-A-Za-z0-9]+ are not passed on */
	bool rewrite_host;         /* false: Host is passed on unchanged */
};

struct proxy_listener {
	const char *name; /* unique in the state */
	enum proxy_protocol protocol;
	/* Port 0: any free one, kept as long as a listener of this name and address is applied. */
	union proxy_address address;
	const struct proxy_route *routes; /* in order; a group at most once */
	size_t route_count;
	struct proxy_options options;
	struct proxy_http http; /* http, https; of tls-end the certificates */
};

/* The object because of which a state is refused, by its name in the state; both NULL: none alone. */
struct proxy_fault {
	const char *listener, *group;
};

struct proxy_state {
	const struct proxy_group *groups;
	size_t group_count;
	const struct proxy_listener *listeners;
	size_t listener_count;
	struct proxy_fault *fault; /* filled when the state is refused; NULL: not wanted */
};

#define PROXY_CLASSES 5 /* of status codes */

/* Counters of a driver, since the listener, group or target was first applied. Counters survive
 * weight changes and workers. A connection is a TCP connection, a UDP session or an HTTP
 * request. */
struct proxy_counters {
	uint64_t connections;      /* given to a target that accepted */
	uint64_t active;           /* open now */
	uint64_t bytes_in;         /* from clients */
	uint64_t bytes_out;        /* to clients */
	uint64_t datagrams_in;     /* UDP only */
	uint64_t datagrams_out;    /* UDP only */
	uint64_t connect_failures; /* attempts that a target refused or left unanswered */
	uint64_t retries;          /* attempts after such a failure */
	uint64_t failed;           /* clients rejected because no target was left to try */
	uint64_t refused;          /* clients rejected by a limit */
	uint64_t resets;           /* ended by a reset from either side */
	uint64_t idle_ends;        /* ended by an idle limit */
	uint64_t evictions;        /* evicted UDP sessions */
	uint64_t cut;              /* ended by a drain deadline, or with their target */
	/* HTTP groups and targets only: */
	uint64_t responses
		[PROXY_CLASSES]; /* 1xx to 5xx, those of the driver for its own errors included */
	uint64_t
		response_ms; /* until the target has answered; average of the last 500 or so; no sum */
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

/* The operations of a driver. Its states were checked by proxy_apply() and hold only listeners of
 * its protocols, the groups of these, and groups without any listener. */
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
/* Closes the listeners and their connections. NULL is fine. */
void proxy_free(struct proxy *proxy);

/* -EINVAL the state is invalid (with -EEXIST for a repeated name, -ENOENT for an unknown group,
 * -E2BIG for a limit), -ENOTSUP no driver has the protocol, -EADDRINUSE and the like from binding:
 * with these, nothing has changed. -ETIMEDOUT: workers do not answer; the state applies to their
 * replacements. */
int proxy_apply(struct proxy *proxy, const struct proxy_state *state, struct err *err);

/* For callers that prefer a failure of one driver to a failure of all: as proxy_apply() for the
 * protocols of a single driver; listeners of others in the state are ignored. Each protocol has one
 * driver. */
#define PROXY_DRIVERS_MAX PROXY_PROTOCOL_COUNT
size_t proxy_driver_count(const struct proxy *proxy);
bool proxy_driver_serves(const struct proxy *proxy, size_t driver, enum proxy_protocol protocol);
int proxy_apply_driver(struct proxy *proxy, size_t driver, const struct proxy_state *state,
	struct err *err);

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

/* The check that proxy_apply() makes before it calls a driver. */
int proxy_state_check(const struct proxy_state *state, struct err *err);
/* Notes the fault, unless code is 0; returns code. */
static inline int proxy_listener_fault(const struct proxy_state *state,
	const struct proxy_listener *listener, int code)
{
	if (code < 0 && state->fault)
		*state->fault = (struct proxy_fault){.listener = listener->name};
	return code;
}
static inline int proxy_group_fault(const struct proxy_state *state,
	const struct proxy_group *group, int code)
{
	if (code < 0 && state->fault)
		*state->fault = (struct proxy_fault){.group = group->name};
	return code;
}

#endif
