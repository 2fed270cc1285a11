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
#ifndef ECS_INSTANCE_KEEPER_H
#define ECS_INSTANCE_KEEPER_H

#include "control/controller.h"
#include "runtime/runtime.h"

#define INSTANCE_KEEPER_MAX 100000

struct instance_keeper;

struct instance_keeper_config {
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
int instance_keeper_start(const struct instance_keeper_config *config,
	struct instance_keeper **ret_keeper, struct err *err);
void instance_keeper_stop(struct instance_keeper *keeper); /* NULL is fine */
/* Lists the runtime again, soon: it says that its instances changed. From any thread, does not block. */
void instance_keeper_refresh(struct instance_keeper *keeper);
/* As at the start, soon: everything was reset. From any thread, does not block. */
void instance_keeper_reset(struct instance_keeper *keeper);
/* For statistics and readiness. */
struct controller *instance_keeper_controller(struct instance_keeper *keeper);
extern const struct controller_row instance_keeper_row;

#endif
