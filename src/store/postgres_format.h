/*
 * The format of the database in PostgreSQL, and how it moves forward while servers use it. Step n takes a
 * database from format n to n + 1; one without the schema has format 0, so making the tables is step 0.
 *
 * A step holds the head's lock from before it looks until it has committed, and so does every server
 * from before it looks at the format until its group has committed. So a group is wholly before a step or
 * refused after it, and nothing is ever written in a format that the database has left.
 */
#ifndef STORE_POSTGRES_FORMAT_H
#define STORE_POSTGRES_FORMAT_H

#include "store/postgres_session.h"

/* Compares a format with `known`, the newest one the server supports: 0 when they are equal,
 * -ENOTSUP when the format is newer, -EPROTO when it is older (format 0: there are no tables). */
int postgres_format_check(int64_t format, int known, struct err *err);

/* Before statements are prepared. Refuses as above; with `forward` the steps that are missing are taken
 * first. */
int postgres_format_open(struct postgres_session *session, const char *const *steps, int step_count,
	bool forward, struct err *err);
/* Afterwards: makes what was added to the tables without raising the format. */
int postgres_format_complete(struct postgres_session *session, struct err *err);

#endif
