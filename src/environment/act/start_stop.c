/*
 * Carries out the actions on instances (decide/instance_action.h), a few at a time: writes each intent into the placement
 * of its instance, calls ECS, and writes the refusals. The outcome of the others is observed, so nothing is written for
 * them.
 *
 * An action counts as under way until the observer has reached the resource version that must include its result, also
 * when the answer was lost: before that, a missing task may only be one that is not observed yet.
 */
#include <inttypes.h>

#include "base/memory.h"
#include "base/seeded_bug.h"
#include "delivery/cluster_ref.h"
#include "environment/act/daemon.h"
#include "environment/decide/instance_action.h"
#include "environment/model/matching.h"

#define RECHECK_MS 200

/* One action, and its outcome. */
struct act {
	struct instance_action *plan;
	struct outcall call;
	struct span refused;  /* why; data NULL: it was not */
	struct span *leaving; /* tasks that are stopped to make room for it */
	size_t leaving_count;
};

struct acting {
	struct manager_pass *pass;
	struct instances *instances;
	const struct reconcile_input *input; /* of a Daemon */
	struct instance_action plans[INSTANCE_ACTIONS_MAX];
	struct act acts[INSTANCE_ACTIONS_MAX];
	size_t count;
	/* A cluster that does not answer now, and the reason: it is not called again in this pass. */
	struct cluster_ref silent_cluster; /* text "": none */
	struct span silence;
};

static const struct store_object *find_version_object(const struct manager_pass *pass,
	struct span id)
{
	return store_get(pass->input.view, &environment_version_kind,
		environment_child_key(pass->arena, pass->state->key, id));
}

/* ---- writing ---- */

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
		environment_placement_key(arena, pass->state->key, act->plan->entry->cluster,
			act->plan->entry->id),
		api, &act->plan->placement, STORE_ANY, err);
}

static int write_intents(struct store_transaction *transaction, void *context, struct err *err)
{
	struct acting *acting = context;
	int code = 0;

	if (!manager_is_still_wanted(transaction, acting->pass))
		return err_set(err, -ESTALE, "the environment has changed");
	for (size_t i = 0; code == 0 && i < acting->count; i++)
		if (!acting->acts[i].plan->is_dropped && !acting->acts[i].refused.data)
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
	bool stop = act->plan->action.type == ROLLOUT_STOP;

	env_instances_expect(acting->instances, acting->input, act->plan->entry,
		stop ? ENVIRONMENT_INTENT_stop : ENVIRONMENT_INTENT_start,
		act->plan->action.version, act->plan->task);
}

/* for_room: the instance has no room for the task. */
static void refuse(struct acting *acting, struct act *act, struct span reason, bool for_room)
{
	act->refused = arena_copy_span(acting->pass->arena, reason);
	act->plan->placement.failures =
		act->plan->before.until_ms > 0 &&
				span_equal(act->plan->before.version, act->plan->placement.version)
			? act->plan->before.failures + 1
			: 1;
	act->plan->placement.until_ms =
		manager_refused_until(acting->pass, act->plan->placement.failures);
	act->plan->placement.refused_for_room = for_room;
	act->plan->placement.intent = ENVIRONMENT_INTENT_none;
	act->plan->entry->expected = ENVIRONMENT_INTENT_none;
}

/* A refused stop is repeated after a delay; until then the task counts as stopping, and against the budget. */
static void refuse_stop(struct acting *acting, struct act *act, struct span reason)
{
	refuse(acting, act, reason, false);
	act->plan->placement.intent = ENVIRONMENT_INTENT_stop;
	note_expectation(acting, act);
	act->plan->entry->expected_until_ms = recorded_moment(&act->plan->entry->refused_until,
		acting->input, act->plan->placement.until_ms, PLACEMENT_REFUSED_MOST_MS);
}

static void refuse_any(struct acting *acting, struct act *act, struct span reason)
{
	if (act->plan->action.type == ROLLOUT_STOP)
		refuse_stop(acting, act, reason);
	else
		refuse(acting, act, reason, false);
}

