/* See value.h. */
#include "chart/value.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "chart/number.h"
#include "chart/text.h"

static const char *const type_names[] = {
#define X(name, go_type, go_kind) go_type,
	VALUE_TYPES(X)
#undef X
};

static const char *const kind_names[] = {
#define X(name, go_type, go_kind) go_kind,
	VALUE_TYPES(X)
#undef X
};

const char *value_type_name(struct value value)
{
	return value.kind == VALUE_OBJECT ? value.object->class->type : type_names[value.type];
}

const char *value_kind_name(struct value value)
{
	return value.kind == VALUE_OBJECT ? value.object->class->kind : kind_names[value.type];
}

struct value value_list_over(struct arena *arena, enum value_type type, struct value *items,
	size_t count)
{
	struct value_list *list = arena_allocate(arena, sizeof(*list));

	list->items = items;
	list->count = (uint32_t)count;
	return (struct value){.kind = VALUE_LIST, .type = (uint8_t)type, .list = list};
}

struct value value_new_list(struct arena *arena, enum value_type type, size_t count,
	struct value **ret_items)
{
	struct value *items = arena_allocate_array(arena, count ? count : 1, sizeof(*items));

	*ret_items = items;
	return value_list_over(arena, type, items, count);
}

struct value_map *value_map_new(struct arena *arena, size_t capacity)
{
	struct value_map *map = arena_allocate(arena, sizeof(*map));

	map->capacity = (uint32_t)(capacity ? capacity : 4);
	map->entries = arena_allocate_array(arena, map->capacity, sizeof(*map->entries));
	return map;
}

