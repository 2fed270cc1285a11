/* See the header. Places are counted from 1 here, too: the parent of place p is p / 2. */
#include "base/heap.h"

#include <stdlib.h>

#include "base/memory.h"

static void set(struct heap *heap, size_t position, struct heap_item *item)
{
	heap->items[position - 1] = item;
	item->position = position;
}

static struct heap_item *get(const struct heap *heap, size_t position)
{
	return heap->items[position - 1];
}

static void rise(struct heap *heap, struct heap_item *item)
{
	size_t position = item->position;

	while (position > 1 && item->at < get(heap, position / 2)->at) {
		set(heap, position, get(heap, position / 2));
		position /= 2;
	}
	set(heap, position, item);
}

static void sink(struct heap *heap, struct heap_item *item)
{
	size_t position = item->position;

	for (size_t child = 2 * position; child <= heap->count; child = 2 * position) {
		if (child < heap->count && get(heap, child + 1)->at < get(heap, child)->at)
			child++;
		if (item->at <= get(heap, child)->at)
			break;
		set(heap, position, get(heap, child));
		position = child;
	}
	set(heap, position, item);
}

void heap_put(struct heap *heap, struct heap_item *item, int64_t at)
{
	item->at = at;
	if (item->position == 0) {
		if (heap->count == heap->size) {
			heap->size = heap->size ? heap->size * 2 : 16;
			heap->items = memory_resize(heap->items, heap->size * sizeof(*heap->items));
		}
		set(heap, ++heap->count, item);
	}
	rise(heap, item);
	sink(heap, item);
}

void heap_remove(struct heap *heap, struct heap_item *item)
{
	struct heap_item *last;

	if (item->position == 0)
		return;
	last = get(heap, heap->count--);
	if (last != item) {
		set(heap, item->position, last);
		rise(heap, last);
		sink(heap, last);
	}
	item->position = 0;
}

struct heap_item *heap_first(const struct heap *heap)
{
	return heap->count > 0 ? heap->items[0] : NULL;
}

void heap_free(struct heap *heap)
{
	free(heap->items);
	*heap = (struct heap){0};
}
