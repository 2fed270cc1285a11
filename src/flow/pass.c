/* See the header. */
#include "flow/pass.h"

#include "base/memory.h"
#include "pipeline/deployments.h"

void flow_pass_again_at(struct flow_pass *pass, int64_t wall_ms)
{
	if (pass->again_ms == 0 || wall_ms < pass->again_ms)
		pass->again_ms = wall_ms;
}

int flow_pass_apply_event(struct flow_pass *pass, struct flow_event *event, struct err *err)
{
	event->now_ms = pass->now_ms;
	return flow_engine_apply(pass->engine, event, err);
}

int flow_pass_apply(struct flow_pass *pass, enum flow_event_type type, uint32_t node,
	struct err *err)
{
	struct flow_event event = {.type = type, .node = node};

	if (flow_event_is_of_node(type))
		event.run = flow_engine_node(pass->engine, node)->run;
	return flow_pass_apply_event(pass, &event, err);
}

struct span flow_pass_application(const struct flow_pass *pass, uint32_t node)
{
	return application_key(pass->arena, pass->facts.account, pass->definition.nodes[node].name);
}

struct json *flow_pass_document(struct flow_pass *pass, uint32_t node)
{
	struct flow_pass_node *at = &pass->nodes[node];
	struct json *stored;

	at->must_write = true;
	if (at->document)
		return at->document;
	at->document = json_new_object(pass->arena);
	if (at->stored && json_parse(at->stored->api, pass->arena, &stored, NULL) == 0)
		at->document = stored;
	return at->document;
}

void flow_pass_set_detail(struct flow_pass *pass, uint32_t node, struct span detail)
{
	struct flow_pass_node *at = &pass->nodes[node];
	bool must_write = at->must_write;
	struct json *document = flow_pass_document(pass, node);
	struct span before = json_get_text(document, "detail");

	at->must_write = must_write || !span_equal(before.data ? before : SPAN(""), detail);
	json_unset(document, "detail");
	if (detail.length > 0)
		json_set_string(pass->arena, document, "detail", detail);
}

static const char *ended_as(const struct flow_node_record *cause)
{
	switch ((enum flow_node_state)cause->state) {
	case FLOW_NODE_DISABLED: return "is disabled for flows";
	case FLOW_NODE_CANCELLED: return "was cancelled";
	default: return "failed";
	}
}

struct span flow_pass_reason(const struct flow_pass *pass, uint32_t node)
{
	const struct flow_node_record *record = flow_engine_node(pass->engine, node), *cause;
	enum flow_reason reason = record->reason;

	if (record->cause == FLOW_NO_NODE)
		return span_of(flow_reason_text(reason));
	cause = flow_engine_node(pass->engine, record->cause);
	/* The cause of the cause, unless the state says it all. */
	return arena_format(pass->arena, "%s%s%.*s %s%s%s", flow_reason_text(reason),
		reason == FLOW_REASON_NONE ? "" : ": ",
		SPAN_ARGS(pass->definition.nodes[record->cause].name), ended_as(cause),
		cause->state == FLOW_NODE_DISABLED ? "" : ": ",
		cause->state == FLOW_NODE_DISABLED
			? ""
			: flow_reason_text((enum flow_reason)cause->reason));
}

bool flow_pass_find_deployment(const struct flow_pass *pass, struct span application,
	struct span id, struct deployment_record *ret_record)
{
	const struct store_object *object =
		id.length == 0 ? NULL
			       : store_get(pass->view, &deployment_kind,
					 deployment_key(pass->arena, application, id));

	return object && deployment_read(object, pass->arena, ret_record, NULL) == 0;
}

/* ---- loading ---- */

static void read_stored(struct flow_pass *pass, struct flow_node_record *records)
{
	struct store_cursor cursor = {.view = pass->view,
		.kind = &flow_node_kind,
		.index = -1,
		.prefix = arena_format(pass->arena, "%.*s/", SPAN_ARGS(pass->key))};
	const struct store_object *object;

	while ((object = store_next(&cursor))) {
		const struct flow_node_facts *facts = flow_node_facts(object);

		if (facts->node >= pass->definition.graph->node_count)
			continue;
		records[facts->node] = flow_node_facts_record(facts);
		pass->nodes[facts->node].facts = *facts;
		pass->nodes[facts->node].stored = object;
	}
}

static void set_defaults(struct flow_pass_node *node)
{
	struct span *const texts[] = {&node->facts.plan, &node->facts.commit, &node->facts.from,
		&node->facts.digest, &node->facts.plan_deployment, &node->facts.deployment,
		&node->facts.before, &node->facts.undo};

	for (size_t i = 0; i < LENGTH(texts); i++)
		*texts[i] = SPAN("");
}

int flow_pass_load(struct flow_pass *pass, struct err *err)
{
	const struct store_object *graph = store_get(pass->view, &flow_graph_kind, pass->key);
	const struct flow_record record = flow_facts_record(&pass->facts);
	struct flow_node_record *records;
	struct flow_engine *initial;
	uint32_t count;
	int code = graph ? flow_definition_read(graph->api, pass->arena, &pass->definition, err)
			 : err_set(err, -ENOENT, "the graph of flow %.*s is missing",
				   SPAN_ARGS(pass->facts.id));

	if (code < 0)
		return code;
	count = pass->definition.graph->node_count;
	pass->nodes = arena_allocate_array(pass->arena, count, sizeof(*pass->nodes));
	records = arena_allocate_array(pass->arena, count, sizeof(*records));
	initial = flow_engine_new(pass->definition.graph, &pass->definition.rules,
		pass->definition.node_rules, pass->facts.created_ms);
	for (uint32_t i = 0; i < count; i++) {
		records[i] = *flow_engine_node(initial, i);
		set_defaults(&pass->nodes[i]);
		flow_node_facts_set_record(&pass->nodes[i].facts, &records[i], pass->arena);
	}
	flow_engine_free(initial);
	read_stored(pass, records);
	pass->engine = flow_engine_restore(pass->definition.graph, &pass->definition.rules,
		pass->definition.node_rules, &record, records, pass->now_ms);
	return 0;
}
