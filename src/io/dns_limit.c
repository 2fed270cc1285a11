/* Buckets in sets of a few: a key may be in any bucket of its set. */
#include "io/dns_limit.h"

#include <netinet/in.h>

#include "base/memory.h"

#define SET_SIZE 4
#define MICRO 1000000

struct bucket {
	uint64_t key;     /* 0: free */
	uint32_t used_ms; /* wraps after 49 days: a stale bucket is then full sooner, no more */
	uint32_t millitokens;
	uint32_t withheld; /* answers in a row that had no token */
};

struct dns_limit {
	struct dns_limit_config config;
	uint64_t seed;
	uint32_t full; /* millitokens */
	struct bucket buckets[DNS_LIMIT_BUCKETS];
};

struct dns_limit *dns_limit_new(const struct dns_limit_config *config, uint64_t seed)
{
	struct dns_limit *limit = memory_allocate(sizeof(*limit));

	limit->config = *config;
	limit->seed = seed;
	if (limit->config.rate > MICRO)
		limit->config.rate = MICRO;
	limit->full = limit->config.rate * 1000;
	return limit;
}

void dns_limit_free(struct dns_limit *limit)
{
	free(limit);
}

static uint64_t mix(uint64_t value)
{
	value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
	value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
	return value ^ (value >> 31);
}

static uint64_t first_bits(uint64_t value, unsigned bits)
{
	return bits == 0 ? 0 : bits >= 64 ? value : value & ~(UINT64_MAX >> bits);
}

static uint64_t be64(const uint8_t *bytes)
{
	uint64_t value = 0;

	for (size_t i = 0; i < 8; i++)
		value = value << 8 | bytes[i];
	return value;
}

/* Networks of IPv6 are distinguished by at most 64 bits. IPv4 in IPv6 counts as IPv4. */
static uint64_t network_of(const struct dns_limit *limit, const struct sockaddr *source)
{
	const struct in6_addr *six;
	uint64_t four;

	if (source->sa_family == AF_INET) {
		four = ntohl(((const struct sockaddr_in *)source)->sin_addr.s_addr);
	} else {
		six = &((const struct sockaddr_in6 *)source)->sin6_addr;
		if (!IN6_IS_ADDR_V4MAPPED(six))
			return mix(first_bits(be64(six->s6_addr), limit->config.prefix6) ^
				   0x6666666666666666u);
		four = be64(six->s6_addr + 8) & UINT32_MAX;
	}
	return mix(first_bits(four << 32, limit->config.prefix4));
}

static struct bucket *bucket_for(struct dns_limit *limit, uint64_t key, uint32_t now_ms)
{
	struct bucket *set = &limit->buckets[key % (DNS_LIMIT_BUCKETS / SET_SIZE) * SET_SIZE];
	struct bucket *oldest = set;

	for (size_t i = 0; i < SET_SIZE; i++) {
		if (set[i].key == key)
			return &set[i];
		if (set[i].key == 0 ||
			(oldest->key != 0 && now_ms - set[i].used_ms > now_ms - oldest->used_ms))
			oldest = &set[i];
	}
	*oldest = (struct bucket){.key = key, .used_ms = now_ms, .millitokens = limit->full};
	return oldest;
}

enum dns_limit_verdict dns_limit_take(struct dns_limit *limit, const struct sockaddr *source,
	uint64_t kind, int64_t now_us)
{
	uint32_t now_ms = (uint32_t)(now_us / 1000);
	uint64_t key, earned;
	struct bucket *bucket;

	if (limit->config.rate == 0)
		return DNS_LIMIT_SEND;
	key = mix(network_of(limit, source) ^ mix(kind ^ limit->seed)) | 1;
	bucket = bucket_for(limit, key, now_ms);
	/* A rate of n a second is n thousandths of a token a millisecond. */
	earned = (uint64_t)(now_ms - bucket->used_ms) * limit->config.rate + bucket->millitokens;
	bucket->millitokens = earned > limit->full ? limit->full : (uint32_t)earned;
	bucket->used_ms = now_ms;
	if (bucket->millitokens >= 1000) {
		bucket->millitokens -= 1000;
		bucket->withheld = 0;
		return DNS_LIMIT_SEND;
	}
	bucket->withheld++;
	if (limit->config.slip > 0 && bucket->withheld % limit->config.slip == 0)
		return DNS_LIMIT_SLIP;
	return DNS_LIMIT_DROP;
}
