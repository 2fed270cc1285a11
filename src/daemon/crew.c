/* See the header. */
#include "daemon/crew_internal.h"

#include <stdio.h>

#include "base/memory.h"

struct crew *crew_new(struct span key, struct interest *interest)
{
	struct crew *crew = memory_allocate(sizeof(*crew));

	crew->key = (struct span){memory_copy_string_n(key.data, key.length), key.length};
	crew->group = span_of(memory_format(ENVIRONMENT_GROUP_PREFIX "%.*s",
		SPAN_ARGS(environment_name_of_key(crew->key))));
	crew->interest = interest;
	crew->fleet = fleet_new();
	crew->all_changed = true;
	lock_init(&crew->lock);
	return crew;
}

void crew_free(struct crew *crew)
{
	if (!crew)
		return;
	MAP_EACH (&crew->members, entry) {
		struct crew_member *member = entry->value;

		if (member->is_cared_for)
			interest_remove(crew->interest, entry->key, crew->key);
		free((char *)member->place.data);
		free((char *)member->id.data);
		free(member->asked_task);
		free(member);
	}
	map_clear(&crew->members);
	map_clear(&crew->changed);
	map_clear(&crew->gone);
	heap_free(&crew->waiting);
	map_clear(&crew->marks);
	fleet_free(crew->fleet);
	free(crew->by_index);
	for (size_t i = 0; i < CREW_DEFINITIONS_MAX; i++)
		free(crew->definitions[i].name);
	free(crew->places);
	free(crew->dim);
	free(crew->balancer);
	free((char *)crew->key.data);
	free((char *)crew->group.data);
	lock_destroy(&crew->lock);
	free(crew);
}

static struct span member_key(struct arena *arena, struct span place, struct span id)
{
	return arena_format(arena, "%.*s/%.*s", SPAN_ARGS(place), SPAN_ARGS(id));
}

void crew_instance_changed(struct crew *crew, struct span place, struct span id)
{
	_arena_ struct arena *arena = arena_new(0);

	lock_take(&crew->lock);
	if (id.length == 0)
		crew->all_changed = true;
	else
		map_put(&crew->changed, member_key(arena, place, id), crew);
	lock_release(&crew->lock);
}

void crew_count(struct crew *crew, struct environment_counts *ret_counts)
{
	lock_take(&crew->lock);
	*ret_counts = crew->counts;
	lock_release(&crew->lock);
}

/* ---- what runs, by task definition ---- */

size_t crew_list_running(struct crew *crew, struct arena *arena,
	struct environment_running **ret_running)
{
	struct environment_running *list =
		arena_allocate_array(arena, CREW_DEFINITIONS_MAX, sizeof(*list));
	size_t count = 0;

	lock_take(&crew->lock);
	for (size_t i = 0; i < CREW_DEFINITIONS_MAX; i++)
		if (crew->definitions[i].tasks > 0)
			list[count++] = (struct environment_running){
				.task_definition =
					arena_copy_span(arena, span_of(crew->definitions[i].name)),
				.tasks = crew->definitions[i].tasks,
				.active = crew->definitions[i].active};
	lock_release(&crew->lock);
	*ret_running = list;
	return count;
}

static void drop_shares(struct crew *crew, struct crew_member *member)
{
	for (size_t i = 0; i < member->share_count; i++) {
		const struct crew_share *share = &member->shares[i];

		crew->definitions[share->definition].tasks--;
		crew->definitions[share->definition].active -= share->active;
	}
	member->share_count = 0;
}

/* Its place, or that of one without tasks; -1: there are too many. */
static int find_definition(struct crew *crew, struct span name)
{
	int free_place = -1;

	for (int i = 0; i < CREW_DEFINITIONS_MAX; i++) {
		if (crew->definitions[i].name && span_is(name, crew->definitions[i].name))
			return i;
		if (free_place < 0 && crew->definitions[i].tasks == 0)
			free_place = i;
	}
	if (free_place >= 0) {
		free(crew->definitions[free_place].name);
		crew->definitions[free_place].name = memory_copy_string_n(name.data, name.length);
	}
	return free_place;
}

