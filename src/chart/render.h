/*
 * Renders a chart: values come together, dependencies are switched on and off, templates run, and
 * their text becomes manifests in Helm's order. Nothing here reads files or the network.
 */
#ifndef CHART_RENDER_H
#define CHART_RENDER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/random.h"
#include "chart/chart.h"
#include "chart/manifest.h"
#include "chart/value.h"

/* Longest name of a release, as Helm has it. */
#define RENDER_RELEASE_NAME_MAX 53

struct render_options {
	const char *release_name; /* NULL: release-name */
	const char *namespace;    /* NULL: default */
	int64_t revision;         /* 0: 1 */
	bool is_upgrade;
	const char *kube_version; /* NULL: CAPABILITIES_KUBE_VERSION */
	const struct span *api_versions;
	size_t api_version_count;
	struct clock *clock;   /* NULL: the system's */
	struct random *random; /* NULL: the system's */
	/* See struct run. */
	int (*lookup)(void *data, struct arena *arena, const struct span arguments[4],
		struct value *ret_value, struct err *err);
	void *lookup_data;
	bool lenient; /* for lint: `required` and `fail` do not fail */
	bool skip_schema;
	bool any_kubernetes; /* the chart's kubeVersion is not checked */
	/* For lint: errors are added here, a line each, and rendering continues where it can. */
	struct buffer *problems;
};

struct rendered {
	struct rendered_file *files; /* everything but partials and NOTES.txt */
	size_t file_count;
	struct span notes; /* of the chart itself */
	struct manifests manifests;
	struct manifests hooks;
	struct chart_files crds; /* named by their path in the chart */
	struct span lint_notes;  /* messages of `required` and `fail` */
};

/* `values` are those given by the user (NULL: none). The chart is changed: dependencies that are
 * switched off are gone. The result lives in the arena. */
int render_chart(struct arena *arena, struct chart *chart, const struct value_map *values,
	const struct render_options *options, struct rendered *ret_rendered, struct err *err);

#endif
