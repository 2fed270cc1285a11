/* Attributes of container instances: custom names and values that placement can ask for. */
#ifndef ECS_ATTRIBUTE_H
#define ECS_ATTRIBUTE_H

#include "aws/service.h"

#define ATTRIBUTES_MAX 10 /* custom ones of an instance, as in ECS */

/* Name 1-128 of letters, digits and ._/-, value up to 128; fails the request naming `member`. */
int attribute_check(struct aws_request *request, const char *member, const struct json *attribute);

/* Is it a name that agents use and clients can neither set nor remove? */
bool attribute_is_reserved(struct span name);

/*
 * Packed, as the facts of an instance have them: ";NAME=VALUE;NAME=VALUE;", looked through without parsing.
 * Neither ';' nor '=' can be in a name or a value, and '\\', which JSON would escape, is written '|'.
 */
struct span attribute_pack(struct arena *arena, const struct json *attributes);
/* A name or value as it stands there. */
struct span attribute_packed_text(struct arena *arena, struct span text);
/* The value that a packed list has for a packed name, "" for one without value; false if it has no such name. */
bool attribute_packed_find(struct span packed, struct span name, struct span *ret_value);

int attribute_put(struct aws_request *request);
int attribute_delete(struct aws_request *request);
int attribute_list(struct aws_request *request);

#endif
