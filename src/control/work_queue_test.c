/* The promises of work_queue.h, one by one on virtual time, then all at once with many threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "control/runner.h"
#include "control/runner_simulated.h"
#include "control/work_queue.h"

static void expect_get(struct work_queue *queue, const char *key)
{
	struct span got = SPAN_NONE;

	assert_int_equal(work_queue_get(queue, &got), 0);
	assert_int_equal(got.length, strlen(key));
	assert_memory_equal(got.data, key, got.length);
}

static size_t depth_of(struct work_queue *queue)
{
	struct work_queue_statistics statistics;

	work_queue_statistics(queue, &statistics);
	return statistics.depth;
}

static struct runner *runner;
static struct work_queue *queue;

static int set_up(void **state)
{
	(void)state;
	runner = runner_simulated_new(1);
	queue = work_queue_new(runner, NULL);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	work_queue_free(queue);
	runner_free(runner);
	return 0;
}

static void test_order_and_duplicates(void **state)
{
	struct work_queue_statistics statistics;

	(void)state;
	work_queue_add(queue, SPAN("b"));
	work_queue_add(queue, SPAN("a"));
	work_queue_add(queue, SPAN("b"));
	work_queue_add(queue, SPAN("c"));
	assert_int_equal(depth_of(queue), 3);
	runner_sleep_until(runner, 700);
	work_queue_statistics(queue, &statistics);
	assert_int_equal(statistics.oldest_wait_us, 700);
	expect_get(queue, "b");
	expect_get(queue, "a");
	expect_get(queue, "c");
	work_queue_done(queue, SPAN("a"));
	work_queue_done(queue, SPAN("b"));
	work_queue_done(queue, SPAN("c"));
	work_queue_statistics(queue, &statistics);
	assert_int_equal(statistics.adds, 3);
	assert_int_equal(statistics.gets, 3);
	assert_int_equal(statistics.depth, 0);
	assert_int_equal(statistics.processing, 0);
	assert_int_equal(statistics.longest_wait_us, 700);
	assert_int_equal(statistics.wait_us, 2100);
	assert_int_equal(statistics.oldest_wait_us, 0);
}

static void test_added_while_in_work_comes_again(void **state)
{
	(void)state;
	work_queue_add(queue, SPAN("a"));
	expect_get(queue, "a");
	work_queue_add(queue, SPAN("a"));
	work_queue_add(queue, SPAN("a"));
	/* Not given out twice at once. */
	assert_int_equal(depth_of(queue), 0);
	work_queue_done(queue, SPAN("a"));
	assert_int_equal(depth_of(queue), 1);
	expect_get(queue, "a");
	work_queue_done(queue, SPAN("a"));
	assert_int_equal(depth_of(queue), 0);
}

static void test_deadlines(void **state)
{
	struct work_queue_statistics statistics;

	(void)state;
	work_queue_add_at(queue, SPAN("late"), 5000);
	work_queue_add_at(queue, SPAN("early"), 3000);
	work_queue_add_at(queue, SPAN("late"), 9000);
	work_queue_add_at(queue, SPAN("late"), 4000);
	work_queue_add_at(queue, SPAN("tie-1"), 6000);
	work_queue_add_at(queue, SPAN("tie-2"), 6000);
	work_queue_add_at(queue, SPAN("past"), 0);
	work_queue_statistics(queue, &statistics);
	assert_int_equal(statistics.delayed, 4);
	assert_int_equal(statistics.depth, 1);
	expect_get(queue, "past");
	expect_get(queue, "early");
	assert_int_equal(runner_now_us(runner), 3000);
	expect_get(queue, "late");
	assert_int_equal(runner_now_us(runner), 4000);
	expect_get(queue, "tie-1");
	expect_get(queue, "tie-2");
	assert_int_equal(runner_now_us(runner), 6000);
	/* A deadline does not stand in the way of an add, and an add does not cancel it. */
	work_queue_add_at(queue, SPAN("x"), 7000);
	work_queue_add(queue, SPAN("x"));
	expect_get(queue, "x");
	assert_int_equal(runner_now_us(runner), 6000);
	work_queue_done(queue, SPAN("x"));
	expect_get(queue, "x");
	assert_int_equal(runner_now_us(runner), 7000);
}

