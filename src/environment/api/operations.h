/*
 * The operations of environments, which are slipway's own (api/slipway.json), and what they share. An environment is
 * declared once; each update creates an immutable version; a deployment rolls a version out.
 */
#ifndef ENVIRONMENT_API_OPERATIONS_H
#define ENVIRONMENT_API_OPERATIONS_H

#include "aws/service.h"
#include "delivery/observe/observe.h"
#include "delivery/stream.h"
#include "environment/model/context.h"

/* Rows for the table of service "slipway", sorted by name. */
extern const struct aws_operation daemon_operations[];
extern const size_t daemon_operation_count;

/* environment.c */
int environment_create_prepare(struct aws_request *request);
int environment_create(struct aws_request *request);
int environment_update_prepare(struct aws_request *request);
int environment_update(struct aws_request *request);
int environment_delete(struct aws_request *request);
/* environment_read.c */
int environment_get(struct aws_request *request);
int environment_list(struct aws_request *request);
int environment_version_get(struct aws_request *request);
int environment_version_list(struct aws_request *request);
/* diff.c */
int environment_diff(struct aws_request *request);
/* deployment.c */
int environment_deployment_prepare(struct aws_request *request);
int environment_deployment_start(struct aws_request *request);
int environment_deployment_rollback(struct aws_request *request);
int environment_deployment_stop(struct aws_request *request);
int environment_deployment_get(struct aws_request *request);
int environment_deployment_list(struct aws_request *request);
int environment_deployment_list_by_status(struct aws_request *request);

/* state_api.c */
int state_api_instance(struct aws_request *request);
int state_api_instances(struct aws_request *request);
int state_api_tasks(struct aws_request *request);
int state_api_events(struct aws_request *request);
/* state_stream.c: rows for the server's table of streams, with the same context as the operations. */
extern const struct delivery_stream_operation environment_streams[];
extern const size_t environment_stream_count;

/* ---- shared by operations ---- */

/* "arn:aws:slipway:REGION:ACCOUNT:environment/NAME", for policies. */
void environment_resources(struct aws_request *request, struct aws_resources *resources);
/* The environment that `name` of the input says. Fails the request: ResourceNotFoundException. */
int environment_find(struct aws_request *request, const struct store_object **ret_environment);
int environment_version_find(struct aws_request *request, const struct store_object *environment,
	struct span id, const struct store_object **ret_version);
/* Puts it with these facts, as changed now. Fails the request. */
int environment_save(struct aws_request *request, const struct store_object *environment,
	struct environment_facts *facts);
/* ResourceInUseException while it is being deleted. */
int environment_refuse_deleting(struct aws_request *request, const struct environment_facts *facts);
/* ResourceInUseException when another one runs the same task definition in the same place, or has the ECS service that
 * it would need. */
int environment_check_overlap(struct aws_request *request, enum environment_type type,
	const struct store_object *environment, const struct environment_version_facts *version);
struct span environment_new_id(struct aws_request *request);

/* state_api.c: an instance and a task as clients see them. Of the request: caller, view and arena. */
struct json *state_api_instance_document(struct aws_request *request, struct cluster_ref cluster,
	const struct observe_instance *instance);
struct json *state_api_task_document(struct aws_request *request, struct cluster_ref cluster,
	const struct observe_task *task);
/* The environment's tasks that have not stopped: one page, as the input's maxResults and nextToken say. Fails the request. */
int state_api_environment_tasks(struct aws_request *request, const struct store_object *environment,
	const struct json **ret_tasks, struct span *ret_token);
/* The cluster that `target` and `cluster` of a request name. Fails the request. */
int state_api_find_cluster(struct aws_request *request, struct cluster_ref *ret_cluster);

static inline const struct webhook_set *daemon_webhooks(const struct aws_request *request)
{
	const struct daemon_context *context = request->context;

	return context ? context->webhooks : NULL;
}

#endif
