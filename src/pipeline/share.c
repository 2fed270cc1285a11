/* See the header. For each number of primaries the best canaries are beside the exact solution, so a choice takes time
 * in proportion to the tasks. */
#include "pipeline/share.h"

#include <stdbool.h>

#define WHOLE 100

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
	return value < low ? low : value > high ? high : value;
}

static int64_t distance(struct share share, int64_t percent)
{
	int64_t difference = WHOLE * share.canary - percent * (share.primary + share.canary);

	return difference < 0 ? -difference : difference;
}

/* Compares errors as fractions: distance / sum. */
static bool is_better(struct share a, struct share b, int64_t percent)
{
	int64_t sum_a = a.primary + a.canary, sum_b = b.primary + b.canary;
	int64_t error_a = distance(a, percent) * sum_b, error_b = distance(b, percent) * sum_a;

	return error_a != error_b ? error_a < error_b : sum_a > sum_b;
}

struct share share_choose(int64_t primary, int64_t canary, int64_t desired, int64_t percent)
{
	struct share best = {0, 0};
	int64_t least;

	/* Traffic never goes to a variant without healthy tasks. */
	if (percent <= 0 || canary == 0)
		return (struct share){primary, 0};
	if (percent >= WHOLE || primary == 0)
		return (struct share){0, canary};
	least = primary + canary < desired ? primary + canary : desired;
	for (int64_t p = 1; p <= primary; p++) {
		int64_t low = least - p < 1 ? 1 : least - p;
		int64_t exact = p * percent / (WHOLE - percent);

		if (low > canary)
			continue;
		for (int64_t c = exact; c <= exact + 1; c++) {
			struct share share = {p, clamp(c, low, canary)};

			if (best.canary == 0 || is_better(share, best, percent))
				best = share;
		}
	}
	return best;
}

double share_percent(struct share share)
{
	int64_t sum = share.primary + share.canary;

	return sum == 0 ? 0 : (double)(WHOLE * share.canary) / (double)sum;
}

int64_t share_scaled(int64_t desired, int64_t scale)
{
	return (desired * scale + WHOLE - 1) / WHOLE;
}
