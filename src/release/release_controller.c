/* See release_controller.h. */
#include "release/release_controller.h"

#include <stdio.h>

#include "base/lock.h"
#include "base/memory.h"
#include "control/work_queue.h"
#include "release/release_names.h"
#include "release/release_pass.h"

#define BACKOFF_FIRST_US INT64_C(50000)
#define BACKOFF_MOST_US INT64_C(30000000)
#define UNSYNCED_US INT64_C(200000)
#define RETRIES_PER_SECOND 20

struct release_controller {
	struct release_controller_config config;
	struct arena *arena;
	struct runner *group, *workers; /* the second one in the first */
	struct http_client_cancel cancel;
	struct work_queue *queue;
	struct release_watch *watch;
	struct release_passes passes;
	struct lock lock; /* for all below */
	struct map known; /* of struct release_known, by key */
	struct release_controller_statistics statistics;
};

/* ---- keys ---- */

static void release_changed(void *context, struct span namespace, struct span release)
{
	struct release_controller *controller = context;
	char key[2 * KUBE_NAME_MAX + 2];
	int length;

	if (release.length == 0)
		return;
	length = snprintf(key, sizeof(key), "%.*s/%.*s", SPAN_ARGS(namespace), SPAN_ARGS(release));
	if (length > 0 && (size_t)length < sizeof(key))
		work_queue_add(controller->queue, (struct span){key, (size_t)length});
}

static void report(struct release_controller *controller, struct span what, const struct err *err)
{
	if (controller->config.report)
		controller->config.report(controller->config.context, what, err);
}

static void watch_failed(void *context, const char *resource, const struct err *err)
{
	report(context, span_of(resource), err);
}

static struct release_known *know(struct release_controller *controller, struct span key)
{
	struct release_known *known;

	lock_take(&controller->lock);
	known = map_get(&controller->known, key);
	if (!known) {
		known = memory_allocate(sizeof(*known));
		map_put(&controller->known, key, known);
	}
	lock_release(&controller->lock);
	return known;
}

static void forget(struct release_controller *controller, struct span key)
{
	struct release_known *known;

	lock_take(&controller->lock);
	known = map_remove(&controller->known, key);
	lock_release(&controller->lock);
	if (!known)
		return;
	release_known_free(known);
}
/* ---- working ---- */

static void finish(struct release_controller *controller, struct span key, int code,
	int64_t again_ms, const struct err *err)
{
	int64_t left_ms = again_ms - runner_wall_ms(controller->group);

	lock_take(&controller->lock);
	controller->statistics.reconciles++;
	controller->statistics.failures += code < 0 && code != -ECANCELED && code != -EAGAIN;
	lock_release(&controller->lock);
	if (code == -ECANCELED) /* the lease was lost: follow_lease() adds all keys later */
		return;
	if (code < 0) {
		if (code != -EAGAIN)
			report(controller, key, err);
		work_queue_add_rate_limited(controller->queue, key);
		return;
	}
	work_queue_forget(controller->queue, key);
	if (again_ms > 0)
		work_queue_add_at(controller->queue, key,
			runner_deadline_us(controller->group, left_ms > 0 ? left_ms * 1000 : 0));
}

static int reconcile(struct release_controller *controller, struct span key, int64_t *ret_again_ms,
	struct err *err)
{
	int code = release_pass_run(&controller->passes, know(controller, key), key, ret_again_ms,
		err);

	if (code != RELEASE_PASS_GONE)
		return code;
	forget(controller, key);
	return 0;
}

static void work(void *context)
{
	struct release_controller *controller = context;
	struct span key;

	while (work_queue_get(controller->queue, &key) == 0) {
		struct err err = {0};
		int64_t again_ms = 0;
		int code;

		/* Without the lease the key is dropped: all are added when it is held. */
		if (!kube_lease_is_held(controller->config.lease))
			;
		else if (!release_watch_is_synced(controller->watch))
			work_queue_add_at(controller->queue, key,
				runner_deadline_us(controller->group, UNSYNCED_US));
		else {
			code = reconcile(controller, key, &again_ms, &err);
			finish(controller, key, code, again_ms, &err);
		}
		work_queue_done(controller->queue, key);
	}
}

/* While another program had the lease it may have changed anything. */
static void follow_lease(void *context)
{
	struct release_controller *controller = context;

	for (;;) {
		uint64_t seen = runner_event_count(controller->config.lease_acquired);

		if (kube_lease_is_held(controller->config.lease))
			release_watch_all(controller->watch);
		if (runner_wait(controller->workers, controller->config.lease_acquired, seen,
			    RUNNER_FOREVER) < 0)
			return;
	}
}

void release_controller_statistics(struct release_controller *controller,
	struct release_controller_statistics *ret_statistics)
{
	struct work_queue_statistics queue;

	work_queue_statistics(controller->queue, &queue);
	lock_take(&controller->lock);
	*ret_statistics = controller->statistics;
	lock_release(&controller->lock);
	ret_statistics->depth = queue.depth;
	ret_statistics->synced = release_watch_is_synced(controller->watch);
}

int release_controller_start(const struct release_controller_config *config,
	struct release_controller **ret_controller, struct err *err)
{
	struct release_controller *controller = memory_allocate(sizeof(*controller));
	struct work_queue_config queue = {.backoff_first_us = BACKOFF_FIRST_US,
		.backoff_most_us = BACKOFF_MOST_US,
		.retries_per_second = RETRIES_PER_SECOND};
	struct release_watch_config watch = {.client = config->client,
		.changed = release_changed,
		.failed = watch_failed,
		.context = controller};
	int code;

	controller->config = *config;
	controller->arena = arena_new(0);
	if (config->namespace.data)
		controller->config.namespace =
			arena_copy_span(controller->arena, config->namespace);
	lock_init(&controller->lock);
	lock_init(&controller->passes.lock);
	controller->group = runner_group_new(config->runner, "releases");
	controller->workers = runner_group_new(controller->group, "workers");
	controller->queue = work_queue_new(controller->group, &queue);
	watch.runner = controller->group;
	watch.namespace = controller->config.namespace;
	code = release_watch_start(&watch, &controller->watch, err);
	controller->passes.applier =
		(struct release_applier){.calls = {.client = config->client,
						 .lease = config->lease,
						 .field_manager = RELEASE_FIELD_MANAGER},
			.watch = controller->watch,
			.runner = controller->group};
	if (code == 0)
		code = runner_spawn(controller->workers, "release-lease", follow_lease, controller,
			err);
	for (unsigned i = 0; code == 0 && i < RELEASE_WORKERS; i++)
		code = runner_spawn(controller->workers, "release", work, controller, err);
	if (code < 0) {
		release_controller_stop(controller);
		return code;
	}
	*ret_controller = controller;
	return 0;
}

void release_controller_stop(struct release_controller *controller)
{
	if (!controller)
		return;
	work_queue_shut_down(controller->queue);
	runner_stop(controller->group);
	http_client_cancel(controller->config.http, &controller->cancel);
	runner_join(controller->workers, NULL);
	release_watch_stop(controller->watch);
	runner_join(controller->group, NULL);
	work_queue_free(controller->queue);
	runner_free(controller->workers);
	runner_free(controller->group);
	MAP_EACH (&controller->known, entry) {
		release_known_free(entry->value);
	}
	map_clear(&controller->known);
	lock_destroy(&controller->lock);
	lock_destroy(&controller->passes.lock);
	arena_free(controller->arena);
	free(controller);
}
