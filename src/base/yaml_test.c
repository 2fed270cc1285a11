/* YAML: the core schema, what is refused and with which line, limits. */
#include "base/yaml.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/memory.h"

#define TEXT(literal)                                                                              \
	{                                                                                          \
		literal, sizeof(literal) - 1                                                       \
	}

/* A text and the JSON that it means. */
static const struct {
	struct span text;
	const char *json;
} accepted[] = {
	{TEXT(""), "null"},
	{TEXT("\n# only a comment\n"), "null"},
	{TEXT("---\n"), "null"},
	{TEXT("--- \n...\n"), "null"},
	{TEXT("~"), "null"},
	{TEXT("[null, Null, NULL, ~, nULL]"), "[null,null,null,null,\"nULL\"]"},
	{TEXT("[true, True, TRUE, tRUE, yes, on, y]"),
		"[true,true,true,\"tRUE\",\"yes\",\"on\",\"y\"]"},
	{TEXT("[false, False, FALSE, no, off, n]"), "[false,false,false,\"no\",\"off\",\"n\"]"},
	{TEXT("[0, 1, -1, +1, 007, -0, 00]"), "[0,1,-1,1,7,-0,0]"},
	{TEXT("[0x1F, 0xff, 0o17, 0xffffffffffffffff, 0x, 0o8, 0b1, 0XA]"),
		"[31,255,15,18446744073709551615,\"0x\",\"0o8\",\"0b1\",\"0XA\"]"},
	{TEXT("[1.5, .5, -.5, 5., +0.25, 1e3, 1E+3, 1.5e-3, 01.50]"),
		"[1.5,0.5,-0.5,5,0.25,1e3,1e+3,1.5e-3,1.50]"},
	{TEXT("[., -, +, e5, 1e, 1e+, 1.2.3, 1_000, 1-2, 12:30:45, '-.']"),
		"[\".\",\"-\",\"+\",\"e5\",\"1e\",\"1e+\",\"1.2.3\",\"1_000\",\"1-2\",\"12:30:45\","
		"\"-.\"]"},
	{TEXT("9007199254740993"), "9007199254740993"},
	{TEXT("123456789012345678901234567890"), "123456789012345678901234567890"},
	{TEXT("['1', \"true\", '', \"null\"]"), "[\"1\",\"true\",\"\",\"null\"]"},
	{TEXT("\"a\\0b\\u00e9\\x41\\U0001F600\""), "\"a\\u0000b\xc3\xa9"
						   "A\xf0\x9f\x98\x80\""},
	{TEXT("'it''s'"), "\"it's\""},
	{TEXT("plain text\n  continues"), "\"plain text continues\""},
	{TEXT("2026-11-16"), "\"2026-11-16\""},
	{TEXT("!!str 5"), "\"5\""},
	{TEXT("! 5"), "\"5\""},
	{TEXT("!!int '5'"), "5"},
	{TEXT("!!int 0x10"), "16"},
	{TEXT("!!float 5"), "5"},
	{TEXT("!!bool 'true'"), "true"},
	{TEXT("!!null ''"), "null"},
	{TEXT("!!map {a: !!seq [1]}"), "{\"a\":[1]}"},
	{TEXT("!<tag:yaml.org,2002:str> 5"), "\"5\""},
	{TEXT("a: 1\nb:\n  c: [x, y]\n  d: {e: f}\n"),
		"{\"a\":1,\"b\":{\"c\":[\"x\",\"y\"],\"d\":{\"e\":\"f\"}}}"},
	{TEXT("- 1\n- - 2\n  - 3\n- a: 4\n  b: 5\n"), "[1,[2,3],{\"a\":4,\"b\":5}]"},
	{TEXT("a:\nb: \nc: ~\n"), "{\"a\":null,\"b\":null,\"c\":null}"},
	{TEXT("text: |\n  one\n  two\nfolded: >-\n  three\n  four\n"),
		"{\"text\":\"one\\ntwo\\n\",\"folded\":\"three four\"}"},
	{TEXT("1: a\ntrue: b\n'': c\n\"q\": d\n~: e\n"),
		"{\"1\":\"a\",\"true\":\"b\",\"\":\"c\",\"q\":\"d\",\"~\":\"e\"}"},
	{TEXT("? a\n: b\n"), "{\"a\":\"b\"}"},
	{TEXT("<<: {a: 1}"), "{\"<<\":{\"a\":1}}"},
	{TEXT("{\"json\": [1, 2.5, \"x\", null, true]}"), "{\"json\":[1,2.5,\"x\",null,true]}"},
	{TEXT("%YAML 1.2\n---\na: 1\n...\n"), "{\"a\":1}"},
	{TEXT("\xef\xbb\xbf"
	      "a: 1"),
		"{\"a\":1}"},
	{TEXT("\xe2\x82\xac: \xc3\xa9"), "{\"\xe2\x82\xac\":\"\xc3\xa9\"}"},
	{TEXT("a: 1 # why\n# b: 2\n"), "{\"a\":1}"},
	{TEXT("url: http://127.0.0.1:4780/x#y"), "{\"url\":\"http://127.0.0.1:4780/x#y\"}"},
};

