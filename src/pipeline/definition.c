/* See the header. The shape of the ECS request says which members there are and of which types. */
#include "pipeline/definition.h"

#include "base/memory.h"
#include "base/yaml.h"

#define EXPANDED_VALUES_MAX 100000 /* aliases count as often as they occur */
#define NEAREST_MEMBERS_MAX 64

struct definition_reader {
	struct field_reader fields;
	const struct shape_service *service;
	unsigned values;
};

/* Reads a value as the shape wants it. *ret_value is NULL for what is left out. path: for messages. answer: the shape
 * of the same object in answers, or NULL. */
static int read_value(struct definition_reader *reader, const struct shape *shape,
	const struct shape *answer, const char *path, const struct json *value,
	const struct json **ret_value);

static const struct shape *find_structure(const struct shape_service *service, struct span name)
{
	for (size_t i = 0; i < service->shape_count; i++) {
		if (service->shapes[i].type == SHAPE_STRUCTURE &&
			span_equal(shape_text(service, service->shapes[i].name), name))
			return &service->shapes[i];
	}
	return NULL;
}

static const struct shape_member *find_member(const struct shape_service *service,
	const struct shape *structure, struct span name)
{
	for (size_t i = 0; structure && i < structure->count; i++) {
		const struct shape_member *member = &service->members[structure->first + i];

		if (span_equal_ignoring_case(shape_text(service, member->name), name))
			return member;
	}
	return NULL;
}

/* A name that is near a member's is a slip of the pen; another one is dropped, as PipeCD drops it. */
static int handle_unknown(struct definition_reader *reader, const struct shape *structure,
	const char *path, const struct json_member *member)
{
	struct span known[NEAREST_MEMBERS_MAX], suggestion;
	size_t count = 0;

	for (; count < structure->count && count < NEAREST_MEMBERS_MAX; count++)
		known[count] = shape_text(reader->service,
			reader->service->members[structure->first + count].name);
	suggestion = fields_suggest(reader->fields.arena, member->name, known, count);
	if (suggestion.length > 0)
		return fields_fail(&reader->fields, member->value->line,
			"%s%sunknown key \"%.*s\"%s", path, *path ? ": " : "",
			SPAN_ARGS(member->name), suggestion.data);
	if (!span_starts_with(member->name, SPAN("x-")))
		fields_warn(&reader->fields, member->value->line,
			"%s%skey \"%.*s\" is not part of the ECS API and has no effect", path,
			*path ? ": " : "", SPAN_ARGS(member->name));
	return 0;
}

static int read_structure(struct definition_reader *reader, const struct shape *shape,
	const struct shape *answer, const char *path, const struct json *value, struct json *object)
{
	struct arena *arena = reader->fields.arena;
	const struct shape_service *service = reader->service;

	for (size_t i = 0; i < value->object.count; i++) {
		const struct json_member *member = &value->object.members[i];
		const struct shape_member *known = find_member(service, shape, member->name);
		const struct shape_member *answered = find_member(service, answer, member->name);
		const struct json *inner = NULL;
		struct span name;
		int code;

		if (!known && answered)
			continue;
		if (!known) {
			code = handle_unknown(reader, shape, path, member);
			if (code < 0)
				return code;
			continue;
		}
		name = shape_text(service, known->name);
		/* The exact spelling wins over another one beside it. */
		if (fields_find(value, name.data) != member->value)
			continue;
		code = read_value(reader, &service->shapes[known->shape],
			answered ? &service->shapes[answered->shape] : NULL,
			arena_format(arena, "%s%s%s", path, *path ? "." : "", name.data).data,
			member->value, &inner);
		if (code < 0)
			return code;
		json_set(arena, object, name.data, inner);
	}
	return 0;
}

static int read_map(struct definition_reader *reader, const struct shape *shape, const char *path,
	const struct json *value, struct json *object)
{
	struct arena *arena = reader->fields.arena;

	for (size_t i = 0; i < value->object.count; i++) {
		const struct json_member *member = &value->object.members[i];
		const struct json *inner = NULL;
		struct span name = arena_copy_span(arena, member->name);
		int code = read_value(reader, &reader->service->shapes[shape->element], NULL,
			arena_format(arena, "%s.%.*s", path, SPAN_ARGS(name)).data, member->value,
			&inner);

		if (code < 0)
			return code;
		/* A zero byte would cut the name. */
		if (memchr(name.data, '\0', name.length))
			return fields_fail(&reader->fields, member->value->line,
				"%s: a key has a zero byte", path);
		json_set(arena, object, arena_copy(arena, name.data, name.length), inner);
	}
	return 0;
}

static int read_list(struct definition_reader *reader, const struct shape *shape,
	const struct shape *answer, const char *path, const struct json *value, struct json *array)
{
	struct arena *arena = reader->fields.arena;
	const struct shape *answered = answer && answer->type == SHAPE_LIST
					       ? &reader->service->shapes[answer->element]
					       : NULL;
	size_t index = 0;

	JSON_EACH_ITEM (value, item) {
		const struct json *inner = NULL;
		int code = read_value(reader, &reader->service->shapes[shape->element], answered,
			arena_format(arena, "%s[%zu]", path, index++).data, item, &inner);

		if (code < 0)
			return code;
		if (inner)
			json_append(arena, array, inner);
	}
	return 0;
}

