/*
 * The stages against a simulated service: sets of tasks that start, become healthy, are registered, die and are replaced
 * as ECS does it, with calls that are lost and operations that take their time. The invariants are checked with every
 * call, on the state of the simulated service itself.
 *
 * I1: no variant gets traffic with no healthy task. I2: no set is deleted while clients may know its tasks. I3: at the
 * end there is one primary, it has all of the traffic, and no canary. I4: no set is created twice. I5: the set of another
 * owner is never named.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/random.h"
#include "pipeline/decide.h"

#define SETS_MAX 8
#define TASKS_MAX 40
#define NAME_SIZE 16
#define TTL_MS 12000
#define STEPS_MAX 20000
#define SEEDS 150

struct sim_task {
	char id[NAME_SIZE];
	bool exists, is_healthy, is_registered;
	enum { NO_OPERATION, REGISTERING, DEREGISTERING } operation;
	int64_t deregistered_ms;
	bool is_target_out, was_target_out; /* of the primary target group */
};

struct sim_set {
	enum set_role role;
	char arn[NAME_SIZE];
	bool exists, is_primary, registers;
	int64_t scale;
	struct sim_task tasks[TASKS_MAX];
};

struct sim {
	struct random_seeded random;
	struct arena *arena;
	struct delivery delivery;
	int64_t now_ms, desired;
	struct sim_set sets[SETS_MAX];
	unsigned names; /* given so far */
	int64_t weight;
	bool has_faults, is_broken; /* is_broken: new versions never become healthy */
	bool canary_by_ecs, is_recreating;
};

static unsigned below(struct sim *sim, unsigned limit)
{
	return (unsigned)random_below(&sim->random.random, limit);
}

static bool uses_names(const struct sim *sim)
{
	return sim->delivery.access & ACCESS_SERVICE_DISCOVERY;
}

static bool has_two_services(const struct sim *sim)
{
	return sim->delivery.variant == DELIVERY_SERVICES;
}

/* ---- ECS ---- */

static int64_t wanted_tasks(const struct sim *sim, const struct sim_set *set)
{
	return (sim->desired * set->scale + 99) / 100;
}

static int64_t count_tasks(const struct sim_set *set, bool healthy_only)
{
	int64_t count = 0;

	for (size_t i = 0; i < TASKS_MAX; i++)
		count += set->tasks[i].exists && (!healthy_only || set->tasks[i].is_healthy);
	return count;
}

static struct sim_set *find_set(struct sim *sim, enum set_role role)
{
	for (size_t i = 0; i < SETS_MAX; i++) {
		if (sim->sets[i].exists && sim->sets[i].role == role)
			return &sim->sets[i];
	}
	return NULL;
}

static struct sim_set *create_set(struct sim *sim, enum set_role role, int64_t scale)
{
	for (size_t i = 0; i < SETS_MAX; i++) {
		struct sim_set *set = &sim->sets[i];

		if (set->exists)
			continue;
		*set = (struct sim_set){.exists = true,
			.role = role,
			.scale = scale,
			.registers = uses_names(sim) && (role != SET_CANARY || sim->canary_by_ecs)};
		snprintf(set->arn, sizeof(set->arn), "set-%u", ++sim->names);
		return set;
	}
	fail_msg("too many sets");
	return NULL;
}

static void start_task(struct sim *sim, struct sim_set *set)
{
	for (size_t i = 0; i < TASKS_MAX; i++) {
		struct sim_task *task = &set->tasks[i];

		if (task->exists)
			continue;
		*task = (struct sim_task){.exists = true, .is_registered = set->registers};
		snprintf(task->id, sizeof(task->id), "task-%u", ++sim->names);
		return;
	}
}

static int64_t count_serving(struct sim *sim)
{
	int64_t count = 0;

	for (size_t i = 0; i < SETS_MAX; i++) {
		for (size_t j = 0; j < TASKS_MAX && sim->sets[i].exists; j++) {
			const struct sim_task *task = &sim->sets[i].tasks[j];

			count += task->exists && task->is_healthy && task->is_registered &&
				 sim->sets[i].role != SET_OTHER;
		}
	}
	return count;
}

