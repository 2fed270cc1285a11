/* See the header. */
#include "environment/decide/instance_entry.h"

#include <stdio.h>

#include "base/memory.h"
#include "base/seeded_bug.h"
#include "delivery/cluster_ref.h"

struct instances *env_instances_new(struct span key, struct subscriptions *subscriptions)
{
	struct instances *instances = memory_allocate(sizeof(*instances));

	instances->key = (struct span){memory_copy_string_n(key.data, key.length), key.length};
	instances->group = span_of(memory_format(ENVIRONMENT_GROUP_PREFIX "%.*s",
		SPAN_ARGS(environment_name_of_key(instances->key))));
	instances->subscriptions = subscriptions;
	instances->fleet = fleet_new();
	instances->all_changed = true;
	lock_init(&instances->lock);
	return instances;
}

void env_instances_free(struct instances *instances)
{
	if (!instances)
		return;
	MAP_EACH (&instances->entries, slot) {
		struct instance_entry *entry = slot->value;

		if (entry->is_subscribed)
			subscriptions_remove(instances->subscriptions, slot->key, instances->key);
		free((char *)entry->cluster.text.data);
		free((char *)entry->id.data);
		free(entry->expected_task);
		free(entry);
	}
	map_clear(&instances->entries);
	map_clear(&instances->changed);
	map_clear(&instances->gone);
	map_clear(&instances->unknown_refs);
	heap_free(&instances->waiting);
	map_clear(&instances->resource_versions);
	fleet_free(instances->fleet);
	free(instances->by_index);
	for (size_t i = 0; i < ENV_INSTANCES_DEFINITIONS_MAX; i++)
		free(instances->definitions[i].name);
	free(instances->cluster_refs);
	free((char *)instances->key.data);
	free((char *)instances->group.data);
	lock_destroy(&instances->lock);
	free(instances);
}

static struct span entry_key(struct arena *arena, struct cluster_ref cluster, struct span id)
{
	return arena_format(arena, "%.*s/%.*s", SPAN_ARGS(cluster.text), SPAN_ARGS(id));
}

void env_instances_instance_changed(struct instances *instances, struct cluster_ref cluster,
	struct span id)
{
	_arena_ struct arena *arena = arena_new(0);

	lock_take(&instances->lock);
	map_put(&instances->changed, entry_key(arena, cluster, id), instances);
	lock_release(&instances->lock);
}

void env_instances_all_changed(struct instances *instances)
{
	lock_take(&instances->lock);
	instances->all_changed = true;
	lock_release(&instances->lock);
}

void env_instances_note_reservation(struct instances *instances, struct span version,
	uint64_t epoch)
{
	snprintf(instances->reserved_for, sizeof(instances->reserved_for), "%.*s",
		SPAN_ARGS(version));
	instances->reserved_epoch = epoch;
}

/* ---- running tasks by task definition ---- */

size_t env_instances_list_running(struct instances *instances, struct arena *arena,
	struct environment_running **ret_running)
{
	struct environment_running *list =
		arena_allocate_array(arena, ENV_INSTANCES_DEFINITIONS_MAX, sizeof(*list));
	size_t count = 0;

	lock_take(&instances->lock);
	for (size_t i = 0; i < ENV_INSTANCES_DEFINITIONS_MAX; i++)
		if (instances->definitions[i].tasks > 0)
			list[count++] = (struct environment_running){
				.task_definition = arena_copy_span(arena,
					span_of(instances->definitions[i].name)),
				.tasks = instances->definitions[i].tasks,
				.active = instances->definitions[i].active};
	lock_release(&instances->lock);
	*ret_running = list;
	return count;
}

static void drop_shares(struct instances *instances, struct instance_entry *entry)
{
	for (size_t i = 0; i < entry->share_count; i++) {
		const struct task_share *share = &entry->shares[i];

		instances->definitions[share->definition].tasks--;
		instances->definitions[share->definition].active -= share->active;
	}
	entry->share_count = 0;
}

/* Its index, or that of a definition without tasks; -1: there are too many. */
static int find_definition(struct instances *instances, struct span name)
{
	int free_place = -1;

	for (int i = 0; i < ENV_INSTANCES_DEFINITIONS_MAX; i++) {
		if (instances->definitions[i].name && span_is(name, instances->definitions[i].name))
			return i;
		if (free_place < 0 && instances->definitions[i].tasks == 0)
			free_place = i;
	}
	if (free_place >= 0) {
		free(instances->definitions[free_place].name);
		instances->definitions[free_place].name =
			memory_copy_string_n(name.data, name.length);
	}
	return free_place;
}

