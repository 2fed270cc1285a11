/*
 * How a parser (of JSON, of YAML) makes values in a capped arena: nodes taken several at once, and
 * the members and items of everything still open on one scratch stack, moved to arrays of the right
 * size in the arena when their object or array closes.
 */
#ifndef BASE_JSON_COLLECT_H
#define BASE_JSON_COLLECT_H

#include "base/json.h"

#define JSON_COLLECT_FIRST 64
#define JSON_COLLECT_NODES 64

struct json_collector {
	struct arena *arena;
	uint32_t table_seed;
	struct json *nodes; /* taken from the arena, not used yet */
	size_t nodes_left;
	struct json_member *scratch;
	size_t scratch_count;
	size_t scratch_capacity;
	struct json_member *scratch_heap; /* NULL while the first scratch suffices */
	struct json_member scratch_first[JSON_COLLECT_FIRST];
};

#define _json_collector_ CLEANUP(json_collect_end)

void json_collect_begin(struct json_collector *collector, struct arena *arena);
void json_collect_end(struct json_collector *collector);

void json_collect_grow_(struct json_collector *collector);
int json_collect_nodes_(struct json_collector *collector, size_t most);

/* A zeroed value. most: no more values than this will follow it. -E2BIG if the arena's cap is
 * passed; err is left to the caller. */
static inline int json_collect_new(struct json_collector *collector, size_t most,
	struct json **ret_value)
{
	if (collector->nodes_left == 0) {
		int code = json_collect_nodes_(collector, most);

		if (code < 0)
			return code;
	}
	collector->nodes_left--;
	*ret_value = collector->nodes++;
	return 0;
}

/* Where the entries of an array or object that opens now will begin. */
static inline size_t json_collect_open(const struct json_collector *collector)
{
	return collector->scratch_count;
}

static inline void json_collect_add(struct json_collector *collector, struct span name,
	struct json *value)
{
	if (collector->scratch_count == collector->scratch_capacity)
		json_collect_grow_(collector);
	collector->scratch[collector->scratch_count++] = (struct json_member){name, value};
}

/* Give the value what was added since `first`. -E2BIG as above; -EEXIST if two members have one
 * name, and then ret_duplicate points to the second. */
int json_collect_close_array(struct json_collector *collector, size_t first, struct json *array);
int json_collect_close_object(struct json_collector *collector, size_t first, struct json *object,
	const struct json_member **ret_duplicate);

/* A name in quotes, escaped and cut to a sensible length, for messages. */
void json_collect_quote(struct span name, struct buffer *out);

#endif
