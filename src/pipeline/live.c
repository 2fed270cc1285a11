/* The controller of live states; see the header. */
#include "pipeline/live.h"

#include <stdio.h>

#include "base/lock.h"
#include "base/map.h"
#include "base/memory.h"
#include "cloudmap/cloudmap.h"
#include "control/controller_handle.h"
#include "ecs/record/service_kind.h"
#include "pipeline/notices.h"

#define WORKERS 2
#define ACCOUNT_WORKERS 1
#define RESYNC_MS 300000
#define CANARY_SUFFIX "-canary"

/*
 * Which application a service of this server belongs to, and when an application was read: in memory, made again by the
 * readings after a start. A change of the store finds the application here without a view.
 */
struct watched {
	char *resources[3]; /* keys in live->by_resource; NULL */
	int64_t read_ms;    /* wall time; 0: never */
	uint64_t
		revision; /* of the application then: it changes when a deployment begins or ends */
	int64_t failing_ms; /* since when readings fail; 0 */
	bool is_held;       /* a deployment keeps the share of its canary, or its old primary */
	char *application;
};

struct live {
	struct engine *engine;
	const struct engine_config *config;
	struct controller *controller;
	struct controller_handle handle;
	struct lock lock;
	struct map by_application, by_resource; /* struct watched; in the second not owned */
};

/* ---- watches ---- */

static void forget_resources(struct live *live, struct watched *watched)
{
	for (size_t i = 0; i < LENGTH(watched->resources); i++) {
		if (watched->resources[i] &&
			map_get(&live->by_resource, span_of(watched->resources[i])) == watched)
			map_remove(&live->by_resource, span_of(watched->resources[i]));
		free(watched->resources[i]);
		watched->resources[i] = NULL;
	}
}

static void free_watched(struct live *live, struct watched *watched)
{
	if (!watched)
		return;
	forget_resources(live, watched);
	free(watched->application);
	free(watched);
}

static void forget(struct live *live, struct span application)
{
	lock_take(&live->lock);
	free_watched(live, map_remove(&live->by_application, application));
	lock_release(&live->lock);
}

/* With the lock. */
static struct watched *find_watched(struct live *live, struct span application)
{
	struct watched *watched = map_get(&live->by_application, application);

	if (watched)
		return watched;
	watched = memory_allocate(sizeof(*watched));
	watched->application = memory_format("%.*s", SPAN_ARGS(application));
	map_put(&live->by_application, application, watched);
	return watched;
}

/* Services of this server report their changes; the key of the Cloud Map service begins those of its instances. */
static void watch_service(struct live *live, const struct deployment_pass *pass)
{
	const struct deployment_facts *facts = &pass->deployment.facts;
	struct span account = application_facts(pass->application)->account,
		    registry = describe_registry_id(pass);
	struct watched *watched;

	lock_take(&live->lock);
	watched = find_watched(live, pass->key);
	forget_resources(live, watched);
	watched->is_held =
		(pass->application_facts.current.length > 0 && facts->canary_percent > 0) ||
		pass->application_facts.kept.length > 0;
	if (pass->bundle.has_service && !pass->outcall.is_remote) {
		for (size_t i = 0; i < 2; i++)
			watched->resources[i] = memory_format("%.*s/%.*s/%.*s/%.*s%s",
				SPAN_ARGS(account), SPAN_ARGS(facts->region),
				SPAN_ARGS(pass->cluster), SPAN_ARGS(pass->bundle.service.name),
				i == 0 ? "" : CANARY_SUFFIX);
		if (registry.length > 0)
			watched->resources[2] = memory_format("%.*s/%.*s/%.*s", SPAN_ARGS(account),
				SPAN_ARGS(facts->region), SPAN_ARGS(registry));
		for (size_t i = 0; i < LENGTH(watched->resources) && watched->resources[i]; i++)
			map_put(&live->by_resource, span_of(watched->resources[i]), watched);
	}
	lock_release(&live->lock);
}

