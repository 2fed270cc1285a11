/* Which observation counts: versions, tombstones and listings. replica_entity.c stores the entities, replica_slot.c the tasks
 * of each instance, and replica_read.c reads. */
#include "delivery/observe/replica.h"

#include <assert.h>
#include <stdlib.h>

#include "base/memory.h"
#include "delivery/observe/replica_internal.h"

#define CLOCKS_WRONG_MS 10000
#define CLOCK_SET_MS 1000 /* by more than that: others differ by as much anyway */

/* ---- observations ---- */

enum verdict {
	OLD,
	NEW,
	PERHAPS, /* as new as what is known: a listing corrects what it finds different */
};

static enum verdict judge(const struct replica *state, const struct entity *known, uint64_t version,
	bool listed)
{
	if (!known || version > known->version)
		return NEW;
	if (!listed || known->changed > state->listing_began)
		return OLD;
	/* It was not there, an earlier listing said: that one, or this one, had not seen everything. */
	if (known->gone)
		return known->version == REPLICA_FOREVER && version >= known->last ? NEW : OLD;
	return version == known->version ? PERHAPS : OLD;
}

static bool same_instance(const struct observe_instance *a, const struct observe_instance *b)
{
	return a->status == b->status && a->connected == b->connected &&
	       span_equal(a->attributes, b->attributes) && span_equal(a->host, b->host) &&
	       span_equal(a->arn, b->arn);
}

static bool same_task(const struct observe_task *a, const struct observe_task *b)
{
	return a->last == b->last && a->wanted == b->wanted && a->health == b->health &&
	       a->created_ms == b->created_ms && a->started_ms == b->started_ms &&
	       a->stopped_ms == b->stopped_ms && span_equal(a->instance, b->instance) &&
	       span_equal(a->group, b->group) && span_equal(a->started_by, b->started_by) &&
	       span_equal(a->task_definition, b->task_definition) &&
	       span_equal(a->stop_code, b->stop_code) &&
	       span_equal(a->stopped_reason, b->stopped_reason) && a->has_exited == b->has_exited &&
	       a->exit_code == b->exit_code;
}

/* A new version alone is no change: with each task that starts or ends an instance has more or less room, and every
 * environment would start a pass. */
static bool take_version(struct replica *state, struct entity *known, uint64_t version)
{
	const struct entity before = *known;

	known->version = version;
	if (known->type == TASK)
		known->task.version = version;
	else
		known->instance.version = version;
	known->changed = ++state->changes;
	replica_report(state, &before, known);
	return false;
}

static bool take_instance(struct replica *state, const struct observe_instance *requested,
	bool listed, struct moment now)
{
	struct entity *known = map_get(&state->entities[INSTANCE], requested->id), *created;
	enum verdict verdict = judge(state, known, requested->version, listed);

	if (known && listed)
		known->listing = state->listing;
	if (verdict == OLD || (verdict == PERHAPS && same_instance(&known->instance, requested)))
		return false;
	if (known && !known->gone && same_instance(&known->instance, requested))
		return take_version(state, known, requested->version);
	created = entity_of_instance(requested);
	created->instance.away_ms = 0;
	if (!requested->connected)
		created->instance.away_ms = known && !known->gone && !known->instance.connected
						    ? known->instance.away_ms
						    : now.steady_ms;
	replica_replace(state, created, now);
	if (listed)
		created->listing = state->listing;
	replica_expire(state, now);
	return true;
}

enum phase { BEFORE, RUNS, HAS_STOPPED };

static enum phase phase_of(const struct observe_task *task)
{
	if (task->last < OBSERVE_TASK_RUNNING)
		return BEFORE;
	return task->last < OBSERVE_TASK_STOPPED ? RUNS : HAS_STOPPED;
}

/* Whether our wall clock was set since the replica was made: then it says nothing of how long ago something was. */
static bool clock_was_set(const struct replica *state, struct moment now)
{
	return state->clocks_apart_ms != 0 &&
	       llabs(now.wall_ms - now.steady_ms - state->clocks_apart_ms) > CLOCK_SET_MS;
}

/* Since when it runs, or has stopped, by the steady clock. The time comes from the clock of the cluster, as far as that
 * agrees with ours and with what was seen; else it is so from now on, and perhaps for longer. */
static void find_since(const struct replica *state, const struct entity *known,
	struct observe_task *task, struct moment now)
{
	bool was_there = known && !known->gone;
	enum phase phase = phase_of(task);
	int64_t happened_ms = phase == HAS_STOPPED ? task->stopped_ms : task->started_ms;

	task->since_ms = task->ran_ms = 0;
	task->is_doubtful = false;
	if (phase == BEFORE)
		return;
	if (was_there && phase_of(&known->task) == phase) {
		task->since_ms = known->task.since_ms;
		task->ran_ms = known->task.ran_ms;
		task->is_doubtful = known->task.is_doubtful;
		return;
	}
	task->since_ms = now.steady_ms;
	task->is_doubtful = happened_ms > now.wall_ms || clock_was_set(state, now);
	if (!task->is_doubtful && happened_ms > 0)
		task->since_ms -= now.wall_ms - happened_ms;
	/* It had no task when it was last observed. A clock that contradicts that by more than the delay of events is
	 * wrong. */
	if (was_there && known->seen_ms - task->since_ms > CLOCKS_WRONG_MS && phase == RUNS) {
		task->since_ms = now.steady_ms;
		task->is_doubtful = true;
	}
	if (was_there && task->since_ms < known->seen_ms)
		task->since_ms = known->seen_ms;
	if (phase == HAS_STOPPED && task->started_ms > 0 && task->stopped_ms > 0)
		task->ran_ms = was_there && phase_of(&known->task) == RUNS
				       ? task->since_ms - known->task.since_ms
				       : task->stopped_ms - task->started_ms;
}

