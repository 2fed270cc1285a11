/*
 * The last changes of the replica of one remote cluster, in order, each with a position, for the streams that follow it. It
 * is kept from the first reader on, for CHANGE_LOG_MAX changes. A reader that is further behind, or that comes with a
 * position from before a restart of the server or of the replica, gets -EOVERFLOW or NULL and begins anew. Positions grow
 * across restarts: the first one is a moment in microseconds.
 *
 * Readers share the ownership of the log: it may outlive the observer.
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
/* The replica was forgotten: no earlier position can be resumed, and positions continue from this one at least. */
void change_log_restart(struct change_log *log, uint64_t position);
/* When the last complete listing began. */
void change_log_set_observed(struct change_log *log, int64_t observed_ms);

/* A consumer's position in the log. */
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
