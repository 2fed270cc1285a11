/*
 * Client tokens: a request that is sent twice does its work once. A token stands for a hash of the
 * request without the token; the same token with another hash is an error of the client. There are two
 * places to keep one:
 *
 *  - as a record of its own, in the transaction of the work, for a day; it carries the ids of what the
 *    request created:
 *
 *        prepare:  client_token_prepare(request, 36, &prepared->token)
 *        run:      switch (client_token_find(request, &prepared->token, cluster->key, &ids)) …
 *                  …create it…
 *                  client_token_keep(request, &prepared->token, cluster->key, ids)
 *
 *  - in the object that the request created or changed, for as long as that exists: lists of tokens and
 *    hashes, joined by spaces (client_token_list_find(), client_token_list_add()).
 */
#ifndef AWS_CLIENT_TOKEN_H
#define AWS_CLIENT_TOKEN_H

#include "aws/service.h"

/* "ACCOUNT/REGION/CLUSTER/OPERATION/TOKEN" */
extern const struct store_kind client_token_kind;

#define CLIENT_TOKEN_LIFE_MS (INT64_C(24) * 60 * 60 * 1000)
#define CLIENT_TOKEN_LIST_MAX 16 /* tokens of one list; the oldest goes first */

enum client_token_index {
	CLIENT_TOKEN_BY_EXPIRY, /* "ACCOUNT/REGION/CLUSTER/MILLISECONDS", 15 digits */
	CLIENT_TOKEN_INDEX_COUNT
};

struct client_token_facts {
	int64_t expires_ms;
};

struct client_token {
	struct span text; /* data NULL: the request has none, and nothing is kept or found */
	struct span hash; /* of the request without it, as hex digits */
};

enum client_token_use {
	CLIENT_TOKEN_UNUSED, /* or expired: do the work */
	CLIENT_TOKEN_SAME,   /* by the same request: answer what it created */
	CLIENT_TOKEN_OTHER,  /* by a different request: refuse */
};

/* Reads `clientToken` of the input (at most `most` characters, 33 to 126 in ASCII) and hashes the rest.
 * The same request has the same hash whatever the order of its members. Fails the request. */
int client_token_prepare(struct aws_request *request, size_t most, struct client_token *ret_token);
/* *ret_ids: an array of texts, as kept; NULL when it is unused. */
enum client_token_use client_token_find(struct aws_request *request,
	const struct client_token *token, struct span cluster_key, const struct json **ret_ids);
/* In the request's transaction; replaces an expired one. Fails the request. */
int client_token_keep(struct aws_request *request, const struct client_token *token,
	struct span cluster_key, const struct json *ids);

/* The entry of `values` at the position that the token has in `tokens`; SPAN_NONE: it is not listed. With the
 * hashes for `values` this is the hash of the request that used the token. */
struct span client_token_list_find(struct span tokens, struct span values,
	const struct client_token *token);
/* Appends a text, and removes the first one of a full list. */
void client_token_list_add(struct arena *arena, struct span *list, struct span text);

#endif
