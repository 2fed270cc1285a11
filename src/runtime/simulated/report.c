/* Reports of a simulated task. */
#include <inttypes.h>

#include "runtime/simulated/world.h"

#define EXIT_TERMINATED 143
#define DYNAMIC_PORT_FIRST 32768
#define DYNAMIC_PORT_COUNT 28232
#define TASK_NETWORKS 255 /* 10.255 is for instances */

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
		out->exit_code = index == 0 || task->stop == RUNTIME_STOP_REQUESTED
					 ? task->exit_code
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
	out->instance = task->instance ? arena_copy_span(arena, task->instance->id) : SPAN("");
	out->group = SPAN("");
	out->version = SPAN("");
	if (task->version) {
		out->group = arena_copy_span(arena, task->version->group->id);
		out->version = arena_copy_span(arena, task->version->name);
	}
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
	out->ends_ms = task->ends_ms;
	out->gate_closed = task->version && task->script->gated && !task->gate_open;
	out->container_count = task->script->container_count;
	for (size_t i = 0; i < out->container_count; i++)
		report_container(task, i, out->address, arena, &out->containers[i]);
	return out;
}
