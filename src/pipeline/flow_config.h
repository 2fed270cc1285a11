/*
 * The flow of an application file: spec.postSync.flow, or spec.postSync.chain read as a graph of blocks. Reading checks
 * all that the file alone can show: missing and empty graphs, duplicates, unknown dependencies, cycles. Each has its
 * own message, with the line. Which applications the names mean is checked against the account's applications, when
 * the file is loaded and again when a flow is created.
 *
 * All text points into the arena of the document.
 */
#ifndef PIPELINE_FLOW_CONFIG_H
#define PIPELINE_FLOW_CONFIG_H

#include "pipeline/fields.h"
#include "pipeline/flow_graph.h"

#define FLOW_BLOCKS_MAX 1000
#define FLOW_APPROVERS_MAX 100 /* of a node */

/* A failed node blocks its dependents in any case. Name in files and meaning for the others. */
#define FLOW_FAILURE_POLICIES(X)                                                                   \
	X(CONTINUE, "continue")            /* nothing */                                           \
	X(CANCEL_PENDING, "cancelPending") /* nodes that have not started are cancelled */         \
	X(CANCEL_ALL, "cancelAll")         /* and those that run */                                \
	X(ROLLBACK, "rollback")            /* and what the flow has deployed is rolled back */

enum flow_failure_policy {
#define FLOW_FAILURE_POLICY_ENUM(name, text) FLOW_ON_FAILURE_##name,
	FLOW_FAILURE_POLICIES(FLOW_FAILURE_POLICY_ENUM)
#undef FLOW_FAILURE_POLICY_ENUM
};

const char *flow_failure_policy_name(enum flow_failure_policy policy);

/* Which commit a node deploys. */
enum flow_commit_choice {
	FLOW_COMMIT_FROZEN, /* resolved once, when the flow is created */
	FLOW_COMMIT_LATEST, /* resolved when the node is planned */
};

struct flow_condition {
	uint32_t line;
	struct span commit_prefix;
};

struct flow_node_config {
	uint32_t line;
	struct span name;
	const struct json *depends; /* list of texts; NULL: none */
	bool requires_approval;
	struct field_list approvers; /* struct span; empty: everyone with the right to write */
	int64_t minimum_approvers;   /* different users; -1: 1 */
	bool excludes_requester;     /* the user that started the flow may not approve */
	int commit;                  /* enum flow_commit_choice */
	int64_t soak_ms;             /* -1: the flow's */
};

/* One item of spec.postSync.chain.applications: all applications that match. */
struct flow_block {
	uint32_t line;
	struct span name, kind;   /* data NULL: any */
	struct field_list labels; /* struct field_pair */
};

struct flow_config {
	struct span file;
	bool is_chain;
	struct field_list nodes;  /* struct flow_node_config; unless it is a chain */
	struct field_list blocks; /* struct flow_block; of a chain */
	struct field_list
		conditions;       /* struct flow_condition: one of them must hold; none: always */
	int on_failure;           /* enum flow_failure_policy */
	int64_t soak_ms;          /* how long an application must stay healthy */
	int64_t sync_timeout_ms;  /* after its deployment, until the live state is in sync */
	int64_t queue_timeout_ms; /* while the target of a node is not available */
	int64_t approval_timeout_ms;
};

/* post_sync: NULL or without a flow gives *ret_config NULL. head: the name of the application whose file it is, "":
 * not known. -EINVAL: "FILE:LINE: …". */
int flow_config_read(struct span file, const struct json *post_sync, struct span head,
	struct arena *arena, struct flow_config **ret_config, struct err *err);

/* Whether a commit starts the flow. Case matters. */
bool flow_config_conditions_hold(const struct flow_config *config, struct span commit_message);

/* An application of the account. */
struct flow_application {
	struct span id, name, kind;
	const struct field_list *labels; /* struct field_pair */
	bool on_flow, on_chain;          /* may be deployed by them */
};

struct flow_plan_node {
	const struct flow_application *application;
	const struct flow_node_config *config; /* NULL: of a chain */
	bool is_disabled;                      /* the application does not take part in flows */
};

/* The nodes of a flow, and their graph. */
struct flow_plan {
	const struct flow_graph *graph;
	struct flow_plan_node *nodes; /* graph->node_count */
};

/* head: the ID of the application whose flow it is. -EINVAL: a name is unknown or ambiguous, or a block is empty. */
int flow_config_resolve(const struct flow_config *config,
	const struct flow_application *applications, size_t application_count, struct span head,
	struct arena *arena, struct flow_plan *ret_plan, struct err *err);

#endif
