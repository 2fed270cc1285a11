/*
 * Amazon ECS: the table of its operations and the kinds of objects they keep. Keys begin with
 * "ACCOUNT/REGION/", so that what belongs to one account in one region is one range of keys, and
 * nothing else is ever in reach of a request.
 */
#ifndef ECS_ECS_H
#define ECS_ECS_H

#include "aws/service.h"
#include "ecs/record/context.h"

extern const struct aws_service ecs_service;

/* The object kinds of ECS, for store_open. */
extern const struct store_kind *const ecs_kinds[];
extern const size_t ecs_kind_count;

#endif
