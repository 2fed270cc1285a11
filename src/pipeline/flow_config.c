/* See the header. */
#include "pipeline/flow_config.h"

#include "base/map.h"
#include "base/memory.h"

#define MINUTE_MS (INT64_C(60) * 1000)
#define SYNC_TIMEOUT_MS (10 * MINUTE_MS)
#define QUEUE_TIMEOUT_MS (60 * MINUTE_MS)
#define APPROVAL_TIMEOUT_MS (6 * 60 * MINUTE_MS)
#define FIELDS(array) .fields = (array), .count = LENGTH(array)
#define CYCLE_NODES_SHOWN 16

static const char *const policies[] = {
#define FLOW_FAILURE_POLICY_NAME(name, text) text,
	FLOW_FAILURE_POLICIES(FLOW_FAILURE_POLICY_NAME)
#undef FLOW_FAILURE_POLICY_NAME
		NULL,
};
static const char *const commits[] = {"frozen", "latest", NULL};

/* ---- tables ---- */

#define CONDITION(member) .offset = offsetof(struct flow_condition, member)
static const struct field condition_fields[] = {
	{"commitPrefix", FIELD_TEXT, CONDITION(commit_prefix), .required = true},
};
static const struct field_table condition_table = {
	FIELDS(condition_fields), .size = sizeof(struct flow_condition)};

#define NODE(member) .offset = offsetof(struct flow_node_config, member)
static const struct field node_fields[] = {
	{"appName", FIELD_TEXT, NODE(name), .required = true},
	{"depends", FIELD_VALUE, NODE(depends)},
	{"requireApproval", FIELD_BOOL, NODE(requires_approval)},
	{"approvers", FIELD_TEXTS, NODE(approvers)},
	{"minApproverNum", FIELD_COUNT, NODE(minimum_approvers)},
	{"excludeRequester", FIELD_BOOL, NODE(excludes_requester)},
	{"commit", FIELD_CHOICE, NODE(commit), .choices = commits},
	{"soak", FIELD_DURATION, NODE(soak_ms)},
};
static const struct flow_node_config node_defaults = {.soak_ms = -1, .minimum_approvers = -1};
static const struct field_table node_table = {
	FIELDS(node_fields), .defaults = &node_defaults, .size = sizeof(struct flow_node_config)};

#define BLOCK(member) .offset = offsetof(struct flow_block, member)
static const struct field block_fields[] = {
	{"name", FIELD_TEXT, BLOCK(name)},
	{"kind", FIELD_TEXT, BLOCK(kind)},
	{"labels", FIELD_PAIRS, BLOCK(labels)},
};
static const struct field_table block_table = {
	FIELDS(block_fields), .size = sizeof(struct flow_block)};

#define FLOW(member) .offset = offsetof(struct flow_config, member)
#define OPTION_FIELDS                                                                              \
	{"conditions", FIELD_MANY, FLOW(conditions), .inner = &condition_table},                   \
		{"onFailure", FIELD_CHOICE, FLOW(on_failure), .choices = policies},                \
		{"soak", FIELD_DURATION, FLOW(soak_ms)},                                           \
		{"syncTimeout", FIELD_DURATION, FLOW(sync_timeout_ms)},                            \
		{"queueTimeout", FIELD_DURATION, FLOW(queue_timeout_ms)},                          \
	{                                                                                          \
		"approvalTimeout", FIELD_DURATION, FLOW(approval_timeout_ms)                       \
	}
static const struct field flow_fields[] = {
	{"graph", FIELD_MANY, FLOW(nodes), .inner = &node_table, .required = true}, OPTION_FIELDS};
static const struct field_table flow_table = {FIELDS(flow_fields)};
static const struct field chain_fields[] = {
	{"applications", FIELD_MANY, FLOW(blocks), .inner = &block_table, .required = true},
	OPTION_FIELDS};
static const struct field_table chain_table = {FIELDS(chain_fields)};

struct post_sync {
	const struct json *flow, *chain;
};
#define POST_SYNC(member) .offset = offsetof(struct post_sync, member)
static const struct field post_sync_fields[] = {
	{"flow", FIELD_VALUE, POST_SYNC(flow)},
	{"chain", FIELD_VALUE, POST_SYNC(chain)},
};
static const struct field_table post_sync_table = {FIELDS(post_sync_fields)};