/* ECS replaces the tasks of a service: a healthy old one ends only when enough new ones are healthy. */
static bool may_stop(struct sim *sim, const struct sim_set *set, const struct sim_task *task)
{
	const struct sim_set *other = find_set(sim, set->role == SET_OLD ? SET_NEW : SET_OLD);

	if (!has_two_services(sim) || set->role == SET_CANARY || !other || set->scale > 0 ||
		!task->is_healthy)
		return true;
	return count_tasks(other, true) + count_tasks(set, true) > sim->desired;
}

static void run_set(struct sim *sim, struct sim_set *set)
{
	int64_t wanted = wanted_tasks(sim, set), count = count_tasks(set, false);

	if (count < wanted)
		start_task(sim, set);
	for (size_t i = 0; i < TASKS_MAX; i++) {
		struct sim_task *task = &set->tasks[i];
		bool is_bad = sim->is_broken && set->role != SET_OLD && set->role != SET_OTHER;

		if (!task->exists)
			continue;
		if (task->operation != NO_OPERATION && below(sim, 3) == 0) {
			task->is_registered = task->operation == REGISTERING;
			task->deregistered_ms = task->is_registered ? 0 : sim->now_ms;
			task->operation = NO_OPERATION;
		}
		if (!is_bad && below(sim, 3) == 0)
			task->is_healthy = true;
		if (count > wanted && may_stop(sim, set, task)) {
			task->exists = false;
			count--;
		} else if (sim->has_faults && below(sim, 60) == 0 && count_serving(sim) > 2 &&
			   count_tasks(set, true) > 1 && task->operation == NO_OPERATION) {
			task->exists = false;
			count--;
		}
	}
	if (has_two_services(sim) && set->scale == 0 && count == 0 && set->role != SET_CANARY)
		set->exists = false;
}

static void run_world(struct sim *sim)
{
	sim->now_ms += 500 + below(sim, 4000);
	for (size_t i = 0; i < SETS_MAX; i++) {
		if (sim->sets[i].exists)
			run_set(sim, &sim->sets[i]);
	}
}

/* ---- calls ---- */

static struct sim_task *find_task(struct sim *sim, struct span id, struct sim_set **ret_set)
{
	for (size_t i = 0; i < SETS_MAX; i++) {
		for (size_t j = 0; j < TASKS_MAX && sim->sets[i].exists; j++) {
			if (sim->sets[i].tasks[j].exists && span_is(id, sim->sets[i].tasks[j].id)) {
				*ret_set = &sim->sets[i];
				return &sim->sets[i].tasks[j];
			}
		}
	}
	return NULL;
}

static void check_deletion(struct sim *sim, const struct sim_set *set)
{
	/* ECS refuses to delete the primary. */
	assert_true(!set->is_primary || has_two_services(sim) || sim->delivery.is_first);
	for (size_t i = 0; i < TASKS_MAX && uses_names(sim); i++) {
		const struct sim_task *task = &set->tasks[i];

		if (!task->exists)
			continue;
		assert_false(task->is_registered); /* I2 */
		assert_int_equal(task->operation, NO_OPERATION);
		if (task->deregistered_ms > 0)
			assert_true(sim->now_ms >= task->deregistered_ms + TTL_MS);
	}
	if ((sim->delivery.access & ACCESS_ELB) && set->role == SET_CANARY)
		assert_int_equal(sim->weight, 0);
	if ((sim->delivery.access & ACCESS_ELB) && set->role == SET_OLD && sim->weight < 100) {
		const struct sim_set *next = find_set(sim, SET_NEW);

		assert_true(next && count_tasks(next, true) > 0); /* I1 */
	}
}

static void deregister(struct sim *sim, const struct sim_set *set, struct sim_task *task)
{
	assert_int_not_equal(set->role, SET_OTHER); /* I5 */
	task->operation = DEREGISTERING;
	task->is_registered = false;
	task->deregistered_ms = sim->now_ms;
	if (!sim->is_recreating && !sim->delivery.is_first)
		assert_true(count_serving(sim) > 0); /* I1 */
}

static void change_definition(struct sim *sim, enum set_role role)
{
	struct sim_set *other = find_set(sim, role == SET_OLD ? SET_NEW : SET_OLD);
	struct sim_set *set = find_set(sim, role);

	if (!set)
		set = create_set(sim, role, 100);
	set->scale = 100;
	set->is_primary = true;
	if (other) {
		other->scale = 0;
		other->is_primary = false;
	}
}

