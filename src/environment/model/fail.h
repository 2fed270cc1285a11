/* How operations on environments fail: with the resource that is meant in the answer. */
#ifndef ENVIRONMENT_MODEL_FAIL_H
#define ENVIRONMENT_MODEL_FAIL_H

#include "aws/service.h"

/* {"code","message","resourceType","resourceId"}; type and resource_type are literals. Returns -EPERM. */
int daemon_fail(struct aws_request *request, const char *type, const char *resource_type,
	struct span resource_id, const char *format, ...) __attribute__((format(printf, 5, 6)));
#define daemon_fail(...) ERR_NEGATIVE(daemon_fail(__VA_ARGS__))

#endif
