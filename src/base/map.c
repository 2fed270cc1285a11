/*
 * Entries stand in insertion order in one array; a table of slots, probed linearly, finds them by
 * hash. Holes and deleted slots are cleared out together when an insertion needs room, which is why
 * removal during iteration is safe and insertion is not.
 */
#include "base/map.h"

#define SLOT_FREE 0u
#define SLOT_DELETED UINT32_MAX
#define SLOTS_FIRST ((size_t)16)

void map_clear(struct map *map)
{
	for (size_t i = 0; i < map->entry_count; i++)
		free((char *)map->entries[i].key.data);
	free(map->entries);
	free(map->slots);
	*map = (struct map){0};
}

/* The slot of the key, or SIZE_MAX. */
static size_t find_slot(const struct map *map, struct span key, uint32_t hash)
{
	size_t mask = map->slot_count - 1;

	if (map->slot_count == 0)
		return SIZE_MAX;
	for (size_t at = hash & mask;; at = (at + 1) & mask) {
		uint32_t slot = map->slots[at];

		if (slot == SLOT_FREE)
			return SIZE_MAX;
		if (slot == SLOT_DELETED)
			continue;
		if (map->entries[slot - 1].hash == hash &&
			span_equal(map->entries[slot - 1].key, key))
			return at;
	}
}

static struct map_entry *find(const struct map *map, struct span key)
{
	size_t at = find_slot(map, key, (uint32_t)span_hash(key));

	return at == SIZE_MAX ? NULL : &map->entries[map->slots[at] - 1];
}

void *map_get(const struct map *map, struct span key)
{
	struct map_entry *entry = map->count ? find(map, key) : NULL;

	return entry ? entry->value : NULL;
}

bool map_has(const struct map *map, struct span key)
{
	return map->count && find(map, key);
}

static void place(struct map *map, uint32_t hash, size_t index)
{
	size_t mask = map->slot_count - 1;
	size_t at = hash & mask;

	while (map->slots[at] != SLOT_FREE)
		at = (at + 1) & mask;
	map->slots[at] = (uint32_t)index + 1;
	map->slots_used++;
}

/* Closes the holes, and doubles what is too small. At most half of the slots are in use after it. */
static void make_room(struct map *map)
{
	size_t kept = 0;
	size_t slot_count = map->slot_count ? map->slot_count : SLOTS_FIRST;

	for (size_t i = 0; i < map->entry_count; i++) {
		if (map->entries[i].key.data)
			map->entries[kept++] = map->entries[i];
	}
	map->entry_count = kept;
	if (map->entry_capacity == 0 || kept > map->entry_capacity / 2) {
		map->entry_capacity =
			map->entry_capacity ? map->entry_capacity * 2 : SLOTS_FIRST / 2;
		map->entries =
			memory_resize(map->entries, map->entry_capacity * sizeof(map->entries[0]));
	}
	while (map->entry_capacity > slot_count / 4 * 3)
		slot_count *= 2;
	if (slot_count != map->slot_count) {
		free(map->slots);
		map->slots = memory_allocate_array(slot_count, sizeof(map->slots[0]));
		map->slot_count = slot_count;
	} else {
		memset(map->slots, 0, slot_count * sizeof(map->slots[0]));
	}
	map->slots_used = 0;
	for (size_t i = 0; i < kept; i++)
		place(map, map->entries[i].hash, i);
}

void *map_put(struct map *map, struct span key, void *value)
{
	uint32_t hash = (uint32_t)span_hash(key);
	size_t at = find_slot(map, key, hash);

	if (at != SIZE_MAX) {
		struct map_entry *entry = &map->entries[map->slots[at] - 1];
		void *old = entry->value;

		entry->value = value;
		return old;
	}
	if (map->entry_count == map->entry_capacity ||
		map->slots_used + 1 > map->slot_count / 4 * 3)
		make_room(map);
	map->entries[map->entry_count] = (struct map_entry){
		.key = {memory_copy_string_n(key.data, key.length), key.length},
		.value = value,
		.hash = hash,
	};
	place(map, hash, map->entry_count);
	map->entry_count++;
	map->count++;
	return NULL;
}

void *map_remove(struct map *map, struct span key)
{
	size_t at = find_slot(map, key, (uint32_t)span_hash(key));
	struct map_entry *entry;
	void *value;

	if (at == SIZE_MAX)
		return NULL;
	entry = &map->entries[map->slots[at] - 1];
	value = entry->value;
	free((char *)entry->key.data);
	*entry = (struct map_entry){0};
	map->slots[at] = SLOT_DELETED;
	map->count--;
	return value;
}

struct map_entry *map_next(const struct map *map, size_t *position)
{
	while (*position < map->entry_count) {
		struct map_entry *entry = &map->entries[(*position)++];

		if (entry->key.data)
			return entry;
	}
	return NULL;
}