static void test_a_deadline_during_work_makes_dirty(void **state)
{
	(void)state;
	work_queue_add(queue, SPAN("a"));
	expect_get(queue, "a");
	work_queue_add_at(queue, SPAN("a"), 1000);
	work_queue_add_at(queue, SPAN("b"), 2000);
	expect_get(queue, "b");
	work_queue_done(queue, SPAN("a"));
	expect_get(queue, "a");
}

static void test_many_deadlines_come_in_order(void **state)
{
	struct random_seeded random;
	int64_t before = 0;

	(void)state;
	random_seeded_init(&random, 9);
	for (int i = 0; i < 5000; i++) {
		char key[16];

		snprintf(key, sizeof(key), "%u", (unsigned)random_below(&random.random, 2000));
		work_queue_add_at(queue, span_of(key),
			1 + (int64_t)random_below(&random.random, 1000000));
	}
	work_queue_add_at(queue, SPAN("end"), 2000000);
	for (;;) {
		struct span key;
		bool end;

		assert_int_equal(work_queue_get(queue, &key), 0);
		assert_true(runner_now_us(runner) >= before);
		before = runner_now_us(runner);
		end = span_is(key, "end");
		work_queue_done(queue, key);
		if (end)
			break;
	}
	assert_int_equal(runner_now_us(runner), 2000000);
}

static void test_backoff_doubles_and_is_forgotten(void **state)
{
	int64_t expected = 5000;

	(void)state;
	for (unsigned i = 0; i < 25; i++) {
		int64_t before = runner_now_us(runner);

		work_queue_add_rate_limited(queue, SPAN("a"));
		assert_int_equal(work_queue_failures(queue, SPAN("a")), i + 1);
		expect_get(queue, "a");
		assert_int_equal(runner_now_us(runner) - before, expected);
		work_queue_done(queue, SPAN("a"));
		expected = expected * 2 > 1000000000 ? 1000000000 : expected * 2;
	}
	work_queue_forget(queue, SPAN("a"));
	work_queue_forget(queue, SPAN("never heard of"));
	assert_int_equal(work_queue_failures(queue, SPAN("a")), 0);
	work_queue_add_rate_limited(queue, SPAN("a"));
	expected = runner_now_us(runner) + 5000;
	expect_get(queue, "a");
	assert_int_equal(runner_now_us(runner), expected);
}

static void test_all_failures_together_are_held_to_a_rate(void **state)
{
	(void)state;
	for (int i = 0; i < 300; i++) {
		char key[16];

		snprintf(key, sizeof(key), "%d", i);
		work_queue_add_rate_limited(queue, span_of(key));
	}
	for (int i = 0; i < 300; i++) {
		struct span key;

		assert_int_equal(work_queue_get(queue, &key), 0);
		work_queue_done(queue, key);
		/* A hundred at once, then ten a second. */
		if (i == 99)
			assert_int_equal(runner_now_us(runner), 5000);
		if (i >= 100)
			assert_in_range(runner_now_us(runner), (i - 99) * 100000 - 1000,
				(i - 99) * 100000 + 1000);
	}
}

static void test_configured_rates(void **state)
{
	struct work_queue_config config = {
		.backoff_first_us = 100,
		.backoff_most_us = 350,
		.retries_per_second = 1000,
		.retry_burst = 3,
	};
	const int64_t expected[] = {100, 200, 350, 350, 1000};
	struct work_queue *own = work_queue_new(runner, &config);
	int64_t before;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		before = runner_now_us(runner);
		work_queue_add_rate_limited(own, SPAN("a"));
		expect_get(own, "a");
		work_queue_done(own, SPAN("a"));
		assert_int_equal(runner_now_us(runner) - before, expected[i]);
	}
	work_queue_free(own);
}

static void test_shut_down_drains(void **state)
{
	struct span key;

	(void)state;
	work_queue_add(queue, SPAN("a"));
	work_queue_add(queue, SPAN("b"));
	work_queue_add_at(queue, SPAN("later"), 1000);
	expect_get(queue, "a");
	work_queue_add(queue, SPAN("a"));
	work_queue_shut_down(queue);
	work_queue_add(queue, SPAN("ignored"));
	work_queue_add_at(queue, SPAN("ignored"), 10);
	work_queue_add_rate_limited(queue, SPAN("ignored"));
	expect_get(queue, "b");
	assert_int_equal(work_queue_get(queue, &key), -ESHUTDOWN);
	work_queue_done(queue, SPAN("a"));
	expect_get(queue, "a");
	work_queue_done(queue, SPAN("a"));
	work_queue_done(queue, SPAN("b"));
	assert_int_equal(work_queue_get(queue, &key), -ESHUTDOWN);
	assert_int_equal(runner_now_us(runner), 0);
}

