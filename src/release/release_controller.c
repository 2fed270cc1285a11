/* See release_controller.h. */
#include "release/release_controller.h"

#include <stdio.h>

#include "base/lock.h"
#include "base/memory.h"
#include "control/work_queue.h"
#include "release/release_apply.h"
#include "release/release_decide.h"
#include "release/release_names.h"
#include "release/release_steps.h"
#include "release/release_watch.h"

#define STEPS_MAX 8 /* of one reconcile */
#define BACKOFF_FIRST_US INT64_C(50000)
#define BACKOFF_MOST_US INT64_C(30000000)
#define UNSYNCED_US INT64_C(200000)
#define RETRIES_PER_SECOND 20
#define VERSION_MAX 64

/* Of one Release. Used by the worker that has its key. */
struct known_release {
	struct release_memory memory;
	/* The spec of this generation needs no step as long as this version is the current one, or it cannot be
	 * rendered. */
	int64_t settled_generation, settled_version;
	const char *failure_reason; /* NULL: none */
	char *failure_message;
};

struct release_controller {
	struct release_controller_config config;
	struct arena *arena;
	struct runner *group, *workers; /* the second one in the first */
	struct http_client_cancel cancel;
	struct work_queue *queue;
	struct release_watch *watch;
	struct release_applier applier;
	struct lock lock; /* for all below */
	struct map known; /* of struct known_release, by key */
	char kube_version[VERSION_MAX];
	struct release_controller_statistics statistics;
};

/* One reconcile. */
struct pass {
	struct release_controller *controller;
	struct known_release *known;
	struct arena *arena;
	const struct json *object; /* the Release as it was read */
	struct release_snapshot release;
	struct kube_object_list list; /* its histories, from the watch */
	struct release_histories histories;
	struct release_failure failure;
	int64_t again_ms; /* wall time; 0: none */
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

static void free_known(struct known_release *known)
{
	release_memory_clear(&known->memory);
	free(known->failure_message);
	free(known);
}

static struct known_release *know(struct release_controller *controller, struct span key)
{
	struct known_release *known;

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
	struct known_release *known;

