/*
 * One map of entities by name for each type, tombstones among them. Tasks hang at the slot of their instance,
 * which exists as long as anything is known of it. Stopped tasks and tombstones stand in a line in the order in
 * which they became that; the line is shortened at its front.
 */
#include "delivery/observe/replica.h"

#include <assert.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/memory.h"

#define CLOCKS_WRONG_MS 10000
#define CLOCK_SET_MS 1000 /* by more than that: others differ by as much anyway */

enum entity_type { INSTANCE, TASK, TYPE_COUNT };

struct line {
	struct entity *first, *last;
	size_t count;
};

/* An instance, a task, or what is left of one. */
struct entity {
	enum entity_type type;
	bool gone;
	bool is_grouped; /* its group is an indexed one */
	uint64_t version;
	uint64_t last;    /* of what is gone: the version that it had */
	uint64_t changed; /* when, in changes of the replica */
	uint64_t listing; /* that mentioned it last */
	/* In the line of tombstones, or of stopped tasks; not at all otherwise. */
	struct line *line;
	struct entity *before, *behind;
	struct moment since;
	int64_t seen_ms; /* when it was heard of last, by the steady clock */
	/* Tasks, at their instance: live ones in no order, stopped ones of a group with the latest first. */
	struct slot *slot;
	struct entity *previous, *next;
	struct entity *fellow_before, *fellow; /* live ones of the same fellow_group() */
	struct replica_index_entry *indexed;   /* NULL: it is gone */
	struct span name;                      /* in text */
	union {
		struct observe_instance instance;
		struct observe_task task;
	};
	char text[];
};

struct slot {
	struct entity *instance; /* NULL: only its tasks are known */
	struct entity *live;
	size_t live_count;
	struct map stopped;   /* the latest one of each group that has stopped */
	struct map grouped;   /* the first live one of each indexed group, by the group */
	struct entity *loose; /* the first live one of any other group */
};

struct replica {
	struct replica_limits limits;
	struct map entities[TYPE_COUNT];
	struct map slots; /* by instance id */
	struct replica_index *index;
	size_t counts[TYPE_COUNT];
	struct line stopped, tombstones;
	uint64_t changes;
	uint64_t listing; /* number of the last one */
	bool lists;
	uint64_t listing_began; /* in changes */
	int64_t forgotten_ms;
	int64_t clocks_apart_ms; /* the wall clock from the steady one, at first */
	void (*changed)(void *context, const struct replica_change *change); /* or NULL */
	void *context;
};

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

/* ---- slots ---- */

static struct slot *slot_of(struct replica *state, struct span id)
{
	struct slot *slot = map_get(&state->slots, id);

	if (slot)
		return slot;
	slot = memory_allocate(sizeof(*slot));
	map_put(&state->slots, id, slot);
	return slot;
}

static void slot_free(struct slot *slot)
{
	map_clear(&slot->grouped);
	map_clear(&slot->stopped);
	free(slot);
}

static void slot_leave(struct replica *state, struct slot *slot, struct span id)
{
	if (slot->instance || slot->live || slot->stopped.count > 0)
		return;
	map_remove(&state->slots, id);
	slot_free(slot);
}

static bool has_stopped(const struct entity *task)
{
	return task->task.last == OBSERVE_TASK_STOPPED;
}

/* By when it stopped, or by version (see the limits); of equals by name, so that the order does not depend on which came first. */
static bool stopped_later(const struct entity *a, const struct entity *b, bool by_version)
{
	if (by_version && a->version != b->version)
		return a->version > b->version;
	if (a->task.stopped_ms != b->task.stopped_ms)
		return a->task.stopped_ms > b->task.stopped_ms;
	return span_compare(a->name, b->name) > 0;
}

/* Behind `previous`, or before `first` if that is NULL. */
static void insert(struct entity *previous, struct entity *first, struct entity *task)
{
	task->previous = previous;
	task->next = previous ? previous->next : first;
	if (task->next)
		task->next->previous = task;
	if (previous)
		previous->next = task;
}

static struct entity *first_fellow(const struct slot *slot, struct span group)
{
	return group.length > 0 ? map_get(&slot->grouped, group) : slot->loose;
}

static void set_first_fellow(struct slot *slot, struct span group, struct entity *first)
{
	if (group.length == 0)
		slot->loose = first;
	else if (first)
		map_put(&slot->grouped, group, first);
	else
		map_remove(&slot->grouped, group);
}

static struct span fellow_group(const struct entity *task)
{
	return task->is_grouped ? task->task.group : SPAN("");
}

static void join_fellows(struct slot *slot, struct entity *task)
{
	struct span group = fellow_group(task);

	task->fellow_before = NULL;
	task->fellow = first_fellow(slot, group);
	if (task->fellow)
		task->fellow->fellow_before = task;
	set_first_fellow(slot, group, task);
}

static void leave_fellows(struct slot *slot, struct entity *task)
{
	if (task->fellow)
		task->fellow->fellow_before = task->fellow_before;
	if (task->fellow_before)
		task->fellow_before->fellow = task->fellow;
	else
		set_first_fellow(slot, fellow_group(task), task->fellow);
}

