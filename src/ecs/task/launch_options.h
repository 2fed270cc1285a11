/*
 * Where and how tasks are to be launched, as requests say it: a launch type or a strategy of capacity
 * providers, a platform version, a network configuration. CreateService, UpdateService and CreateTaskSet say
 * it with the same members and the same rules, and so does RunTask.
 */
#ifndef ECS_LAUNCH_OPTIONS_H
#define ECS_LAUNCH_OPTIONS_H

#include "aws/service.h"

#define LAUNCH_PROVIDERS_MAX 20 /* of one strategy */

struct launch_options {
	struct span launch_type; /* "EC2", "FARGATE" or "EXTERNAL"; "" with a strategy */
	const struct json
		*strategy; /* capacityProviderStrategy, completed; NULL with a launch type */
	struct span platform_version; /* "" unless it is Fargate */
	const struct json *network;   /* networkConfiguration, completed; NULL if there is none */
	bool fargate;                 /* by launch type or by strategy */
};

/*
 * Reads launchType, capacityProviderStrategy, platformVersion and networkConfiguration of `given`, an object
 * with those members, and checks them against the definition's document. What is not said comes from the
 * cluster's default strategy, or is EC2. Fails the request.
 */
int launch_options_read(struct aws_request *request, const struct store_object *cluster,
	const struct json *definition, const struct json *requested,
	struct launch_options *ret_options);
/* Sets those members in a document, and removes those that do not apply. */
void launch_options_set(const struct launch_options *options, struct arena *arena,
	struct json *document);

/* How many tasks each provider of a capacityProviderStrategy has: of a request, or of a deployment. */
struct launch_shares {
	const struct json *strategy; /* NULL: there are no providers */
	int64_t requested[LAUNCH_PROVIDERS_MAX];
};

/* One more of this provider; none if it is not in the strategy. */
void launch_shares_add(struct launch_shares *shares, struct span provider);
/* The provider of the next task, which is counted: first providers below their base, then the one
 * with the fewest tasks for its weight. "" without providers. */
struct span launch_next_provider(struct launch_shares *shares);

#endif
