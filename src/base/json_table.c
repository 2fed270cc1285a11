#include "base/json_table.h"

#include <string.h>

enum { TABLE_MASK, TABLE_SEED, TABLE_SLOTS };

static uint64_t load_64(const char *at)
{
	uint64_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

static uint32_t load_32(const char *at)
{
	uint32_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

static uint64_t mix(uint64_t value)
{
	unsigned __int128 product = (unsigned __int128)value * UINT64_C(0x9e3779b97f4a7c15);

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Names are short: eight bytes a step, the last step overlapping the one before. */
static uint32_t hash_name(struct span name, uint32_t seed)
{
	uint64_t hash = mix(((uint64_t)seed << 32) ^ name.length ^ UINT64_C(0x2545f4914f6cdd1d));
	const char *at = name.data;
	size_t left = name.length;
	uint64_t last;

	for (; left > 8; at += 8, left -= 8)
		hash = mix(hash ^ load_64(at));
	if (name.length >= 8)
		last = load_64(name.data + name.length - 8);
	else if (left >= 4)
		last = ((uint64_t)load_32(at) << 32) | load_32(at + left - 4);
	else if (left > 0)
		last = ((uint64_t)(unsigned char)at[0] << 16) |
		       ((uint64_t)(unsigned char)at[left / 2] << 8) | (unsigned char)at[left - 1];
	else
		last = 0;
	return (uint32_t)mix(hash ^ last);
}

uint32_t json_table_seed(void)
{
	return (uint32_t)span_hash(SPAN("json"));
}

static size_t slot_count(size_t members)
{
	size_t count = 2 * JSON_TABLE_THRESHOLD;

	while (count < 2 * members)
		count *= 2;
	return count;
}

size_t json_table_size(size_t members)
{
	return (TABLE_SLOTS + slot_count(members)) * sizeof(uint32_t);
}

void json_table_init(uint32_t *table, size_t members, uint32_t seed)
{
	table[TABLE_MASK] = (uint32_t)(slot_count(members) - 1);
	table[TABLE_SEED] = seed;
}

void json_table_empty(uint32_t *table)
{
	memset(table + TABLE_SLOTS, 0, ((size_t)table[TABLE_MASK] + 1) * sizeof(uint32_t));
}

/* The slot that holds the name, or the free one where it would go. */
static uint32_t find_slot(const uint32_t *table, const struct json_member *members,
	struct span name)
{
	const uint32_t *slots = table + TABLE_SLOTS;
	uint32_t mask = table[TABLE_MASK];
	uint32_t slot = hash_name(name, table[TABLE_SEED]) & mask;

	while (slots[slot] != 0 && !span_equal(members[slots[slot] - 1].name, name))
		slot = (slot + 1) & mask;
	return slot;
}

uint32_t json_table_add(uint32_t *table, const struct json_member *members, uint32_t index)
{
	uint32_t slot = find_slot(table, members, members[index].name);
	uint32_t *held = &table[TABLE_SLOTS + slot];

	if (*held != 0)
		return *held - 1;
	*held = index + 1;
	return JSON_TABLE_NOT_FOUND;
}

uint32_t json_table_find(const uint32_t *table, const struct json_member *members, struct span name)
{
	uint32_t held = table[TABLE_SLOTS + find_slot(table, members, name)];

	return held != 0 ? held - 1 : JSON_TABLE_NOT_FOUND;
}
