/* JSON Schema: every expectation here is what Helm 4.2 accepts, refuses and prints. */
#include "chart/schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/memory.h"
#include "chart/regex.h"

static int match(void *context, struct span pattern, struct span text, bool *ret_matches,
	struct err *err)
{
	char message[128];
	struct regex *regex = regex_new(pattern.data, pattern.length, message, sizeof(message));

	(void)context;
	if (!regex)
		return err_set(err, -EINVAL, "%s", message);
	*ret_matches = regex_match(regex, text.data, text.length, 0, NULL, 0);
	regex_free(regex);
	return 0;
}

#define DRAFT_4_URL "\"$schema\":\"http://json-schema.org/draft-04/schema#\""
#define DRAFT_7_URL "\"$schema\":\"http://json-schema.org/draft-07/schema#\""
#define A(schema) "{\"properties\":{\"a\":" schema "}}"

/* problems: "" if the value is valid, NULL if the schema is unusable. */
static const struct {
	const char *schema, *value, *problems;
} cases[] = {
	{"{}", "{}", ""},
	{"true", "{}", ""},
	{"false", "{}", "- at '': false schema\n"},
	{"{\"type\":\"object\",\"required\":[\"z\",\"y\"],\"properties\":{\"a\":{\"type\":"
	 "\"string\"},"
	 "\"b\":{\"type\":[\"integer\",\"null\"]}}}",
		"{\"a\":1,\"b\":1.5}",
		"- at '': missing properties 'z', 'y'\n- at '/a': got number, want string\n- at "
		"'/b': "
		"got number, want null or integer\n"},
	{A("{\"type\":\"integer\"}"), "{\"a\":5.0}", ""},
	{A("{\"minimum\":5,\"maximum\":1,\"exclusiveMinimum\":7,\"multipleOf\":3}"), "{\"a\":4}",
		"- at '/a': minimum: got 4, want 5\n- at '/a': maximum: got 4, want 1\n- at '/a': "
		"exclusiveMinimum: got 4, want 7\n- at '/a': multipleOf: got 4, want 3\n"},
	{A("{\"multipleOf\":0.1}"), "{\"a\":0.3}", ""},
	{"{" DRAFT_4_URL ",\"properties\":{\"a\":{\"minimum\":5,\"exclusiveMinimum\":true}}}",
		"{\"a\":5}", "- at '/a': exclusiveMinimum: got 5, want 5\n"},
	{"{" DRAFT_4_URL ",\"properties\":{\"a\":{\"exclusiveMinimum\":true}}}", "{\"a\":5}", NULL},
	{A("{\"enum\":[1,\"x\",null]}"), "{\"a\":2}",
		"- at '/a': value must be one of 1, 'x', <nil>\n"},
	{A("{\"pattern\":\"^x\",\"minLength\":5,\"maxLength\":1}"), "{\"a\":\"yyy\"}",
		"- at '/a': minLength: got 3, want 5\n- at '/a': maxLength: got 3, want 1\n- at "
		"'/a': "
		"'yyy' does not match pattern '^x'\n"},
	{A("{\"minItems\":5,\"uniqueItems\":true,\"items\":{\"type\":\"string\"}}"),
		"{\"a\":[1,1]}",
		"- at '/a': minItems: got 2, want 5\n- at '/a': items at 0 and 1 are equal\n- at "
		"'/a/0': got number, want string\n- at '/a/1': got number, want string\n"},
	{"{\"additionalProperties\":false,\"properties\":{\"a\":{}}}", "{\"a\":1,\"b\":2,\"c\":3}",
		"- at '': additional properties 'b', 'c' not allowed\n"},
	{A("{\"oneOf\":[{\"type\":\"string\"},{\"type\":\"integer\"}]}"), "{\"a\":true}",
		"- at '/a': 'oneOf' failed, none matched\n  - at '/a': got boolean, want string\n  "
		"- at "
		"'/a': got boolean, want integer\n"},
	{A("{\"oneOf\":[{},{}]}"), "{\"a\":1}",
		"- at '/a': 'oneOf' failed, subschemas 0, 1 matched\n"},
	{A("{\"not\":{}}"), "{\"a\":1}", "- at '/a': 'not' failed\n"},
	{A("{\"if\":{\"type\":\"integer\"},\"then\":{\"minimum\":5}}"), "{\"a\":1}",
		"- at '/a': minimum: got 1, want 5\n"},
	{"{\"definitions\":{\"x/y\":{\"type\":\"string\"}},\"properties\":{\"a\":{\"$ref\":\"#/"
	 "definitions/x~1y\"}}}",
		"{\"a\":1}", "- at '/a': got number, want string\n"},
	{"{\"properties\":{\"a\":{\"$ref\":\"#\"}},\"additionalProperties\":false}",
		"{\"a\":{\"a\":{\"b\":1}}}",
		"- at '/a/a': additional properties 'b' not allowed\n"},
	{"{\"$id\":\"http://x.y/"
	 "z\",\"$defs\":{\"q\":{\"$id\":\"q.json\",\"type\":\"string\"},\"w\":{"
	 "\"$anchor\":\"foo\",\"type\":\"null\"}},\"properties\":{\"a\":{\"$ref\":\"q.json\"},"
	 "\"b\":{"
	 "\"$ref\":\"#foo\"}}}",
		"{\"a\":1,\"b\":1}",
		"- at '/a': got number, want string\n- at '/b': got number, want null\n"},
	{A("{\"dependentRequired\":{\"x\":[\"y\"]},\"unevaluatedProperties\":false}"),
		"{\"a\":{\"x\":1}}",
		"- at '/a': properties 'y' required, if 'x' exists\n- at '/a/x': false schema\n"},
	{"{" DRAFT_7_URL ",\"properties\":{\"a\":{\"format\":\"ipv4\"}}}", "{\"a\":\"x\"}",
		"- at '/a': 'x' is not valid ipv4\n"},
	{A("{\"format\":\"ipv4\"}"), "{\"a\":\"x\"}", ""},
	{A("{\"$ref\":\"#/definitions/x\"}"), "{}", NULL},
	{A("{\"$ref\":\"http://example.invalid/x.json\"}"), "{}", NULL},
	{"{\"$schema\":\"http://x.invalid/schema\"}", "{}", NULL},
	{A("{\"type\":\"foo\"}"), "{}", NULL},
	{A("{\"pattern\":\"(\"}"), "{}", NULL},
	{A("{\"items\":[{}]}"), "{}", NULL},
	{"[]", "{}", NULL},
	{"{\"$ref\":\"#\"}", "{}", NULL},
};

static void test_schemas(void **state)
{
	const struct schema_patterns patterns = {match, NULL};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		_arena_ struct arena *arena = arena_new(0);
		_buffer_ struct buffer problems = {0};
		struct json *schema, *value;
		struct err err = {0};
		bool valid = false;
		int code;

		assert_int_equal(json_parse(span_of(cases[i].schema), arena, &schema, NULL), 0);
		assert_int_equal(json_parse(span_of(cases[i].value), arena, &value, NULL), 0);
		code = schema_validate(schema, value, &patterns, arena, &valid, &problems, &err);
		if (!cases[i].problems) {
			if (code >= 0)
				fail_msg("%s was accepted", cases[i].schema);
			assert_int_not_equal(err.message[0], 0);
			continue;
		}
		if (code < 0)
			fail_msg("%s: %s", cases[i].schema, err.message);
		assert_string_equal(problems.data ? problems.data : "", cases[i].problems);
		assert_int_equal(valid, cases[i].problems[0] == '\0');
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_schemas),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
