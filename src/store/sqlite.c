/*
 * The backend in one SQLite file: WAL, synchronous=FULL, one transaction per group.
 *
 * The file is locked exclusively from opening to closing, so that two servers never work on one file;
 * that also keeps the WAL's index in our memory instead of in a shared file. The last revision is a
 * row of its own and not the highest one in the table: a deletion must not make it go back.
 *
 * A group that fails (disk full, I/O error) is rolled back and the next one starts afresh. The WAL is
 * copied into the database before a group begins, once it has grown to CHECKPOINT_PAGES: after the
 * answers of the group before have left, and never while a group is in work.
 */
#include <fcntl.h>
#include <sqlite3.h>

#include "base/memory.h"
#include "store/backend.h"
#include "store/sqlite_format.h"

#define CHECKPOINT_PAGES 2000   /* of 4 KiB */
#define WAL_KEEP_BYTES 67108864 /* a WAL that grew beyond is cut after its checkpoint */

struct sqlite_backend {
	struct store_backend backend;
	char *path;
	sqlite3 *database;
	sqlite3_stmt *begin, *commit, *rollback, *put, *remove, *set_revision;
	uint64_t revision;
	int wal_pages;
};

static struct sqlite_backend *sqlite_of(struct store_backend *backend)
{
	return CONTAINER_OF(backend, struct sqlite_backend, backend);
}

static int sqlite_fail(struct sqlite_backend *sqlite, const char *what, struct err *err)
{
	int result = sqlite3_extended_errcode(sqlite->database);
	int code = -EIO;

	if ((result & 0xff) == SQLITE_BUSY)
		return err_set(err, -EBUSY, "database '%s' is in use by another process",
			sqlite->path);
	if ((result & 0xff) == SQLITE_NOTADB)
		code = -EINVAL;
	return err_set(err, code, "%s '%s': %s (SQLite %d)", what, sqlite->path,
		sqlite3_errmsg(sqlite->database), result);
}

static int run(struct sqlite_backend *sqlite, const char *sql, struct err *err)
{
	if (sqlite3_exec(sqlite->database, sql, NULL, NULL, NULL) != SQLITE_OK)
		return sqlite_fail(sqlite, "set up database", err);
	return 0;
}

/* A statement without parameters or with bound ones that gives no row. */
static int step(struct sqlite_backend *sqlite, sqlite3_stmt *statement, struct err *err)
{
	int result = sqlite3_step(statement);
	int code = 0;

	if (result != SQLITE_DONE && result != SQLITE_ROW)
		code = sqlite_fail(sqlite, "write database", err);
	sqlite3_reset(statement);
	return code;
}

/* The number that a query gives; *ret_number stays as it is when it gives no row. */
static int query_number(struct sqlite_backend *sqlite, const char *sql, int64_t *ret_number,
	struct err *err)
{
	sqlite3_stmt *statement = NULL;
	int code = 0, result;

	if (sqlite3_prepare_v2(sqlite->database, sql, -1, &statement, NULL) != SQLITE_OK)
		return sqlite_fail(sqlite, "read database", err);
	result = sqlite3_step(statement);
	if (result == SQLITE_ROW)
		*ret_number = sqlite3_column_int64(statement, 0);
	else if (result != SQLITE_DONE)
		code = sqlite_fail(sqlite, "read database", err);
	sqlite3_finalize(statement);
	return code;
}

/* ---- opening ---- */

static int on_wal_commit(void *context, sqlite3 *database, const char *name, int pages)
{
	struct sqlite_backend *sqlite = context;

	(void)database, (void)name;
	sqlite->wal_pages = pages;
	return SQLITE_OK;
}

static int prepare(struct sqlite_backend *sqlite, struct err *err)
{
	const struct {
		sqlite3_stmt **statement;
		const char *sql;
	} statements[] = {
		{&sqlite->begin, "BEGIN IMMEDIATE"},
		{&sqlite->commit, "COMMIT"},
		{&sqlite->rollback, "ROLLBACK"},
		{&sqlite->put, "INSERT INTO rows(kind, key, revision, api, private, mac)"
			       " VALUES(?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT(kind, key) DO UPDATE"
			       " SET revision = ?3, api = ?4, private = ?5, mac = ?6"},
		{&sqlite->remove, "DELETE FROM rows WHERE kind = ?1 AND key = ?2"},
		{&sqlite->set_revision, "UPDATE meta SET value = ?1 WHERE name = 'revision'"},
	};

	for (size_t i = 0; i < LENGTH(statements); i++)
		if (sqlite3_prepare_v3(sqlite->database, statements[i].sql, -1,
			    SQLITE_PREPARE_PERSISTENT, statements[i].statement, NULL) != SQLITE_OK)
			return sqlite_fail(sqlite, "prepare statements for", err);
	return 0;
}

