/*
 * The backend on PostgreSQL, alone: what is written comes back byte by byte, servers take turns, a cut
 * connection never makes it lie, and it is of use again after everything that can happen to it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <pthread.h>

#include "base/clock.h"
#include "store/backend.h"
#include "store/test_postgres_database.h"
#include "store/test_postgres_proxy.h"

#define DEADLINE_MS 60000

struct fixture {
	struct test_database database;
	struct proxy proxy;
	struct store_backend *backend; /* direct */
	struct store_backend *other;   /* through the proxy */
};

/* ---- rows that were given ---- */

struct recorder {
	struct buffer text;
	size_t count;
	size_t fail_at; /* the row that is refused; 0: none */
};

static void describe_row(struct buffer *out, const struct store_row *row)
{
	buffer_format(out, "%" PRIu64 " %.*s ", row->revision, SPAN_ARGS(row->kind));
	buffer_add_hex(out, row->key.data, row->key.length);
	buffer_format(out, " %d ", row->deleted);
	buffer_add_hex(out, row->api.data, row->api.length);
	buffer_add_char(out, ' ');
	buffer_add_hex(out, row->private_.data, row->private_.length);
	buffer_add_char(out, ' ');
	buffer_add_hex(out, row->mac, STORE_MAC_SIZE);
	buffer_add_char(out, '\n');
}

static int record(void *context, const struct store_row *row, struct err *err)
{
	struct recorder *recorder = context;

	if (++recorder->count == recorder->fail_at)
		return err_set(err, -ECANCELED, "refused");
	describe_row(&recorder->text, row);
	return 0;
}

static int ignore(void *context, const struct store_row *row, struct err *err)
{
	(void)context;
	(void)row;
	(void)err;
	return 0;
}

static struct store_row row_of(uint64_t revision, const char *key, const char *api)
{
	struct store_row row = {
		.kind = SPAN("cluster"),
		.key = span_of(key),
		.revision = revision,
		.deleted = !api,
		.api = api ? span_of(api) : SPAN(""),
		.private_ = api ? SPAN("p\0\xff\n'\\") : SPAN(""),
	};

	snprintf((char *)row.mac, sizeof(row.mac), "%s %s", key, api ? api : "-");
	row.mac[STORE_MAC_SIZE - 1] = (unsigned char)revision;
	return row;
}

static uint64_t begin(struct store_backend *backend)
{
	struct err err;
	uint64_t revision = UINT64_MAX;

	if (backend->operations->begin(backend, ignore, NULL, &revision, &err) < 0)
		fail_msg("begin: %s", err.message);
	return revision;
}

static void commit(struct store_backend *backend, const struct store_row *rows, size_t count)
{
	struct err err;

	if (backend->operations->commit(backend, rows, count, &err) < 0)
		fail_msg("commit: %s", err.message);
}

static uint64_t load(struct store_backend *backend)
{
	struct err err;
	uint64_t revision = UINT64_MAX;

	if (backend->operations->load(backend, ignore, NULL, &revision, &err) < 0)
		fail_msg("load: %s", err.message);
	return revision;
}

/* One put of "key" after everything that is there. */
static uint64_t put(struct store_backend *backend, const char *key, const char *api)
{
	uint64_t revision = begin(backend) + 1;
	struct store_row row = row_of(revision, key, api);

	commit(backend, &row, 1);
	return revision;
}

static struct store_backend *open_backend(const char *url)
{
	struct store_backend *backend = NULL;
	struct err err;

	if (store_postgres_open(url, &backend, &err) < 0)
		fail_msg("open: %s", err.message);
	return backend;
}

static void close_backend(struct store_backend *backend)
{
	if (backend)
		backend->operations->close(backend);
}

