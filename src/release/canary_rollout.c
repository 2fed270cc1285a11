/* See canary_rollout.h. */
#include "release/canary_rollout.h"

#include "base/memory.h"
#include "kube/object.h"

#define INTERVAL_SECONDS 10
#define SECONDS_MAX INT64_C(604800)

#define NAME_(name, text) text,
static const char *const source_names[] = {CANARY_SOURCES(NAME_)};
#undef NAME_

static struct span text_or_empty(const struct json *object, const char *name)
{
	struct span text = json_get_text(object, name);

	return text.data ? text : SPAN("");
}

/* ---- spec ---- */

static int read_source(const struct json *object, struct canary_metric *metric, struct err *err)
{
	struct span own = json_get_text(object, "canary");
	const struct json *prometheus = json_get(object, "prometheus");
	const struct json *http = json_get(object, "http");

	if (!own.data + !prometheus + !http != 2)
		return err_set(err, -EINVAL, "needs one of canary, prometheus and http");
	if (own.data && !span_is(own, source_names[CANARY_SOURCE_ERROR_RATE]) &&
		!span_is(own, source_names[CANARY_SOURCE_RESPONSE_MS]))
		return err_set(err, -EINVAL, "canary must be errorRate or responseMs");
	metric->source = span_is(own, source_names[CANARY_SOURCE_ERROR_RATE])
				 ? CANARY_SOURCE_ERROR_RATE
			 : own.data   ? CANARY_SOURCE_RESPONSE_MS
			 : prometheus ? CANARY_SOURCE_PROMETHEUS
				      : CANARY_SOURCE_HTTP;
	metric->url = text_or_empty(prometheus ? prometheus : http, prometheus ? "address" : "url");
	metric->query = text_or_empty(prometheus, "query");
	metric->expected_code = json_get_integer(http, "expectedCode", 200);
	if (!own.data && !span_starts_with(metric->url, SPAN("http://")) &&
		!span_starts_with(metric->url, SPAN("https://")))
		return err_set(err, -EINVAL, "%s must begin with http:// or https://",
			prometheus ? "prometheus.address" : "http.url");
	if (prometheus && metric->query.length == 0)
		return err_set(err, -EINVAL, "prometheus.query is missing");
	return 0;
}

static int read_metric(const struct json *object, const struct json *analysis,
	struct canary_metric *metric, struct err *err)
{
	struct analysis_rule *rule = &metric->rule;
	int code = read_source(object, metric, err);

	if (code < 0)
		return code;
	metric->name = text_or_empty(object, "name");
	if (metric->name.length == 0)
		metric->name = span_of(source_names[metric->source]);
	rule->strategy = ANALYSIS_THRESHOLD;
	rule->has_min = json_double(json_get(object, "min"), &rule->min);
	rule->has_max = json_double(json_get(object, "max"), &rule->max);
	rule->failure_limit = json_get_integer(analysis, "failureLimit", 0);
	rule->minimum_samples = json_get_integer(analysis, "minimumSamples", 1);
	rule->skip_on_no_data = json_get_bool(object, "skipOnNoData", false);
	if (metric->source == CANARY_SOURCE_HTTP) {
		rule->has_min = true;
		rule->min = 1;
	} else if (!rule->has_min && !rule->has_max) {
		return err_set(err, -EINVAL, "needs min or max");
	}
	return 0;
}

static int read_analysis(struct arena *arena, const struct json *analysis,
	struct canary_rollout_step *step, struct err *err)
{
	const struct json *metrics = json_get(analysis, "metrics");
	int code = 0;

	step->kind = CANARY_ANALYSIS;
	step->interval_seconds = json_get_integer(analysis, "intervalSeconds", INTERVAL_SECONDS);
	step->metric_count = json_array_count(metrics);
	if (step->seconds < 1 || step->interval_seconds < 1 ||
		step->seconds / step->interval_seconds > CANARY_SAMPLES_MAX)
		return err_set(err, -EINVAL,
			"analysis needs seconds, and at most %d intervals of intervalSeconds",
			CANARY_SAMPLES_MAX);
	if (step->metric_count == 0 || step->metric_count > CANARY_METRICS_MAX)
		return err_set(err, -EINVAL, "analysis needs 1 to %d metrics", CANARY_METRICS_MAX);
	step->metrics = arena_allocate_array(arena, step->metric_count, sizeof(*step->metrics));
	for (size_t i = 0; code == 0 && i < step->metric_count; i++) {
		code = read_metric(json_item(metrics, i), analysis, &step->metrics[i], err);
		if (code < 0)
			return err_prefix(err, code, "analysis.metrics[%zu]", i);
	}
	return code;
}

static int read_step(struct arena *arena, const struct json *object,
	struct canary_rollout_step *step, struct err *err)
{
	const struct json *pause = json_get(object, "pause");
	const struct json *analysis = json_get(object, "analysis");
	bool percent = json_get(object, "setWeight"),
	     permille = json_get(object, "setWeightPermille");
	int64_t share = json_get_integer(object, percent ? "setWeight" : "setWeightPermille", -1);

