/* The automatic steps of an active canary. See canary_rollout.h and canary_decide.h. */
#include "base/clock.h"
#include "base/memory.h"
#include "release/canary_deciding.h"

#define RETRY_MS 1000 /* of a sample that is under way */

/* ---- writes ---- */

static struct json *json_time(struct canary_deciding *deciding)
{
	char now[CLOCK_ISO_SIZE];

	clock_format_iso(deciding->input->now_ms, now);
	return json_new_string(deciding->arena, arena_copy_span(deciding->arena, span_of(now)));
}

static bool write_rollout(struct canary_deciding *deciding, struct json *changes, const char *event)
{
	struct arena *arena = deciding->arena;
	const struct json *before = json_get(deciding->canary->status, "rollout");
	struct json *members = json_new_object(arena);
	struct json *rollout = json_is(before, JSON_OBJECT) ? json_copy_object(arena, before)
							    : json_new_object(arena);

	for (uint32_t i = 0; i < changes->object.count; i++)
		json_set(arena, rollout,
			arena_copy(arena, changes->object.members[i].name.data,
				changes->object.members[i].name.length),
			changes->object.members[i].value);
	json_set(arena, members, "rollout", rollout);
	return canary_write_status(deciding, members, event);
}

/* Begins a step, or begins the present one again. */
static bool begin(struct canary_deciding *deciding, int64_t index, const char *event)
{
	struct arena *arena = deciding->arena;
	struct json *changes = json_new_object(arena);

	json_set_integer(arena, changes, "index", index);
	json_set(arena, changes, "stepTime", json_time(deciding));
	json_set(arena, changes, "held", json_new_bool(arena, false));
	json_set(arena, changes, "samples", json_new_array(arena));
	json_set(arena, changes, "counters",
		canary_rollout_counters(arena, json_get(deciding->canary->status, "traffic")));
	json_set_string(arena, changes, "failed", SPAN(""));
	json_set_string(arena, changes, "message", SPAN(""));
	return write_rollout(deciding, changes, event);
}

static bool next(struct canary_deciding *deciding)
{
	return begin(deciding, deciding->canary->rollout.index + 1, NULL);
}

/* The reason is recorded first; then the canary is deprecated, or paused. */
static bool fail(struct canary_deciding *deciding, const char *reason, struct span message)
{
	struct json *changes = json_new_object(deciding->arena);

	json_set_string(deciding->arena, changes, "failed", span_of(reason));
	json_set_string(deciding->arena, changes, "message", message);
	return write_rollout(deciding, changes, reason);
}

/* ---- steps ---- */

/* The canary's pods get the listed ports' connections as soon as they are ready. */
static bool is_canary_ready(const struct canary *canary)
{
	JSON_EACH_ITEM (json_get(canary->status, "traffic"), port)
		if (json_get_integer(json_get(port, "canary"), "ready", 0) == 0)
			return false;
	return true;
}

static bool is_weighted(const struct canary *canary)
{
	JSON_EACH_ITEM (json_get(canary->status, "traffic"), port) {
		const struct json *effective = json_get(port, "effectiveWeight");

		if (!effective || !json_equal(effective, json_get(port, "weight")))
			return false;
	}
	return true;
}

static bool wait_for_progress(struct canary_deciding *deciding, const char *what)
{
	const struct canary_rollout *rollout = &deciding->canary->rollout;
	int64_t until_ms = rollout->begin_ms + rollout->progress_seconds * 1000;

	if (deciding->input->now_ms < until_ms)
		return canary_wait(deciding, until_ms);
	return fail(deciding, "ProgressDeadlineExceeded",
		arena_format(deciding->arena, "%s after %lld seconds", what,
			(long long)rollout->progress_seconds));
}

static bool set_weight(struct canary_deciding *deciding, const struct canary_rollout_step *step)
{
	struct json *changes = json_new_object(deciding->arena);

	if (deciding->canary->rollout.share != step->share) {
		json_set_integer(deciding->arena, changes, "weightPermille", step->share);
		return write_rollout(deciding, changes, "WeightSet");
	}
	if (!is_weighted(deciding->canary))
		return wait_for_progress(deciding, "the weight does not apply");
	return next(deciding);
}

