/* From a definition and overrides to a spec; see the header. */
#include "ecs/task/task_spec.h"

#include <stdio.h>

#include "base/file.h"
#include "base/memory.h"
#include "ecs/definition/task_size.h"
#include "runtime/runtime.h"
#include "runtime/spec.h"

#define STOP_TIMEOUT_SECONDS 30
#define LOG_MAX_BYTES ((int64_t)10 * 1024 * 1024)
#define SECRET_NAME_MAX 512
#define SECRET_SUFFIX 7 /* "-AbCdEf", what AWS appends to the name of a secret in its ARN */

/* ---- secrets ---- */

/* The name behind valueFrom, and the member of a JSON object if one is meant ("" if not). */
static void split_secret(struct span value, struct span *ret_name, struct span *ret_member)
{
	struct span part, rest = value;
	unsigned colons = 0;

	*ret_member = SPAN("");
	*ret_name = value;
	if (!span_starts_with(value, SPAN("arn:")))
		return;
	/* arn:aws:SERVICE:REGION:ACCOUNT:REST */
	while (colons < 5 && span_split(rest, ':', &part, &rest))
		colons++;
	if (span_starts_with(rest, SPAN("secret:"))) {
		rest = (struct span){
			rest.data + strlen("secret:"), rest.length - strlen("secret:")};
		if (span_split(rest, ':', &part, &rest)) {
			*ret_name = part;
			span_split(rest, ':', ret_member, &(struct span){0});
			return;
		}
	} else if (span_starts_with(rest, SPAN("parameter/"))) {
		rest = (struct span){
			rest.data + strlen("parameter/"), rest.length - strlen("parameter/")};
	}
	*ret_name = rest;
}

/* Names may have folders in them ("prod/db"), and never leave the folder of secrets. */
static bool secret_name_is_safe(struct span name)
{
	struct span part, rest = name;

	if (name.length == 0 || name.length > SECRET_NAME_MAX ||
		memchr(name.data, '\0', name.length))
		return false;
	do {
		bool more = span_split(rest, '/', &part, &rest);

		if (!more)
			part = rest;
		if (part.length == 0 || part.data[0] == '.')
			return false;
		if (!more)
			return true;
	} while (true);
}

static int read_secret_file(const char *folder, struct span name, struct buffer *out,
	struct err *err)
{
	_free_ char *path = memory_format("%s/%.*s", folder, SPAN_ARGS(name));
	int code = file_read(path, TASK_SECRET_MAX, out, err);

	if (code == -ENOENT && name.length > SECRET_SUFFIX &&
		name.data[name.length - SECRET_SUFFIX] == '-') {
		_free_ char *shorter = memory_format("%s/%.*s", folder,
			(int)(name.length - SECRET_SUFFIX), name.data);

		buffer_clear(out);
		code = file_read(shorter, TASK_SECRET_MAX, out, err);
	}
	return code;
}

static int read_secret(const struct task_spec_write *spec_write, struct span value_from,
	struct span *ret_value, struct err *err)
{
	_buffer_ struct buffer text = {0};
	struct span name, member, value;
	int code;

	split_secret(value_from, &name, &member);
	if (name.length > 0 && name.data[0] == '/') /* "/prod/db", as parameters are named */
		name = (struct span){name.data + 1, name.length - 1};
	if (!spec_write->secrets)
		return err_set(err, -EINVAL, "this server was given no folder of secrets");
	if (!secret_name_is_safe(name))
		return err_set(err, -EINVAL, "it is no name of a secret");
	code = read_secret_file(spec_write->secrets, name, &text, err);
	if (code < 0)
		return code;
	value = arena_copy_span(spec_write->arena, buffer_span(&text));
	if (value.length > 0 && value.data[value.length - 1] == '\n')
		value.length--;
	if (member.length > 0) {
		struct json *object;

		code = json_parse(value, spec_write->arena, &object, err);
		if (code < 0)
			return code;
		value = json_text(json_get_span(object, member));
		if (!value.data)
			return err_set(err, -EINVAL, "it has no member '%.*s'", SPAN_ARGS(member));
	}
	*ret_value = value;
	return 0;
}

/* ---- containers ---- */

static void put_variable(struct arena *arena, struct json *list, struct span name,
	struct span value, bool secret)
{
	struct json *variable = json_new_object(arena);

	json_set_string(arena, variable, "name", name);
	json_set_string(arena, variable, "value", value.data ? value : SPAN(""));
	if (secret)
		json_set_bool(arena, variable, "secret", true);
	for (size_t i = 0; i < list->array.count; i++)
		if (span_equal(json_get_text(list->array.items[i], "name"), name)) {
			list->array.items[i] = variable;
			return;
		}
	json_append(arena, list, variable);
}

