/*
 * The state of one instance for the fleet: the observed instance and its tasks, its placement, and the expectation of a
 * call that may not be observed yet.
 */
#include "environment/decide/instance_entry.h"
#include "aws/targets.h"
#include "base/memory.h"
#include "base/seeded_bug.h"
#include "delivery/cluster_ref.h"
#include "environment/model/deployment_states.h"
#include "environment/model/matching.h"

/* A call to a remote ECS has arrived by then, or never will. */
#define REMOTE_MS (AWS_TARGETS_WRITE_MS + INT64_C(1000))

static void recheck(struct instance_entry *entry, int64_t at_ms)
{
	if (at_ms > 0 && (entry->again_ms == 0 || at_ms < entry->again_ms))
		entry->again_ms = at_ms;
}

/* ---- one instance ---- */

struct inspection {
	const struct instances *instances;
	const struct reconcile_input *input;
	struct instance_entry *entry;
	const struct store_object *placement;    /* NULL: none yet */
	const struct observe_instance *instance; /* NULL: it is gone */
	struct fleet_instance now;
	bool unsure;
};

const struct store_object *env_instances_placement(const struct instances *instances,
	const struct reconcile_input *input, const struct instance_entry *entry)
{
	return store_get(input->view, &environment_placement_kind,
		environment_placement_key(input->arena, instances->key, entry->cluster, entry->id));
}

bool env_instances_owns(const struct instances *instances, const struct reconcile_input *input,
	const struct observe_task *task)
{
	if (SEEDED_BUG(input->bug == DAEMON_BUG_FORGET_OLD) &&
		!environment_deployment_of(input->view, input->arena, instances->key,
			task->started_by))
		return false;
	return environment_owns(environment_name_of_key(instances->key), task);
}

/* Several versions may run this task. */
static bool runs(const struct store_object *version, const struct reconcile_input *input,
	const struct observe_task *task)
{
	return version && environment_version_runs(environment_version_facts(version), input->view,
				  input->arena, task);
}

static const struct store_object *assigned_version(const struct instances *instances,
	const struct reconcile_input *input, const struct store_object *placement)
{
	struct span id = placement ? environment_placement_facts(placement)->version : SPAN("");

	return id.length == 0 ? NULL
			      : store_get(input->view, &environment_version_kind,
					environment_child_key(input->arena, instances->key, id));
}

static enum fleet_version class_of_version(const struct instances *instances,
	const struct reconcile_input *input, const struct store_object *placement,
	const struct observe_task *task)
{
	if (runs(input->target, input, task))
		return FLEET_TARGET;
	if (runs(assigned_version(instances, input, placement), input, task))
		return FLEET_OLD;
	return FLEET_OTHER;
}

static enum fleet_assigned assigned_of(const struct instances *instances,
	const struct reconcile_input *input, const struct store_object *placement)
{
	const struct store_object *version = assigned_version(instances, input, placement);

	if (!version)
		return FLEET_ASSIGNED_NONE;
	return input->target && environment_version_makes_same(
					environment_version_facts(input->target),
					environment_version_facts(version))
		       ? FLEET_ASSIGNED_TARGET
		       : FLEET_ASSIGNED_OLD;
}

/* How long a task has to run before it counts as healthy. */
static int64_t warm_up_ms(const struct reconcile_input *input, const struct observe_task *task)
{
	int64_t least_ms = task->health == OBSERVE_HEALTH_NONE ? ROLLOUT_READY_MS : 0;
	int64_t requested_ms =
		input->target ? environment_version_facts(input->target)->warm_up_ms : 0;

	return requested_ms > least_ms ? requested_ms : least_ms;
}

