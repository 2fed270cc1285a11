/*
 * The names in a version of an environment: target, cluster, task definition and role. Names of this server are looked
 * up. Names of a remote target are only checked for their form, so that environments can be created and changed while the
 * target is unavailable; a missing object is reported when it is used.
 */
#ifndef ENVIRONMENT_MODEL_VERSION_NAMES_H
#define ENVIRONMENT_MODEL_VERSION_NAMES_H

#include "aws/service.h"

struct version_names {
	/* From the request, or from the version before; data NULL: absent. */
	struct span target, cluster, task_definition, role;
	bool is_cluster_requested, is_role_requested; /* with this request */
	/* The objects that they refer to. */
	struct span cluster_ref; /* see kinds.h */
	struct span cluster_arn, task_definition_arn;
};

/* In the transaction. target becomes "" for this server, role "" for none. before: the cluster_ref of the version before,
 * or SPAN_NONE. Fails the request. */
int version_names_find(struct aws_request *request, struct span before,
	struct version_names *names);

/* The ACTIVE cluster of this server that a name or ARN means; NULL: there is none. */
const struct store_object *version_names_cluster(struct aws_request *request,
	struct span requested);

#endif
