/*
 * Container instances: the machines of a cluster. Agents register them; attributes belong to them.
 * Keys are "ACCOUNT/REGION/CLUSTER/ID".
 */
#ifndef ECS_CONTAINER_INSTANCE_H
#define ECS_CONTAINER_INSTANCE_H

#include "aws/service.h"

extern const struct store_kind container_instance_kind;

enum container_instance_index {
	CONTAINER_INSTANCE_BY_ATTRIBUTE, /* "ACCOUNT/REGION/CLUSTER/NAME=VALUE", once per attribute */
	CONTAINER_INSTANCE_INDEX_COUNT
};

struct container_instance_facts {
	struct span id;
	struct span cluster;
	struct span status; /* "ACTIVE", "DRAINING", "INACTIVE" */
};

static inline const struct container_instance_facts *
container_instance_facts(const struct store_object *instance)
{
	return instance->facts;
}

/* The instance "CLUSTER/ID" of the request's account and region, as ARNs name it; NULL if absent. */
const struct store_object *container_instance_get(struct aws_request *request, struct span name);
/* The instance that `given` (id or ARN) means within a cluster; NULL if there is none. */
const struct store_object *container_instance_in(struct aws_request *request,
	const struct store_object *cluster, struct span given);
/* How many are registered in a cluster. */
uint64_t container_instance_count(const struct store_view *view,
	const struct store_object *cluster);

int container_instance_register(struct aws_request *request);
int container_instance_register_prepare(struct aws_request *request);
int container_instance_deregister(struct aws_request *request);
int container_instance_describe(struct aws_request *request);
int container_instance_list(struct aws_request *request);
void container_instance_resources(struct aws_request *request, struct aws_resources *resources);

#endif
