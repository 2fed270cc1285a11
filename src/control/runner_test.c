/* Both runners keep the same promises; the simulated one is repeatable besides. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/lock.h"
#include "base/memory.h"
#include "control/runner.h"
#include "control/runner_simulated.h"

static struct runner *make_threads(void)
{
	return runner_threads_new(clock_system(), random_system());
}

static struct runner *make_simulated(void)
{
	return runner_simulated_new(1);
}

typedef struct runner *(*maker)(void);

static struct runner *make(void **state)
{
	return ((maker)*state)();
}

/* ---- both runners ---- */

struct table {
	struct runner *runner;
	struct lock lock;
	struct runner_event *event;
	int ball;
	int hits[2];
	int code[8];
	atomic_int next;
};

static void table_init(struct table *table, struct runner *runner)
{
	*table = (struct table){.runner = runner};
	lock_init(&table->lock);
	table->event = runner_event_new(runner, "the ball");
}

static void table_end(struct table *table)
{
	runner_event_free(table->event);
	lock_destroy(&table->lock);
	runner_free(table->runner);
}

#define ROUNDS 2000

static void play(struct table *table, int side)
{
	for (;;) {
		uint64_t seen = runner_event_count(table->event);
		bool over;

		lock_take(&table->lock);
		if (table->ball % 2 == side && table->ball < ROUNDS) {
			table->ball++;
			table->hits[side]++;
			runner_signal(table->event);
		}
		over = table->ball >= ROUNDS;
		lock_release(&table->lock);
		if (over)
			return;
		runner_wait(table->runner, table->event, seen, RUNNER_FOREVER);
	}
}

static void play_left(void *context)
{
	play(context, 0);
}

static void play_right(void *context)
{
	play(context, 1);
}

static void test_signals_are_not_lost(void **state)
{
	struct table table;

	table_init(&table, make(state));
	assert_int_equal(runner_spawn(table.runner, "left", play_left, &table, NULL), 0);
	assert_int_equal(runner_spawn(table.runner, "right", play_right, &table, NULL), 0);
	assert_int_equal(runner_join(table.runner, NULL), 0);
	assert_int_equal(table.hits[0], ROUNDS / 2);
	assert_int_equal(table.hits[1], ROUNDS / 2);
	table_end(&table);
}

static void test_a_deadline_ends_a_wait(void **state)
{
	struct runner *runner = make(state);
	struct runner_event *event = runner_event_new(runner, "nothing");
	int64_t start = runner_now_us(runner);

	assert_int_equal(runner_wait(runner, event, 0, start + 20000), -ETIMEDOUT);
	assert_true(runner_now_us(runner) >= start + 20000);
	assert_int_equal(runner_wait(runner, event, 0, start), -ETIMEDOUT);
	assert_int_equal(runner_wait(runner, event, 0, INT64_MIN), -ETIMEDOUT);
	assert_int_equal(runner_sleep_until(runner, start + 30000), 0);
	assert_true(runner_now_us(runner) >= start + 30000);
	assert_int_equal(runner_yield(runner), 0);
	/* A signal before the wait ends it at once. */
	runner_signal(event);
	assert_int_equal(runner_wait(runner, event, 0, RUNNER_FOREVER), 0);
	assert_int_equal(runner_event_count(event), 1);
	runner_event_free(event);
	runner_free(runner);
}

static void wait_for_ever(void *context)
{
	struct table *table = context;
	int mine = atomic_fetch_add(&table->next, 1);

	if (mine % 2)
		table->code[mine] = runner_sleep_until(table->runner, RUNNER_FOREVER);
	else
		table->code[mine] = runner_wait(table->runner, table->event, 0, RUNNER_FOREVER);
	/* Every later wait is cancelled, too. */
	if (runner_wait(table->runner, table->event, 0, RUNNER_FOREVER) != -ECANCELED ||
		runner_yield(table->runner) != -ECANCELED)
		table->code[mine] = 1;
}

