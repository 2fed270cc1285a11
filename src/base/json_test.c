/* JSON: what is accepted and what is refused, that nothing is lost on the way, and building. */
#include "base/json.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/random.h"

/* Parses a copy that ends where the text ends, so that the address sanitizer sees a read beyond it;
 * the copy lives in the arena that the value lives in. */
static int parse_exact(struct span text, struct arena *arena, struct json **ret_value,
	struct err *err)
{
	_free_ char *exact = malloc(text.length > 0 ? text.length : 1);
	struct json *ignored;
	int code, again;

	memcpy(exact, text.data, text.length);
	code = json_parse((struct span){exact, text.length}, arena, &ignored, err);
	again = json_parse(arena_copy_span(arena, text), arena, ret_value, err);
	assert_int_equal(code, again);
	return code;
}

static struct json *parse(struct arena *arena, const char *text)
{
	struct json *value = NULL;
	struct err err = {0};

	if (parse_exact(span_of(text), arena, &value, &err) < 0)
		fail_msg("'%s': %s", text, err.message);
	return value;
}

static void assert_writes(const struct json *value, const char *expected)
{
	_buffer_ struct buffer out = {0};

	json_write(value, &out);
	assert_string_equal(out.data, expected);
	assert_int_equal(out.length, strlen(expected));
}

#define TEXT(literal)                                                                              \
	{                                                                                          \
		literal, sizeof(literal) - 1                                                       \
	}

/* Accepted, and what is written back if it is not the same text. */
static const struct {
	struct span text;
	const char *written;
} accepted[] = {
	{TEXT("null"), NULL},
	{TEXT("true"), NULL},
	{TEXT("false"), NULL},
	{TEXT("0"), NULL},
	{TEXT("-0"), NULL},
	{TEXT("1"), NULL},
	{TEXT("-1"), NULL},
	{TEXT("10"), NULL},
	{TEXT("1.0"), NULL},
	{TEXT("0.0"), NULL},
	{TEXT("0.00000000000000000000000000000000000000000001"), NULL},
	{TEXT("1e5"), NULL},
	{TEXT("1E5"), NULL},
	{TEXT("1e+5"), NULL},
	{TEXT("1e-5"), NULL},
	{TEXT("0e0"), NULL},
	{TEXT("0e+01"), NULL},
	{TEXT("1e00005"), NULL},
	{TEXT("1e999999"), NULL},
	{TEXT("-1.25e-10"), NULL},
	{TEXT("9007199254740993"), NULL},
	{TEXT("9223372036854775807"), NULL},
	{TEXT("-9223372036854775808"), NULL},
	{TEXT("123456789012345678901234567890123456789012345678901234567890"), NULL},
	{TEXT("3.141592653589793238462643383279502884197169399375105820974944"), NULL},
	{TEXT("\"\""), NULL},
	{TEXT("\"a\""), NULL},
	{TEXT("\"seven77\""), NULL},
	{TEXT("\"eight888\""), NULL},
	{TEXT("\"nine99999\""), NULL},
	{TEXT("\"sixteen characte and then some more\""), NULL},
	{TEXT("\" \""), NULL},
	{TEXT("\"\x7f\""), NULL},
	{TEXT("\"'\""), NULL},
	{TEXT("\"/\""), NULL},
	{TEXT("\"\\/\""), "\"/\""},
	{TEXT("\"\\\"\""), NULL},
	{TEXT("\"\\\\\""), NULL},
	{TEXT("\"\\\\\\\"\\\\\""), NULL},
	{TEXT("\"\\b\\f\\n\\r\\t\""), NULL},
	{TEXT("\"\\u0000\""), NULL},
	{TEXT("\"a\\u0000b\""), NULL},
	{TEXT("\"\\u001f\""), NULL},
	{TEXT("\"\\u001F\""), "\"\\u001f\""},
	{TEXT("\"\\u0008\\u000C\""), "\"\\b\\f\""},
	{TEXT("\"\\u0022\\u005c\""), "\"\\\"\\\\\""},
	{TEXT("\"\\u0061\""), "\"a\""},
	{TEXT("\"\\u00e9\\u00E9\""), "\"\xc3\xa9\xc3\xa9\""},
	{TEXT("\"\\u07ff\\u0800\\uffff\""), "\"\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf\""},
	{TEXT("\"\\u20AC\""), "\"\xe2\x82\xac\""},
	{TEXT("\"\\ud800\\udc00\""), "\"\xf0\x90\x80\x80\""},
	{TEXT("\"\\uD83D\\uDE00\""), "\"\xf0\x9f\x98\x80\""},
	{TEXT("\"\\uDBFF\\uDFFF\""), "\"\xf4\x8f\xbf\xbf\""},
	{TEXT("\"\\ufeff\""), "\"\xef\xbb\xbf\""},
	{TEXT("\"x\\u2028\\u2029\""), "\"x\xe2\x80\xa8\xe2\x80\xa9\""},
	{TEXT("\"\xc2\x80\""), NULL},
	{TEXT("\"\xdf\xbf\""), NULL},
	{TEXT("\"\xe0\xa0\x80\""), NULL},
	{TEXT("\"\xed\x9f\xbf\""), NULL},
	{TEXT("\"\xee\x80\x80\""), NULL},
	{TEXT("\"\xef\xbf\xbf\""), NULL},
	{TEXT("\"\xf0\x90\x80\x80\""), NULL},
	{TEXT("\"\xf4\x8f\xbf\xbf\""), NULL},
	{TEXT("\"plain, then \xe2\x82\xac, then \\n, then \xc3\xa9 again\""), NULL},
	{TEXT("[]"), NULL},
	{TEXT("[ ]"), "[]"},
	{TEXT("[null]"), NULL},
	{TEXT("[[],[[]]]"), NULL},
	{TEXT("[1,2,3]"), NULL},
	{TEXT(" [ 1 , 2 ] "), "[1,2]"},
	{TEXT("\t\r\n[\t\r\n1\t\r\n]\t\r\n"), "[1]"},
	{TEXT("{}"), NULL},
	{TEXT("{ }"), "{}"},
	{TEXT("{\"\":0}"), NULL},
	{TEXT("{\"a\":{}}"), NULL},
	{TEXT("{\"b\":1,\"a\":2}"), NULL},
	{TEXT(" { \"a\" : 1 , \"b\" : [ ] } "), "{\"a\":1,\"b\":[]}"},
	{TEXT("{\"a\\u0000\":1,\"a\":2}"), NULL},
	{TEXT("{\"a\":1,\"A\":2,\"a \":3}"), NULL},
	{TEXT("{\"\\u0061b\":1}"), "{\"ab\":1}"},
	{TEXT("{\"a\":[true,false,null,{\"b\":\"c\"}],\"d\":-1.5e+3}"), NULL},
};

