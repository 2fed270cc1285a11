/*
 * What a server can ask of the world. Calls that change something are messages: without faults they
 * arrive at once; with faults they take time, and may get lost, late or repeated, as may their answers.
 * A message that is under way arrives whatever becomes of the server that sent it.
 */
#include <inttypes.h>

#include "base/clock.h"
#include "runtime/simulated/world.h"

enum message_type { MESSAGE_START, MESSAGE_STOP, MESSAGE_ACKNOWLEDGE };

struct message {
	struct timer timer;
	enum message_type type;
	bool echo;             /* a late or repeated one: nobody hears its answer */
	struct script *script; /* start: a reference; NULL when it was given away */
	char token[RUNTIME_TOKEN_MAX + 1];
	char *instance; /* start */
	char *reason;   /* stop */
};

static struct simulated_runtime *self_of(struct runtime *runtime)
{
	return CONTAINER_OF(runtime, struct simulated_runtime, runtime);
}

static int unknown(struct span token, struct err *err)
{
	return err_set(err, -ENOENT, "no task '%.*s'", SPAN_ARGS(token));
}

/* ---- what happens when a message arrives; the lock is held ---- */

static int arrive_start(struct simulated_world *world, struct message *message, struct err *err)
{
	struct span token = span_of(message->token);
	struct simulated_instance *instance =
		map_get(&world->instances, span_of(message->instance));
	struct simulated_task *task = simulated_task_of(world, token);

	if (!instance)
		return err_set(err, -EINVAL, "no simulated instance '%s'", message->instance);
	if (task) {
		if (task->instance != instance)
			simulated_world_broken(world,
				"task '%s' runs on '%s' and was started on '%s'", message->token,
				task->instance->id.data, message->instance);
		return 0;
	}
	if (map_has(&world->acknowledged, token)) {
		if (!message->echo)
			simulated_world_broken(world,
				"task '%s' was started again after it was acknowledged",
				message->token);
		return err_set(err, -EALREADY, "task '%s' has been", message->token);
	}
	if (instance->dead)
		return err_set(err, -EHOSTDOWN, "instance '%s' is down", message->instance);
	message->script->references++;
	simulated_task_begin(world, token, instance, message->script);
	return 0;
}

static int arrive_stop(struct simulated_world *world, struct message *message, struct err *err)
{
	struct simulated_task *task = simulated_task_of(world, span_of(message->token));

	if (!task)
		return unknown(span_of(message->token), err);
	simulated_task_ask_to_stop(world, task, span_of(message->reason));
	return 0;
}

static int arrive_acknowledge(struct simulated_world *world, struct message *message,
	struct err *err)
{
	struct span token = span_of(message->token);
	struct simulated_task *task = simulated_task_of(world, token);

	if (!task)
		return unknown(token, err);
	if (task->phase != RUNTIME_STOPPED)
		return err_set(err, -EBUSY, "task '%s' has not stopped", message->token);
	if (world->remembers)
		map_put(&world->acknowledged, token, world);
	simulated_task_forget(world, task);
	return 0;
}

static int (*const arrive[])(struct simulated_world *world, struct message *message,
	struct err *err) = {
	[MESSAGE_START] = arrive_start,
	[MESSAGE_STOP] = arrive_stop,
	[MESSAGE_ACKNOWLEDGE] = arrive_acknowledge,
};

/* ---- messages under way ---- */

static void message_clear(struct simulated_world *world, struct message *message)
{
	if (message->script)
		simulated_script_release(world, message->script);
	free(message->instance);
	free(message->reason);
}

void simulated_message_free(struct simulated_world *world, struct timer *timer)
{
	struct message *message = CONTAINER_OF(timer, struct message, timer);

	message_clear(world, message);
	free(message);
}

void simulated_message_due(struct simulated_world *world, struct timer *timer)
{
	struct message *message = CONTAINER_OF(timer, struct message, timer);

	arrive[message->type](world, message, NULL);
	simulated_message_free(world, timer);
}

/* A copy of the message arrives later. */
static void post(struct simulated_world *world, const struct message *message, int64_t most_us)
{
	struct message *copy = memory_copy(message, sizeof(*message));

	copy->timer = (struct timer){.due = simulated_message_due};
	copy->echo = true;
	copy->instance = memory_copy_string(message->instance);
	copy->reason = memory_copy_string(message->reason);
	if (copy->script)
		copy->script->references++;
	simulated_timers_set(&world->timers, &copy->timer,
		runner_now_us(world->runner) + 1 + simulated_world_draw(world, most_us));
}

/* ---- calls; the lock is held, and let go while they travel ---- */

static int travel(struct simulated_runtime *self, int64_t most_us, struct err *err)
{
	struct simulated_world *world = self->world;
	int64_t delay_us = simulated_world_draw(world, most_us);
	int r;

	if (delay_us == 0)
		return 0;
	simulated_world_unlock(world);
	r = runner_sleep_until(self->config.runner,
		runner_deadline_us(self->config.runner, delay_us));
	simulated_world_lock(world);
	return r < 0 ? err_set(err, r, "the server was stopped during a call") : 0;
}

