/*
 * Environments of which a record is damaged. The store shows such a record to nobody, and what is left is half the
 * truth: a version that is not there, a decision that was never made. So nothing is done for the whole environment,
 * whoever asks, until the record is mended or the operator takes it away; its tasks go on. Others are not concerned.
 */
#ifndef ENVIRONMENT_MODEL_QUARANTINE_GUARD_H
#define ENVIRONMENT_MODEL_QUARANTINE_GUARD_H

#include "aws/service.h"

/* Itself, or one of its versions, deployments, placements or runs. */
bool environment_is_damaged(struct store *store, struct span environment_key);
/* ServiceUnavailableException; 0 if it is well. */
int environment_refuse_damaged(struct aws_request *request, struct span environment_key);

#endif
