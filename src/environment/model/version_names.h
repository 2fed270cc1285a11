/*
 * What a version of an environment names: its target, cluster, task definition and role. Those of this server are
 * looked up. Of those elsewhere only the names are checked: whether they are there is seen, and told, when they are
 * used, so that environments can be made and changed while the target is away.
 */
#ifndef ENVIRONMENT_MODEL_VERSION_NAMES_H
#define ENVIRONMENT_MODEL_VERSION_NAMES_H

#include "aws/service.h"

struct version_names {
	/* As given, or as the version before has it; data NULL: not given. */
	struct span target, cluster, task_definition, role;
	bool is_cluster_requested, is_role_requested; /* with this request */
	/* What they mean. */
	struct span cluster_ref; /* see kinds.h */
	struct span cluster_arn, task_definition_arn;
};

/* On the writer. target becomes "" for this server, role "" for none. before: the place of the version before, or
 * SPAN_NONE. Fails the request. */
int version_names_find(struct aws_request *request, struct span before,
	struct version_names *names);

/* The ACTIVE cluster of this server that a name or ARN means; NULL: there is none. */
const struct store_object *version_names_cluster(struct aws_request *request,
	struct span requested);

#endif