static int make_environment(const struct task_spec_write *spec_write, const struct json *container,
	const struct json *override, struct json **ret_list, struct err *err)
{
	struct arena *arena = spec_write->arena;
	struct json *list = json_new_array(arena);

	JSON_EACH_ITEM (json_get(container, "environment"), variable)
		put_variable(arena, list, json_get_text(variable, "name"),
			json_get_text(variable, "value"), false);
	JSON_EACH_ITEM (json_get(container, "secrets"), secret) {
		struct span from = json_get_text(secret, "valueFrom"), value;
		struct err why;

		if (read_secret(spec_write, from, &value, &why) < 0)
			return err_set(err, -EINVAL,
				"ResourceInitializationError: unable to pull secrets or registry "
				"auth: unable to retrieve secret '%.*s': %s",
				SPAN_ARGS(from), why.message);
		put_variable(arena, list, json_get_text(secret, "name"), value, true);
	}
	JSON_EACH_ITEM (json_get(override, "environment"), variable)
		put_variable(arena, list, json_get_text(variable, "name"),
			json_get_text(variable, "value"), false);
	*ret_list = list;
	return 0;
}

static void add_port(struct arena *arena, struct json *list, int64_t container_port,
	int64_t host_port, struct span protocol)
{
	struct json *mapping = json_new_object(arena);

	json_set_integer(arena, mapping, "containerPort", container_port);
	json_set_integer(arena, mapping, "hostPort", host_port);
	json_set_string(arena, mapping, "protocol", protocol.data ? protocol : SPAN("tcp"));
	json_append(arena, list, mapping);
}

/* A range "8080-8090" is as many mappings. */
static int make_ports(const struct task_spec_write *spec_write, const struct json *container,
	struct json **ret_list, struct err *err)
{
	struct arena *arena = spec_write->arena;
	struct json *list = json_new_array(arena);

	JSON_EACH_ITEM (json_get(container, "portMappings"), mapping) {
		struct span range = json_get_text(mapping, "containerPortRange"), from, to;
		struct span protocol = json_get_text(mapping, "protocol");
		uint64_t first, last;

		if (!range.data) {
			add_port(arena, list, json_get_integer(mapping, "containerPort", 0),
				json_get_integer(mapping, "hostPort", 0), protocol);
			continue;
		}
		if (!span_split(range, '-', &from, &to) ||
			!span_to_unsigned(from, UINT16_MAX, &first) ||
			!span_to_unsigned(to, UINT16_MAX, &last) || first == 0 || last < first ||
			last - first >= RUNTIME_BINDINGS_MAX)
			return err_set(err, -EINVAL,
				"CannotStartContainerError: containerPortRange '%.*s' is not "
				"FIRST-LAST "
				"of at most %d ports",
				SPAN_ARGS(range), RUNTIME_BINDINGS_MAX);
		for (uint64_t port = first; port <= last; port++)
			add_port(arena, list, (int64_t)port, 0, protocol);
	}
	*ret_list = list;
	return 0;
}

/* Runtimes take CMD and CMD-SHELL with one text; clients may leave CMD out, or have more texts. */
static const struct json *make_health_check(struct arena *arena, const struct json *check)
{
	const struct json *requested = json_get(check, "command");
	struct span kind = json_text(json_item(requested, 0));
	bool shell = span_is(kind, "CMD-SHELL"), plain = span_is(kind, "CMD");
	struct json *created, *command;

	if (json_is_absent(check) || plain || span_is(kind, "NONE") ||
		(shell && json_count(requested) == 2))
		return check;
	created = json_copy_object(arena, check);
	command = json_new_array(arena);
	json_append(arena, command, json_new_string(arena, SPAN("CMD")));
	if (shell) {
		json_append(arena, command, json_new_string(arena, SPAN("/bin/sh")));
		json_append(arena, command, json_new_string(arena, SPAN("-c")));
	}
	for (size_t i = shell ? 1 : 0; i < json_count(requested); i++)
		json_append(arena, command, json_item(requested, i));
	json_set(arena, created, "command", command);
	return created;
}

/* Members that go over as they are; those of overrides win. */
static const char *const copied[] = {"name", "image", "command", "entryPoint", "workingDirectory",
	"user", "cpu", "memory", "memoryReservation", "ulimits", "dependsOn", "startTimeout",
	"restartPolicy", "readonlyRootFilesystem", "privileged", "hostname",
	"resourceRequirements"};
