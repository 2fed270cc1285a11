/*
 * Reservations: tasks that run before others on the instances of a cluster, started by any client.
 * A reservation says that a task of this group, with this task definition, runs on each instance
 * that has these attributes; placement places other tasks there only after it, and keeps its room
 * free. Daemon environments hold one for each cluster of this server that they are active in;
 * DAEMON services need none, they are known here.
 *
 * Keys are "ACCOUNT/REGION/CLUSTER/GROUP".
 */
#ifndef ECS_RESERVATION_H
#define ECS_RESERVATION_H

#include "store/store.h"

/* For this long an instance takes no other task, counted from when it is ACTIVE or the reservation
 * is created; after that only the room is kept. */
#define RESERVATION_WAIT_MS INT64_C(120000)

extern const struct store_kind reservation_kind;

struct reservation_facts {
	struct span cluster, group;
	struct span family;
	int64_t revision;       /* of the task definition */
	struct span attributes; /* ";NAME=VALUE;NAME;", all must match; "" */
	int64_t since_ms;
	int64_t priority; /* its tasks may preempt tasks with less; 0: none (preemption.h) */
};

static inline const struct reservation_facts *reservation_facts(const struct store_object *object)
{
	return object->facts;
}

struct span reservation_key(struct arena *arena, struct span cluster_key, struct span group);
int reservation_put(struct store_transaction *transaction, struct span key,
	const struct reservation_facts *facts, struct err *err);

#endif