/* When the application may be read again; 0: now, and it counts as read. */
static int64_t wait_until(struct live *live, const struct store_object *application, int64_t now_ms)
{
	struct watched *watched;
	int64_t at_ms;

	lock_take(&live->lock);
	watched = find_watched(live, application->key);
	/* A clock that was set back does not delay it. */
	at_ms = watched->read_ms > now_ms || watched->revision != application->revision
			? 0
			: watched->read_ms + LIVE_LEAST_MS;
	if (at_ms <= now_ms) {
		watched->read_ms = now_ms;
		watched->revision = application->revision;
		at_ms = 0;
	}
	lock_release(&live->lock);
	return at_ms;
}

/* Since when readings have failed; 0 if this one succeeded. */
static int64_t note_result(struct live *live, struct span application, bool failed, int64_t now_ms)
{
	struct watched *watched;
	int64_t since_ms;

	lock_take(&live->lock);
	watched = find_watched(live, application);
	if (!failed)
		watched->failing_ms = 0;
	else if (watched->failing_ms == 0)
		watched->failing_ms = now_ms;
	since_ms = watched->failing_ms;
	lock_release(&live->lock);
	return since_ms;
}

/* ---- changes of the store ---- */

static void add_resource(struct live *live, struct span resource, bool only_held,
	struct controller_keys *keys)
{
	const struct watched *watched;

	lock_take(&live->lock);
	watched = map_get(&live->by_resource, resource);
	if (watched && (watched->is_held || !only_held))
		controller_keys_add(keys, span_of(watched->application));
	lock_release(&live->lock);
}

/* The first parts of a key. */
static struct span first_parts(struct span key, unsigned count)
{
	for (size_t i = 0; i < key.length; i++) {
		if (key.data[i] == '/' && --count == 0)
			return (struct span){key.data, i};
	}
	return key;
}

static const struct store_object *changed_object(const struct store_change *change)
{
	return change->after ? change->after : change->before;
}

static void map_deployment(const struct store_change *change, void *context,
	struct controller_keys *keys)
{
	(void)context;
	controller_keys_add(keys, application_of_key(changed_object(change)->key));
}

/* Services and task sets: "ACCOUNT/REGION/CLUSTER/NAME" and what follows. */
static void map_service(const struct store_change *change, void *context,
	struct controller_keys *keys)
{
	add_resource(context, first_parts(changed_object(change)->key, 4), false, keys);
}

static void map_instance(const struct store_change *change, void *context,
	struct controller_keys *keys)
{
	add_resource(context, first_parts(changed_object(change)->key, 3), false, keys);
}

static void add_task(struct live *live, const struct store_change *change, bool only_held,
	struct controller_keys *keys)
{
	const struct store_object *task = changed_object(change);
	struct span service = task_facts(task)->service, cluster = task_cluster_key(task->key);
	char key[STORE_KEY_MAX];
	int length;

	if (service.length == 0)
		return;
	length = snprintf(key, sizeof(key), "%.*s/%.*s", SPAN_ARGS(cluster), SPAN_ARGS(service));
	if (length > 0 && (size_t)length < sizeof(key))
		add_resource(live, (struct span){key, (size_t)length}, only_held, keys);
}

static void map_task(const struct store_change *change, void *context, struct controller_keys *keys)
{
	add_task(context, change, false, keys);
}

void live_map_held_task(struct live *live, const struct store_change *change,
	struct controller_keys *keys)
{
	add_task(live, change, true, keys);
}

/* ---- reading ---- */

static int read_definition(struct deployment_pass *pass, struct span arn,
	const struct json **ret_definition, struct err *err)
{
	struct json *request = json_new_object(pass->arena), *answer = NULL;
	int code;

	if (!arn.data || arn.length == 0)
		return 0;
	json_set_string(pass->arena, request, "taskDefinition", arn);
	code = pass_read(pass, ECS, "DescribeTaskDefinition", request, &answer, err);
	*ret_definition = json_get(answer, "taskDefinition");
	return code;
}

