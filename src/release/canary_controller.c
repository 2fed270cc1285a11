/* See canary_controller.h. */
#include "release/canary_controller.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/map.h"
#include "base/memory.h"
#include "control/work_queue.h"
#include "delivery/job.h"
#include "release/canary_decide.h"
#include "release/canary_sample.h"
#include "release/canary_services.h"
#include "release/canary_watch.h"
#include "release/release_live.h"
#include "release/release_manifest.h"
#include "release/release_names.h"

#define WRITES_MAX 500 /* of one pass */
#define BACKOFF_FIRST_US INT64_C(50000)
#define BACKOFF_MOST_US INT64_C(30000000)
#define UNSYNCED_US INT64_C(100000)
#define RETRIES_PER_SECOND 20
#define KEY_MAX ((size_t)KUBE_NAME_MAX * 2 + 2)

/* The last apply of an object: what was wanted, and what it became. */
struct applied {
	uint64_t wanted, became;
};

/* Of one CanaryRelease. Used by the worker that has its key, but for `dirty`. */
struct known_canary {
	atomic_bool dirty;   /* its objects changed: read them again */
	struct map applied;  /* of struct applied, by kind and name */
	struct arena *arena; /* the objects as they were read; or NULL */
	struct map objects;  /* of struct canary_live in that arena */
	int64_t read_us;
};

struct canary_controller {
	struct canary_controller_config config;
	struct arena *arena;
	struct runner *group, *workers; /* the second one in the first */
	struct http_client_cancel cancel;
	struct work_queue *queue;
	struct canary_watch *watch;
	struct jobs *jobs; /* samples for analyses */
	struct canary_proxy_settings settings;
	struct lock lock; /* for all below */
	struct map known; /* of struct known_canary, by key */
	struct canary_controller_statistics statistics;
};

/* One pass over one CanaryRelease. */
struct pass {
	struct canary_controller *controller;
	struct known_canary *known;
	struct arena *arena;
	struct object_calls calls;
	const struct json *object; /* the CanaryRelease */
	struct canary canary;
	bool gone;    /* it was deleted, by this pass */
	bool invalid; /* its spec was refused */
	const struct json *release_object;
	struct release_snapshot release;
	bool has_release;
	struct canary_pod *pods;
	size_t pod_count;
	int code; /* of a read that failed during a decision */
	struct err err;
};

/* ---- memory ---- */

static void drop_objects(struct known_canary *known)
{
	map_clear(&known->objects);
	arena_free(known->arena);
	known->arena = NULL;
}

static void free_known(struct known_canary *known)
{
	drop_objects(known);
	MAP_EACH (&known->applied, entry) {
		free(entry->value);
	}
	map_clear(&known->applied);
	free(known);
}

static struct known_canary *know(struct canary_controller *controller, struct span key)
{
	struct known_canary *known;

	lock_take(&controller->lock);
	known = map_get(&controller->known, key);
	if (!known) {
		known = memory_allocate(sizeof(*known));
		map_put(&controller->known, key, known);
	}
	lock_release(&controller->lock);
	return known;
}

static void forget(struct canary_controller *controller, struct span key)
{
	struct known_canary *known;

	lock_take(&controller->lock);
	known = map_remove(&controller->known, key);
	lock_release(&controller->lock);
	if (known)
		free_known(known);
}

static void canary_changed(void *context, struct span namespace, struct span canary,
	enum canary_change change)
{
	struct canary_controller *controller = context;
	struct known_canary *known;
	char text[KEY_MAX];
	int length =
		snprintf(text, sizeof(text), "%.*s/%.*s", SPAN_ARGS(namespace), SPAN_ARGS(canary));
	struct span key = {text, (size_t)length};

	if (length < 0 || (size_t)length >= sizeof(text))
		return;
	if (change == CANARY_CHANGED_OBJECTS) {
		lock_take(&controller->lock);
		known = map_get(&controller->known, key);
		if (known)
			atomic_store(&known->dirty, true);
		lock_release(&controller->lock);
	}
	work_queue_add(controller->queue, key);
}

static void report(struct canary_controller *controller, struct span what, const struct err *err)
{
	if (controller->config.report)
		controller->config.report(controller->config.context, what, err);
}

static void watch_failed(void *context, const char *resource, const struct err *err)
{
	report(context, span_of(resource), err);
}

/* ---- reads ---- */

static struct span key_of(struct arena *arena, const struct object_id *id)
{
	return arena_format(arena, "%.*s/%.*s", SPAN_ARGS(id->kind), SPAN_ARGS(id->name));
}