static int call_with_faults(struct simulated_runtime *self, struct message *message,
	struct err *err)
{
	struct simulated_world *world = self->world;
	struct simulated_faults faults = world->faults; /* they may change on the way */
	int answer, r;

	if (simulated_world_chance(world, faults.call_fails_one_in)) {
		world->counts.failed_calls++;
		r = travel(self, faults.call_most_us, err);
		return r < 0 ? r : err_set(err, -EIO, "simulated fault: the call was lost");
	}
	r = travel(self, faults.call_most_us, err);
	if (r < 0) {
		/* Sent or not? */
		if (simulated_world_chance(world, 2))
			post(world, message, faults.call_most_us);
		return r;
	}
	if (simulated_world_chance(world, faults.call_late_one_in)) {
		world->counts.late_calls++;
		post(world, message, faults.late_most_us);
		return err_set(err, -ETIMEDOUT, "simulated fault: no answer in time");
	}
	answer = arrive[message->type](world, message, err);
	if (simulated_world_chance(world, faults.call_repeated_one_in)) {
		world->counts.repeated_calls++;
		post(world, message, faults.late_most_us);
	}
	r = travel(self, faults.call_most_us, err);
	if (r < 0)
		return r;
	if (simulated_world_chance(world, faults.answer_lost_one_in)) {
		world->counts.lost_answers++;
		return err_set(err, -EIO, "simulated fault: the answer was lost");
	}
	return answer;
}

/* Takes what the message owns. */
static int call(struct simulated_runtime *self, struct message *message, struct span token,
	struct err *err)
{
	struct simulated_world *world = self->world;
	int r;

	simulated_world_lock(world);
	if (message->script)
		message->script = simulated_script_share(world, message->script);
	if (token.length < 1 || token.length > RUNTIME_TOKEN_MAX ||
		memchr(token.data, '\0', token.length)) {
		r = err_set(err, -EINVAL, "a token has 1 to %d bytes", RUNTIME_TOKEN_MAX);
	} else if (self->config.runner && runner_is_stopped(self->config.runner)) {
		r = err_set(err, -ECANCELED, "the server was stopped");
	} else {
		memcpy(message->token, token.data, token.length);
		r = world->faulty ? call_with_faults(self, message, err)
				  : arrive[message->type](world, message, err);
	}
	message_clear(world, message);
	simulated_world_unlock(world);
	return r;
}

static char *copy_text(struct span text)
{
	size_t length = text.length < SIMULATED_REASON_MAX ? text.length : SIMULATED_REASON_MAX;

	return memory_copy_string_n(length ? text.data : "", length);
}

static int simulated_start(struct runtime *runtime, struct span token, struct span instance,
	const struct json *spec, struct err *err)
{
	struct simulated_runtime *self = self_of(runtime);
	struct message message = {.type = MESSAGE_START};
	int r = simulated_script_parse(spec, &self->world->behaviour, &message.script, err);

	if (r < 0)
		return r;
	message.instance = copy_text(instance);
	return call(self, &message, token, err);
}

static int simulated_stop(struct runtime *runtime, struct span token, struct span reason,
	struct err *err)
{
	struct message message = {.type = MESSAGE_STOP, .reason = copy_text(reason)};

	return call(self_of(runtime), &message, token, err);
}

static int simulated_acknowledge(struct runtime *runtime, struct span token, struct err *err)
{
	struct message message = {.type = MESSAGE_ACKNOWLEDGE};

	return call(self_of(runtime), &message, token, err);
}

/* ---- reading ---- */

/* With the lock held afterwards if 0 is returned. */
static int begin_reading(struct simulated_runtime *self, struct err *err)
{
	struct simulated_world *world = self->world;
	int r = 0;

	simulated_world_lock(world);
	if (self->config.runner && runner_is_stopped(self->config.runner))
		r = err_set(err, -ECANCELED, "the server was stopped");
	else if (world->faulty)
		r = travel(self, world->faults.call_most_us, err);
	if (r == 0 && simulated_world_chance(world, world->faults.read_fails_one_in)) {
		world->counts.failed_reads++;
		r = err_set(err, -EIO, "simulated fault: no answer");
	}
	if (r < 0)
		simulated_world_unlock(world);
	return r;
}

static void add_attribute(struct arena *arena, struct json *list, const char *name,
	const char *value)
{
	struct json *attribute = json_new_object(arena);

	json_set_string(arena, attribute, "name", span_of(name));
	json_set_string(arena, attribute, "value", span_of(value));
	json_append(arena, list, attribute);
}

