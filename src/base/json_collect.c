#include "base/json_collect.h"

#include "base/json_table.h"
#include "base/memory.h"

#define NAME_IN_MESSAGE_MAX 80

void json_collect_begin(struct json_collector *collector, struct arena *arena)
{
	/* Not the whole structure: the scratch is large, and not read before it is written. */
	collector->arena = arena;
	collector->table_seed = json_table_seed();
	collector->nodes = NULL;
	collector->nodes_left = 0;
	collector->scratch = collector->scratch_first;
	collector->scratch_count = 0;
	collector->scratch_capacity = JSON_COLLECT_FIRST;
	collector->scratch_heap = NULL;
}

void json_collect_end(struct json_collector *collector)
{
	memory_free_pointer(&collector->scratch_heap);
}

int json_collect_nodes_(struct json_collector *collector, size_t most)
{
	size_t count = most < JSON_COLLECT_NODES ? most + 1 : JSON_COLLECT_NODES;

	collector->nodes = arena_allocate_capped(collector->arena, count * sizeof(struct json));
	if (!collector->nodes)
		return -E2BIG;
	collector->nodes_left = count;
	return 0;
}

void json_collect_grow_(struct json_collector *collector)
{
	size_t capacity = collector->scratch_capacity * 2;
	struct json_member *heap = memory_resize(collector->scratch_heap, capacity * sizeof(*heap));

	if (!collector->scratch_heap)
		memcpy(heap, collector->scratch, collector->scratch_count * sizeof(*heap));
	collector->scratch = collector->scratch_heap = heap;
	collector->scratch_capacity = capacity;
}

int json_collect_close_array(struct json_collector *collector, size_t first, struct json *array)
{
	size_t count = collector->scratch_count - first;
	struct json **items;

	collector->scratch_count = first;
	if (count == 0)
		return 0;
	items = arena_allocate_capped(collector->arena, count * sizeof(*items));
	if (!items)
		return -E2BIG;
	for (size_t i = 0; i < count; i++)
		items[i] = collector->scratch[first + i].value;
	array->array.items = items;
	array->array.count = (uint32_t)count;
	return 0;
}

/* The second of two members with one name, or NULL. Few members: comparing all pairs is quickest. */
static const struct json_member *find_duplicate(const struct json_member *members, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		for (size_t j = 0; j < i; j++) {
			if (span_equal(members[i].name, members[j].name))
				return &members[i];
		}
	}
	return NULL;
}

static int index_members(struct json_collector *collector, struct json *object,
	const struct json_member **ret_duplicate)
{
	const struct json_member *members = object->object.members;
	uint32_t count = object->object.count;
	uint32_t *table;

	table = arena_allocate_capped(collector->arena, json_table_size(count));
	if (!table)
		return -E2BIG;
	json_table_init(table, count, collector->table_seed);
	for (uint32_t i = 0; i < count; i++) {
		if (json_table_add(table, members, i) != JSON_TABLE_NOT_FOUND) {
			*ret_duplicate = &members[i];
			return -EEXIST;
		}
	}
	object->object.table = table;
	return 0;
}

int json_collect_close_object(struct json_collector *collector, size_t first, struct json *object,
	const struct json_member **ret_duplicate)
{
	size_t count = collector->scratch_count - first;
	size_t size = count * sizeof(struct json_member);
	struct json_member *members;
	const struct json_member *duplicate;

	collector->scratch_count = first;
	if (count == 0)
		return 0;
	members = arena_allocate_capped(collector->arena, size);
	if (!members)
		return -E2BIG;
	memcpy(members, collector->scratch + first, size);
	object->object.members = members;
	object->object.count = (uint32_t)count;
	if (count > JSON_TABLE_THRESHOLD)
		return index_members(collector, object, ret_duplicate);
	duplicate = find_duplicate(members, count);
	if (!duplicate)
		return 0;
	*ret_duplicate = duplicate;
	return -EEXIST;
}

void json_collect_quote(struct span name, struct buffer *out)
{
	if (name.length > NAME_IN_MESSAGE_MAX)
		name.length = NAME_IN_MESSAGE_MAX;
	json_write_string(name, out);
}
