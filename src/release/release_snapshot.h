/*
 * A Release and its histories as they were read from the API server: the input of all decisions about them.
 * Immutable; texts live in the JSON that was read or in the arena.
 */
#ifndef RELEASE_RELEASE_SNAPSHOT_H
#define RELEASE_RELEASE_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/span.h"

#define RELEASE_HISTORY_LIMIT 50
/* Bytes of a Release, and of a ReleaseHistory, that are still accepted; etcd takes 1.5 MB, and the API server
 * adds its own fields. */
#define RELEASE_OBJECT_MAX ((size_t)1400000)

/* The source of one version. */
struct release_source {
	struct span template_text; /* a chart in base64, or plain manifests */
	struct span config;        /* JSON, or "" */
	const struct json *naming; /* see naming.h; NULL: of a first version */
};

struct release_snapshot {
	struct span namespace, name, uid, resource_version;
	int64_t generation;
	bool deleting;

	/* spec */
	struct release_source source;
	struct span description;
	bool suspend;
	bool rolls_back;      /* rollbackTo is there */
	int64_t roll_back_to; /* 0: the version before the current one */
	int64_t history_limit;

	/* status */
	int64_t version;           /* 0: none yet */
	int64_t applied_version;   /* the last one of which all objects were applied */
	struct span manifest;      /* of `version`; YAML, see release_manifest.h */
	const struct json *status; /* or NULL */
};

struct release_history {
	struct span name, uid;
	int64_t version;
	struct release_source source;
	struct span description;
	struct span manifest;
	bool owned; /* by the Release of the snapshot: one of an earlier Release of this name is not */
};

/* By version, the oldest first. */
struct release_histories {
	struct release_history *items;
	size_t count;
};

/* object: a Release as the API server sends it. -EINVAL for one without metadata or template. */
int release_snapshot_read(struct arena *arena, const struct json *object,
	struct release_snapshot *ret_release, struct err *err);
/* items: an array of ReleaseHistories of the Release's namespace; those of other Releases are left out. */
void release_histories_read(struct arena *arena, const struct json *items,
	const struct release_snapshot *release, struct release_histories *ret_histories);

const struct release_history *release_histories_find(const struct release_histories *histories,
	int64_t version); /* or NULL */

/* The same template, values and naming. Values are compared as JSON. */
bool release_source_equal(const struct release_source *a, const struct release_source *b);

/* True if one of the object's owners has this UID. *ret_count (or NULL): how many owners it has. */
bool release_is_owned_by(const struct json *object, struct span uid, size_t *ret_count);

#endif
