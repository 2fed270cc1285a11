/* Bodies of create calls; see the header. */
#include "runtime/docker/create.h"

#include <stdio.h>

#include "base/memory.h"
#include "runtime/spec.h"

#define MIB ((int64_t)1024 * 1024)
#define MEMORY_LEAST (6 * MIB) /* below it Docker refuses */
#define SHARES_LEAST 2         /* ECS's default */
#define UNITS_PER_PROCESSOR 1024
#define NANO ((int64_t)1000 * 1000 * 1000)
#define LOG_FILES 5
#define LOG_FILE_LEAST ((uint64_t)64 * 1024)

struct span docker_container_name(struct arena *arena, const char *host, struct span token,
	struct span container)
{
	if (container.length == 0)
		return arena_format(arena, "slipway-%.*s.%.*s", DOCKER_HOST_DIGITS, host,
			SPAN_ARGS(token));
	return arena_format(arena, "slipway-%.*s.%.*s.%.*s", DOCKER_HOST_DIGITS, host,
		SPAN_ARGS(token), SPAN_ARGS(container));
}

struct span docker_network_name(struct arena *arena, const char *host)
{
	return arena_format(arena, "slipway-%.*s", DOCKER_HOST_DIGITS, host);
}

struct json *docker_labels(struct arena *arena, const char *host, const struct plan *plan,
	struct span container)
{
	struct json *labels = json_new_object(arena);

	json_set_string(arena, labels, DOCKER_LABEL_HOST, span_of(host));
	json_set_string(arena, labels, DOCKER_LABEL_TASK, plan->token);
	json_set_string(arena, labels, DOCKER_LABEL_CONTAINER, container);
	/* As the ECS agent sets them: tools depend on these. */
	if (plan->cluster.data)
		json_set_string(arena, labels, "com.amazonaws.ecs.cluster", plan->cluster);
	if (container.length > 0)
		json_set_string(arena, labels, "com.amazonaws.ecs.container-name", container);
	if (plan->arn.data)
		json_set_string(arena, labels, "com.amazonaws.ecs.task-arn", plan->arn);
	if (plan->family.data) {
		json_set_string(arena, labels, "com.amazonaws.ecs.task-definition-family",
			plan->family);
		json_set_string(arena, labels, "com.amazonaws.ecs.task-definition-version",
			arena_format(arena, "%lld", (long long)plan->revision));
	}
	return labels;
}

static struct json *strings_of(struct arena *arena, char *const *texts, size_t count)
{
	struct json *list = json_new_array(arena);

	for (size_t i = 0; i < count && texts[i]; i++)
		json_append(arena, list, json_new_string(arena, span_of(texts[i])));
	return list;
}

/* An entry point in the spec makes Docker ignore the image's command, as in ECS. */
static void set_program(struct arena *arena, struct json *body,
	const struct plan_container *container)
{
	size_t entry = container->entry_point_count;

	if (entry > 0)
		json_set(arena, body, "Entrypoint", strings_of(arena, container->arguments, entry));
	if (container->arguments[entry])
		json_set(arena, body, "Cmd",
			strings_of(arena, container->arguments + entry, SIZE_MAX));
}

static void set_environment(struct arena *arena, struct json *body,
	const struct plan_container *container, char *const *variables)
{
	struct json *list = strings_of(arena, variables, SIZE_MAX);

	for (size_t i = 0; container->environment[i]; i++)
		json_append(arena, list,
			json_new_string(arena, span_of(container->environment[i])));
	json_set(arena, body, "Env", list);
}

/* ECS ignores health checks of images, so those are disabled. */
static void set_health(struct arena *arena, struct json *body, const struct plan_health *health)
{
	struct json *check = json_new_object(arena), *test = json_new_array(arena);

	json_append(arena, test, json_new_string(arena, health ? SPAN("CMD") : SPAN("NONE")));
	for (size_t i = 0; health && health->arguments[i]; i++)
		json_append(arena, test, json_new_string(arena, span_of(health->arguments[i])));
	json_set(arena, check, "Test", test);
	if (health) {
		json_set_integer(arena, check, "Interval", health->interval_ms * (NANO / 1000));
		json_set_integer(arena, check, "Timeout", health->timeout_ms * (NANO / 1000));
		json_set_integer(arena, check, "StartPeriod",
			health->start_period_ms * (NANO / 1000));
		json_set_integer(arena, check, "Retries", health->retries);
	}
	json_set(arena, body, "Healthcheck", check);
}

