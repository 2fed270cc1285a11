/*
 * A version of an environment as it is being made: what the request gives, over the version before, with
 * defaults below. Checks all that the shape of the request cannot say; changes nothing.
 */
#ifndef ENVIRONMENT_MODEL_VERSION_BUILDER_H
#define ENVIRONMENT_MODEL_VERSION_BUILDER_H

#include "aws/service.h"
#include "environment/model/kinds.h"

#define VERSION_ATTRIBUTES_MAX 32
#define VERSION_MINIMUM_HEALTHY 90 /* when nothing was said; then one instance may always be down */
#define VERSION_MAXIMUM_OVER 100
#define VERSION_TIMEOUT_S 3600
#define VERSION_DRAIN_TIMEOUT_S 3600
#define VERSION_UNREACHABLE_S 60

struct version_builder {
	struct environment_version_facts facts; /* without environment, id and number */
	struct json *document;                  /* as clients see it, without the same */
};

/* Is it "NAME" or "NAME=VALUE", as a version can have it? */
bool version_builder_is_attribute(struct span text);
/* The checks that need no state, for `prepare` of a request. */
int version_builder_check(struct aws_request *request);
/* On the writer. base: the version before, or NULL. Fails the request. */
int version_builder_make(struct aws_request *request, enum environment_type type,
	const struct store_object *base, struct version_builder *ret_builder);

/* "PLACE TASK-DEFINITION-ARN" */
struct span version_builder_claim(struct arena *arena,
	const struct environment_version_facts *facts);

#endif
