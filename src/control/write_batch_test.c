/* The guarantees of write_batch.h: together, in order, none dropped, and a circuit breaker, on
 * virtual time; and with many threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/lock.h"
#include "base/memory.h"
#include "control/runner_simulated.h"
#include "control/write.h"
#include "control/write_batch.h"

#define WRITES_MAX 4096
#define SECOND_US INT64_C(1000000)

static const struct store_kind thing_kind = {.name = "test.thing"};
static const struct store_kind *const kinds[] = {&thing_kind};

struct rig {
	struct runner *runner;
	struct store *store;
	struct store_faults faults;
	struct write_batch *batch;
	unsigned commits_to_fail;
	unsigned commits; /* tried */
	struct lock lock;
	struct runner_event *ended;
	/* Guarded by the lock: numbers of writes in the order in which they ended, and how. */
	size_t ends[WRITES_MAX];
	int codes[WRITES_MAX];
	size_t end_count;
};

struct write {
	struct rig *rig;
	size_t number;
	bool refuse;
};

static int before_commit(void *context)
{
	struct rig *rig = context;

	rig->commits++;
	if (rig->commits_to_fail == 0)
		return 0;
	rig->commits_to_fail--;
	return -EIO;
}

static int put(struct store_transaction *transaction, void *context, struct err *err)
{
	struct write *write = context;
	char key[32];

	snprintf(key, sizeof(key), "%zu", write->number);
	if (write->refuse)
		return err_set(err, -EINVAL, "number %zu is refused", write->number);
	return store_put(transaction, &thing_kind, span_of(key), SPAN("{}"), SPAN("{}"), STORE_ANY,
		err);
}

static void note_end(void *context, int code, const struct err *err)
{
	struct write *write = context;
	struct rig *rig = write->rig;

	assert_int_equal(code < 0, err != NULL);
	lock_take(&rig->lock);
	rig->ends[rig->end_count] = write->number;
	rig->codes[rig->end_count++] = code;
	lock_release(&rig->lock);
	free(write);
	runner_signal(rig->ended);
}

static int add(struct rig *rig, size_t number, bool refuse)
{
	struct write *write = memory_allocate(sizeof(*write));
	int code;

	*write = (struct write){rig, number, refuse};
	code = write_batch_add(rig->batch, put, note_end, write, NULL);
	if (code < 0)
		free(write);
	return code;
}

static size_t ended(struct rig *rig)
{
	size_t count;

	lock_take(&rig->lock);
	count = rig->end_count;
	lock_release(&rig->lock);
	return count;
}

static void wait_for_ends(struct rig *rig, size_t count)
{
	for (;;) {
		uint64_t seen = runner_event_count(rig->ended);

		if (ended(rig) >= count)
			return;
		assert_int_equal(runner_wait(rig->runner, rig->ended, seen,
					 runner_deadline_us(rig->runner, 600 * SECOND_US)),
			0);
	}
}

static bool is_stored(struct rig *rig, size_t number)
{
	_view_ struct store_view *view = store_view_open(rig->store);
	char key[32];

	snprintf(key, sizeof(key), "%zu", number);
	return store_get(view, &thing_kind, span_of(key));
}

static struct rig *rig_new(bool simulated, size_t size)
{
	struct rig *rig = memory_allocate(sizeof(*rig));
	struct store_config config = {.url = "memory:",
		.kinds = kinds,
		.kind_count = LENGTH(kinds),
		.inline_writes = simulated,
		.faults = &rig->faults};
	struct write_batch_config batch = {.size = size, .delay_us = 2 * SECOND_US};

	rig->runner = simulated ? runner_simulated_new(7)
				: runner_threads_new(clock_system(), random_system());
	rig->faults = (struct store_faults){.before_commit = before_commit, .context = rig};
	config.clock = runner_clock(rig->runner);
	assert_int_equal(store_open(&config, &rig->store, NULL), 0);
	rig->ended = runner_event_new(rig->runner, "ends");
	lock_init(&rig->lock);
	batch.runner = rig->runner;
	batch.store = rig->store;
	assert_int_equal(write_batch_new(&batch, &rig->batch, NULL), 0);
	return rig;
}