static void add_share(struct instances *instances, struct instance_entry *entry,
	struct span definition, bool active)
{
	int index = entry->share_count < ENV_INSTANCES_SHARES_MAX
			    ? find_definition(instances, definition)
			    : -1;

	if (index < 0)
		return;
	instances->definitions[index].tasks++;
	instances->definitions[index].active += active;
	entry->shares[entry->share_count++] =
		(struct task_share){.definition = (uint8_t)index, .active = active};
}

/* ---- entries ---- */

struct instance_entry *instance_entry_at(const struct instances *instances, uint32_t index)
{
	return instances->by_index[index];
}

static struct instance_entry *find_or_add(struct instances *instances, struct cluster_ref cluster,
	struct span id, struct arena *arena)
{
	struct span key = entry_key(arena, cluster, id);
	struct instance_entry *entry = map_get(&instances->entries, key);

	if (entry)
		return entry;
	entry = memory_allocate(sizeof(*entry));
	entry->index = fleet_add(instances->fleet);
	if (entry->index == FLEET_NO_INSTANCE) {
		free(entry);
		return NULL;
	}
	entry->cluster = cluster_ref_of((struct span){
		memory_copy_string_n(cluster.text.data, cluster.text.length), cluster.text.length});
	entry->id = (struct span){memory_copy_string_n(id.data, id.length), id.length};
	if (entry->index >= instances->by_index_size) {
		size_t size = instances->by_index_size ? instances->by_index_size * 2 : 64;

		while (size <= entry->index)
			size *= 2;
		instances->by_index =
			memory_resize(instances->by_index, size * sizeof(*instances->by_index));
		instances->by_index_size = size;
	}
	instances->by_index[entry->index] = entry;
	map_put(&instances->entries, key, entry);
	return entry;
}

static void set_subscribed(struct instances *instances, struct instance_entry *entry,
	bool is_subscribed)
{
	_arena_ struct arena *arena = NULL;

	if (entry->is_subscribed == is_subscribed)
		return;
	arena = arena_new(0);
	(is_subscribed ? subscriptions_add : subscriptions_remove)(instances->subscriptions,
		entry_key(arena, entry->cluster, entry->id), instances->key);
	entry->is_subscribed = is_subscribed;
}

static void set_new(struct instances *instances, struct instance_entry *entry, bool is_new)
{
	instances->new_count += is_new;
	instances->new_count -= entry->is_new;
	entry->is_new = is_new;
}

static void set_unsure(struct instances *instances, struct instance_entry *entry, bool is_unsure)
{
	instances->unsure_count += is_unsure;
	instances->unsure_count -= entry->is_unsure;
	entry->is_unsure = is_unsure;
}

static void set_trouble(struct instances *instances, struct instance_entry *entry,
	enum instance_failure trouble)
{
	if (entry->trouble == trouble)
		return;
	if (entry->trouble != INSTANCE_FAILURE_NONE)
		instances->trouble_counts[entry->trouble]--;
	if (trouble != INSTANCE_FAILURE_NONE)
		instances->trouble_counts[trouble]++;
	entry->trouble = trouble;
}

static void forget(struct instances *instances, struct instance_entry *entry)
{
	_arena_ struct arena *arena = arena_new(0);

	set_subscribed(instances, entry, false);
	set_new(instances, entry, false);
	set_trouble(instances, entry, INSTANCE_FAILURE_NONE);
	set_unsure(instances, entry, false);
	heap_remove(&instances->waiting, &entry->waiting);
	lock_take(&instances->lock);
	drop_shares(instances, entry);
	lock_release(&instances->lock);
	fleet_remove(instances->fleet, entry->index);
	instances->by_index[entry->index] = NULL;
	map_remove(&instances->entries, entry_key(arena, entry->cluster, entry->id));
	free((char *)entry->cluster.text.data);
	free((char *)entry->id.data);
	free(entry->expected_task);
	free(entry);
}

/* ---- taking over ---- */

void env_instances_claimed(struct instances *instances, const struct reconcile_input *input,
	uint64_t epoch)
{
	struct span rest = environment_facts(input->environment)->cluster_refs;
	struct cluster_ref cluster;

	if (instances->epoch == epoch)
		return;
	instances->epoch = epoch;
	MAP_EACH (&instances->entries, slot) {
		struct instance_entry *entry = slot->value;

		entry->started = 0;
		entry->was_inspected = false;
		/* Another server may have called a remote ECS since: the placement shows it. */
		if (cluster_ref_is_remote(entry->cluster))
			env_instances_forget_expectation(entry);
	}
	map_clear(&instances->gone); /* they were found in an older state */
	map_clear(&instances->resource_versions);
	while (environment_next_cluster(&rest, &cluster))
		map_put(&instances->resource_versions, cluster.text,
			(void *)(uintptr_t)observe_resource_version(input->state, cluster));
}

