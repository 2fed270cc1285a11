/*
 * One member of a crew as its fleet is to see it: what the state service knows of the instance and its tasks, what was
 * decided for it, and what was asked for and may not be seen yet.
 */
#include "aws/targets.h"
#include "base/memory.h"
#include "daemon/crew_internal.h"
#include "daemon/matching.h"

/* A call elsewhere has arrived by then, or never will. */
#define ELSEWHERE_MS (AWS_TARGETS_WRITE_MS + INT64_C(1000))

static void look_again(struct crew_member *member, int64_t at_ms)
{
	if (at_ms > 0 && (member->again_ms == 0 || at_ms < member->again_ms))
		member->again_ms = at_ms;
}

/* ---- what a member is ---- */

struct looking {
	const struct crew *crew;
	const struct crew_sight *sight;
	struct crew_member *member;
	const struct store_object *placement;  /* NULL: nothing was decided yet */
	const struct state_instance *instance; /* NULL: it is gone */
	struct fleet_instance now;
	bool unsure;
};

const struct store_object *crew_placement(const struct crew *crew, const struct crew_sight *sight,
	const struct crew_member *member)
{
	return store_get(sight->view, &environment_placement_kind,
		environment_placement_key(sight->arena, crew->key, member->place, member->id));
}

bool crew_owns(const struct crew *crew, const struct crew_sight *sight,
	const struct state_task *task)
{
	if (sight->bug == DAEMON_BUG_FORGET_OLD &&
		!environment_deployment_of(sight->view, sight->arena, crew->key, task->started_by))
		return false;
	return environment_owns(environment_name_of_key(crew->key), task);
}

/* There may be several versions of which this is so. */
static bool runs(const struct store_object *version, const struct crew_sight *sight,
	const struct state_task *task)
{
	return version && environment_version_runs(environment_version_facts(version), sight->view,
				  sight->arena, task);
}

static const struct store_object *assigned_version(const struct crew *crew,
	const struct crew_sight *sight, const struct store_object *placement)
{
	struct span id = placement ? environment_placement_facts(placement)->version : SPAN("");

	return id.length == 0 ? NULL
			      : store_get(sight->view, &environment_version_kind,
					environment_part_key(sight->arena, crew->key, id));
}

static enum fleet_version class_of_version(const struct crew *crew, const struct crew_sight *sight,
	const struct store_object *placement, const struct state_task *task)
{
	if (runs(sight->target, sight, task))
		return FLEET_TARGET;
	if (runs(assigned_version(crew, sight, placement), sight, task))
		return FLEET_OLD;
	return FLEET_OTHER;
}

static enum fleet_assigned assigned_of(const struct crew *crew, const struct crew_sight *sight,
	const struct store_object *placement)
{
	const struct store_object *version = assigned_version(crew, sight, placement);

	if (!version)
		return FLEET_ASSIGNED_NONE;
	return sight->target && environment_version_makes_same(
					environment_version_facts(sight->target),
					environment_version_facts(version))
		       ? FLEET_ASSIGNED_TARGET
		       : FLEET_ASSIGNED_OLD;
}

/* How long it has to run before it counts. */
static int64_t warm_up_ms(const struct crew_sight *sight, const struct state_task *task)
{
	int64_t least_ms = task->health == STATE_HEALTH_NONE ? ROLLOUT_READY_MS : 0;
	int64_t given_ms = sight->target ? environment_version_facts(sight->target)->warm_up_ms : 0;

	return given_ms > least_ms ? given_ms : least_ms;
}