/* Task sets of controller EXTERNAL, or the second service of controller ECS. */
static int read_variant(struct live_reading *reading, struct err *err)
{
	struct deployment_pass *pass = reading->pass;
	struct span controller =
			    json_text(json_path(reading->service, "deploymentController.type")),
		    definition, name;
	const struct json *canary = NULL;
	struct json *tasks = NULL;
	int code;

	if (controller.data && span_is(controller, "EXTERNAL")) {
		code = describe_sets(pass, &reading->sets, err);
		definition = json_get_text(live_primary_set(reading->sets), "taskDefinition");
		return code < 0 ? code
				: read_definition(pass, definition, &reading->definition, err);
	}
	name = arena_format(pass->arena, "%.*s" CANARY_SUFFIX,
		SPAN_ARGS(pass->bundle.service.name));
	code = describe_service(pass, name, &canary, err);
	if (code >= 0 && canary && describe_is_ours(pass, canary)) {
		reading->canary = canary;
		code = describe_tasks(pass, name, "RUNNING", &tasks, err);
		JSON_EACH_ITEM (tasks, task)
			json_append(pass->arena, reading->tasks, task);
	}
	return code < 0 ? code
			: read_definition(pass, json_get_text(reading->service, "taskDefinition"),
				  &reading->definition, err);
}

static int read_traffic(struct live_reading *reading, struct err *err)
{
	struct deployment_pass *pass = reading->pass;
	const struct application_input *input = &pass->bundle.application->input;
	int code = describe_names(pass, &reading->names, err);

	if (code >= 0)
		code = describe_balancers(pass, &reading->balancers, err);
	if (code >= 0 && (input->access & ACCESS_ELB))
		code = describe_targets(pass, input->primary_group.arn, reading->targets, err);
	if (code >= 0 && (input->access & ACCESS_ELB))
		code = describe_targets(pass, input->canary_group.arn, reading->targets, err);
	return code;
}

static int read_service(struct live_reading *reading, struct err *err)
{
	struct deployment_pass *pass = reading->pass;
	int code = pass_open_target(pass, err);

	reading->tasks = json_new_array(pass->arena);
	reading->targets = json_new_array(pass->arena);
	if (code >= 0)
		code = describe_service(pass, pass->bundle.service.name, &reading->service, err);
	if (code < 0 || !reading->service)
		return code;
	code = describe_tasks(pass, pass->bundle.service.name, "RUNNING", &reading->tasks, err);
	if (code >= 0)
		code = read_variant(reading, err);
	return code < 0 ? code : read_traffic(reading, err);
}

/* ---- the deployment that says what there should be ---- */

static const struct store_object *find_deployment(struct deployment_pass *pass)
{
	const struct application_facts *facts = &pass->application_facts;
	struct store_cursor cursor = {.view = pass->view,
		.kind = &deployment_kind,
		.index = DEPLOYMENT_BY_NUMBER,
		.prefix = arena_format(pass->arena, "%.*s/", SPAN_ARGS(pass->key)),
		.descending = true};
	struct span id = facts->current.length > 0 ? facts->current : facts->succeeded;
	const struct store_object *object;

	if (id.length > 0)
		return store_get(pass->view, &deployment_kind,
			deployment_key(pass->arena, pass->key, id));
	/* Without any that succeeded, what the latest one has left. */
	while ((object = store_next(&cursor))) {
		if (deployment_facts(object)->trigger != DEPLOYMENT_TRIGGER_PLAN)
			return object;
	}
	return NULL;
}

static int load_deployment(struct deployment_pass *pass, const struct store_object *object,
	struct err *err)
{
	int code = deployment_read(object, pass->arena, &pass->deployment, err);

	if (code >= 0)
		code = deployment_source_read(pass->view, object->key, pass->arena, &pass->source,
			err);
	return code < 0 ? code
			: bundle_load(pass->source.files, pass->source.application_file,
				  pass->arena, &pass->bundle, err);
}

/* ---- storing ---- */

struct outcome {
	struct deployment_pass *pass;
	struct live_facts facts;
	struct json *document; /* without the time */
	struct span text;
};

static int put_state(struct store_transaction *transaction, void *context, struct err *err)
{
	const struct outcome *outcome = context;
	struct span key = outcome->pass->key;
	const struct store_object *stored =
		store_get(store_head(transaction), &live_state_kind, key);
	enum application_sync before = stored ? live_facts(stored)->sync : APPLICATION_SYNC_UNKNOWN;
	int code;

	if (!store_get(store_head(transaction), &application_kind, key))
		return -ESTALE;
	code = live_state_put(transaction, key, outcome->text, &outcome->facts, err);
	return code < 0
		       ? code
		       : notices_add_sync(transaction, outcome->pass->config->webhooks, key, before,
				 outcome->facts.sync, json_get(outcome->document, "differences"),
				 outcome->pass->now_ms, err);
}