static void add_share(struct crew *crew, struct crew_member *member, struct span definition,
	bool active)
{
	int place = member->share_count < CREW_SHARES_MAX ? find_definition(crew, definition) : -1;

	if (place < 0)
		return;
	crew->definitions[place].tasks++;
	crew->definitions[place].active += active;
	member->shares[member->share_count++] =
		(struct crew_share){.definition = (uint8_t)place, .active = active};
}

/* ---- members ---- */

struct crew_member *crew_member_at(const struct crew *crew, uint32_t index)
{
	return crew->by_index[index];
}

static struct crew_member *find_or_add(struct crew *crew, struct span place, struct span id,
	struct arena *arena)
{
	struct span key = member_key(arena, place, id);
	struct crew_member *member = map_get(&crew->members, key);

	if (member)
		return member;
	member = memory_allocate(sizeof(*member));
	member->index = fleet_add(crew->fleet);
	if (member->index == FLEET_NO_INSTANCE) {
		free(member);
		return NULL;
	}
	member->place = (struct span){memory_copy_string_n(place.data, place.length), place.length};
	member->id = (struct span){memory_copy_string_n(id.data, id.length), id.length};
	if (member->index >= crew->by_index_size) {
		size_t size = crew->by_index_size ? crew->by_index_size * 2 : 64;

		while (size <= member->index)
			size *= 2;
		crew->by_index = memory_resize(crew->by_index, size * sizeof(*crew->by_index));
		crew->by_index_size = size;
	}
	crew->by_index[member->index] = member;
	map_put(&crew->members, key, member);
	return member;
}

static void set_cared_for(struct crew *crew, struct crew_member *member, bool is_cared_for)
{
	_arena_ struct arena *arena = NULL;

	if (member->is_cared_for == is_cared_for)
		return;
	arena = arena_new(0);
	(is_cared_for ? interest_add : interest_remove)(crew->interest,
		member_key(arena, member->place, member->id), crew->key);
	member->is_cared_for = is_cared_for;
}

static void set_new(struct crew *crew, struct crew_member *member, bool is_new)
{
	crew->new_count += is_new;
	crew->new_count -= member->is_new;
	member->is_new = is_new;
}

static void set_unsure(struct crew *crew, struct crew_member *member, bool is_unsure)
{
	crew->unsure_count += is_unsure;
	crew->unsure_count -= member->is_unsure;
	member->is_unsure = is_unsure;
}

static void set_trouble(struct crew *crew, struct crew_member *member, enum crew_trouble trouble)
{
	if (member->trouble == trouble)
		return;
	if (member->trouble != CREW_NO_TROUBLE)
		crew->trouble_counts[member->trouble]--;
	if (trouble != CREW_NO_TROUBLE)
		crew->trouble_counts[trouble]++;
	member->trouble = trouble;
}

static void forget(struct crew *crew, struct crew_member *member)
{
	_arena_ struct arena *arena = arena_new(0);

	set_cared_for(crew, member, false);
	set_new(crew, member, false);
	set_trouble(crew, member, CREW_NO_TROUBLE);
	set_unsure(crew, member, false);
	heap_remove(&crew->waiting, &member->waiting);
	lock_take(&crew->lock);
	drop_shares(crew, member);
	lock_release(&crew->lock);
	fleet_remove(crew->fleet, member->index);
	crew->by_index[member->index] = NULL;
	map_remove(&crew->members, member_key(arena, member->place, member->id));
	free((char *)member->place.data);
	free((char *)member->id.data);
	free(member->asked_task);
	free(member);
}

/* ---- taking over ---- */

void crew_claimed(struct crew *crew, const struct crew_sight *sight, uint64_t epoch)
{
	struct span rest = environment_facts(sight->environment)->places, place;

	if (crew->epoch == epoch)
		return;
	crew->epoch = epoch;
	MAP_EACH (&crew->members, entry) {
		struct crew_member *member = entry->value;

		member->started = 0;
		member->was_looked_at = false;
		/* Elsewhere another one may have asked for something since: his placement tells. */
		if (member->place.data[0] != ':')
			crew_forget_asked(member);
	}
	map_clear(&crew->gone); /* as it looked then */
	map_clear(&crew->marks);
	while (span_next_part(&rest, ' ', &place))
		map_put(&crew->marks, place, (void *)(uintptr_t)state_mark(sight->state, place));
}

