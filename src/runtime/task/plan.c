/* From a spec to a plan. Every error names the container and the member. */
#include "runtime/task/plan.h"

#include <arpa/inet.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/memory.h"
#include "runtime/spec.h"
#include "runtime/task/capability_set.h"

#define HEALTH_INTERVAL 30
#define HEALTH_TIMEOUT 5
#define HEALTH_RETRIES 3
#define STOP_TIMEOUT 30
#define RESTART_PERIOD 300
#define LOG_MAX ((int64_t)10 * 1024 * 1024)
#define LOG_LEAST ((int64_t)4096)
#define LOG_MOST ((int64_t)1 << 40)

static const struct {
	const char *name;
	int resource;
} limit_names[] = {
	{"core", RLIMIT_CORE},
	{"cpu", RLIMIT_CPU},
	{"data", RLIMIT_DATA},
	{"fsize", RLIMIT_FSIZE},
	{"locks", RLIMIT_LOCKS},
	{"memlock", RLIMIT_MEMLOCK},
	{"msgqueue", RLIMIT_MSGQUEUE},
	{"nice", RLIMIT_NICE},
	{"nofile", RLIMIT_NOFILE},
	{"nproc", RLIMIT_NPROC},
	{"rss", RLIMIT_RSS},
	{"rtprio", RLIMIT_RTPRIO},
	{"rttime", RLIMIT_RTTIME},
	{"sigpending", RLIMIT_SIGPENDING},
	{"stack", RLIMIT_STACK},
};
_Static_assert(LENGTH(limit_names) == PLAN_LIMITS_MAX, "PLAN_LIMITS_MAX counts the names");

static const char *const network_names[] = {"awsvpc", "bridge", "host", "none"};
static const char *const condition_names[] = {"START", "COMPLETE", "SUCCESS", "HEALTHY"};

struct reading {
	enum plan_images images;
	struct arena *arena;
	struct plan *plan;
	struct span container; /* being read; for messages */
	struct err *err;
};

__attribute__((format(printf, 2, 3))) static int refuse(struct reading *reading, const char *format,
	...)
{
	char text[ERR_MESSAGE_MAX / 2];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	if (reading->container.length > 0)
		return err_set(reading->err, -EINVAL, "container '%.*s': %s",
			SPAN_ARGS(reading->container), text);
	return err_set(reading->err, -EINVAL, "%s", text);
}
#define refuse(...) ERR_NEGATIVE(refuse(__VA_ARGS__))

/* With the name of an error of ECS; without it the task's reason is a CannotStartContainerError. */
__attribute__((format(printf, 3, 4))) static int refuse_as(struct reading *reading,
	const char *name, const char *format, ...)
{
	char text[ERR_MESSAGE_MAX / 2];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	return err_set(reading->err, RUNTIME_REASON_IS_NAMED, "%s: %s", name, text);
}
#define refuse_as(...) ERR_NEGATIVE(refuse_as(__VA_ARGS__))

/* A text as the system takes it: ended by NUL, none inside. */
static int read_string(struct reading *reading, const struct json *value, const char *what,
	char **ret_text)
{
	struct span text = json_text(value);

	if (!text.data)
		return refuse(reading, "%s is not a string", what);
	if (memchr(text.data, '\0', text.length))
		return refuse(reading, "%s has a NUL character in it", what);
	*ret_text = arena_copy(reading->arena, text.data, text.length);
	return 0;
}

static int read_optional(struct reading *reading, const struct json *object, const char *name,
	const char **ret_text)
{
	const struct json *value = json_get(object, name);
	char *text;
	int code;

	if (json_is_absent(value))
		return 0;
	code = read_string(reading, value, name, &text);
	if (code == 0 && text[0] != '\0')
		*ret_text = text;
	return code;
}

static int read_integer(struct reading *reading, const struct json *object, const char *name,
	int64_t least, int64_t most, int64_t otherwise, int64_t *ret_value)
{
	const struct json *value = json_get(object, name);
	int64_t number = otherwise;

	if (!json_is_absent(value) &&
		(!json_integer(value, &number) || number < least || number > most))
		return refuse(reading, "%s is not a whole number from %lld to %lld", name,
			(long long)least, (long long)most);
	*ret_value = number;
	return 0;
}

