/* See the header. */
#include "runtime/kubernetes/rolling.h"

#include <inttypes.h>

#define PERCENT 100

static int64_t at_least(int64_t value, int64_t least)
{
	return value > least ? value : least;
}

struct kubernetes_rolling kubernetes_rolling_of(int64_t desired, int64_t minimum_healthy,
	int64_t maximum)
{
	int64_t lower = (desired * minimum_healthy + PERCENT - 1) / PERCENT;
	int64_t upper = desired * maximum / PERCENT;
	struct kubernetes_rolling rolling = {
		.unavailable = at_least(desired - lower, 0),
		.surge = at_least(upper - desired, 0),
	};

	if (rolling.unavailable == 0 && rolling.surge == 0)
		rolling.surge = 1;
	return rolling;
}

struct json *kubernetes_rolling_write(struct arena *arena, struct kubernetes_rolling rolling)
{
	struct json *numbers = json_new_object(arena), *built = json_new_object(arena);

	json_set_integer(arena, numbers, "maxUnavailable", rolling.unavailable);
	json_set_integer(arena, numbers, "maxSurge", rolling.surge);
	json_set_string(arena, built, "type", SPAN("RollingUpdate"));
	json_set(arena, built, "rollingUpdate", numbers);
	return built;
}

struct json *kubernetes_rolling_write_daemon(struct arena *arena, int64_t minimum_healthy,
	int64_t nodes)
{
	struct json *numbers = json_new_object(arena), *built = json_new_object(arena);
	int64_t percent = at_least(PERCENT - minimum_healthy, 0);

	if (nodes > 0)
		json_set_integer(arena, numbers, "maxUnavailable",
			at_least(nodes * percent / PERCENT, 1));
	else if (percent > 0)
		json_set(arena, numbers, "maxUnavailable",
			json_new_format(arena, "%" PRId64 "%%", percent));
	else
		json_set_integer(arena, numbers, "maxUnavailable", 1);
	json_set_string(arena, built, "type", SPAN("RollingUpdate"));
	json_set(arena, built, "rollingUpdate", numbers);
	return built;
}