/* Everything in the database as a new server would see it, in order of revision. */
static void assert_loads(const char *url, const struct store_row *rows, size_t count)
{
	struct store_backend *backend = open_backend(url);
	_buffer_ struct buffer expected = {0};
	struct recorder recorder = {0};
	uint64_t revision = 0;
	size_t found = 0;

	assert_int_equal(backend->operations->load(backend, record, &recorder, &revision, NULL), 0);
	assert_int_equal(recorder.count, count);
	for (size_t i = 0; i < count; i++) {
		buffer_reset(&expected);
		describe_row(&expected, &rows[i]);
		found += strstr(recorder.text.data, expected.data) != NULL;
	}
	assert_int_equal(found, count);
	buffer_clear(&recorder.text);
	close_backend(backend);
}

static void assert_unlocked(const struct fixture *fixture, bool unlocked)
{
	PGconn *connection = PQconnectdb(fixture->database.url);
	PGresult *result = PQexec(connection, "SELECT 1 FROM slipway.head FOR UPDATE NOWAIT");

	assert_int_equal(PQresultStatus(result) == PGRES_TUPLES_OK, unlocked);
	PQclear(result);
	PQfinish(connection);
}

static int setup(void **state)
{
	struct fixture *fixture = memory_allocate(sizeof(*fixture));

	test_database_create(&fixture->database);
	proxy_start(&fixture->proxy, &fixture->database);
	fixture->backend = open_backend(fixture->database.url);
	fixture->other = open_backend(fixture->proxy.url);
	load(fixture->backend);
	load(fixture->other);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	close_backend(fixture->backend);
	close_backend(fixture->other);
	proxy_stop(&fixture->proxy);
	test_database_drop(&fixture->database);
	free(fixture);
	return 0;
}

/* ---- writing and reading ---- */

static void test_empty_database(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(begin(fixture->backend), 0);
	assert_unlocked(fixture, false);
	fixture->backend->operations->rollback(fixture->backend);
	assert_unlocked(fixture, true);
	assert_loads(fixture->database.url, NULL, 0);
}

static void test_rows_come_back(void **state)
{
	struct fixture *fixture = *state;
	struct store_backend *writer = fixture->backend, *reader = fixture->other;
	char *large = memory_allocate(1024 * 1024 + 1);
	_buffer_ struct buffer expected = {0};
	struct recorder recorder = {0};
	uint64_t revision = 0;
	struct store_row rows[8];

	memset(large, 'x', 1024 * 1024);
	rows[0] = row_of(1, "a", "first");
	rows[1] = row_of(2, "b", "");
	rows[2] = row_of(3, "c", large);
	rows[3] = row_of(4, "a", "second");
	rows[4] = row_of(5, "b", NULL);
	rows[5] = row_of(6, "d", "gone at once");
	rows[6] = row_of(7, "d", NULL);
	rows[7] = row_of(8, "e", "bytes");
	rows[7].key = SPAN("\0\xff\xfe key");
	rows[7].kind = SPAN("service");
	assert_int_equal(begin(writer), 0);
	commit(writer, rows, 8);
	assert_unlocked(fixture, true);

	/* Every change in order, also those that were replaced in the same group. */
	assert_int_equal(reader->operations->begin(reader, record, &recorder, &revision, NULL), 0);
	assert_int_equal(revision, 8);
	for (size_t i = 0; i < 8; i++)
		describe_row(&expected, &rows[i]);
	assert_string_equal(recorder.text.data, expected.data);
	/* And what the reader writes now comes behind it. */
	rows[4] = row_of(9, "b", "again");
	commit(reader, &rows[4], 1);
	buffer_clear(&recorder.text);
	recorder.count = 0;
	assert_int_equal(writer->operations->follow(writer, record, &recorder, &revision, NULL), 0);
	assert_int_equal(revision, 9);
	assert_int_equal(recorder.count, 1);

	assert_loads(fixture->database.url,
		(struct store_row[]){rows[2], rows[3], rows[4], rows[7]}, 4);
	buffer_clear(&recorder.text);
	free(large);
}

