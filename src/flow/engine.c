/* See the header. The records, and what the end of one node means for the others; events are in engine_event.c. */
#include "flow/engine.h"

#include <assert.h>

#include "base/memory.h"
#include "flow/engine_internal.h"

/* ---- queues ---- */

static void queue_put(struct node_queue *queue, uint32_t capacity, uint32_t node)
{
	queue->items[(queue->begin + queue->count++) % capacity] = node;
}

static uint32_t queue_take(struct node_queue *queue, uint32_t capacity)
{
	uint32_t node;

	if (queue->count == 0)
		return FLOW_NO_NODE;
	node = queue->items[queue->begin];
	queue->begin = (queue->begin + 1) % capacity;
	queue->count--;
	return node;
}

static void list_node(struct flow_engine *engine, uint32_t node)
{
	if (!engine->nodes[node].is_listed)
		queue_put(&engine->listed, engine->graph->node_count, node);
	engine->nodes[node].is_listed = true;
}

/* The record has changed: it is stored, and its step may be another one. */
static void note_change(struct flow_engine *engine, uint32_t node)
{
	if (!engine->nodes[node].is_changed)
		queue_put(&engine->changed, engine->graph->node_count, node);
	engine->nodes[node].is_changed = true;
	list_node(engine, node);
}

void flow_engine_mark_flow(struct flow_engine *engine)
{
	engine->is_record_changed = true;
}

uint32_t flow_engine_next_changed(struct flow_engine *engine)
{
	uint32_t node = queue_take(&engine->changed, engine->graph->node_count);

	if (node != FLOW_NO_NODE)
		engine->nodes[node].is_changed = false;
	return node;
}

bool flow_engine_take_record_changed(struct flow_engine *engine)
{
	bool changed = engine->is_record_changed;

	engine->is_record_changed = false;
	return changed;
}

/* The step that a node needs now; false: it only waits. */
static bool node_step(const struct flow_node_record *record, enum flow_step_type *ret_type)
{
	switch ((enum flow_phase)record->phase) {
	case FLOW_PHASE_PLANNING: *ret_type = FLOW_STEP_PLAN; return true;
	case FLOW_PHASE_STARTING:
		*ret_type = record->stop == FLOW_STOP_NOT        ? FLOW_STEP_START
			    : record->stop == FLOW_STOP_WITHDRAW ? FLOW_STEP_WITHDRAW
								 : FLOW_STEP_CANCEL;
		return true;
	case FLOW_PHASE_DEPLOYING:
		*ret_type = FLOW_STEP_CANCEL;
		return record->state == FLOW_NODE_RUNNING && record->stop == FLOW_STOP_CANCEL;
	case FLOW_PHASE_SYNCING:
	case FLOW_PHASE_SOAKING: *ret_type = FLOW_STEP_OBSERVE; return true;
	case FLOW_PHASE_UNDOING: *ret_type = FLOW_STEP_UNDO; return true;
	case FLOW_PHASE_NONE:
	case FLOW_PHASE_COUNT: break;
	}
	return false;
}

bool flow_engine_next_step(struct flow_engine *engine, struct flow_step *ret_step)
{
	enum flow_step_type type;
	uint32_t node;

	while ((node = queue_take(&engine->listed, engine->graph->node_count)) != FLOW_NO_NODE) {
		const struct flow_node_record *record = &engine->nodes[node].record;

		engine->nodes[node].is_listed = false;
		if (!node_step(record, &type))
			continue;
		*ret_step = (struct flow_step){type, node, record->run, engine->record.rolls_back};
		return true;
	}
	return false;
}

/* ---- active nodes ---- */

static bool is_active(const struct flow_node_record *record)
{
	return record->state != FLOW_NODE_PENDING && !flow_node_state_is_terminal(record->state);
}

static void update_active(struct flow_engine *engine, uint32_t node)
{
	struct node *at = &engine->nodes[node];
	bool is_there = at->position > 0;

	if (is_active(&at->record) == is_there)
		return;
	engine->is_active_sorted = false;
	if (is_there) {
		uint32_t last = engine->active[--engine->active_count];

		engine->active[at->position - 1] = last;
		engine->nodes[last].position = at->position;
		at->position = 0;
	} else {
		engine->active[engine->active_count++] = node;
		at->position = engine->active_count;
	}
}

static int compare_nodes(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return (left > right) - (left < right);
}

const uint32_t *flow_engine_active(struct flow_engine *engine, uint32_t *ret_count)
{
	if (!engine->is_active_sorted) {
		qsort(engine->active, engine->active_count, sizeof(*engine->active), compare_nodes);
		for (uint32_t i = 0; i < engine->active_count; i++)
			engine->nodes[engine->active[i]].position = i + 1;
	}
	engine->is_active_sorted = true;
	*ret_count = engine->active_count;
	return engine->active;
}