static int read_seconds(struct reading *reading, const struct json *object, const char *name,
	int64_t otherwise, int64_t *ret_ms)
{
	int64_t seconds;
	int code = read_integer(reading, object, name, 0, PLAN_SECONDS_MAX, otherwise, &seconds);

	if (code < 0)
		return code;
	*ret_ms = seconds * 1000;
	return 0;
}

/* An absent list is an empty one. */
static int check_list(struct reading *reading, const struct json *object, const char *name,
	const struct json **ret_list)
{
	const struct json *list = json_get(object, name);

	if (!json_is_absent(list) && list->type != JSON_ARRAY)
		return refuse(reading, "%s is not a list", name);
	*ret_list = json_is_absent(list) ? NULL : list;
	return 0;
}

static int find_name(const char *const *names, size_t count, struct span name)
{
	for (size_t i = 0; i < count; i++)
		if (span_is(name, names[i]))
			return (int)i;
	return -1;
}

static int read_arguments(struct reading *reading, const struct json *container,
	struct plan_container *plan)
{
	static const char *const parts[] = {"entryPoint", "command"};
	char **arguments;
	size_t count = 0;

	arguments = arena_allocate_array(reading->arena,
		json_count(json_get(container, "entryPoint")) +
			json_count(json_get(container, "command")) + 1,
		sizeof(*arguments));
	for (size_t i = 0; i < LENGTH(parts); i++) {
		const struct json *list;
		int code = check_list(reading, container, parts[i], &list);

		if (code < 0)
			return code;
		JSON_EACH_ITEM (list, item) {
			code = read_string(reading, item, parts[i], &arguments[count]);
			if (code < 0)
				return code;
			count++;
		}
	}
	if (reading->images == PLAN_IMAGE_HOST && (count == 0 || arguments[0][0] == '\0'))
		return refuse(reading, "no command: image \"host\" has none of its own, so the "
				       "task definition must "
				       "name one");
	plan->arguments = arguments;
	plan->entry_point_count = json_count(json_get(container, "entryPoint"));
	return 0;
}

static int read_environment(struct reading *reading, const struct json *container,
	struct plan_container *plan)
{
	const struct json *list;
	size_t count = 0;
	int code = check_list(reading, container, "environment", &list);

	if (code < 0)
		return code;
	plan->environment = arena_allocate_array(reading->arena, json_count(list) + 1,
		sizeof(*plan->environment));
	JSON_EACH_ITEM (list, item) {
		struct span name = json_get_text(item, "name");
		char *value = NULL;

		if (name.length == 0 || memchr(name.data, '=', name.length) ||
			memchr(name.data, '\0', name.length))
			return refuse(reading, "environment has a name that is no variable's");
		code = read_string(reading, json_get(item, "value"), "environment", &value);
		if (code < 0)
			return code;
		plan->environment[count++] =
			(char *)arena_format(reading->arena, "%.*s=%s", SPAN_ARGS(name), value)
				.data;
	}
	return 0;
}

/* Files of this machine; others cannot be fetched, and ECS has an error for that. */
static int read_environment_files(struct reading *reading, const struct json *container,
	struct plan_container *plan)
{
	const struct json *list;
	size_t count = 0;
	int code = check_list(reading, container, "environmentFiles", &list);

	if (code < 0)
		return code;
	if (json_count(list) > PLAN_ENVIRONMENT_FILES_MAX)
		return refuse(reading, "environmentFiles has more than %d",
			PLAN_ENVIRONMENT_FILES_MAX);
	plan->environment_files = arena_allocate_array(reading->arena, json_count(list) + 1,
		sizeof(*plan->environment_files));
	JSON_EACH_ITEM (list, item) {
		const struct json *value = json_get(item, "value");
		char *path = NULL;

		code = read_string(reading, json_is_absent(value) ? item : value,
			"environmentFiles", &path);
		if (code < 0)
			return code;
		if (path[0] != '/')
			return refuse_as(reading, "ResourceInitializationError",
				"environment file '%s' is not a path "
				"of this machine, and none is fetched",
				path);
		plan->environment_files[count++] = path;
	}
	return 0;
}

