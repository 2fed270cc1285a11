/*
 * Templates: any text is a chart's only template, rendered with a few values. It renders or is
 * refused with a message; nothing is read or written outside, and limits hold.
 */
#include <stdio.h>
#include <stdlib.h>

#include "chart/render.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char values[] = "s: text\nn: 7\nf: 1.5\nt: true\nl: [1, a, {b: c}]\nm: {a: {b: 1}}\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_arena_ struct arena *arena = arena_new(0);
	struct chart_file files[] = {
		{SPAN("Chart.yaml"), SPAN("apiVersion: v2\nname: fuzz\nversion: 1.0.0\n")},
		{SPAN("values.yaml"), span_of(values)},
		{SPAN("templates/_base.tpl"), SPAN("{{ define \"base\" }}{{ . }}{{ end }}")},
		{SPAN("templates/input.yaml"), {(const char *)data, size}},
	};
	const struct chart_file_list list = {files, LENGTH(files)};
	struct random_seeded random;
	struct clock_manual clock;
	struct render_options options = {0};
	struct rendered rendered;
	struct chart *chart;
	struct err err = {0};

	/* Keys take seconds to make. */
	if (memmem(data, size, "gen", 3) || memmem(data, size, "crypt", 5) ||
		memmem(data, size, "htpasswd", 8))
		return -1;
	random_seeded_init(&random, 1);
	clock_manual_init(&clock, 1700000000000);
	options.random = &random.random;
	options.clock = &clock.clock;
	if (chart_build(arena, &list, &chart, &err) < 0)
		abort();
	if (render_chart(arena, chart, NULL, &options, &rendered, &err) < 0 &&
		err.message[0] == '\0')
		abort();
	return 0;
}