static enum rollout_class class_of_task(const struct crew_sight *sight,
	const struct state_task *task, int64_t *ret_again_ms)
{
	int64_t warm_ms = task->since_ms + warm_up_ms(sight, task);

	if (sight->bug == DAEMON_BUG_WALL_CLOCK)
		warm_ms = task->started_ms + warm_up_ms(sight, task) + sight->steady_ms -
			  sight->now_ms;
	*ret_again_ms = 0;
	if (sight->bug == DAEMON_BUG_DESIRED_HEALTHY)
		return ROLLOUT_HEALTHY;
	if (task->last < STATE_TASK_RUNNING)
		return ROLLOUT_PENDING;
	if (task->health == STATE_UNHEALTHY)
		return ROLLOUT_UNHEALTHY;
	if (task->health == STATE_HEALTH_UNKNOWN || task->health == STATE_HEALTH_UNSURE)
		return ROLLOUT_STARTING;
	if (warm_ms > sight->steady_ms) {
		if (sight->bug != DAEMON_BUG_NO_WAKE)
			*ret_again_ms = warm_ms;
		return ROLLOUT_STARTING;
	}
	return ROLLOUT_HEALTHY;
}

bool crew_is_healthy(const struct crew_sight *sight, const struct state_task *task)
{
	int64_t again_ms;

	return state_task_stays(task) && class_of_task(sight, task, &again_ms) == ROLLOUT_HEALTHY;
}

void crew_forget_asked(struct crew_member *member)
{
	member->asked = ENVIRONMENT_INTENT_none;
	member->asked_until_ms = 0;
	free(TAKE(member->asked_task));
}

static void set_asked(const struct crew_sight *sight, struct crew_member *member,
	enum environment_intent intent, enum fleet_version version, struct span task)
{
	crew_forget_asked(member);
	member->asked = intent;
	member->asked_version = version;
	if (task.length > 0)
		member->asked_task = memory_copy_string_n(task.data, task.length);
	if (intent == ENVIRONMENT_INTENT_start)
		member->started = task.length > 0 ? span_hash(task) : 0;
	member->asked_mark = state_mark(sight->state, member->place);
}

void crew_asked(struct crew *crew, const struct crew_sight *sight, struct crew_member *member,
	enum environment_intent intent, enum fleet_version version, struct span task)
{
	(void)crew;
	set_asked(sight, member, intent, version, task);
}

static bool is_asked_to_stop(const struct crew_member *member, const struct state_task *task)
{
	return member->asked == ENVIRONMENT_INTENT_stop &&
	       span_equal(task->arn, span_of(member->asked_task));
}

/* Whether that moment is still to come; then one has to look again. */
static bool lies_ahead(const struct looking *looking, int64_t at_ms)
{
	bool ahead = looking->sight->steady_ms < at_ms;

	look_again(looking->member, ahead ? at_ms : 0);
	return ahead;
}

static bool is_dim(const struct crew *crew, struct span place)
{
	struct span rest = crew->dim ? span_of(crew->dim) : SPAN(""), part;

	while (span_next_part(&rest, ' ', &part))
		if (span_equal(part, place))
			return true;
	return false;
}

static void tell_state(struct looking *looking)
{
	const struct state_instance *instance = looking->instance;
	const struct environment_version_facts *target =
		looking->sight->target ? environment_version_facts(looking->sight->target) : NULL;
	struct fleet_instance *now = &looking->now;

	now->matches =
		target && environment_version_matches(target, looking->member->place, instance);
	if (!instance->connected) {
		now->state = ROLLOUT_INSTANCE_UNREACHABLE;
		/* Counts as down for a while, and then not at all. */
		now->awaited =
			target && lies_ahead(looking, instance->away_ms + target->unreachable_ms);
	} else if (is_dim(looking->crew, looking->member->place)) {
		now->state = ROLLOUT_INSTANCE_UNREACHABLE;
	} else if (instance->status == STATE_INSTANCE_DRAINING) {
		now->state = ROLLOUT_INSTANCE_DRAINING;
	} else if (instance->status != STATE_INSTANCE_ACTIVE) {
		now->state = ROLLOUT_INSTANCE_UNREACHABLE;
	}
}

