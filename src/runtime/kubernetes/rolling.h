/*
 * minimumHealthyPercent and maximumPercent as Kubernetes has them: how many tasks may be missing, and how
 * many there may be beyond what is wanted, while a new version is rolled out. Absolute numbers, because ECS
 * and Kubernetes round percentages differently: ECS rounds the lower bound up and the upper bound down.
 *
 * Where that leaves no room at all (100 % and 100 %, or one task with 100 % and 150 %), ECS never gets
 * anywhere and Kubernetes refuses. Then one task more than wanted is allowed: nothing that serves is taken
 * away before its successor is ready, which is what 100 % healthy asks for; the price is room for one task.
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

/* Of a DaemonSet, whose number of tasks is that of its nodes: at least one may be missing, as a percentage
 * of them. nodes: how many there were last, to round as ECS does; 0: not known. */
struct json *kubernetes_rolling_write_daemon(struct arena *arena, int64_t minimum_healthy,
	int64_t nodes);

#endif
