/* See the header. */
#include "ecs/record/namespace.h"

#include "aws/arn.h"
#include "cloudmap/cloudmap.h"

const struct store_object *ecs_find_namespace(struct aws_request *request, struct span requested)
{
	struct aws_arn arn;
	struct span type, id;
	struct store_cursor cursor = {.view = request->view,
		.kind = &cloudmap_namespace_kind,
		.index = CLOUDMAP_NAMESPACE_BY_NAME,
		.exact = true};
	char *name;

	if (aws_arn_looks_like(requested)) {
		if (!aws_arn_parse(requested, &arn) || !span_is(arn.service, "servicediscovery") ||
			!span_equal(arn.account, request->caller->account) ||
			!span_equal(arn.region, request->caller->region) ||
			!span_split(arn.resource, '/', &type, &id) || !span_is(type, "namespace"))
			return NULL;
		return store_get(request->view, &cloudmap_namespace_kind, aws_key(request, id));
	}
	name = arena_copy(request->arena, requested.data, requested.length);
	for (size_t i = 0; i < requested.length; i++)
		if (name[i] >= 'A' && name[i] <= 'Z')
			name[i] = (char)(name[i] - 'A' + 'a');
	cursor.prefix = aws_key(request, (struct span){name, requested.length});
	return store_next(&cursor);
}
