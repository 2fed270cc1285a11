/*
 * A pod told as a task of a runtime. Pure: a function of what is kept of the pod and the time; everything that
 * must survive is in the pod's own object.
 *
 * Ends. Kubernetes starts the containers of a group's pods again; in ECS the end of an essential one is the
 * end of the task. So the first end of an essential container without a restart policy is the verdict on the
 * task, whatever runs again since then. Likewise a container that cannot be started. With a verdict,
 *
 *     a task of a group    is STOPPED, and its pod is deleted when that was acknowledged
 *     a task of its own    is STOPPING: its other containers are to end, so its pod is deleted now
 *                          (`must_end`), and is STOPPED when nothing of it is left
 *
 * A pod that is deleted keeps its object (our finalizer) until its end was acknowledged.
 *
 * A node that does not answer ends nothing: its pods are what they last were.
 */
#ifndef RUNTIME_KUBERNETES_POD_TASK_H
#define RUNTIME_KUBERNETES_POD_TASK_H

#include "runtime/kubernetes/pod.h"

struct kubernetes_reported {
	struct runtime_task task;
	bool must_end; /* see above; with the stop and reason that the task has */
	int64_t remind_ms; /* when its node is to be reminded of its deletion: kubernetes_remind_node(); 0 */
	int64_t again_ms; /* when the time alone changes what is told; 0: never */
};

/* Lives in the arena, and as long as the pod. */
struct kubernetes_reported *kubernetes_pod_report(const struct kubernetes_pod *pod, int64_t now_ms,
	struct arena *arena);

#endif
