/* The view of a flow: the tree, what nodes wait for, lines that fit the terminal, and graphs that are too large for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "cli/flow_view.h"
#include "cli/view_text.h"

#define NOW_MS INT64_C(1700000100000)
#define WIDE 200
#define TALL 100

/* d comes first in the file, and needs b, c and a. */
static const char *const diamond =
	"{\"id\":\"1f\",\"head\":\"web\",\"deployment\":3,\"state\":\"RUNNING\",\"startedAt\":"
	"1700000000,"
	"\"nodes\":["
	"{\"application\":\"d\",\"state\":\"PENDING\",\"depends\":[\"a\",\"b\",\"c\"]},"
	"{\"application\":\"b\",\"state\":\"RUNNING\",\"phase\":\"SOAKING\",\"depends\":[\"a\"],"
	"\"startedAt\":1700000030,\"deadlineAt\":1700000112},"
	"{\"application\":\"c\",\"state\":\"FAILURE\",\"depends\":[\"a\"],\"startedAt\":1700000030,"
	"\"endedAt\":1700000042,\"reason\":\"deployment failed\",\"detail\":\"exit\\ncode 1\"},"
	"{\"application\":\"a\",\"state\":\"SUCCESS\",\"depends\":[],\"startedAt\":1700000000,"
	"\"endedAt\":1700000030},"
	"{\"application\":\"e\",\"state\":\"WAITING_APPROVAL\",\"depends\":[]}]}";

static struct json *parse(struct arena *arena, const char *text)
{
	struct json *flow;

	assert_int_equal(json_parse(span_of(text), arena, &flow, NULL), 0);
	return flow;
}

static void test_tree(void **state)
{
	_arena_ struct arena *arena = arena_new(0);

	(void)state;
	assert_string_equal(flow_view(arena, parse(arena, diamond), WIDE, TALL, NOW_MS).data,
		"web, deployment 3: RUNNING  1 of 5 nodes done  1m 40s  flow 1f\n"
		"├─ + a           SUCCESS              30s\n"
		"│  ├─ > b        RUNNING           1m 10s  soaks, 12s left\n"
		"│  │  └─   d     PENDING                   after a, c\n"
		"│  └─ x c        FAILURE              12s  deployment failed: exit code 1\n"
		"└─ ? e           WAITING_APPROVAL\n");
}

static void test_lines_fit(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct json *flow = parse(arena, diamond);

	(void)state;
	for (size_t width = 1; width < WIDE; width++) {
		for (size_t rows = 1; rows < 10; rows++) {
			struct span text = flow_view(arena, flow, width, rows, NOW_MS), line;
			size_t lines = 0;

			while (span_next_part(&text, '\n', &line)) {
				assert_true(view_columns(line) <= width);
				lines++;
			}
			assert_int_equal(lines, rows < 6 ? rows : 6);
		}
	}
}

/* Nodes in progress first, then those that failed. */
static void test_few_rows(void **state)
{
	_arena_ struct arena *arena = arena_new(0);

	(void)state;
	assert_string_equal(flow_view(arena, parse(arena, diamond), WIDE, 5, NOW_MS).data,
		"web, deployment 3: RUNNING  1 of 5 nodes done  1m 40s  flow 1f\n"
		"? e              WAITING_APPROVAL\n"
		"> b              RUNNING           1m 10s  soaks, 12s left; after a\n"
		"x c              FAILURE              12s  deployment failed: exit code 1; after "
		"a\n"
		"… of 5 nodes: 1 WAITING_APPROVAL, 1 RUNNING, 1 FAILURE, 1 PENDING, 1 SUCCESS\n");
}

/* A chain of 10,000 nodes, the last one first: neither the time nor the text grows with the square of its length. */
static void test_long_chain(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	_buffer_ struct buffer text = {0};
	const unsigned count = 10000;
	struct span view, line = SPAN("");
	size_t lines = 0;

	(void)state;
	buffer_add_string(&text,
		"{\"id\":\"1f\",\"head\":\"web\",\"state\":\"RUNNING\",\"nodes\":[");
	for (unsigned i = count; i > 0; i--)
		buffer_format(&text,
			"%s{\"application\":\"n%u\",\"state\":\"PENDING\",\"depends\":[%s%.0u%s]}",
			i < count ? "," : "", i, i > 1 ? "\"n" : "", i - 1, i > 1 ? "\"" : "");
	buffer_add_string(&text, "]}");
	view = flow_view(arena, parse(arena, buffer_span(&text).data), SIZE_MAX, SIZE_MAX, NOW_MS);
	assert_true(view.length < count * 128);
	while (span_next_part(&view, '\n', &line)) {
		if (lines == count)
			assert_non_null(strstr(line.data, "n10000 "));
		lines++;
	}
	assert_int_equal(lines, count + 1);
}

/* A node that needs many names some of them. */
static void test_many_dependencies(void **state)
{
	_arena_ struct arena *arena = arena_new(0);

	(void)state;
	assert_non_null(strstr(flow_view(arena,
				       parse(arena, "{\"id\":\"1f\",\"head\":\"web\",\"state\":"
						    "\"RUNNING\",\"nodes\":["
						    "{\"application\":\"a\",\"state\":\"PENDING\"},"
						    "{\"application\":\"b\",\"state\":\"PENDING\"},"
						    "{\"application\":\"c\",\"state\":\"PENDING\"},"
						    "{\"application\":\"d\",\"state\":\"PENDING\"},"
						    "{\"application\":\"e\",\"state\":\"PENDING\"},"
						    "{\"application\":\"f\",\"state\":\"PENDING\","
						    "\"depends\":[\"a\",\"b\","
						    "\"c\",\"d\",\"e\"]}]}"),
				       WIDE, TALL, NOW_MS)
				       .data,
		"PENDING                   after b, c, d and 1 more\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tree),
		cmocka_unit_test(test_lines_fit),
		cmocka_unit_test(test_few_rows),
		cmocka_unit_test(test_long_chain),
		cmocka_unit_test(test_many_dependencies),
	};

	return cmocka_run_group_tests_name("view of a flow", tests, NULL, NULL);
}
