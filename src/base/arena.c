/*
 * A list of blocks, the newest first; an allocation bumps a pointer in the newest or opens another.
 * Blocks double up to BLOCK_MAX, larger allocations get a block of their own. The cap counts what
 * was handed out, not what was reserved. What is not handed out is poisoned under ASan, so that a
 * use of a forgotten pointer after arena_reset() is found.
 */
#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>

#include "base/memory.h"

#if defined(__SANITIZE_ADDRESS__)
#define ARENA_POISON 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_POISON 1
#endif
#endif
#ifdef ARENA_POISON
#include <sanitizer/asan_interface.h>
#define POISON(memory, size) ASAN_POISON_MEMORY_REGION((memory), (size))
#define UNPOISON(memory, size) ASAN_UNPOISON_MEMORY_REGION((memory), (size))
#else
#define POISON(memory, size) ((void)(memory), (void)(size))
#define UNPOISON(memory, size) ((void)(memory), (void)(size))
#endif

#define ALIGNMENT alignof(max_align_t)
#define BLOCK_FIRST ((size_t)4096)
#define BLOCK_MAX ((size_t)1024 * 1024)

struct block {
	struct block *older;
	size_t size; /* of data */
	size_t used;
	alignas(ALIGNMENT) char data[];
};

struct arena {
	struct block *newest;
	size_t cap;
	size_t used;
};

struct arena *arena_new(size_t cap)
{
	struct arena *arena = memory_allocate(sizeof(*arena));

	arena->cap = cap;
	return arena;
}

static void free_block(struct block *block)
{
	UNPOISON(block->data, block->size);
	free(block);
}

void arena_free(struct arena *arena)
{
	if (!arena)
		return;
	while (arena->newest) {
		struct block *block = arena->newest;

		arena->newest = block->older;
		free_block(block);
	}
	free(arena);
}

void arena_free_pointer(struct arena **arena)
{
	arena_free(*arena);
	*arena = NULL;
}

void arena_reset(struct arena *arena)
{
	while (arena->newest && arena->newest->older) {
		struct block *block = arena->newest;

		arena->newest = block->older;
		free_block(block);
	}
	if (arena->newest) {
		arena->newest->used = 0;
		POISON(arena->newest->data, arena->newest->size);
	}
	arena->used = 0;
}

__attribute__((cold)) static struct block *open_block(struct arena *arena, size_t size)
{
	size_t block_size =
		arena->newest ? (arena->newest->size + sizeof(struct block)) * 2 : BLOCK_FIRST;
	struct block *block;

	if (block_size > BLOCK_MAX)
		block_size = BLOCK_MAX;
	block_size -= sizeof(struct block);
	if (block_size < size)
		block_size = size;
	block = memory_resize(NULL, sizeof(*block) + block_size);
	block->size = block_size;
	block->used = 0;
	block->older = arena->newest;
	arena->newest = block;
	POISON(block->data, block->size);
	return block;
}

/* Memory that is not zeroed; NULL if the cap is passed. */
static void *take(struct arena *arena, size_t size)
{
	size_t rounded = (size + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
	struct block *block = arena->newest;
	void *memory;

	if (rounded < size || rounded > SIZE_MAX / 2)
		return NULL;
	if (arena->cap > 0 && rounded > arena->cap - arena->used)
		return NULL;
	if (!block || rounded > block->size - block->used)
		block = open_block(arena, rounded);
	memory = block->data + block->used;
	block->used += rounded;
	arena->used += rounded;
	UNPOISON(memory, size);
	return memory;
}

static void *take_or_end(struct arena *arena, size_t size)
{
	void *memory = take(arena, size);

	if (!memory) {
		fprintf(stderr,
			"slipway: an arena of %zu bytes is full (%zu used, %zu more wanted)\n",
			arena->cap, arena->used, size);
		abort();
	}
	return memory;
}

void *arena_allocate(struct arena *arena, size_t size)
{
	return memset(take_or_end(arena, size), 0, size);
}

void *arena_allocate_array(struct arena *arena, size_t count, size_t size)
{
	size_t total;

	if (__builtin_mul_overflow(count, size, &total))
		total = SIZE_MAX; /* take_or_end says so */
	return arena_allocate(arena, total);
}

void *arena_allocate_capped(struct arena *arena, size_t size)
{
	void *memory = take(arena, size);

	return memory ? memset(memory, 0, size) : NULL;
}

char *arena_copy(struct arena *arena, const void *data, size_t length)
{
	char *copy = take_or_end(arena, length == SIZE_MAX ? length : length + 1);

	if (length > 0)
		memcpy(copy, data, length);
	copy[length] = '\0';
	return copy;
}

struct span arena_copy_span(struct arena *arena, struct span text)
{
	return text.data ? (struct span){arena_copy(arena, text.data, text.length), text.length}
			 : SPAN_NONE;
}

char *arena_copy_string(struct arena *arena, const char *text)
{
	return text ? arena_copy(arena, text, strlen(text)) : NULL;
}

struct span arena_format_list(struct arena *arena, const char *format, va_list list)
{
	char small[256];
	va_list again;
	char *text;
	int length;

	va_copy(again, list);
	length = vsnprintf(small, sizeof(small), format, list);
	if (length < 0) {
		text = arena_copy(arena, "", 0);
		length = 0;
	} else if ((size_t)length < sizeof(small)) {
		text = arena_copy(arena, small, (size_t)length);
	} else {
		text = take_or_end(arena, (size_t)length + 1);
		vsnprintf(text, (size_t)length + 1, format, again);
	}
	va_end(again);
	return (struct span){text, (size_t)length};
}

struct span arena_format(struct arena *arena, const char *format, ...)
{
	struct span text;
	va_list list;

	va_start(list, format);
	text = arena_format_list(arena, format, list);
	va_end(list);
	return text;
}

size_t arena_used(const struct arena *arena)
{
	return arena->used;
}
