/*
 * The number of tasks of each version of a group, like Kubernetes' Deployments: each version has
 * its own desired number. The newest is raised as far as the surge allows, older ones are lowered
 * as far as enough are ready and have settled, unready ones first. A change of `desired` during a
 * rollout is shared out among the versions in proportion.
 */
#include <inttypes.h>

#include "runtime/simulated/world.h"

/* Steps of one pass; each changes a number, and there are no more than this. */
#define STEPS_MAX 1000

void simulated_group_bounds(int64_t desired, int64_t minimum_healthy, int64_t maximum,
	int64_t *ret_least_ready, int64_t *ret_most)
{
	int64_t least_ready = (desired * minimum_healthy + 99) / 100;
	int64_t most = desired * maximum / 100;

	if (least_ready > desired)
		least_ready = desired;
	if (most < desired)
		most = desired;
	if (least_ready == desired && most == desired && desired > 0)
		most++;
	*ret_least_ready = least_ready;
	*ret_most = most;
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* ---- the tasks of a version ---- */

/* The lower, the earlier it is removed. */
static int worth(const struct simulated_task *task)
{
	if (task->phase == RUNTIME_STOPPED)
		return 0;
	if (!task->instance)
		return 1;
	if (task->phase == RUNTIME_PENDING)
		return 2;
	if (!simulated_task_is_ready(task))
		return 3;
	return simulated_task_is_available(task) ? 5 : 4;
}

static struct simulated_task *least_worthy(const struct simulated_version *version)
{
	struct simulated_task *found = version->replicas;

	for (struct simulated_task *task = found; task; task = task->next_replica)
		if (worth(task) < worth(found))
			found = task;
	return found;
}

static void start_and_stop(struct simulated_version *version)
{
	int64_t current, ready, available;

	simulated_version_count(version, &current, &ready, &available);
	for (; current < version->desired; current++)
		simulated_version_start_task(version, NULL);
	for (; current > version->desired; current--)
		simulated_version_stop_task(version->desired ? least_worthy(version)
							     : version->replicas,
			SPAN("Its group wants fewer of its version"));
}

static void scale(struct simulated_version *version, int64_t desired)
{
	struct simulated_group *group = version->group;

	if (version->desired == desired)
		return;
	runner_trace(group->world->runner, "group %s: version %s from %" PRId64 " to %" PRId64,
		group->id.data, version->name.data, version->desired, desired);
	simulated_group_event(group, false,
		"ScalingReplicaSet: Scaled %s replica set %s to %" PRId64,
		desired > version->desired ? "up" : "down", version->name.data, desired);
	version->desired = desired;
	start_and_stop(version);
}

/* ---- the versions of a group ---- */

struct sums {
	int64_t desired, available;
	int64_t newest_available;
};

static struct sums add_up(const struct simulated_group *group)
{
	struct sums sums = {0};

	for (const struct simulated_version *version = group->versions; version;
		version = version->next) {
		int64_t current, ready, available;

		simulated_version_count(version, &current, &ready, &available);
		sums.desired += version->desired;
		sums.available += available;
		if (version == group->versions)
			sums.newest_available = available;
	}
	return sums;
}

/* The oldest with a desired number above 0, if it is not the newest. */
static struct simulated_version *oldest(const struct simulated_group *group)
{
	struct simulated_version *found = NULL;

	for (struct simulated_version *version = group->versions->next; version;
		version = version->next)
		if (version->desired > 0)
			found = version;
	return found;
}

static struct simulated_version *oldest_with_unavailable(const struct simulated_group *group,
	int64_t *ret_unavailable)
{
	struct simulated_version *found = NULL;

	for (struct simulated_version *version = group->versions->next; version;
		version = version->next) {
		int64_t current, ready, available;

		simulated_version_count(version, &current, &ready, &available);
		if (version->desired <= available)
			continue;
		found = version;
		*ret_unavailable = version->desired - available;
	}
	return found;
}

static bool scale_newest(struct simulated_group *group, const struct sums *sums, int64_t most)
{
	struct simulated_version *newest = group->versions;
	int64_t desired = group->desired.desired;

	if (newest->desired == desired)
		return false;
	if (newest->desired < desired) {
		if (sums->desired >= most)
			return false;
		desired = newest->desired + least(most - sums->desired, desired - newest->desired);
	}
	scale(newest, desired);
	return true;
}

static bool scale_older(struct simulated_group *group, const struct sums *sums, int64_t least_ready)
{
	struct simulated_version *newest = group->versions, *version;
	/* New tasks that have not settled yet must not make room for more. */
	int64_t spare = sums->desired - least_ready - (newest->desired - sums->newest_available);
	int64_t unavailable;

	if (spare <= 0)
		return false;
	version = oldest_with_unavailable(group, &unavailable);
	if (version) {
		scale(version, version->desired - least(spare, unavailable));
		return true;
	}
	spare = sums->available - least_ready;
	version = oldest(group);
	if (spare <= 0 || !version)
		return false;
	scale(version, version->desired - least(spare, version->desired));
	return true;
}

/* ---- scaling during a rollout ---- */

static int64_t share(int64_t of, int64_t allowed, int64_t all)
{
	return (2 * of * allowed + all) / (2 * all) - of; /* rounded */
}

static void scale_in_proportion(struct simulated_group *group, const struct sums *sums,
	int64_t most)
{
	int64_t allowed = group->desired.desired > 0 ? most : 0, rest = allowed - sums->desired;

	for (struct simulated_version *version = group->versions; version && rest;
		version = version->next) {
		int64_t change = share(version->desired, allowed, sums->desired);

		if (rest > 0)
			change = change < 0 ? 0 : least(change, rest);
		else
			change = change > 0 ? 0 : -least(-change, -rest);
		rest -= change;
		scale(version, version->desired + change);
	}
	for (struct simulated_version *version = group->versions; version && rest < 0;
		version = version->next) {
		int64_t change = least(version->desired, -rest);

		rest += change;
		scale(version, version->desired - change);
	}
}

void simulated_replicas_step(struct simulated_group *group)
{
	const struct simulated_desired *desired = &group->desired;
	struct sums sums = add_up(group);
	int64_t least_ready, most;

	simulated_group_bounds(desired->desired, desired->minimum_healthy, desired->maximum,
		&least_ready, &most);
	if (desired->desired != group->scaled_to && oldest(group))
		scale_in_proportion(group, &sums, most);
	group->scaled_to = desired->desired;
	for (struct simulated_version *version = group->versions; version; version = version->next)
		start_and_stop(version);
	for (unsigned step = 0; step < STEPS_MAX; step++) {
		bool changed;

		sums = add_up(group);
		changed = scale_newest(group, &sums, most);
		if (changed)
			sums = add_up(group);
		if (!scale_older(group, &sums, least_ready) && !changed)
			return;
	}
}
