/*
 * Names and labels of what a Release renders. Pure: JSON objects in, JSON objects out.
 *
 * Two versions of an application run side by side during a canary release. They need different names, and
 * Services must not select the pods of both. So every object of a Release is rendered in two steps: the
 * template gives it its base name, and a *naming* gives it the name that it has in the cluster. A naming is
 * a JSON object that the Release stores with each version:
 *
 *     {"tracks": {"shop/cart": "abcde"}, "names": {"Deployment/web": "web-abcde"}}
 *
 * tracks: the value of the label RELEASE_TRACK_LABEL for the objects of a path; RELEASE_TRACK_STABLE for others. It
 * stands in the pod templates and selectors of workloads and in the selectors of Services that select these
 * workloads. names: those that differ from the base name; all references to them follow.
 *
 * A canary's naming is the stable one with another track for its path, and with a suffix for workloads, and
 * for ConfigMaps and Secrets whose content differs. Adopting stores this naming in the Release, whose next
 * version then has exactly the names that already run.
 */
#ifndef RELEASE_NAMING_H
#define RELEASE_NAMING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/span.h"

#define NAMING_FORKED "-forked"
#define NAMING_CANARY "-canary"
#define NAMING_SUFFIX_MAX 32
#define NAMING_OBJECTS_MAX 10000

/* An object as its template gives it, with the path of its chart ("shop/cart"; "" without a chart). */
struct naming_object {
	const struct json *object;
	struct span path;
};

/* The objects with their names, tracks and references, in the same order. naming NULL: of a first version.
 * ret_objects has room for count. */
int naming_apply(struct arena *arena, const struct naming_object *objects, size_t count,
	const struct json *naming, const struct json **ret_objects, struct err *err);

enum naming_action {
	NAMING_CREATE,  /* the canary has its own: workloads, changed ConfigMaps and Secrets */
	NAMING_SHARED,  /* equal to the stable one, which the canary uses; not written */
	NAMING_SERVICE, /* Services are copied by naming_service_copy(), if listed */
	NAMING_NOT_DUPLICATED, /* stays as in the stable version until adoption; listed in status */
};

struct naming_planned {
	enum naming_action action;
	const struct json *object; /* with its names */
	struct span base_name;
};

struct naming_plan {
	const struct json *naming; /* of the canary; the Release's after adoption */
	struct naming_planned *items;
	size_t count; /* in the order of the objects */
};

struct naming_canary {
	const struct naming_object *objects; /* of the whole Release, rendered for the canary */
	size_t count;
	const struct json *const *stable; /* of the running version, with their names */
	size_t stable_count;
	const struct json *stable_naming; /* or NULL */
	struct span path;                 /* objects of this chart get a canary */
	struct span suffix;
};

/* codes: -EINVAL a name that is too long, a suffix in use, a Service that selects pods of several paths;
 * -ENOENT no workload in this path; -EEXIST two objects would have the same name. */
int naming_plan_canary(struct arena *arena, const struct naming_canary *canary,
	struct naming_plan *ret_plan, struct err *err);

/* The text behind the last "-" of a CanaryRelease's name: its suffix and its track. */
int naming_suffix(struct span canary_release, struct span *ret_suffix, struct err *err);

/* A ClusterIP Service with the ports and the selector of this one, without what a cluster allocates
 * (addresses, node ports); its name with the ending. */
int naming_service_copy(struct arena *arena, const struct json *service, const char *ending,
	const struct json **ret_copy, struct err *err);

/* ---- kinds of objects, by name and API group ---- */

bool naming_is_workload(const struct json *object);
bool naming_is_service(const struct json *object);
/* Labels of a workload's pods, or NULL. */
const struct json *naming_pod_labels(const struct json *workload);
/* Whether a Service's selector selects pods with these labels. One without a selector selects none. */
bool naming_selects(const struct json *service, const struct json *labels);

#endif
