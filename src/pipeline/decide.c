/*
 * See the header. A stage is a list of goals. Each goal is met, or it fills in the decision that leads to it; the first
 * goal that is not met decides.
 */
#include "pipeline/decide.h"

#include "base/memory.h"
#include "base/seeded_bug.h"
#include "pipeline/share.h"

#define WHOLE 100
#define FAILED_TASKS_MIN 3

struct deciding {
	const struct delivery *delivery;
	const struct snapshot *snapshot;
	struct arena *arena;
	struct decision *decision;
	bool is_rollback;
};

/* ---- the variant table ---- */

static const struct variant_row {
	/* The old and the new primary are two sets; else one service that replaces its tasks itself. */
	bool has_two_primaries;
} variants[] = {
	[DELIVERY_TASK_SETS] = {true},
	[DELIVERY_SERVICES] = {false},
};

/* True if the engine deletes sets of that role; else ECS replaces its tasks. */
static bool is_deletable(const struct deciding *deciding, enum set_role role)
{
	return role == SET_CANARY || deciding->delivery->is_first ||
	       variants[deciding->delivery->variant].has_two_primaries;
}

/* ---- decisions ---- */

static const char *const role_names[] = {
	[SET_OLD] = "old primary",
	[SET_CANARY] = "canary",
	[SET_NEW] = "new primary",
	[SET_OTHER] = "other",
};

static bool call(struct deciding *deciding, enum call_kind kind, enum set_role role,
	struct span target, int64_t number)
{
	struct next_call *next =
		fields_append(deciding->arena, &deciding->decision->calls, sizeof(*next));

	*next = (struct next_call){kind, role, target, number};
	deciding->decision->kind = DECISION_CALL;
	return false;
}

__attribute__((format(printf, 3, 4))) static bool wait_until(struct deciding *deciding,
	int64_t wake_ms, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	deciding->decision->reason = arena_format_list(deciding->arena, format, list);
	va_end(list);
	deciding->decision->kind = DECISION_WAIT;
	deciding->decision->wake_ms = wake_ms;
	return false;
}

__attribute__((format(printf, 2, 3))) static bool fail(struct deciding *deciding,
	const char *format, ...)
{
	va_list list;

	va_start(list, format);
	deciding->decision->reason = arena_format_list(deciding->arena, format, list);
	va_end(list);
	deciding->decision->kind = DECISION_FAIL;
	return false;
}

static const struct snapshot_set *find_set(const struct deciding *deciding, enum set_role role)
{
	for (size_t i = 0; i < deciding->snapshot->set_count; i++) {
		const struct snapshot_set *set = &deciding->snapshot->sets[i];

		if (set->role == role && !set->is_deleting)
			return set;
	}
	return NULL;
}

static bool has_bug(const struct deciding *deciding, enum pipeline_bug bug)
{
	return deciding->delivery->bug == bug;
}

static int64_t count_healthy(const struct snapshot_set *set)
{
	int64_t count = 0;

	for (size_t i = 0; set && i < set->task_count; i++)
		count += set->tasks[i].is_healthy;
	return count;
}

/* ---- names ---- */

/* True for tasks of which clients may still have the address. */
static bool is_remembered(const struct deciding *deciding, const struct snapshot_task *task,
	int64_t *ret_until_ms)
{
	int64_t until = task->deregistered_ms + deciding->delivery->record_ttl_ms;

	if (task->deregistered_ms == 0 || deciding->snapshot->now_ms >= until)
		return false;
	if (until > *ret_until_ms)
		*ret_until_ms = until;
	return true;
}

/* Goal: no operation on an instance of ours is under way. */
static bool have_operations_ended(struct deciding *deciding)
{
	for (size_t i = 0; i < deciding->snapshot->set_count; i++) {
		const struct snapshot_set *set = &deciding->snapshot->sets[i];

		for (size_t j = 0; set->role != SET_OTHER && j < set->task_count; j++) {
			if (set->tasks[j].has_operation)
				return wait_until(deciding, 0,
					"Cloud Map operations are under way");
		}
	}
	return true;
}

