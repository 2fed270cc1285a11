/* ARNs are cut at their first five colons; a resource may hold colons and slashes of its own. */
#include "aws/arn.h"

#include <stdarg.h>

#include "base/memory.h"

bool aws_arn_looks_like(struct span text)
{
	return span_starts_with(text, SPAN("arn:"));
}

bool aws_arn_parse(struct span text, struct aws_arn *ret_arn)
{
	struct span parts[5]; /* "arn", partition, service, region, account */
	struct span rest = text;

	if (text.length > AWS_ARN_MAX)
		return false;
	for (size_t i = 0; i < LENGTH(parts); i++) {
		if (!span_split(rest, ':', &parts[i], &rest))
			return false;
	}
	/* Region and account are empty for global resources; nothing else may be. */
	if (!span_is(parts[0], "arn") || parts[1].length == 0 || parts[2].length == 0 ||
		rest.length == 0)
		return false;
	*ret_arn = (struct aws_arn){
		.partition = parts[1],
		.service = parts[2],
		.region = parts[3],
		.account = parts[4],
		.resource = rest,
	};
	return true;
}

struct span aws_partition_of(struct span region)
{
	if (span_starts_with(region, SPAN("cn-")))
		return SPAN("aws-cn");
	if (span_starts_with(region, SPAN("us-gov-")))
		return SPAN("aws-us-gov");
	return SPAN("aws");
}

struct span aws_arn_format(struct arena *arena, const char *service, struct span region,
	struct span account, const char *resource_format, ...)
{
	struct span partition = aws_partition_of(region);
	struct span resource;
	va_list list;

	va_start(list, resource_format);
	resource = arena_format_list(arena, resource_format, list);
	va_end(list);
	return arena_format(arena, "arn:%.*s:%s:%.*s:%.*s:%.*s", SPAN_ARGS(partition), service,
		SPAN_ARGS(region), SPAN_ARGS(account), SPAN_ARGS(resource));
}
