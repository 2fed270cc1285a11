/*
 * First in: while a daemon environment is active in a cluster of this server it holds a reservation there
 * (ecs/record/reservation.h), so that its instances take other tasks after its own, and keep its room. Whoever writes
 * an environment writes that in the same transaction.
 */
#ifndef ENVIRONMENT_MODEL_RESERVING_H
#define ENVIRONMENT_MODEL_RESERVING_H

#include "environment/model/kinds.h"

/* Makes, changes or gives up the reservation as these facts want it, and notes it in them: before they are put. */
int environment_reserve(struct store_transaction *transaction, struct span environment_key,
	struct environment_facts *facts, int64_t now_ms, struct err *err);
/* With the environment. */
int environment_unreserve(struct store_transaction *transaction,
	const struct environment_facts *facts, struct err *err);

#endif
