/*
 * A newer slipway upgrades the database while older ones have it open: every group commits before
 * the step or is rejected, and no server applies rows of a format that it does not know.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "store/backend.h"
#include "store/postgres_format.h"
#include "store/postgres_schema.h"
#include "store/test_kinds.h"
#include "store/test_postgres_database.h"
#include "store/test_store.h"

#define DEADLINE_MS 60000
#define NEWER "database is from a newer slipway (format 2, this one knows 1)"

struct fixture {
	struct test_database database;
	struct test_store *test; /* for its key file */
	struct store_backend *backend;
};

static int setup(void **state)
{
	struct fixture *fixture = memory_allocate(sizeof(*fixture));

	test_database_create(&fixture->database);
	fixture->test = test_store_new(true, false);
	if (store_postgres_open(fixture->database.url, &fixture->backend, NULL) < 0)
		return -1;
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	fixture->backend->operations->close(fixture->backend);
	test_store_free(fixture->test);
	test_database_drop(&fixture->database);
	free(fixture);
	return 0;
}

static int64_t number(const struct fixture *fixture, const char *text)
{
	return test_database_number(fixture->database.url, text);
}

static void run(const struct fixture *fixture, const char *text)
{
	test_database_run(fixture->database.url, text);
}

static int64_t format_of(const struct fixture *fixture)
{
	return number(fixture, "SELECT version FROM slipway.format");
}

/* Upgrades the database as a newer slipway does when it starts. */
static int step_forward(const char *url, const char *step, struct err *err)
{
	const char *const steps[] = {postgres_format_steps[0], step};
	struct postgres_session *session = NULL;
	int code = postgres_session_new(url, "slipway-newer", &session, err);

	if (code >= 0)
		code = postgres_session_connect(session, err);
	if (code >= 0)
		code = postgres_format_open(session, steps, LENGTH(steps), true, err);
	postgres_session_free(session);
	return code;
}

