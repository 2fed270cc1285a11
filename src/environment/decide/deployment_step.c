/* See the header. */
#include "environment/decide/deployment_step.h"

#include "base/json.h"
#include "base/memory.h"
#include "base/seeded_bug.h"
#include "environment/model/deployment_states.h"

#define PROGRESS_MS 500 /* between two writes of nothing but progress */

/* A decision in the making. */
struct decision {
	const struct deployment_input *input;
	struct deployment_step *step;
};

static void again_at(struct decision *decision, int64_t at_ms)
{
	int64_t *again_ms = &decision->step->again_ms;

	if (at_ms > 0 && (*again_ms == 0 || at_ms < *again_ms))
		*again_ms = at_ms;
}

/* The reported number of updated instances does not fall while there are as many instances, even if a task ends
 * later. */
static void count_progress(struct decision *decision,
	const struct environment_deployment_facts *running)
{
	const struct deployment_progress *progress = decision->input->progress;

	if (!progress)
		return;
	decision->step->has_progress = true;
	decision->step->failed = progress->failed.data ? progress->failed : SPAN("");
	decision->step->done = progress->done;
	decision->step->total = progress->total;
	if (running && running->total == decision->step->total &&
		running->done > decision->step->done)
		decision->step->done = running->done;
}

/* A failed start is being repeated: until its outcome is known, the deployment keeps its status. */
static void keep_trouble(struct decision *decision,
	const struct environment_deployment_facts *deployment)
{
	if (!decision->input->progress->is_repeated || decision->step->reason.length > 0)
		return;
	if (deployment->status != ENVIRONMENT_DEPLOYMENT_unhealthy &&
		deployment->status != ENVIRONMENT_DEPLOYMENT_blocked)
		return;
	decision->step->status = deployment->status;
	decision->step->reason = deployment->reason;
}

int64_t deployment_ends_ms(struct deployment_memory *memory, const struct reconcile_input *observed,
	const struct environment_deployment_facts *deployment)
{
	return recorded_moment(&memory->began, observed, deployment->started_ms, 0) +
	       environment_version_facts(observed->target)->timeout_ms;
}

/* Nothing is known of the instances, so nothing is done, but the deployment can time out. */
static void decide_blind(struct decision *decision,
	const struct environment_deployment_facts *deployment)
{
	const struct deployment_input *input = decision->input;
	const struct environment_version_facts *target =
		environment_version_facts(input->observed->target);
	int64_t ends_ms = deployment_ends_ms(input->memory, input->observed, deployment);
	bool over = ends_ms <= input->observed->steady_ms;

	again_at(decision, over ? 0 : ends_ms);
	decision->step->status =
		over ? ENVIRONMENT_DEPLOYMENT_timed_out : ENVIRONMENT_DEPLOYMENT_blocked;
	decision->step->reason = input->cause;
	decision->step->rolls_back = over && deployment->type == ENVIRONMENT_DEPLOYMENT_TYPE_user &&
				     target->on_failure == ENVIRONMENT_ON_FAILURE_rollback;
	if (decision->step->status != deployment->status ||
		!span_equal(decision->step->reason, deployment->reason))
		decision->step->type = DEPLOYMENT_STEP_MOVE;
}

/* The failed instances, or their reasons, differ from the recorded ones. */
static bool failed_have_changed(const struct deployment_input *input,
	const struct environment_deployment_facts *deployment)
{
	const struct store_object *object = environment_deployment_of(input->observed->view,
		input->observed->arena, input->observed->environment->key, deployment->id);

	return object && input->progress->failed.data &&
	       !span_equal(input->progress->failed, object->api);
}

/* Its time is over, or ECS gave up: the reason is the one reported until then. */
static void report_end(struct decision *decision,
	const struct environment_deployment_facts *deployment)
{
	const struct deployment_input *input = decision->input;

	decision->step->reason = input->progress->reason;
	keep_trouble(decision, deployment);
	if (decision->step->reason.length == 0)
		decision->step->reason = input->progress->waits_for;
	if (decision->step->reason.length == 0)
		decision->step->reason = arena_format(input->observed->arena,
			"TIME_OVER: %lld of %lld are as wanted", (long long)decision->step->done,
			(long long)decision->step->total);
	decision->step->status = ENVIRONMENT_DEPLOYMENT_timed_out;
}

