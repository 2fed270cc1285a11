/*
 * Deployments in transactions: creating them and changing their status (the state machine is in kinds.h). The
 * environment changes in the same transaction: it names at most one deployment that is in progress and at most one of
 * a user that is pending.
 */
#ifndef ENVIRONMENT_MODEL_DEPLOYMENT_STATES_H
#define ENVIRONMENT_MODEL_DEPLOYMENT_STATES_H

#include "environment/model/notices.h"

#define DEPLOYMENTS_KEPT 10000 /* of an environment; the oldest that have ended go */

/* The facts of an environment that is being changed. */
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
/* -EINVAL: the state machine has no such transition. reason: a word, or "". */
int deployment_move(const struct deployment_scope *scope, struct span id,
	enum environment_deployment_status status, struct span reason, struct err *err);
/* From pending to in progress: its version is the desired one from now on. */
int deployment_begin(const struct deployment_scope *scope, struct span id, struct err *err);

const struct store_object *environment_deployment_of(const struct store_view *view,
	struct arena *arena, struct span environment_key, struct span id); /* NULL for "" */
/* {"id","type","status",…} */
struct json *environment_deployment_document(const struct store_view *view, struct arena *arena,
	const struct store_object *deployment);

#endif
