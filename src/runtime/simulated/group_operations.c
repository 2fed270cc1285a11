/* Calls of servers about groups. */
#include <inttypes.h>

#include "runtime/simulated/world.h"

#define VERSION_MAX 255
#define DESIRED_MAX 1000000
#define PERCENT_MAX 100000
#define SETTLE_SECONDS_MAX 3600

static int unknown(struct span id, struct err *err)
{
	return err_set(err, -ENOENT, "no group '%.*s'", SPAN_ARGS(id));
}

/* ---- arrival of messages; the lock is held ---- */

static int arrive_apply(struct simulated_world *world, struct message *message, struct err *err)
{
	struct simulated_desired desired = {
		.version = memory_copy_string(message->version),
		.script = message->script,
		.daemon = message->daemon,
		.desired = message->desired,
		.minimum_healthy = message->minimum_healthy,
		.maximum = message->maximum,
		.settle_seconds = message->settle_seconds,
	};

	message->script->references++;
	return simulated_group_apply(world, span_of(message->group), &desired, err);
}

static int arrive_remove(struct simulated_world *world, struct message *message, struct err *err)
{
	struct simulated_group *group = map_get(&world->groups, span_of(message->group));

	if (!group)
		return unknown(span_of(message->group), err);
	simulated_group_remove(group);
	return 0;
}

static int arrive_open_gate(struct simulated_world *world, struct message *message, struct err *err)
{
	struct simulated_task *task = simulated_task_of(world, span_of(message->token));

	if (!task)
		return err_set(err, -ENOENT, "no task '%s'", message->token);
	if (task->gate_open)
		return 0;
	task->gate_open = true;
	runner_trace(world->runner, "%s: its gate is open", task->token);
	simulated_world_task_changed(world, task);
	return 0;
}

static int arrive_cordon(struct simulated_world *world, struct message *message, struct err *err)
{
	struct simulated_instance *instance =
		map_get(&world->instances, span_of(message->instance));

	if (!instance || instance->dead)
		return err_set(err, -ENOENT, "no simulated instance '%s'", message->instance);
	if (instance->cordoned == message->closed)
		return 0;
	instance->cordoned = message->closed;
	runner_trace(world->runner, "instance %s is %s", instance->id.data,
		message->closed ? "cordoned" : "open again");
	simulated_groups_instances_changed(world);
	return 0;
}

/* ---- calls ---- */

static int check_group(const struct runtime_group *group, struct err *err)
{
	if (group->id.length < 1 || group->id.length > RUNTIME_GROUP_MAX ||
		memchr(group->id.data, '\0', group->id.length))
		return err_set(err, -EINVAL, "a group's id has 1 to %d bytes", RUNTIME_GROUP_MAX);
	if (group->version.length < 1 || group->version.length > VERSION_MAX ||
		memchr(group->version.data, '\0', group->version.length))
		return err_set(err, -EINVAL, "a group's version has 1 to %d bytes", VERSION_MAX);
	if (group->desired < 0 || group->desired > DESIRED_MAX)
		return err_set(err, -EINVAL, "a group has 0 to %d tasks, not %" PRId64, DESIRED_MAX,
			group->desired);
	if (group->minimum_healthy < 0 || group->minimum_healthy > PERCENT_MAX ||
		group->maximum < 0 || group->maximum > PERCENT_MAX)
		return err_set(err, -EINVAL, "percentages are from 0 to %d", PERCENT_MAX);
	if (group->settle_seconds < 0 || group->settle_seconds > SETTLE_SECONDS_MAX)
		return err_set(err, -EINVAL, "tasks settle in 0 to %d seconds", SETTLE_SECONDS_MAX);
	return 0;
}

static int simulated_apply(struct runtime *runtime, const struct runtime_group *group,
	struct err *err)
{
	struct simulated_runtime *self = simulated_runtime_of(runtime);
	struct message message = {
		.arrive = arrive_apply,
		.daemon = group->daemon,
		.desired = group->desired,
		.minimum_healthy = group->minimum_healthy,
		.maximum = group->maximum,
		.settle_seconds = group->settle_seconds,
	};
	int code = check_group(group, err);

	if (code < 0)
		return code;
	code = simulated_script_parse(group->spec, &self->world->behaviour, &message.script, err);
	if (code < 0)
		return code;
	message.group = simulated_copy_text(group->id, RUNTIME_GROUP_MAX);
	message.version = simulated_copy_text(group->version, VERSION_MAX);
	return simulated_call(self, &message, SPAN_NONE, err);
}

static int simulated_remove(struct runtime *runtime, struct span id, struct err *err)
{
	struct message message = {
		.arrive = arrive_remove,
		.group = simulated_copy_text(id, RUNTIME_GROUP_MAX + 1),
	};

	return simulated_call(simulated_runtime_of(runtime), &message, SPAN_NONE, err);
}

static int simulated_open_gate(struct runtime *runtime, struct span token, struct err *err)
{
	struct message message = {.arrive = arrive_open_gate};

	return simulated_call(simulated_runtime_of(runtime), &message, token, err);
}

static int simulated_cordon(struct runtime *runtime, struct span instance, bool closed,
	struct err *err)
{
	struct message message = {
		.arrive = arrive_cordon,
		.instance = simulated_copy_text(instance, RUNTIME_INSTANCE_MAX + 1),
		.closed = closed,
	};

	return simulated_call(simulated_runtime_of(runtime), &message, SPAN_NONE, err);
}

/* ---- reading ---- */

static int simulated_get_group(struct runtime *runtime, struct span id, struct arena *arena,
	struct runtime_group_state **ret_group, struct err *err)
{
	struct simulated_runtime *self = simulated_runtime_of(runtime);
	const struct simulated_group *group;
	int code = simulated_begin_reading(self, err);

	if (code < 0)
		return code;
	group = map_get(&self->world->groups, id);
	if (group)
		*ret_group = simulated_group_report(group, arena);
	simulated_world_unlock(self->world);
	return group ? 0 : unknown(id, err);
}

static int simulated_list_groups(struct runtime *runtime, struct arena *arena,
	struct span **ret_ids, size_t *ret_count, struct err *err)
{
	struct simulated_runtime *self = simulated_runtime_of(runtime);
	struct span *ids;
	size_t count = 0;
	int code = simulated_begin_reading(self, err);

	if (code < 0)
		return code;
	ids = arena_allocate_array(arena, self->world->groups.count, sizeof(*ids));
	MAP_EACH (&self->world->groups, entry)
		ids[count++] = arena_copy_span(arena, entry->key);
	simulated_world_unlock(self->world);
	*ret_ids = ids;
	*ret_count = count;
	return 0;
}

const struct runtime_group_operations simulated_group_operations = {
	.apply = simulated_apply,
	.remove = simulated_remove,
	.get = simulated_get_group,
	.list = simulated_list_groups,
	.open_gate = simulated_open_gate,
	.cordon = simulated_cordon,
};
