/* Container instances: this machine, cut into equal parts. */
#include <limits.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/memory.h"
#include "runtime/process/process_internal.h"

#define UNITS_PER_PROCESSOR 1024

static int64_t machine_memory(void)
{
	int64_t pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);

	return pages > 0 && size > 0 ? pages * size / (1024 * 1024) : 0;
}

static void add_attribute(struct arena *arena, struct json *list, const char *name,
	const char *value)
{
	struct json *attribute = json_new_object(arena);

	json_set_string(arena, attribute, "name", span_of(name));
	json_set_string(arena, attribute, "value", span_of(value));
	json_append(arena, list, attribute);
}

static const struct json *attributes_of_machine(struct arena *arena)
{
	struct json *list = json_new_array(arena);
	struct utsname name = {0};

	uname(&name);
	add_attribute(arena, list, "ecs.os-type", "linux");
	add_attribute(arena, list, "ecs.os-family", "LINUX");
	add_attribute(arena, list, "ecs.cpu-architecture",
		strcmp(name.machine, "aarch64") == 0 ? "arm64" : name.machine);
	add_attribute(arena, list, "ecs.instance-type", "slipway.process");
	return list;
}

static struct span id_of(struct arena *arena, unsigned index)
{
	return index == 0 ? SPAN("machine") : arena_format(arena, "machine-%u", index + 1);
}

int process_list_instances(struct runtime *base, struct arena *arena,
	struct runtime_instance **ret_instances, size_t *ret_count, struct err *err)
{
	struct process_runtime *runtime = CONTAINER_OF(base, struct process_runtime, runtime);
	struct runtime_instance *instances =
		arena_allocate_array(arena, runtime->instances, sizeof(*instances));
	const struct json *attributes = attributes_of_machine(arena);
	int64_t processors = sysconf(_SC_NPROCESSORS_ONLN);
	char host[HOST_NAME_MAX + 1] = "localhost";

	(void)err;
	gethostname(host, sizeof(host) - 1);
	for (unsigned i = 0; i < runtime->instances; i++)
		instances[i] = (struct runtime_instance){
			.id = id_of(arena, i),
			.name = span_of(arena_copy_string(arena, host)),
			.cpu = (processors > 0 ? processors : 1) * UNITS_PER_PROCESSOR /
			       runtime->instances,
			.memory = machine_memory() / runtime->instances,
			.address = SPAN("127.0.0.1"),
			.attributes = attributes,
		};
	*ret_instances = instances;
	*ret_count = runtime->instances;
	return 0;
}

bool process_has_instance(const struct process_runtime *runtime, struct span id)
{
	_arena_ struct arena *arena = arena_new(0);

	for (unsigned i = 0; i < runtime->instances; i++)
		if (span_equal(id, id_of(arena, i)))
			return true;
	return false;
}
