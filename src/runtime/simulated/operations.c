/* Calls of servers about instances and tasks. */
#include <inttypes.h>

#include "base/clock.h"
#include "runtime/simulated/world.h"

static int unknown(struct span token, struct err *err)
{
	return err_set(err, -ENOENT, "no task '%.*s'", SPAN_ARGS(token));
}

/* ---- arrival of messages; the lock is held ---- */

/* There is a task of this token already. */
static int start_again(struct simulated_world *world, const struct message *message,
	const struct simulated_instance *instance, const struct simulated_task *task)
{
	if (task->version)
		simulated_world_broken(world, "task '%s' is of a group and was started",
			message->token);
	else if (instance && task->instance != instance)
		simulated_world_broken(world, "task '%s' runs on '%s' and was started on '%s'",
			message->token, task->instance ? task->instance->id.data : "",
			message->instance);
	return 0;
}

static int arrive_start(struct simulated_world *world, struct message *message, struct err *err)
{
	struct span token = span_of(message->token);
	struct simulated_instance *instance =
		map_get(&world->instances, span_of(message->instance));
	struct simulated_task *task = simulated_task_of(world, token);
	bool is_free = world->config.groups && !message->instance[0];

	if (!instance && !is_free)
		return err_set(err, -EINVAL, "no simulated instance '%s'", message->instance);
	if (task)
		return start_again(world, message, instance, task);
	if (map_has(&world->acknowledged, token)) {
		if (!message->echo)
			simulated_world_broken(world,
				"task '%s' was started again after it was acknowledged",
				message->token);
		return err_set(err, -EALREADY, "task '%s' has been", message->token);
	}
	if (instance && instance->dead)
		return err_set(err, -EHOSTDOWN, "instance '%s' is down", message->instance);
	message->script->references++;
	simulated_task_begin(world, token, instance, message->script, NULL);
	return 0;
}

static int arrive_stop(struct simulated_world *world, struct message *message, struct err *err)
{
	struct simulated_task *task = simulated_task_of(world, span_of(message->token));

	if (!task)
		return unknown(span_of(message->token), err);
	if (message->releases)
		simulated_task_release(world, task);
	else
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

/* ---- calls ---- */

static int simulated_start(struct runtime *runtime, struct span token, struct span instance,
	const struct json *spec, struct err *err)
{
	struct simulated_runtime *self = simulated_runtime_of(runtime);
	struct message message = {.arrive = arrive_start};
	int code = simulated_script_parse(spec, &self->world->behaviour, &message.script, err);

	if (code < 0)
		return code;
	message.instance = simulated_copy_text(instance, RUNTIME_INSTANCE_MAX);
	return simulated_call(self, &message, token, err);
}

/* Ending a task and ending its hold are different requests, as on Kubernetes: a repeated first
 * request is not the second one. */
static bool is_held(struct simulated_world *world, struct span token)
{
	const struct simulated_task *task;
	bool held;

	simulated_world_lock(world);
	task = simulated_task_of(world, token);
	held = task && task->held_until_us;
	simulated_world_unlock(world);
	return held;
}

static int simulated_stop(struct runtime *runtime, struct span token, struct span reason,
	struct err *err)
{
	struct simulated_runtime *self = simulated_runtime_of(runtime);
	struct message message = {
		.arrive = arrive_stop,
		.reason = simulated_copy_text(reason, SIMULATED_REASON_MAX),
		.releases = is_held(self->world, token),
	};

	return simulated_call(self, &message, token, err);
}

static int simulated_acknowledge(struct runtime *runtime, struct span token, struct err *err)
{
	struct message message = {.arrive = arrive_acknowledge};

	return simulated_call(simulated_runtime_of(runtime), &message, token, err);
}

/* ---- reading ---- */

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
	struct simulated_runtime *self = simulated_runtime_of(runtime);
	struct simulated_world *world = self->world;
	const struct json *shared = attributes(arena);
	struct runtime_instance *list;
	size_t count = 0;
	int code = simulated_begin_reading(self, err);

	if (code < 0)
		return code;
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
	struct simulated_runtime *self = simulated_runtime_of(runtime);
	struct simulated_world *world = self->world;
	struct span *tokens;
	size_t count = 0;
	int code = simulated_begin_reading(self, err);

	if (code < 0)
		return code;
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
	struct simulated_runtime *self = simulated_runtime_of(runtime);
	struct simulated_task *task;
	int code = simulated_begin_reading(self, err);

	if (code < 0)
		return code;
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
	uint64_t offset, size_t max, struct buffer *out, struct runtime_log_times *times,
	uint64_t *ret_offset, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	_buffer_ struct buffer log = {0};
	struct runtime_task *task;
	int code = simulated_get(runtime, token, arena, &task, err);

	if (code < 0)
		return code;
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
		if (times)
			runtime_log_times_add(times, 0,
				offset == 0 ? task->containers[i].started_ms
					    : task->containers[i].stopped_ms);
		*ret_offset = offset + rest;
		return 0;
	}
	return err_set(err, -ENOENT, "task '%.*s' has no container '%.*s'", SPAN_ARGS(token),
		SPAN_ARGS(container));
}

#define OPERATIONS                                                                                 \
	.name = "simulated", .list_instances = simulated_list_instances,                           \
	.list_tasks = simulated_list_tasks, .start = simulated_start, .stop = simulated_stop,      \
	.get = simulated_get, .acknowledge = simulated_acknowledge, .exec = simulated_exec,        \
	.read_logs = simulated_read_logs, .close = simulated_runtime_close

const struct runtime_operations simulated_operations = {OPERATIONS};

const struct runtime_operations simulated_operations_with_groups = {
	OPERATIONS,
	.groups = &simulated_group_operations,
};