static void make_primary(struct sim *sim, struct sim_set *set)
{
	for (size_t i = 0; i < SETS_MAX; i++) {
		if (sim->sets[i].role != SET_OTHER)
			sim->sets[i].is_primary = &sim->sets[i] == set;
	}
}

static void set_weight(struct sim *sim, int64_t percent)
{
	const struct sim_set *canary = find_set(sim, SET_CANARY), *old = find_set(sim, SET_OLD),
			     *next = find_set(sim, SET_NEW);

	if (percent > 0)
		assert_true(canary && count_tasks(canary, true) > 0); /* I1 */
	if (percent < 100)
		assert_true((old && count_tasks(old, true) > 0) ||
			    (next && count_tasks(next, true) > 0));
	sim->weight = percent;
}

static void apply(struct sim *sim, const struct next_call *call)
{
	struct sim_set *set = find_set(sim, call->role);
	struct sim_task *task;

	assert_int_not_equal(call->role, SET_OTHER); /* I5 */
	switch (call->kind) {
	case CALL_CREATE_SET:
		assert_null(set); /* I4 */
		if (has_two_services(sim) && call->role != SET_CANARY)
			change_definition(sim, call->role);
		else
			create_set(sim, call->role, call->number);
		return;
	case CALL_SCALE_SET:
		assert_true(set && span_is(call->target, set->arn));
		if (has_two_services(sim) && call->role != SET_CANARY)
			change_definition(sim, call->role);
		else
			set->scale = call->number;
		return;
	case CALL_MAKE_PRIMARY:
		assert_true(set && span_is(call->target, set->arn));
		make_primary(sim, set);
		return;
	case CALL_DELETE_SET:
		assert_true(set && span_is(call->target, set->arn));
		check_deletion(sim, set);
		set->exists = false;
		return;
	case CALL_SET_DESIRED_COUNT:
		assert_true(sim->is_recreating);
		sim->desired = call->number;
		return;
	case CALL_REGISTER_INSTANCE:
		task = find_task(sim, call->target, &set);
		if (task) {
			assert_int_not_equal(set->role, SET_OTHER);
			assert_true(task->is_healthy); /* I1 */
			task->operation = REGISTERING;
		}
		return;
	case CALL_DEREGISTER_INSTANCE:
		task = find_task(sim, call->target, &set);
		if (task)
			deregister(sim, set, task);
		return;
	case CALL_REGISTER_TARGET:
	case CALL_DEREGISTER_TARGET:
		task = find_task(sim, call->target, &set);
		if (task) {
			assert_int_equal(set->role, SET_OLD);
			assert_true(sim->delivery.keeps_old);
			task->is_target_out = call->kind == CALL_DEREGISTER_TARGET;
			task->was_target_out = true;
		}
		return;
	case CALL_SET_WEIGHTS: set_weight(sim, call->number); return;
	}
}

/* ---- the snapshot ---- */

static struct snapshot take_snapshot(struct sim *sim)
{
	struct field_list sets = {0};
	struct snapshot snapshot = {
		.now_ms = sim->now_ms, .desired = sim->desired, .canary_weight = sim->weight};

	snapshot.rule_count = sim->delivery.access & ACCESS_ELB ? 1 : 0;
	for (size_t i = 0; i < SETS_MAX; i++) {
		struct sim_set *from = &sim->sets[i];
		struct snapshot_set *set;
		struct field_list tasks = {0};

		if (!from->exists)
			continue;
		for (size_t j = 0; j < TASKS_MAX; j++) {
			const struct sim_task *task = &from->tasks[j];

			if (task->exists)
				*(struct snapshot_task *)fields_append(sim->arena, &tasks,
					sizeof(struct snapshot_task)) =
					(struct snapshot_task){.id = span_of(task->id),
						.is_healthy = task->is_healthy,
						.is_registered = task->is_registered,
						.has_operation = task->operation != NO_OPERATION,
						.deregistered_ms = task->deregistered_ms,
						.target = task->is_target_out ? TARGET_NONE
									      : TARGET_HEALTHY,
						.is_target_removed = task->was_target_out};
		}
		set = fields_append(sim->arena, &sets, sizeof(*set));
		*set = (struct snapshot_set){.role = from->role,
			.arn = span_of(from->arn),
			.scale = from->scale,
			.desired = wanted_tasks(sim, from),
			.is_primary = from->is_primary,
			.is_steady = count_tasks(from, true) == wanted_tasks(sim, from) &&
				     count_tasks(from, false) == wanted_tasks(sim, from),
			.failed = sim->is_broken && from->role != SET_OLD ? 3 : 0,
			.tasks = tasks.items,
			.task_count = tasks.count};
		*(from->role == SET_CANARY ? &snapshot.canary_targets
					   : &snapshot.primary_targets) +=
			(size_t)count_tasks(from, true);
	}
	snapshot.sets = sets.items;
	snapshot.set_count = sets.count;
	return snapshot;
}