static void test_accepted(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(accepted); i++) {
		_arena_ struct arena *arena = arena_new(0);
		_buffer_ struct buffer out = {0}, again = {0};
		struct span wanted =
			accepted[i].written ? span_of(accepted[i].written) : accepted[i].text;
		struct json *value, *reread;
		struct err err = {0};

		if (parse_exact(accepted[i].text, arena, &value, &err) < 0)
			fail_msg("%.*s: %s", SPAN_ARGS(accepted[i].text), err.message);
		json_write(value, &out);
		if (!span_equal(buffer_span(&out), wanted))
			fail_msg("%.*s was written as %s", SPAN_ARGS(accepted[i].text), out.data);
		assert_int_equal(json_parse(buffer_span(&out), arena, &reread, &err), 0);
		assert_true(json_equal(value, reread));
		json_write_pretty(value, &again);
		assert_int_equal(json_parse(buffer_span(&again), arena, &reread, &err), 0);
		assert_true(json_equal(value, reread));
	}
}

static const struct {
	struct span text;
	const char *message;
} refused[] = {
	{TEXT(""), "line 1, column 1: the text ends where a value is expected"},
	{TEXT(" \n "), "line 2, column 2: the text ends where a value is expected"},
	{TEXT("nul"), "line 1, column 1: expected a value"},
	{TEXT("nulll"), "line 1, column 5: text after the end of the value"},
	{TEXT("NULL"), "line 1, column 1: expected a value"},
	{TEXT("True"), "line 1, column 1: expected a value"},
	{TEXT("tru"), "line 1, column 1: expected a value"},
	{TEXT("truth"), "line 1, column 1: expected a value"},
	{TEXT("fals"), "line 1, column 1: expected a value"},
	{TEXT("undefined"), "line 1, column 1: expected a value"},
	{TEXT("NaN"), "line 1, column 1: expected a value"},
	{TEXT("nan"), "line 1, column 1: expected a value"},
	{TEXT("Infinity"), "line 1, column 1: expected a value"},
	{TEXT("-Infinity"), "line 1, column 2: a number needs a digit here"},
	{TEXT("-"), "line 1, column 2: a number needs a digit here"},
	{TEXT("--1"), "line 1, column 2: a number needs a digit here"},
	{TEXT("+1"), "line 1, column 1: expected a value"},
	{TEXT(".5"), "line 1, column 1: expected a value"},
	{TEXT("-.5"), "line 1, column 2: a number needs a digit here"},
	{TEXT("1."), "line 1, column 3: a number needs a digit after its point"},
	{TEXT("1.e5"), "line 1, column 3: a number needs a digit after its point"},
	{TEXT("01"), "line 1, column 2: a number must not begin with zero"},
	{TEXT("-01"), "line 1, column 3: a number must not begin with zero"},
	{TEXT("00"), "line 1, column 2: a number must not begin with zero"},
	{TEXT("1e"), "line 1, column 3: a number needs a digit in its exponent"},
	{TEXT("1e+"), "line 1, column 4: a number needs a digit in its exponent"},
	{TEXT("1e1.5"), "line 1, column 4: text after the end of the value"},
	{TEXT("1ee5"), "line 1, column 3: a number needs a digit in its exponent"},
	{TEXT("0x10"), "line 1, column 2: text after the end of the value"},
	{TEXT("1_000"), "line 1, column 2: text after the end of the value"},
	{TEXT("1 2"), "line 1, column 3: text after the end of the value"},
	{TEXT("\xef\xbc\x91"), "line 1, column 1: expected a value"},
	{TEXT("\""), "line 1, column 2: the text ends inside a string"},
	{TEXT("\"abc"), "line 1, column 5: the text ends inside a string"},
	{TEXT("\"a\\"), "line 1, column 4: the text ends inside a string"},
	{TEXT("\"a\\\""), "line 1, column 5: the text ends inside a string"},
	{TEXT("\"\\n and no end"), "line 1, column 15: the text ends inside a string"},
	{TEXT("'a'"), "line 1, column 1: expected a value"},
	{TEXT("\"a\"b"), "line 1, column 4: text after the end of the value"},
	{TEXT("\"\n\""), "line 1, column 2: control character in a string"},
	{TEXT("\"a\tb\""), "line 1, column 3: control character in a string"},
	{TEXT("\"a\0b\""), "line 1, column 3: control character in a string"},
	{TEXT("\"\\n\x1f\""), "line 1, column 4: control character in a string"},
	{TEXT("\"\\a\""), "line 1, column 2: unknown escape in a string"},
	{TEXT("\"\\'\""), "line 1, column 2: unknown escape in a string"},
	{TEXT("\"\\0\""), "line 1, column 2: unknown escape in a string"},
	{TEXT("\"\\x41\""), "line 1, column 2: unknown escape in a string"},
	{TEXT("\"\\U0041\""), "line 1, column 2: unknown escape in a string"},
	{TEXT("\"\\\xc3\xa9\""), "line 1, column 2: unknown escape in a string"},
	{TEXT("\"\\\n\""), "line 1, column 2: unknown escape in a string"},
	{TEXT("\"\\u\""), "line 1, column 4: \\u needs four hexadecimal digits"},
	{TEXT("\"\\u00"), "line 1, column 4: \\u needs four hexadecimal digits"},
	{TEXT("\"\\u004\""), "line 1, column 7: \\u needs four hexadecimal digits"},
	{TEXT("\"\\u00g0\""), "line 1, column 6: \\u needs four hexadecimal digits"},
	{TEXT("\"\\u+041\""), "line 1, column 4: \\u needs four hexadecimal digits"},
	{TEXT("\"\\ud800\""), "line 1, column 2: lone surrogate"},
	{TEXT("\"\\udc00\""), "line 1, column 2: lone surrogate"},
	{TEXT("\"\\udfff\\ud800\""), "line 1, column 2: lone surrogate"},
	{TEXT("\"\\ud800\\ud800\""), "line 1, column 2: lone surrogate"},
	{TEXT("\"\\ud800x\""), "line 1, column 2: lone surrogate"},
	{TEXT("\"\\ud800\\n\""), "line 1, column 2: lone surrogate"},
	{TEXT("\"\\ud800\\u\""), "line 1, column 10: \\u needs four hexadecimal digits"},
	{TEXT("\"\\ud800\\u0041\""), "line 1, column 2: lone surrogate"},
	{TEXT("\"\x80\""), "line 1, column 2: bad UTF-8 in a string"},
	{TEXT("\"\xbf\""), "line 1, column 2: bad UTF-8 in a string"},
	{TEXT("\"\xc0\x80\""), "line 1, column 2: bad UTF-8 in a string"},
	{TEXT("\"\xc1\xbf\""), "line 1, column 2: bad UTF-8 in a string"},
	{TEXT("\"\xc3\""), "line 1, column 2: bad UTF-8 in a string"},
	{TEXT("\"\xc3"), "line 1, column 2: bad UTF-8 in a string"},
	{TEXT("\"\xe0\x9f\xbf\""), "line 1, column 2: bad UTF-8 in a string"},
	{TEXT("\"\xe2\x82\""), "line 1, column 2: bad UTF-8 in a string"},
	{TEXT("\"\xe2\x82"), "line 1, column 2: bad UTF-8 in a string"},
	{TEXT("\"\xed\xa0\x80\""), "line 1, column 2: bad UTF-8 in a string"},
	{TEXT("\"\xed\xbf\xbf\""), "line 1, column 2: bad UTF-8 in a string"},
	{TEXT("\"\xf0\x8f\xbf\xbf\""), "line 1, column 2: bad UTF-8 in a string"},
	{TEXT("\"\xf4\x90\x80\x80\""), "line 1, column 2: bad UTF-8 in a string"},
	{TEXT("\"\xf5\x80\x80\x80\""), "line 1, column 2: bad UTF-8 in a string"},
	{TEXT("\"\xf0\x90\x80\""), "line 1, column 2: bad UTF-8 in a string"},
	{TEXT("\"\xff\""), "line 1, column 2: bad UTF-8 in a string"},
	{TEXT("\"\\n\xe9\""), "line 1, column 4: bad UTF-8 in a string"},
	{TEXT("\"\xc3\xa9\xff\""), "line 1, column 3: bad UTF-8 in a string"},
	{TEXT("\xef\xbb\xbf{}"), "line 1, column 1: expected a value"},
	{TEXT("\xff\xfe{\0}\0"), "line 1, column 1: expected a value"},
	{TEXT("["), "line 1, column 2: the text ends where a value is expected"},
	{TEXT("[1"), "line 1, column 3: the text ends inside an array"},
	{TEXT("[1,"), "line 1, column 4: the text ends where a value is expected"},
	{TEXT("[1,]"), "line 1, column 4: expected a value"},
	{TEXT("[,1]"), "line 1, column 2: expected a value"},
	{TEXT("[1,,2]"), "line 1, column 4: expected a value"},
	{TEXT("[1 2]"), "line 1, column 4: expected ',' or ']' after an item"},
	{TEXT("[1}"), "line 1, column 3: expected ',' or ']' after an item"},
	{TEXT("[1:2]"), "line 1, column 3: expected ',' or ']' after an item"},
	{TEXT("[]]"), "line 1, column 3: text after the end of the value"},
	{TEXT("]"), "line 1, column 1: expected a value"},
	{TEXT("[\f1]"), "line 1, column 2: expected a value"},
	{TEXT("[\v1]"), "line 1, column 2: expected a value"},
	{TEXT("[\xc2\xa0"
	      "1]"),
		"line 1, column 2: expected a value"},
	{TEXT("[1]\0"), "line 1, column 4: text after the end of the value"},
	{TEXT("[1]x"), "line 1, column 4: text after the end of the value"},
	{TEXT("[1] // why"), "line 1, column 5: text after the end of the value"},
	{TEXT("/* why */ 1"), "line 1, column 1: expected a value"},
	{TEXT("{"), "line 1, column 2: the text ends inside an object"},
	{TEXT("{\"a\""), "line 1, column 5: the text ends inside an object"},
	{TEXT("{\"a\":"), "line 1, column 6: the text ends where a value is expected"},
	{TEXT("{\"a\":1"), "line 1, column 7: the text ends inside an object"},
	{TEXT("{\"a\":1,"), "line 1, column 8: the text ends inside an object"},
	{TEXT("{\"a\":1,}"), "line 1, column 8: expected a member name in quotes"},
	{TEXT("{,\"a\":1}"), "line 1, column 2: expected a member name in quotes"},
	{TEXT("{a:1}"), "line 1, column 2: expected a member name in quotes"},
	{TEXT("{'a':1}"), "line 1, column 2: expected a member name in quotes"},
	{TEXT("{1:1}"), "line 1, column 2: expected a member name in quotes"},
	{TEXT("{null:1}"), "line 1, column 2: expected a member name in quotes"},
	{TEXT("{\"a\" 1}"), "line 1, column 6: expected ':' after a member name"},
	{TEXT("{\"a\"=1}"), "line 1, column 5: expected ':' after a member name"},
	{TEXT("{\"a\",1}"), "line 1, column 5: expected ':' after a member name"},
	{TEXT("{\"a\"::1}"), "line 1, column 6: expected a value"},
	{TEXT("{\"a\":}"), "line 1, column 6: expected a value"},
	{TEXT("{\"a\":1 \"b\":2}"), "line 1, column 8: expected ',' or '}' after a member"},
	{TEXT("{\"a\":1]"), "line 1, column 7: expected ',' or '}' after a member"},
	{TEXT("{\"a\":1}}"), "line 1, column 8: text after the end of the value"},
	{TEXT("{\"a\":1,\n \"a\":2}"), "line 2, column 2: member \"a\" appears twice"},
	{TEXT("{\"a\":1,\"\\u0061\":2}"), "line 1, column 19: member \"a\" appears twice"},
	{TEXT("{\"\\n\":1,\"\\u000a\":2}"), "line 1, column 20: member \"\\n\" appears twice"},
	{TEXT("{\"\":1,\"\":1}"), "line 1, column 7: member \"\" appears twice"},
	{TEXT("{\"x\":{\"a\":1,\"b\":2,\"a\":1}}"),
		"line 1, column 19: member \"a\" appears twice"},
	{TEXT("[\n\n  {\"\xc3\xa9\xe2\x82\xac\": tru}]"), "line 3, column 10: expected a value"},
};

