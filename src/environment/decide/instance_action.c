/* See the header. */
#include "environment/decide/instance_action.h"

#include "base/memory.h"
#include "environment/model/matching.h"

static const struct environment_version_facts *find_version(const struct instance_action_input
								    *input,
	struct span id)
{
	const struct reconcile_input *observed = input->observed;
	const struct store_object *version = store_get(observed->view, &environment_version_kind,
		environment_child_key(observed->arena, input->instances->key, id));

	return version ? environment_version_facts(version) : NULL;
}

static struct span deployment_of(const struct instance_action_input *input)
{
	return environment_facts(input->observed->environment)->in_progress;
}

static void decide_start(const struct instance_action_input *input, struct instance_action *act)
{
	const struct environment_version_facts *target =
		environment_version_facts(input->observed->target);
	const struct observe_instance *instance = observe_get_instance_for(input->observed->state,
		act->entry->cluster, act->entry->id,
		environment_group(input->observed->arena,
			environment_name_of_key(input->instances->key)),
		input->observed->arena);
	bool old = act->action.version == FLEET_OLD;

	act->version = old ? find_version(input, act->before.version) : target;
	act->placement.version = act->version ? act->version->id : SPAN("");
	/* A task of an older version belongs to the deployment that started it. */
	act->placement.deployment = old ? act->before.deployment : deployment_of(input);
	if (!instance || !act->version || act->placement.deployment.length == 0) {
		act->is_dropped = true;
		return;
	}
	act->instance_arn = instance->arn;
	act->placement.intent = ENVIRONMENT_INTENT_start;
	if (span_equal(act->before.version, act->placement.version)) {
		act->placement.attempt = act->before.attempt + 1;
		act->placement.failures =
			env_instances_failures(input->instances, input->observed, act->entry);
	} else {
		act->placement.attempt = 1;
		act->placement.failures = 0;
	}
	act->placement.until_ms = 0;
}

/* How many starts of the instance's version have failed in a row, if this task is stopped because it is unhealthy and was
 * never healthy for long; else 0. */
static int64_t count_unhealthy(const struct instance_action_input *input,
	const struct instance_action *act, const struct observe_task *task)
{
	const struct environment_version_facts *version = find_version(input, act->before.version);

	if (act->action.class != ROLLOUT_UNHEALTHY || !version ||
		!environment_version_runs(version, input->observed->view, input->observed->arena,
			task) ||
		input->observed->steady_ms - task->since_ms >= ENV_INSTANCES_HEALTHY_MS)
		return 0;
	if (act->before.intent != ENVIRONMENT_INTENT_stop ||
		!span_equal(act->before.task, task->arn))
		return act->before.failures + 1;
	/* The stop is repeated; if it was refused, `failures` counted the refusals. */
	return act->before.until_ms > 0 || act->before.failures == 0 ? 1 : act->before.failures;
}

/* The part behind "Environment NAME: ". */
static struct span why_stopped(const struct instance_action_input *input,
	const struct instance_action *act)
{
	const struct reconcile_input *observed = input->observed;
	const struct environment_facts *facts = environment_facts(observed->environment);
	const struct environment_version_facts *target =
		observed->target ? environment_version_facts(observed->target) : NULL;
	const struct observe_instance *instance = observe_get_instance(observed->state,
		act->entry->cluster, act->entry->id, observed->arena);

	if (facts->status == ENVIRONMENT_deleting)
		return SPAN("the environment is being deleted");
	if (target && instance &&
		!environment_version_matches(target, act->entry->cluster, instance))
		return arena_format(observed->arena, "container instance %.*s no longer matches",
			SPAN_ARGS(act->entry->id));
	if (instance && instance->status == OBSERVE_INSTANCE_DRAINING)
		return arena_format(observed->arena, "container instance %.*s is draining",
			SPAN_ARGS(act->entry->id));
	if (act->action.class == ROLLOUT_UNHEALTHY)
		return SPAN("the task is unhealthy");
	if (target && act->action.version != FLEET_TARGET)
		return arena_format(observed->arena, "version %.*s replaces it",
			SPAN_ARGS(target->id));
	return SPAN("the container instance has another task of the environment");
}

