/* See the header. */
#include "flow/controller.h"

#include <stdio.h>

#include "base/memory.h"
#include "control/controller_handle.h"
#include "delivery/outcall.h"
#include "flow/pass.h"

#define RESYNC_MS 60000
#define WORKERS 4
#define ACCOUNT_WORKERS 3
#define USER "slipway-flows"
#define DELETED_AT_ONCE 1000
#define SETTLE_MS 3000 /* live states are read at a start */

struct flow_controller {
	struct flow_controller_config config;
	struct runner *runner;
	struct delivery_targets *targets;
	struct controller *controller;
	struct controller_handle handle;
	struct flow_cache cache;
	int64_t started_ms;
};

/* ---- targets ---- */

bool flow_controller_reaches(struct flow_controller *controller, struct span account,
	struct span target, struct span role, struct arena *arena)
{
	const struct aws_target_settings *settings =
		aws_targets_find(controller->config.targets, target);
	struct outcall outcall = {.is_remote = true, .service = "ecs", .arena = arena};
	struct json *request = json_new_object(arena), *answer;
	struct aws_call_failure failure;
	struct err err;

	if (!settings || delivery_targets_get(controller->targets, account,
				 cluster_ref_make(arena, target, span_of(settings->account),
					 span_of(settings->region), SPAN("default")),
				 role, &outcall.target, &err) < 0)
		return false;
	json_set_integer(arena, request, "maxResults", 1);
	/* An endpoint that refuses the call is there. */
	return outcall_read(&outcall, "ListClusters", request, &answer, &failure, &err) >= 0 ||
	       (err.code == -EREMOTEIO && failure.status < 500);
}

bool flow_controller_has_settled(const struct flow_controller *controller, int64_t now_ms)
{
	/* A clock that was set back does not delay it. */
	return now_ms < controller->started_ms || now_ms - controller->started_ms >= SETTLE_MS;
}

/* ---- deleting ---- */

static int delete_part(struct store_transaction *transaction, void *context, struct err *err)
{
	static const struct store_kind *const lines[] = {&flow_node_kind, &flow_approval_kind};
	static const struct store_kind *const singles[] = {
		&flow_graph_kind, &flow_files_kind, &flow_order_kind};
	struct flow_pass *pass = context;
	struct span prefix = arena_format(pass->arena, "%.*s/", SPAN_ARGS(pass->key));
	int left = DELETED_AT_ONCE, code = 0;

	for (size_t i = 0; i < LENGTH(lines); i++) {
		const struct store_object *line;

		/* A cursor does not survive a change. */
		while ((line = store_next(&(struct store_cursor){.view = store_head(transaction),
				.kind = lines[i],
				.index = -1,
				.prefix = prefix}))) {
			if (left-- == 0) {
				pass->again_ms = pass->now_ms;
				return 0;
			}
			code = store_delete(transaction, lines[i], line->key, STORE_ANY, err);
			if (code < 0)
				return code;
		}
	}
	for (size_t i = 0; i < LENGTH(singles); i++) {
		code = store_delete(transaction, singles[i], pass->key, STORE_ANY, err);
		if (code < 0 && code != -ENOENT)
			return code;
	}
	code = store_delete(transaction, &flow_kind, pass->key, STORE_ANY, err);
	return code < 0 ? code
			: claims_forget(pass->config->claims, transaction, &pass->claim, err);
}

/* ---- damage ---- */

/* A flow whose records are not all known cannot be continued: a node might run twice, or without its dependencies. */
static int end_damaged(struct store_transaction *transaction, void *context, struct err *err)
{
	struct flow_pass *pass = context;
	struct flow_facts facts = pass->facts;
	int code = 0;

	if (!flow_state_is_terminal(facts.state)) {
		facts.state = FLOW_FAILURE;
		facts.ended_ms = pass->now_ms;
	}
	facts.is_damaged = true;
	if (store_get(store_head(transaction), &flow_order_kind, pass->key))
		code = store_delete(transaction, &flow_order_kind, pass->key, STORE_ANY, err);
	return code < 0 ? code
			: flow_put(transaction, pass->key, pass->object->api, &facts,
				  pass->object->revision, err);
}

/* ---- passes ---- */

/* The application of the head was deleted, and all that is left of it is deleted with it. */
static bool is_orphan(const struct flow_pass *pass)
{
	return flow_state_is_terminal(pass->facts.state) &&
	       !store_get(pass->view, &application_kind, pass->facts.head);
}

static bool has_work(const struct flow_pass *pass)
{
	return pass->facts.is_deleting || !flow_state_is_terminal(pass->facts.state) ||
	       store_get(pass->view, &flow_order_kind, pass->key);
}

/* The flow as the view has it; false: there is nothing to do. */
static bool read_flow(struct flow_pass *pass, const struct store_view *view)
{
	pass->view = view;
	pass->object = store_get(view, &flow_kind, pass->key);
	if (!pass->object)
		return false;
	pass->facts = *flow_facts(pass->object);
	pass->facts.is_deleting |= is_orphan(pass);
	return has_work(pass);
}

/* Under the claim, in a view that has everything that its earlier owner wrote. */
static int run_owned(struct flow_pass *pass, struct store *store, struct err *err)
{
	_view_ struct store_view *view = store_view_open(store);

	if (!read_flow(pass, view))
		return 0;
	if (pass->facts.is_deleting)
		return claims_write(pass->config->claims, &pass->claim, delete_part, pass, NULL,
			err);
	if (flow_is_damaged(store, pass->key))
		return claims_write(pass->config->claims, &pass->claim, end_damaged, pass, NULL,
			err);
	return flow_pass_run(pass, &pass->controller->cache, err);
}

