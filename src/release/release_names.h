/*
 * The API group of releases, and the labels, annotations and names by which their objects are found.
 */
#ifndef RELEASE_RELEASE_NAMES_H
#define RELEASE_RELEASE_NAMES_H

#include <stdint.h>

#include "base/arena.h"
#include "base/span.h"
#include "kube/kind.h"

#define RELEASE_GROUP "slipway.dev"
#define RELEASE_API_VERSION "slipway.dev/v1alpha1"

/* Field managers. Every object that is, or after an adoption will be, an object of a Release is applied (server-side)
 * as RELEASE_FIELD_MANAGER, also by the CanaryRelease controller: fields that a later version no longer has are
 * removed only if no other manager applied them. All other writes for canaries are the second one's. */
#define RELEASE_FIELD_MANAGER "slipway-release"
#define RELEASE_CANARY_FIELD_MANAGER "slipway-canary"

/* Label of every object of a Release, and of its histories: the Release's name. */
#define RELEASE_LABEL "slipway.dev/release"
/* Label of a ReleaseHistory: its version. */
#define RELEASE_VERSION_LABEL "slipway.dev/version"
/* Label in pod templates, workload selectors and Service selectors: RELEASE_TRACK_STABLE, or the suffix of
 * the canary that was adopted. */
#define RELEASE_TRACK_LABEL "slipway.dev/track"
#define RELEASE_TRACK_STABLE "stable"
/* Annotation of objects of charts: the path of the chart that it is from, as "shop/cart". Objects of plain
 * manifests have none; their path is "". */
#define RELEASE_PATH_ANNOTATION "helm.sh/path"
/* Annotation of a Service whose selector and target ports a CanaryRelease has changed: the name of the
 * CanaryRelease. The update that changes them sets it, and the update that restores them removes it.
 * While it is there the Release controller writes neither of them. */
#define RELEASE_TAKEN_OVER_ANNOTATION "slipway.dev/taken-over-by"
/* Annotation of an object: until when (RFC 3339) garbage collection leaves it, and everything else that left the
 * manifest of its Release, because its pods may still have connections. */
#define RELEASE_DRAIN_ANNOTATION "slipway.dev/drain-until"
/* Annotation of objects that have no owner reference, because they outlive the Release (PersistentVolumeClaims) or
 * have no namespace: NAMESPACE/NAME of the Release that they belong to. */
#define RELEASE_OWNER_ANNOTATION "slipway.dev/owner"
/* Finalizer of Releases with objects that have no namespace: Kubernetes does not delete these with their owner. */
#define RELEASE_FINALIZER "slipway.dev/release"
/* Label of what exists for a CanaryRelease only: NAMESPACE.NAME of it. */
#define RELEASE_CREATED_BY_LABEL "slipway.dev/created-by"

extern const struct kube_kind release_kind;         /* releases */
extern const struct kube_kind release_history_kind; /* releasehistories */
extern const struct kube_kind release_canary_kind;  /* canaryreleases */

/* "RELEASE-vVERSION": the name of a ReleaseHistory. */
struct span release_history_name(struct arena *arena, struct span release, int64_t version);

#endif
