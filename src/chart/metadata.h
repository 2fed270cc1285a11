/* Chart.yaml, and the requirements.yaml of charts with apiVersion v1. */
#ifndef CHART_METADATA_H
#define CHART_METADATA_H

#include "chart/chart.h"

/* Fills name, version, metadata and dependencies from the files of a chart, and checks them. */
int metadata_read(struct arena *arena, const struct chart_file_list *files, struct chart *chart,
	struct err *err);

/* As templates see them in .Chart.Dependencies, once values have switched them on and off. */
struct value metadata_dependencies(struct arena *arena, const struct chart *chart);

#endif
