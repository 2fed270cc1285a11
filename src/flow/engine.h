/*
 * The engine of one flow: events in, changed nodes and steps out. It does no I/O and knows no time but that of the events.
 *
 * A node starts when all of its dependencies are SUCCESS or SKIPPED; the engine counts the open dependencies of each node,
 * so that the end of a node costs its own edges and nothing else. A node that ends otherwise blocks all nodes that need it,
 * each once, with the node that caused it. What is started is named by node and run: a step may be repeated, on any
 * server, and takes effect once.
 *
 * The durable state is one record of the flow and one of each node. The caller stores all that an event changed in one
 * transaction, and then takes the steps; after a restart flow_engine_restore() returns the steps that are open.
 */
#ifndef FLOW_ENGINE_H
#define FLOW_ENGINE_H

#include <stdbool.h>

#include "base/err.h"
#include "pipeline/flow_config.h"

/* Name and whether it is terminal. */
#define FLOW_STATES(X)                                                                             \
	X(PENDING, false) /* the head's deployment has not reached POST_SYNC */                    \
	X(RUNNING, false)                                                                          \
	X(ROLLING_BACK, false)                                                                     \
	X(SUCCESS, true)                                                                           \
	X(FAILURE, true)                                                                           \
	X(CANCELLED, true)

#define FLOW_NODE_STATES(X)                                                                        \
	X(PENDING, false)          /* waits for dependencies, or for the head */                   \
	X(WAITING_APPROVAL, false) /* its plan waits for approval */                               \
	X(QUEUED, false)  /* waits for its plan, its target, or the application's queue */         \
	X(RUNNING, false) /* until the live state is in sync and the soak time is over */          \
	X(ROLLING_BACK, false)                                                                     \
	X(SUCCESS, true)                                                                           \
	X(FAILURE, true)                                                                           \
	X(CANCELLED, true)                                                                         \
	X(SKIPPED, true)  /* unchanged */                                                          \
	X(DISABLED, true) /* the application does not take part in flows */                        \
	X(BLOCKED, true)  /* a dependency ended without success */

/* The wait of a node within its state. */
#define FLOW_PHASES(X)                                                                             \
	X(NONE)                                                                                    \
	X(PLANNING)  /* QUEUED: for its plan */                                                    \
	X(STARTING)  /* QUEUED: for its deployment to run */                                       \
	X(DEPLOYING) /* RUNNING, ROLLING_BACK: for its deployment to end */                        \
	X(SYNCING)   /* RUNNING: for the live state */                                             \
	X(SOAKING)   /* RUNNING: for the soak time */                                              \
	X(UNDOING)   /* ROLLING_BACK: for the rollback that the flow ordered */

/* Why a node ended as it did, and why a flow takes no more nodes. */
#define FLOW_REASONS(X)                                                                            \
	X(NONE, "")                                                                                \
	X(NO_LIVE_STATE, "deployed; this kind of application has no live state")                   \
	X(UNCHANGED, "unchanged")                                                                  \
	X(DISABLED, "disabled for flows")                                                          \
	X(BLOCKED, "blocked")                                                                      \
	X(PLAN_FAILED, "planning failed")                                                          \
	X(DEPLOYMENT_FAILED, "deployment failed")                                                  \
	X(DEPLOYMENT_CANCELLED, "deployment cancelled")                                            \
	X(NOT_IN_SYNC, "live state not in sync within syncTimeout")                                \
	X(UNAVAILABLE, "target not available")                                                     \
	X(APPROVAL_EXPIRED, "approval timed out")                                                  \
	X(REJECTED, "rejected")                                                                    \
	X(OTHER_FAILED, "another node failed")                                                     \
	X(FLOW_CANCELLED, "flow cancelled")                                                        \
	X(SUPERSEDED, "superseded by a newer flow")                                                \
	X(HEAD_ENDED, "the head's deployment did not succeed")                                     \
	X(ROLLED_BACK, "rolled back")                                                              \
	X(ROLLBACK_FAILED, "rollback failed")

enum flow_state {
#define FLOW_STATE_ENUM(name, terminal) FLOW_##name,
	FLOW_STATES(FLOW_STATE_ENUM)
#undef FLOW_STATE_ENUM
		FLOW_STATE_COUNT
};

