/* See naming_edit.h. */
#include "release/naming_edit.h"

#include <string.h>

static const struct json *edit_items(struct arena *arena, const struct json *array,
	const char *path, naming_change change, void *context)
{
	struct json *copy = NULL;

	for (size_t i = 0; i < json_array_count(array); i++) {
		const struct json *item = json_item(array, i);
		const struct json *edited = naming_edit(arena, item, path, change, context);

		if (edited != item && !copy) {
			copy = json_new_array(arena);
			for (size_t before = 0; before < i; before++)
				json_append(arena, copy, json_item(array, before));
		}
		if (copy)
			json_append(arena, copy, edited);
	}
	return copy ? copy : array;
}

const struct json *naming_edit(struct arena *arena, const struct json *value, const char *path,
	naming_change change, void *context)
{
	const struct json *child, *edited;
	struct json *copy;
	size_t length;

	if (!value)
		return value;
	if (*path == '.')
		path++;
	if (!*path)
		return change(arena, value, context);
	if (*path == '[')
		return edit_items(arena, value, path + strlen("[]"), change, context);
	length = strcspn(path, ".[");
	child = json_get_span(value, (struct span){path, length});
	edited = naming_edit(arena, child, path + length, change, context);
	if (edited == child)
		return value;
	copy = json_copy_object(arena, value);
	json_set(arena, copy, arena_copy(arena, path, length), edited);
	return copy;
}

const struct json *naming_edit_set(struct arena *arena, const struct json *object, const char *path,
	const char *member, const struct json *value)
{
	struct json *copy = json_is(object, JSON_OBJECT) ? json_copy_object(arena, object)
							 : json_new_object(arena);
	size_t length = strcspn(path, ".");
	char *name;

	if (!*path) {
		if (value)
			json_set(arena, copy, member, value);
		else
			json_unset(copy, member);
		return copy;
	}
	name = arena_copy(arena, path, length);
	json_set(arena, copy, name,
		naming_edit_set(arena, json_get(object, name),
			path + length + (path[length] == '.'), member, value));
	return copy;
}