static int read_limit_value(struct reading *reading, const struct json *item, const char *name,
	rlim_t *ret_value)
{
	int64_t value;

	if (!json_integer(json_get(item, name), &value) || value < -1)
		return refuse(reading, "ulimits: %s is not a number of at least -1", name);
	*ret_value = value == -1 ? RLIM_INFINITY : (rlim_t)value;
	return 0;
}

static int read_limits(struct reading *reading, const struct json *container,
	struct plan_container *plan)
{
	const struct json *list;
	int code = check_list(reading, container, "ulimits", &list);

	if (code < 0)
		return code;
	JSON_EACH_ITEM (list, item) {
		struct span name = json_get_text(item, "name");
		struct plan_limit limit = {0};

		for (size_t i = 0; i < LENGTH(limit_names); i++)
			if (span_is(name, limit_names[i].name))
				limit = (struct plan_limit){.name = limit_names[i].name,
					.resource = limit_names[i].resource};
		if (!limit.name)
			return refuse(reading, "ulimits: '%.*s' is no limit's name",
				SPAN_ARGS(name));
		for (size_t i = 0; i < plan->limit_count; i++)
			if (plan->limits[i].resource == limit.resource)
				return refuse(reading, "ulimits: '%s' is there twice", limit.name);
		code = read_limit_value(reading, item, "softLimit", &limit.soft);
		if (code == 0)
			code = read_limit_value(reading, item, "hardLimit", &limit.hard);
		if (code < 0)
			return code;
		if (limit.soft > limit.hard)
			return refuse(reading,
				"ulimits: the soft limit of '%s' is above the hard one",
				limit.name);
		plan->limits[plan->limit_count++] = limit;
	}
	return 0;
}

static int read_ports(struct reading *reading, const struct json *container,
	struct plan_container *plan)
{
	const struct json *list;
	int code = check_list(reading, container, "portMappings", &list);

	if (code < 0)
		return code;
	if (json_count(list) > RUNTIME_BINDINGS_MAX)
		return refuse(reading, "portMappings has more than %d", RUNTIME_BINDINGS_MAX);
	plan->ports =
		arena_allocate_array(reading->arena, json_count(list) + 1, sizeof(*plan->ports));
	JSON_EACH_ITEM (list, item) {
		struct span protocol = json_get_text(item, "protocol");
		int64_t container_port, host_port;

		code = read_integer(reading, item, "containerPort", 1, UINT16_MAX, 0,
			&container_port);
		if (code == 0)
			code = read_integer(reading, item, "hostPort", 0, UINT16_MAX, 0,
				&host_port);
		if (code < 0)
			return code;
		if (container_port == 0)
			return refuse(reading, "portMappings: containerPort is missing");
		if (protocol.length > 0 && !span_is(protocol, "tcp") && !span_is(protocol, "udp"))
			return refuse(reading, "portMappings: protocol is neither tcp nor udp");
		/* Only bridge maps ports; in other modes a container has its port as it is. */
		if (reading->plan->network != PLAN_NETWORK_BRIDGE)
			host_port = container_port;
		plan->ports[plan->port_count++] = (struct plan_port){
			.container_port = (uint16_t)container_port,
			.host_port = (uint16_t)host_port,
			.udp = span_is(protocol, "udp"),
		};
	}
	return 0;
}

static int read_health(struct reading *reading, const struct json *container,
	struct plan_container *plan)
{
	const struct json *check = json_get(container, "healthCheck");
	const struct json *command = json_get(check, "command");
	struct span kind = json_text(json_item(command, 0));
	struct plan_health *health;
	size_t count = 0;
	int64_t retries;
	int code;

