/*
 * Stores that share a PostgreSQL: all see one order, one of several wins, and an answer is true even
 * when the connection was cut in the middle of its commit or the database crashed under it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "store/test_kinds.h"
#include "store/test_postgres_database.h"
#include "store/test_postgres_proxy.h"
#include "store/test_store.h"

#define DEADLINE_MS 60000
#define WRITERS 4 /* threads on each store */

extern char **environ;

struct fixture {
	struct test_database database;
	struct proxy proxy;
	struct test_store *test; /* for its key file */
	struct store *a;         /* direct */
	struct store *b;         /* through the proxy */
};

static struct store *open_store(struct test_store *test, const char *url)
{
	struct store *store = NULL;
	struct err err;

	test->config.url = url;
	test->config.report = NULL; /* from several threads */
	if (store_open(&test->config, &store, &err) < 0)
		fail_msg("open: %s", err.message);
	return store;
}

static int setup(void **state)
{
	struct fixture *fixture = memory_allocate(sizeof(*fixture));

	test_database_create(&fixture->database);
	proxy_start(&fixture->proxy, &fixture->database);
	fixture->test = test_store_new(true, false);
	fixture->a = open_store(fixture->test, fixture->database.url);
	fixture->b = open_store(fixture->test, fixture->proxy.url);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	store_close(fixture->a);
	store_close(fixture->b);
	test_store_free(fixture->test);
	proxy_stop(&fixture->proxy);
	test_database_drop(&fixture->database);
	free(fixture);
	return 0;
}

static uint64_t revision_of(struct store *store)
{
	_view_ struct store_view *view = store_view_open(store);

	return store_view_revision(view);
}

static void wait_for_revision(struct store *store, uint64_t revision)
{
	struct clock *clock = clock_system();
	int64_t deadline = clock_steady_us(clock) + DEADLINE_MS * 1000;

	while (revision_of(store) < revision) {
		if (clock_steady_us(clock) > deadline)
			fail_msg("revision %" PRIu64 " does not come", revision);
		poll(NULL, 0, 5);
	}
	assert_int_equal(revision_of(store), revision);
}

/* Everything that a store shows, one line each. */
static void describe_store(struct store *store, struct buffer *out)
{
	_view_ struct store_view *view = store_view_open(store);
	struct store_cursor cursor = {.view = view, .kind = &thing_kind, .index = -1};
	const struct store_object *object;

	while ((object = store_next(&cursor)))
		buffer_format(out, "%.*s %" PRIu64 " %.*s\n", SPAN_ARGS(object->key),
			object->revision, SPAN_ARGS(object->api));
}

/* Writes every change of a feed, one line each. Returns -EOVERFLOW to the caller. */
static int describe_feed(struct store_feed *feed, struct buffer *out)
{
	struct store_change changes[16];
	int count;

	while ((count = store_feed_next(feed, changes, LENGTH(changes))) > 0)
		for (int i = 0; i < count; i++) {
			const struct store_object *before = changes[i].before;
			const struct store_object *after = changes[i].after;

			buffer_format(out, "%" PRIu64 " %.*s %.*s -> %.*s\n", changes[i].revision,
				SPAN_ARGS((after ? after : before)->key),
				SPAN_ARGS(before ? before->api : SPAN("-")),
				SPAN_ARGS(after ? after->api : SPAN("-")));
			store_change_release(&changes[i]);
		}
	return count;
}

/* The same up to a revision: the feed reports a visible change a moment later. */
static void describe_feed_until(struct store_feed *feed, uint64_t revision, struct buffer *out)
{
	struct clock *clock = clock_system();
	int64_t deadline = clock_steady_us(clock) + DEADLINE_MS * 1000;
	char last[32];
	const char *line;

	snprintf(last, sizeof(last), "\n%" PRIu64 " ", revision);
	do {
		assert_int_equal(describe_feed(feed, out), 0);
		line = out->data ? strstr(out->data, last) : NULL;
		if (!line && clock_steady_us(clock) > deadline)
			fail_msg("revision %" PRIu64 " is not reported", revision);
	} while (!line && poll(NULL, 0, 5) == 0);
}

