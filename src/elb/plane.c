/* The loop of the plane; see plane.h and plane_components.h. */
#include "elb/plane.h"

#include "base/memory.h"
#include "elb/plane_components.h"

#define CHANGES_AT_ONCE 64
#define AGAIN_MS 1000 /* after something failed as a whole */

static const struct store_kind *const watched[] = {
	&elb_load_balancer_kind,
	&elb_target_group_kind,
	&elb_target_kind,
	&elb_listener_kind,
	&elb_rule_kind,
};

void plane_mark(struct map *dirty, struct span key)
{
	map_put(dirty, key, dirty);
}

/* ---- changes ---- */

/* A key without its last parts. */
static struct span parent_key(struct span key, unsigned parts)
{
	while (key.length > 0 && parts > 0) {
		key.length--;
		parts -= key.data[key.length] == '/';
	}
	return key;
}

static void mark_listeners_of(struct elb_plane *plane, struct span balancer)
{
	MAP_EACH (&plane->listeners, entry) {
		if (span_equal(((struct plane_listener *)entry->value)->balancer, balancer))
			plane_mark(&plane->dirty_listeners, entry->key);
	}
}

/* Some options of a listener are those of its groups. */
static void mark_users_of(struct elb_plane *plane, struct span group)
{
	MAP_EACH (&plane->listeners, entry) {
		const struct plane_shape *shape = ((struct plane_listener *)entry->value)->shape;

		for (size_t i = 0; shape && i < shape->group_count; i++) {
			if (span_is(group, shape->groups[i]))
				plane_mark(&plane->dirty_listeners, entry->key);
		}
	}
}

static void mark_object(struct elb_plane *plane, const struct store_kind *kind, struct span key)
{
	if (kind == &elb_target_kind) {
		plane_mark(&plane->dirty_groups, parent_key(key, 2));
	} else if (kind == &elb_target_group_kind) {
		plane_mark(&plane->dirty_groups, key);
		mark_users_of(plane, key);
	} else if (kind == &elb_listener_kind) {
		plane_mark(&plane->dirty_listeners, key);
		plane_mark(&plane->dirty_balancers, parent_key(key, 1));
	} else if (kind == &elb_rule_kind) {
		plane_mark(&plane->dirty_listeners, parent_key(key, 1));
	} else if (kind == &elb_load_balancer_kind) {
		plane_mark(&plane->dirty_balancers, key);
		mark_listeners_of(plane, key);
	}
}

/* Everything that is stored, and everything that was known. */
static void mark_all(struct elb_plane *plane, const struct store_view *view)
{
	static const struct store_kind *const kinds[] = {
		&elb_load_balancer_kind, &elb_target_group_kind, &elb_listener_kind};
	const struct store_object *object;

	for (size_t i = 0; i < LENGTH(kinds); i++) {
		struct store_cursor cursor = {.view = view, .kind = kinds[i], .index = -1};

		while ((object = store_next(&cursor)))
			mark_object(plane, kinds[i], object->key);
	}
	MAP_EACH (&plane->listeners, entry)
		plane_mark(&plane->dirty_listeners, entry->key);
	MAP_EACH (&plane->groups, entry)
		plane_mark(&plane->dirty_groups, entry->key);
}

static void wake(void *context)
{
	runner_signal(context);
}

static int open_feed(struct elb_plane *plane, struct err *err)
{
	_view_ struct store_view *view = store_view_open(plane->config.store);
	int code = store_feed_open(plane->config.store, store_view_revision(view), wake,
		plane->event, &plane->feed, err);

	if (code < 0)
		return code;
	store_feed_narrow(plane->feed, watched, LENGTH(watched));
	mark_all(plane, view);
	return 0;
}

static int follow(struct elb_plane *plane, struct err *err)
{
	struct store_change changes[CHANGES_AT_ONCE];
	int count = 0;

	for (;;) {
		if (!plane->feed)
			count = open_feed(plane, err);
		if (count >= 0)
			count = store_feed_next(plane->feed, changes, LENGTH(changes));
		for (int i = 0; i < count; i++) {
			const struct store_object *object =
				changes[i].after ? changes[i].after : changes[i].before;

			mark_object(plane, changes[i].kind, object->key);
			store_change_release(&changes[i]);
		}
		if (count > 0)
			continue;
		if (count != -EOVERFLOW)
			return count;
		store_feed_close(TAKE(plane->feed));
		count = 0;
	}
}

/* Takes the prober's results, and certificates that may have changed. */
static void take_changes(struct elb_plane *plane)
{
	struct map changes;
	bool refresh;

	lock_take(&plane->lock);
	changes = plane->changes;
	plane->changes = (struct map){0};
	refresh = plane->refresh;
	plane->refresh = false;
	lock_release(&plane->lock);
	MAP_EACH (&changes, entry)
		plane_mark(&plane->dirty_groups, entry->key);
	map_clear(&changes);
	MAP_EACH (&plane->listeners, entry) {
		const struct plane_listener *listener = entry->value;

		if (refresh && (!listener->shape || listener->shape->has_certificates))
			plane_mark(&plane->dirty_listeners, entry->key);
	}
}

