/*
 * A heap: of many items with a time each, the one that is due first, in O(log n). Items are members of structures of
 * their own (CONTAINER_OF), are in one heap at most, and know their place, so that each can be moved or taken out.
 *
 * Invariant: no item is due before its parent, items[(place - 1) / 2].
 */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

#include <stddef.h>
#include <stdint.h>

struct heap_item {
	int64_t at;
	size_t position; /* counted from 1; 0: it is in no heap */
};

/* All zero is an empty one. */
struct heap {
	struct heap_item **items;
	size_t count, size;
};

/* Puts it in, or moves it if it is there. */
void heap_put(struct heap *heap, struct heap_item *item, int64_t at);
void heap_remove(struct heap *heap, struct heap_item *item); /* fine if it is not there */
struct heap_item *heap_first(const struct heap *heap);       /* NULL: it is empty */
void heap_free(struct heap *heap);                           /* its memory, not its items */

#endif
