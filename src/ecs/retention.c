/*
 * What is deleted goes by itself: a task definition in DELETE_IN_PROGRESS when nothing uses it any more,
 * a cluster some time after it became INACTIVE.
 */
#include "control/write.h"
#include "ecs/cluster.h"
#include "ecs/controllers.h"
#include "ecs/task_definition.h"

#define INACTIVE_CLUSTER_MS (INT64_C(60) * 60 * 1000)

struct removal {
	const struct store_kind *kind;
	struct span key;
	uint64_t revision; /* that was judged */
};

/* An object that has changed since it was judged stays: its change brings it here again. */
static int remove_object(struct store_transaction *transaction, void *context, struct err *err)
{
	struct removal *removal = context;
	const struct store_object *object =
		store_get(store_head(transaction), removal->kind, removal->key);

	if (!object || object->revision != removal->revision)
		return 0;
	return store_delete(transaction, removal->kind, removal->key, object->revision, err);
}

static int remove_judged(struct controller_call *call, const struct store_object *object,
	struct err *err)
{
	struct removal removal = {object->kind, object->key, object->revision};

	return control_write(call->runner, call->store, remove_object, &removal, NULL, err);
}

static int reconcile_definition(struct controller_call *call, struct span key, struct err *err)
{
	_view_ struct store_view *view = store_view_open(call->store);
	const struct store_object *definition = store_get(view, &task_definition_kind, key);

	if (!definition || task_definition_facts(definition)->status != TASK_DEFINITION_DELETING)
		return 0;
	return remove_judged(call, definition, err);
}

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
	return remove_judged(call, cluster, err);
}

static const struct controller_watch definition_watches[] = {{.kind = &task_definition_kind}};
static const struct controller_watch cluster_watches[] = {{.kind = &cluster_kind}};

const struct controller_row ecs_controllers[] = {
	{.name = "task-definition-retention",
		.watches = definition_watches,
		.watch_count = LENGTH(definition_watches),
		.reconcile = reconcile_definition},
	{.name = "cluster-retention",
		.watches = cluster_watches,
		.watch_count = LENGTH(cluster_watches),
		.reconcile = reconcile_cluster},
};
const size_t ecs_controller_count = LENGTH(ecs_controllers);
