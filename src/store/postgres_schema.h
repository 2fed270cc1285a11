/* The tables of the store in PostgreSQL, and every statement on them. postgres.c
 * documents their purpose. */
#ifndef STORE_POSTGRES_SCHEMA_H
#define STORE_POSTGRES_SCHEMA_H

/* In text, before the statements are prepared. */
extern const char postgres_schema_exists[];
extern const char postgres_format_query[];
/* The table of the key's fingerprint came without a new format: servers that do not know it ignore it. */
extern const char postgres_seal_exists[];
extern const char postgres_seal_make[];
/* Begin a transaction and lock out servers that take a step or, with tables, write. */
extern const char postgres_format_lock_empty[];
extern const char postgres_format_lock[];
/* The STORE_FORMAT steps that postgres_format.h runs in a transaction, under these locks. A step
 * must keep slipway.format and slipway.head's row in place, so that older servers detect it. It
 * must not rewrite or empty the log or live: a reader with an earlier snapshot would find them
 * without a row. */
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
	KEEP_SEAL,
	READ_SEAL,
	STATEMENT_COUNT,
};

extern const char *const postgres_statements[STATEMENT_COUNT];

/* Columns read from the head, and columns read of a change or a live row. */
enum head_column { HEAD_REVISION, HEAD_PRUNED, HEAD_KEEP };
enum row_column { ROW_REVISION, ROW_KIND, ROW_KEY, ROW_DELETED, ROW_API, ROW_PRIVATE, ROW_MAC };

#endif
