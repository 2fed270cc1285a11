/* Controllers and control_write, on threads and in simulation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/lock.h"
#include "base/map.h"
#include "base/memory.h"
#include "control/controller.h"
#include "control/runner_simulated.h"
#include "control/write.h"

static const struct store_kind thing_kind = {.name = "thing"};
static const struct store_kind part_kind = {.name = "part"}; /* "THING/PART" */
static const struct store_kind *const kinds[] = {&thing_kind, &part_kind};

/* The reconcile calls observed for a key. */
struct seen {
	unsigned calls;
	bool exists;
	uint64_t revision;
	int64_t last_wall_ms;
};

struct bench {
	struct runner *runner;
	struct store *store;
	struct store_faults faults;
	struct runner_event *progress;
	struct lock lock;
	struct map seen;
	unsigned fail;          /* so many calls fail */
	int64_t again_at_ms;    /* asked for while in the future */
	int64_t again_after_ms; /* asked for by the first call */
	bool hang;              /* reconcile waits for ever */
	unsigned reports;
	char report[2 * ERR_MESSAGE_MAX];
	bool commits_fail;
};

static int before_commit(void *context)
{
	return ((struct bench *)context)->commits_fail ? -EIO : 0;
}

static struct bench *bench_new(bool simulated, size_t feed_bytes)
{
	struct bench *bench = memory_allocate(sizeof(*bench));
	struct store_config config = {
		.url = "memory:",
		.kinds = kinds,
		.kind_count = LENGTH(kinds),
		.feed_bytes = feed_bytes,
		.inline_writes = simulated,
	};

	bench->runner = simulated ? runner_simulated_new(1)
				  : runner_threads_new(clock_system(), random_system());
	bench->faults = (struct store_faults){.before_commit = before_commit, .context = bench};
	config.clock = runner_clock(bench->runner);
	config.faults = &bench->faults;
	assert_int_equal(store_open(&config, &bench->store, NULL), 0);
	bench->progress = runner_event_new(bench->runner, "progress");
	lock_init(&bench->lock);
	return bench;
}

static void bench_free(struct bench *bench)
{
	runner_stop(bench->runner);
	runner_join(bench->runner, NULL);
	store_close(bench->store);
	MAP_EACH (&bench->seen, entry)
		free(entry->value);
	map_clear(&bench->seen);
	runner_event_free(bench->progress);
	lock_destroy(&bench->lock);
	runner_free(bench->runner);
	free(bench);
}

static int reconcile(struct controller_call *call, struct span key, struct err *err)
{
	struct bench *bench = call->context;
	_view_ struct store_view *view = store_view_open(call->store);
	const struct store_object *object = store_get(view, &thing_kind, key);
	struct seen *seen;
	bool fails, hangs;

	lock_take(&bench->lock);
	seen = map_get(&bench->seen, key);
	if (!seen) {
		seen = memory_allocate(sizeof(*seen));
		map_put(&bench->seen, key, seen);
	}
	seen->calls++;
	seen->exists = object;
	seen->revision = object ? object->revision : 0;
	seen->last_wall_ms = runner_wall_ms(call->runner);
	fails = bench->fail > 0;
	bench->fail -= fails;
	hangs = bench->hang;
	if (seen->calls == 1 && bench->again_after_ms > 0)
		bench->again_at_ms = seen->last_wall_ms + bench->again_after_ms;
	if (bench->again_at_ms > seen->last_wall_ms)
		call->again_at_ms = bench->again_at_ms;
	lock_release(&bench->lock);
	runner_signal(bench->progress);
	if (hangs)
		return runner_sleep_until(call->runner, RUNNER_FOREVER);
	return fails ? err_set(err, -EIO, "it did not work") : 0;
}

static void note_report(void *context, const char *controller, struct span key,
	const struct err *err)
{
	struct bench *bench = context;

	lock_take(&bench->lock);
	bench->reports++;
	snprintf(bench->report, sizeof(bench->report), "%s %.*s: %s", controller, SPAN_ARGS(key),
		err->message);
	lock_release(&bench->lock);
}

static void map_part(const struct store_change *change, void *context, struct controller_keys *keys)
{
	struct span key = change->after ? change->after->key : change->before->key;
	struct span thing, part;

	(void)context;
	if (span_split(key, '/', &thing, &part))
		controller_keys_add(keys, thing);
}

static const struct controller_watch watches[] = {
	{.kind = &thing_kind},
	{.kind = &part_kind, .map = map_part},
};

static struct controller_row row = {
	.name = "things",
	.watches = watches,
	.watch_count = LENGTH(watches),
	.reconcile = reconcile,
	.workers = 3,
};

