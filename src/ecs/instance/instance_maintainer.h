/*
 * The keeper of this server's own container instances: what the runtime offers is registered in one cluster
 * (made when missing, as CreateCluster would), with the resources and attributes that an ECS agent would
 * announce, and stays registered under the same id as long as nobody deregisters it.
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

#include "control/controller.h"
#include "runtime/runtime.h"

#define INSTANCE_MAINTAINER_MAX 100000

struct instance_maintainer;

struct instance_maintainer_config {
	struct runner *runner;
	struct store *store;
	struct random *random;
	struct runtime *runtime; /* outlives the keeper */
	/* Tells this runtime from those of other servers that share the store: stays the same as long as
	 * the runtime keeps its tasks, and has no '/'. Outlives the keeper. */
	struct span host;
	struct span account, region, cluster; /* where they go; texts outlive the keeper */
	/* They are instances of every other ACTIVE cluster of the region, too: what runs there shares them. */
	bool every_cluster;
	/* As for every controller; may be NULL. */
	void (*report)(void *context, const char *controller, struct span key,
		const struct err *err);
	void *report_context;
};

/* Registers what the runtime has now (waits until that is durable), then keeps it. Not from the store's
 * writer. */
int instance_maintainer_start(const struct instance_maintainer_config *config,
	struct instance_maintainer **ret_maintainer, struct err *err);
void instance_maintainer_stop(struct instance_maintainer *maintainer); /* NULL is fine */
/* Lists the runtime again, soon: it says that its instances changed. From any thread, does not block. */
void instance_maintainer_refresh(struct instance_maintainer *maintainer);
/* As at the start, soon: everything was reset. From any thread, does not block. */
void instance_maintainer_reset(struct instance_maintainer *maintainer);
/* For statistics and readiness. */
struct controller *instance_maintainer_controller(struct instance_maintainer *maintainer);
extern const struct controller_row instance_maintainer_row;

#endif
