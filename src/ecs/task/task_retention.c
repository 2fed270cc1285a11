/*
 * Deletes expired stopped tasks. Its keys are clusters: the index of stopped tasks is in the order
 * of their ends, so that only expired tasks are read.
 */
#include "ecs/task/task_retention.h"

#include "base/memory.h"
#include "control/write.h"
#include "ecs/record/task.h"

#define BATCH 500

static const struct task_retention_limits limits_usual = {
	.age_ms = TASK_RETENTION_MS, .count = TASK_RETENTION_COUNT};

struct sweep {
	const struct task_retention_limits *limits;
	struct span prefix; /* "ACCOUNT/REGION/CLUSTER/" */
	int64_t now_ms;
	/* found */
	bool more;
	int64_t next_ms; /* when the next one is due; 0: none is left */
};

static int sweep_cluster(struct store_transaction *transaction, void *context, struct err *err)
{
	struct sweep *sweep = context;
	const struct store_view *head = store_head(transaction);
	uint64_t count = store_count(head, &task_kind, TASK_BY_STOPPED, sweep->prefix, false);
	struct store_cursor cursor = {.view = head,
		.kind = &task_kind,
		.index = TASK_BY_STOPPED,
		.prefix = sweep->prefix};
	const struct store_object *task, *due[BATCH];
	size_t due_count = 0;

	sweep->more = false;
	sweep->next_ms = 0;
	while ((task = store_next(&cursor))) {
		int64_t due_ms = task_facts(task)->stopped_ms + sweep->limits->age_ms;

		if (count - due_count <= sweep->limits->count && due_ms > sweep->now_ms) {
			sweep->next_ms = due_ms;
			break;
		}
		if (due_count == BATCH) {
			sweep->more = true;
			break;
		}
		due[due_count++] = task;
	}
	for (size_t i = 0; i < due_count; i++) {
		int code = store_delete(transaction, &task_kind, due[i]->key, STORE_ANY, err);

		if (code < 0)
			return code;
	}
	return 0;
}

/* Is any task expired? Checked on a view first: most ends expire no task. */
static bool is_due(struct store *store, struct sweep *sweep)
{
	_view_ struct store_view *view = store_view_open(store);
	struct store_cursor cursor = {.view = view,
		.kind = &task_kind,
		.index = TASK_BY_STOPPED,
		.prefix = sweep->prefix};
	const struct store_object *oldest = store_next(&cursor);

	if (!oldest)
		return false;
	sweep->next_ms = task_facts(oldest)->stopped_ms + sweep->limits->age_ms;
	return sweep->next_ms <= sweep->now_ms ||
	       store_count(view, &task_kind, TASK_BY_STOPPED, sweep->prefix, false) >
		       sweep->limits->count;
}

static int reconcile(struct controller_call *call, struct span key, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	struct sweep sweep = {
		.limits = call->context ? call->context : &limits_usual,
		.prefix = arena_format(arena, "%.*s/", SPAN_ARGS(key)),
		.now_ms = runner_wall_ms(call->runner),
	};

	sweep.more = is_due(call->store, &sweep);
	while (sweep.more) {
		int code =
			control_write(call->runner, call->store, sweep_cluster, &sweep, NULL, err);

		if (code < 0)
			return code;
	}
	call->again_at_ms = sweep.next_ms;
	return 0;
}

/* A cluster needs work when a task of it has just stopped. */
static void map_task(const struct store_change *change, void *context, struct controller_keys *keys)
{
	(void)context;
	if (change->after && task_facts(change->after)->last >= TASK_STOPPED &&
		(!change->before || task_facts(change->before)->last < TASK_STOPPED))
		controller_keys_add(keys, task_cluster_key(change->after->key));
}

static const struct controller_watch watches[] = {{.kind = &task_kind, .map = map_task}};

const struct controller_row task_retention_row = {
	.name = "task-retention",
	.watches = watches,
	.watch_count = LENGTH(watches),
	.reconcile = reconcile,
};
