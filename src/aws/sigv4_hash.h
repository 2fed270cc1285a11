/*
 * SHA-256 and HMAC-SHA-256 for signatures. One context serves all the hashes of a request: looking
 * an algorithm up and making a context cost more than hashing a few hundred bytes.
 */
#ifndef AWS_SIGV4_HASH_H
#define AWS_SIGV4_HASH_H

#include <openssl/evp.h>

#include "base/memory.h"
#include "base/span.h"

#define SIGV4_HASH_SIZE 32
#define SIGV4_HEX_SIZE (2 * SIGV4_HASH_SIZE)

struct sigv4_hash {
	EVP_MD_CTX *context;
};

void sigv4_hash_open(struct sigv4_hash *hash);
void sigv4_hash_close(struct sigv4_hash *hash);
#define _sigv4_hash_ CLEANUP(sigv4_hash_close)

void sigv4_hash_digest(struct sigv4_hash *hash, struct span text,
	unsigned char out[SIGV4_HASH_SIZE]);
/* out may be the key. */
void sigv4_hash_hmac(struct sigv4_hash *hash, const void *key, size_t key_length, struct span text,
	unsigned char out[SIGV4_HASH_SIZE]);
/* Lower-case digits, not terminated. */
void sigv4_hash_hex(const unsigned char digest[SIGV4_HASH_SIZE], char out[SIGV4_HEX_SIZE]);

#endif