bool env_instances_is_caught_up(struct instances *instances, const struct reconcile_input *input)
{
	struct span rest = environment_facts(input->environment)->cluster_refs;
	struct cluster_ref first = cluster_ref_of(SPAN(""));

	environment_next_cluster(&rest, &first);
	MAP_EACH (&instances->resource_versions, entry) {
		struct cluster_ref cluster = cluster_ref_of(entry->key);

		if (!observe_reaches_for(input->state, cluster, SPAN(""), instances->group,
			    (uintptr_t)entry->value)) {
			/* A remote cluster that only has to be left may never come back. */
			if (!cluster_ref_is_remote(cluster) || cluster_ref_equal(cluster, first))
				return false;
			continue;
		}
		map_remove(&instances->resource_versions, entry->key);
		/* The state that was inspected before may be older. */
		env_instances_all_changed(instances);
	}
	return true;
}

bool env_instances_is_current(struct instances *instances, const struct reconcile_input *input)
{
	struct span rest = environment_facts(input->environment)->cluster_refs;
	struct cluster_ref cluster;
	bool unseen;

	if (!environment_next_cluster(&rest, &cluster) || cluster_ref_is_remote(cluster))
		return true;
	if (!observe_reaches_for(input->state, cluster, SPAN(""), instances->group,
		    observe_resource_version(input->state, cluster)))
		return false;
	lock_take(&instances->lock);
	unseen = instances->all_changed || instances->changed.count > 0;
	lock_release(&instances->lock);
	return !unseen;
}

bool env_instances_is_caught_up_at(const struct instances *instances, struct cluster_ref cluster)
{
	return !map_has(&instances->resource_versions, cluster.text);
}

/* ---- inspecting ---- */

static void wait_if_needed(struct instances *instances, struct instance_entry *entry)
{
	if (entry->again_ms > 0)
		heap_put(&instances->waiting, &entry->waiting, entry->again_ms);
	else
		heap_remove(&instances->waiting, &entry->waiting);
}

/* Counts its running tasks by task definition. */
static void count_running(struct instances *instances, const struct reconcile_input *input,
	struct instance_entry *entry, const struct observe_instance *instance)
{
	lock_take(&instances->lock);
	drop_shares(instances, entry);
	for (size_t i = 0; instance && i < instance->task_count; i++) {
		const struct observe_task *task = &instance->tasks[i];

		if (env_instances_owns(instances, input, task) && task->last < OBSERVE_TASK_STOPPED)
			add_share(instances, entry, task->task_definition,
				env_instances_is_healthy(input, task));
	}
	lock_release(&instances->lock);
}

void env_instances_inspect(struct instances *instances, const struct reconcile_input *input,
	struct instance_entry *entry)
{
	struct env_instances_observed seen;

	set_subscribed(instances, entry, true);
	env_instances_observe(instances, input, entry, &seen);
	set_subscribed(instances, entry, seen.concerns_us);
	count_running(instances, input, entry, seen.instance);
	set_new(instances, entry,
		seen.now.state == ROLLOUT_INSTANCE_ACTIVE && seen.now.matches &&
			seen.now.assigned == FLEET_ASSIGNED_NONE);
	set_trouble(instances, entry, seen.trouble);
	set_unsure(instances, entry, seen.is_unsure);
	fleet_set(instances->fleet, entry->index, &seen.now);
	wait_if_needed(instances, entry);
}

static enum fleet_bug bug_of(enum daemon_bug bug)
{
	static const enum fleet_bug bugs[DAEMON_BUG_COUNT] = {
		[DAEMON_BUG_THREADS] = FLEET_BUG_THREADS,
		[DAEMON_BUG_STALE_HEALTHY] = FLEET_BUG_STALE_HEALTHY,
		[DAEMON_BUG_HASTY_START] = FLEET_BUG_HASTY_START,
		[DAEMON_BUG_STOP_ALL] = FLEET_BUG_STOP_ALL,
		[DAEMON_BUG_BLIND] = FLEET_BUG_BLIND,
		[DAEMON_BUG_NO_PACE] = FLEET_BUG_NO_PACE,
		[DAEMON_BUG_NO_CANARY] = FLEET_BUG_NO_CANARY,
	};

