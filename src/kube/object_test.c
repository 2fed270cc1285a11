/* Cached objects, times and quantities, JSON cut into pieces, the cache and its indexes. */
#include "kube/object.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/random.h"
#include "kube/cache.h"
#include "kube/pieces.h"

static struct json *parse(struct arena *arena, const char *text)
{
	struct json *value = NULL;

	assert_int_equal(json_parse(span_of(text), arena, &value, NULL), 0);
	return value;
}

/* ---- times and quantities ---- */

static const struct {
	const char *text;
	int64_t milliseconds;
} times[] = {
	{"1970-01-01T00:00:00Z", 0},
	{"2023-11-14T22:13:20Z", 1700000000000},
	{"2023-11-14T22:13:20.5Z", 1700000000500},
	{"2023-11-14T22:13:20.123456789Z", 1700000000123},
	{"2023-11-15T00:13:20+02:00", 1700000000000},
	{"2023-11-14T17:43:20.001-04:30", 1700000000001},
	{"2024-02-29T12:00:00Z", 1709208000000},
	{"2023-11-14", 0},
	{"2023-11-14T22:13:20", 0},
	{"2023-11-14T22:13:20.Z", 0},
	{"2023-13-14T22:13:20Z", 0},
	{"2023-00-14T22:13:20Z", 0},
	{"2023-11-32T22:13:20Z", 0},
	{"2023-11-14T24:13:20Z", 0},
	{"2023-11-14T22:13:20Zx", 0},
	{"2023-11-14T22:13:20+2:00", 0},
	{"yesterday", 0},
	{"", 0},
};

static void test_times(void **state)
{
	_arena_ struct arena *arena = arena_new(0);

	(void)state;
	for (size_t i = 0; i < LENGTH(times); i++) {
		int64_t got = kube_time_ms(json_new_string(arena, span_of(times[i].text)));

		if (got != times[i].milliseconds)
			fail_msg("%s: %lld", times[i].text, (long long)got);
	}
	assert_int_equal(kube_time_ms(NULL), 0);
	assert_int_equal(kube_time_ms(json_new_integer(arena, 5)), 0);
}

static const struct {
	const char *json;
	bool good;
	int64_t milli;
} quantities[] = {
	{"\"250m\"", true, 250},
	{"\"1\"", true, 1000},
	{"2", true, 2000},
	{"0.5", true, 500},
	{"\"1.5\"", true, 1500},
	{"\".5\"", true, 500},
	{"\"5.\"", true, 5000},
	{"\"0.1m\"", true, 1}, /* rounded up, as Kubernetes does */
	{"\"1500u\"", true, 2},
	{"\"1n\"", true, 1},
	{"\"1Ki\"", true, 1024000},
	{"\"128Mi\"", true, INT64_C(134217728000)},
	{"\"1.5Gi\"", true, INT64_C(1610612736000)},
	{"\"1k\"", true, 1000000},
	{"\"2e3\"", true, 2000000},
	{"\"2E-1\"", true, 200},
	{"\"-1\"", true, -1000},
	{"\"+1\"", true, 1000},
	{"\"0\"", true, 0},
	{"\"7Pi\"", true, INT64_C(7881299347898368000)},
	{"\"9Pi\"", false, 0},
	{"\"9223372036854775808\"", false, 0},
	{"\"99999999999999999999999999999999999999999999\"", false, 0},
	{"\"1e18\"", false, 0},
	{"\"1e99\"", false, 0},
	{"\"\"", false, 0},
	{"\"m\"", false, 0},
	{"\"-\"", false, 0},
	{"\".\"", false, 0},
	{"\"1.2.3\"", false, 0},
	{"\"1 Gi\"", false, 0},
	{"\"1gi\"", false, 0},
	{"\"1K\"", false, 0},
	{"\"e3\"", false, 0},
	{"\"1e\"", false, 0},
	{"\"0x10\"", false, 0},
	{"null", false, 0},
	{"[]", false, 0},
};

static void test_quantities(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(quantities); i++) {
		_arena_ struct arena *arena = arena_new(0);
		int64_t milli = -77;
		bool good = kube_quantity_milli(parse(arena, quantities[i].json), &milli);

		if (good != quantities[i].good || (good && milli != quantities[i].milli))
			fail_msg("%s: %d %lld", quantities[i].json, good, (long long)milli);
	}
}

/* ---- keeping ---- */

struct kept {
	struct span node;
	struct span labels;
	struct span *names;
	size_t name_count;
	int64_t number;
};

