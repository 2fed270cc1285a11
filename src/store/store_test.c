/* The promises of store.h, on memory and on SQLite. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/memory.h"
#include "store/store.h"
#include "store/test_kinds.h"
#include "store/test_store.h"

static void test_what_was_put_is_found(void **state)
{
	struct test_store *test = *state;
	struct store *store = test_store_open(test);
	const struct store_object *object;
	uint64_t revision = 0;

	assert_int_equal(
		test_put(store, &thing_kind, "a", "red 5 big", STORE_ABSENT, &revision, NULL), 0);
	assert_int_equal(revision, 1);
	{
		_view_ struct store_view *view = store_view_open(store);

		assert_int_equal(store_view_revision(view), 1);
		object = store_get(view, &thing_kind, SPAN("a"));
		assert_non_null(object);
		assert_true(span_is(object->api, "red 5 big"));
		assert_true(span_is(object->private_, "private"));
		assert_true(span_is(object->key, "a"));
		assert_int_equal(object->revision, 1);
		assert_int_equal(thing_of(object)->weight, 5);
		assert_null(store_get(view, &note_kind, SPAN("a")));
		assert_null(store_get(view, &thing_kind, SPAN("")));
		assert_null(store_get(view, &thing_kind, SPAN("aa")));
	}
	store = test_store_reopen(test);
	if (test->durable) {
		_view_ struct store_view *view = store_view_open(store);

		assert_int_equal(store_view_revision(view), 1);
		object = store_get(view, &thing_kind, SPAN("a"));
		assert_non_null(object);
		assert_true(span_is(object->api, "red 5 big"));
		assert_true(span_is(object->private_, "private"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_ON_ALL(test_what_was_put_is_found),
	};

	return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