static void test_a_stopped_runner_gives_nothing(void **state)
{
	struct span key;

	(void)state;
	work_queue_add(queue, SPAN("a"));
	runner_stop(runner);
	assert_int_equal(work_queue_get(queue, &key), -ECANCELED);
}

static void test_keys_are_bytes(void **state)
{
	struct span key;

	(void)state;
	work_queue_add(queue, (struct span){"a\0b", 3});
	work_queue_add(queue, (struct span){"", 0});
	assert_int_equal(work_queue_get(queue, &key), 0);
	assert_int_equal(key.length, 3);
	assert_memory_equal(key.data, "a\0b", 3);
	assert_int_equal(work_queue_get(queue, &key), 0);
	assert_int_equal(key.length, 0);
}

/* ---- a model: the same operations on the queue and on something too simple to be wrong ---- */

#define MODEL_KEYS 8

static void test_against_a_model(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 200; seed++) {
		struct runner *own = runner_simulated_new(seed);
		struct work_queue *subject = work_queue_new(own, NULL);
		struct random *random = runner_random(own);
		bool ready[MODEL_KEYS] = {0}, processing[MODEL_KEYS] = {0}, dirty[MODEL_KEYS] = {0};
		unsigned order[MODEL_KEYS], count = 0;

		for (int step = 0; step < 300; step++) {
			unsigned at = (unsigned)random_below(random, MODEL_KEYS);
			char name[2] = {(char)('a' + at), '\0'};

			switch (random_below(random, 3)) {
			case 0:
				work_queue_add(subject, span_of(name));
				if (processing[at]) {
					dirty[at] = true;
				} else if (!ready[at]) {
					ready[at] = true;
					order[count++] = at;
				}
				break;
			case 1:
				if (!processing[at])
					break;
				work_queue_done(subject, span_of(name));
				processing[at] = false;
				if (dirty[at]) {
					dirty[at] = false;
					ready[at] = true;
					order[count++] = at;
				}
				break;
			case 2:
				if (count == 0)
					break;
				name[0] = (char)('a' + order[0]);
				expect_get(subject, name);
				ready[order[0]] = false;
				processing[order[0]] = true;
				memmove(order, order + 1, --count * sizeof(order[0]));
				break;
			}
			assert_int_equal(depth_of(subject), count);
		}
		work_queue_free(subject);
		runner_free(own);
	}
}

/* ---- hammering it with threads ----
 *
 * Producers change numbers and notify the queue by add, by a short deadline or after a failure;
 * workers copy the numbers. If one wake-up or one dirty mark were lost, a number would stay stale,
 * and the test would not end. */

#define HAMMER_KEYS 16
#define HAMMER_WORKERS 8
#define HAMMER_PRODUCERS 3
#define HAMMER_ROUNDS 3000

struct hammer {
	struct runner *runner;
	struct work_queue *queue;
	struct runner_event *progress;
	atomic_uint wanted[HAMMER_KEYS];
	atomic_uint found[HAMMER_KEYS];
	atomic_int inside[HAMMER_KEYS];
	atomic_int doubled;
	atomic_uint producer;
};

/* Retries come at once: it is about wake-ups here, not about rates. */
static const struct work_queue_config hammer_config = {
	.backoff_first_us = 20,
	.backoff_most_us = 400,
	.retries_per_second = 1000000,
	.retry_burst = 1000,
};

static void hammer_key(unsigned number, char key[16])
{
	snprintf(key, 16, "key-%u", number);
}

