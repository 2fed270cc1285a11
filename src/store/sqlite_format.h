/*
 * The format of the SQLite file, and how it moves forward. Step n takes a database from format n to
 * n + 1; an empty file has format 0, so making the tables is step 0 and nothing special. Each step is
 * one transaction with the number it leads to: a crash in between leaves the format before or after it,
 * and the next start continues from there. A format beyond the steps is a newer slipway's, and refused.
 */
#ifndef STORE_SQLITE_FORMAT_H
#define STORE_SQLITE_FORMAT_H

#include <sqlite3.h>

#include "base/err.h"

/* Those of this slipway: STORE_FORMAT of them. */
extern const char *const sqlite_format_steps[];

/* Refuses (-EINVAL) a file of another program, (-ENOTSUP) one of a newer slipway. Step 0 must make the
 * table meta(name, value) with a row 'format'. */
int sqlite_format_advance(sqlite3 *database, const char *path, const char *const *steps,
	int step_count, struct err *err);

#endif
