/*
 * The world: its instances, the thread that runs due timers, and random deaths.
 */
#include "runtime/simulated/world.h"

#include <stdarg.h>
#include <stdio.h>

#define CPU_DEFAULT ((int64_t)64 * 1024)
#define MEMORY_DEFAULT ((int64_t)256 * 1024)
#define RULE_MAX 512

const struct simulated_faults simulated_faults_rough = {
	.call_fails_one_in = 15,
	.answer_lost_one_in = 15,
	.call_late_one_in = 25,
	.call_repeated_one_in = 15,
	.read_fails_one_in = 25,
	.notice_lost_one_in = 10,
	.notice_repeated_one_in = 10,
	.slow_start_one_in = 10,
	.call_most_us = 50000,
	.late_most_us = INT64_C(20000000),
	.slow_start_most_us = INT64_C(60000000),
	.notice_resync_us = INT64_C(15000000),
	.task_dies_every_us = INT64_C(20000000),
	.instance_dies_every_us = INT64_C(120000000),
	.instance_returns_within_us = INT64_C(60000000),
	.group_deleted_every_us = INT64_C(120000000),
};

static const struct simulated_faults no_faults;

/* ---- lock, chance, time ---- */

void simulated_world_lock(struct simulated_world *world)
{
	lock_take(&world->lock);
}

void simulated_world_unlock(struct simulated_world *world)
{
	const struct timer *first = simulated_timers_first(&world->timers);
	bool wake = world->asleep_until_us != INT64_MIN &&
		    (simulated_world_has_to_report(world) ||
			    (first && first->at_us < world->asleep_until_us));

	if (wake)
		world->asleep_until_us = INT64_MIN;
	lock_release(&world->lock);
	if (wake)
		runner_signal(world->event);
}

int64_t simulated_world_draw(struct simulated_world *world, int64_t most)
{
	return most > 0 ? (int64_t)random_below(runner_random(world->runner), (uint64_t)most + 1)
			: 0;
}

bool simulated_world_chance(struct simulated_world *world, unsigned one_in)
{
	return one_in > 0 && random_below(runner_random(world->runner), one_in) == 0;
}

int64_t simulated_world_draw_moment(struct simulated_world *world,
	const struct simulated_time *time)
{
	if (time->least_ms < 0)
		return INT64_MAX;
	return runner_now_us(world->runner) + time->least_ms * 1000 +
	       simulated_world_draw(world, (time->most_ms - time->least_ms) * 1000);
}

void simulated_world_set_timer(struct simulated_world *world, struct timer *timer, int64_t at_us)
{
	if (at_us == INT64_MAX)
		simulated_timers_unset(&world->timers, timer);
	else
		simulated_timers_set(&world->timers, timer, at_us);
}

void simulated_world_broken(struct simulated_world *world, const char *format, ...)
{
	char rule[RULE_MAX];
	va_list list;

	if (!world->config.observer.broken)
		return;
	va_start(list, format);
	vsnprintf(rule, sizeof(rule), format, list);
	va_end(list);
	world->config.observer.broken(world->config.observer.context, rule);
}

/* ---- the thread ---- */

static void make_due(struct simulated_world *world)
{
	int64_t now_us = runner_now_us(world->runner);
	struct timer *first;

	while ((first = simulated_timers_first(&world->timers)) && first->at_us <= now_us) {
		simulated_timers_unset(&world->timers, first);
		first->due(world, first);
	}
}

static void run(void *context)
{
	struct simulated_world *world = context;

	while (!runner_is_stopped(world->runner)) {
		uint64_t seen = runner_event_count(world->event);
		const struct timer *first;
		int64_t until_us;

		lock_take(&world->lock);
		world->asleep_until_us = INT64_MIN;
		make_due(world);
		simulated_world_notify(world);
		first = simulated_timers_first(&world->timers);
		until_us = first ? first->at_us : RUNNER_FOREVER;
		if (simulated_world_has_to_report(world)) {
			lock_release(&world->lock);
			continue;
		}
		world->asleep_until_us = until_us;
		lock_release(&world->lock);
		if (runner_wait(world->runner, world->event, seen, until_us) == -ECANCELED)
			return;
	}
}

/* ---- instances ---- */

static struct simulated_instance *instance_of(struct simulated_world *world, struct span id)
{
	return map_get(&world->instances, id);
}