enum flow_node_state {
#define FLOW_NODE_STATE_ENUM(name, terminal) FLOW_NODE_##name,
	FLOW_NODE_STATES(FLOW_NODE_STATE_ENUM)
#undef FLOW_NODE_STATE_ENUM
		FLOW_NODE_STATE_COUNT
};

enum flow_phase {
#define FLOW_PHASE_ENUM(name) FLOW_PHASE_##name,
	FLOW_PHASES(FLOW_PHASE_ENUM)
#undef FLOW_PHASE_ENUM
		FLOW_PHASE_COUNT
};

enum flow_reason {
#define FLOW_REASON_ENUM(name, text) FLOW_REASON_##name,
	FLOW_REASONS(FLOW_REASON_ENUM)
#undef FLOW_REASON_ENUM
		FLOW_REASON_COUNT
};

const char *flow_state_name(enum flow_state state);
bool flow_state_is_terminal(enum flow_state state);
const char *flow_node_state_name(enum flow_node_state state);
bool flow_node_state_is_terminal(enum flow_node_state state);
bool flow_node_may_become(enum flow_node_state from, enum flow_node_state to);
const char *flow_phase_name(enum flow_phase phase);
const char *flow_reason_name(enum flow_reason reason);
const char *flow_reason_text(enum flow_reason reason);

#define FLOW_PLAN_ID_SIZE 16
/* An approval is bound to the node and to this: a hash of commit and plan. */
struct flow_plan_id {
	uint8_t bytes[FLOW_PLAN_ID_SIZE];
};

/* How a node that has been asked for is stopped. */
enum flow_stop {
	FLOW_STOP_NOT,
	FLOW_STOP_WITHDRAW, /* unless its deployment runs already */
	FLOW_STOP_CANCEL,
};

struct flow_rules {
	enum flow_failure_policy on_failure;
	int64_t sync_timeout_ms, queue_timeout_ms, approval_timeout_ms;
};

struct flow_node_rules {
	bool is_disabled;
	bool requires_approval;
	int64_t soak_ms;
};

struct flow_record {
	uint8_t state;          /* enum flow_state */
	uint8_t closing;        /* enum flow_reason; not NONE: no further node starts */
	uint32_t closing_cause; /* the node of OTHER_FAILED, or FLOW_NO_NODE */
	bool rolls_back;        /* cancelled deployments roll back */
	bool is_started;        /* the head succeeded */
};

struct flow_node_record {
	uint8_t state;       /* enum flow_node_state */
	uint8_t phase;       /* enum flow_phase */
	uint8_t reason;      /* enum flow_reason */
	uint8_t stop;        /* enum flow_stop */
	uint8_t stop_reason; /* enum flow_reason */
	bool is_approved;    /* its plan */
	bool is_deployed;    /* by this flow, and not rolled back */
	uint32_t cause;      /* the node because of which it ended, or FLOW_NO_NODE */
	uint32_t run;        /* number of its newest deployment; 0: none */
	int64_t since_ms;    /* since when it is in its state */
	int64_t deadline_ms; /* 0: none */
	int64_t left_ms;     /* of syncTimeout; in SYNCING and SOAKING */
	struct flow_plan_id plan;
};

/* Name and whether it is about a node. Requests of clients are refused in the wrong state; an observation that comes
 * late, or twice, has no effect. */
#define FLOW_EVENTS(X)                                                                             \
	X(HEAD_REACHED, false)   /* the POST_SYNC stage of the head: the flow is RUNNING */        \
	X(HEAD_SUCCEEDED, false) /* and no older flow of the head is in progress: nodes start */   \
	X(HEAD_ENDED, false)     /* without success */                                             \
	X(PLANNED, true)         /* plan; is_unchanged */                                          \
	X(PLAN_FAILED, true)                                                                       \
	X(PLAN_DISABLED, true) /* the application does not take part in flows */                   \
	X(UNAVAILABLE, true)   /* the target cannot be reached */                                  \
	X(AVAILABLE, true)                                                                         \
	X(DEPLOYMENT_STALE, true) /* run: its plan is not the one of the node; it did nothing */   \
	X(DEPLOYMENT_RUNNING, true)                                                                \
	X(DEPLOYMENT_ROLLING_BACK, true)                                                           \
	X(DEPLOYMENT_SUCCEEDED, true) /* run; has_live_state */                                    \
	X(DEPLOYMENT_FAILED, true)                                                                 \
	X(DEPLOYMENT_CANCELLED, true)                                                              \
	X(IN_SYNC, true) /* the live state is that of the commit, and healthy */                   \
	X(OUT_OF_SYNC, true)                                                                       \
	X(SYNC_UNKNOWN, true) /* the live state is not known: a soak does not end now */           \
	X(UNDONE, true)                                                                            \
	X(UNDO_FAILED, true)                                                                       \
	X(APPROVE, true) /* plan */                                                                \
	X(REJECT, true)                                                                            \
	X(CANCEL, false) /* rolls_back */                                                          \
	X(SUPERSEDE, false)                                                                        \
	X(RETRY, false)                                                                            \
	X(TIME, false)

