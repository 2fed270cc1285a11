/*
 * A map from text to pointer that iterates in insertion order, so that a run with the same inputs
 * does the same things in the same order (simulation depends on it). Open addressing over an
 * entries array; removal leaves a hole that compaction closes. Keys are copied; values are not owned.
 * Removing during iteration is allowed, inserting is not.
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/span.h"

struct map_entry {
	struct span key; /* owned by the map; NUL-terminated; data NULL: a hole */
	void *value;
	uint32_t hash;
};

struct map {
	struct map_entry *entries;
	uint32_t *slots;    /* index + 1 into entries; 0: free; UINT32_MAX: deleted */
	size_t entry_count; /* holes included */
	size_t entry_capacity;
	size_t slot_count; /* power of two, or 0 */
	size_t slots_used; /* deleted included */
	size_t count;      /* without holes */
};

#define _map_ CLEANUP(map_clear)

void map_clear(struct map *map); /* frees what the map owns; it can be used again */
void *map_get(const struct map *map, struct span key); /* NULL if absent */
bool map_has(const struct map *map, struct span key);
/* Returns the value that was there before (a replaced key keeps its place), or NULL. */
void *map_put(struct map *map, struct span key, void *value);
void *map_remove(struct map *map, struct span key); /* the value removed, or NULL */
/* The next entry at or after *position, which is advanced; NULL at the end. Start with 0. */
struct map_entry *map_next(const struct map *map, size_t *position);

#define MAP_EACH(map, entry)                                                                       \
	for (size_t position_ = 0, once_ = 1; once_; once_ = 0)                                    \
		for (struct map_entry * entry; (entry = map_next((map), &position_));)

#endif
