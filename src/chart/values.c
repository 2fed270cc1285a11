/* See values.h. */
#include "chart/values.h"

#include <string.h>

#include "chart/function.h"
#include "chart/semver.h"

#define GLOBAL_KEY SPAN("global")

void values_merge_maps(struct arena *arena, struct value_map *into, const struct value_map *from)
{
	for (uint32_t i = 0; i < from->count; i++) {
		struct value *target = value_map_find(into, from->entries[i].key);
		struct value source = from->entries[i].value;

		if (target && target->kind == VALUE_MAP && source.kind == VALUE_MAP)
			values_merge_maps(arena, target->map, source.map);
		else
			value_map_set(arena, into, from->entries[i].key, source);
	}
}

struct value_map *values_table(const struct value_map *values, struct span path)
{
	struct value_map *map = (struct value_map *)values;
	struct span part;

	while (map && span_next_part(&path, '.', &part)) {
		const struct value *found = value_map_find(map, part);

		map = found && found->kind == VALUE_MAP ? found->map : NULL;
	}
	return map;
}

bool values_find_path(const struct value_map *values, struct span path, struct value *ret_value)
{
	const char *dot = memrchr(path.data, '.', path.length);
	struct span key = path;
	const struct value *found;

	if (dot) {
		size_t length = (size_t)(dot - path.data);

		values = values_table(values, (struct span){path.data, length});
		key = (struct span){dot + 1, path.length - length - 1};
	}
	found = values ? value_map_find(values, key) : NULL;
	if (!found || found->kind == VALUE_MAP)
		return false;
	*ret_value = *found;
	return true;
}

/* ---- coalescing ---------------------------------------------------------------------------------- */

/* Fills `into` from `from`, which may be changed; `merge` keeps nulls that would delete. */
static void coalesce_tables(struct arena *arena, struct value_map *into, struct value_map *from,
	bool merge)
{
	struct value_map *original = value_map_copy(arena, from);

	for (uint32_t i = 0; i < into->count; i++)
		if (value_is_absent(into->entries[i].value))
			value_map_set(arena, from, into->entries[i].key, value_nil());
	for (uint32_t i = 0; i < from->count; i++) {
		struct span key = from->entries[i].key;
		struct value source = from->entries[i].value;
		struct value *target = value_map_find(into, key);
		const struct value *before = value_map_find(original, key);

		if (target && !merge && value_is_absent(*target)) {
			if (before && !value_is_absent(*before))
				value_map_remove(into, key);
		} else if (!target) {
			value_map_set(arena, into, key, source);
		} else if (source.kind == VALUE_MAP && target->kind == VALUE_MAP) {
			coalesce_tables(arena, target->map, source.map, merge);
		}
	}
}

static void remove_nulls(struct value_map *map)
{
	for (uint32_t i = map->count; i-- > 0;) {
		struct value value = map->entries[i].value;

		if (value_is_absent(value))
			value_map_remove(map, map->entries[i].key);
		else if (value.kind == VALUE_MAP)
			remove_nulls(value.map);
	}
}

static bool is_child(const struct chart *chart, struct span key)
{
	for (size_t i = 0; i < chart->chart_count; i++)
		if (span_equal(chart->charts[i]->name, key))
			return true;
	return false;
}

/* Defaults of a chart below the values that it was given. */
static void coalesce_defaults(struct arena *arena, const struct chart *chart,
	struct value_map *into, bool merge)
{
	struct value_map *defaults = value_copy_deep(arena, value_of_map(chart->values)).map;

	for (uint32_t i = 0; i < defaults->count; i++) {
		struct span key = defaults->entries[i].key;
		struct value value = defaults->entries[i].value;
		struct value *target = value_map_find(into, key);

		if (!target) {
			if (!merge && value_is_absent(value))
				continue;
			if (!merge && value.kind == VALUE_MAP)
				remove_nulls(value.map);
			value_map_set(arena, into, key, value);
		} else if (value_is_absent(*target) && !merge) {
			value_map_remove(into, key);
		} else if (target->kind == VALUE_MAP && value.kind == VALUE_MAP) {
			bool keep = merge || is_child(chart, key);

			if (!keep)
				remove_nulls(value.map);
			coalesce_tables(arena, target->map, value.map, keep);
		}
	}
}

