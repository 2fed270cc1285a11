/* See the header. */
#include "environment/decide/service_step.h"

#include "base/memory.h"
#include "environment/decide/failure_text.h"
#include "environment/model/deployment_states.h"
#include "environment/model/environment_type.h"

bool service_is_same_ask(const struct service_state *state)
{
	return state->placement &&
	       span_equal(state->placement->deployment,
		       environment_facts(state->observed->environment)->in_progress);
}

static bool is_of_this_deployment(const struct service_state *state)
{
	return service_is_same_ask(state) && state->placement->deployment.length > 0;
}

bool service_failed_before(const struct service_state *state)
{
	return state->is.rollout == SERVICE_ROLLOUT_FAILED &&
	       (!is_of_this_deployment(state) ||
		       span_equal(state->placement->task, state->is.deployment));
}

bool service_needs_change(const struct service_state *state)
{
	const struct service_observed *is = &state->is;

	if (!is->exists || !is->runs_it)
		return true;
	/* A service that a user scales stays as it is until the next deployment. */
	return state->observed->rolls && (!is->as_wanted || service_failed_before(state));
}

bool service_is_rolling_out(const struct service_state *state)
{
	return state->is.exists && state->is.is_ours && state->is.deployment_arn.length > 0 &&
	       state->is.rollout == SERVICE_ROLLOUT_IN_PROGRESS;
}

/* Why its last task stopped, with and without the task's ID; "" if it is not known. */
static void find_text(const struct service_state *state, struct span *ret_named,
	struct span *ret_text)
{
	const struct observe_task *task = failure_last_of_service(state->observed, state->cluster,
		environment_service_name(state->observed->arena, state->name),
		state->is.deployment);

	*ret_named = task ? failure_text_of_end(state->observed->arena, task, true) : SPAN("");
	*ret_text = task ? failure_text_of_end(state->observed->arena, task, false) : SPAN("");
}

static void set_failed(const struct service_state *state, struct deployment_progress *progress,
	struct span failure)
{
	struct arena *arena = state->observed->arena;

	progress->failed =
		deployment_failed(arena, environment_service_name(arena, state->name), failure);
}

static void report_failing(const struct service_state *state, struct deployment_progress *progress)
{
	struct arena *arena = state->observed->arena;
	struct span named, text;

	progress->status = ENVIRONMENT_DEPLOYMENT_unhealthy;
	progress->reason = SPAN("TASKS_FAIL");
	find_text(state, &named, &text);
	if (text.length == 0)
		return;
	progress->reason = failure_reason(arena, "TASKS_FAIL", text);
	set_failed(state, progress, failure_reason(arena, "TASKS_FAIL", named));
}

/* ECS gave up the rollout. */
static void report_failed(const struct service_state *state, struct deployment_progress *progress)
{
	struct arena *arena = state->observed->arena;
	struct span reported = state->is.reported, named, text;

	progress->has_failed = true;
	find_text(state, &named, &text);
	if (text.length > 0)
		reported = arena_format(arena, "%.*s%s%.*s", SPAN_ARGS(reported),
			reported.length > 0 ? " The last one: " : "", SPAN_ARGS(text));
	if (reported.length == 0)
		reported = SPAN("ECS gave the rollout up");
	progress->reason = failure_reason(arena, "ROLLOUT_FAILED", reported);
	set_failed(state, progress,
		failure_reason(arena, "ROLLOUT_FAILED", named.length > 0 ? named : reported));
}

static void report_blocker(const struct service_state *state, struct deployment_progress *progress)
{
	const struct service_observed *is = &state->is;

	if (is->exists && !is->is_ours) {
		progress->status = ENVIRONMENT_DEPLOYMENT_blocked;
		progress->reason = SPAN("SERVICE_NOT_OURS");
		set_failed(state, progress,
			SPAN("a service of this name exists that is not of this environment; it is "
			     "not changed"));
	} else if (is_of_this_deployment(state) && state->placement->until_ms > 0) {
		progress->status = ENVIRONMENT_DEPLOYMENT_blocked;
		progress->reason = SPAN("REFUSED");
		set_failed(state, progress, state->reported);
	} else if (is->failed > 0) {
		report_failing(state, progress);
	} else if (is->blocker) {
		progress->status = ENVIRONMENT_DEPLOYMENT_blocked;
		progress->reason = span_of(is->blocker);
	}
}

void service_report_progress(const struct service_state *state,
	struct deployment_progress *progress)
{
	const struct service_observed *is = &state->is;
	bool ours = is->exists && is->is_ours && !is->drains;

	*progress = (struct deployment_progress){.status = ENVIRONMENT_DEPLOYMENT_in_progress,
		.reason = SPAN(""),
		.waits_for = SPAN(""),
		.failed = SPAN(""),
		.done = ours && is->runs_it ? service_proven(is) : 0,
		.total = json_get_integer(state->wanted, "desiredCount", 0)};
	if (progress->done > progress->total)
		progress->done = progress->total;
	/* A service that is only scaled, or deployed again unchanged, has no new rollout; its tasks may still fail. */
	progress->is_over = ours && is->as_wanted && is->rollout == SERVICE_ROLLOUT_COMPLETED &&
			    is->failed == 0 && is->updated >= progress->total;
	if (ours && is->as_wanted && is->rollout == SERVICE_ROLLOUT_FAILED &&
		!service_failed_before(state)) {
		report_failed(state, progress);
		return;
	}
	report_blocker(state, progress);
}

bool service_must_halt(const struct service_state *state,
	const struct environment_deployment_facts *deployment)
{
	if (deployment->status == ENVIRONMENT_DEPLOYMENT_to_be_stopped)
		return span_is(deployment->reason, "STOPPED_BY_USER");
	return deployment_ends_ms(state->memory, state->observed, deployment) <=
	       state->observed->steady_ms;
}

bool service_has_leftover(const struct service_state *state)
{
	const struct environment_facts *facts = environment_facts(state->observed->environment);
	const struct environment_deployment_facts *expected;
	const struct store_object *object;

	if (!state->placement || state->placement->intent != ENVIRONMENT_INTENT_start ||
		facts->in_progress.length > 0 || facts->pending.length > 0)
		return false;
	object = environment_deployment_of(state->observed->view, state->observed->arena,
		state->observed->environment->key, state->placement->deployment);
	expected = object ? environment_deployment_facts(object) : NULL;
	return expected && (expected->status == ENVIRONMENT_DEPLOYMENT_stopped ||
				   expected->status == ENVIRONMENT_DEPLOYMENT_timed_out);
}
