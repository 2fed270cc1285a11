/* ListTaskDefinitions and ListTaskDefinitionFamilies. */
#include "aws/page.h"
#include "ecs/definition/task_definition.h"
#include "ecs/record/name.h"

/* Families that one request scans: a page may be short and still carry a token. */
#define FAMILIES_SCANNED_MAX 1000

/* "ACCOUNT/REGION/STATUS/FAMILY", a text of the index by status; copied, not formatted: a client's text
 * may hold a zero byte. */
static struct span status_text(struct aws_request *request, struct span status, struct span family)
{
	struct span scope = aws_key_prefix(request);
	size_t length = scope.length + status.length + 1 + family.length;
	char *text = arena_allocate(request->arena, length + 1);
	char *at = text;

	at = (char *)mempcpy(at, scope.data, scope.length);
	at = (char *)mempcpy(at, status.data, status.length);
	*at++ = '/';
	if (family.length > 0)
		memcpy(at, family.data, family.length);
	text[length] = '\0';
	return (struct span){text, length};
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
	struct span prefix = status_text(request, status.data ? status : SPAN("ACTIVE"),
		family.data ? family : SPAN(""));
	struct span filters = arena_format(request->arena, "%.*s %d %d", SPAN_ARGS(prefix),
		family.data != NULL, span_is(sort, "DESC"));
	struct store_cursor cursor = {
		.view = request->view,
		.kind = &task_definition_kind,
		.index = TASK_DEFINITION_BY_STATUS,
		.prefix = prefix,
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

/*
 * Families are found in the index by status, which has each under its ACTIVE and its INACTIVE revisions:
 * one step goes from a family to the next, whatever number of revisions it has, and never meets a family
 * that has none left.
 */
static struct span family_after(struct aws_request *request, struct span status, struct span prefix,
	struct span after)
{
	struct store_cursor cursor = {
		.view = request->view,
		.kind = &task_definition_kind,
		.index = TASK_DEFINITION_BY_STATUS,
		.prefix = status_text(request, status, prefix),
		.after_text = after.data ? status_text(request, status, after) : SPAN_NONE,
	};
	size_t begin = cursor.prefix.length - prefix.length;

	if (!store_next(&cursor))
		return SPAN_NONE;
	return (struct span){cursor.text.data + begin, cursor.text.length - begin};
}

/* The smaller of the two in order; data NULL when there is neither. */
static struct span first_of(struct span a, struct span b)
{
	if (!a.data || !b.data)
		return a.data ? a : b;
	return span_compare(a, b) <= 0 ? a : b;
}

/* A family is ACTIVE while it has an ACTIVE revision, and INACTIVE while it has only INACTIVE ones. */
int task_definition_list_families(struct aws_request *request)
{
	struct span requested = json_get_text(request->input, "familyPrefix");
	struct span wanted = json_get_text(request->input, "status");
	struct span prefix = requested.data ? requested : SPAN("");
	struct span filters = arena_format(request->arena, "%.*s %.*s", SPAN_ARGS(prefix),
		SPAN_ARGS(wanted.data ? wanted : SPAN("ALL")));
	struct span active, inactive = SPAN_NONE, family, last;
	size_t count = 0, scanned = 0;
	struct aws_page page;

	if (aws_page_read(request, 100, 100, filters, &page) < 0)
		return -EPERM;
	last = page.after_key;
	active = family_after(request, SPAN("ACTIVE"), prefix, last);
	if (!span_is(wanted, "ACTIVE"))
		inactive = family_after(request, SPAN("INACTIVE"), prefix, last);
	buffer_add_string(request->out, "{\"families\":[");
	while ((family = first_of(active, inactive)).data && count < page.most &&
		scanned++ < FAMILIES_SCANNED_MAX) {
		bool is_active = active.data && span_equal(active, family);

		if (!is_active || !span_is(wanted, "INACTIVE")) {
			if (count++ > 0)
				buffer_add_char(request->out, ',');
			json_write_string(family, request->out);
		}
		last = family;
		if (is_active)
			active = family_after(request, SPAN("ACTIVE"), prefix, last);
		if (inactive.data && span_equal(inactive, family))
			inactive = family_after(request, SPAN("INACTIVE"), prefix, last);
	}
	end_page(request, filters, family.data != NULL, SPAN(""), last);
	return 0;
}
