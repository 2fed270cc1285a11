/* See the header. */
#include "pipeline/engine.h"

#include "base/memory.h"
#include "control/controller_handle.h"
#include "delivery/cluster_ref.h"
#include "ecs/record/task.h"
#include "pipeline/deployments.h"
#include "pipeline/fetch.h"
#include "pipeline/live.h"
#include "pipeline/notices.h"
#include "pipeline/steps.h"
#include "pipeline/stop_switch.h"

#define RESYNC_MS 60000
#define WORKERS 4
#define ACCOUNT_WORKERS 3
#define USER "slipway-pipelines" /* in whose name calls without a role are made */
#define CLUSTER_DEFAULT "default"
#define STOPPED_POLL_MS 1000
#define KEPT_CHECK_MS 10000 /* that tasks which replaced old ones get no traffic */

struct engine {
	struct engine_config config;
	struct runner *runner;
	struct delivery_targets *targets;
	struct jobs *jobs;
	struct controller *controller;
	struct controller_handle handle;
	struct live *live;
};

/* ---- the pass ---- */

void pass_log(struct deployment_pass *pass, struct span stage, const char *format, ...)
{
	struct pass_line *line = fields_append(pass->arena, &pass->lines, sizeof(*line));
	va_list list;

	va_start(list, format);
	*line = (struct pass_line){stage, arena_format_list(pass->arena, format, list)};
	va_end(list);
}

void pass_again_at(struct deployment_pass *pass, int64_t wall_ms)
{
	if (pass->again_ms == 0 || wall_ms < pass->again_ms)
		pass->again_ms = wall_ms;
}

static int put_lines(struct store_transaction *transaction, const struct deployment_pass *pass,
	struct err *err)
{
	const struct pass_line *lines = pass->lines.items;
	int code = 0;

	for (size_t i = 0; i < pass->lines.count && code >= 0; i++)
		code = deployment_log(transaction, pass->deployment.key, lines[i].stage,
			lines[i].text, pass->now_ms, err);
	return code;
}

/* The deployment as it is stored before the pass writes it, for notices. */
static int read_before(struct store_transaction *transaction, const struct deployment_pass *pass,
	struct deployment_record *ret_record, struct err *err)
{
	const struct store_object *object =
		store_get(store_head(transaction), &deployment_kind, pass->deployment.key);

	if (!pass->config->webhooks || pass->config->webhooks->count == 0)
		return 0;
	return object ? deployment_read(object, store_transaction_arena(transaction), ret_record,
				err)
		      : err_set(err, -ESTALE, "the deployment was deleted");
}

static int put_pass(struct store_transaction *transaction, void *context, struct err *err)
{
	const struct deployment_pass *pass = context;
	struct deployment_record before = {0};
	int code = read_before(transaction, pass, &before, err);

	if (code >= 0)
		code = deployment_put(transaction, &pass->deployment, err);
	if (code >= 0 && pass->must_write_source)
		code = deployment_source_put(transaction, pass->deployment.key, &pass->source, err);
	if (code >= 0 && pass->put_application)
		code = application_put(transaction, pass->key, pass->application_api,
			&pass->application_facts, pass->application->revision, err);
	if (code >= 0 && pass->post_sync)
		code = pass->config->post_sync->create(transaction, pass->post_sync, err);
	if (code >= 0)
		code = notices_add_deployment(transaction, pass->config->webhooks, &before,
			&pass->deployment, pass->now_ms, err);
	return code < 0 ? code : put_lines(transaction, pass, err);
}

int pass_write(struct deployment_pass *pass, struct err *err)
{
	/* The change itself starts the next pass, unless that has a later time. */
	pass_again_at(pass, pass->now_ms + pass->poll_ms);
	return claims_write(pass->claims, &pass->claim, put_pass, pass, NULL, err);
}

int pass_checkpoint(struct deployment_pass *pass, struct err *err)
{
	int code = claims_write(pass->claims, &pass->claim, put_pass, pass, NULL, err);

	pass->lines = (struct field_list){0};
	pass->must_write = false;
	return code;
}

int pass_read(struct deployment_pass *pass, const char *service, const char *operation,
	const struct json *request, struct json **ret_answer, struct err *err)
{
	struct outcall outcall = pass->outcall;

	outcall.service = service;
	return outcall_read(&outcall, operation, request, ret_answer, &pass->failure, err);
}