static void sqlite_close(struct store_backend *backend)
{
	struct sqlite_backend *sqlite = sqlite_of(backend);
	sqlite3_stmt *statements[] = {sqlite->begin, sqlite->commit, sqlite->rollback, sqlite->put,
		sqlite->remove, sqlite->set_revision};

	for (size_t i = 0; i < LENGTH(statements); i++)
		sqlite3_finalize(statements[i]);
	sqlite3_close(sqlite->database);
	free(sqlite->path);
	free(sqlite);
}

/* ---- rows ---- */

static struct span column_span(sqlite3_stmt *statement, int column)
{
	const char *data = sqlite3_column_blob(statement, column);

	return (struct span){data ? data : "", (size_t)sqlite3_column_bytes(statement, column)};
}

static int sqlite_load(struct store_backend *backend, store_row_function function, void *context,
	uint64_t *ret_revision, struct err *err)
{
	struct sqlite_backend *sqlite = sqlite_of(backend);
	sqlite3_stmt *statement = NULL;
	int64_t revision = 0;
	int code, result = SQLITE_DONE;

	code = query_number(sqlite, "SELECT value FROM meta WHERE name = 'revision'", &revision,
		err);
	if (code < 0)
		return code;
	if (sqlite3_prepare_v2(sqlite->database,
		    "SELECT kind, key, revision, api, private, mac FROM rows", -1, &statement,
		    NULL) != SQLITE_OK)
		return sqlite_fail(sqlite, "read database", err);
	while (code == 0 && (result = sqlite3_step(statement)) == SQLITE_ROW) {
		struct span mac = column_span(statement, 5);
		struct store_row row = {
			.kind = column_span(statement, 0),
			.key = column_span(statement, 1),
			.revision = (uint64_t)sqlite3_column_int64(statement, 2),
			.api = column_span(statement, 3),
			.private_ = column_span(statement, 4),
		};

		if (mac.length == STORE_MAC_SIZE) /* else zeros, which are no seal */
			memcpy(row.mac, mac.data, STORE_MAC_SIZE);
		code = function(context, &row, err);
	}
	if (code == 0 && result != SQLITE_DONE)
		code = sqlite_fail(sqlite, "read database", err);
	sqlite3_finalize(statement);
	/* Its pages of what was read: all of that is in memory now, and is not read again. */
	sqlite3_db_release_memory(sqlite->database);
	if (code < 0)
		return code;
	sqlite->revision = (uint64_t)revision;
	*ret_revision = sqlite->revision;
	return 0;
}

static int sqlite_begin(struct store_backend *backend, store_row_function row, void *context,
	uint64_t *ret_revision, struct err *err)
{
	struct sqlite_backend *sqlite = sqlite_of(backend);

	(void)row, (void)context, (void)err;
	/* One that fails (disk full) is tried again before the next group; nothing is lost by it. */
	if (sqlite->wal_pages >= CHECKPOINT_PAGES &&
		sqlite3_wal_checkpoint_v2(sqlite->database, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL,
			NULL) == SQLITE_OK)
		sqlite->wal_pages = 0;
	*ret_revision = sqlite->revision;
	return 0;
}

static void bind_span(sqlite3_stmt *statement, int parameter, struct span text)
{
	/* the rows outlive the step */
	sqlite3_bind_blob64(statement, parameter, text.length ? text.data : "", text.length,
		SQLITE_STATIC);
}

static int write_row(struct sqlite_backend *sqlite, const struct store_row *row, struct err *err)
{
	sqlite3_stmt *statement = row->deleted ? sqlite->remove : sqlite->put;

	sqlite3_bind_text64(statement, 1, row->kind.data, row->kind.length, SQLITE_STATIC,
		SQLITE_UTF8);
	bind_span(statement, 2, row->key);
	if (!row->deleted) {
		sqlite3_bind_int64(statement, 3, (sqlite3_int64)row->revision);
		bind_span(statement, 4, row->api);
		bind_span(statement, 5, row->private_);
		bind_span(statement, 6, (struct span){(const char *)row->mac, STORE_MAC_SIZE});
	}
	return step(sqlite, statement, err);
}

static int sqlite_commit(struct store_backend *backend, const struct store_row *rows, size_t count,
	struct err *err)
{
	struct sqlite_backend *sqlite = sqlite_of(backend);
	int code = step(sqlite, sqlite->begin, err);

