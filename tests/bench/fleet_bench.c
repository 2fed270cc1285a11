/*
 * The cost of the planner of daemon environments by the size of the fleet: adding every instance and
 * taking the whole first plan; and one event in a running fleet: a task dies, the planner asks for its
 * replacement, and the replacement becomes healthy. The baseline is the planner that reads
 * every instance each time (rollout/instances.h).
 */
#include <stdio.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/memory.h"
#include "rollout/fleet.h"
#include "rollout/instances.h"

#define EVENTS 100000
#define ROUNDS 5
#define BATCH 256

static const uint32_t sizes[] = {1000, 10000, 100000};

static const struct fleet_rules rules = {
	.mode = FLEET_ROLLS,
	.minimum_requested = true,
	.minimum_healthy_percent = 90,
};

static double now_us(void)
{
	return (double)clock_steady_us(clock_system());
}

static size_t take_all(struct fleet *fleet)
{
	struct fleet_action actions[BATCH];
	size_t built, all = 0;

	while ((built = fleet_next(fleet, actions, BATCH)) > 0)
		all += built;
	return all;
}

/* All instances, and the first plan for them; in milliseconds. */
static double first_plan(uint32_t size, struct fleet **ret_fleet)
{
	struct fleet_instance empty = {.matches = true};
	double begin = now_us();
	struct fleet *fleet = fleet_new();

	fleet_configure(fleet, &rules);
	for (uint32_t i = 0; i < size; i++)
		fleet_set(fleet, fleet_add(fleet), &empty);
	if (take_all(fleet) != size)
		fprintf(stderr, "not all of %u are started\n", size);
	*ret_fleet = fleet;
	return (now_us() - begin) / 1e3;
}

/* A new version for a running fleet: all instances again, and the first batch; in milliseconds. */
static double next_version(struct fleet *fleet, uint32_t size)
{
	struct fleet_instance old = {
		.matches = true,
		.assigned = FLEET_ASSIGNED_OLD,
		.tasks[FLEET_OLD][ROLLOUT_HEALTHY] = 1,
	};
	double begin = now_us();

	for (uint32_t i = 0; i < size; i++)
		fleet_set(fleet, i, &old);
	if (take_all(fleet) != size / 10)
		fprintf(stderr, "not a tenth of %u is replaced\n", size);
	return (now_us() - begin) / 1e3;
}

/* In nanoseconds for one that dies, starts and runs. */
static double one_event(struct fleet *fleet, uint32_t size)
{
	struct fleet_instance runs = {
		.matches = true,
		.assigned = FLEET_ASSIGNED_TARGET,
		.tasks[FLEET_TARGET][ROLLOUT_HEALTHY] = 1,
	};
	struct fleet_instance empty = {.matches = true, .assigned = FLEET_ASSIGNED_TARGET};
	struct fleet_action action;
	double begin;

	for (uint32_t i = 0; i < size; i++)
		fleet_set(fleet, i, &runs);
	begin = now_us();
	for (uint32_t i = 0; i < EVENTS; i++) {
		uint32_t index = i * 2654435761u % size;

		fleet_set(fleet, index, &empty);
		if (fleet_next(fleet, &action, 1) != 1 || action.instance != index)
			fprintf(stderr, "%u is not started\n", index);
		fleet_set(fleet, index, &runs);
	}
	return (now_us() - begin) * 1e3 / EVENTS;
}

/* The same event for the planner that looks at all. */
static double inspect_all_once(uint32_t size)
{
	struct rollout_instance *all = memory_allocate_array(size, sizeof(*all));
	struct rollout_instances instances = {all, size, 90, 100};
	struct rollout_instance_plan plan;
	struct arena *arena = arena_new(0);
	double begin;

	for (uint32_t i = 0; i < size; i++)
		all[i] = (struct rollout_instance){
			.matches = true, .tasks[ROLLOUT_CURRENT][ROLLOUT_HEALTHY] = i > 0};
	begin = now_us();
	for (unsigned i = 0; i < ROUNDS; i++) {
		arena_reset(arena);
		rollout_plan_instances(&instances, arena, &plan);
	}
	arena_free(arena);
	free(all);
	return (now_us() - begin) * 1e3 / ROUNDS;
}

static double least(double a, double b)
{
	return a < b ? a : b;
}

int main(void)
{
	printf("%10s %14s %16s %12s %18s\n", "instances", "first plan ms", "next version ms",
		"event ns", "look at all ns");
	for (size_t i = 0; i < LENGTH(sizes); i++) {
		double first = 1e18, next = 1e18, event = 1e18;

		for (unsigned round = 0; round < ROUNDS; round++) {
			struct fleet *fleet;

			first = least(first, first_plan(sizes[i], &fleet));
			next = least(next, next_version(fleet, sizes[i]));
			event = least(event, one_event(fleet, sizes[i]));
			fleet_free(fleet);
		}
		printf("%10u %14.2f %16.2f %12.0f %18.0f\n", sizes[i], first, next, event,
			inspect_all_once(sizes[i]));
	}
	return 0;
}
