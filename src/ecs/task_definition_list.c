/* ListTaskDefinitions and ListTaskDefinitionFamilies. */
#include "aws/page.h"
#include "ecs/name.h"
#include "ecs/task_definition.h"

static struct span status_prefix(struct aws_request *request, const char *status,
				 struct span family)
{
	return arena_format(request->arena, "%.*s%s/%.*s", SPAN_ARGS(ecs_key_prefix(request)), status,
			    SPAN_ARGS(family));
}

static void end_page(struct aws_request *request, struct span filters, bool more, struct span text,
		     struct span key)
{
	buffer_add_char(request->out, ']');
	if (more)
		buffer_format(request->out, ",\"nextToken\":\"%.*s\"",
			      SPAN_ARGS(aws_page_token(request, filters, text, key)));
	buffer_add_char(request->out, '}');
}

int task_definition_list(struct aws_request *request)
{
	struct span family = json_get_text(request->input, "familyPrefix");
	struct span status = json_get_text(request->input, "status");
	struct span sort = json_get_text(request->input, "sort");
	const char *status_name = status.data ? arena_copy(request->arena, status.data, status.length)
					      : "ACTIVE";
	struct span filters = arena_format(request->arena, "%s %.*s %.*s", status_name,
					   SPAN_ARGS(family.data ? family : SPAN("")),
					   SPAN_ARGS(sort.data ? sort : SPAN("")));
	struct store_cursor cursor = {
		.view = request->view,
		.kind = &task_definition_kind,
		.index = TASK_DEFINITION_BY_STATUS,
		.prefix = status_prefix(request, status_name, family.data ? family : SPAN("")),
		.exact = family.data != NULL,
		.descending = span_is(sort, "DESC"),
	};
	const struct store_object *definition;
	struct span last_text = SPAN_NONE, last_key = SPAN_NONE;
	struct aws_page page;
	size_t count = 0;

	if (aws_page_read(request, 100, 100, filters, &page) < 0)
		return -EPERM;
	cursor.after_text = page.after_text;
	cursor.after_key = page.after_key;
	buffer_add_string(request->out, "{\"taskDefinitionArns\":[");
	while ((definition = store_next(&cursor)) && count < page.most) {
		if (count++ > 0)
			buffer_add_char(request->out, ',');
		json_write_string(task_definition_arn(request, definition), request->out);
		last_text = cursor.text;
		last_key = definition->key;
	}
	end_page(request, filters, definition != NULL, last_text, last_key);
	return 0;
}

/* A family is ACTIVE while it has an ACTIVE revision, INACTIVE while it has only INACTIVE ones, and
 * not there at all when it has none left. */
static bool family_has_status(struct aws_request *request, struct span family, struct span wanted)
{
	bool active = store_count(request->view, &task_definition_kind, TASK_DEFINITION_BY_STATUS,
				  status_prefix(request, "ACTIVE", family), true) > 0;
	bool inactive = !active &&
			store_count(request->view, &task_definition_kind, TASK_DEFINITION_BY_STATUS,
				    status_prefix(request, "INACTIVE", family), true) > 0;

	if (span_is(wanted, "INACTIVE"))
		return inactive;
	if (span_is(wanted, "ALL"))
		return active || inactive;
	return active;
}

int task_definition_list_families(struct aws_request *request)
{
	struct span prefix = json_get_text(request->input, "familyPrefix");
	struct span status = json_get_text(request->input, "status");
	struct span filters = arena_format(request->arena, "%.*s %.*s",
					   SPAN_ARGS(prefix.data ? prefix : SPAN("")),
					   SPAN_ARGS(status.data ? status : SPAN("")));
	struct store_cursor cursor = {
		.view = request->view,
		.kind = &task_family_kind,
		.index = -1,
		.prefix = ecs_key(request, prefix.data ? prefix : SPAN("")),
	};
	const struct store_object *family;
	struct span last = SPAN_NONE;
	struct aws_page page;
	size_t count = 0;

	if (aws_page_read(request, 100, 100, filters, &page) < 0)
		return -EPERM;
	cursor.after_key = page.after_key;
	buffer_add_string(request->out, "{\"families\":[");
	while ((family = store_next(&cursor))) {
		struct span name = ecs_name_of_key(family->key);

		if (!family_has_status(request, name, status))
			continue;
		if (count == page.most)
			break;
		if (count++ > 0)
			buffer_add_char(request->out, ',');
		json_write_string(name, request->out);
		last = family->key;
	}
	end_page(request, filters, family != NULL, SPAN(""), last);
	return 0;
}
