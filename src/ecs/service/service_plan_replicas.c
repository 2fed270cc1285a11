/*
 * REPLICA services, and task sets: how many tasks there are of each deployment and how far they are
 * (counts from the index, so it costs the same for three tasks and for a hundred thousand), the
 * planner's actions, and the choice of tasks for an action such as "stop two of these".
 *
 * Tasks are walked only where a count is not enough: unhealthy ones in their grace period,
 * protected ones, those on draining instances, and those among which some are chosen to stop.
 */
#include <limits.h>

#include "base/memory.h"
#include "base/seeded_bug.h"
#include "ecs/record/container_instance.h"
#include "ecs/service/service_work.h"

#define VICTIMS_SCAN_MAX 1000 /* tasks among which those to stop are chosen */
#define UNHEALTHY_SCAN_MAX 1000
#define UNPROVEN_SCAN_MAX 1000

static const enum task_class class_of_class[ROLLOUT_CLASS_COUNT] = {
	[ROLLOUT_PENDING] = TASK_CLASS_PENDING,
	[ROLLOUT_STARTING] = TASK_CLASS_STARTING,
	[ROLLOUT_HEALTHY] = TASK_CLASS_HEALTHY,
	[ROLLOUT_UNHEALTHY] = TASK_CLASS_UNHEALTHY,
};

/* A task on a draining instance. */
struct moving {
	const struct store_object *task;
	size_t group;
	enum rollout_class class;
	bool protected;
};

struct plan {
	struct service_work *work;
	struct service_component *parts;
	size_t count, target;
	struct rollout_replica_group *groups;
	struct moving *moving;
	size_t moving_count, moving_room;
	struct rollout_replicas replicas;
	bool rolls;           /* tasks of older deployments are to be replaced */
	unsigned stops_left;  /* of this transaction */
	unsigned excess_left; /* frozen: only the excess is stopped */
};

/* Head, as the changes so far have left it. */
static const struct store_view *view_of(const struct plan *plan)
{
	const struct service_work *work = plan->work;

	return SEEDED_BUG(work->control && work->control->bug_stale_counts && work->view)
		       ? work->view
		       : service_head(work);
}

static bool in_grace(struct service_work *work, const struct task_facts *task)
{
	return work->facts.grace_ms > 0 && task->started_ms + work->facts.grace_ms > work->now_ms;
}

static bool is_unproven(const struct plan *plan, const struct task_facts *task)
{
	return plan->rolls && task_class_of(task) == TASK_CLASS_HEALTHY &&
	       service_task_is_unproven(plan->work, task);
}

/* For a live task with desired status RUNNING. */
static enum rollout_class class_of(const struct plan *plan, const struct task_facts *task)
{
	switch (task_class_of(task)) {
	case TASK_CLASS_PENDING: return ROLLOUT_PENDING;
	case TASK_CLASS_STARTING: return ROLLOUT_STARTING;
	case TASK_CLASS_UNHEALTHY:
		return in_grace(plan->work, task) ? ROLLOUT_STARTING : ROLLOUT_UNHEALTHY;
	default: return is_unproven(plan, task) ? ROLLOUT_STARTING : ROLLOUT_HEALTHY;
	}
}

static bool is_protected(struct service_work *work, const struct task_facts *task)
{
	return task->protected_until_ms > work->now_ms;
}

/* Not to be stopped now. A task that is not proven yet allows no other to be stopped, but it runs,
 * and may be the one that keeps the service up. */
static bool is_kept(const struct plan *plan, const struct task_facts *task)
{
	return is_protected(plan->work, task) || is_unproven(plan, task);
}

static struct store_cursor cursor_of(struct plan *plan, size_t group, enum task_class class)
{
	return (struct store_cursor){.view = view_of(plan),
		.kind = &task_kind,
		.index = TASK_BY_SERVICE,
		.prefix = arena_format(plan->work->arena,
			"%.*s/live/" SERVICE_DEPLOYMENT_PREFIX "%.*s/%c",
			SPAN_ARGS(plan->work->key), SPAN_ARGS(plan->parts[group].number),
			task_class_letters[class]),
		.exact = true};
}

/* ---- counting ---- */

