/* See the header. */
#include "runtime/kubernetes/resources.h"

#include <inttypes.h>

#define AMOUNT_MAX (INT64_C(1) << 40)

/* Thousandths of a processor, rounded up: above zero stays above zero. */
static int64_t kubernetes_milli_cpu(int64_t units)
{
	return units / 1024 * 1000 + (units % 1024 * 1000 + 1023) / 1024;
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Of cpu or memory, capped at more than any machine has. */
static int64_t read_amount(const struct json *object, const char *name, int64_t otherwise)
{
	int64_t amount = json_get_integer(object, name, otherwise);

	if (amount < 0)
		return 0;
	return least(amount, AMOUNT_MAX);
}

/* The first running container without these members; RUNTIME_CONTAINERS_MAX if there is none. */
static size_t find_without(const struct json *containers,
	const struct kubernetes_start_order *order, const char *member, const char *other)
{
	for (size_t i = 0; i < order->running_count; i++) {
		const struct json *container = json_item(containers, order->running[i]);

		if (read_amount(container, member, 0) == 0 &&
			(!other || read_amount(container, other, 0) == 0))
			return order->running[i];
	}
	return RUNTIME_CONTAINERS_MAX;
}

static void size_cpu(const struct json *spec, const struct kubernetes_start_order *order,
	struct kubernetes_size *sizes)
{
	const struct json *containers = json_get(spec, "containers");
	int64_t task = read_amount(spec, "cpu", 0), left = task;
	size_t taker = find_without(containers, order, "cpu", NULL);

	for (size_t i = 0; i < json_count(containers); i++) {
		sizes[i].cpu_request = read_amount(json_item(containers, i), "cpu", 0);
		if (task > 0) {
			sizes[i].cpu_limit = task;
			sizes[i].cpu_request = least(sizes[i].cpu_request, task);
		}
		if (!order->is_initial[i])
			left -= sizes[i].cpu_request;
	}
	if (taker == RUNTIME_CONTAINERS_MAX)
		taker = order->running[0];
	if (left > 0)
		sizes[taker].cpu_request += left;
}

static void size_memory(const struct json *spec, const struct kubernetes_start_order *order,
	struct kubernetes_size *sizes)
{
	const struct json *containers = json_get(spec, "containers");
	int64_t task = read_amount(spec, "memory", 0), left = task;
	size_t taker = find_without(containers, order, "memory", "memoryReservation");

	if (taker == RUNTIME_CONTAINERS_MAX) /* one without a limit */
		taker = find_without(containers, order, "memory", NULL);
	for (size_t i = 0; i < json_count(containers); i++) {
		const struct json *container = json_item(containers, i);
		int64_t hard = read_amount(container, "memory", 0);

		sizes[i].memory_limit = hard > 0 ? hard : task;
		sizes[i].memory_request = read_amount(container, "memoryReservation", hard);
		if (sizes[i].memory_limit > 0)
			sizes[i].memory_request =
				least(sizes[i].memory_request, sizes[i].memory_limit);
		if (!order->is_initial[i])
			left -= sizes[i].memory_request;
	}
	if (left > 0 && taker != RUNTIME_CONTAINERS_MAX)
		sizes[taker].memory_request += left;
}

void kubernetes_sizes(const struct json *spec, const struct kubernetes_start_order *order,
	struct kubernetes_size sizes[RUNTIME_CONTAINERS_MAX])
{
	for (size_t i = 0; i < RUNTIME_CONTAINERS_MAX; i++)
		sizes[i] = (struct kubernetes_size){0};
	size_cpu(spec, order, sizes);
	size_memory(spec, order, sizes);
}

static void set_cpu(struct arena *arena, struct json *object, int64_t units)
{
	json_set(arena, object, "cpu",
		json_new_format(arena, "%" PRId64 "m", kubernetes_milli_cpu(units)));
}

static void set_memory(struct arena *arena, struct json *object, int64_t mebibytes)
{
	json_set(arena, object, "memory", json_new_format(arena, "%" PRId64 "Mi", mebibytes));
}

struct json *kubernetes_size_write(struct arena *arena, const struct kubernetes_size *size,
	int64_t gpus)
{
	struct json *requests = json_new_object(arena), *limits = json_new_object(arena);
	struct json *built = json_new_object(arena);

	/* A missing request defaults to the limit, so with a limit even 0 is written. */
	if (size->cpu_request > 0 || size->cpu_limit > 0)
		set_cpu(arena, requests, size->cpu_request);
	if (size->memory_request > 0 || size->memory_limit > 0)
		set_memory(arena, requests, size->memory_request);
	if (size->cpu_limit > 0)
		set_cpu(arena, limits, size->cpu_limit);
	if (size->memory_limit > 0)
		set_memory(arena, limits, size->memory_limit);
	if (gpus > 0)
		json_set(arena, limits, "nvidia.com/gpu", json_new_format(arena, "%" PRId64, gpus));
	json_set(arena, built, "requests", requests);
	json_set(arena, built, "limits", limits);
	return built;
}
