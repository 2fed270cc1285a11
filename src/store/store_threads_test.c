/*
 * Readers on several threads while others write: every view is a state that some sequence of whole
 * writes made. Each write moves weight from one thing to another, so the sum never changes; each also
 * counts itself in a note, so a view's counter and its sum belong together.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/random.h"
#include "store/store.h"
#include "store/test_kinds.h"
#include "store/test_store.h"

#define THINGS 200
#define WEIGHT 50 /* of each thing at the start */
#define WRITERS 3
#define READERS 3
#define REFUSED (-EDOM)

struct shared {
	struct store *store;
	int moves; /* for each writer */
	_Atomic bool stop;
	_Atomic int broken; /* line of the first promise that was broken */
};

#define HOLDS(shared, condition)                                                                   \
	do {                                                                                       \
		int expected_ = 0;                                                                 \
		if (!(condition))                                                                  \
			atomic_compare_exchange_strong(&(shared)->broken, &expected_, __LINE__);   \
	} while (0)

struct worker {
	struct shared *shared;
	struct random_seeded random;
	size_t rounds;
};

static void thing_name(unsigned number, char key[16])
{
	snprintf(key, 16, "t%03u", number);
}

static int put_thing(struct store_transaction *transaction, unsigned number, int64_t weight,
	unsigned color, struct err *err)
{
	char key[16], api[64];

	thing_name(number, key);
	snprintf(api, sizeof(api), "c%u %lld", color, (long long)weight);
	return store_put(transaction, &thing_kind, span_of(key), span_of(api), SPAN(""), STORE_ANY,
		err);
}

static int put_counter(struct store_transaction *transaction, uint64_t count, struct err *err)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)count);
	return store_put(transaction, &note_kind, SPAN("counter"), span_of(text), SPAN(""),
		STORE_ANY, err);
}

static uint64_t read_counter(const struct store_view *view)
{
	uint64_t count = 0;

	span_to_unsigned(store_get(view, &note_kind, SPAN("counter"))->api, UINT64_MAX, &count);
	return count;
}

static int write_start(struct store_transaction *transaction, void *context, struct err *err)
{
	(void)context;
	for (unsigned i = 0; i < THINGS; i++)
		if (put_thing(transaction, i, WEIGHT, i % 5, err) < 0)
			return -EINVAL;
	return put_counter(transaction, 0, err);
}

static const struct store_object *head_thing(struct store_transaction *transaction, unsigned number)
{
	char key[16];

	thing_name(number, key);
	return store_get(store_head(transaction), &thing_kind, span_of(key));
}

/* Moves some weight; a thing without any is deleted and may come back. Now and then, halfway through,
 * the write changes its mind. */
static int write_move(struct store_transaction *transaction, void *context, struct err *err)
{
	struct worker *worker = context;
	struct random *random = &worker->random.random;
	unsigned from = (unsigned)random_below(random, THINGS);
	unsigned to = (from + 1 + (unsigned)random_below(random, THINGS - 1)) % THINGS;
	const struct store_object *giver = head_thing(transaction, from);
	const struct store_object *taker = head_thing(transaction, to);
	int64_t has = giver ? thing_of(giver)->weight : 0;
	int64_t gives = has ? 1 + (int64_t)random_below(random, (uint64_t)has) : 0;
	int64_t got = (taker ? thing_of(taker)->weight : 0) + gives;
	int code = 0;

	if (gives > 0 && gives == has)
		code = store_delete(transaction, &thing_kind, giver->key, giver->revision, err);
	else if (gives > 0)
		code = put_thing(transaction, from, has - gives, (unsigned)random_below(random, 5),
			err);
	if (code == 0 && random_below(random, 8) == 0)
		return err_set(err, REFUSED, "changed its mind");
	if (code == 0 && gives > 0)
		code = put_thing(transaction, to, got, (unsigned)random_below(random, 5), err);
	if (code == 0)
		code = put_counter(transaction, read_counter(store_head(transaction)) + 1, err);
	return code;
}

