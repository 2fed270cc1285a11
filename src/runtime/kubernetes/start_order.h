/*
 * The order in which a pod's containers start, from dependsOn. Kubernetes has two tools for it:
 *
 *     init containers   run one after the other to their end before any other begins: COMPLETE, SUCCESS
 *     the list          a node starts containers in their order, and does not start the next before the
 *                       hook of the one before has returned: START, and HEALTHY with a hook that waits
 *
 * So a container that others wait for to end becomes an init container, and must not depend on a
 * running one. Dependencies that need anything else are rejected. A container that others wait for
 * to be healthy is as late in the list as possible, because all containers behind it wait too.
 */
#ifndef RUNTIME_KUBERNETES_START_ORDER_H
#define RUNTIME_KUBERNETES_START_ORDER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/json.h"
#include "runtime/runtime.h"

struct kubernetes_start_order {
	/* Indexes into the spec's containers, in the order in which they start. */
	size_t initial[RUNTIME_CONTAINERS_MAX], initial_count;
	size_t running[RUNTIME_CONTAINERS_MAX], running_count;
	/* By index: */
	bool is_initial[RUNTIME_CONTAINERS_MAX];
	bool any_exit[RUNTIME_CONTAINERS_MAX];   /* initial, and its exit code does not matter */
	bool waited_for[RUNTIME_CONTAINERS_MAX]; /* by others, to be healthy */
	bool waits_for[RUNTIME_CONTAINERS_MAX]
		      [RUNTIME_CONTAINERS_MAX]; /* the second, to be healthy */
};

/* -EINVAL: with the containers and the reason. */
int kubernetes_start_order_make(const struct json *containers,
	struct kubernetes_start_order *ret_order, struct err *err);

#endif