static void set_ports(struct arena *arena, struct json *body, struct json *host,
	const struct plan_container *container)
{
	struct json *exposed = json_new_object(arena), *bindings = json_new_object(arena);

	for (size_t i = 0; i < container->port_count; i++) {
		const struct plan_port *port = &container->ports[i];
		struct json *binding = json_new_object(arena), *list = json_new_array(arena);
		const char *name = arena_format(arena, "%u/%s", (unsigned)port->container_port,
			port->udp ? "udp" : "tcp")
					   .data;

		/* Port "" is one that Docker chooses, and for each family another one. */
		json_set_string(arena, binding, "HostIp", SPAN("0.0.0.0"));
		json_set_string(arena, binding, "HostPort",
			port->host_port ? arena_format(arena, "%u", (unsigned)port->host_port)
					: SPAN(""));
		JSON_EACH_ITEM (json_get(bindings, name), other)
			json_append(arena, list, other);
		json_append(arena, list, binding);
		json_set(arena, bindings, name, list);
		json_set(arena, exposed, name, json_new_object(arena));
	}
	json_set(arena, body, "ExposedPorts", exposed);
	json_set(arena, host, "PortBindings", bindings);
}

static struct span network_mode(struct arena *arena, const char *host, const struct plan *plan)
{
	switch (plan->network) {
	case PLAN_NETWORK_AWSVPC:
		return arena_format(arena, "container:%s",
			docker_container_name(arena, host, plan->token, SPAN("")).data);
	case PLAN_NETWORK_HOST: return SPAN("host");
	case PLAN_NETWORK_NONE: return SPAN("none");
	case PLAN_NETWORK_BRIDGE: break;
	}
	return SPAN("bridge");
}

static void set_limits(struct arena *arena, struct json *host,
	const struct plan_container *container)
{
	struct json *list = json_new_array(arena);

	for (size_t i = 0; i < container->limit_count; i++) {
		const struct plan_limit *limit = &container->limits[i];
		struct json *item = json_new_object(arena);

		json_set_string(arena, item, "Name", span_of(limit->name));
		json_set_integer(arena, item, "Soft",
			limit->soft == RLIM_INFINITY ? -1 : (int64_t)limit->soft);
		json_set_integer(arena, item, "Hard",
			limit->hard == RLIM_INFINITY ? -1 : (int64_t)limit->hard);
		json_append(arena, list, item);
	}
	json_set(arena, host, "Ulimits", list);
}

static int64_t at_least(int64_t value, int64_t least)
{
	return value < least ? least : value;
}

/* A container without a limit of its own may use the whole task's. */
static void set_resources(struct arena *arena, struct json *host, const struct plan *plan,
	const struct plan_container *container, const struct docker_abilities *abilities)
{
	int64_t memory = container->memory ? container->memory : plan->memory;

	if (abilities->limits_memory && memory > 0)
		json_set_integer(arena, host, "Memory", at_least(memory * MIB, MEMORY_LEAST));
	if (abilities->limits_memory && container->memory_reservation > 0)
		json_set_integer(arena, host, "MemoryReservation",
			at_least(container->memory_reservation * MIB, MEMORY_LEAST));
	if (abilities->shares_processors)
		json_set_integer(arena, host, "CpuShares", at_least(container->cpu, SHARES_LEAST));
	if (abilities->limits_processors && plan->cpu > 0 &&
		plan->cpu < abilities->processors * UNITS_PER_PROCESSOR)
		json_set_integer(arena, host, "NanoCpus", plan->cpu * NANO / UNITS_PER_PROCESSOR);
}

static void set_mounts(struct arena *arena, struct json *host_config, const char *host,
	const struct plan *plan, const struct plan_container *container)
{
	struct json *list = json_new_array(arena);

	for (size_t i = 0; i < container->mount_count; i++) {
		const struct plan_mount *mount = &container->mounts[i];
		struct span source = mount->volume ? docker_container_name(arena, host, plan->token,
							     span_of(mount->volume))
						   : span_of(mount->source);

		json_append(arena, list,
			json_new_format(arena, "%.*s:%s%s", SPAN_ARGS(source), mount->target,
				mount->readonly ? ":ro" : ""));
	}
	json_set(arena, host_config, "Binds", list);
}

/* The daemon keeps log text that slipway has not copied yet. It writes many times the length of a
 * short line, and a program may write faster than slipway copies for a while. */
static void set_log(struct arena *arena, struct json *host, uint64_t most)
{
	struct json *log = json_new_object(arena), *config = json_new_object(arena);
	uint64_t size = most > LOG_FILE_LEAST ? most : LOG_FILE_LEAST;

	json_set_string(arena, config, "max-size",
		arena_format(arena, "%llu", (unsigned long long)size));
	json_set_string(arena, config, "max-file", arena_format(arena, "%d", LOG_FILES));
	json_set_string(arena, log, "Type", SPAN("json-file"));
	json_set(arena, log, "Config", config);
	json_set(arena, host, "LogConfig", log);
}

static void set_dns(struct arena *arena, struct json *host_config, const char *dns)
{
	struct json *servers = json_new_array(arena);

	if (!dns[0])
		return;
	json_append(arena, servers, json_new_string(arena, span_of(dns)));
	json_set(arena, host_config, "Dns", servers);
}