	for (size_t i = 0; i < count && code == 0; i++)
		code = write_row(sqlite, &rows[i], err);
	if (code == 0) {
		sqlite3_bind_int64(sqlite->set_revision, 1,
			(sqlite3_int64)rows[count - 1].revision);
		code = step(sqlite, sqlite->set_revision, err);
	}
	if (code == 0)
		code = step(sqlite, sqlite->commit, err);
	if (code == 0) {
		sqlite->revision = rows[count - 1].revision;
		return 0;
	}
	/* Some errors have rolled back by themselves. */
	if (!sqlite3_get_autocommit(sqlite->database))
		step(sqlite, sqlite->rollback, NULL);
	return code;
}

static void sqlite_rollback(struct store_backend *backend)
{
	(void)backend; /* the transaction begins with the commit */
}

static int sqlite_bind_key(struct store_backend *backend, uint64_t fingerprint, uint64_t *ret_bound,
	struct err *err)
{
	struct sqlite_backend *sqlite = sqlite_of(backend);
	_free_ char *keep =
		memory_format("INSERT INTO meta VALUES('key', %lld) ON CONFLICT DO NOTHING",
			(long long)fingerprint);
	int64_t bound = 0;
	int code = 0;

	if (fingerprint != 0 && sqlite3_exec(sqlite->database, keep, NULL, NULL, NULL) != SQLITE_OK)
		code = sqlite_fail(sqlite, "write database", err);
	if (code == 0)
		code = query_number(sqlite, "SELECT value FROM meta WHERE name = 'key'", &bound,
			err);
	*ret_bound = (uint64_t)bound;
	return code;
}

static int sqlite_settle(struct store_backend *backend, uint64_t first, uint64_t last,
	bool *ret_durable, struct err *err)
{
	(void)backend, (void)first, (void)last, (void)ret_durable;
	return err_set(err, -ENOTSUP, "SQLite always knows whether it has committed");
}

static int sqlite_wait_descriptor(struct store_backend *backend, int *ret_timeout_ms)
{
	(void)backend;
	*ret_timeout_ms = -1;
	return -1;
}

static const struct store_backend_operations sqlite_operations = {
	.load = sqlite_load,
	.begin = sqlite_begin,
	.commit = sqlite_commit,
	.rollback = sqlite_rollback,
	.settle = sqlite_settle,
	.bind_key = sqlite_bind_key,
	.wait_descriptor = sqlite_wait_descriptor,
	.close = sqlite_close,
};

/*
 * The file holds secrets, so it is made for its owner alone; the WAL takes its mode over. It must be a
 * file: SQLite takes some names for databases that it forgets. One that is there is not even opened:
 * closing it again would drop this process's locks on it.
 */
static int make_file(const char *path, struct err *err)
{
	_close_ int descriptor = -1;

	if (path[0] == '\0' || strcmp(path, ":memory:") == 0)
		return err_set(err, -EINVAL,
			"sqlite:%s: must name a file (memory: keeps everything in memory)", path);
	descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (descriptor < 0 && errno != EEXIST)
		return err_errno(err, "make database '%s'", path);
	return 0;
}

int store_sqlite_open(const char *path, struct store_backend **ret_backend, struct err *err)
{
	_free_ char *limit = memory_format("PRAGMA journal_size_limit = %d;", WAL_KEEP_BYTES);
	struct sqlite_backend *sqlite;
	int code = make_file(path, err);

	if (code < 0)
		return code;
	sqlite = memory_allocate(sizeof(*sqlite));
	sqlite->backend.operations = &sqlite_operations;
	sqlite->path = memory_copy_string(path);
	if (sqlite3_open_v2(path, &sqlite->database,
		    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
		    NULL) != SQLITE_OK)
		code = sqlite_fail(sqlite, "open database", err);
	/* Lock first: no other process changes what is read after this. */
	if (code == 0)
		code = run(sqlite,
			"PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL;"
			"PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0;"
			"PRAGMA cell_size_check = ON; PRAGMA trusted_schema = OFF;"
			"BEGIN EXCLUSIVE; COMMIT;",
			err);
	if (code == 0)
		code = run(sqlite, limit, err);
	if (code == 0)
		code = sqlite_format_advance(sqlite->database, path, sqlite_format_steps,
			STORE_FORMAT, err);
	if (code == 0)
		code = prepare(sqlite, err);
	if (code < 0) {
		sqlite_close(&sqlite->backend);
		return code;
	}
	sqlite3_wal_hook(sqlite->database, on_wal_commit, sqlite);
	*ret_backend = &sqlite->backend;
	return 0;
}
