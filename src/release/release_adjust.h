/*
 * Changes to an object of a manifest before it is applied: suspension, and values that others control.
 * Pure; the results share their unchanged parts with the inputs.
 */
#ifndef RELEASE_RELEASE_ADJUST_H
#define RELEASE_RELEASE_ADJUST_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/json.h"

/* spec.suspend: a workload without replicas, a CronJob that starts no Jobs. Other objects stay as they are. */
const struct json *release_suspend_object(struct arena *arena, const struct json *object);

/* True for kinds with spec.replicas, which a HorizontalPodAutoscaler can set. */
bool release_has_replicas(const struct json *object);
/* The replicas of the object in the cluster, because an autoscaler sets them. Zero is not kept: a workload that was
 * suspended would stay so. */
const struct json *release_keep_replicas(struct arena *arena, const struct json *object,
	const struct json *live);

/* True for a Service whose selector and target ports a CanaryRelease holds. */
bool release_is_taken_over(const struct json *live);
/* The Service with the selector and the target ports that it has in the cluster. */
const struct json *release_keep_traffic(struct arena *arena, const struct json *service,
	const struct json *live);
/* The Service as it is in the cluster, with exactly the selector and the ports of the manifest; NULL if it has
 * them. Apply alone does not reach this: it leaves entries that another manager also set. */
const struct json *release_correct_service(struct arena *arena, const struct json *service,
	const struct json *live);

/* The merge patch (RFC 7386) that makes `after` of `before` (NULL: empty); NULL if they are equal. */
const struct json *release_merge_patch(struct arena *arena, const struct json *before,
	const struct json *after);

#endif
