/*
 * A request as its shape knows it: members that the model does not have and nulls are left out, all
 * the way down. What a client gave and AWS would have ignored must not come back in an answer.
 */
#ifndef AWS_SHAPE_FILTER_H
#define AWS_SHAPE_FILTER_H

#include "aws/shape.h"

/* The value itself when there is nothing to leave out, else a copy in the arena. */
const struct json *shape_filter(const struct shape_service *service, const struct shape *shape,
	const struct json *value, struct arena *arena);

#endif
