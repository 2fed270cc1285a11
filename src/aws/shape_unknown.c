/* Looks for members without a shape; see shape_unknown.h. The depth of recursion is bounded by the
 * parser's limit. The path is put together on the way back, from its end to its beginning. */
#include "aws/shape_unknown.h"

#define SHOWN_NAME_MAX 64 /* bytes of a client's own name in a path */

static struct span find(const struct shape_service *service, const struct shape *shape,
	const struct json *value, struct arena *arena);

static struct span shown(struct span name)
{
	if (name.length <= SHOWN_NAME_MAX)
		return name;
	name.length = SHOWN_NAME_MAX;
	while (name.length > 0 && ((unsigned char)name.data[name.length] & 0xc0) == 0x80)
		name.length--;
	return name;
}

/* below: "", ".name…" or "[2]…" */
static struct span join(struct arena *arena, struct span name, struct span below)
{
	return arena_format(arena, ".%.*s%.*s", SPAN_ARGS(shown(name)), SPAN_ARGS(below));
}

static struct span find_in_object(const struct shape_service *service, const struct shape *shape,
	const struct json *value, struct arena *arena)
{
	for (size_t i = 0; i < value->object.count; i++) {
		const struct json_member *member = &value->object.members[i];
		const struct shape_member *known = NULL;
		const struct shape *inner = &service->shapes[shape->element];
		struct span below;

		if (shape->type == SHAPE_STRUCTURE) {
			known = shape_find_member(service, shape, member->name);
			if (!known)
				return join(arena, member->name, SPAN(""));
			inner = &service->shapes[known->shape];
		}
		below = find(service, inner, member->value, arena);
		if (below.data)
			return join(arena, member->name, below);
	}
	return SPAN_NONE;
}

static struct span find_in_list(const struct shape_service *service, const struct shape *shape,
	const struct json *value, struct arena *arena)
{
	for (size_t i = 0; i < value->array.count; i++) {
		struct span below = find(service, &service->shapes[shape->element],
			value->array.items[i], arena);

		if (below.data)
			return arena_format(arena, "[%zu]%.*s", i, SPAN_ARGS(below));
	}
	return SPAN_NONE;
}

static struct span find(const struct shape_service *service, const struct shape *shape,
	const struct json *value, struct arena *arena)
{
	if (value->type == JSON_OBJECT &&
		(shape->type == SHAPE_STRUCTURE || shape->type == SHAPE_MAP))
		return find_in_object(service, shape, value, arena);
	if (value->type == JSON_ARRAY && shape->type == SHAPE_LIST)
		return find_in_list(service, shape, value, arena);
	return SPAN_NONE;
}

struct span shape_find_unknown(const struct shape_service *service, const struct shape *shape,
	const struct json *value, struct arena *arena)
{
	struct span path = find(service, shape, value, arena);

	if (path.data && path.data[0] == '.') {
		path.data++;
		path.length--;
	}
	return path;
}
