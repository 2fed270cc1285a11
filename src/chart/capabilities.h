/* .Capabilities: the Kubernetes version and the APIs that templates may ask for. */
#ifndef CHART_CAPABILITIES_H
#define CHART_CAPABILITIES_H

#include "base/arena.h"
#include "base/err.h"
#include "chart/value.h"

/* The version that charts are rendered for when nothing else is said: Helm 4.2's. */
#define CAPABILITIES_KUBE_VERSION "v1.36.0"
/* Charts read this as .Capabilities.HelmVersion.Version. */
#define CAPABILITIES_HELM_VERSION "v4.2.3"
#define CAPABILITIES_API_VERSIONS_MAX 10000

struct capabilities {
	struct object object;
	struct object *kube_version;
	struct object *helm_version;
	struct value api_versions;
};

/* kube_version: "1.30", "v1.30.2-gke.1"; NULL for the default. api_versions come behind the known ones. */
int capabilities_new(struct arena *arena, const char *kube_version, const struct span *api_versions,
	size_t count, struct capabilities **ret_capabilities, struct err *err);
/* The version without suffixes, for constraints. */
struct span capabilities_version(const struct capabilities *capabilities);

#endif