static void wait_for_overflow(struct store_feed *feed)
{
	struct clock *clock = clock_system();
	int64_t deadline = clock_steady_us(clock) + DEADLINE_MS * 1000;
	_buffer_ struct buffer reported = {0};
	int code;

	while ((code = describe_feed(feed, &reported)) == 0 && clock_steady_us(clock) < deadline)
		poll(NULL, 0, 5);
	assert_int_equal(code, -EOVERFLOW);
}

/* ---- several that write ---- */

struct writer_thread {
	pthread_t thread;
	struct store *store;
	int number;
	const char *prefix; /* of the keys; NULL: the same keys for everyone */
	int writes;
	int won, lost, failed;
	char *failure;   /* of the last that failed */
	bool *acked;     /* for each write */
	atomic_int done; /* so far */
};

/* Creates keys 0, 1, … in turn. */
static void *writer_run(void *context)
{
	struct writer_thread *writer = context;

	for (int i = 0; i < writer->writes; i++) {
		char key[64], text[64];
		struct err err;
		int code;

		snprintf(key, sizeof(key), "%s%d/%03d", writer->prefix ? writer->prefix : "shared",
			writer->prefix ? writer->number : 0, i);
		snprintf(text, sizeof(text), "red %d", writer->number);
		code = test_put(writer->store, &thing_kind, key, text, STORE_ABSENT, NULL, &err);
		writer->won += code == 0;
		writer->lost += code == -EEXIST;
		writer->failed += code != 0 && code != -EEXIST;
		if (code != 0 && code != -EEXIST) {
			free(writer->failure);
			writer->failure = memory_copy_string(err.message);
			poll(NULL, 0,
				10); /* some patience, or all is over before the database is back */
		}
		writer->acked[i] = code == 0;
		atomic_store(&writer->done, i + 1);
	}
	return NULL;
}

static void writer_start(struct writer_thread *writer, struct store *store, int number,
	const char *prefix, int writes)
{
	*writer = (struct writer_thread){
		.store = store, .number = number, .prefix = prefix, .writes = writes};
	writer->acked = memory_allocate_array((size_t)writes, sizeof(bool));
	pthread_create(&writer->thread, NULL, writer_run, writer);
}

static void writer_free(struct writer_thread *writer)
{
	free(writer->acked);
	free(writer->failure);
}

static void test_all_see_one_order(void **state)
{
	enum { WRITES = 40 };
	struct fixture *fixture = *state;
	struct writer_thread writers[2 * WRITERS];
	struct store_feed *feed_a = NULL, *feed_b = NULL;
	_buffer_ struct buffer a = {0}, b = {0}, reported_a = {0}, reported_b = {0};

	assert_int_equal(store_feed_open(fixture->a, 0, NULL, NULL, &feed_a, NULL), 0);
	assert_int_equal(store_feed_open(fixture->b, 0, NULL, NULL, &feed_b, NULL), 0);
	for (int i = 0; i < 2 * WRITERS; i++)
		writer_start(&writers[i], i % 2 ? fixture->a : fixture->b, i, "key", WRITES);
	for (int i = 0; i < 2 * WRITERS; i++) {
		pthread_join(writers[i].thread, NULL);
		assert_int_equal(writers[i].won, WRITES);
		writer_free(&writers[i]);
	}
	wait_for_revision(fixture->a, 2 * WRITERS * WRITES);
	wait_for_revision(fixture->b, 2 * WRITERS * WRITES);
	describe_store(fixture->a, &a);
	describe_store(fixture->b, &b);
	assert_string_equal(a.data, b.data);
	describe_feed_until(feed_a, 2 * WRITERS * WRITES, &reported_a);
	describe_feed_until(feed_b, 2 * WRITERS * WRITES, &reported_b);
	assert_string_equal(reported_a.data, reported_b.data);
	store_feed_close(feed_a);
	store_feed_close(feed_b);
}