static void instance_return(struct simulated_world *world, struct simulated_instance *instance)
{
	simulated_timers_unset(&world->timers, &instance->returns);
	if (!instance->dead)
		return;
	instance->dead = false;
	runner_trace(world->runner, "instance %s is back", instance->id.data);
	simulated_groups_instances_changed(world);
	simulated_world_all_changed(world);
}

static void instance_returns(struct simulated_world *world, struct timer *timer)
{
	instance_return(world, CONTAINER_OF(timer, struct simulated_instance, returns));
}

static void instance_die(struct simulated_world *world, struct simulated_instance *instance)
{
	if (instance->dead)
		return;
	instance->dead = true;
	world->counts.instance_deaths++;
	runner_trace(world->runner, "instance %s dies", instance->id.data);
	while (instance->tasks)
		simulated_task_end(world, instance->tasks, RUNTIME_STOP_LOST, -1,
			SPAN("Its instance was lost"));
	simulated_groups_instances_changed(world);
	simulated_world_all_changed(world);
}

static void add_instance(struct simulated_world *world)
{
	struct simulated_instance *instance = memory_allocate(sizeof(*instance));
	char id[32] = "simulated";

	instance->index = (unsigned)world->instances.count;
	if (instance->index > 0)
		snprintf(id, sizeof(id), "simulated-%u", instance->index + 1);
	instance->id = span_of(memory_copy_string(id));
	instance->returns.due = instance_returns;
	map_put(&world->instances, instance->id, instance);
	simulated_groups_instances_changed(world);
	simulated_world_all_changed(world);
}

/* ---- random deaths ---- */

static void plan_death(struct simulated_world *world, struct timer *timer, int64_t every_us)
{
	simulated_timers_unset(&world->timers, timer);
	if (every_us > 0)
		simulated_timers_set(&world->timers, timer,
			runner_now_us(world->runner) + 1 +
				simulated_world_draw(world, 2 * every_us));
}

/* Any entry, or the next one that is fit. */
static void *draw_entry(struct simulated_world *world, const struct map *map,
	bool (*is_fit)(const void *value))
{
	size_t position = (size_t)simulated_world_draw(world, (int64_t)map->entry_count);

	for (unsigned round = 0; round < 2; round++, position = 0) {
		struct map_entry *entry;

		while ((entry = map_next(map, &position)))
			if (is_fit(entry->value))
				return entry->value;
	}
	return NULL;
}

static bool task_runs(const void *task)
{
	return ((const struct simulated_task *)task)->phase == RUNTIME_RUNNING;
}

static bool instance_lives(const void *instance)
{
	return !((const struct simulated_instance *)instance)->dead;
}

static void task_death_due(struct simulated_world *world, struct timer *timer)
{
	struct simulated_task *task = draw_entry(world, &world->tasks, task_runs);

	plan_death(world, timer, world->faults.task_dies_every_us);
	if (!task)
		return;
	world->counts.task_deaths++;
	simulated_task_end(world, task, RUNTIME_STOP_ESSENTIAL, 137,
		SPAN("Essential container in task exited"));
}

static void instance_death_due(struct simulated_world *world, struct timer *timer)
{
	struct simulated_instance *instance = draw_entry(world, &world->instances, instance_lives);

	plan_death(world, timer, world->faults.instance_dies_every_us);
	if (!instance)
		return;
	instance_die(world, instance);
	simulated_timers_set(&world->timers, &instance->returns,
		runner_now_us(world->runner) + 1 +
			simulated_world_draw(world, world->faults.instance_returns_within_us));
}

static bool group_stays(const void *group)
{
	return !((const struct simulated_group *)group)->ending;
}

static void delete_group(struct simulated_world *world, struct simulated_group *group)
{
	world->counts.group_deletions++;
	runner_trace(world->runner, "group %s is deleted", group->id.data);
	simulated_group_delete(group);
}

static void group_death_due(struct simulated_world *world, struct timer *timer)
{
	struct simulated_group *group = draw_entry(world, &world->groups, group_stays);

	plan_death(world, timer, world->faults.group_deleted_every_us);
	if (group)
		delete_group(world, group);
}

static void set_faults(struct simulated_world *world, const struct simulated_faults *faults)
{
	world->faults = faults ? *faults : no_faults;
	world->faulty = faults && memcmp(faults, &no_faults, sizeof(*faults)) != 0;
	if (world->faulty)
		world->remembers = true;
	plan_death(world, &world->task_death, world->faults.task_dies_every_us);
	plan_death(world, &world->instance_death, world->faults.instance_dies_every_us);
	plan_death(world, &world->group_death,
		world->config.groups ? world->faults.group_deleted_every_us : 0);
}

