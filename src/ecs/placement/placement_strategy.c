/*
 * Strategies: which instance to check first. Each step of a chain gives every instance a number,
 * less is better, and a later step decides among those that are equal in the earlier ones; ties are
 * broken at random. Numbers that need a read of the store (peers, remaining resources) are computed
 * only when a step needs them; whether an instance takes the task is checked later, best first.
 */
#include "base/memory.h"
#include "ecs/placement/placement_internal.h"
#include "ecs/record/attribute.h"

/* Up to this many tasks are checked one by one to leave out stopping ones. */
#define PEERS_OF_SERVICE_WALKED 8
#define PEERS_OF_GROUP_WALKED 256

/* ---- reading ---- */

static int read_spread(struct placement *placement, struct span field, struct placement_step *step,
	struct err *err)
{
	struct span prefix, name;

	if (span_is(field, "instanceId") || span_is(field, "host")) {
		step->type = PLACEMENT_SPREAD_INSTANCES;
		return 0;
	}
	if (!span_split(field, ':', &prefix, &name) || !span_is(prefix, "attribute") ||
		name.length == 0)
		return err_set(err, -EINVAL,
			"placementStrategy: the field of spread must be instanceId, host or "
			"attribute:NAME");
	step->type = PLACEMENT_SPREAD_ATTRIBUTE;
	step->attribute = attribute_packed_text(placement->compiled, name);
	return 0;
}

static int read_step(struct placement *placement, const struct json *item,
	struct placement_step *step, struct err *err)
{
	struct span type = json_get_text(item, "type");
	struct span field = json_get_text(item, "field");

	if (!field.data)
		field = SPAN("");
	if (span_is(type, "spread"))
		return read_spread(placement, field, step, err);
	if (span_is(type, "random")) {
		if (field.length > 0)
			return err_set(err, -EINVAL, "placementStrategy: random takes no field");
		step->type = PLACEMENT_RANDOM;
		return 0;
	}
	if (!span_is(type, "binpack"))
		return err_set(err, -EINVAL,
			"placementStrategy: the type must be random, spread or binpack");
	if (span_equal_ignoring_case(field, SPAN("cpu")))
		step->type = PLACEMENT_BINPACK_CPU;
	else if (span_equal_ignoring_case(field, SPAN("memory")))
		step->type = PLACEMENT_BINPACK_MEMORY;
	else
		return err_set(err, -EINVAL,
			"placementStrategy: the field of binpack must be cpu or memory");
	return 0;
}

int placement_steps_read(struct placement *placement, struct err *err)
{
	const struct json *strategy = placement->config.strategy;

	if (json_count(strategy) > PLACEMENT_STRATEGIES_MAX)
		return err_set(err, -EINVAL, "placementStrategy: %zu are given, the limit is %d",
			json_count(strategy), PLACEMENT_STRATEGIES_MAX);
	JSON_EACH_ITEM (strategy, item) {
		int code =
			read_step(placement, item, &placement->steps[placement->step_count], err);

		if (code < 0)
			return code;
		/* A random order has no ties, so later steps are dropped. */
		if (placement->steps[placement->step_count].type == PLACEMENT_RANDOM)
			break;
		placement->step_count++;
	}
	if (json_count(strategy) == 0 && placement->config.service.length > 0) {
		/* ECS's default for services: even over zones, then over instances. */
		placement->steps[0] = (struct placement_step){
			PLACEMENT_SPREAD_ATTRIBUTE, SPAN("ecs.availability-zone")};
		placement->steps[1] = (struct placement_step){.type = PLACEMENT_SPREAD_INSTANCES};
		placement->step_count = 2;
	}
	return 0;
}

/* ---- numbers ---- */

/* Tasks of the same service, or of the same group, with desired status RUNNING on an instance.
 * Exact up to a few hundred tasks on it; beyond that stopping tasks may count, too. */
static int64_t placement_count_peers(const struct placement *placement,
	const struct store_view *view, const struct store_object *instance)
{
	const struct placement_config *config = &placement->config;
	bool of_service = config->service.length > 0;
	char text[2 * STORE_KEY_MAX];
	struct store_cursor cursor = {
		.view = view, .kind = &task_kind, .index = TASK_BY_INSTANCE, .exact = true};
	size_t length = instance->key.length;
	int left = of_service ? PEERS_OF_SERVICE_WALKED : PEERS_OF_GROUP_WALKED;
	const struct store_object *task;
	int64_t peers = 0;

	memcpy(text, instance->key.data, length);
	memcpy(text + length, "/live/", 6);
	length += 6;
	memcpy(text + length, config->service.data, config->service.length);
	cursor.prefix = (struct span){text, length + config->service.length};
	while ((task = store_next(&cursor))) {
		if (left-- == 0)
			return (int64_t)store_count(view, &task_kind, TASK_BY_INSTANCE,
				cursor.prefix, true);
		peers += task_facts(task)->desired == TASK_RUNNING &&
			 (of_service || span_equal(task_facts(task)->group, config->group));
	}
	return peers;
}

/* ---- ranking ---- */

/* Sums of peers over the instances that have one value of an attribute: open addressing. */
struct tally {
	struct span value; /* data NULL: free */
	int64_t peers;
};

struct candidate {
	const struct store_object *instance;
	int64_t peers;
	struct tally *tally;                          /* of the current attribute */
	int64_t scores[PLACEMENT_STRATEGIES_MAX + 1]; /* the last one is chance */
};

struct placement_ranking {
	struct candidate *candidates;
	size_t count, next;
	size_t score_count;
	bool sorted;
};

static struct tally *tally_find(struct tally *tallies, size_t mask, struct span value)
{
	size_t slot = span_hash(value) & mask;

