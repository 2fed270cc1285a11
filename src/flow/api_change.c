/* The orders of users for flows. The controller carries them out. */
#include "base/memory.h"
#include "delivery/approval.h"
#include "flow/api.h"
#include "flow/definition.h"
#include "flow/kinds.h"

static int answer(struct aws_request *request, const struct store_object *flow)
{
	json_write(flow_api_document(request->arena, flow), request->out);
	return 0;
}

static int fail_ended(struct aws_request *request, const struct store_object *flow,
	const char *what)
{
	return flow_api_fail(request, "ResourceInUseException", "flow", flow_facts(flow)->id,
		"flow %.*s is %s and cannot be %s", SPAN_ARGS(flow_facts(flow)->id),
		flow_state_name(flow_facts(flow)->state), what);
}

/* ---- approvals ---- */

static int find_node(struct aws_request *request, const struct store_object *flow,
	uint32_t *ret_node)
{
	const struct store_object *graph = store_get(request->view, &flow_graph_kind, flow->key);
	struct span name = json_get_text(request->input, "node");
	struct flow_definition definition;

	if (!graph ||
		flow_definition_read(graph->api, request->arena, &definition, &request->err) < 0)
		return aws_fail_store(request);
	*ret_node = flow_definition_find(&definition, name);
	if (*ret_node != FLOW_NO_NODE)
		return 0;
	return flow_api_fail(request, "ResourceNotFoundException", "node", name,
		"flow %.*s has no node \"%.*s\"", SPAN_ARGS(flow_facts(flow)->id), SPAN_ARGS(name));
}

static int fail_vote(struct aws_request *request, int code)
{
	static const struct {
		int code;
		const char *type;
	} types[] = {{-EACCES, "AccessDeniedException"}, {-ESTALE, "ResourceInUseException"},
		{-ETIMEDOUT, "ResourceInUseException"}, {-EALREADY, "ResourceInUseException"},
		{-E2BIG, "InvalidParameterException"}};
	struct span name = json_get_text(request->input, "node");

	for (size_t i = 0; i < LENGTH(types); i++) {
		if (code == types[i].code)
			return flow_api_fail(request, types[i].type, "node", name, "node %.*s: %s",
				SPAN_ARGS(name), request->err.message);
	}
	return aws_fail_store(request);
}

static int add_vote(struct aws_request *request, bool approves)
{
	struct span comment = json_get_text(request->input, "comment"),
		    digest = json_get_text(request->input, "digest"),
		    name = json_get_text(request->input, "node");
	struct approval_vote vote = {.user = request->caller->user,
		.comment = comment.data ? comment : SPAN(""),
		.at_ms = request->now_ms,
		.approves = approves};
	const struct store_object *flow, *node, *object;
	struct approval approval;
	struct json *document;
	enum flow_node_state state;
	uint32_t index;
	struct span key;
	int code;

	if (flow_api_find(request, &flow) < 0)
		return -EPERM;
	if (flow_facts(flow)->is_damaged)
		return fail_ended(request, flow, "approved or rejected");
	if (find_node(request, flow, &index) < 0)
		return -EPERM;
	key = flow_node_key(request->arena, flow->key, index);
	node = store_get(request->view, &flow_node_kind, key);
	object = store_get(request->view, &flow_approval_kind, key);
	state = node ? flow_node_facts(node)->state : FLOW_NODE_PENDING;
	if (state != FLOW_NODE_WAITING_APPROVAL || !object)
		return flow_api_fail(request, "ResourceInUseException", "node", name,
			"node %.*s is %s and does not wait for an approval", SPAN_ARGS(name),
			flow_node_state_name(state));
	code = json_parse(object->api, request->arena, &document, &request->err);
	if (code >= 0)
		code = approval_read(document, request->arena, &approval, &request->err);
	if (code >= 0)
		code = approval_add_vote(&approval, &vote, digest.data ? digest : SPAN(""),
			request->arena, &request->err);
	if (code < 0)
		return fail_vote(request, code);
	if (store_put(request->transaction, &flow_approval_kind, key,
		    json_to_text(approval_write(&approval, request->arena), request->arena),
		    SPAN("{}"), object->revision, &request->err) < 0)
		return aws_fail_store(request);
	return answer(request, flow);
}

int flow_api_approve(struct aws_request *request)
{
	return add_vote(request, true);
}

int flow_api_reject(struct aws_request *request)
{
	return add_vote(request, false);
}

/* ---- orders ---- */

static int order(struct aws_request *request, const struct store_object *flow,
	enum flow_order order)
{
	if (flow_order_put(request->transaction, flow->key, order, &request->err) < 0)
		return aws_fail_store(request);
	return answer(request, flow);
}

int flow_api_cancel(struct aws_request *request)
{
	bool rolls_back = json_get_bool(request->input, "rollback", true);
	const struct store_object *flow;
	enum flow_state state;

	if (flow_api_find(request, &flow) < 0)
		return -EPERM;
	state = flow_facts(flow)->state;
	if (flow_state_is_terminal(state) || state == FLOW_ROLLING_BACK)
		return fail_ended(request, flow, "cancelled");
	return order(request, flow,
		rolls_back ? FLOW_ORDER_CANCEL_AND_ROLL_BACK : FLOW_ORDER_CANCEL);
}

static const char *why_not_again(const struct flow_facts *facts)
{
	if (!flow_state_is_terminal(facts->state))
		return "only a flow that has ended can be retried";
	if (facts->state == FLOW_SUCCESS)
		return "there is nothing to retry";
	if (facts->is_damaged)
		return "a stored record of it is damaged; sync the head again";
	if (!facts->is_started)
		return "its head did not succeed; sync the head again";
	return facts->closing == FLOW_REASON_SUPERSEDED
		       ? "a newer flow of the same head has taken over"
		       : NULL;
}

int flow_api_retry(struct aws_request *request)
{
	const struct store_object *flow;
	const char *why;

	if (flow_api_find(request, &flow) < 0)
		return -EPERM;
	why = why_not_again(flow_facts(flow));
	if (why)
		return flow_api_fail(request, "ResourceInUseException", "flow",
			flow_facts(flow)->id, "flow %.*s is %s; %s",
			SPAN_ARGS(flow_facts(flow)->id), flow_state_name(flow_facts(flow)->state),
			why);
	return order(request, flow, FLOW_ORDER_RETRY);
}
