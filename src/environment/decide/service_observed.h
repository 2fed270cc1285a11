/*
 * The ECS service of a Service environment: the request that a version requires, and the state that DescribeServices
 * reports. Pure.
 */
#ifndef ENVIRONMENT_DECIDE_SERVICE_OBSERVED_H
#define ENVIRONMENT_DECIDE_SERVICE_OBSERVED_H

#include "base/json.h"
#include "environment/model/context.h"

struct service_observed {
	bool exists;    /* and has not become INACTIVE */
	bool is_ours;   /* says its tag */
	bool drains;    /* is being deleted */
	bool runs_it;   /* the task definition that is wanted */
	bool as_wanted; /* and everything else, too */
	enum {
		SERVICE_ROLLOUT_IN_PROGRESS,
		SERVICE_ROLLOUT_COMPLETED,
		SERVICE_ROLLOUT_FAILED
	} rollout;
	struct span deployment;     /* id of its PRIMARY one; "" */
	struct span deployment_arn; /* of the rollout that can be stopped; "" */
	int64_t desired, running, pending;
	int64_t updated; /* running, of the PRIMARY deployment */
	int64_t failed; /* tasks of the PRIMARY deployment, one after the other: none was well since */
	struct span reported; /* ECS's reason for the state of its rollout; "" */
	const char *blocker;  /* a word for why nothing can be started now; NULL */
};

/* The request of CreateService. version: as clients see it; balancer: complete, or NULL. */
struct json *service_wanted(struct arena *arena, struct span cluster, struct span name,
	const struct json *version, const struct json *balancer);
/* The same for UpdateService. */
struct json *service_wanted_update(struct arena *arena, const struct json *wanted, bool force);

/* description: of DescribeServices, with tags; NULL: there is none. Events before `since_ms` are old; or, where clocks are
 * another's, those from before its rollout. */
#define SERVICE_SINCE_ROLLOUT INT64_C(-1)
void service_observe(const struct json *description, const struct json *wanted, struct span name,
	int64_t since_ms, struct service_observed *ret_observed);

/* Tasks of the PRIMARY deployment that run and are not merely tried once more. */
int64_t service_proven(const struct service_observed *observed);
void service_count(const struct service_observed *observed, int64_t wanted,
	struct environment_counts *ret_counts);

/* "attribute:stack == prod and attribute:gpu exists" of instanceGroup.attributes; "" */
struct span service_constraint(struct arena *arena, const struct json *attributes);

#endif
