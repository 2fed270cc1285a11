/* Names, keys and ARNs of ECS resources; see name.h. */
#include "ecs/record/name.h"

#include <stdio.h>

#include "aws/arn.h"

bool ecs_is_name(struct span text)
{
	if (!text.data || text.length == 0 || text.length > ECS_NAME_MAX)
		return false;
	for (size_t i = 0; i < text.length; i++) {
		char c = text.data[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
			    c == '-' || c == '_'))
			return false;
	}
	return true;
}

int ecs_check_name(struct aws_request *request, const char *member, struct span name)
{
	if (ecs_is_name(name))
		return 0;
	return aws_fail_input(request,
		"%s: '%.*s' is not a valid name. Use 1 to %d letters, digits, hyphens "
		"and underscores.",
		member, SPAN_ARGS(name.data ? name : SPAN("")), ECS_NAME_MAX);
}

struct span ecs_arn(struct aws_request *request, const char *type, struct span name)
{
	return aws_arn_format(request->arena, "ecs", request->caller->region,
		request->caller->account, "%s/%.*s", type, SPAN_ARGS(name));
}

bool ecs_try_resolve(const struct aws_caller *caller, const char *type, struct span requested,
	struct span *ret_name)
{
	struct aws_arn arn;
	struct span found_type, name;

	/* No name of anything holds a zero byte; ARNs are formatted, and would end there. */
	if (requested.length == 0 || memchr(requested.data, '\0', requested.length))
		return false;
	if (!aws_arn_looks_like(requested)) {
		*ret_name = requested;
		return true;
	}
	if (!aws_arn_parse(requested, &arn) || !span_is(arn.service, "ecs") ||
		!span_equal(arn.partition, aws_partition_of(caller->region)) ||
		!span_equal(arn.region, caller->region) ||
		!span_equal(arn.account, caller->account) ||
		!span_split(arn.resource, '/', &found_type, &name) || !span_is(found_type, type) ||
		name.length == 0)
		return false;
	*ret_name = name;
	return true;
}

int ecs_resolve(struct aws_request *request, const char *member, const char *type,
	struct span requested, struct span *ret_name)
{
	const struct aws_caller *caller = request->caller;
	struct aws_arn arn;

	if (ecs_try_resolve(caller, type, requested, ret_name))
		return 0;
	if (requested.length == 0)
		return aws_fail_input(request, "%s: must not be empty", member);
	if (!aws_arn_looks_like(requested))
		return aws_fail_input(request, "%s: '%.*s' is not a valid name", member,
			SPAN_ARGS(requested));
	if (!aws_arn_parse(requested, &arn))
		return aws_fail_input(request, "%s: '%.*s' is not a valid ARN", member,
			SPAN_ARGS(requested));
	if (!span_equal(arn.region, caller->region))
		return aws_fail_input(request,
			"%s: '%.*s' is in region '%.*s', the request is in '%.*s'", member,
			SPAN_ARGS(requested), SPAN_ARGS(arn.region), SPAN_ARGS(caller->region));
	if (!span_equal(arn.account, caller->account))
		return aws_fail_input(request, "%s: '%.*s' belongs to another account", member,
			SPAN_ARGS(requested));
	return aws_fail_input(request, "%s: '%.*s' is not the ARN of a %s", member,
		SPAN_ARGS(requested), type);
}

struct span ecs_canonical_arn(struct aws_request *request, const char *type, struct span requested)
{
	struct span name;

	if (ecs_try_resolve(request->caller, type, requested, &name))
		return ecs_arn(request, type, name);
	return requested.data ? requested : SPAN("");
}

const struct json *ecs_failure_missing(struct aws_request *request, struct span arn)
{
	struct json *failure = json_new_object(request->arena);

	json_set_string(request->arena, failure, "arn", arn);
	json_set_string(request->arena, failure, "reason", SPAN("MISSING"));
	return failure;
}
