/* The change feed: order, resuming, falling out, waking. */
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/map.h"
#include "base/memory.h"
#include "store/store.h"
#include "store/test_kinds.h"
#include "store/test_store.h"

static void put(struct store *store, const char *key, const char *api)
{
	assert_int_equal(test_put(store, &thing_kind, key, api, STORE_ANY, NULL, NULL), 0);
}

static struct store_feed *open_feed(struct store *store, uint64_t revision)
{
	struct store_feed *feed = NULL;

	assert_int_equal(store_feed_open(store, revision, NULL, NULL, &feed, NULL), 0);
	return feed;
}

/* The next change has this revision and these texts (NULL: no object). */
static void expect(struct store_feed *feed, uint64_t revision, const char *before,
	const char *after)
{
	struct store_change change;

	assert_int_equal(store_feed_next(feed, &change, 1), 1);
	assert_int_equal(change.revision, revision);
	assert_ptr_equal(change.kind, &thing_kind);
	if (before)
		assert_true(span_is(change.before->api, before));
	else
		assert_null(change.before);
	if (after) {
		assert_true(span_is(change.after->api, after));
		assert_int_equal(change.after->revision, revision);
	} else {
		assert_null(change.after);
	}
	store_change_release(&change);
}

static void expect_nothing(struct store_feed *feed)
{
	struct store_change change;

	assert_int_equal(store_feed_next(feed, &change, 1), 0);
}

static void expect_overflow(struct store_feed *feed)
{
	struct store_change change;

	assert_int_equal(store_feed_next(feed, &change, 1), -EOVERFLOW);
	assert_int_equal(store_feed_next(feed, &change, 1), -EOVERFLOW); /* and stays so */
}

static void test_every_change_in_order(void **state)
{
	struct store *store = test_store_open(*state);
	struct store_feed *feed = open_feed(store, 0);
	struct store_feed *resumed;
	struct store_change changes[8];

	expect_nothing(feed);
	put(store, "a", "red 1");
	put(store, "a", "red 2");
	assert_int_equal(test_delete(store, &thing_kind, "a", STORE_ANY, NULL, NULL), 0);
	assert_int_equal(test_put(store, &thing_kind, "a", "!", STORE_ANY, NULL, NULL), -EINVAL);
	put(store, "b", "red 3");
	expect(feed, 1, NULL, "red 1");
	expect(feed, 2, "red 1", "red 2");
	expect(feed, 3, "red 2", NULL);
	expect(feed, 4, NULL, "red 3");
	expect_nothing(feed);
	put(store, "b", "red 4");
	expect(feed, 5, "red 3", "red 4");
	expect_nothing(feed);
	store_feed_close(feed);

	resumed = open_feed(store, 2);
	assert_int_equal(store_feed_next(resumed, changes, LENGTH(changes)), 3);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(changes[i].revision, 3 + i);
		store_change_release(&changes[i]);
	}
	assert_int_equal(store_feed_next(resumed, changes, LENGTH(changes)), 0);
	store_feed_close(resumed);
}

static void test_what_was_before_the_start_is_gone(void **state)
{
	struct test_store *test = *state;
	struct store *store = test_store_open(test);
	struct store_feed *feed;

	put(store, "a", "red 1");
	put(store, "a", "red 2");
	store = test_store_reopen(test);
	feed = open_feed(store, 1);
	expect_overflow(feed);
	store_feed_close(feed);
	feed = open_feed(store, 2);
	expect_nothing(feed);
	put(store, "a", "red 3");
	expect(feed, 3, "red 2", "red 3");
	store_feed_close(feed);
	feed = open_feed(store, 4); /* of another database, or of this one before it was put back */
	expect_overflow(feed);
	store_feed_close(feed);
}

/* The cap holds, the slow fall out, the quick do not, and what is left can be resumed. */
static void test_the_slow_fall_out(void **state)
{
	struct test_store *test = *state;
	struct store *store;
	struct store_feed *slow, *quick, *resumed;
	struct store_statistics statistics;
	char api[1024];

	test->config.feed_bytes = 20000;
	store = test_store_open(test);
	slow = open_feed(store, 0);
	quick = open_feed(store, 0);
	memset(api, 'w', sizeof(api));
	memcpy(api, "red 1 ", 6);
	api[sizeof(api) - 1] = '\0';
	for (uint64_t i = 1; i <= 100; i++) {
		put(store, "a", api);
		expect(quick, i, i > 1 ? api : NULL, api);
		expect_nothing(quick);
		store_statistics(store, &statistics);
		assert_in_range(statistics.feed_bytes, 1, 20000);
	}
	expect_overflow(slow);
	store_feed_close(slow);
	slow = open_feed(store, 50);
	expect_overflow(slow);
	store_feed_close(slow);
	assert_in_range(statistics.feed_bytes, 10000, 20000); /* it uses what it may */
	resumed = open_feed(store, 95);
	expect(resumed, 96, api, api);
	store_feed_close(resumed);
	store_feed_close(quick);
}