/* The stored document without its time, as text; "": there is none. */
static struct span stored_text(const struct deployment_pass *pass)
{
	const struct store_object *stored = store_get(pass->view, &live_state_kind, pass->key);
	struct json *document;

	if (!stored || json_parse(stored->api, pass->arena, &document, NULL) < 0)
		return SPAN("");
	document = json_copy_object(pass->arena, document);
	json_unset(document, "observedAt");
	return json_to_text(document, pass->arena);
}

static int store_outcome(struct outcome *outcome, struct err *err)
{
	struct deployment_pass *pass = outcome->pass;
	const struct store_object *stored = store_get(pass->view, &live_state_kind, pass->key);
	int code;

	if (stored && live_facts(stored)->sync == outcome->facts.sync &&
		span_equal(live_facts(stored)->deployment, outcome->facts.deployment) &&
		span_equal(stored_text(pass), json_to_text(outcome->document, pass->arena)))
		return 0;
	json_set_time(pass->arena, outcome->document, "observedAt", pass->now_ms);
	outcome->text = json_to_text(outcome->document, pass->arena);
	code = claims_write(pass->claims, &pass->claim, put_state, outcome, NULL, err);
	return code == -ESTALE ? 0 : code; /* deleted, or of another server now */
}

/* ---- the pass ---- */

static void describe_state(struct outcome *outcome, struct live_reading *reading,
	int64_t *ret_again_ms)
{
	struct deployment_pass *pass = outcome->pass;
	struct json *drift = NULL;

	if (pass->bundle.has_service && !reading->is_deploying &&
		pass->application_facts.succeeded.length > 0)
		drift = live_drift(reading, ret_again_ms);
	if (reading->service) {
		json_set(pass->arena, outcome->document, "service", live_tree(reading));
		json_set_string(pass->arena, outcome->document, "health",
			span_of(live_health(reading)));
	}
	if (json_array_count(drift) > 0)
		json_set(pass->arena, outcome->document, "differences", drift);
	outcome->facts.sync = reading->is_deploying ? APPLICATION_DEPLOYING
			      : pass->application_facts.succeeded.length == 0
				      ? APPLICATION_SYNC_UNKNOWN
			      : json_array_count(drift) > 0 ? APPLICATION_OUT_OF_SYNC
							    : APPLICATION_SYNCED;
}

/* Short failures keep the state as it was. */
static int read_failed(struct live *live, struct outcome *outcome, int code, struct err *err)
{
	struct deployment_pass *pass = outcome->pass;
	int64_t since_ms = note_result(live, pass->key, true, pass->now_ms);
	struct json *document;
	const struct store_object *stored = store_get(pass->view, &live_state_kind, pass->key);

	if (code == -ECANCELED)
		return code;
	pass_again_at(pass, pass->now_ms + LIVE_POLLS_IDLE * PASS_POLL_REMOTE_MS);
	if (stored && pass->now_ms - since_ms < LIVE_UNREACHABLE_MS)
		return 0;
	if (stored && json_parse(stored->api, pass->arena, &document, NULL) == 0)
		outcome->document = json_copy_object(pass->arena, document);
	json_unset(outcome->document, "observedAt");
	json_unset(outcome->document, "differences");
	json_set_string(pass->arena, outcome->document, "error",
		code == -EREMOTEIO ? arena_format(pass->arena, "%s: %s", pass->failure.type,
					     pass->failure.message)
				   : arena_copy_span(pass->arena, span_of(err->message)));
	outcome->facts.sync = APPLICATION_SYNC_UNKNOWN;
	return store_outcome(outcome, err);
}

static int64_t poll_ms(const struct deployment_pass *pass, bool is_deploying)
{
	if (is_deploying)
		return pass->poll_ms;
	if (pass->outcall.is_remote)
		return LIVE_POLLS_IDLE * pass->poll_ms;
	return pass->bundle.application->input.access & ACCESS_ELB ? LIVE_POLL_BALANCED_MS : 0;
}

