/* --set and its siblings: every expectation here is the result of Helm 4.2. */
#include "chart/set_values.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/memory.h"

#define BASE "{\"m\":{\"x\":\"y\"},\"l\":[1,{\"a\":2}],\"s\":\"t\"}"
#define MEMBERS "\"m\":{\"x\":\"y\"},\"l\":[1,{\"a\":2}],\"s\":\"t\""
#define NAMES_30                                                                                   \
	"a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a." /* each begins a level */

/* json: NULL if the argument is refused. */
static const struct {
	enum set_kind kind;
	const char *argument, *json;
} cases[] = {
	{SET_TYPED, "", "{" MEMBERS "}"},
	{SET_TYPED, "a=b", "{" MEMBERS ",\"a\":\"b\"}"},
	{SET_TYPED, "a.b=c,d=1", "{" MEMBERS ",\"a\":{\"b\":\"c\"},\"d\":1}"},
	{SET_TYPED, "a=TRUE,b=false,c=null,d=-5,e=010,f=1.5",
		"{" MEMBERS
		",\"a\":true,\"b\":false,\"c\":null,\"d\":-5,\"e\":\"010\",\"f\":\"1.5\"}"},
	{SET_TYPED, "a=9223372036854775807,b=9223372036854775808",
		"{" MEMBERS ",\"a\":9223372036854775807,\"b\":\"9223372036854775808\"}"},
	{SET_TYPED, "a={x,1,null},b=2", "{" MEMBERS ",\"a\":[\"x\",1,null],\"b\":2}"},
	{SET_TYPED, "a={}", "{" MEMBERS ",\"a\":[\"\"]}"},
	{SET_TYPED, "a=", "{" MEMBERS ",\"a\":\"\"}"},
	{SET_TYPED, "a=b\\,c,d\\.e=f", "{" MEMBERS ",\"a\":\"b,c\",\"d.e\":\"f\"}"},
	{SET_TYPED, "a[1].b=c", "{" MEMBERS ",\"a\":[null,{\"b\":\"c\"}]}"},
	{SET_TYPED, "a[0][1]=2", "{" MEMBERS ",\"a\":[[null,2]]}"},
	{SET_TYPED, "m.x=null", "{\"m\":{\"x\":null},\"l\":[1,{\"a\":2}],\"s\":\"t\"}"},
	{SET_TYPED, "l[0]=z,l[1].b=3",
		"{\"m\":{\"x\":\"y\"},\"l\":[\"z\",{\"a\":2,\"b\":3}],\"s\":\"t\"}"},
	{SET_TYPED, "a[0", "{" MEMBERS "}"},
	{SET_TYPED, "a[0]", "{" MEMBERS ",\"a\":[]}"},
	{SET_TYPED, "a.", "{" MEMBERS "}"},
	{SET_TYPED, "=x", "{" MEMBERS "}"},
	{SET_TYPED, "a", NULL},
	{SET_TYPED, "a,b=1", NULL},
	{SET_TYPED, "a.=1", NULL},
	{SET_TYPED, "a={b", NULL},
	{SET_TYPED, "s.x=1", NULL},
	{SET_TYPED, "m[0]=1", NULL},
	{SET_TYPED, "a[-1]=1", NULL},
	{SET_TYPED, "a[x]=1", NULL},
	{SET_TYPED, "a[0]x=1", NULL},
	{SET_TYPED, "a[65537]=1", NULL},
	{SET_TYPED, NAMES_30 "a.a=1", NULL},
	{SET_STRING, "a=1,b=true,c=null",
		"{" MEMBERS ",\"a\":\"1\",\"b\":\"true\",\"c\":\"null\"}"},
	{SET_FILE, "a=one,b=two", "{" MEMBERS ",\"a\":\"<one>\",\"b\":\"<two>\"}"},
	{SET_FILE, "a=missing", NULL},
	{SET_LITERAL, "a.b=c,d=\\e{", "{" MEMBERS ",\"a\":{\"b\":\"c,d=\\\\e{\"}}"},
	{SET_JSON, "a={\"b\":[1,null]},c= ,d=1.50",
		"{" MEMBERS ",\"a\":{\"b\":[1,null]},\"c\":null,\"d\":1.50}"},
	{SET_JSON, "a=1b=2", "{" MEMBERS ",\"a\":1,\"b\":2}"},
	{SET_JSON, " {\"m\":{\"z\":1}}",
		"{\"m\":{\"x\":\"y\",\"z\":1},\"l\":[1,{\"a\":2}],\"s\":\"t\"}"},
	{SET_JSON, "a=tru", NULL},
	{SET_JSON, "{\"q\":", NULL},
};

static int read_file(void *context, struct span path, struct arena *arena, struct span *ret_text,
	struct err *err)
{
	(void)context;
	if (span_is(path, "missing"))
		return err_set(err, -ENOENT, "no such file");
	*ret_text = arena_format(arena, "<%.*s>", SPAN_ARGS(path));
	return 0;
}

static void test_arguments(void **state)
{
	const struct set_files files = {read_file, NULL};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		_arena_ struct arena *arena = arena_new(0);
		_buffer_ struct buffer out = {0};
		struct json *base, *values;
		struct err err = {0};
		int code;

		assert_int_equal(json_parse(SPAN(BASE), arena, &base, NULL), 0);
		values = set_values_copy(arena, base);
		code = set_values(values, cases[i].kind, span_of(cases[i].argument), &files, arena,
			&err);
		if (!cases[i].json) {
			if (code >= 0)
				fail_msg("%s was accepted", cases[i].argument);
			assert_int_not_equal(err.message[0], 0);
			continue;
		}
		if (code < 0)
			fail_msg("%s: %s", cases[i].argument, err.message);
		json_write(values, &out);
		assert_string_equal(out.data, cases[i].json);
	}
}

static void test_integers_are_marked(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct json *values = json_new_object(arena);

	(void)state;
	assert_int_equal(set_values(values, SET_TYPED, SPAN("a=5"), NULL, arena, NULL), 0);
	assert_int_equal(set_values(values, SET_JSON, SPAN("b=5"), NULL, arena, NULL), 0);
	assert_int_equal(json_get(values, "a")->line, 0);
	assert_int_equal(json_get(values, "b")->line, 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arguments),
		cmocka_unit_test(test_integers_are_marked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
