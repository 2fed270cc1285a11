/* See the header. Places are counted from 1 here, too: the parent of place p is p / 2. */
#include "base/heap.h"

#include <stdlib.h>

#include "base/memory.h"

static void set(struct heap *heap, size_t place, struct heap_item *item)
{
	heap->items[place - 1] = item;
	item->place = place;
}

static struct heap_item *get(const struct heap *heap, size_t place)
{
	return heap->items[place - 1];
}

static void rise(struct heap *heap, struct heap_item *item)
{
	size_t place = item->place;

	while (place > 1 && item->at < get(heap, place / 2)->at) {
		set(heap, place, get(heap, place / 2));
		place /= 2;
	}
	set(heap, place, item);
}

static void sink(struct heap *heap, struct heap_item *item)
{
	size_t place = item->place;

	for (size_t child = 2 * place; child <= heap->count; child = 2 * place) {
		if (child < heap->count && get(heap, child + 1)->at < get(heap, child)->at)
			child++;
		if (item->at <= get(heap, child)->at)
			break;
		set(heap, place, get(heap, child));
		place = child;
	}
	set(heap, place, item);
}

void heap_put(struct heap *heap, struct heap_item *item, int64_t at)
{
	item->at = at;
	if (item->place == 0) {
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

	if (item->place == 0)
		return;
	last = get(heap, heap->count--);
	if (last != item) {
		set(heap, item->place, last);
		rise(heap, last);
		sink(heap, last);
	}
	item->place = 0;
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
