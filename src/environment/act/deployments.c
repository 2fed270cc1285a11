/*
 * Writes the step of a deployment that decide/deployment_step.h decided: one transaction under the claim. It checks that
 * the environment has not changed since, because a client may have written in between.
 */
#include "base/memory.h"
#include "environment/act/pass.h"
#include "environment/decide/daemon_deployment.h"
#include "environment/model/deployment_states.h"
#include "environment/model/derived.h"
#include "environment/model/reservation.h"

#define ADOPTED_MAX 1000 /* in one transaction */

/* The step that is written. */
struct writing {
	struct manager_pass *pass;
	const struct deployment_step *step;
	const struct instances *instances; /* of a step of type ADOPT; NULL */
	char id[ID_UUID_SIZE];             /* of a deployment that is created */
	bool has_rolled_back;
	bool is_outdated; /* the environment has changed: nothing was written */
};

/* ---- writing ---- */

static int put_progress(const struct deployment_scope *scope, const struct writing *writing,
	struct span id, struct err *err)
{
	struct arena *arena = store_transaction_arena(scope->transaction);
	const struct store_object *object = store_get(store_head(scope->transaction),
		&environment_deployment_kind, environment_child_key(arena, scope->environment, id));
	struct environment_deployment_facts facts;

	if (!object)
		return 0;
	facts = *environment_deployment_facts(object);
	facts.done = writing->step->done;
	facts.total = writing->step->total;
	return environment_put(scope->transaction, &environment_deployment_kind, object->key,
		writing->step->failed, &facts, object->revision, err);
}

/* A failed rollout returns to the version that was completed before it. */
static int add_rollback(const struct deployment_scope *scope, struct writing *writing,
	struct span failed_version, struct err *err)
{
	struct environment_deployment_facts created = {.id = span_of(writing->id),
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
	writing->has_rolled_back = code == 0;
	return code;
}

static int write_move(const struct deployment_scope *scope, struct writing *writing,
	struct err *err)
{
	struct span id = scope->facts->in_progress, version = scope->facts->target;
	/* Without an observation the recorded progress stays. */
	int code = writing->step->has_progress ? put_progress(scope, writing, id, err) : 0;

	if (code == 0)
		code = deployment_move(scope, id, writing->step->status, writing->step->reason,
			err);
	if (code == 0 && writing->step->rolls_back)
		code = add_rollback(scope, writing, version, err);
	return code;
}

static int write_begin(const struct deployment_scope *scope, struct err *err)
{
	struct span running = scope->facts->in_progress;
	int code = 0;

	/* The deployment of a monitor ends: a user's deployment covers its instances, too. */
	if (running.length > 0)
		code = deployment_move(scope, running, ENVIRONMENT_DEPLOYMENT_to_be_stopped,
			SPAN("SUPERSEDED"), err);
	if (code == 0 && running.length > 0)
		code = deployment_move(scope, running, ENVIRONMENT_DEPLOYMENT_stopped,
			SPAN("SUPERSEDED"), err);
	return code < 0 ? code : deployment_begin(scope, scope->facts->pending, err);
}

static int write_monitor(const struct deployment_scope *scope, const struct writing *writing,
	struct err *err)
{
	struct environment_deployment_facts created = {.id = span_of(writing->id),
		.type = writing->step->monitor,
		.version = scope->facts->target,
		.previous = SPAN(""),
		.created_by = SPAN(""),
		.reason = SPAN(""),
		.token = SPAN(""),
		.token_hash = SPAN("")};
	int code = deployment_add(scope, &created, err);

	return code < 0 ? code : deployment_begin(scope, created.id, err);
}

static int write_canary(const struct deployment_scope *scope, const struct writing *writing,
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
	facts.canary_ms = writing->step->canary_ms;
	facts.canary_proved = writing->step->canary_proved;
	return environment_put(scope->transaction, &environment_deployment_kind, object->key,
		object->api, &facts, object->revision, err);
}

/* The placement gets the version of the running task, which is the one to start again when the task ends. */
static int write_adopt(const struct deployment_scope *scope, const struct writing *writing,
	struct err *err)
{
	struct arena *arena = store_transaction_arena(scope->transaction);
	const struct instance_entry *entry;
	size_t position = 0, count = 0;

