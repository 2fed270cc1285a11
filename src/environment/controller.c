/* See the header. */
#include "environment/act/manager.h"

#include <stdio.h>

#include "aws/arn.h"
#include "base/memory.h"
#include "base/seeded_bug.h"
#include "delivery/cluster_ref.h"
#include "ecs/record/service_kind.h"
#include "environment/act/pass.h"
#include "environment/decide/failure_text.h"
#include "environment/model/deployment_states.h"
#include "environment/model/environment_type.h"
#include "environment/model/matching.h"
#include "environment/model/quarantine_guard.h"

#define RESYNC_MS 60000
#define USER "slipway-environments" /* in whose name calls without a role are made */

/* Workers that call remote clusters at the same time, where they may have to wait: an account has one more for clusters of
 * this server. */
#define REMOTE_WORKERS_MAX (MANAGER_ACCOUNT_WORKERS - 1)

/* By type of environment. */
static const struct environment_operations *const operations[] = {
	[ENVIRONMENT_TYPE_Daemon] = &manager_daemon_operations,
	[ENVIRONMENT_TYPE_Service] = &manager_service_operations,
	[ENVIRONMENT_TYPE_Cron] = &manager_cron_operations,
};

/* ---- the states of environments ---- */

/* Only the worker of the environment calls this, and no other works on the same key; other threads may be reading. */
static void drop_state(struct manager *manager, struct span key)
{
	struct environment_state *state;

	lock_take(&manager->lock);
	state = map_get(&manager->states, key);
	lock_release(&manager->lock);
	if (!state)
		return;
	manager_release_all(manager, state);
	lock_take(&manager->lock);
	map_remove(&manager->states, key);
	environment_state_free(state);
	lock_release(&manager->lock);
}

/* Only from the worker of the environment. */
static struct environment_state *find_state(struct manager *manager, struct span key,
	enum environment_type type)
{
	struct environment_state *state;

	lock_take(&manager->lock);
	state = map_get(&manager->states, key);
	lock_release(&manager->lock);
	/* It was deleted and created again, as another type. */
	if (state && state->type != type) {
		drop_state(manager, key);
		state = NULL;
	}
	if (state)
		return state;
	state = environment_state_new(manager, key, type, operations[type]);
	lock_take(&manager->lock);
	map_put(&manager->states, key, state);
	lock_release(&manager->lock);
	return state;
}

void manager_count(void *context, struct span environment_key,
	struct environment_counts *ret_counts)
{
	struct manager *manager = context;
	struct environment_state *state;

	*ret_counts = (struct environment_counts){0};
	lock_take(&manager->lock);
	state = map_get(&manager->states, environment_key);
	if (state)
		environment_state_get_counts(state, ret_counts);
	lock_release(&manager->lock);
}

size_t manager_list_running(void *context, struct span environment_key, struct arena *arena,
	struct environment_running **ret_running)
{
	struct manager *manager = context;
	struct environment_state *state;
	size_t count = 0;

	lock_take(&manager->lock);
	state = map_get(&manager->states, environment_key);
	if (state && state->operations->list_running)
		count = state->operations->list_running(state->own, arena, ret_running);
	lock_release(&manager->lock);
	return count;
}

struct span manager_find_trouble(void *context, struct span environment_key, struct arena *arena)
{
	struct manager *manager = context;
	struct span text = SPAN("");
	int64_t since_ms = 0;
	struct environment_state *state;

	lock_take(&manager->lock);
	state = map_get(&manager->states, environment_key);
	if (state)
		since_ms = environment_state_get_failing(state, arena, &text);
	lock_release(&manager->lock);
	if (since_ms == 0 ||
		runner_now_us(manager->runner) / 1000 - since_ms <= CLAIMS_LEASE_US / 1000 ||
		claims_is_kept_by_another(manager->config.claims,
			arena_format(arena, MANAGER_CLAIM_PREFIX "%.*s",
				SPAN_ARGS(environment_key))))
		return SPAN("");
	return failure_reason(arena, "NOT_MANAGED", text);
}

/* ---- changes ---- */

static void requeue(struct manager *manager, struct controller *controller, struct span environment,
	struct cluster_ref cluster, struct span instance)
{
	struct environment_state *state;