static void test_one_of_several_wins(void **state)
{
	enum { WRITES = 20 };
	struct fixture *fixture = *state;
	struct writer_thread writers[2 * WRITERS];
	int won = 0, lost = 0;

	for (int i = 0; i < 2 * WRITERS; i++)
		writer_start(&writers[i], i % 2 ? fixture->a : fixture->b, i, NULL, WRITES);
	for (int i = 0; i < 2 * WRITERS; i++)
		pthread_join(writers[i].thread, NULL);
	wait_for_revision(fixture->a, WRITES);
	for (int i = 0; i < 2 * WRITERS; i++) {
		_view_ struct store_view *view = store_view_open(fixture->a);

		won += writers[i].won;
		lost += writers[i].lost;
		for (int key = 0; key < WRITES; key++) { /* an acked write is the stored one */
			char name[64];
			const struct store_object *object;

			snprintf(name, sizeof(name), "shared0/%03d", key);
			object = store_get(view, &thing_kind, span_of(name));
			assert_non_null(object);
			assert_int_equal(writers[i].acked[key],
				thing_of(object)->weight == writers[i].number);
		}
		writer_free(&writers[i]);
	}
	assert_int_equal(won, WRITES);
	assert_int_equal(lost, (2 * WRITERS - 1) * WRITES);
}

static void count_wake(void *context)
{
	atomic_fetch_add((atomic_int *)context, 1);
}

static void test_idle_server_follows(void **state)
{
	struct fixture *fixture = *state;
	struct store_feed *feed = NULL;
	_buffer_ struct buffer reported = {0};
	atomic_int wakes = 0;
	uint64_t revision = 0;

	assert_int_equal(store_feed_open(fixture->b, 0, count_wake, &wakes, &feed, NULL), 0);
	test_put(fixture->a, &thing_kind, "x", "red 1", STORE_ABSENT, NULL, NULL);
	test_put(fixture->a, &thing_kind, "x", "red 2", 1, NULL, NULL);
	assert_int_equal(test_delete(fixture->a, &thing_kind, "x", 2, &revision, NULL), 0);
	assert_int_equal(revision, 3);
	wait_for_revision(fixture->b, 3);
	describe_feed_until(feed, 3, &reported);
	store_feed_close(TAKE(feed)); /* no wake is under way after this */
	assert_true(atomic_load(&wakes) >= 1);
	assert_int_equal(store_feed_open(fixture->b, 0, NULL, NULL, &feed, NULL), 0);
	buffer_reset(&reported);
	assert_int_equal(describe_feed(feed, &reported), 0);
	assert_string_equal(reported.data, "1 x - -> red 1\n2 x red 1 -> red 2\n3 x red 2 -> -\n");
	store_feed_close(feed);
}

/* ---- failures during a write ---- */

/* Acknowledged is there, refused is not. */
static void assert_actual(struct store *store, const struct writer_thread *writer)
{
	_view_ struct store_view *view = store_view_open(store);

	for (int i = 0; i < writer->writes; i++) {
		char key[64];

		snprintf(key, sizeof(key), "%s%d/%03d", writer->prefix, writer->number, i);
		assert_int_equal(writer->acked[i],
			store_get(view, &thing_kind, span_of(key)) != NULL);
	}
}

