/*
 * The next step of a Release: a pure function of the Release and its histories. Steps other than
 * RELEASE_APPLY change the Release or its histories, and the decision is made again afterwards; each can be
 * interrupted at any point and is decided again from what was written.
 *
 *     new source    RENDER (history, then status)   APPLY
 *     rollback      RESTORE (spec)   RECORD (status)   CLEAR_ROLLBACK   APPLY
 *
 * Versions. An unchanged source keeps its version; a changed one gets the newest version + 1; a rollback returns
 * to the version that it names. A history that was written by an interrupted RENDER is used.
 */
#ifndef RELEASE_RELEASE_DECIDE_H
#define RELEASE_RELEASE_DECIDE_H

#include "release/release_snapshot.h"

enum release_step {
	RELEASE_APPLY,   /* the objects of release.manifest, if there is a version */
	RELEASE_RENDER,  /* `version` from the spec: write its history, then RECORD it */
	RELEASE_RECORD,  /* `history` becomes the current version in status */
	RELEASE_RESTORE, /* the source of `history` into the spec, and its version into rollbackTo */
	RELEASE_CLEAR_ROLLBACK, /* remove rollbackTo: it is done */
};

/* Why a Release is not as its spec says: a reason for the condition Failure and a sentence. */
struct release_failure {
	const char *reason; /* NULL: none */
	struct span message;
};

struct release_decision {
	enum release_step step;
	int64_t version;
	const struct release_history *history;
	struct release_failure failure; /* with RELEASE_APPLY: the spec cannot be followed */
};

void release_decide(struct arena *arena, const struct release_snapshot *release,
	const struct release_histories *histories, struct release_decision *ret_decision);

/* Histories beyond the limit: the oldest, but never the current version's. In the arena. */
const struct release_history **release_excess_histories(struct arena *arena,
	const struct release_snapshot *release, const struct release_histories *histories,
	size_t *ret_count);

/* "Creating", "Updating" or "Rollbacking": the reason of the condition Progressing. */
const char *release_progress_reason(const struct release_snapshot *release, int64_t newest_version);

/* Bytes of a text as JSON: what the API server and etcd store. */
size_t release_json_size(struct span text);
/* -EFBIG with the sizes if the Release or its history would be larger than RELEASE_OBJECT_MAX. */
int release_check_size(const struct release_source *source, struct span manifest, struct err *err);

#endif
