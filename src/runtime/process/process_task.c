/* A task in the server. */
#include <stdio.h>

#include "base/memory.h"
#include "runtime/process/process_internal.h"

struct process_task *process_task_new(struct process_runtime *runtime, struct span token)
{
	struct process_task *task = memory_allocate(sizeof(*task));

	task->runtime = runtime;
	task->token = memory_copy_string_n(token.data, token.length);
	task->folder = memory_format("%s/%s", runtime->folder, task->token);
	task->instance = memory_copy_string("");
	task->address = memory_copy_string("");
	task->watch = -1;
	return task;
}

void process_task_free(struct process_task *task)
{
	if (!task)
		return;
	memory_close_descriptor(&task->watch);
	buffer_clear(&task->state);
	buffer_clear(&task->input);
	free(task->token);
	free(task->folder);
	free(task->instance);
	free(task->address);
	free(task->ports);
	free(task);
}

void process_task_take_spec(struct process_task *task, const struct plan *plan)
{
	size_t count = 0;

	free(task->instance);
	free(task->address);
	free(task->ports);
	task->instance = memory_copy_string_n(plan->instance.data, plan->instance.length);
	task->address = memory_copy_string_n(plan->address.data, plan->address.length);
	task->link_address = plan->link.bridge[0] ? plan->link.address : 0;
	for (size_t i = 0; i < plan->container_count; i++)
		count += plan->containers[i].port_count;
	task->ports = memory_allocate_array(count + 1, sizeof(*task->ports));
	task->port_count = 0;
	for (size_t i = 0; i < plan->container_count; i++)
		for (size_t j = 0; j < plan->containers[i].port_count; j++)
			task->ports[task->port_count++] = plan->containers[i].ports[j].host_port;
}