static enum rollout_class class_of_task(const struct reconcile_input *input,
	const struct observe_task *task, int64_t *ret_again_ms)
{
	int64_t warm_ms = task->since_ms + warm_up_ms(input, task);

	if (SEEDED_BUG(input->bug == DAEMON_BUG_WALL_CLOCK))
		warm_ms = task->started_ms + warm_up_ms(input, task) + input->steady_ms -
			  input->now_ms;
	*ret_again_ms = 0;
	if (SEEDED_BUG(input->bug == DAEMON_BUG_DESIRED_HEALTHY))
		return ROLLOUT_HEALTHY;
	if (task->last < OBSERVE_TASK_RUNNING)
		return ROLLOUT_PENDING;
	if (task->health == OBSERVE_UNHEALTHY)
		return ROLLOUT_UNHEALTHY;
	if (task->health == OBSERVE_HEALTH_UNKNOWN || task->health == OBSERVE_HEALTH_UNSURE)
		return ROLLOUT_STARTING;
	if (warm_ms > input->steady_ms) {
		if (!SEEDED_BUG(input->bug == DAEMON_BUG_NO_WAKE))
			*ret_again_ms = warm_ms;
		return ROLLOUT_STARTING;
	}
	return ROLLOUT_HEALTHY;
}

bool env_instances_is_healthy(const struct reconcile_input *input, const struct observe_task *task)
{
	int64_t again_ms;

	return observe_task_stays(task) && class_of_task(input, task, &again_ms) == ROLLOUT_HEALTHY;
}

void env_instances_forget_expectation(struct instance_entry *entry)
{
	entry->expected = ENVIRONMENT_INTENT_none;
	entry->expected_until_ms = 0;
	free(TAKE(entry->expected_task));
}

static void set_expectation(const struct reconcile_input *input, struct instance_entry *entry,
	enum environment_intent intent, enum fleet_version version, struct span task)
{
	env_instances_forget_expectation(entry);
	entry->expected = intent;
	entry->expected_version = version;
	if (task.length > 0)
		entry->expected_task = memory_copy_string_n(task.data, task.length);
	if (intent == ENVIRONMENT_INTENT_start)
		entry->started = task.length > 0 ? span_hash(task) : 0;
	entry->expected_resource_version = observe_resource_version(input->state, entry->cluster);
}

void env_instances_expect(struct instances *instances, const struct reconcile_input *input,
	struct instance_entry *entry, enum environment_intent intent, enum fleet_version version,
	struct span task)
{
	(void)instances;
	set_expectation(input, entry, intent, version, task);
}

static bool is_requested_to_stop(const struct instance_entry *entry,
	const struct observe_task *task)
{
	return entry->expected == ENVIRONMENT_INTENT_stop &&
	       span_equal(task->arn, span_of(entry->expected_task));
}

/* Whether the moment is still ahead; then the instance is inspected again at that time. */
static bool lies_ahead(const struct inspection *inspection, int64_t at_ms)
{
	bool ahead = inspection->input->steady_ms < at_ms;

	recheck(inspection->entry, ahead ? at_ms : 0);
	return ahead;
}

static void report_state(struct inspection *inspection)
{
	const struct observe_instance *instance = inspection->instance;
	const struct environment_version_facts *target =
		inspection->input->target ? environment_version_facts(inspection->input->target)
					  : NULL;
	struct fleet_instance *now = &inspection->now;

	now->matches =
		target && environment_version_matches(target, inspection->entry->cluster, instance);
	if (!instance->connected) {
		now->state = ROLLOUT_INSTANCE_UNREACHABLE;
		/* Counts as unreachable for a while, and then not at all. */
		now->awaited = target &&
			       lies_ahead(inspection, instance->away_ms + target->unreachable_ms);
	} else if (map_has(&inspection->instances->unknown_refs, inspection->entry->cluster.text)) {
		now->state = ROLLOUT_INSTANCE_UNREACHABLE;
	} else if (instance->status == OBSERVE_INSTANCE_DRAINING) {
		now->state = ROLLOUT_INSTANCE_DRAINING;
	} else if (instance->status != OBSERVE_INSTANCE_ACTIVE) {
		now->state = ROLLOUT_INSTANCE_UNREACHABLE;
	}
}