/* Before anything is written: a role that cannot be assumed is a refusal, and nothing was begun. */
static int find_target(struct acting *acting, struct act *act, struct err *err)
{
	int code = manager_outcall(acting->pass, act->plan->entry->cluster, act->plan->role,
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
		if (!acting->acts[i].plan->is_dropped)
			code = find_target(acting, &acting->acts[i], err);
	return code;
}

/* A cluster that does not answer now is not called for the other actions of this pass either. */
static void note_silence(struct acting *acting, const struct act *act,
	const struct outcall_result *result)
{
	if (!result->is_unavailable)
		return;
	acting->silent_cluster = act->plan->entry->cluster;
	acting->silence = result->reason;
}

static bool is_silent(const struct acting *acting, const struct act *act)
{
	return acting->silent_cluster.text.length > 0 &&
	       cluster_ref_equal(acting->silent_cluster, act->plan->entry->cluster);
}

static struct json *start_request(const struct acting *acting, const struct act *first,
	struct act *const *acts, size_t count)
{
	struct arena *arena = acting->pass->arena;
	struct json *request = json_new_object(arena), *instances = json_new_array(arena);
	const struct json *document = manager_version_document(acting->pass,
		find_version_object(acting->pass, first->plan->version->id));

	for (size_t i = 0; i < count; i++)
		json_append(arena, instances, json_new_string(arena, acts[i]->plan->instance_arn));
	json_set_string(arena, request, "cluster", first->plan->entry->cluster.cluster);
	json_set_string(arena, request, "taskDefinition", first->plan->version->task_definition);
	json_set(arena, request, "networkConfiguration",
		json_get(document, "networkConfiguration"));
	json_set(arena, request, "containerInstances", instances);
	json_set_string(arena, request, "group",
		arena_format(arena, ENVIRONMENT_GROUP_PREFIX "%.*s",
			SPAN_ARGS(environment_name_of_key(acting->instances->key))));
	json_set_string(arena, request, "startedBy", first->plan->placement.deployment);
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
				    acts[i]->plan->entry->id))
				refuse(acting, acts[i], json_get_text(failure, "reason"),
					is_for_room(json_get_text(failure, "reason")));
}

/* The observer gets the answer's tasks at once; tasks of this server come through the change feed. */
static void learn_task(struct acting *acting, const struct act *act, const struct json *task)
{
	if (cluster_ref_is_remote(act->plan->entry->cluster))
		observe_post_task(acting->pass->input.state, act->plan->entry->cluster, task, NULL);
}

