/* Tests specific to SQLite: the lock, the format, damage, disk errors, crashes. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/file.h"
#include "base/memory.h"
#include "store/backend.h"
#include "store/store.h"
#include "store/test_kinds.h"
#include "store/test_store.h"

static void put(struct store *store, const char *key, const char *api)
{
	assert_int_equal(test_put(store, &thing_kind, key, api, STORE_ANY, NULL, NULL), 0);
}

/* Changes the file behind the store's back, while it is closed. */
static void run_sql(struct test_store *test, const char *sql)
{
	sqlite3 *database = NULL;
	char *message = NULL;

	assert_int_equal(sqlite3_open(test->path, &database), SQLITE_OK);
	if (sqlite3_exec(database, sql, NULL, NULL, &message) != SQLITE_OK)
		fail_msg("%s: %s", sql, message);
	sqlite3_close(database);
}

static int try_open(struct test_store *test, struct err *err)
{
	return store_open(&test->config, &test->store, err);
}

static uint64_t count_objects(struct store *store)
{
	_view_ struct store_view *view = store_view_open(store);

	return store_count(view, &thing_kind, -1, SPAN(""), false);
}

/* ---- exclusive open ---- */

/* A process that opens the file on request, and exits with 0 if the open is rejected. */
static pid_t fork_opener(struct test_store *test, int *ret_report)
{
	int ends[2];
	pid_t child;
	char go;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		struct store *store = NULL;

		close(ends[1]);
		_exit(read(ends[0], &go, 1) == 1 &&
					store_open(&test->config, &store, NULL) == -EBUSY
				? 0
				: 1);
	}
	close(ends[0]);
	*ret_report = ends[1];
	return child;
}

