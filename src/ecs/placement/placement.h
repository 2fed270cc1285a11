/*
 * Where a task goes: which container instance has room and fits, and which of those a strategy prefers.
 * Decided inside the transaction that creates the task, on head, so that two requests never take the same
 * room.
 *
 * An instance takes a task when it is ACTIVE and its agent is connected, has the CPU, memory and host
 * ports left, has the attributes that the definition requires, and satisfies every constraint (memberOf
 * in the cluster query language, distinctInstance). Daemons first: room for the DAEMON services of the
 * cluster and for reservations (reservation.h) that match an instance is kept there, and a task of another kind
 * goes there only when those run.
 */
#ifndef ECS_PLACEMENT_H
#define ECS_PLACEMENT_H

#include "ecs/placement/task_needs.h"

#define PLACEMENT_CONSTRAINTS_MAX 10
#define PLACEMENT_STRATEGIES_MAX 5

struct placement;

/* Why no instance took it, in ECS's words: "RESOURCE:MEMORY", "RESOURCE:CPU", "RESOURCE:PORTS", "ATTRIBUTE",
 * "MemberOf placement constraint unsatisfied.", "AGENT", "No Container Instances were found in your cluster." …
 * `instance` is the closest one (its key), for failures[].arn and for events; data NULL: none. */
struct placement_failure {
	struct span reason;
	struct span instance;
	struct span
		event; /* how a service event says it: "the closest matching (container-instance X) has …" */
};

struct placement_config {
	struct arena *arena;
	struct random *random;
	struct span cluster_key;
	const struct task_needs *needs;
	const struct json *
		constraints; /* of the request or service, or NULL; those of the definition are added */
	const struct json *strategy; /* of the request or service, or NULL */
	struct span group;           /* for distinctInstance: "service:web"; tasks of it count */
	struct span service; /* name; "" : spread counts tasks of the group's family instead */
	bool daemon;
	int64_t now_ms;
	enum task_launch_type launch_type;
};

/* Checks and compiles constraints and strategy; -EINVAL with a message that names the member and the reason.
 * Free it. Needs no view: may be done in `prepare`. */
int placement_new(const struct placement_config *config, struct placement **ret_placement,
	struct err *err);
void placement_free(struct placement *placement); /* NULL is fine */
void placement_free_pointer(struct placement **placement);
#define _placement_ CLEANUP(placement_free_pointer)

/* The best instance in this view; NULL with the failure filled in. Work is in proportion to the instances of
 * the cluster at worst; without constraints and with strategy random (or none) some few tries suffice. */
const struct store_object *placement_choose(struct placement *placement,
	const struct store_view *view, struct placement_failure *ret_failure);
/* Whether this one instance takes it (StartTask, DAEMON services). StartTask does not ask for constraints of the
 * strategy kind; `forced` leaves daemons-first and the instance's DRAINING aside. */
bool placement_fits(struct placement *placement, const struct store_view *view,
	const struct store_object *instance, bool forced, struct placement_failure *ret_failure);

#endif