static void test_stop_cancels_every_wait(void **state)
{
	struct table table;

	for (int round = 0; round < 20; round++) {
		table_init(&table, make(state));
		for (int i = 0; i < 8; i++)
			assert_int_equal(runner_spawn(table.runner, "waits", wait_for_ever, &table,
						 NULL),
				0);
		if (round % 2)
			assert_int_equal(runner_sleep_until(table.runner,
						 runner_deadline_us(table.runner, 1000)),
				0);
		assert_false(runner_is_stopped(table.runner));
		runner_stop(table.runner);
		assert_true(runner_is_stopped(table.runner));
		assert_int_equal(runner_join(table.runner, NULL), 0);
		for (int i = 0; i < 8; i++)
			assert_int_equal(table.code[i], -ECANCELED);
		assert_int_equal(runner_spawn(table.runner, "late", wait_for_ever, &table, NULL),
			-ECANCELED);
		table_end(&table);
	}
}

static void test_a_group_stops_alone_and_with_its_parent(void **state)
{
	struct runner *root = make(state);
	struct runner *a = runner_group_new(root, "a");
	struct runner *inner = runner_group_new(a, "inner");
	struct runner *b = runner_group_new(root, "b");
	struct table tables[3];
	struct runner *runners[] = {a, inner, b};

	assert_string_equal(runner_name(inner), "a/inner");
	for (size_t i = 0; i < LENGTH(tables); i++) {
		tables[i] = (struct table){.runner = runners[i]};
		tables[i].event = runner_event_new(runners[i], "nothing");
		assert_int_equal(runner_spawn(runners[i], "waits", wait_for_ever, &tables[i], NULL),
			0);
	}
	runner_stop(a);
	assert_int_equal(runner_join(a, NULL), 0);
	assert_int_equal(tables[0].code[0], -ECANCELED);
	assert_int_equal(tables[1].code[0], -ECANCELED);
	assert_int_equal(tables[2].code[0], 0);
	assert_false(runner_is_stopped(b));
	runner_stop(root);
	assert_int_equal(runner_join(root, NULL), 0);
	assert_int_equal(tables[2].code[0], -ECANCELED);
	for (size_t i = 0; i < LENGTH(tables); i++)
		runner_event_free(tables[i].event);
	runner_free(inner);
	runner_free(a);
	runner_free(b);
	runner_free(root);
}

static void spawn_more(void *context)
{
	struct table *table = context;
	int depth = atomic_fetch_add(&table->next, 1);

	if (depth < 100)
		runner_spawn(table->runner, "more", spawn_more, table, NULL);
}

static void test_join_waits_for_what_was_spawned_meanwhile(void **state)
{
	struct table table;

	table_init(&table, make(state));
	assert_int_equal(runner_spawn(table.runner, "first", spawn_more, &table, NULL), 0);
	assert_int_equal(runner_join(table.runner, NULL), 0);
	assert_int_equal(table.next, 101);
	table_end(&table);
}

static void certain_waiter(void *context)
{
	struct table *table = context;

	table->code[0] = runner_wait_certain(table->runner, table->event, 0);
}

static void test_a_certain_wait_outlives_a_stop(void **state)
{
	struct table table;

	table_init(&table, make(state));
	assert_int_equal(runner_spawn(table.runner, "certain", certain_waiter, &table, NULL), 0);
	table.code[0] = 1;
	runner_sleep_until(table.runner, runner_deadline_us(table.runner, 1000));
	runner_stop(table.runner);
	runner_signal(table.event);
	assert_int_equal(runner_join(table.runner, NULL), 0);
	assert_int_equal(table.code[0], 0);
	table_end(&table);
}

static void test_deadlines_do_not_overflow(void **state)
{
	struct runner *runner = make(state);

	assert_true(runner_deadline_us(runner, INT64_MAX) == RUNNER_FOREVER);
	assert_true(runner_deadline_us(runner, -5) <= runner_now_us(runner));
	runner_free(runner);
}