const char *flow_failure_policy_name(enum flow_failure_policy policy)
{
	return policies[policy];
}

/* ---- checks of the file alone ---- */

/* Tables do not keep the lines of the items. */
static void take_lines(const struct json *list, const struct field_list *items, size_t size)
{
	char *item = items->items;

	JSON_EACH_ITEM (list, value) {
		*(uint32_t *)item = value->line; /* the first member of each structure */
		item += size;
	}
}

static int check_conditions(struct field_reader *reader, const struct flow_config *config)
{
	const struct flow_condition *conditions = config->conditions.items;

	for (size_t i = 0; i < config->conditions.count; i++) {
		if (conditions[i].commit_prefix.length == 0)
			return fields_fail(reader, conditions[i].line,
				"commitPrefix is empty; every commit starts the flow when there "
				"are no conditions");
	}
	return 0;
}

static int check_approvers(struct field_reader *reader, uint32_t line,
	const struct field_list *approvers)
{
	const struct span *names = approvers->items;

	if (approvers->count == 0)
		return fields_fail(reader, line,
			"approvers is empty; without it every user with the right to write may "
			"approve");
	if (approvers->count > FLOW_APPROVERS_MAX)
		return fields_fail(reader, line, "approvers has more than %d items",
			FLOW_APPROVERS_MAX);
	for (size_t i = 0; i < approvers->count; i++) {
		if (names[i].length == 0)
			return fields_fail(reader, line, "approvers has an empty name");
		for (size_t j = 0; j < i; j++) {
			if (span_equal(names[i], names[j]))
				return fields_fail(reader, line,
					"approvers: user \"%.*s\" is listed twice",
					SPAN_ARGS(names[i]));
		}
	}
	return 0;
}

static int check_minimum(struct field_reader *reader, uint32_t line,
	const struct flow_node_config *node)
{
	if (node->minimum_approvers == 0 || node->minimum_approvers > FLOW_APPROVERS_MAX)
		return fields_fail(reader, line, "minApproverNum: expected 1 to %d",
			FLOW_APPROVERS_MAX);
	if (node->approvers.count > 0 && node->minimum_approvers > (int64_t)node->approvers.count)
		return fields_fail(reader, line,
			"minApproverNum is %d, but only %zu approvers are listed",
			(int)node->minimum_approvers, node->approvers.count);
	return 0;
}

/* value: the node in the file. */
static int check_approval(struct field_reader *reader, const struct json *value,
	const struct flow_node_config *node)
{
	static const char *const keys[] = {"approvers", "minApproverNum", "excludeRequester"};
	const struct json *found[LENGTH(keys)];
	int code = 0;

	for (size_t i = 0; i < LENGTH(keys); i++) {
		found[i] = fields_find(value, keys[i]);
		if (found[i] && !node->requires_approval)
			return fields_fail(reader, found[i]->line,
				"%s has no effect without requireApproval: true", keys[i]);
	}
	if (found[0])
		code = check_approvers(reader, found[0]->line, &node->approvers);
	return code < 0 || !found[1] ? code : check_minimum(reader, found[1]->line, node);
}

static int check_approvals(struct field_reader *reader, const struct json *graph,
	const struct flow_config *config)
{
	const struct flow_node_config *node = config->nodes.items;

	JSON_EACH_ITEM (graph, value) {
		int code = check_approval(reader, value, node++);

		if (code < 0)
			return code;
	}
	return 0;
}

static int check_names(struct field_reader *reader, const struct flow_config *config,
	struct span head, struct map *names)
{
	struct flow_node_config *nodes = config->nodes.items;

	for (size_t i = 0; i < config->nodes.count; i++) {
		const struct flow_node_config *other;

		if (nodes[i].name.length == 0)
			return fields_fail(reader, nodes[i].line, "appName is empty");
		if (head.length > 0 && span_equal(nodes[i].name, head))
			return fields_fail(reader, nodes[i].line,
				"application \"%.*s\" is the head of this flow and cannot be in "
				"its graph",
				SPAN_ARGS(head));
		other = map_put(names, nodes[i].name, &nodes[i]);
		if (other)
			return fields_fail(reader, nodes[i].line,
				"application \"%.*s\" is in the graph twice (first on line %u)",
				SPAN_ARGS(nodes[i].name), other->line);
	}
	return 0;
}