/* Goal: the name leads to no task that is gone. ECS does not remove what it has not registered. */
static bool have_strays_gone(struct deciding *deciding)
{
	const struct snapshot *snapshot = deciding->snapshot;

	for (size_t i = 0; i < snapshot->stray_count; i++)
		call(deciding, CALL_DEREGISTER_INSTANCE, SET_CANARY, snapshot->strays[i], 0);
	return snapshot->stray_count == 0;
}

/* Goal: at least `wanted` healthy tasks of the set are registered. */
static bool is_registered(struct deciding *deciding, const struct snapshot_set *set, int64_t wanted)
{
	bool met = true;

	for (size_t i = 0; set && i < set->task_count; i++)
		wanted -= set->tasks[i].is_healthy && set->tasks[i].is_registered;
	for (size_t i = 0; set && i < set->task_count && wanted > 0; i++) {
		const struct snapshot_task *task = &set->tasks[i];

		if (task->is_healthy && !task->is_registered) {
			met = call(deciding, CALL_REGISTER_INSTANCE, set->role, task->id, 0);
			wanted--;
		}
	}
	return met;
}

/* Goal: at most `wanted` tasks of the set are registered. ECS registers the tasks of a primary before they are healthy:
 * those stay while all of the primary is wanted. */
static bool is_deregistered(struct deciding *deciding, const struct snapshot_set *set,
	int64_t wanted)
{
	bool keeps_starting = set->role != SET_CANARY && wanted > 0 && wanted >= count_healthy(set);
	bool met = true;

	for (size_t i = 0; i < set->task_count; i++) {
		const struct snapshot_task *task = &set->tasks[i];

		if (!task->is_registered && task->may_be_registered && wanted <= 0)
			met = call(deciding, CALL_DEREGISTER_INSTANCE, set->role, task->id, 0);
		if (!task->is_registered || (task->is_healthy ? wanted-- > 0 : keeps_starting))
			continue;
		met = call(deciding, CALL_DEREGISTER_INSTANCE, set->role, task->id, 0);
	}
	return met;
}

/* Goal: clients have forgotten the deregistered tasks of the set; all sets of ours for NULL. */
static bool are_forgotten(struct deciding *deciding, const struct snapshot_set *only)
{
	int64_t until = 0;

	for (size_t i = 0; i < deciding->snapshot->set_count; i++) {
		const struct snapshot_set *set = &deciding->snapshot->sets[i];

		if (set->role == SET_OTHER || (only && set != only))
			continue;
		for (size_t j = 0; j < set->task_count; j++) {
			if (!set->tasks[j].is_registered)
				is_remembered(deciding, &set->tasks[j], &until);
		}
	}
	return until == 0 || SEEDED_BUG(has_bug(deciding, PIPELINE_BUG_FORGET_TTL)) ||
	       wait_until(deciding, until, "DNS records of removed tasks expire");
}

/* True for sets that take part in a change of shares. A new primary that is still starting keeps what ECS registered,
 * which only lowers the share of the canary, unless all traffic goes to the canary. */
static bool takes_part(const struct deciding *deciding, const struct snapshot_set *set,
	enum set_role primary, int64_t percent)
{
	if (set->role == SET_OTHER)
		return false;
	return set->role != SET_NEW || primary == SET_NEW || percent == WHOLE ||
	       deciding->is_rollback;
}

