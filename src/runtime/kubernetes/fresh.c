/* See the header. */
#include "runtime/kubernetes/fresh.h"

void kubernetes_fresh_init(struct kubernetes_fresh *fresh)
{
	*fresh = (struct kubernetes_fresh){0};
	lock_init(&fresh->lock);
}

void kubernetes_fresh_destroy(struct kubernetes_fresh *fresh)
{
	MAP_EACH (&fresh->objects, entry)
		kube_object_release(entry->value);
	map_clear(&fresh->objects);
	lock_destroy(&fresh->lock);
}

/* resourceVersions are numbers that rise with each write; if one is not a number, the order is
 * unknown. */
static bool is_at_least_as_new(const struct kube_object *one, const struct kube_object *other)
{
	uint64_t a, b;

	if (!span_to_unsigned(one->resource_version, UINT64_MAX, &a) ||
		!span_to_unsigned(other->resource_version, UINT64_MAX, &b))
		return true;
	return a >= b;
}

static void drop(struct kubernetes_fresh *fresh, struct span key)
{
	kube_object_release(map_remove(&fresh->objects, key));
}

void kubernetes_fresh_put(struct kubernetes_fresh *fresh, struct span key,
	const struct kube_object *object)
{
	const struct kube_object *before;

	lock_take(&fresh->lock);
	before = map_get(&fresh->objects, key);
	if (before && !is_at_least_as_new(object, before)) {
		kube_object_release(object);
	} else {
		map_put(&fresh->objects, key, (void *)object);
		kube_object_release(before);
	}
	lock_release(&fresh->lock);
}

const struct kube_object *kubernetes_fresh_choose(struct kubernetes_fresh *fresh, struct span key,
	const struct kube_object *shown)
{
	const struct kube_object *own;

	lock_take(&fresh->lock);
	own = map_get(&fresh->objects, key);
	if (own && (!shown || !is_at_least_as_new(shown, own))) {
		kube_object_release(shown);
		shown = kube_object_reference(own);
	}
	lock_release(&fresh->lock);
	return shown;
}

void kubernetes_fresh_seen(struct kubernetes_fresh *fresh, struct span key,
	const struct kube_object *shown)
{
	const struct kube_object *own;

	lock_take(&fresh->lock);
	own = map_get(&fresh->objects, key);
	if (own && is_at_least_as_new(shown, own))
		drop(fresh, key);
	lock_release(&fresh->lock);
}

void kubernetes_fresh_gone(struct kubernetes_fresh *fresh, struct span key,
	const struct kube_object *last)
{
	const struct kube_object *own;

	lock_take(&fresh->lock);
	own = map_get(&fresh->objects, key);
	if (own && span_equal(own->uid, last->uid))
		drop(fresh, key);
	lock_release(&fresh->lock);
}

void kubernetes_fresh_drop(struct kubernetes_fresh *fresh, struct span key)
{
	lock_take(&fresh->lock);
	drop(fresh, key);
	lock_release(&fresh->lock);
}

bool kubernetes_fresh_has(struct kubernetes_fresh *fresh, struct span key)
{
	bool has;

	lock_take(&fresh->lock);
	has = map_has(&fresh->objects, key);
	lock_release(&fresh->lock);
	return has;
}

void kubernetes_fresh_all(struct kubernetes_fresh *fresh, struct arena *arena,
	const struct kube_object ***ret_objects, size_t *ret_count)
{
	const struct kube_object **objects;
	size_t count = 0;

	lock_take(&fresh->lock);
	objects = arena_allocate_array(arena, fresh->objects.count, sizeof(struct kube_object *));
	MAP_EACH (&fresh->objects, entry)
		objects[count++] = kube_object_reference(entry->value);
	lock_release(&fresh->lock);
	*ret_objects = objects;
	*ret_count = count;
}