/* On the prober's thread. */
static void report(void *context, const char *key, const struct probe_health *health)
{
	struct elb_plane *plane = context;

	(void)health; /* read together with the group */
	lock_take(&plane->lock);
	plane_mark(&plane->changes, parent_key(span_of(key), 2));
	lock_release(&plane->lock);
	runner_signal(plane->event);
}

/* ---- reading again ---- */

static void forget_listener(struct elb_plane *plane, struct span key)
{
	struct plane_listener *listener = map_remove(&plane->listeners, key);

	if (listener && listener->in_effect)
		plane->must_apply |= listener->in_effect->driver;
	plane_listener_free(listener);
}

static struct plane_listener *know_listener(struct elb_plane *plane, struct span key)
{
	struct plane_listener *listener = map_get(&plane->listeners, key);

	if (listener)
		return listener;
	listener = memory_allocate(sizeof(*listener));
	listener->key = memory_copy_string_n(key.data, key.length);
	listener->balancer = parent_key(span_of(listener->key), 1);
	map_put(&plane->listeners, key, listener);
	return listener;
}

/* Schedules the work for a listener whose desired shape has changed. */
static void take_shape(struct elb_plane *plane, struct plane_listener *listener,
	struct plane_shape *shape)
{
	const struct plane_shape *old = listener->in_effect;
	bool same = old && span_equal(old->text, shape->text) &&
		    span_equal(old->rule_weights, shape->rule_weights);

	if (listener->shape != listener->in_effect)
		plane_shape_free(listener->shape);
	listener->shape = shape;
	listener->left_out = listener->unbuilt = false;
	if (!same || listener->failure.code != 0) {
		plane->must_apply |= shape->driver | (old ? old->driver : 0);
	} else if (!span_equal(old->weights, shape->weights)) {
		plane_mark(&plane->weights, span_of(listener->key));
	} else {
		/* The desired shape is already in effect. */
		listener->shape = listener->in_effect;
		plane_shape_free(shape);
	}
}

static void read_listener(struct elb_plane *plane, const struct store_view *view, struct span key)
{
	const struct store_object *object = store_get(view, &elb_listener_kind, key);
	struct plane_listener *listener;
	struct plane_shape *shape;
	struct err err = {0};
	int code;

	if (!object) {
		forget_listener(plane, key);
		return;
	}
	code = plane_shape_build(plane, view, object, &shape, &err);
	listener = know_listener(plane, key);
	if (code == 0) {
		take_shape(plane, listener, shape);
	} else {
		listener->unbuilt = true;
		plane_listener_failed(plane, listener, &err);
	}
}

static void use_groups(struct elb_plane *plane, const struct plane_shape *shape)
{
	for (size_t i = 0; shape && i < shape->group_count; i++) {
		struct span key = span_of(shape->groups[i]);
		struct plane_group *group = map_get(&plane->groups, key);

		if (!group) {
			group = memory_allocate(sizeof(*group));
			group->key = memory_copy_string(shape->groups[i]);
			map_put(&plane->groups, key, group);
			plane_mark(&plane->dirty_groups, key);
		}
		group->users |= shape->driver;
	}
}

/* Counts the groups in use, by desired state and by the state still in effect. */
static void count_users(struct elb_plane *plane)
{
	plane->must_count = false;
	MAP_EACH (&plane->groups, entry)
		((struct plane_group *)entry->value)->users = 0;
	MAP_EACH (&plane->listeners, entry) {
		const struct plane_listener *listener = entry->value;

		use_groups(plane, listener->shape);
		if (listener->in_effect != listener->shape)
			use_groups(plane, listener->in_effect);
	}
	MAP_EACH (&plane->groups, entry) {
		struct plane_group *group = entry->value;

		if (group->users != 0) {
			group->drivers = group->users;
			group->lingers = false;
		} else if (!group->lingers) {
			group->lingers = plane->must_check_soon = true;
		}
	}
}

static void read_dirty(struct elb_plane *plane, const struct store_view *view)
{
	MAP_EACH (&plane->dirty_listeners, entry)
		read_listener(plane, view, entry->key);
	if (plane->dirty_listeners.count > 0)
		count_users(plane);
	/* Once more when they are in effect: until then their previous state counts. */
	plane->must_count |= plane->dirty_listeners.count > 0;
	map_clear(&plane->dirty_listeners);
	MAP_EACH (&plane->dirty_groups, entry) {
		struct plane_group *group = map_get(&plane->groups, entry->key);

		if (group)
			plane_group_read(plane, view, group);
		else
			plane_group_read_unused(plane, view, entry->key);
	}
	map_clear(&plane->dirty_groups);
}

/* ---- one pass ---- */