	while (count++ < ADOPTED_MAX &&
		(entry = daemon_deployment_next_adopted(writing->instances, &position))) {
		struct span key = environment_placement_key(arena, scope->environment,
			entry->cluster, entry->id);
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
		facts.epoch = (int64_t)writing->pass->claim.epoch;
		code = environment_put(scope->transaction, &environment_placement_kind, key,
			SPAN(""), &facts, object->revision, err);
		if (code < 0)
			return code;
	}
	return 0;
}

/* With the step that requires it: so the next pass puts it. */
static void record_reservation(const struct deployment_scope *scope)
{
	struct arena *arena = store_transaction_arena(scope->transaction);
	const struct store_object *target =
		store_get(store_head(scope->transaction), &environment_version_kind,
			environment_child_key(arena, scope->environment, scope->facts->target));

	if (scope->facts->reserved.length == 0)
		scope->facts->reserved = environment_wanted_reservation(arena, scope->environment,
			scope->facts, target ? environment_version_facts(target) : NULL);
}

static int write_step(struct store_transaction *transaction, void *context, struct err *err)
{
	struct writing *writing = context;
	const struct store_object *seen = writing->pass->input.environment;
	const struct store_object *now =
		store_get(store_head(transaction), &environment_kind, seen->key);
	struct environment_facts facts;
	struct deployment_scope scope = {.transaction = transaction,
		.webhooks = writing->pass->manager->config.webhooks,
		.environment = seen->key,
		.facts = &facts,
		.now_ms = writing->pass->input.now_ms};
	int code = 0;

	writing->is_outdated = !now || now->revision != seen->revision;
	if (writing->is_outdated)
		return 0; /* the change arrives, and the next pass decides again */
	facts = *environment_facts(now);
	switch (writing->step->type) {
	case DEPLOYMENT_STEP_NONE: return 0;
	case DEPLOYMENT_STEP_STOPPED:
		code = deployment_move(&scope, facts.in_progress, ENVIRONMENT_DEPLOYMENT_stopped,
			writing->step->reason, err);
		break;
	case DEPLOYMENT_STEP_BEGIN: code = write_begin(&scope, err); break;
	case DEPLOYMENT_STEP_MONITOR: code = write_monitor(&scope, writing, err); break;
	case DEPLOYMENT_STEP_MOVE: code = write_move(&scope, writing, err); break;
	case DEPLOYMENT_STEP_CANARY: return write_canary(&scope, writing, err);
	case DEPLOYMENT_STEP_PROGRESS: return put_progress(&scope, writing, facts.in_progress, err);
	case DEPLOYMENT_STEP_HEALTH:
		facts.unhealthy = !facts.unhealthy;
		code = environment_notice_health(transaction, scope.webhooks, seen->key, &facts,
			scope.now_ms, err);
		break;
	case DEPLOYMENT_STEP_ADOPT: return write_adopt(&scope, writing, err);
	}
	environment_derive(transaction, writing->pass->input.bug, now->key, &facts);
	if (code < 0)
		return code;
	record_reservation(&scope);
	return environment_put(transaction, &environment_kind, now->key, now->api, &facts,
		now->revision, err);
}

/* ---- logging ---- */

static void log_transition(const struct writing *writing, bool bad, struct span id,
	const char *what)
{
	const struct manager_config *config = &writing->pass->manager->config;
	struct span key = writing->pass->input.environment->key;
	bool why = writing->step->reason.length > 0;

	config->log_transition(config->report_context, bad,
		arena_format(writing->pass->arena, "environment %.*s: deployment %.*s %s%s%.*s",
			SPAN_ARGS(key), SPAN_ARGS(id), what, why ? ": " : "",
			SPAN_ARGS(writing->step->reason)));
}

static void log_move(const struct writing *writing, struct span id)
{
	switch (writing->step->status) {
	case ENVIRONMENT_DEPLOYMENT_completed:
		log_transition(writing, false, id, "is completed");
		break;
	case ENVIRONMENT_DEPLOYMENT_in_progress:
		log_transition(writing, false, id, "continues");
		break;
	case ENVIRONMENT_DEPLOYMENT_unhealthy:
		log_transition(writing, true, id, "is unhealthy");
		break;
	case ENVIRONMENT_DEPLOYMENT_blocked: log_transition(writing, true, id, "is blocked"); break;
	case ENVIRONMENT_DEPLOYMENT_timed_out:
		log_transition(writing, true, id,
			writing->has_rolled_back ? "timed out; rolling back" : "timed out");
		break;
	default: break;
	}
}

/* After it was written. Deployments of monitors are only in the history. */
static void log_step(const struct writing *writing)
{
	const struct environment_facts *facts = environment_facts(writing->pass->input.environment);
	const struct store_object *running = environment_deployment_of(writing->pass->input.view,
		writing->pass->arena, writing->pass->input.environment->key, facts->in_progress);

	if (!writing->pass->manager->config.log_transition || writing->is_outdated)
		return;
	if (writing->step->type == DEPLOYMENT_STEP_BEGIN)
		log_transition(writing, false, facts->pending, "begins");
	if (!running ||
		environment_deployment_facts(running)->type != ENVIRONMENT_DEPLOYMENT_TYPE_user)
		return;
	if (writing->step->type == DEPLOYMENT_STEP_STOPPED)
		log_transition(writing, false, facts->in_progress, "is stopped");
	if (writing->step->type == DEPLOYMENT_STEP_MOVE &&
		environment_deployment_facts(running)->status != writing->step->status)
		log_move(writing, facts->in_progress);
}

int manager_write_step(struct manager_pass *pass, const struct deployment_step *step,
	const struct instances *instances, bool *ret_is_written, struct err *err)
{
	struct writing writing = {.pass = pass, .step = step, .instances = instances};
	int code;

	id_uuid(runner_random(pass->call->runner), writing.id);
	pass->state->deployment.progress_ms = pass->input.steady_ms;
	code = claims_write(pass->manager->config.claims, &pass->claim, write_step, &writing, NULL,
		err);
	if (code < 0)
		return code;
	log_step(&writing);
	*ret_is_written = !writing.is_outdated;
	return 0;
}

bool manager_is_unhealthy(const struct manager_pass *pass)
{
	struct environment_counts counts;

	environment_state_get_counts(pass->state, &counts);
	return environment_is_unhealthy(&counts);
}

int manager_step_deployments(struct manager_pass *pass, const struct deployment_progress *progress,
	struct span cause, bool *ret_changed, struct err *err)
{
	const struct deployment_input input = {.memory = &pass->state->deployment,
		.observed = &pass->input,
		.progress = progress,
		.cause = cause,
		.is_unhealthy = manager_is_unhealthy(pass)};
	struct deployment_step step;
	bool is_written;
	int code;

	deployment_decide(&input, &step);
	manager_again_at(pass, step.again_ms);
	if (step.type == DEPLOYMENT_STEP_NONE)
		return 0;
	code = manager_write_step(pass, &step, NULL, &is_written, err);
	*ret_changed = code == 0;
	return code;
}
