/*
 * Carrying out what the fleet says. For a handful of actions at a time: write down what is about to be done, each
 * in the placement of its instance; do it; write down what was refused. What comes of the rest is seen by the state
 * service, so nothing is written for it.
 *
 * Until the state service must have seen the outcome (its mark), what was asked for counts as under way, also when
 * the answer was lost: whoever reads before that would take "not yet" for "no".
 */
#include <inttypes.h>

#include "base/memory.h"
#include "base/seeded_bug.h"
#include "delivery/cluster_ref.h"
#include "ecs/placement/preemption.h"
#include "ecs/record/name.h"
#include "environment/act/pass.h"
#include "environment/model/matching.h"

#define RECHECK_MS 200

/* One action, and what came of it. */
struct act {
	struct fleet_action action;
	struct instance_entry *member;
	struct environment_placement_facts before; /* zero: there was none */
	bool had_placement;
	struct environment_placement_facts placement;    /* as it is written */
	const struct environment_version_facts *version; /* starts: what is started */
	struct span instance_arn, task;
	struct outcall call;
	struct span refused;  /* why; data NULL: it was not */
	struct span *leaving; /* tasks that make room for it */
	size_t leaving_count;
	bool dropped; /* there is nothing to do any more */
};

struct acting {
	struct manager_pass *pass;
	struct act acts[MANAGER_ACTIONS_MAX];
	size_t count;
	struct span deployment; /* in progress; "" */
	/* A place that does not answer now, and what was said of it: it is not asked any more for this time. */
	struct span silent_cluster, silence;
};

/* ---- preparing ---- */

static const struct store_object *find_version_object(const struct manager_pass *pass,
	struct span id)
{
	return store_get(pass->input.view, &environment_version_kind,
		environment_child_key(pass->arena, pass->instances->key, id));
}

static const struct environment_version_facts *find_version(const struct manager_pass *pass,
	struct span id)
{
	const struct store_object *version = find_version_object(pass, id);

	return version ? environment_version_facts(version) : NULL;
}

static void prepare_start(struct acting *acting, struct act *act)
{
	const struct manager_pass *pass = acting->pass;
	const struct environment_version_facts *target =
		environment_version_facts(pass->input.target);
	const struct observe_instance *instance = observe_get_instance_for(pass->input.state,
		act->member->cluster_ref, act->member->id,
		environment_group(pass->arena, environment_name_of_key(pass->instances->key)),
		pass->arena);
	bool old = act->action.version == FLEET_OLD;

	act->version = old ? find_version(pass, act->before.version) : target;
	act->placement.version = act->version ? act->version->id : SPAN("");
	/* A task of an older version is of the deployment that brought it there. */
	act->placement.deployment = old ? act->before.deployment : acting->deployment;
	if (!instance || !act->version || act->placement.deployment.length == 0) {
		act->dropped = true;
		return;
	}
	act->instance_arn = instance->arn;
	act->placement.intent = ENVIRONMENT_INTENT_start;
	if (span_equal(act->before.version, act->placement.version)) {
		act->placement.attempt = act->before.attempt + 1;
		act->placement.failures =
			env_instances_failures(pass->instances, &pass->input, act->member);
	} else {
		act->placement.attempt = 1;
		act->placement.failures = 0;
	}
	act->placement.until_ms = 0;
}

/* How many starts of the version that the instance belongs to have failed in a row, if this task is stopped because it is
 * ill and was never well for long; else 0. */
static int64_t count_illness(const struct manager_pass *pass, const struct act *act,
	const struct observe_task *task)
{
	const struct environment_version_facts *version = find_version(pass, act->before.version);

	if (act->action.class != ROLLOUT_UNHEALTHY || !version ||
		!environment_version_runs(version, pass->input.view, pass->arena, task) ||
		pass->input.steady_ms - task->since_ms >= ENV_INSTANCES_HEALTHY_MS)
		return 0;
	if (act->before.intent != ENVIRONMENT_INTENT_stop ||
		!span_equal(act->before.task, task->arn))
		return act->before.failures + 1;
	/* Once more. What was refused was counted instead. */
	return act->before.until_ms > 0 || act->before.failures == 0 ? 1 : act->before.failures;
}

