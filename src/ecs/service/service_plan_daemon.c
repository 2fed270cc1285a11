/*
 * DAEMON services: one task on every instance that matches. The plan walks the instances, because
 * each has its own match, room and tasks.
 */
#include "base/seeded_bug.h"
#include "ecs/placement/placement_internal.h"
#include "ecs/record/container_instance.h"
#include "ecs/service/service_work.h"

struct plan {
	struct service_work *work;
	struct service_launch *launch;
	bool waits; /* no task may be started now: crash loop, or a deployment that failed */
	bool rolls; /* tasks of older deployments are to be replaced */
	const struct store_object **objects;
	struct rollout_instance *instances;
	size_t count;
};

static struct store_cursor tasks_on(struct service_work *work, const struct store_object *instance,
	struct span service)
{
	return (struct store_cursor){.view = service_head(work),
		.kind = &task_kind,
		.index = TASK_BY_INSTANCE,
		.prefix = arena_format(work->arena, "%.*s/live/%.*s", SPAN_ARGS(instance->key),
			SPAN_ARGS(service)),
		.exact = service.length > 0};
}

/* ---- reading ---- */

static enum rollout_version version_of(struct service_work *work, const struct task_facts *task)
{
	struct span number = work->primary->number;

	return task->deployment.length == sizeof(SERVICE_DEPLOYMENT_PREFIX) - 1 + number.length &&
			       span_ends_with(task->deployment, number)
		       ? ROLLOUT_CURRENT
		       : ROLLOUT_OLD;
}

static enum rollout_class class_of(const struct plan *plan, const struct task_facts *task)
{
	struct service_work *work = plan->work;
	bool young = task->started_ms + work->facts.grace_ms > work->now_ms;

	switch (task_class_of(task)) {
	case TASK_CLASS_PENDING: return ROLLOUT_PENDING;
	case TASK_CLASS_STARTING: return ROLLOUT_STARTING;
	case TASK_CLASS_UNHEALTHY: return young ? ROLLOUT_STARTING : ROLLOUT_UNHEALTHY;
	default:
		return plan->rolls && version_of(work, task) == ROLLOUT_CURRENT &&
				       service_task_is_unproven(work, task)
			       ? ROLLOUT_STARTING
			       : ROLLOUT_HEALTHY;
	}
}

static void inspect_tasks(struct plan *plan, const struct store_object *object,
	struct rollout_instance *instance)
{
	struct service_work *work = plan->work;
	struct store_cursor cursor = tasks_on(work, object, work->facts.name);
	const struct store_object *task;

	while ((task = store_next(&cursor))) {
		const struct task_facts *facts = task_facts(task);
		enum rollout_class class = class_of(plan, facts);

		if (facts->desired == TASK_STOPPED) {
			instance->stopping++;
			continue;
		}
		instance->tasks[version_of(work, facts)][class]++;
		if (task_class_of(facts) == TASK_CLASS_UNHEALTHY && class == ROLLOUT_STARTING)
			service_again_at(work, facts->started_ms + work->facts.grace_ms);
	}
}

/* Daemons are the last to leave a draining instance. */
static bool others_are_left(struct service_work *work, const struct store_object *object)
{
	struct store_cursor cursor = tasks_on(work, object, SPAN(""));
	const struct store_object *task;

	while ((task = store_next(&cursor)))
		if (!task_facts(task)->daemon)
			return true;
	return false;
}

static bool has_current(const struct rollout_instance *instance)
{
	for (size_t i = 0; i < ROLLOUT_CLASS_COUNT; i++)
		if (instance->tasks[ROLLOUT_CURRENT][i] > 0)
			return true;
	return false;
}

static bool has_tasks(const struct rollout_instance *instance)
{
	for (size_t i = 0; i < ROLLOUT_CLASS_COUNT; i++)
		if (instance->tasks[ROLLOUT_OLD][i] > 0)
			return true;
	return has_current(instance);
}

static void inspect(struct plan *plan, const struct store_object *object,
	struct rollout_instance *instance)
{
	struct service_work *work = plan->work;
	struct placement *placement = service_launch_placement(plan->launch);
	const struct container_instance_facts *facts = container_instance_facts(object);
	struct placement_failure failure;

	instance->state = facts->status == CONTAINER_INSTANCE_DRAINING ? ROLLOUT_INSTANCE_DRAINING
			  : facts->connected                           ? ROLLOUT_INSTANCE_ACTIVE
					     : ROLLOUT_INSTANCE_UNREACHABLE;
	arena_reset(placement->scratch);
	instance->matches = !placement_match(placement, service_head(work), object);
	inspect_tasks(plan, object, instance);
	if (instance->state == ROLLOUT_INSTANCE_DRAINING)
		instance->others_left = others_are_left(work, object);
	/* The end of another service's task does not queue this one, so poll. */
	if (instance->others_left && has_tasks(instance))
		service_again_at(work, work->now_ms + SERVICE_DAEMON_RETRY_MS);
	if (plan->waits) {
		instance->blocker = ROLLOUT_BACKOFF;
	} else if (instance->matches && instance->state == ROLLOUT_INSTANCE_ACTIVE &&
		   !has_current(instance) &&
		   !placement_fits(placement, service_head(work), object, true, &failure)) {
		instance->blocker = span_starts_with(failure.reason, SPAN("RESOURCE:"))
					    ? ROLLOUT_RESOURCES
					    : ROLLOUT_PLACEMENT;
		work->failure = failure;
	}
}

