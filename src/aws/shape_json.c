/*
 * The shape tables as JSON, so that a test can hold them against AWS's models and tools can read
 * them without C. See shape_write_json() in shape.h for the form.
 */
#include "aws/shape.h"

static const char *const type_text[] = {
	[SHAPE_STRING] = "string",
	[SHAPE_INTEGER] = "integer",
	[SHAPE_LONG] = "long",
	[SHAPE_FLOAT] = "float",
	[SHAPE_DOUBLE] = "double",
	[SHAPE_BOOLEAN] = "boolean",
	[SHAPE_TIMESTAMP] = "timestamp",
	[SHAPE_BLOB] = "blob",
	[SHAPE_DOCUMENT] = "document",
	[SHAPE_LIST] = "list",
	[SHAPE_MAP] = "map",
	[SHAPE_STRUCTURE] = "structure",
};

static void write_name(const struct shape_service *service, struct shape_name name,
	struct buffer *out)
{
	json_write_string(shape_text(service, name), out);
}

/* ,"key":"text" unless there is none */
static void write_named(const struct shape_service *service, const char *key,
	struct shape_name name, struct buffer *out)
{
	if (name.length == 0)
		return;
	buffer_format(out, ",\"%s\":", key);
	write_name(service, name, out);
}

/* {"type":…} of a value; structures and enums by name. */
static void write_type(const struct shape_service *service, uint16_t index, struct buffer *out)
{
	const struct shape *shape = &service->shapes[index];
	const struct shape_limits *limits = &service->limits[shape->limits];

	buffer_format(out, "{\"type\":\"%s\"", type_text[shape->type]);
	write_named(service, shape->type == SHAPE_STRUCTURE ? "structure" : "enum", shape->name,
		out);
	if (shape->type == SHAPE_LIST || shape->type == SHAPE_MAP) {
		buffer_add_string(out, ",\"element\":");
		write_type(service, shape->element, out);
		write_named(service, "elementWireName", shape->wire_name, out);
	}
	if (shape->type == SHAPE_MAP) {
		buffer_add_string(out, ",\"key\":");
		write_type(service, shape->key, out);
	}
	if (shape->limits > 0 && limits->min != INT64_MIN)
		buffer_format(out, ",\"min\":%lld", (long long)limits->min);
	if (shape->limits > 0 && limits->max != INT64_MAX)
		buffer_format(out, ",\"max\":%lld", (long long)limits->max);
	if (shape->flags & SHAPE_SENSITIVE)
		buffer_add_string(out, ",\"sensitive\":true");
	if (shape->flags & SHAPE_FLATTENED)
		buffer_add_string(out, ",\"flattened\":true");
	buffer_add_char(out, '}');
}

static void write_structure(const struct shape_service *service, const struct shape *shape,
	struct buffer *out)
{
	write_name(service, shape->name, out);
	buffer_add_string(out, ":{\"members\":{");
	for (size_t i = 0; i < shape->count; i++) {
		const struct shape_member *member = &service->members[shape->first + i];

		if (i > 0)
			buffer_add_char(out, ',');
		write_name(service, member->name, out);
		buffer_format(out, ":{\"required\":%s,\"token\":%s",
			member->flags & SHAPE_REQUIRED ? "true" : "false",
			member->flags & SHAPE_TOKEN ? "true" : "false");
		write_named(service, "wireName", member->wire_name, out);
		buffer_add_string(out, ",\"value\":");
		write_type(service, member->shape, out);
		buffer_add_char(out, '}');
	}
	buffer_add_char(out, '}');
	if (shape->flags & SHAPE_UNION)
		buffer_add_string(out, ",\"union\":true");
	if (shape->flags & SHAPE_ERROR)
		buffer_format(out, ",\"error\":{\"fault\":\"%s\",\"status\":%u}",
			shape->flags & SHAPE_SERVER_FAULT ? "server" : "client", shape->status);
	write_named(service, "code", shape->wire_name, out);
	buffer_add_char(out, '}');
}

static void write_operation(const struct shape_service *service,
	const struct shape_operation *operation, struct buffer *out)
{
	write_name(service, operation->name, out);
	buffer_add_string(out, ":{\"input\":");
	write_name(service, service->shapes[operation->input].name, out);
	buffer_add_string(out, ",\"output\":");
	write_name(service, service->shapes[operation->output].name, out);
	buffer_add_string(out, ",\"errors\":[");
	for (size_t i = 0; i < operation->error_count; i++) {
		uint16_t error = service->errors[operation->first_error + i];

		if (i > 0)
			buffer_add_char(out, ',');
		write_name(service, service->shapes[error].name, out);
	}
	buffer_add_string(out, "],\"invalidInput\":");
	write_name(service, operation->invalid_input, out);
	buffer_add_char(out, '}');
}

static void write_enum(const struct shape_service *service, const struct shape *shape,
	struct buffer *out)
{
	write_name(service, shape->name, out);
	buffer_add_string(out, ":[");
	for (size_t i = 0; i < shape->count; i++) {
		if (i > 0)
			buffer_add_char(out, ',');
		write_name(service, service->values[shape->first + i], out);
	}
	buffer_add_char(out, ']');
}

void shape_write_json(const struct shape_service *service, struct buffer *out)
{
	const char *separator = "";

	buffer_add_string(out, "{\"service\":");
	json_write_string(span_of(service->name), out);
	buffer_add_string(out, ",\"protocol\":");
	json_write_string(span_of(service->protocol), out);
	buffer_add_string(out, ",\"version\":");
	json_write_string(span_of(service->version), out);
	buffer_add_string(out, ",\"targetPrefix\":");
	json_write_string(span_of(service->target_prefix), out);
	if (service->xml_namespace) {
		buffer_add_string(out, ",\"xmlNamespace\":");
		json_write_string(span_of(service->xml_namespace), out);
	}
	buffer_add_string(out, ",\"operations\":{");
	for (size_t i = 0; i < service->operation_count; i++) {
		if (i > 0)
			buffer_add_char(out, ',');
		write_operation(service, &service->operations[i], out);
	}
	buffer_add_string(out, "},\"structures\":{");
	for (size_t i = 0; i < service->shape_count; i++) {
		const struct shape *shape = &service->shapes[i];

		if (shape->type != SHAPE_STRUCTURE)
			continue;
		buffer_add_string(out, separator);
		write_structure(service, shape, out);
		separator = ",";
	}
	buffer_add_string(out, "},\"enums\":{");
	separator = "";
	for (size_t i = 0; i < service->shape_count; i++) {
		const struct shape *shape = &service->shapes[i];

		if (shape->type != SHAPE_STRING || shape->count == 0)
			continue;
		buffer_add_string(out, separator);
		write_enum(service, shape, out);
		separator = ",";
	}
	buffer_add_string(out, "}}");
}