static void rig_free(struct rig *rig)
{
	write_batch_free(rig->batch);
	runner_stop(rig->runner);
	runner_join(rig->runner, NULL);
	store_close(rig->store);
	runner_event_free(rig->ended);
	lock_destroy(&rig->lock);
	runner_free(rig->runner);
	free(rig);
}

static void what_comes_together_is_stored_together_in_order(void **state)
{
	struct rig *rig = rig_new(true, 100);
	struct write_batch_statistics statistics;

	(void)state;
	for (size_t i = 0; i < 250; i++)
		assert_int_equal(add(rig, i, false), 0);
	wait_for_ends(rig, 250);
	for (size_t i = 0; i < 250; i++) {
		assert_int_equal(rig->ends[i], i);
		assert_int_equal(rig->codes[i], 0);
		assert_true(is_stored(rig, i));
	}
	write_batch_statistics(rig->batch, &statistics);
	assert_int_equal(statistics.writes, 250);
	assert_int_equal(statistics.batches, 3);
	assert_int_equal(statistics.waiting, 0);
	assert_int_equal(statistics.late, 0);
	assert_int_equal(rig->commits, 3);
	rig_free(rig);
}

static void nothing_waits_when_idle(void **state)
{
	struct rig *rig = rig_new(true, 100);
	int64_t began_us = runner_now_us(rig->runner);

	(void)state;
	assert_int_equal(add(rig, 1, false), 0);
	wait_for_ends(rig, 1);
	/* Far less than the delay that is allowed: only what others' turns take in a simulation. */
	assert_true(runner_now_us(rig->runner) - began_us < SECOND_US);
	rig_free(rig);
}

static void a_refused_write_takes_no_other_with_it(void **state)
{
	struct rig *rig = rig_new(true, 100);
	struct write_batch_statistics statistics;

	(void)state;
	for (size_t i = 0; i < 20; i++)
		assert_int_equal(add(rig, i, i == 7), 0);
	wait_for_ends(rig, 20);
	for (size_t i = 0; i < 20; i++) {
		assert_int_equal(rig->ends[i], i);
		assert_int_equal(rig->codes[i], i == 7 ? -EINVAL : 0);
		assert_int_equal(is_stored(rig, i), i != 7);
	}
	write_batch_statistics(rig->batch, &statistics);
	assert_int_equal(statistics.refused, 1);
	assert_int_equal(statistics.failed, 0);
	assert_false(statistics.open);
	rig_free(rig);
}

static void a_failing_store_fails_each_write_and_backs_off(void **state)
{
	struct rig *rig = rig_new(true, 1);
	struct write_batch_statistics statistics;
	int64_t opened_us;

	(void)state;
	rig->commits_to_fail = WRITE_BATCH_BREAKER_FAILURES + 1;
	for (size_t i = 0; i < WRITE_BATCH_BREAKER_FAILURES + 3; i++)
		assert_int_equal(add(rig, i, false), 0);
	wait_for_ends(rig, WRITE_BATCH_BREAKER_FAILURES);
	opened_us = runner_now_us(rig->runner);
	runner_sleep_until(rig->runner, opened_us + WRITE_BATCH_BREAKER_FIRST_US / 2);
	write_batch_statistics(rig->batch, &statistics);
	assert_true(statistics.open);
	assert_int_equal(statistics.opened, 1);
	assert_int_equal(statistics.waiting, 3);
	assert_int_equal(rig->commits, WRITE_BATCH_BREAKER_FAILURES);
	/* Tried again once, which fails, and then, later still, with success. */
	wait_for_ends(rig, WRITE_BATCH_BREAKER_FAILURES + 3);
	assert_true(runner_now_us(rig->runner) - opened_us >= 3 * WRITE_BATCH_BREAKER_FIRST_US);
	for (size_t i = 0; i < WRITE_BATCH_BREAKER_FAILURES + 3; i++) {
		bool failed = i < WRITE_BATCH_BREAKER_FAILURES + 1;

		assert_int_equal(rig->ends[i], i);
		assert_int_equal(rig->codes[i], failed ? -EIO : 0);
		assert_int_equal(is_stored(rig, i), !failed);
	}
	write_batch_statistics(rig->batch, &statistics);
	assert_false(statistics.open);
	assert_int_equal(statistics.failed, WRITE_BATCH_BREAKER_FAILURES + 1);
	assert_int_equal(statistics.opened, 1);
	/* The last one waited for the breaker longer than is allowed. */
	assert_true(statistics.late > 0);
	rig_free(rig);
}

