/*
 * Brings the objects of a Release's current version into the cluster, and deletes those that left its manifest.
 *
 * What was applied is remembered in memory: an object whose content in the cluster is still what the API server
 * answered then is not written again, and one that was changed or deleted since is. After a start everything is
 * applied once, which changes nothing where nothing differs.
 */
#ifndef RELEASE_RELEASE_APPLY_H
#define RELEASE_RELEASE_APPLY_H

#include "base/map.h"
#include "release/object_calls.h"
#include "release/release_manifest.h"
#include "release/release_snapshot.h"
#include "release/release_status.h"
#include "release/release_watch.h"

struct release_applier {
	struct object_calls calls; /* as RELEASE_FIELD_MANAGER */
	struct release_watch *watch;
	struct runner *runner;
};

/* The objects applied for one Release. Used by one thread at a time. */
struct release_memory {
	struct map objects;
};
void release_memory_clear(struct release_memory *memory);

/* An object that another client changes again and again is repaired so many times in so long. */
#define RELEASE_REPAIRS_MAX 10
#define RELEASE_REPAIRS_MS INT64_C(60000)

struct release_applied {
	bool pending;     /* an object is being deleted or replaced: the version is not complete */
	int64_t again_ms; /* wall time at which to apply again, for RELEASE_REPAIRS_MAX; 0: none */
};

/* Applies all objects in their order. -EPERM: one exists and does not belong to the Release (found before anything of a
 * new version is applied); -EINVAL and others: an object was rejected; later ones are not applied then. */
int release_apply(const struct release_applier *applier, const struct release_snapshot *release,
	const struct release_manifest *manifest, struct release_memory *memory,
	struct release_applied *ret_applied, struct err *err);

/* The objects of the manifest as they are; watches their types. In the arena. */
int release_observe(const struct release_applier *applier, const struct release_snapshot *release,
	const struct release_manifest *manifest, const struct release_memory *memory,
	struct arena *arena, struct release_observation **ret_observations, struct err *err);

/* Deletes objects of the Release alone that are not in the manifest, unless pods of them drain:
 * *ret_again_ms is then when to try again, else 0. types: of all versions. */
int release_collect(const struct release_applier *applier, const struct release_snapshot *release,
	const struct release_manifest *manifest, const struct release_memory *memory,
	const struct release_type *types, size_t type_count, int64_t *ret_again_ms,
	struct err *err);

/* True if the manifest has objects without a namespace. */
int release_has_cluster_objects(const struct release_applier *applier,
	const struct release_manifest *manifest, bool *ret_has, struct err *err);
/* Deletes those, for a Release that is being deleted. *ret_left: some still exist. */
int release_delete_cluster_objects(const struct release_applier *applier,
	const struct release_snapshot *release, const struct release_type *types, size_t type_count,
	bool *ret_left, struct err *err);

#endif
