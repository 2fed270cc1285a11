/* Namespaces of Cloud Map, as clusters and services name them. */
#ifndef ECS_NAMESPACE_H
#define ECS_NAMESPACE_H

#include "aws/key.h"

/* The namespace with this name or ARN; NULL if there is none. */
const struct store_object *ecs_find_namespace(struct aws_request *request, struct span requested);

#endif