int pass_read_pages(struct deployment_pass *pass, const char *service, const char *operation,
	struct json *request, const char *member, const char *token, struct json **ret_items,
	struct err *err)
{
	struct json *items = json_new_array(pass->arena);
	/* Elastic Load Balancing answers with another name. */
	const char *answered = strcmp(token, "Marker") == 0 ? "NextMarker" : token;
	struct span next = SPAN("");
	int code;

	*ret_items = items;
	do {
		struct json *answer = NULL;

		if (next.length > 0)
			json_set_string(pass->arena, request, token, next);
		code = pass_read(pass, service, operation, request, &answer, err);
		JSON_EACH_ITEM (json_get(answer, member), item)
			json_append(pass->arena, items, item);
		next = json_get_text(answer, answered);
	} while (code >= 0 && next.length > 0);
	return code;
}

/* ---- the target ---- */

/* The last part of a name or an ARN. */
static struct span last_part(struct span text)
{
	struct span part = text, rest = text;

	while (span_next_part(&rest, '/', &part))
		continue;
	return part;
}

static struct span configured_cluster(const struct deployment_pass *pass)
{
	struct span cluster = pass->bundle.has_service
				      ? pass->bundle.service.cluster
				      : pass->bundle.application->input.cluster_arn;

	return cluster.data && cluster.length > 0 ? last_part(cluster) : SPAN(CLUSTER_DEFAULT);
}

int pass_open_target(struct deployment_pass *pass, struct err *err)
{
	const struct deployment_facts *facts = &pass->deployment.facts;
	const struct application_facts *application = application_facts(pass->application);
	const struct aws_target_settings *settings =
		facts->target.length > 0
			? aws_targets_find(pass->engine->config.targets, facts->target)
			: NULL;

	if (facts->target.length > 0 && !settings)
		return err_set(err, -ENOENT, "target \"%.*s\" is not in the server's configuration",
			SPAN_ARGS(facts->target));
	pass->cluster = configured_cluster(pass);
	pass->poll_ms = settings ? PASS_POLL_REMOTE_MS : PASS_POLL_LOCAL_MS;
	if (settings && settings->poll_ms > 0 && settings->poll_ms < pass->poll_ms)
		pass->poll_ms = settings->poll_ms;
	pass->outcall = (struct outcall){.claims = pass->claims,
		.claim = &pass->claim,
		.is_remote = settings != NULL,
		.arena = pass->arena};
	return delivery_targets_get(pass->engine->targets, application->account,
		cluster_ref_make(pass->arena, facts->target,
			settings ? span_of(settings->account) : application->account,
			settings ? span_of(settings->region) : facts->region, pass->cluster),
		facts->role, &pass->outcall.target, err);
}

/* ---- one deployment ---- */

static int read_source_and_calls(struct deployment_pass *pass, const struct store_object *object,
	struct err *err)
{
	int code = deployment_source_read(pass->view, object->key, pass->arena, &pass->source, err);

	return code < 0 ? code : calls_load(pass, err);
}

static int open_deployment(struct deployment_pass *pass, struct err *err)
{
	int code = bundle_load(pass->source.files, pass->source.application_file, pass->arena,
		&pass->bundle, err);

	pass->poll_ms = PASS_POLL_LOCAL_MS;
	return code < 0 ? code : pass_open_target(pass, err);
}

static int run_deployment(struct deployment_pass *pass, const struct store_object *object,
	struct err *err)
{
	int code = deployment_read(object, pass->arena, &pass->deployment, err);

	if (code >= 0 && pass->deployment.facts.must_fetch)
		return fetch_run(pass, err);
	if (code >= 0)
		code = read_source_and_calls(pass, object, err);
	if (code < 0)
		return code;
	code = open_deployment(pass, err);
	/* With calls made the state must stay for a rollback, until the target is back. */
	if (code < 0 && pass->calls.count == 0)
		return steps_refuse(pass, arena_copy_span(pass->arena, span_of(err->message)), err);
	return code < 0 ? code : steps_run(pass, err);
}

