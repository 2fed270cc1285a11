/*
 * A simulated task: PENDING until its start is due, RUNNING while its health changes and until it
 * exits, STOPPING while it is held and until its stop is due, STOPPED until it is acknowledged. A
 * task has one timer, for the next event of its phase.
 */
#include "runtime/simulated/world.h"

#define EXIT_TERMINATED 143
#define EXIT_KILLED 137

void simulated_task_describe_program(const struct simulated_task *task,
	struct simulated_program *out)
{
	*out = (struct simulated_program){
		.token = simulated_task_token(task),
		.instance = task->instance ? task->instance->id : SPAN(""),
		.family = task->script->family,
		.revision = task->script->revision,
		.service = task->script->service,
		.cluster = task->script->cluster,
		.group = task->version ? task->version->group->id : SPAN(""),
		.version = task->version ? task->version->name : SPAN(""),
	};
}

struct simulated_task *simulated_task_of(struct simulated_world *world, struct span token)
{
	return map_get(&world->tasks, token);
}

static bool is_program(const struct simulated_task *task)
{
	return task->phase == RUNTIME_RUNNING || task->phase == RUNTIME_STOPPING;
}

void simulated_task_set_reason(struct simulated_task *task, struct span reason)
{
	size_t length = reason.length < SIMULATED_REASON_MAX ? reason.length : SIMULATED_REASON_MAX;

	free(task->reason);
	task->reason = length ? memory_copy_string_n(reason.data, length) : NULL;
}

/* ---- where it is ---- */

static void link_to(struct simulated_task *task, struct simulated_task **list)
{
	task->next = *list;
	task->previous = list;
	if (task->next)
		task->next->previous = &task->next;
	*list = task;
}

/* Tasks without an instance wait in the order of their creation. */
static void link_to_unplaced(struct simulated_world *world, struct simulated_task *task)
{
	task->next = NULL;
	task->previous = world->unplaced_end;
	*world->unplaced_end = task;
	world->unplaced_end = &task->next;
}

static void unlink_task(struct simulated_world *world, struct simulated_task *task)
{
	*task->previous = task->next;
	if (task->next)
		task->next->previous = task->previous;
	else if (!task->instance)
		world->unplaced_end = task->previous;
	task->next = NULL;
	task->previous = NULL;
}

static void take_room(struct simulated_task *task, struct simulated_instance *instance)
{
	task->instance = instance;
	instance->task_count++;
	instance->cpu_used += task->script->cpu;
	instance->memory_used += task->script->memory;
	link_to(task, &instance->tasks);
}

static void leave_room(struct simulated_world *world, struct simulated_task *task)
{
	struct simulated_instance *instance = task->instance;

	unlink_task(world, task);
	if (!instance)
		return;
	instance->task_count--;
	instance->cpu_used -= task->script->cpu;
	instance->memory_used -= task->script->memory;
	simulated_place_changed(world);
}

/* ---- the end ---- */

/* A replica that ended by itself keeps its place until that was acknowledged. */
static void leave_group(struct simulated_task *task)
{
	task->version->group->live--;
	if (task->stop == RUNTIME_STOP_REQUESTED || task->stop == RUNTIME_STOP_LOST)
		simulated_version_let_go(task);
}

void simulated_task_end(struct simulated_world *world, struct simulated_task *task,
	enum runtime_stop stop, int exit_code, struct span reason)
{
	bool ran = is_program(task);

	simulated_timers_unset(&world->timers, &task->timer);
	task->phase = RUNTIME_STOPPED;
	task->stop = stop;
	task->stopped_ms = runner_wall_ms(world->runner);
	task->has_exit_code = ran && exit_code >= 0;
	task->exit_code = exit_code;
	if (reason.length)
		simulated_task_set_reason(task, reason);
	task->held_until_us = 0;
	leave_room(world, task);
	if (task->version)
		leave_group(task);
	if (ran) {
		world->counts.programs--;
		world->counts.ends++;
		if (world->config.observer.ended) {
			struct simulated_program program;

			simulated_task_describe_program(task, &program);
			world->config.observer.ended(world->config.observer.context, &program,
				stop);
		}
	}
	runner_trace(world->runner, "%s stopped, stop code %d, exit code %d", task->token, stop,
		exit_code);
	simulated_world_task_changed(world, task);
}

