/*
 * Clusters. The API text holds the desired state (name, settings, configuration, capacity
 * providers); counts are derived when a request reads them. A deleted cluster stays INACTIVE for a
 * while, as in ECS, and CreateCluster with the same name starts it anew.
 */
#ifndef ECS_CLUSTER_H
#define ECS_CLUSTER_H

#include "aws/service.h"

extern const struct store_kind cluster_kind;

enum cluster_index {
	CLUSTER_BY_STATUS, /* "ACCOUNT/REGION/STATUS/" */
	CLUSTER_BY_PROVIDER, /* "ACCOUNT/REGION/PROVIDER", once per capacity provider; ACTIVE ones only */
	CLUSTER_INDEX_COUNT
};

struct cluster_facts {
	struct span name;
	bool active;
	int64_t deleted_ms; /* 0 while active */
};

static inline const struct cluster_facts *cluster_facts(const struct store_object *cluster)
{
	return cluster->facts;
}

/*
 * The ACTIVE cluster that a request names by `given` (name or ARN; absent: "default"). Fails the
 * request with ClusterNotFoundException.
 */
int cluster_find(struct aws_request *request, struct span requested,
	const struct store_object **ret_cluster);
/* "arn:aws:ecs:…:cluster/NAME" for what `cluster` of the input says; for authorisation. */
void cluster_resources(struct aws_request *request, struct aws_resources *resources);

/* Creates the cluster, as CreateCluster with only its name, unless there is an ACTIVE one. */
int cluster_ensure(struct store_transaction *transaction, struct span account, struct span region,
	struct span name, struct random *random, int64_t now_ms, struct err *err);

int cluster_create(struct aws_request *request);
int cluster_delete(struct aws_request *request);
int cluster_describe(struct aws_request *request);
int cluster_list(struct aws_request *request);
int cluster_put_capacity_providers(struct aws_request *request);
int cluster_update(struct aws_request *request);
int cluster_update_settings(struct aws_request *request);
void cluster_create_resources(struct aws_request *request, struct aws_resources *resources);
void cluster_list_resources(struct aws_request *request, struct aws_resources *resources);

#endif