/* Plans at once, unless their files are being read; of the others the one that runs, else the oldest. */
static const struct store_object *find_next(const struct deployment_pass *pass)
{
	struct store_cursor cursor = {.view = pass->view,
		.kind = &deployment_kind,
		.index = DEPLOYMENT_OPEN,
		.prefix = arena_format(pass->arena, "%.*s/", SPAN_ARGS(pass->key))};
	struct span current = application_facts(pass->application)->current;
	const struct store_object *object, *oldest = NULL;

	while ((object = store_next(&cursor))) {
		const struct deployment_facts *facts = deployment_facts(object);

		if (facts->trigger == DEPLOYMENT_TRIGGER_PLAN) {
			if (!facts->must_fetch || !fetch_is_running(pass))
				return object;
			continue;
		}
		if (!oldest && (current.length == 0 || span_equal(facts->id, current)))
			oldest = object;
	}
	return oldest;
}

/* The deployment whose old primary is kept, while none runs; NULL. */
static const struct store_object *find_kept(const struct deployment_pass *pass)
{
	const struct application_facts *facts = application_facts(pass->application);

	return facts->kept.length > 0 && facts->current.length == 0
		       ? store_get(pass->view, &deployment_kind,
				 deployment_key(pass->arena, pass->key, facts->kept))
		       : NULL;
}

/* It is kept until its time, or until the next deployment begins: a service has few task sets. */
static int run_kept(struct deployment_pass *pass, const struct store_object *object, bool is_wanted,
	struct err *err)
{
	int64_t until_ms = deployment_facts(object)->kept_until_ms;
	bool is_over = !is_wanted || pass->now_ms >= until_ms;
	int code = deployment_read(object, pass->arena, &pass->deployment, err);

	if (code >= 0)
		code = read_source_and_calls(pass, object, err);
	if (code >= 0)
		code = open_deployment(pass, err);
	if (code >= 0)
		code = steps_keep(pass, is_over, err);
	if (code >= 0 && !is_over) {
		pass_again_at(pass, until_ms);
		pass_again_at(pass, pass->now_ms + KEPT_CHECK_MS);
	}
	return code;
}

/* A deployment that was cancelled leaves its job behind. */
static void fetch_end_unless_needed(const struct deployment_pass *pass)
{
	struct store_cursor cursor = {.view = pass->view,
		.kind = &deployment_kind,
		.index = DEPLOYMENT_OPEN,
		.prefix = arena_format(pass->arena, "%.*s/", SPAN_ARGS(pass->key))};
	const struct store_object *object;

	while ((object = store_next(&cursor))) {
		if (deployment_facts(object)->must_fetch)
			return;
	}
	fetch_end(pass);
}

static int delete_part(struct store_transaction *transaction, void *context, struct err *err)
{
	struct deployment_pass *pass = context;
	int code = application_delete_step(transaction, pass->key, err);

	if (code > 0)
		pass->again_ms = pass->now_ms;
	return code < 0   ? code
	       : code > 0 ? 0
			  : claims_forget(pass->claims, transaction, &pass->claim, err);
}

static int run_next(struct deployment_pass *pass, struct err *err)
{
	const struct store_object *deployment = find_next(pass), *kept = find_kept(pass);
	bool is_deleting = application_facts(pass->application)->is_deleting;
	int code;

	fetch_end_unless_needed(pass);
	if (deployment && deployment_facts(deployment)->trigger == DEPLOYMENT_TRIGGER_PLAN)
		kept = NULL;
	if (!deployment && !is_deleting && !kept)
		return 0;
	if (stop_switch_is_on(pass->view, pass->key)) {
		pass_again_at(pass, pass->now_ms + STOPPED_POLL_MS);
		return 0;
	}
	code = claims_acquire(pass->claims,
		arena_format(pass->arena, ENGINE_CLAIM_PREFIX "%.*s", SPAN_ARGS(pass->key)),
		&pass->claim, err);
	if (code == -EBUSY)
		return 0; /* another server has the claim; claim_freed() starts a pass */
	if (code < 0)
		return code;
	/* The old tasks of an application that is deleted go, too, unless they are out of reach. */
	if (kept) {
		code = run_kept(pass, kept, !deployment && !is_deleting, err);
		if (code >= 0 || !is_deleting)
			return code;
	}
	return is_deleting ? claims_write(pass->claims, &pass->claim, delete_part, pass, NULL, err)
			   : run_deployment(pass, deployment, err);
}

