/* Overrides of a task; see the header. */
#include "ecs/task/task_overrides.h"

#include "ecs/definition/task_size.h"

#define CONTAINER_MEMORY_LEAST 4
#define STORAGE_LEAST_GIB 20
#define STORAGE_MOST_GIB 200

static int check_numbers(struct aws_request *request, const struct json *override, struct span name)
{
	int64_t cpu = json_get_integer(override, "cpu", 0);
	int64_t memory = json_get_integer(override, "memory", CONTAINER_MEMORY_LEAST);
	int64_t soft = json_get_integer(override, "memoryReservation", CONTAINER_MEMORY_LEAST);

	if (cpu < 0)
		return aws_fail_input(request,
			"overrides: Invalid setting for container '%.*s'. 'cpu' must not be "
			"negative.",
			SPAN_ARGS(name));
	if (memory < CONTAINER_MEMORY_LEAST || soft < CONTAINER_MEMORY_LEAST)
		return aws_fail_input(request,
			"overrides: Invalid setting for container '%.*s'. 'memory' and "
			"'memoryReservation' are %d MiB at least.",
			SPAN_ARGS(name), CONTAINER_MEMORY_LEAST);
	if (!json_is_absent(json_get(override, "memory")) && soft > memory)
		return aws_fail_input(request,
			"overrides: Invalid setting for container '%.*s'. "
			"'memoryReservation' must not be greater than 'memory'.",
			SPAN_ARGS(name));
	return 0;
}

/* A zero byte ends an argument or a variable of a program. */
static bool has_zero(struct span text)
{
	return text.length > 0 && memchr(text.data, '\0', text.length);
}

static int check_texts(struct aws_request *request, const struct json *override, struct span name)
{
	JSON_EACH_ITEM (json_get(override, "command"), word)
		if (has_zero(json_text(word)))
			return aws_fail_input(request,
				"overrides: the command of container '%.*s' has a zero byte",
				SPAN_ARGS(name));
	JSON_EACH_ITEM (json_get(override, "environment"), variable) {
		struct span key = json_get_text(variable, "name");

		if (key.length == 0)
			return aws_fail_input(request,
				"overrides: an environment variable of container '%.*s' has no "
				"name",
				SPAN_ARGS(name));
		if (has_zero(key) || memchr(key.data, '=', key.length) ||
			has_zero(json_get_text(variable, "value")))
			return aws_fail_input(request,
				"overrides: environment variable '%.*s' of container '%.*s' has a "
				"zero byte, or '=' in its name",
				SPAN_ARGS(key), SPAN_ARGS(name));
	}
	return 0;
}

static int check_container(struct aws_request *request, const struct json *list,
	const struct json *override)
{
	struct span name = json_get_text(override, "name");

	if (name.length == 0)
		return aws_fail_input(request, "overrides: a container override has no name");
	JSON_EACH_ITEM (list, other) {
		if (other == override)
			break;
		if (span_equal(json_get_text(other, "name"), name))
			return aws_fail_input(request, "overrides: container '%.*s' is given twice",
				SPAN_ARGS(name));
	}
	if (check_numbers(request, override, name) < 0)
		return -EPERM;
	return check_texts(request, override, name);
}

int task_overrides_check(struct aws_request *request, const struct json *overrides)
{
	const struct json *containers = json_get(overrides, "containerOverrides");
	struct span cpu = json_get_text(overrides, "cpu");
	struct span memory = json_get_text(overrides, "memory");
	int64_t storage = json_get_integer(json_get(overrides, "ephemeralStorage"), "sizeInGiB",
		STORAGE_LEAST_GIB);
	int64_t value;
	size_t length;

	if (json_is_absent(overrides))
		return 0;
	length = json_to_text(overrides, request->arena).length;
	if (length > TASK_OVERRIDES_MAX)
		return aws_fail_input(request,
			"overrides: Container Overrides length must be at most %d; it is %zu",
			TASK_OVERRIDES_MAX, length);
	if (cpu.data && (!task_size_read_cpu(cpu, &value) || value == 0))
		return aws_fail_input(request,
			"overrides: Invalid 'cpu' setting for task: '%.*s'. Give CPU units, or "
			"vCPUs like '.5 vCPU'.",
			SPAN_ARGS(cpu));
	if (memory.data && (!task_size_read_memory(memory, &value) || value == 0))
		return aws_fail_input(request,
			"overrides: Invalid 'memory' setting for task: '%.*s'. Give MiB, or GB "
			"like '0.5 GB'.",
			SPAN_ARGS(memory));
	if (storage < STORAGE_LEAST_GIB || storage > STORAGE_MOST_GIB)
		return aws_fail_input(request,
			"overrides: ephemeralStorage must be between %d and %d GiB",
			STORAGE_LEAST_GIB, STORAGE_MOST_GIB);
	if (json_count(json_get(overrides, "inferenceAcceleratorOverrides")) > 0)
		return aws_fail_input(request, "overrides: inferenceAcceleratorOverrides: there "
					       "are no inference accelerators");
	JSON_EACH_ITEM (containers, override)
		if (check_container(request, containers, override) < 0)
			return -EPERM;
	return 0;
}

static const struct json *find_named(const struct json *list, struct span name)
{
	JSON_EACH_ITEM (list, item)
		if (span_equal(json_get_text(item, "name"), name))
			return item;
	return NULL;
}

/* The containers' sum must fit the task's own size. */
static int check_sums(struct aws_request *request, const struct json *definition,
	const struct json *overrides, const struct task_needs *needs)
{
	int64_t cpu = 0, memory = 0;

	JSON_EACH_ITEM (json_get(definition, "containerDefinitions"), container) {
		const struct json *override = find_named(json_get(overrides, "containerOverrides"),
			json_get_text(container, "name"));
		int64_t hard = json_get_integer(override, "memory",
			json_get_integer(container, "memory", 0));

		cpu += json_get_integer(override, "cpu", json_get_integer(container, "cpu", 0));
		memory += json_get_integer(override, "memoryReservation",
			json_get_integer(container, "memoryReservation", hard));
	}
	if (needs->cpu > 0 && cpu > needs->cpu)
		return aws_fail_input(request,
			"overrides: the CPU units of the containers add up to %lld, more than the "
			"task's 'cpu' of %lld.",
			(long long)cpu, (long long)needs->cpu);
	if (needs->memory > 0 && memory > needs->memory)
		return aws_fail_input(request,
			"overrides: the memory reserved for the containers adds up to %lld MiB, "
			"more than the task's 'memory' of %lld.",
			(long long)memory, (long long)needs->memory);
	return 0;
}

int task_overrides_fit(struct aws_request *request, const struct json *definition,
	const struct json *overrides, const struct task_needs *needs, bool fargate)
{
	if (json_is_absent(overrides))
		return 0;
	JSON_EACH_ITEM (json_get(overrides, "containerOverrides"), override) {
		struct span name = json_get_text(override, "name");

		if (!find_named(json_get(definition, "containerDefinitions"), name))
			return aws_fail_input(request,
				"Override for container named %.*s is not a container in the "
				"TaskDefinition.",
				SPAN_ARGS(name));
	}
	if (fargate && !task_size_is_fargate(needs->cpu, needs->memory))
		return aws_fail_input(request,
			"overrides: No Fargate configuration exists for given values: %lld CPU, "
			"%lld memory.",
			(long long)needs->cpu, (long long)needs->memory);
	if (!fargate && !json_is_absent(json_get(overrides, "ephemeralStorage")))
		return aws_fail_input(request,
			"overrides: ephemeralStorage is only for tasks on Fargate");
	return check_sums(request, definition, overrides, needs);
}
