/*
 * The last changes of the replica of one place elsewhere, in order, each with a position, for those who follow it
 * (state_stream.h). It is kept from when somebody first does, for CHANGE_LOG_MAX changes; who is further behind, or comes
 * with a position from before a restart of the server or of the replica, is told that it is too old, and begins anew.
 * Positions grow across restarts: the first one is a moment in microseconds.
 *
 * Those who read it keep it alive: it may outlive the state service.
 */
#ifndef DELIVERY_OBSERVE_CHANGE_LOG_H
#define DELIVERY_OBSERVE_CHANGE_LOG_H

#include "delivery/observe/replica.h"

#define CHANGE_LOG_MAX 10000

struct change_log;

/* The first change has the position behind this one. The caller's share of it is given up by change_log_leave(). */
struct change_log *change_log_new(uint64_t position);
void change_log_leave(struct change_log *log); /* NULL is fine */
/* Before and after are not both NULL. */
void change_log_add(struct change_log *log, const struct replica_change *change);
/* What was known is forgotten: nothing from before can be resumed, and positions go on from here at least. */
void change_log_restart(struct change_log *log, uint64_t position);
/* When what it tells was last known to be all. */
void change_log_set_observed(struct change_log *log, int64_t observed_ms);

/* Somebody who reads it. */
struct change_log_reader;

/* Behind a position; data NULL: from now on. wake: there may be something to read; must not block. NULL: the position is
 * not one of it, or not any more. */
struct change_log_reader *change_log_reader_open(struct change_log *log, const uint64_t *position,
	void (*wake)(void *context), void *context);
/* wake does not run after this returned; NULL is fine. */
void change_log_reader_close(struct change_log_reader *tail);
uint64_t change_log_reader_position(const struct change_log_reader *tail);
int64_t change_log_reader_observed_ms(const struct change_log_reader *tail);
/* The next change, in the arena. 1; 0: there is none; -EOVERFLOW: it is not kept any more. */
int change_log_reader_next(struct change_log_reader *tail, struct arena *arena,
	struct replica_change *ret_change);

#endif