static void decide_stop(const struct instance_action_input *input, struct instance_action *act)
{
	const struct observe_task *task = env_instances_find_task(input->instances, input->observed,
		act->entry, act->action.version, act->action.class, input->observed->arena);

	/* The task that replaces it needs a deployment. */
	if (!task || (act->action.hands_over && deployment_of(input).length == 0)) {
		act->is_dropped = true;
		return;
	}
	act->task = task->arn;
	act->reason = arena_format(input->observed->arena, "Environment %.*s: %.*s",
		SPAN_ARGS(environment_name_of_key(input->instances->key)),
		SPAN_ARGS(why_stopped(input, act)));
	act->placement.intent = ENVIRONMENT_INTENT_stop;
	act->placement.task = task->arn;
	act->placement.failures = count_unhealthy(input, act, task);
	if (act->placement.failures > 0)
		act->placement.until_ms = 0;
	if (act->action.hands_over) {
		act->placement.version = environment_version_facts(input->observed->target)->id;
		act->placement.deployment = deployment_of(input);
		act->placement.attempt = act->placement.failures = 0;
		act->placement.until_ms = 0;
	}
}

/* The role of the version that the action is for; a role belongs to the account of the cluster. */
static struct span role_of(const struct instance_action_input *input,
	const struct instance_action *act)
{
	const struct environment_version_facts *versions[] = {act->version,
		find_version(input, act->before.version),
		environment_version_facts(input->observed->target)};

	for (size_t i = 0; i < LENGTH(versions); i++)
		if (versions[i] && span_equal(versions[i]->cluster_ref, act->entry->cluster.text))
			return versions[i]->role;
	return SPAN("");
}

static void decide(const struct instance_action_input *input, const struct fleet_action *action,
	struct instance_action *act)
{
	const struct store_object *placement;

	*act = (struct instance_action){
		.action = *action, .entry = instance_entry_at(input->instances, action->instance)};
	placement = env_instances_placement(input->instances, input->observed, act->entry);
	act->before = (struct environment_placement_facts){
		.version = SPAN(""), .deployment = SPAN(""), .task = SPAN("")};
	if (placement)
		act->before = *environment_placement_facts(placement);
	act->placement = act->before;
	act->placement.cluster_ref = act->entry->cluster.text;
	act->placement.instance = act->entry->id;
	act->placement.task = SPAN("");
	act->placement.intent_ms = input->observed->now_ms;
	act->placement.epoch = input->epoch;
	act->placement.seen = (int64_t)act->entry->seen;
	/* A placement has one intent: the next one waits until the outcome of the last is observed. */
	if (!env_instances_knows(input->instances, input->observed, act->entry->cluster) ||
		act->entry->expected != ENVIRONMENT_INTENT_none)
		act->is_dropped = true;
	else if (action->type == ROLLOUT_START)
		decide_start(input, act);
	else
		decide_stop(input, act);
	act->role = role_of(input, act);
}

/* A placement has one intent: further actions of an instance come in the next pass. */
static bool is_decided(const struct instance_action *actions, size_t count, uint32_t instance)
{
	for (size_t i = 0; i < count; i++)
		if (actions[i].action.instance == instance)
			return true;
	return false;
}

size_t instance_actions_decide(const struct instance_action_input *input,
	struct instance_action actions[static INSTANCE_ACTIONS_MAX])
{
	struct fleet_action next[INSTANCE_ACTIONS_MAX];
	size_t next_count = fleet_next(input->instances->fleet, next, LENGTH(next)), count = 0;

	for (size_t i = 0; i < next_count; i++)
		if (!is_decided(actions, count, next[i].instance))
			decide(input, &next[i], &actions[count++]);
	return count;
}
