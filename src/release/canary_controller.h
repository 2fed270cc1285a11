/*
 * The CanaryRelease controller: makes the steps that canary_decide.h decides. All state is in the API server; what is
 * kept between two passes saves reads, and is read anew when something changes.
 *
 * It writes only while the lease is held. Several servers may run it at once.
 */
#ifndef RELEASE_CANARY_CONTROLLER_H
#define RELEASE_CANARY_CONTROLLER_H

#include "control/runner.h"
#include "kube/client.h"
#include "kube/lease.h"

#define CANARY_WORKERS 4
#define CANARY_RESYNC_MS INT64_C(60000)

struct canary_controller;

struct canary_controller_config {
	struct kube_client *client; /* outlives the controller; likewise http, runner and lease */
	struct http_client *http;   /* the client's */
	struct runner *runner;
	struct kube_lease *lease;
	struct runner_event *lease_acquired; /* signalled then: everything is compared */
	struct span namespace;               /* SPAN_NONE: all; copied */
	struct span image;                   /* of the proxy's pods; copied */
	struct span pull_policy;             /* ""; copied */
	/* A CanaryRelease could not be reconciled, or a watch failed, and will be tried again; for the log. May be NULL. */
	void (*report)(void *context, struct span what, const struct err *err);
	void *context;
};

int canary_controller_start(const struct canary_controller_config *config,
	struct canary_controller **ret_controller, struct err *err);
void canary_controller_stop(struct canary_controller *controller); /* NULL is fine */

struct canary_controller_statistics {
	uint64_t reconciles, failures, writes;
	size_t depth; /* CanaryReleases that wait */
	bool synced;
};
void canary_controller_statistics(struct canary_controller *controller,
	struct canary_controller_statistics *ret_statistics);

#endif
