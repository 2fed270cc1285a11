/* Task definitions: the kinds, finding one, and the operations but for lists; see the header. */
#include "ecs/definition/task_definition.h"

#include "aws/arn.h"
#include "aws/tag_list.h"
#include "ecs/record/name.h"
#include "ecs/record/tags.h"

#define REVISION_MAX 2147483647
#define DELETE_MAX 10

static const char *const status_names[TASK_DEFINITION_STATUS_COUNT] = {
	[TASK_DEFINITION_ACTIVE] = "ACTIVE",
	[TASK_DEFINITION_INACTIVE] = "INACTIVE",
	[TASK_DEFINITION_DELETING] = "DELETE_IN_PROGRESS",
};

/* ---- the kinds ---- */

static int extract(const struct store_object *object, void *facts, struct arena *scratch,
	struct err *err)
{
	struct task_definition_facts *definition = facts;
	struct json *private_;
	struct span digits, status;
	uint64_t revision;
	int code = json_parse(object->private_, scratch, &private_, err);

	if (code < 0)
		return code;
	if (!span_split(aws_name_of_key(object->key), ' ', &definition->family, &digits) ||
		!span_to_unsigned(digits, REVISION_MAX, &revision))
		return err_set(err, -EINVAL, "'%.*s' is not the key of a task definition",
			SPAN_ARGS(object->key));
	definition->revision = (uint32_t)revision;
	status = json_get_text(private_, "status");
	for (size_t i = 0; i < TASK_DEFINITION_STATUS_COUNT; i++)
		if (span_is(status, status_names[i])) {
			definition->status = (enum task_definition_status)i;
			return 0;
		}
	return err_set(err, -EINVAL, "'%.*s' is not a status of a task definition",
		SPAN_ARGS(status.data ? status : SPAN("")));
}

static void write_status(const struct store_object *object, struct store_index_writer *writer)
{
	const struct task_definition_facts *facts = task_definition_facts(object);
	size_t scope = (size_t)(facts->family.data - object->key.data);

	store_index_add_format(writer, "%.*s%s/%.*s", (int)scope, object->key.data,
		status_names[facts->status], SPAN_ARGS(facts->family));
}

static const struct store_index indexes[TASK_DEFINITION_INDEX_COUNT] = {
	[TASK_DEFINITION_BY_STATUS] = {.name = "status", .write = write_status},
};

const struct store_kind task_definition_kind = {
	.name = "ecs.task_definition",
	.facts_size = sizeof(struct task_definition_facts),
	.extract = extract,
	.indexes = indexes,
	.index_count = LENGTH(indexes),
};

/* The private text is the last revision given out, as a number. */
const struct store_kind task_family_kind = {.name = "ecs.task_family"};

/* ---- finding ---- */

static struct span definition_key(struct aws_request *request, struct span family,
	uint64_t revision)
{
	return aws_key(request, arena_format(request->arena, "%.*s %010llu", SPAN_ARGS(family),
					(unsigned long long)revision));
}

const struct store_object *task_definition_get(struct aws_request *request, struct span name)
{
	struct span family, digits;
	uint64_t revision;

	if (!span_split(name, ':', &family, &digits) || !ecs_is_name(family) ||
		!span_to_unsigned(digits, REVISION_MAX, &revision))
		return NULL;
	return store_get(request->view, &task_definition_kind,
		definition_key(request, family, revision));
}

/* The newest ACTIVE revision of a family, or NULL. */
static const struct store_object *task_definition_latest(struct aws_request *request,
	struct span family)
{
	struct store_cursor cursor = {
		.view = request->view,
		.kind = &task_definition_kind,
		.index = TASK_DEFINITION_BY_STATUS,
		.prefix = arena_format(request->arena, "%.*sACTIVE/%.*s",
			SPAN_ARGS(aws_key_prefix(request)), SPAN_ARGS(family)),
		.exact = true,
		.descending = true,
	};

