/*
 * Capacity providers. FARGATE and FARGATE_SPOT are always there and belong to everybody; the others
 * are made by clients, for an Auto Scaling group or for managed instances.
 */
#ifndef ECS_CAPACITY_PROVIDER_H
#define ECS_CAPACITY_PROVIDER_H

#include "aws/service.h"

extern const struct store_kind capacity_provider_kind;

/* Does the request's account have a provider of this name (the built-in ones included)? */
bool capacity_provider_exists(struct aws_request *request, struct span name);
bool capacity_provider_is_fargate(struct span name);

int capacity_provider_create(struct aws_request *request);
int capacity_provider_create_prepare(struct aws_request *request);
int capacity_provider_delete(struct aws_request *request);
int capacity_provider_describe(struct aws_request *request);
int capacity_provider_update(struct aws_request *request);
void capacity_provider_resources(struct aws_request *request, struct aws_resources *resources);

#endif