static void test_two_never_open_one_file(void **state)
{
	struct test_store *test = *state;
	_close_ int report = -1;
	pid_t child = fork_opener(test, &report);
	struct store *store = test_store_open(test), *second = NULL;
	struct err err = {0};
	int status;

	assert_int_equal(store_open(&test->config, &second, &err), -EBUSY);
	assert_non_null(strstr(err.message, test->path));
	assert_non_null(strstr(err.message, "is in use by another process"));
	put(store, "a", "red 1"); /* the first is not disturbed */

	assert_int_equal(write(report, "x", 1), 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	put(store, "b", "red 1");
	store = test_store_reopen(test);
	assert_int_equal(count_objects(store), 2);
}

static void test_formats(void **state)
{
	struct test_store *test = *state;
	struct err err = {0};

	put(test_store_open(test), "a", "red 1");
	store_close(TAKE(test->store));
	run_sql(test, "UPDATE meta SET value = 7 WHERE name = 'format'");
	assert_int_equal(try_open(test, &err), -ENOTSUP);
	assert_non_null(strstr(err.message,
		"is from a newer slipway (format 7, this one knows 1)"));
	run_sql(test, "UPDATE meta SET value = 0 WHERE name = 'format'");
	assert_int_equal(try_open(test, &err), -EINVAL);
	run_sql(test, "UPDATE meta SET value = 1 WHERE name = 'format'");
	assert_int_equal(count_objects(test_store_open(test)), 1); /* nothing was done to it */
}

static void test_files_of_others(void **state)
{
	struct test_store *test = *state;
	struct err err = {0};

	run_sql(test, "CREATE TABLE mine(x)");
	assert_int_equal(try_open(test, &err), -EINVAL);
	assert_non_null(strstr(err.message, "is a database of another program"));
	unlink(test->path);
	assert_int_equal(file_replace(test->path,
				 SPAN("not a database at all, but long enough to be read "
				      "as one: it needs a header of 100 bytes, at least."),
				 0600, NULL),
		0);
	assert_int_equal(try_open(test, &err), -EINVAL);
	assert_non_null(strstr(err.message, "file is not a database"));
	unlink(test->path);
	test->config.url = "sqlite:/nowhere/at/all/store";
	assert_true(try_open(test, &err) < 0);
	assert_non_null(strstr(err.message, "/nowhere/at/all/store"));
	assert_int_equal(access(test->key_path, F_OK), -1); /* no key was made for nothing */
}

/* ---- damage ---- */

/* Flips a bit of the first byte of `needle` in the file. */
static void flip_in_file(const char *path, const char *needle)
{
	_buffer_ struct buffer content = {0};
	_close_ int descriptor = open(path, O_RDWR | O_CLOEXEC);
	const char *found;
	char flipped;

	assert_true(descriptor >= 0);
	assert_int_equal(file_read(path, 1 << 24, &content, NULL), 0);
	found = memmem(content.data, content.length, needle, strlen(needle));
	assert_non_null(found);
	flipped = *found ^ 1;
	assert_int_equal(pwrite(descriptor, &flipped, 1, found - content.data), 1);
}

static void test_a_flipped_bit_is_quarantined(void **state)
{
	struct test_store *test = *state;
	struct store *store = test_store_open(test);
	struct store_statistics statistics;
	_buffer_ struct buffer listed = {0};
	struct err err = {0};

	put(store, "good", "red 1 untouched");
	put(store, "bad", "red 2 needle");
	store_close(TAKE(test->store)); /* the WAL is written into the file */
	flip_in_file(test->path, "needle");
	store = test_store_open(test);
	store_statistics(store, &statistics);
	assert_int_equal(statistics.quarantined, 1);
	assert_int_equal(statistics.objects, 1);
	assert_int_equal(statistics.revision, 2);
	assert_true(store_is_quarantined(store, &thing_kind, SPAN("bad")));
	assert_non_null(strstr(test->reports.data, "quarantined thing 'bad' (revision 2)"));
	assert_int_equal(test_put(store, &thing_kind, "bad", "red 1", STORE_ANY, NULL, &err),
		-EBADMSG);
	assert_int_equal(test_delete(store, &thing_kind, "bad", STORE_ANY, NULL, &err), -EBADMSG);
	store_list_quarantined(store, &listed);
	assert_string_equal(listed.data, "thing bad (revision 2): the record is not what was "
					 "written (its seal is broken)\n");
	put(store, "good", "red 3");
	/* It is kept as it is: flipped back, it is good again. */
	store_close(TAKE(test->store));
	flip_in_file(test->path, "oeedle");
	store = test_store_open(test);
	assert_int_equal(count_objects(store), 2);
	assert_false(store_is_quarantined(store, &thing_kind, SPAN("bad")));
}

static void test_tampered_rows(void **state)
{
	struct test_store *test = *state;
	struct store *store = test_store_open(test);
	struct store_statistics statistics;

	put(store, "a", "red 1");
	put(store, "b", "red 2");
	put(store, "c", "red 3");
	put(store, "d", "red 4");
	put(store, "e", "red 5");
	store_close(TAKE(test->store));
	run_sql(test, "UPDATE rows SET revision = 77 WHERE key = x'61';" /* a: other revision */
		      "UPDATE rows SET key = x'78' WHERE key = x'62';"   /* b: other key */
		      "UPDATE rows SET kind = 'note' WHERE key = x'63';" /* c: other kind */
		      "UPDATE rows SET mac = x'00' WHERE key = x'64';"   /* d: mac cut off */
		      "INSERT INTO rows SELECT 'thing', x'6666', revision, api, private, mac"
		      " FROM rows WHERE key = x'65'"); /* e again under a key of another */
	store = test_store_open(test);
	store_statistics(store, &statistics);
	assert_int_equal(statistics.objects, 1);
	assert_int_equal(statistics.quarantined, 5);
	assert_int_equal(statistics.revision, 5); /* not 77: what is damaged says nothing */
	assert_true(store_is_quarantined(store, &thing_kind, SPAN("a")));
	assert_true(store_is_quarantined(store, &note_kind, SPAN("c")));
	assert_true(store_is_quarantined(store, &thing_kind, SPAN("ff")));
	assert_true(store_has_quarantined_key_with(store, SPAN("f")));
	assert_false(store_has_quarantined_key_with(store, SPAN("fff")));
	assert_false(store_has_quarantined_key_with(store,
		SPAN("revision"))); /* not of the reason */
}

/* A record that its kind cannot read any more; records of a kind that only a newer slipway has. */
static void test_rows_that_cannot_be_read(void **state)
{
	static const struct store_kind free_thing = {.name = "thing"}; /* takes any text */
	static const struct store_kind newer = {.name = "newer"};
	const struct store_kind *const other_kinds[] = {&free_thing, &newer};
	struct test_store *test = *state;
	struct store *store;
	const char *reports;

	test->config.kinds = other_kinds;
	store = test_store_open(test);
	assert_int_equal(test_put(store, &free_thing, "a", "nonsense", STORE_ANY, NULL, NULL), 0);
	assert_int_equal(test_put(store, &newer, "n", "x", STORE_ANY, NULL, NULL), 0);
	assert_int_equal(test_put(store, &newer, "m", "x", STORE_ANY, NULL, NULL), 0);
	store_close(TAKE(test->store));
	test->config.kinds = test_kinds;
	store = test_store_open(test);
	assert_true(store_is_quarantined(store, &thing_kind, SPAN("a")));
	assert_int_equal(count_objects(store), 0);
	reports = test->reports.data;
	assert_non_null(strstr(reports, "thing 'a': weight is no number"));
	reports = strstr(reports, "records of a kind 'newer' that this slipway does not know");
	assert_non_null(reports);
	assert_null(strstr(reports + strlen("records of a kind 'newer'"),
		"newer")); /* reported once */
	put(store, "b", "red 1");
	/* nothing is lost for a store that can read it */
	test->config.kinds = other_kinds;
	store = test_store_reopen(test);
	{
		_view_ struct store_view *view = store_view_open(store);

		assert_int_equal(store_count(view, &newer, -1, SPAN(""), false), 2);
		assert_int_equal(store_count(view, &free_thing, -1, SPAN(""), false), 2);
		assert_int_equal(store_view_revision(view), 4);
	}
}

/* ---- the sequence ---- */

static void test_revisions_are_not_given_twice(void **state)
{
	struct test_store *test = *state;
	struct store *store = test_store_open(test);
	uint64_t revision = 0;

	put(store, "a", "red 1");
	put(store, "b", "red 1");
	assert_int_equal(test_delete(store, &thing_kind, "b", STORE_ANY, &revision, NULL), 0);
	assert_int_equal(revision, 3);
	store = test_store_reopen(test);
	assert_int_equal(test_delete(store, &thing_kind, "a", STORE_ANY, &revision, NULL), 0);
	assert_int_equal(revision, 4);
	store = test_store_reopen(test);
	assert_int_equal(test_put(store, &thing_kind, "c", "red 1", STORE_ABSENT, &revision, NULL),
		0);
	assert_int_equal(revision, 5);
}

/* ---- a disk that refuses ---- */

static int refuse_commit(void *context)
{
	return *(bool *)context ? -ENOSPC : 0;
}

static void test_faults_before_the_commit(void **state)
{
	struct test_store *test = *state;
	bool full = false;
	struct store_faults faults = {.before_commit = refuse_commit, .context = &full};
	struct store *store;
	struct store_statistics statistics;
	struct err err = {0};

	test->config.faults = &faults;
	store = test_store_open(test);
	put(store, "a", "red 1");
	full = true;
	for (int i = 0; i < 3; i++)
		assert_int_equal(test_put(store, &thing_kind, "b", "red 1", STORE_ABSENT, NULL,
					 &err),
			-EIO);
	store_statistics(store, &statistics);
	assert_false(statistics.available);
	assert_int_equal(statistics.failed_groups, 3);
	full = false;
	assert_int_equal(test_put(store, &thing_kind, "b", "red 1", STORE_ABSENT, NULL, &err), 0);
	test->config.faults = NULL;
	store = test_store_reopen(test);
	assert_int_equal(count_objects(store), 2);
}

static int write_large(struct store_transaction *transaction, void *context, struct err *err)
{
	unsigned *number = context;
	_free_ char *text = memory_allocate(400000);
	char key[16];

	memset(text, 'x', 400000);
	snprintf(key, sizeof(key), "large%u", (*number)++);
	return store_put(transaction, &note_kind, span_of(key), (struct span){text, 400000},
		SPAN(""), STORE_ANY, err);
}

/* A real refusal of the kernel, in a process of its own: files may not grow any more. (Exit codes
 * name the step that went wrong.) */
static int live_with_a_limit(struct test_store *test)
{
	struct store *store = NULL;
	struct rlimit limit, unlimited;
	unsigned number = 0;
	int failed = 0;

	signal(SIGXFSZ, SIG_IGN);
	if (store_open(&test->config, &store, NULL) < 0)
		return 1;
	if (test_put(store, &thing_kind, "a", "red 1", STORE_ANY, NULL, NULL) < 0)
		return 2;
	getrlimit(RLIMIT_FSIZE, &unlimited);
	limit = (struct rlimit){2 * 1024 * 1024, unlimited.rlim_max};
	setrlimit(RLIMIT_FSIZE, &limit);
	for (int i = 0; i < 12; i++)
		failed += store_write_wait(store, write_large, &number, NULL, NULL) == -EIO;
	if (failed == 0 || failed == 12)
		return 3;
	setrlimit(RLIMIT_FSIZE, &unlimited);
	if (store_write_wait(store, write_large, &number, NULL, NULL) < 0)
		return 4;
	{
		_view_ struct store_view *view = store_view_open(store);

		if (store_count(view, &note_kind, -1, SPAN(""), false) != 13u - (unsigned)failed)
			return 5;
	}
	if (test_put(store, &thing_kind, "b", "red 1", STORE_ANY, NULL, NULL) < 0)
		return 6;
	store_close(store);
	return 20 + failed;
}

static void test_a_full_disk_passes(void **state)
{
	struct test_store *test = *state;
	struct store *store;
	int status, failed;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0)
		_exit(live_with_a_limit(test));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	failed = WEXITSTATUS(status) - 20;
	assert_in_range(failed, 1, 11);
	store = test_store_open(test);
	{
		_view_ struct store_view *view = store_view_open(store);

		assert_int_equal(store_count(view, &note_kind, -1, SPAN(""), false), 13 - failed);
		assert_int_equal(store_count(view, &thing_kind, -1, SPAN(""), false), 2);
		assert_int_equal(store_view_revision(view), 15 - failed);
	}
}