static void test_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(refused); i++) {
		_arena_ struct arena *arena = arena_new(0);
		struct json *value = NULL;
		struct err err = {0};
		int code;

		code = parse_exact(refused[i].text, arena, &value, &err);
		if (code != -EINVAL)
			fail_msg("%.*s: %d", SPAN_ARGS(refused[i].text), code);
		assert_int_equal(err.code, -EINVAL);
		assert_null(value); /* untouched */
		assert_string_equal(err.message, refused[i].message);
		assert_int_equal(json_parse(refused[i].text, arena, &value, NULL), -EINVAL);
	}
}

/* Nothing but the whole text is a document: every proper prefix of one is refused. */
static void test_prefixes_are_refused(void **state)
{
	static const char text[] = "{\"a\\n\":[1.5e+3,true,null,\"\\ud83d\\ude00 \xe2\x82\xac\"],"
				   "\"b\":{\"c\":false}}";

	(void)state;
	for (size_t length = 0; length <= strlen(text); length++) {
		_arena_ struct arena *arena = arena_new(0);
		struct json *value;
		int code = parse_exact((struct span){text, length}, arena, &value, NULL);

		assert_int_equal(code, length == strlen(text) ? 0 : -EINVAL);
	}
}

/* Each special byte at each offset: the eight-bytes-at-a-time scan must find them all. */
static void test_special_bytes_at_every_offset(void **state)
{
	(void)state;
	for (int byte = 0; byte < 256; byte++) {
		for (size_t offset = 0; offset < 20; offset++) {
			_arena_ struct arena *arena = arena_new(0);
			char text[32];
			bool good = byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
			struct json *value;
			int code;

			memset(text, 'x', sizeof(text));
			text[0] = text[31] = '"';
			text[1 + offset] = (char)byte;
			code = parse_exact((struct span){text, sizeof(text)}, arena, &value, NULL);
			if ((code == 0) != good)
				fail_msg("byte %d at %zu: %d", byte, offset, code);
		}
	}
}