static void prepare_stop(struct acting *acting, struct act *act)
{
	const struct manager_pass *pass = acting->pass;
	const struct observe_task *task = env_instances_find_task(pass->instances, &pass->input,
		act->member, act->action.version, act->action.class, pass->arena);

	/* What replaces it has to be somebody's. */
	if (!task || (act->action.hands_over && acting->deployment.length == 0)) {
		act->dropped = true;
		return;
	}
	act->task = task->arn;
	act->placement.intent = ENVIRONMENT_INTENT_stop;
	act->placement.task = task->arn;
	act->placement.failures = count_illness(pass, act, task);
	if (act->placement.failures > 0)
		act->placement.until_ms = 0;
	if (act->action.hands_over) {
		act->placement.version = environment_version_facts(pass->input.target)->id;
		act->placement.deployment = acting->deployment;
		act->placement.attempt = act->placement.failures = 0;
		act->placement.until_ms = 0;
	}
}

/* ---- whom to call ---- */

/* The role of the version that the act is for; a role is one of its place. */
static struct span role_of(const struct acting *acting, const struct act *act)
{
	const struct environment_version_facts *versions[] = {act->version,
		find_version(acting->pass, act->before.version),
		environment_version_facts(acting->pass->input.target)};

	for (size_t i = 0; i < LENGTH(versions); i++)
		if (versions[i] && span_equal(versions[i]->cluster_ref, act->member->cluster_ref))
			return versions[i]->role;
	return SPAN("");
}

/* ---- preparing an action ---- */

static void prepare(struct acting *acting, const struct fleet_action *action)
{
	const struct manager_pass *pass = acting->pass;
	struct act *act = &acting->acts[acting->count];
	const struct store_object *placement;

	*act = (struct act){
		.action = *action, .member = instance_entry_at(pass->instances, action->instance)};
	placement = env_instances_placement(pass->instances, &pass->input, act->member);
	act->before = (struct environment_placement_facts){
		.version = SPAN(""), .deployment = SPAN(""), .task = SPAN("")};
	if (placement)
		act->before = *environment_placement_facts(placement);
	act->had_placement = placement != NULL;
	act->placement = act->before;
	act->placement.cluster_ref = act->member->cluster_ref;
	act->placement.instance = act->member->id;
	act->placement.task = SPAN("");
	act->placement.intent_ms = pass->input.now_ms;
	act->placement.epoch = (int64_t)pass->claim.epoch;
	act->placement.seen = (int64_t)act->member->seen;
	/* Nor is there room for another one before what came of the last is seen. */
	if (!env_instances_knows(pass->instances, &pass->input, act->member->cluster_ref) ||
		act->member->expected != ENVIRONMENT_INTENT_none)
		act->dropped = true;
	else if (action->type == ROLLOUT_START)
		prepare_start(acting, act);
	else
		prepare_stop(acting, act);
	acting->count++;
}

/* ---- writing down ---- */

static struct json *list_leaving(struct arena *arena, const struct act *act)
{
	struct json *list = json_new_array(arena);

	for (size_t i = 0; i < act->leaving_count; i++)
		json_append(arena, list, json_new_string(arena, act->leaving[i]));
	return list;
}

static int put_placement(struct store_transaction *transaction, const struct manager_pass *pass,
	const struct act *act, struct err *err)
{
	struct arena *arena = store_transaction_arena(transaction);
	struct span api = SPAN("");

	if (act->refused.data) {
		struct json *document = json_new_object(arena);

		json_set_string(arena, document, "reason", act->refused);
		if (act->leaving_count > 0)
			json_set(arena, document, "leaving", list_leaving(arena, act));
		api = json_to_text(document, arena);
	}
	return environment_put(transaction, &environment_placement_kind,
		environment_placement_key(arena, pass->instances->key, act->member->cluster_ref,
			act->member->id),
		api, &act->placement, STORE_ANY, err);
}