static bool pause_step(struct canary_deciding *deciding, const struct canary_rollout_step *step)
{
	const struct canary_rollout *rollout = &deciding->canary->rollout;
	int64_t until_ms = rollout->begin_ms + step->seconds * 1000;

	if (step->seconds < 0)
		return rollout->held ? next(deciding) : canary_set_paused(deciding, "Paused");
	if (deciding->input->now_ms < until_ms)
		return canary_wait(deciding, until_ms);
	return next(deciding);
}

/* Adds a sample to those of a metric. */
static bool add_sample(struct canary_deciding *deciding, size_t metric,
	const struct analysis_sample *sample)
{
	struct arena *arena = deciding->arena;
	const struct canary_rollout *rollout = &deciding->canary->rollout;
	const struct canary_rollout_step *step = canary_rollout_step(rollout);
	struct json *changes = json_new_object(arena), *all = json_new_array(arena);
	struct json *made = analysis_write_samples(sample, 1, arena);

	for (size_t i = 0; i < step->metric_count; i++) {
		struct json *list = json_new_array(arena);

		JSON_EACH_ITEM (json_item(rollout->samples, i), each)
			json_append(arena, list, each);
		if (i == metric)
			json_append(arena, list, json_item(made, 0));
		json_append(arena, all, list);
	}
	json_set(arena, changes, "samples", all);
	/* The last metric of the proxy's own counters begins the next interval. */
	for (size_t i = metric + 1; i < step->metric_count; i++)
		if (step->metrics[i].source <= CANARY_SOURCE_RESPONSE_MS)
			return write_rollout(deciding, changes, NULL);
	if (step->metrics[metric].source <= CANARY_SOURCE_RESPONSE_MS)
		json_set(arena, changes, "counters",
			canary_rollout_counters(arena,
				json_get(deciding->canary->status, "traffic")));
	return write_rollout(deciding, changes, NULL);
}

/* True: a sample is added. False: it is under way. */
static bool take_sample(struct canary_deciding *deciding, size_t index)
{
	const struct canary_rollout *rollout = &deciding->canary->rollout;
	const struct canary_metric *metric = &canary_rollout_step(rollout)->metrics[index];
	struct analysis_sample sample;

	if (metric->source <= CANARY_SOURCE_RESPONSE_MS)
		sample = canary_rollout_sample(metric->source, rollout->counters,
			canary_rollout_counters(deciding->arena,
				json_get(deciding->canary->status, "traffic")),
			deciding->input->now_ms);
	else if (!deciding->input->sample ||
		 !deciding->input->sample(deciding->input->context, index, metric, &sample))
		return false;
	return add_sample(deciding, index, &sample);
}

static bool end_analysis(struct canary_deciding *deciding, enum analysis_verdict verdict,
	struct span metric, struct span reason)
{
	struct span message = arena_format(deciding->arena, "metric '%.*s': %.*s",
		SPAN_ARGS(metric), SPAN_ARGS(reason));

	if (verdict == ANALYSIS_SUCCESS)
		return next(deciding);
	if (verdict == ANALYSIS_FAILURE)
		return fail(deciding, "AnalysisFailed", message);
	return fail(deciding, "AnalysisInconclusive", message);
}