struct json *docker_create_body(struct arena *arena, const char *host, const struct plan *plan,
	size_t index, const struct docker_abilities *abilities, char *const *variables,
	const char *dns)
{
	const struct plan_container *container = &plan->containers[index];
	struct json *body = json_new_object(arena), *host_config = json_new_object(arena);

	json_set_string(arena, body, "Image", container->image);
	set_program(arena, body, container);
	set_environment(arena, body, container, variables);
	if (container->working_directory)
		json_set_string(arena, body, "WorkingDir", span_of(container->working_directory));
	if (container->user)
		json_set_string(arena, body, "User", span_of(container->user));
	/* A container that joins a network has that network's host name. */
	if (container->hostname && plan->network != PLAN_NETWORK_AWSVPC)
		json_set_string(arena, body, "Hostname", span_of(container->hostname));
	json_set(arena, body, "Labels", docker_labels(arena, host, plan, container->name));
	set_health(arena, body, container->health);
	json_set_string(arena, host_config, "NetworkMode", network_mode(arena, host, plan));
	/* A container that joins a network has the name servers of the one that holds it. */
	if (plan->network == PLAN_NETWORK_BRIDGE || plan->network == PLAN_NETWORK_HOST)
		set_dns(arena, host_config, dns);
	if (plan->network == PLAN_NETWORK_BRIDGE)
		set_ports(arena, body, host_config, container);
	set_limits(arena, host_config, container);
	set_resources(arena, host_config, plan, container, abilities);
	set_mounts(arena, host_config, host, plan, container);
	set_log(arena, host_config, container->log_max_bytes);
	json_set_bool(arena, host_config, "ReadonlyRootfs", container->readonly_root);
	json_set_bool(arena, host_config, "Privileged", container->privileged);
	json_set(arena, host_config, "CapAdd", container->capabilities_added);
	json_set(arena, host_config, "CapDrop", container->capabilities_dropped);
	json_set(arena, body, "HostConfig", host_config);
	return body;
}

struct json *docker_network_holder_body(struct arena *arena, const char *host,
	const struct plan *plan, struct span image, struct span network, const char *dns)
{
	struct json *body = json_new_object(arena), *host_config = json_new_object(arena);
	struct json *entry = json_new_array(arena);

	json_append(arena, entry, json_new_string(arena, SPAN("/pause")));
	json_set_string(arena, body, "Image", image);
	json_set(arena, body, "Entrypoint", entry);
	for (size_t i = 0; i < plan->container_count; i++)
		if (plan->containers[i].hostname && !json_get(body, "Hostname"))
			json_set_string(arena, body, "Hostname",
				span_of(plan->containers[i].hostname));
	json_set(arena, body, "Labels", docker_labels(arena, host, plan, SPAN("")));
	set_health(arena, body, NULL);
	json_set_string(arena, host_config, "NetworkMode", network);
	set_dns(arena, host_config, dns);
	json_set_bool(arena, host_config, "ReadonlyRootfs", true);
	set_log(arena, host_config, 0);
	json_set(arena, body, "HostConfig", host_config);
	return body;
}

struct span docker_create_notes(struct arena *arena, const struct plan *plan,
	const struct docker_abilities *abilities)
{
	_buffer_ struct buffer notes = {0};
	bool memory = plan->memory > 0, processors = plan->cpu > 0;

	for (size_t i = 0; i < plan->container_count; i++)
		memory |= plan->containers[i].memory > 0;
	if (memory && !abilities->limits_memory)
		buffer_add_string(&notes, "memory is not limited: the daemon cannot");
	if (processors && !abilities->limits_processors)
		buffer_format(&notes, "%sprocessors are not limited: the daemon cannot",
			notes.length ? "; " : "");
	if (plan->container_count > 1 && (plan->memory > 0 || plan->cpu > 0))
		buffer_format(&notes,
			"%scpu and memory of the task limit each of its containers, not their sum",
			notes.length ? "; " : "");
	return arena_copy_span(arena, buffer_span(&notes));
}

static int check_mounts(const struct plan_container *container, struct err *err)
{
	for (size_t i = 0; i < container->mount_count; i++) {
		const struct plan_mount *mount = &container->mounts[i];

		if (strchr(mount->target, ':') || (mount->source && strchr(mount->source, ':')))
			return err_set(err, RUNTIME_REASON_IS_NAMED,
				"CannotCreateVolumeError: container '%.*s': Docker takes no path "
				"with a colon ('%s')",
				SPAN_ARGS(container->name),
				mount->source ? mount->source : mount->target);
	}
	return 0;
}

int docker_create_check(const struct plan *plan, struct err *err)
{
	for (size_t i = 0; i < plan->container_count; i++) {
		const struct plan_container *container = &plan->containers[i];
		int code = check_mounts(container, err);

		if (code < 0)
			return code;
		if (span_is(container->image, "host"))
			return err_set(err, RUNTIME_REASON_IS_NAMED,
				"CannotPullContainerError: image 'host' of container '%.*s' means "
				"a "
				"program of this machine, which needs slipway up --runtime "
				"process; this slipway runs tasks in Docker",
				SPAN_ARGS(container->name));
		if (container->image.length == 0)
			return err_set(err, RUNTIME_REASON_IS_NAMED,
				"CannotPullContainerError: container '%.*s' has no image",
				SPAN_ARGS(container->name));
	}
	return 0;
}