/* ---- waking ---- */

struct woken {
	sem_t semaphore;
	struct store *store;
	struct store_feed *feed;
	_Atomic uint64_t seen; /* last revision taken within the wake */
	_Atomic bool view_was_older;
};

/* A reader may take changes at once, and what it hears of is in a view opened now. */
static void take_when_woken(void *context)
{
	struct woken *woken = context;
	struct store_change change;

	while (store_feed_next(woken->feed, &change, 1) == 1) {
		_view_ struct store_view *view = store_view_open(woken->store);

		if (store_view_revision(view) < change.revision)
			woken->view_was_older = true;
		woken->seen = change.revision;
		store_change_release(&change);
	}
	sem_post(&woken->semaphore);
}

static void test_wake(void **state)
{
	struct store *store = test_store_open(*state);
	struct woken woken = {.store = store};

	sem_init(&woken.semaphore, 0, 0);
	assert_int_equal(store_feed_open(store, 0, take_when_woken, &woken, &woken.feed, NULL), 0);
	for (uint64_t i = 1; i <= 5; i++) {
		put(store, "a", "red 1");
		sem_wait(&woken.semaphore);
		assert_int_equal(woken.seen, i); /* woken before the write was answered */
		assert_false(woken.view_was_older);
	}
	store_feed_close(woken.feed);
	put(store, "a", "red 1");
	assert_int_equal(sem_trywait(&woken.semaphore), -1); /* closed: not woken any more */
	sem_destroy(&woken.semaphore);
}

static void count_wake(void *context)
{
	atomic_fetch_add((_Atomic unsigned *)context, 1);
}

/* One that names its kinds sleeps through changes of others, but not for ever. */
static void test_narrow_wake(void **state)
{
	static const struct store_kind *const kinds[] = {&thing_kind};
	struct store *store = test_store_open(*state);
	_Atomic unsigned wakes = 0;
	struct store_change change;
	struct store_feed *feed;
	unsigned before;

	assert_int_equal(store_feed_open(store, 0, count_wake, &wakes, &feed, NULL), 0);
	store_feed_narrow(feed, kinds, LENGTH(kinds));
	assert_int_equal(test_put(store, &note_kind, "n", "text", STORE_ANY, NULL, NULL), 0);
	assert_int_equal(wakes, 0);
	put(store, "a", "red 1");
	assert_int_equal(wakes, 1);
	/* Every change is given all the same. */
	assert_int_equal(store_feed_next(feed, &change, 1), 1);
	assert_ptr_equal(change.kind, &note_kind);
	store_change_release(&change);
	expect(feed, 2, NULL, "red 1");
	before = wakes;
	for (unsigned i = 0; i < STORE_FEED_LAG_MAX - 1; i++)
		assert_int_equal(test_put(store, &note_kind, "n", "text", STORE_ANY, NULL, NULL),
			0);
	assert_int_equal(wakes, before);
	assert_int_equal(test_put(store, &note_kind, "n", "text", STORE_ANY, NULL, NULL), 0);
	assert_int_equal(wakes, before + 1);
	store_feed_close(feed);
}

static bool is_after(const struct store_change *change, void *context)
{
	(void)context;
	return change->after && change->before;
}

/* One that is asked is woken by what matters to it alone, and is given all the same. */
static void test_filtered_wake(void **state)
{
	static const struct store_kind *const kinds[] = {&thing_kind};
	struct store *store = test_store_open(*state);
	_Atomic unsigned wakes = 0;
	struct store_feed *feed;

	assert_int_equal(store_feed_open(store, 0, count_wake, &wakes, &feed, NULL), 0);
	store_feed_narrow(feed, kinds, LENGTH(kinds));
	store_feed_filter(feed, is_after);
	put(store, "a", "red 1");
	assert_int_equal(wakes, 0);
	put(store, "a", "red 2");
	assert_int_equal(wakes, 1);
	expect(feed, 1, NULL, "red 1");
	expect(feed, 2, "red 1", "red 2");
	store_feed_close(feed);
}

/* ---- list, then follow ---- */

#define FOLLOW_CHANGES 4000
#define FOLLOW_KEYS 50

struct follower {
	struct store *store;
	sem_t wake;
	struct map texts; /* key -> a copy of the text */
	size_t listed;
};

