/*
 * Values: any text is the values.yaml of a chart with a sub-chart, and what a user gives on top. They
 * come together in both charts or are refused with a message, and toYaml writes them as text that
 * reads as the same values.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/yaml.h"
#include "chart/render.h"

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char metadata[] = "apiVersion: v2\nname: fuzz\nversion: 1.0.0\n"
			       "dependencies:\n- {name: sub, version: '*', condition: a, tags: [b],"
			       " import-values: [data, {child: c, parent: d}]}\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct span text = {(const char *)data, size};
	_arena_ struct arena *arena = arena_new(0);
	struct chart_file files[] = {
		{SPAN("Chart.yaml"), span_of(metadata)},
		{SPAN("values.yaml"), text},
		{SPAN("templates/a.txt"), SPAN("{{ toJson .Values }}\n")},
		{SPAN("templates/b.txt"), SPAN("{{ (toYaml (dict \"a\" .Values \"z\" 1) | "
					       "fromYaml).a | toJson }}\n")},
		{SPAN("charts/sub/Chart.yaml"),
			SPAN("apiVersion: v2\nname: sub\nversion: 1.0.0\n")},
		{SPAN("charts/sub/values.yaml"), text},
		{SPAN("charts/sub/templates/a.txt"), SPAN("{{ toJson .Values }}\n")},
	};
	const struct chart_file_list list = {files, LENGTH(files)};
	const struct render_options options = {.skip_schema = true};
	struct value_map *given = NULL;
	struct rendered rendered;
	struct chart *chart;
	struct err err = {0};
	int code = chart_build(arena, &list, &chart, &err);

	if (code == 0)
		code = chart_read_values(arena, text, &given, &err);
	if (code == 0)
		code = render_chart(arena, chart, given, &options, &rendered, &err);
	CHECK(code == 0 || err.message[0] != '\0');
	for (size_t i = 0; code == 0 && i + 1 < rendered.file_count; i++)
		if (span_is(rendered.files[i].name, "fuzz/templates/a.txt"))
			CHECK(span_equal(rendered.files[i].text, rendered.files[i + 1].text));
	return 0;
}
