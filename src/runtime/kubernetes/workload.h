/*
 * Deployments and DaemonSets with their ReplicaSets and Events, reduced and reported as groups. A
 * group is one Deployment or one DaemonSet; its versions are its ReplicaSets, whose template names
 * the version. A DaemonSet has none: its versions are counted from its pods.
 */
#ifndef RUNTIME_KUBERNETES_WORKLOAD_H
#define RUNTIME_KUBERNETES_WORKLOAD_H

#include "kube/object.h"
#include "runtime/runtime.h"

/* A Deployment or a DaemonSet. */
struct kubernetes_workload {
	struct span group, version;
	struct span cluster_arn;
	struct span secrets; /* their names, separated by spaces; "" */
	bool daemon, ending;
	int64_t generation, observed;
	int64_t desired, current, updated, ready, available;
	/* From its spec, for comparison: */
	int64_t replicas, settle_seconds;
	struct span unavailable, surge; /* as JSON; "" */
	struct span failure;            /* the reason it makes no progress; "" */
};
int kubernetes_deployment_reduce(void *context, const struct json *object, struct kube_keep *keep,
	const void **ret_data, struct err *err);
int kubernetes_daemon_set_reduce(void *context, const struct json *object, struct kube_keep *keep,
	const void **ret_data, struct err *err);

struct kubernetes_replica_set {
	struct span group, version;
	uint64_t owner; /* kubernetes_owner() */
	int64_t desired, current, ready;
	int64_t created_ms;
};
int kubernetes_replica_set_reduce(void *context, const struct json *object, struct kube_keep *keep,
	const void **ret_data, struct err *err);

/* An event about an object that may be ours, of either version of the events API. Normal ones are
 * left out: the objects themselves show successes. */
struct kubernetes_event {
	struct span object;          /* uid of the object */
	struct span namespace, name; /* of the object */
	struct span text;
	int64_t at_ms, count;
	bool warning;
};
int kubernetes_event_reduce(void *context, const struct json *object, struct kube_keep *keep,
	const void **ret_data, struct err *err);

/* Whether the workload has these numbers already; `wanted` comes from
 * kubernetes_group_numbers(). */
bool kubernetes_workload_has_numbers(const struct kubernetes_workload *workload,
	const struct json *wanted);

/* All known objects of a group. */
struct kubernetes_group_objects {
	const struct kubernetes_workload *workload;
	const struct kube_object *const *replica_sets;
	size_t replica_set_count;
	const struct kube_object *const *pods;
	size_t pod_count;
	const struct kube_object *const *events;
	size_t event_count;
};
/* Lives in the arena, and as long as the parts. */
struct runtime_group_state *kubernetes_group_report(const struct kubernetes_group_objects *parts,
	struct arena *arena);

#endif
