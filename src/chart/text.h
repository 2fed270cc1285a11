/*
 * Text the way Go treats it: UTF-8 that may be broken, quoting as strconv does it, and the letters
 * of Unicode as far as the C library's tables for C.UTF-8 know them.
 */
#ifndef CHART_TEXT_H
#define CHART_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/span.h"

#define TEXT_BROKEN 0xFFFD /* stands for each byte that is not UTF-8 */

/* The character at the begin of text (not empty) and its length in bytes. */
uint32_t text_decode(struct span text, size_t *ret_length);
void text_add(struct buffer *out, uint32_t character);
size_t text_count(struct span text); /* characters */
/* Bytes of the first `count` characters. */
size_t text_offset(struct span text, size_t count);

bool text_is_space(uint32_t character); /* unicode.IsSpace */
bool text_is_letter(uint32_t character);
bool text_is_digit(uint32_t character);
bool text_is_upper(uint32_t character);
bool text_is_lower(uint32_t character);
bool text_is_printable(uint32_t character); /* strconv.IsPrint */
uint32_t text_to_upper(uint32_t character);
uint32_t text_to_lower(uint32_t character);

struct span text_trim_space(struct span text);
/* Cuts characters of `set` from the ends. */
struct span text_trim(struct span text, struct span set, bool left, bool right);
/* Offset of the first occurrence at or behind `from`, or -1. */
int64_t text_find(struct span text, struct span part, size_t from);

/* strconv.Unquote of a text with its quotes (", ` or '); false if it is malformed. */
bool text_unquote(struct arena *arena, struct span quoted, struct span *ret_text);
/* strconv.Quote, or QuoteToASCII. */
void text_quote(struct buffer *out, struct span text, bool ascii_only);
void text_quote_rune(struct buffer *out, uint32_t character, bool ascii_only);

#endif