/* ---- calls of other folders ---- */

int simulated_world_new(struct runner *runner, const struct simulated_config *config,
	struct simulated_world **ret_world, struct err *err)
{
	struct simulated_world *world;
	int code;

	if (config->instances > SIMULATED_INSTANCES_MAX)
		return err_set(err, -EINVAL, "%u simulated instances are more than %d",
			config->instances, SIMULATED_INSTANCES_MAX);
	world = memory_allocate(sizeof(*world));
	world->runner = runner_group_new(runner, "world");
	world->event = runner_event_new(world->runner, "due");
	world->delivered = runner_event_new(world->runner, "delivered");
	lock_init(&world->lock);
	world->config = *config;
	if (!world->config.cpu)
		world->config.cpu = CPU_DEFAULT;
	if (!world->config.memory)
		world->config.memory = MEMORY_DEFAULT;
	if (!world->config.behaviour)
		world->config.behaviour = &simulated_behaviour_default;
	world->behaviour = *world->config.behaviour;
	world->remembers = config->remember_tokens;
	world->changed_end = &world->changed;
	world->groups_changed_end = &world->groups_changed;
	world->unplaced_end = &world->unplaced;
	if (config->groups)
		world->name_key = random_u64(runner_random(world->runner));
	world->asleep_until_us = INT64_MIN;
	world->task_death.due = task_death_due;
	world->instance_death.due = instance_death_due;
	world->group_death.due = group_death_due;
	for (unsigned i = 0; i < (config->instances ? config->instances : 1); i++)
		add_instance(world);
	set_faults(world, config->faults);
	code = runner_spawn(world->runner, "simulated", run, world, err);
	if (code < 0) {
		simulated_world_free(world);
		return code;
	}
	*ret_world = world;
	return 0;
}

void simulated_world_free(struct simulated_world *world)
{
	struct timer *timer;

	if (!world)
		return;
	runner_stop(world->runner);
	runner_join(world->runner, NULL);
	MAP_EACH (&world->tasks, entry)
		simulated_task_forget(world, entry->value);
	simulated_groups_free(world);
	/* Calls under way are timers that own themselves. */
	while ((timer = simulated_timers_first(&world->timers))) {
		simulated_timers_unset(&world->timers, timer);
		if (timer->due == simulated_message_due)
			simulated_message_free(world, timer);
	}
	MAP_EACH (&world->instances, entry) {
		struct simulated_instance *instance = entry->value;

		free((char *)instance->id.data);
		free(instance);
	}
	map_clear(&world->tasks);
	map_clear(&world->instances);
	map_clear(&world->scripts);
	map_clear(&world->acknowledged);
	free(world->timers.heap);
	lock_destroy(&world->lock);
	runner_event_free(world->event);
	runner_event_free(world->delivered);
	runner_free(world->runner);
	free(world);
}

int runtime_simulated_open(struct simulated_world *world,
	const struct runtime_simulated_config *config, struct runtime **ret_runtime,
	struct err *err)
{
	struct simulated_runtime *self = memory_allocate(sizeof(*self));

	self->runtime.operations =
		world->config.groups ? &simulated_operations_with_groups : &simulated_operations;
	self->world = world;
	self->config = *config;
	self->resync.due = simulated_runtime_resync_due;
	simulated_world_lock(world);
	for (size_t i = 0; i < LENGTH(world->runtimes); i++) {
		if (world->runtimes[i])
			continue;
		world->runtimes[i] = self;
		simulated_world_unlock(world);
		*ret_runtime = &self->runtime;
		return 0;
	}
	simulated_world_unlock(world);
	free(self);
	return err_set(err, -EBUSY, "a simulated world has at most %d runtimes open",
		SIMULATED_RUNTIMES_MAX);
}

void simulated_runtime_close(struct runtime *runtime)
{
	struct simulated_runtime *self = CONTAINER_OF(runtime, struct simulated_runtime, runtime);
	struct simulated_world *world = self->world;

	for (;;) {
		uint64_t seen = runner_event_count(world->delivered);
		bool delivering;

		simulated_world_lock(world);
		self->closing = true;
		delivering = world->delivering == self;
		if (!delivering) {
			for (size_t i = 0; i < LENGTH(world->runtimes); i++)
				if (world->runtimes[i] == self)
					world->runtimes[i] = NULL;
			simulated_timers_unset(&world->timers, &self->resync);
		}
		simulated_world_unlock(world);
		if (!delivering)
			break;
		runner_wait_certain(world->runner, world->delivered, seen);
	}
	free(self);
}

