/*
 * Analysis: whether a new version does well, decided from samples of a metric that were taken at an interval over some
 * time. Pure: the same samples and time give the same verdict, so an analysis continues after a restart.
 *
 *     THRESHOLD       each value must be in a range; more than failure_limit values outside of it are a failure
 *     CANARY_PRIMARY  the values of the canary are compared with those of the primary (Mann-Whitney U test at 1 %): a
 *                     deviation that lasts for more than failure_limit samples, or to the end, is a failure
 *
 * A failure ends an analysis at once. It is inconclusive if at its end there are fewer values than minimum_samples, or
 * none at all. A source that fails gives no value; one that answers without data gives one outside of every range,
 * unless skip_on_no_data is set.
 */
#ifndef DELIVERY_ANALYSIS_ANALYSIS_H
#define DELIVERY_ANALYSIS_ANALYSIS_H

#include "base/json.h"

#define ANALYSIS_SAMPLES_MAX 2000 /* that are kept and compared; older ones are dropped */
#define ANALYSIS_INTERVAL_MS 60000
#define ANALYSIS_INTERVAL_MIN_MS 1000
#define ANALYSIS_COMPARED_MIN 5 /* minimum_samples of CANARY_PRIMARY is at least that */
#define ANALYSIS_LIMIT_MAX 100  /* of failure_limit for CANARY_PRIMARY */

enum analysis_strategy {
	ANALYSIS_THRESHOLD,
	ANALYSIS_PREVIOUS,        /* not supported */
	ANALYSIS_CANARY_BASELINE, /* not supported: there is no baseline variant */
	ANALYSIS_CANARY_PRIMARY,
};

enum analysis_deviation {
	ANALYSIS_EITHER, /* the canary's values are higher or lower than the primary's */
	ANALYSIS_HIGH,
	ANALYSIS_LOW,
};

struct analysis_rule {
	int strategy;  /* enum analysis_strategy */
	int deviation; /* enum analysis_deviation */
	bool has_min, has_max;
	double min, max;
	int64_t failure_limit, minimum_samples;
	bool skip_on_no_data;
};

struct analysis_window {
	int64_t begin_ms, duration_ms, interval_ms; /* interval 0: ANALYSIS_INTERVAL_MS */
};

enum analysis_sample_kind {
	ANALYSIS_VALUE,
	ANALYSIS_NO_DATA,
	ANALYSIS_ERROR, /* the source did not answer */
};

struct analysis_sample {
	int64_t at_ms;
	enum analysis_sample_kind kind;
	double value;   /* the canary's, or the only one; finite */
	double primary; /* CANARY_PRIMARY */
};

enum analysis_verdict {
	ANALYSIS_RUNNING,
	ANALYSIS_SUCCESS,
	ANALYSIS_FAILURE,
	ANALYSIS_INCONCLUSIVE,
};

struct analysis_decision {
	enum analysis_verdict verdict;
	int64_t next_ms;    /* RUNNING: when the next sample is due, or the end */
	bool is_sample_due; /* RUNNING: a sample is to be taken now */
	struct span reason; /* of a verdict; "": none */
};

/* samples: in the order they were taken. */
void analysis_decide(const struct analysis_rule *rule, const struct analysis_window *window,
	const struct analysis_sample *samples, size_t count, int64_t now_ms, struct arena *arena,
	struct analysis_decision *ret_decision);

/* The verdict of several checks: a failure of any ends all; inconclusive if all have ended and any is. */
enum analysis_verdict analysis_combine(enum analysis_verdict a, enum analysis_verdict b);

/* The probability that samples as different as these, or more, come from one distribution. HIGH: that the first are as
 * much higher. 1 if one of them is empty. */
double analysis_compare(const double *first, size_t first_count, const double *second,
	size_t second_count, enum analysis_deviation deviation);

/* Finite: an infinite value becomes the largest, and one that is not a number is no data. */
struct analysis_sample analysis_sample_of(int64_t at_ms, double value);

const char *analysis_verdict_name(enum analysis_verdict verdict);

/* As they are stored, one array for each sample. */
struct json *analysis_write_samples(const struct analysis_sample *samples, size_t count,
	struct arena *arena);
/* -EINVAL: no samples. */
int analysis_read_samples(const struct json *value, struct arena *arena,
	struct analysis_sample **ret_samples, size_t *ret_count, struct err *err);

#endif