/* Runs in a child and returns whether it ended by abort: assertions end programs. */
static bool aborts(void (*function)(void))
{
	int status = 0;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		/* No core, no message. */
		if (!freopen("/dev/null", "w", stderr))
			_exit(2);
		signal(SIGABRT, SIG_DFL);
		function();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void block_in_simulation(void)
{
	runner_assert_may_block(runner_simulated_new(1));
}

static void block_on_threads(void)
{
	runner_assert_may_block(make_threads());
}

static void test_foreign_blocking_calls_are_for_threads(void **state)
{
	(void)state;
	assert_true(aborts(block_in_simulation));
	assert_false(aborts(block_on_threads));
}

#ifndef NDEBUG
static void wait_with_lock(void)
{
	struct runner *runner = make_threads();
	struct lock lock;

	lock_init(&lock);
	lock_take(&lock);
	runner_sleep_until(runner, 0);
}

static void test_waiting_with_a_lock_is_an_error(void **state)
{
	(void)state;
	assert_true(aborts(wait_with_lock));
}
#endif

/* ---- threads ---- */

static void *signal_from_outside(void *argument)
{
	struct table *table = argument;

	for (int i = 0; i < ROUNDS; i++) {
		lock_take(&table->lock);
		table->ball++;
		lock_release(&table->lock);
		runner_signal(table->event);
	}
	return NULL;
}

static void count_balls(void *context)
{
	struct table *table = context;

	for (;;) {
		uint64_t seen = runner_event_count(table->event);
		bool over;

		lock_take(&table->lock);
		over = table->ball >= 2 * ROUNDS;
		lock_release(&table->lock);
		if (over)
			break;
		runner_wait(table->runner, table->event, seen, RUNNER_FOREVER);
	}
	atomic_fetch_add(&table->next, 1);
}

static void test_foreign_threads_may_signal(void **state)
{
	struct table table;
	pthread_t outside[2];

	(void)state;
	table_init(&table, make_threads());
	for (int i = 0; i < 4; i++)
		assert_int_equal(runner_spawn(table.runner, "counts", count_balls, &table, NULL),
			0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&outside[i], NULL, signal_from_outside, &table), 0);
	assert_int_equal(runner_join(table.runner, NULL), 0);
	assert_int_equal(table.next, 4);
	for (int i = 0; i < 2; i++)
		pthread_join(outside[i], NULL);
	table_end(&table);
}

/* ---- simulation ---- */

struct wanderer {
	struct runner *runner;
	struct runner_event *event;
	unsigned *log;
	unsigned *length;
	unsigned number;
};

static void wander(void *context)
{
	struct wanderer *self = context;

	for (unsigned i = 0; i < 20; i++) {
		self->log[(*self->length)++] = self->number;
		if (i % 3 == 0)
			runner_yield(self->runner);
		else if (i % 3 == 1)
			runner_sleep_until(self->runner,
				runner_deadline_us(self->runner,
					(int64_t)random_below(runner_random(self->runner), 1000)));
		else
			runner_signal(self->event);
		runner_trace(self->runner, "wanderer %u at %u", self->number, i);
	}
}

static uint64_t wander_with(uint64_t seed, unsigned log[200])
{
	struct runner *runner = runner_simulated_new(seed);
	struct runner_event *event = runner_event_new(runner, "signals");
	struct wanderer wanderers[10];
	unsigned length = 0;
	uint64_t hash;

	for (unsigned i = 0; i < LENGTH(wanderers); i++) {
		wanderers[i] = (struct wanderer){runner, event, log, &length, i};
		assert_int_equal(runner_spawn(runner, "wanderer", wander, &wanderers[i], NULL), 0);
	}
	assert_int_equal(runner_join(runner, NULL), 0);
	assert_int_equal(length, 200);
	hash = runner_simulated_hash(runner);
	assert_true(runner_simulated_steps(runner) > 100);
	runner_event_free(event);
	runner_free(runner);
	return hash;
}

static void test_a_seed_repeats_itself(void **state)
{
	unsigned first[200], second[200], other[200];

	(void)state;
	for (uint64_t seed = 0; seed < 50; seed++) {
		uint64_t hash = wander_with(seed, first);

		assert_int_equal(hash, wander_with(seed, second));
		assert_memory_equal(first, second, sizeof(first));
		assert_int_not_equal(hash, wander_with(seed + 1, other));
		assert_memory_not_equal(first, other, sizeof(first));
	}
}

static void test_time_jumps(void **state)
{
	struct runner *runner = runner_simulated_new(3);
	int64_t wall = runner_wall_ms(runner);
	int64_t year_us = INT64_C(365) * 24 * 3600 * 1000000;

	(void)state;
	assert_int_equal(runner_now_us(runner), 0);
	assert_int_equal(runner_sleep_until(runner, year_us), 0);
	assert_int_equal(runner_now_us(runner), year_us);
	assert_int_equal(runner_wall_ms(runner), wall + year_us / 1000);
	runner_free(runner);
}

