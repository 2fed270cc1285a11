/* Services as groups of a runtime; see the header. */
#include "ecs/service/group_controller.h"

#include <stdio.h>

#include "base/map.h"
#include "base/memory.h"
#include "control/controller_handle.h"
#include "control/write.h"
#include "ecs/record/cluster.h"
#include "ecs/record/container_instance.h"
#include "ecs/service/service_controller.h"
#include "ecs/service/service_group.h"

/* Work queue keys other than groups: group ids begin with an account's digits. */
#define KEY_EVERYTHING "*" /* compare all that the runtime has with the store */
#define KEY_INSTANCE '@'   /* "@" and the key of an instance: close or open it */

#define WORKERS 4
#define BACKOFF_MOST_US INT64_C(30000000)
#define REPORTED_MAX 10000             /* ids of events that are known to be stored */
#define EVENT_AGE_MS INT64_C(3600000)  /* older events are not reported */
#define BLOCKED_POLL_MS INT64_C(10000) /* how often blocked groups are retried */

struct group_controller {
	struct group_controller_config config;
	struct controller_row row;
	struct runtime *runtime;
	struct controller_handle handle;
	struct lock lock;
	/* guarded by the lock: ids of events that are in the services' events */
	struct map reported;
};

struct step {
	struct controller_call *call;
	struct group_controller *groups;
	const struct store_view *view;
	struct arena *arena;
	struct err *err;
};

/* ---- events ---- */

struct reporting {
	struct span service_key;
	struct span id; /* "": by its message */
	struct span message;
	int64_t at_ms;
	struct random *random;
};

static int report(struct store_transaction *transaction, void *context, struct err *err)
{
	const struct reporting *reporting = context;

	return service_event_add_once(transaction, reporting->service_key, reporting->id,
		reporting->message, reporting->at_ms, reporting->random, err);
}

static int report_service(struct step *step, struct span group, struct span id, struct span message,
	int64_t at_ms)
{
	struct reporting reporting = {.service_key = service_group_service(group),
		.id = id,
		.message = message,
		.at_ms = at_ms,
		.random = runner_random(step->call->runner)};

	return control_write(step->call->runner, step->call->store, report, &reporting, NULL,
		step->err);
}

static bool was_reported(struct group_controller *groups, struct span id)
{
	bool reported;

	lock_take(&groups->lock);
	reported = map_has(&groups->reported, id);
	lock_release(&groups->lock);
	return reported;
}

static void remember_reported(struct group_controller *groups, struct span id)
{
	lock_take(&groups->lock);
	/* Other ids are found in the store, only more slowly. */
	if (groups->reported.count >= REPORTED_MAX)
		map_clear(&groups->reported);
	if (!map_has(&groups->reported, id))
		map_put(&groups->reported, id, groups);
	lock_release(&groups->lock);
}

/* The state of a service according to its group. */
struct group_report {
	struct span service_key;
	bool failed;
	struct span available;
};

static bool is_known(const struct store_object *service, const struct group_report *reported)
{
	return service_facts(service)->group_failed == reported->failed &&
	       span_equal(service_facts(service)->group_available, reported->available);
}

static int write_group_report(struct store_transaction *transaction, void *context, struct err *err)
{
	const struct group_report *reported = context;
	const struct store_object *service =
		store_get(store_head(transaction), &service_kind, reported->service_key);
	struct service_facts facts;

	if (!service || is_known(service, reported))
		return 0;
	facts = *service_facts(service);
	facts.group_failed = reported->failed;
	facts.group_available = reported->available;
	return service_object_put_facts(transaction, service, &facts,
		store_transaction_arena(transaction), err);
}

/* All desired tasks are of one version and available: the next rollout does not remove them first. */
static bool is_available(const struct runtime_group_state *state)
{
	return state->settled && !state->ending && state->updated >= state->desired &&
	       state->available >= state->desired;
}

