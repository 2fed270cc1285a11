/* See the header. */
#include "environment/decide/deployment_step.h"

#include "base/memory.h"
#include "base/seeded_bug.h"
#include "environment/decide/failure_text.h"
#include "environment/model/deployment_states.h"

#define FAILED_INSTANCES_MAX 100 /* that are named */
#define CANARY_AGAIN_MS 50       /* until the changes of a paused server have arrived */
#define PROGRESS_MS 500          /* between two writes of nothing but progress */

/* A decision in the making. */
struct decision {
	const struct deployment_input *input;
	struct deployment_step *step;
};

static struct arena *arena_of(const struct deployment_input *input)
{
	return input->observed->arena;
}

static void again_at(struct decision *decision, int64_t at_ms)
{
	int64_t *again_ms = &decision->step->again_ms;

	if (at_ms > 0 && (*again_ms == 0 || at_ms < *again_ms))
		*again_ms = at_ms;
}

const struct instance_entry *deployment_next_adopted(const struct instances *instances,
	size_t *position)
{
	const struct map_entry *entry;

	while ((entry = map_next(&instances->members, position))) {
		const struct instance_entry *member = entry->value;
		const struct fleet_instance *now = fleet_get(instances->fleet, member->index);

		if (now->state == ROLLOUT_INSTANCE_ACTIVE && now->matches &&
			now->assigned == FLEET_ASSIGNED_OLD &&
			now->tasks[FLEET_TARGET][ROLLOUT_HEALTHY] > 0)
			return member;
	}
	return NULL;
}

static const char *reason_of(enum fleet_cause cause)
{
	return cause == FLEET_UNSATISFIABLE ? "MIN_HEALTHY_UNSATISFIABLE" : fleet_cause_name(cause);
}

/* Not only a matter of waiting for its turn. */
static bool is_failure(enum fleet_cause cause)
{
	return cause == FLEET_UNREACHABLE || cause == FLEET_UNSATISFIABLE || cause >= FLEET_HANGS;
}

static void name_failure(struct decision *decision, const struct deployment_progress *progress)
{
	struct arena *arena = arena_of(decision->input);
	struct json *created = json_new_object(arena), *list = json_new_array(arena),
		    *item = json_new_object(arena);

	if (progress->failure.length == 0)
		return;
	json_set_string(arena, item, "instance", progress->what);
	json_set_string(arena, item, "reason", progress->failure);
	json_append(arena, list, item);
	json_set(arena, created, "failedInstances", list);
	decision->step->failed = json_to_text(created, arena);
}

/* The recorded reason why this instance cannot be served; data NULL: there is none. */
static struct span words_of(const struct deployment_input *input,
	const struct instance_entry *member)
{
	const struct store_object *placement =
		env_instances_placement(input->instances, input->observed, member);
	struct json *kept;

	if (!placement || json_parse(placement->api, input->observed->arena, &kept, NULL) < 0)
		return SPAN_NONE;
	return json_get_text(kept, "reason");
}

/* It cannot be served now, or failed before and the outcome of the next attempt is not known yet. */
static bool has_failed(const struct fleet_reason *reason, const struct instance_entry *member)
{
	return is_failure(reason->cause) || member->trouble != INSTANCE_FAILURE_NONE;
}

/* Why it has failed, as text if some was recorded; named: with the task that ended. */
static struct span failure_of(const struct deployment_input *input,
	const struct fleet_reason *reason, const struct instance_entry *member, bool named)
{
	bool blocked = is_failure(reason->cause) && reason->cause != FLEET_BACKOFF;
	struct span text = words_of(input, member);

	if (text.length > 0)
		return text;
	if (blocked)
		return span_of(reason_of(reason->cause));
	text = failure_text_of_instance(input->instances, input->observed, member, named);
	return text.length > 0
		       ? failure_reason(input->observed->arena, reason_of(FLEET_BACKOFF), text)
		       : span_of(reason_of(FLEET_BACKOFF));
}

/* How many tasks of the placement's version have failed on the instance in a row. */
static int64_t failures_of(const struct deployment_input *input,
	const struct instance_entry *member)
{
	const struct store_object *placement =
		env_instances_placement(input->instances, input->observed, member);

	return placement ? environment_placement_facts(placement)->failures : 0;
}