/* The WAL is copied back now and then, so it does not grow with the number of writes. */
static void test_the_wal_stays_small(void **state)
{
	struct test_store *test = *state;
	struct store *store = test_store_open(test);
	_free_ char *wal = memory_format("%s-wal", test->path);
	struct stat found;
	unsigned number = 0;

	for (int i = 0; i < 80; i++) { /* some 32 MB through it */
		assert_int_equal(store_write_wait(store, write_large, &number, NULL, NULL), 0);
		number %= 4;
	}
	assert_int_equal(stat(wal, &found), 0);
	assert_in_range(found.st_size, 1, 16 * 1024 * 1024);
}

/* ---- sudden ends ---- */

#define END_WRITES 40

/* A process that is about to crash, and its report: one byte per answered write. */
struct doomed {
	int report;
	int end_at; /* this commit */
	bool after; /* it, or before it */
	int commits;
};

static int end_before(void *context)
{
	struct doomed *doomed = context;

	if (++doomed->commits == doomed->end_at && !doomed->after)
		_exit(0);
	return 0;
}

static int end_after(void *context)
{
	struct doomed *doomed = context;

	if (doomed->commits == doomed->end_at && doomed->after)
		_exit(0);
	return 0;
}

static int write_pair(struct store_transaction *transaction, void *context, struct err *err)
{
	int *number = context;
	char key[16];
	int code;

	/* two changes that must be there together */
	snprintf(key, sizeof(key), "left%03d", *number);
	code = store_put(transaction, &note_kind, span_of(key), SPAN("l"), SPAN(""), STORE_ABSENT,
		err);
	if (code < 0)
		return code;
	snprintf(key, sizeof(key), "right%03d", *number);
	return store_put(transaction, &note_kind, span_of(key), SPAN("r"), SPAN(""), STORE_ABSENT,
		err);
}