static void follower_wake(void *context)
{
	struct follower *follower = context;

	sem_post(&follower->wake);
}

static void follower_set(struct follower *follower, struct span key, struct span text)
{
	free(map_put(&follower->texts, key, memory_copy_string_n(text.data, text.length)));
}

static uint64_t follower_list(struct follower *follower)
{
	_view_ struct store_view *view = store_view_open(follower->store);
	struct store_cursor cursor = {.view = view, .kind = &thing_kind, .index = -1};
	const struct store_object *object;

	MAP_EACH (&follower->texts, entry)
		free(entry->value);
	map_clear(&follower->texts);
	while ((object = store_next(&cursor)))
		follower_set(follower, object->key, object->api);
	follower->listed++;
	return store_view_revision(view);
}

static void *follower_main(void *context)
{
	struct follower *follower = context;
	struct store_feed *feed = NULL;
	uint64_t revision = 0;
	int count = -EOVERFLOW;

	while (revision < FOLLOW_CHANGES) {
		struct store_change changes[16];

		if (count == -EOVERFLOW) {
			store_feed_close(feed);
			revision = follower_list(follower);
			store_feed_open(follower->store, revision, follower_wake, follower, &feed,
				NULL);
		}
		count = store_feed_next(feed, changes, LENGTH(changes));
		for (int i = 0; i < count; i++) {
			struct store_change *change = &changes[i];

			if (change->revision != revision + 1)
				abort(); /* nothing falls between */
			revision = change->revision;
			if (change->after)
				follower_set(follower, change->after->key, change->after->api);
			else
				free(map_remove(&follower->texts, change->before->key));
			store_change_release(change);
		}
		if (count == 0 && revision < FOLLOW_CHANGES)
			sem_wait(&follower->wake);
	}
	store_feed_close(feed);
	return NULL;
}

static int write_some(struct store_transaction *transaction, void *context, struct err *err)
{
	unsigned *number = context;
	unsigned end = *number + 8;

	for (; *number < end; (*number)++) {
		unsigned n = *number * 2654435761u >> 8;
		char key[16], api[32];
		int code;

		snprintf(key, sizeof(key), "k%u", n % FOLLOW_KEYS);
		snprintf(api, sizeof(api), "c%u %u", n % 7, *number);
		if (n % 3 == 0 && store_get(store_head(transaction), &thing_kind, span_of(key)))
			code = store_delete(transaction, &thing_kind, span_of(key), STORE_ANY, err);
		else
			code = store_put(transaction, &thing_kind, span_of(key), span_of(api),
				SPAN(""), STORE_ANY, err);
		if (code < 0)
			return code;
	}
	return 0;
}

/* Two readers on threads of their own follow a writer, through a ring so small that they may have to
 * list again, and end with exactly the objects of the store. */
static void test_list_then_follow(void **state)
{
	struct test_store *test = *state;
	struct follower followers[2] = {0};
	pthread_t threads[2];
	struct store *store;
	unsigned number = 0;

	test->config.feed_bytes = 4000;
	store = test_store_open(test);
	for (size_t i = 0; i < LENGTH(followers); i++) {
		followers[i].store = store;
		sem_init(&followers[i].wake, 0, 0);
		assert_int_equal(pthread_create(&threads[i], NULL, follower_main, &followers[i]),
			0);
	}
	while (number < FOLLOW_CHANGES)
		assert_int_equal(store_write_wait(store, write_some, &number, NULL, NULL), 0);
	for (size_t i = 0; i < LENGTH(followers); i++) {
		_view_ struct store_view *view = store_view_open(store);

		pthread_join(threads[i], NULL);
		assert_int_equal(store_view_revision(view), FOLLOW_CHANGES);
		assert_int_equal(store_count(view, &thing_kind, -1, SPAN(""), false),
			followers[i].texts.count);
		MAP_EACH (&followers[i].texts, entry) {
			const struct store_object *object =
				store_get(view, &thing_kind, entry->key);

			assert_non_null(object);
			assert_true(span_is(object->api, entry->value));
			free(entry->value);
		}
		map_clear(&followers[i].texts);
		sem_destroy(&followers[i].wake);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_ON_ALL(test_every_change_in_order),
		TEST_ON(test_what_was_before_the_start_is_gone, sqlite),
		TEST_ON_ALL(test_the_slow_fall_out),
		TEST_ON_ALL(test_wake),
		TEST_ON_ALL(test_narrow_wake),
		TEST_ON_ALL(test_filtered_wake),
		TEST_ON(test_list_then_follow, memory),
		TEST_ON(test_list_then_follow, sqlite),
	};

	return cmocka_run_group_tests_name("feed", tests, NULL, NULL);
}