/* object NULL: it does not exist. */
static struct canary_live *remember(struct pass *pass, const struct object_id *id,
	const struct json *object)
{
	struct span key = key_of(pass->arena, id);
	const struct applied *applied = map_get(&pass->known->applied, key);
	struct canary_live *live = arena_allocate(pass->known->arena, sizeof(*live));

	live->object = object;
	if (object && applied && applied->became == release_content_hash(object))
		live->applied = applied->wanted;
	map_put(&pass->known->objects, key, live);
	return live;
}

static void remember_apply(struct pass *pass, const struct object_id *id, const struct json *wanted,
	const struct json *became)
{
	struct span key = key_of(pass->arena, id);
	struct applied *applied = map_get(&pass->known->applied, key);

	if (!applied) {
		applied = memory_allocate(sizeof(*applied));
		map_put(&pass->known->applied, key, applied);
	}
	*applied = (struct applied){canary_hash(wanted), release_content_hash(became)};
}

static struct canary_live find(void *context, const struct object_id *id)
{
	struct pass *pass = context;
	const struct canary_live *known = map_get(&pass->known->objects, key_of(pass->arena, id));
	struct json *object = NULL;
	int code;

	if (known)
		return *known;
	code = object_get(&pass->calls, id, pass->known->arena, &object, &pass->err);
	if (code < 0 && code != -ENOENT) {
		pass->code = code;
		return (struct canary_live){0};
	}
	return *remember(pass, id, code == 0 ? object : NULL);
}

static bool is_scaled(void *context, const struct object_id *id)
{
	struct pass *pass = context;

	return canary_watch_is_scaled(pass->controller->watch, id->namespace, id->kind, id->name);
}

static bool sample(void *context, size_t index, const struct canary_metric *metric,
	struct analysis_sample *ret_sample)
{
	struct pass *pass = context;

	return canary_sample_take(pass->controller->jobs, pass->controller->config.http,
		&pass->canary, index, metric, runner_wall_ms(pass->controller->group), ret_sample);
}

/* The key of a job begins with that of the CanaryRelease. */
static void sample_ended(void *context, struct span job)
{
	struct canary_controller *controller = context;
	struct span key = job, rest;

	span_split(job, CANARY_SAMPLE_SEPARATOR, &key, &rest);
	work_queue_add(controller->queue, key);
}

static int use_canary(struct pass *pass, const struct json *object)
{
	pass->object = object;
	pass->invalid = canary_read(pass->arena, object, &pass->canary, &pass->err) < 0;
	return 0;
}

static int use_release(struct pass *pass, const struct json *object)
{
	pass->release_object = object;
	pass->has_release =
		release_snapshot_read(pass->arena, object, &pass->release, &pass->err) == 0;
	return 0;
}

static int read_release(struct pass *pass)
{
	struct object_id id = {.api_version = SPAN(RELEASE_API_VERSION),
		.kind = SPAN("Release"),
		.name = pass->canary.release,
		.namespace = pass->canary.namespace};
	struct json *object;
	int code;

	if (id.name.length == 0)
		return 0;
	code = object_get(&pass->calls, &id, pass->arena, &object, &pass->err);
	return code == -ENOENT ? 0 : code < 0 ? code : use_release(pass, object);
}

static int read_canary(struct pass *pass, struct span key)
{
	struct span namespace = SPAN(""), name = key;
	struct object_id id;
	struct json *object;
	int code;

	span_split(key, '/', &namespace, &name);
	id = (struct object_id){.api_version = SPAN(RELEASE_API_VERSION),
		.kind = SPAN("CanaryRelease"),
		.name = name,
		.namespace = namespace};
	code = object_get(&pass->calls, &id, pass->arena, &object, &pass->err);
	if (code == 0)
		code = use_canary(pass, object);
	if (code == 0)
		code = read_release(pass);
	return code;
}

/* Objects that were read are used again until something changes. */
static void begin_objects(struct pass *pass)
{
	struct known_canary *known = pass->known;
	int64_t now_us = runner_now_us(pass->controller->group);

	if (atomic_exchange(&known->dirty, false) || !known->arena ||
		now_us - known->read_us > CANARY_RESYNC_MS * 1000) {
		drop_objects(known);
		known->arena = arena_new(0);
		known->read_us = now_us;
	}
}

/* ---- writes ---- */

