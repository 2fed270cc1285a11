/*
 * What becomes of the deployments of an environment. Decided on what the crew saw, written in one transaction under
 * the claim, which looks again at what it changes: a client may have been faster.
 */
#include "base/memory.h"
#include "base/seeded_bug.h"
#include "environment/act/pass.h"
#include "environment/decide/failure_text.h"
#include "environment/model/deployment_states.h"
#include "environment/model/derived.h"
#include "environment/model/reserving.h"

#define FAILED_INSTANCES_MAX 100 /* that are named */
#define CANARY_AGAIN_MS 50       /* until all is seen that says how it is */
#define PROGRESS_MS 500          /* between two writes of nothing but progress */
#define ADOPTED_MAX 1000         /* in one transaction */

/* One step. */
struct step {
	struct manager_pass *pass;
	enum {
		STEP_NONE,
		STEP_STOPPED, /* what was to be stopped is */
		STEP_BEGIN,   /* a user's that waited */
		STEP_MONITOR, /* one of our own, for instances without a task */
		STEP_MOVE,    /* the one in progress, to `status` */
		STEP_CANARY,  /* it is well, is not any more, or has proved itself */
		STEP_PROGRESS,
		STEP_HEALTH, /* as the counts are now */
		STEP_ADOPT, /* instances have their task, and belong to another version by what was decided */
	} type;
	enum environment_deployment_type monitor;
	enum environment_deployment_status status;
	struct span reason;
	struct span failed; /* text of its document */
	int64_t done, total;
	int64_t canary_ms;
	bool canary_proved;
	bool rolls_back;       /* if there is something to go back to */
	bool has_rolled_back;  /* there was */
	char id[ID_UUID_SIZE]; /* of one that is made */
	bool done_nothing;
};

/* ---- writing it ---- */

static int put_progress(const struct deployment_scope *scope, const struct step *step,
	struct span id, struct err *err)
{
	struct arena *arena = store_transaction_arena(scope->transaction);
	const struct store_object *object = store_get(store_head(scope->transaction),
		&environment_deployment_kind, environment_child_key(arena, scope->environment, id));
	struct environment_deployment_facts facts;

	if (!object)
		return 0;
	facts = *environment_deployment_facts(object);
	facts.done = step->done;
	facts.total = step->total;
	return environment_put(scope->transaction, &environment_deployment_kind, object->key,
		step->failed, &facts, object->revision, err);
}

/* A failed rollout goes back to what was completed before it. */
static int add_rollback(const struct deployment_scope *scope, struct step *step,
	struct span failed_version, struct err *err)
{
	struct environment_deployment_facts created = {.id = span_of(step->id),
		.type = ENVIRONMENT_DEPLOYMENT_TYPE_user,
		.rollback = true,
		.version = scope->facts->completed,
		.previous = SPAN(""),
		.created_by = SPAN(""),
		.reason = SPAN("ON_FAILURE"),
		.token = SPAN(""),
		.token_hash = SPAN("")};
	int code;

	if (scope->facts->pending.length > 0 || scope->facts->completed.length == 0 ||
		span_equal(scope->facts->completed, failed_version))
		return 0;
	code = deployment_add(scope, &created, err);
	if (code == 0)
		scope->facts->pending = created.id;
	step->has_rolled_back = code == 0;
	return code;
}

static int write_move(const struct deployment_scope *scope, struct step *step, struct err *err)
{
	struct span id = scope->facts->in_progress, version = scope->facts->target;
	/* Who sees nothing knows no better than before. */
	int code = step->pass->cause.length > 0 ? 0 : put_progress(scope, step, id, err);

	if (code == 0)
		code = deployment_move(scope, id, step->status, step->reason, err);
	if (code == 0 && step->rolls_back)
		code = add_rollback(scope, step, version, err);
	return code;
}

static int write_begin(const struct deployment_scope *scope, struct err *err)
{
	struct span running = scope->facts->in_progress;
	int code = 0;

	/* A monitor's makes room: its instances are the other one's too. */
	if (running.length > 0)
		code = deployment_move(scope, running, ENVIRONMENT_DEPLOYMENT_to_be_stopped,
			SPAN("SUPERSEDED"), err);
	if (code == 0 && running.length > 0)
		code = deployment_move(scope, running, ENVIRONMENT_DEPLOYMENT_stopped,
			SPAN("SUPERSEDED"), err);
	return code < 0 ? code : deployment_begin(scope, scope->facts->pending, err);
}