static const char *const overridden[] = {
	"command", "cpu", "memory", "memoryReservation", "resourceRequirements"};
/* Members that are always there. */
static const char *const lists[] = {"command", "entryPoint", "ulimits", "dependsOn"};

static void set_present(struct arena *arena, struct json *to, const struct json *from,
	const char *name)
{
	const struct json *value = json_get(from, name);

	if (!json_is_absent(value))
		json_set(arena, to, name, value);
}

static void set_capabilities(struct arena *arena, struct json *to, const struct json *container)
{
	const struct json *parameters = json_get(container, "linuxParameters");

	set_present(arena, to, parameters, "capabilities");
}

static const struct json *find_container(const struct json *list, struct span name)
{
	JSON_EACH_ITEM (list, container)
		if (span_equal(json_get_text(container, "name"), name))
			return container;
	return NULL;
}

static bool is_mounted_at(const struct json *mounts, struct span path)
{
	JSON_EACH_ITEM (mounts, mount)
		if (span_equal(json_get_text(mount, "containerPath"), path))
			return true;
	return false;
}

/* Its own, and those of the containers that volumesFrom names, where it has nothing of its own. */
static struct json *make_mounts(const struct task_spec_write *spec_write,
	const struct json *container)
{
	struct arena *arena = spec_write->arena;
	struct json *mounts = json_new_array(arena);

	JSON_EACH_ITEM (json_get(container, "mountPoints"), own)
		json_append(arena, mounts, own);
	JSON_EACH_ITEM (json_get(container, "volumesFrom"), from) {
		const struct json *source =
			find_container(json_get(spec_write->definition, "containerDefinitions"),
				json_get_text(from, "sourceContainer"));

		JSON_EACH_ITEM (json_get(source, "mountPoints"), requested) {
			struct json *mount = json_copy_object(arena, requested);

			if (is_mounted_at(mounts, json_get_text(requested, "containerPath")))
				continue;
			if (json_get_bool(from, "readOnly", false))
				json_set_bool(arena, mount, "readOnly", true);
			json_append(arena, mounts, mount);
		}
	}
	return mounts;
}

static int make_container(const struct task_spec_write *spec_write, const struct json *container,
	const struct json *override, struct json **ret_container, struct err *err)
{
	struct arena *arena = spec_write->arena;
	struct json *created = json_new_object(arena), *environment = NULL, *ports = NULL;
	int code = make_environment(spec_write, container, override, &environment, err);

	if (code == 0)
		code = make_ports(spec_write, container, &ports, err);
	if (code < 0)
		return code;
	if (json_count(json_get(container, "environmentFiles")) > 0 ||
		json_count(json_get(override, "environmentFiles")) > 0)
		return err_set(err, -EINVAL,
			"ResourceInitializationError: failed to download env files: slipway has no "
			"Amazon S3; give container '%.*s' its variables as 'environment'",
			SPAN_ARGS(json_get_text(container, "name")));
	for (size_t i = 0; i < LENGTH(copied); i++)
		set_present(arena, created, container, copied[i]);
	for (size_t i = 0; i < LENGTH(overridden); i++)
		set_present(arena, created, override, overridden[i]);
	for (size_t i = 0; i < LENGTH(lists); i++)
		if (!json_get(created, lists[i]))
			json_set(arena, created, lists[i], json_new_array(arena));
	set_capabilities(arena, created, container);
	json_set_bool(arena, created, "essential", json_get_bool(container, "essential", true));
	json_set(arena, created, "environment", environment);
	json_set(arena, created, "portMappings", ports);
	json_set(arena, created, "mountPoints", make_mounts(spec_write, container));
	json_set(arena, created, "healthCheck",
		make_health_check(arena, json_get(container, "healthCheck")));
	json_set_integer(arena, created, "stopTimeout",
		json_get_integer(container, "stopTimeout", STOP_TIMEOUT_SECONDS));
	json_set_integer(arena, created, "logMaxBytes", LOG_MAX_BYTES);
	*ret_container = created;
	return 0;
}

/* ---- the task ---- */

static int64_t read_size(const struct task_spec_write *spec_write, const char *name,
	bool (*read)(struct span text, int64_t *ret_value))
{
	struct span text = json_get_text(spec_write->overrides, name);
	int64_t value;

	if (!text.data)
		text = json_get_text(spec_write->definition, name);
	return text.data && read(text, &value) ? value : 0;
}

