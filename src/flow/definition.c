/* See the header. */
#include "flow/definition.h"

#include "base/memory.h"

/* ---- writing ---- */

static void set_flag(struct arena *arena, struct json *object, const char *name, bool value)
{
	if (value)
		json_set_bool(arena, object, name, true);
}

static void write_approval(struct arena *arena, struct json *object,
	const struct flow_approval_rules *rules)
{
	struct json *approvers = json_new_array(arena);

	for (size_t i = 0; i < rules->approver_count; i++)
		json_append(arena, approvers, json_new_string(arena, rules->approvers[i]));
	if (rules->approver_count > 0)
		json_set(arena, object, "approvers", approvers);
	if (rules->minimum > 1)
		json_set_integer(arena, object, "minApprovers", rules->minimum);
	set_flag(arena, object, "excludesRequester", rules->excludes_requester);
}

static struct json *write_node(const struct flow_definition *definition, uint32_t index,
	struct arena *arena)
{
	const struct flow_node_definition *node = &definition->nodes[index];
	const struct flow_node_rules *rules = &definition->node_rules[index];
	struct json *value = json_new_object(arena), *depends = json_new_array(arena);

	json_set_string(arena, value, "name", node->name);
	FLOW_EACH_DEPENDENCY(definition->graph, index, dependency)
	json_append(arena, depends, json_new_integer(arena, *dependency));
	if (json_array_count(depends) > 0)
		json_set(arena, value, "depends", depends);
	set_flag(arena, value, "disabled", rules->is_disabled);
	set_flag(arena, value, "approval", rules->requires_approval);
	if (rules->soak_ms > 0)
		json_set_integer(arena, value, "soak", rules->soak_ms);
	set_flag(arena, value, "chain", node->is_chain);
	set_flag(arena, value, "files", node->has_files);
	set_flag(arena, value, "latest", node->is_latest);
	set_flag(arena, value, "git", node->is_git);
	if (node->commit.length > 0)
		json_set_string(arena, value, "commit", node->commit);
	if (node->source != FLOW_COMMIT_FROM_NONE)
		json_set_integer(arena, value, "source", node->source);
	if (node->from.length > 0)
		json_set_string(arena, value, "from", node->from);
	write_approval(arena, value, &node->approval);
	return value;
}

struct json *flow_definition_write(const struct flow_definition *definition, struct arena *arena)
{
	const struct flow_rules *rules = &definition->rules;
	struct json *document = json_new_object(arena), *nodes = json_new_array(arena);

	json_set_string(arena, document, "onFailure",
		span_of(flow_failure_policy_name(rules->on_failure)));
	json_set_integer(arena, document, "syncTimeout", rules->sync_timeout_ms);
	json_set_integer(arena, document, "queueTimeout", rules->queue_timeout_ms);
	json_set_integer(arena, document, "approvalTimeout", rules->approval_timeout_ms);
	for (uint32_t i = 0; i < definition->graph->node_count; i++)
		json_append(arena, nodes, write_node(definition, i, arena));
	json_set(arena, document, "nodes", nodes);
	return document;
}

/* ---- reading ---- */

static struct span text_of(const struct json *object, const char *name)
{
	struct span text = json_get_text(object, name);

	return text.data ? text : SPAN("");
}

static struct span copy_text(struct arena *arena, const struct json *object, const char *name)
{
	return arena_copy_span(arena, text_of(object, name));
}

static struct flow_approval_rules read_approval(struct arena *arena, const struct json *value)
{
	const struct json *list = json_get(value, "approvers");
	size_t count = json_array_count(list), at = 0;
	struct span *approvers = arena_allocate_array(arena, count, sizeof(*approvers));

	JSON_EACH_ITEM (list, item)
		approvers[at++] =
			arena_copy_span(arena, item->type == JSON_STRING ? item->text : SPAN(""));
	return (struct flow_approval_rules){.approvers = approvers,
		.approver_count = count,
		.minimum = json_get_integer(value, "minApprovers", 1),
		.excludes_requester = json_get_bool(value, "excludesRequester", false)};
}

