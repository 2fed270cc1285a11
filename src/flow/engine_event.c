/* Events of the engine: one function for each kind, in a table. */
#include "base/memory.h"
#include "flow/engine_internal.h"

/* Each loss of sync during the soak time, and each time that its end is put off, costs at least that much of syncTimeout,
 * so that a node ends. */
#define SYNC_LOSS_MS 1000

typedef int handle_event(struct flow_engine *engine, const struct flow_event *event,
	struct err *err);

static bool plan_equal(const struct flow_plan_id *a, const struct flow_plan_id *b)
{
	return memcmp(a->bytes, b->bytes, FLOW_PLAN_ID_SIZE) == 0;
}

/* ---- the head ---- */

static int head_reached(struct flow_engine *engine, const struct flow_event *event, struct err *err)
{
	(void)event;
	(void)err;
	if (engine->record.state == FLOW_PENDING) {
		engine->record.state = FLOW_RUNNING;
		flow_engine_mark_flow(engine);
	}
	return 0;
}

static int head_succeeded(struct flow_engine *engine, const struct flow_event *event,
	struct err *err)
{
	if (flow_state_is_terminal(engine->record.state) || engine->record.is_started)
		return 0;
	head_reached(engine, event, err);
	engine->record.is_started = true;
	flow_engine_mark_flow(engine);
	flow_engine_start_ready(engine);
	return 0;
}

static int head_ended(struct flow_engine *engine, const struct flow_event *event, struct err *err)
{
	(void)event;
	(void)err;
	if (!flow_state_is_terminal(engine->record.state) && !engine->record.is_started)
		flow_engine_close(engine, FLOW_REASON_HEAD_ENDED, FLOW_NO_NODE, FLOW_STOP_CANCEL);
	return 0;
}

/* ---- plans ---- */

static void wait_for_approval(struct flow_engine *engine, uint32_t node)
{
	flow_engine_move(engine, node, FLOW_NODE_WAITING_APPROVAL, FLOW_PHASE_NONE);
	flow_engine_set_deadline(engine, node, engine->now_ms + engine->rules.approval_timeout_ms);
}

static int planned(struct flow_engine *engine, const struct flow_event *event, struct err *err)
{
	struct flow_node_record *record = flow_engine_edit(engine, event->node);
	bool waits = record->state == FLOW_NODE_WAITING_APPROVAL,
	     is_same = plan_equal(&record->plan, &event->plan);

	(void)err;
	if (record->phase != FLOW_PHASE_PLANNING && !waits)
		return 0;
	if (waits && is_same && !event->is_unchanged)
		return 0;
	record->plan = event->plan;
	record->is_approved = record->is_approved && is_same;
	if (event->is_unchanged) {
		flow_engine_finish(engine, event->node, FLOW_NODE_SKIPPED, FLOW_REASON_UNCHANGED);
	} else if (engine->node_rules[event->node].requires_approval && !record->is_approved) {
		if (waits) /* asked again: the time begins anew */
			flow_engine_set_deadline(engine, event->node,
				engine->now_ms + engine->rules.approval_timeout_ms);
		else
			wait_for_approval(engine, event->node);
	} else {
		record->run++;
		flow_engine_move(engine, event->node, FLOW_NODE_QUEUED, FLOW_PHASE_STARTING);
	}
	return 0;
}

static int plan_failed(struct flow_engine *engine, const struct flow_event *event, struct err *err)
{
	(void)err;
	if (flow_engine_edit(engine, event->node)->phase == FLOW_PHASE_PLANNING)
		flow_engine_finish(engine, event->node, FLOW_NODE_FAILURE, FLOW_REASON_PLAN_FAILED);
	return 0;
}

static int plan_disabled(struct flow_engine *engine, const struct flow_event *event,
	struct err *err)
{
	(void)err;
	if (flow_engine_edit(engine, event->node)->phase == FLOW_PHASE_PLANNING)
		flow_engine_finish(engine, event->node, FLOW_NODE_DISABLED, FLOW_REASON_DISABLED);
	return 0;
}

static int unavailable(struct flow_engine *engine, const struct flow_event *event, struct err *err)
{
	const struct flow_node_record *record = flow_engine_edit(engine, event->node);

	(void)err;
	if (record->state == FLOW_NODE_QUEUED && record->stop == FLOW_STOP_NOT &&
		record->deadline_ms == 0)
		flow_engine_set_deadline(engine, event->node,
			engine->now_ms + engine->rules.queue_timeout_ms);
	return 0;
}

static int available(struct flow_engine *engine, const struct flow_event *event, struct err *err)
{
	const struct flow_node_record *record = flow_engine_edit(engine, event->node);

	(void)err;
	if (record->state == FLOW_NODE_QUEUED && record->deadline_ms > 0)
		flow_engine_set_deadline(engine, event->node, 0);
	return 0;
}

