#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "aws/page.h"
#include "base/memory.h"
#include "base/random.h"

static const struct aws_service service = {
	.name = "ecs", .invalid_input = "InvalidParameterException"};
static const struct aws_operation list_clusters = {.name = "ListClusters"};
static const struct aws_operation list_tasks = {.name = "ListTasks"};
static const struct aws_caller caller = {
	.account = {"123456789012", 12}, .region = {"eu-west-1", 9}};
static const struct aws_caller stranger = {
	.account = {"210987654321", 12}, .region = {"eu-west-1", 9}};

static struct aws_request make(struct arena *arena, const char *input)
{
	struct aws_request request = {.service = &service,
		.operation = &list_clusters,
		.caller = &caller,
		.arena = arena};
	struct json *parsed;

	assert_int_equal(json_parse(span_of(input), arena, &parsed, NULL), 0);
	request.input = parsed;
	return request;
}

static struct aws_request make_with_token(struct arena *arena, struct span token)
{
	struct aws_request request = make(arena, "{}");
	struct json *input = json_new_object(arena);

	json_set_string(arena, input, "nextToken", token);
	request.input = input;
	return request;
}

static void reads_max_results(void **state)
{
	static const struct {
		const char *input;
		size_t most; /* 0: refused */
	} cases[] = {
		{"{}", 10},
		{"{\"maxResults\":null}", 10},
		{"{\"maxResults\":1}", 1},
		{"{\"maxResults\":100}", 100},
		{"{\"maxResults\":0}", 0},
		{"{\"maxResults\":-1}", 0},
		{"{\"maxResults\":101}", 0},
		{"{\"maxResults\":99999999999}", 0},
		{"{\"maxResults\":5,\"nextToken\":\"\"}", 5},
		{"{\"maxResults\":5,\"nextToken\":null}", 5},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		_arena_ struct arena *arena = arena_new(0);
		struct aws_request request = make(arena, cases[i].input);
		struct aws_page page = {0};
		int code = aws_page_read(&request, 10, 100, SPAN(""), &page);

		assert_int_equal(code, cases[i].most ? 0 : -EPERM);
		assert_int_equal(page.most, cases[i].most);
		assert_null(page.after_key.data);
		if (code < 0) {
			assert_string_equal(request.failure.type, "InvalidParameterException");
			assert_int_equal(request.failure.status, 400);
			assert_string_equal(request.failure.message.data,
				"maxResults: must be from 1 to 100");
		}
	}
}

static void a_token_keeps_the_position(void **state)
{
	struct random_seeded seeded;

	(void)state;
	random_seeded_init(&seeded, 3);
	for (size_t round = 0; round < 2000; round++) {
		_arena_ struct arena *arena = arena_new(0);
		struct aws_request request = make(arena, "{}");
		char text[1024], key[1024];
		struct span requested_text = {
			text, round == 0 ? 1024 : random_below(&seeded.random, 40)};
		struct span requested_key = {
			key, round == 0 ? 1024 : random_below(&seeded.random, 40)};
		struct span token;
		struct aws_page page = {0};

		seeded.random.fill(&seeded.random, text, sizeof(text));
		seeded.random.fill(&seeded.random, key, sizeof(key));
		token = aws_page_token(&request, SPAN("status=ACTIVE"), requested_text,
			requested_key);
		for (size_t i = 0; i < token.length; i++)
			assert_non_null(memchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxy"
					       "z"
					       "0123456789-_",
				token.data[i], 64));
		request = make_with_token(arena, token);
		assert_int_equal(aws_page_read(&request, 10, 100, SPAN("status=ACTIVE"), &page), 0);
		assert_true(span_equal(page.after_text, requested_text));
		assert_true(span_equal(page.after_key, requested_key));
		assert_non_null(page.after_text.data);
	}
}

static void refuse(struct aws_request *request, struct span filters)
{
	struct aws_page page = {0};

	assert_int_equal(aws_page_read(request, 10, 100, filters, &page), -EPERM);
	assert_string_equal(request->failure.type, "InvalidParameterException");
	assert_memory_equal(request->failure.message.data, "nextToken: ", 11);
	assert_int_equal(page.most, 0);
}

static void a_token_of_something_else_is_refused(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct aws_request request = make(arena, "{}");
	struct span token = aws_page_token(&request, SPAN("f=1"), SPAN("text"), SPAN("key"));

	(void)state;
	request = make_with_token(arena, token);
	refuse(&request, SPAN("f=2"));
	request = make_with_token(arena, token);
	request.operation = &list_tasks;
	refuse(&request, SPAN("f=1"));
	request = make_with_token(arena, token);
	request.caller = &stranger;
	refuse(&request, SPAN("f=1"));
	/* Every changed character is noticed, also in the bits that decoding would drop. */
	for (size_t i = 0; i < token.length; i++) {
		for (const char *c = "ABQgwxyz-_=. "; *c; c++) {
			char *changed = arena_copy(arena, token.data, token.length);

			if (changed[i] == *c)
				continue;
			changed[i] = *c;
			request = make_with_token(arena, (struct span){changed, token.length});
			refuse(&request, SPAN("f=1"));
		}
		request = make_with_token(arena, (struct span){token.data, i});
		if (i > 0)
			refuse(&request, SPAN("f=1"));
	}
	request = make_with_token(arena,
		(struct span){memset(arena_allocate(arena, 9000), 'A', 9000), 9000});
	refuse(&request, SPAN("f=1"));
	request = make(arena, "{\"nextToken\":\"\\u0000\"}");
	refuse(&request, SPAN("f=1"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_max_results),
		cmocka_unit_test(a_token_keeps_the_position),
		cmocka_unit_test(a_token_of_something_else_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