/* Registers first and deregisters only when all that was registered is healthy by its name. */
static bool route_names(struct deciding *deciding, enum set_role primary, int64_t percent)
{
	const struct snapshot *snapshot = deciding->snapshot;
	const struct snapshot_set *primary_set = find_set(deciding, primary),
				  *canary = find_set(deciding, SET_CANARY);
	struct share share = share_choose(count_healthy(primary_set), count_healthy(canary),
		snapshot->desired, percent);
	bool met = true;

	if (share.primary + share.canary == 0 && snapshot->desired > 0)
		return wait_until(deciding, 0, "no task is healthy");
	if (!have_operations_ended(deciding) || !have_strays_gone(deciding))
		return false;
	met = is_registered(deciding, primary_set, share.primary) && met;
	met = is_registered(deciding, canary, share.canary) && met;
	if (!met && !SEEDED_BUG(has_bug(deciding, PIPELINE_BUG_DEREGISTER_FIRST)))
		return false;
	for (size_t i = 0; i < snapshot->set_count; i++) {
		const struct snapshot_set *set = &snapshot->sets[i];

		if (!takes_part(deciding, set, primary, percent))
			continue;
		met = is_deregistered(deciding, set,
			      set == primary_set ? share.primary
			      : set == canary    ? share.canary
						 : 0) &&
		      met;
	}
	return met && are_forgotten(deciding, NULL);
}

static bool remove_names(struct deciding *deciding, const struct snapshot_set *set)
{
	return have_operations_ended(deciding) && is_deregistered(deciding, set, 0) &&
	       are_forgotten(deciding, set);
}

/* ---- load balancers ---- */

static bool route_weights(struct deciding *deciding, enum set_role primary, int64_t percent)
{
	const struct snapshot *snapshot = deciding->snapshot;

	(void)primary;
	if (snapshot->rule_count == 0) {
		/* A service without a pair of target groups has no shares: all traffic goes to its primary. */
		if (percent == 0)
			return true;
		return fail(deciding, "no rule forwards to both target groups");
	}
	if (snapshot->canary_weight == percent)
		return true;
	if (SEEDED_BUG(has_bug(deciding, PIPELINE_BUG_EMPTY_GROUP)))
		return call(deciding, CALL_SET_WEIGHTS, SET_CANARY, SPAN(""), percent);
	if (percent > 0 && snapshot->canary_targets == 0)
		return wait_until(deciding, 0, "the canary target group has no healthy target");
	if (percent < WHOLE && snapshot->primary_targets == 0)
		return wait_until(deciding, 0, "the primary target group has no healthy target");
	return call(deciding, CALL_SET_WEIGHTS, SET_CANARY, SPAN(""), percent);
}

/* ECS takes targets out of their group and drains them before it stops their tasks. */
static bool remove_targets(struct deciding *deciding, const struct snapshot_set *set)
{
	const struct snapshot *snapshot = deciding->snapshot;

	if (set->role == SET_CANARY && snapshot->rule_count > 0 && snapshot->canary_weight != 0)
		return fail(deciding, "the canary target group still gets traffic");
	return true;
}

/* Goal: no target of the set is in the primary target group; its tasks continue. */
static bool are_targets_out(struct deciding *deciding, const struct snapshot_set *set)
{
	bool met = true, is_draining = false;

	if (SEEDED_BUG(has_bug(deciding, PIPELINE_BUG_KEEP_TARGETS)))
		return true;
	for (size_t i = 0; i < set->task_count; i++) {
		const struct snapshot_task *task = &set->tasks[i];

		is_draining |= task->target == TARGET_DRAINING;
		if (task->target == TARGET_STARTING || task->target == TARGET_HEALTHY)
			met = call(deciding, CALL_DEREGISTER_TARGET, set->role, task->id, 0);
	}
	return met && (!is_draining || wait_until(deciding, 0, "targets of the %s are draining",
					       role_names[set->role]));
}