static void test_large_groups(void **state)
{
	enum { ROWS = 4096, KEYS = 700, LARGE = 12 };
	struct fixture *fixture = *state;
	struct store_backend *writer = fixture->backend;
	struct store_row *rows = memory_allocate_array(ROWS, sizeof(*rows));
	char *keys = memory_allocate_array(ROWS, 16);
	char *large = memory_allocate(1024 * 1024 + 1);
	struct recorder recorder = {0};
	uint64_t revision;

	memset(large, 'x', 1024 * 1024);
	for (size_t i = 0; i < ROWS; i++) {
		snprintf(keys + 16 * i, 16, "key %zu", i % KEYS);
		rows[i] = row_of(i + 1, keys + 16 * i, i < LARGE ? large : "text");
	}
	begin(writer);
	commit(writer, rows, ROWS);
	assert_int_equal(fixture->other->operations->follow(fixture->other, record, &recorder,
				 &revision, NULL),
		0);
	assert_int_equal(recorder.count, ROWS);
	assert_int_equal(revision, ROWS);
	assert_int_equal(test_database_number(fixture->database.url,
				 "SELECT count(*) FROM slipway.live JOIN slipway.log"
				 " USING (revision, kind, key)"),
		KEYS);
	/* Each replaced row is known as such exactly once. */
	assert_int_equal(test_database_number(fixture->database.url,
				 "SELECT count(DISTINCT replaces) FROM slipway.log"),
		ROWS - KEYS);
	buffer_clear(&recorder.text);
	free(large);
	free(keys);
	free(rows);
}

static void test_refused_row(void **state)
{
	struct fixture *fixture = *state;
	struct store_backend *reader = fixture->other;
	struct recorder recorder = {.fail_at = 2};
	uint64_t revision = 0;
	struct err err;

	put(fixture->backend, "a", "1");
	put(fixture->backend, "b", "1");
	put(fixture->backend, "c", "1");
	assert_int_equal(reader->operations->begin(reader, record, &recorder, &revision, &err),
		-ECANCELED);
	assert_unlocked(fixture, true);
	recorder.fail_at = 0;
	assert_int_equal(reader->operations->begin(reader, record, &recorder, &revision, &err), 0);
	reader->operations->rollback(reader);
	assert_int_equal(revision, 3);
	assert_int_equal(recorder.count, 2 + 3); /* earlier changes are given again */
	buffer_clear(&recorder.text);
}

/* Following must not wait for a writer: an idle server would slow down all the others. */
static void test_follows_while_another_writes(void **state)
{
	struct fixture *fixture = *state;
	struct store_backend *reader = fixture->other;
	struct recorder recorder = {0};
	uint64_t revision = 0;
	struct store_row row = row_of(2, "b", "1");

	put(fixture->backend, "a", "1");
	begin(fixture->backend);
	assert_int_equal(reader->operations->follow(reader, record, &recorder, &revision, NULL), 0);
	assert_int_equal(recorder.count, 1);
	assert_int_equal(revision, 1);
	commit(fixture->backend, &row, 1);
	assert_int_equal(reader->operations->follow(reader, record, &recorder, &revision, NULL), 0);
	assert_int_equal(recorder.count, 2);
	assert_int_equal(revision, 2);
	buffer_clear(&recorder.text);
}

static void *open_from_thread(void *url)
{
	return open_backend(url);
}

static void test_many_open_an_empty_database_at_once(void **state)
{
	enum { SERVERS = 8 };
	struct test_database database;
	pthread_t threads[SERVERS];

	(void)state;
	test_database_create(&database);
	for (size_t i = 0; i < SERVERS; i++)
		pthread_create(&threads[i], NULL, open_from_thread, database.url);
	for (size_t i = 0; i < SERVERS; i++) {
		void *backend;

		pthread_join(threads[i], &backend);
		assert_int_equal(load(backend), i);
		assert_int_equal(put(backend, "key", "1"), i + 1);
		close_backend(backend);
	}
	test_database_drop(&database);
}

