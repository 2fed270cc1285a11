/* Sprig's dictionaries. `set`, `unset` and the merges change the map they are given. */
#include "chart/function.h"

static int dict_dict(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	struct value_map *map = value_map_new(run->arena, count / 2 + 1);

	for (size_t i = 0; i < count; i += 2)
		value_map_set(run->arena, map, function_text(run, arguments[i]),
			i + 1 < count ? arguments[i + 1] : value_string(SPAN("")));
	*ret_value = value_of_map(map);
	return 0;
}

static int dict_get(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	const struct value *found = value_map_find(arguments[0].map, arguments[1].text);

	(void)run;
	(void)count;
	*ret_value = found ? *found : value_string(SPAN(""));
	return 0;
}

static struct value plain_map(struct value map)
{
	map.type = TYPE_MAP;
	return map;
}

static int dict_set(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)count;
	value_map_set(run->arena, arguments[0].map, arguments[1].text, arguments[2]);
	*ret_value = plain_map(arguments[0]);
	return 0;
}

static int dict_unset(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)run;
	(void)count;
	value_map_remove(arguments[0].map, arguments[1].text);
	*ret_value = plain_map(arguments[0]);
	return 0;
}

static int dict_has_key(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)run;
	(void)count;
	*ret_value = value_bool(value_map_find(arguments[0].map, arguments[1].text) != NULL);
	return 0;
}

static int dict_pluck(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	struct value *items = arena_allocate_array(run->arena, count, sizeof(*items));
	size_t found_count = 0;

	for (size_t i = 1; i < count; i++) {
		const struct value *found = value_map_find(arguments[i].map, arguments[0].text);

		if (found)
			items[found_count++] = *found;
	}
	*ret_value = value_list_over(run->arena, TYPE_LIST, items, found_count);
	return 0;
}

static int dict_keys(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	struct value *items;
	size_t total = 0;

	for (size_t i = 0; i < count; i++)
		total += arguments[i].map->count;
	*ret_value = value_new_list(run->arena, TYPE_STRINGS, total, &items);
	for (size_t i = 0; i < count; i++)
		for (uint32_t j = 0; j < arguments[i].map->count; j++)
			*items++ = value_string(arguments[i].map->entries[j].key);
	return run_reserve(run, 0);
}

static int dict_values(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	const struct value_map *map = arguments[0].map;
	struct value *items;

	(void)count;
	*ret_value = value_new_list(run->arena, TYPE_LIST, map->count, &items);
	for (uint32_t i = 0; i < map->count; i++)
		items[i] = map->entries[i].value;
	return 0;
}

static int dict_pick(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	struct value_map *map = value_map_new(run->arena, count);

	for (size_t i = 1; i < count; i++) {
		const struct value *found = value_map_find(arguments[0].map, arguments[i].text);

		if (found)
			value_map_set(run->arena, map, arguments[i].text, *found);
	}
	*ret_value = value_of_map(map);
	return 0;
}

static int dict_omit(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	struct value_map *map = value_map_copy(run->arena, arguments[0].map);

	for (size_t i = 1; i < count; i++)
		value_map_remove(map, arguments[i].text);
	*ret_value = value_of_map(map);
	return 0;
}

/* ---- merging ------------------------------------------------------------------------------------- */

static bool is_map(struct value value)
{
	return value.kind == VALUE_MAP;
}

/*
 * Merges as the library behind Sprig does: a value that is missing or empty in the destination comes from
 * the source; maps on both sides are merged; with `overwrite` the source wins otherwise, but a list
 * or map never gives way to nothing. Maps that are taken over stay shared with the source.
 */
static int merge_maps(struct run *run, struct value_map *into, const struct value_map *from,
	bool overwrite, int depth)
{
	if (depth > VALUE_DEPTH_MAX)
		return run_fail(run, "merge: maps nested too deeply (limit %d)", VALUE_DEPTH_MAX);
	if (into == from)
		return 0;
	for (uint32_t i = 0; i < from->count; i++) {
		struct span key = from->entries[i].key;
		struct value source = from->entries[i].value;
		struct value *target = value_map_find(into, key);
		int code;

		if (value_is_absent(source)) {
			if (overwrite)
				value_map_set(run->arena, into, key, source);
			continue;
		}
		if (target && is_map(*target) && is_map(source) && target->map->count) {
			code = merge_maps(run, target->map, source.map, overwrite, depth + 1);
			if (code < 0)
				return code;
			continue;
		}
		if (overwrite || !target || !value_truth(*target))
			value_map_set(run->arena, into, key, source);
	}
	return 0;
}

static int merge_all(struct run *run, const struct value *arguments, size_t count, bool overwrite,
	struct value *ret_value)
{
	for (size_t i = 1; i < count; i++) {
		int code = merge_maps(run, arguments[0].map, arguments[i].map, overwrite, 0);

		if (code < 0)
			return code;
	}
	*ret_value = plain_map(arguments[0]);
	return 0;
}

static int dict_merge(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	return merge_all(run, arguments, count, false, ret_value);
}

static int dict_merge_overwrite(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	return merge_all(run, arguments, count, true, ret_value);
}

static int dict_deep_copy(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)count;
	if (value_is_absent(arguments[0]))
		return run_fail(run, "deepCopy of nil");
	*ret_value = value_copy_deep(run->arena, arguments[0]);
	return run_reserve(run, 0);
}

/* dig "a" "b" default dict */
static int dict_dig(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	struct value at = arguments[count - 1];

	if (count < 3)
		return run_fail(run, "dig needs at least three arguments");
	for (size_t i = 0; i + 2 < count; i++) {
		const struct value *found;

		if (at.type != TYPE_MAP)
			return run_fail(run, "dig: expected map[string]interface {}, got %s",
				value_is_absent(at) ? "nil" : value_type_name(at));
		if (arguments[i].kind != VALUE_STRING)
			return run_fail(run, "dig: keys must be strings");
		found = value_map_find(at.map, arguments[i].text);
		if (!found) {
			*ret_value = arguments[count - 2];
			return 0;
		}
		at = *found;
	}
	*ret_value = at;
	return 0;
}

static const struct function rows[] = {
	{"deepCopy", "a", dict_deep_copy, false},
	{"dict", "a*", dict_dict, false},
	{"dig", "aa*", dict_dig, false},
	{"get", "ms", dict_get, false},
	{"hasKey", "ms", dict_has_key, false},
	{"keys", "m*", dict_keys, false},
	{"merge", "mm*", dict_merge, false},
	{"mergeOverwrite", "mm*", dict_merge_overwrite, false},
	{"mustDeepCopy", "a", dict_deep_copy, false},
	{"mustMerge", "mm*", dict_merge, false},
	{"mustMergeOverwrite", "mm*", dict_merge_overwrite, false},
	{"omit", "ms*", dict_omit, false},
	{"pick", "ms*", dict_pick, false},
	{"pluck", "sm*", dict_pluck, false},
	{"set", "msa", dict_set, false},
	{"unset", "ms", dict_unset, false},
	{"values", "m", dict_values, false},
};

const struct function_table functions_dict = {rows, LENGTH(rows)};
