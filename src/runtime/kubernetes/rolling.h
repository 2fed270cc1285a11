/*
 * Translates minimumHealthyPercent and maximumPercent to Kubernetes: maxUnavailable and maxSurge of
 * the rollout of a new version. Absolute numbers, because ECS and Kubernetes round percentages
 * differently: ECS rounds the lower bound up and the upper bound down.
 *
 * Where both are 0 (100 % and 100 %, or one task with 100 % and 150 %), ECS makes no progress and
 * Kubernetes rejects the Deployment. Then a surge of one task is allowed: no task stops before its
 * replacement is ready, as 100 % healthy requires; the price is room for one task.
 */
#ifndef RUNTIME_KUBERNETES_ROLLING_H
#define RUNTIME_KUBERNETES_ROLLING_H

#include <stdint.h>

#include "base/arena.h"
#include "base/json.h"

struct kubernetes_rolling {
	int64_t unavailable, surge;
};

struct kubernetes_rolling kubernetes_rolling_of(int64_t desired, int64_t minimum_healthy,
	int64_t maximum);
/* "strategy" of a Deployment. */
struct json *kubernetes_rolling_write(struct arena *arena, struct kubernetes_rolling rolling);

/* For a DaemonSet, whose number of tasks is that of its nodes: at least one may be unavailable, as
 * a percentage of them. nodes: the last known number, to round as ECS does; 0: not known. */
struct json *kubernetes_rolling_write_daemon(struct arena *arena, int64_t minimum_healthy,
	int64_t nodes);

#endif