static void hammer_work(void *context)
{
	struct hammer *hammer = context;
	unsigned failures = 0;
	struct span key;

	while (work_queue_get(hammer->queue, &key) == 0) {
		unsigned number = 0;

		sscanf(key.data, "key-%u", &number);
		if (atomic_fetch_add(&hammer->inside[number], 1) != 0)
			atomic_fetch_add(&hammer->doubled, 1);
		if (++failures % 7 == 0) {
			work_queue_add_rate_limited(hammer->queue, key);
		} else {
			atomic_store(&hammer->found[number], atomic_load(&hammer->wanted[number]));
			work_queue_forget(hammer->queue, key);
			if (failures % 5 == 0)
				work_queue_add_at(hammer->queue, key,
					runner_deadline_us(hammer->runner, 50));
		}
		atomic_fetch_sub(&hammer->inside[number], 1);
		work_queue_done(hammer->queue, key);
		runner_signal(hammer->progress);
	}
}

static void hammer_produce(void *context)
{
	struct hammer *hammer = context;
	struct random_seeded random;

	random_seeded_init(&random, atomic_fetch_add(&hammer->producer, 1));
	for (int i = 0; i < HAMMER_ROUNDS; i++) {
		unsigned number = (unsigned)random_below(&random.random, HAMMER_KEYS);
		char key[16];

		hammer_key(number, key);
		atomic_fetch_add(&hammer->wanted[number], 1);
		if (random_below(&random.random, 2))
			work_queue_add(hammer->queue, span_of(key));
		else
			work_queue_add_at(hammer->queue, span_of(key),
				runner_deadline_us(hammer->runner,
					(int64_t)random_below(&random.random, 200)));
		/* Let the workers run dry again and again: that is when wake-ups matter. */
		if (random_below(&random.random, 4) == 0)
			runner_sleep_until(hammer->runner,
				runner_deadline_us(hammer->runner,
					(int64_t)random_below(&random.random, 150)));
	}
}

static bool hammer_is_settled(struct hammer *hammer)
{
	for (size_t i = 0; i < HAMMER_KEYS; i++) {
		if (atomic_load(&hammer->wanted[i]) != atomic_load(&hammer->found[i]))
			return false;
	}
	return true;
}

static void hammer_with(struct runner *root)
{
	struct hammer *hammer = memory_allocate(sizeof(*hammer));
	struct runner *producers = runner_group_new(root, "producers");
	int64_t deadline;
	struct work_queue_statistics statistics;

	hammer->runner = root;
	hammer->queue = work_queue_new(root, &hammer_config);
	hammer->progress = runner_event_new(root, "progress");
	for (int i = 0; i < HAMMER_WORKERS; i++)
		assert_int_equal(runner_spawn(root, "worker", hammer_work, hammer, NULL), 0);
	for (int i = 0; i < HAMMER_PRODUCERS; i++)
		assert_int_equal(runner_spawn(producers, "producer", hammer_produce, hammer, NULL),
			0);
	assert_int_equal(runner_join(producers, NULL), 0);
	deadline = runner_deadline_us(root, INT64_C(60000000));
	for (;;) {
		uint64_t seen = runner_event_count(hammer->progress);

		if (hammer_is_settled(hammer))
			break;
		assert_int_equal(runner_wait(root, hammer->progress, seen, deadline), 0);
	}
	work_queue_shut_down(hammer->queue);
	assert_int_equal(runner_join(root, NULL), 0);
	assert_int_equal(hammer->doubled, 0);
	work_queue_statistics(hammer->queue, &statistics);
	assert_int_equal(statistics.depth, 0);
	assert_int_equal(statistics.processing, 0);
	work_queue_free(hammer->queue);
	runner_event_free(hammer->progress);
	runner_free(producers);
	runner_free(root);
	free(hammer);
}

static void test_hammer_threads(void **state)
{
	(void)state;
	hammer_with(runner_threads_new(clock_system(), random_system()));
}

static void test_hammer_simulated(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 4; seed++)
		hammer_with(runner_simulated_new(seed));
}

/* One key, many idle workers, and rounds of exactly the race that loses wake-ups: a deadline that ends
 * while another key is added. Each round must finish before the next begins. */