static void test_cut_commits_are_answered_truly(void **state)
{
	enum { CUTS = 20, WRITES = 60 };
	static const enum proxy_cut cuts[] = {
		PROXY_BEFORE, PROXY_RACING, PROXY_AFTER, PROXY_RACING, PROXY_LATE, PROXY_UNNOTICED};
	struct fixture *fixture = *state;
	struct writer_thread writers[WRITERS + 1];
	struct store *fresh;
	int failed = 0;

	/* One on the other server, so that revisions are contended. */
	for (int i = 0; i <= WRITERS; i++)
		writer_start(&writers[i], i < WRITERS ? fixture->b : fixture->a, i, "key", WRITES);
	for (unsigned i = 0; i < CUTS; i++) {
		unsigned before = proxy_cuts(&fixture->proxy);
		int unfinished = WRITERS;

		proxy_notify(&fixture->proxy, cuts[i % LENGTH(cuts)], false, false);
		while (unfinished > 0 && proxy_cuts(&fixture->proxy) == before) {
			poll(NULL, 0, 1);
			unfinished = 0;
			for (int j = 0; j < WRITERS; j++)
				unfinished += atomic_load(&writers[j].done) < WRITES;
		}
	}
	proxy_notify(&fixture->proxy, PROXY_PASS, false, false);
	for (int i = 0; i <= WRITERS; i++) {
		pthread_join(writers[i].thread, NULL);
		failed += writers[i].failed;
	}
	assert_true(proxy_cuts(&fixture->proxy) >= 3);
	assert_true(failed > 0);                        /* the first cut is before the COMMIT */
	assert_int_equal(writers[WRITERS].won, WRITES); /* the other server has no trouble */

	fresh = open_store(fixture->test, fixture->database.url);
	for (int i = 0; i <= WRITERS; i++) {
		assert_actual(fresh, &writers[i]);
		writer_free(&writers[i]);
	}
	wait_for_revision(fixture->b, revision_of(fresh));
	store_close(fresh);
}

static void test_database_away_and_back(void **state)
{
	struct fixture *fixture = *state;
	struct clock *clock = clock_system();
	int64_t deadline = clock_steady_us(clock) + DEADLINE_MS * 1000;
	struct store_statistics statistics;
	struct err err;
	int code;

	assert_int_equal(test_put(fixture->b, &thing_kind, "a", "red 1", STORE_ANY, NULL, &err), 0);
	proxy_notify(&fixture->proxy, PROXY_PASS, true, false);
	while ((code = test_put(fixture->b, &thing_kind, "b", "red 1", STORE_ANY, NULL, &err)) ==
			0 &&
		clock_steady_us(clock) < deadline)
		;
	assert_int_equal(code, -EIO);
	assert_non_null(strstr(err.message, "cannot be made durable"));
	assert_null(strstr(err.message, "PostgreSQL")); /* nor its host and port */
	store_statistics(fixture->b, &statistics);
	assert_false(statistics.available);
	proxy_notify(&fixture->proxy, PROXY_PASS, false, false);
	while ((code = test_put(fixture->b, &thing_kind, "c", "red 1", STORE_ANY, NULL, &err)) <
			0 &&
		clock_steady_us(clock) < deadline)
		poll(NULL, 0, 20);
	assert_int_equal(code, 0);
	store_statistics(fixture->b, &statistics);
	assert_true(statistics.available);
}

/* Longer away than the log reaches back. */
static void test_far_behind_reads_anew(void **state)
{
	struct fixture *fixture = *state;
	struct store_feed *feed = NULL;
	struct store *fresh;
	_buffer_ struct buffer a = {0}, b = {0};

	test_database_run(fixture->database.url, "UPDATE slipway.head SET keep = 10");
	test_put(fixture->a, &thing_kind, "stays", "red 1", STORE_ANY, NULL, NULL);
	test_put(fixture->a, &thing_kind, "goes", "red 1", STORE_ANY, NULL, NULL);
	wait_for_revision(fixture->b, 2);
	assert_int_equal(store_feed_open(fixture->b, 2, NULL, NULL, &feed, NULL), 0);
	proxy_notify(&fixture->proxy, PROXY_PASS, true, false);
	test_delete(fixture->a, &thing_kind, "goes", STORE_ANY, NULL, NULL);
	for (int i = 0; i < 30; i++)
		test_put(fixture->a, &thing_kind, "changes", "blue 2", STORE_ANY, NULL, NULL);
	proxy_notify(&fixture->proxy, PROXY_PASS, false, false);
	wait_for_revision(fixture->b, 33);
	describe_store(fixture->b, &b);
	assert_string_equal(b.data, "changes 33 blue 2\nstays 1 red 1\n");
	wait_for_overflow(feed);
	store_feed_close(feed);
	/* And is a server like any other again. */
	assert_int_equal(test_put(fixture->b, &thing_kind, "mine", "red 1", STORE_ABSENT, NULL,
				 NULL),
		0);
	wait_for_revision(fixture->a, 34);
	buffer_reset(&b);
	describe_store(fixture->a, &a);
	describe_store(fixture->b, &b);
	assert_string_equal(a.data, b.data);
	fresh = open_store(fixture->test, fixture->database.url);
	buffer_reset(&b);
	describe_store(fresh, &b);
	assert_string_equal(a.data, b.data);
	store_close(fresh);
}

