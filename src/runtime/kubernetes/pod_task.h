/*
 * Reports a pod as a task of a runtime. Pure: a function of the reduced pod and the time;
 * everything that must survive is in the pod's own object.
 *
 * Kubernetes restarts the containers of a group's pods; in ECS the end of an essential container
 * ends the task. So the first end of an essential container without a restart policy ends the task,
 * even if the container runs again since then. The same goes for a container that cannot be
 * started. Then,
 *
 *     a task of a group        is STOPPED, and its pod is deleted after the acknowledge
 *     a task without a group   is STOPPING: its other containers must end, so its pod is deleted now
 *                              (`must_end`), unless all of them have ended by themselves: deletion
 *                              would remove their logs. It is STOPPED when the pod has ended
 *
 * A deleted pod keeps its object (our finalizer) until its end is acknowledged.
 *
 * An unreachable node ends nothing: its pods keep their last known state.
 */
#ifndef RUNTIME_KUBERNETES_POD_TASK_H
#define RUNTIME_KUBERNETES_POD_TASK_H

#include "runtime/kubernetes/pod.h"

struct kubernetes_reported {
	struct runtime_task task;
	bool must_end; /* see above; with the stop and reason of the task */
	/* when its node needs a reminder of its deletion: kubernetes_remind_node(); 0 */
	int64_t remind_ms;
	int64_t again_ms; /* when time alone changes the report; 0: never */
};

/* Lives in the arena, and as long as the pod. */
struct kubernetes_reported *kubernetes_pod_report(const struct kubernetes_pod *pod, int64_t now_ms,
	struct arena *arena);

#endif
