/* See the header. */
#include "delivery/analysis/analysis.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/float_text.h"
#include "base/memory.h"

#define SIGNIFICANCE 0.01
#define SAMPLE_ITEMS 4

static const char *const verdicts[] = {
	[ANALYSIS_RUNNING] = "RUNNING",
	[ANALYSIS_SUCCESS] = "SUCCESS",
	[ANALYSIS_FAILURE] = "FAILURE",
	[ANALYSIS_INCONCLUSIVE] = "INCONCLUSIVE",
};

const char *analysis_verdict_name(enum analysis_verdict verdict)
{
	return verdicts[verdict];
}

enum analysis_verdict analysis_combine(enum analysis_verdict a, enum analysis_verdict b)
{
	if (a == ANALYSIS_FAILURE || b == ANALYSIS_FAILURE)
		return ANALYSIS_FAILURE;
	if (a == ANALYSIS_RUNNING || b == ANALYSIS_RUNNING)
		return ANALYSIS_RUNNING;
	return a == ANALYSIS_SUCCESS ? b : a;
}

struct analysis_sample analysis_sample_of(int64_t at_ms, double value)
{
	if (isnan(value))
		return (struct analysis_sample){.at_ms = at_ms, .kind = ANALYSIS_NO_DATA};
	if (isinf(value))
		value = value > 0 ? DBL_MAX : -DBL_MAX;
	return (struct analysis_sample){.at_ms = at_ms, .value = value};
}

/* ---- comparison ---- */

struct ranked {
	double value;
	bool is_first;
};

static int by_value(const void *a, const void *b)
{
	double left = ((const struct ranked *)a)->value, right = ((const struct ranked *)b)->value;

	return (left > right) - (left < right);
}

/* The upper tail of the normal distribution. */
static double tail(double z)
{
	return erfc(z / sqrt(2)) / 2;
}

double analysis_compare(const double *first, size_t first_count, const double *second,
	size_t second_count, enum analysis_deviation deviation)
{
	size_t count = first_count + second_count;
	_free_ struct ranked *all = memory_allocate_array(count + 1, sizeof(*all));
	double n = (double)count, pairs = (double)first_count * (double)second_count;
	double rank_sum = 0, ties = 0, mean = pairs / 2, deviation_of_u, above;

	if (first_count == 0 || second_count == 0)
		return 1;
	for (size_t i = 0; i < count; i++)
		all[i] = i < first_count ? (struct ranked){first[i], true}
					 : (struct ranked){second[i - first_count], false};
	qsort(all, count, sizeof(*all), by_value);
	for (size_t begin = 0, end; begin < count; begin = end) {
		double size, rank;

		for (end = begin + 1; end < count && all[end].value == all[begin].value; end++) {
		}
		size = (double)(end - begin);
		rank = ((double)begin + 1 + (double)end) /
		       2; /* the mean of the ranks of equal values */
		ties += size * size * size - size;
		for (size_t i = begin; i < end; i++)
			rank_sum += all[i].is_first ? rank : 0;
	}
	deviation_of_u = sqrt(pairs / 12 * (n + 1 - ties / (n * (n - 1))));
	if (!(deviation_of_u > 0))
		return 1; /* all values are equal */
	/* How far U is above its mean, with the correction for continuity. */
	above = rank_sum - (double)first_count * ((double)first_count + 1) / 2 - mean;
	switch (deviation) {
	case ANALYSIS_HIGH: return tail((above - 0.5) / deviation_of_u);
	case ANALYSIS_LOW: return tail((-above - 0.5) / deviation_of_u);
	default: return fmin(1, 2 * tail((fabs(above) - 0.5) / deviation_of_u));
	}
}

/* ---- verdicts ---- */

struct judge {
	const struct analysis_rule *rule;
	const struct analysis_sample *samples;
	size_t count;
	struct arena *arena;
	struct analysis_decision *decision;
};

static struct span number_text(struct arena *arena, double value)
{
	char text[FLOAT_TEXT_SIZE];
	size_t length = float_text_shortest(value, text);

	return arena_copy_span(arena, (struct span){text, length});
}

static struct span range_text(const struct judge *judge)
{
	const struct analysis_rule *rule = judge->rule;

	if (rule->has_min && rule->has_max)
		return arena_format(judge->arena, "%s to %s",
			number_text(judge->arena, rule->min).data,
			number_text(judge->arena, rule->max).data);
	return arena_format(judge->arena, "at %s %s", rule->has_min ? "least" : "most",
		number_text(judge->arena, rule->has_min ? rule->min : rule->max).data);
}