static int write_intents(struct store_transaction *transaction, void *context, struct err *err)
{
	struct acting *acting = context;
	int code = 0;

	if (!manager_is_still_wanted(transaction, acting->pass))
		return err_set(err, -ESTALE, "the environment has changed");
	for (size_t i = 0; code == 0 && i < acting->count; i++)
		if (!acting->acts[i].dropped && !acting->acts[i].refused.data)
			code = put_placement(transaction, acting->pass, &acting->acts[i], err);
	return code;
}

static int write_refusals(struct store_transaction *transaction, void *context, struct err *err)
{
	struct acting *acting = context;
	int code = 0;

	for (size_t i = 0; code == 0 && i < acting->count; i++)
		if (acting->acts[i].refused.data)
			code = put_placement(transaction, acting->pass, &acting->acts[i], err);
	return code;
}

static int write_under_claim(struct acting *acting, store_write_function function, struct err *err)
{
	const struct manager_pass *pass = acting->pass;

	return claims_write(pass->manager->config.claims, &pass->claim, function, acting, NULL,
		err);
}

/* ---- calling ---- */

static void note_expectation(struct acting *acting, struct act *act)
{
	struct manager_pass *pass = acting->pass;
	bool stop = act->action.type == ROLLOUT_STOP;

	env_instances_expect(pass->instances, &pass->input, act->member,
		stop ? ENVIRONMENT_INTENT_stop : ENVIRONMENT_INTENT_start, act->action.version,
		act->task);
}

/* for_room: the instance has no room for the task. */
static void refuse(struct acting *acting, struct act *act, struct span reason, bool for_room)
{
	act->refused = arena_copy_span(acting->pass->arena, reason);
	act->placement.failures =
		act->before.until_ms > 0 && span_equal(act->before.version, act->placement.version)
			? act->before.failures + 1
			: 1;
	act->placement.until_ms = manager_refused_until(acting->pass, act->placement.failures);
	act->placement.refused_for_room = for_room;
	act->placement.intent = ENVIRONMENT_INTENT_none;
	act->member->expected = ENVIRONMENT_INTENT_none;
}

/* A stop that was refused is asked for again after a while; until then the task counts as stopping, and keeps its part
 * of the budget. */
static void refuse_stop(struct acting *acting, struct act *act, struct span reason)
{
	refuse(acting, act, reason, false);
	act->placement.intent = ENVIRONMENT_INTENT_stop;
	note_expectation(acting, act);
	act->member->expected_until_ms = recorded_moment(&act->member->refused_until,
		&acting->pass->input, act->placement.until_ms, ENV_INSTANCES_REFUSED_MOST_MS);
}

static void refuse_any(struct acting *acting, struct act *act, struct span reason)
{
	if (act->action.type == ROLLOUT_STOP)
		refuse_stop(acting, act, reason);
	else
		refuse(acting, act, reason, false);
}

/* Before anything is written: a role that cannot be assumed is a refusal, and nothing was begun. */
static int find_target(struct acting *acting, struct act *act, struct err *err)
{
	int code = manager_outcall(acting->pass, act->member->cluster_ref, role_of(acting, act),
		&act->call, err);

	if (code == 0)
		code = outcall_prepare(&act->call, err);
	if (code < 0 && !manager_ends_pass(code)) {
		refuse_any(acting, act, span_of(err->message));
		code = 0;
	}
	return code;
}

static int find_targets(struct acting *acting, struct err *err)
{
	int code = 0;

	for (size_t i = 0; code == 0 && i < acting->count; i++)
		if (!acting->acts[i].dropped)
			code = find_target(acting, &acting->acts[i], err);
	return code;
}

/* A cluster that does not answer now is not called for the other actions of this pass either. */
static void note_silence(struct acting *acting, const struct act *act,
	const struct outcall_result *result)
{
	if (!result->is_unavailable)
		return;
	acting->silent_cluster = act->member->cluster_ref;
	acting->silence = result->reason;
}

