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
	struct flow_pass_node *at = flow_pass_node(pass, node);
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
	struct flow_pass_node *at = flow_pass_node(pass, node);
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

/* ---- nodes ---- */

static void set_defaults(struct flow_pass_node *node)
{
	struct span *const texts[] = {&node->facts.plan, &node->facts.commit, &node->facts.from,
		&node->facts.digest, &node->facts.plan_deployment, &node->facts.deployment,
		&node->facts.before, &node->facts.undo};

	for (size_t i = 0; i < LENGTH(texts); i++)
		*texts[i] = SPAN("");
}

struct flow_pass_node *flow_pass_node(struct flow_pass *pass, uint32_t node)
{
	struct flow_pass_node **at = &pass->loaded->nodes[node];

	if (*at)
		return *at;
	*at = arena_allocate(pass->arena, sizeof(**at));
	*(uint32_t *)fields_append(pass->arena, &pass->read, sizeof(node)) = node;
	(*at)->stored =
		store_get(pass->view, &flow_node_kind, flow_node_key(pass->arena, pass->key, node));
	if ((*at)->stored) {
		(*at)->facts = *flow_node_facts((*at)->stored);
		return *at;
	}
	set_defaults(*at);
	flow_node_facts_set_record(&(*at)->facts, flow_engine_node(pass->engine, node),
		pass->arena);
	return *at;
}

static int compare_nodes(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return (left > right) - (left < right);
}

const uint32_t *flow_pass_nodes(struct flow_pass *pass, size_t *ret_count)
{
	if (pass->read.count > 0)
		qsort(pass->read.items, pass->read.count, sizeof(uint32_t), compare_nodes);
	*ret_count = pass->read.count;
	return pass->read.items;
}

/* ---- loading ---- */

static void read_records(const struct flow_pass *pass, uint32_t count,
	struct flow_node_record *records)
{
	struct store_cursor cursor = {.view = pass->view,
		.kind = &flow_node_kind,
		.index = -1,
		.prefix = arena_format(pass->arena, "%.*s/", SPAN_ARGS(pass->key))};
	const struct store_object *object;

	while ((object = store_next(&cursor))) {
		const struct flow_node_facts *facts = flow_node_facts(object);

		if (facts->node < count)
			records[facts->node] = flow_node_facts_record(facts);
	}
}

static void restore_engine(const struct flow_pass *pass, struct flow_loaded *loaded)
{
	const struct flow_definition *definition = &loaded->definition;
	const struct flow_record record = flow_facts_record(&pass->facts);
	uint32_t count = definition->graph->node_count;
	struct flow_node_record *records = memory_allocate_array(count, sizeof(*records));
	_flow_engine_ struct flow_engine *initial = flow_engine_new(definition->graph,
		&definition->rules, definition->node_rules, pass->facts.created_ms);

	for (uint32_t i = 0; i < count; i++)
		records[i] = *flow_engine_node(initial, i);
	read_records(pass, count, records);
	loaded->engine = flow_engine_restore(definition->graph, &definition->rules,
		definition->node_rules, &record, records, pass->now_ms);
	free(records);
}

static int read_flow(const struct flow_pass *pass, struct flow_loaded **ret_loaded, struct err *err)
{
	const struct store_object *graph = store_get(pass->view, &flow_graph_kind, pass->key);
	struct flow_loaded *loaded = memory_allocate(sizeof(*loaded));
	int code;

	loaded->arena = arena_new(0);
	code = graph ? flow_definition_read(graph->api, loaded->arena, &loaded->definition, err)
		     : err_set(err, -ENOENT, "the graph of flow %.*s is missing",
			       SPAN_ARGS(pass->facts.id));
	if (code < 0) {
		flow_loaded_free(loaded);
		return code;
	}
	loaded->nodes = memory_allocate_array(loaded->definition.graph->node_count,
		sizeof(struct flow_pass_node *));
	loaded->epoch = pass->claim.epoch;
	restore_engine(pass, loaded);
	*ret_loaded = loaded;
	return 0;
}

int flow_pass_load(struct flow_pass *pass, struct flow_cache *cache, struct err *err)
{
	struct flow_loaded *loaded =
		cache ? flow_cache_take(cache, pass->key, pass->claim.epoch, pass->object->revision)
		      : NULL;
	int code = loaded ? 0 : read_flow(pass, &loaded, err);

	if (code < 0)
		return code;
	pass->loaded = loaded;
	pass->definition = loaded->definition;
	pass->engine = loaded->engine;
	pass->revision = pass->object->revision;
	return 0;
}

void flow_pass_unload(struct flow_pass *pass, struct flow_cache *cache, int code)
{
	struct flow_loaded *loaded = pass->loaded;
	const uint32_t *read = pass->read.items;

	pass->loaded = NULL;
	pass->engine = NULL;
	if (!loaded)
		return;
	if (!cache || code < 0 ||
		flow_state_is_terminal(flow_engine_record(loaded->engine)->state)) {
		flow_loaded_free(loaded);
		return;
	}
	for (size_t i = 0; i < pass->read.count; i++)
		loaded->nodes[read[i]] = NULL;
	loaded->revision = pass->revision;
	flow_cache_put(cache, pass->key, loaded);
}

/* ---- a pass ---- */

int flow_pass_run(struct flow_pass *pass, struct flow_cache *cache, struct err *err)
{
	int64_t next_ms;
	int code = flow_pass_load(pass, cache, err);

	if (code >= 0 && pass->facts.state == FLOW_PENDING)
		flow_resolve_commits(pass);
	if (code >= 0)
		code = flow_observe(pass, err);
	if (code >= 0)
		code = flow_carry_out(pass, err);
	if (code >= 0 && (next_ms = flow_engine_next_ms(pass->engine)) > 0)
		flow_pass_again_at(pass, next_ms);
	flow_pass_unload(pass, cache, code);
	return code;
}