static struct span suggest_name(struct field_reader *reader, const struct flow_config *config,
	struct span name)
{
	const struct flow_node_config *nodes = config->nodes.items;
	struct span *known =
		arena_allocate_array(reader->arena, config->nodes.count, sizeof(*known));

	for (size_t i = 0; i < config->nodes.count; i++)
		known[i] = nodes[i].name;
	return fields_suggest(reader->arena, name, known, config->nodes.count);
}

struct edge_list {
	struct flow_edge *edges;
	size_t count;
};

static int add_edge(struct field_reader *reader, uint32_t line, struct edge_list *list,
	uint32_t node, uint32_t dependency)
{
	if (list->count == FLOW_EDGES_MAX)
		return fields_fail(reader, line, "the graph has more than %d dependencies",
			FLOW_EDGES_MAX);
	list->edges[list->count++] = (struct flow_edge){node, dependency};
	return 0;
}

static int read_dependency(struct field_reader *reader, const struct flow_config *config,
	const struct map *names, const struct flow_node_config *node, const struct json *item,
	struct edge_list *list, uint32_t *seen)
{
	const struct flow_node_config *nodes = config->nodes.items, *other;
	uint32_t index = (uint32_t)(node - nodes);

	if (item->type != JSON_STRING)
		return fields_fail(reader, item->line,
			"depends: expected a text in each item, not %s",
			json_type_name(item->type));
	if (span_equal(item->text, node->name))
		return fields_fail(reader, item->line, "node \"%.*s\" depends on itself",
			SPAN_ARGS(node->name));
	other = map_get(names, item->text);
	if (!other)
		return fields_fail(reader, item->line,
			"node \"%.*s\" depends on \"%.*s\", which is not in the graph%s",
			SPAN_ARGS(node->name), SPAN_ARGS(item->text),
			suggest_name(reader, config, item->text).data);
	if (seen[other - nodes] == index + 1)
		return fields_fail(reader, item->line, "node \"%.*s\" depends on \"%.*s\" twice",
			SPAN_ARGS(node->name), SPAN_ARGS(other->name));
	seen[other - nodes] = index + 1;
	return add_edge(reader, item->line, list, index, (uint32_t)(other - nodes));
}

static int read_edges(struct field_reader *reader, const struct flow_config *config,
	const struct map *names, struct edge_list *list)
{
	const struct flow_node_config *nodes = config->nodes.items;
	uint32_t *seen = arena_allocate_array(reader->arena, config->nodes.count, sizeof(*seen));

	for (size_t i = 0; i < config->nodes.count; i++) {
		if (nodes[i].depends && nodes[i].depends->type != JSON_ARRAY)
			return fields_fail(reader, nodes[i].depends->line,
				"depends: expected a list of texts, not %s",
				json_type_name(nodes[i].depends->type));
		JSON_EACH_ITEM (nodes[i].depends, item) {
			int code =
				read_dependency(reader, config, names, &nodes[i], item, list, seen);

			if (code < 0)
				return code;
		}
	}
	return 0;
}

static int fail_cycle(struct field_reader *reader, const struct flow_node_config *nodes,
	const uint32_t *path, uint32_t length)
{
	_buffer_ struct buffer text = BUFFER_WITH_CAP(0);

	for (uint32_t i = 0; i < length; i++) {
		if (length > CYCLE_NODES_SHOWN && i == CYCLE_NODES_SHOWN - 2) {
			buffer_add_string(&text, " -> …");
			i = length - 2;
		}
		buffer_format(&text, "%s%.*s", i > 0 ? " -> " : "", SPAN_ARGS(nodes[path[i]].name));
	}
	return fields_fail(reader, nodes[path[0]].line, "cycle: %s", buffer_span(&text).data);
}

static int make_graph(struct field_reader *reader, const struct flow_config *config,
	const struct map *names, struct flow_graph **ret_graph)
{
	struct edge_list list = {memory_allocate_array(FLOW_EDGES_MAX, sizeof(*list.edges)), 0};
	uint32_t *path = NULL, length;
	int code = read_edges(reader, config, names, &list);

	if (code >= 0) {
		struct flow_graph *graph = flow_graph_new(reader->arena,
			(uint32_t)config->nodes.count, list.edges, (uint32_t)list.count);

		length = flow_graph_find_cycle(graph, reader->arena, &path);
		if (length > 0)
			code = fail_cycle(reader, config->nodes.items, path, length);
		else
			*ret_graph = graph;
	}
	free(list.edges);
	return code;
}