static void read_tasks(struct acting *acting, struct act *const *acts, size_t count,
	const struct json *answer)
{
	JSON_EACH_ITEM (json_get(answer, "tasks"), task) {
		struct span instance =
			manager_last_part(json_get_text(task, "containerInstanceArn"));

		for (size_t i = 0; i < count; i++)
			if (span_equal(instance, acts[i]->plan->entry->id))
				acts[i]->plan->task = json_get_text(task, "taskArn");
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
	json_set_string(pass->arena, request, "cluster", act->plan->entry->cluster.cluster);
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
	int code = stop_task(acting, act, act->plan->task, act->plan->reason, &refused, err);

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
	return cluster_ref_equal(a->plan->entry->cluster, b->plan->entry->cluster) &&
	       a->plan->version == b->plan->version && a->call.target == b->call.target &&
	       span_equal(a->plan->placement.deployment, b->plan->placement.deployment);
}

static int call_all(struct acting *acting, struct err *err)
{
	struct act *together[MANAGER_START_INSTANCES];
	size_t count = 0;
	int code = 0;

	for (size_t i = 0; code == 0 && i < acting->count; i++) {
		struct act *act = &acting->acts[i];

		if (act->plan->is_dropped || act->refused.data)
			continue;
		if (is_silent(acting, act)) {
			refuse_any(acting, act, acting->silence);
			continue;
		}
		if (act->plan->action.type == ROLLOUT_STOP) {
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
		if (!acting->acts[i].plan->is_dropped)
			return true;
	return false;
}

static int ask_preempted(struct acting *acting, struct act *act, struct err *err)
{
	struct manager_pass *pass = acting->pass;
	struct arena *arena = pass->arena;
	struct cluster_ref cluster = act->plan->entry->cluster;
	struct json *request = json_new_object(arena), *answer = NULL;
	struct aws_call_failure failure;
	const struct json *tasks;
	int code;

	json_set_string(arena, request, "cluster", cluster.cluster);
	json_set_string(arena, request, "group",
		environment_group(arena, environment_name_of_key(acting->instances->key)));
	json_set_string(arena, request, "containerInstance", act->plan->entry->id);
	code = manager_read(pass, cluster, "ChoosePreemptedTasks", request, &answer, &failure, err);
	if (code < 0)
		return code;
	tasks = json_get(answer, "tasks");
	act->leaving = arena_allocate_array(arena, json_count(tasks) + 1, sizeof(*act->leaving));
	JSON_EACH_ITEM (tasks, task)
		act->leaving[act->leaving_count++] = json_text(task);
	return 0;
}

/* Tasks that are stopped to make room for one of a higher priority; the reservation limits the choice. They are written
 * with the refusal before the stop: after a crash the start is refused again, and the same tasks are stopped. */
static int choose_leaving(struct acting *acting, struct err *err)
{
	bool is_reserved = environment_facts(acting->pass->input.environment)->reserved.length > 0;
	int code = 0;

	for (size_t i = 0; is_reserved && code == 0 && i < acting->count; i++) {
		struct act *act = &acting->acts[i];

		if (act->refused.data && act->plan->placement.refused_for_room &&
			!cluster_ref_is_remote(act->plan->entry->cluster) &&
			act->plan->version->priority > 0)
			code = ask_preempted(acting, act, err);
	}
	return code;
}

static int call_leaving(struct acting *acting, struct err *err)
{
	struct span reason = arena_format(acting->pass->arena,
		"Makes room for environment %.*s, which has a higher priority",
		SPAN_ARGS(environment_name_of_key(acting->instances->key)));
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

/* The fleet counted each action as done: inspect what is recorded and expected now. */
static void recheck(struct acting *acting)
{
	struct manager_pass *pass = acting->pass;
	_view_ struct store_view *view = store_view_open(pass->manager->config.store);
	struct reconcile_input input = *acting->input;

	input.view = view;
	for (size_t i = 0; i < acting->count; i++) {
		env_instances_inspect(acting->instances, &input, acting->acts[i].plan->entry);
		manager_again_at(pass, acting->acts[i].plan->entry->again_ms);
	}
}

/* A remote cluster, if any action is for one. */
static struct cluster_ref cluster_of(const struct acting *acting)
{
	for (size_t i = 0; i < acting->count; i++)
		if (cluster_ref_is_remote(acting->acts[i].plan->entry->cluster))
			return acting->acts[i].plan->entry->cluster;
	return cluster_ref_of(SPAN(""));
}

int daemon_act(const struct daemon_pass *daemon, bool *ret_more, struct err *err)
{
	struct manager_pass *pass = daemon->pass;
	_free_ struct acting *acting = memory_allocate(sizeof(*acting));
	const struct instance_action_input input = {.instances = daemon->instances,
		.observed = &daemon->input,
		.epoch = (int64_t)pass->claim.epoch};
	int code;

	acting->pass = pass;
	acting->instances = daemon->instances;
	acting->input = &daemon->input;
	acting->count = instance_actions_decide(&input, acting->plans);
	if (acting->count == 0)
		return 0;
	for (size_t i = 0; i < acting->count; i++)
		acting->acts[i].plan = &acting->plans[i];
	if (!manager_enter(pass->manager, cluster_of(acting))) {
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
		code = choose_leaving(acting, err);
		if (code == 0)
			code = write_under_claim(acting, write_refusals, err);
		if (code == 0)
			code = call_leaving(acting, err);
	}
	manager_leave(pass->manager, cluster_of(acting));
	recheck(acting);
	/* Dropped actions wait for a change. */
	*ret_more = code == 0 && is_any_done(acting);
	/* Nor would a lease that nearly ends outlast a call a moment later. A changed environment starts another pass. */
	if (!*ret_more)
		manager_again_at(pass, pass->input.steady_ms + RECHECK_MS);
	return code == -ESTALE ? 0 : code;
}