static struct span nested(struct arena *arena, const char *open, const char *close, size_t depth)
{
	_buffer_ struct buffer text = {0};

	for (size_t i = 0; i < depth; i++)
		buffer_add_string(&text, open);
	buffer_add_string(&text, "1");
	for (size_t i = 0; i < depth; i++)
		buffer_add_string(&text, close);
	return arena_copy_span(arena, buffer_span(&text));
}

static void test_depth(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct json *value;
	struct err err = {0};

	(void)state;
	assert_int_equal(json_parse(nested(arena, "[", "]", JSON_DEPTH_MAX), arena, &value, &err),
		0);
	assert_int_equal(json_parse(nested(arena, "{\"a\":", "}", JSON_DEPTH_MAX), arena, &value,
				 &err),
		0);
	assert_int_equal(json_parse(nested(arena, "[", "]", JSON_DEPTH_MAX + 1), arena, &value,
				 &err),
		-EINVAL);
	assert_string_equal(err.message, "line 1, column 65: nested too deeply");
	assert_int_equal(json_parse(nested(arena, "{\"a\":[", "]}", JSON_DEPTH_MAX / 2 + 1), arena,
				 &value, &err),
		-EINVAL);
	assert_int_equal(json_parse(nested(arena, "[", "", 100000), arena, &value, &err), -EINVAL);
	/* Depth is counted, not brackets: many beside each other are fine. */
	for (size_t i = 0; i < JSON_DEPTH_MAX + 1; i++)
		assert_int_equal(json_parse(SPAN("[[],[],[[]]]"), arena, &value, &err), 0);
}

