/*
 * Local copies of everything that the Release controller reacts to: Releases, their histories, the objects of
 * Releases of any kind, and autoscalers. All are reduced to what decisions need, so that large Releases fit.
 *
 * A kind of object is watched from when a Release has one, and also if an earlier version in a history has one:
 * its objects may still have to be deleted.
 */
#ifndef RELEASE_RELEASE_WATCH_H
#define RELEASE_RELEASE_WATCH_H

#include "kube/informer.h"
#include "release/release_live.h"

#define RELEASE_KINDS_MAX 200

struct release_watch;

struct release_watch_config {
	struct kube_client *client; /* outlives the watch; likewise runner */
	struct runner *runner;
	struct span namespace; /* SPAN_NONE: all */
	/* Something changed that concerns this Release; on an informer's thread, must not block. */
	void (*changed)(void *context, struct span namespace, struct span release);
	/* A watch failed and is tried again; for the log. May be NULL. */
	void (*failed)(void *context, const char *resource, const struct err *err);
	void *context;
};

int release_watch_start(const struct release_watch_config *config, struct release_watch **ret_watch,
	struct err *err);
void release_watch_stop(struct release_watch *watch); /* NULL is fine */
/* All Releases, histories and autoscalers are known. */
bool release_watch_is_synced(struct release_watch *watch);
/* Calls `changed` for every Release. */
void release_watch_all(struct release_watch *watch);

/* ---- histories ---- */

struct release_type {
	struct span api_version, kind;
};

/* A ReleaseHistory without its source and manifest. */
struct release_known_history {
	struct span release; /* the label */
	int64_t version;
	const struct span *owner_uids;
	size_t owner_count;
	const struct release_type *types; /* of the objects in its manifest */
	size_t type_count;
};
/* data of the objects: struct release_known_history. */
void release_watch_histories(struct release_watch *watch, struct span namespace,
	struct span release, struct arena *arena, struct kube_object_list *ret_list);

/* The types of objects in the text of a manifest, each once. In the arena. */
struct release_type *release_manifest_types(struct arena *arena, struct span text,
	size_t *ret_count);

/* ---- objects ---- */

/* Watches this type from now on, and waits until its objects are known, at most until deadline_us. Fails with the
 * watch's own error if that has one. */
int release_watch_type(struct release_watch *watch, const struct release_type *type,
	int64_t deadline_us, struct err *err);
/* A reference, or NULL; data: struct release_live. */
const struct kube_object *release_watch_object(struct release_watch *watch,
	const struct release_type *type, struct span namespace, struct span name);
/* Objects that have the label of this Release: in its namespace, and those without any. data: struct release_live. */
void release_watch_objects(struct release_watch *watch, const struct release_type *type,
	struct span namespace, struct span release, struct arena *arena,
	struct kube_object_list *ret_list);
/* True if the type's objects are in namespaces. The type is watched. */
bool release_watch_is_namespaced(struct release_watch *watch, const struct release_type *type);

/* True if a HorizontalPodAutoscaler sets the replicas of this workload. */
bool release_watch_is_scaled(struct release_watch *watch, const struct release_type *type,
	struct span namespace, struct span name);

#endif
