/* base64 and base32 as Go decodes them. */
#ifndef CHART_ENCODING_H
#define CHART_ENCODING_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/span.h"

struct span encoding_base32(struct arena *arena, struct span bytes);
/* False for bad text; *ret_bad is the offset of the first byte that does not fit. */
bool encoding_decode(struct arena *arena, struct span text, bool base32, struct span *ret_bytes,
	size_t *ret_bad);

#endif
