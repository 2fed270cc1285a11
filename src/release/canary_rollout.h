/*
 * The automatic steps of a CanaryRelease (spec.steps), and how far they are (status.rollout). Pure; texts live in the JSON
 * that was read.
 *
 * A step sets the share of all listed ports, pauses, analyses metrics of the canary, or ends it. status.rollout.index is
 * the present step; it continues when the step is complete.
 */
#ifndef RELEASE_CANARY_ROLLOUT_H
#define RELEASE_CANARY_ROLLOUT_H

#include "delivery/analysis/analysis.h"

#define CANARY_ROLLOUT_STEPS_MAX 50
#define CANARY_METRICS_MAX 10  /* of one analysis */
#define CANARY_SAMPLES_MAX 500 /* of one metric in one step */
#define CANARY_PROGRESS_SECONDS 600

enum canary_rollout_kind {
	CANARY_SET_WEIGHT,
	CANARY_PAUSE,
	CANARY_ANALYSIS,
	CANARY_END, /* adopt or deprecate */
};

/* Where the values of a metric come from. */
#define CANARY_SOURCES(X)                                                                          \
	X(ERROR_RATE, "errorRate")   /* percent of the canary's requests or connections */         \
	X(RESPONSE_MS, "responseMs") /* its average time to an answer */                           \
	X(PROMETHEUS, "prometheus")                                                                \
	X(HTTP, "http") /* 1: the answer is the expected one; 0: it is not */

#define CANARY_ENUM_(name, text) CANARY_SOURCE_##name,
enum canary_source { CANARY_SOURCES(CANARY_ENUM_) CANARY_SOURCE_COUNT };
#undef CANARY_ENUM_

struct canary_metric {
	enum canary_source source;
	struct span name;
	struct span url;   /* Prometheus, or what HTTP asks */
	struct span query; /* Prometheus */
	int64_t expected_code;
	struct analysis_rule rule;
};

struct canary_rollout_step {
	enum canary_rollout_kind kind;
	uint32_t share;
	int64_t seconds; /* -1: until it is resumed */
	int64_t interval_seconds;
	struct canary_metric *metrics;
	size_t metric_count;
	struct span transition;
};

struct canary_rollout {
	struct canary_rollout_step *steps;
	size_t count;
	bool paused;
	bool deprecates; /* when a step fails; else it pauses */
	int64_t progress_seconds;

	/* status.rollout */
	int64_t index;               /* -1: not begun */
	int64_t share;               /* of all listed ports; -1: the ports' own */
	int64_t begin_ms;            /* of the present step */
	bool held;                   /* it was seen paused */
	struct span failed;          /* reason; "": it did not fail */
	struct span message;         /* of the failure */
	const struct json *samples;  /* by metric; or NULL */
	const struct json *counters; /* of the canary at the last sample; or NULL */
};

int canary_rollout_read(struct arena *arena, const struct json *spec, const struct json *status,
	struct canary_rollout *ret_rollout, struct err *err);
/* NULL: all are complete, or there are none. */
const struct canary_rollout_step *canary_rollout_step(const struct canary_rollout *rollout);

/* {"requests", "errors", "responseMs"} of the canary's side over all ports of status.traffic. */
struct json *canary_rollout_counters(struct arena *arena, const struct json *traffic);
/* A sample of ERROR_RATE or RESPONSE_MS between two of these. Without a request it has no value: an analysis without any
 * value is inconclusive. */
struct analysis_sample canary_rollout_sample(enum canary_source source, const struct json *before,
	const struct json *now, int64_t at_ms);

#endif
