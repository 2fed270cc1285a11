/*
 * The stored objects of flows. A flow has the ID of its head's deployment.
 *
 *   flow         ACCOUNT/ID         its state, and the user that started it
 *   graph        ACCOUNT/ID         nodes, edges and rules; never changes (definition.h)
 *   files        ACCOUNT/ID         files of applications that came with the head's; never change
 *   node         ACCOUNT/ID/NODE    its state, commit and deployment; absent: as it was when the flow was created
 *   approval     ACCOUNT/ID/NODE    votes about its plan (delivery/approval.h)
 *   order        ACCOUNT/ID         of a user or of a newer flow, that the controller has not carried out yet
 *
 * NODE is a number of five digits. Flow and nodes are written by the controller under the flow's claim; clients write
 * approvals and orders.
 */
#ifndef FLOW_KINDS_H
#define FLOW_KINDS_H

#include "flow/engine.h"
#include "pipeline/kinds.h"

#define FLOWS_KEPT 20 /* of a head, that have ended; older ones are deleted */

extern const struct store_kind flow_kind;
extern const struct store_kind flow_graph_kind;
extern const struct store_kind flow_files_kind;
extern const struct store_kind flow_node_kind;
extern const struct store_kind flow_approval_kind;
extern const struct store_kind flow_order_kind;

struct flow_facts {
	struct span account, id;
	struct span head; /* "ACCOUNT/NAME" */
	int64_t number;   /* of the head's deployment */
	enum flow_state state;
	enum flow_reason closing;
	int64_t closing_cause; /* node + 1; 0: none */
	bool rolls_back, is_started;
	bool is_deleting;
	bool is_damaged;                 /* it ended because one of its records cannot be read */
	enum deployment_trigger trigger; /* of the head */
	struct span created_by, commit;  /* of the head; "" */
	int64_t node_count;
	int64_t created_ms, started_ms, ended_ms; /* 0: not yet */
};

enum flow_index {
	FLOW_BY_TIME, /* "ACCOUNT/CREATED/ID" */
	FLOW_BY_HEAD, /* "ACCOUNT/HEAD/NUMBER", ten digits */
	FLOW_OPEN,    /* the same, of those that have not ended */
	FLOW_INDEX_COUNT
};

/* How a node's commit was found. */
#define FLOW_COMMIT_SOURCES(X)                                                                     \
	X(NONE, "")                                                                                \
	X(HEAD, "with the head")                                                                   \
	X(TRAILER, "trailer Flow-Commit of the head's commit")                                     \
	X(BRANCH, "head of branch at flow creation")                                               \
	X(BRANCH_LATEST, "head of branch when the node was planned")                               \
	X(SUCCESS, "last success when the flow was created")                                       \
	X(LATEST, "last success when the node was planned")

enum flow_commit_source {
#define X(name, text) FLOW_COMMIT_FROM_##name,
	FLOW_COMMIT_SOURCES(X)
#undef X
		FLOW_COMMIT_SOURCE_COUNT
};

const char *flow_commit_source_text(enum flow_commit_source source);

/* The record of the engine, and what the controller adds to it. */
struct flow_node_facts {
	struct span account, flow;
	int64_t node;
	enum flow_node_state state;
	enum flow_phase phase;
	enum flow_reason reason, stop_reason;
	int64_t stop;
	bool is_approved, is_deployed;
	int64_t cause; /* node + 1; 0: none */
	int64_t run, since_ms, deadline_ms, left_ms;
	struct span plan; /* 32 hex digits */
	struct span commit;
	enum flow_commit_source source;
	struct span from;   /* deployment whose files are deployed; "": files of the flow */
	struct span digest; /* of the plan; "" */
	struct span plan_deployment; /* that makes the plan; "": none now */
	int64_t plan_count;
	struct span deployment; /* of run deployment_run; "" */
	int64_t deployment_run;
	struct span before; /* the last success of the application before the flow; "" */
	struct span undo;   /* the deployment of the rollback; "" */
	int64_t started_ms, ended_ms;
};

enum flow_order {
	FLOW_ORDER_CANCEL,
	FLOW_ORDER_CANCEL_AND_ROLL_BACK,
	FLOW_ORDER_RETRY,
	FLOW_ORDER_SUPERSEDE, /* by the newer flow */
	FLOW_ORDER_COUNT
};

struct flow_order_facts {
	enum flow_order order;
};

static inline const struct flow_facts *flow_facts(const struct store_object *object)
{
	return object->facts;
}

static inline const struct flow_node_facts *flow_node_facts(const struct store_object *object)
{
	return object->facts;
}

struct span flow_key(struct arena *arena, struct span account, struct span id);
/* Of a node and of its approval. */
struct span flow_node_key(struct arena *arena, struct span flow, uint32_t node);
/* "ACCOUNT/ID" of the key of one of its objects. */
struct span flow_of_key(struct span key);

#define FLOW_DAMAGED_TEXT "a stored record of the flow is damaged"
/* A record of the flow, other than its own, failed verification or cannot be read: what it says is not known. */
bool flow_is_damaged(struct store *store, struct span key);

int flow_put(struct store_transaction *transaction, struct span key, struct span api,
	const struct flow_facts *facts, uint64_t expected, struct err *err);
int flow_node_put(struct store_transaction *transaction, struct span key, struct span api,
	const struct flow_node_facts *facts, struct err *err);
int flow_order_put(struct store_transaction *transaction, struct span flow, enum flow_order order,
	struct err *err);

/* To and from the engine. */
void flow_facts_set_record(struct flow_facts *facts, const struct flow_record *record);
struct flow_record flow_facts_record(const struct flow_facts *facts);
/* Text of the plan in the arena. */
void flow_node_facts_set_record(struct flow_node_facts *facts,
	const struct flow_node_record *record, struct arena *arena);
struct flow_node_record flow_node_facts_record(const struct flow_node_facts *facts);
/* The engine knows a plan by the first half of its digest. */
struct flow_plan_id flow_plan_id_of(struct span digest);

extern const struct store_kind *const flow_kinds[];
extern const size_t flow_kind_count;

#endif
