#include "kube/kind.h"

/* One row a kind: name of the table, group, kind, plural, namespaced, versions (the best first). */
#define KINDS(X)                                                                                   \
	X(config_maps, "", "ConfigMap", "configmaps", true, "v1")                                  \
	X(custom_resource_definitions, "apiextensions.k8s.io", "CustomResourceDefinition",         \
		"customresourcedefinitions", false, "v1")                                          \
	X(daemon_sets, "apps", "DaemonSet", "daemonsets", true, "v1")                              \
	X(deployments, "apps", "Deployment", "deployments", true, "v1")                            \
	X(endpoint_slices, "discovery.k8s.io", "EndpointSlice", "endpointslices", true, "v1",      \
		"v1beta1")                                                                         \
	X(events, "", "Event", "events", true, "v1")                                               \
	X(jobs, "batch", "Job", "jobs", true, "v1")                                                \
	X(leases, "coordination.k8s.io", "Lease", "leases", true, "v1")                            \
	X(namespaces, "", "Namespace", "namespaces", false, "v1")                                  \
	X(nodes, "", "Node", "nodes", false, "v1")                                                 \
	X(pod_disruption_budgets, "policy", "PodDisruptionBudget", "poddisruptionbudgets", true,   \
		"v1", "v1beta1")                                                                   \
	X(pods, "", "Pod", "pods", true, "v1")                                                     \
	X(replica_sets, "apps", "ReplicaSet", "replicasets", true, "v1")                           \
	X(secrets, "", "Secret", "secrets", true, "v1")                                            \
	X(service_accounts, "", "ServiceAccount", "serviceaccounts", true, "v1")                   \
	X(services, "", "Service", "services", true, "v1")                                         \
	X(stateful_sets, "apps", "StatefulSet", "statefulsets", true, "v1")

#define DEFINE(variable, in_group, name, plural_name, in_namespace, ...)                           \
	const struct kube_kind kube_##variable = {                                                 \
		.group = in_group,                                                                 \
		.kind = name,                                                                      \
		.plural = plural_name,                                                             \
		.namespaced = in_namespace,                                                        \
		.versions = {__VA_ARGS__},                                                         \
	};
KINDS(DEFINE)

bool kube_is_path_segment(struct span text)
{
	if (text.length == 0 || text.length > KUBE_NAME_MAX)
		return false;
	if (span_is(text, ".") || span_is(text, ".."))
		return false;
	for (size_t i = 0; i < text.length; i++) {
		unsigned char c = (unsigned char)text.data[i];

		/* Names of RBAC objects may hold ':'; nothing that a URL would read otherwise may pass. */
		if (c <= 0x20 || c >= 0x7f || strchr("/?#%\\\"<>^`{|}", c))
			return false;
	}
	return true;
}
