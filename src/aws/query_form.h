/*
 * A form as the AWS query protocol sends it, in the body (application/x-www-form-urlencoded) or after
 * the '?' of a URL: Action=…&Version=…&Tags.member.1.Key=….
 *
 * Invariant: pairs are in the order of their keys, compared segment by segment between the dots, with
 * numbers in the order of their values and before words. So all keys below one prefix are neighbours,
 * and the items of a list come as they are numbered. No key comes twice.
 */
#ifndef AWS_QUERY_FORM_H
#define AWS_QUERY_FORM_H

#include <stddef.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/err.h"
#include "base/span.h"

#define QUERY_FORM_MAX (1024 * 1024)
#define QUERY_PAIRS_MAX 8192
#define QUERY_KEY_MAX 512
#define QUERY_SEGMENTS_MAX 32 /* of a key, between its dots */

struct query_pair {
	struct span key;
	struct span value;
};

struct query_form {
	const struct query_pair *pairs;
	size_t count;
};

/* Decoded copies, in the arena. code: -EINVAL bad text, -E2BIG a limit or the arena's cap is passed. */
int query_form_read(struct span text, struct arena *arena, struct query_form *ret_form,
	struct err *err);
/* As query_form_read, but as they came: in no order, and a key may come again. */
int query_form_read_pairs(struct span text, struct arena *arena, struct query_form *ret_form,
	struct err *err);
/* A segment of a path: %XX is decoded, and '+' stands for itself. */
int query_form_decode_segment(struct span text, struct arena *arena, struct span *ret_decoded,
	struct err *err);
/* SPAN_NONE when there is no such key. */
struct span query_form_get(const struct query_form *form, const char *key);

/* Up to the next dot or the end of the key. */
struct span query_form_segment(struct span key, size_t start);

/* Letters, digits and "-_.~" as they are, all else as %XX. */
void query_form_encode(struct span text, struct buffer *out);

#endif