static void report_tasks(struct inspection *inspection)
{
	struct fleet_instance *now = &inspection->now;
	enum fleet_version version;
	enum rollout_class class;
	bool unsure = false;

	for (size_t i = 0; i < inspection->instance->task_count; i++) {
		const struct observe_task *task = &inspection->instance->tasks[i];
		int64_t again_ms;

		if (!env_instances_owns(inspection->instances, inspection->input, task)) {
			now->others_left |=
				task->last < OBSERVE_TASK_STOPPED && !environment_owns_any(task);
			continue;
		}
		if (SEEDED_BUG(inspection->input->bug == DAEMON_BUG_START_EVERYWHERE) &&
			!runs(inspection->input->target, inspection->input, task))
			continue;
		if (!observe_task_stays(task) || is_requested_to_stop(inspection->entry, task)) {
			now->stopping++;
			continue;
		}
		version = class_of_version(inspection->instances, inspection->input,
			inspection->placement, task);
		class = class_of_task(inspection->input, task, &again_ms);
		/* It is not known yet whether it is warm. */
		unsure |= version != FLEET_TARGET && (task->health == OBSERVE_HEALTH_UNSURE ||
							     (again_ms > 0 && task->is_doubtful));
		now->tasks[version][class]++;
		recheck(inspection->entry, again_ms);
	}
	/* Without a possible action it does not matter. */
	inspection->unsure = unsure && now->state != ROLLOUT_INSTANCE_UNREACHABLE;
}

/* Other tasks get a limited time to leave a draining instance before ours. */
static void report_draining(struct inspection *inspection)
{
	const struct store_object *target = inspection->input->target;
	struct instance_entry *entry = inspection->entry;

	if (inspection->now.state != ROLLOUT_INSTANCE_DRAINING) {
		entry->draining_ms = 0;
		return;
	}
	if (entry->draining_ms == 0)
		entry->draining_ms = inspection->input->steady_ms;
	if (inspection->now.others_left && target)
		inspection->now.others_left = lies_ahead(inspection,
			entry->draining_ms + environment_version_facts(target)->drain_timeout_ms);
}

/* ---- expectations ---- */

/* Of its placement: since when the intent is recorded, and until when a refused call waits. */
static int64_t intended_ms(const struct inspection *inspection)
{
	return recorded_moment(&inspection->entry->intended, inspection->input,
		environment_placement_facts(inspection->placement)->intent_ms, 0);
}

static int64_t refused_until_ms(const struct inspection *inspection)
{
	return recorded_moment(&inspection->entry->refused_until, inspection->input,
		environment_placement_facts(inspection->placement)->until_ms,
		PLACEMENT_REFUSED_MOST_MS);
}

static unsigned count_tasks(const struct fleet_instance *now)
{
	unsigned count = 0;

	for (unsigned v = 0; v < FLEET_VERSION_COUNT; v++)
		for (unsigned c = 0; c < ROLLOUT_CLASS_COUNT; c++)
			count += now->tasks[v][c];
	return count;
}

/* The intent is fulfilled: the deployment's task exists, or the task to stop does not. */
static bool is_done(const struct inspection *inspection,
	const struct environment_placement_facts *placement)
{
	for (size_t i = 0; i < inspection->instance->task_count; i++) {
		const struct observe_task *task = &inspection->instance->tasks[i];

		if (placement->intent == ENVIRONMENT_INTENT_stop) {
			if (span_equal(task->arn, placement->task) && observe_task_stays(task))
				return false;
		} else if (span_equal(task->started_by, placement->deployment)) {
			return true;
		}
	}
	return placement->intent == ENVIRONMENT_INTENT_stop;
}

/* A call of the server before to a remote ECS may still be on its way: nothing is decided until a listing that began after
 * its arrival is complete. The time of the intent is by that server's clock, so the wait counts from now. */
static void recover_expectation(struct inspection *inspection)
{
	const struct environment_placement_facts *placement =
		inspection->placement ? environment_placement_facts(inspection->placement) : NULL;
	struct instance_entry *entry = inspection->entry;
	bool first = !entry->was_inspected;

	/* The state from before the claim was acquired does not include all earlier calls. */
	if (!env_instances_is_caught_up_at(inspection->instances, entry->cluster))
		return;
	entry->was_inspected = true;
	if (!first || !placement || placement->intent == ENVIRONMENT_INTENT_none ||
		SEEDED_BUG(inspection->input->bug == DAEMON_BUG_FORGET_SENT) ||
		entry->expected != ENVIRONMENT_INTENT_none ||
		!cluster_ref_is_remote(entry->cluster) || is_done(inspection, placement))
		return;
	set_expectation(inspection->input, entry, placement->intent,
		inspection->now.assigned == FLEET_ASSIGNED_OLD ? FLEET_OLD : FLEET_TARGET,
		placement->task);
	entry->expected_resource_version +=
		(uint64_t)REMOTE_MS; /* resource versions of remote clusters are milliseconds */
}