	return bugs[bug];
}

static struct fleet_rules rules_of(const struct reconcile_input *input)
{
	const struct environment_facts *environment = environment_facts(input->environment);
	const struct environment_version_facts *target =
		input->target ? environment_version_facts(input->target) : NULL;
	struct fleet_rules rules = {.mode = FLEET_SILENT,
		.bug = SEEDED_BUG(input->bug) ? bug_of(input->bug) : FLEET_NO_BUG};

	if (environment->status == ENVIRONMENT_active)
		rules.mode = input->rolls ? FLEET_ROLLS : FLEET_KEEPS;
	else if (environment->status == ENVIRONMENT_deleting && environment->terminate)
		rules.mode = FLEET_REMOVES;
	if (!target)
		return rules;
	rules.minimum_requested = target->minimum_requested;
	rules.minimum_healthy_percent = (unsigned)target->minimum_healthy;
	rules.replace_first = target->surge;
	rules.maximum_over_percent = target->surge ? (unsigned)target->maximum_over : 0;
	rules.canary_instances = input->canary ? (unsigned)target->canary_instances : 0;
	return rules;
}

/* The placement of an instance that is gone is deleted. A placement in a cluster that the environment does not use is of an
 * earlier environment with the same name. */
static void inspect_or_forget(struct instances *instances, const struct reconcile_input *input,
	struct instance_entry *entry)
{
	const struct store_object *placement;

	if (!environment_has_cluster(environment_facts(input->environment), entry->cluster)) {
		forget(instances, entry);
		return;
	}
	env_instances_inspect(instances, input, entry);
	/* Its removal would not be reported; if it becomes relevant, that is a change of it. */
	if (!entry->is_subscribed && entry->expected == ENVIRONMENT_INTENT_none) {
		forget(instances, entry);
		return;
	}
	/* In a cluster whose state is unknown nothing is gone, nor before the calls of the server before are observed. */
	if (fleet_get(instances->fleet, entry->index)->state != ROLLOUT_INSTANCE_GONE ||
		!observe_is_complete(input->state, entry->cluster) ||
		!env_instances_is_caught_up_at(instances, entry->cluster))
		return;
	placement = env_instances_placement(instances, input, entry);
	if (placement)
		map_put(&instances->gone, placement->key, instances);
	forget(instances, entry);
}

static void inspect_all(struct instances *instances, const struct reconcile_input *input)
{
	struct span rest = environment_facts(input->environment)->cluster_refs;
	struct cluster_ref cluster;
	struct store_cursor placements = {.view = input->view,
		.kind = &environment_placement_kind,
		.index = -1,
		.prefix = arena_format(input->arena, "%.*s/", SPAN_ARGS(instances->key))};
	const struct store_object *placement;

	while (environment_next_cluster(&rest, &cluster)) {
		struct span *ids;
		size_t count;

		count = observe_list_instances(input->state, cluster, input->arena, &ids);
		for (size_t i = 0; i < count; i++)
			find_or_add(instances, cluster, ids[i], input->arena);
	}
	while ((placement = store_next(&placements)))
		find_or_add(instances,
			cluster_ref_of(environment_placement_facts(placement)->cluster_ref),
			environment_placement_facts(placement)->instance, input->arena);
	MAP_EACH (&instances->entries, slot) {
		_arena_ struct arena *scratch = arena_new(0);
		struct reconcile_input one = *input;

		one.arena = scratch;
		inspect_or_forget(instances, &one, slot->value);
	}
	instances->is_inspected = true;
}

static void take_changed(struct instances *instances, struct map *ret_changed, bool *ret_all)
{
	lock_take(&instances->lock);
	*ret_changed = instances->changed;
	instances->changed = (struct map){0};
	*ret_all = instances->all_changed;
	instances->all_changed = false;
	lock_release(&instances->lock);
}

static void inspect_key(struct instances *instances, const struct reconcile_input *input,
	struct span key)
{
	struct instance_entry *entry = map_get(&instances->entries, key);
	struct span cluster = key, id = key;

	if (!entry) {
		for (size_t i = key.length; i > 0; i--)
			if (key.data[i - 1] == '/') {
				cluster = (struct span){key.data, i - 1};
				id = (struct span){key.data + i, key.length - i};
				break;
			}
		entry = find_or_add(instances, cluster_ref_of(cluster), id, input->arena);
	}
	if (entry)
		inspect_or_forget(instances, input, entry);
}

