/*
 * The replica of one cluster: the last observation of each of its container instances and tasks. Pure and for one thread;
 * observe.c feeds it and guards it.
 *
 * Observations carry versions. Of two observations of one entity the higher version counts, whichever came first, so the
 * same observations in any order, any number of times, make the same replica. A removal is an observation, too, and a
 * removed entity leaves a tombstone: older observations do not bring it back.
 *
 * A listing mentions every entity. It begins, mentions what it found, and ends; only then entities that it did not mention
 * are removed, unless they were observed since it began. A listing that could not end (an error in the middle, a missing
 * page) is aborted and removes nothing. Where versions are equal a listing corrects the replica, because not every change
 * raises a version (attributes of instances in ECS do not), but it never moves a task back to an earlier status.
 *
 * Every change costs the same in a cluster of ten and of a hundred thousand. Stopped tasks and tombstones are kept for a
 * time and up to a number; replica_forgotten_ms() says from when on observations can still be ordered.
 */
#ifndef DELIVERY_OBSERVE_REPLICA_H
#define DELIVERY_OBSERVE_REPLICA_H

#include "base/arena.h"
#include "delivery/observe/observe.h"
#include "delivery/observe/replica_index.h"

/* Of a removal: no observation brings it back, only a listing that begins later. */
#define REPLICA_FOREVER UINT64_MAX

struct replica_limits {
	size_t stopped_max;    /* tasks that have stopped */
	int64_t stopped_ms;    /* how long they are kept */
	size_t tombstones_max; /* of both kinds */
	int64_t tombstones_ms;
	/* All tasks have versions of one order, in which the last one to stop is the highest. Else the clock of the cluster decides which that is. */
	bool versions_are_ordered;
	/* Groups that begin with this are indexed on each instance, for replica_get_instance_for(). "": none is. */
	struct span group_prefix;
};

struct replica;

struct replica *replica_new(const struct replica_limits *limits);
void replica_free(struct replica *state); /* NULL is fine */
void replica_free_pointer(struct replica **state);
#define _replica_ CLEANUP(replica_free_pointer)

/* An entity that came, changed or was removed: NULL before, neither, or after. Instances come without their tasks. */
struct replica_change {
	const struct observe_task *task_before, *task_after;
	const struct observe_instance *instance_before, *instance_after;
};
/* Reports every change from now on, in order; the function must not use the replica. NULL: reports none. */
void replica_listen(struct replica *state,
	void (*changed)(void *context, const struct replica_change *change), void *context);

/* ---- observations: true if they changed anything ---- */

/* Its tasks and away_ms are not looked at, nor since_ms of tasks. */
bool replica_put_instance(struct replica *state, const struct observe_instance *instance,
	struct moment now);
bool replica_put_task(struct replica *state, const struct observe_task *task, struct moment now);
/* True if it was there. Counts against a version that is equal, too. ret_instance (may be NULL): where it was,
 * in the arena; "" if it was not there. */
bool replica_remove_instance(struct replica *state, struct span id, uint64_t version,
	struct moment now);
bool replica_remove_task(struct replica *state, struct span arn, uint64_t version,
	struct moment now, struct arena *arena, struct span *ret_instance);

/* Forgets what was kept long enough. Each change does that, too. */
void replica_expire(struct replica *state, struct moment now);
/* Observations from before this moment may be of an entity that was removed and forgotten since; 0: none. */
int64_t replica_forgotten_ms(const struct replica *state);

/* Whether the entity or its tombstone is there. */
bool replica_knows_instance(const struct replica *state, struct span id);
bool replica_knows_task(const struct replica *state, struct span arn);

/* ---- listings: one at a time ---- */

void replica_list_begin(struct replica *state);
/* It exists. True if that changed anything. */
bool replica_list_instance(struct replica *state, const struct observe_instance *instance,
	struct moment now);
bool replica_list_task(struct replica *state, const struct observe_task *task, struct moment now);
/* The entities that would be removed if the listing ended now: ids or ARNs in the arena; how many. So that a source may ask
 * for each before it believes that. */
size_t replica_list_missing_instances(struct replica *state, struct arena *arena,
	struct span **ret_ids);
size_t replica_list_missing_tasks(struct replica *state, struct arena *arena,
	struct span **ret_arns);
/* Everything was mentioned. Removes the rest as of `version`; removed() (may be NULL) hears of the instance
 * that went or whose task went. */
void replica_list_end(struct replica *state, uint64_t version, struct moment now,
	void (*removed)(void *context, struct span instance), void *context);
void replica_list_abort(struct replica *state); /* also if there is none */

/* ---- reading: copies in the arena ---- */

size_t replica_instance_count(const struct replica *state);
size_t replica_task_count(const struct replica *state); /* stopped ones included */
/* NULL if there is none. Tasks in the order of their ARNs. */
struct observe_instance *replica_get_instance(const struct replica *state, struct span id,
	struct arena *arena);
/* Without tasks of other indexed groups than this one, in time that does not depend on how many those are. */
struct observe_instance *replica_get_instance_for(const struct replica *state, struct span id,
	struct span group, struct arena *arena);
struct observe_task *replica_get_task(const struct replica *state, struct span arn,
	struct arena *arena);
struct observe_task *replica_last_stopped(const struct replica *state, struct span instance,
	struct span group, struct arena *arena);
/* A page, and perhaps less than that: see replica_index_find_tasks() for *after. */
size_t replica_select_tasks(const struct replica *state, const struct observe_task_query *query,
	struct span *after, size_t most, struct arena *arena, struct observe_task *tasks);
size_t replica_select_instances(const struct replica *state,
	const struct observe_instance_query *query, struct span *after, size_t most,
	struct arena *arena, struct observe_instance *instances);
struct replica_index_work replica_get_index_work(const struct replica *state);
/* Ids, in the order in which they were first heard of. */
size_t replica_list(const struct replica *state, struct arena *arena, struct span **ret_ids);
/* The next task at or after *position (begin with 0), no copy: valid until the next change; NULL at the end. */
const struct observe_task *replica_next_task(const struct replica *state, size_t *position);
/* The next instance likewise, without its tasks. */
const struct observe_instance *replica_next_instance(const struct replica *state, size_t *position);

#endif
