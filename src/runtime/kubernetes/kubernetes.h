/*
 * The Kubernetes runtime: tasks are Pods, instances are Nodes, groups are Deployments and DaemonSets, and what
 * is told of them is what informers hold, so telling costs no call. docs/kubernetes.md has the mappings.
 *
 * Nothing is kept on disk: what must survive is written into the objects themselves, before it is acted
 * upon. A pod holds its own end (our finalizer) until it was acknowledged. Several open runtimes may share a
 * cluster if their hosts differ; each sees and touches only what bears its host's name.
 *
 * Before the first list of everything is complete, whatever asks how things are fails (-EAGAIN): a cluster
 * that was not seen yet is never told as an empty one. Afterwards it is told as it was last seen, also while
 * the API server does not answer.
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
	const char *kubeconfig;   /* file; NULL: as kubectl looks, or the cluster that we run in */
	const char *kube_context; /* NULL: the current one */
	struct span
		host; /* whose objects are ours; stays the same as long as the tasks are to be ours */
	const char *helper_image; /* with slipway-pod in it; "": none */
	const char *pull_policy;  /* NULL: IfNotPresent */
	double qps;               /* calls per second; 0: the client's default, and so is burst */
	unsigned burst;
	int64_t resync_ms; /* everything is told again so often; 0: the default above, -1: never */
	struct runner *runner;   /* of threads */
	runtime_changed changed; /* may be NULL */
	runtime_group_changed group_changed;
	/* Something failed in the background and will be tried again; resource: "pods". May be NULL. */
	void (*report)(void *context, const char *resource, const struct err *err);
	void *context; /* of all three */
};

/* Does not wait for the API server. */
int runtime_kubernetes_open(const struct runtime_kubernetes_config *config,
	struct runtime **ret_runtime, struct err *err);

/* Everything was listed once: what is told can be relied upon. */
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
