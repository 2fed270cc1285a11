/* Writing YAML: every expectation here is the output of Helm 4.2's toYaml and toYamlPretty. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/yaml.h"

#define LONG_KEY                                                                                   \
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" \
	"aaaaaaaaaa"                                                                               \
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

/* pretty: NULL where it is the same. */
static const struct {
	const char *json, *yaml, *pretty;
} cases[] = {
	{"null", "null\n", NULL},
	{"[true,false,1,-5,1.5]", "- true\n- false\n- 1\n- -5\n- 1.5\n", NULL},
	{"[1e6,1234567.5,1e20,1e21,1e-5,0.0001,-0.0]",
		"- 1000000\n- 1.2345675e+06\n- 1e+20\n- 1e+21\n- 1e-05\n- 0.0001\n- 0\n",
		"- 1e+06\n- 1.2345675e+06\n- 1e+20\n- 1e+21\n- 1e-05\n- 0.0001\n- -0\n"},
	{"{\"a\":[{\"b\":[1,[2]]}],\"c\":{},\"d\":[]}", "a:\n- b:\n  - 1\n  - - 2\nc: {}\nd: []\n",
		"a:\n  - b:\n      - 1\n      - - 2\nc: {}\nd: []\n"},
	{"[\"\",\"y\",\"yes\",\"off\",\"null\",\"~\",\"1\",\"0x1\",\"1e3\",\".5\",\"1_000\"]",
		"- \"\"\n- \"y\"\n- \"yes\"\n- \"off\"\n- \"null\"\n- \"~\"\n- \"1\"\n- \"0x1\"\n- "
		"\"1e3\"\n- \".5\"\n- \"1_000\"\n",
		NULL},
	{"[\"2001-01-01\",\"2001-13-01\",\"12:30\",\"1:60\",\"<<\",\"=\",\"0x\",\"NaN\"]",
		"- \"2001-01-01\"\n- 2001-13-01\n- \"12:30\"\n- 1:60\n- <<\n- =\n- 0x\n- NaN\n",
		NULL},
	{"[\"a: b\",\"a:b\",\"- a\",\"-a\",\"a #b\",\"a#b\",\"[a\",\"a]\",\"@a\",\"it's\",\"'a\"]",
		"- 'a: b'\n- a:b\n- '- a'\n- -a\n- 'a #b'\n- a#b\n- '[a'\n- a]\n- '@a'\n- it's\n- "
		"'''a'\n",
		NULL},
	{"[\" a\",\"a \",\"---\",\"...\",\"\\u00e9\",\"\\u00a0\"]",
		"- ' a'\n- 'a '\n- '---'\n- '...'\n- \xc3\xa9\n- \xc2\xa0\n", NULL},
	{"[\"a\\nb\",\"a\\nb\\n\",\"a\\n\\n\",\"\\na\",\" a\\nb\",\"a \\nb\",\"a\\nb \"]",
		"- |-\n  a\n  b\n- |\n  a\n  b\n- |+\n  a\n\n- |2-\n\n  a\n- |2-\n   a\n  b\n- \"a "
		"\\nb\"\n- \"a\\nb \"\n",
		NULL},
	{"\"a\\tb\"", "\"a\\tb\"\n", NULL},
	{"\"a\\n\\tb\"", "\"a\\n\\tb\"\n", "|-\n  a\n  \tb\n"},
	{"[\"\\u0000\\u0007\\u001b\",\"\\ud83d\\ude00\",\"a\\u2028b\",\"\\ufeffab\"]",
		"- \"\\0\\a\\e\"\n- \"\\U0001F600\"\n- 'a\xe2\x80\xa8  b'\n- "
		"\"\\uFEFF\\x61\\x62\"\n",
		NULL},
	{"\"a \\u0085 \\u0085 b\"", "|-\n  a\n  b\n", "\"a \\N \\N b\"\n"},
	{"\"a\\u007f\"", NULL, "\"a\\x7F\"\n"},
	{"{\"a\\u0085\":1}", NULL, "? \"a\\N\"\n: 1\n"},
	{"{\"a\\nb\":{\"c\":[1]}}", "? |-\n  a\n  b\n: c:\n  - 1\n",
		"? |-\n  a\n  b\n: c:\n    - 1\n"},
	{"{\"" LONG_KEY "\":[1,2]}", "? " LONG_KEY "\n: - 1\n  - 2\n", NULL},
	{"{\"a10\":1,\"a2\":1,\"A\":1,\"_\":1,\"10\":1,\"9\":1,\"a01\":1,\"b.c\":1,\"b-"
	 "c\":"
	 "1}",
		"_: 1\n\"9\": 1\n\"10\": 1\nA: 1\na01: 1\na2: 1\na10: 1\nb-c: 1\nb.c: 1\n",
		"_: 1\n\"9\": 1\n\"10\": 1\nA: 1\na01: 1\na2: 1\na10: 1\nb-c: 1\nb.c: 1\n"},
	{"{\"k\":\"word word word word word word word word word word word word word word word word "
	 "word "
	 "word word\"}",
		"k: word word word word word word word word word word word word word word word "
		"word\n  word word word\n",
		"k: word word word word word word word word word word word word word word word "
		"word "
		"word word word\n"},
};

static void check(const struct json *value, enum yaml_style style, const char *expected,
	const char *json)
{
	_buffer_ struct buffer out = {0};
	struct err err;
	int code = yaml_write(value, style, &out, &err);

	if (!expected) {
		assert_int_equal(code, -EINVAL);
		return;
	}
	if (code < 0)
		fail_msg("%s: %s", json, err.message);
	assert_string_equal(out.data, expected);
}

static void test_styles(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		_arena_ struct arena *arena = arena_new(0);
		struct json *value;

		assert_int_equal(json_parse(span_of(cases[i].json), arena, &value, NULL), 0);
		check(value, YAML_STYLE_KUBERNETES, cases[i].yaml, cases[i].json);
		check(value, YAML_STYLE_PRETTY, cases[i].pretty ? cases[i].pretty : cases[i].yaml,
			cases[i].json);
	}
}

static void test_cap(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	_buffer_ struct buffer out = BUFFER_WITH_CAP(16);
	struct json *value;
	struct err err;

	(void)state;
	assert_int_equal(json_parse(SPAN("\"more than sixteen bytes\""), arena, &value, NULL), 0);
	assert_int_equal(yaml_write(value, YAML_STYLE_KUBERNETES, &out, &err), -E2BIG);
	assert_string_equal(err.message, "the YAML text is longer than 16 bytes");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_styles),
		cmocka_unit_test(test_cap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