static int write_monitor(const struct deployment_scope *scope, const struct step *step,
	struct err *err)
{
	struct environment_deployment_facts created = {.id = span_of(step->id),
		.type = step->monitor,
		.version = scope->facts->target,
		.previous = SPAN(""),
		.created_by = SPAN(""),
		.reason = SPAN(""),
		.token = SPAN(""),
		.token_hash = SPAN("")};
	int code = deployment_add(scope, &created, err);

	return code < 0 ? code : deployment_begin(scope, created.id, err);
}

static int write_canary(const struct deployment_scope *scope, const struct step *step,
	struct err *err)
{
	struct arena *arena = store_transaction_arena(scope->transaction);
	const struct store_object *object = store_get(store_head(scope->transaction),
		&environment_deployment_kind,
		environment_child_key(arena, scope->environment, scope->facts->in_progress));
	struct environment_deployment_facts facts;

	if (!object)
		return 0;
	facts = *environment_deployment_facts(object);
	facts.canary_ms = step->canary_ms;
	facts.canary_proved = step->canary_proved;
	return environment_put(scope->transaction, &environment_deployment_kind, object->key,
		object->api, &facts, object->revision, err);
}

/* The next member whose task is of the target version while its placement says another one: a start was refused, or
 * undone by a rollback, before anything was stopped. */
