/*
 * Values that are one word of text where a protocol has no types of its own (query, XML), and the
 * JSON that handlers know: numbers, booleans, times, strings.
 */
#ifndef AWS_SHAPE_SCALAR_H
#define AWS_SHAPE_SCALAR_H

#include "aws/shape.h"

bool shape_is_scalar(const struct shape *shape);

/* Fills *value, which keeps pointing into text for strings. NULL, or what was expected: "an integer".
 * Times are ISO 8601 ("2026-11-16T12:00:00Z", with a fraction or an offset) or seconds. */
const char *shape_scalar_read(const struct shape *shape, struct span text, struct arena *arena,
	struct json *value);

/* The text of a value, in *scratch if it must be made. SPAN_NONE if the value is no scalar. */
struct span shape_scalar_text(const struct shape *shape, const struct json *value,
	struct buffer *scratch);

#endif
