#include "release/release_names.h"

#define KINDS(X)                                                                                   \
	X(release_kind, "Release", "releases")                                                     \
	X(release_history_kind, "ReleaseHistory", "releasehistories")                              \
	X(release_canary_kind, "CanaryRelease", "canaryreleases")

#define DEFINE(variable, name, plural_name)                                                        \
	const struct kube_kind variable = {                                                        \
		.group = RELEASE_GROUP,                                                            \
		.kind = name,                                                                      \
		.plural = plural_name,                                                             \
		.namespaced = true,                                                                \
		.versions = {"v1alpha1"},                                                          \
	};
KINDS(DEFINE)

struct span release_history_name(struct arena *arena, struct span release, int64_t version)
{
	return arena_format(arena, "%.*s-v%lld", SPAN_ARGS(release), (long long)version);
}
