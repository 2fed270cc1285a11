/* The change log of a remote cluster: its changes rebuild the replica, also for readers that are cut off and resume. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/map.h"
#include "base/memory.h"
#include "base/random.h"
#include "delivery/observe/replica_change.h"

#define FIRST UINT64_C(1700000000000000)
#define NAMES 8
#define STEPS 2000
#define SEEDS 20

static void count_wake(void *context)
{
	++*(unsigned *)context;
}

static struct observe_task task_of(struct span arn, uint64_t version)
{
	return (struct observe_task){.arn = arn,
		.instance = SPAN("i"),
		.group = SPAN("env:log"),
		.started_by = SPAN(""),
		.task_definition = SPAN("log:1"),
		.stop_code = SPAN(""),
		.stopped_reason = SPAN("because"),
		.version = version};
}

static void add(struct change_log *log, struct span arn, uint64_t version)
{
	struct observe_task task = task_of(arn, version);

	change_log_add(log, replica_change_keep(&(struct replica_change){.task_after = &task}));
}

static void test_texts_are_copies(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct change_log *log = change_log_new(&replica_change_log_type, FIRST);
	unsigned woken = 0;
	struct change_log_reader *reader = change_log_reader_open(log, NULL, count_wake, &woken);
	struct observe_instance instance = {.id = SPAN("i"),
		.arn = SPAN("arn:i"),
		.host = SPAN(""),
		.attributes = SPAN(";gpu;"),
		.connected = true};
	const struct replica_change *change;
	void *next;
	char name[] = "task/a";

	(void)state;
	add(log, span_of(name), 7);
	name[5] = 'b';
	change_log_add(log,
		replica_change_keep(&(struct replica_change){.instance_before = &instance}));
	assert_int_equal(woken, 2);
	assert_int_equal(change_log_reader_next(reader, arena, &next), 1);
	change = next;
	assert_true(span_is(change->task_after->arn, "task/a"));
	assert_true(span_is(change->task_after->stopped_reason, "because"));
	assert_int_equal(change->task_after->version, 7);
	assert_null(change->task_before);
	assert_int_equal(change_log_reader_position(reader), FIRST + 1);
	assert_int_equal(change_log_reader_next(reader, arena, &next), 1);
	change = next;
	assert_null(change->task_after);
	assert_null(change->instance_after);
	assert_true(span_is(change->instance_before->attributes, ";gpu;"));
	assert_true(change->instance_before->connected);
	assert_int_equal(change_log_reader_next(reader, arena, &next), 0);
	/* Readers share its ownership. */
	change_log_leave(log);
	assert_int_equal(change_log_reader_next(reader, arena, &next), 0);
	change_log_reader_close(reader);
}

/* ---- a replica that is rebuilt from the changes ---- */

struct mirror {
	struct change_log *log;
	struct arena *arena;
	struct map versions; /* of tasks, as a pointer */
};

static void add_change(void *context, const struct replica_change *change)
{
	struct mirror *mirror = context;

	change_log_add(mirror->log, replica_change_keep(change));
}

static void follow(struct mirror *mirror, struct change_log_reader *reader)
{
	void *next;
	int code;

	while ((code = change_log_reader_next(reader, mirror->arena, &next)) > 0) {
		const struct replica_change *change = next;
		const struct observe_task *before = change->task_before,
					  *after = change->task_after;
		const struct observe_task *task = after ? after : before;
		void *known;

		if (!task)
			continue;
		known = map_get(&mirror->versions, task->arn);
		/* `before` is what was reported last. */
		assert_int_equal(known != NULL, before != NULL);
		if (before)
			assert_int_equal((uintptr_t)known, before->version);
		if (after)
			map_put(&mirror->versions, task->arn, (void *)(uintptr_t)after->version);
		else
			map_remove(&mirror->versions, task->arn);
	}
	assert_int_equal(code, 0);
}

static void change_something(struct replica *replica, struct random *random, struct moment now,
	bool *lists)
{
	char name[2] = {(char)('a' + random_below(random, NAMES)), '\0'};
	struct observe_task task = task_of(span_of(name), 1 + random_below(random, 50));

	if (random_below(random, 4) == 0) {
		task.last = OBSERVE_TASK_STOPPED;
		task.stopped_ms = now.wall_ms;
	}
	switch (random_below(random, 6)) {
	case 0: replica_remove_task(replica, span_of(name), task.version, now, NULL, NULL); break;
	case 1:
		if (*lists)
			replica_list_end(replica, REPLICA_FOREVER, now, NULL, NULL);
		else
			replica_list_begin(replica);
		*lists = !*lists;
		break;
	case 2:
		if (*lists)
			replica_list_task(replica, &task, now);
		break;
	case 3: replica_expire(replica, now); break;
	default: replica_put_task(replica, &task, now);
	}
}

static void compare(const struct mirror *mirror, const struct replica *replica)
{
	const struct observe_task *task;
	size_t position = 0, count = 0;

	while ((task = replica_next_task(replica, &position))) {
		assert_int_equal((uintptr_t)map_get(&mirror->versions, task->arn), task->version);
		count++;
	}
	assert_int_equal(mirror->versions.count, count);
}

static void test_changes_rebuild_the_replica(void **state)
{
	static const struct replica_limits limits = {
		.stopped_max = 3, .stopped_ms = 400, .tombstones_max = 4, .tombstones_ms = 900};

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		_replica_ struct replica *replica = replica_new(&limits);
		struct mirror mirror = {.log = change_log_new(&replica_change_log_type, FIRST),
			.arena = arena_new(0)};
		struct random_seeded seeded;
		unsigned woken = 0;
		struct change_log_reader *reader =
			change_log_reader_open(mirror.log, NULL, count_wake, &woken);
		bool lists = false;

		random_seeded_init(&seeded, seed);
		replica_listen(replica, add_change, &mirror);
		for (int64_t step = 0; step < STEPS; step++) {
			change_something(replica, &seeded.random,
				(struct moment){step * 10, step * 10}, &lists);
			if (random_below(&seeded.random, 5) > 0)
				continue;
			follow(&mirror, reader);
			compare(&mirror, replica);
			/* It is cut off, and resumes from its position. */
			if (random_below(&seeded.random, 5) == 0) {
				uint64_t position = change_log_reader_position(reader);

				change_log_reader_close(reader);
				reader = change_log_reader_open(mirror.log, &position, count_wake,
					&woken);
				assert_non_null(reader);
			}
		}
		assert_true(woken > STEPS / 10);
		change_log_reader_close(reader);
		change_log_leave(mirror.log);
		map_clear(&mirror.versions);
		arena_free(mirror.arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts_are_copies),
		cmocka_unit_test(test_changes_rebuild_the_replica),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
