/*
 * Exact shares by arithmetic instead of chance: a ticket number decides. A draw takes the next
 * number from one atomic word, and the number's route is a pure function of the weights, so any
 * number of threads and processes that share the memory divide one sequence between them without a
 * lock.
 *
 * The first route is picked at number n when floor((n * weight + phase) / sum) steps up between n and
 * n + 1 (Bresenham's line); numbers it leaves are counted on, and the next route is picked from those
 * in the same way with the sum that is left. So with two routes every run of N draws has floor(N*w) or
 * ceil(N*w) of each; with more at most one beyond; and a weight of 0 never steps.
 *
 * New weights are a new table, and the ticket word names the table: number and table are taken by one
 * instruction, so no draw mixes two. The remainders of the old table are the phases of the new one, so
 * a share of 1 in 100 comes up once in 100 draws also if the weights change every 40.
 */
#ifndef PROXY_SHARE_H
#define PROXY_SHARE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHARE_ROUTES_MAX 16
#define SHARE_TABLES 16 /* a draw that is overtaken by this many changes is repeated */

/* A route with its weight; a draw returns the key. */
struct share_route {
	uint32_t key;
	uint32_t weight; /* at most 2^20; their sum at most 2^24 */
};

struct share_level {
	_Atomic uint32_t key, weight;
	_Atomic uint32_t sum; /* of this weight and those behind it */
	_Atomic uint32_t phase;
};

struct share_table {
	_Atomic uint32_t generation;
	_Atomic uint32_t count;
	struct share_level levels[SHARE_ROUTES_MAX];
};

/* Zeroed: no routes. Written by one thread at a time, drawn from by any. */
struct share {
	_Atomic uint64_t ticket; /* generation in 16 bits, number in 48 */
	struct share_table tables[SHARE_TABLES];
};

#define SHARE_NONE UINT32_MAX /* no route has a weight */

/* Does nothing if these are the routes already. */
void share_set(struct share *share, const struct share_route *routes, size_t count);
/* The routes now. Returns how many. */
size_t share_get(struct share *share, struct share_route out[SHARE_ROUTES_MAX]);
/* The key of the route that is next. */
uint32_t share_draw(struct share *share);
/* Without taking a number: the same hash gives the same route while weights are the same, and when one
 * weight grows at the cost of another, hashes only move towards the one that grows (two routes). */
uint32_t share_of_hash(struct share *share, uint64_t hash);

#endif