	return store_next(&cursor);
}

const struct store_object *task_definition_find(struct aws_request *request, struct span requested)
{
	struct span name;

	if (!ecs_try_resolve(request->caller, "task-definition", requested, &name))
		return NULL;
	if (ecs_is_name(name))
		return task_definition_latest(request, name);
	return task_definition_get(request, name);
}

struct span task_definition_arn(struct aws_request *request, const struct store_object *definition)
{
	const struct task_definition_facts *facts = task_definition_facts(definition);

	return ecs_arn(request, "task-definition",
		arena_format(request->arena, "%.*s:%u", SPAN_ARGS(facts->family), facts->revision));
}

/* ---- for policies ---- */

static void add_resource(struct aws_request *request, struct aws_resources *resources,
	struct span requested)
{
	struct span name;

	if (resources->count == AWS_RESOURCES_MAX) {
		resources->overflow = true;
		return;
	}
	if (ecs_try_resolve(request->caller, "task-definition", requested, &name))
		/* Without a revision any of the family may be meant. */
		requested = ecs_arn(request, "task-definition",
			memchr(name.data, ':', name.length)
				? name
				: arena_format(request->arena, "%.*s:*", SPAN_ARGS(name)));
	resources->arns[resources->count++] = requested.data ? requested : SPAN("");
}

void task_definition_resources(struct aws_request *request, struct aws_resources *resources)
{
	struct span one = json_get_text(request->input, "taskDefinition");

	if (one.data)
		add_resource(request, resources, one);
	JSON_EACH_ITEM (json_get(request->input, "taskDefinitions"), item)
		add_resource(request, resources, json_text(item));
}

void task_definition_register_resources(struct aws_request *request,
	struct aws_resources *resources)
{
	add_resource(request, resources, json_get_text(request->input, "family"));
}

/* ---- register ---- */

struct prepared {
	struct span members; /* of the answer, but for ARN and revision */
	struct span private_;
	const struct json *tags;
};

static struct span private_text(struct aws_request *request, enum task_definition_status status,
	const struct json *tags)
{
	struct json *private_ = json_new_object(request->arena);

	json_set_string(request->arena, private_, "status", span_of(status_names[status]));
	tags_set(request, private_, tags);
	return json_to_text(private_, request->arena);
}

/* Text of an object's members without the braces. */
static struct span members_text(struct aws_request *request, const struct json *object)
{
	struct span text = json_to_text(object, request->arena);

	return (struct span){text.data + 1, text.length - 2};
}

int task_definition_register_prepare(struct aws_request *request)
{
	struct prepared *prepared = arena_allocate(request->arena, sizeof(*prepared));
	struct json *document;

	if (aws_tag_list_check(request, json_get(request->input, "tags")) < 0 ||
		aws_tag_list_merge(request, NULL, json_get(request->input, "tags"),
			&prepared->tags) < 0 ||
		task_definition_check(request, &document) < 0)
		return -EPERM;
	json_set_string(request->arena, document, "status", SPAN("ACTIVE"));
	json_set_time(request->arena, document, "registeredAt", request->now_ms);
	json_set_string(request->arena, document, "registeredBy",
		arena_format(request->arena, "arn:%.*s:iam::%.*s:user/%.*s",
			SPAN_ARGS(aws_partition_of(request->caller->region)),
			SPAN_ARGS(request->caller->account), SPAN_ARGS(request->caller->user)));
	prepared->members = members_text(request, document);
	prepared->private_ = private_text(request, TASK_DEFINITION_ACTIVE, prepared->tags);
	request->prepared = prepared;
	return 0;
}

