/* Shared by the files of the engine. */
#ifndef FLOW_ENGINE_INTERNAL_H
#define FLOW_ENGINE_INTERNAL_H

#include "base/heap.h"
#include "flow/engine.h"

/* Of nodes that are due in the same millisecond the lower one comes first, whatever happened before. */
#define TIMERS_PER_MS 16384

struct node {
	struct flow_node_record record;
	struct heap_item timer;
	/* Dependencies that are not done; while the flow rolls back: dependents that the rollback has not passed. */
	uint32_t waiting;
	uint32_t position; /* in `active`, counted from 1; 0: it is not there */
	bool is_changed, is_listed;
	bool is_kept; /* not rolled back, because the rollback of a node that needs it failed */
};

/* Each node at most once. */
struct node_queue {
	uint32_t *items; /* a ring of graph->node_count */
	uint32_t begin, count;
};

struct flow_engine {
	const struct flow_graph *graph;
	struct flow_rules rules;
	struct flow_node_rules *node_rules;
	struct flow_record record;
	bool is_record_changed;
	struct node *nodes;
	uint32_t open;      /* nodes that are not terminal */
	uint32_t walk_left; /* nodes that the rollback has not passed */
	struct node_queue changed, listed;
	uint32_t *stack; /* room for every node */
	uint32_t *active, active_count;
	bool is_active_sorted;
	struct heap timers;
	int64_t now_ms;
};

static inline struct flow_node_record *flow_engine_edit(struct flow_engine *engine, uint32_t node)
{
	return &engine->nodes[node].record;
}

static inline int64_t flow_engine_timer_ms(const struct heap_item *timer)
{
	return timer->at / TIMERS_PER_MS;
}

void flow_engine_mark_flow(struct flow_engine *engine);
/* Another state or phase; ends the deadline. */
void flow_engine_move(struct flow_engine *engine, uint32_t node, enum flow_node_state state,
	enum flow_phase phase);
void flow_engine_set_deadline(struct flow_engine *engine, uint32_t node,
	int64_t at_ms); /* 0: none */

/* The end of a node, and what follows from it for the others. */
void flow_engine_finish(struct flow_engine *engine, uint32_t node, enum flow_node_state state,
	enum flow_reason reason);
/* The end of a node whose dependents have ended, or end for the same reason. */
void flow_engine_end_node(struct flow_engine *engine, uint32_t node, enum flow_reason reason,
	uint32_t cause);
/* No further node starts. how: what happens to nodes that were started. */
void flow_engine_close(struct flow_engine *engine, enum flow_reason reason, uint32_t cause,
	enum flow_stop how);
/* Nodes without open dependencies are queued. */
void flow_engine_start_ready(struct flow_engine *engine);
void flow_engine_retry(struct flow_engine *engine);

/* The rollback of the flow (onFailure: rollback), from the nodes without dependents downwards. */
void flow_engine_walk_begin(struct flow_engine *engine);
void flow_engine_walk_undone(struct flow_engine *engine, uint32_t node, bool failed);

/* Ends the flow, or begins its rollback, when no node is open. */
void flow_engine_settle(struct flow_engine *engine);

#endif