static void test_numbers_are_exact(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	int64_t integer = 7;
	double number;

	(void)state;
	assert_true(json_integer(parse(arena, "9007199254740993"), &integer));
	assert_true(integer == INT64_C(9007199254740993));
	assert_true(json_integer(parse(arena, "9223372036854775807"), &integer));
	assert_true(integer == INT64_MAX);
	assert_true(json_integer(parse(arena, "-9223372036854775808"), &integer));
	assert_true(integer == INT64_MIN);
	assert_true(json_integer(parse(arena, "-0"), &integer));
	assert_true(integer == 0);
	integer = 7;
	assert_false(json_integer(parse(arena, "9223372036854775808"), &integer));
	assert_false(json_integer(parse(arena, "-9223372036854775809"), &integer));
	assert_false(json_integer(parse(arena, "1.0"), &integer));
	assert_false(json_integer(parse(arena, "1e2"), &integer));
	assert_false(json_integer(parse(arena, "\"1\""), &integer));
	assert_false(json_integer(NULL, &integer));
	assert_true(integer == 7);

	assert_true(json_double(parse(arena, "0.1"), &number));
	assert_true(number == 0.1);
	assert_true(json_double(parse(arena, "-1.25e-3"), &number));
	assert_true(number == -1.25e-3);
	assert_true(json_double(
		parse(arena, "0.1000000000000000055511151231257827021181583404541015625"),
		&number));
	assert_true(number == 0.1);
	assert_true(json_double(parse(arena, "1e-999"), &number));
	assert_true(number == 0);
	assert_false(json_double(parse(arena, "1e999"), &number));
	assert_false(json_double(parse(arena, "\"1\""), &number));
}

static void test_strings_without_escapes_are_not_copied(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	const char *text = "{\"name\":\"plain \xe2\x82\xac\",\"other\":\"a\\tb\"}";
	struct json *value;
	struct span plain, escaped;

	(void)state;
	assert_int_equal(json_parse(span_of(text), arena, &value, NULL), 0);
	plain = json_get_text(value, "name");
	escaped = json_get_text(value, "other");
	assert_ptr_equal(plain.data, text + 9);
	assert_true(span_is(escaped, "a\tb"));
	assert_false(escaped.data >= text && escaped.data < text + strlen(text));
	assert_true(span_equal(json_text(parse(arena, "\"a\\u0000b\"")), SPAN("a\0b")));
}

static void test_lines(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	const struct json *value = parse(arena, "\n{\n\t\"a\": 1,\r\n\"b\":\n[2,\n3]}");

	(void)state;
	assert_int_equal(value->line, 2);
	assert_int_equal(json_get(value, "a")->line, 3);
	assert_int_equal(json_get(value, "b")->line, 5);
	assert_int_equal(json_item(json_get(value, "b"), 0)->line, 5);
	assert_int_equal(json_item(json_get(value, "b"), 1)->line, 6);
}

static struct span big_object(struct arena *arena, size_t count, size_t repeated)
{
	_buffer_ struct buffer text = {0};

	buffer_add_char(&text, '{');
	for (size_t i = 0; i < count; i++)
		buffer_format(&text, "\"member%zu\":%zu,", i, i);
	buffer_format(&text, "\"member%zu\":0}", repeated);
	return arena_copy_span(arena, buffer_span(&text));
}

static void test_objects_of_every_size(void **state)
{
	static const size_t sizes[] = {1, 2, 7, 8, 9, 10, 15, 16, 17, 100, 1000, 100000};

	(void)state;
	for (size_t i = 0; i < LENGTH(sizes); i++) {
		_arena_ struct arena *arena = arena_new(0);
		struct json *value;
		struct err err = {0};
		size_t count = sizes[i];
		char name[32], message[64];

		assert_int_equal(json_parse(big_object(arena, count, count), arena, &value, &err),
			0);
		assert_int_equal(json_count(value), count + 1);
		assert_int_equal(value->object.table != NULL, count + 1 > 8);
		for (size_t j = 0; j < count; j++) {
			snprintf(name, sizeof(name), "member%zu", j);
			assert_int_equal(json_get_integer(value, name, -1), j);
		}
		assert_null(json_get(value, "member"));
		assert_null(json_get(value, "Member0"));
		for (size_t j = 0; j < count; j += 1 + count / 3) {
			assert_int_equal(json_parse(big_object(arena, count, j), arena, &value,
						 &err),
				-EINVAL);
			snprintf(message, sizeof(message), "member \"member%zu\" appears twice", j);
			assert_non_null(strstr(err.message, message));
		}
	}
}

