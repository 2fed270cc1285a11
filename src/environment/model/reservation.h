/*
 * Reservations: while a daemon environment is active in a cluster of this server it has a reservation there
 * (ecs/record/reservation.h), so that its instances place other tasks after its own, and keep the resources for it.
 *
 * The environment's `reserved` has the key of its reservation, written before the reservation is put and cleared after it
 * is deleted: no reservation is left behind. decide/reservation_step.h brings the two together.
 */
#ifndef ENVIRONMENT_MODEL_RESERVATION_H
#define ENVIRONMENT_MODEL_RESERVATION_H

#include "environment/model/kinds.h"

/* The key of the reservation that it shall have; "": none. target: its target version; NULL: none. */
struct span environment_wanted_reservation(struct arena *arena, struct span environment_key,
	const struct environment_facts *facts, const struct environment_version_facts *target);
/* The cluster that the key of one of its reservations names. */
struct cluster_ref environment_reserved_cluster(struct arena *arena, struct span environment_key,
	struct span reserved);

#endif
