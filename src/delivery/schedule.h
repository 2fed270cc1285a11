/*
 * Due times of schedules as EventBridge writes them, in UTC. Pure: nothing here reads a clock.
 *
 *   rate(5 minutes)               minute(s), hour(s), day(s); counted from an anchor
 *   cron(0 10 * * ? *)            minutes hours day-of-month month day-of-week year
 *
 *   minutes        0-59              , - * /
 *   hours          0-23              , - * /
 *   day-of-month   1-31              , - * ? / L W    L the last day, 15W the weekday nearest to the 15th of that
 *                                                     month, LW its last weekday
 *   month          1-12, JAN-DEC     , - * /
 *   day-of-week    1-7, SUN-SAT      , - * ? / L #    L Saturday, 6L the last Friday, 3#2 the second Tuesday
 *   year           1970-2199         , - * /
 *
 * Exactly one of day-of-month and day-of-week is "?".
 */
#ifndef DELIVERY_SCHEDULE_H
#define DELIVERY_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/span.h"

#define SCHEDULE_YEAR_FIRST 1970
#define SCHEDULE_YEAR_LAST 2199
#define SCHEDULE_TEXT_MAX 256
#define SCHEDULE_RATE_MAX 1000000 /* of its unit */
#define SCHEDULE_WEEKS 5          /* of a month, as # counts them */

struct schedule {
	int64_t period_s; /* of a rate; 0: it is a cron */
	uint64_t minutes;
	uint32_t hours;
	bool by_weekday;          /* day-of-month is "?" */
	uint32_t days;            /* bit n: day n */
	uint32_t nearest;         /* bit n: the weekday nearest to day n */
	bool last_day, last_work; /* "L", "LW" */
	uint16_t months;          /* bit n: month n */
	uint8_t weekdays;         /* bit n: 1 is Sunday */
	uint8_t last_weekdays;    /* the last such day of a month */
	uint8_t nth[SCHEDULE_WEEKS + 1];
	uint64_t years[(SCHEDULE_YEAR_LAST - SCHEDULE_YEAR_FIRST) / 64 + 1];
};

/* -EINVAL: err names the part that is wrong, and why. */
int schedule_parse(struct span text, struct schedule *ret_schedule, struct err *err);

/* The first due time after `after_ms`, or -1: there is none. Both since 1970. A rate is due at the anchor plus whole
 * periods, first one period behind it; a cron does not look at the anchor. */
int64_t schedule_next(const struct schedule *schedule, int64_t after_ms, int64_t anchor_ms);

#endif