/* Records whether the rollout failed, and whether the group is available. A service with task sets
 * has several groups, so these are reported in events only. */
static int note_state(struct step *step, const struct runtime_group_state *state)
{
	struct group_report reported = {
		state->id, state->failed, is_available(state) ? state->version : SPAN("")};
	const struct store_object *service = store_get(step->view, &service_kind, state->id);

	if (!service || is_known(service, &reported))
		return 0;
	return control_write(step->call->runner, step->call->store, write_group_report, &reported,
		NULL, step->err);
}

static int report_events(struct step *step, const struct runtime_group_state *state)
{
	int64_t since_ms = runner_wall_ms(step->call->runner) - EVENT_AGE_MS;

	for (size_t i = 0; i < state->event_count; i++) {
		const struct runtime_group_event *event = &state->events[i];
		int code;

		if (event->at_ms < since_ms || was_reported(step->groups, event->id))
			continue;
		code = report_service(step, state->id, event->id, event->text, event->at_ms);
		if (code < 0)
			return code;
		remember_reported(step->groups, event->id);
	}
	return 0;
}

/* ---- one group ---- */

/* Reports why the group cannot be applied; the next change retries it. A blocker outside slipway
 * sends no change when it is gone, so the group is polled. */
static int report_failure(struct step *step, struct span id, const struct err *why)
{
	return report_service(step, id, SPAN(""), arena_format(step->arena, "%s", why->message),
		runner_wall_ms(step->call->runner));
}

static int remove_group(struct step *step, struct span id)
{
	const struct runtime_group_operations *operations =
		step->groups->runtime->operations->groups;
	int code = operations->remove(step->groups->runtime, id, step->err);

	return code == -ENOENT ? 0 : code;
}

static int reconcile_group(struct step *step, struct span id)
{
	struct runtime *runtime = step->groups->runtime;
	struct service_group_spec order = {.view = step->view,
		.arena = step->arena,
		.id = id,
		.now_ms = runner_wall_ms(step->call->runner),
		.secrets = step->groups->config.secrets};
	struct runtime_group_state *state;
	struct runtime_group group;
	struct err why = {0};
	int code = service_group_make(&order, &group, &step->call->again_at_ms, &why);

	if (code == -ENOENT)
		return remove_group(step, id);
	if (code == 0)
		code = runtime->operations->groups->apply(runtime, &group, &why);
	if (code == -EEXIST)
		step->call->again_at_ms = order.now_ms + BLOCKED_POLL_MS;
	if (code == -EINVAL || code == -EEXIST)
		return report_failure(step, id, &why);
	if (code < 0)
		return err_set(step->err, code, "%s", why.message);
	code = runtime->operations->groups->get(runtime, id, step->arena, &state, step->err);
	if (code == -ENOENT)
		return 0; /* retried by the change that creates it */
	if (code == 0)
		code = note_state(step, state);
	return code < 0 ? code : report_events(step, state);
}

/* The task sets of a service change with it and are queued one by one; deleted ones are queued by
 * their own ids. */
static void inspect_sets(struct step *step, struct span service_key)
{
	struct store_cursor cursor = {.view = step->view,
		.kind = &task_set_kind,
		.index = -1,
		.prefix = arena_format(step->arena, "%.*s/", SPAN_ARGS(service_key))};
	struct controller *controller = controller_handle_enter(&step->groups->handle);
	const struct store_object *set;

	if (!controller)
		return;
	while ((set = store_next(&cursor)))
		controller_add(controller, set->key);
	controller_handle_leave(&step->groups->handle);
}

/* ---- instances ---- */