/* Unhealthy tasks in their grace period count as starting until it ends. */
static void excuse_young(struct plan *plan, size_t group)
{
	struct rollout_replica_group *counts = &plan->groups[group];
	struct store_cursor cursor = cursor_of(plan, group, TASK_CLASS_UNHEALTHY);
	const struct store_object *task;

	if (plan->work->facts.grace_ms == 0 ||
		counts->tasks[ROLLOUT_UNHEALTHY][ROLLOUT_STAYS].count == 0)
		return;
	for (unsigned i = 0; i < UNHEALTHY_SCAN_MAX && (task = store_next(&cursor)); i++) {
		if (!in_grace(plan->work, task_facts(task)))
			continue;
		counts->tasks[ROLLOUT_UNHEALTHY][ROLLOUT_STAYS].count--;
		counts->tasks[ROLLOUT_STARTING][ROLLOUT_STAYS].count++;
		service_again_at(plan->work,
			task_facts(task)->started_ms + plan->work->facts.grace_ms);
	}
}

/* Tasks that have just started count as starting as long as they replace others. */
static void doubt_unproven(struct plan *plan, size_t group)
{
	struct rollout_replica_group *counts = &plan->groups[group];
	struct store_cursor cursor = cursor_of(plan, group, TASK_CLASS_HEALTHY);
	const struct store_object *task;

	if (!plan->rolls)
		return;
	for (unsigned i = 0; i < UNPROVEN_SCAN_MAX && (task = store_next(&cursor)); i++)
		if (is_unproven(plan, task_facts(task))) {
			counts->tasks[ROLLOUT_HEALTHY][ROLLOUT_STAYS].count--;
			counts->tasks[ROLLOUT_STARTING][ROLLOUT_STAYS].count++;
			/* Protected ones are counted below. */
			counts->tasks[ROLLOUT_STARTING][ROLLOUT_STAYS].protected +=
				!is_protected(plan->work, task_facts(task));
		}
}

static void count_group(struct plan *plan, size_t group)
{
	int64_t counts[TASK_CLASS_COUNT];
	struct service_component *component = &plan->parts[group];

	service_count_tasks(view_of(plan), plan->work->key, component->number, counts);
	component->live = 0;
	for (size_t i = 0; i < TASK_CLASS_COUNT; i++)
		component->live += counts[i];
	for (size_t i = 0; i < ROLLOUT_CLASS_COUNT; i++)
		plan->groups[group].tasks[i][ROLLOUT_STAYS].count =
			(unsigned)counts[class_of_class[i]];
	plan->groups[group].stopping = (unsigned)counts[TASK_CLASS_STOPPING];
	if (SEEDED_BUG(plan->work->control && plan->work->control->bug_count_running))
		plan->groups[group].tasks[ROLLOUT_PENDING][ROLLOUT_STAYS].count = 0;
	excuse_young(plan, group);
}

static bool find_group(const struct plan *plan, const struct task_facts *task, size_t *ret_group)
{
	size_t prefix = sizeof(SERVICE_DEPLOYMENT_PREFIX) - 1;

	for (size_t i = 0; i < plan->count; i++)
		if (task->deployment.length == prefix + plan->parts[i].number.length &&
			span_ends_with(task->deployment, plan->parts[i].number)) {
			*ret_group = i;
			return true;
		}
	return false;
}

static void add_moving(struct plan *plan, struct moving moving)
{
	if (plan->moving_count == plan->moving_room) {
		size_t room = plan->moving_room ? plan->moving_room * 2 : 16;
		struct moving *larger =
			arena_allocate_array(plan->work->arena, room, sizeof(*larger));

		if (plan->moving_count > 0)
			memcpy(larger, plan->moving, plan->moving_count * sizeof(*larger));
		plan->moving = larger;
		plan->moving_room = room;
	}
	plan->moving[plan->moving_count++] = moving;
}

static void count_moving_on(struct plan *plan, const struct store_object *instance)
{
	struct service_work *work = plan->work;
	struct store_cursor cursor = {.view = view_of(plan),
		.kind = &task_kind,
		.index = TASK_BY_INSTANCE,
		.prefix = arena_format(work->arena, "%.*s/live/%.*s", SPAN_ARGS(instance->key),
			SPAN_ARGS(work->facts.name)),
		.exact = true};
	const struct store_object *task;

	while ((task = store_next(&cursor))) {
		const struct task_facts *facts = task_facts(task);
		struct moving moving = {.task = task};

		if (facts->desired == TASK_STOPPED || !find_group(plan, facts, &moving.group))
			continue;
		moving.class = class_of(plan, facts);
		moving.protected = is_kept(plan, facts) && moving.class != ROLLOUT_UNHEALTHY;
		plan->groups[moving.group].tasks[moving.class][ROLLOUT_STAYS].count--;
		plan->groups[moving.group].tasks[moving.class][ROLLOUT_STAYS].protected -=
			is_unproven(plan, facts) && !is_protected(work, facts);
		plan->groups[moving.group].tasks[moving.class][ROLLOUT_MOVES].count++;
		plan->groups[moving.group].tasks[moving.class][ROLLOUT_MOVES].protected +=
			moving.protected;
		add_moving(plan, moving);
	}
}