	while (tallies[slot].value.data && !span_equal(tallies[slot].value, value))
		slot = (slot + 1) & mask;
	tallies[slot].value = value;
	return &tallies[slot];
}

static struct span value_of(const struct candidate *candidate, struct span attribute)
{
	struct span value;

	if (!attribute_packed_find(container_instance_facts(candidate->instance)->attributes,
		    attribute, &value))
		return SPAN("");
	return value;
}

static void score_attribute(struct placement *placement, struct placement_ranking *ranking,
	size_t step)
{
	struct span attribute = placement->steps[step].attribute;
	size_t mask = 1;
	struct tally *tallies;

	while (mask < 2 * ranking->count)
		mask *= 2;
	mask--;
	tallies = arena_allocate_array(placement->scratch, mask + 1, sizeof(*tallies));
	for (size_t i = 0; i < ranking->count; i++) {
		struct candidate *candidate = &ranking->candidates[i];

		candidate->tally = tally_find(tallies, mask, value_of(candidate, attribute));
		candidate->tally->peers += candidate->peers;
	}
	for (size_t i = 0; i < ranking->count; i++)
		ranking->candidates[i].scores[step] = ranking->candidates[i].tally->peers;
}

static void score_remaining(struct placement_ranking *ranking, const struct store_view *view,
	size_t step, bool cpu)
{
	for (size_t i = 0; i < ranking->count; i++) {
		struct candidate *candidate = &ranking->candidates[i];
		const struct container_instance_facts *facts =
			container_instance_facts(candidate->instance);
		int64_t sums[STORE_MEASURES];

		container_instance_sum_tasks(view, candidate->instance, sums);
		candidate->scores[step] = cpu ? facts->cpu - sums[TASK_SUM_CPU]
					      : facts->memory - sums[TASK_SUM_MEMORY];
	}
}

static void score_step(struct placement *placement, const struct store_view *view,
	struct placement_ranking *ranking, size_t step)
{
	switch (placement->steps[step].type) {
	case PLACEMENT_SPREAD_INSTANCES:
		for (size_t i = 0; i < ranking->count; i++)
			ranking->candidates[i].scores[step] = ranking->candidates[i].peers;
		break;
	case PLACEMENT_SPREAD_ATTRIBUTE: score_attribute(placement, ranking, step); break;
	case PLACEMENT_BINPACK_CPU: score_remaining(ranking, view, step, true); break;
	case PLACEMENT_BINPACK_MEMORY: score_remaining(ranking, view, step, false); break;
	case PLACEMENT_RANDOM: break; /* the end of a chain, never stored */
	}
}

/* One random draw for all: ties are ordered by a hash of it and their index. */
static void score_chance(struct placement *placement, struct placement_ranking *ranking)
{
	uint64_t draw = random_u64(placement->config.random);

	for (size_t i = 0; i < ranking->count; i++) {
		uint64_t mixed = draw + (i + 1) * UINT64_C(0x9e3779b97f4a7c15);

		mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
		mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
		ranking->candidates[i].scores[ranking->score_count] = (int64_t)(mixed >> 1);
	}
	ranking->score_count++;
}

struct placement_ranking *placement_rank(struct placement *placement, const struct store_view *view,
	size_t count)
{
	struct arena *arena = placement->scratch;
	struct placement_ranking *ranking = arena_allocate(arena, sizeof(*ranking));
	struct store_cursor cursor = {.view = view,
		.kind = &container_instance_kind,
		.index = CONTAINER_INSTANCE_BY_STATUS,
		.prefix = arena_format(arena, "%.*s/ACTIVE",
			SPAN_ARGS(placement->config.cluster_key)),
		.exact = true};
	const struct store_object *instance;
	bool spreads = false;

	for (size_t i = 0; i < placement->step_count; i++)
		spreads |= placement->steps[i].type <= PLACEMENT_SPREAD_ATTRIBUTE;
	ranking->candidates = arena_allocate_array(arena, count, sizeof(*ranking->candidates));
	while (ranking->count < count && (instance = store_next(&cursor))) {
		struct candidate *candidate = &ranking->candidates[ranking->count++];

		candidate->instance = instance;
		if (spreads)
			candidate->peers = placement_count_peers(placement, view, instance);
	}
	ranking->score_count = placement->step_count;
	for (size_t i = 0; i < placement->step_count; i++)
		score_step(placement, view, ranking, i);
	score_chance(placement, ranking);
	return ranking;
}

static int compare_candidates(const void *a, const void *b)
{
	const struct candidate *left = a, *right = b;

	/* Scores behind the last one are 0 for all. */
	for (size_t i = 0; i < LENGTH(left->scores); i++)
		if (left->scores[i] != right->scores[i])
			return left->scores[i] < right->scores[i] ? -1 : 1;
	return 0;
}

/* The best instance is found in one pass; the others are sorted only when it does not take the
 * task. */
const struct store_object *placement_rank_next(struct placement_ranking *ranking)
{
	struct candidate *candidates = ranking->candidates;

	if (ranking->next == ranking->count)
		return NULL;
	if (ranking->next == 0) {
		size_t best = 0;
		struct candidate first;

		for (size_t i = 1; i < ranking->count; i++)
			if (compare_candidates(&candidates[i], &candidates[best]) < 0)
				best = i;
		first = candidates[0];
		candidates[0] = candidates[best];
		candidates[best] = first;
	} else if (!ranking->sorted) {
		qsort(candidates + ranking->next, ranking->count - ranking->next,
			sizeof(*candidates), compare_candidates);
		ranking->sorted = true;
	}
	return candidates[ranking->next++].instance;
}
