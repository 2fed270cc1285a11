/* Container instances: the machine that the daemon runs on, cut into equal parts. */
#include <stdio.h>

#include "base/memory.h"
#include "runtime/docker/docker_internal.h"

#define UNITS_PER_PROCESSOR 1024
#define MIB ((int64_t)1024 * 1024)

static void add_attribute(struct arena *arena, struct json *list, const char *name,
	struct span value)
{
	struct json *attribute = json_new_object(arena);

	json_set_string(arena, attribute, "name", span_of(name));
	json_set_string(arena, attribute, "value", value);
	json_append(arena, list, attribute);
}

static const struct json *attributes_of(struct arena *arena, const struct json *info)
{
	struct json *list = json_new_array(arena);
	struct span architecture = json_get_text(info, "Architecture");
	struct span version = json_get_text(info, "ServerVersion");

	/* In ECS's spelling; Docker uses uname's, Podman Go's. */
	if (span_is(architecture, "aarch64"))
		architecture = SPAN("arm64");
	else if (span_is(architecture, "amd64"))
		architecture = SPAN("x86_64");
	add_attribute(arena, list, "ecs.os-type", SPAN("linux"));
	add_attribute(arena, list, "ecs.os-family", SPAN("LINUX"));
	if (architecture.data)
		add_attribute(arena, list, "ecs.cpu-architecture", architecture);
	add_attribute(arena, list, "ecs.instance-type", SPAN("slipway.docker"));
	if (version.data)
		add_attribute(arena, list, "slipway.docker-version", version);
	return list;
}

static struct span id_of(struct arena *arena, unsigned index)
{
	return index == 0 ? SPAN("machine") : arena_format(arena, "machine-%u", index + 1);
}

static void keep_abilities(struct docker_runtime *runtime, const struct json *info)
{
	lock_take(&runtime->lock);
	runtime->abilities = (struct docker_abilities){
		.processors = json_get_integer(info, "NCPU", 1),
		.memory_bytes = json_get_integer(info, "MemTotal", 0),
		.limits_memory = json_get_bool(info, "MemoryLimit", true),
		.limits_processors = json_get_bool(info, "CpuCfsQuota", true),
		.shares_processors = json_get_bool(info, "CPUShares", true),
	};
	runtime->has_abilities = true;
	lock_release(&runtime->lock);
}

static int ask(struct docker_runtime *runtime, struct arena *arena, struct json **ret_info,
	struct err *err)
{
	int code = docker_call(&runtime->api, NULL, arena, ret_info, err, "/info");

	if (code == 0)
		keep_abilities(runtime, *ret_info);
	return code;
}

int docker_learn_abilities(struct docker_runtime *runtime, struct docker_abilities *ret_abilities,
	struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	struct json *info;
	bool known;
	int code = 0;

	lock_take(&runtime->lock);
	known = runtime->has_abilities;
	lock_release(&runtime->lock);
	if (!known)
		code = ask(runtime, arena, &info, err);
	if (code < 0)
		return code == -ECANCELED ? code : -EAGAIN;
	lock_take(&runtime->lock);
	*ret_abilities = runtime->abilities;
	lock_release(&runtime->lock);
	return 0;
}

int docker_list_instances(struct runtime *base, struct arena *arena,
	struct runtime_instance **ret_instances, size_t *ret_count, struct err *err)
{
	struct docker_runtime *runtime = CONTAINER_OF(base, struct docker_runtime, runtime);
	struct runtime_instance *instances;
	const struct json *attributes;
	struct docker_abilities abilities;
	struct span name;
	struct json *info;
	int code = ask(runtime, arena, &info, err);

	if (code == 0)
		code = docker_learn_abilities(runtime, &abilities, err);
	if (code < 0)
		return code;
	instances = arena_allocate_array(arena, runtime->instances, sizeof(*instances));
	attributes = attributes_of(arena, info);
	name = json_get_text(info, "Name");
	for (unsigned i = 0; i < runtime->instances; i++)
		instances[i] = (struct runtime_instance){
			.id = id_of(arena, i),
			.name = name.data ? name : SPAN("localhost"),
			.cpu = abilities.processors * UNITS_PER_PROCESSOR / runtime->instances,
			.memory = abilities.memory_bytes / MIB / runtime->instances,
			.address = SPAN("127.0.0.1"),
			.attributes = attributes,
		};
	*ret_instances = instances;
	*ret_count = runtime->instances;
	return 0;
}

bool docker_has_instance(const struct docker_runtime *runtime, struct span id)
{
	_arena_ struct arena *arena = arena_new(0);

	for (unsigned i = 0; i < runtime->instances; i++)
		if (span_equal(id, id_of(arena, i)))
			return true;
	return false;
}