/* Storage that must outlive the task is not replaced with an empty folder. */
static int check_volume(const struct json *volume, struct err *err)
{
	static const struct {
		const char *member, *what;
	} missing[] = {
		{"efsVolumeConfiguration", "Amazon EFS"},
		{"fsxWindowsFileServerVolumeConfiguration", "Amazon FSx"},
		{"s3filesVolumeConfiguration", "Amazon S3"},
	};
	const struct json *docker = json_get(volume, "dockerVolumeConfiguration");
	struct span name = json_get_text(volume, "name");
	struct span driver = json_get_text(docker, "driver");

	for (size_t i = 0; i < LENGTH(missing); i++)
		if (!json_is_absent(json_get(volume, missing[i].member)))
			return err_set(err, -EINVAL,
				"ResourceInitializationError: volume '%.*s': slipway has no %s; "
				"give "
				"it a 'sourcePath' of the instance where the data is mounted",
				SPAN_ARGS(name), missing[i].what);
	if (json_get_bool(volume, "configuredAtLaunch", false))
		return err_set(err, -EINVAL,
			"ResourceInitializationError: volume '%.*s': slipway has no Amazon EBS to "
			"configure at launch",
			SPAN_ARGS(name));
	if (span_is(json_get_text(docker, "scope"), "shared") ||
		(driver.data && !span_is(driver, "local")))
		return err_set(err, -EINVAL,
			"ResourceInitializationError: volume '%.*s': of Docker's volumes slipway "
			"has "
			"those with the scope 'task' and the driver 'local'; give it a "
			"'sourcePath' "
			"to keep data beyond a task",
			SPAN_ARGS(name));
	return 0;
}

/* Names, and the machine's paths behind them. */
static int make_volumes(const struct task_spec_write *spec_write, struct json **ret_volumes,
	struct err *err)
{
	struct arena *arena = spec_write->arena;
	struct json *list = json_new_array(arena);

	JSON_EACH_ITEM (json_get(spec_write->definition, "volumes"), volume) {
		struct json *created = json_new_object(arena);
		int code = check_volume(volume, err);

		if (code < 0)
			return code;
		set_present(arena, created, volume, "name");
		set_present(arena, created, volume, "host");
		json_append(arena, list, created);
	}
	*ret_volumes = list;
	return 0;
}

int task_spec_make(const struct task_spec_write *spec_write, struct json **ret_spec,
	struct err *err)
{
	struct arena *arena = spec_write->arena;
	const struct task_facts *facts = spec_write->facts;
	struct json *spec = json_new_object(arena), *containers = json_new_array(arena), *volumes;
	struct span mode = json_get_text(spec_write->definition, "networkMode");

	if (make_volumes(spec_write, &volumes, err) < 0)
		return -EINVAL;
	JSON_EACH_ITEM (json_get(spec_write->definition, "containerDefinitions"), container) {
		struct json *created;
		int code = make_container(spec_write, container,
			find_container(json_get(spec_write->overrides, "containerOverrides"),
				json_get_text(container, "name")),
			&created, err);

		if (code < 0)
			return code;
		json_append(arena, containers, created);
	}
	json_set_integer(arena, spec, "version", RUNTIME_SPEC_VERSION);
	json_set_string(arena, spec, "family", facts->family);
	json_set_integer(arena, spec, "revision", facts->revision);
	json_set_string(arena, spec, "cluster", facts->cluster);
	if (facts->service.length > 0)
		json_set_string(arena, spec, "service", facts->service);
	json_set_string(arena, spec, "clusterArn",
		ecs_arn_of_key(arena, "cluster",
			spec_write->task_key.data ? task_cluster_key(spec_write->task_key)
						  : spec_write->cluster_key));
	if (spec_write->task_key.data)
		json_set_string(arena, spec, "arn",
			ecs_arn_of_key(arena, "task", spec_write->task_key));
	json_set_string(arena, spec, "group", facts->group);
	if (spec_write->gated)
		json_set_bool(arena, spec, "gated", true);
	if (spec_write->hold_seconds > 0)
		json_set_integer(arena, spec, "holdSeconds", spec_write->hold_seconds);
	set_present(arena, spec, spec_write->desired, "constraints");
	set_present(arena, spec, spec_write->desired, "strategy");
	json_set_string(arena, spec, "networkMode", mode.data ? mode : SPAN("bridge"));
	json_set_integer(arena, spec, "cpu", read_size(spec_write, "cpu", task_size_read_cpu));
	json_set_integer(arena, spec, "memory",
		read_size(spec_write, "memory", task_size_read_memory));
	json_set(arena, spec, "volumes", volumes);
	json_set(arena, spec, "containers", containers);
	*ret_spec = spec;
	return 0;
}