static void writes_beyond_the_limit_are_rejected(void **state)
{
	struct rig *rig = rig_new(true, 2);

	(void)state;
	for (size_t i = 0; i < 2 * WRITE_BATCH_WAITING_MAX; i++)
		assert_int_equal(add(rig, i, false), 0);
	assert_int_equal(add(rig, 1000, false), -EBUSY);
	wait_for_ends(rig, 2 * WRITE_BATCH_WAITING_MAX);
	assert_int_equal(add(rig, 1000, false), 0);
	wait_for_ends(rig, 2 * WRITE_BATCH_WAITING_MAX + 1);
	rig_free(rig);
}

static void waiting_writes_get_room(void **state)
{
	struct rig *rig = rig_new(true, 2);
	size_t count = 0;

	(void)state;
	assert_int_equal(write_batch_wait(rig->batch, rig->runner), 0); /* there is some: at once */
	while (add(rig, count, false) == 0)
		count++;
	assert_int_equal(count, 2 * WRITE_BATCH_WAITING_MAX);
	assert_int_equal(write_batch_wait(rig->batch, rig->runner), 0);
	assert_int_equal(add(rig, count, false), 0);
	wait_for_ends(rig, count + 1);
	rig_free(rig);
}

static void the_end_ends_what_waits(void **state)
{
	struct rig *rig = rig_new(true, 1);

	(void)state;
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(add(rig, i, false), 0);
	write_batch_free(rig->batch);
	rig->batch = NULL;
	assert_int_equal(rig->end_count, 5);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(rig->codes[i], -ECANCELED);
	rig_free(rig);
}

#define ADDERS 4
#define ADDED_BY_EACH 500

struct adder {
	struct rig *rig;
	size_t first;
};

static void add_many(void *context)
{
	struct adder *adder = context;

	for (size_t i = 0; i < ADDED_BY_EACH; i++)
		while (add(adder->rig, adder->first + i, false) == -EBUSY)
			if (write_batch_wait(adder->rig->batch, adder->rig->runner) < 0)
				return;
}

static void threads_lose_nothing(void **state)
{
	struct rig *rig = rig_new(false, 50);
	struct adder adders[ADDERS];
	struct write_batch_statistics statistics;

	(void)state;
	for (size_t i = 0; i < ADDERS; i++) {
		adders[i] = (struct adder){rig, i * ADDED_BY_EACH};
		assert_int_equal(runner_spawn(rig->runner, "adder", add_many, &adders[i], NULL), 0);
	}
	wait_for_ends(rig, ADDERS * ADDED_BY_EACH);
	for (size_t i = 0; i < ADDERS * ADDED_BY_EACH; i++)
		assert_true(is_stored(rig, i));
	write_batch_statistics(rig->batch, &statistics);
	assert_int_equal(statistics.writes, ADDERS * ADDED_BY_EACH);
	assert_true(statistics.batches <= statistics.writes);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_comes_together_is_stored_together_in_order),
		cmocka_unit_test(nothing_waits_when_idle),
		cmocka_unit_test(a_refused_write_takes_no_other_with_it),
		cmocka_unit_test(a_failing_store_fails_each_write_and_backs_off),
		cmocka_unit_test(writes_beyond_the_limit_are_rejected),
		cmocka_unit_test(waiting_writes_get_room),
		cmocka_unit_test(the_end_ends_what_waits),
		cmocka_unit_test(threads_lose_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
