/*
 * The kinds of objects that slipway speaks of with an API server. A kind names its group, its plural
 * and the versions whose shape our code understands, the best first; which of them a given server
 * offers is found out by asking it (kube_resource_find() in client.h), so that the same code works on
 * Kubernetes 1.20 and on a current one.
 *
 * Own kinds (of a custom resource) are made the same way, as static tables.
 */
#ifndef KUBE_KIND_H
#define KUBE_KIND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/span.h"

#define KUBE_VERSIONS_MAX 4
#define KUBE_NAME_MAX 253 /* of objects, groups and namespaces */

struct kube_kind {
	const char *group;  /* "" is the core group */
	const char *kind;   /* "Deployment" */
	const char *plural; /* "deployments", as in paths */
	bool namespaced;
	const char *versions[KUBE_VERSIONS_MAX]; /* {"v1", "v1beta1"}; the rest NULL */
};

extern const struct kube_kind kube_config_maps;
extern const struct kube_kind kube_custom_resource_definitions;
extern const struct kube_kind kube_daemon_sets;
extern const struct kube_kind kube_deployments;
extern const struct kube_kind kube_endpoint_slices; /* v1, v1beta1 before 1.21 */
extern const struct kube_kind
	kube_events; /* the core group's: every version has them, both views are one */
extern const struct kube_kind kube_jobs;
extern const struct kube_kind kube_leases;
extern const struct kube_kind kube_namespaces;
extern const struct kube_kind kube_nodes;
extern const struct kube_kind kube_pod_disruption_budgets; /* v1, v1beta1 before 1.21 */
extern const struct kube_kind kube_pods;
extern const struct kube_kind kube_replica_sets;
extern const struct kube_kind kube_secrets;
extern const struct kube_kind kube_service_accounts;
extern const struct kube_kind kube_services;
extern const struct kube_kind kube_stateful_sets;

/* True for text that is valid as one path segment: a name of an object, a namespace, a subresource.
 * Names that Kubernetes rejects may pass; text that leads to another path does not. */
bool kube_is_path_segment(struct span text);

#endif