/* ---- deployments ---- */

/* Whether the event is about the deployment that the node waits for. */
static bool is_awaited(struct flow_engine *engine, const struct flow_event *event)
{
	const struct flow_node_record *record = flow_engine_edit(engine, event->node);

	return record->run == event->run &&
	       (record->phase == FLOW_PHASE_STARTING || record->phase == FLOW_PHASE_DEPLOYING);
}

/* A stopped node has ended: as cancelled, for the reason for which it was stopped. */
static void end_stopped(struct flow_engine *engine, uint32_t node)
{
	const struct flow_node_record *record = flow_engine_edit(engine, node);

	if (record->stop_reason == FLOW_REASON_UNAVAILABLE)
		flow_engine_finish(engine, node, FLOW_NODE_FAILURE, FLOW_REASON_UNAVAILABLE);
	else if (record->stop != FLOW_STOP_NOT)
		flow_engine_end_node(engine, node, record->stop_reason, record->cause);
	else
		flow_engine_finish(engine, node, FLOW_NODE_CANCELLED,
			FLOW_REASON_DEPLOYMENT_CANCELLED);
}

static int deployment_stale(struct flow_engine *engine, const struct flow_event *event,
	struct err *err)
{
	(void)err;
	if (!is_awaited(engine, event))
		return 0;
	if (flow_engine_edit(engine, event->node)->stop != FLOW_STOP_NOT)
		end_stopped(engine, event->node);
	else if (flow_engine_edit(engine, event->node)->phase == FLOW_PHASE_STARTING)
		flow_engine_move(engine, event->node, FLOW_NODE_QUEUED, FLOW_PHASE_PLANNING);
	return 0;
}

static int deployment_running(struct flow_engine *engine, const struct flow_event *event,
	struct err *err)
{
	struct flow_node_record *record = flow_engine_edit(engine, event->node);

	(void)err;
	if (!is_awaited(engine, event) || record->phase != FLOW_PHASE_STARTING)
		return 0;
	flow_engine_move(engine, event->node, FLOW_NODE_RUNNING, FLOW_PHASE_DEPLOYING);
	if (record->stop == FLOW_STOP_WITHDRAW) {
		record->stop = FLOW_STOP_NOT;
		record->stop_reason = FLOW_REASON_NONE;
		record->cause = FLOW_NO_NODE;
	}
	return 0;
}

static int deployment_rolling_back(struct flow_engine *engine, const struct flow_event *event,
	struct err *err)
{
	deployment_running(engine, event, err);
	if (is_awaited(engine, event) &&
		flow_engine_edit(engine, event->node)->state == FLOW_NODE_RUNNING)
		flow_engine_move(engine, event->node, FLOW_NODE_ROLLING_BACK, FLOW_PHASE_DEPLOYING);
	return 0;
}

static int deployment_succeeded(struct flow_engine *engine, const struct flow_event *event,
	struct err *err)
{
	struct flow_node_record *record = flow_engine_edit(engine, event->node);

	deployment_running(engine, event, err);
	if (!is_awaited(engine, event) || record->state != FLOW_NODE_RUNNING)
		return 0;
	record->is_deployed = true;
	if (record->stop == FLOW_STOP_CANCEL) {
		end_stopped(engine, event->node);
	} else if (!event->has_live_state) {
		flow_engine_finish(engine, event->node, FLOW_NODE_SUCCESS,
			FLOW_REASON_NO_LIVE_STATE);
	} else {
		record->left_ms = engine->rules.sync_timeout_ms;
		flow_engine_move(engine, event->node, FLOW_NODE_RUNNING, FLOW_PHASE_SYNCING);
		flow_engine_set_deadline(engine, event->node, engine->now_ms + record->left_ms);
	}
	return 0;
}

static int deployment_failed(struct flow_engine *engine, const struct flow_event *event,
	struct err *err)
{
	deployment_running(engine, event, err);
	if (is_awaited(engine, event))
		flow_engine_finish(engine, event->node, FLOW_NODE_FAILURE,
			FLOW_REASON_DEPLOYMENT_FAILED);
	return 0;
}

static int deployment_cancelled(struct flow_engine *engine, const struct flow_event *event,
	struct err *err)
{
	(void)err;
	if (is_awaited(engine, event))
		end_stopped(engine, event->node);
	return 0;
}

/* ---- the live state ---- */

