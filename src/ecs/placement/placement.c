/*
 * Placement: compiling a request, and checking one instance after the other; see the header. The
 * strategy (placement_strategy.c) orders the instances, best first, so that the first one checked
 * usually takes the task.
 */
#include "ecs/placement/placement.h"

#include <stdio.h>

#include "base/memory.h"
#include "ecs/placement/placement_internal.h"
#include "ecs/record/attribute.h"

/* A cluster of up to this many instances is walked to a random position; in a larger one the walk
 * starts at a random key and continues a little, which evens out the uneven distances between
 * ids. */
#define RANDOM_WALK_MAX 64

static const char *const obstacle_reasons[] = {
#define X(name, reason, words) [PLACEMENT_OBSTACLE_##name] = (reason),
	PLACEMENT_OBSTACLES(X)
#undef X
};
static const char *const obstacle_text[] = {
#define X(name, reason, words) [PLACEMENT_OBSTACLE_##name] = (words),
	PLACEMENT_OBSTACLES(X)
#undef X
};

/* ---- compiling ---- */

static int add_query(struct placement *placement, const struct json *constraint, struct err *err)
{
	struct span expression = json_get_text(constraint, "expression");
	int code;

	if (expression.length == 0)
		return err_set(err, -EINVAL,
			"placementConstraints: a memberOf constraint needs an expression");
	code = cluster_query_parse(expression, &placement->queries[placement->query_count], err);
	if (code < 0)
		return err_prefix(err, code, "placementConstraints: the expression '%.*s'",
			SPAN_ARGS(expression));
	placement->query_count++;
	return 0;
}

static int read_constraints(struct placement *placement, const struct json *constraints,
	struct err *err)
{
	if (json_count(constraints) > PLACEMENT_CONSTRAINTS_MAX)
		return err_set(err, -EINVAL, "placementConstraints: %zu are given, the limit is %d",
			json_count(constraints), PLACEMENT_CONSTRAINTS_MAX);
	JSON_EACH_ITEM (constraints, constraint) {
		struct span type = json_get_text(constraint, "type");
		int code = 0;

		if (span_is(type, "memberOf"))
			code = add_query(placement, constraint, err);
		else if (!span_is(type, "distinctInstance"))
			code = err_set(err, -EINVAL,
				"placementConstraints: the type must be memberOf or "
				"distinctInstance");
		else if (json_get_text(constraint, "expression").length > 0)
			code = err_set(err, -EINVAL,
				"placementConstraints: distinctInstance takes no expression");
		else
			placement->distinct = true;
		if (code < 0)
			return code;
	}
	return 0;
}

static int read_attributes(struct placement *placement, const struct json *attributes,
	struct err *err)
{
	if (json_count(attributes) > TASK_REQUIRED_ATTRIBUTES_MAX)
		return err_set(err, -EINVAL,
			"the task definition requires %zu attributes, the limit is %d",
			json_count(attributes), TASK_REQUIRED_ATTRIBUTES_MAX);
	JSON_EACH_ITEM (attributes, attribute) {
		struct span value = json_get_text(attribute, "value");
		size_t place = placement->needed_count++;

		placement->needed[place].name = attribute_packed_text(placement->compiled,
			json_get_text(attribute, "name"));
		if (value.data)
			placement->needed[place].value =
				attribute_packed_text(placement->compiled, value);
	}
	return 0;
}

int placement_new(const struct placement_config *config, struct placement **ret_placement,
	struct err *err)
{
	_placement_ struct placement *placement = memory_allocate(sizeof(*placement));
	int code;

	placement->config = *config;
	placement->compiled = arena_new(0);
	placement->scratch = arena_new(0);
	code = read_constraints(placement, config->constraints, err);
	if (code == 0)
		code = read_constraints(placement, config->needs->constraints, err);
	if (code == 0)
		code = read_attributes(placement, config->needs->attributes, err);
	if (code == 0)
		code = placement_steps_read(placement, err);
	if (code < 0)
		return code;
	*ret_placement = TAKE(placement);
	return 0;
}

void placement_free(struct placement *placement)
{
	if (!placement)
		return;
	placement_daemons_free(placement);
	for (size_t i = 0; i < placement->query_count; i++)
		cluster_query_free(placement->queries[i]);
	arena_free(placement->compiled);
	arena_free(placement->scratch);
	free(placement);
}

void placement_free_pointer(struct placement **placement)
{
	placement_free(*placement);
}

/* ---- one instance ---- */

/* EXTERNAL tasks run on machines that announce themselves as such, EC2 tasks on the others. */
static bool has_launch_type(const struct placement *placement,
	const struct container_instance_facts *facts)
{
	bool external = attribute_packed_find(facts->attributes, SPAN("ecs.capability.external"),
		&(struct span){0});

	switch (placement->config.launch_type) {
	case TASK_LAUNCH_EC2: return !external;
	case TASK_LAUNCH_EXTERNAL: return external;
	default: return true;
	}
}