	if (json_is_absent(check) || span_is(kind, "NONE"))
		return 0;
	if (!span_is(kind, "CMD") && !span_is(kind, "CMD-SHELL"))
		return refuse(reading,
			"healthCheck: the command begins with neither CMD nor CMD-SHELL");
	if (json_count(command) < 2 || (span_is(kind, "CMD-SHELL") && json_count(command) != 2))
		return refuse(reading, "healthCheck: %.*s wants %s behind it", SPAN_ARGS(kind),
			span_is(kind, "CMD") ? "a program" : "one text for the shell");
	health = arena_allocate(reading->arena, sizeof(*health));
	health->arguments = arena_allocate_array(reading->arena, json_count(command) + 3,
		sizeof(*health->arguments));
	if (span_is(kind, "CMD-SHELL")) {
		health->arguments[count++] = "/bin/sh";
		health->arguments[count++] = "-c";
	}
	for (size_t i = 1; i < json_count(command); i++) {
		code = read_string(reading, json_item(command, i), "healthCheck.command",
			&health->arguments[count]);
		if (code < 0)
			return code;
		count++;
	}
	code = read_seconds(reading, check, "interval", HEALTH_INTERVAL, &health->interval_ms);
	if (code == 0)
		code = read_seconds(reading, check, "timeout", HEALTH_TIMEOUT, &health->timeout_ms);
	if (code == 0)
		code = read_seconds(reading, check, "startPeriod", 0, &health->start_period_ms);
	if (code == 0)
		code = read_integer(reading, check, "retries", 1, 1000, HEALTH_RETRIES, &retries);
	if (code < 0)
		return code;
	health->retries = (unsigned)retries;
	plan->health = health;
	return 0;
}

static int read_restart(struct reading *reading, const struct json *container,
	struct plan_container *plan)
{
	const struct json *policy = json_get(container, "restartPolicy");
	int code;

	if (json_is_absent(policy))
		return 0;
	plan->restarts = json_get_bool(policy, "enabled", false);
	code = check_list(reading, policy, "ignoredExitCodes", &plan->ignored_exit_codes);
	if (code < 0)
		return code;
	return read_seconds(reading, policy, "restartAttemptPeriod", RESTART_PERIOD,
		&plan->restart_period_ms);
}

static bool is_file_name(struct span name, size_t most)
{
	if (name.length == 0 || name.length > most)
		return false;
	for (size_t i = 0; i < name.length; i++) {
		char c = name.data[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
			    c == '-' || c == '_'))
			return false;
	}
	return true;
}

bool plan_token_is_valid(struct span token)
{
	return is_file_name(token, RUNTIME_TOKEN_MAX);
}

/* A path from the root without steps upwards. */
static bool is_absolute(const char *path)
{
	size_t length = strlen(path);

	return path[0] == '/' && length < PATH_MAX && !strstr(path, "/../") &&
	       !(length >= 3 && strcmp(path + length - 3, "/..") == 0);
}

static int read_volume(struct reading *reading, const struct json *spec, struct span name,
	struct plan_mount *mount)
{
	JSON_EACH_ITEM (json_get(spec, "volumes"), volume) {
		const struct json *path = json_path(volume, "host.sourcePath");
		char *source = NULL;
		int code;

		if (!span_equal(json_get_text(volume, "name"), name))
			continue;
		if (!json_is_absent(path)) {
			code = read_string(reading, path, "sourcePath", &source);
			if (code < 0)
				return code;
		}
		if (source && source[0] != '\0') {
			if (!is_absolute(source))
				return refuse_as(reading, "CannotCreateVolumeError",
					"the sourcePath '%s' of volume "
					"'%.*s' is not absolute",
					source, SPAN_ARGS(name));
			mount->source = source;
			return 0;
		}
		if (!is_file_name(name, PLAN_NAME_MAX))
			break;
		mount->volume = arena_copy(reading->arena, name.data, name.length);
		return 0;
	}
	return refuse_as(reading, "CannotCreateVolumeError", "there is no volume '%.*s'",
		SPAN_ARGS(name));
}

