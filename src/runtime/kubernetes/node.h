/*
 * A Node, reduced and reported as an instance. Its labels become attributes with the same names;
 * those that ECS agents announce get ECS's names, too. Its resources are the allocatable ones.
 */
#ifndef RUNTIME_KUBERNETES_NODE_H
#define RUNTIME_KUBERNETES_NODE_H

#include "kube/object.h"
#include "runtime/runtime.h"

#define KUBERNETES_NODE_LABELS_MAX 64
#define KUBERNETES_ATTRIBUTE_NAME_MAX 128 /* as ECS has it */

struct kubernetes_label {
	struct span name, value;
};

struct kubernetes_node {
	int64_t cpu;    /* units */
	int64_t memory; /* MiB */
	struct span address, host_name;
	bool away;          /* its kubelet is not ready */
	bool closed;        /* cordoned */
	bool tainted;       /* and so not for pods without a toleration */
	struct span closer; /* the host that cordoned it; "": another client, or not cordoned */
	struct kubernetes_label *labels;
	size_t label_count;
};

int kubernetes_node_reduce(void *context, const struct json *object, struct kube_keep *keep,
	const void **ret_data, struct err *err);
void kubernetes_node_report(struct span name, const struct kubernetes_node *node,
	struct arena *arena, struct runtime_instance *ret_instance);

#endif
