/* Members and their spelling are those of ECS's container agent. What is not known is left out. */
#include <stdio.h>
#include <time.h>

#include "base/json.h"
#include "runtime/process/supervisor/task.h"

#define BYTES_PER_MEBIBYTE ((int64_t)1024 * 1024)
#define UNITS_PER_PROCESSOR 1024.0

static const char *const known_names[RUNTIME_PHASE_COUNT] = {
	[RUNTIME_PENDING] = "CREATED",
	[RUNTIME_RUNNING] = "RUNNING",
	[RUNTIME_STOPPING] = "RUNNING",
	[RUNTIME_STOPPED] = "STOPPED",
};
static const char *const network_names[] = {
	[PLAN_NETWORK_AWSVPC] = "awsvpc",
	[PLAN_NETWORK_BRIDGE] = "bridge",
	[PLAN_NETWORK_HOST] = "host",
	[PLAN_NETWORK_NONE] = "none",
};
static const char *const health_names[] = {
	[RUNTIME_HEALTH_NONE] = "UNKNOWN",
	[RUNTIME_HEALTH_UNKNOWN] = "UNKNOWN",
	[RUNTIME_HEALTHY] = "HEALTHY",
	[RUNTIME_UNHEALTHY] = "UNHEALTHY",
};

/* Members begin with a comma; the object's first one is always there. */
static void add_text(struct buffer *out, const char *name, struct span text)
{
	buffer_format(out, ",\"%s\":", name);
	json_write_string(text.data ? text : SPAN(""), out);
}

static void add_time(struct buffer *out, const char *name, int64_t milliseconds)
{
	time_t seconds = (time_t)(milliseconds / 1000);
	char text[32];
	struct tm parts;

	if (milliseconds == 0)
		return;
	gmtime_r(&seconds, &parts);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &parts);
	buffer_format(out, ",\"%s\":\"%s.%03dZ\"", name, text, (int)(milliseconds % 1000));
}

static const char *desired_status(const struct task *task)
{
	return task->stopping ? "STOPPED" : "RUNNING";
}

static void add_labels(const struct container *container, struct buffer *out)
{
	const struct plan *plan = container->task->plan;

	buffer_add_string(out, ",\"Labels\":{\"com.amazonaws.ecs.container-name\":");
	json_write_string(container->plan->name, out);
	add_text(out, "com.amazonaws.ecs.cluster", plan->cluster);
	add_text(out, "com.amazonaws.ecs.task-arn", plan->arn);
	add_text(out, "com.amazonaws.ecs.task-definition-family", plan->family);
	buffer_format(out, ",\"com.amazonaws.ecs.task-definition-version\":\"%lld\"}",
		(long long)plan->revision);
}

static void add_networks(const struct container *container, struct buffer *out)
{
	const struct runtime_task *record = container->task->record;

	buffer_format(out, ",\"Networks\":[{\"NetworkMode\":\"%s\",\"IPv4Addresses\":[",
		network_names[container->task->plan->network]);
	if (record->address.length > 0)
		json_write_string(record->address, out);
	buffer_add_char(out, ']');
	if (record->mac.length > 0)
		add_text(out, "MACAddress", record->mac);
	buffer_add_string(out, "}]");
}

static void add_ports(const struct container *container, struct buffer *out)
{
	const struct plan_container *plan = container->plan;

	if (plan->port_count == 0)
		return;
	buffer_add_string(out, ",\"Ports\":[");
	for (size_t i = 0; i < plan->port_count; i++)
		buffer_format(out, "%s{\"ContainerPort\":%u,\"Protocol\":\"%s\",\"HostPort\":%u}",
			i ? "," : "", (unsigned)plan->ports[i].container_port,
			plan->ports[i].udp ? "udp" : "tcp", (unsigned)plan->ports[i].host_port);
	buffer_add_char(out, ']');
}

