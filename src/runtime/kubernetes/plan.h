/*
 * Properties of a pod's containers that are needed to report it as a task, kept in the pod's own
 * annotation (slipway.dev/plan): Kubernetes has no fields for ECS's container names, essential
 * containers and restart policies of single containers. So any slipway can read a pod without other
 * state.
 *
 *     {"hold":30,"stop":30,"network":"awsvpc","containers":[{"name":"Web","as":"web-5d41402abc","essential":true,
 *      "initial":true,"anyExit":true,"health":[interval,timeout,retries,startPeriod],
 *      "restart":[restartAttemptPeriod,ignored exit codes…],"ports":[[80,8080,"tcp"]]}]}
 *
 * Members that are false, or missing in the task definition, are omitted. Times are seconds.
 */
#ifndef RUNTIME_KUBERNETES_PLAN_H
#define RUNTIME_KUBERNETES_PLAN_H

#include "base/arena.h"
#include "base/json.h"
#include "runtime/kubernetes/start_order.h"

#define KUBERNETES_HEALTH_INTERVAL 30
#define KUBERNETES_HEALTH_TIMEOUT 5
#define KUBERNETES_HEALTH_RETRIES 3
#define KUBERNETES_RESTART_PERIOD 300

/* How long its tasks are held at their end, in seconds. */
#define KUBERNETES_HOLD_MAX 7200 /* Seconds for which its tasks are held at their end. */
int64_t kubernetes_hold(const struct json *spec);
/* Stop timeout of its slowest container. */
#define KUBERNETES_STOP_TIMEOUT 30
int64_t kubernetes_stop_timeout(const struct json *spec);
/* Whether the container is restarted in place, by its restartPolicy. */
bool kubernetes_restarts(const struct json *container);
/* Whether it has a check that is not NONE. */
bool kubernetes_has_health(const struct json *container);

/* names: of the containers in Kubernetes, by index. */
struct json *kubernetes_plan_write(struct arena *arena, const struct json *spec,
	const struct kubernetes_start_order *order, const struct span *names);

#endif
