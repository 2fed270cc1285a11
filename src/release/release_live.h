/*
 * An object of a Release as it is in the cluster, reduced to what decisions need: so that an informer holds
 * any number of large objects.
 */
#ifndef RELEASE_RELEASE_LIVE_H
#define RELEASE_RELEASE_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "kube/object.h"

#define RELEASE_OWNERS_MAX 64

enum release_phase {
	RELEASE_PHASE_AVAILABLE,
	RELEASE_PHASE_PROGRESSING,
	RELEASE_PHASE_FAILURE,
};
const char *release_phase_name(enum release_phase phase); /* "Available", … */

struct release_live {
	struct span release; /* the label; "" without */
	struct span owner;   /* RELEASE_OWNER_ANNOTATION; "" without */
	/* Of everything but status and what the API server itself writes into metadata: equal contents have
	 * equal values. */
	uint64_t content;
	enum release_phase phase;
	struct span message; /* why it is not available; or "" */
	/* Of a workload, else 0. */
	int64_t pods, updated_pods, ready_pods;
	const struct span *owner_uids;
	size_t owner_count;
	bool deleting;
	int64_t drain_until_ms; /* RELEASE_DRAIN_ANNOTATION; 0: none */
};

/* A kube_reduce; context is the struct kube_kind. */
int release_live_reduce(void *kind, const struct json *object, struct kube_keep *keep,
	const void **ret_data, struct err *err);

/* See struct release_live. */
uint64_t release_content_hash(const struct json *object);

/* The condition of an object by its status. group and kind: "apps", "Deployment". */
struct release_condition {
	enum release_phase phase;
	struct span message; /* in the arena */
	int64_t pods, updated_pods, ready_pods;
};
void release_object_condition(struct arena *arena, struct span group, struct span kind,
	const struct json *object, struct release_condition *ret_condition);

#endif