static int read_state(struct live *live, struct deployment_pass *pass, struct err *err)
{
	const struct store_object *deployment = find_deployment(pass);
	struct live_reading reading = {
		.pass = pass, .is_deploying = pass->application_facts.current.length > 0};
	struct outcome outcome = {.pass = pass,
		.facts = {.deployment = pass->application_facts.succeeded},
		.document = json_new_object(pass->arena)};
	int64_t again_ms = 0;
	int code = deployment ? load_deployment(pass, deployment, err) : 0;

	if (!deployment)
		return 0;
	if (code >= 0 && pass->bundle.has_service)
		code = read_service(&reading, err);
	if (code < 0)
		return read_failed(live, &outcome, code, err);
	note_result(live, pass->key, false, pass->now_ms);
	watch_service(live, pass);
	describe_state(&outcome, &reading, &again_ms);
	if (again_ms > 0)
		pass_again_at(pass, again_ms);
	again_ms = pass->bundle.has_service ? poll_ms(pass, reading.is_deploying) : 0;
	if (again_ms > 0)
		pass_again_at(pass, pass->now_ms + again_ms);
	return store_outcome(&outcome, err);
}

static int reconcile(struct controller_call *call, struct span key, struct err *err)
{
	struct live *live = call->context;
	_view_ struct store_view *view = store_view_open(call->store);
	_arena_ struct arena *arena = arena_new(0);
	struct deployment_pass pass = {.engine = live->engine,
		.config = live->config,
		.claims = live->config->claims,
		.runner = call->runner,
		.store = call->store,
		.view = view,
		.arena = arena,
		.now_ms = runner_wall_ms(call->runner),
		.key = key,
		.application = store_get(view, &application_kind, key)};
	int code;

	if (!pass.application || application_facts(pass.application)->is_deleting) {
		forget(live, key);
		return 0;
	}
	call->again_at_ms = wait_until(live, pass.application, pass.now_ms);
	if (call->again_at_ms > 0)
		return 0;
	pass.application_facts = *application_facts(pass.application);
	code = claims_acquire(pass.claims,
		arena_format(arena, ENGINE_CLAIM_PREFIX "%.*s", SPAN_ARGS(key)), &pass.claim, err);
	if (code == -EBUSY)
		return 0; /* the server with the claim reads it */
	if (code >= 0)
		code = read_state(live, &pass, err);
	call->again_at_ms = pass.again_ms;
	return code;
}

/* ---- the controller ---- */

static const struct controller_watch watches[] = {
	{.kind = &application_kind},
	{.kind = &deployment_kind, .map = map_deployment},
	{.kind = &service_kind, .map = map_service},
	{.kind = &task_set_kind, .map = map_service},
	{.kind = &task_kind, .map = map_task},
	{.kind = &cloudmap_instance_kind, .map = map_instance},
};

static const struct controller_row row = {
	.name = "application-states",
	.watches = watches,
	.watch_count = LENGTH(watches),
	.reconcile = reconcile,
	.workers = WORKERS,
	.resync_ms = RESYNC_MS,
};

void live_claim_freed(struct live *live, struct span application)
{
	struct controller *controller = controller_handle_enter(&live->handle);

	if (!controller)
		return;
	controller_add(controller, application);
	controller_handle_leave(&live->handle);
}

int live_start(struct engine *engine, const struct engine_config *config, struct runner *runner,
	struct live **ret_live, struct err *err)
{
	struct live *live = memory_allocate(sizeof(*live));
	struct controller_config controller = {.runner = runner,
		.store = config->store,
		.context = live,
		.queue = {.group_by = '/', .group_most = ACCOUNT_WORKERS},
		.report = config->report,
		.report_context = config->report_context};
	int code;

	live->engine = engine;
	live->config = config;
	lock_init(&live->lock);
	controller_handle_init(&live->handle, runner, "application-states");
	code = controller_start(&row, &controller, &live->controller, err);
	if (code < 0) {
		live_stop(live);
		return code;
	}
	controller_handle_open(&live->handle, live->controller);
	*ret_live = live;
	return 0;
}

void live_stop(struct live *live)
{
	if (!live)
		return;
	controller_handle_close(&live->handle); /* and stops the controller */
	map_clear(&live->by_resource);
	MAP_EACH (&live->by_application, entry)
		free_watched(live, entry->value);
	map_clear(&live->by_application);
	controller_handle_destroy(&live->handle);
	lock_destroy(&live->lock);
	free(live);
}
