/* What the documents of all kinds need: the part of a request that is worth keeping, and defaults. */
#ifndef ECS_DOCUMENT_H
#define ECS_DOCUMENT_H

#include "aws/service.h"

/* The input without nulls and without members that the model does not know, so that neither is
 * stored and shown again. */
const struct json *document_input(struct aws_request *request);
/* Sets a member that is absent. */
void document_set_default(struct arena *arena, struct json *object, const char *name,
			  const struct json *value);
/* Is the text among the items of a list? */
bool document_list_has(const struct json *list, struct span text);

#endif
