/*
 * A span is text with a length, not owned and not terminated: a slice of a request, of an arena, of
 * a literal. Most of slipway passes text as spans; "%.*s" with SPAN_ARGS() prints one.
 */
#ifndef BASE_SPAN_H
#define BASE_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct span {
	const char *data; /* never NULL for a span that is present; may be "" */
	size_t length;
};

#define SPAN(literal) ((struct span){"" literal, sizeof(literal) - 1})
#define SPAN_NONE ((struct span){NULL, 0})
#define SPAN_ARGS(span) (int)(span).length, (span).data

static inline struct span span_of(const char *text)
{
	return text ? (struct span){text, strlen(text)} : SPAN_NONE;
}

static inline bool span_equal(struct span a, struct span b)
{
	return a.length == b.length && (a.length == 0 || memcmp(a.data, b.data, a.length) == 0);
}

static inline bool span_is(struct span a, const char *text)
{
	return span_equal(a, span_of(text));
}

/* Order of bytes; a shorter prefix comes first. */
int span_compare(struct span a, struct span b);
bool span_starts_with(struct span text, struct span prefix);
bool span_ends_with(struct span text, struct span suffix);
bool span_equal_ignoring_case(struct span a, struct span b); /* ASCII only */

/* Cuts text at the first separator: *ret_before gets what is before it, *ret_after the rest. False
 * (outputs untouched) when there is none. */
bool span_split(struct span text, char separator, struct span *ret_before, struct span *ret_after);

/* The next part of a list that is joined by a separator, which continues behind it; false at its end. */
bool span_next_part(struct span *list, char separator, struct span *ret_part);

/* Without spaces and tabs around it. */
struct span span_trim(struct span text);

/* Decimal digits only, no sign, no spaces; false if it is not a number or passes max. */
bool span_to_unsigned(struct span text, uint64_t max, uint64_t *ret_value);

/* FNV-1a followed by a mixer; stable for one process only (seeded once against collision floods). */
uint64_t span_hash(struct span text);

/* The nearest of `count` candidates by edit distance, or SPAN_NONE when none is near: "did you mean". */
struct span span_nearest(struct span word, const struct span *candidates, size_t count);

#endif
