/*
 * Services and task sets as groups of a runtime that keeps replicas itself (runtime.h, Groups): what such a
 * group is to be, and tasks that the runtime made for one.
 *
 * A group's id is the key of its service, "ACCOUNT/REGION/CLUSTER/SERVICE", or that of its task set,
 * "ACCOUNT/REGION/CLUSTER/SERVICE/NUMBER"; the version of its tasks is the id of their deployment or task set,
 * "ecs-svc/NUMBER".
 */
#ifndef ECS_SERVICE_GROUP_H
#define ECS_SERVICE_GROUP_H

#include "ecs/record/service_kind.h"
#include "runtime/runtime.h"

struct service_group_spec {
	const struct store_view *view;
	struct arena *arena;
	struct span id;
	int64_t now_ms;
	const char *secrets; /* as task_spec.h has it */
};

/* What the group is to be now; *ret_again_ms: when time alone makes it another one, 0 if it does not. -ENOENT: it
 * is not to be (any more). -EINVAL: it cannot be, with the reason as an event tells it. */
int service_group_make(const struct service_group_spec *order, struct runtime_group *ret_group,
	int64_t *ret_again_ms, struct err *err);

/* Writes down a task that the runtime made for a group. -ENOENT: nobody knows the group, or that version of it.
 * -EINVAL: something is missing that it was made from, and may come back. No change if there is a task with that
 * token. */
int service_group_adopt(struct store_transaction *transaction, const struct runtime_task *seen,
	struct span host, struct random *random, struct err *err);

/* The service to which a group belongs. */
struct span service_group_service(struct span id);

#endif
