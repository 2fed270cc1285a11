/*
 * Requests and limits of a pod's containers, by ECS's rules: a task's cpu and memory are hard
 * limits and reserved for it, a container's cpu is a share, its memory a limit, its
 * memoryReservation a request.
 *
 * Kubernetes (before 1.34) has no limits for a pod, only for containers. So a task's limit becomes
 * the limit of each container that has none of its own, and the rest of it is requested by one of
 * them: the sum of the requests is what the task reserves.
 */
#ifndef RUNTIME_KUBERNETES_RESOURCES_H
#define RUNTIME_KUBERNETES_RESOURCES_H

#include <stdint.h>

#include "base/arena.h"
#include "base/json.h"
#include "runtime/kubernetes/start_order.h"

struct kubernetes_size {
	int64_t cpu_request, cpu_limit;       /* units, 1024 to a processor; a limit of 0 is none */
	int64_t memory_request, memory_limit; /* MiB */
};

/* By index of the spec's containers. */
void kubernetes_sizes(const struct json *spec, const struct kubernetes_start_order *order,
	struct kubernetes_size sizes[RUNTIME_CONTAINERS_MAX]);
/* {"requests":{…},"limits":{…}}. */
struct json *kubernetes_size_write(struct arena *arena, const struct kubernetes_size *size,
	int64_t gpus);

#endif
