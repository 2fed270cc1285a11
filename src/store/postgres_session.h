/*
 * One connection to PostgreSQL as the store's backend uses it: made again with backoff after it was
 * lost, never waiting for ever, and talking in pipelines of prepared statements so that a step of the
 * backend is one round trip however many statements it has.
 *
 * While a session is connected its state is known: results are always read up to the end of the
 * pipeline. Where that is impossible (lost, silent for too long) the connection is dropped, and
 * postgres_session_is_connected() says so: callers use it to distinguish "the database rejected it"
 * from "the result is unknown".
 */
#ifndef STORE_POSTGRES_SESSION_H
#define STORE_POSTGRES_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/memory.h"
#include "base/span.h"
#include "store/libpq.h"

#define POSTGRES_PARAMETERS_MAX 9

struct postgres_session;

/* Arguments of one statement, in the binary form of the wire. Add them in order. */
struct postgres_arguments {
	struct buffer values[POSTGRES_PARAMETERS_MAX];
	size_t count;
};
#define _arguments_ CLEANUP(postgres_arguments_clear)

void postgres_arguments_clear(struct postgres_arguments *arguments);
void postgres_add_integer(struct postgres_arguments *arguments, int64_t value);
/* An array is opened with its length, then filled with exactly that many elements. */
void postgres_open_integers(struct postgres_arguments *arguments, size_t count);
void postgres_open_booleans(struct postgres_arguments *arguments, size_t count);
void postgres_open_bytes(struct postgres_arguments *arguments, size_t count);
void postgres_fill_integer(struct postgres_arguments *arguments, int64_t value);
void postgres_fill_boolean(struct postgres_arguments *arguments, bool value);
void postgres_fill_bytes(struct postgres_arguments *arguments, const void *data, size_t length);

/* Columns of a result in the binary form. NULL in the database: 0, false, empty. */
int64_t postgres_integer(const PGresult *result, int row, int column);
bool postgres_boolean(const PGresult *result, int row, int column);
struct span postgres_bytes(const PGresult *result, int row, int column);

void postgres_result_clear_pointer(PGresult **result);
#define _result_ CLEANUP(postgres_result_clear_pointer)

/* Reads the URL; connects to nothing yet. `name` is how the database calls our sessions. */
int postgres_session_new(const char *url, const char *name, struct postgres_session **ret_session,
	struct err *err);
void postgres_session_free(struct postgres_session *session); /* NULL is fine */

/* Connects, unless the last attempt failed so recently that it is too early for another: then gives
 * that one's error again. Statements are plain until postgres_session_prepare(). */
int postgres_session_connect(struct postgres_session *session, struct err *err);
/* The caller's word on a new connection. Not of use for this reason: drops it, and backs off as if
 * connecting had failed. Of use: the next failure starts with a short backoff again. */
void postgres_session_reject(struct postgres_session *session, const struct err *reason);
void postgres_session_accept(struct postgres_session *session);
bool postgres_session_is_connected(const struct postgres_session *session);
void postgres_session_drop(struct postgres_session *session);
/* How long until another attempt is allowed. */
int postgres_session_backoff_ms(const struct postgres_session *session);

/* One or more statements in text, the last one's result. Only before postgres_session_prepare(). */
int postgres_session_execute(struct postgres_session *session, const char *text,
	PGresult **ret_result, struct err *err);
/* Prepares texts[i] under the number i, and turns to pipelines for the rest of the connection. */
int postgres_session_prepare(struct postgres_session *session, const char *const *texts,
	size_t count, struct err *err);

/* Puts a prepared statement into the pipeline. A failure shows in postgres_session_run(). */
void postgres_session_add(struct postgres_session *session, int statement,
	const struct postgres_arguments *arguments);
/* Sends what was added so far without ending the pipeline: keeps our memory small. */
void postgres_session_flush(struct postgres_session *session);
/* Ends the pipeline and waits. results[i] is that of the i-th statement added and asked for (the
 * first `count` of them; may be NULL), cleared by the caller also on failure. Negative: the first
 * error, -EBUSY for a lock that was not to be had in time; the statements behind it were not run. */
int postgres_session_run(struct postgres_session *session, PGresult **results, size_t count,
	struct err *err);
/* As run; the results of statement number `streamed` in the pipeline come row by row. The row's
 * error ends the connection. */
int postgres_session_stream(struct postgres_session *session, size_t streamed,
	int (*row)(void *context, const PGresult *row, struct err *err), void *context,
	PGresult **results, size_t count, struct err *err);

/* True when someone else notified us since the last call. Never blocks. */
bool postgres_session_notified(struct postgres_session *session);
int postgres_session_descriptor(const struct postgres_session *session); /* -1: not connected */

#endif