static void test_a_deadlock_is_reported(void **state)
{
	struct table table;
	struct err err;

	(void)state;
	table_init(&table, runner_simulated_new(4));
	assert_string_equal(runner_simulated_trouble(table.runner), "");
	assert_int_equal(runner_spawn(table.runner, "stuck", wait_for_ever, &table, NULL), 0);
	assert_int_equal(runner_join(table.runner, &err), -EDEADLK);
	assert_non_null(strstr(err.message, "deadlock"));
	assert_non_null(strstr(err.message, "stuck waits for the ball"));
	assert_int_equal(runner_wait(table.runner, table.event, 0, RUNNER_FOREVER), -EDEADLK);
	runner_stop(table.runner);
	assert_int_equal(runner_join(table.runner, NULL), 0);
	table_end(&table);
}

static void spin(void *context)
{
	struct table *table = context;

	while (runner_wait(table->runner, table->event, UINT64_MAX, RUNNER_FOREVER) == 0)
		;
}

static void test_a_livelock_is_reported(void **state)
{
	struct table table;
	struct err err;

	(void)state;
	table_init(&table, runner_simulated_new(4));
	assert_int_equal(runner_spawn(table.runner, "spins", spin, &table, NULL), 0);
	assert_int_equal(runner_join(table.runner, &err), -EDEADLK);
	assert_non_null(strstr(err.message, "livelock"));
	assert_non_null(strstr(err.message, "spins could run"));
	runner_stop(table.runner);
	assert_int_equal(runner_join(table.runner, NULL), 0);
	table_end(&table);
}

static void tick(void *context)
{
	struct table *table = context;

	while (runner_sleep_until(table->runner, runner_deadline_us(table->runner, 1000)) == 0)
		table->ball++;
}

static void test_a_pause_stops_a_machine_and_its_groups(void **state)
{
	struct runner *root = runner_simulated_new(5);
	struct runner *machine = runner_group_new(root, "machine");
	struct runner *part = runner_group_new(machine, "part");
	struct table paused = {.runner = part}, other = {.runner = root};

	(void)state;
	assert_int_equal(runner_spawn(part, "ticks", tick, &paused, NULL), 0);
	assert_int_equal(runner_spawn(root, "ticks", tick, &other, NULL), 0);
	runner_sleep_until(root, 10500);
	assert_int_equal(paused.ball, 10);
	runner_simulated_pause(machine, 10000);
	runner_sleep_until(root, 20400);
	assert_int_equal(paused.ball, 10);
	assert_int_equal(other.ball, 20);
	/* Its deadline passed long ago: it continues as soon as the pause is over. */
	runner_sleep_until(root, 20501);
	assert_int_equal(paused.ball, 11);
	/* A stopped machine does not wait for the end of its pause. */
	runner_simulated_pause(machine, INT64_C(1000000000));
	runner_stop(machine);
	assert_int_equal(runner_join(machine, NULL), 0);
	assert_int_equal(runner_now_us(root), 20501);
	runner_stop(root);
	assert_int_equal(runner_join(root, NULL), 0);
	runner_free(part);
	runner_free(machine);
	runner_free(root);
}

static void test_clocks_of_machines_disagree(void **state)
{
	struct runner *root = runner_simulated_new(6);
	struct runner *machine = runner_group_new(root, "machine");
	struct runner *part;

	(void)state;
	runner_simulated_shift_clocks(machine, 5000000, -3000);
	part = runner_group_new(machine, "part");
	assert_int_equal(runner_now_us(part), 5000000);
	assert_int_equal(runner_wall_ms(part), runner_wall_ms(root) - 3000);
	assert_int_equal(runner_sleep_until(part, 5000100), 0);
	assert_int_equal(runner_now_us(root), 100);
	runner_free(part);
	runner_free(machine);
	runner_free(root);
}