static int reconcile(struct controller_call *call, struct span key, struct err *err)
{
	struct flow_controller *controller = call->context;
	_view_ struct store_view *view = store_view_open(call->store);
	_arena_ struct arena *arena = arena_new(0);
	struct flow_pass pass = {.controller = controller,
		.config = &controller->config,
		.arena = arena,
		.now_ms = runner_wall_ms(call->runner),
		.key = key,
		.refused = FLOW_NO_NODE};
	int code;

	if (!read_flow(&pass, view)) {
		flow_cache_drop(&controller->cache, key);
		return 0;
	}
	code = claims_acquire(controller->config.claims,
		arena_format(arena, FLOW_CLAIM_PREFIX "%.*s", SPAN_ARGS(key)), &pass.claim, err);
	if (code == -EBUSY) {
		/* Another server has the claim; claim_freed() starts a pass. */
		flow_cache_drop(&controller->cache, key);
		return 0;
	}
	if (code < 0)
		return code;
	code = run_owned(&pass, call->store, err);
	/* A client has changed something meanwhile, or the claim has moved: once more from the start. */
	if (code == -ESTALE) {
		pass.again_ms = pass.now_ms + PASS_POLL_MS;
		code = 0;
	}
	call->again_at_ms = pass.again_ms;
	return code;
}

/* ---- the controller ---- */

static void map_part(const struct store_change *change, void *context, struct controller_keys *keys)
{
	const struct store_object *object = change->after ? change->after : change->before;

	(void)context;
	controller_keys_add(keys, flow_of_key(object->key));
}

/* A deployment that starts a flow, or belongs to one. */
static void map_deployment(const struct store_change *change, void *context,
	struct controller_keys *keys)
{
	const struct deployment_facts *facts =
		deployment_facts(change->after ? change->after : change->before);
	struct span account, name, flow = facts->starts_flow ? facts->id : facts->flow;
	char key[STORE_KEY_MAX];
	int length;

	(void)context;
	if (flow.length == 0 || !span_split(facts->application, '/', &account, &name))
		return;
	length = snprintf(key, sizeof(key), "%.*s/%.*s", SPAN_ARGS(account), SPAN_ARGS(flow));
	if (length > 0 && (size_t)length < sizeof(key))
		controller_keys_add(keys, (struct span){key, (size_t)length});
}

static const struct controller_watch watches[] = {
	{.kind = &flow_kind},
	{.kind = &flow_order_kind},
	{.kind = &flow_approval_kind, .map = map_part},
	{.kind = &deployment_kind, .map = map_deployment},
};

static const struct controller_row row = {
	.name = "flows",
	.watches = watches,
	.watch_count = LENGTH(watches),
	.reconcile = reconcile,
	.workers = WORKERS,
	.resync_ms = RESYNC_MS,
};

static void claim_freed(void *context, struct span key)
{
	struct flow_controller *flows = context;
	struct controller *controller = controller_handle_enter(&flows->handle);
	size_t prefix = sizeof(FLOW_CLAIM_PREFIX) - 1;

	if (!controller)
		return;
	controller_add(controller, (struct span){key.data + prefix, key.length - prefix});
	controller_handle_leave(&flows->handle);
}

int flow_controller_start(const struct flow_controller_config *config,
	struct flow_controller **ret_controller, struct err *err)
{
	struct flow_controller *flows = memory_allocate(sizeof(*flows));
	struct delivery_targets_config targets = {.dispatcher = config->dispatcher,
		.remote = config->targets,
		.find_role = config->find_role,
		.find_role_context = config->find_role_context,
		.user = USER};
	struct controller_config controller = {.store = config->store,
		.context = flows,
		/* Keys begin with the account. */
		.queue = {.group_by = '/', .group_most = ACCOUNT_WORKERS},
		.report = config->report,
		.report_context = config->report_context};
	int code;

	flows->config = *config;
	flow_cache_init(&flows->cache, FLOW_CACHE_BYTES_MAX);
	flows->runner = runner_group_new(config->runner, "flows");
	flows->started_ms = runner_wall_ms(config->runner);
	targets.runner = controller.runner = flows->runner;
	flows->targets = delivery_targets_new(&targets);
	controller_handle_init(&flows->handle, flows->runner, "flows");
	code = controller_start(&row, &controller, &flows->controller, err);
	if (code < 0) {
		flow_controller_stop(flows);
		return code;
	}
	controller_handle_open(&flows->handle, flows->controller);
	claims_subscribe(config->claims, SPAN(FLOW_CLAIM_PREFIX), claim_freed, flows);
	*ret_controller = flows;
	return 0;
}

void flow_controller_stop(struct flow_controller *flows)
{
	if (!flows)
		return;
	if (flows->controller)
		claims_unsubscribe(flows->config.claims, flows);
	controller_handle_close(&flows->handle); /* and stops the controller */
	runner_stop(flows->runner);
	runner_join(flows->runner, NULL);
	delivery_targets_free(flows->targets);
	controller_handle_destroy(&flows->handle);
	flow_cache_destroy(&flows->cache);
	runner_free(flows->runner);
	free(flows);
}