static void write_event(struct pass *pass, const char *reason, struct span message)
{
	struct arena *arena = pass->arena;
	struct json *event = json_new_object(arena), *metadata = json_new_object(arena),
		    *involved = json_new_object(arena), *source = json_new_object(arena), *answer;
	int64_t now_ms = runner_wall_ms(pass->controller->group);
	char now[CLOCK_ISO_SIZE];

	clock_format_iso(now_ms, now);
	now[19] = 'Z'; /* seconds alone */
	now[20] = '\0';
	json_set_string(arena, metadata, "name",
		arena_format(arena, "%.*s.%llx", SPAN_ARGS(pass->canary.name),
			(unsigned long long)random_u64(runner_random(pass->controller->group))));
	json_set_string(arena, metadata, "namespace", pass->canary.namespace);
	json_set(arena, event, "metadata", metadata);
	json_set_string(arena, involved, "apiVersion", SPAN(RELEASE_API_VERSION));
	json_set_string(arena, involved, "kind", SPAN("CanaryRelease"));
	json_set_string(arena, involved, "namespace", pass->canary.namespace);
	json_set_string(arena, involved, "name", pass->canary.name);
	json_set_string(arena, involved, "uid", pass->canary.uid);
	json_set(arena, event, "involvedObject", involved);
	json_set_string(arena, source, "component", SPAN("slipway-canary"));
	json_set(arena, event, "source", source);
	json_set_string(arena, event, "apiVersion", SPAN("v1"));
	json_set_string(arena, event, "kind", SPAN("Event"));
	json_set_string(arena, event, "type", SPAN("Normal"));
	json_set_string(arena, event, "reason", span_of(reason));
	json_set_string(arena, event, "message", message);
	json_set_string(arena, event, "firstTimestamp", span_of(now));
	json_set_string(arena, event, "lastTimestamp", span_of(now));
	json_set_integer(arena, event, "count", 1);
	/* It is for people; the step is done without it. */
	object_create(&pass->calls, event, pass->canary.namespace, arena, &answer, NULL);
}

/* The message of a failure is that of its condition. */
static struct span event_message(const struct canary_decision *decision)
{
	JSON_EACH_ITEM (json_path(decision->object, "status.conditions"), condition)
		if (span_is(json_get_text(condition, "reason"), decision->event))
			return json_get_text(condition, "message");
	return SPAN("");
}

static bool is_kind(const struct object_id *id, const char *kind)
{
	return span_is(id->kind, kind) && span_is(id->api_version, RELEASE_API_VERSION);
}

/* The next decision sees what was written. */
static int use_answer(struct pass *pass, const struct object_id *id, const struct json *answer)
{
	if (is_kind(id, "CanaryRelease"))
		return use_canary(pass, answer);
	if (is_kind(id, "Release"))
		return use_release(pass, answer);
	remember(pass, id, answer);
	return 0;
}

static int act(struct pass *pass, const struct canary_decision *decision)
{
	bool own = is_kind(&decision->id, "CanaryRelease");
	struct arena *arena =
		own || is_kind(&decision->id, "Release") ? pass->arena : pass->known->arena;
	struct object_calls calls = pass->calls;
	struct json *answer = NULL;
	int code = -EINVAL;

	if (decision->manager)
		calls.field_manager = decision->manager;
	switch (decision->verb) {
	case CANARY_APPLY:
		code = object_apply_owned(&calls, decision->object, pass->canary.namespace,
			pass->canary.uid, arena, &answer, &pass->err);
		if (code == 0)
			remember_apply(pass, &decision->id, decision->object, answer);
		break;
	case CANARY_UPDATE:
		code = object_update(&calls, decision->object, arena, &answer, &pass->err);
		break;
	case CANARY_MERGE:
		code = object_merge(&calls, &decision->id, NULL, decision->object, arena, &answer,
			&pass->err);
		break;
	case CANARY_MERGE_STATUS:
		code = object_merge(&calls, &decision->id, "status", decision->object, arena,
			&answer, &pass->err);
		break;
	case CANARY_DELETE:
		code = object_delete(&calls, &decision->id, decision->uid, &pass->err);
		pass->gone = code == 0 && own;
		break;
	case CANARY_WAIT: break;
	}
	if (code < 0)
		return code;
	if (decision->event)
		write_event(pass, decision->event, event_message(decision));
	return pass->gone ? 0 : use_answer(pass, &decision->id, answer);
}

/* ---- a pass ---- */

