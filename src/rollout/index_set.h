/*
 * A set of small numbers in order: adding, removing and finding the next one cost a look at no more than
 * INDEX_SET_LEVELS words, whatever is in it. Each bit of a level says whether a word of the level below
 * has any.
 */
#ifndef ROLLOUT_INDEX_SET_H
#define ROLLOUT_INDEX_SET_H

#include <stdbool.h>
#include <stdint.h>

#define INDEX_SET_LEVELS 4
#define INDEX_SET_MAX (1u << 24) /* 64 to the power of the levels */
#define INDEX_SET_NONE UINT32_MAX

/* Zeroed is empty and without room. */
struct index_set {
	uint64_t *levels[INDEX_SET_LEVELS];
	uint32_t capacity;
	uint32_t count;
};

/* Room for numbers below capacity, which is at most INDEX_SET_MAX. It never shrinks. */
void index_set_reserve(struct index_set *set, uint32_t capacity);
void index_set_clear(struct index_set *set); /* and gives its memory back */

/* Adding a present index or removing an absent one has no effect. */
void index_set_add(struct index_set *set, uint32_t index);
void index_set_remove(struct index_set *set, uint32_t index);
bool index_set_has(const struct index_set *set, uint32_t index);

/* The lowest that is not below `from`, or INDEX_SET_NONE. */
uint32_t index_set_next(const struct index_set *set, uint32_t from);

#endif