/* Globals of the parent into those of a sub-chart; the parent wins. */
static void coalesce_globals(struct arena *arena, struct value_map *into,
	const struct value_map *from)
{
	const struct value *source = value_map_find(from, GLOBAL_KEY);
	struct value *target = value_map_find(into, GLOBAL_KEY);
	struct value_map *globals;

	if ((source && source->kind != VALUE_MAP) || (target && target->kind != VALUE_MAP))
		return;
	globals = target ? target->map : value_map_new(arena, 4);
	for (uint32_t i = 0; source && i < source->map->count; i++) {
		struct span key = source->map->entries[i].key;
		struct value value = source->map->entries[i].value;
		struct value *own = value_map_find(globals, key);

		if (value.kind != VALUE_MAP) {
			if (!own || own->kind != VALUE_MAP)
				value_map_set(arena, globals, key, value);
			continue;
		}
		if (own && own->kind != VALUE_MAP)
			continue;
		value = value_of_map(value_map_copy(arena, value.map));
		if (own)
			coalesce_tables(arena, value.map, own->map, true);
		value_map_set(arena, globals, key, value);
	}
	value_map_set(arena, into, GLOBAL_KEY, value_of_map(globals));
}

static int coalesce(struct arena *arena, const struct chart *chart, struct value_map *values,
	bool merge, struct err *err)
{
	coalesce_defaults(arena, chart, values, merge);
	for (size_t i = 0; i < chart->chart_count; i++) {
		const struct chart *child = chart->charts[i];
		struct value *found = value_map_find(values, child->name);
		struct value_map *table;
		int code;

		if (!found) {
			value_map_set(arena, values, child->name,
				value_of_map(value_map_new(arena, 4)));
			found = value_map_find(values, child->name);
		}
		if (found->kind != VALUE_MAP)
			return err_set(err, -EINVAL,
				"values for sub-chart %.*s of %.*s must be a map, not %s",
				SPAN_ARGS(child->name), SPAN_ARGS(chart->name),
				value_is_absent(*found) ? "null" : value_type_name(*found));
		table = found->map;
		coalesce_globals(arena, table, values);
		code = coalesce(arena, child, table, merge, err);
		if (code < 0)
			return code;
	}
	return 0;
}

static int coalesce_all(struct arena *arena, const struct chart *chart,
	const struct value_map *given, bool merge, struct value_map **ret_values, struct err *err)
{
	struct value_map *values =
		value_copy_deep(arena, value_of_map((struct value_map *)given)).map;
	int code = coalesce(arena, chart, values, merge, err);

	if (code < 0)
		return code;
	*ret_values = values;
	return 0;
}

int values_coalesce(struct arena *arena, const struct chart *chart, const struct value_map *given,
	struct value_map **ret_values, struct err *err)
{
	return coalesce_all(arena, chart, given, false, ret_values, err);
}

/* ---- dependencies -------------------------------------------------------------------------------- */

static bool is_compatible(struct span constraint, struct span version)
{
	struct semver parsed;

	return semver_parse(version, &parsed) && semver_check(constraint, &parsed) == 1;
}

/* A copy of a sub-chart under its alias. Its own sub-charts are copied, too: each has one parent. */
static struct chart *copy_chart(struct arena *arena, const struct chart *chart, struct span name)
{
	struct chart *copy = arena_allocate(arena, sizeof(*copy));

	*copy = *chart;
	copy->name = name;
	copy->charts = NULL;
	copy->chart_count = copy->chart_capacity = 0;
	copy->metadata = value_map_copy(arena, chart->metadata);
	value_map_put(arena, copy->metadata, "Name", value_string(name));
	copy->dependencies = arena_allocate_array(arena, chart->dependency_count + 1,
		sizeof(*copy->dependencies));
	if (chart->dependency_count)
		memcpy(copy->dependencies, chart->dependencies,
			chart->dependency_count * sizeof(*copy->dependencies));
	for (size_t i = 0; i < chart->chart_count; i++)
		chart_add(arena, copy, copy_chart(arena, chart->charts[i], chart->charts[i]->name));
	return copy;
}

