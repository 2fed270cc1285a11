/* Keys of stored objects; see key.h. */
#include "aws/key.h"

#include <stdio.h>

#include "aws/arn.h"

/* Copied and not formatted: a name that a client sends may hold a zero byte, and is then another. */
struct span aws_key(struct aws_request *request, struct span name)
{
	const struct aws_caller *caller = request->caller;
	size_t scope = caller->account.length + caller->region.length + 2;
	char *key = arena_allocate(request->arena, scope + name.length + 1);

	snprintf(key, scope + 1, "%.*s/%.*s/", SPAN_ARGS(caller->account),
		SPAN_ARGS(caller->region));
	if (name.length > 0)
		memcpy(key + scope, name.data, name.length);
	key[scope + name.length] = '\0';
	return (struct span){key, scope + name.length};
}

struct span aws_key_prefix(struct aws_request *request)
{
	return aws_key(request, SPAN(""));
}

struct span aws_name_of_key(struct span key)
{
	struct span account, region, name;

	if (!span_split(key, '/', &account, &key) || !span_split(key, '/', &region, &name))
		return SPAN("");
	return name;
}

struct span aws_arn_of_key(struct arena *arena, const char *service, struct span key,
	struct span resource)
{
	struct span account, region;

	if (!span_split(key, '/', &account, &key) || !span_split(key, '/', &region, &key))
		return SPAN("");
	return aws_arn_format(arena, service, region, account, "%.*s", SPAN_ARGS(resource));
}
