/*
 * Preemption: which tasks of an instance stop so that the holder of a reservation there
 * (reservation.h) gets the CPU and memory that it needs. Only tasks with a lower priority are
 * preempted: a task has the priority of its group's reservation, 0 if there is none. Protected
 * tasks stay. The newest task goes first, and none is preempted when that would not make enough
 * room, or when the tasks that are stopping already make enough.
 */
#ifndef ECS_PREEMPTION_H
#define ECS_PREEMPTION_H

#include "store/store.h"

#define PREEMPTION_TASKS_MAX 100 /* preempted at once */

/* The ids of the tasks, in the arena; how many. */
size_t preemption_choose(const struct store_view *view, struct span reservation_key,
	struct span instance_key, int64_t now_ms, struct arena *arena, struct span **ret_ids);

#endif
