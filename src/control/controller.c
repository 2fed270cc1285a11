/*
 * One thread follows the store and fills the queue; the workers are further threads. The follower
 * keeps the last view up to which every change was queued; changes that the feed dropped are the
 * difference between that view and a newer one.
 */
#include "control/controller.h"

#include <assert.h>
#include <stdio.h>

#include "base/lock.h"
#include "base/memory.h"
#include "base/seeded_bug.h"

#define CHANGES_AT_ONCE 64
#define RETRY_US INT64_C(1000000) /* until a feed that could not be opened is tried again */

struct controller {
	const struct controller_row *row;
	struct controller_config config;
	struct runner *runner;           /* a group of its own */
	const struct store_kind **kinds; /* that it watches */
	struct work_queue *queue;
	struct runner_event *changed;
	struct lock lock;
	/* Guarded by the lock: */
	struct controller_statistics statistics;
	bool listed;
	/* The follower's own: */
	struct store_view *dealt_with;
	struct store_feed *feed;
	uint64_t position; /* of the feed: changes up to here were queued */
	int64_t resync_at_us;
};

struct controller_keys {
	struct work_queue *queue; /* NULL: only whether there are any */
	bool any;
};

void controller_keys_add(struct controller_keys *keys, struct span key)
{
	keys->any = true;
	if (keys->queue)
		work_queue_add(keys->queue, key);
}

static void queue_change(struct controller *controller, const struct controller_watch *watch,
	const struct store_change *change)
{
	struct controller_keys keys = {.queue = controller->queue};

	if (watch->map)
		watch->map(change, controller->config.context, &keys);
	else
		controller_keys_add(&keys,
			change->after ? change->after->key : change->before->key);
}

static void queue_changes(struct controller *controller, const struct store_change *change)
{
	for (size_t i = 0; i < controller->row->watch_count; i++) {
		if (controller->row->watches[i].kind == change->kind)
			queue_change(controller, &controller->row->watches[i], change);
	}
}

/* ---- following ---- */

/* Queues what differs between two views, walking both in order of key. before NULL: everything. */
static void queue_difference(struct controller *controller, const struct controller_watch *watch,
	const struct store_view *before, const struct store_view *after)
{
	struct store_cursor old = {.view = before, .kind = watch->kind, .index = -1};
	struct store_cursor new = {.view = after, .kind = watch->kind, .index = -1};
	const struct store_object *was = before ? store_next(&old) : NULL;
	const struct store_object *is = store_next(&new);

	while (was || is) {
		int order = !was ? 1 : !is ? -1 : span_compare(was->key, is->key);
		struct store_change change = {
			.kind = watch->kind,
			.before = order <= 0 ? was : NULL,
			.after = order >= 0 ? is : NULL,
		};

		change.revision =
			change.after ? change.after->revision : store_view_revision(after);
		if (order != 0 || was->revision != is->revision)
			queue_change(controller, watch, &change);
		if (order <= 0)
			was = store_next(&old);
		if (order >= 0)
			is = store_next(&new);
	}
}

static void note_progress(struct controller *controller, uint64_t revision)
{
	lock_take(&controller->lock);
	if (revision > controller->statistics.revision)
		controller->statistics.revision = revision;
	lock_release(&controller->lock);
}

static void queue_all_differences(struct controller *controller, const struct store_view *before,
	const struct store_view *after)
{
	for (size_t i = 0; i < controller->row->watch_count; i++)
		queue_difference(controller, &controller->row->watches[i], before, after);
	lock_take(&controller->lock);
	controller->statistics.lists++;
	controller->listed = true;
	lock_release(&controller->lock);
}

/* Queues everything. The position in the feed does not change: it may still have deletions. */
static void resync(struct controller *controller)
{
	_view_ struct store_view *view = store_view_open(controller->config.store);

	queue_all_differences(controller, NULL, view);
}

static void wake_follower(void *context)
{
	struct controller *controller = context;

	runner_signal(controller->changed);
}

/* Many controllers watch tasks, and most changes of a task concern few of them: waking all for
 * each costs more than the write. */
static bool matters(const struct store_change *change, void *context)
{
	const struct controller *controller = context;
	struct controller_keys keys = {0};

	for (size_t i = 0; i < controller->row->watch_count && !keys.any; i++) {
		const struct controller_watch *watch = &controller->row->watches[i];

		if (watch->kind == change->kind && !watch->map)
			return true;
		if (watch->kind == change->kind)
			watch->map(change, controller->config.context, &keys);
	}
	return keys.any;
}