static void test_changed_byte_is_quarantined(void **state)
{
	struct fixture *fixture = *state;
	_buffer_ struct buffer shown = {0}, quarantined = {0};
	struct store *fresh;
	struct err err;

	test_put(fixture->a, &thing_kind, "good", "red 1", STORE_ANY, NULL, NULL);
	test_put(fixture->a, &thing_kind, "bad", "red 1", STORE_ANY, NULL, NULL);
	test_database_run(fixture->database.url,
		"UPDATE slipway.log SET api = set_byte(api, 4, 50) WHERE revision = 2");
	fresh = open_store(fixture->test, fixture->database.url);
	describe_store(fresh, &shown);
	assert_string_equal(shown.data, "good 1 red 1\n");
	store_list_quarantined(fresh, &quarantined);
	assert_non_null(strstr(quarantined.data, "thing bad (revision 2): "));
	assert_int_equal(test_put(fresh, &thing_kind, "bad", "red 3", STORE_ANY, NULL, &err),
		-EBADMSG);
	store_close(fresh);
}

/* ---- records of a newer slipway of the same format ---- */

static struct store *open_newer(struct test_store *test, const char *url,
	const struct store_kind *const *kinds, size_t count)
{
	const struct store_kind *const *before = test->config.kinds;
	size_t before_count = test->config.kind_count;
	struct store *store;

	test->config.kinds = kinds;
	test->config.kind_count = count;
	store = open_store(test, url);
	test->config.kinds = before;
	test->config.kind_count = before_count;
	return store;
}

static bool is_quarantined(struct store *store, const char *key)
{
	return store_is_quarantined(store, &thing_kind, span_of(key));
}

/* No reader sees it, no writer overwrites it, and everything else continues. */
static void test_newer_records_are_left_alone(void **state)
{
	static const struct store_kind free_thing = {.name = "thing"}, newer = {.name = "newer"};
	const struct store_kind *const kinds[] = {&free_thing, &newer, &note_kind};
	struct fixture *fixture = *state;
	struct store *store =
		open_newer(fixture->test, fixture->database.url, kinds, LENGTH(kinds));
	struct store *both[] = {fixture->a, fixture->b};
	_buffer_ struct buffer shown = {0};
	struct err err;

	test_put(fixture->a, &thing_kind, "a", "red 1", STORE_ANY, NULL, NULL);
	test_put(fixture->a, &thing_kind, "b", "red 1", STORE_ANY, NULL, NULL);
	assert_int_equal(test_put(store, &free_thing, "a", "!new", STORE_ANY, NULL, NULL), 0);
	assert_int_equal(test_put(store, &newer, "n", "new", STORE_ANY, NULL, NULL), 0);
	assert_int_equal(test_put(store, &free_thing, "c", "!new", STORE_ANY, NULL, NULL), 0);
	for (size_t i = 0; i < LENGTH(both); i++)
		wait_for_revision(both[i], 5);
	for (size_t i = 0; i < LENGTH(both); i++) {
		assert_true(is_quarantined(both[i], "a") && is_quarantined(both[i], "c"));
		buffer_reset(&shown);
		describe_store(both[i], &shown);
		assert_string_equal(shown.data, "b 2 red 1\n");
		assert_int_equal(test_put(both[i], &thing_kind, "a", "red 2", STORE_ANY, NULL,
					 &err),
			-EBADMSG);
		assert_int_equal(test_put(both[i], &thing_kind, "c", "red 2", STORE_ABSENT, NULL,
					 &err),
			-EBADMSG);
		assert_int_equal(test_delete(both[i], &thing_kind, "a", STORE_ANY, NULL, &err),
			-EBADMSG);
	}
	assert_int_equal(test_put(fixture->a, &thing_kind, "b", "red 1", 2, NULL, &err), 0);
	{
		_view_ struct store_view *view = store_view_open(store);

		assert_true(span_is(store_get(view, &free_thing, SPAN("a"))->api, "!new"));
		assert_true(span_is(store_get(view, &newer, SPAN("n"))->api, "new"));
	}
	/* A record that is readable again is used again; a deleted one is gone. */
	assert_int_equal(test_put(store, &free_thing, "a", "blue 2", STORE_ANY, NULL, NULL), 0);
	assert_int_equal(test_delete(store, &free_thing, "c", STORE_ANY, NULL, NULL), 0);
	wait_for_revision(fixture->b, 8);
	assert_int_equal(test_put(fixture->b, &thing_kind, "c", "red 9", STORE_ABSENT, NULL, NULL),
		0);
	assert_false(is_quarantined(fixture->b, "a") || is_quarantined(fixture->b, "c"));
	buffer_reset(&shown);
	describe_store(fixture->b, &shown);
	assert_string_equal(shown.data, "a 7 blue 2\nb 6 red 1\nc 9 red 9\n");
	store_close(store);
}