static void count_parts(struct plan *plan)
{
	struct service_work *work = plan->work;

	for (size_t i = 0; i < work->part_count; i++) {
		struct service_component *component = &work->parts[i];
		int64_t counts[TASK_CLASS_COUNT];

		service_count_tasks(service_head(work), work->key, component->number, counts);
		component->live = 0;
		for (size_t class = 0; class < TASK_CLASS_COUNT; class ++)
			component->live += counts[class];
		plan->rolls |= component != work->primary && component->live > 0;
	}
}

static void inspect_all(struct plan *plan)
{
	struct service_work *work = plan->work;
	struct store_cursor cursor = {.view = service_head(work),
		.kind = &container_instance_kind,
		.index = -1,
		.prefix =
			arena_format(work->arena, "%.*s/", SPAN_ARGS(task_cluster_key(work->key)))};
	size_t most = store_count(cursor.view, cursor.kind, -1, cursor.prefix, false);
	const struct store_object *object;

	plan->objects = arena_allocate_array(work->arena, most + 1, sizeof(*plan->objects));
	plan->instances = arena_allocate_array(work->arena, most + 1, sizeof(*plan->instances));
	while (plan->count < most && (object = store_next(&cursor))) {
		plan->objects[plan->count] = object;
		inspect(plan, object, &plan->instances[plan->count++]);
	}
}

/* ---- acting ---- */

static struct service_component *part_of(struct service_work *work, const struct task_facts *task)
{
	for (size_t i = 0; i < work->part_count; i++)
		if (span_ends_with(task->deployment, work->parts[i].number))
			return &work->parts[i];
	return NULL;
}

static int stop_one(struct plan *plan, const struct rollout_instance_action *action,
	struct err *err)
{
	struct service_work *work = plan->work;
	struct store_cursor cursor =
		tasks_on(work, plan->objects[action->instance], work->facts.name);
	const struct store_object *task;

	while ((task = store_next(&cursor))) {
		const struct task_facts *facts = task_facts(task);

		if (facts->desired == TASK_RUNNING && version_of(work, facts) == action->version &&
			class_of(plan, facts) == action->class)
			return service_stop_task(work, part_of(work, facts), task,
				action->class == ROLLOUT_UNHEALTHY, err);
	}
	return 0;
}

static int act(struct plan *plan, const struct rollout_instance_action *action, struct err *err)
{
	struct service_work *work = plan->work;
	bool placed;

	if (action->type == ROLLOUT_START) {
		if (work->started.count < SERVICE_STARTS_MAX)
			return service_launch_start(work, plan->launch,
				plan->objects[action->instance], &placed, err);
	} else if (work->stopped.count < SERVICE_STOPS_MAX) {
		return stop_one(plan, action, err);
	}
	service_again_at(work, work->now_ms);
	return 0;
}

int service_plan_daemon(struct service_work *work, bool frozen, struct err *err)
{
	_launch_ struct service_launch *launch = NULL;
	struct plan plan = {.work = work, .waits = frozen};
	struct rollout_instances instances = {
		.minimum_healthy_percent = (unsigned)work->facts.minimum_healthy,
		.maximum_percent = (unsigned)work->facts.maximum,
	};
	const struct service_control *control = work->control;
	int64_t backoff_ms = service_component_backoff(work, work->primary);
	struct rollout_instance_plan todo;
	int code = service_launch_open(work, work->primary, &launch, err);

	if (code < 0 || !launch)
		return code;
	plan.launch = launch;
	if (SEEDED_BUG(control && control->bug_ignore_minimum))
		instances.minimum_healthy_percent = 0;
	if (backoff_ms > 0) {
		plan.waits = true;
		service_again_at(work, backoff_ms);
	}
	count_parts(&plan);
	inspect_all(&plan);
	instances.instances = plan.instances;
	instances.count = plan.count;
	rollout_plan_instances(&instances, work->arena, &todo);
	for (size_t i = 0; code == 0 && i < todo.action_count; i++)
		if (service_is_group(work)
				? todo.actions[i].type == ROLLOUT_STOP &&
					  todo.actions[i].class == ROLLOUT_UNHEALTHY
				: !frozen || !plan.instances[todo.actions[i].instance].matches)
			code = act(&plan, &todo.actions[i], err);
	if (code < 0)
		return code;
	if (work->facts.desired != (int64_t)todo.wanted) {
		work->facts.desired = todo.wanted;
		work->changed = true;
	}
	if (!service_is_group(work) && (todo.blocked == ROLLOUT_BLOCKED_RESOURCES ||
					       todo.blocked == ROLLOUT_BLOCKED_PLACEMENT)) {
		work->unplaced = true;
		service_again_at(work, work->now_ms + SERVICE_PLACEMENT_RETRY_MS);
	}
	work->stuck = todo.blocked == ROLLOUT_BLOCKED_NO_ROOM;
	work->complete = todo.complete;
	work->steady = todo.steady;
	return 0;
}
