/* Answers and errors into XML; see query.h. */
#include "aws/query.h"
#include "aws/query_error.h"
#include "aws/shape_scalar.h"
#include "aws/xml.h"
#include "base/memory.h"

static void write_value(const struct shape_service *service, const struct shape *shape,
	struct span name, const struct json *value, struct buffer *out);

/* ---- tags ---- */

static void open_tag(struct span name, struct buffer *out)
{
	buffer_add_char(out, '<');
	buffer_add_span(out, name);
	buffer_add_char(out, '>');
}

static void close_tag(struct span name, struct buffer *out)
{
	buffer_add_string(out, "</");
	buffer_add_span(out, name);
	buffer_add_char(out, '>');
}

static void write_element(struct span name, struct span text, struct buffer *out)
{
	open_tag(name, out);
	xml_write_text(text, out);
	close_tag(name, out);
}

static void open_document(const struct shape_service *service, struct span name, const char *suffix,
	struct buffer *out)
{
	buffer_add_char(out, '<');
	buffer_add_span(out, name);
	buffer_add_string(out, suffix);
	if (service && service->xml_namespace) {
		buffer_add_string(out, " xmlns=\"");
		xml_write_text(span_of(service->xml_namespace), out);
		buffer_add_char(out, '"');
	}
	buffer_add_char(out, '>');
}

/* ---- values ---- */

static void write_scalar(const struct shape *shape, struct span name, const struct json *value,
	struct buffer *out)
{
	_buffer_ struct buffer scratch = {0};
	struct span text = shape_scalar_text(shape, value, &scratch);

	if (text.data)
		write_element(name, text, out);
}

static void write_list(const struct shape_service *service, const struct shape *shape,
	struct span name, const struct json *value, struct buffer *out)
{
	const struct shape *element = &service->shapes[shape->element];
	bool flattened = shape->flags & SHAPE_FLATTENED;
	struct span item_name = flattened ? name : query_item_name(service, shape);

	if (!flattened)
		open_tag(name, out);
	JSON_EACH_ITEM (value, item)
		write_value(service, element, item_name, item, out);
	if (!flattened)
		close_tag(name, out);
}

static void write_map(const struct shape_service *service, const struct shape *shape,
	struct span name, const struct json *value, struct buffer *out)
{
	const struct shape *element = &service->shapes[shape->element];
	bool flattened = shape->flags & SHAPE_FLATTENED;
	struct span entry_name = flattened ? name : SPAN("entry");

	if (!flattened)
		open_tag(name, out);
	for (size_t i = 0; json_is(value, JSON_OBJECT) && i < value->object.count; i++) {
		const struct json_member *entry = &value->object.members[i];

		if (json_is_absent(entry->value))
			continue;
		open_tag(entry_name, out);
		write_element(SPAN("key"), entry->name, out);
		write_value(service, element, SPAN("value"), entry->value, out);
		close_tag(entry_name, out);
	}
	if (!flattened)
		close_tag(name, out);
}

static void write_members(const struct shape_service *service, const struct shape *shape,
	const struct json *value, struct buffer *out)
{
	for (size_t i = 0; json_is(value, JSON_OBJECT) && i < value->object.count; i++) {
		const struct json_member *requested = &value->object.members[i];
		const struct shape_member *member =
			shape_find_member(service, shape, requested->name);

		if (member)
			write_value(service, &service->shapes[member->shape],
				query_member_name(service, member), requested->value, out);
	}
}

static void write_value(const struct shape_service *service, const struct shape *shape,
	struct span name, const struct json *value, struct buffer *out)
{
	if (json_is_absent(value))
		return;
	switch (shape->type) {
	case SHAPE_LIST: write_list(service, shape, name, value, out); break;
	case SHAPE_MAP: write_map(service, shape, name, value, out); break;
	case SHAPE_STRUCTURE:
		open_tag(name, out);
		write_members(service, shape, value, out);
		close_tag(name, out);
		break;
	default: write_scalar(shape, name, value, out);
	}
}

/* ---- documents ---- */

void query_write_answer(const struct shape_service *service,
	const struct shape_operation *operation, const struct json *answer, const char *request_id,
	struct buffer *out)
{
	struct span name = shape_text(service, operation->name);

	open_document(service, name, "Response", out);
	buffer_format(out, "<%.*sResult>", SPAN_ARGS(name));
	write_members(service, &service->shapes[operation->output], answer, out);
	buffer_format(out, "</%.*sResult><ResponseMetadata>", SPAN_ARGS(name));
	write_element(SPAN("RequestId"), span_of(request_id), out);
	buffer_format(out, "</ResponseMetadata></%.*sResponse>", SPAN_ARGS(name));
}

void query_write_error(const struct shape_service *service, const struct json *error,
	const char *request_id, struct buffer *out)
{
	struct span type = json_get_text(error, "__type"),
		    message = json_get_text(error, "message");
	const struct shape *shape = query_find_error(service, type);
	int status = query_error_status(service, type, 400);

	open_document(service, SPAN("ErrorResponse"), "", out);
	buffer_add_string(out, "<Error>");
	write_element(SPAN("Type"), status >= 500 ? SPAN("Receiver") : SPAN("Sender"), out);
	write_element(SPAN("Code"), query_error_code(service, type), out);
	write_element(SPAN("Message"), message.data ? message : SPAN(""), out);
	for (size_t i = 0; shape && i < error->object.count; i++) {
		const struct json_member *requested = &error->object.members[i];
		const struct shape_member *member =
			shape_find_member(service, shape, requested->name);

		if (member && !span_equal_ignoring_case(requested->name, SPAN("message")))
			write_value(service, &service->shapes[member->shape],
				query_member_name(service, member), requested->value, out);
	}
	buffer_add_string(out, "</Error>");
	write_element(SPAN("RequestId"), span_of(request_id), out);
	buffer_add_string(out, "</ErrorResponse>");
}
