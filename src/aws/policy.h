/*
 * IAM-style policies: {"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["ecs:Describe*"],
 * "Resource":"arn:aws:ecs:*:*:cluster/team-*"}]}. Action/NotAction, Resource/NotResource, one text or
 * a list, wildcards * and ?; actions compare without case, resources with it. Explicit deny wins; what
 * no statement allows is denied. Condition, Principal and anything else unknown are refused when the
 * policy is parsed, never ignored: a policy that we only half understand must not grant anything.
 */
#ifndef AWS_POLICY_H
#define AWS_POLICY_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/span.h"

#define AWS_POLICY_TEXT_MAX (32 * 1024)
#define AWS_POLICY_STATEMENTS_MAX 100

struct aws_policy;

/* Parses JSON text; the policy lives in the arena. Messages name the statement and the member. */
int aws_policy_parse(struct span text, struct arena *arena, const struct aws_policy **ret_policy,
	struct err *err);
enum aws_decision {
	AWS_NOT_ALLOWED, /* no statement allows it */
	AWS_ALLOWED,
	AWS_DENIED, /* a statement denies it */
};
enum aws_decision aws_policy_decide(const struct aws_policy *policy, struct span action,
	struct span resource);
/* Whether `action` ("ecs:RunTask") is allowed on every one of the resources; on "*" if there are none. */
bool aws_policy_allows(const struct aws_policy *policy, struct span action,
	const struct span *resources, size_t count);
/* Whether it is allowed on all resources: for requests with more of them than can be named one
 * by one. An Allow must hold for "*", and no Deny may concern the action at all. */
bool aws_policy_allows_everything(const struct aws_policy *policy, struct span action);

#endif