static bool take_task(struct replica *state, const struct observe_task *requested, bool listed,
	struct moment now)
{
	struct entity *known = map_get(&state->entities[TASK], requested->arn), *created;
	enum verdict verdict = judge(state, known, requested->version, listed);

	if (known && listed)
		known->listing = state->listing;
	if (verdict == OLD || (verdict == PERHAPS && (requested->last < known->task.last ||
							     same_task(&known->task, requested)))) {
		/* An older observation says nothing about now. */
		if (known && verdict == PERHAPS)
			known->seen_ms = now.steady_ms;
		return false;
	}
	if (known && !known->gone && same_task(&known->task, requested)) {
		known->seen_ms = now.steady_ms;
		return take_version(state, known, requested->version);
	}
	created = entity_of_task(requested);
	find_since(state, known, &created->task, now);
	created->seen_ms = now.steady_ms;
	replica_replace(state, created, now);
	if (listed)
		created->listing = state->listing;
	replica_expire(state, now);
	return true;
}

bool replica_put_instance(struct replica *state, const struct observe_instance *instance,
	struct moment now)
{
	return take_instance(state, instance, false, now);
}

bool replica_put_task(struct replica *state, const struct observe_task *task, struct moment now)
{
	return take_task(state, task, false, now);
}

static bool take_removal(struct replica *state, enum entity_type type, struct span name,
	uint64_t version, struct moment now)
{
	struct entity *known = map_get(&state->entities[type], name);
	bool was_there = known && !known->gone;

	if (known && version < known->version)
		return false;
	replica_replace(state,
		entity_of_removal(type, name, version, known ? known->version : version), now);
	replica_expire(state, now);
	return was_there;
}

bool replica_remove_instance(struct replica *state, struct span id, uint64_t version,
	struct moment now)
{
	return take_removal(state, INSTANCE, id, version, now);
}

bool replica_remove_task(struct replica *state, struct span arn, uint64_t version,
	struct moment now, struct arena *arena, struct span *ret_instance)
{
	struct entity *known = map_get(&state->entities[TASK], arn);

	if (ret_instance)
		*ret_instance = known && !known->gone ? arena_copy_span(arena, known->task.instance)
						      : SPAN("");
	return take_removal(state, TASK, arn, version, now);
}

bool replica_knows_instance(const struct replica *state, struct span id)
{
	return map_has(&state->entities[INSTANCE], id);
}

bool replica_knows_task(const struct replica *state, struct span arn)
{
	return map_has(&state->entities[TASK], arn);
}

/* ---- listings ---- */

void replica_list_begin(struct replica *state)
{
	assert(!state->lists);
	state->lists = true;
	state->listing++;
	state->listing_began = state->changes;
}

bool replica_list_instance(struct replica *state, const struct observe_instance *instance,
	struct moment now)
{
	assert(state->lists);
	return take_instance(state, instance, true, now);
}

bool replica_list_task(struct replica *state, const struct observe_task *task, struct moment now)
{
	assert(state->lists);
	return take_task(state, task, true, now);
}

static bool is_missing(const struct replica *state, const struct entity *entity)
{
	return !entity->gone && entity->listing != state->listing &&
	       entity->changed <= state->listing_began;
}

static size_t list_missing(struct replica *state, enum entity_type type, struct arena *arena,
	struct span **ret_names)
{
	size_t count = 0, filled = 0;

	assert(state->lists);
	MAP_EACH (&state->entities[type], entry)
		count += is_missing(state, entry->value);
	*ret_names = arena_allocate_array(arena, count + 1, sizeof(**ret_names));
	MAP_EACH (&state->entities[type], entry)
		if (is_missing(state, entry->value))
			(*ret_names)[filled++] = arena_copy_span(arena, entry->key);
	return count;
}

size_t replica_list_missing_instances(struct replica *state, struct arena *arena,
	struct span **ret_ids)
{
	return list_missing(state, INSTANCE, arena, ret_ids);
}

size_t replica_list_missing_tasks(struct replica *state, struct arena *arena,
	struct span **ret_arns)
{
	return list_missing(state, TASK, arena, ret_arns);
}

void replica_list_end(struct replica *state, uint64_t version, struct moment now,
	void (*removed)(void *context, struct span instance), void *context)
{
	assert(state->lists);
	for (enum entity_type type = INSTANCE; type < TYPE_COUNT; type++)
		/* Burying replaces a value under its key, which moves nothing. */
		MAP_EACH (&state->entities[type], entry) {
			struct entity *entity = entry->value;

			if (!is_missing(state, entity))
				continue;
			if (removed)
				removed(context,
					type == TASK ? entity->task.instance : entity->name);
			replica_bury(state, entity, version, now);
		}
	state->lists = false;
	replica_expire(state, now);
}

void replica_list_abort(struct replica *state)
{
	state->lists = false;
}

/* ---- making and freeing ---- */

struct replica *replica_new(const struct replica_limits *limits)
{
	struct replica *state = memory_allocate(sizeof(*state));

	state->limits = *limits;
	state->index = replica_index_new();
	return state;
}

void replica_free(struct replica *state)
{
	if (!state)
		return;
	for (enum entity_type type = INSTANCE; type < TYPE_COUNT; type++) {
		MAP_EACH (&state->entities[type], entry)
			free(entry->value);
		map_clear(&state->entities[type]);
	}
	MAP_EACH (&state->slots, entry)
		replica_slot_free(entry->value);
	map_clear(&state->slots);
	replica_index_free(state->index);
	free(state);
}

void replica_free_pointer(struct replica **state)
{
	replica_free(*state);
}