static void set_verdict(struct judge *judge, enum analysis_verdict verdict, struct span reason)
{
	judge->decision->verdict = verdict;
	judge->decision->reason = reason;
}

static bool is_outside(const struct analysis_rule *rule, double value)
{
	return (rule->has_min && value < rule->min) || (rule->has_max && value > rule->max);
}

static void fail_threshold(struct judge *judge, const struct analysis_sample *sample, int64_t bad)
{
	char time[CLOCK_ISO_SIZE];

	clock_format_iso(sample->at_ms, time);
	if (sample->kind == ANALYSIS_NO_DATA)
		set_verdict(judge, ANALYSIS_FAILURE,
			arena_format(judge->arena, "no data at %s (failure %lld, limit %lld)", time,
				(long long)bad, (long long)judge->rule->failure_limit));
	else
		set_verdict(judge, ANALYSIS_FAILURE,
			arena_format(judge->arena,
				"value %s at %s is outside the expected range, %s (failure %lld, "
				"limit "
				"%lld)",
				number_text(judge->arena, sample->value).data, time,
				range_text(judge).data, (long long)bad,
				(long long)judge->rule->failure_limit));
}

static void judge_threshold(struct judge *judge)
{
	const struct analysis_rule *rule = judge->rule;
	int64_t bad = 0;

	for (size_t i = 0; i < judge->count; i++) {
		const struct analysis_sample *sample = &judge->samples[i];
		bool is_bad =
			sample->kind == ANALYSIS_NO_DATA
				? !rule->skip_on_no_data
				: sample->kind == ANALYSIS_VALUE && is_outside(rule, sample->value);

		if (is_bad && ++bad > rule->failure_limit) {
			fail_threshold(judge, sample, bad);
			return;
		}
	}
}

/* The values of the canary, and behind them those of the primary. */
static size_t collect_values(const struct judge *judge, double *values)
{
	size_t count = 0;

	for (size_t i = 0; i < judge->count; i++)
		count += judge->samples[i].kind == ANALYSIS_VALUE;
	for (size_t i = 0, k = 0; i < judge->count; i++) {
		if (judge->samples[i].kind != ANALYSIS_VALUE)
			continue;
		values[k] = judge->samples[i].value;
		values[count + k++] = judge->samples[i].primary;
	}
	return count;
}

static bool has_ended(const struct analysis_decision *decision)
{
	return decision->next_ms == 0;
}

static void judge_comparison(struct judge *judge, int64_t minimum)
{
	_free_ double *values = memory_allocate_array(2 * judge->count + 1, sizeof(*values));
	size_t count = collect_values(judge, values);
	int64_t limit = judge->rule->failure_limit;
	double first = 1;

	if (limit > ANALYSIS_LIMIT_MAX)
		limit = ANALYSIS_LIMIT_MAX;
	if (has_ended(judge->decision))
		limit = 0;
	/* With the last sample, and without the last one, the last two, … */
	for (int64_t left_out = 0; left_out <= limit; left_out++) {
		int64_t compared = (int64_t)count - left_out;
		double chance;

		if (compared < minimum)
			return;
		chance = analysis_compare(values, (size_t)compared, values + count,
			(size_t)compared, (enum analysis_deviation)judge->rule->deviation);
		if (chance > SIGNIFICANCE)
			return;
		if (left_out == 0)
			first = chance;
	}
	set_verdict(judge, ANALYSIS_FAILURE,
		arena_format(judge->arena,
			"the values of the canary deviate from those of the primary: %zu samples, "
			"probability of chance %.2g %%",
			count, first * 100));
}

static void judge_end(struct judge *judge, int64_t minimum)
{
	int64_t values = 0, without_data = 0, errors = 0;

	for (size_t i = 0; i < judge->count; i++) {
		values += judge->samples[i].kind == ANALYSIS_VALUE;
		without_data += judge->samples[i].kind == ANALYSIS_NO_DATA;
		errors += judge->samples[i].kind == ANALYSIS_ERROR;
	}
	if (values >= minimum ||
		(values == 0 && without_data > 0 && errors == 0 && judge->rule->skip_on_no_data))
		set_verdict(judge, ANALYSIS_SUCCESS, SPAN(""));
	else
		set_verdict(judge, ANALYSIS_INCONCLUSIVE,
			arena_format(judge->arena,
				"%lld values, fewer than %lld (%lld answers without data, %lld "
				"errors)",
				(long long)values, (long long)minimum, (long long)without_data,
				(long long)errors));
}