/* Instances that cannot be served now, and why. */
static void name_failed(struct decision *decision)
{
	const struct deployment_input *input = decision->input;
	struct fleet_reason reasons[FAILED_INSTANCES_MAX];
	size_t count = fleet_reasons(input->instances->fleet, reasons, LENGTH(reasons));
	struct json *created = json_new_object(input->observed->arena),
		    *list = json_new_array(input->observed->arena);

	for (size_t i = 0; i < count; i++) {
		const struct instance_entry *member =
			instance_entry_at(input->instances, reasons[i].instance);
		struct json *item = json_new_object(input->observed->arena);

		if (!has_failed(&reasons[i], member))
			continue;
		json_set_string(input->observed->arena, item, "instance", member->id);
		json_set_string(input->observed->arena, item, "reason",
			failure_of(input, &reasons[i], member, true));
		json_set_integer(input->observed->arena, item, "attempts",
			failures_of(input, member));
		json_append(input->observed->arena, list, item);
	}
	if (json_count(list) > 0)
		json_set(input->observed->arena, created, "failedInstances", list);
	decision->step->failed =
		json_count(list) > 0 ? json_to_text(created, input->observed->arena) : SPAN("");
}

static void name_all_failed(struct decision *decision)
{
	if (decision->input->progress)
		name_failure(decision, decision->input->progress);
	else if (decision->input->cause.length == 0)
		name_failed(decision);
}

/* The reported number of updated instances does not fall while there are as many instances, even if a task ends
 * later. */
static void count_progress(struct decision *decision,
	const struct environment_deployment_facts *running)
{
	const struct fleet_counts *counts = fleet_counts(decision->input->instances->fleet);
	const struct deployment_progress *progress = decision->input->progress;

	decision->step->done = progress ? progress->done : counts->updated;
	decision->step->total = progress ? progress->total : counts->total;
	if (running && running->total == decision->step->total &&
		running->done > decision->step->done)
		decision->step->done = running->done;
}

static bool is_over(const struct deployment_input *input,
	const struct environment_deployment_facts *deployment)
{
	const struct fleet_counts *counts = fleet_counts(input->instances->fleet);

	if (input->progress)
		return input->progress->is_over;
	if (SEEDED_BUG(input->observed->bug == DAEMON_BUG_HASTY_COMPLETE))
		return counts->launching == 0;
	if (SEEDED_BUG(input->observed->bug == DAEMON_BUG_NEVER_EMPTY) && counts->total == 0)
		return false;
	if (deployment->type == ENVIRONMENT_DEPLOYMENT_TYPE_user)
		return fleet_complete(input->instances->fleet) && !input->instances->unknown_refs;
	/* The goal of a monitor: every instance has a task of the desired version. */
	return counts->launching == 0 && counts->missing == 0 && counts->unhealthy == 0 &&
	       !(input->observed->rolls && counts->outdated > 0);
}

/* The reason that all failed instances share; the word alone if they have several. */
static struct span common_failure(const struct deployment_input *input)
{
	struct fleet_reason reasons[FAILED_INSTANCES_MAX];
	size_t count = fleet_reasons(input->instances->fleet, reasons, LENGTH(reasons));
	struct span common = SPAN("");

	for (size_t i = 0; i < count; i++) {
		const struct instance_entry *member =
			instance_entry_at(input->instances, reasons[i].instance);
		struct span one;

		if (!has_failed(&reasons[i], member))
			continue;
		one = failure_reason(input->observed->arena, "",
			failure_of(input, &reasons[i], member, false));
		if (common.length > 0 && !span_equal(one, common))
			return span_of(reason_of(FLEET_BACKOFF));
		common = one;
	}
	return common.length > 0 ? common : SPAN("UNHEALTHY: the health check failed");
}

static enum environment_deployment_status status_now(const struct deployment_input *input,
	struct span *ret_reason)
{
	struct fleet_reason blocked = fleet_blocked(input->instances->fleet);
	struct span text;

	*ret_reason = input->progress ? input->progress->reason : SPAN("");
	if (input->progress)
		return input->progress->status;
	if (fleet_counts(input->instances->fleet)->unhealthy > 0 ||
		blocked.cause == FLEET_BACKOFF) {
		*ret_reason = common_failure(input);
		return ENVIRONMENT_DEPLOYMENT_unhealthy;
	}
	if (input->instances->unknown_refs && fleet_complete(input->instances->fleet)) {
		*ret_reason = SPAN("CLUSTER_UNKNOWN: the cluster that it leaves");
		return ENVIRONMENT_DEPLOYMENT_blocked;
	}
	if (blocked.cause == FLEET_UNREACHABLE || !is_failure(blocked.cause))
		return ENVIRONMENT_DEPLOYMENT_in_progress;
	*ret_reason = span_of(reason_of(blocked.cause));
	text = words_of(input, instance_entry_at(input->instances, blocked.instance));
	/* A cause that does not depend on the instance is reported with its text. */
	if (text.length > 0 && (blocked.cause == FLEET_PLACEMENT || blocked.cause == FLEET_HANGS))
		*ret_reason =
			failure_reason(input->observed->arena, reason_of(blocked.cause), text);
	return ENVIRONMENT_DEPLOYMENT_blocked;
}