static void inspect_due(struct instances *instances, const struct reconcile_input *input)
{
	struct heap_item *first;

	while ((first = heap_first(&instances->waiting)) && first->at <= input->steady_ms) {
		struct instance_entry *entry = CONTAINER_OF(first, struct instance_entry, waiting);

		env_instances_inspect(instances, input, entry);
		/* Its next wake-up is not due yet. */
		if (entry->again_ms > 0 && entry->again_ms <= input->steady_ms)
			heap_put(&instances->waiting, &entry->waiting, input->steady_ms + 1);
	}
}

void env_instances_count(const struct instances *instances, struct environment_counts *ret_counts)
{
	const struct fleet_counts *counts = fleet_counts(instances->fleet);
	int64_t missing = (int64_t)instances->trouble_counts[INSTANCE_FAILURE_MISSING];
	int64_t launching = (int64_t)instances->trouble_counts[INSTANCE_FAILURE_LAUNCHING];

	/* When all tasks have to stop, none is missing. */
	if (counts->total == 0)
		missing = launching = 0;
	*ret_counts = (struct environment_counts){.total = counts->total,
		.active = counts->active,
		.launching = counts->launching - launching,
		.unhealthy = counts->unhealthy + missing + launching,
		.missing = counts->missing - missing,
		.outdated = counts->outdated,
		.completed = counts->updated,
		.unreachable = counts->unreachable};
}

bool env_instances_knows(const struct instances *instances, const struct reconcile_input *input,
	struct cluster_ref cluster)
{
	struct observe_info info;

	if (!cluster_ref_is_remote(cluster))
		return observe_is_complete(input->state, cluster);
	return env_instances_is_caught_up_at(instances, cluster) &&
	       observe_get_info(input->state, cluster, &info) && info.complete && !info.stale;
}

/* The first cluster is the target's. A cluster that only has to be left may never come back: that delays only the
 * instances in it. */
static int watch_cluster_refs(struct instances *instances, const struct reconcile_input *input,
	struct err *err)
{
	struct span rest = environment_facts(input->environment)->cluster_refs;
	struct cluster_ref cluster;
	struct map unknown = {0};
	bool first = true, same = true;

	while (environment_next_cluster(&rest, &cluster)) {
		if (first && !observe_is_complete(input->state, cluster))
			return err_set(err, -EAGAIN, "cluster %.*s is not known completely yet",
				SPAN_ARGS(cluster.text));
		if (!first && !env_instances_knows(instances, input, cluster)) {
			map_put(&unknown, cluster.text, instances);
			same &= map_has(&instances->unknown_refs, cluster.text);
		}
		first = false;
	}
	same &= unknown.count == instances->unknown_refs.count;
	map_clear(&instances->unknown_refs);
	instances->unknown_refs = unknown;
	if (!same)
		env_instances_all_changed(instances);
	return 0;
}

int env_instances_update(struct instances *instances, const struct reconcile_input *input,
	int64_t *ret_again_ms, struct err *err)
{
	struct span target =
			    input->target ? environment_version_facts(input->target)->id : SPAN(""),
		    cluster_refs = environment_facts(input->environment)->cluster_refs;
	struct fleet_rules rules = rules_of(input);
	struct map changed;
	bool all;

	if (watch_cluster_refs(instances, input, err) < 0)
		return -EAGAIN;
	take_changed(instances, &changed, &all);
	all |= !instances->is_inspected || !span_equal(span_of(instances->target), target) ||
	       !instances->cluster_refs || !span_is(cluster_refs, instances->cluster_refs);
	fleet_configure(instances->fleet, &rules);
	snprintf(instances->target, sizeof(instances->target), "%.*s", SPAN_ARGS(target));
	if (!instances->cluster_refs || !span_is(cluster_refs, instances->cluster_refs)) {
		free(instances->cluster_refs);
		instances->cluster_refs =
			memory_copy_string_n(cluster_refs.data, cluster_refs.length);
	}
	if (all)
		inspect_all(instances, input);
	else
		MAP_EACH (&changed, entry)
			inspect_key(instances, input, entry->key);
	map_clear(&changed);
	inspect_due(instances, input);
	/* It is not known yet whether some old tasks are healthy: none is stopped before that. */
	if (instances->unsure_count > 0)
		return err_set(err, -EAGAIN,
			"of %zu instances it is not known yet whether their tasks are healthy",
			instances->unsure_count);
	*ret_again_ms = heap_first(&instances->waiting) ? heap_first(&instances->waiting)->at : 0;
	return 0;
}