static const struct json *attributes(struct arena *arena)
{
	struct json *list = json_new_array(arena);

	add_attribute(arena, list, "ecs.os-type", "linux");
	add_attribute(arena, list, "ecs.os-family", "LINUX");
	add_attribute(arena, list, "ecs.cpu-architecture", "x86_64");
	add_attribute(arena, list, "ecs.instance-type", "slipway.simulated");
	return list;
}

static int simulated_list_instances(struct runtime *runtime, struct arena *arena,
	struct runtime_instance **ret_instances, size_t *ret_count, struct err *err)
{
	struct simulated_runtime *self = self_of(runtime);
	struct simulated_world *world = self->world;
	const struct json *shared = attributes(arena);
	struct runtime_instance *list;
	size_t count = 0;
	int r = begin_reading(self, err);

	if (r < 0)
		return r;
	list = arena_allocate_array(arena, world->instances.count, sizeof(*list));
	MAP_EACH (&world->instances, entry) {
		const struct simulated_instance *instance = entry->value;

		if (instance->dead)
			continue;
		list[count++] = (struct runtime_instance){
			.id = arena_copy_span(arena, instance->id),
			.name = arena_copy_span(arena, instance->id),
			.cpu = world->config.cpu,
			.memory = world->config.memory,
			.address = simulated_instance_address(instance, arena),
			.attributes = shared,
		};
	}
	simulated_world_unlock(world);
	*ret_instances = list;
	*ret_count = count;
	return 0;
}

static int simulated_list_tasks(struct runtime *runtime, struct arena *arena,
	struct span **ret_tokens, size_t *ret_count, struct err *err)
{
	struct simulated_runtime *self = self_of(runtime);
	struct simulated_world *world = self->world;
	struct span *tokens;
	size_t count = 0;
	int r = begin_reading(self, err);

	if (r < 0)
		return r;
	tokens = arena_allocate_array(arena, world->tasks.count, sizeof(*tokens));
	MAP_EACH (&world->tasks, entry)
		tokens[count++] = arena_copy_span(arena, entry->key);
	simulated_world_unlock(world);
	*ret_tokens = tokens;
	*ret_count = count;
	return 0;
}

static int simulated_get(struct runtime *runtime, struct span token, struct arena *arena,
	struct runtime_task **ret_task, struct err *err)
{
	struct simulated_runtime *self = self_of(runtime);
	struct simulated_task *task;
	int r = begin_reading(self, err);

	if (r < 0)
		return r;
	task = simulated_task_of(self->world, token);
	if (task)
		*ret_task = simulated_task_report(task, arena);
	simulated_world_unlock(self->world);
	return task ? 0 : unknown(token, err);
}

static int simulated_exec(struct runtime *runtime, struct span token, struct span container,
	const struct json *command, bool terminal, struct runtime_exec **ret_exec, struct err *err)
{
	(void)runtime;
	(void)token;
	(void)container;
	(void)command;
	(void)terminal;
	(void)ret_exec;
	return err_set(err, -ENOTSUP, "tasks of the simulated runtime have no programs to enter");
}

/* A line for each thing that has happened to the container. */
static void write_log(const struct runtime_container *container, struct buffer *out)
{
	char time[CLOCK_ISO_SIZE];

	if (container->started_ms) {
		clock_format_iso(container->started_ms, time);
		buffer_format(out, "%s simulated container '%.*s' runs\n", time,
			SPAN_ARGS(container->name));
	}
	if (container->stopped_ms && container->has_exit_code) {
		clock_format_iso(container->stopped_ms, time);
		buffer_format(out, "%s simulated container '%.*s' exits with %d\n", time,
			SPAN_ARGS(container->name), container->exit_code);
	}
}

static int simulated_read_logs(struct runtime *runtime, struct span token, struct span container,
	uint64_t offset, size_t max, struct buffer *out, uint64_t *ret_offset, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	_buffer_ struct buffer log = {0};
	struct runtime_task *task;
	int r = simulated_get(runtime, token, arena, &task, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < task->container_count; i++) {
		size_t rest;

		if (!span_equal(task->containers[i].name, container))
			continue;
		write_log(&task->containers[i], &log);
		if (offset > log.length)
			offset = log.length;
		rest = log.length - (size_t)offset;
		if (rest > max)
			rest = max;
		if (rest > 0)
			buffer_add(out, log.data + offset, rest);
		*ret_offset = offset + rest;
		return 0;
	}
	return err_set(err, -ENOENT, "task '%.*s' has no container '%.*s'", SPAN_ARGS(token),
		SPAN_ARGS(container));
}

const struct runtime_operations simulated_operations = {
	.name = "simulated",
	.list_instances = simulated_list_instances,
	.list_tasks = simulated_list_tasks,
	.start = simulated_start,
	.stop = simulated_stop,
	.get = simulated_get,
	.acknowledge = simulated_acknowledge,
	.exec = simulated_exec,
	.read_logs = simulated_read_logs,
	.close = simulated_runtime_close,
};
