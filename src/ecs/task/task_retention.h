/*
 * Stopped tasks are kept for inspection: TASK_RETENTION_MS, or the last TASK_RETENTION_COUNT of a
 * cluster, whichever ends first.
 */
#ifndef ECS_TASK_RETENTION_H
#define ECS_TASK_RETENTION_H

#include "control/controller.h"

#define TASK_RETENTION_MS (INT64_C(60) * 60 * 1000)
#define TASK_RETENTION_COUNT 50000

/* The context of its controller; NULL: the constants above. */
struct task_retention_limits {
	int64_t age_ms;
	uint64_t count; /* of one cluster */
};

extern const struct controller_row task_retention_row;

#endif
