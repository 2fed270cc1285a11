/*
 * One pass over a flow: what its files share. A pass reads the flow, applies everything that has happened to the engine
 * (observe.c), and stores what changed together with the steps that follow, in one transaction (carry_out.c): a
 * deployment exists exactly when the record of its node says so.
 */
#ifndef FLOW_PASS_H
#define FLOW_PASS_H

#include "base/json.h"
#include "flow/cache.h"
#include "flow/controller.h"
#include "flow/definition.h"
#include "flow/kinds.h"
#include "pipeline/record.h"

#define PASS_POLL_MS 500

struct flow_pass_node {
	struct flow_node_facts facts;
	const struct store_object *stored; /* NULL: never */
	struct json *document;             /* that changes; NULL: as stored */
	bool must_write;
	bool needs_plan; /* of a deployment that only plans */
	bool is_held;    /* its deployment cannot be made now */
	bool is_listed;  /* in the steps of the pass */
};

struct flow_pass {
	struct flow_controller *controller;
	const struct flow_controller_config *config;
	const struct store_view *view;
	struct arena *arena;
	struct claim claim;
	int64_t now_ms;
	struct span key;
	const struct store_object *object;
	struct flow_facts facts;
	struct flow_loaded *loaded;
	struct flow_definition definition; /* of `loaded`, as the engine */
	struct flow_engine *engine;
	bool must_write;                        /* the flow */
	const struct store_object *order;       /* that was taken; NULL */
	struct field_list read, changed, steps; /* uint32_t: nodes */
	uint64_t revision;                      /* of the flow's record, once it is written */
	/* Of the last try to store: the node whose deployment was refused, and why. */
	uint32_t refused;
	struct err refusal;
	int64_t again_ms;
};

/* Notes of a node, read when a pass first asks for them. They live as long as the pass. */
struct flow_pass_node *flow_pass_node(struct flow_pass *pass, uint32_t node);
/* The nodes that the pass has asked for, in ascending order. */
const uint32_t *flow_pass_nodes(struct flow_pass *pass, size_t *ret_count);

void flow_pass_again_at(struct flow_pass *pass, int64_t wall_ms);
int flow_pass_apply(struct flow_pass *pass, enum flow_event_type type, uint32_t node,
	struct err *err);
int flow_pass_apply_event(struct flow_pass *pass, struct flow_event *event, struct err *err);
/* "ACCOUNT/NAME" */
struct span flow_pass_application(const struct flow_pass *pass, uint32_t node);
/* The document of a node, to be changed and written. */
struct json *flow_pass_document(struct flow_pass *pass, uint32_t node);
void flow_pass_set_detail(struct flow_pass *pass, uint32_t node, struct span detail);
/* Why a node is in its state, with its cause; "". */
struct span flow_pass_reason(const struct flow_pass *pass, uint32_t node);
bool flow_pass_find_deployment(const struct flow_pass *pass, struct span application,
	struct span id, struct deployment_record *ret_record);

/* Graph, rules and engine: those that the cache has kept, else from the store. cache: NULL for none. */
int flow_pass_load(struct flow_pass *pass, struct flow_cache *cache, struct err *err);
/* Keeps them for the next pass if `code` says that all changes are stored and the flow continues, else frees them. */
void flow_pass_unload(struct flow_pass *pass, struct flow_cache *cache, int code);

/* observe.c: what has happened since the last pass, as events. */
int flow_observe(struct flow_pass *pass, struct err *err);

/* plan.c: the plan of one node, as events. */
int flow_plan_node(struct flow_pass *pass, uint32_t node, struct err *err);
/* While a node waits for approval of a plan from the latest files. */
int flow_plan_again(struct flow_pass *pass, uint32_t node, struct err *err);

/* resolve.c: may block. */
void flow_resolve_commits(struct flow_pass *pass);

/* carry_out.c: the steps of the engine, and the transaction. */
int flow_carry_out(struct flow_pass *pass, struct err *err);

/* All of it in turn; the claim is acquired. */
int flow_pass_run(struct flow_pass *pass, struct flow_cache *cache, struct err *err);

#endif
