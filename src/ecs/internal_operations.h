/* The operations of ECS that only slipway's own controllers call; see the source. */
#ifndef ECS_INTERNAL_OPERATIONS_H
#define ECS_INTERNAL_OPERATIONS_H

#include "aws/service.h"

#define ECS_INTERNAL_OPERATION_COUNT 3

extern const struct aws_operation ecs_internal_operations[ECS_INTERNAL_OPERATION_COUNT];

#endif