static struct controller *start_on(struct bench *bench, struct runner *runner,
	const struct controller_row *which)
{
	struct controller_config config = {
		.runner = runner,
		.store = bench->store,
		.context = bench,
		.report = note_report,
		.report_context = bench,
	};
	struct controller *controller = NULL;

	assert_int_equal(controller_start(which, &config, &controller, NULL), 0);
	return controller;
}

static struct controller *start(struct bench *bench)
{
	return start_on(bench, bench->runner, &row);
}

struct change {
	const struct store_kind *kind;
	const char *key;
	bool delete;
};

static int write_change(struct store_transaction *transaction, void *context, struct err *err)
{
	const struct change *change = context;

	if (change->delete)
		return store_delete(transaction, change->kind, span_of(change->key), STORE_ANY,
			err);
	return store_put(transaction, change->kind, span_of(change->key), SPAN("text"), SPAN(""),
		STORE_ANY, err);
}

static uint64_t put(struct bench *bench, const struct store_kind *kind, const char *key)
{
	struct change change = {kind, key, false};
	uint64_t revision = 0;

	assert_int_equal(control_write(bench->runner, bench->store, write_change, &change,
				 &revision, NULL),
		0);
	assert_true(revision > 0);
	return revision;
}

static void delete_object(struct bench *bench, const struct store_kind *kind, const char *key)
{
	struct change change = {kind, key, true};

	assert_int_equal(control_write(bench->runner, bench->store, write_change, &change, NULL,
				 NULL),
		0);
}

static struct seen seen_of(struct bench *bench, const char *key)
{
	struct seen *seen, copy = {0};

	lock_take(&bench->lock);
	seen = map_get(&bench->seen, span_of(key));
	if (seen)
		copy = *seen;
	lock_release(&bench->lock);
	return copy;
}

/* Until reconcile was called so often for the key and saw this revision (0: none). */
static void expect(struct bench *bench, const char *key, unsigned calls, uint64_t revision)
{
	int64_t deadline = runner_deadline_us(bench->runner, INT64_C(60000000));

	for (;;) {
		uint64_t count = runner_event_count(bench->progress);
		struct seen seen = seen_of(bench, key);

		if (seen.calls >= calls && seen.revision == revision)
			return;
		if (runner_wait(bench->runner, bench->progress, count, deadline) < 0)
			fail_msg("'%s' was reconciled %u times, last at revision %llu", key,
				seen.calls, (unsigned long long)seen.revision);
	}
}

/* Waits until the controller is idle; by then every reconcile is counted, too. */
static void await_idle(struct bench *bench, struct controller *controller)
{
	int64_t deadline = runner_deadline_us(bench->runner, INT64_C(60000000));

	while (!controller_is_idle(controller)) {
		assert_true(runner_now_us(bench->runner) < deadline);
		runner_sleep_until(bench->runner, runner_deadline_us(bench->runner, 1000));
	}
}

static void test_lists_then_follows(void **state)
{
	struct bench *bench = bench_new(*state, 0);
	uint64_t before = put(bench, &thing_kind, "before");
	struct controller *controller = start(bench);
	struct controller_statistics statistics;
	uint64_t revision;

	expect(bench, "before", 1, before);
	expect(bench, "after", 1, put(bench, &thing_kind, "after"));
	for (unsigned i = 0; i < 20; i++) {
		revision = put(bench, &thing_kind, "after");
		expect(bench, "after", 1, revision);
	}
	delete_object(bench, &thing_kind, "after");
	expect(bench, "after", 2, 0);
	/* A part concerns its thing. */
	put(bench, &part_kind, "other/wheel");
	expect(bench, "other", 1, 0);
	delete_object(bench, &part_kind, "other/wheel");
	expect(bench, "other", 2, 0);
	controller_add(controller, SPAN("asked for"));
	expect(bench, "asked for", 1, 0);
	await_idle(bench, controller);
	controller_statistics(controller, &statistics);
	assert_int_equal(statistics.lists, 1);
	assert_int_equal(statistics.overflows, 0);
	assert_int_equal(statistics.failures, 0);
	assert_true(statistics.reconciles >= 6 && statistics.changes >= 24);
	assert_true(statistics.revision >= revision);
	controller_stop(controller);
	bench_free(bench);
}

static void test_failures_are_reported_and_repeated(void **state)
{
	struct bench *bench = bench_new(*state, 0);
	struct controller *controller = start(bench);
	struct controller_statistics statistics;

	bench->fail = 4;
	expect(bench, "bad", 5, put(bench, &thing_kind, "bad"));
	assert_int_equal(bench->reports, 4);
	assert_string_equal(bench->report, "things bad: it did not work");
	controller_statistics(controller, &statistics);
	assert_int_equal(statistics.failures, 4);
	assert_int_equal(statistics.queue.retries, 4);
	controller_stop(controller);
	bench_free(bench);
}

