/*
 * A chart: its metadata, default values, templates and other files, and the charts inside it. It is
 * built from files by name, wherever they come from, and lives in one arena.
 */
#ifndef CHART_CHART_H
#define CHART_CHART_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/span.h"
#include "chart/archive.h"
#include "chart/value.h"

#define CHART_FILES_MAX 50000
/* Bytes of a values file. */
#define CHART_VALUES_MAX ((size_t)16 * 1024 * 1024)
/* Charts inside charts. */
#define CHART_DEPTH_MAX 32
#define CHART_DEPENDENCIES_MAX 1000

/* A growing list; paths are relative to the chart, with "/". */
struct chart_files {
	struct chart_file *items;
	size_t count, capacity;
};

/* A row of dependencies in Chart.yaml or requirements.yaml. */
struct chart_dependency {
	struct span name, version, repository, condition, alias;
	struct value tags;          /* list of strings */
	struct value import_values; /* list */
	bool enabled;
};

struct chart {
	struct chart *parent;
	struct span name, version, api_version, type, kube_version;
	struct value_map *metadata; /* as templates see it in .Chart */
	struct value_map *values;   /* values.yaml */
	struct span schema;         /* values.schema.json; data NULL without one */
	struct chart_files templates;
	struct chart_files files;
	struct chart_dependency *dependencies;
	size_t dependency_count;
	bool has_dependencies; /* the key is there, even when empty */
	struct chart **charts;
	size_t chart_count, chart_capacity;
};

void chart_files_add(struct arena *arena, struct chart_files *files, struct chart_file file);

/* Builds a chart from its files. */
int chart_build(struct arena *arena, const struct chart_file_list *files, struct chart **ret_chart,
	struct err *err);
/* Reads a folder (with its .helmignore) or a .tgz archive. */
int chart_open(struct arena *arena, const char *path, struct chart **ret_chart, struct err *err);

void chart_add(struct arena *arena, struct chart *parent, struct chart *child);
/* "parent/charts/child" */
struct span chart_path(struct arena *arena, const struct chart *chart);
/* Values from the YAML documents of a values file. */
int chart_read_values(struct arena *arena, struct span text, struct value_map **ret_values,
	struct err *err);

#endif
