/*
 * Schedules of Cron environments.
 *
 * Checked for every input, beside what the sanitizers see: what is refused says why; what is taken is due behind the
 * moment that it was asked for, at whole minutes if it is a cron, and nothing is due in between: asked a little before
 * a due time it says that time again.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "delivery/schedule.h"

#define REQUIRE(condition)                                                                         \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "not so: %s (line %d)\n", #condition, __LINE__);           \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

#define MINUTE_MS 60000
#define TIMES 5

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct schedule schedule;
	struct err err = {0};
	int64_t at = INT64_C(1795000000000);

	if (schedule_parse((struct span){(const char *)data, size}, &schedule, &err) < 0) {
		REQUIRE(err.message[0]);
		return 0;
	}
	for (int i = 0; i < TIMES; i++) {
		int64_t next = schedule_next(&schedule, at, 0);

		if (next < 0)
			break;
		REQUIRE(next > at);
		REQUIRE(next % MINUTE_MS == 0);
		REQUIRE(schedule_next(&schedule, next - 1, 0) == next);
		REQUIRE(schedule_next(&schedule, at + (next - at) / 2, 0) == next);
		at = next;
	}
	return 0;
}