static void test_called_again_when_requested(void **state)
{
	struct bench *bench = bench_new(*state, 0);
	struct controller *controller;

	bench->again_after_ms = 50;
	controller = start(bench);
	expect(bench, "later", 2, put(bench, &thing_kind, "later"));
	controller_stop(controller);
	assert_true(seen_of(bench, "later").last_wall_ms >= bench->again_at_ms);
	bench_free(bench);
}

static void test_stop_ends_a_waiting_reconcile(void **state)
{
	struct bench *bench = bench_new(*state, 0);
	struct controller *controller;

	bench->hang = true;
	controller = start(bench);
	expect(bench, "hangs", 1, put(bench, &thing_kind, "hangs"));
	assert_false(controller_is_idle(controller));
	controller_stop(controller);
	assert_int_equal(bench->reports, 0);
	assert_int_equal(seen_of(bench, "hangs").calls, 1);
	bench_free(bench);
}

static void test_idle_when_nothing_is_left(void **state)
{
	struct bench *bench = bench_new(*state, 0);
	struct controller *controller;

	put(bench, &thing_kind, "a");
	controller = start(bench);
	await_idle(bench, controller);
	assert_int_equal(seen_of(bench, "a").calls, 1);
	controller_stop(controller);
	bench_free(bench);
}

/* ---- with virtual time ---- */

static void test_a_slow_follower_misses_nothing(void **state)
{
	struct bench *bench = bench_new(true, 1500);
	struct runner *machine = runner_group_new(bench->runner, "machine");
	struct controller *controller;
	struct controller_statistics statistics;
	uint64_t changed, unchanged, created = 0;

	(void)state;
	unchanged = put(bench, &thing_kind, "unchanged");
	put(bench, &thing_kind, "changed");
	put(bench, &thing_kind, "deleted");
	put(bench, &part_kind, "whole/part");
	controller = start_on(bench, machine, &row);
	expect(bench, "unchanged", 1, unchanged);
	runner_sleep_until(bench->runner, runner_deadline_us(bench->runner, 1000000));
	runner_simulated_pause(machine, INT64_C(10000000));
	changed = put(bench, &thing_kind, "changed");
	delete_object(bench, &thing_kind, "deleted");
	delete_object(bench, &part_kind, "whole/part");
	put(bench, &thing_kind, "came and went");
	delete_object(bench, &thing_kind, "came and went");
	for (unsigned i = 0; i < 100; i++)
		created = put(bench, &thing_kind, "created");
	runner_sleep_until(bench->runner, runner_deadline_us(bench->runner, INT64_C(9000000)));
	assert_int_equal(seen_of(bench, "changed").calls, 1);
	expect(bench, "created", 1, created);
	expect(bench, "changed", 2, changed);
	expect(bench, "deleted", 2, 0);
	expect(bench, "whole", 2, 0);
	controller_statistics(controller, &statistics);
	assert_int_equal(statistics.overflows, 1);
	assert_int_equal(statistics.lists, 2);
	/* Only what differs: the rest was dealt with. */
	assert_int_equal(seen_of(bench, "unchanged").calls, 1);
	assert_int_equal(seen_of(bench, "came and went").calls, 0);
	controller_stop(controller);
	runner_free(machine);
	bench_free(bench);
}

/* When both come together, the resync must not hide what the overflow took. */
static void test_a_resync_does_not_hide_a_deletion(void **state)
{
	struct bench *bench = bench_new(true, 1500);
	struct runner *machine = runner_group_new(bench->runner, "machine");
	struct controller_row with_resync = row;
	struct controller *controller;

	(void)state;
	with_resync.resync_ms = 5000;
	put(bench, &thing_kind, "deleted");
	controller = start_on(bench, machine, &with_resync);
	runner_sleep_until(bench->runner, runner_deadline_us(bench->runner, 1000000));
	runner_simulated_pause(machine, INT64_C(10000000));
	delete_object(bench, &thing_kind, "deleted");
	for (unsigned i = 0; i < 100; i++)
		put(bench, &thing_kind, "created");
	expect(bench, "deleted", 2, 0);
	controller_stop(controller);
	runner_free(machine);
	bench_free(bench);
}

