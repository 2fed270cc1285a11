/* YAML as Kubernetes tools read it: every expectation here is the result of Helm 4.2's fromYaml. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/yaml.h"

#define TEXT(literal)                                                                              \
	{                                                                                          \
		literal, sizeof(literal) - 1                                                       \
	}

static const struct {
	struct span text;
	const char *json;
} accepted[] = {
	{TEXT(""), "null"},
	{TEXT("[y, Y, yes, Yes, YES, yES, on, On, true, TRUE]"),
		"[true,true,true,true,true,\"yES\",true,true,true,true]"},
	{TEXT("[n, no, No, off, OFF, false, oFF]"),
		"[false,false,false,false,false,false,\"oFF\"]"},
	{TEXT("[~, null, Null, NULL, nULL, '']"), "[null,null,null,null,\"nULL\",\"\"]"},
	{TEXT("[0777, 0o777, 0b11, -0b1, 0x1F, +0x1, 0x_1, 08, 0_8]"), "[511,511,3,-1,31,1,1,8,8]"},
	{TEXT("[1_000, 1__0, 1_0.5, .5_5, ._5, 0b+1, -0b-1]"),
		"[1000,10,10.5,0.55,\"._5\",1,\"-0b-1\"]"},
	{TEXT("[1e3, .5, 5., 1.e5, +.5, .1e3, .e3, -0, -0.0, 1e21, 1e-7]"),
		"[1000,0.5,5,100000,0.5,100,\".e3\",0,-0,1e+21,1e-7]"},
	{TEXT("[18446744073709551615, 18446744073709551616, 1e400, 0xfffffffffffffffff]"),
		"[18446744073709551615,18446744073709552000,\"1e400\",\"0xfffffffffffffffff\"]"},
	{TEXT("[2001-01-01, 12:30:45, 2001-01-01T00:00:00Z]"),
		"[\"2001-01-01\",\"12:30:45\",\"2001-01-01T00:00:00Z\"]"},
	{TEXT("1: a\nyes: b\n1.5: c\n1e6: d\n16777217.0: e\n0777: f\n2001-01-01: g\n.inf: h\n"),
		"{\"1\":\"a\",\"true\":\"b\",\"1.5\":\"c\",\"1e+06\":\"d\",\"1.6777216e+07\":\"e\","
		"\"511\":\"f\",\"2001-01-01\":\"g\",\".inf\":\"h\"}"},
	{TEXT("a: 1\nb: 2\na: 3\n"), "{\"a\":3,\"b\":2}"},
	{TEXT("a: !!str 5\nb: !!int '5'\nc: !!float 5\nd: !!binary aGk=\ne: !foo 5\nf: ! 5\n"),
		"{\"a\":\"5\",\"b\":5,\"c\":5,\"d\":\"hi\",\"e\":\"5\",\"f\":\"5\"}"},
	{TEXT("a: !!set {b}\nc: !!map [d]\ne: !!bool yes\nf: !!binary gIE=\n"),
		"{\"a\":{\"b\":null},\"c\":[\"d\"],\"e\":true,\"f\":\"\xef\xbf\xbd\xef\xbf\xbd\"}"},
	{TEXT("a: &x {b: 1}\nc: *x\n*x2 : y\n"), NULL},
	{TEXT("a: &x k\n*x : z\n"), "{\"a\":\"k\",\"k\":\"z\"}"},
	{TEXT("a: &x {b: 1}\nc: *x\n"), "{\"a\":{\"b\":1},\"c\":{\"b\":1}}"},
	{TEXT("a: &x {b: 1}\nc: {b: 5, <<: *x}\nd: {<<: *x, b: 5}\n"),
		"{\"a\":{\"b\":1},\"c\":{\"b\":1},\"d\":{\"b\":5}}"},
	{TEXT("a: {<<: [{q: 1}, {q: 2, r: 3}]}\nb: {'<<': 1}\n"),
		"{\"a\":{\"q\":1,\"r\":3},\"b\":{\"<<\":1}}"},
	{TEXT("a: 1\n---\nb: [\n"), "{\"a\":1}"},
	{TEXT("a: [b:1, c]\n"), "{\"a\":[\"b:1\",\"c\"]}"},
	{TEXT("a: .inf\n"), NULL},
	{TEXT("~: a\n"), NULL},
	{TEXT("18446744073709551615: a\n"), NULL},
	{TEXT("? [a]\n: b\n"), NULL},
	{TEXT("a: *x\n"), NULL},
	{TEXT("a: &x [*x]\n"), NULL},
	{TEXT("<<: 5\n"), NULL},
	{TEXT("<<: [5]\n"), NULL},
	{TEXT("a: !!int x\n"), NULL},
	{TEXT("a: !!null x\n"), NULL},
	{TEXT("a: !!binary '!'\n"), NULL},
	{TEXT("%YAML 1.2\n---\na: 1\n"), NULL},
	{TEXT("a: \"\\/\"\n"), NULL},
	{TEXT("a: \x7f\n"), NULL},
	{TEXT("a: b: c\n"), NULL},
};

static void test_values(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(accepted); i++) {
		_arena_ struct arena *arena = arena_new(0);
		_buffer_ struct buffer out = {0};
		struct json *value;
		struct err err = {0};
		int code = yaml_parse_kubernetes(accepted[i].text, 1, arena, &value, &err);

		if (!accepted[i].json) {
			if (code != -EINVAL)
				fail_msg("%.*s: %d", SPAN_ARGS(accepted[i].text), code);
			assert_int_equal(strncmp(err.message, "line ", 5), 0);
			continue;
		}
		if (code < 0)
			fail_msg("%.*s: %s", SPAN_ARGS(accepted[i].text), err.message);
		json_write(value, &out);
		assert_string_equal(out.data, accepted[i].json);
	}
}

static void test_positions(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct json *value;
	struct err err;

	(void)state;
	assert_int_equal(yaml_parse_kubernetes(SPAN("a: 1\nb:\n  c: *x\n"), 10, arena, &value,
				 &err),
		-EINVAL);
	assert_string_equal(err.message, "line 12, column 6: unknown anchor 'x' referenced");
	assert_int_equal(yaml_parse_kubernetes(SPAN("a: b: c"), 5, arena, &value, &err), -EINVAL);
	assert_string_equal(err.message,
		"line 5, column 5: mapping values are not allowed in this context");
	assert_int_equal(yaml_parse_kubernetes(SPAN("a:\n  b: 1\n"), 1, arena, &value, NULL), 0);
	assert_int_equal(json_path(value, "a.b")->line, 2);
}

/* Ten levels of nine aliases each: a thousand million nodes in 400 bytes. */
static void test_aliases_are_bounded(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	_buffer_ struct buffer text = {0};
	struct json *value;
	struct err err;

	(void)state;
	buffer_add_string(&text, "a0: &a0 [x, x, x]\n");
	for (int i = 1; i < 10; i++) {
		buffer_format(&text, "a%d: &a%d [", i, i);
		for (int j = 0; j < 9; j++)
			buffer_format(&text, "%s*a%d", j > 0 ? ", " : "", i - 1);
		buffer_add_string(&text, "]\n");
	}
	assert_int_equal(yaml_parse_kubernetes(buffer_span(&text), 1, arena, &value, &err),
		-EINVAL);
	assert_non_null(strstr(err.message, "document contains excessive aliasing"));

	buffer_reset(&text);
	for (int i = 0; i <= YAML_ANCHORS_MAX; i++)
		buffer_format(&text, "- &a%d x\n", i);
	assert_int_equal(yaml_parse_kubernetes(buffer_span(&text), 1, arena, &value, &err), -E2BIG);
	assert_string_equal(err.message,
		"line 10001, column 3: more than 10000 anchors in one document");

	buffer_reset(&text);
	for (int i = 0; i <= YAML_KUBERNETES_DEPTH_MAX; i++)
		buffer_add_char(&text, '[');
	assert_int_equal(yaml_parse_kubernetes(buffer_span(&text), 1, arena, &value, &err),
		-EINVAL);
	assert_non_null(strstr(err.message, "nested too deeply (limit 400)"));
}