static int reduce(void *context, const struct json *object, struct kube_keep *keep,
	const void **ret_data, struct err *err)
{
	struct kept *kept = kube_keep_memory(keep, sizeof(*kept));
	const struct json *names = json_get(object, "names");

	if (context)
		(*(int *)context)++;
	if (json_get(object, "ignore"))
		return KUBE_REDUCE_IGNORE;
	if (json_get(object, "refuse"))
		return err_set(err, -EINVAL, "refused");
	kept->node = kube_keep_text(keep, json_get_text(object, "node"));
	kept->labels = kube_keep_json(keep, json_get(object, "labels"));
	kept->names = kube_keep_array(keep, json_count(names), sizeof(struct span));
	JSON_EACH_ITEM (names, name)
		kept->names[kept->name_count++] = kube_keep_text(keep, json_text(name));
	kept->number = json_get_integer(object, "number", 0);
	*ret_data = kept;
	return 0;
}

static void test_keeping(void **state)
{
	_kube_object_ const struct kube_object *object = NULL;
	const struct kept *kept;
	int calls = 0;

	(void)state;
	{
		/* The cached object no longer needs the JSON. */
		_arena_ struct arena *arena = arena_new(0);

		assert_int_equal(kube_object_make(parse(arena,
							  "{\"metadata\":{\"namespace\":\"a\","
							  "\"name\":\"b\",\"uid\":\"u\","
							  "\"resourceVersion\":\"5\"},\"node\":"
							  "\"n\",\"labels\":{\"x\":[1]},"
							  "\"names\":[\"one\",\"\",\"three\"],"
							  "\"number\":-7}"),
					 reduce, &calls, &object, NULL),
			0);
	}
	kept = object->data;
	assert_int_equal(calls, 2);
	assert_string_equal(object->key.data, "a/b");
	assert_true(span_is(object->namespace, "a"));
	assert_true(span_is(object->name, "b"));
	assert_true(span_is(object->uid, "u"));
	assert_true(span_is(object->resource_version, "5"));
	assert_string_equal(kept->node.data, "n");
	assert_string_equal(kept->labels.data, "{\"x\":[1]}");
	assert_int_equal(kept->name_count, 3);
	assert_string_equal(kept->names[0].data, "one");
	assert_string_equal(kept->names[1].data, "");
	assert_string_equal(kept->names[2].data, "three");
	assert_int_equal(kept->number, -7);
	assert_true(kube_object_size(object) < 512);
	/* A second reference lives on its own. */
	kube_object_release(kube_object_reference(object));
	assert_string_equal(kept->node.data, "n");
}

static void test_not_kept(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	_buffer_ struct buffer large = {0};
	static const struct {
		const char *text;
		int code;
	} rows[] = {
		{"{}", -EINVAL},
		{"[]", -EINVAL},
		{"{\"metadata\":{\"name\":\"b\"}}", -EINVAL},
		{"{\"metadata\":{\"uid\":\"u\"}}", -EINVAL},
		{"{\"metadata\":{\"name\":\"b\",\"uid\":\"u\"},\"refuse\":1}", -EINVAL},
		{"{\"metadata\":{\"name\":\"b\",\"uid\":\"u\"},\"ignore\":1}", KUBE_REDUCE_IGNORE},
	};
	const struct kube_object *object = NULL;

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++)
		assert_int_equal(kube_object_make(parse(arena, rows[i].text), reduce, NULL, &object,
					 NULL),
			rows[i].code);
	buffer_add_string(&large, "{\"metadata\":{\"name\":\"b\",\"uid\":\"u\"},\"node\":\"");
	for (size_t i = 0; i < KUBE_OBJECT_KEPT_MAX; i++)
		buffer_add_char(&large, 'x');
	buffer_add_string(&large, "\"}");
	assert_int_equal(kube_object_make(parse(arena, large.data), reduce, NULL, &object, NULL),
		-E2BIG);
	assert_null(object);
	/* A cluster-wide object without reduce. */
	assert_int_equal(kube_object_make(parse(arena,
						  "{\"metadata\":{\"name\":\"b\",\"uid\":\"u\"}}"),
				 NULL, NULL, &object, NULL),
		0);
	assert_string_equal(object->key.data, "b");
	assert_int_equal(object->namespace.length, 0);
	assert_null(object->data);
	kube_object_release(object);
}

/* ---- pieces ---- */

struct collected {
	struct buffer text;
	int stop_at;
	int count;
};

