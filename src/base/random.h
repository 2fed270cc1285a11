/*
 * The seam for chance. random_system() draws from the kernel (keys, ids); random_seeded() is a
 * xoshiro256** stream for simulations and tests: same seed, same numbers. Not shared between threads,
 * except random_system().
 */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

struct random {
	void (*fill)(struct random *random, void *out, size_t size);
};

struct random *random_system(void); /* thread-safe */

struct random_seeded {
	struct random random;
	uint64_t state[4];
};
void random_seeded_init(struct random_seeded *seeded, uint64_t seed);

uint64_t random_u64(struct random *random);
uint64_t random_below(struct random *random, uint64_t limit); /* 0..limit-1, unbiased; limit > 0 */
double random_unit(struct random *random);                    /* [0, 1) */

#endif