static int check_graph(struct field_reader *reader, const struct flow_config *config,
	struct span head)
{
	_map_ struct map names = {0};
	struct flow_graph *graph;
	int code = check_names(reader, config, head, &names);

	return code < 0 ? code : make_graph(reader, config, &names, &graph);
}

static int check_blocks(struct field_reader *reader, const struct flow_config *config,
	struct span head)
{
	struct flow_block *blocks = config->blocks.items;

	for (size_t i = 0; i < config->blocks.count; i++) {
		/* An empty text counts as absent. */
		if (blocks[i].name.length == 0)
			blocks[i].name = SPAN_NONE;
		if (blocks[i].kind.length == 0)
			blocks[i].kind = SPAN_NONE;
		if (blocks[i].name.length == 0 && blocks[i].kind.length == 0 &&
			blocks[i].labels.count == 0)
			return fields_fail(reader, blocks[i].line,
				"name, kind or labels is missing");
		if (head.length > 0 && blocks[i].name.data && span_equal(blocks[i].name, head))
			return fields_fail(reader, blocks[i].line,
				"application \"%.*s\" is the head of this chain and cannot be in "
				"it",
				SPAN_ARGS(head));
	}
	return 0;
}

/* ---- reading ---- */

static int check_size(struct field_reader *reader, const struct json *list, const char *path,
	int most)
{
	if (list->array.count == 0)
		return fields_fail(reader, list->line, "%s is empty", path);
	if (list->array.count > (uint32_t)most)
		return fields_fail(reader, list->line, "%s has more than %d items", path, most);
	return 0;
}

static int read_flow(struct field_reader *reader, const struct json *value, struct span head,
	struct flow_config *config)
{
	const struct json *graph = fields_find(value, "graph");
	int code = json_is(graph, JSON_ARRAY)
			   ? check_size(reader, graph, "spec.postSync.flow.graph", FLOW_NODES_MAX)
			   : 0;

	if (code >= 0)
		code = fields_read(reader, &flow_table, "spec.postSync.flow", value, config);
	if (code < 0)
		return code;
	take_lines(graph, &config->nodes, sizeof(struct flow_node_config));
	take_lines(fields_find(value, "conditions"), &config->conditions,
		sizeof(struct flow_condition));
	code = check_approvals(reader, graph, config);
	return code < 0 ? code : check_graph(reader, config, head);
}

static int read_chain(struct field_reader *reader, const struct json *value, struct span head,
	struct flow_config *config)
{
	const struct json *blocks = fields_find(value, "applications");
	int code = json_is(blocks, JSON_ARRAY)
			   ? check_size(reader, blocks, "spec.postSync.chain.applications",
				     FLOW_BLOCKS_MAX)
			   : 0;

	config->is_chain = true;
	if (code >= 0)
		code = fields_read(reader, &chain_table, "spec.postSync.chain", value, config);
	if (code < 0)
		return code;
	take_lines(blocks, &config->blocks, sizeof(struct flow_block));
	take_lines(fields_find(value, "conditions"), &config->conditions,
		sizeof(struct flow_condition));
	return check_blocks(reader, config, head);
}

int flow_config_read(struct span file, const struct json *post_sync, struct span head,
	struct arena *arena, struct flow_config **ret_config, struct err *err)
{
	struct field_reader reader = {.file = file, .arena = arena, .err = err};
	struct post_sync parts = {0};
	struct flow_config *config;
	int code;

	if (json_is_absent(post_sync)) {
		*ret_config = NULL;
		return 0;
	}
	code = fields_read(&reader, &post_sync_table, "spec.postSync", post_sync, &parts);
	if (code < 0)
		return code;
	if (parts.flow && parts.chain)
		return fields_fail(&reader, parts.chain->line,
			"spec.postSync has flow and chain; one of them is enough");
	if (!parts.flow && !parts.chain) {
		*ret_config = NULL;
		return 0;
	}
	config = arena_allocate(arena, sizeof(*config));
	*config = (struct flow_config){.file = file,
		.sync_timeout_ms = SYNC_TIMEOUT_MS,
		.queue_timeout_ms = QUEUE_TIMEOUT_MS,
		.approval_timeout_ms = APPROVAL_TIMEOUT_MS};
	code = parts.flow ? read_flow(&reader, parts.flow, head, config)
			  : read_chain(&reader, parts.chain, head, config);
	if (code >= 0)
		code = check_conditions(&reader, config);
	if (code < 0)
		return code;
	*ret_config = config;
	return 0;
}