/* Replaces the sub-charts by those that Chart.yaml asks for, under their aliases. */
static void apply_aliases(struct arena *arena, struct chart *chart)
{
	struct chart **old = chart->charts;
	size_t count = chart->chart_count;

	chart->charts = NULL;
	chart->chart_count = chart->chart_capacity = 0;
	for (size_t i = 0; i < count; i++) {
		bool declared = false;

		for (size_t j = 0; j < chart->dependency_count; j++)
			declared |= span_equal(chart->dependencies[j].name, old[i]->name) &&
				    is_compatible(chart->dependencies[j].version, old[i]->version);
		if (!declared)
			chart_add(arena, chart, old[i]);
	}
	for (size_t j = 0; j < chart->dependency_count; j++) {
		struct chart_dependency *dependency = &chart->dependencies[j];

		for (size_t i = 0; i < count; i++) {
			if (!span_equal(dependency->name, old[i]->name) ||
				!is_compatible(dependency->version, old[i]->version))
				continue;
			chart_add(arena, chart,
				copy_chart(arena, old[i],
					dependency->alias.length ? dependency->alias
								 : old[i]->name));
			break;
		}
		if (dependency->alias.length)
			dependency->name = dependency->alias;
	}
}

static void apply_tags(struct chart *chart, const struct value_map *values)
{
	const struct value_map *tags = values_table(values, SPAN("tags"));

	for (size_t i = 0; tags && i < chart->dependency_count; i++) {
		struct chart_dependency *dependency = &chart->dependencies[i];
		bool has_true = false, has_false = false;

		for (uint32_t t = 0; t < dependency->tags.list->count; t++) {
			const struct value *found =
				value_map_find(tags, dependency->tags.list->items[t].text);

			if (found && found->kind == VALUE_BOOL) {
				has_true |= found->boolean;
				has_false |= !found->boolean;
			}
		}
		dependency->enabled = has_true || !has_false;
	}
}

static void apply_conditions(struct arena *arena, struct chart *chart,
	const struct value_map *values, struct span prefix)
{
	for (size_t i = 0; i < chart->dependency_count; i++) {
		struct chart_dependency *dependency = &chart->dependencies[i];
		struct span list = span_trim(dependency->condition), part;

		while (span_next_part(&list, ',', &part)) {
			struct value value;

			if (part.length == 0)
				continue;
			if (values_find_path(values,
				    arena_format(arena, "%.*s%.*s", SPAN_ARGS(prefix),
					    SPAN_ARGS(part)),
				    &value) &&
				value.kind == VALUE_BOOL) {
				dependency->enabled = value.boolean;
				break;
			}
		}
	}
}

static bool is_disabled(const struct chart *chart, struct span name)
{
	for (size_t i = 0; i < chart->dependency_count; i++)
		if (!chart->dependencies[i].enabled &&
			span_equal(chart->dependencies[i].name, name))
			return true;
	return false;
}

static void remove_disabled(struct chart *chart)
{
	size_t kept = 0;

	for (size_t i = 0; i < chart->chart_count; i++)
		if (!is_disabled(chart, chart->charts[i]->name))
			chart->charts[kept++] = chart->charts[i];
	chart->chart_count = kept;
	kept = 0;
	for (size_t i = 0; i < chart->dependency_count; i++)
		if (chart->dependencies[i].enabled)
			chart->dependencies[kept++] = chart->dependencies[i];
	chart->dependency_count = kept;
}

static int process_enabled(struct arena *arena, struct chart *chart, const struct value_map *given,
	struct span prefix, struct err *err)
{
	struct value_map *values;
	int code;