static void decide(struct pass *pass, struct canary_decision *ret_decision)
{
	const struct canary_input input = {
		.canary = &pass->canary,
		.release = pass->has_release ? &pass->release : NULL,
		.release_object = pass->release_object,
		.pods = pass->pods,
		.pod_count = pass->pod_count,
		.settings = pass->controller->settings,
		.now_ms = runner_wall_ms(pass->controller->group),
		.find = find,
		.is_scaled = is_scaled,
		.sample = sample,
		.context = pass,
	};

	/* One that is deleted has to go, whatever its spec says. */
	if (pass->invalid && !pass->canary.deleting)
		canary_decide_invalid(pass->arena, &input, pass->err.message, ret_decision);
	else
		canary_decide(pass->arena, &input, ret_decision);
}

static int make_steps(struct pass *pass, int64_t *ret_until_ms)
{
	for (unsigned i = 0; i < WRITES_MAX; i++) {
		struct canary_decision decision = {0};
		int code;

		decide(pass, &decision);
		if (pass->code < 0)
			return pass->code;
		if (decision.verb == CANARY_WAIT) {
			*ret_until_ms = decision.until_ms;
			return 0;
		}
		code = act(pass, &decision);
		if (code < 0)
			return err_prefix(&pass->err, code, "step '%s'",
				canary_step_name(pass->canary.step));
		lock_take(&pass->controller->lock);
		pass->controller->statistics.writes++;
		lock_release(&pass->controller->lock);
		if (pass->gone)
			return 0;
	}
	return -EAGAIN;
}

/* A Service whose CanaryRelease went away without the controller, because someone removed its finalizer. Kubernetes
 * deletes the objects of such a CanaryRelease, but this one would lead nowhere. */
static int restore_orphan(struct pass *pass, struct span namespace, struct span name)
{
	struct object_id id = {.api_version = SPAN("v1"),
		.kind = SPAN("Service"),
		.name = name,
		.namespace = namespace};
	const struct release_object *stable;
	struct release_manifest manifest;
	struct json *service, *answer;
	const struct json *wanted;
	int code = object_get(&pass->calls, &id, pass->arena, &service, &pass->err);

	if (code < 0)
		return code == -ENOENT ? 0 : code;
	pass->canary.namespace = namespace;
	pass->canary.release = json_get_text(json_path(service, "metadata.labels"), RELEASE_LABEL);
	code = pass->canary.release.data ? read_release(pass) : 0;
	if (code < 0 || !pass->has_release)
		return code;
	code = release_manifest_read(pass->arena, pass->release.manifest, &manifest, &pass->err);
	if (code < 0)
		return code;
	stable = release_manifest_find(&manifest, id.api_version, id.kind, name);
	wanted = stable ? canary_service_like(pass->arena, &pass->canary, stable->json, service,
				  false)
			: NULL;
	return wanted ? object_update(&pass->calls, wanted, pass->arena, &answer, &pass->err) : 0;
}

static int restore_orphans(struct pass *pass, struct span key)
{
	struct span namespace = SPAN(""), canary = key, *names;
	size_t count;
	int code = 0;

	span_split(key, '/', &namespace, &canary);
	names = canary_watch_held(pass->controller->watch, pass->arena, namespace, canary, &count);
	for (size_t i = 0; code == 0 && i < count; i++)
		code = restore_orphan(pass, namespace, names[i]);
	return code;
}

/* The version of PodDisruptionBudgets that the API server has. */
static int find_settings(struct canary_controller *controller, struct err *err)
{
	struct kube_resource resource;
	bool known;
	int code;

	lock_take(&controller->lock);
	known = controller->settings.budget_api.length > 0;
	lock_release(&controller->lock);
	if (known)
		return 0;
	code = kube_resource_find(controller->config.client, &kube_pod_disruption_budgets,
		&resource, err);
	if (code < 0)
		return code;
	lock_take(&controller->lock);
	controller->settings.budget_api =
		arena_copy_span(controller->arena, span_of(resource.api_version));
	lock_release(&controller->lock);
	return 0;
}

static int reconcile(struct canary_controller *controller, struct span key, int64_t *ret_until_ms,
	struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	struct pass pass = {.controller = controller,
		.known = know(controller, key),
		.arena = arena,
		.calls = {.client = controller->config.client,
			.lease = controller->config.lease,
			.field_manager = RELEASE_CANARY_FIELD_MANAGER,
			.cancel = &controller->cancel}};
	int code = find_settings(controller, &pass.err);

	if (code == 0)
		code = read_canary(&pass, key);
	if (code == -ENOENT) {
		code = restore_orphans(&pass, key);
		*err = pass.err;
		if (code == 0)
			forget(controller, key);
		return code;
	}
	if (code == 0) {
		begin_objects(&pass);
		pass.pods = canary_watch_pods(controller->watch, arena, pass.canary.namespace,
			pass.canary.name, &pass.pod_count);
		code = make_steps(&pass, ret_until_ms);
	}
	/* Stale reads may be the reason. */
	if (code < 0)
		atomic_store(&pass.known->dirty, true);
	*err = pass.err;
	return code;
}

