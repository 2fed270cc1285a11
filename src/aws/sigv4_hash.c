/*
 * HMAC is written out over the digest (RFC 2104): keying OpenSSL's own MAC for each of these short
 * texts takes longer than all the rest of a verification.
 */
#include "aws/sigv4_hash.h"

#include <openssl/crypto.h>
#include <pthread.h>
#include <stdio.h>

#define BLOCK 64

static pthread_once_t sha256_once = PTHREAD_ONCE_INIT;
static EVP_MD *sha256; /* set once, then only read; lives as long as the process */

/* Hashing fails only when memory ran out or OpenSSL has no SHA-256: nothing can be trusted then. */
static void require(int success)
{
	if (success == 1)
		return;
	fputs("slipway: SHA-256 is not available\n", stderr);
	abort();
}

static void fetch(void)
{
	sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
	require(sha256 != NULL);
}

void sigv4_hash_open(struct sigv4_hash *hash)
{
	pthread_once(&sha256_once, fetch);
	hash->context = EVP_MD_CTX_new();
	require(hash->context != NULL);
}

void sigv4_hash_close(struct sigv4_hash *hash)
{
	EVP_MD_CTX_free(hash->context);
	hash->context = NULL;
}

void sigv4_hash_digest(struct sigv4_hash *hash, struct span text,
	unsigned char out[SIGV4_HASH_SIZE])
{
	require(EVP_DigestInit_ex(hash->context, sha256, NULL));
	require(EVP_DigestUpdate(hash->context, text.data, text.length));
	require(EVP_DigestFinal_ex(hash->context, out, NULL));
}

void sigv4_hash_hmac(struct sigv4_hash *hash, const void *key, size_t key_length, struct span text,
	unsigned char out[SIGV4_HASH_SIZE])
{
	unsigned char inner[BLOCK], outer[BLOCK] = {0};

	if (key_length > BLOCK)
		sigv4_hash_digest(hash, (struct span){key, key_length}, outer);
	else if (key_length > 0)
		memcpy(outer, key, key_length);
	for (size_t i = 0; i < BLOCK; i++) {
		inner[i] = outer[i] ^ 0x36;
		outer[i] ^= 0x5c;
	}
	require(EVP_DigestInit_ex(hash->context, sha256, NULL));
	require(EVP_DigestUpdate(hash->context, inner, BLOCK));
	require(EVP_DigestUpdate(hash->context, text.data, text.length));
	require(EVP_DigestFinal_ex(hash->context, out, NULL));
	require(EVP_DigestInit_ex(hash->context, sha256, NULL));
	require(EVP_DigestUpdate(hash->context, outer, BLOCK));
	require(EVP_DigestUpdate(hash->context, out, SIGV4_HASH_SIZE));
	require(EVP_DigestFinal_ex(hash->context, out, NULL));
	OPENSSL_cleanse(inner, sizeof(inner));
	OPENSSL_cleanse(outer, sizeof(outer));
}

void sigv4_hash_hex(const unsigned char digest[SIGV4_HASH_SIZE], char out[SIGV4_HEX_SIZE])
{
	for (size_t i = 0; i < SIGV4_HASH_SIZE; i++) {
		out[2 * i] = "0123456789abcdef"[digest[i] >> 4];
		out[2 * i + 1] = "0123456789abcdef"[digest[i] & 15];
	}
}
