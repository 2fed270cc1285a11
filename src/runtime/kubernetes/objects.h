/*
 * The Kubernetes objects that stand for things of ECS, as documents for the API server. apiVersion and kind
 * are left to the client. Pure.
 */
#ifndef RUNTIME_KUBERNETES_OBJECTS_H
#define RUNTIME_KUBERNETES_OBJECTS_H

#include "base/arena.h"
#include "base/json.h"
#include "base/span.h"
#include "runtime/kubernetes/template.h"
#include "runtime/runtime.h"

#define KUBERNETES_REVISIONS_KEPT 3 /* ReplicaSets of versions that nothing runs of any more */

struct json *kubernetes_namespace_document(struct arena *arena, struct span name, struct span host,
	struct span cluster_arn);
/* Of a task of its own. */
struct json *kubernetes_pod_document(struct arena *arena, struct span namespace, struct span name,
	const struct kubernetes_template *template);
/* A Deployment, or a DaemonSet of `nodes` nodes (0: not known), all of it. secrets: what those of its versions are
 * called, with spaces between; SPAN_NONE: nothing is said of them. */
struct json *kubernetes_group_document(struct arena *arena, struct span namespace, struct span name,
	const struct runtime_group *group, const struct kubernetes_template *template,
	struct span secrets, int64_t nodes);
/* A merge patch for one with this uid that says only what its Secrets are called. */
struct json *kubernetes_group_secrets(struct arena *arena, struct span secrets, struct span uid);
/* A JSON patch that makes one with this uid what the document says, and leaves what others wrote beside it. What
 * is applied cannot lose a probe or a hook: of those, defaults that nobody owns would stay, and be invalid. */
struct json *kubernetes_group_replacement(struct arena *arena, const struct json *document,
	struct span uid);
/* A merge patch: how many there are to be, and how they may be replaced; not what they are. */
struct json *kubernetes_group_numbers(struct arena *arena, const struct runtime_group *group,
	int64_t nodes);

/* Whom something belongs to, and vanishes with. */
struct kubernetes_owner {
	const char *api_version, *kind;
	struct span name, uid;
};
/* A merge patch that gives something its owner, if it still has this uid. */
struct json *kubernetes_owner_patch(struct arena *arena, const struct kubernetes_owner *owner,
	struct span uid);
/* owner NULL: nobody yet. */
struct json *kubernetes_secret_document(struct arena *arena, struct span namespace,
	struct span name, const struct kubernetes_template *template,
	const struct kubernetes_owner *owner);

#endif