static bool is_silent(const struct acting *acting, const struct act *act)
{
	return acting->silent_cluster.data &&
	       span_equal(acting->silent_cluster, act->member->cluster_ref);
}

static struct json *start_request(const struct acting *acting, const struct act *first,
	struct act *const *acts, size_t count)
{
	struct arena *arena = acting->pass->arena;
	struct json *request = json_new_object(arena), *instances = json_new_array(arena);
	const struct json *document = manager_version_document(acting->pass,
		find_version_object(acting->pass, first->version->id));

	for (size_t i = 0; i < count; i++)
		json_append(arena, instances, json_new_string(arena, acts[i]->instance_arn));
	json_set_string(arena, request, "cluster", manager_last_part(first->member->cluster_ref));
	json_set_string(arena, request, "taskDefinition", first->version->task_definition);
	json_set(arena, request, "networkConfiguration",
		json_get(document, "networkConfiguration"));
	json_set(arena, request, "containerInstances", instances);
	json_set_string(arena, request, "group",
		arena_format(arena, ENVIRONMENT_GROUP_PREFIX "%.*s",
			SPAN_ARGS(environment_name_of_key(acting->pass->instances->key))));
	json_set_string(arena, request, "startedBy", first->placement.deployment);
	return request;
}

/* "RESOURCE:MEMORY" is a code of the ECS API. */
static bool is_for_room(struct span reason)
{
	return span_starts_with(reason, SPAN("RESOURCE"));
}

static void read_failures(struct acting *acting, struct act *const *acts, size_t count,
	const struct json *answer)
{
	JSON_EACH_ITEM (json_get(answer, "failures"), failure)
		for (size_t i = 0; i < count; i++)
			if (span_equal(manager_last_part(json_get_text(failure, "arn")),
				    acts[i]->member->id))
				refuse(acting, acts[i], json_get_text(failure, "reason"),
					is_for_room(json_get_text(failure, "reason")));
}

/* What it was told of the tasks is known at once; of a task of this server the store tells it. */
static void learn_task(struct acting *acting, const struct act *act, const struct json *task)
{
	if (cluster_ref_is_remote(act->member->cluster_ref))
		observe_post_task(acting->pass->input.state, act->member->cluster_ref, task, NULL);
}

static void read_tasks(struct acting *acting, struct act *const *acts, size_t count,
	const struct json *answer)
{
	JSON_EACH_ITEM (json_get(answer, "tasks"), task) {
		struct span instance =
			manager_last_part(json_get_text(task, "containerInstanceArn"));

		for (size_t i = 0; i < count; i++)
			if (span_equal(instance, acts[i]->member->id))
				acts[i]->task = json_get_text(task, "taskArn");
		learn_task(acting, acts[0], task);
	}
}

/* -ECANCELED, -ESTALE: the pass ends. */
static int call_start(struct acting *acting, struct act *const *acts, size_t count, struct err *err)
{
	struct manager_pass *pass = acting->pass;
	struct json *request = start_request(acting, acts[0], acts, count);
	struct outcall_result result;
	int code = outcall_send(&acts[0]->call, "StartTask", request, &result, err);

	if (code < 0)
		return code;
	note_silence(acting, acts[0], &result);
	if (result.outcome == OUTCALL_DONE)
		read_tasks(acting, acts, count, result.answer);
	for (size_t i = 0; i < count; i++)
		note_expectation(acting, acts[i]);
	if (result.outcome == OUTCALL_DONE && SEEDED_BUG(pass->input.bug == DAEMON_BUG_INVERTED))
		result.outcome = OUTCALL_REFUSED;
	if (result.outcome == OUTCALL_DONE)
		read_failures(acting, acts, count, result.answer);
	for (size_t i = 0; result.outcome == OUTCALL_REFUSED && i < count; i++)
		refuse(acting, acts[i], result.reason, false);
	return 0;
}

