/*
 * Two servers, one store, one world, and everything that can go wrong, from one seed: servers crash
 * (also just before and just after a commit), are paused for longer than their lease, lose their lease
 * and their claims, follow the feed too slowly; commits fail; the world answers late or never, does
 * things twice, and its parts die; everything stops at once and starts from the file. Then the faults
 * end, and all must become as wanted.
 *
 * Checked all the time: of two servers never both act for a toy in one epoch, and epochs never go back;
 * no write of a stale owner gets past the fence; no slot ever holds two parts. Checked at the end:
 * exactly the wanted parts live, and the records say so.
 */
#ifndef SIM_TOY_TOY_SIMULATION_H
#define SIM_TOY_TOY_SIMULATION_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

/* Seeded bugs (base/seeded_bug.h): the simulation has to find each of them. */
#define TOY_BUGS(X)                                                                                \
	X(NONE, "none", "no deliberate bug")                                                       \
	X(NO_FENCE, "no-fence", "writes do not require the claim")                                 \
	X(NO_CHECK, "no-check", "the lease is not checked before a call")                          \
	X(HASTY_DEATH, "hasty-death", "a server is declared dead before its lease ran out")        \
	X(LOSE_DIRTY, "lose-dirty", "a key added during its pass is not queued again")             \
	X(SKIP_INTENT, "skip-intent", "a call is sent before its intent is durable")               \
	X(IGNORE_OVERFLOW, "ignore-overflow", "changes lost by a slow feed are not listed again")
enum toy_bug {
#define X(name, text, meaning) TOY_BUG_##name,
	TOY_BUGS(X)
#undef X
		TOY_BUG_COUNT
};
extern const char *const toy_bug_names[TOY_BUG_COUNT];
extern const char *const toy_bug_meanings[TOY_BUG_COUNT];

struct toy_simulation {
	enum toy_bug bug;
	/* An existing folder for the store's file, which some seeds use (those with restarts of everything);
	 * emptied again. NULL: those seeds use memory, and nothing is restarted as a whole. */
	const char *folder;
	FILE *trace; /* NULL: none */
	bool trace_steps;
};

struct toy_simulation_result {
	uint64_t hash; /* same seed, same program: same hash */
	uint64_t steps;
	int64_t virtual_us;
	unsigned crashes, pauses, lost_leases, lost_claims, overflows, failed_commits, restarts;
	unsigned lost_answers, duplicates, deaths, refused_writes, takeovers;
};

/* 0, or -EBADMSG with the first property that did not hold, or another code when the simulation itself
 * could not run. The result is filled in both of the first two cases; it may be NULL. */
int toy_simulation_run(uint64_t seed, const struct toy_simulation *simulation,
	struct toy_simulation_result *ret_result, struct err *err);

#endif