/* The next number of the family, written down so that it is never given again. */
static int next_revision(struct aws_request *request, struct span family, uint64_t *ret_revision)
{
	struct span key = aws_key(request, family);
	const struct store_object *counter = store_get(request->view, &task_family_kind, key);
	uint64_t last = 0;

	if (counter && !span_to_unsigned(counter->private_, REVISION_MAX, &last))
		return aws_fail(request, "ServerException",
			"The family '%.*s' has no valid counter", SPAN_ARGS(family));
	if (last == REVISION_MAX)
		return aws_fail(request, "LimitExceededException",
			"The family '%.*s' has no revision left", SPAN_ARGS(family));
	if (store_put(request->transaction, &task_family_kind, key, SPAN(""),
		    arena_format(request->arena, "%llu", (unsigned long long)(last + 1)), STORE_ANY,
		    &request->err) < 0)
		return aws_fail_store(request);
	*ret_revision = last + 1;
	return 0;
}

int task_definition_register(struct aws_request *request)
{
	const struct prepared *prepared = request->prepared;
	struct span family = json_get_text(request->input, "family");
	struct span arn, api;
	uint64_t revision;
	size_t start;

	if (next_revision(request, family, &revision) < 0)
		return -EPERM;
	arn = ecs_arn(request, "task-definition",
		arena_format(request->arena, "%.*s:%llu", SPAN_ARGS(family),
			(unsigned long long)revision));
	/* Written once, into the answer; what is stored is a slice of it. */
	buffer_add_string(request->out, "{\"taskDefinition\":");
	start = request->out->length;
	buffer_add_string(request->out, "{\"taskDefinitionArn\":\"");
	buffer_add_span(request->out, arn);
	buffer_add_string(request->out, "\",\"revision\":");
	buffer_add_unsigned(request->out, revision);
	buffer_add_char(request->out, ',');
	buffer_add_span(request->out, prepared->members);
	buffer_add_char(request->out, '}');
	api = (struct span){request->out->data + start, request->out->length - start};
	if (store_put(request->transaction, &task_definition_kind,
		    definition_key(request, family, revision), api, prepared->private_,
		    STORE_ABSENT, &request->err) < 0)
		return aws_fail_store(request);
	request->resource = arn;
	buffer_add_string(request->out, ",\"tags\":");
	json_write(prepared->tags, request->out);
	buffer_add_char(request->out, '}');
	return 0;
}

/* ---- describe, deregister, delete ---- */

int task_definition_describe(struct aws_request *request)
{
	const struct store_object *definition =
		task_definition_find(request, json_get_text(request->input, "taskDefinition"));

	if (!definition)
		return aws_fail(request, "ClientException", "Unable to describe task definition.");
	buffer_add_string(request->out, "{\"taskDefinition\":");
	buffer_add_span(request->out, definition->api);
	if (input_includes(request, "TAGS")) {
		buffer_add_string(request->out, ",\"tags\":");
		json_write(tags_of(request, definition), request->out);
	}
	buffer_add_char(request->out, '}');
	return 0;
}

/* Puts the definition in another status, with the time of it, and gives its new text. */
static int move_to(struct aws_request *request, const struct store_object *definition,
	enum task_definition_status status, const char *time_member, struct span *ret_api)
{
	struct json *stored, *document;
	struct span api;

	if (json_parse(definition->api, request->arena, &stored, &request->err) < 0)
		return aws_fail_store(request);
	document = json_copy_object(request->arena, stored);
	json_set_string(request->arena, document, "status", span_of(status_names[status]));
	if (json_is_absent(json_get(document, time_member)))
		json_set_time(request->arena, document, time_member, request->now_ms);
	api = json_to_text(document, request->arena);
	if (store_put(request->transaction, &task_definition_kind, definition->key, api,
		    private_text(request, status, tags_of(request, definition)),
		    definition->revision, &request->err) < 0)
		return aws_fail_store(request);
	*ret_api = api;
	return 0;
}

