/* Change logs: positions that are kept, restarts, and readers that outlive the writer. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "delivery/change_log.h"

#define FIRST UINT64_C(1700000000000000)

/* A change is a number. */
static void *copy_number(const void *change, struct arena *arena)
{
	size_t *copy = arena_allocate(arena, sizeof(*copy));

	*copy = *(const size_t *)change;
	return copy;
}

static const struct change_log_type numbers = {.copy = copy_number, .free = free};

static void add(struct change_log *log, size_t number)
{
	size_t *change = memory_allocate(sizeof(*change));

	*change = number;
	change_log_add(log, change);
}

static void count_wake(void *context)
{
	++*(unsigned *)context;
}

/* The next number; -1: there is none. */
static int64_t next(struct change_log_reader *reader)
{
	_arena_ struct arena *arena = arena_new(0);
	void *change;

	if (change_log_reader_next(reader, arena, &change) < 1)
		return -1;
	return (int64_t) * (const size_t *)change;
}

static void test_readers_share_the_ownership(void **state)
{
	struct change_log *log = change_log_new(&numbers, FIRST);
	unsigned woken = 0;
	struct change_log_reader *reader = change_log_reader_open(log, NULL, count_wake, &woken);

	(void)state;
	add(log, 7);
	add(log, 8);
	change_log_set_observed(log, 42);
	assert_int_equal(woken, 2);
	assert_int_equal(next(reader), 7);
	assert_int_equal(change_log_reader_position(reader), FIRST + 1);
	change_log_leave(log);
	assert_int_equal(next(reader), 8);
	assert_int_equal(next(reader), -1);
	assert_int_equal(change_log_reader_observed_ms(reader), 42);
	change_log_reader_close(reader);
}

static void test_positions(void **state)
{
	static const struct {
		int64_t behind_first;
		bool is_kept;
	} rows[] = {{-1, false}, {0, false}, {4, false}, {5, true}, {6, true},
		{CHANGE_LOG_MAX + 5, true}, {CHANGE_LOG_MAX + 6, false}};
	_arena_ struct arena *arena = arena_new(0);
	struct change_log *log = change_log_new(&numbers, FIRST);
	unsigned woken = 0;
	struct change_log_reader *slow = change_log_reader_open(log, NULL, count_wake, &woken),
				 *reader;
	uint64_t position = 0;
	void *change;

	(void)state;
	for (size_t i = 0; i < CHANGE_LOG_MAX + 5; i++)
		add(log, i);
	for (size_t i = 0; i < LENGTH(rows); i++) {
		position = FIRST + (uint64_t)rows[i].behind_first;
		reader = change_log_reader_open(log, &position, count_wake, &woken);
		assert_int_equal(reader != NULL, rows[i].is_kept);
		if (reader && rows[i].behind_first < CHANGE_LOG_MAX + 5)
			assert_int_equal(next(reader), rows[i].behind_first);
		change_log_reader_close(reader);
	}
	assert_int_equal(change_log_reader_next(slow, arena, &change), -EOVERFLOW);
	change_log_reader_close(slow);
	/* After a restart no earlier position can be resumed, whatever the clock says. */
	for (size_t i = 0; i < 2; i++) {
		reader = change_log_reader_open(log, NULL, count_wake, &woken);
		position = change_log_reader_position(reader);
		change_log_restart(log, i == 0 ? position + 1000 : FIRST);
		assert_int_equal(change_log_reader_next(reader, arena, &change), -EOVERFLOW);
		assert_null(change_log_reader_open(log, &position, count_wake, &woken));
		change_log_reader_close(reader);
		add(log, 1);
	}
	change_log_leave(log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_readers_share_the_ownership),
		cmocka_unit_test(test_positions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