/* The started task was observed to stop: such an event is newer than a listing. */
static bool has_ended_again(const struct inspection *inspection)
{
	const struct instance_entry *entry = inspection->entry;
	const struct observe_task *task;

	if (entry->expected != ENVIRONMENT_INTENT_start || !entry->expected_task)
		return false;
	task = observe_get_task(inspection->input->state, entry->cluster,
		span_of(entry->expected_task), inspection->input->arena);
	return task && task->last == OBSERVE_TASK_STOPPED;
}

/* A call counts as under way until the observer must have seen its result. Runs before the tasks are counted, because the
 * expectation decides how they count. */
static void settle_expectation(struct inspection *inspection)
{
	struct instance_entry *entry = inspection->entry;

	if (entry->expected == ENVIRONMENT_INTENT_none)
		return;
	if (SEEDED_BUG(inspection->input->bug == DAEMON_BUG_FORGET_ASKED) ||
		(!lies_ahead(inspection, entry->expected_until_ms) &&
			(has_ended_again(inspection) ||
				observe_reaches_for(inspection->input->state, entry->cluster,
					entry->id, inspection->instances->group,
					entry->expected_resource_version)))) {
		env_instances_forget_expectation(entry);
		return;
	}
	recheck(entry, inspection->input->steady_ms + 1000);
}

static void report_expectation(struct inspection *inspection)
{
	const struct instance_entry *entry = inspection->entry;
	unsigned *tasks = inspection->now.tasks[entry->expected_version];

	if (entry->expected == ENVIRONMENT_INTENT_start && !tasks[ROLLOUT_PENDING] &&
		!tasks[ROLLOUT_STARTING] && !tasks[ROLLOUT_HEALTHY] && !tasks[ROLLOUT_UNHEALTHY])
		tasks[ROLLOUT_PENDING]++;
}

static bool is_there(const struct inspection *inspection, struct span task)
{
	for (size_t i = 0; i < inspection->instance->task_count; i++)
		if (span_equal(inspection->instance->tasks[i].arn, task))
			return true;
	return false;
}

/* Whether the next start waits: the first crash is repeated at once, then with a growing delay; a refused start is repeated
 * after a delay. */
static void report_blocker(struct inspection *inspection)
{
	const struct environment_placement_facts *placement;
	enum rollout_blocker blocker = ROLLOUT_BLOCKER_NONE;
	int64_t until_ms;

	if (!inspection->placement)
		return;
	placement = environment_placement_facts(inspection->placement);
	if (placement->until_ms > 0) {
		until_ms = refused_until_ms(inspection);
		blocker = placement->refused_for_room ? ROLLOUT_RESOURCES : ROLLOUT_PLACEMENT;
	} else if (env_instances_was_unhealthy(placement) &&
		   is_there(inspection, placement->task)) {
		return; /* the unhealthy task stops first */
	} else {
		until_ms = env_instances_crash_backoff_ms(inspection->instances, inspection->input,
			inspection->entry, placement);
		blocker = ROLLOUT_BACKOFF;
	}
	if (!lies_ahead(inspection, until_ms))
		return;
	if (inspection->now.assigned == FLEET_ASSIGNED_OLD)
		inspection->now.old_blocker = blocker;
	else
		inspection->now.blocker = blocker;
}

static void report_hanging(struct inspection *inspection)
{
	const struct environment_placement_facts *placement =
		inspection->placement ? environment_placement_facts(inspection->placement) : NULL;
	int64_t hangs_ms;

	if (!inspection->now.stopping || !placement || placement->intent != ENVIRONMENT_INTENT_stop)
		return;
	hangs_ms = intended_ms(inspection) + ENV_INSTANCES_HANGS_MS;
	inspection->now.hangs = hangs_ms <= inspection->input->steady_ms ||
				refused_until_ms(inspection) > inspection->input->steady_ms;
	recheck(inspection->entry, inspection->now.hangs ? 0 : hangs_ms);
}

