/*
 * A growing buffer with a cap. Appending past the cap sets `failed`, drops the append, and makes
 * every later append fail too: check once at the end with buffer_failed().
 */
#ifndef BASE_BUFFER_H
#define BASE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/span.h"

struct buffer {
	char *data; /* NUL-terminated whenever not NULL */
	size_t length;
	size_t capacity;
	size_t cap; /* 0: none */
	bool failed;
};

#define BUFFER_WITH_CAP(most) ((struct buffer){.cap = (most)})
#define _buffer_ CLEANUP(buffer_clear)

void buffer_clear(struct buffer *buffer); /* frees; the buffer can be used again */
void buffer_reset(struct buffer *buffer); /* empties, keeps the memory */
/* Room for at least `more` bytes behind length; NULL if the cap forbids. The caller raises length. */
char *buffer_reserve(struct buffer *buffer, size_t more);
void buffer_add(struct buffer *buffer, const void *data, size_t length);
void buffer_add_span(struct buffer *buffer, struct span text);
void buffer_add_string(struct buffer *buffer, const char *text);
void buffer_add_char(struct buffer *buffer, char c);
void buffer_add_unsigned(struct buffer *buffer, uint64_t value);
void buffer_add_signed(struct buffer *buffer, int64_t value);
void buffer_add_hex(struct buffer *buffer, const void *data, size_t length); /* lower case */
void buffer_format(struct buffer *buffer, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Removes the first `length` bytes. */
void buffer_consume(struct buffer *buffer, size_t length);
/* Hands the memory over (never NULL) and leaves the buffer empty. */
char *buffer_take(struct buffer *buffer, size_t *ret_length);

static inline struct span buffer_span(const struct buffer *buffer)
{
	return (struct span){buffer->data ? buffer->data : "", buffer->length};
}

static inline bool buffer_failed(const struct buffer *buffer)
{
	return buffer->failed;
}

#endif