static void tell_tasks(struct looking *looking)
{
	struct fleet_instance *now = &looking->now;
	enum fleet_version version;
	enum rollout_class class;
	bool unsure = false;

	for (size_t i = 0; i < looking->instance->task_count; i++) {
		const struct state_task *task = &looking->instance->tasks[i];
		int64_t again_ms;

		if (!crew_owns(looking->crew, looking->sight, task)) {
			now->others_left |=
				task->last < STATE_TASK_STOPPED && !environment_owns_any(task);
			continue;
		}
		if (looking->sight->bug == DAEMON_BUG_START_EVERYWHERE &&
			!runs(looking->sight->target, looking->sight, task))
			continue;
		if (!state_task_stays(task) || is_asked_to_stop(looking->member, task)) {
			now->stopping++;
			continue;
		}
		version = class_of_version(looking->crew, looking->sight, looking->placement, task);
		class = class_of_task(looking->sight, task, &again_ms);
		/* It may be warm, or not: nobody knows yet. */
		unsure |= version != FLEET_TARGET && (task->health == STATE_HEALTH_UNSURE ||
							     (again_ms > 0 && task->is_doubtful));
		now->tasks[version][class]++;
		look_again(looking->member, again_ms);
	}
	/* Where nothing can be done nobody has to know. */
	looking->unsure = unsure && now->state != ROLLOUT_INSTANCE_UNREACHABLE;
}

/* The others have their time to leave a draining instance before us, and no more. */
static void tell_draining(struct looking *looking)
{
	const struct store_object *target = looking->sight->target;
	struct crew_member *member = looking->member;

	if (looking->now.state != ROLLOUT_INSTANCE_DRAINING) {
		member->draining_ms = 0;
		return;
	}
	if (member->draining_ms == 0)
		member->draining_ms = looking->sight->steady_ms;
	if (looking->now.others_left && target)
		looking->now.others_left = lies_ahead(looking,
			member->draining_ms + environment_version_facts(target)->drain_timeout_ms);
}

/* ---- what was asked for ---- */

int64_t crew_moment(struct crew_moment *moment, const struct crew_sight *sight, int64_t written_ms,
	int64_t most_ahead_ms)
{
	int64_t ahead_ms = written_ms - sight->now_ms;

	if (moment->written_ms != written_ms)
		*moment = (struct crew_moment){written_ms,
			sight->steady_ms + (ahead_ms < most_ahead_ms ? ahead_ms : most_ahead_ms)};
	return moment->steady_ms;
}

/* Of what was decided for it: since when it is intended, and until when it was refused. */
static int64_t intended_ms(const struct looking *looking)
{
	return crew_moment(&looking->member->intended, looking->sight,
		environment_placement_facts(looking->placement)->intent_ms, 0);
}

static int64_t refused_until_ms(const struct looking *looking)
{
	return crew_moment(&looking->member->refused_until, looking->sight,
		environment_placement_facts(looking->placement)->until_ms, CREW_REFUSED_MOST_MS);
}

static unsigned count_tasks(const struct fleet_instance *now)
{
	unsigned count = 0;

	for (unsigned v = 0; v < FLEET_VERSION_COUNT; v++)
		for (unsigned c = 0; c < ROLLOUT_CLASS_COUNT; c++)
			count += now->tasks[v][c];
	return count;
}

/* What was intended has come about: the deployment's task is there, or that which was to go is not. */
static bool is_done(const struct looking *looking,
	const struct environment_placement_facts *placement)
{
	for (size_t i = 0; i < looking->instance->task_count; i++) {
		const struct state_task *task = &looking->instance->tasks[i];

		if (placement->intent == ENVIRONMENT_INTENT_stop) {
			if (span_equal(task->arn, placement->task) && state_task_stays(task))
				return false;
		} else if (span_equal(task->started_by, placement->deployment)) {
			return true;
		}
	}
	return placement->intent == ENVIRONMENT_INTENT_stop;
}

/* What whoever worked on this before us was about to do elsewhere may still be on its way: nothing is done about it until
 * a listing that began after that is through. When he wrote it down only his clock knows, so it counts from now. */