static void test_a_clock_that_runs_slowly(void **state)
{
	struct runner *root = runner_simulated_new(5), *machine = runner_group_new(root, "machine"),
		      *part;

	(void)state;
	runner_simulated_shift_clocks(machine, 5000, 0);
	runner_simulated_set_pace(machine, 80);
	part = runner_group_new(machine, "part");
	assert_int_equal(runner_sleep_until(part, 5000 + 801), 0);
	assert_int_equal(runner_now_us(part), 5000 + 801);
	assert_int_equal(runner_now_us(root), 1002);
	/* Others do not mind. */
	assert_int_equal(runner_sleep_until(root, 2000), 0);
	assert_int_equal(runner_now_us(machine), 5000 + 1600);
	runner_free(part);
	runner_free(machine);
	runner_free(root);
}

struct counting {
	struct runner *runner;
	unsigned count;
};

static void count_up(void *context)
{
	struct counting *counting = context;

	while (counting->count < 100) {
		counting->count++;
		runner_sleep_until(counting->runner, runner_deadline_us(counting->runner, 10));
	}
}

/* Main runs between any two steps of another fiber. */
static void test_a_break(void **state)
{
	(void)state;
	for (uint64_t steps = 1; steps < 100; steps++) {
		struct runner *root = runner_simulated_new(6);
		struct counting counting = {.runner = runner_group_new(root, "machine")};
		struct runner_event *never = runner_event_new(root, "never");

		assert_int_equal(runner_spawn(counting.runner, "thread", count_up, &counting, NULL),
			0);
		runner_simulated_break_at(root, steps);
		assert_int_equal(runner_wait(root, never, 0, RUNNER_FOREVER), 0);
		assert_int_equal(counting.count, steps);
		assert_int_equal(runner_join(counting.runner, NULL), 0);
		assert_int_equal(counting.count, 100);
		runner_event_free(never);
		runner_free(counting.runner);
		runner_free(root);
	}
}

static void note_running(void *context)
{
	struct runner *runner = context;

	assert_string_equal(runner_simulated_running(runner), "machine");
}

static void test_the_current_group(void **state)
{
	struct runner *root = runner_simulated_new(6), *machine = runner_group_new(root, "machine");

	(void)state;
	assert_string_equal(runner_simulated_running(root), "");
	assert_int_equal(runner_spawn(machine, "thread", note_running, machine, NULL), 0);
	assert_int_equal(runner_join(machine, NULL), 0);
	assert_string_equal(runner_simulated_running(root), "");
	runner_free(machine);
	runner_free(root);
}

static void test_a_trace_can_be_read(void **state)
{
	struct runner *runner = runner_simulated_new(7);
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);
	struct runner *machine = runner_group_new(runner, "machine");

	(void)state;
	runner_simulated_trace_to(runner, file, false);
	runner_sleep_until(runner, 1500000);
	runner_trace(machine, "number %d", 42);
	runner_simulated_trace_to(runner, NULL, false);
	fclose(file);
	assert_string_equal(text, "     1.500000 machine: number 42\n");
	free(text);
	runner_free(machine);
	runner_free(runner);
}

#define BOTH(test)                                                                                 \
	{#test " (threads)", test, NULL, NULL, (void *)make_threads},                              \
	{                                                                                          \
#test " (simulated)", test, NULL, NULL, (void *)make_simulated                     \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(test_signals_are_not_lost),
		BOTH(test_a_deadline_ends_a_wait),
		BOTH(test_stop_cancels_every_wait),
		BOTH(test_a_group_stops_alone_and_with_its_parent),
		BOTH(test_join_waits_for_what_was_spawned_meanwhile),
		BOTH(test_a_certain_wait_outlives_a_stop),
		BOTH(test_deadlines_do_not_overflow),
		cmocka_unit_test(test_foreign_blocking_calls_are_for_threads),
#ifndef NDEBUG
		cmocka_unit_test(test_waiting_with_a_lock_is_an_error),
#endif
		cmocka_unit_test(test_foreign_threads_may_signal),
		cmocka_unit_test(test_a_seed_repeats_itself),
		cmocka_unit_test(test_time_jumps),
		cmocka_unit_test(test_a_deadlock_is_reported),
		cmocka_unit_test(test_a_livelock_is_reported),
		cmocka_unit_test(test_a_pause_stops_a_machine_and_its_groups),
		cmocka_unit_test(test_clocks_of_machines_disagree),
		cmocka_unit_test(test_a_clock_that_runs_slowly),
		cmocka_unit_test(test_a_break),
		cmocka_unit_test(test_the_current_group),
		cmocka_unit_test(test_a_trace_can_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
