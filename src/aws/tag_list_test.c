#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "aws/tag_list.h"
#include "base/buffer.h"
#include "base/memory.h"

static const struct aws_service service = {
	.name = "ecs", .invalid_input = "InvalidParameterException"};

static struct aws_request make(struct arena *arena)
{
	return (struct aws_request){.service = &service, .arena = arena};
}

static const struct json *parse(struct arena *arena, const char *text)
{
	struct json *value;

	assert_int_equal(json_parse(span_of(text), arena, &value, NULL), 0);
	return value;
}

/* A list of tags k0 … with the same value. */
static const char *many(struct buffer *out, size_t from, size_t count)
{
	buffer_reset(out);
	buffer_add_char(out, '[');
	for (size_t i = 0; i < count; i++)
		buffer_format(out, "%s{\"key\":\"k%zu\",\"value\":\"v\"}", i ? "," : "", from + i);
	buffer_add_char(out, ']');
	return out->data;
}

static void checks_tags(void **state)
{
	static const struct {
		const char *tags;
		const char *message; /* NULL: fine */
	} cases[] = {
		{"null", NULL},
		{"[]", NULL},
		{"[{\"key\":\"team\",\"value\":\"a+b-c=d._:/@ "
		 "1\"},{\"key\":\"Team\",\"value\":\"\"}]",
			NULL},
		{"[{\"key\":\"k\"}]", NULL},
		{"[{\"key\":\"größe\",\"value\":\"小\"}]", NULL},
		{"[{\"value\":\"v\"}]", "tags: a tag has no key"},
		{"[{\"key\":\"\",\"value\":\"v\"}]", "tags: a tag has no key"},
		{"[{\"key\":\"aws:x\",\"value\":\"v\"}]",
			"tags: key 'aws:x' begins with 'aws:', which is reserved"},
		{"[{\"key\":\"AwS:x\",\"value\":\"v\"}]",
			"tags: key 'AwS:x' begins with 'aws:', which is reserved"},
		{"[{\"key\":\"aws\",\"value\":\"aws:v\"}]", NULL},
		{"[{\"key\":\"a\",\"value\":\"v\"},{\"key\":\"a\",\"value\":\"w\"}]",
			"tags: key 'a' is given twice"},
		{"[{\"key\":\"a*\",\"value\":\"v\"}]", "tags: 'a*': keys and values have"},
		{"[{\"key\":\"a\",\"value\":\"v\\n\"}]", "tags: 'a': keys and values have"},
		{"[{\"key\":\"a\",\"value\":\"v\\u0000\"}]", "tags: 'a': keys and values have"},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		_arena_ struct arena *arena = arena_new(0);
		struct aws_request request = make(arena);
		int code = aws_tag_list_check(&request, parse(arena, cases[i].tags));

		assert_int_equal(code, cases[i].message ? -EPERM : 0);
		if (!cases[i].message)
			continue;
		assert_string_equal(request.failure.type, "InvalidParameterException");
		if (strncmp(request.failure.message.data, cases[i].message,
			    strlen(cases[i].message)) != 0)
			fail_msg("case %zu: %s", i, request.failure.message.data);
	}
}

/* Lengths count characters, not bytes: 'ä' has two bytes. */
static void lengths_have_limits(void **state)
{
	static const struct {
		size_t key, value;
		bool good;
	} cases[] = {{128, 256, true}, {129, 0, false}, {1, 257, false}};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		_arena_ struct arena *arena = arena_new(0);
		_buffer_ struct buffer text = {0};
		struct aws_request request = make(arena);

		buffer_add_string(&text, "[{\"key\":\"");
		for (size_t k = 0; k < cases[i].key; k++)
			buffer_add_string(&text, "ä");
		buffer_add_string(&text, "\",\"value\":\"");
		for (size_t k = 0; k < cases[i].value; k++)
			buffer_add_string(&text, "ä");
		buffer_add_string(&text, "\"}]");
		assert_int_equal(aws_tag_list_check(&request, parse(arena, text.data)),
			cases[i].good ? 0 : -EPERM);
	}
}

static void a_resource_has_fifty_at_most(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	_buffer_ struct buffer text = {0};
	struct aws_request request = make(arena);
	const struct json *thirty = parse(arena, arena_copy_string(arena, many(&text, 0, 30)));
	const struct json *merged = NULL;

	(void)state;
	assert_int_equal(aws_tag_list_check(&request,
				 parse(arena, arena_copy_string(arena, many(&text, 0, 50)))),
		0);
	assert_int_equal(aws_tag_list_check(&request,
				 parse(arena, arena_copy_string(arena, many(&text, 0, 51)))),
		-EPERM);
	/* Ten of the thirty are there already. */
	assert_int_equal(aws_tag_list_merge(&request, thirty,
				 parse(arena, arena_copy_string(arena, many(&text, 20, 30))),
				 &merged),
		0);
	assert_int_equal(json_count(merged), 50);
	merged = NULL;
	assert_int_equal(aws_tag_list_merge(&request, thirty,
				 parse(arena, arena_copy_string(arena, many(&text, 20, 31))),
				 &merged),
		-EPERM);
	assert_null(merged);
	assert_string_equal(request.failure.message.data,
		"tags: the resource would have 51 tags, the limit is 50");
}

static void assert_json(struct arena *arena, const struct json *value, const char *wanted)
{
	assert_string_equal(json_to_text(value, arena).data, wanted);
}

static void merging_keeps_the_order(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct aws_request request = make(arena);
	const struct json *existing =
		parse(arena, "[{\"key\":\"a\",\"value\":\"1\"},{\"key\":\"b\",\"value\":\"2\"}]");
	const struct json *added =
		parse(arena, "[{\"value\":\"3\",\"key\":\"c\"},{\"key\":\"a\",\"x\":1}]");
	const struct json *merged;

	(void)state;
	assert_int_equal(aws_tag_list_merge(&request, existing, added, &merged), 0);
	assert_json(arena, merged,
		"[{\"key\":\"a\",\"value\":\"\"},{\"key\":\"b\",\"value\":\"2\"},"
		"{\"key\":\"c\",\"value\":\"3\"}]");
	assert_int_equal(aws_tag_list_merge(&request, NULL, added, &merged), 0);
	assert_json(arena, merged,
		"[{\"key\":\"c\",\"value\":\"3\"},{\"key\":\"a\",\"value\":\"\"}]");
	assert_int_equal(aws_tag_list_merge(&request, NULL, NULL, &merged), 0);
	assert_json(arena, merged, "[]");
}

static void removing_ignores_what_is_not_there(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct aws_request request = make(arena);
	const struct json *existing =
		parse(arena, "[{\"key\":\"a\",\"value\":\"1\"},{\"key\":\"b\",\"value\":\"2\"},"
			     "{\"key\":\"A\",\"value\":\"3\"}]");

	(void)state;
	assert_json(arena,
		aws_tag_list_without(&request, existing, parse(arena, "[\"a\",\"x\",\"a\"]")),
		"[{\"key\":\"b\",\"value\":\"2\"},{\"key\":\"A\",\"value\":\"3\"}]");
	assert_json(arena, aws_tag_list_without(&request, NULL, parse(arena, "[\"a\"]")), "[]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(checks_tags),
		cmocka_unit_test(lengths_have_limits),
		cmocka_unit_test(a_resource_has_fifty_at_most),
		cmocka_unit_test(merging_keeps_the_order),
		cmocka_unit_test(removing_ignores_what_is_not_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
