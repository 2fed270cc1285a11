/*
 * The differences between the types of environments. A Daemon has one task on every matching instance; a Service has an
 * ECS service of its own; a Cron runs tasks at due times. One table lists the members of deploymentConfiguration that each
 * type has; members of another type are rejected by name.
 */
#ifndef ENVIRONMENT_MODEL_ENVIRONMENT_TYPE_H
#define ENVIRONMENT_MODEL_ENVIRONMENT_TYPE_H

#include "aws/service.h"
#include "environment/model/kinds.h"

#define ENVIRONMENT_SERVICE_PREFIX "env-" /* the ECS service of environment NAME is "env-NAME" */
#define ENVIRONMENT_SERVICE_TAG "slipway:environment" /* and bears its name in this tag */
#define ENVIRONMENT_CRON_TASKS_MAX 10                 /* of one run, as RunTask allows */

/* Of the input; Daemon when nothing is said. The shape has checked the name. */
enum environment_type environment_type_of_input(const struct json *input);
/* The whole configuration of a version, after merging. Fails the request. */
int environment_type_check(struct aws_request *request, enum environment_type type,
	const struct json *configuration);
/* Sets the defaults of absent members. */
void environment_type_set_defaults(struct arena *arena, enum environment_type type,
	struct json *configuration);

/* ResourceInUseException when an ECS service with the name exists that does not belong to the environment. */
int environment_check_service(struct aws_request *request, enum environment_type type,
	struct span name, const struct environment_version_facts *version);
/* Whether tags, as ECS has them, say that a service is of the environment of this name. */
bool environment_owns_service(const struct json *tags, struct span name);
struct span environment_service_name(struct arena *arena, struct span name);

#endif