void metadata_write_container(const struct container *container, struct buffer *out)
{
	const struct runtime_container *record = container->record;
	const struct task *task = container->task;

	buffer_add_string(out, "{\"DockerId\":");
	json_write_string(record->runtime_id, out);
	add_text(out, "Name", container->plan->name);
	add_text(out, "DockerName", record->runtime_id);
	add_text(out, "Image", SPAN("host"));
	add_text(out, "ImageID", SPAN(""));
	add_ports(container, out);
	add_labels(container, out);
	add_text(out, "DesiredStatus", span_of(desired_status(task)));
	add_text(out, "KnownStatus", span_of(known_names[record->phase]));
	if (record->has_exit_code)
		buffer_format(out, ",\"ExitCode\":%d", record->exit_code);
	buffer_format(out, ",\"Limits\":{\"CPU\":%lld,\"Memory\":%lld}",
		(long long)container->plan->cpu, (long long)container->plan->memory);
	add_time(out, "CreatedAt", task->record->created_ms);
	add_time(out, "StartedAt", record->started_ms);
	add_time(out, "FinishedAt", record->stopped_ms);
	if (container->plan->health)
		buffer_format(out, ",\"Health\":{\"status\":\"%s\"}", health_names[record->health]);
	add_text(out, "Type", SPAN("NORMAL"));
	add_networks(container, out);
	buffer_add_char(out, '}');
}

void metadata_write_task(const struct task *task, struct buffer *out)
{
	const struct plan *plan = task->plan;

	buffer_add_string(out, "{\"Cluster\":");
	json_write_string(plan->cluster.data ? plan->cluster : SPAN(""), out);
	add_text(out, "TaskARN", plan->arn);
	add_text(out, "Family", plan->family);
	buffer_format(out, ",\"Revision\":\"%lld\"", (long long)plan->revision);
	add_text(out, "DesiredStatus", span_of(desired_status(task)));
	add_text(out, "KnownStatus", span_of(known_names[task->record->phase]));
	if (plan->cpu > 0 || plan->memory > 0)
		buffer_format(out, ",\"Limits\":{\"CPU\":%g,\"Memory\":%lld}",
			(double)plan->cpu / UNITS_PER_PROCESSOR, (long long)plan->memory);
	add_time(out, "CreatedAt", task->record->created_ms);
	add_time(out, "StartedAt", task->record->started_ms);
	add_text(out, "LaunchType", SPAN("EC2"));
	buffer_add_string(out, ",\"Containers\":[");
	for (size_t i = 0; i < task->container_count; i++) {
		if (i)
			buffer_add_char(out, ',');
		metadata_write_container(&task->containers[i], out);
	}
	buffer_add_string(out, "]}");
}

void metadata_write_stats(const struct container *container, struct buffer *out)
{
	const struct task *task = container->task;
	int64_t usage;

	buffer_add_string(out, "{\"id\":");
	json_write_string(container->record->runtime_id, out);
	add_text(out, "name", container->plan->name);
	add_time(out, "read", clock_wall_ms(task->clock));
	buffer_add_string(out, ",\"memory_stats\":{");
	if (container->groups && cgroup_memory_usage(&task->mounts, task->plan->token,
					 container->plan->name, &usage)) {
		buffer_format(out, "\"usage\":%lld", (long long)usage);
		if (container->plan->memory > 0)
			buffer_format(out, ",\"limit\":%lld",
				(long long)(container->plan->memory * BYTES_PER_MEBIBYTE));
	}
	buffer_add_string(out, "}}");
}

void metadata_write_task_stats(const struct task *task, struct buffer *out)
{
	buffer_add_char(out, '{');
	for (size_t i = 0; i < task->container_count; i++) {
		if (i)
			buffer_add_char(out, ',');
		json_write_string(task->containers[i].record->runtime_id, out);
		buffer_add_char(out, ':');
		metadata_write_stats(&task->containers[i], out);
	}
	buffer_add_char(out, '}');
}