	lock_take(&controller->lock);
	known = map_remove(&controller->known, key);
	lock_release(&controller->lock);
	if (!known)
		return;
	free_known(known);
}

/* ---- reading ---- */

static int read_release(struct pass *pass, struct span key, struct err *err)
{
	struct span namespace = SPAN(""), name = key;
	struct object_id id;
	struct json *object;
	int r;

	span_split(key, '/', &namespace, &name);
	id = (struct object_id){.api_version = SPAN(RELEASE_API_VERSION),
		.kind = SPAN("Release"),
		.name = name,
		.namespace = namespace};
	r = object_get(&pass->controller->applier.calls, &id, pass->arena, &object, err);
	if (r < 0)
		return r;
	pass->object = object;
	return release_snapshot_read(pass->arena, object, &pass->release, err);
}

static bool is_needed(const struct release_snapshot *release, int64_t version, int64_t newest,
	int64_t before)
{
	if (version == release->version || version == newest)
		return true;
	if (!release->rolls_back)
		return false;
	return version == (release->roll_back_to == 0 ? before : release->roll_back_to);
}

static bool owns(const struct release_snapshot *release,
	const struct release_known_history *history)
{
	for (size_t i = 0; i < history->owner_count; i++)
		if (span_equal(history->owner_uids[i], release->uid))
			return true;
	return false;
}

/* Of the histories in the watch, and the current one. */
static int64_t newest_version(struct pass *pass)
{
	int64_t newest = pass->release.version;

	if (pass->list.count == 0)
		release_watch_histories(pass->controller->watch, pass->release.namespace,
			pass->release.name, pass->arena, &pass->list);
	for (size_t i = 0; i < pass->list.count; i++) {
		const struct release_known_history *known = pass->list.objects[i]->data;

		if (owns(&pass->release, known) && known->version > newest)
			newest = known->version;
	}
	return newest;
}

/* Adds a history with its source if it exists. */
static int add_history(struct pass *pass, struct release_history *histories, size_t *count,
	int64_t version, struct err *err)
{
	int r = release_read_history(&pass->controller->applier.calls, &pass->release, version,
		pass->arena, &histories[*count], err);

	*count += r == 0;
	return r == -ENOENT ? 0 : r;
}

static int compare_versions(const void *a, const void *b)
{
	int64_t first = ((const struct release_history *)a)->version;
	int64_t second = ((const struct release_history *)b)->version;

	return first < second ? -1 : first > second;
}

/* All versions from the watch; their sources, which may be large, only where the decision needs them. The current
 * version, and one that an interrupted pass may have written, are read even if the watch does not show them yet. */
static int read_histories(struct pass *pass, struct err *err)
{
	const struct release_snapshot *release = &pass->release;
	struct release_history *histories;
	int64_t newest = release->version, before = 0;
	size_t count = 0;
	bool current = false, rollback = false;
	int r = 0;

	kube_object_list_release(&pass->list);
	release_watch_histories(pass->controller->watch, release->namespace, release->name,
		pass->arena, &pass->list);
	histories = arena_allocate_array(pass->arena, pass->list.count + 4, sizeof(*histories));
	for (size_t i = 0; i < pass->list.count; i++) {
		const struct release_known_history *known = pass->list.objects[i]->data;

		if (!owns(release, known))
			continue;
		if (known->version > newest)
			newest = known->version;
		if (known->version < release->version && known->version > before)
			before = known->version;
		current = current || known->version == release->version;
		rollback = rollback || known->version == release->roll_back_to;
	}
	for (size_t i = 0; i < pass->list.count && r == 0; i++) {
		const struct release_known_history *known = pass->list.objects[i]->data;

		if (!owns(release, known))
			continue;
		if (is_needed(release, known->version, newest, before))
			r = add_history(pass, histories, &count, known->version, err);
		else
			histories[count++] =
				(struct release_history){.name = pass->list.objects[i]->name,
					.uid = pass->list.objects[i]->uid,
					.version = known->version,
					.source = {.template_text = SPAN(""), .config = SPAN("")},
					.description = SPAN(""),
					.manifest = SPAN(""),
					.owned = true};
	}
	if (r == 0 && release->version > 0 && !current)
		r = add_history(pass, histories, &count, release->version, err);
	if (r == 0 && release->rolls_back && release->roll_back_to > 0 && !rollback &&
		release->roll_back_to != release->version)
		r = add_history(pass, histories, &count, release->roll_back_to, err);
	if (r == 0)
		r = add_history(pass, histories, &count, newest + 1, err);
	if (r < 0)
		return r;
	qsort(histories, count, sizeof(*histories), compare_versions);
	pass->histories = (struct release_histories){histories, count};
	return 0;
}

/* ---- steps before applying ---- */

static int read_kube_version(struct release_controller *controller, struct arena *arena,
	const char **ret_version, struct err *err)
{
	struct kube_version version;
	bool known;
	int r;

	lock_take(&controller->lock);
	known = controller->kube_version[0] != '\0';
	lock_release(&controller->lock);
	if (!known) {
		r = kube_server_version(controller->config.client, arena, &version, err);
		if (r < 0)
			return r;
		lock_take(&controller->lock);
		snprintf(controller->kube_version, sizeof(controller->kube_version), "%.*s",
			SPAN_ARGS(version.git));
		lock_release(&controller->lock);
	}
	*ret_version = controller->kube_version;
	return 0;
}

/* Makes the step. *ret_again: decide again with what was written. */
static int take_step(struct pass *pass, const struct release_decision *decision, bool *ret_again,
	struct err *err)
{
	struct release_controller *controller = pass->controller;
	struct release_steps steps = {
		.calls = &controller->applier.calls, .now_ms = runner_wall_ms(controller->group)};
	int r;

