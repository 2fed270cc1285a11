/*
 * Translates placement constraints and strategies of ECS to Kubernetes: attributes of instances are
 * labels of nodes. A constraint without an equivalent is rejected, because a task must not run
 * where it is not allowed to; a strategy without an equivalent is only a preference, and noted.
 *
 *     distinctInstance                         podAntiAffinity by node
 *     memberOf attribute:zone == a and …       nodeAffinity; ==, !=, in, !in, exists, !exists, <, > joined by and
 *     spread by instanceId, by attribute:…     topologySpreadConstraints, not binding
 *     random                                   nothing: the scheduler's own choice
 *     binpack                                  no equivalent for a pod
 *
 * A given instance becomes spec.nodeName if the pod may be bound to it (binding.c) and there are no
 * other constraints. Otherwise it becomes node affinity: the scheduler then checks that the node
 * has room, is ready and is not cordoned, and a pod that does not fit waits with a reason.
 */
#ifndef RUNTIME_KUBERNETES_PLACEMENT_H
#define RUNTIME_KUBERNETES_PLACEMENT_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/err.h"
#include "base/json.h"
#include "base/span.h"

#define KUBERNETES_EXPRESSION_MAX 2000
#define KUBERNETES_EXPRESSION_VALUES_MAX 100

struct kubernetes_placement {
	struct span instance; /* "": any */
	bool bind;            /* to that instance, without the scheduler */
	struct span without;  /* a label that the node must not have; "": none */
	const struct json *constraints, *strategy;
	const char *label; /* pods that are kept apart or spread: with a label, */
	struct span value; /* and its value */
};

/* The reverse, for labels of ECS's own attributes; SPAN_NONE for others. */
struct span kubernetes_label_attribute(struct span label);
/* "x86_64" for "amd64", and so on; equal values stay. */
struct span kubernetes_attribute_value_from_label(struct span label, struct span value);

/* Sets affinity and topologySpreadConstraints of a pod spec. notes: "; "-joined sentences are added. */
int kubernetes_placement_write(const struct kubernetes_placement *placement, struct arena *arena,
	struct json *pod_spec, struct buffer *notes, struct err *err);

#endif