static int read_mounts(struct reading *reading, const struct json *spec,
	const struct json *container, struct plan_container *plan)
{
	const struct json *list;
	int code = check_list(reading, container, "mountPoints", &list);

	if (code < 0)
		return code;
	if (json_count(list) > PLAN_MOUNTS_MAX)
		return refuse(reading, "mountPoints has more than %d", PLAN_MOUNTS_MAX);
	plan->mounts =
		arena_allocate_array(reading->arena, json_count(list) + 1, sizeof(*plan->mounts));
	JSON_EACH_ITEM (list, item) {
		struct plan_mount *mount = &plan->mounts[plan->mount_count];
		char *target = NULL;

		code = read_string(reading, json_get(item, "containerPath"), "containerPath",
			&target);
		if (code < 0)
			return code;
		if (!is_absolute(target) || target[1] == '\0')
			return refuse(reading,
				"mountPoints: containerPath '%s' is not an absolute path", target);
		code = read_volume(reading, spec, json_get_text(item, "sourceVolume"), mount);
		if (code < 0)
			return code;
		mount->target = target;
		mount->readonly = json_get_bool(item, "readOnly", false);
		plan->mount_count++;
	}
	return 0;
}

static int read_name(struct reading *reading, const struct json *container,
	struct plan_container *plan)
{
	struct span name = json_get_text(container, "name");
	struct span image = json_get_text(container, "image");

	if (!is_file_name(name, PLAN_NAME_MAX))
		return refuse(reading,
			"a container's name is not of 1 to %d letters, digits, hyphens and "
			"underscores",
			PLAN_NAME_MAX);
	for (size_t i = 0; i < reading->plan->container_count; i++)
		if (span_equal(reading->plan->containers[i].name, name))
			return refuse(reading, "container '%.*s' is there twice", SPAN_ARGS(name));
	if (reading->images == PLAN_IMAGE_HOST && !span_is(image, "host"))
		return refuse_as(reading, "CannotStartContainerError",
			"image '%.*s' needs the docker runtime; the process runtime runs programs "
			"of this machine (image \"host\")",
			SPAN_ARGS(image));
	plan->name = name;
	plan->image = image.data ? image : SPAN("");
	return 0;
}

static int read_capabilities(struct reading *reading, const struct json *container,
	struct plan_container *plan)
{
	const struct json *capabilities = json_get(container, "capabilities");
	struct span unknown;

	plan->capabilities_added = json_get(capabilities, "add");
	plan->capabilities_dropped = json_get(capabilities, "drop");
	if (capability_set_read(capabilities, plan->privileged, &plan->capabilities, &unknown))
		return 0;
	return refuse(reading, "capabilities: '%.*s' is no capability's name", SPAN_ARGS(unknown));
}

static int read_container(struct reading *reading, const struct json *spec,
	const struct json *container, struct plan_container *plan)
{
	int64_t log_max = LOG_MAX;
	int code;

	reading->container = SPAN("");
	code = read_name(reading, container, plan);
	if (code < 0)
		return code;
	reading->container = plan->name;
	plan->essential = json_get_bool(container, "essential", true);
	plan->privileged = json_get_bool(container, "privileged", false);
	plan->readonly_root = json_get_bool(container, "readonlyRootFilesystem", false);
	code = read_arguments(reading, container, plan);
	if (code == 0)
		code = read_capabilities(reading, container, plan);
	if (code == 0)
		code = read_environment_files(reading, container, plan);
	if (code == 0)
		code = read_environment(reading, container, plan);
	if (code == 0)
		code = read_limits(reading, container, plan);
	if (code == 0)
		code = read_ports(reading, container, plan);
	if (code == 0)
		code = read_health(reading, container, plan);
	if (code == 0)
		code = read_restart(reading, container, plan);
	if (code == 0)
		code = read_mounts(reading, spec, container, plan);
	if (code == 0)
		code = read_optional(reading, container, "workingDirectory",
			&plan->working_directory);
	if (code == 0)
		code = read_optional(reading, container, "user", &plan->user);
	if (code == 0)
		code = read_optional(reading, container, "hostname", &plan->hostname);
	if (code == 0)
		code = read_seconds(reading, container, "startTimeout", 0, &plan->start_timeout_ms);
	if (code == 0)
		code = read_seconds(reading, container, "stopTimeout", STOP_TIMEOUT,
			&plan->stop_timeout_ms);
	if (code == 0)
		code = read_integer(reading, container, "cpu", 0, INT32_MAX, 0, &plan->cpu);
	if (code == 0)
		code = read_integer(reading, container, "memory", 0, INT32_MAX, 0, &plan->memory);
	if (code == 0)
		code = read_integer(reading, container, "memoryReservation", 0, INT32_MAX, 0,
			&plan->memory_reservation);
	if (code == 0)
		code = read_integer(reading, container, "logMaxBytes", LOG_LEAST, LOG_MOST, LOG_MAX,
			&log_max);
	plan->log_max_bytes = (uint64_t)log_max;
	return code;
}