	*ret_again = true;
	switch (decision->step) {
	case RELEASE_RENDER:
		r = read_kube_version(controller, pass->arena, &steps.kube_version, err);
		if (r == 0)
			r = release_write_version(&steps, &pass->release, decision->version,
				pass->arena, &pass->failure, err);
		*ret_again = !pass->failure.reason;
		return r;
	case RELEASE_RECORD:
		return release_record_version(&steps, &pass->release, decision->history,
			newest_version(pass), err);
	case RELEASE_RESTORE:
		return release_restore_source(&steps, &pass->release, decision->history, err);
	case RELEASE_CLEAR_ROLLBACK: return release_clear_rollback(&steps, &pass->release, err);
	case RELEASE_APPLY: break;
	}
	pass->failure = decision->failure;
	*ret_again = false;
	return 0;
}

/* True if there is no step to make; a failure to render is the same as last time. */
static bool is_settled(struct pass *pass)
{
	struct known_release *known = pass->known;

	if (known->settled_generation != pass->release.generation ||
		known->settled_version != pass->release.version)
		return false;
	pass->failure.reason = known->failure_reason;
	pass->failure.message = known->failure_reason ? arena_copy_span(pass->arena,
								span_of(known->failure_message))
						      : SPAN("");
	return true;
}

static void settle(struct pass *pass, const struct release_decision *decision)
{
	struct known_release *known = pass->known;

	/* A version that is not found may still be about to be shown by the watch. */
	if (decision->failure.reason)
		return;
	known->settled_generation = pass->release.generation;
	known->settled_version = pass->release.version;
	free(known->failure_message);
	known->failure_reason = pass->failure.reason;
	known->failure_message = pass->failure.reason
					 ? memory_copy_string_n(pass->failure.message.data,
						   pass->failure.message.length)
					 : NULL;
}

/* Until nothing is left but to apply. The Release is then as it was read last. */
static int take_steps(struct pass *pass, struct span key, struct err *err)
{
	for (unsigned i = 0; i < STEPS_MAX; i++) {
		struct release_decision decision;
		bool again = false;
		int r = 0;

		if (is_settled(pass))
			return 0;
		r = read_histories(pass, err);
		if (r < 0)
			return r;
		release_decide(pass->arena, &pass->release, &pass->histories, &decision);
		r = take_step(pass, &decision, &again, err);
		if (r < 0)
			return r;
		if (!again) {
			settle(pass, &decision);
			return 0;
		}
		r = read_release(pass, key, err);
		if (r < 0)
			return r;
	}
	return err_set(err, -EAGAIN, "the Release changes all the time");
}

/* ---- applying ---- */

static void note_failure(struct pass *pass, int code, const struct err *err)
{
	if (pass->failure.reason)
		return;
	pass->failure.reason = code == -EPERM ? "NameConflict" : "ApplyFailed";
	pass->failure.message = arena_copy_span(pass->arena, span_of(err->message));
}

/* Of all versions, the current one included. */
static void list_types(struct pass *pass, struct release_type **ret_types, size_t *ret_count)
{
	struct release_type *types =
		arena_allocate_array(pass->arena, 2 * RELEASE_KINDS_MAX, sizeof(*types));
	size_t count;
	struct release_type *current =
		release_manifest_types(pass->arena, pass->release.manifest, &count);

	memcpy(types, current, count * sizeof(*types));
	for (size_t i = 0; i < pass->list.count; i++) {
		const struct release_known_history *known = pass->list.objects[i]->data;

		for (size_t j = 0; j < known->type_count && count < 2 * RELEASE_KINDS_MAX; j++) {
			bool listed = false;

			for (size_t k = 0; k < count && !listed; k++)
				listed = span_equal(types[k].kind, known->types[j].kind) &&
					 span_equal(types[k].api_version,
						 known->types[j].api_version);
			if (!listed)
				types[count++] = known->types[j];
		}
	}
	*ret_types = types;
	*ret_count = count;
}

static int delete_excess(struct pass *pass, struct err *err)
{
	size_t count;
	const struct release_history **excess;
	int r = pass->histories.items ? 0 : read_histories(pass, err);

	if (r < 0)
		return r;
	excess = release_excess_histories(pass->arena, &pass->release, &pass->histories, &count);
	for (size_t i = 0; i < count; i++) {
		struct object_id id = {.api_version = SPAN(RELEASE_API_VERSION),
			.kind = SPAN("ReleaseHistory"),
			.name = excess[i]->name,
			.namespace = pass->release.namespace};

		r = object_delete(&pass->controller->applier.calls, &id, excess[i]->uid, err);
		if (r < 0 && r != -EAGAIN)
			return r;
	}
	return 0;
}

/* After everything was applied: what is no longer needed. Before the histories, whose types garbage may have. */
static int clean_up(struct pass *pass, const struct release_manifest *manifest, struct err *err)
{
	struct release_type *types;
	size_t count;
	int r;

	list_types(pass, &types, &count);
	r = release_collect(&pass->controller->applier, &pass->release, manifest,
		&pass->known->memory, types, count, &pass->again_ms, err);
	if (r == 0 && pass->again_ms == 0 && pass->list.count > (size_t)pass->release.history_limit)
		r = delete_excess(pass, err);
	return r;
}

static int write_report(struct pass *pass, const struct release_manifest *manifest,
	const struct release_observation *observations, bool applied, struct err *err)
{
	struct release_controller *controller = pass->controller;
	struct release_report summary = {.manifest = manifest,
		.observations = observations,
		.applied = applied,
		.failure = pass->failure,
		.newest_version = newest_version(pass),
		.now_ms = runner_wall_ms(controller->group)};

	return release_write_status(&controller->applier.calls, &pass->release,
		release_status_write(pass->arena, &pass->release, &summary), err);
}

static struct release_observation *observe_nothing(struct arena *arena, size_t count)
{
	struct release_observation *observations =
		arena_allocate_array(arena, count + 1, sizeof(*observations));

	for (size_t i = 0; i < count; i++)
		observations[i] = (struct release_observation){.phase = RELEASE_PHASE_PROGRESSING,
			.message = SPAN("the object was not observed yet")};
	return observations;
}

/* Of the connection or of the moment: the next try may succeed, and says nothing about the Release. */
static bool is_transient(int code)
{
	static const int codes[] = {
		-EAGAIN, -ECANCELED, -ETIMEDOUT, -EBUSY, -ECONNREFUSED, -ECONNRESET, -EHOSTUNREACH};

	for (size_t i = 0; i < LENGTH(codes); i++)
		if (code == codes[i])
			return true;
	return false;
}

static int apply(struct pass *pass, const struct release_manifest *manifest, bool *ret_pending,
	struct err *err)
{
	const struct release_applier *applier = &pass->controller->applier;
	bool cluster = false;
	int r = release_has_cluster_objects(applier, manifest, &cluster, err);

