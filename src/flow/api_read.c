/* Flows as clients see them. */
#include "aws/page.h"
#include "base/memory.h"
#include "flow/api.h"
#include "flow/pass.h"
#include "pipeline/origin.h"

#define PAGE_DEFAULT 100
#define PAGE_MAX 100
#define NODES_PAGE 1000

/* ---- lists ---- */

int flow_api_list(struct aws_request *request)
{
	struct json *items = json_new_array(request->arena),
		    *document = json_new_object(request->arena);
	struct span head = json_get_text(request->input, "head"),
		    account = request->caller->account;
	struct store_cursor cursor = {.view = request->view,
		.kind = &flow_kind,
		.index = head.data ? FLOW_BY_HEAD : FLOW_BY_TIME,
		.prefix = head.data ? arena_format(request->arena, "%.*s/%.*s/", SPAN_ARGS(account),
					      SPAN_ARGS(head))
				    : arena_format(request->arena, "%.*s/", SPAN_ARGS(account)),
		.descending = true};
	const struct store_object *object;
	struct aws_page page;

	if (aws_page_read(request, PAGE_DEFAULT, PAGE_MAX, cursor.prefix, &page) < 0)
		return -EPERM;
	cursor.after_text = page.after_text;
	cursor.after_key = page.after_key;
	while ((object = store_next(&cursor))) {
		if (!flow_facts(object)->is_deleting)
			json_append(request->arena, items,
				flow_api_document(request->arena, object));
		if (json_count(items) < page.most)
			continue;
		json_set_string(request->arena, document, "nextToken",
			aws_page_token(request, cursor.prefix, cursor.text, object->key));
		break;
	}
	json_set(request->arena, document, "flows", items);
	json_write(document, request->out);
	return 0;
}

/* ---- one ---- */

/* Votes that are not decided yet. */
static void add_approval(const struct flow_pass *pass, uint32_t node, struct json *document)
{
	const struct store_object *object = store_get(pass->view, &flow_approval_kind,
		flow_node_key(pass->arena, pass->key, node));
	struct json *approval;

	if (object && json_parse(object->api, pass->arena, &approval, NULL) == 0)
		json_set(pass->arena, document, "approval", approval);
}

static void add_repository(const struct flow_pass *pass, uint32_t node, struct json *document)
{
	const struct store_object *repository = NULL;

	if (!pass->definition.nodes[node].is_git ||
		!origin_find(pass->view, flow_pass_application(pass, node), pass->arena,
			&repository) ||
		!repository)
		return;
	json_set_string(pass->arena, document, "repository", repository_facts(repository)->url);
	json_set_string(pass->arena, document, "branch", repository_facts(repository)->branch);
}

static struct json *show_node(struct flow_pass *pass, uint32_t node)
{
	const struct flow_node_definition *definition = &pass->definition.nodes[node];
	const struct flow_node_rules *rules = &pass->definition.node_rules[node];
	const struct flow_node_record *record = flow_engine_node(pass->engine, node);
	struct arena *arena = pass->arena;
	struct json *depends = json_new_array(arena), *document;
	struct span reason = flow_pass_reason(pass, node);
	const struct store_object *stored = flow_pass_node(pass, node)->stored;

	if (stored) {
		document = flow_api_node_document(arena, stored);
	} else {
		document = json_new_object(arena);
		json_set_integer(arena, document, "node", node);
		json_set_string(arena, document, "state",
			span_of(flow_node_state_name(record->state)));
	}
	json_set_string(arena, document, "application", definition->name);
	FLOW_EACH_DEPENDENCY(pass->definition.graph, node, dependency)
	json_append(arena, depends,
		json_new_string(arena, pass->definition.nodes[*dependency].name));
	json_set(arena, document, "depends", depends);
	add_repository(pass, node, document);
	json_unset(document, "reason");
	if (reason.length > 0)
		json_set_string(arena, document, "reason", reason);
	if (record->cause != FLOW_NO_NODE)
		json_set_string(arena, document, "cause",
			pass->definition.nodes[record->cause].name);
	if (rules->requires_approval)
		json_set_bool(arena, document, "requiresApproval", true);
	if (rules->soak_ms > 0)
		json_set_integer(arena, document, "soakSeconds", rules->soak_ms / 1000);
	if (record->state == FLOW_NODE_WAITING_APPROVAL)
		add_approval(pass, node, document);
	return document;
}

static int show(struct aws_request *request, struct flow_pass *pass)
{
	struct json *document = flow_api_document(request->arena, pass->object),
		    *nodes = json_new_array(request->arena);
	uint32_t count = pass->definition.graph->node_count, node = 0;
	struct aws_page page;
	uint64_t first;

	if (aws_page_read(request, NODES_PAGE, NODES_PAGE, pass->key, &page) < 0)
		return -EPERM;
	if (page.after_key.data && span_to_unsigned(page.after_key, FLOW_NODES_MAX, &first))
		node = (uint32_t)first;
	for (; node < count && json_count(nodes) < page.most; node++)
		json_append(request->arena, nodes, show_node(pass, node));
	json_set_string(request->arena, document, "onFailure",
		span_of(flow_failure_policy_name(pass->definition.rules.on_failure)));
	json_set(request->arena, document, "nodes", nodes);
	if (node < count)
		json_set_string(request->arena, document, "nextToken",
			aws_page_token(request, pass->key, SPAN(""),
				arena_format(request->arena, "%u", node)));
	json_write(document, request->out);
	return 0;
}

/* The records that are left need not agree with each other. */
static int show_damaged(struct aws_request *request, const struct store_object *flow)
{
	struct json *document = flow_api_document(request->arena, flow);

	json_set_string(request->arena, document, "reason", SPAN(FLOW_DAMAGED_TEXT));
	/* Its nodes are left as they are. */
	json_set_string(request->arena, document, "onFailure",
		span_of(flow_failure_policy_name(FLOW_ON_FAILURE_CONTINUE)));
	json_set(request->arena, document, "nodes", json_new_array(request->arena));
	json_write(document, request->out);
	return 0;
}

int flow_api_get(struct aws_request *request)
{
	struct flow_pass pass = {
		.view = request->view, .arena = request->arena, .now_ms = request->now_ms};
	int code;

	if (flow_api_find(request, &pass.object) < 0)
		return -EPERM;
	pass.key = pass.object->key;
	pass.facts = *flow_facts(pass.object);
	if (pass.facts.is_damaged || !store_get(request->view, &flow_graph_kind, pass.key))
		return show_damaged(request, pass.object);
	if (flow_pass_load(&pass, NULL, &request->err) < 0)
		return aws_fail_store(request);
	code = show(request, &pass);
	flow_pass_unload(&pass, NULL, 0);
	return code;
}