	lock_take(&manager->lock);
	state = map_get(&manager->states, environment);
	if (state)
		environment_state_note_change(state, cluster, instance);
	lock_release(&manager->lock);
	controller_add(controller, environment);
}

/* The environment of a group in a place of this server, if it has anything to do with that place; NULL. */
static const struct store_object *find_owner(const struct store_view *view,
	struct cluster_ref cluster, struct span name, struct arena *arena)
{
	const struct store_object *environment;

	environment = store_get(view, &environment_kind,
		arena_format(arena, "%.*s/%.*s", SPAN_ARGS(cluster.account), SPAN_ARGS(name)));
	return environment && environment_has_cluster(environment_facts(environment), cluster)
		       ? environment
		       : NULL;
}

/* A change from the observer, and the environments to wake. */
struct changes {
	struct manager *manager;
	struct controller *controller;
	const struct store_view *view;
	struct arena *arena;
	struct cluster_ref cluster;
	struct span instance;
};

/* A task of an environment wakes only that environment: with hundreds of them on each instance, every task would otherwise
 * start a pass of all. */
static void notify_owner(const struct changes *changes, struct span name)
{
	struct store_cursor cursor = environments_at(changes->view, changes->cluster);
	const struct store_object *environment;

	if (!cluster_ref_is_remote(changes->cluster)) {
		environment = find_owner(changes->view, changes->cluster, name, changes->arena);
		if (environment)
			requeue(changes->manager, changes->controller, environment->key,
				changes->cluster, changes->instance);
		return;
	}
	while ((environment = store_next(&cursor)))
		if (span_equal(environment_name_of_key(environment->key), name))
			requeue(changes->manager, changes->controller, environment->key,
				changes->cluster, changes->instance);
}

static void notify_all(const struct changes *changes)
{
	struct store_cursor cursor = environments_at(changes->view, changes->cluster);
	const struct store_object *environment;

	while ((environment = store_next(&cursor)))
		requeue(changes->manager, changes->controller, environment->key, changes->cluster,
			changes->instance);
}

static void notify_subscribers(const struct changes *changes)
{
	struct span *keys;
	size_t count = subscriptions_list(changes->manager->subscriptions,
		arena_format(changes->arena, "%.*s/%.*s", SPAN_ARGS(changes->cluster.text),
			SPAN_ARGS(changes->instance)),
		changes->arena, &keys);

	for (size_t i = 0; i < count; i++)
		requeue(changes->manager, changes->controller, keys[i], changes->cluster,
			changes->instance);
}

static void notify_selected(const struct changes *changes, struct span attribute)
{
	struct store_cursor cursor = {.view = changes->view,
		.kind = &environment_kind,
		.index = ENVIRONMENT_BY_SELECTOR,
		.prefix = arena_format(changes->arena, "%.*s %.*s",
			SPAN_ARGS(changes->cluster.text), SPAN_ARGS(attribute)),
		.exact = true};
	const struct store_object *environment;

	while ((environment = store_next(&cursor)))
		requeue(changes->manager, changes->controller, environment->key, changes->cluster,
			changes->instance);
}

/* The subscribers, and the environments that the instance may match now. */
static void notify_matching(const struct changes *changes)
{
	const struct observe_instance *instance = observe_get_instance_for(changes->manager->state,
		changes->cluster, changes->instance, SPAN(""), changes->arena);
	struct span rest = instance ? instance->attributes : SPAN(""), attribute, name, value;

	notify_subscribers(changes);
	notify_selected(changes, SPAN(""));
	while (span_next_part(&rest, ';', &attribute)) {
		if (attribute.length == 0)
			continue;
		notify_selected(changes, attribute);
		if (span_split(attribute, '=', &name, &value))
			notify_selected(changes, name);
	}
}

static bool is_draining(const struct changes *changes)
{
	const struct observe_instance *instance = observe_get_instance_for(changes->manager->state,
		changes->cluster, changes->instance, SPAN(""), changes->arena);

	return instance && instance->status == OBSERVE_INSTANCE_DRAINING;
}