/* ---- its phases ---- */

/* Health and exit as they are due, and the timer for what comes next. */
static void run_on(struct simulated_world *world, struct simulated_task *task)
{
	int64_t now_us = runner_now_us(world->runner), next_us = task->exit_us;
	enum runtime_health health = RUNTIME_HEALTH_UNKNOWN;

	if (task->exit_us <= now_us) {
		simulated_task_end(world, task, RUNTIME_STOP_ESSENTIAL,
			task->script->behaviour.exit_code,
			SPAN("Essential container in task exited"));
		return;
	}
	if (task->unhealthy_us <= now_us)
		health = RUNTIME_UNHEALTHY;
	else if (task->health_us <= now_us)
		health = RUNTIME_HEALTHY;
	if (task->unhealthy_us > now_us && task->unhealthy_us < next_us)
		next_us = task->unhealthy_us;
	if (task->health_us > now_us && task->health_us < next_us)
		next_us = task->health_us;
	simulated_world_set_timer(world, &task->timer, next_us);
	if (health != task->health) {
		task->health = (uint8_t)health;
		simulated_world_task_changed(world, task);
	}
}

static void begin_to_run(struct simulated_world *world, struct simulated_task *task)
{
	const struct script *script = task->script;
	struct simulated_program program;

	if (script->fail_start.length) {
		simulated_task_end(world, task, RUNTIME_STOP_FAILED_TO_START, -1,
			script->fail_start);
		return;
	}
	task->phase = RUNTIME_RUNNING;
	task->started_ms = runner_wall_ms(world->runner);
	task->exit_us = simulated_world_draw_moment(world, &script->behaviour.run);
	task->health_us = simulated_world_draw_moment(world, &script->behaviour.health);
	task->unhealthy_us = simulated_world_draw_moment(world, &script->behaviour.unhealthy);
	world->counts.programs++;
	world->counts.starts++;
	if (world->config.observer.started) {
		simulated_task_describe_program(task, &program);
		world->config.observer.started(world->config.observer.context, &program);
	}
	runner_trace(world->runner, "%s runs on %s", task->token, task->instance->id.data);
	simulated_world_task_changed(world, task);
	run_on(world, task);
}

static void finish_stop(struct simulated_world *world, struct simulated_task *task)
{
	simulated_task_end(world, task, RUNTIME_STOP_REQUESTED, task->exit_code, SPAN(""));
}

/* Its program gets SIGTERM. */
static void terminate(struct simulated_world *world, struct simulated_task *task)
{
	int64_t now_us = runner_now_us(world->runner), stop_us, killed_us;

	stop_us = simulated_world_draw_moment(world, &task->script->behaviour.stop);
	killed_us = now_us + task->script->stop_timeout_ms * 1000;
	task->exit_code = stop_us <= killed_us ? EXIT_TERMINATED : EXIT_KILLED;
	task->held_until_us = 0;
	if (stop_us > killed_us)
		stop_us = killed_us;
	if (stop_us <= now_us) {
		finish_stop(world, task);
		return;
	}
	simulated_world_set_timer(world, &task->timer, stop_us);
	simulated_world_task_changed(world, task);
}

/* The end is announced, and its program keeps running. */
static void hold(struct simulated_world *world, struct simulated_task *task)
{
	int64_t until_us = runner_now_us(world->runner) + task->script->hold_ms * 1000;

	task->ends_ms = runner_wall_ms(world->runner) + task->script->hold_ms;
	task->held_until_us = until_us;
	runner_trace(world->runner, "%s is held", task->token);
	simulated_world_set_timer(world, &task->timer,
		task->exit_us < until_us ? task->exit_us : until_us);
	simulated_world_task_changed(world, task);
}

static void stop_on(struct simulated_world *world, struct simulated_task *task)
{
	if (!task->held_until_us)
		finish_stop(world, task);
	else if (task->held_until_us <= runner_now_us(world->runner))
		terminate(world, task);
	else
		simulated_task_end(world, task, RUNTIME_STOP_REQUESTED,
			task->script->behaviour.exit_code, SPAN(""));
}

