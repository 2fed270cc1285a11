/*
 * What an environment says of its versions, so that it is found by it: whoever writes an environment derives that in the
 * same transaction.
 *
 * Claims: no other daemon environment of the account may have the same task definition in the same cluster. Claimed is
 * every version that runs or may come to run without being looked at again: the latest, the one that is wanted, the one
 * that waits, and the one that was completed last, whose tasks are there until a rollout is through, and which comes back
 * when it fails.
 *
 * Attributes: those that instances must have for the version that is wanted now; before the first deployment, for the
 * latest.
 */
#ifndef ENVIRONMENT_MODEL_DERIVED_H
#define ENVIRONMENT_MODEL_DERIVED_H

#include "environment/model/bug.h"
#include "environment/model/kinds.h"

/* Sets facts->claims_on and facts->attributes to what the other facts say; before the environment is put. Its versions
 * and deployments are in the store. */
void environment_derive(struct store_transaction *transaction, enum daemon_bug bug,
	struct span environment_key, struct environment_facts *facts);

#endif