static void decide_running(struct decision *decision,
	const struct environment_deployment_facts *deployment)
{
	const struct deployment_input *input = decision->input;
	const struct environment_version_facts *target =
		environment_version_facts(input->observed->target);
	int64_t ends_ms = deployment_ends_ms(input->memory, input->observed, deployment);

	decision->step->type = DEPLOYMENT_STEP_MOVE;
	if (input->progress->is_over) {
		if (input->progress->needs_adoption) {
			decision->step->type = DEPLOYMENT_STEP_ADOPT;
			return;
		}
		decision->step->status = ENVIRONMENT_DEPLOYMENT_completed;
		decision->step->reason = SPAN("");
		return;
	}
	if (ends_ms <= input->observed->steady_ms || input->progress->has_failed) {
		report_end(decision, deployment);
		decision->step->rolls_back = deployment->type == ENVIRONMENT_DEPLOYMENT_TYPE_user &&
					     target->on_failure == ENVIRONMENT_ON_FAILURE_rollback;
		return;
	}
	again_at(decision, ends_ms);
	decision->step->status = input->progress->status;
	decision->step->reason = input->progress->reason;
	keep_trouble(decision, deployment);
	if (decision->step->status != deployment->status ||
		!span_equal(decision->step->reason, deployment->reason))
		return;
	decision->step->type = DEPLOYMENT_STEP_NONE;
	if (decision->step->done == deployment->done &&
		decision->step->total == deployment->total &&
		!failed_have_changed(input, deployment))
		return;
	if (input->memory->progress_ms + PROGRESS_MS <= input->observed->steady_ms)
		decision->step->type = DEPLOYMENT_STEP_PROGRESS;
	else
		again_at(decision, input->memory->progress_ms + PROGRESS_MS);
}

static bool has_timed_out(const struct deployment_input *input)
{
	struct span prefix = arena_format(input->observed->arena, "%.*s/timed-out/",
		SPAN_ARGS(input->observed->environment->key));

	return store_count(input->observed->view, &environment_deployment_kind,
		       ENVIRONMENT_DEPLOYMENT_BY_STATUS, prefix, false) > 0;
}

const struct environment_deployment_facts *deployment_in_progress(const struct reconcile_input
		*observed)
{
	const struct store_object *object = environment_deployment_of(observed->view,
		observed->arena, observed->environment->key,
		environment_facts(observed->environment)->in_progress);

	return object ? environment_deployment_facts(object) : NULL;
}

struct span deployment_failed(struct arena *arena, struct span what, struct span reason)
{
	struct json *created = json_new_object(arena), *list = json_new_array(arena),
		    *item = json_new_object(arena);

	if (reason.length == 0)
		return SPAN("");
	json_set_string(arena, item, "instance", what);
	json_set_string(arena, item, "reason", reason);
	json_append(arena, list, item);
	json_set(arena, created, "failedInstances", list);
	return json_to_text(created, arena);
}

static void take_own(struct decision *decision)
{
	const struct deployment_step *own = decision->input->own;

	if (!own || decision->step->type != DEPLOYMENT_STEP_NONE)
		return;
	again_at(decision, own->again_ms);
	decision->step->type = own->type;
	decision->step->monitor = own->monitor;
	decision->step->canary_ms = own->canary_ms;
	decision->step->canary_proved = own->canary_proved;
}

static void decide(struct decision *decision)
{
	const struct deployment_input *input = decision->input;
	const struct environment_facts *facts = environment_facts(input->observed->environment);
	const struct environment_deployment_facts *running =
		deployment_in_progress(input->observed);

	count_progress(decision, running);
	if (running && running->status == ENVIRONMENT_DEPLOYMENT_to_be_stopped) {
		decision->step->type = DEPLOYMENT_STEP_STOPPED;
		decision->step->reason = running->reason;
	} else if (facts->pending.length > 0 &&
		   (!running || running->type != ENVIRONMENT_DEPLOYMENT_TYPE_user)) {
		if (!SEEDED_BUG(input->observed->bug == DAEMON_BUG_FAILURE_STAYS) ||
			!has_timed_out(input))
			decision->step->type = DEPLOYMENT_STEP_BEGIN;
	} else if (running && input->observed->target && facts->status == ENVIRONMENT_active &&
		   input->cause.length > 0) {
		decide_blind(decision, running);
	} else if (input->cause.length > 0) {
		return;
	} else if (running && input->observed->target && facts->status == ENVIRONMENT_active) {
		decide_running(decision, running);
		take_own(decision);
	} else if (!running) {
		take_own(decision);
	}
}

void deployment_decide(const struct deployment_input *input, struct deployment_step *ret_step)
{
	struct decision decision = {.input = input, .step = ret_step};

	*ret_step = (struct deployment_step){.reason = SPAN(""), .failed = SPAN("")};
	decide(&decision);
	if (ret_step->type == DEPLOYMENT_STEP_NONE &&
		input->is_unhealthy != environment_facts(input->observed->environment)->unhealthy)
		ret_step->type = DEPLOYMENT_STEP_HEALTH;
}