/* When the next sample is due: at whole intervals from the begin. 0: the analysis has ended. */
static int64_t find_next(const struct analysis_window *window,
	const struct analysis_sample *samples, size_t count, int64_t now_ms, bool *ret_is_due)
{
	int64_t interval = window->interval_ms > 0 ? window->interval_ms : ANALYSIS_INTERVAL_MS,
		end = window->begin_ms + window->duration_ms, next;

	if (interval < ANALYSIS_INTERVAL_MIN_MS)
		interval = ANALYSIS_INTERVAL_MIN_MS;
	if (interval > window->duration_ms && window->duration_ms > 0)
		interval = window->duration_ms;
	next = window->begin_ms + interval;
	if (count > 0 && samples[count - 1].at_ms >= next)
		next += (samples[count - 1].at_ms - window->begin_ms) / interval * interval;
	*ret_is_due = next <= end && next <= now_ms;
	if (next <= end)
		return next;
	return now_ms < end ? end : 0;
}

void analysis_decide(const struct analysis_rule *rule, const struct analysis_window *window,
	const struct analysis_sample *samples, size_t count, int64_t now_ms, struct arena *arena,
	struct analysis_decision *ret_decision)
{
	struct analysis_decision decision = {.verdict = ANALYSIS_RUNNING, .reason = SPAN("")};
	struct judge judge = {rule, samples, count, arena, &decision};
	bool is_comparison = rule->strategy == ANALYSIS_CANARY_PRIMARY;
	int64_t least = is_comparison ? ANALYSIS_COMPARED_MIN : 1,
		minimum = rule->minimum_samples > least ? rule->minimum_samples : least;

	decision.next_ms = find_next(window, samples, count, now_ms, &decision.is_sample_due);
	if (is_comparison)
		judge_comparison(&judge, minimum);
	else
		judge_threshold(&judge);
	if (decision.verdict == ANALYSIS_RUNNING && has_ended(&decision))
		judge_end(&judge, minimum);
	if (decision.verdict != ANALYSIS_RUNNING) {
		decision.next_ms = 0;
		decision.is_sample_due = false;
	}
	*ret_decision = decision;
}

/* ---- stored samples ---- */

struct json *analysis_write_samples(const struct analysis_sample *samples, size_t count,
	struct arena *arena)
{
	struct json *list = json_new_array(arena);
	size_t first = count > ANALYSIS_SAMPLES_MAX ? count - ANALYSIS_SAMPLES_MAX : 0;

	for (size_t i = first; i < count; i++) {
		struct json *item = json_new_array(arena);

		json_append(arena, item, json_new_integer(arena, samples[i].at_ms));
		json_append(arena, item, json_new_integer(arena, samples[i].kind));
		json_append(arena, item, json_new_double(arena, samples[i].value));
		json_append(arena, item, json_new_double(arena, samples[i].primary));
		json_append(arena, list, item);
	}
	return list;
}

static bool read_sample(const struct json *item, struct analysis_sample *ret_sample)
{
	int64_t kind;

	if (json_array_count(item) != SAMPLE_ITEMS ||
		!json_integer(json_item(item, 0), &ret_sample->at_ms) ||
		!json_integer(json_item(item, 1), &kind) || kind < ANALYSIS_VALUE ||
		kind > ANALYSIS_ERROR || !json_double(json_item(item, 2), &ret_sample->value) ||
		!json_double(json_item(item, 3), &ret_sample->primary))
		return false;
	ret_sample->kind = (enum analysis_sample_kind)kind;
	return true;
}

int analysis_read_samples(const struct json *value, struct arena *arena,
	struct analysis_sample **ret_samples, size_t *ret_count, struct err *err)
{
	size_t count = json_array_count(value), read = 0;
	struct analysis_sample *samples;

	if (!json_is(value, JSON_ARRAY) || count > ANALYSIS_SAMPLES_MAX)
		return err_set(err, -EINVAL,
			"samples of an analysis: expected a list of at most %d",
			ANALYSIS_SAMPLES_MAX);
	samples = arena_allocate_array(arena, count + 1, sizeof(*samples));
	JSON_EACH_ITEM (value, item) {
		if (!read_sample(item, &samples[read++]))
			return err_set(err, -EINVAL,
				"samples of an analysis: number %zu is no sample", read);
	}
	*ret_samples = samples;
	*ret_count = count;
	return 0;
}
