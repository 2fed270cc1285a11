/* The changes that a deployment makes to a definition: the members whose values differ. */
#ifndef PIPELINE_DIFFERENCE_H
#define PIPELINE_DIFFERENCE_H

#include "pipeline/fields.h"

#define DIFFERENCES_MAX 200

struct difference {
	struct span path;                  /* "containerDefinitions[web].image" */
	const struct json *before, *after; /* NULL: absent */
};

/*
 * Appends struct difference to list, at most DIFFERENCES_MAX. Both are requests. Members of a list that have a name or a
 * key are compared by it. A default that ECS filled in is no difference. only_wanted: members that wanted does not have
 * stay as they are, and are no difference.
 */
void difference_find(const struct json *live, const struct json *wanted, bool only_wanted,
	struct arena *arena, struct field_list *list);

#endif