static void pend_on(struct simulated_world *world, struct simulated_task *task)
{
	if (task->instance)
		begin_to_run(world, task);
	else
		simulated_place_task(world, task);
}

static void (*const when_due[])(struct simulated_world *world, struct simulated_task *task) = {
	[RUNTIME_PENDING] = pend_on,
	[RUNTIME_RUNNING] = run_on,
	[RUNTIME_STOPPING] = stop_on,
};

static void task_due(struct simulated_world *world, struct timer *timer)
{
	struct simulated_task *task = CONTAINER_OF(timer, struct simulated_task, timer);

	when_due[task->phase](world, task);
}

static void begin_on(struct simulated_world *world, struct simulated_task *task,
	struct simulated_instance *instance)
{
	int64_t start_us;

	take_room(task, instance);
	start_us = simulated_world_draw_moment(world, &task->script->behaviour.start);
	if (simulated_world_chance(world, world->faults.slow_start_one_in)) {
		start_us += simulated_world_draw(world, world->faults.slow_start_most_us);
		world->counts.slow_starts++;
	}
	if (start_us <= runner_now_us(world->runner)) {
		begin_to_run(world, task);
		return;
	}
	simulated_world_set_timer(world, &task->timer, start_us);
	simulated_world_task_changed(world, task);
}

void simulated_task_begin(struct simulated_world *world, struct span token,
	struct simulated_instance *instance, struct script *script,
	struct simulated_version *version)
{
	struct simulated_task *task = memory_allocate(sizeof(*task) + token.length + 1);

	memcpy(task->token, token.data, token.length);
	task->token_length = (uint8_t)token.length;
	task->timer.due = task_due;
	task->script = script;
	task->number = ++world->number;
	task->created_ms = runner_wall_ms(world->runner);
	task->phase = RUNTIME_PENDING;
	task->health = RUNTIME_HEALTH_UNKNOWN;
	map_put(&world->tasks, token, task);
	if (version)
		simulated_version_add(version, task);
	if (instance) {
		begin_on(world, task, instance);
		return;
	}
	link_to_unplaced(world, task);
	simulated_world_set_timer(world, &task->timer,
		simulated_world_draw_moment(world, &script->behaviour.place));
	simulated_world_task_changed(world, task);
}

void simulated_task_set_instance(struct simulated_world *world, struct simulated_task *task,
	struct simulated_instance *instance)
{
	unlink_task(world, task);
	simulated_task_set_reason(task, SPAN(""));
	begin_on(world, task, instance);
}

void simulated_task_ask_to_stop(struct simulated_world *world, struct simulated_task *task,
	struct span reason)
{
	if (task->phase >= RUNTIME_STOPPING)
		return;
	if (task->phase == RUNTIME_PENDING) {
		simulated_task_end(world, task, RUNTIME_STOP_REQUESTED, -1, reason);
		return;
	}
	simulated_task_set_reason(task, reason);
	task->phase = RUNTIME_STOPPING;
	if (task->version)
		simulated_version_let_go(task);
	if (world->config.groups && task->script->hold_ms > 0)
		hold(world, task);
	else
		terminate(world, task);
}

void simulated_task_release(struct simulated_world *world, struct simulated_task *task)
{
	if (!task->held_until_us)
		return;
	task->ends_ms = runner_wall_ms(world->runner);
	runner_trace(world->runner, "%s is held no longer", task->token);
	terminate(world, task);
}

void simulated_task_set_health(struct simulated_world *world, struct simulated_task *task,
	bool healthy)
{
	task->health_us = healthy ? 0 : INT64_MAX;
	task->unhealthy_us = healthy ? INT64_MAX : 0;
	run_on(world, task);
}

void simulated_task_forget(struct simulated_world *world, struct simulated_task *task)
{
	if (task->previous_changed) {
		*task->previous_changed = task->next_changed;
		if (task->next_changed)
			task->next_changed->previous_changed = task->previous_changed;
		else
			world->changed_end = task->previous_changed;
	}
	simulated_timers_unset(&world->timers, &task->timer);
	if (task->version) {
		simulated_version_let_go(task);
		simulated_version_release(task->version);
	}
	map_remove(&world->tasks, simulated_task_token(task));
	simulated_script_release(world, task->script);
	free(task->reason);
	free(task);
}