/* The observer sees the effect; *ret_refused: why it was refused, data NULL if it was not. */
static int stop_task(struct acting *acting, const struct act *act, struct span task,
	struct span reason, struct span *ret_refused, struct err *err)
{
	struct manager_pass *pass = acting->pass;
	struct json *request = json_new_object(pass->arena);
	struct outcall_result result;
	int code;

	*ret_refused = SPAN_NONE;
	json_set_string(pass->arena, request, "cluster",
		manager_last_part(act->member->cluster_ref));
	json_set_string(pass->arena, request, "task",
		SEEDED_BUG(pass->input.bug == DAEMON_BUG_WRONG_ARN)
			? environment_version_facts(pass->input.target)->task_definition
			: task);
	json_set_string(pass->arena, request, "reason", reason);
	code = outcall_send(&act->call, "StopTask", request, &result, err);
	if (code < 0)
		return code;
	note_silence(acting, act, &result);
	if (result.outcome == OUTCALL_DONE)
		learn_task(acting, act, json_get(result.answer, "task"));
	/* A task that does not exist needs no stop; the observer sees that it is gone. */
	if (result.outcome == OUTCALL_REFUSED &&
		!span_is(result.error_type, "InvalidParameterException"))
		*ret_refused = result.reason;
	return 0;
}

static int call_stop(struct acting *acting, struct act *act, struct err *err)
{
	struct manager_pass *pass = acting->pass;
	struct span refused;
	int code = stop_task(acting, act, act->task,
		arena_format(pass->arena, "Environment %.*s",
			SPAN_ARGS(environment_name_of_key(pass->instances->key))),
		&refused, err);

	if (code < 0)
		return code;
	note_expectation(acting, act);
	if (SEEDED_BUG(pass->input.bug == DAEMON_BUG_INVERTED_STOP) && !refused.data)
		refused = SPAN("");
	if (refused.data)
		refuse_stop(acting, act, refused);
	return 0;
}

static bool go_together(const struct act *a, const struct act *b)
{
	return span_equal(a->member->cluster_ref, b->member->cluster_ref) &&
	       a->version == b->version && a->call.target == b->call.target &&
	       span_equal(a->placement.deployment, b->placement.deployment);
}

static int call_all(struct acting *acting, struct err *err)
{
	struct act *together[MANAGER_START_INSTANCES];
	size_t count = 0;
	int code = 0;

	for (size_t i = 0; code == 0 && i < acting->count; i++) {
		struct act *act = &acting->acts[i];

		if (act->dropped || act->refused.data)
			continue;
		if (is_silent(acting, act)) {
			refuse_any(acting, act, acting->silence);
			continue;
		}
		if (act->action.type == ROLLOUT_STOP) {
			code = call_stop(acting, act, err);
			continue;
		}
		if (count == LENGTH(together) || (count > 0 && !go_together(together[0], act))) {
			code = call_start(acting, together, count, err);
			count = 0;
		}
		together[count++] = act;
	}
	if (code == 0 && count > 0)
		code = call_start(acting, together, count, err);
	return code;
}

/* ---- all of it ---- */

static bool is_any_done(const struct acting *acting)
{
	for (size_t i = 0; i < acting->count; i++)
		if (!acting->acts[i].dropped)
			return true;
	return false;
}

/* Those that leave for a task that found no room; the reservation says who may be asked to. Written down with the
 * refusal, before they are asked; who comes after a crash is refused again and asks the same. */
static void choose_leaving(struct acting *acting)
{
	struct manager_pass *pass = acting->pass;
	struct span reservation = environment_facts(pass->input.environment)->reserved;
	_view_ struct store_view *view = NULL;

	for (size_t i = 0; reservation.length > 0 && i < acting->count; i++) {
		struct act *act = &acting->acts[i];
		struct span cluster_ref = act->member->cluster_ref;

		if (!act->refused.data || !act->placement.refused_for_room ||
			act->version->priority == 0)
			continue;
		if (!view)
			view = store_view_open(pass->manager->config.store);
		act->leaving_count = preemption_choose(view, reservation,
			arena_format(pass->arena, "%.*s/%.*s", (int)(cluster_ref.length - 1),
				cluster_ref.data + 1, SPAN_ARGS(act->member->id)),
			pass->input.now_ms, pass->arena, &act->leaving);
	}
}