static int read_text(struct definition_reader *reader, const struct shape *shape, const char *path,
	const struct json *value, const struct json **ret_value)
{
	struct span text;

	if (!fields_scalar_text(value, &text))
		return fields_fail(&reader->fields, value->line, "%s: expected a string, not %s",
			path, json_type_name(value->type));
	if (shape->count > 0 && text.length == 0) /* an empty enum */
		return 0;
	for (size_t i = 0; i < shape->count; i++) {
		if (span_equal(shape_text(reader->service,
				       reader->service->values[shape->first + i]),
			    text)) {
			*ret_value = json_new_string(reader->fields.arena, text);
			return 0;
		}
	}
	if (shape->count > 0) {
		struct span known[NEAREST_MEMBERS_MAX];
		size_t count = 0;

		for (; count < shape->count && count < NEAREST_MEMBERS_MAX; count++)
			known[count] = shape_text(reader->service,
				reader->service->values[shape->first + count]);
		return fields_fail(&reader->fields, value->line, "%s: unknown value \"%.*s\"%s",
			path, SPAN_ARGS(text),
			fields_suggest(reader->fields.arena, text, known, count).data);
	}
	*ret_value = json_new_string(reader->fields.arena, text);
	return 0;
}

static bool is_expected(const struct shape *shape, const struct json *value)
{
	int64_t integer;

	switch (shape->type) {
	case SHAPE_INTEGER:
		return json_integer(value, &integer) && integer >= INT32_MIN &&
		       integer <= INT32_MAX;
	case SHAPE_LONG: return json_integer(value, &integer);
	case SHAPE_FLOAT:
	case SHAPE_DOUBLE:
	case SHAPE_TIMESTAMP: return value->type == JSON_NUMBER;
	case SHAPE_BOOLEAN: return value->type == JSON_TRUE || value->type == JSON_FALSE;
	case SHAPE_LIST: return value->type == JSON_ARRAY;
	case SHAPE_MAP:
	case SHAPE_STRUCTURE: return value->type == JSON_OBJECT;
	default: return true;
	}
}

static int read_value(struct definition_reader *reader, const struct shape *shape,
	const struct shape *answer, const char *path, const struct json *value,
	const struct json **ret_value)
{
	struct json *made;
	int code;

	if (++reader->values > EXPANDED_VALUES_MAX)
		return fields_fail(&reader->fields, value->line, "more than %d values",
			EXPANDED_VALUES_MAX);
	if (value->type == JSON_NULL)
		return 0;
	if (shape->type == SHAPE_STRING || shape->type == SHAPE_BLOB)
		return read_text(reader, shape, path, value, ret_value);
	if (!is_expected(shape, value))
		return fields_fail(&reader->fields, value->line, "%s%sexpected %s, not %s", path,
			*path ? ": " : "", shape_type_name(shape->type),
			json_type_name(value->type));
	if (shape->type == SHAPE_LIST) {
		made = json_new_array(reader->fields.arena);
		code = read_list(reader, shape, answer, path, value, made);
	} else if (shape->type == SHAPE_MAP || shape->type == SHAPE_STRUCTURE) {
		made = json_new_object(reader->fields.arena);
		code = shape->type == SHAPE_MAP
			       ? read_map(reader, shape, path, value, made)
			       : read_structure(reader, shape, answer, path, value, made);
	} else {
		*ret_value = value;
		return 0;
	}
	made->line = value->line;
	if (code >= 0)
		*ret_value = made;
	return code;
}

static int parse(struct definition_reader *reader, struct span text, struct json **ret_document)
{
	struct json *document;
	int code;

	if (text.length > DEFINITION_FILE_MAX)
		return fields_fail(&reader->fields, 1, "the file is larger than %d bytes",
			DEFINITION_FILE_MAX);
	code = yaml_parse_kubernetes(text, 1, reader->fields.arena, &document, reader->fields.err);
	if (code < 0)
		return err_prefix(reader->fields.err, code, "%.*s", SPAN_ARGS(reader->fields.file));
	if (!json_is(document, JSON_OBJECT))
		return fields_fail(&reader->fields, 1, "expected a mapping, not %s",
			json_type_name(document->type));
	*ret_document = document;
	return 0;
}

/* Operations and the structures that describe calls answer. */
static const struct request_row {
	const char *operation, *answer;
} requests[] = {
	{"RegisterTaskDefinition", "TaskDefinition"},
	{"CreateService", "Service"},
};

static int read_request(struct definition_reader *reader, struct span operation,
	const struct json *document, const struct json **ret_request)
{
	const struct shape_operation *found = shape_find_operation(reader->service, operation);

	for (size_t i = 0; i < LENGTH(requests); i++) {
		if (span_is(operation, requests[i].operation))
			return read_value(reader, &reader->service->shapes[found->input],
				find_structure(reader->service, span_of(requests[i].answer)), "",
				document, ret_request);
	}
	return fields_fail(&reader->fields, 1, "no definition file is for %.*s",
		SPAN_ARGS(operation));
}

