/* The entities of a replica: a map by name for each type, tombstones among them. Stopped tasks and tombstones stand in a
 * line in the order in which they became that; replica_expire() shortens the line at its front. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "delivery/observe/replica_internal.h"

/* ---- lines ---- */

static void line_add(struct line *line, struct entity *entity, struct moment now)
{
	entity->line = line;
	entity->since = now;
	entity->before = line->last;
	entity->behind = NULL;
	if (line->last)
		line->last->behind = entity;
	else
		line->first = entity;
	line->last = entity;
	line->count++;
}

static void line_leave(struct entity *entity)
{
	struct line *line = entity->line;

	if (!line)
		return;
	if (entity->before)
		entity->before->behind = entity->behind;
	else
		line->first = entity->behind;
	if (entity->behind)
		entity->behind->before = entity->before;
	else
		line->last = entity->before;
	line->count--;
	entity->line = NULL;
}

/* ---- entities ---- */

static bool is_indexed_group(const struct replica_limits *limits, struct span group)
{
	return limits->group_prefix.length > 0 && group.length > limits->group_prefix.length &&
	       span_starts_with(group, limits->group_prefix);
}

/* Hangs it where it is found; the map has it already. */
static void attach(struct replica *state, struct entity *entity, struct moment now)
{
	struct slot *slot;

	if (entity->gone) {
		line_add(&state->tombstones, entity, now);
		return;
	}
	state->counts[entity->type]++;
	slot = replica_slot(state, entity->type == TASK ? entity->task.instance : entity->name);
	if (entity->type == INSTANCE) {
		slot->instance = entity;
		return;
	}
	entity->is_grouped = is_indexed_group(&state->limits, entity->task.group);
	replica_slot_add_task(slot, entity, state->limits.versions_are_ordered);
	if (entity_has_stopped(entity))
		line_add(&state->stopped, entity, now);
}

static void detach(struct replica *state, struct entity *entity)
{
	struct slot *slot;

	line_leave(entity);
	if (entity->gone)
		return;
	state->counts[entity->type]--;
	if (entity->type == TASK) {
		slot = entity->slot;
		replica_slot_remove_task(entity);
		replica_slot_leave(state, slot, entity->task.instance);
	} else {
		slot = map_get(&state->slots, entity->name);
		slot->instance = NULL;
		replica_slot_leave(state, slot, entity->name);
	}
}

void replica_listen(struct replica *state,
	void (*changed)(void *context, const struct replica_change *change), void *context)
{
	state->changed = changed;
	state->context = context;
}

void replica_report(const struct replica *state, const struct entity *old, const struct entity *now)
{
	bool was = old && !old->gone, is = !now->gone, task = now->type == TASK;
	struct replica_change change = {.task_before = was && task ? &old->task : NULL,
		.task_after = is && task ? &now->task : NULL,
		.instance_before = was && !task ? &old->instance : NULL,
		.instance_after = is && !task ? &now->instance : NULL};

	if (state->changed && (was || is))
		state->changed(state->context, &change);
}

/* Replaces an entity in its maps by another, or removes it. */
static void index_anew(struct replica *state, const struct entity *old, struct entity *now)
{
	struct replica_index_entry *entry = old ? old->indexed : NULL;

	if (!now->gone && now->type == TASK)
		replica_index_put_task(state->index, &entry, &now->task);
	else if (!now->gone)
		replica_index_put_instance(state->index, &entry, &now->instance);
	else if (entry && now->type == TASK)
		replica_index_remove_task(state->index, entry);
	else if (entry)
		replica_index_remove_instance(state->index, entry);
	now->indexed = now->gone ? NULL : entry;
}