/* One row after the other in the same step: the last one holds. */
static void test_repaired_and_broken_again(void **state)
{
	static const struct store_kind free_thing = {.name = "thing"};
	const struct store_kind *const kinds[] = {&free_thing};
	struct fixture *fixture = *state;
	struct store *store =
		open_newer(fixture->test, fixture->database.url, kinds, LENGTH(kinds));

	test_put(store, &free_thing, "a", "!1", STORE_ANY, NULL, NULL);
	wait_for_revision(fixture->b, 1);
	assert_true(is_quarantined(fixture->b, "a"));
	proxy_notify(&fixture->proxy, PROXY_PASS, true, false);
	test_put(store, &free_thing, "a", "red 1", STORE_ANY, NULL, NULL);
	test_put(store, &free_thing, "a", "!2", STORE_ANY, NULL, NULL);
	proxy_notify(&fixture->proxy, PROXY_PASS, false, false);
	wait_for_revision(fixture->b, 3);
	assert_true(is_quarantined(fixture->b, "a"));
	store_close(store);
}

struct lookout {
	pthread_t thread;
	struct store *store;
	atomic_bool stop;
	atomic_int missed;
};

/* A reader that takes the record for deleted acts on that: it must always be quarantined. */
static void *watch_out(void *context)
{
	struct lookout *lookout = context;

	while (!atomic_load(&lookout->stop))
		if (!is_quarantined(lookout->store, "bad"))
			atomic_fetch_add(&lookout->missed, 1);
	return NULL;
}

static void wait_until_available(struct store *store)
{
	struct clock *clock = clock_system();
	int64_t deadline = clock_steady_us(clock) + DEADLINE_MS * 1000;
	struct err err = {0};

	while (test_put(store, &thing_kind, "good0", "red 1", 0, NULL, &err) != -EEXIST) {
		if (clock_steady_us(clock) > deadline)
			fail_msg("it cannot be written: %s", err.message);
		poll(NULL, 0, 20);
	}
}