bool flow_config_conditions_hold(const struct flow_config *config, struct span commit_message)
{
	const struct flow_condition *conditions = config->conditions.items;

	for (size_t i = 0; i < config->conditions.count; i++) {
		if (span_starts_with(commit_message, conditions[i].commit_prefix))
			return true;
	}
	return config->conditions.count == 0;
}

/* ---- names to applications ---- */

struct resolver {
	struct field_reader reader;
	const struct flow_config *config;
	const struct flow_application *applications;
	size_t count;
	struct span head;
};

static int resolve_name(struct resolver *resolver, const struct map *by_name, size_t same_name,
	const struct flow_node_config *node, struct flow_plan_node *ret_node)
{
	const struct flow_application *found = map_get(by_name, node->name);

	if (!found) {
		struct span *known = arena_allocate_array(resolver->reader.arena,
			resolver->count + 1, sizeof(*known));

		for (size_t i = 0; i < resolver->count; i++)
			known[i] = resolver->applications[i].name;
		return fields_fail(&resolver->reader, node->line,
			"application \"%.*s\" does not exist in this account%s",
			SPAN_ARGS(node->name),
			fields_suggest(resolver->reader.arena, node->name, known, resolver->count)
				.data);
	}
	if (same_name > 1)
		return fields_fail(&resolver->reader, node->line,
			"%zu applications of this account are called \"%.*s\"", same_name,
			SPAN_ARGS(node->name));
	if (span_equal(found->id, resolver->head))
		return fields_fail(&resolver->reader, node->line,
			"application \"%.*s\" is the head of this flow and cannot be in its graph",
			SPAN_ARGS(node->name));
	*ret_node = (struct flow_plan_node){found, node, !found->on_flow};
	return 0;
}

static size_t count_name(const struct resolver *resolver, struct span name)
{
	size_t count = 0;

	for (size_t i = 0; i < resolver->count; i++)
		count += span_equal(resolver->applications[i].name, name);
	return count;
}

static int resolve_nodes(struct resolver *resolver, struct flow_plan *plan)
{
	const struct flow_node_config *nodes = resolver->config->nodes.items;
	_map_ struct map names = {0}, by_name = {0}, repeated = {0};
	struct flow_graph *graph = NULL;
	int code = 0;

	for (size_t i = 0; i < resolver->count; i++) {
		struct span name = resolver->applications[i].name;

		if (map_put(&by_name, name, (void *)&resolver->applications[i]))
			map_put(&repeated, name, plan);
	}
	plan->nodes = arena_allocate_array(resolver->reader.arena, resolver->config->nodes.count,
		sizeof(*plan->nodes));
	for (size_t i = 0; i < resolver->config->nodes.count && code >= 0; i++) {
		map_put(&names, nodes[i].name, (void *)&nodes[i]);
		code = resolve_name(resolver, &by_name,
			map_has(&repeated, nodes[i].name) ? count_name(resolver, nodes[i].name) : 1,
			&nodes[i], &plan->nodes[i]);
	}
	if (code >= 0)
		code = make_graph(&resolver->reader, resolver->config, &names, &graph);
	plan->graph = graph;
	return code;
}

/* "ECS" and "ECSApp" are the same kind. */
static bool kind_matches(struct span wanted, struct span kind)
{
	static const struct span suffix = {"App", 3};

	if (span_equal(wanted, kind))
		return true;
	return span_ends_with(kind, suffix) &&
	       span_equal(wanted, (struct span){kind.data, kind.length - suffix.length});
}

static bool labels_match(const struct field_list *wanted, const struct field_list *labels)
{
	const struct field_pair *pairs = wanted->items, *others = labels ? labels->items : NULL;

	for (size_t i = 0; i < wanted->count; i++) {
		bool found = false;

		for (size_t j = 0; labels && j < labels->count && !found; j++)
			found = span_equal(pairs[i].name, others[j].name) &&
				span_equal(pairs[i].value, others[j].value);
		if (!found)
			return false;
	}
	return true;
}

