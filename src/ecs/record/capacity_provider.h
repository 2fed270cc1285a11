/*
 * Capacity providers. FARGATE and FARGATE_SPOT always exist, for every account; the others are
 * created by clients, for an Auto Scaling group or for managed instances.
 */
#ifndef ECS_CAPACITY_PROVIDER_H
#define ECS_CAPACITY_PROVIDER_H

#include "aws/service.h"

extern const struct store_kind capacity_provider_kind;

enum capacity_provider_index {
	CAPACITY_PROVIDER_BY_CLUSTER, /* "ACCOUNT/REGION/CLUSTER" of managed instances */
	CAPACITY_PROVIDER_INDEX_COUNT
};

/* Is there a provider of this name that the cluster may use? The built-in ones and Auto Scaling groups
 * are for every cluster of the account, managed instances for their own. */
bool capacity_provider_is_for(struct aws_request *request, struct span name, struct span cluster);
/* One that belongs to this cluster alone, or NULL. */
const struct store_object *capacity_provider_of_cluster(struct aws_request *request,
	struct span cluster);
bool capacity_provider_is_fargate(struct span name);

int capacity_provider_create(struct aws_request *request);
int capacity_provider_create_prepare(struct aws_request *request);
int capacity_provider_delete(struct aws_request *request);
int capacity_provider_describe(struct aws_request *request);
int capacity_provider_update(struct aws_request *request);
void capacity_provider_resources(struct aws_request *request, struct aws_resources *resources);

#endif
