/*
 * The last changes of the replica of one place elsewhere, in order, each with a position, for those who follow it
 * (state_stream.h). It is kept from when somebody first does, for STATE_LOG_MAX changes; who is further behind, or comes
 * with a position from before a restart of the server or of the replica, is told that it is too old, and begins anew.
 * Positions grow across restarts: the first one is a moment in microseconds.
 *
 * Those who read it keep it alive: it may outlive the state service.
 */
#ifndef ENVIRONMENT_STATE_LOG_H
#define ENVIRONMENT_STATE_LOG_H

#include "environment/cluster_state.h"

#define STATE_LOG_MAX 10000

struct state_log;

/* The first change has the position behind this one. The caller's share of it is given up by state_log_leave(). */
struct state_log *state_log_new(uint64_t position);
void state_log_leave(struct state_log *log); /* NULL is fine */
/* Before and after are not both NULL. */
void state_log_add(struct state_log *log, const struct cluster_state_change *change);
/* What was known is forgotten: nothing from before can be resumed, and positions go on from here at least. */
void state_log_restart(struct state_log *log, uint64_t position);
/* When what it tells was last known to be all. */
void state_log_set_observed(struct state_log *log, int64_t observed_ms);

/* Somebody who reads it. */
struct state_tail;

/* Behind a position; data NULL: from now on. wake: there may be something to read; must not block. NULL: the position is
 * not one of it, or not any more. */
struct state_tail *state_tail_open(struct state_log *log, const uint64_t *position,
	void (*wake)(void *context), void *context);
/* wake does not run after this returned; NULL is fine. */
void state_tail_close(struct state_tail *tail);
uint64_t state_tail_position(const struct state_tail *tail);
int64_t state_tail_observed_ms(const struct state_tail *tail);
/* The next change, in the arena. 1; 0: there is none; -EOVERFLOW: it is not kept any more. */
int state_tail_next(struct state_tail *tail, struct arena *arena,
	struct cluster_state_change *ret_change);

#endif
