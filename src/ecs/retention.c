/*
 * Deletes expired objects: a task definition in DELETE_IN_PROGRESS when it is unused, a cluster and
 * a service some time after they became INACTIVE, a client token after a day.
 */
#include <stdio.h>

#include "aws/client_token.h"
#include "control/write.h"
#include "ecs/controllers.h"
#include "ecs/definition/task_definition.h"
#include "ecs/record/cluster.h"
#include "ecs/record/name.h"
#include "ecs/record/task.h"
#include "ecs/service/service_revision.h"

#define INACTIVE_CLUSTER_MS (INT64_C(60) * 60 * 1000)
#define INACTIVE_SERVICE_MS (INT64_C(60) * 60 * 1000)
#define TOKENS_AT_ONCE 500

struct removal {
	const struct store_kind *kind;
	struct span key;
	uint64_t revision; /* that was checked */
	/* Checked again on head, where new users may have appeared. NULL: it cannot be in use. */
	bool (*is_used)(const struct store_view *view, struct span key);
};

/* An object that has changed since the check stays: its change requeues it. */
static int remove_object(struct store_transaction *transaction, void *context, struct err *err)
{
	struct removal *removal = context;
	const struct store_object *object =
		store_get(store_head(transaction), removal->kind, removal->key);

	if (!object || object->revision != removal->revision ||
		(removal->is_used && removal->is_used(store_head(transaction), removal->key)))
		return 0;
	return store_delete(transaction, removal->kind, removal->key, object->revision, err);
}

static int remove_judged(struct controller_call *call, const struct store_object *object,
	bool (*is_used)(const struct store_view *view, struct span key), struct err *err)
{
	struct removal removal = {object->kind, object->key, object->revision, is_used};

	return control_write(call->runner, call->store, remove_object, &removal, NULL, err);
}

/* ---- task definitions ---- */

/* Used by tasks that have not stopped, by deployments and by task sets; their indexes have its key
 * as text. */
static bool definition_is_used(const struct store_view *view, struct span key)
{
	static const struct {
		const struct store_kind *kind;
		int index;
	} users[] = {
		{&task_kind, TASK_BY_DEFINITION},
		{&service_deployment_kind, DEPLOYMENT_BY_DEFINITION},
		{&task_set_kind, TASK_SET_BY_DEFINITION},
	};

	for (size_t i = 0; i < LENGTH(users); i++)
		if (store_count(view, users[i].kind, users[i].index, key, true) > 0)
			return true;
	return false;
}

static int reconcile_definition(struct controller_call *call, struct span key, struct err *err)
{
	_view_ struct store_view *view = store_view_open(call->store);
	const struct store_object *definition = store_get(view, &task_definition_kind, key);

	if (!definition || task_definition_facts(definition)->status != TASK_DEFINITION_DELETING ||
		definition_is_used(view, key))
		return 0;
	return remove_judged(call, definition, definition_is_used, err);
}

/* Adds the key of a definition that an object in the same account and region uses. */
static void add_definition(struct controller_keys *keys, struct span user, struct span family,
	int64_t revision)
{
	char text[STORE_KEY_MAX];
	struct span name = aws_name_of_key(user);
	int length = snprintf(text, sizeof(text), "%.*s%.*s %010lld", (int)(name.data - user.data),
		user.data, SPAN_ARGS(family), (long long)revision);

	if (length > 0 && (size_t)length < sizeof(text))
		controller_keys_add(keys, (struct span){text, (size_t)length});
}

/* A task or deployment that ended may have been the last user of its definition. */
static void map_task(const struct store_change *change, void *context, struct controller_keys *keys)
{
	const struct store_object *task = change->after ? change->after : change->before;
	const struct task_facts *facts = task_facts(task);

	(void)context;
	if (!change->after || facts->last >= TASK_STOPPED)
		add_definition(keys, task->key, facts->family, facts->revision);
}

static void map_deployment(const struct store_change *change, void *context,
	struct controller_keys *keys)
{
	const struct store_object *deployment = change->after ? change->after : change->before;
	const struct service_deployment_facts *facts = service_deployment_facts(deployment);

	(void)context;
	if (!change->after || facts->status == DEPLOYMENT_INACTIVE)
		add_definition(keys, deployment->key, facts->family, facts->revision);
}

static void map_task_set(const struct store_change *change, void *context,
	struct controller_keys *keys)
{
	const struct store_object *task_set = change->before;

	(void)context;
	if (!change->after)
		add_definition(keys, task_set->key, task_set_facts(task_set)->family,
			task_set_facts(task_set)->revision);
}

/* ---- clusters ---- */