bool crew_is_caught_up(struct crew *crew, const struct crew_sight *sight)
{
	struct span rest = environment_facts(sight->environment)->places, first = SPAN("");

	span_next_part(&rest, ' ', &first);
	MAP_EACH (&crew->marks, entry) {
		if (!state_reaches_for(sight->state, entry->key, SPAN(""), crew->group,
			    (uintptr_t)entry->value)) {
			/* One elsewhere that only has to be left may be away for good. */
			if (entry->key.data[0] == ':' || span_equal(entry->key, first))
				return false;
			continue;
		}
		map_remove(&crew->marks, entry->key);
		/* What was looked at before may be older. */
		crew_instance_changed(crew, entry->key, SPAN(""));
	}
	return true;
}

bool crew_is_current(struct crew *crew, const struct crew_sight *sight)
{
	struct span rest = environment_facts(sight->environment)->places, place;
	bool unseen;

	if (!span_next_part(&rest, ' ', &place) || place.data[0] != ':')
		return true;
	if (!state_reaches_for(sight->state, place, SPAN(""), crew->group,
		    state_mark(sight->state, place)))
		return false;
	lock_take(&crew->lock);
	unseen = crew->all_changed || crew->changed.count > 0;
	lock_release(&crew->lock);
	return !unseen;
}

bool crew_is_caught_up_at(const struct crew *crew, struct span place)
{
	return !map_has(&crew->marks, place);
}

/* ---- looking ---- */

static void wait_if_needed(struct crew *crew, struct crew_member *member)
{
	if (member->again_ms > 0)
		heap_put(&crew->waiting, &member->waiting, member->again_ms);
	else
		heap_remove(&crew->waiting, &member->waiting);
}

/* What of it runs, by task definition. */
static void count_running(struct crew *crew, const struct crew_sight *sight,
	struct crew_member *member, const struct state_instance *instance)
{
	lock_take(&crew->lock);
	drop_shares(crew, member);
	for (size_t i = 0; instance && i < instance->task_count; i++) {
		const struct state_task *task = &instance->tasks[i];

		if (crew_owns(crew, sight, task) && task->last < STATE_TASK_STOPPED)
			add_share(crew, member, task->task_definition,
				crew_is_healthy(sight, task));
	}
	lock_release(&crew->lock);
}

