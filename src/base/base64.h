/* Base64 (RFC 4648) with padding, by OpenSSL. */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/span.h"

/* Into the arena, NUL-terminated. White space between characters is skipped, as files are folded; false for anything
 * else that is not base64. */
bool base64_decode(struct span text, struct arena *arena, struct span *ret_data);
void base64_encode(struct span data, struct buffer *out);

#endif
