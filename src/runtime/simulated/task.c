/*
 * The life of a simulated task: PENDING until its start is due, RUNNING while its health changes and
 * until it exits, STOPPING until its stop is due, STOPPED until it is acknowledged. A task has one timer,
 * set for what its phase waits for next.
 */
#include <inttypes.h>

#include "base/clock.h"
#include "runtime/simulated/world.h"

#define EXIT_TERMINATED 143
#define EXIT_KILLED 137
#define DYNAMIC_PORT_FIRST 32768
#define DYNAMIC_PORT_COUNT 28232
#define TASK_NETWORKS 255 /* 10.255 is for instances */

void simulated_task_describe_program(const struct simulated_task *task,
	struct simulated_program *out)
{
	*out = (struct simulated_program){
		.token = simulated_task_token(task),
		.instance = task->instance->id,
		.family = task->script->family,
		.revision = task->script->revision,
		.service = task->script->service,
		.cluster = task->script->cluster,
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

static void set_reason(struct simulated_task *task, struct span reason)
{
	size_t length = reason.length < SIMULATED_REASON_MAX ? reason.length : SIMULATED_REASON_MAX;

	free(task->reason);
	task->reason = length ? memory_copy_string_n(reason.data, length) : NULL;
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
		set_reason(task, reason);
	*task->previous = task->next;
	if (task->next)
		task->next->previous = task->previous;
	task->next = NULL;
	task->previous = NULL;
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
	simulated_task_end(world, task, RUNTIME_STOP_ASKED, task->exit_code, SPAN(""));
}

static void (*const when_due[])(struct simulated_world *world, struct simulated_task *task) = {
	[RUNTIME_PENDING] = begin_to_run,
	[RUNTIME_RUNNING] = run_on,
	[RUNTIME_STOPPING] = finish_stop,
};

static void task_due(struct simulated_world *world, struct timer *timer)
{
	struct simulated_task *task = CONTAINER_OF(timer, struct simulated_task, timer);

	when_due[task->phase](world, task);
}

void simulated_task_begin(struct simulated_world *world, struct span token,
	struct simulated_instance *instance, struct script *script)
{
	struct simulated_task *task = memory_allocate(sizeof(*task) + token.length + 1);
	int64_t start_us;

	memcpy(task->token, token.data, token.length);
	task->token_length = (uint8_t)token.length;
	task->timer.due = task_due;
	task->script = script;
	task->number = ++world->number;
	task->created_ms = runner_wall_ms(world->runner);
	task->phase = RUNTIME_PENDING;
	task->health = RUNTIME_HEALTH_UNKNOWN;
	task->instance = instance;
	task->next = instance->tasks;
	task->previous = &instance->tasks;
	if (task->next)
		task->next->previous = &task->next;
	instance->tasks = task;
	map_put(&world->tasks, token, task);
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

void simulated_task_ask_to_stop(struct simulated_world *world, struct simulated_task *task,
	struct span reason)
{
	int64_t now_us = runner_now_us(world->runner), stop_us, killed_us;

	if (task->phase >= RUNTIME_STOPPING)
		return;
	if (task->phase == RUNTIME_PENDING) {
		simulated_task_end(world, task, RUNTIME_STOP_ASKED, -1, reason);
		return;
	}
	set_reason(task, reason);
	stop_us = simulated_world_draw_moment(world, &task->script->behaviour.stop);
	killed_us = now_us + task->script->stop_timeout_ms * 1000;
	task->exit_code = stop_us <= killed_us ? EXIT_TERMINATED : EXIT_KILLED;
	task->phase = RUNTIME_STOPPING;
	if (stop_us > killed_us)
		stop_us = killed_us;
	if (stop_us <= now_us) {
		finish_stop(world, task);
		return;
	}
	simulated_world_set_timer(world, &task->timer, stop_us);
	simulated_world_task_changed(world, task);
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
	map_remove(&world->tasks, simulated_task_token(task));
	simulated_script_release(world, task->script);
	free(task->reason);
	free(task);
}

/* ---- what is reported ---- */

struct span simulated_instance_address(const struct simulated_instance *instance,
	struct arena *arena)
{
	return arena_format(arena, "10.255.%u.%u", instance->index >> 8, instance->index & 255);
}

static struct span address_of_task(const struct simulated_task *task, struct arena *arena)
{
	unsigned number = (unsigned)(task->number % ((uint64_t)TASK_NETWORKS << 16));

	return arena_format(arena, "10.%u.%u.%u", number >> 16, number >> 8 & 255, number & 255);
}

static void report_bindings(const struct simulated_task *task,
	const struct script_container *container, struct span own_address, struct arena *arena,
	struct runtime_container *out)
{
	struct span address = own_address;

	if (!address.length)
		address = simulated_instance_address(task->instance, arena);
	out->bindings = arena_allocate_array(arena, container->port_count, sizeof(*out->bindings));
	out->binding_count = container->port_count;
	for (size_t i = 0; i < container->port_count; i++) {
		const struct script_port *port = &container->ports[i];
		uint16_t host_port = port->host_port;

		if (own_address.length || span_is(task->script->network_mode, "host"))
			host_port = port->container_port;
		else if (!host_port)
			host_port = (uint16_t)(DYNAMIC_PORT_FIRST +
					       (task->number * 7 + i) % DYNAMIC_PORT_COUNT);
		out->bindings[i] = (struct runtime_binding){
			.container_port = port->container_port,
			.host_port = host_port,
			.udp = port->udp,
			.address = address,
		};
	}
}

static void report_container(const struct simulated_task *task, size_t index,
	struct span own_address, struct arena *arena, struct runtime_container *out)
{
	const struct script_container *container = &task->script->containers[index];

	out->name = arena_copy_span(arena, container->name);
	out->runtime_id = arena_format(arena, "simulated-%" PRIu64 "-%zu", task->number, index);
	out->phase = (enum runtime_phase)task->phase;
	out->health = container->has_health_check ? (enum runtime_health)task->health
						  : RUNTIME_HEALTH_NONE;
	out->has_exit_code = task->has_exit_code;
	if (out->has_exit_code)
		/* One exits by itself, the others because of that. */
		out->exit_code = index == 0 || task->stop == RUNTIME_STOP_ASKED ? task->exit_code
										: EXIT_TERMINATED;
	out->reason = task->stop == RUNTIME_STOP_FAILED_TO_START
			      ? arena_copy_span(arena, span_of(task->reason))
			      : SPAN("");
	out->started_ms = task->started_ms;
	out->stopped_ms = task->stopped_ms;
	if (task->started_ms)
		report_bindings(task, container, own_address, arena, out);
}

struct runtime_task *simulated_task_report(struct simulated_task *task, struct arena *arena)
{
	struct runtime_task *out = arena_allocate(arena, sizeof(*out));
	unsigned number = (unsigned)task->number;

	out->token = arena_copy_span(arena, simulated_task_token(task));
	out->instance = arena_copy_span(arena, task->instance->id);
	out->phase = (enum runtime_phase)task->phase;
	out->stop = (enum runtime_stop)task->stop;
	out->reason = task->reason ? arena_copy_span(arena, span_of(task->reason)) : SPAN("");
	out->address = SPAN("");
	out->mac = SPAN("");
	out->notes = SPAN("simulated: no program really runs");
	if (span_is(task->script->network_mode, "awsvpc")) {
		out->address = address_of_task(task, arena);
		out->mac = arena_format(arena, "02:00:%02x:%02x:%02x:%02x", number >> 24 & 255,
			number >> 16 & 255, number >> 8 & 255, number & 255);
	}
	out->created_ms = task->created_ms;
	out->started_ms = task->started_ms;
	out->stopped_ms = task->stopped_ms;
	out->container_count = task->script->container_count;
	for (size_t i = 0; i < out->container_count; i++)
		report_container(task, i, out->address, arena, &out->containers[i]);
	return out;
}