static void count_moving(struct plan *plan)
{
	struct store_cursor cursor = {.view = view_of(plan),
		.kind = &container_instance_kind,
		.index = CONTAINER_INSTANCE_BY_STATUS,
		.prefix = arena_format(plan->work->arena, "%.*s/%s",
			SPAN_ARGS(task_cluster_key(plan->work->key)),
			container_instance_status_name(CONTAINER_INSTANCE_DRAINING)),
		.exact = true};
	const struct store_object *instance;

	plan->moving_count = 0;
	while ((instance = store_next(&cursor)))
		count_moving_on(plan, instance);
}

static bool is_moving(const struct plan *plan, const struct store_object *task)
{
	for (size_t i = 0; i < plan->moving_count; i++)
		if (span_equal(plan->moving[i].task->key, task->key))
			return true;
	return false;
}

/* Tasks that stay; moving ones were counted above. Protection does not save an unhealthy task. */
static void count_protected(struct plan *plan, size_t group)
{
	struct service_work *work = plan->work;
	struct store_cursor cursor = {.view = view_of(plan),
		.kind = &task_kind,
		.index = TASK_BY_PROTECTED,
		.prefix = arena_format(work->arena, "%.*s/" SERVICE_DEPLOYMENT_PREFIX "%.*s",
			SPAN_ARGS(work->key), SPAN_ARGS(plan->parts[group].number)),
		.exact = true};
	const struct store_object *task;

	while ((task = store_next(&cursor))) {
		const struct task_facts *facts = task_facts(task);
		enum rollout_class class = class_of(plan, facts);

		if (!is_protected(work, facts) || facts->desired == TASK_STOPPED)
			continue;
		service_again_at(work, facts->protected_until_ms);
		if (class != ROLLOUT_UNHEALTHY && !is_moving(plan, task))
			plan->groups[group].tasks[class][ROLLOUT_STAYS].protected ++;
	}
}

static void count_all(struct plan *plan)
{
	memset(plan->groups, 0, plan->count * sizeof(*plan->groups));
	plan->rolls = false;
	for (size_t i = 0; i < plan->count; i++) {
		count_group(plan, i);
		plan->rolls |= i != plan->target && plan->parts[i].live > 0;
	}
	for (size_t i = 0; i < plan->count; i++)
		doubt_unproven(plan, i);
	count_moving(plan);
	for (size_t i = 0; i < plan->count; i++)
		count_protected(plan, i);
}

/* ---- starting ---- */

static int start_tasks(struct plan *plan, unsigned count, struct err *err)
{
	struct service_work *work = plan->work;
	_launch_ struct service_launch *launch = NULL;
	bool placed = true;
	int code;

	if (!service_may_write(work))
		return SERVICE_DUE;
	code = service_launch_open(work, &plan->parts[plan->target], &launch, err);
	if (code < 0 || !launch)
		return code;
	for (unsigned i = 0; placed && i < count; i++) {
		if (work->started.count == SERVICE_STARTS_MAX) {
			service_again_at(work, work->now_ms);
			break;
		}
		code = service_launch_start(work, launch, NULL, &placed, err);
		if (code < 0)
			return code;
	}
	return 0;
}

/* ---- stopping ---- */

struct victim {
	const struct store_object *task;
	size_t instance; /* a number for it */
	bool taken;
};

static int newest_first(const void *a, const void *b)
{
	const struct victim *one = a, *other = b;
	int64_t one_ms = task_facts(one->task)->created_ms;
	int64_t other_ms = task_facts(other->task)->created_ms;

	if (one_ms != other_ms)
		return one_ms < other_ms ? 1 : -1;
	return span_compare(one->task->key, other->task->key);
}

static size_t collect_moving(struct plan *plan, const struct rollout_replica_action *action,
	struct victim *victims)
{
	size_t count = 0;