	*step = (struct canary_rollout_step){.transition = text_or_empty(object, "transition")};
	if (percent + permille + !!pause + !!analysis + (step->transition.length > 0) != 1)
		return err_set(err, -EINVAL,
			"needs one of setWeight, setWeightPermille, pause, analysis and "
			"transition");
	step->seconds = json_get_integer(pause ? pause : analysis, "seconds", -1);
	if (step->seconds < -1 || step->seconds > SECONDS_MAX)
		return err_set(err, -EINVAL, "seconds must be a number from 0 to %lld",
			(long long)SECONDS_MAX);
	if (analysis)
		return read_analysis(arena, analysis, step, err);
	step->kind = pause                         ? CANARY_PAUSE
		     : step->transition.length > 0 ? CANARY_END
						   : CANARY_SET_WEIGHT;
	if (step->kind == CANARY_END && !span_is(step->transition, "Adopted") &&
		!span_is(step->transition, "Deprecated"))
		return err_set(err, -EINVAL, "transition must be Adopted or Deprecated");
	if (step->kind != CANARY_SET_WEIGHT)
		return 0;
	if (share < 0 || share > (percent ? 100 : 1000))
		return err_set(err, -EINVAL, "%s must be an integer from 0 to %d",
			percent ? "setWeight" : "setWeightPermille", percent ? 100 : 1000);
	step->share = (uint32_t)(percent ? share * 10 : share);
	return 0;
}

int canary_rollout_read(struct arena *arena, const struct json *spec, const struct json *status,
	struct canary_rollout *ret_rollout, struct err *err)
{
	const struct json *steps = json_get(spec, "steps"), *state = json_get(status, "rollout");
	struct span failure = text_or_empty(spec, "onFailure");
	struct canary_rollout rollout = {.count = json_array_count(steps),
		.paused = json_get_bool(spec, "paused", false),
		.deprecates = !span_is(failure, "Paused"),
		.progress_seconds =
			json_get_integer(spec, "progressDeadlineSeconds", CANARY_PROGRESS_SECONDS),
		.index = json_get_integer(state, "index", -1),
		.share = json_get_integer(state, "weightPermille", -1),
		.begin_ms = kube_time_ms(json_get(state, "stepTime")),
		.held = json_get_bool(state, "held", false),
		.failed = text_or_empty(state, "failed"),
		.message = text_or_empty(state, "message"),
		.samples = json_get(state, "samples"),
		.counters = json_get(state, "counters")};

	if (rollout.count > CANARY_ROLLOUT_STEPS_MAX)
		return err_set(err, -E2BIG, "spec.steps has %zu entries (limit %d)", rollout.count,
			CANARY_ROLLOUT_STEPS_MAX);
	if (rollout.progress_seconds < 1)
		return err_set(err, -EINVAL, "spec.progressDeadlineSeconds must be at least 1");
	if (failure.length > 0 && rollout.deprecates && !span_is(failure, "Deprecated"))
		return err_set(err, -EINVAL, "spec.onFailure must be Deprecated or Paused");
	rollout.steps = arena_allocate_array(arena, rollout.count, sizeof(*rollout.steps));
	for (size_t i = 0; i < rollout.count; i++) {
		int code = read_step(arena, json_item(steps, i), &rollout.steps[i], err);

		if (code < 0)
			return err_prefix(err, code, "spec.steps[%zu]", i);
	}
	*ret_rollout = rollout;
	return 0;
}

const struct canary_rollout_step *canary_rollout_step(const struct canary_rollout *rollout)
{
	size_t index = rollout->index < 0 ? 0 : (size_t)rollout->index;

	return index < rollout->count ? &rollout->steps[index] : NULL;
}

/* ---- the proxy's own counters ---- */

struct json *canary_rollout_counters(struct arena *arena, const struct json *traffic)
{
	struct json *sum = json_new_object(arena);
	int64_t requests = 0, errors = 0, response_ms = 0;

	JSON_EACH_ITEM (traffic, port) {
		const struct json *side = json_get(port, "canary");
		int64_t took_ms = json_get_integer(side, "responseMs", 0);

		requests += json_get_integer(side, "requests", 0) +
			    json_get_integer(side, "connections", 0);
		errors += json_get_integer(side, "errors", 0) +
			  json_get_integer(json_get(side, "responses"), "5xx", 0);
		response_ms = took_ms > response_ms ? took_ms : response_ms;
	}
	json_set_integer(arena, sum, "requests", requests);
	json_set_integer(arena, sum, "errors", errors);
	json_set_integer(arena, sum, "responseMs", response_ms);
	return sum;
}

/* A proxy that was replaced counts from 0. */
static int64_t since(const struct json *before, const struct json *now, const char *name)
{
	int64_t first = json_get_integer(before, name, 0), last = json_get_integer(now, name, 0);

	return last < first ? last : last - first;
}

struct analysis_sample canary_rollout_sample(enum canary_source source, const struct json *before,
	const struct json *now, int64_t at_ms)
{
	int64_t requests = since(before, now, "requests"), errors = since(before, now, "errors");
	int64_t most = requests > errors ? requests : errors;

	if (most == 0)
		return (struct analysis_sample){.at_ms = at_ms, .kind = ANALYSIS_ERROR};
	if (source == CANARY_SOURCE_RESPONSE_MS)
		return analysis_sample_of(at_ms, (double)json_get_integer(now, "responseMs", 0));
	return analysis_sample_of(at_ms, 100.0 * (double)errors / (double)most);
}
