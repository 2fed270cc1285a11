/* See the header. */
#include "pipeline/resync.h"

#include "base/memory.h"
#include "control/write.h"
#include "pipeline/bundle.h"
#include "pipeline/deployments.h"
#include "pipeline/source.h"
#include "pipeline/trigger.h"

struct resync_pass {
	struct random *random;
	struct arena *arena;
	struct span key;
	int64_t now_ms, again_ms;
};

/* The latest deployment that was no plan; NULL. */
static const struct store_object *find_latest(const struct store_view *view, struct span key,
	struct arena *arena)
{
	struct store_cursor cursor = {.view = view,
		.kind = &deployment_kind,
		.index = DEPLOYMENT_BY_NUMBER,
		.prefix = arena_format(arena, "%.*s/", SPAN_ARGS(key)),
		.descending = true};
	const struct store_object *object;

	while ((object = store_next(&cursor))) {
		if (deployment_facts(object)->trigger != DEPLOYMENT_TRIGGER_PLAN)
			return object;
	}
	return NULL;
}

/* A deployment runs or waits. */
static bool is_deploying(const struct store_view *view, struct span key, struct arena *arena)
{
	struct store_cursor cursor = {.view = view,
		.kind = &deployment_kind,
		.index = DEPLOYMENT_OPEN,
		.prefix = arena_format(arena, "%.*s/", SPAN_ARGS(key))};
	const struct store_object *object;

	while ((object = store_next(&cursor))) {
		if (deployment_facts(object)->trigger != DEPLOYMENT_TRIGGER_PLAN)
			return true;
	}
	return false;
}

/* The trigger of the files that are deployed. -ENOENT: there are none. */
static int read_trigger(const struct store_view *view, const struct store_object *application,
	struct arena *arena, struct application_trigger *ret_trigger, struct err *err)
{
	struct deployment_source source;
	struct application *read;
	struct span text;
	int code = deployment_source_read(view,
		deployment_key(arena, application->key, application_facts(application)->succeeded),
		arena, &source, err);

	if (code < 0)
		return code;
	text = json_text(json_get_span(source.files, source.application_file));
	if (!text.data)
		return err_set(err, -ENOENT, "the application file is missing");
	code = application_load(source.application_file, text, arena, &read, err);
	if (code >= 0)
		*ret_trigger = read->trigger;
	return code;
}

/* On a view or on head. True: a deployment starts; otherwise *ret_again_ms, 0: when something changes. */
static bool must_deploy(const struct resync_pass *pass, const struct store_view *view,
	struct span *ret_token, int64_t *ret_again_ms)
{
	const struct store_object *application = store_get(view, &application_kind, pass->key),
				  *latest = find_latest(view, pass->key, pass->arena);
	struct application_trigger trigger;
	bool is_busy = is_deploying(view, pass->key, pass->arena);
	struct err ignored = {0};
	int64_t last_ms;

	*ret_again_ms = 0;
	if (!application || !latest || application_facts(application)->is_deleting ||
		application_find_sync(view, pass->key) != APPLICATION_OUT_OF_SYNC ||
		read_trigger(view, application, pass->arena, &trigger, &ignored) < 0)
		return false;
	last_ms = deployment_facts(latest)->ended_ms;
	*ret_token =
		arena_format(pass->arena, "resync-%.*s", SPAN_ARGS(deployment_facts(latest)->id));
	if (trigger_on_out_of_sync(&trigger, true, is_busy, last_ms, pass->now_ms))
		return true;
	if (trigger.on_out_of_sync && !is_busy)
		*ret_again_ms = last_ms + trigger.out_of_sync_window_ms;
	return false;
}

static int start_deployment(struct store_transaction *transaction, void *context, struct err *err)
{
	struct resync_pass *pass = context;
	struct deployment_request request = {.application = pass->key,
		.trigger = DEPLOYMENT_TRIGGER_OUT_OF_SYNC,
		.application_file = SPAN(""),
		.commit = SPAN(""),
		.message = SPAN(""),
		.flow = SPAN(""),
		.created_by = SPAN(""),
		.region = SPAN(""),
		.target = SPAN(""),
		.role = SPAN(""),
		.now_ms = pass->now_ms,
		.random = pass->random};
	struct span id;
	int code;

	if (!must_deploy(pass, store_head(transaction), &request.token, &pass->again_ms))
		return 0;
	code = deployment_start(transaction, &request, &id, err);
	return code < 0 ? code
			: deployment_log(transaction, deployment_key(pass->arena, pass->key, id),
				  SPAN(""),
				  SPAN("the service differs from the last successful deployment"),
				  pass->now_ms, err);
}

static int reconcile(struct controller_call *call, struct span key, struct err *err)
{
	_view_ struct store_view *view = store_view_open(call->store);
	_arena_ struct arena *arena = arena_new(0);
	struct resync_pass pass = {.random = call->context,
		.arena = arena,
		.key = key,
		.now_ms = runner_wall_ms(call->runner)};
	struct span token;
	int code = 0;

	if (must_deploy(&pass, view, &token, &pass.again_ms))
		code = control_write(call->runner, call->store, start_deployment, &pass, NULL, err);
	call->again_at_ms = pass.again_ms;
	return code;
}

static const struct controller_watch watches[] = {
	{.kind = &live_state_kind}, {.kind = &application_kind}};

static const struct controller_row row = {
	.name = "out of sync",
	.watches = watches,
	.watch_count = LENGTH(watches),
	.reconcile = reconcile,
};

int resync_start(const struct resync_config *config, struct controller **ret_controller,
	struct err *err)
{
	struct controller_config controller = {.runner = config->runner,
		.store = config->store,
		.context = config->random,
		.report = config->report,
		.report_context = config->report_context};

	return controller_start(&row, &controller, ret_controller, err);
}