static int reconcile_cluster(struct controller_call *call, struct span key, struct err *err)
{
	_view_ struct store_view *view = store_view_open(call->store);
	const struct store_object *cluster = store_get(view, &cluster_kind, key);
	int64_t due;

	if (!cluster || cluster_facts(cluster)->active)
		return 0;
	due = cluster_facts(cluster)->deleted_ms + INACTIVE_CLUSTER_MS;
	if (runner_wall_ms(call->runner) < due) {
		call->again_at_ms = due;
		return 0;
	}
	return remove_judged(call, cluster, NULL, err);
}

/* ---- client tokens ---- */

/* A key is a cluster, so that one deadline serves all its tokens. */
struct token_sweep {
	struct span prefix; /* "ACCOUNT/REGION/CLUSTER/" */
	int64_t now_ms;
};

static const struct store_object *first_token(const struct store_view *view, struct span prefix)
{
	struct store_cursor cursor = {.view = view,
		.kind = &client_token_kind,
		.index = CLIENT_TOKEN_BY_EXPIRY,
		.prefix = prefix};

	return store_next(&cursor);
}

static int64_t token_expiry(const struct store_object *token)
{
	const struct client_token_facts *facts = token->facts;

	return facts->expires_ms;
}

static int remove_tokens(struct store_transaction *transaction, void *context, struct err *err)
{
	struct token_sweep *sweep = context;
	const struct store_object *token;

	for (size_t i = 0; i < TOKENS_AT_ONCE; i++) {
		int code;

		token = first_token(store_head(transaction), sweep->prefix);
		if (!token || token_expiry(token) > sweep->now_ms)
			return 0;
		code = store_delete(transaction, &client_token_kind, token->key, STORE_ANY, err);
		if (code < 0)
			return code;
	}
	return 0;
}

static int reconcile_tokens(struct controller_call *call, struct span key, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	struct token_sweep sweep = {
		arena_format(arena, "%.*s/", SPAN_ARGS(key)), runner_wall_ms(call->runner)};

	for (;;) {
		_view_ struct store_view *view = store_view_open(call->store);
		const struct store_object *token = first_token(view, sweep.prefix);
		int code;

		if (!token)
			return 0;
		if (token_expiry(token) > sweep.now_ms) {
			call->again_at_ms = token_expiry(token);
			return 0;
		}
		code = control_write(call->runner, call->store, remove_tokens, &sweep, NULL, err);
		if (code < 0)
			return code;
	}
}

static void map_token(const struct store_change *change, void *context,
	struct controller_keys *keys)
{
	(void)context;
	if (change->after)
		controller_keys_add(keys, task_cluster_key(change->after->key));
}

/* ---- services ---- */

/* Deletes the service with its components, which nothing refers to any more. */
static int remove_service(struct store_transaction *transaction, void *context, struct err *err)
{
	struct removal *removal = context;
	const struct store_object *service =
		store_get(store_head(transaction), &service_kind, removal->key);
	int code;

	if (!service || service->revision != removal->revision)
		return 0;
	code = service_components_delete(transaction, removal->key, err);
	if (code < 0)
		return code;
	return store_delete(transaction, &service_kind, removal->key, removal->revision, err);
}

static int reconcile_service(struct controller_call *call, struct span key, struct err *err)
{
	_view_ struct store_view *view = store_view_open(call->store);
	const struct store_object *service = store_get(view, &service_kind, key);
	struct removal removal = {.kind = &service_kind, .key = key};
	int64_t due;

	if (!service || service_facts(service)->status != SERVICE_INACTIVE)
		return 0;
	due = service_facts(service)->ended_ms + INACTIVE_SERVICE_MS;
	if (runner_wall_ms(call->runner) < due) {
		call->again_at_ms = due;
		return 0;
	}
	removal.revision = service->revision;
	return control_write(call->runner, call->store, remove_service, &removal, NULL, err);
}

/* ---- the table ---- */

static const struct controller_watch definition_watches[] = {
	{.kind = &task_definition_kind},
	{.kind = &task_kind, .map = map_task},
	{.kind = &service_deployment_kind, .map = map_deployment},
	{.kind = &task_set_kind, .map = map_task_set},
};
static const struct controller_watch cluster_watches[] = {{.kind = &cluster_kind}};
static const struct controller_watch service_watches[] = {{.kind = &service_kind}};
static const struct controller_watch token_watches[] = {
	{.kind = &client_token_kind, .map = map_token}};

const struct controller_row ecs_controllers[] = {
	{.name = "task-definition-retention",
		.watches = definition_watches,
		.watch_count = LENGTH(definition_watches),
		.reconcile = reconcile_definition},
	{.name = "cluster-retention",
		.watches = cluster_watches,
		.watch_count = LENGTH(cluster_watches),
		.reconcile = reconcile_cluster},
	{.name = "service-retention",
		.watches = service_watches,
		.watch_count = LENGTH(service_watches),
		.reconcile = reconcile_service},
	{.name = "client-token-retention",
		.watches = token_watches,
		.watch_count = LENGTH(token_watches),
		.reconcile = reconcile_tokens},
};
const size_t ecs_controller_count = LENGTH(ecs_controllers);