static void test_reading_anew_keeps_what_is_quarantined(void **state)
{
	enum { TIMES = 20 };
	struct fixture *fixture = *state;
	struct lookout lookout = {.store = fixture->b};
	struct err err;

	for (int i = 0; i < 20; i++) {
		char key[16];

		snprintf(key, sizeof(key), "good%d", i);
		test_put(fixture->a, &thing_kind, key, "red 1", STORE_ANY, NULL, NULL);
	}
	proxy_notify(&fixture->proxy, PROXY_PASS, true, false);
	test_put(fixture->a, &thing_kind, "bad", "red 1", STORE_ANY, NULL, NULL);
	test_database_run(fixture->database.url,
		"UPDATE slipway.log SET api = set_byte(api, 4, 50) WHERE revision = 21");
	proxy_notify(&fixture->proxy, PROXY_PASS, false, false);
	wait_for_revision(fixture->b, 21);
	assert_true(is_quarantined(fixture->b, "bad"));

	pthread_create(&lookout.thread, NULL, watch_out, &lookout);
	for (int i = 0; i < TIMES; i++) {
		test_database_run(fixture->database.url,
			"UPDATE slipway.head SET pruned = revision + 1");
		test_database_run(fixture->database.url, "NOTIFY slipway");
		/* Every other time it cannot be read. */
		if (i % 2) {
			test_database_run(fixture->database.url,
				"ALTER TABLE slipway.live RENAME TO away");
			assert_int_equal(test_put(fixture->b, &thing_kind, "x", "red 1", STORE_ANY,
						 NULL, &err),
				-EIO);
			test_database_run(fixture->database.url,
				"ALTER TABLE slipway.away RENAME TO live");
		} else {
			poll(NULL, 0, 20);
		}
		test_database_run(fixture->database.url, "UPDATE slipway.head SET pruned = 0");
		wait_until_available(fixture->b);
		assert_int_equal(revision_of(fixture->b), 21);
	}
	atomic_store(&lookout.stop, true);
	pthread_join(lookout.thread, NULL);
	assert_int_equal(atomic_load(&lookout.missed), 0);
	assert_int_equal(test_put(fixture->b, &thing_kind, "bad", "red 2", STORE_ANY, NULL, &err),
		-EBADMSG);
}

static void test_password_is_never_shown(void **state)
{
	static const char *const urls[] = {
		"postgres://joe:Tr0ub4dor@127.0.0.1:1/db", /* a scheme that we do not know */
		"postgresql://joe:Tr0ub4dor@127.0.0.1:1/db",
		"joe:Tr0ub4dor@127.0.0.1?password=Tr0ub4dor",
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < LENGTH(urls); i++)
		for (int with_key = 0; with_key < 2; with_key++) {
			struct store_config config = fixture->test->config;
			struct store *store = NULL;
			struct err err;

			config.url = urls[i];
			if (!with_key)
				config.key_path = NULL;
			assert_true(store_open(&config, &store, &err) < 0);
			if (strstr(err.message, "Tr0ub4dor"))
				fail_msg("%s", err.message);
		}
}

/* ---- a database that crashes ---- */

/* A server of its own: a crash would disturb the other tests. It ends when its input does. */
struct private_server {
	pid_t pid;
	int input;
	char url[512];
};

static void private_server_start(struct private_server *server)
{
	const char *source = getenv("SLIPWAY_SOURCE_DIR");
	_free_ char *program = NULL;
	char *arguments[] = {
		"with-postgres", "sh", "-c", "echo \"$SLIPWAY_TEST_POSTGRES\"; exec cat >&2", NULL};
	posix_spawn_file_actions_t actions;
	int input[2], output[2];
	FILE *answer;

	program = memory_format("%s/tools/with-postgres", source);
	assert_int_equal(pipe2(input, O_CLOEXEC), 0);
	assert_int_equal(pipe2(output, O_CLOEXEC), 0);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, input[0], STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO);
	assert_int_equal(posix_spawn(&server->pid, program, &actions, NULL, arguments, environ), 0);
	posix_spawn_file_actions_destroy(&actions);
	close(input[0]);
	close(output[1]);
	server->input = input[1];
	answer = fdopen(output[0], "r");
	if (!fgets(server->url, sizeof(server->url), answer))
		fail_msg("%s gives no address", program);
	server->url[strcspn(server->url, "\n")] = '\0';
	fclose(answer);
}

