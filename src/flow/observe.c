/* Changes since the last pass, as events for the engine. */
#include "base/memory.h"
#include "delivery/approval.h"
#include "flow/pass.h"
#include "pipeline/deployments.h"

/* ---- the head, and other flows of it ---- */

static bool has_reached(const struct deployment_record *head)
{
	for (size_t i = 0; i < head->stage_count; i++) {
		if (head->stages[i].kind == STAGE_POST_SYNC)
			return head->stages[i].state == PIPELINE_STAGE_RUNNING ||
			       head->stages[i].state == PIPELINE_STAGE_SUCCESS;
	}
	return false;
}

/* Flows of the same head that have not ended: an older one, and a newer one whose head was reached. */
static void find_others(const struct flow_pass *pass, bool *ret_older, bool *ret_newer)
{
	struct store_cursor cursor = {.view = pass->view,
		.kind = &flow_kind,
		.index = FLOW_OPEN,
		.prefix = arena_format(pass->arena, "%.*s/", SPAN_ARGS(pass->facts.head))};
	const struct store_object *object;

	*ret_older = *ret_newer = false;
	while ((object = store_next(&cursor))) {
		const struct flow_facts *other = flow_facts(object);

		*ret_older |= other->number < pass->facts.number;
		*ret_newer |= other->number > pass->facts.number && other->state != FLOW_PENDING;
	}
}

static int observe_head(struct flow_pass *pass, bool has_older, struct err *err)
{
	const struct flow_record *record = flow_engine_record(pass->engine);
	struct deployment_record head;
	int code = 0;

	if (record->is_started || flow_state_is_terminal(record->state))
		return 0;
	if (!flow_pass_find_deployment(pass, pass->facts.head, pass->facts.id, &head))
		return flow_pass_apply(pass, FLOW_EVENT_HEAD_ENDED, 0, err);
	if (has_reached(&head))
		code = flow_pass_apply(pass, FLOW_EVENT_HEAD_REACHED, 0, err);
	if (code < 0 || !pipeline_deployment_is_terminal(head.facts.state))
		return code;
	if (head.facts.state != PIPELINE_DEPLOYMENT_SUCCESS)
		return flow_pass_apply(pass, FLOW_EVENT_HEAD_ENDED, 0, err);
	if (has_older) {
		flow_pass_again_at(pass, pass->now_ms + PASS_POLL_MS);
		return code;
	}
	return flow_pass_apply(pass, FLOW_EVENT_HEAD_SUCCEEDED, 0, err);
}

/* A retry forgets how its nodes ended before. */
static void reset_nodes(struct flow_pass *pass)
{
	for (uint32_t i = 0; i < pass->definition.graph->node_count; i++) {
		struct flow_node_facts *facts;

		if (flow_node_state_is_terminal(flow_engine_node(pass->engine, i)->state))
			continue;
		facts = &flow_pass_node(pass, i)->facts;
		facts->started_ms = 0;
		facts->undo = SPAN("");
		flow_pass_set_detail(pass, i, SPAN(""));
	}
}

static int take_order(struct flow_pass *pass, struct err *err)
{
	const struct store_object *object = store_get(pass->view, &flow_order_kind, pass->key);
	struct flow_event event = {0};

	if (!object)
		return 0;
	pass->order = object;
	switch (((const struct flow_order_facts *)object->facts)->order) {
	case FLOW_ORDER_RETRY: event.type = FLOW_EVENT_RETRY; break;
	case FLOW_ORDER_SUPERSEDE: event.type = FLOW_EVENT_SUPERSEDE; break;
	case FLOW_ORDER_CANCEL: event.type = FLOW_EVENT_CANCEL; break;
	case FLOW_ORDER_CANCEL_AND_ROLL_BACK:
		event.type = FLOW_EVENT_CANCEL;
		event.rolls_back = true;
		break;
	case FLOW_ORDER_COUNT: return 0;
	}
	/* The flow may have changed since the order was accepted; then the engine refuses it. */
	if (flow_pass_apply_event(pass, &event, err) >= 0 && event.type == FLOW_EVENT_RETRY)
		reset_nodes(pass);
	return 0;
}

/* ---- nodes ---- */