void simulated_world_calm_down(struct simulated_world *world)
{
	simulated_world_lock(world);
	set_faults(world, NULL);
	MAP_EACH (&world->instances, entry)
		instance_return(world, entry->value);
	simulated_world_all_changed(world);
	simulated_world_unlock(world);
}

void simulated_world_set_faults(struct simulated_world *world,
	const struct simulated_faults *faults)
{
	simulated_world_lock(world);
	set_faults(world, faults);
	simulated_world_unlock(world);
}

int simulated_world_add_instance(struct simulated_world *world, struct err *err)
{
	int code = 0;

	simulated_world_lock(world);
	if (world->instances.count < SIMULATED_INSTANCES_MAX)
		add_instance(world);
	else
		code = -ENOSPC;
	simulated_world_unlock(world);
	return code < 0 ? err_set(err, code, "there are %d simulated instances already",
				  SIMULATED_INSTANCES_MAX)
			: 0;
}

static int with_instance(struct simulated_world *world, struct span id,
	void (*act)(struct simulated_world *world, struct simulated_instance *instance),
	struct err *err)
{
	struct simulated_instance *instance;

	simulated_world_lock(world);
	instance = instance_of(world, id);
	if (instance)
		act(world, instance);
	simulated_world_unlock(world);
	return instance ? 0 : err_set(err, -ENOENT, "no simulated instance '%.*s'", SPAN_ARGS(id));
}

int simulated_world_kill_instance(struct simulated_world *world, struct span instance,
	struct err *err)
{
	return with_instance(world, instance, instance_die, err);
}

int simulated_world_revive_instance(struct simulated_world *world, struct span instance,
	struct err *err)
{
	return with_instance(world, instance, instance_return, err);
}

int simulated_world_end_task(struct simulated_world *world, struct span token, int exit_code,
	struct err *err)
{
	struct simulated_task *task;

	simulated_world_lock(world);
	task = simulated_task_of(world, token);
	if (task && !task_runs(task))
		task = NULL;
	if (task)
		simulated_task_end(world, task, RUNTIME_STOP_ESSENTIAL, exit_code,
			SPAN("Essential container in task exited"));
	simulated_world_unlock(world);
	return task ? 0 : err_set(err, -ENOENT, "no program '%.*s' runs", SPAN_ARGS(token));
}

int simulated_world_set_health(struct simulated_world *world, struct span token, bool healthy,
	struct err *err)
{
	struct simulated_task *task;

	simulated_world_lock(world);
	task = simulated_task_of(world, token);
	if (task && !task_runs(task))
		task = NULL;
	if (task)
		simulated_task_set_health(world, task, healthy);
	simulated_world_unlock(world);
	return task ? 0 : err_set(err, -ENOENT, "no program '%.*s' runs", SPAN_ARGS(token));
}

int simulated_world_delete_group(struct simulated_world *world, struct span id, struct err *err)
{
	struct simulated_group *group;

	simulated_world_lock(world);
	group = map_get(&world->groups, id);
	if (group)
		delete_group(world, group);
	simulated_world_unlock(world);
	return group ? 0 : err_set(err, -ENOENT, "no group '%.*s'", SPAN_ARGS(id));
}

void simulated_world_occupy_group(struct simulated_world *world, struct span id, bool occupied)
{
	simulated_world_lock(world);
	if (occupied)
		map_put(&world->occupied, id, world);
	else
		map_remove(&world->occupied, id);
	simulated_world_unlock(world);
}

void simulated_world_counts(struct simulated_world *world, struct simulated_counts *ret_counts)
{
	simulated_world_lock(world);
	*ret_counts = world->counts;
	ret_counts->tasks = world->tasks.count;
	ret_counts->groups = world->groups.count;
	simulated_world_unlock(world);
}

void simulated_world_each_program(struct simulated_world *world,
	void (*each)(void *context, const struct simulated_program *program), void *context)
{
	simulated_world_lock(world);
	MAP_EACH (&world->tasks, entry) {
		const struct simulated_task *task = entry->value;
		struct simulated_program program;

		if (task->phase != RUNTIME_RUNNING && task->phase != RUNTIME_STOPPING)
			continue;
		simulated_task_describe_program(task, &program);
		each(context, &program);
	}
	simulated_world_unlock(world);
}
