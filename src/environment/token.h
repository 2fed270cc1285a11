/*
 * Client tokens of requests that make a version or a deployment. What they made (or found there already) bears the token
 * and the hash of the request, so that asking twice is asking once for as long as it is there. Of an update that makes no version
 * the environment does, for the last few of them.
 */
#ifndef ENVIRONMENT_TOKEN_H
#define ENVIRONMENT_TOKEN_H

#include "aws/service.h"
#include "ecs/client_token.h"

/* In `prepare`: request->prepared is the token of the request. */
int daemon_token_prepare(struct aws_request *request);
/* "" when the request has none: for what it makes. */
struct span daemon_token_text(const struct aws_request *request);
struct span daemon_token_hash(const struct aws_request *request);
/* 0 and what an earlier request with this token made below the key, or NULL. Fails the request if that one asked for
 * something else. `tokens_of` reads the tokens that it bears, and their hashes, each joined by spaces. */
int daemon_token_find(struct aws_request *request, const struct store_kind *kind, int index,
	struct span environment_key,
	void (*tokens_of)(const struct store_object *created, struct span *ret_tokens,
		struct span *ret_hashes),
	const struct store_object **ret_created);
/* Also the token of a request that was answered with what there was already: with it, the same is meant again. The
 * oldest of many is forgotten. False: the request has none. */
bool daemon_token_add(const struct aws_request *request, struct span *tokens, struct span *hashes);
/* Of requests that make nothing which could bear their token: lists of tokens, hashes and answers that belong together.
 * SPAN_NONE: there was none with this token. Fails the request as daemon_token_find() does. */
int daemon_token_find_answer(struct aws_request *request, struct span tokens, struct span hashes,
	struct span answers, struct span *ret_answer);
void daemon_token_add_answer(const struct aws_request *request, struct span *tokens,
	struct span *hashes, struct span *answers, struct span answer);

#endif
