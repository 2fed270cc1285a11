/* See the header. */
#include "ecs/record/tags.h"

#include "aws/document.h"

const struct json *tags_private_document(struct aws_request *request,
	const struct store_object *object)
{
	struct json *document;

	if (object->private_.length == 0 ||
		json_parse(object->private_, request->arena, &document, NULL) < 0)
		return NULL;
	return document;
}

const struct json *tags_of(struct aws_request *request, const struct store_object *object)
{
	const struct json *tags = json_get(tags_private_document(request, object), "tags");

	return tags ? tags : json_new_array(request->arena);
}

void tags_set(struct aws_request *request, struct json *document, const struct json *tags)
{
	json_set(request->arena, document, "tags",
		json_is_absent(tags) ? json_new_array(request->arena) : tags);
}

struct span tags_private(struct aws_request *request, const struct json *tags)
{
	struct json *document = json_new_object(request->arena);

	tags_set(request, document, tags);
	return json_to_text(document, request->arena);
}

bool input_includes(const struct aws_request *request, const char *field)
{
	return document_list_has(json_get(request->input, "include"), span_of(field));
}