static unsigned count_starting(const struct fleet_instance *now)
{
	unsigned count = 0;

	for (unsigned v = 0; v < FLEET_VERSION_COUNT; v++)
		count += now->tasks[v][ROLLOUT_PENDING] + now->tasks[v][ROLLOUT_STARTING];
	return count;
}

/* The instance should have a healthy task, and has had none since a start failed. It stays so until a task is healthy:
 * otherwise each new attempt would be reported as a recovery. A first crash does not count; it is repeated at once. */
static enum instance_failure trouble_of(const struct inspection *inspection)
{
	const struct environment_placement_facts *placement =
		inspection->placement ? environment_placement_facts(inspection->placement) : NULL;
	const struct fleet_instance *now = &inspection->now;
	unsigned count = count_tasks(now);
	bool unhealthy = placement && env_instances_was_unhealthy(placement);

	if (!placement || placement->failures == 0 ||
		((now->stopping || placement->intent == ENVIRONMENT_INTENT_stop) && !unhealthy) ||
		now->state != ROLLOUT_INSTANCE_ACTIVE || !now->matches)
		return INSTANCE_FAILURE_NONE;
	if (count > 0)
		return count_starting(now) == count ? INSTANCE_FAILURE_LAUNCHING
						    : INSTANCE_FAILURE_NONE;
	/* A task that stopped after running for long is no failed start. */
	if (placement->until_ms == 0 && !unhealthy &&
		!env_instances_has_crashed(inspection->instances, inspection->input,
			inspection->entry, placement))
		return INSTANCE_FAILURE_NONE;
	return INSTANCE_FAILURE_MISSING;
}

void env_instances_observe(const struct instances *instances, const struct reconcile_input *input,
	struct instance_entry *entry, struct env_instances_observed *ret_seen)
{
	struct inspection inspection = {.instances = instances, .input = input, .entry = entry};

	entry->seen = observe_seen(input->state,
		entry->cluster); /* read before the instance, whose state includes at least this */
	inspection.instance = observe_get_instance_for(input->state, entry->cluster, entry->id,
		environment_group(input->arena, environment_name_of_key(instances->key)),
		input->arena);
	inspection.placement = env_instances_placement(instances, input, entry);
	entry->again_ms = 0;
	inspection.now.state = ROLLOUT_INSTANCE_GONE;
	inspection.now.assigned = assigned_of(instances, input, inspection.placement);
	if (inspection.instance) {
		if (entry->seen == 0)
			entry->seen = inspection.instance->version;
		inspection.now.state = ROLLOUT_INSTANCE_ACTIVE;
		report_state(&inspection);
		recover_expectation(&inspection);
		settle_expectation(&inspection);
		report_tasks(&inspection);
		report_draining(&inspection);
		report_expectation(&inspection);
		entry->is_bare = count_tasks(&inspection.now) == 0 && !inspection.now.stopping &&
				 entry->expected == ENVIRONMENT_INTENT_none;
		report_blocker(&inspection);
		report_hanging(&inspection);
	}
	*ret_seen = (struct env_instances_observed){.now = inspection.now,
		.instance = inspection.instance,
		.trouble = trouble_of(&inspection),
		.is_unsure = inspection.unsure,
		.concerns_us = inspection.now.matches || inspection.placement ||
			       inspection.now.stopping || count_tasks(&inspection.now) > 0};
}

const struct observe_task *env_instances_find_task(const struct instances *instances,
	const struct reconcile_input *input, const struct instance_entry *entry,
	enum fleet_version version, enum rollout_class class, struct arena *arena)
{
	const struct observe_instance *instance =
		observe_get_instance_for(input->state, entry->cluster, entry->id,
			environment_group(arena, environment_name_of_key(instances->key)), arena);
	const struct store_object *placement = env_instances_placement(instances, input, entry);

	for (size_t i = 0; instance && i < instance->task_count; i++) {
		const struct observe_task *task = &instance->tasks[i];
		int64_t again_ms;

		if (env_instances_owns(instances, input, task) && observe_task_stays(task) &&
			!is_requested_to_stop(entry, task) &&
			class_of_version(instances, input, placement, task) == version &&
			class_of_task(input, task, &again_ms) == class)
			return task;
	}
	return NULL;
}