enum placement_obstacle placement_match(struct placement *placement, const struct store_view *view,
	const struct store_object *instance)
{
	const struct container_instance_facts *facts = container_instance_facts(instance);
	struct span value;

	if (!has_launch_type(placement, facts))
		return PLACEMENT_OBSTACLE_ATTRIBUTE;
	for (size_t i = 0; i < placement->needed_count; i++)
		if (!attribute_packed_find(facts->attributes, placement->needed[i].name, &value) ||
			(placement->needed[i].value.data &&
				!span_equal(value, placement->needed[i].value)))
			return PLACEMENT_OBSTACLE_ATTRIBUTE;
	for (size_t i = 0; i < placement->query_count; i++)
		if (!container_instance_matches(placement->queries[i], view, instance,
			    placement->scratch))
			return PLACEMENT_OBSTACLE_MEMBER_OF;
	return PLACEMENT_NO_OBSTACLE;
}

/* Is one of the wanted ports in a packed list? */
static bool ports_meet(const struct task_needs *needs, struct span ports)
{
	struct span rest = ports, one, number, protocol;
	uint64_t port;

	while (rest.length > 0) {
		if (!span_split(rest, ',', &one, &rest)) {
			one = rest;
			rest = SPAN("");
		}
		if (!span_split(one, '/', &number, &protocol) ||
			!span_to_unsigned(number, UINT16_MAX, &port))
			continue;
		for (size_t i = 0; i < needs->port_count; i++)
			if (needs->ports[i].port == port &&
				needs->ports[i].udp == span_is(protocol, "udp"))
				return true;
	}
	return false;
}

/* Only a task with fixed host ports needs a scan of the tasks on the instance. */
static bool ports_are_free(const struct placement *placement, const struct store_view *view,
	const struct store_object *instance)
{
	const struct task_needs *needs = placement->config.needs;
	struct store_cursor cursor = {.view = view, .kind = &task_kind, .index = TASK_BY_INSTANCE};
	const struct store_object *task;

	if (needs->port_count == 0)
		return true;
	if (ports_meet(needs, container_instance_facts(instance)->ports))
		return false;
	cursor.prefix = arena_format(placement->scratch, "%.*s/live/", SPAN_ARGS(instance->key));
	while ((task = store_next(&cursor)))
		if (ports_meet(needs, task_facts(task)->ports))
			return false;
	return true;
}

/* Tasks that are wanted to stop do not count, also while they still run: as ECS has it. */
static bool is_distinct(const struct placement *placement, const struct store_view *view,
	const struct store_object *instance)
{
	const struct placement_config *config = &placement->config;
	struct store_cursor cursor = {.view = view,
		.kind = &task_kind,
		.index = TASK_BY_INSTANCE,
		.prefix = arena_format(placement->scratch, "%.*s/live/%.*s",
			SPAN_ARGS(instance->key), SPAN_ARGS(config->service)),
		.exact = true};
	const struct store_object *task;

	while ((task = store_next(&cursor)))
		if (task_facts(task)->desired == TASK_RUNNING &&
			(config->service.length > 0 ||
				span_equal(task_facts(task)->group, config->group)))
			return false;
	return true;
}

enum placement_obstacle placement_check(struct placement *placement, const struct store_view *view,
	const struct store_object *instance)
{
	const struct container_instance_facts *facts = container_instance_facts(instance);
	const struct task_needs *needs = placement->config.needs;
	int64_t sums[STORE_MEASURES];
	struct placement_room reserved;
	enum placement_obstacle obstacle;

	if (!facts->connected)
		return PLACEMENT_OBSTACLE_AGENT;
	obstacle = placement_match(placement, view, instance);
	if (obstacle)
		return obstacle;
	if (placement->distinct && !is_distinct(placement, view, instance))
		return PLACEMENT_OBSTACLE_DISTINCT;
	if (placement_daemons_wait(placement, view, instance, &reserved))
		return PLACEMENT_OBSTACLE_DAEMON;
	if (!ports_are_free(placement, view, instance))
		return PLACEMENT_OBSTACLE_PORTS;
	container_instance_sum_tasks(view, instance, sums);
	if (needs->cpu > 0 && needs->cpu > facts->cpu - sums[TASK_SUM_CPU] - reserved.cpu)
		return PLACEMENT_OBSTACLE_CPU;
	if (needs->memory > 0 &&
		needs->memory > facts->memory - sums[TASK_SUM_MEMORY] - reserved.memory)
		return PLACEMENT_OBSTACLE_MEMORY;
	return PLACEMENT_NO_OBSTACLE;
}