static int collect(void *context, struct span piece, struct err *err)
{
	struct collected *collected = context;

	buffer_add_span(&collected->text, piece);
	buffer_add_char(&collected->text, '\n');
	if (++collected->count == collected->stop_at)
		return err_set(err, -EBUSY, "enough");
	return 0;
}

/* All of it in chunks of this size. */
static int feed(const char *text, size_t chunk, bool list, size_t piece_max, struct buffer *out,
	struct json **ret_frame, struct arena *arena)
{
	struct collected collected = {0};
	struct kube_pieces pieces = {
		.list = list, .piece_max = piece_max, .take = collect, .context = &collected};
	struct span rest = span_of(text);
	int code = 0;

	while (code == 0 && rest.length > 0) {
		size_t length = rest.length < chunk ? rest.length : chunk;
		/* A copy, so that reading beyond it is found. */
		_free_ char *copy = memory_copy(rest.data, length);

		code = kube_pieces_feed(&pieces, (struct span){copy, length}, NULL);
		rest.data += length;
		rest.length -= length;
	}
	if (code == 0)
		code = kube_pieces_end(&pieces, arena, ret_frame, NULL);
	buffer_add_span(out, buffer_span(&collected.text));
	buffer_clear(&collected.text);
	kube_pieces_clear(&pieces);
	return code;
}

static const struct {
	const char *text;
	bool list;
	int code;
	const char *pieces;
	const char *frame;
} cuts[] = {
	{"", false, 0, "", NULL},
	{" \n", false, 0, "", NULL},
	{"{}", false, 0, "{}\n", NULL},
	{"{\"a\":1}\n{\"b\":[{\"c\":\"}\"}]} {}", false, 0,
		"{\"a\":1}\n{\"b\":[{\"c\":\"}\"}]}\n{}\n", NULL},
	{"{\"a\":\"\\\"}{\\\\\"}{}", false, 0, "{\"a\":\"\\\"}{\\\\\"}\n{}\n", NULL},
	{"{\"a\":", false, -EPROTO, "", NULL},
	{"{\"a\":\"", false, -EPROTO, "", NULL},
	{"x{}", false, -EPROTO, "", NULL},
	{"{}x", false, -EPROTO, "{}\n", NULL},
	{"[]", false, -EPROTO, "", NULL},
	{"{\"a\":]{}", false, 0, "{\"a\":]\n{}\n", NULL}, /* for the parser to refuse */
	{"{\"items\":[]}", true, 0, "", "{\"items\":[]}"},
	{"{\"items\":null}", true, 0, "", "{\"items\":null}"},
	{"{}", true, -EPROTO, "", NULL},
	{"{\"items\":{}}", true, -EPROTO, "", NULL},
	{"{\"items\":5}", true, -EPROTO, "", NULL},
	{" {\"kind\":\"L\", \"items\" : [ {\"a\":1} , {\"b\":[\"]\"]} "
	 "],\"metadata\":{\"items\":[{}]}}\n",
		true, 0, "{\"a\":1}\n{\"b\":[\"]\"]}\n",
		"{\"kind\":\"L\",\"items\":[0,0],\"metadata\":{\"items\":[{}]}}"},
	{"{\"x\":\"items\",\"y\":[{\"a\":1}],\"items\":[{}]}", true, 0, "{}\n",
		"{\"x\":\"items\",\"y\":[{\"a\":1}],\"items\":[0]}"},
	{"{\"items\":[{}]", true, -EPROTO, "{}\n", NULL},
	{"{\"items\":[{}}", true, -EPROTO, "{}\n", NULL},
	{"{\"items\":[{} {}]}", true, -EPROTO, "{}\n{}\n", NULL},
	{"{\"items\":[5]}", true, -EPROTO, "", NULL},
	{"{\"items\":[{},5]}", true, -EPROTO, "{}\n", NULL},
	{"{\"items\":[[{}]]}", true, -EPROTO, "", NULL},
	{"{\"items\":[],\"items\":[]}", true, -EPROTO, "", NULL},
	{"{\"it\\u0065ms\":[{}]}", true, -EPROTO, "", NULL},
	{"{\"items\":[{}]}{}", true, -EPROTO, "{}\n", NULL},
	{"[]", true, -EPROTO, "", NULL},
	{"", true, -EPROTO, "", NULL},
	{"{\"items\":[],}", true, -EPROTO, "", NULL},
};

