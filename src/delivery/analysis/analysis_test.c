/* Analysis: verdicts over samples and time, with numbers computed by hand, and stored samples. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <float.h>
#include <math.h>

#include "base/memory.h"
#include "delivery/analysis/analysis.h"

#define MINUTE_MS 60000
#define BEGIN_MS INT64_C(1700000000000)
#define SAMPLES_MAX 64

/* An analysis on virtual time that takes each sample when it is due. */
struct run {
	struct analysis_rule rule;
	struct analysis_window window;
	struct analysis_sample samples[SAMPLES_MAX];
	size_t count;
	int64_t now_ms;
	struct analysis_decision decision;
};

static struct arena *arena;

static int setup(void **state)
{
	(void)state;
	arena = arena_new(0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	arena_free(arena);
	return 0;
}

static struct run begin_run(struct analysis_rule rule)
{
	return (struct run){
		.rule = rule, .window = {BEGIN_MS, 5 * MINUTE_MS, MINUTE_MS}, .now_ms = BEGIN_MS};
}

static enum analysis_verdict decide(struct run *run)
{
	analysis_decide(&run->rule, &run->window, run->samples, run->count, run->now_ms, arena,
		&run->decision);
	return run->decision.verdict;
}

/* Waits until the sample is due. */
static enum analysis_verdict take(struct run *run, struct analysis_sample sample)
{
	assert_int_equal(decide(run), ANALYSIS_RUNNING);
	assert_true(run->decision.next_ms > 0);
	run->now_ms = run->decision.next_ms;
	assert_int_equal(decide(run), ANALYSIS_RUNNING);
	assert_true(run->decision.is_sample_due);
	sample.at_ms = run->now_ms;
	run->samples[run->count++] = sample;
	return decide(run);
}

#define VALUE(number) ((struct analysis_sample){.value = (number)})
#define NO_DATA ((struct analysis_sample){.kind = ANALYSIS_NO_DATA})
#define ERROR ((struct analysis_sample){.kind = ANALYSIS_ERROR})
#define AT_MOST_1_PERCENT .has_max = true, .max = 0.01

/* scenario 46 */
static void test_threshold(void **state)
{
	struct run run = begin_run((struct analysis_rule){AT_MOST_1_PERCENT, .failure_limit = 1});

	(void)state;
	/* One bad value passes. */
	assert_int_equal(take(&run, VALUE(0.001)), ANALYSIS_RUNNING);
	assert_int_equal(run.now_ms, BEGIN_MS + MINUTE_MS);
	assert_int_equal(take(&run, VALUE(0.05)), ANALYSIS_RUNNING);
	assert_int_equal(take(&run, VALUE(0.01)), ANALYSIS_RUNNING);
	assert_int_equal(take(&run, VALUE(0)), ANALYSIS_RUNNING);
	assert_int_equal(take(&run, VALUE(0)), ANALYSIS_SUCCESS);
	assert_int_equal(run.now_ms, BEGIN_MS + 5 * MINUTE_MS);
	assert_string_equal(run.decision.reason.data, "");

	/* Two fail, at once. */
	run = begin_run(run.rule);
	assert_int_equal(take(&run, VALUE(0.05)), ANALYSIS_RUNNING);
	assert_int_equal(take(&run, VALUE(0.04)), ANALYSIS_FAILURE);
	assert_string_equal(run.decision.reason.data, "value 0.04 at 2023-11-14T22:15:20.000Z is "
						      "outside the expected range, at most 0.01 "
						      "(failure 2, limit 1)");
}

static void test_no_data(void **state)
{
	struct run run =
		begin_run((struct analysis_rule){AT_MOST_1_PERCENT, .skip_on_no_data = true});

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(take(&run, NO_DATA), ANALYSIS_RUNNING);
	assert_int_equal(take(&run, NO_DATA), ANALYSIS_SUCCESS);
	run = begin_run((struct analysis_rule){AT_MOST_1_PERCENT});
	assert_int_equal(take(&run, NO_DATA), ANALYSIS_FAILURE);
	assert_string_equal(run.decision.reason.data,
		"no data at 2023-11-14T22:14:20.000Z (failure 1, limit 0)");
}

static void test_inconclusive(void **state)
{
	struct run run = begin_run((struct analysis_rule){AT_MOST_1_PERCENT});

	(void)state;
	/* A source that never answers proves nothing. */
	for (int i = 0; i < 4; i++)
		assert_int_equal(take(&run, ERROR), ANALYSIS_RUNNING);
	assert_int_equal(take(&run, ERROR), ANALYSIS_INCONCLUSIVE);
	assert_string_equal(run.decision.reason.data,
		"0 values, fewer than 1 (0 answers without data, 5 errors)");
	run = begin_run((struct analysis_rule){
		AT_MOST_1_PERCENT, .minimum_samples = 3, .skip_on_no_data = true});
	take(&run, ERROR);
	take(&run, VALUE(0));
	take(&run, NO_DATA);
	take(&run, VALUE(0));
	assert_int_equal(take(&run, ERROR), ANALYSIS_INCONCLUSIVE);
	run.samples[0] = run.samples[1];
	assert_int_equal(decide(&run), ANALYSIS_SUCCESS);
}

/* After a pause the samples that were missed are not taken, and the end stays where it was. */
static void test_restart(void **state)
{
	struct run run = begin_run((struct analysis_rule){AT_MOST_1_PERCENT});

	(void)state;
	take(&run, VALUE(0));
	run.now_ms = BEGIN_MS + 3 * MINUTE_MS + 30000;
	decide(&run);
	assert_true(run.decision.is_sample_due);
	run.samples[run.count++] = (struct analysis_sample){.at_ms = run.now_ms};
	assert_int_equal(decide(&run), ANALYSIS_RUNNING);
	assert_int_equal(run.decision.next_ms, BEGIN_MS + 4 * MINUTE_MS);
	/* Beyond the end: one more sample, then the verdict */
	run.now_ms = BEGIN_MS + 100 * MINUTE_MS;
	assert_int_equal(decide(&run), ANALYSIS_RUNNING);
	assert_true(run.decision.is_sample_due);
	run.samples[run.count++] = (struct analysis_sample){.at_ms = run.now_ms};
	assert_int_equal(decide(&run), ANALYSIS_SUCCESS);
}

static void test_windows(void **state)
{
	struct run run = begin_run((struct analysis_rule){
		.has_min = true, .min = 1, .has_max = true, .max = 2});

	(void)state;
	/* An interval longer than the analysis: one sample, at its end */
	run.window.interval_ms = 10 * MINUTE_MS;
	assert_int_equal(take(&run, VALUE(1.5)), ANALYSIS_SUCCESS);
	assert_int_equal(run.now_ms, BEGIN_MS + 5 * MINUTE_MS);
	/* A rest that is shorter than the interval is waited for. */
	run = begin_run(run.rule);
	run.window.interval_ms = 4 * MINUTE_MS;
	assert_int_equal(take(&run, VALUE(2)), ANALYSIS_RUNNING);
	assert_int_equal(run.decision.next_ms, BEGIN_MS + 5 * MINUTE_MS);
	assert_false(run.decision.is_sample_due);
	run.now_ms = run.decision.next_ms;
	assert_int_equal(decide(&run), ANALYSIS_SUCCESS);
	run = begin_run(run.rule);
	assert_int_equal(take(&run, VALUE(0.5)), ANALYSIS_FAILURE);
	assert_non_null(strstr(run.decision.reason.data, "expected range, 1 to 2"));
}

/* ---- comparison ---- */

/* U and its probability, by hand and by the tables of Mann and Whitney. */
static void test_compare(void **state)
{
	const double low[] = {1, 2, 3, 4, 5}, high[] = {6, 7, 8, 9, 10}, same[] = {3, 3, 3, 3, 3};
	const double mixed[] = {1, 7, 3, 9, 5};
	double p;

	(void)state;
	p = analysis_compare(high, 5, low, 5, ANALYSIS_HIGH);
	assert_true(fabs(p - 0.00609) < 0.0001); /* z = (25 - 12.5 - 0.5) / sqrt(25 * 11 / 12) */
	assert_true(analysis_compare(high, 5, low, 5, ANALYSIS_LOW) > 0.99);
	assert_true(fabs(analysis_compare(high, 5, low, 5, ANALYSIS_EITHER) - 2 * p) < 1e-9);
	assert_true(fabs(analysis_compare(low, 5, high, 5, ANALYSIS_LOW) - p) < 1e-9);
	assert_true(analysis_compare(low, 5, mixed, 5, ANALYSIS_EITHER) > 0.2);
	assert_true(analysis_compare(same, 5, same, 5, ANALYSIS_EITHER) == 1);
	assert_true(analysis_compare(low, 5, low, 5, ANALYSIS_EITHER) == 1);
	assert_true(analysis_compare(low, 0, low, 5, ANALYSIS_EITHER) == 1);
}

static struct run begin_comparison(int64_t failure_limit, int deviation)
{
	struct run run = begin_run((struct analysis_rule){.strategy = ANALYSIS_CANARY_PRIMARY,
		.failure_limit = failure_limit,
		.deviation = deviation});

	run.window.duration_ms = 20 * MINUTE_MS;
	return run;
}

/* Samples until the verdict; the canary's values differ from the primary's by that. */
static enum analysis_verdict run_comparison(struct run *run, double difference)
{
	enum analysis_verdict verdict = ANALYSIS_RUNNING;

	for (int i = 0; verdict == ANALYSIS_RUNNING; i++) {
		double primary = 10 + (i * 7) % 5; /* 10 to 14, in no order */
		struct analysis_sample sample = {
			.primary = primary, .value = 10 + (i * 3 + 2) % 5 + difference};

		verdict = take(run, sample);
	}
	return verdict;
}

static void test_canary_primary(void **state)
{
	struct run run = begin_comparison(0, ANALYSIS_HIGH);
	size_t first;

	(void)state;
	assert_int_equal(run_comparison(&run, 0), ANALYSIS_SUCCESS);
	assert_int_equal(run.count, 20);
	run = begin_comparison(0, ANALYSIS_HIGH);
	assert_int_equal(run_comparison(&run, 10), ANALYSIS_FAILURE);
	assert_int_equal(run.count, ANALYSIS_COMPARED_MIN); /* as early as numbers can show it */
	assert_non_null(strstr(run.decision.reason.data, "5 samples"));
	first = run.count;
	/* A failure limit waits for so many samples more. */
	run = begin_comparison(2, ANALYSIS_HIGH);
	assert_int_equal(run_comparison(&run, 10), ANALYSIS_FAILURE);
	assert_int_equal(run.count, first + 2);
	/* Lower values are no failure of that direction. */
	run = begin_comparison(0, ANALYSIS_HIGH);
	assert_int_equal(run_comparison(&run, -10), ANALYSIS_SUCCESS);
	run = begin_comparison(0, ANALYSIS_LOW);
	assert_int_equal(run_comparison(&run, -10), ANALYSIS_FAILURE);
	/* At the end a deviation fails whatever the limit. */
	run = begin_comparison(100, ANALYSIS_EITHER);
	assert_int_equal(run_comparison(&run, -10), ANALYSIS_FAILURE);
	assert_int_equal(run.count, 20);
}

static void test_canary_primary_inconclusive(void **state)
{
	struct run run = begin_comparison(0, ANALYSIS_EITHER);

	(void)state;
	run.window.duration_ms = 4 * MINUTE_MS;
	assert_int_equal(run_comparison(&run, 100), ANALYSIS_INCONCLUSIVE);
}

static void test_combine(void **state)
{
	(void)state;
	assert_int_equal(analysis_combine(ANALYSIS_RUNNING, ANALYSIS_FAILURE), ANALYSIS_FAILURE);
	assert_int_equal(analysis_combine(ANALYSIS_SUCCESS, ANALYSIS_RUNNING), ANALYSIS_RUNNING);
	assert_int_equal(analysis_combine(ANALYSIS_INCONCLUSIVE, ANALYSIS_RUNNING),
		ANALYSIS_RUNNING);
	assert_int_equal(analysis_combine(ANALYSIS_INCONCLUSIVE, ANALYSIS_SUCCESS),
		ANALYSIS_INCONCLUSIVE);
	assert_int_equal(analysis_combine(ANALYSIS_SUCCESS, ANALYSIS_SUCCESS), ANALYSIS_SUCCESS);
}

static void test_stored_samples(void **state)
{
	const struct analysis_sample samples[] = {
		{.at_ms = BEGIN_MS, .value = 0.1, .primary = -1e-9},
		{.at_ms = BEGIN_MS + 1, .kind = ANALYSIS_ERROR}, analysis_sample_of(3, INFINITY)};
	const struct json *written = analysis_write_samples(samples, LENGTH(samples), arena);
	struct analysis_sample *read;
	struct json *parsed;
	size_t count;

	(void)state;
	assert_int_equal(json_parse(json_to_text(written, arena), arena, &parsed, NULL), 0);
	assert_int_equal(analysis_read_samples(parsed, arena, &read, &count, NULL), 0);
	assert_int_equal(count, LENGTH(samples));
	assert_true(read[0].at_ms == BEGIN_MS && read[0].value == 0.1 && read[0].primary == -1e-9);
	assert_true(read[1].kind == ANALYSIS_ERROR && read[2].value == DBL_MAX);
	assert_int_equal(analysis_sample_of(1, NAN).kind, ANALYSIS_NO_DATA);
	assert_int_equal(json_parse(SPAN("[[1,7,0,0]]"), arena, &parsed, NULL), 0);
	assert_int_equal(analysis_read_samples(parsed, arena, &read, &count, NULL), -EINVAL);
	assert_int_equal(json_parse(SPAN("[[1,0,0]]"), arena, &parsed, NULL), 0);
	assert_int_equal(analysis_read_samples(parsed, arena, &read, &count, NULL), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_threshold, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_data, setup, teardown),
		cmocka_unit_test_setup_teardown(test_inconclusive, setup, teardown),
		cmocka_unit_test_setup_teardown(test_restart, setup, teardown),
		cmocka_unit_test_setup_teardown(test_windows, setup, teardown),
		cmocka_unit_test(test_compare),
		cmocka_unit_test_setup_teardown(test_canary_primary, setup, teardown),
		cmocka_unit_test_setup_teardown(test_canary_primary_inconclusive, setup, teardown),
		cmocka_unit_test(test_combine),
		cmocka_unit_test_setup_teardown(test_stored_samples, setup, teardown),
	};

	return cmocka_run_group_tests_name("analysis", tests, NULL, NULL);
}