static int call_leaving(struct acting *acting, struct err *err)
{
	struct span reason = arena_format(acting->pass->arena,
		"Makes room for environment %.*s, which has a higher priority",
		SPAN_ARGS(environment_name_of_key(acting->pass->instances->key)));
	struct span refused;
	int code = 0;

	for (size_t i = 0; i < acting->count; i++)
		for (size_t j = 0; code == 0 && j < acting->acts[i].leaving_count; j++)
			code = stop_task(acting, &acting->acts[i], acting->acts[i].leaving[j],
				reason, &refused, err);
	return code;
}

static bool any_refused(const struct acting *acting)
{
	for (size_t i = 0; i < acting->count; i++)
		if (acting->acts[i].refused.data)
			return true;
	return false;
}

/* The fleet took each action as done: what it really is. */
static void recheck(struct acting *acting)
{
	struct manager_pass *pass = acting->pass;
	_view_ struct store_view *view = store_view_open(pass->manager->config.store);
	struct reconcile_input input = pass->input;

	input.view = view;
	for (size_t i = 0; i < acting->count; i++) {
		env_instances_inspect(pass->instances, &input, acting->acts[i].member);
		manager_again_at(pass, acting->acts[i].member->again_ms);
	}
}

/* A placement has room for one intent: of several actions on one instance the others come in the next look. */
static bool is_acted_on(const struct acting *acting, const struct fleet_action *action)
{
	for (size_t i = 0; i < acting->count; i++)
		if (acting->acts[i].action.instance == action->instance)
			return true;
	return false;
}

/* Somewhere elsewhere, if any of them is. */
static struct span cluster_ref_of(const struct acting *acting)
{
	for (size_t i = 0; i < acting->count; i++)
		if (cluster_ref_is_remote(acting->acts[i].member->cluster_ref))
			return acting->acts[i].member->cluster_ref;
	return SPAN("");
}

int manager_act(struct manager_pass *pass, bool *ret_more, struct err *err)
{
	_free_ struct acting *acting = memory_allocate(sizeof(*acting));
	struct fleet_action actions[MANAGER_ACTIONS_MAX];
	size_t count = fleet_next(pass->instances->fleet, actions, LENGTH(actions));
	int code;

	acting->pass = pass;
	acting->deployment = environment_facts(pass->input.environment)->in_progress;
	for (size_t i = 0; i < count; i++)
		if (!is_acted_on(acting, &actions[i]))
			prepare(acting, &actions[i]);
	if (count == 0)
		return 0;
	if (!manager_enter(pass->manager, cluster_ref_of(acting))) {
		recheck(acting);
		manager_again_at(pass, pass->input.steady_ms + RECHECK_MS);
		return 0;
	}
	code = find_targets(acting, err);
	if (code == 0 && SEEDED_BUG(pass->input.bug == DAEMON_BUG_CALL_FIRST))
		code = call_all(acting, err);
	if (code == 0)
		code = write_under_claim(acting, write_intents, err);
	if (code == 0 && !SEEDED_BUG(pass->input.bug == DAEMON_BUG_CALL_FIRST))
		code = call_all(acting, err);
	if (code == 0 && any_refused(acting)) {
		choose_leaving(acting);
		code = write_under_claim(acting, write_refusals, err);
		if (code == 0)
			code = call_leaving(acting, err);
	}
	manager_leave(pass->manager, cluster_ref_of(acting));
	recheck(acting);
	/* What could not be prepared waits for something else to change first. */
	*ret_more = code == 0 && is_any_done(acting);
	/* Nor does it help to ask at once again whether a lease that nearly ends outlasts a call. Of an environment that
	 * has changed we are told. */
	if (!*ret_more)
		manager_again_at(pass, pass->input.steady_ms + RECHECK_MS);
	return code == -ESTALE ? 0 : code;
}