static void doomed_main(struct test_store *test, struct doomed *doomed)
{
	struct store_faults faults = {end_before, end_after, doomed};
	struct store *store = NULL;

	test->config.faults = &faults;
	if (store_open(&test->config, &store, NULL) < 0)
		_exit(1);
	for (int i = 0; i < END_WRITES; i++) {
		if (store_write_wait(store, write_pair, &i, NULL, NULL) < 0)
			_exit(2);
		if (write(doomed->report, "x", 1) != 1)
			_exit(3);
	}
	_exit(4); /* it should have ended before */
}

static void test_sudden_ends(void **state)
{
	for (int end_at = 1; end_at <= 31; end_at += 3) {
		const struct test_store *requested = *state;
		struct test_store *test = test_store_new(true, requested->config.inline_writes);
		char answered[END_WRITES + 1];
		ssize_t answers;
		int ends[2], status;
		struct store *store;
		pid_t child;

		assert_int_equal(pipe(ends), 0);
		child = fork();
		assert_true(child >= 0);
		if (child == 0) {
			struct doomed doomed = {ends[1], end_at, end_at % 2, 0};

			doomed_main(test, &doomed);
		}
		close(ends[1]);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
		answers = read(ends[0], answered, sizeof(answered));
		close(ends[0]);
		assert_int_equal(answers, end_at - 1);
		store = test_store_open(test);
		{
			_view_ struct store_view *view = store_view_open(store);
			uint64_t left = store_count(view, &note_kind, -1, SPAN("left"), false);

			assert_int_equal(left, end_at % 2 ? end_at : end_at - 1);
			assert_int_equal(store_count(view, &note_kind, -1, SPAN("right"), false),
				left);
			assert_int_equal(store_view_revision(view), 2 * left);
		}
		test_store_free(test);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_ON(test_two_never_open_one_file, sqlite),
		TEST_ON(test_formats, sqlite),
		TEST_ON(test_files_of_others, sqlite),
		TEST_ON(test_a_flipped_bit_is_quarantined, sqlite),
		TEST_ON(test_tampered_rows, sqlite),
		TEST_ON(test_rows_that_cannot_be_read, sqlite),
		TEST_ON(test_revisions_are_not_given_twice, sqlite),
		TEST_ON(test_faults_before_the_commit, sqlite),
		TEST_ON(test_faults_before_the_commit, sqlite_inline),
		TEST_ON(test_a_full_disk_passes, sqlite),
		TEST_ON(test_a_full_disk_passes, sqlite_inline),
		TEST_ON(test_the_wal_stays_small, sqlite),
		TEST_ON(test_sudden_ends, sqlite),
		TEST_ON(test_sudden_ends, sqlite_inline),
	};

	return cmocka_run_group_tests_name("sqlite", tests, NULL, NULL);
}
