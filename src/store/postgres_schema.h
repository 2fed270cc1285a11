/* The tables of the store in PostgreSQL, and every statement that is made to them. What they are for is
 * told in postgres.c. */
#ifndef STORE_POSTGRES_SCHEMA_H
#define STORE_POSTGRES_SCHEMA_H

/* In text, before the statements are prepared. */
extern const char postgres_schema_exists[];
extern const char postgres_format_query[];
/* Step n takes a database from format n to n + 1; without the schema it has format 0. Each is one
 * transaction, and does nothing when another server has taken it meanwhile. STORE_FORMAT of them. */
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