void flow_engine_repeat_steps(struct flow_engine *engine)
{
	uint32_t node, count;
	const uint32_t *active = flow_engine_active(engine, &count);

	while ((node = queue_take(&engine->listed, engine->graph->node_count)) != FLOW_NO_NODE)
		engine->nodes[node].is_listed = false;
	for (uint32_t i = 0; i < count; i++)
		list_node(engine, active[i]);
}

/* ---- one node ---- */

static void put_timer(struct flow_engine *engine, uint32_t node, int64_t at_ms)
{
	static_assert(FLOW_NODES_MAX <= TIMERS_PER_MS, "each node has its own place");
	heap_put(&engine->timers, &engine->nodes[node].timer, at_ms * TIMERS_PER_MS + node);
}

void flow_engine_set_deadline(struct flow_engine *engine, uint32_t node, int64_t at_ms)
{
	engine->nodes[node].record.deadline_ms = at_ms;
	if (at_ms > 0)
		put_timer(engine, node, at_ms);
	else
		heap_remove(&engine->timers, &engine->nodes[node].timer);
	note_change(engine, node);
}

void flow_engine_move(struct flow_engine *engine, uint32_t node, enum flow_node_state state,
	enum flow_phase phase)
{
	struct flow_node_record *record = flow_engine_edit(engine, node);
	bool was_terminal = flow_node_state_is_terminal(record->state),
	     is_terminal = flow_node_state_is_terminal(state);

	assert(record->state == state || flow_node_may_become(record->state, state));
	if (record->state != state)
		record->since_ms = engine->now_ms;
	record->state = (uint8_t)state;
	record->phase = (uint8_t)phase;
	update_active(engine, node);
	engine->open += was_terminal && !is_terminal;
	engine->open -= !was_terminal && is_terminal;
	flow_engine_set_deadline(engine, node, 0);
}

static bool is_done(const struct flow_node_record *record)
{
	return record->state == FLOW_NODE_SUCCESS || record->state == FLOW_NODE_SKIPPED;
}

static void queue_if_ready(struct flow_engine *engine, uint32_t node)
{
	if (engine->nodes[node].waiting == 0 && engine->record.is_started &&
		engine->record.closing == FLOW_REASON_NONE &&
		engine->nodes[node].record.state == FLOW_NODE_PENDING)
		flow_engine_move(engine, node, FLOW_NODE_QUEUED, FLOW_PHASE_PLANNING);
}

void flow_engine_start_ready(struct flow_engine *engine)
{
	for (uint32_t i = 0; i < engine->graph->node_count; i++)
		queue_if_ready(engine, i);
}

/* Each node is blocked once, so all blocking of a flow costs its edges once. */
static void block_dependents(struct flow_engine *engine, uint32_t cause)
{
	uint32_t depth = 0;

	engine->stack[depth++] = cause;
	while (depth > 0) {
		uint32_t node = engine->stack[--depth];

		FLOW_EACH_DEPENDENT(engine->graph, node, dependent)
		{
			if (engine->nodes[*dependent].record.state != FLOW_NODE_PENDING)
				continue;
			flow_engine_move(engine, *dependent, FLOW_NODE_BLOCKED, FLOW_PHASE_NONE);
			engine->nodes[*dependent].record.reason = FLOW_REASON_BLOCKED;
			engine->nodes[*dependent].record.cause = cause;
			engine->stack[depth++] = *dependent;
		}
	}
}

static void apply_policy(struct flow_engine *engine, uint32_t failed)
{
	if (engine->record.closing != FLOW_REASON_NONE ||
		engine->rules.on_failure == FLOW_ON_FAILURE_CONTINUE)
		return;
	engine->record.rolls_back = true;
	flow_engine_close(engine, FLOW_REASON_OTHER_FAILED, failed,
		engine->rules.on_failure == FLOW_ON_FAILURE_CANCEL_PENDING ? FLOW_STOP_WITHDRAW
									   : FLOW_STOP_CANCEL);
}

static void clear_stop(struct flow_node_record *record)
{
	record->stop = FLOW_STOP_NOT;
	record->stop_reason = FLOW_REASON_NONE;
}

void flow_engine_finish(struct flow_engine *engine, uint32_t node, enum flow_node_state state,
	enum flow_reason reason)
{
	struct flow_node_record *record = flow_engine_edit(engine, node);

