/* Words in text: joined by a connector, in camel case, wrapped into lines. */
#ifndef CHART_WORDS_H
#define CHART_WORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/span.h"

/* "FirstName" and "first name" become first_name with '_'. */
void words_join(struct span text, char connector, struct buffer *out);
/* "first_name" becomes FirstName. */
void words_camel(struct span text, struct buffer *out);
/* Breaks lines at spaces so that they have at most `width` bytes; long words only if `breaks_words`. */
void words_wrap(struct span text, int64_t width, struct span separator, bool breaks_words,
	struct buffer *out);

#endif
