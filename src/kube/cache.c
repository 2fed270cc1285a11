/*
 * An entry stands in one bucket for each of its index keys, by links that are part of it: entering and
 * leaving a bucket costs the same however many stand there, and a bucket keeps the order of arrival.
 *
 * Entries and buckets are found by tables whose chains are part of them, too, so that there is nothing beside an
 * object but its entry, and a key is kept once: an entry's in its object, a bucket's in itself.
 */
#include "kube/cache.h"

#include "base/memory.h"

#define SLOTS_LEAST 16
#define SLOTS_SPARSE 8                  /* so many for each member are too many */
#define SLOT_BYTES (2 * sizeof(void *)) /* at most, for each member of a table that grows */

struct cache_link {
	struct cache_entry *entry;
	struct cache_bucket *bucket;
	struct cache_link *previous, *next; /* in the bucket */
};

struct cache_bucket {
	struct cache_node node; /* first */
	struct cache_link *first, *last;
	uint32_t count;
	uint32_t index; /* of the owner */
	uint32_t key_length;
	char key[];
};

struct cache_entry {
	struct cache_node node;              /* first */
	struct cache_entry *previous, *next; /* in the order of arrival */
	const struct kube_object *object;
	uint64_t generation;
	size_t link_count;
	struct cache_link links[];
};

/* The keys of one object in all indexes. */
struct kube_index_keys {
	struct arena *arena;
	size_t index;    /* being asked */
	size_t in_index; /* added to it */
	size_t count;
	struct {
		size_t index;
		struct span key;
	} keys[KUBE_INFORMER_INDEXES_MAX * KUBE_INFORMER_INDEX_KEYS_MAX];
};

void cache_init(struct cache *cache, const struct kube_index *indexes, size_t count)
{
	*cache = (struct cache){.index_count = count};
	for (size_t i = 0; i < count; i++)
		cache->indexes[i] = indexes[i];
}

/* ---- tables ---- */

static struct span entry_key(const struct cache_node *node)
{
	return ((const struct cache_entry *)node)->object->key;
}

static struct span bucket_key(const struct cache_node *node)
{
	const struct cache_bucket *bucket = (const struct cache_bucket *)node;

	return (struct span){bucket->key, bucket->key_length};
}

/* Where the node with this key hangs, or would. */
static struct cache_node **table_place(const struct cache_table *table, struct span key,
	struct span (*key_of)(const struct cache_node *node))
{
	uint32_t hash = (uint32_t)span_hash(key);
	struct cache_node **at;

	for (at = &table->slots[hash & (table->slot_count - 1)]; *at; at = &(*at)->next)
		if ((*at)->hash == hash && span_equal(key_of(*at), key))
			break;
	return at;
}

static void *table_get(const struct cache_table *table, struct span key,
	struct span (*key_of)(const struct cache_node *node))
{
	return table->slot_count > 0 ? *table_place(table, key, key_of) : NULL;
}

static void table_resize(struct cache_table *table, size_t slot_count)
{
	struct cache_node **slots = memory_allocate_array(slot_count, sizeof(*slots));

	for (size_t i = 0; i < table->slot_count; i++)
		for (struct cache_node *node = table->slots[i], *next; node; node = next) {
			struct cache_node **slot = &slots[node->hash & (slot_count - 1)];

			next = node->next;
			node->next = *slot;
			*slot = node;
		}
	free(table->slots);
	table->slots = slots;
	table->slot_count = slot_count;
}

/* No other may have its key. */
static void table_add(struct cache_table *table, struct span key, struct cache_node *node)
{
	struct cache_node **slot;

	if (table->count >= table->slot_count)
		table_resize(table, table->slot_count > 0 ? 2 * table->slot_count : SLOTS_LEAST);
	node->hash = (uint32_t)span_hash(key);
	slot = &table->slots[node->hash & (table->slot_count - 1)];
	node->next = *slot;
	*slot = node;
	table->count++;
}

static void table_remove(struct cache_table *table, struct cache_node *node)
{
	struct cache_node **at = &table->slots[node->hash & (table->slot_count - 1)];

	while (*at != node)
		at = &(*at)->next;
	*at = node->next;
	table->count--;
	if (table->slot_count > SLOTS_LEAST && table->count < table->slot_count / SLOTS_SPARSE)
		table_resize(table, table->slot_count / 2);
}