	flow_engine_move(engine, node, state, FLOW_PHASE_NONE);
	record->reason = (uint8_t)reason;
	record->cause = FLOW_NO_NODE;
	clear_stop(record);
	if (is_done(record)) {
		FLOW_EACH_DEPENDENT(engine->graph, node, dependent)
		{
			engine->nodes[*dependent].waiting--;
			queue_if_ready(engine, *dependent);
		}
		return;
	}
	block_dependents(engine, node);
	if (state == FLOW_NODE_FAILURE)
		apply_policy(engine, node);
}

void flow_engine_end_node(struct flow_engine *engine, uint32_t node, enum flow_reason reason,
	uint32_t cause)
{
	struct flow_node_record *record = flow_engine_edit(engine, node);

	flow_engine_move(engine, node, FLOW_NODE_CANCELLED, FLOW_PHASE_NONE);
	record->reason = (uint8_t)reason;
	record->cause = cause;
	clear_stop(record);
}

/* ---- all nodes ---- */

static void stop_node(struct flow_engine *engine, uint32_t node, enum flow_stop how)
{
	struct flow_node_record *record = flow_engine_edit(engine, node);
	enum flow_reason reason = engine->record.closing;
	uint32_t cause = engine->record.closing_cause;

	switch ((enum flow_phase)record->phase) {
	case FLOW_PHASE_NONE:
	case FLOW_PHASE_PLANNING:
		if (!flow_node_state_is_terminal(record->state))
			flow_engine_end_node(engine, node, reason, cause);
		return;
	case FLOW_PHASE_DEPLOYING:
		if (how == FLOW_STOP_WITHDRAW || record->state == FLOW_NODE_ROLLING_BACK)
			return;
		break;
	case FLOW_PHASE_SYNCING:
	case FLOW_PHASE_SOAKING:
		/* A newer flow does not wait for the live state of what it deploys anew. */
		if (how == FLOW_STOP_CANCEL || reason == FLOW_REASON_SUPERSEDED)
			flow_engine_end_node(engine, node, reason, cause);
		return;
	case FLOW_PHASE_STARTING: break;
	case FLOW_PHASE_UNDOING:
	case FLOW_PHASE_COUNT: return;
	}
	if (record->stop < how)
		record->stop = (uint8_t)how;
	record->stop_reason = (uint8_t)reason;
	record->cause = cause;
	note_change(engine, node);
}

void flow_engine_close(struct flow_engine *engine, enum flow_reason reason, uint32_t cause,
	enum flow_stop how)
{
	engine->record.closing = (uint8_t)reason;
	engine->record.closing_cause = cause;
	flow_engine_mark_flow(engine);
	for (uint32_t i = 0; i < engine->graph->node_count; i++)
		stop_node(engine, i, how);
}

static void recount(struct flow_engine *engine)
{
	engine->open = 0;
	for (uint32_t i = 0; i < engine->graph->node_count; i++) {
		engine->open += !flow_node_state_is_terminal(engine->nodes[i].record.state);
		engine->nodes[i].waiting = 0;
		FLOW_EACH_DEPENDENCY(engine->graph, i, dependency)
		engine->nodes[i].waiting += !is_done(&engine->nodes[*dependency].record);
	}
}

void flow_engine_retry(struct flow_engine *engine)
{
	engine->record.state = FLOW_RUNNING;
	engine->record.closing = FLOW_REASON_NONE;
	engine->record.closing_cause = FLOW_NO_NODE;
	flow_engine_mark_flow(engine);
	for (uint32_t i = 0; i < engine->graph->node_count; i++) {
		struct flow_node_record *record = flow_engine_edit(engine, i);

		if (is_done(record))
			continue;
		flow_engine_move(engine, i, FLOW_NODE_PENDING, FLOW_PHASE_NONE);
		record->reason = FLOW_REASON_NONE;
		record->cause = FLOW_NO_NODE;
		record->is_approved = false;
		record->left_ms = 0;
	}
	recount(engine);
	flow_engine_start_ready(engine);
}

/* ---- the end ---- */

static enum flow_state end_state(const struct flow_engine *engine)
{
	enum flow_state state = FLOW_SUCCESS;

	if (!engine->record.is_started || engine->record.closing == FLOW_REASON_FLOW_CANCELLED)
		return FLOW_CANCELLED;
	for (uint32_t i = 0; i < engine->graph->node_count; i++) {
		enum flow_node_state node = engine->nodes[i].record.state;

		if (node == FLOW_NODE_FAILURE || node == FLOW_NODE_DISABLED)
			return FLOW_FAILURE;
		if (node == FLOW_NODE_CANCELLED)
			state = FLOW_CANCELLED;
	}
	return state;
}

