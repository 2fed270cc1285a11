/*
 * Facts of an environment that follow from its versions, and by which it is found. Every transaction that writes an
 * environment derives them.
 *
 * Overlap: no other daemon environment of the account may have the same task definition in the same cluster. It covers
 * every version that runs or may run without a further check: the latest, the desired, the pending, and the last
 * completed one, whose tasks remain until a rollout ends, and which a rollback returns to.
 *
 * Attributes: those that instances must have for the desired version; before the first deployment, for the latest.
 */
#ifndef ENVIRONMENT_MODEL_DERIVED_H
#define ENVIRONMENT_MODEL_DERIVED_H

#include "environment/model/bug.h"
#include "environment/model/kinds.h"

/* Sets facts->claims_on and facts->attributes, before the environment is put. Its versions and deployments must be in the
 * store. */
void environment_derive(struct store_transaction *transaction, enum daemon_bug bug,
	struct span environment_key, struct environment_facts *facts);

#endif
