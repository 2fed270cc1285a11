/*
 * Functions shared by the Cloud Map handlers: ids, lookup of the objects that a request names,
 * completed operations, and the handlers themselves, which are rows of the table in operations.c.
 */
#ifndef CLOUDMAP_API_H
#define CLOUDMAP_API_H

#include "aws/key.h"
#include "cloudmap/kinds.h"

/* ---- ids and names ---- */

#define ID_ALPHABET "abcdefghijklmnopqrstuvwxyz234567"
struct span cloudmap_new_id(struct aws_request *request, const char *prefix);
/* As names are in indexes. */
struct span cloudmap_lower_case(struct arena *arena, struct span name);
/* A client's text in a message: some texts of the model have no limit. */
struct span cloudmap_shown(struct span text);
struct span cloudmap_service_arn(struct arena *arena, struct span key);

/* ---- finding ---- */

/* Fail the request with NamespaceNotFound, ServiceNotFound. A service may be given by its ARN. */
int cloudmap_find_namespace(struct aws_request *request, struct span id,
	const struct store_object **ret_namespace);
int cloudmap_find_service(struct aws_request *request, struct span id,
	const struct store_object **ret_service);
/* NULL: there is none. */
const struct store_object *cloudmap_namespace_of_name(struct aws_request *request,
	struct span name);
const struct store_object *cloudmap_service_of_name(struct aws_request *request,
	const struct store_object *namespace_, struct span name);
uint64_t cloudmap_service_count_instances(struct aws_request *request,
	const struct store_object *service);
/* "HEALTHY", "UNHEALTHY", or "UNKNOWN" of a service that does not check. */
const char *cloudmap_instance_health(const struct store_object *service,
	const struct store_object *instance, int64_t now_ms);

/* Of the filter RESOURCE_OWNER: nothing is shared between accounts. */
struct span cloudmap_owner_is_self(const struct store_object *object);
extern const char *const cloudmap_owner_values[];

/* ---- operations that are done ---- */

/* Writes down that an operation succeeded and answers {"OperationId":…}. `facts` needs its type, targets
 * and request. */
int cloudmap_operation_succeed(struct aws_request *request, struct operation_facts facts);
/* The fact `request` of a CreatorRequestId within a scope; "" if the client gave none. */
struct span cloudmap_operation_request(struct aws_request *request, const char *member,
	enum operation_type type, struct span scope);
/* The operation that was made with it and is remembered; NULL: none. */
const struct store_object *cloudmap_operation_of_request(struct aws_request *request,
	struct span hashed);
/* Answers with an operation that was made before. */
int cloudmap_operation_answer(struct aws_request *request, const struct store_object *operation);
/* Fails with DuplicateRequest that names the operation. */
int cloudmap_operation_fail_duplicate(struct aws_request *request,
	const struct store_object *operation);

/* ---- handlers ---- */

int cloudmap_discover_instances(struct aws_request *request);
int cloudmap_discover_instances_revision(struct aws_request *request);
int cloudmap_instance_deregister(struct aws_request *request);
int cloudmap_instance_describe(struct aws_request *request);
int cloudmap_instance_list(struct aws_request *request);
int cloudmap_instance_health_list(struct aws_request *request);
int cloudmap_instance_register(struct aws_request *request);
int cloudmap_instance_health_update(struct aws_request *request);
int cloudmap_namespace_create_http(struct aws_request *request);
int cloudmap_namespace_create_private(struct aws_request *request);
int cloudmap_namespace_delete(struct aws_request *request);
int cloudmap_namespace_get(struct aws_request *request);
int cloudmap_namespace_list(struct aws_request *request);
int cloudmap_namespace_refuse_public(struct aws_request *request);
int cloudmap_namespace_update_http(struct aws_request *request);
int cloudmap_namespace_update_private(struct aws_request *request);
int cloudmap_operation_get(struct aws_request *request);
int cloudmap_operation_list(struct aws_request *request);
int cloudmap_service_create(struct aws_request *request);
int cloudmap_service_delete(struct aws_request *request);
int cloudmap_service_get(struct aws_request *request);
int cloudmap_service_list(struct aws_request *request);
int cloudmap_service_update(struct aws_request *request);

/* Of requests that name a namespace by Id, a service by Id or ServiceId. */
void cloudmap_namespace_resources(struct aws_request *request, struct aws_resources *resources);
void cloudmap_service_resources(struct aws_request *request, struct aws_resources *resources);

#endif