static void test_names_of_every_length(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct json *object = json_new_object(arena), *reread;
	char name[65] = {0};

	(void)state;
	for (size_t length = 0; length < sizeof(name) - 1; length++) {
		json_set_integer(arena, object, name, (int64_t)length);
		name[length] = 'n';
	}
	assert_int_equal(json_parse(json_to_text(object, arena), arena, &reread, NULL), 0);
	assert_true(json_equal(object, reread));
	for (size_t length = 0; length < sizeof(name) - 1; length++) {
		name[length] = '\0';
		assert_int_equal(json_get_integer(reread, name, -1), length);
		name[length] = 'n';
	}
}

static void test_arena_cap(void **state)
{
	static const char *const texts[] = {
		"[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]",
		"{\"a\":{\"b\":{\"c\":[{},{},{},{}]}}}",
		"\"\\n................................................................\"",
		"{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":1,\"i\":1}"};

	(void)state;
	for (size_t i = 0; i < LENGTH(texts); i++) {
		bool passed = false;

		/* The answer is the same for each allocation that fails. */
		for (size_t cap = 1; cap < 8192; cap += 16) {
			_arena_ struct arena *arena = arena_new(cap);
			struct json *value = NULL;
			struct err err = {0};
			int code = json_parse(span_of(texts[i]), arena, &value, &err);

			if (code == 0) {
				passed = true;
				continue;
			}
			assert_false(passed);
			assert_int_equal(code, -E2BIG);
			assert_null(value);
			assert_string_equal(err.message,
				"the JSON text needs more memory than it may have");
		}
		assert_true(passed);
	}
}

static void test_reading(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	const struct json *value =
		parse(arena, "{\"s\":\"x\",\"n\":5,\"t\":true,\"f\":false,\"z\":null,"
			     "\"a\":[1,2],\"o\":{\"p\":{\"q\":\"deep\"}}}");
	int64_t sum = 0;

	(void)state;
	assert_true(span_is(json_get_text(value, "s"), "x"));
	assert_null(json_get_text(value, "n").data);
	assert_null(json_get_text(value, "missing").data);
	assert_null(json_text(NULL).data);
	assert_int_equal(json_get_integer(value, "n", 9), 5);
	assert_int_equal(json_get_integer(value, "s", 9), 9);
	assert_int_equal(json_get_integer(value, "missing", 9), 9);
	assert_true(json_get_bool(value, "t", false));
	assert_false(json_get_bool(value, "f", true));
	assert_true(json_get_bool(value, "s", true));
	assert_false(json_get_bool(NULL, "t", false));
	assert_true(json_is_true(json_get(value, "t")));
	assert_false(json_is_true(json_get(value, "f")));
	assert_non_null(json_get(value, "z"));
	assert_true(json_is_absent(json_get(value, "z")));
	assert_true(json_is_absent(json_get(value, "missing")));
	assert_false(json_is_absent(json_get(value, "f")));
	assert_true(span_is(json_text(json_path(value, "o.p.q")), "deep"));
	assert_ptr_equal(json_path(value, "s"), json_get(value, "s"));
	assert_null(json_path(value, "o.p.q.r"));
	assert_null(json_path(value, "o.x.q"));
	assert_null(json_path(value, ""));
	assert_null(json_get(json_get(value, "a"), "x"));
	assert_null(json_get(NULL, "x"));
	assert_int_equal(json_count(value), 7);
	assert_int_equal(json_count(json_get(value, "a")), 2);
	assert_int_equal(json_count(json_get(value, "s")), 0);
	assert_int_equal(json_count(NULL), 0);
	assert_null(json_item(json_get(value, "a"), 2));
	assert_null(json_item(value, 0));
	assert_null(json_item(NULL, 0));
	JSON_EACH_ITEM (json_get(value, "a"), item)
		sum += json_is(item, JSON_NUMBER) ? item->text.data[0] - '0' : 100;
	JSON_EACH_ITEM (json_get(value, "o"), item)
		sum += item ? 1000 : 2000;
	JSON_EACH_ITEM (NULL, item)
		sum += item ? 1000 : 2000;
	JSON_EACH_ITEM (parse(arena, "[]"), item)
		sum += item ? 1000 : 2000;
	assert_int_equal(sum, 3);
	JSON_EACH_ITEM (json_get(value, "a"), item) {
		if (sum == 3) {
			sum = 4;
			continue;
		}
		assert_true(item->text.data[0] == '2');
		break;
	}
	assert_string_equal(json_type_name(JSON_OBJECT), "an object");
	assert_string_equal(json_type_name(JSON_TRUE), json_type_name(JSON_FALSE));
}

static void test_building(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct json *object = json_new_object(arena), *array = json_new_array(arena);
	char name[] = "copied";

	(void)state;
	assert_writes(object, "{}");
	assert_writes(array, "[]");
	json_append(arena, array, json_new_null(arena));
	json_append(arena, array, json_new_bool(arena, true));
	json_append(arena, array, json_new_integer(arena, INT64_MIN));
	json_append(arena, array, json_new_format(arena, "%s-%d", "web", 7));
	json_append(arena, array, json_new_string(arena, SPAN("q\"\\\n\x01\0/")));
	json_append(arena, array, NULL);
	assert_writes(array,
		"[null,true,-9223372036854775808,\"web-7\",\"q\\\"\\\\\\n\\u0001\\u0000/\"]");
	json_set(arena, object, "list", array);
	json_set(arena, object, "left out", NULL);
	json_set_string(arena, object, name, SPAN("x"));
	name[0] = 'C';
	json_set_integer(arena, object, "n", 1);
	json_set_bool(arena, object, "b", false);
	json_set_integer(arena, object, "list", 2);
	assert_writes(object, "{\"list\":2,\"copied\":\"x\",\"n\":1,\"b\":false}");
	json_unset(object, "copied");
	json_unset(object, "copied");
	assert_writes(object, "{\"list\":2,\"n\":1,\"b\":false}");
	json_set_string(arena, object, "copied", SPAN_NONE);
	assert_writes(object, "{\"list\":2,\"n\":1,\"b\":false,\"copied\":\"\"}");
}

