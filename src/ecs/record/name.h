/*
 * Names and ARNs. ECS accepts either wherever it asks for a resource; everything inside works with
 * names and keys, and ARNs are made when something is answered.
 */
#ifndef ECS_NAME_H
#define ECS_NAME_H

#include "aws/key.h"

#define ECS_NAME_MAX 255

/* [a-zA-Z0-9_-]{1,255}; fails the request with the service's input error and the member's name. */
int ecs_check_name(struct aws_request *request, const char *member, struct span name);
bool ecs_is_name(struct span text);

/* "arn:aws:ecs:REGION:ACCOUNT:TYPE/NAME" of the request's account and region. */
struct span ecs_arn(struct aws_request *request, const char *type, struct span name);

/*
 * The name behind a name or an ARN: for type "cluster", "web" and "arn:…:cluster/web" are both "web".
 * An ARN of another account, region, service or type fails the request. What follows "TYPE/" is
 * returned whole ("default/web" for a service).
 */
int ecs_resolve(struct aws_request *request, const char *member, const char *type,
	struct span requested, struct span *ret_name);
/* As ecs_resolve without failing: false when it cannot be a name of that type here. */
bool ecs_try_resolve(const struct aws_caller *caller, const char *type, struct span requested,
	struct span *ret_name);

/* The one ARN that policies know a resource by, whichever way it was named; what cannot be a resource
 * of that type here stays as it was given. */
struct span ecs_canonical_arn(struct aws_request *request, const char *type, struct span requested);

/* {"arn":…,"reason":"MISSING"} for failures[]. */
const struct json *ecs_failure_missing(struct aws_request *request, struct span arn);

#endif