/* Tasks on a draining instance are replaced before they stop. */
static int inspect_services_on(struct step *step, struct span instance_key)
{
	struct store_cursor cursor = {.view = step->view,
		.kind = &task_kind,
		.index = TASK_BY_INSTANCE,
		.prefix = arena_format(step->arena, "%.*s/live/", SPAN_ARGS(instance_key))};
	struct controller *controller = controller_handle_enter(&step->groups->handle);
	const struct store_object *task;
	struct span last = SPAN("");

	if (!controller)
		return 0;
	while ((task = store_next(&cursor))) {
		struct span service = task_facts(task)->service;

		/* They come in the order of their services. */
		if (service.length == 0 || span_equal(service, last))
			continue;
		last = service;
		controller_add(controller,
			arena_format(step->arena, "%.*s/%.*s",
				SPAN_ARGS(task_cluster_key(instance_key)), SPAN_ARGS(service)));
	}
	controller_handle_leave(&step->groups->handle);
	return 0;
}

/* A machine may be an instance of several clusters: it is open for new tasks only if it drains in
 * none. */
static bool drains_anywhere(struct step *step, struct span id)
{
	const struct group_controller_config *config = &step->groups->config;
	struct store_cursor clusters = {.view = step->view,
		.kind = &cluster_kind,
		.index = -1,
		.prefix = arena_format(step->arena, "%.*s/%.*s/", SPAN_ARGS(config->account),
			SPAN_ARGS(config->region))};
	const struct store_object *cluster, *instance;

	while ((cluster = store_next(&clusters))) {
		instance = container_instance_of_runtime(step->view, step->arena, cluster->key,
			config->host, id);
		if (instance &&
			container_instance_facts(instance)->status == CONTAINER_INSTANCE_DRAINING)
			return true;
	}
	return false;
}

static bool is_our_instance(const struct group_controller *groups,
	const struct store_object *instance)
{
	/* Instances that have left are DRAINING because the maintainer set it. */
	return instance && !container_instance_facts(instance)->left &&
	       span_equal(container_instance_host(container_instance_facts(instance)),
		       groups->config.host);
}

/* Kinds of tasks on an instance. */
static void find_kinds(struct step *step, struct span instance_key, bool *ret_daemons,
	bool *ret_others)
{
	struct store_cursor cursor = {.view = step->view,
		.kind = &task_kind,
		.index = TASK_BY_INSTANCE,
		.prefix = arena_format(step->arena, "%.*s/live/", SPAN_ARGS(instance_key))};
	const struct store_object *task;

	*ret_daemons = *ret_others = false;
	while ((task = store_next(&cursor)))
		*(task_facts(task)->daemon ? ret_daemons : ret_others) = true;
}

/* Daemons are the last to leave a draining instance, and the first to return. */
static int dismiss_daemons(struct step *step, const struct store_object *instance, struct span id)
{
	struct runtime *runtime = step->groups->runtime;
	bool drains = container_instance_facts(instance)->status == CONTAINER_INSTANCE_DRAINING;
	bool daemons, others;

	if (!runtime->operations->groups->dismiss)
		return 0;
	find_kinds(step, instance->key, &daemons, &others);
	/* The end of another task queues nothing, so poll. */
	if (drains && daemons && others)
		step->call->again_at_ms =
			runner_wall_ms(step->call->runner) + SERVICE_DAEMON_RETRY_MS;
	return runtime->operations->groups->dismiss(runtime,
		ecs_arn_of_key(step->arena, "cluster", task_cluster_key(instance->key)), id,
		drains && !others, step->err);
}

static int reconcile_instance(struct step *step, struct span key)
{
	struct runtime *runtime = step->groups->runtime;
	const struct store_object *instance = store_get(step->view, &container_instance_kind, key);
	struct span id;
	int code;

	if (!is_our_instance(step->groups, instance))
		return 0;
	id = container_instance_runtime_id(container_instance_facts(instance));
	code = dismiss_daemons(step, instance, id);
	if (code < 0 && code != -ENOENT)
		return code;
	code = runtime->operations->groups->cordon(runtime, id, drains_anywhere(step, id),
		step->err);
	if (code < 0 && code != -ENOENT)
		return code;
	return inspect_services_on(step, key);
}