/* ---- running stages ---- */

static void sim_init(struct sim *sim, uint64_t seed, unsigned access, enum delivery_variant variant,
	int64_t desired)
{
	struct sim_set *old, *other;

	*sim = (struct sim){.arena = arena_new(0), .now_ms = 1000, .desired = desired};
	random_seeded_init(&sim->random, seed);
	sim->delivery = (struct delivery){.variant = variant,
		.access = access,
		.record_ttl_ms = TTL_MS,
		.desired_count = desired};
	old = create_set(sim, SET_OLD, 100);
	old->is_primary = true;
	other = create_set(sim, SET_OTHER, 50);
	for (int64_t i = 0; i < desired * 4; i++) {
		run_set(sim, old);
		run_set(sim, other);
	}
	while (count_tasks(old, true) < desired)
		run_set(sim, old);
}

static void sim_clear(struct sim *sim)
{
	arena_free(sim->arena);
}

/* The canary's part of the registered tasks, in percent. */
static double registered_share(struct sim *sim)
{
	struct sim_set *canary = find_set(sim, SET_CANARY);
	int64_t all = 0, of_canary = 0;

	for (size_t i = 0; i < SETS_MAX; i++) {
		for (size_t j = 0; j < TASKS_MAX && sim->sets[i].exists; j++) {
			bool counts = sim->sets[i].role != SET_OTHER &&
				      sim->sets[i].tasks[j].exists &&
				      sim->sets[i].tasks[j].is_registered;

			all += counts;
			of_canary += counts && &sim->sets[i] == canary;
		}
	}
	return all == 0 ? 0 : 100.0 * (double)of_canary / (double)all;
}

/* True when the stage succeeded, false when it failed. calls_max: stops after so many (-1: never). */
static bool run_stage(struct sim *sim, enum stage_kind kind, const struct stage_options *options,
	int *calls_left)
{
	double share_before = registered_share(sim);

	if (kind == STAGE_ECS_TRAFFIC_ROUTING)
		sim->delivery.canary_percent = options->canary;
	for (int step = 0; step < STEPS_MAX; step++) {
		struct snapshot snapshot = take_snapshot(sim);
		struct decision decision;
		const struct next_call *calls;

		decide_stage(&sim->delivery, kind, options, &snapshot, sim->arena, &decision);
		/* scenario 17: a rollout alone leaves the canary without traffic. */
		if (decision.kind == DECISION_DONE && kind == STAGE_ECS_CANARY_ROLLOUT &&
			sim->delivery.canary_percent == 0)
			assert_true(registered_share(sim) == 0);
		if (decision.kind == DECISION_DONE)
			return true;
		if (decision.kind == DECISION_FAIL)
			return false;
		if (decision.kind == DECISION_WAIT)
			assert_true(decision.reason.length > 0);
		calls = decision.calls.items;
		for (size_t i = 0; decision.kind == DECISION_CALL && i < decision.calls.count;
			i++) {
			if (*calls_left == 0)
				return false;
			if (*calls_left > 0)
				(*calls_left)--;
			if (!sim->has_faults || below(sim, 4) > 0)
				apply(sim, &calls[i]);
		}
		/* Footnote 4 of the seed. */
		if (kind == STAGE_ECS_PRIMARY_ROLLOUT && uses_names(sim) && !sim->has_faults)
			assert_true(registered_share(sim) <= share_before + 1e-9);
		run_world(sim);
		arena_reset(sim->arena);
	}
	fail_msg("stage %s does not end", stage_kind_name(kind));
	return false;
}

