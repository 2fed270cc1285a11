/* Names of the engine's states, phases, reasons, events and steps, and which state of a node may follow which. */
#include "flow/engine.h"

struct state_row {
	const char *name;
	bool is_terminal;
};

#define STATE_ROW(name, terminal) {#name, terminal},
static const struct state_row states[] = {FLOW_STATES(STATE_ROW)};
static const struct state_row node_states[] = {FLOW_NODE_STATES(STATE_ROW)};
#undef STATE_ROW

static const char *const phases[] = {
#define PHASE_NAME(name) #name,
	FLOW_PHASES(PHASE_NAME)
#undef PHASE_NAME
};

static const struct {
	const char *name, *text;
} reasons[] = {
#define REASON_ROW(name, text) {#name, text},
	FLOW_REASONS(REASON_ROW)
#undef REASON_ROW
};

static const struct {
	const char *name;
	bool is_of_node;
} events[] = {
#define EVENT_ROW(name, of_node) {#name, of_node},
	FLOW_EVENTS(EVENT_ROW)
#undef EVENT_ROW
};

#define TO(name) (1U << FLOW_NODE_##name)
/* To PENDING by a retry. A node that an earlier attempt deployed is rolled back whatever became of it in the last one. */
static const unsigned moves[FLOW_NODE_STATE_COUNT] = {
	[FLOW_NODE_PENDING] = TO(QUEUED) | TO(CANCELLED) | TO(DISABLED) | TO(BLOCKED),
	[FLOW_NODE_WAITING_APPROVAL] = TO(QUEUED) | TO(SKIPPED) | TO(FAILURE) | TO(CANCELLED),
	[FLOW_NODE_QUEUED] = TO(WAITING_APPROVAL) | TO(RUNNING) | TO(FAILURE) | TO(CANCELLED) |
			     TO(SKIPPED) | TO(DISABLED),
	[FLOW_NODE_RUNNING] = TO(ROLLING_BACK) | TO(SUCCESS) | TO(FAILURE) | TO(CANCELLED),
	[FLOW_NODE_ROLLING_BACK] = TO(FAILURE) | TO(CANCELLED),
	[FLOW_NODE_SUCCESS] = TO(ROLLING_BACK),
	[FLOW_NODE_FAILURE] = TO(ROLLING_BACK) | TO(PENDING),
	[FLOW_NODE_CANCELLED] = TO(ROLLING_BACK) | TO(PENDING),
	[FLOW_NODE_SKIPPED] = TO(ROLLING_BACK),
	[FLOW_NODE_DISABLED] = TO(ROLLING_BACK) | TO(PENDING),
	[FLOW_NODE_BLOCKED] = TO(ROLLING_BACK) | TO(PENDING),
};

const char *flow_state_name(enum flow_state state)
{
	return states[state].name;
}

bool flow_state_is_terminal(enum flow_state state)
{
	return states[state].is_terminal;
}

const char *flow_node_state_name(enum flow_node_state state)
{
	return node_states[state].name;
}

bool flow_node_state_is_terminal(enum flow_node_state state)
{
	return node_states[state].is_terminal;
}

bool flow_node_may_become(enum flow_node_state from, enum flow_node_state to)
{
	return moves[from] & (1U << to);
}

const char *flow_phase_name(enum flow_phase phase)
{
	return phases[phase];
}

const char *flow_reason_name(enum flow_reason reason)
{
	return reasons[reason].name;
}

const char *flow_reason_text(enum flow_reason reason)
{
	return reasons[reason].text;
}

const char *flow_event_name(enum flow_event_type type)
{
	return events[type].name;
}

bool flow_event_is_of_node(enum flow_event_type type)
{
	return events[type].is_of_node;
}

const char *flow_step_name(enum flow_step_type type)
{
	static const char *const names[] = {
		[FLOW_STEP_PLAN] = "PLAN",
		[FLOW_STEP_START] = "START",
		[FLOW_STEP_WITHDRAW] = "WITHDRAW",
		[FLOW_STEP_CANCEL] = "CANCEL",
		[FLOW_STEP_OBSERVE] = "OBSERVE",
		[FLOW_STEP_UNDO] = "UNDO",
	};

	return names[type];
}
