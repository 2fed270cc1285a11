/*
 * The plane: makes the data plane (proxy/) carry what load balancers, listeners, rules and targets say, and
 * writes back what it finds out: health of targets, load balancers that are active or impaired, targets that
 * have drained. One loop over the whole desired state, woken by the change feed; changes that come together
 * are applied together.
 *
 * Health checks begin when a target group is in use. When all targets of a group are unhealthy, all of them
 * get traffic (fail open), as with Elastic Load Balancing. A draining target is deleted when it has no
 * connection any more, but not before the data plane has stopped giving it new ones, and at its deadline.
 */
#ifndef ELB_PLANE_H
#define ELB_PLANE_H

#include "control/runner.h"
#include "elb/elb.h"
#include "proxy/proxy.h"

struct elb_plane_config {
	struct runner *runner;
	struct store *store;
	struct proxy *proxy; /* not owned */
	const struct elb_context *elb;
	void (*report)(void *context, const char *controller, struct span key,
		const struct err *err);
	void *report_context;
};

struct elb_plane;
int elb_plane_start(const struct elb_plane_config *config, struct elb_plane **ret_plane,
	struct err *err);
/* Listeners stay as they are until the proxy is freed. NULL is fine. */
void elb_plane_stop(struct elb_plane *plane);
/* True when everything durable at the time of the call is in effect; for tests and readiness. */
bool elb_plane_is_settled(struct elb_plane *plane);
/* True once everything stored has been in effect since the start. */
bool elb_plane_has_started(struct elb_plane *plane);
/* Certificates were perhaps replaced (SIGHUP, or the folder has changed): look again. */
void elb_plane_refresh(struct elb_plane *plane);

/* For /metrics and GET /v1/traffic: what was carried. In memory of the arena. */
void elb_plane_report(struct elb_plane *plane, struct arena *arena,
	struct proxy_report *ret_report);

#endif