static void slot_add_task(struct slot *slot, struct entity *task, bool by_version)
{
	struct entity *previous = NULL, *latest;

	task->slot = slot;
	if (!has_stopped(task)) {
		insert(NULL, slot->live, task);
		slot->live = task;
		slot->live_count++;
		join_fellows(slot, task);
		return;
	}
	latest = map_get(&slot->stopped, task->task.group);
	/* Tasks without instance are looked up by name only. */
	if (task->task.instance.length > 0)
		for (struct entity *at = latest; at && stopped_later(at, task, by_version);
			at = at->next)
			previous = at;
	insert(previous, latest, task);
	if (!previous)
		map_put(&slot->stopped, task->task.group, task);
}

static void slot_remove_task(struct entity *task)
{
	struct slot *slot = task->slot;

	if (task->previous)
		task->previous->next = task->next;
	else if (!has_stopped(task))
		slot->live = task->next;
	else if (task->next)
		map_put(&slot->stopped, task->task.group, task->next);
	else
		map_remove(&slot->stopped, task->task.group);
	if (task->next)
		task->next->previous = task->previous;
	if (!has_stopped(task)) {
		slot->live_count--;
		leave_fellows(slot, task);
	}
	task->slot = NULL;
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
	slot = slot_of(state, entity->type == TASK ? entity->task.instance : entity->name);
	if (entity->type == INSTANCE) {
		slot->instance = entity;
		return;
	}
	entity->is_grouped = is_indexed_group(&state->limits, entity->task.group);
	slot_add_task(slot, entity, state->limits.versions_are_ordered);
	if (has_stopped(entity))
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
		slot_remove_task(entity);
		slot_leave(state, slot, entity->task.instance);
	} else {
		slot = map_get(&state->slots, entity->name);
		slot->instance = NULL;
		slot_leave(state, slot, entity->name);
	}
}

void replica_listen(struct replica *state,
	void (*changed)(void *context, const struct replica_change *change), void *context)
{
	state->changed = changed;
	state->context = context;
}

static void report(const struct replica *state, const struct entity *old, const struct entity *now)
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
static void replace(struct replica *state, struct entity *entity, struct moment now)
{
	struct entity *old = map_put(&state->entities[entity->type], entity->name, entity);

	if (state->clocks_apart_ms == 0)
		state->clocks_apart_ms = now.wall_ms - now.steady_ms;
	entity->changed = ++state->changes;
	entity->listing = old ? old->listing : 0;
	report(state, old, entity);
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

static struct entity *instance_new(const struct observe_instance *requested)
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

static struct entity *task_new(const struct observe_task *requested)
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

static struct entity *tombstone_new(enum entity_type type, struct span name, uint64_t version,
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

static void bury(struct replica *state, struct entity *entity, uint64_t version, struct moment now)
{
	replace(state, tombstone_new(entity->type, entity->name, version, entity->version), now);
}

void replica_expire(struct replica *state, struct moment now)
{
	struct line *stopped = &state->stopped, *tombstones = &state->tombstones;

	while (stopped->count > state->limits.stopped_max ||
		(stopped->first && now.steady_ms - stopped->first->since.steady_ms >=
					   state->limits.stopped_ms))
		bury(state, stopped->first, stopped->first->version, now);
	while (tombstones->count > state->limits.tombstones_max ||
		(tombstones->first && now.steady_ms - tombstones->first->since.steady_ms >=
					      state->limits.tombstones_ms))
		forget(state, tombstones->first);
}

int64_t replica_forgotten_ms(const struct replica *state)
{
	return state->forgotten_ms;
}

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

/* The version alone is new, and that is no news: with each task that comes or goes an instance has more or less room, and
 * everybody would look at it. */
static bool take_version(struct replica *state, struct entity *known, uint64_t version)
{
	const struct entity before = *known;

	known->version = version;
	if (known->type == TASK)
		known->task.version = version;
	else
		known->instance.version = version;
	known->changed = ++state->changes;
	report(state, &before, known);
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
	created = instance_new(requested);
	created->instance.away_ms = 0;
	if (!requested->connected)
		created->instance.away_ms = known && !known->gone && !known->instance.connected
						    ? known->instance.away_ms
						    : now.steady_ms;
	replace(state, created, now);
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
	/* It was not so when it was heard of last. Clocks that say so all the same, and by more than news are late, are
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
	created = task_new(requested);
	find_since(state, known, &created->task, now);
	created->seen_ms = now.steady_ms;
	replace(state, created, now);
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
	replace(state, tombstone_new(type, name, version, known ? known->version : version), now);
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
			bury(state, entity, version, now);
		}
	state->lists = false;
	replica_expire(state, now);
}

void replica_list_abort(struct replica *state)
{
	state->lists = false;
}

/* ---- reading ---- */

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
		slot_free(entry->value);
	map_clear(&state->slots);
	replica_index_free(state->index);
	free(state);
}

void replica_free_pointer(struct replica **state)
{
	replica_free(*state);
}
