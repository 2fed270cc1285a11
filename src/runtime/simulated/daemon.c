/*
 * One task on each instance that takes new ones, like Kubernetes' DaemonSets: an instance gets its
 * next task when the last one has stopped. An older version is replaced first where it is not
 * ready, and on other instances as long as enough are ready; at least one may be unavailable.
 */
#include "runtime/simulated/world.h"

/* The group's tasks on an instance. */
struct seat {
	struct simulated_task *task; /* that counts */
	bool is_taken;               /* a task of the group has not stopped there */
};

static bool is_wanted_on(const struct simulated_instance *instance)
{
	return !instance->dead && !instance->cordoned;
}

static int64_t count_wanted(const struct simulated_world *world)
{
	int64_t wanted = 0;

	MAP_EACH (&world->instances, entry)
		wanted += is_wanted_on(entry->value);
	return wanted;
}

/* Stops tasks on instances without a desired one, and fills the seats. */
static void take_seats(struct simulated_group *group, struct seat *seats)
{
	for (struct simulated_version *version = group->versions; version;
		version = version->next) {
		struct simulated_task *next;

		for (struct simulated_task *task = version->replicas; task; task = next) {
			next = task->next_replica;
			if (is_wanted_on(task->instance) && !seats[task->instance->index].task)
				seats[task->instance->index].task = task;
			else
				simulated_version_stop_task(task,
					SPAN("No task is wanted on this instance"));
		}
	}
}

static bool has_any_of(const struct simulated_group *group,
	const struct simulated_instance *instance)
{
	for (const struct simulated_task *task = instance->tasks; task; task = task->next)
		if (task->version && task->version->group == group)
			return true;
	return false;
}

static int64_t count_ready(const struct seat *seats, size_t count)
{
	int64_t ready = 0;

	for (size_t i = 0; i < count; i++)
		ready += seats[i].task && simulated_task_is_available(seats[i].task);
	return ready;
}

void simulated_daemon_step(struct simulated_group *group)
{
	struct simulated_world *world = group->world;
	struct simulated_version *newest = group->versions;
	_free_ struct seat *seats = memory_allocate(world->instances.count * sizeof(*seats));
	int64_t wanted = count_wanted(world), least_ready, most, spare;

	simulated_group_bounds(wanted, group->desired.minimum_healthy, 100, &least_ready, &most);
	if (least_ready == wanted)
		least_ready--;
	for (struct simulated_version *version = newest; version; version = version->next)
		version->desired = 0;
	newest->desired = wanted;
	take_seats(group, seats);
	spare = count_ready(seats, world->instances.count) - least_ready;
	MAP_EACH (&world->instances, entry) {
		struct simulated_instance *instance = entry->value;
		struct simulated_task *task = seats[instance->index].task;

		if (!is_wanted_on(instance))
			continue;
		if (!task && !has_any_of(group, instance)) {
			simulated_version_start_task(newest, instance);
			continue;
		}
		if (!task || task->version == newest)
			continue;
		if (simulated_task_is_available(task) && spare-- <= 0)
			continue;
		simulated_version_stop_task(task, SPAN("A newer version takes its place"));
	}
}