void flow_engine_settle(struct flow_engine *engine)
{
	struct flow_record *record = &engine->record;

	if (flow_state_is_terminal(record->state) || engine->open > 0 ||
		(!record->is_started && record->closing == FLOW_REASON_NONE))
		return;
	if (record->state == FLOW_RUNNING && record->closing == FLOW_REASON_OTHER_FAILED &&
		engine->rules.on_failure == FLOW_ON_FAILURE_ROLLBACK) {
		record->state = FLOW_ROLLING_BACK;
		flow_engine_mark_flow(engine);
		flow_engine_walk_begin(engine);
	}
	if (record->state == FLOW_ROLLING_BACK && engine->walk_left > 0)
		return;
	record->state = (uint8_t)end_state(engine);
	flow_engine_mark_flow(engine);
}

/* ---- making one ---- */

static struct flow_engine *engine_new(const struct flow_graph *graph,
	const struct flow_rules *rules, const struct flow_node_rules *nodes, int64_t now_ms)
{
	struct flow_engine *engine = memory_allocate(sizeof(*engine));
	uint32_t count = graph->node_count;

	engine->graph = graph;
	engine->rules = *rules;
	engine->node_rules = memory_copy(nodes, count * sizeof(*nodes));
	engine->nodes = memory_allocate_array(count, sizeof(*engine->nodes));
	engine->changed.items = memory_allocate_array(count, sizeof(uint32_t));
	engine->listed.items = memory_allocate_array(count, sizeof(uint32_t));
	engine->stack = memory_allocate_array((size_t)count + 1, sizeof(uint32_t));
	engine->active = memory_allocate_array(count, sizeof(uint32_t));
	engine->now_ms = now_ms;
	return engine;
}

struct flow_engine *flow_engine_new(const struct flow_graph *graph, const struct flow_rules *rules,
	const struct flow_node_rules *nodes, int64_t now_ms)
{
	struct flow_engine *engine = engine_new(graph, rules, nodes, now_ms);

	engine->record.closing_cause = FLOW_NO_NODE;
	flow_engine_mark_flow(engine);
	for (uint32_t i = 0; i < graph->node_count; i++) {
		engine->nodes[i].record.cause = FLOW_NO_NODE;
		engine->nodes[i].record.since_ms = now_ms;
		note_change(engine, i);
	}
	recount(engine);
	/* A disabled node stays disabled when one of its dependencies is, too. */
	for (uint32_t i = 0; i < graph->node_count; i++) {
		if (!nodes[i].is_disabled)
			continue;
		flow_engine_move(engine, i, FLOW_NODE_DISABLED, FLOW_PHASE_NONE);
		engine->nodes[i].record.reason = FLOW_REASON_DISABLED;
	}
	for (uint32_t i = 0; i < graph->node_count; i++) {
		if (nodes[i].is_disabled)
			block_dependents(engine, i);
	}
	return engine;
}

struct flow_engine *flow_engine_restore(const struct flow_graph *graph,
	const struct flow_rules *rules, const struct flow_node_rules *nodes,
	const struct flow_record *record, const struct flow_node_record *node_records,
	int64_t now_ms)
{
	struct flow_engine *engine = engine_new(graph, rules, nodes, now_ms);

	engine->record = *record;
	for (uint32_t i = 0; i < graph->node_count; i++) {
		engine->nodes[i].record = node_records[i];
		if (node_records[i].deadline_ms > 0)
			put_timer(engine, i, node_records[i].deadline_ms);
		update_active(engine, i);
	}
	recount(engine);
	flow_engine_repeat_steps(engine);
	if (record->state == FLOW_ROLLING_BACK)
		flow_engine_walk_begin(engine);
	return engine;
}

void flow_engine_free(struct flow_engine *engine)
{
	if (!engine)
		return;
	heap_free(&engine->timers);
	free(engine->node_rules);
	free(engine->nodes);
	free(engine->changed.items);
	free(engine->listed.items);
	free(engine->stack);
	free(engine->active);
	free(engine);
}

void flow_engine_free_pointer(struct flow_engine **engine)
{
	flow_engine_free(*engine);
}

int64_t flow_engine_next_ms(const struct flow_engine *engine)
{
	const struct heap_item *first = heap_first(&engine->timers);

	return first ? flow_engine_timer_ms(first) : 0;
}

const struct flow_record *flow_engine_record(const struct flow_engine *engine)
{
	return &engine->record;
}

const struct flow_node_record *flow_engine_node(const struct flow_engine *engine, uint32_t node)
{
	return &engine->nodes[node].record;
}

size_t flow_engine_memory(const struct flow_engine *engine)
{
	return sizeof(*engine) + engine->timers.size * sizeof(*engine->timers.items) +
	       (size_t)engine->graph->node_count *
		       (sizeof(*engine->nodes) + sizeof(*engine->node_rules) +
			       4 * sizeof(uint32_t));
}