static void recover_asked(struct looking *looking)
{
	const struct environment_placement_facts *placement =
		looking->placement ? environment_placement_facts(looking->placement) : NULL;
	struct crew_member *member = looking->member;
	bool first = !member->was_looked_at;

	/* What was known before the claim was taken says nothing of what was done until then. */
	if (!crew_is_caught_up_at(looking->crew, member->place))
		return;
	member->was_looked_at = true;
	if (!first || !placement || placement->intent == ENVIRONMENT_INTENT_none ||
		looking->sight->bug == DAEMON_BUG_FORGET_SENT ||
		member->asked != ENVIRONMENT_INTENT_none || member->place.data[0] == ':' ||
		is_done(looking, placement))
		return;
	set_asked(looking->sight, member, placement->intent,
		looking->now.assigned == FLEET_ASSIGNED_OLD ? FLEET_OLD : FLEET_TARGET,
		placement->task);
	member->asked_mark += (uint64_t)ELSEWHERE_MS; /* elsewhere, marks are milliseconds */
}

/* The task that it was told of has been seen to stop: who tells that knows more than a listing. */
static bool has_ended_again(const struct looking *looking)
{
	const struct crew_member *member = looking->member;
	const struct state_task *task;

	if (member->asked != ENVIRONMENT_INTENT_start || !member->asked_task)
		return false;
	task = state_get_task(looking->sight->state, member->place, span_of(member->asked_task),
		looking->sight->arena);
	return task && task->last == STATE_TASK_STOPPED;
}

/* Until the state service must have seen what came of it, it counts as under way. Before anything is told: what was
 * asked for says how tasks count. */
static void settle_asked(struct looking *looking)
{
	struct crew_member *member = looking->member;

	if (member->asked == ENVIRONMENT_INTENT_none)
		return;
	if (looking->sight->bug == DAEMON_BUG_FORGET_ASKED ||
		(!lies_ahead(looking, member->asked_until_ms) &&
			(has_ended_again(looking) ||
				state_reaches_for(looking->sight->state, member->place, member->id,
					looking->crew->group, member->asked_mark)))) {
		crew_forget_asked(member);
		return;
	}
	look_again(member, looking->sight->steady_ms + 1000);
}

static void tell_asked(struct looking *looking)
{
	const struct crew_member *member = looking->member;
	unsigned *tasks = looking->now.tasks[member->asked_version];

	if (member->asked == ENVIRONMENT_INTENT_start && !tasks[ROLLOUT_PENDING] &&
		!tasks[ROLLOUT_STARTING] && !tasks[ROLLOUT_HEALTHY] && !tasks[ROLLOUT_UNHEALTHY])
		tasks[ROLLOUT_PENDING]++;
}

static bool is_there(const struct looking *looking, struct span task)
{
	for (size_t i = 0; i < looking->instance->task_count; i++)
		if (span_equal(looking->instance->tasks[i].arn, task))
			return true;
	return false;
}

/* Whether the next start has to wait: what crashed once is started again at once, then later each time; what was
 * refused is asked for again after a while. */
static void tell_hindrance(struct looking *looking)
{
	const struct environment_placement_facts *placement;
	enum rollout_hindrance hindrance = ROLLOUT_NOT_HINDERED;
	int64_t until_ms;

	if (!looking->placement)
		return;
	placement = environment_placement_facts(looking->placement);
	if (placement->until_ms > 0) {
		until_ms = refused_until_ms(looking);
		hindrance = placement->refused_for_room ? ROLLOUT_RESOURCES : ROLLOUT_PLACEMENT;
	} else if (crew_was_ill(placement) && is_there(looking, placement->task)) {
		return; /* it is to go first */
	} else {
		until_ms = crew_crash_backoff_ms(looking->crew, looking->sight, looking->member,
			placement);
		hindrance = ROLLOUT_BACKOFF;
	}
	if (!lies_ahead(looking, until_ms))
		return;
	if (looking->now.assigned == FLEET_ASSIGNED_OLD)
		looking->now.old_hindrance = hindrance;
	else
		looking->now.hindrance = hindrance;
}

static void tell_hanging(struct looking *looking)
{
	const struct environment_placement_facts *placement =
		looking->placement ? environment_placement_facts(looking->placement) : NULL;
	int64_t hangs_ms;

	if (!looking->now.stopping || !placement || placement->intent != ENVIRONMENT_INTENT_stop)
		return;
	hangs_ms = intended_ms(looking) + CREW_HANGS_MS;
	looking->now.hangs = hangs_ms <= looking->sight->steady_ms ||
			     refused_until_ms(looking) > looking->sight->steady_ms;
	look_again(looking->member, looking->now.hangs ? 0 : hangs_ms);
}

