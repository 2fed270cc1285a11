/*
 * The objects of one version of a Release, in the order in which they are applied, and their text: YAML documents, as
 * status.manifest and ReleaseHistories hold it. A version is rendered once; later everything works on this text.
 */
#ifndef RELEASE_RELEASE_MANIFEST_H
#define RELEASE_RELEASE_MANIFEST_H

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/span.h"

#define RELEASE_OBJECTS_MAX 10000

struct release_object {
	struct span api_version, kind, name;
	struct span path; /* RELEASE_PATH_ANNOTATION; "" for plain manifests */
	const struct json *json;
};

struct release_manifest {
	struct release_object *objects;
	size_t count;
};

/* Reads the text of a manifest; "" has no objects. */
int release_manifest_read(struct arena *arena, struct span text,
	struct release_manifest *ret_manifest, struct err *err);
/* The text of these objects. */
int release_manifest_write(struct arena *arena, const struct release_manifest *manifest,
	struct span *ret_text, struct err *err);

/* A manifest of objects: each gets the namespace, the label of the Release, and the annotation of its path (if that
 * is not ""), and they are sorted in the order of application. Fails for objects without apiVersion, kind or name, in
 * another namespace, and for two of the same name. */
struct release_part {
	const struct json *object;
	struct span path;
};
int release_manifest_make(struct arena *arena, const struct release_part *parts, size_t count,
	struct span release, struct span namespace, struct release_manifest *ret_manifest,
	struct err *err);

/* The object of this kind and name, or NULL. The version of its API does not count, the group does. */
const struct release_object *release_manifest_find(const struct release_manifest *manifest,
	struct span api_version, struct span kind, struct span name);

/* "apps" of "apps/v1"; "" of "v1". */
struct span release_api_group(struct span api_version);

/* A copy of an object with one more entry in a map under metadata ("labels", "annotations"). */
struct json *release_with_metadata(struct arena *arena, const struct json *object, const char *map,
	const char *name, struct span value);

#endif