static int in_sync(struct flow_engine *engine, const struct flow_event *event, struct err *err)
{
	struct flow_node_record *record = flow_engine_edit(engine, event->node);
	int64_t soak_ms = engine->node_rules[event->node].soak_ms;

	(void)err;
	if (record->phase != FLOW_PHASE_SYNCING)
		return 0;
	if (soak_ms == 0) {
		flow_engine_finish(engine, event->node, FLOW_NODE_SUCCESS, FLOW_REASON_NONE);
		return 0;
	}
	record->left_ms = record->deadline_ms - engine->now_ms;
	flow_engine_move(engine, event->node, FLOW_NODE_RUNNING, FLOW_PHASE_SOAKING);
	flow_engine_set_deadline(engine, event->node, engine->now_ms + soak_ms);
	return 0;
}

static int out_of_sync(struct flow_engine *engine, const struct flow_event *event, struct err *err)
{
	struct flow_node_record *record = flow_engine_edit(engine, event->node);

	(void)err;
	if (record->phase != FLOW_PHASE_SOAKING)
		return 0;
	record->left_ms -= SYNC_LOSS_MS;
	if (record->left_ms <= 0) {
		flow_engine_finish(engine, event->node, FLOW_NODE_FAILURE, FLOW_REASON_NOT_IN_SYNC);
		return 0;
	}
	flow_engine_move(engine, event->node, FLOW_NODE_RUNNING, FLOW_PHASE_SYNCING);
	flow_engine_set_deadline(engine, event->node, engine->now_ms + record->left_ms);
	return 0;
}

/* The soak time has passed, but whether the application is still in sync is not known. */
static int sync_unknown(struct flow_engine *engine, const struct flow_event *event, struct err *err)
{
	struct flow_node_record *record = flow_engine_edit(engine, event->node);

	(void)err;
	if (record->phase != FLOW_PHASE_SOAKING || record->deadline_ms > engine->now_ms)
		return 0;
	record->left_ms -= SYNC_LOSS_MS;
	if (record->left_ms <= 0)
		flow_engine_finish(engine, event->node, FLOW_NODE_FAILURE, FLOW_REASON_NOT_IN_SYNC);
	else
		flow_engine_set_deadline(engine, event->node, engine->now_ms + SYNC_LOSS_MS);
	return 0;
}

static int undone(struct flow_engine *engine, const struct flow_event *event, struct err *err)
{
	(void)err;
	if (flow_engine_edit(engine, event->node)->phase == FLOW_PHASE_UNDOING)
		flow_engine_walk_undone(engine, event->node, event->type == FLOW_EVENT_UNDO_FAILED);
	return 0;
}

/* ---- requests ---- */

static int check_waits(struct flow_engine *engine, const struct flow_event *event, struct err *err)
{
	enum flow_node_state state = flow_engine_edit(engine, event->node)->state;

	return state == FLOW_NODE_WAITING_APPROVAL
		       ? 0
		       : err_set(err, -EINVAL, "the node is %s and does not wait for approval",
				 flow_node_state_name(state));
}

static int approve(struct flow_engine *engine, const struct flow_event *event, struct err *err)
{
	struct flow_node_record *record = flow_engine_edit(engine, event->node);
	int code = check_waits(engine, event, err);

	if (code < 0)
		return code;
	if (!plan_equal(&record->plan, &event->plan))
		return err_set(err, -ESTALE,
			"the plan has changed since it was shown; look at the new one and approve "
			"again");
	record->is_approved = true;
	flow_engine_move(engine, event->node, FLOW_NODE_QUEUED, FLOW_PHASE_PLANNING);
	return 0;
}

static int reject(struct flow_engine *engine, const struct flow_event *event, struct err *err)
{
	int code = check_waits(engine, event, err);

	if (code < 0)
		return code;
	flow_engine_finish(engine, event->node, FLOW_NODE_CANCELLED, FLOW_REASON_REJECTED);
	return 0;
}

static int cancel(struct flow_engine *engine, const struct flow_event *event, struct err *err)
{
	if (flow_state_is_terminal(engine->record.state) ||
		engine->record.state == FLOW_ROLLING_BACK)
		return err_set(err, -EINVAL, "the flow is %s and cannot be cancelled",
			flow_state_name(engine->record.state));
	engine->record.rolls_back = event->rolls_back;
	flow_engine_close(engine, FLOW_REASON_FLOW_CANCELLED, FLOW_NO_NODE, FLOW_STOP_CANCEL);
	return 0;
}

/* The newer flow waits for nodes that run, and for a rollback that the failure policy has ordered. */
static int supersede(struct flow_engine *engine, const struct flow_event *event, struct err *err)
{
	enum flow_reason closing = engine->record.closing;

	(void)event;
	(void)err;
	if (flow_state_is_terminal(engine->record.state))
		return 0;
	if (closing == FLOW_REASON_NONE ||
		(closing == FLOW_REASON_OTHER_FAILED &&
			engine->rules.on_failure != FLOW_ON_FAILURE_ROLLBACK))
		flow_engine_close(engine, FLOW_REASON_SUPERSEDED, FLOW_NO_NODE, FLOW_STOP_WITHDRAW);
	return 0;
}