static int observe_approval(struct flow_pass *pass, uint32_t node, struct err *err)
{
	const struct store_object *object = store_get(pass->view, &flow_approval_kind,
		flow_node_key(pass->arena, pass->key, node));
	struct flow_event event = {.node = node};
	struct approval approval;
	struct json *document;

	if (!object || json_parse(object->api, pass->arena, &document, err) < 0 ||
		approval_read(document, pass->arena, &approval, err) < 0)
		return 0;
	switch (approval_state(&approval, pass->now_ms)) {
	case APPROVAL_APPROVED:
		event.type = FLOW_EVENT_APPROVE;
		event.plan = flow_plan_id_of(approval.digest);
		json_set(pass->arena, flow_pass_document(pass, node), "approval", document);
		break;
	case APPROVAL_REJECTED: {
		const struct approval_vote *vote = &approval.votes[approval.vote_count - 1];

		event.type = FLOW_EVENT_REJECT;
		flow_pass_set_detail(pass, node,
			arena_format(pass->arena, "rejected by %.*s%s%.*s", SPAN_ARGS(vote->user),
				vote->comment.length > 0 ? ": " : "", SPAN_ARGS(vote->comment)));
		break;
	}
	case APPROVAL_WAITING:
	case APPROVAL_TIMED_OUT: return 0;
	}
	/* Another plan than the approved one: the votes are void when the approval is bound to it. */
	(void)flow_pass_apply_event(pass, &event, err);
	return 0;
}

/* A deployment counts as running when its plan is known to be the right one. */
static enum flow_event_type event_of(const struct deployment_facts *deployment)
{
	switch (deployment->state) {
	case PIPELINE_DEPLOYMENT_PENDING: return FLOW_EVENT_COUNT;
	case PIPELINE_DEPLOYMENT_RUNNING:
		return deployment->is_planned ? FLOW_EVENT_DEPLOYMENT_RUNNING : FLOW_EVENT_COUNT;
	case PIPELINE_DEPLOYMENT_ROLLING_BACK: return FLOW_EVENT_DEPLOYMENT_ROLLING_BACK;
	case PIPELINE_DEPLOYMENT_SUCCESS: return FLOW_EVENT_DEPLOYMENT_SUCCEEDED;
	case PIPELINE_DEPLOYMENT_FAILURE:
		return deployment->is_stale ? FLOW_EVENT_DEPLOYMENT_STALE
					    : FLOW_EVENT_DEPLOYMENT_FAILED;
	case PIPELINE_DEPLOYMENT_CANCELLED: return FLOW_EVENT_DEPLOYMENT_CANCELLED;
	case PIPELINE_DEPLOYMENT_STATE_COUNT: break;
	}
	return FLOW_EVENT_COUNT;
}

static int observe_deployment(struct flow_pass *pass, uint32_t node, struct err *err)
{
	const struct flow_node_record *record = flow_engine_node(pass->engine, node);
	struct flow_node_facts *facts = &flow_pass_node(pass, node)->facts;
	struct span application = flow_pass_application(pass, node);
	struct flow_event event = {.node = node, .run = record->run};
	struct deployment_record deployment;

	if (facts->deployment_run != record->run)
		return 0; /* not made yet */
	if (!flow_pass_find_deployment(pass, application, facts->deployment, &deployment)) {
		event.type = FLOW_EVENT_DEPLOYMENT_CANCELLED;
		return flow_pass_apply_event(pass, &event, err);
	}
	event.type = event_of(&deployment.facts);
	if (event.type == FLOW_EVENT_COUNT || (event.type == FLOW_EVENT_DEPLOYMENT_RUNNING &&
						      record->phase == FLOW_PHASE_DEPLOYING))
		return 0;
	/* The deployment has found the commit of a name; a retry deploys the same. */
	if (pass->definition.nodes[node].is_git && deployment.facts.is_planned &&
		!span_equal(facts->commit, deployment.facts.commit)) {
		facts->commit = deployment.facts.commit;
		flow_pass_node(pass, node)->must_write = true;
	}
	event.has_live_state = application_has_live_state(pass->view, application);
	if (event.type == FLOW_EVENT_DEPLOYMENT_FAILED ||
		event.type == FLOW_EVENT_DEPLOYMENT_CANCELLED)
		flow_pass_set_detail(pass, node, deployment.reason);
	return flow_pass_apply_event(pass, &event, err);
}

