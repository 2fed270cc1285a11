/*
 * Who makes room: which tasks of an instance leave it so that what holds a reservation there (reservation.h) finds
 * the CPU and memory that it asks for. Only tasks with less priority do: that of a task is that of the reservation
 * of its group, 0 if there is none. Protected tasks stay. Whoever came last goes first, and nobody goes when it would
 * not help, or when those that leave already are enough.
 */
#ifndef ECS_PREEMPTION_H
#define ECS_PREEMPTION_H

#include "store/store.h"

#define PREEMPTION_TASKS_MAX 100 /* that are asked to leave at once */

/* The ids of the tasks, in the arena; how many. */
size_t preemption_choose(const struct store_view *view, struct span reservation_key,
	struct span instance_key, int64_t now_ms, struct arena *arena, struct span **ret_ids);

#endif