static void test_pieces(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(cuts); i++) {
		for (size_t chunk = 1; chunk <= strlen(cuts[i].text) + 1; chunk++) {
			_arena_ struct arena *arena = arena_new(0);
			_buffer_ struct buffer out = {0};
			struct json *frame = NULL;
			int code =
				feed(cuts[i].text, chunk, cuts[i].list, 1000, &out, &frame, arena);

			if (code != cuts[i].code || !span_is(buffer_span(&out), cuts[i].pieces))
				fail_msg("row %zu, chunk %zu: %d, %s", i, chunk, code, out.data);
			if (cuts[i].frame && !json_equal(frame, parse(arena, cuts[i].frame)))
				fail_msg("row %zu, chunk %zu: the frame is %s", i, chunk,
					json_to_text(frame, arena).data);
		}
	}
}

static void test_piece_limits(void **state)
{
	(void)state;
	for (size_t chunk = 1; chunk < 20; chunk++) {
		_arena_ struct arena *arena = arena_new(0);
		_buffer_ struct buffer out = {0};
		struct json *frame;

		assert_int_equal(feed("{\"a\":12345}", chunk, false, 11, &out, NULL, arena), 0);
		assert_int_equal(feed("{\"a\":123456}", chunk, false, 11, &out, NULL, arena),
			-EFBIG);
		assert_int_equal(feed("{\"items\":[{\"a\":12345}]}", chunk, true, 10, &out, &frame,
					 arena),
			-EFBIG);
	}
}

static void test_long_frame(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	_buffer_ struct buffer text = {0}, out = {0};
	struct json *frame;

	(void)state;
	buffer_add_string(&text, "{\"x\":\"");
	for (size_t i = 0; i < KUBE_PIECES_FRAME_MAX; i++)
		buffer_add_char(&text, 'x');
	buffer_add_string(&text, "\"}");
	assert_int_equal(feed(text.data, 4096, true, 10, &out, &frame, arena), -EFBIG);
}

static void test_taker_stops(void **state)
{
	struct collected collected = {.stop_at = 2};
	struct kube_pieces pieces = {.piece_max = 100, .take = collect, .context = &collected};

	(void)state;
	assert_int_equal(kube_pieces_feed(&pieces, SPAN("{}{}{}"), NULL), -EBUSY);
	assert_int_equal(collected.count, 2);
	buffer_clear(&collected.text);
	kube_pieces_clear(&pieces);
}

/* ---- the cache ---- */

static void index_node(const struct kube_object *object, struct kube_index_keys *keys)
{
	kube_index_keys_add(keys, ((const struct kept *)object->data)->node);
}

static void index_names(const struct kube_object *object, struct kube_index_keys *keys)
{
	const struct kept *kept = object->data;

	for (size_t i = 0; i < kept->name_count; i++)
		kube_index_keys_add(keys, kept->names[i]);
}

static const struct kube_index indexes[] = {{"node", index_node}, {"names", index_names}};

static const struct kube_object *make(int number, const char *node, const char *names)
{
	_arena_ struct arena *arena = arena_new(0);
	const struct kube_object *object = NULL;
	struct span text = arena_format(arena,
		"{\"metadata\":{\"name\":\"o%d\",\"uid\":\"u%d\"},\"node\":%s,\"names\":[%s]}",
		number, number, node, names);

	assert_int_equal(kube_object_make(parse(arena, text.data), reduce, NULL, &object, NULL), 0);
	return object;
}

static void check_found(const struct cache *cache, const char *index, const char *key,
	const char *expected)
{
	_arena_ struct arena *arena = arena_new(0);
	_kube_object_list_ struct kube_object_list list = {0};
	_buffer_ struct buffer out = {0};

	cache_find(cache, index, span_of(key), arena, &list);
	for (size_t i = 0; i < list.count; i++) {
		buffer_add_span(&out, list.objects[i]->key);
		buffer_add_char(&out, ' ');
	}
	assert_string_equal(out.data ? out.data : "", expected);
}

