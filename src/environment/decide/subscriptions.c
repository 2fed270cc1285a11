/* See the header. */
#include "environment/decide/subscriptions.h"

#include <stdlib.h>

#include "base/lock.h"
#include "base/map.h"
#include "base/memory.h"

#define FEW 4

struct subscriptions {
	struct lock lock;
	struct map instances; /* struct parties */
};

struct parties {
	size_t count, size;
	struct span *keys;
};

struct subscriptions *subscriptions_new(void)
{
	struct subscriptions *subscriptions = memory_allocate(sizeof(*subscriptions));

	lock_init(&subscriptions->lock);
	return subscriptions;
}

static void parties_free(struct parties *parties)
{
	free(parties->keys);
	free(parties);
}

void subscriptions_free(struct subscriptions *subscriptions)
{
	if (!subscriptions)
		return;
	MAP_EACH (&subscriptions->instances, entry)
		parties_free(entry->value);
	map_clear(&subscriptions->instances);
	lock_destroy(&subscriptions->lock);
	free(subscriptions);
}

void subscriptions_add(struct subscriptions *subscriptions, struct span instance, struct span which)
{
	struct parties *parties;

	lock_take(&subscriptions->lock);
	parties = map_get(&subscriptions->instances, instance);
	if (!parties) {
		parties = memory_allocate(sizeof(*parties));
		map_put(&subscriptions->instances, instance, parties);
	}
	if (parties->count == parties->size) {
		parties->size = parties->size ? 2 * parties->size : FEW;
		parties->keys =
			memory_resize(parties->keys, parties->size * sizeof(*parties->keys));
	}
	parties->keys[parties->count++] = which;
	lock_release(&subscriptions->lock);
}

/* Usually the last one is removed. */
void subscriptions_remove(struct subscriptions *subscriptions, struct span instance,
	struct span which)
{
	struct parties *parties;

	lock_take(&subscriptions->lock);
	parties = map_get(&subscriptions->instances, instance);
	for (size_t i = parties ? parties->count : 0; i-- > 0;)
		if (span_equal(parties->keys[i], which)) {
			parties->keys[i] = parties->keys[--parties->count];
			break;
		}
	if (parties && parties->count == 0) {
		map_remove(&subscriptions->instances, instance);
		parties_free(parties);
	}
	lock_release(&subscriptions->lock);
}

size_t subscriptions_list(struct subscriptions *subscriptions, struct span instance,
	struct arena *arena, struct span **ret_keys)
{
	const struct parties *parties;
	size_t count;

	lock_take(&subscriptions->lock);
	parties = map_get(&subscriptions->instances, instance);
	count = parties ? parties->count : 0;
	*ret_keys = arena_allocate_array(arena, count + 1, sizeof(**ret_keys));
	for (size_t i = 0; i < count; i++)
		(*ret_keys)[i] = arena_copy_span(arena, parties->keys[i]);
	lock_release(&subscriptions->lock);
	return count;
}
