/*
 * Signing keys: four HMACs over a secret, one each for day, region, service and a fixed word. They
 * change once a day, so a small cache saves most of a verification.
 *
 * Only keys that verified a request are kept, so that a client without a secret cannot evict
 * others. An entry holds the secret that it was made from and does not match another one: a key
 * that was deleted and created again under the same id does not use the old entry.
 */
#ifndef AWS_SIGV4_KEY_H
#define AWS_SIGV4_KEY_H

#include <stdbool.h>

#include "aws/sigv4.h"
#include "aws/sigv4_hash.h"

struct sigv4_scope {
	struct span access_key, date, region, service;
};

void sigv4_key_derive(struct sigv4_hash *hash, struct span secret, const struct sigv4_scope *scope,
	unsigned char out[SIGV4_HASH_SIZE]);

bool sigv4_cache_get(struct sigv4_cache *cache, struct span secret, const struct sigv4_scope *scope,
	unsigned char out[SIGV4_HASH_SIZE]);
void sigv4_cache_put(struct sigv4_cache *cache, struct span secret, const struct sigv4_scope *scope,
	const unsigned char key[SIGV4_HASH_SIZE]);

#endif