static void check_end(struct sim *sim, enum set_role role)
{
	struct sim_set *primary = find_set(sim, role);

	assert_null(find_set(sim, SET_CANARY)); /* I3 */
	assert_null(find_set(sim, role == SET_OLD ? SET_NEW : SET_OLD));
	assert_non_null(primary);
	assert_true(primary->is_primary);
	assert_int_equal(primary->scale, 100);
	assert_non_null(find_set(sim, SET_OTHER));
	assert_int_equal(sim->weight, 0);
	for (size_t i = 0; i < TASKS_MAX && uses_names(sim) && !sim->has_faults; i++) {
		if (primary->tasks[i].exists)
			assert_true(primary->tasks[i].is_registered);
	}
}

struct sim_stage {
	enum stage_kind kind;
	int64_t value; /* scale, or the canary's percent */
};

static const struct sim_stage canary_stages[] = {{STAGE_ECS_CANARY_ROLLOUT, 50},
	{STAGE_ECS_TRAFFIC_ROUTING, 33}, {STAGE_ECS_PRIMARY_ROLLOUT, 0},
	{STAGE_ECS_TRAFFIC_ROUTING, 0}, {STAGE_ECS_CANARY_CLEAN, 0}};
static const struct sim_stage blue_green_stages[] = {{STAGE_ECS_CANARY_ROLLOUT, 100},
	{STAGE_ECS_TRAFFIC_ROUTING, 100}, {STAGE_ECS_PRIMARY_ROLLOUT, 0},
	{STAGE_ECS_TRAFFIC_ROUTING, 0}, {STAGE_ECS_CANARY_CLEAN, 0}};
static const struct sim_stage growing_stages[] = {{STAGE_ECS_CANARY_ROLLOUT, 30},
	{STAGE_ECS_TRAFFIC_ROUTING, 20}, {STAGE_ECS_CANARY_ROLLOUT, 100},
	{STAGE_ECS_TRAFFIC_ROUTING, 60}, {STAGE_ECS_PRIMARY_ROLLOUT, 0},
	{STAGE_ECS_TRAFFIC_ROUTING, 0}, {STAGE_ECS_CANARY_CLEAN, 0}};
static const struct sim_stage sync_stages[] = {{STAGE_ECS_SYNC, 0}};

static const struct sim_pipeline {
	const struct sim_stage *stages;
	size_t count;
} pipelines[] = {
	{canary_stages, LENGTH(canary_stages)},
	{blue_green_stages, LENGTH(blue_green_stages)},
	{growing_stages, LENGTH(growing_stages)},
	{sync_stages, LENGTH(sync_stages)},
};

static bool run_pipeline(struct sim *sim, const struct sim_pipeline *pipeline, int calls_max)
{
	for (size_t i = 0; i < pipeline->count; i++) {
		struct stage_options options = {
			.scale = pipeline->stages[i].value,
			.canary = pipeline->stages[i].value,
		};

		if (!run_stage(sim, pipeline->stages[i].kind, &options, &calls_max))
			return false;
	}
	return true;
}

static void roll_back(struct sim *sim, bool with_faults)
{
	int calls_left = -1;

	sim->has_faults = with_faults;
	assert_true(run_stage(sim, STAGE_ROLLBACK, NULL, &calls_left));
}

static const unsigned accesses[] = {
	ACCESS_ELB, ACCESS_SERVICE_DISCOVERY, ACCESS_ELB | ACCESS_SERVICE_DISCOVERY};

/* ---- tests ---- */

static struct sim make_sim(uint64_t seed)
{
	struct sim sim;

	sim_init(&sim, seed, accesses[seed % LENGTH(accesses)],
		seed / 3 % 2 == 0 ? DELIVERY_TASK_SETS : DELIVERY_SERVICES,
		1 + (int64_t)(seed * 7 % 6));
	sim.canary_by_ecs = seed / 6 % 2 == 1;
	return sim;
}

/* scenarios 11, 16, 22, 25 and 27: every pipeline ends in one new primary, for each access and variant. */
static void test_pipelines_end(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		for (size_t i = 0; i < LENGTH(pipelines); i++) {
			struct sim sim = make_sim(seed);

			sim.has_faults = seed / 12 % 2 == 1;
			assert_true(run_pipeline(&sim, &pipelines[i], -1));
			check_end(&sim, SET_NEW);
			sim_clear(&sim);
		}
	}
}

