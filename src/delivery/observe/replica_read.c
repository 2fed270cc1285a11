/* Reading a replica: copies in the caller's arena. */
#include <stdlib.h>

#include "delivery/observe/replica_internal.h"

size_t replica_instance_count(const struct replica *state)
{
	return state->counts[INSTANCE];
}

size_t replica_task_count(const struct replica *state)
{
	return state->counts[TASK];
}

static void copy_task(const struct observe_task *task, struct arena *arena,
	struct observe_task *copy)
{
	*copy = *task;
	copy->arn = arena_copy_span(arena, task->arn);
	copy->instance = arena_copy_span(arena, task->instance);
	copy->group = arena_copy_span(arena, task->group);
	copy->started_by = arena_copy_span(arena, task->started_by);
	copy->task_definition = arena_copy_span(arena, task->task_definition);
	copy->stop_code = arena_copy_span(arena, task->stop_code);
	copy->stopped_reason = arena_copy_span(arena, task->stopped_reason);
}

static struct observe_task *copied_task(const struct entity *entity, struct arena *arena)
{
	struct observe_task *copy;

	if (!entity || entity->gone)
		return NULL;
	copy = arena_allocate(arena, sizeof(*copy));
	copy_task(&entity->task, arena, copy);
	return copy;
}

static int by_arn(const void *a, const void *b)
{
	return span_compare(((const struct observe_task *)a)->arn,
		((const struct observe_task *)b)->arn);
}

static struct observe_instance *copy_instance(const struct slot *slot, struct arena *arena)
{
	struct observe_instance *copy = arena_allocate(arena, sizeof(*copy));

	*copy = slot->instance->instance;
	copy->id = arena_copy_span(arena, copy->id);
	copy->arn = arena_copy_span(arena, copy->arn);
	copy->host = arena_copy_span(arena, copy->host);
	copy->attributes = arena_copy_span(arena, copy->attributes);
	return copy;
}

static void set_tasks(struct observe_instance *instance, struct observe_task *tasks, size_t count)
{
	qsort(tasks, count, sizeof(*tasks), by_arn);
	instance->tasks = tasks;
	instance->task_count = count;
}

struct observe_instance *replica_get_instance(const struct replica *state, struct span id,
	struct arena *arena)
{
	const struct slot *slot = map_get(&state->slots, id);
	struct observe_instance *copy;
	struct observe_task *tasks;
	size_t count = 0;

	if (!slot || !slot->instance)
		return NULL;
	copy = copy_instance(slot, arena);
	tasks = arena_allocate_array(arena, slot->live_count + 1, sizeof(*tasks));
	for (const struct entity *task = slot->live; task; task = task->next)
		copy_task(&task->task, arena, &tasks[count++]);
	set_tasks(copy, tasks, count);
	return copy;
}

struct observe_instance *replica_get_instance_for(const struct replica *state, struct span id,
	struct span group, struct arena *arena)
{
	const struct slot *slot = map_get(&state->slots, id);
	const struct entity *firsts[2], *task;
	struct observe_instance *copy;
	struct observe_task *tasks;
	size_t count = 0;

	if (!slot || !slot->instance)
		return NULL;
	firsts[0] = map_get(&slot->grouped, group);
	firsts[1] = slot->loose;
	for (size_t i = 0; i < LENGTH(firsts); i++)
		for (task = firsts[i]; task; task = task->fellow)
			count++;
	copy = copy_instance(slot, arena);
	tasks = arena_allocate_array(arena, count + 1, sizeof(*tasks));
	count = 0;
	for (size_t i = 0; i < LENGTH(firsts); i++)
		for (task = firsts[i]; task; task = task->fellow)
			copy_task(&task->task, arena, &tasks[count++]);
	set_tasks(copy, tasks, count);
	return copy;
}

struct observe_task *replica_get_task(const struct replica *state, struct span arn,
	struct arena *arena)
{
	return copied_task(map_get(&state->entities[TASK], arn), arena);
}

struct observe_task *replica_last_stopped(const struct replica *state, struct span instance,
	struct span group, struct arena *arena)
{
	const struct slot *slot = map_get(&state->slots, instance);

	if (!slot || instance.length == 0)
		return NULL;
	return copied_task(map_get(&slot->stopped, group), arena);
}

size_t replica_select_tasks(const struct replica *state, const struct observe_task_query *query,
	struct span *after, size_t most, struct arena *arena, struct observe_task *tasks)
{
	const struct observe_task **found;
	size_t count = replica_index_find_tasks(state->index, query, after, most, arena, &found);

	for (size_t i = 0; i < count; i++)
		copy_task(found[i], arena, &tasks[i]);
	return count;
}

size_t replica_select_instances(const struct replica *state,
	const struct observe_instance_query *query, struct span *after, size_t most,
	struct arena *arena, struct observe_instance *instances)
{
	const struct observe_instance **found;
	size_t count =
		replica_index_find_instances(state->index, query, after, most, arena, &found);

	for (size_t i = 0; i < count; i++)
		instances[i] = *replica_get_instance(state, found[i]->id, arena);
	return count;
}

struct replica_index_work replica_get_index_work(const struct replica *state)
{
	return replica_index_work(state->index);
}

static const struct entity *next_entity(const struct replica *state, enum entity_type type,
	size_t *position)
{
	struct map_entry *entry;

	while ((entry = map_next(&state->entities[type], position)))
		if (!((const struct entity *)entry->value)->gone)
			return entry->value;
	return NULL;
}

const struct observe_task *replica_next_task(const struct replica *state, size_t *position)
{
	const struct entity *entity = next_entity(state, TASK, position);

	return entity ? &entity->task : NULL;
}

const struct observe_instance *replica_next_instance(const struct replica *state, size_t *position)
{
	const struct entity *entity = next_entity(state, INSTANCE, position);

	return entity ? &entity->instance : NULL;
}

size_t replica_list(const struct replica *state, struct arena *arena, struct span **ret_ids)
{
	const struct observe_instance *instance;
	size_t position = 0, count = 0;

	*ret_ids = arena_allocate_array(arena, state->counts[INSTANCE] + 1, sizeof(**ret_ids));
	while ((instance = replica_next_instance(state, &position)))
		(*ret_ids)[count++] = arena_copy_span(arena, instance->id);
	return count;
}