static int read_nodes(const struct json *nodes, struct arena *arena,
	struct flow_definition *definition, struct flow_edge *edges, uint32_t *ret_edge_count,
	struct err *err)
{
	uint32_t index = 0, count = (uint32_t)json_array_count(nodes), edge_count = 0;

	JSON_EACH_ITEM (nodes, value) {
		int64_t source = json_get_integer(value, "source", 0);

		definition->nodes[index] =
			(struct flow_node_definition){.name = copy_text(arena, value, "name"),
				.is_chain = json_get_bool(value, "chain", false),
				.has_files = json_get_bool(value, "files", false),
				.is_latest = json_get_bool(value, "latest", false),
				.is_git = json_get_bool(value, "git", false),
				.commit = copy_text(arena, value, "commit"),
				.source = (enum flow_commit_source)source,
				.from = copy_text(arena, value, "from"),
				.approval = read_approval(arena, value)};
		if (source < 0 || source >= FLOW_COMMIT_SOURCE_COUNT)
			return err_set(err, -EINVAL,
				"node %u of a stored flow has an unknown source", index);
		definition->node_rules[index] = (struct flow_node_rules){
			.is_disabled = json_get_bool(value, "disabled", false),
			.requires_approval = json_get_bool(value, "approval", false),
			.soak_ms = json_get_integer(value, "soak", 0)};
		JSON_EACH_ITEM (json_get(value, "depends"), item) {
			int64_t dependency = -1;

			if (!json_integer(item, &dependency) || dependency < 0 ||
				dependency >= count || edge_count == FLOW_EDGES_MAX)
				return err_set(err, -EINVAL,
					"node %u of a stored flow has a bad dependency", index);
			edges[edge_count++] = (struct flow_edge){index, (uint32_t)dependency};
		}
		index++;
	}
	*ret_edge_count = edge_count;
	return 0;
}

static enum flow_failure_policy find_policy(struct span name)
{
	for (unsigned i = 0; i <= FLOW_ON_FAILURE_ROLLBACK; i++) {
		if (span_is(name, flow_failure_policy_name((enum flow_failure_policy)i)))
			return (enum flow_failure_policy)i;
	}
	return FLOW_ON_FAILURE_CONTINUE;
}

int flow_definition_read(struct span text, struct arena *arena,
	struct flow_definition *ret_definition, struct err *err)
{
	struct flow_definition definition;
	struct flow_edge *edges;
	const struct json *nodes;
	uint32_t edge_count = 0, count;
	_arena_ struct arena *scratch = arena_new(0);
	struct json *document;
	int code = json_parse(text, scratch, &document, err);

	if (code < 0)
		return code;
	nodes = json_get(document, "nodes");
	count = (uint32_t)json_array_count(nodes);
	if (count == 0 || count > FLOW_NODES_MAX)
		return err_set(err, -EINVAL, "a stored flow has %u nodes", count);
	definition = (struct flow_definition){
		.rules = {.on_failure = find_policy(text_of(document, "onFailure")),
			.sync_timeout_ms = json_get_integer(document, "syncTimeout", 0),
			.queue_timeout_ms = json_get_integer(document, "queueTimeout", 0),
			.approval_timeout_ms = json_get_integer(document, "approvalTimeout", 0)},
		.node_rules = arena_allocate_array(arena, count, sizeof(struct flow_node_rules)),
		.nodes = arena_allocate_array(arena, count, sizeof(struct flow_node_definition))};
	edges = memory_allocate_array(FLOW_EDGES_MAX, sizeof(*edges));
	code = read_nodes(nodes, arena, &definition, edges, &edge_count, err);
	if (code >= 0) {
		definition.graph = flow_graph_new(arena, count, edges, edge_count);
		*ret_definition = definition;
	}
	free(edges);
	return code;
}

uint32_t flow_definition_find(const struct flow_definition *definition, struct span name)
{
	for (uint32_t i = 0; i < definition->graph->node_count; i++) {
		if (span_equal(definition->nodes[i].name, name))
			return i;
	}
	return FLOW_NO_NODE;
}
