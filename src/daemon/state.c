/*
 * The places and their replicas under one lock, and the telling without it. Sources have strands of their own;
 * nothing here waits for them.
 */
#include "daemon/state.h"

#include <assert.h>
#include <stdio.h>

#include "base/memory.h"
#include "daemon/state_internal.h"
#include "daemon/state_log.h"

/* Clusters of this server are told in order: nothing old ever comes. */
#define OWN_TOMBSTONES_MAX 1000
#define REMOTE_TOMBSTONES_MAX 100000
#define TOMBSTONES_MS INT64_C(7200000)
#define STALE_PERIODS 3 /* without a complete listing, */
#define STALE_LISTINGS                                                                             \
	4 /* and as long as so many took: of large clusters they take longer than a period */

/* ---- news ---- */

struct state_news_item {
	struct state_news_item *next;
	const struct state_place *place;
	struct span instance, group;
};

void state_news_init(struct state_news *news, struct arena *arena)
{
	*news = (struct state_news){.arena = arena, .last = &news->first};
}

void state_news_add(struct state_news *news, const struct state_place *place, struct span instance)
{
	state_news_add_task(news, place, instance, SPAN(""));
}

void state_news_add_task(struct state_news *news, const struct state_place *place,
	struct span instance, struct span group)
{
	struct state_news_item *item;

	if (!place->complete)
		return;
	item = arena_allocate(news->arena, sizeof(*item));
	item->place = place;
	item->instance = arena_copy_span(news->arena, instance);
	item->group = arena_copy_span(news->arena, group);
	*news->last = item;
	news->last = &item->next;
}

void state_news_tell(struct state_service *service, struct state_news *news)
{
	assert(lock_held_count() == 0);
	if (service->config.changed)
		for (const struct state_news_item *item = news->first; item; item = item->next)
			service->config.changed(service->config.context, item->place->name,
				item->instance, item->group);
	state_news_init(news, news->arena);
}

/* ---- places ---- */

static bool is_own(const struct state_place *place)
{
	return place->target.length == 0;
}

/* Up to where a place is known. */
static uint64_t reached(const struct state_service *service, const struct state_place *place)
{
	uint64_t position = is_own(place) ? state_own_position(service->own) : 0;

	if (!place->complete)
		return 0;
	return position > place->mark ? position : place->mark;
}

/* Tells those who wait for a mark that is reached; all at once: they hear of it anyway. */
static void tell_waiting(struct state_service *service, struct state_place *place, bool all_at_once,
	struct state_news *news)
{
	uint64_t up_to = reached(service, place);
	struct span group, instance;

	MAP_EACH (&place->waiting, entry) {
		if ((uintptr_t)entry->value > up_to)
			continue;
		if (!all_at_once && span_split(entry->key, ' ', &group, &instance))
			state_news_add_task(news, place, instance, group);
		map_remove(&place->waiting, entry->key);
	}
	if (all_at_once)
		state_news_add(news, place, SPAN(""));
}

void state_place_advanced(struct state_service *service, struct state_place *place,
	struct state_news *news)
{
	tell_waiting(service, place, false, news);
}

void state_place_listed(struct state_service *service, struct state_place *place, uint64_t mark,
	int64_t listed_ms, int64_t listed_us, struct state_news *news)
{
	bool first = !place->complete;

	place->complete = true;
	place->listings++;
	place->mark = mark;
	place->listed_ms = listed_ms;
	place->listed_us = listed_us;
	place->error[0] = '\0';
	if (place->log)
		state_log_set_observed(place->log, listed_ms);
	tell_waiting(service, place, first, news);
}

static struct cluster_state *new_replica(const struct state_place *place)
{
	struct cluster_state_limits limits = {.stopped_max = STATE_STOPPED_MAX,
		.stopped_ms = STATE_STOPPED_MS,
		.tombstones_ms = TOMBSTONES_MS,
		.versions_are_ordered = is_own(place),
		.tombstones_max = is_own(place) ? OWN_TOMBSTONES_MAX : REMOTE_TOMBSTONES_MAX};

	return cluster_state_new(&limits);
}

void state_place_reset(struct state_service *service, struct state_place *place)
{
	cluster_state_free(place->replica);
	place->replica = new_replica(place);
	if (place->log)
		state_log_restart(place->log, (uint64_t)runner_wall_ms(service->runner) * 1000);
	state_follow_replica(place);
}

static struct state_place *place_new(struct span name)
{
	struct state_place *place = memory_allocate(sizeof(*place) + name.length);

	memcpy(place->text, name.data, name.length);
	place->name = (struct span){place->text, name.length};
	if (!span_split(place->name, ':', &place->target, &place->scope))
		assert(!"a place has a ':'");
	place->replica = new_replica(place);
	return place;
}

static void place_free(struct state_place *place)
{
	state_remote_free(place->remote);
	cluster_state_free(place->replica);
	map_clear(&place->waiting);
	state_services_forget(place);
	state_log_leave(place->log);
	free(place);
}

