/*
 * Tasks that end soon after they were started, and what is done about it: they are started again at once, and then later
 * each time.
 *
 * Elsewhere another clock says when a task was made; it differs from ours by no more than signatures allow. So moments are
 * only compared with that much room.
 */
#include "aws/sigv4.h"
#include "daemon/crew.h"

static bool is_elsewhere(const struct crew_member *member)
{
	return member->place.data[0] != ':';
}

const struct state_task *crew_find_crash(const struct crew *crew, const struct crew_sight *sight,
	const struct crew_member *member, const struct environment_placement_facts *placement)
{
	int64_t room_ms = is_elsewhere(member) ? SIGV4_SKEW_MS : 0;
	const struct state_task *last;

	if (placement->intent != ENVIRONMENT_INTENT_start)
		return NULL;
	last = state_last_stopped(sight->state, member->place, member->id, crew->group,
		sight->arena);
	if (!last || !span_equal(last->started_by, placement->deployment))
		return NULL;
	if (member->started ? member->started != span_hash(last->arn)
			    : last->created_ms + room_ms < placement->intent_ms)
		return NULL;
	if (last->started_ms > 0 && last->stopped_ms - last->started_ms >= CREW_SETTLED_MS)
		return NULL;
	return last;
}

int64_t crew_crash_backoff_ms(const struct state_task *crash,
	const struct environment_placement_facts *placement)
{
	int64_t delay_ms = CREW_BACKOFF_FIRST_MS;

	if (!crash || placement->failures == 0)
		return 0;
	for (int64_t i = 1; i < placement->failures && delay_ms < CREW_BACKOFF_MOST_MS; i++)
		delay_ms *= 2;
	return crash->since_ms +
	       (delay_ms < CREW_BACKOFF_MOST_MS ? delay_ms : CREW_BACKOFF_MOST_MS);
}

int64_t crew_failures(const struct crew *crew, const struct crew_sight *sight,
	const struct crew_member *member)
{
	const struct store_object *object = crew_placement(crew, sight, member);
	const struct environment_placement_facts *placement =
		object ? environment_placement_facts(object) : NULL;

	if (!placement)
		return 0;
	if (crew_find_crash(crew, sight, member, placement))
		return placement->failures + 1;
	return placement->until_ms > 0 ? placement->failures : 0;
}
