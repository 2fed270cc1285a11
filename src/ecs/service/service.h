/*
 * The services API: the desired state of services, and how answers show them. Handlers write the
 * desired state (service_revision.h says which object holds what); the service controller
 * reconciles it.
 */
#ifndef ECS_SERVICE_H
#define ECS_SERVICE_H

#include "ecs/service/service_revision.h"

#define SERVICE_DESIRED_MAX 100000

/* ---- finding ---- */

/* The service that `given` names in the cluster, by name or ARN, whatever its status; NULL if there is none.
 * *ret_name is the name in any case, for failures; data NULL if it cannot be one. */
const struct store_object *service_get(struct aws_request *request,
	const struct store_object *cluster, struct span requested, struct span *ret_name);
/* Finds `service` of the input; fails with ServiceNotFoundException, and with
 * ServiceNotActiveException if the service is not ACTIVE and the operation has that error. */
int service_find(struct aws_request *request, const struct store_object *cluster,
	const struct store_object **ret_service);
int service_find_active(struct aws_request *request, const struct store_object *cluster,
	const struct store_object **ret_service);

/* ---- rules (service_check.c) ---- */

/* Fills a new service_edit with document, facts and tags from a CreateService request;
 * *ret_definition is the document of the task definition, NULL with an EXTERNAL controller. Fails
 * the request. */
int service_check_create(struct aws_request *request, const struct store_object *cluster,
	struct service_edit *edit, const struct json **ret_definition);
/* Applies an UpdateService request to the edit. *ret_deploy: it needs a new deployment. */
int service_check_update(struct aws_request *request, const struct store_object *cluster,
	struct service_edit *edit, const struct json **ret_definition, bool *ret_deploy);
/* The ACTIVE task definition that a request names; fails the request. */
int service_find_definition(struct aws_request *request, struct span requested,
	struct span *ret_arn, const struct json **ret_document);

/* ---- rules of traffic (service_traffic.c) ---- */

/* loadBalancers and serviceRegistries of a service's or task set's document must find tasks of the definition;
 * fails the request. */
int service_check_traffic(struct aws_request *request, const struct json *definition,
	const struct json *document);
/* The same for an update: `document` is the updated service, `input` the members that are new. */
int service_check_traffic_update(struct aws_request *request, const struct json *definition,
	const struct json *input, const struct json *document);
/* serviceConnectConfiguration of an input: fails the request if it is enabled. */
int service_check_connect(struct aws_request *request, const struct json *input);

/* ---- answers (service_describe.c) ---- */

/* {"service":…} of the service under this key in head. */
int service_answer(struct aws_request *request, struct span key);
/* Sums of TASK_BY_SERVICE of a part of a service: "" for all of it, else a deployment's or task set's
 * number. */
void service_sum_tasks(const struct store_view *view, struct span service_key, struct span number,
	int64_t ret_sums[STORE_MEASURES]);

/* ---- operations ---- */

int service_create_prepare(struct aws_request *request);
int service_create(struct aws_request *request);
int service_update(struct aws_request *request);
int service_delete(struct aws_request *request);
int service_describe(struct aws_request *request);
int service_list(struct aws_request *request);
int service_list_by_namespace(struct aws_request *request);
void service_resources(struct aws_request *request, struct aws_resources *resources);
void service_list_resources(struct aws_request *request, struct aws_resources *resources);

int service_deployment_list(struct aws_request *request);
int service_deployment_describe(struct aws_request *request);
int service_deployment_stop(struct aws_request *request);
int service_deployment_continue(struct aws_request *request);
int service_revision_describe(struct aws_request *request);
void service_deployment_resources(struct aws_request *request, struct aws_resources *resources);

#endif