/* ---- workers ---- */

static void finish(struct canary_controller *controller, struct span key, int code,
	int64_t until_ms, const struct err *err)
{
	int64_t left_ms = until_ms - runner_wall_ms(controller->group);

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
	if (until_ms > 0)
		work_queue_add_at(controller->queue, key,
			runner_deadline_us(controller->group, left_ms > 0 ? left_ms * 1000 : 0));
}

static void work(void *context)
{
	struct canary_controller *controller = context;
	struct span key;

	while (work_queue_get(controller->queue, &key) == 0) {
		struct err err = {0};
		int64_t until_ms = 0;
		int code;

		/* Without the lease the key is dropped: all are added when it is held. */
		if (!kube_lease_is_held(controller->config.lease))
			;
		else if (!canary_watch_is_synced(controller->watch))
			work_queue_add_at(controller->queue, key,
				runner_deadline_us(controller->group, UNSYNCED_US));
		else {
			code = reconcile(controller, key, &until_ms, &err);
			finish(controller, key, code, until_ms, &err);
		}
		work_queue_done(controller->queue, key);
	}
}

/* While another program had the lease it may have changed anything. */
static void follow_lease(void *context)
{
	struct canary_controller *controller = context;

	for (;;) {
		uint64_t seen = runner_event_count(controller->config.lease_acquired);

		if (kube_lease_is_held(controller->config.lease))
			canary_watch_all(controller->watch);
		if (runner_wait(controller->workers, controller->config.lease_acquired, seen,
			    RUNNER_FOREVER) < 0)
			return;
	}
}

void canary_controller_statistics(struct canary_controller *controller,
	struct canary_controller_statistics *ret_statistics)
{
	struct work_queue_statistics queue;

	work_queue_statistics(controller->queue, &queue);
	lock_take(&controller->lock);
	*ret_statistics = controller->statistics;
	lock_release(&controller->lock);
	ret_statistics->depth = queue.depth;
	ret_statistics->synced = canary_watch_is_synced(controller->watch);
}

static struct span copy_or_empty(struct arena *arena, struct span text)
{
	return text.data ? arena_copy_span(arena, text) : SPAN("");
}

int canary_controller_start(const struct canary_controller_config *config,
	struct canary_controller **ret_controller, struct err *err)
{
	struct canary_controller *controller = memory_allocate(sizeof(*controller));
	const struct work_queue_config queue = {.backoff_first_us = BACKOFF_FIRST_US,
		.backoff_most_us = BACKOFF_MOST_US,
		.retries_per_second = RETRIES_PER_SECOND};
	struct canary_watch_config watch = {.client = config->client,
		.resync_ms = CANARY_RESYNC_MS,
		.changed = canary_changed,
		.failed = watch_failed,
		.context = controller};
	int code;

	controller->config = *config;
	controller->arena = arena_new(0);
	if (config->namespace.data)
		controller->config.namespace =
			arena_copy_span(controller->arena, config->namespace);
	controller->settings.image = copy_or_empty(controller->arena, config->image);
	controller->settings.pull_policy = copy_or_empty(controller->arena, config->pull_policy);
	lock_init(&controller->lock);
	controller->group = runner_group_new(config->runner, "canaries");
	controller->workers = runner_group_new(controller->group, "workers");
	controller->queue = work_queue_new(controller->group, &queue);
	controller->jobs = jobs_new(controller->group, config->http, sample_ended, controller);
	watch.runner = controller->group;
	watch.namespace = controller->config.namespace;
	code = canary_watch_start(&watch, &controller->watch, err);
	if (code == 0)
		code = runner_spawn(controller->workers, "canary-lease", follow_lease, controller,
			err);
	for (unsigned i = 0; code == 0 && i < CANARY_WORKERS; i++)
		code = runner_spawn(controller->workers, "canary", work, controller, err);
	if (code < 0) {
		canary_controller_stop(controller);
		return code;
	}
	*ret_controller = controller;
	return 0;
}

void canary_controller_stop(struct canary_controller *controller)
{
	if (!controller)
		return;
	work_queue_shut_down(controller->queue);
	runner_stop(controller->group);
	http_client_cancel(controller->config.http, &controller->cancel);
	runner_join(controller->workers, NULL);
	canary_watch_stop(controller->watch);
	runner_join(controller->group, NULL);
	jobs_free(controller->jobs);
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