/* scenarios 31 and 33: a rollback after any number of calls ends in the old primary. */
static void test_rollback_after_each_call(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < SEEDS / 5; seed++) {
		for (size_t i = 0; i < LENGTH(pipelines); i++) {
			bool ended = false;

			for (int calls = 0; !ended && calls < 60; calls++) {
				struct sim sim = make_sim(seed);

				ended = run_pipeline(&sim, &pipelines[i], calls);
				/* After success another deployment would be needed. */
				if (!ended) {
					roll_back(&sim, seed % 2 == 1);
					check_end(&sim, SET_OLD);
				}
				sim_clear(&sim);
			}
		}
	}
}

/* scenario 30: the new version never becomes healthy */
static void test_rollback_of_a_broken_version(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < SEEDS / 5; seed++) {
		for (size_t i = 0; i < LENGTH(pipelines); i++) {
			struct sim sim = make_sim(seed);

			sim.is_broken = true;
			assert_false(run_pipeline(&sim, &pipelines[i], -1));
			roll_back(&sim, false);
			check_end(&sim, SET_OLD);
			sim_clear(&sim);
		}
	}
}

/* scenario 31: the old tasks keep running */
static void test_rollback_keeps_the_old_tasks(void **state)
{
	struct sim sim;
	char before[2][NAME_SIZE];

	(void)state;
	sim_init(&sim, 4, ACCESS_SERVICE_DISCOVERY, DELIVERY_TASK_SETS, 2);
	for (size_t i = 0; i < 2; i++)
		memcpy(before[i], find_set(&sim, SET_OLD)->tasks[i].id, NAME_SIZE);
	assert_true(run_pipeline(&sim, &(struct sim_pipeline){canary_stages, 2}, -1));
	roll_back(&sim, false);
	check_end(&sim, SET_OLD);
	for (size_t i = 0; i < 2; i++)
		assert_string_equal(before[i], find_set(&sim, SET_OLD)->tasks[i].id);
	sim_clear(&sim);
}

/* scenario 36: nothing to return to */
static void test_rollback_of_a_first_deployment(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 12; seed++) {
		struct sim sim = make_sim(seed);

		find_set(&sim, SET_OLD)->exists = false;
		sim.delivery.is_first = true;
		sim.is_broken = true;
		assert_false(run_pipeline(&sim, &pipelines[3], -1));
		roll_back(&sim, false);
		assert_null(find_set(&sim, SET_NEW));
		sim_clear(&sim);
	}
}

static bool gets_traffic(const struct sim *sim, const struct sim_task *task)
{
	return task->exists && (task->is_registered || ((sim->delivery.access & ACCESS_ELB) &&
							       !task->is_target_out));
}

/* An old primary that is kept gets no traffic; it gets it back in a rollback, or it is deleted. */
static void test_kept_primary(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct sim sim = make_sim(seed);
		struct sim_set *old = find_set(&sim, SET_OLD);

		sim.delivery.variant = DELIVERY_TASK_SETS;
		sim.delivery.keeps_old = true;
		assert_true(run_pipeline(&sim, &pipelines[seed % LENGTH(pipelines)], -1));
		assert_true(old->exists && !old->is_primary);
		for (size_t i = 0; i < TASKS_MAX; i++)
			assert_false(gets_traffic(&sim, &old->tasks[i]));
		if (seed & 1) {
			roll_back(&sim, false);
			check_end(&sim, SET_OLD);
			for (size_t i = 0; i < TASKS_MAX; i++)
				assert_true(!old->tasks[i].exists ||
					    gets_traffic(&sim, &old->tasks[i]));
		}
		for (unsigned step = 0; old->exists && !(seed & 1); step++) {
			struct snapshot snapshot = take_snapshot(&sim);
			struct decision decision;

			assert_true(step < 100);
			decide_keep(&sim.delivery, true, &snapshot, sim.arena, &decision);
			for (size_t i = 0; i < decision.calls.count; i++)
				apply(&sim, &((struct next_call *)decision.calls.items)[i]);
			run_world(&sim);
		}
		check_end(&sim, seed & 1 ? SET_OLD : SET_NEW);
		sim_clear(&sim);
	}
}

/* scenario 10 */
static void test_first_deployment(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 12; seed++) {
		struct sim sim = make_sim(seed);

		find_set(&sim, SET_OLD)->exists = false;
		sim.delivery.is_first = true;
		assert_true(run_pipeline(&sim, &pipelines[3], -1));
		check_end(&sim, SET_NEW);
		sim_clear(&sim);
	}
}