	for (size_t i = 0; i < plan->moving_count && count < VICTIMS_SCAN_MAX; i++) {
		const struct moving *moving = &plan->moving[i];

		if (moving->group == action->group && moving->class == action->class &&
			!moving->protected)
			victims[count++].task = moving->task;
	}
	return count;
}

static size_t collect_class(struct plan *plan, const struct rollout_replica_action *action,
	enum task_class class, struct victim *victims, size_t count)
{
	struct store_cursor cursor = cursor_of(plan, action->group, class);
	const struct store_object *task;

	while (count < VICTIMS_SCAN_MAX && (task = store_next(&cursor))) {
		const struct task_facts *facts = task_facts(task);

		if (class_of(plan, facts) == action->class && !is_moving(plan, task) &&
			(action->class == ROLLOUT_UNHEALTHY || !is_kept(plan, facts)))
			victims[count++].task = task;
	}
	return count;
}

static size_t collect_victims(struct plan *plan, const struct rollout_replica_action *action,
	struct victim *victims)
{
	size_t count = 0;

	if (action->place == ROLLOUT_MOVES)
		return collect_moving(plan, action, victims);
	count = collect_class(plan, action, class_of_class[action->class], victims, count);
	/* Some that are counted as starting are indexed under their future class. */
	if (action->class == ROLLOUT_STARTING)
		count = collect_class(plan, action, TASK_CLASS_UNHEALTHY, victims, count);
	return count;
}

/* Gives each instance a number; returns how many there are. */
static size_t number_instances(struct victim *victims, size_t count)
{
	_map_ struct map numbers = {0};

	for (size_t i = 0; i < count; i++) {
		struct span instance = task_facts(victims[i].task)->instance;
		uintptr_t number = (uintptr_t)map_get(&numbers, instance);

		if (number == 0) {
			number = numbers.count + 1;
			map_put(&numbers, instance, (void *)number);
		}
		victims[i].instance = number - 1;
	}
	return numbers.count;
}

/* The next to stop: on the instance with the most of them, the newest (they are in that order). */
static struct victim *most_crowded(struct victim *victims, size_t count, const unsigned *crowds)
{
	struct victim *best = NULL;

	for (size_t i = 0; i < count; i++)
		if (!victims[i].taken &&
			(!best || crowds[victims[i].instance] > crowds[best->instance]))
			best = &victims[i];
	return best;
}

static int stop_tasks(struct plan *plan, const struct rollout_replica_action *action,
	struct err *err)
{
	struct service_work *work = plan->work;
	struct victim *victims;
	unsigned *crowds, wanted = action->count;
	size_t count;
	/* Scaling in evens out over instances; otherwise the newest stop first. */
	bool evens = action->group == plan->target && action->class == ROLLOUT_HEALTHY &&
		     action->place == ROLLOUT_STAYS;

	if (wanted > plan->excess_left)
		wanted = plan->excess_left;
	if (wanted > plan->stops_left)
		service_again_at(work, work->now_ms);
	if (wanted > plan->stops_left)
		wanted = plan->stops_left;
	if (wanted == 0)
		return 0;
	if (!service_may_write(work))
		return SERVICE_DUE;
	victims = arena_allocate_array(work->arena, VICTIMS_SCAN_MAX, sizeof(*victims));
	count = collect_victims(plan, action, victims);
	qsort(victims, count, sizeof(*victims), newest_first);
	crowds = arena_allocate_array(work->arena, number_instances(victims, count) + 1,
		sizeof(*crowds));
	for (size_t i = 0; evens && i < count; i++)
		crowds[victims[i].instance]++;
	for (unsigned i = 0; i < wanted; i++) {
		struct victim *victim = most_crowded(victims, count, crowds);
		int code;

		if (!victim)
			break;
		victim->taken = true;
		if (evens)
			crowds[victim->instance]--;
		code = service_stop_task(work, &plan->parts[action->group], victim->task,
			action->class == ROLLOUT_UNHEALTHY, err);
		if (code < 0)
			return code;
		plan->stops_left--;
		plan->excess_left -= plan->excess_left != UINT_MAX;
	}
	return 0;
}

/* ---- planning ---- */

static unsigned to_unsigned(int64_t value)
{
	return value <= 0 ? 0 : value > INT_MAX ? INT_MAX : (unsigned)value;
}