static void test_times_and_doubles(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct json *object = json_new_object(arena);
	static const double numbers[] = {0, 1, -1, 0.1, 1.0 / 3, 1e21, 1e-7, 5e-324,
		1.7976931348623157e308, 9007199254740993.0, 123456.789};

	(void)state;
	json_set_time(arena, object, "a", INT64_C(1700000000123));
	json_set_time(arena, object, "b", INT64_C(1700000000000));
	json_set_time(arena, object, "c", 5);
	json_set_time(arena, object, "d", -1500);
	assert_writes(object,
		"{\"a\":1700000000.123,\"b\":1700000000.000,\"c\":0.005,\"d\":-1.500}");
	for (size_t i = 0; i < LENGTH(numbers); i++) {
		struct json *number = json_new_double(arena, numbers[i]), *reread;
		double back;

		assert_int_equal(json_parse(json_to_text(number, arena), arena, &reread, NULL), 0);
		assert_true(json_double(reread, &back));
		assert_true(back == numbers[i]);
	}
	assert_writes(json_new_double(arena, 0.1), "0.1");
	assert_writes(json_new_double(arena, NAN), "null");
	assert_writes(json_new_double(arena, INFINITY), "null");
}

/* Against a model: a plain list of names and values. */
static void test_building_like_a_list(void **state)
{
	struct random_seeded seeded;

	(void)state;
	random_seeded_init(&seeded, 42);
	for (int round = 0; round < 50; round++) {
		_arena_ struct arena *arena = arena_new(0);
		struct json *object = json_new_object(arena);
		struct {
			unsigned name;
			int64_t value;
		} model[64];
		size_t count = 0;

		for (int step = 0; step < 300; step++) {
			unsigned number = (unsigned)random_below(&seeded.random, 48);
			size_t at = 0;
			char name[16];

			snprintf(name, sizeof(name), "n%u", number);
			while (at < count && model[at].name != number)
				at++;
			if (random_below(&seeded.random, 4) == 0) {
				json_unset(object, name);
				if (at < count)
					memmove(&model[at], &model[at + 1],
						(--count - at) * sizeof(model[0]));
			} else {
				json_set_integer(arena, object, name, step);
				model[at].name = number;
				model[at].value = step;
				count += at == count;
			}
			if (random_below(&seeded.random, 32) == 0)
				object = json_copy_object(arena, object);
			assert_int_equal(json_count(object), count);
			for (size_t i = 0; i < count; i++) {
				snprintf(name, sizeof(name), "n%u", model[i].name);
				assert_true(span_is(object->object.members[i].name, name));
				assert_int_equal(json_get_integer(object, name, -1),
					model[i].value);
			}
		}
	}
}

static void test_a_copy_leaves_the_original(void **state)
{
	static const char text[] =
		"{\"a\":1,\"b\":2,\"c\":3,\"d\":4,\"e\":5,\"f\":6,\"g\":7,\"h\":8,\"i\":9}";
	_arena_ struct arena *arena = arena_new(0);
	const struct json *original = parse(arena, text);
	struct json *copy = json_copy_object(arena, original);

	(void)state;
	assert_true(json_equal(copy, original));
	json_set_integer(arena, copy, "a", 100);
	json_set_integer(arena, copy, "j", 10);
	json_unset(copy, "b");
	assert_writes(original, text);
	assert_int_equal(json_get_integer(original, "a", 0), 1);
	assert_int_equal(json_get_integer(original, "b", 0), 2);
	assert_null(json_get(original, "j"));
	assert_writes(copy,
		"{\"a\":100,\"c\":3,\"d\":4,\"e\":5,\"f\":6,\"g\":7,\"h\":8,\"i\":9,\"j\":10}");
	assert_int_equal(json_count(json_copy_object(arena, NULL)), 0);
}

static void test_long_arrays(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct json *array = json_new_array(arena), *reread;
	size_t at = 0;

	(void)state;
	for (int64_t i = 0; i < 10000; i++)
		json_append(arena, array, json_new_integer(arena, i));
	assert_int_equal(json_parse(json_to_text(array, arena), arena, &reread, NULL), 0);
	assert_int_equal(json_count(reread), 10000);
	JSON_EACH_ITEM (reread, item) {
		int64_t integer;

		assert_true(json_integer(item, &integer));
		assert_int_equal(integer, at++);
	}
	assert_int_equal(at, 10000);
	assert_true(json_equal(array, reread));
}

