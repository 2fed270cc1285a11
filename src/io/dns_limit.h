/*
 * Response rate limiting: how often the same answer goes to the same network over UDP, where the sender
 * may be forged and an answer hits a victim.
 *
 * Each pair of a source network and a kind of answer has a bucket of tokens, refilled at the rate and
 * holding one second's worth. Without a token most answers are dropped, and every slip-th is sent as a
 * bare TC, so that a real client comes again by TCP. All errors and negative answers of a zone are one
 * kind: random names do not get around it. The table has a fixed size; the bucket used longest ago makes
 * room. One thread uses it.
 */
#ifndef IO_DNS_LIMIT_H
#define IO_DNS_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define DNS_LIMIT_BUCKETS 16384 /* a power of two */

enum dns_limit_verdict {
	DNS_LIMIT_SEND,
	DNS_LIMIT_SLIP, /* a bare TC instead */
	DNS_LIMIT_DROP,
};

struct dns_limit_config {
	unsigned rate;    /* answers of a kind a second and network; 0: no limit */
	unsigned slip;    /* 0: never, 1: always, 2: every second one */
	unsigned prefix4; /* bits of an address that are its network */
	unsigned prefix6;
};

struct dns_limit;

struct dns_limit *dns_limit_new(const struct dns_limit_config *config, uint64_t seed);
void dns_limit_free(struct dns_limit *limit); /* NULL is fine */
/* `kind` is a hash of what makes answers the same; seeded by the caller or not. */
enum dns_limit_verdict dns_limit_take(struct dns_limit *limit, const struct sockaddr *source,
	uint64_t kind, int64_t now_us);

#endif