/* Of an instance, a task, or anything of a cluster. */
static void take_cluster_change(struct manager *manager, struct controller *controller,
	const struct observe_change *change, struct arena *arena)
{
	_view_ struct store_view *view = store_view_open(manager->config.store);
	struct span name = environment_name_of_group(change->group);
	struct changes changes = {.manager = manager,
		.controller = controller,
		.view = view,
		.arena = arena,
		.cluster = change->cluster,
		.instance = change->instance};

	if (name.length > 0)
		notify_owner(&changes, name);
	else if (change->type == OBSERVE_CHANGE_CLUSTER)
		notify_all(&changes);
	else if (change->type == OBSERVE_CHANGE_INSTANCE)
		notify_matching(&changes);
	/* Daemons leave behind the tasks of others, unless those are on no instance. */
	else if (change->instance.length > 0 && is_draining(&changes))
		notify_subscribers(&changes);
}

/* A change of the ECS service of an environment in a remote cluster. */
static void take_service_change(struct manager *manager, struct controller *controller,
	const struct observe_change *change, struct arena *arena)
{
	_view_ struct store_view *view = store_view_open(manager->config.store);
	struct store_cursor cursor = environments_at(view, change->cluster);
	const struct store_object *environment;

	while ((environment = store_next(&cursor)))
		if (span_equal(environment_service_name(arena,
				       environment_facts(environment)->name),
			    change->service))
			controller_add(controller, environment->key);
}

static void log_reachable(struct manager *manager, const struct observe_change *change)
{
	const struct manager_config *config = &manager->config;
	_buffer_ struct buffer text = {0};
	bool is_lost = change->type == OBSERVE_CHANGE_UNREACHABLE;
	struct cluster_ref ref = change->cluster;

	if (!config->log_transition)
		return;
	buffer_format(&text, "cluster %.*s of target %.*s ", SPAN_ARGS(ref.scope),
		SPAN_ARGS(ref.target));
	if (is_lost)
		buffer_format(&text, "cannot be listed: %.*s", SPAN_ARGS(change->error));
	else
		buffer_format(&text, "is known again");
	config->log_transition(config->report_context, is_lost, buffer_span(&text));
}

/* Changes were lost: every environment may be concerned. */
static void take_loss(struct manager *manager, struct controller *controller)
{
	_view_ struct store_view *view = store_view_open(manager->config.store);
	struct store_cursor cursor = {.view = view, .kind = &environment_kind, .index = -1};
	const struct store_object *environment;

	while ((environment = store_next(&cursor)))
		requeue(manager, controller, environment->key, cluster_ref_of(SPAN("")), SPAN(""));
}

static void take_change(struct manager *manager, struct controller *controller,
	const struct observe_change *change, struct arena *arena)
{
	switch (change->type) {
	case OBSERVE_CHANGE_CLUSTER:
	case OBSERVE_CHANGE_INSTANCE:
	case OBSERVE_CHANGE_TASK: take_cluster_change(manager, controller, change, arena); break;
	case OBSERVE_CHANGE_SERVICE: take_service_change(manager, controller, change, arena); break;
	case OBSERVE_CHANGE_UNREACHABLE:
	case OBSERVE_CHANGE_REACHABLE: log_reachable(manager, change); break;
	case OBSERVE_CHANGE_LOST: take_loss(manager, controller); break;
	}
}

/* Requeues the environments that the changes since the last call concern. From any thread. */
static void take_changes(struct manager *manager)
{
	_arena_ struct arena *arena = arena_new(0);
	struct observe_change change;

	while (observe_cursor_next(manager->changes, arena, &change)) {
		struct controller *controller = controller_handle_enter(&manager->handle);

		/* Controllers list when they start: nothing from before is missed. */
		if (!controller)
			continue;
		take_change(manager, controller, &change, arena);
		controller_handle_leave(&manager->handle);
		arena_reset(arena);
	}
}

static void follow_changes(void *context)
{
	struct manager *manager = context;

	for (;;) {
		uint64_t seen = runner_event_count(manager->observed);

		take_changes(manager);
		if (runner_wait(manager->changes_runner, manager->observed, seen, RUNNER_FOREVER) ==
			-ECANCELED)
			return;
	}
}

/* ---- a pass over an environment ---- */

static const struct store_object *find_version(const struct manager_pass *pass, struct span id)
{
	return id.length == 0 ? NULL
			      : store_get(pass->input.view, &environment_version_kind,
					environment_child_key(pass->arena,
						pass->input.environment->key, id));
}