static int observe_sync(struct flow_pass *pass, uint32_t node, struct err *err)
{
	bool is_soaking = flow_engine_node(pass->engine, node)->phase == FLOW_PHASE_SOAKING;
	struct span application = flow_pass_application(pass, node);
	/* The stored state of a server that has just started dates from before its start. */
	bool is_known =
		!pass->controller || flow_controller_has_settled(pass->controller, pass->now_ms);
	enum application_sync sync = is_known ? application_find_sync(pass->view, application)
					      : APPLICATION_SYNC_UNKNOWN;
	bool is_good =
		sync == APPLICATION_SYNCED && application_is_healthy(pass->view, application);

	flow_pass_again_at(pass, pass->now_ms + PASS_POLL_MS);
	if (!is_soaking && is_good)
		return flow_pass_apply(pass, FLOW_EVENT_IN_SYNC, node, err);
	if (!is_soaking || is_good)
		return 0;
	return flow_pass_apply(pass,
		sync == APPLICATION_SYNC_UNKNOWN ? FLOW_EVENT_SYNC_UNKNOWN : FLOW_EVENT_OUT_OF_SYNC,
		node, err);
}

static int observe_undo(struct flow_pass *pass, uint32_t node, struct err *err)
{
	const struct flow_node_facts *facts = &flow_pass_node(pass, node)->facts;
	struct deployment_record deployment;

	if (facts->undo.length == 0)
		return 0;
	if (flow_pass_find_deployment(pass, flow_pass_application(pass, node), facts->undo,
		    &deployment)) {
		if (!pipeline_deployment_is_terminal(deployment.facts.state))
			return 0;
		if (deployment.facts.state == PIPELINE_DEPLOYMENT_SUCCESS)
			return flow_pass_apply(pass, FLOW_EVENT_UNDONE, node, err);
		flow_pass_set_detail(pass, node, deployment.reason);
	}
	return flow_pass_apply(pass, FLOW_EVENT_UNDO_FAILED, node, err);
}

static int observe_node(struct flow_pass *pass, uint32_t node, struct err *err)
{
	const struct flow_node_record *record = flow_engine_node(pass->engine, node);

	if (record->state == FLOW_NODE_WAITING_APPROVAL) {
		int code = flow_plan_again(pass, node, err);

		return code < 0 ? code : observe_approval(pass, node, err);
	}
	switch ((enum flow_phase)record->phase) {
	case FLOW_PHASE_STARTING:
	case FLOW_PHASE_DEPLOYING: return observe_deployment(pass, node, err);
	case FLOW_PHASE_SYNCING:
	case FLOW_PHASE_SOAKING: return observe_sync(pass, node, err);
	case FLOW_PHASE_UNDOING: return observe_undo(pass, node, err);
	case FLOW_PHASE_NONE:
	case FLOW_PHASE_PLANNING: /* flow_plan_node(), as a step */
	case FLOW_PHASE_COUNT: break;
	}
	return 0;
}

/* Events change the list of the engine; nodes that become active now have nothing to observe yet. */
static const uint32_t *copy_active(const struct flow_pass *pass, uint32_t *ret_count)
{
	const uint32_t *active = flow_engine_active(pass->engine, ret_count);

	return (const uint32_t *)arena_copy(pass->arena, active, *ret_count * sizeof(*active));
}

int flow_observe(struct flow_pass *pass, struct err *err)
{
	bool has_older, has_newer;
	const uint32_t *active;
	uint32_t count;
	int code = take_order(pass, err);

	find_others(pass, &has_older, &has_newer);
	if (code >= 0)
		code = observe_head(pass, has_older, err);
	if (code >= 0 && has_newer)
		code = flow_pass_apply(pass, FLOW_EVENT_SUPERSEDE, 0, err);
	active = copy_active(pass, &count);
	for (uint32_t i = 0; i < count && code >= 0; i++)
		code = observe_node(pass, active[i], err);
	return code < 0 ? code : flow_pass_apply(pass, FLOW_EVENT_TIME, 0, err);
}