/* ---- everything ---- */

/* Groups that the runtime does not have are not in its listing. */
static void add_services(struct step *step, struct controller *controller)
{
	const struct group_controller_config *config = &step->groups->config;
	struct store_cursor cursor = {.view = step->view,
		.kind = &service_kind,
		.index = -1,
		.prefix = arena_format(step->arena, "%.*s/%.*s/", SPAN_ARGS(config->account),
			SPAN_ARGS(config->region))};
	const struct store_object *service;

	while ((service = store_next(&cursor)))
		if (service_facts(service)->status == SERVICE_ACTIVE)
			controller_add(controller, service->key);
}

/* "@" and its key. */
static struct span instance_key(struct arena *arena, const struct store_object *instance)
{
	return arena_format(arena, "%c%.*s", KEY_INSTANCE, SPAN_ARGS(instance->key));
}

/* The runtime does not report whether instances are open, so it is set again. */
static void add_instances(struct step *step, struct controller *controller)
{
	struct store_cursor cursor = {
		.view = step->view, .kind = &container_instance_kind, .index = -1};
	const struct store_object *instance;

	while ((instance = store_next(&cursor)))
		if (is_our_instance(step->groups, instance))
			controller_add(controller, instance_key(step->arena, instance));
}

static int reconcile_everything(struct step *step)
{
	struct group_controller *groups = step->groups;
	struct controller *controller = controller_handle_enter(&groups->handle);
	struct span *ids;
	size_t count;
	int code;

	if (!controller)
		return 0;
	code = groups->runtime->operations->groups->list(groups->runtime, step->arena, &ids, &count,
		step->err);
	for (size_t i = 0; code == 0 && i < count; i++)
		controller_add(controller, ids[i]);
	if (code == 0) {
		add_services(step, controller);
		add_instances(step, controller);
	}
	if (code == 0)
		step->call->again_at_ms =
			runner_wall_ms(step->call->runner) + groups->config.relist_ms;
	controller_handle_leave(&groups->handle);
	return code;
}

static bool is_ours(const struct group_controller *groups, struct span key)
{
	struct span account, region;

	return span_split(key, '/', &account, &region) &&
	       span_split(region, '/', &region, &(struct span){0}) &&
	       span_equal(account, groups->config.account) &&
	       span_equal(region, groups->config.region);
}

static int reconcile_step(struct step *step, struct span key)
{
	if (span_is(key, KEY_EVERYTHING))
		return reconcile_everything(step);
	if (key.data[0] == KEY_INSTANCE)
		return reconcile_instance(step, (struct span){key.data + 1, key.length - 1});
	if (!is_ours(step->groups, key))
		return 0;
	inspect_sets(step, key);
	return reconcile_group(step, key);
}

static int reconcile(struct controller_call *call, struct span key, struct err *err)
{
	_view_ struct store_view *view = store_view_open(call->store);
	_arena_ struct arena *arena = arena_new(0);
	struct group_controller *groups = call->context;
	struct step step = {
		.call = call, .groups = groups, .view = view, .arena = arena, .err = err};
	int64_t began_us = runner_now_us(call->runner);
	int code = groups->config.claims ? claims_require_lease(groups->config.claims, err) : 0;

	if (code == 0)
		code = reconcile_step(&step, key);
	sync_statistics_note(groups->config.statistics,
		key.data[0] == KEY_INSTANCE ? SYNC_INSTANCE : SYNC_SERVICE,
		runner_now_us(call->runner) - began_us, code);
	return code;
}

/* ---- watches ---- */

static struct span key_of(const struct store_change *change)
{
	return change->after ? change->after->key : change->before->key;
}

static void map_deployment(const struct store_change *change, void *context,
	struct controller_keys *keys)
{
	(void)context;
	controller_keys_add(keys, service_key_of_component(key_of(change)));
}

