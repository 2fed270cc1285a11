/*
 * Writes of the steps before RELEASE_APPLY: a version's history, the current version in status, the source of an
 * earlier version. Each is one write that fails with -EAGAIN if the Release has changed since it was read.
 */
#ifndef RELEASE_RELEASE_STEPS_H
#define RELEASE_RELEASE_STEPS_H

#include "release/object_calls.h"
#include "release/release_decide.h"
#include "release/release_snapshot.h"

struct release_steps {
	const struct object_calls *calls;
	const char *kube_version; /* "v1.20.2" */
	int64_t now_ms;
};

/* RELEASE_RENDER: renders the version and writes its history. Returns 0, with *ret_failure filled if the source
 * cannot be rendered or is too large; nothing was written then. -EAGAIN: the history of an earlier Release of this
 * name is still being deleted. */
int release_write_version(const struct release_steps *steps, const struct release_snapshot *release,
	int64_t version, struct arena *arena, struct release_failure *ret_failure, struct err *err);

/* Reads one history: -ENOENT if there is none. */
int release_read_history(const struct object_calls *calls, const struct release_snapshot *release,
	int64_t version, struct arena *arena, struct release_history *ret_history, struct err *err);

/* RELEASE_RECORD, RELEASE_RESTORE and RELEASE_CLEAR_ROLLBACK. */
int release_record_version(const struct release_steps *steps,
	const struct release_snapshot *release, const struct release_history *history,
	int64_t newest_version, struct err *err);
int release_restore_source(const struct release_steps *steps,
	const struct release_snapshot *release, const struct release_history *history,
	struct err *err);
int release_clear_rollback(const struct release_steps *steps,
	const struct release_snapshot *release, struct err *err);

/* Writes the difference between the Release's status and this one, if there is any. */
int release_write_status(const struct object_calls *calls, const struct release_snapshot *release,
	const struct json *status, struct err *err);
/* Adds or removes RELEASE_FINALIZER. object: the Release as it was read. */
int release_set_finalizer(const struct object_calls *calls, const struct release_snapshot *release,
	const struct json *object, bool present, struct err *err);

#endif
