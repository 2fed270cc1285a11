/*
 * The replica of one cluster: what was last heard of its container instances and tasks. Pure and for one
 * thread; the state service (state.h) feeds it and guards it.
 *
 * News carry versions. Of two pieces of news about one entity the higher version counts, whichever came first,
 * so that the same news in any order, any number of times, make the same replica. A removal is news too, and
 * what was removed leaves a tombstone: older news do not bring it back.
 *
 * A listing says all that there is. It is begun, mentions what it found, and ends; only then what it did not
 * mention is removed, unless there were news of it since the listing began. A listing that could not be ended
 * (an error in the middle, a page that is missing) is aborted and removes nothing. Where versions are equal, a
 * listing corrects what it finds different, because not every change raises a version (attributes of instances
 * in ECS do not), but it never takes a task back on its way.
 *
 * Every change costs the same in a cluster of ten and of a hundred thousand. Stopped tasks and tombstones are
 * kept for a time and up to a number. What is no longer held against old news is told by
 * cluster_state_forgotten_ms().
 */
#ifndef ENVIRONMENT_CLUSTER_STATE_H
#define ENVIRONMENT_CLUSTER_STATE_H

#include "base/arena.h"
#include "environment/cluster_index.h"
#include "environment/state.h"

/* Of a removal: no news bring it back, only a listing that begins later. */
#define CLUSTER_STATE_FOR_EVER UINT64_MAX

struct cluster_state_limits {
	size_t stopped_max;    /* tasks that have stopped */
	int64_t stopped_ms;    /* how long they are kept */
	size_t tombstones_max; /* of both kinds */
	int64_t tombstones_ms;
	/* All tasks have versions of one order, in which the last one to stop is the highest. Else the clock of those who
	 * run them says which that is. */
	bool versions_are_ordered;
};

struct cluster_state;

struct cluster_state *cluster_state_new(const struct cluster_state_limits *limits);
void cluster_state_free(struct cluster_state *state); /* NULL is fine */
void cluster_state_free_pointer(struct cluster_state **state);
#define _cluster_state_ CLEANUP(cluster_state_free_pointer)

/* Something that came, changed or went: NULL before, neither, or after. Instances come without their tasks. */
struct cluster_state_change {
	const struct state_task *task_before, *task_after;
	const struct state_instance *instance_before, *instance_after;
};
/* Is told every change from now on, in order; must not look at the replica. NULL: nobody is. */
void cluster_state_listen(struct cluster_state *state,
	void (*changed)(void *context, const struct cluster_state_change *change), void *context);

/* ---- news: true if they changed anything ---- */

/* Its tasks and away_ms are not looked at, nor since_ms of tasks. */
bool cluster_state_put_instance(struct cluster_state *state, const struct state_instance *instance,
	struct moment now);
bool cluster_state_put_task(struct cluster_state *state, const struct state_task *task,
	struct moment now);
/* True if it was there. Counts against a version that is equal, too. ret_instance (may be NULL): where it was,
 * in the arena; "" if it was not there. */
bool cluster_state_remove_instance(struct cluster_state *state, struct span id, uint64_t version,
	struct moment now);
bool cluster_state_remove_task(struct cluster_state *state, struct span arn, uint64_t version,
	struct moment now, struct arena *arena, struct span *ret_instance);

/* Forgets what was kept long enough. Each change does that, too. */
void cluster_state_expire(struct cluster_state *state, struct moment now);
/* News from before this moment may be about something that was removed and forgotten since; 0: none. */
int64_t cluster_state_forgotten_ms(const struct cluster_state *state);

/* Whether it was ever heard of: it is there, or its tombstone is. */
bool cluster_state_knows_instance(const struct cluster_state *state, struct span id);
bool cluster_state_knows_task(const struct cluster_state *state, struct span arn);

/* ---- listings: one at a time ---- */

void cluster_state_list_begin(struct cluster_state *state);
/* It exists. True if that changed anything. */
bool cluster_state_list_instance(struct cluster_state *state, const struct state_instance *instance,
	struct moment now);
bool cluster_state_list_task(struct cluster_state *state, const struct state_task *task,
	struct moment now);
/* What would be removed if the listing ended now: ids or ARNs in the arena; how many. So that a source may ask
 * for each before it believes that. */
size_t cluster_state_list_missing_instances(struct cluster_state *state, struct arena *arena,
	struct span **ret_ids);
size_t cluster_state_list_missing_tasks(struct cluster_state *state, struct arena *arena,
	struct span **ret_arns);
/* Everything was mentioned. Removes the rest as of `version`; removed() (may be NULL) hears of the instance
 * that went or whose task went. */
void cluster_state_list_end(struct cluster_state *state, uint64_t version, struct moment now,
	void (*removed)(void *context, struct span instance), void *context);
void cluster_state_list_abort(struct cluster_state *state); /* also if there is none */

/* ---- reading: copies in the arena ---- */

size_t cluster_state_instance_count(const struct cluster_state *state);
size_t cluster_state_task_count(const struct cluster_state *state); /* stopped ones included */
/* NULL if there is none. Tasks in the order of their ARNs. */
struct state_instance *cluster_state_get_instance(const struct cluster_state *state, struct span id,
	struct arena *arena);
/* Without tasks of other environments than that of this name, in time that does not depend on how many those are. */
struct state_instance *cluster_state_get_instance_for(const struct cluster_state *state,
	struct span id, struct span environment, struct arena *arena);
struct state_task *cluster_state_get_task(const struct cluster_state *state, struct span arn,
	struct arena *arena);
struct state_task *cluster_state_last_stopped(const struct cluster_state *state,
	struct span instance, struct span group, struct arena *arena);
/* A page, and perhaps less than that: see cluster_index_find_tasks() for *after. */
size_t cluster_state_select_tasks(const struct cluster_state *state,
	const struct state_task_query *query, struct span *after, size_t most, struct arena *arena,
	struct state_task *tasks);
size_t cluster_state_select_instances(const struct cluster_state *state,
	const struct state_instance_query *query, struct span *after, size_t most,
	struct arena *arena, struct state_instance *instances);
struct cluster_index_work cluster_state_index_work(const struct cluster_state *state);
/* Ids, in the order in which they were first heard of. */
size_t cluster_state_list(const struct cluster_state *state, struct arena *arena,
	struct span **ret_ids);
/* The next task at or after *position (begin with 0), no copy: valid until the next change; NULL at the end. */
const struct state_task *cluster_state_next_task(const struct cluster_state *state,
	size_t *position);
/* The next instance likewise, without its tasks. */
const struct state_instance *cluster_state_next_instance(const struct cluster_state *state,
	size_t *position);

#endif
