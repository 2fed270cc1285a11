/* See the header. */
#include "environment/model/deployment_states.h"

#include "base/memory.h"
#include "environment/model/matching.h"

static const struct store_object *find(const struct deployment_scope *scope, struct span id)
{
	return store_get(store_head(scope->transaction), &environment_deployment_kind,
		environment_child_key(store_transaction_arena(scope->transaction),
			scope->environment, id));
}

static int put(const struct deployment_scope *scope, struct span api,
	const struct environment_deployment_facts *facts, uint64_t expected, struct err *err)
{
	return environment_put(scope->transaction, &environment_deployment_kind,
		environment_child_key(store_transaction_arena(scope->transaction),
			scope->environment, facts->id),
		api, facts, expected, err);
}

/* And writes the notice for webhooks. */
static int put_reported(const struct deployment_scope *scope, struct span api,
	const struct environment_deployment_facts *facts, uint64_t expected, struct err *err)
{
	int code = put(scope, api, facts, expected, err);

	if (code < 0)
		return code;
	return environment_notice_deployment(scope->transaction, scope->webhooks,
		scope->environment, scope->facts, facts->id, scope->now_ms, err);
}

static int drop_oldest(const struct deployment_scope *scope, struct err *err)
{
	struct span prefix = arena_format(store_transaction_arena(scope->transaction), "%.*s/",
		SPAN_ARGS(scope->environment));
	struct store_cursor cursor = {.view = store_head(scope->transaction),
		.kind = &environment_deployment_kind,
		.index = ENVIRONMENT_DEPLOYMENT_BY_NUMBER,
		.prefix = prefix};
	const struct store_object *oldest;

	if (store_count(cursor.view, cursor.kind, cursor.index, prefix, false) < DEPLOYMENTS_KEPT)
		return 0;
	oldest = store_next(&cursor);
	if (!oldest ||
		!environment_deployment_has_ended(environment_deployment_facts(oldest)->status))
		return 0;
	return store_delete(scope->transaction, oldest->kind, oldest->key, oldest->revision, err);
}

int deployment_add(const struct deployment_scope *scope, struct environment_deployment_facts *facts,
	struct err *err)
{
	int code = drop_oldest(scope, err);

	if (code < 0)
		return code;
	facts->environment = scope->environment;
	facts->number = ++scope->facts->deployment_count;
	facts->status = ENVIRONMENT_DEPLOYMENT_pending;
	facts->created_ms = scope->now_ms;
	return put_reported(scope, SPAN(""), facts, STORE_ABSENT, err);
}

/* The deployments and versions that the environment names. */
static void follow(const struct deployment_scope *scope,
	const struct environment_deployment_facts *facts)
{
	struct environment_facts *environment = scope->facts;

	if (environment_deployment_has_ended(facts->status) &&
		span_equal(environment->in_progress, facts->id))
		environment->in_progress = SPAN("");
	if (facts->status != ENVIRONMENT_DEPLOYMENT_pending &&
		span_equal(environment->pending, facts->id))
		environment->pending = SPAN("");
	if (facts->status == ENVIRONMENT_DEPLOYMENT_completed &&
		facts->type == ENVIRONMENT_DEPLOYMENT_TYPE_user &&
		!span_equal(environment->completed, facts->version)) {
		environment->previous = environment->completed;
		environment->completed = facts->version;
	}
	environment->updated_ms = scope->now_ms;
}

int deployment_move(const struct deployment_scope *scope, struct span id,
	enum environment_deployment_status status, struct span reason, struct err *err)
{
	const struct store_object *object = find(scope, id);
	struct environment_deployment_facts facts;

	if (!object)
		return err_set(err, -ENOENT, "there is no deployment %.*s", SPAN_ARGS(id));
	facts = *environment_deployment_facts(object);
	if (!environment_deployment_may_become(facts.status, status))
		return err_set(err, -EINVAL, "deployment %.*s is %s and cannot become %s",
			SPAN_ARGS(id), environment_deployment_status_name(facts.status),
			environment_deployment_status_name(status));
	if (facts.status == status && span_equal(facts.reason, reason))
		return 0;
	facts.reason = reason;
	/* Webhooks get a notice of each status; a status may have changing reasons. */
	if (facts.status == status)
		return put(scope, object->api, &facts, object->revision, err);
	facts.status = status;
	if (environment_deployment_has_ended(status))
		facts.ended_ms = scope->now_ms;
	follow(scope, &facts);
	return put_reported(scope, object->api, &facts, object->revision, err);
}

/* The cluster becomes the first one of the environment; a cluster is removed when it has no tasks any more. */
static void put_place_first(const struct deployment_scope *scope, struct span cluster_ref)
{
	struct arena *arena = store_transaction_arena(scope->transaction);
	struct span rest = scope->facts->cluster_refs, created = cluster_ref, part;

	while (span_next_part(&rest, ' ', &part)) {
		if (!span_equal(part, cluster_ref))
			created = arena_format(arena, "%.*s %.*s", SPAN_ARGS(created),
				SPAN_ARGS(part));
	}
	scope->facts->cluster_refs = created;
}

