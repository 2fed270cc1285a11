/* The view of a flow: its graph as a tree, with state, time and reason of each node. Pure. */
#ifndef CLI_FLOW_VIEW_H
#define CLI_FLOW_VIEW_H

#include "base/json.h"

/*
 * Lines of at most `width` columns, each with its line break, and at most `rows` of them. A graph that has more nodes than
 * fit is not drawn as a tree: nodes that are in progress come first, then those that failed, and the last line counts the
 * nodes of each state. now_ms: wall time.
 */
struct span flow_view(struct arena *arena, const struct json *flow, size_t width, size_t rows,
	int64_t now_ms);

#endif
