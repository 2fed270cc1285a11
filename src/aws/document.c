/* Parts of stored documents; see the header. */
#include "aws/document.h"

#include "aws/shape_filter.h"

const struct json *document_input(struct aws_request *request)
{
	const struct shape_service *shapes = request->service->shapes;
	const struct shape_operation *operation =
		shape_find_operation(shapes, span_of(request->operation->name));

	return shape_filter(shapes, &shapes->shapes[operation->input], request->input,
		request->arena);
}

void document_set_default(struct arena *arena, struct json *object, const char *name,
	const struct json *value)
{
	if (json_is_absent(json_get(object, name)))
		json_set(arena, object, name, value);
}

int document_text(struct aws_request *request, const struct json *document, struct span *ret_text)
{
	struct span text = json_to_text(document, request->arena);

	if (text.length > DOCUMENT_TEXT_MAX)
		return aws_fail_input(request, "the resource would take %zu bytes, the limit is %d",
			text.length, DOCUMENT_TEXT_MAX);
	*ret_text = text;
	return 0;
}

bool document_list_has(const struct json *list, struct span text)
{
	JSON_EACH_ITEM (list, item)
		if (span_equal(json_text(item), text))
			return true;
	return false;
}
