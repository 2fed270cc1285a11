/* The map against a plain list: same content, insertion order, through many random operations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "base/map.h"
#include "base/random.h"

static void test_put_get_remove(void **state)
{
	_map_ struct map map = {0};
	int one, two;

	(void)state;
	assert_null(map_get(&map, SPAN("a")));
	assert_null(map_remove(&map, SPAN("a")));
	assert_null(map_put(&map, SPAN("a"), &one));
	assert_ptr_equal(map_put(&map, SPAN("a"), &two), &one);
	assert_ptr_equal(map_get(&map, SPAN("a")), &two);
	assert_null(map_put(&map, SPAN(""), &one));
	assert_ptr_equal(map_get(&map, SPAN("")), &one);
	assert_null(map_put(&map, SPAN("null"), NULL));
	assert_true(map_has(&map, SPAN("null")));
	assert_false(map_has(&map, SPAN("nil")));
	assert_int_equal(map.count, 3);
	assert_ptr_equal(map_remove(&map, SPAN("a")), &two);
	assert_false(map_has(&map, SPAN("a")));
	assert_int_equal(map.count, 2);
}

static void test_removing_while_iterating(void **state)
{
	_map_ struct map map = {0};
	size_t seen = 0;

	(void)state;
	for (intptr_t i = 1; i <= 1000; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%d", (int)i);
		map_put(&map, span_of(name), (void *)i);
	}
	MAP_EACH (&map, entry) {
		intptr_t value = (intptr_t)entry->value;

		assert_int_equal(value, ++seen);
		if (value % 3)
			map_remove(&map, entry->key);
	}
	assert_int_equal(seen, 1000);
	assert_int_equal(map.count, 333);
	seen = 0;
	MAP_EACH (&map, entry) {
		assert_int_equal((intptr_t)entry->value, seen += 3);
		assert_ptr_equal(map_get(&map, entry->key), entry->value);
	}
	assert_int_equal(seen, 999);
}

#define KEYS 300

struct model {
	int order[KEYS]; /* keys in insertion order */
	size_t count;
	intptr_t values[KEYS]; /* 0: absent */
};

static void model_remove(struct model *model, int key)
{
	size_t kept = 0;

	for (size_t i = 0; i < model->count; i++) {
		if (model->order[i] != key)
			model->order[kept++] = model->order[i];
	}
	model->count = kept;
	model->values[key] = 0;
}

static void check_equal(const struct map *map, const struct model *model)
{
	size_t at = 0;

	assert_int_equal(map->count, model->count);
	MAP_EACH (map, entry) {
		int key = -1;

		assert_int_equal(sscanf(entry->key.data, "key-%d", &key), 1);
		assert_int_equal(key, model->order[at]);
		assert_int_equal((intptr_t)entry->value, model->values[key]);
		at++;
	}
	assert_int_equal(at, model->count);
}

static void test_against_a_model(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 5; seed++) {
		_map_ struct map map = {0};
		struct model model = {0};
		struct random_seeded random;

		random_seeded_init(&random, seed);
		for (intptr_t step = 1; step <= 20000; step++) {
			int key = (int)random_below(&random.random, seed % 2 ? KEYS : 12);
			char name[16];

			snprintf(name, sizeof(name), "key-%d", key);
			if (random_below(&random.random, 100) < 55) {
				if (model.values[key] == 0)
					model.order[model.count++] = key;
				assert_int_equal((intptr_t)map_put(&map, span_of(name),
							 (void *)step),
					model.values[key]);
				model.values[key] = step;
			} else {
				assert_int_equal((intptr_t)map_remove(&map, span_of(name)),
					model.values[key]);
				model_remove(&model, key);
			}
			if (step % 500 == 0)
				check_equal(&map, &model);
		}
		/* Churn on few keys must not grow the table without end. */
		assert_true(map.slot_count <= 4096);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_put_get_remove),
		cmocka_unit_test(test_removing_while_iterating),
		cmocka_unit_test(test_against_a_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
