/*
 * How values come together, by Helm's rules: files over defaults, parents over sub-charts, null
 * deletes a default, globals reach every sub-chart; and which sub-charts the values switch on.
 */
#ifndef CHART_VALUES_H
#define CHART_VALUES_H

#include "base/buffer.h"
#include "chart/chart.h"

/* Puts `from` over `into`: maps are merged, anything else replaces. */
void values_merge_maps(struct arena *arena, struct value_map *into, const struct value_map *from);

/* All values for a chart and its sub-charts; `given` is not changed. Warnings go to notes. */
int values_coalesce(struct arena *arena, const struct chart *chart, const struct value_map *given,
	struct value_map **ret_values, struct err *err);

/* Applies conditions, tags, aliases and import-values of dependencies: charts that are switched off
 * are gone afterwards. */
int values_process_dependencies(struct arena *arena, struct chart *chart,
	const struct value_map *given, struct err *err);

/* The map at a path "a.b.c", or NULL. */
struct value_map *values_table(const struct value_map *values, struct span path);

/* A value at a path that is not a map; false if there is none. */
bool values_find_path(const struct value_map *values, struct span path, struct value *ret_value);

#endif
