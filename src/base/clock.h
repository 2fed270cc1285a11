/*
 * The seam for time. Production uses clock_system(); simulation hands out a clock of its own. Wall
 * time is what people and APIs see; steady time is for durations and never goes back.
 * Milliseconds since 1970 and microseconds since some start, respectively.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

struct clock {
	int64_t (*wall_ms)(struct clock *clock);
	int64_t (*steady_us)(struct clock *clock);
};

struct clock *clock_system(void);

/* A time by both clocks. Waits use the steady clock, because the other can be set at any time. */
struct moment {
	int64_t wall_ms, steady_ms;
};

static inline int64_t clock_wall_ms(struct clock *clock)
{
	return clock->wall_ms(clock);
}

static inline int64_t clock_steady_us(struct clock *clock)
{
	return clock->steady_us(clock);
}

/* A clock for tests that advances only on request. */
struct clock_manual {
	struct clock clock;
	int64_t wall_now_ms;
	int64_t steady_now_us;
};
void clock_manual_init(struct clock_manual *manual, int64_t wall_ms);
void clock_manual_advance_ms(struct clock_manual *manual, int64_t milliseconds);

#define CLOCK_ISO_SIZE 32
/* "2026-11-16T12:00:00.123Z" */
void clock_format_iso(int64_t wall_ms, char out[CLOCK_ISO_SIZE]);
/* "20261116T120000Z", as SigV4 writes it. */
void clock_format_basic(int64_t wall_ms, char out[CLOCK_ISO_SIZE]);
/* Parses the basic form only; returns -1 if it is not one. */
int64_t clock_parse_basic(const char *text, size_t length);

#endif