static void test_equal(void **state)
{
	static const struct {
		const char *a, *b;
		bool equal;
	} rows[] = {
		{"1", "1.0", true},
		{"1", "10e-1", true},
		{"100", "1e2", true},
		{"100", "1E+2", true},
		{"0", "-0", true},
		{"0", "0.000e7", true},
		{"0e99999999999999999999", "0", true},
		{"1.50", "1.5", true},
		{"150e-2", "1.5", true},
		{"0.05", "5e-2", true},
		{"10.01", "1001e-2", true},
		{"9007199254740993", "9007199254740992", false},
		{"9007199254740993.0", "9007199254740992", false},
		{"9007199254740993.0", "9007199254740993", true},
		{"1", "-1", false},
		{"1", "10", false},
		{"12", "1.2", false},
		{"12", "123", false},
		{"1.2", "1.23", false},
		{"1e400", "1e401", false},
		{"1e400", "10e399", true},
		{"1e00000000000000000000002", "100", true},
		{"1e99999999999999999999", "1e99999999999999999999", true},
		{"1e99999999999999999999", "1e99999999999999999998", false},
		{"1e99999999999999999999", "1.0E+099999999999999999999", true},
		{"1e99999999999999999999", "1e-99999999999999999999", false},
		{"1e99999999999999999999", "1", false},
		{"1", "\"1\"", false},
		{"true", "false", false},
		{"null", "false", false},
		{"\"a\"", "\"\\u0061\"", true},
		{"\"a\"", "\"a\\u0000\"", false},
		{"[1,2]", "[2,1]", false},
		{"[1,2]", "[1,2.0]", true},
		{"[1]", "[1,1]", false},
		{"{\"a\":1,\"b\":[2]}", "{\"b\":[2],\"a\":1}", true},
		{"{\"a\":1}", "{\"a\":1,\"b\":2}", false},
		{"{\"a\":1,\"b\":2}", "{\"a\":1,\"c\":2}", false},
		{"{\"a\":1}", "{\"a\":2}", false},
		{"{}", "[]", false},
		{"{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":1,\"i\":1}",
			"{\"i\":1,\"h\":1,\"g\":1,\"f\":1,\"e\":1,\"d\":1,\"c\":1,\"b\":1,\"a\":1}",
			true},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		_arena_ struct arena *arena = arena_new(0);
		struct json *a = parse(arena, rows[i].a), *b = parse(arena, rows[i].b);

		if (json_equal(a, b) != rows[i].equal || json_equal(b, a) != rows[i].equal)
			fail_msg("%s and %s", rows[i].a, rows[i].b);
		assert_true(json_equal(a, a));
		assert_false(json_equal(a, NULL));
	}
	assert_true(json_equal(NULL, NULL));
}

static void test_pretty(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	_buffer_ struct buffer out = {0};

	(void)state;
	json_write_pretty(parse(arena, "{\"a\":[1,{\"b\":null}],\"c\":{},\"d\":[],\"e\":\"x\"}"),
		&out);
	assert_string_equal(out.data, "{\n"
				      "  \"a\": [\n"
				      "    1,\n"
				      "    {\n"
				      "      \"b\": null\n"
				      "    }\n"
				      "  ],\n"
				      "  \"c\": {},\n"
				      "  \"d\": [],\n"
				      "  \"e\": \"x\"\n"
				      "}");
}

/* A string of any bytes is written as text that can be parsed. */
static void test_written_text_is_always_json(void **state)
{
	struct random_seeded seeded;
	_buffer_ struct buffer out = {0};

	(void)state;
	json_write_string(SPAN("a\xff\xc3(\xe2\x82"), &out);
	assert_string_equal(out.data, "\"a\xef\xbf\xbd\xef\xbf\xbd(\xef\xbf\xbd\xef\xbf\xbd\"");
	random_seeded_init(&seeded, 7);
	for (int round = 0; round < 2000; round++) {
		_arena_ struct arena *arena = arena_new(0);
		struct json *value, *reread;
		char bytes[40];
		size_t length = (size_t)random_below(&seeded.random, sizeof(bytes));

		seeded.random.fill(&seeded.random, bytes, length);
		value = json_new_string(arena, (struct span){bytes, length});
		assert_int_equal(parse_exact(json_to_text(value, arena), arena, &reread, NULL), 0);
	}
}

static void test_writing_stops_at_the_buffers_cap(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct json *value =
		parse(arena, "{\"name\":[\"some text\",12345,true],\"other\":{\"a\\n\":1}}");
	size_t whole = json_to_text(value, arena).length;

	(void)state;
	for (size_t cap = 1; cap <= whole; cap++) {
		_buffer_ struct buffer out = BUFFER_WITH_CAP(cap), pretty = BUFFER_WITH_CAP(cap);

		json_write(value, &out);
		assert_int_equal(buffer_failed(&out), cap < whole);
		assert_true(out.length <= cap);
		json_write_pretty(value, &pretty);
		assert_true(buffer_failed(&pretty));
		assert_true(pretty.length <= cap);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_accepted),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_prefixes_are_refused),
		cmocka_unit_test(test_special_bytes_at_every_offset),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_numbers_are_exact),
		cmocka_unit_test(test_strings_without_escapes_are_not_copied),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_objects_of_every_size),
		cmocka_unit_test(test_names_of_every_length),
		cmocka_unit_test(test_arena_cap),
		cmocka_unit_test(test_reading),
		cmocka_unit_test(test_building),
		cmocka_unit_test(test_times_and_doubles),
		cmocka_unit_test(test_building_like_a_list),
		cmocka_unit_test(test_a_copy_leaves_the_original),
		cmocka_unit_test(test_long_arrays),
		cmocka_unit_test(test_equal),
		cmocka_unit_test(test_pretty),
		cmocka_unit_test(test_written_text_is_always_json),
		cmocka_unit_test(test_writing_stops_at_the_buffers_cap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
