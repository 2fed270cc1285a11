/*
 * The plane of a canary's proxy: the desired state of the data plane (proxy/proxy.h) from a CanaryRelease and
 * the EndpointSlices of its -forked and -canary Services. No input or output of its own.
 *
 * Each proxied port is a listener with two groups, the stable side and the canary side. HTTP has two more of the same
 * targets for clients that speak HTTP/2: it stays HTTP/2 to the pods. A side without ready endpoints
 * gives its share to the other one. Endpoints that are not ready get no new connections and keep theirs. Those that
 * left their Service keep connections for drainSeconds; this memory is why a plane is an object.
 *
 * A Service without any slice was deleted, and its targets stay as they were. A frozen plane keeps all targets: once the
 * controller deletes the copies, their slices say nothing about the pods any more.
 */
#ifndef RELEASE_CANARY_PLANE_H
#define RELEASE_CANARY_PLANE_H

#include "base/buffer.h"
#include "proxy/proxy.h"
#include "release/canary.h"
#include "release/canary_certificates.h"
#include "release/canary_slice.h"

enum canary_side { CANARY_SIDE_STABLE, CANARY_SIDE_CANARY, CANARY_SIDE_COUNT };

/* One listener, in the order of the state's listeners. */
struct canary_plane_port {
	struct span service;
	const struct canary_proxied_port *port;
	const char *listener;
	const char *groups[CANARY_SIDE_COUNT];
	const char *http2_groups[CANARY_SIDE_COUNT]; /* NULL but for HTTP */
	uint32_t share;                              /* wanted by the CanaryRelease */
	uint32_t effective;              /* after a side without endpoints gave its own away */
	size_t ready[CANARY_SIDE_COUNT]; /* endpoints */
};

struct canary_plane_state {
	struct proxy_state state;
	struct canary_plane_port *ports; /* as many as the state has listeners */
	struct span problem; /* a port that cannot be served, and why: its certificate; "" */
	int64_t next_us;     /* when to update again because an endpoint's time is over; 0: not */
};

struct canary_plane_input {
	const struct canary *canary;
	const struct canary_slice *const *slices;
	size_t slice_count;
	const char *address; /* to listen on */
	bool has_http;       /* a driver for HTTP is there; else HTTP is TCP */
	const struct canary_certificates *certificates; /* NULL: none */
	bool frozen;
	int64_t now_us;
};

struct canary_plane;
struct canary_plane *canary_plane_new(void);
void canary_plane_free(struct canary_plane *plane); /* NULL is fine */

/* The state is in the arena, and points into the input. -EINVAL: the address. */
int canary_plane_update(struct canary_plane *plane, const struct canary_plane_input *input,
	struct arena *arena, struct canary_plane_state *ret_state, struct err *err);

/* A replica's report for status.proxies: of each port the effective share, and what either side carried. report NULL:
 * without counters. */
struct json *canary_plane_report(struct arena *arena, const struct canary_plane_state *state,
	const struct proxy_report *report, int64_t generation);
/* For Prometheus: the shares of all ports; and what the listeners carried. */
void canary_plane_write_weights(const struct canary_plane_state *state, struct buffer *out);
void canary_plane_write_counters(const struct proxy_report *report, struct buffer *out);
/* How many connections are open; sessions of UDP, which have no end, are not counted. */
uint64_t canary_plane_active(const struct proxy_report *report);
/* Changes with everything that a report counts. */
uint64_t canary_plane_carried(const struct proxy_report *report);
/* Grows with every new connection and every datagram. */
uint64_t canary_plane_traffic(const struct proxy_report *report);

#endif