static void *writer_main(void *context)
{
	struct worker *worker = context;
	struct shared *shared = worker->shared;

	for (int i = 0; i < shared->moves; i++) {
		int code = store_write_wait(shared->store, write_move, worker, NULL, NULL);

		HOLDS(shared, code == 0 || code == REFUSED);
		worker->rounds += code == 0;
	}
	return NULL;
}

static void check_view(struct shared *shared, const struct store_view *view)
{
	struct store_cursor cursor = {.view = view, .kind = &thing_kind, .index = THING_BY_COLOR};
	const struct store_object *object;
	int64_t sums[STORE_MEASURES], weight = 0;
	uint64_t count = 0;

	while ((object = store_next(&cursor))) {
		HOLDS(shared, store_get(view, &thing_kind, object->key) == object);
		HOLDS(shared, span_equal(cursor.text, thing_of(object)->color));
		HOLDS(shared, object->revision <= store_view_revision(view));
		weight += thing_of(object)->weight;
		count++;
	}
	store_sum(view, &thing_kind, THING_BY_COLOR, SPAN(""), false, sums);
	HOLDS(shared, weight == THINGS * WEIGHT);
	HOLDS(shared, sums[0] == weight);
	HOLDS(shared, count == store_count(view, &thing_kind, -1, SPAN(""), false));
	HOLDS(shared, count == store_count(view, &thing_kind, THING_BY_COLOR, SPAN("c"), false));
}

static void *reader_main(void *context)
{
	struct worker *worker = context;
	struct shared *shared = worker->shared;
	struct store_view *older = store_view_open(shared->store);
	uint64_t older_counter = read_counter(older);

	do {
		struct store_view *view = store_view_open(shared->store);
		uint64_t counter = read_counter(view);

		check_view(shared, view);
		HOLDS(shared, counter >= older_counter);
		HOLDS(shared, read_counter(older) == older_counter); /* it stays as it was */
		HOLDS(shared, store_view_revision(view) >= store_view_revision(older));
		if (random_below(&worker->random.random, 4) == 0) {
			check_view(shared, older);
			store_view_close(older);
			older = view;
			older_counter = counter;
		} else {
			store_view_close(view);
		}
		worker->rounds++;
	} while (!shared->stop);
	store_view_close(older);
	return NULL;
}

static void run(struct test_store *test, int moves)
{
	struct shared shared = {.store = test_store_open(test), .moves = moves};
	struct worker workers[WRITERS + READERS] = {0};
	pthread_t threads[WRITERS + READERS];
	uint64_t moved = 0;

	assert_int_equal(store_write_wait(shared.store, write_start, NULL, NULL, NULL), 0);
	for (size_t i = 0; i < LENGTH(workers); i++) {
		workers[i].shared = &shared;
		random_seeded_init(&workers[i].random, i + 1);
		assert_int_equal(pthread_create(&threads[i], NULL,
					 i < WRITERS ? writer_main : reader_main, &workers[i]),
			0);
	}
	for (size_t i = 0; i < LENGTH(workers); i++) {
		if (i == WRITERS)
			shared.stop = true;
		pthread_join(threads[i], NULL);
		moved += i < WRITERS ? workers[i].rounds : 0;
		assert_true(workers[i].rounds > 0);
	}
	if (shared.broken)
		fail_msg("what line %d says did not hold", shared.broken);
	for (int again = 0; again < (test->durable ? 2 : 1); again++) {
		_view_ struct store_view *view = store_view_open(shared.store);

		check_view(&shared, view);
		assert_int_equal(shared.broken, 0);
		assert_int_equal(read_counter(view), moved);
		if (test->durable && again == 0) {
			store_view_close(TAKE(view));
			shared.store = test_store_reopen(test);
		}
	}
}

static void test_readers_and_writers_in_memory(void **state)
{
	run(*state, 1500);
}

static void test_readers_and_writers_on_disk(void **state)
{
	run(*state, 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_ON(test_readers_and_writers_in_memory, memory),
		TEST_ON(test_readers_and_writers_on_disk, sqlite),
	};

	return cmocka_run_group_tests_name("store_threads", tests, NULL, NULL);
}
