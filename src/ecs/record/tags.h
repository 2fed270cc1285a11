/*
 * Tags of ECS resources. Every taggable kind keeps them in the private text of its objects, as
 * {"tags":[…],…}, so that tagging never touches what a Describe shows otherwise.
 */
#ifndef ECS_TAGS_H
#define ECS_TAGS_H

#include "aws/service.h"

/* The private text of an object, parsed; NULL if it has none. */
const struct json *tags_private_document(struct aws_request *request,
	const struct store_object *object);
/* The tags of an object: an array, empty if it has none. */
const struct json *tags_of(struct aws_request *request, const struct store_object *object);
/* Adds "tags":[…] (always present, perhaps empty) to a document that is being answered. */
void tags_set(struct aws_request *request, struct json *document, const struct json *tags);
/* {"tags":[…]} as private text, for an object that keeps nothing else there. */
struct span tags_private(struct aws_request *request, const struct json *tags);

/* Does a list of texts in the input (`include`) name this field? */
bool input_includes(const struct aws_request *request, const char *field);

#endif