static bool block_matches(const struct resolver *resolver, const struct flow_block *block,
	const struct flow_application *application)
{
	return !span_equal(application->id, resolver->head) &&
	       (!block->name.data || span_equal(block->name, application->name)) &&
	       (!block->kind.data || kind_matches(block->kind, application->kind)) &&
	       labels_match(&block->labels, application->labels);
}

static struct span describe_block(struct arena *arena, const struct flow_block *block)
{
	_buffer_ struct buffer text = BUFFER_WITH_CAP(0);
	const struct field_pair *labels = block->labels.items;

	if (block->name.data)
		buffer_format(&text, ", name %.*s", SPAN_ARGS(block->name));
	if (block->kind.data)
		buffer_format(&text, ", kind %.*s", SPAN_ARGS(block->kind));
	for (size_t i = 0; i < block->labels.count; i++)
		buffer_format(&text, ", label %.*s=%.*s", SPAN_ARGS(labels[i].name),
			SPAN_ARGS(labels[i].value));
	return arena_format(arena, "%s", buffer_span(&text).data + 2);
}

static int resolve_block(struct resolver *resolver, size_t index, uint32_t *block_of,
	struct field_list *nodes)
{
	const struct flow_block *block =
		&((const struct flow_block *)resolver->config->blocks.items)[index];
	size_t before = nodes->count;

	for (size_t i = 0; i < resolver->count; i++) {
		struct flow_plan_node *node;

		if (!block_matches(resolver, block, &resolver->applications[i]))
			continue;
		if (block_of[i] > 0)
			return fields_fail(&resolver->reader, block->line,
				"application \"%.*s\" is in block %u and in block %zu of the chain",
				SPAN_ARGS(resolver->applications[i].name), block_of[i], index + 1);
		if (nodes->count == FLOW_NODES_MAX)
			return fields_fail(&resolver->reader, block->line,
				"the chain has more than %d applications", FLOW_NODES_MAX);
		block_of[i] = (uint32_t)index + 1;
		node = fields_append(resolver->reader.arena, nodes, sizeof(*node));
		*node = (struct flow_plan_node){
			&resolver->applications[i], NULL, !resolver->applications[i].on_chain};
	}
	if (nodes->count == before)
		return fields_fail(&resolver->reader, block->line,
			"no application matches block %zu of the chain (%s)", index + 1,
			describe_block(resolver->reader.arena, block).data);
	return 0;
}

/* Each block depends on all of the one before. */
static int resolve_chain(struct resolver *resolver, struct flow_plan *plan)
{
	struct arena *arena = resolver->reader.arena;
	uint32_t *block_of = arena_allocate_array(arena, resolver->count + 1, sizeof(*block_of));
	struct edge_list list = {memory_allocate_array(FLOW_EDGES_MAX, sizeof(*list.edges)), 0};
	size_t before = 0, begin = 0;
	struct field_list nodes = {0};
	int code = 0;

	for (size_t i = 0; i < resolver->config->blocks.count && code >= 0; i++) {
		const struct flow_block *block =
			&((const struct flow_block *)resolver->config->blocks.items)[i];

		code = resolve_block(resolver, i, block_of, &nodes);
		for (size_t j = begin; j < nodes.count && code >= 0; j++) {
			for (size_t k = before; k < begin && code >= 0; k++)
				code = add_edge(&resolver->reader, block->line, &list, (uint32_t)j,
					(uint32_t)k);
		}
		before = begin;
		begin = nodes.count;
	}
	plan->nodes = nodes.items;
	plan->graph =
		flow_graph_new(arena, (uint32_t)nodes.count, list.edges, (uint32_t)list.count);
	free(list.edges);
	return code;
}

int flow_config_resolve(const struct flow_config *config,
	const struct flow_application *applications, size_t application_count, struct span head,
	struct arena *arena, struct flow_plan *ret_plan, struct err *err)
{
	struct resolver resolver = {.reader = {.file = config->file, .arena = arena, .err = err},
		.config = config,
		.applications = applications,
		.count = application_count,
		.head = head};
	struct flow_plan plan = {0};
	int code = config->is_chain ? resolve_chain(&resolver, &plan)
				    : resolve_nodes(&resolver, &plan);

	if (code >= 0)
		*ret_plan = plan;
	return code;
}
