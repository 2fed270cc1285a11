/*
 * Changed copies of immutable JSON: a path names the values to change, as in "spec.tls[].secretName".
 * Objects and arrays on the way to a change are copied, everything else is shared.
 */
#ifndef RELEASE_NAMING_EDIT_H
#define RELEASE_NAMING_EDIT_H

#include "base/arena.h"
#include "base/json.h"

/* Returns the value itself if it stays as it is. */
typedef const struct json *(*naming_change)(struct arena *arena, const struct json *value,
	void *context);

/* Values that the path does not reach stay as they are. */
const struct json *naming_edit(struct arena *arena, const struct json *value, const char *path,
	naming_change change, void *context);

/* Sets a member, with the objects on the way to it ("spec.selector.matchLabels"). Its name is separate
 * because names of labels have dots. value NULL: removes the member. */
const struct json *naming_edit_set(struct arena *arena, const struct json *object, const char *path,
	const char *member, const struct json *value);

#endif
