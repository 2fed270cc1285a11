/*
 * MULTIVALUE: distinct ranks among the healthy are drawn (Floyd's sampling), shuffled, and looked up in
 * one pass, so that no memory depends on the number of candidates.
 *
 * WEIGHTED is a schedule of unit jobs with earliest deadline first. With W the sum of the weights, an
 * instance of weight w should have been given w * n / W times after n answers. Its k-th turn (from 0) may
 * not come before answer number floor(k * W / w), and must come before number ceil((k + 1) * W / w):
 * exactly then the error stays below one. Such a schedule exists, because in any stretch of d answers at
 * most d turns fall due; it also exists when the first turn is given to anyone. Earliest deadline first
 * finds it. `credit` is w * n - k * W: what is owed, in units of a W-th of an answer.
 */
#include "io/dns_choice.h"

#include "base/memory.h"

struct dns_share {
	int64_t credit;
	uint16_t weight; /* as counted */
	uint16_t weight_requested;
	bool healthy_requested;
};

/* ---- multivalue ---- */

static size_t count_healthy(const struct dns_candidate *candidates, size_t count)
{
	size_t healthy = 0;

	for (size_t i = 0; i < count; i++)
		healthy += candidates[i].healthy;
	return healthy;
}

static bool contains(const size_t *ranks, size_t count, size_t rank)
{
	for (size_t i = 0; i < count; i++) {
		if (ranks[i] == rank)
			return true;
	}
	return false;
}

static void draw_ranks(struct random *random, size_t limit, size_t *ranks, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t last = limit - count + i;
		size_t rank = random_below(random, last + 1);

		ranks[i] = contains(ranks, i, rank) ? last : rank;
	}
	for (size_t i = count; i > 1; i--) {
		size_t other = random_below(random, i);
		size_t rank = ranks[i - 1];

		ranks[i - 1] = ranks[other];
		ranks[other] = rank;
	}
}

size_t dns_draw_multivalue(struct random *random, size_t count,
	size_t ret_chosen[DNS_MULTIVALUE_MAX])
{
	size_t wanted = count < DNS_MULTIVALUE_MAX ? count : DNS_MULTIVALUE_MAX;

	draw_ranks(random, count, ret_chosen, wanted);
	return wanted;
}

size_t dns_choose_multivalue(struct random *random, const struct dns_candidate *candidates,
	size_t count, size_t ret_chosen[DNS_MULTIVALUE_MAX])
{
	size_t ranks[DNS_MULTIVALUE_MAX];
	size_t healthy = count_healthy(candidates, count);
	bool all = healthy == 0;
	size_t eligible = all ? count : healthy;
	size_t wanted = dns_draw_multivalue(random, eligible, ranks);
	size_t rank = 0;

	for (size_t i = 0; i < count; i++) {
		if (!all && !candidates[i].healthy)
			continue;
		for (size_t j = 0; j < wanted; j++) {
			if (ranks[j] == rank)
				ret_chosen[j] = i;
		}
		rank++;
	}
	return wanted;
}

/* ---- weighted ---- */

static uint16_t capped(uint16_t weight)
{
	return weight > DNS_WEIGHT_MAX ? DNS_WEIGHT_MAX : weight;
}

static bool same_candidates(const struct dns_weighted *weighted,
	const struct dns_candidate *candidates, size_t count)
{
	if (weighted->count != count)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (weighted->shares[i].weight_requested != candidates[i].weight ||
			weighted->shares[i].healthy_requested != candidates[i].healthy)
			return false;
	}
	return true;
}

void dns_weighted_set(struct dns_weighted *weighted, const struct dns_candidate *candidates,
	size_t count)
{
	bool all = count_healthy(candidates, count) == 0;
	int64_t total = 0;

	if (same_candidates(weighted, candidates, count))
		return;
	if (count > weighted->capacity) {
		weighted->shares =
			memory_resize(weighted->shares, count * sizeof(weighted->shares[0]));
		weighted->capacity = count;
	}
	for (size_t i = 0; i < count; i++) {
		if (all || candidates[i].healthy)
			total += capped(candidates[i].weight);
	}
	weighted->count = count;
	weighted->total = 0;
	weighted->begun = false;
	for (size_t i = 0; i < count; i++) {
		bool eligible = all || candidates[i].healthy;
		uint16_t weight = total == 0 ? 1 : capped(candidates[i].weight);

		weighted->shares[i] = (struct dns_share){.weight = eligible ? weight : 0,
			.weight_requested = candidates[i].weight,
			.healthy_requested = candidates[i].healthy};
		weighted->total += weighted->shares[i].weight;
	}
}

/* The first turn goes to any candidate, with the probability of its share. */
static size_t first_turn(const struct dns_weighted *weighted, struct random *random)
{
	uint64_t lot = random_below(random, (uint64_t)weighted->total);
	size_t i = 0;

	while (lot >= weighted->shares[i].weight)
		lot -= weighted->shares[i++].weight;
	return i;
}

static size_t most_urgent(const struct dns_weighted *weighted)
{
	size_t chosen = DNS_CHOICE_NONE;
	int64_t earliest = INT64_MAX;

	for (size_t i = 0; i < weighted->count; i++) {
		const struct dns_share *share = &weighted->shares[i];
		int64_t deadline;

		if (share->weight == 0 || share->credit + share->weight <= 0)
			continue; /* its next turn may not come yet */
		deadline = (weighted->total - share->credit + share->weight - 1) / share->weight;
		if (deadline < earliest) {
			earliest = deadline;
			chosen = i;
		}
	}
	return chosen;
}

size_t dns_weighted_next(struct dns_weighted *weighted, struct random *random)
{
	size_t chosen;

	if (weighted->total == 0)
		return DNS_CHOICE_NONE;
	chosen = weighted->begun ? most_urgent(weighted) : first_turn(weighted, random);
	weighted->begun = true;
	for (size_t i = 0; i < weighted->count; i++)
		weighted->shares[i].credit += weighted->shares[i].weight;
	weighted->shares[chosen].credit -= weighted->total;
	return chosen;
}

void dns_weighted_clear(struct dns_weighted *weighted)
{
	free(weighted->shares);
	*weighted = (struct dns_weighted){0};
}