static bool is_rolling(const struct environment_deployment_facts *deployment)
{
	return deployment->type == ENVIRONMENT_DEPLOYMENT_TYPE_user &&
	       (deployment->status == ENVIRONMENT_DEPLOYMENT_in_progress ||
		       deployment->status == ENVIRONMENT_DEPLOYMENT_unhealthy ||
		       deployment->status == ENVIRONMENT_DEPLOYMENT_blocked);
}

static void set_input(struct manager_pass *pass)
{
	const struct environment_facts *facts = environment_facts(pass->input.environment);
	const struct store_object *deployment = environment_deployment_of(pass->input.view,
		pass->arena, pass->input.environment->key, facts->in_progress);

	pass->input.target = find_version(pass, facts->target);
	/* Before the first deployment the latest version is what counts are about. */
	if (!pass->input.target)
		pass->input.target = find_version(pass, facts->latest);
	pass->input.rolls = deployment && is_rolling(environment_deployment_facts(deployment));
	if (pass->input.rolls && pass->input.target) {
		const struct environment_version_facts *target =
			environment_version_facts(pass->input.target);
		const struct environment_deployment_facts *rolling =
			environment_deployment_facts(deployment);

		/* A rollback returns to a version that was proved before, without a canary. */
		pass->input.canary = target->canary_instances > 0 && !rolling->rollback &&
				     !rolling->canary_proved;
	}
}

static int reconcile(struct controller_call *call, struct span key, struct err *err)
{
	struct manager *manager = call->context;
	_view_ struct store_view *view = store_view_open(call->store);
	_arena_ struct arena *arena = arena_new(0);
	const struct store_object *environment = store_get(view, &environment_kind, key);
	struct manager_pass pass = {.manager = manager,
		.call = call,
		.arena = arena,
		.claim_key = arena_format(arena, MANAGER_CLAIM_PREFIX "%.*s", SPAN_ARGS(key)),
		.input = {.view = view,
			.state = manager->state,
			.environment = environment,
			.now_ms = runner_wall_ms(call->runner),
			.steady_ms = runner_now_us(call->runner) / 1000,
			.arena = arena,
			.bug = manager->config.bug}};
	bool more = false;
	int code;

	if (!environment) {
		drop_state(manager, key);
		return 0;
	}
	/* Reported as a failure in each pass, because an operator has to repair it. */
	if (environment_is_damaged(call->store, key))
		return err_set(err, -EBADMSG,
			"a record of the environment is quarantined: nothing is done for it");
	pass.state = find_state(manager, key, environment_facts(environment)->type);
	set_input(&pass);
	take_changes(manager);
	manager_want_all(&pass);
	code = pass.state->operations->work(&pass, &more, err);
	manager_release_others(&pass);
	if (code != -ECANCELED)
		environment_state_note_end(pass.state, pass.input.steady_ms, code, err);
	if (code == -EAGAIN) {
		/* The missing state wakes us when it comes; the pass is a safety net. */
		manager_again_at(&pass, pass.input.steady_ms + 1000);
		code = 0;
	}
	if (more)
		pass.again_ms = pass.input.steady_ms;
	if (pass.again_ms > 0)
		call->again_at_ms = runner_wall_ms(call->runner) + pass.again_ms -
				    runner_now_us(call->runner) / 1000;
	return code;
}

/* ---- the controller ---- */

static void map_part(const struct store_change *change, void *context, struct controller_keys *keys)
{
	const struct store_object *object = change->after ? change->after : change->before;

	(void)context;
	controller_keys_add(keys, environment_of_child_key(object->key));
}

/* "ACCOUNT/REGION/CLUSTER/env-NAME…": the service of an environment, or something of it. */
static void map_service(const struct store_change *change, void *context,
	struct controller_keys *keys)
{
	const struct store_object *object = change->after ? change->after : change->before;
	struct span parts[4], rest = object->key;
	char key[ENVIRONMENT_NAME_MAX + 32];

	(void)context;
	for (size_t i = 0; i < LENGTH(parts); i++)
		if (!span_next_part(&rest, '/', &parts[i]))
			return;
	if (!span_starts_with(parts[3], SPAN(ENVIRONMENT_SERVICE_PREFIX)) ||
		parts[3].length > ENVIRONMENT_NAME_MAX + sizeof(ENVIRONMENT_SERVICE_PREFIX))
		return;
	snprintf(key, sizeof(key), "%.*s/%.*s", SPAN_ARGS(parts[0]),
		(int)(parts[3].length - sizeof(ENVIRONMENT_SERVICE_PREFIX) + 1),
		parts[3].data + sizeof(ENVIRONMENT_SERVICE_PREFIX) - 1);
	controller_keys_add(keys, span_of(key));
}