/* scenario 12 */
static void test_recreate(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 24; seed++) {
		struct sim sim = make_sim(seed);
		int64_t desired = sim.desired;

		sim.delivery.recreate = true;
		sim.is_recreating = true;
		assert_true(run_pipeline(&sim, &pipelines[3], -1));
		assert_int_equal(sim.desired, desired);
		check_end(&sim, SET_NEW);
		sim_clear(&sim);
	}
}

/* A replaced canary task is registered again while later stages wait. */
static void test_hold(void **state)
{
	struct sim sim;
	struct decision decision;
	struct snapshot snapshot;
	struct sim_set *canary;
	const struct next_call *calls;

	(void)state;
	sim_init(&sim, 1, ACCESS_SERVICE_DISCOVERY, DELIVERY_TASK_SETS, 2);
	assert_true(run_pipeline(&sim, &(struct sim_pipeline){canary_stages, 2}, -1));
	snapshot = take_snapshot(&sim);
	decide_hold(&sim.delivery, &snapshot, sim.arena, &decision);
	assert_int_equal(decision.kind, DECISION_DONE);
	canary = find_set(&sim, SET_CANARY);
	for (size_t i = 0; i < TASKS_MAX; i++)
		canary->tasks[i].exists = false;
	canary->tasks[0] = (struct sim_task){.id = "again", .exists = true, .is_healthy = true};
	snapshot = take_snapshot(&sim);
	decide_hold(&sim.delivery, &snapshot, sim.arena, &decision);
	assert_int_equal(decision.kind, DECISION_CALL);
	calls = decision.calls.items;
	assert_int_equal(decision.calls.count, 1);
	assert_int_equal(calls[0].kind, CALL_REGISTER_INSTANCE);
	assert_true(span_is(calls[0].target, "again"));
	sim_clear(&sim);
}

/* scenario 24 */
static void test_no_rule_for_the_pair(void **state)
{
	struct sim sim;
	struct decision decision;
	struct snapshot snapshot;
	struct stage_options options = {.canary = 20};

	(void)state;
	sim_init(&sim, 1, ACCESS_ELB, DELIVERY_TASK_SETS, 2);
	snapshot = take_snapshot(&sim);
	snapshot.rule_count = 0;
	decide_stage(&sim.delivery, STAGE_ECS_TRAFFIC_ROUTING, &options, &snapshot, sim.arena,
		&decision);
	assert_int_equal(decision.kind, DECISION_FAIL);
	assert_string_equal(decision.reason.data, "no rule forwards to both target groups");
	sim_clear(&sim);
}

/* scenario 35: weights stay on the canary until the primary group has a healthy target */
static void test_rollback_waits_for_the_primary_group(void **state)
{
	struct snapshot_set sets[] = {{.role = SET_OLD,
					      .scale = 100,
					      .desired = 2,
					      .is_primary = true,
					      .is_steady = true},
		{.role = SET_CANARY, .scale = 100, .desired = 2, .is_steady = true}};
	struct snapshot snapshot = {.now_ms = 1,
		.desired = 2,
		.sets = sets,
		.set_count = 2,
		.rule_count = 1,
		.canary_weight = 100,
		.canary_targets = 2};
	struct delivery delivery = {.access = ACCESS_ELB};
	_arena_ struct arena *arena = arena_new(0);
	struct decision decision;
	const struct next_call *calls;

	(void)state;
	decide_stage(&delivery, STAGE_ROLLBACK, NULL, &snapshot, arena, &decision);
	assert_int_equal(decision.kind, DECISION_WAIT);
	assert_string_equal(decision.reason.data, "the primary target group has no healthy target");
	snapshot.primary_targets = 1;
	decide_stage(&delivery, STAGE_ROLLBACK, NULL, &snapshot, arena, &decision);
	calls = decision.calls.items;
	assert_int_equal(decision.kind, DECISION_CALL);
	assert_int_equal(calls[0].kind, CALL_SET_WEIGHTS);
	assert_int_equal(calls[0].number, 0);
}

