/*
 * A version of an environment as it is being made: what the request gives, over the version before, with
 * defaults below. Checks all that the shape of the request cannot say; changes nothing.
 */
#ifndef DAEMON_DRAFT_H
#define DAEMON_DRAFT_H

#include "aws/service.h"
#include "daemon/kinds.h"

#define DRAFT_ATTRIBUTES_MAX 32
#define DRAFT_MINIMUM_HEALTHY 90 /* when nothing was said; then one instance may always be down */
#define DRAFT_MAXIMUM_OVER 100
#define DRAFT_TIMEOUT_S 3600
#define DRAFT_DRAIN_TIMEOUT_S 3600
#define DRAFT_UNREACHABLE_S 60

struct environment_draft {
	struct environment_version_facts facts; /* without environment, id and number */
	struct json *document;                  /* as clients see it, without the same */
};

/* Is it "NAME" or "NAME=VALUE", as a version can have it? */
bool environment_draft_is_attribute(struct span text);
/* What needs no state; in the request's prepare. */
int environment_draft_check(struct aws_request *request);
/* On the writer. base: the version before, or NULL. Fails the request. */
int environment_draft_make(struct aws_request *request, enum environment_type type,
	const struct store_object *base, struct environment_draft *ret_draft);

/* "PLACE TASK-DEFINITION-ARN" */
struct span environment_draft_claim(struct arena *arena,
	const struct environment_version_facts *facts);

#endif
