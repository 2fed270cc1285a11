/* The tree against a sorted array: random operations, counts, sums, walks, snapshots. Leaked or lost
 * references show under the address sanitizer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/random.h"
#include "store/object.h"
#include "store/tree.h"

/* An object whose API text is the text under which the tree has it. */
static void write_text(const struct store_object *object, struct store_index_writer *writer)
{
	store_index_add(writer, object->api);
}

static void measure(const struct store_object *object, int64_t measures[STORE_MEASURES])
{
	measures[0] = (int64_t)object->revision;
	measures[1] = -1;
	measures[3] = INT64_MAX; /* wraps around */
}

static const struct store_index indexes[] = {{"text", write_text, measure}};
static const struct store_kind kind = {.name = "test", .indexes = indexes, .index_count = 1};
static const struct tree_type owning_type = {.holds_objects = true};
static const struct tree_type measured_type = {.holds_objects = true, .measure = measure};

#define MODEL_MAX 4096

/* A sorted array of referenced objects that does what the tree should do. */
struct model {
	const struct store_object *objects[MODEL_MAX];
	size_t count;
};

struct world {
	struct random_seeded random;
	struct object_maker *maker;
	struct tree tree;
	struct model model;
	uint64_t revision;
};

static struct tree_entry entry_of(const struct store_object *object)
{
	struct object_walk walk;

	object_walk_begin(&walk, object);
	object_walk_index(&walk);
	return (struct tree_entry){object_walk_next(&walk), object};
}

static int compare(const struct store_object *object, struct span text, struct span key)
{
	int order = span_compare(object->api, text);

	return order ? order : span_compare(object->key, key);
}

static size_t model_find(const struct model *model, struct span text, struct span key)
{
	size_t at = 0;

	while (at < model->count && compare(model->objects[at], text, key) < 0)
		at++;
	return at;
}

static void model_clear(struct model *model)
{
	for (size_t i = 0; i < model->count; i++)
		store_object_unref(model->objects[i]);
	model->count = 0;
}

static struct model *model_copy(const struct model *model)
{
	for (size_t i = 0; i < model->count; i++)
		store_object_ref(model->objects[i]);
	return memory_copy(model, sizeof(*model));
}

static void world_init(struct world *world, uint64_t seed, const struct tree_type *type)
{
	*world = (struct world){.maker = object_maker_new(), .tree = {.type = type}};
	random_seeded_init(&world->random, seed);
}

static void world_clear(struct world *world)
{
	tree_release(&world->tree);
	model_clear(&world->model);
	object_maker_free(world->maker);
}

static uint64_t below(struct world *world, uint64_t limit)
{
	return random_below(&world->random.random, limit);
}

static void world_put(struct world *world, const char *text, const char *key)
{
	struct model *model = &world->model;
	size_t at = model_find(model, span_of(text), span_of(key));
	const struct store_object *object = NULL;

	assert_int_equal(object_new(world->maker, &kind, span_of(key), ++world->revision,
				 span_of(text), SPAN(""), &object, NULL),
		0);
	tree_put(&world->tree, entry_of(object));
	if (at < model->count && compare(model->objects[at], span_of(text), span_of(key)) == 0) {
		store_object_unref(model->objects[at]);
		model->objects[at] = object;
		return;
	}
	assert_true(model->count < MODEL_MAX);
	memmove(&model->objects[at + 1], &model->objects[at],
		(model->count - at) * sizeof(model->objects[0]));
	model->objects[at] = object;
	model->count++;
}

static void world_remove_at(struct world *world, size_t at)
{
	struct model *model = &world->model;
	const struct store_object *object = model->objects[at];

	tree_remove(&world->tree, entry_of(object));
	model->count--;
	memmove(&model->objects[at], &model->objects[at + 1],
		(model->count - at) * sizeof(model->objects[0]));
	store_object_unref(object);
}

/* ---- comparing ---- */

static bool is_before(const struct store_object *object, const struct tree_bound *bound)
{
	int order = span_compare(object->api, bound->text);
	int key_order = bound->key.data ? span_compare(object->key, bound->key) : 0;

	switch (bound->edge) {
	case TREE_BEFORE_TEXT: return order < 0;
	case TREE_AFTER_TEXT: return order <= 0;
	case TREE_AFTER_PREFIX: return order <= 0 || span_starts_with(object->api, bound->text);
	case TREE_BEFORE_KEY: return order < 0 || (order == 0 && key_order < 0);
	case TREE_AFTER_KEY: return order < 0 || (order == 0 && key_order <= 0);
	}
	return false;
}

static void check_bound(const struct tree *tree, const struct model *model,
	const struct tree_bound *bound)
{
	const void *nodes[TREE_DEPTH_MAX];
	uint16_t slots[TREE_DEPTH_MAX];
	uint8_t depth;
	struct tree_path path = {nodes, slots, &depth};
	const struct tree_entry *entry;
	int64_t sums[STORE_MEASURES], expected[STORE_MEASURES] = {0};
	size_t rank = 0;

	while (rank < model->count && is_before(model->objects[rank], bound)) {
		int64_t measures[STORE_MEASURES] = {0};

		measure(model->objects[rank++], measures);
		for (size_t i = 0; i < STORE_MEASURES && tree->type->measure; i++)
			expected[i] = (int64_t)((uint64_t)expected[i] + (uint64_t)measures[i]);
	}
	assert_int_equal(tree_rank(tree, bound, sums), rank);
	assert_memory_equal(sums, expected, sizeof(sums));

	entry = tree_seek_after(tree, bound, path);
	for (size_t i = rank; i < model->count; i++, entry = tree_next(path))
		assert_ptr_equal(entry ? entry->object : NULL, model->objects[i]);
	assert_null(entry);
	entry = tree_seek_before(tree, bound, path);
	for (size_t i = rank; i > 0; i--, entry = tree_previous(path))
		assert_ptr_equal(entry ? entry->object : NULL, model->objects[i - 1]);
	assert_null(entry);
}

