/* .helmignore: patterns, folders, negation as Helm has it, malformed rules. */
#include "chart/ignore.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/memory.h"

static const struct {
	const char *pattern, *text;
	int result; /* 1 matches, 0 does not, -EINVAL malformed */
} patterns[] = {
	{"abc", "abc", 1},
	{"*", "abc", 1},
	{"*c", "abc", 1},
	{"a*", "ab/c", 0},
	{"a*/b", "abc/b", 1},
	{"a*b*c*d*e*/f", "axbxcxdxe/f", 1},
	{"a*b?c*x", "abxbbxdbxebxczzx", 1},
	{"a?c", "a/c", 0},
	{"ab[c]", "abc", 1},
	{"ab[b-d]", "abc", 1},
	{"ab[^e-g]", "abc", 1},
	{"ab[^c]", "abc", 0},
	{"a\\*b", "a*b", 1},
	{"a\\*b", "axb", 0},
	{"a[^a]b",
		"a\xe2\x98\xba"
		"b",
		1},
	{"a???b",
		"a\xe2\x98\xba"
		"b",
		0},
	{"[a-\xce\xb6]*", "\xce\xb1", 1},
	{"*x", "xxx", 1},
	{"", "", 1},
	{"", "a", 0},
	{"[]a]", "]", -EINVAL},
	{"[-]", "-", -EINVAL},
	{"[x-]", "x", -EINVAL},
	{"[a", "a", -EINVAL},
	{"a[", "a", -EINVAL},
	{"a[", "ab", -EINVAL},
	{"a\\", "a", -EINVAL},
};

static void test_patterns(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(patterns); i++) {
		bool matches = false;
		int code = ignore_match_pattern(span_of(patterns[i].pattern),
			span_of(patterns[i].text), &matches);

		if ((code < 0 ? code : matches) != patterns[i].result)
			fail_msg("%s on %s: %d %d", patterns[i].pattern, patterns[i].text, code,
				matches);
	}
}

static const struct {
	const char *rules, *path;
	bool is_folder, ignored;
} cases[] = {
	{"", "templates/.hidden.yaml", false, true},
	{"", "templates/a.yaml", false, false},
	{"*.txt", "a/b.txt", false, true},
	{"# *.txt\n", "a/b.txt", false, false},
	{"/a.txt", "b/a.txt", false, false},
	{"/a.txt", "a.txt", false, true},
	{"b/a.txt", "b/a.txt", false, true},
	{"b/a.txt", "c/b/a.txt", false, false},
	{"mast/", "mast", true, true},
	{"mast/", "mast", false, false},
	{"  *.txt  \r\n", "a.txt", false, true},
	{"!*.yaml", "a.txt", false, true},
	{"!*.yaml", "a.yaml", false, false},
	{"*.a\n!keep.a", "keep.a", false, true},
	{"*", ".", true, false},
	{"\xef\xbb\xbf*.txt", "a.txt", false, true},
};

static void test_rules(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		_arena_ struct arena *arena = arena_new(0);
		struct ignore_rules *rules;

		assert_int_equal(ignore_parse(span_of(cases[i].rules), arena, &rules, NULL), 0);
		if (ignore_matches(rules, span_of(cases[i].path), cases[i].is_folder) !=
			cases[i].ignored)
			fail_msg("%s on %s", cases[i].rules, cases[i].path);
	}
}

static void test_malformed_rules(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct ignore_rules *rules;
	struct err err;

	(void)state;
	assert_int_equal(ignore_parse(SPAN("a\n**/b\n"), arena, &rules, &err), -EINVAL);
	assert_string_equal(err.message, "line 2: double-star (**) syntax is not supported");
	assert_int_equal(ignore_parse(SPAN("[a"), arena, &rules, &err), -EINVAL);
	assert_string_equal(err.message, "line 1: syntax error in pattern '[a'");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_patterns),
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_malformed_rules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
