/*
 * Responses of API servers to our own writes, kept until informers show them too: a read after a
 * write finds what was written. An object is fresh until an informer shows one that is at least as
 * new.
 */
#ifndef RUNTIME_KUBERNETES_FRESH_H
#define RUNTIME_KUBERNETES_FRESH_H

#include "base/lock.h"
#include "base/map.h"
#include "kube/object.h"

struct kubernetes_fresh {
	struct lock lock;
	struct map objects; /* guarded by the lock: key → a reference */
};

void kubernetes_fresh_init(struct kubernetes_fresh *fresh);
void kubernetes_fresh_destroy(struct kubernetes_fresh *fresh);

/* Takes ownership of the reference. */
void kubernetes_fresh_put(struct kubernetes_fresh *fresh, struct span key,
	const struct kube_object *object);
/* The newer of the informer's object (NULL: none) and the fresh one; takes one reference and
 * returns one. NULL: neither. */
const struct kube_object *kubernetes_fresh_choose(struct kubernetes_fresh *fresh, struct span key,
	const struct kube_object *shown);
/* An informer shows this object. */
void kubernetes_fresh_seen(struct kubernetes_fresh *fresh, struct span key,
	const struct kube_object *shown);
/* An informer reports that this object was deleted. */
void kubernetes_fresh_gone(struct kubernetes_fresh *fresh, struct span key,
	const struct kube_object *last);
void kubernetes_fresh_drop(struct kubernetes_fresh *fresh, struct span key);
bool kubernetes_fresh_has(struct kubernetes_fresh *fresh, struct span key);
/* References to all, in the arena. */
void kubernetes_fresh_all(struct kubernetes_fresh *fresh, struct arena *arena,
	const struct kube_object ***ret_objects, size_t *ret_count);

#endif
