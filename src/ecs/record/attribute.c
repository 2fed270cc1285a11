/* PutAttributes, DeleteAttributes, ListAttributes; see attribute.h. */
#include "ecs/record/attribute.h"

#include "aws/page.h"
#include "ecs/record/cluster.h"
#include "ecs/record/container_instance.h"
#include "ecs/record/name.h"

#define NAME_MAX_LENGTH 128
#define VALUE_MAX_LENGTH 128
#define REQUEST_MAX 10

static bool is_attribute_text(struct span text, bool value)
{
	for (size_t i = 0; i < text.length; i++) {
		char c = text.data[i];
		bool ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			  (c >= '0' && c <= '9') || memchr("-_./\\", c, 5) ||
			  (value && memchr("@: ", c, 3));

		if (!ok)
			return false;
	}
	return !value || text.length == 0 ||
	       (text.data[0] != ' ' && text.data[text.length - 1] != ' ');
}

int attribute_check(struct aws_request *request, const char *member, const struct json *attribute)
{
	struct span name = json_get_text(attribute, "name");
	struct span value = json_get_text(attribute, "value");

	if (!name.data || name.length == 0 || name.length > NAME_MAX_LENGTH ||
		!is_attribute_text(name, false))
		return aws_fail_input(request,
			"%s: name '%.*s' is not valid. Use 1 to %d letters, digits, "
			"hyphens, underscores, slashes, backslashes and periods.",
			member, SPAN_ARGS(name.data ? name : SPAN("")), NAME_MAX_LENGTH);
	if (value.data && (value.length > VALUE_MAX_LENGTH || !is_attribute_text(value, true)))
		return aws_fail_input(request,
			"%s: the value of '%.*s' is not valid. Use up to %d letters, "
			"digits, hyphens, underscores, periods, at signs, slashes, "
			"backslashes, colons and inner spaces.",
			member, SPAN_ARGS(name), VALUE_MAX_LENGTH);
	return 0;
}

bool attribute_is_reserved(struct span name)
{
	return span_starts_with(name, SPAN("ecs.")) ||
	       span_starts_with(name, SPAN("com.amazonaws."));
}

/* ---- packed ---- */

struct span attribute_packed_text(struct arena *arena, struct span text)
{
	char *packed;

	if (!text.data)
		return SPAN("");
	if (!memchr(text.data, '\\', text.length))
		return text;
	packed = arena_copy(arena, text.data, text.length);
	for (size_t i = 0; i < text.length; i++)
		if (packed[i] == '\\')
			packed[i] = '|';
	return (struct span){packed, text.length};
}

struct span attribute_pack(struct arena *arena, const struct json *attributes)
{
	_buffer_ struct buffer packed = {0};

	if (json_count(attributes) == 0)
		return SPAN("");
	buffer_add_char(&packed, ';');
	JSON_EACH_ITEM (attributes, attribute) {
		buffer_add_span(&packed,
			attribute_packed_text(arena, json_get_text(attribute, "name")));
		buffer_add_char(&packed, '=');
		buffer_add_span(&packed,
			attribute_packed_text(arena, json_get_text(attribute, "value")));
		buffer_add_char(&packed, ';');
	}
	return arena_copy_span(arena, buffer_span(&packed));
}

bool attribute_packed_find(struct span packed, struct span name, struct span *ret_value)
{
	const char *end = packed.data + packed.length;
	const char *at = packed.data;

	while (name.length > 0 && (at = memmem(at, (size_t)(end - at), name.data, name.length))) {
		const char *value = at + name.length + 1, *stop;

		if (at > packed.data && at[-1] == ';' && value < end && value[-1] == '=' &&
			(stop = memchr(value, ';', (size_t)(end - value)))) {
			*ret_value = (struct span){value, (size_t)(stop - value)};
			return true;
		}
		at++;
	}
	return false;
}

/* ---- operations ---- */

static int find_target(struct aws_request *request, const struct store_object *cluster,
	const struct json *attribute, const struct store_object **ret_instance)
{
	struct span target = json_get_text(attribute, "targetId");
	const struct store_object *instance;

	if (!target.data)
		return aws_fail_input(request, "attributes: '%.*s' has no targetId",
			SPAN_ARGS(json_get_text(attribute, "name")));
	instance = container_instance_in(request, cluster, target);
	if (!instance)
		return aws_fail(request, "TargetNotFoundException",
			"The specified target '%.*s' was not found in cluster '%.*s'",
			SPAN_ARGS(target), SPAN_ARGS(cluster_facts(cluster)->name));
	*ret_instance = instance;
	return 0;
}

static struct json *clean_attribute(struct aws_request *request, const struct json *attribute)
{
	struct json *clean = json_new_object(request->arena);
	struct span value = json_get_text(attribute, "value");

	json_set_string(request->arena, clean, "name", json_get_text(attribute, "name"));
	if (value.data)
		json_set_string(request->arena, clean, "value", value);
	return clean;
}

