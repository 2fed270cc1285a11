/*
 * The simulated outside of the toys. Requests take time to arrive, may be lost, or arrive
 * twice, the second time much later; answers may be lost; and its components die. It
 * remembers tokens and records which caller did what, so that it can report a broken
 * rule.
 */
#ifndef SIM_TOY_TOY_WORLD_H
#define SIM_TOY_TOY_WORLD_H

#include "sim/toy/toy.h"

#define TOY_WORLD_TOYS_MAX 8
#define TOY_NAME_MAX 15

struct toy_world;

struct toy_world_counts {
	unsigned lost_requests, lost_answers, duplicates, deaths, takeovers;
};

extern const struct toy_world_operations toy_world_operations;

/* Calls broken() for the first broken rule. */
struct toy_world *toy_world_new(struct runner *root,
	void (*broken)(void *context, const char *rule), void *context, struct err *err);
/* Its courier must have been stopped: runner_stop(root). */
void toy_world_free(struct toy_world *world);

/* From now on everything arrives, soon and once. */
void toy_world_calm_down(struct toy_world *world);
/* Ends one living part, if there is one; returns the name of its toy, else NULL. */
const char *toy_world_kill_one(struct toy_world *world);
/* The promise that leases make is off for calls under way now: a server crashed or stopped, or its lease
 * or claim was taken from it by force. */
void toy_world_excuse_calls(struct toy_world *world);
/* Whether exactly the parts of slots 0 to desired-1 live, with these tokens. */
bool toy_world_is_as_wanted(struct toy_world *world, struct span toy, size_t desired,
	const struct toy_slot slots[TOY_SLOTS_MAX]);
void toy_world_counts(const struct toy_world *world, struct toy_world_counts *ret_counts);

#endif