/* A failed start is being repeated: until its outcome is known, the deployment keeps its status. */
static void keep_trouble(struct decision *decision,
	const struct environment_deployment_facts *deployment)
{
	if (decision->input->progress || env_instances_failing(decision->input->instances) == 0 ||
		decision->step->reason.length > 0)
		return;
	if (deployment->status != ENVIRONMENT_DEPLOYMENT_unhealthy &&
		deployment->status != ENVIRONMENT_DEPLOYMENT_blocked)
		return;
	decision->step->status = deployment->status;
	decision->step->reason = deployment->reason;
}

int64_t deployment_ends_ms(struct instances *instances, const struct reconcile_input *observed,
	const struct environment_deployment_facts *deployment)
{
	return recorded_moment(&instances->began, observed, deployment->started_ms, 0) +
	       environment_version_facts(observed->target)->timeout_ms;
}

/* Nothing is known of the instances, so nothing is done, but the deployment can time out. */
static void decide_blind(struct decision *decision,
	const struct environment_deployment_facts *deployment)
{
	const struct deployment_input *input = decision->input;
	const struct environment_version_facts *target =
		environment_version_facts(input->observed->target);
	int64_t ends_ms = deployment_ends_ms(input->instances, input->observed, deployment);
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
static bool failed_have_changed(struct decision *decision,
	const struct environment_deployment_facts *deployment)
{
	const struct deployment_input *input = decision->input;
	const struct store_object *object = environment_deployment_of(input->observed->view,
		input->observed->arena, input->observed->environment->key, deployment->id);

	if (!object || (env_instances_failing(input->instances) == 0 && !input->progress &&
			       object->api.length == 0))
		return false;
	name_all_failed(decision);
	return !span_equal(decision->step->failed, object->api);
}

/* Its time is over, or ECS gave up: the reason is the one reported until then. */
static void report_end(struct decision *decision,
	const struct environment_deployment_facts *deployment)
{
	const struct deployment_input *input = decision->input;

	decision->step->status = status_now(input, &decision->step->reason);
	keep_trouble(decision, deployment);
	if (decision->step->reason.length == 0 && !input->progress)
		decision->step->reason =
			span_of(reason_of(fleet_blocked(input->instances->fleet).cause));
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
	int64_t ends_ms = deployment_ends_ms(input->instances, input->observed, deployment);

	decision->step->type = DEPLOYMENT_STEP_MOVE;
	if (is_over(input, deployment)) {
		size_t position = 0;

		if (deployment->type == ENVIRONMENT_DEPLOYMENT_TYPE_user &&
			deployment_next_adopted(input->instances, &position)) {
			decision->step->type = DEPLOYMENT_STEP_ADOPT;
			return;
		}
		decision->step->status = ENVIRONMENT_DEPLOYMENT_completed;
		decision->step->reason = SPAN("");
		return;
	}
	if (ends_ms <= input->observed->steady_ms ||
		(input->progress && input->progress->has_failed)) {
		report_end(decision, deployment);
		decision->step->rolls_back = deployment->type == ENVIRONMENT_DEPLOYMENT_TYPE_user &&
					     target->on_failure == ENVIRONMENT_ON_FAILURE_rollback;
		return;
	}
	again_at(decision, ends_ms);
	decision->step->status = status_now(input, &decision->step->reason);
	keep_trouble(decision, deployment);
	if (decision->step->status != deployment->status ||
		!span_equal(decision->step->reason, deployment->reason))
		return;
	decision->step->type = DEPLOYMENT_STEP_NONE;
	if (decision->step->done == deployment->done &&
		decision->step->total == deployment->total &&
		!failed_have_changed(decision, deployment))
		return;
	if (input->instances->progress_ms + PROGRESS_MS <= input->observed->steady_ms)
		decision->step->type = DEPLOYMENT_STEP_PROGRESS;
	else
		again_at(decision, input->instances->progress_ms + PROGRESS_MS);
}

/* Counted from when this server first read it: the clock of another server may be an hour behind, and only observed time
 * counts as bake time. */
static int64_t canary_began_ms(const struct deployment_input *input,
	const struct environment_deployment_facts *deployment)
{
	struct recorded_moment *began = &input->instances->canary_began;

	if (began->written_ms != deployment->canary_ms)
		*began =
			(struct recorded_moment){deployment->canary_ms, input->observed->steady_ms};
	return began->steady_ms;
}

/* When all instances of the canary have been healthy for its bake time, the others follow. A server records that only
 * after it observed the whole bake time itself: time alone does not show what happened in between. */
static void decide_canary(struct decision *decision,
	const struct environment_deployment_facts *deployment)
{
	const struct deployment_input *input = decision->input;
	const struct environment_version_facts *target =
		environment_version_facts(input->observed->target);
	const struct fleet_counts *counts = fleet_counts(input->instances->fleet);
	int64_t wanted =
		target->canary_instances < counts->total ? target->canary_instances : counts->total;
	bool healthy = counts->proved >= wanted && counts->unproved == 0;
	int64_t baked_ms = canary_began_ms(input, deployment) + target->canary_bake_ms;

	if (!input->observed->canary || (!healthy && deployment->canary_ms == 0))
		return;
	/* A server that did not observe the canary so far starts its bake time again, and records that. */
	if (healthy && deployment->canary_ms > 0 && target->canary_bake_ms > 0 &&
		input->instances->canary_written_ms != deployment->canary_ms) {
		decision->step->type = DEPLOYMENT_STEP_CANARY;
		decision->step->canary_ms = input->observed->now_ms;
		return;
	}
	if (healthy && deployment->canary_ms > 0 && baked_ms > input->observed->steady_ms) {
		again_at(decision, baked_ms);
		return;
	}
	/* A task may have ended while this server was paused; its change arrives within a moment. */
	if (healthy && !env_instances_is_current(input->instances, input->observed)) {
		again_at(decision, input->observed->steady_ms + CANARY_AGAIN_MS);
		return;
	}
	decision->step->type = DEPLOYMENT_STEP_CANARY;
	decision->step->canary_proved = healthy && deployment->canary_ms > 0;
	decision->step->canary_ms = healthy ? input->observed->now_ms : 0;
}

static bool needs_monitor(const struct deployment_input *input)
{
	const struct environment_facts *facts = environment_facts(input->observed->environment);
	const struct fleet_counts *counts = fleet_counts(input->instances->fleet);

	if (facts->status != ENVIRONMENT_active || facts->target.length == 0)
		return false;
	/* An instance that returns with an older version gets the desired one as soon as possible. Where both versions
	 * run, the older task is only surplus. */
	return counts->missing > 0 ||
	       (input->observed->rolls && counts->outdated > counts->doubled &&
		       fleet_blocked(input->instances->fleet).cause == FLEET_NO_CAUSE);
}

static bool has_timed_out(const struct deployment_input *input)
{
	struct span prefix = arena_format(input->observed->arena, "%.*s/timed-out/",
		SPAN_ARGS(input->observed->environment->key));

	return store_count(input->observed->view, &environment_deployment_kind,
		       ENVIRONMENT_DEPLOYMENT_BY_STATUS, prefix, false) > 0;
}

static void decide(struct decision *decision)
{
	const struct deployment_input *input = decision->input;
	const struct environment_facts *facts = environment_facts(input->observed->environment);
	const struct store_object *object = environment_deployment_of(input->observed->view,
		input->observed->arena, input->observed->environment->key, facts->in_progress);
	const struct environment_deployment_facts *running =
		object ? environment_deployment_facts(object) : NULL;

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
		if (decision->step->type == DEPLOYMENT_STEP_NONE)
			decide_canary(decision, running);
	} else if (!running && needs_monitor(input)) {
		decision->step->type = DEPLOYMENT_STEP_MONITOR;
		decision->step->monitor =
			input->instances->new_count > 0 ||
					fleet_counts(input->instances->fleet)->missing == 0
				? ENVIRONMENT_DEPLOYMENT_TYPE_autoscaling
				: ENVIRONMENT_DEPLOYMENT_TYPE_health_repair;
	}
}

static bool health_has_changed(const struct deployment_input *input)
{
	struct environment_counts counts;

	env_instances_count(input->instances, &counts);
	return environment_is_unhealthy(&counts) !=
	       environment_facts(input->observed->environment)->unhealthy;
}

void deployment_decide(const struct deployment_input *input, struct deployment_step *ret_step)
{
	struct decision decision = {.input = input, .step = ret_step};

	*ret_step = (struct deployment_step){.reason = SPAN(""), .failed = SPAN("")};
	decide(&decision);
	if (ret_step->type == DEPLOYMENT_STEP_NONE && health_has_changed(input))
		ret_step->type = DEPLOYMENT_STEP_HEALTH;
	if (ret_step->type != DEPLOYMENT_STEP_NONE)
		name_all_failed(&decision);
}
