/*
 * The choice of instances: of those where a task fits the one with the fewest tasks. A task that
 * fits nowhere waits for a change, with a reason in the text of Kubernetes' scheduler.
 */
#include "runtime/simulated/world.h"

enum obstacle {
	OBSTACLE_NONE,
	OBSTACLE_CORDONED,
	OBSTACLE_CPU,
	OBSTACLE_MEMORY,
	OBSTACLE_PORTS,
	OBSTACLE_NEIGHBOUR,
	OBSTACLE_COUNT
};

static const char *const obstacle_texts[OBSTACLE_COUNT] = {
	[OBSTACLE_CORDONED] = "node(s) were unschedulable",
	[OBSTACLE_CPU] = "Insufficient cpu",
	[OBSTACLE_MEMORY] = "Insufficient memory",
	[OBSTACLE_PORTS] = "node(s) didn't have free ports for the requested pod ports",
	[OBSTACLE_NEIGHBOUR] = "node(s) didn't match pod anti-affinity rules",
};

static bool uses_port(const struct script *script, const struct script_port *wanted)
{
	bool is_host = span_is(script->network_mode, "host");

	if (span_is(script->network_mode, "awsvpc"))
		return false;
	for (size_t i = 0; i < script->container_count; i++)
		for (size_t j = 0; j < script->containers[i].port_count; j++) {
			const struct script_port *port = &script->containers[i].ports[j];
			uint16_t number = is_host ? port->container_port : port->host_port;

			if (number && number == wanted->host_port && port->udp == wanted->udp)
				return true;
		}
	return false;
}

static bool ports_collide(const struct script *a, const struct script *b)
{
	bool is_host = span_is(a->network_mode, "host");

	if (span_is(a->network_mode, "awsvpc"))
		return false;
	for (size_t i = 0; i < a->container_count; i++)
		for (size_t j = 0; j < a->containers[i].port_count; j++) {
			struct script_port port = a->containers[i].ports[j];

			if (is_host)
				port.host_port = port.container_port;
			if (port.host_port && uses_port(b, &port))
				return true;
		}
	return false;
}

static bool are_of_one_group(const struct script *a, const struct script *b)
{
	return span_equal(a->group, b->group) && span_equal(a->cluster, b->cluster);
}

static enum obstacle obstacle_on(const struct simulated_world *world,
	const struct simulated_instance *instance, const struct script *script)
{
	if (instance->cordoned)
		return OBSTACLE_CORDONED;
	if (instance->cpu_used + script->cpu > world->config.cpu)
		return OBSTACLE_CPU;
	if (instance->memory_used + script->memory > world->config.memory)
		return OBSTACLE_MEMORY;
	for (const struct simulated_task *task = instance->tasks; task; task = task->next) {
		if (ports_collide(script, task->script))
			return OBSTACLE_PORTS;
		if (script->distinct_instance && are_of_one_group(script, task->script))
			return OBSTACLE_NEIGHBOUR;
	}
	return OBSTACLE_NONE;
}

static struct simulated_instance *choose(const struct simulated_world *world,
	const struct script *script, size_t obstacles[OBSTACLE_COUNT])
{
	struct simulated_instance *best = NULL;

	MAP_EACH (&world->instances, entry) {
		struct simulated_instance *instance = entry->value;
		enum obstacle obstacle;

		if (instance->dead || (best && best->task_count <= instance->task_count))
			continue;
		obstacle = obstacle_on(world, instance, script);
		obstacles[obstacle]++;
		if (obstacle == OBSTACLE_NONE)
			best = instance;
	}
	return best;
}

static void say_why_not(const size_t obstacles[OBSTACLE_COUNT], struct buffer *out)
{
	size_t nodes = 0;
	bool first = true;

	for (size_t i = 0; i < OBSTACLE_COUNT; i++)
		nodes += obstacles[i];
	buffer_format(out, "FailedScheduling: 0/%zu nodes are available", nodes);
	for (size_t i = 0; i < OBSTACLE_COUNT; i++) {
		if (!obstacles[i])
			continue;
		buffer_format(out, "%s %zu %s", first ? ":" : ",", obstacles[i], obstacle_texts[i]);
		first = false;
	}
	buffer_add_char(out, '.');
}

void simulated_place_task(struct simulated_world *world, struct simulated_task *task)
{
	size_t obstacles[OBSTACLE_COUNT] = {0};
	struct simulated_instance *instance = choose(world, task->script, obstacles);
	_buffer_ struct buffer text = {0};

	if (instance) {
		simulated_task_set_instance(world, task, instance);
		return;
	}
	say_why_not(obstacles, &text);
	runner_trace(world->runner, "%s: %.*s", task->token, SPAN_ARGS(buffer_span(&text)));
	if (task->version)
		simulated_group_event(task->version->group, true, "%.*s",
			SPAN_ARGS(buffer_span(&text)));
	if (task->reason && span_equal(span_of(task->reason), buffer_span(&text)))
		return;
	simulated_task_set_reason(task, buffer_span(&text));
	simulated_world_task_changed(world, task);
}

void simulated_place_changed(struct simulated_world *world)
{
	for (struct simulated_task *task = world->unplaced; task; task = task->next)
		if (!task->timer.position)
			simulated_world_set_timer(world, &task->timer,
				simulated_world_draw_moment(world, &task->script->behaviour.place));
}
