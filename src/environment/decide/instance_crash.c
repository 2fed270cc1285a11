/*
 * Tasks that end, or have to be stopped, soon after they were started. They are started again: at once, and then after a
 * growing delay.
 *
 * The creation time of a task in a remote cluster is by another clock, which differs from ours by no more than signatures
 * allow; times are compared with that tolerance.
 */
#include "aws/sigv4.h"
#include "delivery/cluster_ref.h"
#include "environment/decide/env_instances.h"

static bool is_remote(const struct instance_entry *entry)
{
	return cluster_ref_is_remote(entry->cluster);
}

/* It is the one that was started last, and did not run for long. */
static bool has_crashed(const struct instance_entry *entry, const struct observe_task *last,
	const struct environment_placement_facts *placement)
{
	int64_t room_ms = is_remote(entry) ? SIGV4_SKEW_MS : 0;

	if (!span_equal(last->started_by, placement->deployment))
		return false;
	if (entry->started ? entry->started != span_hash(last->arn)
			   : last->created_ms + room_ms < placement->intent_ms)
		return false;
	return last->ran_ms < ENV_INSTANCES_SETTLED_MS;
}

/* It was started under this claim, is not there, and nothing says how it ended: its record is gone already, as when a clock
 * was set forward. Not long after the start that was a crash, too. */
static bool has_vanished(const struct reconcile_input *input, struct instance_entry *entry,
	const struct environment_placement_facts *placement)
{
	return entry->started && entry->is_bare &&
	       input->steady_ms -
			       recorded_moment(&entry->intended, input, placement->intent_ms, 0) <
		       ENV_INSTANCES_SETTLED_MS;
}

/* Once seen it is remembered here: of tasks that have stopped the state service keeps so many, and where thousands crash
 * all the time that is not for long. */
bool env_instances_has_crashed(const struct instances *instances,
	const struct reconcile_input *input, struct instance_entry *entry,
	const struct environment_placement_facts *placement)
{
	const struct observe_task *last;

	if (placement->intent != ENVIRONMENT_INTENT_start)
		return false;
	last = observe_last_stopped(input->state, entry->cluster, entry->id, instances->group,
		input->arena);
	if (last && has_crashed(entry, last, placement)) {
		entry->crashed_ms = last->since_ms;
		entry->crash_of_ms = placement->intent_ms;
	} else if (entry->crash_of_ms != placement->intent_ms &&
		   has_vanished(input, entry, placement) &&
		   (!last || entry->started != span_hash(last->arn))) {
		entry->crashed_ms = input->steady_ms;
		entry->crash_of_ms = placement->intent_ms;
	}
	return entry->crash_of_ms > 0 && entry->crash_of_ms == placement->intent_ms;
}

int64_t env_instances_crash_backoff_ms(const struct instances *instances,
	const struct reconcile_input *input, struct instance_entry *entry,
	const struct environment_placement_facts *placement)
{
	int64_t delay_ms = ENV_INSTANCES_BACKOFF_FIRST_MS, since_ms, failures = placement->failures;

	if (env_instances_was_unhealthy(placement)) {
		since_ms = recorded_moment(&entry->intended, input, placement->intent_ms, 0);
		failures--;
	} else if (env_instances_has_crashed(instances, input, entry, placement)) {
		since_ms = entry->crashed_ms;
	} else {
		return 0;
	}
	if (failures == 0)
		return 0;
	for (int64_t i = 1; i < failures && delay_ms < ENV_INSTANCES_BACKOFF_MOST_MS; i++)
		delay_ms *= 2;
	return since_ms + (delay_ms < ENV_INSTANCES_BACKOFF_MOST_MS
					  ? delay_ms
					  : ENV_INSTANCES_BACKOFF_MOST_MS);
}

int64_t env_instances_failures(const struct instances *instances,
	const struct reconcile_input *input, struct instance_entry *entry)
{
	const struct store_object *object = env_instances_placement(instances, input, entry);
	const struct environment_placement_facts *placement =
		object ? environment_placement_facts(object) : NULL;

	if (!placement)
		return 0;
	if (env_instances_has_crashed(instances, input, entry, placement))
		return placement->failures + 1;
	return placement->until_ms > 0 || env_instances_was_unhealthy(placement)
		       ? placement->failures
		       : 0;
}
