/*
 * A directed graph in arrays: the dependencies and the dependents of each node lie side by side, so that a node's
 * neighbors are read in the time that they are many. Nodes are numbers from 0. Immutable once made; in an arena.
 */
#ifndef PIPELINE_FLOW_GRAPH_H
#define PIPELINE_FLOW_GRAPH_H

#include "base/arena.h"

#define FLOW_NODES_MAX 10000
#define FLOW_EDGES_MAX 100000
#define FLOW_NO_NODE UINT32_MAX

/* node starts after dependency. */
struct flow_edge {
	uint32_t node, dependency;
};

struct flow_graph {
	uint32_t node_count, edge_count;
	/* The dependencies of node i are dependencies[first_dependency[i]] up to first_dependency[i + 1]. */
	uint32_t *first_dependency, *dependencies;
	uint32_t *first_dependent, *dependents;
};

/* Neighbors keep the order of the edges. */
struct flow_graph *flow_graph_new(struct arena *arena, uint32_t node_count,
	const struct flow_edge *edges, uint32_t edge_count);

/* The nodes of a cycle in the order of dependency, the first one once more at the end; 0: there is none. The cycle is
 * the first that a search from the lowest node finds. */
uint32_t flow_graph_find_cycle(const struct flow_graph *graph, struct arena *arena,
	uint32_t **ret_path);

/* for-loops over neighbors; `name` points to the number of each. */
#define FLOW_EACH_DEPENDENCY(graph, node, name)                                                    \
	for (const uint32_t *name = (graph)->dependencies + (graph)->first_dependency[node],       \
			    *end_##name =                                                          \
				    (graph)->dependencies + (graph)->first_dependency[(node) + 1]; \
		name < end_##name; name++)
#define FLOW_EACH_DEPENDENT(graph, node, name)                                                     \
	for (const uint32_t *                                                                      \
			name = (graph)->dependents + (graph)->first_dependent[node],               \
		       *end_##name = (graph)->dependents + (graph)->first_dependent[(node) + 1];   \
		name < end_##name; name++)

#endif
