/*
 * The plan of a canary, steps C1 and C2: from a CanaryRelease, its Release and the Services as they are in the cluster to
 * the objects that the canary needs, the ports that its proxy serves, and the values and names that the Release gets when
 * the canary is adopted. Pure.
 */
#ifndef RELEASE_CANARY_PLAN_H
#define RELEASE_CANARY_PLAN_H

#include "release/canary.h"
#include "release/naming.h"
#include "release/release_manifest.h"
#include "release/release_snapshot.h"

/* A reason for the condition Failure and a sentence. */
struct canary_failure {
	const char *reason; /* NULL: none */
	struct span message;
};

struct canary_plan {
	struct release_manifest
		objects;      /* of the canary alone: workloads, changed ConfigMaps and Secrets */
	struct span manifest; /* their text */
	const struct json *naming;
	struct span config; /* of the Release, with the canary's values */
	struct canary_proxied_service *proxied;
	size_t proxied_count;
	const struct json *not_duplicated; /* "Kind/name" of what stays stable until adoption */
};

struct canary_plan_input {
	const struct canary *canary;
	const struct release_snapshot *release;
	const struct json *const *services; /* of canary->services, as they are; NULL: not there */
};

/* 0, or -EINVAL with the failure filled. Failures: InvalidSpec, InvalidPath, InvalidConfig, RenderFailed,
 * ServiceNotFound, PortNotFound, HeadlessUnsupported, ServiceUnsupported, NameConflict. */
int canary_plan_make(struct arena *arena, const struct canary_plan_input *input,
	struct canary_plan *ret_plan, struct canary_failure *ret_failure);

/* The -forked copy of a Service of the Release's manifest, labelled as the canary's. -ENOENT: there is no such
 * Service. */
int canary_plan_forked(struct arena *arena, const struct canary *canary,
	const struct release_manifest *stable, struct span service, const struct json **ret_copy,
	struct err *err);

/* The Release's values with those of the canary at its path. A canary's config with "_config" replaces that of the
 * path; one without is laid over it, and null removes a key. */
int canary_config_merge(struct arena *arena, struct span release_config, struct span path,
	struct span canary_config, struct span *ret_config, struct err *err);

#endif
