/*
 * Which of a service's instances an answer names: the two routing policies of Cloud Map, without names
 * or records.
 *
 * Unhealthy instances are passed over, unless all are unhealthy: then all count as healthy.
 *
 * MULTIVALUE gives at most eight, each choice and each order equally likely.
 *
 * WEIGHTED gives one, by weights. It is not drawn by lot: after any number n of answers since the
 * weights last changed, an instance with the share s has been given s * n times, with an error below
 * one answer, and exactly its weight times after as many answers as the weights add up to. Which comes
 * first is left to chance, so that weights that change all the time favour none. An instance of weight 0
 * is not given, unless all have 0: then all have the same share.
 */
#ifndef IO_DNS_CHOICE_H
#define IO_DNS_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/random.h"

#define DNS_MULTIVALUE_MAX 8
#define DNS_WEIGHT_MAX 1000
#define DNS_WEIGHT_DEFAULT 1 /* of an instance that names none */
#define DNS_CHOICE_NONE SIZE_MAX

struct dns_candidate {
	uint16_t weight; /* 0..DNS_WEIGHT_MAX */
	bool healthy;
};

/* Returns how many of ret_chosen (indices of candidates, in the order of the answer) are set. */
size_t dns_choose_multivalue(struct random *random, const struct dns_candidate *candidates,
	size_t count, size_t ret_chosen[DNS_MULTIVALUE_MAX]);

/* The same for `count` candidates of which each one may be given. */
size_t dns_draw_multivalue(struct random *random, size_t count,
	size_t ret_chosen[DNS_MULTIVALUE_MAX]);

/* The memory of WEIGHTED. Zeroed, it is ready. The caller sees to it that one thread uses it at a time. */
struct dns_weighted {
	struct dns_share *shares;
	size_t count;
	size_t capacity;
	int64_t total;
	bool begun;
};

/* The candidates from now on. If they are as before, the count of answers stays. Weights beyond
 * DNS_WEIGHT_MAX count as that. */
void dns_weighted_set(struct dns_weighted *weighted, const struct dns_candidate *candidates,
	size_t count);
/* The index of the candidate for the next answer; DNS_CHOICE_NONE if there are no candidates. */
size_t dns_weighted_next(struct dns_weighted *weighted, struct random *random);
void dns_weighted_clear(struct dns_weighted *weighted); /* frees; it can be used again */

#endif