void cache_clear(struct cache *cache)
{
	while (cache->first)
		kube_object_release(cache_remove(cache, cache->first->object->key));
	free(cache->entries.slots);
	cache->entries = (struct cache_table){0};
	for (size_t i = 0; i < cache->index_count; i++) {
		free(cache->buckets[i].slots);
		cache->buckets[i] = (struct cache_table){0};
	}
}

/* ---- index keys ---- */

void kube_index_keys_add(struct kube_index_keys *keys, struct span key)
{
	if (!key.data || keys->in_index == KUBE_INFORMER_INDEX_KEYS_MAX)
		return;
	for (size_t i = keys->count - keys->in_index; i < keys->count; i++) {
		if (span_equal(keys->keys[i].key, key))
			return;
	}
	keys->keys[keys->count].index = keys->index;
	keys->keys[keys->count].key = arena_copy_span(keys->arena, key);
	keys->count++;
	keys->in_index++;
}

static struct kube_index_keys *collect_keys(const struct cache *cache,
	const struct kube_object *object, struct arena *arena)
{
	struct kube_index_keys *keys = arena_allocate(arena, sizeof(*keys));

	keys->arena = arena;
	for (size_t i = 0; i < cache->index_count; i++) {
		keys->index = i;
		keys->in_index = 0;
		cache->indexes[i].keys(object, keys);
	}
	return keys;
}

static bool has_keys(const struct cache_entry *entry, const struct kube_index_keys *keys)
{
	if (entry->link_count != keys->count)
		return false;
	for (size_t i = 0; i < keys->count; i++) {
		const struct cache_bucket *bucket = entry->links[i].bucket;

		if (bucket->index != keys->keys[i].index ||
			!span_equal(bucket_key(&bucket->node), keys->keys[i].key))
			return false;
	}
	return true;
}

/* ---- buckets ---- */

static size_t bucket_bytes(const struct cache_bucket *bucket)
{
	return sizeof(*bucket) + SLOT_BYTES + bucket->key_length;
}

static struct cache_bucket *open_bucket(struct cache *cache, size_t index, struct span key)
{
	struct cache_bucket *bucket = table_get(&cache->buckets[index], key, bucket_key);

	if (bucket)
		return bucket;
	bucket = memory_allocate(sizeof(*bucket) + key.length);
	bucket->index = (uint32_t)index;
	bucket->key_length = (uint32_t)key.length;
	memcpy(bucket->key, key.data, key.length);
	table_add(&cache->buckets[index], key, &bucket->node);
	cache->bytes += bucket_bytes(bucket);
	return bucket;
}

static void close_bucket(struct cache *cache, struct cache_bucket *bucket)
{
	cache->bytes -= bucket_bytes(bucket);
	table_remove(&cache->buckets[bucket->index], &bucket->node);
	free(bucket);
}

static void link_in(struct cache_bucket *bucket, struct cache_link *link)
{
	link->bucket = bucket;
	link->previous = bucket->last;
	if (bucket->last)
		bucket->last->next = link;
	else
		bucket->first = link;
	bucket->last = link;
	bucket->count++;
}

static void link_out(struct cache *cache, struct cache_link *link)
{
	struct cache_bucket *bucket = link->bucket;

	if (link->previous)
		link->previous->next = link->next;
	else
		bucket->first = link->next;
	if (link->next)
		link->next->previous = link->previous;
	else
		bucket->last = link->previous;
	if (--bucket->count == 0)
		close_bucket(cache, bucket);
}

/* ---- entries ---- */

static size_t entry_bytes(const struct cache_entry *entry)
{
	return sizeof(*entry) + entry->link_count * sizeof(struct cache_link) + SLOT_BYTES +
	       kube_object_size(entry->object);
}

