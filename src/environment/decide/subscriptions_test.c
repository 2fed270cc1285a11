/* Subscriptions to instances, recorded moments, and texts of failures: the small parts of decisions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/memory.h"
#include "environment/decide/failure_text.h"
#include "environment/decide/subscriptions.h"

#define INSTANCE SPAN(":1/r/default/i1")
#define ENVIRONMENTS 100

/* Whether each of the environments subscribes to the instance as expected, and none twice. */
static void assert_subscribers(struct subscriptions *subscriptions, const struct span *keys,
	const bool *expected)
{
	_arena_ struct arena *arena = arena_new(0);
	struct span *found;
	size_t count = subscriptions_list(subscriptions, INSTANCE, arena, &found), all = 0;

	for (size_t i = 0; i < ENVIRONMENTS; i++) {
		size_t times = 0;

		for (size_t k = 0; k < count; k++)
			times += span_equal(found[k], keys[i]);
		assert_int_equal(times, expected[i] ? 1 : 0);
		all += times;
	}
	assert_int_equal(count, all);
}

static void test_subscribers_of_an_instance(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct subscriptions *subscriptions = subscriptions_new();
	struct span keys[ENVIRONMENTS] = {{NULL, 0}}, *found;
	bool expected[ENVIRONMENTS] = {false};

	(void)state;
	assert_subscribers(subscriptions, keys, expected);
	for (size_t i = 0; i < ENVIRONMENTS; i++) {
		keys[i] = arena_format(arena, "1/env%zu", i);
		subscriptions_add(subscriptions, INSTANCE, keys[i]);
		expected[i] = true;
	}
	assert_subscribers(subscriptions, keys, expected);
	assert_int_equal(subscriptions_list(subscriptions, SPAN(":1/r/default/i2"), arena, &found),
		0);
	for (size_t i = 0; i < ENVIRONMENTS; i += 3) {
		subscriptions_remove(subscriptions, INSTANCE, keys[i]);
		expected[i] = false;
	}
	assert_subscribers(subscriptions, keys, expected);
	/* One that does not subscribe, and an instance without subscribers, change nothing. */
	subscriptions_remove(subscriptions, INSTANCE, keys[0]);
	subscriptions_remove(subscriptions, SPAN(":1/r/default/i2"), keys[1]);
	assert_subscribers(subscriptions, keys, expected);
	for (size_t i = 0; i < ENVIRONMENTS; i++) {
		if (expected[i])
			subscriptions_remove(subscriptions, INSTANCE, keys[i]);
		expected[i] = false;
	}
	assert_subscribers(subscriptions, keys, expected);
	subscriptions_add(subscriptions, INSTANCE, keys[7]);
	expected[7] = true;
	assert_subscribers(subscriptions, keys, expected);
	subscriptions_free(subscriptions);
	subscriptions_free(NULL);
}

/* Wall time is set and differs between servers: a moment is converted once, and is never further ahead than allowed. */
static void test_a_recorded_moment_is_converted_once(void **state)
{
	struct recorded_moment moment = {0};
	struct reconcile_input input = {.now_ms = 1700000000000, .steady_ms = 5000};

	(void)state;
	assert_int_equal(recorded_moment(&moment, &input, 1700000002000, 60000), 7000);
	input.now_ms += 3600000; /* the clock was set */
	input.steady_ms += 500;
	assert_int_equal(recorded_moment(&moment, &input, 1700000002000, 60000), 7000);
	assert_int_equal(recorded_moment(&moment, &input, input.now_ms - 1000, 60000), 4500);
	assert_int_equal(recorded_moment(&moment, &input, input.now_ms + 3600000, 60000), 65500);
}

static void test_texts_of_ended_tasks(void **state)
{
	static const struct {
		struct observe_task task;
		const char *named, *unnamed;
	} rows[] = {
		{{.stopped_reason = SPAN("Essential container in task exited"),
			 .has_exited = true,
			 .exit_code = 3},
			"task 7 stopped: Essential container in task exited (exit code 3)",
			"Essential container in task exited (exit code 3)"},
		{{.stop_code = SPAN("TaskFailedToStart")}, "task 7 stopped: TaskFailedToStart",
			"TaskFailedToStart"},
		{{.has_exited = true}, "task 7 stopped (exit code 0)", "tasks stop (exit code 0)"},
		{{.health = OBSERVE_UNHEALTHY, .stopped_reason = SPAN("Environment web")},
			"the health check of task 7 failed", "the health check failed"},
		{{.health = OBSERVE_UNHEALTHY,
			 .stop_code = SPAN("EssentialContainerExited"),
			 .stopped_reason = SPAN("exited"),
			 .has_exited = true,
			 .exit_code = 1},
			"task 7 stopped: exited (exit code 1)", "exited (exit code 1)"},
	};
	_arena_ struct arena *arena = arena_new(0);

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct observe_task task = rows[i].task;

		task.arn = SPAN("arn:aws:ecs:r:1:task/default/7");
		assert_string_equal(failure_text_of_end(arena, &task, true).data, rows[i].named);
		assert_true(span_is(failure_text_of_end(arena, &task, false), rows[i].unnamed));
	}
}

static void test_a_reason_fits_into_a_record(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	char text[5000];
	struct span reason;

	(void)state;
	memset(text, 'x', sizeof(text));
	reason = failure_reason(arena, "UNABLE_TO_PLACE", (struct span){text, sizeof(text)});
	assert_true(span_starts_with(reason, SPAN("UNABLE_TO_PLACE: xxx")));
	assert_true(reason.length < 400);
	assert_true(span_is(failure_reason(arena, "", SPAN("alone")), "alone"));
	reason = failure_reason(arena, "TASKS_FAIL", SPAN("two\nlines\tand \x01"));
	assert_true(span_starts_with(reason, SPAN("TASKS_FAIL: two")));
	for (size_t i = 0; i < reason.length; i++)
		assert_true((unsigned char)reason.data[i] >= ' ');
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_subscribers_of_an_instance),
		cmocka_unit_test(test_a_recorded_moment_is_converted_once),
		cmocka_unit_test(test_texts_of_ended_tasks),
		cmocka_unit_test(test_a_reason_fits_into_a_record),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