static const struct controller_watch watches[] = {
	{.kind = &environment_kind},
	{.kind = &environment_deployment_kind, .map = map_part},
	{.kind = &service_kind, .map = map_service},
	{.kind = &service_deployment_kind, .map = map_service},
};

static const struct controller_row row = {
	.name = "environments",
	.watches = watches,
	.watch_count = LENGTH(watches),
	.reconcile = reconcile,
	.workers = MANAGER_WORKERS,
	.resync_ms = RESYNC_MS,
};

static void claim_freed(void *context, struct span key)
{
	struct manager *manager = context;
	struct controller *controller = controller_handle_enter(&manager->handle);
	size_t prefix = sizeof(MANAGER_CLAIM_PREFIX) - 1;

	if (!controller)
		return;
	controller_add(controller, (struct span){key.data + prefix, key.length - prefix});
	controller_handle_leave(&manager->handle);
}

int manager_start(const struct manager_config *config, struct manager **ret_manager,
	struct err *err)
{
	struct manager *manager = memory_allocate(sizeof(*manager));
	struct controller_config controller = {.store = config->store,
		.context = manager,
		/* Keys begin with the account. */
		.queue = {.group_by = '/', .group_most = MANAGER_ACCOUNT_WORKERS},
		.report = config->report,
		.report_context = config->report_context};
	struct observe_config state = {.store = config->store,
		.server = claims_server(config->claims),
		.group_prefix = SPAN(ENVIRONMENT_GROUP_PREFIX)};
	struct delivery_targets_config targets = {.dispatcher = config->dispatcher,
		.remote = config->targets,
		.find_role = config->find_role,
		.find_role_context = config->find_role_context,
		.user = USER};
	int code;

	manager->config = *config;
	manager->runner = runner_group_new(config->runner, "environments");
	lock_init(&manager->lock);
	manager->subscriptions = subscriptions_new();
	targets.runner = manager->runner;
	manager->targets = delivery_targets_new(&targets);
	outcall_slots_init(&manager->remote_slots, REMOTE_WORKERS_MAX);
	manager->changes_runner = runner_group_new(manager->runner, "observed changes");
	controller_handle_init(&manager->handle, manager->runner, "environments");
	state.runner = manager->runner;
	controller.runner = manager->runner;
	code = observe_new(&state, &manager->state, err);
	if (code == 0) {
		manager->observed = runner_event_new(manager->changes_runner, "observed changes");
		manager->changes = observe_cursor_open(manager->state, manager->observed);
		code = runner_spawn(manager->changes_runner, "observed changes", follow_changes,
			manager, err);
	}
	if (code == 0)
		code = controller_start(&row, &controller, &manager->controller, err);
	if (code < 0) {
		manager_stop(manager);
		return code;
	}
	controller_handle_open(&manager->handle, manager->controller);
	claims_subscribe(config->claims, SPAN(MANAGER_CLAIM_PREFIX), claim_freed, manager);
	*ret_manager = manager;
	return 0;
}

void manager_stop(struct manager *manager)
{
	if (!manager)
		return;
	if (manager->controller)
		claims_unsubscribe(manager->config.claims, manager);
	controller_handle_close(&manager->handle); /* and stops the controller */
	runner_stop(manager->changes_runner);
	runner_join(manager->changes_runner, NULL);
	observe_cursor_close(manager->changes);
	observe_free(manager->state);
	runner_event_free(manager->observed);
	runner_free(manager->changes_runner);
	runner_stop(manager->runner);
	runner_join(manager->runner, NULL);
	MAP_EACH (&manager->states, entry)
		environment_state_free(entry->value);
	delivery_targets_free(manager->targets);
	map_clear(&manager->states);
	subscriptions_free(manager->subscriptions);
	outcall_slots_destroy(&manager->remote_slots);
	controller_handle_destroy(&manager->handle);
	lock_destroy(&manager->lock);
	runner_free(manager->runner);
	free(manager);
}

struct observer *manager_state(struct manager *manager)
{
	return manager->state;
}

struct controller *manager_controller(struct manager *manager)
{
	return manager->controller;
}