/* A canary without a healthy target gets no weight. */
static void test_routing_waits_for_the_canary_group(void **state)
{
	struct snapshot snapshot = {
		.now_ms = 1, .desired = 2, .rule_count = 1, .primary_targets = 2};
	struct delivery delivery = {.access = ACCESS_ELB};
	struct stage_options options = {.canary = 20};
	_arena_ struct arena *arena = arena_new(0);
	struct decision decision;

	(void)state;
	decide_stage(&delivery, STAGE_ECS_TRAFFIC_ROUTING, &options, &snapshot, arena, &decision);
	assert_int_equal(decision.kind, DECISION_WAIT);
	assert_string_equal(decision.reason.data, "the canary target group has no healthy target");
	snapshot.canary_targets = 1;
	decide_stage(&delivery, STAGE_ECS_TRAFFIC_ROUTING, &options, &snapshot, arena, &decision);
	assert_int_equal(decision.kind, DECISION_CALL);
}

/* scenario 27: while the canary has everything, new primary tasks leave as soon as ECS registered them. */
static void test_new_primary_of_blue_green(void **state)
{
	struct snapshot_task canary[] = {
		{.id = SPAN("c1"), .is_healthy = true, .is_registered = true}};
	struct snapshot_task next[] = {{.id = SPAN("n1"), .is_registered = true}};
	struct snapshot_set sets[] = {
		{.role = SET_CANARY,
			.scale = 100,
			.desired = 1,
			.is_steady = true,
			.tasks = canary,
			.task_count = 1},
		{.role = SET_NEW, .scale = 100, .desired = 1, .tasks = next, .task_count = 1},
	};
	struct snapshot snapshot = {.now_ms = 1, .desired = 1, .sets = sets, .set_count = 2};
	struct delivery delivery = {.access = ACCESS_SERVICE_DISCOVERY, .canary_percent = 100};
	struct stage_options options = {0};
	_arena_ struct arena *arena = arena_new(0);
	struct decision decision;
	const struct next_call *calls;

	(void)state;
	decide_stage(&delivery, STAGE_ECS_PRIMARY_ROLLOUT, &options, &snapshot, arena, &decision);
	calls = decision.calls.items;
	assert_int_equal(decision.kind, DECISION_CALL);
	assert_int_equal(decision.calls.count, 1);
	assert_int_equal(calls[0].kind, CALL_DEREGISTER_INSTANCE);
	assert_true(span_is(calls[0].target, "n1"));
}

/* Tasks that ran for a second when the reading began, not only when it ended: in between they may have failed. */
static void test_tasks_settle_before_they_are_read(void **state)
{
	struct snapshot_task tasks[] = {{.id = SPAN("c1"), .is_healthy = true}};
	struct snapshot_set sets[] = {{.role = SET_CANARY,
		.scale = 100,
		.desired = 1,
		.is_steady = true,
		.settled_ms = 1500,
		.tasks = tasks,
		.task_count = 1}};
	struct snapshot snapshot = {.now_ms = 2000,
		.read_ms = 1499,
		.desired = 1,
		.sets = sets,
		.set_count = 1,
		.rule_count = 1,
		.canary_targets = 1};
	struct delivery delivery = {.access = ACCESS_ELB};
	struct stage_options options = {.scale = 100};
	_arena_ struct arena *arena = arena_new(0);
	struct decision decision;

	(void)state;
	decide_stage(&delivery, STAGE_ECS_CANARY_ROLLOUT, &options, &snapshot, arena, &decision);
	assert_int_equal(decision.kind, DECISION_WAIT);
	assert_string_equal(decision.reason.data, "the tasks of the canary have just started");
	snapshot.read_ms = 1500;
	decide_stage(&delivery, STAGE_ECS_CANARY_ROLLOUT, &options, &snapshot, arena, &decision);
	assert_int_equal(decision.kind, DECISION_DONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pipelines_end),
		cmocka_unit_test(test_rollback_after_each_call),
		cmocka_unit_test(test_rollback_of_a_broken_version),
		cmocka_unit_test(test_rollback_keeps_the_old_tasks),
		cmocka_unit_test(test_rollback_of_a_first_deployment),
		cmocka_unit_test(test_first_deployment),
		cmocka_unit_test(test_kept_primary),
		cmocka_unit_test(test_recreate),
		cmocka_unit_test(test_hold),
		cmocka_unit_test(test_no_rule_for_the_pair),
		cmocka_unit_test(test_rollback_waits_for_the_primary_group),
		cmocka_unit_test(test_routing_waits_for_the_canary_group),
		cmocka_unit_test(test_new_primary_of_blue_green),
		cmocka_unit_test(test_tasks_settle_before_they_are_read),
	};

	return cmocka_run_group_tests_name("decide", tests, NULL, NULL);
}