void crew_look_at(struct crew *crew, const struct crew_sight *sight, struct crew_member *member)
{
	struct crew_seen seen;

	set_cared_for(crew, member, true);
	crew_see(crew, sight, member, &seen);
	set_cared_for(crew, member, seen.concerns_us);
	count_running(crew, sight, member, seen.instance);
	set_new(crew, member,
		seen.now.state == ROLLOUT_INSTANCE_ACTIVE && seen.now.matches &&
			seen.now.assigned == FLEET_ASSIGNED_NONE);
	set_trouble(crew, member, seen.trouble);
	set_unsure(crew, member, seen.is_unsure);
	fleet_set(crew->fleet, member->index, &seen.now);
	wait_if_needed(crew, member);
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

static struct fleet_rules rules_of(const struct crew_sight *sight)
{
	const struct environment_facts *environment = environment_facts(sight->environment);
	const struct environment_version_facts *target =
		sight->target ? environment_version_facts(sight->target) : NULL;
	struct fleet_rules rules = {.mode = FLEET_SILENT, .bug = bug_of(sight->bug)};

	if (environment->status == ENVIRONMENT_active)
		rules.mode = sight->rolls ? FLEET_ROLLS : FLEET_KEEPS;
	else if (environment->status == ENVIRONMENT_deleting && environment->terminate)
		rules.mode = FLEET_REMOVES;
	if (!target)
		return rules;
	rules.minimum_given = target->minimum_given;
	rules.minimum_healthy_percent = (unsigned)target->minimum_healthy;
	rules.replace_first = target->surge;
	rules.maximum_over_percent = target->surge ? (unsigned)target->maximum_over : 0;
	rules.canary_instances = sight->canary ? (unsigned)target->canary_instances : 0;
	return rules;
}

static bool is_in_places(const struct crew_sight *sight, struct span place)
{
	struct span rest = environment_facts(sight->environment)->places, part;

	while (span_next_part(&rest, ' ', &part))
		if (span_equal(part, place))
			return true;
	return false;
}

/* What was decided for an instance that is gone is forgotten with it. One of a cluster that the environment has
 * nothing to do with is of a predecessor with the same name. */
static void look_or_forget(struct crew *crew, const struct crew_sight *sight,
	struct crew_member *member)
{
	const struct store_object *placement;

	if (!is_in_places(sight, member->place)) {
		forget(crew, member);
		return;
	}
	crew_look_at(crew, sight, member);
	/* Nobody would tell us that it goes; if it ever concerns us, that is news of it. */
	if (!member->is_cared_for && member->asked == ENVIRONMENT_INTENT_none) {
		forget(crew, member);
		return;
	}
	/* Of a place that is not known nothing is gone, nor before we know what the manager before us did. */
	if (fleet_get(crew->fleet, member->index)->state != ROLLOUT_INSTANCE_GONE ||
		!state_is_complete(sight->state, member->place) ||
		!crew_is_caught_up_at(crew, member->place))
		return;
	placement = crew_placement(crew, sight, member);
	if (placement)
		map_put(&crew->gone, placement->key, crew);
	forget(crew, member);
}

static void look_at_all(struct crew *crew, const struct crew_sight *sight)
{
	struct span rest = environment_facts(sight->environment)->places, place;
	struct store_cursor placements = {.view = sight->view,
		.kind = &environment_placement_kind,
		.index = -1,
		.prefix = arena_format(sight->arena, "%.*s/", SPAN_ARGS(crew->key))};
	const struct store_object *placement;

	while (span_next_part(&rest, ' ', &place)) {
		struct span *ids;
		size_t count;

		count = state_list_instances(sight->state, place, sight->arena, &ids);
		for (size_t i = 0; i < count; i++)
			find_or_add(crew, place, ids[i], sight->arena);
	}
	while ((placement = store_next(&placements)))
		find_or_add(crew, environment_placement_facts(placement)->place,
			environment_placement_facts(placement)->instance, sight->arena);
	MAP_EACH (&crew->members, entry) {
		_arena_ struct arena *scratch = arena_new(0);
		struct crew_sight one = *sight;

		one.arena = scratch;
		look_or_forget(crew, &one, entry->value);
	}
	crew->is_looked_at = true;
}

static void take_changed(struct crew *crew, struct map *ret_changed, bool *ret_all)
{
	lock_take(&crew->lock);
	*ret_changed = crew->changed;
	crew->changed = (struct map){0};
	*ret_all = crew->all_changed;
	crew->all_changed = false;
	lock_release(&crew->lock);
}

static void look_at_key(struct crew *crew, const struct crew_sight *sight, struct span key)
{
	struct crew_member *member = map_get(&crew->members, key);
	struct span place = key, id = key;

	if (!member) {
		for (size_t i = key.length; i > 0; i--)
			if (key.data[i - 1] == '/') {
				place = (struct span){key.data, i - 1};
				id = (struct span){key.data + i, key.length - i};
				break;
			}
		member = find_or_add(crew, place, id, sight->arena);
	}
	if (member)
		look_or_forget(crew, sight, member);
}

static void look_at_due(struct crew *crew, const struct crew_sight *sight)
{
	struct heap_item *first;

	while ((first = heap_first(&crew->waiting)) && first->at <= sight->steady_ms) {
		struct crew_member *member = CONTAINER_OF(first, struct crew_member, waiting);

		crew_look_at(crew, sight, member);
		/* Whatever it waits for now is not due yet. */
		if (member->again_ms > 0 && member->again_ms <= sight->steady_ms)
			heap_put(&crew->waiting, &member->waiting, sight->steady_ms + 1);
	}
}

static void publish_counts(struct crew *crew)
{
	const struct fleet_counts *counts = fleet_counts(crew->fleet);
	int64_t missing = (int64_t)crew->trouble_counts[CREW_TROUBLE_MISSING];
	int64_t launching = (int64_t)crew->trouble_counts[CREW_TROUBLE_LAUNCHING];

	/* When all are to go, none is missed. */
	if (counts->total == 0)
		missing = launching = 0;
	lock_take(&crew->lock);
	crew->counts = (struct environment_counts){.total = counts->total,
		.active = counts->active,
		.launching = counts->launching - launching,
		.unhealthy = counts->unhealthy + missing + launching,
		.missing = counts->missing - missing,
		.outdated = counts->outdated,
		.completed = counts->updated,
		.unreachable = counts->unreachable};
	lock_release(&crew->lock);
}

bool crew_knows(const struct crew *crew, const struct crew_sight *sight, struct span place)
{
	struct state_info info;

	if (place.data[0] == ':')
		return state_is_complete(sight->state, place);
	return crew_is_caught_up_at(crew, place) && state_get_info(sight->state, place, &info) &&
	       info.complete && !info.stale;
}

/* The first place is the target's. One that only has to be left may be away for good: that holds up nobody but those who
 * are there. */
static int watch_places(struct crew *crew, const struct crew_sight *sight, struct err *err)
{
	struct span rest = environment_facts(sight->environment)->places, place;
	_buffer_ struct buffer dim = {0};
	bool first = true;

	while (span_next_part(&rest, ' ', &place)) {
		state_watch(sight->state, place);
		if (first && !state_is_complete(sight->state, place))
			return err_set(err, -EAGAIN, "cluster %.*s is not known completely yet",
				SPAN_ARGS(place));
		if (!first && !crew_knows(crew, sight, place))
			buffer_format(&dim, "%s%.*s", dim.length > 0 ? " " : "", SPAN_ARGS(place));
		first = false;
	}
	if (!span_equal(buffer_span(&dim), span_of(crew->dim ? crew->dim : ""))) {
		free(crew->dim);
		crew->dim = dim.length > 0 ? memory_copy_string_n(dim.data, dim.length) : NULL;
		crew_instance_changed(crew, SPAN(""), SPAN(""));
	}
	return 0;
}

int crew_look(struct crew *crew, const struct crew_sight *sight, int64_t *ret_again_ms,
	struct err *err)
{
	struct span target =
			    sight->target ? environment_version_facts(sight->target)->id : SPAN(""),
		    places = environment_facts(sight->environment)->places;
	struct fleet_rules rules = rules_of(sight);
	struct map changed;
	bool all;

	if (watch_places(crew, sight, err) < 0)
		return -EAGAIN;
	take_changed(crew, &changed, &all);
	all |= !crew->is_looked_at || !span_equal(span_of(crew->target), target) || !crew->places ||
	       !span_is(places, crew->places);
	fleet_configure(crew->fleet, &rules);
	snprintf(crew->target, sizeof(crew->target), "%.*s", SPAN_ARGS(target));
	if (!crew->places || !span_is(places, crew->places)) {
		free(crew->places);
		crew->places = memory_copy_string_n(places.data, places.length);
	}
	if (all)
		look_at_all(crew, sight);
	else
		MAP_EACH (&changed, entry)
			look_at_key(crew, sight, entry->key);
	map_clear(&changed);
	look_at_due(crew, sight);
	publish_counts(crew);
	/* Old tasks that may be healthy, or may not: nobody is stopped before that is known. */
	if (crew->unsure_count > 0)
		return err_set(err, -EAGAIN,
			"of %zu instances it is not known yet whether their tasks are healthy",
			crew->unsure_count);
	*ret_again_ms = heap_first(&crew->waiting) ? heap_first(&crew->waiting)->at : 0;
	return 0;
}