static void test_indexes(void **state)
{
	struct cache cache;
	size_t bytes;

	(void)state;
	cache_init(&cache, indexes, LENGTH(indexes));
	for (int i = 0; i < 4; i++)
		assert_null(cache_put(&cache,
			make(i, i % 2 ? "\"odd\"" : "\"even\"", "\"x\",\"x\""), 1));
	check_found(&cache, "node", "odd", "o1 o3 ");
	check_found(&cache, "node", "even", "o0 o2 ");
	check_found(&cache, "names", "x", "o0 o1 o2 o3 ");
	check_found(&cache, "node", "none", "");
	check_found(&cache, "nothing", "odd", "");
	bytes = cache.bytes;
	/* An update that keeps its keys keeps its place; one that does not moves. */
	kube_object_release(cache_put(&cache, make(1, "\"odd\"", "\"x\""), 2));
	check_found(&cache, "node", "odd", "o1 o3 ");
	check_found(&cache, "names", "x", "o0 o1 o2 o3 ");
	kube_object_release(cache_put(&cache, make(0, "\"odd\"", ""), 2));
	check_found(&cache, "node", "odd", "o1 o3 o0 ");
	check_found(&cache, "node", "even", "o2 ");
	check_found(&cache, "names", "x", "o1 o2 o3 ");
	kube_object_release(cache_put(&cache, make(2, "null", "\"y\""), 2));
	check_found(&cache, "node", "even", "");
	check_found(&cache, "names", "y", "o2 ");
	kube_object_release(cache_remove(&cache, SPAN("o1")));
	check_found(&cache, "node", "odd", "o3 o0 ");
	assert_null(cache_remove(&cache, SPAN("o1")));
	assert_true(cache.bytes < bytes);
	for (int i = 0; i < 4; i++) {
		char key[8];

		snprintf(key, sizeof(key), "o%d", i);
		kube_object_release(cache_remove(&cache, span_of(key)));
	}
	assert_int_equal(cache.bytes, 0);
	assert_int_equal(cache_count(&cache), 0);
	cache_clear(&cache);
}

/* Against a model: an array of what each object has. */
static void test_cache_at_random(void **state)
{
	enum { OBJECTS = 60, NODES = 7, STEPS = 20000 };
	int nodes[OBJECTS];
	struct random_seeded seeded;
	struct cache cache;

	(void)state;
	random_seeded_init(&seeded, 5);
	cache_init(&cache, indexes, LENGTH(indexes));
	for (int i = 0; i < OBJECTS; i++)
		nodes[i] = -1;
	for (int step = 0; step < STEPS; step++) {
		int which = (int)random_below(&seeded.random, OBJECTS);
		int node = (int)random_below(&seeded.random, NODES);
		size_t present = 0, on_node = 0;
		char text[16], key[16];

		snprintf(key, sizeof(key), "o%d", which);
		snprintf(text, sizeof(text), "\"%d\"", node);
		if (random_below(&seeded.random, 3) == 0) {
			kube_object_release(cache_remove(&cache, span_of(key)));
			nodes[which] = -1;
		} else {
			kube_object_release(cache_put(&cache, make(which, text, text), 1));
			nodes[which] = node;
		}
		for (int i = 0; i < OBJECTS; i++) {
			present += nodes[i] >= 0;
			on_node += nodes[i] == node;
		}
		assert_int_equal(cache_count(&cache), present);
		if (step % 16 == 0) {
			_arena_ struct arena *arena = arena_new(0);
			_kube_object_list_ struct kube_object_list list = {0};

			snprintf(key, sizeof(key), "%d", node);
			cache_find(&cache, step % 32 ? "node" : "names", span_of(key), arena,
				&list);
			assert_int_equal(list.count, on_node);
		}
	}
	cache_clear(&cache);
}

static void test_generations(void **state)
{
	struct cache cache;
	const struct cache_entry *position = NULL;

	(void)state;
	cache_init(&cache, NULL, 0);
	for (int i = 0; i < 3; i++)
		assert_null(cache_put(&cache, make(i, "null", ""), 1));
	cache_touch(&cache, SPAN("o1"), 2);
	cache_touch(&cache, SPAN("nothing"), 2);
	assert_true(span_is(cache_next_before(&cache, &position, 2)->key, "o0"));
	kube_object_release(cache_remove(&cache, SPAN("o0")));
	assert_true(span_is(cache_next_before(&cache, &position, 2)->key, "o2"));
	kube_object_release(cache_remove(&cache, SPAN("o2")));
	assert_null(cache_next_before(&cache, &position, 2));
	cache_clear(&cache);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_quantities),
		cmocka_unit_test(test_keeping),
		cmocka_unit_test(test_not_kept),
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_piece_limits),
		cmocka_unit_test(test_long_frame),
		cmocka_unit_test(test_taker_stops),
		cmocka_unit_test(test_indexes),
		cmocka_unit_test(test_cache_at_random),
		cmocka_unit_test(test_generations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