static void test_notification_wakes(void **state)
{
	struct fixture *fixture = *state;
	struct store_backend *reader = fixture->other;
	struct clock *clock = clock_system();
	int64_t deadline = clock_steady_us(clock) + DEADLINE_MS * 1000;
	int timeout = -1;
	int descriptor = reader->operations->wait_descriptor(reader, &timeout);
	struct pollfd wait = {.fd = descriptor, .events = POLLIN};

	assert_true(descriptor >= 0);
	assert_in_range(timeout, 1, 1000);
	assert_int_equal(poll(&wait, 1, 0), 0);
	put(fixture->backend, "a", "1");
	assert_int_equal(poll(&wait, 1, DEADLINE_MS), 1);
	/* The descriptor is quiet again once it was looked at, and says that there is something. */
	while (timeout != 0 && clock_steady_us(clock) < deadline)
		reader->operations->wait_descriptor(reader, &timeout);
	assert_int_equal(timeout, 0);
	assert_int_equal(begin(reader), 1);
	reader->operations->rollback(reader);
	reader->operations->wait_descriptor(reader, &timeout);
	assert_in_range(timeout, 1, 1000);
	assert_int_equal(poll(&wait, 1, 0), 0);
	/* A server's own writes do not wake it. */
	put(reader, "b", "1");
	reader->operations->wait_descriptor(reader, &timeout);
	assert_in_range(timeout, 1, 1000);
}

/* ---- the log ---- */

static void test_too_far_behind_loads_again(void **state)
{
	enum { KEEP = 20, WRITES = 40 };
	struct fixture *fixture = *state;
	struct store_backend *writer = fixture->backend, *reader = fixture->other;
	const char *url = fixture->database.url;
	uint64_t revision = 0;
	struct err err;

	test_database_run(url, "UPDATE slipway.head SET keep = 20");
	put(writer, "constant", "1");
	for (int i = 0; i < WRITES; i++) {
		put(writer, "hot", "text");
		put(writer, "brief", "text");
		put(writer, "brief", NULL);
	}
	assert_int_equal(reader->operations->begin(reader, ignore, NULL, &revision, &err),
		-EOVERFLOW);
	assert_non_null(strstr(err.message, "too far behind"));
	assert_unlocked(fixture, true);
	assert_int_equal(reader->operations->follow(reader, ignore, NULL, &revision, &err),
		-EOVERFLOW);
	assert_int_equal(load(reader), 1 + 3 * WRITES);
	assert_int_equal(put(reader, "mine", "1"), 2 + 3 * WRITES);

	/* Live rows, and changes that are younger than `keep` and a step of pruning. */
	assert_in_range(test_database_number(url, "SELECT count(*) FROM slipway.log"), KEEP + 1,
		KEEP + KEEP / 10 + 4);
	assert_int_equal(test_database_number(url,
				 "SELECT count(*) FROM slipway.live JOIN slipway.log"
				 " USING (revision, kind, key)"),
		3);
	assert_int_equal(test_database_number(url, "SELECT count(*) FROM slipway.live"), 3);
}

/* A standby took over that had not got the last commits, and others went on from there. */
static void test_database_put_back(void **state)
{
	struct fixture *fixture = *state;
	struct store_backend *reader = fixture->other;
	const char *url = fixture->database.url;
	uint64_t revision = 0;
	struct err err;

	put(fixture->backend, "a", "1");
	put(fixture->backend, "a", "2");
	begin(reader);
	reader->operations->rollback(reader);
	test_database_run(url,
		"DELETE FROM slipway.log WHERE revision = 2;"
		"UPDATE slipway.live SET revision = 1; UPDATE slipway.head SET revision = 1");
	assert_int_equal(reader->operations->begin(reader, ignore, NULL, &revision, &err),
		-EOVERFLOW);
	assert_int_equal(load(fixture->backend), 1);
	put(fixture->backend, "b", "1");
	put(fixture->backend, "c", "1");
	assert_int_equal(reader->operations->begin(reader, ignore, NULL, &revision, &err),
		-EOVERFLOW);
	assert_int_equal(load(reader), 3);
	assert_int_equal(begin(reader), 3);
}

