/* The operations on flows, which are slipway's own (api/slipway.json). */
#ifndef FLOW_API_H
#define FLOW_API_H

#include "aws/service.h"
#include "delivery/stream.h"

/* Rows for the table of service "slipway", sorted by name. */
extern const struct aws_operation flow_operations[];
extern const size_t flow_operation_count;

/* Their context is a struct flow_stream_context. */
extern const struct delivery_stream_operation flow_streams[];
extern const size_t flow_stream_count;

struct flow_stream_context {
	struct store *store;
};

/* api_read.c */
int flow_api_list(struct aws_request *request);
int flow_api_get(struct aws_request *request);
/* api_change.c */
int flow_api_approve(struct aws_request *request);
int flow_api_reject(struct aws_request *request);
int flow_api_cancel(struct aws_request *request);
int flow_api_retry(struct aws_request *request);

/* ---- shared by operations ---- */

/* With the resource that is meant. type and resource_type are literals. Returns -EPERM. */
int flow_api_fail(struct aws_request *request, const char *type, const char *resource_type,
	struct span resource, const char *format, ...) __attribute__((format(printf, 5, 6)));
#define flow_api_fail(...) ERR_NEGATIVE(flow_api_fail(__VA_ARGS__))

/* Of `id` of the input: an ID, or the name of a head, whose latest flow is meant. Fails the request. */
int flow_api_find(struct aws_request *request, const struct store_object **ret_flow);
/* A flow without its nodes. */
struct json *flow_api_document(struct arena *arena, const struct store_object *flow);
/* A node as it is stored. */
struct json *flow_api_node_document(struct arena *arena, const struct store_object *node);

#endif