int deployment_begin(const struct deployment_scope *scope, struct span id, struct err *err)
{
	struct arena *arena = store_transaction_arena(scope->transaction);
	const struct store_object *object = find(scope, id), *version;
	struct environment_deployment_facts facts;

	if (!object)
		return err_set(err, -ENOENT, "there is no deployment %.*s", SPAN_ARGS(id));
	facts = *environment_deployment_facts(object);
	if (facts.status != ENVIRONMENT_DEPLOYMENT_pending)
		return err_set(err, -EINVAL, "deployment %.*s is %s and cannot begin",
			SPAN_ARGS(id), environment_deployment_status_name(facts.status));
	if (scope->facts->in_progress.length > 0)
		return err_set(err, -EBUSY, "deployment %.*s is in progress",
			SPAN_ARGS(scope->facts->in_progress));
	version = store_get(store_head(scope->transaction), &environment_version_kind,
		environment_child_key(arena, scope->environment, facts.version));
	if (!version)
		return err_set(err, -ENOENT, "there is no version %.*s", SPAN_ARGS(facts.version));
	facts.status = ENVIRONMENT_DEPLOYMENT_in_progress;
	facts.started_ms = scope->now_ms;
	if (!span_equal(scope->facts->target, facts.version))
		facts.previous = scope->facts->target;
	follow(scope, &facts);
	scope->facts->in_progress = facts.id;
	scope->facts->target = facts.version;
	scope->facts->status = ENVIRONMENT_active;
	if (facts.type == ENVIRONMENT_DEPLOYMENT_TYPE_user)
		scope->facts->active_ms = scope->now_ms;
	put_place_first(scope, environment_version_facts(version)->cluster_ref);
	return put_reported(scope, object->api, &facts, object->revision, err);
}

/* ---- documents ---- */

const struct store_object *environment_deployment_of(const struct store_view *view,
	struct arena *arena, struct span environment_key, struct span id)
{
	if (id.length == 0)
		return NULL;
	return store_get(view, &environment_deployment_kind,
		environment_child_key(arena, environment_key, id));
}

/* The state of the canary; NULL: the deployment has none, or does not wait for it. */
static struct json *canary_document(struct arena *arena,
	const struct environment_version_facts *version,
	const struct environment_deployment_facts *deployment)
{
	bool bakes = deployment->canary_ms > 0 && !deployment->canary_proved;
	bool ended = environment_deployment_has_ended(deployment->status);
	struct json *created;

	if (!version || version->canary_instances == 0 || deployment->rollback ||
		deployment->type != ENVIRONMENT_DEPLOYMENT_TYPE_user ||
		deployment->started_ms == 0 || (ended && !deployment->canary_proved))
		return NULL;
	created = json_new_object(arena);
	json_set_string(arena, created, "status",
		deployment->canary_proved ? SPAN("proved")
		: bakes                   ? SPAN("baking")
					  : SPAN("launching"));
	json_set_integer(arena, created, "instances", version->canary_instances);
	if (bakes)
		json_set_time(arena, created, "bakesUntil",
			deployment->canary_ms + version->canary_bake_ms);
	return created;
}

struct json *environment_deployment_document(const struct store_view *view, struct arena *arena,
	const struct store_object *deployment)
{
	const struct environment_deployment_facts *facts = environment_deployment_facts(deployment);
	const struct store_object *version = store_get(view, &environment_version_kind,
		environment_child_key(arena, facts->environment, facts->version));
	struct json *created = json_new_object(arena), *kept;

	json_set_string(arena, created, "deploymentId", facts->id);
	json_set_string(arena, created, "environmentName",
		environment_name_of_key(facts->environment));
	json_set_string(arena, created, "environmentVersion", facts->version);
	if (facts->previous.length > 0)
		json_set_string(arena, created, "previousVersion", facts->previous);
	if (version)
		json_set_string(arena, created, "taskDefinition",
			environment_version_facts(version)->task_definition);
	if (facts->created_by.length > 0)
		json_set_string(arena, created, "createdBy", facts->created_by);
	json_set_string(arena, created, "deploymentType",
		span_of(environment_deployment_type_name(facts->type)));
	json_set_string(arena, created, "status",
		span_of(environment_deployment_status_name(facts->status)));
	if (facts->rollback)
		json_set_bool(arena, created, "rollback", true);
	if (facts->reason.length > 0)
		json_set_string(arena, created, "statusReason", facts->reason);
	json_set_time(arena, created, "createdAt", facts->created_ms);
	if (facts->started_ms)
		json_set_time(arena, created, "startedAt", facts->started_ms);
	if (facts->ended_ms)
		json_set_time(arena, created, "endedAt", facts->ended_ms);
	json_set_integer(arena, created, "completed", facts->done);
	json_set_integer(arena, created, "total", facts->total);
	json_set(arena, created, "canary",
		canary_document(arena, version ? environment_version_facts(version) : NULL, facts));
	if (json_parse(deployment->api, arena, &kept, NULL) == 0)
		json_set(arena, created, "failedInstances", json_get(kept, "failedInstances"));
	return created;
}
