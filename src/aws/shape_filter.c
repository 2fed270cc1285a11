/* Leaves out what a shape does not know; see shape_filter.h. Values are validated before: the depth
 * of recursion is bounded by the parser's limit. */
#include "aws/shape_filter.h"

static const struct json *filter_object(const struct shape_service *service,
	const struct shape *shape, const struct json *value, struct arena *arena)
{
	struct json *copy = NULL;

	for (size_t i = 0; i < value->object.count; i++) {
		const struct json_member *member = &value->object.members[i];
		const struct shape *inner = NULL;
		const struct json *kept = NULL;

		if (shape->type == SHAPE_MAP) {
			inner = &service->shapes[shape->element];
		} else {
			const struct shape_member *known =
				shape_find_member(service, shape, member->name);

			inner = known ? &service->shapes[known->shape] : NULL;
		}
		if (inner && !json_is_absent(member->value))
			kept = shape_filter(service, inner, member->value, arena);
		if (!copy && kept == member->value)
			continue;
		if (!copy) {
			/* The first difference: begin a copy with what came before. */
			copy = json_new_object(arena);
			for (size_t j = 0; j < i; j++)
				json_set(arena, copy,
					arena_copy_span(arena, value->object.members[j].name).data,
					value->object.members[j].value);
		}
		if (kept)
			json_set(arena, copy, arena_copy_span(arena, member->name).data, kept);
	}
	return copy ? copy : value;
}

static const struct json *filter_list(const struct shape_service *service,
	const struct shape *shape, const struct json *value, struct arena *arena)
{
	const struct shape *element = &service->shapes[shape->element];
	struct json *copy = NULL;

	for (size_t i = 0; i < value->array.count; i++) {
		const struct json *item = value->array.items[i];
		const struct json *kept = shape_filter(service, element, item, arena);

		if (!copy && kept == item)
			continue;
		if (!copy) {
			copy = json_new_array(arena);
			for (size_t j = 0; j < i; j++)
				json_append(arena, copy, value->array.items[j]);
		}
		json_append(arena, copy, kept);
	}
	return copy ? copy : value;
}

const struct json *shape_filter(const struct shape_service *service, const struct shape *shape,
	const struct json *value, struct arena *arena)
{
	if (value->type == JSON_OBJECT &&
		(shape->type == SHAPE_STRUCTURE || shape->type == SHAPE_MAP))
		return filter_object(service, shape, value, arena);
	if (value->type == JSON_ARRAY && shape->type == SHAPE_LIST)
		return filter_list(service, shape, value, arena);
	return value;
}
