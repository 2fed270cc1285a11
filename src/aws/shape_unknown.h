/* Strictness for our own API: what a value has that its shape does not know. AWS ignores it; see
 * shape_validate. */
#ifndef AWS_SHAPE_UNKNOWN_H
#define AWS_SHAPE_UNKNOWN_H

#include "aws/shape.h"

/* The path of the first member that the shape does not know, "instanceGroup.clustre" or "items[2].x", at
 * any depth, in the arena; SPAN_NONE when there is none. Wrong types are shape_validate's to find. */
struct span shape_find_unknown(const struct shape_service *service, const struct shape *shape,
	const struct json *value, struct arena *arena);

#endif