static void test_accepted(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(accepted); i++) {
		_arena_ struct arena *arena = arena_new(0);
		_buffer_ struct buffer out = {0};
		struct json *value, *reread;
		struct err err = {0};

		if (yaml_parse(accepted[i].text, arena, &value, &err) < 0)
			fail_msg("%.*s: %s", SPAN_ARGS(accepted[i].text), err.message);
		json_write(value, &out);
		assert_string_equal(out.data, accepted[i].json);
		assert_int_equal(json_parse(buffer_span(&out), arena, &reread, &err), 0);
		assert_true(json_equal(value, reread));
	}
}

static const struct {
	struct span text;
	const char *message;
} refused[] = {
	{TEXT("a: &x 1\nb: *x\n"), "line 1: anchors and aliases are not supported"},
	{TEXT("a: 1\nb: *x\n"), "line 2: anchors and aliases are not supported"},
	{TEXT("&a [x]"), "line 1: anchors and aliases are not supported"},
	{TEXT("a:\n  &a {x: y}"), "line 2: anchors and aliases are not supported"},
	{TEXT("&a x: y"), "line 1: anchors and aliases are not supported"},
	{TEXT("*a : y"), "line 1: anchors and aliases are not supported"},
	{TEXT("a: !mine 1"), "line 1: this tag is not supported"},
	{TEXT("a: !!binary aGk="), "line 1: this tag is not supported"},
	{TEXT("a: !!set {b}"), "line 1: this tag is not supported"},
	{TEXT("!!seq {a: b}"), "line 1: this tag is not supported"},
	{TEXT("!!map [a]"), "line 1: this tag is not supported"},
	{TEXT("!!int 5: a"), "line 1: this tag is not supported"},
	{TEXT("!!int x"), "line 1: not an integer"},
	{TEXT("!!int 1.5"), "line 1: not an integer"},
	{TEXT("!!float x"), "line 1: not a number"},
	{TEXT("!!bool 1"), "line 1: not a boolean"},
	{TEXT("!!null 1"), "line 1: not null"},
	{TEXT("a:\n- .inf"), "line 2: infinity and not-a-number have no place here"},
	{TEXT("-.INF"), "line 1: infinity and not-a-number have no place here"},
	{TEXT(".nan"), "line 1: infinity and not-a-number have no place here"},
	{TEXT("0x10000000000000000"), "line 1: number too large"},
	{TEXT("a: 1\nb: 2\na: 3\n"), "line 3: key \"a\" appears twice"},
	{TEXT("a: 1\n\"a\":\n  b: 3\n"), "line 2: key \"a\" appears twice"},
	{TEXT("x:\n  a: 1\n  a: 1\n"), "line 3: key \"a\" appears twice"},
	{TEXT("{a: 1, b: 2, c: 3, d: 4, e: 5, f: 6, g: 7, h: 8, i: 9,\n i: 10}"),
		"line 2: key \"i\" appears twice"},
	{TEXT("? [a]\n: b\n"), "line 1: a key must be a scalar"},
	{TEXT("{{a: b}: c}"), "line 1: a key must be a scalar"},
	{TEXT("a: 1\n---\nb: 2\n"), "line 2: only one document may be in a text"},
	{TEXT("a: 1\n...\n---\n"), "line 3: only one document may be in a text"},
	{TEXT("a: b: c"), "line 1, column 5: mapping values are not allowed in this context"},
	{TEXT("a: [1\nb: 2"), NULL},
	{TEXT("a: 'x"), NULL},
	{TEXT("a: \"\\ud800\""), NULL},
	{TEXT("\ta: 1"), NULL},
	{TEXT("a: \xff"), "line 1: invalid leading UTF-8 octet (byte 3)"},
	{TEXT("a: \xed\xa0\x80"), NULL},
	{TEXT("a: \xc3"), NULL},
	{TEXT("a: \0"), NULL},
	{TEXT("a: \x01"), NULL},
	{TEXT("\xff\xfe"
	      "a\0"),
		NULL},
	{TEXT("- a\nb: c"), NULL},
	{TEXT("%YAML 9.9\n---\na"), NULL},
	{TEXT("a: @b"), NULL},
};

