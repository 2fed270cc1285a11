/*
 * Binds pods to nodes without the scheduler. A request for an instance has decided where the task
 * runs, so there is nothing left to schedule, and a pod with spec.nodeName saves the scheduler's
 * work, its write of the binding and that of an event. The scheduler's checks are made here as far
 * as possible: a node that is not ready, is cordoned, or has a taint is left to the scheduler, and
 * the pod waits there with a reason.
 *
 * Resources that foreign pods use on a node are not known here. Its kubelet knows them, and rejects
 * a pod without room. Then the scheduler places pods on that node for a while: the next pod for it
 * waits, and may preempt pods with a lower priority.
 */
#include "runtime/kubernetes/internal.h"
#include "runtime/kubernetes/node.h"

#define REFUSED_US INT64_C(300000000)
#define REFUSING_MAX 10000 /* nodes that are remembered */

static bool has_refused(struct kubernetes_runtime *runtime, struct span node)
{
	int64_t now_us = runner_now_us(runtime->runner);
	bool refused;

	lock_take(&runtime->lock);
	if (runtime->refusing.count > 0 && now_us - runtime->refused_us > REFUSED_US)
		map_clear(&runtime->refusing);
	refused = map_has(&runtime->refusing, node);
	lock_release(&runtime->lock);
	return refused;
}

bool kubernetes_may_bind(struct kubernetes_runtime *runtime, struct span name)
{
	_kube_object_ const struct kube_object *found = NULL;
	const struct kubernetes_node *node;

	if (name.length == 0)
		return false;
	found = kube_informer_get(kubernetes_informer(runtime, KUBERNETES_NODES), SPAN(""), name);
	if (!found)
		return false;
	node = found->data;
	return !node->away && !node->closed && !node->tainted && !has_refused(runtime, name);
}

/* A pod that its node has rejected has failed for a reason, and none of its containers ever
 * existed. */
static bool was_refused(const struct kubernetes_pod *pod)
{
	if (pod->phase != KUBERNETES_FAILED || pod->text->reason.length == 0 ||
		pod->node.length == 0)
		return false;
	for (size_t i = 0; i < pod->container_count; i++) {
		const struct kubernetes_container *container = &pod->containers[i];

		if (container->running_ms != 0 || container->ended || container->last)
			return false;
	}
	return true;
}

void kubernetes_note_refusal(struct kubernetes_runtime *runtime, const struct kubernetes_pod *pod)
{
	if (!was_refused(pod))
		return;
	lock_take(&runtime->lock);
	if (runtime->refusing.count >= REFUSING_MAX)
		map_clear(&runtime->refusing);
	map_put(&runtime->refusing, pod->node, runtime);
	runtime->refused_us = runner_now_us(runtime->runner);
	lock_release(&runtime->lock);
}
