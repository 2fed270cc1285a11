/*
 * The maintainer of this server's own container instances: it registers the runtime's instances in
 * one cluster (created when missing, as by CreateCluster), with the resources and attributes that
 * an ECS agent would announce. An instance keeps its id until a client deregisters it.
 *
 * - At the start, and whenever it is asked to refresh, the runtime is listed. Instances that it has are made or
 *   brought up to date and are connected. One that an operator deregistered comes back at the next start, under
 *   a new id.
 * - One that the runtime says is away is disconnected, and takes no tasks; what runs there is not lost yet.
 * - One that the runtime no longer has is disconnected at once, and deregistered when nothing runs there any
 *   more.
 */
#ifndef ECS_INSTANCE_MAINTAINER_H
#define ECS_INSTANCE_MAINTAINER_H

#include "control/claims.h"
#include "control/controller.h"
#include "runtime/runtime.h"

#define INSTANCE_MAINTAINER_MAX 100000

struct instance_maintainer;

struct instance_maintainer_config {
	struct runner *runner;
	struct store *store;
	struct random *random;
	struct runtime *runtime; /* outlives the maintainer */
	/* Distinguishes this runtime from those of other servers on the same store: stable as long
	 * as the runtime keeps its tasks, and without '/'. Outlives the maintainer. */
	struct span host;
	/* where the instances register; texts outlive the maintainer */
	struct span account, region, cluster;
	/* The instances belong to every other ACTIVE cluster of the region, too, which share their
	 * resources. */
	bool every_cluster;
	/* As for every controller; may be NULL. */
	void (*report)(void *context, const char *controller, struct span key,
		const struct err *err);
	void *report_context;
	/* This server's lease: without it nothing is done. NULL: none is needed. */
	struct claims *claims;
};

/* Registers the runtime's instances (waits until that is durable), then maintains them. Not from
 * the store's writer. */
int instance_maintainer_start(const struct instance_maintainer_config *config,
	struct instance_maintainer **ret_maintainer, struct err *err);
void instance_maintainer_stop(struct instance_maintainer *maintainer); /* NULL is fine */
/* Requests another listing of the runtime, whose instances changed. From any thread, does not
 * block. */
void instance_maintainer_refresh(struct instance_maintainer *maintainer);
/* Requests a full registration as at the start, after a reset. From any thread, does not block. */
void instance_maintainer_reset(struct instance_maintainer *maintainer);
/* For statistics and readiness. */
struct controller *instance_maintainer_controller(struct instance_maintainer *maintainer);
extern const struct controller_row instance_maintainer_row;

#endif