static void test_a_deadline_races_with_an_add(void **state)
{
	struct hammer *hammer = memory_allocate(sizeof(*hammer));
	struct runner *root = runner_threads_new(clock_system(), random_system());

	(void)state;
	hammer->runner = root;
	hammer->queue = work_queue_new(root, &hammer_config);
	hammer->progress = runner_event_new(root, "progress");
	for (int i = 0; i < HAMMER_WORKERS; i++)
		assert_int_equal(runner_spawn(root, "worker", hammer_work, hammer, NULL), 0);
	for (unsigned round = 0; round < 2000; round++) {
		int64_t deadline = runner_deadline_us(root, INT64_C(60000000));
		char later[16], now[16];

		hammer_key(0, later);
		hammer_key(1, now);
		atomic_fetch_add(&hammer->wanted[0], 1);
		atomic_fetch_add(&hammer->wanted[1], 1);
		work_queue_add_at(hammer->queue, span_of(later),
			runner_deadline_us(root, round % 64));
		runner_sleep_until(root, runner_deadline_us(root, round % 61));
		work_queue_add(hammer->queue, span_of(now));
		while (!hammer_is_settled(hammer)) {
			uint64_t seen = runner_event_count(hammer->progress);

			if (hammer_is_settled(hammer))
				break;
			assert_int_equal(runner_wait(root, hammer->progress, seen, deadline), 0);
		}
	}
	work_queue_shut_down(hammer->queue);
	assert_int_equal(runner_join(root, NULL), 0);
	assert_int_equal(hammer->doubled, 0);
	work_queue_free(hammer->queue);
	runner_event_free(hammer->progress);
	runner_free(root);
	free(hammer);
}

/* Keys that are ready at once keep as many workers busy: none finishes before all have begun. */
#define MEETING 4

struct meeting {
	struct runner *runner;
	struct work_queue *queue;
	struct runner_event *arrival;
	atomic_uint arrived;
	unsigned wanted; /* changed only while no worker runs */
};

static void meet(void *context)
{
	struct meeting *meeting = context;
	struct span key;

	while (work_queue_get(meeting->queue, &key) == 0) {
		atomic_fetch_add(&meeting->arrived, 1);
		runner_signal(meeting->arrival);
		for (;;) {
			uint64_t seen = runner_event_count(meeting->arrival);

			if (atomic_load(&meeting->arrived) >= meeting->wanted ||
				runner_wait(meeting->runner, meeting->arrival, seen,
					RUNNER_FOREVER) < 0)
				break;
		}
		work_queue_done(meeting->queue, key);
	}
}

static bool all_have_met(struct meeting *meeting)
{
	struct work_queue_statistics statistics;

	work_queue_statistics(meeting->queue, &statistics);
	return atomic_load(&meeting->arrived) == meeting->wanted && statistics.processing == 0;
}

static void meet_on(struct runner *root, unsigned rounds)
{
	struct meeting meeting = {.runner = root, .queue = work_queue_new(root, NULL)};

	meeting.arrival = runner_event_new(root, "arrival");
	for (int i = 0; i < MEETING; i++)
		assert_int_equal(runner_spawn(root, "worker", meet, &meeting, NULL), 0);
	for (unsigned round = 0; round < rounds; round++) {
		int64_t deadline = runner_deadline_us(root, INT64_C(60000000));

		meeting.wanted += MEETING;
		for (int i = 0; i < MEETING; i++) {
			char key = (char)('a' + i);

			work_queue_add(meeting.queue, (struct span){&key, 1});
		}
		while (!all_have_met(&meeting)) {
			assert_true(runner_now_us(root) < deadline);
			runner_sleep_until(root, runner_deadline_us(root, 50));
		}
	}
	work_queue_shut_down(meeting.queue);
	assert_int_equal(runner_join(root, NULL), 0);
	work_queue_free(meeting.queue);
	runner_event_free(meeting.arrival);
	runner_free(root);
}

static void test_ready_keys_keep_workers_busy(void **state)
{
	(void)state;
	meet_on(runner_threads_new(clock_system(), random_system()), 300);
	for (uint64_t seed = 0; seed < 50; seed++)
		meet_on(runner_simulated_new(seed), 20);
}

/* ---- fairness ---- */

#define CROWD 10000

static int set_up_fair(void **state)
{
	const struct work_queue_config config = {.group_by = '/', .group_most = 3};

	(void)state;
	runner = runner_simulated_new(1);
	queue = work_queue_new(runner, &config);
	return 0;
}

static void add_number(const char *group, int number)
{
	char key[64];

	snprintf(key, sizeof(key), "%s/%d", group, number);
	work_queue_add(queue, span_of(key));
}

