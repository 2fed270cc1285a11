/*
 * Flows that stay in memory between passes, so that a pass costs as much as has happened and not as much as the flow is
 * large. What is kept is a copy and refers to nothing in the store: the graph with its rules, and the engine, which has
 * the record of each node; notes of the controller about a node are read when a pass needs them.
 *
 * A flow is kept only after a pass whose changes are all stored. It is valid while no other server or client writes it:
 * under the same epoch of the claim, and while the flow's own record has the revision that the pass left.
 */
#ifndef FLOW_CACHE_H
#define FLOW_CACHE_H

#include "base/json.h"
#include "base/lock.h"
#include "base/map.h"
#include "flow/definition.h"

#define FLOW_CACHE_BYTES_MAX                                                                       \
	(64 * 1024 * 1024) /* of all flows that are kept; some 100,000 nodes with files */

struct flow_pass_node;

struct flow_loaded {
	struct arena *arena;
	struct flow_definition definition;
	struct flow_engine *engine;
	struct json *files; /* of the flow, once a pass has read them; NULL */
	/* Of the pass in progress; NULL: a node that it has not read. Between passes all are NULL. */
	struct flow_pass_node **nodes;
	uint64_t epoch, revision;
	size_t bytes; /* as the cache counts it */
};

/* Parses and keeps the files. object: NULL if the flow has none (-ENOENT). */
int flow_loaded_read_files(struct flow_loaded *loaded, const struct store_object *object,
	struct err *err);
/* NULL is fine. */
void flow_loaded_free(struct flow_loaded *loaded);

/* Of one controller, for all of its workers. */
struct flow_cache {
	struct lock lock;
	/* Guarded by the lock: flows by key, the least recently used one first. */
	struct map flows;
	size_t bytes, bytes_max;
};

void flow_cache_init(struct flow_cache *cache, size_t bytes_max);
void flow_cache_destroy(struct flow_cache *cache);

/* The caller owns it then. NULL: not kept, or not valid any more. */
struct flow_loaded *flow_cache_take(struct flow_cache *cache, struct span key, uint64_t epoch,
	uint64_t revision);
/* Takes over the flow, and drops the least recently used ones while they are larger than bytes_max together. */
void flow_cache_put(struct flow_cache *cache, struct span key, struct flow_loaded *loaded);
void flow_cache_drop(struct flow_cache *cache, struct span key);

#endif
