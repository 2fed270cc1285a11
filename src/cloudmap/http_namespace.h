/*
 * Creates an HTTP namespace as a part of another service's request: ECS does so for a cluster's default of
 * Service Connect. The caller has made sure that there is none of the name.
 */
#ifndef CLOUDMAP_HTTP_NAMESPACE_H
#define CLOUDMAP_HTTP_NAMESPACE_H

#include "aws/service.h"

/* Fails as aws_fail_input() does when the name is not valid or there are too many. */
int cloudmap_http_namespace_put(struct aws_request *request, struct span name,
	struct span *ret_key);

#endif
