/* Delays that double with each failure in a row, up to a limit. */
#ifndef DELIVERY_BACKOFF_H
#define DELIVERY_BACKOFF_H

#include <stdint.h>

struct backoff {
	int64_t first_ms; /* after the first failure */
	int64_t most_ms;
};

/* The delay after this many failures in a row; 0 for none. */
static inline int64_t backoff_ms(struct backoff backoff, int64_t failures)
{
	int64_t delay_ms = backoff.first_ms;

	for (int64_t i = 1; i < failures && delay_ms < backoff.most_ms; i++)
		delay_ms *= 2;
	if (failures <= 0)
		return 0;
	return delay_ms < backoff.most_ms ? delay_ms : backoff.most_ms;
}

#endif