static int retry(struct flow_engine *engine, const struct flow_event *event, struct err *err)
{
	(void)event;
	if (!flow_state_is_terminal(engine->record.state))
		return err_set(err, -EINVAL,
			"the flow is %s; only a flow that has ended can be retried",
			flow_state_name(engine->record.state));
	if (engine->record.state == FLOW_SUCCESS)
		return err_set(err, -EINVAL, "the flow is SUCCESS; there is nothing to retry");
	if (!engine->record.is_started)
		return err_set(err, -EINVAL,
			"the head of the flow did not succeed; sync the head again");
	if (engine->record.closing == FLOW_REASON_SUPERSEDED)
		return err_set(err, -EINVAL, "a newer flow of the same head has taken over");
	flow_engine_retry(engine);
	return 0;
}

/* ---- time ---- */

static void expire(struct flow_engine *engine, uint32_t node)
{
	struct flow_node_record *record = flow_engine_edit(engine, node);

	if (record->state == FLOW_NODE_WAITING_APPROVAL) {
		flow_engine_finish(engine, node, FLOW_NODE_FAILURE, FLOW_REASON_APPROVAL_EXPIRED);
	} else if (record->phase == FLOW_PHASE_PLANNING) {
		flow_engine_finish(engine, node, FLOW_NODE_FAILURE, FLOW_REASON_UNAVAILABLE);
	} else if (record->phase == FLOW_PHASE_STARTING) {
		/* The deployment may exist: it is withdrawn first. */
		flow_engine_set_deadline(engine, node, 0);
		if (record->stop == FLOW_STOP_NOT) {
			record->stop = FLOW_STOP_WITHDRAW;
			record->stop_reason = FLOW_REASON_UNAVAILABLE;
		}
	} else if (record->phase == FLOW_PHASE_SYNCING) {
		flow_engine_finish(engine, node, FLOW_NODE_FAILURE, FLOW_REASON_NOT_IN_SYNC);
	} else if (record->phase == FLOW_PHASE_SOAKING) {
		flow_engine_finish(engine, node, FLOW_NODE_SUCCESS, FLOW_REASON_NONE);
	}
}

static int time_passed(struct flow_engine *engine, const struct flow_event *event, struct err *err)
{
	struct heap_item *first;

	(void)err;
	while ((first = heap_first(&engine->timers)) &&
		flow_engine_timer_ms(first) <= event->now_ms)
		expire(engine, (uint32_t)(CONTAINER_OF(first, struct node, timer) - engine->nodes));
	return 0;
}

static handle_event *const handlers[FLOW_EVENT_COUNT] = {
	[FLOW_EVENT_HEAD_REACHED] = head_reached,
	[FLOW_EVENT_HEAD_SUCCEEDED] = head_succeeded,
	[FLOW_EVENT_HEAD_ENDED] = head_ended,
	[FLOW_EVENT_PLANNED] = planned,
	[FLOW_EVENT_PLAN_FAILED] = plan_failed,
	[FLOW_EVENT_PLAN_DISABLED] = plan_disabled,
	[FLOW_EVENT_UNAVAILABLE] = unavailable,
	[FLOW_EVENT_AVAILABLE] = available,
	[FLOW_EVENT_DEPLOYMENT_STALE] = deployment_stale,
	[FLOW_EVENT_DEPLOYMENT_RUNNING] = deployment_running,
	[FLOW_EVENT_DEPLOYMENT_ROLLING_BACK] = deployment_rolling_back,
	[FLOW_EVENT_DEPLOYMENT_SUCCEEDED] = deployment_succeeded,
	[FLOW_EVENT_DEPLOYMENT_FAILED] = deployment_failed,
	[FLOW_EVENT_DEPLOYMENT_CANCELLED] = deployment_cancelled,
	[FLOW_EVENT_IN_SYNC] = in_sync,
	[FLOW_EVENT_OUT_OF_SYNC] = out_of_sync,
	[FLOW_EVENT_SYNC_UNKNOWN] = sync_unknown,
	[FLOW_EVENT_UNDONE] = undone,
	[FLOW_EVENT_UNDO_FAILED] = undone,
	[FLOW_EVENT_APPROVE] = approve,
	[FLOW_EVENT_REJECT] = reject,
	[FLOW_EVENT_CANCEL] = cancel,
	[FLOW_EVENT_SUPERSEDE] = supersede,
	[FLOW_EVENT_RETRY] = retry,
	[FLOW_EVENT_TIME] = time_passed,
};

int flow_engine_apply(struct flow_engine *engine, const struct flow_event *event, struct err *err)
{
	int code;

	engine->now_ms = event->now_ms;
	code = handlers[event->type](engine, event, err);
	if (code >= 0)
		flow_engine_settle(engine);
	return code;
}
