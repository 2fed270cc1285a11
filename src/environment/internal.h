/* What the operations of this folder share beside daemon.h. */
#ifndef ENVIRONMENT_INTERNAL_H
#define ENVIRONMENT_INTERNAL_H

#include "aws/service.h"
#include "delivery/observe/observe.h"
#include "environment/daemon.h"

struct span environment_arn(struct aws_request *request, struct span name);
/* ResourceInUseException while it is being deleted. */
int environment_refuse_deleting(struct aws_request *request, const struct environment_facts *facts);
/* ResourceInUseException when another one runs the same task definition in the same place, or has the ECS service that
 * it would need. */
int environment_check_overlap(struct aws_request *request, enum environment_type type,
	const struct store_object *environment, const struct environment_version_facts *version);
struct span environment_new_id(struct aws_request *request);

/* state_api.c: an instance and a task as clients see them. Of the request: caller, view and arena. */
struct json *state_api_instance_document(struct aws_request *request, struct span cluster_ref,
	const struct observe_instance *instance);
struct json *state_api_task_document(struct aws_request *request, struct span cluster_ref,
	const struct observe_task *task);
/* The cluster that `target` and `cluster` of a request name. Fails the request. */
int state_api_find_cluster(struct aws_request *request, struct span *ret_cluster_ref);

static inline const struct webhook_set *daemon_webhooks(const struct aws_request *request)
{
	const struct daemon_context *context = request->context;

	return context ? context->webhooks : NULL;
}

#endif
