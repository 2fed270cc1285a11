/*
 * Services and task sets as groups of a runtime that keeps replicas itself (runtime.h, Groups): the
 * desired group, and tasks that the runtime created for it.
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

/* The desired group now; *ret_again_ms: the time at which it changes by itself, 0 if it does not.
 * -ENOENT: the group must not exist (any more). -EINVAL: it cannot be made, with the reason as
 * event text. */
int service_group_make(const struct service_group_spec *order, struct runtime_group *ret_group,
	int64_t *ret_again_ms, struct err *err);

/* Stores a task that the runtime created for a group. -ENOENT: the group, or that version of it, is
 * unknown. -EINVAL: a part of its spec is missing, and may come back. No change if there is a task
 * with that token. */
int service_group_adopt(struct store_transaction *transaction, const struct runtime_task *seen,
	struct span host, struct random *random, struct err *err);

/* The key of the service that a group belongs to. */
struct span service_group_service(struct span id);

#endif
