/*
 * Access keys: who may sign requests. A key belongs to an account and a user, and carries the policy
 * text of that user (none: everything). Kept in the store as kind "access_key"; the secret is in the
 * private text and leaves slipway once, when the key is made. Lookups go through a small cache of
 * parsed policies, so that verifying costs no parse.
 */
#ifndef AWS_ACCESS_KEY_H
#define AWS_ACCESS_KEY_H

#include "aws/caller.h"
#include "aws/sigv4.h"
#include "base/clock.h"
#include "store/store.h"

extern const struct store_kind access_key_kind;

struct access_key_facts {
	struct span account;
	struct span user;
	struct span secret;
	struct span policy; /* text; data NULL: none */
	struct span session_token; /* data NULL: none */
	int64_t created_ms;
	int64_t expires_ms; /* 0: never */
};

struct access_key_new {
	struct span account, user;
	struct span policy; /* data NULL: none */
	/* Filled by access_key_make: */
	char id[32];
	char secret[64];
};

/* Draws id ("AKIA…", 20 characters) and secret (40) and checks account, user name and policy. */
int access_key_make(struct access_key_new *key, struct random *random, struct err *err);
int access_key_put(struct store_transaction *transaction, const struct access_key_new *key,
		   int64_t now_ms, struct err *err);
int access_key_delete(struct store_transaction *transaction, struct span account, struct span id,
		      struct err *err);

struct access_key_ring; /* the cache in front of the store */
struct access_key_ring *access_key_ring_new(struct store *store, struct clock *clock);
void access_key_ring_free(struct access_key_ring *ring);

/* Verifies a request's signature and fills the caller. Everything in it lives as long as the arena
 * except the parsed policy, which the ring keeps until the ring itself is freed. */
int access_key_authenticate(struct access_key_ring *ring, const struct sigv4_request *request,
			    struct arena *arena, struct sigv4_claim *ret_claim,
			    struct aws_caller *ret_caller, struct sigv4_failure *failure);

#endif
