/* See the header. */
#include "pipeline/flow_graph.h"

enum color {
	COLOR_NEW,
	COLOR_OPEN, /* on the path of the search */
	COLOR_DONE,
};

/* Counting sort of the edges by one end; `to` gets the other ends. */
static void group_edges(struct arena *arena, uint32_t node_count, const struct flow_edge *edges,
	uint32_t edge_count, bool by_node, uint32_t **ret_first, uint32_t **ret_to)
{
	uint32_t *first = arena_allocate_array(arena, (size_t)node_count + 2, sizeof(*first));
	uint32_t *to = arena_allocate_array(arena, (size_t)edge_count + 1, sizeof(*to));

	/* first[i + 2] counts, so that first[i + 1] is where the next edge of i goes. */
	for (uint32_t i = 0; i < edge_count; i++)
		first[(by_node ? edges[i].node : edges[i].dependency) + 2]++;
	for (uint32_t i = 2; i < node_count + 2; i++)
		first[i] += first[i - 1];
	for (uint32_t i = 0; i < edge_count; i++) {
		uint32_t from = by_node ? edges[i].node : edges[i].dependency;

		to[first[from + 1]++] = by_node ? edges[i].dependency : edges[i].node;
	}
	*ret_first = first;
	*ret_to = to;
}

struct flow_graph *flow_graph_new(struct arena *arena, uint32_t node_count,
	const struct flow_edge *edges, uint32_t edge_count)
{
	struct flow_graph *graph = arena_allocate(arena, sizeof(*graph));

	graph->node_count = node_count;
	graph->edge_count = edge_count;
	group_edges(arena, node_count, edges, edge_count, true, &graph->first_dependency,
		&graph->dependencies);
	group_edges(arena, node_count, edges, edge_count, false, &graph->first_dependent,
		&graph->dependents);
	return graph;
}

static uint32_t take_path(struct arena *arena, const uint32_t *stack, uint32_t depth, uint32_t node,
	uint32_t **ret_path)
{
	uint32_t begin = depth, *path;

	while (stack[begin - 1] != node)
		begin--;
	path = arena_allocate_array(arena, depth - begin + 2, sizeof(*path));
	memcpy(path, stack + begin - 1, (depth - begin + 1) * sizeof(*path));
	path[depth - begin + 1] = node;
	*ret_path = path;
	return depth - begin + 2;
}

uint32_t flow_graph_find_cycle(const struct flow_graph *graph, struct arena *arena,
	uint32_t **ret_path)
{
	uint8_t *colors = arena_allocate_array(arena, (size_t)graph->node_count + 1, 1);
	uint32_t *stack =
		arena_allocate_array(arena, (size_t)graph->node_count + 1, sizeof(*stack));
	uint32_t *next = arena_allocate_array(arena, (size_t)graph->node_count + 1, sizeof(*next));

	for (uint32_t root = 0; root < graph->node_count; root++) {
		uint32_t depth = 0;

		if (colors[root] != COLOR_NEW)
			continue;
		stack[depth++] = root;
		while (depth > 0) {
			uint32_t node = stack[depth - 1], dependency;

			if (colors[node] == COLOR_NEW) {
				colors[node] = COLOR_OPEN;
				next[node] = graph->first_dependency[node];
			}
			if (next[node] == graph->first_dependency[node + 1]) {
				colors[node] = COLOR_DONE;
				depth--;
				continue;
			}
			dependency = graph->dependencies[next[node]++];
			if (colors[dependency] == COLOR_OPEN)
				return take_path(arena, stack, depth, dependency, ret_path);
			if (colors[dependency] == COLOR_NEW)
				stack[depth++] = dependency;
		}
	}
	return 0;
}