static void assert_steps_forward(const struct fixture *fixture, const char *step)
{
	struct err err;

	if (step_forward(fixture->database.url, step, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(format_of(fixture), 2);
}

/* ---- the backend ---- */

static int count_row(void *context, const struct store_row *row, struct err *err)
{
	(void)row;
	(void)err;
	++*(size_t *)context;
	return 0;
}

static uint64_t begin(const struct fixture *fixture)
{
	struct store_backend *backend = fixture->backend;
	size_t rows = 0;
	uint64_t revision = 0;
	struct err err;

	if (backend->operations->begin(backend, count_row, &rows, &revision, &err) < 0)
		fail_msg("begin: %s", err.message);
	return revision;
}

static void commit(const struct fixture *fixture, uint64_t revision)
{
	struct store_row row = {.kind = SPAN("thing"), .key = SPAN("a"), .revision = revision};
	struct err err;

	if (fixture->backend->operations->commit(fixture->backend, &row, 1, &err) < 0)
		fail_msg("commit: %s", err.message);
}

/* Neither gives a row nor keeps a lock, in all three ways to read. */
static void assert_refused(const struct fixture *fixture)
{
	const struct store_backend_operations *operations = fixture->backend->operations;
	int (*const reads[])(struct store_backend *, store_row_function, void *, uint64_t *,
		struct err *) = {operations->begin, operations->follow, operations->load};

	for (size_t i = 0; i < LENGTH(reads); i++) {
		size_t rows = 0;
		uint64_t revision = 77;
		struct err err;

		assert_int_equal(reads[i](fixture->backend, count_row, &rows, &revision, &err),
			-ENOTSUP);
		assert_string_equal(err.message, NEWER);
		assert_int_equal(rows, 0);
		assert_int_equal(revision, 77);
	}
	assert_int_equal(number(fixture, "SELECT count(*) FROM pg_stat_activity WHERE"
					 " datname = current_database() AND xact_start IS NOT NULL"
					 " AND application_name LIKE 'slipway-%'"),
		0);
}

/* Until it may go on: a connection that was refused is not tried again at once. */
static void wait_until_accepted(const struct fixture *fixture, uint64_t revision)
{
	struct store_backend *backend = fixture->backend;
	struct clock *clock = clock_system();
	int64_t deadline = clock_steady_us(clock) + DEADLINE_MS * 1000;
	size_t rows = 0;
	uint64_t found = 0;
	struct err err;
	int code;

	while ((code = backend->operations->begin(backend, count_row, &rows, &found, &err)) < 0 &&
		clock_steady_us(clock) < deadline)
		poll(NULL, 0, 10);
	assert_int_equal(code, 0);
	assert_int_equal(found, revision);
	backend->operations->rollback(backend);
}

static void write_as_newer(const struct fixture *fixture)
{
	run(fixture,
		"INSERT INTO slipway.log (revision, kind, key, deleted, api, private, mac, writer)"
		" SELECT revision + 1, 'thing', 'new', false, '', '', '', 1 FROM slipway.head;"
		"INSERT INTO slipway.live SELECT 'thing', 'new', revision + 1 FROM slipway.head;"
		"UPDATE slipway.head SET revision = revision + 1; NOTIFY slipway");
}

static void test_open_connections_are_refused(void **state)
{
	struct fixture *fixture = *state;

	commit(fixture, begin(fixture) + 1);
	assert_steps_forward(fixture, "CREATE TABLE slipway.more (x integer)");
	write_as_newer(fixture);
	assert_refused(fixture);
	assert_refused(fixture); /* and when it has to connect again */
	assert_int_equal(number(fixture, "SELECT revision FROM slipway.head"), 2);
	assert_int_equal(number(fixture, "SELECT count(*) FROM slipway.log"), 2);
	run(fixture, "UPDATE slipway.format SET version = 1");
	wait_until_accepted(fixture, 2);
}

/* Loading is the first that a server does after it opened. */
static void test_a_step_between_opening_and_loading(void **state)
{
	struct fixture *fixture = *state;
	size_t rows = 0;
	uint64_t revision = 77;
	struct err err;

	commit(fixture, begin(fixture) + 1);
	assert_steps_forward(fixture, "SELECT 1");
	assert_int_equal(fixture->backend->operations->load(fixture->backend, count_row, &rows,
				 &revision, &err),
		-ENOTSUP);
	assert_string_equal(err.message, NEWER);
	assert_int_equal(rows, 0);
	/* Nor when live has no row that shows it. */
	run(fixture, "DELETE FROM slipway.live; UPDATE slipway.format SET version = 1");
	wait_until_accepted(fixture, 1);
	run(fixture, "UPDATE slipway.format SET version = 2");
	assert_int_equal(fixture->backend->operations->load(fixture->backend, count_row, &rows,
				 &revision, &err),
		-ENOTSUP);
	assert_int_equal(revision, 77);
}

/* The tables do not match the prepared statements: the error says so. */
static void test_tables_that_are_others_now(void **state)
{
	static const char *const changes[] = {
		"ALTER TABLE slipway.head RENAME COLUMN keep TO kept",
		"ALTER TABLE slipway.log ALTER kind TYPE text USING kind::text",
		"ALTER TABLE slipway.log RENAME TO changes",
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < LENGTH(changes); i++) {
		assert_steps_forward(fixture, changes[i]);
		assert_refused(fixture);
		run(fixture, "DROP SCHEMA slipway CASCADE");
		teardown(state);
		setup(state);
		fixture = *state;
		commit(fixture, begin(fixture) + 1);
	}
}

/* ---- both at once ---- */

struct stepper {
	pthread_t thread;
	const char *url;
	const char *step;
	int code;
	struct err err;
	atomic_bool done;
};

static void *step_in_thread(void *context)
{
	struct stepper *stepper = context;

	stepper->code = step_forward(stepper->url, stepper->step, &stepper->err);
	atomic_store(&stepper->done, true);
	return NULL;
}

static void wait_for_waiters(const struct fixture *fixture, int64_t count)
{
	struct clock *clock = clock_system();
	int64_t deadline = clock_steady_us(clock) + DEADLINE_MS * 1000;

	while (number(fixture,
		       "SELECT count(*) FROM pg_stat_activity WHERE"
		       " datname = current_database() AND wait_event_type = 'Lock'") < count) {
		if (clock_steady_us(clock) > deadline)
			fail_msg("no process waits for the lock");
		poll(NULL, 0, 5);
	}
}

static void test_a_step_waits_for_a_group(void **state)
{
	struct fixture *fixture = *state;
	struct stepper stepper = {.url = fixture->database.url,
		.step = "CREATE TABLE slipway.at_step AS SELECT revision FROM slipway.head"};
	uint64_t revision = begin(fixture) + 1;

	pthread_create(&stepper.thread, NULL, step_in_thread, &stepper);
	wait_for_waiters(fixture, 1);
	assert_false(atomic_load(&stepper.done));
	assert_int_equal(format_of(fixture), 1);
	commit(fixture, revision);
	pthread_join(stepper.thread, NULL);
	assert_int_equal(stepper.code, 0);
	assert_int_equal(format_of(fixture), 2);
	assert_int_equal(number(fixture, "SELECT revision FROM slipway.at_step"),
		(int64_t)revision);
	assert_refused(fixture);
}

struct beginner {
	pthread_t thread;
	struct store_backend *backend;
	size_t rows;
	int code;
	struct err err;
};

static void *begin_in_thread(void *context)
{
	struct beginner *beginner = context;
	uint64_t revision = 0;

	beginner->code = beginner->backend->operations->begin(beginner->backend, count_row,
		&beginner->rows, &revision, &beginner->err);
	return NULL;
}

/* The statement that waits for the lock began before the step was committed. */
static void test_a_group_waits_for_a_step(void **state)
{
	struct fixture *fixture = *state;
	struct beginner beginner = {.backend = fixture->backend};
	PGconn *newer = PQconnectdb(fixture->database.url);

	PQclear(PQexec(newer, postgres_format_lock));
	pthread_create(&beginner.thread, NULL, begin_in_thread, &beginner);
	wait_for_waiters(fixture, 1);
	PQclear(PQexec(newer, "UPDATE slipway.format SET version = 2; COMMIT"));
	PQfinish(newer);
	pthread_join(beginner.thread, NULL);
	assert_int_equal(beginner.code, -ENOTSUP);
	assert_string_equal(beginner.err.message, NEWER);
}

static void test_a_step_is_taken_once(void **state)
{
	struct fixture *fixture = *state;
	struct stepper steppers[6];

	for (size_t i = 0; i < LENGTH(steppers); i++) {
		steppers[i] = (struct stepper){.url = fixture->database.url,
			.step = "CREATE TABLE slipway.once (x integer)"};
		pthread_create(&steppers[i].thread, NULL, step_in_thread, &steppers[i]);
	}
	for (size_t i = 0; i < LENGTH(steppers); i++) {
		pthread_join(steppers[i].thread, NULL);
		if (steppers[i].code < 0)
			fail_msg("%s", steppers[i].err.message);
	}
	assert_int_equal(format_of(fixture), 2);
}

static void test_a_step_is_taken_whole_or_not(void **state)
{
	struct fixture *fixture = *state;
	struct err err;

	assert_int_equal(step_forward(fixture->database.url,
				 "DELETE FROM slipway.head; INSERT INTO nowhere VALUES (1)", &err),
		-EIO);
	assert_non_null(strstr(err.message, "bring the tables from format 1 forward: "));
	assert_non_null(strstr(err.message, "nowhere"));
	assert_int_equal(format_of(fixture), 1);
	commit(fixture, begin(fixture) + 1);
}

static void test_what_is_thought_of_formats(void **state)
{
	struct err err;

	(void)state;
	assert_int_equal(postgres_format_check(3, 3, &err), 0);
	assert_int_equal(postgres_format_check(4, 3, &err), -ENOTSUP);
	/* A server continues on a database that was restored from before its step. */
	assert_int_equal(postgres_format_check(2, 3, &err), -EPROTO);
	assert_string_equal(err.message,
		"database was put back to an older format (2, this slipway "
		"writes 3): start it again to bring that forward");
	assert_int_equal(postgres_format_check(0, 3, &err), -EPROTO);
	assert_string_equal(err.message, "the tables of the store are gone from the database");
}

/* ---- the store ---- */

struct putter {
	pthread_t thread;
	struct store *store;
	int number;
	int acked;
	char failure[ERR_MESSAGE_MAX];
};

/* Puts until one is refused. */
static void *put_in_thread(void *context)
{
	struct putter *putter = context;
	struct clock *clock = clock_system();
	int64_t deadline = clock_steady_us(clock) + DEADLINE_MS * 1000;
	struct err err = {0};
	int code;

	do {
		char key[64];

		snprintf(key, sizeof(key), "%d/%d", putter->number, putter->acked);
		code = test_put(putter->store, &thing_kind, key, "red 1", STORE_ABSENT, NULL, &err);
		putter->acked += code == 0;
	} while (code == 0 && clock_steady_us(clock) < deadline);
	snprintf(putter->failure, sizeof(putter->failure), "%s", err.message);
	return NULL;
}

static struct store *open_store(struct fixture *fixture)
{
	struct store *store = NULL;
	struct err err;

	fixture->test->config.url = fixture->database.url;
	if (store_open(&fixture->test->config, &store, &err) < 0)
		fail_msg("open: %s", err.message);
	return store;
}

static void test_writers_are_stopped_by_a_step(void **state)
{
	enum { EACH = 3, STORES = 2 };
	struct fixture *fixture = *state;
	struct store *stores[STORES] = {open_store(fixture), open_store(fixture)};
	struct putter putters[EACH * STORES];
	struct clock *clock = clock_system();
	int64_t deadline = clock_steady_us(clock) + DEADLINE_MS * 1000;
	int acked = 0, code;
	struct err err;

	for (int i = 0; i < EACH * STORES; i++) {
		putters[i] = (struct putter){.store = stores[i % STORES], .number = i};
		pthread_create(&putters[i].thread, NULL, put_in_thread, &putters[i]);
	}
	while (number(fixture, "SELECT revision FROM slipway.head") < 50)
		poll(NULL, 0, 1);
	assert_steps_forward(fixture,
		"CREATE TABLE slipway.at_step AS SELECT revision FROM slipway.head");
	for (int i = 0; i < EACH * STORES; i++) {
		pthread_join(putters[i].thread, NULL);
		assert_string_equal(putters[i].failure, "cannot be made durable: " NEWER);
		acked += putters[i].acked;
	}
	/* Acknowledged writes were present at the step, and no write followed it. */
	assert_int_equal(number(fixture, "SELECT revision FROM slipway.at_step"), acked);
	assert_int_equal(number(fixture, "SELECT count(*) FROM slipway.log"), acked);
	for (int i = 0; i < STORES; i++) {
		_view_ struct store_view *view = store_view_open(stores[i]);
		_buffer_ struct buffer reason = {0};
		struct store_statistics statistics;

		store_statistics(stores[i], &statistics);
		assert_false(statistics.available);
		assert_true(store_is_outdated(stores[i], &reason));
		assert_string_equal(reason.data, NEWER);
		assert_true(store_view_revision(view) <= (uint64_t)acked); /* reads go on */
	}
	run(fixture, "UPDATE slipway.format SET version = 1");
	for (int i = 0; i < STORES; i++) {
		_buffer_ struct buffer reason = {0};

		while ((code = test_put(stores[i], &thing_kind, "again", "red 1", STORE_ANY, NULL,
				&err)) < 0 &&
			clock_steady_us(clock) < deadline)
			poll(NULL, 0, 20);
		assert_int_equal(code, 0);
		assert_false(store_is_outdated(stores[i], &reason));
		store_close(stores[i]);
	}
	assert_non_null(strstr(buffer_span(&fixture->test->reports).data,
		NEWER ": this server decides nothing more until it is replaced\n"));
}

/* No server writes: the step's notification or the next poll reports the step. */
static void test_an_idle_server_is_notified(void **state)
{
	struct fixture *fixture = *state;
	struct store *store = open_store(fixture);
	struct clock *clock = clock_system();
	int64_t deadline = clock_steady_us(clock) + DEADLINE_MS * 1000;
	_buffer_ struct buffer reason = {0};

	assert_steps_forward(fixture, "SELECT 1");
	write_as_newer(fixture);
	while (!store_is_outdated(store, &reason) && clock_steady_us(clock) < deadline)
		poll(NULL, 0, 5);
	assert_string_equal(buffer_span(&reason).data, NEWER);
	{
		_view_ struct store_view *view = store_view_open(store);
		_buffer_ struct buffer quarantined = {0};

		assert_int_equal(store_view_revision(view), 0);
		store_list_quarantined(store, &quarantined);
		assert_int_equal(quarantined.length, 0);
	}
	store_close(store);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_open_connections_are_refused),
		TEST(test_a_step_between_opening_and_loading),
		TEST(test_tables_that_are_others_now),
		TEST(test_a_step_waits_for_a_group),
		TEST(test_a_group_waits_for_a_step),
		TEST(test_a_step_is_taken_once),
		TEST(test_a_step_is_taken_whole_or_not),
		TEST(test_what_is_thought_of_formats),
		TEST(test_writers_are_stopped_by_a_step),
		TEST(test_an_idle_server_is_notified),
	};

	test_database_server();
	return cmocka_run_group_tests_name("store/postgres/format", tests, NULL, NULL);
}
