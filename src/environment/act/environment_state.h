/*
 * The state of one environment that a server keeps in memory: common to all types, and the own state of its type. All of
 * it can be built again from the store and the observer.
 *
 * One thread at a time works with it, that of the environment's pass; what is below the lock is for any thread.
 */
#ifndef ENVIRONMENT_ACT_ENVIRONMENT_STATE_H
#define ENVIRONMENT_ACT_ENVIRONMENT_STATE_H

#include "base/lock.h"
#include "base/map.h"
#include "environment/decide/deployment_step.h"
#include "environment/model/context.h"

struct environment_state;
struct manager;
struct manager_pass;

/* The operations of a type of environments. Those that may be NULL do nothing then. */
struct environment_operations {
	/* Makes and frees its own state. May be NULL: it has none. */
	void *(*new_own)(struct manager *manager, struct span environment);
	void (*free_own)(void *own);
	/* Releases what it wants from the observer beyond clusters. May be NULL. */
	void (*release)(struct manager *manager, struct environment_state *state);
	/* An instance has changed, or anything ("") has. From any thread. May be NULL. */
	void (*note_change)(void *own, struct cluster_ref cluster, struct span instance);
	/* The running tasks. From any thread. May be NULL. */
	size_t (*list_running)(void *own, struct arena *arena,
		struct environment_running **ret_running);
	/* A pass; *ret_more: start another one at once. */
	int (*work)(struct manager_pass *pass, bool *ret_more, struct err *err);
};

struct environment_state {
	struct span key; /* own memory */
	enum environment_type type;
	const struct environment_operations *operations;
	void *own;
	struct deployment_memory deployment;
	struct map wanted_clusters; /* that it wants from the observer */

	struct lock lock; /* for all below */
	struct environment_counts counts;
	int64_t failing_ms; /* since when every pass failed (steady); 0: the last one did not */
	char failing[ERR_MESSAGE_MAX]; /* the error of the last one */
};

struct environment_state *environment_state_new(struct manager *manager, struct span key,
	enum environment_type type, const struct environment_operations *operations);
void environment_state_free(struct environment_state *state); /* NULL is fine */

/* All of these from any thread. */
void environment_state_note_change(struct environment_state *state, struct cluster_ref cluster,
	struct span instance);
void environment_state_set_counts(struct environment_state *state,
	const struct environment_counts *counts);
void environment_state_get_counts(struct environment_state *state,
	struct environment_counts *ret_counts);
/* Since when every pass failed (steady), and the last error; 0: the last one did not. */
int64_t environment_state_get_failing(struct environment_state *state, struct arena *arena,
	struct span *ret_error);
/* How a pass ended. */
void environment_state_note_end(struct environment_state *state, int64_t steady_ms, int code,
	const struct err *err);

#endif
