/* See the header. */
#include "environment/decide/reconcile_input.h"

int64_t recorded_moment(struct recorded_moment *moment, const struct reconcile_input *input,
	int64_t written_ms, int64_t most_ahead_ms)
{
	int64_t ahead_ms = written_ms - input->now_ms;

	if (moment->written_ms != written_ms)
		*moment = (struct recorded_moment){written_ms,
			input->steady_ms + (ahead_ms < most_ahead_ms ? ahead_ms : most_ahead_ms)};
	return moment->steady_ms;
}
