/*
 * Moments as Go's time package has them: reading and writing by layouts such as "2006-01-02", zones,
 * durations. The local zone is UTC.
 */
#ifndef CHART_TIME_H
#define CHART_TIME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/span.h"

#define TIME_NAME_MAX 16

struct zone_time {
	int64_t seconds; /* since 1970, UTC */
	int32_t nanoseconds;
	int32_t offset; /* seconds east of UTC */
	char zone[TIME_NAME_MAX];
};

struct civil_time {
	int64_t year;
	int month, day, hour, minute, second, weekday, year_day; /* month 1…12, weekday 0 Sunday */
};

struct zone_time time_in_utc(int64_t seconds, int32_t nanoseconds);
struct civil_time time_civil(const struct zone_time *time);
/* Seconds since 1970 of a UTC date; parts may be out of range and carry over. */
int64_t time_from_civil(int64_t year, int64_t month, int64_t day, int64_t hour, int64_t minute,
	int64_t second);

/* Moves a moment into a zone of the system's database; false if there is none of that name. */
bool time_move_to_zone(struct zone_time *time, struct span zone);

void time_format(const struct zone_time *time, struct span layout, struct buffer *out);
/* False if the text does not fit the layout. */
bool time_parse(struct span layout, struct span text, struct zone_time *ret_time);

/* "1h30m", in nanoseconds. */
bool duration_parse(struct span text, int64_t *ret_nanoseconds);
void duration_format(int64_t nanoseconds, struct buffer *out);

#endif
