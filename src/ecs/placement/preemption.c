/* See the header. */
#include "ecs/placement/preemption.h"

#include "base/memory.h"
#include "ecs/definition/task_definition.h"
#include "ecs/placement/task_needs.h"
#include "ecs/record/container_instance.h"
#include "ecs/record/reservation.h"

#define SCAN_MAX 1000 /* tasks of one instance */

struct candidate {
	struct span id;
	int64_t priority, created_ms, cpu, memory;
	bool stays;
};

struct room {
	int64_t cpu, memory;
};

static bool is_enough(const struct room *missing)
{
	return missing->cpu <= 0 && missing->memory <= 0;
}

static int64_t priority_of(const struct store_view *view, const struct reservation_facts *holder,
	struct span group, struct arena *arena)
{
	const struct store_object *reservation =
		store_get(view, &reservation_kind, reservation_key(arena, holder->cluster, group));

	return reservation ? reservation_facts(reservation)->priority : 0;
}

static bool read_needs(const struct store_view *view, const struct reservation_facts *holder,
	struct arena *arena, struct task_needs *ret_needs)
{
	struct span scope = holder->cluster;
	const struct store_object *definition;
	struct json *document;

	while (scope.length > 0 && scope.data[scope.length - 1] != '/')
		scope.length--;
	definition = store_get(view, &task_definition_kind,
		arena_format(arena, "%.*s%.*s %010lld", SPAN_ARGS(scope), SPAN_ARGS(holder->family),
			(long long)holder->revision));
	return definition && json_parse(definition->api, arena, &document, NULL) == 0 &&
	       task_needs_read(document, NULL, arena, ret_needs, NULL) == 0;
}

static int compare_candidates(const void *a, const void *b)
{
	const struct candidate *left = a, *right = b;

	if (left->priority != right->priority)
		return left->priority < right->priority ? -1 : 1;
	if (left->created_ms != right->created_ms)
		return left->created_ms > right->created_ms ? -1 : 1;
	return span_compare(left->id, right->id);
}

/* Candidates for preemption; the room of stopping tasks is subtracted from *missing. */
static size_t collect(const struct store_view *view, const struct reservation_facts *holder,
	struct span instance_key, int64_t now_ms, struct arena *arena, struct room *missing,
	struct candidate *candidates)
{
	struct store_cursor cursor = {.view = view,
		.kind = &task_kind,
		.index = TASK_BY_INSTANCE,
		.prefix = arena_format(arena, "%.*s/live/", SPAN_ARGS(instance_key))};
	const struct store_object *task;
	size_t count = 0;

	while (count < SCAN_MAX && (task = store_next(&cursor))) {
		const struct task_facts *facts = task_facts(task);
		int64_t priority = priority_of(view, holder, facts->group, arena);

		if (facts->desired == TASK_STOPPED) {
			missing->cpu -= facts->cpu;
			missing->memory -= facts->memory;
		} else if (priority < holder->priority && facts->protected_until_ms <= now_ms) {
			candidates[count++] = (struct candidate){.id = facts->id,
				.priority = priority,
				.created_ms = facts->created_ms,
				.cpu = facts->cpu,
				.memory = facts->memory};
		}
	}
	return count;
}

/* How many of the first candidates it takes; 0: all would not be enough. Candidates that turn out
 * not to be needed stay. */
static size_t take(struct candidate *candidates, size_t count, struct room *missing)
{
	size_t taken = 0;

	while (taken < count && taken < PREEMPTION_TASKS_MAX && !is_enough(missing)) {
		missing->cpu -= candidates[taken].cpu;
		missing->memory -= candidates[taken].memory;
		taken++;
	}
	if (!is_enough(missing))
		return 0;
	for (size_t i = 0; i < taken; i++) {
		struct room without = {
			missing->cpu + candidates[i].cpu, missing->memory + candidates[i].memory};

		candidates[i].stays = is_enough(&without);
		if (candidates[i].stays)
			*missing = without;
	}
	return taken;
}

size_t preemption_choose(const struct store_view *view, struct span reservation_key,
	struct span instance_key, int64_t now_ms, struct arena *arena, struct span **ret_ids)
{
	const struct store_object *reservation =
		store_get(view, &reservation_kind, reservation_key);
	const struct store_object *instance =
		store_get(view, &container_instance_kind, instance_key);
	_free_ struct candidate *candidates = NULL;
	struct task_needs needs = {0};
	int64_t sums[STORE_MEASURES];
	struct room missing;
	size_t count, chosen = 0;

	if (!reservation || !instance || reservation_facts(reservation)->priority <= 0 ||
		!read_needs(view, reservation_facts(reservation), arena, &needs))
		return 0;
	container_instance_sum_tasks(view, instance, sums);
	missing.cpu = needs.cpu + sums[TASK_SUM_CPU] - container_instance_facts(instance)->cpu;
	missing.memory =
		needs.memory + sums[TASK_SUM_MEMORY] - container_instance_facts(instance)->memory;
	candidates = memory_allocate_array(SCAN_MAX, sizeof(*candidates));
	count = collect(view, reservation_facts(reservation), instance_key, now_ms, arena, &missing,
		candidates);
	if (is_enough(&missing))
		return 0;
	qsort(candidates, count, sizeof(*candidates), compare_candidates);
	count = take(candidates, count, &missing);
	*ret_ids = arena_allocate(arena, count * sizeof(**ret_ids) + 1);
	for (size_t i = 0; i < count; i++)
		if (!candidates[i].stays)
			(*ret_ids)[chosen++] = arena_copy_span(arena, candidates[i].id);
	return chosen;
}
