/*
 * The Release controller: brings what runs in a Kubernetes cluster in line with its Releases. It keeps nothing of its
 * own: source, versions and status are in the API server, and every step can be interrupted and is decided again.
 *
 * It writes only while the lease is held. Several servers may run it at once.
 */
#ifndef RELEASE_RELEASE_CONTROLLER_H
#define RELEASE_RELEASE_CONTROLLER_H

#include "control/runner.h"
#include "kube/client.h"
#include "kube/lease.h"

#define RELEASE_WORKERS 4

struct release_controller;

struct release_controller_config {
	struct kube_client *client; /* outlives the controller; likewise http, runner and lease */
	struct http_client *http;   /* the client's */
	struct runner *runner;
	struct kube_lease *lease;
	struct runner_event *
		lease_acquired; /* signalled then: everything is compared; outlives the controller */
	struct span namespace;  /* SPAN_NONE: all; copied */
	/* A Release could not be reconciled, or a watch failed, and will be tried again; for the log. May be NULL. */
	void (*report)(void *context, struct span what, const struct err *err);
	void *context;
};

int release_controller_start(const struct release_controller_config *config,
	struct release_controller **ret_controller, struct err *err);
/* NULL is fine. */
void release_controller_stop(struct release_controller *controller);

struct release_controller_statistics {
	uint64_t reconciles, failures;
	size_t depth; /* Releases that wait */
	bool synced;
};
void release_controller_statistics(struct release_controller *controller,
	struct release_controller_statistics *ret_statistics);

#endif