static const struct instance_entry *next_adopted(const struct instances *instances,
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

/* It belongs to the version that it has: that is the one to start again when it dies. */
static int write_adopt(const struct deployment_scope *scope, const struct step *step,
	struct err *err)
{
	struct arena *arena = store_transaction_arena(scope->transaction);
	const struct instances *instances = step->pass->instances;
	const struct instance_entry *member;
	size_t position = 0, count = 0;

	while (count++ < ADOPTED_MAX && (member = next_adopted(instances, &position))) {
		struct span key = environment_placement_key(arena, scope->environment,
			member->cluster_ref, member->id);
		const struct store_object *object =
			store_get(store_head(scope->transaction), &environment_placement_kind, key);
		struct environment_placement_facts facts;
		int code;

		if (!object)
			continue;
		facts = *environment_placement_facts(object);
		facts.version = scope->facts->target;
		facts.deployment = scope->facts->in_progress;
		facts.attempt = facts.failures = facts.until_ms = 0;
		facts.intent = ENVIRONMENT_INTENT_none;
		facts.epoch = (int64_t)step->pass->claim.epoch;
		code = environment_put(scope->transaction, &environment_placement_kind, key,
			SPAN(""), &facts, object->revision, err);
		if (code < 0)
			return code;
	}
	return 0;
}

static int write_step(struct store_transaction *transaction, void *context, struct err *err)
{
	struct step *step = context;
	const struct store_object *seen = step->pass->input.environment;
	const struct store_object *now =
		store_get(store_head(transaction), &environment_kind, seen->key);
	struct environment_facts facts;
	struct deployment_scope scope = {.transaction = transaction,
		.webhooks = step->pass->manager->config.webhooks,
		.environment = seen->key,
		.facts = &facts,
		.now_ms = step->pass->input.now_ms};
	int code = 0;

	step->done_nothing = !now || now->revision != seen->revision;
	if (step->done_nothing)
		return 0; /* we are told, and look again */
	facts = *environment_facts(now);
	switch (step->type) {
	case STEP_NONE: return 0;
	case STEP_STOPPED:
		code = deployment_move(&scope, facts.in_progress, ENVIRONMENT_DEPLOYMENT_stopped,
			step->reason, err);
		break;
	case STEP_BEGIN: code = write_begin(&scope, err); break;
	case STEP_MONITOR: code = write_monitor(&scope, step, err); break;
	case STEP_MOVE: code = write_move(&scope, step, err); break;
	case STEP_CANARY: return write_canary(&scope, step, err);
	case STEP_PROGRESS: return put_progress(&scope, step, facts.in_progress, err);
	case STEP_HEALTH:
		facts.unhealthy = !facts.unhealthy;
		code = environment_notice_health(transaction, scope.webhooks, seen->key, &facts,
			scope.now_ms, err);
		break;
	case STEP_ADOPT: return write_adopt(&scope, step, err);
	}
	environment_derive(transaction, step->pass->input.bug, now->key, &facts);
	if (code == 0)
		code = environment_reserve(transaction, now->key, &facts, scope.now_ms, err);
	if (code < 0)
		return code;
	return environment_put(transaction, &environment_kind, now->key, now->api, &facts,
		now->revision, err);
}

/* ---- deciding it ---- */

static const char *reason_of(enum fleet_cause cause)
{
	return cause == FLEET_UNSATISFIABLE ? "MIN_HEALTHY_UNSATISFIABLE" : fleet_cause_name(cause);
}

/* Not only a matter of waiting for one's turn. */
static bool is_failure(enum fleet_cause cause)
{
	return cause == FLEET_UNREACHABLE || cause == FLEET_UNSATISFIABLE || cause >= FLEET_HANGS;
}

static void name_failure(struct step *step, const struct manager_progress *progress)
{
	struct arena *arena = step->pass->arena;
	struct json *created = json_new_object(arena), *list = json_new_array(arena),
		    *item = json_new_object(arena);

	if (progress->failure.length == 0)
		return;
	json_set_string(arena, item, "instance", progress->what);
	json_set_string(arena, item, "reason", progress->failure);
	json_append(arena, list, item);
	json_set(arena, created, "failedInstances", list);
	step->failed = json_to_text(created, arena);
}

/* What somebody said of why this instance cannot be served; data NULL: nobody did. */
static struct span words_of(const struct manager_pass *pass, const struct instance_entry *member)
{
	const struct store_object *placement =
		env_instances_placement(pass->instances, &pass->input, member);
	struct json *kept;

	if (!placement || json_parse(placement->api, pass->arena, &kept, NULL) < 0)
		return SPAN_NONE;
	return json_get_text(kept, "reason");
}

/* It cannot be served now, or failed before and what comes of the next try is not known yet. */
static bool has_failed(const struct fleet_reason *reason, const struct instance_entry *member)
{
	return is_failure(reason->cause) || member->trouble != INSTANCE_FAILURE_NONE;
}

/* Why it has, in words where somebody said some; named: with the task that ended. */
static struct span failure_of(const struct manager_pass *pass, const struct fleet_reason *reason,
	const struct instance_entry *member, bool named)
{
	bool blocked = is_failure(reason->cause) && reason->cause != FLEET_BACKOFF;
	struct span text = words_of(pass, member);

	if (text.length > 0)
		return text;
	if (blocked)
		return span_of(reason_of(reason->cause));
	text = failure_text_of_instance(pass->instances, &pass->input, member, named);
	return text.length > 0 ? manager_reason(pass->arena, reason_of(FLEET_BACKOFF), text)
			       : span_of(reason_of(FLEET_BACKOFF));
}

/* Tasks of this version that failed there in a row. */
static int64_t failures_of(const struct manager_pass *pass, const struct instance_entry *member)
{
	const struct store_object *placement =
		env_instances_placement(pass->instances, &pass->input, member);
	const struct environment_placement_facts *facts = placement ? placement->facts : NULL;

	return facts ? facts->failures : 0;
}

/* Instances that cannot be served now, and why. */
static void name_failed(struct step *step)
{
	struct manager_pass *pass = step->pass;
	struct fleet_reason reasons[FAILED_INSTANCES_MAX];
	size_t count = fleet_reasons(pass->instances->fleet, reasons, LENGTH(reasons));
	struct json *created = json_new_object(pass->arena), *list = json_new_array(pass->arena);

	for (size_t i = 0; i < count; i++) {
		const struct instance_entry *member =
			instance_entry_at(pass->instances, reasons[i].instance);
		struct json *item = json_new_object(pass->arena);

		if (!has_failed(&reasons[i], member))
			continue;
		json_set_string(pass->arena, item, "instance", member->id);
		json_set_string(pass->arena, item, "reason",
			failure_of(pass, &reasons[i], member, true));
		json_set_integer(pass->arena, item, "attempts", failures_of(pass, member));
		json_append(pass->arena, list, item);
	}
	if (json_count(list) > 0)
		json_set(pass->arena, created, "failedInstances", list);
	step->failed = json_count(list) > 0 ? json_to_text(created, pass->arena) : SPAN("");
}

static void name_all_failed(struct step *step)
{
	if (step->pass->progress)
		name_failure(step, step->pass->progress);
	else if (step->pass->cause.length == 0)
		name_failed(step);
}

/* What was done stays done for those who watch, though a task may die later: while there are as many instances, the
 * number does not fall. */
static void count_progress(struct step *step, const struct environment_deployment_facts *running)
{
	const struct fleet_counts *counts = fleet_counts(step->pass->instances->fleet);
	const struct manager_progress *progress = step->pass->progress;

	step->done = progress ? progress->done : counts->updated;
	step->total = progress ? progress->total : counts->total;
	if (running && running->total == step->total && running->done > step->done)
		step->done = running->done;
}

static bool is_over(const struct manager_pass *pass,
	const struct environment_deployment_facts *deployment)
{
	const struct fleet_counts *counts = fleet_counts(pass->instances->fleet);

	if (pass->progress)
		return pass->progress->is_over;
	if (SEEDED_BUG(pass->input.bug == DAEMON_BUG_HASTY_COMPLETE))
		return counts->launching == 0;
	if (SEEDED_BUG(pass->input.bug == DAEMON_BUG_NEVER_EMPTY) && counts->total == 0)
		return false;
	if (deployment->type == ENVIRONMENT_DEPLOYMENT_TYPE_user)
		return fleet_complete(pass->instances->fleet) && !pass->instances->unknown_refs;
	/* What a monitor began for: everybody has a task, of the version that is due. */
	return counts->launching == 0 && counts->missing == 0 && counts->unhealthy == 0 &&
	       !(pass->input.rolls && counts->outdated > 0);
}

/* What those that fail have in common; the word alone, if they fail for several reasons. */
static struct span common_failure(const struct manager_pass *pass)
{
	struct fleet_reason reasons[FAILED_INSTANCES_MAX];
	size_t count = fleet_reasons(pass->instances->fleet, reasons, LENGTH(reasons));
	struct span common = SPAN("");

	for (size_t i = 0; i < count; i++) {
		const struct instance_entry *member =
			instance_entry_at(pass->instances, reasons[i].instance);
		struct span one;

		if (!has_failed(&reasons[i], member))
			continue;
		one = manager_reason(pass->arena, "", failure_of(pass, &reasons[i], member, false));
		if (common.length > 0 && !span_equal(one, common))
			return span_of(reason_of(FLEET_BACKOFF));
		common = one;
	}
	return common.length > 0 ? common : SPAN("UNHEALTHY: the health check failed");
}

static enum environment_deployment_status status_now(const struct manager_pass *pass,
	struct span *ret_reason)
{
	struct fleet_reason blocked = fleet_blocked(pass->instances->fleet);
	struct span text;

	*ret_reason = pass->progress ? pass->progress->reason : SPAN("");
	if (pass->progress)
		return pass->progress->status;
	if (fleet_counts(pass->instances->fleet)->unhealthy > 0 || blocked.cause == FLEET_BACKOFF) {
		*ret_reason = common_failure(pass);
		return ENVIRONMENT_DEPLOYMENT_unhealthy;
	}
	if (pass->instances->unknown_refs && fleet_complete(pass->instances->fleet)) {
		*ret_reason = SPAN("CLUSTER_UNKNOWN: the cluster that it leaves");
		return ENVIRONMENT_DEPLOYMENT_blocked;
	}
	if (blocked.cause == FLEET_UNREACHABLE || !is_failure(blocked.cause))
		return ENVIRONMENT_DEPLOYMENT_in_progress;
	*ret_reason = span_of(reason_of(blocked.cause));
	text = words_of(pass, instance_entry_at(pass->instances, blocked.instance));
	/* Of what does not depend on the instance one wants to know more than the word. */
	if (text.length > 0 && (blocked.cause == FLEET_PLACEMENT || blocked.cause == FLEET_HANGS))
		*ret_reason = manager_reason(pass->arena, reason_of(blocked.cause), text);
	return ENVIRONMENT_DEPLOYMENT_blocked;
}

/* What has failed is being tried again: as long as nobody knows what becomes of that, all is as it was. */
static void keep_trouble(struct step *step, const struct environment_deployment_facts *deployment)
{
	if (step->pass->progress || env_instances_failing(step->pass->instances) == 0 ||
		step->reason.length > 0)
		return;
	if (deployment->status != ENVIRONMENT_DEPLOYMENT_unhealthy &&
		deployment->status != ENVIRONMENT_DEPLOYMENT_blocked)
		return;
	step->status = deployment->status;
	step->reason = deployment->reason;
}

int64_t manager_ends_ms(const struct manager_pass *pass,
	const struct environment_deployment_facts *deployment)
{
	return recorded_moment(&pass->instances->began, &pass->input, deployment->started_ms, 0) +
	       environment_version_facts(pass->input.target)->timeout_ms;
}

/* Nothing is known of the instances, so nothing is done: but time goes on. */
static void decide_blind(struct step *step, const struct environment_deployment_facts *deployment)
{
	struct manager_pass *pass = step->pass;
	const struct environment_version_facts *target =
		environment_version_facts(pass->input.target);
	int64_t ends_ms = manager_ends_ms(pass, deployment);
	bool over = ends_ms <= pass->input.steady_ms;

	manager_again_at(pass, over ? 0 : ends_ms);
	step->status = over ? ENVIRONMENT_DEPLOYMENT_timed_out : ENVIRONMENT_DEPLOYMENT_blocked;
	step->reason = pass->cause;
	step->rolls_back = over && deployment->type == ENVIRONMENT_DEPLOYMENT_TYPE_user &&
			   target->on_failure == ENVIRONMENT_ON_FAILURE_rollback;
	if (step->status != deployment->status || !span_equal(step->reason, deployment->reason))
		step->type = STEP_MOVE;
}

/* Others than those that it names have failed, or they have for another reason. */
static bool failed_have_changed(struct step *step,
	const struct environment_deployment_facts *deployment)
{
	const struct manager_pass *pass = step->pass;
	const struct store_object *object = environment_deployment_of(pass->input.view, pass->arena,
		pass->input.environment->key, deployment->id);

	if (!object || (env_instances_failing(pass->instances) == 0 && !pass->progress &&
			       object->api.length == 0))
		return false;
	name_all_failed(step);
	return !span_equal(step->failed, object->api);
}

/* Its time is over, or it was given up: why, as it was told until then. */
static void report_end(struct step *step, const struct environment_deployment_facts *deployment)
{
	const struct manager_pass *pass = step->pass;

	step->status = status_now(pass, &step->reason);
	keep_trouble(step, deployment);
	if (step->reason.length == 0 && !pass->progress)
		step->reason = span_of(reason_of(fleet_blocked(pass->instances->fleet).cause));
	if (step->reason.length == 0)
		step->reason = arena_format(pass->arena, "TIME_OVER: %lld of %lld are as wanted",
			(long long)step->done, (long long)step->total);
	step->status = ENVIRONMENT_DEPLOYMENT_timed_out;
}

static void decide_running(struct step *step, const struct environment_deployment_facts *deployment)
{
	struct manager_pass *pass = step->pass;
	const struct environment_version_facts *target =
		environment_version_facts(pass->input.target);
	int64_t ends_ms = manager_ends_ms(pass, deployment);

	step->type = STEP_MOVE;
	if (is_over(pass, deployment)) {
		size_t position = 0;

		if (deployment->type == ENVIRONMENT_DEPLOYMENT_TYPE_user &&
			next_adopted(pass->instances, &position)) {
			step->type = STEP_ADOPT;
			return;
		}
		step->status = ENVIRONMENT_DEPLOYMENT_completed;
		step->reason = SPAN("");
		return;
	}
	if (ends_ms <= pass->input.steady_ms || (pass->progress && pass->progress->has_failed)) {
		report_end(step, deployment);
		step->rolls_back = deployment->type == ENVIRONMENT_DEPLOYMENT_TYPE_user &&
				   target->on_failure == ENVIRONMENT_ON_FAILURE_rollback;
		return;
	}
	manager_again_at(pass, ends_ms);
	step->status = status_now(pass, &step->reason);
	keep_trouble(step, deployment);
	if (step->status != deployment->status || !span_equal(step->reason, deployment->reason))
		return;
	step->type = STEP_NONE;
	if (step->done == deployment->done && step->total == deployment->total &&
		!failed_have_changed(step, deployment))
		return;
	if (pass->instances->progress_ms + PROGRESS_MS <= pass->input.steady_ms)
		step->type = STEP_PROGRESS;
	else
		manager_again_at(pass, pass->instances->progress_ms + PROGRESS_MS);
}

/* By this server's own sight, since it first saw it written down: another one's clock may be an hour behind, and what has
 * not been watched has not baked. */
static int64_t canary_began_ms(const struct manager_pass *pass,
	const struct environment_deployment_facts *deployment)
{
	struct recorded_moment *began = &pass->instances->canary_began;

	if (began->written_ms != deployment->canary_ms)
		*began = (struct recorded_moment){deployment->canary_ms, pass->input.steady_ms};
	return began->steady_ms;
}

/* All of the canary's instances are well; the rest may follow when it has baked. That it has is written down by who sees it
 * well then: time alone says nothing of what happened while nobody looked. */
static void decide_canary(struct step *step, const struct environment_deployment_facts *deployment)
{
	struct manager_pass *pass = step->pass;
	const struct environment_version_facts *target =
		environment_version_facts(pass->input.target);
	const struct fleet_counts *counts = fleet_counts(pass->instances->fleet);
	int64_t wanted =
		target->canary_instances < counts->total ? target->canary_instances : counts->total;
	bool healthy = counts->proved >= wanted && counts->unproved == 0;
	int64_t baked_ms = canary_began_ms(pass, deployment) + target->canary_bake_ms;

	if (!pass->input.canary || (!healthy && deployment->canary_ms == 0))
		return;
	/* Who did not see it so far lets it bake anew, and says until when. */
	if (healthy && deployment->canary_ms > 0 && target->canary_bake_ms > 0 &&
		pass->instances->canary_written_ms != deployment->canary_ms) {
		step->type = STEP_CANARY;
		step->canary_ms = pass->input.now_ms;
		return;
	}
	if (healthy && deployment->canary_ms > 0 && baked_ms > pass->input.steady_ms) {
		manager_again_at(pass, baked_ms);
		return;
	}
	/* It may have died while we slept: then that is told in a moment. */
	if (healthy && !env_instances_is_current(pass->instances, &pass->input)) {
		manager_again_at(pass, pass->input.steady_ms + CANARY_AGAIN_MS);
		return;
	}
	step->type = STEP_CANARY;
	step->canary_proved = healthy && deployment->canary_ms > 0;
	step->canary_ms = healthy ? pass->input.now_ms : 0;
}

static bool needs_monitor(const struct manager_pass *pass)
{
	const struct environment_facts *facts = environment_facts(pass->input.environment);
	const struct fleet_counts *counts = fleet_counts(pass->instances->fleet);

	if (facts->status != ENVIRONMENT_active || facts->target.length == 0)
		return false;
	/* Who comes back with an older version gets the one that is due, as soon as that can be done. Where both are
	 * there, the older one is only in excess. */
	return counts->missing > 0 ||
	       (pass->input.rolls && counts->outdated > counts->doubled &&
		       fleet_blocked(pass->instances->fleet).cause == FLEET_NO_CAUSE);
}

static bool has_timed_out(const struct manager_pass *pass)
{
	struct span prefix = arena_format(pass->arena, "%.*s/timed-out/",
		SPAN_ARGS(pass->input.environment->key));

	return store_count(pass->input.view, &environment_deployment_kind,
		       ENVIRONMENT_DEPLOYMENT_BY_STATUS, prefix, false) > 0;
}

static void decide(struct step *step)
{
	struct manager_pass *pass = step->pass;
	const struct environment_facts *facts = environment_facts(pass->input.environment);
	const struct store_object *object = environment_deployment_of(pass->input.view, pass->arena,
		pass->input.environment->key, facts->in_progress);
	const struct environment_deployment_facts *running =
		object ? environment_deployment_facts(object) : NULL;

	count_progress(step, running);
	if (running && running->status == ENVIRONMENT_DEPLOYMENT_to_be_stopped) {
		step->type = STEP_STOPPED;
		step->reason = running->reason;
	} else if (facts->pending.length > 0 &&
		   (!running || running->type != ENVIRONMENT_DEPLOYMENT_TYPE_user)) {
		if (!SEEDED_BUG(pass->input.bug == DAEMON_BUG_FAILURE_STAYS) ||
			!has_timed_out(pass))
			step->type = STEP_BEGIN;
	} else if (running && pass->input.target && facts->status == ENVIRONMENT_active &&
		   pass->cause.length > 0) {
		decide_blind(step, running);
	} else if (pass->cause.length > 0) {
		return;
	} else if (running && pass->input.target && facts->status == ENVIRONMENT_active) {
		decide_running(step, running);
		if (step->type == STEP_NONE)
			decide_canary(step, running);
	} else if (!running && needs_monitor(pass)) {
		step->type = STEP_MONITOR;
		step->monitor = pass->instances->new_count > 0 ||
						fleet_counts(pass->instances->fleet)->missing == 0
					? ENVIRONMENT_DEPLOYMENT_TYPE_autoscaling
					: ENVIRONMENT_DEPLOYMENT_TYPE_health_repair;
	}
}

/* ---- telling it ---- */

static void log_transition(const struct step *step, bool bad, struct span id, const char *what)
{
	const struct manager_config *config = &step->pass->manager->config;
	struct span key = step->pass->input.environment->key;
	bool why = step->reason.length > 0;

	config->log_transition(config->report_context, bad,
		arena_format(step->pass->arena, "environment %.*s: deployment %.*s %s%s%.*s",
			SPAN_ARGS(key), SPAN_ARGS(id), what, why ? ": " : "",
			SPAN_ARGS(step->reason)));
}

static void log_move(const struct step *step, struct span id)
{
	switch (step->status) {
	case ENVIRONMENT_DEPLOYMENT_completed:
		log_transition(step, false, id, "is completed");
		break;
	case ENVIRONMENT_DEPLOYMENT_in_progress: log_transition(step, false, id, "goes on"); break;
	case ENVIRONMENT_DEPLOYMENT_unhealthy:
		log_transition(step, true, id, "is unhealthy");
		break;
	case ENVIRONMENT_DEPLOYMENT_blocked: log_transition(step, true, id, "is blocked"); break;
	case ENVIRONMENT_DEPLOYMENT_timed_out:
		log_transition(step, true, id,
			step->has_rolled_back ? "is timed-out and is taken back" : "is timed-out");
		break;
	default: break;
	}
}

/* Once it is written down. What monitors do for single instances is in the history. */
static void log_step(const struct step *step)
{
	const struct environment_facts *facts = environment_facts(step->pass->input.environment);
	const struct store_object *running = environment_deployment_of(step->pass->input.view,
		step->pass->arena, step->pass->input.environment->key, facts->in_progress);

	if (!step->pass->manager->config.log_transition || step->done_nothing)
		return;
	if (step->type == STEP_BEGIN)
		log_transition(step, false, facts->pending, "begins");
	if (!running ||
		environment_deployment_facts(running)->type != ENVIRONMENT_DEPLOYMENT_TYPE_user)
		return;
	if (step->type == STEP_STOPPED)
		log_transition(step, false, facts->in_progress, "is stopped");
	if (step->type == STEP_MOVE &&
		environment_deployment_facts(running)->status != step->status)
		log_move(step, facts->in_progress);
}

static bool health_has_changed(const struct manager_pass *pass)
{
	struct environment_counts counts;

	env_instances_count(pass->instances, &counts);
	return environment_is_unhealthy(&counts) !=
	       environment_facts(pass->input.environment)->unhealthy;
}

int manager_step_deployments(struct manager_pass *pass, bool *ret_changed, struct err *err)
{
	struct step step = {.pass = pass, .reason = SPAN(""), .failed = SPAN("")};
	int code;

	decide(&step);
	if (step.type == STEP_NONE && health_has_changed(pass))
		step.type = STEP_HEALTH;
	if (step.type == STEP_NONE)
		return 0;
	id_uuid(runner_random(pass->call->runner), step.id);
	pass->instances->progress_ms = pass->input.steady_ms;
	name_all_failed(&step);
	code = claims_write(pass->manager->config.claims, &pass->claim, write_step, &step, NULL,
		err);
	if (code == 0)
		log_step(&step);
	if (code == 0 && step.type == STEP_CANARY && !step.done_nothing)
		pass->instances->canary_written_ms = step.canary_ms;
	if (code == 0 && step.type == STEP_ADOPT)
		env_instances_instance_changed(pass->instances, SPAN(""),
			SPAN("")); /* their placements did */
	*ret_changed = code == 0;
	return code;
}
