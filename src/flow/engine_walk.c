/*
 * The rollback of a flow. It passes each node once all of the node's dependents are passed, and rolls back on its way what
 * the flow deployed; so a node is rolled back only after those that need it. When the rollback of a node fails, its
 * dependencies keep what the flow deployed.
 */
#include "flow/engine_internal.h"

static bool is_undoing(const struct flow_node_record *record)
{
	return record->state == FLOW_NODE_ROLLING_BACK;
}

static bool is_to_be_undone(const struct node *node)
{
	return node->record.is_deployed && !node->is_kept &&
	       node->record.reason != FLOW_REASON_ROLLBACK_FAILED;
}

static void keep_dependencies(struct flow_engine *engine, uint32_t failed)
{
	uint32_t depth = 0;

	engine->stack[depth++] = failed;
	while (depth > 0) {
		uint32_t node = engine->stack[--depth];

		FLOW_EACH_DEPENDENCY(engine->graph, node, dependency)
		{
			if (engine->nodes[*dependency].is_kept)
				continue;
			engine->nodes[*dependency].is_kept = true;
			engine->stack[depth++] = *dependency;
		}
	}
}

/* Nodes on the stack have no dependents left. */
static void walk(struct flow_engine *engine, uint32_t depth)
{
	while (depth > 0) {
		uint32_t node = engine->stack[--depth];
		struct node *at = &engine->nodes[node];

		if (is_undoing(&at->record))
			continue;
		if (is_to_be_undone(at)) {
			flow_engine_move(engine, node, FLOW_NODE_ROLLING_BACK, FLOW_PHASE_UNDOING);
			continue;
		}
		engine->walk_left--;
		FLOW_EACH_DEPENDENCY(engine->graph, node, dependency)
		{
			if (--engine->nodes[*dependency].waiting == 0)
				engine->stack[depth++] = *dependency;
		}
	}
}

void flow_engine_walk_begin(struct flow_engine *engine)
{
	const struct flow_graph *graph = engine->graph;
	uint32_t depth = 0;

	engine->walk_left = graph->node_count;
	for (uint32_t i = 0; i < graph->node_count; i++) {
		engine->nodes[i].waiting =
			graph->first_dependent[i + 1] - graph->first_dependent[i];
		engine->nodes[i].is_kept = false;
	}
	for (uint32_t i = 0; i < graph->node_count; i++) {
		if (engine->nodes[i].record.reason == FLOW_REASON_ROLLBACK_FAILED)
			keep_dependencies(engine, i);
	}
	for (uint32_t i = 0; i < graph->node_count; i++) {
		if (engine->nodes[i].waiting == 0)
			engine->stack[depth++] = i;
	}
	walk(engine, depth);
}

void flow_engine_walk_undone(struct flow_engine *engine, uint32_t node, bool failed)
{
	struct flow_node_record *record = flow_engine_edit(engine, node);
	bool had_failed = record->reason == FLOW_REASON_NOT_IN_SYNC;

	record->is_deployed = failed;
	flow_engine_move(engine, node,
		failed || had_failed ? FLOW_NODE_FAILURE : FLOW_NODE_CANCELLED, FLOW_PHASE_NONE);
	if (failed) {
		record->reason = FLOW_REASON_ROLLBACK_FAILED;
		keep_dependencies(engine, node);
	} else if (!had_failed) {
		record->reason = FLOW_REASON_ROLLED_BACK;
		record->cause = engine->record.closing_cause;
	}
	engine->stack[0] = node;
	walk(engine, 1);
}