static bool analyse(struct canary_deciding *deciding, const struct canary_rollout_step *step)
{
	const struct canary_rollout *rollout = &deciding->canary->rollout;
	const struct analysis_window window = {
		rollout->begin_ms, step->seconds * 1000, step->interval_seconds * 1000};
	enum analysis_verdict all = ANALYSIS_SUCCESS;
	struct span name = SPAN(""), reason = SPAN("");
	int64_t next_ms = 0;

	for (size_t i = 0; i < step->metric_count; i++) {
		struct analysis_sample *samples = NULL;
		struct analysis_decision decision;
		enum analysis_verdict before = all;
		size_t count = 0;

		if (json_item(rollout->samples, i) &&
			analysis_read_samples(json_item(rollout->samples, i), deciding->arena,
				&samples, &count, NULL) < 0)
			return begin(deciding, rollout->index, NULL);
		analysis_decide(&step->metrics[i].rule, &window, samples, count,
			deciding->input->now_ms, deciding->arena, &decision);
		if (decision.is_sample_due) {
			if (take_sample(deciding, i))
				return true;
			/* A job reports its end; one that could not begin is begun then. */
			decision.next_ms = deciding->input->now_ms + RETRY_MS;
		}
		all = analysis_combine(all, decision.verdict);
		if (all != before && decision.verdict != ANALYSIS_RUNNING) {
			name = step->metrics[i].name;
			reason = decision.reason;
		}
		if (decision.verdict == ANALYSIS_RUNNING &&
			(next_ms == 0 || decision.next_ms < next_ms))
			next_ms = decision.next_ms;
	}
	if (all == ANALYSIS_RUNNING)
		return canary_wait(deciding, next_ms);
	return end_analysis(deciding, all, name, reason);
}

/* ---- the whole ---- */

/* It was recorded that a step failed. Resumed, it begins again. */
static bool after_failure(struct canary_deciding *deciding)
{
	const struct canary_rollout *rollout = &deciding->canary->rollout;

	if (rollout->held)
		return begin(deciding, rollout->index, "Resumed");
	if (rollout->deprecates && !span_is(rollout->failed, "AnalysisInconclusive"))
		return canary_set_transition(deciding, SPAN("Deprecated"), "Deprecating");
	return canary_set_paused(deciding, "Paused");
}

static bool hold(struct canary_deciding *deciding)
{
	struct json *changes = json_new_object(deciding->arena);

	if (deciding->canary->rollout.held)
		return canary_wait(deciding, 0);
	json_set(deciding->arena, changes, "held", json_new_bool(deciding->arena, true));
	return write_rollout(deciding, changes, NULL);
}

static bool make_step(struct canary_deciding *deciding, const struct canary_rollout_step *step)
{
	if (!is_canary_ready(deciding->canary))
		return wait_for_progress(deciding, "no pod of the canary is ready");
	switch (step->kind) {
	case CANARY_SET_WEIGHT: return set_weight(deciding, step);
	case CANARY_PAUSE: return pause_step(deciding, step);
	case CANARY_ANALYSIS: return analyse(deciding, step);
	case CANARY_END: return canary_set_transition(deciding, step->transition, "StepsComplete");
	}
	return false;
}

bool canary_advance(struct canary_deciding *deciding)
{
	const struct canary_rollout *rollout = &deciding->canary->rollout;
	const struct canary_rollout_step *step = canary_rollout_step(rollout);

	if (!step)
		return false;
	if (rollout->index < 0)
		return begin(deciding, 0, "StepsBegin");
	if (rollout->paused)
		return hold(deciding);
	if (rollout->failed.length > 0)
		return after_failure(deciding);
	/* A pause without end is over; what was interrupted begins again. */
	if (rollout->held && !(step->kind == CANARY_PAUSE && step->seconds < 0))
		return begin(deciding, rollout->index, "Resumed");
	return make_step(deciding, step);
}

struct canary_condition canary_progress(struct canary_deciding *deciding)
{
	const struct canary_rollout *rollout = &deciding->canary->rollout;
	const struct canary_rollout_step *step = canary_rollout_step(rollout);
	struct span number = arena_format(deciding->arena, "step %lld of %zu",
		(long long)(rollout->index < 0 ? 1 : rollout->index + 1), rollout->count);

	if (rollout->count == 0)
		return (struct canary_condition){"Progressing", false, "Available", SPAN("")};
	if (rollout->failed.length > 0)
		return (struct canary_condition){"Progressing", false,
			arena_copy(deciding->arena, rollout->failed.data, rollout->failed.length),
			arena_format(deciding->arena, "%.*s: %.*s", SPAN_ARGS(number),
				SPAN_ARGS(rollout->message))};
	if (!step)
		return (struct canary_condition){"Progressing", false, "StepsComplete", SPAN("")};
	if (rollout->paused)
		return (struct canary_condition){"Progressing", false, "Paused", number};
	return (struct canary_condition){"Progressing", true, "Stepping", number};
}
