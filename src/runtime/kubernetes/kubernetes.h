/*
 * The Kubernetes runtime: tasks are Pods, instances are Nodes, groups are Deployments and
 * DaemonSets, and reports come from the informers' stores, so they cost no call. docs/kubernetes.md
 * has the mappings.
 *
 * No state is on disk: decisions are written into the objects themselves before they take effect. A
 * pod holds its own end (our finalizer) until it was acknowledged. Several open runtimes may share
 * a cluster if their hosts differ; each reads and changes only objects with its host's name.
 *
 * Before the first list of everything is complete, all reads fail (-EAGAIN): an unread cluster is
 * never reported as empty. Afterwards the last known state is reported, also while the API server
 * is unreachable.
 */
#ifndef RUNTIME_KUBERNETES_KUBERNETES_H
#define RUNTIME_KUBERNETES_KUBERNETES_H

#include "base/err.h"
#include "control/runner.h"
#include "control/work_queue.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "runtime/runtime.h"

#define RUNTIME_KUBERNETES_RESYNC_MS INT64_C(300000)

struct runtime_kubernetes_config {
	/* file; NULL: as for kubectl, or the cluster that slipway runs in */
	const char *kubeconfig;
	const char *kube_context; /* NULL: the current one */
	struct span host; /* owner of our objects; must stay the same as long as the tasks do */
	const char *helper_image; /* with slipway-pod in it; "": none */
	const char *pull_policy;  /* NULL: IfNotPresent */
	bool restricted;          /* see template.h */
	double qps;               /* calls per second; 0: the client's default, and so is burst */
	unsigned burst;
	int64_t resync_ms; /* interval of repeating all reports; 0: the default above, -1: never */
	struct runner *runner;   /* of threads */
	runtime_changed changed; /* may be NULL */
	runtime_group_changed group_changed;
	/* A background operation failed and will be retried; resource: "pods". May be NULL. */
	void (*report)(void *context, const char *resource, const struct err *err);
	void *context; /* of all three */
};

/* Does not wait for the API server. */
int runtime_kubernetes_open(const struct runtime_kubernetes_config *config,
	struct runtime **ret_runtime, struct err *err);

/* The first list of everything is complete: reports are reliable. */
bool runtime_kubernetes_is_synced(struct runtime *runtime);

#define RUNTIME_KUBERNETES_RESOURCES 6
struct runtime_kubernetes_statistics {
	struct {
		const char *type; /* "pods" */
		struct kube_informer_statistics informer;
	} resources[RUNTIME_KUBERNETES_RESOURCES];
	struct kube_client_statistics client;
	struct work_queue_statistics chores;
};
void runtime_kubernetes_statistics(struct runtime *runtime,
	struct runtime_kubernetes_statistics *ret_statistics);

#endif
