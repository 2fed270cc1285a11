/* Times of a piece of a log; see runtime.h. */
#include "base/memory.h"
#include "runtime/runtime.h"

void runtime_log_times_add(struct runtime_log_times *times, size_t at, int64_t ms)
{
	if (times->count == times->room) {
		times->room = times->room ? times->room * 2 : 16;
		times->items = memory_resize(times->items, times->room * sizeof(*times->items));
	}
	times->items[times->count++] = (struct runtime_log_time){at, ms};
}

void runtime_log_times_clear(struct runtime_log_times *times)
{
	free(times->items);
	*times = (struct runtime_log_times){0};
}