static int read_dependencies(struct reading *reading, const struct json *container,
	struct plan_container *plan)
{
	const struct json *list;
	int code;

	reading->container = plan->name;
	code = check_list(reading, container, "dependsOn", &list);
	if (code < 0)
		return code;
	if (json_count(list) > RUNTIME_CONTAINERS_MAX)
		return refuse(reading, "dependsOn has more than %d", RUNTIME_CONTAINERS_MAX);
	JSON_EACH_ITEM (list, item) {
		struct span name = json_get_text(item, "containerName");
		struct span condition = json_get_text(item, "condition");
		int kind = find_name(condition_names, LENGTH(condition_names), condition);
		size_t other = 0;

		while (other < reading->plan->container_count &&
			!span_equal(reading->plan->containers[other].name, name))
			other++;
		if (other == reading->plan->container_count)
			return refuse(reading, "dependsOn: there is no container '%.*s'",
				SPAN_ARGS(name));
		if (kind < 0)
			return refuse(reading, "dependsOn: '%.*s' is no condition",
				SPAN_ARGS(condition));
		if (kind == PLAN_HEALTHY && !reading->plan->containers[other].health)
			return refuse(reading, "dependsOn: container '%.*s' has no healthCheck",
				SPAN_ARGS(name));
		plan->dependencies[plan->dependency_count++] = (struct plan_dependency){
			.container = other, .condition = (enum plan_condition)kind};
	}
	return 0;
}

/* Removes, round after round, containers that wait for no remaining one; a cycle remains. */
static int check_cycles(struct reading *reading)
{
	const struct plan *plan = reading->plan;
	bool gone[RUNTIME_CONTAINERS_MAX] = {false};

	for (size_t round = 0; round < plan->container_count; round++)
		for (size_t i = 0; i < plan->container_count; i++) {
			bool waits = false;

			for (size_t j = 0; j < plan->containers[i].dependency_count; j++)
				waits |= !gone[plan->containers[i].dependencies[j].container];
			gone[i] |= !waits;
		}
	for (size_t i = 0; i < plan->container_count; i++)
		if (!gone[i]) {
			reading->container = plan->containers[i].name;
			return refuse(reading, "dependsOn leads back to it");
		}
	return 0;
}

int plan_parse_spec(const struct json *spec, enum plan_images images, struct arena *arena,
	struct plan **ret_plan, struct err *err)
{
	struct plan *plan = arena_allocate(arena, sizeof(*plan));
	struct reading reading = {
		.images = images, .arena = arena, .plan = plan, .container = SPAN(""), .err = err};
	const struct json *containers = json_get(spec, "containers");
	struct span network = json_get_text(spec, "networkMode");
	int kind = network.length ? find_name(network_names, LENGTH(network_names), network)
				  : PLAN_NETWORK_BRIDGE;
	int code;

	plan->token = plan->instance = plan->address = SPAN("");
	plan->cluster = json_get_text(spec, "cluster");
	plan->arn = json_get_text(spec, "arn");
	plan->family = json_get_text(spec, "family");
	plan->revision = json_get_integer(spec, "revision", 0);
	if (json_get_integer(spec, "version", 0) != RUNTIME_SPEC_VERSION)
		return refuse(&reading, "the spec's version is not %d", RUNTIME_SPEC_VERSION);
	if (kind < 0)
		return refuse(&reading, "networkMode '%.*s' is unknown", SPAN_ARGS(network));
	plan->network = (enum plan_network)kind;
	if (json_array_count(containers) == 0 ||
		json_array_count(containers) > RUNTIME_CONTAINERS_MAX)
		return refuse(&reading, "containers is not a list of 1 to %d",
			RUNTIME_CONTAINERS_MAX);
	code = read_integer(&reading, spec, "cpu", 0, INT32_MAX, 0, &plan->cpu);
	if (code == 0)
		code = read_integer(&reading, spec, "memory", 0, INT32_MAX, 0, &plan->memory);
	if (code < 0)
		return code;
	JSON_EACH_ITEM (containers, container) {
		code = read_container(&reading, spec, container,
			&plan->containers[plan->container_count]);
		if (code < 0)
			return code;
		plan->container_count++;
	}
	for (size_t i = 0; i < plan->container_count; i++) {
		code = read_dependencies(&reading, json_item(containers, i), &plan->containers[i]);
		if (code < 0)
			return code;
	}
	code = check_cycles(&reading);
	if (code < 0)
		return code;
	*ret_plan = plan;
	return 0;
}