static void get_and_finish(char ret_key[64])
{
	struct span got;

	assert_int_equal(work_queue_get(queue, &got), 0);
	snprintf(ret_key, 64, "%.*s", SPAN_ARGS(got));
	work_queue_done(queue, got);
}

/* Counted in turns: a late key waits for one turn of each other group, whatever its length. */
static void test_groups_take_turns(void **state)
{
	char key[64];

	(void)state;
	for (int i = 0; i < CROWD; i++)
		add_number("a", i);
	for (int i = 0; i < CROWD / 2; i++)
		add_number("b", i);
	get_and_finish(key);
	assert_string_equal(key, "a/0");
	add_number("c", 0);
	get_and_finish(key);
	assert_string_equal(key, "b/0");
	get_and_finish(key);
	assert_string_equal(key, "a/1");
	get_and_finish(key);
	assert_string_equal(key, "c/0");
	for (int i = 1; i < CROWD / 2; i++) {
		char wanted[64];

		get_and_finish(key);
		snprintf(wanted, sizeof(wanted), "b/%d", i);
		assert_string_equal(key, wanted);
		get_and_finish(key);
		snprintf(wanted, sizeof(wanted), "a/%d", i + 1);
		assert_string_equal(key, wanted);
	}
	assert_int_equal(depth_of(queue), CROWD / 2 - 1);
}

/* A group whose work hangs leaves workers to others, and continues when an item is done. */
static void test_a_group_does_not_take_all_workers(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++)
		add_number("a", i);
	expect_get(queue, "a/0");
	expect_get(queue, "a/1");
	expect_get(queue, "a/2");
	add_number("b", 0);
	expect_get(queue, "b/0");
	work_queue_done(queue, SPAN("a/1"));
	expect_get(queue, "a/3");
	work_queue_done(queue, SPAN("b/0"));
	work_queue_shut_down(queue);
	work_queue_done(queue, SPAN("a/0"));
	expect_get(queue, "a/4");
	for (int i = 2; i < 5; i++) {
		char key[16];

		snprintf(key, sizeof(key), "a/%d", i);
		work_queue_done(queue, span_of(key));
	}
	assert_int_equal(work_queue_get(queue, &(struct span){NULL, 0}), -ESHUTDOWN);
}

/* Failures of one group do not delay retries of another. */
static void test_groups_have_retries_of_their_own(void **state)
{
	int64_t now;

	(void)state;
	for (int i = 0; i < CROWD; i++) {
		char key[64];

		snprintf(key, sizeof(key), "a/%d", i);
		work_queue_add_rate_limited(queue, span_of(key));
	}
	now = runner_now_us(runner);
	work_queue_add_rate_limited(queue, SPAN("b/0"));
	for (int i = 0; i <= WORK_QUEUE_RETRY_BURST; i++) {
		char key[64];

		get_and_finish(key);
		if (strcmp(key, "b/0") == 0) {
			assert_true(runner_now_us(runner) <= now + 2 * WORK_QUEUE_BACKOFF_FIRST_US);
			return;
		}
	}
	fail_msg("b waits behind what a failed at");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define FAIR_TEST(name) cmocka_unit_test_setup_teardown(name, set_up_fair, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_order_and_duplicates),
		TEST(test_added_while_in_work_comes_again),
		TEST(test_deadlines),
		TEST(test_a_deadline_during_work_makes_dirty),
		TEST(test_many_deadlines_come_in_order),
		TEST(test_backoff_doubles_and_is_forgotten),
		TEST(test_all_failures_together_are_held_to_a_rate),
		TEST(test_configured_rates),
		TEST(test_shut_down_drains),
		TEST(test_a_stopped_runner_gives_nothing),
		TEST(test_keys_are_bytes),
		FAIR_TEST(test_groups_take_turns),
		FAIR_TEST(test_a_group_does_not_take_all_workers),
		FAIR_TEST(test_groups_have_retries_of_their_own),
		cmocka_unit_test(test_against_a_model),
		cmocka_unit_test(test_hammer_threads),
		cmocka_unit_test(test_hammer_simulated),
		cmocka_unit_test(test_a_deadline_races_with_an_add),
		cmocka_unit_test(test_ready_keys_keep_workers_busy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