	if (!chart->has_dependencies)
		return 0;
	apply_aliases(arena, chart);
	for (size_t i = 0; i < chart->dependency_count; i++)
		chart->dependencies[i].enabled = true;
	code = coalesce_all(arena, chart, given, false, &values, err);
	if (code < 0)
		return code;
	apply_tags(chart, values);
	apply_conditions(arena, chart, values, prefix);
	remove_disabled(chart);
	for (size_t i = 0; i < chart->chart_count; i++) {
		struct span inner = arena_format(arena, "%.*s%.*s.", SPAN_ARGS(prefix),
			SPAN_ARGS(chart->charts[i]->name));

		code = process_enabled(arena, chart->charts[i], values, inner, err);
		if (code < 0)
			return code;
	}
	return 0;
}

/* ---- import-values ------------------------------------------------------------------------------- */

/* {"a": {"b": table}} for "a.b"; the table itself for ".". */
static struct value_map *at_path(struct arena *arena, struct span path, struct value_map *table)
{
	struct value value = value_of_map(table);

	if (span_is(path, "."))
		return table;
	for (;;) {
		const char *dot = memrchr(path.data, '.', path.length);
		size_t begin = dot ? (size_t)(dot - path.data) + 1 : 0;
		struct value_map *outer = value_map_new(arena, 1);

		value_map_set(arena, outer, (struct span){path.data + begin, path.length - begin},
			value);
		value = value_of_map(outer);
		if (!dot)
			return outer;
		path.length = begin - 1;
	}
}

static struct span text_of(struct value value)
{
	return value.kind == VALUE_STRING ? value.text : SPAN("");
}

/* One import, in its long form. */
static struct value import_pair(struct arena *arena, struct span child, struct span parent)
{
	struct value_map *map = value_map_new(arena, 2);

	value_map_put(arena, map, "child", value_string(child));
	value_map_put(arena, map, "parent", value_string(parent));
	return value_of_map(map);
}

static struct value import_one(struct arena *arena, const struct chart_dependency *dependency,
	struct value item, const struct value_map *values, struct value_map *imported)
{
	struct span child, parent = SPAN(".");
	struct value_map *table;

	if (item.kind == VALUE_STRING) {
		child = arena_format(arena, "exports.%.*s", SPAN_ARGS(item.text));
	} else if (item.kind == VALUE_MAP) {
		child = text_of(value_map_get(item.map, "child"));
		parent = text_of(value_map_get(item.map, "parent"));
	} else {
		return value_none();
	}
	table = values_table(values,
		arena_format(arena, "%.*s.%.*s", SPAN_ARGS(dependency->name), SPAN_ARGS(child)));
	/* Not a copy: as in Helm, later imports of the same names show in the sub-chart, too. */
	if (table)
		coalesce_tables(arena, imported, at_path(arena, parent, table), true);
	return import_pair(arena, child, parent);
}

static void import_all(struct arena *arena, struct chart_dependency *dependency,
	const struct value_map *values, struct value_map *imported)
{
	const struct value_list *list = dependency->import_values.list;
	struct value *items = arena_allocate_array(arena, (size_t)list->count + 1, sizeof(*items));
	size_t count = 0;

	for (uint32_t i = 0; i < list->count; i++) {
		items[count] = import_one(arena, dependency, list->items[i], values, imported);
		count += items[count].kind == VALUE_MAP;
	}
	dependency->import_values = value_list_over(arena, TYPE_LIST, items, count);
}

static int process_imports(struct arena *arena, struct chart *chart, struct err *err)
{
	struct value_map *values, *imported = value_map_new(arena, 4);
	int code;

	for (size_t i = 0; i < chart->chart_count; i++) {
		code = process_imports(arena, chart->charts[i], err);
		if (code < 0)
			return code;
	}
	if (!chart->has_dependencies)
		return 0;
	code = coalesce_all(arena, chart, value_map_new(arena, 0), true, &values, err);
	if (code < 0)
		return code;
	for (size_t i = 0; i < chart->dependency_count; i++)
		import_all(arena, &chart->dependencies[i], values, imported);
	coalesce_tables(arena, values, imported, true);
	chart->values = values;
	return 0;
}

int values_process_dependencies(struct arena *arena, struct chart *chart,
	const struct value_map *given, struct err *err)
{
	int code = process_enabled(arena, chart, given, SPAN(""), err);

	return code < 0 ? code : process_imports(arena, chart, err);
}
