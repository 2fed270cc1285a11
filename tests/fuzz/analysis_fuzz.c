/*
 * Answers of Prometheus and stored samples: values are numbers, within the limits, and every verdict is reached with
 * them. The first byte chooses.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "delivery/analysis/analysis.h"
#include "delivery/analysis/source.h"

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_answer(struct span text, struct arena *arena)
{
	double *values;
	size_t count;
	struct err err = {0};
	int code = source_read_prometheus(text, arena, &values, &count, &err);

	if (code < 0) {
		CHECK(err.code == code);
		return;
	}
	CHECK(count <= SOURCE_SERIES_MAX);
	for (size_t i = 0; i < count; i++)
		CHECK(!isnan(values[i]) && isfinite(analysis_sample_of(0, values[i]).value));
}

static void check_samples(struct span text, struct arena *arena)
{
	struct analysis_window window = {.duration_ms = 600000};
	struct analysis_rule rule = {.has_max = true, .max = 1};
	struct analysis_decision decision;
	struct analysis_sample *samples;
	struct json *value;
	size_t count;

	if (json_parse(text, arena, &value, NULL) < 0 ||
		analysis_read_samples(value, arena, &samples, &count, NULL) < 0)
		return;
	for (int strategy = ANALYSIS_THRESHOLD; strategy <= ANALYSIS_CANARY_PRIMARY;
		strategy += 3) {
		rule.strategy = strategy;
		analysis_decide(&rule, &window, samples, count, 600001, arena, &decision);
		CHECK(decision.verdict != ANALYSIS_RUNNING || decision.next_ms > 0);
	}
	analysis_write_samples(samples, count, arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_arena_ struct arena *arena = arena_new(0);
	struct span text = {(const char *)data + 1, size - 1};

	if (size == 0)
		return 0;
	if (data[0] == 's')
		check_samples(text, arena);
	else
		check_answer(text, arena);
	return 0;
}
