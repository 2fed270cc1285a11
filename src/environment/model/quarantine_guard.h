/*
 * Environments with a damaged record. The store hides such a record, and the others are incomplete without it: a version
 * is missing, or a decision. So every operation and every pass of the environment is refused until the record is repaired
 * or an operator removes it. Its tasks continue; other environments are not affected.
 */
#ifndef ENVIRONMENT_MODEL_QUARANTINE_GUARD_H
#define ENVIRONMENT_MODEL_QUARANTINE_GUARD_H

#include "aws/service.h"

/* Itself, or one of its versions, deployments, placements or runs. */
bool environment_is_damaged(struct store *store, struct span environment_key);
/* ServiceUnavailableException; 0 if no record is damaged. */
int environment_refuse_damaged(struct aws_request *request, struct span environment_key);

#endif
