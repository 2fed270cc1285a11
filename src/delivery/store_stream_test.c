/* Streams of objects of an engine's own kind: a snapshot, changes, resuming, what is left out, and positions that are too
 * old. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "delivery/store_stream.h"

#define PREFIX "123456789012/shop/"

static const struct store_kind run_kind = {.name = "run"};
static const struct store_kind other_kind = {.name = "other"};
static const struct store_kind *const kinds[] = {&run_kind, &other_kind};
static const struct delivery_stream_type run_type = {.member = "run", .revision = "revision"};

static int setup(void **state)
{
	const struct store_config config = {.url = "memory:",
		.kinds = kinds,
		.kind_count = LENGTH(kinds),
		.clock = clock_system(),
		.feed_bytes = 4096,
		.inline_writes = true};
	struct store *store;
	struct err err = {0};

	if (store_open(&config, &store, &err) < 0)
		fail_msg("%s", err.message);
	*state = store;
	return 0;
}

static int teardown(void **state)
{
	store_close(*state);
	return 0;
}

struct change {
	const struct store_kind *kind;
	const char *key, *text; /* text NULL: deletes it */
};

static int apply(struct store_transaction *transaction, void *context, struct err *err)
{
	const struct change *change = context;

	return change->text ? store_put(transaction, change->kind, span_of(change->key),
				      span_of(change->text), SPAN(""), STORE_ANY, err)
			    : store_delete(transaction, change->kind, span_of(change->key),
				      STORE_ANY, err);
}

static void write_object(struct store *store, const struct store_kind *kind, const char *key,
	const char *text)
{
	struct change change = {kind, key, text};

	assert_int_equal(store_write_wait(store, apply, &change, NULL, NULL), 0);
}

/* Objects whose text has "hidden" are not part of the stream. */
static struct json *document(const void *context, const struct store_object *object,
	const struct store_view *view, struct arena *arena)
{
	struct json *parsed;

	(void)view;
	assert_string_equal(context, "context");
	assert_int_equal(json_parse(arena_copy_span(arena, object->api), arena, &parsed, NULL), 0);
	return json_is_absent(json_get(parsed, "hidden")) ? json_copy_object(arena, parsed) : NULL;
}

static void count_wake(void *context)
{
	++*(unsigned *)context;
}

static int open_stream(struct store *store, const uint64_t *position, unsigned *woken,
	struct delivery_stream **ret_stream)
{
	struct arena *arena = arena_new(0);
	const struct store_stream_config config = {.store = store,
		.type = &run_type,
		.kind = &run_kind,
		.prefix = SPAN(PREFIX),
		.document = document,
		.context = arena_copy_string(arena, "context"),
		.arena = arena,
		.position = position,
		.wake = {count_wake, woken}};

	return store_stream_open(&config, ret_stream, NULL);
}

/* All lines that there are now, with single quotes; the positions are those of the store. */
static void expect_lines(struct delivery_stream *stream, const char *expected)
{
	_buffer_ struct buffer lines = {0};

	while (delivery_stream_read(stream, &lines) > 0)
		continue;
	buffer_add_char(&lines, '\0');
	for (size_t i = 0; i < lines.length; i++)
		if (lines.data[i] == '"')
			lines.data[i] = '\'';
	assert_string_equal(lines.data, expected);
}

static void test_snapshot_then_changes(void **state)
{
	struct delivery_stream *stream;
	unsigned woken = 0;

	write_object(*state, &run_kind, PREFIX "1", "{\"name\":\"one\"}");
	write_object(*state, &run_kind, PREFIX "2", "{\"hidden\":true}");
	write_object(*state, &run_kind, "123456789012/shopping/1", "{}");
	write_object(*state, &other_kind, PREFIX "1", "{}");
	assert_int_equal(open_stream(*state, NULL, &woken, &stream), 0);
	expect_lines(stream, "{'change':'snapshot','run':{'name':'one'}}\n"
			     "{'change':'position','entityVersion':4}\n");
	assert_int_equal(woken, 0);
	write_object(*state, &other_kind, PREFIX "1", NULL);
	write_object(*state, &run_kind, PREFIX "1", "{\"name\":\"one\",\"revision\":9}");
	write_object(*state, &run_kind, PREFIX "1", "{\"name\":\"two\",\"revision\":10}");
	write_object(*state, &run_kind, PREFIX "2", "{\"name\":\"shown\"}");
	write_object(*state, &run_kind, PREFIX "1", "{\"hidden\":true}");
	write_object(*state, &run_kind, PREFIX "2", NULL);
	assert_true(woken > 0);
	expect_lines(stream,
		"{'change':'updated','entityVersion':7,'run':{'name':'two','revision':10}}\n"
		"{'change':'updated','entityVersion':8,'run':{'name':'shown'}}\n"
		"{'change':'deleted','entityVersion':9,'run':{'name':'two','revision':10}}\n"
		"{'change':'deleted','entityVersion':10,'run':{'name':'shown'}}\n");
	expect_lines(stream, "");
	delivery_stream_free(stream);
}

static void test_resumes_after_a_position(void **state)
{
	_buffer_ struct buffer out = {0};
	struct delivery_stream *stream;
	unsigned woken = 0;
	uint64_t position = 1;

	write_object(*state, &run_kind, PREFIX "1", "{\"n\":1}");
	write_object(*state, &run_kind, PREFIX "1", "{\"n\":2}");
	write_object(*state, &run_kind, PREFIX "1", "{\"n\":3}");
	assert_int_equal(open_stream(*state, &position, &woken, &stream), 0);
	expect_lines(stream, "{'change':'updated','entityVersion':2,'run':{'n':2}}\n"
			     "{'change':'updated','entityVersion':3,'run':{'n':3}}\n");
	delivery_stream_write_position(stream, &out);
	delivery_stream_write_end(stream, "SLOW_CONSUMER", &out);
	buffer_add_char(&out, '\0');
	assert_string_equal(out.data,
		"{\"change\":\"position\",\"entityVersion\":3}\n"
		"{\"change\":\"end\",\"entityVersion\":3,\"reason\":\"SLOW_CONSUMER\"}\n");
	delivery_stream_free(stream);
}

static void test_positions_that_are_not_kept(void **state)
{
	struct delivery_stream *stream;
	unsigned woken = 0;
	uint64_t position = 1;

	for (size_t i = 0; i < 500; i++)
		write_object(*state, &run_kind, PREFIX "1", i % 2 == 0 ? "{\"n\":1}" : "{\"n\":2}");
	assert_int_equal(open_stream(*state, &position, &woken, &stream), -ESTALE);
	position = 1000000;
	assert_int_equal(open_stream(*state, &position, &woken, &stream), -ESTALE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_snapshot_then_changes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_resumes_after_a_position, setup, teardown),
		cmocka_unit_test_setup_teardown(test_positions_that_are_not_kept, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