enum flow_event_type {
#define FLOW_EVENT_ENUM(name, of_node) FLOW_EVENT_##name,
	FLOW_EVENTS(FLOW_EVENT_ENUM)
#undef FLOW_EVENT_ENUM
		FLOW_EVENT_COUNT
};

struct flow_event {
	enum flow_event_type type;
	int64_t now_ms;
	uint32_t node;
	uint32_t run;
	struct flow_plan_id plan;
	bool is_unchanged, has_live_state, rolls_back;
};

enum flow_step_type {
	FLOW_STEP_PLAN,  /* resolve the commit if it is the latest, and plan */
	FLOW_STEP_START, /* create deployment `run` of the node */
	FLOW_STEP_WITHDRAW, /* cancel deployment `run` unless it runs; it may not exist, and must not be made later */
	FLOW_STEP_CANCEL, /* cancel deployment `run`; it may not exist, and must not be made later */
	FLOW_STEP_OBSERVE, /* report the live state of the application */
	FLOW_STEP_UNDO,    /* roll the application back to before the flow */
};

struct flow_step {
	enum flow_step_type type;
	uint32_t node;
	uint32_t run;
	bool rolls_back; /* FLOW_STEP_CANCEL */
};

const char *flow_event_name(enum flow_event_type type);
bool flow_event_is_of_node(enum flow_event_type type);
const char *flow_step_name(enum flow_step_type type);

struct flow_engine;

/* A new flow, PENDING. The graph must outlive it. */
struct flow_engine *flow_engine_new(const struct flow_graph *graph, const struct flow_rules *rules,
	const struct flow_node_rules *nodes, int64_t now_ms);
/* As it was stored; nodes: graph->node_count. Every step that is still to be taken comes again. */
struct flow_engine *flow_engine_restore(const struct flow_graph *graph,
	const struct flow_rules *rules, const struct flow_node_rules *nodes,
	const struct flow_record *record, const struct flow_node_record *node_records,
	int64_t now_ms);
void flow_engine_free(struct flow_engine *engine);
void flow_engine_free_pointer(struct flow_engine **engine);
#define _flow_engine_ CLEANUP(flow_engine_free_pointer)

/* -EINVAL: a request that the state forbids; -ESTALE: an approval of another plan. */
int flow_engine_apply(struct flow_engine *engine, const struct flow_event *event, struct err *err);

/* The next node whose record has changed since it was last returned; FLOW_NO_NODE: none. */
uint32_t flow_engine_next_changed(struct flow_engine *engine);
bool flow_engine_take_record_changed(struct flow_engine *engine);
/* The next step; false: none. */
bool flow_engine_next_step(struct flow_engine *engine, struct flow_step *ret_step);
/* From now on, the steps that are still to be taken come again, those of lower nodes first. */
void flow_engine_repeat_steps(struct flow_engine *engine);
/* Nodes that are neither PENDING nor terminal, in ascending order; valid until the next event. Only these have steps. */
const uint32_t *flow_engine_active(struct flow_engine *engine, uint32_t *ret_count);
/* When FLOW_EVENT_TIME is due; 0: never. */
int64_t flow_engine_next_ms(const struct flow_engine *engine);

const struct flow_record *flow_engine_record(const struct flow_engine *engine);
const struct flow_node_record *flow_engine_node(const struct flow_engine *engine, uint32_t node);
size_t flow_engine_memory(const struct flow_engine *engine); /* bytes, without the graph */

#endif