int definition_load_task(struct span file, struct span text, struct arena *arena,
	struct task_file *ret_task, struct err *err)
{
	struct definition_reader reader = {
		.fields = {.file = file, .arena = arena, .err = err}, .service = &shape_ecs};
	const struct json *request = NULL;
	struct json *document;
	int code = parse(&reader, text, &document);

	if (code >= 0)
		code = read_request(&reader, SPAN("RegisterTaskDefinition"), document, &request);
	if (code < 0)
		return code;
	if (json_get_text(request, "family").length == 0)
		return fields_fail(&reader.fields, 1, "family is missing");
	if (json_array_count(json_get(request, "containerDefinitions")) == 0)
		return fields_fail(&reader.fields, 1, "containerDefinitions is missing or empty");
	*ret_task = (struct task_file){.request = request,
		.family = json_get_text(request, "family"),
		.warnings = reader.fields.warnings};
	return 0;
}

/* ---- service files ---- */

/* Members that answers spell otherwise. */
static const struct renamed_member {
	const char *answered, *requested;
} renamed[] = {{"clusterArn", "cluster"}, {"roleArn", "role"}};

static const struct json *rename_members(struct arena *arena, const struct json *document)
{
	struct json *copy = json_copy_object(arena, document);

	copy->line = document->line;
	for (size_t i = 0; i < LENGTH(renamed); i++) {
		if (!fields_find(document, renamed[i].requested))
			json_set(arena, copy, renamed[i].requested,
				fields_find(document, renamed[i].answered));
	}
	return copy;
}

static int check_service(struct definition_reader *reader, const struct json *document)
{
	static const struct {
		const char *name, *reason;
	} refused[] = {
		{"loadBalancers", "belongs into spec.input.targetGroups of the application file"},
		{"taskDefinition",
			"comes from spec.input.taskDefinitionFile of the application file"},
	};

	for (size_t i = 0; i < LENGTH(refused); i++) {
		const struct json *value = fields_find(document, refused[i].name);

		if (value && !(json_is(value, JSON_ARRAY) && value->array.count == 0))
			return fields_fail(&reader->fields, value->line, "%s %s", refused[i].name,
				refused[i].reason);
	}
	return 0;
}

static int read_controller(struct definition_reader *reader, const struct json *document,
	const struct json *request, bool *ret_external)
{
	struct span type = json_text(json_path(request, "deploymentController.type"));

	if (!type.data || span_is(type, "ECS"))
		return 0;
	if (!span_is(type, "EXTERNAL"))
		return fields_fail(&reader->fields,
			fields_find(document, "deploymentController")->line,
			"deployment controller %.*s is not supported (ECS or EXTERNAL)",
			SPAN_ARGS(type));
	*ret_external = true;
	return 0;
}

int definition_load_service(struct span file, struct span text, struct arena *arena,
	struct service_file *ret_service, struct err *err)
{
	struct definition_reader reader = {
		.fields = {.file = file, .arena = arena, .err = err}, .service = &shape_ecs};
	struct service_file service = {.desired_count = DESIRED_COUNT_UNCHANGED};
	struct json *parsed;
	const struct json *document, *request = NULL;
	int64_t desired;
	int code = parse(&reader, text, &parsed);

	if (code >= 0)
		code = check_service(&reader, parsed);
	if (code < 0)
		return code;
	document = rename_members(arena, parsed);
	code = read_request(&reader, SPAN("CreateService"), document, &request);
	if (code >= 0)
		code = read_controller(&reader, document, request, &service.is_external);
	if (code < 0)
		return code;
	service.name = json_get_text(request, "serviceName");
	if (service.name.length == 0)
		return fields_fail(&reader.fields, 1, "serviceName is missing");
	service.cluster = json_get_text(request, "cluster");
	if (!service.cluster.data)
		service.cluster = SPAN("");
	desired = json_get_integer(request, "desiredCount", 0);
	if (desired < 0)
		return fields_fail(&reader.fields, fields_find(document, "desiredCount")->line,
			"desiredCount is negative");
	if (desired > 0)
		service.desired_count = desired;
	service.registry_arn =
		json_get_text(json_item(json_get(request, "serviceRegistries"), 0), "registryArn");
	if (!service.registry_arn.data)
		service.registry_arn = SPAN("");
	service.request = request;
	service.warnings = reader.fields.warnings;
	*ret_service = service;
	return 0;
}

int definition_request_of(struct span operation, const struct json *answer, struct arena *arena,
	const struct json **ret_request, struct err *err)
{
	struct definition_reader reader = {
		.fields = {.file = operation, .arena = arena, .err = err}, .service = &shape_ecs};
	const struct json *request = NULL;
	int code = 0;

	if (!json_is(answer, JSON_OBJECT))
		return fields_fail(&reader.fields, 1, "the answer is no object");
	code = read_request(&reader, operation, rename_members(arena, answer), &request);
	if (code >= 0)
		*ret_request = request;
	return code;
}
