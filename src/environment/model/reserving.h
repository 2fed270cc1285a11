/*
 * Reservations: while a daemon environment is active in a cluster of this server it has a reservation there
 * (ecs/record/reservation.h), so that its instances place other tasks after its own, and keep the resources for it. Every
 * transaction that writes an environment writes its reservation.
 */
#ifndef ENVIRONMENT_MODEL_RESERVING_H
#define ENVIRONMENT_MODEL_RESERVING_H

#include "environment/model/kinds.h"

/* Creates, changes or deletes the reservation as these facts require, and records it in them, before they are put. */
int environment_reserve(struct store_transaction *transaction, struct span environment_key,
	struct environment_facts *facts, int64_t now_ms, struct err *err);
/* Deletes the reservation with the environment. */
int environment_unreserve(struct store_transaction *transaction,
	const struct environment_facts *facts, struct err *err);

#endif
