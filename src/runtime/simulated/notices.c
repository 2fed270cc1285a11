/*
 * Notices to servers: lists of changed tasks and groups, each in it once however often it changed,
 * so a slow receiver costs no memory.
 */
#include "runtime/simulated/world.h"

/* Timers are checked again after this many notices. */
#define NOTICES_AT_ONCE 256

bool simulated_world_has_to_report(const struct simulated_world *world)
{
	for (size_t i = 0; i < LENGTH(world->runtimes); i++)
		if (world->runtimes[i] && world->runtimes[i]->resync_due)
			return true;
	return world->changed || world->groups_changed;
}

void simulated_world_task_changed(struct simulated_world *world, struct simulated_task *task)
{
	if (task->version)
		simulated_group_touch(task->version->group);
	if (task->previous_changed)
		return;
	task->previous_changed = world->changed_end;
	task->next_changed = NULL;
	*world->changed_end = task;
	world->changed_end = &task->next_changed;
}

void simulated_world_group_changed(struct simulated_world *world, struct simulated_group *group)
{
	if (group->is_changed)
		return;
	group->is_changed = true;
	group->next_changed = NULL;
	*world->groups_changed_end = group;
	world->groups_changed_end = &group->next_changed;
}

void simulated_world_all_changed(struct simulated_world *world)
{
	for (size_t i = 0; i < LENGTH(world->runtimes); i++)
		if (world->runtimes[i])
			world->runtimes[i]->resync_due = true;
}

void simulated_runtime_resync_due(struct simulated_world *world, struct timer *timer)
{
	(void)world;
	CONTAINER_OF(timer, struct simulated_runtime, resync)->resync_due = true;
}

/* The type of runtime_changed and runtime_group_changed. */
typedef void (*notice_function)(void *context, struct span id);

/* Held again afterwards, but not while the receiver is called. */
static void report(struct simulated_world *world, struct simulated_runtime *runtime,
	notice_function notice, struct span id, unsigned times)
{
	world->delivering = runtime;
	lock_release(&world->lock);
	while (times-- > 0)
		notice(runtime->config.context, id);
	lock_take(&world->lock);
	world->delivering = NULL;
	if (runtime->closing)
		runner_signal(world->delivered);
}

/* How often this notice arrives. */
static unsigned draw_times(struct simulated_world *world, struct simulated_runtime *runtime)
{
	const struct simulated_faults *faults = &world->faults;

	if (simulated_world_chance(world, faults->notice_lost_one_in)) {
		world->counts.lost_notices++;
		if (faults->notice_resync_us && !runtime->resync.position)
			simulated_timers_set(&world->timers, &runtime->resync,
				runner_now_us(world->runner) +
					simulated_world_draw(world, faults->notice_resync_us));
		return 0;
	}
	if (simulated_world_chance(world, faults->notice_repeated_one_in)) {
		world->counts.repeated_notices++;
		return 2;
	}
	return 1;
}

static bool listens(const struct simulated_runtime *runtime, notice_function notice)
{
	return runtime && !runtime->closing && notice;
}

static void deliver_resyncs(struct simulated_world *world)
{
	for (size_t i = 0; i < LENGTH(world->runtimes); i++) {
		struct simulated_runtime *runtime = world->runtimes[i];

		if (!runtime || !runtime->resync_due)
			continue;
		runtime->resync_due = false;
		if (listens(runtime, runtime->config.changed))
			report(world, runtime, runtime->config.changed, SPAN(""), 1);
		/* It may have been closed meanwhile. */
		if (runtime != world->runtimes[i])
			continue;
		if (world->config.groups && listens(runtime, runtime->config.group_changed))
			report(world, runtime, runtime->config.group_changed, SPAN(""), 1);
	}
}

static notice_function notice_of(const struct simulated_runtime *runtime, bool of_group)
{
	if (!runtime)
		return NULL;
	return of_group ? runtime->config.group_changed : runtime->config.changed;
}

static void deliver_to_all(struct simulated_world *world, bool of_group, struct span id)
{
	for (size_t i = 0; i < LENGTH(world->runtimes); i++) {
		struct simulated_runtime *runtime = world->runtimes[i];
		notice_function notice = notice_of(runtime, of_group);
		unsigned times;

		if (!listens(runtime, notice))
			continue;
		times = draw_times(world, runtime);
		if (times)
			report(world, runtime, notice, id, times);
	}
}

static void deliver_task(struct simulated_world *world, struct simulated_task *task)
{
	char token[RUNTIME_TOKEN_MAX + 1];
	size_t length = task->token_length;

	memcpy(token, task->token, length + 1);
	world->changed = task->next_changed;
	if (world->changed)
		world->changed->previous_changed = &world->changed;
	else
		world->changed_end = &world->changed;
	task->next_changed = NULL;
	task->previous_changed = NULL;
	/* From here on the task may be gone. */
	deliver_to_all(world, false, (struct span){token, length});
}

static void deliver_group(struct simulated_world *world, struct simulated_group *group)
{
	char id[RUNTIME_GROUP_MAX + 1];
	size_t length = group->id.length;

	memcpy(id, group->id.data, length + 1);
	world->groups_changed = group->next_changed;
	if (!world->groups_changed)
		world->groups_changed_end = &world->groups_changed;
	group->next_changed = NULL;
	simulated_group_reported(group);
	deliver_to_all(world, true, (struct span){id, length});
}

void simulated_world_notify(struct simulated_world *world)
{
	deliver_resyncs(world);
	for (unsigned i = 0; world->changed && i < NOTICES_AT_ONCE; i++)
		deliver_task(world, world->changed);
	for (unsigned i = 0; world->groups_changed && i < NOTICES_AT_ONCE; i++)
		deliver_group(world, world->groups_changed);
}