static bool read_address(const struct json *link, const char *name, uint32_t *ret_address)
{
	struct span text = json_get_text(link, name);
	char copy[INET_ADDRSTRLEN];
	struct in_addr address;

	snprintf(copy, sizeof(copy), "%.*s", SPAN_ARGS(text));
	if (inet_pton(AF_INET, copy, &address) != 1)
		return false;
	*ret_address = ntohl(address.s_addr);
	return true;
}

static int read_link(const struct json *order, struct plan *plan, struct err *err)
{
	const struct json *link = json_get(order, "link");
	struct span bridge = json_get_text(link, "bridge");
	int64_t prefix = json_get_integer(link, "prefix", 0);

	if (json_is_absent(link))
		return 0;
	if (bridge.length == 0 || bridge.length >= PLAN_BRIDGE_MAX || prefix < 8 || prefix > 30 ||
		!read_address(link, "address", &plan->link.address) ||
		!read_address(link, "gateway", &plan->link.gateway))
		return err_set(err, -EINVAL, "the order's link is not one");
	memcpy(plan->link.bridge, bridge.data, bridge.length);
	plan->link.prefix = (unsigned)prefix;
	return 0;
}

static int read_hidden(const struct json *order, struct arena *arena, struct plan *plan,
	struct err *err)
{
	const char **hidden = arena_allocate_array(arena, PLAN_HIDDEN_MAX + 1, sizeof(*hidden));
	size_t count = 0;

	JSON_EACH_ITEM (json_get(order, "hidden"), item) {
		struct span path = json_text(item);

		if (count == PLAN_HIDDEN_MAX || !path.data || path.length == 0 ||
			path.data[0] != '/')
			return err_set(err, -EINVAL, "the order's hidden folders are not valid");
		hidden[count++] = arena_copy(arena, path.data, path.length);
	}
	plan->hidden = hidden;
	return 0;
}

int plan_parse_task_spec(struct span text, enum plan_images images, struct arena *arena,
	struct plan **ret_plan, struct err *err)
{
	struct json *order;
	struct plan *plan;
	int code = json_parse(text, arena, &order, err);

	if (code < 0)
		return code;
	if (json_get_integer(order, "version", 0) != PLAN_SPEC_VERSION)
		return err_set(err, -EINVAL, "the order's version is not %d", PLAN_SPEC_VERSION);
	code = plan_parse_spec(json_get(order, "spec"), images, arena, &plan, err);
	if (code < 0)
		return code;
	plan->token = json_get_text(order, "token");
	plan->instance = json_get_text(order, "instance");
	plan->address = json_get_text(order, "address");
	plan->created_ms = json_get_integer(order, "createdMs", 0);
	if (!plan->token.data || !plan->instance.data || !plan->address.data)
		return err_set(err, -EINVAL, "the order lacks its token, instance or address");
	plan->plain = json_get_bool(order, "plain", false);
	plan->processes_max = json_get_integer(order, "processesMax", 0);
	code = read_link(order, plan, err);
	if (code == 0)
		code = read_hidden(order, arena, plan, err);
	if (code < 0)
		return code;
	for (size_t i = 0; i < plan->container_count; i++) {
		const struct json *ports = json_item(json_get(order, "hostPorts"), i);

		for (size_t j = 0; j < plan->containers[i].port_count; j++) {
			int64_t port;

			/* Docker chooses ports itself, and later. */
			if (!json_integer(json_item(ports, j), &port) ||
				port < (images == PLAN_IMAGE_HOST ? 1 : 0) || port > UINT16_MAX)
				return err_set(err, -EINVAL, "the order lacks a host port");
			plan->containers[i].ports[j].host_port = (uint16_t)port;
		}
	}
	*ret_plan = plan;
	return 0;
}