/* Queues what changed since the view that was dealt with (at first: everything), and opens a feed from
 * there on. */
static int list_and_follow(struct controller *controller, struct err *err)
{
	struct store_view *view = store_view_open(controller->config.store);
	int code;

	queue_all_differences(controller, controller->dealt_with, view);
	store_view_close(controller->dealt_with);
	controller->dealt_with = view;
	controller->position = store_view_revision(view);
	note_progress(controller, controller->position);
	code = store_feed_open(controller->config.store, controller->position, wake_follower,
		controller, &controller->feed, err);
	/* Changes published in between cause extra wake-ups, never missing ones. */
	if (code == 0) {
		store_feed_filter(controller->feed, matters);
		store_feed_narrow(controller->feed, controller->kinds,
			controller->row->watch_count);
	}
	return code;
}

/* Queues the changes of the feed. -EOVERFLOW when it lost some, -ECANCELED when stopped
 * meanwhile. */
static int drain_feed(struct controller *controller)
{
	struct store_change changes[CHANGES_AT_ONCE];
	struct store_view *view;
	int count;

	while ((count = store_feed_next(controller->feed, changes, LENGTH(changes))) > 0) {
		/* Counted first: a reader that sees the effect of a change finds it counted. */
		lock_take(&controller->lock);
		controller->statistics.changes += (uint64_t)count;
		lock_release(&controller->lock);
		for (int i = 0; i < count; i++) {
			queue_changes(controller, &changes[i]);
			controller->position = changes[i].revision;
			store_change_release(&changes[i]);
		}
		note_progress(controller, controller->position);
		/* A feed that never runs dry must not keep us from stopping. */
		if (runner_yield(controller->runner) < 0)
			return -ECANCELED;
	}
	if (count < 0)
		return count;
	/* Views are published before the feed has the changes: only one that shows nothing that was not
	 * queued yet may become the base of a later comparison. */
	view = store_view_open(controller->config.store);
	if (store_view_revision(view) <= controller->position) {
		store_view_close(controller->dealt_with);
		controller->dealt_with = TAKE(view);
	}
	store_view_close(view);
	return 0;
}

static void feed_lost(struct controller *controller)
{
	store_feed_close(controller->feed);
	controller->feed = NULL;
	lock_take(&controller->lock);
	controller->statistics.overflows++;
	lock_release(&controller->lock);
	runner_trace(controller->runner, "%s: feed overflow", controller->row->name);
	if (!SEEDED_BUG(controller->config.bug_ignore_overflow))
		return;
	store_view_close(controller->dealt_with);
	controller->dealt_with = store_view_open(controller->config.store);
}

static void plan_resync(struct controller *controller)
{
	controller->resync_at_us = RUNNER_FOREVER;
	if (controller->row->resync_ms > 0)
		controller->resync_at_us =
			runner_deadline_us(controller->runner, controller->row->resync_ms * 1000);
}

/* Opens the feed if need be and queues what it has. */
static int catch_up(struct controller *controller)
{
	int code = controller->feed ? 0 : list_and_follow(controller, NULL);

	return code < 0 ? code : drain_feed(controller);
}

static void follow(void *context)
{
	struct controller *controller = context;

	plan_resync(controller);
	for (;;) {
		uint64_t seen = runner_event_count(controller->changed);
		int64_t until_us = controller->resync_at_us;
		int code = runner_yield(controller->runner);

		if (code == 0)
			code = catch_up(controller);
		if (code == -ECANCELED)
			break;
		if (code == -EOVERFLOW) {
			feed_lost(controller);
			continue;
		}
		if (code < 0)
			until_us = runner_deadline_us(controller->runner, RETRY_US);
		if (runner_wait(controller->runner, controller->changed, seen, until_us) ==
			-ECANCELED)
			break;
		if (runner_now_us(controller->runner) >= controller->resync_at_us) {
			resync(controller);
			plan_resync(controller);
		}
	}
	store_feed_close(controller->feed);
	controller->feed = NULL;
	store_view_close(controller->dealt_with);
	controller->dealt_with = NULL;
}

/* ---- working ---- */

/* A stored deadline is wall time; we wait in steady time, and not for ever in case the wall clock is
 * set meanwhile. */
