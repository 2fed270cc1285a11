/*
 * Names of ECS objects in Kubernetes, and the owners of Kubernetes objects.
 *
 * A name has a readable part, made from the ECS name, and a hash over the whole identity, so that
 * two objects never share one even if their readable parts are equal. Names are never parsed. The
 * full identity is in annotations; labels are for selecting, and hold hashes where the value would
 * not fit.
 *
 *     cluster 123456789012/us-gov-west-1/Web_Shop    namespace   web-shop-us-gov-west-1-5d41402abc
 *     group …/Web_Shop/Front/8734…                   Deployment  front-7d793037a0
 *     task 0f3c… of family worker                    Pod         worker-0f3c…
 *
 * Only objects with our `managed-by` label and our host's name are ours, and only those are
 * changed.
 */
#ifndef RUNTIME_KUBERNETES_NAMES_H
#define RUNTIME_KUBERNETES_NAMES_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/span.h"
#include "runtime/runtime.h"

/* Labels, of all objects that slipway creates. */
#define KUBERNETES_LABEL_MANAGED "app.kubernetes.io/managed-by"
#define KUBERNETES_MANAGER "slipway"
#define KUBERNETES_LABEL_OWNER "slipway.dev/owner" /* the host, as a label value */
#define KUBERNETES_LABEL_GROUP "slipway.dev/group" /* hash of the group's id */
/* Hash of the cluster and of "service:web" or "family:worker": tasks that are spread apart. */
#define KUBERNETES_LABEL_PLACED "slipway.dev/placed"

/* Annotations. */
#define KUBERNETES_HOST "slipway.dev/host" /* the slipway whose object it is */
#define KUBERNETES_CLUSTER "slipway.dev/cluster-arn"
#define KUBERNETES_GROUP "slipway.dev/group"
#define KUBERNETES_VERSION "slipway.dev/version"
#define KUBERNETES_TASK "slipway.dev/task"   /* the token of a task without a group */
#define KUBERNETES_PLAN "slipway.dev/plan"   /* plan.h */
#define KUBERNETES_NOTES "slipway.dev/notes" /* unsupported settings */
/* the reason of a pod's deletion, written before it is deleted */
#define KUBERNETES_END "slipway.dev/end"
/* The name of a task's Secret; for a group the names of its versions' Secrets, separated by
 * spaces. */
#define KUBERNETES_SECRET "slipway.dev/secret"
#define KUBERNETES_ACKNOWLEDGED "slipway.dev/acknowledged" /* its end is stored in ECS */
#define KUBERNETES_REMINDED                                                                        \
	"slipway.dev/reminded" /* when the node of a pod was last reminded of its deletion */
/* a node that slipway cordoned, and the host that did */
#define KUBERNETES_CORDONED "slipway.dev/cordoned"
#define KUBERNETES_NAME                                                                            \
	"slipway.dev/name" /* of service discovery, with its domain: "web.shop.local" */

/* Keeps a pod's object until its end is durable in ECS. */
#define KUBERNETES_FINALIZER "slipway.dev/task"

/* The condition of a pod that says whether it gets traffic: its readiness gate. */
#define KUBERNETES_GATE "slipway.dev/traffic"

#define KUBERNETES_LABEL_MAX 63
/* The names of a Deployment's pods add 17 characters, and are to fit into a label as well. */
#define KUBERNETES_GROUP_NAME_MAX 46
#define KUBERNETES_TOKEN_DIGITS 32
#define KUBERNETES_HASH_DIGITS 10
#define KUBERNETES_HASH_SIZE (KUBERNETES_HASH_DIGITS + 1)

/* Over the parts in this order; ("a", "bc") is not ("ab", "c"). */
void kubernetes_hash(const struct span *parts, size_t count, char ret_hash[KUBERNETES_HASH_SIZE]);

/* The text itself if it is a DNS label of at most max bytes, else its readable part and a hash. */
struct span kubernetes_label_name(struct arena *arena, struct span text, size_t max);
/* The text itself if it is a valid label value, else its readable part and a hash. */
struct span kubernetes_label_value(struct arena *arena, struct span text);

/* -EINVAL if the ARN is not one of a cluster. */
int kubernetes_namespace_name(struct arena *arena, struct span cluster_arn, struct span *ret_name,
	struct err *err);
/* shown is the readable part: "service:web". */
struct span kubernetes_group_name(struct arena *arena, struct span id, struct span shown);
struct span kubernetes_pod_name(struct arena *arena, struct span token, struct span family);
/* Of a group's version, or of a task (version ""). */
struct span kubernetes_secret_name(struct arena *arena, struct span owner, struct span version);
/* The label of a node that daemons of the cluster with this namespace must leave. */
struct span kubernetes_drained_label(struct arena *arena, struct span namespace);
bool kubernetes_is_drained_label(struct span label);
/* The value of KUBERNETES_LABEL_GROUP. */
struct span kubernetes_group_label(struct arena *arena, struct span id);

/* Labels that all objects of the host have. */
struct json *kubernetes_labels(struct arena *arena, struct span host);
/* "app.kubernetes.io/managed-by=slipway,slipway.dev/owner=…". */
struct span kubernetes_selector(struct arena *arena, struct span host);

enum kubernetes_claim {
	KUBERNETES_OURS,
	KUBERNETES_UNCLAIMED, /* has our label and no host: created for us beforehand */
	KUBERNETES_FOREIGN,
};
/* The owner of the object. */
enum kubernetes_claim kubernetes_claim(const struct json *object, struct span host);
/* The controller that owns the object, as span_hash() of its uid; 0: none. */
uint64_t kubernetes_owner(const struct json *object);

#endif
