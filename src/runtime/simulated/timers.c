/* A binary heap whose members know their place in it, so that one can be taken out from the middle. */
#include "runtime/simulated/world.h"

static bool is_before(const struct timer *a, const struct timer *b)
{
	return a->at_us < b->at_us || (a->at_us == b->at_us && a->order < b->order);
}

static void put(struct timers *timers, size_t position, struct timer *timer)
{
	timers->heap[position - 1] = timer;
	timer->position = position;
}

static void sift_up(struct timers *timers, struct timer *timer)
{
	size_t position = timer->position;

	while (position > 1 && is_before(timer, timers->heap[position / 2 - 1])) {
		put(timers, position, timers->heap[position / 2 - 1]);
		position /= 2;
	}
	put(timers, position, timer);
}

static void sift_down(struct timers *timers, struct timer *timer)
{
	size_t position = timer->position;

	for (;;) {
		size_t child = position * 2;

		if (child < timers->count &&
			is_before(timers->heap[child], timers->heap[child - 1]))
			child++;
		if (child > timers->count || !is_before(timers->heap[child - 1], timer))
			break;
		put(timers, position, timers->heap[child - 1]);
		position = child;
	}
	put(timers, position, timer);
}

void simulated_timers_set(struct timers *timers, struct timer *timer, int64_t at_us)
{
	simulated_timers_unset(timers, timer);
	if (timers->count == timers->capacity) {
		timers->capacity = timers->capacity ? timers->capacity * 2 : 64;
		timers->heap =
			memory_resize(timers->heap, timers->capacity * sizeof(struct timer *));
	}
	timer->at_us = at_us;
	timer->order = ++timers->order;
	timer->position = ++timers->count;
	sift_up(timers, timer);
}

void simulated_timers_unset(struct timers *timers, struct timer *timer)
{
	struct timer *last;

	if (!timer->position)
		return;
	last = timers->heap[--timers->count];
	if (last != timer) {
		last->position = timer->position;
		sift_up(timers, last);
		sift_down(timers, last);
	}
	timer->position = 0;
}

struct timer *simulated_timers_first(const struct timers *timers)
{
	return timers->count ? timers->heap[0] : NULL;
}
