/*
 * The Kubernetes objects of ECS tasks, services and task sets, as documents for the API server. The
 * client adds apiVersion and kind. Pure.
 */
#ifndef RUNTIME_KUBERNETES_OBJECTS_H
#define RUNTIME_KUBERNETES_OBJECTS_H

#include "base/arena.h"
#include "base/json.h"
#include "base/span.h"
#include "runtime/kubernetes/template.h"
#include "runtime/runtime.h"

#define KUBERNETES_REVISIONS_KEPT 3 /* ReplicaSets of versions without tasks */

struct json *kubernetes_namespace_document(struct arena *arena, struct span name, struct span host,
	struct span cluster_arn);
/* For a task without a group. */
struct json *kubernetes_pod_document(struct arena *arena, struct span namespace, struct span name,
	const struct kubernetes_template *template);
/* A Deployment, or a DaemonSet of `nodes` nodes (0: not known), all of it. secrets: names of its
 * versions' Secrets, separated by spaces; SPAN_NONE: the annotation is omitted. */
struct json *kubernetes_group_document(struct arena *arena, struct span namespace, struct span name,
	const struct runtime_group *group, const struct kubernetes_template *template,
	struct span secrets, int64_t nodes);
/* A merge patch for a workload with this uid that changes only the names of its Secrets. */
struct json *kubernetes_group_secrets(struct arena *arena, struct span secrets, struct span uid);
/* A JSON patch that replaces the spec of a workload with this uid, and keeps members of other
 * clients. Server-side apply cannot remove a probe or a hook: their defaults, which have no owner,
 * would stay, and be invalid. */
struct json *kubernetes_group_replacement(struct arena *arena, const struct json *document,
	struct span uid);
/* A merge patch: the number of replicas and the rollout settings, without the template. */
struct json *kubernetes_group_numbers(struct arena *arena, const struct runtime_group *group,
	int64_t nodes);

/* The owner of an object, which is deleted with it. */
struct kubernetes_owner {
	const char *api_version, *kind;
	struct span name, uid;
};
/* A merge patch that sets an object's owner, if it still has this uid. */
struct json *kubernetes_owner_patch(struct arena *arena, const struct kubernetes_owner *owner,
	struct span uid);
/* owner NULL: none yet. */
struct json *kubernetes_secret_document(struct arena *arena, struct span namespace,
	struct span name, const struct kubernetes_template *template,
	const struct kubernetes_owner *owner);

#endif
