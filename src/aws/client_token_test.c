/* Lists of client tokens. Tokens with a record are tested with the operations that use them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "aws/client_token.h"
#include "base/memory.h"

static const struct client_token *token(struct arena *arena, const char *text)
{
	struct client_token *created = arena_allocate(arena, sizeof(*created));

	*created = (struct client_token){.text = text ? span_of(text) : SPAN_NONE};
	return created;
}

static void a_list_finds_the_value_of_a_token(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct span tokens = SPAN(""), hashes = SPAN("");

	(void)state;
	client_token_list_add(arena, &tokens, SPAN("one"));
	client_token_list_add(arena, &hashes, SPAN("aa"));
	client_token_list_add(arena, &tokens, SPAN("two"));
	client_token_list_add(arena, &hashes, SPAN("bb"));
	assert_true(span_is(client_token_list_find(tokens, hashes, token(arena, "two")), "bb"));
	assert_true(span_is(client_token_list_find(tokens, hashes, token(arena, "one")), "aa"));
	assert_null(client_token_list_find(tokens, hashes, token(arena, "tw")).data);
	assert_null(client_token_list_find(tokens, hashes, token(arena, NULL)).data);
}

static void a_full_list_drops_the_oldest(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct span tokens = SPAN("");

	(void)state;
	for (int i = 0; i <= CLIENT_TOKEN_LIST_MAX; i++)
		client_token_list_add(arena, &tokens, arena_format(arena, "t%d", i));
	assert_null(client_token_list_find(tokens, tokens, token(arena, "t0")).data);
	assert_true(span_is(client_token_list_find(tokens, tokens, token(arena, "t1")), "t1"));
	assert_true(span_is(client_token_list_find(tokens, tokens, token(arena, "t16")), "t16"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_finds_the_value_of_a_token),
		cmocka_unit_test(a_full_list_drops_the_oldest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
