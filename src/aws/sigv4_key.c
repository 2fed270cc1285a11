/* A cache of sets of four entries, each set with its own lock; the oldest of a set gives way. */
#include "aws/sigv4_key.h"

#include <openssl/crypto.h>

#include "base/lock.h"

#define WAYS 4
#define SETS_MAX 4096
#define IDENTITY_MAX 320 /* longer ones (none in use) are not kept */

struct entry {
	size_t length; /* of identity; 0: free */
	char identity[IDENTITY_MAX];
	unsigned char key[SIGV4_HASH_SIZE];
};

struct set {
	struct lock lock;
	struct entry entries[WAYS];
	unsigned oldest;
};

struct sigv4_cache {
	size_t count; /* power of two */
	struct set sets[];
};

void sigv4_key_derive(struct sigv4_hash *hash, struct span secret, const struct sigv4_scope *scope,
	unsigned char out[SIGV4_HASH_SIZE])
{
	char start[256] = "AWS4";
	_free_ char *large = NULL;
	char *text = start;
	size_t length = 4 + secret.length;

	if (length > sizeof(start)) {
		text = large = memory_allocate(length);
		memcpy(text, "AWS4", 4);
	}
	if (secret.length > 0)
		memcpy(text + 4, secret.data, secret.length);
	sigv4_hash_hmac(hash, text, length, scope->date, out);
	sigv4_hash_hmac(hash, out, SIGV4_HASH_SIZE, scope->region, out);
	sigv4_hash_hmac(hash, out, SIGV4_HASH_SIZE, scope->service, out);
	sigv4_hash_hmac(hash, out, SIGV4_HASH_SIZE, SPAN("aws4_request"), out);
	OPENSSL_cleanse(text, length);
}

struct sigv4_cache *sigv4_cache_new(size_t entries)
{
	struct sigv4_cache *cache;
	size_t count = 1;

	while (count * WAYS < entries && count < SETS_MAX)
		count *= 2;
	cache = memory_allocate(sizeof(*cache) + count * sizeof(cache->sets[0]));
	cache->count = count;
	for (size_t i = 0; i < count; i++)
		lock_init(&cache->sets[i].lock);
	return cache;
}

void sigv4_cache_free(struct sigv4_cache *cache)
{
	if (!cache)
		return;
	for (size_t i = 0; i < cache->count; i++)
		lock_destroy(&cache->sets[i].lock);
	OPENSSL_cleanse(cache->sets, cache->count * sizeof(cache->sets[0]));
	free(cache);
}

/* All that a signing key depends on, each part with its length before it. 0 if it is too long. */
static size_t write_identity(struct span secret, const struct sigv4_scope *scope,
	char out[IDENTITY_MAX])
{
	struct span parts[] = {
		scope->access_key, scope->date, scope->region, scope->service, secret};
	size_t length = 0;

	for (size_t i = 0; i < LENGTH(parts); i++) {
		if (parts[i].length > 255 || parts[i].length + 1 > IDENTITY_MAX - length)
			return 0;
		out[length++] = (char)(unsigned char)parts[i].length;
		if (parts[i].length > 0)
			memcpy(out + length, parts[i].data, parts[i].length);
		length += parts[i].length;
	}
	return length;
}

static struct set *find_set(struct sigv4_cache *cache, const struct sigv4_scope *scope)
{
	uint64_t hash = span_hash(scope->access_key) + 3 * span_hash(scope->region) +
			5 * span_hash(scope->service);

	return &cache->sets[hash & (cache->count - 1)];
}

bool sigv4_cache_get(struct sigv4_cache *cache, struct span secret, const struct sigv4_scope *scope,
	unsigned char out[SIGV4_HASH_SIZE])
{
	struct set *set = find_set(cache, scope);
	char identity[IDENTITY_MAX];
	size_t length = write_identity(secret, scope, identity);
	bool found = false;

	if (length == 0)
		return false;
	lock_take(&set->lock);
	for (size_t i = 0; i < WAYS && !found; i++) {
		const struct entry *entry = &set->entries[i];

		if (entry->length != length ||
			CRYPTO_memcmp(entry->identity, identity, length) != 0)
			continue;
		memcpy(out, entry->key, SIGV4_HASH_SIZE);
		found = true;
	}
	lock_release(&set->lock);
	OPENSSL_cleanse(identity, length);
	return found;
}

void sigv4_cache_put(struct sigv4_cache *cache, struct span secret, const struct sigv4_scope *scope,
	const unsigned char key[SIGV4_HASH_SIZE])
{
	struct set *set = find_set(cache, scope);
	struct entry entry = {0};

	entry.length = write_identity(secret, scope, entry.identity);
	if (entry.length == 0)
		return;
	memcpy(entry.key, key, SIGV4_HASH_SIZE);
	lock_take(&set->lock);
	set->entries[set->oldest++ % WAYS] = entry;
	lock_release(&set->lock);
	OPENSSL_cleanse(&entry, sizeof(entry));
}
