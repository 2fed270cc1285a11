/*
 * Reads and writes of objects of any kind, by their apiVersion and kind. Both controllers use these calls, so
 * that all their writes obey the same rules:
 *
 * - A write is sent only while the lease is held, and its timeout ends before another program can take the
 *   lease. Without the lease a write fails with -ECANCELED.
 * - An object that belongs to others is not changed: object_apply_owned() compares owners first.
 *
 * Which call to use. An object of a Release, also a canary's: object_apply() as RELEASE_FIELD_MANAGER, with all
 * its fields. Selector and target ports of a Service: read, change, object_update(); it fails with -EAGAIN if
 * the object was changed since. A few fields or a status: object_merge().
 *
 * The codes are those of kube/client.h; -ENOENT also if the server does not have the kind.
 */
#ifndef RELEASE_OBJECT_CALLS_H
#define RELEASE_OBJECT_CALLS_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "kube/client.h"
#include "kube/lease.h"

struct object_calls {
	struct kube_client *client;
	struct kube_lease *lease;          /* NULL: none is needed (commands) */
	const char *field_manager;         /* of all writes: RELEASE_FIELD_MANAGER, … */
	struct http_client_cancel *cancel; /* or NULL */
};

struct object_id {
	struct span api_version, kind, name;
	struct span namespace; /* not used for kinds without namespaces */
};

/* Of an object as a manifest or the API server has it; namespace: if it names none itself. */
struct object_id object_id_of(const struct json *object, struct span namespace);
/* The object's address. *ret_target lives as long as the client and the id. */
int object_target(const struct object_calls *calls, const struct object_id *id,
	struct kube_target *ret_target, struct err *err);

/* ---- reads ---- */

int object_get(const struct object_calls *calls, const struct object_id *id, struct arena *arena,
	struct json **ret_object, struct err *err);

/* ---- writes ---- */

/* Server-side apply with force; creates the object if it does not exist. With metadata.uid in the object it
 * must exist and be that one (-EAGAIN). */
int object_apply(const struct object_calls *calls, const struct json *object, struct span namespace,
	struct arena *arena, struct json **ret_object, struct err *err);
/* Replaces it. The object has metadata.resourceVersion as it was read: -EAGAIN if it has changed since,
 * -EINVAL without. */
int object_update(const struct object_calls *calls, const struct json *object, struct arena *arena,
	struct json **ret_object, struct err *err);
/* Merges a patch (RFC 7386) into the object, or with subresource "status" into its status. With
 * metadata.resourceVersion in the patch only if it is still that one (-EAGAIN). */
int object_merge(const struct object_calls *calls, const struct object_id *id,
	const char *subresource, const struct json *patch, struct arena *arena,
	struct json **ret_object, struct err *err);
/* Creates it; -EEXIST if there is one. */
int object_create(const struct object_calls *calls, const struct json *object,
	struct span namespace, struct arena *arena, struct json **ret_object, struct err *err);
/* Deletes it, with its dependents in the background. uid: only this one (-EAGAIN if another has its name); or
 * SPAN_NONE. An object that does not exist is no error. */
int object_delete(const struct object_calls *calls, const struct object_id *id, struct span uid,
	struct err *err);

/* ---- ownership ---- */

/* An object's owner: a Release or a CanaryRelease. */
struct object_owner {
	struct span api_version, kind, name, uid;
	bool controller;
};

/* True if one of the object's owner references has this uid. */
bool object_is_owned(const struct json *object, struct span uid);
/* A copy of the object with these owner references and no others. */
struct json *object_with_owners(struct arena *arena, const struct json *object,
	const struct object_owner *owners, size_t count);

/* object_apply() for an object that does not exist yet, or that the owner with this uid already owns. Reads it
 * first. -EPERM if it exists and is not owned, with a sentence that names it; it is not changed. */
int object_apply_owned(const struct object_calls *calls, const struct json *object,
	struct span namespace, struct span owner_uid, struct arena *arena, struct json **ret_object,
	struct err *err);

#endif
