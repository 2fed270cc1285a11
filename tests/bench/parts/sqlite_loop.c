/*
 * The limit for durable writes: a loop that does nothing but commit groups of rows to SQLite, with the
 * same settings, table and rows as slipway: sqlite_loop FILE SECONDS GROUP BYTES FAMILIES. Prints registrations
 * per second; a registration is a row of BYTES, under the next number of its family, and the row that
 * counts its family.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void need(int code, sqlite3 *database)
{
	if (code == SQLITE_OK || code == SQLITE_DONE)
		return;
	fprintf(stderr, "sqlite_loop: %s\n", sqlite3_errmsg(database));
	exit(1);
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void put(sqlite3 *database, sqlite3_stmt *statement, const char *kind, const char *key,
	long revision, const char *text, int length)
{
	sqlite3_bind_text(statement, 1, kind, -1, SQLITE_STATIC);
	sqlite3_bind_text(statement, 2, key, -1, SQLITE_STATIC);
	sqlite3_bind_int64(statement, 3, revision);
	sqlite3_bind_text(statement, 4, text, length, SQLITE_STATIC);
	sqlite3_bind_text(statement, 5, text, 24, SQLITE_STATIC);
	sqlite3_bind_blob(statement, 6, text, 32, SQLITE_STATIC);
	need(sqlite3_step(statement), database);
	need(sqlite3_reset(statement), database);
}

int main(int argc, char **argv)
{
	sqlite3 *database;
	sqlite3_stmt *statement;
	long count = 0;
	double began, end;
	int group, bytes, families;
	char *text;

	if (argc != 6)
		return 2;
	group = atoi(argv[3]);
	bytes = atoi(argv[4]);
	families = atoi(argv[5]);
	text = malloc((size_t)bytes + 64);
	if (!text || group < 1 || bytes < 64 || families < 1)
		return 2;
	memset(text, 'x', (size_t)bytes + 64);
	need(sqlite3_open(argv[1], &database), database);
	need(sqlite3_exec(database,
		     "PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; PRAGMA "
		     "synchronous=FULL;"
		     "CREATE TABLE rows(kind TEXT, key TEXT, revision INTEGER, api TEXT, private "
		     "TEXT,"
		     " mac BLOB, PRIMARY KEY(kind, key));",
		     NULL, NULL, NULL),
		database);
	need(sqlite3_prepare_v2(database, "INSERT OR REPLACE INTO rows VALUES(?1,?2,?3,?4,?5,?6)",
		     -1, &statement, NULL),
		database);
	began = now();
	end = began + atof(argv[2]);
	while (now() < end) {
		need(sqlite3_exec(database, "BEGIN", NULL, NULL, NULL), database);
		for (int i = 0; i < group; i++, count++) {
			char key[64];
			long family = count % families;

			snprintf(key, sizeof(key), "123456789012/us-east-1/family-%ld %010ld",
				family, count / families + 1);
			put(database, statement, "ecs.task_definition", key, count * 2, text,
				bytes);
			snprintf(key, sizeof(key), "123456789012/us-east-1/family-%ld", family);
			put(database, statement, "ecs.task_family", key, count * 2 + 1, text, 1);
		}
		need(sqlite3_exec(database, "COMMIT", NULL, NULL, NULL), database);
	}
	printf("%.0f\n", (double)count / (now() - began));
	sqlite3_finalize(statement);
	sqlite3_close(database);
	free(text);
	return 0;
}