/* ---- failures ---- */

static void fail_without_instances(struct placement_failure *ret_failure)
{
	*ret_failure = (struct placement_failure){
		.reason = SPAN("No Container Instances were found in your cluster."),
		.instance = SPAN_NONE,
		.event = SPAN("Reason: No Container Instances were found in your cluster."),
	};
}

static void fail_at(const struct placement *placement, const struct store_object *instance,
	enum placement_obstacle obstacle, struct placement_failure *ret_failure)
{
	struct arena *arena = placement->config.arena;

	*ret_failure = (struct placement_failure){
		.reason = span_of(obstacle_reasons[obstacle]),
		.instance = arena_copy_span(arena, instance->key),
		.event = arena_format(arena, "The closest matching (container-instance %.*s) %s.",
			SPAN_ARGS(container_instance_facts(instance)->id), obstacle_text[obstacle]),
	};
}

/* ---- choosing ---- */

/* State of a search; remembers the closest instance so far. */
struct search {
	struct placement *placement;
	const struct store_view *view;
	const struct store_object *closest;
	enum placement_obstacle obstacle;
};

static bool try_instance(struct search *search, const struct store_object *instance)
{
	enum placement_obstacle obstacle =
		placement_check(search->placement, search->view, instance);

	if (obstacle > search->obstacle) {
		search->obstacle = obstacle;
		search->closest = instance;
	}
	return obstacle == PLACEMENT_NO_OBSTACLE;
}

static struct store_cursor active_instances(const struct placement *placement,
	const struct store_view *view)
{
	return (struct store_cursor){.view = view,
		.kind = &container_instance_kind,
		.index = CONTAINER_INSTANCE_BY_STATUS,
		.prefix = arena_format(placement->scratch, "%.*s/ACTIVE",
			SPAN_ARGS(placement->config.cluster_key)),
		.exact = true};
}

/* Goes round once from a random position. */
static const struct store_object *choose_random(struct search *search, size_t count)
{
	struct placement *placement = search->placement;
	struct random *random = placement->config.random;
	struct store_cursor cursor = active_instances(placement, search->view);
	const struct store_object *instance;
	uint64_t skip = random_below(random, count < RANDOM_WALK_MAX ? count : RANDOM_WALK_MAX);

	if (count > RANDOM_WALK_MAX) {
		cursor.after_text = cursor.prefix;
		cursor.after_key = arena_format(placement->scratch, "%.*s/%016llx",
			SPAN_ARGS(placement->config.cluster_key),
			(unsigned long long)random_u64(random));
	}
	for (size_t requested = 0; requested < count;) {
		instance = store_next(&cursor);
		if (!instance) {
			cursor = active_instances(placement, search->view);
			continue;
		}
		if (skip > 0) {
			skip--;
			continue;
		}
		if (try_instance(search, instance))
			return instance;
		requested++;
	}
	return NULL;
}

static const struct store_object *choose_ranked(struct search *search, size_t count)
{
	struct placement_ranking *ranking = placement_rank(search->placement, search->view, count);
	const struct store_object *instance;

	while ((instance = placement_rank_next(ranking)))
		if (try_instance(search, instance))
			return instance;
	return NULL;
}

const struct store_object *placement_choose(struct placement *placement,
	const struct store_view *view, struct placement_failure *ret_failure)
{
	struct search search = {.placement = placement, .view = view};
	struct store_cursor active;
	const struct store_object *chosen;
	size_t count;

	arena_reset(placement->scratch);
	active = active_instances(placement, view);
	count = store_count(view, active.kind, active.index, active.prefix, active.exact);
	if (count == 0) {
		fail_without_instances(ret_failure);
		return NULL;
	}
	placement_daemons_load(placement, view);
	chosen = placement->step_count == 0 || count == 1 ? choose_random(&search, count)
							  : choose_ranked(&search, count);
	if (!chosen)
		fail_at(placement, search.closest, search.obstacle, ret_failure);
	return chosen;
}

bool placement_fits(struct placement *placement, const struct store_view *view,
	const struct store_object *instance, bool forced, struct placement_failure *ret_failure)
{
	enum placement_obstacle obstacle;

	arena_reset(placement->scratch);
	if (!forced && container_instance_facts(instance)->status != CONTAINER_INSTANCE_ACTIVE) {
		obstacle = PLACEMENT_OBSTACLE_DRAINING;
	} else {
		if (forced)
			placement_daemons_free(placement);
		else
			placement_daemons_load(placement, view);
		obstacle = placement_check(placement, view, instance);
	}
	if (obstacle)
		fail_at(placement, instance, obstacle, ret_failure);
	return !obstacle;
}
