/*
 * The world: its instances, the strand that makes due what is due, the notices to servers, and deaths
 * by chance. Notices are a list of tasks, each in it once however often it changed, so a slow receiver
 * costs no memory.
 */
#include "runtime/simulated/world.h"

#include <stdarg.h>
#include <stdio.h>

#define CPU_DEFAULT ((int64_t)64 * 1024)
#define MEMORY_DEFAULT ((int64_t)256 * 1024)
#define RULE_MAX 512
/* Timers are looked at again after so many notices. */
#define NOTICES_AT_ONCE 256

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
};

static const struct simulated_faults no_faults;

/* ---- lock, chance, time ---- */

void simulated_world_lock(struct simulated_world *world)
{
	lock_take(&world->lock);
}

static bool has_runtime_to_tell(const struct simulated_world *world)
{
	for (size_t i = 0; i < LENGTH(world->runtimes); i++)
		if (world->runtimes[i] && world->runtimes[i]->resync_due)
			return true;
	return world->changed != NULL;
}

void simulated_world_unlock(struct simulated_world *world)
{
	const struct timer *first = simulated_timers_first(&world->timers);
	bool wake =
		world->asleep_until_us != INT64_MIN &&
		(has_runtime_to_tell(world) || (first && first->at_us < world->asleep_until_us));

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

/* ---- notices ---- */

void simulated_world_task_changed(struct simulated_world *world, struct simulated_task *task)
{
	if (task->previous_changed)
		return;
	task->previous_changed = world->changed_end;
	task->next_changed = NULL;
	*world->changed_end = task;
	world->changed_end = &task->next_changed;
}

void simulated_world_all_changed(struct simulated_world *world)
{
	for (size_t i = 0; i < LENGTH(world->runtimes); i++)
		if (world->runtimes[i])
			world->runtimes[i]->resync_due = true;
}

static void resync_due(struct simulated_world *world, struct timer *timer)
{
	(void)world;
	CONTAINER_OF(timer, struct simulated_runtime, resync)->resync_due = true;
}

/* Held again afterwards, but not while the receiver is called. */
static void tell(struct simulated_world *world, struct simulated_runtime *runtime,
	struct span token, unsigned times)
{
	world->delivering = runtime;
	lock_release(&world->lock);
	while (times-- > 0)
		runtime->config.changed(runtime->config.context, token);
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

static bool listens(const struct simulated_runtime *runtime)
{
	return runtime && !runtime->closing && runtime->config.changed;
}

static void deliver_resyncs(struct simulated_world *world)
{
	for (size_t i = 0; i < LENGTH(world->runtimes); i++) {
		struct simulated_runtime *runtime = world->runtimes[i];

		if (!runtime || !runtime->resync_due)
			continue;
		runtime->resync_due = false;
		if (listens(runtime))
			tell(world, runtime, SPAN(""), 1);
	}
}

static void deliver_notice(struct simulated_world *world, struct simulated_task *task)
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
	for (size_t i = 0; i < LENGTH(world->runtimes); i++) {
		unsigned times;

		if (!listens(world->runtimes[i]))
			continue;
		times = draw_times(world, world->runtimes[i]);
		if (times)
			tell(world, world->runtimes[i], (struct span){token, length}, times);
	}
}

static void deliver(struct simulated_world *world)
{
	deliver_resyncs(world);
	for (unsigned i = 0; world->changed && i < NOTICES_AT_ONCE; i++)
		deliver_notice(world, world->changed);
}

/* ---- the strand ---- */

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
		deliver(world);
		first = simulated_timers_first(&world->timers);
		until_us = first ? first->at_us : RUNNER_FOREVER;
		if (has_runtime_to_tell(world)) {
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
	simulated_world_all_changed(world);
}

/* ---- deaths by chance ---- */

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

static void set_faults(struct simulated_world *world, const struct simulated_faults *faults)
{
	world->faults = faults ? *faults : no_faults;
	world->faulty = faults && memcmp(faults, &no_faults, sizeof(*faults)) != 0;
	if (world->faulty)
		world->remembers = true;
	plan_death(world, &world->task_death, world->faults.task_dies_every_us);
	plan_death(world, &world->instance_death, world->faults.instance_dies_every_us);
}

/* ---- what others call ---- */

int simulated_world_new(struct runner *runner, const struct simulated_config *config,
	struct simulated_world **ret_world, struct err *err)
{
	struct simulated_world *world;
	int r;

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
	world->asleep_until_us = INT64_MIN;
	world->task_death.due = task_death_due;
	world->instance_death.due = instance_death_due;
	for (unsigned i = 0; i < (config->instances ? config->instances : 1); i++)
		add_instance(world);
	set_faults(world, config->faults);
	r = runner_spawn(world->runner, "simulated", run, world, err);
	if (r < 0) {
		simulated_world_free(world);
		return r;
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

	self->runtime.operations = &simulated_operations;
	self->world = world;
	self->config = *config;
	self->resync.due = resync_due;
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
	int r = 0;

	simulated_world_lock(world);
	if (world->instances.count < SIMULATED_INSTANCES_MAX)
		add_instance(world);
	else
		r = -ENOSPC;
	simulated_world_unlock(world);
	return r < 0 ? err_set(err, r, "there are %d simulated instances already",
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

void simulated_world_counts(struct simulated_world *world, struct simulated_counts *ret_counts)
{
	simulated_world_lock(world);
	*ret_counts = world->counts;
	ret_counts->tasks = world->tasks.count;
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