/* Tasks that would stay, beyond the desired count. */
static unsigned excess_of(const struct plan *plan)
{
	uint64_t there = 0;

	for (size_t i = 0; i < plan->count; i++)
		there += (uint64_t)plan->parts[i].live - plan->groups[i].stopping;
	return there > plan->replicas.desired ? (unsigned)(there - plan->replicas.desired) : 0;
}

static void set_up(struct plan *plan, int64_t desired, bool frozen)
{
	struct service_work *work = plan->work;
	const struct service_control *control = work->control;
	int64_t backoff_ms = service_component_backoff(work, &plan->parts[plan->target]);

	plan->replicas = (struct rollout_replicas){
		.desired = to_unsigned(desired),
		.minimum_healthy_percent = to_unsigned(work->facts.minimum_healthy),
		.maximum_percent = to_unsigned(work->facts.maximum),
		.groups = plan->groups,
		.group_count = plan->count,
		.target = plan->target,
		.starts_allowed = UINT_MAX,
	};
	if (SEEDED_BUG(control && control->bug_ignore_minimum))
		plan->replicas.minimum_healthy_percent = 0;
	if (SEEDED_BUG(control && control->bug_ignore_maximum))
		plan->replicas.maximum_percent = 1000;
	if (frozen || backoff_ms > 0) {
		plan->replicas.starts_allowed = 0;
		plan->replicas.blocker = ROLLOUT_BACKOFF;
		service_again_at(work, frozen ? 0 : backoff_ms);
	}
}

/* The planner's reason why the last start failed. */
static enum rollout_blocker blocker_of(const struct placement_failure *failure)
{
	return span_starts_with(failure->reason, SPAN("RESOURCE:")) ? ROLLOUT_RESOURCES
								    : ROLLOUT_PLACEMENT;
}

static int make_starts(struct plan *plan, const struct rollout_replica_plan *actions,
	struct err *err)
{
	for (size_t i = 0; i < actions->action_count; i++)
		if (actions->actions[i].type == ROLLOUT_START) {
			int code = start_tasks(plan, actions->actions[i].count, err);

			if (code < 0)
				return code;
		}
	return 0;
}

static int make_stops(struct plan *plan, const struct rollout_replica_plan *actions,
	struct err *err)
{
	const struct service_control *control = plan->work->control;

	for (size_t i = 0; i < actions->action_count; i++) {
		const struct rollout_replica_action *action = &actions->actions[i];
		int code;

		if (action->type != ROLLOUT_STOP)
			continue;
		/* The runtime that keeps the replicas stops the others. */
		if (service_is_group(plan->work) && action->class != ROLLOUT_UNHEALTHY &&
			action->place != ROLLOUT_MOVES)
			continue;
		if (SEEDED_BUG(control && control->bug_forget_stop &&
			       action->group != plan->target))
			continue;
		code = stop_tasks(plan, action, err);
		if (code < 0)
			return code;
	}
	return 0;
}

int service_plan_replicas(struct service_work *work, struct service_component *parts, size_t count,
	size_t target, int64_t desired, bool frozen, struct rollout_replica_plan *ret_plan,
	struct err *err)
{
	struct plan plan = {.work = work,
		.parts = parts,
		.count = count,
		.target = target,
		.stops_left = SERVICE_STOPS_MAX - work->stopped.count,
		.excess_left = UINT_MAX};
	bool unplaced = work->unplaced;
	int code;

	plan.groups = arena_allocate_array(work->arena, count, sizeof(*plan.groups));
	count_all(&plan);
	set_up(&plan, desired, frozen);
	rollout_plan_replicas(&plan.replicas, work->arena, ret_plan);
	work->unplaced = false;
	code = service_is_group(work) ? 0 : make_starts(&plan, ret_plan, err);
	if (code < 0)
		return code;
	if (work->unplaced) {
		/* All possible starts are done. The planner decides whether a stop would help. */
		plan.replicas.starts_allowed = 0;
		plan.replicas.blocker = blocker_of(&work->failure);
		service_again_at(work,
			work->now_ms + (span_is(work->failure.reason, "DAEMON")
						       ? SERVICE_DAEMON_RETRY_MS
						       : SERVICE_PLACEMENT_RETRY_MS));
		count_all(&plan);
		rollout_plan_replicas(&plan.replicas, work->arena, ret_plan);
	}
	work->unplaced |= unplaced;
	if (frozen)
		plan.excess_left = excess_of(&plan);
	return make_stops(&plan, ret_plan, err);
}
