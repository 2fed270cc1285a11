/* The graph of a flow with its rules, as it is stored when the flow is created. It never changes. */
#ifndef FLOW_DEFINITION_H
#define FLOW_DEFINITION_H

#include "base/json.h"
#include "flow/kinds.h"

/* The users that approve a node. */
struct flow_approval_rules {
	const struct span *approvers; /* none: every user that may write */
	size_t approver_count;
	int64_t minimum;         /* different users; 0 counts as 1 */
	bool excludes_requester; /* the user that started the flow may not approve */
};

/* Where the files of a node come from, and the users that approve it. */
struct flow_node_definition {
	struct span name; /* of the application */
	bool is_chain;    /* of a chain: the application has to take part in chains */
	bool has_files;   /* the flow has them; they came with the head's */
	bool is_latest;   /* of the application's last success when the node is planned */
	bool is_git; /* the repository of the application has them, at this commit, tag or branch: */
	struct span commit; /* "": the branch */
	enum flow_commit_source source;
	struct span from; /* else those of this deployment; "": it has none */
	struct flow_approval_rules approval;
};

struct flow_definition {
	const struct flow_graph *graph;
	struct flow_rules rules;
	struct flow_node_rules *node_rules;
	struct flow_node_definition *nodes;
};

struct json *flow_definition_write(const struct flow_definition *definition, struct arena *arena);
/* Everything in the arena, copied from the text. -EINVAL: it is none. */
int flow_definition_read(struct span text, struct arena *arena,
	struct flow_definition *ret_definition, struct err *err);

/* The node of an application; FLOW_NO_NODE. */
uint32_t flow_definition_find(const struct flow_definition *definition, struct span name);

#endif
