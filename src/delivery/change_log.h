/*
 * The last changes of something that has no feed of its own, in order, each with a position, for the streams that follow
 * it (delivery/stream.h). It keeps CHANGE_LOG_MAX changes. A reader that is further behind, or that returns with a
 * position from before a restart of the server or of the log, gets -EOVERFLOW or NULL and begins anew. Positions grow
 * across restarts: the first one is a moment in microseconds.
 *
 * Readers share the ownership of the log: it may outlive its writer. Every function may be called from any thread.
 */
#ifndef DELIVERY_CHANGE_LOG_H
#define DELIVERY_CHANGE_LOG_H

#include <stdint.h>

#include "base/arena.h"

#define CHANGE_LOG_MAX 10000

/* The type of the changes of a log, which does not look into them. */
struct change_log_type {
	void *(*copy)(const void *change, struct arena *arena);
	void (*free)(void *change);
};

struct change_log;

/* The first change gets the position after this one. The caller gives up its share with change_log_leave(). The type
 * outlives the log. */
struct change_log *change_log_new(const struct change_log_type *type, uint64_t position);
void change_log_leave(struct change_log *log); /* NULL is fine */
/* Takes over the change. */
void change_log_add(struct change_log *log, void *change);
/* Drops all changes: no earlier position can be resumed, and positions continue from this one at least. */
void change_log_restart(struct change_log *log, uint64_t position);
/* When what the log is about was last observed completely: wall time. */
void change_log_set_observed(struct change_log *log, int64_t observed_ms);

/* A consumer's position in the log. */
struct change_log_reader;

/* Reads after a position; NULL: from now on. wake: there may be something to read; must not block. NULL: the log does not
 * have the position, or no longer. */
struct change_log_reader *change_log_reader_open(struct change_log *log, const uint64_t *position,
	void (*wake)(void *context), void *context);
/* wake does not run after this returned; NULL is fine. */
void change_log_reader_close(struct change_log_reader *reader);
uint64_t change_log_reader_position(const struct change_log_reader *reader);
int64_t change_log_reader_observed_ms(const struct change_log_reader *reader);
/* A copy of the next change, in the arena. 1; 0: there is none; -EOVERFLOW: it is no longer kept. */
int change_log_reader_next(struct change_log_reader *reader, struct arena *arena,
	void **ret_change);

#endif