/* Goal: the targets that the deployment deregistered are back, and healthy. ECS itself registers those of new tasks. */
static bool are_targets_back(struct deciding *deciding, enum set_role role)
{
	const struct snapshot_set *set = find_set(deciding, role);
	bool met = true, is_starting = false;

	for (size_t i = 0; set && i < set->task_count; i++) {
		const struct snapshot_task *task = &set->tasks[i];

		is_starting |= task->is_target_removed && task->target == TARGET_STARTING;
		if (task->is_healthy && (task->is_target_removed && task->target == TARGET_NONE))
			met = call(deciding, CALL_REGISTER_TARGET, role, task->id, 0);
		else if (task->is_target_removed && task->target == TARGET_DRAINING)
			met = call(deciding, CALL_REGISTER_TARGET, role, task->id, 0);
	}
	return met &&
	       (!is_starting || wait_until(deciding, 0, "targets of the %s are not healthy yet",
					role_names[role]));
}

/* ---- the router table ---- */

static const struct router_row {
	unsigned access;
	bool (*route)(struct deciding *deciding, enum set_role primary, int64_t percent);
	bool (*remove)(struct deciding *deciding, const struct snapshot_set *set);
	/* From a set that is kept. */
	bool (*take_out)(struct deciding *deciding, const struct snapshot_set *set);
} routers[] = {
	{ACCESS_ELB, route_weights, remove_targets, are_targets_out},
	{ACCESS_SERVICE_DISCOVERY, route_names, remove_names, remove_names},
};

/* ---- goals ---- */

/* Goal: the canary has its share of the traffic, and the set of that role the rest. */
static bool is_routed(struct deciding *deciding, enum set_role primary, int64_t percent)
{
	for (size_t i = 0; i < LENGTH(routers); i++) {
		if ((deciding->delivery->access & routers[i].access) &&
			!routers[i].route(deciding, primary, percent))
			return false;
	}
	return true;
}

/* Of a second service that is still there: ECS creates no other one of its name before it is INACTIVE. */
static bool is_name_taken(const struct deciding *deciding, enum set_role role)
{
	bool is_taken = false;

	for (size_t i = 0; i < deciding->snapshot->set_count; i++)
		is_taken |= deciding->snapshot->sets[i].role == role &&
			    deciding->snapshot->sets[i].is_deleting;
	return is_taken && !variants[deciding->delivery->variant].has_two_primaries;
}

/* Goal: the set runs at that scale, and all of its tasks are healthy. */
static bool is_running(struct deciding *deciding, enum set_role role, int64_t scale)
{
	const struct snapshot_set *set = find_set(deciding, role);
	int64_t failed_max;

	if (!set && is_name_taken(deciding, role))
		return wait_until(deciding, 0, "the %s of an earlier deployment is stopping",
			role_names[role]);
	if (!set)
		return call(deciding, CALL_CREATE_SET, role, SPAN(""), scale);
	if (set->scale != scale)
		return call(deciding, CALL_SCALE_SET, role, set->arn, scale);
	if (set->is_steady)
		return deciding->snapshot->read_ms >= set->settled_ms ||
		       wait_until(deciding, set->settled_ms,
			       "the tasks of the %s have just started", role_names[role]);
	if (deciding->is_rollback)
		return wait_until(deciding, 0, "the %s is not steady: %d of %d tasks are healthy",
			role_names[role], (int)count_healthy(set), (int)set->desired);
	failed_max = set->desired / 2 > FAILED_TASKS_MIN ? set->desired / 2 : FAILED_TASKS_MIN;
	if (set->failed >= failed_max)
		return fail(deciding, "%d tasks of the %s stopped before they were healthy",
			(int)set->failed, role_names[role]);
	return wait_until(deciding, 0, "the %s is not steady: %d of %d tasks are healthy",
		role_names[role], (int)count_healthy(set), (int)set->desired);
}

static bool is_primary(struct deciding *deciding, enum set_role role)
{
	const struct snapshot_set *set = find_set(deciding, role);

	if (SEEDED_BUG(has_bug(deciding, PIPELINE_BUG_KEEP_PRIMARY)))
		return true;
	if (!set || set->is_primary || !variants[deciding->delivery->variant].has_two_primaries)
		return true;
	return call(deciding, CALL_MAKE_PRIMARY, role, set->arn, 0);
}

