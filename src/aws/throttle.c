/* Sets of four places, each set with its own lock: accounts rarely meet, and none waits for all. */
#include "aws/throttle.h"

#include "base/lock.h"
#include "base/memory.h"

#define SETS 256
#define WAYS 4
#define ACCOUNT_MAX 31 /* twelve digits; a longer name is cut */

struct scope {
	char account[ACCOUNT_MAX + 1]; /* "" is free */
	double tokens;
	int64_t last_us;
};

struct set {
	struct lock lock;
	struct scope places[WAYS];
};

struct aws_throttle {
	double rate; /* tokens a second, and the most a bucket holds */
	double most;
	struct set sets[SETS];
};

struct aws_throttle *aws_throttle_new(double calls_per_second)
{
	struct aws_throttle *throttle = memory_allocate(sizeof(*throttle));

	throttle->rate = calls_per_second;
	throttle->most = calls_per_second > 1 ? calls_per_second : 1;
	for (size_t i = 0; i < SETS; i++)
		lock_init(&throttle->sets[i].lock);
	return throttle;
}

void aws_throttle_free(struct aws_throttle *throttle)
{
	if (!throttle)
		return;
	for (size_t i = 0; i < SETS; i++)
		lock_destroy(&throttle->sets[i].lock);
	free(throttle);
}

/* The account's place in the set, or the one that was used longest ago, made its own. */
static struct scope *find_place(struct aws_throttle *throttle, struct set *set, const char *account,
	int64_t now_us)
{
	struct scope *oldest = &set->places[0];

	for (size_t i = 0; i < WAYS; i++) {
		struct scope *scope = &set->places[i];

		if (strcmp(scope->account, account) == 0)
			return scope;
		if (!scope->account[0] || (oldest->account[0] && scope->last_us < oldest->last_us))
			oldest = scope;
	}
	strcpy(oldest->account, account);
	oldest->tokens = throttle->most;
	oldest->last_us = now_us;
	return oldest;
}

bool aws_throttle_take(struct aws_throttle *throttle, struct span account, int64_t now_us)
{
	struct set *set = &throttle->sets[span_hash(account) % SETS];
	char name[ACCOUNT_MAX + 1] = "-";
	struct scope *scope;
	bool taken;

	if (account.length > 0)
		memcpy(name, account.data,
			account.length < ACCOUNT_MAX ? account.length : ACCOUNT_MAX);
	lock_take(&set->lock);
	scope = find_place(throttle, set, name, now_us);
	if (now_us > scope->last_us) {
		scope->tokens += (double)(now_us - scope->last_us) / 1e6 * throttle->rate;
		if (scope->tokens > throttle->most)
			scope->tokens = throttle->most;
		scope->last_us = now_us;
	}
	taken = scope->tokens >= 1;
	if (taken)
		scope->tokens -= 1;
	lock_release(&set->lock);
	return taken;
}