static void test_live_row_without_text(void **state)
{
	struct fixture *fixture = *state;
	struct recorder recorder = {0};
	uint64_t revision = 0;
	struct store_row row = {.kind = SPAN("cluster"), .key = SPAN("a"), .revision = 1};
	_buffer_ struct buffer expected = {0};

	put(fixture->backend, "a", "1");
	test_database_run(fixture->database.url, "DELETE FROM slipway.log");
	assert_int_equal(fixture->other->operations->load(fixture->other, record, &recorder,
				 &revision, NULL),
		0);
	describe_row(&expected, &row);
	assert_string_equal(recorder.text.data, expected.data);
	/* The log's last row is gone: nothing to compare with, but it must go on. */
	assert_int_equal(begin(fixture->other), 1);
	buffer_clear(&recorder.text);
}

static void test_newer_format_is_refused(void **state)
{
	struct fixture *fixture = *state;
	struct store_backend *backend = NULL;
	struct err err;

	test_database_run(fixture->database.url, "UPDATE slipway.format SET version = 7");
	assert_int_equal(store_postgres_open(fixture->database.url, &backend, &err), -ENOTSUP);
	assert_string_equal(err.message,
		"database is from a newer slipway (format 7, this one knows 1)");
	assert_int_equal(test_database_number(fixture->database.url,
				 "SELECT version FROM slipway.format"),
		7);
}

/* ---- failures ---- */

static void test_refused_statement(void **state)
{
	struct fixture *fixture = *state;
	struct store_backend *backend = fixture->backend;
	struct store_row rows[2];
	struct err err;

	put(backend, "a", "1");
	test_database_run(fixture->database.url,
		"CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
		" IF new.key = 'poison' THEN RAISE 'no more of this'; END IF; RETURN new; END $$;"
		"CREATE TRIGGER refuse BEFORE INSERT ON slipway.log FOR EACH ROW"
		" EXECUTE FUNCTION refuse()");
	assert_int_equal(begin(backend), 1);
	rows[0] = row_of(2, "b", "1");
	rows[1] = row_of(3, "poison", "1");
	assert_int_equal(backend->operations->commit(backend, rows, 2, &err), -EIO);
	assert_string_equal(err.message, "PostgreSQL: no more of this (P0001)");
	assert_unlocked(fixture, true);
	assert_int_equal(put(backend, "c", "1"), 2);
	assert_int_equal(test_database_number(fixture->database.url,
				 "SELECT count(*) FROM slipway.log"),
		2);
}

static void end_sessions(const struct fixture *fixture)
{
	test_database_run(fixture->database.url,
		"SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity"
		" WHERE application_name LIKE 'slipway-%' AND datname = current_database()");
}

static void test_session_ended_while_idle(void **state)
{
	struct fixture *fixture = *state;

	end_sessions(fixture);
	assert_int_equal(put(fixture->backend, "a", "1"), 1);
	end_sessions(fixture);
	assert_int_equal(put(fixture->other, "b", "1"), 2);
}

static void test_session_ended_in_a_transaction(void **state)
{
	struct fixture *fixture = *state;
	struct store_backend *backend = fixture->backend;
	struct store_row row = row_of(1, "a", "1");
	bool durable = true;
	struct err err;

	begin(backend);
	end_sessions(fixture);
	assert_int_equal(backend->operations->commit(backend, &row, 1, &err), -EINPROGRESS);
	assert_int_equal(err.code, -EINPROGRESS);
	assert_int_equal(backend->operations->settle(backend, 1, 1, &durable, &err), 0);
	assert_false(durable);
	assert_int_equal(put(backend, "a", "1"), 1);
	begin(backend);
	end_sessions(fixture);
	backend->operations->rollback(backend);
	assert_int_equal(put(backend, "a", "2"), 2);
}

