/* See the header. */
#include "daemon/interest.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/memory.h"
#include "control/lock.h"

#define FEW 4

struct interest {
	struct lock lock;
	struct map instances; /* struct parties */
};

struct parties {
	size_t count, size;
	struct span *keys;
};

struct interest *interest_new(void)
{
	struct interest *interest = memory_allocate(sizeof(*interest));

	lock_init(&interest->lock);
	return interest;
}

static void parties_free(struct parties *parties)
{
	free(parties->keys);
	free(parties);
}

void interest_free(struct interest *interest)
{
	if (!interest)
		return;
	MAP_EACH (&interest->instances, entry)
		parties_free(entry->value);
	map_clear(&interest->instances);
	lock_destroy(&interest->lock);
	free(interest);
}

void interest_add(struct interest *interest, struct span instance, struct span who)
{
	struct parties *parties;

	lock_take(&interest->lock);
	parties = map_get(&interest->instances, instance);
	if (!parties) {
		parties = memory_allocate(sizeof(*parties));
		map_put(&interest->instances, instance, parties);
	}
	if (parties->count == parties->size) {
		parties->size = parties->size ? 2 * parties->size : FEW;
		parties->keys =
			memory_resize(parties->keys, parties->size * sizeof(*parties->keys));
	}
	parties->keys[parties->count++] = who;
	lock_release(&interest->lock);
}

/* Mostly it is who came last. */
void interest_remove(struct interest *interest, struct span instance, struct span who)
{
	struct parties *parties;

	lock_take(&interest->lock);
	parties = map_get(&interest->instances, instance);
	for (size_t i = parties ? parties->count : 0; i-- > 0;)
		if (span_equal(parties->keys[i], who)) {
			parties->keys[i] = parties->keys[--parties->count];
			break;
		}
	if (parties && parties->count == 0) {
		map_remove(&interest->instances, instance);
		parties_free(parties);
	}
	lock_release(&interest->lock);
}

size_t interest_list(struct interest *interest, struct span instance, struct arena *arena,
	struct span **ret_keys)
{
	const struct parties *parties;
	size_t count;

	lock_take(&interest->lock);
	parties = map_get(&interest->instances, instance);
	count = parties ? parties->count : 0;
	*ret_keys = arena_allocate_array(arena, count + 1, sizeof(**ret_keys));
	for (size_t i = 0; i < count; i++)
		(*ret_keys)[i] = arena_copy_span(arena, parties->keys[i]);
	lock_release(&interest->lock);
	return count;
}