/* Goal: the set gets no traffic and does not exist. */
static bool is_gone(struct deciding *deciding, enum set_role role)
{
	const struct snapshot_set *set = find_set(deciding, role);

	if (!set)
		return true;
	if (!is_deletable(deciding, role))
		return set->task_count == 0 ||
		       wait_until(deciding, 0, "ECS replaces the tasks of the %s",
			       role_names[role]);
	for (size_t i = 0; i < LENGTH(routers); i++) {
		if ((deciding->delivery->access & routers[i].access) &&
			!routers[i].remove(deciding, set))
			return false;
	}
	return call(deciding, CALL_DELETE_SET, role, set->arn, 0);
}

/* Goal: the old primary gets no traffic, and does not exist unless it is kept. */
static bool is_replaced(struct deciding *deciding)
{
	const struct snapshot_set *old = find_set(deciding, SET_OLD);

	if (!old || !deciding->delivery->keeps_old)
		return is_gone(deciding, SET_OLD);
	for (size_t i = 0; i < LENGTH(routers); i++) {
		if ((deciding->delivery->access & routers[i].access) &&
			!routers[i].take_out(deciding, old))
			return false;
	}
	return true;
}

/* Goal: the old tasks have ended and the service may start new ones. */
static bool is_stopped_for_recreation(struct deciding *deciding)
{
	const struct snapshot_set *old = find_set(deciding, SET_OLD);

	if (!deciding->delivery->recreate || find_set(deciding, SET_NEW))
		return true;
	if (old && (deciding->delivery->access & ACCESS_SERVICE_DISCOVERY) &&
		!remove_names(deciding, old))
		return false;
	if (deciding->snapshot->desired != 0)
		return call(deciding, CALL_SET_DESIRED_COUNT, SET_OLD, SPAN(""), 0);
	return !old || old->task_count == 0 ||
	       wait_until(deciding, 0, "the old tasks are stopping");
}

static bool has_desired_count(struct deciding *deciding)
{
	int64_t wanted = deciding->delivery->desired_count;

	if (!deciding->delivery->recreate || deciding->snapshot->desired == wanted)
		return true;
	return call(deciding, CALL_SET_DESIRED_COUNT, SET_NEW, SPAN(""), wanted);
}

/* ---- stages ---- */

/* The set that has the primary's share: the new one from when it runs. */
static enum set_role primary_role(const struct deciding *deciding)
{
	const struct snapshot_set *next = find_set(deciding, SET_NEW),
				  *old = find_set(deciding, SET_OLD);

	if (!next || deciding->is_rollback)
		return SET_OLD;
	return next->is_primary || !old || count_healthy(old) == 0 ? SET_NEW : SET_OLD;
}

static bool quick_sync(struct deciding *deciding)
{
	return is_stopped_for_recreation(deciding) && is_running(deciding, SET_NEW, WHOLE) &&
	       has_desired_count(deciding) && is_running(deciding, SET_NEW, WHOLE) &&
	       is_routed(deciding, SET_NEW, 0) && is_primary(deciding, SET_NEW) &&
	       is_replaced(deciding) && is_gone(deciding, SET_CANARY);
}

/* A canary that ECS registered gets no traffic either, before a stage routes some to it. */
static bool roll_canary_out(struct deciding *deciding, const struct stage_options *options)
{
	return is_running(deciding, SET_CANARY, options->scale) &&
	       is_routed(deciding, primary_role(deciding), deciding->delivery->canary_percent);
}

