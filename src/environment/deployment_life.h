/*
 * Deployments in transactions: making them and moving them along their automaton (kinds.h). Whoever changes one
 * changes what its environment says of it in the same transaction: an environment names at most one that is in
 * progress and at most one that a user has waiting.
 */
#ifndef ENVIRONMENT_DEPLOYMENT_LIFE_H
#define ENVIRONMENT_DEPLOYMENT_LIFE_H

#include "environment/notices.h"

#define DEPLOYMENTS_KEPT 10000 /* of an environment; the oldest that have ended go */

/* Facts of an environment that is being changed, and where it is. */
struct deployment_scope {
	struct store_transaction *transaction;
	struct span environment; /* key */
	struct environment_facts *facts;
	int64_t now_ms;
	const struct webhook_set *webhooks; /* NULL: none */
};

/* A new one, pending; *facts without environment and number. Its id is facts->id. */
int deployment_add(const struct deployment_scope *scope, struct environment_deployment_facts *facts,
	struct err *err);
/* -EINVAL: the automaton has no such arrow. reason: a word, or "". */
int deployment_move(const struct deployment_scope *scope, struct span id,
	enum environment_deployment_status status, struct span reason, struct err *err);
/* From pending to in progress: its version is what is wanted from now on. */
int deployment_begin(const struct deployment_scope *scope, struct span id, struct err *err);

#endif
