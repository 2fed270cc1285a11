/* See the header. */
#include "environment/decide/daemon_deployment.h"

#include "base/memory.h"
#include "base/seeded_bug.h"
#include "environment/decide/failure_text.h"
#include "environment/model/deployment_states.h"

#define FAILED_INSTANCES_MAX 100 /* that are named */
#define CANARY_AGAIN_MS 50       /* until the changes of a paused server have arrived */

const struct instance_entry *daemon_deployment_next_adopted(const struct instances *instances,
	size_t *position)
{
	const struct map_entry *slot;

	while ((slot = map_next(&instances->entries, position))) {
		const struct instance_entry *entry = slot->value;
		const struct fleet_instance *now = fleet_get(instances->fleet, entry->index);

		if (now->state == ROLLOUT_INSTANCE_ACTIVE && now->matches &&
			now->assigned == FLEET_ASSIGNED_OLD &&
			now->tasks[FLEET_TARGET][ROLLOUT_HEALTHY] > 0)
			return entry;
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

/* The recorded reason why this instance cannot be served; data NULL: there is none. */
static struct span text_of(const struct daemon_deployment_input *input,
	const struct instance_entry *entry)
{
	const struct store_object *placement =
		env_instances_placement(input->instances, input->observed, entry);
	struct json *kept;

	if (!placement || json_parse(placement->api, input->observed->arena, &kept, NULL) < 0)
		return SPAN_NONE;
	return json_get_text(kept, "reason");
}

/* It cannot be served now, or failed before and the outcome of the next attempt is not known yet. */
static bool has_failed(const struct fleet_reason *reason, const struct instance_entry *entry)
{
	return is_failure(reason->cause) || entry->trouble != INSTANCE_FAILURE_NONE;
}

/* Why it has failed, as text if some was recorded; named: with the task that ended. */
static struct span failure_of(const struct daemon_deployment_input *input,
	const struct fleet_reason *reason, const struct instance_entry *entry, bool named)
{
	bool blocked = is_failure(reason->cause) && reason->cause != FLEET_BACKOFF;
	struct span text = text_of(input, entry);

	if (text.length > 0)
		return text;
	if (blocked)
		return span_of(reason_of(reason->cause));
	text = failure_text_of_instance(input->instances, input->observed, entry, named);
	return text.length > 0
		       ? failure_reason(input->observed->arena, reason_of(FLEET_BACKOFF), text)
		       : span_of(reason_of(FLEET_BACKOFF));
}

/* How many tasks of the placement's version have failed on the instance in a row. */
static int64_t failures_of(const struct daemon_deployment_input *input,
	const struct instance_entry *entry)
{
	const struct store_object *placement =
		env_instances_placement(input->instances, input->observed, entry);

	return placement ? environment_placement_facts(placement)->failures : 0;
}

/* Instances that cannot be served now, and why. */
static struct span name_failed(const struct daemon_deployment_input *input)
{
	struct arena *arena = input->observed->arena;
	struct fleet_reason reasons[FAILED_INSTANCES_MAX];
	size_t count = fleet_reasons(input->instances->fleet, reasons, LENGTH(reasons));
	struct json *created = json_new_object(arena), *list = json_new_array(arena);

	for (size_t i = 0; i < count; i++) {
		const struct instance_entry *entry =
			instance_entry_at(input->instances, reasons[i].instance);
		struct json *item = json_new_object(arena);

		if (!has_failed(&reasons[i], entry))
			continue;
		json_set_string(arena, item, "instance", entry->id);
		json_set_string(arena, item, "reason", failure_of(input, &reasons[i], entry, true));
		json_set_integer(arena, item, "attempts", failures_of(input, entry));
		json_append(arena, list, item);
	}
	if (json_count(list) == 0)
		return SPAN("");
	json_set(arena, created, "failedInstances", list);
	return json_to_text(created, arena);
}

static bool is_over(const struct daemon_deployment_input *input,
	const struct environment_deployment_facts *deployment)
{
	const struct fleet_counts *counts = fleet_counts(input->instances->fleet);

	if (SEEDED_BUG(input->observed->bug == DAEMON_BUG_HASTY_COMPLETE))
		return counts->launching == 0;
	if (SEEDED_BUG(input->observed->bug == DAEMON_BUG_NEVER_EMPTY) && counts->total == 0)
		return false;
	if (deployment->type == ENVIRONMENT_DEPLOYMENT_TYPE_user)
		return fleet_complete(input->instances->fleet) &&
		       input->instances->unknown_refs.count == 0;
	/* The goal of a monitor: every instance has a task of the desired version. */
	return counts->launching == 0 && counts->missing == 0 && counts->unhealthy == 0 &&
	       !(input->observed->rolls && counts->outdated > 0);
}

/* The reason that all failed instances share; the word alone if they have several. */
static struct span common_failure(const struct daemon_deployment_input *input)
{
	struct fleet_reason reasons[FAILED_INSTANCES_MAX];
	size_t count = fleet_reasons(input->instances->fleet, reasons, LENGTH(reasons));
	struct span common = SPAN("");

	for (size_t i = 0; i < count; i++) {
		const struct instance_entry *entry =
			instance_entry_at(input->instances, reasons[i].instance);
		struct span one;

		if (!has_failed(&reasons[i], entry))
			continue;
		one = failure_reason(input->observed->arena, "",
			failure_of(input, &reasons[i], entry, false));
		if (common.length > 0 && !span_equal(one, common))
			return span_of(reason_of(FLEET_BACKOFF));
		common = one;
	}
	return common.length > 0 ? common : SPAN("UNHEALTHY: the health check failed");
}

static enum environment_deployment_status status_now(const struct daemon_deployment_input *input,
	struct span *ret_reason)
{
	struct fleet_reason blocked = fleet_blocked(input->instances->fleet);
	struct span text;

	*ret_reason = SPAN("");
	if (fleet_counts(input->instances->fleet)->unhealthy > 0 ||
		blocked.cause == FLEET_BACKOFF) {
		*ret_reason = common_failure(input);
		return ENVIRONMENT_DEPLOYMENT_unhealthy;
	}
	if (input->instances->unknown_refs.count > 0 && fleet_complete(input->instances->fleet)) {
		*ret_reason = SPAN("CLUSTER_UNKNOWN: the cluster that it leaves");
		return ENVIRONMENT_DEPLOYMENT_blocked;
	}
	if (blocked.cause == FLEET_UNREACHABLE || !is_failure(blocked.cause))
		return ENVIRONMENT_DEPLOYMENT_in_progress;
	*ret_reason = span_of(reason_of(blocked.cause));
	text = text_of(input, instance_entry_at(input->instances, blocked.instance));
	/* A cause that does not depend on the instance is reported with its text. */
	if (text.length > 0 && (blocked.cause == FLEET_PLACEMENT || blocked.cause == FLEET_HANGS))
		*ret_reason =
			failure_reason(input->observed->arena, reason_of(blocked.cause), text);
	return ENVIRONMENT_DEPLOYMENT_blocked;
}

/* Counted from when this server first read it: the clock of another server may be an hour behind, and only observed time
 * counts as bake time. */
static int64_t canary_began_ms(const struct daemon_deployment_input *input,
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
static void decide_canary(const struct daemon_deployment_input *input,
	const struct environment_deployment_facts *deployment, struct deployment_step *step)
{
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
		step->type = DEPLOYMENT_STEP_CANARY;
		step->canary_ms = input->observed->now_ms;
		return;
	}
	if (healthy && deployment->canary_ms > 0 && baked_ms > input->observed->steady_ms) {
		step->again_ms = baked_ms;
		return;
	}
	/* A task may have ended while this server was paused; its change arrives within a moment. */
	if (healthy && !env_instances_is_current(input->instances, input->observed)) {
		step->again_ms = input->observed->steady_ms + CANARY_AGAIN_MS;
		return;
	}
	step->type = DEPLOYMENT_STEP_CANARY;
	step->canary_proved = healthy && deployment->canary_ms > 0;
	step->canary_ms = healthy ? input->observed->now_ms : 0;
}

static bool needs_monitor(const struct daemon_deployment_input *input)
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

/* A deployment of a monitor. */
static void decide_monitor(const struct daemon_deployment_input *input,
	struct deployment_step *step)
{
	if (!needs_monitor(input))
		return;
	step->type = DEPLOYMENT_STEP_MONITOR;
	step->monitor = input->instances->new_count > 0 ||
					fleet_counts(input->instances->fleet)->missing == 0
				? ENVIRONMENT_DEPLOYMENT_TYPE_autoscaling
				: ENVIRONMENT_DEPLOYMENT_TYPE_health_repair;
}

static bool is_named(const struct environment_deployment_facts *running,
	const struct daemon_deployment_input *input)
{
	const struct store_object *object = environment_deployment_of(input->observed->view,
		input->observed->arena, input->observed->environment->key, running->id);

	return env_instances_failing(input->instances) > 0 || (object && object->api.length > 0);
}

static void report_progress(const struct daemon_deployment_input *input,
	const struct environment_deployment_facts *running, struct deployment_progress *progress)
{
	const struct fleet_counts *counts = fleet_counts(input->instances->fleet);
	size_t position = 0;

	*progress = (struct deployment_progress){.reason = SPAN(""),
		.waits_for = SPAN(""),
		.failed = SPAN_NONE,
		.done = counts->updated,
		.total = counts->total};
	if (!running || !input->observed->target)
		return;
	progress->is_over = is_over(input, running);
	progress->needs_adoption = progress->is_over &&
				   running->type == ENVIRONMENT_DEPLOYMENT_TYPE_user &&
				   daemon_deployment_next_adopted(input->instances, &position);
	if (progress->is_over)
		return;
	progress->is_repeated = env_instances_failing(input->instances) > 0;
	progress->status = status_now(input, &progress->reason);
	progress->waits_for = span_of(reason_of(fleet_blocked(input->instances->fleet).cause));
	if (is_named(running, input))
		progress->failed = name_failed(input);
}

void daemon_deployment_decide(const struct daemon_deployment_input *input,
	struct deployment_step *ret_step)
{
	const struct environment_deployment_facts *running =
		deployment_in_progress(input->observed);
	bool is_active =
		environment_facts(input->observed->environment)->status == ENVIRONMENT_active;
	struct deployment_progress progress;
	struct deployment_step own = {.type = DEPLOYMENT_STEP_NONE};
	struct deployment_input common = {.memory = input->memory,
		.observed = input->observed,
		.own = &own,
		.cause = input->cause,
		.is_unhealthy = input->is_unhealthy};

	if (input->cause.length == 0) {
		report_progress(input, running, &progress);
		common.progress = &progress;
		if (!running)
			decide_monitor(input, &own);
		else if (input->observed->target && is_active)
			decide_canary(input, running, &own);
	}
	deployment_decide(&common, ret_step);
	/* To name the failed instances is costly in a large environment: only when they are written. */
	if (common.progress && !progress.failed.data &&
		(ret_step->type == DEPLOYMENT_STEP_MOVE ||
			ret_step->type == DEPLOYMENT_STEP_PROGRESS))
		ret_step->failed = name_failed(input);
}