static void test_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(refused); i++) {
		_arena_ struct arena *arena = arena_new(0);
		struct json *value = NULL;
		struct err err = {0};
		int code;

		code = yaml_parse(refused[i].text, arena, &value, &err);
		if (code != -EINVAL)
			fail_msg("%.*s: %d", SPAN_ARGS(refused[i].text), code);
		assert_null(value);
		if (refused[i].message)
			assert_string_equal(err.message, refused[i].message);
		assert_int_equal(strncmp(err.message, "line ", 5), 0);
		assert_int_equal(yaml_parse(refused[i].text, arena, &value, NULL), -EINVAL);
	}
}

static void test_lines(void **state)
{
	static const char text[] = "# head\n"
				   "a: 1\n"
				   "\n"
				   "b:\n"
				   "  c: |\n"
				   "    text\n"
				   "  d:\n"
				   "    - x\n"
				   "    - y\n";
	_arena_ struct arena *arena = arena_new(0);
	struct json *value;

	(void)state;
	assert_int_equal(yaml_parse(span_of(text), arena, &value, NULL), 0);
	assert_int_equal(value->line, 2);
	assert_int_equal(json_get(value, "a")->line, 2);
	assert_int_equal(json_get(value, "b")->line, 4);
	assert_int_equal(json_path(value, "b.c")->line, 5);
	assert_int_equal(json_path(value, "b.d")->line, 7);
	assert_int_equal(json_item(json_path(value, "b.d"), 1)->line, 9);
}

static struct span nested(struct arena *arena, size_t depth)
{
	_buffer_ struct buffer text = {0};

	for (size_t i = 0; i < depth; i++)
		buffer_add_char(&text, '[');
	for (size_t i = 0; i < depth; i++)
		buffer_add_char(&text, ']');
	return arena_copy_span(arena, buffer_span(&text));
}

static void test_limits(void **state)
{
	_arena_ struct arena *arena = arena_new(0), *small = arena_new(3000);
	_buffer_ struct buffer text = {0};
	struct json *value = NULL;
	struct err err = {0};

	(void)state;
	assert_int_equal(yaml_parse(nested(arena, JSON_DEPTH_MAX), arena, &value, &err), 0);
	assert_int_equal(yaml_parse(nested(arena, JSON_DEPTH_MAX + 1), arena, &value, &err),
		-EINVAL);
	assert_string_equal(err.message, "line 1: nested too deeply");

	while (text.length <= YAML_TEXT_MAX)
		buffer_add_string(&text, "# a comment makes a text long without any value in it\n");
	assert_int_equal(yaml_parse(buffer_span(&text), arena, &value, &err), -E2BIG);
	assert_string_equal(err.message, "longer than 4194304 bytes");
	text.length = YAML_TEXT_MAX;
	assert_int_equal(yaml_parse(buffer_span(&text), arena, &value, &err), 0);

	buffer_reset(&text);
	for (int i = 0; i < 1000; i++)
		buffer_format(&text, "key%d: value\n", i);
	assert_int_equal(yaml_parse(buffer_span(&text), small, &value, &err), -E2BIG);
	assert_string_equal(err.message, "the YAML text needs more memory than it may have");
	assert_int_equal(yaml_parse(buffer_span(&text), arena, &value, &err), 0);
	assert_int_equal(json_count(value), 1000);
	assert_true(span_is(json_get_text(value, "key999"), "value"));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_accepted),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