static unsigned count_starting(const struct fleet_instance *now)
{
	unsigned count = 0;

	for (unsigned v = 0; v < FLEET_VERSION_COUNT; v++)
		count += now->tasks[v][ROLLOUT_PENDING] + now->tasks[v][ROLLOUT_STARTING];
	return count;
}

/* It should have a healthy task, and has none since a start came to nothing. That is so until one is healthy: who is told
 * of it would hear at each new try that all is well. A first crash is not counted yet; it is made good at once. */
static enum crew_trouble trouble_of(const struct looking *looking)
{
	const struct environment_placement_facts *placement =
		looking->placement ? environment_placement_facts(looking->placement) : NULL;
	const struct fleet_instance *now = &looking->now;
	unsigned count = count_tasks(now);
	bool ill = placement && crew_was_ill(placement);

	if (!placement || placement->failures == 0 ||
		((now->stopping || placement->intent == ENVIRONMENT_INTENT_stop) && !ill) ||
		now->state != ROLLOUT_INSTANCE_ACTIVE || !now->matches)
		return CREW_NO_TROUBLE;
	if (count > 0)
		return count_starting(now) == count ? CREW_TROUBLE_LAUNCHING : CREW_NO_TROUBLE;
	/* One that had run for long and died is not what failed. */
	if (placement->until_ms == 0 && !ill &&
		!crew_has_crashed(looking->crew, looking->sight, looking->member, placement))
		return CREW_NO_TROUBLE;
	return CREW_TROUBLE_MISSING;
}

void crew_see(const struct crew *crew, const struct crew_sight *sight, struct crew_member *member,
	struct crew_seen *ret_seen)
{
	struct looking looking = {.crew = crew, .sight = sight, .member = member};

	member->seen = state_seen(sight->state, member->place); /* before: that much is in it */
	looking.instance = state_get_instance_for(sight->state, member->place, member->id,
		environment_name_of_key(crew->key), sight->arena);
	looking.placement = crew_placement(crew, sight, member);
	member->again_ms = 0;
	looking.now.state = ROLLOUT_INSTANCE_GONE;
	looking.now.assigned = assigned_of(crew, sight, looking.placement);
	if (looking.instance) {
		if (member->seen == 0)
			member->seen = looking.instance->version;
		looking.now.state = ROLLOUT_INSTANCE_ACTIVE;
		tell_state(&looking);
		recover_asked(&looking);
		settle_asked(&looking);
		tell_tasks(&looking);
		tell_draining(&looking);
		tell_asked(&looking);
		member->is_bare = count_tasks(&looking.now) == 0 && !looking.now.stopping &&
				  member->asked == ENVIRONMENT_INTENT_none;
		tell_hindrance(&looking);
		tell_hanging(&looking);
	}
	*ret_seen = (struct crew_seen){.now = looking.now,
		.instance = looking.instance,
		.trouble = trouble_of(&looking),
		.is_unsure = looking.unsure,
		.concerns_us = looking.now.matches || looking.placement || looking.now.stopping ||
			       count_tasks(&looking.now) > 0};
}

const struct state_task *crew_find_task(const struct crew *crew, const struct crew_sight *sight,
	const struct crew_member *member, enum fleet_version version, enum rollout_class class,
	struct arena *arena)
{
	const struct state_instance *instance = state_get_instance_for(sight->state, member->place,
		member->id, environment_name_of_key(crew->key), arena);
	const struct store_object *placement = crew_placement(crew, sight, member);

	for (size_t i = 0; instance && i < instance->task_count; i++) {
		const struct state_task *task = &instance->tasks[i];
		int64_t again_ms;

		if (crew_owns(crew, sight, task) && state_task_stays(task) &&
			!is_asked_to_stop(member, task) &&
			class_of_version(crew, sight, placement, task) == version &&
			class_of_task(sight, task, &again_ms) == class)
			return task;
	}
	return NULL;
}
