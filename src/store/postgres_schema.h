/* The tables of the store in PostgreSQL, and every statement that is made to them. What they are for is
 * told in postgres.c. */
#ifndef STORE_POSTGRES_SCHEMA_H
#define STORE_POSTGRES_SCHEMA_H

/* In text, before the statements are prepared. */
extern const char postgres_schema_exists[];
extern const char postgres_format_query[];
/* Begin a transaction and lock out whoever takes a step or, with tables, writes. */
extern const char postgres_format_lock_empty[];
extern const char postgres_format_lock[];
/* What postgres_format.h does within a transaction, under these locks: STORE_FORMAT of them. A step must
 * leave slipway.format and slipway.head's row where they are, for the servers that know less to find out;
 * and must not rewrite or empty the log or live, which whoever reads with a snapshot of before would
 * find without a row. */
extern const char *const postgres_format_steps[];

/* Prepared under these numbers on each connection. */
enum statement {
	BEGIN_WRITE,
	BEGIN_READ,
	UNLIMITED,
	IMPATIENT,
	COMMIT,
	ROLLBACK,
	LOCK_HEAD,
	READ_HEAD,
	READ_FORMAT,
	READ_LOG,
	READ_LIVE,
	READ_MAC,
	INSERT_LOG,
	UPSERT_LIVE,
	DELETE_LIVE,
	PRUNE_LOG,
	MOVE_HEAD,
	NOTIFY,
	END_OWN,
	END_STUCK,
	STATEMENT_COUNT,
};

extern const char *const postgres_statements[STATEMENT_COUNT];

/* What is read from the head, and what is read of a change or a live row. */
enum head_column { HEAD_REVISION, HEAD_PRUNED, HEAD_KEEP };
enum row_column { ROW_REVISION, ROW_KIND, ROW_KEY, ROW_DELETED, ROW_API, ROW_PRIVATE, ROW_MAC };

#endif