static struct cache_entry *entry_new(struct cache *cache, const struct kube_object *object,
	const struct kube_index_keys *keys)
{
	struct cache_entry *entry =
		memory_allocate(sizeof(*entry) + keys->count * sizeof(struct cache_link));

	entry->object = object;
	entry->link_count = keys->count;
	for (size_t i = 0; i < keys->count; i++) {
		entry->links[i].entry = entry;
		link_in(open_bucket(cache, keys->keys[i].index, keys->keys[i].key),
			&entry->links[i]);
	}
	table_add(&cache->entries, object->key, &entry->node);
	entry->previous = cache->last;
	if (cache->last)
		cache->last->next = entry;
	else
		cache->first = entry;
	cache->last = entry;
	cache->bytes += entry_bytes(entry);
	return entry;
}

/* Returns its object. */
static const struct kube_object *entry_free(struct cache *cache, struct cache_entry *entry)
{
	const struct kube_object *object = entry->object;

	cache->bytes -= entry_bytes(entry);
	table_remove(&cache->entries, &entry->node);
	*(entry->previous ? &entry->previous->next : &cache->first) = entry->next;
	*(entry->next ? &entry->next->previous : &cache->last) = entry->previous;
	for (size_t i = 0; i < entry->link_count; i++)
		link_out(cache, &entry->links[i]);
	free(entry);
	return object;
}

const struct kube_object *cache_get(const struct cache *cache, struct span key)
{
	const struct cache_entry *entry = table_get(&cache->entries, key, entry_key);

	return entry ? entry->object : NULL;
}

const struct kube_object *cache_put(struct cache *cache, const struct kube_object *object,
	uint64_t generation)
{
	_arena_ struct arena *arena = cache->index_count > 0 ? arena_new(0) : NULL;
	struct kube_index_keys none = {0};
	const struct kube_index_keys *keys = arena ? collect_keys(cache, object, arena) : &none;
	struct cache_entry *entry = table_get(&cache->entries, object->key, entry_key);
	const struct kube_object *before = NULL;

	if (entry && has_keys(entry, keys)) { /* stays where it stands */
		before = entry->object;
		cache->bytes -= entry_bytes(entry);
		entry->object = object;
		cache->bytes += entry_bytes(entry);
	} else {
		if (entry)
			before = entry_free(cache, entry);
		entry = entry_new(cache, object, keys);
	}
	entry->generation = generation;
	return before;
}

void cache_touch(struct cache *cache, struct span key, uint64_t generation)
{
	struct cache_entry *entry = table_get(&cache->entries, key, entry_key);

	if (entry)
		entry->generation = generation;
}

const struct kube_object *cache_remove(struct cache *cache, struct span key)
{
	struct cache_entry *entry = table_get(&cache->entries, key, entry_key);

	return entry ? entry_free(cache, entry) : NULL;
}

const struct kube_object *cache_next_before(const struct cache *cache,
	const struct cache_entry **position, uint64_t generation)
{
	const struct cache_entry *entry = *position ? (*position)->next : cache->first;

	for (; entry; entry = entry->next) {
		if (entry->generation < generation)
			return entry->object;
		*position = entry;
	}
	return NULL;
}

size_t cache_count(const struct cache *cache)
{
	return cache->entries.count;
}

/* ---- lists ---- */

void cache_find(const struct cache *cache, const char *index, struct span key, struct arena *arena,
	struct kube_object_list *ret_list)
{
	const struct cache_bucket *bucket = NULL;

	for (size_t i = 0; i < cache->index_count; i++) {
		if (strcmp(cache->indexes[i].name, index) == 0)
			bucket = table_get(&cache->buckets[i], key, bucket_key);
	}
	*ret_list = (struct kube_object_list){0};
	if (!bucket)
		return;
	ret_list->objects = arena_allocate_array(arena, bucket->count, sizeof(*ret_list->objects));
	for (const struct cache_link *link = bucket->first; link; link = link->next)
		ret_list->objects[ret_list->count++] = kube_object_reference(link->entry->object);
}

void cache_all(const struct cache *cache, struct arena *arena, struct kube_object_list *ret_list)
{
	*ret_list = (struct kube_object_list){0};
	if (cache->entries.count == 0)
		return;
	ret_list->objects =
		arena_allocate_array(arena, cache->entries.count, sizeof(*ret_list->objects));
	for (const struct cache_entry *entry = cache->first; entry; entry = entry->next)
		ret_list->objects[ret_list->count++] = kube_object_reference(entry->object);
}

void kube_object_list_release(struct kube_object_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		kube_object_release(list->objects[i]);
	list->count = 0;
}