static void test_cut_in_a_commit(void **state)
{
	static const enum proxy_cut cuts[] = {
		PROXY_BEFORE,
		PROXY_AFTER,
		PROXY_UNNOTICED,
		PROXY_LATE,
		PROXY_RACING,
		PROXY_RACING,
		PROXY_RACING,
		PROXY_RACING,
	};
	struct fixture *fixture = *state;
	struct store_backend *backend = fixture->other;
	uint64_t revision = begin(backend);

	backend->operations->rollback(backend);
	for (size_t i = 0; i < LENGTH(cuts); i++) {
		bool durable = i % 2; /* to be overwritten */
		struct store_row rows[2] = {
			row_of(revision + 1, "a", "cut"), row_of(revision + 2, "b", "cut")};
		struct err err;
		_free_ char *count =
			memory_format("SELECT count(*) FROM slipway.log WHERE revision > %" PRIu64,
				revision);
		int64_t there;

		assert_int_equal(begin(backend), revision);
		proxy_notify(&fixture->proxy, cuts[i], false, false);
		assert_int_equal(backend->operations->commit(backend, rows, 2, &err), -EINPROGRESS);
		assert_int_equal(proxy_cuts(&fixture->proxy), i + 1);
		if (backend->operations->settle(backend, revision + 1, revision + 2, &durable,
			    &err) < 0)
			fail_msg("settle: %s", err.message);
		there = test_database_number(fixture->database.url, count);
		assert_int_equal(there, durable ? 2 : 0);
		if (cuts[i] == PROXY_BEFORE || cuts[i] == PROXY_UNNOTICED)
			assert_false(durable);
		if (cuts[i] == PROXY_AFTER)
			assert_true(durable);
		if (durable)
			revision += 2;
		revision = put(backend, "c", "whole");
	}
	assert_int_equal(begin(backend), revision);
}

/* Another server may have the same revisions by the time we ask. */
static void test_cut_and_overtaken(void **state)
{
	struct fixture *fixture = *state;
	struct store_backend *backend = fixture->other;
	struct store_row row = row_of(1, "a", "lost");
	struct recorder recorder = {0};
	_buffer_ struct buffer expected = {0};
	uint64_t revision = 0;
	bool durable = true;
	struct err err;

	begin(backend);
	proxy_notify(&fixture->proxy, PROXY_BEFORE, false, false);
	assert_int_equal(backend->operations->commit(backend, &row, 1, &err), -EINPROGRESS);
	assert_int_equal(put(fixture->backend, "a", "overtook"), 1);
	assert_int_equal(backend->operations->settle(backend, 1, 1, &durable, &err), 0);
	assert_false(durable);
	assert_int_equal(backend->operations->begin(backend, record, &recorder, &revision, &err),
		0);
	row = row_of(1, "a", "overtook");
	describe_row(&expected, &row);
	assert_string_equal(recorder.text.data, expected.data);
	buffer_clear(&recorder.text);
}

/* A server that stopped for good in the middle of a commit must not stop the others. */
static void test_stuck_server_is_ended(void **state)
{
	struct fixture *fixture = *state;
	_free_ char *url =
		memory_format("%s&options=-c%%20lock_timeout%%3D500ms", fixture->database.url);
	struct store_backend *waiting = open_backend(url);
	struct store_row row = row_of(1, "a", "stuck");
	struct err err;

	load(waiting);
	begin(fixture->other);
	proxy_notify(&fixture->proxy, PROXY_UNNOTICED, false, false);
	assert_int_equal(fixture->other->operations->commit(fixture->other, &row, 1, &err),
		-EINPROGRESS);
	assert_int_equal(put(waiting, "a", "1"), 1);
	close_backend(waiting);
}

static void test_database_away_and_back(void **state)
{
	struct fixture *fixture = *state;
	struct store_backend *backend = fixture->other;
	struct clock *clock = clock_system();
	int64_t deadline = clock_steady_us(clock) + DEADLINE_MS * 1000;
	uint64_t revision;
	struct err err;
	int timeout = -1;
	int code;

	put(backend, "a", "1");
	proxy_notify(&fixture->proxy, PROXY_PASS, true, false);
	while ((code = backend->operations->begin(backend, ignore, NULL, &revision, &err)) == 0 &&
		clock_steady_us(clock) < deadline)
		backend->operations->rollback(backend);
	assert_int_equal(code, -EIO);
	assert_non_null(strstr(err.message, "PostgreSQL: cannot connect"));
	/* Too early for another attempt: the same answer, and at once. */
	assert_int_equal(backend->operations->wait_descriptor(backend, &timeout), -1);
	assert_in_range(timeout, 0, 2001);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(backend->operations->begin(backend, ignore, NULL, &revision, &err),
			-EIO);
	assert_non_null(strstr(err.message, "PostgreSQL: cannot connect"));
	proxy_notify(&fixture->proxy, PROXY_PASS, false, false);
	while ((code = backend->operations->begin(backend, ignore, NULL, &revision, &err)) < 0 &&
		clock_steady_us(clock) < deadline) {
		backend->operations->wait_descriptor(backend, &timeout);
		poll(NULL, 0, timeout);
	}
	assert_int_equal(code, 0);
	assert_int_equal(revision, 1);
}

