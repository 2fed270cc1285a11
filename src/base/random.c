/* The kernel's randomness, and xoshiro256** (Blackman and Vigna) seeded through splitmix64. */
#include "base/random.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static void system_fill(struct random *random, void *out, size_t size)
{
	char *at = out;

	(void)random;
	while (size > 0) {
		ssize_t got = getrandom(at, size, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			/* Keys from bad randomness are worse than no server. */
			perror("slipway: the kernel gives no random numbers");
			abort();
		}
		at += got;
		size -= (size_t)got;
	}
}

struct random *random_system(void)
{
	static struct random system_random = {system_fill};

	return &system_random;
}

static uint64_t rotate_left(uint64_t value, int bits)
{
	return (value << bits) | (value >> (64 - bits));
}

static uint64_t seeded_next(struct random_seeded *seeded)
{
	uint64_t *state = seeded->state;
	uint64_t result = rotate_left(state[1] * 5, 7) * 9;
	uint64_t shifted = state[1] << 17;

	state[2] ^= state[0];
	state[3] ^= state[1];
	state[1] ^= state[2];
	state[0] ^= state[3];
	state[2] ^= shifted;
	state[3] = rotate_left(state[3], 45);
	return result;
}

static void seeded_fill(struct random *random, void *out, size_t size)
{
	struct random_seeded *seeded = (struct random_seeded *)random;
	char *at = out;

	while (size > 0) {
		uint64_t word = seeded_next(seeded);
		size_t part = size < sizeof(word) ? size : sizeof(word);

		memcpy(at, &word, part);
		at += part;
		size -= part;
	}
}

void random_seeded_init(struct random_seeded *seeded, uint64_t seed)
{
	seeded->random.fill = seeded_fill;
	for (size_t i = 0; i < 4; i++) {
		uint64_t word = seed += 0x9E3779B97F4A7C15u;

		word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9u;
		word = (word ^ (word >> 27)) * 0x94D049BB133111EBu;
		seeded->state[i] = word ^ (word >> 31);
	}
}

uint64_t random_u64(struct random *random)
{
	uint64_t value;

	random->fill(random, &value, sizeof(value));
	return value;
}

uint64_t random_below(struct random *random, uint64_t limit)
{
	/* The lowest 2^64 mod limit values would make the small results likelier: drawn again. */
	uint64_t biased = (0 - limit) % limit;
	uint64_t value;

	do {
		value = random_u64(random);
	} while (value < biased);
	return value % limit;
}

double random_unit(struct random *random)
{
	return (double)(random_u64(random) >> 11) * 0x1.0p-53;
}