static int follow_remote(struct state_service *service, struct state_place *place, struct err *err)
{
	int code;

	lock_take(&service->lock);
	bool too_many = service->remote_count >= STATE_REMOTE_PLACES_MAX;
	service->remote_count += !too_many;
	lock_release(&service->lock);
	if (too_many)
		return err_set(err, -E2BIG, "more than %d clusters elsewhere are watched",
			STATE_REMOTE_PLACES_MAX);
	code = state_remote_start(service, place, err);
	if (code < 0) {
		lock_take(&service->lock);
		service->remote_count--;
		lock_release(&service->lock);
	}
	return code;
}

void state_watch(struct state_service *service, struct span name)
{
	struct state_place *place;
	struct err err = {0};

	lock_take(&service->lock);
	place = map_get(&service->places, name);
	if (place && place->watched) {
		lock_release(&service->lock);
		return;
	}
	if (!place) {
		place = place_new(name);
		map_put(&service->places, name, place);
	}
	place->watched = true;
	lock_release(&service->lock);
	if (is_own(place)) {
		state_own_wake(service->own);
	} else if (follow_remote(service, place, &err) < 0) {
		lock_take(&service->lock);
		place->watched = false; /* whoever asks next tries again */
		snprintf(place->error, sizeof(place->error), "%s", err.message);
		lock_release(&service->lock);
	}
}

/* Takes the lock, which the caller releases whatever the answer is. */
static struct state_place *lock_place(struct state_service *service, struct span name)
{
	lock_take(&service->lock);
	return map_get(&service->places, name);
}

bool state_is_complete(struct state_service *service, struct span name)
{
	const struct state_place *place = lock_place(service, name);
	bool complete = place && place->complete;

	lock_release(&service->lock);
	return complete;
}

static bool is_own_name(struct span name)
{
	return name.length > 0 && name.data[0] == ':';
}

uint64_t state_mark(struct state_service *service, struct span name)
{
	if (is_own_name(name)) {
		_view_ struct store_view *view = store_view_open(service->config.store);

		return store_view_revision(view);
	}
	/* A listing that begins at this millisecond or later begins after now. */
	return (uint64_t)(runner_now_us(service->runner) / 1000) + 1;
}

uint64_t state_seen(struct state_service *service, struct span name)
{
	struct state_place *place = lock_place(service, name);
	uint64_t seen = place && is_own(place) ? reached(service, place) : 0;

	lock_release(&service->lock);
	return seen;
}

bool state_reaches(struct state_service *service, struct span name, uint64_t mark)
{
	return state_reaches_for(service, name, SPAN(""), SPAN(""), mark);
}

bool state_reaches_for(struct state_service *service, struct span name, struct span instance,
	struct span group, uint64_t mark)
{
	_buffer_ struct buffer who = {0};
	struct state_place *place = lock_place(service, name);
	bool reaches = place && place->complete && reached(service, place) >= mark;
	bool wait = place && !reaches, first = false;

	if (wait)
		buffer_format(&who, "%.*s %.*s", SPAN_ARGS(group), SPAN_ARGS(instance));
	if (wait && (uintptr_t)map_get(&place->waiting, buffer_span(&who)) < mark) {
		map_put(&place->waiting, buffer_span(&who), (void *)(uintptr_t)mark);
		first = true;
	}
	lock_release(&service->lock);
	/* The feed may have been at rest: nothing that concerns it has happened. */
	if (wait && is_own_name(name))
		state_own_wake(service->own);
	else if (first)
		runner_signal(service->wanted);
	return reaches;
}

bool state_place_is_late(const struct state_place *place, int64_t since_us, int64_t now_us)
{
	return !place->remote ||
	       now_us - since_us > STALE_PERIODS * state_remote_period_us(place->remote) +
					   STALE_LISTINGS * place->took_us;
}

/* What is known of a place elsewhere is older than it should be. */
static bool is_stale(const struct state_place *place, int64_t now_us)
{
	return !place->complete || state_place_is_late(place, place->listed_us, now_us);
}

bool state_get_info(struct state_service *service, struct span name, struct state_info *ret_info)
{
	const struct state_place *place = lock_place(service, name);
	int64_t now_us = runner_now_us(service->runner);

	if (place) {
		*ret_info = (struct state_info){.complete = place->complete,
			.instances = cluster_state_instance_count(place->replica),
			.tasks = cluster_state_task_count(place->replica),
			.listings = place->listings,
			.observed_ms = place->listed_ms};
		if (place->complete && is_own(place))
			ret_info->observed_ms = runner_wall_ms(service->runner);
		else
			ret_info->stale = is_stale(place, now_us);
		memcpy(ret_info->error, place->error, sizeof(ret_info->error));
	}
	lock_release(&service->lock);
	return place;
}

size_t state_list_places(struct state_service *service, struct arena *arena,
	struct span **ret_places)
{
	size_t count = 0;

	lock_take(&service->lock);
	*ret_places = arena_allocate_array(arena, service->places.count + 1, sizeof(**ret_places));
	MAP_EACH (&service->places, entry)
		if (((const struct state_place *)entry->value)->watched)
			(*ret_places)[count++] = arena_copy_span(arena, entry->key);
	lock_release(&service->lock);
	return count;
}