/* The first position whose key is not less than the given one. */
static uint32_t position_of(const struct value_map *map, struct span key, bool *ret_found)
{
	uint32_t low = 0, high = map->count;

	while (low < high) {
		uint32_t middle = (low + high) / 2;
		int order = span_compare(map->entries[middle].key, key);

		if (order == 0) {
			*ret_found = true;
			return middle;
		}
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	*ret_found = false;
	return low;
}

struct value *value_map_find(const struct value_map *map, struct span key)
{
	bool found;
	uint32_t position = position_of(map, key, &found);

	return found ? &map->entries[position].value : NULL;
}

struct value value_map_get(const struct value_map *map, const char *key)
{
	const struct value *found = value_map_find(map, span_of(key));

	return found ? *found : value_none();
}

static void insert(struct arena *arena, struct value_map *map, struct span key, struct value value,
	bool copy_key)
{
	bool found;
	uint32_t position = position_of(map, key, &found);

	if (found) {
		map->entries[position].value = value;
		return;
	}
	if (map->count == map->capacity) {
		struct value_entry *larger =
			arena_allocate_array(arena, (size_t)map->capacity * 2, sizeof(*larger));

		memcpy(larger, map->entries, map->count * sizeof(*larger));
		map->entries = larger;
		map->capacity *= 2;
	}
	memmove(&map->entries[position + 1], &map->entries[position],
		(map->count - position) * sizeof(*map->entries));
	map->entries[position].key = copy_key ? arena_copy_span(arena, key) : key;
	map->entries[position].value = value;
	map->count++;
}

void value_map_set(struct arena *arena, struct value_map *map, struct span key, struct value value)
{
	insert(arena, map, key, value, true);
}

void value_map_put(struct arena *arena, struct value_map *map, const char *key, struct value value)
{
	insert(arena, map, span_of(key), value, false);
}

void value_map_remove(struct value_map *map, struct span key)
{
	bool found;
	uint32_t position = position_of(map, key, &found);

	if (!found)
		return;
	map->count--;
	memmove(&map->entries[position], &map->entries[position + 1],
		(map->count - position) * sizeof(*map->entries));
}

struct value_map *value_map_copy(struct arena *arena, const struct value_map *map)
{
	struct value_map *copy = value_map_new(arena, map->count);

	if (map->count)
		memcpy(copy->entries, map->entries, map->count * sizeof(*map->entries));
	copy->count = map->count;
	return copy;
}

bool value_truth(struct value value)
{
	switch ((enum value_kind)value.kind) {
	case VALUE_NONE:
	case VALUE_NIL: return false;
	case VALUE_BOOL: return value.boolean;
	case VALUE_INTEGER: return value.integer != 0;
	case VALUE_FLOAT: return value.number != 0;
	case VALUE_STRING:
	case VALUE_BYTES: return value.text.length > 0;
	case VALUE_LIST: return value.list->count > 0;
	case VALUE_MAP: return value.map->count > 0;
	case VALUE_OBJECT: return true;
	}
	return false;
}

int64_t value_length(struct value value)
{
	switch ((enum value_kind)value.kind) {
	case VALUE_STRING:
	case VALUE_BYTES: return (int64_t)value.text.length;
	case VALUE_LIST: return value.list->count;
	case VALUE_MAP: return value.map->count;
	default: return -1;
	}
}

struct value value_item(struct value list, size_t index)
{
	if (list.kind == VALUE_BYTES)
		return value_integer(TYPE_UINT8, (unsigned char)list.text.data[index]);
	return list.list->items[index];
}

struct value value_nil_list(struct arena *arena, enum value_type type)
{
	struct value_list *list = arena_allocate(arena, sizeof(*list));

	list->is_nil = true;
	return (struct value){.kind = VALUE_LIST, .type = (uint8_t)type, .list = list};
}

static struct value copy_to_depth(struct arena *arena, struct value value, int depth)
{
	if (depth > VALUE_DEPTH_MAX)
		return value;
	if (value.kind == VALUE_LIST && !value.list->is_nil) {
		struct value *items;
		struct value copy = value_new_list(arena, value.type, value.list->count, &items);

		for (uint32_t i = 0; i < value.list->count; i++)
			items[i] = copy_to_depth(arena, value.list->items[i], depth + 1);
		return copy;
	}
	if (value.kind == VALUE_MAP) {
		struct value copy = value;

		copy.map = value_map_copy(arena, value.map);
		for (uint32_t i = 0; i < copy.map->count; i++)
			copy.map->entries[i].value =
				copy_to_depth(arena, copy.map->entries[i].value, depth + 1);
		return copy;
	}
	return value;
}

struct value value_copy_deep(struct arena *arena, struct value value)
{
	return copy_to_depth(arena, value, 0);
}

static bool equal_to_depth(struct value a, struct value b, int depth);

static bool maps_equal(const struct value_map *a, const struct value_map *b, int depth)
{
	if (a == b)
		return true;
	if (a->count != b->count)
		return false;
	for (uint32_t i = 0; i < a->count; i++)
		if (!span_equal(a->entries[i].key, b->entries[i].key) ||
			!equal_to_depth(a->entries[i].value, b->entries[i].value, depth + 1))
			return false;
	return true;
}

static bool equal_to_depth(struct value a, struct value b, int depth)
{
	if (value_is_absent(a) || value_is_absent(b))
		return value_is_absent(a) && value_is_absent(b);
	if (a.kind != b.kind || a.type != b.type || depth > VALUE_DEPTH_MAX)
		return false;
	switch ((enum value_kind)a.kind) {
	case VALUE_BOOL: return a.boolean == b.boolean;
	case VALUE_INTEGER: return a.integer == b.integer;
	case VALUE_FLOAT: return a.number == b.number;
	case VALUE_STRING:
	case VALUE_BYTES: return span_equal(a.text, b.text);
	case VALUE_MAP: return maps_equal(a.map, b.map, depth);
	case VALUE_LIST:
		if (a.list->count != b.list->count || a.list->is_nil != b.list->is_nil)
			return false;
		for (uint32_t i = 0; i < a.list->count; i++)
			if (!equal_to_depth(a.list->items[i], b.list->items[i], depth + 1))
				return false;
		return true;
	default: return a.object == b.object;
	}
}

bool value_equal_deep(struct value a, struct value b)
{
	return equal_to_depth(a, b, 0);
}

/* ---- JSON -------------------------------------------------------------------------------------- */

static int compare_entries(const void *a, const void *b)
{
	return span_compare(((const struct value_entry *)a)->key,
		((const struct value_entry *)b)->key);
}

/* Which numbers become int64. */
enum integers { INTEGERS_NONE, INTEGERS_WITHOUT_LINE, INTEGERS_ALL };

static struct value number_from_json(const struct json *json, enum integers integers)
{
	int64_t integer;

	if ((integers == INTEGERS_ALL || (integers == INTEGERS_WITHOUT_LINE && json->line == 0)) &&
		number_parse_integer(json->text, 10, &integer))
		return value_int64(integer);
	return value_float(number_parse_float(json->text));
}

static struct value from_json(struct arena *arena, const struct json *json, enum integers integers)
{
	struct value *items, list;
	struct value_map *map;

	switch (json->type) {
	case JSON_NULL: return value_nil();
	case JSON_FALSE: return value_bool(false);
	case JSON_TRUE: return value_bool(true);
	case JSON_NUMBER: return number_from_json(json, integers);
	case JSON_STRING: return value_string(json->text);
	case JSON_ARRAY:
		list = value_new_list(arena, TYPE_LIST, json->array.count, &items);
		for (uint32_t i = 0; i < json->array.count; i++)
			items[i] = from_json(arena, json->array.items[i], integers);
		return list;
	case JSON_OBJECT:
		map = value_map_new(arena, json->object.count);
		for (uint32_t i = 0; i < json->object.count; i++)
			map->entries[i] = (struct value_entry){json->object.members[i].name,
				from_json(arena, json->object.members[i].value, integers)};
		map->count = json->object.count;
		if (map->count > 1)
			qsort(map->entries, map->count, sizeof(*map->entries), compare_entries);
		return value_of_map(map);
	}
	return value_nil();
}

struct value value_from_json(struct arena *arena, const struct json *json)
{
	return from_json(arena, json, INTEGERS_NONE);
}

struct value value_from_json_integers(struct arena *arena, const struct json *json)
{
	return from_json(arena, json, INTEGERS_ALL);
}

struct value value_from_json_set(struct arena *arena, const struct json *json)
{
	return from_json(arena, json, INTEGERS_WITHOUT_LINE);
}

struct converter {
	struct arena *arena;
	bool pretty;
	bool with_point; /* floats have a point or an exponent */
};

static struct json *number_json(struct arena *arena, struct span text)
{
	struct json *json = arena_allocate(arena, sizeof(*json));

	json->type = JSON_NUMBER;
	json->text = text;
	return json;
}

static struct json *float_json(const struct converter *converter, double number)
{
	_buffer_ struct buffer text = {0};

	if (!converter->pretty)
		return number_json(converter->arena, value_float_to_json(converter->arena, number));
	number_print_float(number, &text);
	if (converter->with_point && !strpbrk(text.data, ".eIN"))
		buffer_add_string(&text, ".0");
	return number_json(converter->arena, arena_copy_span(converter->arena, buffer_span(&text)));
}

/* encoding/json replaces bytes that are not UTF-8. */
static struct json *string_json(const struct converter *converter, struct span text)
{
	_buffer_ struct buffer fixed = {0};
	struct json *json;
	size_t length, i = 0;
	bool broken = false;

	while (i < text.length && (unsigned char)text.data[i] < 0x80)
		i++;
	for (; i < text.length; i += length)
		broken |= text_decode((struct span){text.data + i, text.length - i}, &length) ==
				  TEXT_BROKEN &&
			  length == 1;
	if (broken) {
		for (i = 0; i < text.length; i += length)
			text_add(&fixed, text_decode((struct span){text.data + i, text.length - i},
						 &length));
		return json_new_string(converter->arena, buffer_span(&fixed));
	}
	json = arena_allocate(converter->arena, sizeof(*json));
	json->type = JSON_STRING;
	json->text = text;
	return json;
}

static bool to_json(const struct converter *converter, struct value value, int depth,
	struct json **ret_json);

static bool list_to_json(const struct converter *converter, struct value value, int depth,
	struct json **ret_json)
{
	struct json *json = arena_allocate(converter->arena, sizeof(*json));

	if (value.list->is_nil) {
		json->type = JSON_NULL;
		*ret_json = json;
		return true;
	}
	json->type = JSON_ARRAY;
	json->array.count = json->array.capacity = value.list->count;
	json->array.items = arena_allocate_array(converter->arena, (size_t)value.list->count + 1,
		sizeof(struct json *));
	for (uint32_t i = 0; i < value.list->count; i++)
		if (!to_json(converter, value.list->items[i], depth + 1, &json->array.items[i]))
			return false;
	*ret_json = json;
	return true;
}

static bool map_to_json(const struct converter *converter, const struct value_map *map, int depth,
	struct json **ret_json)
{
	struct json *json = arena_allocate(converter->arena, sizeof(*json));

	json->type = JSON_OBJECT;
	json->object.count = json->object.capacity = map->count;
	json->object.members = arena_allocate_array(converter->arena, (size_t)map->count + 1,
		sizeof(struct json_member));
	for (uint32_t i = 0; i < map->count; i++) {
		json->object.members[i].name = map->entries[i].key;
		if (!to_json(converter, map->entries[i].value, depth + 1,
			    &json->object.members[i].value))
			return false;
	}
	*ret_json = json;
	return true;
}

static bool to_json(const struct converter *converter, struct value value, int depth,
	struct json **ret_json)
{
	struct arena *arena = converter->arena;

	if (depth > VALUE_DEPTH_MAX)
		return false;
	switch ((enum value_kind)value.kind) {
	case VALUE_NONE:
	case VALUE_NIL: *ret_json = json_new_null(arena); return true;
	case VALUE_BOOL: *ret_json = json_new_bool(arena, value.boolean); return true;
	case VALUE_INTEGER: *ret_json = json_new_integer(arena, value.integer); return true;
	case VALUE_FLOAT:
		if (isnan(value.number) || isinf(value.number))
			return false;
		*ret_json = float_json(converter, value.number);
		return true;
	case VALUE_STRING: *ret_json = string_json(converter, value.text); return true;
	case VALUE_BYTES:
		*ret_json = string_json(converter,
			converter->pretty ? value.text : number_base64(arena, value.text));
		return true;
	case VALUE_LIST: return list_to_json(converter, value, depth, ret_json);
	case VALUE_MAP: return map_to_json(converter, value.map, depth, ret_json);
	case VALUE_OBJECT:
		if (!value.object->class->plain) {
			*ret_json = json_new_object(arena);
			return true;
		}
		return to_json(converter, value.object->class->plain(arena, value.object),
			depth + 1, ret_json);
	}
	return false;
}

bool value_to_json(struct arena *arena, struct value value, struct json **ret_json)
{
	return to_json(&(struct converter){arena, false, false}, value, 0, ret_json);
}

bool value_to_json_pretty(struct arena *arena, struct value value, struct json **ret_json)
{
	return to_json(&(struct converter){arena, true, false}, value, 0, ret_json);
}

bool value_to_json_for_toml(struct arena *arena, struct value value, struct json **ret_json)
{
	return to_json(&(struct converter){arena, true, true}, value, 0, ret_json);
}
