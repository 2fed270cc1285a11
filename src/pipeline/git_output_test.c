/* Output of git that is cut, too long, or not what git prints; texts of commits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/memory.h"
#include "pipeline/git_output.h"

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define C "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc" /* SHA-256 */

static struct arena *arena;

static int setup(void **state)
{
	(void)state;
	arena = arena_new(0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	arena_free(arena);
	return 0;
}

static void test_ids(void **state)
{
	struct span id;

	(void)state;
	assert_int_equal(git_read_id(SPAN(A "\n"), &id, NULL), 0);
	assert_true(span_is(id, A));
	assert_int_equal(git_read_id(SPAN(C "\n"), &id, NULL), 0);
	assert_int_equal(git_read_id(SPAN(A), &id, NULL), -EINVAL);
	assert_int_equal(git_read_id(SPAN(A "\n\n"), &id, NULL), -EINVAL);
	assert_int_equal(git_read_id(SPAN("main\n"), &id, NULL), -EINVAL);
	assert_false(git_is_id(SPAN("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")));
}

static void test_trees(void **state)
{
	static const struct span bad[] = {SPAN("100644 blob " A "\tx"),
		SPAN("100644 blob " A " x\0"), SPAN("100644 blob x\ty\0"),
		SPAN("040000 tree " A "\tx\0"), SPAN("100644 blob " A "\t\0"), SPAN("\0")};
	const struct git_file *files;
	struct field_list list;

	(void)state;
	assert_int_equal(git_read_tree(SPAN("100755 blob " A "\ta\tb\0"
					    "120000 blob " B "\tc\0"
					    "160000 commit " A "\td\0"),
				 arena, &list, NULL),
		0);
	files = list.items;
	assert_int_equal(list.count, 3);
	assert_true(files[0].kind == GIT_FILE && span_is(files[0].path, "a\tb"));
	assert_true(files[1].kind == GIT_LINK && span_is(files[1].id, B));
	assert_true(files[2].kind == GIT_MODULE);
	for (size_t i = 0; i < LENGTH(bad); i++)
		assert_int_equal(git_read_tree(bad[i], arena, &list, NULL), -EINVAL);
}

static void test_heads(void **state)
{
	const struct span branches[] = {SPAN("main"), SPAN("x")};
	struct span ids[2];

	(void)state;
	assert_int_equal(git_read_heads(SPAN(A "\trefs/heads/a/main\n" B "\trefs/heads/main\n" A
					       "\trefs/tags/x\n"),
				 branches, 2, ids, NULL),
		0);
	assert_true(span_is(ids[0], B) && span_is(ids[1], ""));
	assert_int_equal(git_read_heads(SPAN(A " refs/heads/main\n"), branches, 2, ids, NULL),
		-EINVAL);
}

static void test_contents(void **state)
{
	static const struct span bad[] = {SPAN(A " blob 3\nabc"), SPAN(A " blob 4\nabc\n"),
		SPAN(A " blob 2\nabc\n"), SPAN(A " blob -1\nabc\n"), SPAN(A " tree 3\nabc\n"),
		SPAN(A " blob 3\nabc\nx"), SPAN(""), SPAN(A " blob 18446744073709551615\nabc\n")};
	struct field_list list;
	struct span contents[2];

	(void)state;
	assert_int_equal(git_read_contents(SPAN(A " blob 3\na\nc\n" B " blob 0\n\n"), "blob",
				 contents, 2, NULL),
		0);
	assert_true(span_is(contents[0], "a\nc") && span_is(contents[1], ""));
	for (size_t i = 0; i < LENGTH(bad); i++)
		assert_int_equal(git_read_contents(bad[i], "blob", contents, 1, NULL), -EINVAL);
	assert_int_equal(git_read_contents(SPAN(A " missing\n"), "blob", contents, 1, NULL),
		-ENOENT);
	assert_int_equal(git_read_objects(SPAN(A " blob 3\n" B " missing\n"), arena, &list, NULL),
		0);
	assert_int_equal(list.count, 2);
	assert_int_equal(((const struct git_object *)list.items)[0].size, 3);
	assert_int_equal(git_read_objects(SPAN(A " blob\n"), arena, &list, NULL), -EINVAL);
}

static void test_commits(void **state)
{
	struct git_commit commit = {0};

	(void)state;
	assert_int_equal(
		git_read_commit(SPAN("tree " A "\nparent " B "\nauthor J\xf6rg <j> 5 +0000\n"
				     "committer K <k> 7 +0000\ngpgsig -----\n author x\n -----\n\n"
				     "sub\xffject\n\nauthor y\n\n"),
			arena, &commit, NULL),
		0);
	assert_true(span_is(commit.author, "J\xef\xbf\xbdrg <j>"));
	assert_true(span_is(commit.message, "sub\xef\xbf\xbdject\n\nauthor y"));
	assert_int_equal(commit.time_ms, 7000);
	assert_int_equal(git_read_commit(SPAN("tree " A "\n"), arena, &commit, NULL), 0);
	assert_true(span_is(commit.message, ""));
	assert_int_equal(git_read_commit(SPAN("object " A "\n"), arena, &commit, NULL), -EINVAL);
}

static void test_changes(void **state)
{
	struct git_commit commits[] = {{.id = SPAN(A)}, {.id = SPAN(B)}};
	struct field_list list;

	(void)state;
	assert_int_equal(git_read_changes(SPAN(":1 2 3 4 M\0" A "\0"), arena, &list, NULL), 0);
	assert_int_equal(list.count, 1);
	assert_int_equal(git_read_changes(SPAN(":1 2 3 4 M\0"), arena, &list, NULL), -EINVAL);
	assert_int_equal(git_read_changes(SPAN("x\0y\0"), arena, &list, NULL), -EINVAL);
	/* A file may be called like a commit, or like a change. */
	assert_int_equal(git_read_log(SPAN(A "\0:1 2 3 4 M\0" B "\0:1 2 3 4 M\0:x\0" B
					     "\0:1 2 3 4 A\0y\0"),
				 arena, commits, 2, NULL),
		0);
	assert_int_equal(commits[0].paths.count, 2);
	assert_int_equal(commits[1].paths.count, 1);
	assert_int_equal(git_read_log(SPAN(B "\0" A "\0"), arena, commits, 2, NULL), -EINVAL);
	assert_int_equal(git_read_log(SPAN(":1 2 3 4 M\0x\0"), arena, commits, 2, NULL), -EINVAL);
	assert_int_equal(git_read_history(SPAN(A " " B " " B "\n" B "\n"), arena, &list, NULL), 0);
	assert_true(span_is(((const struct git_commit *)list.items)[0].parent, B));
	assert_true(span_is(((const struct git_commit *)list.items)[1].parent, ""));
	assert_int_equal(git_read_history(SPAN(A " x\n"), arena, &list, NULL), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_ids, setup, teardown),
		cmocka_unit_test_setup_teardown(test_trees, setup, teardown),
		cmocka_unit_test_setup_teardown(test_heads, setup, teardown),
		cmocka_unit_test_setup_teardown(test_contents, setup, teardown),
		cmocka_unit_test_setup_teardown(test_commits, setup, teardown),
		cmocka_unit_test_setup_teardown(test_changes, setup, teardown),
	};

	return cmocka_run_group_tests_name("git_output", tests, NULL, NULL);
}