static int reconcile(struct controller_call *call, struct span key, struct err *err)
{
	struct engine *engine = call->context;
	_view_ struct store_view *view = store_view_open(call->store);
	_arena_ struct arena *arena = arena_new(0);
	struct deployment_pass pass = {.engine = engine,
		.config = &engine->config,
		.jobs = engine->jobs,
		.claims = engine->config.claims,
		.runner = call->runner,
		.store = call->store,
		.view = view,
		.arena = arena,
		.now_ms = runner_wall_ms(call->runner),
		.key = key,
		.application = store_get(view, &application_kind, key)};
	int code;

	if (!pass.application)
		return 0;
	pass.application_facts = *application_facts(pass.application);
	pass.application_api = pass.application->api;
	code = run_next(&pass, err);
	/* A client has changed the deployment meanwhile, or the claim has moved: once more from the start. */
	if (code == -ESTALE) {
		pass.again_ms = pass.now_ms + PASS_POLL_LOCAL_MS;
		code = 0;
	}
	call->again_at_ms = pass.again_ms;
	return code;
}

/* ---- the controller ---- */

static void map_deployment(const struct store_change *change, void *context,
	struct controller_keys *keys)
{
	const struct store_object *object = change->after ? change->after : change->before;

	(void)context;
	controller_keys_add(keys, application_of_key(object->key));
}

/* A task of a canary that is to be registered in place of another. */
static void map_task(const struct store_change *change, void *context, struct controller_keys *keys)
{
	const struct engine *engine = context;

	live_map_held_task(engine->live, change, keys);
}

static const struct controller_watch watches[] = {
	{.kind = &application_kind},
	{.kind = &deployment_kind, .map = map_deployment},
	{.kind = &task_kind, .map = map_task},
};

static const struct controller_row row = {
	.name = "applications",
	.watches = watches,
	.watch_count = LENGTH(watches),
	.reconcile = reconcile,
	.workers = WORKERS,
	.resync_ms = RESYNC_MS,
};

static void claim_freed(void *context, struct span key)
{
	struct engine *engine = context;
	struct controller *controller = controller_handle_enter(&engine->handle);
	size_t prefix = sizeof(ENGINE_CLAIM_PREFIX) - 1;

	if (!controller)
		return;
	controller_add(controller, (struct span){key.data + prefix, key.length - prefix});
	live_claim_freed(engine->live, (struct span){key.data + prefix, key.length - prefix});
	controller_handle_leave(&engine->handle);
}

/* A job of one of its deployments has ended. */
static void job_ended(void *context, struct span key)
{
	struct engine *engine = context;
	struct controller *controller = controller_handle_enter(&engine->handle);

	if (!controller)
		return;
	controller_add(controller, application_of_key(key));
	controller_handle_leave(&engine->handle);
}

int engine_start(const struct engine_config *config, struct engine **ret_engine, struct err *err)
{
	struct engine *engine = memory_allocate(sizeof(*engine));
	struct delivery_targets_config targets = {.dispatcher = config->dispatcher,
		.remote = config->targets,
		.find_role = config->find_role,
		.find_role_context = config->find_role_context,
		.user = USER};
	struct controller_config controller = {.store = config->store,
		.context = engine,
		/* Keys begin with the account. */
		.queue = {.group_by = '/', .group_most = ACCOUNT_WORKERS},
		.report = config->report,
		.report_context = config->report_context};
	int code;

	engine->config = *config;
	if (!config->children)
		engine->config.children = child_system();
	engine->runner = runner_group_new(config->runner, "applications");
	targets.runner = controller.runner = engine->runner;
	engine->targets = delivery_targets_new(&targets);
	engine->jobs = jobs_new(engine->runner, config->client, job_ended, engine);
	controller_handle_init(&engine->handle, engine->runner, "applications");
	code = live_start(engine, &engine->config, engine->runner, &engine->live, err);
	if (code >= 0)
		code = controller_start(&row, &controller, &engine->controller, err);
	if (code < 0) {
		engine_stop(engine);
		return code;
	}
	controller_handle_open(&engine->handle, engine->controller);
	claims_subscribe(config->claims, SPAN(ENGINE_CLAIM_PREFIX), claim_freed, engine);
	*ret_engine = engine;
	return 0;
}

void engine_stop(struct engine *engine)
{
	if (!engine)
		return;
	if (engine->controller)
		claims_unsubscribe(engine->config.claims, engine);
	controller_handle_close(&engine->handle); /* and stops the controller */
	live_stop(engine->live);
	runner_stop(engine->runner);
	jobs_free(engine->jobs);
	runner_join(engine->runner, NULL);
	delivery_targets_free(engine->targets);
	controller_handle_destroy(&engine->handle);
	runner_free(engine->runner);
	free(engine);
}
