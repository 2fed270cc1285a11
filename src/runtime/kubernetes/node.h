/*
 * A Node, kept and told as an instance. Its labels are attributes, by their own names; those that mean what
 * ECS's agents announce are there by ECS's names too. What it has for tasks is its allocatable part.
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
	bool away;          /* its kubelet does not say that it is ready */
	bool closed;        /* to new pods */
	bool tainted;       /* and so closed to pods that do not tolerate it */
	struct span closer; /* the host that closed it; "": somebody else, or nobody */
	struct kubernetes_label *labels;
	size_t label_count;
};

int kubernetes_node_reduce(void *context, const struct json *object, struct kube_keep *keep,
	const void **ret_data, struct err *err);
void kubernetes_node_report(struct span name, const struct kubernetes_node *node,
	struct arena *arena, struct runtime_instance *ret_instance);

#endif
