/*
 * One pass over a Release: reads it, makes the steps that release_decide.h decides, applies the objects of the current
 * version, reports, and deletes what is not needed any more. A pass can be interrupted anywhere, and the next one
 * continues with what was written.
 */
#ifndef RELEASE_RELEASE_PASS_H
#define RELEASE_RELEASE_PASS_H

#include "base/lock.h"
#include "release/release_apply.h"

#define RELEASE_KUBE_VERSION_MAX 64

/* Shared by all passes, from several threads. */
struct release_passes {
	struct release_applier applier;
	struct lock lock;
	char kube_version[RELEASE_KUBE_VERSION_MAX]; /* "": not asked yet */
};

/* Of one Release. Used by one pass at a time. */
struct release_known {
	struct release_memory memory;
	/* The spec of this generation needs no step as long as this version is the current one, or it cannot be
	 * rendered. */
	int64_t settled_generation, settled_version;
	const char *failure_reason; /* NULL: none */
	char *failure_message;
};

#define RELEASE_PASS_GONE 1
void release_known_free(struct release_known *known);

/* key: "namespace/name". RELEASE_PASS_GONE: the Release does not exist. -EAGAIN: it changed meanwhile. -ECANCELED: the lease was
 * lost. *ret_again_ms: wall time of the next pass, 0: when something changes. */
int release_pass_run(struct release_passes *passes, struct release_known *known, struct span key,
	int64_t *ret_again_ms, struct err *err);

#endif