static void queue_again(struct controller *controller, struct span key, int64_t at_ms)
{
	int64_t left_ms = at_ms - runner_wall_ms(controller->runner);

	if (left_ms > CONTROLLER_AGAIN_MOST_MS)
		left_ms = CONTROLLER_AGAIN_MOST_MS;
	work_queue_add_at(controller->queue, key,
		runner_deadline_us(controller->runner, left_ms > 0 ? left_ms * 1000 : 0));
}

static void retry(struct controller *controller, struct span key, const struct err *err)
{
	if (controller->config.report)
		controller->config.report(controller->config.report_context, controller->row->name,
			key, err);
	work_queue_add_rate_limited(controller->queue, key);
}

void controller_failed(struct controller *controller, struct span key, const struct err *err)
{
	lock_take(&controller->lock);
	controller->statistics.failures++;
	lock_release(&controller->lock);
	retry(controller, key, err);
}

static void reconcile(struct controller *controller, struct span key)
{
	struct controller_call call = {
		.runner = controller->runner,
		.store = controller->config.store,
		.context = controller->config.context,
	};
	struct err err = {0};
	int code = controller->row->reconcile(&call, key, &err);

	assert(lock_held_count() == 0);
	lock_take(&controller->lock);
	controller->statistics.reconciles++;
	controller->statistics.failures += code < 0 && code != -ECANCELED;
	lock_release(&controller->lock);
	if (code == -ECANCELED && runner_is_stopped(controller->runner))
		return;
	if (code < 0) {
		retry(controller, key, &err);
		return;
	}
	work_queue_forget(controller->queue, key);
	if (call.again_at_ms > 0)
		queue_again(controller, key, call.again_at_ms);
}

static void work(void *context)
{
	struct controller *controller = context;
	struct span key;

	while (work_queue_get(controller->queue, &key) == 0) {
		reconcile(controller, key);
		work_queue_done(controller->queue, key);
	}
}

/* ---- starting and stopping ---- */

int controller_start(const struct controller_row *row, const struct controller_config *config,
	struct controller **ret_controller, struct err *err)
{
	struct controller *controller = memory_allocate(sizeof(*controller));
	unsigned workers = row->workers > 0 ? row->workers : 1;
	int code;

	assert(workers <= CONTROLLER_WORKERS_MAX);
	controller->row = row;
	controller->config = *config;
	controller->kinds = memory_allocate_array(row->watch_count + 1, sizeof(*controller->kinds));
	for (size_t i = 0; i < row->watch_count; i++)
		controller->kinds[i] = row->watches[i].kind;
	controller->runner = runner_group_new(config->runner, row->name);
	controller->queue = work_queue_new(controller->runner, &config->queue);
	controller->changed = runner_event_new(controller->runner, "changes");
	lock_init(&controller->lock);
	code = runner_spawn(controller->runner, "follower", follow, controller, err);
	for (unsigned i = 0; code == 0 && i < workers; i++) {
		char name[32];

		snprintf(name, sizeof(name), "worker-%u", i);
		code = runner_spawn(controller->runner, name, work, controller, err);
	}
	if (code < 0) {
		controller_stop(controller);
		return err_prefix(err, code, "start controller '%s'", row->name);
	}
	*ret_controller = controller;
	return 0;
}

void controller_stop(struct controller *controller)
{
	if (!controller)
		return;
	runner_stop(controller->runner);
	runner_join(controller->runner, NULL);
	work_queue_free(controller->queue);
	runner_event_free(controller->changed);
	runner_free(controller->runner);
	lock_destroy(&controller->lock);
	free(controller->kinds);
	free(controller);
}

void controller_add(struct controller *controller, struct span key)
{
	work_queue_add(controller->queue, key);
}

bool controller_is_idle(struct controller *controller)
{
	struct controller_statistics statistics;
	bool listed;

	lock_take(&controller->lock);
	listed = controller->listed;
	lock_release(&controller->lock);
	controller_statistics(controller, &statistics);
	return listed && statistics.queue.depth == 0 && statistics.queue.processing == 0;
}

void controller_statistics(struct controller *controller,
	struct controller_statistics *ret_statistics)
{
	lock_take(&controller->lock);
	*ret_statistics = controller->statistics;
	lock_release(&controller->lock);
	work_queue_statistics(controller->queue, &ret_statistics->queue);
}