static void private_server_stop(struct private_server *server)
{
	close(server->input);
	assert_int_equal(waitpid(server->pid, NULL, 0), server->pid);
}

/* One of its processes is killed: the server then ends all the others and recovers from its log. It
 * may still be at that from the last time, or our session not be there again. */
static void private_server_crash(struct private_server *server)
{
	struct clock *clock = clock_system();
	int64_t deadline = clock_steady_us(clock) + DEADLINE_MS * 1000;
	pid_t victim = 0;

	while (victim == 0 && clock_steady_us(clock) < deadline) {
		PGconn *connection = PQconnectdb(server->url);
		PGresult *result =
			PQexec(connection, "SELECT pid FROM pg_stat_activity"
					   " WHERE application_name LIKE 'slipway-%' LIMIT 1");

		if (PQntuples(result) == 1)
			victim = (pid_t)atoi(PQgetvalue(result, 0, 0));
		PQclear(result);
		PQfinish(connection);
		poll(NULL, 0, victim ? 0 : 10);
	}
	assert_true(victim > 0);
	assert_int_equal(kill(victim, SIGKILL), 0);
}

static void test_database_crashes(void **state)
{
	enum { WRITES = 90, CRASHES = 2 };
	struct private_server server;
	struct test_store *test = test_store_new(true, false);
	struct writer_thread writers[WRITERS];
	struct clock *clock = clock_system();
	int64_t deadline;
	struct store *store, *fresh;
	int won = 0;
	struct err err;
	int code;

	(void)state;
	private_server_start(&server);
	store = open_store(test, server.url);
	for (int i = 0; i < WRITERS; i++)
		writer_start(&writers[i], store, i, "key", WRITES);
	for (int i = 0; i < CRASHES; i++) {
		while (atomic_load(&writers[0].done) < (i + 1) * WRITES / (CRASHES + 1))
			poll(NULL, 0, 1);
		private_server_crash(&server);
	}
	for (int i = 0; i < WRITERS; i++) {
		pthread_join(writers[i].thread, NULL);
		won += writers[i].won;
	}
	assert_true(won > 0);
	deadline = clock_steady_us(clock) + DEADLINE_MS * 1000;
	while ((code = test_put(store, &thing_kind, "after", "red 1", STORE_ANY, NULL, &err)) < 0 &&
		clock_steady_us(clock) < deadline)
		poll(NULL, 0, 20);
	assert_int_equal(code, 0);
	fresh = open_store(test, server.url);
	for (int i = 0; i < WRITERS; i++) {
		assert_actual(fresh, &writers[i]);
		assert_actual(store, &writers[i]);
		writer_free(&writers[i]);
	}
	store_close(fresh);
	store_close(store);
	private_server_stop(&server);
	test_store_free(test);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_all_see_one_order, setup, teardown),
		cmocka_unit_test_setup_teardown(test_one_of_several_wins, setup, teardown),
		cmocka_unit_test_setup_teardown(test_idle_server_follows, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cut_commits_are_answered_truly, setup,
			teardown),
		cmocka_unit_test_setup_teardown(test_database_away_and_back, setup, teardown),
		cmocka_unit_test_setup_teardown(test_far_behind_reads_anew, setup, teardown),
		cmocka_unit_test_setup_teardown(test_changed_byte_is_quarantined, setup, teardown),
		cmocka_unit_test_setup_teardown(test_newer_records_are_left_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_repaired_and_broken_again, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reading_anew_keeps_what_is_quarantined, setup,
			teardown),
		cmocka_unit_test_setup_teardown(test_password_is_never_shown, setup, teardown),
		cmocka_unit_test(test_database_crashes),
	};

	/* Before anything is made that would have to be removed. */
	test_database_server();
	if (!getenv("SLIPWAY_SOURCE_DIR"))
		test_database_fail("SLIPWAY_SOURCE_DIR is not set",
			"this test starts tools/with-postgres of the source folder");
	return cmocka_run_group_tests_name("store/postgres/servers", tests, NULL, NULL);
}