/* Puts it in place of what has its name, if anything. */
void replica_replace(struct replica *state, struct entity *entity, struct moment now)
{
	struct entity *old = map_put(&state->entities[entity->type], entity->name, entity);

	if (state->clocks_apart_ms == 0)
		state->clocks_apart_ms = now.wall_ms - now.steady_ms;
	entity->changed = ++state->changes;
	entity->listing = old ? old->listing : 0;
	replica_report(state, old, entity);
	index_anew(state, old, entity);
	/* The new one first: the slot stays. */
	attach(state, entity, now);
	if (old) {
		/* attach() has made the new one the instance of the slot. */
		if (old->type == INSTANCE && !old->gone && !entity->gone)
			state->counts[INSTANCE]--;
		else
			detach(state, old);
		free(old);
	}
}

static struct span keep(char **at, struct span text)
{
	struct span kept = {*at, text.length};

	if (text.length > 0)
		memcpy(*at, text.data, text.length);
	*at += text.length;
	return kept;
}

static struct entity *entity_new(enum entity_type type, size_t text)
{
	struct entity *entity = memory_allocate(sizeof(*entity) + text);

	entity->type = type;
	return entity;
}

struct entity *entity_of_instance(const struct observe_instance *requested)
{
	struct entity *entity =
		entity_new(INSTANCE, requested->id.length + requested->arn.length +
					     requested->host.length + requested->attributes.length);
	char *at = entity->text;

	entity->instance = *requested;
	entity->name = entity->instance.id = keep(&at, requested->id);
	entity->instance.arn = keep(&at, requested->arn);
	entity->instance.host = keep(&at, requested->host);
	entity->instance.attributes = keep(&at, requested->attributes);
	entity->instance.tasks = NULL;
	entity->instance.task_count = 0;
	entity->version = requested->version;
	return entity;
}

struct entity *entity_of_task(const struct observe_task *requested)
{
	struct entity *entity = entity_new(TASK,
		requested->arn.length + requested->instance.length + requested->group.length +
			requested->started_by.length + requested->task_definition.length +
			requested->stop_code.length + requested->stopped_reason.length);
	char *at = entity->text;

	entity->task = *requested;
	entity->name = entity->task.arn = keep(&at, requested->arn);
	entity->task.instance = keep(&at, requested->instance);
	entity->task.group = keep(&at, requested->group);
	entity->task.started_by = keep(&at, requested->started_by);
	entity->task.task_definition = keep(&at, requested->task_definition);
	entity->task.stop_code = keep(&at, requested->stop_code);
	entity->task.stopped_reason = keep(&at, requested->stopped_reason);
	entity->version = requested->version;
	return entity;
}

struct entity *entity_of_removal(enum entity_type type, struct span name, uint64_t version,
	uint64_t last)
{
	struct entity *entity = entity_new(type, name.length);
	char *at = entity->text;

	entity->gone = true;
	entity->name = keep(&at, name);
	entity->version = version;
	entity->last = last;
	return entity;
}

static void forget(struct replica *state, struct entity *tombstone)
{
	if (tombstone->since.wall_ms > state->forgotten_ms)
		state->forgotten_ms = tombstone->since.wall_ms;
	detach(state, tombstone);
	map_remove(&state->entities[tombstone->type], tombstone->name);
	free(tombstone);
}

void replica_bury(struct replica *state, struct entity *entity, uint64_t version, struct moment now)
{
	replica_replace(state,
		entity_of_removal(entity->type, entity->name, version, entity->version), now);
}

void replica_expire(struct replica *state, struct moment now)
{
	struct line *stopped = &state->stopped, *tombstones = &state->tombstones;

	while (stopped->count > state->limits.stopped_max ||
		(stopped->first && now.steady_ms - stopped->first->since.steady_ms >=
					   state->limits.stopped_ms))
		replica_bury(state, stopped->first, stopped->first->version, now);
	while (tombstones->count > state->limits.tombstones_max ||
		(tombstones->first && now.steady_ms - tombstones->first->since.steady_ms >=
					      state->limits.tombstones_ms))
		forget(state, tombstones->first);
}

int64_t replica_forgotten_ms(const struct replica *state)
{
	return state->forgotten_ms;
}
