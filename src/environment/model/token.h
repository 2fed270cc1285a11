/*
 * Client tokens of requests that create a version or a deployment. The object that a request created, or found
 * unchanged, keeps the token and the hash of the request, so that a repeated request has no further effect for as
 * long as the object exists. For an update that creates no version the environment keeps them, for the last few.
 */
#ifndef ENVIRONMENT_MODEL_TOKEN_H
#define ENVIRONMENT_MODEL_TOKEN_H

#include "aws/client_token.h"
#include "aws/service.h"

/* In `prepare`: request->prepared is the token of the request. */
int daemon_token_prepare(struct aws_request *request);
/* "" when the request has none. */
struct span daemon_token_text(const struct aws_request *request);
struct span daemon_token_hash(const struct aws_request *request);
/* 0 and the object below the key that an earlier request with this token created, or NULL. Fails the request if that
 * request had another hash. `tokens_of` reads the tokens and hashes of the object, each joined by spaces. */
int daemon_token_find(struct aws_request *request, const struct store_kind *kind, int index,
	struct span environment_key,
	void (*tokens_of)(const struct store_object *created, struct span *ret_tokens,
		struct span *ret_hashes),
	const struct store_object **ret_created);
/* Adds the token of a request that was answered with an existing object; the oldest of many is dropped. False: the
 * request has none. */
bool daemon_token_add(const struct aws_request *request, struct span *tokens, struct span *hashes);
/* For requests that create no object: lists of tokens, hashes and answers with the same positions. SPAN_NONE: the
 * token is not listed. Fails the request as daemon_token_find() does. */
int daemon_token_find_answer(struct aws_request *request, struct span tokens, struct span hashes,
	struct span answers, struct span *ret_answer);
void daemon_token_add_answer(const struct aws_request *request, struct span *tokens,
	struct span *hashes, struct span *answers, struct span answer);

#endif