/* Replaces or removes one attribute of an instance. */
static int change(struct aws_request *request, const struct store_object *instance,
	const struct json *attribute, bool remove)
{
	struct span name = json_get_text(attribute, "name");
	struct json *attributes = json_new_array(request->arena);
	struct container_instance_edit edit;
	size_t custom = 0;

	if (container_instance_edit_open(instance, request->arena, &edit, &request->err) < 0)
		return aws_fail_store(request);
	JSON_EACH_ITEM (json_get(edit.document, "attributes"), old) {
		struct span old_name = json_get_text(old, "name");
		struct span value = json_get_text(attribute, "value");
		bool same = span_equal(old_name, name);

		/* A deletion with a value removes the attribute only if it has that value. */
		if (same && remove && value.data && !span_equal(value, json_get_text(old, "value")))
			same = false;
		if (same)
			continue;
		custom += !attribute_is_reserved(old_name);
		json_append(request->arena, attributes, old);
	}
	if (!remove) {
		if (custom >= ATTRIBUTES_MAX)
			return aws_fail(request, "AttributeLimitExceededException",
				"A container instance can have %d custom attributes",
				ATTRIBUTES_MAX);
		json_append(request->arena, attributes, clean_attribute(request, attribute));
	}
	json_set(request->arena, edit.document, "attributes", attributes);
	if (container_instance_save(request->transaction, &edit, &request->err) < 0)
		return aws_fail_store(request);
	request->view = store_head(request->transaction);
	return 0;
}

static int change_all(struct aws_request *request, bool remove)
{
	const struct json *requested = json_get(request->input, "attributes");
	struct json *answered = json_new_array(request->arena);
	const struct store_object *cluster, *instance;

	if (cluster_find(request, json_get_text(request->input, "cluster"), &cluster) < 0)
		return -EPERM;
	if (json_count(requested) == 0 || json_count(requested) > REQUEST_MAX)
		return aws_fail_input(request, "attributes: give 1 to %d of them", REQUEST_MAX);
	JSON_EACH_ITEM (requested, attribute) {
		struct json *shown = clean_attribute(request, attribute);

		if (attribute_check(request, "attributes", attribute) < 0)
			return -EPERM;
		if (attribute_is_reserved(json_get_text(attribute, "name")))
			return aws_fail_input(request, "attributes: '%.*s' has a reserved prefix",
				SPAN_ARGS(json_get_text(attribute, "name")));
		if (find_target(request, cluster, attribute, &instance) < 0)
			return -EPERM;
		json_set_string(request->arena, shown, "targetType", SPAN("container-instance"));
		json_set_string(request->arena, shown, "targetId",
			ecs_arn(request, "container-instance", aws_name_of_key(instance->key)));
		json_append(request->arena, answered, shown);
		if (change(request, instance, attribute, remove) < 0)
			return -EPERM;
	}
	buffer_add_string(request->out, "{\"attributes\":");
	json_write(answered, request->out);
	buffer_add_char(request->out, '}');
	return 0;
}

int attribute_put(struct aws_request *request)
{
	return change_all(request, false);
}

int attribute_delete(struct aws_request *request)
{
	return change_all(request, true);
}

int attribute_list(struct aws_request *request)
{
	struct span name = json_get_text(request->input, "attributeName");
	struct span value = json_get_text(request->input, "attributeValue");
	struct store_cursor cursor = {.view = request->view,
		.kind = &container_instance_kind,
		.index = CONTAINER_INSTANCE_BY_ATTRIBUTE};
	const struct store_object *cluster, *instance;
	struct span last_text = SPAN_NONE, last_key = SPAN_NONE;
	struct aws_page page;
	size_t count = 0;

	if (cluster_find(request, json_get_text(request->input, "cluster"), &cluster) < 0)
		return -EPERM;
	if (value.data && !name.data)
		return aws_fail_input(request, "attributeValue: needs attributeName");
	cursor.prefix = arena_format(request->arena, "%.*s/%.*s%s%.*s", SPAN_ARGS(cluster->key),
		SPAN_ARGS(name.data ? name : SPAN("")), name.data ? "=" : "",
		SPAN_ARGS(value.data ? value : SPAN("")));
	cursor.exact = value.data != NULL;
	if (aws_page_read(request, 100, 100, cursor.prefix, &page) < 0)
		return -EPERM;
	cursor.after_text = page.after_text;
	cursor.after_key = page.after_key;
	buffer_add_string(request->out, "{\"attributes\":[");
	while ((instance = store_next(&cursor)) && count < page.most) {
		struct json *shown = json_new_object(request->arena);
		struct span text = {cursor.text.data + cluster->key.length + 1,
			cursor.text.length - cluster->key.length - 1};
		struct span shown_name, shown_value;

		if (!span_split(text, '=', &shown_name, &shown_value))
			continue;
		json_set_string(request->arena, shown, "name", shown_name);
		if (shown_value.length > 0)
			json_set_string(request->arena, shown, "value", shown_value);
		json_set_string(request->arena, shown, "targetId",
			ecs_arn(request, "container-instance", aws_name_of_key(instance->key)));
		if (count++ > 0)
			buffer_add_char(request->out, ',');
		json_write(shown, request->out);
		last_text = cursor.text;
		last_key = instance->key;
	}
	buffer_add_char(request->out, ']');
	if (instance)
		buffer_format(request->out, ",\"nextToken\":\"%.*s\"",
			SPAN_ARGS(aws_page_token(request, cursor.prefix, last_text, last_key)));
	buffer_add_char(request->out, '}');
	return 0;
}
