/*
 * States of deployments and of their stages, and which may follow which. A terminal state never changes, except that a
 * failed rollback can be retried, and the last deployment that succeeded can be rolled back.
 */
#ifndef PIPELINE_STATE_H
#define PIPELINE_STATE_H

#include <stdbool.h>

#include "base/span.h"

/* Name and whether it is terminal. */
#define DEPLOYMENT_STATES(X)                                                                       \
	X(PENDING, false)                                                                          \
	X(RUNNING, false)                                                                          \
	X(ROLLING_BACK, false)                                                                     \
	X(SUCCESS, true)                                                                           \
	X(FAILURE, true)                                                                           \
	X(CANCELLED, true)

#define STAGE_STATES(X)                                                                            \
	X(NOT_STARTED, false)                                                                      \
	X(RUNNING, false)                                                                          \
	X(SUCCESS, true)                                                                           \
	X(FAILURE, true)                                                                           \
	X(CANCELLED, true)                                                                         \
	X(SKIPPED, true)

/* Before the reason of a failed rollback, behind that of the deployment. */
#define ROLLBACK_FAILED_TEXT "; the rollback failed: "

enum pipeline_deployment_state {
#define DEPLOYMENT_STATE_ENUM(name, terminal) PIPELINE_DEPLOYMENT_##name,
	DEPLOYMENT_STATES(DEPLOYMENT_STATE_ENUM)
#undef DEPLOYMENT_STATE_ENUM
		PIPELINE_DEPLOYMENT_STATE_COUNT
};

enum pipeline_stage_state {
#define STAGE_STATE_ENUM(name, terminal) PIPELINE_STAGE_##name,
	STAGE_STATES(STAGE_STATE_ENUM)
#undef STAGE_STATE_ENUM
		PIPELINE_STAGE_STATE_COUNT
};

const char *pipeline_deployment_state_name(enum pipeline_deployment_state state);
bool pipeline_deployment_state_read(struct span name, enum pipeline_deployment_state *ret_state);
bool pipeline_deployment_is_terminal(enum pipeline_deployment_state state);
bool pipeline_deployment_may_become(enum pipeline_deployment_state from,
	enum pipeline_deployment_state to);

const char *pipeline_stage_state_name(enum pipeline_stage_state state);
bool pipeline_stage_state_read(struct span name, enum pipeline_stage_state *ret_state);
bool pipeline_stage_is_terminal(enum pipeline_stage_state state);
bool pipeline_stage_may_become(enum pipeline_stage_state from, enum pipeline_stage_state to);

#endif