	if (r == 0 && cluster)
		r = release_set_finalizer(&applier->calls, &pass->release, pass->object, true, err);
	return r < 0 ? r
		     : release_apply(applier, &pass->release, manifest, &pass->known->memory,
			       ret_pending, err);
}

/* Applies, reports, and then deletes what is not needed any more. */
static int converge(struct pass *pass, struct err *err)
{
	struct release_observation *observations;
	struct release_manifest manifest;
	struct err failure = {0};
	bool pending = false;
	int r, reported;

	r = release_manifest_read(pass->arena, pass->release.manifest, &manifest, err);
	if (r < 0)
		return r;
	observations = observe_nothing(pass->arena, manifest.count);
	r = apply(pass, &manifest, &pending, &failure);
	if (r == 0)
		r = release_observe(&pass->controller->applier, &pass->release, &manifest,
			&pass->known->memory, pass->arena, &observations, &failure);
	if (r < 0 && err)
		*err = failure;
	if (r < 0 && is_transient(r))
		return r;
	if (r < 0)
		note_failure(pass, r, &failure);
	reported = write_report(pass, &manifest, observations, r == 0 && !pending, err);
	if (reported < 0)
		return reported;
	if (r < 0 || pending || pass->release.version == 0)
		return r;
	return clean_up(pass, &manifest, err);
}

/* Kubernetes deletes what has the Release as its owner. */
static int finalize(struct pass *pass, struct err *err)
{
	const struct release_applier *applier = &pass->controller->applier;
	struct release_type *types;
	size_t count;
	bool left = false;
	int r;

	release_watch_histories(pass->controller->watch, pass->release.namespace,
		pass->release.name, pass->arena, &pass->list);
	list_types(pass, &types, &count);
	r = release_delete_cluster_objects(applier, &pass->release, types, count, &left, err);
	if (r < 0 || left)
		return r;
	return release_set_finalizer(&applier->calls, &pass->release, pass->object, false, err);
}

static int reconcile(struct release_controller *controller, struct span key, int64_t *ret_again_ms,
	struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	struct pass pass = {
		.controller = controller, .arena = arena, .known = know(controller, key)};
	int r = read_release(&pass, key, err);

	if (r == -ENOENT) {
		forget(controller, key);
		return 0;
	}
	if (r == 0 && pass.release.deleting) {
		r = finalize(&pass, err);
	} else if (r == 0) {
		r = take_steps(&pass, key, err);
		if (r == 0)
			r = converge(&pass, err);
	}
	kube_object_list_release(&pass.list);
	*ret_again_ms = pass.again_ms;
	return r;
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

static void work(void *context)
{
	struct release_controller *controller = context;
	struct span key;

	while (work_queue_get(controller->queue, &key) == 0) {
		struct err err = {0};
		int64_t again_ms = 0;

		/* Without the lease the key is dropped: all are added when it is held. */
		if (!kube_lease_is_held(controller->config.lease))
			;
		else if (!release_watch_is_synced(controller->watch))
			work_queue_add_at(controller->queue, key,
				runner_deadline_us(controller->group, UNSYNCED_US));
		else
			finish(controller, key, reconcile(controller, key, &again_ms, &err),
				again_ms, &err);
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
	int r;

	controller->config = *config;
	controller->arena = arena_new(0);
	if (config->namespace.data)
		controller->config.namespace =
			arena_copy_span(controller->arena, config->namespace);
	lock_init(&controller->lock);
	controller->group = runner_group_new(config->runner, "releases");
	controller->workers = runner_group_new(controller->group, "workers");
	controller->queue = work_queue_new(controller->group, &queue);
	watch.runner = controller->group;
	watch.namespace = controller->config.namespace;
	r = release_watch_start(&watch, &controller->watch, err);
	controller->applier =
		(struct release_applier){.calls = {.client = config->client,
						 .lease = config->lease,
						 .field_manager = RELEASE_FIELD_MANAGER},
			.watch = controller->watch,
			.runner = controller->group};
	if (r == 0)
		r = runner_spawn(controller->workers, "release-lease", follow_lease, controller,
			err);
	for (unsigned i = 0; r == 0 && i < RELEASE_WORKERS; i++)
		r = runner_spawn(controller->workers, "release", work, controller, err);
	if (r < 0) {
		release_controller_stop(controller);
		return r;
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
		free_known(entry->value);
	}
	map_clear(&controller->known);
	lock_destroy(&controller->lock);
	arena_free(controller->arena);
	free(controller);
}
