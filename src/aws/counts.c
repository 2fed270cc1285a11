/* A place is taken once, by exchanging its name from NULL, and never given back. */
#include "aws/counts.h"

#include <stdatomic.h>
#include <stdbool.h>

#include "base/memory.h"

#define PLACES 24 /* of a row; the last is for all others */

struct place {
	_Atomic(const char *) result;
	atomic_uint_least64_t calls;
	atomic_uint_least64_t microseconds;
};

struct aws_counts {
	size_t rows;
	struct place places[];
};

struct aws_counts *aws_counts_new(size_t rows)
{
	struct aws_counts *counts =
		memory_allocate(sizeof(*counts) + rows * PLACES * sizeof(struct place));

	counts->rows = rows;
	return counts;
}

void aws_counts_free(struct aws_counts *counts)
{
	free(counts);
}

static bool is_place_of(struct place *place, const char *result)
{
	const char *there = atomic_load_explicit(&place->result, memory_order_acquire);

	if (!there && atomic_compare_exchange_strong(&place->result, &there, result))
		return true;
	/* Now there is one: ours, or that of a faster thread. */
	return there == result || strcmp(there, result) == 0;
}

void aws_counts_add(struct aws_counts *counts, size_t row, const char *result, int64_t microseconds)
{
	struct place *place = &counts->places[row * PLACES];
	struct place *last = place + PLACES - 1;

	while (place < last && !is_place_of(place, result))
		place++;
	atomic_fetch_add_explicit(&place->calls, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&place->microseconds,
		microseconds > 0 ? (uint64_t)microseconds : 0, memory_order_relaxed);
}

void aws_counts_each(struct aws_counts *counts, size_t row,
	void (*each)(void *context, const char *result, uint64_t calls, double seconds),
	void *context)
{
	for (size_t i = 0; i < PLACES; i++) {
		struct place *place = &counts->places[row * PLACES + i];
		const char *result = atomic_load_explicit(&place->result, memory_order_acquire);
		uint64_t calls = atomic_load_explicit(&place->calls, memory_order_relaxed);

		if (calls == 0)
			continue;
		each(context, result ? result : "other", calls,
			(double)atomic_load_explicit(&place->microseconds, memory_order_relaxed) /
				1e6);
	}
}
