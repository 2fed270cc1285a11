/* The slot of an instance: its live tasks, by indexed group or loose, and its stopped ones, the latest of each group first.
 * A slot exists as long as anything is known of its instance. */
#include <stdlib.h>

#include "base/memory.h"
#include "delivery/observe/replica_internal.h"

struct slot *replica_slot(struct replica *state, struct span id)
{
	struct slot *slot = map_get(&state->slots, id);

	if (slot)
		return slot;
	slot = memory_allocate(sizeof(*slot));
	map_put(&state->slots, id, slot);
	return slot;
}

void replica_slot_free(struct slot *slot)
{
	map_clear(&slot->grouped);
	map_clear(&slot->stopped);
	free(slot);
}

void replica_slot_leave(struct replica *state, struct slot *slot, struct span id)
{
	if (slot->instance || slot->live || slot->stopped.count > 0)
		return;
	map_remove(&state->slots, id);
	replica_slot_free(slot);
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

void replica_slot_add_task(struct slot *slot, struct entity *task, bool by_version)
{
	struct entity *previous = NULL, *latest;

	task->slot = slot;
	if (!entity_has_stopped(task)) {
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

void replica_slot_remove_task(struct entity *task)
{
	struct slot *slot = task->slot;

	if (task->previous)
		task->previous->next = task->next;
	else if (!entity_has_stopped(task))
		slot->live = task->next;
	else if (task->next)
		map_put(&slot->stopped, task->task.group, task->next);
	else
		map_remove(&slot->stopped, task->task.group);
	if (task->next)
		task->next->previous = task->previous;
	if (!entity_has_stopped(task)) {
		slot->live_count--;
		leave_fellows(slot, task);
	}
	task->slot = NULL;
}
