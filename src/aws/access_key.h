/*
 * Access keys: the keys that may sign requests. A key belongs to an account and a user, and carries
 * the policy text of that user (none: everything). Kept in the store as kind "access_key"; the
 * secret is in the private text and leaves slipway once, when the key is created. Lookups go
 * through a small cache of parsed policies, so that verifying costs no parse.
 *
 * Every request looks the key up in the store: a deleted key is rejected from then on.
 */
#ifndef AWS_ACCESS_KEY_H
#define AWS_ACCESS_KEY_H

#include "aws/caller.h"
#include "aws/sigv4.h"
#include "base/clock.h"
#include "base/random.h"
#include "store/store.h"

#define ACCESS_KEY_USER_MAX 64
#define ACCESS_KEY_TOKEN_MAX 2048

extern const struct store_kind access_key_kind;

enum access_key_index {
	ACCESS_KEY_BY_USER, /* "ACCOUNT/USER" */
};

struct access_key_facts {
	struct span account;
	struct span user;
	struct span secret;
	struct span policy;        /* text; data NULL: none */
	struct span session_token; /* data NULL: none */
	int64_t created_ms;
	int64_t expires_ms; /* 0: never */
};

struct access_key_new {
	struct span account, user;
	struct span policy;        /* data NULL: none */
	struct span session_token; /* data NULL: none; else every request must carry it */
	int64_t expires_ms;        /* 0: never */
	/* Filled by access_key_make: */
	char id[32];
	char secret[64];
};

/* Draws id ("AKIA…", with a session token "ASIA…", 20 characters) and secret (40) and checks account,
 * user name and policy. */
int access_key_make(struct access_key_new *key, struct random *random, struct err *err);
/* The API text is {"accessKeyId","account","user","createdAt","expiresAt","policy"}: no secrets. */
int access_key_put(struct store_transaction *transaction, const struct access_key_new *key,
	int64_t now_ms, struct err *err);
/* -ENOENT also for a key of another account. */
int access_key_delete(struct store_transaction *transaction, struct span account, struct span id,
	struct err *err);

struct access_key_ring; /* the cache in front of the store */
struct access_key_ring *access_key_ring_new(struct store *store, struct clock *clock);
void access_key_ring_free(struct access_key_ring *ring); /* NULL is fine */

/* Verifies a request's signature and fills the caller. Everything in it lives as long as the arena
 * except the parsed policy, which the ring keeps until the ring itself is freed. 0, or -EACCES with the
 * failure filled. From any thread. */
int access_key_authenticate(struct access_key_ring *ring, const struct sigv4_request *request,
	struct arena *arena, struct sigv4_claim *ret_claim, struct aws_caller *ret_caller,
	struct sigv4_failure *failure);

struct aws_policy;
/* The policy of a user: that of its newest key that is still valid; NULL: everything is allowed.
 * -ENOENT: the user has no such key. The policy lives as long as the ring. From any thread. */
int access_key_find_policy(struct access_key_ring *ring, struct span account, struct span user,
	const struct aws_policy **ret_policy, struct err *err);

#endif