static void test_documents(void **state)
{
	static const char text[] = "# first\na: 1\n---\n# \xc3\xa9\nb: 2\n...\n---\n--- c\n";
	_arena_ struct arena *arena = arena_new(0);
	struct yaml_document *documents;
	struct err err;
	size_t count;

	(void)state;
	assert_int_equal(yaml_parse_documents(span_of(text), arena, &documents, &count, &err), 0);
	assert_int_equal(count, 4);
	assert_true(span_is(documents[0].text, "# first\na: 1\n"));
	assert_int_equal(documents[0].line, 1);
	assert_true(span_is(documents[1].text, "\n# \xc3\xa9\nb: 2\n"));
	assert_int_equal(documents[1].line, 3);
	assert_int_equal(json_get_integer(documents[1].value, "b", 0), 2);
	assert_true(json_is(documents[2].value, JSON_NULL));
	assert_true(span_is(json_text(documents[3].value), "c"));
	assert_int_equal(yaml_parse_documents(SPAN("a: 1\n---\nb: *x\n"), arena, &documents, &count,
				 &err),
		-EINVAL);
	assert_string_equal(err.message, "line 3, column 4: unknown anchor 'x' referenced");
}

static void test_splitting(void **state)
{
	struct span rest = SPAN("---\na: 1\n--- # note\nb: 2\n---\n---\nc: 3");
	struct yaml_document document;
	uint32_t line = 1;
	struct err err;

	(void)state;
	assert_int_equal(yaml_next_document(&rest, &line, &document, &err), 1);
	assert_true(span_is(document.text, "---\na: 1\n"));
	assert_int_equal(document.line, 1);
	assert_int_equal(yaml_next_document(&rest, &line, &document, &err), 1);
	assert_true(span_is(document.text, "b: 2\n"));
	assert_int_equal(document.line, 4);
	assert_int_equal(yaml_next_document(&rest, &line, &document, &err), 1);
	assert_true(span_is(document.text, "---\nc: 3"));
	assert_int_equal(document.line, 6);
	assert_int_equal(yaml_next_document(&rest, &line, &document, &err), 0);
	rest = SPAN("a: 1\n--- b\n");
	line = 1;
	assert_int_equal(yaml_next_document(&rest, &line, &document, &err), -EINVAL);
	assert_string_equal(err.message, "line 2: only a comment may follow '---' on its line");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_positions),
		cmocka_unit_test(test_aliases_are_bounded),
		cmocka_unit_test(test_documents),
		cmocka_unit_test(test_splitting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