/* Before the new primary is steady, the old one keeps its share; then they change places. */
static bool roll_primary_out(struct deciding *deciding)
{
	int64_t percent = deciding->delivery->canary_percent;

	if (!is_running(deciding, SET_NEW, WHOLE)) {
		/* With everything on the canary, new tasks that ECS registered leave at once. */
		if (percent == WHOLE && deciding->decision->kind == DECISION_WAIT)
			is_routed(deciding, primary_role(deciding), percent);
		return false;
	}
	return is_routed(deciding, SET_NEW, percent) && is_primary(deciding, SET_NEW) &&
	       is_replaced(deciding);
}

static bool roll_back(struct deciding *deciding)
{
	deciding->is_rollback = true;
	if (deciding->delivery->is_first)
		return is_gone(deciding, SET_CANARY) && is_gone(deciding, SET_NEW);
	if (SEEDED_BUG(has_bug(deciding, PIPELINE_BUG_LEAVE_CANARY)))
		return is_running(deciding, SET_OLD, WHOLE) && is_routed(deciding, SET_OLD, 0) &&
		       is_primary(deciding, SET_OLD) && is_gone(deciding, SET_NEW);
	if (SEEDED_BUG(has_bug(deciding, PIPELINE_BUG_ROLLBACK_FIRST)) &&
		(!is_gone(deciding, SET_CANARY) || !is_gone(deciding, SET_NEW)))
		return false;
	return has_desired_count(deciding) && is_running(deciding, SET_OLD, WHOLE) &&
	       are_targets_back(deciding, SET_OLD) && is_routed(deciding, SET_OLD, 0) &&
	       is_primary(deciding, SET_OLD) && is_gone(deciding, SET_CANARY) &&
	       is_gone(deciding, SET_NEW);
}

void decide_stage(const struct delivery *delivery, enum stage_kind kind,
	const struct stage_options *options, const struct snapshot *snapshot, struct arena *arena,
	struct decision *ret_decision)
{
	struct decision decision = {.kind = DECISION_DONE, .reason = SPAN("")};
	struct deciding deciding = {
		.delivery = delivery, .snapshot = snapshot, .arena = arena, .decision = &decision};

	switch (kind) {
	case STAGE_ECS_SYNC: quick_sync(&deciding); break;
	case STAGE_ECS_CANARY_ROLLOUT: roll_canary_out(&deciding, options); break;
	case STAGE_ECS_TRAFFIC_ROUTING:
		is_routed(&deciding, primary_role(&deciding), options->canary);
		break;
	case STAGE_ECS_PRIMARY_ROLLOUT: roll_primary_out(&deciding); break;
	case STAGE_ECS_CANARY_CLEAN: is_gone(&deciding, SET_CANARY); break;
	case STAGE_ROLLBACK: roll_back(&deciding); break;
	default: fail(&deciding, "stage %s makes no calls to ECS", stage_kind_name(kind)); break;
	}
	*ret_decision = decision;
}

void decide_hold(const struct delivery *delivery, const struct snapshot *snapshot,
	struct arena *arena, struct decision *ret_decision)
{
	struct decision decision = {.kind = DECISION_DONE, .reason = SPAN("")};
	struct deciding deciding = {
		.delivery = delivery, .snapshot = snapshot, .arena = arena, .decision = &decision};

	if (delivery->canary_percent > 0)
		is_routed(&deciding, primary_role(&deciding), delivery->canary_percent);
	*ret_decision = decision;
}

void decide_keep(const struct delivery *delivery, bool is_over, const struct snapshot *snapshot,
	struct arena *arena, struct decision *ret_decision)
{
	struct decision decision = {.kind = DECISION_DONE, .reason = SPAN("")};
	struct deciding deciding = {
		.delivery = delivery, .snapshot = snapshot, .arena = arena, .decision = &decision};
	const struct snapshot_set *old = find_set(&deciding, SET_OLD);

	/* Another client may have made it the primary again. */
	if (old && !old->is_primary && is_over)
		is_gone(&deciding, SET_OLD);
	else if (old && !old->is_primary)
		is_replaced(&deciding);
	*ret_decision = decision;
}
