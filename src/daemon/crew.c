/* See the header. */
#include "daemon/crew.h"

#include <stdio.h>

#include "aws/targets.h"
#include "base/memory.h"
#include "daemon/matching.h"

/* A call elsewhere has arrived by then, or never will. */
#define ELSEWHERE_MS (AWS_TARGETS_WRITE_MS + INT64_C(1000))

struct crew *crew_new(struct span key)
{
	struct crew *crew = memory_allocate(sizeof(*crew));

	crew->key = (struct span){memory_copy_string_n(key.data, key.length), key.length};
	crew->group = span_of(memory_format(ENVIRONMENT_GROUP_PREFIX "%.*s",
		SPAN_ARGS(environment_name_of_key(crew->key))));
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

static struct span target_id(const struct crew_sight *sight)
{
	return sight->target ? environment_version_facts(sight->target)->id : SPAN("");
}

static bool is_ours(const struct crew *crew, const struct crew_sight *sight,
	const struct state_task *task)
{
	if (sight->bug == DAEMON_BUG_FORGET_OLD &&
		!environment_deployment_of(sight->view, sight->arena, crew->key, task->started_by))
		return false;
	return environment_owns(environment_name_of_key(crew->key), task);
}

/* A version of the environment that runs this task definition, of which there may be several: who only chooses other
 * instances, or rolls out differently, replaces nothing. */
static bool runs(const struct store_object *version, struct span task_definition)
{
	return version &&
	       span_equal(environment_version_facts(version)->task_definition, task_definition);
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
	if (runs(sight->target, task->task_definition))
		return FLEET_TARGET;
	if (runs(assigned_version(crew, sight, placement), task->task_definition))
		return FLEET_OLD;
	return FLEET_OTHER;
}

static enum fleet_assigned assigned_of(const struct crew *crew, const struct crew_sight *sight,
	const struct store_object *placement)
{
	const struct store_object *version = assigned_version(crew, sight, placement);

	if (!version)
		return FLEET_ASSIGNED_NONE;
	return runs(sight->target, environment_version_facts(version)->task_definition)
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

static void forget_asked(struct crew_member *member)
{
	member->asked = ENVIRONMENT_INTENT_none;
	member->asked_until_ms = 0;
	free(TAKE(member->asked_task));
}

static void set_asked(const struct crew_sight *sight, struct crew_member *member,
	enum environment_intent intent, enum fleet_version version, struct span task)
{
	forget_asked(member);
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

		if (!is_ours(looking->crew, looking->sight, task)) {
			now->others_left |=
				task->last < STATE_TASK_STOPPED && !environment_owns_any(task);
			continue;
		}
		if (looking->sight->bug == DAEMON_BUG_START_EVERYWHERE &&
			!runs(looking->sight->target, task->task_definition))
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
	looking->unsure = unsure;
}

static void count_running(struct crew *crew, const struct looking *looking)
{
	lock_take(&crew->lock);
	drop_shares(crew, looking->member);
	for (size_t i = 0; looking->instance && i < looking->instance->task_count; i++) {
		const struct state_task *task = &looking->instance->tasks[i];
		int64_t again_ms;

		if (is_ours(crew, looking->sight, task) && task->last < STATE_TASK_STOPPED)
			add_share(crew, looking->member, task->task_definition,
				state_task_stays(task) && class_of_task(looking->sight, task,
								  &again_ms) == ROLLOUT_HEALTHY);
	}
	lock_release(&crew->lock);
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

/* What whoever worked on this before us was about to do elsewhere may still be on its way: nothing is done about it until
 * a listing that began after that is through. */
static void recover_asked(struct looking *looking)
{
	const struct environment_placement_facts *placement =
		looking->placement ? environment_placement_facts(looking->placement) : NULL;
	struct crew_member *member = looking->member;
	bool first = !member->was_looked_at;
	int64_t left_ms;

	member->was_looked_at = true;
	if (!first || !placement || placement->intent == ENVIRONMENT_INTENT_none ||
		member->asked != ENVIRONMENT_INTENT_none || member->place.data[0] == ':')
		return;
	left_ms = intended_ms(looking) + ELSEWHERE_MS - looking->sight->steady_ms;
	if (left_ms <= 0)
		return;
	set_asked(looking->sight, member, placement->intent,
		looking->now.assigned == FLEET_ASSIGNED_OLD ? FLEET_OLD : FLEET_TARGET,
		placement->task);
	member->asked_mark += (uint64_t)left_ms; /* elsewhere, marks are milliseconds */
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
		forget_asked(member);
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

	if (!placement || placement->failures == 0 || now->stopping ||
		placement->intent == ENVIRONMENT_INTENT_stop ||
		now->state != ROLLOUT_INSTANCE_ACTIVE || !now->matches)
		return CREW_NO_TROUBLE;
	if (count > 0)
		return count_starting(now) == count ? CREW_TROUBLE_LAUNCHING : CREW_NO_TROUBLE;
	/* One that had run for long and died is not what failed. */
	if (placement->until_ms == 0 &&
		!crew_has_crashed(looking->crew, looking->sight, looking->member, placement))
		return CREW_NO_TROUBLE;
	return CREW_TROUBLE_MISSING;
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

void crew_look_at(struct crew *crew, const struct crew_sight *sight, struct crew_member *member)
{
	struct looking looking = {.crew = crew, .sight = sight, .member = member};

	looking.instance = state_get_instance_for(sight->state, member->place, member->id,
		environment_name_of_key(crew->key), sight->arena);
	looking.placement = crew_placement(crew, sight, member);
	member->again_ms = 0;
	looking.now.state = ROLLOUT_INSTANCE_GONE;
	looking.now.assigned = assigned_of(crew, sight, looking.placement);
	if (looking.instance) {
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
	count_running(crew, &looking);
	set_new(crew, member,
		looking.now.state == ROLLOUT_INSTANCE_ACTIVE && looking.now.matches &&
			looking.now.assigned == FLEET_ASSIGNED_NONE);
	set_trouble(crew, member, trouble_of(&looking));
	set_unsure(crew, member, looking.unsure);
	fleet_set(crew->fleet, member->index, &looking.now);
	wait_if_needed(crew, member);
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

		if (is_ours(crew, sight, task) && state_task_stays(task) &&
			!is_asked_to_stop(member, task) &&
			class_of_version(crew, sight, placement, task) == version &&
			class_of_task(sight, task, &again_ms) == class)
			return task;
	}
	return NULL;
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
		.completed = counts->updated};
	lock_release(&crew->lock);
}

/* The first place is the target's. One that only has to be left may be away for good: that holds up nobody but those who
 * are there. */
static int watch_places(struct crew *crew, const struct crew_sight *sight, struct err *err)
{
	struct span rest = environment_facts(sight->environment)->places, place;
	bool first = true;

	crew->is_partly_known = false;
	while (span_next_part(&rest, ' ', &place)) {
		state_watch(sight->state, place);
		if (!state_is_complete(sight->state, place)) {
			if (first)
				return err_set(err, -EAGAIN,
					"cluster %.*s is not known completely yet",
					SPAN_ARGS(place));
			crew->is_partly_known = true;
		}
		first = false;
	}
	return 0;
}

int crew_look(struct crew *crew, const struct crew_sight *sight, int64_t *ret_again_ms,
	struct err *err)
{
	struct span target = target_id(sight),
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