static void random_text(struct world *world, char text[8])
{
	size_t length = below(world, 4);

	for (size_t i = 0; i < length; i++)
		text[i] = "ab\xff"[below(world, 3)];
	text[length] = '\0';
}

static void check_all(struct world *world, const struct tree *tree, const struct model *model)
{
	const enum tree_edge edges[] = {TREE_BEFORE_TEXT, TREE_AFTER_TEXT, TREE_AFTER_PREFIX,
		TREE_BEFORE_KEY, TREE_AFTER_KEY};
	char text[8], key[8];

	assert_true(tree_is_sound(tree));
	assert_int_equal(tree_count(tree), model->count);
	random_text(world, text);
	random_text(world, key);
	for (size_t i = 0; i < LENGTH(edges); i++) {
		struct tree_bound bound = {edges[i], span_of(text), span_of(key)};
		const struct tree_entry *found = tree_find(tree, span_of(text));
		size_t at = model_find(model, span_of(text), SPAN(""));

		check_bound(tree, model, &bound);
		if (at < model->count && span_is(model->objects[at]->api, text))
			assert_ptr_equal(found ? found->object : NULL, model->objects[at]);
		else
			assert_null(found);
	}
}

/* ---- tests ---- */

/* Grows, keeps its size for a while, shrinks to nothing; now and then a snapshot is taken and the
 * older one must be as it was. */
static void run_random(uint64_t seed, const struct tree_type *type)
{
	struct world *world = memory_allocate(sizeof(*world));
	struct tree snapshot;
	struct model *then;
	enum { ROUNDS = 6000 };

	world_init(world, seed, type);
	snapshot = tree_share(&world->tree);
	then = model_copy(&world->model);
	for (size_t round = 0; round < ROUNDS || world->model.count > 0; round++) {
		uint64_t puts_of_ten = round < ROUNDS / 3 ? 8 : round < 2 * ROUNDS / 3 ? 5 : 1;

		if (below(world, 10) < puts_of_ten && round < ROUNDS) {
			char text[8], key[24];

			random_text(world, text);
			snprintf(key, sizeof(key), "%u", (unsigned)below(world, 300));
			world_put(world, text, key);
		} else if (world->model.count > 0) {
			world_remove_at(world, below(world, world->model.count));
		}
		if (below(world, 300) == 0) {
			check_all(world, &world->tree, &world->model);
			check_all(world, &snapshot, then);
		}
		if (below(world, 200) == 0) {
			tree_release(&snapshot);
			model_clear(then);
			free(then);
			snapshot = tree_share(&world->tree);
			then = model_copy(&world->model);
		}
	}
	assert_null(world->tree.root);
	check_all(world, &world->tree, &world->model);
	check_all(world, &snapshot, then);
	tree_release(&snapshot);
	model_clear(then);
	free(then);
	world_clear(world);
	free(world);
}

static void test_random_operations(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 6; seed++)
		run_random(seed, seed % 2 ? &owning_type : &measured_type);
}

/* Ascending, descending and from both ends: the shapes of real keys. */
static void test_ordered_operations(void **state)
{
	struct world *world = memory_allocate(sizeof(*world));
	enum { COUNT = 3000 };
	char key[24];

	(void)state;
	for (int order = 0; order < 4; order++) {
		world_init(world, 1, &measured_type);
		for (unsigned i = 0; i < COUNT; i++) {
			snprintf(key, sizeof(key), "%05u",
				order == 0   ? i
				: order == 1 ? COUNT - i
				: order == 2 ? (i % 2 ? COUNT + i : COUNT - i)
					     : (i * 7919) % COUNT);
			world_put(world, order == 3 ? "" : key, key);
		}
		check_all(world, &world->tree, &world->model);
		for (unsigned i = 0; world->model.count > 0; i++) {
			world_remove_at(world, order == 0   ? 0
					       : order == 1 ? world->model.count - 1
							    : world->model.count / 2);
			if (i % 500 == 0)
				check_all(world, &world->tree, &world->model);
		}
		assert_null(world->tree.root);
		world_clear(world);
	}
	free(world);
}

/* An edit that is rolled back: the saved root is complete, whatever changed in the other. */
static void test_snapshot_outlives_the_tree(void **state)
{
	struct world *world = memory_allocate(sizeof(*world));
	struct tree snapshot;
	struct model *then;
	char key[24];

	(void)state;
	world_init(world, 7, &measured_type);
	for (unsigned i = 0; i < 1000; i++) {
		snprintf(key, sizeof(key), "%u", i);
		world_put(world, "x", key);
	}
	snapshot = tree_share(&world->tree);
	then = model_copy(&world->model);
	for (unsigned i = 0; i < 1000; i += 3) {
		snprintf(key, sizeof(key), "%u", i);
		world_put(world, "x", key);
	}
	while (world->model.count > 0)
		world_remove_at(world, below(world, world->model.count));
	world_clear(world);
	check_all(world, &snapshot, then);
	tree_release(&snapshot);
	model_clear(then);
	free(then);
	free(world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_operations),
		cmocka_unit_test(test_ordered_operations),
		cmocka_unit_test(test_snapshot_outlives_the_tree),
	};

	return cmocka_run_group_tests_name("tree", tests, NULL, NULL);
}
