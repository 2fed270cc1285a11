/*
 * The traffic controller: follows the targets of tasks and writes into the tasks what services and
 * the task controller need. The health of a registered task by its load balancers becomes
 * facts.balance, and with it the class by which its service counts it; when they find it healthy
 * for the first time it is RUNNING. A task that is LEAVING becomes LEFT when its targets have
 * drained and its name has expired; then the task controller stops its program.
 */
#include "control/write.h"
#include "ecs/task/task_edit.h"
#include "ecs/task/task_traffic.h"
#include "elb/elb.h"

#define WORKERS 2

struct pass {
	struct span key;
	int64_t now_ms;
	int64_t again_ms;
	bool removes_name;
};

/* The new facts of the task; false if they are the same. */
static bool find_change(const struct store_view *view, const struct store_object *task,
	struct pass *pass, struct arena *arena, struct task_facts *ret_facts)
{
	const struct task_facts *facts = task_facts(task);

	pass->again_ms = 0;
	pass->removes_name = false;
	*ret_facts = *facts;
	if (facts->traffic == TASK_TRAFFIC_REGISTERED) {
		ret_facts->balance = task_traffic_balance(view, task, arena);
		if (facts->last == TASK_ACTIVATING && !task_awaits_traffic(ret_facts))
			ret_facts->last = TASK_RUNNING;
	} else if (facts->traffic == TASK_TRAFFIC_LEAVING &&
		   task_traffic_keeps_name(view, task, pass->now_ms, arena, &pass->again_ms)) {
		pass->removes_name = pass->again_ms == 0;
	} else if (facts->traffic == TASK_TRAFFIC_LEAVING &&
		   task_traffic_has_left(view, task, pass->now_ms, arena, &pass->again_ms)) {
		ret_facts->traffic = TASK_TRAFFIC_LEFT;
	}
	return pass->removes_name || ret_facts->balance != facts->balance ||
	       ret_facts->traffic != facts->traffic || ret_facts->last != facts->last;
}

static int write_change(struct store_transaction *transaction, void *context, struct err *err)
{
	struct pass *pass = context;
	struct arena *arena = store_transaction_arena(transaction);
	const struct store_object *task = store_get(store_head(transaction), &task_kind, pass->key);
	struct task_facts facts;
	struct task_edit edit;
	int code;

	if (!task || !find_change(store_head(transaction), task, pass, arena, &facts))
		return 0;
	code = task_edit_open(task, arena, &edit, err);
	if (code < 0)
		return code;
	edit.now_ms = pass->now_ms;
	edit.facts.balance = facts.balance;
	edit.facts.last = facts.last;
	edit.facts.traffic = facts.traffic;
	if (pass->removes_name)
		code = task_traffic_remove_name(transaction, &edit, err);
	return code < 0 ? code : task_save(transaction, &edit, err);
}

static int reconcile(struct controller_call *call, struct span key, struct err *err)
{
	_view_ struct store_view *view = store_view_open(call->store);
	_arena_ struct arena *arena = arena_new(0);
	const struct store_object *task = store_get(view, &task_kind, key);
	struct pass pass = {.key = key, .now_ms = runner_wall_ms(call->runner)};
	struct task_facts facts;
	int code = 0;

	if (task && find_change(view, task, &pass, arena, &facts))
		code = control_write(call->runner, call->store, write_change, &pass, NULL, err);
	if (code == 0)
		call->again_at_ms = pass.again_ms;
	return code;
}

static void map_target(const struct store_change *change, void *context,
	struct controller_keys *keys)
{
	(void)context;
	if (change->after && elb_target_facts(change->after)->owner.length > 0)
		controller_keys_add(keys, elb_target_facts(change->after)->owner);
	if (change->before && elb_target_facts(change->before)->owner.length > 0)
		controller_keys_add(keys, elb_target_facts(change->before)->owner);
}

static void map_task(const struct store_change *change, void *context, struct controller_keys *keys)
{
	(void)context;
	if (change->after && (task_facts(change->after)->traffic == TASK_TRAFFIC_REGISTERED ||
				     task_facts(change->after)->traffic == TASK_TRAFFIC_LEAVING))
		controller_keys_add(keys, change->after->key);
}

static const struct controller_watch watches[] = {
	{.kind = &task_kind, .map = map_task},
	{.kind = &elb_target_kind, .map = map_target},
};

const struct controller_row task_traffic_controller_row = {
	.name = "traffic",
	.watches = watches,
	.watch_count = LENGTH(watches),
	.reconcile = reconcile,
	.workers = WORKERS,
};
