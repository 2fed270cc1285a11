/*
 * An arena is memory that dies at once: a request, a parse, a planning step. Allocation is a pointer
 * bump; nothing is freed alone. An arena has a cap, and passing it makes allocation return NULL only
 * through the *_capped calls that parsers of foreign input use; the others end the process, because
 * code that allocates from an uncapped arena has nothing sensible to do about it.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

#include "base/span.h"

struct arena;

/* cap: most bytes it may hold, 0 for no cap. */
struct arena *arena_new(size_t cap);
void arena_free(struct arena *arena); /* NULL is fine */
void arena_free_pointer(struct arena **arena);
#define _arena_ CLEANUP(arena_free_pointer)

/* Empties it, keeping its first block: for loops. */
void arena_reset(struct arena *arena);

/* Zeroed, aligned for any type. Never NULL for an arena without cap. */
void *arena_allocate(struct arena *arena, size_t size);
void *arena_allocate_array(struct arena *arena, size_t count, size_t size);
/* NULL when the cap is passed (for arenas with one). */
void *arena_allocate_capped(struct arena *arena, size_t size);

char *arena_copy(struct arena *arena, const void *data, size_t length); /* and a NUL behind it */
struct span arena_copy_span(struct arena *arena, struct span text);
char *arena_copy_string(struct arena *arena, const char *text);
struct span arena_format(struct arena *arena, const char *format, ...)
	__attribute__((format(printf, 2, 3))); /* NUL-terminated */
struct span arena_format_list(struct arena *arena, const char *format, va_list list);

size_t arena_used(const struct arena *arena);

#endif
