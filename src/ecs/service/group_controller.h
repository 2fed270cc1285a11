/*
 * The group controller: for a runtime that keeps replicas itself (runtime.h, Groups), applies each
 * service and task set as a group there, and adds what the runtime reports about it to the
 * service's events. No other code applies and removes groups; the task controller handles their
 * tasks.
 *
 * Its keys are ids of groups (service_group.h). For each it compares desired with actual:
 *
 *     desired  actual   then
 *     yes      any      apply it: idempotent, and repairs what others changed or deleted in the
 *                       runtime
 *     no       exists   remove it
 *
 * It also closes instances that are DRAINING in any cluster to new tasks, and opens them when they are not.
 */
#ifndef ECS_GROUP_CONTROLLER_H
#define ECS_GROUP_CONTROLLER_H

#include "control/claims.h"
#include "control/controller.h"
#include "ecs/task/sync_statistics.h"
#include "runtime/runtime.h"

/* Interval of the full comparison, in case a notice was lost. */
#define GROUP_CONTROLLER_RELIST_MS INT64_C(300000)

struct group_controller;

struct group_controller_config {
	struct runner *runner;
	struct store *store;
	struct span host;            /* as the maintainer of the runtime's instances has it */
	struct span account, region; /* of the services that are groups of this runtime */
	const char *secrets;         /* folder, see task_spec.h; NULL: none */
	struct work_queue_config queue;
	unsigned workers;  /* 0: the usual number */
	int64_t relist_ms; /* 0: GROUP_CONTROLLER_RELIST_MS */
	void (*report)(void *context, const char *controller, struct span key,
		const struct err *err);
	void *report_context;
	/* This server's lease: without it nothing is done. NULL: none is needed. */
	struct claims *claims;
	struct sync_statistics *statistics; /* or NULL */
};

/* Three steps, as with task_controller.h. The config's texts must outlive it. */
struct group_controller *group_controller_new(const struct group_controller_config *config);
/* A runtime_group_changed; of no effect before the start and after the stop. */
void group_controller_changed(void *group_controller, struct span id);
/* Of no effect for a runtime without groups. */
int group_controller_start(struct group_controller *controller, struct runtime *runtime,
	struct err *err);
void group_controller_stop(struct group_controller *controller); /* NULL is fine */
void group_controller_free(struct group_controller *controller); /* stopped; NULL is fine */
extern const struct controller_row group_controller_row;
/* For statistics; NULL when it does not run. */
struct controller *group_controller_controller(struct group_controller *controller);

#endif