/* ---- reading ---- */

void state_place_settle_health(const struct state_place *place, struct state_task *task)
{
	if (task && place->remote && task->health == STATE_HEALTH_UNKNOWN)
		task->health = state_remote_health(place->remote, task->task_definition);
}

static struct state_instance *settle(const struct state_place *place,
	struct state_instance *instance)
{
	for (size_t i = 0; instance && i < instance->task_count; i++)
		state_place_settle_health(place, (struct state_task *)&instance->tasks[i]);
	return instance;
}

struct state_instance *state_get_instance(struct state_service *service, struct span name,
	struct span id, struct arena *arena)
{
	const struct state_place *place = lock_place(service, name);
	struct state_instance *instance =
		place ? settle(place, cluster_state_get_instance(place->replica, id, arena)) : NULL;

	lock_release(&service->lock);
	return instance;
}

struct state_instance *state_get_instance_for(struct state_service *service, struct span name,
	struct span id, struct span environment, struct arena *arena)
{
	const struct state_place *place = lock_place(service, name);
	struct state_instance *instance =
		place ? settle(place, cluster_state_get_instance_for(place->replica, id,
					      environment, arena))
		      : NULL;

	lock_release(&service->lock);
	return instance;
}

size_t state_list_instances(struct state_service *service, struct span name, struct arena *arena,
	struct span **ret_ids)
{
	const struct state_place *place = lock_place(service, name);
	size_t count = 0;

	if (place)
		count = cluster_state_list(place->replica, arena, ret_ids);
	else
		*ret_ids = NULL;
	lock_release(&service->lock);
	return count;
}

struct state_task *state_get_task(struct state_service *service, struct span name, struct span arn,
	struct arena *arena)
{
	const struct state_place *place = lock_place(service, name);
	struct state_task *task = place ? cluster_state_get_task(place->replica, arn, arena) : NULL;

	state_place_settle_health(place, task);
	lock_release(&service->lock);
	return task;
}

struct state_task *state_last_stopped(struct state_service *service, struct span name,
	struct span instance, struct span group, struct arena *arena)
{
	const struct state_place *place = lock_place(service, name);
	struct state_task *task =
		place ? cluster_state_last_stopped(place->replica, instance, group, arena) : NULL;

	state_place_settle_health(place, task);
	lock_release(&service->lock);
	return task;
}

/* ---- selecting ---- */

size_t state_select_instances(struct state_service *service, struct span name,
	const struct state_instance_query *query, struct span after, size_t most,
	struct arena *arena, struct state_instance **ret_instances)
{
	struct state_instance *instances =
		arena_allocate_array(arena, most + 1, sizeof(*instances));
	size_t count = 0, filled = 0;

	do {
		const struct state_place *place = lock_place(service, name);

		if (place)
			filled += cluster_state_select_instances(place->replica, query, &after,
				most - filled, arena, instances + filled);
		for (; count < filled; count++)
			settle(place, &instances[count]);
		lock_release(&service->lock);
		if (!place)
			break;
	} while (after.data);
	*ret_instances = instances;
	return count;
}

size_t state_select_tasks(struct state_service *service, struct span name,
	const struct state_task_query *query, struct span after, size_t most, struct arena *arena,
	struct state_task **ret_tasks)
{
	struct state_task *tasks = arena_allocate_array(arena, most + 1, sizeof(*tasks));
	size_t count = 0, filled = 0;

	do {
		const struct state_place *place = lock_place(service, name);

		if (place)
			filled += cluster_state_select_tasks(place->replica, query, &after,
				most - filled, arena, tasks + filled);
		for (; count < filled; count++)
			state_place_settle_health(place, &tasks[count]);
		lock_release(&service->lock);
		if (!place)
			break;
	} while (after.data);
	*ret_tasks = tasks;
	return count;
}

/* ---- beginning and end ---- */

int state_service_new(const struct state_config *config, struct state_service **ret_service,
	struct err *err)
{
	struct state_service *service = memory_allocate(sizeof(*service));
	int code;

	service->config = *config;
	service->runner = runner_group_new(config->runner, "state");
	service->wanted = runner_event_new(service->runner, "a listing");
	lock_init(&service->lock);
	code = config->server ? state_relay_new(service, config->server, &service->relay, err) : 0;
	if (code == 0)
		code = state_own_new(service, &service->own, err);
	if (code < 0) {
		state_service_free(service);
		return err_prefix(err, code, "start the state service");
	}
	*ret_service = service;
	return 0;
}

void state_service_free(struct state_service *service)
{
	if (!service)
		return;
	runner_stop(service->runner);
	runner_join(service->runner, NULL);
	MAP_EACH (&service->places, entry)
		place_free(entry->value);
	map_clear(&service->places);
	state_own_free(service->own);
	state_relay_free(service->relay);
	runner_event_free(service->wanted);
	runner_free(service->runner);
	lock_destroy(&service->lock);
	free(service);
}
