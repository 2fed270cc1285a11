/* Helpers for documents of all kinds: the part of a request worth keeping, and defaults. */
#ifndef AWS_DOCUMENT_H
#define AWS_DOCUMENT_H

#include "aws/service.h"

/* Of one object; a Describe answers up to a hundred of them. Task definitions have a limit of their
 * own. */
#define DOCUMENT_TEXT_MAX (128 * 1024)

/* The input without nulls and without members that the model does not know, so that neither is
 * stored and shown again. */
const struct json *document_input(struct aws_request *request);
/* Sets a member that is absent. */
void document_set_default(struct arena *arena, struct json *object, const char *name,
	const struct json *value);
/* The text to store; fails the request when it is longer than DOCUMENT_TEXT_MAX. */
int document_text(struct aws_request *request, const struct json *document, struct span *ret_text);
/* Whether the text is among the items of a list. */
bool document_list_has(const struct json *list, struct span text);

#endif
