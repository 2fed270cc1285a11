#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/heap.h"
#include "base/memory.h"
#include "base/random.h"

#define ITEMS 100

static int64_t least(const struct heap_item *items, size_t count)
{
	int64_t found = INT64_MAX;

	for (size_t i = 0; i < count; i++)
		if (items[i].position > 0 && items[i].at < found)
			found = items[i].at;
	return found;
}

static void the_first_is_always_the_least(void **state)
{
	struct random_seeded random;
	struct heap_item items[ITEMS] = {0};
	struct heap heap = {0};
	size_t present = 0;

	(void)state;
	random_seeded_init(&random, 1);
	assert_null(heap_first(&heap));
	for (unsigned turn = 0; turn < 20000; turn++) {
		struct heap_item *item = &items[random_below(&random.random, ITEMS)];

		present -= item->position > 0;
		if (random_below(&random.random, 3) == 0) {
			heap_remove(&heap, item);
		} else {
			heap_put(&heap, item, (int64_t)random_below(&random.random, 50));
			present++;
		}
		assert_int_equal(heap.count, present);
		if (present > 0)
			assert_int_equal(heap_first(&heap)->at, least(items, ITEMS));
	}
	while (heap_first(&heap)) {
		int64_t at = heap_first(&heap)->at;

		heap_remove(&heap, heap_first(&heap));
		assert_true(at <= least(items, ITEMS));
	}
	heap_free(&heap);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_is_always_the_least),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
