/* TOML: every expectation here is the result of Helm 4.2's toToml and fromToml. */
#include "chart/toml.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/memory.h"

/* json: NULL if the text is refused. */
static const struct {
	const char *text, *json;
} texts[] = {
	{"", "{}"},
	{"# c\n\r\n", "{}"},
	{"a = \"x\"\n[b]\nc=1.5\n[[d]]\ne=true\n[[d]]\ne=false",
		"{\"a\":\"x\",\"b\":{\"c\":1.5},\"d\":[{\"e\":true},{\"e\":false}]}"},
	{"a=2020-01-01\nb=10:00:00\nc=2020-01-01 00:00:00Z\nd=1979-05-27T00:32:00.999999-07:00",
		"{\"a\":\"2020-01-01T00:00:00Z\",\"b\":\"0000-01-01T10:00:00Z\",\"c\":\"2020-01-"
		"01T00:"
		"00:00Z\",\"d\":\"1979-05-27T00:32:00.999999-07:00\"}"},
	{"a=0x1F\nb=1_000\nc=+1\nd=1e3\ne=9223372036854775807",
		"{\"a\":31,\"b\":1000,\"c\":1,\"d\":1000.0,\"e\":9223372036854775807}"},
	{"a=\"\"\"\nx\\\n  y\"\"\"\nb='''l\n'''\nc=\"\\u00e9\\x41\\e\"",
		"{\"a\":\"xy\",\"b\":\"l\\n\",\"c\":\"\xc3\xa9"
		"A\\u001b\"}"},
	{"a={b=1,c.d=2,}\n\"x y\".z=[1,[2],{q=3}, # c\n]",
		"{\"a\":{\"b\":1,\"c\":{\"d\":2}},\"x y\":{\"z\":[1,[2],{\"q\":3}]}}"},
	{"[a.b]\nc=1\n[a]\nd=2", "{\"a\":{\"b\":{\"c\":1},\"d\":2}}"},
	{"[[a]]\n[a.b]\nc=1\n[[a]]", "{\"a\":[{\"b\":{\"c\":1}},{}]}"},
	{"a=1\na=2", NULL},
	{"[a]\n[a]", NULL},
	{"a", NULL},
	{"a=", NULL},
	{"a=01", NULL},
	{"a=.5", NULL},
	{"a=5.", NULL},
	{"a=99999999999999999999", NULL},
	{"a=\"\\q\"", NULL},
	{"a = 1 b = 2", NULL},
	{"\xc3\xa9=1", NULL},
	{"a=1__0", NULL},
	{"a=2020-02-30", NULL},
	{"a='x\n'", NULL},
};

static void test_reading(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(texts); i++) {
		_arena_ struct arena *arena = arena_new(0);
		_buffer_ struct buffer out = {0};
		struct json *value;
		struct err err;
		int code = toml_parse(span_of(texts[i].text), arena, &value, &err);

		if (!texts[i].json) {
			if (code >= 0)
				fail_msg("%s was accepted", texts[i].text);
			assert_int_equal(strncmp(err.message, "toml: line ", 11), 0);
			continue;
		}
		if (code < 0)
			fail_msg("%s: %s", texts[i].text, err.message);
		json_write(value, &out);
		assert_string_equal(out.data, texts[i].json);
	}
}

static const struct {
	const char *json, *toml;
} values[] = {
	{"{}", ""},
	{"{\"a\":1.0,\"b\":\"x\",\"c\":[1,2.5],\"d\":{\"e\":1,\"f\":{\"g\":2}},\"z\":[{\"q\":1},{"
	 "\"r\":"
	 "{\"s\":1}}]}",
		"a = 1.0\nb = \"x\"\nc = [1, 2.5]\n\n[d]\n  e = 1\n  [d.f]\n    g = "
		"2\n\n[[z]]\n  q = 1\n\n[[z]]\n  [z.r]\n    s = 1\n"},
	{"{\"a\":[{\"b\":1},2],\"n\":null,\"\":true,\"c d\":1e21,\"e\":1234567.0}",
		"\"\" = true\na = [{b = 1}, 2]\n\"c d\" = 1e21\ne = 1234567.0\n"},
	{"{\"t\":{\"u\":[{\"v\":[{\"w\":1}]}]}}",
		"[t]\n\n  [[t.u]]\n\n    [[t.u.v]]\n      w = 1\n"},
	{"{\"s\":\"q\\\"\\\\\\n\\t\\u0000\\u007f\"}", "s = \"q\\\"\\\\\\n\\t\\u0000\\u007f\"\n"},
	{"{\"a\":[{}],\"b\":[],\"c\":{}}", "b = []\n\n[[a]]\n\n[c]\n"},
	{"{\"a\":[null]}", NULL},
};

static void test_writing(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(values); i++) {
		_arena_ struct arena *arena = arena_new(0);
		_buffer_ struct buffer out = {0};
		struct json *value;
		struct err err;
		int code;

		assert_int_equal(json_parse(span_of(values[i].json), arena, &value, NULL), 0);
		code = toml_write(value, &out, &err);
		assert_int_equal(code, values[i].toml ? 0 : -EINVAL);
		if (values[i].toml)
			assert_string_equal(out.data ? out.data : "", values[i].toml);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reading),
		cmocka_unit_test(test_writing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
