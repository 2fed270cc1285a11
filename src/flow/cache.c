/* See the header. */
#include "flow/cache.h"

#include "base/memory.h"

void flow_loaded_free(struct flow_loaded *loaded)
{
	if (!loaded)
		return;
	flow_engine_free(loaded->engine);
	free(loaded->nodes);
	arena_free(loaded->arena);
	free(loaded);
}

static size_t measure(const struct flow_loaded *loaded)
{
	return arena_used(loaded->arena) + flow_engine_memory(loaded->engine) +
	       loaded->definition.graph->node_count * sizeof(struct flow_pass_node *);
}

int flow_loaded_read_files(struct flow_loaded *loaded, const struct store_object *object,
	struct err *err)
{
	return object ? json_parse(arena_copy_span(loaded->arena, object->api), loaded->arena,
				&loaded->files, err)
		      : err_set(err, -ENOENT, "the files of the flow are missing");
}

void flow_cache_init(struct flow_cache *cache, size_t bytes_max)
{
	*cache = (struct flow_cache){.bytes_max = bytes_max};
	lock_init(&cache->lock);
}

void flow_cache_destroy(struct flow_cache *cache)
{
	MAP_EACH (&cache->flows, entry)
		flow_loaded_free(entry->value);
	map_clear(&cache->flows);
	lock_destroy(&cache->lock);
}

static struct flow_loaded *take(struct flow_cache *cache, struct span key)
{
	struct flow_loaded *loaded;

	lock_take(&cache->lock);
	loaded = map_remove(&cache->flows, key);
	if (loaded)
		cache->bytes -= loaded->bytes;
	lock_release(&cache->lock);
	return loaded;
}

struct flow_loaded *flow_cache_take(struct flow_cache *cache, struct span key, uint64_t epoch,
	uint64_t revision)
{
	struct flow_loaded *loaded = take(cache, key);

	if (loaded && loaded->epoch == epoch && loaded->revision == revision)
		return loaded;
	flow_loaded_free(loaded);
	return NULL;
}

void flow_cache_drop(struct flow_cache *cache, struct span key)
{
	flow_loaded_free(take(cache, key));
}

/* The least recently used one, while all together are too large. */
static struct flow_loaded *take_oldest(struct flow_cache *cache)
{
	struct flow_loaded *loaded = NULL;
	struct map_entry *entry;
	size_t position = 0;

	lock_take(&cache->lock);
	if (cache->bytes > cache->bytes_max && (entry = map_next(&cache->flows, &position))) {
		loaded = map_remove(&cache->flows, entry->key);
		cache->bytes -= loaded->bytes;
	}
	lock_release(&cache->lock);
	return loaded;
}

void flow_cache_put(struct flow_cache *cache, struct span key, struct flow_loaded *loaded)
{
	struct flow_loaded *oldest;

	flow_cache_drop(cache, key);
	loaded->bytes = measure(loaded);
	lock_take(&cache->lock);
	map_put(&cache->flows, key, loaded);
	cache->bytes += loaded->bytes;
	lock_release(&cache->lock);
	while ((oldest = take_oldest(cache)))
		flow_loaded_free(oldest);
}
