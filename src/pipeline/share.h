/*
 * Shares of traffic by names. Cloud Map gives every registered task the same weight, so the share of the canary is the
 * ratio of registered tasks; this chooses how many tasks of each variant are registered.
 */
#ifndef PIPELINE_SHARE_H
#define PIPELINE_SHARE_H

#include <stdint.h>

struct share {
	int64_t primary, canary; /* tasks that are registered */
};

/*
 * The nearest share to percent for the canary, then the one with most tasks. primary, canary: healthy tasks of each
 * variant. At least one task of each is registered for 0 < percent < 100, and at least `desired` in sum, as far as there
 * are that many. 0 registers no canary and 100 no primary.
 */
struct share share_choose(int64_t primary, int64_t canary, int64_t desired, int64_t percent);

/* In percent; 0 for no tasks at all. */
double share_percent(struct share share);

/* Tasks of a variant at that scale, as ECS computes them: rounded up. */
int64_t share_scaled(int64_t desired, int64_t scale);

#endif
