/*
 * The objects of an informer by key, and by the keys of its indexes. One thread changes it, any may read:
 * the informer's lock is held for each of these. Inside kube/ only.
 */
#ifndef KUBE_CACHE_H
#define KUBE_CACHE_H

#include "kube/informer.h"

struct cache_entry;

/* Every entry of a table begins with a node. */
struct cache_node {
	struct cache_node *next; /* of the same slot */
	uint32_t hash;
};

struct cache_table {
	struct cache_node **slots;
	size_t slot_count; /* a power of two, or 0 */
	size_t count;
};

struct cache {
	struct cache_table entries;
	struct cache_entry *first, *last; /* in the order of arrival */
	struct kube_index indexes[KUBE_INFORMER_INDEXES_MAX];
	struct cache_table buckets[KUBE_INFORMER_INDEXES_MAX];
	size_t index_count;
	size_t bytes;
};

void cache_init(struct cache *cache, const struct kube_index *indexes, size_t count);
void cache_clear(struct cache *cache);

/* Not a reference. */
const struct kube_object *cache_get(const struct cache *cache, struct span key);
/* Takes the reference over; returns the one it replaced, to be released, or NULL. */
const struct kube_object *cache_put(struct cache *cache, const struct kube_object *object,
	uint64_t generation);
/* It was seen again as it is. */
void cache_touch(struct cache *cache, struct span key, uint64_t generation);
/* To be released, or NULL. */
const struct kube_object *cache_remove(struct cache *cache, struct span key);

/* Returns the next object last seen before this generation; NULL: no more. The caller removes it
 * before the next call. *position begins with NULL, and is the last entry that stays. */
const struct kube_object *cache_next_before(const struct cache *cache,
	const struct cache_entry **position, uint64_t generation);

size_t cache_count(const struct cache *cache);
/* References in the arena. */
void cache_find(const struct cache *cache, const char *index, struct span key, struct arena *arena,
	struct kube_object_list *ret_list);
void cache_all(const struct cache *cache, struct arena *arena, struct kube_object_list *ret_list);

#endif