/* "FAMILY:REVISION" or an ARN with a revision: these operations take no family alone. */
static int find_revision(struct aws_request *request, struct span requested,
	const struct store_object **ret_definition)
{
	const struct store_object *definition;
	struct span name, family, digits;
	uint64_t revision;

	if (ecs_resolve(request, "taskDefinition", "task-definition", requested, &name) < 0)
		return -EPERM;
	if (!span_split(name, ':', &family, &digits))
		return aws_fail(request, "ClientException", "Revision is missing.");
	if (!span_to_unsigned(digits, REVISION_MAX, &revision))
		return aws_fail_input(request,
			"taskDefinition: Invalid revision number. Number: %.*s", SPAN_ARGS(digits));
	definition = task_definition_get(request, name);
	if (!definition)
		return aws_fail(request, "ClientException",
			"The specified task definition does not exist.");
	*ret_definition = definition;
	return 0;
}

int task_definition_deregister(struct aws_request *request)
{
	const struct store_object *definition;
	struct span api;

	if (find_revision(request, json_get_text(request->input, "taskDefinition"), &definition) <
		0)
		return -EPERM;
	api = definition->api;
	if (task_definition_facts(definition)->status == TASK_DEFINITION_DELETING)
		return aws_fail_input(request, "taskDefinition: is being deleted");
	if (task_definition_facts(definition)->status == TASK_DEFINITION_ACTIVE &&
		move_to(request, definition, TASK_DEFINITION_INACTIVE, "deregisteredAt", &api) < 0)
		return -EPERM;
	request->resource = task_definition_arn(request, definition);
	buffer_add_string(request->out, "{\"taskDefinition\":");
	buffer_add_span(request->out, api);
	buffer_add_char(request->out, '}');
	return 0;
}

/* One of a DeleteTaskDefinitions request: its text goes to `deleted`, or a failure is recorded. */
static int delete_one(struct aws_request *request, struct span requested, struct buffer *deleted,
	struct json *failures)
{
	const struct store_object *definition = NULL;
	struct json *failure = json_new_object(request->arena);
	const char *reason = NULL;
	struct span name, api;

	if (ecs_try_resolve(request->caller, "task-definition", requested, &name))
		definition = task_definition_get(request, name);
	if (!definition)
		reason = "The specified task definition does not exist. Specify a valid task "
			 "definition "
			 "and try again.";
	else if (task_definition_facts(definition)->status == TASK_DEFINITION_ACTIVE)
		reason = "The specified task definition is still in ACTIVE status. Please "
			 "deregister the "
			 "target and try again.";
	if (reason) {
		json_set_string(request->arena, failure, "arn", requested);
		json_set_string(request->arena, failure, "reason", span_of(reason));
		json_append(request->arena, failures, failure);
		return 0;
	}
	api = definition->api;
	if (task_definition_facts(definition)->status == TASK_DEFINITION_INACTIVE &&
		move_to(request, definition, TASK_DEFINITION_DELETING, "deleteRequestedAt", &api) <
			0)
		return -EPERM;
	request->view = store_head(request->transaction);
	if (deleted->length > 0)
		buffer_add_char(deleted, ',');
	buffer_add_span(deleted, api);
	return 0;
}

int task_definition_delete(struct aws_request *request)
{
	const struct json *requested = json_get(request->input, "taskDefinitions");
	struct json *failures = json_new_array(request->arena);
	_buffer_ struct buffer deleted = {0};

	if (json_count(requested) == 0 || json_count(requested) > DELETE_MAX)
		return aws_fail_input(request, "taskDefinitions: give 1 to %d of them", DELETE_MAX);
	JSON_EACH_ITEM (requested, item)
		if (delete_one(request, json_text(item), &deleted, failures) < 0)
			return -EPERM;
	buffer_add_string(request->out, "{\"taskDefinitions\":[");
	buffer_add_span(request->out, buffer_span(&deleted));
	buffer_add_string(request->out, "],\"failures\":");
	json_write(failures, request->out);
	buffer_add_char(request->out, '}');
	return 0;
}
