/* The parts of a time layout: "2006" is the year, "Jan" the month, and so on. */
#ifndef CHART_LAYOUT_H
#define CHART_LAYOUT_H

#include "base/span.h"

enum layout_part {
	LAYOUT_END,
	LAYOUT_LONG_MONTH,
	LAYOUT_MONTH,
	LAYOUT_NUMBER_MONTH,
	LAYOUT_ZERO_MONTH,
	LAYOUT_LONG_WEEKDAY,
	LAYOUT_WEEKDAY,
	LAYOUT_DAY,
	LAYOUT_UNDER_DAY,
	LAYOUT_ZERO_DAY,
	LAYOUT_UNDER_YEAR_DAY,
	LAYOUT_ZERO_YEAR_DAY,
	LAYOUT_HOUR,
	LAYOUT_HOUR_12,
	LAYOUT_ZERO_HOUR_12,
	LAYOUT_MINUTE,
	LAYOUT_ZERO_MINUTE,
	LAYOUT_SECOND,
	LAYOUT_ZERO_SECOND,
	LAYOUT_LONG_YEAR,
	LAYOUT_YEAR,
	LAYOUT_PM,
	LAYOUT_LOWER_PM,
	LAYOUT_ZONE_NAME,
	LAYOUT_OFFSET,   /* any of -0700, Z07:00 … */
	LAYOUT_FRACTION, /* .000 or .999, also with a comma */
};

struct layout_token {
	enum layout_part part;
	struct span before; /* text to take as it is */
	struct span text;   /* the part as written */
};

/* Cuts the next part off a layout. */
struct layout_token layout_next(struct span *layout);

#endif
