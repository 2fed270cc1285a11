/*
 * Client tokens: a request that is sent twice does its work once. A token belongs to an operation in a
 * cluster; what it stands for is a hash of the request without the token, and the ids of what the request
 * made. It is written in the transaction that makes those, so that both are there or neither is, and is
 * forgotten a day later.
 *
 *     prepare:  client_token_prepare(request, 36, &prepared->token)
 *     run:      switch (client_token_find(request, &prepared->token, cluster->key, &ids)) …
 *               …make it…
 *               client_token_keep(request, &prepared->token, cluster->key, ids)
 */
#ifndef ECS_CLIENT_TOKEN_H
#define ECS_CLIENT_TOKEN_H

#include "aws/service.h"

/* "ACCOUNT/REGION/CLUSTER/OPERATION/TOKEN" */
extern const struct store_kind client_token_kind;

#define CLIENT_TOKEN_LIFE_MS (INT64_C(24) * 60 * 60 * 1000)

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
	CLIENT_TOKEN_UNUSED, /* or forgotten: do the work */
	CLIENT_TOKEN_SAME,   /* by the same request: answer what it made */
	CLIENT_TOKEN_OTHER,  /* by a request that wanted something else: refuse */
};

/* Reads `clientToken` of the input (at most `most` characters, 33 to 126 in ASCII) and hashes the rest.
 * The same request has the same hash whatever the order of its members. Fails the request. */
int client_token_prepare(struct aws_request *request, size_t most, struct client_token *ret_token);
/* *ret_ids: an array of texts, as kept; NULL when it is unused. */
enum client_token_use client_token_find(struct aws_request *request,
	const struct client_token *token, struct span cluster_key, const struct json **ret_ids);
/* In the request's transaction; takes the place of one that was forgotten. Fails the request. */
int client_token_keep(struct aws_request *request, const struct client_token *token,
	struct span cluster_key, const struct json *ids);

#endif
