/*
 * ARNs of load balancers and target groups, and what they name. An ARN has an id beside the name, so that
 * one of something deleted does not name what took its name. (Listeners and rules: listener_kind.c.)
 */
#include "aws/arn.h"
#include "aws/key.h"
#include "elb/elb.h"

#define SERVICE "elasticloadbalancing"

static const char *const type_text[] = {[ELB_APPLICATION] = "app", [ELB_NETWORK] = "net"};

/* ---- writing ---- */

struct span elb_load_balancer_arn(struct arena *arena, const struct store_object *load_balancer)
{
	const struct elb_load_balancer_facts *facts = elb_load_balancer_facts(load_balancer);

	return aws_arn_of_key(arena, SERVICE, load_balancer->key,
		arena_format(arena, "loadbalancer/%s/%.*s/%.*s", type_text[facts->type],
			SPAN_ARGS(facts->name), SPAN_ARGS(facts->id)));
}

struct span elb_target_group_arn(struct arena *arena, const struct store_object *group)
{
	const struct elb_target_group_facts *facts = elb_target_group_facts(group);

	return aws_arn_of_key(arena, SERVICE, group->key,
		arena_format(arena, "targetgroup/%.*s/%.*s", SPAN_ARGS(facts->name),
			SPAN_ARGS(facts->id)));
}

/* ---- reading ---- */

/* The text after "TYPE/" in an ARN of this service, account and region; else data is NULL. */
static struct span resource_of(struct span scope, struct span requested, const char *type)
{
	struct span account, region, before, rest;
	struct aws_arn arn;

	if (!requested.data || !aws_arn_parse(requested, &arn) || !span_is(arn.service, SERVICE) ||
		!span_split(scope, '/', &account, &rest) ||
		!span_split(rest, '/', &region, &rest) || !span_equal(arn.account, account) ||
		!span_equal(arn.region, region) ||
		!span_equal(arn.partition, aws_partition_of(region)) ||
		!span_split(arn.resource, '/', &before, &rest) || !span_is(before, type))
		return SPAN_NONE;
	return rest;
}

/* The object whose key is the scope with this behind it. */
static const struct store_object *get(const struct store_view *view, const struct store_kind *kind,
	struct span scope, struct span name)
{
	char key[STORE_KEY_MAX];

	if (name.length == 0 || scope.length + name.length > sizeof(key))
		return NULL;
	memcpy(key, scope.data, scope.length);
	memcpy(key + scope.length, name.data, name.length);
	return store_get(view, kind, (struct span){key, scope.length + name.length});
}

const struct store_object *elb_load_balancer_find(const struct store_view *view, struct span scope,
	struct span arn)
{
	struct span rest = resource_of(scope, arn, "loadbalancer"), type, name, id;
	const struct elb_load_balancer_facts *facts;
	const struct store_object *found;

	if (!rest.data || !span_split(rest, '/', &type, &rest) ||
		!span_split(rest, '/', &name, &id))
		return NULL;
	found = get(view, &elb_load_balancer_kind, scope, name);
	if (!found)
		return NULL;
	facts = elb_load_balancer_facts(found);
	return span_equal(facts->id, id) && span_is(type, type_text[facts->type]) ? found : NULL;
}

const struct store_object *elb_target_group_find(const struct store_view *view, struct span scope,
	struct span arn)
{
	struct span resource = resource_of(scope, arn, "targetgroup"), name, id;
	const struct store_object *found;

	if (!resource.data || !span_split(resource, '/', &name, &id))
		return NULL;
	found = get(view, &elb_target_group_kind, scope, name);
	return found && span_equal(elb_target_group_facts(found)->id, id) ? found : NULL;
}
