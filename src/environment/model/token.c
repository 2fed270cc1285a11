/* See the header. */
#include "environment/model/token.h"

#include "environment/model/fail.h"
#include "environment/model/kinds.h"
#include "environment/model/matching.h"

#define TOKEN_MAX 64

int daemon_token_prepare(struct aws_request *request)
{
	struct client_token *token = arena_allocate(request->arena, sizeof(*token));

	if (client_token_prepare(request, TOKEN_MAX, token) < 0)
		return -EPERM;
	request->prepared = token;
	return 0;
}

struct span daemon_token_text(const struct aws_request *request)
{
	const struct client_token *token = request->prepared;

	return token->text.data ? token->text : SPAN("");
}

struct span daemon_token_hash(const struct aws_request *request)
{
	const struct client_token *token = request->prepared;

	return token->text.data ? token->hash : SPAN("");
}

/* Fails the request unless the token was used by a request with the same hash. */
static int check_same(struct aws_request *request, struct span hash)
{
	struct span token = daemon_token_text(request);

	if (span_equal(hash, daemon_token_hash(request)))
		return 0;
	return daemon_fail(request, "ResourceExistsException", "clientToken", token,
		"clientToken: '%.*s' was used by a request that asked for something else",
		SPAN_ARGS(token));
}

int daemon_token_find(struct aws_request *request, const struct store_kind *kind, int index,
	struct span environment_key,
	void (*tokens_of)(const struct store_object *created, struct span *ret_tokens,
		struct span *ret_hashes),
	const struct store_object **ret_created)
{
	struct span token = daemon_token_text(request), tokens, hashes;

	*ret_created = NULL;
	if (token.length == 0)
		return 0;
	*ret_created = store_next(&(struct store_cursor){.view = request->view,
		.kind = kind,
		.index = index,
		.prefix = environment_child_key(request->arena, environment_key, token),
		.exact = true});
	if (!*ret_created)
		return 0;
	tokens_of(*ret_created, &tokens, &hashes);
	return check_same(request, client_token_list_find(tokens, hashes, request->prepared));
}

int daemon_token_find_answer(struct aws_request *request, struct span tokens, struct span hashes,
	struct span answers, struct span *ret_answer)
{
	struct span hash = client_token_list_find(tokens, hashes, request->prepared);

	if (hash.data && check_same(request, hash) < 0)
		return -EPERM;
	*ret_answer =
		hash.data ? client_token_list_find(tokens, answers, request->prepared) : SPAN_NONE;
	return 0;
}

bool daemon_token_add(const struct aws_request *request, struct span *tokens, struct span *hashes)
{
	struct span token = daemon_token_text(request);

	if (token.length == 0)
		return false;
	client_token_list_add(request->arena, tokens, token);
	client_token_list_add(request->arena, hashes, daemon_token_hash(request));
	return true;
}

void daemon_token_add_answer(const struct aws_request *request, struct span *tokens,
	struct span *hashes, struct span *answers, struct span answer)
{
	if (daemon_token_add(request, tokens, hashes))
		client_token_list_add(request->arena, answers, answer);
}
