/*
 * The status of a Release, made from what was observed of its objects. Pure.
 */
#ifndef RELEASE_RELEASE_STATUS_H
#define RELEASE_RELEASE_STATUS_H

#include "release/release_decide.h"
#include "release/release_live.h"
#include "release/release_manifest.h"
#include "release/release_snapshot.h"

/* An object of the manifest as it is in the cluster. */
struct release_observation {
	enum release_phase phase;
	struct span message; /* why it is not available; or "" */
	int64_t pods, updated_pods, ready_pods;
};

struct release_report {
	const struct release_manifest *manifest;        /* of the current version */
	const struct release_observation *observations; /* of its objects, in their order */
	bool applied;                                   /* all objects of the current version are */
	struct release_failure failure;
	int64_t newest_version; /* of the histories */
	int64_t now_ms;
};

/* release->status with observedGeneration, appliedVersion, conditions, details and podStatistics; the rest stays. */
const struct json *release_status_write(struct arena *arena, const struct release_snapshot *release,
	const struct release_report *report);

/* release->status with this version as the current one, whose objects are not applied yet. */
const struct json *release_status_record(struct arena *arena,
	const struct release_snapshot *release, const struct release_history *history,
	int64_t newest_version, int64_t now_ms);

#endif