/* ---- URLs ---- */

static void test_password_is_never_shown(void **state)
{
	static const char *const urls[] = {
		"postgresql://joe:Tr0ub4dor@127.0.0.1:1/db",
		"postgresql://joe:Tr0ub4dor@127.0.0.1:1/db?nonsense=1",
		"postgresql://joe:Tr0ub4dor/x@127.0.0.1:1/db",
		"postgresql://joe:Tr0ub4dor?x@127.0.0.1:1/db",
		"postgresql://joe:Tr0ub4dor#x@127.0.0.1:1/db",
		"postgresql://joe:Tr0ub4dor%zz@127.0.0.1:1/db",
		"postgresql://joe:x@Tr0ub4dor@127.0.0.1:1/db",
		"postgresql://joe:Tr0ub4dor@[::1/db",
		"postgresql://127.0.0.1:1/db?user=joe&password=Tr0ub4dor",
		"postgresql://127.0.0.1:1/db?password=Tr0ub4dor&nonsense=1",
		"postgresql://127.0.0.1:1/db?sslpassword=Tr0ub4dor&nonsense=1",
		"postgresql://joe:Tr0ub4dor@Tr0ub4dor.invalid:1/db",
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(urls); i++) {
		struct store_backend *backend = NULL;
		struct err err = {0};

		assert_true(store_postgres_open(urls[i], &backend, &err) < 0);
		assert_null(backend);
		assert_true(strlen(err.message) > 10);
		if (strstr(err.message, "Tr0ub4dor"))
			fail_msg("%s: %s", urls[i], err.message);
	}
}

static void test_errors_are_reported(void **state)
{
	struct fixture *fixture = *state;
	struct store_backend *backend = NULL;
	_free_ char *url =
		test_database_url(fixture->database.server_url, "slipway_no_such_database", NULL);
	struct err err;

	assert_int_equal(store_postgres_open(url, &backend, &err), -EIO);
	assert_non_null(strstr(err.message, "\"slipway_no_such_database\" does not exist"));
	assert_null(strchr(err.message, '\n'));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_empty_database, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rows_come_back, setup, teardown),
		cmocka_unit_test_setup_teardown(test_large_groups, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused_row, setup, teardown),
		cmocka_unit_test_setup_teardown(test_follows_while_another_writes, setup, teardown),
		cmocka_unit_test(test_many_open_an_empty_database_at_once),
		cmocka_unit_test_setup_teardown(test_notification_wakes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_too_far_behind_loads_again, setup, teardown),
		cmocka_unit_test_setup_teardown(test_database_put_back, setup, teardown),
		cmocka_unit_test_setup_teardown(test_live_row_without_text, setup, teardown),
		cmocka_unit_test_setup_teardown(test_newer_format_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused_statement, setup, teardown),
		cmocka_unit_test_setup_teardown(test_session_ended_while_idle, setup, teardown),
		cmocka_unit_test_setup_teardown(test_session_ended_in_a_transaction, setup,
			teardown),
		cmocka_unit_test_setup_teardown(test_cut_in_a_commit, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cut_and_overtaken, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stuck_server_is_ended, setup, teardown),
		cmocka_unit_test_setup_teardown(test_database_away_and_back, setup, teardown),
		cmocka_unit_test(test_password_is_never_shown),
		cmocka_unit_test_setup_teardown(test_errors_are_reported, setup, teardown),
	};

	test_database_server();
	return cmocka_run_group_tests_name("store/postgres", tests, NULL, NULL);
}
