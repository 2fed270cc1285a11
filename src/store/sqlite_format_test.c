/* Formats move forward, one durable step at a time, and never back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "store/sqlite_format.h"

#define FIRST                                                                                      \
	"CREATE TABLE meta(name TEXT PRIMARY KEY, value INTEGER NOT NULL);"                        \
	"INSERT INTO meta VALUES('format', 0);"                                                    \
	"CREATE TABLE things(name TEXT); INSERT INTO things VALUES('a'), ('b');"
#define SECOND "ALTER TABLE things ADD COLUMN size INTEGER NOT NULL DEFAULT 7;"
#define THIRD "UPDATE things SET size = size + 1;"
#define BROKEN "UPDATE things SET size = 0; INSERT INTO nowhere VALUES(1);"

static int open_database(void **state)
{
	sqlite3 *database;

	if (sqlite3_open(":memory:", &database) != SQLITE_OK)
		return -1;
	*state = database;
	return 0;
}

static int close_database(void **state)
{
	return sqlite3_close(*state) == SQLITE_OK ? 0 : -1;
}

static int64_t number(sqlite3 *database, const char *sql)
{
	sqlite3_stmt *statement;
	int64_t value;

	assert_int_equal(sqlite3_prepare_v2(database, sql, -1, &statement, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	value = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	return value;
}

static int64_t format_of(sqlite3 *database)
{
	return number(database, "SELECT value FROM meta WHERE name = 'format'");
}

static void test_old_databases_move_forward(void **state)
{
	static const char *const steps[] = {FIRST, SECOND, THIRD};
	sqlite3 *database = *state;
	struct err err;

	assert_int_equal(sqlite_format_advance(database, "x", steps, 1, &err), 0);
	assert_int_equal(format_of(database), 1);
	/* A newer slipway comes; nothing is lost and every step is taken once. */
	assert_int_equal(sqlite_format_advance(database, "x", steps, 3, &err), 0);
	assert_int_equal(format_of(database), 3);
	assert_int_equal(number(database, "SELECT count(*) FROM things WHERE size = 8"), 2);
	assert_int_equal(sqlite_format_advance(database, "x", steps, 3, &err), 0);
	assert_int_equal(number(database, "SELECT count(*) FROM things WHERE size = 8"), 2);
}

static void test_a_step_is_taken_whole_or_not(void **state)
{
	static const char *const broken[] = {FIRST, SECOND, BROKEN};
	static const char *const recovered[] = {FIRST, SECOND, THIRD};
	sqlite3 *database = *state;
	struct err err;

	assert_int_equal(sqlite_format_advance(database, "x", broken, 3, &err), -EIO);
	assert_non_null(strstr(err.message, "nowhere"));
	assert_int_equal(format_of(database), 2);
	assert_int_equal(number(database, "SELECT count(*) FROM things WHERE size = 7"), 2);
	assert_int_equal(sqlite_format_advance(database, "x", recovered, 3, &err), 0);
	assert_int_equal(number(database, "SELECT count(*) FROM things WHERE size = 8"), 2);
}

static void test_a_newer_format_is_refused(void **state)
{
	static const char *const steps[] = {FIRST, SECOND};
	sqlite3 *database = *state;
	struct err err;

	assert_int_equal(sqlite_format_advance(database, "x", steps, 2, &err), 0);
	assert_int_equal(sqlite_format_advance(database, "x", steps, 1, &err), -ENOTSUP);
	assert_string_equal(err.message,
		"database 'x' is from a newer slipway (format 2, this one knows 1)");
	assert_int_equal(format_of(database), 2);
}

static void test_other_programs_are_left_alone(void **state)
{
	static const char *const steps[] = {FIRST};
	sqlite3 *database = *state;
	struct err err;

	sqlite3_exec(database, "CREATE TABLE theirs(x)", NULL, NULL, NULL);
	assert_int_equal(sqlite_format_advance(database, "x", steps, 1, &err), -EINVAL);
	assert_int_equal(number(database, "SELECT count(*) FROM sqlite_schema"), 1);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, open_database, close_database)
	const struct CMUnitTest tests[] = {
		TEST(test_old_databases_move_forward),
		TEST(test_a_step_is_taken_whole_or_not),
		TEST(test_a_newer_format_is_refused),
		TEST(test_other_programs_are_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