static void map_instance(const struct store_change *change, void *context,
	struct controller_keys *keys)
{
	char key[STORE_KEY_MAX + 1];

	(void)context;
	snprintf(key, sizeof(key), "%c%.*s", KEY_INSTANCE, SPAN_ARGS(key_of(change)));
	controller_keys_add(keys, span_of(key));
}

/* The number of tasks that are still to be replaced changes the group. */
static bool task_matters(const struct task_facts *before, const struct task_facts *after)
{
	return !before || !after || task_class_of(before) != task_class_of(after) ||
	       before->let_go != after->let_go || !span_equal(before->instance, after->instance);
}

static void map_task(const struct store_change *change, void *context, struct controller_keys *keys)
{
	const struct task_facts *before = change->before ? task_facts(change->before) : NULL;
	const struct task_facts *after = change->after ? task_facts(change->after) : NULL;
	const struct task_facts *facts = after ? after : before;
	char key[STORE_KEY_MAX];

	(void)context;
	if (facts->service.length == 0 || !task_matters(before, after))
		return;
	snprintf(key, sizeof(key), "%.*s/%.*s", SPAN_ARGS(task_cluster_key(key_of(change))),
		SPAN_ARGS(facts->service));
	controller_keys_add(keys, span_of(key));
}

static const struct controller_watch watches[] = {
	{.kind = &service_kind},
	{.kind = &task_set_kind},
	{.kind = &service_deployment_kind, .map = map_deployment},
	{.kind = &container_instance_kind, .map = map_instance},
	{.kind = &task_kind, .map = map_task},
};

const struct controller_row group_controller_row = {
	.name = "groups",
	.watches = watches,
	.watch_count = LENGTH(watches),
	.reconcile = reconcile,
	.workers = WORKERS,
};

void group_controller_changed(void *context, struct span id)
{
	struct group_controller *groups = context;
	struct controller *controller = controller_handle_enter(&groups->handle);

	if (!controller)
		return;
	controller_add(controller, id.length > 0 ? id : SPAN(KEY_EVERYTHING));
	controller_handle_leave(&groups->handle);
}

/* ---- beginning and end ---- */

struct group_controller *group_controller_new(const struct group_controller_config *config)
{
	struct group_controller *groups = memory_allocate(sizeof(*groups));

	groups->config = *config;
	if (groups->config.relist_ms == 0)
		groups->config.relist_ms = GROUP_CONTROLLER_RELIST_MS;
	if (groups->config.queue.backoff_most_us == 0)
		groups->config.queue.backoff_most_us = BACKOFF_MOST_US;
	groups->row = group_controller_row;
	if (config->workers > 0)
		groups->row.workers = config->workers;
	controller_handle_init(&groups->handle, config->runner, "notices of groups");
	lock_init(&groups->lock);
	return groups;
}

int group_controller_start(struct group_controller *groups, struct runtime *runtime,
	struct err *err)
{
	struct controller_config config = {.runner = groups->config.runner,
		.store = groups->config.store,
		.context = groups,
		.queue = groups->config.queue,
		.report = groups->config.report,
		.report_context = groups->config.report_context};
	struct controller *controller;
	int code;

	if (!runtime->operations->groups)
		return 0;
	groups->runtime = runtime;
	code = controller_start(&groups->row, &config, &controller, err);
	if (code < 0)
		return code;
	controller_handle_open(&groups->handle, controller);
	controller_add(controller, SPAN(KEY_EVERYTHING));
	return 0;
}

void group_controller_stop(struct group_controller *groups)
{
	if (groups)
		controller_handle_close(&groups->handle);
}

void group_controller_free(struct group_controller *groups)
{
	if (!groups)
		return;
	map_clear(&groups->reported);
	controller_handle_destroy(&groups->handle);
	lock_destroy(&groups->lock);
	free(groups);
}

struct controller *group_controller_controller(struct group_controller *groups)
{
	return groups->handle.controller;
}
