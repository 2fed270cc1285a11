/* See sqlite_format.h. */
#include "store/sqlite_format.h"

#include "base/memory.h"
#include "store/backend.h"

#define APPLICATION_ID 0x736c6977 /* "sliw": what file(1) and we recognise it by */

const char *const sqlite_format_steps[STORE_FORMAT] = {
	"CREATE TABLE meta(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;"
	"CREATE TABLE rows(kind TEXT NOT NULL, key BLOB NOT NULL, revision INTEGER NOT NULL,"
	" api BLOB NOT NULL, private BLOB NOT NULL, mac BLOB NOT NULL, PRIMARY KEY(kind, key));"
	"INSERT INTO meta VALUES('format', 0);"
	"INSERT INTO meta VALUES('revision', 0);",
};

static int fail(sqlite3 *database, const char *path, const char *what, struct err *err)
{
	int result = sqlite3_extended_errcode(database);
	int code = (result & 0xff) == SQLITE_NOTADB ? -EINVAL : -EIO;

	return err_set(err, code, "%s '%s': %s (SQLite %d)", what, path, sqlite3_errmsg(database),
		result);
}

static int query_number(sqlite3 *database, const char *path, const char *sql, int64_t *ret_number,
	struct err *err)
{
	sqlite3_stmt *statement = NULL;
	int code = 0;

	if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL) != SQLITE_OK ||
		sqlite3_step(statement) != SQLITE_ROW)
		code = fail(database, path, "read the format of", err);
	else
		*ret_number = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	return code;
}

static int take_step(sqlite3 *database, const char *path, const char *step, int64_t from,
	struct err *err)
{
	_free_ char *sql = memory_format("BEGIN; %s"
					 "UPDATE meta SET value = %lld WHERE name = 'format';"
					 "PRAGMA application_id = %d; COMMIT;",
		step, (long long)from + 1, APPLICATION_ID);
	int code;

	if (sqlite3_exec(database, sql, NULL, NULL, NULL) == SQLITE_OK)
		return 0;
	code = fail(database, path, "bring forward database", err);
	sqlite3_exec(database, "ROLLBACK", NULL, NULL, NULL);
	return code;
}

static int find_format(sqlite3 *database, const char *path, int64_t *ret_format, struct err *err)
{
	int64_t application = 0, objects = 0;
	int code = query_number(database, path, "PRAGMA application_id", &application, err);

	if (code == 0)
		code = query_number(database, path, "SELECT count(*) FROM sqlite_schema", &objects,
			err);
	if (code < 0)
		return code;
	*ret_format = 0;
	if (objects == 0 && application == 0)
		return 0;
	if (application != APPLICATION_ID)
		return err_set(err, -EINVAL, "'%s' is a database of another program", path);
	code = query_number(database, path, "SELECT value FROM meta WHERE name = 'format'",
		ret_format, err);
	if (code == 0 && *ret_format < 1)
		return err_set(err, -EINVAL, "database '%s' has an unknown format (%lld)", path,
			(long long)*ret_format);
	return code;
}

int sqlite_format_advance(sqlite3 *database, const char *path, const char *const *steps,
	int step_count, struct err *err)
{
	int64_t format = 0;
	int code = find_format(database, path, &format, err);

	if (code < 0)
		return code;
	if (format > step_count)
		return err_set(err, -ENOTSUP,
			"database '%s' is from a newer slipway (format %lld, this one knows %d)",
			path, (long long)format, step_count);
	for (; code == 0 && format < step_count; format++)
		code = take_step(database, path, steps[format], format, err);
	return code;
}
