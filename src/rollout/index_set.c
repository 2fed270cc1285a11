#include "rollout/index_set.h"

#include <assert.h>

#include "base/memory.h"

#define WORD_SHIFT 6u
#define WORD_MASK 63u

static size_t words_of(uint32_t capacity, unsigned level)
{
	size_t words = capacity;

	for (unsigned i = 0; i <= level; i++)
		words = (words + WORD_MASK) >> WORD_SHIFT;
	return words;
}

void index_set_reserve(struct index_set *set, uint32_t capacity)
{
	assert(capacity <= INDEX_SET_MAX);
	if (capacity <= set->capacity)
		return;
	for (unsigned level = 0; level < INDEX_SET_LEVELS; level++) {
		size_t before = words_of(set->capacity, level), words = words_of(capacity, level);

		set->levels[level] = memory_resize(set->levels[level], words * sizeof(uint64_t));
		memset(set->levels[level] + before, 0, (words - before) * sizeof(uint64_t));
	}
	set->capacity = capacity;
}

void index_set_clear(struct index_set *set)
{
	for (unsigned level = 0; level < INDEX_SET_LEVELS; level++)
		free(set->levels[level]);
	*set = (struct index_set){0};
}

bool index_set_has(const struct index_set *set, uint32_t index)
{
	return index < set->capacity &&
	       (set->levels[0][index >> WORD_SHIFT] >> (index & WORD_MASK) & 1);
}

void index_set_add(struct index_set *set, uint32_t index)
{
	assert(index < set->capacity);
	if (index_set_has(set, index))
		return;
	set->count++;
	for (unsigned level = 0; level < INDEX_SET_LEVELS; level++) {
		uint64_t *word = &set->levels[level][index >> WORD_SHIFT];
		uint64_t before = *word;

		*word |= 1ull << (index & WORD_MASK);
		if (before)
			return; /* those above know already */
		index >>= WORD_SHIFT;
	}
}

void index_set_remove(struct index_set *set, uint32_t index)
{
	if (!index_set_has(set, index))
		return;
	set->count--;
	for (unsigned level = 0; level < INDEX_SET_LEVELS; level++) {
		uint64_t *word = &set->levels[level][index >> WORD_SHIFT];

		*word &= ~(1ull << (index & WORD_MASK));
		if (*word)
			return;
		index >>= WORD_SHIFT;
	}
}

uint32_t index_set_next(const struct index_set *set, uint32_t from)
{
	unsigned level = 0;
	size_t at = from;

	if (set->count == 0 || from >= set->capacity)
		return INDEX_SET_NONE;
	/* Up until a word has one that is not below, then down to the lowest of that. */
	while (true) {
		size_t word = at >> WORD_SHIFT;
		uint64_t rest;

		if (word >= words_of(set->capacity, level))
			return INDEX_SET_NONE;
		rest = set->levels[level][word] >> (at & WORD_MASK);
		if (rest) {
			at += (unsigned)__builtin_ctzll(rest);
			break;
		}
		if (++level == INDEX_SET_LEVELS)
			return INDEX_SET_NONE;
		at = word + 1;
	}
	while (level-- > 0)
		at = (at << WORD_SHIFT) + (unsigned)__builtin_ctzll(set->levels[level][at]);
	return (uint32_t)at;
}
