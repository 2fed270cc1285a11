/*
 * Token buckets, one per account, in a table of fixed size. An account that has not been seen for
 * long gives up its place; when it comes back its bucket is full, as it would be by then.
 */
#ifndef AWS_THROTTLE_H
#define AWS_THROTTLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

struct aws_throttle;

/* Room for a second's worth of calls, at least one. */
struct aws_throttle *aws_throttle_new(double calls_per_second);
void aws_throttle_free(struct aws_throttle *throttle); /* NULL is fine */
/* Takes a token; false if there is none. From any thread. */
bool aws_throttle_take(struct aws_throttle *throttle, struct span account, int64_t now_us);

#endif