static void test_resync(void **state)
{
	struct bench *bench = bench_new(true, 0);
	struct controller_row with_resync = row;
	struct controller *controller;

	(void)state;
	with_resync.resync_ms = 60000;
	put(bench, &thing_kind, "quiet");
	controller = start_on(bench, bench->runner, &with_resync);
	runner_sleep_until(bench->runner, runner_deadline_us(bench->runner, INT64_C(330000000)));
	assert_int_equal(seen_of(bench, "quiet").calls, 6);
	controller_stop(controller);
	bench_free(bench);
}

static void test_a_far_deadline_is_looked_at_again(void **state)
{
	struct bench *bench = bench_new(true, 0);
	struct controller *controller = start(bench);

	(void)state;
	bench->again_at_ms = runner_wall_ms(bench->runner) + 25 * 60 * 1000;
	put(bench, &thing_kind, "far");
	runner_sleep_until(bench->runner,
		runner_deadline_us(bench->runner, INT64_C(3600) * 1000000));
	/* At once, after 10 and 20 minutes, and when the time had come. */
	assert_int_equal(seen_of(bench, "far").calls, 4);
	assert_int_equal(seen_of(bench, "far").last_wall_ms, bench->again_at_ms);
	controller_stop(controller);
	bench_free(bench);
}

/* ---- control_write ---- */

static void test_write_reports_its_outcome(void **state)
{
	struct bench *bench = bench_new(*state, 0);
	struct change missing = {&thing_kind, "missing", true};
	struct change thing = {&thing_kind, "thing", false};
	struct err err = {0};
	uint64_t revision = 77;

	assert_int_equal(control_write(bench->runner, bench->store, write_change, &missing,
				 &revision, &err),
		-ENOENT);
	assert_non_null(strstr(err.message, "missing"));
	assert_int_equal(revision, 77);
	bench->commits_fail = true;
	assert_int_equal(control_write(bench->runner, bench->store, write_change, &thing, &revision,
				 &err),
		-EIO);
	assert_int_equal(revision, 77);
	bench->commits_fail = false;
	assert_int_equal(control_write(bench->runner, bench->store, write_change, &thing, &revision,
				 &err),
		0);
	assert_int_not_equal(revision, 77);
	runner_stop(bench->runner);
	assert_int_equal(control_write(bench->runner, bench->store, write_change, &thing, NULL,
				 &err),
		-ECANCELED);
	bench_free(bench);
}

static int write_count(struct store_transaction *transaction, void *context, struct err *err)
{
	unsigned *written = context;

	++*written;
	return store_put(transaction, &thing_kind, SPAN("counter"), SPAN("text"), SPAN(""),
		STORE_ANY, err);
}

struct writer {
	struct bench *bench;
	unsigned acknowledged, written;
};

static void write_until_stopped(void *context)
{
	struct writer *writer = context;

	while (control_write(writer->bench->runner, writer->bench->store, write_count,
		       &writer->written, NULL, NULL) == 0) {
		writer->acknowledged++;
		runner_signal(writer->bench->progress);
	}
}

/* Stopping in the middle of writes: the writer's thread must be done with every stack. */
static void test_stop_during_writes(void **state)
{
	struct bench *bench = bench_new(*state, 0);
	struct writer writers[4];

	for (size_t i = 0; i < LENGTH(writers); i++) {
		writers[i] = (struct writer){.bench = bench};
		assert_int_equal(runner_spawn(bench->runner, "writer", write_until_stopped,
					 &writers[i], NULL),
			0);
	}
	while (runner_event_count(bench->progress) < 200)
		runner_wait(bench->runner, bench->progress, runner_event_count(bench->progress),
			runner_deadline_us(bench->runner, 1000));
	runner_stop(bench->runner);
	assert_int_equal(runner_join(bench->runner, NULL), 0);
	for (size_t i = 0; i < LENGTH(writers); i++) {
		assert_true(writers[i].written >= writers[i].acknowledged);
		assert_true(writers[i].written <= writers[i].acknowledged + 1);
	}
	bench_free(bench);
}

#define BOTH(test)                                                                                 \
	{#test " (threads)", test, NULL, NULL, NULL},                                              \
	{                                                                                          \
#test " (simulated)", test, NULL, NULL, &row                                       \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(test_lists_then_follows),
		BOTH(test_failures_are_reported_and_repeated),
		BOTH(test_called_again_when_requested),
		BOTH(test_stop_ends_a_waiting_reconcile),
		BOTH(test_idle_when_nothing_is_left),
		cmocka_unit_test(test_a_slow_follower_misses_nothing),
		cmocka_unit_test(test_a_resync_does_not_hide_a_deletion),
		cmocka_unit_test(test_resync),
		cmocka_unit_test(test_a_far_deadline_is_looked_at_again),
		BOTH(test_write_reports_its_outcome),
		BOTH(test_stop_during_writes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