struct span plan_address_text(uint32_t address, char text[PLAN_ADDRESS_MAX])
{
	struct in_addr number = {.s_addr = htonl(address)};

	return span_of(inet_ntop(AF_INET, &number, text, PLAN_ADDRESS_MAX));
}

static void write_link(const struct plan_link *link, struct buffer *out)
{
	char text[PLAN_ADDRESS_MAX];

	buffer_format(out, ",\"link\":{\"bridge\":\"%s\"", link->bridge);
	buffer_format(out, ",\"address\":\"%s\"", plan_address_text(link->address, text).data);
	buffer_format(out, ",\"gateway\":\"%s\"", plan_address_text(link->gateway, text).data);
	buffer_format(out, ",\"prefix\":%u}", link->prefix);
}

void plan_write_task_spec(const struct plan *plan, const struct json *spec, struct buffer *out)
{
	buffer_format(out, "{\"version\":%d,\"token\":", PLAN_SPEC_VERSION);
	json_write_string(plan->token, out);
	buffer_add_string(out, ",\"instance\":");
	json_write_string(plan->instance, out);
	buffer_format(out, ",\"createdMs\":%lld,\"address\":", (long long)plan->created_ms);
	json_write_string(plan->address, out);
	buffer_format(out, ",\"plain\":%s", plan->plain ? "true" : "false");
	if (plan->link.bridge[0])
		write_link(&plan->link, out);
	buffer_add_string(out, ",\"hidden\":[");
	for (size_t i = 0; plan->hidden && plan->hidden[i]; i++) {
		buffer_add_string(out, i ? "," : "");
		json_write_string(span_of(plan->hidden[i]), out);
	}
	buffer_format(out, "],\"processesMax\":%lld", (long long)plan->processes_max);
	buffer_add_string(out, ",\"hostPorts\":[");
	for (size_t i = 0; i < plan->container_count; i++) {
		buffer_add_string(out, i ? ",[" : "[");
		for (size_t j = 0; j < plan->containers[i].port_count; j++)
			buffer_format(out, "%s%u", j ? "," : "",
				(unsigned)plan->containers[i].ports[j].host_port);
		buffer_add_char(out, ']');
	}
	buffer_add_string(out, "],\"spec\":");
	json_write(spec, out);
	buffer_add_char(out, '}');
}

/* A copy of a list of variables without the values of secrets. */
static struct json *forget_values(const struct json *variables, struct arena *arena, bool *found)
{
	struct json *list = json_new_array(arena);

	JSON_EACH_ITEM (variables, variable) {
		struct json *copy = json_copy_object(arena, variable);

		if (json_get_bool(variable, "secret", false)) {
			json_set_string(arena, copy, "value", SPAN(""));
			*found = true;
		}
		json_append(arena, list, copy);
	}
	return list;
}

bool plan_forget_secrets(struct span text, struct arena *arena, struct buffer *out)
{
	struct json *order, *copy, *spec, *containers;
	bool found = false;

	/* Most specs have none, and need not be parsed. */
	if (text.length == 0 || !memmem(text.data, text.length, "\"secret\"", strlen("\"secret\"")))
		return false;
	if (json_parse(text, arena, &order, NULL) < 0 || !json_get(order, "spec"))
		return false;
	copy = json_copy_object(arena, order);
	spec = json_copy_object(arena, json_get(order, "spec"));
	containers = json_new_array(arena);
	JSON_EACH_ITEM (json_get(spec, "containers"), container) {
		struct json *changed = json_copy_object(arena, container);

		json_set(arena, changed, "environment",
			forget_values(json_get(container, "environment"), arena, &found));
		json_append(arena, containers, changed);
	}
	json_set(arena, spec, "containers", containers);
	json_set(arena, copy, "spec", spec);
	if (found)
		json_write(copy, out);
	return found;
}