static void note_settled(struct elb_plane *plane, uint64_t seen)
{
	bool waits = false;

	MAP_EACH (&plane->listeners, entry) {
		const struct plane_listener *listener = entry->value;

		waits |= listener->failure.code != 0 && !listener->impaired;
	}
	lock_take(&plane->lock);
	if (!waits) {
		plane->handled = seen;
		plane->started = true;
	}
	lock_release(&plane->lock);
}

/* seen: what has been signalled before. */
static int pass(struct elb_plane *plane, uint64_t seen, int64_t *ret_next_us, struct err *err)
{
	_view_ struct store_view *view = NULL;
	int64_t next_us;
	int code = follow(plane, err);

	if (code < 0)
		return code;
	take_changes(plane);
	plane_retry_listeners(plane);
	view = store_view_open(plane->config.store);
	read_dirty(plane, view);
	code = plane_put_into_effect(plane, err);
	if (code < 0)
		return code;
	if (plane->must_count)
		count_users(plane);
	plane_judge_balancers(plane, view);
	note_settled(plane, seen);
	if (plane->must_check)
		code = plane_groups_check(plane, err);
	plane->must_check = code < 0;
	if (code < 0)
		return code;
	*ret_next_us = plane_groups_drain(plane);
	next_us = plane_next_retry_us(plane);
	if (next_us < *ret_next_us)
		*ret_next_us = next_us;
	return plane_write_all(plane, err);
}

/* After a failure of the whole, everything is retried a little later. */
static void start_anew(struct elb_plane *plane)
{
	_view_ struct store_view *view = store_view_open(plane->config.store);

	plane_writes_clear(plane);
	mark_all(plane, view);
}

static void plane_main(void *context)
{
	struct elb_plane *plane = context;

	for (;;) {
		uint64_t seen = runner_event_count(plane->event);
		int64_t next_us = RUNNER_FOREVER;
		struct err err = {0};
		int code = runner_yield(plane->runner);

		if (code == 0)
			code = pass(plane, seen, &next_us, &err);
		if (runner_is_stopped(plane->runner))
			return;
		if (code < 0) {
			if (plane->config.report)
				plane->config.report(plane->config.report_context, "traffic",
					SPAN(""), &err);
			start_anew(plane);
			if (runner_sleep_until(plane->runner,
				    runner_deadline_us(plane->runner, AGAIN_MS * 1000)) < 0)
				return;
			continue;
		}
		if (runner_wait(plane->runner, plane->event, seen, next_us) == -ECANCELED)
			return;
	}
}

/* ---- calls ---- */

int elb_plane_start(const struct elb_plane_config *config, struct elb_plane **ret_plane,
	struct err *err)
{
	struct elb_plane *plane = memory_allocate(sizeof(*plane));
	int code;

	plane->config = *config;
	lock_init(&plane->lock);
	plane->runner = runner_group_new(config->runner, "traffic");
	plane->event = runner_event_new(plane->runner, "traffic");
	runner_signal(plane->event); /* nothing is in effect yet */
	code = prober_new(config->runner, report, plane, &plane->prober, err);
	if (code == 0)
		code = runner_spawn(plane->runner, "plane", plane_main, plane, err);
	if (code < 0) {
		elb_plane_stop(plane);
		return err_prefix(err, code, "start traffic");
	}
	*ret_plane = plane;
	return 0;
}

void elb_plane_stop(struct elb_plane *plane)
{
	if (!plane)
		return;
	runner_stop(plane->runner);
	runner_join(plane->runner, NULL);
	prober_free(plane->prober);
	store_feed_close(plane->feed);
	plane_writes_clear(plane);
	free(plane->writes);
	MAP_EACH (&plane->listeners, entry)
		plane_listener_free(entry->value);
	MAP_EACH (&plane->groups, entry)
		plane_group_free(entry->value);
	map_clear(&plane->listeners);
	map_clear(&plane->groups);
	map_clear(&plane->dirty_listeners);
	map_clear(&plane->dirty_groups);
	map_clear(&plane->dirty_balancers);
	map_clear(&plane->weights);
	map_clear(&plane->changes);
	runner_event_free(plane->event);
	runner_free(plane->runner);
	lock_destroy(&plane->lock);
	free(plane);
}

bool elb_plane_is_settled(struct elb_plane *plane)
{
	uint64_t count = runner_event_count(plane->event);
	bool settled;

	lock_take(&plane->lock);
	settled = plane->started && plane->handled == count;
	lock_release(&plane->lock);
	return settled;
}

bool elb_plane_has_started(struct elb_plane *plane)
{
	bool started;

	lock_take(&plane->lock);
	started = plane->started;
	lock_release(&plane->lock);
	return started;
}

void elb_plane_refresh(struct elb_plane *plane)
{
	lock_take(&plane->lock);
	plane->refresh = true;
	lock_release(&plane->lock);
	runner_signal(plane->event);
}

void elb_plane_report(struct elb_plane *plane, struct arena *arena, struct proxy_report *ret_report)
{
	proxy_report(plane->config.proxy, arena, ret_report);
}
