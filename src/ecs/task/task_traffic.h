/*
 * Traffic of a task: the target groups and the name of its service (loadBalancers and
 * serviceRegistries of its revision or task set), which the task has from its creation.
 *
 * A task is registered once, in the transaction that writes that it runs and is healthy, and
 * deregistered in the one that requests its stop. Between that and the end of its program it is
 * LEAVING: until its targets have drained and no client caches its name any more. Both are stored
 * with absolute times, so a server that restarts continues to wait. A task whose program has ended
 * is deregistered at once.
 *
 * A Cloud Map instance with the id of a task belongs to that task, also when a client registered it: it is
 * removed with the task, and the task is LEAVING until its TTL has passed, whether or not its service has
 * registries. The last healthy instance of a name, of a task that its service replaces, stays until another is
 * registered, at most TASK_NAME_KEPT_MS: the client that registered it has the time to register the replacement.
 *
 * The record, a member of the task's private text:
 *
 *     {"groups":[{"arn","key","container","port","id","at"}],
 *      "registry":{"arn","key","container","containerPort","port"},"externalId"}
 *
 * key: of the target group or the Cloud Map service in the store; id and at: the target that was registered.
 */
#ifndef ECS_TASK_TRAFFIC_H
#define ECS_TASK_TRAFFIC_H

#include "control/controller.h"
#include "ecs/record/task.h"
#include "ecs/task/task_edit.h"

#define TASK_TRAFFIC_MEMBER "traffic"
#define TASK_TARGET_GROUPS_MAX 5 /* of a service or task set */
#define TASK_REGISTRIES_MAX 1
/* Targets are deleted at their drain deadline. A target that still exists this long after it is not
 * waited for. */
#define TASK_DRAIN_PATIENCE_MS INT64_C(60000)
#define TASK_NAME_KEPT_MS INT64_C(60000)

/* The record of a new task, NULL if it gets no traffic; external_id: of its task set, or "". scope:
 * "ACCOUNT/REGION/". -ENOENT with the text of an event: a target group or name does not exist. */
int task_traffic_new(const struct store_view *view, struct span scope, const struct json *balancers,
	const struct json *registries, struct span external_id, struct arena *arena,
	const struct json **ret_traffic, struct err *err);

/* How long clients may connect to a task with this record after it was deregistered; 0: not at
 * all. */
int64_t task_traffic_hold_seconds(const struct store_view *view, struct span scope,
	const struct json *traffic);

/* Registers or deregisters the edited task if it is ready for that; sets facts.traffic, and last to
 * RUNNING (unless a load balancer checks it first) or DEACTIVATING. A task that cannot be
 * registered is failed. `before` is the stored one, or NULL. */
int task_traffic_follow(struct store_transaction *transaction, struct task_edit *edit,
	const struct store_object *before, struct err *err);
/* Deregisters it without waiting for clients. The caller saves. */
int task_traffic_remove(struct store_transaction *transaction, struct task_edit *edit,
	struct err *err);

/* Current health of a task according to its load balancers. A target that another client
 * deregistered does not count, nor does one in a group that no listener uses. */
enum task_balance task_traffic_balance(const struct store_view *view,
	const struct store_object *task, struct arena *arena);
/* Whether no client can connect to a LEAVING task any more; if not, *ret_again_ms is when time
 * alone may have changed that, 0 if only a change of a target can. */
bool task_traffic_has_left(const struct store_view *view, const struct store_object *task,
	int64_t now_ms, struct arena *arena, int64_t *ret_again_ms);

/* Whether the instance of a LEAVING task is still in Cloud Map, because it was the last one of its name.
 * *ret_again_ms: 0: it is to be taken out now; else when to ask again. */
bool task_traffic_keeps_name(const struct store_view *view, const struct store_object *task,
	int64_t now_ms, struct arena *arena, int64_t *ret_again_ms);
/* Takes it out; the task keeps LEAVING until its TTL has passed. The caller saves. */
int task_traffic_remove_name(struct store_transaction *transaction, struct task_edit *edit,
	struct err *err);

/* A target group that finds the task unhealthy. */
struct task_traffic_trouble {
	struct span group_arn;
	struct span instance; /* "i-…" of an instance target, else "" */
	int64_t port;
	struct span reason; /* "Health checks failed" */
};
bool task_traffic_find_trouble(const struct store_view *view, const struct store_object *task,
	struct arena *arena, struct task_traffic_trouble *ret_trouble);

/* Writes the health by load balancers into tasks, and releases tasks that no client uses any
 * more. */
extern const struct controller_row task_traffic_controller_row;

#endif
