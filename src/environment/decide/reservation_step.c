/* See the header. */
#include "environment/decide/reservation_step.h"

struct reservation_step reservation_decide(const struct reservation_input *input)
{
	struct span recorded = input->facts->reserved;
	struct reservation_step step = {.type = RESERVATION_STEP_NONE,
		.wanted = environment_wanted_reservation(input->arena, input->environment,
			input->facts, input->target)};

	if (!span_equal(recorded, step.wanted))
		step.type =
			recorded.length > 0 ? RESERVATION_STEP_RELEASE : RESERVATION_STEP_RECORD;
	else if (recorded.length > 0 && !span_equal(input->put, input->target->id))
		step.type = RESERVATION_STEP_PUT;
	return step;
}
